// Beam search against all continuations of a text, and against a search that is written step by
// step in f64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "../seed.h"
#include "generation.h"
#include "model.h"

namespace decoding_test::beam_search_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
// Scores are sums of log-probabilities in f32 or better, of up to 16 tokens of up to 20 nats.
constexpr double kTolerance = 1e-4;

struct Beam {
  Tokens tokens;
  sampler_finish_reason reason = SAMPLER_FINISH_NONE;
  double score = 0;
  double sum = 0;
};

// A call with memory for its outputs.
class BeamSearch {
 public:
  BeamSearch(Model *model, std::vector<Tokens> prompts)
      : model_(model), interface_(model->interface()), prompts_(std::move(prompts)) {
    generation.target = &interface_;
    generation.num_sequences = std::int64_t(prompts_.size());
    offsets_.push_back(0);
    for (const Tokens &prompt : prompts_) {
      ids_.insert(ids_.end(), prompt.begin(), prompt.end());
      offsets_.push_back(std::int64_t(ids_.size()));
    }
    generation.prompt_offsets = offsets_.data();
    generation.prompt_token_ids = ids_.data();
    generation.pad_token_id = -5;
    args.generation = &generation;
  }
  BeamSearch(const BeamSearch &) = delete;
  BeamSearch &operator=(const BeamSearch &) = delete;

  sampler_generation_args generation = sampler_generation_args_default();
  sampler_beam_search_args args = sampler_beam_search_args_default();
  std::vector<std::int32_t> ends;
  bool has_fork = true;

  sampler_status run(sampler_t sampler) {
    const std::size_t num_results = prompts_.size() * std::size_t(args.num_results);
    token_ids_.assign(num_results * std::size_t(generation.max_new_tokens), kUntouched);
    lengths_.assign(num_results, kUntouched);
    reasons_.assign(num_results, kUntouched);
    scores_.assign(num_results, 99);
    stats = sized<sampler_generation_stats>();
    static const std::int32_t kNone = 0;
    generation.end_token_ids = ends.empty() ? &kNone : ends.data();
    generation.num_end_tokens = std::int64_t(ends.size());
    generation.out_token_ids = token_ids_.data();
    generation.out_lengths = lengths_.data();
    generation.out_finish_reasons = reasons_.data();
    generation.out_stats = &stats;
    args.out_scores = scores_.data();
    if (!has_fork) interface_.fork = nullptr;
    model_->reset();
    model_->expect_whole_texts(generation.use_cache == 0);
    model_->allow_sequences(generation.first_sequence, generation.num_sequences * args.num_beams);
    const sampler_status status = sampler_beam_search(sampler, &args);
    if (status == SAMPLER_OK) {
      EXPECT_TRUE(model_->caches_are_empty());
      EXPECT_EQ(stats.target_forwards, model_->num_forwards());
    }
    return status;
  }

  // The results of text i, best first.
  std::vector<Beam> results(sampler_t sampler, std::size_t i = 0) {
    EXPECT_EQ(run(sampler), SAMPLER_OK) << sampler_last_error();
    return results_of_last(i);
  }

  std::vector<Beam> results_of_last(std::size_t i) const {
    std::vector<Beam> beams;
    const auto width = std::size_t(generation.max_new_tokens);
    for (std::size_t j = 0; j < std::size_t(args.num_results); ++j) {
      const std::size_t place = i * std::size_t(args.num_results) + j;
      const Tokens row(token_ids_.begin() + std::ptrdiff_t(place * width),
                       token_ids_.begin() + std::ptrdiff_t((place + 1) * width));
      const auto length = std::size_t(std::max<std::int64_t>(lengths_[place], 0));
      EXPECT_EQ(Tokens(row.begin() + std::ptrdiff_t(length), row.end()),
                Tokens(width - length, generation.pad_token_id));
      if (length == 0) {
        EXPECT_EQ(scores_[place], -kInf);
        EXPECT_EQ(reasons_[place], SAMPLER_FINISH_NONE);
        continue;
      }
      beams.push_back({Tokens(row.begin(), row.begin() + std::ptrdiff_t(length)), reasons_[place],
                       double(scores_[place]), 0});
    }
    return beams;
  }

  const std::vector<Tokens> &prompts() const { return prompts_; }
  const Model &model() const { return *model_; }
  bool is_end(std::int32_t token) const {
    return std::find(ends.begin(), ends.end(), token) != ends.end();
  }
  bool outputs_are_untouched() const {
    return std::count(token_ids_.begin(), token_ids_.end(), kUntouched) ==
               std::ptrdiff_t(token_ids_.size()) &&
           std::count(scores_.begin(), scores_.end(), 99.0f) == std::ptrdiff_t(scores_.size());
  }

  sampler_generation_stats stats = sized<sampler_generation_stats>();

 private:
  static constexpr std::int32_t kUntouched = -12345;

  Model *model_;
  sampler_model interface_;
  std::vector<Tokens> prompts_;
  Tokens ids_;
  std::vector<std::int64_t> offsets_;
  Tokens token_ids_;
  std::vector<std::int64_t> lengths_;
  std::vector<sampler_finish_reason> reasons_;
  std::vector<float> scores_;
};

// ---- What is expected ---------------------------------------------------------------------------

