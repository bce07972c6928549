// Few long rows, spread over the device: each is cut into slices, one per team, and takes two
// launches.
//
// The first launch reads the row from device memory, and stores each block's result and the group
// maxima in the workspace. In the second every team knows the row's largest value, and the row is
// in L2. Passes that weigh the whole row are done by slices, and the last team to hand over
// continues. Passes that skip most of the row are done by one team.
#pragma once

#include <cstdint>

#include "contract/draw.h"
#include "contract/request.h"
#include "machine/team.cuh"
#include "operations/sample.cuh"
#include "operations/spread.h"
#include "row/distribution.cuh"
#include "row/draw.cuh"
#include "row/row.cuh"

namespace sampler::kernels {

// The filters of a row whose first top-p has its bins in the workspace.
template <class Context, class Row>
class SpreadFilters : public TeamFilters<Context, Row> {
  using Base = TeamFilters<Context, Row>;

 public:
  // `filled`, `light`: the row's bins and the weight of its other tokens.
  SAMPLER_DEVICE SpreadFilters(Team<Context> &team, const Row &row, const RowSummary &summary,
                               const RowScale &scale, ListState *list, Wanted wanted,
                               const SpreadHead *filled, uint64_t light)
      : Base(team, row, summary, scale, list, wanted), filled_(filled), light_(light) {}

  // Fills the block's bins with its part of the row. Returns the weight of this thread's other
  // tokens.
  SAMPLER_DEVICE_CALL uint64_t fill(const RowParameters &parameters, const FilterRules &rules) {
    Rank seen = this->everything();
    if (rules.order == SAMPLER_FILTERS_MIN_P_FIRST && contract::min_p_is_on(parameters.min_p)) {
      seen = this->min_p(parameters.min_p, seen);
    }
    this->begin_top_p({parameters.top_p, rules.top_p_sum}, seen);
    return fill_bins(team_, row_, scale_, seen, contract::value_of_rank(range_.low),
                     this->bins_of_range());
  }

  SAMPLER_DEVICE_CALL Rank top_p(contract::Share share, sampler_tie_rule ties, Rank seen) {
    if (list_.covers(seen)) return Base::top_p(share, ties, seen);
    this->begin_top_p(share, seen);
    take_bins();
    target_ = narrow_to_share(team_, this->bins_of_range(), team_.is_first_thread() ? light_ : 0,
                              share, &range_);
    return this->end_top_p(ties == SAMPLER_TIES_KEEP, ties, seen);
  }

 private:
  using Base::list_;
  using Base::range_;
  using Base::row_;
  using Base::scale_;
  using Base::target_;
  using Base::team_;

  // Copies all bins to the leader.
  SAMPLER_DEVICE_CALL void take_bins() const {
    TeamShared &shared = team_.shared;
    for (int i = team_.ctx.thread(); i < kBins; i += Context::kThreads) {
      shared.bins[i] = {};
      if (!team_.is_leader()) continue;
      shared.bins[i] = {TwoWords::of(filled_->bin_measures[i]), filled_->bin_counts[i]};
    }
  }

  const SpreadHead *filled_;
  uint64_t light_;
};

template <class Context>
class SpreadSample : private SampleTeam<Context> {
  using Base = SampleTeam<Context>;
  using Row = typename Base::Row;
  using Filters = SpreadFilters<Context, Row>;

 public:
  SAMPLER_DEVICE SpreadSample(Team<Context> &team, const SampleRequest &request,
                              const RowCache &row_cache, const Spread &spread)
      : Base(team, request, row_cache), spread_(spread) {}

  SAMPLER_DEVICE void run() {
    const int num_slices = spread_.is_loading ? spread_.num_load_slices : spread_.num_slices;
    const int64_t team_of_grid = team_.ctx.team();
    const int64_t output = team_of_grid / num_slices;
    slice_ = {int(team_of_grid % num_slices), num_slices};
    memory_ = spread_.row(output);
    StoredRow stored;
    const uint32_t status = begin(output, &stored);
    if (spread_.is_loading) {
      clear();
      if (status == SAMPLER_ROW_OK) load(stored);
    } else if (status == SAMPLER_ROW_OK) {
      sample(stored);
    } else if (slice_.index == 0) {
      this->write_bad(status);
    }
  }

 private:
  using Base::parameters_;
  using Base::request_;
  using Base::row_cache_;
  using Base::team_;

