// Where drafts come from, and what becomes of a sequence when they end.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "../seed.h"
#include "../sized.h"
#include "driver.h"
#include "generation.h"

namespace session_test::drafts_test {
namespace {

using decoding_test::mixed_logits;
using decoding_test::table_logits;

Wish sampled_wish(std::uint64_t seed, std::int64_t max_new_tokens) {
  Wish wish;
  wish.prompt = {1, 2, 3, 1, 2};
  sampler_params params = sampler_params_default();
  params.temperature = 0.6f;
  wish.draws = {{0, seed, params}};
  wish.max_new_tokens = max_new_tokens;
  return wish;
}

TEST(SessionDrafts, AFullPromptLookupGoesOnWithoutDrafts) {
  SessionOptions options = small_options(1, 4);
  options.lookup_tokens = 20;
  const NextLogits model = table_logits(3, kVocabulary, 1, false);
  Driver driver(options, model);
  const Wish wish = sampled_wish(4, 35);
  auto args = sized<sampler_session_add_args>();
  args.draft_source = SAMPLER_DRAFTS_PROMPT_LOOKUP;
  driver.add(wish, args);
  EXPECT_EQ(driver.get(0).is_drafting, 1);
  driver.finish();
  const sampler_session_sequence own = driver.get(0);
  EXPECT_EQ(own.is_drafting, 0);
  EXPECT_GT(own.num_drafted, 0);
  EXPECT_EQ(own.num_tokens, 40);
  EXPECT_EQ(driver.text(0), alone(driver.sampler(), model, wish, kContext).text);
}

TEST(SessionDrafts, APromptTooLongForTheLookupIsNotDraftedFor) {
  SessionOptions options = small_options(1, 4);
  options.lookup_tokens = 4;
  Driver driver(options, table_logits(3, kVocabulary, 1, false));
  auto args = sized<sampler_session_add_args>();
  args.draft_source = SAMPLER_DRAFTS_PROMPT_LOOKUP;
  driver.add(sampled_wish(4, 5), args);
  EXPECT_EQ(driver.get(0).is_drafting, 0);
  driver.finish();
  EXPECT_EQ(driver.get(0).num_tokens, 10);
}

// The lookup of a fork is its own, and a copy: with the same seed it gives the same drafts.
TEST(SessionDrafts, AForkLooksUpInItsOwnText) {
  const NextLogits model = table_logits(8, kVocabulary, 1, false);
  Driver driver(small_options(3, 4), model);
  auto args = sized<sampler_session_add_args>();
  args.draft_source = SAMPLER_DRAFTS_PROMPT_LOOKUP;
  Wish wish = sampled_wish(4, 30);
  driver.add(wish, args);
  for (int i = 0; i < 4; ++i) driver.run(driver.plan());
  const sampler_session_sequence then = driver.get(0);
  const std::uint64_t seed = 5;
  driver.fork(0, &seed);
  driver.fork(0);
  driver.finish();
  EXPECT_EQ(driver.text(2), driver.text(0));
  EXPECT_EQ(driver.get(2).num_drafted, driver.get(0).num_drafted);
  EXPECT_GT(driver.get(2).num_drafted, then.num_drafted);
  wish.draws.push_back({then.num_tokens - then.prompt_length, seed, wish.draws[0].params});
  EXPECT_EQ(driver.text(1), alone(driver.sampler(), model, wish, kContext).text);
  EXPECT_GT(driver.get(1).num_drafted, then.num_drafted);
}

// The longest earlier occurrence of the text's end, of equally long ones the latest, and what
// follows there: the text, and where that ends what has been drafted.
Tokens naive_lookup(const Tokens &text, std::size_t num_drafts, std::size_t min_match) {
  std::size_t found = 0, longest = min_match;
  for (std::size_t end = 1; end < text.size(); ++end) {
    const auto first = text.rbegin() + std::ptrdiff_t(text.size() - end);
    const auto length = std::size_t(std::mismatch(first, text.rend(), text.rbegin()).first - first);
    if (length < longest) continue;
    found = end;
    longest = length;
  }
  Tokens all = text;
  while (found > 0 && all.size() < text.size() + num_drafts) {
    all.push_back(all[found + all.size() - text.size()]);
  }
  return Tokens(all.begin() + std::ptrdiff_t(text.size()), all.end());
}

// Whatever comes between: forks, sequences that go and come again, spans that are not run.
TEST(SessionDrafts, OfALookupAreFoundByASearchThroughTheText) {
  Random random(seeded(31));
  const NextLogits model =
      mixed_logits(table_logits(3, 6, 1, false), table_logits(4, 6, 1, false), 20, 5);
  const NextLogits few = [&](const Tokens &text) {
    Logits logits = model(text);
    logits.resize(std::size_t(kVocabulary), -INFINITY);
    return logits;
  };
  SessionOptions options = small_options(4, 6);
  options.lookup_tokens = 40;
  Driver driver(options, few);
  std::map<std::int32_t, std::size_t> min_matches;
  std::int64_t num_drafts = 0, num_full = 0;
  for (int i = 0; i < 3000; ++i) {
    if (min_matches.size() < 4 && random.one_in(4)) {
      const bool forks = !min_matches.empty() && random.one_in(3);
      if (forks) {
        const auto source = min_matches.begin();
        const std::uint64_t seed = random.next();
        const std::int32_t sequence = driver.fork(source->first, &seed);
        min_matches[sequence] = source->second;
      } else {
        auto args = sized<sampler_session_add_args>();
        args.draft_source = SAMPLER_DRAFTS_PROMPT_LOOKUP;
        args.min_match = random.between(0, 3);
        Wish wish = sampled_wish(random.next(), 0);
        wish.prompt.resize(std::size_t(random.between(1, 5)));
        min_matches[driver.add(wish, args)] = std::max<std::size_t>(std::size_t(args.min_match), 1);
      }
    }
    const Driver::Step step = driver.plan();
    for (const sampler_span &span : step.spans) {
      const sampler_session_sequence own = driver.get(span.sequence);
      const Tokens text = driver.text(span.sequence);
      const auto length = std::ptrdiff_t(own.num_tokens - span.start);
      const Tokens drafts(span.token_ids + length, span.token_ids + span.num_tokens);
      EXPECT_EQ(own.is_drafting, own.num_tokens <= 40);
      Tokens expected;
      if (own.num_tokens > own.prompt_length && own.is_drafting) {
        const std::int64_t most = std::min<std::int64_t>(6, kContext - own.num_tokens - 1);
        expected = naive_lookup(text, std::size_t(most), min_matches.at(span.sequence));
      }
      ASSERT_EQ(drafts, expected) << testing::PrintToString(text);
      num_drafts += std::int64_t(drafts.size());
      num_full += own.num_tokens == 40;
    }
    if (random.one_in(8)) continue;
    driver.run(step, random.one_in(2) ? &random : nullptr);
    for (auto it = min_matches.begin(); it != min_matches.end();) {
      const bool stays = driver.runs(it->first) && !random.one_in(60);
      if (!stays) driver.remove(it->first);
      it = stays ? std::next(it) : min_matches.erase(it);
    }
  }
  EXPECT_GT(num_drafts, 2000);
  EXPECT_GT(num_full, 5);
}

struct FailingNgram {
  int num_updates = 0;
  int failing = 3;
  sampler_status initialized = SAMPLER_OK;
  bool throws = false;

