// Repeats of a text's end, found by the warps of a team: contract/repeats.h in parallel.
#pragma once

#include <cstdint>

#include "contract/repeats.h"
#include "machine/device.cuh"
#include "machine/team.cuh"

namespace sampler::kernels {

// Most places of a text for one warp.
constexpr int kMostPlaces = 2048;

// A warp's places [begin, end) of a text of n tokens: the Z-algorithm of contract::visit_repeats()
// from `begin` on, 32 comparisons at a time. Lanes skip places whose token is not the text's first,
// which are most.
//
// `known` has the lengths of earlier places, from 1 on; with `is_first` those of these places are
// added. No box begins before `begin`, so at most end - begin of them are read.
template <class Context, class Text, class Visit>
SAMPLER_DEVICE void visit_places(Context &ctx, const Text &text, int n, int limit, int begin,
                                 int end, int32_t *known, bool is_first, const Visit &visit) {
  int box_begin = 0, box_end = 0;
  const int64_t newest = text[0];
  for (int first = begin; first < end; first += 32) {
    const int own = first + ctx.lane();
    const bool repeats = own < end && limit > 0 && text[own] == newest;
    if (own < end && !repeats) {
      if (is_first) known[own] = 0;
      visit(own, 0);
    }
    for (uint32_t left = ctx.ballot(repeats); left != 0; left &= left - 1) {
      ctx.warp_sync();  // publishes all lengths known so far
      const int k = first + Context::lowest_bit(left);
      const int inside = box_end > k ? box_end - k : 0;
      int length = inside > 0 && known[k - box_begin] < inside ? known[k - box_begin] : inside;
      const int most = limit < n - k ? limit : n - k;
      // Within the box the next token is known to differ.
      while (length >= inside && length < most) {
        const int i = length + ctx.lane();
        const uint32_t differing = ctx.ballot(i < most && text[k + i] != text[i]);
        if (differing != 0) {
          length += Context::lowest_bit(differing);
          break;
        }
        length = most - length > 32 ? length + 32 : most;
      }
      if (length > inside) {
        box_begin = k;
        box_end = k + length;
      }
      if (ctx.lane() == 0) {
        if (is_first) known[k] = length;
        visit(k, length);
      }
    }
  }
}

// Calls visit(k, length), in one thread of the team, for each place k = 1 ... n - 1 of a text, with
// the length, at most `limit`, of its repeat as in contract::visit_repeats(). Barriers of the team
// before and after it; its list is destroyed. For n tokens a warp takes about n / warps + limit /
// 32 steps, twice: every block has the first places.
template <class Context, class Text, class Visit>
SAMPLER_DEVICE_CALL void visit_repeats(Team<Context> &team, const Text &text, int n, int limit,
                                       const Visit &visit) {
  static_assert((kMostPlaces + 1) * sizeof(int32_t) <= sizeof(TeamShared::bins));
  Context &ctx = team.ctx;
  constexpr int kWarps = Context::kThreads / 32;
  const int num_warps = ctx.team_size() * kWarps;
  int num_places = (n - 1 + num_warps - 1) / num_warps;
  if (num_places > kMostPlaces) num_places = kMostPlaces;
  if (n < 2) return;
  int32_t *known = reinterpret_cast<int32_t *>(team.shared.bins);
  const bool is_leader = team.is_leader();
  const int warp = ctx.cluster_rank() * kWarps + ctx.warp();
  // First the block's first warp takes the first places; then all warps the others, in turns.
  bool is_first = true;
  int64_t begin = ctx.warp() == 0 ? 1 : n;
  SAMPLER_KEEP_ROLLED
  for (;;) {
    if (begin < n) {
      const int end = int(begin) + num_places < n ? int(begin) + num_places : n;
      visit_places(ctx, text, n, limit, int(begin), end, known, is_first, [&](int k, int length) {
        if (!is_first || is_leader) visit(k, length);
      });
    }
    if (is_first) {
      ctx.sync();
      is_first = false;
      begin = 1 + int64_t(warp + 1) * num_places;
    } else {
      begin += int64_t(num_warps) * num_places;
    }
    if (begin >= n) break;
  }
}

}  // namespace sampler::kernels
