// Rounds as the trace and the counts report them: how many drafts there are, what the log hears,
// what a storage is taught. (That rounds add up to the texts, Generation checks in every test.)
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "scenario.h"

namespace decoding_test::trace_test {
namespace {

// In nats, at a temperature.
double entropy_of(const Logits &logits, double temperature) {
  const float top = *std::max_element(logits.begin(), logits.end());
  double sum = 0, weighted = 0;
  for (const float x : logits) {
    const double d = (double(x) - double(top)) / temperature, weight = std::exp(d);
    if (weight == 0) continue;
    sum += weight;
    weighted += weight * d;
  }
  return std::log(sum) - weighted / sum;
}

std::vector<Round> rounds_of(const Generation &generation, std::int64_t text) {
  std::vector<Round> rounds;
  for (const Round &round : generation.rounds()) {
    if (round.text == text) rounds.push_back(round);
  }
  return rounds;
}

// How many tokens the text has when each round starts, and at the end.
std::vector<std::int64_t> lengths_of(const std::vector<Round> &rounds, std::int64_t prompt_length) {
  std::vector<std::int64_t> lengths = {prompt_length};
  for (const Round &round : rounds) {
    lengths.push_back(lengths.back() + round.num_accepted + (round.next_token_id >= 0));
  }
  return lengths;
}

TEST(Rounds, AreCountedForTheLongestText) {
  const Sampler sampler = make_sampler();
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Scenario scenario(seed);
    for (const Loop &loop : {autoregressive(), scenario.speculative(), scenario.with_ngrams()}) {
      Generation &generation = *scenario.generation;
      generation.texts_of(sampler.get(), loop);
      std::int64_t most = 0;
      for (const Round &round : generation.rounds()) most = std::max(most, round.round + 1);
      EXPECT_EQ(generation.stats().num_rounds, most);
      EXPECT_GE(generation.stats().target_forwards, most);
      if (scenario.target->limits().max_span_tokens == 0) {
        EXPECT_EQ(generation.stats().target_forwards, most);
      }
    }
  }
}

// Each token goes into the target's cache once, drafts that are rejected apart.
TEST(Rounds, FeedNewTokensOnly) {
  const Sampler sampler = make_sampler();
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Scenario scenario(seed);
    for (const Loop &loop : {autoregressive(), scenario.speculative(), scenario.with_ngrams()}) {
      Generation &generation = *scenario.generation;
      generation.args.use_cache = 1;
      const auto &texts = generation.texts_of(sampler.get(), loop);
      std::int64_t cached = 0;
      for (const Text &text : texts) cached += text.cache_length;
      EXPECT_LE(scenario.target->num_tokens_fed(),
                cached + generation.stats().num_drafted - generation.stats().num_accepted);
      if (generation.stats().num_drafted == 0) {
        EXPECT_EQ(scenario.target->num_tokens_fed(), cached);
      }
    }
  }
}

// gamma drafts, or as many as the limits leave room for; no text has end tokens here.
TEST(Rounds, HaveGammaDrafts) {
  const Sampler sampler = make_sampler();
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Scenario scenario(seed);
    Generation &generation = *scenario.generation;
    generation.ends.clear();
    scenario.speculative_args.adaptive_gamma = 0;
    for (const bool is_speculative : {true, false}) {
      const std::int64_t gamma =
          is_speculative ? scenario.speculative_args.gamma : scenario.ngram_args.gamma;
      const bool first_target = is_speculative ? scenario.speculative_args.first_target != 0
                                               : scenario.ngram_args.first_target != 0;
      generation.texts_of(sampler.get(),
                          is_speculative ? scenario.speculative() : scenario.with_ngrams());
      for (std::size_t i = 0; i < generation.prompts().size(); ++i) {
        const auto rounds = rounds_of(generation, std::int64_t(i));
        const auto prompt_length = std::int64_t(generation.prompts()[i].size());
        const auto lengths = lengths_of(rounds, prompt_length);
        const std::int64_t room =
            std::min(prompt_length + generation.args.max_new_tokens,
                     std::min(scenario.target->limits().max_context,
                              is_speculative ? scenario.drafter->limits().max_context : INT64_MAX));
        for (std::size_t r = 0; r < rounds.size(); ++r) {
          const auto num_drafts = std::int64_t(rounds[r].drafts.size());
          EXPECT_LE(num_drafts, gamma);
          if (r == 0 && first_target) {
            EXPECT_EQ(num_drafts, 0);
          } else if (is_speculative && lengths[r] + gamma < room) {
            EXPECT_EQ(num_drafts, gamma);
          }
          EXPECT_TRUE(std::isnan(rounds[r].entropy));
        }
      }
    }
  }
}

