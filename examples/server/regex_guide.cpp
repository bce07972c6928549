#include "regex_guide.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <new>

#include "completion.h"

namespace server {

namespace {

constexpr std::size_t kMaxPattern = 1000;  // bytes
constexpr std::size_t kNumStates = 1000;   // ints of the automaton's states; one takes three
constexpr std::uint32_t kMaxDepth = 1000;  // calls of a match within itself, as of a recursion
constexpr std::uint32_t kMaxHeap = 1000;   // KiB

PCRE2_SPTR units(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data());
}

[[noreturn]] void fail(const std::string &message) {
  throw HttpError(400, "regex " + message, "regex");
}

}  // namespace

RegexGuide::RegexGuide(const std::string &pattern) : states_(kNumStates), next_states_(kNumStates) {
  if (pattern.size() > kMaxPattern)
    fail("is longer than " + std::to_string(kMaxPattern) + " bytes");
  const auto is_ascii = [](char byte) { return static_cast<unsigned char>(byte) < 0x80; };
  if (!std::all_of(pattern.begin(), pattern.end(), is_ascii)) fail("must be ASCII");
  // What begins like this is an assertion, or sets how the expression is read.
  for (const char *const item : {"(?=", "(?!", "(*"}) {
    if (pattern.find(item) != std::string::npos)
      fail(std::string("has ") + item + ", which is not supported");
  }
  int error = 0;
  std::size_t offset = 0;
  code_.reset(pcre2_compile(units(pattern), pattern.size(),
                            PCRE2_ANCHORED | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_UTF |
                                PCRE2_NEVER_UCP | PCRE2_NEVER_BACKSLASH_C,
                            &error, &offset, nullptr),
              pcre2_code_free);
  if (!code_) {
    PCRE2_UCHAR message[256];
    pcre2_get_error_message(error, message, sizeof message);
    fail("is wrong at byte " + std::to_string(offset) + ": " +
         reinterpret_cast<const char *>(message));
  }
  std::uint32_t look_behind = 0;
  pcre2_pattern_info(code_.get(), PCRE2_INFO_MAXLOOKBEHIND, &look_behind);
  if (look_behind > 0) fail("looks behind, as \\b does; that is not supported");
  match_.reset(pcre2_match_data_create_from_pattern(code_.get(), nullptr), pcre2_match_data_free);
  limits_.reset(pcre2_match_context_create(nullptr), pcre2_match_context_free);
  if (!match_ || !limits_) throw std::bad_alloc();
  pcre2_set_match_limit(limits_.get(), kMaxDepth);
  pcre2_set_depth_limit(limits_.get(), kMaxDepth);
  pcre2_set_heap_limit(limits_.get(), kMaxHeap);
  may_follow("a");  // throws where the automaton lacks what the expression has
}

bool RegexGuide::may_follow(std::string_view bytes) {
  const bool is_first = text_.empty();
  if (!is_first) next_states_ = states_;
  // Anything that can go on is PARTIAL, also where it is a match already.
  const std::uint32_t options =
      PCRE2_PARTIAL_HARD | (is_first ? 0u : PCRE2_DFA_RESTART | PCRE2_NOTBOL);
  const int result =
      pcre2_dfa_match(code_.get(), units(bytes), bytes.size(), 0, options, match_.get(),
                      limits_.get(), next_states_.data(), next_states_.size());
  if (result == PCRE2_ERROR_PARTIAL) return true;
  if (result == PCRE2_ERROR_NOMATCH) return false;
  // The longest match comes first. It may be of less than all bytes.
  if (result >= 0) return pcre2_get_ovector_pointer(match_.get())[1] == bytes.size();
  PCRE2_UCHAR message[256];
  pcre2_get_error_message(result, message, sizeof message);
  fail(std::string("is not supported: ") + reinterpret_cast<const char *>(message));
}

bool RegexGuide::is_match() const {
  std::vector<int> states(kNumStates);
  return pcre2_dfa_match(code_.get(), units(text_), text_.size(), 0, PCRE2_ENDANCHORED,
                         match_.get(), limits_.get(), states.data(), states.size()) >= 0;
}

void RegexGuide::push(std::string_view bytes) {
  if (bytes.empty()) return;
  may_follow(bytes);
  states_ = next_states_;
  text_ += bytes;
}

void RegexGuide::write_mask(const generate::BpeTokenizer &tokenizer, std::int32_t vocabulary_size,
                            std::int32_t end_token, std::uint32_t *mask) {
  std::fill(mask, mask + (vocabulary_size + 31) / 32, 0u);
  const auto allow = [mask](std::int32_t id) { mask[id / 32] |= 1u << id % 32; };
  if (is_match()) allow(end_token);
  // Most tokens are out by their first byte.
  std::array<bool, 256> may_begin;
  for (std::size_t byte = 0; byte < may_begin.size(); ++byte) {
    const char character = static_cast<char>(byte);
    may_begin[byte] = may_follow({&character, 1});
  }
  for (std::int32_t id = 0; id < vocabulary_size; ++id) {
    const std::string &bytes = tokenizer.token_bytes(id);
    if (bytes.empty() || id == end_token) continue;
    const bool begins = may_begin[static_cast<unsigned char>(bytes[0])];
    if (begins && (bytes.size() == 1 || may_follow(bytes))) allow(id);
  }
}

}  // namespace server
