// A row as a team sees it: dealt to the blocks and their warps in order, kept in shared memory
// where it fits, and the passes over it.
#pragma once

#include <cstdint>

#include "contract/elements.h"
#include "contract/rank.h"
#include "contract/request.h"
#include "device.cuh"
#include "team.cuh"

namespace sampler::kernels {

using contract::Dtype;
using contract::IdType;
using contract::InputKind;
using contract::Rank;
namespace row_status = contract::row_status;

constexpr int kVector = 4;           // elements that a lane loads at once
constexpr int kTile = 32 * kVector;  // elements that a warp loads at once
constexpr int kLoadsInFlight = 4;    // of a warp, in the pass that reads device memory
constexpr int kReloadsInFlight = 2;  // in later passes

struct alignas(16) Vector32 {
  float element[kVector];
};

struct alignas(8) Vector16 {
  uint16_t element[kVector];
};

// A row in the caller's memory. Elements are addressed by position: that of element 0 is `lead`,
// chosen so that positions divisible by kVector are aligned for a vector load.
struct StoredRow {
  const void *values;
  const void *ids;  // null: an element's id is its index
  int count;
  int lead;
  Dtype dtype;
  IdType id_type;
  InputKind kind;

  SAMPLER_HD float value(int index) const { return contract::load_value(values, dtype, index); }
  SAMPLER_HD int64_t id(int index) const {
    return ids ? contract::load_id(ids, id_type, index) : index;
  }

  // The elements at positions [position, position + kVector); of those outside the row, anything.
  template <class Context>
  SAMPLER_DEVICE void load(Context &ctx, int position, float (&x)[kVector]) const {
    const int index = position - lead;
    if (index < 0 || index + kVector > count) {
      load_edge(index, x);
    } else if (dtype == Dtype::kF32) {
      const Vector32 raw = ctx.load_vector(
          reinterpret_cast<const Vector32 *>(static_cast<const float *>(values) + index));
      for (int i = 0; i < kVector; ++i) x[i] = raw.element[i];
    } else {
      const Vector16 raw = ctx.load_vector(
          reinterpret_cast<const Vector16 *>(static_cast<const uint16_t *>(values) + index));
      for (int i = 0; i < kVector; ++i) {
        x[i] = dtype == Dtype::kF16 ? contract::widen_f16(raw.element[i])
                                    : contract::widen_bf16(raw.element[i]);
      }
    }
  }

  // The value of the token at `rank` as it stands in the row: a rank knows no -0.
  SAMPLER_DEVICE_CALL float value_at(Rank rank) const {
    const float x = contract::value_of_rank(rank);
    if (x != 0.0f) return x;
    const int64_t id_of_token = contract::id_of_rank(rank);
    if (!ids) return value(int(id_of_token));
    int index = 0;
    while (id(index) != id_of_token) ++index;
    return value(index);
  }

 private:
  SAMPLER_DEVICE_CALL void load_edge(int index, float (&x)[kVector]) const {
    for (int i = 0; i < kVector; ++i) {
      x[i] = index + i >= 0 && index + i < count ? value(index + i) : 0.0f;
    }
  }
};

SAMPLER_HD inline int elements_to_alignment(const void *values, Dtype dtype) {
  const int log2_size = dtype == Dtype::kF32 ? 2 : 1;
  return int((reinterpret_cast<uintptr_t>(values) >> log2_size) % kVector);
}

// Row `row` of `rows`, at element `first_element` of the arrays.
SAMPLER_HD inline StoredRow stored_row(const contract::Rows &rows, int64_t row,
                                       int64_t first_element) {
  const int64_t size = int64_t(contract::size_of(rows.dtype));
  const int64_t id_size = int64_t(contract::size_of(rows.id_type));
  StoredRow result;
  result.values = static_cast<const char *>(rows.values) + first_element * size;
  result.ids = rows.ids ? static_cast<const char *>(rows.ids) + first_element * id_size : nullptr;
  result.count = rows.counts ? rows.counts[row] : int(rows.num_cols);
  result.lead = elements_to_alignment(result.values, rows.dtype);
  result.dtype = rows.dtype;
  result.id_type = rows.id_type;
  result.kind = rows.kind;
  return result;
}

// A part [begin, end) of a range that is dealt evenly and in order.
struct Part {
  int begin;
  int end;

  SAMPLER_HD Part of(int index, int count) const {
    const int64_t size = end - begin;
    return {begin + int(size * index / count), begin + int(size * (index + 1) / count)};
  }
};

// Where a block keeps its part of the row. Without room the passes read the source again.
struct Residence {
  float *values;
  int capacity;  // elements
};

// A row dealt to the team. Source: StoredRow, or anything with its count, lead, kind, id() and
// load().
template <class Context, class Source>
class TeamRow {
 public:
  SAMPLER_DEVICE TeamRow(Context &ctx, const Source &source, const Residence &residence)
      : ctx_(ctx), source_(source), residence_(residence.values) {
    const Part row = {0, (source.lead + source.count + kTile - 1) / kTile};
    const Part block = row.of(ctx.rank(), ctx.team_size());
    tiles_ = block.of(ctx.warp(), Context::kThreads / 32);
    first_resident_ = block.begin * kTile;
    fits_ = int64_t(block.end - block.begin) * kTile <= residence.capacity;
  }

