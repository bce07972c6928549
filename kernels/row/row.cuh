// A row as a team sees it: divided among blocks and warps in order, kept in shared memory where it
// fits; and the passes over it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "contract/elements.h"
#include "contract/rank.h"
#include "contract/request.h"
#include "contract/row_view.h"
#include "launch/plan.h"
#include "machine/device.cuh"
#include "machine/team.cuh"

namespace sampler::kernels {

using contract::Rank;

constexpr int kNoLastIndex = 0x7FFFFFFF;
constexpr int kQuad = 4;  // consecutive elements of a group, for every type

// Where a copying pass takes the row's addresses from. Most passes need their registers and copy
// rarely: they read them from the caller's row, in memory.
enum class Starts { kFromMemory, kFromRegisters };

// One load or store: four f32 or eight elements of 16 bits.
struct alignas(16) Vector {
  uint32_t word[4];
};

struct alignas(8) HalfVector {
  uint32_t word[2];
};

// Tiles in flight of a warp that loads a row to stay in shared memory; they need no buffers.
constexpr int kLoadsInFlight = 3;

constexpr int kVectorStep = 32 * int(sizeof(Vector));  // bytes between a lane's vectors

// The two 16-bit elements of a word, for rows without NaN.
SAMPLER_DEVICE inline void widen_pair(uint32_t word, sampler_dtype dtype, float *x) {
  if (dtype == SAMPLER_BF16) {
    x[0] = contract::float_of(word << 16);
    x[1] = contract::float_of(word & 0xFFFF0000u);
  } else {
    x[0] = contract::widen_f16_number(uint16_t(word));
    x[1] = contract::widen_f16_number(uint16_t(word >> 16));
  }
}

// The elements of a vector of such a row.
template <sampler_dtype kDtype>
SAMPLER_DEVICE void widen_vector(const Vector &raw, float *x) {
  for (int i = 0; i < 4; ++i) {
    if constexpr (kDtype == SAMPLER_F32) {
      x[i] = contract::float_of(raw.word[i]);
    } else {
      widen_pair(raw.word[i], kDtype, &x[2 * i]);
    }
  }
}

// Place of element `i` of a lane's group in a tile with vectors of 2^shift elements. Ascends with
// i.
SAMPLER_HD inline int place_in_tile(int lane, int i, int shift) {
  return ((i >> shift) << (5 + shift)) + (lane << shift) + (i & ((1 << shift) - 1));
}

// A row in the caller's memory. Elements are addressed by position: element 0 is at `lead`, chosen
// so that vectors at multiples of their size are aligned.
struct StoredRow : contract::RowView {
  static constexpr bool kIsCopied = true;

  int lead;

  // Lowest bits of an f32 that the element type does not have.
  SAMPLER_HD int unused_value_bits() const {
    return dtype == SAMPLER_BF16 ? 16 : dtype == SAMPLER_F16 ? 13 : 0;
  }

  // Log2 of a vector's number of elements.
  SAMPLER_HD int log2_of_vector() const { return dtype == SAMPLER_F32 ? 2 : 3; }

  // Id of element 0 of a row without ids.
  SAMPLER_HD static constexpr uint32_t first_id() { return 0; }

  // The vector that begins at element `index`.
  template <sampler_dtype kDtype>
  SAMPLER_HD const Vector *vector_at(int index) const {
    constexpr int kSize = kDtype == SAMPLER_F32 ? 4 : 2;
    return reinterpret_cast<const Vector *>(static_cast<const char *>(values) +
                                            int64_t(index) * kSize);
  }

