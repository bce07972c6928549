// Calls with pipeline.state against the same calls with the same text as lists: every output is
// equal to the bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "../seed.h"
#include "problem.h"
#include "support.h"

namespace state_test::sampling_test {
namespace {

using pipeline_test::Call;
using pipeline_test::Problem;

constexpr std::uint64_t kNumProblems = pipeline_test::affordable(800);

template <class T>
bool equal(const std::vector<T> &a, const std::vector<T> &b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

bool equal(const pipeline_test::Sampled &a, const pipeline_test::Sampled &b) {
  return equal(a.token_ids, b.token_ids) && equal(a.kept_counts, b.kept_counts) &&
         equal(a.logprobs, b.logprobs) && equal(a.values, b.values) && equal(a.status, b.status);
}

bool equal(const pipeline_test::Filtered &a, const pipeline_test::Filtered &b) {
  return equal(a.output, b.output) && equal(a.kept_counts, b.kept_counts) &&
         equal(a.status, b.status);
}

// A state has no negative ids: others that are in no row, either.
void replace_negative_ids(Problem *problem) {
  for (pipeline_test::Slot &slot : problem->slots) {
    for (std::int64_t &id : slot.history) {
      if (id < 0) id += INT32_MAX;
    }
  }
}

void ok(sampler_status status) {
  ASSERT_EQ(status, SAMPLER_OK) << sampler_last_error();
}

// Fills a slot with a text, its output by draws, and goes astray on the way.
void fill(Random *random, Pair *pair, std::int32_t slot, const Text &text,
          std::int64_t prompt_length) {
  const Text prompt(text.begin(), text.begin() + prompt_length);
  pair->append({slot}, {prompt}, true, SAMPLER_ID_I32);
  for (std::size_t i = std::size_t(prompt_length); i < text.size(); ++i) {
    if (random->one_in(5)) {
      const std::int64_t most = pair->shape().max_tokens - std::int64_t(i);
      Text astray(std::size_t(random->between(0, most)));
      for (std::int64_t &id : astray) id = random->between(0, 20);
      pair->append({slot}, {astray}, false, SAMPLER_ID_I32);
      pair->truncate({slot}, {std::int32_t(i)});
    }
    pair->accept({slot}, {{{text[i]}, {}}}, SAMPLER_ID_I64, nullptr);
  }
}

Shape shape_for(Random *random, const Problem &problem, std::int64_t num_slots) {
  std::int64_t longest = 1;
  for (const auto &slot : problem.slots) {
    longest = std::max(longest, std::int64_t(slot.history.size()));
  }
  const std::int64_t max_tokens = longest + random->between(0, 9);
  const std::int64_t distinct[] = {0, 1, 3, 8, max_tokens};
  return {num_slots + random->between(0, 2), max_tokens,
          std::min(distinct[random->between(0, 4)], max_tokens), random->one_in(2)};
}

void check_problem(sampler_t sampler, Random *random, Problem problem, std::uint64_t seed) {
  replace_negative_ids(&problem);
  const Call listed(problem, SAMPLER_F32);
  Pair pair(sampler, shape_for(random, problem, listed.num_slots));
  for (std::size_t s = 0; s < problem.slots.size(); ++s) {
    const pipeline_test::Slot &slot = problem.slots[s];
    const std::int64_t prompt_length = problem.has_prompt_lengths ? slot.prompt_length : 0;
    if (const float *const values = listed.pipeline.adaptive_values) {
      const float *const own = values + s * SAMPLER_NUM_ADAPTIVE_VALUES;
      pair.reset({std::int32_t(s)}, {{own[0], own[1], own[2], own[3]}});
    }
    fill(random, &pair, std::int32_t(s), slot.history, prompt_length);
  }
  pair.check();
  // Sometimes all move to a state that counts other tokens.
  Pair moved(sampler, shape_for(random, problem, listed.num_slots));
  for (std::size_t s = 0; s < problem.slots.size(); ++s) {
    moved.copy(pair, {std::int32_t(s)}, {std::int32_t(s)});
  }
  const sampler_state_t state = random->one_in(2) ? pair.state() : moved.state();
  const std::string before = pair.bytes() + moved.bytes();
  Call by_state(problem, SAMPLER_F32);
  by_state.pipeline.history = {};
  by_state.pipeline.prompt_lengths = nullptr;
  by_state.pipeline.adaptive_values = nullptr;
  by_state.pipeline.state = state;
  const auto draw = seed % 3 == 0 ? SAMPLER_DRAW_GUMBEL : SAMPLER_DRAW_INVERSE_CDF;
  for (const auto kind : {SAMPLER_LOGPROB_RAW, SAMPLER_LOGPROB_PROCESSED}) {
    ASSERT_TRUE(equal(sample(sampler, by_state, kind, draw), sample(sampler, listed, kind, draw)));
  }
  for (const auto kind : {SAMPLER_OUTPUT_PROBABILITIES, SAMPLER_OUTPUT_VALUES}) {
    if (kind == SAMPLER_OUTPUT_VALUES && problem.kind == SAMPLER_PROBABILITIES) continue;
    ASSERT_TRUE(equal(filter(sampler, by_state, kind), filter(sampler, listed, kind)));
  }
  EXPECT_EQ(pair.bytes() + moved.bytes(), before);  // a draw changes nothing
}

TEST(Sampling, WithAStateEqualsThatOfTheSameText) {
  const Handle one_thread = make_handle(1), three_threads = make_handle(3);
  int num_with_text = 0;
  for (std::uint64_t seed = 0; seed < kNumProblems && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = seed % 4 == 3 ? pipeline_test::make_staged_problem(seeded(seed))
                                          : pipeline_test::make_problem(seeded(seed));
    if (!problem.has_history || !problem.has_edits) continue;
    ++num_with_text;
    Random random(seeded(seed));
    check_problem(seed % 2 ? one_thread.get() : three_threads.get(), &random, problem, seed);
  }
  EXPECT_GT(num_with_text, int(kNumProblems / 2));
}

// A row of logits, and a call that penalises it by a state.
struct Penalised {
  std::vector<float> logits = std::vector<float>(16, 1.0F);
  std::vector<float> edited = std::vector<float>(16);
  std::vector<unsigned char> workspace = std::vector<unsigned char>(1 << 16);
  sampler_row_status status = 77;
  sampler_params params = sampler_params_default();
  sampler_pipeline pipeline = sized<sampler_pipeline>();
  sampler_filter_args args = sized<sampler_filter_args>();

  explicit Penalised(sampler_state_t state) {
    pipeline.state = state;
    args.exec.workspace = workspace.data();
    args.exec.workspace_bytes = workspace.size();
    params.frequency_penalty = 0.25F;
    args.input.values = logits.data();
    args.input.num_rows = 1;
    args.input.num_cols = 16;
    args.params = &params;
    args.pipeline = &pipeline;
    args.output_kind = SAMPLER_OUTPUT_VALUES;
    args.output = edited.data();
    args.out_row_status = &status;
  }
};

TEST(Sampling, SeesWhatHasBeenAcceptedSinceTheLastDraw) {
  const Handle handle = make_handle();
  Pair pair(handle.get(), {1, 8, 2, false});
  Penalised call(pair.state());
  pair.append({0}, {{3}}, true, SAMPLER_ID_I32);
  ok(sampler_filter(handle.get(), &call.args));
  EXPECT_EQ(call.edited[3], 1.0F);  // the prompt is not counted
  for (int i = 1; i <= 3; ++i) {
    pair.accept({0}, {{{3, 4, 5}, {}}}, SAMPLER_ID_I32, nullptr);
    if (i == 3) break;  // which did not fit
    ok(sampler_filter(handle.get(), &call.args));
    for (const std::size_t id : {3, 4, 5}) {
      EXPECT_EQ(call.edited[id], 1.0F - 0.25F * float(i)) << id;
    }
    EXPECT_EQ(call.edited[6], 1.0F);
  }
  pair.truncate({0}, {3});
  ok(sampler_filter(handle.get(), &call.args));
  EXPECT_EQ(call.edited[4], 0.75F);
  EXPECT_EQ(call.edited[5], 1.0F);
}

// The limit may be less than what the slots have room for.
TEST(Sampling, LimitsTheTextIfAsked) {
  const Handle handle = make_handle();
  Pair pair(handle.get(), {1, 8, 0, false});
  pair.append({0}, {{1, 2, 3}}, false, SAMPLER_ID_I32);
  Penalised call(pair.state());
  for (const std::int64_t limit : {0, 2, 3, 100}) {
    call.pipeline.max_history_tokens = limit;
    ok(sampler_filter(handle.get(), &call.args));
    EXPECT_EQ(call.status, std::uint32_t(limit == 2 ? SAMPLER_ROW_INVALID_LIST : SAMPLER_ROW_OK));
  }
}

// Workspace for repeats is by the longest text that a slot can hold.
TEST(Sampling, TakesTheWorkspaceThatItTells) {
  const Handle handle = make_handle();
  const sampler_t sampler = handle.get();
  std::size_t short_bytes = 0, long_bytes = 0;
  for (const std::int64_t max_tokens : {10, 100000}) {
    Pair pair(sampler, {1, max_tokens, 0, false});
    pair.append({0}, {{1, 2, 3, 1, 2}}, false, SAMPLER_ID_I32);
    Penalised call(pair.state());
    call.params.no_repeat_ngram_size = 3;
    std::size_t &bytes = max_tokens == 10 ? short_bytes : long_bytes;
    ok(sampler_filter_workspace_size(sampler, &call.args, &bytes));
    std::vector<unsigned char> workspace(bytes);
    call.args.exec.workspace = workspace.data();
    call.args.exec.workspace_bytes = bytes - 1;
    EXPECT_EQ(sampler_filter(sampler, &call.args), SAMPLER_ERROR_WORKSPACE_TOO_SMALL);
    call.args.exec.workspace_bytes = bytes;
    ok(sampler_filter(sampler, &call.args));
    EXPECT_EQ(call.edited[3], -INFINITY);
  }
  EXPECT_GT(long_bytes, short_bytes + 4 * 99000);
}

}  // namespace
}  // namespace state_test::sampling_test
