// The models' rows as contract::Verifier queries them, by a team. CPU twin: VerifiedRows in
// src/cpu/verify_extended.h.
//
// A row is read as given, or as its stages left it. The row after a rejection is written as f32 to
// the team's memory in the workspace, and treated like any other. Shared memory holds one row at a
// time.
#pragma once

#include <cstdint>

#include "contract/draw.h"
#include "contract/elements.h"
#include "contract/entropy.h"
#include "contract/verification.h"
#include "contract/verify_extended.h"
#include "machine/team.cuh"
#include "operations/residual.cuh"
#include "operations/sample.cuh"
#include "row/distribution.cuh"
#include "row/draw.cuh"
#include "row/entropy.cuh"
#include "row/ranks.cuh"
#include "row/row.cuh"
#include "stages/assumed_text.cuh"
#include "stages/staged.cuh"
#include "stages/staged.h"

namespace sampler::kernels {

// Positions are rows that are sampled and reported.
template <class Context>
class VerifiedRows : private StagedSampleTeam<Context> {
 public:
  static constexpr bool kMatches = false, kRelaxesGreedy = true;

  SAMPLER_DEVICE VerifiedRows(Team<Context> &team, const ExtendedVerifyRequest &request,
                              const RowCache &row_cache)
      : Positions(team, request.positions, row_cache),
        all_(request),
        changed_(request.memory.part<float>(team.ctx.team(), request.memory.changed)),
        excluded_(request.memory.part<float>(team.ctx.team(), request.memory.excluded)),
        assumed_(team, request.positions.stages, VerifyMemory::text_type(request.positions.stages),
                 VerifyMemory::assumes_text(request.positions.stages)
                     ? request.memory.part<char>(team.ctx.team(), request.memory.text)
                     : nullptr) {}

  SAMPLER_DEVICE TeamWorkers<Context> workers() const { return workers_of(team_); }

  // ---- History

  SAMPLER_DEVICE bool has_pipeline() const { return all_.has_pipeline; }
  SAMPLER_DEVICE bool is_adaptive() const {
    return all_.has_pipeline && all_.positions.stages.adaptive.may_have_window();
  }
  SAMPLER_DEVICE bool has_outputs() const { return all_.has_outputs; }
  SAMPLER_DEVICE bool gives_up() const { return false; }

  SAMPLER_DEVICE uint32_t begin_text(int64_t slot) {
    if (!all_.has_pipeline) return SAMPLER_ROW_OK;
    stages_.assume(&assumed_.history());
    return assumed_.begin(slot);
  }
  SAMPLER_DEVICE void append(int64_t slot, int64_t id, float observation) {
    assumed_.append(slot, id, observation);
  }

  // ---- The target's row

  SAMPLER_DEVICE_CALL uint32_t load(const contract::TargetPlace &place,
                                    const RowParameters &parameters, bool) {
    this->output_ = place.output;
    this->slot_ = place.slot;
    this->parameters_ = parameters;
    given_ = seen_ = stored_row(place.view);
    is_loaded_ = false;
    if (!stages_.has_valid_numbers(place.slot, given_.kind)) return SAMPLER_ROW_INVALID_PARAMETER;
    if (!contract::has_valid_count(given_, all_.target.num_cols)) {
      return SAMPLER_ROW_INVALID_CANDIDATE;
    }
    uint32_t status = SAMPLER_ROW_OK;
    if (stages_.changes_rows()) status = edit(place.mask_output);
    if (status != SAMPLER_ROW_OK) return status;
    stages_.adapt(place.slot, &this->parameters_);
    status = stages_.keep_window(seen_, place.slot, place.xtc_word, &this->parameters_);
    return status == SAMPLER_ROW_OK ? load_seen() : status;
  }

