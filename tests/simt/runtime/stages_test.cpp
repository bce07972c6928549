// Calls with stages on a device give what they give on the CPU, to the bit: random rows, lists,
// texts and orders, by teams of one block and of several.
#include <gtest/gtest.h>
#include <sampler/sampler.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "../../seed.h"
#include "../../sized.h"
#include "handles.h"
#include "held/held.h"
#include "launch/launch.h"
#include "problem.h"
#include "reported.h"
#include "runtime.h"

namespace simt_test {
namespace {

namespace runtime = simt::runtime;

using pipeline_test::Call;
using pipeline_test::Filtered;
using pipeline_test::Problem;
using pipeline_test::Random;
using pipeline_test::Reported;
using pipeline_test::Sampled;
using pipeline_test::Slot;
using sampler::kernels::HeldKind;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kNumProblems = 40, kNumLongProblems = 2, kNumHeldProblems = 6;
#else
constexpr std::uint64_t kNumProblems = 400, kNumLongProblems = 20, kNumHeldProblems = 60;
#endif

class Stages : public testing::TestWithParam<sampler_dtype>, protected Handles {
 protected:
  // Every output of both calls.
  void compare(const Problem &problem, std::uint64_t seed) {
    runtime::set_block_threads(seed % 4 == 0 ? 256 : 64);
    const Call call(problem, GetParam());
    const auto logprobs = seed % 2 == 0 ? SAMPLER_LOGPROB_RAW : SAMPLER_LOGPROB_PROCESSED;
    const auto draw = seed % 3 == 0 ? SAMPLER_DRAW_GUMBEL : SAMPLER_DRAW_INVERSE_CDF;
    const sampler_t device = seed % 5 == 0 ? reads_host_.get() : device_.get();
    runtime::forget_calls();
    const Sampled sampled = sample(device, call, logprobs, draw);
    for (const runtime::Launch &launch : runtime::launches()) {
      if (launch.team_size > 1) ++num_clusters_;
    }
    const Sampled expected = sample(cpu_.get(), call, logprobs, draw);
    ASSERT_NO_FATAL_FAILURE(assert_equal(sampled, expected));
    for (const float x : sampled.observations) num_observed_ += !std::isnan(x);

    const bool are_logits = problem.kind == SAMPLER_LOGITS;
    const auto kind =
        are_logits && seed % 2 == 0 ? SAMPLER_OUTPUT_VALUES : SAMPLER_OUTPUT_PROBABILITIES;
    const Filtered filtered = filter(device, call, kind);
    const Filtered expected_rows = filter(cpu_.get(), call, kind);
    ASSERT_EQ(filtered.status, expected_rows.status);
    ASSERT_EQ(filtered.kept_counts, expected_rows.kept_counts);
    ASSERT_TRUE(equal(filtered.output, expected_rows.output));
  }

  // The outputs of a draw that are wanted besides its tokens.
  struct Wanted {
    bool counts, logprobs, observations;
    std::int64_t num_top = 0;
    std::vector<std::int32_t> chosen = {};  // as many for each row
    bool ranks = false, statuses = true, entropies = false;
  };
  // What is reported of them beyond Sampled.
  struct Beside {
    std::vector<std::int32_t> top_ids, ranks;
    std::vector<float> top_logprobs, chosen_logprobs, entropies;
  };
  // Draws by a call on the device and on the CPU; then runtime::launches() are the former's.
  void compare_draws(SampleArgs &args, const Problem &problem, std::uint64_t seed,
                     const Wanted &wanted) {
    const auto rows = std::size_t(problem.num_rows());
    const auto run = [&](sampler_t sampler, Beside *beside) {
      *beside = {std::vector<std::int32_t>(rows * std::size_t(wanted.num_top), -7),
                 std::vector<std::int32_t>(rows, -7),
                 std::vector<float>(rows * std::size_t(wanted.num_top), 7),
                 std::vector<float>(wanted.chosen.size(), 7), std::vector<float>(rows, 7)};
      args.report_args.num_top_logprobs = wanted.num_top;
      args.report_args.out_top_token_ids = wanted.num_top ? beside->top_ids.data() : nullptr;
      args.report_args.out_top_logprobs =
          wanted.num_top && seed % 3 != 0 ? beside->top_logprobs.data() : nullptr;
      args.report_args.num_chosen = std::int64_t(wanted.chosen.size() / rows);
      args.report_args.chosen_token_ids = wanted.chosen.empty() ? nullptr : wanted.chosen.data();
      args.report_args.out_chosen_logprobs =
          wanted.chosen.empty() ? nullptr : beside->chosen_logprobs.data();
      args.report_args.out_ranks = wanted.ranks ? beside->ranks.data() : nullptr;
      args.report_args.out_entropies = wanted.entropies ? beside->entropies.data() : nullptr;
      Sampled result = {std::vector<std::int32_t>(rows, -7), std::vector<std::int32_t>(rows, -7),
                        std::vector<float>(rows, 7),         std::vector<float>(rows, 7),
                        std::vector<float>(rows, 7),         std::vector<sampler_row_status>(rows)};
      args.out_token_ids = result.token_ids.data();
      args.report_args.out_kept_counts = wanted.counts ? result.kept_counts.data() : nullptr;
      args.report_args.out_logprobs = wanted.logprobs ? result.logprobs.data() : nullptr;
      args.report_args.out_values = wanted.logprobs ? result.values.data() : nullptr;
      args.report_args.out_observations =
          wanted.observations ? result.observations.data() : nullptr;
      args.out_row_status = wanted.statuses ? result.status.data() : nullptr;
      const auto memory =
          pipeline_test::workspace_of(sampler, &args, &sampler_sample_workspace_size);
      EXPECT_EQ(SAMPLER_OK, sampler_sample(sampler, &args)) << sampler_last_error();
      return result;
    };
    Beside got, beside;
    const Sampled expected = run(cpu_.get(), &beside);
    runtime::forget_calls();
    assert_equal(run(seed % 5 == 0 ? reads_host_.get() : device_.get(), &got), expected);
    ASSERT_EQ(got.top_ids, beside.top_ids);
    ASSERT_EQ(got.ranks, beside.ranks);
    ASSERT_TRUE(equal(got.top_logprobs, beside.top_logprobs));
    ASSERT_TRUE(equal(got.chosen_logprobs, beside.chosen_logprobs));
    ASSERT_TRUE(equal(got.entropies, beside.entropies));
  }

