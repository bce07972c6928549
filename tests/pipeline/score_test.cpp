// sampler_score reports on given tokens what sampler_sample reported when it drew them, to the bit.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "../seed.h"
#include "../sized.h"
#include "handles.h"
#include "problem.h"
#include "reported.h"

namespace pipeline_test::score_test {
namespace {

constexpr std::uint64_t kNumProblems = affordable(200);

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

SampleArgs args_of(const Call &call) {
  SampleArgs args = call.args<SampleArgs>();
  args.random.seeds = call.seeds.data();
  args.random.num_seeds = call.num_slots;
  args.random.offset = Call::kOffset;
  return args;
}

class Scores : public testing::TestWithParam<sampler_dtype>, protected Handles {
 protected:
  // Everything but the status of bad rows, which may have another reason to be bad.
  void expect_equal(const Reported &scored, const Reported &drawn) {
    assert_same_reports(scored, drawn);
    for (std::size_t i = 0; i < drawn.status.size(); ++i) {
      ASSERT_EQ(scored.status[i] == SAMPLER_ROW_OK, drawn.status[i] == SAMPLER_ROW_OK) << i;
      num_good_ += drawn.status[i] == SAMPLER_ROW_OK;
    }
  }

  // Draws, then scores what was drawn: by the stages, or from the lists of what they kept.
  void draw_and_score(Problem problem, std::uint64_t seed, bool by_lists) {
    Random random(seeded(seed));
    problem.has_forced_tokens = false;
    if (by_lists) leave_out_what_lists_lack(&problem);
    Call call(problem, GetParam());
    if (by_lists) {
      leave_out_what_lists_lack(&call);
    }
    SampleArgs args = args_of(call);
    args.report_args.logprob_kind =
        by_lists ? SAMPLER_LOGPROB_PROCESSED : sampler_logprob_kind(random.between(0, 2));
    args.draw_method = sampler_draw_method(random.between(0, 1));
    Sizes sizes = random_sizes(random, problem);
    sizes.lacks_room = false;
    sizes.removed_by = false;
    const auto chosen =
        random_chosen(random, sizes.chosen * problem.num_rows(), problem, sizes.id_type);
    const auto &draws = seed % 2 == 0 ? simd : reference,
               &scores = seed % 3 == 0 ? reference : simd;
    const Reported drawn = report(draws.get(), args, problem.num_rows(), sizes, chosen);
    Given given = {drawn.token_ids, {}, {}};
    if (by_lists) {
      given.kept_offsets = drawn.kept_offsets;
      given.kept_ids = drawn.packed_ids;
      shuffle_lists(random, &given);
    }
    args.random = {};                                                          // nothing is drawn
    if (problem.has_windows && !by_lists) args.random = args_of(call).random;  // but XTC's coin
    expect_equal(report(scores.get(), args, problem.num_rows(), sizes, chosen, &given), drawn);
  }

  // Lists may be in any order.
  static void shuffle_lists(Random &random, Given *given) {
    for (std::size_t row = 0; row + 1 < given->kept_offsets.size(); ++row) {
      const std::int64_t begin = given->kept_offsets[row], end = given->kept_offsets[row + 1];
      for (std::int64_t i = begin; i + 1 < end; ++i) {
        std::swap(given->kept_ids[at(i)], given->kept_ids[at(random.between(i, end - 1))]);
      }
    }
  }

