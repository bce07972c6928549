// Elements of the caller's arrays by their run-time type; what may stand in them and in parameters.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/float_bits.h"
#include "contract/host_device.h"
#include "contract/rank.h"
#include "contract/request.h"

namespace sampler::contract {

SAMPLER_HD inline size_t size_of(Dtype dtype) {
  return dtype == Dtype::kF32 ? 4 : 2;
}
SAMPLER_HD inline size_t size_of(IdType type) {
  return type == IdType::kI32 ? 4 : 8;
}

SAMPLER_HD inline float load_value(const void *values, Dtype dtype, int64_t index) {
  switch (dtype) {
    case Dtype::kF16:
      return widen_f16(static_cast<const uint16_t *>(values)[index]);
    case Dtype::kBf16:
      return widen_bf16(static_cast<const uint16_t *>(values)[index]);
    default:
      return static_cast<const float *>(values)[index];
  }
}

// Rounds to nearest even.
SAMPLER_HD inline void store_value(void *values, Dtype dtype, int64_t index, float value) {
  switch (dtype) {
    case Dtype::kF16:
      static_cast<uint16_t *>(values)[index] = narrow_f16(value);
      break;
    case Dtype::kBf16:
      static_cast<uint16_t *>(values)[index] = narrow_bf16(value);
      break;
    default:
      static_cast<float *>(values)[index] = value;
  }
}

SAMPLER_HD inline int64_t load_id(const void *ids, IdType type, int64_t index) {
  return type == IdType::kI32 ? static_cast<const int32_t *>(ids)[index]
                              : static_cast<const int64_t *>(ids)[index];
}

SAMPLER_HD inline void store_id(const TokenIds &ids, int64_t index, int64_t id) {
  if (ids.type == IdType::kI32) {
    static_cast<int32_t *>(ids.data)[index] = int32_t(id);
  } else {
    static_cast<int64_t *>(ids.data)[index] = id;
  }
}

// Whether a value of a row of this kind has a place in rank order.
SAMPLER_HD inline bool is_ordered_value(InputKind kind, float x) {
  return x >= (kind == InputKind::kLogits ? negative_infinity() : 0.0f);
}

// Whether it can be drawn from, too.
SAMPLER_HD inline bool is_valid_value(InputKind kind, float x) {
  return is_ordered_value(kind, x) && x < float_of(kInfinityBits);
}

// +inf is a value like any other where tokens are only put in order.
enum class Use { kDraw, kOrder };

// The status of a row whose values are all ordered, by its first token in rank order.
SAMPLER_HD inline uint32_t check_first(InputKind kind, Rank first, Use use) {
  if (first < lowest_cut(kind)) return row_status::kEmpty;
  const bool is_infinite = value_of_rank(first) == float_of(kInfinityBits);
  return is_infinite && use == Use::kDraw ? row_status::kInvalidValue : row_status::kOk;
}

// The status of an output row's slot.
SAMPLER_HD inline uint32_t check_slot(const Slots &slots, int64_t slot) {
  return slots.has(slot) ? row_status::kOk : row_status::kInvalidSlot;
}

// Status bits of the parameters themselves: NaNs, temperatures that probabilities cannot have.
SAMPLER_HD inline uint32_t check_parameters(InputKind kind, const RowParameters &row) {
  const bool has_nan = is_nan(row.temperature) || is_nan(row.top_p) || is_nan(row.min_p);
  const bool refused =
      kind == InputKind::kProbabilities && row.temperature != 1.0f && !is_greedy(row.temperature);
  return has_nan || refused ? row_status::kInvalidParameter : row_status::kOk;
}

// The same of a chain, where filters may have nothing to work on.
SAMPLER_HD inline uint32_t check_parameters(const ChainRequest &request, const RowParameters &row) {
  const bool refused = !request.has_filters() && any_filter_is_on(row);
  return refused ? row_status::kInvalidParameter : check_parameters(request.target.kind, row);
}

}  // namespace sampler::contract
