// Callbacks that fail, throw, or want no more.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "scenario.h"

namespace decoding_test::callbacks_test {
namespace {

constexpr sampler_status kOwnStatus = -77;
constexpr std::uint64_t kNumScenarios = 40;

std::vector<Loop> loops(Scenario *scenario) {
  return {autoregressive(), scenario->speculative(), scenario->with_ngrams()};
}

// The outputs of a loop whose callback failed are the beginning of those when none does.
void expect_beginning(const Generation &failed, const std::vector<Text> &whole) {
  EXPECT_FALSE(failed.outputs_are_untouched());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    SCOPED_TRACE(testing::Message() << "text " << i << ": " << failed.texts()[i]);
    const Tokens &tokens = failed.texts()[i].tokens;
    EXPECT_EQ(failed.streamed()[i], tokens);
    ASSERT_LE(tokens.size(), whole[i].tokens.size());
    EXPECT_TRUE(std::equal(tokens.begin(), tokens.end(), whole[i].tokens.begin()));
    if (failed.texts()[i].reason != SAMPLER_FINISH_NONE) {
      EXPECT_EQ(failed.texts()[i].reason, whole[i].reason);
      EXPECT_EQ(tokens, whole[i].tokens);
    }
  }
}

class FailingCallbacks : public testing::TestWithParam<int> {
 protected:
  // Each callback of each scenario in turn fails so.
  void fail_each(Calls::Failure failure, sampler_status expected, const std::string &text) {
    const Sampler sampler = make_sampler();
    std::int64_t num_failures = 0;
    for (std::uint64_t seed = 0; seed < kNumScenarios && !HasFailure(); ++seed) {
      Scenario scenario(seed + 300);
      Generation &generation = *scenario.generation;
      const Loop loop = loops(&scenario)[std::size_t(GetParam())];
      const std::vector<Text> whole = generation.texts_of(sampler.get(), loop);
      const std::int64_t num_calls = scenario.calls.count();
      for (std::int64_t i = 0; i < num_calls && !HasFailure(); ++i, ++num_failures) {
        SCOPED_TRACE(testing::Message() << "scenario " << seed << ", call " << i);
        scenario.calls.reset();
        scenario.calls.fail(i, kOwnStatus, failure);
        EXPECT_EQ(generation.run(sampler.get(), loop), expected);
        EXPECT_NE(std::string(sampler_last_error()).find(text), std::string::npos)
            << sampler_last_error();
        EXPECT_EQ(scenario.calls.count(), i + 1);
        expect_beginning(generation, whole);
      }
      // The handle is as good as before.
      scenario.calls.reset();
      EXPECT_EQ(generation.texts_of(sampler.get(), loop), whole);
    }
    EXPECT_GT(num_failures, 300);
  }
};

TEST_P(FailingCallbacks, TheirStatusComesBack) {
  fail_each(Calls::Failure::kStatus, kOwnStatus, "-77");
}

TEST_P(FailingCallbacks, ExceptionsStop) {
  fail_each(Calls::Failure::kException, SAMPLER_ERROR_CALLBACK, "");
}

std::string loop_name(const testing::TestParamInfo<int> &parameter) {
  const char *const names[] = {"Autoregressive", "Speculative", "SpeculativeWithNgrams"};
  return names[parameter.param];
}

INSTANTIATE_TEST_SUITE_P(Loops, FailingCallbacks, testing::Values(0, 1, 2), loop_name);

// Positive numbers are statuses of the library, which come back as well.
TEST(FailingCallbacks, AnyStatusComesBack) {
  const Sampler sampler = make_sampler();
  for (const sampler_status status : std::vector<sampler_status>{
           INT32_MIN, -1, SAMPLER_ERROR_OUT_OF_MEMORY, SAMPLER_ERROR_CUDA, 1000, INT32_MAX}) {
    Scenario scenario(1);
    scenario.calls.fail(0, status);
    EXPECT_EQ(scenario.generation->run(sampler.get(), autoregressive()), status);
  }
}

// ---- The other callbacks ------------------------------------------------------------------------

// Wraps a loop in another that gives it callbacks of its own.
template <class Change>
Loop with(const Loop &loop, const Change &change) {
  return [=](sampler_t sampler, const LoopArgs *args) {
    LoopArgs changed = *args;
    change(&changed);
    return loop(sampler, &changed);
  };
}

TEST(Process, ThatFailsStops) {
  const Sampler sampler = make_sampler();
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Scenario scenario(seed + 300);
    for (const Loop &loop : loops(&scenario)) {
      scenario.calls.reset();
      scenario.generation->process = [&](const ProcessCall &) { return scenario.calls.next(); };
      const std::vector<Text> whole = scenario.generation->texts_of(sampler.get(), loop);
      const std::int64_t num_calls = scenario.calls.count();
      for (std::int64_t i = 0; i < num_calls && !testing::Test::HasFailure(); ++i) {
        for (const auto failure : {Calls::Failure::kStatus, Calls::Failure::kException}) {
          scenario.calls.reset();
          scenario.calls.fail(i, kOwnStatus, failure);
          EXPECT_EQ(scenario.generation->run(sampler.get(), loop),
                    failure == Calls::Failure::kStatus ? kOwnStatus
                                                       : sampler_status(SAMPLER_ERROR_CALLBACK));
          expect_beginning(*scenario.generation, whole);
        }
      }
    }
  }
}

