// Edits of single logits: what section 14.1 of the contract makes of one, against the oracle.
#include "contract/edits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <vector>

#include "edits_oracle.h"
#include "support.h"

namespace sampler::contract::edits_test {
namespace {

using test::Failures;
using test::kInfinity;
using test::kNaN;
using test::kSmallestSubnormal;
using test::next_down;
using test::next_up;
using test::Random;

constexpr int kNumRandom = 100000;

// The same bits, or both a NaN.
bool equal(float a, float b) {
  return bits_of(a) == bits_of(b) || (is_nan(a) && is_nan(b));
}

// Most are ordinary, some at the ends of f32.
float any_logit(Random &random) {
  const float ends[] = {0.0f,
                        -0.0f,
                        -kInfinity,
                        kLargestFloat,
                        -kLargestFloat,
                        kSmallestSubnormal,
                        -kSmallestSubnormal,
                        0x1p-126f,
                        1.0f,
                        -1.0f};
  switch (random.between(0, 7)) {
    case 0:
      return ends[random.between(0, 9)];
    case 1:
      return random.float_of_exponent(random.between(0, 254));
    default:
      return random.float_of_exponent(random.between(120, 132));
  }
}

float any_finite(Random &random) {
  return random.float_of_exponent(random.between(0, 3) == 0 ? random.between(0, 254)
                                                            : random.between(118, 134));
}

int32_t any_count(Random &random) {
  return random.between(0, 2) == 0 ? int32_t(random.bits32() >> random.between(1, 31))
                                   : random.between(0, 9);
}

TEST(Bias, IsAddedOneAfterTheOther) {
  Random random(1);
  Failures failures;
  for (int i = 0; i < kNumRandom; ++i) {
    const float x = any_logit(random);
    std::vector<float> biases(size_t(random.between(0, 3)));
    for (float &bias : biases) {
      bias = random.between(0, 9) == 0 ? -kInfinity : any_finite(random);
    }
    float result = x;
    for (const float bias : biases) result = add_bias(result, bias);
    failures.expect(equal(result, oracle::with_biases(x, biases)), bits_of(x));
  }
  EXPECT_TRUE(failures.none());
  // The order counts: the first sum loses the 1.
  EXPECT_EQ(add_bias(add_bias(1.0f, 0x1p30f), -0x1p30f), 0.0f);
  EXPECT_EQ(add_bias(add_bias(0x1p30f, -0x1p30f), 1.0f), 1.0f);
}

TEST(Bias, MayBeFiniteOrMinusInfinity) {
  for (const float bias : {0.0f, -kInfinity, kLargestFloat, -kLargestFloat}) {
    EXPECT_TRUE(is_valid_bias(bias)) << bias;
  }
  for (const float bias : {kInfinity, kNaN, -kNaN}) EXPECT_FALSE(is_valid_bias(bias)) << bias;
}

TEST(Edits, LeaveMinusInfinityAlone) {
  for (const float y : {0.0f, 5.0f, kInfinity, kNaN, -kInfinity}) {
    EXPECT_EQ(add_bias(-kInfinity, y), -kInfinity);
    EXPECT_EQ(edited(-kInfinity, y), -kInfinity);
  }
  for (const PenaltyForm form :
       {PenaltyForm::kDivide, PenaltyForm::kReciprocal, PenaltyForm::kCountsFirst}) {
    EXPECT_EQ(penalize(-kInfinity, 1, INT_MAX, {kSmallestSubnormal, -kLargestFloat, 1, form}),
              -kInfinity);
  }
  EXPECT_EQ(penalize_repeat(-kInfinity, {1.0f, 2.0f, 2}, 9), -kInfinity);
  EXPECT_EQ(ban(-kInfinity, false), -kInfinity);
  EXPECT_EQ(ban(3.0f, true), -kInfinity);
  EXPECT_EQ(ban(kNaN, true), -kInfinity);
  EXPECT_EQ(ban(3.0f, false), 3.0f);
}

TEST(Edits, OfNoNumberAreInvalid) {
  for (const float x : {kInfinity, kNaN}) EXPECT_TRUE(is_invalid_logit(x)) << x;
  for (const float x : {-kInfinity, -kLargestFloat, 0.0f, kLargestFloat}) {
    EXPECT_FALSE(is_invalid_logit(x)) << x;
  }
  EXPECT_TRUE(is_invalid_logit(add_bias(1.0f, kNaN)));
  EXPECT_TRUE(is_invalid_logit(add_bias(1.0f, kInfinity)));
  // Later edits do not make good what is invalid.
  for (const float x : {kInfinity, kNaN}) {
    EXPECT_TRUE(is_invalid_logit(add_bias(x, -1.0f)));
    EXPECT_TRUE(is_invalid_logit(penalize(x, 1, 1, {2.0f, 1.0f, 1.0f, PenaltyForm::kDivide})));
    EXPECT_TRUE(is_invalid_logit(penalize_repeat(x, {1.0f, 2.0f, 2}, 9)));
  }
}

TEST(Edits, ThatAreFiniteLeaveFiniteLogits) {
  EXPECT_EQ(add_bias(kLargestFloat, kLargestFloat), kLargestFloat);
  EXPECT_EQ(add_bias(-kLargestFloat, -kLargestFloat), -kLargestFloat);
  EXPECT_EQ(add_bias(kLargestFloat, -kInfinity), -kInfinity);
  Random random(9);
  Failures failures;
  for (int i = 0; i < kNumRandom; ++i) {
    const float x = any_finite(random);
    const auto expect_finite = [&](float y) { failures.expect(is_finite(y), bits_of(x)); };
    // The largest exponents, so that most overflow.
    const auto huge = [&] { return random.float_of_exponent(random.between(250, 254)); };
    expect_finite(add_bias(x, huge()));
    expect_finite(penalize_repeat(x, {std::fabs(huge()), 4.0f, 0}, random.between(0, 99)));
    for (const PenaltyForm form :
         {PenaltyForm::kDivide, PenaltyForm::kReciprocal, PenaltyForm::kCountsFirst}) {
      expect_finite(
          penalize(x, 1, random.between(1, 9), {std::fabs(huge()), huge(), huge(), form}));
      expect_finite(penalize(x, 1, 0, {kSmallestSubnormal, 0.0f, 0.0f, form}));
    }
  }
  EXPECT_TRUE(failures.none());
}

constexpr struct {
  PenaltyForm form;
  oracle::Form oracle_form;
} kForms[] = {{PenaltyForm::kDivide, oracle::Form::kDivide},
              {PenaltyForm::kReciprocal, oracle::Form::kReciprocal},
              {PenaltyForm::kCountsFirst, oracle::Form::kCountsFirst}};

TEST(Penalties, OfRandomLogits) {
  Random random(2);
  Failures failures;
  for (int i = 0; i < kNumRandom; ++i) {
    const float x = any_logit(random);
    const int32_t repetition_count = any_count(random), count = any_count(random);
    const float repetition = random.between(0, 9) == 0 ? 0.0f : std::fabs(any_finite(random));
    const float frequency = random.between(0, 4) == 0 ? 0.0f : any_finite(random);
    const float presence = random.between(0, 4) == 0 ? 0.0f : any_finite(random);
    for (const auto &form : kForms) {
      const float result =
          penalize(x, repetition_count, count, {repetition, frequency, presence, form.form});
      const float expected = oracle::with_penalties(x, repetition_count, count, repetition,
                                                    frequency, presence, form.oracle_form);
      failures.expect(equal(result, expected), bits_of(x));
    }
  }
  EXPECT_TRUE(failures.none());
}

TEST(Penalties, OfWorkedExamples) {
  const Penalties divide = {3.0f, 0.0f, 0.0f, PenaltyForm::kDivide};
  EXPECT_EQ(penalize(5.0f, 1, 0, divide), 5.0f / 3.0f);
  EXPECT_EQ(penalize(-5.0f, 7, 0, divide), -15.0f);
  EXPECT_EQ(penalize(0.0f, 7, 0, divide), 0.0f);
  EXPECT_EQ(penalize(5.0f, 0, 0, divide), 5.0f);
  // 1 / 3 rounds up, and 5 times it is the f32 after 5 / 3.
  const Penalties reciprocal = {3.0f, 0.0f, 0.0f, PenaltyForm::kReciprocal};
  EXPECT_EQ(penalize(5.0f, 1, 0, reciprocal), next_up(5.0f / 3.0f));
  // The count is no f32: 2^31 - 1 rounds to 2^31.
  EXPECT_EQ(penalize(0.0f, 0, INT_MAX, {0.0f, 1.0f, 0.0f, PenaltyForm::kDivide}), -0x1p31f);
  // Together 2^24 + 1 is lost to rounding before the logit comes in; in turn it is not.
  EXPECT_EQ(penalize(0x1p24f, 0, 1, {0.0f, 0x1p24f, 1.0f, PenaltyForm::kDivide}), 0.0f);
  EXPECT_EQ(penalize(0x1p24f, 0, 1, {0.0f, 0x1p24f, 1.0f, PenaltyForm::kReciprocal}), -1.0f);
  // The order of repetition and counts.
  EXPECT_EQ(penalize(4.0f, 1, 1, {2.0f, 1.0f, 0.0f, PenaltyForm::kDivide}), 1.0f);
  EXPECT_EQ(penalize(4.0f, 1, 1, {2.0f, 1.0f, 0.0f, PenaltyForm::kCountsFirst}), 1.5f);
}

TEST(Penalties, HugeOnesGiveWhatTheContractSays) {
  const Penalties huge = {kLargestFloat, 0.0f, 0.0f, PenaltyForm::kDivide};
  EXPECT_EQ(penalize(-2.0f, 1, 0, huge), -kLargestFloat);
  EXPECT_EQ(penalize(1.0f, 1, 0, huge), 1.0f / kLargestFloat);  // a subnormal
  EXPECT_GT(penalize(1.0f, 1, 0, huge), 0.0f);
  const Penalties counts = {1.0f, kLargestFloat, 0.0f, PenaltyForm::kDivide};
  EXPECT_EQ(penalize(1.0f, 1, 2, counts), -kLargestFloat);
  const Penalties rewards = {1.0f, -kLargestFloat, 0.0f, PenaltyForm::kDivide};
  EXPECT_EQ(penalize(1.0f, 1, 2, rewards), kLargestFloat);
  // 1 / r overflows where x / r may not.
  EXPECT_EQ(penalize(0x1p-126f, 1, 0, {0x1p-130f, 0, 0, PenaltyForm::kDivide}), 16.0f);
  EXPECT_EQ(penalize(0x1p-126f, 1, 0, {0x1p-130f, 0, 0, PenaltyForm::kReciprocal}), kLargestFloat);
}

TEST(Penalties, Validity) {
  const Penalties good = {1.1f, -0.5f, 0.5f, PenaltyForm::kDivide};
  EXPECT_TRUE(are_valid_penalties(good));
  for (const float bad : {kNaN, kInfinity, -kInfinity}) {
    Penalties penalties[] = {good, good, good};
    penalties[0].repetition = bad;
    penalties[1].frequency = bad;
    penalties[2].presence = bad;
    for (const Penalties &one : penalties) EXPECT_FALSE(are_valid_penalties(one));
  }
  EXPECT_FALSE(are_valid_penalties({-1.0f, 0, 0, PenaltyForm::kDivide}));
  EXPECT_FALSE(are_valid_penalties({-kSmallestSubnormal, 0, 0, PenaltyForm::kDivide}));
  EXPECT_TRUE(are_valid_penalties({0.0f, 0, 0, PenaltyForm::kDivide}));
  EXPECT_TRUE(are_valid_penalties({-0.0f, 0, 0, PenaltyForm::kDivide}));
}

TEST(Penalties, CountWhatTheWindowAndTheScopeHave) {
  for (int64_t length = 0; length <= 6; ++length) {
    oracle::Text history;
    for (int64_t place = 0; place < length; ++place) history.push_back(place);
    for (int64_t prompt_length = 0; prompt_length <= length; ++prompt_length) {
      for (const int32_t window : {INT_MIN, -1, 0, 1, 2, 3, 5, 6, 7, INT_MAX}) {
        const auto counted = oracle::counted_tokens(history, prompt_length, window, true);
        const int64_t first = first_counted(length, prompt_length, window);
        EXPECT_EQ(length - first, int64_t(counted.size()));
        if (!counted.empty()) {
          EXPECT_EQ(first, counted.front());
        }
        EXPECT_EQ(length - first_counted(length, 0, window),
                  int64_t(oracle::counted_tokens(history, prompt_length, window, false).size()));
      }
    }
  }
  EXPECT_EQ(first_counted(INT_MAX, 0, 64), INT_MAX - 64);
}

TEST(StopTokens, AreBannedBeforeTheMinimum) {
  EXPECT_TRUE(bans_stop_tokens(0, 1));
  EXPECT_TRUE(bans_stop_tokens(INT_MAX - 1, INT_MAX));
  EXPECT_FALSE(bans_stop_tokens(1, 1));
  for (const int32_t minimum : {0, -1, INT_MIN}) EXPECT_FALSE(bans_stop_tokens(0, minimum));
}

TEST(Bitmask, AllowsWhatItsBitsSay) {
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<uint32_t> words(size_t(random.between(0, 4)));
    for (uint32_t &word : words) word = random.bits32();
    const int64_t num_ids = random.between(1, 140);
    for (const BitmaskRule rule : {BitmaskRule::kLeaves, BitmaskRule::kForbids}) {
      const auto allowed =
          oracle::allowed_by_bitmask(words, num_ids, rule == BitmaskRule::kForbids);
      for (int64_t id = 0; id < num_ids; ++id) {
        EXPECT_EQ(bitmask_allows(words.data(), int64_t(words.size()), id, rule),
                  allowed.count(id) == 1);
      }
    }
  }
}

// ---- guidance ----

TEST(Guidance, HasTheBitsOfTheContract) {
  Random random(12);
  Failures failures;
  for (int i = 0; i < kNumRandom; ++i) {
    const float x = any_logit(random), u = any_logit(random);
    const float scale = i % 2 == 0 ? any_finite(random) : 8 * random.unit() - 2;
    if (!guidance_is_on(scale)) continue;
    const float result = guide(x, u, scale);
    failures.expect(equal(result, oracle::with_guidance(x, u, scale)), bits_of(x));
    const bool is_valid = std::isfinite(x) && !is_invalid_logit(u);
    failures.expect(std::isfinite(result) == is_valid, bits_of(x));
  }
  EXPECT_TRUE(failures.none());
}

TEST(Guidance, AtItsEnds) {
  for (const float scale : {0.0f, 1.0f}) EXPECT_FALSE(guidance_is_on(scale));
  EXPECT_EQ(guide(3.0f, 1.0f, 1.5f), 4.0f);
  EXPECT_EQ(guide(3.0f, 1.0f, -1.0f), -1.0f);
  for (const float u : {1.0f, kInfinity, -kInfinity, kNaN}) {
    EXPECT_EQ(guide(-kInfinity, u, 1.5f), -kInfinity);
  }
  EXPECT_EQ(guide(3.0f, -kInfinity, 1.5f), 3.0f);
  EXPECT_EQ(guide(3.0f, kInfinity, 1.5f), kInfinity);
  EXPECT_TRUE(std::isnan(guide(3.0f, kNaN, 1.5f)));
  EXPECT_EQ(guide(kLargestFloat, -kLargestFloat, 2.0f), kLargestFloat);
  EXPECT_EQ(guide(kLargestFloat, -kLargestFloat, -2.0f), -kLargestFloat);
  EXPECT_EQ(guide(5.0f, 5.0f, kLargestFloat), 5.0f);
}

// ---- exponential decay ----

TEST(ExponentialDecay, HasTheBitsOfTheContract) {
  Random random(11);
  Failures failures;
  for (int i = 0; i < kNumRandom; ++i) {
    const float x = any_logit(random);
    const float factor = i % 3 == 0   ? std::fabs(any_finite(random))
                         : i % 3 == 1 ? 2 * random.unit()
                                      : 1.0f + 0x1p-10f * random.unit();
    const ExponentialDecay decay = {random.between(-2, 50), factor};
    const int64_t num_tokens =
        i % 2 == 0 ? random.between(0, 90) : int64_t(random.bits32() >> random.between(1, 31));
    if (!decay.is_on()) continue;
    const int64_t n = num_tokens - std::max(decay.start, 0);
    const float gain = decay.gain(num_tokens);
    const float result = gain == 0.0f ? x : raise_stop(x, gain);
    failures.expect(equal(result, oracle::with_decay(x, factor, n)), bits_of(x));
    failures.expect(std::isfinite(result) == std::isfinite(x), bits_of(x));
  }
  EXPECT_TRUE(failures.none());
}

TEST(ExponentialDecay, AtItsEnds) {
  const ExponentialDecay twice = {4, 2.0f}, half = {-3, 0.5f};
  EXPECT_EQ(twice.gain(4), 0.0f);
  EXPECT_EQ(twice.gain(5), 1.0f);
  EXPECT_EQ(twice.gain(7), 7.0f);
  EXPECT_EQ(twice.gain(4 + 128), kLargestFloat);
  EXPECT_EQ(twice.gain(INT_MAX), kLargestFloat);
  EXPECT_EQ(half.gain(0), 0.0f);
  EXPECT_EQ(half.gain(2), -0.75f);
  EXPECT_EQ(half.gain(INT_MAX), -1.0f);
  EXPECT_EQ(raise_stop(-3.0f, 7.0f), 18.0f);
  EXPECT_EQ(raise_stop(3.0f, -0.75f), 0.75f);
  EXPECT_EQ(raise_stop(-kLargestFloat, 7.0f), kLargestFloat);
  EXPECT_EQ(raise_stop(-kInfinity, 7.0f), -kInfinity);
  for (const float factor : {0.0f, 1.0f}) EXPECT_FALSE((ExponentialDecay{0, factor}.is_on()));
  for (const float factor : {-1.0f, kInfinity, kNaN}) {
    EXPECT_FALSE((ExponentialDecay{0, factor}.is_valid()));
  }
}

// ---- DRY ----

TEST(DryPower, HasTheBitsOfTheContract) {
  Random random(4);
  Failures failures;
  for (int i = 0; i < kNumRandom; ++i) {
    const float base = i % 4 == 0   ? 1.0f + random.unit()
                       : i % 4 == 1 ? 1.0f + 0x1p-20f * random.unit()
                       : i % 4 == 2 ? std::max(1.0f, std::fabs(any_finite(random)))
                                    : 1.0f + 8 * random.unit();
    const int32_t n =
        i % 3 == 0 ? int32_t(random.bits32() >> random.between(1, 31)) : random.between(0, 40);
    failures.expect(equal(power_of_length(base, n), oracle::dry_power(base, n)), bits_of(base));
  }
  EXPECT_TRUE(failures.none());
}

// Each squaring doubles the relative error so far and adds a rounding of 2^-53: after all of them
// it is at most 2 n 2^-53, and 2^-24 for the rounding to f32.
TEST(DryPower, IsNearTheExactPower) {
  Random random(5);
  Failures failures;
  for (int i = 0; i < kNumRandom; ++i) {
    const float base = 1.0f + std::ldexp(random.unit(), -random.between(0, 24));
    const int32_t n = int32_t(random.bits32() >> random.between(1, 31));
    const oracle::Real exact = oracle::exact_dry_power(base, n);
    const float power = power_of_length(base, n);
    const oracle::Real bound = 0x1p-24L + 2 * oracle::Real(n) * 0x1p-53L;
    if (exact > oracle::Real(kLargestFloat)) {
      failures.expect(power >= kLargestFloat * (1.0f - 0x1p-20f), bits_of(base));
    } else {
      failures.expect(std::fabs(oracle::Real(power) - exact) <= bound * exact, bits_of(base));
    }
  }
  EXPECT_TRUE(failures.none());
}

TEST(DryPower, AtItsEnds) {
  for (const int32_t n : {0, 1, 2, 31, 1 << 30, INT_MAX}) {
    EXPECT_EQ(power_of_length(1.0f, n), 1.0f) << n;
    EXPECT_EQ(power_of_length(kLargestFloat, n), n == 0 ? 1.0f : kLargestFloat) << n;
    EXPECT_EQ(power_of_length(kInfinity, n), n == 0 ? 1.0f : kLargestFloat) << n;
    EXPECT_GE(power_of_length(next_up(1.0f), n), 1.0f) << n;
  }
  EXPECT_EQ(power_of_length(2.0f, 127), 0x1p127f);
  EXPECT_EQ(power_of_length(2.0f, 128), kLargestFloat);
  EXPECT_EQ(power_of_length(2.0f, INT_MAX), kLargestFloat);
  EXPECT_EQ(power_of_length(next_up(1.0f), INT_MAX), kLargestFloat);  // e^256
  EXPECT_EQ(power_of_length(1.75f, 3), 5.359375f);
}

TEST(Dry, SubtractsMultiplierTimesThePower) {
  Random random(6);
  Failures failures;
  for (int i = 0; i < kNumRandom; ++i) {
    const float x = any_logit(random);
    const float multiplier = std::fabs(any_finite(random));
    const float base = 1.0f + 2 * random.unit();
    const int32_t allowed = random.between(0, 4), length = allowed + random.between(0, 200);
    const float result = penalize_repeat(x, {multiplier, base, allowed}, length);
    const float expected = oracle::with_repeat(x, multiplier, base, length - allowed);
    failures.expect(equal(result, expected), bits_of(x));
    failures.expect(!is_invalid_logit(result), bits_of(x));
  }
  EXPECT_TRUE(failures.none());
  EXPECT_EQ(penalize_repeat(3.0f, {kInfinity, 1.75f, 2}, 2), -kInfinity);
}

TEST(Dry, HasDefaults) {
  const DryRules defaults = dry_rules(0.8f, 0.0f, 0);
  EXPECT_EQ(defaults.base, 1.75f);
  EXPECT_EQ(defaults.allowed_length, 2);
  EXPECT_TRUE(dry_is_on(defaults));
  EXPECT_EQ(dry_rules(0.8f, 1.0f, -1).allowed_length, 0);
  EXPECT_EQ(dry_rules(0.8f, 1.0f, INT_MIN).allowed_length, 0);
  EXPECT_EQ(dry_rules(0.8f, 1.0f, 7).allowed_length, 7);
  EXPECT_TRUE(dry_is_on(dry_rules(0.8f, 1.0f, 0)));
  EXPECT_FALSE(dry_is_on(dry_rules(0.8f, next_down(1.0f), 0)));
  EXPECT_FALSE(dry_is_on(dry_rules(0.8f, -2.0f, 0)));
  EXPECT_FALSE(dry_is_on(dry_rules(0.0f, 2.0f, 0)));
  EXPECT_FALSE(dry_is_on(dry_rules(-1.0f, 2.0f, 0)));
}

}  // namespace
}  // namespace sampler::contract::edits_test
