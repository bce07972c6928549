// The calls of the library that a session makes: their arguments.
#include "decoding/session.h"

#include "capi/structs.h"
#include "decoding/plain_params.h"
#include "sampler/sampler.h"

namespace sampler::decoding {

sampler_rows Session::rows_of(const void *logits, int64_t num_rows, int64_t stride) const {
  sampler_rows rows = {};
  rows.values = logits;
  rows.num_rows = num_rows;
  rows.num_cols = num_cols();
  rows.row_stride = stride;
  rows.dtype = config_.options.logits_dtype;
  return rows;
}

// Randomness by sequence.
sampler_sample_args Session::sample_args(const sampler_params &params,
                                         const sampler_row_params &row_params) const {
  auto args = capi::sized<sampler_sample_args>();
  args.exec = exec_;
  args.row_indices = row_indices_;
  args.slots = slots_;
  args.num_slots = num_sequences();
  args.params = &params;
  args.row_params = &row_params;
  args.random.seeds = seeds_;
  args.random.offsets = offsets_;
  args.random.num_seeds = args.random.num_offsets = num_sequences();
  args.out_token_ids = drawn_ids_;
  args.out_row_status = row_status_;
  return args;
}

// The probabilities that an entropy is of.
sampler_filter_args Session::entropy_args(const void *row, const sampler_params &params,
                                          void *probabilities) const {
  auto args = capi::sized<sampler_filter_args>();
  args.exec = exec_;
  args.input = rows_of(row, 1, 0);
  args.params = &params;
  args.output = probabilities;
  return args;
}

// `has_minimum`: of new tokens, which needs the end tokens.
sampler_pipeline Session::make_pipeline(bool has_minimum) const {
  sampler_pipeline pipeline = config_.pipeline;
  pipeline.struct_size = sizeof pipeline;
  pipeline.state = state_;
  if (has_minimum && !pipeline.stop.offsets) {
    pipeline.stop = {end_offsets_, ends_, num_sequences(),
                     num_sequences() * config_.options.max_end_tokens};
  }
  return pipeline;
}

// Of any numbers of drafts, where the target's rows and the layout are missing.
sampler_verify_args Session::verify_args(const sampler_params &params,
                                         const sampler_row_params &row_params,
                                         const sampler_pipeline &pipeline,
                                         int64_t num_chains) const {
  const sampler_session_options &options = config_.options;
  auto args = capi::sized<sampler_verify_args>();
  args.exec = exec_;
  args.target = rows_of(nullptr, 0, 0);
  args.num_drafts = max_drafts();
  args.num_sequences = num_chains;
  args.target_row_indices = target_rows_;
  args.draft_token_ids = draft_ids_;
  args.slots = slots_;
  args.num_slots = num_sequences();
  args.params = &params;
  args.row_params = &row_params;
  args.pipeline = &pipeline;
  args.acceptances = acceptances_;
  args.typical_threshold = options.typical_threshold;
  args.typical_scale = options.typical_scale;
  args.relaxed_top_k = options.relaxed_top_k;
  args.relaxed_delta = options.relaxed_delta;
  args.threshold_single = options.threshold_single;
  args.threshold_total = options.threshold_total;
  args.deferred_window = options.deferred_window;
  args.deferred_top_k = options.deferred_top_k;
  args.deferred_entropy = options.deferred_entropy;
  args.synthetic_rates = options.synthetic_rates ? synthetic_rates_ : nullptr;
  args.random.seeds = seeds_;
  args.random.offsets = offsets_;
  args.random.num_seeds = args.random.num_offsets = num_sequences();
  args.out_token_ids = token_ids_;
  args.out_emitted_counts = num_kept_;
  args.out_row_status = row_status_;
  return args;
}

// Packed, one after the other.
void Session::add_chains(int64_t num_drafts, sampler_verify_args *args) const {
  args->packing = SAMPLER_PACKING_DRAFTS;
  args->packing_offsets = packing_offsets_;
  args->num_packed_drafts = num_drafts;
  args->num_packed_positions = num_drafts + args->num_sequences;
}

// Each in max_drafts places.
void Session::add_trees(sampler_verify_args *args) const {
  args->draft_counts = draft_counts_;
  args->parents = tree_parents_;
  args->out_positions = positions_;
}

// The session's rows of the drafter, and what its tokens were drawn by.
void Session::add_drafter_rows(const sampler_params &params, const sampler_row_params &row_params,
                               sampler_verify_args *args) const {
  if (max_drafts() == 0) return;
  args->draft = rows_of(drafter_rows_, num_sequences() * max_drafts(), 0);
  args->draft_rows_by_slot = 1;
  args->draft_params = &params;
  args->draft_row_params = &row_params;
}

sampler_status Session::check_params(capi::Entry &entry, const sampler_params &params) const {
  // Of no chains: it checks its arguments, and draws nothing.
  auto row_params = capi::sized<sampler_row_params>();
  sampler_pipeline pipeline = make_pipeline(SessionNumbers::has_minimum(params));
  if (pipeline.token_bitmasks) pipeline.token_bitmask_indices = masks_;
  sampler_verify_args args = verify_args(params, row_params, pipeline, 0);
  add_chains(0, &args);
  const sampler_params draft_params = plain_params(params);
  if (config_.options.keep_drafter_rows) add_drafter_rows(draft_params, row_params, &args);
  return entry.call_host([&] { return sampler_verify(handle_, &args); });
}

// Tells the state which tokens each chain of a call has become.
sampler_status Session::accept(capi::Entry &entry, int64_t num_rows, bool has_observations) {
  auto args = capi::sized<sampler_accept_args>();
  args.state = state_;
  args.slots = slots_;
  args.num_rows = num_rows;
  args.token_ids = token_ids_;
  args.num_tokens = max_drafts() + 1;
  const sampler_row_params row_params = numbers_.arrays(false);
  if (has_observations) {
    args.observations = observations_;
    args.params = &config_.params;
    args.row_params = &row_params;
  }
  return entry.call_host([&] { return sampler_accept(handle_, &args); });
}

}  // namespace sampler::decoding
