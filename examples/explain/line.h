#ifndef EXPLAIN_LINE_H
#define EXPLAIN_LINE_H

#include <cstddef>
#include <cstdio>
#include <ostream>
#include <string>

namespace explain {

// A line as printf makes it of values, of any length.
template <typename... Values>
void line(std::ostream &out, const char *format, Values... values) {
  std::string text(static_cast<std::size_t>(std::snprintf(nullptr, 0, format, values...)), '\0');
  std::snprintf(text.data(), text.size() + 1, format, values...);
  out << text << "\n";
}

}  // namespace explain

#endif  // EXPLAIN_LINE_H
