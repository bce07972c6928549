// Unmasking on the host.
#pragma once

#include <algorithm>
#include <cstdint>

#include "contract/unmask.h"

namespace sampler::cpu {

// One worker.
class UnmaskWorker {
 public:
  static constexpr int64_t index = 0, count = 1;

  uint64_t sum(uint64_t value) const { return value; }
  void clear() { std::fill(bins_, bins_ + kBins, 0); }
  void add(int bin, uint64_t measure) { bins_[bin] += measure; }
  bool find(uint64_t budget, int *bin, uint64_t *before) const {
    uint64_t sum = 0;
    for (int i = kBins - 1; i >= 0; --i) {
      if (sum + bins_[i] > budget) {
        *bin = i;
        *before = sum;
        return true;
      }
      sum += bins_[i];
    }
    return false;
  }

 private:
  static constexpr int kBins = 256;
  uint64_t bins_[kBins];
};

inline void unmask(const contract::UnmaskRequest &request) {
  UnmaskWorker worker;
  const bool is_good = contract::are_blocks_good(request, worker);
  for (int64_t block = 0; block < request.num_blocks; ++block) {
    if (is_good) {
      contract::unmask_block(request, block, worker);
    } else {
      contract::write_unmasked(request, block, SAMPLER_ROW_INVALID_INDEX);
    }
  }
}

}  // namespace sampler::cpu
