// What examples/explain reports of a row, beside numbers of docs/contract.md.
#include "explanation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <regex>
#include <set>
#include <sstream>

#include "picture.h"
#include "reason.h"
#include "stages.h"

namespace explain::explanation_test {
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
  for (const Stage &stage : explanation.stages) names.push_back(sampler_stage_name(stage.stage));
  return names;
}

// In f64, at temperature 1.
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
  EXPECT_EQ(explanation.stages[0].numbers, "biased (1)");
  EXPECT_EQ(explanation.stages[1].numbers, "banned (1)");

  // The tokens that a window removes are weighed as the edits left them.
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
      {"P_LESS", [](P *p) { p->p_less = SAMPLER_P_LESS_PLAIN; }},
      {"MIN_K", [](P *p) { p->min_k = 3; }},
      {"TOP_A", [](P *p) { p->top_a = 2; }},
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

// Each list's effects are counted by themselves, whatever the stage's others do.
TEST(Explanation, CountsWhatABitmaskAndADenseBiasDo) {
  const Lists biased({0, 1}), banned({1});
  const float biases[] = {1, -1}, dense[] = {0, 0.5f, 0.25f};  // none for the last column
  const std::uint32_t mask = 0b0011;
  sampler_pipeline lists = {};
  lists.struct_size = sizeof lists;
  lists.biased = biased.view();
  lists.biases = biases;
  lists.dense_bias = dense;
  lists.num_dense_biases = 1;
  lists.dense_bias_stride = 3;
  lists.banned = banned.view();
  lists.token_bitmasks = &mask;
  lists.num_token_bitmasks = 1;
  Question question;
  question.logits = {1, 2, 3, 4};
  question.pipeline = &lists;
  const Explanation explanation = explain(question);
  ASSERT_EQ(names_of(explanation), (std::vector<std::string>{"BIAS", "MASK"}));
  EXPECT_EQ(explanation.stages[0].numbers, "biased (2), dense_bias (2)");
  EXPECT_EQ(explanation.stages[0].num_changed, 3);
  EXPECT_EQ(explanation.stages[1].numbers, "banned (1), token_bitmasks (2)");
  EXPECT_EQ(explanation.stages[1].num_changed, 3);
  EXPECT_EQ(explanation.stages[1].num_removed, 3);
  EXPECT_EQ(explanation.stages[1].num_left, 1);
  EXPECT_NEAR(explanation.stages[1].removed, 1 - softmax(question.logits)[0], 1e-6);
  const float edited[] = {2, -kInfinity, -kInfinity, -kInfinity};
  for (const Token &token : explanation.tokens) EXPECT_EQ(token.edited, edited[token.id]);
  EXPECT_EQ(explanation.drawn_id, 0);
}

TEST(Explanation, CountsWhatGuidanceDoes) {
  const Lists biased({0});
  const float bias = 1, guidance[] = {0, 2, 2, -kInfinity};
  sampler_pipeline lists = {};
  lists.struct_size = sizeof lists;
  lists.biased = biased.view();
  lists.biases = &bias;
  lists.guidance_logits = guidance;
  lists.num_guidance_rows = 1;
  Question question;
  question.logits = {1, 2, 3, 4};
  question.pipeline = &lists;
  question.params.guidance_scale = 2;
  const Explanation explanation = explain(question);
  ASSERT_EQ(names_of(explanation), (std::vector<std::string>{"BIAS"}));
  EXPECT_EQ(explanation.stages[0].numbers, "guidance_logits (2), biased (1), guidance_scale 2");
  EXPECT_EQ(explanation.stages[0].num_changed, 2);
  const float edited[] = {3, 2, 4, 4};
  for (const Token &token : explanation.tokens) EXPECT_EQ(token.edited, edited[token.id]);

  const float bad[] = {0, 2, kInfinity, 0};
  lists.guidance_logits = bad;
  EXPECT_EQ(explain(question).reason,
            "SAMPLER_ROW_INVALID_VALUE (a logit is NaN or +inf: guidance logit 2 is inf)");

  // Impossible tokens are not guided; without a scale none is.
  question.logits = {1, 2, -kInfinity, 4};
  const float later[] = {0, 2, kInfinity, kInfinity};
  lists.guidance_logits = later;
  EXPECT_EQ(explain(question).reason,
            "SAMPLER_ROW_INVALID_VALUE (a logit is NaN or +inf: guidance logit 3 is inf)");
  question.params.guidance_scale = 1;
  const float bias_of_0 = INFINITY;
  lists.biased = {};
  lists.biases = nullptr;
  lists.dense_bias = &bias_of_0;
  lists.num_dense_biases = lists.dense_bias_stride = 1;
  EXPECT_EQ(explain(question).reason,
            "SAMPLER_ROW_INVALID_VALUE (a logit is NaN or +inf: dense_bias 0 is inf)");
}

