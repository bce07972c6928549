// A row in the caller's memory, read tile by tile.
#pragma once

#include <cstdint>

#include "contract/elements.h"
#include "contract/rank.h"
#include "contract/request.h"
#include "machine/device.cuh"
#include "row/row.cuh"

namespace sampler::kernels {

// A row of one type in the caller's memory. Positions count from an aligned address.
template <sampler_dtype kDtype>
struct StreamedRow {
  static constexpr int kBytes = kDtype == SAMPLER_F32 ? 4 : 2;
  static constexpr int kShift = kDtype == SAMPLER_F32 ? 2 : 3;  // log2 of a vector's elements
  static constexpr int kElements = 1 << kShift;                 // per vector
  static constexpr int kVectors = kGroup / kElements;           // per group

  const char *begin = nullptr;  // position 0
  int lead = 0;                 // position of element 0
  int count = 0;                // elements

  SAMPLER_DEVICE static StreamedRow of(const contract::Rows &rows, int64_t index) {
    return at(static_cast<const char *>(rows.values) + index * rows.stride * int64_t(kBytes),
              int(rows.num_cols));
  }
  SAMPLER_DEVICE static StreamedRow at(const void *values, int count) {
    StreamedRow row;
    row.lead = elements_to_alignment(values, kDtype);
    row.begin = static_cast<const char *>(values) - row.lead * kBytes;
    row.count = count;
    return row;
  }

  SAMPLER_DEVICE static int position(int tile, int lane, int vector) {
    return tile * kTile + (vector * 32 + lane) * kElements;
  }

  SAMPLER_DEVICE bool is_inside(int position, int num_elements) const {
    return position >= lead && position + num_elements <= lead + count;
  }

  SAMPLER_DEVICE float value(int index) const {
    return contract::load_value(begin, kDtype, lead + index);
  }

  // The vector at a position; -inf outside the row.
  template <class Context>
  SAMPLER_DEVICE Vector vector(const Context &ctx, int position) const {
    if (is_inside(position, kElements)) {
      return ctx.load_streamed(
          reinterpret_cast<const Vector *>(begin + position * int64_t(kBytes)));
    }
    Vector raw;
    SAMPLER_UNROLLED
    for (int j = 0; j < 4; ++j) raw.word[j] = word(position - lead, j);
    return raw;
  }

  // Whether the whole tile is in the row.
  SAMPLER_DEVICE bool is_whole(int tile) const { return is_inside(tile * kTile, kTile); }

  // A lane's group of such a tile.
  template <bool kIsLast, class Context>
  SAMPLER_DEVICE void load(const Context &ctx, int tile, Vector (&raw)[kVectors]) const {
    const char *const from = begin + position(tile, ctx.lane(), 0) * int64_t(kBytes);
    SAMPLER_UNROLLED
    for (int i = 0; i < kVectors; ++i) {
      const auto *const vector = reinterpret_cast<const Vector *>(from + i * kVectorStep);
      raw[i] = kIsLast ? ctx.load_last(vector) : ctx.load_streamed(vector);
    }
  }

  // The same for any tile, element by element.
  template <class Context>
  SAMPLER_DEVICE void load_any(const Context &ctx, int tile, Vector (&raw)[kVectors]) const {
    load_from(position(tile, ctx.lane(), 0) - lead, raw);
  }
  // The same for the group that begins at an element.
  SAMPLER_DEVICE void load_from(int from, Vector (&raw)[kVectors]) const {
    SAMPLER_UNROLLED
    for (int i = 0; i < kVectors; ++i) {
      SAMPLER_UNROLLED
      for (int j = 0; j < 4; ++j) raw[i].word[j] = word(from + i * 32 * kElements, j);
    }
  }

 private:
  // Word `j` of the vector that begins at an element; -inf outside the row.
  SAMPLER_DEVICE uint32_t word(int element, int j) const {
    if constexpr (kDtype == SAMPLER_F32) {
      return bits_at(element + j);
    } else {
      return bits_at(element + 2 * j) | bits_at(element + 2 * j + 1) << 16;
    }
  }