  // Sets an output: its parameters and row. Returns their status.
  SAMPLER_DEVICE uint32_t begin(int64_t output, StoredRow *stored) {
    this->output_ = output;
    this->next_ = output + 1;
    const int64_t index = input_row(request_, output);
    if (index < 0 || index >= request_.input.num_rows) return SAMPLER_ROW_INVALID_INDEX;
    const uint32_t status =
        contract::read_parameters(request_, request_.slots[output], &parameters_);
    if (status != SAMPLER_ROW_OK) return status;
    *stored = stored_row(contract::row_view(request_.input, index));
    return contract::has_valid_count(*stored, request_.input.num_cols)
               ? uint32_t(SAMPLER_ROW_OK)
               : uint32_t(SAMPLER_ROW_INVALID_CANDIDATE);
  }

  // ---- The first launch -------------------------------------------------------------------------

  // Clears what the second launch adds to.
  SAMPLER_DEVICE void clear() const {
    const Part own = Part{0, kBins}.of(slice_.index, slice_.count);
    for (int i = own.begin + team_.ctx.thread(); i < own.end; i += Context::kThreads) {
      memory_.head->bin_counts[i] = 0;
      memory_.head->bin_measures[i] = 0;
    }
    if (slice_.index == 0 && team_.ctx.thread() == 0) memory_.head->num_arrived = 0;
  }

  SAMPLER_DEVICE_CALL void load(const StoredRow &stored) const {
    Row row(team_.ctx, stored, row_cache_, slice_);
    row.keep_maxima_in(memory_.maxima);
    const PartSummary part = load_part(team_.ctx, row, maxima_of_slice(stored.count));
    if (team_.ctx.thread() != 0) return;
    memory_.summaries[slice_.index] = {part.first, part.reached, part.lowest_upside_down,
                                       part.num_bad_values};
  }

  // Tokens per slice that its reported key must cover, so that part of the slices together have as
  // many tokens as the first filter keeps.
  SAMPLER_DEVICE int maxima_of_slice(int count) const {
    const int wanted = wanted_group_maxima(parameters_, count);
    return (wanted + spread_.num_load_slices - 1) / spread_.num_load_slices;
  }

  // ---- The second launch ------------------------------------------------------------------------

  SAMPLER_DEVICE_CALL void sample(const StoredRow &stored) {
    const RowSummary summary = summarize(stored);
    if (summary.status != SAMPLER_ROW_OK) {
      if (slice_.index == 0) this->write_bad(summary.status);
      return;
    }
    Distribution distribution;
    if (has_slices()) {
      weigh_slice(stored, summary, &distribution);
      if (!hand_over()) return;
    } else if (slice_.index != 0) {
      return;
    }
    finish(stored, summary, &distribution);
  }

  // The result of load_row() over all slices, in every thread.
  SAMPLER_DEVICE_CALL RowSummary summarize(const StoredRow &stored) const {
    Context &ctx = team_.ctx;
    Rank first = 0;
    uint32_t reached = 0, lowest_upside_down = 0, has_bad_value = 0;
    for (int i = ctx.thread(); i < spread_.num_load_slices; i += Context::kThreads) {
      const SliceSummary part = memory_.summaries[i];
      if (part.first > first) first = part.first;
      if (part.reached > reached) reached = part.reached;
      if (part.lowest_upside_down > lowest_upside_down) {
        lowest_upside_down = part.lowest_upside_down;
      }
      has_bad_value |= part.has_bad_value;
    }
    RowSummary result;
    result.first = ctx.block_max(first);
    result.lowest = contract::rank_of_key(~uint32_t(ctx.block_max(lowest_upside_down)));
    result.group_max = 0;
    const int of_slice = maxima_of_slice(stored.count);
    if (of_slice > 0) {
      const int wanted = (wanted_group_maxima(parameters_, stored.count) + of_slice - 1) / of_slice;
      if (wanted <= Context::kThreads) {
        result.group_max = contract::rank_of_key(key_that_reach(ctx, reached, wanted));
      }
    }
    result.status = ctx.block_count(has_bad_value != 0) != 0
                        ? uint32_t(SAMPLER_ROW_INVALID_VALUE)
                        : contract::check_first(stored.kind, result.first, contract::Use::kDraw);
    return result;
  }

  SAMPLER_DEVICE bool is_greedy() const { return contract::is_greedy(parameters_.temperature); }

