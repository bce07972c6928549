// The reports of sampler_sample against the oracle: every number is equal to the bit, whatever the
// instruction set, the type, the stages and the form of the call.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "adaptive_stage.h"
#include "handles.h"
#include "oracle.h"
#include "problem.h"
#include "reports_oracle.h"

namespace pipeline_test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__aarch64__)
constexpr std::uint64_t kNumProblems = 100;  // which are dear under emulation, too
#else
constexpr std::uint64_t kNumProblems = 250;
#endif

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

bool same(float a, float b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

// How much is asked for. 0: nothing of it, or of the stride the default.
struct Sizes {
  std::int64_t top = 0, chosen = 0, bitmask_stride = 0, kept = 0;
  sampler_id_type id_type = SAMPLER_ID_I32;
};

// All reports of a call, its tokens beside them. Ids as i64.
struct Reported {
  std::vector<std::int64_t> token_ids, top_ids, kept_ids;
  std::vector<std::int32_t> kept_counts, ranks;
  std::vector<float> logprobs, top_logprobs, chosen_logprobs, entropies, kept_probabilities;
  std::vector<std::uint32_t> bitmask;
  std::vector<std::uint8_t> removed_by;
  std::vector<sampler_row_status> status;
};

class Ids {
 public:
  Ids(std::int64_t count, sampler_id_type type) : type_(type), narrow_(at(count), -77) {
    if (type == SAMPLER_ID_I64) wide_.assign(at(count), -77);
  }
  explicit Ids(const std::vector<std::int64_t> &ids, sampler_id_type type) : type_(type) {
    wide_ = ids;
    for (const std::int64_t id : ids) narrow_.push_back(static_cast<std::int32_t>(id));
  }
  void *data() {
    return type_ == SAMPLER_ID_I64 ? static_cast<void *>(wide_.data())
                                   : static_cast<void *>(narrow_.data());
  }
  std::vector<std::int64_t> values() const {
    return type_ == SAMPLER_ID_I64 ? wide_
                                   : std::vector<std::int64_t>(narrow_.begin(), narrow_.end());
  }

 private:
  sampler_id_type type_;
  std::vector<std::int32_t> narrow_;
  std::vector<std::int64_t> wide_;
};

// `args` has the rows, their parameters and `num_rows` rows of output.
Reported report(sampler_t sampler, sampler_sample_args args, std::int64_t num_rows,
                const Sizes &sizes, const std::vector<std::int64_t> &chosen) {
  const std::int64_t words =
      sizes.bitmask_stride ? sizes.bitmask_stride : (args.input.num_cols + 31) / 32;
  Ids token_ids(num_rows, sizes.id_type), top_ids(num_rows * sizes.top, sizes.id_type);
  Ids kept_ids(num_rows * sizes.kept, sizes.id_type), chosen_ids(chosen, sizes.id_type);
  Reported result;
  result.kept_counts.assign(at(num_rows), -7);
  result.ranks.assign(at(num_rows), -7);
  result.logprobs.assign(at(num_rows), 7);
  result.top_logprobs.assign(at(num_rows * sizes.top), 7);
  result.chosen_logprobs.assign(at(num_rows * sizes.chosen), 7);
  result.entropies.assign(at(num_rows), 7);
  result.bitmask.assign(at(num_rows * words), 7);
  result.kept_probabilities.assign(at(num_rows * sizes.kept), 7);
  result.removed_by.assign(at(num_rows * args.input.num_cols), 7);
  result.status.assign(at(num_rows), 7);
  args.token_id_type = sizes.id_type;
  args.out_token_ids = token_ids.data();
  args.out_kept_counts = result.kept_counts.data();
  args.out_logprobs = result.logprobs.data();
  args.out_row_status = result.status.data();
  args.num_top_logprobs = sizes.top;
  args.out_top_token_ids = top_ids.data();
  args.out_top_logprobs = result.top_logprobs.data();
  args.num_chosen = sizes.chosen;
  args.chosen_token_ids = chosen_ids.data();
  args.out_chosen_logprobs = result.chosen_logprobs.data();
  args.out_ranks = result.ranks.data();
  args.out_entropies = result.entropies.data();
  args.out_kept_bitmask = result.bitmask.data();
  args.kept_bitmask_stride = sizes.bitmask_stride;
  args.kept_capacity = sizes.kept;
  args.out_kept_token_ids = kept_ids.data();
  args.out_kept_probabilities = result.kept_probabilities.data();
  args.out_removed_by = result.removed_by.data();
  const auto memory = workspace_of(sampler, &args, &sampler_sample_workspace_size);
  EXPECT_EQ(sampler_sample(sampler, &args), SAMPLER_OK) << sampler_last_error();
  result.token_ids = token_ids.values();
  result.top_ids = top_ids.values();
  result.kept_ids = kept_ids.values();
  return result;
}

// Checks the reports of one output row. `row` is the input row, `n` the output row.
class RowCheck {
 public:
  RowCheck(const Problem &problem, std::int64_t row, const Reported &got, std::int64_t n,
           const Sizes &sizes, const std::vector<std::int64_t> &chosen)
      : problem_(problem), row_(row), got_(got), n_(n), sizes_(sizes), chosen_(chosen) {}

  void expect_bad() const {
    for (std::int64_t i = 0; i < sizes_.top; ++i) expect_no_top(i);
    for (std::int64_t i = 0; i < sizes_.chosen; ++i) {
      ASSERT_TRUE(std::isnan(got_.chosen_logprobs[at(n_ * sizes_.chosen + i)]));
    }
    for (std::int64_t i = 0; i < sizes_.kept; ++i) expect_no_kept(i);
    ASSERT_EQ(got_.ranks[at(n_)], 0);
    ASSERT_TRUE(std::isnan(got_.entropies[at(n_)]));
    for (std::int64_t id = 0; id < 32 * words(); ++id) ASSERT_FALSE(bit(id));
    for (std::int64_t i = 0; i < problem_.num_cols; ++i) ASSERT_EQ(removed_by(i), 255);
  }

  // What the distribution's tokens say.
  void expect_of(const oracle::Reports &expected) const {
    const auto &tokens = expected.tokens();
    const auto count = static_cast<std::int64_t>(tokens.ids.size());
    for (std::int64_t i = 0; i < sizes_.top; ++i) {
      if (i >= count) {
        expect_no_top(i);
        continue;
      }
      ASSERT_EQ(got_.top_ids[at(n_ * sizes_.top + i)], tokens.ids[at(i)]) << i;
      ASSERT_EQ(got_.top_logprobs[at(n_ * sizes_.top + i)], expected.logprob_at(at(i))) << i;
    }
    for (std::int64_t i = 0; i < sizes_.chosen; ++i) {
      const std::int64_t id = chosen_[at(n_ * sizes_.chosen + i)];
      const float logprob = has(id) ? expected.logprob(id) : std::nanf("");
      ASSERT_TRUE(same(got_.chosen_logprobs[at(n_ * sizes_.chosen + i)], logprob)) << id;
    }
    const std::int64_t token = got_.token_ids[at(n_)];
    ASSERT_EQ(got_.ranks[at(n_)], expected.rank(token));
    ASSERT_EQ(got_.logprobs[at(n_)], expected.logprob(token));
    ASSERT_EQ(got_.entropies[at(n_)], expected.entropy());
  }

  // The kept set, and what removed the other elements.
  void expect_kept(const oracle::Reports &kept, const Removals &removals) const {
    auto ids = kept.tokens().ids;
    const auto count = static_cast<std::int64_t>(ids.size());
    std::sort(ids.begin(), ids.end());
    for (std::int64_t id = 0; id < 32 * words(); ++id) {
      ASSERT_EQ(bit(id), std::binary_search(ids.begin(), ids.end(), id)) << id;
    }
    const std::int64_t listed = count <= sizes_.kept ? count : 0;
    for (std::int64_t i = 0; i < sizes_.kept; ++i) {
      if (i >= listed) {
        expect_no_kept(i);
        continue;
      }
      const std::int64_t place = kept.rank(ids[at(i)]) - 1;
      ASSERT_EQ(got_.kept_ids[at(n_ * sizes_.kept + i)], ids[at(i)]);
      ASSERT_EQ(got_.kept_probabilities[at(n_ * sizes_.kept + i)], kept.probability_at(at(place)));
    }
    for (std::int64_t i = 0; i < problem_.num_cols; ++i) {
      ASSERT_EQ(removed_by(i), at(i) < removals.size() ? removals[at(i)] : 255) << i;
      if (at(i) >= removals.size()) continue;
      ASSERT_EQ(removed_by(i) == 0, std::binary_search(ids.begin(), ids.end(), id_of(i)));
    }
  }

  std::int64_t id_of(std::int64_t element) const {
    return problem_.candidate_ids.empty() ? element : problem_.candidate_ids[at(row_)][at(element)];
  }

 private:
  std::int64_t words() const {
    return sizes_.bitmask_stride ? sizes_.bitmask_stride : (problem_.num_cols + 31) / 32;
  }
  bool bit(std::int64_t id) const {
    return (got_.bitmask[at(n_ * words() + id / 32)] >> (id % 32) & 1) != 0;
  }
  int removed_by(std::int64_t element) const {
    return got_.removed_by[at(n_ * problem_.num_cols + element)];
  }
  bool has(std::int64_t id) const {
    for (std::size_t i = 0; i < problem_.rows[at(row_)].size(); ++i) {
      if (id_of(static_cast<std::int64_t>(i)) == id) return true;
    }
    return false;
  }
  void expect_no_top(std::int64_t i) const {
    ASSERT_EQ(got_.top_ids[at(n_ * sizes_.top + i)], -1);
    ASSERT_TRUE(std::isnan(got_.top_logprobs[at(n_ * sizes_.top + i)]));
  }
  void expect_no_kept(std::int64_t i) const {
    ASSERT_EQ(got_.kept_ids[at(n_ * sizes_.kept + i)], -1);
    ASSERT_EQ(got_.kept_probabilities[at(n_ * sizes_.kept + i)], 0.0F);
  }

  const Problem &problem_;
  std::int64_t row_;
  const Reported &got_;
  std::int64_t n_;
  const Sizes &sizes_;
  const std::vector<std::int64_t> &chosen_;
};

struct AllHandles {
  std::vector<Handle> all;
  AllHandles() {
    all.push_back(make_handle(nullptr, 1));
    for (const char *isa : {"scalar", "avx2", "neon"}) {
      if (Handle handle = make_handle(isa, 2)) all.push_back(std::move(handle));
    }
  }
};

Sizes random_sizes(Random &random, const Problem &problem) {
  const std::int64_t width = problem.num_cols;
  const auto some = [&] {
    const std::int64_t counts[] = {0, 1, 2, width / 2, width};
    return std::min(width, counts[random.between(0, 4)]);
  };
  Sizes sizes = {some(), std::min<std::int64_t>(some(), 40), 0, some(), SAMPLER_ID_I32};
  if (!problem.candidate_ids.empty() || random.one_in(3)) {
    sizes.bitmask_stride = random.between(1, width / 32 + 3);
  }
  if (random.one_in(2)) sizes.id_type = SAMPLER_ID_I64;
  return sizes;
}

std::vector<std::int64_t> random_chosen(Random &random, std::int64_t count, const Problem &problem,
                                        sampler_id_type type) {
  std::vector<std::int64_t> ids(at(count));
  for (auto &id : ids) {
    const auto row = problem.candidate_ids.empty() ? 0 : random.between(0, problem.num_rows() - 1);
    const bool is_listed = !problem.candidate_ids.empty() && !random.one_in(4);
    const auto &listed = is_listed ? problem.candidate_ids[at(row)] : std::vector<std::int64_t>();
    id = !listed.empty()
             ? listed[at(random.between(0, static_cast<std::int64_t>(listed.size()) - 1))]
             : random.between(-2, problem.num_cols + 2);
    if (random.one_in(20)) id = type == SAMPLER_ID_I64 ? INT64_MIN + 5 : INT32_MIN;
    if (random.one_in(20)) id = type == SAMPLER_ID_I64 ? INT64_MAX : INT32_MAX;
  }
  return ids;
}

bool has_token(const std::vector<float> &row, sampler_input_kind kind) {
  const float nothing = kind == SAMPLER_LOGITS ? -kInfinity : 0.0F;
  return std::any_of(row.begin(), row.end(), [&](float x) { return x > nothing; });
}

// What the oracle makes of one row.
struct ExpectedRow {
  std::vector<float> given, edited, drawn;
  float temperature;
  Removals removals;
};

ExpectedRow expected_row(const Problem &problem, std::int64_t row) {
  ExpectedRow result;
  const float nothing = problem.kind == SAMPLER_LOGITS ? -kInfinity : 0.0F;
  result.given = problem.rows[at(row)];
  for (const float x : result.given) result.removals.push_back(x > nothing ? 0 : 255);
  result.edited = edited(problem, row, &result.removals);
  result.temperature = problem.params.temperature;
  result.drawn = result.edited;
  if (!has_token(result.edited, problem.kind)) return result;
  const Staged staged = keep_windows(problem, row, result.edited, true, &result.removals);
  if (!problem.has_windows) return result;
  result.drawn = staged.values;
  result.temperature = staged.temperature;
  return result;
}

// The distribution that is drawn from. `tokens`: those that the windows leave; filters keep the
// first `kept_count`.
oracle::Reports drawn_from(const Problem &problem, std::int64_t row, const ExpectedRow &expected,
                           oracle::RankedTokens tokens, std::size_t kept_count) {
  if (problem.has_windows) {
    const auto i = at(row);
    Expected staged;
    staged.rows.resize(i + 1);
    staged.temperatures.resize(i + 1);
    staged.rows[i] = expected.drawn;
    staged.temperatures[i] = expected.temperature;
    auto reweighed = adaptive_p_tokens(problem, staged, row);
    if (!reweighed.ids.empty()) return oracle::Reports::of_log2(std::move(reweighed));
  }
  EXPECT_LE(kept_count, tokens.ids.size());
  tokens.ids.resize(kept_count);
  tokens.values.resize(kept_count);
  return {std::move(tokens), problem.kind == SAMPLER_LOGITS, expected.temperature};
}

void check_problem(const AllHandles &handles, const Problem &problem, sampler_dtype dtype,
                   std::uint64_t seed, std::int64_t *num_good) {
  Random random(seed);
  const Call call(problem, dtype);
  const Sizes sizes = random_sizes(random, problem);
  const std::int64_t num_rows = problem.num_rows();
  const auto chosen = random_chosen(random, num_rows * sizes.chosen, problem, sizes.id_type);
  auto args = call.args<sampler_sample_args>();
  args.random.seeds = call.seeds.data();
  args.random.num_seeds = call.num_slots;
  args.random.offset = Call::kOffset;
  args.draw_method = seed % 3 == 0 ? SAMPLER_DRAW_GUMBEL : SAMPLER_DRAW_INVERSE_CDF;
  args.logprob_kind = static_cast<sampler_logprob_kind>(random.between(0, 2));
  for (const Handle &handle : handles.all) {
    const Sampled plain = sample(handle.get(), call, SAMPLER_LOGPROB_RAW, args.draw_method);
    const Reported got = report(handle.get(), args, num_rows, sizes, chosen);
    for (std::int64_t row = 0; row < num_rows; ++row) {
      SCOPED_TRACE("row " + std::to_string(row) + ", kind " + std::to_string(args.logprob_kind));
      ASSERT_EQ(got.status[at(row)], plain.status[at(row)]);
      ASSERT_EQ(got.token_ids[at(row)], plain.token_ids[at(row)]);
      ASSERT_EQ(got.kept_counts[at(row)], plain.kept_counts[at(row)]);
      const RowCheck check(problem, row, got, row, sizes, chosen);
      if (got.status[at(row)] != SAMPLER_ROW_OK) {
        check.expect_bad();
        if (testing::Test::HasFatalFailure()) return;
        continue;
      }
      ++*num_good;
      const ExpectedRow expected = expected_row(problem, row);
      std::vector<std::int64_t> ids;
      for (std::size_t i = 0; i < expected.given.size(); ++i) {
        ids.push_back(check.id_of(static_cast<std::int64_t>(i)));
      }
      const bool are_logits = problem.kind == SAMPLER_LOGITS;
      const oracle::Reports kept =
          drawn_from(problem, row, expected, oracle::in_rank_order(ids, expected.drawn, are_logits),
                     at(plain.kept_counts[at(row)]));
      if (args.logprob_kind == SAMPLER_LOGPROB_PROCESSED) {
        check.expect_of(kept);
      } else {
        const bool is_raw = args.logprob_kind == SAMPLER_LOGPROB_RAW;
        check.expect_of(oracle::Reports(
            oracle::in_rank_order(ids, is_raw ? expected.given : expected.edited, are_logits),
            are_logits, 1.0F));
      }
      if (testing::Test::HasFatalFailure()) return;
      check.expect_kept(kept, expected.removals);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

class Reports : public testing::TestWithParam<sampler_dtype> {};

// Values on a coarse grid.
void make_ties(Problem *problem) {
  for (auto &row : problem->rows) {
    for (float &x : row) {
      x = problem->kind == SAMPLER_LOGITS ? std::nearbyint(x) : std::ceil(x * 16) / 16;
    }
  }
}

void check_problems(sampler_dtype dtype, Problem (*make)(std::uint64_t)) {
  const AllHandles handles;
  std::int64_t num_good = 0;
  for (std::uint64_t seed = 0; seed < kNumProblems; ++seed) {
    SCOPED_TRACE(seed);
    Problem problem = make(seed * 3 + std::uint64_t(dtype));
    if (seed % 3 == 0) make_ties(&problem);
    round_rows(&problem, dtype);
    check_problem(handles, problem, dtype, seed, &num_good);
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(num_good, static_cast<std::int64_t>(2 * kNumProblems));
}

TEST_P(Reports, OfEditsEqualThoseOfTheOracle) {
  check_problems(GetParam(), make_problem);
}
TEST_P(Reports, OfWindowsEqualThoseOfTheOracle) {
  check_problems(GetParam(), make_staged_problem);
}

// Rows of a batch without stages, some of which many outputs draw from.
struct SharedRows {
  std::vector<float> values;
  std::vector<std::int32_t> row_indices, slots;
  std::vector<float> temperatures;
  std::vector<std::uint64_t> seeds;
  std::int64_t num_rows, num_cols, num_outputs, num_slots;
  sampler_params params = sampler_params_default();

  SharedRows(Random &random, std::int64_t cols)
      : num_rows(4), num_cols(cols), num_outputs(150), num_slots(7) {
    if (cols < 100) {  // so many outputs of a row that it is sorted
      num_outputs = 12000;
      num_slots = 2;
    }
    for (std::int64_t i = 0; i < num_rows * num_cols; ++i) {
      values.push_back(random.one_in(20) ? -kInfinity : random.within(-9.0F, 9.0F));
    }
    values[at(num_cols)] = std::nanf("");  // row 1 is bad
    for (std::int64_t i = 0; i < num_outputs; ++i) {
      row_indices.push_back(static_cast<std::int32_t>(random.between(-1, num_rows)));
      slots.push_back(static_cast<std::int32_t>(random.between(0, num_slots)));
    }
    for (std::int64_t i = 0; i < num_slots; ++i) {
      temperatures.push_back(random.one_in(4) ? 0.0F : random.one_in(2) ? 0.7F : 1.3F);
      seeds.push_back(99 + static_cast<std::uint64_t>(i));
    }
    params.top_k = random.one_in(2) ? static_cast<std::int32_t>(random.between(1, cols)) : 0;
    params.top_p = random.one_in(2) ? 0.9F : 1.0F;
  }

  sampler_sample_args args(const float *rows, std::int64_t count) const {
    sampler_sample_args result = {};
    result.struct_size = sizeof result;
    result.input.values = rows;
    result.input.num_rows = count;
    result.input.num_cols = num_cols;
    result.params = &params;
    result.slots = slots.data();
    result.num_slots = num_slots;
    result.random.seeds = seeds.data();
    result.random.num_seeds = num_slots;
    return result;
  }
};

void expect_equal(const Reported &a, const Reported &b) {
  const auto bytes = [](const auto &x, const auto &y) {
    return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof x[0]) == 0;
  };
  EXPECT_EQ(a.token_ids, b.token_ids);
  EXPECT_EQ(a.kept_counts, b.kept_counts);
  EXPECT_EQ(a.status, b.status);
  EXPECT_EQ(a.ranks, b.ranks);
  EXPECT_EQ(a.top_ids, b.top_ids);
  EXPECT_EQ(a.kept_ids, b.kept_ids);
  EXPECT_EQ(a.bitmask, b.bitmask);
  EXPECT_EQ(a.removed_by, b.removed_by);
  EXPECT_TRUE(bytes(a.logprobs, b.logprobs));
  EXPECT_TRUE(bytes(a.top_logprobs, b.top_logprobs));
  EXPECT_TRUE(bytes(a.chosen_logprobs, b.chosen_logprobs));
  EXPECT_TRUE(bytes(a.entropies, b.entropies));
  EXPECT_TRUE(bytes(a.kept_probabilities, b.kept_probabilities));
}

// Outputs that share what is made of a row report what rows of their own would.
TEST(SharedReports, EqualThoseOfRowsApart) {
  const AllHandles handles;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const SharedRows rows(random, seed % 3 == 0 ? 40 : seed % 3 == 1 ? 700 : 9000);
    sampler_row_params row_params = {};
    row_params.struct_size = sizeof row_params;
    row_params.temperature = rows.temperatures.data();
    const Sizes sizes = {5, 3, 0, rows.num_cols / 2, SAMPLER_ID_I64};
    std::vector<std::int64_t> chosen;
    std::vector<float> apart;
    for (std::int64_t i = 0; i < rows.num_outputs; ++i) {
      for (int k = 0; k < 3; ++k) chosen.push_back(random.between(-1, rows.num_cols));
      const std::int64_t row = rows.row_indices[at(i)];
      const bool exists = row >= 0 && row < rows.num_rows;
      const auto first = rows.values.begin() + (exists ? row * rows.num_cols : 0);
      apart.insert(apart.end(), first, first + rows.num_cols);
    }
    sampler_sample_args shared = rows.args(rows.values.data(), rows.num_rows);
    shared.row_params = &row_params;
    shared.row_indices = rows.row_indices.data();
    shared.num_row_indices = rows.num_outputs;
    sampler_sample_args separate = rows.args(apart.data(), rows.num_outputs);
    separate.row_params = &row_params;
    shared.logprob_kind = separate.logprob_kind = static_cast<sampler_logprob_kind>(seed % 3);
    std::vector<std::int32_t> indices;  // of rows apart, the bad ones bad
    for (std::int64_t i = 0; i < rows.num_outputs; ++i) {
      const std::int32_t row = rows.row_indices[at(i)];
      indices.push_back(row >= 0 && row < rows.num_rows ? static_cast<std::int32_t>(i) : -1);
    }
    separate.row_indices = indices.data();
    separate.num_row_indices = rows.num_outputs;
    for (const Handle &handle : handles.all) {
      const Reported expected = report(handle.get(), separate, rows.num_outputs, sizes, chosen);
      const Reported got = report(handle.get(), shared, rows.num_outputs, sizes, chosen);
      expect_equal(got, expected);
      EXPECT_EQ(std::count(got.status.begin(), got.status.end(), SAMPLER_ROW_OK) > 50, true);
      if (HasFailure()) return;
    }
  }
}

std::string name_of(const testing::TestParamInfo<sampler_dtype> &type) {
  const char *const names[] = {"F32", "F16", "BF16"};
  return names[type.param];
}
INSTANTIATE_TEST_SUITE_P(Types, Reports, testing::Values(SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16),
                         name_of);

}  // namespace
}  // namespace pipeline_test
