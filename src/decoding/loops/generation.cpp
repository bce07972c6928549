#include "decoding/loops/generation.h"

#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>

namespace sampler::decoding {

namespace {

constexpr int32_t kDefaultEndToken = 1;
constexpr int64_t kTokenTextBytes = 128;  // most bytes of one token in a trace line

int64_t capacity_of(const sampler_generation_args &args, int64_t text) {
  const int64_t length = args.prompt_offsets[text + 1] - args.prompt_offsets[text];
  return length + std::min(args.max_new_tokens, args.target->max_context - length);
}

int64_t capacity_of_all(const sampler_generation_args &args) {
  int64_t sum = 0;
  for (int64_t i = 0; i < args.num_sequences; ++i) sum += capacity_of(args, i);
  return sum;
}

// Most bytes of a trace line: numbers and words, and the tokens in brackets.
int64_t line_bytes(const sampler_generation_args &args, int64_t max_drafts) {
  return args.trace || args.debug ? 256 + (max_drafts + 1) * (kTokenTextBytes + 2) : 0;
}

}  // namespace

Generation::Generation(const ExecutionTarget &place, const sampler_generation_args &args,
                       int64_t max_drafts)
    : entry_(place.entry),
      args_(args),
      target_(*args.target),
      capacity_(capacity_of_all(args)),
      ends_(place, (target_.vocabulary_size + 63) / 64),
      tokens_(place, capacity_),
      texts_(place, args.num_sequences),
      line_(place, line_bytes(args, max_drafts)) {
  ends_.fill(size_t(target_.vocabulary_size + 63) / 64, 0);
  if (!args.end_token_ids) mark_end(kDefaultEndToken);
  for (int64_t i = 0; i < args.num_end_tokens; ++i) mark_end(args.end_token_ids[i]);
  int32_t *memory = tokens_.data();
  for (int64_t i = 0; i < args.num_sequences; ++i) {
    GeneratedText text;
    text.index = i;
    text.tokens = memory;
    text.prompt_length = args.prompt_offsets[i + 1] - args.prompt_offsets[i];
    text.length = text.prompt_length;
    text.capacity = capacity_of(args, i);
    text.seed = args.seeds ? args.seeds[i] : args.seed + uint64_t(i);
    std::copy_n(args.prompt_token_ids + args.prompt_offsets[i], text.length, text.tokens);
    memory += text.capacity;
    texts_.push_back(text);
  }
}

// The default end token may be outside the vocabulary.
void Generation::mark_end(int32_t token_id) {
  if (token_id < 0 || token_id >= target_.vocabulary_size) return;
  ends_[size_t(token_id) / 64] |= uint64_t(1) << (token_id % 64);
}

void Generation::hand_out(GeneratedText *text, int64_t count, sampler_finish_reason reason) {
  const int32_t *const tokens = text->tokens + text->length;
  text->length += count;
  text->reason = reason;
  if (!args_.on_tokens) return;
  const int32_t stop = entry_->call_host(
      [&] { return args_.on_tokens(args_.user, text->index, tokens, count, text->reason); });
  if (stop && !text->is_finished()) text->reason = SAMPLER_FINISH_CANCELLED;
}

void Generation::append(const char *format, ...) {
  char piece[128];
  va_list values;
  va_start(values, format);
  const int length = std::vsnprintf(piece, sizeof piece, format, values);
  va_end(values);
  line_.append(piece, size_t(length));
}

void Generation::append_token(int32_t token_id) {
  char buffer[kTokenTextBytes];
  size_t length;
  if (args_.token_text) {
    length = entry_->call_host(
        [&] { return args_.token_text(args_.user, token_id, buffer, sizeof buffer); });
  } else {
    length = size_t(std::snprintf(buffer, sizeof buffer, "%d", int(token_id)));
  }
  line_.push_back('[');
  for (size_t i = 0; i < std::min(length, sizeof buffer); ++i) {
    const bool is_control = static_cast<unsigned char>(buffer[i]) < 0x20;
    line_.push_back(is_control ? ' ' : buffer[i]);
  }
  line_.push_back(']');
}

// Formats a trace line: "text 0 round 3: 2 of 5 drafts [a][b] | [c][d][e], then [f]".
const char *Generation::make_line(const GeneratedText &text, const Round &round) {
  line_.clear();
  append("text %" PRId64 " round %" PRId64 ": ", text.index, text.num_rounds);
  if (round.num_drafted > 0) {
    append("%" PRId64 " of %" PRId64 " drafts ", round.num_accepted, round.num_drafted);
    for (int64_t i = 0; i < round.num_drafted; ++i) {
      if (i == round.num_accepted) append(i > 0 ? " | " : "| ");
      append_token(round.drafts[i]);
    }
    if (round.next_token_id >= 0) append(", then ");
  }
  if (round.next_token_id >= 0) append_token(round.next_token_id);
  line_.push_back('\0');
  return line_.data();
}

void Generation::finish_round(GeneratedText *text, const Round &round) {
  text->num_drafted += round.num_drafted;
  text->num_accepted += round.num_accepted;
  if (args_.trace || args_.debug) {
    const char *const line = make_line(*text, round);
    if (args_.debug) entry_->log(SAMPLER_LOG_INFO, line);
    if (args_.trace) {
      sampler_trace_round traced = {};
      traced.struct_size = sizeof traced;
      traced.text = text->index;
      traced.round = text->num_rounds;
      traced.draft_token_ids = round.drafts;
      traced.num_drafted = round.num_drafted;
      traced.num_accepted = round.num_accepted;
      traced.next_token_id = round.next_token_id;
      traced.entropy = round.entropy;
      traced.line = line;
      entry_->call_host([&] { args_.trace(args_.user, &traced); });
    }
  }
  ++text->num_rounds;
}

void Generation::write_outputs() {
  for (const GeneratedText &text : texts_) {
    const size_t i = size_t(text.index);
    int32_t *const row = args_.out_token_ids + text.index * args_.max_new_tokens;
    const int32_t *const tokens = text.tokens + text.prompt_length;
    std::fill(std::copy_n(tokens, text.num_new(), row), row + args_.max_new_tokens,
              args_.pad_token_id);
    if (args_.out_lengths) args_.out_lengths[i] = text.num_new();
    if (args_.out_finish_reasons) args_.out_finish_reasons[i] = text.reason;
    stats_.num_new_tokens += text.num_new();
    stats_.num_drafted += text.num_drafted;
    stats_.num_accepted += text.num_accepted;
  }
  if (stats_.num_drafted > 0) {
    stats_.acceptance_rate = double(stats_.num_accepted) / double(stats_.num_drafted);
  }
}

}  // namespace sampler::decoding
