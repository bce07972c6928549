// A row as a team sees it: dealt to the blocks and their warps in order, kept in shared memory
// where it fits, and the passes over it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "contract/elements.h"
#include "contract/rank.h"
#include "contract/request.h"
#include "contract/row_view.h"
#include "device.cuh"
#include "team.cuh"

namespace sampler::kernels {

using contract::Rank;

constexpr int kVector = 4;           // elements that a lane takes at once
constexpr int kTile = 32 * kVector;  // elements that a warp takes at once
constexpr int kCopiesInFlight = 7;   // tiles of a warp that are on their way into shared memory
// Tiles of a warp that a row which does not stay in shared memory passes through. One more than are
// on their way: the one in use.
constexpr int kRingTiles = kCopiesInFlight + 1;

struct alignas(16) Vector32 {
  float element[kVector];
};

struct alignas(8) Vector16 {
  uint16_t element[kVector];
};

SAMPLER_DEVICE inline void widen(const Vector32 &raw, sampler_dtype, float (&x)[kVector]) {
  for (int i = 0; i < kVector; ++i) x[i] = raw.element[i];
}

SAMPLER_DEVICE inline void widen(const Vector16 &raw, sampler_dtype dtype, float (&x)[kVector]) {
  if (dtype == SAMPLER_BF16) {
    for (int i = 0; i < kVector; ++i) x[i] = contract::widen_bf16(raw.element[i]);
  } else {
    for (int i = 0; i < kVector; ++i) x[i] = contract::widen_f16(raw.element[i]);
  }
}

// A row in the caller's memory. Elements are addressed by position: that of element 0 is `lead`,
// chosen so that positions divisible by kVector are aligned for a vector load.
struct StoredRow : contract::RowView {
  static constexpr bool kIsCopied = true;

  int lead;

  // Lowest bits of an element as f32 that its type does not have.
  SAMPLER_HD int unused_value_bits() const {
    return dtype == SAMPLER_BF16 ? 16 : dtype == SAMPLER_F16 ? 13 : 0;
  }

