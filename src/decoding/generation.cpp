#include "decoding/generation.h"

#include <algorithm>
#include <cstdio>

namespace sampler::decoding {

namespace {

constexpr int32_t kDefaultEndToken = 1;
constexpr int64_t kReservedTokens = 1 << 16;  // room made for a text; a longer one makes more

}  // namespace

Generation::Generation(capi::Entry *entry, const sampler_generation_args &args)
    : entry_(entry), args_(args), target_(*args.target) {
  if (args.end_token_ids) {
    end_tokens_.assign(args.end_token_ids, args.end_token_ids + args.num_end_tokens);
  } else {
    end_tokens_ = {kDefaultEndToken};
  }
  texts_.resize(size_t(args.num_sequences));
  for (size_t i = 0; i < texts_.size(); ++i) {
    Text &text = texts_[i];
    const int32_t *const begin = args.prompt_token_ids + args.prompt_offsets[i];
    const int32_t *const end = args.prompt_token_ids + args.prompt_offsets[i + 1];
    text.index = int64_t(i);
    text.prompt_length = end - begin;
    text.length = text.prompt_length;
    text.tokens.reserve(size_t(text.length + std::min(room(text), kReservedTokens)));
    text.tokens.assign(begin, end);
    text.seed = args.seeds ? args.seeds[i] : args.seed + i;
  }
}

bool Generation::is_end(int32_t token_id) const {
  return std::find(end_tokens_.begin(), end_tokens_.end(), token_id) != end_tokens_.end();
}

int64_t Generation::room(const Text &text) const {
  return std::min(args_.max_new_tokens - text.num_new(), target_.max_context - text.length);
}

std::vector<Text *> Generation::start() {
  mark_started();
  std::vector<Text *> active;
  for (Text &text : texts_) {
    if (room(text) == 0) {
      text.reason = SAMPLER_FINISH_CONTEXT;
      hand_out(&text, 0);
    } else {
      active.push_back(&text);
    }
  }
  return active;
}

void Generation::remove_finished(std::vector<Text *> *active) const {
  active->erase(std::remove_if(active->begin(), active->end(),
                               [](const Text *text) { return text->is_finished(); }),
                active->end());
}

int64_t Generation::emit(Text *text, const int32_t *token_ids, int64_t count) {
  text->tokens.resize(size_t(text->length));
  int64_t emitted = 0;
  while (emitted < count && !text->is_finished()) {
    const int32_t token_id = token_ids[emitted];
    if (token_id < 0) {
      text->reason = SAMPLER_FINISH_BAD_ROW;
      break;
    }
    text->tokens.push_back(token_id);
    ++text->length;
    ++emitted;
    if (is_end(token_id)) {
      text->reason = SAMPLER_FINISH_END_TOKEN;
    } else if (text->num_new() == args_.max_new_tokens) {
      text->reason = SAMPLER_FINISH_LENGTH;
    } else if (room(*text) == 0) {
      text->reason = SAMPLER_FINISH_CONTEXT;
    }
  }
  hand_out(text, emitted);
  return emitted;
}

// The last `count` tokens.
void Generation::hand_out(Text *text, int64_t count) const {
  if (!args_.on_tokens) return;
  const int32_t *const tokens = text->tokens.data() + text->length - count;
  const int32_t stop = entry_->call_host([&] {
    return args_.on_tokens(args_.on_tokens_user, text->index, tokens, count, text->reason);
  });
  if (stop && !text->is_finished()) text->reason = SAMPLER_FINISH_CANCELLED;
}

void Generation::append_token(std::string *line, int32_t token_id) const {
  char buffer[128];
  size_t length;
  if (args_.token_text) {
    length = entry_->call_host(
        [&] { return args_.token_text(args_.token_text_user, token_id, buffer, sizeof buffer); });
  } else {
    length = size_t(std::snprintf(buffer, sizeof buffer, "%d", int(token_id)));
  }
  *line += '[';
  for (size_t i = 0; i < std::min(length, sizeof buffer); ++i) {
    const bool is_control = static_cast<unsigned char>(buffer[i]) < 0x20;
    *line += is_control ? ' ' : buffer[i];
  }
  *line += ']';
}

// "text 0 round 3: 2 of 5 drafts [a][b] | [c][d][e], then [f]"
std::string Generation::line(const Text &text, const Round &round) const {
  std::string line =
      "text " + std::to_string(text.index) + " round " + std::to_string(text.num_rounds) + ": ";
  if (round.num_drafted > 0) {
    line += std::to_string(round.num_accepted) + " of " + std::to_string(round.num_drafted) +
            " drafts ";
    for (int64_t i = 0; i < round.num_drafted; ++i) {
      if (i == round.num_accepted) line += i > 0 ? " | " : "| ";
      append_token(&line, round.drafts[i]);
    }
    if (round.next_token_id >= 0) line += ", then ";
  }
  if (round.next_token_id >= 0) append_token(&line, round.next_token_id);
  return line;
}

void Generation::finish_round(Text *text, const Round &round) {
  text->num_drafted += round.num_drafted;
  text->num_accepted += round.num_accepted;
  if (args_.trace || args_.debug) {
    const std::string text_line = line(*text, round);
    if (args_.debug) entry_->log(SAMPLER_LOG_INFO, text_line.c_str());
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
      traced.line = text_line.c_str();
      entry_->call_host([&] { args_.trace(args_.trace_user, &traced); });
    }
  }
  ++text->num_rounds;
}

void Generation::write_outputs() {
  for (const Text &text : texts_) {
    const size_t i = size_t(text.index);
    int32_t *const row = args_.out_token_ids + text.index * args_.max_new_tokens;
    const int32_t *const tokens = text.tokens.data() + text.prompt_length;
    std::fill(std::copy_n(tokens, text.num_new(), row), row + args_.max_new_tokens,
              args_.pad_token_id);
    if (args_.out_lengths) args_.out_lengths[i] = text.num_new();
    if (args_.out_finish_reasons) args_.out_finish_reasons[i] = text.reason;
    if (args_.out_drafted_counts) args_.out_drafted_counts[i] = text.num_drafted;
    if (args_.out_accepted_counts) args_.out_accepted_counts[i] = text.num_accepted;
    stats_.num_new_tokens += text.num_new();
    stats_.num_drafted += text.num_drafted;
    stats_.num_accepted += text.num_accepted;
  }
  if (stats_.num_drafted > 0) {
    stats_.acceptance_rate = double(stats_.num_accepted) / double(stats_.num_drafted);
  }
}

}  // namespace sampler::decoding