std::vector<double> log_probabilities(const Logits &row) {
  const float top = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (const float x : row) sum += std::exp(double(x) - double(top));
  std::vector<double> result;
  for (const float x : row) result.push_back(double(x) - double(top) - std::log(sum));
  return result;
}

Beam child(const BeamSearch &search, const Tokens &prompt, const Beam &parent, std::int32_t token,
           double log_probability) {
  Beam beam = parent;
  beam.tokens.push_back(token);
  beam.sum += log_probability;
  const auto length = double(beam.tokens.size());
  const double min_length = double(search.args.min_length);
  beam.score =
      beam.sum / std::pow((min_length + length) / (min_length + 1), double(search.args.alpha));
  if (search.is_end(token)) {
    beam.reason = SAMPLER_FINISH_END_TOKEN;
  } else if (std::int64_t(beam.tokens.size()) == search.generation.max_new_tokens) {
    beam.reason = SAMPLER_FINISH_LENGTH;
  } else if (std::int64_t(prompt.size() + beam.tokens.size()) ==
             search.model().limits().max_context) {
    beam.reason = SAMPLER_FINISH_CONTEXT;
  }
  return beam;
}

Logits row_behind(const BeamSearch &search, Tokens text, const Beam &beam) {
  text.insert(text.end(), beam.tokens.begin(), beam.tokens.end());
  return search.model().logits(text);
}

// The `count` likeliest that are possible at all, in rank order.
Tokens likeliest(const Logits &row, std::int64_t count) {
  Tokens order;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] > -kInf) order.push_back(std::int32_t(i));
  }
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return row[std::size_t(a)] > row[std::size_t(b)];
  });
  if (std::int64_t(order.size()) > count) order.resize(std::size_t(count));
  return order;
}

void sort_beams(std::vector<Beam> *beams) {
  std::stable_sort(beams->begin(), beams->end(),
                   [](const Beam &a, const Beam &b) { return a.score > b.score; });
}

// Where two candidates' scores are this close rounding may choose; such a case decides nothing.
bool has_close_scores(const std::vector<Beam> &sorted) {
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i - 1].score - sorted[i].score < 2 * kTolerance) return true;
  }
  return false;
}

// Every continuation, best first.
std::vector<Beam> all_continuations(const BeamSearch &search, const Tokens &prompt) {
  std::vector<Beam> open = {Beam()}, ended;
  while (!open.empty()) {
    const Beam beam = open.back();
    open.pop_back();
    const Logits row = row_behind(search, prompt, beam);
    const std::vector<double> logs = log_probabilities(row);
    for (const std::int32_t token : likeliest(row, std::int64_t(row.size()))) {
      const Beam next = child(search, prompt, beam, token, logs[std::size_t(token)]);
      (next.reason == SAMPLER_FINISH_NONE ? open : ended).push_back(next);
    }
  }
  sort_beams(&ended);
  return ended;
}

bool is_done(const BeamSearch &search, const std::vector<Beam> &beams) {
  const auto num_ended = std::count_if(beams.begin(), beams.end(), [](const Beam &beam) {
    return beam.reason != SAMPLER_FINISH_NONE;
  });
  return num_ended == std::ptrdiff_t(beams.size()) ||
         (search.args.early_stop && num_ended >= search.args.num_results);
}

// Step by step. *is_clear: no decision was closer than rounding.
std::vector<Beam> naive_search(const BeamSearch &search, const Tokens &prompt, bool *is_clear) {
  std::vector<Beam> beams = {Beam()};
  do {
    const std::int64_t tried = beams[0].tokens.empty()
                                   ? std::max(search.args.top_k, search.args.num_beams)
                                   : search.args.top_k;
    std::vector<Beam> candidates;
    for (const Beam &beam : beams) {
      if (beam.reason != SAMPLER_FINISH_NONE) {
        candidates.push_back(beam);
        continue;
      }
      const Logits row = row_behind(search, prompt, beam);
      const std::vector<double> logs = log_probabilities(row);
      for (const std::int32_t token : likeliest(row, tried)) {
        candidates.push_back(child(search, prompt, beam, token, logs[std::size_t(token)]));
      }
    }
    sort_beams(&candidates);
    if (has_close_scores(candidates)) *is_clear = false;
    if (std::int64_t(candidates.size()) > search.args.num_beams) {
      candidates.resize(std::size_t(search.args.num_beams));
    }
    beams = candidates;
  } while (!is_done(search, beams));
  // Those that have ended are the results.
  std::stable_partition(beams.begin(), beams.end(),
                        [](const Beam &beam) { return beam.reason != SAMPLER_FINISH_NONE; });
  return beams;
}

