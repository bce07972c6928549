// Held rows: softmax, filters, draws and chains of wide rows on devices of several kinds, compared
// with a CPU handle.
#include "held/held.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "../../sized.h"
#include "contract/elements.h"
#include "handles.h"
#include "launch/launch.h"
#include "nothing_later.h"
#include "sampler/sampler.h"

namespace {

using namespace sampler;
using kernels::Held;
using kernels::HeldKind;
namespace runtime = simt::runtime;
using simt_test::NothingIsComputedLater;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kUntouched = -77.0f;

struct Machine {
  const char *name;
  runtime::Device device;
  int block_threads;
};

// 16-bit elements, or f32.
struct Values {
  std::vector<std::uint16_t> halves;
  std::vector<float> floats;
  sampler_dtype dtype = SAMPLER_F32;

  Values(sampler_dtype type, std::size_t size, float x) : dtype(type) {
    if (type == SAMPLER_F32) {
      floats.assign(size, x);
    } else {
      halves.assign(size, 0);
      for (std::size_t i = 0; i < size; ++i) set(i, x);
    }
  }
  void set(std::size_t i, float x) { contract::store_value(data(), dtype, std::int64_t(i), x); }
  float get(std::size_t i) const { return contract::load_value(data(), dtype, std::int64_t(i)); }
  void *data() { return dtype == SAMPLER_F32 ? static_cast<void *>(floats.data()) : halves.data(); }
  const void *data() const { return const_cast<Values *>(this)->data(); }
  const void *at(std::size_t i) const {
    return static_cast<const char *>(data()) + i * contract::size_of(dtype);
  }
  bool operator==(const Values &other) const {
    return halves == other.halves && floats.size() == other.floats.size() &&
           (floats.empty() ||
            std::memcmp(floats.data(), other.floats.data(), floats.size() * sizeof(float)) == 0);
  }
};

enum class Content { kModel, kFlat, kEqual, kMasked, kTied, kNaN, kInfinite, kEmpty, kNumContents };

float logit(Content content, std::mt19937_64 &random) {
  std::normal_distribution<float> normal(0.0f, 2.5f);
  switch (content) {
    case Content::kFlat:
      return 1.0f + 1e-4f * normal(random);
    case Content::kEqual:
      return 0.5f;
    case Content::kMasked:
      return random() % 500 == 0 ? normal(random) : -kInfinity;
    case Content::kTied:
      return std::floor(normal(random) * 4) / 4;
    case Content::kEmpty:
      return -kInfinity;
    default:
      return normal(random);
  }
}

// A call of sampler_filter on rows of all contents.
struct FilterCase {
  int num_rows, num_cols;
  std::int64_t stride;
  std::size_t lead;
  Values input;
  std::vector<Content> contents;
  sampler_params params = sampler_params_default();
  std::vector<float> temperature, top_p, min_p;
  std::vector<std::int32_t> top_k;
  bool by_row = false, counts = false;
  sampler_input_kind kind_of_input = SAMPLER_LOGITS;
  sampler_output_kind output_kind;
  sampler_dtype output_dtype;

  FilterCase(int rows, int cols, std::uint64_t seed, bool is_ordinary)
      : num_rows(rows),
        num_cols(cols),
        stride(cols + std::int64_t(seed % 3)),
        lead(seed % 5),
        input(sampler_dtype(seed % 3), lead + std::size_t(rows * stride), kInfinity) {
    std::mt19937_64 random(seed);
    const auto one_of = [&](auto... values) {
      const std::common_type_t<decltype(values)...> all[] = {values...};
      return all[random() % (sizeof all / sizeof *all)];
    };
    for (int row = 0; row < rows; ++row) {
      const auto content = is_ordinary || row == 0
                               ? Content::kModel
                               : Content(random() % std::uint64_t(Content::kNumContents));
      contents.push_back(content);
      const float scale = is_ordinary ? 2.0f : 1.0f;  // of which lists hold what top-p keeps
      for (int i = 0; i < cols; ++i) input.set(place(row, i), scale * logit(content, random));
      const int bad = int(random() % std::uint64_t(cols));
      if (content == Content::kNaN) input.set(place(row, bad), std::nanf(""));
      if (content == Content::kInfinite) input.set(place(row, bad), kInfinity);
      temperature.push_back(one_of(0.0f, 0.8f, 1.0f, is_ordinary ? 0.7f : 1.7f));
      top_k.push_back(one_of(0, 1, 50, is_ordinary ? 200 : 1000));
      top_p.push_back(one_of(1.0f, 0.9f, 0.5f, 0.0f, -1e30f, -kInfinity));
      min_p.push_back(one_of(0.0f, 0.0f, 0.05f, 1.0f));
    }
    if (!is_ordinary && random() % 8 == 0) temperature[0] = -1.0f;  // a bad row
    by_row = random() % 3 == 0;
    counts = random() % 3 == 0;
    output_kind = one_of(SAMPLER_OUTPUT_PROBABILITIES, SAMPLER_OUTPUT_VALUES);
    output_dtype = one_of(SAMPLER_F32, input.dtype);
    params.temperature = one_of(0.8f, 1.0f, 0.0f);
    const std::uint64_t filters = random() % 6;
    if (filters == 1 || filters > 3) params.top_k = one_of(3, 50, is_ordinary ? 300 : 900);
    if (filters == 2 || filters > 4) params.top_p = one_of(0.9f, 0.3f);
    if (filters == 3 || filters == 5) params.min_p = one_of(0.02f, 0.3f);
    params.filter_order =
        one_of(SAMPLER_FILTERS_SEQUENTIAL, SAMPLER_FILTERS_JOINT, SAMPLER_FILTERS_MIN_P_FIRST);
    params.top_k_ties = one_of(SAMPLER_TIES_EXACT, SAMPLER_TIES_KEEP);
    params.top_p_ties = one_of(SAMPLER_TIES_EXACT, SAMPLER_TIES_KEEP);
    params.top_p_sum = one_of(SAMPLER_SUM_REACHES, SAMPLER_SUM_EXCEEDS);
    params.temperature_order =
        one_of(SAMPLER_TEMPERATURE_FIRST, SAMPLER_TEMPERATURE_FIRST, SAMPLER_TEMPERATURE_LAST);
  }

  // The same rows as powers of 2, which sum up to anything, or some of them bad.
  void be_probabilities() {
    kind_of_input = SAMPLER_PROBABILITIES;
    for (int row = 0; row < num_rows; ++row) {
      for (int i = 0; i < num_cols; ++i) {
        const float x = input.get(place(row, i));
        input.set(place(row, i), std::isinf(x) && x > 0 ? x : std::exp2(1.4f * x - 9));
      }
      const bool is_negative = contents[std::size_t(row)] == Content::kNaN && num_cols % 2 == 0;
      if (is_negative) input.set(place(row, num_cols / 3), -0.25f);
    }
    for (float &t : temperature) t = t > 0 ? 1.0f : t;
    if (params.temperature > 0) params.temperature = 1.0f;
    output_kind = SAMPLER_OUTPUT_PROBABILITIES;
  }

  sampler_rows view() const {
    sampler_rows result = {};
    result.values = input.at(lead);
    result.num_rows = num_rows;
    result.num_cols = num_cols;
    result.row_stride = stride;
    result.dtype = input.dtype;
    result.kind = kind_of_input;
    return result;
  }

  std::size_t place(int row, int i) const {
    return lead + std::size_t(row * stride) + std::size_t(i);
  }

  struct Result {
    Values output;
    std::vector<std::int32_t> kept;
    std::vector<sampler_row_status> statuses;
    bool operator==(const Result &other) const {
      return output == other.output && kept == other.kept && statuses == other.statuses;
    }
  };

  Result run(sampler_t sampler) const {
    Result result = {Values(output_dtype, lead + std::size_t(num_rows * stride), kUntouched),
                     std::vector<std::int32_t>(std::size_t(num_rows)),
                     std::vector<sampler_row_status>(std::size_t(num_rows))};
    sampler_row_params rows = sized<sampler_row_params>();
    rows.temperature = temperature.data();
    rows.top_k = top_k.data();
    rows.top_p = top_p.data();
    rows.min_p = min_p.data();
    sampler_filter_args args = sized<sampler_filter_args>();
    args.input = view();
    args.params = &params;
    if (by_row) args.row_params = &rows;
    args.output_kind = output_kind;
    args.output_dtype = output_dtype;
    args.output = const_cast<void *>(result.output.at(lead));
    args.output_stride = stride;
    if (counts) args.out_kept_counts = result.kept.data();
    args.out_row_status = result.statuses.data();
    EXPECT_EQ(SAMPLER_OK, sampler_filter(sampler, &args)) << sampler_last_error();
    return result;
  }

