#include "own_draw.h"

#include <string>
#include <vector>

#include "error.h"

namespace generate {

namespace {

void check(sampler_status status) {
  if (status != SAMPLER_OK) throw Error(std::string("sampling: ") + sampler_last_error());
}

}  // namespace

OwnDraw::OwnDraw(sampler_t sampler, const sampler_generation_args &args, std::int64_t max_tokens,
                 sampler_draw_method method, std::optional<Share> share)
    : sampler_(sampler),
      args_(args),
      method_(method),
      share_(share),
      tokens_(static_cast<std::size_t>(args.num_sequences), -1),
      logprobs_(tokens_.size()) {
  row_params_.struct_size = sizeof row_params_;
  if (args.row_params) row_params_ = *args.row_params;
  sampler_state_options options = {};
  options.struct_size = sizeof options;
  options.num_slots = args.num_sequences;
  options.max_tokens = max_tokens;
  sampler_state_t state = nullptr;
  check(sampler_state_create(sampler, &options, &state));
  state_.reset(state);
  sampler_state_append_args append = {};
  append.struct_size = sizeof append;
  append.state = state;
  append.num_rows = args.num_sequences;
  append.tokens = {args.prompt_offsets, args.prompt_token_ids, args.num_sequences,
                   args.prompt_offsets[args.num_sequences]};
  append.token_kind = SAMPLER_TOKENS_PROMPT;
  check(sampler_state_append(sampler, &append));
}

void OwnDraw::draw(const void *logits, std::int64_t num_rows, std::int64_t num_cols,
                   std::int64_t row_stride, const std::int32_t *texts,
                   const std::vector<std::uint64_t> &num_new_tokens) {
  const auto count = static_cast<std::size_t>(num_rows);
  std::vector<std::int32_t> drawn(count), masks(count, 0);
  std::vector<float> observations(count), logprobs(count);
  sampler_pipeline pipeline = {};
  pipeline.struct_size = sizeof pipeline;
  if (args_.pipeline) pipeline = *args_.pipeline;
  pipeline.state = state_.get();
  // One mask stands for all texts.
  if (pipeline.token_bitmasks) pipeline.token_bitmask_indices = masks.data();
  sampler_sample_args args = {};
  args.struct_size = sizeof args;
  args.input.values = logits;
  args.input.num_rows = num_rows;
  args.input.num_cols = num_cols;
  args.input.row_stride = row_stride;
  args.slots = texts;
  args.num_slots = args_.num_sequences;
  args.params = args_.params;
  args.row_params = &row_params_;
  args.pipeline = &pipeline;
  args.random.seeds = args_.seeds;
  args.random.offsets = num_new_tokens.data();
  args.random.num_seeds = args.random.num_offsets = args_.num_sequences;
  args.draw_method = method_;
  args.out_token_ids = drawn.data();
  sampler_report_args reports = {};
  reports.struct_size = sizeof reports;
  reports.out_logprobs = logprobs.data();
  // What moves adaptive stages, which ranks refuse.
  if (!share_) reports.out_observations = observations.data();
  args.reports = &reports;
  sample(args);
  for (std::size_t i = 0; i < count; ++i) {
    tokens_[static_cast<std::size_t>(texts[i])] = drawn[i];
    logprobs_[static_cast<std::size_t>(texts[i])] = logprobs[i];
  }

  sampler_accept_args accept = {};
  accept.struct_size = sizeof accept;
  accept.state = state_.get();
  accept.slots = texts;
  accept.num_rows = num_rows;
  accept.token_ids = drawn.data();
  accept.num_tokens = 1;
  accept.observations = reports.out_observations;
  accept.params = args_.params;
  accept.row_params = &row_params_;
  std::vector<sampler_row_status> row_status(count, SAMPLER_ROW_OK);
  accept.out_row_status = row_status.data();
  check(sampler_accept(sampler_, &accept));
  for (const sampler_row_status status : row_status) {
    if (status == SAMPLER_ROW_OK) continue;
    throw Error("sampling: the state refuses a token, status " + std::to_string(status));
  }
}

void OwnDraw::sample(sampler_sample_args args) {
  if (share_) {
    share_->ranks->sample(sampler_, args, share_->first_token_id, share_->total_cols);
    return;
  }
  std::size_t bytes = 0;
  check(sampler_sample_workspace_size(sampler_, &args, &bytes));
  workspace_.resize(bytes);
  args.exec.workspace = workspace_.data();
  args.exec.workspace_bytes = bytes;
  check(sampler_sample(sampler_, &args));
}

}  // namespace generate
