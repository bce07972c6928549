#include "lower_case.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <memory>

#include "error.h"
#include "utf8.h"

namespace generate {

namespace {

PCRE2_SPTR code_units(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data());
}

const pcre2_code *capitals() {
  static const std::unique_ptr<pcre2_code, void (*)(pcre2_code *)> code(
      [] {
        int error_code;
        std::size_t error_offset;
        return pcre2_compile(code_units("\\p{Lu}+"), PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP,
                             &error_code, &error_offset, nullptr);
      }(),
      pcre2_code_free);
  if (code == nullptr) throw Error("PCRE2 cannot find capital letters: it lacks Unicode");
  return code.get();
}

// Letters of the other case may have other sizes, of 4 bytes at most.
std::string lower_utf8(std::string_view text) {
  std::string lower(4 * text.size() + 1, '\0');
  std::size_t size = lower.size();
  const int result =
      pcre2_substitute(capitals(), code_units(text), text.size(), 0,
                       PCRE2_NO_UTF_CHECK | PCRE2_SUBSTITUTE_GLOBAL | PCRE2_SUBSTITUTE_EXTENDED,
                       nullptr, nullptr, code_units("\\L$0"), PCRE2_ZERO_TERMINATED,
                       reinterpret_cast<PCRE2_UCHAR *>(lower.data()), &size);
  if (result < 0) throw Error("PCRE2 error " + std::to_string(result) + " in a text");
  lower.resize(size);
  return lower;
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string lower;
  while (!text.empty()) {
    std::size_t valid = 0, invalid = 0;
    while (valid < text.size() && invalid == 0) {
      const Utf8Character character = scan_utf8_character(text.substr(valid));
      const bool complete = character.kind == Utf8Character::kComplete;
      (complete ? valid : invalid) += character.num_bytes;
    }
    if (valid > 0) lower += lower_utf8(text.substr(0, valid));
    lower += text.substr(valid, invalid);
    text.remove_prefix(valid + invalid);
  }
  return lower;
}

}  // namespace generate
