#include "plan.h"

#include <algorithm>

#include "row.cuh"

namespace sampler::kernels {

namespace {

// Room for two blocks and more on a multiprocessor, so that one loads while the other computes.
constexpr size_t kWantedResidentBytes = 64 * 1024;

int64_t tiles_of(int64_t num_cols) {
  return (num_cols + kVector - 1 + kTile - 1) / kTile;
}

int64_t elements_per_block(int64_t num_cols, int team_size) {
  return (tiles_of(num_cols) + team_size - 1) / team_size * kTile;
}

int team_size_for(const DeviceShape &device, int64_t num_rows, int64_t num_cols) {
  if (!device.has_clusters) return 1;
  int size = 1;
  while (size < kMaxTeam &&
         size_t(elements_per_block(num_cols, size)) * sizeof(float) > kWantedResidentBytes) {
    size *= 2;
  }
  // Few rows leave multiprocessors idle: spread each over more, down to a tile for every warp.
  constexpr int kWarps = kBlockThreads / 32;
  while (size < kMaxTeam && num_rows * size * 2 <= device.num_multiprocessors &&
         tiles_of(num_cols) >= int64_t(size) * 2 * kWarps) {
    size *= 2;
  }
  return size;
}

}  // namespace

Plan make_plan(const DeviceShape &device, const Extent &extent) {
  Plan plan;
  plan.team_size = team_size_for(device, extent.num_rows, extent.num_cols);
  const int64_t elements = elements_per_block(extent.num_cols, plan.team_size);
  plan.resident_elements = int(elements);
  const size_t limit = device.shared_bytes_per_block - kReservedSharedBytes;
  if (plan.shared_bytes() > limit) plan.resident_elements = 0;

  const int64_t by_shared_memory = int64_t(device.shared_bytes_per_multiprocessor /
                                           (plan.shared_bytes() + kReservedSharedBytes));
  const int64_t by_threads = device.threads_per_multiprocessor / kBlockThreads;
  const int64_t blocks =
      device.num_multiprocessors * std::max<int64_t>(1, std::min(by_shared_memory, by_threads));
  plan.num_teams =
      std::clamp<int64_t>(blocks / plan.team_size, 1, std::max<int64_t>(extent.num_rows, 1));
  if (needs_bitmaps(extent)) {
    plan.num_teams = std::min<int64_t>(plan.num_teams, device.num_multiprocessors);
  }
  return plan;
}

}  // namespace sampler::kernels
