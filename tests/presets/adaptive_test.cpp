// Mirostat and adaptive-p against llama.cpp: at each step of a text that it has written, the tokens
// that they keep, with its probabilities; and when its token is accepted, what they remember.
#include <gtest/gtest.h>
#include <sampler/sampler.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "../sized.h"
#include "engine_parameters.h"
#include "recorded.h"

namespace presets_test::adaptive_test {
namespace {

using engine_parameters::Pipeline;
using engine_parameters::Request;

// llama.cpp has probabilities and logarithms in f32. Adaptive-p's slope, 33, makes as many of the
// last bits of a probability. Values go on from what the step before has rounded; those above 1 are
// compared as fractions.
constexpr double kMirostatTolerance = 1e-6, kAdaptivePTolerance = 1e-5, kValueTolerance = 1e-5;

// A text as the library goes through it, by a state of its own.
class Text {
 public:
  explicit Text(const RecordedText &recorded)
      : recorded_(recorded),
        request_(engine_parameters::read("llama.cpp@0.5", recorded.parameters)) {
    const sampler_options options = sampler_options_default();
    check(sampler_create(&options, &sampler_));
    sampler_state_options state = {};
    state.struct_size = sizeof state;
    state.num_slots = 1;
    state.max_tokens = static_cast<std::int64_t>(recorded.history.size() + recorded.steps.size());
    check(sampler_state_create(sampler_, &state, &state_));
    append(SAMPLER_TOKENS_PROMPT, 0, recorded.prompt_length);
    append(SAMPLER_TOKENS_OUTPUT, recorded.prompt_length,
           static_cast<std::int64_t>(recorded.history.size()));
  }
  ~Text() {
    sampler_state_destroy(state_);
    sampler_destroy(sampler_);
  }
  Text(const Text &) = delete;
  Text &operator=(const Text &) = delete;

  // What is kept of the logits, and the report of the forced token.
  Kept keep(const std::vector<float> &logits, std::int64_t token) {
    const std::size_t columns = logits.size();
    const Pipeline lists(request_, recorded_.history, recorded_.prompt_length);
    sampler_pipeline pipeline = *lists.get();
    pipeline.history = {};
    pipeline.prompt_lengths = nullptr;
    pipeline.state = state_;
    sampler_row_params forced = {};
    forced.struct_size = sizeof forced;
    forced.forced_token_id = &token;
    std::vector<std::int32_t> ids(columns);
    std::vector<float> probabilities(columns);
    sampler_row_status status = 0;
    SampleArgs args;
    args.input.values = logits.data();
    args.input.num_rows = 1;
    args.input.num_cols = args.report_args.kept_capacity = static_cast<std::int64_t>(columns);
    args.pipeline = &pipeline;
    args.params = lists.params();
    args.row_params = &forced;
    args.out_token_ids = &token_;
    args.report_args.out_observations = &observation_;
    args.report_args.out_kept_token_ids = ids.data();
    args.report_args.out_kept_probabilities = probabilities.data();
    args.out_row_status = &status;
    check(sampler_sample_workspace_size(sampler_, &args, &args.exec.workspace_bytes));
    std::vector<unsigned char> workspace(args.exec.workspace_bytes);
    args.exec.workspace = workspace.data();
    check(sampler_sample(sampler_, &args));
    EXPECT_EQ(status, SAMPLER_ROW_OK) << recorded_.text;
    EXPECT_EQ(token_, token) << recorded_.text;
    Kept kept = {std::vector<bool>(columns), std::vector<double>(columns)};
    for (std::size_t i = 0; i < columns && ids[i] >= 0; ++i) {
      kept.set[static_cast<std::size_t>(ids[i])] = true;
      kept.probabilities[static_cast<std::size_t>(ids[i])] = static_cast<double>(probabilities[i]);
    }
    return kept;
  }

  // Mirostat's mu, or adaptive-p's sum and weight, when that token has been accepted.
  std::vector<float> accept() {
    sampler_accept_args accept = {};
    accept.struct_size = sizeof accept;
    accept.state = state_;
    accept.num_rows = accept.num_tokens = 1;
    accept.token_ids = &token_;
    accept.observations = &observation_;
    accept.params = &request_.params;
    check(sampler_accept(sampler_, &accept));
    float values[SAMPLER_NUM_ADAPTIVE_VALUES] = {};
    sampler_state_read_args read = {};
    read.struct_size = sizeof read;
    read.state = state_;
    read.num_rows = 1;
    read.out_adaptive_values = values;
    check(sampler_state_read(sampler_, &read));
    if (request_.params.adaptive_kind == SAMPLER_ADAPTIVE_P) return {values[1], values[2]};
    return {values[0]};
  }