  SAMPLER_DEVICE_CALL void draw_as_sample(const contract::RandomStream &stream, int64_t *id) {
    if (distribution_.greedy) {
      *id = contract::id_of_rank(distribution_.cut);
      return;
    }
    with_row([&](const Row &row) {
      const DrawSource source =
          this->is_gumbel() ? DrawSource() : prepare_draw(team_, distribution_, list_);
      *id = this->draw(row, distribution_, list_, source, stream).id;
    });
  }

  SAMPLER_DEVICE bool has(int64_t id) const { return stages_.find(id) >= 0; }
  SAMPLER_DEVICE Rank rank_of(int64_t id) const {
    return contract::rank_of(seen_.value(stages_.find(id)), uint32_t(id));
  }
  SAMPLER_DEVICE_CALL Rank first() {
    if (distribution_.greedy) return distribution_.cut;
    if (!seen_.ids) return summary_.first;
    Rank result = 0;
    with_row([&](const Row &row) { result = first_token(team_, row, summary_); });
    return result;
  }

  SAMPLER_DEVICE float probability(int64_t id, contract::RowState state) const {
    const int element = stages_.find(id);
    return element < 0 ? 0.0f : probability_of(state, seen_.value(element), uint32_t(id));
  }

  SAMPLER_DEVICE_CALL contract::EntropySums kept_entropy_sums() {
    contract::EntropySums result;
    with_row([&](const Row &row) {
      result = entropy_sums_of_row(team_, row, distribution_.scale, distribution_.cut);
    });
    return result;
  }

  // Number of tokens before a rank; for a token with nonzero probability.
  SAMPLER_DEVICE_CALL int64_t num_before(Rank rank) {
    int64_t result = 0;
    with_row([&](const Row &row) {
      const WarpSums own = weigh(team_.ctx, row, distribution_.scale, rank, nullptr, {true, false});
      result = int64_t(team_.sum(own.count)) - 1;
    });
    return result;
  }

  // The terms are stored where the changed row goes, which does not exist yet.
  SAMPLER_DEVICE_CALL float entropy_of_first(int64_t wanted) {
    float entropy = 0.0f;
    with_row([&](const Row &row) {
      const int limit = wanted < row.count() ? int(wanted) : row.count();
      const int count =
          list_in_rank_order(team_, row, summary_, distribution_.cut, 0, limit,
                             [to = changed_, distribution = distribution_](int place, Rank rank) {
                               to[place] = contract::entropy_term(
                                   distribution.probability(contract::value_of_rank(rank), rank));
                             });
      team_.ctx.team_sync();
      for (int i = 0; i < count; ++i) entropy -= changed_[i];
    });
    return entropy;
  }

  SAMPLER_DEVICE_CALL void distribute_all() {
    with_row([&](const Row &row) {
      distribution_ = unfiltered_distribution(team_, row, summary_, 1.0f);
    });
  }

  // The team has memory for one row.
  SAMPLER_DEVICE bool keeps_loaded() const { return false; }

  // A draft outside the row counts as a removed token.
  SAMPLER_DEVICE float observation(int64_t id) const {
    const int element = stages_.find(id);
    return element >= 0 ? stages_.observation(id, seen_.value(element), distribution_)
                        : contract::quiet_nan();
  }

  SAMPLER_DEVICE_CALL void report(int64_t output, int64_t id) {
    this->output_ = output;
    if (team_.is_first_thread()) write_one(id);
    if (reports_.are_of_kept()) reports_.write_kept(seen_, distribution_, output);
    if (!reports_.are_of_distribution()) return;
    if (!this->reports_drawn_row()) {
      is_loaded_ = false;
      this->report_other_row(distribution_, id);
      return;
    }
    Row row(team_.ctx, seen_, this->row_cache_);
    const RowSummary summary = load_row(team_, row, reports_.wanted_maxima(seen_.count));
    is_loaded_ = true;
    this->report_row(row, summary, distribution_, id);
  }
  SAMPLER_DEVICE_CALL void report_nothing(int64_t output) {
    reports_.write_bad(output);
    if (team_.is_first_thread()) write_no_token(all_.positions, output);
  }

