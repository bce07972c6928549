// Verifications on a device give what they give on the CPU, to the bit: every rule, laid out in
// every way, by teams of one block and of several.
#include <gtest/gtest.h>
#include <sampler/sampler.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "../../seed.h"
#include "../../sized.h"
#include "capi/operations.h"
#include "chains/chains.h"
#include "handles.h"
#include "held/held.h"
#include "launch/launch.h"
#include "nothing_later.h"
#include "on_device.h"
#include "problem.h"
#include "random_problem.h"
#include "runtime.h"

namespace simt_test {
namespace {

namespace runtime = simt::runtime;

using verification_test::Kind;
using verification_test::Layout;
using verification_test::Outcome;
using verification_test::Problem;
using verification_test::Random;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kDear = 10;
#else
constexpr std::uint64_t kDear = 1;
#endif

class Verification : public testing::TestWithParam<sampler_acceptance>, protected Handles {
 protected:
  Kind kind(bool is_tree, bool has_stages, bool has_reports) const {
    Kind kind;
    kind.rule = GetParam();
    kind.is_tree = is_tree;
    kind.has_stages = has_stages;
    kind.has_reports = has_reports;
    kind.has_bad_ids = !has_stages;
    return kind;
  }
  static bool has_trees() {
    return GetParam() != SAMPLER_ACCEPT_BLOCK && GetParam() != SAMPLER_ACCEPT_DEFERRED;
  }

  void compare(const Problem &problem, const Layout &layout, std::uint64_t seed) {
    runtime::set_block_threads(seed % 4 == 0 ? 256 : 64);
    runtime::forget_calls();
    const bool has_fallback = seed % 7 == 3;
    const Handle &device = has_fallback ? falls_back_ : seed % 5 == 0 ? reads_host_ : device_;
    const auto actual = verify(device.get(), problem, layout);
    for (const runtime::Launch &launch : runtime::launches()) {
      if (launch.team_size > 1) ++num_clusters_;
      const bool is_matched = launch.kernel == sampler::kernels::match_kernel_address();
      const bool is_decided = launch.kernel == sampler::kernels::decide_kernel_address();
      num_matched_ += is_matched;
      num_decided_ += is_decided;
      num_reported_by_list_ +=
          is_decided && problem.has_reports && problem.logprob_kind == SAMPLER_LOGPROB_PROCESSED;
      const bool is_held = launch.kernel == kHeldKernel;
      num_held_ += is_held;
      num_reported_ += launch.kernel == sampler::kernels::find_reported_kernel_address();
      num_trees_ += problem.is_tree && (is_matched || is_decided || is_held);
    }
    const auto expected =
        verify(has_fallback ? falls_back_on_cpu_.get() : cpu_.get(), problem, layout);
    for (std::int64_t s = 0; s < problem.num_sequences(); ++s) {
      const std::size_t i = verification_test::at(s);
      ASSERT_EQ(verification_test::difference(expected[i], actual[i]), "") << "sequence " << s;
      num_kept_ += expected[i].at("emitted")[0] > 0;
      num_good_ += expected[i].at("status")[0] == SAMPLER_ROW_OK;
    }
  }

  void compare(const Kind &kind, std::uint64_t num_problems, std::uint64_t first_seed) {
    num_kept_ = num_good_ = 0;
    for (std::uint64_t seed = first_seed; seed < first_seed + num_problems / kDear; ++seed) {
      Random random(seeded(seed));
      Problem problem = random_problem(&random, kind);
      if (kind.has_forced_tokens && problem.kind == SAMPLER_PROBABILITIES) {
        for (auto &sequence : problem.sequences) {
          auto &row = sequence.target[0];
          if (random.one_in(3)) std::fill(row.begin(), row.end(), 0.0F);
        }
      }
      const Layout layout = random_layout(&random, problem);
      SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(problem, layout));
      compare(problem, layout, seed);
      if (HasFatalFailure()) return;
    }
    EXPECT_GT(num_kept_, int(num_problems / kDear / 4));
    EXPECT_GT(num_good_, int(num_problems / kDear));
  }