TEST(Rounds, DraftUpToAnEndToken) {
  const Sampler sampler = make_sampler();
  std::int64_t num_ends = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Scenario scenario(seed);
    Generation &generation = *scenario.generation;
    for (const Loop &loop : {scenario.speculative(), scenario.with_ngrams()}) {
      generation.texts_of(sampler.get(), loop);
      for (const Round &round : generation.rounds()) {
        for (std::size_t j = 0; j < round.drafts.size(); ++j) {
          if (std::find(generation.ends.begin(), generation.ends.end(), round.drafts[j]) ==
              generation.ends.end()) {
            continue;
          }
          EXPECT_EQ(j + 1, round.drafts.size()) << "a draft behind an end token";
          if (round.num_accepted == std::int64_t(round.drafts.size())) {
            EXPECT_EQ(round.next_token_id, -1);
            ++num_ends;
          }
        }
      }
    }
  }
  EXPECT_GT(num_ends, 100);
}

// ---- gamma that follows the entropy -------------------------------------------------------------

TEST(AdaptiveGamma, FollowsTheEntropy) {
  const Sampler sampler = make_sampler();
  std::int64_t num_compared = 0;
  std::vector<int> seen(12);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Calls calls;
    Limits limits;
    limits.vocabulary_size = 4 + std::int64_t(seed % 5);
    limits.max_context = 200;
    // Sharp rows and flat ones.
    const NextLogits rows = table_logits(seed, limits.vocabulary_size);
    const double scale = std::ldexp(1.0, int(random.between(-3, 1)));
    Model target(limits, rows, &calls);
    Model drafter(
        limits,
        [=](const Tokens &text) {
          Logits logits = rows(text);
          for (float &x : logits) x = float(x * scale * (text.back() % 2 == 0 ? 1 : 0.25));
          return logits;
        },
        &calls);
    Generation generation(&target, {{1, 2}, {0}, {3, 3, 3}});
    generation.args.max_new_tokens = 60;
    generation.args.use_cache = seed % 2;
    generation.args.processor = sampler_processor(seed / 2 % 2);
    const bool is_drawn = generation.args.processor == SAMPLER_PROCESSOR_SAMPLE;
    if (is_drawn) generation.params.temperature = 0.5f + float(seed % 3) / 2;
    generation.params.top_k = 2;  // H is that of all tokens
    generation.params.temperature_order = SAMPLER_TEMPERATURE_LAST;
    const double temperature = double(generation.params.temperature);
    SpeculativeArgs args;
    args.adaptive_gamma = 1;
    args.gamma = random.between(1, 10);
    args.gamma_max = random.one_in(2) ? 0 : random.between(1, 11);
    const std::int64_t gamma_max = args.gamma_max == 0 ? args.gamma : args.gamma_max;
    args.gamma_min = random.between(0, gamma_max);
    args.ema_beta = float(random.between(0, 3)) / 4;
    const auto &texts = generation.texts_of(sampler.get(), speculative(&drafter, args));
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const auto rounds = rounds_of(generation, std::int64_t(i));
      const Tokens text = generation.whole_text(i);
      const auto prompt_length = std::int64_t(generation.prompts()[i].size());
      const auto lengths = lengths_of(rounds, prompt_length);
      double smooth = 0;
      bool has_before = false;
      for (std::size_t r = 0; r < rounds.size(); ++r) {
        if (r == 0) continue;  // the target's own
        if (std::isnan(rounds[r].entropy)) {
          EXPECT_TRUE(rounds[r].drafts.empty());
          continue;
        }
        const Tokens before(text.begin(), text.begin() + std::ptrdiff_t(lengths[r]));
        const double h = entropy_of(drafter.logits(before), temperature);
        EXPECT_NEAR(rounds[r].entropy, h, 1e-4) << "computed in f32";
        smooth = has_before ? double(args.ema_beta) * smooth + (1 - double(args.ema_beta)) * h : h;
        has_before = true;
        const double share =
            (1 - smooth / std::log(double(limits.vocabulary_size))) * double(gamma_max);
        if (std::fabs(share - std::round(share)) < 1e-3) continue;  // rounding would decide
        if (lengths[r] + gamma_max >= prompt_length + generation.args.max_new_tokens) continue;
        const std::int64_t gamma =
            std::clamp(std::int64_t(std::trunc(share)), args.gamma_min, gamma_max);
        EXPECT_EQ(std::int64_t(rounds[r].drafts.size()), gamma);
        ++seen.at(std::size_t(gamma));
        ++num_compared;
      }
    }
  }
  EXPECT_GT(num_compared, 2000);
  EXPECT_GT(std::count_if(seen.begin(), seen.end(), [](int count) { return count > 20; }), 8);
}