  // ---- The drafter's row

  SAMPLER_DEVICE_CALL uint32_t load_draft(const contract::RowView &view,
                                          const RowParameters &parameters,
                                          const FilterRules &rules) {
    is_loaded_ = false;
    draft_.stored = stored_row(view);
    if (!contract::has_valid_count(draft_.stored, all_.target.num_cols)) {
      return SAMPLER_ROW_INVALID_CANDIDATE;
    }
    Row row(team_.ctx, draft_.stored, this->row_cache_);
    const bool is_given = view.kind == SAMPLER_PROBABILITIES;
    const RowSummary summary =
        load_row(team_, row, is_given ? 0 : wanted_group_maxima(parameters, view.count));
    if (is_given && summary.status == SAMPLER_ROW_EMPTY) return SAMPLER_ROW_OK;
    if (is_given || summary.status != SAMPLER_ROW_OK) return summary.status;
    ListState list;
    draft_.distribution = make_distribution(team_, row, summary, parameters, rules, &list);
    return SAMPLER_ROW_OK;
  }

  // A candidate is found by all threads together.
  SAMPLER_DEVICE_CALL float draft_probability(int64_t id) {
    const StoredRow &stored = draft_.stored;
    if (!stored.ids) return draft_.probability_of(id);
    constexpr uint64_t kFound = uint64_t(1) << 32;
    uint64_t own = 0;
    for_each(stored.count, [&](int i) {
      if (stored.id(i) != id) return;
      own = kFound | contract::bits_of(draft_.probability(stored.value(i), uint32_t(id)));
    });
    return contract::float_of(uint32_t(team_.max(own)));
  }

  SAMPLER_DEVICE_CALL void begin_exclusion() {
    write(draft_.stored, excluded_,
          [&](float x, uint32_t id) { return draft_.probability(x, id); });
    StoredRow &stored = draft_.stored;
    stored = written_row(stored, excluded_);
    team_.ctx.team_sync();
  }
  SAMPLER_DEVICE_CALL void exclude(int64_t id) {
    const StoredRow &stored = draft_.stored;
    float *const values = excluded_ + stored.lead;
    if (!stored.ids) {
      if (team_.is_first_thread() && id < stored.count) values[id] = 0.0f;
      return;
    }
    for_each(stored.count, [&](int i) {
      if (stored.id(i) == id) values[i] = 0.0f;
    });
  }
  SAMPLER_DEVICE_CALL void end_exclusion() {
    team_.ctx.team_sync();
    Row row(team_.ctx, draft_.stored, this->row_cache_);
    const RowSummary summary = load_row(team_, row, 0);
    if (summary.status != SAMPLER_ROW_OK) return;  // no token is left
    const Distribution all = unfiltered_distribution(team_, row, summary, 1.0f);
    write(draft_.stored, excluded_,
          [&](float x, uint32_t id) { return all.probability(x, contract::rank_of(x, id)); });
    team_.ctx.team_sync();
  }

  // ---- Changes of the target's row

