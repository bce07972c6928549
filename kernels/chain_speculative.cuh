// Verification of a chain of drafts per row: the twin of src/cpu/chain_speculative.
//
// Of given probabilities only the drafts' entries are read until the first rejection, then one row
// of each model, in three passes (the second and third from shared memory where it holds the row).
// Rows of logits are read once a position.
#pragma once

#include <cstdint>

#include "contract/draw.h"
#include "contract/elements.h"
#include "contract/request.h"
#include "distribution.cuh"
#include "draw.cuh"
#include "residual.cuh"
#include "row.cuh"
#include "sample.cuh"
#include "team.cuh"

namespace sampler::kernels {

using contract::ChainRequest;
using contract::Purpose;

template <class Context>
class ChainTeam {
 public:
  SAMPLER_DEVICE ChainTeam(Team<Context> &team, const ChainRequest &request,
                           const Residence &residence, uint32_t *bitmap)
      : team_(team), request_(request), residence_(residence), bitmap_(bitmap) {}

  SAMPLER_DEVICE void run(int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) run_row(row);
  }

 private:
  using Row = TeamRow<Context, StoredRow>;

  struct Verdict {
    bool accepted;
    uint32_t status;
  };

  // What every thread knows of the row at hand.
  struct State {
    int64_t row;
    RowParameters parameters;
    bool greedy;
    contract::RandomStream random;
    int length;
    uint32_t draft_status;
    int accepted;
    int emitted;
    int64_t last_token;
  };

  SAMPLER_DEVICE void run_row(int64_t index) {
    State state = {};
    state.row = index;
    check_drafts(&state);
    const int64_t slot = request_.slots[index];
    uint32_t status = contract::check_slot(request_.slots, slot);
    if (status == row_status::kOk) {
      state.parameters = request_.parameters.of(slot);
      state.greedy = contract::is_greedy(state.parameters.temperature);
      state.random = request_.random.of(slot);
      status = contract::check_parameters(request_, state.parameters);
    }
    if (status == row_status::kOk) status = verify(&state);
    if (status == row_status::kOk) status = draw_last_token(&state);
    // Every thread has read what the row's outputs may be written over: the counts.
    write(state, status);
  }

  SAMPLER_DEVICE int64_t draft_id(const State &state, int position) const {
    return contract::load_id(request_.draft_token_ids, request_.out_token_ids.type,
                             state.row * request_.num_drafts + position);
  }

  SAMPLER_DEVICE bool is_in_vocabulary(int64_t id) const {
    const int64_t size = request_.target.ids ? contract::kMaxVocabulary : request_.target.num_cols;
    return id >= 0 && id < size;
  }

  SAMPLER_DEVICE void check_drafts(State *state) const {
    const int num_drafts = int(request_.num_drafts);
    const int length = request_.draft_counts ? request_.draft_counts[state->row] : num_drafts;
    state->length = length < 0 ? 0 : length > num_drafts ? num_drafts : length;
    bool valid = length == state->length;
    for (int i = 0; i < state->length; ++i) {
      valid = valid && is_in_vocabulary(draft_id(*state, i));
    }
    state->draft_status = valid ? row_status::kOk : row_status::kInvalidDraft;
  }

  SAMPLER_DEVICE StoredRow target_at(const State &state, int position) const {
    return stored_row(request_.target, state.row * (request_.num_drafts + 1) + position,
                      state.row * request_.target_row_stride + position * request_.target.stride);
  }

  SAMPLER_DEVICE StoredRow draft_at(const State &state, int position) const {
    return stored_row(request_.draft, state.row * request_.num_drafts + position,
                      state.row * request_.draft_row_stride + position * request_.draft.stride);
  }

  // Reads a whole row. Given probabilities may be all zero. Its summary goes to *summary.
  SAMPLER_DEVICE_CALL uint32_t load(const State &state, Position *position, RowSummary *summary) {
    const StoredRow &stored = position->stored;
    if (!has_valid_count(stored, request_.target.num_cols)) return row_status::kInvalidCandidate;
    Row row(team_.ctx, stored, residence_);
    const bool given = stored.kind == InputKind::kProbabilities;
    const int delegates = given ? 0 : wanted_delegates(state.parameters, stored.count);
    *summary = load_row(team_, row, delegates, bitmap_);
    if (given && summary->status == row_status::kEmpty) return row_status::kOk;
    if (!given && summary->status == row_status::kOk) {
      ListState list;
      position->distribution = make_distribution(team_, row, *summary, state.parameters,
                                                 request_.parameters.rules, &list);
    }
    return summary->status;
  }

  // The probability of `id` at a position of the target or the draft. Of given probabilities no
  // other element is read.
  SAMPLER_DEVICE_CALL uint32_t look_up(const State &state, bool is_draft, int at, int64_t id,
                                       float *probability) {
    const StoredRow stored = is_draft ? draft_at(state, at) : target_at(state, at);
    if (stored.kind == InputKind::kProbabilities && !stored.ids) {
      if (!has_valid_count(stored, request_.target.num_cols)) return row_status::kInvalidCandidate;
      *probability = id < stored.count ? stored.value(int(id)) : 0.0f;
      const bool valid = contract::is_valid_value(stored.kind, *probability);
      return valid ? row_status::kOk : row_status::kInvalidValue;
    }
    Position position = {};
    position.stored = stored;
    RowSummary summary = {};
    const uint32_t status = load(state, &position, &summary);
    if (status == row_status::kOk) *probability = position.probability_of(id);
    return status;
  }