  // Their bad sequences yield token 0.
  Handle falls_back_ = make_handle(SAMPLER_DEVICE_CUDA, false, false, 0);
  Handle falls_back_on_cpu_ = make_handle(SAMPLER_DEVICE_CPU, false, false, 0);
  const void *const kHeldKernel = sampler::kernels::held_kernel_address(
      SAMPLER_F32, sampler::kernels::HeldKind::kVerifyExtended);
  int num_kept_ = 0, num_good_ = 0, num_clusters_ = 0, num_matched_ = 0, num_decided_ = 0,
      num_held_ = 0, num_trees_ = 0, num_reported_ = 0, num_reported_by_list_ = 0;
};

TEST_P(Verification, OfChainsEqualsTheCpus) {
  compare(kind(false, false, false), 300, 11000);
}

TEST_P(Verification, OfTreesEqualsTheCpus) {
  if (!has_trees()) return;  // refused, which another test sees
  compare(kind(true, false, false), 300, 12000);
}

TEST_P(Verification, OfChainsWithReportsEqualsTheCpus) {
  compare(kind(false, false, true), 120, 13000);
}

TEST_P(Verification, OfChainsWithStagesEqualsTheCpus) {
  compare(kind(false, true, true), 150, 14000);
}

TEST_P(Verification, OfForcedTokensEqualsTheCpus) {
  for (const bool has_stages : {false, true}) {
    Kind forced = kind(has_stages && has_trees(), has_stages, has_stages);
    forced.has_forced_tokens = true;
    compare(forced, 60, 15000);
  }
}

// Rows of several blocks.
void lengthen(Random &random, Problem *problem) {
  const std::int64_t num_cols = random.between(9000, 16000);
  for (auto &sequence : problem->sequences) {
    for (auto *rows : {&sequence.target, &sequence.draft}) {
      const auto kind = rows == &sequence.target ? problem->kind : problem->draft_kind;
      for (auto &row : *rows) {
        while (static_cast<std::int64_t>(row.size()) < num_cols) {
          const auto step = static_cast<float>(random.between(0, 60));
          row.push_back(kind == SAMPLER_LOGITS ? -4 - 0.0625F * step : 0x1p-14F * step);
        }
      }
    }
  }
  for (auto &mask : problem->masks) {
    mask.resize(verification_test::at((num_cols + 31) / 32), 0xF00FF00F);
  }
  if (problem->kept_capacity == problem->num_cols) problem->kept_capacity = num_cols;
  problem->num_cols = num_cols;
}

TEST_P(Verification, OfLongRowsEqualsTheCpus) {
  for (std::uint64_t seed = 16000; seed < 16000 + 16 / std::min<std::uint64_t>(kDear, 4); ++seed) {
    Kind long_rows = kind(has_trees() && seed % 2 == 0, seed % 4 >= 2, seed % 3 == 0);
    long_rows.has_bad_ids = false;
    Random random(seeded(seed));
    Problem problem = random_problem(&random, long_rows);
    lengthen(random, &problem);
    const Layout layout = random_layout(&random, problem);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(problem, layout));
    compare(problem, layout, seed);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(num_clusters_, 3);
}

// Siblings become the first tokens of the target's row there: some other than the first is kept.
void propose_likely(Problem *problem) {
  for (auto &sequence : problem->sequences) {
    std::vector<std::size_t> num_children(sequence.target.size());
    for (std::size_t i = 0; i < sequence.drafts.size(); ++i) {
      const auto parent = static_cast<std::size_t>(sequence.parents[i] + 1);
      const auto &row = sequence.target[parent];
      std::vector<std::int64_t> ids(row.size());
      std::iota(ids.begin(), ids.end(), 0);
      std::stable_sort(ids.begin(), ids.end(), [&](std::int64_t a, std::int64_t b) {
        return row[std::size_t(a)] > row[std::size_t(b)];
      });
      sequence.drafts[i] = ids[num_children[parent]++];
    }
  }
}

// Sequences have top-k of their own: some none, some more than a list holds.
void mix_top_k(Random *random, Problem *problem) {
  const std::int32_t ks[] = {1, 20, 300, problem->params.top_k, 0, 1500};
  problem->has_top_k_by_slot = true;
  for (auto &sequence : problem->sequences) sequence.top_k = ks[random->between(0, 5)];
}

// Reports that kernels beside the verification write, or a stream after it.
void report_some(Random *random, bool is_raw, Problem *problem, Layout *layout) {
  layout->has_new_outputs = problem->has_reports = true;
  layout->has_positions = layout->has_positions && random->one_in(2);
  problem->kept_capacity = 0;
  problem->has_observations = problem->has_kept_bitmask = problem->has_kept_counts = false;
  problem->logprob_kind = is_raw ? SAMPLER_LOGPROB_RAW : SAMPLER_LOGPROB_PROCESSED;
  problem->has_logprobs = !is_raw || random->one_in(2);
  problem->has_ranks = is_raw && random->one_in(3);
  problem->has_entropies = is_raw && random->one_in(3);
  problem->num_top = is_raw && random->one_in(2) ? random->between(1, 20) : 0;
}

// Drafts that are compared with what sampling draws: all positions are sampled at once.
TEST_P(Verification, OfSampledPositionsEqualsTheCpus) {
  constexpr std::uint64_t kNumProblems = 144;
  const bool matches = GetParam() == SAMPLER_ACCEPT_SAMPLE_MATCH;
  const bool is_greedy_another =
      GetParam() == SAMPLER_ACCEPT_RELAXED || GetParam() == SAMPLER_ACCEPT_SYNTHETIC;
  for (std::uint64_t seed = 17000; seed < 17000 + kNumProblems / kDear; ++seed) {
    Random random(seeded(seed));
    const bool is_tree = has_trees() && seed % 3 == 0;
    Kind positions = kind(is_tree, seed % 4 >= 2, is_tree ? seed % 4 == 0 : seed % 3 > 0);
    positions.has_forced_tokens = random.one_in(6) && !(is_tree && positions.has_reports);
    Problem problem = random_problem(&random, positions);
    lengthen(random, &problem);
    problem.draw_method = SAMPLER_DRAW_INVERSE_CDF;
    if (is_tree && problem.kind == SAMPLER_LOGITS) {
      problem.params.top_k = 4;
      problem.params.presence_penalty = positions.has_stages ? 3 : 0;  // of drafts, too
      propose_likely(&problem);
    }
    if (!random.one_in(8)) {
      problem.params.adaptive_kind = SAMPLER_ADAPTIVE_NONE;
      problem.params.top_p_decay = 0;
    }
    Layout layout = random_layout(&random, problem);
    if (is_tree) layout.tree = Layout::Tree::kParents;
    if (is_tree && problem.has_reports) report_some(&random, true, &problem, &layout);
    layout.has_candidates = false;
    layout.has_one_temperature = !matches || random.one_in(4);
    layout.has_short_history = layout.has_tight_history && random.one_in(3);
    if (problem.params.top_k > 0 && random.one_in(3)) mix_top_k(&random, &problem);
    if (!matches) problem.sequences[0].temperature = 0;
    for (auto &sequence : problem.sequences) {
      if (random.one_in(6)) sequence.target.back()[5] = verification_test::kNan;
      if (random.one_in(layout.has_short_history ? 3 : 12)) {
        sequence.target[0][7] = verification_test::kNan;
      }
    }
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(problem, layout));
    compare(problem, layout, seed);
    if (HasFatalFailure()) return;
  }
  if (is_greedy_another) {
    EXPECT_EQ(num_matched_, 0);
  } else if (kDear == 1) {
    EXPECT_GT(num_matched_, 30);
    EXPECT_EQ(num_trees_ > 3, has_trees());
  }
  EXPECT_GT(num_kept_, int(kNumProblems / kDear / 4));
}

