// Chains of drafts by logits: the rows that decide are held, one after another.
#pragma once

#include <cstdint>

#include "contract/verify_chain.h"
#include "held/chain.cuh"
#include "held/cut.cuh"
#include "operations/residual.cuh"

namespace sampler::kernels {

template <class Context>
class VerifyBlock : CutBlock<Context, HeldVerify, contract::VerifyRequest> {
 public:
  using Cut = CutBlock<Context, HeldVerify, contract::VerifyRequest>;
  using Cut::Cut;

  SAMPLER_DEVICE void run() {
    if (ctx.thread() == 0) {
      shared.chain = contract::make_chain(request, this->index());
      shared.distributions[kDraft] = {};  // of no row
      shared.is_left = false;
    }
    ctx.sync();
    contract::Chain chain = shared.chain;
    uint32_t status = chain.status;
    if (status == SAMPLER_ROW_OK) {
      status = contract::verify_drafts(request, &chain, [&](int position) {
        Models models = {*this, chain};
        return contract::verify_draft(request, chain, position, models);
      });
    }
    if (status == SAMPLER_ROW_OK && !shared.is_left) status = find_last_token(&chain);
    // Every block has read the counts, which the row's outputs may overwrite.
    ctx.team_sync();
    if (shared.is_left) return this->leave(this->index());
    if (this->is_leader()) write_chain(ctx, request, chain, status);
  }

 private:
  using Block = typename Cut::Block;
  using Cut::ctx;
  using Cut::request;
  using Cut::shared;
  using Cut::state;
  using Row = typename Cut::Row;

  struct Models {
    VerifyBlock &block;
    const contract::Chain &chain;

    SAMPLER_DEVICE uint32_t find_first(int position, int64_t *id) {
      const uint32_t status = block.load_logits(
          contract::target_view(block.request, chain.row, position).values, kTarget);
      *id = contract::id_of_rank(block.shared.cut);
      block.ctx.team_sync();
      return status;
    }
    SAMPLER_DEVICE uint32_t look_up_target(int position, int64_t id, float *probability) {
      return block.look_up(contract::target_view(block.request, chain.row, position), id,
                           probability);
    }
    SAMPLER_DEVICE uint32_t look_up_draft(int position, int64_t id, float *probability) {
      return block.look_up(contract::draft_view(block.request, chain.row, position), id,
                           probability);
    }
  };

  // The probability of a token. A barrier of the team follows the reading of logits.
  SAMPLER_DEVICE uint32_t look_up(const contract::RowView &view, int64_t id, float *probability) {
    if (view.kind == SAMPLER_PROBABILITIES) {
      *probability = view.value(id);
      return contract::is_valid_value(SAMPLER_PROBABILITIES, *probability)
                 ? SAMPLER_ROW_OK
                 : SAMPLER_ROW_INVALID_VALUE;
    }
    const uint32_t status = load_logits(view.values, kTarget);
    const float x = this->value_in_team(Row::of(view), int(id));
    *probability = shared.distributions[kTarget].probability(x, int(id));
    ctx.team_sync();
    return status;
  }

  // Loads a row of logits and finds what filters keep: shared.distributions[which]. If the list
  // does not show that, the whole chain is left. Returns the row's status. A barrier of the team
  // must follow before the next row. One function: it has most of the kernel's code.
  SAMPLER_DEVICE_CALL uint32_t load_logits(const void *values, int which) {
    const Row row = Row::of(values, int(this->num_cols()), request.target.dtype);
    if (ctx.thread() == 0) this->read_parameters(request.slots[this->index()]);
    this->load_as_f32(row);
    this->set_maximum(this->max_of_team(this->largest_by_bins(row)));
    ctx.sync();
    if (state().status != SAMPLER_ROW_OK) return state().status;
    if (this->is_other() || !this->cut(row, true)) {
      if (ctx.thread() == 0) shared.is_left = true;
      ctx.sync();
      return SAMPLER_ROW_INVALID_VALUE;  // ends the walk
    }
    if (ctx.thread() == 0) {
      HeldDistribution &out = shared.distributions[which];
      out.scale = this->scale();
      out.kept = this->kept();
      out.greedy = contract::is_greedy(state().parameters.temperature);
      out.normalizer = out.greedy ? 1.0f : contract::normalizer(shared.kept_weight);
    }
    ctx.sync();
    return SAMPLER_ROW_OK;
  }

