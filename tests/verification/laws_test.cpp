// What lossless rules emit follows the target's law: the first three tokens together, and each of
// the three by itself, of a model whose rows depend on the text, with drafters of every kind. The
// law is worked out in doubles by going through all texts; drafts come from a generator that has
// nothing to do with the library, but for drafters that draw with their target's own seeds and
// offsets.
//
// Each case draws kNumDraws times: 5 million in verification_many_draws_test, whose p-values
// docs/verification.md sums up, and 41 thousand in verification_laws_test. A token of
// probability 0.05 that comes 2 % too often or too seldom has a deviation of 10 standard deviations
// in 5 million draws; of 41 thousand draws that is one of 22 %. The least that is found is
// about 4.5.
#include <gtest/gtest.h>
#include <sampler/sampler.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numeric>
#include <string>

#include "../sized.h"
#include "../statistics/chi_square.h"
#include "handles.h"
#include "problem.h"

namespace verification_test::laws_test {
namespace {

using statistics_test::Counts;
using statistics_test::frequency_fault;
using statistics_test::Probabilities;

#ifndef SAMPLER_TEST_CALLS
#define SAMPLER_TEST_CALLS 10
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__aarch64__)
constexpr std::int64_t kNumCalls = 12;
#else
constexpr std::int64_t kNumCalls = SAMPLER_TEST_CALLS;
#endif
constexpr std::int64_t kPerCall = 4096;
constexpr std::int64_t kNumDraws = kNumCalls * kPerCall;
constexpr std::size_t kTokens = 5;
constexpr std::size_t kLength = 3;
constexpr std::size_t kTexts = kTokens * kTokens * kTokens;

// Chance that an honest library has one p-value below the bound of all laws' p-values, of which
// there are four a law. Seeds are fixed: what has passed once passes always.
constexpr double kAlphaOfAll = 1e-3;

using Distribution = std::vector<double>;
using Text = std::vector<std::size_t>;

enum class Drafter {
  kNear,           // another distribution
  kSame,           // the target's own
  kDisjoint,       // gives nothing to tokens that the target has
  kDeterministic,  // no rows; the next token is a function of the last one
  kOneHot,         // the same with rows, which give that token everything
  kCertain,        // as kNear, of a target that gives one token everything
  kShared          // as kNear, drawn by sampler_sample with the target's seed and offset
};

struct Case {
  std::string name;
  sampler_acceptance rule = SAMPLER_ACCEPT_STANDARD;
  std::vector<std::int32_t> parents;  // a chain: {-1, 0, 1 ...}
  bool is_tree = false;
  Drafter drafter = Drafter::kNear;
  sampler_sibling_rule siblings = SAMPLER_SIBLINGS_INDEPENDENT;
  float temperature = 1;
  std::int32_t top_k = 0;
  float top_p = 1, min_p = 0;
  bool has_penalties = false;
  bool are_probabilities = false;
  sampler_draw_method draw_method = SAMPLER_DRAW_INVERSE_CDF;
  sampler_draw_method draft_draw_method = SAMPLER_DRAW_INVERSE_CDF;  // of kShared

