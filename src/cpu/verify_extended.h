// Extended verification, one sequence at a time: other rules, packed batches, trees, stages and
// reports. contract/verifier.h decides.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "contract/state_slots.h"
#include "contract/verification.h"
#include "contract/verify_extended.h"
#include "cpu/assumed_text.h"
#include "cpu/row_tasks.h"
#include "cpu/sampled_row.h"

namespace sampler::cpu {

// `Models` of contract::Verifier.
template <class Row>
class VerifiedRows {
 public:
  static constexpr bool kMatches = false, kRelaxesGreedy = true;

  // For an extended request.
  VerifiedRows(const contract::VerifyRequest &request, TaskMemory &memory)
      : positions_(request.verification->positions),
        pipeline_(positions_.pipeline),
        sampled_(positions_, memory),
        changed_(memory.make_row_if<Row>(has_outputs(), request.target)),
        draft_(memory.make_row_if<Row>(request.draft.values, request.draft)),
        history_(pipeline_, request.num_drafts, memory),
        values_(memory.take<float>(request.target.num_cols)),
        other_(memory.take<float>(request.target.num_cols)) {
    const bool excludes = request.draft.values && request.verification->excludes_siblings();
    draft_values_ = memory.take<float>(excludes ? request.target.num_cols : 0);
    excluded_values_ = memory.take<float>(excludes ? request.target.num_cols : 0);
  }

  static contract::OneWorker workers() { return {}; }

  // ---- The history

  bool has_pipeline() const { return pipeline_ != nullptr; }
  bool is_adaptive() const { return pipeline_ && pipeline_->adaptive.may_have_window(); }
  bool has_outputs() const { return positions_.reports_anything(); }
  static bool gives_up() { return false; }

  uint32_t begin_text(int64_t slot) {
    if (!pipeline_) return SAMPLER_ROW_OK;
    sampled_.stages().assume(&history_.history());
    return history_.begin(slot);
  }
  void append(int64_t slot, int64_t id, float observation) {
    history_.append(slot, id, observation);
  }

  // ---- The target's row

  uint32_t load(const contract::TargetPlace &place, const contract::RowParameters &parameters,
                bool asks_for_draws) {
    row_ = &sampled_.row();
    is_as_loaded_ = true;
    return sampled_.prepare(
        {place.view, place.slot, place.output, place.mask_output, 1, place.xtc_word}, parameters,
        asks_for_draws ? SampledRow<Row>::Wanted::kDraws : SampledRow<Row>::Wanted::kAll);
  }

  void draw_as_sample(const contract::RandomStream &stream, int64_t *id) {
    sampled_.prepare_draws(1);
    sampled_.draw(&stream, 1, id);
  }

  bool has(int64_t id) const { return row().has(id); }
  contract::Rank rank_of(int64_t id) const {
    return contract::rank_of(row().value_of(id), uint32_t(id));
  }
  contract::Rank first() const { return std::min(row().first(), row().distribution().first); }

  float probability(int64_t id, contract::RowState state) const {
    const bool is_given = state == contract::RowState::kOpened && !changes_rows() &&
                          row().kind() == SAMPLER_PROBABILITIES;
    return is_given ? row().probability_of(id) : row().kept_probability(id);
  }
  contract::EntropySums kept_entropy_sums() const { return row().kept_entropy_sums(); }
  int64_t num_before(contract::Rank rank) const { return row().num_before(rank); }

  float entropy_of_first(int64_t wanted) {
    const contract::Rank *ranks = nullptr;
    const int64_t count = row().select_kept(wanted, &ranks);
    float entropy = 0.0f;
    for (int64_t i = 0; i < count; ++i) {
      const float p = row().distribution().probability(contract::value_of_rank(ranks[i]), ranks[i]);
      entropy -= contract::entropy_term(p);
    }
    return entropy;
  }

  void distribute_all() {
    is_as_loaded_ = false;
    row().apply_edits();
    row().distribute({1.0f, 0, 1.0f, 0.0f}, {});
  }