  // The reports of a call, of any sizes; then runtime::launches() are those on the device.
  void compare_random_reports(Random &random, const SampleArgs &args, const Problem &problem,
                              std::uint64_t seed) {
    pipeline_test::Sizes sizes = pipeline_test::random_sizes(random, problem);
    sizes.removed_by = false;
    const auto chosen = pipeline_test::random_chosen(random, sizes.chosen * problem.num_rows(),
                                                     problem, sizes.id_type);
    const auto run = [&](sampler_t sampler) {
      return pipeline_test::report(sampler, args, problem.num_rows(), sizes, chosen);
    };
    const Reported expected = run(cpu_.get());
    runtime::forget_calls();
    expect_equal(run(seed % 7 == 0 ? reads_host_.get() : device_.get()), expected);
  }

  static bool has_launched(const void *kernel) {
    const std::vector<runtime::Launch> &launches = runtime::launches();
    return std::any_of(launches.begin(), launches.end(),
                       [=](const runtime::Launch &launch) { return launch.kernel == kernel; });
  }

  void assert_equal(const Sampled &actual, const Sampled &expected) {
    ASSERT_EQ(actual.status, expected.status);
    ASSERT_EQ(actual.token_ids, expected.token_ids);
    ASSERT_EQ(actual.kept_counts, expected.kept_counts);
    ASSERT_TRUE(equal(actual.logprobs, expected.logprobs));
    ASSERT_TRUE(equal(actual.values, expected.values));
    ASSERT_TRUE(equal(actual.observations, expected.observations));
    for (const auto status : expected.status) num_good_ += status == SAMPLER_ROW_OK;
  }

  // Every report, and the outputs that stand beside them. Some calls have reports alone. `is_held`:
  // few enough for rows in shared memory.
  void compare_reports(const Problem &problem, std::uint64_t seed, bool is_held = false) {
    runtime::set_block_threads(seed % 4 == 0 ? 256 : 64);
    Random random(seeded(seed));
    const Call call(problem, GetParam());
    auto args = call.args<SampleArgs>();
    const sampler_params params = sampler_params_default();
    if (seed % (is_held ? 3 : 5) == 0) {
      args.pipeline = nullptr;
      args.row_params = nullptr;
      args.params = &params;
    }
    args.random.seeds = call.seeds.data();
    args.random.num_seeds = call.num_slots;
    args.report_args.logprob_kind = static_cast<sampler_logprob_kind>(random.between(0, 2));
    if (!is_held) args.draw_method = static_cast<sampler_draw_method>(random.between(0, 2));
    pipeline_test::Sizes sizes = pipeline_test::random_sizes(random, problem);
    if (random.one_in(3)) sizes.top = std::min<std::int64_t>(problem.num_cols, 20);
    if (is_held) be_few(random, &sizes);
    const auto chosen = pipeline_test::random_chosen(random, sizes.chosen * problem.num_rows(),
                                                     problem, sizes.id_type);
    const auto run = [&](sampler_t sampler) {
      return pipeline_test::report(sampler, args, problem.num_rows(), sizes, chosen);
    };
    const Reported expected = run(cpu_.get());
    expect_equal(run(seed % 7 == 0 ? reads_host_.get() : device_.get()), expected);
  }

  // Scores of what the CPU drew, by the stages and from lists of what they kept.
  void compare_scores(Problem problem, std::uint64_t seed, bool is_held = false) {
    runtime::set_block_threads(seed % 4 == 0 ? 256 : 64);
    Random random(seeded(seed));
    const bool has_lists = problem.kind == SAMPLER_LOGITS && seed % 2 == 0;
    problem.has_forced_tokens = false;
    if (has_lists) pipeline_test::leave_out_what_lists_lack(&problem);
    Call call(problem, GetParam());
    if (has_lists) pipeline_test::leave_out_what_lists_lack(&call);
    auto args = call.args<SampleArgs>();
    args.random.seeds = call.seeds.data();
    args.random.num_seeds = call.num_slots;
    args.report_args.logprob_kind =
        has_lists ? SAMPLER_LOGPROB_PROCESSED : sampler_logprob_kind(random.between(0, 2));
    pipeline_test::Sizes sizes = pipeline_test::random_sizes(random, problem);
    sizes.lacks_room = false;
    if (is_held) be_few(random, &sizes);
    const auto chosen = pipeline_test::random_chosen(random, sizes.chosen * problem.num_rows(),
                                                     problem, sizes.id_type);
    const auto run = [&](sampler_t sampler, const pipeline_test::Given *given) {
      return pipeline_test::report(sampler, args, problem.num_rows(), sizes, chosen, given);
    };
    const Reported drawn = run(cpu_.get(), nullptr);
    pipeline_test::Given given = {drawn.token_ids, {}, {}};
    if (has_lists) {
      given.kept_offsets = drawn.kept_offsets;
      given.kept_ids = drawn.packed_ids;
    }
    for (std::int64_t &id : given.token_ids) {
      if (random.one_in(10)) id = random.between(-2, problem.num_cols + 1);
    }
    const Reported expected = run(cpu_.get(), &given);
    expect_equal(run(seed % 7 == 0 ? reads_host_.get() : device_.get(), &given), expected);
  }

  static void be_few(Random &random, pipeline_test::Sizes *sizes) {
    sizes->removed_by = false;
    sizes->top = random.between(0, 3) * random.between(0, 100);
  }

  void expect_equal(const Reported &told, const Reported &expected) {
    ASSERT_EQ(told.status, expected.status);
    ASSERT_EQ(told.token_ids, expected.token_ids);
    pipeline_test::assert_same_reports(told, expected);
    ASSERT_EQ(told.removed_by, expected.removed_by);
    for (const auto status : told.status) num_good_ += status == SAMPLER_ROW_OK;
  }

  static bool equal(const std::vector<float> &a, const std::vector<float> &b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
  }

