// Decisions for a row that is split among ranks, each of which holds a range of ids. Section 17 of
// docs/contract.md.
//
// Every rank decides alike, from all messages and from arguments that agree on all ranks.
#pragma once

#include <cstdint>

#include "contract/filters.h"
#include "contract/float_bits.h"
#include "contract/host_device.h"
#include "contract/rank.h"
#include "contract/weight.h"
#include "sampler/types.h"

namespace sampler::shards {

using namespace contract;

SAMPLER_HD inline int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

// ---- Statuses ----

// Combines the statuses of two parts of a row: the first error in the order of section 3, otherwise
// EMPTY only if both are empty.
SAMPLER_HD inline uint32_t status_of_parts(uint32_t a, uint32_t b) {
  constexpr uint32_t kErrors[] = {SAMPLER_ROW_INVALID_SHARD,     SAMPLER_ROW_INVALID_INDEX,
                                  SAMPLER_ROW_INVALID_SLOT,      SAMPLER_ROW_INVALID_PARAMETER,
                                  SAMPLER_ROW_INVALID_CANDIDATE, SAMPLER_ROW_INVALID_LIST,
                                  SAMPLER_ROW_INVALID_VALUE};
  for (const uint32_t error : kErrors) {
    if (a == error || b == error) return error;
  }
  return a == SAMPLER_ROW_EMPTY ? b : a;
}

// ---- Cuts ----

// Keeps all tokens whose key is above `key`, and the first `ties` tokens with this key.
struct SharedCut {
  static constexpr uint64_t kAllTies = UINT64_MAX;