  // Sums over slices: the whole row's weight for log-probabilities;
  SAMPLER_DEVICE bool weighs_raw() const { return this->has_raw_logprobs(); }
  // the kept weight, if no filter searches for its cut;
  SAMPLER_DEVICE bool weighs_kept() const {
    return !is_greedy() && !contract::top_k_is_on(parameters_.top_k) &&
           !contract::top_p_is_on(parameters_.top_p);
  }
  // top-p's bins, if no filter searches before it.
  SAMPLER_DEVICE bool weighs_bins() const {
    return !is_greedy() && contract::top_p_is_on(parameters_.top_p) &&
           (!contract::top_k_is_on(parameters_.top_k) ||
            request_.parameters.rules.order == SAMPLER_FILTERS_JOINT);
  }
  SAMPLER_DEVICE bool has_slices() const { return weighs_raw() || weighs_kept() || weighs_bins(); }

  SAMPLER_DEVICE_CALL void weigh_slice(const StoredRow &stored, const RowSummary &summary,
                                       Distribution *distribution) {
    Context &ctx = team_.ctx;
    Row row(ctx, stored, row_cache_, slice_);
    row.keep_maxima_in(memory_.maxima);
    SliceSums sums = {};
    if (weighs_raw()) {
      const RowScale scale =
          contract::row_scale(row.kind(), contract::value_of_rank(summary.first), 1.0f);
      sums.raw_weight = sum_of_warps(
          weigh(ctx, row, scale, contract::lowest_cut(row.kind()), nullptr, {false, true}).weight);
    }
    if (weighs_kept()) {
      ListState no_list;
      Weighed none;
      *distribution = cut_row(row, summary, &no_list, nullptr, 0, &none);
      weigh_kept(row, *distribution, &sums);
    }
    if (weighs_bins()) sums.light_weight = weigh_bins(row, summary);
    if (ctx.thread() != 0) return;
    const int block = slice_.index * ctx.team_size() + ctx.cluster_rank();
    ctx.publish(&memory_.sums[block], sums);
  }

  SAMPLER_DEVICE void weigh_kept(const Row &row, const Distribution &distribution,
                                 SliceSums *sums) {
    Context &ctx = team_.ctx;
    uint64_t *tile_sums = team_.shared.cut.tile_sums;
    const WarpSums own =
        weigh(ctx, row, distribution.scale, distribution.cut, tile_sums, this->wanted_of_kept());
    sums->kept_count = ctx.block_sum(own.count);
    sums->kept_weight = sum_of_warps(own.weight);
    if (!this->is_gumbel()) {
      for_each_tile_sum(
          row, [&](uint64_t *of_block, uint64_t *of_row) { ctx.publish(of_row, *of_block); });
      return;
    }
    const Best best = best_of_row(team_, row, distribution, this->random_stream());
    sums->best_rank = ctx.block_max(best.rank());
    sums->best_value =
        ctx.block_max(best.rank() == sums->best_rank ? contract::bits_of(best.value) : 0);
  }

  SAMPLER_DEVICE uint64_t weigh_bins(const Row &row, const RowSummary &summary) {
    Context &ctx = team_.ctx;
    ListState no_list;
    Filters filters(team_, row, summary, filter_scale(row.kind(), summary), &no_list,
                    this->wanted_of_kept(), nullptr, 0);
    const uint64_t weight = ctx.block_sum(filters.fill(parameters_, request_.parameters.rules));
    for (int i = ctx.thread(); i < kBins; i += Context::kThreads) {
      const Bin bin = team_.shared.bins[i];
      if (bin.count == 0) continue;
      ctx.atomic_add(&memory_.head->bin_counts[i], bin.count);
      ctx.atomic_add(&memory_.head->bin_measures[i], bin.measure.value());
    }
    return weight;
  }

  // The scale at which the filters weigh tokens.
  SAMPLER_DEVICE RowScale filter_scale(sampler_input_kind kind, const RowSummary &summary) const {
    const bool at_1 = request_.parameters.rules.temperature_order == SAMPLER_TEMPERATURE_LAST;
    return contract::row_scale(kind, contract::value_of_rank(summary.first),
                               at_1 ? 1.0f : parameters_.temperature);
  }

  // As make_distribution(), without the sums of kept tokens unless `weighed` has them. `filled` and
  // `light`: bins of the row's first top-p, if any, and the weight of tokens in none of them.
  SAMPLER_DEVICE_CALL Distribution cut_row(const Row &row, const RowSummary &summary,
                                           ListState *list, const SpreadHead *filled,
                                           uint64_t light, Weighed *weighed) {
    Filters filters(team_, row, summary, filter_scale(row.kind(), summary), list,
                    this->wanted_of_kept(), filled, light);
    Distribution result;
    result.greedy = false;
    result.scale = contract::row_scale(row.kind(), contract::value_of_rank(summary.first),
                                       parameters_.temperature);
    result.cut = contract::filtered_prefix(filters, parameters_, request_.parameters.rules);
    *weighed = filters.weighed(result.scale);
    return result;
  }

