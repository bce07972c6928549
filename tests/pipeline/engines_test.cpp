// What another engine's code has made of logits, by sampler_filter: engine_edits.txt. Values are
// compared with ==, for which -0 is 0: that engine adds a bias of 0 to all tokens that have none.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>

#include "../contract/engine_cases.h"
#include "problem.h"

namespace pipeline_test::engines_test {
namespace {

using engine_cases::Case;
using engine_cases::float_of_hex;

// A row, and the edit that the case is about.
Problem problem_of(const Case &one) {
  Problem problem;
  problem.num_cols = static_cast<std::int64_t>(one.logits.size());
  problem.rows = {one.logits};
  problem.slot_of_row = {0};
  Slot slot;
  slot.history = one.history;
  if (one.name == "repetition") {
    slot.numbers.repetition_penalty = float_of_hex(one.parameters[0][0]);
  } else if (one.name == "ngram") {
    slot.numbers.no_repeat_ngram_size = std::stoi(one.parameters[0][0]);
  } else if (one.name == "words") {
    problem.has_bad_words = true;
    for (const auto &ids : one.parameters) {
      problem.bad_words.emplace_back();
      for (const std::string &id : ids) problem.bad_words.back().push_back(std::stoll(id));
    }
  } else {
    problem.has_biased = true;
    for (const auto &pair : one.parameters) {
      slot.biased.push_back(std::stoll(pair[0]));
      slot.biases.push_back(float_of_hex(pair[1]));
    }
  }
  problem.slots = {slot};
  return problem;
}

TEST(Engines, GiveTheSameLogits) {
  sampler_t sampler = nullptr;
  ASSERT_EQ(sampler_create(nullptr, &sampler), SAMPLER_OK) << sampler_last_error();
  std::map<std::string, int> num_cases;
  for (const Case &one : engine_cases::read_cases()) {
    const Filtered filtered =
        filter(sampler, Call(problem_of(one), SAMPLER_F32), SAMPLER_OUTPUT_VALUES);
    // Where one of the engine's logits overflows, ours is the largest.
    std::vector<float> expected = one.expected;
    for (float &x : expected) x = std::min(x, std::numeric_limits<float>::max());
    EXPECT_EQ(filtered.output, expected) << one.name << ", case " << num_cases[one.name];
    ++num_cases[one.name];
  }
  for (const char *name : {"repetition", "ngram", "words", "bias"}) {
    EXPECT_EQ(num_cases[name], 150) << name;
  }
  sampler_destroy(sampler);
}

}  // namespace
}  // namespace pipeline_test::engines_test
