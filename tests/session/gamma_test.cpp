// How many drafts a step gets.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "../sized.h"
#include "driver.h"

namespace session_test::gamma_test {
namespace {

using decoding_test::mixed_logits;
using decoding_test::table_logits;

// What a step takes: of each model that has spans, for the first of its tokens and for each other.
struct Costs {
  std::int64_t target_first, target_more, drafter_first;
  int disagreement;      // of the drafter, in percent
  bool changes = false;  // the target, in the second half of the batches, so that no draft is kept
};

// What else a simulation has.
struct Extent {
  std::int64_t max_drafts = 4;
  std::int64_t top_k = 0;  // of trees
  // In the second half of the batches a sequence without drafts runs beside the others, until they
  // have ended.
  bool has_other = false;
};

// Sequences of a session, a few at a time, on a clock that moves by these costs.
class Simulation {
 public:
  Simulation(const Costs &costs, sampler_draft_source source, std::int64_t at_once,
             const Extent &extent = {})
      : costs_(costs), source_(source), at_once_(at_once), extent_(extent) {}

  std::int64_t plain() { return time_of(SAMPLER_DRAFTS_NONE, SAMPLER_GAMMA_FIXED); }
  std::int64_t fixed(std::int64_t num_drafts = 0) {
    return time_of(source_, SAMPLER_GAMMA_FIXED, num_drafts);
  }
  std::int64_t measured() { return time_of(source_, SAMPLER_GAMMA_MEASURED); }
  // The time of the last run's second half of the batches.
  std::int64_t late_time() const { return time_ - half_time_; }

 private:
  static constexpr std::int64_t kNewTokens = 40;
  static constexpr int kBatches = 40;

  std::int64_t time_of(sampler_draft_source source, sampler_gamma_rule rule,
                       std::int64_t num_drafts = 0) {
    // What follows a single token comes again soon.
    const int num_seen = source_ == SAMPLER_DRAFTS_PROMPT_LOOKUP ? 1 : 2;
    const NextLogits early_target = table_logits(7, kVocabulary, num_seen, false);
    const NextLogits late_target =
        costs_.changes ? table_logits(9, kVocabulary, 0, false) : early_target;
    int batch = 0;
    const NextLogits target = [&](const Tokens &text) {
      return batch < kBatches / 2 ? early_target(text) : late_target(text);
    };
    const NextLogits other = table_logits(8, kVocabulary, 1, false);
    const NextLogits draft = mixed_logits(early_target, other, costs_.disagreement, 3);
    SessionOptions options = small_options(at_once_ + 1, extent_.max_drafts);
    options.has_adaptive_gamma = 1;
    options.has_draft_trees = extent_.top_k > 0;
    options.clock = [](void *time) { return *static_cast<std::int64_t *>(time); };
    options.clock_user = &time_;
    time_ = 0;
    Driver driver(options, target, draft);
    for (; batch < kBatches; ++batch) {
      if (batch == kBatches / 2) half_time_ = time_;
      std::vector<Wish> wishes;
      for (std::int64_t i = 0; i < at_once_; ++i) {
        Wish wish;
        wish.prompt = {std::int32_t(batch % kVocabulary), std::int32_t(i)};
        sampler_params params = sampler_params_default();
        params.temperature = 0.1f;
        wish.draws = {{0, std::uint64_t(batch * at_once_ + i), params}};
        wish.max_new_tokens = kNewTokens;
        auto args = sized<sampler_session_add_args>();
        args.draft_source = source;
        if (source != SAMPLER_DRAFTS_NONE) {
          args.adaptive_gamma = rule;
          args.num_drafts = num_drafts;
          args.draft_top_k = extent_.top_k;
        }
        driver.add(wish, args);
        wishes.push_back(wish);
      }
      const bool has_other = extent_.has_other && batch >= kBatches / 2;
      if (has_other) driver.add(wishes[0], sized<sampler_session_add_args>());
      for (;;) {
        bool runs = false;
        for (std::int64_t i = 0; i < at_once_; ++i) runs = runs || driver.runs(std::int32_t(i));
        if (!runs) break;
        const Driver::Step step = driver.plan();
        move_clock(step);
        driver.run(step);
      }
      for (std::int64_t i = 0; i < at_once_; ++i) {
        const Wish &wish = wishes[std::size_t(i)];
        EXPECT_EQ(driver.text(std::int32_t(i)),
                  alone(driver.sampler(), target, wish, kContext).text);
      }
      for (std::int64_t i = at_once_ + has_other; i-- > 0;) driver.remove(std::int32_t(i));
    }
    return time_;
  }

