// The first tokens of a row in rank order, and a filter for the history's tokens among them.
#pragma once

#include <algorithm>
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

// Approximate set of ids. False positives share low bits with a member.
class IdFilter {
 public:
  static constexpr int64_t kMostWords = 1024;

  // Set for `count` ids. `words` has room for kMostWords.
  IdFilter(const Passes &passes, int64_t count, uint32_t *words) : passes_(passes) {
    // 16 words per id: about one other id in 512 is a false positive. Each costs a needless edit,
    // which is dearer than a larger set.
    int64_t num_words = 32;
    while (num_words < 16 * count && num_words < kMostWords) num_words *= 2;
    std::fill_n(words, num_words, 0);
    bits_.many = words;
    bits_.num_many = uint32_t(32 * num_words);
  }

  void add(const int32_t *ids, int64_t count) { passes_.mark_ids(ids, count, &bits_); }

  // Writes the ids that may be in the set to `out`, which has room for all; returns their number.
  int64_t pick(const int32_t *ids, int64_t count, int32_t *out) const {
    return passes_.pick_ids(ids, count, bits_, out);
  }

 private:
  const Passes &passes_;
  IdBits bits_ = {};
};

// Calls f(ids, count) for parts of [begin, end) as i32, at most kIdsAtOnce each. Ids that do not
// fit i32 become -1.
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
