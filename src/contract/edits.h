// Edits of one logit: bias, penalties, bans, DRY.
//
// docs/contract.md, section 14.1. repeats.h finds the ids that a history bans or penalises.
#pragma once

#include <cstdint>

#include "contract/float_bits.h"
#include "contract/host_device.h"

namespace sampler::contract {

constexpr float kLargestFloat = 0x1.FFFFFEp127f;

// Clamps to the finite range of f32. NaN stays NaN.
SAMPLER_HD inline float saturated(float y) {
  return y > kLargestFloat ? kLargestFloat : y < -kLargestFloat ? -kLargestFloat : y;
}

// Result of a finite edit of x whose f32 result is new_x. A finite logit stays finite, so that only
// a ban excludes a token. -inf stays -inf, and an invalid logit stays invalid.
SAMPLER_HD inline float edited(float x, float new_x) {
  return is_finite(x) ? saturated(new_x) : x;
}

// NaN or +inf. After the last edit it makes the row bad.
SAMPLER_HD inline bool is_invalid_logit(float x) {
  return !(x <= kLargestFloat);
}

// A bias of -inf bans the token.
SAMPLER_HD inline float add_bias(float x, float bias) {
  const float sum = x + bias;
  return is_finite(bias) || !is_finite(x) ? edited(x, sum) : sum;
}

// Finite or -inf.
SAMPLER_HD inline bool is_valid_bias(float bias) {
  return bias <= kLargestFloat;
}

// ---- guidance ----

SAMPLER_HD inline bool guidance_is_on(float scale) {
  return scale != 0.0f && scale != 1.0f;
}

// The logit x, led away from the other row's logit u of the same token.
SAMPLER_HD inline float guide(float x, float u, float scale) {
  if (!is_finite(x)) return x;
  if (is_invalid_logit(u)) return u;
  if (!is_finite(u)) return x;
  const float difference = x - u;
  const float product = scale * difference;
  return edited(x, u + product);
}

// ---- penalties ----

// Order and rounding of the penalties.
enum class PenaltyForm {
  kDivide,      // x / r; then x - (count * frequency + presence)
  kReciprocal,  // x * (1 / r); then x - count * frequency - presence
  kCountsFirst  // kDivide with frequency and presence before repetition
};

struct Penalties {
  float repetition;  // 0 and 1: off
  float frequency;
  float presence;
  PenaltyForm form;
};

SAMPLER_HD inline bool are_valid_penalties(const Penalties &penalties) {
  return penalties.repetition >= 0.0f && is_finite(penalties.repetition) &&
         is_finite(penalties.frequency) && is_finite(penalties.presence);
}

// Whether the penalties raise no logit of at most kLargestFloat and make no NaN: each operation,
// rounded, is monotone and lowers its operand or keeps it.
SAMPLER_HD inline bool only_lower(const Penalties &penalties) {
  const bool repetition_lowers = penalties.repetition == 0.0f || penalties.repetition >= 1.0f;
  return repetition_lowers && penalties.frequency >= 0.0f && penalties.presence >= 0.0f;
}

// For a token in the history. `repetition` > 0.
SAMPLER_HD inline float penalize_repetition(float x, float repetition, PenaltyForm form) {
  if (!(x > 0.0f)) return edited(x, x * repetition);
  return edited(x, form == PenaltyForm::kReciprocal ? x * (1.0f / repetition) : x / repetition);
}

// For a token that occurs `count` >= 1 times.
SAMPLER_HD inline float penalize_count(float x, int32_t count, float frequency, float presence,
                                       PenaltyForm form) {
  const float product = float(count) * frequency;
  return edited(
      x, form == PenaltyForm::kReciprocal ? x - product - presence : x - (product + presence));
}

// The whole stage. `repetition_count` and `count`: occurrences in the tokens that the repetition
// penalty, and the frequency and presence penalties, count; 0: no such penalty.
SAMPLER_HD inline float penalize(float x, int32_t repetition_count, int32_t count,
                                 const Penalties &penalties) {
  const bool repeats = repetition_count > 0 && penalties.repetition != 0.0f;
  const bool counts_first = penalties.form == PenaltyForm::kCountsFirst;
  if (repeats && !counts_first) x = penalize_repetition(x, penalties.repetition, penalties.form);
  if (count > 0) {
    x = penalize_count(x, count, penalties.frequency, penalties.presence, penalties.form);
  }
  if (repeats && counts_first) x = penalize_repetition(x, penalties.repetition, penalties.form);
  return x;
}

// Index of the first token of the history that counts.
//
// `window`: the number of newest tokens that count; <= 0: all. `prompt_length`: 0 if the prompt
// counts too.
SAMPLER_HD inline int64_t first_counted(int64_t length, int64_t prompt_length, int32_t window) {
  const int64_t begin = window > 0 ? length - window : 0;
  return begin > prompt_length ? begin : prompt_length < length ? prompt_length : length;
}

// ---- exponential decay length penalty ----

// base^n for finite base > 0, n >= 0, in f64 by at most 31 squarings and 31 products. Never NaN: no
// factor is infinite where another is 0.
SAMPLER_HD inline double integer_power(float base, int32_t n) {
  double result = 1.0;
  for (int bit = 30; bit >= 0; --bit) {
    result *= result;  // 1 until the highest set bit
    if ((n >> bit & 1) != 0) result *= double(base);
  }
  return result;
}

SAMPLER_HD inline bool exponential_decay_is_on(float factor) {
  return factor != 0.0f && factor != 1.0f;
}

// Makes stop tokens likelier, the longer the output is.
struct ExponentialDecay {
  int32_t start;  // tokens of the output without it
  float factor;   // 0 and 1: off