// The logits that give the entropy are those of the first draft.
TEST(AdaptiveGamma, CostsNoForward) {
  const Sampler sampler = make_sampler();
  Calls calls;
  Limits limits;
  limits.vocabulary_size = 6;
  Model target(limits, table_logits(1, 6), &calls);
  Model drafter(limits, table_logits(1, 6), &calls);
  Generation generation(&target, {{1, 2}});
  generation.args.use_cache = 1;
  generation.args.max_new_tokens = 30;
  SpeculativeArgs args;
  args.adaptive_gamma = 1;
  args.gamma_min = 1;
  generation.texts_of(sampler.get(), speculative(&drafter, args));
  EXPECT_EQ(generation.stats().drafter_forwards, generation.stats().num_drafted);
}

// ---- Lines --------------------------------------------------------------------------------------

struct RecordingLog {
  std::vector<std::string> lines;
  static void log(void *user, sampler_log_level level, const char *message) {
    EXPECT_EQ(level, SAMPLER_LOG_INFO);
    static_cast<RecordingLog *>(user)->lines.push_back(message);
  }
};

Sampler logging_sampler(RecordingLog *log) {
  sampler_options options = sampler_options_default();
  options.log = RecordingLog::log;
  options.log_user = log;
  sampler_t sampler = nullptr;
  EXPECT_EQ(sampler_create(&options, &sampler), SAMPLER_OK);
  log->lines.clear();
  return Sampler(sampler);
}

// Words of any length, with a NUL and without.
std::size_t word_of(void *, std::int32_t token, char *buffer, std::size_t buffer_bytes) {
  const std::string word = token == 0 ? "" : "<" + std::string(std::size_t(token), 'w') + ">";
  std::copy_n(word.begin(), std::min(word.size(), buffer_bytes), buffer);
  return word.size();
}

TEST(Debug, LinesReachTheLog) {
  RecordingLog log;
  const Sampler sampler = logging_sampler(&log);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Scenario scenario(seed);
    Generation &generation = *scenario.generation;
    for (const Loop &loop : {autoregressive(), scenario.speculative(), scenario.with_ngrams()}) {
      generation.args.debug = 0;
      log.lines.clear();
      const std::vector<Text> texts = generation.texts_of(sampler.get(), loop);
      EXPECT_TRUE(log.lines.empty()) << log.lines[0];
      generation.args.debug = 1;
      for (const auto token_text :
           {sampler_token_text_fn(nullptr), sampler_token_text_fn(word_of)}) {
        log.lines.clear();
        generation.args.token_text = token_text;
        EXPECT_EQ(generation.texts_of(sampler.get(), loop), texts);
        ASSERT_EQ(log.lines.size(), generation.rounds().size());
        for (std::size_t i = 0; i < log.lines.size(); ++i) {
          EXPECT_EQ(log.lines[i], generation.rounds()[i].line);
          EXPECT_NE(log.lines[i], "");
        }
      }
      generation.args.token_text = nullptr;
    }
  }
}

TEST(Debug, LinesHaveTheTokens) {
  const Sampler sampler = make_sampler();
  Scenario scenario(4);
  Generation &generation = *scenario.generation;
  generation.args.token_text = word_of;
  generation.texts_of(sampler.get(), scenario.speculative());
  std::int64_t num_drafts = 0;
  for (const Round &round : generation.rounds()) {
    Tokens tokens = round.drafts;
    if (round.next_token_id >= 0) tokens.push_back(round.next_token_id);
    for (const std::int32_t token : tokens) {
      if (token == 0) continue;
      EXPECT_NE(round.line.find("<" + std::string(std::size_t(token), 'w') + ">"),
                std::string::npos)
          << round.line << " lacks " << token;
    }
    num_drafts += std::int64_t(round.drafts.size());
  }
  EXPECT_GT(num_drafts, 0);
}