  HeldKind kind() const {
    contract::FilterRequest request;
    request.input.num_cols = num_cols;
    request.input.kind = kind_of_input;
    contract::Parameters &all = request.parameters;
    all.temperature = {params.temperature, by_row ? temperature.data() : nullptr};
    all.top_k = {params.top_k, by_row ? top_k.data() : nullptr};
    all.top_p = {params.top_p, by_row ? top_p.data() : nullptr};
    all.min_p = {params.min_p, by_row ? min_p.data() : nullptr};
    all.rules = {params.top_k_ties, params.top_p_ties, params.filter_order,
                 params.temperature_order, params.top_p_sum};
    request.output_kind = output_kind;
    std::int32_t kept = 0;
    if (counts) request.out_kept_counts = &kept;
    return kernels::held_kind(request);
  }
};

class HeldRows : public testing::TestWithParam<Machine> {
 protected:
  HeldRows() {
    runtime::reset({GetParam().device});
    runtime::set_block_threads(GetParam().block_threads);
    runtime::adopt_host_memory(0);
    cpu_ = make_handle(SAMPLER_DEVICE_CPU);
    device_ = make_handle(SAMPLER_DEVICE_CUDA);
  }
  static simt_test::Handle make_handle(sampler_device_type type, std::int64_t max_rows = 512,
                                       std::int64_t max_cols = 50000) {
    sampler_options options = sampler_options_default();
    options.device_type = type;
    options.max_rows = max_rows;
    options.max_cols = max_cols;
    sampler_t sampler = nullptr;
    EXPECT_EQ(SAMPLER_OK, sampler_create(&options, &sampler)) << sampler_last_error();
    return simt_test::Handle(sampler);
  }
  ~HeldRows() override { runtime::set_block_threads(64); }

  static bool has_launched(const void *kernel) {
    for (const runtime::Launch &launch : runtime::launches()) {
      if (launch.kernel == kernel) return true;
    }
    return false;
  }
  // Kernels of held rows launched for a call.
  template <class Case>
  bool was_held(const Case &call, HeldKind kind) {
    return has_launched(kernels::held_kernel_address(call.input.dtype, kind));
  }

  simt_test::Handle cpu_, device_;
};

INSTANTIATE_TEST_SUITE_P(On, HeldRows,
                         testing::Values(Machine{"clusters", runtime::kHopper, 64},
                                         Machine{"no_clusters", runtime::kAda, 64},
                                         Machine{"clusters_256_threads", runtime::kHopper, 256}),
                         [](const testing::TestParamInfo<Machine> &machine) {
                           return machine.param.name;
                         });

constexpr int kWidths[] = {8192, 8200, 9001, 20000, 40009};
constexpr std::uint64_t kNumTypicalRows = 60;

TEST_P(HeldRows, OfFiltersEqualTheCpu) {
  int num_held[kernels::kNumHeldKinds] = {};
  for (std::uint64_t seed = 0; seed < 144; ++seed) {
    FilterCase call(4, kWidths[seed / 3 % 5], seed, false);
    if (seed >= 72) call.be_probabilities();
    runtime::forget_calls();
    const FilterCase::Result expected = call.run(cpu_.get()), actual = call.run(device_.get());
    ASSERT_TRUE(expected == actual) << "seed " << seed;
    const bool fits = GetParam().device.has_clusters() || call.num_cols < 20000;
    if (fits && call.kind() != HeldKind::kNone) {
      EXPECT_TRUE(was_held(call, call.kind())) << "seed " << seed;
      ++num_held[int(call.kind())];
    }
  }
  EXPECT_GE(num_held[int(HeldKind::kSoftmax)], 1);
  EXPECT_GE(num_held[int(HeldKind::kFilter)], 10);
}

TEST_P(HeldRows, OfModelsAreNotLeft) {
  const NothingIsComputedLater nothing;
  for (std::uint64_t seed = 100; seed < 160; ++seed) {
    FilterCase call(3, kWidths[seed % 3], seed, true);
    if (seed >= 130) call.be_probabilities();
    if (call.by_row || call.kind() == HeldKind::kNone) continue;
    const FilterCase::Result expected = call.run(cpu_.get()), actual = call.run(device_.get());
    EXPECT_TRUE(expected == actual)
        << "seed " << seed << " T " << call.params.temperature << " k " << call.params.top_k
        << " p " << call.params.top_p << " min " << call.params.min_p << " order "
        << call.params.filter_order << " counts " << call.counts;
  }
}

// Top-p that keeps far more tokens than a list holds: of ranks with weights as of words; of few
// values.
TEST_P(HeldRows, OfWideNucleiAreNotLeft) {
  const NothingIsComputedLater nothing;
  for (std::uint64_t of_kind = 0; of_kind < 18; ++of_kind) {
    const std::uint64_t seed = of_kind % 9;
    const bool is_tied = seed >= 6, are_probabilities = of_kind >= 9;
    FilterCase call(2, kWidths[is_tied ? 2 : 2 + seed % 3], seed, true);
    if (!GetParam().device.has_clusters()) call = FilterCase(2, 9001, seed, true);
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal;
    std::uniform_real_distribution<float> uniform;
    for (int row = 0; row < call.num_rows; ++row) {
      for (int i = 0; i < call.num_cols; ++i) {
        const float rank = 1 + uniform(random) * float(call.num_cols);
        const float x = -1.1f * std::log(rank) + 0.3f * normal(random);
        const float tied = is_tied ? std::floor(2 * x) / 2 : x;
        call.input.set(call.place(row, i), are_probabilities ? std::exp(tied) / 10 : tied);
      }
    }
    call.by_row = false;
    call.counts = seed % 3 == 1;
    call.params.temperature = seed % 2 == 0 || are_probabilities ? 1.0f : 1.3f;
    if (are_probabilities) {
      call.kind_of_input = SAMPLER_PROBABILITIES;
      call.output_kind = SAMPLER_OUTPUT_PROBABILITIES;
    }
    call.params.temperature_order = SAMPLER_TEMPERATURE_FIRST;
    call.params.top_k = 0;
    call.params.min_p = 0.0f;
    call.params.top_p = is_tied ? 0.5f : seed < 3 ? 0.9f : 0.97f;
    EXPECT_EQ(HeldKind::kFilter, call.kind());
    const FilterCase::Result expected = call.run(cpu_.get()), actual = call.run(device_.get());
    EXPECT_TRUE(expected == actual) << "seed " << seed;
    int num_kept = 0;
    for (int i = 0; i < call.num_cols; ++i) num_kept += actual.output.get(call.place(0, i)) > 0.0f;
    if (call.output_kind == SAMPLER_OUTPUT_PROBABILITIES && !is_tied) {
      EXPECT_GT(num_kept, 2100);
    }
  }
}

// What servers report of each token of ordinary rows.
TEST_P(HeldRows, OfReportsAreNotLeft) {
  const NothingIsComputedLater nothing(kernels::Operation::kStagedSample);
  constexpr std::int64_t kTop = 20, kKept = 600;
  int num_held = 0, num_streamed = 0;
  for (std::uint64_t seed = 200; seed < 248; ++seed) {
    FilterCase rows(3, kWidths[seed % 3], seed, true);
    if (seed >= 224) rows.be_probabilities();
    if (rows.by_row || rows.kind() == HeldKind::kNone) continue;
    const auto size = std::size_t(rows.num_rows);
    const std::size_t num_words = std::size_t(rows.num_cols + 31) / 32;
    const auto run = [&](sampler_t sampler) {
      // Floats by their bits: some are NaN.
      auto result = std::make_tuple(
          std::vector<std::int32_t>(size), std::vector<std::int32_t>(size * kTop),
          std::vector<std::int32_t>(size), std::vector<std::int32_t>(size * kKept),
          std::vector<std::uint32_t>(size * num_words), std::vector<std::uint32_t>(size),
          std::vector<std::uint32_t>(size * kTop), std::vector<std::uint32_t>(size),
          std::vector<std::uint32_t>(size * kKept), std::vector<sampler_row_status>(size));
      const auto floats = [](std::vector<std::uint32_t> &bits) {
        return reinterpret_cast<float *>(bits.data());
      };
      sampler_report_args reports = sized<sampler_report_args>();
      reports.logprob_kind = sampler_logprob_kind(seed % 2);
      reports.num_top_logprobs = kTop;
      reports.out_top_token_ids = std::get<1>(result).data();
      reports.out_ranks = std::get<2>(result).data();
      reports.out_logprobs = floats(std::get<5>(result));
      reports.out_top_logprobs = floats(std::get<6>(result));
      reports.out_entropies = floats(std::get<7>(result));
      if (seed % 3 == 0) reports.out_kept_bitmask = std::get<4>(result).data();
      if (seed % 3 == 1) {
        reports.kept_capacity = kKept;
        reports.out_kept_token_ids = std::get<3>(result).data();
        reports.out_kept_probabilities = floats(std::get<8>(result));
      }
      sampler_sample_args args = sized<sampler_sample_args>();
      args.input = rows.view();
      args.params = &rows.params;
      args.random.seed = seed;
      // Draws from probabilities of 16 bits are held without reports, too.
      const bool are_halves = rows.input.dtype != SAMPLER_F32;
      const bool is_plain =
          rows.kind_of_input == SAMPLER_PROBABILITIES && are_halves && seed % 4 == 0;
      args.reports = is_plain ? nullptr : &reports;
      args.out_token_ids = std::get<0>(result).data();
      args.out_row_status = std::get<9>(result).data();
      EXPECT_EQ(SAMPLER_OK, sampler_sample(sampler, &args)) << sampler_last_error();
      return result;
    };
    runtime::forget_calls();
    EXPECT_TRUE(run(cpu_.get()) == run(device_.get())) << "seed " << seed;
    // Those of what a top-k or min-p keeps first follow from a stream's list; those of rows as they
    // are given are a stream's, too.
    const bool is_listed = has_launched(kernels::listed_kernel_address());
    const bool is_streamed =
        has_launched(kernels::stream_kernel_address(rows.input.dtype, kernels::StreamKind::kAny));
    const bool is_held = was_held(rows, HeldKind::kReport);
    EXPECT_TRUE(is_held || is_listed || is_streamed);
    num_held += is_held ? 1 : 0;
    num_streamed += is_streamed ? 1 : 0;
  }
  EXPECT_GE(num_held, 8);
  EXPECT_GE(num_streamed, 4);
}

// Draws from probabilities of f32, by any filters.
TEST_P(HeldRows, OfProbabilitiesAreStreamed) {
  int num_streamed = 0, num_good = 0;
  for (std::uint64_t seed = 0; seed < 240; seed += 3) {
    FilterCase rows(3, kWidths[seed / 3 % 5], seed, seed % 2 == 0);
    rows.be_probabilities();
    if (seed % 4 == 2) rows.input.set(rows.place(1, rows.num_cols - 1), -0.25f);
    for (int i = 0; i < rows.num_cols && seed % 2 != 0; i += 5) {  // 0, too
      rows.input.set(rows.place(i % 3, i), -0.0f);
    }
    const auto size = std::size_t(rows.num_rows);
    const auto run = [&](sampler_t sampler) {
      auto result =
          std::make_tuple(std::vector<std::int32_t>(size), std::vector<std::int32_t>(size),
                          std::vector<std::uint32_t>(size), std::vector<sampler_row_status>(size));
      sampler_row_params row_params = sized<sampler_row_params>();
      row_params.temperature = rows.temperature.data();
      row_params.top_k = rows.top_k.data();
      row_params.top_p = rows.top_p.data();
      row_params.min_p = rows.min_p.data();
      sampler_report_args reports = sized<sampler_report_args>();
      if (seed % 4 == 0) reports.out_kept_counts = std::get<1>(result).data();
      reports.out_logprobs = reinterpret_cast<float *>(std::get<2>(result).data());
      reports.logprob_kind = sampler_logprob_kind(seed / 2 % 2);
      sampler_sample_args args = sized<sampler_sample_args>();
      args.input = rows.view();
      args.params = &rows.params;
      if (rows.by_row) args.row_params = &row_params;
      args.random.seed = seed;
      if (seed % 5 != 0) args.reports = &reports;
      args.out_token_ids = std::get<0>(result).data();
      args.out_row_status = std::get<3>(result).data();
      EXPECT_EQ(SAMPLER_OK, sampler_sample(sampler, &args)) << sampler_last_error();
      return result;
    };
    const auto expected = run(cpu_.get());
    runtime::forget_calls();
    EXPECT_TRUE(expected == run(device_.get())) << "seed " << seed;
    for (const sampler_row_status status : std::get<3>(expected)) {
      num_good += status == SAMPLER_ROW_OK;
    }
    for (const runtime::Launch &launch : runtime::launches()) {
      num_streamed +=
          launch.kernel == kernels::stream_kernel_address(SAMPLER_F32, kernels::StreamKind::kGiven);
    }
  }
  EXPECT_GT(num_streamed, 40);
  EXPECT_GT(num_good, 120);
}

// Draws by weights alone: of rows of all contents, at indices, for slots, some of them none.
struct DrawCase {
  FilterCase rows;
  sampler_params params = sampler_params_default();
  sampler_report_args reports = sized<sampler_report_args>();
  std::vector<std::int32_t> row_indices, slots;
  std::vector<std::uint64_t> seeds, offsets;
  std::vector<std::uint32_t> streams;