  SAMPLER_HD bool is_on() const { return exponential_decay_is_on(factor); }
  SAMPLER_HD bool is_valid() const { return factor >= 0.0f && is_finite(factor); }

  // What the stop tokens' logits gain, by their size. 0: nothing yet.
  SAMPLER_HD float gain(int64_t num_output_tokens) const {
    const int64_t n = num_output_tokens - (start > 0 ? start : 0);
    if (n <= 0) return 0.0f;
    const double grown = integer_power(factor, int32_t(n));
    return float((grown < double(kLargestFloat) ? grown : double(kLargestFloat)) - 1.0);
  }
};

SAMPLER_HD inline float raise_stop(float x, float gain) {
  const float product = float_of(bits_of(x) & ~kSignBit) * gain;
  return edited(x, x + product);
}

// ---- bans ----

SAMPLER_HD inline float ban(float x, bool is_banned) {
  return is_banned ? negative_infinity() : x;
}

SAMPLER_HD inline bool bans_stop_tokens(int64_t num_output_tokens, int32_t min_new_tokens) {
  return num_output_tokens < min_new_tokens;
}

// Treatment of ids beyond the bitmask's last word.
enum class BitmaskRule { kLeaves, kForbids };

// Bit id mod 32 of word id / 32 is 1 if the id is allowed. id >= 0.
SAMPLER_HD inline bool bitmask_allows(const uint32_t *words, int64_t num_words, int64_t id,
                                      BitmaskRule rule) {
  if (id / 32 >= num_words) return rule == BitmaskRule::kLeaves;
  return (words[id / 32] >> (id % 32) & 1u) != 0;
}

// ---- DRY ----

struct DryRules {
  float multiplier;
  float base;
  int32_t allowed_length;
};

// The parameters, with defaults for 0.
SAMPLER_HD inline DryRules dry_rules(float multiplier, float base, int32_t allowed_length) {
  constexpr float kDefaultBase = 1.75f;
  constexpr int32_t kDefaultLength = 2;
  return {multiplier, base == 0.0f ? kDefaultBase : base,
          allowed_length == 0  ? kDefaultLength
          : allowed_length > 0 ? allowed_length
                               : 0};
}

SAMPLER_HD inline bool dry_is_on(const DryRules &rules) {
  return rules.multiplier > 0.0f && rules.base >= 1.0f;
}

// base^n for base >= 1, rounded to f32 and capped at the largest finite f32.
SAMPLER_HD inline float power_of_length(float base, int32_t n) {
  const double power = integer_power(base, n);
  return power < double(kLargestFloat) ? float(power) : kLargestFloat;
}

// For a token that would extend a repeat of `length` >= rules.allowed_length tokens.
SAMPLER_HD inline float penalize_repeat(float x, const DryRules &rules, int32_t length) {
  const float power = power_of_length(rules.base, length - rules.allowed_length);
  const float new_x = x - rules.multiplier * power;
  return is_finite(rules.multiplier) ? edited(x, new_x) : new_x;
}

}  // namespace sampler::contract
