// What lossless rules emit follows the target's law: the first three tokens together, of a model
// whose rows depend on the text, with drafters of every kind. The law is worked out in doubles by
// going through all texts; drafts come from a generator that has nothing to do with the library,
// but for one drafter that draws with its target's own seeds and offsets.
//
// Each case draws kNumDraws times. A token of probability 0.05 that comes 5 % too often or too
// seldom has a deviation of 7.5 standard deviations then; the least that is found, with the chances
// of chi_square.h, is about 4.5.
#include <gtest/gtest.h>
#include <sampler/sampler.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>

#include "../sized.h"
#include "../statistics/chi_square.h"
#include "handles.h"
#include "problem.h"

namespace verification_test {
namespace {

using statistics_test::Counts;
using statistics_test::frequency_fault;
using statistics_test::Probabilities;

#if defined(__SANITIZE_ADDRESS__) || defined(__aarch64__)
constexpr std::int64_t kNumCalls = 12;
#else
constexpr std::int64_t kNumCalls = 110;
#endif
constexpr std::int64_t kPerCall = 4096;
constexpr std::size_t kTokens = 5;
constexpr std::size_t kLength = 3;

using Distribution = std::vector<double>;
using Text = std::vector<std::size_t>;

enum class Drafter {
  kNear,           // another distribution
  kSame,           // the target's own
  kDisjoint,       // gives nothing to tokens that the target has
  kDeterministic,  // no rows; the next token is a function of the last one
  kShared          // as kNear, drawn by sampler_sample with the target's seed and offset
};

struct Case {
  const char *name;
  sampler_acceptance rule = SAMPLER_ACCEPT_STANDARD;
  std::vector<std::int32_t> parents;  // a chain: {-1, 0, 1 ...}
  bool is_tree = false;
  Drafter drafter = Drafter::kNear;
  sampler_sibling_rule siblings = SAMPLER_SIBLINGS_INDEPENDENT;
  float temperature = 1;
  std::int32_t top_k = 0;
  bool has_penalties = false;
  bool are_probabilities = false;
  sampler_draw_method draw_method = SAMPLER_DRAW_INVERSE_CDF;
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
      add(p, &target_values);
      add(q, &draft_values);
    }
  }

  Distribution target(const Text &text) const { return law(target_values, text, true); }
  Distribution draft(const Text &text) const { return law(draft_values, text, false); }

  std::vector<float> target_values, draft_values;  // [kTokens + 1, kTokens]

 private:
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
    Distribution sorted = result;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    const double least =
        case_.top_k > 0 ? sorted[std::size_t(case_.top_k - 1)] : -double(kInfinity);
    double total = 0;
    for (double &x : result) {
      x = x < least ? 0 : std::exp((x - sorted[0]) / double(case_.temperature));
      total += x;
    }
    for (double &x : result) x /= total;
    return result;
  }

  Case case_;
};

std::size_t draw(Random *random, const Distribution &p) {
  double u = random->unit() * std::accumulate(p.begin(), p.end(), 0.0);
  std::size_t id = 0;
  while (id + 1 < p.size() && u >= p[id]) u -= p[id++];
  while (!(p[id] > 0)) --id;  // rounding
  return id;
}

