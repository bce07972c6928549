// The cases of engine_edits.txt, which tests/tools/record_engine_edits.py has recorded and
// explains.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace engine_cases {

struct Case {
  std::string name;
  std::vector<std::vector<std::string>> parameters;  // words of a list
  std::vector<std::int64_t> history;
  std::vector<float> logits, expected;
};

inline std::vector<std::string> split(const std::string &text, const std::string &separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find(separator, begin)) != std::string::npos;
       begin = end + separator.size()) {
    parts.push_back(text.substr(begin, end - begin));
  }
  parts.push_back(text.substr(begin));
  return parts;
}

inline float float_of_hex(const std::string &text) {
  const auto bits = static_cast<std::uint32_t>(std::strtoul(text.c_str(), nullptr, 16));
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline std::vector<float> floats_of(const std::string &text) {
  std::vector<float> numbers;
  for (const std::string &word : split(text, " ")) numbers.push_back(float_of_hex(word));
  return numbers;
}

inline std::vector<Case> read_cases() {
  std::ifstream file(SAMPLER_ENGINE_EDITS_FILE);
  EXPECT_TRUE(file.good()) << SAMPLER_ENGINE_EDITS_FILE;
  std::vector<Case> cases;
  for (std::string line; std::getline(file, line);) {
    if (line[0] == '#') continue;
    const auto fields = split(line, " ; ");
    Case one;
    const std::size_t space = fields[0].find(' ');
    one.name = fields[0].substr(0, space);
    for (const std::string &part : split(fields[0].substr(space + 1), " | ")) {
      one.parameters.push_back(split(part, " "));
    }
    for (const std::string &id : split(fields[1], " ")) one.history.push_back(std::stoll(id));
    one.logits = floats_of(fields[2]);
    one.expected = floats_of(fields[3]);
    cases.push_back(one);
  }
  return cases;
}

}  // namespace engine_cases
