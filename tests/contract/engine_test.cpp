// Edits against what another engine's code has made of the same logits: engine_edits.txt, recorded
// by tests/tools/record_engine_edits.py. Values are compared with ==, for which -0 is 0: that
// engine adds a bias of 0 to all tokens that have none.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "contract/edits.h"
#include "contract/repeats.h"
#include "support.h"

namespace sampler::contract {
namespace {

struct Case {
  std::string name;
  std::vector<std::vector<std::string>> parameters;  // words of a list
  std::vector<int64_t> history;
  std::vector<float> logits, expected;
};

std::vector<std::string> split(const std::string &text, const std::string &separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end; (end = text.find(separator, begin)) != std::string::npos;
       begin = end + separator.size()) {
    parts.push_back(text.substr(begin, end - begin));
  }
  parts.push_back(text.substr(begin));
  return parts;
}

float float_of_hex(const std::string &text) {
  return float_of(uint32_t(std::strtoul(text.c_str(), nullptr, 16)));
}

std::vector<float> floats_of(const std::string &text) {
  std::vector<float> numbers;
  for (const std::string &word : split(text, " ")) numbers.push_back(float_of_hex(word));
  return numbers;
}

std::vector<Case> read_cases() {
  std::ifstream file(SAMPLER_ENGINE_EDITS_FILE);
  EXPECT_TRUE(file.good()) << SAMPLER_ENGINE_EDITS_FILE;
  std::vector<Case> cases;
  for (std::string line; std::getline(file, line);) {
    if (line[0] == '#') continue;
    const auto fields = split(line, " ; ");
    Case one;
    const size_t space = fields[0].find(' ');
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

std::vector<float> penalized(const Case &one) {
  const Penalties penalties = {float_of_hex(one.parameters[0][0]), 0.0f, 0.0f,
                               PenaltyForm::kDivide};
  std::map<int64_t, int32_t> counts;
  for (const int64_t id : one.history) ++counts[id];
  std::vector<float> logits = one.logits;
  for (const auto &[id, count] : counts) {
    logits[size_t(id)] = penalize(logits[size_t(id)], count, 0, penalties);
  }
  return logits;
}

NewestFirst<int64_t> newest_first(const Case &one) {
  return {one.history.data() + one.history.size(), int32_t(one.history.size())};
}

std::vector<float> without_ngrams(const Case &one) {
  std::vector<float> logits = one.logits;
  std::vector<int32_t> memory(one.history.size());
  visit_ngram_bans(newest_first(one), int32_t(one.history.size()), std::stoi(one.parameters[0][0]),
                   memory.data(),
                   [&](int64_t id) { logits[size_t(id)] = ban(logits[size_t(id)], true); });
  return logits;
}

std::vector<float> without_words(const Case &one) {
  std::vector<float> logits = one.logits;
  for (const auto &parameters : one.parameters) {
    std::vector<int64_t> word;
    word.reserve(parameters.size());
    for (const std::string &id : parameters) word.push_back(std::stoll(id));
    float &logit = logits[size_t(word.back())];
    logit = ban(logit, bans_word_end(newest_first(one), int32_t(one.history.size()), word,
                                     int32_t(word.size())));
  }
  return logits;
}

std::vector<float> biased(const Case &one) {
  std::vector<float> logits = one.logits;
  for (const auto &parameters : one.parameters) {
    float &logit = logits[size_t(std::stoll(parameters[0]))];
    logit = add_bias(logit, float_of_hex(parameters[1]));
  }
  return logits;
}

TEST(Engine, GivesTheSameLogits) {
  const std::map<std::string, std::vector<float> (*)(const Case &)> edits = {
      {"repetition", penalized},
      {"ngram", without_ngrams},
      {"words", without_words},
      {"bias", biased}};
  std::map<std::string, int> num_cases, num_changed;
  for (const Case &one : read_cases()) {
    ASSERT_EQ(edits.count(one.name), 1u) << one.name;
    EXPECT_EQ(edits.at(one.name)(one), one.expected)
        << one.name << ", case " << num_cases[one.name];
    ++num_cases[one.name];
    if (one.expected != one.logits) ++num_changed[one.name];
  }
  EXPECT_EQ(num_cases.size(), edits.size());
  for (const auto &[name, count] : num_cases) {
    EXPECT_EQ(count, 150) << name;
    EXPECT_GT(num_changed[name], 50) << name;
  }
}

}  // namespace
}  // namespace sampler::contract
