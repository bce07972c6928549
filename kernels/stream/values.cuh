// A streamed row's values: as they are given, or as edits leave them.
#pragma once

#include <cstdint>

#include "contract/edits.h"
#include "contract/elements.h"
#include "contract/rank.h"
#include "machine/device.cuh"
#include "row/row.cuh"
#include "stream/items.cuh"
#include "stream/stream.h"
#include "stream/streamed_row.cuh"

namespace sampler::kernels {

// The values of an item's row.
template <class Context, sampler_dtype kDtype, StreamKind kKind>
class StreamValues : protected StreamItems<Context, kDtype, kKind> {
 protected:
  using Base = StreamItems<Context, kDtype, kKind>;
  using Base::Base;
  using Base::ctx, Base::item, Base::kEdits, Base::kIsGiven, Base::kWarps, Base::patch,
      Base::stream;
  using typename Base::Row;

  template <bool kIsLast>
  SAMPLER_DEVICE void load(const Row &row, int tile, Vector (&raw)[Row::kVectors]) const {
    if (row.is_whole(tile)) {
      row.template load<kIsLast>(ctx, tile, raw);
    } else {
      row.load_any(ctx, tile, raw);
    }
  }

  // Calls f(tile, its lane's group, its patch) for each tile, with kVectorsAtOnce vectors in
  // flight.
  template <int kVectorsAtOnce, class F>
  SAMPLER_DEVICE void for_each_tile(const F &f) const {
    constexpr int kAtOnce = kVectorsAtOnce / Row::kVectors;
    if (!item().has_row) return;
    const Row row = this->row();
    const int end = item().end;
    if constexpr (kAtOnce == 1) {
      SAMPLER_KEEP_ROLLED
      for (int tile = item().begin + ctx.warp(); tile < end; tile += kWarps) {
        const TilePatch words = patch_of(tile);
        Vector raw[Row::kVectors];
        load<true>(row, tile, raw);
        f(tile, raw, words);
      }
    } else {
      SAMPLER_KEEP_ROLLED
      for (int tile = item().begin + ctx.warp(); tile < end; tile += kAtOnce * kWarps) {
        const int last = tile + (kAtOnce - 1) * kWarps;
        // All are whole if the first and the last are.
        if (last < end && row.is_whole(tile) && row.is_whole(last)) {
          TilePatch words[kAtOnce];
          SAMPLER_UNROLLED
          for (int i = 0; i < kAtOnce; ++i) words[i] = patch_of(tile + i * kWarps);
          Vector raw[kAtOnce][Row::kVectors];
          SAMPLER_UNROLLED
          for (int i = 0; i < kAtOnce; ++i)
            row.template load<false>(ctx, tile + i * kWarps, raw[i]);
          SAMPLER_UNROLLED
          for (int i = 0; i < kAtOnce; ++i) f(tile + i * kWarps, raw[i], words[i]);
        } else {
          SAMPLER_KEEP_ROLLED
          for (int i = tile; i <= last && i < end; i += kWarps) {
            const TilePatch words = patch_of(i);
            Vector raw[Row::kVectors];
            load<false>(row, i, raw);
            f(i, raw, words);
          }
        }
      }
    }
  }

  static constexpr uint32_t kBitsOfVector = (uint32_t(1) << Row::kElements) - 1;

