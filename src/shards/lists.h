// Merges the ranks' candidates into the first tokens of a row.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "contract/host_device.h"
#include "contract/rank.h"
#include "contract/state_slots.h"
#include "shards/filters.h"
#include "shards/rows.h"

namespace sampler::shards {

using namespace contract;

// `Columns` as for ShardRounds.
template <class Columns>
class ShardLists {
 public:
  SAMPLER_HD ShardLists(const ShardCall &call, const ShardPlan &plan, const ShardMemory &memory,
                        const ShardMessages &messages, Columns &columns)
      : memory_(memory),
        messages_(messages),
        columns_(columns),
        lowest_(lowest_cut(call.input().kind)),
        num_places_(ShardMemory::num_merged(call, plan)),
        has_values_(plan.has_values) {}

  // Whether each rank sent tokens of its own columns, in rank order.
  SAMPLER_HD bool are_valid() const {
    uint64_t num_invalid = 0;
    for_each_place(1, messages_.num_ranks, [&](int64_t rank, int64_t place) {
      if (place >= messages_.num_candidates_of(rank)) return;
      const Rank *const ranks = messages_.candidates_of(rank).ranks;
      const bool falls = place == 0 || ranks[place] < ranks[place - 1];
      const bool is_token =
          ranks[place] >= lowest_ && messages_.owns(rank, id_of_rank(ranks[place]));
      num_invalid += !(falls && is_token);
    });
    return columns_.sum(num_invalid) == 0;
  }

  // Merges the lists pairwise until one is left; returns its length.
  SAMPLER_HD int64_t merge(const ShardList &merged) const {
    const int64_t limit = messages_.num_candidates;
    for_each(messages_.num_ranks, [&](int64_t rank) {
      memory_.sizes[0][rank] = int32_t(messages_.num_candidates_of(rank));
    });
    columns_.workers().wait();
    int64_t num_lists = messages_.num_ranks;
    for (int64_t width = 1, turn = 0;; width *= 2, turn ^= 1) {
      const int32_t *const sizes = memory_.sizes[turn];
      const int64_t num_merged = (num_lists + 1) / 2;
      const auto to = [&](int64_t i) {
        return num_merged == 1 ? merged : list_at(turn ^ 1, 2 * width, i);
      };
      if constexpr (kIsOneWorker) {
        for (int64_t i = 0; i < num_merged; ++i) {
          const int64_t own = 2 * i, other = own + 1 < num_lists ? own + 1 : own;
          merge_two(list_at(turn, width, own), sizes[own], list_at(turn, width, other),
                    other == own ? 0 : sizes[other], to(i));
        }
      } else {
        for_each_place(width, num_lists, [&](int64_t own, int64_t place) {
          const int64_t other = own ^ 1;
          if (place >= sizes[own]) return;
          merge_one(list_at(turn, width, own), place,
                    list_at(turn, width, other < num_lists ? other : own),
                    other < num_lists ? sizes[other] : 0, to(own / 2));
        });
      }
      for_each(num_merged, [&](int64_t i) {
        const int64_t other = 2 * i + 1 < num_lists ? sizes[2 * i + 1] : 0;
        memory_.sizes[turn ^ 1][i] = int32_t(smaller(sizes[2 * i] + other, limit));
      });
      columns_.workers().wait();
      num_lists = num_merged;
      if (num_lists == 1) return memory_.sizes[turn ^ 1][0];
    }
  }

 private:
  static constexpr bool kIsOneWorker =
      std::is_same_v<decltype(std::declval<const Columns &>().workers()), OneWorker>;

  // Calls f(i) for each i < count, on one of the workers.
  template <class F>
  SAMPLER_HD void for_each(int64_t count, const F &f) const {
    const auto all = columns_.workers();
    for (int64_t i = all.index; i < count; i += all.count) f(i);
  }

  // Merges the first tokens of two lists.
  SAMPLER_HD void merge_two(const ShardList &a, int64_t num_a, const ShardList &b, int64_t num_b,
                            const ShardList &to) const {
    const int64_t count = smaller(num_a + num_b, messages_.num_candidates);
    for (int64_t i = 0, j = 0; i + j < count;) {
      const bool is_of_a = j == num_b || (i < num_a && a.ranks[i] > b.ranks[j]);
      put(is_of_a ? a : b, is_of_a ? i : j, to, i + j);
      ++(is_of_a ? i : j);
    }
  }
  // Places one token: its index in its own list plus the number of tokens before it in the other.
  SAMPLER_HD void merge_one(const ShardList &own, int64_t place, const ShardList &other,
                            int64_t num_other, const ShardList &to) const {
    const int64_t before = first_below(other.ranks, 0, num_other, own.ranks[place]);
    if (place + before < messages_.num_candidates) put(own, place, to, place + before);
  }
  SAMPLER_HD void put(const ShardList &from, int64_t place, const ShardList &to, int64_t at) const {
    to.ranks[at] = from.ranks[place];
    if (has_values_) to.values[at] = from.values[place];
  }

  // First place of list `index`, which merges `width` ranks. A list has places for at most its
  // ranks' candidates, and at most their columns.
  SAMPLER_HD int64_t begin_of_list(int64_t width, int64_t index) const {
    const int64_t rank = index * width;
    return smaller(rank * messages_.num_candidates, messages_.header(rank).first_id);
  }
  // Calls f(list, place in it) for each of these places, on one of the workers.
  template <class F>
  SAMPLER_HD void for_each_place(int64_t width, int64_t num_lists, const F &f) const {
    if constexpr (kIsOneWorker) {
      for (int64_t list = 0; list < num_lists; ++list) {
        const int64_t end = list + 1 < num_lists ? begin_of_list(width, list + 1) : num_places_;
        const int64_t begin = begin_of_list(width, list);
        for (int64_t i = begin; i < end; ++i) f(list, i - begin);
      }
      return;
    }
    for_each(num_places_, [&](int64_t i) {
      int64_t list = 0;
      for (int64_t end = num_lists; end - list > 1;) {
        const int64_t middle = list + (end - list) / 2;
        if (begin_of_list(width, middle) <= i) {
          list = middle;
        } else {
          end = middle;
        }
      }
      f(list, i - begin_of_list(width, list));
    });
  }
  SAMPLER_HD ShardList list_at(int64_t turn, int64_t width, int64_t index) const {
    if (width == 1) return messages_.candidates_of(index);
    const ShardList &all = memory_.merged[turn];
    const int64_t begin = begin_of_list(width, index);
    return {all.ranks + begin, has_values_ ? all.values + begin : nullptr};
  }

  const ShardMemory &memory_;
  const ShardMessages &messages_;
  Columns &columns_;
  Rank lowest_;
  int64_t num_places_;
  bool has_values_;
};

}  // namespace sampler::shards