  DrawCase(int num_cols, std::uint64_t seed) : rows(5, num_cols, seed, seed % 4 == 0) {
    std::mt19937_64 random(seed);
    for (const std::int32_t index : {3, 0, 5, 1, 4, -1, 2, 0}) row_indices.push_back(index);
    for (const std::int32_t slot : {2, 9, 0, 10, 4, 1, 8, -1}) slots.push_back(slot);
    for (int i = 0; i < 10; ++i) {
      seeds.push_back(random());
      offsets.push_back(random());
      streams.push_back(std::uint32_t(random()));
    }
    const float temperatures[] = {1.0f, 0.7f, 1.0f, 30.0f};
    const float min_p[] = {0.0f, 0.02f, 1.0f, 1e-30f, 0.0f};
    params.temperature = temperatures[seed % 4];
    params.min_p = min_p[seed / 4 % 5];
    const bool may_be_raw = params.temperature == 1.0f && params.min_p == 0.0f;
    reports.logprob_kind =
        may_be_raw && seed % 3 == 0 ? SAMPLER_LOGPROB_RAW : SAMPLER_LOGPROB_PROCESSED;
  }

  int num_outputs(std::uint64_t seed) const { return seed % 2 == 0 ? rows.num_rows : 8; }

  // Tokens and statuses, and bits of values and log-probabilities.
  std::vector<std::int64_t> run(sampler_t sampler, std::uint64_t seed,
                                const sampler_row_params *row_params = nullptr,
                                const sampler_pipeline *pipeline = nullptr) const {
    const auto size = std::size_t(num_outputs(seed));
    std::vector<std::int64_t> ids(size);
    std::vector<std::int32_t> short_ids(size);
    std::vector<float> values(size), logprobs(size);
    std::vector<sampler_row_status> statuses(size);
    sampler_report_args wanted = reports;
    if (seed % 5 != 0) wanted.out_values = values.data();
    if (seed % 7 != 0) wanted.out_logprobs = logprobs.data();
    sampler_sample_args args = sized<sampler_sample_args>();
    args.input = rows.view();
    args.params = &params;
    args.row_params = row_params;
    args.pipeline = pipeline;
    args.reports = &wanted;
    args.random.seed = seed;
    if (seed % 2 != 0) {
      args.row_indices = row_indices.data();
      args.num_row_indices = std::int64_t(size);
    }
    if (seed % 4 == 3) {
      args.slots = slots.data();
      args.num_slots = 10;
    }
    if (seed % 3 != 0) {
      const std::int64_t num_slots = seed % 4 == 3 ? 10 : std::int64_t(size);
      args.random.seeds = seeds.data();
      args.random.offsets = offsets.data();
      args.random.streams = streams.data();
      args.random.num_seeds = args.random.num_offsets = num_slots;
    }
    const bool are_long = seed % 3 == 1;
    args.token_id_type = are_long ? SAMPLER_ID_I64 : SAMPLER_ID_I32;
    args.out_token_ids = are_long ? static_cast<void *>(ids.data()) : short_ids.data();
    if (seed % 11 != 0) args.out_row_status = statuses.data();
    EXPECT_EQ(SAMPLER_OK, sampler_sample(sampler, &args)) << sampler_last_error();
    for (std::size_t i = 0; i < size; ++i) {
      ids.push_back(short_ids[i]);
      ids.push_back(std::int64_t(statuses[i]));
      ids.push_back(std::int64_t(contract::bits_of(values[i])));
      ids.push_back(std::int64_t(contract::bits_of(logprobs[i])));
    }
    return ids;
  }
};

TEST_P(HeldRows, OfDrawsEqualTheCpuByOneLaunch) {
  int num_good = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    DrawCase call(kWidths[seed / 4 % 5], seed);
    const bool is_cut_first = seed % 8 == 5 && call.params.min_p > 0;  // at temperature 1
    if (seed % 8 == 5) call.params.temperature_order = SAMPLER_TEMPERATURE_LAST;
    const std::vector<std::int64_t> expected = call.run(cpu_.get(), seed);
    runtime::forget_calls();
    ASSERT_EQ(expected, call.run(device_.get(), seed)) << "seed " << seed;
    const bool is_held = GetParam().device.has_clusters() && !is_cut_first;
    EXPECT_EQ(is_held, was_held(call.rows, HeldKind::kDraw)) << "seed " << seed;
    EXPECT_EQ(is_held, runtime::launches().size() == 1) << "seed " << seed;
    const auto size = std::size_t(call.num_outputs(seed));
    for (std::size_t i = size; i < expected.size(); i += 4) {
      num_good += expected[i + 1] == SAMPLER_ROW_OK;
    }
  }
  EXPECT_GE(num_good, 150);
}

