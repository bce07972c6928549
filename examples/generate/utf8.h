#ifndef GENERATE_UTF8_H
#define GENERATE_UTF8_H

#include <cstddef>
#include <string>
#include <string_view>

namespace generate {

// The character that a text, which must not be empty, begins with.
struct Utf8Character {
  enum { kComplete, kIncomplete, kInvalid } kind;
  // At least 1. For an incomplete or invalid character: the bytes that could begin one.
  std::size_t num_bytes;
};
Utf8Character scan_utf8_character(std::string_view text);

// Makes printable text of bytes that arrive token by token: a token may end in the middle of a
// character. Bytes that can belong to no character become U+FFFD.
class Utf8Stream {
 public:
  // Returns the characters that are complete now; the start of one that is not yet is held back.
  std::string push(std::string_view bytes);

  // Ends the text: a character that never became complete is U+FFFD.
  std::string finish();

 private:
  std::string held_back_;
};

}  // namespace generate

#endif  // GENERATE_UTF8_H