  bool excludes_siblings() const {
    return is_tree && siblings == SAMPLER_SIBLINGS_WITHOUT_REPLACEMENT;
  }
};

void PrintTo(const Case &which, std::ostream *out) {
  *out << which.name;
}

constexpr std::int32_t kPrompt[] = {0, 3, 3};
constexpr float kFrequency = 0.7F, kPresence = 0.4F;

// Which of the model's rows follows a text: by its last token.
std::size_t row_behind(const Text &text) {
  return text.empty() ? 0 : text.back() + 1;
}

class Model {
 public:
  explicit Model(const Case &which) : case_(which) {
    // Multiples of 1/32, so that rows of probabilities sum to 1 exactly.
    const double first[] = {8, 2, 9, 3, 10};
    const double other[] = {2, 9, 5, 12, 4};
    for (std::size_t row = 0; row <= kTokens; ++row) {
      Distribution p(kTokens), q(kTokens);
      for (std::size_t i = 0; i < kTokens; ++i) {
        p[i] = first[(i + row) % kTokens] / 32;
        q[i] = other[(i + 2 * row) % kTokens] / 32;
      }
      if (which.drafter == Drafter::kDisjoint) {
        // p has two tokens, q the others.
        for (std::size_t i = 0; i < kTokens; ++i) {
          const bool is_target = (i + row) % kTokens < 2;
          p[i] = is_target ? 0.5 : 0;
          q[i] = is_target ? 0 : (i + row) % kTokens == 2 ? 0.5 : 0.25;
        }
      }
      if (which.drafter == Drafter::kSame) q = p;
      const bool is_one =
          which.drafter == Drafter::kOneHot || which.drafter == Drafter::kDeterministic;
      if (is_one) make_certain(row % kTokens, &q);
      if (which.drafter == Drafter::kCertain) make_certain((row + 2) % kTokens, &p);
      add(p, &target_values);
      add(q, &draft_values);
    }
    drafts_.push_back(law(draft_values, {}, false));
    for (std::size_t i = 0; i < kTokens; ++i) drafts_.push_back(law(draft_values, {i}, false));
    none_ = law(target_values, {}, true);
    for (std::size_t i = 0; i < kTokens; ++i) {
      one_.push_back(law(target_values, {i}, true));
      for (std::size_t k = 0; k < kTokens; ++k) two_.push_back(law(target_values, {i, k}, true));
    }
  }

  Distribution target(const Text &text) const {
    return text.size() <= 2 ? short_target(text) : law(target_values, text, true);
  }
  // Behind up to two tokens.
  const Distribution &short_target(const Text &text) const {
    if (text.empty()) return none_;
    return text.size() == 1 ? one_[text[0]] : two_[text[0] * kTokens + text[1]];
  }
  // By the row, see row_behind.
  const Distribution &draft(std::size_t row) const { return drafts_[row]; }

  std::vector<float> target_values, draft_values;  // [kTokens + 1, kTokens]

 private:
  static void make_certain(std::size_t id, Distribution *p) {
    for (std::size_t i = 0; i < kTokens; ++i) (*p)[i] = i == id ? 1 : 0;
  }

  void add(const Distribution &p, std::vector<float> *values) const {
    for (const double share : p) {
      values->push_back(static_cast<float>(case_.are_probabilities ? share : std::log(share)));
    }
  }

  Distribution law(const std::vector<float> &values, const Text &text, bool is_target) const {
    const float *const row = &values[row_behind(text) * kTokens];
    Distribution result(row, row + kTokens);
    if (case_.are_probabilities) return result;
    if (is_target && case_.has_penalties) {
      std::vector<int> counts(kTokens);
      for (const std::int32_t id : kPrompt) ++counts[std::size_t(id)];
      for (const std::size_t id : text) ++counts[id];
      for (std::size_t i = 0; i < kTokens; ++i) {
        if (counts[i] > 0) result[i] -= double(kFrequency) * counts[i] + double(kPresence);
      }
    }
    const double highest = *std::max_element(result.begin(), result.end());
    for (double &x : result) x = std::exp((x - highest) / double(case_.temperature));
    filter(&result);
    const double total = std::accumulate(result.begin(), result.end(), 0.0);
    for (double &x : result) x /= total;
    return result;
  }

  // By section 6 of the contract, in doubles. No two weights are so near that f32 could order them
  // in another way.
  void filter(Distribution *weights) const {
    Distribution sorted = *weights;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    if (case_.top_k > 0) sorted.resize(std::size_t(case_.top_k));
    if (case_.top_p < 1) {
      const double total = std::accumulate(sorted.begin(), sorted.end(), 0.0);
      std::size_t size = 0;
      for (double sum = 0; size < sorted.size() && sum < double(case_.top_p) * total;) {
        sum += sorted[size++];
      }
      sorted.resize(size);
    }
    while (sorted.back() < double(case_.min_p) * sorted[0]) sorted.pop_back();
    for (double &weight : *weights) weight = weight < sorted.back() ? 0 : weight;
  }