  int num_good_ = 0;
};

TEST_P(Scores, OfDrawnTokensAreWhatSamplingReported) {
  for (std::uint64_t seed = 0; seed < kNumProblems && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const std::uint64_t any = seeded(seed * 3 + std::uint64_t(GetParam()));
    draw_and_score(seed % 3 == 0 ? make_problem(any) : make_staged_problem(any), seed, false);
  }
  EXPECT_GT(num_good_, int(kNumProblems));
}

TEST_P(Scores, FromKeptListsAreWhatSamplingReported) {
  for (std::uint64_t seed = 0; seed < kNumProblems && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const std::uint64_t any = seeded(7000 + seed * 3 + std::uint64_t(GetParam()));
    Problem problem = seed % 3 == 0 ? make_problem(any) : make_staged_problem(any);
    if (problem.kind == SAMPLER_LOGITS) draw_and_score(problem, seed, true);
  }
  EXPECT_GT(num_good_, int(kNumProblems) / 2);
}

std::string name_of(const testing::TestParamInfo<sampler_dtype> &type) {
  const char *const names[] = {"F32", "F16", "BF16"};
  return names[type.param];
}
INSTANTIATE_TEST_SUITE_P(Types, Scores, testing::Values(SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16),
                         name_of);

// Two rows of four logits, scored plainly.
class PlainScores : public testing::Test, protected Handles {
 protected:
  PlainScores() {
    args_ = sized<sampler_score_args>();
    args_.input = {logits_,        2, 4, 0, nullptr, nullptr, SAMPLER_F32, SAMPLER_LOGITS,
                   SAMPLER_ID_I32, 0};
    args_.params = &params_;
    args_.out_row_status = status_;
    args_.reports = &reports_;
    args_.token_ids = token_ids_;
    reports_.logprob_kind = SAMPLER_LOGPROB_PROCESSED;
    reports_.out_logprobs = logprobs_;
    params_.temperature = 0.5F;
  }

