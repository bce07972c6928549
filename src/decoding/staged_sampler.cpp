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

sampler_pipeline staged_pipeline(const sampler_generation_args &args, sampler_state_t state) {
  sampler_pipeline pipeline = capi::sized<sampler_pipeline>();
  if (args.pipeline) pipeline = *args.pipeline;
  pipeline.state = state;
  pipeline.token_bitmask_indices = nullptr;
  return pipeline;
}

TextState::TextState(const ExecutionTarget &place, Generation &generation) {
  const sampler_generation_args &args = generation.args();
  auto options = capi::sized<sampler_state_options>();
  options.num_slots = args.num_sequences;
  options.max_tokens = longest_text(generation);
  require_call(place, [&] { return sampler_state_create(place.handle, &options, &state_); });

  try {
    append(place, args);
  } catch (...) {
    sampler_state_destroy(state_);
    throw;
  }
}

// The prompts.
void TextState::append(const ExecutionTarget &place, const sampler_generation_args &args) {
  const int64_t num_offsets = args.num_sequences + 1;
  const int64_t num_tokens = args.prompt_offsets[args.num_sequences];
  Arena ins(nullptr);
  ins.take<int64_t>(num_offsets);
  ins.take<int32_t>(num_tokens);
  LoopTransfer transfer(place, ins.bytes(), 0);
  auto prompts = capi::sized<sampler_state_append_args>();
  prompts.exec.stream = place.stream;
  prompts.state = state_;
  prompts.num_rows = args.num_sequences;
  prompts.tokens = {transfer.in(args.prompt_offsets, num_offsets),
                    transfer.in(args.prompt_token_ids, num_tokens), args.num_sequences, num_tokens};
  prompts.token_kind = SAMPLER_TOKENS_PROMPT;
  transfer.upload();
  require_call(place, [&] { return sampler_state_append(place.handle, &prompts); });
}

namespace {

// What a draw for so many texts, and the telling of it, take at most.
LoopTransfer make_transfer(const ExecutionTarget &place, int64_t num_texts) {
  Arena ins(nullptr), outs(nullptr);
  for (int i = 0; i < 3; ++i) ins.take<int32_t>(num_texts);   // slots, masks, tokens
  for (int i = 0; i < 2; ++i) ins.take<uint64_t>(num_texts);  // seeds, offsets
  for (int i = 0; i < 2; ++i) outs.take<int32_t>(num_texts);  // tokens, statuses
  return LoopTransfer(place, ins.bytes() + LoopTransfer::most_parameter_bytes(num_texts),
                      outs.bytes());
}

}  // namespace

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
      row_status_(place, generation.num_texts()),
      observations_(place, bytes_of(generation.num_texts(), sizeof(float))),
      transfer_(make_transfer(place, generation.num_texts())),
      pipeline_(staged_pipeline(generation.args(), state_.get())),
      workspace_(place, ask_workspace()) {
  for (const Text &text : generation.texts()) {
    seeds_.push_back(text.seed);
    offsets_.push_back(0);
  }
  // Of no rows: it checks its arguments, and draws nothing.
  const sampler_sample_args args = sample_args({nullptr, 0}, 0);
  require_call(place, [&] { return sampler_sample(place.handle, &args); });
}

sampler_sample_args StagedSampler::sample_args(const LogitRows &logits, int64_t num_rows) {
  const int64_t num_texts = generation_.num_texts();
  transfer_.begin();
  placed_ = transfer_.parameters(row_params_, num_texts);
  if (pipeline_.token_bitmasks) {
    pipeline_.token_bitmask_indices = transfer_.in(masks_.data(), num_rows);
  }
  auto args = capi::sized<sampler_sample_args>();
  args.exec.stream = place_.stream;
  args.input = rows_of(generation_.target(), logits, num_rows);
  args.slots = transfer_.in(slots_.data(), num_rows);
  args.num_slots = num_texts;
  args.params = &params_;
  args.row_params = &placed_;
  args.random.seeds = transfer_.parameter(seeds_.data(), num_texts);
  args.random.offsets = transfer_.parameter(offsets_.data(), num_texts);
  args.random.num_seeds = args.random.num_offsets = num_texts;
  args.out_token_ids = transfer_.out(tokens_.data(), num_rows);
  args.out_row_status = transfer_.out(row_status_.data(), num_rows);
  args.out_observations = reinterpret_cast<float *>(observations_.data());
  args.pipeline = &pipeline_;
  return args;
}

size_t StagedSampler::ask_workspace() {
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
  args.exec.workspace_bytes = workspace_.size();
  transfer_.upload();
  require_call(place_, [&] { return sampler_sample(place_.handle, &args); });
  transfer_.download();
  for (int64_t i = 0; i < num_rows; ++i) {
    if (row_status_.data()[i] != SAMPLER_ROW_OK) tokens_.data()[i] = -1;
  }
  accept(num_rows);
  return tokens_.data();
}

void StagedSampler::accept(int64_t num_rows) {
  transfer_.begin();
  placed_ = transfer_.parameters(row_params_, generation_.num_texts());
  auto args = capi::sized<sampler_accept_args>();
  args.exec.stream = place_.stream;
  args.state = state_.get();
  args.slots = transfer_.in(slots_.data(), num_rows);
  args.num_rows = num_rows;
  args.token_ids = transfer_.in(tokens_.data(), num_rows);
  args.num_tokens = 1;
  args.observations = reinterpret_cast<float *>(observations_.data());
  args.params = &params_;
  args.row_params = &placed_;
  transfer_.upload();
  require_call(place_, [&] { return sampler_accept(place_.handle, &args); });
}

}  // namespace sampler::decoding