  Case case_;
  std::vector<Distribution> drafts_, one_, two_;
  Distribution none_;
};

std::size_t draw(Random *random, const Distribution &p) {
  double u = random->unit() * std::accumulate(p.begin(), p.end(), 0.0);
  std::size_t id = 0;
  while (id + 1 < p.size() && u >= p[id]) u -= p[id++];
  while (id > 0 && !(p[id] > 0)) --id;  // rounding
  EXPECT_GT(p[id], 0);
  return id;
}

// A batch of sequences, verified call after call with new seeds.
class Batch {
 public:
  Batch(sampler_t sampler, const Case &which)
      : model(which), sampler_(sampler), case_(which), num_drafts_(which.parents.size()) {
    args_.draft_layout.num_sequences = kPerCall;
    args_.num_drafts = std::int64_t(num_drafts_);
    args_.acceptance_params.rule = which.rule;
    args_.acceptance_params.sibling_rule = which.siblings;
    args_.acceptance_params.draw_method = which.draw_method;
    args_.target = view(model.target_values);
    target_indices_.resize(std::size_t(kPerCall) * (num_drafts_ + 1));
    args_.draft_layout.target_row_indices = target_indices_.data();
    drafts_.resize(std::size_t(kPerCall) * num_drafts_);
    args_.draft_token_ids = drafts_.data();
    if (which.drafter != Drafter::kDeterministic) {
      args_.draft = view(model.draft_values);
      draft_indices_.resize(drafts_.size());
      args_.draft_layout.draft_row_indices = draft_indices_.data();
    }
    if (which.is_tree) {
      args_.draft_layout.parents = which.parents.data();
      args_.draft_layout.tree_rows = 1;
    }
    params_.temperature = draft_params_.temperature = which.temperature;
    params_.top_k = draft_params_.top_k = which.top_k;
    params_.top_p = draft_params_.top_p = which.top_p;
    params_.min_p = draft_params_.min_p = which.min_p;
    args_.params = &params_;
    if (which.has_penalties) {
      params_.frequency_penalty = kFrequency;
      params_.presence_penalty = kPresence;
      params_.penalty_scope = SAMPLER_PENALTY_SCOPE_ALL;
      pipeline_.struct_size = sizeof pipeline_;
      pipeline_.history = {prompt_offsets_, kPrompt, 1, 3};
      args_.pipeline = &pipeline_;
      if (which.drafter != Drafter::kDeterministic) args_.draft_params = &draft_params_;
    }
    seeds_.resize(std::size_t(kPerCall));
    args_.random.seeds = seeds_.data();
    args_.random.num_seeds = kPerCall;
    args_.random.offset = 3;
    tokens_.resize(target_indices_.size());
    emitted.resize(std::size_t(kPerCall));
    args_.out_token_ids = tokens_.data();
    args_.out_emitted_counts = emitted.data();
    std::size_t bytes = 0;
    EXPECT_EQ(sampler_verify_workspace_size(sampler, &args_, &bytes), SAMPLER_OK)
        << sampler_last_error();
    workspace_.resize(bytes);
    args_.exec.workspace = workspace_.data();
    args_.exec.workspace_bytes = bytes;
  }

  bool run(Random *random) {
    for (std::uint64_t &seed : seeds_) seed = next_seed_++;
    if (case_.drafter == Drafter::kShared) {
      draw_shared();
    } else {
      for (std::size_t s = 0; s < std::size_t(kPerCall); ++s) propose(random, s);
    }
    EXPECT_EQ(sampler_verify(sampler_, &args_), SAMPLER_OK) << sampler_last_error();
    return !testing::Test::HasFailure();
  }

  // The number of the first three tokens; those that are missing come by the model.
  std::size_t text(Random *random, std::size_t s) const {
    Text result;
    result.reserve(kLength);
    for (std::size_t i = 0; i <= std::size_t(emitted[s]) && i < kLength; ++i) {
      result.push_back(std::size_t(tokens_[s * (num_drafts_ + 1) + i]));
    }
    while (result.size() < kLength) result.push_back(draw(random, model.short_target(result)));
    return (result[0] * kTokens + result[1]) * kTokens + result[2];
  }