  // Elements [index, index + kQuad), which must all be in the row.
  template <class Context>
  SAMPLER_DEVICE void load(Context &ctx, int index, float (&x)[kQuad]) const {
    if ((index + lead) % kQuad != 0) {
      for (int i = 0; i < kQuad; ++i) x[i] = value(index + i);
    } else if (dtype == SAMPLER_F32) {
      const float *from = static_cast<const float *>(values) + index;
      const Vector raw = ctx.load_vector(reinterpret_cast<const Vector *>(from));
      for (int i = 0; i < kQuad; ++i) x[i] = contract::float_of(raw.word[i]);
    } else {
      const uint16_t *from = static_cast<const uint16_t *>(values) + index;
      const HalfVector raw = ctx.load_vector(reinterpret_cast<const HalfVector *>(from));
      for (int i = 0; i < kQuad / 2; ++i) widen_pair(raw.word[i], dtype, &x[2 * i]);
    }
  }
};

// Number of elements since the last vector-aligned address.
SAMPLER_HD inline int elements_to_alignment(const void *values, sampler_dtype dtype) {
  const int log2_size = dtype == SAMPLER_F32 ? 2 : 1;
  return int(reinterpret_cast<uintptr_t>(values) % sizeof(Vector)) >> log2_size;
}

SAMPLER_HD inline StoredRow stored_row(const contract::RowView &view) {
  StoredRow row;
  static_cast<contract::RowView &>(row) = view;
  row.lead = elements_to_alignment(view.values, view.dtype);
  return row;
}

// A part [begin, end) of a range that is divided evenly and in order. The range's size times the
// number of parts must be below 2^31.
struct Part {
  int begin;
  int end;

  SAMPLER_HD Part of(int index, int count) const {
    const unsigned size = unsigned(end - begin);
    return {begin + int(size * unsigned(index) / unsigned(count)),
            begin + int(size * unsigned(index + 1) / unsigned(count))};
  }
};

// A team's share of a row that is divided into `count` equal parts.
struct Slice {
  int index = 0;
  int count = 1;
};

// The block's shared memory for rows: at least a ring per warp. A part of a row that fits stays
// there; otherwise each pass streams through the rings. The rest is for group maxima.
struct RowCache {
  char *memory;
  int num_bytes;
};

// The id of an element: read from device memory, or the index.
template <class Context, class Source>
SAMPLER_DEVICE int64_t id_of(Context &, const Source &source, int index) {
  return source.id(index);
}

// 32 ids of the team's bitmap.
template <class Context>
SAMPLER_DEVICE uint32_t word_of_bitmap(Context &, const uint32_t *bitmap, int word) {
  return bitmap[word];
}

// A row divided among the team. Source: a StoredRow, whose elements are copied to shared memory as
// they are; or a class with count, lead, kind, ids, id(), value(), log2_of_vector() and kIsCopied
// false, whose elements fill(context, tile's first index, x) computes and which are held as f32. It
// must outlive the row.
//
// A warp processes one tile at a time. A lane's elements of it are its group: vectors a warp's
// width apart, so that the lanes together read contiguously. A lane reads only its own elements.
// Beyond the row's end a tile holds a value that is never kept.
template <class Context, class Source>
class TeamRow {
 public:
  // A barrier of the block: other warps may still read the row before it, which was divided
  // differently.
  SAMPLER_DEVICE TeamRow(Context &ctx, const Source &source, const RowCache &row_cache,
                         const Slice &slice = {})
      : ctx_(ctx), source_(source) {
    const Part row = {0, (source.lead + source.count + kTile - 1) / kTile};
    whole_ = {source.lead > 0 ? 1 : 0, (source.lead + source.count) / kTile};
    const Part team = row.of(slice.index, slice.count);
    const Part block = team.of(ctx.cluster_rank(), ctx.team_size());
    // The most tiles of any of the team's blocks, so that all decide alike whether something fits.
    const int num_tiles = (team.end - team.begin + ctx.team_size() - 1) / ctx.team_size();
    tiles_ = block.of(ctx.warp(), Context::kThreads / 32);
    first_of_block_ = tiles_.begin - block.begin;
    fits_ = int64_t(num_tiles) * tile_bytes() <= row_cache.num_bytes;
    slots_ = row_cache.memory + ctx.lane() * int(sizeof(Vector)) +
             (fits_ ? first_of_block_ : ctx.warp() * kRingTiles) * tile_bytes();
    const int row_bytes = fits_ ? num_tiles * tile_bytes() : ring_bytes(Context::kThreads);
    has_maxima_ = row_bytes + num_tiles * kMaximaBytes <= row_cache.num_bytes;
    maxima_ =
        reinterpret_cast<float *>(row_cache.memory + row_bytes) + first_of_block_ * 32 + ctx.lane();
    if constexpr (kIsCopied) {
      // Integer arithmetic: the values of an empty part may be NULL.
      const int before = source.lead * int(contract::size_of(source.dtype));
      from_ = reinterpret_cast<const char *>(reinterpret_cast<uintptr_t>(source.values) -
                                             uintptr_t(before) +
                                             uintptr_t(ctx.lane() * int(sizeof(Vector))));
    }
    ctx.sync();
  }

