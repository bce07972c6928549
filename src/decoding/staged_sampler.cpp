#include "decoding/staged_sampler.h"

#include <algorithm>

namespace sampler::decoding {

namespace {

int64_t longest_text(Generation &generation) {
  int64_t longest = 1;
  for (const Text &text : generation.texts()) longest = std::max(longest, text.capacity);
  return longest;
}

bool is_greedy(const sampler_generation_args &args) {
  return args.processor == SAMPLER_PROCESSOR_GREEDY;
}

}  // namespace

sampler_params staged_params(const sampler_generation_args &args) {
  sampler_params params = args.params ? *args.params : sampler_params_default();
  if (is_greedy(args)) params.temperature = 0;
  return params;
}

sampler_row_params staged_row_params(const sampler_generation_args &args) {
  sampler_row_params params = capi::sized<sampler_row_params>();
  if (args.row_params) params = *args.row_params;
  if (is_greedy(args)) params.temperature = nullptr;
  return params;
}

sampler_pipeline staged_pipeline(const sampler_generation_args &args, sampler_state_t state,
                                 const int32_t *masks) {
  sampler_pipeline pipeline = capi::sized<sampler_pipeline>();
  if (args.pipeline) pipeline = *args.pipeline;
  pipeline.state = state;
  if (pipeline.token_bitmasks) pipeline.token_bitmask_indices = masks;
  return pipeline;
}

TextState::TextState(const ExecutionTarget &place, Generation &generation) {
  const sampler_generation_args &args = generation.args();
  auto options = capi::sized<sampler_state_options>();
  options.num_slots = args.num_sequences;
  options.max_tokens = longest_text(generation);
  require_call(place, [&] { return sampler_state_create(place.handle, &options, &state_); });

  auto append = capi::sized<sampler_state_append_args>();
  append.state = state_;
  append.num_rows = args.num_sequences;
  append.tokens = {args.prompt_offsets, args.prompt_token_ids, args.num_sequences,
                   args.prompt_offsets[args.num_sequences]};
  append.token_kind = SAMPLER_TOKENS_PROMPT;
  try {
    require_call(place, [&] { return sampler_state_append(place.handle, &append); });
  } catch (...) {
    sampler_state_destroy(state_);
    throw;
  }
}

StagedSampler::StagedSampler(const ExecutionTarget &place, Generation &generation)
    : place_(place),
      generation_(generation),
      params_(staged_params(generation.args())),
      row_params_(staged_row_params(generation.args())),
      state_(place, generation),
      slots_(place, generation.num_texts()),
      masks_(place, generation.num_texts()),
      seeds_(place, generation.num_texts()),
      offsets_(place, generation.num_texts()),
      tokens_(place, generation.num_texts()),
      observations_(place, generation.num_texts()),
      row_status_(place, generation.num_texts()),
      pipeline_(staged_pipeline(generation.args(), state_.get(), masks_.data())),
      workspace_bytes_(ask_workspace()),
      workspace_(place, workspace_bytes_) {
  for (const Text &text : generation.texts()) {
    seeds_.push_back(text.seed);
    offsets_.push_back(0);
  }
  // Of no rows: it checks its arguments, and draws nothing.
  const sampler_sample_args args = sample_args({nullptr, 0}, 0);
  require_call(place_, [&] { return sampler_sample(place_.handle, &args); });
}

sampler_sample_args StagedSampler::sample_args(const LogitRows &logits, int64_t num_rows) const {
  auto args = capi::sized<sampler_sample_args>();
  args.input = rows_of(generation_.target(), logits, num_rows);
  args.slots = slots_.data();
  args.num_slots = generation_.num_texts();
  args.params = &params_;
  args.row_params = &row_params_;
  args.random.seeds = seeds_.data();
  args.random.offsets = offsets_.data();
  args.random.num_seeds = args.random.num_offsets = generation_.num_texts();
  args.out_token_ids = tokens_.data();
  args.out_row_status = row_status_.data();
  args.out_observations = observations_.data();
  args.pipeline = &pipeline_;
  return args;
}

size_t StagedSampler::ask_workspace() const {
  const sampler_sample_args args = sample_args({nullptr, 0}, generation_.num_texts());
  size_t bytes = 0;
  require_call(place_, [&] { return sampler_sample_workspace_size(place_.handle, &args, &bytes); });
  return bytes;
}

const int32_t *StagedSampler::draw(const Array<Text *> &texts, const LogitRows &logits) {
  const int32_t *const masks =
      generation_.args().pipeline ? generation_.args().pipeline->token_bitmask_indices : nullptr;
  slots_.clear();
  masks_.clear();
  for (const Text *text : texts) {
    slots_.push_back(int32_t(text->index));
    masks_.push_back(masks ? masks[text->index] : int32_t(text->index));
    offsets_[size_t(text->index)] = uint64_t(text->num_new());
  }
  const int64_t num_rows = int64_t(texts.size());
  sampler_sample_args args = sample_args(logits, num_rows);
  args.exec.workspace = workspace_.data();
  args.exec.workspace_bytes = workspace_bytes_;
  require_call(place_, [&] { return sampler_sample(place_.handle, &args); });
  for (int64_t i = 0; i < num_rows; ++i) {
    if (row_status_.data()[i] != SAMPLER_ROW_OK) tokens_.data()[i] = -1;
  }
  accept(num_rows);
  return tokens_.data();
}

void StagedSampler::accept(int64_t num_rows) const {
  auto args = capi::sized<sampler_accept_args>();
  args.state = state_.get();
  args.slots = slots_.data();
  args.num_rows = num_rows;
  args.token_ids = tokens_.data();
  args.num_tokens = 1;
  args.observations = observations_.data();
  args.params = &params_;
  args.row_params = &row_params_;
  require_call(place_, [&] { return sampler_accept(place_.handle, &args); });
}

}  // namespace sampler::decoding
