// What the decoding loops ask of CUDA: whichever call fails, the loop ends with an error, and
// nothing leaks; texts are those of the CPU.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "../../sized.h"
#include "on_device.h"
#include "runtime.h"
#include "scenario.h"

namespace decoding_test {
namespace {

namespace runtime = simt::runtime;
using simt_test::OnDevice;

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

// Lists by text lie on the device, numbers by text do not.
TEST_F(DecodingCalls, EditsOfBeamsAreThoseOfTheCpu) {
  constexpr std::int64_t kNumTexts = 3, kNewTokens = 6;
  const std::int64_t prompt_offsets[] = {0, 2, 3, 5};
  const std::int32_t prompts[] = {1, 2, 3, 4, 1}, end = 0;
  const std::vector<float> penalties = {1.0f, 1.3f, 1.7f}, biases = {-3.0f, 2.5f, 1.5f, -2.0f};
  const std::vector<std::int32_t> ids = {2, 4, 5, 3};
  std::vector<std::int64_t> offsets = {0, 2, 2, 4};
  const Sampler cpu = make_on(SAMPLER_DEVICE_CPU);
  const int num_before = runtime::num_allocations();
  const OnDevice<std::int64_t> device_offsets(offsets);
  const OnDevice<std::int32_t> device_ids(ids);
  const OnDevice<float> device_biases(biases);
  for (const std::int32_t host_parameters : {0, 1}) {
    sampler_options options = sampler_options_default();
    options.device_type = SAMPLER_DEVICE_CUDA;
    options.host_parameters = host_parameters;
    sampler_t handle = nullptr;
    ASSERT_EQ(sampler_create(&options, &handle), SAMPLER_OK) << sampler_last_error();
    const Sampler on_device(handle);
    Calls calls;
    Limits limits;
    limits.vocabulary_size = 9;
    Model model(limits, table_logits(5, limits.vocabulary_size, 2), &calls);
    const sampler_model target = model.interface();
    const int num_lasting = runtime::num_allocations();

    Tokens tokens(kNumTexts * kNewTokens);
    const auto run = [&](sampler_t sampler, bool has_edits) {
      const bool is_on_cpu = sampler == cpu.get();
      auto pipeline = sized<sampler_pipeline>();
      pipeline.biased = {is_on_cpu ? offsets.data() : device_offsets.data(),
                         is_on_cpu ? ids.data() : device_ids.data(), kNumTexts,
                         std::int64_t(ids.size())};
      pipeline.biases = is_on_cpu ? biases.data() : device_biases.data();
      auto numbers = sized<sampler_row_params>();
      numbers.repetition_penalty = penalties.data();
      auto args = sampler_generation_args_default();
      args.target = &target;
      args.num_sequences = kNumTexts;
      args.prompt_offsets = prompt_offsets;
      args.prompt_token_ids = prompts;
      args.max_new_tokens = kNewTokens;
      args.end_token_ids = &end;
      args.num_end_tokens = 1;
      args.out_token_ids = tokens.data();
      args.use_cache = 1;
      if (has_edits) args.pipeline = &pipeline, args.row_params = &numbers;
      auto beams = sampler_beam_search_args_default();
      beams.generation = &args;
      beams.num_beams = 3;
      beams.num_results = 1;
      tokens.assign(tokens.size(), -7);
      model.reset();
      model.allow_sequences(0, kNumTexts * 3);
      const sampler_status status = sampler_beam_search(sampler, &beams);
      EXPECT_EQ(runtime::num_allocations(), num_lasting);
      return status;
    };
    ASSERT_EQ(run(cpu.get(), false), SAMPLER_OK) << sampler_last_error();
    const Tokens plain = tokens;
    ASSERT_EQ(run(cpu.get(), true), SAMPLER_OK) << sampler_last_error();
    const Tokens expected = tokens;
    EXPECT_NE(plain, expected);
    ASSERT_EQ(run(on_device.get(), true), SAMPLER_OK) << sampler_last_error();
    EXPECT_EQ(expected, tokens);

    // Offsets that do not ascend are said alike, though the host cannot read them first.
    const auto write_offset = [&](std::int64_t offset) {
      offsets[1] = offset;
      runtime::copy_to_device(device_offsets.data(), offsets.data(), 4 * sizeof(std::int64_t));
    };
    const std::int64_t num_calls = calls.count();
    write_offset(3);
    EXPECT_EQ(run(cpu.get(), true), SAMPLER_ERROR_INVALID_ARGUMENT);
    const std::string said = sampler_last_error();
    EXPECT_EQ(said.find("pipeline->biased.offsets[1] is 3 and the next one 2; "), 0u) << said;
    EXPECT_EQ(run(on_device.get(), true), SAMPLER_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(said, sampler_last_error());
    EXPECT_EQ(calls.count(), num_calls);
    write_offset(2);
  }
  EXPECT_EQ(runtime::num_allocations(), num_before + 3);
}

}  // namespace
}  // namespace decoding_test