  std::size_t draft(std::size_t s, std::size_t i) const {
    return std::size_t(drafts_[s * num_drafts_ + i]);
  }

  const Model model;
  std::vector<std::int32_t> emitted;

 private:
  sampler_rows view(const std::vector<float> &values) const {
    sampler_rows rows = {};
    rows.values = values.data();
    rows.num_rows = kTokens + 1;
    rows.num_cols = kTokens;
    rows.kind = case_.are_probabilities ? SAMPLER_PROBABILITIES : SAMPLER_LOGITS;
    return rows;
  }

  // The row that a draft comes from.
  std::size_t row_of(std::size_t s, std::size_t node) const {
    const std::int32_t parent = case_.parents[node];
    return parent < 0 ? 0 : draft(s, std::size_t(parent)) + 1;
  }

  void put(std::size_t s, std::size_t node, std::size_t token) {
    drafts_[s * num_drafts_ + node] = std::int32_t(token);
    target_indices_[s * (num_drafts_ + 1) + node + 1] = std::int32_t(token + 1);
    if (!draft_indices_.empty()) {
      draft_indices_[s * num_drafts_ + node] = std::int32_t(row_of(s, node));
    }
  }

  // f(sibling) for each draft before `node` with the same parent.
  template <class F>
  void for_earlier_siblings(std::size_t node, const F &f) const {
    for (std::size_t other = 0; other < node; ++other) {
      if (case_.parents[other] == case_.parents[node]) f(other);
    }
  }

  void propose(Random *random, std::size_t s) {
    for (std::size_t node = 0; node < num_drafts_; ++node) {
      const std::size_t row = row_of(s, node);
      if (case_.drafter == Drafter::kDeterministic) {
        std::size_t num_earlier = 0;
        for_earlier_siblings(node, [&](std::size_t) { ++num_earlier; });
        put(s, node, (row + 2 * num_earlier) % kTokens);
      } else if (case_.excludes_siblings()) {
        Distribution q = model.draft(row);
        for_earlier_siblings(node, [&](std::size_t other) { q[draft(s, other)] = 0; });
        put(s, node, draw(random, q));
      } else {
        put(s, node, draw(random, model.draft(row)));
      }
    }
  }

  // Draft after draft, all sequences at once, with the words of the target's own draws at that
  // depth: the first of siblings with the very words, the others with those of another stream.
  void draw_shared() {
    const bool is_left = case_.excludes_siblings();  // of draws without replacement: probabilities
    std::vector<float> rows(at(kPerCall) * kTokens);
    std::vector<std::int32_t> ids(at(kPerCall), 0), depths(num_drafts_, 0);
    const sampler_params as_they_are = sampler_params_default();
    for (std::size_t node = 0; node < num_drafts_; ++node) {
      const std::int32_t parent = case_.parents[node];
      depths[node] = parent < 0 ? 0 : depths[std::size_t(parent)] + 1;
      std::uint32_t num_earlier = 0;
      for_earlier_siblings(node, [&](std::size_t) { ++num_earlier; });
      for (std::size_t s = 0; s < ids.size(); ++s) {
        float *const row = &rows[s * kTokens];
        if (!is_left) {
          std::copy_n(&model.draft_values[row_of(s, node) * kTokens], kTokens, row);
          continue;
        }
        const Distribution &q = model.draft(row_of(s, node));
        std::transform(q.begin(), q.end(), row, [](double share) { return float(share); });
        for_earlier_siblings(node, [&](std::size_t other) { row[draft(s, other)] = 0; });
      }
      auto args = sized<sampler_sample_args>();
      args.input = view(rows);
      args.input.num_rows = kPerCall;
      if (is_left) args.input.kind = SAMPLER_PROBABILITIES;
      args.params = is_left ? &as_they_are : &draft_params_;
      args.random = args_.random;
      args.random.offset += std::uint64_t(depths[node]);
      args.draw_method = case_.draft_draw_method;
      const std::vector<std::uint32_t> streams(ids.size(), num_earlier);
      args.random.streams = streams.data();
      args.out_token_ids = ids.data();
      std::size_t bytes = 0;
      ASSERT_EQ(sampler_sample_workspace_size(sampler_, &args, &bytes), SAMPLER_OK)
          << sampler_last_error();
      std::vector<unsigned char> workspace(bytes);
      args.exec.workspace = workspace.data();
      args.exec.workspace_bytes = bytes;
      ASSERT_EQ(sampler_sample(sampler_, &args), SAMPLER_OK) << sampler_last_error();
      for (std::size_t s = 0; s < ids.size(); ++s) put(s, node, std::size_t(ids[s]));
    }
  }