  SAMPLER_DEVICE const Source &source() const { return source_; }
  SAMPLER_DEVICE sampler_input_kind kind() const { return source_.kind; }
  SAMPLER_DEVICE int count() const { return source_.count; }
  SAMPLER_DEVICE uint32_t id(int index) const { return uint32_t(id_of(ctx_, source_, index)); }

  // This warp's tiles, and the index of the first among the block's.
  SAMPLER_DEVICE Part tiles() const { return tiles_; }
  SAMPLER_DEVICE int first_of_block() const { return first_of_block_; }

  // Index of the tile's first element; may be negative.
  SAMPLER_DEVICE int begin_of(int tile) const { return tile * kTile - source_.lead; }

  SAMPLER_DEVICE static int lowest_bit(uint32_t bits) { return Context::lowest_bit(bits); }

  // Index of element `i` of this lane's group.
  SAMPLER_DEVICE int index_of(int tile, int i) const {
    return begin_of(tile) + place_in_tile(ctx_.lane(), i, log2_of_vector());
  }
  SAMPLER_DEVICE bool is_in_row(int index) const { return index >= 0 && index < source_.count; }

  // Whether the whole tile lies in the row.
  SAMPLER_DEVICE bool is_inside(int tile) const {
    return tile >= whole_.begin && tile < whole_.end;
  }

  // Number of consecutive elements in a group.
  SAMPLER_DEVICE int elements_of_vector() const { return 1 << log2_of_vector(); }

  // The value that replaces those of removed tokens.
  SAMPLER_DEVICE float nothing() const {
    return kind() == SAMPLER_LOGITS ? contract::negative_infinity() : 0.0f;
  }

  // The block's tiles; the tile that holds an element.
  SAMPLER_DEVICE Part tiles_of_block() const {
    const Part row = {0, (source_.lead + source_.count + kTile - 1) / kTile};
    return row.of(ctx_.cluster_rank(), ctx_.team_size());
  }
  SAMPLER_DEVICE int tile_of(int index) const { return (index + source_.lead) / kTile; }

  // Element `i` of this lane's group of the current tile.
  SAMPLER_DEVICE float element(int tile, int i) const {
    return contract::load_value(slot(tile) + offset_of(i), dtype(), 0);
  }

  // False if, by the group maxima, no element of the tile reaches `low`. Called by the whole warp.
  SAMPLER_DEVICE bool may_reach(int tile, float low) const { return AtLeast{low}(*this, tile); }

  // A thread's extreme elements.
  struct Extremes {
    float max;     // NaN if any element is
    float min;     // +inf if there are no elements
    int max_tile;  // first tile with `max`
  };

  // The pass that reads the source. Leaves in shared memory what fits: the row, and each group's
  // largest value.
  SAMPLER_DEVICE Extremes load() {
    const Extremes all =
        fits_ ? load_by<true, kLoadsInFlight>() : load_by<false, kCopiesInFlight>();
    is_resident_ = fits_;
    return all;
  }

  // The same for elements that `make(row, tile, x)` computes for this lane's group. Returns the
  // thread's largest.
  template <class Make>
  SAMPLER_DEVICE float load_made(const Make &make) {
    const TeamRow row = *this;
    float all = nothing();
    SAMPLER_KEEP_ROLLED
    for (int tile = row.tiles_.begin; tile < row.tiles_.end; ++tile) {
      float x[kGroup];
      make(row, tile, x);
      row.put(tile, x);
      float max = x[0];
      for (int i = 1; i < kGroup; ++i) max = Context::larger(max, x[i]);
      row.keep_maximum(tile, max);
      all = Context::larger(all, max);
    }
    is_resident_ = fits_;
    return all;
  }

