// Access to the caller's arrays by their run-time type, and the checks of values and parameters.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/float_bits.h"
#include "contract/host_device.h"
#include "contract/rank.h"
#include "contract/request.h"
#include "sampler/types.h"

namespace sampler::contract {

SAMPLER_HD inline size_t size_of(sampler_dtype dtype) {
  return dtype == SAMPLER_F32 ? 4 : 2;
}
SAMPLER_HD inline size_t size_of_id(sampler_id_type type) {
  return type == SAMPLER_ID_I32 ? 4 : 8;
}

SAMPLER_HD inline float load_value(const void *values, sampler_dtype dtype, int64_t index) {
  switch (dtype) {
    case SAMPLER_F16:
      return widen_f16(static_cast<const uint16_t *>(values)[index]);
    case SAMPLER_BF16:
      return widen_bf16(static_cast<const uint16_t *>(values)[index]);
    default:
      return static_cast<const float *>(values)[index];
  }
}

// Rounds to nearest even.
SAMPLER_HD inline void store_value(void *values, sampler_dtype dtype, int64_t index, float value) {
  switch (dtype) {
    case SAMPLER_F16:
      static_cast<uint16_t *>(values)[index] = narrow_f16(value);
      break;
    case SAMPLER_BF16:
      static_cast<uint16_t *>(values)[index] = narrow_bf16(value);
      break;
    default:
      static_cast<float *>(values)[index] = value;
  }
}

SAMPLER_HD inline int64_t load_id(const void *ids, sampler_id_type type, int64_t index) {
  return type == SAMPLER_ID_I32 ? static_cast<const int32_t *>(ids)[index]
                                : static_cast<const int64_t *>(ids)[index];
}

SAMPLER_HD inline void store_id(const TokenIds &ids, int64_t index, int64_t id) {
  if (ids.type == SAMPLER_ID_I32) {
    static_cast<int32_t *>(ids.data)[index] = int32_t(id);
  } else {
    static_cast<int64_t *>(ids.data)[index] = id;
  }
}

// Whether the value has a place in rank order: no NaN, no negative probability.
SAMPLER_HD inline bool is_ordered_value(sampler_input_kind kind, float x) {
  return x >= (kind == SAMPLER_LOGITS ? negative_infinity() : 0.0f);
}

// Whether it can also be drawn from: not +inf.
SAMPLER_HD inline bool is_valid_value(sampler_input_kind kind, float x) {
  return is_ordered_value(kind, x) && x < float_of(kInfinityBits);
}

// +inf is valid where tokens are only ordered.
enum class Use { kDraw, kOrder };

// Status of a row whose values are all ordered, from its first rank.
SAMPLER_HD inline uint32_t check_first(sampler_input_kind kind, Rank first, Use use) {
  if (first < lowest_cut(kind)) return SAMPLER_ROW_EMPTY;
  const bool is_infinite = value_of_rank(first) == float_of(kInfinityBits);
  return is_infinite && use == Use::kDraw ? SAMPLER_ROW_INVALID_VALUE : SAMPLER_ROW_OK;
}

// False for NaN.
SAMPLER_HD inline bool is_valid_temperature(sampler_input_kind kind, float temperature) {
  return is_greedy(temperature) ||
         (kind == SAMPLER_PROBABILITIES ? temperature == 1.0f : temperature <= kLargestTemperature);
}

// Status of a row's parameters.
SAMPLER_HD inline uint32_t check_parameters(sampler_input_kind kind, const RowParameters &row) {
  const bool has_nan = is_nan(row.top_p) || is_nan(row.min_p);
  return has_nan || !is_valid_temperature(kind, row.temperature) ? SAMPLER_ROW_INVALID_PARAMETER
                                                                 : SAMPLER_ROW_OK;
}
template <class Request>
SAMPLER_HD inline uint32_t check_parameters(const Request &request, const RowParameters &row) {
  return check_parameters(request.input.kind, row);
}
// A chain of given probabilities has no filters.
SAMPLER_HD inline uint32_t check_parameters(const VerifyRequest &request,
                                            const RowParameters &row) {
  const bool refused = !request.has_filters() && any_filter_is_on(row);
  return refused ? uint32_t(SAMPLER_ROW_INVALID_PARAMETER)
                 : check_parameters(request.target.kind, row);
}

// Reads and checks the parameters of a slot; returns the status. For an invalid slot *parameters is
// not written.
template <class Request>
SAMPLER_HD inline uint32_t read_parameters(const Request &request, int64_t slot,
                                           RowParameters *parameters) {
  if (!request.slots.has(slot)) return SAMPLER_ROW_INVALID_SLOT;
  *parameters = request.parameters.of(slot);
  return check_parameters(request, *parameters);
}

}  // namespace sampler::contract
