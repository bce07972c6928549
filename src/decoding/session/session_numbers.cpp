#include "decoding/session/session_numbers.h"

#include <cstddef>
#include <cstring>

#include "abi/structs.h"

namespace sampler::decoding {

namespace {

// After its size sampler_row_params has addresses of numbers, of 4 bytes but for these.
constexpr size_t kFirst = offsetof(sampler_row_params, temperature);
static_assert((sizeof(sampler_row_params) - kFirst) / sizeof(void *) == 31);

bool has_8_bytes(size_t place) {
  return place == offsetof(sampler_row_params, forced_token_id) ||
         place == offsetof(sampler_row_params, top_p_reset_token_id);
}

}  // namespace

sampler_row_params place_numbers(const sampler_row_params &by_slot, int64_t num_slots,
                                 Transfer *transfer) {
  sampler_row_params result = by_slot;
  for (size_t place = kFirst; place < sizeof result; place += sizeof(void *)) {
    const uint32_t *values;
    std::memcpy(&values, reinterpret_cast<const char *>(&by_slot) + place, sizeof values);
    values = transfer->parameter(values, has_8_bytes(place) ? 2 * num_slots : num_slots);
    std::memcpy(reinterpret_cast<char *>(&result) + place, &values, sizeof values);
  }
  return result;
}

// A number of 4 bytes and the pointer to its array.
struct SessionNumbers::Number {
  size_t scalar, array;  // their offsets in the structs
  sampler_stage stage;   // that must be listed; 0: none
  bool is_plain;
};

#define SAMPLER_NUMBER(name, stage, is_plain) \
  { offsetof(sampler_params, name), offsetof(sampler_row_params, name), stage, is_plain }

const SessionNumbers::Number SessionNumbers::kNumbers[kCount] = {
    SAMPLER_NUMBER(temperature, SAMPLER_STAGE_TEMPERATURE, true),
    SAMPLER_NUMBER(top_p, SAMPLER_STAGE_TOP_P, true),
    SAMPLER_NUMBER(min_p, SAMPLER_STAGE_MIN_P, true),
    SAMPLER_NUMBER(top_k, SAMPLER_STAGE_TOP_K, true),
    SAMPLER_NUMBER(repetition_penalty, SAMPLER_STAGE_PENALTIES, false),
    SAMPLER_NUMBER(frequency_penalty, SAMPLER_STAGE_PENALTIES, false),
    SAMPLER_NUMBER(presence_penalty, SAMPLER_STAGE_PENALTIES, false),
    SAMPLER_NUMBER(penalty_window, SAMPLER_STAGE_PENALTIES, false),
    SAMPLER_NUMBER(dry_multiplier, SAMPLER_STAGE_DRY, false),
    SAMPLER_NUMBER(dry_base, SAMPLER_STAGE_DRY, false),
    SAMPLER_NUMBER(dry_allowed_length, SAMPLER_STAGE_DRY, false),
    SAMPLER_NUMBER(dry_window, SAMPLER_STAGE_DRY, false),
    SAMPLER_NUMBER(no_repeat_ngram_size, SAMPLER_STAGE_NO_REPEAT_NGRAM, false),
    SAMPLER_NUMBER(min_new_tokens, SAMPLER_STAGE_MASK, false),
    SAMPLER_NUMBER(dynamic_temperature_range, SAMPLER_STAGE_TEMPERATURE, false),
    SAMPLER_NUMBER(dynamic_temperature_exponent, SAMPLER_STAGE_TEMPERATURE, false),
    SAMPLER_NUMBER(typical_p, SAMPLER_STAGE_TYPICAL_P, false),
    SAMPLER_NUMBER(top_n_sigma, SAMPLER_STAGE_TOP_N_SIGMA, false),
    SAMPLER_NUMBER(epsilon_cutoff, SAMPLER_STAGE_EPSILON, false),
    SAMPLER_NUMBER(eta_cutoff, SAMPLER_STAGE_ETA, false),
    SAMPLER_NUMBER(top_h, SAMPLER_STAGE_TOP_H, false),
    SAMPLER_NUMBER(xtc_probability, SAMPLER_STAGE_XTC, false),
    SAMPLER_NUMBER(xtc_threshold, SAMPLER_STAGE_XTC, false),
    SAMPLER_NUMBER(min_keep, 0, false),
    SAMPLER_NUMBER(adaptive_kind, SAMPLER_STAGE_ADAPTIVE, false),
    SAMPLER_NUMBER(adaptive_target, SAMPLER_STAGE_ADAPTIVE, false),
    SAMPLER_NUMBER(adaptive_rate, SAMPLER_STAGE_ADAPTIVE, false),
    SAMPLER_NUMBER(top_p_decay, SAMPLER_STAGE_TOP_P, false),
    SAMPLER_NUMBER(top_p_least, SAMPLER_STAGE_TOP_P, false),
};

namespace {

uint32_t read(const sampler_params &params, size_t place) {
  uint32_t value;
  std::memcpy(&value, reinterpret_cast<const char *>(&params) + place, sizeof value);
  return value;
}

void point(sampler_row_params *arrays, size_t place, const void *values) {
  std::memcpy(reinterpret_cast<char *>(arrays) + place, &values, sizeof values);
}

}  // namespace

SessionNumbers::SessionNumbers(const sampler_params &common, int64_t num_sequences, Arena *arena)
    : common_(common),
      num_sequences_(num_sequences),
      values_(arena->take<uint32_t>(num_sequences, kCount)) {
  for (int i = 0; values_ && i < kCount; ++i) {
    for (int64_t j = 0; j < num_sequences; ++j) {
      values_[i * num_sequences + j] = read(common, kNumbers[i].scalar);
    }
  }
}

void SessionNumbers::set(int32_t sequence, const sampler_params &params) {
  for (int i = 0; i < kCount; ++i) {
    uint32_t &value = values_[i * num_sequences_ + sequence];
    const uint32_t common = read(common_, kNumbers[i].scalar);
    num_others_[i] -= value != common;
    value = read(params, kNumbers[i].scalar);
    num_others_[i] += value != common;
  }
}

void SessionNumbers::clear(int32_t sequence) {
  set(sequence, common_);
}

void SessionNumbers::get(int32_t sequence, sampler_params *params) const {
  for (int i = 0; i < kCount; ++i) {
    std::memcpy(reinterpret_cast<char *>(params) + kNumbers[i].scalar,
                &values_[i * num_sequences_ + sequence], sizeof(uint32_t));
  }
}

// With a list of stages, unlisted stages are off in all sequences; this has been checked.
bool SessionNumbers::is_listed(sampler_stage stage) const {
  if (common_.stages[0] == 0 || stage == 0) return true;
  for (const sampler_stage listed : common_.stages) {
    if (listed == stage) return true;
  }
  return false;
}

template <class F>
void SessionNumbers::for_each_array(bool plain, const F &f) const {
  for (int i = 0; i < kCount; ++i) {
    const Number &number = kNumbers[i];
    if (num_others_[i] == 0 || (plain ? !number.is_plain : !is_listed(number.stage))) continue;
    f(number, values_ + i * num_sequences_);
  }
}

sampler_row_params SessionNumbers::arrays(bool plain, Transfer *transfer) const {
  auto result = abi::sized<sampler_row_params>();
  for_each_array(plain, [&](const Number &number, const uint32_t *values) {
    point(&result, number.array, transfer->parameter(values, num_sequences_));
  });
  return result;
}

sampler_row_params SessionNumbers::own_arrays() const {
  auto result = abi::sized<sampler_row_params>();
  for_each_array(false, [&](const Number &number, const uint32_t *values) {
    point(&result, number.array, values);
  });
  return result;
}

sampler_row_params SessionNumbers::all_arrays(const void *somewhere) const {
  auto result = abi::sized<sampler_row_params>();
  for (const Number &number : kNumbers) {
    if (is_listed(number.stage)) point(&result, number.array, somewhere);
  }
  return result;
}

sampler_row_params SessionNumbers::all_plain_arrays(const void *somewhere) {
  auto result = abi::sized<sampler_row_params>();
  for (const Number &number : kNumbers) {
    if (number.is_plain) point(&result, number.array, somewhere);
  }
  return result;
}

bool SessionNumbers::has_minimum() const {
  return own_arrays().min_new_tokens || has_minimum(common_);
}

bool SessionNumbers::has_adaptive() const {
  const sampler_row_params own = own_arrays();
  return common_.adaptive_kind != SAMPLER_ADAPTIVE_NONE || own.adaptive_kind ||
         common_.top_p_decay != 0.0f || own.top_p_decay;
}

}  // namespace sampler::decoding
