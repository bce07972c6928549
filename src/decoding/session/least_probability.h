// The least probability of a drafted token; a less likely one is the last of its round.
#pragma once

#include "decoding/session/arithmetic.h"

namespace sampler::decoding {

class LeastProbability {
 public:
  // 0: no limit.
  explicit LeastProbability(float least_probability)
      : least_logprob_(least_probability > 0 ? natural_log(double(least_probability))
                                             : -double(__builtin_inff())) {}

  // Whether a token of this log-probability ends the round.
  bool excludes(float logprob) const { return double(logprob) < least_logprob_; }

 private:
  double least_logprob_;
};

}  // namespace sampler::decoding