// The same with a pool, as Hugging Face's generate does it: all continuations are ranked by their
// sums; what ends among the first num_beams goes to the pool; the first num_beams of the others go
// on.
std::vector<Beam> naive_pool_search(const BeamSearch &search, const Tokens &prompt,
                                    bool *is_clear) {
  const auto num_beams = std::size_t(search.args.num_beams);
  const auto is_greater = [](const Beam &a, const Beam &b) { return a.sum > b.sum; };
  std::vector<Beam> beams = {Beam()}, pool;
  while (!beams.empty()) {
    std::vector<Beam> candidates;
    for (const Beam &beam : beams) {
      const Logits row = row_behind(search, prompt, beam);
      const std::vector<double> logs = log_probabilities(row);
      for (const std::int32_t token : likeliest(row, std::int64_t(row.size()))) {
        candidates.push_back(child(search, prompt, beam, token, logs[std::size_t(token)]));
      }
    }
    std::stable_sort(candidates.begin(), candidates.end(), is_greater);
    for (std::size_t i = 1; i < candidates.size(); ++i) {
      if (candidates[i - 1].sum - candidates[i].sum < 2 * kTolerance) *is_clear = false;
    }
    beams.clear();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (candidates[i].reason == SAMPLER_FINISH_NONE) {
        if (beams.size() < num_beams) beams.push_back(candidates[i]);
      } else if (i < num_beams) {
        pool.push_back(candidates[i]);
      }
    }
    sort_beams(&pool);
    if (has_close_scores(pool)) *is_clear = false;
    if (pool.size() > num_beams) pool.resize(num_beams);
    if (pool.size() < num_beams || beams.empty()) continue;
    if (std::fabs(beams[0].score - pool.back().score) < 2 * kTolerance) *is_clear = false;
    if (search.args.early_stop || beams[0].score <= pool.back().score) break;
  }
  return pool;
}

void expect_same(const std::vector<Beam> &actual, const std::vector<Beam> &expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    SCOPED_TRACE(testing::Message() << "result " << i);
    EXPECT_EQ(actual[i].tokens, expected[i].tokens);
    EXPECT_EQ(actual[i].reason, expected[i].reason);
    EXPECT_NEAR(actual[i].score, expected[i].score, kTolerance);
  }
}

// Logits that are hardly ever equal, in f32.
NextLogits generic_logits(std::uint64_t seed, std::int64_t vocabulary_size, bool with_impossible) {
  const NextLogits table = table_logits(seed, vocabulary_size, 0, with_impossible);
  return [=](const Tokens &text) {
    Logits row = table(text);
    Random random(seed + 1000 * text.size() + std::uint64_t(text.back()));
    for (float &x : row) x = x / 2 + float(random.between(0, 1 << 16)) / float(1 << 20);
    return row;
  };
}

Limits limits_of(std::int64_t vocabulary_size, std::int64_t max_sequences = 1100) {
  Limits limits;
  limits.vocabulary_size = vocabulary_size;
  limits.max_sequences = max_sequences;
  return limits;
}

// ---- Tests --------------------------------------------------------------------------------------

TEST(BeamSearch, OfAllContinuations) {
  const Sampler sampler = make_sampler();
  int num_compared = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seeded(seed));
    Calls calls;
    Limits limits = limits_of(random.between(2, 4));
    const std::int64_t max_new_tokens = limits.vocabulary_size == 2   ? 7
                                        : limits.vocabulary_size == 3 ? 5
                                                                      : 4;
    limits.max_context = random.one_in(3) ? max_new_tokens : 64;
    limits.max_span_tokens = random.one_in(3) ? 5 : 0;
    Model model(limits, generic_logits(seeded(seed), limits.vocabulary_size, random.one_in(2)),
                &calls);
    BeamSearch search(&model, {{0, 1}});
    search.generation.max_new_tokens = max_new_tokens;
    search.generation.use_cache = seed % 2;
    search.args.num_beams = 300;
    search.args.top_k = limits.vocabulary_size;
    search.args.num_results = random.one_in(2) ? 300 : random.between(1, 20);
    search.args.min_length = float(random.between(0, 6));
    search.args.alpha = random.one_in(2) ? 0.0f : float(random.between(1, 12)) / 5;
    for (std::int64_t i = random.between(0, 2); i > 0; --i) {
      search.ends.push_back(std::int32_t(random.between(0, limits.vocabulary_size - 1)));
    }
    std::vector<Beam> expected = all_continuations(search, search.prompts()[0]);
    ASSERT_LE(expected.size(), 300u);
    if (has_close_scores(expected)) {
      // The best one at least, and the scores.
      const std::vector<Beam> actual = search.results(sampler.get());
      for (std::size_t i = 0; i < actual.size(); ++i) {
        EXPECT_NEAR(actual[i].score, expected[i].score, kTolerance);
      }
      continue;
    }
    if (std::int64_t(expected.size()) > search.args.num_results) {
      expected.resize(std::size_t(search.args.num_results));
    }
    ++num_compared;
    expect_same(search.results(sampler.get()), expected);
  }
  EXPECT_GT(num_compared, 8);
}