std::int32_t throwing_tokens(void *, std::int64_t, const std::int32_t *, std::int64_t,
                             sampler_finish_reason) {
  throw std::runtime_error("thrown by on_tokens");
}

void throwing_trace(void *, const sampler_trace_round *) {
  throw std::runtime_error("thrown by trace");
}

std::size_t throwing_text(void *, std::int32_t, char *, std::size_t) {
  throw std::runtime_error("thrown by token_text");
}

TEST(Callbacks, ThatThrowAreAnError) {
  const Sampler sampler = make_sampler();
  Scenario scenario(2);
  scenario.generation->args.max_new_tokens = 5;
  for (const Loop &loop : loops(&scenario)) {
    EXPECT_EQ(
        scenario.generation->run(
            sampler.get(),
            with(loop, [](sampler_generation_args *args) { args->on_tokens = throwing_tokens; })),
        SAMPLER_ERROR_CALLBACK);
    EXPECT_EQ(scenario.generation->run(
                  sampler.get(),
                  with(loop, [](sampler_generation_args *args) { args->trace = throwing_trace; })),
              SAMPLER_ERROR_CALLBACK);
    EXPECT_EQ(
        scenario.generation->run(
            sampler.get(),
            with(loop, [](sampler_generation_args *args) { args->token_text = throwing_text; })),
        SAMPLER_ERROR_CALLBACK);
  }
}

// A loop is not in a call of the handle while it calls back.
TEST(Callbacks, MayUseTheHandle) {
  const Sampler sampler = make_sampler();
  Scenario scenario(3);
  const auto draw = [&](const ProcessCall &call) {
    std::int32_t token = -1;
    auto args = sized<sampler_sample_args>();
    args.input.values = call.logits;
    args.input.num_rows = 1;
    args.input.num_cols = call.num_cols;
    args.input.dtype = SAMPLER_BF16;  // reads no more than there is of any type
    args.out_token_ids = &token;
    std::size_t bytes = 0;
    if (const auto status = sampler_sample_workspace_size(sampler.get(), &args, &bytes)) {
      return status;
    }
    std::vector<unsigned char> workspace(bytes);
    args.exec.workspace = workspace.data();
    args.exec.workspace_bytes = bytes;
    return sampler_sample(sampler.get(), &args);
  };
  for (const Loop &loop : loops(&scenario)) {
    scenario.generation->process = draw;
    const auto &texts = scenario.generation->texts_of(sampler.get(), loop);
    scenario.generation->process = nullptr;
    EXPECT_EQ(without_counts(texts),
              expected_texts(sampler.get(), *scenario.target, *scenario.generation));
  }
}

// All optional outputs and callbacks may be left out.
TEST(Callbacks, MayBeLeftOut) {
  const Sampler sampler = make_sampler();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Scenario scenario(seed);
    Generation &generation = *scenario.generation;
    for (const Loop &loop : loops(&scenario)) {
      const std::vector<Text> whole = generation.texts_of(sampler.get(), loop);
      const auto width = std::size_t(generation.args.max_new_tokens);
      Tokens token_ids(whole.size() * width, -999);
      const Loop bare = with(loop, [&](LoopArgs *args) {
        args->on_tokens = nullptr;
        args->trace = nullptr;
        args->out_token_ids = token_ids.data();
        args->out_lengths = nullptr;
        args->out_finish_reasons = nullptr;
        args->out_drafted_counts = args->out_accepted_counts = args->out_cache_lengths = nullptr;
        args->out_stats = nullptr;
      });
      EXPECT_EQ(generation.run(sampler.get(), bare), SAMPLER_OK) << sampler_last_error();
      for (std::size_t i = 0; i < whole.size(); ++i) {
        Tokens row(width, generation.args.pad_token_id);
        std::copy(whole[i].tokens.begin(), whole[i].tokens.end(), row.begin());
        EXPECT_EQ(Tokens(token_ids.begin() + std::ptrdiff_t(i * width),
                         token_ids.begin() + std::ptrdiff_t((i + 1) * width)),
                  row);
      }
    }
  }
}

}  // namespace
}  // namespace decoding_test::callbacks_test
