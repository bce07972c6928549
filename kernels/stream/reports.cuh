// Reports of a streamed row besides its token: of the row as it is given, at temperature 1.
#pragma once

#include <cstdint>

#include "contract/elements.h"
#include "contract/entropy.h"
#include "contract/rank.h"
#include "contract/reports.h"
#include "contract/weight.h"
#include "machine/device.cuh"
#include "row/row.cuh"
#include "stream/band.cuh"
#include "stream/stream.h"
#include "stream/streamed_row.cuh"

namespace sampler::kernels {

// The reports of a row, from its list to the end.
template <class Context, sampler_dtype kDtype, StreamKind kKind>
class StreamReports : protected StreamBand<Context, kDtype, kKind> {
 protected:
  using Base = StreamBand<Context, kDtype, kKind>;
  using Base::Base;
  using Base::count, Base::ctx, Base::item, Base::num_top, Base::output, Base::raw_scale,
      Base::request, Base::shared, Base::slot, Base::stream, Base::sum_of_counts;
  using typename Base::Row;
  using typename Base::TilePatch;

  // Whether the row has been listed: a list without room for all its tokens is none.
  SAMPLER_DEVICE bool has_list() const {
    return ctx.load_fresh(&slot()->num_listed) <= uint32_t(kStreamedTokens);
  }

  // Loads the weight of all at temperature 1, if it is not the one that the row was cut by. Called
  // by the whole block.
  SAMPLER_DEVICE void load_second_total() const {
    if (ctx.warp() != 0 || !is_good()) return;
    const uint64_t total = this->total_weight(2 * kMostChunks);
    if (ctx.lane() == 0) shared.total_of_row = total;
  }

  // The chunk's part of the row's entropy, a vector of a tile after the other. Lane 0 of each warp
  // has the warp's.
  SAMPLER_DEVICE uint64_t surprise_of_chunk() const {
    const contract::RowScale scale = raw_scale();
    uint64_t own = 0;
    this->template for_each_tile<Row::kVectors>(
        [&](int, const Vector(&of_tile)[Row::kVectors], TilePatch) {
          Vector raw[Row::kVectors];
          SAMPLER_UNROLLED
          for (int i = 0; i < Row::kVectors; ++i) raw[i] = of_tile[i];
          contract::WeightSum surprises;
          SAMPLER_KEEP_ROLLED
          for (int i = 0; i < Row::kVectors; ++i) {
            SAMPLER_UNROLLED
            for (int j = 0; j < Row::kElements; ++j) {
              const float x = element<kDtype>(raw[0], j);
              const float relative = contract::relative_probability(scale, x);
              const float log2 = contract::relative_log2(scale, x);
              surprises.add(contract::relative_surprise(log2, relative));
            }
            SAMPLER_UNROLLED
            for (int j = 0; j < Row::kVectors - 1; ++j) raw[j] = raw[j + 1];
          }
          own += surprises.of(kGroup);
        });
    return this->sum_of_lanes(own);
  }

  // Writes the row's first tokens, of the sorted list. In place of their log-probabilities are
  // their values, until the row has been weighed.
  SAMPLER_DEVICE void write_first_tokens() const {
    const contract::Reports &to = stream.reports;
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < num_top(); i += Context::kThreads) {
      const int64_t at = place_of_top(i);
      const bool is_in = i < count();
      const Rank rank = is_in ? shared.row.list[i] : 0;
      if (to.out_top_token_ids.data) {
        const int64_t id = is_in ? int64_t(contract::id_of_rank(rank)) : -1;
        contract::store_id(to.out_top_token_ids, at, id);
      }
      if (to.out_top_logprobs) {
        const float x = is_in ? contract::value_of_rank(rank) : contract::quiet_nan();
        ctx.publish(&to.out_top_logprobs[at], x);
      }
    }
  }