// Less each row's largest value: rows of log-softmax have 0, or -0.
void lower_to_0(FilterCase *rows) {
  for (int row = 0; row < rows->num_rows; ++row) {
    float max = -kInfinity;
    for (int i = 0; i < rows->num_cols; ++i)
      max = std::max(max, rows->input.get(rows->place(row, i)));
    if (!std::isfinite(max)) continue;
    for (int i = 0; i < rows->num_cols; ++i) {
      const float x = rows->input.get(rows->place(row, i)) - max;
      rows->input.set(rows->place(row, i), x == 0 && i % 2 == 0 ? -0.0f : x);
    }
  }
}

// The same rows, with adaptive-p or smoothing. Kinds of tokens: those of few, and of many values of
// probabilities; with the wanted one below, above and between them.
struct ReweighedCase : DrawCase {
  std::vector<float> temperature, min_p, targets, values;
  sampler_row_params by_slot = sized<sampler_row_params>();
  sampler_pipeline pipeline = sized<sampler_pipeline>();

  ReweighedCase(int num_cols, std::uint64_t seed) : DrawCase(num_cols, seed) {
    std::mt19937_64 random(seed);
    const auto one_of = [&](auto... all) {
      const std::common_type_t<decltype(all)...> list[] = {all...};
      return list[random() % (sizeof list / sizeof *list)];
    };
    params.adaptive_kind =
        one_of(SAMPLER_ADAPTIVE_P, SAMPLER_ADAPTIVE_P, SAMPLER_ADAPTIVE_SMOOTHING);
    const bool smooths = params.adaptive_kind == SAMPLER_ADAPTIVE_SMOOTHING;
    params.adaptive_target = smooths ? one_of(0.3f, 5.0f) : one_of(0.0f, 1e-5f, 3e-4f, 0.02f, 0.7f);
    params.adaptive_rate = smooths ? one_of(0.0f, 2.5f) : one_of(0.0f, 0.5f);
    params.min_p = one_of(0.0f, 0.0f, 1e-4f, 1e-30f);  // no list holds what it keeps
    if (seed % 6 == 1) params.temperature_order = SAMPLER_TEMPERATURE_LAST;
    reports.logprob_kind = one_of(SAMPLER_LOGPROB_RAW, SAMPLER_LOGPROB_PROCESSED);
    for (int i = 0; i < 10; ++i) {
      temperature.push_back(one_of(0.0f, 0.8f, 1.0f, 2.0f, i == 7 ? -1.0f : 1.5f));
      min_p.push_back(one_of(0.0f, 1e-4f, 0.2f, 1.0f));
      targets.push_back(
          one_of(0.0f, 0.001f, 0.6f, smooths ? 1.0f : -1.0f, i == 8 ? kInfinity : 0.1f));
      for (int j = 0; j < SAMPLER_NUM_ADAPTIVE_VALUES; ++j) {
        values.push_back(one_of(std::nanf(""), 0.2f, 1.5f));
      }
    }
    if (seed % 7 == 2) lower_to_0(&rows);
    if (seed % 3 == 0) pipeline.adaptive_values = values.data();
    if (seed % 5 > 1) by_slot.temperature = temperature.data();
    if (seed % 5 == 2) by_slot.min_p = min_p.data();
    if (seed % 5 > 2) by_slot.adaptive_target = targets.data();
  }

  std::vector<std::int64_t> run(sampler_t sampler, std::uint64_t seed) const {
    std::vector<float> observations(std::size_t(num_outputs(seed)));
    ReweighedCase reported = *this;
    if (seed % 4 != 0) reported.reports.out_observations = observations.data();
    std::vector<std::int64_t> result = static_cast<DrawCase &>(reported).run(
        sampler, seed, seed % 5 > 1 ? &by_slot : nullptr, seed % 3 == 0 ? &pipeline : nullptr);
    for (const float x : observations) result.push_back(std::int64_t(contract::bits_of(x)));
    return result;
  }
};

TEST_P(HeldRows, OfNewWeightsEqualTheCpuByOneLaunch) {
  const NothingIsComputedLater nothing(kernels::Operation::kStagedSample);
  const std::uint64_t num_widths =
      GetParam().device.has_clusters() ? 5 : 3;  // the others do not fit
  int num_good = 0;
  for (std::uint64_t seed = 0; seed < 180; ++seed) {
    const ReweighedCase call(kWidths[seed / 4 % num_widths], seed);
    const std::vector<std::int64_t> expected = call.run(cpu_.get(), seed);
    runtime::forget_calls();
    ASSERT_EQ(expected, call.run(device_.get(), seed)) << "seed " << seed;
    EXPECT_TRUE(was_held(call.rows, HeldKind::kReweighed)) << "seed " << seed;
    EXPECT_EQ(runtime::launches().size(), 1u) << "seed " << seed;
    const auto size = std::size_t(call.num_outputs(seed));
    for (std::size_t i = size; i < 5 * size; i += 4) {
      num_good += expected[i + 1] == SAMPLER_ROW_OK;
    }
  }
  EXPECT_GE(num_good, 450);
}

// The same rows, with windows that cut at values: in any order, of flat rows too, where they keep
// one token.
struct ValuesCase : DrawCase {
  std::vector<float> temperature, fractions, ranges, values;
  std::vector<sampler_p_less_kind> p_less;
  sampler_row_params by_slot = sized<sampler_row_params>();
  sampler_pipeline pipeline = sized<sampler_pipeline>();
  bool has_arrays = false, has_values = false;

  ValuesCase(int num_cols, std::uint64_t seed) : DrawCase(num_cols, seed) {
    std::mt19937_64 random(seed);
    const auto one_of = [&](auto... all) {
      const std::common_type_t<decltype(all)...> list[] = {all...};
      return list[random() % (sizeof list / sizeof *list)];
    };
    params.min_p = one_of(0.0f, 0.0f, 1e-4f, 1e-30f);  // no list holds what it keeps
    if (random() % 2) params.top_n_sigma = one_of(0.5f, 1.0f, 3.0f);
    if (random() % 3 == 0) params.epsilon_cutoff = one_of(1e-5f, 3e-4f, 0.2f);
    if (random() % 3 == 0) params.eta_cutoff = one_of(1e-5f, 2e-3f, 0.9f);
    if (random() % 3 == 0) params.p_less = one_of(SAMPLER_P_LESS_PLAIN, SAMPLER_P_LESS_NORM);
    if (random() % 3 == 0) params.top_a = one_of(0.2f, 1e-3f, 9.0f);
    if (random() % 3 == 0) params.dynamic_temperature_range = one_of(0.4f, 2.0f);
    params.dynamic_temperature_exponent = one_of(0.0f, 1.3f);
    if (random() % 3 == 0) {
      params.adaptive_kind = SAMPLER_ADAPTIVE_MIROSTAT_V2;
      params.adaptive_target = one_of(0.0f, 0.1f, 9.0f);
    }
    params.cutoff_ties = one_of(SAMPLER_TIES_EXACT, SAMPLER_TIES_KEEP);
    params.temperature_order =
        one_of(SAMPLER_TEMPERATURE_FIRST, SAMPLER_TEMPERATURE_FIRST, SAMPLER_TEMPERATURE_LAST);
    if (random() % 3 == 0) list_stages(&random);
    if (random() % 3 == 0) lower_to_0(&rows);
    reports.logprob_kind = one_of(SAMPLER_LOGPROB_RAW, SAMPLER_LOGPROB_PROCESSED);
    has_arrays = random() % 3 == 0;
    has_values = random() % 3 == 0;
    for (int i = 0; i < 10; ++i) {
      temperature.push_back(one_of(0.0f, 0.8f, 1.0f, 2.0f, i == 7 ? -1.0f : 1.5f));
      fractions.push_back(one_of(0.0f, 1e-4f, 0.2f, i == 4 ? std::nanf("") : 1.0f));
      ranges.push_back(one_of(0.0f, 0.7f, 3.0f));
      p_less.push_back(one_of(SAMPLER_P_LESS_NONE, SAMPLER_P_LESS_PLAIN, SAMPLER_P_LESS_NORM,
                              i == 8 ? sampler_p_less_kind(77) : SAMPLER_P_LESS_NONE));
      for (int j = 0; j < SAMPLER_NUM_ADAPTIVE_VALUES; ++j) {
        values.push_back(one_of(std::nanf(""), 0.0f, 1.5f, 12.0f));
      }
    }
    pipeline.adaptive_values = values.data();
    by_slot.temperature = temperature.data();
    if (params.epsilon_cutoff > 0) by_slot.epsilon_cutoff = fractions.data();
    if (params.top_a > 0) by_slot.top_a = fractions.data();
    if (params.p_less != SAMPLER_P_LESS_NONE) by_slot.p_less = p_less.data();
    if (params.dynamic_temperature_range > 0) by_slot.dynamic_temperature_range = ranges.data();
  }