  int num_good_ = 0, num_observed_ = 0, num_clusters_ = 0;
};

TEST_P(Stages, OfEditsEqualTheCpus) {
  for (std::uint64_t seed = 0; seed < kNumProblems && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    compare(pipeline_test::make_problem(seeded(seed * 3 + std::uint64_t(GetParam()))), seed);
  }
  EXPECT_GT(num_good_, int(kNumProblems));
}

TEST_P(Stages, OfWindowsEqualTheCpus) {
  for (std::uint64_t seed = 0; seed < kNumProblems && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    compare(pipeline_test::make_staged_problem(seeded(seed * 3 + std::uint64_t(GetParam()))), seed);
  }
  EXPECT_GT(num_good_, int(kNumProblems));
  EXPECT_GT(num_observed_, int(kNumProblems) / 4);
}

TEST_P(Stages, ReportsEqualTheCpus) {
  for (std::uint64_t seed = 0; seed < kNumProblems && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const std::uint64_t any = seeded(seed * 3 + std::uint64_t(GetParam()));
    compare_reports(
        seed % 3 == 0 ? pipeline_test::make_problem(any) : pipeline_test::make_staged_problem(any),
        seed);
  }
  EXPECT_GT(num_good_, int(kNumProblems));
}

TEST_P(Stages, ScoresEqualTheCpus) {
  for (std::uint64_t seed = 0; seed < kNumProblems / 2 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const std::uint64_t any = seeded(3000 + seed * 3 + std::uint64_t(GetParam()));
    compare_scores(
        seed % 3 == 0 ? pipeline_test::make_problem(any) : pipeline_test::make_staged_problem(any),
        seed);
  }
  EXPECT_GT(num_good_, int(kNumProblems) / 4);
}

// Rows of several blocks, longer than a list; texts of several of a warp's turns, which repeat
// themselves at length.
void lengthen(Random &random, Problem *problem) {
  if (!problem->candidate_ids.empty()) return;
  if (problem->has_dense_bias && problem->dense_bias_stride == 0) {
    problem->dense_bias_stride = problem->num_cols;
  }
  if (!problem->bitmasks.empty() && problem->bitmask_stride == 0) {
    problem->bitmask_stride = (problem->num_cols + 31) / 32;
  }
  problem->num_cols = random.between(9000, 20000);
  problem->resize_guidance();
  for (auto &row : problem->rows) {
    if (problem->has_counts && random.one_in(2)) continue;
    const auto few = static_cast<int>(random.between(1, 300));
    while (static_cast<std::int64_t>(row.size()) < problem->num_cols) {
      const bool is_tie = random.one_in(3);
      row.push_back(problem->kind == SAMPLER_LOGITS
                        ? (is_tie ? 0.25F * static_cast<float>(random.between(0, few)) : 0.0F) -
                              8 * random.unit()
                        : random.unit());
    }
  }
  for (Slot &slot : problem->slots) {
    if (slot.history.empty()) continue;
    const std::size_t period = slot.history.size();
    const auto length = static_cast<std::size_t>(random.between(70, 3000));
    while (slot.history.size() < length) {
      slot.history.push_back(random.one_in(200) ? random.between(0, 12)
                                                : slot.history[slot.history.size() - period]);
    }
  }
}

TEST_P(Stages, OfLongRowsEqualTheCpus) {
  for (std::uint64_t seed = 0; seed < kNumLongProblems && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const std::uint64_t any = seeded(1000 + seed * 3 + std::uint64_t(GetParam()));
    Problem problem =
        seed % 2 == 0 ? pipeline_test::make_problem(any) : pipeline_test::make_staged_problem(any);
    Random random(any);
    lengthen(random, &problem);
    compare(problem, seed);
    compare_reports(problem, seed);
  }
  EXPECT_GT(num_clusters_, int(kNumLongProblems) / 4);
}

// The same tokens all over the vocabulary, in the same order.
void spread_ids(std::int64_t factor, Problem *problem) {
  const auto spread = [&](pipeline_test::Text *ids) {
    for (std::int64_t &id : *ids) id *= factor;
  };
  for (Slot &slot : problem->slots) {
    for (auto *ids : {&slot.history, &slot.biased, &slot.allowed, &slot.banned, &slot.stop,
                      &slot.unpenalized}) {
      spread(ids);
    }
    for (auto &ids : slot.bias_contexts) spread(&ids);
  }
  for (auto &ids : problem->bad_words) spread(&ids);
  for (auto &ids : problem->breakers) spread(&ids);
}

void shorten_texts(std::size_t most, Problem *problem) {
  for (Slot &slot : problem->slots) {
    slot.history.resize(std::min(slot.history.size(), most));
    slot.prompt_length = std::min(slot.prompt_length, std::int32_t(slot.history.size()));
  }
}

// So that draws are mostly of tokens that edits change.
void raise_edited(Problem *problem) {
  for (std::int64_t i = 0; i < problem->num_rows(); ++i) {
    auto &row = problem->rows[std::size_t(i)];
    const std::int32_t index = problem->slot_of_row[std::size_t(i)];
    if (index < 0 || std::size_t(index) >= problem->slots.size()) continue;
    const Slot &slot = problem->slots[std::size_t(index)];
    for (const auto *ids : {&slot.history, &slot.biased, &slot.banned, &slot.stop}) {
      for (const std::int64_t id : *ids) {
        if (id < 0 || id >= std::int64_t(row.size()) || row[std::size_t(id)] > 2) continue;
        row[std::size_t(id)] = 3 + 0.25F * static_cast<float>(id % 7);
      }
    }
  }
}

// More biases for one slot than streams have room for, where texts are short.
void edit_many(Random &random, Problem *problem) {
  problem->has_biased = problem->has_edits = true;
  problem->has_bias_contexts = problem->lists_for_all = false;
  shorten_texts(50, problem);
  Slot &slot = problem->slots[0];
  slot.biased.clear();
  slot.biases.clear();
  for (std::int64_t id = random.between(0, 2); id < problem->num_cols; id += 3) {
    slot.biased.push_back(id);
    slot.biases.push_back(random.unit() - 0.5F);
  }
}

// Rows of which one is flat, one has few tokens, and one a NaN.
Problem long_problem() {
  Problem problem;
  for (std::uint64_t seed = 0; problem.kind != SAMPLER_LOGITS || problem.rows.size() < 4; ++seed) {
    problem = pipeline_test::make_problem(seeded(seed));
  }
  Random random(seeded(1));
  problem.candidate_ids.clear();
  problem.has_counts = false;
  lengthen(random, &problem);
  std::fill(problem.rows[1].begin(), problem.rows[1].end(), 1.5F);
  for (std::size_t i = 0; i < problem.rows[2].size(); ++i) {
    problem.rows[2][i] = i % 1000 == 7 ? float(i % 13) : -INFINITY;
  }
  problem.rows[3][40] = NAN;
  return problem;
}

// Leaves a call's temperature and filters alone, in the other two.
void leave_filters_alone(SampleArgs *args, sampler_params *params, sampler_row_params *row_params) {
  if (args->params) {
    params->temperature = args->params->temperature;
    params->top_p = args->params->top_p;
    params->min_p = args->params->min_p;
    params->top_k = args->params->top_k;
    params->filter_order = args->params->filter_order;
  }
  if (args->row_params) {
    row_params->temperature = args->row_params->temperature;
    row_params->top_p = args->row_params->top_p;
    row_params->min_p = args->row_params->min_p;
    row_params->top_k = args->row_params->top_k;
    args->row_params = row_params;
  }
  args->params = params;
  args->pipeline = nullptr;
}

// The arguments of a call, some of which have a slot that does not exist.
SampleArgs args_of(Random &random, std::uint64_t seed, Call *call) {
  if (!call->slots.empty() && seed % 4 == 1) {
    call->slots[0] = std::int32_t(random.one_in(2) ? -1 : call->num_slots);
  }
  auto args = call->args<SampleArgs>();
  args.random.seeds = call->seeds.data();
  args.random.num_seeds = call->num_slots;
  return args;
}

// Rows that are streamed as they are, with a list of what edits make of some tokens.
TEST_P(Stages, OfStreamedRowsEqualTheCpus) {
  using sampler::kernels::StreamKind;
  constexpr std::uint64_t kNumStreamed = 3 * kNumHeldProblems;
  int num_streams = 0, num_reporting = 0;
  for (std::uint64_t seed = 0; seed < kNumStreamed && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const std::uint64_t any = seeded(7000 + seed * 3 + std::uint64_t(GetParam()));
    Random random(any);
    Problem problem = pipeline_test::make_problem(any);
    if (problem.kind != SAMPLER_LOGITS) continue;
    problem.candidate_ids.clear();
    problem.has_counts = problem.has_allowed = problem.has_dense_bias = false;
    problem.has_forced_tokens = problem.has_adaptive = problem.has_adaptive_values = false;
    problem.guidance.clear();
    problem.guidance_indices.clear();
    problem.params.temperature_order =
        random.one_in(3) ? SAMPLER_TEMPERATURE_LAST : SAMPLER_TEMPERATURE_FIRST;
    if (random.one_in(2)) problem.params.min_p = 0;
    if (random.one_in(2)) problem.params.top_p = 1;
    if (random.one_in(2)) problem.params.top_k = 0;
    const std::int64_t before = problem.num_cols;
    lengthen(random, &problem);
    if (random.one_in(2)) spread_ids(problem.num_cols / (before + 1), &problem);
    if (seed % 6 == 0) edit_many(random, &problem);
    if (seed % 3 == 1) shorten_texts(8, &problem);
    if (random.one_in(2)) raise_edited(&problem);
    runtime::set_block_threads(seed % 4 == 0 ? 256 : 64);
    Call call(problem, GetParam());
    auto args = args_of(random, seed, &call);
    const bool has_logprobs = random.one_in(2), counts = random.one_in(4);
    Wanted wanted = {counts, has_logprobs, false};
    sampler_params params = sampler_params_default();
    auto row_params = sized<sampler_row_params>();
    if (random.one_in(2)) {  // reports: of edited rows they are held
      if (!random.one_in(3)) leave_filters_alone(&args, &params, &row_params);
      args.report_args.logprob_kind = args.pipeline ? SAMPLER_LOGPROB_EDITED : SAMPLER_LOGPROB_RAW;
      const std::int64_t tops[] = {0, 1, 20, random.between(2, 420)};
      wanted.num_top = tops[random.between(0, 3)];
      wanted.chosen.resize(std::size_t(problem.num_rows() * random.between(0, 3)));
      for (std::int32_t &id : wanted.chosen) {
        id = std::int32_t(random.between(-2, problem.num_cols + 1));
      }
      wanted.ranks = random.one_in(2);
      wanted.entropies = random.one_in(3);
    }
    const bool reports =
        wanted.num_top > 0 || !wanted.chosen.empty() || wanted.ranks || wanted.entropies;
    ASSERT_NO_FATAL_FAILURE(compare_draws(args, problem, seed, wanted));
    for (const runtime::Launch &launch : runtime::launches()) {
      const auto is_of = [&](StreamKind kind) {
        return launch.kernel == sampler::kernels::stream_kernel_address(GetParam(), kind);
      };
      num_streams += is_of(StreamKind::kEdited);
      num_reporting += is_of(StreamKind::kAny) && reports;
    }
  }
  EXPECT_GT(num_streams, int(kNumStreamed) / 18);
  EXPECT_GT(num_reporting, int(kNumStreamed) / 18);
  EXPECT_GT(num_good_, int(kNumHeldProblems));
}

// Stages that sum the same list one right after the other; and bad rows of good and bad slots.
TEST_P(Stages, OfListedSumsEqualTheCpus) {
  const Problem problem = long_problem();
  const Call call(problem, GetParam());
  const std::vector<float> values(std::size_t(call.num_slots * SAMPLER_NUM_ADAPTIVE_VALUES),
                                  INFINITY);
  auto good = sized<sampler_pipeline>(), bad = sized<sampler_pipeline>();
  bad.adaptive_values = values.data();
  std::uint64_t seed = 0;
  for (const float typical_p : {0.2F, 0.5F, 0.9F}) {
    for (const float top_p : {0.3F, 0.9F}) {
      for (const std::int32_t top_k : {50, 380}) {
        for (const sampler_pipeline *pipeline : {&good, &good, &bad}) {
          SCOPED_TRACE(testing::Message() << typical_p << " " << top_p << " " << top_k);
          sampler_params params = sampler_params_default();
          params.top_k = top_k;
          params.typical_p = typical_p;
          params.top_p = top_p;
          const sampler_stage order[] = {SAMPLER_STAGE_TOP_K, SAMPLER_STAGE_TYPICAL_P,
                                         SAMPLER_STAGE_TOP_P};
          std::copy(std::begin(order), std::end(order), params.stages);
          auto args = call.args<SampleArgs>();
          args.params = &params;
          args.row_params = nullptr;
          args.report_args.logprob_kind = SAMPLER_LOGPROB_PROCESSED;
          args.pipeline = pipeline;
          runtime::set_block_threads(++seed % 2 == 0 ? 256 : 64);
          ASSERT_NO_FATAL_FAILURE(compare_draws(args, problem, seed, {true, true, false}));
          EXPECT_TRUE(has_launched(sampler::kernels::listed_kernel_address()));
        }
      }
    }
  }

  // A decayed top-p is the first filter, though the call's own is off.
  std::vector<float> decayed(values.size(), NAN);
  for (std::size_t i = 3; i < decayed.size(); i += SAMPLER_NUM_ADAPTIVE_VALUES) decayed[i] = 0.25F;
  good.adaptive_values = decayed.data();
  sampler_params params = sampler_params_default();
  params.min_p = 0.02F;
  params.top_p_decay = 0.9F;
  Problem ranked = problem;
  std::vector<float> &row = ranked.rows[0];
  for (std::size_t i = 0; i < row.size(); ++i) {
    row[i] = -std::log(float(1 + i * 7919 % row.size()));
  }
  const Call decaying(ranked, GetParam());
  auto args = decaying.args<SampleArgs>();
  args.params = &params;
  args.row_params = nullptr;
  args.pipeline = &good;
  ASSERT_NO_FATAL_FAILURE(compare_draws(args, ranked, seed, {true, false, false}));
  EXPECT_GT(num_good_, 0);
}

// Rows without edits, whose weights are summed at two temperatures, or by min-p: with raw
// log-probabilities alone, and with all that is reported of streamed rows. More tokens of some rows
// are tied than a list holds, some have few tokens.
TEST_P(Stages, OfTwoTotalsEqualTheCpus) {
  const Problem problem = long_problem();
  const Call call(problem, GetParam());
  for (const float temperature : {0.0F, 0.7F, 1.0F}) {
    for (const float min_p : {0.0F, 0.01F}) {
      for (const float top_p : {1.0F, 0.9F}) {
        for (const bool reports : {false, true}) {
          SCOPED_TRACE(testing::Message() << temperature << " " << min_p << " " << top_p);
          auto args = call.args<SampleArgs>();
          sampler_params params = sampler_params_default();
          params.temperature = temperature;
          params.min_p = min_p;
          params.top_p = top_p;
          args.params = &params;
          args.row_params = nullptr;
          args.pipeline = nullptr;
          args.report_args.logprob_kind = SAMPLER_LOGPROB_RAW;
          Wanted wanted = {false, true, false};
          if (reports) {
            wanted.num_top = 20;
            wanted.ranks = true;
            for (std::int64_t i = 0; i < problem.num_rows(); ++i) {
              wanted.chosen.push_back(7);
              wanted.chosen.push_back(8);
            }
          }
          ASSERT_NO_FATAL_FAILURE(compare_draws(args, problem, 1, wanted));
        }
      }
    }
  }
  EXPECT_GT(num_good_, 0);

  // A slot's adaptive values are checked, though no stage reads them.
  const std::vector<float> values(std::size_t(call.num_slots * SAMPLER_NUM_ADAPTIVE_VALUES),
                                  INFINITY);
  auto pipeline = sized<sampler_pipeline>();
  pipeline.adaptive_values = values.data();
  sampler_params params = sampler_params_default();
  params.top_p = 0.9F;
  auto args = call.args<SampleArgs>();
  args.params = &params;
  args.row_params = nullptr;
  args.pipeline = &pipeline;
  ASSERT_NO_FATAL_FAILURE(compare_draws(args, problem, 1, {false, true, false}));
}

// Windows that cut at a value off, and the others.
void stop_cuts_at_values(pipeline_test::Numbers *numbers) {
  numbers->top_n_sigma = numbers->epsilon_cutoff = numbers->eta_cutoff = numbers->top_a = 0;
  numbers->p_less = SAMPLER_P_LESS_NONE;
  numbers->dynamic_temperature_range = 0;
}
void stop_other_windows(pipeline_test::Numbers *numbers) {
  numbers->typical_p = numbers->top_h = numbers->min_k = numbers->xtc_probability = 0;
  numbers->top_p_decay = 0;
}

// Makes top-h, or mirostat v1 without other windows, the same for all slots.
void set_ranked_stage(Random &random, sampler_stage stage, Problem *problem) {
  const bool is_top_h = stage == SAMPLER_STAGE_TOP_H;
  if (!is_top_h) problem->params.top_k = 0, problem->params.top_p = 1, problem->params.min_p = 0;
  const float top_hs[] = {0.02F, 0.4F, 0.9F}, targets[] = {1.0F, 3.0F, 12.0F};
  const float number = is_top_h ? top_hs[random.between(0, 2)] : targets[random.between(0, 2)];
  problem->numbers_by_slot = false;
  problem->has_adaptive = problem->has_adaptive || !is_top_h;
  for (Slot &slot : problem->slots) {
    pipeline_test::Numbers &numbers = slot.numbers;
    (is_top_h ? numbers.top_h : numbers.adaptive_target) = number;
    if (is_top_h) continue;
    numbers.adaptive_kind = SAMPLER_ADAPTIVE_MIROSTAT_V1;
    stop_cuts_at_values(&numbers);
    stop_other_windows(&numbers);
  }
}

// Makes top-k or min-p, of some top-h or mirostat v1, the first stage that drops tokens, before the
// temperature or after it.
void put_filter_first(Random &random, Problem *problem) {
  const bool is_min_p = random.one_in(3);
  sampler_params &params = problem->params;
  const std::int32_t ks[] = {1, 40, std::int32_t(random.between(2, 380)), 380};
  const float min_ps[] = {0.3F, 0.05F, 1.0F, 0.01F, 2.0F, INFINITY};
  params.top_k = is_min_p ? 0 : ks[random.between(0, 3)];
  if (is_min_p) params.min_p = min_ps[random.between(0, 5)];
  if (random.one_in(4)) {
    problem->numbers_by_slot = false;
    for (Slot &slot : problem->slots) slot.numbers.min_keep = 7;
  }
  if (random.one_in(3)) params.top_p = 1;  // top-p decay may lower it
  params.top_k_ties = SAMPLER_TIES_EXACT;
  const bool is_first = is_min_p && (params.top_p < 1 || random.one_in(2));
  params.filter_order = is_first ? SAMPLER_FILTERS_MIN_P_FIRST : SAMPLER_FILTERS_SEQUENTIAL;
  params.temperature_order =
      random.one_in(2) ? SAMPLER_TEMPERATURE_FIRST : SAMPLER_TEMPERATURE_LAST;
  std::vector<sampler_stage> &stages = problem->stages;
  if (stages.empty()) {
    if (!problem->has_windows) return;
    stages.resize(SAMPLER_STAGE_ADAPTIVE);
    std::iota(stages.begin(), stages.end(), sampler_stage(1));
  }
  params.filter_order = SAMPLER_FILTERS_SEQUENTIAL;
  params.temperature_order = SAMPLER_TEMPERATURE_FIRST;
  std::vector<sampler_stage> first = {is_min_p ? SAMPLER_STAGE_MIN_P : SAMPLER_STAGE_TOP_K};
  if (random.one_in(3)) {
    first = {random.one_in(2) ? SAMPLER_STAGE_TOP_H : SAMPLER_STAGE_ADAPTIVE};
    set_ranked_stage(random, first[0], problem);
    if (first[0] == SAMPLER_STAGE_ADAPTIVE) return;
  }
  first.insert(random.one_in(2) ? first.begin() : first.end(), SAMPLER_STAGE_TEMPERATURE);
  for (const sampler_stage stage : first) {
    stages.erase(std::find(stages.begin(), stages.end(), stage));
  }
  const auto place = std::find_if(stages.begin(), stages.end(), [](sampler_stage stage) {
    return stage >= SAMPLER_STAGE_TEMPERATURE;
  });
  stages.insert(place, first.begin(), first.end());
}

// Filters of each slot: some off, some of more tokens than a list holds, some bad.
class OwnFilters {
 public:
  OwnFilters(Random &random, const sampler_params &params, std::size_t count) {
    const std::int32_t ks[] = {params.top_k, 1, 380, 0, 600, 1500, INT32_MAX, -1};
    const float min_ps[] = {params.min_p, 0.3F, 0.05F, 2.0F, 0, 1e-5F, NAN};
    const float temperatures[] = {params.temperature, 0.7F, 1.0F, 2.5F, 0};
    const bool are_bad = random.one_in(4);
    for (std::size_t i = 0; i < count; ++i) {
      top_k_.push_back(ks[random.between(0, are_bad ? 7 : 6)]);
      min_p_.push_back(min_ps[random.between(0, are_bad ? 6 : 5)]);
      temperature_.push_back(temperatures[random.between(0, 4)]);
    }
    has_top_k_ = params.top_k > 0 || random.one_in(4);
    has_min_p_ = random.one_in(2);
    has_temperature_ = random.one_in(2);
  }

