// Chains and trees of drafts, by any rule but DEFERRED: the target's rows that decide are held, one
// after another. Few edits may change them, of a launch before this one.
#pragma once

#include <cstdint>

#include "chains/chains.cuh"
#include "chains/plain_rows.cuh"
#include "contract/entropy.h"
#include "contract/rank.h"
#include "contract/verify_extended.h"
#include "contract/weight.h"
#include "held/edits.cuh"
#include "row/entropy.cuh"

namespace sampler::kernels {

// The rows of a sequence as contract::Verifier asks for them. A change replaces the held values by
// probabilities.
template <class Context>
class ExtendedVerifyBlock : EditedBlock<Context, HeldSample, ExtendedVerifyRequest, true>,
                            public PlainRows {
 public:
  using Edited = EditedBlock<Context, HeldSample, ExtendedVerifyRequest, true>;
  using Cut = typename Edited::Cut;
  using Edited::Edited;

  SAMPLER_DEVICE void run() {
    ctx.wait_for_launch_before();
    const int64_t sequence = this->index();
    const contract::TreeMemory tree =
        contract::TreeMemory::of(request.rules, request.num_drafts + 1, held.tree(sequence));
    contract::Verifier<ExtendedVerifyBlock> verifier(request, request.rules, tree, *this);
    verifier.run_sequence(sequence);
    if (!is_left_) return;
    ctx.team_sync();  // all have read what others hold
    this->leave(sequence);
  }

  SAMPLER_DEVICE TeamWorkers<const Context> workers() const {
    return {ctx, ctx.cluster_rank() * Context::kThreads + ctx.thread(),
            ctx.team_size() * Context::kThreads};
  }

  // A position's edits know the drafts before it.
  SAMPLER_DEVICE bool has_pipeline() const { return request.has_pipeline; }
  SAMPLER_DEVICE uint32_t begin_text(int64_t slot) const { return status_of_text(request, slot); }
  SAMPLER_DEVICE bool gives_up() const { return is_left_; }

  // ---- The target's row

  SAMPLER_DEVICE_CALL uint32_t load(const contract::TargetPlace &place,
                                    const contract::RowParameters &parameters, bool) {
    ctx.team_sync();  // all have read the row before
    row_ = Row::of(place.view);
    first_ = 0;
    if (ctx.thread() == 0) {
      state().status = SAMPLER_ROW_OK;
      shared.num_listed = 0;
      this->set_parameters(parameters);
    }
    this->load_as_f32(row_);
    uint32_t key = this->max_of_team(this->largest_by_bins(row_));
    if (held.edits.is_on()) {
      const uint32_t output = uint32_t(place.mask_output);
      const EditsHead edits = this->edits_head(output);
      uint32_t status = edits.number_status;
      if (status == SAMPLER_ROW_OK) status = status_of_key(key);
      if (status == SAMPLER_ROW_OK) status = edits.status;
      if (status != SAMPLER_ROW_OK) return status;
      if (edits.num_edited == EditsHead::kLeft) return give_up();
      this->edit(row_, edits, output);
      key = this->max_of_team(this->largest_by_bins(row_));
    }
    this->set_maximum(this->checked(row_, key));
    ctx.sync();
    if (state().status != SAMPLER_ROW_OK) return state().status;
    if (contract::is_greedy(parameters.temperature)) {
      set_distribution(this->scale(), first(), 0);
      distribution_.greedy = true;
      distribution_.normalizer = 1.0f;
    } else if (!this->is_other() && this->cut(row_, true)) {
      set_distribution(this->scale(), shared.cut, shared.kept_weight);
    } else {
      return give_up();
    }
    return SAMPLER_ROW_OK;
  }

  SAMPLER_DEVICE_CALL void draw_as_sample(const contract::RandomStream &stream, int64_t *id) {
    if (distribution_.greedy) {
      *id = contract::id_of_rank(first());
    } else {
      draw(contract::random_word64(stream, contract::Purpose::kSample, 0), id);
    }
  }

  SAMPLER_DEVICE bool has(int64_t id) const { return id < this->num_cols(); }
  SAMPLER_DEVICE Rank rank_of(int64_t id) const {
    return contract::rank_of(this->value_in_team(row_, int(id)), uint32_t(id));
  }
  SAMPLER_DEVICE_CALL Rank first() {
    if (first_ != 0) return first_;
    uint32_t own = 0;  // the largest of ~id
    for_each_element([&](float x, int index) {
      if (x == state().max && ~uint32_t(index) > own) own = ~uint32_t(index);
    });
    first_ = contract::rank_of(state().max, ~this->max_of_team(own));
    return first_;
  }

  SAMPLER_DEVICE_CALL float probability(int64_t id, contract::RowState which) {
    const float x = this->value_in_team(row_, int(id));
    if (is_given(which)) return x;
    find_weight();
    return distribution_.probability(x, int(id));
  }

  SAMPLER_DEVICE_CALL contract::EntropySums kept_entropy_sums() {
    const contract::RowScale scale = distribution_.scale;
    const HeldKept kept = distribution_.kept;
    const float nothing =
        this->kind() == SAMPLER_PROBABILITIES ? 0.0f : contract::negative_infinity();
    contract::EntropySums own;
    this->for_each_tile(row_, [&](int tile) {
      this->for_each_quad(tile, [&](int slot, const Vector &quad) {
        float x[kQuad];
        SAMPLER_UNROLLED
        for (int j = 0; j < kQuad; ++j) {
          x[j] = contract::float_of(quad.word[j]);
          if (!kept.has(x[j], this->index_of(row_, tile, slot * kQuad + j))) x[j] = nothing;
        }
        add_entropy_of_kind(scale, x, &own);
      });
    });
    const uint64_t values[] = {this->sum_of_threads(own.weight, 1),
                               this->sum_of_threads(own.surprise, 0)};
    const auto *const all = this->exchange(values);
    return {this->sum(all[0]), this->sum(all[1])};
  }
  SAMPLER_DEVICE_CALL int64_t num_before(Rank rank) {
    return this->count_of(row_, Cut::kept_from(rank)) - 1;
  }
  SAMPLER_DEVICE_CALL void distribute_all() {
    set_distribution(contract::row_scale(this->kind(), state().max, 1.0f),
                     contract::lowest_cut(this->kind()), 0);
  }
  // DEFERRED alone has it.
  SAMPLER_DEVICE float entropy_of_first(int64_t) {
    is_left_ = true;
    return 0.0f;
  }

  // ---- The drafter's row

  SAMPLER_DEVICE_CALL uint32_t load_draft(const contract::RowView &view,
                                          const contract::RowParameters &,
                                          const contract::FilterRules &) {
    const uint64_t bad[] = {ctx.block_count(!this->take_draft(workers(), view))};
    return this->sum(this->exchange(bad)[0]) == 0 ? SAMPLER_ROW_OK : SAMPLER_ROW_INVALID_VALUE;
  }

  // ---- Changes of the target's row

  SAMPLER_DEVICE_CALL void begin_change(contract::RowState which, float factor,
                                        bool subtracts_draft) {
    const bool is_as_given = is_given(which);
    if (!is_as_given) find_weight();
    ctx.team_sync();  // all have read what changes
    if (!is_as_given || factor != 1.0f || subtracts_draft) {
      this->for_each_tile(row_, [&](int tile) {
        this->for_each_quad(tile, [&](int slot, Vector raw) {
          const int first = this->index_of(row_, tile, slot * kQuad);
          const bool is_whole = first >= 0 && first + kQuad <= row_.count;
          float q[kQuad] = {};
          if (subtracts_draft && is_whole) draft_.load(ctx, first, q);
          SAMPLER_UNROLLED
          for (int j = 0; j < kQuad; ++j) {
            const int index = first + j;
            float p = contract::float_of(raw.word[j]);
            if (uint32_t(index) >= uint32_t(row_.count)) {
              p = 0.0f;
            } else {
              if (!is_as_given) p = distribution_.probability(p, index);
              p *= factor;
              if (subtracts_draft) {
                if (!is_whole) q[j] = draft_.value(index);
                p = contract::residual_probability(p, q[j]);
              }
            }
            raw.word[j] = contract::bits_of(p);
          }
          ctx.store_vector(this->place(tile, slot), raw);
        });
      });
    }
    ctx.team_sync();
  }
  SAMPLER_DEVICE void remove(int64_t id) const {
    if (workers().index == 0) this->value_in_team(row_, int(id)) = 0.0f;
  }
  SAMPLER_DEVICE_CALL bool end_change() {
    ctx.team_sync();
    const uint32_t key = this->max_of_team(this->key_of_part(row_));
    const Rank all = contract::lowest_cut(SAMPLER_PROBABILITIES);
    if (contract::rank_of_key(key) < all) return false;
    set_distribution(contract::probabilities_row_scale(contract::value_of_key(key)), all, 0);
    return true;
  }
  SAMPLER_DEVICE_CALL double changed_sum() {
    find_weight();
    return contract::sum_of_weights(distribution_.scale, weight_);
  }
  SAMPLER_DEVICE void draw_changed(uint64_t word, int64_t *id) { draw(word, id); }

 private:
  using Cut::ctx;
  using Cut::held;
  using Cut::request;
  using Cut::shared;
  using Cut::state;
  using Row = typename Cut::Row;

  // Ends the walk, and leaves the sequence.
  SAMPLER_DEVICE uint32_t give_up() {
    is_left_ = true;
    return SAMPLER_ROW_INVALID_VALUE;
  }

  // Given probabilities are taken as they are.
  SAMPLER_DEVICE bool is_given(contract::RowState which) const {
    return which == contract::RowState::kOpened && this->kind() == SAMPLER_PROBABILITIES;
  }

  // `weight`: that of the tokens from `cut` up; 0: found where it is needed.
  SAMPLER_DEVICE void set_distribution(const contract::RowScale &scale, Rank cut, uint64_t weight) {
    distribution_ = {scale, Cut::kept_from(cut), 0.0f, false};
    set_weight(weight);
  }
  SAMPLER_DEVICE void set_weight(uint64_t weight) {
    weight_ = weight;
    if (weight != 0) distribution_.normalizer = contract::normalizer(weight);
  }
  // Called by the whole team. Distributions without a weight keep all tokens.
  SAMPLER_DEVICE_CALL void find_weight() {
    if (weight_ != 0 || distribution_.greedy) return;
    const contract::RowScale scale = distribution_.scale;
    const uint32_t lowest = contract::key_of_rank(contract::lowest_cut(scale.kind));
    set_weight(this->weight_of_team(this->weigh(row_, scale, lowest)));
  }

  // Draws from the kept tokens of the row, or from the changed one.
  SAMPLER_DEVICE_CALL void draw(uint64_t word, int64_t *id) {
    const contract::RowScale scale = distribution_.scale;
    const HeldKept kept = distribution_.kept;
    this->draw_by_tiles(row_, word, [&](float x, int index) {
      return kept.has(x, index) ? contract::relative_for_weight(scale, x) : 0.0f;
    });
    ctx.team_sync();
    *id = ctx.peer(&shared.drawn, 0)->id;
  }

  // Calls f(x, index) for each of the thread's elements that is in the row.
  template <class F>
  SAMPLER_DEVICE void for_each_element(const F &f) const {
    this->for_each_tile(row_, [&](int tile) {
      this->for_each_quad(tile, [&](int slot, const Vector &quad) {
        SAMPLER_UNROLLED
        for (int j = 0; j < kQuad; ++j) {
          const int index = this->index_of(row_, tile, slot * kQuad + j);
          if (uint32_t(index) < uint32_t(row_.count)) f(contract::float_of(quad.word[j]), index);
        }
      });
    });
  }

  Row row_ = {};
  HeldDistribution distribution_ = {};
  uint64_t weight_ = 0;  // of the distribution; 0: not known
  Rank first_ = 0;       // of the row; 0: not known
  bool is_left_ = false;
};

}  // namespace sampler::kernels
