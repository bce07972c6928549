#include "launch/plan.h"

#include <algorithm>

namespace sampler::kernels {

namespace {

// Leaves room for at least two blocks per multiprocessor, so that one loads while another computes.
constexpr int64_t kWantedResidentBytes = 64 * 1024;
constexpr int kWarps = kBlockThreads / 32;

// Blocks of a cluster that every device with clusters can run.
constexpr int kPortableTeam = 8;

// Elements of small rows worth a team of their own: 4,096 per warp of one block.
constexpr int64_t kElementsOfTeam = 4096 * kWarps;

// Rounds of teams with several rows each, so that the device is partly idle for at most about an
// eighth of a launch.
constexpr int64_t kRounds = 8;

// For outputs that share rows: least outputs of a team where there are more teams than run at once,
// and most rounds of teams. Each team prepares the rows of its outputs again.
constexpr int64_t kLeastSharing = 8;
constexpr int64_t kMostSharingRounds = 4;

// Tiles of a spread row worth a multiprocessor: one per warp; two, if they are not even.
constexpr int64_t kLeastSlice = 2;
// A second launch does not pay for rows of fewer tiles, nor where every warp has one.
constexpr int64_t kLeastSpreadTiles = 4 * kWarps;
constexpr int64_t kLeastSpreadTilesOfBlock = 2 * kWarps;

// Most blocks of a grid.
constexpr int64_t kMaxGrid = INT32_MAX;

// Plans a launch for a device.
class Planner {
 public:
  Planner(const DeviceShape &device, const Extent &extent)
      : device_(device),
        kernel_(device.of(kernels_of(extent.operation))),
        spread_(device.of(kernels_of(Operation::kSpread))),
        extent_(extent) {}

  Plan plan() const {
    Plan plan;
    plan.team_size = team_size();
    const int64_t num_slices = slices(plan.team_size);
    if (num_slices > 1) {
      plan.spread = spread(num_slices, plan.team_size);
      plan.row_cache_bytes = spread_cache_bytes(plan.team_size);
      plan.num_teams = extent_.num_rows * num_slices;
      return plan;
    }
    plan.row_cache_bytes = row_cache_bytes(plan.team_size);
    plan.num_teams = std::clamp<int64_t>(num_teams(plan.team_size), 1, kMaxGrid / plan.team_size);
    return plan;
  }

 private:
  // Room for the block's part of a row, else for the rings that it streams through; and for its
  // group maxima, if they fit too.
  int row_cache_bytes(int team_size) const {
    const int64_t room = kernel_.most_dynamic_bytes() - int64_t(sizeof(TeamShared));
    const int64_t part = row_bytes_per_block(extent_, team_size);
    const int64_t maxima = maxima_bytes_per_block(extent_, team_size);
    const int64_t ring = ring_bytes(kBlockThreads);
    const int64_t bytes = part > ring && part <= room ? part : ring;
    return int(bytes + maxima <= room ? bytes + maxima : bytes);
  }

  // The same for spread rows, which stream.
  int spread_cache_bytes(int team_size) const {
    const int64_t room = spread_.most_dynamic_bytes() - int64_t(sizeof(TeamShared));
    const int64_t maxima = maxima_bytes_per_block(extent_, team_size);
    const int64_t ring = ring_bytes(kBlockThreads);
    return int(ring + maxima <= room ? ring + maxima : ring);
  }

  // Slices per row, one team each, so that each block has its own multiprocessor; 1: not cut.
  int64_t slices(int team_size) const {
    const int64_t tiles = tiles_of_row(extent_.num_cols);
    const bool is_worth_it = tiles >= kLeastSpreadTiles &&
                             tiles_per_block(extent_, team_size) >= kLeastSpreadTilesOfBlock;
    if (!can_be_spread(extent_) || !is_worth_it || extent_.num_rows < 1) return 1;
    const int64_t teams = spread_.shares[KernelShape::kNumShares - 1].teams_of(team_size);
    const int64_t at_once = std::min<int64_t>(teams, device_.num_multiprocessors / team_size);
    return std::min(at_once / extent_.num_rows, most_slices(tiles) / team_size);
  }

  // Most blocks with kLeastSlice tiles, some one short.
  static int64_t most_slices(int64_t tiles) { return (tiles - 1) / (kLeastSlice - 1); }

