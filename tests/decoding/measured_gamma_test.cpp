// SAMPLER_GAMMA_MEASURED on a clock that the models move: what it loses where drafts do not pay,
// and what it gains where they do.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "generation.h"
#include "scenario.h"

namespace {

// In nanoseconds; null: the system's.
const std::int64_t *played_time = nullptr;

}  // namespace

// In place of the C library's.
extern "C" int clock_gettime(clockid_t clock, timespec *out) noexcept {
  if (!played_time || clock != CLOCK_MONOTONIC) {
    return int(syscall(SYS_clock_gettime, clock, out));
  }
  out->tv_sec = *played_time / 1000000000;
  out->tv_nsec = *played_time % 1000000000;
  return 0;
}

namespace decoding_test {
namespace {

constexpr std::int64_t kLength = 2000;

// Thousandths of the target's forward over one token.
struct Step {
  std::int64_t num_tokens;
  std::int64_t length;  // of the first text's cache
  std::int64_t number;  // of the model's forwards in this run
};
using Cost = std::function<std::int64_t(const Step &step)>;

Cost linear(std::int64_t first, std::int64_t more) {
  return [=](const Step &step) { return first + (step.num_tokens - 1) * more; };
}

// The same for each `width` tokens.
Cost stairs(std::int64_t first, std::int64_t width, std::int64_t more) {
  return [=](const Step &step) { return first + (step.num_tokens - 1) / width * more; };
}

Cost first_half(const Cost &cost, const Cost &then) {
  return [=](const Step &step) { return step.length < kLength / 2 ? cost(step) : then(step); };
}

// One of every `gap` steps takes 40 times as long.
Cost with_accidents(const Cost &cost, std::int64_t gap) {
  return
      [=](const Step &step) { return step.number % gap == gap / 2 ? 40 * cost(step) : cost(step); };
}

// How often, in percent, the drafter's likeliest token is the target's, by the length of the text.
using Agreement = std::function<int(std::size_t length)>;

struct Conditions {
  Cost target, drafter;
  Agreement agreement;
  std::int64_t num_texts = 1;
  bool tells = false;  // the drafter doubts where it does not agree
  // In place of the drafter n-grams, which take so long for each draft, and know what they say.
  std::int64_t search = 0;
};

class Simulation {
 public:
  explicit Simulation(const Conditions &conditions)
      : conditions_(conditions),
        target_(limits(), likeliest, &calls_),
        drafter_(
            limits(),
            [this](const Tokens &text) {
              Logits logits = likeliest(text);
              const bool agrees = agrees_on(text);
              if (!agrees) std::rotate(logits.begin(), logits.begin() + 1, logits.end());
              if (agrees && conditions_.tells) {
                for (float &logit : logits) logit *= 20;
              }
              return logits;
            },
            &calls_),
        ngram_(
            [this](const Tokens &context) {
              time_ += conditions_.search;
              const Logits logits = likeliest(context);
              const auto best = std::max_element(logits.begin(), logits.end());
              return ScriptedNgram::Next{std::int32_t(best - logits.begin()), agrees_on(context)};
            },
            &calls_),
        generation_(&target_, prompts(conditions.num_texts)) {
    args = SpeculativeArgs();
    args.stop_if_unknown = conditions.search > 0;
    args.filler_top_k = 0;
    generation_.args.max_new_tokens = kLength;
    generation_.args.use_cache = 1;
    move_clock(&target_, conditions_.target);
    move_clock(&drafter_, conditions_.drafter);
  }

  SpeculativeArgs args;  // gamma apart

  std::int64_t plain() { return time_of(autoregressive()); }

  std::int64_t with_gamma(std::int64_t gamma) {
    args.adaptive_gamma = SAMPLER_GAMMA_FIXED;
    args.gamma = gamma;
    return time_of(loop());
  }

  std::int64_t with_best_gamma() {
    std::int64_t best = with_gamma(1);
    for (const std::int64_t gamma : {2, 3, 4, 6, 8}) best = std::min(best, with_gamma(gamma));
    return best;
  }

  std::int64_t measured() {
    args.adaptive_gamma = SAMPLER_GAMMA_MEASURED;
    args.gamma = 8;
    args.clock = [](void *self) { return static_cast<Simulation *>(self)->time_; };
    args.clock_user = this;
    return time_of(loop());
  }

