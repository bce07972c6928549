#include "regex_guide.h"

#include <algorithm>

namespace server {

SortedTokens::SortedTokens(const generate::Tokenizer &tokenizer, std::int32_t vocabulary_size,
                           bool at_start) {
  for (std::int32_t id = 0; id < vocabulary_size; ++id) {
    const std::string_view bytes =
        at_start ? tokenizer.first_token_bytes(id) : tokenizer.token_bytes(id);
    if (bytes.empty()) continue;
    tokens_.push_back({bytes, id, 0});
    longest_ = std::max(longest_, bytes.size());
  }
  std::sort(tokens_.begin(), tokens_.end(),
            [](const Token &left, const Token &right) { return left.bytes < right.bytes; });
  for (std::size_t i = 1; i < tokens_.size(); ++i) {
    const std::string_view before = tokens_[i - 1].bytes, bytes = tokens_[i].bytes;
    const std::size_t size = std::min(before.size(), bytes.size());
    const auto differ = std::mismatch(bytes.begin(), bytes.begin() + size, before.begin());
    tokens_[i].num_shared = static_cast<std::size_t>(differ.first - bytes.begin());
  }
}

void RegexGuide::push(std::string_view bytes) {
  for (const char byte : bytes) {
    const RegexAutomaton::Places places = automaton_->take(next_, byte);
    is_match_ = automaton_->is_match(places);
    next_ = automaton_->follow(places);
  }
}

std::vector<std::uint32_t> RegexGuide::mask(const SortedTokens &tokens,
                                            std::int32_t vocabulary_size,
                                            std::int32_t end_token) const {
  std::vector<std::uint32_t> mask(static_cast<std::size_t>(vocabulary_size + 31) / 32);
  const auto allow = [&mask](std::int32_t id) {
    mask[static_cast<std::size_t>(id) / 32] |= 1u << id % 32;
  };
  if (is_match_) allow(end_token);
  // By the number of bytes of the token before, the places that may take the byte after them.
  std::vector<RegexAutomaton::Places> next(tokens.longest_ + 1);
  next[0] = next_;
  std::size_t num_known = 0;  // bytes that `next` is known after
  bool is_dead = false;       // no match goes on with one byte more than these
  for (const SortedTokens::Token &token : tokens.tokens_) {
    if (token.num_shared > num_known && is_dead) continue;
    num_known = std::min(num_known, token.num_shared);
    RegexAutomaton::Places places;
    for (;;) {
      places = automaton_->take(next[num_known], token.bytes[num_known]);
      is_dead = places.none();
      if (is_dead || num_known + 1 == token.bytes.size()) break;
      next[++num_known] = automaton_->follow(places);
    }
    if (!is_dead && token.id != end_token) allow(token.id);
  }
  return mask;
}

}  // namespace server
