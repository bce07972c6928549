// The number of drafts of a round, from the entropy of the drafter's distribution.
#pragma once

#include <algorithm>
#include <cstdint>

#include "decoding/session/arithmetic.h"

namespace sampler::decoding {

class EntropyGamma {
 public:
  // Smoothed entropy of a text before its first round.
  static constexpr double kNone = -1;

  EntropyGamma(int64_t least, int64_t most, float beta)
      : least_(std::min(least, most)), most_(most), beta_(double(beta)) {}

  // In nats; 0 for a bad row, whose softmax is all zeros.
  static double entropy_of(const float *probabilities, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double p = double(probabilities[i]);
      if (p > 0) sum -= p * natural_log(p);
    }
    return sum;
  }

  // `smooth` is the text's smoothed entropy; it is updated.
  int64_t drafts(double entropy, int64_t num_cols, double *smooth) const {
    *smooth = *smooth == kNone ? entropy : beta_ * *smooth + (1 - beta_) * entropy;
    const double largest = natural_log(double(std::max<int64_t>(num_cols, 2)));
    return std::clamp(int64_t((1 - *smooth / largest) * double(most_)), least_, most_);
  }

 private:
  int64_t least_, most_;
  double beta_;
};

}  // namespace sampler::decoding