  // Replaces load() if it was done before with the same source, slice and cache, and no other row
  // since.
  SAMPLER_DEVICE void resume() { is_resident_ = fits_; }

  // Replaces load() if nothing is needed of the row before the passes: no maxima are known.
  SAMPLER_DEVICE void pass_over() { has_maxima_ = false; }

  // The first index of a value in this lane's group of a tile; row size if absent.
  SAMPLER_DEVICE int index_of_value(int tile, float value) const {
    if (tile >= tiles_.end) return source_.count;
    SAMPLER_KEEP_ROLLED
    for (int i = 0; i < kGroup; ++i) {
      const int index = index_of(tile, i);
      if (!is_in_row(index)) continue;
      if ((is_resident_ ? element(tile, i) : source_.value(index)) == value) return index;
    }
    return source_.count;
  }

  // Calls f(row, tile, first, x) with the elements from `first` on of this lane's group of each
  // tile, in the whole warp. Tiles with all values below `low` may be skipped.
  template <Starts kStarts = Starts::kFromMemory, class F>
  SAMPLER_DEVICE void for_each_run(float low, const F &f) const {
    for_each_run_of_known<kStarts>(
        low, [](const TeamRow &, int) { return 0; },
        [&](const TeamRow &row, int tile, int first, float(&x)[kRun], int) {
          f(row, tile, first, x);
        });
  }

  // The same with the result of `of_tile(row, tile)`, which is called once per tile.
  template <Starts kStarts = Starts::kFromMemory, class OfTile, class F>
  SAMPLER_DEVICE void for_each_run_of_known(float low, const OfTile &of_tile, const F &f) const {
    const auto read_runs = [&](const TeamRow &row, int tile) {
      const auto known = of_tile(row, tile);
      SAMPLER_KEEP_ROLLED
      for (int first = 0; first < kGroup; first += kRun) {
        float x[kRun];
        row.read(tile, first, x);
        f(row, tile, first, x, known);
      }
      return true;
    };
    for_each_tile<kCopiesInFlight, kStarts>(AtLeast{low}, read_runs);
  }

  // Calls f(value, index) for each element, in ascending order within a thread.
  template <class F>
  SAMPLER_DEVICE void for_each(const F &f) const {
    for_each_tile(Everything(), [&](const TeamRow &row, int tile) {
      SAMPLER_KEEP_ROLLED
      for (int i = 0; i < kGroup; ++i) {
        const int index = row.index_of(tile, i);
        if (row.is_in_row(index)) f(row.element(tile, i), index);
      }
      return true;
    });
  }

  // Calls f(wanted, key) for each element whose key in Order lies in [low, high], in the whole
  // warp; `wanted` is false for lanes without such an element. Stops after a tile in which f last
  // returned false, the same in all lanes, and before the tiles beyond `last_index`.
  template <class Order, Starts kStarts = Starts::kFromMemory, class F>
  SAMPLER_DEVICE void for_each_between(uint64_t low, uint64_t high, int last_index,
                                       const F &f) const {
    const float low_value = Order::lowest_value(low), high_value = Order::highest_value(high);
    for_each_tile<kCopiesInFlight, kStarts>(AtLeast{low_value}, [&](const TeamRow &row, int tile) {
      if (row.begin_of(tile) > last_index) return false;
      uint32_t left = 0;
      SAMPLER_KEEP_ROLLED
      for (int first = 0; first < kGroup; first += kRun) {
        float x[kRun];
        row.read(tile, first, x);
        uint32_t wanted = 0;
        for (int i = 0; i < kRun; ++i) {
          if (!(x[i] < low_value) && !(x[i] > high_value)) wanted |= uint32_t(1) << i;
        }
        left |= wanted << first;
      }
      if (row.ctx_.ballot(left != 0) == 0) return true;
      bool goes_on = true;
      const uint32_t num_rounds = row.ctx_.warp_max(uint32_t(Context::count_bits(left)));
      SAMPLER_KEEP_ROLLED
      for (uint32_t round = 0; round < num_rounds; ++round) {
        const int i = left != 0 ? Context::lowest_bit(left) : 0;
        const int index = row.index_of(tile, i);
        const bool has_one = left != 0 && row.is_in_row(index);
        const uint64_t key = has_one ? Order::key(row.element(tile, i), row.id(index)) : 0;
        goes_on = f(has_one && low <= key && key <= high, key);
        left &= left - 1;
      }
      return goes_on;
    });
  }

