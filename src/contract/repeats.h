// Repeats in a history: DRY's repeats and their limit, repeated n-grams, bad words of several
// tokens.
//
// docs/contract.md, section 14.1. A text is any type with operator[]; text[0] is the newest token.
// Lengths are below 2^31.
//
// Each function bounds its steps for any text. Results are bans or maxima over positions, so a
// parallel version may visit the positions in any order. The Z-algorithm is sequential, from the
// newest token on; a parallel version finds each position's length on its own, with at most `limit`
// comparisons.
#pragma once

#include <cstdint>

#include "contract/host_device.h"

namespace sampler::contract {

constexpr int32_t kLongestBreaker = 20;

// The last `length` tokens before `end`, newest first.
template <class Id>
struct NewestFirst {
  const Id *end;
  int32_t length;

  SAMPLER_HD int64_t operator[](int32_t i) const { return int64_t(end[-1 - int64_t(i)]); }
};

// Lengths of all repeats of a text of n tokens: calls visit(token, length) for k = 1 ... n - 1 in
// this order. `length` is the length, at most `limit`, of the common suffix of the text and of the
// text without its k newest tokens; `token` is the token that followed there.
//
// `memory` has room for min(limit, n) uninitialised numbers. Fewer than 2 n comparisons of tokens:
// each is the last for its k, or advances the end of the box, which never moves back.
template <class Text, class Visit>
SAMPLER_HD inline void visit_repeats(const Text &text, int32_t n, int32_t limit, int32_t *memory,
                                     Visit visit) {
  // The Z-algorithm (Gusfield 1997). text[box_begin + i] == text[i] while box_begin + i < box_end.
  // No box is longer than the limit; a length capped at the limit still reaches the end of the box,
  // as the full length would.
  int32_t box_begin = 0, box_end = 0;
  for (int32_t k = 1; k < n; ++k) {
    const int32_t inside = box_end > k ? box_end - k : 0;
    int32_t length = 0;
    if (inside > 0) {
      const int32_t known = memory[k - box_begin];
      length = known < inside ? known : inside;
    }
    while (length < limit && length < n - k && text[k + length] == text[length]) ++length;
    if (length > inside) {
      box_begin = k;
      box_end = k + length;
    }
    if (k < limit) memory[k] = length;
    visit(text[k - 1], length);
  }
}

// Tokens that would complete an n-gram already in the text of `n` tokens: calls ban(token),
// possibly several times per token. `size` >= 1 is the length of the n-grams. `memory` has room for
// min(size - 1, n) numbers. Steps as in visit_repeats().
template <class Text, class Ban>
SAMPLER_HD inline void visit_ngram_bans(const Text &text, int32_t n, int32_t size, int32_t *memory,
                                        Ban ban) {
  if (size > n) return;
  const int32_t num_known = size - 1;
  visit_repeats(text, n, num_known, memory, [&](int64_t token, int32_t length) {
    if (length == num_known) ban(token);
  });
  if (size == 1) ban(text[n - 1]);  // visit_repeats() skips the oldest token
}

// Whether the text of `n` tokens ends in the first `count` tokens of a list. At most `count`
// comparisons.
template <class Text, class List>
SAMPLER_HD inline bool ends_in(const Text &text, int32_t n, const List &list, int32_t count) {
  if (count > n) return false;
  for (int32_t i = 0; i < count; ++i) {
    if (text[i] != int64_t(list[count - 1 - i])) return false;
  }
  return true;
}

// Whether it ends in all of a word but its last token, which is banned then.
template <class Text, class Word>
SAMPLER_HD inline bool bans_word_end(const Text &text, int32_t n, const Word &word,
                                     int32_t length) {
  return ends_in(text, n, word, length - 1);
}

// DRY's breakers: `count` distinct sequences of 1 to kLongestBreaker ids, in lexicographic order.
// Sequence b has ids [offsets[b], offsets[b + 1]).
template <class Offsets, class Ids>
struct Breakers {
  Offsets offsets;
  Ids ids;
  int32_t count;

  // The first of the breakers [begin, end) whose id at `depth` is >= `id`, or > `id` if `above`.
  // They share their first `depth` ids and are longer.
  SAMPLER_HD int32_t bound(int32_t begin, int32_t end, int32_t depth, int64_t id,
                           bool above) const {
    while (begin < end) {
      const int32_t middle = begin + (end - begin) / 2;
      const int64_t next = int64_t(ids[int64_t(offsets[middle]) + depth]);
      if (next < id || (above && next == id)) {
        begin = middle + 1;
      } else {
        end = middle;
      }
    }
    return begin;
  }

  // Length of the longest breaker that begins at text[i] and continues to newer tokens; 0: none.
  // Reads at most kLongestBreaker tokens, with two binary searches for each.
  template <class Text>
  SAMPLER_HD int32_t length_at(const Text &text, int32_t i) const {
    int32_t longest = 0, begin = 0, end = count;
    for (int32_t depth = 0; depth <= i && depth < kLongestBreaker && begin < end; ++depth) {
      const int64_t id = text[i - depth];
      begin = bound(begin, end, depth, id, false);
      end = bound(begin, end, depth, id, true);
      // A breaker precedes the breakers that it is a prefix of.
      while (begin < end && int64_t(offsets[begin + 1]) - int64_t(offsets[begin]) == depth + 1) {
        longest = depth + 1;
        ++begin;
      }
    }
    return longest;
  }

  // Whether a token alone is a breaker: DRY does not penalise it.
  SAMPLER_HD bool has_token(int64_t id) const {
    const int32_t first = bound(0, count, 0, id, false);
    if (first == count || int64_t(ids[int64_t(offsets[first])]) != id) return false;
    return int64_t(offsets[first + 1]) - int64_t(offsets[first]) == 1;
  }

  // Maximum length of DRY's repeats in a text of n tokens. Calls length_at() for each token up to
  // the first breaker.
  template <class Text>
  SAMPLER_HD int32_t repeat_limit(const Text &text, int32_t n) const {
    for (int32_t i = 0; i < n; ++i) {
      const int32_t length = length_at(text, i);
      if (length > 0) return i + 1 - length;
    }
    return n;
  }
};

}  // namespace sampler::contract
