// A team: the blocks of one cluster, which together work on one row.
#pragma once

#include <cstdint>

#include "contract/request.h"
#include "device.cuh"

namespace sampler::kernels {

constexpr int kMaxTeam = 16;          // blocks of the largest cluster that any device runs
constexpr int kMaxExchanged = 5;      // values of one exchange
constexpr int kListCapacity = 2048;   // tokens that a list holds
constexpr int kNearCapacity = 1016;   // tokens near a cut that are listed
constexpr int kBinBits = 11;          // of a key, that one histogram tells
constexpr int kBins = 1 << kBinBits;  // of a histogram
constexpr int kGroup = 16;            // elements that a lane takes of a row at once
constexpr int kRun = 8;               // of those, that it has in registers at once
constexpr int kTile = 32 * kGroup;    // elements that a warp takes at once
constexpr int kMaximaBytes = 32 * int(sizeof(float));  // for the largest of a tile's groups
constexpr int kMaxLead = 7;  // elements by which a row's first tile may begin before it
constexpr int kMaxTiles = int(contract::kMaxVocabulary / kTile) + 1;

// Of a histogram.
struct Bin {
  TwoWords measure;
  uint32_t count;
};

// The fixed part of a block's shared memory; the resident part of the row follows it. Every block
// has all of it, at the same place, though only the leader, rank 0, uses the list.
struct alignas(16) TeamShared {
  uint64_t exchanged[2][kMaxExchanged][kMaxTeam];
  union {  // a list is made of what a histogram has left; sums are where there is no list
    Bin bins[kBins];
    uint64_t list[kListCapacity];
    struct {
      uint64_t tile_sums[kMaxTiles];        // kept weights of the block's tiles
      union {                               // while they are made
        uint64_t near_list[kNearCapacity];  // tokens near a cut
        uint32_t tile_ties[kMaxTiles];  // tokens of the cut's value in each of the block's tiles
      };
    } cut;
  };
  uint32_t list_count;
  uint32_t group_count;  // of those that hold what is to be listed, so far
  uint32_t best_score;   // of the block's Gumbel draw so far, as a key
  uint64_t found[4];
};

// What each block of the team gave to an exchange.
struct Exchanged {
  const uint64_t (*values)[kMaxTeam];
  int team_size;

  SAMPLER_DEVICE uint64_t of(int value, int rank) const { return values[value][rank]; }

  SAMPLER_DEVICE uint64_t sum_before(int value, int rank) const {
    uint64_t sum = 0;
    for (int i = 0; i < rank; ++i) sum += values[value][i];
    return sum;
  }

  SAMPLER_DEVICE uint64_t sum(int value) const { return sum_before(value, team_size); }

  SAMPLER_DEVICE uint64_t max(int value) const {
    uint64_t result = 0;
    for (int i = 0; i < team_size; ++i) {
      if (values[value][i] > result) result = values[value][i];
    }
    return result;
  }
};

template <class Context>
class Team {
 public:
  SAMPLER_DEVICE Team(Context &context, TeamShared &block_shared)
      : ctx(context), shared(block_shared) {}

  SAMPLER_DEVICE bool is_leader() const { return ctx.cluster_rank() == 0; }
  SAMPLER_DEVICE bool is_first_thread() const { return is_leader() && ctx.thread() == 0; }

  // Gives every block the values of every block; in a block, all threads have the same. A barrier
  // of the team. The result may be read until the next exchange but one.
  template <int kCount>
  SAMPLER_DEVICE Exchanged exchange(const uint64_t (&values)[kCount]) {
    static_assert(kCount <= kMaxExchanged);
    // A block that fills this half again has passed the barrier of the exchange in between, and so
    // has every reader of this half.
    uint64_t(*half)[kMaxTeam] = shared.exchanged[parity_];
    parity_ ^= 1;
    const int size = ctx.team_size();
    for (int i = ctx.thread(); i < kCount * size; i += Context::kThreads) {
      *ctx.peer(&half[i / size][ctx.cluster_rank()], i % size) = values[i / size];
    }
    ctx.team_sync();
    return {half, size};
  }

  // The value that the block `rank` has.
  SAMPLER_DEVICE uint64_t broadcast(uint64_t value, int rank) {
    const uint64_t values[] = {value};
    return exchange(values).of(0, rank);
  }

  // Sums of a value per thread, over the team.
  SAMPLER_DEVICE uint64_t sum(uint64_t value) {
    const uint64_t values[] = {ctx.block_sum(value)};
    return exchange(values).sum(0);
  }

  SAMPLER_DEVICE uint64_t max(uint64_t value) {
    const uint64_t values[] = {ctx.block_max(value)};
    return exchange(values).max(0);
  }

  Context &ctx;
  TeamShared &shared;
  uint32_t *bitmap = nullptr;  // of all ids, in device memory; where candidates do not fit the list

 private:
  int parity_ = 0;
};

// The team's threads, as walks of src/contract deal work to them.
template <class Context>
struct TeamWorkers {
  Context &ctx;
  int index, count;

  SAMPLER_DEVICE void wait() const { ctx.team_sync(); }
};

template <class Context>
SAMPLER_DEVICE TeamWorkers<Context> workers_of(Team<Context> &team) {
  return {team.ctx, team.ctx.cluster_rank() * Context::kThreads + team.ctx.thread(),
          team.ctx.team_size() * Context::kThreads};
}

}  // namespace sampler::kernels
