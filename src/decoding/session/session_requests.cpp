// The calls of the library that a session makes: their arguments.
#include "decoding/session/session.h"

#include "capi/structs.h"
#include "decoding/session/plain_params.h"
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

sampler_rows Session::drafter_rows_of(const void *logits, int64_t num_rows, int64_t stride) const {
  sampler_rows rows = rows_of(logits, num_rows, stride);
  rows.dtype = config_.drafter_dtype;
  return rows;
}

// The numbers by sequence.
sampler_row_params Session::place_row_params() {
  return config_.loop ? place_numbers(config_.loop->row_params, num_sequences(), &transfer_)
                      : numbers_.arrays(false, &transfer_);
}

// What the calls of a step have alike. `has_minimum`: of new tokens, which needs the end tokens.
void Session::place_arrays(bool has_minimum) {
  const int64_t count = num_sequences(), num_ends = count * config_.options.max_end_tokens;
  transfer_.begin();
  placed_.seeds = transfer_.parameter(seeds_, count);
  placed_.offsets = transfer_.parameter(offsets_, count);
  placed_.acceptances = transfer_.parameter(acceptances_, count);
  placed_.numbers = place_row_params();
  placed_.plain_numbers =
      config_.loop ? plain_params(placed_.numbers) : numbers_.arrays(true, &transfer_);
  placed_.ends = {};
  if (!has_minimum || config_.pipeline.stop.offsets) return;
  placed_.ends = {transfer_.in(end_offsets_, count + 1), transfer_.in(ends_, num_ends), count,
                  num_ends};
}

// Randomness by sequence.
sampler_sample_args Session::sample_args(const sampler_params &params,
                                         const sampler_row_params &row_params) const {
  auto args = capi::sized<sampler_sample_args>();
  args.exec = exec_;
  args.num_slots = num_sequences();
  args.params = &params;
  args.row_params = &row_params;
  args.random.seeds = placed_.seeds;
  args.random.offsets = placed_.offsets;
  args.random.num_seeds = args.random.num_offsets = num_sequences();
  return args;
}

// The probabilities that an entropy is of.
sampler_filter_args Session::entropy_args(const void *row, const sampler_params &params,
                                          void *probabilities) const {
  auto args = capi::sized<sampler_filter_args>();
  args.exec = exec_;
  args.input = drafter_rows_of(row, 1, 0);
  args.params = &params;
  args.output = probabilities;
  return args;
}

sampler_pipeline Session::make_pipeline() const {
  sampler_pipeline pipeline = config_.pipeline;
  pipeline.struct_size = sizeof pipeline;
  pipeline.state = state_;
  if (placed_.ends.offsets) pipeline.stop = placed_.ends;
  return pipeline;
}

// Of any numbers of drafts, where rows, layout and results are missing.
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
  args.num_slots = num_sequences();
  args.params = &params;
  args.row_params = &row_params;
  args.pipeline = &pipeline;
  args.acceptances = placed_.acceptances;
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
  args.random.seeds = placed_.seeds;
  args.random.offsets = placed_.offsets;
  args.random.num_seeds = args.random.num_offsets = num_sequences();
  return args;
}

// Packed, one after the other.
void Session::place_chains(const Group &group, sampler_verify_args *args) {
  const int64_t first = group.first_place;
  args->packing = SAMPLER_PACKING_DRAFTS;
  args->num_packed_drafts = group.num_drafts;
  args->num_packed_positions = group.num_drafts + group.count;
  args->packing_offsets = transfer_.in(packing_offsets_ + group.first_offset, group.count + 1);
  args->draft_token_ids = transfer_.in(draft_ids_ + first, group.num_drafts);
  args->target_row_indices = transfer_.in(target_rows_ + first, args->num_packed_positions);
}

