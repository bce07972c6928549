// Draws by a team: the twin of src/cpu/draw.
#pragma once

#include <cstdint>

#include "contract/draw.h"
#include "contract/log2.h"
#include "contract/philox.h"
#include "distribution.cuh"
#include "row.cuh"
#include "selection.cuh"
#include "team.cuh"

namespace sampler::kernels {

// A token as every thread of the team knows it.
struct Token {
  uint32_t id;
  float value;
};

// A kept set that is drawn from: listed by ascending id in the leader, or where the row lies.
struct DrawSource {
  int listed = -1;           // kept tokens in the leader's list; -1: they are not there
  uint64_t warp_weight = 0;  // otherwise, the kept weight of this warp's part of the row
};

// Brings the kept tokens into the order of the draw. Destroys the list's order.
template <class Context>
SAMPLER_DEVICE_CALL DrawSource prepare_draw(Team<Context> &team, const Distribution &distribution,
                                            const ListState &list) {
  Context &ctx = team.ctx;
  DrawSource result;
  if (list.covers(distribution.cut)) {
    result.listed = int(distribution.kept_count);
    if (team.is_leader()) {
      uint64_t *keys = team.shared.list;
      for (int i = ctx.thread(); i < result.listed; i += Context::kThreads) {
        keys[i] = IdOrder::key(RankOrder::value(keys[i]), RankOrder::id(keys[i]));
      }
      sort_list(ctx, keys, result.listed);
    }
    return result;
  }
  result.warp_weight = ctx.warp_broadcast(ctx.warp_inclusive_sum(distribution.own_weight), 31);
  return result;
}

// The token at which the kept tokens' running weight, by ascending id, first exceeds `target`.
template <class Context, class Row>
SAMPLER_DEVICE_CALL Token draw_inverse_cdf(Team<Context> &team, const Row &row,
                                           const Distribution &distribution,
                                           const DrawSource &source, uint64_t target) {
  Context &ctx = team.ctx;
  const RowScale scale = distribution.scale;
  const auto weight_of_key = [scale](uint64_t key) {
    return contract::weight(scale, IdOrder::value(key));
  };
  if (source.listed >= 0) {
    uint64_t key = 0;
    if (team.is_leader()) {
      const int index = find_in_list(ctx, team.shared, team.shared.list, source.listed, target + 1,
                                     weight_of_key);
      key = team.shared.list[index];
    }
    key = team.broadcast(key, 0);
    return {IdOrder::id(key), IdOrder::value(key)};
  }
  if (row.source().ids) {
    const auto kept_weight = [&](uint64_t key) {
      const Rank rank = contract::rank_of(IdOrder::value(key), IdOrder::id(key));
      return distribution.keeps(rank) ? weight_of_key(key) : 0;
    };
    const uint64_t lowest = IdOrder::key(0.0f, contract::kMaxVocabulary - 1);
    const Search search = {lowest, ~uint64_t(0), target + 1, kIdsOfBin};
    const uint64_t key = select_key<IdOrder>(team, row, search, kept_weight).key;
    return {IdOrder::id(key), IdOrder::value(key)};
  }

  const uint32_t id =
      find_in_row(team, row, source.warp_weight, target, [&](float x, uint32_t id_of_x) {
        const bool kept = distribution.keeps(contract::rank_of(x, id_of_x));
        return kept ? contract::weight(scale, x) : uint64_t(0);
      });
  return {id, row.source().value(int(id))};
}

// The kept token with the largest score, the lowest id among equals.
template <class Context, class Row>
SAMPLER_DEVICE_CALL Token draw_gumbel(Team<Context> &team, const Row &row,
                                      const Distribution &distribution, const DrawSource &source,
                                      const contract::RandomStream &random) {
  const RowScale scale = distribution.scale;
  uint64_t best = 0;
  uint32_t best_bits = 0;
  contract::Philox4 block = {};
  uint32_t block_index = ~uint32_t(0);
  const auto consider = [&](float x, uint32_t id) {
    if (!distribution.keeps(contract::rank_of(x, id))) return;
    if (block_index != id >> 2) {
      block_index = id >> 2;
      block = contract::random_block(random, contract::Purpose::kGumbel, block_index);
    }
    const float score = contract::gumbel_score(scale.kind, x, scale.scale, block.word[id & 3]);
    const uint64_t rank = contract::rank_of(score, id);
    if (rank > best) {
      best = rank;
      best_bits = contract::bits_of(x);
    }
  };
  if (source.listed >= 0) {
    if (team.is_leader()) {
      for (int i = team.ctx.thread(); i < source.listed; i += Context::kThreads) {
        consider(IdOrder::value(team.shared.list[i]), IdOrder::id(team.shared.list[i]));
      }
    }
  } else {
    row.for_each(consider);
  }
  const uint64_t winner = team.max(best);
  // One thread of the team has it, and with it the value.
  const uint64_t bits = team.max(best == winner ? uint64_t(best_bits) : 0);
  return {contract::id_of_rank(winner), contract::float_of(uint32_t(bits))};
}

}  // namespace sampler::kernels
