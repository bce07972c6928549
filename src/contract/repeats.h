// What a history repeats: DRY's repeats and their limit, n-grams that would come a second time,
// words of several tokens.
//
// docs/contract.md, section 14.1. Texts are read from their newest token: text[0] is the newest.
// Any type with such an operator will do. Lengths are below 2^31.
//
// The steps are bounded whatever the text is: see each function. Whatever is found is a ban or a
// maximum over places, so a parallel version may look at the places in any order, and cut them up
// as it likes. The Z-algorithm itself goes from the newest token on; a version of many threads
// finds the length of each place by itself, in at most `limit` comparisons a place.
#pragma once

#include <cstdint>

#include "contract/host_device.h"

namespace sampler::contract {

constexpr int32_t kLongestBreaker = 20;

// The last `length` tokens before `end`, the newest first.
template <class Id>
struct NewestFirst {
  const Id *end;
  int32_t length;

  SAMPLER_HD int64_t operator[](int32_t i) const { return int64_t(end[-1 - int64_t(i)]); }
};

// The lengths of all repeats of a text of n tokens: calls visit(token, length) for k = 1 ... n - 1
// in this order, where `length`, at most `limit`, is the number of tokens in which the text and the
// text without its k newest tokens end alike, and `token` is the one that followed there.
//
// `memory` has room for min(limit, n) numbers, which need no value. Fewer than 2 n comparisons of
// tokens: each is the last for its k, or moves the end of the box, which never comes back.
template <class Text, class Visit>
SAMPLER_HD inline void visit_repeats(const Text &text, int32_t n, int32_t limit, int32_t *memory,
                                     Visit visit) {
  // The Z-algorithm (Gusfield 1997). text[box_begin + i] == text[i] as long as box_begin + i is
  // below box_end. No box is longer than the limit: a length that was cut at it reaches to the end
  // of what is left of the box, as the whole length would.
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

// The tokens that would complete an n-gram of the text of `n` tokens: calls ban(token), of some
// tokens several times. `size` >= 1 is n of the n-grams. `memory` has room for min(size - 1, n)
// numbers. Steps as visit_repeats().
template <class Text, class Ban>
SAMPLER_HD inline void visit_ngram_bans(const Text &text, int32_t n, int32_t size, int32_t *memory,
                                        Ban ban) {
  if (size > n) return;
  const int32_t num_known = size - 1;
  visit_repeats(text, n, num_known, memory, [&](int64_t token, int32_t length) {
    if (length == num_known) ban(token);
  });
  if (size == 1) ban(text[n - 1]);  // the oldest token has none before it
}

// Whether the text of `n` tokens ends in all but the last of a word's `length` >= 1 tokens, which
// bans the last one. At most length - 1 comparisons.
template <class Text, class Word>
SAMPLER_HD inline bool bans_word_end(const Text &text, int32_t n, const Word &word,
                                     int32_t length) {
  if (length - 1 > n) return false;
  for (int32_t i = 0; i < length - 1; ++i) {
    if (text[i] != int64_t(word[length - 2 - i])) return false;
  }
  return true;
}

// DRY's breakers: `count` distinct sequences, in lexicographic order, of 1 to kLongestBreaker ids.
// Sequence b has the ids from offsets[b] on to offsets[b + 1].
template <class Offsets, class Ids>
struct Breakers {
  Offsets offsets;
  Ids ids;
  int32_t count;

  // Of the breakers [begin, end), which agree in their first `depth` ids and are longer, the first
  // whose next id is above `id`, or not below it.
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

  // The length of the longest breaker that begins at text[i] and goes on to newer tokens, 0 where
  // none does. At most kLongestBreaker tokens are read, and for each the ids of two binary
  // searches.
  template <class Text>
  SAMPLER_HD int32_t length_at(const Text &text, int32_t i) const {
    int32_t longest = 0, begin = 0, end = count;
    for (int32_t depth = 0; depth <= i && depth < kLongestBreaker && begin < end; ++depth) {
      const int64_t id = text[i - depth];
      begin = bound(begin, end, depth, id, false);
      end = bound(begin, end, depth, id, true);
      // A sequence comes before those that it begins; they agree with it so far.
      while (begin < end && int64_t(offsets[begin + 1]) - int64_t(offsets[begin]) == depth + 1) {
        longest = depth + 1;
        ++begin;
      }
    }
    return longest;
  }

  // Whether a token is a breaker by itself: DRY leaves it as it is.
  SAMPLER_HD bool has_token(int64_t id) const {
    const int32_t first = bound(0, count, 0, id, false);
    if (first == count || int64_t(ids[int64_t(offsets[first])]) != id) return false;
    return int64_t(offsets[first + 1]) - int64_t(offsets[first]) == 1;
  }

  // How long DRY's repeats are at most in a text of n tokens. length_at() of each token up to the
  // first at which a breaker begins.
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