  // All stages, in any order, but mirostat the last.
  void list_stages(std::mt19937_64 *random) {
    sampler_stage all[] = {SAMPLER_STAGE_TEMPERATURE, SAMPLER_STAGE_MIN_P,
                           SAMPLER_STAGE_TOP_N_SIGMA, SAMPLER_STAGE_EPSILON,
                           SAMPLER_STAGE_ETA,         SAMPLER_STAGE_P_LESS,
                           SAMPLER_STAGE_TOP_A,       SAMPLER_STAGE_ADAPTIVE};
    std::shuffle(std::begin(all), std::end(all) - 1, *random);
    std::copy(std::begin(all), std::end(all), params.stages);
    params.temperature_order = SAMPLER_TEMPERATURE_FIRST;
  }

  bool has_windows() const {
    return params.top_n_sigma > 0 || params.epsilon_cutoff > 0 || params.eta_cutoff > 0 ||
           params.p_less != SAMPLER_P_LESS_NONE || params.top_a > 0 ||
           params.dynamic_temperature_range > 0 || params.adaptive_kind != SAMPLER_ADAPTIVE_NONE;
  }

  std::vector<std::int64_t> run(sampler_t sampler, std::uint64_t seed) const {
    const auto size = std::size_t(num_outputs(seed));
    std::vector<float> observations(size);
    std::vector<std::int32_t> counts(size);
    ValuesCase reported = *this;
    if (seed % 4 != 0) reported.reports.out_observations = observations.data();
    if (seed % 4 != 1) reported.reports.out_kept_counts = counts.data();
    std::vector<std::int64_t> result = static_cast<DrawCase &>(reported).run(
        sampler, seed, has_arrays ? &by_slot : nullptr, has_values ? &pipeline : nullptr);
    for (const float x : observations) result.push_back(std::int64_t(contract::bits_of(x)));
    result.insert(result.end(), counts.begin(), counts.end());
    return result;
  }
};

TEST_P(HeldRows, OfWindowsThatCutAtValuesEqualTheCpuByOneLaunch) {
  const std::uint64_t num_widths =
      GetParam().device.has_clusters() ? 5 : 3;  // the others do not fit
  int num_good = 0, num_alone = 0, num_held = 0;
  for (std::uint64_t seed = 0; seed < 240; ++seed) {
    const ValuesCase call(kWidths[seed / 4 % num_widths], seed);
    if (!call.has_windows()) continue;
    const std::vector<std::int64_t> expected = call.run(cpu_.get(), seed);
    runtime::forget_calls();
    ASSERT_EQ(expected, call.run(device_.get(), seed)) << "seed " << seed;
    EXPECT_TRUE(was_held(call.rows, HeldKind::kValues)) << "seed " << seed;
    EXPECT_EQ(runtime::launches().size(), 1u) << "seed " << seed;
    ++num_held;
    const auto size = std::size_t(call.num_outputs(seed));
    for (std::size_t i = 0; i < size; ++i) {
      const bool is_good = expected[size + 4 * i + 1] == SAMPLER_ROW_OK;
      num_good += is_good;
      num_alone += is_good && expected[6 * size + i] == 1;
    }
  }
  EXPECT_GE(num_held, 180);
  EXPECT_GE(num_good, 450);
  EXPECT_GE(num_alone, 80);
}

// The same rows, with typical-p alone; some of many ties are left.
TEST_P(HeldRows, OfTypicalDrawsEqualTheCpu) {
  const std::uint64_t num_widths =
      GetParam().device.has_clusters() ? 5 : 3;  // the others do not fit
  int num_good = 0, num_later = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    ValuesCase call(kWidths[seed / 4 % num_widths], seed);
    std::mt19937_64 random(seed);
    const auto one_of = [&](auto... all) {
      const std::common_type_t<decltype(all)...> list[] = {all...};
      return list[random() % (sizeof list / sizeof *list)];
    };
    const sampler_params before = call.params;
    call.params = sampler_params_default();
    call.params.temperature = before.temperature;
    call.params.temperature_order = seed % 6 == 1 ? SAMPLER_TEMPERATURE_LAST : 0;
    call.params.typical_p = one_of(0.05f, 0.5f, 0.9f, 0.999f);
    call.params.typical_p_ties = one_of(SAMPLER_TIES_EXACT, SAMPLER_TIES_KEEP);
    call.params.typical_p_sum = one_of(SAMPLER_SUM_REACHES, SAMPLER_SUM_EXCEEDS);
    call.has_values = false;
    call.by_slot = sized<sampler_row_params>();
    call.by_slot.temperature = call.temperature.data();
    if (seed % 2 == 0) call.by_slot.typical_p = call.fractions.data();
    // Checked, though the temperature is not dynamic.
    const bool has_exponents = seed % 2 == 0 && seed % 5 == 0;
    if (has_exponents) call.by_slot.dynamic_temperature_exponent = call.fractions.data();
    if (seed % 3 != 0) {  // the likeliest tokens come before the window
      for (int i = 0; i < call.rows.num_cols; i += 977) {
        call.rows.input.set(call.rows.place(0, i), 11.0f + 0.001f * float(i % 5));
      }
    }
    const std::vector<std::int64_t> expected = call.run(cpu_.get(), seed);
    runtime::forget_calls();
    ASSERT_EQ(expected, call.run(device_.get(), seed)) << "seed " << seed;
    EXPECT_NE(was_held(call.rows, HeldKind::kTypical), has_exponents && call.has_arrays)
        << "seed " << seed;
    const auto size = std::size_t(call.num_outputs(seed));
    for (std::size_t i = 0; i < size; ++i) {
      const bool is_good = expected[size + 4 * i + 1] == SAMPLER_ROW_OK;
      num_good += is_good;
      num_later += is_good && expected[6 * size + i] > 1;
    }
  }
  EXPECT_GE(num_good, 250);
  EXPECT_GE(num_later, 60);
}

// One row of each of these calls was not written, where its largest value is 0.
TEST_P(HeldRows, OfTheValue0AloneAreDrawn) {
  for (const float largest : {0.0f, -0.0f}) {
    FilterCase rows(1, 8192, 1, true);
    for (int i = 0; i < rows.num_cols; ++i) {
      rows.input.set(rows.place(0, i), i == 77 ? largest : -0.1f * float(i % 100 + 1));
    }
    void (*const calls[])(sampler_params *) = {
        [](sampler_params *params) { params->temperature = 0, params->top_n_sigma = 1; },
        [](sampler_params *params) {
          params->temperature = 0;
          params->adaptive_kind = SAMPLER_ADAPTIVE_SMOOTHING;
          params->adaptive_target = 1;
        },
        [](sampler_params *params) { params->epsilon_cutoff = 0.9f; },
        [](sampler_params *params) {
          params->temperature = 1e-4f;
          params->dynamic_temperature_range = 1, params->dynamic_temperature_exponent = 1e10f;
        },
        [](sampler_params *params) {
          params->adaptive_kind = SAMPLER_ADAPTIVE_MIROSTAT_V2;
          params->adaptive_target = 1e-3f;
        },
        [](sampler_params *params) { params->temperature = 0, params->typical_p = 0.5f; },
    };
    for (const auto &call : calls) {
      sampler_params params = sampler_params_default();
      call(&params);
      std::int32_t id = -7;
      sampler_row_status status = 99;
      sampler_sample_args args = sized<sampler_sample_args>();
      args.input = rows.view();
      args.params = &params;
      args.out_token_ids = &id;
      args.out_row_status = &status;
      EXPECT_EQ(SAMPLER_OK, sampler_sample(device_.get(), &args)) << sampler_last_error();
      EXPECT_EQ(id, 77) << largest << ", " << (&call - calls);
      EXPECT_EQ(status, sampler_row_status(SAMPLER_ROW_OK));
    }
  }
}

// Every token of rows of few, at both ends of them, in any place of a vector.
TEST_P(HeldRows, OfDrawsFindEveryToken) {
  constexpr int kDraws = 400;
  for (const sampler_dtype dtype : {SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16}) {
    for (const int num_cols : {8192, 9001}) {
      DrawCase call(num_cols, std::uint64_t(dtype) + 3);
      FilterCase &rows = call.rows;
      rows.input = Values(dtype, rows.lead + std::size_t(rows.num_rows * rows.stride), -kInfinity);
      const int ids[] = {0, 1, 2, 3, 7, 500, 512, 4095, 4096, num_cols - 8, num_cols - 1};
      for (const int id : ids) rows.input.set(rows.place(0, id), 1.0f);
      const std::vector<std::int32_t> first(kDraws, 0);
      std::vector<std::int32_t> drawn(kDraws), expected(kDraws);
      sampler_sample_args args = sized<sampler_sample_args>();
      args.input = rows.view();
      args.row_indices = first.data();
      args.num_row_indices = kDraws;
      args.random.seed = 8;
      args.out_token_ids = expected.data();
      EXPECT_EQ(SAMPLER_OK, sampler_sample(cpu_.get(), &args)) << sampler_last_error();
      args.out_token_ids = drawn.data();
      EXPECT_EQ(SAMPLER_OK, sampler_sample(device_.get(), &args)) << sampler_last_error();
      EXPECT_EQ(expected, drawn);
      for (const int id : ids) {
        EXPECT_NE(drawn.end(), std::find(drawn.begin(), drawn.end(), id)) << id;
      }
    }
  }
}