  std::int64_t measured_by_the_systems_clock() {
    args.adaptive_gamma = SAMPLER_GAMMA_MEASURED;
    args.gamma = 8;
    args.clock = nullptr;
    played_time = &time_;
    const std::int64_t time = time_of(loop());
    played_time = nullptr;
    return time;
  }

  // What a measured number of drafts may take: of plain decoding a thirty-second more, and, for the
  // beginning, two rounds without drafts, the drafter's reading of the prompts, and what two rounds
  // of a draft take.
  std::int64_t bound() {
    const std::int64_t num_texts = conditions_.num_texts, whole = plain();
    const std::int64_t reading = conditions_.search + conditions_.drafter({3 * num_texts, 0, 1});
    const std::int64_t round = conditions_.search + conditions_.drafter({num_texts, kLength, 1}) +
                               conditions_.target({2 * num_texts, kLength, 1});
    return whole + whole * 35 / 1000 + 2 * conditions_.target({num_texts, kLength, 1}) + reading +
           2 * round;
  }

  // The last run's; half_time() is when the first half of the first text was there.
  std::int64_t half_time() const { return half_time_; }
  const sampler_generation_stats &stats() const { return generation_.stats(); }

 private:
  static Limits limits() {
    Limits limits;
    limits.vocabulary_size = 16;
    limits.max_context = kLength + 64;
    return limits;
  }
  static std::vector<Tokens> prompts(std::int64_t num_texts) {
    std::vector<Tokens> prompts;
    for (std::int64_t i = 0; i < num_texts; ++i) prompts.push_back({std::int32_t(i), 3, 5});
    return prompts;
  }

  // By the length and the last tokens.
  static Random numbers_of(const Tokens &text, std::uint64_t seed) {
    seed += text.size();
    for (std::size_t i = text.size() - std::min<std::size_t>(text.size(), 8); i < text.size();
         ++i) {
      seed = seed * 33 + std::uint64_t(text[i]);
    }
    return Random(seed);
  }
  static Logits likeliest(const Tokens &text) {
    Logits logits(16, 0.0f);
    logits[std::size_t(numbers_of(text, 7).between(0, 15))] = 1;
    return logits;
  }
  bool agrees_on(const Tokens &text) const {
    return numbers_of(text, 1000000).between(0, 99) < conditions_.agreement(text.size());
  }

  Loop loop() {
    return conditions_.search > 0 ? speculative(ngram_.interface(), args)
                                  : speculative(&drafter_, args);
  }

  void move_clock(Model *model, const Cost &cost) {
    model->on_forward([this, model, cost](const sampler_forward_args &forward) {
      time_ += cost(
          {forward.token_offsets[forward.num_spans], forward.starts[0], model->num_forwards()});
      if (model == &target_ && half_time_ == 0 && forward.starts[0] >= kLength / 2) {
        half_time_ = time_;
      }
    });
  }

  std::int64_t time_of(const Loop &loop) {
    time_ = half_time_ = 0;
    target_.reset();
    drafter_.reset();
    const Sampler sampler = make_sampler();
    const std::vector<Text> texts = without_counts(generation_.texts_of(sampler.get(), loop));
    if (expected_.empty()) expected_ = texts;
    EXPECT_EQ(texts, expected_);  // greedy
    return time_;
  }

