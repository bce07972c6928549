#include "decoding/session/session_numbers.h"

#include <cstddef>
#include <cstring>

#include "abi/structs.h"
#include "contract/edits.h"

namespace sampler::decoding {

using contract::kParameters;
using contract::ParameterInfo;

sampler_row_params place_numbers(const sampler_row_params &by_slot, int64_t num_slots,
                                 Transfer *transfer) {
  sampler_row_params result = by_slot;
  for (const ParameterInfo &parameter : kParameters) {
    const int64_t num_words = int64_t(parameter.size / sizeof(uint32_t)) * num_slots;
    const auto *const values = parameter.array_in<uint32_t>(by_slot);
    parameter.set_array(&result, transfer->parameter(values, num_words));
  }
  return result;
}

SessionNumbers::SessionNumbers(const sampler_params &common, int64_t num_sequences, Arena *arena)
    : common_(common),
      num_sequences_(num_sequences),
      values_(arena->take<uint32_t>(num_sequences, kCount)) {
  for (int i = 0; values_ && i < kCount; ++i) {
    for (int64_t j = 0; j < num_sequences; ++j) {
      values_[i * num_sequences + j] = kParameters[i].scalar_in<uint32_t>(common);
    }
  }
}

void SessionNumbers::set(int32_t sequence, const sampler_params &params) {
  for (int i = 0; i < kCount; ++i) {
    uint32_t &value = values_[i * num_sequences_ + sequence];
    const uint32_t common = kParameters[i].scalar_in<uint32_t>(common_);
    num_others_[i] -= value != common;
    value = kParameters[i].scalar_in<uint32_t>(params);
    num_others_[i] += value != common;
  }
}

void SessionNumbers::clear(int32_t sequence) {
  set(sequence, common_);
}

void SessionNumbers::get(int32_t sequence, sampler_params *params) const {
  for (int i = 0; i < kCount; ++i) {
    kParameters[i].set_scalar(params, values_[i * num_sequences_ + sequence]);
  }
}

float SessionNumbers::guidance_scale(int32_t sequence) const {
  constexpr int kIndex = [] {
    int i = 0;
    while (kParameters[i].array != offsetof(sampler_row_params, guidance_scale)) ++i;
    return i;
  }();
  float value;
  static_assert(sizeof value == sizeof *values_);
  std::memcpy(&value, values_ + kIndex * num_sequences_ + sequence, sizeof value);
  return value;
}

// With a list of stages, unlisted stages are off in all sequences; this has been checked.
bool SessionNumbers::may_be_on(const ParameterInfo &parameter) const {
  const sampler_stage stage = parameter.stage;
  if (common_.stages[0] == 0 || stage == 0) return true;
  for (const sampler_stage listed : common_.stages) {
    if (listed == stage) return true;
  }
  return false;
}

template <class F>
void SessionNumbers::for_each_array(bool plain, const F &f) const {
  for (int i = 0; i < kCount; ++i) {
    if (num_others_[i] == 0) continue;
    if (plain ? !is_plain(i) : !may_be_on(kParameters[i])) continue;
    f(kParameters[i], values_ + i * num_sequences_);
  }
}

sampler_row_params SessionNumbers::arrays(bool plain, Transfer *transfer) const {
  auto result = abi::sized<sampler_row_params>();
  for_each_array(plain, [&](const ParameterInfo &parameter, const uint32_t *values) {
    parameter.set_array(&result, transfer->parameter(values, num_sequences_));
  });
  return result;
}

sampler_row_params SessionNumbers::own_arrays() const {
  auto result = abi::sized<sampler_row_params>();
  for_each_array(false, [&](const ParameterInfo &parameter, const uint32_t *values) {
    parameter.set_array(&result, values);
  });
  return result;
}

sampler_row_params SessionNumbers::all_arrays(const void *somewhere) const {
  auto result = abi::sized<sampler_row_params>();
  for (int i = 0; i < kCount; ++i) {
    if (may_be_on(kParameters[i])) kParameters[i].set_array(&result, somewhere);
  }
  return result;
}

sampler_row_params SessionNumbers::all_plain_arrays(const void *somewhere) {
  auto result = abi::sized<sampler_row_params>();
  for (int i = 0; i < kCount; ++i) {
    if (is_plain(i)) kParameters[i].set_array(&result, somewhere);
  }
  return result;
}

bool SessionNumbers::needs_ends() const {
  const sampler_row_params own = own_arrays();
  return own.min_new_tokens || own.exponential_decay_factor || needs_ends(common_);
}

bool SessionNumbers::needs_ends(const sampler_params &params) {
  return params.min_new_tokens > 0 ||
         contract::exponential_decay_is_on(params.exponential_decay_factor);
}

bool SessionNumbers::has_adaptive() const {
  const sampler_row_params own = own_arrays();
  return common_.adaptive_kind != SAMPLER_ADAPTIVE_NONE || own.adaptive_kind ||
         common_.top_p_decay != 0.0f || own.top_p_decay;
}

}  // namespace sampler::decoding