  SAMPLER_DEVICE_CALL void begin_change(contract::RowState state, float factor,
                                        bool subtracts_draft) {
    team_.ctx.team_sync();  // all have read what changes
    const StoredRow &q = draft_.stored;
    const bool is_alike = subtracts_draft && !q.ids;
    write(seen_, changed_, [&](float x, uint32_t id) {
      const float p = probability_of(state, x, id) * factor;
      if (!is_alike) return p;
      const bool has_q = int64_t(id) < q.count;
      return contract::residual_probability(p, has_q ? draft_.probability(q.value(id), id) : 0.0f);
    });
    seen_ = written_row(seen_, changed_);
    is_loaded_ = false;
    team_.ctx.team_sync();
    if (subtracts_draft && q.ids) subtract_list();
  }
  SAMPLER_DEVICE void remove(int64_t id) {
    const int element = stages_.find(id);
    if (element >= 0 && team_.is_first_thread()) changed_[seen_.lead + element] = 0.0f;
  }
  SAMPLER_DEVICE_CALL bool end_change() {
    team_.ctx.team_sync();
    Row row(team_.ctx, seen_, this->row_cache_);
    summary_ = load_row(team_, row, 0);
    if (summary_.status != SAMPLER_ROW_OK) return false;
    is_loaded_ = true;
    distribution_ = unfiltered_distribution(team_, row, summary_, 1.0f);
    return true;
  }
  SAMPLER_DEVICE double changed_sum() const {
    return contract::sum_of_weights(distribution_.scale, distribution_.kept_weight);
  }
  SAMPLER_DEVICE_CALL void draw_changed(uint64_t word, int64_t *id) {
    with_row([&](const Row &row) {
      const DrawSource source = prepare_draw(team_, distribution_, ListState());
      *id = draw_inverse_cdf(team_, row, distribution_, source,
                             contract::draw_target(word, distribution_.kept_weight))
                .id;
    });
  }

 private:
  using Positions = StagedSampleTeam<Context>;
  using Row = TeamRow<Context, StoredRow>;
  using Positions::given_;
  using Positions::reports_;
  using Positions::stages_;
  using Positions::team_;

  // Edits the given row.
  SAMPLER_DEVICE_CALL uint32_t edit(int64_t mask_output) {
    Row row(team_.ctx, given_, this->row_cache_);
    const RowSummary summary = load_row(team_, row, 0);
    if (summary.status != SAMPLER_ROW_OK) return summary.status;
    this->look_at(row, summary);
    const uint32_t status = stages_.edit(row, this->slot_, mask_output, &seen_);
    if (status == SAMPLER_ROW_OK && this->keeps_edited_) stages_.copy_values(this->edited_);
    return status;
  }

  SAMPLER_DEVICE_CALL uint32_t load_seen() {
    Row row(team_.ctx, seen_, this->row_cache_);
    summary_ = load_row(team_, row, wanted_group_maxima(this->parameters_, seen_.count));
    is_loaded_ = true;
    const bool is_empty = summary_.status == SAMPLER_ROW_EMPTY;
    if (summary_.status != SAMPLER_ROW_OK && !is_empty) return summary_.status;
    // The distribution below has a barrier before elements are queried.
    if (!stages_.changes_rows()) this->look_at(row, summary_);
    if (is_empty) {  // a forced token is looked for in it
      team_.ctx.team_sync();
      return SAMPLER_ROW_EMPTY;
    }
    list_ = ListState();
    this->wanted_ = {this->wanted_of_kept().count || reports_.wanted_of_kept().count, true};
    distribution_ = make_distribution(team_, row, summary_, this->parameters_,
                                      all_.parameters.rules, &list_, this->wanted_);
    if (stages_.reweighs(distribution_)) reweigh();
    return SAMPLER_ROW_OK;
  }

  SAMPLER_DEVICE_CALL void reweigh() {
    seen_ = stages_.reweigh(seen_, distribution_, this->slot_);
    Row row(team_.ctx, seen_, this->row_cache_);
    summary_ = load_row(team_, row, 0);
    distribution_ = unfiltered_distribution(team_, row, summary_, 1.0f, this->wanted_);
    list_ = ListState();
  }

