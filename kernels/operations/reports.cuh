// Reports of an output row besides its token, by a team. CPU twin: src/cpu/reports.h.
//
// Most reports are of one distribution, whose row is loaded then. They are written last, once the
// token is known.
#pragma once

#include <cstdint>

#include "contract/elements.h"
#include "contract/entropy.h"
#include "contract/kept_lists.h"
#include "contract/reports.h"
#include "machine/team.cuh"
#include "operations/report_outputs.cuh"
#include "row/distribution.cuh"
#include "row/elements.cuh"
#include "row/entropy.cuh"
#include "row/ranks.cuh"
#include "row/row.cuh"
#include "stages/staged.h"

namespace sampler::kernels {

template <class Context>
class TeamReports {
 public:
  using Row = TeamRow<Context, StoredRow>;

  SAMPLER_DEVICE TeamReports(Team<Context> &team, const StagedSampleRequest &request,
                             const TeamElements<Context> &elements)
      : team_(team), request_(request), to_(request.wanted), elements_(elements) {}

  // ---- What the reports need of the sampling

  SAMPLER_DEVICE bool are_of_distribution() const { return request_.reports_distribution(); }
  SAMPLER_DEVICE bool are_of_kept() const { return request_.reports_kept(); }

  // Sums of the kept tokens, in addition to those of the draw.
  SAMPLER_DEVICE Wanted wanted_of_kept() const {
    const bool are_processed = request_.logprob_kind == SAMPLER_LOGPROB_PROCESSED;
    const bool has_list = to_.wants_kept_list();
    return {has_list, (are_processed && request_.reports_logprobs()) ||
                          (has_list && to_.out_kept_probabilities)};
  }

  // How many group maxima of the reported row must reach its group_max; 0: any.
  SAMPLER_DEVICE int wanted_maxima(int count) const {
    return to_.wants_top() && to_.num_top < count ? int(to_.num_top) : 0;
  }

  // ---- Writing reports, by the whole team

  // Records which tokens the given row lacks, before it is edited.
  SAMPLER_DEVICE void note_never_there(const StoredRow &row, int64_t output) const {
    uint8_t *const removed_by = removals(output);
    const float nothing = row.kind == SAMPLER_LOGITS ? contract::negative_infinity() : 0.0f;
    outputs().for_each(request_.input.num_cols, [&](int64_t i) {
      const bool is_there = i < row.count && row.value(i) > nothing;
      removed_by[i] = is_there ? contract::kNotRemoved : contract::kNeverThere;
    });
  }
  SAMPLER_DEVICE uint8_t *removals(int64_t output) const { return outputs().removals(output); }

  // Reports a distribution of the row, from which token `id` was drawn or forced. `reported.weight`
  // is the distribution's weight, or 0 if not known. `reached`: a rank that wanted_maxima() tokens
  // reach, or 0.
  SAMPLER_DEVICE_CALL void write_distribution(const Row &row, const RowSummary &summary,
                                              Rank reached, contract::Reported reported,
                                              int64_t output, int64_t id) const {
    if (to_.out_entropies) reported.weight = write_entropy(row, reported, output);
    if (reported.weight == 0 && request_.reports_logprobs()) {
      reported.weight = weight_of_row(team_, row, reported.scale, reported.cut);
    }
    const int element = elements_.find(id);  // -1: a draft may be no token of the row
    const float value = element >= 0 ? row.source().value(element) : row.nothing();
    if (to_.out_ranks) write_rank(row, reported, output, value, uint32_t(id));
    if (request_.out_logprobs && request_.logprob_kind == SAMPLER_LOGPROB_EDITED &&
        team_.is_first_thread()) {
      request_.out_logprobs[output] = reported.log_probability(value, uint32_t(id));
    }
    if (to_.wants_chosen()) {
      outputs().write_chosen(output, reported, [&](int64_t chosen, float *x) {
        const int place = elements_.find(chosen);
        if (place >= 0) *x = row.source().value(place);
        return place >= 0;
      });
    }
    if (to_.wants_top()) write_top(row, summary, reached, reported, output);
  }

  // Reports the kept tokens, from which the draw was made.
  SAMPLER_DEVICE_CALL void write_kept(const StoredRow &row, const Distribution &kept,
                                      int64_t output) const {
    if (to_.out_kept_bitmask) {
      outputs().clear_bitmask(output);
      team_.ctx.team_sync();
      set_kept_bits(row, kept, output);
    }
    if (to_.wants_kept_list()) {
      const contract::KeptList list = list_of(output, kept.kept_count);
      if (list.has_room) list_kept(row, kept, list);
      if (!to_.are_lists_packed())
        outputs().write_no_kept(output, list.has_room ? kept.kept_count : 0);
    }
  }

  SAMPLER_DEVICE_CALL void write_bad(int64_t output) const { outputs().write_bad(output); }

 private:
  SAMPLER_DEVICE ReportOutputs<Context> outputs() const {
    return ReportOutputs<Context>(team_.ctx, request_);
  }

  // ---- The distribution

