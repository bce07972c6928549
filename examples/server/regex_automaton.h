#ifndef SERVER_REGEX_AUTOMATON_H
#define SERVER_REGEX_AUTOMATON_H

#include <array>
#include <bitset>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace server {

// The automaton of a regular expression, on bytes: Glushkov's, whose states are the places of bytes
// in the expression, counted repetitions written out. A step costs no more than kMaxPlaces sets,
// whatever the text was.
class RegexAutomaton {
 public:
  static constexpr std::size_t kMaxPattern = 1000;  // bytes
  static constexpr std::size_t kMaxPlaces = 512;

  using Bytes = std::bitset<256>;
  using Places = std::bitset<kMaxPlaces>;

  // Throws HttpError, 400, where the expression is wrong, needs more than kMaxPlaces, or matches no
  // text.
  explicit RegexAutomaton(const std::string &pattern);

  // The places that may come next at the beginning of a text.
  const Places &first() const { return first_; }

  // Those of `next` that take a byte; none: no match begins so.
  Places take(const Places &next, char byte) const {
    return next & takers_[static_cast<unsigned char>(byte)];
  }

  // The places that may come next after one of `places` took the last byte.
  Places follow(const Places &places) const;

  // Whether a text whose last byte one of `places` took is a match, and whether the empty text is.
  bool is_match(const Places &places) const { return (places & last_).any(); }
  bool matches_empty() const { return matches_empty_; }

 private:
  class Parser;

  void remove_dead_ends();

  std::vector<Places> followers_;     // by place
  std::array<Places, 256> takers_{};  // by byte
  Places first_, last_;
  bool matches_empty_ = false;
};

}  // namespace server

#endif  // SERVER_REGEX_AUTOMATON_H
