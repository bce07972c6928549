// Few long rows: each is cut into slices, which teams on all of the device take. What the teams of
// a row leave for each other stands in the workspace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/host_device.h"
#include "team.cuh"

namespace sampler::kernels {

constexpr int kSpreadAlignment = 128;  // a line of L2: what different launches write is apart

// What a block of the first launch finds in its slice.
struct SliceSummary {
  uint64_t first;               // rank of its first token
  uint32_t reached;             // key that so many of its tokens reach as were wanted; 0: not known
  uint32_t lowest_upside_down;  // key of its lowest value
  uint32_t has_bad_value;
};

// What a block of the second launch finds in its part of a slice, of what the row needs.
struct SliceSums {
  uint64_t raw_weight;  // at temperature 1
  uint64_t kept_count;  // of what the cut keeps
  uint64_t kept_weight;
  uint64_t best_rank;     // of Gumbel's scores
  uint64_t best_value;    // the value of the token with it
  uint64_t light_weight;  // of tokens in no bin
};

struct alignas(kSpreadAlignment) SpreadHead {
  uint32_t num_arrived;  // teams that have handed over their sums
  alignas(kSpreadAlignment) uint32_t bin_counts[kBins];
  alignas(kSpreadAlignment) uint64_t bin_measures[kBins];
};

// A row's memory.
struct SpreadRow {
  SpreadHead *head;
  SliceSummary *summaries;  // of the blocks of the first launch
  SliceSums *sums;          // of those of the second
  uint64_t *tile_sums;      // kept weights
  float *maxima;            // of groups
};

// How rows are cut. `memory` is the caller's to set.
struct Spread {
  int num_slices = 0;       // teams of a row in the second launch; 0: rows are not spread
  int num_load_slices = 0;  // teams of a row in the first
  int num_blocks = 0;       // of a row in the second
  int num_tiles = 0;        // of a row, at most
  bool is_loading = false;  // the launch is the first
  char *memory = nullptr;   // row_bytes() a row, aligned

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