  // Returns the distribution's weight.
  SAMPLER_DEVICE uint64_t write_entropy(const Row &row, const contract::Reported &reported,
                                        int64_t output) const {
    float entropy = 0.0f;
    uint64_t weight = reported.weight;
    if (!reported.greedy) {
      const contract::EntropySums sums =
          entropy_sums_of_row(team_, row, reported.scale, reported.cut);
      entropy = contract::entropy_in_nats(sums);
      weight = sums.weight;
    }
    if (team_.is_first_thread()) to_.out_entropies[output] = entropy;
    return weight;
  }

  // Counts the tokens from the token's own rank up.
  SAMPLER_DEVICE void write_rank(const Row &row, const contract::Reported &reported, int64_t output,
                                 float value, uint32_t id) const {
    uint64_t rank = 0;
    if (reported.has(value, id)) {
      const WarpSums own = weigh(team_.ctx, row, reported.scale, contract::rank_of(value, id),
                                 nullptr, {true, false});
      rank = team_.sum(own.count);
    }
    if (team_.is_first_thread()) to_.out_ranks[output] = int32_t(rank);
  }

  SAMPLER_DEVICE void write_top(const Row &row, const RowSummary &summary, Rank reached,
                                const contract::Reported &reported, int64_t output) const {
    const int wanted = to_.num_top < row.count() ? int(to_.num_top) : row.count();
    const int count = list_in_rank_order(
        team_, row, summary, reported.cut, reached, wanted,
        [&](int place, Rank rank) { outputs().write_top(output, place, rank, reported); });
    outputs().write_no_top(output, count);
  }

  // ---- The kept tokens

  // Calls f(is_kept, element, rank) for this warp's elements by ascending id, 32 at a time, in the
  // whole warp. Each warp has a contiguous part of them.
  template <class F>
  SAMPLER_DEVICE void for_each_by_id(const StoredRow &row, const Distribution &kept,
                                     const F &f) const {
    constexpr int kWarps = Context::kThreads / 32;
    const Part all = {0, (row.count + 31) / 32};
    const Part own =
        all.of(team_.ctx.cluster_rank(), team_.ctx.team_size()).of(team_.ctx.warp(), kWarps);
    SAMPLER_KEEP_ROLLED
    for (int i = own.begin; i < own.end; ++i) {
      const int place = 32 * i + team_.ctx.lane();
      const bool is_in = place < row.count;
      const int element = is_in ? elements_.at(place) : 0;
      const Rank rank = contract::rank_of(row.value(element), uint32_t(row.id(element)));
      f(is_in && kept.keeps(rank), element, rank);
    }
  }

  // The bits must be 0.
  SAMPLER_DEVICE void set_kept_bits(const StoredRow &row, const Distribution &kept,
                                    int64_t output) const {
    Context &ctx = team_.ctx;
    uint32_t *const words = outputs().bitmask(output);
    const int64_t num_words = to_.kept_bitmask_stride;
    for_each_by_id(row, kept, [&](bool is_kept, int, Rank rank) {
      const uint32_t id = contract::id_of_rank(rank);
      if (row.ids) {
        if (is_kept && id / 32 < num_words) {
          ctx.atomic_or(&words[id / 32], uint32_t(1) << (id % 32));
        }
        return;
      }
      const uint32_t bits = ctx.ballot(is_kept);
      if (ctx.lane() == 0 && id / 32 < num_words) words[id / 32] = bits;
    });
  }

  // Where `count` tokens of an output are listed. Called by the whole team.
  SAMPLER_DEVICE contract::KeptList list_of(int64_t output, int64_t count) const {
    if (!to_.are_lists_packed()) return outputs().list_of(output, count, 0);
    const uint64_t own = team_.is_first_thread() ? outputs().take_places(output, count) : 0;
    return outputs().list_of(output, count, team_.sum(own));
  }

  // There must be room for all of them.
  SAMPLER_DEVICE void list_kept(const StoredRow &row, const Distribution &kept,
                                const contract::KeptList &list) const {
    Context &ctx = team_.ctx;
    uint64_t own = 0;
    for_each_by_id(row, kept, [&](bool is_kept, int, Rank) {
      own += uint64_t(Context::count_bits(ctx.ballot(is_kept)));
    });
    uint64_t of_block = 0;
    const uint64_t before_warp =
        ctx.warp_broadcast(ctx.block_exclusive_sum(ctx.lane() == 0 ? own : 0, &of_block), 0);
    const uint64_t values[] = {of_block};
    const Exchanged all = team_.exchange(values);
    int64_t next = list.first + int64_t(all.sum_before(0, ctx.cluster_rank()) + before_warp);
    for_each_by_id(row, kept, [&](bool is_kept, int element, Rank rank) {
      const uint32_t lanes = ctx.ballot(is_kept);
      const int64_t place = next + Context::count_bits(lanes & ((uint32_t(1) << ctx.lane()) - 1));
      next += Context::count_bits(lanes);
      if (!is_kept) return;
      if (list.token_ids.data) {
        contract::store_id(list.token_ids, place, contract::id_of_rank(rank));
      }
      if (list.probabilities) {
        list.probabilities[place] = kept.probability(row.value(element), rank);
      }
    });
  }
  Team<Context> &team_;
  const StagedSampleRequest &request_;
  const contract::Reports &to_;
  const TeamElements<Context> &elements_;
};

}  // namespace sampler::kernels