  const Conditions conditions_;
  Calls calls_;
  std::int64_t time_ = 0, half_time_ = 0;
  Model target_, drafter_;
  ScriptedNgram ngram_;
  Generation generation_;
  std::vector<Text> expected_;
};

Agreement always(int percent) {
  return [percent](std::size_t) { return percent; };
}

Agreement first_then(int first, int then) {
  return [=](std::size_t length) { return length < kLength / 2 ? first : then; };
}

Agreement by_turns(std::size_t length_of_turn, int first, int then) {
  return [=](std::size_t length) { return length / length_of_turn % 2 == 0 ? first : then; };
}

const Cost kFlat = linear(1000, 50);     // bound by reading weights
const Cost kSteep = linear(1000, 1000);  // each token costs as much
const Cost kDrafter = linear(60, 6);

// What it takes over what it may take: at most 1.
double loss(const Conditions &conditions, double least_draft_probability = 0) {
  Simulation simulation(conditions);
  simulation.args.least_draft_probability = float(least_draft_probability);
  const std::int64_t bound = simulation.bound();
  const std::int64_t measured = simulation.measured();
  return double(measured) / double(bound);
}

// And over the best number of drafts.
double share_of_best(const Conditions &conditions, double least_draft_probability = 0) {
  Simulation simulation(conditions);
  simulation.args.least_draft_probability = float(least_draft_probability);
  const std::int64_t plain = simulation.plain(), best = simulation.with_best_gamma();
  EXPECT_LT(double(best), 0.9 * double(plain));
  return double(simulation.measured()) / double(best);
}

TEST(MeasuredGamma, LosesNoMoreThanItMayWhereDraftsDoNotPay) {
  for (const std::int64_t num_texts : {1, 4}) {
    for (const int percent : {0, 30, 60, 90}) {
      for (const Cost &drafter : {kDrafter, linear(300, 20)}) {
        EXPECT_LE(loss({kSteep, drafter, always(percent), num_texts}), 1)
            << num_texts << " texts, " << percent << " %, " << drafter({1, 0, 0});
      }
    }
    for (const int percent : {0, 5}) {
      EXPECT_LE(loss({kFlat, kDrafter, always(percent), num_texts}), 1);
      EXPECT_LE(loss({kFlat, linear(300, 20), always(percent), num_texts}), 1);
    }
  }
}

TEST(MeasuredGamma, LosesNoMoreThanItMayByADrafterThatIsDearerThanTheTarget) {
  for (const std::int64_t num_texts : {1, 4}) {
    for (const std::int64_t cost : {1500, 10000, 100000}) {
      for (const int percent : {0, 100}) {
        EXPECT_LE(loss({kFlat, linear(cost, 0), always(percent), num_texts}), 1)
            << num_texts << " texts, " << cost << ", " << percent << " %";
      }
    }
  }
}

TEST(MeasuredGamma, LosesNoMoreThanItMayWhereFurtherTokensCostSteps) {
  for (const std::int64_t num_texts : {1, 4}) {
    // The second token costs more than one alone.
    for (const std::int64_t step : {2000, 5000, 20000}) {
      const Cost target = [=](const Step &own) {
        return own.num_tokens > num_texts ? 1000 + step : 1000;
      };
      EXPECT_LE(loss({target, kDrafter, always(30), num_texts}), 1) << num_texts << ", " << step;
    }
    for (const std::int64_t width : {2, 4}) {
      EXPECT_LE(loss({stairs(1000, width, 4000), kDrafter, always(20), num_texts}), 1)
          << num_texts << " texts, " << width;
    }
  }
}

TEST(MeasuredGamma, LosesNoMoreThanItMayWhereThingsChange) {
  for (const std::int64_t num_texts : {1, 3}) {
    for (const std::size_t length : {10, 30, 100, 300}) {
      EXPECT_LE(loss({kSteep, kDrafter, by_turns(length, 90, 0), num_texts}), 1) << length;
      EXPECT_LE(loss({kFlat, linear(700, 20), by_turns(length, 90, 0), num_texts}), 1) << length;
    }
    const Cost dearer = first_half(linear(400, 10), linear(3000, 10));
    EXPECT_LE(loss({kFlat, dearer, always(50), num_texts}), 1);
    const Cost longer = [](const Step &step) {  // attention
      return 1000 + step.length * step.num_tokens;
    };
    EXPECT_LE(loss({longer, linear(300, 10), always(30), num_texts}), 1);
    EXPECT_LE(loss({with_accidents(kFlat, 97), with_accidents(linear(300, 10), 89), always(5),
                    num_texts}),
              1);
  }
}

TEST(MeasuredGamma, LosesNoMoreThanItMayBesideOtherLimitsOfDrafts) {
  for (const std::int64_t num_texts : {1, 4}) {
    for (const int percent : {0, 30, 60}) {
      EXPECT_LE(loss({kSteep, kDrafter, always(percent), num_texts, true}, 0.5), 1);
    }
    EXPECT_LE(loss({kFlat, linear(900, 20), always(50), num_texts, true}, 0.5), 1);
    // N-grams that search long and find little.
    for (const int percent : {2, 20}) {
      EXPECT_LE(loss({kFlat, kDrafter, always(percent), num_texts, false, 500}), 1) << percent;
    }
  }
}

// Costs of any kind, which may change in the middle, and agreement that may come and go.
Conditions random_conditions(std::uint64_t seed) {
  Random random(seed);
  const auto cost_of_target = [&]() -> Cost {
    const std::int64_t more = std::int64_t{1} << random.between(2, 11);
    return random.one_in(2) ? linear(1000, more) : stairs(1000, random.between(1, 6), 2 * more);
  };
  const auto cost_of_drafter = [&] {
    const std::int64_t first = std::int64_t{1} << random.between(2, 12);
    return linear(first, first >> random.between(0, 6));
  };
  Conditions conditions;
  conditions.target = cost_of_target();
  conditions.drafter = cost_of_drafter();
  if (random.one_in(4)) conditions.drafter = first_half(conditions.drafter, cost_of_drafter());
  const auto percent = [&] { return int(random.between(0, 10) * random.between(0, 10)); };
  const int first = percent(), then = percent();
  conditions.agreement =
      random.one_in(2) ? always(first) : by_turns(std::size_t(random.between(4, 400)), first, then);
  conditions.num_texts = random.between(1, 3);
  conditions.tells = random.one_in(3);
  if (random.one_in(4)) conditions.search = std::int64_t{1} << random.between(0, 10);
  return conditions;
}

TEST(MeasuredGamma, LosesNoMoreThanItMayWhateverTheConditions) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Conditions conditions = random_conditions(seed);
    const bool stops = conditions.tells && conditions.search == 0;
    EXPECT_LE(loss(conditions, stops ? 0.5 : 0), 1) << seed;
  }
}