// Each in max_drafts places.
void Session::place_trees(const Group &group, sampler_verify_args *args) {
  const int64_t first = group.first_place, num_places = group.count * max_drafts();
  args->draft_counts = transfer_.in(draft_counts_ + group.first, group.count);
  args->parents = transfer_.in(tree_parents_ + group.first * max_drafts(), num_places);
  args->draft_token_ids = transfer_.in(draft_ids_ + first, num_places);
  args->target_row_indices = transfer_.in(target_rows_ + first, group.num_places());
  args->out_positions = transfer_.out(positions_ + first, group.num_places());
}

template <class Call>
void Session::place_results(const sampler_session_advance_args &args, const Group &group,
                            Call *call) {
  const int64_t first_place = group.first_place, num_places = group.num_places();
  const int64_t top = args.num_top_logprobs;
  call->out_token_ids = transfer_.out(token_ids_ + first_place, num_places);
  call->out_row_status = transfer_.out(row_status_ + group.first, group.count);
  if (has_observations_) {
    call->out_observations = transfer_.out(observations_ + first_place, num_places);
  }
  call->logprob_kind = args.logprob_kind;
  if (args.out_logprobs) call->out_logprobs = transfer_.out(logprobs_ + first_place, num_places);
  call->num_top_logprobs = top;
  if (args.out_top_token_ids) {
    call->out_top_token_ids = transfer_.out(top_token_ids_ + first_place * top, num_places * top);
  }
  if (args.out_top_logprobs) {
    call->out_top_logprobs = transfer_.out(top_logprobs_ + first_place * top, num_places * top);
  }
}

template void Session::place_results(const sampler_session_advance_args &, const Group &,
                                     sampler_sample_args *);
template void Session::place_results(const sampler_session_advance_args &, const Group &,
                                     sampler_verify_args *);

// The session's rows of the drafter, and what its tokens were drawn by.
void Session::add_drafter_rows(const sampler_params &params, const sampler_row_params &row_params,
                               sampler_verify_args *args) const {
  if (max_drafts() == 0) return;
  args->draft = drafter_rows_of(drafter_rows_, num_sequences() * max_drafts(), 0);
  args->draft_rows_by_slot = 1;
  args->draft_params = &params;
  args->draft_row_params = &row_params;
}

sampler_status Session::check_params(capi::Entry &entry, const sampler_params &params) {
  // Of no chains: it checks its arguments, and draws nothing.
  auto row_params = capi::sized<sampler_row_params>();
  place_arrays(SessionNumbers::has_minimum(params));
  sampler_pipeline pipeline = make_pipeline();
  if (pipeline.token_bitmasks) pipeline.token_bitmask_indices = transfer_.in(masks_, 0);
  sampler_verify_args args = verify_args(params, row_params, pipeline, 0);
  args.slots = transfer_.in(slots_, 0);
  place_chains({}, &args);
  const sampler_params draft_params = plain_params(params);
  if (config_.options.keep_drafter_rows) add_drafter_rows(draft_params, row_params, &args);
  return entry.call_host([&] { return sampler_verify(handle_, &args); });
}

sampler_status Session::check(capi::Entry &entry) {
  // Of nothing: it checks its arguments, and draws nothing.
  place_arrays(false);
  const sampler_pipeline pipeline = place_masks({});
  if (max_drafts() == 0) {
    const sampler_sample_args args = draw_args({}, pipeline);
    return entry.call_host([&] { return sampler_sample(handle_, &args); });
  }
  sampler_verify_args args = verify_args(config_.params, placed_.numbers, pipeline, 0);
  args.slots = transfer_.in(slots_, 0);
  return entry.call_host([&] { return sampler_verify(handle_, &args); });
}

bool Session::has_adaptive() const {
  if (!config_.loop) return numbers_.has_adaptive();
  const sampler_params &params = config_.params;
  const sampler_row_params &by_text = config_.loop->row_params;
  return params.adaptive_kind != SAMPLER_ADAPTIVE_NONE || by_text.adaptive_kind ||
         params.top_p_decay != 0 || by_text.top_p_decay;
}

