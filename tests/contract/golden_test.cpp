// The same bits on every platform: hashes of what the contract's functions and the library return
// on pseudo-random input, which are constants. Each platform that passes agrees with all others.
//
// A hash changes with the contract, and then its version does; where only the inputs below were
// changed, the failing test prints the new one.
#include <gtest/gtest.h>

#include <vector>

#include "../sized.h"
#include "contract/draw.h"
#include "contract/filters.h"
#include "contract/log2.h"
#include "contract/philox.h"
#include "contract/rank.h"
#include "contract/weight.h"
#include "sampler/sampler.h"
#include "support.h"

namespace sampler::contract::golden_test {
namespace {

using test::Hash;
using test::Random;

// ---- the contract's functions ----

void add_float_bits(Random &random, Hash *hash) {
  const float x = random.any_float();
  if (is_nan(x)) return;
  const float y = random.float_of_exponent(random.between(90, 160));
  const float z = random.float_of_exponent(random.between(90, 160));
  hash->add(fma32(y, z, random.float_of_exponent(random.between(70, 190))));
  hash->add(narrow_f16(y));
  hash->add(narrow_bf16(x));
  hash->add(value_key(x));
  hash->add(nearest_integer(4000.0f * random.unit()).value());
  const uint64_t word = random.bits64(), total = random.bits64();
  hash->add(draw_target(word, total));
}

void add_logits(Random &random, Hash *hash) {
  const float max = 40.0f * (random.unit() - 0.5f), x = max - 60.0f * random.unit();
  const RowScale row = logits_row_scale(max, 0.1f + 2.0f * random.unit());
  const uint32_t word = random.bits32();
  hash->add(row.scale);
  hash->add(relative_probability(row, x));
  hash->add(weight(row, x));
  hash->add(gumbel_noise(word));
  hash->add(gumbel_score(row.kind, x, row.scale, word));
  hash->add(log_probability(row, x, (uint64_t(1) << 44) + (random.bits64() >> 4)));
}

void add_probabilities(Random &random, Hash *hash) {
  const int exponent = random.between(0, 254);
  const float max = std::fabs(random.float_of_exponent(exponent)) + 0x1p-149f;
  const float x = max * random.unit() + 0x1p-149f;
  const RowScale row = probabilities_row_scale(max);
  const uint64_t total = (uint64_t(1) << 44) + (random.bits64() >> 4);
  hash->add(row.exponent);
  hash->add(relative_probability(row, x));
  hash->add(weight(row, x));
  hash->add(normalizer(total));
  hash->add(fraction_of_weight(0x1p-24f + random.unit(), total));
  hash->add(gumbel_score(row.kind, x, 0.0f, random.bits32()));
  hash->add(log_probability(row, x, total));
  const float target = random.unit(), draft = random.unit();
  hash->add(accepts_draft(random.bits32(), target, draft));
  hash->add(residual_probability(target, draft));
}

TEST(Golden, ContractFunctions) {
  Random random(1);
  Hash hash;
  for (int i = 0; i < 20000; ++i) {
    add_float_bits(random, &hash);
    add_logits(random, &hash);
    add_probabilities(random, &hash);
    const RandomStream stream = {random.bits64(), random.bits64(), random.bits32()};
    hash.add(random_block(stream, Purpose::kGumbel, uint32_t(i)));
  }
  EXPECT_TRUE(hash.is(0x67FC8A9B6E66763Eu));
}

// ---- input for the library ----

// Rows `stride` apart, of one of the three types.
class Values {
 public:
  Values(sampler_dtype dtype, int64_t count)
      : dtype_(dtype), f32_(size_t(count)), f16_(size_t(count)) {}

  void set(int64_t i, float x) {
    f32_[size_t(i)] = x;
    f16_[size_t(i)] = dtype_ == SAMPLER_F16 ? narrow_f16(x) : narrow_bf16(x);
  }
  const void *data() const {
    return dtype_ == SAMPLER_F32 ? static_cast<const void *>(f32_.data()) : f16_.data();
  }

