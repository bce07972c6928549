#include "decoding/session/draft_batch.h"

#include <algorithm>

#include "abi/structs.h"
#include "contract/elements.h"
#include "decoding/session/draft_offset.h"
#include "decoding/session/entropy_gamma.h"
#include "decoding/session/plain_params.h"
#include "sampler/sampler.h"

namespace sampler::decoding {

DraftBatch::DraftBatch(const SessionConfig &config, const SessionHost *host, SequenceTable *table,
                       Drafting *drafting, SessionRequests *requests, Transfer *transfer,
                       SessionArrays *arrays)
    : config_(config),
      host_(host),
      table_(*table),
      drafting_(*drafting),
      requests_(*requests),
      transfer_(*transfer) {
  const int64_t count = config.num_sequences();
  draws_ = {0,
            arrays->in<int32_t>(count),
            arrays->in<int32_t>(count),
            arrays->out<int32_t>(count),
            arrays->out<sampler_row_status>(count),
            arrays->out<float>(count)};
  selected_ids_ = arrays->out<int32_t>(count, config.num_tree_places());
  probabilities_ = arrays->out<float>(config.options.has_adaptive_gamma, num_cols());
}

sampler_rows DraftBatch::rows_of(const sampler_session_advance_args &args) const {
  return requests_.drafter_rows_of(args.drafter_logits, num_rows_, args.drafter_row_stride);
}

void DraftBatch::find(const sampler_session_advance_args &args) {
  num_rows_ = draws_.count = num_selected_ = 0;
  needs_logprobs_ = false;
  for (int64_t i = 0; i < args.num_drafter_spans; ++i) {
    const sampler_span &span = args.drafter_spans[i];
    if (span.num_logits == 0) continue;
    const int64_t row = num_rows_++;
    const SessionSequence &own = table_[span.sequence];
    if (own.group == DraftGroup::kTrees) {
      num_selected_ = std::max(num_selected_, std::min(own.top_k, num_cols()));
      continue;
    }
    needs_logprobs_ = needs_logprobs_ || own.least_probability > 0;
    draws_.add(row, span.sequence);
    table_.offsets()[span.sequence] =
        draft_offset(table_.acceptances()[span.sequence], own.num_new(), own.num_drafts);
  }
}

// Draws a token from each row whose draft is drawn.
sampler_status DraftBatch::draw(abi::Entry &entry, const sampler_session_advance_args &args) {
  if (draws_.count == 0) return SAMPLER_OK;
  const sampler_params params = plain_params(config_.params);
  sampler_sample_args sample = requests_.sample_args(params, requests_.plain_numbers());
  sample.input = rows_of(args);
  sample.row_indices = transfer_.in(draws_.row_indices, draws_.count);
  sample.num_row_indices = draws_.count;
  sample.slots = transfer_.in(draws_.slots, draws_.count);
  sample.out_token_ids = transfer_.out(draws_.ids, draws_.count);
  sample.out_row_status = transfer_.out(draws_.status, draws_.count);
  auto reports = abi::sized<sampler_report_args>();
  if (needs_logprobs_) reports.out_logprobs = transfer_.out(draws_.logprobs, draws_.count);
  sample.reports = &reports;
  const sampler_status status = transfer_.upload(entry);
  if (status != SAMPLER_OK) return status;
  return requests_.call(entry, sampler_sample, sample);
}

// Selects the likeliest tokens of the rows, if any row is a tree's.
sampler_status DraftBatch::select(abi::Entry &entry, const sampler_session_advance_args &args) {
  if (num_selected_ == 0) return SAMPLER_OK;
  return requests_.select(entry, rows_of(args), num_selected_, selected_ids_);
}

sampler_status DraftBatch::run(abi::Entry &entry, const sampler_session_advance_args &args) {
  const sampler_status status = draw(entry, args);
  return status == SAMPLER_OK ? select(entry, args) : status;
}

const unsigned char *DraftBatch::given_row(const sampler_session_advance_args &args,
                                           int64_t row) const {
  const int64_t stride = args.drafter_row_stride ? args.drafter_row_stride : num_cols();
  return static_cast<const unsigned char *>(args.drafter_logits) +
         size_t(row * stride) * contract::size_of(config_.drafter_dtype);
}

sampler_status DraftBatch::keep_rows(abi::Entry &entry, const sampler_session_advance_args &args) {
  for (int64_t i = 0; i < draws_.count; ++i) {
    const int32_t sequence = draws_.slots[i];
    const SessionSequence &own = table_[sequence];
    if (own.group != DraftGroup::kDrawn) continue;
    const sampler_status status =
        requests_.keep_row(entry, sequence, own.num_drafts, given_row(args, draws_.row_indices[i]));
    if (status != SAMPLER_OK) return status;
  }
  return SAMPLER_OK;
}

sampler_status DraftBatch::adapt(abi::Entry &entry, const sampler_session_advance_args &args) {
  for (int64_t i = 0; i < draws_.count; ++i) {
    const SessionSequence &own = table_[draws_.slots[i]];
    if (own.gamma_rule != SAMPLER_GAMMA_BY_ENTROPY || own.num_drafts > 0) continue;
    const sampler_status status =
        adapt(entry, draws_.slots[i], given_row(args, draws_.row_indices[i]));
    if (status != SAMPLER_OK) return status;
  }
  return SAMPLER_OK;
}

sampler_status DraftBatch::adapt(abi::Entry &entry, int32_t sequence, const void *row) {
  SessionSequence &own = table_[sequence];
  sampler_params params = sampler_params_default();
  params.temperature = host_->entropy_temperature(sequence);
  transfer_.begin();
  const sampler_filter_args call =
      requests_.entropy_args(row, params, transfer_.out(probabilities_, num_cols()));
  sampler_status status = requests_.call(entry, sampler_filter, call);
  if (status == SAMPLER_OK) status = transfer_.download(entry);
  if (status != SAMPLER_OK) return status;
  const EntropyGamma gamma(own.gamma_min, own.most_drafts, own.ema_beta);
  const double entropy = EntropyGamma::entropy_of(probabilities_, num_cols());
  own.row_entropy = float(entropy);
  own.step_entropy = own.entropy;
  own.step_drafts = gamma.drafts(entropy, num_cols(), &own.step_entropy);
  return SAMPLER_OK;
}

void DraftBatch::take_drawn(int32_t sequence, int64_t draw) {
  if (draws_.status[draw] != SAMPLER_ROW_OK) {
    table_[sequence].is_drafted = true;
    return;
  }
  drafting_.add_drawn(sequence, draws_.ids[draw], needs_logprobs_ ? draws_.logprobs[draw] : 0.0f);
}

void DraftBatch::take_selected(int32_t sequence, int64_t row) {
  drafting_.add_selected(sequence, selected_ids_ + row * num_selected_,
                         std::min(table_[sequence].top_k, num_selected_));
}

void DraftBatch::take(const sampler_session_advance_args &args) {
  int64_t row = 0, draw = 0;
  for (int64_t i = 0; i < args.num_drafter_spans; ++i) {
    const sampler_span &span = args.drafter_spans[i];
    SessionSequence &own = table_[span.sequence];
    own.drafter_cache_length = span.start + span.num_tokens;
    own.drafter = {};
    if (span.num_logits == 0) continue;
    if (own.group == DraftGroup::kTrees) {
      take_selected(span.sequence, row);
    } else {
      if (own.step_drafts > 0) take_drawn(span.sequence, draw);
      ++draw;
    }
    ++row;
  }
}

}  // namespace sampler::decoding
