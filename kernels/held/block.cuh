// A row in the shared memory of a team: each block copies its part, and passes over that.
#pragma once

#include <cstdint>

#include "contract/draw.h"
#include "contract/elements.h"
#include "contract/weight.h"
#include "held/held.h"
#include "machine/device.cuh"
#include "row/output.cuh"
#include "row/row.cuh"
#include "stream/ranked_list.cuh"
#include "stream/streamed_row.cuh"

namespace sampler::kernels {

// A row of any type that is held as f32: laid out like one of that type.
struct HeldRow : StreamedRow<SAMPLER_F32> {
  sampler_dtype dtype = SAMPLER_F32;

  SAMPLER_DEVICE static HeldRow of(const void *values, int count, sampler_dtype dtype) {
    HeldRow row;
    row.dtype = dtype;
    row.lead = elements_to_alignment(values, dtype);
    row.begin = static_cast<const char *>(values) - row.lead * int(contract::size_of(dtype));
    row.count = count;
    return row;
  }
  SAMPLER_DEVICE static HeldRow of(const contract::RowView &view) {
    return of(view.values, view.count, view.dtype);
  }

  SAMPLER_DEVICE float value(int index) const {
    return contract::load_value(begin, dtype, lead + index);
  }
};

// A block's part of a row, held as vectors where the lane that uses them finds them: those of a
// tile side by side, 16 bytes a lane. A group of 16 bits takes the last two of its four, until f32
// replace it.
template <class Context, sampler_dtype kDtype, class Shared, class RowType = StreamedRow<kDtype>>
class HeldBlock : protected RankedList<Context, Shared> {
 public:
  SAMPLER_DEVICE HeldBlock(const Context &context, const Held &layout)
      : RankedList<Context, Shared>(context, context.template shared<Shared>()), held(layout) {
    begin_ = context.cluster_rank() * held.tiles_of_block;
  }

 protected:
  using List = RankedList<Context, Shared>;
  using List::ctx;
  using List::shared;
  using List::sum_of_warps;
  using Row = RowType;
  static constexpr int kWarps = Context::kWarps;
  static constexpr int kSlots = kGroup / kQuad;  // vectors of f32 per group
  static constexpr int kFirstRaw = kSlots - Row::kVectors;

  SAMPLER_DEVICE int64_t index() const { return ctx.team(); }
  SAMPLER_DEVICE bool is_leader() const { return ctx.cluster_rank() == 0; }

  // A lane's vector of one of the block's tiles.
  SAMPLER_DEVICE Vector *place(int tile, int slot) const {
    return reinterpret_cast<Vector *>(&shared + 1) + (tile * kSlots + slot) * 32 + ctx.lane();
  }

  // Calls f(tile, of the block) for each of the warp's tiles that the row has.
  template <class F>
  SAMPLER_DEVICE void for_each_tile(const Row &row, const F &f) const {
    const int end = tiles_of(row);
    SAMPLER_KEEP_ROLLED
    for (int tile = ctx.warp(); tile < end; tile += kWarps) f(tile);
  }
  SAMPLER_DEVICE int tiles_of(const Row &row) const {
    const int in_row = (row.lead + row.count + kTile - 1) / kTile - begin_;
    return in_row < held.tiles_of_block ? in_row : held.tiles_of_block;
  }
  // Index of element `i` of the lane's group.
  SAMPLER_DEVICE int index_of(const Row &row, int tile, int i) const {
    return Row::position(begin_ + tile, ctx.lane(), i / Row::kElements) + i % Row::kElements -
           row.lead;
  }