// A number needs a list that another part of its stage, or another stage, has.
TEST(Explanation, OfEndsThatAreBannedAndOfThoseThatGrow) {
  const Lists history({0, 1, 2, 3, 0}), banned({1}), stop({2});
  const std::int32_t prompt_length = 2;
  sampler_pipeline lists = {};
  lists.struct_size = sizeof lists;
  lists.history = history.view();
  lists.prompt_lengths = &prompt_length;
  lists.banned = banned.view();
  lists.stop = stop.view();
  Question question;
  question.logits = {1, 2, 3, 4};
  question.pipeline = &lists;
  question.params.min_new_tokens = 4;
  const Explanation of_few = explain(question);
  ASSERT_EQ(names_of(of_few), std::vector<std::string>{"MASK"});
  EXPECT_EQ(of_few.stages[0].numbers, "banned (1), stop (1), min_new_tokens 4");
  EXPECT_EQ(of_few.stages[0].num_removed, 2);

  question.params.min_new_tokens = 1;
  question.params.exponential_decay_start = 1;
  question.params.exponential_decay_factor = 2;
  const Explanation grown = explain(question);
  ASSERT_EQ(names_of(grown), (std::vector<std::string>{"MASK", "PENALTIES"}));
  EXPECT_EQ(grown.stages[0].numbers, "banned (1), stop (0), min_new_tokens 1");
  EXPECT_EQ(grown.stages[1].numbers, "exponential_decay_factor 2, exponential_decay_start 1");
  EXPECT_EQ(grown.stages[1].num_changed, 1);
  const float edited[] = {1, -kInfinity, 12, 4};  // 3 + 3 * (2^2 - 1)
  for (const Token &token : grown.tokens) EXPECT_EQ(token.edited, edited[token.id]);
}

// A text drawn by a sampler with a state, whose adaptive values are reported here.
class AdaptiveText {
 public:
  explicit AdaptiveText(const sampler_params &params) : params_(params) {
    const sampler_options options = sampler_options_default();
    EXPECT_EQ(sampler_create(&options, &sampler_), SAMPLER_OK);
    sampler_state_options state = {};
    state.struct_size = sizeof state;
    state.num_slots = 1;
    state.max_tokens = 100;
    EXPECT_EQ(sampler_state_create(sampler_, &state, &state_), SAMPLER_OK);
  }
  AdaptiveText(const AdaptiveText &) = delete;
  ~AdaptiveText() {
    sampler_state_destroy(state_);
    sampler_destroy(sampler_);
  }

  void accept(std::int32_t token, float observation) {
    sampler_accept_args args = {};
    args.struct_size = sizeof args;
    args.state = state_;
    args.num_rows = 1;
    args.token_ids = &token;
    args.num_tokens = 1;
    args.observations = &observation;
    args.params = &params_;
    EXPECT_EQ(sampler_accept(sampler_, &args), SAMPLER_OK);
  }

  std::vector<float> values() const {
    std::vector<float> values(SAMPLER_NUM_ADAPTIVE_VALUES);
    sampler_state_read_args args = {};
    args.struct_size = sizeof args;
    args.state = state_;
    args.num_rows = 1;
    args.out_adaptive_values = values.data();
    EXPECT_EQ(sampler_state_read(sampler_, &args), SAMPLER_OK);
    return values;
  }

 private:
  const sampler_params params_;
  sampler_t sampler_ = nullptr;
  sampler_state_t state_ = nullptr;
};

