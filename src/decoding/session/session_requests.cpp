#include "decoding/session/session_requests.h"

#include <algorithm>

#include "abi/structs.h"
#include "decoding/session/session_numbers.h"
#include "sampler/sampler.h"

namespace sampler::decoding {

SessionRequests::SessionRequests(const SessionConfig &config, sampler_handle *handle,
                                 const SessionHost *host, const SequenceTable *table,
                                 const SessionState *state, Transfer *transfer,
                                 SessionArrays *arrays)
    : config_(config),
      handle_(handle),
      host_(host),
      table_(*table),
      state_(*state),
      transfer_(*transfer),
      acceptance_(config.acceptance),
      drafter_rows_(nullptr) {
  exec_.stream = config.options.stream;
  for (int i = 0; i < 2 * SessionNumbers::kCount; ++i) {  // all, and those of a drafter's draws
    arrays->count_in<uint32_t>(num_sequences());
  }
  if (const float *const rates = config.acceptance.synthetic_rates) {
    float *const own_rates = arrays->take<float>(max_drafts());
    if (own_rates) {  // else memory is counted, and the workspace with the caller's
      std::copy_n(rates, max_drafts(), own_rates);
      acceptance_.synthetic_rates = own_rates;
    }
  }
  if (config.options.keep_drafter_rows) {
    drafter_rows_ = arrays->device()->take<unsigned char>(num_sequences() * max_drafts(),
                                                          int64_t(config.drafter_row_bytes()));
  }
}

sampler_rows SessionRequests::rows_of(const void *logits, int64_t num_rows, int64_t stride) const {
  sampler_rows rows = {};
  rows.values = logits;
  rows.num_rows = num_rows;
  rows.num_cols = config_.num_cols();
  rows.row_stride = stride;
  rows.dtype = config_.options.logits_dtype;
  return rows;
}

sampler_rows SessionRequests::drafter_rows_of(const void *logits, int64_t num_rows,
                                              int64_t stride) const {
  sampler_rows rows = rows_of(logits, num_rows, stride);
  rows.dtype = config_.drafter_dtype;
  return rows;
}

void SessionRequests::place_arrays(bool needs_ends, bool has_guidance) {
  const int64_t count = num_sequences();
  transfer_.begin();
  placed_.seeds = transfer_.parameter(table_.seeds(), count);
  placed_.offsets = transfer_.parameter(table_.offsets(), count);
  placed_.acceptances = transfer_.parameter(table_.acceptances(), count);
  placed_.numbers = host_->place_numbers(&transfer_);
  if (host_->rules().takes_guidance && !has_guidance) placed_.numbers.guidance_scale = nullptr;
  placed_.plain_numbers = host_->place_plain_numbers(placed_.numbers, &transfer_);
  placed_.ends = {};
  if (needs_ends && !config_.pipeline.stop.offsets) placed_.ends = host_->place_ends(&transfer_);
}

sampler_sample_args SessionRequests::sample_args(const sampler_params &params,
                                                 const sampler_row_params &row_params) const {
  auto args = abi::sized<sampler_sample_args>();
  args.exec = exec_;
  args.num_slots = num_sequences();
  args.params = &params;
  args.row_params = &row_params;
  args.random.seeds = placed_.seeds;
  args.random.offsets = placed_.offsets;
  args.random.num_seeds = args.random.num_offsets = num_sequences();
  return args;
}

sampler_filter_args SessionRequests::entropy_args(const void *row, const sampler_params &params,
                                                  void *probabilities) const {
  auto args = abi::sized<sampler_filter_args>();
  args.exec = exec_;
  args.input = drafter_rows_of(row, 1, 0);
  args.params = &params;
  args.output = probabilities;
  return args;
}

sampler_pipeline SessionRequests::make_pipeline() const {
  sampler_pipeline pipeline = config_.pipeline;
  pipeline.struct_size = sizeof pipeline;
  pipeline.state = state_.get();
  if (placed_.ends.offsets) pipeline.stop = placed_.ends;
  return pipeline;
}

sampler_pipeline SessionRequests::make_pipeline(const sampler_session_advance_args &args,
                                                const int32_t *masks,
                                                const int32_t *guidance_rows) const {
  sampler_pipeline pipeline = make_pipeline();
  if (pipeline.token_bitmasks) pipeline.token_bitmask_indices = masks;
  if (args.guidance_logits) {
    pipeline.guidance_logits = args.guidance_logits;
    pipeline.num_guidance_rows = args.num_guidance_rows;
    pipeline.guidance_row_indices = guidance_rows;
  }
  return pipeline;
}

sampler_verify_args SessionRequests::verify_args(const sampler_params &params,
                                                 const sampler_row_params &row_params,
                                                 const sampler_pipeline &pipeline,
                                                 int64_t num_chains,
                                                 sampler_draft_layout *layout) const {
  *layout = abi::sized<sampler_draft_layout>();
  layout->num_sequences = num_chains;
  auto args = abi::sized<sampler_verify_args>();
  args.exec = exec_;
  args.target = rows_of(nullptr, 0, 0);
  args.num_drafts = max_drafts();
  args.layout = layout;
  args.num_slots = num_sequences();
  args.params = &params;
  args.row_params = &row_params;
  args.pipeline = &pipeline;
  args.acceptances = placed_.acceptances;
  args.acceptance = &acceptance_;
  args.random.seeds = placed_.seeds;
  args.random.offsets = placed_.offsets;
  args.random.num_seeds = args.random.num_offsets = num_sequences();
  return args;
}

void SessionRequests::add_drafter_rows(const sampler_params &params,
                                       const sampler_row_params &row_params,
                                       sampler_draft_layout *layout,
                                       sampler_verify_args *args) const {
  if (max_drafts() == 0) return;
  args->draft = drafter_rows_of(drafter_rows_, num_sequences() * max_drafts(), 0);
  layout->draft_rows_by_slot = 1;
  args->draft_params = &params;
  args->draft_row_params = &row_params;
}

sampler_status SessionRequests::keep_row(abi::Entry &entry, int32_t sequence, int64_t draft,
                                         const void *row) {
  const size_t bytes = config_.drafter_row_bytes();
  return transfer_.copy(entry, drafter_rows_ + size_t(sequence * max_drafts() + draft) * bytes, row,
                        bytes);
}

sampler_status SessionRequests::select(abi::Entry &entry, const sampler_rows &rows, int64_t count,
                                       int32_t *out_ids) {
  auto args = abi::sized<sampler_select_args>();
  args.exec = exec_;
  args.input = rows;
  args.num_selected = count;
  args.out_token_ids = transfer_.out(out_ids, rows.num_rows * count);
  return call(entry, sampler_select, args);
}

}  // namespace sampler::decoding