  sampler_t sampler_;
  const Case case_;
  const std::size_t num_drafts_;
  VerifyArgs args_;
  sampler_params params_ = sampler_params_default(), draft_params_ = sampler_params_default();
  sampler_pipeline pipeline_ = {};
  const std::int64_t prompt_offsets_[2] = {0, 3};
  std::vector<std::int32_t> target_indices_, draft_indices_, drafts_, tokens_;
  std::vector<std::uint64_t> seeds_;
  std::uint64_t next_seed_ = 1;
  std::vector<unsigned char> workspace_;
};

// Pearson's, of all outcomes at once; those that are expected too seldom count as one. 0 where one
// came that cannot come.
double p_value(const Counts &counts, const Probabilities &law) {
  double statistic = 0, count = 0, expected = 0;
  int num_cells = 0;
  const auto add = [&](double one_count, double one_expected) {
    statistic += (one_count - one_expected) * (one_count - one_expected) / one_expected;
    ++num_cells;
  };
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double of_one = double(law[i]) * double(kNumDraws);
    if (of_one >= statistics_test::kFewestExpected) {
      add(double(counts[i]), of_one);
    } else if (counts[i] > 0 && !(of_one > 0)) {
      return 0;
    } else {
      count += double(counts[i]);
      expected += of_one;
    }
  }
  if (expected > 0) add(count, expected);
  return num_cells > 1 ? statistics_test::chi_square_tail(statistic, num_cells - 1) : 1;
}

// The distribution of the token at one place alone, 0 to 2.
template <class Numbers>
Numbers marginal(const Numbers &joint, std::size_t place) {
  constexpr std::size_t kSteps[] = {kTokens * kTokens, kTokens, 1};
  Numbers result(kTokens);
  for (std::size_t i = 0; i < joint.size(); ++i) result[i / kSteps[place] % kTokens] += joint[i];
  return result;
}

std::vector<Case> cases();

class Law : public testing::TestWithParam<Case> {};

