// Chains of drafts by given probabilities, whose decisive row is held.
#pragma once

#include <cstdint>

#include "contract/verify_chain.h"
#include "held/block.cuh"
#include "operations/residual.cuh"

namespace sampler::kernels {

// Writes a chain's outputs. Called by a block.
template <class Context>
SAMPLER_DEVICE void write_chain(const Context &ctx, const contract::VerifyRequest &request,
                                const contract::Chain &chain, uint32_t status) {
  const int num_tokens = int(request.num_drafts) + 1;
  SAMPLER_KEEP_ROLLED
  for (int i = ctx.thread(); i < num_tokens; i += Context::kThreads) {
    contract::store_id(request.out_token_ids, chain.row * num_tokens + i,
                       contract::chain_token(request, chain, status, i));
  }
  if (ctx.thread() == 0) contract::write_chain_outcome(request, chain, status);
}

template <class Context, sampler_dtype kDtype>
class ChainBlock : HeldBlock<Context, kDtype, HeldChain> {
 public:
  SAMPLER_DEVICE ChainBlock(const Context &context, const contract::VerifyRequest &verify,
                            const Held &layout)
      : Block(context, layout), request(verify) {}

  SAMPLER_DEVICE void run() {
    look_up();
    ctx.sync();
    if (ctx.thread() == 0) walk();
    ctx.sync();
    if (shared.status == SAMPLER_ROW_OK) draw_last_token();
    // Every block has read the counts, which the row's outputs may overwrite.
    ctx.team_sync();
    if (!this->is_leader()) return;
    contract::Chain chain = shared.chain;
    chain.last_token = shared.drawn.id;
    write_chain(ctx, request, chain, shared.status);
  }

 private:
  using Block = HeldBlock<Context, kDtype, HeldChain>;
  using Block::begin_;
  using Block::ctx;
  using Block::kSlots;
  using Block::shared;
  using Row = typename Block::Row;

  // Reads the probabilities of the first drafts, all at once.
  SAMPLER_DEVICE void look_up() const {
    const int64_t index = this->index();
    const int length = request.draft_counts ? request.draft_counts[index] : int(request.num_drafts);
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < length && i < int(request.num_drafts) && i < kLookedUp;
         i += Context::kThreads) {
      const int64_t id = contract::draft_id(request, index, i);
      if (!contract::is_in_vocabulary(request, id)) continue;
      shared.target[i] = contract::target_view(request, index, i).value(id);
      if (!request.draft.values) continue;
      shared.draft[i] = contract::draft_view(request, index, i).value(id);
    }
  }

  struct Models {
    const ChainBlock &block;

    SAMPLER_DEVICE uint32_t find_first(int, int64_t *) const { return SAMPLER_ROW_OK; }  // greedy
    SAMPLER_DEVICE uint32_t look_up_target(int position, int64_t id, float *probability) const {
      *probability = position < kLookedUp
                         ? block.shared.target[position]
                         : contract::target_view(block.request, block.index(), position).value(id);
      return status_of(*probability);
    }
    SAMPLER_DEVICE uint32_t look_up_draft(int position, int64_t id, float *probability) const {
      *probability = position < kLookedUp
                         ? block.shared.draft[position]
                         : contract::draft_view(block.request, block.index(), position).value(id);
      return status_of(*probability);
    }
    SAMPLER_DEVICE static uint32_t status_of(float x) {
      return contract::is_valid_value(SAMPLER_PROBABILITIES, x) ? SAMPLER_ROW_OK
                                                                : SAMPLER_ROW_INVALID_VALUE;
    }
  };

  // Called by one thread.
  SAMPLER_DEVICE void walk() const {
    contract::Chain chain = contract::make_chain(request, this->index());
    uint32_t status = chain.status;
    if (status == SAMPLER_ROW_OK) {
      status = contract::verify_drafts(request, &chain, [&](int position) {
        Models models = {*this};
        return contract::verify_draft(request, chain, position, models);
      });
    }
    shared.chain = chain;
    shared.status = status;
  }

