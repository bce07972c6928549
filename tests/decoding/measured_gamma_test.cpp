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

// Thousandths of the target's forward over one token. A forward over n tokens costs
// first + (n - 1) more.
struct Costs {
  std::int64_t first;
  std::int64_t more;
  std::int64_t of(std::int64_t num_tokens) const { return first + (num_tokens - 1) * more; }
};

// How often, in percent, the drafter's likeliest token is the target's, by the length of the text.
using Agreement = std::function<int(std::size_t length)>;

class Simulation {
 public:
  Simulation(const Costs &target_costs, const Costs &drafter_costs, Agreement agreement,
             std::int64_t num_texts = 1)
      : target_(limits(), likeliest, &calls_),
        drafter_(
            limits(),
            [agreement = std::move(agreement)](const Tokens &text) {
              Logits logits = likeliest(text);
              std::uint64_t seed = text.size();
              for (const std::int32_t token : text) seed = seed * 31 + std::uint64_t(token);
              if (Random(seed).between(0, 99) >= agreement(text.size())) {
                std::rotate(logits.begin(), logits.begin() + 1, logits.end());
              }
              return logits;
            },
            &calls_),
        generation_(&target_, prompts(num_texts)) {
    generation_.args.max_new_tokens = kLength;
    generation_.args.use_cache = 1;
    move_clock(&target_, target_costs);
    move_clock(&drafter_, drafter_costs);
  }

  std::int64_t plain() { return time_of(autoregressive()); }

  std::int64_t with_gamma(std::int64_t gamma) {
    sampler_speculative_args args = sampler_speculative_args_default();
    args.gamma = gamma;
    return time_of(speculative(&drafter_, args));
  }

  std::int64_t with_best_gamma() {
    std::int64_t best = with_gamma(1);
    for (std::int64_t gamma = 2; gamma <= 8; ++gamma) best = std::min(best, with_gamma(gamma));
    return best;
  }

  std::int64_t measured() {
    sampler_speculative_args args = measured_args();
    args.clock = [](void *self) { return static_cast<Simulation *>(self)->time_; };
    args.clock_user = this;
    return time_of(speculative(&drafter_, args));
  }

  std::int64_t measured_by_the_systems_clock() {
    played_time = &time_;
    const std::int64_t time = time_of(speculative(&drafter_, measured_args()));
    played_time = nullptr;
    return time;
  }

  // Of the last run, when the first half of the first text was there.
  std::int64_t half_time() const { return half_time_; }
  const sampler_generation_stats &stats() const { return generation_.stats(); }

 private:
  static Limits limits() {
    Limits limits;
    limits.vocabulary_size = 16;
    limits.max_context = kLength + 64;
    return limits;
  }
  static sampler_speculative_args measured_args() {
    sampler_speculative_args args = sampler_speculative_args_default();
    args.gamma = 8;
    args.adaptive_gamma = SAMPLER_GAMMA_MEASURED;
    return args;
  }
  static std::vector<Tokens> prompts(std::int64_t num_texts) {
    std::vector<Tokens> prompts;
    for (std::int64_t i = 0; i < num_texts; ++i) prompts.push_back({std::int32_t(i), 3, 5});
    return prompts;
  }

  // The likeliest token differs from text to text, so that none repeats itself.
  static Logits likeliest(const Tokens &text) {
    std::uint64_t seed = 7;
    for (std::size_t i = 0; i < text.size(); ++i) seed = seed * 33 + std::uint64_t(text[i]);
    Logits logits(16, 0.0f);
    logits[std::size_t(Random(seed).between(0, 15))] = 1;
    return logits;
  }