// The likelier of two tokens, of probability 2/3 and 1/3, leads to a bad row: its beam ends, ranks
// below the one that goes on, and keeps its token.
TEST(BeamSearch, RowsWithoutATokenComeLast) {
  const Sampler sampler = make_sampler();
  Calls calls;
  const NextLogits rows = [](const Tokens &text) {
    if (text.back() == 0) return Logits{0, std::numeric_limits<float>::quiet_NaN()};
    return Logits{std::log(2.0f), 0};
  };
  Model model(limits_of(2), rows, &calls);
  BeamSearch search(&model, {{1}});
  search.generation.max_new_tokens = 3;
  search.args.num_beams = search.args.num_results = 2;
  search.args.top_k = 1;
  search.args.alpha = 0;
  const std::vector<Beam> results = search.results(sampler.get());
  ASSERT_EQ(results.size(), 2u);
  // The beam of [0] falls behind that of [1], which goes on to the next bad row.
  EXPECT_EQ(results[0].tokens, Tokens({1, 0}));
  EXPECT_EQ(results[1].tokens, Tokens({0}));
  for (const Beam &beam : results) {
    EXPECT_EQ(beam.reason, SAMPLER_FINISH_BAD_ROW);
    EXPECT_EQ(beam.score, -kInf);
  }
  search.args.top_k = 2;
  search.args.num_beams = 4;
  const std::vector<Beam> best = search.results(sampler.get());
  ASSERT_EQ(best.size(), 2u);
  EXPECT_EQ(best[0].tokens, Tokens({1, 1, 0}));
  EXPECT_EQ(best[0].reason, SAMPLER_FINISH_LENGTH);
  EXPECT_EQ(best[1].tokens, Tokens({1, 1, 1}));
}

TEST(BeamSearch, OfAFewBeams) {
  const Sampler sampler = make_sampler();
  int num_compared = 0;
  for (std::uint64_t seed = 0; seed < 300 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seeded(seed));
    Calls calls;
    Limits limits = limits_of(random.between(2, 12), 100);
    limits.max_span_tokens = random.one_in(3) ? random.between(1, 5) : 0;
    limits.max_context = random.one_in(3) ? random.between(8, 16) : 64;
    Model model(limits, generic_logits(seeded(seed), limits.vocabulary_size, random.one_in(3)),
                &calls);
    BeamSearch search(&model,
                      random_prompts(&random, random.between(1, 4), 7, limits.vocabulary_size));
    search.generation.max_new_tokens = random.between(1, 12);
    search.generation.first_sequence = random.between(0, 5);
    search.generation.use_cache = random.one_in(2);
    search.args.num_beams = random.between(1, 6);
    search.args.top_k = random.between(1, std::min<std::int64_t>(limits.vocabulary_size, 5));
    search.args.num_results = random.between(1, search.args.num_beams);
    search.args.min_length = float(random.between(0, 6));
    search.args.alpha = random.one_in(2) ? 0.0f : float(random.between(1, 12)) / 5;
    search.args.early_stop = random.one_in(3);
    for (std::int64_t i = random.between(0, 3); i > 0; --i) {
      search.ends.push_back(std::int32_t(random.between(0, limits.vocabulary_size - 1)));
    }
    search.has_fork = search.generation.use_cache != 0 || random.one_in(2);
    ASSERT_EQ(search.run(sampler.get()), SAMPLER_OK) << sampler_last_error();
    for (std::size_t i = 0; i < search.prompts().size(); ++i) {
      bool is_clear = true;
      std::vector<Beam> expected = naive_search(search, search.prompts()[i], &is_clear);
      if (!is_clear) continue;
      if (std::int64_t(expected.size()) > search.args.num_results) {
        expected.resize(std::size_t(search.args.num_results));
      }
      ++num_compared;
      expect_same(search.results_of_last(i), expected);
    }
  }
  EXPECT_GT(num_compared, 400);
}

TEST(BeamPool, OfAFewBeams) {
  const Sampler sampler = make_sampler();
  int num_compared = 0, num_early = 0;
  for (std::uint64_t seed = 0; seed < 300 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seeded(seed));
    Calls calls;
    Limits limits = limits_of(random.between(2, 12), 100);
    limits.max_span_tokens = random.one_in(3) ? random.between(1, 5) : 0;
    limits.max_context = random.one_in(3) ? random.between(8, 16) : 64;
    Model model(limits, generic_logits(seeded(seed), limits.vocabulary_size, random.one_in(3)),
                &calls);
    BeamSearch search(&model,
                      random_prompts(&random, random.between(1, 4), 7, limits.vocabulary_size));
    search.generation.max_new_tokens = random.between(1, 12);
    search.generation.first_sequence = random.between(0, 5);
    search.generation.use_cache = random.one_in(2);
    search.args.rule = SAMPLER_BEAMS_POOL;
    search.args.num_beams = random.between(1, 6);
    search.args.top_k = 1;  // not used
    search.args.num_results = random.between(1, search.args.num_beams);
    search.args.min_length = float(random.between(0, 6));
    search.args.alpha = random.one_in(2) ? 0.0f : float(random.between(1, 12)) / 5;
    search.args.early_stop = random.one_in(3);
    for (std::int64_t i = random.between(0, 3); i > 0; --i) {
      search.ends.push_back(std::int32_t(random.between(0, limits.vocabulary_size - 1)));
    }
    search.has_fork = search.generation.use_cache != 0 || random.one_in(2);
    ASSERT_EQ(search.run(sampler.get()), SAMPLER_OK) << sampler_last_error();
    num_early += search.stats.num_rounds < search.generation.max_new_tokens;
    for (std::size_t i = 0; i < search.prompts().size(); ++i) {
      bool is_clear = true;
      std::vector<Beam> expected = naive_pool_search(search, search.prompts()[i], &is_clear);
      if (!is_clear) continue;
      if (std::int64_t(expected.size()) > search.args.num_results) {
        expected.resize(std::size_t(search.args.num_results));
      }
      ++num_compared;
      expect_same(search.results_of_last(i), expected);
    }
  }
  EXPECT_GT(num_compared, 300);
  EXPECT_GT(num_early, 50);
}

