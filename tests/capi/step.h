// A server's step: a slot for each row, with a state, every stage and every report, and the tokens
// that are drawn.
#pragma once

#include <gtest/gtest.h>
#include <sampler/sampler.h>

#include <cstdint>
#include <string>
#include <vector>

#include "../sized.h"
#include "expect.h"

namespace capi_test {

// All that a step reads and writes, at places of its own.
struct Step {
  static constexpr std::int64_t kCols = 3000, kPrompt = 40;

  Step(sampler_t handle, std::int64_t slots) : sampler(handle), num_slots(slots) {
    state_options.num_slots = num_slots;
    state_options.max_tokens = 256;
    state_options.keep_adaptive_values = 1;
    EXPECT_EQ(sampler_state_create(sampler, &state_options, &state), SAMPLER_OK);
    Random random(7);
    for (float &x : logits) x = float(random.between(-800, 800)) / 100;
    for (std::int32_t &id : prompts) id = std::int32_t(random.between(0, 60));
    for (std::int64_t i = 0; i <= num_slots; ++i) prompt_offsets.push_back(i * kPrompt);
    for (std::int64_t i = 0; i <= num_slots; ++i) list_offsets.push_back(2 * i);
    set_stages();
    set_reports();
    append.state = accept.state = pipeline.state = state;
    append.num_rows = accept.num_rows = num_slots;
    append.token_kind = SAMPLER_TOKENS_PROMPT;
    append.tokens = {prompt_offsets.data(), prompts.data(), num_slots, num_slots * kPrompt};
    accept.token_ids = token_ids.data();
    accept.num_tokens = 1;
    accept.observations = observations.data();
    accept.params = &params;
    accept.offsets = draw_offsets.data();
    std::size_t bytes = 0;
    EXPECT_EQ(sampler_sample_workspace_size(sampler, &args, &bytes), SAMPLER_OK)
        << sampler_last_error();
    workspace.resize(bytes);
    args.exec.workspace = workspace.data();
    args.exec.workspace_bytes = bytes;
  }
  ~Step() { sampler_state_destroy(state); }
  Step(const Step &) = delete;
  Step &operator=(const Step &) = delete;

  void set_stages() {
    params.top_k = 200;
    params.top_p = 0.95F;
    params.min_p = 0.001F;
    params.temperature = 0.9F;
    params.repetition_penalty = 1.1F;
    params.frequency_penalty = 0.2F;
    params.presence_penalty = 0.1F;
    params.dry_multiplier = 0.8F;
    params.no_repeat_ngram_size = 3;
    params.min_new_tokens = 4;
    params.dynamic_temperature_range = 0.3F;
    params.typical_p = 0.97F;
    params.top_n_sigma = 3.0F;
    params.epsilon_cutoff = 1e-5F;
    params.eta_cutoff = 1e-5F;
    params.top_h = 0.95F;
    params.p_less = SAMPLER_P_LESS_NORM;
    params.min_k = 400;
    params.top_a = 0.01f;
    params.xtc_probability = 0.5F;
    params.adaptive_kind = SAMPLER_ADAPTIVE_P;
    params.adaptive_target = 0.3F;
    params.top_p_decay = 0.9F;
    const sampler_token_lists lists = {list_offsets.data(), prompts.data(), num_slots,
                                       num_slots * 2};
    pipeline.biased = pipeline.banned = pipeline.stop = lists;
    pipeline.biases = biases.data();
    pipeline.bad_words = {list_offsets.data(), prompts.data(), 2, 4};
    pipeline.dry_breakers = {list_offsets.data(), prompts.data() + 4, 1, 2};
    pipeline.token_bitmasks = bitmasks.data();
    pipeline.num_token_bitmasks = num_slots;
    args.params = &params;
    args.pipeline = &pipeline;
  }
  void set_reports() {
    args.input.values = logits.data();
    args.input.num_rows = num_slots;
    args.input.num_cols = kCols;
    args.random.seed = 3;
    args.random.offsets = draw_offsets.data();
    args.random.num_offsets = num_slots;
    args.report_args.logprob_kind = SAMPLER_LOGPROB_EDITED;
    args.out_token_ids = token_ids.data();
    args.report_args.out_kept_counts = kept_counts.data();
    args.report_args.out_logprobs = logprobs.data();
    args.report_args.out_values = values.data();
    args.out_row_status = status.data();
    args.report_args.num_top_logprobs = 20;
    args.report_args.out_top_token_ids = top_ids.data();
    args.report_args.out_top_logprobs = top_logprobs.data();
    args.report_args.num_chosen = 2;
    args.report_args.chosen_token_ids = prompts.data();
    args.report_args.out_chosen_logprobs = chosen.data();
    args.report_args.out_ranks = ranks.data();
    args.report_args.out_entropies = entropies.data();
    args.report_args.out_observations = observations.data();
    args.report_args.out_kept_bitmask = kept_bits.data();
    args.report_args.out_removed_by = removed_by.data();
    args.report_args.kept_capacity = num_slots * 200;
    args.report_args.out_kept_token_ids = kept_ids.data();
    args.report_args.out_kept_probabilities = kept_probabilities.data();
    args.report_args.out_kept_offsets = offsets.data();
  }