  void move_clock(Model *model, const Costs &costs) {
    model->on_forward([this, model, costs](const sampler_forward_args &args) {
      time_ += costs.of(args.token_offsets[args.num_spans]);
      if (model == &target_ && half_time_ == 0 && args.starts[0] >= kLength / 2) {
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

  Calls calls_;
  std::int64_t time_ = 0, half_time_ = 0;
  Model target_, drafter_;
  Generation generation_;
  std::vector<Text> expected_;
};

Agreement always(int percent) {
  return [percent](std::size_t) { return percent; };
}

Agreement first_then(int first, int then) {
  return [=](std::size_t length) { return length < kLength / 2 ? first : then; };
}

const Costs kFlat = {1000, 50};     // bound by reading weights
const Costs kSteep = {1000, 1000};  // each token costs as much
const Costs kDrafter = {60, 6};

TEST(MeasuredGamma, LosesAtMostATwentiethWhereDraftsDoNotPay) {
  for (const std::int64_t num_texts : {1, 4}) {
    for (const int percent : {0, 30, 60, 90}) {
      for (const Costs &drafter : {kDrafter, Costs{300, 20}}) {
        Simulation simulation(kSteep, drafter, always(percent), num_texts);
        const std::int64_t plain = simulation.plain();
        EXPECT_LE(double(simulation.measured()), 1.05 * double(plain))
            << num_texts << " texts, " << percent << " %, " << drafter.first;
        EXPECT_GT(simulation.stats().num_drafted, 0);
      }
    }
    Simulation simulation(kFlat, {300, 20}, always(5), num_texts);
    const std::int64_t plain = simulation.plain();
    EXPECT_LE(double(simulation.measured()), 1.05 * double(plain)) << num_texts << " texts";
  }
}

TEST(MeasuredGamma, IsAboutAsFastAsTheBestNumberWhereDraftsPay) {
  for (const std::int64_t num_texts : {1, 4}) {
    for (const int percent : {50, 70, 90}) {
      Simulation simulation(kFlat, kDrafter, always(percent), num_texts);
      const std::int64_t plain = simulation.plain();
      const std::int64_t best = simulation.with_best_gamma();
      ASSERT_LT(double(best), 0.9 * double(plain));
      EXPECT_LE(double(simulation.measured()), 1.06 * double(best))
          << num_texts << " texts, " << percent << " %";
    }
  }
}

TEST(MeasuredGamma, FollowsAcceptanceBothWays) {
  for (const std::int64_t num_texts : {1, 3}) {
    Simulation rising(kFlat, {300, 6}, first_then(5, 90), num_texts);
    const std::int64_t plain = rising.plain(), plain_half = rising.half_time();
    const std::int64_t best = rising.with_gamma(4), best_half = best - rising.half_time();
    ASSERT_LT(double(best_half), 0.7 * double(plain - plain_half));
    const std::int64_t measured = rising.measured();
    EXPECT_LE(double(rising.half_time()), 1.05 * double(plain_half)) << num_texts << " texts";
    EXPECT_LE(double(measured - rising.half_time()), 1.25 * double(best_half))
        << num_texts << " texts";

    Simulation falling(kFlat, {300, 6}, first_then(90, 5), num_texts);
    const std::int64_t second = falling.plain() - falling.half_time();
    const std::int64_t all = falling.measured();
    EXPECT_LE(double(falling.half_time()), 0.8 * double(plain_half)) << num_texts << " texts";
    EXPECT_LE(double(all - falling.half_time()), 1.12 * double(second)) << num_texts << " texts";
  }
}

// Steps of milliseconds, so that it counts whole seconds, too.
TEST(MeasuredGamma, GoesByTheSystemsClockWhereItIsGivenNone) {
  constexpr std::int64_t kStep = 1000000;
  Simulation simulation({kStep, kStep / 20}, {kStep * 3 / 50, kStep * 3 / 500}, always(70));
  const std::int64_t plain = simulation.plain();
  const std::int64_t by_own = simulation.measured();
  EXPECT_LT(double(by_own), 0.9 * double(plain));
  EXPECT_EQ(simulation.measured_by_the_systems_clock(), by_own);
}

}  // namespace
}  // namespace decoding_test