  SAMPLER_DEVICE Verdict judge_greedily(const State &state, int position) {
    const StoredRow stored = target_at(state, position);
    if (!has_valid_count(stored, request_.target.num_cols)) {
      return {false, row_status::kInvalidCandidate};
    }
    Row row(team_.ctx, stored, residence_);
    const RowSummary summary = load_row(team_, row, 0, bitmap_);
    const bool accepted = draft_id(state, position) == int64_t(contract::id_of_rank(summary.first));
    return {accepted && summary.status == row_status::kOk, summary.status};
  }

  SAMPLER_DEVICE Verdict judge(const State &state, int position) {
    if (state.greedy) return judge_greedily(state, position);
    const int64_t id = draft_id(state, position);
    if (!is_in_vocabulary(id)) return {false, row_status::kOk};
    float target = 0.0f, draft = 1.0f;
    uint32_t status = look_up(state, false, position, id, &target);
    if (status == row_status::kOk && request_.draft.values) {
      status = look_up(state, true, position, id, &draft);
    }
    if (status != row_status::kOk) return {false, status};
    return {accepts(state, position, target, draft), row_status::kOk};
  }

  SAMPLER_DEVICE_CALL static bool accepts(const State &state, int position, float target,
                                          float draft) {
    const uint32_t word =
        contract::random_word32(state.random, Purpose::kAccept, uint32_t(position));
    return contract::accepts_draft(word, target, draft);
  }

  // Finds the first rejection. Behind it a bad row only means a draft that is not accepted.
  SAMPLER_DEVICE_CALL uint32_t verify(State *state) {
    state->emitted = state->length;
    for (int i = 0; i < state->length; ++i) {
      const bool rejected_before = state->emitted < i;
      if (rejected_before && !request_.out_accepted_counts) break;
      const Verdict verdict = judge(*state, i);
      if (verdict.status != row_status::kOk && !rejected_before) return verdict.status;
      if (verdict.accepted) {
        ++state->accepted;
      } else if (!rejected_before) {
        state->emitted = i;
      }
    }
    return row_status::kOk;
  }

  SAMPLER_DEVICE_CALL uint32_t draw_last_token(State *state) {
    ResidualRow residual = {};
    RowSummary summary = {};
    residual.target.stored = target_at(*state, state->emitted);
    uint32_t status = load(*state, &residual.target, &summary);
    if (status != row_status::kOk) return status;
    if (state->greedy) {
      if (summary.first < contract::lowest_cut(request_.target.kind)) return row_status::kEmpty;
      state->last_token = contract::id_of_rank(summary.first);
      return row_status::kOk;
    }
    residual.take_shape();
    const bool rejected = state->emitted < state->length;
    if (rejected && is_in_vocabulary(draft_id(*state, state->emitted))) {
      residual.is_residual = true;
      residual.removed = draft_id(*state, state->emitted);
      residual.has_draft = request_.draft.values != nullptr;
      if (residual.has_draft) {
        RowSummary unused = {};
        residual.draft.stored = draft_at(*state, state->emitted);
        status = load(*state, &residual.draft, &unused);
        if (status != row_status::kOk) return status;
      }
    }
    while (!draw_from(state, residual)) {
      if (!residual.is_residual) return row_status::kEmpty;
      // The residual is zero everywhere when p <= q by rounding: the token comes from p then.
      residual.is_residual = false;
    }
    return row_status::kOk;
  }

  // False when all of the row is zero.
  SAMPLER_DEVICE bool draw_from(State *state, const ResidualRow &source) {
    TeamRow<Context, ResidualRow> row(team_.ctx, source, residence_);
    Distribution all;
    if (!load_residual(team_, row, &all)) return false;
    const Purpose purpose = state->emitted < state->length ? Purpose::kResidual : Purpose::kBonus;
    const uint64_t word = contract::random_word64(state->random, purpose, uint32_t(state->emitted));
    const Token token = draw_inverse_cdf(team_, row, all, prepare_draw(team_, all, ListState()),
                                         contract::draw_target(word, all.kept_weight));
    state->last_token = token.id;
    return true;
  }

  SAMPLER_DEVICE void write(const State &state, uint32_t status) const {
    if (!team_.is_leader()) return;
    const bool good = status == row_status::kOk;
    const int num_tokens = int(request_.num_drafts) + 1;
    for (int i = team_.ctx.thread(); i < num_tokens; i += Context::kThreads) {
      int64_t id = -1;
      if (good && i < state.emitted) id = draft_id(state, i);
      if (good && i == state.emitted) id = state.last_token;
      if (!good && i == 0) id = request_.bad_row_token;
      contract::store_id(request_.out_token_ids, state.row * num_tokens + i, id);
    }
    if (team_.ctx.thread() != 0) return;
    write_count(request_.out_accepted_counts, state.row, good ? state.accepted : 0);
    write_count(request_.out_emitted_counts, state.row, good ? state.emitted : 0);
    if (request_.out_row_status) {
      request_.out_row_status[state.row] = status | state.draft_status;
    }
  }

  SAMPLER_DEVICE void write_count(int32_t *counts, int64_t row, int count) const {
    if (!counts) return;
    const uint32_t before = request_.accumulate_counts ? uint32_t(counts[row]) : 0;
    counts[row] = int32_t(before + uint32_t(count));  // wraps rather than overflows
  }

  Team<Context> &team_;
  const ChainRequest &request_;
  Residence residence_;
  uint32_t *bitmap_;
};

}  // namespace sampler::kernels
