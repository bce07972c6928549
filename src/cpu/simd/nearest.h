// Typical-p's order of tokens, and selection of the first tokens in it.
#pragma once

#include <cstdint>

#include "contract/rank.h"
#include "contract/windows.h"
#include "cpu/places.h"
#include "cpu/simd/passes.h"

namespace sampler::cpu {

// Values with keys in [low, high]; empty if low > high.
struct NearRange {
  uint32_t low;
  uint32_t high;

  bool is_empty() const { return low > high; }
  float least() const { return contract::value_of_key(low); }
  float most() const { return contract::value_of_key(high); }
};

// Orders tokens by their distance from the mean. Levels are integers in the order of distances,
// from 1; level 0 precedes all.
class NearestOrder {
 public:
  static constexpr uint32_t kLastLevel = contract::kInfinityBits + 1;

  // Covers values with keys in [low, high].
  NearestOrder(const contract::Typical &rule, uint32_t low, uint32_t high)
      : rule_(rule), low_(low), high_(high) {}

  const contract::Typical &rule() const { return rule_; }
  NearRange all() const { return {low_, high_}; }
  uint32_t level(float x) const { return contract::bits_of(rule_.distance(x) + 0.0f) + 1; }

  // Values of at most this level. If the range is empty, `low` is still the first key that is near
  // enough from below. `inner` and `outer`: ranges of a lower and of a higher level.
  NearRange within(uint32_t level, const NearRange &inner, const NearRange &outer) const;
  NearRange within(uint32_t level) const { return within(level, none(), all()); }
  // Values likelier than the mean.
  NearRange likelier() const;

 private:
  NearRange none() const { return {high_ + 1, low_ - 1}; }
  uint32_t key_near(float excess) const;

  const contract::Typical &rule_;
  uint32_t low_, high_;
};

// A list of values, with scratch memory of the same size. Each value represents `times` tokens.
struct NearestPart {
  float *values;
  float *spare;
  int64_t count;
  uint64_t times;
};

// The running measure reaches the target at a level in (above, most]. Tokens up to level `above`
// measure `below`; the first part had num_below of them.
struct NearestBand {
  uint32_t above = 0;
  uint32_t most = NearestOrder::kLastLevel;
  uint64_t below = 0;
  int64_t num_below = 0;
};

// Narrows the band, and the parts to its values. On entry the parts hold the values of the band's
// levels, and `below` does not reach the target. With a margin > 0, stops before the measures at
// the band's ends come closer to the target than the margin; with 0, narrows to one level.
// `scaling` null: each token measures 1. False if `below` and the parts together do not reach the
// target; band and parts are then undefined. With a margin this is not always detected.
bool select_nearest(const Passes &passes, Places *places, const NearestOrder &order,
                    const Scaling *scaling, uint64_t target, uint64_t margin, NearestBand *band,
                    NearestPart *parts, int num_parts);

}  // namespace sampler::cpu
