// The first tokens of a row in rank order, by a team.
#pragma once

#include <cstdint>

#include "contract/rank.h"
#include "machine/team.cuh"
#include "row/distribution.cuh"
#include "row/row.cuh"
#include "row/selection.cuh"

namespace sampler::kernels {

// With this many of a run that might fill the list it is full enough; saves a histogram.
constexpr int kEnoughOfRun = kListCapacity * 2 / 3;

// Calls put(place, rank) for the row's first `wanted` tokens from rank `lowest` up, or all there
// are, in threads of the leader; returns their number. Works in runs that the list holds.
// `reached`: a rank that `wanted` tokens reach; 0: none known. Other blocks see the leader's writes
// after a barrier of the team.
template <class Context, class Row, class Put>
SAMPLER_DEVICE_CALL int list_in_rank_order(Team<Context> &team, const Row &row,
                                           const RowSummary &summary, Rank lowest, Rank reached,
                                           int wanted, const Put &put) {
  int written = 0;
  Rank low = reached > lowest ? reached : lowest;
  Rank high = summary.first;
  while (written < wanted) {
    const int rest = wanted - written;
    const int run = rest < kListCapacity ? rest : kListCapacity;
    Search search = {low, high, uint64_t(run), kListCapacity};
    if (run < kEnoughOfRun) {
      search.limit = list_limit(run);
    } else {
      search.enough = kEnoughOfRun;
    }
    const Selected selected = low == reached
                                  ? select_top(team, row, search)
                                  : select_key<RankOrder>(team, row, search, CountTokens());
    int count = selected.listed;
    if (count < 0) count = make_list<RankOrder>(team, row, selected.key, high);
    const int listed = count < rest ? count : rest;
    const Rank last = team.broadcast(team.shared.list[listed > 0 ? listed - 1 : 0], 0);
    if (listed == 0) break;
    if (team.is_leader()) {
      for (int i = team.ctx.thread(); i < listed; i += Context::kThreads) {
        put(written + i, team.shared.list[i]);
      }
      team.ctx.sync();  // the next histogram overwrites the list
    }
    written += listed;
    if (listed < run && listed < kEnoughOfRun) break;
    high = last - 1;
    low = lowest;
  }
  return written;
}

}  // namespace sampler::kernels