  // A tile's words of edits and of the mask, one a lane, which load() fetches beside the tile.
  struct TilePatch {
    uint32_t edited, mask;
  };
  SAMPLER_DEVICE TilePatch patch_of(int tile) const {
    TilePatch words = {0, ~uint32_t(0)};
    if constexpr (!kEdits) return words;
    if (patch().bits && ctx.lane() < kWordsOfTile) {
      words.edited = ctx.load_fresh(&patch().bits[tile * kWordsOfTile + ctx.lane()]);
    }
    // Ids lie by the lead before positions, so a tile's may begin within a word.
    if (patch().mask && ctx.lane() <= kWordsOfTile) {
      const int id = tile * kTile - item().lead + 32 * ctx.lane();
      const int word = id >= 0 ? id / 32 : -1;
      words.mask = word >= 0 ? stream.edits.mask_word(patch().mask, word) : 0;
    }
    return words;
  }
  // A bit for each element of the lane's group: whether it is allowed.
  SAMPLER_DEVICE uint32_t allowed_of(const TilePatch &words) const {
    const int shift = (kTile - item().lead) % 32;  // of the tile's first id in its word
    uint32_t bits = 0;
    SAMPLER_UNROLLED
    for (int i = 0; i < Row::kVectors; ++i) {
      const int at = Row::position(0, ctx.lane(), i) + shift;
      const uint32_t low = uint32_t(ctx.warp_broadcast(words.mask, at / 32));
      const uint32_t high = uint32_t(ctx.warp_broadcast(words.mask, at / 32 + 1));
      const uint64_t both = uint64_t(high) << 32 | low;
      bits |= (uint32_t(both >> (at % 32)) & kBitsOfVector) << (i * Row::kElements);
    }
    return bits;
  }

  // The edited elements of a vector: a bit for each, and the place of the first one's value.
  struct VectorEdits {
    uint32_t bits, place;
  };
  // Those of the vector at a position; `word`: the bits of 32 positions around it.
  SAMPLER_DEVICE VectorEdits edits_of(uint32_t word, int position) const {
    const int shift = position % 32;
    VectorEdits edits = {word >> shift & kBitsOfVector, 0};
    if (edits.bits != 0) {
      edits.place = uint32_t(ctx.load_fresh(&patch().before[position / 32])) +
                    uint32_t(Context::count_bits(word & ((uint32_t(1) << shift) - 1)));
    }
    return edits;
  }
  SAMPLER_DEVICE VectorEdits edits_of(int position) const {
    if (!patch().bits) return {0, 0};
    return edits_of(ctx.load_fresh(&patch().bits[position / 32]), position);
  }
  // A bit for each of those elements: whether the mask allows it, outside the row any.
  SAMPLER_DEVICE uint32_t allowed_of(int position) const {
    return stream.edits.allowed_from(patch().mask, position - item().lead) & kBitsOfVector;
  }

  // Edits the values of a vector, which are x from `first` on.
  template <int kCount>
  SAMPLER_DEVICE void edit(VectorEdits edits, int first, float (&x)[kCount]) const {
    SAMPLER_KEEP_ROLLED
    for (; edits.bits != 0; edits.bits &= edits.bits - 1, ++edits.place) {
      const int i = Context::lowest_bit(edits.bits);
      const float value = ctx.load_fresh(&patch().values[edits.place]);
      SAMPLER_UNROLLED
      for (int j = 0; j < Row::kElements; ++j) x[first + j] = i == j ? value : x[first + j];
    }
  }
  // Bans those whose bit is 0.
  template <int kCount>
  SAMPLER_DEVICE static void ban(uint32_t allowed, float (&x)[kCount]) {
    SAMPLER_UNROLLED
    for (int j = 0; j < kCount; ++j) x[j] = contract::ban(x[j], (allowed >> j & 1) == 0);
  }