// Rules by sequence, some of which need no rows of a drafter.
void mix_rules(Random *random, Problem *problem) {
  constexpr sampler_acceptance kRules[] = {SAMPLER_ACCEPT_STANDARD, SAMPLER_ACCEPT_SAMPLE_MATCH,
                                           SAMPLER_ACCEPT_TYPICAL, SAMPLER_ACCEPT_THRESHOLD};
  problem->has_rules_by_slot = true;
  for (std::size_t i = 1; i < problem->sequences.size(); ++i) {
    problem->sequences[i].rule = kRules[random->between(0, 3)];
  }
}

// Rows of a drafter become given probabilities, of values that every type has; with stages there
// are none, where the rule allows it.
void give_draft_rows(Problem *problem) {
  const bool is_block = problem->sequences[0].rule == SAMPLER_ACCEPT_BLOCK;
  if (problem->has_pipeline && !is_block) problem->has_draft_rows = false;
  for (auto &sequence : problem->sequences) {
    if (!problem->has_draft_rows) sequence.draft.clear();
    for (auto &row : sequence.draft) {
      if (problem->draft_kind == SAMPLER_PROBABILITIES) continue;
      const float largest = *std::max_element(row.begin(), row.end());
      for (float &x : row) x = std::floor(std::exp(x - largest) * 128) / 256;
    }
  }
  problem->draft_kind = SAMPLER_PROBABILITIES;
  problem->has_draft_params = problem->has_draft_numbers_by_slot = false;
}

// The stages of params in an order whose first window is top-k, or min-p.
void drop_first_by(sampler_stage first, sampler_params *params) {
  std::vector<sampler_stage> order = {1, 2, 3, 4, 5, first};
  for (const sampler_stage stage : {16, 8, 7, 17, 18, 15, 9, 10, 11, 12, 13, 14, 6, 19}) {
    if (stage != first) order.push_back(stage);
  }
  std::copy(order.begin(), order.end(), params->stages);
  params->temperature_order = SAMPLER_TEMPERATURE_FIRST;
}

