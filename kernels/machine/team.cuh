// A team: the blocks of one cluster, which together work on one row.
#pragma once

#include <cstdint>

#include "contract/request.h"
#include "machine/device.cuh"

namespace sampler::kernels {

constexpr int kMaxTeam = 16;          // blocks of the largest cluster that any device runs
constexpr int kMaxExchanged = 5;      // values of one exchange
constexpr int kListCapacity = 2048;   // tokens of a list
constexpr int kNearCapacity = 1016;   // tokens listed near a cut
constexpr int kBinBits = 11;          // bits of a key resolved by one histogram
constexpr int kBins = 1 << kBinBits;  // bins of a histogram
constexpr int kGroup = 16;            // elements per lane and tile
constexpr int kRun = 8;               // elements of a group held in registers at a time
constexpr int kTile = 32 * kGroup;    // elements that a warp processes at a time
constexpr int kMaximaBytes = 32 * int(sizeof(float));  // bytes of a tile's group maxima
constexpr int kMaxLead = 7;  // most elements of a row's first tile before the row
constexpr int kMaxTiles = int(contract::kMaxVocabulary / kTile) + 1;

// A bin of a histogram.
struct Bin {
  TwoWords measure;
  uint32_t count;
};

// The fixed part of a block's shared memory, before the resident part of the row. All blocks have
// all of it, at the same address, though only the leader, rank 0, uses the list.
struct alignas(16) TeamShared {
  uint64_t exchanged[2][kMaxExchanged][kMaxTeam];
  union {  // a list follows its histograms; tile sums exclude a list
    Bin bins[kBins];
    uint64_t list[kListCapacity];
    struct {
      uint64_t tile_sums[kMaxTiles];        // kept weights of the block's tiles
      union {                               // while they are computed
        uint64_t near_list[kNearCapacity];  // tokens near a cut
        uint32_t tile_ties[kMaxTiles];      // tokens of the cut's value per tile of the block
      };
    } cut;
  };
  uint32_t list_count;
  uint32_t group_count;  // groups with tokens to list, so far
  uint32_t best_score;   // key of the best Gumbel score of the block, so far
  uint64_t found[4];
};

// The values that the team's blocks gave to an exchange.
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

  // Gives every block all blocks' values, which must be the same in all threads of a block. A
  // barrier of the team. The result is valid until the second exchange after it.
  template <int kCount>
  SAMPLER_DEVICE Exchanged exchange(const uint64_t (&values)[kCount]) {
    static_assert(kCount <= kMaxExchanged);
    // A block that reuses this half has passed the exchange in between, and so has every reader of
    // this half.
    uint64_t(*half)[kMaxTeam] = shared.exchanged[parity_];
    parity_ ^= 1;
    const int size = ctx.team_size();
    for (int i = ctx.thread(); i < kCount * size; i += Context::kThreads) {
      *ctx.peer(&half[i / size][ctx.cluster_rank()], i % size) = values[i / size];
    }
    ctx.team_sync();
    return {half, size};
  }

  // The value of block `rank`.
  SAMPLER_DEVICE uint64_t broadcast(uint64_t value, int rank) {
    const uint64_t values[] = {value};
    return exchange(values).of(0, rank);
  }

  // Sums over the team of one value per thread.
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
  uint32_t *bitmap = nullptr;  // of all ids, in device memory; for candidates that exceed the list

 private:
  int parity_ = 0;
};

// The team's threads, for loops of src/contract.
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