TEST(Explanation, FollowsAdaptiveValues) {
  const std::pair<sampler_adaptive_kind, float> kinds[] = {{SAMPLER_ADAPTIVE_NONE, 0},
                                                           {SAMPLER_ADAPTIVE_MIROSTAT_V1, 1.5f},
                                                           {SAMPLER_ADAPTIVE_MIROSTAT_V2, 0},
                                                           {SAMPLER_ADAPTIVE_P, 0.3f}};
  for (const auto &[kind, target] : kinds) {
    for (const float rate : {0.0f, 0.7f, 2.0f, -1.0f}) {
      Question question = worked_example();
      question.params.adaptive_kind = kind;
      question.params.adaptive_target = target;
      question.params.adaptive_rate = rate;
      question.params.top_p_decay = 0.75f;
      question.params.top_p_least = 0.5f;
      sampler_pipeline lists = {};
      lists.struct_size = sizeof lists;
      question.pipeline = &lists;
      AdaptiveText text(question.params);
      std::vector<float> values = text.values();
      for (question.offset = 0; question.offset < 5; ++question.offset) {
        lists.adaptive_values = values.data();
        const Explanation explanation = explain(question);
        ASSERT_EQ(explanation.status, SAMPLER_ROW_OK);
        text.accept(explanation.drawn_id, explanation.observation);
        values = text.values();
        const Values &after = explanation.values_after;
        const float told[] = {after.mu, after.weighted_sum, after.total_weight, after.top_p};
        for (std::size_t i = 0; i < values.size(); ++i) {
          EXPECT_EQ(std::isnan(values[i]), std::isnan(told[i])) << kind << " " << i;
          if (std::isnan(told[i])) continue;
          EXPECT_EQ(values[i], told[i]) << kind << " " << i;
        }
      }
      EXPECT_EQ(values[3], 0.5f);  // the least top_p has been reached
    }
  }
}

TEST(Explanation, TellsHowMirostatCuts) {
  Question question = worked_example();
  question.params = sampler_params_default();
  question.params.adaptive_kind = SAMPLER_ADAPTIVE_MIROSTAT_V2;
  question.params.adaptive_target = 1;  // mu begins as 2: a quarter of the probability
  const Explanation explanation = explain(question);
  const std::vector<double> given = softmax(question.logits);
  double removed = 0;
  for (const Token &token : explanation.tokens) {
    const bool is_kept = given[std::size_t(token.id)] >= 0.25;
    if (token.id == 4) continue;
    EXPECT_EQ(token.removed_by, is_kept ? kKept : SAMPLER_STAGE_ADAPTIVE);
    EXPECT_EQ(token.before, token.drawn_from);
    if (!is_kept) removed += given[std::size_t(token.id)];
  }
  ASSERT_EQ(names_of(explanation), std::vector<std::string>{"ADAPTIVE"});
  EXPECT_EQ(explanation.stages[0].numbers, "adaptive_target 1, adaptive_kind mirostat_v2");
  EXPECT_EQ(explanation.stages[0].num_changed, 0);
  EXPECT_NEAR(explanation.stages[0].removed, removed, 1e-6);
  EXPECT_EQ(explanation.values.mu, 2.0f);
  std::ostringstream table;
  print(
      explanation, 3, [](std::int32_t) { return ""; }, table);
  EXPECT_NE(table.str().find("\nmu: 2.0000, then 2.1000, by a surprise of 0.0000 bits\n"),
            std::string::npos)
      << table.str();
}

TEST(Explanation, TellsWhatSmoothingChanges) {
  Question question = worked_example();
  const Explanation without = explain(question);
  question.params.adaptive_kind = SAMPLER_ADAPTIVE_SMOOTHING;
  question.params.adaptive_target = 4.0f;
  const Explanation explanation = explain(question);
  EXPECT_TRUE(explanation.is_reweighed);
  EXPECT_FALSE(without.is_reweighed);
  // Only the first token has more.
  EXPECT_GT(explanation.tokens[0].drawn_from, explanation.tokens[0].before);
  EXPECT_LT(explanation.tokens[3].drawn_from, explanation.tokens[3].before);
  ASSERT_EQ(names_of(explanation).back(), "ADAPTIVE");
  std::ostringstream table;
  print(
      explanation, 1, [](std::int32_t) { return ""; }, table);
  EXPECT_NE(table.str().find("  given    before drawn from\n"), std::string::npos) << table.str();
  EXPECT_NE(table.str().find("adaptive_kind smoothing"), std::string::npos) << table.str();
}

