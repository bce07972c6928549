// When a drafter's token is the last of its round.
#pragma once

#include "decoding/session/arithmetic.h"

namespace sampler::decoding {

class Doubt {
 public:
  // 0: there is none.
  explicit Doubt(float least_probability)
      : least_logprob_(least_probability > 0 ? natural_log(double(least_probability))
                                             : -double(__builtin_inff())) {}

  // Of a token with this log-probability.
  bool is_about(float logprob) const { return double(logprob) < least_logprob_; }

 private:
  double least_logprob_;
};

}  // namespace sampler::decoding
