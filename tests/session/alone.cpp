#include "alone.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "../sized.h"

namespace session_test {

bool ends_in(const Tokens &tokens, std::size_t first, const Tokens &end) {
  return tokens.size() - first >= end.size() &&
         std::equal(end.rbegin(), end.rend(), tokens.rbegin());
}

AdaptiveBits bits_of(const float *adaptive_values) {
  AdaptiveBits result;
  std::memcpy(result.data(), adaptive_values, sizeof result);
  return result;
}

void Extras::set_masks(sampler_pipeline *pipeline) const {
  if (!mask_of) return;
  pipeline->token_bitmasks = masks.data();
  pipeline->num_token_bitmasks = std::int64_t(masks.size());
  pipeline->token_bitmask_stride = 1;
}

Alone alone(sampler_t sampler, const NextLogits &model, const Wish &wish, std::int64_t max_context,
            const Extras &extras) {
  auto options = sized<sampler_state_options>();
  options.num_slots = 1;
  options.max_tokens = max_context;
  sampler_state_t state = nullptr;
  EXPECT_EQ(sampler_state_create(sampler, &options, &state), SAMPLER_OK);
  auto append = sized<sampler_state_append_args>();
  const std::int64_t offsets[] = {0, std::int64_t(wish.prompt.size())};
  append.state = state;
  append.num_rows = 1;
  append.tokens = {offsets, wish.prompt.data(), 1, offsets[1]};
  append.token_kind = SAMPLER_TOKENS_PROMPT;
  EXPECT_EQ(sampler_state_append(sampler, &append), SAMPLER_OK);

  Alone result;
  result.text = wish.prompt;
  std::vector<std::int64_t> end_offsets = {0, std::int64_t(wish.ends.size())};
  auto pipeline = sized<sampler_pipeline>();
  pipeline.state = state;
  extras.set_masks(&pipeline);
  Tokens top_token_ids(std::size_t(extras.num_top));
  std::vector<float> top_logprobs(top_token_ids.size());
  const std::int32_t any_end = 0;
  const std::int32_t *const ends = wish.ends.empty() ? &any_end : wish.ends.data();
  std::vector<unsigned char> workspace;
  for (std::int64_t n = 0; result.reason == SAMPLER_FINISH_NONE; ++n) {
    if (wish.max_new_tokens > 0 && n == wish.max_new_tokens) {
      result.reason = SAMPLER_FINISH_LENGTH;
      break;
    }
    if (std::int64_t(result.text.size()) == max_context) {
      result.reason = SAMPLER_FINISH_CONTEXT;
      break;
    }
    const Draws *draws = nullptr;
    for (const Draws &any : wish.draws) {
      if (any.begin <= n) draws = &any;
    }
    const Logits logits = model(result.text);
    std::int32_t token = 0;
    float logprob = 0, observation = 0;
    sampler_row_status row_status = 0;
    SampleArgs args;
    args.input.values = logits.data();
    args.input.num_rows = 1;
    args.input.num_cols = std::int64_t(logits.size());
    args.params = &draws->params;
    args.random.seed = draws->seed;
    args.random.offset = std::uint64_t(n);
    args.out_token_ids = &token;
    args.report_args.out_logprobs = &logprob;
    args.report_args.out_observations = &observation;
    args.out_row_status = &row_status;
    args.report_args.logprob_kind = extras.logprob_kind;
    args.report_args.num_top_logprobs = extras.num_top;
    args.report_args.out_top_token_ids = top_token_ids.data();
    args.report_args.out_top_logprobs = top_logprobs.data();
    const std::int32_t mask = extras.mask_of ? extras.mask_of(result.text) : -1;
    pipeline.token_bitmask_indices = extras.mask_of ? &mask : nullptr;
    const Logits guidance = extras.guidance ? extras.guidance(result.text) : Logits();
    const std::int32_t guidance_row = guidance.empty() ? -1 : 0;
    if (extras.guidance) {
      pipeline.guidance_logits = guidance.empty() ? logits.data() : guidance.data();
      pipeline.num_guidance_rows = 1;
      pipeline.guidance_row_indices = &guidance_row;
    }
    const std::int64_t forced = extras.forced_after ? extras.forced_after(result.text) : -1;
    auto row_params = sized<sampler_row_params>();
    row_params.forced_token_id = &forced;
    args.row_params = &row_params;
    const bool has_minimum =
        draws->params.min_new_tokens > 0 || draws->params.exponential_decay_factor > 0;
    pipeline.stop = {};
    if (has_minimum) pipeline.stop = {end_offsets.data(), ends, 1, end_offsets[1]};
    args.pipeline = &pipeline;
    std::size_t bytes = 0;
    EXPECT_EQ(sampler_sample_workspace_size(sampler, &args, &bytes), SAMPLER_OK)
        << sampler_last_error();
    workspace.resize(std::max(workspace.size(), bytes));
    args.exec.workspace = workspace.data();
    args.exec.workspace_bytes = workspace.size();
    EXPECT_EQ(sampler_sample(sampler, &args), SAMPLER_OK) << sampler_last_error();
    if (row_status != SAMPLER_ROW_OK) {
      result.reason = SAMPLER_FINISH_BAD_ROW;
      break;
    }
    auto accept = sized<sampler_accept_args>();
    accept.state = state;
    accept.num_rows = accept.num_tokens = 1;
    accept.token_ids = &token;
    accept.observations = &observation;
    accept.params = &draws->params;
    EXPECT_EQ(sampler_accept(sampler, &accept), SAMPLER_OK) << sampler_last_error();
    result.text.push_back(token);
    result.logprobs.push_back(logprob);
    result.top_token_ids.insert(result.top_token_ids.end(), top_token_ids.begin(),
                                top_token_ids.end());
    result.top_logprobs.insert(result.top_logprobs.end(), top_logprobs.begin(), top_logprobs.end());
    if (std::find(wish.ends.begin(), wish.ends.end(), token) != wish.ends.end()) {
      result.reason = SAMPLER_FINISH_END_TOKEN;
      break;
    }
    for (std::size_t i = 0; i < wish.stops.size(); ++i) {
      if (!ends_in(result.text, wish.prompt.size(), wish.stops[i])) continue;
      result.reason = SAMPLER_FINISH_STOP_SEQUENCE;
      result.stop_sequence = std::int64_t(i);
      break;
    }
  }
  float values[SAMPLER_NUM_ADAPTIVE_VALUES];
  auto read = sized<sampler_state_read_args>();
  read.state = state;
  read.num_rows = 1;
  read.out_adaptive_values = values;
  EXPECT_EQ(sampler_state_read(sampler, &read), SAMPLER_OK);
  result.adaptive_values = bits_of(values);
  sampler_state_destroy(state);
  return result;
}

}  // namespace session_test
