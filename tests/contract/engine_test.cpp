// Edits against what another engine's code has made of the same logits: engine_edits.txt, recorded
// by tests/tools/record_engine_edits.py. Values are compared with ==, for which -0 is 0: that
// engine adds a bias of 0 to all tokens that have none.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "contract/edits.h"
#include "contract/repeats.h"
#include "engine_cases.h"
#include "support.h"

namespace sampler::contract::engine_test {
namespace {

using engine_cases::Case;
using engine_cases::float_of_hex;
using engine_cases::read_cases;

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

// The engine's logits; where one overflows, the contract's are the largest.
std::vector<float> expected_logits(const Case &one) {
  std::vector<float> logits = one.expected;
  for (float &x : logits) x = std::min(x, kLargestFloat);
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
    EXPECT_EQ(edits.at(one.name)(one), expected_logits(one))
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
}  // namespace sampler::contract::engine_test
