// A row to sample from: its stages, the draw, and the reports.
#pragma once

#include <algorithm>
#include <cstdint>

#include "contract/elements.h"
#include "contract/philox.h"
#include "cpu/reports.h"
#include "cpu/stages.h"

namespace sampler::cpu {

template <class Row>
class SampledRow {
 public:
  // `memory` is a TaskMemory. `kept_lists`: the packed lists, if the request has them.
  template <class Memory>
  SampledRow(const contract::SampleRequest &request, Memory &memory,
             const contract::KeptLists *kept_lists = nullptr)
      : request_(request),
        row_(memory.template make_row<Row>(request.input)),
        reports_(request, memory, kept_lists),
        stages_(request.pipeline, request.input, reports_.looks_at_edited(), memory) {}

  struct Place {
    contract::RowView view;
    int64_t slot;
    int64_t output;       // first of the `num_outputs` outputs that share the row
    int64_t mask_output;  // output whose bitmask applies
    int64_t num_outputs;
    uint32_t xtc_word;  // the slot's word of Purpose::kXtc
  };

  // What the caller reads after prepare().
  enum class Wanted {
    kAll,
    kDraws,        // draws and reports, then the remaining distribution
    kNothingElse,  // draws and reports only
  };

  // Runs the stages; returns the row's status. The parameters are valid.
  uint32_t prepare(const Place &place, const contract::RowParameters &given, Wanted wanted) {
    const contract::FilterRules &rules = request_.parameters.rules;
    reports_.begin(place.output, place.num_outputs, &stages_.edits());
    const bool draws_alone = wanted == Wanted::kNothingElse && only_draws();
    const RowStages::Asked asked = {given, rules,
                                    wanted == Wanted::kNothingElse && reads_single_values()};
    uint32_t status = stages_.load(
        place.view, place.slot, place.mask_output, wanted == Wanted::kAll ? nullptr : &asked, &row_,
        reports_.looks_at_given(), [&](const Row &) {
          reports_.look_at(SAMPLER_LOGPROB_RAW, elements_if(stages_.replaces_given()), &row_);
        });
    if (status == SAMPLER_ROW_OK) status = read_forced_token(place);
    if (status != SAMPLER_ROW_OK) return status;
    reports_.look_at(SAMPLER_LOGPROB_EDITED, elements_if(stages_.replaces_edited()), &row_);
    const contract::RowParameters parameters = stages_.adapt(given, place.slot);
    reports_.trace_removals(parameters, place.slot, place.xtc_word, &row_);
    if (wanted == Wanted::kNothingElse && !needs_distribution()) return SAMPLER_ROW_OK;

    const ReweighedUse use = wanted == Wanted::kNothingElse ? reweighed_use() : ReweighedUse::kAny;
    if (wanted == Wanted::kNothingElse && !stages_.reweighs()) {
      row_.will_draw(num_weighed_draws(place));
    }
    distribution_ =
        stages_.distribute(parameters, rules, place.slot, place.xtc_word, &row_, draws_alone, use);
    distribution_ = stages_.reweigh(distribution_, place.slot, &row_, use);
    reports_.look_at(distribution_, row_);
    if (request_.out_kept_counts) kept_count_ = int32_t(row_.kept_count());
    return SAMPLER_ROW_OK;
  }

  // Whether tokens are drawn at random: not greedy, not forced.
  bool is_drawn() const { return !distribution_.greedy && forced_ < 0; }

  void prepare_draws(int64_t num_draws) {
    const bool by_inverse_cdf = request_.draw_method == SAMPLER_DRAW_INVERSE_CDF;
    if (by_inverse_cdf && is_drawn()) row_.prepare_draws(num_draws);
  }

  // `count` <= kDrawsAtOnce. The streams are read only if is_drawn().
  static constexpr int64_t kDrawsAtOnce = 64;
  void draw(const contract::RandomStream *streams, int64_t count, int64_t *ids) const {
    if (!is_drawn()) {
      std::fill_n(ids, count, forced_ >= 0 ? forced_ : contract::id_of_rank(row_.first()));
      return;
    }
    if (request_.draw_method == SAMPLER_DRAW_GUMBEL) {
      for (int64_t i = 0; i < count; ++i) {
        ids[i] = row_.draw_gumbel({streams[i], request_.random.are_watermarks});
      }
      return;
    }
    uint64_t words[kDrawsAtOnce];
    row_.sample_words(streams, count, words);
    row_.draw(words, count, ids);
  }

