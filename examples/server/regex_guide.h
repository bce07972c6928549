#ifndef SERVER_REGEX_GUIDE_H
#define SERVER_REGEX_GUIDE_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "regex_automaton.h"
#include "tokenizer.h"

namespace server {

// The tokens of a vocabulary that have bytes, in the order of these, so that what tokens begin with
// is looked at once for all of them.
class SortedTokens {
 public:
  // at_start: with the bytes that they have where nothing precedes them.
  SortedTokens(const generate::Tokenizer &tokenizer, std::int32_t vocabulary_size, bool at_start);

 private:
  friend class RegexGuide;

  struct Token {
    std::string_view bytes;  // the tokenizer's
    std::int32_t id;
    std::size_t num_shared;  // bytes that it begins with as the token before it does
  };

  std::vector<Token> tokens_;
  std::size_t longest_ = 0;  // bytes
};

// A text that becomes a match of a regular expression, token by token. A copy is a text of its own.
class RegexGuide {
 public:
  // Throws HttpError, 400, as RegexAutomaton does.
  explicit RegexGuide(const std::string &pattern)
      : automaton_(std::make_shared<RegexAutomaton>(pattern)),
        next_(automaton_->first()),
        is_match_(automaton_->matches_empty()) {}

  // Adds bytes to the text.
  void push(std::string_view bytes);

  // A bit for each of vocabulary_size ids, set for the tokens that may follow: those after which
  // the text can still become a match, and the end token where it is one.
  std::vector<std::uint32_t> mask(const SortedTokens &tokens, std::int32_t vocabulary_size,
                                  std::int32_t end_token) const;

 private:
  std::shared_ptr<const RegexAutomaton> automaton_;
  RegexAutomaton::Places next_;  // that may take the next byte
  bool is_match_;
};

}  // namespace server

#endif  // SERVER_REGEX_GUIDE_H
