#include "decoding/session.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "capi/structs.h"
#include "contract/elements.h"
#include "contract/float_bits.h"
#include "sampler/sampler.h"

namespace sampler::decoding {

namespace {

// An id that no row has: it fills lists of end tokens.
constexpr int32_t kNoToken = INT32_MAX;

// Calls one of the library's functions, to which the session is a host.
template <class Call>
sampler_status call_library(capi::Entry &entry, const Call &call) {
  return entry.call_host(call);
}

// Calls a caller's n-grams. False: they failed.
template <class Call>
bool call_ngram(capi::Entry &entry, const Call &call) {
  try {
    return entry.call_host(call) == SAMPLER_OK;
  } catch (...) {
    return false;
  }
}

// Temperature, top-k, top-p and min-p alone: what a drafter's tokens are drawn by.
sampler_params plain(const sampler_params &params) {
  sampler_params result = sampler_params_default();
  result.temperature = params.temperature;
  result.top_p = params.top_p;
  result.min_p = params.min_p;
  result.top_k = params.top_k;
  result.top_k_ties = params.top_k_ties;
  result.top_p_ties = params.top_p_ties;
  result.filter_order = params.filter_order;
  result.temperature_order = params.temperature_order;
  return result;
}

}  // namespace

// ---- Memory ------------------------------------------------------------------------------------

size_t Session::element_size() const {
  return contract::size_of(sampler_dtype(config_.options.logits_dtype));
}

size_t Session::lookup_bytes() const {
  const int64_t tokens = config_.options.lookup_tokens;
  return tokens > 0 ? (PromptLookup::memory_bytes(tokens) + 63) / 64 * 64 : 0;
}

Session::Session(const Config &config, sampler_handle *handle, Arena *arena)
    : config_(config),
      handle_(handle),
      numbers_(config.params, config.options.max_sequences, arena) {
  const sampler_session_options &options = config.options;
  const int64_t count = options.max_sequences, top = options.max_top_logprobs;
  config_.options.params = nullptr;
  config_.options.pipeline = nullptr;
  sequences_ = arena->take<SessionSequence>(count);
  tokens_ = arena->take<int32_t>(count, text_stride());
  ends_ = arena->take<int32_t>(count, options.max_end_tokens);
  end_offsets_ = arena->take<int64_t>(count + 1);
  stop_tokens_ = arena->take<int32_t>(count, options.max_stop_tokens);
  stop_offsets_ = arena->take<int64_t>(count, options.max_stop_sequences + 1);
  seeds_ = arena->take<uint64_t>(count);
  offsets_ = arena->take<uint64_t>(count);
  free_ = arena->take<int32_t>(count);
  marks_ = arena->take<uint64_t>(count);
  lookups_ = arena->take<PromptLookup>(options.lookup_tokens > 0 ? count : 0);
  lookup_memory_ = arena->take<char>(count, int64_t(lookup_bytes()));
  drafter_rows_ = nullptr;
  if (options.keep_drafter_rows) {
    const int64_t row_bytes = num_cols() * int64_t(element_size());
    drafter_rows_ = arena->take<unsigned char>(count * max_drafts(), row_bytes);
  }
  active_ = arena->take<Active>(count);
  lengths_before_ = arena->take<int64_t>(count);
  row_indices_ = arena->take<int32_t>(count);
  slots_ = arena->take<int32_t>(count);
  drawn_.masks = arena->take<int32_t>(count);
  drawn_.token_ids = arena->take<int32_t>(count);
  drawn_.logprobs = arena->take<float>(count);
  drawn_.observations = arena->take<float>(count);
  drawn_.top_token_ids = arena->take<int32_t>(count, top);
  drawn_.top_logprobs = arena->take<float>(count, top);
  row_status_ = arena->take<sampler_row_status>(count);
  const int64_t num_places = options.keep_drafter_rows ? max_drafts() + 1 : 0;
  packing_offsets_ = arena->take<int32_t>(count + 1);
  draft_ids_ = arena->take<int32_t>(count, num_places);
  target_rows_ = arena->take<int32_t>(count, num_places);
  num_kept_ = arena->take<int32_t>(count);
  verified_.masks = arena->take<int32_t>(count, num_places);
  verified_.token_ids = arena->take<int32_t>(count, num_places);
  verified_.logprobs = arena->take<float>(count, num_places);
  verified_.observations = arena->take<float>(count, num_places);
  verified_.top_token_ids = arena->take<int32_t>(count, num_places * top);
  verified_.top_logprobs = arena->take<float>(count, num_places * top);
  if (!sequences_) return;
  num_free_ = count;
  for (int64_t i = 0; i < count; ++i) {
    free_[i] = int32_t(count - 1 - i);
    sequences_[i] = {};
    marks_[i] = seeds_[i] = offsets_[i] = 0;
  }
  std::fill_n(ends_, count * options.max_end_tokens, kNoToken);
  for (int64_t i = 0; i <= count; ++i) end_offsets_[i] = i * options.max_end_tokens;
}

// ---- Calls of the library ----------------------------------------------------------------------

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
  args.out_token_ids = drawn_.token_ids;
  args.out_row_status = row_status_;
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

// Of chains with any numbers of drafts, whose rows of the drafter are the session's. The target's
// rows are missing.
sampler_verify_args Session::verify_args(const sampler_params &params,
                                         const sampler_row_params &row_params,
                                         const sampler_pipeline &pipeline,
                                         const sampler_params &draft_params,
                                         const sampler_row_params &draft_row_params,
                                         int64_t num_chains, int64_t num_drafts) const {
  auto args = capi::sized<sampler_verify_args>();
  args.exec = exec_;
  args.target = rows_of(nullptr, 0, 0);
  args.num_drafts = max_drafts();
  args.num_sequences = num_chains;
  args.packing = SAMPLER_PACKING_DRAFTS;
  args.packing_offsets = packing_offsets_;
  args.num_packed_drafts = num_drafts;
  args.num_packed_positions = num_drafts + num_chains;
  args.target_row_indices = target_rows_;
  args.draft_token_ids = draft_ids_;
  if (max_drafts() > 0) {
    args.draft = rows_of(drafter_rows_, num_sequences() * max_drafts(), 0);
    args.draft_rows_by_slot = 1;
    args.draft_params = &draft_params;
    args.draft_row_params = &draft_row_params;
  }
  args.slots = slots_;
  args.num_slots = num_sequences();
  args.params = &params;
  args.row_params = &row_params;
  args.pipeline = &pipeline;
  args.random.seeds = seeds_;
  args.random.offsets = offsets_;
  args.random.num_seeds = args.random.num_offsets = num_sequences();
  args.out_token_ids = verified_.token_ids;
  args.out_emitted_counts = num_kept_;
  args.out_row_status = row_status_;
  return args;
}

sampler_status Session::ask_workspace(capi::Entry &entry, size_t *out_bytes) const {
  // Of arrays only whether they are there matters.
  static constexpr uint64_t kSomewhere[2] = {};
  void *const there = const_cast<uint64_t *>(kSomewhere);
  const int64_t count = num_sequences();
  const int64_t num_rows = count * (max_drafts() + 1);
  auto args = capi::sized<sampler_sample_args>();
  args.input = rows_of(there, num_rows, 0);
  args.row_indices = static_cast<int32_t *>(there);
  args.num_row_indices = count;
  args.slots = static_cast<int32_t *>(there);
  args.num_slots = count;
  args.random.seeds = args.random.offsets = static_cast<uint64_t *>(there);
  args.random.num_seeds = args.random.num_offsets = count;
  args.out_token_ids = there;
  args.out_row_status = static_cast<sampler_row_status *>(there);
  args.out_logprobs = args.out_observations = static_cast<float *>(there);
  if (config_.options.max_top_logprobs > 0) {
    args.num_top_logprobs = config_.options.max_top_logprobs;
    args.out_top_token_ids = there;
    args.out_top_logprobs = static_cast<float *>(there);
  }
  size_t most = 0;
  const auto ask = [&] {
    size_t bytes = 0;
    const sampler_status status =
        call_library(entry, [&] { return sampler_sample_workspace_size(handle_, &args, &bytes); });
    most = std::max(most, bytes);
    return status;
  };

  // Plain, with and without numbers by sequence; then with all that there can be.
  const sampler_params plain_params = plain(config_.params);
  auto row_params = capi::sized<sampler_row_params>();
  args.params = &plain_params;
  args.row_params = &row_params;
  sampler_status status = ask();
  if (status != SAMPLER_OK) return status;
  const auto *const numbers = static_cast<const float *>(there);
  row_params.temperature = row_params.top_p = row_params.min_p = numbers;
  row_params.top_k = static_cast<const int32_t *>(there);
  if ((status = ask()) != SAMPLER_OK) return status;

  args.params = &config_.params;
  row_params = capi::sized<sampler_row_params>();
  const sampler_row_params all_numbers = numbers_.all_arrays(there);
  const bool has_minimum = all_numbers.min_new_tokens != nullptr;
  sampler_pipeline pipeline = make_pipeline(has_minimum);
  if (!pipeline.state) {
    pipeline.history = {static_cast<int64_t *>(there), there, count, 1};
    pipeline.max_history_tokens = config_.options.max_context;
  }
  if (pipeline.stop.num_lists == count && !pipeline.stop.offsets) {
    pipeline.stop.offsets = static_cast<int64_t *>(there);
    pipeline.stop.token_ids = there;
  }
  if (pipeline.token_bitmasks) pipeline.token_bitmask_indices = static_cast<int32_t *>(there);
  args.pipeline = &pipeline;
  if ((status = ask()) != SAMPLER_OK) return status;
  row_params = all_numbers;
  if ((status = ask()) != SAMPLER_OK) return status;

  if (config_.options.keep_drafter_rows) {
    const sampler_row_params plain_numbers = numbers_.all_plain_arrays(there);
    sampler_verify_args verify = verify_args(config_.params, row_params, pipeline, plain_params,
                                             plain_numbers, count, count * max_drafts());
    const sampler_sample_args wanted = args;
    verify.target = wanted.input;
    if (max_drafts() > 0) verify.draft.values = there;
    verify.slots = static_cast<int32_t *>(there);
    verify.random = wanted.random;
    verify.draft_token_ids = there;
    verify.packing_offsets = verify.target_row_indices = static_cast<int32_t *>(there);
    verify.out_token_ids = there;
    verify.out_emitted_counts = static_cast<int32_t *>(there);
    verify.out_row_status = wanted.out_row_status;
    verify.out_logprobs = verify.out_observations = wanted.out_logprobs;
    verify.num_top_logprobs = wanted.num_top_logprobs;
    verify.out_top_token_ids = wanted.out_top_token_ids;
    verify.out_top_logprobs = wanted.out_top_logprobs;
    size_t bytes = 0;
    status = call_library(entry,
                          [&] { return sampler_verify_workspace_size(handle_, &verify, &bytes); });
    most = std::max(most, bytes);
  }
  *out_bytes = most;
  return status;
}

sampler_status Session::start(capi::Entry &entry, void *workspace, size_t workspace_bytes) {
  exec_.workspace = workspace;
  exec_.workspace_bytes = workspace_bytes;
  auto options = capi::sized<sampler_state_options>();
  options.num_slots = num_sequences();
  options.max_tokens = config_.options.max_context;
  return call_library(entry, [&] { return sampler_state_create(handle_, &options, &state_); });
}

sampler_status Session::check_params(capi::Entry &entry, const sampler_params &params,
                                     bool is_standard) const {
  // Of no rows: they check their arguments, and draw nothing.
  auto row_params = capi::sized<sampler_row_params>();
  sampler_sample_args args = sample_args(params, row_params);
  args.input = rows_of(nullptr, 0, 0);
  args.row_indices = nullptr;
  sampler_pipeline pipeline = make_pipeline(SessionNumbers::has_minimum(params));
  if (pipeline.token_bitmasks) pipeline.token_bitmask_indices = drawn_.masks;
  args.pipeline = &pipeline;
  const sampler_status status = call_library(entry, [&] { return sampler_sample(handle_, &args); });
  if (status != SAMPLER_OK || !is_standard) return status;
  const sampler_params draft_params = plain(params);
  sampler_verify_args verify =
      verify_args(params, row_params, pipeline, draft_params, row_params, 0, 0);
  return call_library(entry, [&] { return sampler_verify(handle_, &verify); });
}

// ---- Sequences ---------------------------------------------------------------------------------

sampler_params Session::params_of(int32_t sequence) const {
  sampler_params params = config_.params;
  numbers_.get(sequence, &params);
  return params;
}

bool Session::is_end(int32_t sequence, int32_t token) {
  const int32_t *const ends = ends_of(sequence);
  const int32_t *const end = ends + sequences_[sequence].num_ends;
  return std::find(ends, end, token) != end;
}

// The first of the stop sequences that the new tokens end in; -1: in none.
int64_t Session::find_stop(int32_t sequence) const {
  const SessionSequence &own = sequences_[sequence];
  const int64_t *const offsets =
      stop_offsets_ + sequence * (config_.options.max_stop_sequences + 1);
  const int32_t *const tokens = stop_tokens_ + sequence * config_.options.max_stop_tokens;
  const int32_t *const text_end = text(sequence) + own.length;
  for (int64_t i = 0; i < own.num_stops; ++i) {
    const int64_t length = offsets[i + 1] - offsets[i];
    if (length > own.num_new()) continue;
    if (std::equal(tokens + offsets[i], tokens + offsets[i + 1], text_end - length)) return i;
  }
  return -1;
}

void Session::finish_if_full(int32_t sequence) {
  SessionSequence &own = sequences_[sequence];
  if (own.reason != SAMPLER_FINISH_NONE) return;
  if (own.length >= own.max_length) {
    own.reason = SAMPLER_FINISH_LENGTH;
  } else if (own.length >= config_.options.max_context) {
    own.reason = SAMPLER_FINISH_CONTEXT;
  }
}

void Session::append(int32_t sequence, int32_t token) {
  SessionSequence &own = sequences_[sequence];
  tokens_of(sequence)[own.length++] = token;
  if (is_end(sequence, token)) {
    own.reason = SAMPLER_FINISH_END_TOKEN;
  } else if ((own.stop_sequence = find_stop(sequence)) >= 0) {
    own.reason = SAMPLER_FINISH_STOP_SEQUENCE;
  }
  finish_if_full(sequence);
}

sampler_status Session::add(capi::Entry &entry, const sampler_session_add_args &args,
                            const sampler_params &params, int32_t *out_sequence) {
  const sampler_session_options &options = config_.options;
  if (args.draft_source == SAMPLER_DRAFTS_NGRAM) {
    const sampler_status status = entry.call_host(
        [&] { return args.ngram->initialize(args.ngram->user, args.token_ids, args.num_tokens); });
    if (status != SAMPLER_OK) {
      return capi::fail(entry, status, "initialize of ngram returned %d", int(status));
    }
  }
  const int32_t sequence = free_[num_free_ - 1];
  const int64_t prompt_length = args.prompt_length ? args.prompt_length : args.num_tokens;

  auto reset = capi::sized<sampler_state_reset_args>();
  reset.state = state_;
  reset.slots = &sequence;
  reset.num_rows = 1;
  sampler_status status = call_library(entry, [&] { return sampler_state_reset(handle_, &reset); });
  const int64_t places[3] = {0, prompt_length, args.num_tokens};
  for (int i = 0; status == SAMPLER_OK && i < 2; ++i) {
    auto text = capi::sized<sampler_state_append_args>();
    text.state = state_;
    text.slots = &sequence;
    text.num_rows = 1;
    text.tokens = {places + i, args.token_ids, 1, args.num_tokens};
    text.token_kind = i == 0 ? SAMPLER_TOKENS_PROMPT : SAMPLER_TOKENS_OUTPUT;
    status = call_library(entry, [&] { return sampler_state_append(handle_, &text); });
  }
  if (status != SAMPLER_OK) return status;

  SessionSequence &own = sequences_[sequence];
  own = {};
  own.is_used = true;
  own.source = args.draft_source;
  own.is_drafting = own.source != SAMPLER_DRAFTS_NONE;
  own.is_standard = args.verification == SAMPLER_VERIFY_STANDARD;
  own.drafts_unknown = args.draft_unknown != 0;
  own.stop_sequence = -1;
  own.length = args.num_tokens;
  own.prompt_length = prompt_length;
  own.max_length = args.max_new_tokens ? prompt_length + args.max_new_tokens : INT64_MAX;
  own.cache_length = args.cache_length;
  own.drafter_cache_length = args.drafter_cache_length;
  own.most_drafts = args.num_drafts ? args.num_drafts : max_drafts();
  own.min_match = std::max<int64_t>(args.min_match, 1);
  own.num_ends = args.num_end_tokens;
  own.num_stops = args.stop_sequences.num_lists;
  if (own.source == SAMPLER_DRAFTS_NGRAM) own.ngram = *args.ngram;
  std::copy_n(args.token_ids, args.num_tokens, tokens_of(sequence));
  int32_t *const ends = ends_of(sequence);
  std::fill_n(std::copy_n(args.end_token_ids, own.num_ends, ends),
              options.max_end_tokens - own.num_ends, kNoToken);
  if (own.num_stops > 0) {
    int64_t *const offsets = stop_offsets_ + sequence * (options.max_stop_sequences + 1);
    const int64_t first = args.stop_sequences.offsets[0];
    for (int64_t i = 0; i <= own.num_stops; ++i) {
      offsets[i] = args.stop_sequences.offsets[i] - first;
    }
    std::copy_n(static_cast<const int32_t *>(args.stop_sequences.token_ids) + first,
                offsets[own.num_stops], stop_tokens_ + sequence * options.max_stop_tokens);
  }
  seeds_[sequence] = args.seed;
  numbers_.set(sequence, params);
  if (own.source == SAMPLER_DRAFTS_PROMPT_LOOKUP) {
    new (&lookups_[sequence]) PromptLookup(lookup_memory_ + size_t(sequence) * lookup_bytes(),
                                           options.lookup_tokens, {own.min_match, INT64_MAX});
    learn(entry, sequence, 0);
  }
  finish_if_full(sequence);
  --num_free_;
  *out_sequence = sequence;
  return SAMPLER_OK;
}

sampler_status Session::fork(capi::Entry &entry, int32_t source, const uint64_t *seed,
                             const sampler_params *params, int32_t *out_sequence) {
  const sampler_session_options &options = config_.options;
  const int32_t sequence = free_[num_free_ - 1];
  auto copy = capi::sized<sampler_state_copy_args>();
  copy.source = copy.destination = state_;
  copy.source_slots = &source;
  copy.destination_slots = &sequence;
  copy.num_rows = 1;
  const sampler_status status =
      call_library(entry, [&] { return sampler_state_copy(handle_, &copy); });
  if (status != SAMPLER_OK) return status;

  SessionSequence &own = sequences_[sequence];
  own = sequences_[source];
  own.target = own.drafter = {};
  own.is_drafted = false;
  own.num_drafts = 0;
  own.drafter_cache_length = std::min(own.drafter_cache_length, own.length - 1);
  std::copy_n(text(source), own.length, tokens_of(sequence));
  std::copy_n(ends_of(source), options.max_end_tokens, ends_of(sequence));
  std::copy_n(stop_tokens_ + source * options.max_stop_tokens, options.max_stop_tokens,
              stop_tokens_ + sequence * options.max_stop_tokens);
  const int64_t num_offsets = options.max_stop_sequences + 1;
  std::copy_n(stop_offsets_ + source * num_offsets, num_offsets,
              stop_offsets_ + sequence * num_offsets);
  seeds_[sequence] = seed ? *seed : seeds_[source];
  numbers_.set(sequence, params ? *params : params_of(source));
  if (own.source == SAMPLER_DRAFTS_PROMPT_LOOKUP && own.is_drafting) {
    new (&lookups_[sequence])
        PromptLookup(lookups_[source], lookup_memory_ + size_t(sequence) * lookup_bytes());
  }
  --num_free_;
  *out_sequence = sequence;
  return SAMPLER_OK;
}

void Session::remove(int32_t sequence) {
  sequences_[sequence] = {};
  std::fill_n(ends_of(sequence), config_.options.max_end_tokens, kNoToken);
  numbers_.clear(sequence);
  free_[num_free_++] = sequence;
}

// ---- Drafts ------------------------------------------------------------------------------------

int64_t Session::wanted_drafts(const SessionSequence &sequence) const {
  if (!sequence.is_drafting || sequence.num_new() == 0) return 0;
  const int64_t end = std::min(sequence.max_length, config_.options.max_context);
  int64_t wanted = std::min(sequence.most_drafts, end - sequence.length - 1);
  if (sequence.source == SAMPLER_DRAFTS_MODEL) {
    // All drafts but the last are fed.
    const int64_t room = config_.options.drafter_context ? config_.options.drafter_context
                                                         : config_.options.max_context;
    wanted = std::min(wanted, room - sequence.length + 1);
  }
  return std::max<int64_t>(wanted, 0);
}

void Session::draft_by_lookup(int32_t sequence) {
  SessionSequence &own = sequences_[sequence];
  int32_t *const drafts = tokens_of(sequence) + own.length;
  const int64_t count = lookups_[sequence].propose(wanted_drafts(own), drafts);
  own.num_drafts = 0;
  while (own.num_drafts < count) {
    if (is_end(sequence, drafts[own.num_drafts++])) break;
  }
}

void Session::draft_by_ngram(capi::Entry &entry, int32_t sequence) {
  SessionSequence &own = sequences_[sequence];
  int32_t *const tokens = tokens_of(sequence);
  const int64_t wanted = wanted_drafts(own);
  for (own.num_drafts = 0; own.num_drafts < wanted;) {
    const int64_t length = own.length + own.num_drafts;
    int32_t token = -1, known = 0;
    const bool is_well = call_ngram(entry, [&] {
      return own.ngram.next_token(own.ngram.user, tokens, length, seeds_[sequence],
                                  uint64_t(length - own.prompt_length), &token, &known);
    });
    if (!is_well) own.is_drafting = false;
    if (!is_well || !(known || own.drafts_unknown) || !is_draft(token)) return;
    tokens[length] = token;
    ++own.num_drafts;
    if (is_end(sequence, token)) return;
  }
}

// Teaches the draft source the text from `begin` on.
void Session::learn(capi::Entry &entry, int32_t sequence, int64_t begin) {
  SessionSequence &own = sequences_[sequence];
  if (!own.is_drafting) return;
  const int32_t *const tokens = text(sequence);
  if (own.source == SAMPLER_DRAFTS_PROMPT_LOOKUP) {
    PromptLookup &lookup = lookups_[sequence];
    if (own.length > lookup.max_tokens()) {
      own.is_drafting = false;
      return;
    }
    for (int64_t i = begin; i < own.length; ++i) lookup.append(tokens[i]);
  } else if (own.source == SAMPLER_DRAFTS_NGRAM) {
    for (int64_t i = begin; own.is_drafting && i < own.length; ++i) {
      own.is_drafting = call_ngram(
          entry, [&] { return own.ngram.update(own.ngram.user, tokens, i, tokens + i, 1); });
    }
  }
}

// ---- Spans -------------------------------------------------------------------------------------

// Tokens [begin, end), of which the last `last_part` stay together, or as many as there is room
// for. False: none.
bool Session::make_span(int64_t begin, int64_t end, int64_t last_part, int64_t num_logits,
                        int64_t *room, PlannedSpan *out) const {
  *out = {};
  if (end - begin <= *room) {
    *out = {begin, end - begin, num_logits};
  } else {
    const int64_t part = std::min(*room, end - last_part - begin);
    if (part <= 0) return false;
    *out = {begin, part, 0};
  }
  *room -= out->num_tokens;
  return true;
}

sampler_span Session::planned_span(int32_t sequence, const PlannedSpan &planned) const {
  return {sequence,          0, planned.start, text(sequence) + planned.start, planned.num_tokens,
          planned.num_logits};
}

void Session::plan_sequence(capi::Entry &entry, int32_t sequence,
                            const sampler_session_plan_args &args, int64_t *room,
                            int64_t *drafter_room) {
  SessionSequence &own = sequences_[sequence];
  own.target = own.drafter = {};
  if (!own.is_drafted) {
    switch (own.is_drafting ? own.source : SAMPLER_DRAFTS_NONE) {
      case SAMPLER_DRAFTS_MODEL:
        if (own.num_drafts < wanted_drafts(own)) {
          const int64_t end = own.length + own.num_drafts;
          const int64_t begin = std::min(own.drafter_cache_length, end - 1);
          if (make_span(begin, end, 1, 1, drafter_room, &own.drafter)) {
            args.out_drafter_spans[(*args.out_num_drafter_spans)++] =
                planned_span(sequence, own.drafter);
          }
          return;
        }
        break;
      case SAMPLER_DRAFTS_NGRAM:
        draft_by_ngram(entry, sequence);
        break;
      case SAMPLER_DRAFTS_PROMPT_LOOKUP:
        draft_by_lookup(sequence);
        break;
      default:
        own.num_drafts = 0;
    }
    own.is_drafted = true;
  }
  const int64_t num_logits = own.num_drafts + 1;
  if (make_span(own.cache_length, own.length + own.num_drafts, num_logits, num_logits, room,
                &own.target)) {
    args.out_spans[(*args.out_num_spans)++] = planned_span(sequence, own.target);
  }
}

void Session::plan(capi::Entry &entry, const sampler_session_plan_args &args) {
  int64_t room = args.max_tokens ? args.max_tokens : INT64_MAX, drafter_room = room;
  *args.out_num_spans = 0;
  if (args.out_num_drafter_spans) *args.out_num_drafter_spans = 0;
  const bool names_all = !args.sequences;
  const int64_t count = names_all ? num_sequences() : args.num_sequences;
  int64_t first_without = -1;
  for (int64_t i = 0; i < count; ++i) {
    int64_t sequence = names_all ? next_ + i : args.sequences[i];
    if (names_all && sequence >= count) sequence -= count;
    SessionSequence &own = sequences_[sequence];
    if (!own.runs()) continue;
    plan_sequence(entry, int32_t(sequence), args, &room, &drafter_room);
    const bool has_none = own.target.num_tokens + own.drafter.num_tokens == 0;
    if (has_none && first_without < 0) first_without = sequence;
  }
  if (names_all && first_without >= 0) next_ = first_without;
}

bool Session::is_planned(const sampler_span &span, bool of_drafter) const {
  const SessionSequence *const own = find(span.sequence);
  if (!own || !own->runs()) return false;
  const PlannedSpan &planned = of_drafter ? own->drafter : own->target;
  return planned.num_tokens > 0 && planned.num_tokens == span.num_tokens &&
         planned.start == span.start && planned.num_logits == span.num_logits;
}

// ---- Steps -------------------------------------------------------------------------------------

unsigned char *Session::drafter_row(int32_t sequence, int64_t draft) const {
  return drafter_rows_ +
         size_t(sequence * max_drafts() + draft) * size_t(num_cols()) * element_size();
}

// From the drafter's rows: each gives its sequence a draft.
sampler_status Session::take_drafts(capi::Entry &entry, const sampler_session_advance_args &args) {
  int64_t num_rows = 0;
  for (int64_t i = 0; i < args.num_drafter_spans; ++i) {
    const sampler_span &span = args.drafter_spans[i];
    if (span.num_logits == 0) continue;
    const SessionSequence &own = sequences_[span.sequence];
    row_indices_[num_rows] = int32_t(num_rows);
    slots_[num_rows++] = span.sequence;
    offsets_[span.sequence] = uint64_t(own.num_new() + own.num_drafts);
  }
  if (num_rows > 0) {
    const sampler_params params = plain(config_.params);
    const sampler_row_params row_params = numbers_.arrays(true);
    sampler_sample_args sample = sample_args(params, row_params);
    sample.input = rows_of(args.drafter_logits, num_rows, args.drafter_row_stride);
    sample.num_row_indices = num_rows;
    const sampler_status status =
        call_library(entry, [&] { return sampler_sample(handle_, &sample); });
    if (status != SAMPLER_OK) return status;
  }
  const size_t row_bytes = size_t(num_cols()) * element_size();
  const size_t stride_bytes =
      args.drafter_row_stride ? size_t(args.drafter_row_stride) * element_size() : row_bytes;
  int64_t row = 0;
  for (int64_t i = 0; i < args.num_drafter_spans; ++i) {
    const sampler_span &span = args.drafter_spans[i];
    SessionSequence &own = sequences_[span.sequence];
    own.drafter_cache_length = span.start + span.num_tokens;
    own.drafter = {};
    if (span.num_logits == 0) continue;
    if (row_status_[row] != SAMPLER_ROW_OK) {
      own.is_drafted = true;
    } else {
      if (own.is_standard) {
        std::memcpy(
            drafter_row(span.sequence, own.num_drafts),
            static_cast<const unsigned char *>(args.drafter_logits) + size_t(row) * stride_bytes,
            row_bytes);
      }
      tokens_of(span.sequence)[own.length + own.num_drafts++] = drawn_.token_ids[row];
      if (is_end(span.sequence, drawn_.token_ids[row])) own.is_drafted = true;
    }
    ++row;
  }
  return SAMPLER_OK;
}

// Tells the state what was drawn, a row of num_tokens each of `num_rows` slots_.
sampler_status Session::accept(capi::Entry &entry, int64_t num_rows, const int32_t *token_ids,
                               int64_t num_tokens, const float *observations) {
  auto args = capi::sized<sampler_accept_args>();
  args.state = state_;
  args.slots = slots_;
  args.num_rows = num_rows;
  args.token_ids = token_ids;
  args.num_tokens = num_tokens;
  const sampler_row_params row_params = numbers_.arrays(false);
  if (observations) {
    args.observations = observations;
    args.params = &config_.params;
    args.row_params = &row_params;
  }
  return call_library(entry, [&] { return sampler_accept(handle_, &args); });
}

// A token from the row of each active sequence.
sampler_status Session::sample_active(capi::Entry &entry, const sampler_session_advance_args &args,
                                      int64_t num_rows) {
  for (int64_t i = 0; i < num_active_; ++i) {
    const Active &active = active_[i];
    const int64_t row = active.first_row + active.position;
    row_indices_[i] = int32_t(row);
    slots_[i] = active.sequence;
    if (args.token_bitmask_indices) drawn_.masks[i] = args.token_bitmask_indices[row];
    offsets_[active.sequence] = uint64_t(sequences_[active.sequence].num_new());
  }
  const sampler_row_params row_params = numbers_.arrays(false);
  sampler_sample_args sample = sample_args(config_.params, row_params);
  sample.input = rows_of(args.logits, num_rows, args.logits_row_stride);
  sample.num_row_indices = num_active_;
  sampler_pipeline pipeline = make_pipeline(numbers_.has_minimum());
  if (pipeline.token_bitmasks) pipeline.token_bitmask_indices = drawn_.masks;
  sample.pipeline = &pipeline;
  sample.logprob_kind = args.logprob_kind;
  const bool has_observations = numbers_.has_adaptive();
  if (has_observations) sample.out_observations = drawn_.observations;
  if (args.out_logprobs) sample.out_logprobs = drawn_.logprobs;
  if (args.num_top_logprobs > 0) {
    sample.num_top_logprobs = args.num_top_logprobs;
    if (args.out_top_token_ids) sample.out_top_token_ids = drawn_.top_token_ids;
    if (args.out_top_logprobs) sample.out_top_logprobs = drawn_.top_logprobs;
  }
  const sampler_status status =
      call_library(entry, [&] { return sampler_sample(handle_, &sample); });
  if (status != SAMPLER_OK) return status;
  for (int64_t i = 0; i < num_active_; ++i) {
    if (row_status_[i] != SAMPLER_ROW_OK) drawn_.token_ids[i] = -1;  // not the fallback token
  }
  return accept(entry, num_active_, drawn_.token_ids, 1,
                has_observations ? drawn_.observations : nullptr);
}

// The token of an active sequence becomes text, and goes out. `place`: where it is in `from`.
void Session::take_token(const sampler_session_advance_args &args, const Active &active,
                         const Drawn &from, int64_t place, sampler_row_status row_status) {
  SessionSequence &own = sequences_[active.sequence];
  const int32_t token = from.token_ids[place];
  if (token < 0) {
    own.reason = SAMPLER_FINISH_BAD_ROW;
    own.row_status = row_status;
    return;
  }
  append(active.sequence, token);
  const int64_t out = active.span * (max_drafts() + 1) + active.position;
  args.out_token_ids[out] = token;
  if (args.out_logprobs) args.out_logprobs[out] = from.logprobs[place];
  const int64_t top = args.num_top_logprobs;
  if (top > 0 && args.out_top_token_ids) {
    std::copy_n(from.top_token_ids + place * top, top, args.out_top_token_ids + out * top);
  }
  if (top > 0 && args.out_top_logprobs) {
    std::copy_n(from.top_logprobs + place * top, top, args.out_top_logprobs + out * top);
  }
}

// Position after position, of those sequences whose drafts have all been the target's tokens.
sampler_status Session::match(capi::Entry &entry, const sampler_session_advance_args &args,
                              int64_t num_rows) {
  num_active_ = 0;
  int64_t row = 0;
  for (int64_t i = 0; i < args.num_spans; ++i) {
    const sampler_span &span = args.spans[i];
    if (span.num_logits > 0 && !sequences_[span.sequence].is_standard) {
      active_[num_active_++] = {i, 0, row, span.sequence};
    }
    row += span.num_logits;
  }
  while (num_active_ > 0) {
    const sampler_status status = sample_active(entry, args, num_rows);
    if (status != SAMPLER_OK) return status;
    int64_t num_left = 0;
    for (int64_t i = 0; i < num_active_; ++i) {
      Active active = active_[i];
      SessionSequence &own = sequences_[active.sequence];
      // The draft, in whose place the token is put.
      const int32_t draft = text(active.sequence)[own.length];
      take_token(args, active, drawn_, i, row_status_[i]);
      const bool is_kept = active.position < own.num_drafts && draft == drawn_.token_ids[i];
      own.num_accepted += is_kept;
      ++active.position;
      if (is_kept && own.runs()) active_[num_left++] = active;
    }
    num_active_ = num_left;
  }
  return SAMPLER_OK;
}

// Those with SAMPLER_VERIFY_STANDARD, in one call.
sampler_status Session::verify(capi::Entry &entry, const sampler_session_advance_args &args,
                               int64_t num_rows) {
  const int64_t num_positions = max_drafts() + 1;
  num_active_ = 0;
  int64_t row = 0, num_drafts = 0;
  for (int64_t i = 0; i < args.num_spans; ++i) {
    const sampler_span &span = args.spans[i];
    const int64_t first_row = row;
    row += span.num_logits;
    const SessionSequence &own = sequences_[span.sequence];
    if (span.num_logits == 0 || !own.is_standard) continue;
    slots_[num_active_] = span.sequence;
    offsets_[span.sequence] = uint64_t(own.num_new());
    packing_offsets_[num_active_] = int32_t(num_drafts);
    std::copy_n(text(span.sequence) + own.length, own.num_drafts, draft_ids_ + num_drafts);
    for (int64_t j = 0; j <= own.num_drafts; ++j) {
      target_rows_[num_drafts + num_active_ + j] = int32_t(first_row + j);
      if (args.token_bitmask_indices) {
        verified_.masks[num_active_ * num_positions + j] =
            args.token_bitmask_indices[first_row + j];
      }
    }
    for (int64_t j = own.num_drafts + 1; args.token_bitmask_indices && j < num_positions; ++j) {
      verified_.masks[num_active_ * num_positions + j] = -1;
    }
    num_drafts += own.num_drafts;
    active_[num_active_++] = {i, 0, first_row, span.sequence};
  }
  if (num_active_ == 0) return SAMPLER_OK;
  packing_offsets_[num_active_] = int32_t(num_drafts);

  const sampler_params draft_params = plain(config_.params);
  const sampler_row_params row_params = numbers_.arrays(false),
                           draft_row_params = numbers_.arrays(true);
  sampler_pipeline pipeline = make_pipeline(numbers_.has_minimum());
  if (pipeline.token_bitmasks) pipeline.token_bitmask_indices = verified_.masks;
  sampler_verify_args call = verify_args(config_.params, row_params, pipeline, draft_params,
                                         draft_row_params, num_active_, num_drafts);
  call.target = rows_of(args.logits, num_rows, args.logits_row_stride);
  call.logprob_kind = args.logprob_kind;
  const bool has_observations = numbers_.has_adaptive();
  if (has_observations) call.out_observations = verified_.observations;
  if (args.out_logprobs) call.out_logprobs = verified_.logprobs;
  if (args.num_top_logprobs > 0) {
    call.num_top_logprobs = args.num_top_logprobs;
    if (args.out_top_token_ids) call.out_top_token_ids = verified_.top_token_ids;
    if (args.out_top_logprobs) call.out_top_logprobs = verified_.top_logprobs;
  }
  const sampler_status status = call_library(entry, [&] { return sampler_verify(handle_, &call); });
  if (status != SAMPLER_OK) return status;
  for (int64_t i = 0; i < num_active_; ++i) {
    Active active = active_[i];
    SessionSequence &own = sequences_[active.sequence];
    int32_t *const token_ids = verified_.token_ids + i * num_positions;
    if (row_status_[i] != SAMPLER_ROW_OK) token_ids[0] = -1;
    const int64_t num_kept = num_kept_[i];
    for (; own.runs() && active.position <= num_kept; ++active.position) {
      take_token(args, active, verified_, i * num_positions + active.position, row_status_[i]);
      own.num_accepted += active.position < num_kept && own.row_status == SAMPLER_ROW_OK;
    }
    // Of tokens after the end nothing is told.
    if (active.position < num_positions) token_ids[active.position] = -1;
  }
  return accept(entry, num_active_, verified_.token_ids, num_positions,
                has_observations ? verified_.observations : nullptr);
}

// What a span's logits have made of its sequence.
void Session::finish_span(capi::Entry &entry, const sampler_session_advance_args &args,
                          int64_t index) {
  const sampler_span &span = args.spans[index];
  SessionSequence &own = sequences_[span.sequence];
  const int64_t before = lengths_before_[index], count = own.length - before;
  int64_t num_kept = 0;
  own.target = {};
  if (span.num_logits == 0) {
    own.cache_length = span.start + span.num_tokens;
  } else {
    num_kept = own.num_accepted - args.out_counts[index];
    // What runs on needs logits of its last token.
    own.cache_length = std::min(before + num_kept, own.length - own.runs());
    own.drafter_cache_length = std::min(own.drafter_cache_length, own.cache_length);
    own.num_drafted += own.num_drafts;
    own.num_steps += count > 0;
    own.num_drafts = 0;
    own.is_drafted = false;
    learn(entry, span.sequence, before);
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

sampler_status Session::advance(capi::Entry &entry, const sampler_session_advance_args &args) {
  sampler_status status = take_drafts(entry, args);
  if (status != SAMPLER_OK) return status;
  const int64_t num_places = args.num_spans * (max_drafts() + 1);
  const float nan = contract::quiet_nan();
  std::fill_n(args.out_token_ids, num_places, -1);
  if (args.out_logprobs) std::fill_n(args.out_logprobs, num_places, nan);
  if (args.out_top_token_ids) {
    std::fill_n(args.out_top_token_ids, num_places * args.num_top_logprobs, -1);
  }
  if (args.out_top_logprobs) {
    std::fill_n(args.out_top_logprobs, num_places * args.num_top_logprobs, nan);
  }
  int64_t num_rows = 0;
  for (int64_t i = 0; i < args.num_spans; ++i) {
    const SessionSequence &own = sequences_[args.spans[i].sequence];
    num_rows += args.spans[i].num_logits;
    lengths_before_[i] = own.length;
    args.out_counts[i] = own.num_accepted;  // as it was, until the span is finished
  }
  status = match(entry, args, num_rows);
  if (status == SAMPLER_OK) status = verify(entry, args, num_rows);
  for (int64_t i = 0; i < args.num_spans; ++i) finish_span(entry, args, i);
  return status;
}

}  // namespace sampler::decoding