  void score() {
    for (const sampler_t sampler : {simd.get(), reference.get()}) {
      std::fill(std::begin(status_), std::end(status_), 0xFFU);
      std::fill(std::begin(logprobs_), std::end(logprobs_), 7.0F);
      const auto memory = workspace_of(sampler, &args_, &sampler_score_workspace_size);
      ASSERT_EQ(sampler_score(sampler, &args_), SAMPLER_OK) << sampler_last_error();
      args_.exec = {};
      if (sampler == simd.get()) std::copy_n(logprobs_, 3, by_simd_);
    }
    ASSERT_EQ(std::memcmp(logprobs_, by_simd_, sizeof logprobs_), 0);
  }
  void expect_error(const std::string &text) {
    const float before = logprobs_[0] = 7.0F;
    EXPECT_EQ(sampler_score(simd.get(), &args_), SAMPLER_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(sampler_last_error(), text);
    EXPECT_EQ(logprobs_[0], before);
    std::size_t bytes = 77;
    EXPECT_EQ(sampler_score_workspace_size(simd.get(), &args_, &bytes),
              SAMPLER_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(bytes, 77U);
  }

  float logits_[8] = {1, 2, 0.5F, -1, 3, 3, 0, -std::numeric_limits<float>::infinity()};
  std::int32_t token_ids_[3] = {2, 0, 1};
  sampler_params params_ = sampler_params_default();
  sampler_report_args reports_ = sized<sampler_report_args>();
  sampler_score_args args_;
  sampler_row_status status_[3];
  float logprobs_[3], by_simd_[3];
};

// In f64 from first principles; the contract allows 1e-5.
constexpr double kBound = 1e-5;

TEST_F(PlainScores, AreLogProbabilities) {
  score();
  const double whole = std::exp(2.0) + std::exp(4.0) + std::exp(1.0) + std::exp(-2.0);
  EXPECT_NEAR(logprobs_[0], 1.0 - std::log(whole), kBound);
  EXPECT_NEAR(logprobs_[1], 6.0 - std::log(2 * std::exp(6.0) + 1.0), kBound);
  EXPECT_EQ(status_[0], SAMPLER_ROW_OK);
}

TEST_F(PlainScores, AreRelativeToTheKeptTokens) {
  const std::int64_t offsets[] = {0, 2, 3};
  const std::int32_t kept[] = {2, 0, 0};
  args_.kept = {offsets, kept, 2, 3};
  params_.top_k = 1;  // which the lists replace
  score();
  EXPECT_NEAR(logprobs_[0], 1.0 - std::log(std::exp(1.0) + std::exp(2.0)), kBound);
  EXPECT_NEAR(logprobs_[1], 0.0, kBound);
  token_ids_[1] = 1;  // not kept
  score();
  EXPECT_EQ(logprobs_[1], -std::numeric_limits<float>::infinity());
  EXPECT_EQ(status_[1], SAMPLER_ROW_OK);
}

TEST_F(PlainScores, OfSeveralTokensOfARow) {
  const std::int32_t rows[] = {0, 1, 0}, slots[] = {0, 0, 0};
  args_.row_indices = rows;
  args_.num_row_indices = 3;
  args_.slots = slots;
  args_.num_slots = 1;
  score();
  const double whole = std::exp(2.0) + std::exp(4.0) + std::exp(1.0) + std::exp(-2.0);
  EXPECT_NEAR(logprobs_[0], 1.0 - std::log(whole), kBound);
  EXPECT_NEAR(logprobs_[2], 4.0 - std::log(whole), kBound);
}

TEST_F(PlainScores, OfTokensThatNoRowHasAreNone) {
  for (const std::int32_t id : {-1, INT32_MIN, 4, 1 << 20, INT32_MAX}) {
    token_ids_[0] = id;
    score();
    EXPECT_EQ(status_[0], SAMPLER_ROW_INVALID_PARAMETER) << id;
    EXPECT_TRUE(std::isnan(logprobs_[0])) << id;
    EXPECT_EQ(status_[1], SAMPLER_ROW_OK);
  }
}

TEST_F(PlainScores, OfBadListsAreNone) {
  const std::int32_t kept[] = {2, 0, 0};
  struct {
    std::int64_t offsets[3];
    sampler_row_status first, second;
  } const cases[] = {{{0, 0, 1}, SAMPLER_ROW_EMPTY, SAMPLER_ROW_OK},
                     {{2, 1, 3}, SAMPLER_ROW_INVALID_LIST, SAMPLER_ROW_OK},
                     {{-1, 1, 3}, SAMPLER_ROW_INVALID_LIST, SAMPLER_ROW_OK},
                     {{0, 2, 4}, SAMPLER_ROW_OK, SAMPLER_ROW_INVALID_LIST},
                     {{0, 2, INT64_MAX}, SAMPLER_ROW_OK, SAMPLER_ROW_INVALID_LIST}};
  for (const auto &c : cases) {
    args_.kept = {c.offsets, kept, 2, 3};
    score();
    EXPECT_EQ(status_[0], c.first);
    EXPECT_EQ(status_[1], c.second);
    EXPECT_EQ(std::isnan(logprobs_[0]), c.first != SAMPLER_ROW_OK);
  }
}

TEST_F(PlainScores, RefuseWrongArguments) {
  const std::int64_t offsets[] = {0, 2, 3};
  const std::int32_t kept[] = {2, 0, 0};
  const sampler_token_lists lists = {offsets, kept, 2, 3};
  args_.kept = lists;

  args_.token_ids = nullptr;
  EXPECT_EQ(sampler_score(simd.get(), &args_), SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(sampler_last_error()).find("token_ids is NULL"), std::string::npos);
  args_.token_ids = token_ids_;

  args_.kept.num_lists = 1;
  expect_error("kept.num_lists is 1; it must be the number of output rows, 2");
  args_.kept = {nullptr, kept, 0, 3};
  expect_error("kept.num_token_ids is 3; it must be 0");
  args_.kept = lists;

  reports_.logprob_kind = SAMPLER_LOGPROB_RAW;
  expect_error("reports->logprob_kind is 0; with kept it must be SAMPLER_LOGPROB_PROCESSED, 1");
  reports_.logprob_kind = SAMPLER_LOGPROB_PROCESSED;

  params_.dynamic_temperature_range = 0.5F;
  expect_error("params->dynamic_temperature_range is 0.5; it must be off with kept");
  params_.dynamic_temperature_range = 0;
  params_.adaptive_kind = SAMPLER_ADAPTIVE_P;
  params_.adaptive_target = 0.5F;
  expect_error("params->adaptive_kind is 3; it must be off with kept");
  params_.adaptive_kind = 0;

  sampler_row_params row_params = sized<sampler_row_params>();
  args_.row_params = &row_params;
  const std::int32_t kinds[2] = {};
  row_params.adaptive_kind = kinds;
  expect_error("row_params->adaptive_kind is set; it must be off with kept");
  row_params.adaptive_kind = nullptr;
  const std::int64_t forced[2] = {};
  row_params.forced_token_id = forced;
  expect_error("row_params->forced_token_id is set; it must be NULL: token_ids has the tokens");
  args_.row_params = nullptr;

  params_.temperature = 1;
  args_.input.kind = SAMPLER_PROBABILITIES;
  expect_error(
      "kept.offsets is set and input.kind is SAMPLER_PROBABILITIES; it must be SAMPLER_LOGITS");
}

}  // namespace
}  // namespace pipeline_test::score_test
