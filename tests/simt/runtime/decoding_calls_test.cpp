// What the decoding loops ask of CUDA: whichever call fails, the loop ends with an error, and
// nothing leaks; texts are those of the CPU.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "../../sized.h"
#include "runtime.h"
#include "scenario.h"

namespace decoding_test {
namespace {

namespace runtime = simt::runtime;

Sampler make_on(sampler_device_type device, std::int32_t device_id = 0) {
  sampler_options options = sampler_options_default();
  options.device_type = device;
  options.device_id = device_id;
  options.host_parameters = device_id;  // both ways
  sampler_t sampler = nullptr;
  EXPECT_EQ(sampler_create(&options, &sampler), SAMPLER_OK) << sampler_last_error();
  return Sampler(sampler);
}

constexpr int kNumLoops = 4;
std::vector<Loop> loops(Scenario *scenario) {
  scenario->take_trees();
  return {autoregressive(), scenario->speculative(), scenario->with_ngrams(), scenario->in_trees()};
}

class DecodingCalls : public testing::Test {
 protected:
  DecodingCalls() {
    runtime::reset();
    runtime::set_block_threads(64);
  }
  ~DecodingCalls() override { EXPECT_EQ(0, runtime::num_allocations()) << "leaked"; }
};

TEST_F(DecodingCalls, TextsAreThoseOfTheCpu) {
  const Sampler cpu = make_on(SAMPLER_DEVICE_CPU);
  for (const std::int32_t device : {0, 1}) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      SCOPED_TRACE(seed);
      Scenario scenario(seed);
      Generation &generation = *scenario.generation;
      generation.args.processor = sampler_processor(seed % 2);
      generation.params.top_k = 4;
      for (int loop = 0; loop < kNumLoops; ++loop) {
        const Sampler on_device = make_on(SAMPLER_DEVICE_CUDA, device);
        const std::vector<Text> texts =
            generation.texts_of(on_device.get(), loops(&scenario)[std::size_t(loop)]);
        EXPECT_EQ(runtime::num_allocations(), 0);
        EXPECT_EQ(texts, generation.texts_of(cpu.get(), loops(&scenario)[std::size_t(loop)]));
      }
    }
  }
}

// Stages that go by a text's tokens, one that drawn tokens move, and parameters by text.
class Staged {
 public:
  explicit Staged(Scenario *scenario) {
    Generation &generation = *scenario->generation;
    generation.args.processor = SAMPLER_PROCESSOR_SAMPLE;
    generation.params.adaptive_kind = SAMPLER_ADAPTIVE_MIROSTAT_V2;
    generation.params.adaptive_target = 2.0f;
    penalties_ = temperatures_ = std::vector<float>(generation.prompts().size(), 1.2f);
    temperatures_[0] = 0.7f;
    numbers_.repetition_penalty = penalties_.data();
    numbers_.temperature = temperatures_.data();
    generation.args.row_params = &numbers_;
  }

 private:
  std::vector<float> penalties_, temperatures_;
  sampler_row_params numbers_ = sized<sampler_row_params>();
};

TEST_F(DecodingCalls, TextsOfAllRulesAndOfStagesAreThoseOfTheCpu) {
  const Sampler cpu = make_on(SAMPLER_DEVICE_CPU);
  for (const std::int32_t device : {0, 1}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(seed);
      Scenario scenario(seed);
      std::optional<Staged> staged;
      if (seed % 2 == 0) staged.emplace(&scenario);
      const auto acceptance = sampler_acceptance(seed % SAMPLER_ACCEPT_SYNTHETIC);
      scenario.speculative_args.acceptance_params.rule =
          scenario.ngram_args.acceptance_params.rule = acceptance;
      const bool is_whole =
          acceptance == SAMPLER_ACCEPT_BLOCK || acceptance == SAMPLER_ACCEPT_DEFERRED;
      scenario.tree_args.acceptance_params.rule =
          is_whole ? SAMPLER_ACCEPT_SAMPLE_MATCH : acceptance;
      for (int loop = 0; loop < kNumLoops; ++loop) {
        const Sampler on_device = make_on(SAMPLER_DEVICE_CUDA, device);
        Generation &generation = *scenario.generation;
        const std::vector<Text> texts =
            generation.texts_of(on_device.get(), loops(&scenario)[std::size_t(loop)]);
        EXPECT_EQ(runtime::num_allocations(), 0);
        EXPECT_EQ(texts, generation.texts_of(cpu.get(), loops(&scenario)[std::size_t(loop)]));
      }
    }
  }
}

// Whatever fails, except what releases memory, whose failure nobody could mend.
TEST_F(DecodingCalls, EachThatFailsEndsTheLoop) {
  for (const std::uint64_t seed : {1, 2, 5}) {
    Scenario scenario(seed);
    std::optional<Staged> staged;
    if (seed == 2) staged.emplace(&scenario);
    Generation &generation = *scenario.generation;
    generation.args.max_new_tokens = 3;
    scenario.speculative_args.adaptive_gamma = 1;
    const Sampler sampler = make_on(SAMPLER_DEVICE_CUDA);
    for (const Loop &loop : loops(&scenario)) {
      const std::vector<Text> whole = generation.texts_of(sampler.get(), loop);
      for (const std::string function :
           {"cudaMalloc", "cudaMemcpyAsync", "cudaStreamSynchronize", "cudaLaunchKernelExC"}) {
        int index = 0;
        for (;; ++index) {
          SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << function << " " << index);
          runtime::fail_call(function, cudaErrorLaunchFailure, index);
          const sampler_status status = generation.run(sampler.get(), loop);
          EXPECT_EQ(runtime::num_allocations(), 0);
          if (runtime::take_failed_function().empty()) {
            EXPECT_EQ(status, SAMPLER_OK);
            EXPECT_EQ(generation.texts(), whole);
            break;
          }
          // Models copy, too, and report it by an exception.
          if (status == SAMPLER_ERROR_CALLBACK && function == "cudaMemcpyAsync") {
            cudaGetLastError();
            continue;
          }
          ASSERT_EQ(status, SAMPLER_ERROR_CUDA);
          EXPECT_EQ(std::string(sampler_last_error()).find(function + ": "), 0u)
              << sampler_last_error();
          EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
        }
        runtime::reset_failures();
        EXPECT_GT(index, 0) << function;
      }
    }
  }
}

// By name, and nothing runs.
TEST_F(DecodingCalls, RefusesWhatIsOfCpuHandles) {
  const Sampler sampler = make_on(SAMPLER_DEVICE_CUDA);
  Scenario staged(1);
  staged.generation->params.repetition_penalty = 1.5f;
  const Loop beam_search = [](sampler_t handle, const LoopArgs *generation) {
    sampler_generation_args own = *generation;
    own.on_tokens = nullptr, own.trace = nullptr;
    own.out_cache_lengths = nullptr;
    sampler_beam_search_args args = sampler_beam_search_args_default();
    args.generation = &own;
    args.num_beams = 1;
    return sampler_beam_search(handle, &args);
  };
  EXPECT_EQ(staged.generation->run(sampler.get(), beam_search), SAMPLER_ERROR_UNSUPPORTED);
  EXPECT_STREQ(sampler_last_error(),
               "sampler is of a CUDA device; stages, row_params and pipeline of beams are of CPU "
               "handles alone");
  EXPECT_EQ(runtime::num_allocations(), 0);
}

}  // namespace
}  // namespace decoding_test