  // Begins to copy the block's part: wait_for_part() ends it.
  SAMPLER_DEVICE void begin_load(const Row &row) const {
    for_each_tile(row, [&](int tile) {
      if (row.is_whole(begin_ + tile)) {
        const char *const from =
            row.begin + Row::position(begin_ + tile, ctx.lane(), 0) * int64_t(Row::kBytes);
        SAMPLER_UNROLLED
        for (int i = 0; i < Row::kVectors; ++i) {
          ctx.copy_async(place(tile, kFirstRaw + i),
                         reinterpret_cast<const Vector *>(from + i * kVectorStep));
        }
      } else {
        Vector raw[Row::kVectors];
        row.load_any(ctx, begin_ + tile, raw);
        SAMPLER_UNROLLED
        for (int i = 0; i < Row::kVectors; ++i)
          ctx.store_vector(place(tile, kFirstRaw + i), raw[i]);
      }
    });
  }
  SAMPLER_DEVICE void wait_for_part() const {
    ctx.commit_copies();
    ctx.wait_for_launch_before();
    ctx.template wait_for_copies<0>();
  }
  // A group as it was loaded.
  SAMPLER_DEVICE void raw_group(int tile, Vector (&raw)[Row::kVectors]) const {
    SAMPLER_UNROLLED
    for (int i = 0; i < Row::kVectors; ++i) raw[i] = ctx.load_shared(place(tile, kFirstRaw + i));
  }
  // The key of the thread's largest element.
  SAMPLER_DEVICE uint32_t key_of_part(const Row &row) const {
    float max = contract::negative_infinity();
    for_each_tile(row, [&](int tile) {
      Vector raw[Row::kVectors];
      raw_group(tile, raw);
      max = Context::larger(max, largest<kDtype, Context>(raw));
    });
    return key_or_bad(max);
  }
  // A group of f32.
  SAMPLER_DEVICE void group(int tile, float (&x)[kGroup]) const {
    SAMPLER_UNROLLED
    for (int slot = 0; slot < kSlots; ++slot) {
      const Vector from = ctx.load_shared(place(tile, slot));
      SAMPLER_UNROLLED
      for (int j = 0; j < kQuad; ++j) x[slot * kQuad + j] = contract::float_of(from.word[j]);
    }
  }
  // A group's vector of the row. kIsRaw: as it was loaded; else of f32.
  template <bool kIsRaw>
  SAMPLER_DEVICE void elements(int tile, int vector, float (&x)[Row::kElements]) const {
    if constexpr (kIsRaw) {
      const Vector raw = ctx.load_shared(place(tile, kFirstRaw + vector));
      SAMPLER_UNROLLED
      for (int i = 0; i < Row::kElements; ++i) x[i] = element<kDtype>(raw, i);
    } else {
      SAMPLER_UNROLLED
      for (int i = 0; i < Row::kElements; i += kQuad) {
        const Vector from = ctx.load_shared(place(tile, (vector * Row::kElements + i) / kQuad));
        SAMPLER_UNROLLED
        for (int j = 0; j < kQuad; ++j) x[i + j] = contract::float_of(from.word[j]);
      }
    }
  }
  // The key of its largest element.
  SAMPLER_DEVICE uint32_t key_of_group(int tile) const {
    float x[kGroup];
    group(tile, x);
    float max = x[0];
    SAMPLER_UNROLLED
    for (int i = 1; i < kGroup; ++i) max = Context::larger(max, x[i]);
    return key_or_bad(max);
  }
  // Element `i` of a tile of f32, in order, of the block that has it.
  SAMPLER_DEVICE static int place_of(int tile, int i) {
    const int vector = i / Row::kElements, in_vector = i % Row::kElements;
    const int slot = (vector / 32 * Row::kElements + in_vector) / kQuad;
    return ((tile * kSlots + slot) * 32 + vector % 32) * kQuad + in_vector % kQuad;
  }
  SAMPLER_DEVICE float *values() const { return reinterpret_cast<float *>(&shared + 1); }
  SAMPLER_DEVICE static float element_of(const Vector (&raw)[Row::kVectors], int i) {
    return element<kDtype>(raw[i / Row::kElements], i % Row::kElements);
  }

  // Gives every block the team's values, which must be the same in all threads of a block. A
  // barrier of the team. Valid until the second exchange after it.
  template <int kCount>
  SAMPLER_DEVICE const uint64_t (*exchange(const uint64_t (&values)[kCount]))[kMostHeldTeam] {
    uint64_t(*const half)[kMostHeldTeam] = shared.values[parity_];
    parity_ ^= 1;
    SAMPLER_UNROLLED
    for (int i = 0; i < kCount; ++i) {
      if (ctx.thread() < ctx.team_size()) {
        *ctx.peer(&half[i][ctx.cluster_rank()], ctx.thread()) = values[i];
      }
    }
    ctx.team_sync();
    return half;
  }
  SAMPLER_DEVICE uint64_t sum(const uint64_t (&values)[kMostHeldTeam]) const {
    uint64_t result = 0;
    SAMPLER_KEEP_ROLLED
    for (int i = 0; i < ctx.team_size(); ++i) result += values[i];
    return result;
  }
  SAMPLER_DEVICE uint32_t max_of_team(uint32_t key) {
    const uint64_t own[] = {this->max_of_block(key)};
    return max(exchange(own)[0]);
  }
  SAMPLER_DEVICE uint32_t max(const uint64_t (&keys)[kMostHeldTeam]) const {
    uint32_t result = 0;
    SAMPLER_KEEP_ROLLED
    for (int i = 0; i < ctx.team_size(); ++i) {
      if (uint32_t(keys[i]) > result) result = uint32_t(keys[i]);
    }
    return result;
  }
  // Sum over the team of the threads' weights.
  SAMPLER_DEVICE uint64_t weight_of_team(uint64_t own) {
    const uint64_t values[] = {this->sum_of_threads(own, 1)};
    return sum(exchange(values)[0]);
  }

  // ---- Rows of output ---------------------------------------------------------------------------

  // Writes the block's part; make(tile, i, x) gives x the kElements of the group from `i` on.
  template <class Make>
  SAMPLER_DEVICE void write(const OutputRows &output, const Row &row, const Make &make) const {
    const int64_t begin = index() * output.stride;
    for_each_tile(row, [&](int tile) {
      SAMPLER_KEEP_ROLLED
      for (int i = 0; i < kGroup; i += Row::kElements) {
        float x[Row::kElements];
        make(tile, i, x);
        const int first = index_of(row, tile, i);
        if (row.is_whole(begin_ + tile)) {
          output.template store_run<Row::kElements>(ctx, begin + first, x);
          continue;
        }
        for (int j = 0; j < Row::kElements; ++j) {
          if (uint32_t(first + j) < uint32_t(row.count)) output.store(begin + first + j, x[j]);
        }
      }
    });
  }

