// What examples/explain tells of a row, beside numbers of docs/contract.md.
#include "explanation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <sstream>

#include "picture.h"

namespace explain {
namespace {

constexpr float kInfinity = INFINITY;

std::vector<std::int32_t> ids_of(const Explanation &explanation) {
  std::vector<std::int32_t> ids;
  for (const Token &token : explanation.tokens) ids.push_back(token.id);
  return ids;
}

const Token &token_of(const Explanation &explanation, std::int32_t id) {
  return *std::find_if(explanation.tokens.begin(), explanation.tokens.end(),
                       [&](const Token &token) { return token.id == id; });
}

std::vector<std::string> names_of(const Explanation &explanation) {
  std::vector<std::string> names;
  for (const Stage &stage : explanation.stages) names.push_back(stage_name(stage.stage));
  return names;
}

// Of the row, temperature 1, in f64.
std::vector<double> softmax(const std::vector<float> &logits) {
  std::vector<double> shares;
  for (const float logit : logits) shares.push_back(std::exp(double(logit)));
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double &share : shares) share /= sum;
  return shares;
}

double entropy_of(const std::vector<double> &shares) {
  double entropy = 0;
  for (const double p : shares) entropy -= p > 0 ? p * std::log(p) : 0;
  return entropy;
}

// Section 11.
Question worked_example() {
  Question question;
  question.logits = {2, 0.5f, 2, -1, -kInfinity, 1.5f, 0.5f, 3};
  question.params.temperature = 0.8f;
  question.params.top_k = 5;
  question.params.top_p = 0.9f;
  question.seed = 42;
  question.offset = 7;
  return question;
}

TEST(Explanation, IsThatOfTheWorkedExample) {
  const Explanation explanation = explain(worked_example());
  EXPECT_EQ(explanation.status, SAMPLER_ROW_OK);
  EXPECT_EQ(explanation.drawn_id, 5);
  EXPECT_EQ(explanation.drawn_rank, 4);
  EXPECT_EQ(explanation.num_kept, 4);
  EXPECT_EQ(ids_of(explanation), (std::vector<std::int32_t>{7, 0, 2, 5, 1, 6, 3, 4}));
  const int removed_by[] = {
      kKept, SAMPLER_STAGE_TOP_P, kKept, SAMPLER_STAGE_TOP_K, kWithoutProbability,
      kKept, SAMPLER_STAGE_TOP_K, kKept};
  for (const Token &token : explanation.tokens) {
    EXPECT_EQ(token.removed_by, removed_by[token.id]) << token.id;
  }
  EXPECT_NEAR(token_of(explanation, 5).given, std::exp(-0x1.21772p+1), 1e-7);
  EXPECT_NEAR(token_of(explanation, 5).drawn_from, std::exp(-0x1.35e3eap+1), 1e-7);
}

TEST(Explanation, TellsProbabilitiesAndEntropies) {
  const Question question = worked_example();
  const Explanation explanation = explain(question);
  const std::vector<double> given = softmax(question.logits);
  // Weights of section 11, and W_kept.
  const double kept_weights[] = {5040245309440, 0, 5040245309440, 0, 0,
                                 2697848684544, 0, 17592186044416};
  std::vector<double> drawn_from;
  for (const double weight : kept_weights) drawn_from.push_back(weight / 30370525347840);
  for (const Token &token : explanation.tokens) {
    const auto id = std::size_t(token.id);
    EXPECT_NEAR(token.given, given[id], 1e-6);
    EXPECT_NEAR(token.left, given[id], 1e-6);
    EXPECT_NEAR(token.drawn_from, drawn_from[id], 1e-6);
    EXPECT_EQ(token.edited, token.logit);
  }
  EXPECT_NEAR(explanation.entropy_given, entropy_of(given), 1e-5);
  EXPECT_NEAR(explanation.entropy_drawn_from, entropy_of(drawn_from), 1e-5);
}

TEST(Explanation, CountsWhatEachStageRemoved) {
  const Question question = worked_example();
  const std::vector<double> given = softmax(question.logits);
  const Explanation explanation = explain(question);
  EXPECT_EQ(names_of(explanation), (std::vector<std::string>{"TEMPERATURE", "TOP_K", "TOP_P"}));
  const std::int64_t removed[] = {0, 2, 1}, left[] = {7, 5, 4};
  const double shares[] = {0, given[3] + given[6], given[1]};
  const char *const numbers[] = {"temperature 0.8", "top_k 5", "top_p 0.9"};
  for (std::size_t i = 0; i < 3; ++i) {
    const Stage &stage = explanation.stages[i];
    EXPECT_EQ(stage.num_removed, removed[i]);
    EXPECT_EQ(stage.num_left, left[i]);
    EXPECT_NEAR(stage.removed, shares[i], 1e-6);
    EXPECT_EQ(stage.num_changed, 0);
    EXPECT_EQ(stage.numbers, numbers[i]);
  }
}

// Lists of one slot.
struct Lists {
  explicit Lists(std::vector<std::int32_t> list)
      : ids(std::move(list)), offsets{0, std::int64_t(ids.size())} {}
  sampler_token_lists view() const { return {offsets, ids.data(), 1, std::int64_t(ids.size())}; }
  std::vector<std::int32_t> ids;
  std::int64_t offsets[2];
};

TEST(Explanation, CountsWhatEachEditChanged) {
  const Lists history({1, 1, 3}), biased({0}), banned({3});
  const float bias = 0.5f;
  sampler_pipeline lists = {};
  lists.struct_size = sizeof lists;
  lists.history = history.view();
  lists.biased = biased.view();
  lists.biases = &bias;
  lists.banned = banned.view();
  Question question;
  question.logits = {1, 2, 3, 4};
  question.pipeline = &lists;
  question.params.repetition_penalty = 2;
  question.params.frequency_penalty = 0.25f;
  const auto changed = [](const Explanation &explanation) {
    std::vector<std::int64_t> counts;
    for (const Stage &stage : explanation.stages) counts.push_back(stage.num_changed);
    return counts;
  };

  Explanation explanation = explain(question);
  EXPECT_EQ(ids_of(explanation), (std::vector<std::int32_t>{2, 0, 1, 3}));
  const float edited[] = {1.5f, 2.0f / 2 - 2 * 0.25f, 3, -kInfinity};  // 1 occurs twice
  for (const Token &token : explanation.tokens) EXPECT_EQ(token.edited, edited[token.id]);
  EXPECT_EQ(names_of(explanation), (std::vector<std::string>{"BIAS", "MASK", "PENALTIES"}));
  EXPECT_EQ(changed(explanation), (std::vector<std::int64_t>{1, 1, 1}));  // 3 is banned before
  EXPECT_EQ(explanation.stages[1].num_removed, 1);
  EXPECT_NEAR(explanation.stages[1].removed, softmax(question.logits)[3], 1e-6);
  EXPECT_EQ(token_of(explanation, 3).removed_by, SAMPLER_STAGE_MASK);
  EXPECT_EQ(explanation.stages[1].numbers, "banned");

  // What a window removes is weighed as the edits left it.
  question.params.top_k = 1;
  explanation = explain(question);
  ASSERT_EQ(names_of(explanation).back(), "TOP_K");
  EXPECT_NEAR(explanation.stages.back().removed,
              1 - softmax({edited[0], edited[1], edited[2], edited[3]})[2], 1e-6);
  question.params.top_k = 0;

  const sampler_stage other[] = {SAMPLER_STAGE_PENALTIES, SAMPLER_STAGE_MASK, SAMPLER_STAGE_BIAS};
  std::copy(std::begin(other), std::end(other), question.params.stages);
  explanation = explain(question);
  EXPECT_EQ(names_of(explanation), (std::vector<std::string>{"PENALTIES", "MASK", "BIAS"}));
  EXPECT_EQ(changed(explanation), (std::vector<std::int64_t>{2, 1, 1}));
}

TEST(Explanation, ListsTheStagesThatAreOn) {
  using P = sampler_params;
  const Lists history({0, 1}), stop({2});
  sampler_pipeline lists = {};
  lists.struct_size = sizeof lists;
  lists.history = history.view();
  lists.stop = stop.view();
  const std::pair<const char *, void (*)(P *)> cases[] = {
      {"MASK", [](P *p) { p->min_new_tokens = 3; }},
      {"PENALTIES", [](P *p) { p->presence_penalty = 1; }},
      {"DRY", [](P *p) { p->dry_multiplier = 1; }},
      {"NO_REPEAT_NGRAM", [](P *p) { p->no_repeat_ngram_size = 3; }},
      {"TEMPERATURE", [](P *p) { p->dynamic_temperature_range = 0.5f; }},
      {"TYPICAL_P", [](P *p) { p->typical_p = 0.9f; }},
      {"TOP_N_SIGMA", [](P *p) { p->top_n_sigma = 1; }},
      {"EPSILON", [](P *p) { p->epsilon_cutoff = 0.1f; }},
      {"ETA", [](P *p) { p->eta_cutoff = 0.1f; }},
      {"TOP_H", [](P *p) { p->top_h = 0.5f; }},
      {"XTC", [](P *p) { p->xtc_probability = 0.5f; }},
      {"TOP_K", [](P *p) { p->top_k = 2; }},
      {"TOP_P", [](P *p) { p->top_p = 0.5f; }},
      {"MIN_P", [](P *p) { p->min_p = 0.1f; }},
      {"ADAPTIVE", [](P *p) { p->adaptive_kind = SAMPLER_ADAPTIVE_MIROSTAT_V2; }},
      // Values that are off.
      {"", [](P *) {}},
      {"", [](P *p) { p->repetition_penalty = 1; }},
      {"", [](P *p) { p->penalty_window = p->dry_window = 64; }},
      {"", [](P *p) { p->dry_multiplier = 1, p->dry_base = 0.5f; }},
      {"", [](P *p) { p->top_k = -1, p->top_p = 1.5f, p->min_p = -1; }},
      {"", [](P *p) { p->typical_p = p->eta_cutoff = p->epsilon_cutoff = p->top_h = 1; }},
      {"", [](P *p) { p->xtc_probability = 1, p->xtc_threshold = 0.6f; }},
      {"", [](P *p) { p->adaptive_target = 3; }},
  };
  for (const auto &[name, set] : cases) {
    Question question;
    question.logits = {3, 2, 1};
    question.pipeline = &lists;
    set(&question.params);
    const std::vector<std::string> names = names_of(explain(question));
    EXPECT_EQ(names, *name ? std::vector<std::string>{name} : std::vector<std::string>());
  }
}

TEST(Explanation, OfAGreedyRowHasNoWindows) {
  Question question = worked_example();
  question.params.temperature = 0;
  const Explanation explanation = explain(question);
  EXPECT_EQ(names_of(explanation), (std::vector<std::string>{"TEMPERATURE"}));
  EXPECT_EQ(explanation.stages[0].num_removed, 6);
  EXPECT_EQ(explanation.stages[0].num_left, 1);
  EXPECT_EQ(explanation.drawn_id, 7);
  EXPECT_EQ(token_of(explanation, 7).drawn_from, 1.0);
  EXPECT_EQ(explanation.entropy_drawn_from, 0.0);
}

TEST(Explanation, FollowsOrdersThatAreNotListed) {
  Question question = worked_example();
  question.params.min_p = 0.2f;
  question.params.filter_order = SAMPLER_FILTERS_MIN_P_FIRST;
  question.params.temperature_order = SAMPLER_TEMPERATURE_LAST;
  EXPECT_EQ(names_of(explain(question)),
            (std::vector<std::string>{"MIN_P", "TOP_K", "TOP_P", "TEMPERATURE"}));
}

TEST(Explanation, OfABadRowHasNoToken) {
  Question question = worked_example();
  question.logits[7] = NAN;
  const Explanation explanation = explain(question);
  EXPECT_EQ(explanation.status, SAMPLER_ROW_INVALID_VALUE);
  EXPECT_EQ(ids_of(explanation), (std::vector<std::int32_t>{0, 2, 5, 1, 6, 3, 4, 7}));
  for (const Token &token : explanation.tokens) {
    EXPECT_EQ(token.removed_by, kWithoutProbability);
    EXPECT_EQ(token.given, 0.0);
  }
  std::ostringstream table;
  print(
      explanation, 3, [](std::int32_t) { return ""; }, table);
  EXPECT_NE(table.str().find("no token: the row is SAMPLER_ROW_INVALID_VALUE\n"), std::string::npos)
      << table.str();
}

TEST(Explanation, OfWrongArgumentsIsTheLibrarysError) {
  Question question = worked_example();
  question.params.stages[0] = SAMPLER_STAGE_TEMPERATURE;
  question.params.stages[1] = SAMPLER_STAGE_TOP_P;
  try {
    explain(question);
    FAIL() << "top_k is on and not listed";
  } catch (const std::runtime_error &error) {
    EXPECT_NE(std::string(error.what()).find("TOP_K"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace explain
