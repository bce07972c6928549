// Elements of the caller's arrays, by their run-time type.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/float_bits.h"
#include "contract/request.h"

namespace sampler::cpu {

using contract::Dtype;
using contract::IdType;

inline size_t size_of(Dtype dtype) {
  return dtype == Dtype::kF32 ? 4 : 2;
}
inline size_t size_of(IdType type) {
  return type == IdType::kI32 ? 4 : 8;
}

inline const void *element_at(const void *data, Dtype dtype, int64_t index) {
  return static_cast<const char *>(data) + index * int64_t(size_of(dtype));
}

inline float load_value(const void *data, Dtype dtype, int64_t index) {
  switch (dtype) {
    case Dtype::kF16:
      return contract::widen_f16(static_cast<const uint16_t *>(data)[index]);
    case Dtype::kBf16:
      return contract::widen_bf16(static_cast<const uint16_t *>(data)[index]);
    default:
      return static_cast<const float *>(data)[index];
  }
}

// Rounds to nearest even.
inline void store_value(void *data, Dtype dtype, int64_t index, float value) {
  switch (dtype) {
    case Dtype::kF16:
      static_cast<uint16_t *>(data)[index] = contract::narrow_f16(value);
      break;
    case Dtype::kBf16:
      static_cast<uint16_t *>(data)[index] = contract::narrow_bf16(value);
      break;
    default:
      static_cast<float *>(data)[index] = value;
  }
}

inline int64_t load_id(const void *data, IdType type, int64_t index) {
  return type == IdType::kI32 ? static_cast<const int32_t *>(data)[index]
                              : static_cast<const int64_t *>(data)[index];
}

inline void store_id(const contract::TokenIds &ids, int64_t index, int64_t id) {
  if (ids.type == IdType::kI32) {
    static_cast<int32_t *>(ids.data)[index] = int32_t(id);
  } else {
    static_cast<int64_t *>(ids.data)[index] = id;
  }
}

}  // namespace sampler::cpu