  sampler_ngram interface() {
    auto ngram = sized<sampler_ngram>();
    ngram.user = this;
    ngram.initialize = [](void *user, const std::int32_t *, std::int64_t) {
      return static_cast<FailingNgram *>(user)->initialized;
    };
    ngram.next_token = [](void *, const std::int32_t *context, std::int64_t n, std::uint64_t,
                          std::uint64_t, std::int32_t *out_token, std::int32_t *out_known) {
      *out_token = context[n - 1] == 9 ? std::int32_t(kVocabulary) : context[n - 1];
      *out_known = 1;
      return sampler_status(SAMPLER_OK);
    };
    ngram.update = [](void *user, const std::int32_t *, std::int64_t, const std::int32_t *,
                      std::int64_t) -> sampler_status {
      auto *const own = static_cast<FailingNgram *>(user);
      if (++own->num_updates < own->failing) return SAMPLER_OK;
      if (own->throws) throw 1;
      return SAMPLER_ERROR_OUT_OF_MEMORY;
    };
    return ngram;
  }
};

TEST(SessionDrafts, NgramsThatFailEndTheDrafting) {
  for (const bool throws : {false, true}) {
    const NextLogits model = table_logits(3, kVocabulary, 1, false);
    Driver driver(small_options(1, 4), model);
    FailingNgram failing;
    failing.throws = throws;
    const sampler_ngram ngram = failing.interface();
    auto args = sized<sampler_session_add_args>();
    args.draft_source = SAMPLER_DRAFTS_NGRAM;
    args.ngram = &ngram;
    const Wish wish = sampled_wish(4, 20);
    driver.add(wish, args);
    driver.finish();
    EXPECT_EQ(failing.num_updates, 3);
    EXPECT_EQ(driver.get(0).is_drafting, 0);
    EXPECT_GT(driver.get(0).num_drafted, 0);
    EXPECT_EQ(driver.text(0), alone(driver.sampler(), model, wish, kContext).text);
  }
}

// N-grams learn what the loop teaches them, by STANDARD and with a sequence beside that they do not
// draft for: so drafts and texts are the loop's.
TEST(SessionDrafts, NgramsLearnTheLikeliestTokens) {
  const NextLogits rows = table_logits(5, kVocabulary, 1, false);
  const auto next = [&](const Tokens &context) {
    return decoding_test::ScriptedNgram::Next{
        std::int32_t(context.size() % 3 + context.back()) % std::int32_t(kVocabulary), true};
  };
  const Wish wish = sampled_wish(4, 30);
  std::int64_t num_unlikely = 0;
  for (const std::int64_t filler_top_k :
       {std::int64_t(0), std::int64_t(1), std::int64_t(3), kVocabulary + 5}) {
    SCOPED_TRACE(filler_top_k);
    decoding_test::Calls calls;
    decoding_test::Limits limits;
    limits.vocabulary_size = kVocabulary;
    decoding_test::Model model(limits, rows, &calls);
    decoding_test::ScriptedNgram in_loop(next, &calls), in_session(next, &calls);
    decoding_test::Generation generation(&model, {wish.prompt});
    generation.args.max_new_tokens = wish.max_new_tokens;
    generation.args.processor = SAMPLER_PROCESSOR_SAMPLE;
    generation.args.seed = 4;
    generation.params = wish.draws[0].params;
    SpeculativeArgs speculative;
    speculative.gamma = 3;
    speculative.filler_top_k = filler_top_k;
    const decoding_test::Sampler sampler = decoding_test::make_sampler();
    const std::vector<decoding_test::Text> &texts = generation.texts_of(
        sampler.get(), decoding_test::speculative(in_loop.interface(), speculative));

    SessionOptions options = small_options(2, 3);
    options.filler_top_k = filler_top_k;
    Driver driver(options, rows);
    auto args = sized<sampler_session_add_args>();
    driver.add(sampled_wish(9, 25), args);
    const sampler_ngram ngram = in_session.interface();
    args.draft_source = SAMPLER_DRAFTS_NGRAM;
    args.acceptance = SAMPLER_ACCEPT_STANDARD;
    args.ngram = &ngram;
    args.draft_unknown = 1;
    const std::int32_t sequence = driver.add(wish, args);
    driver.finish();
    EXPECT_EQ(driver.text(sequence), generation.whole_text(0));
    EXPECT_EQ(driver.get(sequence).num_accepted, texts[0].num_accepted);
    EXPECT_EQ(in_session.lessons().size(), std::size_t(wish.max_new_tokens));
    ASSERT_EQ(in_session.lessons().size(), in_loop.lessons().size());
    for (std::size_t i = 0; i < in_loop.lessons().size(); ++i) {
      EXPECT_EQ(in_session.lessons()[i].context, in_loop.lessons()[i].context) << i;
      EXPECT_EQ(in_session.lessons()[i].next, in_loop.lessons()[i].next) << i;
      EXPECT_GE(in_session.lessons()[i].next.size(),
                std::size_t(std::min(filler_top_k, kVocabulary)));
      num_unlikely += std::int64_t(in_session.lessons()[i].next.size()) > filler_top_k;
    }
  }
  EXPECT_GT(num_unlikely, 35);
}

TEST(SessionDrafts, NgramsThatDoNotLearnThePromptRefuseTheSequence) {
  Driver driver(small_options(1, 4), table_logits(3, kVocabulary, 1, false));
  FailingNgram failing;
  failing.initialized = SAMPLER_ERROR_OUT_OF_MEMORY;
  const sampler_ngram ngram = failing.interface();
  const std::int32_t prompt = 1;
  auto args = sized<sampler_session_add_args>();
  args.token_ids = &prompt;
  args.num_tokens = 1;
  args.draft_source = SAMPLER_DRAFTS_NGRAM;
  args.ngram = &ngram;
  std::int32_t sequence = -1;
  EXPECT_EQ(sampler_session_add(driver.session(), &args, &sequence), SAMPLER_ERROR_OUT_OF_MEMORY);
  EXPECT_STREQ(sampler_last_error(), "initialize of ngram returned 2, SAMPLER_ERROR_OUT_OF_MEMORY");
  auto unused = sized<sampler_session_sequence>();
  EXPECT_EQ(sampler_session_get(driver.session(), 0, &unused), SAMPLER_ERROR_INVALID_ARGUMENT);
}

struct Rule {
  sampler_acceptance verification;
  sampler_acceptance acceptance;
};
constexpr Rule kRules[] = {
    {SAMPLER_ACCEPT_SAMPLE_MATCH, SAMPLER_ACCEPT_SAMPLE_MATCH},
    {SAMPLER_ACCEPT_STANDARD, SAMPLER_ACCEPT_STANDARD},
    {SAMPLER_ACCEPT_BLOCK, SAMPLER_ACCEPT_BLOCK},
    {SAMPLER_ACCEPT_TYPICAL, SAMPLER_ACCEPT_TYPICAL},
    {SAMPLER_ACCEPT_RELAXED, SAMPLER_ACCEPT_RELAXED},
    {SAMPLER_ACCEPT_THRESHOLD, SAMPLER_ACCEPT_THRESHOLD},
    {SAMPLER_ACCEPT_DEFERRED, SAMPLER_ACCEPT_DEFERRED},
    {SAMPLER_ACCEPT_SYNTHETIC, SAMPLER_ACCEPT_SYNTHETIC},
};
constexpr float kRates[] = {0.9f, 0.6f, 0.5f};

// With a drafter's rows: token by token what the loop with a drafter model gives, by every rule,
// with stages and without, bad rows and all.
void expect_texts_of_the_loop(const Rule &rule, bool has_stages, float least_draft_probability,
                              bool by_entropy = false, std::int64_t draft_top_k = 0) {
  // SYNTHETIC looks at the rows of drafts only where log-probabilities are asked for, as here.
  const bool has_bad = rule.acceptance != SAMPLER_ACCEPT_SYNTHETIC;
  Random random(17);
  const NextLogits target =
      mixed_logits(table_logits(7, kVocabulary, 2, false),
                   decoding_test::constant_logits(Logits(kVocabulary, NAN)), has_bad ? 4 : 0, 11);
  const NextLogits draft = mixed_logits(target, table_logits(8, kVocabulary, 1, false), 40, 3);
  decoding_test::Calls calls;
  decoding_test::Limits limits;
  limits.vocabulary_size = kVocabulary;
  limits.max_context = kContext;
  decoding_test::Model model(limits, target, &calls), drafter(limits, draft, &calls);
  model.take_trees(3);
  decoding_test::Generation generation(&model,
                                       decoding_test::random_prompts(&random, 12, 30, kVocabulary));
  generation.args.max_new_tokens = 20;
  generation.args.processor = SAMPLER_PROCESSOR_SAMPLE;
  generation.args.use_cache = 1;
  generation.params.temperature = 0.9f;
  generation.params.top_k = 9;
  if (has_stages) {
    generation.params.repetition_penalty = 1.3f;
    generation.params.no_repeat_ngram_size = 3;
    generation.params.xtc_probability = 0.5f;
    generation.params.xtc_threshold = 0.1f;
    generation.params.adaptive_kind = SAMPLER_ADAPTIVE_MIROSTAT_V2;
    generation.params.adaptive_target = 3;
  }
  generation.ends = {3};
  for (std::uint64_t i = 0; i < 12; ++i) generation.seeds.push_back(i * 31);
  SpeculativeArgs speculative;
  speculative.gamma = 3;
  speculative.acceptance_params.rule = rule.acceptance;
  speculative.acceptance_params.relaxed_top_k = 3;
  speculative.acceptance_params.relaxed_delta = 0.2f;
  speculative.acceptance_params.threshold_single = 0.4f;
  speculative.acceptance_params.deferred_window = 1;
  speculative.acceptance_params.synthetic_rates = kRates;
  speculative.least_draft_probability = least_draft_probability;
  speculative.draft_top_k = draft_top_k;
  if (by_entropy) {
    speculative.adaptive_gamma = SAMPLER_GAMMA_BY_ENTROPY;
    speculative.ema_beta = 0.5f;
    speculative.gamma_min = 0;
  }
  const decoding_test::Sampler sampler = decoding_test::make_sampler_with_fallback(5);
  const std::vector<decoding_test::Text> &texts =
      generation.texts_of(sampler.get(), decoding_test::speculative(&drafter, speculative));

  SessionOptions options = small_options(12, 3);
  options.keep_drafter_rows = 1;
  options.acceptance_params.relaxed_top_k = 3;
  options.acceptance_params.relaxed_delta = 0.2f;
  options.acceptance_params.threshold_single = 0.4f;
  options.acceptance_params.deferred_window = 1;
  options.acceptance_params.synthetic_rates = kRates;
  options.params = &generation.params;
  options.has_adaptive_gamma = by_entropy;
  options.has_draft_trees = draft_top_k > 0;
  Driver driver(options, target, draft);
  auto args = sized<sampler_session_add_args>();
  args.draft_source = SAMPLER_DRAFTS_MODEL;
  args.acceptance = rule.verification;
  args.least_draft_probability = least_draft_probability;
  args.draft_top_k = draft_top_k;
  args.adaptive_gamma = speculative.adaptive_gamma;
  args.ema_beta = speculative.ema_beta;
  for (std::size_t i = 0; i < 12; ++i) {
    Wish wish;
    wish.prompt = generation.prompts()[i];
    wish.draws = {{0, i * 31, generation.params}};
    wish.max_new_tokens = 20;
    wish.ends = {3};
    driver.add(wish, args);
  }
  // In parts that have nothing to do with the loop's rounds.
  for (bool any_runs = true; any_runs;) {
    driver.run(driver.plan(), &random);
    any_runs = false;
    for (std::int32_t i = 0; i < 12; ++i) any_runs = any_runs || driver.runs(i);
  }
  std::int64_t num_bad = 0, num_drafted = 0;
  for (std::size_t i = 0; i < 12; ++i) {
    const sampler_session_sequence own = driver.get(std::int32_t(i));
    EXPECT_EQ(driver.text(std::int32_t(i)), generation.whole_text(i)) << i;
    EXPECT_EQ(own.finish_reason, texts[i].reason);
    EXPECT_EQ(own.num_drafted, texts[i].num_drafted);
    EXPECT_EQ(own.num_accepted, texts[i].num_accepted);
    num_bad += own.finish_reason == SAMPLER_FINISH_BAD_ROW;
    num_drafted += own.num_drafted;
  }
  EXPECT_EQ(num_bad > 0, has_bad);
  EXPECT_GE(num_drafted, by_entropy ? 20 : 50);
}

TEST(SessionDrafts, TextsOfAllRulesAreThoseOfTheLoop) {
  for (const Rule &rule : kRules) {
    SCOPED_TRACE(rule.acceptance);
    for (const bool has_stages : {false, true}) expect_texts_of_the_loop(rule, has_stages, 0);
    expect_texts_of_the_loop(rule, true, 0.15f);
    for (const bool has_stages : {false, true}) expect_texts_of_the_loop(rule, has_stages, 0, true);
    if (rule.acceptance == SAMPLER_ACCEPT_BLOCK || rule.acceptance == SAMPLER_ACCEPT_DEFERRED) {
      continue;  // for chains
    }
    for (const std::int64_t top_k : {1, 2, 3}) {
      for (const bool has_stages : {false, true}) {
        expect_texts_of_the_loop(rule, has_stages, 0, false, top_k);
      }
    }
  }
}

// Fewer drafts, of which a larger share is kept; the same text where each token is the target's.
TEST(SessionDrafts, EndAtAnUnlikelyOne) {
  const NextLogits target = table_logits(7, kVocabulary, 2, false);
  const NextLogits drafter = mixed_logits(target, table_logits(8, kVocabulary, 1, false), 40, 3);
  std::int64_t drafted[3] = {}, accepted[3] = {};
  const float limits[] = {0, 0.1f, 1};
  for (int i = 0; i < 3; ++i) {
    Driver driver(small_options(20, 4), target, drafter);
    auto args = sized<sampler_session_add_args>();
    args.draft_source = SAMPLER_DRAFTS_MODEL;
    args.least_draft_probability = limits[i];
    for (std::uint64_t seed = 0; seed < 20; ++seed) driver.add(sampled_wish(seed, 30), args);
    driver.finish();
    for (std::int32_t j = 0; j < 20; ++j) {
      const sampler_session_sequence own = driver.get(j);
      drafted[i] += own.num_drafted;
      accepted[i] += own.num_accepted;
      const Wish wish = sampled_wish(std::uint64_t(j), 30);
      EXPECT_EQ(driver.text(j), alone(driver.sampler(), target, wish, kContext).text);
      if (i == 2) {
        EXPECT_LE(own.num_drafted, own.num_steps);  // one a step
      }
    }
  }
  EXPECT_LT(drafted[1], drafted[0]);
  EXPECT_LT(drafted[2], drafted[1]);
  EXPECT_GT(double(accepted[1]) / double(drafted[1]), double(accepted[0]) / double(drafted[0]));
}

// N-grams that look at the session which asks them.
struct Looking {
  sampler_session_t session = nullptr;
  sampler_status status = SAMPLER_OK;
  std::string error;
  int child_status = -1;