  // The same for the group maxima, as if each were a token of rank `key`.
  template <class F>
  SAMPLER_DEVICE void for_each_maximum(uint64_t low, uint64_t high, const F &f) const {
    const float *maxima = maxima_;
    const int num_tiles = tiles_.end - tiles_.begin;
    SAMPLER_KEEP_ROLLED
    for (int i = 0; i < num_tiles; ++i) {
      const uint64_t key = contract::rank_of(maxima[i * 32], 0);
      f(low <= key && key <= high, key);
    }
  }
  SAMPLER_DEVICE bool has_maxima() const { return has_maxima_; }

  // From now on the group maxima are stored with those of the row's other slices: 32 a tile.
  SAMPLER_DEVICE void keep_maxima_in(float *of_row) {
    maxima_ = of_row + tiles_.begin * 32 + ctx_.lane();
    has_maxima_ = true;
  }

  // Copies them from there to shared memory, if there is room.
  SAMPLER_DEVICE void take_maxima(float *of_row) {
    if (!has_maxima_) return keep_maxima_in(of_row);
    constexpr int kVectors = kMaximaBytes / int(sizeof(Vector));
    const Vector *from = reinterpret_cast<const Vector *>(of_row) + tiles_.begin * kVectors;
    Vector *to = reinterpret_cast<Vector *>(maxima_ - ctx_.lane());
    const int num_vectors = (tiles_.end - tiles_.begin) * kVectors;
    for (int i = ctx_.lane(); i < num_vectors; i += 32) ctx_.copy_async(to + i, from + i);
    ctx_.commit_copies();
    ctx_.template wait_for_copies<0>();
    ctx_.warp_sync();
  }
  SAMPLER_DEVICE int num_groups() const {
    return (source_.lead + source_.count + kTile - 1) / kTile * 32;
  }

  // Id of the element at which the running sum of measure(value, id), by ascending index over this
  // warp's part, first exceeds `target`; -1 if `sum`, that of the whole part, does not. In every
  // lane. Not for rows with ids. `tile_sums`: the block's, as stored by weigh(), or null. Values
  // below `low` measure 0.
  template <class Measure>
  SAMPLER_DEVICE_CALL int find_in_warp(uint64_t target, uint64_t sum, const uint64_t *tile_sums,
                                       float low, const Measure &measure) const {
    int result = -1;
    if (target >= sum) return result;
    uint64_t before = 0;
    if (!tile_sums) {
      for_each_tile(AtLeast{low}, [&](const TeamRow &row, int tile) {
        uint64_t own = 0;
        SAMPLER_KEEP_ROLLED
        for (int i = 0; i < kGroup; ++i) own += row.measure_of(tile, i, measure);
        const uint64_t of_tile = row.ctx_.warp_sum(own);
        if (target < before + of_tile) {
          result = row.find_in_tile(tile, target - before, measure);
          return false;
        }
        before += of_tile;
        return true;
      });
      return result;
    }
    for (int first = tiles_.begin; first < tiles_.end && result < 0; first += 32) {
      const int tile = first + ctx_.lane();
      const int place = first_of_block_ + tile - tiles_.begin;
      const uint64_t own = tile < tiles_.end ? tile_sums[place] : 0;
      const uint64_t through = before + ctx_.warp_inclusive_sum(own);
      const uint32_t exceeding = ctx_.ballot(target < through);
      const int lane = exceeding != 0 ? Context::lowest_bit(exceeding) : 31;
      before = ctx_.warp_broadcast(exceeding != 0 ? through - own : through, lane);
      if (exceeding == 0) continue;
      bring(first + lane);
      result = find_in_tile(first + lane, target - before, measure);
    }
    return result;
  }

 private:
  static constexpr bool kIsCopied = Source::kIsCopied;

