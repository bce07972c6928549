// Repeats of at least two tokens, found from the places of a text that have its two newest tokens.
#pragma once

#include <algorithm>
#include <cstdint>

#include "contract/repeats.h"

namespace sampler::cpu {

// Calls f(k) for the k >= 1 for which text[k] and text[k + 1] equal the two newest tokens. The text
// has at least two.
template <class Id, class F>
void for_each_pair(const contract::NewestFirst<Id> &text, const F &f) {
  constexpr int32_t kAtOnce = 32;  // the usual ones have no pair
  const Id newest = text.end[-1], before = text.end[-2];
  const auto is_pair = [&](const Id *token) {
    return (token[0] == newest) & (token[-1] == before);  // no branch, for vectors
  };
  for (int32_t k = 1; k + 1 < text.length;) {
    const Id *const token = text.end - 1 - k;
    const int32_t num_left = std::min(kAtOnce, text.length - 1 - k);
    bool any = num_left < kAtOnce;
    if (!any) {
      for (int32_t i = 0; i < kAtOnce; ++i) any |= is_pair(token - i);
    }
    for (int32_t i = 0; any && i < num_left; ++i) {
      if (is_pair(token - i)) f(k + i);
    }
    k += num_left;
  }
}

// contract::visit_repeats() of the repeats of at least two tokens. Others are not in `memory`: of
// a box that has both tokens of a pair, the text's beginning has that pair, too.
template <class Id, class Visit>
void visit_long_repeats(const contract::NewestFirst<Id> &text, int32_t limit, int32_t *memory,
                        const Visit &visit) {
  const int32_t n = text.length;
  int32_t box_begin = 0, box_end = 0;
  for_each_pair(text, [&](int32_t k) {
    const int32_t inside = box_end - k;
    int32_t length = inside >= 2 ? std::min(memory[k - box_begin], inside) : 2;
    while (length < limit && length < n - k && text[k + length] == text[length]) ++length;
    if (length > inside) {
      box_begin = k;
      box_end = k + length;
    }
    if (k < limit) memory[k] = length;
    visit(text[k - 1], length);
  });
}

}  // namespace sampler::cpu
