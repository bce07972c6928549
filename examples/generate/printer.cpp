#include "printer.h"

#include <cstdint>
#include <iomanip>
#include <iostream>
#include <limits>
#include <sstream>

#include "json_file.h"

namespace generate {

Printer::Printer(const Tokenizer &tokenizer, const std::vector<std::vector<std::int32_t>> &prompts,
                 const Arguments &arguments, int context)
    : tokenizer_(tokenizer),
      arguments_(arguments),
      context_(context),
      num_samples_(static_cast<std::size_t>(arguments.generation.num_samples)) {
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    Text text = {TokenText(tokenizer, prompts[i])};
    text.printable = text.stream.push(arguments.prompts[i]);
    texts_.insert(texts_.end(), num_samples_, text);
  }
}

void Printer::add_text(std::size_t index, const Continuation &continuation) {
  Text &text = texts_[index];
  const std::vector<std::int32_t> &tokens = continuation.new_tokens;
  const bool has_end_token = continuation.finish_reason == SAMPLER_FINISH_END_TOKEN;
  for (; text.num_tokens < tokens.size() - has_end_token; ++text.num_tokens) {
    text.printable += text.stream.push(text.tokens.push(tokens[text.num_tokens]));
  }
  // Beams come once, ended; one that was not found has no reason.
  if (continuation.finish_reason != SAMPLER_FINISH_NONE ||
      arguments_.generation.mode == Mode::kBeam) {
    text.printable += text.stream.finish() + "\n";
    text.end = describe_end(continuation);
  }
  if (!arguments_.trace) print_texts();
}

void Printer::print_texts() {
  if (texts_.size() == 1) {
    print_new_text(&texts_[0]);
  } else {
    print_finished_blocks();
  }
}

// "12 new tokens, ended with <|endoftext|>"
std::string Printer::describe_end(const Continuation &continuation) const {
  const std::vector<std::int32_t> &tokens = continuation.new_tokens;
  std::ostringstream end;
  end << tokens.size() << (tokens.size() == 1 ? " new token" : " new tokens");
  if (continuation.finish_reason == SAMPLER_FINISH_END_TOKEN) {
    end << ", ended with " << tokenizer_.token_name(tokens.back());
  } else if (continuation.finish_reason == SAMPLER_FINISH_CONTEXT) {
    end << ", stopped at the context limit of " << context_ << " tokens";
  }
  if (arguments_.generation.mode == Mode::kBeam) end << ", score " << continuation.score;
  return end.str();
}

void Printer::print_new_text(Text *text) const {
  std::cout << text->printable << std::flush;
  text->printable.clear();
  if (!text->end.empty()) std::cerr << text->end << "\n";
}

void Printer::print_finished_blocks() {
  for (; next_block_ < texts_.size() && !texts_[next_block_].end.empty(); ++next_block_) {
    const Text &text = texts_[next_block_];
    std::cout << (next_block_ == 0 ? "" : "\n") << "== prompt " << next_block_ / num_samples_ + 1
              << ", sample " << next_block_ % num_samples_ + 1 << ": " << text.end << " ==\n"
              << text.printable << std::flush;
  }
}

void Printer::print_logprobs(const std::vector<Continuation> &continuations) const {
  for (std::size_t i = 0; i < continuations.size(); ++i) {
    std::cout << "\nlog-probabilities";
    if (continuations.size() > 1) {
      std::cout << " of prompt " << i / num_samples_ + 1 << ", sample " << i % num_samples_ + 1;
    }
    std::cout << ":\n";
    const Continuation &continuation = continuations[i];
    for (std::size_t j = 0; j < continuation.new_tokens.size(); ++j) {
      std::ostringstream value;
      value << std::setw(14) << std::setprecision(std::numeric_limits<float>::max_digits10)
            << continuation.logprobs[j];
      std::cout << value.str() << " "
                << in_readable_quotes(tokenizer_.token_name(continuation.new_tokens[j])) << "\n";
    }
  }
}

void Printer::print_round(const sampler_trace_round &round) const {
  constexpr Mark kAccepted = {'+', 32}, kRejected = {'-', 31}, kNotLookedAt = {'.', 90},
                 kBonus = {'*', 36}, kInstead = {'>', 33};
  std::ostringstream line;
  if (texts_.size() > 1) line << "text " << round.text + 1 << ", ";
  line << "round " << round.round + 1 << ":";
  const bool has_next = round.next_token_id >= 0;
  const bool is_tree = arguments_.generation.draft.draft_top_k > 1;
  for (std::int64_t i = 0; i < round.num_drafted; ++i) {
    const bool is_rejected = (i == round.num_accepted || is_tree) && has_next;
    line << marked(i < round.num_accepted ? kAccepted
                   : is_rejected          ? kRejected
                                          : kNotLookedAt,
                   round.draft_token_ids[i]);
  }
  const bool is_bonus = round.num_drafted > 0 && round.num_accepted == round.num_drafted;
  if (has_next) line << marked(is_bonus ? kBonus : kInstead, round.next_token_id);
  std::cout << line.str() << "\n" << std::flush;
}

// ` +" token"`, with escapes as in JSON.
std::string Printer::marked(const Mark &mark, std::int32_t token_id) const {
  const std::string text = in_readable_quotes(tokenizer_.token_name(token_id));
  if (!arguments_.colour) return std::string(" ") + mark.sign + text;
  return " \033[" + std::to_string(mark.colour) + "m" + mark.sign + text + "\033[0m";
}

}  // namespace generate
