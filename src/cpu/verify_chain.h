// Verification of one draft chain per row.
#pragma once

#include <optional>

#include "contract/verify_chain.h"
#include "cpu/row_tasks.h"
#include "cpu/verify_extended.h"

namespace sampler::cpu {

template <class Row>
class Task<contract::VerifyRequest, Row> {
 public:
  Task(const contract::VerifyRequest &request, const Shared<contract::VerifyRequest> &,
       TaskMemory &memory)
      : request_(request),
        target_(memory.make_row_if<Row>(!request.verification, request.target)),
        draft_(
            memory.make_row_if<Row>(!request.verification && request.draft.values, request.draft)),
        residual_(memory.take<float>(request.verification ? 0 : request.target.num_cols)) {
    if (request.verification) verifier_.emplace(request, memory);
  }

  void run(int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      if (verifier_) {
        verifier_->run_sequence(row);
      } else {
        run_row(row);
      }
    }
  }

  // The rows' part of contract::verify_draft.
  uint32_t find_first(int32_t position, int64_t *id) {
    const uint32_t status = target_.load(target_view(position));
    *id = contract::id_of_rank(target_.first());
    return status;
  }
  uint32_t look_up_target(int32_t position, int64_t id, float *probability) {
    return look_up(target_view(position), target_, id, probability);
  }
  uint32_t look_up_draft(int32_t position, int64_t id, float *probability) {
    return look_up(draft_view(position), draft_, id, probability);
  }

 private:
  void run_row(int64_t row) {
    chain_ = contract::make_chain(request_, row);
    uint32_t status = chain_.status;
    if (status == SAMPLER_ROW_OK) {
      status = contract::verify_drafts(request_, &chain_, [&](int32_t position) {
        return contract::verify_draft(request_, chain_, position, *this);
      });
    }
    if (status == SAMPLER_ROW_OK) status = find_last_token();
    for (int32_t i = 0; i <= request_.num_drafts; ++i) {
      contract::store_id(request_.out_token_ids, row * (request_.num_drafts + 1) + i,
                         contract::chain_token(request_, chain_, status, i));
    }
    contract::write_chain_outcome(request_, chain_, status);
  }

  RowView target_view(int32_t position) const {
    return contract::target_view(request_, chain_.row, position);
  }
  RowView draft_view(int32_t position) const {
    return contract::draft_view(request_, chain_.row, position);
  }

  // Reads a whole row. Given probabilities may be 0 everywhere.
  uint32_t load(const RowView &view, Row &row) {
    const uint32_t status = row.load(view);
    const bool given = view.kind == SAMPLER_PROBABILITIES;
    if (given && status == SAMPLER_ROW_EMPTY) return SAMPLER_ROW_OK;
    if (!given && status == SAMPLER_ROW_OK) {
      row.distribute(chain_.parameters, request_.parameters.rules);
    }
    return status;
  }

  // For given probabilities, reads this element alone.
  uint32_t look_up(const RowView &view, Row &row, int64_t id, float *probability) {
    if (view.kind == SAMPLER_PROBABILITIES && !view.ids) {
      if (!contract::has_valid_count(view, request_.target.num_cols)) {
        return SAMPLER_ROW_INVALID_CANDIDATE;
      }
      *probability = id < view.count ? view.value(id) : 0.0f;
      return contract::is_valid_value(view.kind, *probability) ? SAMPLER_ROW_OK
                                                               : SAMPLER_ROW_INVALID_VALUE;
    }
    const uint32_t status = load(view, row);
    if (status == SAMPLER_ROW_OK) *probability = row.probability_of(id);
    return status;
  }

  uint32_t find_last_token() {
    uint32_t status = load(target_view(chain_.emitted), target_);
    if (status != SAMPLER_ROW_OK) return status;
    if (chain_.greedy) {
      chain_.last_token = contract::id_of_rank(target_.first());
      const bool is_empty = target_.first() < contract::lowest_cut(target_.kind());
      return is_empty ? SAMPLER_ROW_EMPTY : SAMPLER_ROW_OK;
    }
    const int64_t rejected = contract::rejected_draft(request_, chain_);
    const bool has_draft = request_.draft.values;
    if (rejected >= 0 && has_draft) status = load(draft_view(chain_.emitted), draft_);
    if (status != SAMPLER_ROW_OK) return status;
    return contract::draw_last_token(&chain_, rejected, [&](int64_t removed, int64_t *id) {
      if (removed < 0) {
        target_.chain_probabilities(residual_);
        if (!target_.become(residual_)) return false;
      } else if (!target_.become_residual(has_draft ? &draft_ : nullptr, removed, residual_)) {
        load(target_view(chain_.emitted), target_);
        return false;
      }
      const uint64_t word = contract::last_token_word(chain_);
      target_.prepare_draws(1);
      target_.draw(&word, 1, id);
      return true;
    });
  }

  const contract::VerifyRequest &request_;
  Row target_;
  Row draft_;
  float *residual_;  // probabilities of the target's tokens
  contract::Chain chain_ = {};
  std::optional<Verifier<Row>> verifier_;  // for extended requests
};

}  // namespace sampler::cpu
