// The capacity of a device, as the driver reports it for every kernel when a handle is opened.
// Calls plan their launches by it without the driver.
#pragma once

namespace sampler::kernels {

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
  kSpread,  // sampling from few long rows, in two launches
};

// Kernels by which launches are planned. Those of kPlain take rows as given, two blocks at once of
// a multiprocessor; those of kStaged do the other operations; those of kHeldSample draw from edited
// rows that are held.
enum class KernelSet { kPlain, kStaged, kHeldSample };
constexpr int kNumKernelSets = 3;

constexpr KernelSet kernels_of(Operation operation) {
  const bool is_plain = operation == Operation::kSample || operation == Operation::kRows ||
                        operation == Operation::kSelect || operation == Operation::kResidual;
  return is_plain ? KernelSet::kPlain : KernelSet::kStaged;
}

// Teams have 1, 2, 4, 8 or 16 blocks. Clusters of more than 8 are not portable: a device may have
// none.
constexpr int kNumTeamSizes = 5;

constexpr int index_of_team_size(int team_size) {
  int index = 0;
  while (1 << index < team_size) ++index;
  return index;
}

// An equal share of a multiprocessor's shared memory, and the teams that run at once with it.
struct Share {
  int dynamic_bytes = 0;                  // most dynamic bytes of a block
  int teams_at_once[kNumTeamSizes] = {};  // on the whole device; 0: such teams cannot run

  int teams_of(int team_size) const { return teams_at_once[index_of_team_size(team_size)]; }
};

// The kernels of a set, without clusters and with them.
struct KernelShape {
  static constexpr int kNumShares = 2;
  // Smaller first: of one of two blocks, then of a block alone on its multiprocessor.
  Share shares[kNumShares];

  int most_dynamic_bytes() const { return shares[kNumShares - 1].dynamic_bytes; }
  // The smallest with room for dynamic_bytes, at most most_dynamic_bytes().
  const Share &share_of(long long dynamic_bytes) const {
    const Share *share = shares;
    while (share->dynamic_bytes < dynamic_bytes && share + 1 < shares + kNumShares) ++share;
    return *share;
  }
};

struct DeviceShape {
  int num_multiprocessors = 0;
  bool overlaps_launches = false;
  int stream_blocks[6] = {};  // concurrent blocks of streamed rows, by StreamKind; 0: not streamed
  int edits_bytes = 0;        // most dynamic shared memory of a block that edits a streamed row
  int held_bytes = 0;         // most dynamic shared memory of a block of held rows
  int held_team = 0;          // most blocks of a team of those; 0: rows are not held
  KernelShape kernels[kNumKernelSets];

  KernelShape &of(KernelSet set) { return kernels[int(set)]; }
  const KernelShape &of(KernelSet set) const { return kernels[int(set)]; }
};

}  // namespace sampler::kernels
