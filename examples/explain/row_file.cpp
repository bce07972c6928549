#include "row_file.h"

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <sstream>
#include <stdexcept>

namespace explain {

namespace {

enum class Type { kF32, kF16, kBf16 };

[[noreturn]] void fail(const std::string &path, const std::string &what) {
  throw std::runtime_error(path + ": " + what);
}

std::string read_bytes(const std::string &path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail(path, std::string("cannot be opened: ") + std::strerror(errno));
  std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  if (stream.bad()) fail(path, "cannot be read");
  return bytes;
}

bool ends_with(const std::string &text, const std::string &end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

float float_of_bits(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

float float_of_half(std::uint32_t bits) {
  const float sign = (bits & 0x8000) != 0 ? -1.0f : 1.0f;
  const int exponent = int(bits >> 10 & 31);
  const float fraction = float(bits & 1023);
  if (exponent == 31) {
    return fraction != 0 ? std::numeric_limits<float>::quiet_NaN()
                         : sign * std::numeric_limits<float>::infinity();
  }
  return exponent == 0 ? sign * std::ldexp(fraction, -24)
                       : sign * std::ldexp(fraction + 1024, exponent - 25);
}

std::size_t size_of(Type type) {
  return type == Type::kF32 ? 4 : 2;
}

float element(const std::string &bytes, std::size_t place, Type type) {
  std::uint32_t bits = 0;
  for (std::size_t i = size_of(type); i-- > 0;) {
    bits = bits << 8 | static_cast<unsigned char>(bytes[place + i]);
  }
  if (type == Type::kF16) return float_of_half(bits);
  return float_of_bits(type == Type::kBf16 ? bits << 16 : bits);
}

// Of elements that begin at `begin`.
std::vector<float> row_of_bytes(const std::string &path, const std::string &bytes,
                                std::size_t begin, Type type, std::int64_t row,
                                std::int64_t num_cols) {
  const std::size_t size = size_of(type), count = (bytes.size() - begin) / size;
  const std::size_t width = num_cols > 0 ? std::size_t(num_cols) : count;
  const std::size_t num_rows = width > 0 ? count / width : 0;
  if (std::size_t(row) >= num_rows) {
    fail(path, "has " + std::to_string(num_rows) + " rows of " + std::to_string(width) +
                   " logits; row " + std::to_string(row) + " is none of them");
  }
  std::vector<float> values(width);
  for (std::size_t i = 0; i < width; ++i) {
    values[i] = element(bytes, begin + (std::size_t(row) * width + i) * size, type);
  }
  return values;
}

// The header of NumPy's format 1.0 to 3.0 is a Python dictionary in ASCII.
std::vector<float> row_of_npy(const std::string &path, const std::string &bytes, std::int64_t row) {
  if (bytes.size() < 12 || bytes.compare(0, 6, "\x93NUMPY") != 0) fail(path, "is no .npy file");
  const bool is_1 = bytes[6] == 1;
  std::size_t length = 0;
  for (std::size_t i = is_1 ? 2 : 4; i-- > 0;) {
    length = length << 8 | static_cast<unsigned char>(bytes[8 + i]);
  }
  const std::size_t begin = (is_1 ? 10 : 12) + length;
  if (begin > bytes.size()) fail(path, "ends within its header");
  const std::string header = bytes.substr(is_1 ? 10 : 12, length);
  const bool is_f4 = header.find("'<f4'") != std::string::npos;
  if (!is_f4 && header.find("'<f2'") == std::string::npos) {
    fail(path, "must hold '<f4' or '<f2'");
  }
  if (header.find("'fortran_order': False") == std::string::npos) fail(path, "must be in C order");
  const std::size_t open = header.find("'shape': ("), close = header.find(')', open);
  if (open == std::string::npos || close == std::string::npos) fail(path, "has no shape");
  std::istringstream shape(header.substr(open + 10, close - open - 10));
  std::int64_t width = 0;
  for (std::string one; std::getline(shape, one, ',');) {
    const long long size = std::atoll(one.c_str());
    if (size > 0) width = size;
  }
  if (width == 0) fail(path, "is empty");
  return row_of_bytes(path, bytes, begin, is_f4 ? Type::kF32 : Type::kF16, row, width);
}

std::vector<float> row_of_text(const std::string &path, std::string text, std::int64_t row,
                               std::int64_t num_cols) {
  for (char &c : text) c = c == ',' || c == '[' || c == ']' || c == ';' ? ' ' : c;
  std::istringstream words(text);
  std::vector<float> values;
  for (std::string word; words >> word;) {
    char *end = nullptr;
    values.push_back(std::strtof(word.c_str(), &end));
    if (*end != '\0') fail(path, "\"" + word.substr(0, 40) + "\" is no number");
  }
  const std::size_t width = num_cols > 0 ? std::size_t(num_cols) : values.size();
  if (width == 0 || std::size_t(row) >= values.size() / width) {
    fail(path, "has " + std::to_string(values.size()) + " numbers, and no row " +
                   std::to_string(row) + " of " + std::to_string(width));
  }
  const auto begin = values.begin() + row * std::int64_t(width);
  return {begin, begin + std::int64_t(width)};
}

}  // namespace

std::vector<float> read_row(const std::string &path, std::int64_t row, std::int64_t num_cols) {
  const std::string bytes = read_bytes(path);
  if (ends_with(path, ".npy")) return row_of_npy(path, bytes, row);
  if (ends_with(path, ".f32")) return row_of_bytes(path, bytes, 0, Type::kF32, row, num_cols);
  if (ends_with(path, ".bf16")) return row_of_bytes(path, bytes, 0, Type::kBf16, row, num_cols);
  if (ends_with(path, ".f16")) return row_of_bytes(path, bytes, 0, Type::kF16, row, num_cols);
  return row_of_text(path, bytes, row, num_cols);
}

}  // namespace explain