  uint32_t key;
  uint64_t ties;
};

// A rank's share of `ties` kept ties. It holds `own`; the ranks before it hold `before`.
SAMPLER_HD inline uint64_t own_ties(uint64_t ties, uint64_t before, uint64_t own) {
  if (ties == SharedCut::kAllTies) return ties;
  const uint64_t left = ties > before ? ties - before : 0;
  return left < own ? left : own;
}

// The lowest key whose value weighs at least `least`, as that of key `first` does. Weights are
// monotone in keys.
SAMPLER_HD inline uint32_t lowest_key_of_weight(const RowScale &scale, uint32_t first,
                                                uint64_t least) {
  uint32_t low = key_of_rank(lowest_cut(scale.kind)), high = first;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (weight(scale, value_of_key(middle)) >= least) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// ---- The first tokens of a row ----

// The first place in [begin, end) whose rank is below `rank`, or `end`. Ranks descend.
template <class Ranks>
SAMPLER_HD inline int64_t first_below(const Ranks &ranks, int64_t begin, int64_t end, Rank rank) {
  while (begin < end) {
    const int64_t middle = begin + (end - begin) / 2;
    if (ranks[middle] < rank) {
      end = middle;
    } else {
      begin = middle + 1;
    }
  }
  return begin;
}

// Filters on the first `count` >= 1 tokens in rank order, of `num_tokens` in all. `Tokens` has
//
//   Rank operator[](i)
//   weight_of_first(scale, n)  weight of the first n tokens
//   find(scale, n, target)     first place < n whose running weight reaches a target > 0; n: none
//
// `num_ties` tokens of the row, listed or not, have the value of the last listed one;
// `total_weight` is the weight of all tokens at `scale`. A prefix is its length: exact up to the
// last tie, otherwise any greater number.
template <class Tokens>
class ListedPrefix {
 public:
  SAMPLER_HD ListedPrefix(const Tokens &tokens, int64_t count, uint64_t num_ties,
                          int64_t num_tokens, uint64_t total_weight, const RowScale &scale)
      : tokens_(tokens), num_tokens_(num_tokens), total_weight_(total_weight), scale_(scale) {
    const uint32_t key = key_of_rank(tokens[count - 1]);
    first_tie_ = first_below(tokens, 0, count - 1, rank_of_key(key + 1));
    known_ = first_tie_ + int64_t(num_ties);
    tie_weight_ = contract::weight(scale, value_of_key(key));
  }

  SAMPLER_HD int64_t everything() const { return num_tokens_; }
  SAMPLER_HD int64_t shorter(int64_t a, int64_t b) const { return smaller(a, b); }

  SAMPLER_HD int64_t top_k(int32_t k, sampler_tie_rule ties, int64_t seen) const {
    return with_ties(k < seen ? k : seen, ties, seen);
  }

  SAMPLER_HD int64_t top_p(Share share, sampler_tie_rule ties, int64_t seen) const {
    const uint64_t threshold =
        top_p_threshold(share, seen > known_ ? total_weight_ : weight_of_first(seen));
    const int64_t end = smaller(first_tie_, seen);
    const int64_t last = tokens_.find(scale_, end, threshold > 1 ? threshold : 1);
    if (last < end) return with_ties(last + 1, ties, seen);
    // Ties of weight 0 never reach a target.
    if (first_tie_ >= seen) return seen;
    const uint64_t sum = tokens_.weight_of_first(scale_, end);
    const uint64_t left = threshold > sum ? threshold - sum : 1;
    const uint64_t wanted = tie_weight_ ? (left + tie_weight_ - 1) / tie_weight_ : UINT64_MAX;
    const bool is_among_ties = wanted <= uint64_t(known_ - first_tie_);
    return is_among_ties ? with_ties(shorter(first_tie_ + int64_t(wanted), seen), ties, seen)
                         : seen;
  }

  SAMPLER_HD int64_t min_p(float p, int64_t seen) const {
    const uint64_t threshold = min_p_threshold(p, weight(0));
    int64_t begin = 1;
    const int64_t before_ties = smaller(first_tie_, seen);
    for (int64_t end = before_ties; begin < end;) {
      const int64_t middle = begin + (end - begin) / 2;
      if (weight(middle) < threshold) {
        end = middle;
      } else {
        begin = middle + 1;
      }
    }
    if (begin < before_ties) return begin;
    return first_tie_ == 0 || tie_weight_ >= threshold ? seen : shorter(first_tie_, seen);
  }

  // Weight of the first `length` tokens, up to the last tie.
  SAMPLER_HD uint64_t weight_of_first(int64_t length) const {
    const uint64_t sum = tokens_.weight_of_first(scale_, smaller(first_tie_, length));
    return length > first_tie_ ? sum + uint64_t(length - first_tie_) * tie_weight_ : sum;
  }

  // Place of the first token that ties with the last.
  SAMPLER_HD int64_t first_tie() const { return first_tie_; }

 private:
  SAMPLER_HD uint64_t weight(int64_t i) const {
    return contract::weight(scale_, value_of_rank(tokens_[i]));
  }

  SAMPLER_HD int64_t with_ties(int64_t length, sampler_tie_rule ties, int64_t seen) const {
    if (ties == SAMPLER_TIES_EXACT || length == seen) return length;
    if (length > first_tie_) return shorter(known_, seen);
    const Rank lowest_tie = cut_with_ties(tokens_[length - 1]);
    return shorter(first_below(tokens_, length, first_tie_, lowest_tie), seen);
  }

  const Tokens &tokens_;
  int64_t num_tokens_;
  uint64_t total_weight_;
  RowScale scale_;
  int64_t first_tie_;
  int64_t known_;
  uint64_t tie_weight_;
};

// ---- Top-p of a whole row, by the digits of its keys ----

constexpr int kNumDigits = 4;
constexpr int kDigitBits = 8;
constexpr int kNumDigitValues = 1 << kDigitBits;

// Radix search for the key at which a weight is reached.
struct DigitSearch {
  uint32_t key = 0;      // digits found so far
  uint64_t missing = 0;  // weight that larger keys lack to the target

  // Range of keys whose weights are summed for digit `digit`, and a key's value of that digit.
  SAMPLER_HD uint32_t lowest(int digit) const {
    return digit == 0 ? 0 : key << (32 - digit * kDigitBits);
  }
  SAMPLER_HD uint32_t highest(int digit) const {
    return lowest(digit) + (~uint32_t(0) >> (digit * kDigitBits));
  }
  SAMPLER_HD static int value(uint32_t token_key, int digit) {
    return int(token_key >> (32 - (digit + 1) * kDigitBits) & (kNumDigitValues - 1));
  }

  // Takes the next digit. `weights[v]`: weight of the tokens with digit v; their sum reaches
  // `missing`.
  template <class Weights>
  SAMPLER_HD int take(const Weights &weights) {
    int v = kNumDigitValues - 1;
    for (; v > 0 && weights[v] < missing; --v) missing -= weights[v];
    key = key << kDigitBits | uint32_t(v);
    return v;
  }
};

}  // namespace sampler::shards
