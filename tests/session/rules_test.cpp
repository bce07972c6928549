// The rules that drafts are verified by: those of sampler_verify, whatever else is in the session.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "../seed.h"
#include "../sized.h"
#include "driver.h"

namespace session_test::rules_test {
namespace {

using decoding_test::constant_logits;
using decoding_test::mixed_logits;
using decoding_test::table_logits;

constexpr std::int64_t kDrafts = 4;
constexpr float kRates[kDrafts] = {0.9f, 0.7f, 0.5f, 0.3f};

constexpr sampler_acceptance kAll[] = {
    SAMPLER_ACCEPT_SAMPLE_MATCH, SAMPLER_ACCEPT_STANDARD,  SAMPLER_ACCEPT_BLOCK,
    SAMPLER_ACCEPT_TYPICAL,      SAMPLER_ACCEPT_RELAXED,   SAMPLER_ACCEPT_THRESHOLD,
    SAMPLER_ACCEPT_DEFERRED,     SAMPLER_ACCEPT_SYNTHETIC,
};
constexpr sampler_draft_source kSources[] = {SAMPLER_DRAFTS_MODEL, SAMPLER_DRAFTS_NGRAM,
                                             SAMPLER_DRAFTS_PROMPT_LOOKUP};

// A rule that judges a chain as a whole.
bool is_whole(sampler_acceptance verification) {
  return verification == SAMPLER_ACCEPT_BLOCK || verification == SAMPLER_ACCEPT_DEFERRED;
}

SessionOptions rule_options(std::int64_t max_sequences) {
  SessionOptions options = small_options(max_sequences, kDrafts);
  options.keep_drafter_rows = 1;
  options.has_draft_trees = 1;
  options.acceptance_params.typical_threshold = 0.2f;
  options.acceptance_params.typical_scale = 0.5f;
  options.acceptance_params.relaxed_top_k = 3;
  options.acceptance_params.relaxed_delta = 0.1f;
  options.acceptance_params.threshold_single = 0.4f;
  options.acceptance_params.threshold_total = 0.8f;
  options.acceptance_params.deferred_window = 2;
  options.acceptance_params.deferred_top_k = 4;
  options.acceptance_params.deferred_entropy = 0.2f;
  options.acceptance_params.synthetic_rates = kRates;
  return options;
}

// N-grams that sequences of this test do not share, so that company changes no draft.
class Ngrams {
 public:
  Ngrams() {
    auto options = sized<sampler_ngram_storage_options>();
    options.vocabulary_size = kVocabulary;
    sampler_ngram_storage_create(&options, &storage_);
    sampler_ngram_storage_interface(storage_, &interface);
  }
  ~Ngrams() { sampler_ngram_storage_destroy(storage_); }
  Ngrams(const Ngrams &) = delete;
  Ngrams &operator=(const Ngrams &) = delete;

  sampler_ngram interface = sized<sampler_ngram>();