TEST(Explanation, TellsWhatAdaptivePChanges) {
  Question question = worked_example();
  const Explanation without = explain(question);
  question.params.adaptive_kind = SAMPLER_ADAPTIVE_P;
  question.params.adaptive_target = 0.1f;
  const Explanation explanation = explain(question);
  double sum = 0;
  for (std::size_t i = 0; i < explanation.tokens.size(); ++i) {
    const Token &token = explanation.tokens[i], &same = without.tokens[i];
    EXPECT_EQ(token.id, same.id);
    EXPECT_EQ(token.removed_by, same.removed_by);
    EXPECT_EQ(token.before, same.drawn_from);
    sum += token.drawn_from;
  }
  EXPECT_NEAR(sum, 1, 1e-6);
  // The likeliest, 0.58, is far from the target; the fourth, 0.09, near it.
  EXPECT_LT(explanation.tokens[0].drawn_from, explanation.tokens[0].before);
  EXPECT_GT(explanation.tokens[3].drawn_from, explanation.tokens[3].before);
  ASSERT_EQ(names_of(explanation).back(), "ADAPTIVE");
  EXPECT_EQ(explanation.stages.back().num_changed, 4);
  EXPECT_EQ(explanation.stages.back().num_left, 4);

  std::ostringstream table, svg;
  print(
      explanation, 1, [](std::int32_t) { return ""; }, table);
  EXPECT_NE(table.str().find("  given    before drawn from\n"), std::string::npos) << table.str();
  EXPECT_NE(table.str().find("\nweighted sum: 1.0000, then "), std::string::npos) << table.str();
  plot(explanation, svg);
  const std::string text = svg.str();
  const std::string square = "width=\"6\"";
  std::size_t num_squares = 0;
  for (std::size_t at = 0; (at = text.find(square, at)) != std::string::npos; ++at) ++num_squares;
  EXPECT_EQ(num_squares, 4u);
  EXPECT_NE(text.find("before ADAPTIVE changed it"), std::string::npos);
}