// Every stage that engines offer.
void (*const kStages[])(sampler_params *) = {
    [](sampler_params *params) { params->typical_p = 0.9f; },
    [](sampler_params *params) { params->typical_p = 0.05f; },
    [](sampler_params *params) { params->top_n_sigma = 1.0f; },
    [](sampler_params *params) { params->epsilon_cutoff = 0.001f; },
    [](sampler_params *params) { params->eta_cutoff = 0.002f; },
    [](sampler_params *params) { params->top_h = 0.4f; },
    [](sampler_params *params) { params->p_less = SAMPLER_P_LESS_PLAIN; },
    [](sampler_params *params) { params->min_k = 3.0f; },
    [](sampler_params *params) { params->top_a = 0.2f; },
    [](sampler_params *params) {
      params->xtc_probability = 1.0f;
      params->xtc_threshold = 0.05f;
    },
    [](sampler_params *params) { params->dynamic_temperature_range = 0.3f; },
    [](sampler_params *params) {
      params->adaptive_kind = SAMPLER_ADAPTIVE_MIROSTAT_V2;
      params->adaptive_target = 3.0f;
      params->adaptive_rate = 0.1f;
    },
    [](sampler_params *params) {
      params->adaptive_kind = SAMPLER_ADAPTIVE_P;
      params->adaptive_target = 0.5f;
      params->adaptive_rate = 0.9f;
    },
    [](sampler_params *params) {
      params->adaptive_kind = SAMPLER_ADAPTIVE_SMOOTHING;
      params->adaptive_target = 0.3f;
      params->adaptive_rate = 1.0f;
    },
    [](sampler_params *params) {  // llama.cpp's
      params->temperature_order = SAMPLER_TEMPERATURE_LAST;
      params->top_k = 40;
      params->typical_p = 0.95f;
      params->top_p = 0.95f;
      params->min_p = 0.05f;
      params->xtc_probability = 0.5f;
      params->xtc_threshold = 0.1f;
    },
    [](sampler_params *params) {  // the second sees what the first leaves
      params->xtc_probability = 1.0f;
      params->xtc_threshold = 0.02f;
      params->epsilon_cutoff = 0.01f;
      params->stages[0] = SAMPLER_STAGE_TEMPERATURE;
      params->stages[1] = SAMPLER_STAGE_XTC;
      params->stages[2] = SAMPLER_STAGE_EPSILON;
    },
};

struct StagedCase {
  FilterCase rows;
  sampler_params params = sampler_params_default();
  const sampler_pipeline *pipeline = nullptr;

  // By which of kStages. Weights fall with the rank to a power.
  StagedCase(std::size_t stage, int num_cols, std::uint64_t seed, float power)
      : rows(2, num_cols, seed, true) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<float> uniform;
    for (int row = 0; row < rows.num_rows; ++row) {
      for (int i = 0; i < num_cols; ++i) {
        const float rank = 1 + uniform(random) * float(num_cols);
        rows.input.set(rows.place(row, i), -power * std::log(rank) + uniform(random));
      }
    }
    params.temperature = 0.9f;
    kStages[stage](&params);
  }

  struct Result {
    std::vector<std::int32_t> ids = std::vector<std::int32_t>(2);
    std::vector<std::int32_t> kept = std::vector<std::int32_t>(2);
    std::vector<std::uint32_t> observations = std::vector<std::uint32_t>(2);  // bits
    std::vector<sampler_row_status> statuses = std::vector<sampler_row_status>(2);

    bool operator==(const Result &other) const {
      return ids == other.ids && kept == other.kept && observations == other.observations &&
             statuses == other.statuses;
    }
  };

  Result run(sampler_t sampler) const {
    Result result;
    sampler_report_args reports = sized<sampler_report_args>();
    reports.out_kept_counts = result.kept.data();
    reports.out_observations = reinterpret_cast<float *>(result.observations.data());
    sampler_sample_args args = sized<sampler_sample_args>();
    args.input = rows.view();
    args.params = &params;
    args.random.seed = 5;
    args.reports = &reports;
    args.pipeline = pipeline;
    args.out_token_ids = result.ids.data();
    args.out_row_status = result.statuses.data();
    EXPECT_EQ(SAMPLER_OK, sampler_sample(sampler, &args)) << sampler_last_error();
    EXPECT_EQ(SAMPLER_ROW_OK, result.statuses[0]);
    return result;
  }
};

// Rows that few tokens have most of, as models give them.
TEST_P(HeldRows, OfStagesAreNotLeft) {
  const NothingIsComputedLater nothing(kernels::Operation::kStagedSample);
  for (std::size_t stage = 0; stage < std::size(kStages); ++stage) {
    for (const int num_cols : {9001, GetParam().device.has_clusters() ? 32000 : 10007}) {
      const StagedCase call(stage, num_cols, stage * 2 + std::size_t(num_cols % 2), 1.8f);
      runtime::forget_calls();
      EXPECT_TRUE(call.run(cpu_.get()) == call.run(device_.get()))
          << "stage " << stage << ", " << num_cols << " columns";
      EXPECT_TRUE(
          was_held(call.rows, HeldKind::kStaged) || was_held(call.rows, HeldKind::kReweighed) ||
          was_held(call.rows, HeldKind::kValues) || was_held(call.rows, HeldKind::kTypical) ||
          has_launched(kernels::listed_kernel_address()))
          << "stage " << stage;
    }
  }
}

// Tokens exempt from penalties are looked for among those of a text without any.
TEST_P(HeldRows, OfEmptyTextsEqualTheCpu) {
  const std::int64_t history_offsets[] = {0, 0}, unpenalized_offsets[] = {0, 40};
  const std::int32_t none[1] = {};
  std::int32_t unpenalized[40];
  for (int i = 0; i < 40; ++i) unpenalized[i] = i * 200 + 3;
  sampler_pipeline pipeline = sized<sampler_pipeline>();
  pipeline.history = {history_offsets, none, 1, 0};
  pipeline.unpenalized = {unpenalized_offsets, unpenalized, 1, 40};
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    StagedCase call(0, 8196, seed, 1.0f);
    call.rows.num_rows = 1;
    call.params = sampler_params_default();
    call.params.repetition_penalty = 1.3f;
    if (seed % 2 == 0) call.params.top_n_sigma = 1;
    std::int32_t ids[2] = {-7, -7};
    for (const auto &handle : {&cpu_, &device_}) {
      sampler_sample_args args = sized<sampler_sample_args>();
      args.input = call.rows.view();
      args.params = &call.params;
      args.pipeline = &pipeline;
      args.random.seed = seed;
      args.out_token_ids = &ids[handle == &device_];
      runtime::forget_calls();
      std::size_t bytes = 0;
      EXPECT_EQ(SAMPLER_OK, sampler_sample_workspace_size(handle->get(), &args, &bytes));
      std::vector<char> memory(bytes);
      args.exec.workspace = memory.data();
      args.exec.workspace_bytes = bytes;
      EXPECT_EQ(SAMPLER_OK, sampler_sample(handle->get(), &args)) << sampler_last_error();
    }
    EXPECT_EQ(ids[0], ids[1]) << "seed " << seed;
    EXPECT_TRUE(has_launched(kernels::edits_kernel_address())) << "seed " << seed;
  }
}

// The list of the first tokens shows no fall, where it has those of the largest value alone.
TEST_P(HeldRows, OfMinKOfTiesEqualTheCpu) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    StagedCase call(0, 8196, seed, 1.0f);
    FilterCase &rows = call.rows;
    for (int row = 0; row < rows.num_rows; ++row) {
      for (int i = 0; i < rows.num_cols; ++i) {
        rows.input.set(rows.place(row, i), i % 10 == 0 ? 1.0f : -float(i % 15));
      }
    }
    call.params = sampler_params_default();
    call.params.min_k = 3;
    call.params.adaptive_kind = SAMPLER_ADAPTIVE_MIROSTAT_V2;
    call.params.adaptive_target = 4;
    EXPECT_TRUE(call.run(cpu_.get()) == call.run(device_.get())) << "seed " << seed;
  }
}