// Rows whose first tokens a stream lists: all positions are listed at once.
TEST_P(Verification, OfListedPositionsEqualsTheCpus) {
  constexpr std::uint64_t kNumProblems = 160;
  for (std::uint64_t seed = 18000; seed < 18000 + kNumProblems / kDear; ++seed) {
    Random random(seeded(seed));
    const bool is_tree = has_trees() && seed % 3 == 0;
    Kind listed = kind(is_tree, seed % 4 >= 2, false);
    listed.has_forced_tokens = random.one_in(6);
    listed.has_greedy_rows = GetParam() != SAMPLER_ACCEPT_RELAXED;
    Problem problem = random_problem(&random, listed);
    lengthen(random, &problem);
    sampler_params &params = problem.params;
    problem.kind = SAMPLER_LOGITS;
    params.adaptive_kind = SAMPLER_ADAPTIVE_NONE;
    params.top_p_decay = 0;
    const bool is_by_min_p = random.one_in(4);
    params.top_k = is_by_min_p ? 0 : static_cast<std::int32_t>(random.between(1, 300));
    params.min_p = is_by_min_p ? 0.05F : random.one_in(2) ? 0.01F : 0.0F;
    if (problem.has_pipeline) {
      drop_first_by(is_by_min_p ? SAMPLER_STAGE_MIN_P : SAMPLER_STAGE_TOP_K, &params);
    }
    give_draft_rows(&problem);
    Layout layout = random_layout(&random, problem);
    if (is_tree) layout.tree = Layout::Tree::kParents;
    layout.has_candidates = layout.has_new_outputs = false;
    if (random.one_in(2)) {
      report_some(&random, random.one_in(2), &problem, &layout);
      problem.has_kept_counts = random.one_in(3);
    }
    layout.has_one_temperature = GetParam() == SAMPLER_ACCEPT_RELAXED;
    layout.has_accepted_counts = random.one_in(3);
    if (GetParam() != SAMPLER_ACCEPT_RELAXED && random.one_in(5)) {
      mix_rules(&random, &problem);
      layout.has_one_temperature = problem.sequences[0].temperature > 0;
    }
    if (!is_by_min_p && random.one_in(3)) mix_top_k(&random, &problem);
    for (auto &sequence : problem.sequences) {
      if (random.one_in(6)) sequence.target.back()[5] = verification_test::kNan;
      if (random.one_in(4) && !sequence.drafts.empty() && is_token(problem, sequence.drafts[0])) {
        sequence.target[0][std::size_t(sequence.drafts[0])] = -INFINITY;
      }
      if (random.one_in(12)) {  // more than a list holds
        auto &row = sequence.target[0];
        std::fill(row.begin(), row.end(), 1.0F);
      }
      if (problem.has_draft_rows && !sequence.draft.empty() && random.one_in(4)) {
        auto &row = sequence.draft[verification_test::at(
            random.between(0, static_cast<std::int64_t>(sequence.draft.size()) - 1))];
        row[random.one_in(2) ? 0 : row.size() - 1] = -0.5F;
      }
    }
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(problem, layout));
    compare(problem, layout, seed);
    if (HasFatalFailure()) return;
  }
  if (GetParam() != SAMPLER_ACCEPT_SAMPLE_MATCH && kDear == 1) {
    EXPECT_GT(num_decided_, int(kNumProblems / 3));
    EXPECT_EQ(num_trees_ > 3, has_trees());
    EXPECT_GT(num_reported_, int(kNumProblems / 16));
    EXPECT_GT(num_reported_by_list_, int(kNumProblems / 16));
  }
  EXPECT_GT(num_kept_, int(kNumProblems / kDear / 4));
}

// Leaves edits alone of the stages.
void drop_windows(sampler_params *params) {
  const sampler_params all = sampler_params_default();
  params->typical_p = all.typical_p;
  params->top_n_sigma = all.top_n_sigma;
  params->dynamic_temperature_range = all.dynamic_temperature_range;
  params->xtc_probability = all.xtc_probability;
  params->adaptive_kind = all.adaptive_kind;
  params->top_p_decay = all.top_p_decay;
}

