// Edits of a held row of logits, which a launch before this one has listed.
#pragma once

#include <cstdint>

#include "contract/edits.h"
#include "held/cut.cuh"

namespace sampler::kernels {

template <class Context, class Shared, class Request, bool kAnyKind = false>
class EditedBlock : protected CutBlock<Context, Shared, Request, kAnyKind> {
 public:
  using Cut = CutBlock<Context, Shared, Request, kAnyKind>;
  using Cut::Cut;

 protected:
  using Block = typename Cut::Block;
  using Cut::ctx;
  using Cut::held;
  using Row = typename Cut::Row;

  SAMPLER_DEVICE EditsHead edits_head(uint32_t output) const {
    const Vector raw = ctx.load_fresh(reinterpret_cast<const Vector *>(held.edits.head(output)));
    return {raw.word[0], raw.word[1], int32_t(raw.word[2]), raw.word[3]};
  }

  // Edits the block's part of the row.
  SAMPLER_DEVICE void edit(const Row &row, const EditsHead &of_row, uint32_t output) const {
    const StreamedEdits &edits = held.edits;
    const uint32_t *const mask = edits.mask_of(of_row);
    this->for_each_tile(row, [&](int tile) {
      if (of_row.num_edited != 0 && ctx.lane() < kWordsOfTile) {
        const int index = (this->begin_ + tile) * kWordsOfTile + ctx.lane();
        uint32_t left = ctx.load_fresh(&edits.bits(output)[index]);
        if (left != 0) {
          const float *value = edits.values(output) + ctx.load_fresh(&edits.before(output)[index]);
          SAMPLER_KEEP_ROLLED
          for (; left != 0; left &= left - 1, ++value) {
            const int in_tile = 32 * ctx.lane() + Context::lowest_bit(left);
            this->values()[this->place_of(tile, in_tile)] = ctx.load_fresh(value);
          }
        }
      }
      ctx.warp_sync();
      if (!mask) return;
      for_each_quad(tile, [&](int slot, Vector quad) {
        const uint32_t allowed = edits.allowed_from(mask, this->index_of(row, tile, slot * kQuad));
        SAMPLER_UNROLLED
        for (int j = 0; j < kQuad; ++j) {
          const float x = contract::float_of(quad.word[j]);
          quad.word[j] = contract::bits_of(contract::ban(x, (allowed >> j & 1) == 0));
        }
        ctx.store_vector(this->place(tile, slot), quad);
      });
    });
  }

  // A token's value, as edits leave it.
  SAMPLER_DEVICE float edited_value(const Row &row, int id) const {
    const uint32_t output = uint32_t(this->index());
    if (!held.edits.is_on() || edits_head(output).num_edited == 0) return row.value(id);
    const uint32_t position = uint32_t(id + row.lead);
    const uint32_t word = ctx.load_fresh(&held.edits.bits(output)[position / 32]);
    const uint32_t bit = uint32_t(1) << (position % 32);
    if ((word & bit) == 0) return row.value(id);
    const uint32_t before = ctx.load_fresh(&held.edits.before(output)[position / 32]);
    const uint32_t place = before + uint32_t(Context::count_bits(word & (bit - 1)));
    return ctx.load_fresh(&held.edits.values(output)[place]);
  }

  // Calls f(slot, quad) for the lane's vectors of a tile.
  template <class F>
  SAMPLER_DEVICE void for_each_quad(int tile, const F &f) const {
    SAMPLER_KEEP_ROLLED
    for (int slot = 0; slot < Block::kSlots; ++slot) {
      f(slot, ctx.load_shared(this->place(tile, slot)));
    }
  }
};

}  // namespace sampler::kernels