  // Predicates for the tiles of a pass.
  struct Everything {
    SAMPLER_DEVICE bool operator()(const TeamRow &, int) const { return true; }
  };
  struct AtLeast {
    float low;
    SAMPLER_DEVICE bool operator()(const TeamRow &row, int tile) const {
      return !row.has_maxima_ ||
             row.ctx_.ballot(!(row.maxima_[(tile - row.tiles_.begin) * 32] < low)) != 0;
    }
  };

  SAMPLER_DEVICE sampler_dtype dtype() const {
    if constexpr (kIsCopied) {
      return source_.dtype;
    } else {
      return SAMPLER_F32;
    }
  }
  SAMPLER_DEVICE bool is_f32() const { return dtype() == SAMPLER_F32; }
  SAMPLER_DEVICE int log2_of_vector() const { return source_.log2_of_vector(); }
  SAMPLER_DEVICE int tile_bytes() const { return is_f32() ? kTile * 4 : kTile * 2; }

  // Calls use(row, tile), in the whole warp, for each of the warp's tiles that `wants` selects,
  // until it returns false. A lane copies what it uses, so it waits for its own copies only.
  template <int kInFlight = kCopiesInFlight, Starts kStarts = Starts::kFromMemory, class Wants,
            class Use>
  SAMPLER_DEVICE void for_each_tile(const Wants &wants, const Use &use) const {
    const TeamRow row = *this;  // in registers, whatever memory the pass writes
    const TeamRow &starting = kStarts == Starts::kFromRegisters ? row : *this;
    const bool streams = !row.is_resident_;
    if (streams) {
      SAMPLER_KEEP_ROLLED
      for (int i = 0; i < kInFlight; ++i) starting.start(row.tiles_.begin + i, wants);
    }
    SAMPLER_KEEP_ROLLED
    for (int tile = row.tiles_.begin; tile < row.tiles_.end; ++tile) {
      if (streams) {
        starting.start(tile + kInFlight, wants);
        row.template arrive<kInFlight>();
      }
      if (!wants(row, tile)) continue;
      if (streams) row.make(tile);
      if (!use(row, tile)) break;
    }
    if (streams) row.template arrive<0>();
  }

  // Copies or computes one tile.
  SAMPLER_DEVICE void bring(int tile) const {
    if (is_resident_) return;
    start(tile, Everything());
    arrive<0>();
    make(tile);
  }

  // Address in shared memory of this lane's first vector of a tile.
  SAMPLER_DEVICE char *slot(int tile) const {
    const unsigned from_first = unsigned(tile - tiles_.begin);
    return slots_ + (fits_ ? from_first : from_first % kRingTiles) * unsigned(tile_bytes());
  }

  // Starts the next group of copies, which may be empty.
  template <class Wants>
  SAMPLER_DEVICE void start(int tile, const Wants &wants) const {
    if constexpr (kIsCopied) {
      if (tile < tiles_.end && wants(*this, tile)) {
        char *to = slot(tile);
        if (is_inside(tile)) {
          const char *from = from_ + int64_t(tile) * tile_bytes();
          copy_vector(to, from, 0);
          copy_vector(to, from, 1);
          if (is_f32()) {
            copy_vector(to, from, 2);
            copy_vector(to, from, 3);
          }
        } else {
          copy_edge(source_, index_of(tile, 0), log2_of_vector(), nothing(), to);
        }
      }
      ctx_.commit_copies();
    }
  }

  SAMPLER_DEVICE void copy_vector(char *to, const char *from, int i) const {
    ctx_.copy_async(reinterpret_cast<Vector *>(to + i * kVectorStep),
                    reinterpret_cast<const Vector *>(from + i * kVectorStep));
  }

  // The group that begins at element `first`, partly outside the row. Takes no reference to the
  // row, which would force it into memory.
  SAMPLER_DEVICE_CALL static void copy_edge(contract::RowView view, int first, int log2_of_vector,
                                            float nothing, char *to) {
    const int step = 1 << log2_of_vector, size = int(contract::size_of(view.dtype));
    for (int i = 0; i < kGroup; ++i) {
      const int vector = i / step, place = i % step;
      const int index = first + vector * 32 * step + place;
      const float x = index >= 0 && index < view.count ? view.value(index) : nothing;
      contract::store_value(to + vector * kVectorStep + place * size, view.dtype, 0, x);
    }
  }