// Texts that say that they are longer than the buffer, and texts that never end, are cut.
TEST(Debug, LongTextsOfTokensAreCut) {
  const Sampler sampler = make_sampler();
  Scenario scenario(4);
  Generation &generation = *scenario.generation;
  generation.args.debug = 1;
  for (const sampler_token_text_fn token_text : std::vector<sampler_token_text_fn>{
           [](void *, std::int32_t, char *buffer, std::size_t buffer_bytes) {
             std::fill_n(buffer, buffer_bytes, 'x');
             return buffer_bytes;
           },
           [](void *, std::int32_t, char *buffer, std::size_t buffer_bytes) {
             std::fill_n(buffer, buffer_bytes, 'x');
             return buffer_bytes + 1;
           },
           [](void *, std::int32_t, char *, std::size_t) { return SIZE_MAX; }}) {
    generation.args.token_text = token_text;
    generation.texts_of(sampler.get(), scenario.speculative());
    for (const Round &round : generation.rounds()) EXPECT_LT(round.line.size(), 1u << 20);
  }
}

// ---- What a storage of n-grams is taught --------------------------------------------------------

// The likeliest tokens, in rank order.
Tokens likeliest(const Logits &row, std::int64_t count) {
  Tokens order(row.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return row[std::size_t(a)] > row[std::size_t(b)];
  });
  order.resize(std::size_t(count));
  return order;
}

bool ends_with(const Tokens &text, const Tokens &end) {
  return end.size() <= text.size() && std::equal(end.rbegin(), end.rend(), text.rbegin());
}

TEST(Lessons, AreOfEachNewToken) {
  const Sampler sampler = make_sampler();
  int num_unlikely = 0;
  for (std::uint64_t seed = 0; seed < 150 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Calls calls;
    Limits limits;
    limits.vocabulary_size = random.between(3, 9);
    const NextLogits rows = table_logits(seed, limits.vocabulary_size);
    Model target(limits, rows, &calls);
    ScriptedNgram ngram(
        [&](const Tokens &context) {
          return ScriptedNgram::Next{likeliest(rows(context), 3)[context.size() % 3 == 0], true};
        },
        &calls);
    Generation generation(&target, random_prompts(&random, 1, 6, limits.vocabulary_size));
    generation.args.use_cache = seed % 2;
    generation.args.max_new_tokens = 20;
    generation.args.processor = sampler_processor(seed / 2 % 2);
    SpeculativeArgs args;
    args.filler_top_k = random.between(0, limits.vocabulary_size);
    args.first_target = random.one_in(2);
    generation.texts_of(sampler.get(), speculative(ngram.interface(), args));
    EXPECT_EQ(ngram.texts(), generation.prompts());
    const Tokens text = generation.whole_text(0);
    const std::size_t prompt_length = generation.prompts()[0].size();
    ASSERT_EQ(ngram.lessons().size(), text.size() - prompt_length);
    for (std::size_t n = prompt_length; n < text.size(); ++n) {
      const ScriptedNgram::Lesson &lesson = ngram.lessons()[n - prompt_length];
      const Tokens before(text.begin(), text.begin() + std::ptrdiff_t(n));
      EXPECT_FALSE(lesson.context.empty());
      EXPECT_TRUE(ends_with(before, lesson.context));
      Tokens expected = likeliest(rows(before), args.filler_top_k);
      if (std::find(expected.begin(), expected.end(), text[n]) == expected.end()) {
        expected.push_back(text[n]);
        num_unlikely += args.filler_top_k > 0;
      }
      EXPECT_EQ(lesson.next, expected);
    }
  }
  EXPECT_GT(num_unlikely, 50);
}

TEST(Lessons, OfAllTextsOfTheCall) {
  const Sampler sampler = make_sampler();
  Scenario scenario(11);
  scenario.generation->texts_of(sampler.get(), scenario.with_ngrams());
  EXPECT_EQ(scenario.ngram->texts(), scenario.generation->prompts());
  EXPECT_EQ(std::int64_t(scenario.ngram->lessons().size()),
            scenario.generation->stats().num_new_tokens);
}

