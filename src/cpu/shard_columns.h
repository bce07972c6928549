// `Columns` of shards::ShardRounds on one thread: this rank's columns of a row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "contract/draw.h"
#include "contract/elements.h"
#include "contract/entropy.h"
#include "contract/row_view.h"
#include "contract/state_slots.h"
#include "cpu/edits.h"
#include "cpu/elements.h"
#include "cpu/own_columns.h"
#include "cpu/row_tasks.h"
#include "shards/call.h"
#include "shards/rounds.h"

namespace sampler::cpu {

class ShardColumns {
 private:
  // Calls f(row) with the kind of row that the machine uses.
  template <class F>
  auto with_row(const F &f) {
    return simd_row_ ? f(*simd_row_) : f(*reference_row_);
  }

 public:
  using Rank = contract::Rank;
  using RowScale = contract::RowScale;

  // `ids`: the columns' ids. `is_counted`: only counts memory.
  ShardColumns(const shards::ShardCall &call, const shards::ShardPlan &plan,
               const Executor &executor, const int32_t *ids, TaskMemory &memory, bool is_counted)
      : call_(call),
        passes_(executor.passes),
        ids_(ids),
        rows_(own_rows(call)),
        drawn_(memory.take<Rank>(call.sample ? plan.num_candidates : 0)),
        elements_(call.has_edits(), own_list(call), memory),
        edits_(call.has_edits() ? RowEdits(*call.pipeline, own_list(call), memory) : RowEdits()) {
    // Loads rows of the input's type and of f32; memory for f16 fits both.
    if (call.has_own_values()) rows_.dtype = SAMPLER_F16;
    if (is_counted) {
      memory.make_row<CountedRow>(rows_);
    } else if (executor.passes) {
      simd_row_.emplace(memory.make_row<SimdRow>(rows_));
    } else {
      reference_row_.emplace(memory.make_row<ReferenceRow>(rows_));
    }
  }

  contract::OneWorker workers() const { return {}; }
  uint64_t sum(uint64_t own) const { return own; }
  uint64_t max(uint64_t own) const { return own; }

  // ---- Loaded rows

  uint32_t load(const RowView &view, contract::Use use, int64_t, Rank *first) {
    return with_row([&](auto &row) {
      const uint32_t status = row.load(view, use);
      if (status == SAMPLER_ROW_OK) *first = to_global(row.first());
      return status;
    });
  }

  // The columns are edited as a candidate list.
  uint32_t edit(int64_t slot, int64_t output, const RowView &given, float *to) {
    RowView list = given;
    list.ids = ids_;
    list.id_type = SAMPLER_ID_I32;
    elements_.index(list);
    float *const values = edits_.row().values();
    with_row([&](auto &row) { row.copy_values(values); });
    const uint32_t status = edits_.edit(slot, output, list, elements_, nullptr);
    std::copy_n(values, call_.num_cols, to);
    return status;
  }

  void fill(float *values, float x) const { std::fill_n(values, call_.num_cols, x); }

  template <class Put>
  void list(const RowView &, int64_t count, const Put &put) {
    const Rank *ranks = nullptr;
    with_row([&](auto &row) { row.select(count, &ranks); });
    for (int64_t i = 0; i < count; ++i) put(i, to_global(ranks[i]));
  }

  // In blocks, so that results that are not written stay in the cache.
  Rank subtract(const RowView &p, const RowView &q, int64_t removed, float *to) const {
    constexpr int64_t kBlock = 1024;
    float rest[kBlock], drafted[kBlock];
    Rank first = 0;
    for (int64_t begin = 0; begin < p.count; begin += kBlock) {
      const int64_t end = std::min(begin + kBlock, int64_t(p.count)), count = end - begin;
      const int64_t first_id = call_.first_id + begin;
      columns(p).copy(begin, end, rest);
      if (q.values) {
        columns(q).copy(begin, end, drafted);
        for (int64_t i = 0; i < count; ++i) {
          rest[i] = contract::residual_probability(rest[i], drafted[i]);
        }
      } else if (removed >= first_id && removed < first_id + count) {
        rest[removed - first_id] = 0.0f;
      }
      if (to) std::copy_n(rest, count, to + begin);
      const RowView block = contract::f32_view(rest, count, nullptr, p.kind);
      first = std::max(first, OwnColumns(passes_, block, first_id, nullptr).first());
    }
    return first;
  }

  // ---- Passes over a row