  template <int kPending>
  SAMPLER_DEVICE void arrive() const {
    if constexpr (kIsCopied) ctx_.template wait_for_copies<kPending>();
  }

  // The same for a computed source.
  SAMPLER_DEVICE void make(int tile) const {
    if constexpr (!kIsCopied) {
      float x[kGroup];
      source_.fill(ctx_, begin_of(tile), x);
      put(tile, x);
    }
  }
  SAMPLER_DEVICE void put(int tile, const float (&x)[kGroup]) const {
    static_assert(!kIsCopied, "made elements are f32");
    for (int i = 0; i < kGroup; i += kQuad) {
      Vector raw;
      for (int j = 0; j < kQuad; ++j) raw.word[j] = contract::bits_of(x[i + j]);
      ctx_.store_vector(reinterpret_cast<Vector *>(slot(tile) + i / kQuad * kVectorStep), raw);
    }
  }

  SAMPLER_DEVICE void keep_maximum(int tile, float max) const {
    if (has_maxima_) maxima_[(tile - tiles_.begin) * 32] = max;
  }

  // Byte offset of element `i` of a group from the lane's first vector.
  SAMPLER_DEVICE int offset_of(int i) const {
    const int shift = is_f32() ? 2 : 3;
    return (i >> shift) * kVectorStep + ((i & ((1 << shift) - 1)) << (is_f32() ? 2 : 1));
  }

  SAMPLER_DEVICE Vector read_vector(const char *slot, int i) const {
    return ctx_.load_shared(reinterpret_cast<const Vector *>(slot + i * kVectorStep));
  }

  // Elements of the lane's group: two vectors of f32, or one of 16 bits.
  SAMPLER_DEVICE void read(int tile, int first, float (&x)[kRun]) const {
    if (is_f32()) {
      const char *from = slot(tile) + first / 4 * kVectorStep;
      for (int i = 0; i < kRun / 4; ++i) {
        const Vector raw = read_vector(from, i);
        for (int j = 0; j < 4; ++j) x[4 * i + j] = contract::float_of(raw.word[j]);
      }
      return;
    }
    const Vector raw = read_vector(slot(tile) + first / 8 * kVectorStep, 0);
    if (dtype() == SAMPLER_BF16) {
      for (int j = 0; j < 4; ++j) widen_pair(raw.word[j], SAMPLER_BF16, &x[2 * j]);
    } else {
      for (int j = 0; j < 4; ++j) widen_pair(raw.word[j], SAMPLER_F16, &x[2 * j]);
    }
  }

  // The least element of a group that lies in the row.
  SAMPLER_DEVICE float min_in_row(int tile) const {
    float min = contract::float_of(contract::kInfinityBits);
    SAMPLER_KEEP_ROLLED
    for (int i = 0; i < kGroup; ++i) {
      if (is_in_row(index_of(tile, i))) min = Context::smaller(min, element(tile, i));
    }
    return min;
  }

  template <bool kFits, int kInFlight>
  SAMPLER_DEVICE Extremes load_by() const {
    return dtype() == SAMPLER_F32    ? load_as<kFits, kInFlight, SAMPLER_F32>()
           : dtype() == SAMPLER_BF16 ? load_as<kFits, kInFlight, SAMPLER_BF16>()
                                     : load_as<kFits, kInFlight, SAMPLER_F16>();
  }

  // load() specialised by type, and by whether the row fits: the loop need not test these.
  template <bool kFits, int kInFlight, sampler_dtype kDtype>
  SAMPLER_DEVICE Extremes load_as() const {
    TeamRow typed = *this;
    typed.fits_ = kFits;
    typed.source_.dtype = kDtype;
    Extremes all = {nothing(), contract::float_of(contract::kInfinityBits), tiles_.begin};
    typed.template for_each_tile<kInFlight>(Everything(), [&](const TeamRow &row, int tile) {
      float max, min;
      row.template find_extremes<kDtype>(tile, &max, &min);
      if (!row.is_inside(tile)) min = row.min_in_row(tile);
      row.keep_maximum(tile, max);
      if (max > all.max) all.max_tile = tile;
      all.max = Context::larger(all.max, max);
      all.min = Context::smaller(all.min, min);
      return true;
    });
    return all;
  }