  // Writes the outputs of a token that need no pass over its row.
  SAMPLER_DEVICE void write_one(int64_t id) const {
    const SampleRequest &to = all_.positions;
    const int64_t output = this->output_;
    if (to.out_kept_counts) to.out_kept_counts[output] = int32_t(distribution_.kept_count);
    if (to.out_observations) to.out_observations[output] = observation(id);
    if (!to.out_logprobs || to.logprob_kind == SAMPLER_LOGPROB_EDITED) return;
    const int element = stages_.find(id);
    if (element < 0) {
      to.out_logprobs[output] = contract::negative_infinity();
    } else if (to.logprob_kind == SAMPLER_LOGPROB_RAW) {
      to.out_logprobs[output] = contract::forced_log_probability(
          this->raw_scale_, given_.value(element), true, this->raw_weight_);
    } else {
      to.out_logprobs[output] = this->processed_logprob(id, seen_.value(element), distribution_);
    }
  }

  // Calls f(row) with the current row; reloads it if another was loaded in between.
  template <class F>
  SAMPLER_DEVICE void with_row(const F &f) {
    Row row(team_.ctx, seen_, this->row_cache_);
    if (is_loaded_) {
      row.resume();
    } else {
      load_row(team_, row, 0);
      is_loaded_ = true;
    }
    f(row);
  }

  SAMPLER_DEVICE float probability_of(contract::RowState state, float x, uint32_t id) const {
    const bool is_given = state == contract::RowState::kOpened && !stages_.changes_rows() &&
                          all_.target.kind == SAMPLER_PROBABILITIES;
    return is_given ? x : distribution_.probability(x, contract::rank_of(x, id));
  }

  template <class F>
  SAMPLER_DEVICE void for_each(int count, const F &f) const {
    const TeamWorkers<Context> own = workers();
    for (int i = own.index; i < count; i += own.count) f(i);
  }

  // An f32 copy of `row` at `at`, with the same lead and ids.
  SAMPLER_DEVICE static StoredRow written_row(const StoredRow &row, float *at) {
    contract::RowView view = row;
    view.values = at + row.lead % kQuad;
    view.dtype = SAMPLER_F32;
    view.kind = SAMPLER_PROBABILITIES;
    return stored_row(view);
  }

  // Writes make(value, id) for each token in whole vectors; those at the ends extend into padding
  // that the row owns. `from` may be the destination.
  template <class Make>
  SAMPLER_DEVICE void write(const StoredRow &from, float *at, const Make &make) {
    const StoredRow row = from;
    const int lead = row.lead % kQuad;
    for_each((lead + row.count + kQuad - 1) / kQuad, [&](int i) {
      const int first = i * kQuad - lead;
      float x[kQuad] = {};
      if (first >= 0 && first + kQuad <= row.count) {
        row.load(team_.ctx, first, x);
      } else {
        for (int j = 0; j < kQuad; ++j) {
          const int element = first + j;
          if (element >= 0 && element < row.count) x[j] = row.value(element);
        }
      }
      Vector raw = {};
      for (int j = 0; j < kQuad; ++j) {
        const int element = first + j;
        if (element < 0 || element >= row.count) continue;
        raw.word[j] = contract::bits_of(make(x[j], uint32_t(row.id(element))));
      }
      team_.ctx.store_vector(reinterpret_cast<Vector *>(at) + i, raw);
    });
  }

  // Subtracts a drafter's candidates from the row; other tokens are unchanged. A barrier follows.
  SAMPLER_DEVICE_CALL void subtract_list() {
    const StoredRow &q = draft_.stored;
    float *const values = changed_ + seen_.lead;
    for_each(q.count, [&](int i) {
      const uint32_t id = uint32_t(q.id(i));
      const int element = stages_.find(id);
      if (element < 0) return;
      values[element] =
          contract::residual_probability(values[element], draft_.probability(q.value(i), id));
    });
  }

  const ExtendedVerifyRequest &all_;
  float *changed_, *excluded_;
  TeamAssumedText<Context> assumed_;
  // The current row and its summary.
  StoredRow seen_ = {};
  RowSummary summary_ = {};
  Distribution distribution_ = {};
  ListState list_;          // valid until another row is loaded
  bool is_loaded_ = false;  // no other was loaded since
  Position draft_ = {};     // the drafter's
};

}  // namespace sampler::kernels