  void move_clock(const Driver::Step &step) {
    std::int64_t num_tokens = 0;
    for (const sampler_span &span : step.spans) num_tokens += span.num_tokens;
    if (num_tokens > 0) time_ += costs_.target_first + (num_tokens - 1) * costs_.target_more;
    if (!step.drafter_spans.empty()) time_ += costs_.drafter_first;
  }

  Costs costs_;
  sampler_draft_source source_;
  std::int64_t at_once_;
  Extent extent_;
  std::int64_t time_ = 0, half_time_ = 0;
};

TEST(SessionGamma, IsMeasuredToPay) {
  for (const std::int64_t at_once : {1, 3}) {
    Simulation model({1000, 10, 50, 5}, SAMPLER_DRAFTS_MODEL, at_once);
    EXPECT_LT(double(model.fixed()), 0.6 * double(model.plain()));
    EXPECT_LT(double(model.measured()), 0.75 * double(model.plain()));
    Simulation trees({1000, 10, 50, 40}, SAMPLER_DRAFTS_MODEL, at_once, {4, 2});
    EXPECT_LT(double(trees.fixed()), 0.85 * double(trees.plain()));
    EXPECT_LT(double(trees.measured()), 0.85 * double(trees.plain()));
    Simulation lookup({1000, 10, 0, 0}, SAMPLER_DRAFTS_PROMPT_LOOKUP, at_once);
    EXPECT_LT(double(lookup.fixed()), 0.7 * double(lookup.plain()));
    EXPECT_LT(double(lookup.measured()), 0.8 * double(lookup.plain()));
  }
}

TEST(SessionGamma, IsMeasuredNotToPay) {
  for (const std::int64_t at_once : {1, 3}) {
    Simulation slow({1000, 10, 1500, 5}, SAMPLER_DRAFTS_MODEL, at_once);
    EXPECT_GT(double(slow.fixed()), 1.2 * double(slow.plain()));
    EXPECT_LT(double(slow.measured()), 1.04 * double(slow.plain()));
    Simulation wrong({1000, 500, 50, 95}, SAMPLER_DRAFTS_MODEL, at_once);
    EXPECT_GT(double(wrong.fixed()), 1.5 * double(wrong.plain()));
    EXPECT_LT(double(wrong.measured()), 1.04 * double(wrong.plain()));
  }
}

// A position of a tree is a step of the drafter, whatever hangs beside the first path.
TEST(SessionGamma, CountsThePositionsOfTrees) {
  for (const std::int64_t at_once : {1, 3}) {
    const Extent trees = {6, 2};
    Simulation paying({1000, 10, 100, 30}, SAMPLER_DRAFTS_MODEL, at_once, trees);
    const std::int64_t plain = paying.plain();
    std::int64_t best = paying.fixed(6);
    for (const std::int64_t num_drafts : {2, 4}) best = std::min(best, paying.fixed(num_drafts));
    EXPECT_LT(double(best), 0.8 * double(plain));
    EXPECT_LT(double(paying.measured()), 1.08 * double(best)) << at_once;
    for (const std::int64_t drafter : {100, 900, 3000}) {
      Simulation losing({1000, 600, drafter, 30}, SAMPLER_DRAFTS_MODEL, at_once, trees);
      const std::int64_t whole = losing.plain();
      // With a text that ends before others a batch loses less than its share.
      const double share = at_once == 1 ? 1.0 / 32 : 1.0 / 25;
      EXPECT_LT(double(losing.measured()), (1 + share) * double(whole) + 4 * (1000 + 600 * 3))
          << at_once << ", " << drafter;
    }
  }
}

// Rounds beside others are reckoned by what is known, so that they lose no more; and a drafter's
// steps would be the others', too.
TEST(SessionGamma, LosesNoMoreThanItMayBesideOthers) {
  for (const std::int64_t at_once : {1, 3}) {
    for (const sampler_draft_source source : {SAMPLER_DRAFTS_MODEL, SAMPLER_DRAFTS_PROMPT_LOOKUP}) {
      for (const bool changes : {false, true}) {
        const std::int64_t drafter = source == SAMPLER_DRAFTS_MODEL ? 100 : 0;
        Simulation simulation({1000, 150, drafter, 5, changes}, source, at_once, {4, 0, true});
        simulation.plain();
        const std::int64_t plain = simulation.late_time();
        simulation.measured();
        // What was gained before pays for 16 rounds.
        const std::int64_t most = plain + plain / 32 + 18 * (1000 + 150 * at_once);
        EXPECT_LT(double(simulation.late_time()), double(most)) << at_once << ", " << changes;
        if (source == SAMPLER_DRAFTS_PROMPT_LOOKUP && !changes) {
          EXPECT_LT(double(simulation.late_time()), 0.85 * double(plain)) << at_once;
        }
      }
    }
  }
}

// The clock is asked in rounds that nothing else takes part in: another sequence changes what they
// take, and not what is known of them.
TEST(SessionGamma, RoundsBesideOthersAreNotMeasured) {
  const NextLogits target = table_logits(7, kVocabulary, 2, false);
  SessionOptions options = small_options(2, 4);
  options.has_adaptive_gamma = 1;
  std::int64_t num_asked = 0;
  options.clock = [](void *count) { return ++*static_cast<std::int64_t *>(count); };
  options.clock_user = &num_asked;
  Driver driver(options, target);
  Wish wish;
  wish.prompt = {1, 2, 3};
  wish.draws = {{0, 5, sampler_params_default()}};
  auto args = sized<sampler_session_add_args>();
  driver.add(wish, args);
  args.draft_source = SAMPLER_DRAFTS_PROMPT_LOOKUP;
  args.adaptive_gamma = SAMPLER_GAMMA_MEASURED;
  driver.add(wish, args);
  for (int i = 0; i < 10; ++i) driver.run(driver.plan());
  EXPECT_EQ(num_asked, 9);  // as each round begins
  EXPECT_EQ(driver.get(1).num_drafted, 0);
  driver.remove(0);
  for (int i = 0; i < 10; ++i) driver.run(driver.plan());
  EXPECT_EQ(num_asked, 9 + 30);
}

// Rows of no doubt get all drafts, rows that leave all open gamma_min.
TEST(SessionGamma, FollowsTheEntropy) {
  Logits sure(kVocabulary, 0);
  sure[5] = 200;
  for (const bool is_sure : {false, true}) {
    const NextLogits model =
        decoding_test::constant_logits(is_sure ? sure : Logits(kVocabulary, 0));
    for (const std::int64_t least : {0, 1}) {
      SessionOptions options = small_options(1, 4);
      options.has_adaptive_gamma = 1;
      Driver driver(options, model, model);
      Wish wish;
      wish.prompt = {1};
      wish.draws = {{0, 5, sampler_params_default()}};
      wish.max_new_tokens = 21;
      auto args = sized<sampler_session_add_args>();
      args.draft_source = SAMPLER_DRAFTS_MODEL;
      args.adaptive_gamma = SAMPLER_GAMMA_BY_ENTROPY;
      args.gamma_min = least;
      driver.add(wish, args);
      driver.finish();
      const sampler_session_sequence own = driver.get(0);
      // The first token, then each step's drafts, which are all kept, and one more.
      const std::int64_t num_drafts = is_sure ? 4 : least;
      EXPECT_EQ(own.num_steps, 1 + 20 / (num_drafts + 1));
      EXPECT_EQ(own.num_drafted, 20 / (num_drafts + 1) * num_drafts);
    }
  }
}

}  // namespace
}  // namespace session_test::gamma_test