  // The largest and the least value of a group.
  template <sampler_dtype kDtype>
  SAMPLER_DEVICE void find_extremes(int tile, float *max, float *min) const {
    if constexpr (kDtype != SAMPLER_F32) {
      find_extremes_of_pairs<kDtype>(tile, max, min);
    } else {
      float x[kGroup / kRun][kRun];
      for (int i = 0; i < kGroup / kRun; ++i) read(tile, i * kRun, x[i]);
      *max = *min = x[0][0];
      for (int i = 1; i < kGroup; ++i) {
        *max = Context::larger(*max, x[i / kRun][i % kRun]);
        *min = Context::smaller(*min, x[i / kRun][i % kRun]);
      }
    }
  }

  template <sampler_dtype kDtype>
  SAMPLER_DEVICE void find_extremes_of_pairs(int tile, float *max, float *min) const {
    const char *from = slot(tile);
    const Vector a = read_vector(from, 0), b = read_vector(from, 1);
    uint32_t pair = Context::template larger_pair<kDtype>(a.word[0], b.word[0]);
    for (int i = 1; i < 4; ++i) {
      pair = Context::template larger_pair<kDtype>(pair, a.word[i]);
      pair = Context::template larger_pair<kDtype>(pair, b.word[i]);
    }
    float x[2];
    widen_pair(pair, kDtype, x);
    *max = Context::larger(x[0], x[1]);
    pair = Context::template smaller_pair<kDtype>(a.word[0], b.word[0]);
    for (int i = 1; i < 4; ++i) {
      pair = Context::template smaller_pair<kDtype>(pair, a.word[i]);
      pair = Context::template smaller_pair<kDtype>(pair, b.word[i]);
    }
    widen_pair(pair, kDtype, x);
    *min = Context::smaller(x[0], x[1]);
  }

  template <class Measure>
  SAMPLER_DEVICE uint64_t measure_of(int tile, int i, const Measure &measure) const {
    const int index = index_of(tile, i);
    return is_in_row(index) ? measure(element(tile, i), uint32_t(index)) : 0;
  }

  // As find_in_warp, for the tile that holds the element.
  template <class Measure>
  SAMPLER_DEVICE int find_in_tile(int tile, uint64_t target, const Measure &measure) const {
    const int step = elements_of_vector();
    uint64_t before = 0;
    SAMPLER_KEEP_ROLLED
    for (int i = 0; i < kGroup; i += step) {  // by vector: its lanes' elements are consecutive
      uint64_t own = 0;
      SAMPLER_KEEP_ROLLED
      for (int j = i; j < i + step; ++j) own += measure_of(tile, j, measure);
      const uint64_t through = before + ctx_.warp_inclusive_sum(own);
      const uint32_t exceeding = ctx_.ballot(target < through);
      if (exceeding == 0) {
        before = ctx_.warp_broadcast(through, 31);
        continue;
      }
      uint64_t running = through - own;
      int j = i;
      for (; j < i + step - 1; ++j) {
        running += measure_of(tile, j, measure);
        if (target < running) break;
      }
      return int(ctx_.warp_broadcast(uint64_t(uint32_t(index_of(tile, j))),
                                     Context::lowest_bit(exceeding)));
    }
    return -1;
  }

  Context &ctx_;
  std::conditional_t<kIsCopied, Source, const Source &> source_;  // a copy unless too large
  Part tiles_;                                                    // of this warp
  Part whole_;                                                    // tiles that lie in the row
  int first_of_block_;
  const char *from_ = nullptr;  // this lane's first vector of tile 0; copied rows only
  char *slots_;                 // of this warp and lane
  float *maxima_;               // of this warp and lane; those of a tile are contiguous
  bool has_maxima_;
  bool fits_;
  bool is_resident_ = false;
};

}  // namespace sampler::kernels
