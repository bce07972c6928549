// Typical-p of a held row without a list of its first tokens: weights by distance from the mean
// show the bin of the cut, whose tokens are listed.
#pragma once

#include <cstdint>

#include "contract/rank.h"
#include "contract/windows.h"
#include "held/reports.cuh"

namespace sampler::kernels {

template <class Context, class BaseBlock = ReportBlock<Context>>
class NearestBlock : protected BaseBlock {
 public:
  using Base = BaseBlock;
  using Base::Base;

 protected:
  using Base::ctx;
  using Base::shared;
  using Row = typename Base::Row;

  // Where the tokens that typical-p keeps begin and end: those of at least a rank precede the
  // first one, and the end.
  struct Nearest {
    bool is_found;  // else the list does not show them
    Rank before, end;
  };

  // Cuts the row's tokens after those that rank at least `before`. `first` and `least`: the first
  // one's value, and the last one's. Called by the whole team, whose lists it takes.
  SAMPLER_DEVICE Nearest find_nearest(const Row &row, const contract::Typical &of_logits,
                                      Rank before, float first, float least) {
    const contract::Typical rule = for_logits(of_logits);
    const DistanceBins bins = DistanceBins::of(rule, least);
    const HeldKept seen_before = Base::kept_from(before);
    const bool begins_later = before != kNoRank;
    const auto bin_of = [&](float x, int tile, int i) {
      const bool is_seen = x > contract::negative_infinity() &&
                           !(begins_later && seen_before.has(x, this->index_of(row, tile, i)));
      return is_seen ? bins.of(rule.distance(x)) : -1;
    };
    this->weigh_by_bin(row, rule.row, bin_of);
    ctx.team_sync();
    uint64_t cut[] = {0, 0};  // the bin, and the weight of the bins before
    if (this->is_leader()) {
      this->find_bin(rule.threshold);
      cut[0] = uint64_t(shared.kept_count);
      cut[1] = shared.kept_weight;
      if (ctx.thread() == 0) shared.num_listed = 0;
      ctx.sync();
    }
    const auto *const of_leader = this->exchange(cut);
    const int bin = int(of_leader[0][0]);
    const uint64_t nearer = of_leader[1][0];
    if (bin == kStreamedTokens) return {false, 0, 0};
    const auto hits_of = [&](int tile) {
      uint32_t hits = 0;
      SAMPLER_KEEP_ROLLED
      for (int i = 0; i < kGroup; i += kQuad) {
        const Vector quad = ctx.load_shared(this->place(tile, i / kQuad));
        SAMPLER_UNROLLED
        for (int j = 0; j < kQuad; ++j) {
          const bool is_hit = bin_of(contract::float_of(quad.word[j]), tile, i + j) == bin;
          hits |= is_hit ? 1u << (i + j) : 0;
        }
      }
      return hits;
    };
    this->list_hits(row, hits_of,
                    [&](float x, uint32_t id) { return place_of_token(rule, x, id); });
    ctx.team_sync();
    // Whether, and the ranks of the first and the last token; 0: none.
    uint64_t found[] = {0, 0, 0};
    if (this->is_leader() && this->count() <= kStreamedTokens) {
      found[0] = cut_listed(row, rule, bins, bin, nearer, &found[1], &found[2]) ? 1 : 0;
    }
    ctx.sync();
    if (ctx.thread() == 0) shared.num_listed = 0;
    const auto *const all = this->exchange(found);
    const bool is_found = all[0][0] != 0;
    const Rank first_of_list = all[1][0], last_of_list = all[2][0];
    if (!is_found) return {false, 0, 0};
    Nearest kept = {true, first_of_list + 1, last_of_list};
    const uint32_t low = contract::value_key(least), high = contract::value_key(first);
    // Without a likelier token of the bin, those before are all of this and farther bins; without
    // another the end is behind all of nearer bins, and likelier ones.
    if (first_of_list == 0) {
      const auto is_before = [&](float x) {
        return rule.excess(x) > 0.0f && bins.of(rule.distance(x)) >= bin;
      };
      kept.before = is_before(first)
                        ? contract::rank_of_key(this->lowest_with(low, high, is_before))
                        : before;
    }
    if (last_of_list == 0) {
      kept.end = contract::rank_of_key(this->lowest_with(low, high, [&](float x) {
        return rule.excess(x) > 0.0f || bins.of(rule.distance(x)) < bin;
      }));
    }
    return kept;
  }

  static constexpr Rank kNoRank = ~Rank(0);  // above all

  // The same, known to the compiler as one of logits.
  SAMPLER_DEVICE static contract::RowScale for_logits(const contract::RowScale &row) {
    return {SAMPLER_LOGITS, row.max, row.scale, 0};
  }
  SAMPLER_DEVICE static contract::Typical for_logits(const contract::Typical &rule) {
    contract::Typical result = rule;
    result.row = for_logits(rule.row);
    return result;
  }