  // Elements [index, index + kVector), all of them in the row.
  template <class Context>
  SAMPLER_DEVICE void load(Context &ctx, int index, float (&x)[kVector]) const {
    if ((index + lead) % kVector != 0) {
      for (int i = 0; i < kVector; ++i) x[i] = value(index + i);
    } else if (dtype == SAMPLER_F32) {
      const float *from = static_cast<const float *>(values) + index;
      widen(ctx.load_vector(reinterpret_cast<const Vector32 *>(from)), dtype, x);
    } else {
      const uint16_t *from = static_cast<const uint16_t *>(values) + index;
      widen(ctx.load_vector(reinterpret_cast<const Vector16 *>(from)), dtype, x);
    }
  }
};

SAMPLER_HD inline int elements_to_alignment(const void *values, sampler_dtype dtype) {
  const int log2_size = dtype == SAMPLER_F32 ? 2 : 1;
  return int((reinterpret_cast<uintptr_t>(values) >> log2_size) % kVector);
}

SAMPLER_HD inline StoredRow stored_row(const contract::RowView &view) {
  StoredRow row;
  static_cast<contract::RowView &>(row) = view;
  row.lead = elements_to_alignment(view.values, view.dtype);
  return row;
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

// The block's shared memory for rows: at least a ring for each warp. A part of a row that fits
// stays there; of a longer one each pass streams through the rings.
struct RowCache {
  char *memory;
  int num_bytes;
};

SAMPLER_HD constexpr int ring_bytes(int num_threads) {
  return num_threads * kRingTiles * int(sizeof(Vector32));
}

// A row dealt to the team. Source: StoredRow, whose elements shared memory holds as the caller's
// does; or another with its count, lead, kind, ids and id() but kIsCopied false, whose elements are
// made by load(context, position, x) and held as f32; that must outlive the row.
template <class Context, class Source>
class TeamRow {
 public:
  // A barrier of the block: other warps may still read the row before, dealt in another way.
  SAMPLER_DEVICE TeamRow(Context &ctx, const Source &source, const RowCache &row_cache)
      : ctx_(ctx), source_(source), memory_(row_cache.memory) {
    const Part row = {0, (source.lead + source.count + kTile - 1) / kTile};
    const Part block = row.of(ctx.cluster_rank(), ctx.team_size());
    tiles_ = block.of(ctx.warp(), Context::kThreads / 32);
    fits_ = int64_t(block.end - block.begin) * kTile * element_bytes() <= row_cache.num_bytes;
    first_slot_ = fits_ ? tiles_.begin - block.begin : ctx.warp() * kRingTiles;
    ctx.sync();
  }

  SAMPLER_DEVICE const Source &source() const { return source_; }
  SAMPLER_DEVICE sampler_input_kind kind() const { return source_.kind; }
  SAMPLER_DEVICE int count() const { return source_.count; }
  SAMPLER_DEVICE uint32_t id(int index) const { return uint32_t(source_.id(index)); }

  // The start of this warp's part of the row; the first warp's may begin before the row.
  SAMPLER_DEVICE int first_index() const { return tiles_.begin * kTile - source_.lead; }

  // The pass that reads the source, and leaves in shared memory what fits.
  template <class F>
  SAMPLER_DEVICE void load_each(const F &f) {
    for_each(f);
    is_resident_ = fits_;
  }

  // Calls f(value, id) for each element, every element on one thread of the team, a thread's by
  // ascending index.
  template <class F>
  SAMPLER_DEVICE void for_each(const F &f) const {
    for_each_tile([&](const TeamRow &row, int position, const float(&x)[kVector]) {
      row.each_of(position, x, f);
      return true;
    });
  }

  // Calls f(position, x) for each vector of elements, some of which may lie outside the row.
  template <class F>
  SAMPLER_DEVICE void for_each_vector(const F &f) const {
    for_each_tile([&](const TeamRow &, int position, const float(&x)[kVector]) {
      f(position, x);
      return true;
    });
  }

  // Calls f(wanted, key) for each element, all lanes of a warp together: with Order's key of the
  // element and whether `is_wanted(key)`, or with false where a lane has no element. Vectors of
  // which no lane wants any are left out.
  template <class Order, class IsWanted, class F>
  SAMPLER_DEVICE void for_each_together(const IsWanted &is_wanted, const F &f) const {
    for_each_tile([&](const TeamRow &row, int position, const float(&x)[kVector]) {
      const int index = position - row.source_.lead;
      uint64_t key[kVector];
      uint32_t wanted = 0;
      for (int i = 0; i < kVector; ++i) {
        const bool in_row = index + i >= 0 && index + i < row.count();
        key[i] = in_row ? Order::key(x[i], row.id(index + i)) : 0;
        if (in_row && is_wanted(key[i])) wanted |= uint32_t(1) << i;
      }
      if (row.ctx_.ballot(wanted != 0) != 0) {
        SAMPLER_KEEP_ROLLED  // the keys in memory: f has calls, and no registers for them all
            for (int i = 0; i < kVector; ++i) f((wanted >> i & 1) != 0, key[i]);
      }
      return true;
    });
  }

  // Id of the element at which the running sum of measure(value, id), by ascending index over this
  // warp's part, first exceeds `target`; -1 if it never does. Every lane has the result. Not for
  // rows with ids.
  template <class Measure>
  SAMPLER_DEVICE int find_in_warp(uint64_t target, const Measure &measure) const {
    uint64_t sum = 0;
    int result = -1;
    for_each_tile([&](const TeamRow &row, int position, const float(&x)[kVector]) {
      uint64_t own = 0;
      row.each_of(position, x, [&](float value, uint32_t id) { own += measure(value, id); });
      const uint64_t through = sum + row.ctx_.warp_inclusive_sum(own);
      const uint32_t exceeding = row.ctx_.ballot(through > target);
      if (exceeding == 0) {
        sum = row.ctx_.warp_broadcast(through, 31);
        return true;
      }
      uint64_t running = through - own;
      int found = -1;
      row.each_of(position, x, [&](float value, uint32_t id) {
        running += measure(value, id);
        if (found < 0 && running > target) found = int(id);
      });
      result =
          int(row.ctx_.warp_broadcast(uint64_t(uint32_t(found)), Context::lowest_bit(exceeding)));
      return false;
    });
    return result;
  }

  // Whether the vector at this position holds elements of the row only.
  SAMPLER_DEVICE bool is_inside(int position) const {
    return position >= source_.lead && position + kVector <= source_.lead + source_.count;
  }

 private:
  static constexpr bool kIsCopied = Source::kIsCopied;

  SAMPLER_DEVICE int element_bytes() const {
    if constexpr (kIsCopied) {
      return int(contract::size_of(source_.dtype));
    } else {
      return int(sizeof(float));
    }
  }

  // Straight where nothing is to be looked at but the values; else, and that is rare, one by one.
  template <class F>
  SAMPLER_DEVICE void each_of(int position, const float (&x)[kVector], const F &f) const {
    const int index = position - source_.lead;
    if (!source_.ids && is_inside(position)) {
      for (int i = 0; i < kVector; ++i) f(x[i], uint32_t(index + i));
      return;
    }
    SAMPLER_KEEP_ROLLED
    for (int i = index < 0 ? 0 : index; i < index + kVector && i < source_.count; ++i) {
      f(source_.value(i), id(i));
    }
  }

  // Calls use(row, position, x), which all of the warp do, for this lane's vector of each of the
  // warp's tiles, until it returns false. A lane copies what it uses itself, so nothing but its own
  // copies is waited for.
  template <class Use>
  SAMPLER_DEVICE void for_each_tile(const Use &use) const {
    const TeamRow row = *this;  // in registers, whatever the pass writes to
    const int lane_offset = row.ctx_.lane() * kVector;
    const bool copies = kIsCopied && !row.is_resident_;
    if (copies) {
      SAMPLER_KEEP_ROLLED
      for (int i = 0; i < kCopiesInFlight; ++i) row.start_copy(row.tiles_.begin + i);
    }
    SAMPLER_KEEP_ROLLED
    for (int tile = row.tiles_.begin; tile < row.tiles_.end; ++tile) {
      float x[kVector];
      if (copies) row.ctx_.template wait_for_copies<kCopiesInFlight - 1>();
      if (kIsCopied || row.is_resident_) {
        row.read(tile, x);
      } else {
        row.load(tile, x);
      }
      if (!use(row, tile * kTile + lane_offset, x)) break;
      if (copies) row.start_copy(tile + kCopiesInFlight);
    }
    if (copies) row.ctx_.template wait_for_copies<0>();
  }

  // Where this lane's vector of one of the warp's tiles stands in shared memory.
  SAMPLER_DEVICE char *slot(int tile) const {
    const unsigned from_first = unsigned(tile - tiles_.begin);
    const unsigned slot = unsigned(first_slot_) + (fits_ ? from_first : from_first % kRingTiles);
    return memory_ + (slot * kTile + unsigned(ctx_.lane() * kVector)) * unsigned(element_bytes());
  }

  // The next of the groups of copies that are waited for, empty after the last tile.
  SAMPLER_DEVICE void start_copy(int tile) const {
    if constexpr (kIsCopied) {
      if (tile < tiles_.end) {
        const int position = tile * kTile + ctx_.lane() * kVector;
        const int index = position - source_.lead;
        if (!is_inside(position)) {
          copy_edge(source_.values, source_.dtype, source_.count, index, slot(tile));
        } else if (source_.dtype == SAMPLER_F32) {
          ctx_.copy_async(reinterpret_cast<Vector32 *>(slot(tile)),
                          reinterpret_cast<const Vector32 *>(
                              static_cast<const float *>(source_.values) + index));
        } else {
          ctx_.copy_async(reinterpret_cast<Vector16 *>(slot(tile)),
                          reinterpret_cast<const Vector16 *>(
                              static_cast<const uint16_t *>(source_.values) + index));
        }
      }
      ctx_.commit_copies();
    }
  }

  SAMPLER_DEVICE_CALL static void copy_edge(const void *values, sampler_dtype dtype, int count,
                                            int index, char *slot) {
    for (int i = 0; i < kVector; ++i) {
      if (index + i < 0 || index + i >= count) continue;
      if (dtype == SAMPLER_F32) {
        reinterpret_cast<float *>(slot)[i] = static_cast<const float *>(values)[index + i];
      } else {
        reinterpret_cast<uint16_t *>(slot)[i] = static_cast<const uint16_t *>(values)[index + i];
      }
    }
  }

  SAMPLER_DEVICE void read(int tile, float (&x)[kVector]) const {
    if constexpr (kIsCopied) {
      if (source_.dtype != SAMPLER_F32) {
        widen(ctx_.load_vector(reinterpret_cast<const Vector16 *>(slot(tile))), source_.dtype, x);
        return;
      }
    }
    widen(ctx_.load_vector(reinterpret_cast<const Vector32 *>(slot(tile))), SAMPLER_F32, x);
  }

  SAMPLER_DEVICE void load(int tile, float (&x)[kVector]) const {
    if constexpr (!kIsCopied) {
      source_.load(ctx_, tile * kTile + ctx_.lane() * kVector, x);
      if (!fits_) return;
      Vector32 raw;
      for (int i = 0; i < kVector; ++i) raw.element[i] = x[i];
      ctx_.store_vector(reinterpret_cast<Vector32 *>(slot(tile)), raw);
    }
  }

  Context &ctx_;
  std::conditional_t<kIsCopied, Source, const Source &> source_;  // a copy, or too large for one
  char *memory_;
  Part tiles_;  // this warp's
  int first_slot_;
  bool fits_;
  bool is_resident_ = false;
};

}  // namespace sampler::kernels
