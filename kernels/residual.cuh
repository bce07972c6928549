// What a rejected draft leaves of the target's row: the operation that writes it, and the row that
// chain_speculative draws from. The twin of src/cpu/residual.
//
// The rows of both models are read and checked, then once more together; shared memory holds the
// residual where it fits.
#pragma once

#include <cstdint>

#include "contract/draw.h"
#include "contract/elements.h"
#include "contract/request.h"
#include "distribution.cuh"
#include "output.cuh"
#include "row.cuh"
#include "team.cuh"

namespace sampler::kernels {

using contract::ResidualRequest;

// The probabilities of one position, as given or made from logits.
struct Position {
  StoredRow stored;
  Distribution distribution;  // of logits

  SAMPLER_HD float probability(float x, uint32_t id) const {
    if (stored.kind == SAMPLER_PROBABILITIES) return x;
    return distribution.probability(x, contract::rank_of(x, id));
  }

  // Index of the element with this id, or -1.
  SAMPLER_HD int find(int64_t id) const {
    if (!stored.ids) return id >= 0 && id < stored.count ? int(id) : -1;
    for (int i = 0; i < stored.count; ++i) {
      if (stored.id(i) == id) return i;
    }
    return -1;
  }

  SAMPLER_HD float probability_of(int64_t id) const {
    const int index = find(id);
    return index < 0 ? 0.0f : probability(stored.value(index), uint32_t(id));
  }
};

// A row of probabilities: the target's, or the residual of both models.
struct ResidualRow {
  static constexpr bool kIsCopied = false;

  Position target;
  Position draft;
  int64_t removed;  // id that a deterministic drafter proposed; -1: none
  bool has_draft;
  bool is_residual;
  // What passes over a row ask of their source.
  const void *ids;
  int count;
  int lead;
  sampler_input_kind kind;

  // Once the target is known.
  SAMPLER_DEVICE void take_shape() {
    ids = target.stored.ids;
    count = target.stored.count;
    lead = target.stored.lead;
    kind = SAMPLER_PROBABILITIES;
  }

  SAMPLER_DEVICE int64_t id(int index) const { return target.stored.id(index); }
  SAMPLER_HD int unused_value_bits() const { return 0; }

  SAMPLER_DEVICE float value(int index) const {
    const uint32_t token = uint32_t(id(index));
    const float p = target.probability(target.stored.value(index), token);
    return residual(p, token, is_residual && has_draft ? draft.probability_of(token) : 0.0f);
  }

  // The elements at positions [position, position + kQuad); 0 outside the row.
  template <class Context>
  SAMPLER_DEVICE_CALL void load(Context &ctx, int position, float (&x)[kQuad]) const {
    const int index = position - lead;
    const bool reads_draft = is_residual && has_draft;
    const bool draft_goes_on = !draft.stored.ids && index + kQuad <= draft.stored.count;
    if (ids || index < 0 || index + kQuad > count || (reads_draft && !draft_goes_on)) {
      for (int i = 0; i < kQuad; ++i) {
        x[i] = index + i >= 0 && index + i < count ? value(index + i) : 0.0f;
      }
      return;
    }
    float q[kQuad] = {};
    target.stored.load(ctx, index, x);
    if (reads_draft) draft.stored.load(ctx, index, q);
    for (int i = 0; i < kQuad; ++i) {
      const uint32_t token = uint32_t(index + i);
      const float p = target.probability(x[i], token);
      x[i] = residual(p, token, reads_draft ? draft.probability(q[i], token) : 0.0f);
    }
  }

 private:
  SAMPLER_DEVICE float residual(float p, uint32_t token, float q) const {
    if (!is_residual) return p;
    return !has_draft && int64_t(token) == removed ? 0.0f : contract::residual_probability(p, q);
  }
};

// The pass that reads the row, and the distribution of all its tokens. False when all of it is
// zero.
template <class Context>
SAMPLER_DEVICE bool load_residual(Team<Context> &team, TeamRow<Context, ResidualRow> &row,
                                  Distribution *distribution) {
  const uint32_t own_key = contract::value_key(row.load().max);
  const RowSummary summary = {SAMPLER_ROW_OK, contract::rank_of_key(uint32_t(team.max(own_key))), 0,
                              0};
  if (summary.first < contract::lowest_cut(SAMPLER_PROBABILITIES)) return false;
  *distribution = unfiltered_distribution(team, row, summary, 1.0f);
  return true;
}

template <class Context>
class ResidualTeam {
 public:
  SAMPLER_DEVICE ResidualTeam(Team<Context> &team, const ResidualRequest &request,
                              const RowCache &row_cache, uint32_t *)
      : team_(team), request_(request), row_cache_(row_cache) {}

  SAMPLER_DEVICE void run(int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) run_row(row);
  }

 private:
  SAMPLER_DEVICE void run_row(int64_t index) {
    ResidualRow source = {};
    source.has_draft = request_.draft.values != nullptr;
    if (!source.has_draft) {
      source.removed = contract::load_id(request_.draft_token_ids, request_.token_id_type, index);
    }
    source.is_residual = source.removed >= 0 && source.removed < request_.target.num_cols;
    const uint32_t draft_status = source.is_residual ? SAMPLER_ROW_OK : SAMPLER_ROW_INVALID_DRAFT;
    uint32_t status = check(request_.target, index, &source.target);
    source.take_shape();
    if (status == SAMPLER_ROW_OK && source.has_draft) {
      status = check(request_.draft, index, &source.draft);
      if (status == SAMPLER_ROW_EMPTY) status = SAMPLER_ROW_OK;  // takes nothing away
    }
    if (status != SAMPLER_ROW_OK) {
      write_bad(index);
    } else if (!write_good(index, source)) {
      source.is_residual = false;  // it is zero everywhere
      write_good(index, source);
    }
    if (team_.is_first_thread() && request_.out_row_status) {
      request_.out_row_status[index] = status | draft_status;
    }
  }

  // Reads a model's row whole.
  SAMPLER_DEVICE uint32_t check(const contract::Rows &rows, int64_t index, Position *position) {
    position->stored = stored_row(contract::row_view(rows, index));
    TeamRow<Context, StoredRow> row(team_.ctx, position->stored, row_cache_);
    return load_row(team_, row, 0, nullptr).status;
  }

  // False when all of the row is zero.
  SAMPLER_DEVICE_CALL bool write_good(int64_t index, const ResidualRow &source) {
    TeamRow<Context, ResidualRow> row(team_.ctx, source, row_cache_);
    Distribution all;
    if (!load_residual(team_, row, &all)) return false;
    write_probabilities(team_, output_rows(request_, request_.target.num_cols), index, row, all);
    return true;
  }

  SAMPLER_DEVICE void write_bad(int64_t index) const {
    const OutputRows output = output_rows(request_, request_.target.num_cols);
    const int num_threads = team_.ctx.team_size() * Context::kThreads;
    for (int64_t i = team_.ctx.cluster_rank() * Context::kThreads + team_.ctx.thread();
         i < output.num_cols; i += num_threads) {
      output.store(index * output.stride + i, 0.0f);
    }
  }

  Team<Context> &team_;
  const ResidualRequest &request_;
  RowCache row_cache_;
};

}  // namespace sampler::kernels
