// Verifies a chain of drafts per row; contract/chain.h decides.
//
// With given probabilities, only the drafts' entries are read until the first rejection, then one
// row of each model, both in one pass. Where shared memory holds the residual, its weights and the
// draw are computed there. Rows of logits are read once per position.
#pragma once

#include <cstdint>

#include "contract/verify_chain.h"
#include "machine/team.cuh"
#include "operations/residual.cuh"
#include "operations/sample.cuh"
#include "row/distribution.cuh"
#include "row/draw.cuh"
#include "row/row.cuh"

namespace sampler::kernels {

using contract::Chain;
using contract::VerifyRequest;

template <class Context>
class VerifyTeam {
 public:
  SAMPLER_DEVICE VerifyTeam(Team<Context> &team, const VerifyRequest &request,
                            const RowCache &row_cache)
      : team_(team), request_(request), row_cache_(row_cache) {}

  SAMPLER_DEVICE void run(int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) run_row(row);
    for (; place_ < num_places_; place_ += uint32_t(team_.ctx.num_teams())) run_row(list_[place_]);
  }

  // run() also processes rows of a list: teams take turns, this one starts at its own index.
  SAMPLER_DEVICE void take_list(const uint32_t *list, uint32_t num_rows) {
    list_ = list;
    place_ = uint32_t(team_.ctx.team());
    num_places_ = num_rows;
  }

 private:
  using Row = TeamRow<Context, StoredRow>;

  SAMPLER_DEVICE void run_row(int64_t index) {
    Chain chain = contract::make_chain(request_, index);
    uint32_t status = chain.status;
    if (status == SAMPLER_ROW_OK) status = verify(&chain);
    if (status == SAMPLER_ROW_OK) status = find_last_token(&chain);
    // Every thread has read the counts, which the row's outputs may overwrite.
    write(chain, status);
  }

  SAMPLER_DEVICE_CALL uint32_t verify(Chain *chain) {
    return contract::verify_drafts(request_, chain, [&](int position) {
      Models models = {*this, *chain};
      return contract::verify_draft(request_, *chain, position, models);
    });
  }

  // Reads rows for contract::verify_draft.
  struct Models {
    VerifyTeam &team;
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

  // Reads a whole row. Given probabilities may be all zero. *first: the first token of a greedy
  // chain, else 0.
  SAMPLER_DEVICE_CALL uint32_t load(const Chain &chain, Position *position, Rank *first) {
    const StoredRow &stored = position->stored;
    if (!contract::has_valid_count(stored, request_.target.num_cols))
      return SAMPLER_ROW_INVALID_CANDIDATE;
    Row row(team_.ctx, stored, row_cache_);
    const bool given = stored.kind == SAMPLER_PROBABILITIES;
    const int num_maxima = given ? 0 : wanted_group_maxima(chain.parameters, stored.count);
    const RowSummary summary = load_row(team_, row, num_maxima);
    *first = 0;
    if (given && summary.status == SAMPLER_ROW_EMPTY) return SAMPLER_ROW_OK;
    if (summary.status != SAMPLER_ROW_OK) return summary.status;
    if (given) {
      if (chain.greedy) *first = first_token(team_, row, summary);
    } else {
      ListState list;
      position->distribution = make_distribution(team_, row, summary, chain.parameters,
                                                 request_.parameters.rules, &list);
      *first = position->distribution.cut;
    }
    return SAMPLER_ROW_OK;
  }

  // The probability of `id` in a row; with given probabilities no other element is read.
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
    Rank unused;
    const uint32_t status = load(chain, &position, &unused);
    if (status == SAMPLER_ROW_OK) *probability = position.probability_of(id);
    return status;
  }

  // Finds the target's first token without a distribution.
  SAMPLER_DEVICE uint32_t find_first(const Chain &chain, int position, int64_t *id) {
    const StoredRow stored = stored_row(contract::target_view(request_, chain.row, position));
    if (!contract::has_valid_count(stored, request_.target.num_cols)) {
      return SAMPLER_ROW_INVALID_CANDIDATE;
    }
    Row row(team_.ctx, stored, row_cache_);
    const RowSummary summary = load_row(team_, row, 0);
    if (summary.status == SAMPLER_ROW_OK) {
      *id = contract::id_of_rank(first_token(team_, row, summary));
    }
    return summary.status;
  }

  SAMPLER_DEVICE_CALL uint32_t find_last_token(Chain *chain) {
    ResidualRow source = {};
    const int64_t rejected = contract::rejected_draft(request_, *chain);
    source.target.stored = stored_row(contract::target_view(request_, chain->row, chain->emitted));
    source.has_draft = request_.draft.values != nullptr;
    source.is_residual = rejected >= 0;
    if (source.takes_draft()) {
      source.draft.stored = stored_row(contract::draft_view(request_, chain->row, chain->emitted));
    }
    if (chain->greedy || !is_given(source)) {
      const uint32_t status = prepare(chain, &source);
      if (status != SAMPLER_ROW_OK || chain->greedy) return status;
    }
    uint32_t status = SAMPLER_ROW_OK;  // of the values checked so far
    const uint32_t drawn =
        contract::draw_last_token(chain, rejected, [&](int64_t removed, int64_t *id) {
          source.is_residual = removed >= 0;
          source.removed = removed;
          return draw_from(*chain, source, id, &status);
        });
    return status != SAMPLER_ROW_OK ? status : drawn;
  }

  // Whether the pass over a residual also checks all of its rows.
  SAMPLER_DEVICE bool is_given(const ResidualRow &source) const {
    const int64_t num_cols = request_.target.num_cols;
    return source.is_given() && contract::has_valid_count(source.target.stored, num_cols) &&
           (!source.takes_draft() || contract::has_valid_count(source.draft.stored, num_cols));
  }

  // Reads each row separately. Finds the last token of a greedy chain.
  SAMPLER_DEVICE uint32_t prepare(Chain *chain, ResidualRow *source) {
    Rank first;
    const uint32_t status = load(*chain, &source->target, &first);
    if (status != SAMPLER_ROW_OK) return status;
    if (chain->greedy) {
      if (first == 0) return SAMPLER_ROW_EMPTY;
      chain->last_token = contract::id_of_rank(first);
      return SAMPLER_ROW_OK;
    }
    Rank unused;
    return source->takes_draft() ? load(*chain, &source->draft, &unused) : status;
  }

  // Returns false when the whole row is zero.
  SAMPLER_DEVICE_CALL bool draw_from(const Chain &chain, ResidualRow &source, int64_t *id,
                                     uint32_t *status) {
    source.take_shape();
    TeamRow<Context, ResidualRow> row(team_.ctx, source, row_cache_);
    const ResidualSummary found = load_residual(team_, row);
    if (found.is_invalid) {
      *status = SAMPLER_ROW_INVALID_VALUE;
      return true;
    }
    if (found.is_zero()) return false;
    const Distribution all = residual_distribution(team_, row, found);
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
  const VerifyRequest &request_;
  RowCache row_cache_;
  const uint32_t *list_ = nullptr;
  uint32_t place_ = 0;
  uint32_t num_places_ = 0;
};

}  // namespace sampler::kernels