TEST_P(Law, IsTheTargets) {
  const Case &which = GetParam();
  const auto handle = pipeline_test::make_handle(nullptr, 1);
  Batch batch(handle.get(), which);
  ASSERT_FALSE(HasFailure());
  Random random(17);
  Counts counts(kTexts), emitted(which.parents.size() + 1);
  for (std::int64_t call = 0; call < kNumCalls; ++call) {
    ASSERT_TRUE(batch.run(&random));
    for (std::size_t s = 0; s < std::size_t(kPerCall); ++s) {
      ++counts.at(batch.text(&random, s));
      ++emitted.at(std::size_t(batch.emitted[s]));
    }
  }
  Probabilities law;
  for (std::size_t a = 0; a < kTokens; ++a) {
    for (std::size_t b = 0; b < kTokens; ++b) {
      for (std::size_t c = 0; c < kTokens; ++c) {
        law.push_back(batch.model.target({})[a] * batch.model.target({a})[b] *
                      batch.model.target({a, b})[c]);
      }
    }
  }
  const bool is_certain = which.drafter == Drafter::kCertain;  // then p_value() says all there is
  if (!is_certain) {
    EXPECT_EQ(frequency_fault(counts, law), "");
  }
  std::vector<double> p_values = {p_value(counts, law)};
  for (std::size_t place = 0; place < kLength; ++place) {
    const Counts counts_there = marginal(counts, place);
    const Probabilities law_there = marginal(law, place);
    if (!is_certain) {
      EXPECT_EQ(frequency_fault(counts_there, law_there), "") << "token " << place;
    }
    p_values.push_back(p_value(counts_there, law_there));
  }
  const double least = kAlphaOfAll / (4.0 * double(cases().size()));
  for (const double p : p_values) EXPECT_GT(p, least);
  double kept = 0;
  for (std::size_t i = 0; i < emitted.size(); ++i) kept += double(i) * double(emitted[i]);
  std::printf("| %s | %.3f | %.3g | %.3g | %.3g | %.3g |\n", which.name.c_str(),
              kept / double(kNumDraws), p_values[0], p_values[1], p_values[2], p_values[3]);
  // The case is of what it says it is of.
  const std::uint64_t all = std::uint64_t(kNumDraws);
  if (which.rule == SAMPLER_ACCEPT_SAMPLE_MATCH || is_certain) return;
  if (which.drafter == Drafter::kDisjoint) {
    EXPECT_EQ(emitted[0], all);
  } else if (which.drafter == Drafter::kSame && !which.has_penalties &&
             which.rule != SAMPLER_ACCEPT_THRESHOLD) {
    // To a rounding of f32, or where a coin of 2^-29 meets it.
    const std::uint64_t deep =
        std::accumulate(emitted.begin() + 2, emitted.end(), std::uint64_t{0});
    EXPECT_GE(deep + 10, all);
  } else {
    // A tree may hold all that is kept, a filter leave little to accept: two of three are seen.
    const auto is_seen = [&](std::uint64_t count) { return count > all / 100; };
    EXPECT_GE(std::count_if(emitted.begin(), emitted.begin() + 3, is_seen), 2);
  }
}

// A rule with drafts of one shape.
struct Shape {
  const char *name;
  sampler_acceptance rule;
  std::vector<std::int32_t> parents;
  sampler_sibling_rule siblings;
};

// Drafters and stages.
struct Setting {
  const char *name;
  Drafter drafter;
  std::function<void(Case *)> set;
};

std::vector<Shape> shapes() {
  const std::vector<std::int32_t> chain = {-1, 0}, long_chain = {-1, 0, 1, 2};
  const std::vector<std::int32_t> tree = {-1, -1, -1, 0, 0, 1, 2, 2};
  const auto with = SAMPLER_SIBLINGS_INDEPENDENT;
  const auto without = SAMPLER_SIBLINGS_WITHOUT_REPLACEMENT;
  return {{"Chain", SAMPLER_ACCEPT_STANDARD, chain, with},
          {"Tree", SAMPLER_ACCEPT_STANDARD, tree, with},
          {"TreeWithoutReplacement", SAMPLER_ACCEPT_STANDARD, tree, without},
          {"ShortBlock", SAMPLER_ACCEPT_BLOCK, chain, with},
          {"Block", SAMPLER_ACCEPT_BLOCK, long_chain, with},
          {"MatchChain", SAMPLER_ACCEPT_SAMPLE_MATCH, chain, with},
          {"MatchTree", SAMPLER_ACCEPT_SAMPLE_MATCH, tree, with},
          {"MatchTreeWithoutReplacement", SAMPLER_ACCEPT_SAMPLE_MATCH, tree, without},
          {"ThresholdChain", SAMPLER_ACCEPT_THRESHOLD, chain, with},
          {"ThresholdTree", SAMPLER_ACCEPT_THRESHOLD, tree, with}};
}

void set_filters(Case *one) {
  // top_k and top_p take one token each from the target, top_k and min_p from the draft.
  one->temperature = 0.8F;
  one->top_k = 4;
  one->top_p = 0.9F;
  one->min_p = 0.3F;
}