  // Writes the reports of a row that has ended. Called by the whole block.
  SAMPLER_DEVICE void report_row() const {
    if (shared.outcome.is_left) return;
    ctx.sync();
    const contract::Reports &to = stream.reports;
    const int64_t num_all = num_top() + to.num_chosen;
    SAMPLER_KEEP_ROLLED
    for (int64_t i = ctx.thread(); i < num_all; i += Context::kThreads) {
      const bool is_top = i < num_top();
      const int64_t at = is_top ? place_of_top(int(i)) : place_of_chosen(i - num_top());
      float *const out = is_top ? to.out_top_logprobs : to.out_chosen_logprobs;
      float x = contract::quiet_nan();
      if (!is_good()) {
        if (is_top && to.out_top_token_ids.data) contract::store_id(to.out_top_token_ids, at, -1);
      } else if (!is_top) {
        const int64_t id = contract::load_id(to.chosen_token_ids, request.out_token_ids.type, at);
        if (id >= 0 && id < request.input.num_cols) x = this->row().value(int(id));
      } else if (out) {
        x = ctx.load_fresh(&out[at]);
      }
      // What has no value is NaN; without probability it is -inf.
      if (x > contract::negative_infinity()) {
        x = contract::log_probability(raw_scale(), x, shared.total_of_row);
      }
      if (out) out[at] = x;
    }
    if (ctx.warp() == 0 && to.out_entropies) report_entropy();
    if (!to.out_ranks) return;
    const uint64_t rank = is_good() ? rank_in_row(shared.outcome.id) : 0;
    if (ctx.thread() == 0) to.out_ranks[output()] = int32_t(rank);
  }

 private:
  // Called by a warp.
  SAMPLER_DEVICE void report_entropy() const {
    const uint64_t surprise = this->total_weight(3 * kMostChunks);
    const contract::EntropySums sums = {shared.total_of_row, surprise};
    const float entropy = is_good() ? contract::entropy_in_nats(sums) : contract::quiet_nan();
    if (ctx.lane() == 0) stream.reports.out_entropies[output()] = entropy;
  }

  SAMPLER_DEVICE bool is_good() const {
    return !shared.outcome.is_left && shared.outcome.status == SAMPLER_ROW_OK;
  }

  SAMPLER_DEVICE int64_t place_of_top(int i) const {
    return int64_t(output()) * stream.reports.num_top + i;
  }

  SAMPLER_DEVICE int64_t place_of_chosen(int64_t i) const {
    return int64_t(output()) * stream.reports.num_chosen + i;
  }

  // The number of the row's tokens from a token's own rank up, found by the groups' maxima; 0 for a
  // token without probability, which a verification may have kept.
  SAMPLER_DEVICE uint64_t rank_in_row(uint32_t id) const {
    constexpr int kAtOnce = 8;  // vectors of four maxima: a bit for each in a word
    const float *const maxima = stream.maxima(item().slot);
    const float x = this->row().value(int(id));
    if (!(x > contract::negative_infinity())) return 0;
    uint32_t own = 0;
    SAMPLER_KEEP_ROLLED
    for (int first = 4 * ctx.thread(); first < stream.num_groups();
         first += 4 * kAtOnce * Context::kThreads) {
      const auto group_at = [&](int i) { return first + 4 * i * Context::kThreads; };
      Vector raw[kAtOnce];
      SAMPLER_UNROLLED
      for (int i = 0; i < kAtOnce; ++i) {
        const int at = group_at(i) < stream.num_groups() ? group_at(i) : first;
        raw[i] = ctx.load_fresh(reinterpret_cast<const Vector *>(&maxima[at]));
      }
      uint32_t hits = 0;
      SAMPLER_UNROLLED
      for (int i = 0; i < 4 * kAtOnce; ++i) {
        const bool is_in = group_at(i / 4) < stream.num_groups();
        hits |= is_in && contract::float_of(raw[i / 4].word[i % 4]) >= x ? 1u << i : 0;
      }
      SAMPLER_KEEP_ROLLED
      for (; hits != 0; hits &= hits - 1) {
        const int hit = Context::lowest_bit(hits);
        own += count_in_group(group_at(hit / 4) + hit % 4, contract::rank_of(x, id));
      }
    }
    return sum_of_counts(own, 0);
  }

  SAMPLER_DEVICE uint32_t count_in_group(int group, Rank least) const {
    const Row row = this->row();
    uint32_t num_above = 0;
    SAMPLER_KEEP_ROLLED
    for (int i = 0; i < Row::kVectors; ++i) {
      const int position = Row::position(group / 32, group % 32, i);
      const Vector raw = row.vector(ctx, position);
      SAMPLER_UNROLLED
      for (int j = 0; j < Row::kElements; ++j) {
        const uint32_t index = uint32_t(position + j - row.lead);
        num_above += contract::rank_of(element<kDtype>(raw, j), index) >= least ? 1 : 0;
      }
    }
    return num_above;
  }
};

}  // namespace sampler::kernels