  Spread spread(int64_t num_slices, int team_size) const {
    const int64_t tiles = tiles_of_row(extent_.num_cols);
    Spread result;
    result.num_slices = int(num_slices);
    result.num_blocks = int(num_slices) * team_size;
    result.num_load_slices =
        int(std::min(device_.num_multiprocessors / extent_.num_rows, most_slices(tiles)));
    result.num_tiles = int(tiles);
    return result;
  }

  int64_t teams_at_once(int team_size) const {
    const int64_t bytes = int64_t(sizeof(TeamShared)) + row_cache_bytes(team_size);
    return kernel_.share_of(bytes).teams_of(team_size);
  }

  int team_size() const {
    int size = 1;
    for (int next = 2; next <= kMaxTeam; next *= 2) {
      const int64_t at_once = teams_at_once(next);
      // Not if such clusters, confined to parts of the device, leave too much of it unused.
      const bool has_large_parts = next <= kPortableTeam &&
                                   row_bytes_per_block(extent_, size) > kWantedResidentBytes &&
                                   next * at_once * 4 >= device_.num_multiprocessors * int64_t(3);
      // Few rows leave multiprocessors idle: spread each over more, down to one tile per warp.
      const bool is_spread = extent_.num_rows * next <= device_.num_multiprocessors &&
                             tiles_per_block(extent_, next) >= kWarps;
      if (has_large_parts || (is_spread && at_once >= extent_.num_rows)) {
        size = next;
      }
    }
    return size;
  }

  int64_t num_teams(int team_size) const {
    const int64_t rows = extent_.num_rows;
    const int64_t at_once = std::max<int64_t>(teams_at_once(team_size), 1);
    if (needs_bitmaps(extent_)) {
      return std::min({rows, at_once, int64_t(device_.num_multiprocessors)});
    }
    if (has_stages(extent_) || extent_.is_left) return std::min(rows, at_once);
    if (extent_.shares_rows) {
      const int64_t rounds =
          std::clamp<int64_t>(rows / (kLeastSharing * at_once), 1, kMostSharingRounds);
      return std::min(rows, rounds * at_once);
    }
    const int64_t rows_worth_a_team =
        std::max<int64_t>(kElementsOfTeam / std::max<int64_t>(extent_.num_cols, 1), 1);
    const int64_t rows_of_team =
        std::clamp<int64_t>(rows / (kRounds * at_once), 1, rows_worth_a_team);
    return (rows + rows_of_team - 1) / rows_of_team;
  }

  const DeviceShape &device_;
  const KernelShape &kernel_;
  const KernelShape &spread_;
  const Extent &extent_;
};

}  // namespace

void divide_shared_memory(const SharedMemory &memory, int static_bytes, KernelShape *out) {
  const int most = memory.per_block - static_bytes;
  for (int i = 0; i < KernelShape::kNumShares; ++i) {
    const int num_blocks = KernelShape::kNumShares - i;
    const int share =
        memory.per_multiprocessor / num_blocks - memory.reserved_per_block - static_bytes;
    out->shares[i].dynamic_bytes = std::min(share, most);
  }
}

Plan make_plan(const DeviceShape &device, const Extent &extent) {
  return Planner(device, extent).plan();
}

Plan loading_plan(const Plan &plan) {
  Plan loading = plan;
  loading.team_size = 1;
  loading.num_teams = plan.num_teams / plan.spread.num_slices * plan.spread.num_load_slices;
  loading.row_cache_bytes = ring_bytes(kBlockThreads);
  loading.spread.is_loading = true;
  return loading;
}

size_t largest_spread_bytes(const DeviceShape &device, int64_t max_rows, int64_t max_cols) {
  if (tiles_of_row(max_cols) < kLeastSpreadTiles) return 0;
  size_t most = 0;
  for (int64_t rows = 1; rows <= max_rows && 2 * rows <= device.num_multiprocessors; ++rows) {
    Spread spread;
    spread.num_load_slices = spread.num_blocks = int(device.num_multiprocessors / rows);
    spread.num_tiles = int(tiles_of_row(max_cols));
    most = std::max(most, size_t(rows) * spread.row_bytes());
  }
  return most;
}

}  // namespace sampler::kernels