  // A group's values, as edits leave them.
  struct Group {
    float x[kGroup];
  };
  SAMPLER_DEVICE Group group_of(int tile, const Vector (&raw)[Row::kVectors],
                                const TilePatch &words) const {
    Group group;
    SAMPLER_UNROLLED
    for (int i = 0; i < kGroup; ++i) {
      group.x[i] = element<kDtype>(raw[i / Row::kElements], i % Row::kElements);
      if constexpr (kIsGiven) group.x[i] = contract::larger_of(group.x[i], 0.0f);  // beside the row
    }
    if constexpr (kEdits) {
      if (ctx.ballot(words.edited != 0) != 0) {
        VectorEdits edits[Row::kVectors];
        SAMPLER_UNROLLED
        for (int i = 0; i < Row::kVectors; ++i) {
          const int in_tile = Row::position(0, ctx.lane(), i);
          const uint32_t word = uint32_t(ctx.warp_broadcast(words.edited, in_tile / 32));
          edits[i] = edits_of(word, tile * kTile + in_tile);
        }
        SAMPLER_UNROLLED
        for (int i = 0; i < Row::kVectors; ++i) edit(edits[i], i * Row::kElements, group.x);
      }
      if (patch().mask) ban(allowed_of(words), group.x);
    }
    return group;
  }
  // The largest of them; NaN if a given one is NaN or infinite, or negative where that is invalid.
  SAMPLER_DEVICE float largest_of(int tile, const Vector (&raw)[Row::kVectors],
                                  const TilePatch &words) const {
    const float given = largest<kDtype, Context>(raw);
    if constexpr (kIsGiven) return is_negative(tile, raw) ? contract::quiet_nan() : given;
    if constexpr (!kEdits) return given;
    const Group group = group_of(tile, raw, words);
    float max = group.x[0];
    SAMPLER_UNROLLED
    for (int i = 1; i < kGroup; ++i) max = Context::larger(max, group.x[i]);
    return given < contract::float_of(contract::kInfinityBits) ? max : contract::quiet_nan();
  }

  // Whether a probability of the group is below 0. Beside the row lies -inf.
  SAMPLER_DEVICE bool is_negative(int tile, const Vector (&raw)[Row::kVectors]) const {
    const bool is_whole = this->row().is_whole(tile);
    bool any = false;
    SAMPLER_UNROLLED
    for (int i = 0; i < kGroup; ++i) {
      const int position = Row::position(tile, ctx.lane(), i / Row::kElements) + i % Row::kElements;
      const bool is_in = is_whole || this->row().is_inside(position, 1);
      any = any || (element<kDtype>(raw[i / Row::kElements], i % Row::kElements) < 0.0f && is_in);
    }
    return any;
  }

  // The values of the vector at a position, as edits leave them.
  struct VectorValues {
    float x[Row::kElements];
  };
  SAMPLER_DEVICE VectorValues values_of(int position, const Vector &raw) const {
    VectorValues values;
    SAMPLER_UNROLLED
    for (int i = 0; i < Row::kElements; ++i) values.x[i] = element<kDtype>(raw, i);
    if constexpr (kEdits) {
      edit(edits_of(position), 0, values.x);
      if (patch().mask) ban(allowed_of(position), values.x);
    }
    return values;
  }
  // Element `i` of some vectors, which is not the same in all lanes.
  template <int kCount>
  SAMPLER_DEVICE static float selected_of(const VectorValues (&values)[kCount],
                                          const Vector (&raw)[kCount], int i) {
    if constexpr (!kEdits) return selected_element<kDtype>(raw, i);
    float x = values[0].x[0];
    SAMPLER_UNROLLED
    for (int j = 1; j < kCount * Row::kElements; ++j) {
      x = i == j ? values[j / Row::kElements].x[j % Row::kElements] : x;
    }
    return x;
  }
  // An element's value, as edits leave it.
  SAMPLER_DEVICE float value_at(int index) const {
    const float given = this->row().value(index);
    if constexpr (!kEdits) return given;
    const int position = index + this->row().lead;
    const int first = position / Row::kElements * Row::kElements, i = position - first;
    if (patch().mask && (allowed_of(first) >> i & 1) == 0) return contract::negative_infinity();
    const VectorEdits edits = edits_of(first);
    if ((edits.bits >> i & 1) == 0) return given;
    const uint32_t lower = edits.bits & ((uint32_t(1) << i) - 1);
    return ctx.load_fresh(&patch().values[edits.place + uint32_t(Context::count_bits(lower))]);
  }

  // Element `i` of a group, which is not the same in all lanes.
  SAMPLER_DEVICE static float selected_of(const Group &group, const Vector (&raw)[Row::kVectors],
                                          int i) {
    if constexpr (!kEdits) return selected_element<kDtype>(raw, i);
    float x = group.x[0];
    SAMPLER_UNROLLED
    for (int j = 1; j < kGroup; ++j) x = i == j ? group.x[j] : x;
    return x;
  }
};

}  // namespace sampler::kernels