// Rows that a team holds: given probabilities, as vLLM's and SGLang's verifications have them, and
// logits without a filter whose first tokens a stream would list; with edits, too.
TEST_P(Verification, OfHeldPositionsEqualsTheCpus) {
  constexpr std::uint64_t kNumProblems = 160;
  // Two rules are held only as some sequences', and of DEFERRED all are left.
  const bool is_deferred = GetParam() == SAMPLER_ACCEPT_DEFERRED;
  const bool is_plain = !is_deferred && GetParam() != SAMPLER_ACCEPT_SAMPLE_MATCH;
  int num_not_left = 0, num_edited = 0;
  for (std::uint64_t seed = 19000; seed < 19000 + kNumProblems / kDear; ++seed) {
    Random random(seeded(seed));
    Kind held = kind(has_trees() && seed % 2 == 0, seed % 3 == 0, false);
    held.has_forced_tokens = random.one_in(6);
    Problem problem = random_problem(&random, held);
    lengthen(random, &problem);
    sampler_params &params = problem.params;
    if (problem.has_pipeline && !random.one_in(6)) drop_windows(&params);
    // Held rows have one scale.
    if (!random.one_in(3)) params.temperature_order = SAMPLER_TEMPERATURE_FIRST;
    if (problem.kind == SAMPLER_LOGITS) {
      params.top_k = 0;
      params.min_p = random.one_in(4) ? 0.02F : 0.0F;
      params.top_p = random.one_in(3) ? 1.0F : random.one_in(2) ? 0.9F : 0.5F;
      if (random.one_in(4)) mix_top_k(&random, &problem);
    }
    give_draft_rows(&problem);
    if (!random.one_in(6)) problem.draw_method = SAMPLER_DRAW_INVERSE_CDF;
    if (problem.is_tree && random.one_in(2)) propose_likely(&problem);
    Layout layout = random_layout(&random, problem);
    layout.has_candidates = layout.has_new_outputs = false;
    if (problem.kind == SAMPLER_LOGITS && random.one_in(4)) {
      report_some(&random, true, &problem, &layout);
    }
    if (problem.has_pipeline && problem.is_tree) layout.tree = Layout::Tree::kParents;
    layout.has_accepted_counts = random.one_in(3);
    layout.adds_counts = random.one_in(4);
    if (random.one_in(5) == is_plain) mix_rules(&random, &problem);
    for (auto &sequence : problem.sequences) {
      if (random.one_in(6)) sequence.target.back()[5] = verification_test::kNan;
      auto &row = sequence.target[verification_test::at(
          random.between(0, static_cast<std::int64_t>(sequence.target.size()) - 1))];
      if (random.one_in(12)) std::fill(row.begin(), row.end(), 0.5F);
      if (random.one_in(12)) std::fill(row.begin(), row.end(), 0.0F);
      if (random.one_in(12)) row.back() = -0.5F;  // no probability
      if (!sequence.draft.empty() && random.one_in(4)) {
        auto &draft = sequence.draft[verification_test::at(
            random.between(0, static_cast<std::int64_t>(sequence.draft.size()) - 1))];
        const auto last = static_cast<std::int64_t>(draft.size()) - 1;
        draft[verification_test::at(random.one_in(4) ? last : random.between(0, last))] = -0.5F;
      }
    }
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(problem, layout));
    const int num_held_before = num_held_;
    num_edited -= problem.has_pipeline ? num_held_ : 0;
    compare(problem, layout, seed);
    if (HasFatalFailure()) return;
    num_edited += problem.has_pipeline ? num_held_ : 0;
    if (problem.kind == SAMPLER_PROBABILITIES && num_held_ > num_held_before && !is_deferred) {
      const NothingIsComputedLater nothing(sampler::kernels::Operation::kVerify);
      compare(problem, layout, seed);
      ++num_not_left;
      if (HasFatalFailure()) return;
    }
  }
  if (kDear == 1) {
    EXPECT_EQ(num_not_left > int(kNumProblems / 8), !is_deferred);
    EXPECT_GT(num_held_ - 2 * num_not_left, int(kNumProblems / 8));
    EXPECT_EQ(num_trees_ > 3, has_trees());
    if (is_plain) {
      EXPECT_GT(num_reported_, int(kNumProblems / 40));
      EXPECT_GT(num_edited, 10);
    }
  }
  EXPECT_GT(num_kept_, int(kNumProblems / kDear / 4));
}

TEST_P(Verification, OfTreesWithStagesEqualsTheCpus) {
  if (!has_trees()) return;
  compare(kind(true, true, true), 150, 15000);
}

// The bytes that a session's call asks for, and the least that it needs. It runs `kernel` only
// where it has the former, and writes the same tokens where it has not.
struct Room {
  std::size_t asked = 0, least = 0;
};
template <class Args, class Ask, class Call>
void find_room(sampler_t sampler, Args args, const Ask &ask, const Call &call, const void *kernel,
               const OnDevice<std::int32_t> &tokens, Room *out) {
  ASSERT_EQ(ask(sampler, &args, &out->asked), SAMPLER_OK);
  const OnDevice<char> workspace(std::vector<char>(out->asked, 'x'));
  bool has_run = false;
  const auto run = [&](std::size_t room) {
    args.exec.workspace = workspace.data();
    args.exec.workspace_bytes = room;
    runtime::forget_calls();
    const sampler_status status = call(sampler, &args);
    const auto &launches = runtime::launches();
    has_run = std::any_of(launches.begin(), launches.end(),
                          [=](const runtime::Launch &launch) { return launch.kernel == kernel; });
    return status;
  };
  ASSERT_EQ(run(out->asked), SAMPLER_OK) << sampler_last_error();
  EXPECT_TRUE(has_run);
  const std::vector<std::int32_t> expected = tokens.read();
  EXPECT_EQ(run(1), SAMPLER_ERROR_WORKSPACE_TOO_SMALL);
  ASSERT_EQ(std::sscanf(sampler_last_error(), "exec.workspace_bytes is 1; this call needs %zu",
                        &out->least),
            1);
  ASSERT_LE(out->least, out->asked);
  ASSERT_EQ(run(out->least), SAMPLER_OK) << sampler_last_error();
  EXPECT_FALSE(has_run);
  EXPECT_EQ(tokens.read(), expected);
}