// No stage but an edit reads the history.
TEST_P(HeldRows, OfStagesMayHaveBadHistories) {
  const std::int64_t offsets[] = {0, 9, 9};
  const std::int32_t ids[9] = {};
  sampler_pipeline pipeline = sized<sampler_pipeline>();
  pipeline.history = {offsets, ids, 2, 9};
  pipeline.max_history_tokens = 8;
  for (std::size_t stage = 0; stage < std::size(kStages); ++stage) {
    StagedCase call(stage, 9001, stage, 1.8f);
    call.pipeline = &pipeline;
    EXPECT_TRUE(call.run(cpu_.get()) == call.run(device_.get())) << "stage " << stage;
  }
}

// Flat ones, whose windows may end beyond the list.
TEST_P(HeldRows, OfStagesOfFlatRowsEqualTheCpu) {
  for (std::size_t stage = 0; stage < std::size(kStages); ++stage) {
    for (const float power : {0.1f, 0.6f, 1.0f}) {
      const StagedCase call(stage, 9001, stage, power);
      EXPECT_TRUE(call.run(cpu_.get()) == call.run(device_.get()))
          << "stage " << stage << ", power " << power;
    }
  }
}

// Typical-p that keeps far more tokens than a list holds: of normal values of any spread, of f32
// and of types whose values tie; by either rule of ties and of sums; on both sides of the mean, or
// on one.
TEST_P(HeldRows, OfWideTypicalWindowsAreNotLeft) {
  const NothingIsComputedLater nothing(kernels::Operation::kStagedSample);
  for (std::uint64_t seed = 0; seed < 48; ++seed) {
    StagedCase call(0, GetParam().device.has_clusters() ? kWidths[3 + seed / 3 % 2] : 10007, seed,
                    1.0f);
    FilterCase &rows = call.rows;
    std::mt19937_64 random(seed);
    const float spread[] = {0.3f, 2.5f, 1.0f, 4.0f};
    std::normal_distribution<float> normal(0.0f, spread[seed / 3 % 4]);
    for (int row = 0; row < rows.num_rows; ++row) {
      for (int i = 0; i < rows.num_cols; ++i) rows.input.set(rows.place(row, i), normal(random));
      // Far likelier tokens, which come before the window.
      if (seed % 2 == 0) rows.input.set(rows.place(row, int(seed)), 5 * spread[seed / 3 % 4]);
      if (seed % 5 == 0) rows.input.set(rows.place(row, 3), -kInfinity);
    }
    call.params.typical_p = seed % 7 == 0 ? 0.5f : 0.9f;
    call.params.typical_p_ties = seed % 4 < 2 ? SAMPLER_TIES_EXACT : SAMPLER_TIES_KEEP;
    call.params.typical_p_sum = seed % 3 == 0 ? SAMPLER_SUM_EXCEEDS : SAMPLER_SUM_REACHES;
    call.params.temperature = seed % 6 == 0 ? 0.7f : 1.0f;
    if (seed % 8 == 5 && spread[seed / 3 % 4] < 2.0f) call.params.min_keep = 500;
    const StagedCase::Result expected = call.run(cpu_.get());
    EXPECT_TRUE(expected == call.run(device_.get())) << "seed " << seed;
    const bool is_flat = seed / 3 % 4 == 0 && seed % 7 != 0;
    if (is_flat && rows.num_cols > 30000) {
      EXPECT_GT(expected.kept[0], 10000);
    }
  }
}

// Beside other stages, before and after it; of values that tie, and lie alike on both sides.
TEST_P(HeldRows, OfTypicalWindowsBesideOthersEqualTheCpu) {
  for (std::uint64_t seed = 0; seed < kNumTypicalRows; ++seed) {
    std::mt19937_64 random(seed);
    const auto one_of = [&](auto... values) {
      const std::common_type_t<decltype(values)...> all[] = {values...};
      return all[random() % (sizeof all / sizeof *all)];
    };
    const int most_cols = GetParam().device.has_clusters() ? 20000 : 10007;
    StagedCase call(0, one_of(8192, 9001, most_cols), seed, 1.0f);
    FilterCase &rows = call.rows;
    for (int row = 0; row < rows.num_rows; ++row) {
      std::normal_distribution<float> normal(0.0f, one_of(0.1f, 1.0f, 2.5f, 5.0f));
      const float steps = one_of(0.0f, 0.0f, 64.0f, 8.0f, 1.0f);
      const bool is_masked = random() % 4 == 0;
      for (int i = 0; i < rows.num_cols; ++i) {
        const float x = normal(random);
        const float tied = steps > 0.0f ? std::round(x * steps) / steps : x;
        rows.input.set(rows.place(row, i), is_masked && random() % 3 != 0 ? -kInfinity : tied);
      }
      if (random() % 2 == 0) rows.input.set(rows.place(row, 77), one_of(3.0f, 9.0f, 20.0f));
    }
    sampler_params &params = call.params;
    params.typical_p = one_of(0.05f, 0.5f, 0.9f, 0.99f);
    params.typical_p_ties = one_of(SAMPLER_TIES_EXACT, SAMPLER_TIES_KEEP);
    params.typical_p_sum = one_of(SAMPLER_SUM_REACHES, SAMPLER_SUM_EXCEEDS);
    params.min_keep = one_of(0, 0, 5, 3000);
    if (random() % 3 == 0) params.top_k = one_of(40, 900);
    if (random() % 3 == 0) params.top_p = 0.8f;
    if (random() % 3 == 0) params.min_p = one_of(0.02f, 1e-4f);
    if (random() % 3 == 0) {
      params.xtc_probability = 1.0f;
      params.xtc_threshold = one_of(0.02f, 1e-4f);
    }
    if (random() % 2 == 0) {
      sampler_stage stages[] = {SAMPLER_STAGE_TYPICAL_P, SAMPLER_STAGE_XTC,
                                SAMPLER_STAGE_TOP_K,     SAMPLER_STAGE_TEMPERATURE,
                                SAMPLER_STAGE_TOP_P,     SAMPLER_STAGE_MIN_P};
      std::shuffle(std::begin(stages), std::end(stages), random);
      std::copy(std::begin(stages), std::end(stages), params.stages);
    }
    EXPECT_TRUE(call.run(cpu_.get()) == call.run(device_.get())) << "seed " << seed;
  }
}

// The first tokens of rows of all contents; few of them are left.
TEST_P(HeldRows, OfFirstTokensEqualTheCpu) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const FilterCase rows(4, kWidths[seed / 3 % 3], seed + 900, seed % 2 == 0);
    const std::int64_t k = seed % 4 < 2 ? 1 + std::int64_t(seed) : 300;
    const std::vector<std::int32_t> counts = {0, 3, -1, 5000};
    const auto run = [&](sampler_t sampler) {
      const auto size = std::size_t(rows.num_rows * k);
      auto result = std::make_tuple(Values(rows.output_dtype, size, kUntouched),
                                    std::vector<std::int32_t>(size),
                                    std::vector<std::int32_t>(std::size_t(rows.num_rows)),
                                    std::vector<sampler_row_status>(std::size_t(rows.num_rows)));
      sampler_select_args args = sized<sampler_select_args>();
      args.input = rows.view();
      args.num_selected = k;
      if (seed % 3 == 0) args.selected_counts = counts.data();
      args.output_dtype = rows.output_dtype;
      args.out_values = std::get<0>(result).data();
      args.out_token_ids = std::get<1>(result).data();
      args.out_counts = std::get<2>(result).data();
      args.out_row_status = std::get<3>(result).data();
      EXPECT_EQ(SAMPLER_OK, sampler_select(sampler, &args)) << sampler_last_error();
      return result;
    };
    const auto expected = run(cpu_.get());
    runtime::forget_calls();
    EXPECT_TRUE(expected == run(device_.get())) << "seed " << seed;
    EXPECT_TRUE(was_held(rows, HeldKind::kSelect)) << "seed " << seed;
    if (seed % 2 != 0) continue;
    const NothingIsComputedLater nothing(kernels::Operation::kSelect);
    EXPECT_TRUE(expected == run(device_.get())) << "seed " << seed;
  }
}

// Chains of drafts, of given probabilities or of logits.
struct ChainCase {
  int num_rows = 5, num_drafts, num_cols;
  std::int64_t stride;
  std::size_t lead;
  Values input, draft;  // input: the target's
  std::vector<std::int32_t> ids, counts;
  std::vector<std::uint64_t> seeds;
  bool has_draft;
  sampler_input_kind kind = SAMPLER_PROBABILITIES, draft_kind = SAMPLER_PROBABILITIES;
  sampler_params params = sampler_params_default();