  // The token's observation for the adaptive stage; NaN: none.
  float observation(int64_t id) const { return stages_.observation(row_, distribution_, id); }

  // Whether an output has more than its token and status.
  bool has_other_outputs() const { return has_distribution_outputs() || request_.out_values; }
  // Writes an output's values besides its token `id` and its status.
  void write_good(int64_t output, int64_t id) const {
    if (request_.out_kept_counts) request_.out_kept_counts[output] = kept_count_;
    if (request_.out_observations) request_.out_observations[output] = observation(id);
    if (request_.out_logprobs) request_.out_logprobs[output] = reports_.log_probability(row_, id);
    if (request_.out_values) request_.out_values[output] = stages_.given_value(row_, id);
    reports_.write_own(row_, output, id);
  }
  void write_bad(int64_t output) const {
    if (request_.out_kept_counts) request_.out_kept_counts[output] = 0;
    if (request_.out_observations) request_.out_observations[output] = contract::quiet_nan();
    if (request_.out_logprobs) request_.out_logprobs[output] = contract::quiet_nan();
    if (request_.out_values) request_.out_values[output] = contract::quiet_nan();
    reports_.write_bad(output);
  }

  // After the last draw, if reports are wanted: writes the shared reports of the first output, then
  // copies them to others.
  void report_shared() { reports_.write_shared(&row_); }
  void copy_report_to(int64_t output) {
    reports_.copy_to(output);
    reports_.write_sorted_rank(row_, output);
  }

  Row &row() { return row_; }
  const Row &row() const { return row_; }
  RowStages &stages() { return stages_; }
  const Distribution &distribution() const { return distribution_; }

 private:
  bool has_distribution_outputs() const {
    return request_.reports || request_.out_kept_counts || request_.out_observations ||
           request_.out_logprobs;
  }
  // Whether the token, or an output beside it, is of the distribution that is drawn from.
  bool needs_distribution() const {
    return forced_ < 0 || reports_.looks_at_drawn() || request_.out_kept_counts ||
           request_.out_observations;
  }
  // Whether the only output is a draw by weights.
  bool only_draws() const { return draws_by_weights() && !has_distribution_outputs(); }
  // Whether outputs besides a draw by weights need the values of their own tokens alone.
  bool reads_single_values() const {
    const bool reads_edited =
        request_.out_logprobs && request_.logprob_kind == SAMPLER_LOGPROB_EDITED;
    return draws_by_weights() && !reads_edited && !request_.reports && !request_.out_kept_counts &&
           !request_.out_observations;
  }
  bool draws_by_weights() const { return request_.draw_method == SAMPLER_DRAW_INVERSE_CDF; }

  ReweighedUse reweighed_use() const {
    if (request_.reports) return ReweighedUse::kAny;
    const bool by_weights =
        draws_by_weights() && !request_.out_kept_counts && !request_.out_logprobs;
    return by_weights ? ReweighedUse::kDrawsByWeights : ReweighedUse::kDraws;
  }

  // Draws by weights, or 1 if only other outputs read the weights; 0: nothing does.
  int64_t num_weighed_draws(const Place &place) const {
    if (request_.draw_method != SAMPLER_DRAW_GUMBEL) return place.num_outputs;
    return has_distribution_outputs() ? 1 : 0;
  }

  const Elements *elements_if(bool is_replaced) const {
    return is_replaced ? &stages_.elements() : nullptr;
  }

  uint32_t read_forced_token(const Place &place) {
    forced_ = request_.pipeline ? request_.pipeline->forced_token(place.slot, place.output) : -1;
    return forced_ >= 0 && !row_.has(forced_) ? SAMPLER_ROW_INVALID_PARAMETER : SAMPLER_ROW_OK;
  }

  const contract::SampleRequest &request_;
  Row row_;
  RowReports<Row> reports_;
  RowStages stages_;
  Distribution distribution_ = {};
  int64_t forced_ = -1;  // forced token; negative: none
  int32_t kept_count_ = 0;
};

}  // namespace sampler::cpu
