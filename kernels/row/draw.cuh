// Draws by a team. CPU twin: src/cpu/draw.
#pragma once

#include <cstdint>

#include "contract/draw.h"
#include "contract/log2.h"
#include "contract/philox.h"
#include "machine/team.cuh"
#include "row/distribution.cuh"
#include "row/row.cuh"
#include "row/selection.cuh"

namespace sampler::kernels {

// A token, known to every thread of the team.
struct Token {
  uint32_t id;
  float value;
};

// The kept tokens for an inverse-CDF draw: listed by ascending id in the leader, or in the row.
struct DrawSource {
  int listed = -1;  // kept tokens in the leader's list; -1: not listed
};

// Sorts listed kept tokens by id. Destroys the list's rank order.
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

// Most candidates in a bin of ids.
constexpr int kIdsOfBin = int(contract::kMaxVocabulary / kBins);

// The token at which the running weight of the kept tokens, by ascending id, first exceeds
// `target`.
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
                                  team.shared.cut.tile_sums, 0.0f, [&](float x, uint32_t id_of_x) {
                                    const bool kept =
                                        distribution.keeps(contract::rank_of(x, id_of_x));
                                    return kept ? contract::weight(scale, x) : uint64_t(0);
                                  });
  return {id, row.source().value(int(id))};
}

// The best token scored by a thread.
struct Best {
  float score = contract::negative_infinity();  // no token: all scores are larger
  uint32_t id = 0;
  float value = 0.0f;

  SAMPLER_DEVICE bool is_none() const { return score == contract::negative_infinity(); }
  SAMPLER_DEVICE Rank rank() const { return is_none() ? 0 : contract::rank_of(score, id); }

  SAMPLER_DEVICE void consider(const RowScale &scale, float x, uint32_t token, uint32_t word) {
    const float other = contract::gumbel_score(scale.kind, x, scale.scale, word);
    if (contract::rank_of(other, token) <= rank()) return;
    score = other;
    id = token;
    value = x;
  }
};

// The random words of a quad with first id `first`: from one Philox block if the row begins at a
// multiple of four, else from two.
template <class Stream>
SAMPLER_DEVICE_CALL contract::Philox4 words_of_two(Stream random, int first) {
  // A row's first run may begin before it: then `first` is negative, and the second block is 0.
  const contract::Philox4 blocks[] = {contract::gumbel_block(random, uint32_t(first) / 4),
                                      contract::gumbel_block(random, (uint32_t(first) + 4) / 4)};
  contract::Philox4 words;
  for (int i = 0; i < kQuad; ++i) {
    const int place = (first & 3) + i;
    words.word[i] = blocks[place / 4].word[place % 4];
  }
  return words;
}

template <class Stream>
SAMPLER_DEVICE contract::Philox4 gumbel_words(const Stream &random, int first) {
  return first % 4 == 0 ? contract::gumbel_block(random, uint32_t(first) / 4)
                        : words_of_two(random, first);
}

// The search for the best Gumbel score in a row without ids. Most tokens need no score: a cheap
// upper bound from the token's random word does not exceed the best so far.
struct GumbelSearch {
  float scale;  // of a token's log2
  bool is_logits;
  Cut cut;
  Best best;
  // A token whose score is not above this is not the best: another token has more, or a token of an
  // earlier run of this thread, with a lower id, as much.
  float limit = contract::negative_infinity();

  // Upper bound of a token's log2 weight, up to a common constant; the log2 weight itself.
  SAMPLER_DEVICE float log2_bound(float x) const { return is_logits ? x : contract::log2_bound(x); }
  SAMPLER_DEVICE float log2(float x) const { return is_logits ? x : contract::log2_shifted(x, 0); }

  SAMPLER_DEVICE bool may_reach(float largest) const {
    return largest >= cut.lowest &&
           contract::score_of_noise(log2_bound(largest), scale, contract::kLargestNoise) > limit;
  }

  // Shares the best score between the block's warps, as its key.
  template <class Context>
  SAMPLER_DEVICE void share(Context &ctx, uint32_t *best_score) {
    const uint32_t own = ctx.warp_max(best.is_none() ? 0 : contract::value_key(best.score));
    uint32_t others = 0;
    if (ctx.lane() == 0) others = ctx.atomic_max(best_score, own);
    others = uint32_t(ctx.warp_broadcast(others, 0));
    const uint32_t key = own > others ? own : others;
    // Two keys lower: the key below 0's is -0's, which is no smaller a value.
    if (key != 0) limit = contract::value_of_key(key - 2);
  }
};

// A run that may hold the best token, kept out of the registers of the pass.
struct GumbelRun {
  float x[kRun];
  uint32_t words[kRun];
  int index[kRun / kQuad];  // of each quad's first element
};

// Scores one token of each lane with `contends`.
template <class Context>
SAMPLER_DEVICE void score_contender(Context &, int index, float x, uint32_t word, bool contends,
                                    GumbelSearch *search) {
  const float score = contract::gumbel_score(search->log2(x), search->scale, word);
  const bool is_kept = x > search->cut.lowest || uint32_t(index) <= search->cut.last_id;
  const bool is_better =
      contract::rank_of(score, uint32_t(index)) > search->best.rank();  // a run's come in any order
  if (!contends || !is_kept || !is_better) return;
  search->best.score = score;
  search->best.id = uint32_t(index);
}