// The likeliest token is the end token, always. With SHARED the beam [end] keeps one of two places;
// with a pool two beams go on.
TEST(BeamPool, KeepsSearchingBesideBeamsThatHaveEnded) {
  const Sampler sampler = make_sampler();
  Calls calls;
  Model model(limits_of(4), constant_logits(logits_of({0.4, 0.3, 0.2, 0.1})), &calls);
  BeamSearch search(&model, {{1}});
  search.ends = {0};
  search.generation.max_new_tokens = 2;
  search.args.num_beams = search.args.num_results = 2;
  search.args.alpha = search.args.min_length = 0;
  search.args.rule = SAMPLER_BEAMS_POOL;
  // Step 1 ranks [0] and [1]; [0] ends, [1] and [2] go on. All of step 2 end: [1 0] with 0.12.
  std::vector<Beam> results = search.results(sampler.get());
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].tokens, Tokens({0}));
  EXPECT_EQ(results[0].reason, SAMPLER_FINISH_END_TOKEN);
  EXPECT_EQ(results[1].tokens, Tokens({1, 0}));
  EXPECT_NEAR(results[1].score, std::log(0.12), kTolerance);
  // With alpha 1 a score is the mean of the logarithms: the longer one is less bad, but not enough.
  search.args.alpha = 1;
  results = search.results(sampler.get());
  EXPECT_NEAR(results[0].score, std::log(0.4), kTolerance);
  EXPECT_NEAR(results[1].score, std::log(0.12) / 2, kTolerance);
}

// The pool is full after step 2. Then [1 1] may still become better than [1 0], which early_stop
// does not wait for.
TEST(BeamPool, EarlyStopDoesNotWaitForBetterBeams) {
  const Sampler sampler = make_sampler();
  Calls calls;
  const NextLogits rows = [](const Tokens &text) {
    return logits_of(text.size() < 3 ? std::vector<double>{0.3, 0.6, 0.1}
                                     : std::vector<double>{0.98, 0.01, 0.01});
  };
  Model model(limits_of(3), rows, &calls);
  BeamSearch search(&model, {{1}});
  search.ends = {0};
  search.generation.max_new_tokens = 3;
  search.args.num_beams = search.args.num_results = 2;
  search.args.alpha = 1;
  search.args.min_length = 0;
  search.args.rule = SAMPLER_BEAMS_POOL;
  search.args.early_stop = 1;
  std::vector<Beam> results = search.results(sampler.get());
  EXPECT_EQ(search.stats.num_rounds, 2);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].tokens, Tokens({1, 0}));
  EXPECT_EQ(results[1].tokens, Tokens({0}));
  search.args.early_stop = 0;
  results = search.results(sampler.get());
  EXPECT_EQ(search.stats.num_rounds, 3);
  EXPECT_EQ(results[0].tokens, Tokens({1, 1, 0}));
  EXPECT_EQ(results[1].tokens, Tokens({1, 0}));
}

// [0], [1 0] and [2 0] all have 1/4. The pool keeps the two that came first.
TEST(BeamPool, OfEqualScoresTheFirstStays) {
  const Sampler sampler = make_sampler();
  Calls calls;
  const NextLogits rows = [](const Tokens &text) {
    return text.size() == 1 ? Logits{0, 0, 0, 0} : Logits{0, -kInf, -kInf, -kInf};
  };
  Model model(limits_of(4), rows, &calls);
  BeamSearch search(&model, {{3}});
  search.ends = {0};
  search.args.num_beams = search.args.num_results = 2;
  search.args.alpha = 0;
  search.args.rule = SAMPLER_BEAMS_POOL;
  const std::vector<Beam> results = search.results(sampler.get());
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].tokens, Tokens({0}));
  EXPECT_EQ(results[1].tokens, Tokens({1, 0}));
  EXPECT_EQ(results[0].score, results[1].score);
}

// Beams that go on and are no better than all of a full pool end a text without early_stop, too.
// The pool has [0] and [1 0], 0.6 and 0.18, after step 2; [1 1] has 0.09.
TEST(BeamPool, EndsWhereNoBeamIsBetter) {
  const Sampler sampler = make_sampler();
  Calls calls;
  Model model(limits_of(3), constant_logits(logits_of({0.6, 0.3, 0.1})), &calls);
  BeamSearch search(&model, {{1}});
  search.ends = {0};
  search.generation.max_new_tokens = 10;
  search.args.num_beams = search.args.num_results = 2;
  search.args.alpha = 0;
  search.args.rule = SAMPLER_BEAMS_POOL;
  const std::vector<Beam> results = search.results(sampler.get());
  EXPECT_EQ(search.stats.num_rounds, 2);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].tokens, Tokens({0}));
  EXPECT_EQ(results[1].tokens, Tokens({1, 0}));
}

