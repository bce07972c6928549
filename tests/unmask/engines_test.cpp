// The steps of LLaDA, Dream, LMDeploy and SGLang, as their own code made them:
// tests/unmask/engines.txt. Candidates are sampler_sample's, of the same logits.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "support.h"

namespace unmask_test::engines {
namespace {

constexpr int kRows = 16, kVocabulary = 24, kMask = 23;

std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

// As in tests/tools/record_engine_unmasking.py.
std::vector<float> logits_of(std::uint64_t seed, std::uint64_t step) {
  std::vector<float> logits;
  for (std::uint64_t row = 0; row < kRows; ++row) {
    const std::uint64_t place = (seed << 40) + (step << 24) + (row << 8);
    const auto scale = float(1 << mix(place + 255) % 4);
    for (std::uint64_t token = 0; token < kVocabulary; ++token) {
      logits.push_back(float(mix(place + token) >> 40) * 0x1p-23F * scale);
    }
    logits.back() = -64;
  }
  return logits;
}

struct Step {
  std::int32_t num_committed = 0, num_steps_left = 0;
  std::vector<std::int32_t> tokens;  // after it
};
struct Case {
  std::string name;
  std::uint64_t seed = 0;
  sampler_confidence confidence = 0;
  float threshold = 0, edit_threshold = 0;
  std::vector<Step> steps;
};

std::vector<Case> read_cases() {
  std::ifstream file(SAMPLER_UNMASK_ENGINES);
  std::vector<Case> cases;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "case") {
      cases.emplace_back();
      Case &added = cases.back();
      words >> added.name >> added.seed >> added.confidence >> added.threshold >>
          added.edit_threshold;
    } else if (kind == "step") {
      Step step;
      words >> step.num_committed >> step.num_steps_left;
      for (std::int32_t token = 0; words >> token;) step.tokens.push_back(token);
      cases.back().steps.push_back(step);
    }
  }
  return cases;
}

// Draws the candidates of a step, and lets them stand or not.
void make_step(sampler_t sampler, const Case &of, int index, std::vector<std::int32_t> *tokens) {
  const std::vector<float> logits = logits_of(of.seed, std::uint64_t(index));
  sampler_params params = sampler_params_default();
  params.temperature = 0;
  std::vector<float> logprobs(kRows), top_logprobs(std::size_t(2 * kRows)), entropies(kRows);
  std::vector<std::int32_t> candidates(kRows);
  std::vector<sampler_row_status> status(kRows);
  auto reports = sized<sampler_report_args>();
  reports.out_logprobs = logprobs.data();
  reports.num_top_logprobs = 2;
  reports.out_top_logprobs = top_logprobs.data();
  reports.out_entropies = entropies.data();
  auto sample = sized<sampler_sample_args>();
  sample.input.values = logits.data();
  sample.input.num_rows = kRows;
  sample.input.num_cols = kVocabulary;
  sample.params = &params;
  sample.reports = &reports;
  sample.out_token_ids = candidates.data();
  sample.out_row_status = status.data();
  ASSERT_EQ(sampler_sample(sampler, &sample), SAMPLER_OK) << sampler_last_error();

  const Step &step = of.steps[std::size_t(index)];
  auto args = sized<sampler_unmask_args>();
  args.num_rows = kRows;
  args.num_blocks = 1;
  auto rules = sized<sampler_unmask_params>();
  args.params = &rules;
  rules.confidence = of.confidence;
  args.candidate_token_ids = candidates.data();
  args.candidate_status = status.data();
  args.scores = of.confidence == SAMPLER_CONFIDENCE_PROBABILITY ? logprobs.data()
                : of.confidence == SAMPLER_CONFIDENCE_MARGIN    ? top_logprobs.data()
                : of.confidence == SAMPLER_CONFIDENCE_ENTROPY   ? entropies.data()
                                                                : nullptr;
  args.token_ids = tokens->data();
  rules.mask_token_id = kMask;
  rules.num_committed = step.num_committed;
  rules.num_steps_left = step.num_steps_left;
  rules.threshold = of.threshold;
  rules.edit_threshold = of.edit_threshold;
  ASSERT_EQ(sampler_unmask(sampler, &args), SAMPLER_OK) << sampler_last_error();
}

TEST(Engines, FillInTheSameTokens) {
  const Handle handle = make_handle();
  const std::vector<Case> cases = read_cases();
  int num_steps = 0;
  for (const Case &each : cases) {
    std::vector<std::int32_t> tokens(kRows, kMask);
    for (std::size_t i = 0; i < each.steps.size(); ++i) {
      make_step(handle.get(), each, int(i), &tokens);
      ASSERT_EQ(tokens, each.steps[i].tokens)
          << each.name << ", seed " << each.seed << ", step " << i;
      ++num_steps;
    }
  }
  EXPECT_EQ(cases.size(), 21u);
  EXPECT_EQ(num_steps, 218);
}

}  // namespace
}  // namespace unmask_test::engines