// A batch of sequences, verified call after call with new seeds.
class Batch {
 public:
  Batch(sampler_t sampler, const Case &which)
      : model(which), sampler_(sampler), case_(which), num_drafts_(which.parents.size()) {
    args_.struct_size = sizeof args_;
    args_.num_sequences = kPerCall;
    args_.num_drafts = std::int64_t(num_drafts_);
    args_.acceptance = which.rule;
    args_.sibling_rule = which.siblings;
    args_.draw_method = which.draw_method;
    args_.target = view(model.target_values);
    target_indices_.resize(std::size_t(kPerCall) * (num_drafts_ + 1));
    args_.target_row_indices = target_indices_.data();
    drafts_.resize(std::size_t(kPerCall) * num_drafts_);
    args_.draft_token_ids = drafts_.data();
    if (which.drafter != Drafter::kDeterministic) {
      args_.draft = view(model.draft_values);
      draft_indices_.resize(drafts_.size());
      args_.draft_row_indices = draft_indices_.data();
    }
    if (which.is_tree) {
      args_.parents = which.parents.data();
      args_.tree_rows = 1;
    }
    params_.temperature = draft_params_.temperature = which.temperature;
    params_.top_k = draft_params_.top_k = which.top_k;
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

  // The first three tokens, those that are missing by the model.
  Text text(Random *random, std::size_t s) const {
    Text result;
    for (std::size_t i = 0; i <= std::size_t(emitted[s]) && i < kLength; ++i) {
      result.push_back(std::size_t(tokens_[s * (num_drafts_ + 1) + i]));
    }
    while (result.size() < kLength) result.push_back(draw(random, model.target(result)));
    return result;
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

  Text path(std::size_t s, std::int32_t node) const {
    Text result;
    for (; node >= 0; node = case_.parents[std::size_t(node)]) {
      result.push_back(draft(s, std::size_t(node)));
    }
    std::reverse(result.begin(), result.end());
    return result;
  }

  void put(std::size_t s, std::size_t node, std::size_t token, const Text &parent) {
    drafts_[s * num_drafts_ + node] = std::int32_t(token);
    target_indices_[s * (num_drafts_ + 1) + node + 1] = std::int32_t(token + 1);
    if (!draft_indices_.empty()) {
      draft_indices_[s * num_drafts_ + node] = std::int32_t(row_behind(parent));
    }
  }

  void propose(Random *random, std::size_t s) {
    for (std::size_t node = 0; node < num_drafts_; ++node) {
      const Text parent = path(s, case_.parents[node]);
      Distribution q = model.draft(parent);
      std::size_t num_earlier = 0;
      for (std::size_t other = 0; other < node; ++other) {
        if (case_.parents[other] != case_.parents[node]) continue;
        ++num_earlier;
        if (case_.siblings == SAMPLER_SIBLINGS_WITHOUT_REPLACEMENT) q[draft(s, other)] = 0;
      }
      const std::size_t token = case_.drafter == Drafter::kDeterministic
                                    ? (row_behind(parent) + 2 * num_earlier) % kTokens
                                    : draw(random, q);
      put(s, node, token, parent);
    }
  }

  // Draft after draft, all sequences at once, with the words of the target's own draws.
  void draw_shared() {
    std::vector<std::int32_t> rows(at(kPerCall), 0), ids(at(kPerCall), 0);
    for (std::size_t node = 0; node < num_drafts_; ++node) {
      auto args = sized<sampler_sample_args>();
      args.input = args_.draft;
      for (std::size_t s = 0; s < rows.size(); ++s) {
        rows[s] = std::int32_t(row_behind(path(s, case_.parents[node])));
      }
      args.row_indices = rows.data();
      args.num_row_indices = kPerCall;
      args.params = &draft_params_;
      args.random = args_.random;
      args.random.offset += node;
      args.out_token_ids = ids.data();
      std::size_t bytes = 0;
      ASSERT_EQ(sampler_sample_workspace_size(sampler_, &args, &bytes), SAMPLER_OK);
      std::vector<unsigned char> workspace(bytes);
      args.exec.workspace = workspace.data();
      args.exec.workspace_bytes = bytes;
      ASSERT_EQ(sampler_sample(sampler_, &args), SAMPLER_OK) << sampler_last_error();
      for (std::size_t s = 0; s < rows.size(); ++s) {
        put(s, node, std::size_t(ids[s]), path(s, case_.parents[node]));
      }
    }
  }

  sampler_t sampler_;
  const Case case_;
  const std::size_t num_drafts_;
  sampler_verify_args args_ = {};
  sampler_params params_ = sampler_params_default(), draft_params_ = sampler_params_default();
  sampler_pipeline pipeline_ = {};
  const std::int64_t prompt_offsets_[2] = {0, 3};
  std::vector<std::int32_t> target_indices_, draft_indices_, drafts_, tokens_;
  std::vector<std::uint64_t> seeds_;
  std::uint64_t next_seed_ = 1;
  std::vector<unsigned char> workspace_;
};

class Law : public testing::TestWithParam<Case> {};

TEST_P(Law, IsTheTargets) {
  const Case &which = GetParam();
  const auto handle = pipeline_test::make_handle(nullptr, 1);
  Batch batch(handle.get(), which);
  ASSERT_FALSE(HasFailure());
  Random random(17);
  Counts counts(kTokens * kTokens * kTokens), emitted(which.parents.size() + 1);
  for (std::int64_t call = 0; call < kNumCalls; ++call) {
    ASSERT_TRUE(batch.run(&random));
    for (std::size_t s = 0; s < std::size_t(kPerCall); ++s) {
      const Text text = batch.text(&random, s);
      ++counts.at((text[0] * kTokens + text[1]) * kTokens + text[2]);
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
  EXPECT_EQ(frequency_fault(counts, law), "");
  // The case is of what it says it is of.
  const std::uint64_t all = std::uint64_t(kNumCalls) * std::uint64_t(kPerCall);
  if (which.rule == SAMPLER_ACCEPT_SAMPLE_MATCH) return;
  if (which.drafter == Drafter::kDisjoint) {
    EXPECT_EQ(emitted[0], all);
  } else if (which.drafter == Drafter::kSame && !which.has_penalties &&
             which.rule != SAMPLER_ACCEPT_THRESHOLD) {
    // To a rounding of f32, or where a coin of 2^-29 meets it.
    EXPECT_EQ(std::accumulate(emitted.begin() + 2, emitted.end(), std::uint64_t{0}), all);
  } else {
    EXPECT_GT(emitted[0], all / 100);
    EXPECT_GT(emitted[1], all / 100);
    EXPECT_GT(emitted[2], all / 100);
  }
}

std::vector<Case> cases() {
  const std::vector<std::int32_t> chain = {-1, 0}, long_chain = {-1, 0, 1, 2};
  const std::vector<std::int32_t> tree = {-1, -1, -1, 0, 0, 1, 2, 2};
  std::vector<Case> all;
  const auto add = [&](const char *name, sampler_acceptance rule,
                       const std::vector<std::int32_t> &parents, Drafter drafter) -> Case & {
    all.push_back({name, rule, parents, parents == tree, drafter});
    return all.back();
  };
  const auto without = SAMPLER_SIBLINGS_WITHOUT_REPLACEMENT;
  const sampler_acceptance standard = SAMPLER_ACCEPT_STANDARD, block = SAMPLER_ACCEPT_BLOCK;
  const sampler_acceptance match = SAMPLER_ACCEPT_SAMPLE_MATCH;
  const sampler_acceptance threshold = SAMPLER_ACCEPT_THRESHOLD;

  add("ChainNear", standard, chain, Drafter::kNear);
  add("ChainSame", standard, chain, Drafter::kSame);
  add("ChainDeterministic", standard, chain, Drafter::kDeterministic);
  add("ChainShared", standard, chain, Drafter::kShared);
  add("ChainPenalties", standard, chain, Drafter::kNear).has_penalties = true;
  add("ChainSamePenalties", standard, chain, Drafter::kSame).has_penalties = true;
  add("ChainDisjoint", standard, chain, Drafter::kDisjoint).are_probabilities = true;
  Case *one = &add("ChainFiltered", standard, long_chain, Drafter::kNear);
  one->temperature = 0.7F;
  one->top_k = 3;

  add("BlockNear", block, chain, Drafter::kNear);
  add("BlockProbabilities", block, long_chain, Drafter::kNear).are_probabilities = true;
  add("BlockSame", block, long_chain, Drafter::kSame);
  add("BlockDeterministic", block, long_chain, Drafter::kDeterministic);
  add("BlockShared", block, chain, Drafter::kShared);
  add("BlockPenalties", block, long_chain, Drafter::kNear).has_penalties = true;
  add("BlockDisjoint", block, chain, Drafter::kDisjoint).are_probabilities = true;
  one = &add("BlockFiltered", block, long_chain, Drafter::kNear);
  one->temperature = 1.4F;
  one->top_k = 4;

  add("MatchChain", match, chain, Drafter::kNear);
  add("MatchShared", match, chain, Drafter::kShared);
  add("MatchTree", match, tree, Drafter::kNear);
  add("MatchTreePenalties", match, tree, Drafter::kDeterministic).has_penalties = true;
  one = &add("MatchGumbel", match, chain, Drafter::kNear);
  one->draw_method = SAMPLER_DRAW_GUMBEL;

  add("TreeNear", standard, tree, Drafter::kNear);
  add("TreeProbabilities", standard, tree, Drafter::kNear).are_probabilities = true;
  add("TreeSame", standard, tree, Drafter::kSame);
  add("TreeDeterministic", standard, tree, Drafter::kDeterministic);
  add("TreePenalties", standard, tree, Drafter::kNear).has_penalties = true;
  add("TreeDisjoint", standard, tree, Drafter::kDisjoint).are_probabilities = true;
  one = &add("TreeFiltered", standard, tree, Drafter::kNear);
  one->temperature = 0.8F;
  one->top_k = 4;

  add("WithoutReplacementNear", standard, tree, Drafter::kNear).siblings = without;
  one = &add("WithoutReplacementProbabilities", standard, tree, Drafter::kNear);
  one->siblings = without;
  one->are_probabilities = true;
  one = &add("WithoutReplacementPenalties", standard, tree, Drafter::kNear);
  one->siblings = without;
  one->has_penalties = true;
  one = &add("WithoutReplacementDisjoint", standard, tree, Drafter::kDisjoint);
  one->siblings = without;
  one->are_probabilities = true;

  add("ThresholdChain", threshold, chain, Drafter::kDeterministic);
  add("ThresholdTree", threshold, tree, Drafter::kDeterministic);
  add("ThresholdTreePenalties", threshold, tree, Drafter::kDeterministic).has_penalties = true;
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
    const double ratio = model.target(before)[drafts[i]] / model.draft(before)[drafts[i]];
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
    share = std::min(
        share * model.target(before)[drafts[i - 1]] / model.draft(before)[drafts[i - 1]], 1.0);
    if (i == drafts.size()) {
      chances.push_back(share);
      break;
    }
    double rest = 0;
    const Distribution p = model.target(behind), q = model.draft(behind);
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
    const Distribution q = model.draft(*drafts);
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

// The numbers of drafts kept have their laws, of which that by BLOCK has the larger mean.
TEST(Block, KeepsMoreThanStandard) {
  const auto handle = pipeline_test::make_handle(nullptr, 1);
  const Case standard = {"Standard", SAMPLER_ACCEPT_STANDARD, {-1, 0, 1, 2}};
  const Case block = {"Block", SAMPLER_ACCEPT_BLOCK, {-1, 0, 1, 2}};
  double means[2];
  for (const Case &which : {standard, block}) {
    const bool is_block = which.rule == SAMPLER_ACCEPT_BLOCK;
    Batch batch(handle.get(), which);
    ASSERT_FALSE(HasFailure());
    Random random(23);
    Counts counts(5);
    for (std::int64_t call = 0; call < kNumCalls; ++call) {
      ASSERT_TRUE(batch.run(&random));
      for (const std::int32_t kept : batch.emitted) ++counts.at(std::size_t(kept));
    }
    const Probabilities law =
        kept_law(batch.model, 4, is_block ? KeptOf(kept_by_block) : KeptOf(kept_by_standard));
    EXPECT_EQ(frequency_fault(counts, law), "") << which.name;
    means[is_block ? 1 : 0] = mean(law);
  }
  EXPECT_GT(means[1], means[0] + 0.02);
}

}  // namespace
}  // namespace verification_test
