// The first tokens of a row in rank order, and the texts' tokens that are among them.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cpu/simd/passes.h"

namespace sampler::cpu {

// All tokens of a row from some rank up.
struct Front {
  const Passes *passes = nullptr;
  const int32_t *ids = nullptr;
  int64_t count = 0;
};

// A set of ids, of which few others are taken for ones of it: those whose lowest 15 bits are one's.
class IdFilter {
 public:
  static constexpr int64_t kWords = kManyIdBits / 32;

  // `words` has room for kWords.
  explicit IdFilter(uint32_t *words) : words_(words) {
    for (int64_t i = 0; i < kWords; ++i) words_[i] = 0;
  }

  void add(int64_t id) {
    const uint32_t bit = uint32_t(1) << (id % 32);
    words_[id / 32 % kWords] |= bit;
    few_[id / 32 % kFewWords] |= bit;
    shifted_[id >> kIdShift >> 5 & (kFewWords - 1)] |= uint32_t(1) << (id >> kIdShift & 31);
  }

  // Those of the ids that may be in the set, in `out`, which has room for all.
  int64_t pick(const Passes &passes, const int32_t *ids, int64_t count, int32_t *out) const {
    return passes.pick_ids(ids, count, {few_, shifted_, words_}, out);
  }

 private:
  static constexpr int64_t kFewWords = kFewIdBits / 32;

  uint32_t *words_;
  uint32_t few_[kFewWords] = {}, shifted_[kFewWords] = {};
};

// f(ids, count) for parts of the ids from `begin` to `end`, as i32: at most kIdsAtOnce. -1 stands
// for what is no i32.
constexpr int64_t kIdsAtOnce = 1024;

template <class Id, class F>
void for_each_part(const Id *begin, const Id *end, const F &f) {
  for (; begin < end; begin += kIdsAtOnce) {
    const int64_t left = end - begin, count = left < kIdsAtOnce ? left : kIdsAtOnce;
    if constexpr (std::is_same_v<Id, int32_t>) {
      f(begin, count);
    } else {
      int32_t narrow[kIdsAtOnce];
      for (int64_t i = 0; i < count; ++i) {
        narrow[i] = begin[i] == int32_t(begin[i]) ? int32_t(begin[i]) : -1;
      }
      f(narrow, count);
    }
  }
}

}  // namespace sampler::cpu
