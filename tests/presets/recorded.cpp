#include "recorded.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

namespace presets_test {
namespace {

// splitmix64, as rows.py.
std::uint64_t mix(std::uint64_t z) {
  z += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

struct Row {
  std::uint64_t columns, seed, step, scale, holes;
};

float logit(const Row &row, std::uint64_t i) {
  const std::uint64_t first = mix(row.seed << 32 | i), second = mix(first);
  std::uint64_t number = 0;
  for (const int shift : {0, 16, 32, 48}) number += (first >> shift & 0xFFFF) * 16;
  number += second & 15;
  const auto centred = static_cast<std::int64_t>(number >> row.step << row.step) - 2097120;
  const bool is_hole = i > 0 && (second >> 32 & 7) < row.holes;
  if (is_hole) return -INFINITY;
  return static_cast<float>(centred * static_cast<std::int64_t>(row.scale)) * 0x1p-21F;
}

std::vector<std::string> split(const std::string &line) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end; (end = line.find(" ; ", begin)) != std::string::npos; begin = end + 3) {
    parts.push_back(line.substr(begin, end - begin));
  }
  parts.push_back(line.substr(begin));
  return parts;
}

bool bit(const std::string &hexadecimal, std::size_t i) {
  if (i / 4 >= hexadecimal.size()) return false;
  const char digit = hexadecimal[hexadecimal.size() - 1 - i / 4];
  return std::stoi(std::string(1, digit), nullptr, 16) >> (i % 4) & 1;
}

Kept parse_kept(const std::string &set, const std::string &probabilities, std::uint64_t columns) {
  Kept kept;
  std::istringstream units(probabilities);
  units >> std::hex;
  for (std::uint64_t i = 0; i < columns; ++i) {
    kept.set.push_back(bit(set, i));
    std::uint64_t probability = 0;
    if (kept.set.back()) {
      units >> probability;
      EXPECT_FALSE(units.fail()) << probabilities;
    }
    kept.probabilities.push_back(static_cast<double>(probability) * 0x1p-30);
  }
  return kept;
}

Recorded parse(const std::string &line) {
  const std::vector<std::string> parts = split(line);
  EXPECT_TRUE(parts.size() == 7 || parts.size() == 9) << line;
  Recorded one;
  one.text = line;
  Row row = {};
  std::istringstream(parts[0]) >> row.columns >> row.seed >> row.step >> row.scale >> row.holes;
  one.seed = row.seed;
  one.has_ties = row.step > 0;
  one.parameters = nlohmann::json::parse(parts[1]);
  for (const int part : {2, 3}) {
    std::istringstream ids(parts[static_cast<std::size_t>(part)]);
    for (std::int32_t id; ids >> id;) one.history.push_back(id);
    if (part == 2) one.prompt_length = static_cast<std::int32_t>(one.history.size());
  }
  if (parts[4] != "-") one.edited = std::stoull(parts[4], nullptr, 16);
  for (std::uint64_t i = 0; i < row.columns; ++i) one.logits.push_back(logit(row, i));
  one.kept = parse_kept(parts[5], parts[6], row.columns);
  if (parts.size() == 9) one.other = parse_kept(parts[7], parts[8], row.columns);
  return one;
}

}  // namespace

std::uint64_t hash_of(const std::vector<float> &logits) {
  std::uint64_t result = 0;
  for (const float logit : logits) {
    const float without_sign_of_zero = logit + 0.0F;
    std::uint32_t bits;
    std::memcpy(&bits, &without_sign_of_zero, sizeof bits);
    result = mix(result ^ bits);
  }
  return result;
}

std::vector<Recorded> read_recorded(const std::string &path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::vector<Recorded> all;
  for (std::string line; std::getline(file, line);) {
    if (line[0] != '#') all.push_back(parse(line));
  }
  return all;
}

}  // namespace presets_test