  SAMPLER_DEVICE uint32_t bits_at(int index) const {
    const bool is_in = uint32_t(index) < uint32_t(count);
    if constexpr (kDtype == SAMPLER_F32) {
      const auto *const words = reinterpret_cast<const uint32_t *>(begin) + lead;
      return is_in ? words[index] : contract::kSignBit | contract::kInfinityBits;
    } else {
      const auto *const halves = reinterpret_cast<const uint16_t *>(begin) + lead;
      return is_in ? halves[index] : kDtype == SAMPLER_F16 ? 0xFC00u : 0xFF80u;
    }
  }
};

// The largest element; NaN if any is NaN.
template <sampler_dtype kDtype, class Context, int kVectors>
SAMPLER_DEVICE float largest(const Vector (&raw)[kVectors]) {
  if constexpr (kDtype == SAMPLER_F32) {
    float result = contract::float_of(raw[0].word[0]);
    SAMPLER_UNROLLED
    for (int i = 1; i < 4 * kVectors; ++i) {
      result = Context::larger(result, contract::float_of(raw[i / 4].word[i % 4]));
    }
    return result;
  } else {
    uint32_t pair = raw[0].word[0];
    SAMPLER_UNROLLED
    for (int i = 1; i < 4 * kVectors; ++i) {
      pair = Context::template larger_pair<kDtype>(pair, raw[i / 4].word[i % 4]);
    }
    if constexpr (kDtype == SAMPLER_BF16) {
      return Context::larger(contract::widen_bf16(uint16_t(pair)),
                             contract::widen_bf16(uint16_t(pair >> 16)));
    } else {
      return Context::larger(contract::widen_f16(uint16_t(pair)),
                             contract::widen_f16(uint16_t(pair >> 16)));
    }
  }
}

// Element `i` of a vector.
template <sampler_dtype kDtype>
SAMPLER_DEVICE float element(const Vector &raw, int i) {
  if constexpr (kDtype == SAMPLER_F32) {
    return contract::float_of(raw.word[i]);
  } else {
    const uint32_t half = i % 2 == 0 ? raw.word[i / 2] & 0xFFFFu : raw.word[i / 2] >> 16;
    if constexpr (kDtype == SAMPLER_BF16) return contract::float_of(half << 16);
    return contract::widen_f16_number(uint16_t(half));
  }
}

// Word `i` of so many in registers.
template <int kCount>
SAMPLER_DEVICE uint32_t selected_word(const uint32_t (&words)[kCount], int i) {
  if constexpr (kCount == 1) {
    return words[0];
  } else {
    uint32_t half[kCount / 2];
    SAMPLER_UNROLLED
    for (int j = 0; j < kCount / 2; ++j) {
      half[j] = (i & kCount / 2) != 0 ? words[j + kCount / 2] : words[j];
    }
    return selected_word(half, i);
  }
}

// Element `i` of a lane's group.
template <sampler_dtype kDtype, int kVectors>
SAMPLER_DEVICE float selected_element(const Vector (&raw)[kVectors], int i) {
  constexpr int kShift = kDtype == SAMPLER_F32 ? 0 : 1;  // log2 of a word's elements
  uint32_t words[4 * kVectors];
  SAMPLER_UNROLLED
  for (int j = 0; j < 4 * kVectors; ++j) words[j] = raw[j / 4].word[j % 4];
  const Vector vector = {{selected_word(words, i >> kShift)}};
  return element<kDtype>(vector, i & kShift);
}

// A value's key; the largest for NaN.
SAMPLER_DEVICE inline uint32_t key_or_bad(float x) {
  return contract::is_nan(x) ? ~uint32_t(0) : contract::value_key(x);
}

SAMPLER_DEVICE inline uint32_t status_of_key(uint32_t key,
                                             sampler_input_kind kind = SAMPLER_LOGITS) {
  if (key == ~uint32_t(0)) return SAMPLER_ROW_INVALID_VALUE;
  return contract::check_first(kind, contract::rank_of_key(key) | ~uint32_t(0),
                               contract::Use::kDraw);
}

}  // namespace sampler::kernels