  // `given` with these.
  const sampler_row_params *add_to(const sampler_row_params *given) {
    arrays_ = given ? *given : sized<sampler_row_params>();
    if (has_top_k_) arrays_.top_k = top_k_.data();
    if (has_min_p_) arrays_.min_p = min_p_.data();
    if (has_temperature_) arrays_.temperature = temperature_.data();
    return &arrays_;
  }

 private:
  std::vector<std::int32_t> top_k_;
  std::vector<float> min_p_, temperature_;
  bool has_top_k_, has_min_p_, has_temperature_;
  sampler_row_params arrays_ = {};
};

// Long rows with few edits; `lists`: of which a filter comes first. Given probabilities are as they
// were made.
Problem make_long_problem(Random &random, std::uint64_t any, std::uint64_t seed, bool lists) {
  Problem problem =
      seed % 4 == 0 ? pipeline_test::make_problem(any) : pipeline_test::make_staged_problem(any);
  if (problem.kind != SAMPLER_LOGITS) return problem;
  problem.candidate_ids.clear();
  problem.has_counts = problem.has_allowed = problem.has_dense_bias = false;
  problem.has_forced_tokens = false;
  problem.guidance.clear();
  problem.guidance_indices.clear();
  if (lists) put_filter_first(random, &problem);
  const std::int64_t before = problem.num_cols;
  lengthen(random, &problem);
  if (random.one_in(2)) spread_ids(problem.num_cols / (before + 1), &problem);
  if (random.one_in(2)) raise_edited(&problem);
  if (random.one_in(4)) {  // many tokens are tied
    for (float &x : problem.rows[0]) x = std::floor(x);
  }
  return problem;
}

// Rows whose top-k or min-p comes first: a stream lists its tokens, and all other stages see the
// list. Rows of slots that have no such list are held.
TEST_P(Stages, OfListedRowsEqualTheCpus) {
  constexpr std::uint64_t kNumListed = 3 * kNumHeldProblems;
  int num_listed = 0, num_edited = 0, num_held = 0;
  for (std::uint64_t seed = 0; seed < kNumListed && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const std::uint64_t any = seeded(9000 + seed * 3 + std::uint64_t(GetParam()));
    Random random(any);
    Problem problem = make_long_problem(random, any, seed, true);
    if (problem.kind != SAMPLER_LOGITS) continue;
    runtime::set_block_threads(seed % 4 == 0 ? 256 : 64);
    Call call(problem, GetParam());
    auto args = args_of(random, seed, &call);
    args.report_args.logprob_kind = SAMPLER_LOGPROB_PROCESSED;
    OwnFilters own(random, problem.params, std::size_t(call.num_slots + problem.num_rows()));
    if (random.one_in(2)) args.row_params = own.add_to(args.row_params);
    const auto count_launches = [&] {
      bool is_listed = false;
      for (const runtime::Launch &launch : runtime::launches()) {
        num_held += is_listed && launch.kernel == sampler::kernels::held_kernel_address(
                                                      SAMPLER_F32, HeldKind::kStaged);
        if (launch.kernel != sampler::kernels::listed_kernel_address()) continue;
        is_listed = true;
        ++num_listed;
        num_edited +=
            runtime::launches().front().kernel == sampler::kernels::edits_kernel_address();
      }
    };
    const bool counts = random.one_in(3), has_logprobs = random.one_in(2);
    auto drawn = args;
    ASSERT_NO_FATAL_FAILURE(compare_draws(drawn, problem, seed, {counts, has_logprobs, true}));
    count_launches();
    compare_random_reports(random, args, problem, seed);
    count_launches();
  }
  EXPECT_GT(num_listed, int(kNumListed) / 4);
  EXPECT_GT(num_edited, int(kNumListed) / 8);
  EXPECT_GT(num_held, int(kNumListed) / 8);
  EXPECT_GT(num_good_, int(kNumListed) / 2);
}

// Leaves of the stages those that small kernels of held rows run: windows that cut at a value, or
// adaptive-p and smoothing.
void keep_weighed_stages(Random &random, Problem *problem) {
  sampler_params &params = problem->params;
  params.top_k = 0, params.top_p = 1;
  params.min_p = random.one_in(2) ? 0.0F : 1e-5F;  // no list holds what it keeps
  params.filter_order = SAMPLER_FILTERS_SEQUENTIAL;
  problem->has_windows = problem->has_adaptive = true;
  problem->has_forced_tokens = false;
  problem->numbers_by_slot = random.one_in(8);
  const bool reweighs = random.one_in(2);
  const sampler_adaptive_kind kinds[] = {SAMPLER_ADAPTIVE_NONE, SAMPLER_ADAPTIVE_MIROSTAT_V2,
                                         SAMPLER_ADAPTIVE_P, SAMPLER_ADAPTIVE_SMOOTHING};
  const sampler_adaptive_kind kind = kinds[random.between(0, 1) + (reweighs ? 2 : 0)];
  for (Slot &slot : problem->slots) {
    pipeline_test::Numbers &numbers = slot.numbers;
    stop_other_windows(&numbers);
    numbers.min_keep = 0;
    numbers.adaptive_kind = kind;
    numbers.adaptive_target = random.one_in(2) ? 0.3F : 4.0F;
    numbers.adaptive_rate = 0;
    if (reweighs) {
      stop_cuts_at_values(&numbers);
    } else if (random.one_in(2)) {
      numbers.top_n_sigma = 1.5F;
    }
  }
}

// Rows whose tokens but one have a relative probability of 1/e, which adds most to the entropy, and
// rows of which all have that of the first: what a warp's lanes sum needs more than 49 bits.
TEST_P(Stages, EntropiesOfFlatRowsEqualTheCpus) {
  Problem problem = long_problem();
  for (std::size_t i = 0; i < problem.rows.size(); ++i) {
    std::fill(problem.rows[i].begin(), problem.rows[i].end(), i % 3 == 0 ? 1.0F : 0.0F);
    problem.rows[i][i * 7] = 1.0F;
  }
  const Call call(problem, GetParam());
  for (const float temperature : {1.0F, 0.5F, 0.0F}) {
    for (const int threads : {64, 256}) {
      auto args = call.args<SampleArgs>();
      sampler_params params = sampler_params_default();
      params.temperature = temperature;
      args.params = &params;
      args.row_params = nullptr;
      args.pipeline = nullptr;
      args.report_args.logprob_kind = SAMPLER_LOGPROB_RAW;
      Wanted wanted = {false, true, false};
      wanted.entropies = true;
      runtime::set_block_threads(threads);
      ASSERT_NO_FATAL_FAILURE(compare_draws(args, problem, 1, wanted));
      ASSERT_TRUE(has_launched(
          sampler::kernels::stream_kernel_address(GetParam(), sampler::kernels::StreamKind::kAny)));
    }
  }
}

// Draws from edited or listed rows, with reports of the rows as they are given: another stream has
// these.
TEST_P(Stages, OfReportsApartEqualTheCpus) {
  constexpr std::uint64_t kNumReported = 2 * kNumHeldProblems;
  int num_apart = 0, num_listed = 0;
  for (std::uint64_t seed = 0; seed < kNumReported && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const std::uint64_t any = seeded(14000 + seed * 3 + std::uint64_t(GetParam()));
    Random random(any);
    Problem problem = make_long_problem(random, any, seed, !random.one_in(3));
    if (problem.kind != SAMPLER_LOGITS) continue;
    if (seed % 5 == 2) keep_weighed_stages(random, &problem);
    runtime::set_block_threads(seed % 4 == 0 ? 256 : 64);
    Call call(problem, GetParam());
    auto args = args_of(random, seed, &call);
    args.report_args.logprob_kind = SAMPLER_LOGPROB_RAW;
    OwnFilters own(random, problem.params, std::size_t(call.num_slots + problem.num_rows()));
    if (random.one_in(3)) args.row_params = own.add_to(args.row_params);
    Wanted wanted = {random.one_in(2), random.one_in(2), random.one_in(2)};
    wanted.num_top = random.one_in(3) ? 0 : std::int32_t(random.between(1, 40));
    wanted.ranks = random.one_in(2);
    wanted.entropies = random.one_in(3);
    wanted.statuses = !random.one_in(3);
    for (std::int64_t i = 0; i < problem.num_rows() && seed % 2 == 0; ++i) {
      wanted.chosen.push_back(std::int32_t(random.between(-1, problem.num_cols)));
      wanted.chosen.push_back(3);
    }
    auto drawn = args;
    ASSERT_NO_FATAL_FAILURE(compare_draws(drawn, problem, seed, wanted));
    const void *const reports =
        sampler::kernels::stream_kernel_address(GetParam(), sampler::kernels::StreamKind::kAny);
    const bool is_apart = runtime::launches().size() > 4 && has_launched(reports);
    num_apart += is_apart;
    num_listed += is_apart && has_launched(sampler::kernels::listed_kernel_address());

    // The same, with lists of what was kept.
    compare_random_reports(random, args, problem, seed);
  }
  EXPECT_GT(num_apart, int(kNumReported) / 8);
  EXPECT_GT(num_listed, int(kNumReported) / 16);
  EXPECT_GT(num_good_, int(kNumReported) / 3);
}

// Rows that are weighed where shared memory holds them, after a launch that edits.
TEST_P(Stages, OfWeighedRowsEqualTheCpus) {
  constexpr std::uint64_t kNumWeighed = 4 * kNumHeldProblems + 40;
  int num_launches[2] = {}, num_edited = 0;
  for (std::uint64_t seed = 0; seed < kNumWeighed && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const std::uint64_t any = seeded(11000 + seed * 3 + std::uint64_t(GetParam()));
    Random random(any);
    Problem problem = pipeline_test::make_staged_problem(any);
    if (problem.kind != SAMPLER_LOGITS) continue;
    problem.candidate_ids.clear();
    problem.has_counts = problem.has_allowed = problem.has_dense_bias = false;
    problem.guidance.clear();
    problem.guidance_indices.clear();
    keep_weighed_stages(random, &problem);
    const std::int64_t before = problem.num_cols;
    lengthen(random, &problem);
    if (random.one_in(2)) spread_ids(problem.num_cols / (before + 1), &problem);
    if (random.one_in(2)) raise_edited(&problem);
    if (seed % 8 == 3) edit_many(random, &problem);
    runtime::set_block_threads(seed % 4 == 0 ? 256 : 64);
    Call call(problem, GetParam());
    auto args = args_of(random, seed, &call);
    args.report_args.logprob_kind =
        random.one_in(2) ? SAMPLER_LOGPROB_RAW : SAMPLER_LOGPROB_PROCESSED;
    const bool counts = random.one_in(3), has_logprobs = !random.one_in(4);
    ASSERT_NO_FATAL_FAILURE(compare_draws(args, problem, seed, {counts, has_logprobs, true}));
    for (const HeldKind kind : {HeldKind::kReweighed, HeldKind::kValues}) {
      if (!has_launched(sampler::kernels::held_kernel_address(GetParam(), kind))) continue;
      ++num_launches[kind == HeldKind::kValues];
      num_edited += has_launched(sampler::kernels::edits_kernel_address());
    }
  }
  EXPECT_GT(num_launches[0], int(kNumWeighed) / 12);
  EXPECT_GT(num_launches[1], int(kNumWeighed) / 12);
  EXPECT_GT(num_edited, int(kNumWeighed) / 12);
  EXPECT_GT(num_good_, int(kNumWeighed) / 2);
}

// Rows that shared memory holds: draws, forced tokens and scores, with most reports.
TEST_P(Stages, OfHeldRowsEqualTheCpus) {
  int num_launches[sampler::kernels::kNumHeldKinds] = {};
  for (std::uint64_t seed = 0; seed < kNumHeldProblems && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const std::uint64_t any = seeded(5000 + seed * 3 + std::uint64_t(GetParam()));
    Random random(any);
    const bool is_staged = seed % 2 != 0;
    Problem problem =
        is_staged ? pipeline_test::make_staged_problem(any) : pipeline_test::make_problem(any);
    if (problem.kind != SAMPLER_LOGITS) continue;
    problem.candidate_ids.clear();
    problem.has_counts = false;
    if (!is_staged) problem.params.temperature_order = SAMPLER_TEMPERATURE_FIRST;
    if (random.one_in(2)) problem.params.min_p = 0;
    if (random.one_in(2)) problem.params.top_p = 1;
    const std::int64_t before = problem.num_cols;
    lengthen(random, &problem);
    spread_ids(problem.num_cols / (before + 1), &problem);
    runtime::set_block_threads(seed % 4 == 0 ? 256 : 64);
    const Call call(problem, GetParam());
    auto args = call.args<SampleArgs>();
    args.random.seeds = call.seeds.data();
    args.random.num_seeds = call.num_slots;
    args.report_args.logprob_kind = static_cast<sampler_logprob_kind>(random.between(0, 1));
    const bool counts = random.one_in(3);
    ASSERT_NO_FATAL_FAILURE(compare_draws(args, problem, seed, {counts, true, true}));
    compare_reports(problem, seed, true);
    compare_scores(problem, seed, true);
    for (const runtime::Launch &launch : runtime::launches()) {
      for (int kind = 1; kind < sampler::kernels::kNumHeldKinds; ++kind) {
        num_launches[kind] +=
            launch.kernel == sampler::kernels::held_kernel_address(GetParam(), HeldKind(kind));
      }
    }
  }
  EXPECT_GT(num_launches[int(HeldKind::kReport)], 0);
  EXPECT_GT(num_launches[int(HeldKind::kEditedReport)], int(kNumHeldProblems) / 6);
  EXPECT_GT(num_launches[int(HeldKind::kStaged)], int(kNumHeldProblems) / 6);
  EXPECT_GT(num_good_, int(kNumHeldProblems));
}

class NumbersOfNoStage : public testing::TestWithParam<const float * sampler_row_params::*>,
                         protected Handles {
 protected:
  static constexpr std::int64_t kRows = 3, kCols = 16384, kDrafts = 2, kSequences = 2;
  static constexpr std::size_t kBytes = std::size_t(8) << 20;

  NumbersOfNoStage() {
    numbers_.*GetParam() = values_.data();
    for (std::size_t i = 0; i < logits_.size(); ++i) logits_[i] = float(i * 7919 % 10007) * 1e-3F;
  }

  void *workspace() {
    const auto address = reinterpret_cast<std::uintptr_t>(workspace_.data());
    return reinterpret_cast<void *>((address + 255) / 256 * 256);
  }

  void expect_bad_draw(const sampler_params &params, bool has_reports) {
    std::vector<float> logprobs(kRows);
    auto reports = sized<sampler_report_args>();
    reports.logprob_kind = SAMPLER_LOGPROB_RAW;
    reports.out_logprobs = logprobs.data();
    std::vector<std::int32_t> tokens(kRows);
    std::vector<sampler_row_status> status(kRows, kOk);
    auto args = sized<sampler_sample_args>();
    args.input.values = logits_.data();
    args.input.num_rows = kRows;
    args.input.num_cols = kCols;
    args.params = &params;
    args.row_params = &numbers_;
    args.reports = has_reports ? &reports : nullptr;
    args.exec.workspace = workspace();
    args.exec.workspace_bytes = kBytes;
    args.out_token_ids = tokens.data();
    args.out_row_status = status.data();
    ASSERT_EQ(sampler_sample(device_.get(), &args), SAMPLER_OK) << sampler_last_error();
    EXPECT_EQ(status, (std::vector<sampler_row_status>{kOk, kBad, kOk}));
    EXPECT_EQ(tokens[1], -1);
  }

  void expect_bad_verification(const sampler_params &params, sampler_acceptance rule,
                               bool has_draft) {
    const std::vector<std::int32_t> drafts = {1, 2, 3, 4};
    std::vector<std::int32_t> tokens(kSequences * (kDrafts + 1));
    std::vector<sampler_row_status> status(kSequences, kOk);
    auto acceptance = sized<sampler_acceptance_params>();
    acceptance.rule = rule;
    auto args = sized<sampler_verify_args>();
    args.target.values = logits_.data();
    args.target.num_rows = kSequences * (kDrafts + 1);
    args.target.num_cols = kCols;
    args.num_drafts = kDrafts;
    if (has_draft) {
      args.draft = args.target;
      args.draft.num_rows = kSequences * kDrafts;
    }
    args.draft_token_ids = drafts.data();
    args.params = &params;
    args.row_params = &numbers_;
    args.acceptance = &acceptance;
    args.exec.workspace = workspace();
    args.exec.workspace_bytes = kBytes;
    args.out_token_ids = tokens.data();
    args.out_row_status = status.data();
    ASSERT_EQ(sampler_verify(device_.get(), &args), SAMPLER_OK) << sampler_last_error();
    EXPECT_EQ(status, (std::vector<sampler_row_status>{kOk, kBad})) << rule << has_draft;
  }

  static constexpr sampler_row_status kOk = SAMPLER_ROW_OK, kBad = SAMPLER_ROW_INVALID_PARAMETER;
  const std::vector<float> values_ = {1, std::nanf(""), 1};  // of slots
  sampler_row_params numbers_ = sized<sampler_row_params>();
  std::vector<float> logits_ = std::vector<float>(kSequences * (kDrafts + 1) * kCols);
  std::vector<char> workspace_ = std::vector<char>(kBytes + 256);
};

// Whatever the stages and reports: streams do not look at the numbers of stages that are off.
TEST_P(NumbersOfNoStage, MakeTheirRowsBadOnDevices) {
  sampler_params temperature = sampler_params_default(), greedy = temperature, top_k = temperature,
                 top_p = temperature, last = temperature;
  temperature.temperature = top_k.temperature = last.temperature = 0.8F;
  greedy.temperature = 0.0F;
  top_k.top_k = 50;
  top_p.top_p = last.top_p = 0.9F;
  last.temperature_order = SAMPLER_TEMPERATURE_LAST;
  for (const sampler_params &params : {temperature, greedy, top_k, top_p, last}) {
    for (const bool has_reports : {false, true}) {
      ASSERT_NO_FATAL_FAILURE(expect_bad_draw(params, has_reports));
    }
    ASSERT_NO_FATAL_FAILURE(expect_bad_verification(params, SAMPLER_ACCEPT_STANDARD, false));
    ASSERT_NO_FATAL_FAILURE(expect_bad_verification(params, SAMPLER_ACCEPT_STANDARD, true));
    ASSERT_NO_FATAL_FAILURE(expect_bad_verification(params, SAMPLER_ACCEPT_SAMPLE_MATCH, false));
  }
}

INSTANTIATE_TEST_SUITE_P(Members, NumbersOfNoStage,
                         testing::Values(&sampler_row_params::dry_base,
                                         &sampler_row_params::dynamic_temperature_exponent,
                                         &sampler_row_params::xtc_threshold,
                                         &sampler_row_params::adaptive_target,
                                         &sampler_row_params::adaptive_rate));

std::string name_of(const testing::TestParamInfo<sampler_dtype> &type) {
  const char *const names[] = {"F32", "F16", "BF16"};
  return names[type.param];
}

INSTANTIATE_TEST_SUITE_P(Types, Stages, testing::Values(SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16),
                         name_of);

}  // namespace
}  // namespace simt_test
