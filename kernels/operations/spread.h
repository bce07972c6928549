// Few long rows: each is cut into slices, for teams on the whole device. The teams of a row
// communicate through the workspace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/host_device.h"
#include "machine/team.cuh"

namespace sampler::kernels {

constexpr int kSpreadAlignment = 128;  // a line of L2: separates what different launches write

// A block's result for its slice in the first launch.
struct SliceSummary {
  uint64_t first;               // rank of its first token
  uint32_t reached;             // key that at least the wanted number of tokens reach; 0: not known
  uint32_t lowest_upside_down;  // complement of the lowest value's key
  uint32_t has_bad_value;
};

// A block's sums in the second launch, over its part of a slice.
struct SliceSums {
  uint64_t raw_weight;  // at temperature 1
  uint64_t kept_count;  // of what the cut keeps
  uint64_t kept_weight;
  uint64_t best_rank;     // best Gumbel score, as a rank
  uint64_t best_value;    // value of that token
  uint64_t light_weight;  // weight of tokens in no bin
};

struct alignas(kSpreadAlignment) SpreadHead {
  uint32_t num_arrived;  // teams that have handed over
  alignas(kSpreadAlignment) uint32_t bin_counts[kBins];
  alignas(kSpreadAlignment) uint64_t bin_measures[kBins];
};

// Memory of a row.
struct SpreadRow {
  SpreadHead *head;
  SliceSummary *summaries;  // by block of the first launch
  SliceSums *sums;          // by block of the second launch
  uint64_t *tile_sums;      // kept weights by tile
  float *maxima;            // group maxima
};

// How rows are cut. The caller sets `memory`.
struct Spread {
  int num_slices = 0;       // teams per row in the second launch; 0: not spread
  int num_load_slices = 0;  // teams per row in the first launch
  int num_blocks = 0;       // per row, in the second launch
  int num_tiles = 0;        // most tiles of a row
  bool is_loading = false;  // this is the first launch
  char *memory = nullptr;   // row_bytes() per row, aligned

  SAMPLER_HD size_t row_bytes() const {
    return offset_of_maxima() + lines(num_tiles * kMaximaBytes);
  }

  SAMPLER_HD SpreadRow row(int64_t index) const {
    char *begin = memory + size_t(index) * row_bytes();
    return {reinterpret_cast<SpreadHead *>(begin),
            reinterpret_cast<SliceSummary *>(begin + sizeof(SpreadHead)),
            reinterpret_cast<SliceSums *>(begin + offset_of_sums()),
            reinterpret_cast<uint64_t *>(begin + offset_of_tile_sums()),
            reinterpret_cast<float *>(begin + offset_of_maxima())};
  }

 private:
  SAMPLER_HD static size_t lines(size_t bytes) {
    return (bytes + kSpreadAlignment - 1) / kSpreadAlignment * kSpreadAlignment;
  }
  SAMPLER_HD size_t offset_of_sums() const {
    return sizeof(SpreadHead) + lines(size_t(num_load_slices) * sizeof(SliceSummary));
  }
  SAMPLER_HD size_t offset_of_tile_sums() const {
    return offset_of_sums() + lines(size_t(num_blocks) * sizeof(SliceSums));
  }
  SAMPLER_HD size_t offset_of_maxima() const {
    return offset_of_tile_sums() + lines(size_t(num_tiles) * sizeof(uint64_t));
  }
};

}  // namespace sampler::kernels