 private:
  sampler_dtype dtype_;
  std::vector<float> f32_;
  std::vector<uint16_t> f16_;
};

constexpr int kNumStyles = 8;

// An element of a row of this style: spread, many ties, all equal, mostly masked, huge, tiny, bad,
// empty.
float logit(Random &random, int style) {
  float spread = -12.0f;
  for (int i = 0; i < 3; ++i) spread += 8.0f * random.unit();
  switch (style) {
    case 1:
      return 0.25f * float(random.between(-8, 8));
    case 2:
      return -1.5f;
    case 3:
      return random.between(0, 9) == 0 ? spread : -test::kInfinity;
    case 4:
      return 0x1p100f * spread;
    case 5:
      return 0x1p-126f * spread;
    case 6:
      return random.between(0, 40) == 0 ? test::kNaN : spread;
    case 7:
      return -test::kInfinity;
    default:
      return spread;
  }
}

float probability(Random &random, int style) {
  switch (style) {
    case 1:
      return 0.125f * float(random.between(0, 8));
    case 2:
      return 0.3f;
    case 3:
      return random.between(0, 9) == 0 ? random.unit() : 0.0f;
    case 4:
      return 0x1p100f * random.unit();
    case 5:
      return 0x1p-130f * random.unit();
    case 6:
      return random.between(0, 40) == 0 ? -1.0f : random.unit();
    case 7:
      return 0.0f;
    default:
      return random.unit();
  }
}

Values make_values(Random &random, sampler_dtype dtype, sampler_input_kind kind, int64_t num_rows,
                   int64_t num_cols, int64_t stride) {
  Values values(dtype, num_rows * stride);
  for (int64_t row = 0; row < num_rows; ++row) {
    for (int64_t col = 0; col < num_cols; ++col) {
      const int style = int(row % kNumStyles);
      values.set(row * stride + col,
                 kind == SAMPLER_LOGITS ? logit(random, style) : probability(random, style));
    }
  }
  return values;
}

// Distinct ids in no order.
std::vector<int32_t> make_ids(int64_t num_rows, int64_t stride) {
  std::vector<int32_t> ids(size_t(num_rows * stride));
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = int32_t(i * 40503u % (1u << 20));
  return ids;
}

std::vector<int32_t> make_counts(int64_t num_rows, int64_t num_cols) {
  std::vector<int32_t> counts(static_cast<size_t>(num_rows));
  for (size_t i = 0; i < counts.size(); ++i) counts[i] = int32_t(num_cols - int64_t(i % 5));
  return counts;
}

template <class T, size_t kCount>
std::vector<T> pick(Random &random, const T (&choices)[kCount], int64_t num_rows) {
  std::vector<T> result;
  for (int64_t i = 0; i < num_rows; ++i) {
    result.push_back(choices[random.between(0, int(kCount) - 1)]);
  }
  return result;
}

// Parameters of each row.
struct RowParameterArrays {
  std::vector<float> temperatures;
  std::vector<int32_t> top_ks;
  std::vector<float> top_ps;
  std::vector<float> min_ps;

  RowParameterArrays(Random &random, sampler_input_kind kind, int64_t num_rows) {
    const float for_logits[] = {1.0f, 1.0f, 0.7f, 1.3f, 2e-5f, 1e9f, 0.0f};
    const float for_probabilities[] = {1.0f, 1.0f, 1.0f, 1e-5f, -1.0f, 0.7f};
    const int32_t ks[] = {0, 1, 3, 40, 1000};
    const float ps[] = {1.0f, 0.95f, 0.5f, 0.0f, 1e-7f, 1.0f - 0x1p-24f};
    const float mins[] = {0.0f, 0.0f, 0.02f, 0.5f, 1.0f};
    temperatures = kind == SAMPLER_LOGITS ? pick(random, for_logits, num_rows)
                                          : pick(random, for_probabilities, num_rows);
    top_ks = pick(random, ks, num_rows);
    top_ps = pick(random, ps, num_rows);
    min_ps = pick(random, mins, num_rows);
  }