 private:
  void check(sampler_status status) const {
    EXPECT_EQ(status, SAMPLER_OK) << sampler_last_error() << '\n' << recorded_.text;
  }

  void append(sampler_token_kind kind, std::int64_t begin, std::int64_t end) {
    const std::int64_t offsets[] = {begin, end};
    sampler_state_append_args append = {};
    append.struct_size = sizeof append;
    append.state = state_;
    append.num_rows = append.tokens.num_lists = 1;
    append.tokens.offsets = offsets;
    append.tokens.token_ids = recorded_.history.data();
    append.tokens.num_token_ids = static_cast<std::int64_t>(recorded_.history.size());
    append.token_kind = kind;
    check(sampler_state_append(sampler_, &append));
  }

  const RecordedText &recorded_;
  Request request_;
  sampler_t sampler_ = nullptr;
  sampler_state_t state_ = nullptr;
  std::int32_t token_ = -1;
  float observation_ = 0;
};

struct Tally {
  int texts = 0, steps = 0, cut = 0, lone = 0, other_sets = 0;
  double farthest_probability = 0, farthest_lone = 0, farthest_value = 0;
};

void compare(const Kept &ours, const Kept &engine, Tally *tally) {
  const auto num_kept = std::count(ours.set.begin(), ours.set.end(), true);
  const bool is_lone = num_kept == 1;
  if (is_lone) ++tally->lone;
  if (static_cast<std::size_t>(num_kept) < ours.set.size()) ++tally->cut;
  double *const farthest = is_lone ? &tally->farthest_lone : &tally->farthest_probability;
  for (std::size_t i = 0; i < ours.probabilities.size(); ++i) {
    *farthest = std::max(*farthest, std::abs(ours.probabilities[i] - engine.probabilities[i]));
  }
}

void compare(const std::vector<float> &ours, const RecordedText::Step &step, Tally *tally) {
  ASSERT_EQ(ours.size(), step.values.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const double there = static_cast<double>(step.values[i]);
    const double far =
        std::abs(static_cast<double>(ours[i]) - there) / std::max(1.0, std::abs(there));
    tally->farthest_value = std::max(tally->farthest_value, far);
  }
}

void replay(const RecordedText &recorded, Tally *tally) {
  Text text(recorded);
  ++tally->texts;
  for (const RecordedText::Step &step : recorded.steps) {
    const Kept ours = text.keep(step.logits, step.token);
    ++tally->steps;
    if (ours.set != step.kept.set) {
      ++tally->other_sets;
      return;  // the texts are not the same any more
    }
    compare(ours, step.kept, tally);
    compare(text.accept(), step, tally);
  }
}

// Replays the texts of one kind.
Tally replay(sampler_adaptive_kind kind, double tolerance) {
  Tally tally;
  for (const RecordedText &recorded : read_texts(SAMPLER_RECORDED_DIR "llama_cpp_adaptive.txt")) {
    const Request request = engine_parameters::read("llama.cpp@0.5", recorded.parameters);
    if (request.params.adaptive_kind == kind) replay(recorded, &tally);
  }
  std::printf(
      "%d texts, %d steps, %d with fewer tokens than there are, %d with one, %d other sets; "
      "farthest %.3g, of one token %.3g, values %.3g\n",
      tally.texts, tally.steps, tally.cut, tally.lone, tally.other_sets, tally.farthest_probability,
      tally.farthest_lone, tally.farthest_value);
  EXPECT_EQ(tally.texts, 50);
  EXPECT_EQ(tally.other_sets, 0);
  EXPECT_EQ(tally.steps, 400);
  EXPECT_LE(tally.farthest_probability, tolerance);
  EXPECT_LE(tally.farthest_value, kValueTolerance);
  return tally;
}

void expect_mirostat(sampler_adaptive_kind kind) {
  const Tally tally = replay(kind, kMirostatTolerance);
  EXPECT_GE(tally.cut - tally.lone, 200);
  EXPECT_LE(tally.farthest_lone, kMirostatTolerance);
}

TEST(LlamaCppAdaptive, MirostatV1IsTheSame) {
  expect_mirostat(SAMPLER_ADAPTIVE_MIROSTAT_V1);
}

TEST(LlamaCppAdaptive, MirostatV2IsTheSame) {
  expect_mirostat(SAMPLER_ADAPTIVE_MIROSTAT_V2);
}

TEST(LlamaCppAdaptive, AdaptivePIsTheSame) {
  const Tally tally = replay(SAMPLER_ADAPTIVE_P, kAdaptivePTolerance);
  EXPECT_GE(tally.steps - tally.lone, 200);
  EXPECT_GE(tally.lone, 50);
  EXPECT_EQ(tally.farthest_lone, 0);
}

}  // namespace
}  // namespace presets_test::adaptive_test