// Counts of the library's own storage decide. A limit that every known token reaches leaves the
// rounds of stop_if_unknown, and one that none reaches leaves no drafts.
TEST(LeastCountAndShare, OfAStorage) {
  const Sampler sampler = make_sampler();
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Calls calls;
    Limits limits;
    limits.vocabulary_size = random.between(3, 9);
    Model target(limits, table_logits(seed, limits.vocabulary_size, 1), &calls);
    Generation generation(&target, random_prompts(&random, 2, 6, limits.vocabulary_size));
    generation.args.max_new_tokens = 30;
    generation.args.processor = sampler_processor(seed % 2);
    const auto drafts_of = [&](const SpeculativeArgs &args) {
      auto options = sized<sampler_ngram_storage_options>();
      options.vocabulary_size = limits.vocabulary_size;
      sampler_ngram_storage_t storage = nullptr;
      EXPECT_EQ(sampler_ngram_storage_create(&options, &storage), SAMPLER_OK);
      sampler_ngram ngram = sized<sampler_ngram>();
      EXPECT_EQ(sampler_ngram_storage_interface(storage, &ngram), SAMPLER_OK);
      generation.texts_of(sampler.get(), speculative(ngram, args));
      sampler_ngram_storage_destroy(storage);
      std::vector<Tokens> drafts;
      for (const Round &round : generation.rounds()) drafts.push_back(round.drafts);
      return drafts;
    };
    SpeculativeArgs args;
    args.stop_if_unknown = 1;
    const auto known = drafts_of(args);
    const std::int64_t num_known = generation.stats().num_drafted;
    EXPECT_GT(num_known, 10);
    args.stop_if_unknown = 0;
    args.ngram_least_count = 1;
    EXPECT_EQ(drafts_of(args), known);
    args.ngram_least_count = 0;
    args.ngram_least_share = 1e-9f;
    EXPECT_EQ(drafts_of(args), known);
    args.ngram_least_share = 1.0f;
    drafts_of(args);
    EXPECT_LT(generation.stats().num_drafted, num_known);
    args.ngram_least_count = 1000;
    args.ngram_least_share = 0;
    drafts_of(args);
    EXPECT_EQ(generation.stats().num_drafted, 0);
  }
}

TEST(LeastCountAndShare, AreHandedToTheStorage) {
  const Sampler sampler = make_sampler();
  Calls calls;
  Limits limits;
  limits.vocabulary_size = 5;
  Model target(limits, constant_logits({3.0f, 0, 0, 0, 0}), &calls);
  // An end token, and no token at all, end a proposal.
  ScriptedNgram ngram(
      [](const Tokens &context) {
        const std::int32_t tokens[] = {2, 4, 3, 1, 5, 2, -1};
        return ScriptedNgram::Next{tokens[context.size() % 7], true};
      },
      &calls);
  Generation generation(&target, {{1, 2}});
  generation.ends = {3};
  generation.args.max_new_tokens = 30;
  SpeculativeArgs args;
  args.ngram_least_count = 7;
  args.ngram_least_share = 0.25f;
  args.first_target = 0;
  generation.texts_of(sampler.get(), speculative(ngram.interface(), args));
  const auto rounds = rounds_of(generation, 0);
  const auto lengths = lengths_of(rounds, 2);
  ASSERT_EQ(rounds.size(), 30u);
  // The last round has no room for a draft.
  ASSERT_EQ(ngram.questions().size(), 29u);
  for (std::size_t r = 0; r < 29; ++r) {
    const ScriptedNgram::Question &question = ngram.questions()[r];
    EXPECT_EQ(std::int64_t(question.context.size()), lengths[r]);
    EXPECT_EQ(question.num_drafts, std::min<std::int64_t>(5, 32 - lengths[r] - 1));
    EXPECT_EQ(question.least_count, 7);
    EXPECT_EQ(question.least_share, 0.25f);
    if (question.num_drafts < 5) continue;
    const Tokens expected[] = {{2, 4, 3}, {4, 3}, {3}, {1}, {}, {2}, {}};
    EXPECT_EQ(rounds[r].drafts, expected[lengths[r] % 7]);
  }
}

TEST(Lessons, NoDraftBehindAnUnknownContext) {
  const Sampler sampler = make_sampler();
  for (const int stop_if_unknown : {0, 1}) {
    Calls calls;
    Limits limits;
    limits.vocabulary_size = 5;
    Model target(limits, table_logits(2, 5), &calls);
    ScriptedNgram ngram(
        [](const Tokens &context) {
          return ScriptedNgram::Next{2, context.size() % 3 != 0};
        },
        &calls);
    Generation generation(&target, {{1, 2}, {4}});
    SpeculativeArgs args;
    args.stop_if_unknown = stop_if_unknown;
    generation.texts_of(sampler.get(), speculative(ngram.interface(), args));
    for (std::int64_t i = 0; i < 2; ++i) {
      const auto rounds = rounds_of(generation, i);
      const auto lengths =
          lengths_of(rounds, std::int64_t(generation.prompts()[std::size_t(i)].size()));
      for (std::size_t r = 1; r < rounds.size(); ++r) {
        if (lengths.back() - lengths[r] < 7) continue;  // near the limit
        EXPECT_EQ(std::int64_t(rounds[r].drafts.size()),
                  stop_if_unknown ? (3 - lengths[r] % 3) % 3 : 5);
      }
    }
  }
}

}  // namespace
}  // namespace decoding_test::trace_test