// Scores tokens of a run until no token of the warp can beat the best. Each lane takes the one with
// the highest bound.
template <class Context>
SAMPLER_DEVICE_CALL GumbelSearch score_contenders(Context &ctx, GumbelRun run, uint32_t *best_score,
                                                  GumbelSearch search) {
  for (;;) {
    search.share(ctx, best_score);
    float most = search.limit;
    int place = kRun;
    SAMPLER_KEEP_ROLLED
    for (int i = 0; i < kRun; ++i) {
      const float bound = contract::score_of_noise(search.log2_bound(run.x[i]), search.scale,
                                                   contract::gumbel_noise_bound(run.words[i]));
      if (run.x[i] < search.cut.lowest || !(bound > most)) continue;
      // A token that can only tie this lane's best wins by a lower id only.
      const int index = run.index[i / kQuad] + i % kQuad;
      if (bound <= search.best.score && uint32_t(index) > search.best.id) continue;
      most = bound;
      place = i;
    }
    const bool contends = place != kRun;
    if (ctx.ballot(contends) == 0) break;
    const int at = contends ? place : 0;
    score_contender(ctx, run.index[at / kQuad] + at % kQuad, run.x[at], run.words[at], contends,
                    &search);
    if (contends) run.x[at] = contract::negative_infinity();
  }
  search.limit = Context::larger(search.limit, search.best.score);
  return search;
}

// The best of this thread's tokens of the row. Streams that may be a watermark's take registers,
// which the kernels for plain calls do not have.
template <class Context, class Row, class Stream>
SAMPLER_DEVICE_CALL Best best_of_row(Team<Context> &team, const Row &row,
                                     const Distribution &distribution, const Stream &stream) {
  Context &ctx = team.ctx;
  const Stream random = stream;
  if (row.source().ids) {
    Best best;
    row.for_each([&](float x, int index) {
      const uint32_t id = row.id(index);
      if (distribution.keeps(contract::rank_of(x, id))) {
        best.consider(distribution.scale, x, id,
                      contract::gumbel_block(random, id / 4).word[id % 4]);
      }
    });
    return best;
  }
  uint32_t *best_score = &team.shared.best_score;
  if (ctx.thread() == 0) *best_score = 0;
  ctx.sync();
  const int first_id = int(row.source().first_id());
  const bool is_logits = row.kind() == SAMPLER_LOGITS;
  GumbelSearch search = {is_logits ? distribution.scale.scale : 1.0f, is_logits,
                         Cut::of(row, distribution.cut), Best()};
  row.for_each_run(search.cut.lowest, [&](const Row &row_, int tile, int first, float(&x)[kRun]) {
    float largest = x[0];
    for (int i = 1; i < kRun; ++i) largest = Context::larger(largest, x[i]);
    if (ctx.ballot(search.may_reach(largest)) == 0) return;
    const uint32_t last_word =
        contract::last_word_above(search.log2_bound(largest), search.scale, search.limit);
    uint32_t words[kRun];
    uint32_t least = ~uint32_t(0);
    for (int i = 0; i < kRun; i += kQuad) {
      const contract::Philox4 block =
          gumbel_words(random, first_id + row_.index_of(tile, first + i));
      for (int j = 0; j < kQuad; ++j) {
        words[i + j] = block.word[j];
        least = words[i + j] < least ? words[i + j] : least;
      }
    }
    if (ctx.ballot(least <= last_word) == 0) return;
    GumbelRun run;
    for (int i = 0; i < kRun; ++i) run.x[i] = x[i], run.words[i] = words[i];
    for (int i = 0; i < kRun; i += kQuad) run.index[i / kQuad] = row_.index_of(tile, first + i);
    search = score_contenders(ctx, run, best_score, search);
  });
  if (!search.best.is_none()) search.best.value = row.source().value(int(search.best.id));
  return search.best;
}

// The kept token with the largest score; ties go to the lowest id.
template <class Context, class Row, class Stream>
SAMPLER_DEVICE_CALL Token draw_gumbel(Team<Context> &team, const Row &row,
                                      const Distribution &distribution, const ListState &list,
                                      const Stream &random) {
  Best best;
  if (!list.covers(distribution.cut)) {
    best = best_of_row(team, row, distribution, random);
  } else if (team.is_leader()) {
    for (int i = team.ctx.thread(); i < list.count; i += Context::kThreads) {
      const Rank rank = team.shared.list[i];
      if (!distribution.keeps(rank)) continue;
      const uint32_t id = contract::id_of_rank(rank);
      const uint32_t word = contract::gumbel_block(random, id / 4).word[id % 4];
      best.consider(distribution.scale, contract::value_of_rank(rank), id, word);
    }
  }
  const uint64_t winner = team.max(best.rank());
  // One thread of the team has it, and its value.
  const uint64_t bits =
      team.max(best.rank() == winner ? uint64_t(contract::bits_of(best.value)) : 0);
  return {contract::id_of_rank(winner), contract::float_of(uint32_t(bits))};
}

}  // namespace sampler::kernels