  SAMPLER_DEVICE const Source &source() const { return source_; }
  SAMPLER_DEVICE InputKind kind() const { return source_.kind; }
  SAMPLER_DEVICE int count() const { return source_.count; }
  SAMPLER_DEVICE uint32_t id(int index) const { return uint32_t(source_.id(index)); }

  // The pass that reads the source, and fills the residence on the way.
  template <class F>
  SAMPLER_DEVICE void load_each(const F &f) {
    ctx_.sync();  // other warps may still read the row before, dealt in another way
    for_each_tile<kLoadsInFlight>([&](int position, const float(&x)[kVector]) {
      if (fits_) keep(position, x);
      each_of(position, x, f);
    });
    is_resident_ = fits_;
  }

  // Calls f(value, index) for each element, every element on one thread of the team, a thread's
  // by ascending index.
  template <class F>
  SAMPLER_DEVICE void for_each(const F &f) const {
    for_each_vector([&](int position, const float(&x)[kVector]) { each_of(position, x, f); });
  }

  // Calls f(position, x) for each vector of elements, some of which may lie outside the row.
  template <class F>
  SAMPLER_DEVICE void for_each_vector(const F &f) const {
    for_each_tile<kReloadsInFlight>(f);
  }

  // Index of the element at which the running sum of measure(value, index), by ascending index over
  // this warp's part, first exceeds `target`; -1 if it never does. Every lane has the result.
  template <class Measure>
  SAMPLER_DEVICE int find_in_warp(uint64_t target, const Measure &measure) const {
    uint64_t sum = 0;
    for (int tile = tiles_.begin; tile < tiles_.end; ++tile) {
      const int position = tile * kTile + ctx_.lane() * kVector;
      float x[kVector];
      fetch(position, x);
      uint64_t own = 0;
      each_of(position, x, [&](float value, int index) { own += measure(value, index); });
      const uint64_t through = sum + ctx_.warp_inclusive_sum(own);
      const uint32_t exceeding = ctx_.ballot(through > target);
      if (exceeding != 0) {
        uint64_t running = through - own;
        int found = -1;
        each_of(position, x, [&](float value, int index) {
          running += measure(value, index);
          if (found < 0 && running > target) found = index;
        });
        return int(ctx_.warp_broadcast(uint64_t(uint32_t(found)), lowest_bit(exceeding)));
      }
      sum = ctx_.warp_broadcast(through, 31);
    }
    return -1;
  }

  // Whether the vector at this position holds elements of the row only.
  SAMPLER_DEVICE bool is_inside(int position) const {
    return position >= source_.lead && position + kVector <= source_.lead + source_.count;
  }

 private:
  SAMPLER_DEVICE static int lowest_bit(uint32_t bits) {
    int lane = 0;
    while (((bits >> lane) & 1) == 0) ++lane;
    return lane;
  }

  template <class F>
  SAMPLER_DEVICE void each_of(int position, const float (&x)[kVector], const F &f) const {
    const int index = position - source_.lead;
    for (int i = 0; i < kVector; ++i) {
      if (index + i >= 0 && index + i < source_.count) f(x[i], index + i);
    }
  }

  // Several loads are under way before the first value is used.
  template <int kInFlight, class Use>
  SAMPLER_DEVICE void for_each_tile(const Use &use) const {
    const int lane_offset = ctx_.lane() * kVector;
    for (int tile = tiles_.begin; tile < tiles_.end; tile += kInFlight) {
      float x[kInFlight][kVector];
      for (int i = 0; i < kInFlight; ++i) {
        if (tile + i < tiles_.end) fetch((tile + i) * kTile + lane_offset, x[i]);
      }
      for (int i = 0; i < kInFlight; ++i) {
        if (tile + i < tiles_.end) use((tile + i) * kTile + lane_offset, x[i]);
      }
    }
  }

  SAMPLER_DEVICE void fetch(int position, float (&x)[kVector]) const {
    if (is_resident_) {
      const Vector32 raw = ctx_.load_vector(
          reinterpret_cast<const Vector32 *>(residence_ + position - first_resident_));
      for (int i = 0; i < kVector; ++i) x[i] = raw.element[i];
    } else {
      source_.load(ctx_, position, x);
    }
  }

  SAMPLER_DEVICE void keep(int position, const float (&x)[kVector]) const {
    Vector32 raw;
    for (int i = 0; i < kVector; ++i) raw.element[i] = x[i];
    ctx_.store_vector(reinterpret_cast<Vector32 *>(residence_ + position - first_resident_), raw);
  }

  Context &ctx_;
  Source source_;
  float *residence_;
  Part tiles_;  // this warp's
  int first_resident_;
  bool fits_;
  bool is_resident_ = false;
};

}  // namespace sampler::kernels
