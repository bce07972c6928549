#include "decoding/session/session.h"

#include <algorithm>

#include "contract/float_bits.h"

namespace sampler::decoding {

Session::Session(const Config &config, sampler_handle *handle, SessionHost *host,
                 SessionArrays *arrays)
    : config_(config),
      handle_(handle),
      host_(host),
      state_(handle, config.options.stream, host->longest_text(), &transfer_, arrays),
      table_(config, host, arrays),
      drafting_(config, host, &table_, arrays),
      gamma_(config, host, &table_, &drafting_, arrays),
      requests_(config, handle, host, &table_, &state_, &transfer_, arrays),
      drafts_(config, host, &table_, &drafting_, &requests_, &transfer_, arrays),
      verified_(config, host, &table_, &drafting_, &requests_, &state_, &transfer_, arrays) {
  transfer_ = Transfer(handle, config.options.stream, arrays->bytes_in(), arrays->bytes_out(),
                       arrays->host(), arrays->device());
}

sampler_status Session::start(abi::Entry &entry, void *workspace, size_t workspace_bytes) {
  requests_.set_workspace(workspace, workspace_bytes);
  if (!host_->rules().has_state) return SAMPLER_OK;
  return state_.create(entry, config_.num_sequences());
}

// ---- Sequences ----------------------------------------------------------------------------------

sampler_status Session::add(abi::Entry &entry, const sampler_session_add_args &args,
                            const sampler_params &params, int32_t *out_sequence) {
  const int32_t sequence = table_.next_number();
  sampler_status status = settle(entry);
  if (status == SAMPLER_OK) status = state_.append(entry, sequence, args);
  if (status == SAMPLER_OK) status = host_->teach(entry, args);
  if (status != SAMPLER_OK) return status;
  host_->set(sequence, args, params);
  table_.add(args);
  drafting_.begin(sequence);
  if (args.draft_source != SAMPLER_DRAFTS_NGRAM) learn(entry, sequence, 0);
  *out_sequence = sequence;
  return SAMPLER_OK;
}

sampler_status Session::fork(abi::Entry &entry, int32_t source, const uint64_t *seed,
                             const sampler_params *params, int32_t *out_sequence) {
  const int32_t sequence = table_.next_number();
  sampler_status status = settle(entry);
  if (status == SAMPLER_OK) status = state_.copy(entry, source, sequence);
  if (status != SAMPLER_OK) return status;
  host_->copy(source, sequence, table_[source].num_places(), params);
  table_.copy(source, seed);
  drafting_.copy(source, sequence);
  *out_sequence = sequence;
  return SAMPLER_OK;
}

void Session::remove(int32_t sequence) {
  host_->clear(sequence);
  table_.remove(sequence);
}

// ---- Plans --------------------------------------------------------------------------------------

// Plans tokens [begin, end). The last `last_part` stay together; if there is no room for them, as
// many of the others as fit, or whole blocks of them. False: none.
bool Session::make_span(int64_t begin, int64_t end, int64_t last_part, int64_t num_logits,
                        const SessionBlock &block, int64_t *room, PlannedSpan *out) const {
  *out = {};
  if (end - begin <= *room) {
    *out = {begin, end - begin, num_logits, int32_t(num_plans_)};
  } else {
    int64_t part_end = begin + std::min(*room, end - last_part - begin);
    if (block.is_used()) part_end = block.begin_of(part_end);
    if (part_end <= begin) return false;
    *out = {begin, part_end - begin, 0, int32_t(num_plans_)};
  }
  *room -= out->num_tokens;
  return true;
}

sampler_span Session::planned_span(int32_t sequence, const PlannedSpan &planned) const {
  return {sequence,           planned.plan,
          planned.start,      table_.text(sequence) + planned.start,
          planned.num_tokens, planned.num_logits};
}

// Writes the parents of a target span's drafts.
void Session::write_parents(const sampler_session_plan_args &args, int32_t sequence,
                            int64_t span) const {
  if (!args.out_parents) return;
  const SessionSequence &own = table_[sequence];
  int32_t *const out = args.out_parents + span * config_.max_drafts();
  const bool is_tree = own.group == DraftGroup::kTrees;
  const int64_t count = own.target.num_logits > 0 ? own.num_drafts : 0;
  for (int64_t i = 0; i < config_.max_drafts(); ++i) {
    out[i] = i >= count ? -1 : is_tree ? drafting_.parents_of(sequence)[i] : int32_t(i) - 1;
  }
}

// `is_waiting`: measured sequences with complete drafts wait for the others.
void Session::plan_sequence(abi::Entry &entry, int32_t sequence,
                            const sampler_session_plan_args &args, bool is_waiting, int64_t *room,
                            int64_t *drafter_room) {
  SessionSequence &own = table_[sequence];
  own.target = own.drafter = {};
  if (drafting_.needs_drafter(own)) {
    const int64_t end = own.length + own.num_drafts;
    const int64_t begin = std::min(own.drafter_cache_length, end - 1);
    if (make_span(begin, end, 1, 1, own.block, drafter_room, &own.drafter)) {
      args.out_drafter_spans[(*args.out_num_drafter_spans)++] = planned_span(sequence, own.drafter);
    }
    return;
  }
  if (!own.is_drafted) drafting_.draft(entry, sequence);
  if (own.group == DraftGroup::kTrees && own.num_first == 0) drafting_.join_siblings(sequence);
  if (is_waiting && own.is_in_step) return;
  const int64_t end =
      own.block.is_used() ? table_.begin_block(sequence) : own.length + own.num_drafts;
  const int64_t num_logits = own.block.is_used() ? end - own.length : own.num_drafts + 1;
  const int64_t last_part = own.block.is_used() ? end - own.block.begin_of(own.length) : num_logits;
  if (make_span(own.cache_length, end, last_part, num_logits, own.block, room, &own.target)) {
    write_parents(args, sequence, *args.out_num_spans);
    args.out_spans[(*args.out_num_spans)++] = planned_span(sequence, own.target);
  }
}

void Session::plan(abi::Entry &entry, const sampler_session_plan_args &args) {
  int64_t room = args.max_tokens ? args.max_tokens : INT64_MAX, drafter_room = room;
  *args.out_num_spans = 0;
  if (args.out_num_drafter_spans) *args.out_num_drafter_spans = 0;
  const bool names_all = !args.sequences;
  const int64_t count = names_all ? config_.num_sequences() : args.num_sequences;
  const bool is_waiting = gamma_.begin_plan(entry, args);
  ++num_plans_;
  int64_t first_without = -1;
  for (int64_t i = 0; i < count; ++i) {
    int64_t sequence = names_all ? next_ + i : args.sequences[i];
    if (names_all && sequence >= count) sequence -= count;
    SessionSequence &own = table_[sequence];
    if (!own.runs()) continue;
    plan_sequence(entry, int32_t(sequence), args, is_waiting, &room, &drafter_room);
    const bool has_none = own.target.num_tokens + own.drafter.num_tokens == 0;
    if (has_none && first_without < 0) first_without = sequence;
  }
  if (names_all && first_without >= 0) next_ = first_without;
  gamma_.end_plan(entry, args);
}

bool Session::is_planned(const sampler_span &span, bool of_drafter) const {
  const SessionSequence *const own = find(span.sequence);
  if (!own || !own->runs()) return false;
  const PlannedSpan &planned = of_drafter ? own->drafter : own->target;
  return planned.num_tokens > 0 && planned.plan == span.plan &&
         planned.num_tokens == span.num_tokens && planned.start == span.start &&
         planned.num_logits == span.num_logits;
}

// ---- Advances -----------------------------------------------------------------------------------

// Runs all calls of a step in order, and downloads their results.
sampler_status Session::run_calls(abi::Entry &entry, const sampler_session_advance_args &args) {
  requests_.place_arrays(host_->needs_ends(), args.guidance_logits != nullptr);
  sampler_status status = drafts_.run(entry, args);
  if (status == SAMPLER_OK) status = verified_.run(entry, args);
  if (status == SAMPLER_OK) status = drafts_.keep_rows(entry, args);
  if (status == SAMPLER_OK) status = transfer_.download(entry);
  if (status == SAMPLER_OK && host_->rules().skips_adjustment) {
    status = verified_.redraw(entry, args, &drafts_.spare_draws());
  }
  return status == SAMPLER_OK ? drafts_.adapt(entry, args) : status;
}

// Updates the sequence of a span after the span's logits.
void Session::finish_span(abi::Entry &entry, const sampler_session_advance_args &args,
                          int64_t index) {
  const sampler_span &span = args.spans[index];
  SessionSequence &own = table_[span.sequence];
  const int64_t before = verified_.length_before(index), count = own.length - before;
  int64_t num_kept = 0;
  own.target = {};
  if (span.num_logits == 0) {
    own.cache_length = span.start + span.num_tokens;
  } else {
    num_kept = own.num_accepted - args.out_counts[index];
    const bool is_tree = own.group == DraftGroup::kTrees;
    const int64_t num_cached = is_tree ? std::min(num_kept, own.num_first) : num_kept;
    // A running sequence needs the logits of its last token, or its whole last block.
    own.cache_length = own.block.is_used() ? own.block.begin_of(before)
                                           : std::min(before + num_cached, own.length - own.runs());
    own.drafter_cache_length = std::min(own.drafter_cache_length, own.cache_length);
    gamma_.count(span, before, num_kept);
    own.num_drafted += own.num_drafts;
    own.num_steps += count > 0;
    own.num_drafts = own.num_first = own.num_siblings = 0;
    own.is_drafted = own.is_in_step = false;
    own.step_drafts = own.most_drafts;
    own.entropy = own.step_entropy;
    own.row_entropy = contract::quiet_nan();
    if (!host_->rules().learns_late) learn(entry, span.sequence, before);
  }
  args.out_counts[index] = count;
  if (args.out_finish_reasons) args.out_finish_reasons[index] = own.reason;
  if (args.out_cache_lengths) args.out_cache_lengths[index] = own.cache_length;
  if (args.out_drafter_cache_lengths) {
    args.out_drafter_cache_lengths[index] = own.drafter_cache_length;
  }
  if (args.out_accepted_counts) args.out_accepted_counts[index] = num_kept;
  if (args.out_row_status) args.out_row_status[index] = own.row_status;
}

sampler_status Session::advance(abi::Entry &entry, const sampler_session_advance_args &args) {
  sampler_status status = settle(entry);
  if (status != SAMPLER_OK) return status;
  drafts_.find(args);
  verified_.find(args);
  status = run_calls(entry, args);
  if (status != SAMPLER_OK) return status;
  drafts_.take(args);
  verified_.take(entry, args);
  gamma_.begin_spans(args);
  for (int64_t i = 0; i < args.num_spans; ++i) finish_span(entry, args, i);
  gamma_.end_spans(entry);
  return SAMPLER_OK;
}

}  // namespace sampler::decoding