// A session's call reads positions one after the other where its workspace has no room for all.
TEST(Sessions, CallsFitTheirWorkspace) {
  runtime::reset({runtime::kHopper});
  const Handle sampler = make_handle(SAMPLER_DEVICE_CUDA);
  constexpr std::int64_t kNumCols = 9000, kNumSequences = 2, kNumDrafts = 40;
  std::vector<float> rows(kNumSequences * (kNumDrafts + 1) * kNumCols);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i * 7919 % 1009) / 64;
  const OnDevice<float> target(rows);
  const OnDevice<std::int32_t> drafts(std::vector<std::int32_t>(kNumSequences * kNumDrafts, 5));
  const OnDevice<std::int32_t> tokens(
      std::vector<std::int32_t>(kNumSequences * (kNumDrafts + 1), -7));
  const OnDevice<std::int32_t> counts(std::vector<std::int32_t>(2, -7));
  sampler_params params = sampler_params_default();
  params.top_k = 20;
  VerifyArgs args;
  args.target.values = target.data();
  args.target.num_rows = kNumSequences * (kNumDrafts + 1);
  args.target.num_cols = kNumCols;
  args.num_drafts = kNumDrafts;
  args.draft_token_ids = drafts.data();
  args.params = &params;
  args.acceptance_params.rule = SAMPLER_ACCEPT_SAMPLE_MATCH;
  args.out_token_ids = tokens.data();
  args.out_emitted_counts = counts.data();
  Room room;
  find_room(sampler.get(), args, sampler::capi::verify_up_to_bad_rows_workspace_size,
            sampler::capi::verify_up_to_bad_rows, sampler::kernels::match_kernel_address(), tokens,
            &room);
}

// A session's draw does without lists where its workspace has no room for them.
TEST(Sessions, DrawsFitTheirWorkspace) {
  runtime::reset({runtime::kHopper});
  const Handle sampler = make_handle(SAMPLER_DEVICE_CUDA);
  constexpr std::int64_t kNumCols = 9000, kNumRows = 40;
  std::vector<float> values(kNumRows * kNumCols);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i * 7919 % 1009) / 64;
  }
  const OnDevice<float> rows(values);
  const OnDevice<std::int32_t> top_k(std::vector<std::int32_t>(kNumRows, 20));
  const OnDevice<std::int32_t> tokens(std::vector<std::int32_t>(kNumRows, -7));
  sampler_params params = sampler_params_default();
  params.min_keep = 2;
  sampler_row_params by_slot = {};
  by_slot.struct_size = sizeof by_slot;
  by_slot.top_k = top_k.data();
  sampler_sample_args args = {};
  args.struct_size = sizeof args;
  args.input.values = rows.data();
  args.input.num_rows = kNumRows;
  args.input.num_cols = kNumCols;
  args.params = &params;
  args.row_params = &by_slot;
  args.out_token_ids = tokens.data();
  Room room;
  find_room(sampler.get(), args, sampler_sample_workspace_size, sampler::capi::sample_of_session,
            sampler::kernels::listed_kernel_address(), tokens, &room);
  EXPECT_LT(room.least, room.asked);
}

// Reports of chains that are compared with what sampling draws, where a top-k is for held rows but
// not for streams: there are more of its tokens than bins of which a bound follows.
class ReportsOfMatches : public testing::Test, protected Handles {};

TEST_F(ReportsOfMatches, OfHeldRowsEqualTheCpus) {
  constexpr std::int64_t kNumCols = 33000, kNumDrafts = 3, kNumPositions = kNumDrafts + 1;
  std::vector<float> target(kNumPositions * kNumCols);
  for (std::size_t i = 0; i < target.size(); ++i) {
    target[i] = static_cast<float>(i * 7919 % 10009) / 256;
  }
  const std::int32_t drafts[kNumDrafts] = {1, 2, 3};
  sampler_params params = sampler_params_default();
  params.top_k = 1000;
  std::vector<std::int32_t> tokens[2];
  std::vector<float> logprobs[2];
  for (const bool is_on_device : {false, true}) {
    const Handle &sampler = is_on_device ? device_ : cpu_;
    tokens[is_on_device].assign(kNumPositions, -7);
    logprobs[is_on_device].assign(kNumPositions, 7);
    VerifyArgs args;
    args.target.values = target.data();
    args.target.num_rows = kNumPositions;
    args.target.num_cols = kNumCols;
    args.num_drafts = kNumDrafts;
    args.draft_token_ids = drafts;
    args.params = &params;
    args.acceptance_params.rule = SAMPLER_ACCEPT_SAMPLE_MATCH;
    args.out_token_ids = tokens[is_on_device].data();
    args.report_args.logprob_kind = SAMPLER_LOGPROB_RAW;
    args.report_args.out_logprobs = logprobs[is_on_device].data();
    std::size_t bytes = 0;
    ASSERT_EQ(sampler_verify_workspace_size(sampler.get(), &args, &bytes), SAMPLER_OK);
    std::vector<char> workspace(bytes + 1, 'x');
    args.exec.workspace = workspace.data();
    args.exec.workspace_bytes = bytes;
    runtime::forget_calls();
    ASSERT_EQ(sampler_verify(sampler.get(), &args), SAMPLER_OK) << sampler_last_error();
  }
  EXPECT_TRUE(std::any_of(
      runtime::launches().begin(), runtime::launches().end(), [](const runtime::Launch &launch) {
        return launch.kernel == sampler::kernels::find_reported_kernel_address();
      }));
  EXPECT_EQ(tokens[1], tokens[0]);
  EXPECT_EQ(logprobs[1][0], logprobs[0][0]);
}