  sampler_status run() {
    const sampler_status result = sampler_sample(sampler, &args);
    return result != SAMPLER_OK ? result : sampler_accept(sampler, &accept);
  }

  // All that a step leaves.
  std::string outputs() const {
    std::string bytes;
    const auto add = [&](const auto &array) {
      bytes.append(reinterpret_cast<const char *>(array.data()), array.size() * sizeof array[0]);
    };
    add(token_ids), add(kept_counts), add(logprobs), add(values), add(status), add(top_ids);
    add(top_logprobs), add(chosen), add(ranks), add(entropies), add(observations), add(kept_bits);
    add(removed_by), add(offsets), add(kept_ids), add(kept_probabilities), add(draw_offsets);
    return bytes;
  }

  template <class T>
  std::vector<T> per_slot(std::int64_t of_slot = 1, T value = T()) const {
    return std::vector<T>(std::size_t(num_slots * of_slot), value);
  }

  sampler_t sampler;
  std::int64_t num_slots;
  sampler_state_t state = nullptr;
  sampler_state_options state_options = sized<sampler_state_options>();
  sampler_params params = sampler_params_default();
  sampler_pipeline pipeline = sized<sampler_pipeline>();
  SampleArgs args = SampleArgs();
  sampler_state_append_args append = sized<sampler_state_append_args>();
  sampler_accept_args accept = sized<sampler_accept_args>();
  std::vector<float> logits = per_slot<float>(kCols);
  std::vector<std::int32_t> prompts = per_slot<std::int32_t>(kPrompt);
  std::vector<std::int64_t> prompt_offsets, list_offsets, offsets = per_slot<std::int64_t>(2);
  std::vector<std::uint64_t> draw_offsets = per_slot<std::uint64_t>();
  std::vector<float> biases = per_slot<float>(2, 0.5F);
  std::vector<std::uint32_t> bitmasks = per_slot<std::uint32_t>((kCols + 31) / 32, 0xFFFEFFFFU);
  std::vector<std::int32_t> token_ids = per_slot<std::int32_t>(),
                            kept_counts = per_slot<std::int32_t>(),
                            ranks = per_slot<std::int32_t>(), top_ids = per_slot<std::int32_t>(20),
                            kept_ids = per_slot<std::int32_t>(200);
  std::vector<float> logprobs = per_slot<float>(), values = per_slot<float>(),
                     top_logprobs = per_slot<float>(20), chosen = per_slot<float>(2),
                     entropies = per_slot<float>(), observations = per_slot<float>(),
                     kept_probabilities = per_slot<float>(200);
  std::vector<sampler_row_status> status = per_slot<sampler_row_status>(1, 77);
  std::vector<std::uint32_t> kept_bits = per_slot<std::uint32_t>((kCols + 31) / 32);
  std::vector<std::uint8_t> removed_by = per_slot<std::uint8_t>(kCols);
  std::vector<unsigned char> workspace;
};

}  // namespace capi_test
