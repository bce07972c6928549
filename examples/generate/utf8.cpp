#include "utf8.h"

namespace generate {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

}  // namespace

// Unicode's table of well-formed sequences: only the range of the second byte depends on the first.
Utf8Character scan_utf8_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {Utf8Character::kComplete, 1};
  if (lead < 0xC2 || lead > 0xF4) return {Utf8Character::kInvalid, 1};
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (std::size_t i = 1; i < length; ++i) {
    if (i == text.size()) return {Utf8Character::kIncomplete, i};
    if (byte(i) < low || byte(i) > high) return {Utf8Character::kInvalid, i};
    low = 0x80;
    high = 0xBF;
  }
  return {Utf8Character::kComplete, length};
}

std::string Utf8Stream::push(std::string_view bytes) {
  held_back_.append(bytes);
  std::string text;
  std::string_view rest = held_back_;
  while (!rest.empty()) {
    const Utf8Character character = scan_utf8_character(rest);
    if (character.kind == Utf8Character::kIncomplete) break;
    text.append(character.kind == Utf8Character::kComplete ? rest.substr(0, character.num_bytes)
                                                           : kReplacement);
    rest.remove_prefix(character.num_bytes);
  }
  held_back_ = std::string(rest);
  return text;
}

std::string Utf8Stream::finish() {
  const bool incomplete = !held_back_.empty();
  held_back_.clear();
  return std::string(incomplete ? kReplacement : "");
}

}  // namespace generate
