// Verification of a chain of drafts per row, which contract/chain.h decides.
//
// Only the drafts' entries of given probabilities are read until the first rejection, then one row
// of each model, in three passes (the second and third from shared memory where it holds the row).
// Rows of logits are read once a position.
#pragma once

#include <cstdint>

#include "contract/chain.h"
#include "distribution.cuh"
#include "draw.cuh"
#include "residual.cuh"
#include "row.cuh"
#include "sample.cuh"
#include "team.cuh"

namespace sampler::kernels {

using contract::Chain;
using contract::ChainRequest;

template <class Context>
class ChainTeam {
 public:
  SAMPLER_DEVICE ChainTeam(Team<Context> &team, const ChainRequest &request,
                           const RowCache &row_cache, uint32_t *bitmap)
      : team_(team), request_(request), row_cache_(row_cache), bitmap_(bitmap) {}

  SAMPLER_DEVICE void run(int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) run_row(row);
  }

 private:
  using Row = TeamRow<Context, StoredRow>;

  SAMPLER_DEVICE void run_row(int64_t index) {
    Chain chain = contract::make_chain(request_, index);
    uint32_t status = chain.status;
    if (status == SAMPLER_ROW_OK) status = verify(&chain);
    if (status == SAMPLER_ROW_OK) status = find_last_token(&chain);
    // Every thread has read what the row's outputs may be written over: the counts.
    write(chain, status);
  }

  SAMPLER_DEVICE_CALL uint32_t verify(Chain *chain) {
    return contract::verify_drafts(request_, chain, [&](int position) {
      Models models = {*this, *chain};
      return contract::verify_draft(request_, *chain, position, models);
    });
  }

  // The rows' part of contract::verify_draft.
  struct Models {
    ChainTeam &team;
    const Chain &chain;

    SAMPLER_DEVICE uint32_t find_first(int position, int64_t *id) {
      return team.find_first(chain, position, id);
    }
    SAMPLER_DEVICE uint32_t look_up_target(int position, int64_t id, float *probability) {
      const auto view = contract::target_view(team.request_, chain.row, position);
      return team.look_up(chain, view, id, probability);
    }
    SAMPLER_DEVICE uint32_t look_up_draft(int position, int64_t id, float *probability) {
      const auto view = contract::draft_view(team.request_, chain.row, position);
      return team.look_up(chain, view, id, probability);
    }
  };

  // Reads a whole row. Given probabilities may be all zero. Its summary goes to *summary.
  SAMPLER_DEVICE_CALL uint32_t load(const Chain &chain, Position *position, RowSummary *summary) {
    const StoredRow &stored = position->stored;
    if (!contract::has_valid_count(stored, request_.target.num_cols))
      return SAMPLER_ROW_INVALID_CANDIDATE;
    Row row(team_.ctx, stored, row_cache_);
    const bool given = stored.kind == SAMPLER_PROBABILITIES;
    const int num_maxima = given ? 0 : wanted_group_maxima(chain.parameters, stored.count);
    *summary = load_row(team_, row, num_maxima, bitmap_);
    if (given && summary->status == SAMPLER_ROW_EMPTY) return SAMPLER_ROW_OK;
    if (!given && summary->status == SAMPLER_ROW_OK) {
      ListState list;
      position->distribution = make_distribution(team_, row, *summary, chain.parameters,
                                                 request_.parameters.rules, &list);
    }
    return summary->status;
  }

  // The probability of `id` in a row. Of given probabilities no other element is read.
  SAMPLER_DEVICE_CALL uint32_t look_up(const Chain &chain, const contract::RowView &view,
                                       int64_t id, float *probability) {
    if (view.kind == SAMPLER_PROBABILITIES && !view.ids) {
      if (!contract::has_valid_count(view, request_.target.num_cols)) {
        return SAMPLER_ROW_INVALID_CANDIDATE;
      }
      *probability = id < view.count ? view.value(id) : 0.0f;
      const bool valid = contract::is_valid_value(view.kind, *probability);
      return valid ? SAMPLER_ROW_OK : SAMPLER_ROW_INVALID_VALUE;
    }
    Position position = {};
    position.stored = stored_row(view);
    RowSummary summary = {};
    const uint32_t status = load(chain, &position, &summary);
    if (status == SAMPLER_ROW_OK) *probability = position.probability_of(id);
    return status;
  }

  // The target's first token, without a distribution.
  SAMPLER_DEVICE uint32_t find_first(const Chain &chain, int position, int64_t *id) {
    const StoredRow stored = stored_row(contract::target_view(request_, chain.row, position));
    if (!contract::has_valid_count(stored, request_.target.num_cols)) {
      return SAMPLER_ROW_INVALID_CANDIDATE;
    }
    Row row(team_.ctx, stored, row_cache_);
    const RowSummary summary = load_row(team_, row, 0, bitmap_);
    *id = contract::id_of_rank(summary.first);
    return summary.status;
  }

  SAMPLER_DEVICE_CALL uint32_t find_last_token(Chain *chain) {
    ResidualRow source = {};
    RowSummary summary = {};
    source.target.stored = stored_row(contract::target_view(request_, chain->row, chain->emitted));
    uint32_t status = load(*chain, &source.target, &summary);
    if (status != SAMPLER_ROW_OK) return status;
    if (chain->greedy) {
      if (summary.first < contract::lowest_cut(request_.target.kind)) return SAMPLER_ROW_EMPTY;
      chain->last_token = contract::id_of_rank(summary.first);
      return SAMPLER_ROW_OK;
    }
    source.take_shape();
    const int64_t rejected = contract::rejected_draft(request_, *chain);
    source.has_draft = request_.draft.values != nullptr;
    if (rejected >= 0 && source.has_draft) {
      RowSummary unused = {};
      source.draft.stored = stored_row(contract::draft_view(request_, chain->row, chain->emitted));
      status = load(*chain, &source.draft, &unused);
      if (status != SAMPLER_ROW_OK) return status;
    }
    return contract::draw_last_token(chain, rejected, [&](int64_t removed, int64_t *id) {
      source.is_residual = removed >= 0;
      source.removed = removed;
      return draw_from(*chain, source, id);
    });
  }

  // False when all of the row is zero.
  SAMPLER_DEVICE bool draw_from(const Chain &chain, const ResidualRow &source, int64_t *id) {
    TeamRow<Context, ResidualRow> row(team_.ctx, source, row_cache_);
    Distribution all;
    if (!load_residual(team_, row, &all)) return false;
    const uint64_t word = contract::last_token_word(chain);
    const Token token = draw_inverse_cdf(team_, row, all, prepare_draw(team_, all, ListState()),
                                         contract::draw_target(word, all.kept_weight));
    *id = token.id;
    return true;
  }

  SAMPLER_DEVICE void write(const Chain &chain, uint32_t status) const {
    if (!team_.is_leader()) return;
    const int num_tokens = int(request_.num_drafts) + 1;
    for (int i = team_.ctx.thread(); i < num_tokens; i += Context::kThreads) {
      contract::store_id(request_.out_token_ids, chain.row * num_tokens + i,
                         contract::chain_token(request_, chain, status, i));
    }
    if (team_.ctx.thread() == 0) contract::write_chain_outcome(request_, chain, status);
  }

  Team<Context> &team_;
  const ChainRequest &request_;
  RowCache row_cache_;
  uint32_t *bitmap_;
};

}  // namespace sampler::kernels