  bool keeps_loaded() const { return has_outputs() && is_as_loaded_; }
  float observation(int64_t id) const { return sampled_.observation(id); }
  void report(int64_t output, int64_t id) {
    sampled_.write_good(output, id);
    if (positions_.reports) sampled_.report_shared();
  }
  void report_nothing(int64_t output) { sampled_.write_bad(output); }

  // ---- The drafter's row

  uint32_t load_draft(const RowView &view, const contract::RowParameters &parameters,
                      const contract::FilterRules &rules) {
    uint32_t status = draft_.load(view);
    const bool is_given = view.kind == SAMPLER_PROBABILITIES;
    if (is_given && status == SAMPLER_ROW_EMPTY) status = SAMPLER_ROW_OK;
    if (status == SAMPLER_ROW_OK && !is_given) draft_.distribute(parameters, rules);
    return status;
  }
  float draft_probability(int64_t id) const { return draft_.probability_of(id); }

  void begin_exclusion() { draft_.chain_probabilities(draft_values_); }
  void exclude(int64_t id) { draft_.remove(id, draft_values_); }
  void end_exclusion() {
    if (!draft_.become(draft_values_)) return;
    draft_.kept_probabilities(excluded_values_, nullptr);
    draft_.take(excluded_values_);
  }

  // ---- Changes of the target's row

  void begin_change(contract::RowState state, float factor, bool subtracts_draft) {
    if (state == contract::RowState::kChanged) {
      row().kept_probabilities(other_, nullptr);  // of a row without edits
    } else if (changes_rows()) {
      row().kept_probabilities(other_, values_);
    } else {
      row().chain_probabilities(other_);
    }
    for (int64_t i = 0; factor != 1.0f && i < row().view().count; ++i) other_[i] *= factor;
    if (subtracts_draft) row().subtract(draft_, other_);
  }
  void remove(int64_t id) { row().remove(id, other_); }
  bool end_change() {
    // Outputs still need the loaded row, so the change goes to another.
    Row &changed = has_outputs() ? changed_ : row();
    if (!changed.become(row(), other_)) return false;
    row_ = &changed;
    std::swap(values_, other_);
    return true;
  }
  double changed_sum() const {
    const Distribution &distribution = row().distribution();
    return contract::sum_of_weights(distribution.scale, distribution.kept_weight);
  }
  void draw_changed(uint64_t word, int64_t *id) {
    row().prepare_draws(1);
    row().draw(&word, 1, id);
  }

 private:
  Row &row() { return *row_; }
  const Row &row() const { return *row_; }
  bool changes_rows() const { return pipeline_ && pipeline_->changes_rows(); }

  const contract::SampleRequest &positions_;
  const contract::Pipeline *pipeline_;
  SampledRow<Row> sampled_;
  Row changed_;
  Row *row_ = &sampled_.row();  // or changed_
  bool is_as_loaded_ = true;    // whether the sampled row is unchanged
  Row draft_;
  AssumedText history_;
  float *values_, *other_;  // by element of the target: the changed row, and the next change
  float *draft_values_, *excluded_values_;
};

// contract::Verifier with its memory.
template <class Row>
class Verifier {
 public:
  Verifier(const contract::VerifyRequest &request, TaskMemory &memory)
      : rows_(request, memory),
        verifier_(request, *request.verification,
                  contract::TreeMemory::of(*request.verification, request.num_drafts + 1,
                                           take_tree(request, memory)),
                  rows_) {}
  Verifier(const Verifier &) = delete;
  Verifier &operator=(const Verifier &) = delete;

  void run_sequence(int64_t sequence) { verifier_.run_sequence(sequence); }

 private:
  static int32_t *take_tree(const contract::VerifyRequest &request, TaskMemory &memory) {
    return memory.take<int32_t>(
        contract::TreeMemory::num_numbers(*request.verification, request.num_drafts + 1));
  }

  VerifiedRows<Row> rows_;
  contract::Verifier<VerifiedRows<Row>> verifier_;
};

}  // namespace sampler::cpu