  SAMPLER_DEVICE uint64_t sum_of_warps(uint64_t of_warp) const {
    return team_.ctx.block_sum(team_.ctx.lane() == 0 ? of_warp : 0);
  }

  // Calls f with the addresses of each of this warp's tile sums, in the block's memory and in the
  // row's, in the lane that weigh() and find_in_warp() use.
  template <class F>
  SAMPLER_DEVICE void for_each_tile_sum(const Row &row, const F &f) const {
    const Part tiles = row.tiles();
    for (int i = team_.ctx.lane(); i < tiles.end - tiles.begin; i += 32) {
      f(team_.shared.cut.tile_sums + row.first_of_block() + i, memory_.tile_sums + tiles.begin + i);
    }
  }

  // Whether this team is the last of the row's to hand over. Never waits.
  SAMPLER_DEVICE bool hand_over() {
    Context &ctx = team_.ctx;
    ctx.fence();
    ctx.team_sync();
    uint64_t before = 0;
    if (team_.is_first_thread()) before = ctx.atomic_add(&memory_.head->num_arrived, uint32_t(1));
    const bool is_last = team_.sum(before) == uint64_t(slice_.count - 1);
    if (is_last) ctx.fence();
    return is_last;
  }

  // One team completes the row with the sums of all slices.
  SAMPLER_DEVICE_CALL void finish(const StoredRow &stored, const RowSummary &summary,
                                  Distribution *distribution) {
    Context &ctx = team_.ctx;
    Row row(ctx, stored, row_cache_);
    if (is_greedy() || weighs_kept()) {  // no further pass
      row.keep_maxima_in(memory_.maxima);
    } else {
      row.take_maxima(memory_.maxima);
    }
    SliceSums sums = {};
    if (has_slices()) sums = all_sums();
    this->raw_weight_ = sums.raw_weight;
    if (!weighs_kept()) {
      ListState list;
      if (weighs_bins()) {
        Weighed weighed;
        *distribution = cut_row(row, summary, &list, memory_.head, sums.light_weight, &weighed);
        add_kept(team_, row, distribution, &list, this->wanted_of_kept(), weighed);
      } else {
        *distribution = make_distribution(team_, row, summary, parameters_,
                                          request_.parameters.rules, &list, this->wanted_of_kept());
      }
      this->write_tokens(row, summary, *distribution, list);
      return;
    }
    distribution->kept_count = int64_t(sums.kept_count);
    distribution->kept_weight = sums.kept_weight;
    distribution->normalizer = contract::normalizer(sums.kept_weight);
    Token token = {contract::id_of_rank(sums.best_rank),
                   contract::float_of(uint32_t(sums.best_value))};
    if (!this->is_gumbel()) {
      uint64_t weight = 0;
      for_each_tile_sum(row, [&](uint64_t *of_block, uint64_t *of_row) {
        *of_block = *of_row;
        weight += *of_row;
      });
      distribution->warp_weight = ctx.warp_broadcast(ctx.warp_inclusive_sum(weight), 31);
      token = this->draw(row, *distribution, ListState(), DrawSource(), this->random_stream());
    }
    this->write_drawn(row, token, summary, *distribution);
  }

  // Sums over all blocks, in every thread.
  SAMPLER_DEVICE_CALL SliceSums all_sums() const {
    Context &ctx = team_.ctx;
    SliceSums own = {};
    for (int i = ctx.thread(); i < spread_.num_blocks; i += Context::kThreads) {
      const SliceSums &sums = memory_.sums[i];
      own.raw_weight += sums.raw_weight;
      own.kept_count += sums.kept_count;
      own.kept_weight += sums.kept_weight;
      own.light_weight += sums.light_weight;
      if (sums.best_rank > own.best_rank) {
        own.best_rank = sums.best_rank;
        own.best_value = sums.best_value;
      }
    }
    SliceSums all;
    all.raw_weight = ctx.block_sum(own.raw_weight);
    all.kept_count = ctx.block_sum(own.kept_count);
    all.kept_weight = ctx.block_sum(own.kept_weight);
    all.light_weight = ctx.block_sum(own.light_weight);
    all.best_rank = ctx.block_max(own.best_rank);
    all.best_value = ctx.block_max(own.best_rank == all.best_rank ? own.best_value : 0);
    return all;
  }

  const Spread &spread_;
  // Kept in memory, as SampleTeam's members.
  Slice slice_;
  SpreadRow memory_;
};

}  // namespace sampler::kernels