 private:
  // Bins of distances, as many as the list has places for.
  struct DistanceBins {
    float bins_of_unit;

    SAMPLER_DEVICE static DistanceBins of(const contract::Typical &rule, float least) {
      constexpr float kMost = 48.0f;  // farther tokens weigh nothing
      const float below = rule.distance(least) < kMost ? rule.distance(least) : kMost;
      return {float(kStreamedTokens - 1) / contract::larger_of(below, rule.mean)};
    }
    SAMPLER_DEVICE int of(float distance) const {
      const float place = distance * bins_of_unit;
      return place < float(kStreamedTokens - 1) ? int(place) : kStreamedTokens - 1;
    }
    // Distances of no bin after and before.
    SAMPLER_DEVICE float nearest(int bin) const { return (float(bin) - 0.5f) / bins_of_unit; }
    SAMPLER_DEVICE float farthest(int bin) const { return (float(bin) + 1.5f) / bins_of_unit; }
  };

  static constexpr uint32_t kLikelier = uint32_t(1) << 31;

  // Numbers in typical-p's order of tokens, from the largest down: the nearer ones, of these the
  // likelier ones from the highest id down, then the others from the lowest up. Values at one
  // distance come in any order.
  SAMPLER_DEVICE static uint64_t place_of_token(const contract::Typical &rule, float x,
                                                uint32_t id) {
    const uint32_t of_id = rule.excess(x) > 0.0f ? kLikelier | id : ~kLikelier & ~id;
    return contract::rank_of_key(contract::value_key(-rule.distance(x))) | of_id;
  }
  SAMPLER_DEVICE static uint32_t id_of_place(uint64_t place) {
    return (uint32_t(place) & kLikelier) != 0 ? uint32_t(place) & ~kLikelier
                                              : ~(uint32_t(place) | kLikelier);
  }
  // A number for each distance and side.
  SAMPLER_DEVICE static uint64_t group_of(uint64_t place) { return place >> 31; }

  // Finds the ranks of the first and the last listed token that are kept; 0: none of the likelier,
  // or of the other ones. False: one distance is that of many values. Called by the leader.
  SAMPLER_DEVICE bool cut_listed(const Row &row, const contract::Typical &rule,
                                 const DistanceBins &bins, int bin, uint64_t nearer, Rank *first,
                                 Rank *last) const {
    const auto &list = shared.row.list;
    this->sort_list(-bins.nearest(bin), -bins.farthest(bin));
    const auto value_at = [&](int i) {
      return this->value_in_team(row, int(id_of_place(list[i])));
    };
    this->add_up_by([&](int i) { return contract::weight(rule.row, value_at(i)); });
    const auto &sums = shared.row.sums;
    int kept =
        this->length_of([&](int i) { return i == 0 || nearer + sums[i - 1] < rule.threshold; });
    const uint64_t cut = list[kept - 1];
    if (rule.ties == SAMPLER_TIES_KEEP) {
      kept = this->length_of(
          [&](int i) { return contract::key_of_rank(list[i]) >= contract::key_of_rank(cut); });
    } else if (kept < this->count() && group_of(list[kept]) == group_of(cut)) {
      const float x = value_at(kept - 1);
      uint32_t num_others = 0;
      SAMPLER_KEEP_ROLLED
      for (int i = ctx.thread(); i < this->count(); i += Context::kThreads) {
        num_others += group_of(list[i]) == group_of(cut) && value_at(i) != x ? 1 : 0;
      }
      const bool are_others = this->sum_of_counts(num_others, 0) != 0;
      ctx.sync();
      if (are_others) return false;
    }
    Rank own_first = 0, own_last_upside_down = 0;
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < kept; i += Context::kThreads) {
      const Rank rank = contract::rank_of(value_at(i), id_of_place(list[i]));
      if ((uint32_t(list[i]) & kLikelier) != 0) {
        own_first = rank > own_first ? rank : own_first;
      } else {
        own_last_upside_down = ~rank > own_last_upside_down ? ~rank : own_last_upside_down;
      }
    }
    *first = largest(own_first);
    const Rank last_upside_down = largest(own_last_upside_down);
    *last = last_upside_down == 0 ? 0 : ~last_upside_down;
    return true;
  }

  // The largest of the block's ranks.
  SAMPLER_DEVICE Rank largest(Rank rank) const {
    const uint32_t key = this->max_of_block(contract::key_of_rank(rank));
    ctx.sync();
    const uint32_t rest =
        this->max_of_block(contract::key_of_rank(rank) == key ? uint32_t(rank) : 0);
    ctx.sync();
    return contract::rank_of_key(key) | rest;
  }
};

}  // namespace sampler::kernels