std::vector<Setting> settings() {
  const auto nothing = [](Case *) {};
  const auto probabilities = [](Case *one) { one->are_probabilities = true; };
  const auto warm = [](Case *one) { one->temperature = 1.4F; };
  const auto cold = [](Case *one) { one->temperature = 0.7F; };
  const auto penalties = [](Case *one) { one->has_penalties = true; };
  const auto all = [](Case *one) {
    set_filters(one);
    one->has_penalties = true;
  };
  const auto gumbel = [](Case *one) {
    one->draft_draw_method = SAMPLER_DRAW_GUMBEL;
    // The target's own draws, too, where the rule has any.
    if (one->rule == SAMPLER_ACCEPT_SAMPLE_MATCH) one->draw_method = SAMPLER_DRAW_GUMBEL;
  };
  return {{"Near", Drafter::kNear, nothing},
          {"Probabilities", Drafter::kNear, probabilities},
          {"Same", Drafter::kSame, nothing},
          {"Disjoint", Drafter::kDisjoint, probabilities},
          {"Deterministic", Drafter::kDeterministic, nothing},
          {"OneHot", Drafter::kOneHot, nothing},
          {"Certain", Drafter::kCertain, nothing},
          {"Warm", Drafter::kNear, warm},
          {"Cold", Drafter::kNear, cold},
          {"Filters", Drafter::kNear, set_filters},
          {"Penalties", Drafter::kNear, penalties},
          {"SamePenalties", Drafter::kSame, penalties},
          {"FiltersPenalties", Drafter::kNear, all},
          {"DeterministicCold", Drafter::kDeterministic, cold},
          {"DeterministicPenalties", Drafter::kDeterministic, penalties},
          {"Shared", Drafter::kShared, nothing},
          {"SharedPenalties", Drafter::kShared, penalties},
          {"SharedGumbel", Drafter::kShared, gumbel}};
}

// Threshold is lossless for drafts that are chosen without chance; those of a tree are no two the
// same. A row of one token has no second sibling.
bool go_together(const Shape &shape, const Setting &setting) {
  const bool is_chosen = setting.drafter == Drafter::kDeterministic;
  if (shape.rule == SAMPLER_ACCEPT_THRESHOLD) return is_chosen;
  if (shape.name == std::string("ShortBlock")) return setting.drafter == Drafter::kNear;
  const bool is_without = shape.siblings == SAMPLER_SIBLINGS_WITHOUT_REPLACEMENT;
  return !is_without || (!is_chosen && setting.drafter != Drafter::kOneHot);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Shape &shape : shapes()) {
    for (const Setting &setting : settings()) {
      if (!go_together(shape, setting)) continue;
      Case one;
      one.name = std::string(shape.name) + setting.name;
      one.rule = shape.rule;
      one.parents = shape.parents;
      one.is_tree = shape.parents[1] == -1;
      one.siblings = shape.siblings;
      one.drafter = setting.drafter;
      setting.set(&one);
      all.push_back(one);
      if (shape.rule != SAMPLER_ACCEPT_SAMPLE_MATCH || std::string(setting.name) != "Near")
        continue;
      one.name = std::string(shape.name) + "Gumbel";
      one.draw_method = SAMPLER_DRAW_GUMBEL;
      all.push_back(one);
    }
  }
  return all;
}

std::string name_of_case(const testing::TestParamInfo<Case> &which) {
  return which.param.name;
}
INSTANTIATE_TEST_SUITE_P(Emitted, Law, testing::ValuesIn(cases()), name_of_case);

// How many drafts are kept, exactly, given the drafts.
using KeptOf = std::function<std::vector<double>(const Model &, const Text &)>;

std::vector<double> kept_by_standard(const Model &model, const Text &drafts) {
  std::vector<double> result;
  double all = 1;
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    const Text before(drafts.begin(), drafts.begin() + std::ptrdiff_t(i));
    const double ratio =
        model.target(before)[drafts[i]] / model.draft(row_behind(before))[drafts[i]];
    const double pass = std::min(ratio, 1.0);
    result.push_back(all * (1 - pass));
    all *= pass;
  }
  result.push_back(all);
  return result;
}

