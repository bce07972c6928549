#include "plan.h"

#include <algorithm>

namespace sampler::kernels {

namespace {

// Room for two blocks and more on a multiprocessor, so that one loads while the other computes.
constexpr int64_t kWantedResidentBytes = 64 * 1024;

int team_size_for(const DeviceShape &device, const Extent &extent) {
  if (!device.has_clusters) return 1;
  int size = 1;
  while (size < kMaxTeam && row_bytes_per_block(extent, size) > kWantedResidentBytes) {
    size *= 2;
  }
  // Few rows leave multiprocessors idle: spread each over more, down to a tile for every warp.
  constexpr int kWarps = kBlockThreads / 32;
  while (size < kMaxTeam && extent.num_rows * size * 2 <= device.num_multiprocessors &&
         tiles_per_block(extent, 2 * size) >= kWarps) {
    size *= 2;
  }
  return size;
}

}  // namespace

Plan make_plan(const DeviceShape &device, const Extent &extent) {
  Plan plan;
  plan.team_size = team_size_for(device, extent);
  const int64_t limit =
      int64_t(device.shared_bytes_per_block - kReservedSharedBytes - sizeof(TeamShared));
  const int64_t row_bytes = row_bytes_per_block(extent, plan.team_size);
  const int64_t maxima_bytes = maxima_bytes_per_block(extent, plan.team_size);
  const int64_t ring = ring_bytes(kBlockThreads);
  int64_t bytes = row_bytes > ring && row_bytes <= limit ? row_bytes : ring;
  if (bytes + maxima_bytes <= limit) bytes += maxima_bytes;
  plan.row_cache_bytes = int(bytes);

  const int64_t by_shared_memory = int64_t(device.shared_bytes_per_multiprocessor /
                                           (plan.shared_bytes() + kReservedSharedBytes));
  const int64_t blocks = device.num_multiprocessors *
                         std::clamp<int64_t>(by_shared_memory, 1, kBlocksPerMultiprocessor);
  plan.num_teams =
      std::clamp<int64_t>(blocks / plan.team_size, 1, std::max<int64_t>(extent.num_rows, 1));
  if (needs_bitmaps(extent)) {
    plan.num_teams = std::min<int64_t>(plan.num_teams, device.num_multiprocessors);
  }
  return plan;
}

}  // namespace sampler::kernels