  int64_t count(const RowView &view, Rank cut) const { return columns(view).count(cut); }
  int64_t count_ties(const RowView &view, uint32_t key) const {
    return columns(view).count_ties(key);
  }
  uint64_t weight(const RowView &view, const RowScale &scale, Rank cut) const {
    return columns(view).weight(scale, cut);
  }
  contract::EntropySums entropy_sums(const RowView &view, const RowScale &scale, Rank cut) const {
    return columns(view).entropy_sums(scale, cut);
  }
  Rank cut_after_ties(const RowView &view, uint32_t key, uint64_t ties) const {
    return columns(view).cut_after_ties(key, ties);
  }
  void add_digit(const RowView &view, const RowScale &scale, uint32_t lowest,
                 const shards::DigitSearch &search, int digit, uint64_t *sums) const {
    const uint32_t low = std::max(lowest, search.lowest(digit));
    columns(view).add_digit(scale, low, search.highest(digit), digit, sums);
  }
  int64_t find(const RowView &view, const RowScale &scale, Rank cut, uint64_t target) const {
    return columns(view).find(scale, cut, target);
  }
  int64_t best_score(const RowView &view, const RowScale &scale, Rank cut,
                     const contract::GumbelStream &random, float *score) const {
    const GumbelBest best = columns(view).gumbel(scale, random, cut);
    if (best.index >= 0) *score = best.score + 0.0f;  // turns -0 into +0
    return best.index;
  }

  // ---- Lists

  template <class Measure>
  int64_t find_in_list(const Rank *ranks, int64_t count, uint64_t target,
                       const Measure &measure) const {
    uint64_t sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      sum += measure(ranks[i]);
      if (sum >= target) return i;
    }
    return count;
  }

  Rank draw_from_list(const Rank *ranks, int64_t count, const RowScale &scale, uint64_t target) {
    std::copy_n(ranks, count, drawn_);
    std::sort(drawn_, drawn_ + count,
              [](Rank a, Rank b) { return contract::id_of_rank(a) < contract::id_of_rank(b); });
    const int64_t place = find_in_list(drawn_, count, target + 1, [&](Rank rank) {
      return contract::weight(scale, contract::value_of_rank(rank));
    });
    return drawn_[std::min(place, count - 1)];
  }

  // ---- Output rows

  void write_values(int64_t output, const RowView &view, const contract::Distribution &kept) const {
    columns(view).for_each([&](int64_t i, float x) {
      store(output, i, kept.keeps(columns(view).rank_of(i, x)) ? x : -kInfinity);
    });
  }
  void write_probabilities(int64_t output, const RowView &view,
                           const contract::Distribution &kept) const {
    columns(view).for_each([&](int64_t i, float x) {
      store(output, i, kept.probability(x, columns(view).rank_of(i, x)));
    });
  }
  void write_bad(int64_t output, const RowView &view) const {
    columns(view).for_each([&](int64_t i, float x) { store(output, i, x); });
  }
  void write_nothing(int64_t output) const {
    for (int64_t i = 0; i < call_.num_cols; ++i) store(output, i, 0.0f);
  }

 private:
  // This rank's columns as rows; as candidate lists.
  static contract::Rows own_rows(const shards::ShardCall &call) {
    contract::Rows rows = call.input();
    rows.num_cols = std::max<int64_t>(call.num_cols, 1);
    return rows;
  }
  static contract::Rows own_list(const shards::ShardCall &call) {
    static constexpr int32_t kSomewhere = 0;
    contract::Rows rows = own_rows(call);
    rows.ids = &kSomewhere;
    return rows;
  }

  OwnColumns columns(const RowView &view) const { return {passes_, view, call_.first_id, ids_}; }
  // Converts a rank by column to a rank by id.
  Rank to_global(Rank rank) const { return rank - Rank(call_.first_id); }

  void store(int64_t output, int64_t i, float x) const {
    const auto store_in = [&](const auto &to) {
      contract::store_value(to.output, to.output_dtype, output * to.output_stride + i, x);
    };
    if (call_.filter) {
      store_in(*call_.filter);
    } else {
      store_in(*call_.residual);
    }
  }

  const shards::ShardCall &call_;
  const Passes *passes_;
  const int32_t *ids_;
  contract::Rows rows_;
  Rank *drawn_;
  Elements elements_;
  RowEdits edits_;
  // One is set; neither if memory is only counted.
  std::optional<SimdRow> simd_row_;
  std::optional<ReferenceRow> reference_row_;
};

}  // namespace sampler::cpu