  SAMPLER_DEVICE void draw_last_token() {
    const contract::Chain &chain = shared.chain;
    const int64_t index = this->index();
    int64_t removed = contract::rejected_draft(request, chain);
    const int count = int(request.target.num_cols);
    const Row target = Row::at(contract::target_view(request, index, chain.emitted).values, count);
    SAMPLER_KEEP_ROLLED
    for (;;) {
      Row draft = {};
      const bool has_draft = removed >= 0 && request.draft.values;
      if (has_draft)
        draft = Row::at(contract::draft_view(request, index, chain.emitted).values, count);
      bool is_bad = false;
      const uint32_t own = load_residual(target, draft, has_draft ? -1 : removed, &is_bad);
      ctx.sync();
      const uint64_t values[] = {this->max_of_block(own), ctx.block_count(is_bad)};
      const auto *const all = this->exchange(values);
      if (this->sum(all[1]) != 0) return set_status(SAMPLER_ROW_INVALID_VALUE);
      const uint32_t key = this->max(all[0]);
      if (contract::rank_of_key(key) >= contract::lowest_cut(SAMPLER_PROBABILITIES)) {
        return draw(target, contract::value_of_key(key));
      }
      if (removed < 0) return set_status(SAMPLER_ROW_EMPTY);
      removed = -1;
    }
  }

  SAMPLER_DEVICE void set_status(uint32_t status) const {
    if (ctx.thread() == 0) shared.status = status;
  }

  // Computes the block's part of max(p - q, 0), or of p if there is no draft, 0 at `removed`.
  // Returns the key of the thread's largest.
  SAMPLER_DEVICE uint32_t load_residual(const Row &target, const Row &draft, int64_t removed,
                                        bool *is_bad) const {
    const bool has_draft = draft.begin != nullptr;
    const bool is_alike = !has_draft || draft.lead == target.lead;
    GivenCheck check;
    float max = 0.0f;
    this->for_each_tile(target, [&](int tile) {
      const bool is_whole = is_alike && target.is_whole(begin_ + tile);
      Vector p[Row::kVectors], q[Row::kVectors] = {};
      if (is_whole) {
        target.template load<false>(ctx, begin_ + tile, p);
        if (has_draft) draft.template load<false>(ctx, begin_ + tile, q);
      }
      SAMPLER_UNROLLED
      for (int slot = 0; slot < kSlots; ++slot) {
        Vector x;
        SAMPLER_UNROLLED
        for (int j = 0; j < kQuad; ++j) {
          const int i = slot * kQuad + j;
          const int index = this->index_of(target, tile, i);
          float of_target = 0.0f, of_draft = 0.0f;
          if (is_whole) {
            of_target = Block::element_of(p, i);
            of_draft = Block::element_of(q, i);
          } else if (uint32_t(index) < uint32_t(target.count)) {
            of_target = target.value(index);
            if (has_draft) of_draft = draft.value(index);
          }
          check.take(of_target, of_draft);
          float rest = has_draft ? contract::residual_probability(of_target, of_draft) : of_target;
          if (index == int(removed)) rest = 0.0f;
          max = rest > max ? rest : max;
          x.word[j] = contract::bits_of(rest);
        }
        ctx.store_vector(this->place(tile, slot), x);
      }
    });
    *is_bad = !check.is_valid();
    return contract::value_key(max);
  }

  SAMPLER_DEVICE void draw(const Row &target, float max) {
    const contract::RowScale scale = contract::probabilities_row_scale(max);
    this->draw_by_tiles(target, contract::last_token_word(shared.chain),
                        [&](float x, int) { return contract::relative_for_weight(scale, x); });
  }

  const contract::VerifyRequest &request;
};

}  // namespace sampler::kernels