contract::AdaptiveRules Session::adaptive_rules_of(int32_t sequence) const {
  const sampler_params params = params_of(sequence);
  return {params.adaptive_kind,
          params.adaptive_target,
          params.adaptive_rate,
          params.top_p,
          params.top_p_decay,
          params.top_p_least,
          -1};
}

// ---- The texts' state

// A new sequence.
sampler_status Session::append_text(capi::Entry &entry, int32_t sequence,
                                    const sampler_session_add_args &args) {
  const int64_t num_tokens = args.num_tokens;
  const int64_t places[3] = {0, args.prompt_length ? args.prompt_length : num_tokens, num_tokens};
  transfer_.begin();
  auto reset = capi::sized<sampler_state_reset_args>();
  reset.exec.stream = exec_.stream;
  reset.state = state_;
  reset.slots = transfer_.in(&sequence, 1);
  reset.num_rows = 1;
  if (args.resumed) {
    reset.adaptive_values =
        transfer_.in(args.resumed->adaptive_values, SAMPLER_NUM_ADAPTIVE_VALUES);
  }
  const int64_t *const offsets = transfer_.in(places, 3);
  const int32_t *const tokens = transfer_.in(args.token_ids, num_tokens);
  sampler_status status = transfer_.upload(entry);
  if (status != SAMPLER_OK) return status;
  status = entry.call_host([&] { return sampler_state_reset(handle_, &reset); });
  for (int i = 0; status == SAMPLER_OK && i < 2; ++i) {
    auto text = capi::sized<sampler_state_append_args>();
    text.exec.stream = exec_.stream;
    text.state = state_;
    text.slots = reset.slots;
    text.num_rows = 1;
    text.tokens = {offsets + i, tokens, 1, num_tokens};
    text.token_kind = i == 0 ? SAMPLER_TOKENS_PROMPT : SAMPLER_TOKENS_OUTPUT;
    status = entry.call_host([&] { return sampler_state_append(handle_, &text); });
  }
  return status;
}

sampler_status Session::copy_state(capi::Entry &entry, int32_t source, int32_t destination) {
  transfer_.begin();
  auto copy = capi::sized<sampler_state_copy_args>();
  copy.exec.stream = exec_.stream;
  copy.source = copy.destination = state_;
  copy.source_slots = transfer_.in(&source, 1);
  copy.destination_slots = transfer_.in(&destination, 1);
  copy.num_rows = 1;
  const sampler_status status = transfer_.upload(entry);
  if (status != SAMPLER_OK) return status;
  return entry.call_host([&] { return sampler_state_copy(handle_, &copy); });
}

// Tells the state what the chains of the last step have become. Where that fails it is still to be
// told.
sampler_status Session::settle(capi::Entry &entry) {
  if (!state_) return SAMPLER_OK;
  for (Group &group : untold_) {
    const sampler_status status = group.count > 0 ? tell(entry, group) : SAMPLER_OK;
    if (status != SAMPLER_OK) return status;
    group.count = 0;
  }
  return SAMPLER_OK;
}

sampler_status Session::tell(capi::Entry &entry, const Group &group) {
  transfer_.begin();
  auto args = capi::sized<sampler_accept_args>();
  args.exec.stream = exec_.stream;
  args.state = state_;
  args.slots = transfer_.in(slots_ + group.first, group.count);
  args.num_rows = group.count;
  args.token_ids = transfer_.in(token_ids_ + group.first_place, group.num_places());
  args.num_tokens = group.num_positions;
  const sampler_row_params row_params = place_row_params();
  if (has_observations_) {
    args.observations = transfer_.in(observations_ + group.first_place, group.num_places());
    args.params = &config_.params;
    args.row_params = &row_params;
  }
  const sampler_status status = transfer_.upload(entry);
  if (status != SAMPLER_OK) return status;
  return entry.call_host([&] { return sampler_accept(handle_, &args); });
}

}  // namespace sampler::decoding
