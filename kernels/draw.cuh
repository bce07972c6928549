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
  int listed = -1;  // kept tokens in the leader's list; -1: they are not there
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

  const uint32_t id = find_in_row(team, row, distribution.warp_weight, target,
                                  team.shared.tile_sums, 0.0f, [&](float x, uint32_t id_of_x) {
                                    const bool kept =
                                        distribution.keeps(contract::rank_of(x, id_of_x));
                                    return kept ? contract::weight(scale, x) : uint64_t(0);
                                  });
  return {id, row.source().value(int(id))};
}

SAMPLER_HD inline contract::Philox4 gumbel_block(const contract::RandomStream &random,
                                                 uint32_t id) {
  return contract::random_block(random, contract::Purpose::kGumbel, id / 4);
}

// The best of the tokens that a thread has considered.
struct Best {
  float score = contract::negative_infinity();  // none: all scores are larger
  uint32_t id = 0;
  float value = 0.0f;

  SAMPLER_DEVICE Rank rank() const {
    return score == contract::negative_infinity() ? 0 : contract::rank_of(score, id);
  }

  SAMPLER_DEVICE void consider(const RowScale &scale, float x, uint32_t token, uint32_t word) {
    const float other = contract::gumbel_score(scale.kind, x, scale.scale, word);
    if (contract::rank_of(other, token) <= rank()) return;
    score = other;
    id = token;
    value = x;
  }
};

// The random words of a quad whose first id is `first`: of one block where the row begins at a
// multiple of four, otherwise of two.
SAMPLER_DEVICE_CALL inline contract::Philox4 words_of_two(contract::RandomStream random,
                                                          int first) {
  const contract::Philox4 blocks[] = {gumbel_block(random, uint32_t(first)),
                                      gumbel_block(random, uint32_t(first) + 4)};
  contract::Philox4 words;
  for (int i = 0; i < kQuad; ++i) {
    const int place = (first & 3) + i;
    words.word[i] = blocks[place / 4].word[place % 4];
  }
  return words;
}

SAMPLER_DEVICE inline contract::Philox4 gumbel_words(const contract::RandomStream &random,
                                                     int first) {
  return first % 4 == 0 ? gumbel_block(random, uint32_t(first)) : words_of_two(random, first);
}

// The best of this thread's tokens of the row.
template <class Context, class Row>
SAMPLER_DEVICE_CALL Best best_of_row(Context &, const Row &row, const Distribution &distribution,
                                     const contract::RandomStream &stream) {
  const contract::RandomStream random = stream;
  Best best;
  if (row.source().ids) {
    row.for_each([&](float x, int index) {
      const uint32_t id = row.id(index);
      if (distribution.keeps(contract::rank_of(x, id))) {
        best.consider(distribution.scale, x, id, gumbel_block(random, id).word[id % 4]);
      }
    });
    return best;
  }
  const bool is_logits = row.kind() == SAMPLER_LOGITS;
  const float scale = is_logits ? distribution.scale.scale : 1.0f;
  const float none = contract::negative_infinity();
  const Cut cut = Cut::of(row, distribution.cut);
  row.for_each_run(cut.lowest, [&](const Row &row_, int tile, int first_of_run, float(&x)[kRun]) {
    if (cut.apply(row_, tile, first_of_run, x) == 0) return;
    if (!is_logits) {
      for (int i = 0; i < kRun; ++i) x[i] = x[i] > 0.0f ? contract::log2_shifted(x[i], 0) : none;
    }
    for (int i = 0; i < kRun; i += kQuad) {
      const int first = row_.index_of(tile, first_of_run + i);
      const contract::Philox4 words = gumbel_words(random, first);
      for (int j = 0; j < kQuad; ++j) {  // by ascending id: the first of equal scores stays
        const float score = contract::gumbel_score(x[i + j], scale, words.word[j]);
        const bool is_better = x[i + j] > none && score > best.score;
        best.score = is_better ? score : best.score;
        best.id = is_better ? uint32_t(first + j) : best.id;
      }
    }
  });
  if (best.rank() != 0) best.value = row.source().value(int(best.id));
  return best;
}

// The kept token with the largest score, the lowest id among equals.
template <class Context, class Row>
SAMPLER_DEVICE_CALL Token draw_gumbel(Team<Context> &team, const Row &row,
                                      const Distribution &distribution, const DrawSource &source,
                                      const contract::RandomStream &random) {
  Best best;
  if (source.listed < 0) {
    best = best_of_row(team.ctx, row, distribution, random);
  } else if (team.is_leader()) {
    for (int i = team.ctx.thread(); i < source.listed; i += Context::kThreads) {
      const uint32_t id = IdOrder::id(team.shared.list[i]);
      const uint32_t word = gumbel_block(random, id).word[id % 4];
      best.consider(distribution.scale, IdOrder::value(team.shared.list[i]), id, word);
    }
  }
  const uint64_t winner = team.max(best.rank());
  // One thread of the team has it, and with it the value.
  const uint64_t bits =
      team.max(best.rank() == winner ? uint64_t(contract::bits_of(best.value)) : 0);
  return {contract::id_of_rank(winner), contract::float_of(uint32_t(bits))};
}

}  // namespace sampler::kernels
