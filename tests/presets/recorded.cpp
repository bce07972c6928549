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

Row parse_row(const std::string &part) {
  Row row = {};
  std::istringstream(part) >> row.columns >> row.seed >> row.step >> row.scale >> row.holes;
  return row;
}

float number_of(std::uint32_t bits) {
  float number;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}

std::vector<float> logits_of(const Row &row) {
  std::vector<float> logits;
  for (std::uint64_t i = 0; i < row.columns; ++i) logits.push_back(logit(row, i));
  return logits;
}

// Parameters, prompt and output.
template <class One>
void parse_request(const std::vector<std::string> &parts, One *one) {
  one->parameters = nlohmann::json::parse(parts[1]);
  for (const std::size_t part : {2, 3}) {
    std::istringstream ids(parts[part]);
    for (std::int32_t id; ids >> id;) one->history.push_back(id);
    if (part == 2) one->prompt_length = static_cast<std::int32_t>(one->history.size());
  }
}

// "bits", and those of each logit.
std::vector<float> logits_of_bits(const std::string &part) {
  std::vector<float> logits;
  std::istringstream words(part.substr(part.find(' ')));
  words >> std::hex;
  for (std::uint32_t bits; words >> bits;) logits.push_back(number_of(bits));
  return logits;
}

RecordedEdge parse_edge(const std::string &line) {
  std::vector<std::string> parts = split(line);
  EXPECT_EQ(parts.size(), 8u) << line;
  RecordedEdge edge;
  edge.preset = parts[0];
  parts.erase(parts.begin());
  Recorded &one = edge.row;
  one.text = line;
  one.logits = logits_of_bits(parts[0]);
  parse_request(parts, &one);
  one.kept = parse_kept(parts[5], parts[6], one.logits.size());
  return edge;
}

Recorded parse(const std::string &line) {
  const std::vector<std::string> parts = split(line);
  EXPECT_TRUE(parts.size() == 7 || parts.size() == 9) << line;
  const Row row = parse_row(parts[0]);
  Recorded one;
  one.text = line;
  one.seed = row.seed;
  one.has_ties = row.step > 0;
  one.logits = logits_of(row);
  one.guidance = logits_of({row.columns, row.seed + 1, row.step, row.scale, 0});
  parse_request(parts, &one);
  if (parts[4] != "-") one.edited = std::stoull(parts[4], nullptr, 16);
  one.kept = parse_kept(parts[5], parts[6], row.columns);
  if (parts.size() == 9) one.other = parse_kept(parts[7], parts[8], row.columns);
  return one;
}

RecordedText parse_text(const std::string &line) {
  const std::vector<std::string> parts = split(line);
  EXPECT_EQ(parts.size() % 3, 1u) << line;
  Row row = parse_row(parts[0]);
  RecordedText one;
  one.text = line;
  parse_request(parts, &one);
  for (std::size_t part = 4; part + 2 < parts.size(); part += 3, ++row.seed) {
    RecordedText::Step step;
    step.logits = logits_of(row);
    step.kept = parse_kept(parts[part], parts[part + 1], row.columns);
    std::istringstream remembered(parts[part + 2]);
    remembered >> step.token >> std::hex;
    for (std::uint32_t bits; remembered >> bits;) step.values.push_back(number_of(bits));
    one.steps.push_back(step);
  }
  return one;
}

template <class One>
std::vector<One> read_lines(const std::string &path, One (*parse_one)(const std::string &)) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::vector<One> all;
  for (std::string line; std::getline(file, line);) {
    if (line[0] != '#') all.push_back(parse_one(line));
  }
  return all;
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
  return read_lines(path, parse);
}

std::vector<RecordedEdge> read_edges(const std::string &path) {
  return read_lines(path, parse_edge);
}

std::vector<RecordedText> read_texts(const std::string &path) {
  return read_lines(path, parse_text);
}

}  // namespace presets_test
