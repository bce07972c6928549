#ifndef GENERATE_LOWER_CASE_H
#define GENERATE_LOWER_CASE_H

#include <string>
#include <string_view>

namespace generate {

// The text with small letters in place of capital ones, character by character. Bytes that are not
// valid UTF-8 stay as they are.
std::string lower_case(std::string_view text);

}  // namespace generate

#endif  // GENERATE_LOWER_CASE_H
