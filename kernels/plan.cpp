#include "plan.h"

#include <algorithm>

namespace sampler::kernels {

namespace {

// Room for two blocks and more on a multiprocessor, so that one loads while the other computes.
constexpr int64_t kWantedResidentBytes = 64 * 1024;
constexpr int kWarps = kBlockThreads / 32;

// Blocks of a cluster that every device with clusters can run.
constexpr int kPortableTeam = 8;

// Elements of small rows that are worth a team of their own: 4,096 for each warp of one block.
constexpr int64_t kElementsOfTeam = 4096 * kWarps;

// Rounds in which the hardware deals out teams of several rows, so that at most about an eighth of
// a launch passes with some of the device idle.
constexpr int64_t kRounds = 8;

// Outputs that share rows: those of a team at least before there are more teams than run at once,
// and rounds at most. A row is prepared once for each team that has outputs of it.
constexpr int64_t kLeastSharing = 8;
constexpr int64_t kMostSharingRounds = 4;

// Blocks of a grid.
constexpr int64_t kMaxGrid = INT32_MAX;

// A launch's demands on one device.
class Planner {
 public:
  Planner(const DeviceShape &device, const Extent &extent)
      : device_(device), kernel_(device.kernels[int(extent.operation)]), extent_(extent) {}

  Plan plan() const {
    Plan plan;
    plan.team_size = team_size();
    plan.row_cache_bytes = row_cache_bytes(plan.team_size);
    plan.num_teams = std::clamp<int64_t>(num_teams(plan.team_size), 1, kMaxGrid / plan.team_size);
    return plan;
  }

 private:
  // All of the block's part of a row where there is room, or else the rings through which it
  // passes; and the part's group maxima, where there is room for them, too.
  int row_cache_bytes(int team_size) const {
    const int64_t room = kernel_.most_dynamic_bytes() - int64_t(sizeof(TeamShared));
    const int64_t part = row_bytes_per_block(extent_, team_size);
    const int64_t maxima = maxima_bytes_per_block(extent_, team_size);
    const int64_t ring = ring_bytes(kBlockThreads);
    const int64_t bytes = part > ring && part <= room ? part : ring;
    return int(bytes + maxima <= room ? bytes + maxima : bytes);
  }

  int64_t teams_at_once(int team_size) const {
    const int64_t bytes = int64_t(sizeof(TeamShared)) + row_cache_bytes(team_size);
    return kernel_.share_of(bytes).teams_of(team_size);
  }

  int team_size() const {
    int size = 1;
    for (int next = 2; next <= kMaxTeam; next *= 2) {
      const int64_t at_once = teams_at_once(next);
      // Not where such clusters, which run within parts of the device, leave too much of it out.
      const bool has_large_parts = next <= kPortableTeam &&
                                   row_bytes_per_block(extent_, size) > kWantedResidentBytes &&
                                   next * at_once * 4 >= device_.num_multiprocessors * int64_t(3);
      // Few rows leave multiprocessors idle: spread each over more, down to a tile for every warp.
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

}  // namespace sampler::kernels