std::vector<double> kept_by_block(const Model &model, const Text &drafts) {
  std::vector<double> chances;  // h, of 1, 2 ... drafts
  double share = 1;
  for (std::size_t i = 1; i <= drafts.size(); ++i) {
    const Text before(drafts.begin(), drafts.begin() + std::ptrdiff_t(i - 1));
    const Text behind(drafts.begin(), drafts.begin() + std::ptrdiff_t(i));
    share = std::min(share * model.target(before)[drafts[i - 1]] /
                         model.draft(row_behind(before))[drafts[i - 1]],
                     1.0);
    if (i == drafts.size()) {
      chances.push_back(share);
      break;
    }
    double rest = 0;
    const Distribution p = model.target(behind), q = model.draft(row_behind(behind));
    for (std::size_t x = 0; x < kTokens; ++x) rest += std::max(share * p[x] - q[x], 0.0);
    chances.push_back(rest + 1 - share > 0 ? rest / (rest + 1 - share) : 1);
  }
  std::vector<double> result(drafts.size() + 1);
  double none_later = 1;
  for (std::size_t i = drafts.size(); i > 0; --i) {
    result[i] = none_later * chances[i - 1];
    none_later *= 1 - chances[i - 1];
  }
  result[0] = none_later;
  return result;
}

Probabilities kept_law(const Model &model, std::size_t num_drafts, const KeptOf &kept_of) {
  Probabilities law(num_drafts + 1, 0);
  const std::function<void(Text *, double)> go = [&](Text *drafts, double chance) {
    if (drafts->size() == num_drafts) {
      const std::vector<double> kept = kept_of(model, *drafts);
      for (std::size_t i = 0; i < kept.size(); ++i) law[i] += chance * kept[i];
      return;
    }
    const Distribution q = model.draft(row_behind(*drafts));
    for (std::size_t x = 0; x < kTokens; ++x) {
      drafts->push_back(x);
      if (q[x] > 0) go(drafts, chance * q[x]);
      drafts->pop_back();
    }
  };
  Text drafts;
  go(&drafts, 1);
  return law;
}

double mean(const Probabilities &law) {
  double result = 0;
  for (std::size_t i = 0; i < law.size(); ++i) result += double(i) * double(law[i]);
  return result;
}

// The numbers of drafts kept by a rule, as their law has them. Its mean.
double mean_kept(sampler_t sampler, const Setting &setting, sampler_acceptance rule) {
  Case which;
  which.name = setting.name;
  which.rule = rule;
  which.parents = {-1, 0, 1, 2};
  which.drafter = setting.drafter;
  setting.set(&which);
  Batch batch(sampler, which);
  const bool is_block = rule == SAMPLER_ACCEPT_BLOCK;
  const Probabilities law =
      kept_law(batch.model, 4, is_block ? KeptOf(kept_by_block) : KeptOf(kept_by_standard));
  Random random(23);
  Counts counts(5);
  for (std::int64_t call = 0; call < kNumCalls && batch.run(&random); ++call) {
    for (const std::int32_t kept : batch.emitted) ++counts.at(std::size_t(kept));
  }
  // If all texts keep the same number, only that is compared, to a rounding of f32.
  const auto likeliest = std::max_element(law.begin(), law.end());
  if (*likeliest > 1 - 1e-6L) {
    EXPECT_GE(counts.at(std::size_t(likeliest - law.begin())) + 10, std::uint64_t(kNumDraws));
  } else {
    EXPECT_EQ(frequency_fault(counts, law), "");
  }
  return mean(law);
}

// On average, whatever the drafter and the stages are.
TEST(Block, KeepsNoFewerThanStandard) {
  const auto handle = pipeline_test::make_handle(nullptr, 1);
  int num_more = 0;
  for (const Setting &setting : settings()) {
    SCOPED_TRACE(setting.name);
    const double standard = mean_kept(handle.get(), setting, SAMPLER_ACCEPT_STANDARD);
    const double block = mean_kept(handle.get(), setting, SAMPLER_ACCEPT_BLOCK);
    ASSERT_FALSE(HasFailure());
    EXPECT_GE(block, standard - 1e-6);  // a rounding of f32, in the models' rows
    if (setting.drafter == Drafter::kNear && std::string(setting.name) == "Near") {
      EXPECT_GT(block, standard + 0.02);
    }
    num_more += block > standard + 0.01;
  }
  EXPECT_GE(num_more, 8);
}

}  // namespace
}  // namespace verification_test::laws_test