  SAMPLER_DEVICE uint32_t find_last_token(contract::Chain *chain) {
    const int64_t rejected = contract::rejected_draft(request, *chain);
    const contract::RowView target = contract::target_view(request, chain->row, chain->emitted);
    contract::RowView draft = {};
    uint32_t draft_status = SAMPLER_ROW_OK;
    if (!chain->greedy && rejected >= 0 && request.draft.values) {
      draft = contract::draft_view(request, chain->row, chain->emitted);
      if (draft.kind == SAMPLER_LOGITS) {
        draft_status = load_logits(draft.values, kDraft);
        ctx.team_sync();
      }
    }
    const Row row = Row::of(target);
    uint32_t status = SAMPLER_ROW_OK;
    const uint32_t drawn =
        contract::draw_last_token(chain, rejected, [&](int64_t removed, int64_t *id) {
          status = load_logits(target.values, kTarget);
          if (chain->greedy) *id = contract::id_of_rank(shared.cut);
          if (status == SAMPLER_ROW_OK) status = draft_status;
          if (status != SAMPLER_ROW_OK || chain->greedy || shared.is_left) {
            ctx.team_sync();
            return true;
          }
          bool is_bad = false;
          const uint32_t own =
              subtract(row, removed >= 0 ? draft : contract::RowView{}, removed, &is_bad);
          ctx.sync();
          const uint64_t values[] = {this->max_of_block(own), ctx.block_count(is_bad)};
          const auto *const all = this->exchange(values);
          const uint32_t key = this->max(all[0]);
          if (this->sum(all[1]) != 0) {
            status = SAMPLER_ROW_INVALID_VALUE;
            return true;
          }
          if (contract::rank_of_key(key) < contract::lowest_cut(SAMPLER_PROBABILITIES)) {
            return false;
          }
          const contract::RowScale scale =
              contract::probabilities_row_scale(contract::value_of_key(key));
          this->draw_by_tiles(row, contract::last_token_word(*chain), [&](float x, int) {
            return contract::relative_for_weight(scale, x);
          });
          ctx.team_sync();
          *id = ctx.peer(&shared.drawn, 0)->id;
          return true;
        });
    return status != SAMPLER_ROW_OK ? status : drawn;
  }

  // Replaces the block's part of a row of logits by max(p - q, 0), 0 at `removed` where there is no
  // draft; by p where nothing is removed. Returns the key of the thread's largest.
  SAMPLER_DEVICE uint32_t subtract(const Row &row, const contract::RowView &draft, int64_t removed,
                                   bool *is_bad) const {
    const HeldDistribution of_target = shared.distributions[kTarget];
    const HeldDistribution of_draft = shared.distributions[kDraft];
    float max = 0.0f;
    bool bad = false;
    const StoredRow other = stored_row(draft);
    this->for_each_tile(row, [&](int tile) {
      SAMPLER_UNROLLED
      for (int slot = 0; slot < Block::kSlots; ++slot) {
        const int first = this->index_of(row, tile, slot * kQuad);
        float q[kQuad] = {};
        if (!draft.values) {
        } else if (first >= 0 && first + kQuad <= row.count) {
          other.load(ctx, first, q);
        } else {
          for (int j = 0; j < kQuad; ++j) {
            if (uint32_t(first + j) < uint32_t(row.count)) q[j] = other.value(first + j);
          }
        }
        Vector raw = ctx.load_shared(this->place(tile, slot));
        SAMPLER_UNROLLED
        for (int j = 0; j < kQuad; ++j) {
          const int index = first + j;
          const bool is_in = uint32_t(index) < uint32_t(row.count);
          float x = is_in ? of_target.probability(contract::float_of(raw.word[j]), index) : 0.0f;
          if (is_in && draft.values) {
            if (draft.kind == SAMPLER_LOGITS) {
              q[j] = of_draft.probability(q[j], index);
            } else if (!contract::is_valid_value(SAMPLER_PROBABILITIES, q[j])) {
              bad = true;
            }
            x = contract::residual_probability(x, q[j]);
          } else if (index == int(removed)) {
            x = 0.0f;
          }
          max = x > max ? x : max;
          raw.word[j] = contract::bits_of(x);
        }
        ctx.store_vector(this->place(tile, slot), raw);
      }
    });
    *is_bad = bad;
    return contract::value_key(max);
  }

  static constexpr int kTarget = 0, kDraft = 1;  // distributions
};

}  // namespace sampler::kernels