std::string read_source(const std::string &path) {
  std::ifstream file(std::string(SAMPLER_SOURCE_DIR "/") + path);
  EXPECT_TRUE(file) << path;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST(Reason, HasTheNameOfEachStatusOfTheHeader) {
  const std::string header = read_source("include/sampler/types.h");
  const std::regex constant(R"(\b(SAMPLER_ROW_\w+) = (\d+))");
  int count = 0;
  for (std::sregex_iterator match(header.begin(), header.end(), constant), end; match != end;
       ++match) {
    const auto status = static_cast<sampler_row_status>(std::stoul((*match)[2]));
    const std::string reason = explain::reason_of(status, worked_example());
    const std::string name = status == SAMPLER_ROW_OK ? "" : (*match)[1].str() + " (";
    EXPECT_EQ(reason.substr(0, reason.find('(') + 1), name);
    ++count;
  }
  EXPECT_EQ(count, 12);
  EXPECT_EQ(explain::reason_of(SAMPLER_ROW_INVALID_SLOT | SAMPLER_ROW_INVALID_TREE, {}),
            "SAMPLER_ROW_INVALID_SLOT (the slot is none), SAMPLER_ROW_INVALID_TREE (the drafts are "
            "no tree)");
}

// The stages of pipeline.h by their numbers.
std::map<int, std::string> stages_of_the_header() {
  const std::string header = read_source("include/sampler/pipeline.h");
  const std::regex constant(R"(\bSAMPLER_STAGE_(\w+) = (\d+))");
  std::map<int, std::string> stages;
  for (std::sregex_iterator match(header.begin(), header.end(), constant), end; match != end;
       ++match) {
    stages[std::stoi((*match)[2])] = (*match)[1];
  }
  return stages;
}

TEST(Explanation, KnowsEveryStageOfTheHeader) {
  const std::map<int, std::string> stages = stages_of_the_header();
  ASSERT_GE(stages.size(), 16u);
  const sampler_params off = sampler_params_default();
  const std::vector<sampler_stage> order = order_of(off);
  std::set<std::string> colours;
  for (const auto &[stage, name] : stages) {
    EXPECT_EQ(sampler_stage_name(stage), name);
    EXPECT_EQ(std::count(order.begin(), order.end(), stage), 1) << name;
    Explanation explanation = {};
    explanation.tokens = {{0, 1, 1, 0.5, 0.5, 0, 0, stage}};
    explanation.values = {NAN, NAN, NAN, NAN};
    std::ostringstream svg;
    plot(explanation, svg);
    EXPECT_NE(svg.str().find("removed by " + name + ": 1"), std::string::npos) << name;
    std::smatch colour;
    const std::string text = svg.str();
    ASSERT_TRUE(std::regex_search(text, colour, std::regex(R"re(<circle[^>]*fill="(#\w+)")re")));
    EXPECT_NE(colour[1], "#000000") << name;
    EXPECT_TRUE(colours.insert(colour[1]).second) << name << " has another stage's colour";
  }
  EXPECT_EQ(order.size(), stages.size());
}

// Every number of sampler_params, and every list of sampler_pipeline, is reported in its stage.
TEST(Explanation, TellsEveryNumberAndList) {
  const std::string layout = read_source("tests/abi/layout.txt");
  const auto members_of = [&](const std::string &name) {
    const std::size_t begin = layout.find("\n" + name + " ");
    EXPECT_NE(begin, std::string::npos) << name;
    std::map<std::string, std::pair<std::size_t, std::size_t>> members;
    std::istringstream lines(layout.substr(layout.find('\n', begin + 1) + 1));
    for (std::string line; std::getline(lines, line) && line.substr(0, 2) == "  ";) {
      std::istringstream words(line);
      std::string member;
      std::size_t offset = 0, size = 0;
      words >> member >> offset >> size;
      members[member] = {offset, size};
    }
    return members;
  };
  // The order of the table's lines shows the orders.
  const std::set<std::string> not_told = {"struct_size",  "reserved",          "reserved2",
                                          "filter_order", "temperature_order", "stages"};
  const Lists words({0});
  sampler_pipeline lists = {};
  lists.struct_size = sizeof lists;
  lists.bad_words = words.view();
  const auto members = members_of("sampler_params");
  EXPECT_GT(members.size(), 35u);
  for (const auto &[member, place] : members) {
    if (not_told.count(member) > 0) continue;
    sampler_params params = sampler_params_default();
    // 1 of an enumeration, too, and as a float 2^-149: no default. A min_keep of 1 is off.
    const std::int32_t value = member == "min_keep" ? 2 : 1;
    ASSERT_EQ(place.second, sizeof value) << member;
    std::memcpy(reinterpret_cast<char *>(&params) + place.first, &value, sizeof value);
    bool is_told = false;
    for (const sampler_stage stage : order_of(params)) {
      const std::string text = " " + numbers_of(stage, params, lists);
      is_told = is_told || text.find(" " + member + " ") != std::string::npos;
    }
    EXPECT_TRUE(is_told) << member;
  }

  // What belongs to a list, to penalties or DRY, whose numbers are reported, or is no stage's.
  const std::set<std::string> beside = {"struct_size",
                                        "token_id_type",
                                        "token_bitmask_rule",
                                        "history",
                                        "prompt_lengths",
                                        "max_history_tokens",
                                        "num_guidance_rows",
                                        "guidance_row_indices",
                                        "biases",
                                        "bias_contexts",
                                        "num_dense_biases",
                                        "dense_bias_stride",
                                        "bad_word_offsets",
                                        "unpenalized",
                                        "dry_breakers",
                                        "num_token_bitmasks",
                                        "token_bitmask_stride",
                                        "token_bitmask_indices",
                                        "state",
                                        "adaptive_values"};
  const std::int64_t offsets[] = {0, 0};
  const float bias = 0;
  const std::uint32_t mask = 0;
  lists.allowed = lists.banned = lists.stop = lists.biased =
      lists.bad_words = {offsets, nullptr, 1, 0};
  lists.guidance_logits = lists.dense_bias = &bias;
  lists.token_bitmasks = &mask;
  std::set<std::string> parts;
  for (const auto &[stage, name] : stages_of_the_header()) {
    for (const Part &part : parts_of(stage, lists)) parts.insert(part.name);
  }
  for (const auto &[member, place] : members_of("sampler_pipeline")) {
    EXPECT_EQ(parts.count(member) + beside.count(member), 1u) << member;
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
  EXPECT_NE(table.str().find(
                "no token: SAMPLER_ROW_INVALID_VALUE (a logit is NaN or +inf: logit 7 is nan)\n"),
            std::string::npos)
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
}  // namespace explain::explanation_test