 private:
  sampler_ngram_storage_t storage_ = nullptr;
};

struct Sequence {
  Wish wish;
  sampler_session_add_args args = sized<sampler_session_add_args>();
};

Sequence random_sequence(Random *random, sampler_acceptance verification,
                         sampler_draft_source source, bool has_stages) {
  Sequence own;
  own.wish.prompt = {1, 2, 3, 1, 2, 3, 1};
  sampler_params params = sampler_params_default();
  params.temperature = 0.6f;
  if (random->one_in(3)) params.top_k = 7;
  if (has_stages && random->one_in(2)) params.repetition_penalty = 1.4f;
  if (has_stages && random->one_in(2)) {
    params.adaptive_kind = SAMPLER_ADAPTIVE_MIROSTAT_V2;
    params.adaptive_target = 3;
  }
  own.wish.draws = {{0, random->next(), params}};
  own.wish.max_new_tokens = random->between(5, 30);
  own.wish.ends = {5};
  own.args.draft_source = source;
  own.args.acceptance = verification;
  own.args.num_drafts = random->between(1, kDrafts);
  if (source == SAMPLER_DRAFTS_MODEL && !is_whole(verification) && random->one_in(2)) {
    own.args.draft_top_k = random->between(1, own.args.num_drafts);
  }
  return own;
}

struct Models {
  NextLogits target = table_logits(7, kVocabulary, 1, false);
  NextLogits drafter = mixed_logits(target, table_logits(8, kVocabulary, 1, false), 30, 3);
};

// What a step of a sequence gives by a call of sampler_verify of its own.
Tokens verified_by_hand(sampler_t sampler, const Models &models, const Sequence &sequence,
                        const sampler_session_sequence &own, const sampler_span &span,
                        const Tokens &parents) {
  const std::int64_t num_drafts = span.num_logits - 1;
  const Tokens drafts(span.token_ids + span.num_tokens - num_drafts,
                      span.token_ids + span.num_tokens);
  std::vector<Tokens> texts = {Tokens(own.token_ids, own.token_ids + own.num_tokens)};
  for (std::int64_t i = 0; i < num_drafts; ++i) {
    texts.push_back(texts[std::size_t(parents[std::size_t(i)] + 1)]);
    texts.back().push_back(drafts[std::size_t(i)]);
  }
  std::vector<float> target, draft;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Logits row = models.target(texts[i]), drafted = models.drafter(texts[i]);
    target.insert(target.end(), row.begin(), row.end());
    if (i + 1 < texts.size()) draft.insert(draft.end(), drafted.begin(), drafted.end());
  }
  Tokens token_ids(std::size_t(num_drafts) + 1, -7);
  VerifyArgs args;
  args.target.values = target.data();
  args.target.num_rows = num_drafts + 1;
  args.target.num_cols = kVocabulary;
  const bool is_tree = sequence.args.draft_top_k > 0;
  if (is_tree) args.draft_layout.parents = parents.data();
  if (sequence.args.draft_source == SAMPLER_DRAFTS_MODEL && !is_tree && num_drafts > 0) {
    args.draft = args.target;
    args.draft.values = draft.data();
    args.draft.num_rows = num_drafts;
  }
  args.num_drafts = num_drafts;
  args.draft_token_ids = drafts.data();
  args.params = &sequence.wish.draws[0].params;
  args.random.seed = sequence.wish.draws[0].seed;
  args.random.offset = std::uint64_t(own.num_tokens - own.prompt_length);
  args.acceptance_params = rule_options(1).acceptance_params;
  args.acceptance_params.rule = sequence.args.acceptance;
  args.out_token_ids = token_ids.data();
  std::size_t bytes = 0;
  EXPECT_EQ(sampler_verify_workspace_size(sampler, &args, &bytes), SAMPLER_OK);
  std::vector<unsigned char> workspace(bytes);
  args.exec.workspace = workspace.data();
  args.exec.workspace_bytes = bytes;
  EXPECT_EQ(sampler_verify(sampler, &args), SAMPLER_OK) << sampler_last_error();
  Tokens result;
  for (const std::int32_t token : token_ids) {
    if (token < 0) break;
    result.push_back(token);
    if (token == sequence.wish.ends[0]) break;
  }
  return result;
}

TEST(SessionRules, AreThoseOfVerification) {
  Random random(31);
  const Models models;
  for (const sampler_acceptance verification : kAll) {
    std::int64_t num_kept = 0, num_rejected = 0;
    for (const sampler_draft_source source : kSources) {
      Driver driver(rule_options(1), models.target, models.drafter);
      for (int i = 0; i < 12; ++i) {
        Ngrams ngrams;
        Sequence sequence = random_sequence(&random, verification, source, false);
        if (source == SAMPLER_DRAFTS_NGRAM) sequence.args.ngram = &ngrams.interface;
        driver.add(sequence.wish, sequence.args);
        while (driver.runs(0)) {
          const Driver::Step step = driver.plan();
          const sampler_session_sequence own = driver.get(0);
          Tokens expected = driver.text(0);
          if (!step.spans.empty()) {
            const Tokens more = verified_by_hand(driver.sampler(), models, sequence, own,
                                                 step.spans[0], driver.parents(0));
            expected.insert(expected.end(), more.begin(), more.end());
          }
          driver.run(step);
          EXPECT_EQ(driver.text(0), expected) << verification << " " << source;
        }
        num_kept += driver.get(0).num_accepted;
        num_rejected += driver.get(0).num_drafted - driver.get(0).num_accepted;
        driver.remove(0);
      }
    }
    EXPECT_GT(num_kept, 50) << verification;
    EXPECT_GT(num_rejected, 50) << verification;
  }
}

// A sequence that names no rule has the session's, and a session that names none SAMPLE_MATCH.
TEST(SessionRules, AreTheSessionsUnlessNamed) {
  Random random(seeded(6));
  const Models models;
  Sequence sequence = random_sequence(&random, SAMPLER_ACCEPT_DEFAULT, SAMPLER_DRAFTS_MODEL, false);
  sequence.args.draft_top_k = 0;
  const auto found = [&](const SessionOptions &options, sampler_acceptance rule) {
    Driver driver(options, models.target, models.drafter);
    sequence.args.acceptance = rule;
    driver.add(sequence.wish, sequence.args);
    driver.finish();
    EXPECT_GT(driver.get(0).num_drafted, 0);
    return std::pair(driver.text(0), driver.get(0).num_accepted);
  };
  for (const sampler_acceptance rule : kAll) {
    SessionOptions of_the_rule = rule_options(1);
    of_the_rule.acceptance_params.rule = rule;
    EXPECT_EQ(found(of_the_rule, SAMPLER_ACCEPT_DEFAULT), found(rule_options(1), rule)) << rule;
  }
  const auto expected = found(rule_options(1), SAMPLER_ACCEPT_SAMPLE_MATCH);
  EXPECT_EQ(found(rule_options(1), SAMPLER_ACCEPT_DEFAULT), expected);
  SessionOptions without = rule_options(1);
  without.acceptance = nullptr;
  EXPECT_EQ(found(without, SAMPLER_ACCEPT_DEFAULT), expected);
}

// Each text in company is that of a session of its own, and of rules that keep the target's own
// tokens that without drafts.
TEST(SessionRules, TextsDependOnNothingElse) {
  Random random(seeded(5));
  const Models models;
  std::vector<Sequence> all;
  std::vector<Ngrams> ngrams(64);
  for (const sampler_acceptance verification : kAll) {
    for (const sampler_draft_source source : kSources) {
      all.push_back(random_sequence(&random, verification, source, true));
      if (all.size() % 4 == 0) all.back().wish.draws[0].params.temperature = 0;
      if (source == SAMPLER_DRAFTS_NGRAM) all.back().args.ngram = &ngrams[all.size()].interface;
    }
  }
  const auto count = std::int64_t(all.size());
  Driver driver(rule_options(count), models.target, models.drafter, handle_options(2));
  std::size_t num_added = 0;
  const auto add = [&] {
    EXPECT_EQ(driver.add(all[num_added].wish, all[num_added].args), std::int32_t(num_added));
    ++num_added;
  };
  for (bool any_runs = true; any_runs || num_added < all.size();) {
    if (num_added < all.size() && random.one_in(2)) add();
    driver.run(driver.plan({}, random.one_in(3) ? 12 : 0), &random);
    any_runs = num_added == 0;
    for (std::size_t i = 0; i < num_added; ++i) any_runs |= driver.runs(std::int32_t(i));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto sequence = std::int32_t(i);
    Driver its_own(rule_options(1), models.target, models.drafter);
    Ngrams own_ngrams;
    Sequence own = all[i];
    if (own.args.ngram) own.args.ngram = &own_ngrams.interface;
    its_own.add(own.wish, own.args);
    its_own.finish();
    EXPECT_EQ(driver.text(sequence), its_own.text(0)) << i;
    EXPECT_EQ(driver.logprobs[sequence], its_own.logprobs[0]) << i;
    EXPECT_EQ(driver.get(sequence).num_accepted, its_own.get(0).num_accepted) << i;
    const sampler_acceptance rule = own.args.acceptance;
    const bool is_greedy = own.wish.draws[0].params.temperature == 0;
    if (rule == SAMPLER_ACCEPT_SAMPLE_MATCH ||
        (is_greedy && rule != SAMPLER_ACCEPT_RELAXED && rule != SAMPLER_ACCEPT_SYNTHETIC)) {
      const Alone whole = alone(driver.sampler(), models.target, own.wish, kContext);
      EXPECT_EQ(driver.text(sequence), whole.text) << i;
      EXPECT_EQ(driver.logprobs[sequence], whole.logprobs) << i;
    }
  }
}

// A bad row takes nothing that was verified before it: a text is the beginning of one whose rows
// are all good, up to the first bad row that its own tokens lead to.
TEST(SessionRules, WhatCameBeforeABadRowStays) {
  Random random(9);
  const Models good;
  Models bad = good;
  const auto is_bad = [](const Tokens &text) {
    return text.size() > 12 && (text.back() + text[text.size() - 2]) % 9 == 0;
  };
  bad.target = [=](const Tokens &text) {
    return is_bad(text) ? Logits(std::size_t(kVocabulary), NAN) : good.target(text);
  };
  for (const sampler_acceptance verification : kAll) {
    int num_bad = 0, num_inside = 0;
    for (int i = 0; i < 60; ++i) {
      Sequence own = random_sequence(&random, verification, SAMPLER_DRAFTS_MODEL, i % 2 == 0);
      own.args.num_drafts = kDrafts;
      Driver driver(rule_options(1), bad.target, bad.drafter, handle_options(1, 5));
      driver.add(own.wish, own.args);
      std::int64_t last_step = 0;
      while (driver.runs(0)) {
        const std::int64_t before = driver.get(0).num_tokens;
        driver.run(driver.plan());
        last_step = driver.get(0).num_tokens - before;
      }
      const Tokens text = driver.text(0);
      for (std::size_t length = own.wish.prompt.size(); length < text.size(); ++length) {
        EXPECT_FALSE(is_bad(Tokens(text.begin(), text.begin() + std::ptrdiff_t(length))))
            << verification;
      }
      const bool ended = driver.get(0).finish_reason == SAMPLER_FINISH_BAD_ROW;
      if (ended) {
        EXPECT_EQ(driver.get(0).row_status, sampler_row_status(SAMPLER_ROW_INVALID_VALUE));
        EXPECT_TRUE(is_bad(text)) << verification;
      }
      num_bad += ended;
      num_inside += ended && last_step > 0;
      if (is_whole(verification)) continue;  // a shorter part of a chain is another chain
      Driver its_good(rule_options(1), good.target, good.drafter);
      its_good.add(own.wish, own.args);
      its_good.finish();
      const Tokens whole = its_good.text(0);
      ASSERT_LE(text.size(), whole.size());
      EXPECT_TRUE(std::equal(text.begin(), text.end(), whole.begin())) << verification;
      EXPECT_TRUE(std::equal(driver.logprobs[0].begin(), driver.logprobs[0].end(),
                             its_good.logprobs[0].begin()));
    }
    EXPECT_GE(num_bad, 10) << verification;
    EXPECT_EQ(num_inside > 0, !is_whole(verification)) << verification;
  }
}

// The first path of a tree are the likeliest tokens, one after the other; the next likeliest hang
// beside them.
TEST(SessionRules, TreesAreOfTheDraftersLikeliestTokens) {
  const Models models;
  Driver driver(rule_options(1), models.target, models.drafter);
  Sequence own;
  own.wish.prompt = {1, 2, 3};
  own.wish.draws = {{0, 1, sampler_params_default()}};
  own.wish.max_new_tokens = 20;
  own.args.draft_source = SAMPLER_DRAFTS_MODEL;
  own.args.draft_top_k = 2;
  driver.add(own.wish, own.args);
  driver.run(driver.plan());  // the first token is not drafted
  Driver::Step step = driver.plan();
  for (; step.spans.empty(); step = driver.plan()) driver.run(step);
  Tokens text = driver.text(0), expected;
  Tokens siblings;
  for (int depth = 0; depth < 2; ++depth) {
    const Logits row = models.drafter(text);
    Tokens ids(row.size());
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = std::int32_t(i);
    std::stable_sort(ids.begin(), ids.end(), [&](std::int32_t a, std::int32_t b) {
      return row[std::size_t(a)] > row[std::size_t(b)];
    });
    expected.push_back(ids[0]);
    siblings.push_back(ids[1]);
    text.push_back(ids[0]);
  }
  expected.insert(expected.end(), siblings.begin(), siblings.end());
  ASSERT_EQ(step.spans.size(), 1u);
  const sampler_span &span = step.spans[0];
  ASSERT_EQ(span.num_logits, 5);
  EXPECT_EQ(Tokens(span.token_ids + span.num_tokens - 4, span.token_ids + span.num_tokens),
            expected);
  EXPECT_EQ(driver.parents(0), (Tokens{-1, 0, -1, 0}));
}

TEST(SessionRules, OfTreesAreChecked) {
  const Models models;
  Driver driver(rule_options(1), models.target, models.drafter);
  const std::int32_t prompt = 1;
  auto add = sized<sampler_session_add_args>();
  add.token_ids = &prompt;
  add.num_tokens = 1;
  const auto expect_refused = [&](const char *text) {
    std::int32_t sequence = -1;
    EXPECT_EQ(sampler_session_add(driver.session(), &add, &sequence),
              SAMPLER_ERROR_INVALID_ARGUMENT);
    EXPECT_STREQ(sampler_last_error(), text);
  };
  add.draft_top_k = 2;
  expect_refused("draft_top_k is 2; draft_source must be SAMPLER_DRAFTS_MODEL");
  add.draft_source = SAMPLER_DRAFTS_MODEL;
  for (const auto verification : {SAMPLER_ACCEPT_BLOCK, SAMPLER_ACCEPT_DEFERRED}) {
    add.acceptance = verification;
    expect_refused("draft_top_k is 2; BLOCK and DEFERRED are for chains");
  }
  add.acceptance = SAMPLER_ACCEPT_STANDARD;
  add.least_draft_probability = 0.5f;
  expect_refused("draft_top_k is 2; least_draft_probability must be 0");
  add.least_draft_probability = 0;
  std::int32_t sequence = -1;
  ASSERT_EQ(sampler_session_add(driver.session(), &add, &sequence), SAMPLER_OK)
      << sampler_last_error();
  sampler_span spans[2];
  std::int64_t counts[2];
  auto plan = sized<sampler_session_plan_args>();
  plan.out_spans = spans;
  plan.out_num_spans = counts;
  plan.out_drafter_spans = spans + 1;
  plan.out_num_drafter_spans = counts + 1;
  EXPECT_EQ(sampler_session_plan(driver.session(), &plan), SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(sampler_last_error(), "out_parents is NULL; sequence 0 has draft_top_k");
}

// With as deep a tree more of the target's own tokens are among the drafts.
TEST(SessionRules, TreesKeepMoreOfEachStep) {
  const Models models;
  std::int64_t num_steps[2] = {};
  for (const bool is_tree : {false, true}) {
    SessionOptions options = rule_options(20);
    options.max_drafts = 9;
    options.acceptance_params.synthetic_rates = nullptr;  // there are fewer
    Driver driver(options, models.target, models.drafter);
    Random random(8);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Sequence own;
      own.wish.prompt = {1, 2, 3};
      own.wish.draws = {{0, seed, sampler_params_default()}};
      own.wish.max_new_tokens = 40;
      own.args.draft_source = SAMPLER_DRAFTS_MODEL;
      own.args.num_drafts = is_tree ? 9 : 3;
      own.args.draft_top_k = is_tree ? 3 : 1;
      driver.add(own.wish, own.args);
      if (seed == 19) driver.finish();
    }
    for (std::int32_t i = 0; i < 20; ++i) num_steps[is_tree] += driver.get(i).num_steps;
    const Wish wish = {{1, 2, 3}, {{0, 7, sampler_params_default()}}, 40, {}, {}};
    EXPECT_EQ(driver.text(7), alone(driver.sampler(), models.target, wish, kContext).text);
  }
  EXPECT_LT(double(num_steps[1]), 0.9 * double(num_steps[0]));
}

// Drafts by `propose` are those by next_token after known contexts, and fewer by limits.
TEST(SessionRules, NgramsPropose) {
  const Models models;
  Random random(3);
  for (const bool has_limits : {false, true}) {
    std::int64_t num_drafted[2] = {};
    Tokens texts[2];
    for (const bool proposes : {false, true}) {
      Ngrams ngrams;
      sampler_ngram ngram = ngrams.interface;
      if (!proposes) ngram.propose = nullptr;
      Driver driver(rule_options(1), models.target, models.drafter);
      Random again(77);
      for (int i = 0; i < 8; ++i) {
        Sequence own =
            random_sequence(&again, SAMPLER_ACCEPT_STANDARD, SAMPLER_DRAFTS_NGRAM, false);
        own.args.ngram = &ngram;
        if (has_limits && proposes) {
          own.args.ngram_least_count = 2;
          own.args.ngram_least_share = 0.5f;
        }
        driver.add(own.wish, own.args);
        driver.finish();
        num_drafted[proposes] += driver.get(0).num_drafted;
        const Tokens text = driver.text(0);
        texts[proposes].insert(texts[proposes].end(), text.begin(), text.end());
        driver.remove(0);
      }
    }
    if (has_limits) {
      EXPECT_LT(num_drafted[1], num_drafted[0]);
      EXPECT_GT(num_drafted[1], 0);
    } else {
      EXPECT_EQ(num_drafted[1], num_drafted[0]);
      EXPECT_EQ(texts[1], texts[0]);
    }
  }
}

}  // namespace
}  // namespace session_test::rules_test