  ChainCase(int drafts, int cols, std::uint64_t seed)
      : num_drafts(drafts),
        num_cols(cols),
        stride(cols + std::int64_t(seed % 3)),
        lead(seed % 5),
        input(sampler_dtype(seed / 2 % 3), lead + std::size_t(num_rows * (drafts + 1) * stride), 0),
        draft(input.dtype, lead + std::size_t(num_rows * std::max(drafts, 1) * stride), 0),
        has_draft(seed % 4 != 0) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal;
    for (int row = 0; row < num_rows; ++row) {
      for (int position = 0; position <= drafts; ++position) {
        const bool is_equal = random() % 6 == 0, is_peaked = random() % 4 == 0;
        const std::size_t p = lead + std::size_t((row * (drafts + 1) + position) * stride);
        const std::size_t q = lead + std::size_t((row * drafts + position) * stride);
        for (int i = 0; i < cols; ++i) {
          const float scale = is_peaked ? 4.0f : 1.0f;
          const float x = std::exp(scale * normal(random)) / (60.0f * float(cols));
          input.set(p + std::size_t(i), random() % 9 == 0 ? 0.0f : x);
          if (position == drafts) continue;
          const float y = std::exp(scale * normal(random)) / (60.0f * float(cols));
          draft.set(q + std::size_t(i), is_equal ? input.get(p + std::size_t(i)) : y);
        }
        const auto somewhere = [&] { return std::size_t(random() % std::uint64_t(cols)); };
        if (random() % 12 == 0) input.set(p + somewhere(), std::nanf(""));
        if (random() % 12 == 0) input.set(p + somewhere(), -0.25f);
        if (random() % 12 == 0 && position < drafts) draft.set(q + somewhere(), kInfinity);
        if (random() % 16 == 0) {
          for (int i = 0; i < cols; ++i) input.set(p + std::size_t(i), 0.0f);
        }
      }
      counts.push_back(random() % 3 == 0 ? std::int32_t(random() % std::uint64_t(drafts + 2))
                                         : drafts);
      seeds.push_back(random());
      for (int i = 0; i < drafts; ++i) {
        const auto id = std::int32_t(random() % std::uint64_t(cols));
        ids.push_back(random() % 20 == 0 ? cols : id);
        // Likely tokens, so that some drafts are accepted.
        if (random() % 2 == 0) {
          const std::size_t at = std::size_t(id);
          input.set(lead + std::size_t((row * (drafts + 1) + i) * stride) + at, 0.5f);
          draft.set(lead + std::size_t((row * drafts + i) * stride) + at, 0.25f);
        }
      }
    }
  }

  // The same with logits for positive probabilities, and filters.
  void take_logits(bool of_draft, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto change = [](Values *values) {
      const std::size_t size = values->floats.size() + values->halves.size();
      for (std::size_t i = 0; i < size; ++i) {
        const float x = values->get(i);
        if (x >= 0.0f && x < kInfinity) values->set(i, std::log(x));
      }
    };
    kind = SAMPLER_LOGITS;
    change(&input);
    if (of_draft && has_draft) {
      draft_kind = SAMPLER_LOGITS;
      change(&draft);
    }
    const std::uint64_t filters = random() % 6;
    params.temperature = random() % 5 == 0 ? 0.0f : random() % 2 == 0 ? 1.0f : 0.8f;
    if (filters == 1 || filters > 3) params.top_k = random() % 2 == 0 ? 50 : 400;
    if (filters == 2 || filters > 4) params.top_p = 0.9f;
    if (filters == 3) params.min_p = 0.01f;
    if (random() % 2 == 0) params.filter_order = SAMPLER_FILTERS_JOINT;
  }

  struct Result {
    std::vector<std::int32_t> tokens, accepted, emitted;
    std::vector<sampler_row_status> statuses;
    bool operator==(const Result &other) const {
      return tokens == other.tokens && accepted == other.accepted && emitted == other.emitted &&
             statuses == other.statuses;
    }
  };

  Result run(sampler_t sampler) const {
    const auto rows = std::size_t(num_rows);
    Result result = {std::vector<std::int32_t>(rows * std::size_t(num_drafts + 1), -77),
                     std::vector<std::int32_t>(rows), std::vector<std::int32_t>(rows),
                     std::vector<sampler_row_status>(rows)};
    VerifyArgs args;
    args.target.values = input.at(lead);
    args.target.kind = kind;
    args.params = &params;
    args.target.dtype = input.dtype;
    args.target.num_cols = num_cols;
    args.target.row_stride = stride;
    args.target.num_rows = num_rows * (num_drafts + 1);
    if (has_draft) {
      args.draft = args.target;
      args.draft.kind = draft_kind;
      args.draft.values = draft.at(lead);
      args.draft.num_rows = num_rows * num_drafts;
    }
    args.draft_token_ids = ids.data();
    args.num_drafts = num_drafts;
    args.draft_counts = counts.data();
    args.random.seeds = seeds.data();
    args.random.num_seeds = num_rows;
    args.out_token_ids = result.tokens.data();
    args.out_accepted_counts = result.accepted.data();
    args.out_emitted_counts = result.emitted.data();
    args.out_row_status = result.statuses.data();
    EXPECT_EQ(SAMPLER_OK, sampler_verify(sampler, &args)) << sampler_last_error();
    return result;
  }
};

TEST_P(HeldRows, OfChainsEqualTheCpu) {
  int num_good = 0, num_accepted = 0, num_rejected = 0;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const bool is_long = seed == 0;  // more drafts than are looked up at once
    const ChainCase call(is_long ? 70 : int(seed % 5), kWidths[is_long ? 0 : seed % 4], seed);
    runtime::forget_calls();
    const ChainCase::Result expected = call.run(cpu_.get()), actual = call.run(device_.get());
    ASSERT_TRUE(expected == actual) << "seed " << seed;
    const bool fits = GetParam().device.has_clusters() || call.num_cols < 20000;
    if (fits) {
      EXPECT_TRUE(was_held(call, HeldKind::kChain)) << "seed " << seed;
    }
    for (std::size_t row = 0; row < std::size_t(call.num_rows); ++row) {
      num_good += expected.statuses[row] == SAMPLER_ROW_OK;
      num_accepted += expected.emitted[row] > 0;
      num_rejected += expected.emitted[row] < call.counts[row];
    }
  }
  EXPECT_GE(num_good, 40);
  EXPECT_GE(num_accepted, 15);
  EXPECT_GE(num_rejected, 30);
}

// Where the workspace has room, all positions are read at once, unless no list shows what filters
// keep; else they are held, one after another.
TEST_P(HeldRows, OfChainsOfLogitsEqualTheCpu) {
  int num_good = 0, num_held = 0, num_at_once = 0, num_accepted = 0, num_rejected = 0;
  const simt_test::Handle small = make_handle(SAMPLER_DEVICE_CUDA, 1, 8192);
  for (std::uint64_t seed = 0; seed < 36; ++seed) {
    ChainCase call(int(seed % 4), kWidths[seed % 4], seed + 500);
    call.take_logits(seed % 3 == 0, seed);
    const ChainCase::Result expected = call.run(cpu_.get());
    runtime::forget_calls();
    ASSERT_TRUE(expected == call.run(device_.get())) << "seed " << seed;
    num_at_once += has_launched(kernels::decide_kernel_address()) ||
                   has_launched(kernels::match_kernel_address());
    runtime::forget_calls();
    ASSERT_TRUE(expected == call.run(small.get())) << "seed " << seed;
    num_held += was_held(call, HeldKind::kVerify);
    for (std::size_t row = 0; row < std::size_t(call.num_rows); ++row) {
      num_good += expected.statuses[row] == SAMPLER_ROW_OK;
      num_accepted += expected.emitted[row] > 0;
      num_rejected += expected.emitted[row] < call.counts[row];
    }
  }
  EXPECT_GE(num_held, 16);
  EXPECT_GE(num_at_once, 12);
  EXPECT_GE(num_good, 60);
  EXPECT_GE(num_accepted, 15);
  EXPECT_GE(num_rejected, 30);
}

// As wide as vocabularies get: what does not fit is not held.
TEST(HeldPlans, Fit) {
  kernels::DeviceShape device;
  device.num_multiprocessors = 132;
  device.held_bytes = (227 << 10) - 112;
  for (const int team : {0, 1, 4, 8}) {
    device.held_team = team;
    for (const HeldKind kind :
         {HeldKind::kSoftmax, HeldKind::kFilter, HeldKind::kChain, HeldKind::kDraw}) {
      for (const std::int64_t cols : {8192, 20000, 50257, 128256, 262144, (1 << 20) - 1}) {
        for (const std::int64_t rows : {1, 7, 64, 4096}) {
          const Held held = kernels::plan_held(kind, rows, cols, device);
          if (cols == 128256) {
            EXPECT_EQ(team >= 4, held.is_on());
          }
          if (cols == 8192) {
            EXPECT_EQ(team > (kind == HeldKind::kDraw ? 1 : 0), held.is_on());
          }
          if (!held.is_on()) continue;
          EXPECT_LE(held.team_size, team);
          EXPECT_GE(held.team_size * held.tiles_of_block * kernels::kTile,
                    cols + kernels::kMaxLead);
          EXPECT_LE(held.shared_bytes(), std::size_t(device.held_bytes));
        }
      }
    }
  }
  EXPECT_FALSE(kernels::plan_held(HeldKind::kSoftmax, 0, 20000, device).is_on());
}

}  // namespace