  // The session's calls, in a child process that was forked during one of them.
  bool is_refused_in_child() const {
    auto own = sized<sampler_session_sequence>();
    const bool is_refused =
        sampler_session_get(session, 0, &own) == SAMPLER_ERROR_INVALID_ARGUMENT &&
        std::string(sampler_last_error()) ==
            "session was in use when this process was forked; it may only be destroyed";
    sampler_session_destroy(session);
    return is_refused;
  }

  void look() {
    auto own = sized<sampler_session_sequence>();
    status = sampler_session_get(session, 0, &own);
    error = sampler_last_error();
    const pid_t child = ::fork();
    if (child == 0) _exit(is_refused_in_child() ? 0 : 1);
    waitpid(child, &child_status, 0);
  }
};

TEST(SessionDrafts, ASessionServesOneCallAtATime) {
  Driver driver(small_options(1, 4), table_logits(3, kVocabulary, 1, false));
  Looking looking;
  looking.session = driver.session();
  sampler_ngram ngram = FailingNgram().interface();
  ngram.user = &looking;
  ngram.initialize = [](void *, const std::int32_t *, std::int64_t) -> sampler_status {
    return SAMPLER_OK;
  };
  ngram.update = [](void *user, const std::int32_t *, std::int64_t, const std::int32_t *,
                    std::int64_t) -> sampler_status {
    static_cast<Looking *>(user)->look();
    return SAMPLER_OK;
  };
  auto args = sized<sampler_session_add_args>();
  args.draft_source = SAMPLER_DRAFTS_NGRAM;
  args.ngram = &ngram;
  driver.add(sampled_wish(4, 2), args);
  driver.run(driver.plan());
  EXPECT_EQ(looking.status, SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(looking.error, "session is serving another call; it serves one at a time");
  EXPECT_EQ(looking.child_status, 0);
  EXPECT_EQ(driver.get(0).num_tokens, 6);
}

struct Standard {
  Wish wish;
  sampler_session_add_args args;
};

Standard random_standard(Random *random, std::uint64_t seed) {
  Standard own = {};
  own.wish = sampled_wish(seed, random->between(5, 25));
  sampler_params &params = own.wish.draws[0].params;
  if (random->one_in(3)) params.temperature = 0;
  if (random->one_in(2)) params.top_k = 7;
  if (random->one_in(2)) params.repetition_penalty = 1.4f;
  if (random->one_in(3)) params.no_repeat_ngram_size = 2;
  if (random->one_in(3)) {
    params.adaptive_kind = SAMPLER_ADAPTIVE_MIROSTAT_V2;
    params.adaptive_target = 2;
  }
  own.wish.stops = {{3, 4}};
  own.args = sized<sampler_session_add_args>();
  own.args.draft_source = SAMPLER_DRAFTS_MODEL;
  own.args.acceptance = SAMPLER_ACCEPT_STANDARD;
  own.args.num_drafts = random->between(1, 4);
  if (random->one_in(2)) {
    own.args.adaptive_gamma = SAMPLER_GAMMA_BY_ENTROPY;
    own.args.gamma_min = random->between(0, 1);
    own.args.ema_beta = 0.6f;
  }
  return own;
}

SessionOptions standard_options(std::int64_t max_sequences) {
  SessionOptions options = small_options(max_sequences, 4);
  options.keep_drafter_rows = options.has_adaptive_gamma = 1;
  return options;
}

// They depend on the drafter, but not on what else is there: each is the one of a session of its
// own, and a greedy one that without drafts.
TEST(SessionDrafts, StandardTextsDependOnNothingElse) {
  Random random(23);
  const NextLogits target = table_logits(7, kVocabulary, 2, false);
  const NextLogits draft = mixed_logits(target, table_logits(8, kVocabulary, 1, false), 30, 3);
  Driver driver(standard_options(20), target, draft);
  std::vector<Standard> all;
  const auto add = [&] {
    all.push_back(random_standard(&random, all.size()));
    EXPECT_EQ(driver.add(all.back().wish, all.back().args), std::int32_t(all.size()) - 1);
  };
  add();
  for (bool any_runs = true; any_runs || all.size() < 20;) {
    if (all.size() < 20 && random.one_in(2)) add();
    driver.run(driver.plan({}, random.one_in(3) ? 12 : 0), &random);
    any_runs = false;
    for (std::size_t i = 0; i < all.size(); ++i) {
      any_runs = any_runs || driver.runs(std::int32_t(i));
    }
  }
  std::int64_t num_accepted = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto sequence = std::int32_t(i);
    Driver its_own(standard_options(1), target, draft);
    its_own.add(all[i].wish, all[i].args);
    its_own.finish();
    EXPECT_EQ(driver.text(sequence), its_own.text(0)) << i;
    EXPECT_EQ(driver.logprobs[sequence], its_own.logprobs[0]) << i;
    EXPECT_EQ(driver.get(sequence).num_drafted, its_own.get(0).num_drafted) << i;
    num_accepted += its_own.get(0).num_accepted;
    if (all[i].wish.draws[0].params.temperature == 0) {
      const Alone whole = alone(driver.sampler(), target, all[i].wish, kContext);
      EXPECT_EQ(driver.text(sequence), whole.text) << i;
      EXPECT_EQ(driver.logprobs[sequence], whole.logprobs) << i;
    }
  }
  EXPECT_GT(num_accepted, 50);
}

TEST(SessionDrafts, ABadRowOfTheDrafterOnlyEndsTheDraftsOfItsStep) {
  const NextLogits target = table_logits(7, kVocabulary, 2, false);
  const NextLogits bad = decoding_test::constant_logits(Logits(kVocabulary, NAN));
  Driver driver(standard_options(2), target, mixed_logits(target, bad, 40, 3));
  for (const sampler_acceptance verification :
       {SAMPLER_ACCEPT_SAMPLE_MATCH, SAMPLER_ACCEPT_STANDARD}) {
    auto args = sized<sampler_session_add_args>();
    args.draft_source = SAMPLER_DRAFTS_MODEL;
    args.acceptance = verification;
    driver.add(sampled_wish(6, 30), args);
  }
  driver.finish();
  for (const std::int32_t sequence : {0, 1}) {
    const sampler_session_sequence own = driver.get(sequence);
    EXPECT_EQ(own.finish_reason, SAMPLER_FINISH_LENGTH);
    EXPECT_GT(own.num_accepted, 0);
    EXPECT_LT(own.num_drafted, 4 * own.num_steps - 8);
  }
  EXPECT_EQ(driver.text(0), alone(driver.sampler(), target, sampled_wish(6, 30), kContext).text);
}

// A draft beyond what the drafter's cache can hold is not planned.
TEST(SessionDrafts, ATextTooLongForTheDrafterGoesOnWithoutDrafts) {
  const NextLogits target = table_logits(7, kVocabulary, 2, false);
  SessionOptions options = small_options(1, 4);
  options.drafter_context = 12;
  std::size_t longest = 0;
  const NextLogits drafter = [&](const Tokens &text) {
    longest = std::max(longest, text.size());
    return target(text);
  };
  Driver driver(options, target, drafter);
  auto args = sized<sampler_session_add_args>();
  args.draft_source = SAMPLER_DRAFTS_MODEL;
  const Wish wish = sampled_wish(6, 30);
  driver.add(wish, args);
  while (driver.runs(0)) {
    EXPECT_EQ(driver.get(0).is_drafting, driver.get(0).num_tokens <= 12);
    driver.run(driver.plan());
  }
  EXPECT_EQ(longest, 12u);
  EXPECT_EQ(driver.text(0), alone(driver.sampler(), target, wish, kContext).text);
}

TEST(SessionDrafts, APromptTooLongForTheDrafterIsNotDraftedFor) {
  const NextLogits target = table_logits(7, kVocabulary, 2, false);
  SessionOptions options = small_options(2, 4);
  options.has_adaptive_gamma = 1;
  Wish wish = sampled_wish(6, 30);
  wish.prompt = {1, 2, 3, 1, 2, 3, 1, 2};
  for (const sampler_gamma_rule rule : {SAMPLER_GAMMA_FIXED, SAMPLER_GAMMA_MEASURED}) {
    for (const std::int64_t room : {7, 8}) {
      options.drafter_context = room;
      Driver driver(options, target, target);
      auto args = sized<sampler_session_add_args>();
      args.draft_source = SAMPLER_DRAFTS_MODEL;
      args.adaptive_gamma = rule;
      driver.add(wish, args);
      EXPECT_EQ(driver.get(0).is_drafting, room == 8);
      EXPECT_EQ(driver.get(driver.fork(0)).is_drafting, room == 8);
      driver.finish();
      EXPECT_EQ(driver.get(0).is_drafting, 0);
      EXPECT_EQ(driver.get(0).num_drafted,
                0);  // the first token is none, and then there is no room
      EXPECT_EQ(driver.text(0), alone(driver.sampler(), target, wish, kContext).text);
    }
  }
}

// As of a sequence that made room for another one: the drafter's cache may hold all of its text.
TEST(SessionDrafts, ADraftersCacheMayHoldTheWholeText) {
  const NextLogits target = table_logits(7, kVocabulary, 2, false);
  const Wish wish = sampled_wish(6, 30);
  Driver driver(small_options(2, 4), target, target);
  const Alone whole = alone(driver.sampler(), target, wish, kContext);
  auto args = sized<sampler_session_add_args>();
  args.draft_source = SAMPLER_DRAFTS_MODEL;
  const Tokens text(whole.text.begin(), whole.text.begin() + 9);
  args.cache_length = 8;
  args.drafter_cache_length = 9;
  driver.add(wish, args, text);
  EXPECT_EQ(driver.get(0).drafter_cache_length, 9);
  EXPECT_EQ(driver.get(driver.fork(0)).drafter_cache_length, 9);
  const Driver::Step step = driver.plan();
  ASSERT_EQ(step.drafter_spans.size(), 2u);
  for (const sampler_span &span : step.drafter_spans) {
    EXPECT_EQ(span.start, 8);
    EXPECT_EQ(span.num_tokens, 1);
  }
  driver.finish();
  EXPECT_EQ(driver.text(0), whole.text);
  EXPECT_EQ(driver.text(1), whole.text);
  EXPECT_GT(driver.get(0).num_accepted, 10);

  // It cannot hold more than there is room for.
  SessionOptions options = small_options(1, 4);
  options.drafter_context = 8;
  Driver small(options, target, target);
  args.token_ids = text.data();
  args.num_tokens = 9;
  std::int32_t sequence = -1;
  EXPECT_EQ(sampler_session_add(small.session(), &args, &sequence), SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(sampler_last_error(),
               "drafter_cache_length is 9; the drafter's cache can hold drafter_context of the "
               "session, 8");
  args.drafter_cache_length = 8;
  EXPECT_EQ(sampler_session_add(small.session(), &args, &sequence), SAMPLER_OK);
}

}  // namespace
}  // namespace session_test::drafts_test
