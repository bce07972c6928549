#include "row_file.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <iterator>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "json_file.h"

namespace explain {

namespace {

enum class RowType { kText, kF32, kF16, kBf16, kNpy };

[[noreturn]] void fail(const std::string &path, const std::string &what) {
  throw std::runtime_error(path + ": " + what);
}

bool ends_with(const std::string &text, const std::string &end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

RowType type_of(const std::string &name) {
  if (ends_with(name, ".npy")) return RowType::kNpy;
  if (ends_with(name, ".f32")) return RowType::kF32;
  if (ends_with(name, ".f16")) return RowType::kF16;
  return ends_with(name, ".bf16") ? RowType::kBf16 : RowType::kText;
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

std::size_t size_of(RowType type) {
  return type == RowType::kF32 ? 4 : 2;
}

float element(const std::string &bytes, std::size_t place, RowType type) {
  std::uint32_t bits = 0;
  for (std::size_t i = size_of(type); i-- > 0;) {
    bits = bits << 8 | static_cast<unsigned char>(bytes[place + i]);
  }
  if (type == RowType::kF16) return float_of_half(bits);
  return float_of_bits(type == RowType::kBf16 ? bits << 16 : bits);
}

// Where the row begins among `count` logits; their number in a row is `width`.
std::size_t begin_of_row(const std::string &path, std::size_t count, std::size_t width,
                         std::int64_t row) {
  if (width == 0) fail(path, "has no logits");
  if (count % width != 0) {
    fail(path,
         "has " + std::to_string(count) + " logits, which are no rows of " + std::to_string(width));
  }
  if (std::size_t(row) >= count / width) {
    fail(path, "row " + std::to_string(row) + " is not in [0, " + std::to_string(count / width) +
                   "), the rows of " + std::to_string(width) + " logits");
  }
  return std::size_t(row) * width;
}

// A row of elements that begin at `begin`.
std::vector<float> row_of_bytes(const std::string &path, const std::string &bytes,
                                std::size_t begin, RowType type, std::int64_t row,
                                std::int64_t num_cols) {
  const std::size_t size = size_of(type), count = (bytes.size() - begin) / size;
  if ((bytes.size() - begin) % size != 0) fail(path, "ends within a logit");
  const std::size_t width = num_cols > 0 ? std::size_t(num_cols) : count;
  const std::size_t first = begin_of_row(path, count, width, row);
  std::vector<float> values(width);
  for (std::size_t i = 0; i < width; ++i) {
    values[i] = element(bytes, begin + (first + i) * size, type);
  }
  return values;
}

// A file in NumPy's format 1.0 to 3.0.
struct Npy {
  std::string header;  // a Python dictionary in ASCII
  std::size_t begin;   // of the elements
  std::int64_t width;  // the last dimension
};

Npy open_npy(const std::string &path, const std::string &bytes) {
  if (bytes.size() < 12 || bytes.compare(0, 6, "\x93NUMPY") != 0) fail(path, "is no .npy file");
  const bool is_1 = bytes[6] == 1;
  std::size_t length = 0;
  for (std::size_t i = is_1 ? 2 : 4; i-- > 0;) {
    length = length << 8 | static_cast<unsigned char>(bytes[8 + i]);
  }
  const std::size_t begin = (is_1 ? 10 : 12) + length;
  if (begin > bytes.size()) fail(path, "ends within its header");
  const std::string header = bytes.substr(is_1 ? 10 : 12, length);
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
  return {header, begin, width};
}

std::vector<float> row_of_npy(const std::string &path, const std::string &bytes, std::int64_t row,
                              std::int64_t num_cols) {
  const Npy npy = open_npy(path, bytes);
  const bool is_f4 = npy.header.find("'<f4'") != std::string::npos;
  if (!is_f4 && npy.header.find("'<f2'") == std::string::npos) {
    fail(path, "must hold '<f4' or '<f2'");
  }
  if (num_cols > 0 && num_cols != npy.width) {
    fail(path, "--cols is " + std::to_string(num_cols) + "; it must be the length of a row, " +
                   std::to_string(npy.width));
  }
  return row_of_bytes(path, bytes, npy.begin, is_f4 ? RowType::kF32 : RowType::kF16, row,
                      npy.width);
}

// Numbers with spaces between them.
std::string without_marks(std::string text) {
  for (char &c : text) c = c == ',' || c == '[' || c == ']' || c == ';' ? ' ' : c;
  return text;
}

std::vector<float> row_of_text(const std::string &path, std::string text, std::int64_t row,
                               std::int64_t num_cols) {
  std::istringstream words(without_marks(std::move(text)));
  std::vector<float> values;
  for (std::string word; words >> word;) {
    char *end = nullptr;
    values.push_back(std::strtof(word.c_str(), &end));
    if (*end != '\0') {
      fail(path, generate::in_quotes(word.substr(0, 40)) +
                     " is no number; a file of f32, f16 or bf16 needs --dtype");
    }
  }
  const std::size_t width = num_cols > 0 ? std::size_t(num_cols) : values.size();
  const auto begin = values.begin() + std::ptrdiff_t(begin_of_row(path, values.size(), width, row));
  return {begin, begin + std::ptrdiff_t(width)};
}

std::vector<std::uint32_t> words_of_text(const std::string &path, std::string text) {
  std::istringstream words(without_marks(std::move(text)));
  std::vector<std::uint32_t> values;
  for (std::string word; words >> word;) {
    char *end = nullptr;
    const long long value = std::strtoll(word.c_str(), &end, 0);
    if (*end != '\0' || value < -(1LL << 31) || value >= 1LL << 32) {
      fail(path, generate::in_quotes(word.substr(0, 40)) + " is no word of 32 bits");
    }
    values.push_back(static_cast<std::uint32_t>(value));
  }
  return values;
}

std::vector<std::uint32_t> words_of_bytes(const std::string &path, const std::string &bytes,
                                          std::size_t begin) {
  if ((bytes.size() - begin) % 4 != 0) fail(path, "ends within a word of 32 bits");
  std::vector<std::uint32_t> values((bytes.size() - begin) / 4);
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = 4; j-- > 0;) {
      values[i] = values[i] << 8 | static_cast<unsigned char>(bytes[begin + 4 * i + j]);
    }
  }
  return values;
}

}  // namespace

std::vector<std::uint32_t> read_bitmask(const std::string &path, std::int64_t row,
                                        std::int64_t num_words) {
  const std::string bytes = generate::read_file(path);
  std::vector<std::uint32_t> words;
  if (ends_with(path, ".npy")) {
    const Npy npy = open_npy(path, bytes);
    if (npy.header.find("'<u4'") == std::string::npos &&
        npy.header.find("'<i4'") == std::string::npos) {
      fail(path, "must hold '<u4' or '<i4'");
    }
    words = words_of_bytes(path, bytes, npy.begin);
  } else {
    words = ends_with(path, ".u32") || ends_with(path, ".i32") ? words_of_bytes(path, bytes, 0)
                                                               : words_of_text(path, bytes);
  }
  const auto width = std::size_t(num_words);
  if (words.empty() || words.size() % width != 0) {
    fail(path, "has " + std::to_string(words.size()) + " words, which are no bitmasks of " +
                   std::to_string(width));
  }
  if (std::size_t(row) >= words.size() / width) {
    fail(path, "bitmask " + std::to_string(row) + " is not in [0, " +
                   std::to_string(words.size() / width) + ")");
  }
  const auto begin = words.begin() + std::ptrdiff_t(std::size_t(row) * width);
  return {begin, begin + std::ptrdiff_t(width)};
}

std::vector<float> read_row(const std::string &path, const std::string &type_name, std::int64_t row,
                            std::int64_t num_cols) {
  const bool is_stdin = path == "-";
  const std::string name = is_stdin ? "standard input" : path;
  const std::string bytes = is_stdin ? std::string(std::istreambuf_iterator<char>(std::cin), {})
                                     : generate::read_file(path);
  const RowType type = type_of(type_name);
  if (type == RowType::kNpy) return row_of_npy(name, bytes, row, num_cols);
  if (type == RowType::kText) return row_of_text(name, bytes, row, num_cols);
  return row_of_bytes(name, bytes, 0, type, row, num_cols);
}

}  // namespace explain
