#ifndef GENERATE_IN_RANGE_H
#define GENERATE_IN_RANGE_H

#include <charconv>
#include <functional>
#include <sstream>
#include <string>
#include <system_error>
#include <type_traits>

#include "json_file.h"

namespace generate {

// A check for CLI11, whose own lets NaN through and lets integers wrap around.
template <typename Number>
std::function<std::string(const std::string &)> in_range(Number lowest, Number highest) {
  return [=](const std::string &text) -> std::string {
    Number value;
    const char *end = text.data() + text.size();
    const std::from_chars_result result = std::from_chars(text.data(), end, value);
    const bool is_number = result.ec == std::errc() && result.ptr == end;
    if (is_number && value >= lowest && value <= highest) return "";
    std::ostringstream rule;
    rule << in_quotes(text) << " is given; it must be "
         << (std::is_integral_v<Number> ? "an integer" : "a number") << " in [" << lowest << ", "
         << highest << "]";
    return rule.str();
  };
}

}  // namespace generate

#endif  // GENERATE_IN_RANGE_H