// Reports of dense chains take no more of the handle's workspace than there is: positions are then
// read one after the other.
TEST(Reports, OfDenseChainsFitInTheHandlesWorkspace) {
  runtime::reset({runtime::kHopper});
  constexpr std::int64_t kNumCols = 9000, kNumSequences = 2, kNumDrafts = 5;
  constexpr std::int64_t kNumPositions = kNumSequences * (kNumDrafts + 1);
  sampler_options options = sampler_options_default();
  options.device_type = SAMPLER_DEVICE_CUDA;
  options.max_rows = kNumSequences;
  options.max_cols = kNumCols;
  sampler_t created = nullptr;
  ASSERT_EQ(sampler_create(&options, &created), SAMPLER_OK) << sampler_last_error();
  const Handle sampler(created);
  std::vector<float> rows(kNumPositions * kNumCols);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i * 7919 % 1009) / 64;
  const OnDevice<float> target(rows);
  const OnDevice<std::int32_t> drafts(std::vector<std::int32_t>(kNumSequences * kNumDrafts, 5));
  const OnDevice<std::int32_t> tokens(std::vector<std::int32_t>(kNumPositions, -7));
  const OnDevice<float> logprobs(std::vector<float>(kNumPositions, 7));
  sampler_params params = sampler_params_default();
  params.top_k = 20;
  VerifyArgs args;
  args.target.values = target.data();
  args.target.num_rows = kNumPositions;
  args.target.num_cols = kNumCols;
  args.num_drafts = kNumDrafts;
  args.draft_token_ids = drafts.data();
  args.params = &params;
  args.out_token_ids = tokens.data();
  args.report_args.logprob_kind = SAMPLER_LOGPROB_RAW;
  args.report_args.out_logprobs = logprobs.data();
  ASSERT_EQ(sampler_verify(sampler.get(), &args), SAMPLER_OK) << sampler_last_error();
  const std::vector<std::int32_t> tokens_of_handle = tokens.read();
  const float logprob_of_handle = logprobs.read()[0];
  std::size_t bytes = 0;
  ASSERT_EQ(sampler_verify_workspace_size(sampler.get(), &args, &bytes), SAMPLER_OK);
  const OnDevice<char> workspace(std::vector<char>(bytes, 'x'));
  args.exec.workspace = workspace.data();
  args.exec.workspace_bytes = bytes;
  ASSERT_EQ(sampler_verify(sampler.get(), &args), SAMPLER_OK) << sampler_last_error();
  EXPECT_EQ(tokens.read(), tokens_of_handle);
  EXPECT_EQ(logprobs.read()[0], logprob_of_handle);
}

// Whatever else is bad: dense chains, which a device reads at once, and others.
class BadDrafts : public testing::Test, protected Handles {};

TEST_F(BadDrafts, AreToldBesideBadParameters) {
  constexpr std::int64_t kNumCols = 9000;
  std::vector<float> target(2 * kNumCols);
  for (std::size_t i = 0; i < target.size(); ++i) target[i] = static_cast<float>(i * 7919 % 1009);
  const std::int32_t draft = -1, slot = 7;
  const float temperature = verification_test::kNan;
  for (const bool has_bad_slot : {false, true}) {
    for (const bool is_dense : {true, false}) {
      for (const Handle *sampler : {&cpu_, &device_}) {
        sampler_params params = sampler_params_default();
        params.top_k = 50;
        sampler_row_params of_slot = {};
        of_slot.struct_size = sizeof of_slot;
        of_slot.temperature = &temperature;
        std::int32_t tokens[2] = {-7, -7}, positions[2] = {};
        sampler_row_status status = 0;
        VerifyArgs args;
        args.target.values = target.data();
        args.target.num_rows = 2;
        args.target.num_cols = kNumCols;
        args.num_drafts = 1;
        args.draft_token_ids = &draft;
        args.params = &params;
        if (has_bad_slot) {
          args.slots = &slot;
          args.num_slots = 1;
        } else {
          args.row_params = &of_slot;
        }
        args.out_token_ids = tokens;
        args.out_row_status = &status;
        if (!is_dense) args.out_positions = positions;
        std::size_t bytes = 0;
        ASSERT_EQ(sampler_verify_workspace_size(sampler->get(), &args, &bytes), SAMPLER_OK);
        std::vector<char> workspace(bytes + 1, 'x');
        args.exec.workspace = workspace.data();
        args.exec.workspace_bytes = bytes;
        ASSERT_EQ(sampler_verify(sampler->get(), &args), SAMPLER_OK) << sampler_last_error();
        EXPECT_EQ(status, sampler_row_status((has_bad_slot ? SAMPLER_ROW_INVALID_SLOT
                                                           : SAMPLER_ROW_INVALID_PARAMETER) |
                                             SAMPLER_ROW_INVALID_DRAFT))
            << is_dense;
        EXPECT_EQ(tokens[0], -1);
      }
    }
  }
}

