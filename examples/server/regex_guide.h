#ifndef SERVER_REGEX_GUIDE_H
#define SERVER_REGEX_GUIDE_H

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bpe.h"

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;
struct pcre2_real_match_context_8;

namespace server {

// A text that becomes a match of a regular expression, token by token. The expression is matched by
// PCRE2's automaton, which keeps its states between the tokens, so that a token takes no longer the
// longer the text is. A copy is a text of its own; copies serve one thread.
class RegexGuide {
 public:
  // An expression in PCRE2's syntax, of ASCII, on bytes; without what the automaton lacks (back
  // references) and what looks ahead or behind. Throws HttpError, 400.
  explicit RegexGuide(const std::string &pattern);

  // Adds bytes to the text.
  void push(std::string_view bytes);

  // Sets the bits of the tokens that may follow: those after which the text can still become a
  // match, and the end token where it is one. `mask` has a bit for each of vocabulary_size ids.
  // Throws HttpError, 400, where that takes too much.
  void write_mask(const generate::BpeTokenizer &tokenizer, std::int32_t vocabulary_size,
                  std::int32_t end_token, std::uint32_t *mask);

 private:
  // Whether the text and these bytes, at least one, can become a match; if so, the automaton's
  // states after them are in next_states_.
  bool may_follow(std::string_view bytes);

  bool is_match() const;

  std::shared_ptr<pcre2_real_code_8> code_;
  std::shared_ptr<pcre2_real_match_data_8> match_;
  std::shared_ptr<pcre2_real_match_context_8> limits_;
  std::string text_;
  std::vector<int> states_;  // after the text, where it is not empty
  std::vector<int> next_states_;
};

}  // namespace server

#endif  // SERVER_REGEX_GUIDE_H
