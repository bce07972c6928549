// What a device has room for: what the driver says of every kernel when a handle is opened. Calls
// plan their launches by it and ask the driver nothing.
#pragma once

namespace sampler::kernels {

// Those with stages have kernels of their own, and so have verification beyond dense
// chains, and rows that lie on many ranks.
enum class Operation {
  kSample,
  kRows,
  kSelect,
  kChain,
  kResidual,
  kStagedSample,
  kStagedRows,
  kVerify,
  kShard,
  kNumOperations
};
constexpr int kNumOperations = int(Operation::kNumOperations);

// The kernels of spread rows follow those of the operations.
constexpr int kSpreadKernels = kNumOperations;
constexpr int kNumKernelShapes = kNumOperations + 1;

// Teams have 1, 2, 4, 8 or 16 blocks. Clusters of more than 8 are not portable: a device may have
// none.
constexpr int kNumTeamSizes = 5;

constexpr int index_of_team_size(int team_size) {
  int index = 0;
  while (1 << index < team_size) ++index;
  return index;
}

// An equal share of a multiprocessor's shared memory, and what runs at once with it.
struct Share {
  int dynamic_bytes = 0;                  // of a block at most
  int teams_at_once[kNumTeamSizes] = {};  // on the whole device; 0: such teams cannot run

  int teams_of(int team_size) const { return teams_at_once[index_of_team_size(team_size)]; }
};

// The kernels of one operation, or of rows that are spread.
struct KernelShape {
  static constexpr int kNumShares = 2;
  // The smaller first: of one of two blocks, then of one that has a multiprocessor for itself.
  Share shares[kNumShares];

  int most_dynamic_bytes() const { return shares[kNumShares - 1].dynamic_bytes; }
  // The smallest with room for so many bytes, which are no more than most_dynamic_bytes().
  const Share &share_of(long long dynamic_bytes) const {
    const Share *share = shares;
    while (share->dynamic_bytes < dynamic_bytes && share + 1 < shares + kNumShares) ++share;
    return *share;
  }
};

struct DeviceShape {
  int num_multiprocessors = 0;
  bool overlaps_launches = false;
  int stream_blocks = 0;  // of streamed rows, that run at once; 0: none do
  KernelShape kernels[kNumKernelShapes];
};

}  // namespace sampler::kernels
