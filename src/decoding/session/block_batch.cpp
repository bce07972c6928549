#include "decoding/session/block_batch.h"

#include <algorithm>

#include "abi/structs.h"
#include "capi/operations.h"
#include "sampler/sampler.h"

namespace sampler::decoding {

namespace {

int64_t num_positions(const SessionSequence &own) {
  return own.block.end - own.length;
}

}  // namespace

BlockBatch::BlockBatch(const SessionConfig &config, SequenceTable *table, const ChainLayout *layout,
                       SessionRequests *requests, Transfer *transfer, SessionArrays *arrays)
    : config_(config),
      table_(*table),
      layout_(*layout),
      requests_(*requests),
      transfer_(*transfer) {
  const int64_t count = config.options.has_blocks ? config.num_sequences() : 0;
  const int64_t num_places = max_positions(), own_places = count > 0 ? num_places : 0;
  drawn_.row_indices = arrays->in<int32_t>(count, num_places);
  drawn_.slots = arrays->in<int32_t>(count, num_places);
  drawn_.masks = arrays->in<int32_t>(config.pipeline.token_bitmasks ? count : 0, num_places);
  drawn_.guidance_rows = arrays->in<int32_t>(count, num_places);
  drawn_.candidates = arrays->out<int32_t>(count, num_places);
  drawn_.row_status = arrays->out<sampler_row_status>(count, num_places);
  drawn_.logprobs = arrays->out<float>(count, num_places);
  drawn_.entropies = arrays->out<float>(count, num_places);
  drawn_.top_logprobs = arrays->out<float>(count, num_places * kNumTop);
  firsts_ = arrays->take<int64_t>(own_places + 1);
  draws_ = arrays->take<int32_t>(count, num_places);
  offsets_ = arrays->in<uint64_t>(num_places, count);
  streams_ = arrays->in<uint32_t>(count);
  candidates_ = arrays->take<int32_t>(own_places);
  slots_ = arrays->take<int32_t>(own_places);
  row_status_ = arrays->take<sampler_row_status>(own_places);
  scores_ = arrays->take<float>(own_places, kNumTop);
  if (!offsets_ || count == 0) return;
  std::fill_n(offsets_, num_places * count, 0);
  std::fill_n(streams_, count, 0);
  std::fill_n(slots_, own_places, 0);
}

// ---- Draws --------------------------------------------------------------------------------------

// Sets the random numbers of a group's sequences.
void BlockBatch::find_sequences(const ChainGroup &group) {
  const int64_t count = config_.num_sequences();
  for (int64_t i = 0; i < group.count; ++i) {
    const int32_t sequence = layout_.chain(group.first + i).sequence;
    const SessionSequence &own = table_[sequence];
    streams_[sequence] = uint32_t(own.block.num_steps);
    for (int64_t j = 0; j < num_positions(own); ++j) {
      offsets_[j * count + sequence] = uint64_t(own.num_new() + j);
    }
  }
}

int64_t BlockBatch::find_draws(const sampler_session_advance_args &args, const ChainGroup &group) {
  int64_t next = 0;
  for (int64_t j = 0; j < max_positions(); ++j) {
    firsts_[j] = next;
    for (int64_t i = 0; i < group.count; ++i) {
      const int32_t sequence = layout_.chain(group.first + i).sequence;
      const SessionSequence &own = table_[sequence];
      int32_t &draw = draws_[i * max_positions() + j];
      draw = -1;
      if (j >= num_positions(own)) continue;
      const bool is_masked = table_.drafts(sequence)[j] == own.block.rules.mask_token_id;
      if (!is_masked && !own.block.may_edit()) continue;
      const int64_t row = own.first_row + j;
      drawn_.row_indices[next] = int32_t(row);
      drawn_.slots[next] = sequence;
      if (args.token_bitmask_indices) drawn_.masks[next] = args.token_bitmask_indices[row];
      drawn_.guidance_rows[next] = guidance_row_of(args, row);
      draw = int32_t(next++);
    }
  }
  firsts_[max_positions()] = next;
  return next;
}

// Places the arrays of all draws.
BlockBatch::Placed BlockBatch::place(const sampler_session_advance_args &args,
                                     const ChainGroup &group, int64_t num_draws) {
  bool has_logprobs = false, has_entropies = false, has_top = false;
  for (int64_t i = 0; i < group.count; ++i) {
    const SessionSequence &own = table_[layout_.chain(group.first + i).sequence];
    const sampler_confidence confidence = own.block.rules.confidence;
    has_logprobs = has_logprobs || confidence == SAMPLER_CONFIDENCE_PROBABILITY;
    has_entropies = has_entropies || confidence == SAMPLER_CONFIDENCE_ENTROPY;
    has_top = has_top || confidence == SAMPLER_CONFIDENCE_MARGIN;
  }
  const int64_t count = config_.num_sequences();
  Placed placed = {};
  placed.row_indices = transfer_.in(drawn_.row_indices, num_draws);
  placed.slots = transfer_.in(drawn_.slots, num_draws);
  if (args.token_bitmask_indices) placed.masks = transfer_.in(drawn_.masks, num_draws);
  if (args.guidance_logits) placed.guidance_rows = transfer_.in(drawn_.guidance_rows, num_draws);
  placed.offsets = transfer_.parameter(offsets_, max_positions() * count);
  placed.streams = transfer_.parameter(streams_, count);
  placed.candidates = transfer_.out(drawn_.candidates, num_draws);
  placed.row_status = transfer_.out(drawn_.row_status, num_draws);
  if (has_logprobs) placed.logprobs = transfer_.out(drawn_.logprobs, num_draws);
  if (has_entropies) placed.entropies = transfer_.out(drawn_.entropies, num_draws);
  if (has_top) placed.top_logprobs = transfer_.out(drawn_.top_logprobs, num_draws * kNumTop);
  return placed;
}

sampler_status BlockBatch::draw_position(abi::Entry &entry,
                                         const sampler_session_advance_args &args,
                                         const Placed &placed, int64_t position) {
  const int64_t first = firsts_[position];
  const sampler_pipeline pipeline =
      requests_.make_pipeline(args, placed.masks ? placed.masks + first : nullptr,
                              placed.guidance_rows ? placed.guidance_rows + first : nullptr);
  sampler_sample_args call = requests_.sample_args(config_.params, requests_.numbers());
  call.pipeline = &pipeline;
  call.input = requests_.rows_of(args.logits, layout_.num_rows(), args.logits_row_stride);
  call.row_indices = placed.row_indices + first;
  call.num_row_indices = firsts_[position + 1] - first;
  call.slots = placed.slots + first;
  call.random.offsets = placed.offsets + position * config_.num_sequences();
  call.random.streams = placed.streams;
  call.out_token_ids = placed.candidates + first;
  call.out_row_status = placed.row_status + first;
  auto reports = abi::sized<sampler_report_args>();
  call.reports = &reports;
  reports.logprob_kind = config_.options.confidence_kind;
  if (placed.logprobs) reports.out_logprobs = placed.logprobs + first;
  if (placed.entropies) reports.out_entropies = placed.entropies + first;
  if (placed.top_logprobs) {
    reports.num_top_logprobs = kNumTop;
    reports.out_top_logprobs = placed.top_logprobs + first * kNumTop;
  }
  return requests_.call(entry, sampler_sample, call);
}

sampler_status BlockBatch::draw(abi::Entry &entry, const sampler_session_advance_args &args,
                                const ChainGroup &group) {
  if (group.count == 0) return SAMPLER_OK;
  find_sequences(group);
  const Placed placed = place(args, group, find_draws(args, group));
  sampler_status status = transfer_.upload(entry);
  for (int64_t j = 0; j < max_positions() && status == SAMPLER_OK; ++j) {
    if (firsts_[j] < firsts_[j + 1]) status = draw_position(entry, args, placed, j);
  }
  return status;
}

// ---- What comes of them -------------------------------------------------------------------------

// The status of the first masked position.
sampler_row_status BlockBatch::status_of_masked(const SessionSequence &own,
                                                const int32_t *tokens) const {
  for (int64_t j = 0; j < num_positions(own); ++j) {
    if (tokens[j] == own.block.rules.mask_token_id && row_status_[j] != SAMPLER_ROW_OK) {
      return row_status_[j];
    }
  }
  return SAMPLER_ROW_EMPTY;  // all candidates are the mask token
}

BlockBatch::Scores BlockBatch::scores_of(sampler_confidence confidence) const {
  switch (confidence) {
    case SAMPLER_CONFIDENCE_PROBABILITY:
      return {drawn_.logprobs, 1};
    case SAMPLER_CONFIDENCE_ENTROPY:
      return {drawn_.entropies, 1};
    case SAMPLER_CONFIDENCE_MARGIN:
      return {drawn_.top_logprobs, kNumTop};
    default:
      return {nullptr, 0};
  }
}

BlockBatch::Outcome BlockBatch::unmask(abi::Entry &entry, const ChainGroup &group, int64_t index) {
  const int32_t sequence = layout_.chain(group.first + index).sequence;
  SessionSequence &own = table_[sequence];
  SessionBlock &block = own.block;
  sampler_unmask_params params = block.rules;
  params.block_length = params.blocks_after_prompt = 0;
  if (params.num_steps_left > 0) {
    params.num_steps_left = int32_t(std::max<int64_t>(params.num_steps_left - block.num_steps, 1));
  }
  auto args = abi::sized<sampler_unmask_args>();
  args.params = &params;
  args.num_rows = num_positions(own);
  args.num_blocks = 1;
  const Scores of_draws = scores_of(params.confidence);
  for (int64_t j = 0; j < args.num_rows; ++j) {
    const int32_t draw = draws_[index * max_positions() + j];
    candidates_[j] = draw < 0 ? -1 : drawn_.candidates[draw];
    row_status_[j] = draw < 0 ? sampler_row_status(SAMPLER_ROW_OK) : drawn_.row_status[draw];
    for (int64_t k = 0; k < of_draws.count; ++k) {
      scores_[j * of_draws.count + k] =
          draw < 0 ? 0.0f : of_draws.values[draw * of_draws.count + k];
    }
  }
  args.candidate_token_ids = candidates_;
  args.candidate_status = row_status_;
  args.scores = of_draws.count > 0 ? scores_ : nullptr;
  int32_t *const tokens = table_.drafts(sequence);
  args.token_ids = tokens;
  // All rows have the sequence's random numbers, which differ by their place in the block.
  args.slots = slots_;
  args.num_slots = 1;
  args.random.seed = table_.seeds()[sequence];
  args.random.offset = uint64_t(own.num_new());
  const uint32_t stream = uint32_t(block.num_steps);
  args.random.streams = &stream;
  int32_t num_committed = 0, num_edited = 0, num_masked = 0;
  args.out_committed_counts = &num_committed;
  args.out_edited_counts = &num_edited;
  args.out_masked_counts = &num_masked;
  ++block.num_steps;
  capi::unmask_on_host(entry, args);  // checked with the sequence
  Outcome outcome;
  if (num_masked == 0) {
    outcome.is_complete = block.is_complete(num_committed + num_edited);
  } else if (num_committed == 0 && !block.goes_on(num_edited)) {
    outcome.row_status = status_of_masked(own, tokens);
  }
  return outcome;
}

}  // namespace sampler::decoding