// A bad row's beam is a result where there is no other, and the pool is not full with it.
TEST(BeamPool, RowsWithoutATokenComeLast) {
  const Sampler sampler = make_sampler();
  Calls calls;
  const NextLogits rows = [](const Tokens &text) {
    if (text.back() == 0) return Logits(3, std::numeric_limits<float>::quiet_NaN());
    return logits_of({0.5, 0.3, 0.2});
  };
  Model model(limits_of(3), rows, &calls);
  BeamSearch search(&model, {{1}, {0}});
  search.ends = {2};
  search.generation.max_new_tokens = 3;
  search.args.num_beams = search.args.num_results = 3;
  search.args.alpha = 0;
  search.args.early_stop = 1;
  search.args.rule = SAMPLER_BEAMS_POOL;
  const std::vector<Beam> results = search.results(sampler.get());
  // Step 1: [0] and [1] go on, [2] ends. Step 2: [0] has a bad row; of [1] 0 and 1 go on and
  // 2 ends, third of three. Step 3: [1 0] has a bad row, all of [1 1] end.
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0].tokens, Tokens({2}));
  EXPECT_EQ(results[1].tokens, Tokens({1, 2}));
  EXPECT_EQ(results[2].tokens, Tokens({1, 1, 0}));
  EXPECT_EQ(results[2].reason, SAMPLER_FINISH_LENGTH);
  search.generation.max_new_tokens = 2;
  search.args.num_beams = search.args.num_results = 6;
  const std::vector<Beam> more = search.results(sampler.get());
  ASSERT_EQ(more.size(), 5u);
  EXPECT_EQ(more[0].tokens, Tokens({2}));
  EXPECT_EQ(more[1].tokens, Tokens({1, 0}));
  EXPECT_EQ(more[4].tokens, Tokens({0}));
  EXPECT_EQ(more[4].reason, SAMPLER_FINISH_BAD_ROW);
  EXPECT_EQ(more[4].score, -kInf);
}

// One beam is greedy decoding, whatever is tried.
TEST(BeamSearch, OfOneBeamIsGreedy) {
  const Sampler sampler = make_sampler();
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Calls calls;
    Model model(limits_of(7), generic_logits(seeded(seed), 7, true), &calls);
    BeamSearch search(&model, {{0, 1}, {5}, {2, 2, 2}});
    search.args.num_beams = 1;
    search.args.top_k = 1 + std::int64_t(seed % 7);
    search.args.alpha = float(seed % 3);
    search.generation.use_cache = seed % 2;
    search.ends = {3};
    ASSERT_EQ(search.run(sampler.get()), SAMPLER_OK) << sampler_last_error();
    Generation greedy(&model, search.prompts());
    greedy.ends = {3};
    const auto &texts = greedy.texts_of(sampler.get(), autoregressive());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      ASSERT_EQ(search.results_of_last(i).size(), 1u);
      EXPECT_EQ(search.results_of_last(i)[0].tokens, texts[i].tokens);
      EXPECT_EQ(search.results_of_last(i)[0].reason, texts[i].reason);
    }
  }
}

TEST(BeamSearch, EqualScoresGoByParentAndId) {
  const Sampler sampler = make_sampler();
  Calls calls;
  Model model(limits_of(3), constant_logits({1.0f, 1.0f, 1.0f}), &calls);
  BeamSearch search(&model, {{0}});
  search.generation.max_new_tokens = 2;
  search.args.num_beams = search.args.num_results = 9;
  search.args.top_k = 3;
  const std::vector<Beam> results = search.results(sampler.get());
  ASSERT_EQ(results.size(), 9u);
  for (std::int32_t i = 0; i < 9; ++i) {
    EXPECT_EQ(results[std::size_t(i)].tokens, Tokens({i / 3, i % 3}));
    EXPECT_NEAR(results[std::size_t(i)].score, -2 * std::log(3.0) / std::pow(7.0 / 6, 1.2), 1e-5);
  }
}

TEST(BeamSearch, DoesNotDependOnNeighboursOrCaches) {
  const Sampler sampler = make_sampler();
  const Sampler threads = make_sampler(3);
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seeded(seed));
    Calls calls;
    Limits limits = limits_of(6, 100);
    limits.dtype = sampler_dtype(seed % 3);
    const NextLogits rows = table_logits(seeded(seed), 6, 0, seed % 2 == 0);  // with equal ones
    Model model(limits, rows, &calls);
    const std::vector<Tokens> prompts = random_prompts(&random, 7, 9, 6);
    BeamSearch together(&model, prompts);
    together.generation.use_cache = 1;
    together.args.num_results = 3;
    together.ends = {2, 4};
    together.args.early_stop = seed % 3 == 0;
    together.args.rule = seed % 4 < 2;
    ASSERT_EQ(together.run(sampler.get()), SAMPLER_OK) << sampler_last_error();
    const auto expect_equal = [&](const BeamSearch &other, std::size_t other_text,
                                  std::size_t text) {
      const auto a = other.results_of_last(other_text), b = together.results_of_last(text);
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t i = 0; i < a.size(); ++i) {
        EXPECT_EQ(a[i].tokens, b[i].tokens);
        EXPECT_EQ(a[i].reason, b[i].reason);
        EXPECT_EQ(a[i].score, b[i].score);
      }
    };
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      Limits split = limits;
      split.max_span_tokens = 1 + std::int64_t(i);
      Model other(split, rows, &calls);
      BeamSearch alone(&other, {prompts[i]});
      alone.generation.use_cache = seed % 2;
      alone.generation.first_sequence = std::int64_t(i);
      alone.args.num_results = 3;
      alone.ends = {2, 4};
      alone.args.early_stop = together.args.early_stop;
      alone.args.rule = together.args.rule;
      ASSERT_EQ(alone.run(i % 2 ? sampler.get() : threads.get()), SAMPLER_OK);
      expect_equal(alone, 0, i);
    }
  }
}