TEST(MeasuredGamma, IsAboutAsFastAsTheBestNumberWhereDraftsPay) {
  for (const std::int64_t num_texts : {1, 4}) {
    for (const int percent : {50, 70, 90, 97}) {
      EXPECT_LE(share_of_best({kFlat, kDrafter, always(percent), num_texts}), 1.06)
          << num_texts << " texts, " << percent << " %";
    }
    EXPECT_LE(share_of_best({kFlat, kDrafter, always(60), num_texts, true}, 0.5), 1.06);
    EXPECT_LE(share_of_best({kFlat, kDrafter, always(40), num_texts, false, 10}), 1.06);
  }
}

TEST(MeasuredGamma, FindsTheBestNumberOnStairs) {
  // One text's tokens cost the same by fours; the second costs as much as the first, others little.
  EXPECT_LE(share_of_best({stairs(1000, 4, 600), kDrafter, always(80)}), 1.06);
  EXPECT_LE(share_of_best({stairs(1000, 3, 500), kDrafter, always(90)}), 1.06);
  const Cost jump = [](const Step &step) {
    return step.num_tokens == 1 ? 1000 : 1900 + step.num_tokens * 10;
  };
  EXPECT_LE(share_of_best({jump, kDrafter, always(90)}), 1.1);
}

TEST(MeasuredGamma, IsHardlySlowedByAccidents) {
  const Conditions conditions = {with_accidents(kFlat, 211), with_accidents(kDrafter, 199),
                                 always(80)};
  EXPECT_LE(share_of_best(conditions), 1.1);
}

TEST(MeasuredGamma, FollowsAcceptanceBothWays) {
  for (const std::int64_t num_texts : {1, 3}) {
    Simulation rising({kFlat, linear(300, 6), first_then(5, 90), num_texts});
    const std::int64_t plain = rising.plain(), plain_half = rising.half_time();
    const std::int64_t best = rising.with_gamma(4), best_half = best - rising.half_time();
    ASSERT_LT(double(best_half), 0.7 * double(plain - plain_half));
    const std::int64_t measured = rising.measured();
    EXPECT_LE(double(rising.half_time()), 1.05 * double(plain_half)) << num_texts << " texts";
    EXPECT_LE(double(measured - rising.half_time()), 1.25 * double(best_half))
        << num_texts << " texts";

    Simulation falling({kFlat, linear(300, 6), first_then(90, 5), num_texts});
    const std::int64_t second = falling.plain() - falling.half_time();
    const std::int64_t all = falling.measured();
    EXPECT_LE(double(falling.half_time()), 0.8 * double(plain_half)) << num_texts << " texts";
    EXPECT_LE(double(all - falling.half_time()), 1.12 * double(second)) << num_texts << " texts";
  }
}

// Steps of milliseconds, so that it counts whole seconds, too.
TEST(MeasuredGamma, GoesByTheSystemsClockWhereItIsGivenNone) {
  constexpr std::int64_t kStep = 1000000;
  Simulation simulation(
      {linear(kStep, kStep / 20), linear(kStep * 3 / 50, kStep * 3 / 500), always(70)});
  const std::int64_t plain = simulation.plain();
  const std::int64_t by_own = simulation.measured();
  EXPECT_LT(double(by_own), 0.9 * double(plain));
  EXPECT_EQ(simulation.measured_by_the_systems_clock(), by_own);
}

}  // namespace
}  // namespace decoding_test
