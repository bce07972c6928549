// Typical-p's order of tokens, and the selection of its first ones.
#pragma once

#include <cstdint>

#include "contract/rank.h"
#include "contract/windows.h"
#include "cpu/places.h"
#include "cpu/simd/passes.h"

namespace sampler::cpu {

// The values whose keys lie in [low, high]; none where low > high.
struct KeyRange {
  uint32_t low;
  uint32_t high;

  bool is_empty() const { return low > high; }
  float least() const { return contract::value_of_key(low); }
  float most() const { return contract::value_of_key(high); }
};

// Levels stand for distances, by which tokens are ordered: integers in the same order. Level 0 is
// before all of them.
class NearestOrder {
 public:
  static constexpr uint32_t kLastLevel = contract::kInfinityBits + 1;

  // Of values whose keys lie in [low, high].
  NearestOrder(const contract::Typical &rule, uint32_t low, uint32_t high)
      : rule_(rule), low_(low), high_(high) {}

  const contract::Typical &rule() const { return rule_; }
  KeyRange all() const { return {low_, high_}; }
  uint32_t level(float x) const { return contract::bits_of(rule_.distance(x) + 0.0f) + 1; }

  // The values of at most this level; without any, `low` is still the first key that is near enough
  // from below. `inner` and `outer`: those of a lower level, and of a higher one.
  KeyRange within(uint32_t level, const KeyRange &inner, const KeyRange &outer) const;
  KeyRange within(uint32_t level) const { return within(level, none(), all()); }
  // The values that are likelier than the mean one.
  KeyRange likelier() const;

 private:
  KeyRange none() const { return {high_ + 1, low_ - 1}; }
  uint32_t key_near(float excess) const;

  const contract::Typical &rule_;
  uint32_t low_, high_;
};

// A list of values, and as much memory beside it. Each value stands for so many tokens.
struct NearestPart {
  float *values;
  float *spare;
  int64_t count;
  uint64_t times;
};

// Where the running measure of tokens reaches a target: among those of levels in (above, most].
// Those up to `above` measure `below`, and are so many of the first part.
struct NearestBand {
  uint32_t above = 0;
  uint32_t most = NearestOrder::kLastLevel;
  uint64_t below = 0;
  int64_t num_below = 0;
};

// The parts hold the values of the band's levels, and `below` does not reach the target. The band
// is made narrower, and the parts are left with its values. With a margin, only as long as the
// measures at both ends are so far from the target, or further; without, down to one level.
// `scaling` null: tokens measure 1. False: what the parts measure and `below` together do not reach
// it, either, and what the band and the parts are left with means nothing; that is not told with a
// margin.
bool select_nearest(const Passes &passes, Places *places, const NearestOrder &order,
                    const Scaling *scaling, uint64_t target, uint64_t margin, NearestBand *band,
                    NearestPart *parts, int num_parts);

}  // namespace sampler::cpu