// ---- Edits --------------------------------------------------------------------------------------

constexpr std::int64_t kEditedVocabulary = 12;

// Edits of three texts.
struct Edits {
  explicit Edits(Random *random) {
    for (int i = 0; i < 3; ++i) {
      repetition.push_back(random->one_in(2) ? 1.0f : 1.5f);
      frequency.push_back(random->one_in(2) ? 0.0f : 0.75f);
      least.push_back(std::int32_t(random->between(0, 4)));
      banned.push_back(std::int32_t(random->between(0, 11)));
      biased.push_back(std::int32_t(random->between(0, 11)));
      biases.push_back(float(random->between(-16, 16)) / 8);
      masks.push_back(std::uint32_t(random->next()) | 0x700u);
    }
    stops = {0, 1};
    params.no_repeat_ngram_size = random->one_in(2) ? 2 : 0;
    params.presence_penalty = random->one_in(2) ? 0.5f : 0.0f;
    params.dry_multiplier = random->one_in(2) ? 0.5f : 0.0f;
    params.penalty_scope = sampler_penalty_scope(random->between(0, 2));
    row_params.repetition_penalty = repetition.data();
    row_params.frequency_penalty = frequency.data();
    row_params.min_new_tokens = least.data();
    pipeline.banned = {offsets, banned.data(), 3, 3};
    pipeline.biased = {offsets, biased.data(), 3, 3};
    pipeline.biases = biases.data();
    pipeline.stop = {stop_offsets, stops.data(), 1, 2};
    pipeline.token_bitmasks = masks.data();
    pipeline.num_token_bitmasks = 3;
  }

  const std::int64_t offsets[4] = {0, 1, 2, 3}, stop_offsets[2] = {0, 2};
  std::vector<float> repetition, frequency, biases;
  Tokens least, banned, biased, stops;
  std::vector<std::uint32_t> masks;
  sampler_params params = sampler_params_default();
  sampler_row_params row_params = sized<sampler_row_params>();
  sampler_pipeline pipeline = sized<sampler_pipeline>();
};

// The logits of a text as its edits leave them, by a call of its own. Its first token identifies
// the text, and its prompt has three tokens.
NextLogits edited_logits(sampler_t sampler, const NextLogits &logits, const Edits &edits) {
  return [=, &edits](const Tokens &text) {
    const Logits row = logits(text);
    Logits result(row.size());
    const auto slot = std::int32_t(text[0]);
    const std::int32_t mask = slot, prompt_lengths[3] = {3, 3, 3};
    const std::int64_t length = std::int64_t(text.size());
    const std::int64_t offsets[4] = {0, slot == 0 ? length : 0, slot <= 1 ? length : 0, length};
    sampler_pipeline pipeline = edits.pipeline;
    pipeline.history = {offsets, text.data(), 3, length};
    pipeline.prompt_lengths = prompt_lengths;
    pipeline.token_bitmask_indices = &mask;
    auto args = sized<sampler_filter_args>();
    args.input.values = row.data();
    args.input.num_rows = 1;
    args.input.num_cols = std::int64_t(row.size());
    args.slots = &slot;
    args.num_slots = 3;
    args.params = &edits.params;
    args.row_params = &edits.row_params;
    args.pipeline = &pipeline;
    args.output_kind = SAMPLER_OUTPUT_VALUES;
    args.output = result.data();
    sampler_row_status status = SAMPLER_ROW_OK;
    args.out_row_status = &status;
    std::size_t bytes = 0;
    EXPECT_EQ(sampler_filter_workspace_size(sampler, &args, &bytes), SAMPLER_OK);
    std::vector<char> workspace(bytes);
    args.exec = {nullptr, workspace.data(), bytes};
    EXPECT_EQ(sampler_filter(sampler, &args), SAMPLER_OK) << sampler_last_error();
    // A row of which the edits leave no token is written as it was given.
    if (status != SAMPLER_ROW_OK) std::fill(result.begin(), result.end(), -kInf);
    return result;
  };
}