  sampler_row_params all() const {
    sampler_row_params params = {};
    params.struct_size = sizeof params;
    params.temperature = temperatures.data();
    params.top_p = top_ps.data();
    params.min_p = min_ps.data();
    params.top_k = top_ks.data();
    return params;
  }
};

class GoldenCalls : public testing::Test {
 protected:
  void SetUp() override {
    sampler_options options = sampler_options_default();
    options.max_rows = 64;
    options.max_cols = 512;
    ASSERT_EQ(sampler_create(&options, &sampler_), SAMPLER_OK) << sampler_last_error();
  }
  void TearDown() override { sampler_destroy(sampler_); }

  sampler_t sampler_ = nullptr;
};

// ---- the library ----

constexpr int64_t kRows = 3 * kNumStyles;
constexpr int64_t kCols = 131;
constexpr int64_t kStride = kCols + 3;

// One combination of the options that choose what is computed.
void add_sample(sampler_t sampler, Random &random, sampler_dtype dtype, sampler_input_kind kind,
                int combination, Hash *hash) {
  const Values values = make_values(random, dtype, kind, kRows, kCols, kStride);
  const RowParameterArrays parameters(random, kind, kRows);
  const std::vector<int32_t> ids = make_ids(kRows, kStride), counts = make_counts(kRows, kCols);
  std::vector<uint64_t> seeds;
  for (int64_t i = 0; i < kRows; ++i) seeds.push_back(random.bits64());
  std::vector<int64_t> tokens(kRows);
  std::vector<int32_t> kept(kRows);
  std::vector<float> logprobs(kRows);
  std::vector<sampler_row_status> statuses(kRows);

  sampler_params params = sampler_params_default();
  params.top_k_ties = combination >> 2 & 1;
  params.top_p_ties = combination >> 3 & 1;
  params.temperature_order = combination >> 4 & 1;
  params.filter_order = combination >> 5;
  const sampler_row_params row_params = parameters.all();
  SampleArgs args;
  args.input = test::rows_of(values.data(), dtype, kind, kRows, kCols, kStride);
  if (combination % 3 == 0) {
    args.input.candidate_ids = ids.data();
    args.input.candidate_counts = counts.data();
  }
  args.params = &params;
  args.row_params = &row_params;
  args.draw_method = combination & 1;
  args.report_args.logprob_kind = combination >> 1 & 1;
  args.token_id_type = SAMPLER_ID_I64;
  args.random.seed = random.bits64();
  args.random.offset = random.bits64();
  if (combination % 5 == 0) {
    args.random.seeds = seeds.data();
    args.random.num_seeds = kRows;
  }
  args.out_token_ids = tokens.data();
  args.report_args.out_kept_counts = kept.data();
  args.report_args.out_logprobs = logprobs.data();
  args.out_row_status = statuses.data();
  ASSERT_EQ(sampler_sample(sampler, &args), SAMPLER_OK) << sampler_last_error();
  hash->add(tokens);
  hash->add(kept);
  hash->add(logprobs);
  hash->add(statuses);
}

TEST_F(GoldenCalls, Sample) {
  Random random(2);
  Hash hash;
  for (const sampler_dtype dtype : {SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16}) {
    for (const sampler_input_kind kind : {SAMPLER_LOGITS, SAMPLER_PROBABILITIES}) {
      for (int combination = 0; combination < 3 << 5; ++combination) {
        add_sample(sampler_, random, dtype, kind, combination, &hash);
      }
    }
  }
  EXPECT_TRUE(hash.is(0x40FA96125FD5544Eu));
}

struct WholeRows {
  sampler_dtype dtype;
  sampler_dtype output_dtype;
  bool has_candidates;
};

void add_filter(sampler_t sampler, const WholeRows &rows, const Values &values,
                sampler_input_kind kind, sampler_row_params row_params, sampler_tie_rule ties,
                sampler_output_kind output_kind, Hash *hash) {
  const std::vector<int32_t> ids = make_ids(kRows, kStride), counts = make_counts(kRows, kCols);
  std::vector<unsigned char> output(sizeof(float) * kRows * kCols);
  std::vector<sampler_row_status> statuses(kRows);
  sampler_params params = sampler_params_default();
  params.top_k_ties = params.top_p_ties = ties;
  row_params.struct_size = sizeof row_params;
  auto args = sized<sampler_filter_args>();
  args.input = test::rows_of(values.data(), rows.dtype, kind, kRows, kCols, kStride);
  if (rows.has_candidates) {
    args.input.candidate_ids = ids.data();
    args.input.candidate_counts = counts.data();
  }
  args.params = &params;
  args.row_params = &row_params;
  args.output_kind = output_kind;
  args.output_dtype = rows.output_dtype;
  args.output = output.data();
  args.out_row_status = statuses.data();
  ASSERT_EQ(sampler_filter(sampler, &args), SAMPLER_OK) << sampler_last_error();
  hash->add(output);
  hash->add(statuses);
}

// Softmax, top-k and top-p renormalisation, and the top-k mask.
void add_whole_rows(sampler_t sampler, Random &random, const WholeRows &rows, sampler_tie_rule ties,
                    Hash *hash) {
  const RowParameterArrays logits_parameters(random, SAMPLER_LOGITS, kRows);
  const RowParameterArrays parameters(random, SAMPLER_PROBABILITIES, kRows);
  const Values logits = make_values(random, rows.dtype, SAMPLER_LOGITS, kRows, kCols, kStride);
  const Values probabilities =
      make_values(random, rows.dtype, SAMPLER_PROBABILITIES, kRows, kCols, kStride);
  const auto add = [&](const Values &values, sampler_input_kind kind,
                       const sampler_row_params &row_params, sampler_output_kind output_kind) {
    add_filter(sampler, rows, values, kind, row_params, ties, output_kind, hash);
  };
  sampler_row_params softmax = {}, top_k = {}, top_p = {}, mask = {};
  softmax.temperature = logits_parameters.temperatures.data();
  top_k.temperature = top_p.temperature = parameters.temperatures.data();
  top_k.top_k = mask.top_k = parameters.top_ks.data();
  top_p.top_p = parameters.top_ps.data();
  add(logits, SAMPLER_LOGITS, softmax, SAMPLER_OUTPUT_PROBABILITIES);
  add(probabilities, SAMPLER_PROBABILITIES, top_k, SAMPLER_OUTPUT_PROBABILITIES);
  add(probabilities, SAMPLER_PROBABILITIES, top_p, SAMPLER_OUTPUT_PROBABILITIES);
  add(logits, SAMPLER_LOGITS, mask, SAMPLER_OUTPUT_VALUES);
}

TEST_F(GoldenCalls, SoftmaxRenormAndMask) {
  Random random(3);
  Hash hash;
  for (const sampler_dtype dtype : {SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16}) {
    for (const sampler_tie_rule ties : {SAMPLER_TIES_EXACT, SAMPLER_TIES_KEEP}) {
      add_whole_rows(sampler_, random, {dtype, SAMPLER_F32, false}, ties, &hash);
      add_whole_rows(sampler_, random, {dtype, dtype, true}, ties, &hash);
    }
  }
  EXPECT_TRUE(hash.is(0x941D6C1E83A3F46u));
}

TEST_F(GoldenCalls, Select) {
  constexpr int64_t kSelected = 20;
  Random random(4);
  Hash hash;
  for (const sampler_input_kind kind : {SAMPLER_LOGITS, SAMPLER_PROBABILITIES}) {
    const Values values = make_values(random, SAMPLER_BF16, kind, kRows, kCols, kStride);
    std::vector<float> selected(kRows * kSelected);
    std::vector<int32_t> tokens(kRows * kSelected), counts(kRows);
    auto args = sized<sampler_select_args>();
    args.input = test::rows_of(values.data(), SAMPLER_BF16, kind, kRows, kCols, kStride);
    args.num_selected = kSelected;
    args.out_values = selected.data();
    args.out_token_ids = tokens.data();
    args.out_counts = counts.data();
    ASSERT_EQ(sampler_select(sampler_, &args), SAMPLER_OK) << sampler_last_error();
    hash.add(selected);
    hash.add(tokens);
    hash.add(counts);
  }
  EXPECT_TRUE(hash.is(0x8ECBD4557EDCFBDDu));
}

// Few columns, so that drafts are accepted now and then.
void add_chain(sampler_t sampler, Random &random, sampler_input_kind target_kind,
               sampler_input_kind draft_kind, bool has_draft, Hash *hash) {
  constexpr int64_t kDrafts = 3, kFewCols = 5;
  const Values target =
      make_values(random, SAMPLER_F16, target_kind, kRows * (kDrafts + 1), kFewCols, kFewCols);
  const Values draft =
      make_values(random, SAMPLER_F32, draft_kind, kRows * kDrafts, kFewCols, kFewCols);
  const RowParameterArrays parameters(random, target_kind, kRows);
  std::vector<int32_t> draft_tokens, draft_counts;
  for (int64_t i = 0; i < kRows * kDrafts; ++i) {
    draft_tokens.push_back(random.between(0, 30) == 0 ? 77 : random.between(0, kFewCols - 1));
  }
  for (int64_t i = 0; i < kRows; ++i) draft_counts.push_back(random.between(0, kDrafts));
  std::vector<int32_t> tokens(kRows * (kDrafts + 1)), accepted(kRows), emitted(kRows);
  std::vector<sampler_row_status> statuses(kRows);

  sampler_row_params row_params = parameters.all();
  if (target_kind == SAMPLER_PROBABILITIES) {
    row_params.top_p = row_params.min_p = nullptr;
    row_params.top_k = nullptr;
  }
  auto args = sized<sampler_verify_args>();
  args.target =
      test::rows_of(target.data(), SAMPLER_F16, target_kind, kRows * (kDrafts + 1), kFewCols);
  if (has_draft) {
    args.draft = test::rows_of(draft.data(), SAMPLER_F32, draft_kind, kRows * kDrafts, kFewCols);
  }
  args.draft_token_ids = draft_tokens.data();
  args.num_drafts = kDrafts;
  args.draft_counts = draft_counts.data();
  args.row_params = &row_params;
  args.random.seed = random.bits64();
  args.out_token_ids = tokens.data();
  args.out_accepted_counts = accepted.data();
  args.out_emitted_counts = emitted.data();
  args.out_row_status = statuses.data();
  ASSERT_EQ(sampler_verify(sampler, &args), SAMPLER_OK) << sampler_last_error();
  hash->add(tokens);
  hash->add(accepted);
  hash->add(emitted);
  hash->add(statuses);
}

TEST_F(GoldenCalls, Verify) {
  Random random(5);
  Hash hash;
  for (int repetition = 0; repetition < 20; ++repetition) {
    for (const sampler_input_kind target : {SAMPLER_LOGITS, SAMPLER_PROBABILITIES}) {
      for (const sampler_input_kind draft : {SAMPLER_LOGITS, SAMPLER_PROBABILITIES}) {
        add_chain(sampler_, random, target, draft, true, &hash);
      }
      add_chain(sampler_, random, target, SAMPLER_PROBABILITIES, false, &hash);
    }
  }
  EXPECT_TRUE(hash.is(0xDA0FB2303A459806u));
}

}  // namespace
}  // namespace sampler::contract::golden_test