// Arrays of the memory of chains lie where their types may, whatever the numbers.
TEST(Chains, AreAligned) {
  for (const std::size_t id_size : {4, 8}) {
    for (const std::size_t text_id_size : {0, 4, 8}) {
      for (std::int64_t num_sequences = 1; num_sequences < 4; ++num_sequences) {
        for (std::int32_t num_positions = 1; num_positions < 4; ++num_positions) {
          sampler::kernels::Chains chains;
          chains.kind = sampler::kernels::ChainsKind::kMatched;
          chains.num_sequences = num_sequences;
          chains.num_positions = num_positions;
          chains.id_size = id_size;
          chains.text_id_size = text_id_size;
          alignas(sampler::kernels::Chains::kAlignment) static char memory[4096];
          ASSERT_LE(chains.bytes(), sizeof memory);
          chains.memory = memory;
          EXPECT_EQ(reinterpret_cast<std::uintptr_t>(chains.tokens()) % id_size, 0u);
          EXPECT_EQ(reinterpret_cast<std::uintptr_t>(chains.slots()) % 4, 0u);
          EXPECT_GE(static_cast<char *>(chains.tokens()),
                    memory + static_cast<std::size_t>(chains.num_outputs()) * text_id_size);
          EXPECT_LE(reinterpret_cast<char *>(chains.left() + num_sequences),
                    memory + chains.bytes());
        }
      }
    }
  }
}

// Trees of held sequences lie apart, in the memory that is planned.
TEST(HeldTrees, LieApart) {
  using sampler::kernels::Held;
  alignas(sampler::kernels::kStreamAlignment) static char memory[1 << 16];
  for (std::int64_t num_sequences = 1; num_sequences < 40; ++num_sequences) {
    Held held;
    held.kind = sampler::kernels::HeldKind::kVerifyExtended;
    held.num_rows = num_sequences;
    held.tree_numbers = 5 * num_sequences + 1;
    ASSERT_LE(held.bytes(), sizeof memory);
    held.place(memory);
    const char *end = reinterpret_cast<const char *>(held.left() + num_sequences);
    for (std::int64_t i = 0; i < num_sequences; ++i) {
      const char *const begin = reinterpret_cast<const char *>(held.tree(i));
      EXPECT_GE(begin, end);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(begin) % alignof(std::int32_t), 0u);
      end = reinterpret_cast<const char *>(held.tree(i) + held.tree_numbers);
    }
    EXPECT_LE(end, memory + held.bytes());
  }
}

// Whatever stands where, and though the host's array is gone when the work is done.
TEST(Rates, AreTheHostsOnEveryHandle) {
  for (const bool host_parameters : {false, true}) {
    runtime::reset({runtime::kHopper});
    const Handle sampler = make_handle(SAMPLER_DEVICE_CUDA, host_parameters);
    const OnDevice<float> target(
        {0, 1, 2, 3, 4, 5, 6, 7, 8});  // three rows, of which 2 comes first
    const OnDevice<std::int32_t> drafts({1, 0});
    const OnDevice<std::int32_t> tokens({-7, -7, -7});
    std::vector<float> rates = {1, 0};
    sampler_params params = sampler_params_default();
    params.temperature = 0;
    VerifyArgs args;
    args.target.values = target.data();
    args.target.num_rows = args.target.num_cols = 3;
    args.num_drafts = 2;
    args.draft_token_ids = drafts.data();
    args.params = &params;
    args.acceptance_params.rule = SAMPLER_ACCEPT_SYNTHETIC;
    args.acceptance_params.synthetic_rates = rates.data();
    args.out_token_ids = tokens.data();
    std::size_t bytes = 0;
    ASSERT_EQ(sampler_verify_workspace_size(sampler.get(), &args, &bytes), SAMPLER_OK);
    const OnDevice<char> workspace(std::vector<char>(bytes, 'x'));
    args.exec.workspace = workspace.data();
    args.exec.workspace_bytes = bytes;
    {
      const runtime::Recording recording;
      ASSERT_EQ(sampler_verify(sampler.get(), &args), SAMPLER_OK) << sampler_last_error();
      rates = {0, 0};
      recording.replay();
    }
    EXPECT_EQ(tokens.read(), (std::vector<std::int32_t>{1, 2, -1}));
  }
}

std::string name_of(const testing::TestParamInfo<sampler_acceptance> &which) {
  const char *const names[] = {"Standard", "Block",     "SampleMatch", "Typical",
                               "Relaxed",  "Threshold", "Deferred",    "Synthetic"};
  return names[which.param - 1];
}

INSTANTIATE_TEST_SUITE_P(Rules, Verification, testing::Range(1, 9), name_of);

}  // namespace
}  // namespace simt_test