// Beams with edits are those of a model whose logits are edited, bit for bit.
TEST(BeamSearch, EditsAreThoseOfEachBeamsText) {
  const Sampler sampler = make_sampler(), threads = make_sampler(3);
  int num_changed = 0, num_compared = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seeded(seed));
    const Edits edits(&random);
    Calls calls;
    Limits limits;
    limits.vocabulary_size = kEditedVocabulary;
    limits.max_sequences = 3 * 4;
    const NextLogits logits = table_logits(seeded(seed), kEditedVocabulary, 2);
    Model plain(limits, logits, &calls);
    Model edited(limits, edited_logits(sampler.get(), logits, edits), &calls);
    const std::vector<Tokens> prompts = {{0, 4, 2}, {1, 7, 7}, {2, 2, 2}};
    BeamSearch with(&plain, prompts), of_edited(&edited, prompts), without(&plain, prompts);
    const bool has_pool = random.one_in(2), uses_cache = random.one_in(2);
    for (BeamSearch *const search : {&with, &of_edited, &without}) {
      search->generation.max_new_tokens = 8;
      search->generation.use_cache = uses_cache;
      search->args.num_beams = search->args.num_results = 4;
      search->args.rule = has_pool ? SAMPLER_BEAMS_POOL : SAMPLER_BEAMS_SHARED;
      search->ends = {0, 1};
    }
    with.generation.params = &edits.params;
    with.generation.row_params = &edits.row_params;
    with.generation.pipeline = &edits.pipeline;
    ASSERT_EQ(with.run(random.one_in(2) ? sampler.get() : threads.get()), SAMPLER_OK)
        << sampler_last_error();
    ASSERT_EQ(of_edited.run(sampler.get()), SAMPLER_OK) << sampler_last_error();
    ASSERT_EQ(without.run(sampler.get()), SAMPLER_OK) << sampler_last_error();
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      const std::vector<Beam> beams = with.results_of_last(i),
                              expected = of_edited.results_of_last(i);
      ASSERT_EQ(beams.size(), expected.size());
      for (std::size_t j = 0; j < beams.size(); ++j) {
        EXPECT_EQ(beams[j].tokens, expected[j].tokens);
        EXPECT_EQ(beams[j].reason, expected[j].reason);
        EXPECT_EQ(beams[j].score, expected[j].score);
        ++num_compared;
      }
      const std::vector<Beam> others = without.results_of_last(i);
      num_changed += others.empty() || beams.empty() || others[0].tokens != beams[0].tokens;
    }
  }
  EXPECT_GE(num_compared, 500);
  EXPECT_GE(num_changed, 120);
}

TEST(BeamSearch, FailingCallbacksStop) {
  const Sampler sampler = make_sampler();
  std::int64_t num_failures = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    Calls calls;
    Limits limits = limits_of(5, 20);
    limits.max_span_tokens = seed % 3 == 0 ? 4 : 0;
    Model model(limits, generic_logits(seeded(seed), 5, false), &calls);
    BeamSearch search(&model, {{0, 1}, {4}});
    search.generation.use_cache = seed % 2;
    search.generation.max_new_tokens = 6;
    search.args.rule = seed % 4 < 2;
    search.ends = {3};
    ASSERT_EQ(search.run(sampler.get()), SAMPLER_OK) << sampler_last_error();
    const std::int64_t num_calls = calls.count();
    for (std::int64_t i = 0; i < num_calls && !HasFailure(); ++i, ++num_failures) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", call " << i);
      for (const auto failure : {Calls::Failure::kStatus, Calls::Failure::kException}) {
        calls.reset();
        calls.fail(i, -77, failure);
        const bool throws = failure == Calls::Failure::kException;
        EXPECT_EQ(search.run(sampler.get()), throws ? SAMPLER_ERROR_CALLBACK : -77);
        EXPECT_EQ(calls.count(), i + 1);
      }
    }
    calls.reset();
  }
  EXPECT_GT(num_failures, 100);
}

TEST(BeamSearch, APromptThatIsTheContext) {
  const Sampler sampler = make_sampler();
  Calls calls;
  Limits limits = limits_of(5, 20);
  limits.max_context = 3;
  Model model(limits, generic_logits(1, 5, false), &calls);
  BeamSearch search(&model, {{0, 1, 2}, {1}});
  for (const sampler_beam_rule rule : {SAMPLER_BEAMS_SHARED, SAMPLER_BEAMS_POOL}) {
    search.args.rule = rule;
    ASSERT_EQ(search.run(sampler.get()), SAMPLER_OK) << sampler_last_error();
    ASSERT_EQ(search.results_of_last(1).size(), 1u);
    EXPECT_EQ(search.results_of_last(1)[0].tokens.size(), 2u);
    EXPECT_EQ(search.results_of_last(1)[0].reason, SAMPLER_FINISH_CONTEXT);
  }
}

// A beam that no token can follow goes no further; the others do.
TEST(BeamSearch, BadRows) {
  const Sampler plain = make_sampler(), with_fallback = make_sampler_with_fallback(2);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), kInf, -kInf}) {
    for (const int use_cache : {0, 1}) {
      Calls calls;
      Model model(
          limits_of(3, 20),
          [=](const Tokens &text) {
            return text.back() == 1 ? Logits{bad, bad, bad} : logits_of({0.25, 0.35, 0.4});
          },
          &calls);
      BeamSearch search(&model, {{0}, {1}});
      search.generation.max_new_tokens = 4;
      search.generation.use_cache = use_cache;
      search.args.num_beams = search.args.num_results = 3;
      const sampler_t sampler = use_cache ? plain.get() : with_fallback.get();
      ASSERT_EQ(search.run(sampler), SAMPLER_OK) << sampler_last_error();
      const auto results = search.results_of_last(0);
      ASSERT_FALSE(results.empty());
      int num_whole = 0;
      for (const Beam &beam : results) num_whole += beam.reason == SAMPLER_FINISH_LENGTH;
      EXPECT_GT(num_whole, 0);
      for (const Beam &beam : results) {
        EXPECT_FALSE(std::isnan(beam.score));
        const auto end = beam.tokens.end() - 1;
        EXPECT_EQ(std::find(beam.tokens.begin(), end, 1), end) << "goes on behind a bad row";
      }
    }
  }
}

}  // namespace
}  // namespace decoding_test::beam_search_test