  // A bad row: zeros, or a copy of the input.
  SAMPLER_DEVICE void write_bad(const OutputRows &output, const Row &row, bool is_mask) const {
    const int first = begin_ * kTile - row.lead;
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < tiles_of(row) * kTile; i += Context::kThreads) {
      if (uint32_t(first + i) >= uint32_t(row.count)) continue;
      output.store(index() * output.stride + first + i, is_mask ? row.value(first + i) : 0.0f);
    }
  }

  // An element, in whichever block has it.
  SAMPLER_DEVICE float &value_in_team(const Row &row, int element) const {
    const int position = element + row.lead, tile = position / kTile;
    const int rank = tile / held.tiles_of_block;
    return *ctx.peer(&values()[place_of(tile - rank * held.tiles_of_block, position % kTile)],
                     rank);
  }

  // ---- Draws ------------------------------------------------------------------------------------

  // Draws a token, which the leader gets after the team's next barrier, from a row of f32, by
  // relative(x, index), which has its weight. Returns the row's weight. `word`: random.
  template <class Relative>
  SAMPLER_DEVICE uint64_t draw_by_tiles(const Row &row, uint64_t word, const Relative &relative) {
    const uint64_t own = weigh_tiles<false>(row, relative);
    return find_drawn<false>(row, own, word, relative, [&](int id, float x, uint64_t) {
      HeldDrawn *const drawn = ctx.peer(&shared.drawn, 0);
      drawn->id = id;
      drawn->value = x;
    });
  }

  // Weighs the block's tiles for find_drawn(). Returns the warp's weight. kIsRaw: of a row as it
  // was loaded; else of f32.
  template <bool kIsRaw, class Relative>
  SAMPLER_DEVICE uint64_t weigh_tiles(const Row &row, const Relative &relative) const {
    uint64_t own = 0;
    for_each_tile(row, [&](int tile) {
      float x[kGroup];
      if constexpr (kIsRaw) {
        Vector raw[Row::kVectors];
        raw_group(tile, raw);
        SAMPLER_UNROLLED
        for (int i = 0; i < kGroup; ++i) x[i] = element_of(raw, i);
      } else {
        group(tile, x);
      }
      contract::WeightSum weights;
      SAMPLER_UNROLLED
      for (int i = 0; i < kGroup; ++i) weights.add(relative(x[i], index_of(row, tile, i)));
      const uint64_t weight = ctx.warp_sum(weights.of(kGroup));
      if (ctx.lane() == 0) shared.tile_weights[tile] = weight;
      own += weight;
    });
    return own;
  }

  // Finds the drawn token by the warps' weights: one thread of the team calls found(id, value, the
  // row's weight). Returns that weight.
  template <bool kIsRaw, class Relative, class Found>
  SAMPLER_DEVICE uint64_t find_drawn(const Row &row, uint64_t own, uint64_t word,
                                     const Relative &relative, const Found &found) {
    const uint64_t weights[] = {sum_of_warps(own, 1)};
    const auto *const all = exchange(weights);
    const uint64_t total = sum(all[0]);
    uint64_t target = contract::draw_target(word, total);
    int rank = 0;
    SAMPLER_KEEP_ROLLED
    for (; target >= all[0][rank]; ++rank) target -= all[0][rank];
    if (rank != ctx.cluster_rank() || ctx.warp() != 0) return total;
    int tile = 0;
    SAMPLER_KEEP_ROLLED
    for (;; tile += 32) {
      const int mine = tile + ctx.lane();
      const uint64_t weight = mine < tiles_of(row) ? shared.tile_weights[mine] : 0;
      const int lane = this->find(weight, &target);
      if (lane == 32) continue;
      tile += lane;
      break;
    }
    // In order: the first vectors of the lanes' groups, the second ones, and so on.
    SAMPLER_KEEP_ROLLED
    for (int vector = 0;; ++vector) {
      const int first = Row::position(begin_ + tile, ctx.lane(), vector) - row.lead;
      float x[Row::kElements];
      elements<kIsRaw>(tile, vector, x);
      uint64_t own_weights[Row::kElements], mine = 0;
      SAMPLER_UNROLLED
      for (int i = 0; i < Row::kElements; ++i) {
        own_weights[i] = contract::weight_of(relative(x[i], first + i));
        mine += own_weights[i];
      }
      const int lane = this->find(mine, &target);
      if (lane == 32) continue;
      if (ctx.lane() != lane) return total;
      int drawn = first;
      float value = x[0];
      uint64_t up_to = own_weights[0];
      SAMPLER_UNROLLED
      for (int i = 1; i < Row::kElements; ++i) {
        if (target >= up_to) {
          drawn = first + i;
          value = x[i];
        }
        up_to += own_weights[i];
      }
      found(drawn, value, total);
      return total;
    }
  }

  const Held &held;
  int begin_;  // the block's first tile
  int parity_ = 0;
};

}  // namespace sampler::kernels
