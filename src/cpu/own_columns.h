// One rank's columns of a split row: sums over the tokens that a cut keeps, by row passes if the
// machine has them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "contract/elements.h"
#include "contract/entropy.h"
#include "contract/log2.h"
#include "contract/philox.h"
#include "contract/rank.h"
#include "contract/row_view.h"
#include "contract/weight.h"
#include "cpu/simd/row.h"
#include "shards/filters.h"

namespace sampler::cpu {

class OwnColumns {
 public:
  using Rank = contract::Rank;
  using RowScale = contract::RowScale;

  // `passes` null: scalar code. `ids` are the columns' ids, from `first_id` on.
  OwnColumns(const Passes *passes, const RowView &view, int64_t first_id, const int32_t *ids)
      : passes_(view.count > 0 ? passes : nullptr), view_(view), first_id_(first_id), ids_(ids) {}

  Rank rank_of(int64_t index, float x) const {
    return contract::rank_of(x, uint32_t(first_id_ + index));
  }

  // Calls f(index, value) for all columns.
  template <class F>
  void for_each(const F &f) const {
    for_each(0, view_.count, f);
  }

  // Copies the values of [begin, end) as f32.
  void copy(int64_t begin, int64_t end, float *out) const {
    if (passes_) {
      const RowView part = part_of(view_, begin, end - begin);
      passes_->write_values(part, 0, part.count, -kInfinity, out, SAMPLER_F32);
    } else {
      for_each(begin, end, [&](int64_t i, float x) { out[i - begin] = x; });
    }
  }

  // The first rank.
  Rank first() const {
    if (passes_) {
      const float largest =
          passes_->find_range(view_, 0, view_.count, -kInfinity, kInfinity).largest;
      return rank_of(passes_->find_nth(view_, largest, 1), largest);
    }
    Rank first = 0;
    for_each([&](int64_t i, float x) { first = std::max(first, rank_of(i, x)); });
    return first;
  }

  int64_t count(Rank cut) const {
    int64_t sum = 0;
    for_each_range(cut, [&](int64_t begin, int64_t end, float at_least) {
      if (passes_) {
        sum += passes_->count(view_, begin, end, at_least);
      } else {
        for_each(begin, end, [&](int64_t, float x) { sum += x >= at_least ? 1 : 0; });
      }
    });
    return sum;
  }

  // Number of tokens with this key.
  int64_t count_ties(uint32_t key) const {
    return count(contract::rank_of_key(key)) - count(contract::rank_of_key(key) + (Rank(1) << 32));
  }

  // The cut that keeps the first `ties` tokens with this key, and all larger values.
  Rank cut_after_ties(uint32_t key, uint64_t ties) const {
    const Rank none = contract::rank_of_key(key) + (Rank(1) << 32);
    if (ties == 0) return none;
    const float value = contract::value_of_key(key);
    int64_t found = -1;
    if (passes_) {
      found = passes_->find_nth(view_, value, int64_t(std::min<uint64_t>(ties, INT32_MAX)));
    } else {
      uint64_t left = ties;
      for_each([&](int64_t i, float x) {
        if (left > 0 && contract::value_key(x) == key && --left == 0) found = i;
      });
    }
    return found < 0 ? contract::rank_of_key(key) : rank_of(found, value);
  }

  uint64_t weight(const RowScale &scale, Rank cut) const {
    return weight(scale, cut, 0, view_.count);
  }

  contract::EntropySums entropy_sums(const RowScale &scale, Rank cut) const {
    contract::EntropySums sums;
    for_each_range(cut, [&](int64_t begin, int64_t end, float at_least) {
      if (passes_) {
        sums.add(passes_->sum_entropy(view_, scale, begin, end, at_least));
      } else {
        for_each(begin, end, [&](int64_t, float x) {
          if (x >= at_least) sums.add(contract::entropy_sums(scale, x));
        });
      }
    });
    return sums;
  }

  // The first column at which the running sum of kept weights exceeds the target; -1: none.
  int64_t find(const RowScale &scale, Rank cut, uint64_t target) const {
    for (int64_t begin = 0; begin < view_.count; begin += kWeightBlock) {
      const int64_t end = std::min<int64_t>(begin + kWeightBlock, view_.count);
      const uint64_t block = weight(scale, cut, begin, end);
      if (target >= block) {
        target -= block;
        continue;
      }
      int64_t found = -1;
      uint64_t sum = 0;
      for_each(begin, end, [&](int64_t i, float x) {
        if (found >= 0 || rank_of(i, x) < cut) return;
        sum += contract::weight(scale, x);
        if (sum > target) found = i;
      });
      return found;
    }
    return -1;
  }

  // The largest Gumbel score, the first among equals; index -1 if no token is kept.
  GumbelBest gumbel(const RowScale &scale, const contract::GumbelStream &random, Rank cut) const {
    GumbelBest best = {0.0f, -1};
    for_each_range(cut, [&](int64_t begin, int64_t end, float at_least) {
      const GumbelBest part = passes_ ? gumbel_by_passes(scale, random, begin, end, at_least)
                                      : gumbel_by_element(scale, random, begin, end, at_least);
      if (part.index >= 0 && (best.index < 0 || part.score > best.score)) best = part;
    });
    return best;
  }

  // Adds the weights of tokens with keys in [low, high] to `sums`, by digit.
  void add_digit(const RowScale &scale, uint32_t low, uint32_t high, int digit,
                 uint64_t *sums) const {
    if (low > high) return;
    DigitSums all = {};
    for (int64_t begin = 0; begin < view_.count; begin += kWeightBlock) {
      const int64_t end = std::min<int64_t>(begin + kWeightBlock, view_.count);
      uint16_t places[kWeightBlock];
      const int64_t count = end - begin;
      const int64_t num_in = find_places(begin, end, low, high, digit, places);
      if (num_in == 0) continue;
      float relative[kWeightBlock];
      write_relative(scale, begin, end, relative);
      all.add(relative, places, num_in < count / 8 ? take_few(count, relative, places) : count);
    }
    all.add_to(sums);
  }

 private:
  template <class F>
  void for_each(int64_t begin, int64_t end, const F &f) const {
    if (view_.dtype == SAMPLER_F32) {
      const auto *const values = static_cast<const float *>(view_.values);
      for (int64_t i = begin; i < end; ++i) f(i, values[i]);
    } else {
      for (int64_t i = begin; i < end; ++i) f(i, view_.value(i));
    }
  }

  // Sums by digit. Neighbouring tokens add to separate copies, since they often share a digit.
  struct DigitSums {
    static constexpr int kNumWays = 4;
    static constexpr int kElsewhere = shards::kNumDigitValues;

    uint64_t ways[kNumWays][shards::kNumDigitValues + 1];

    void add(const float *relative, const uint16_t *places, int64_t count) {
      uint64_t weights[kWeightBlock];
      for (int64_t i = 0; i < count; ++i) weights[i] = weight_of(relative[i]);
      for (int64_t i = 0; i < count; ++i) ways[i % kNumWays][places[i]] += weights[i];
    }
    // contract::weight_of() with unsigned integers, which all vector units can widen.
    static uint64_t weight_of(float relative) {
      constexpr float kHigh = contract::kHighLimb, kLow = contract::kLowLimb;
      const float high = relative + kHigh, low = (relative - (high - kHigh)) + kLow;
      const auto limbs = [](float of_high, float of_low) {
        return (uint64_t(contract::bits_of(of_high)) << contract::kLowLimbBits) +
               contract::bits_of(of_low);
      };
      return limbs(high, low) - limbs(kHigh, kLow);
    }

    void add_to(uint64_t *sums) const {
      for (const auto &way : ways) {
        for (int i = 0; i < shards::kNumDigitValues; ++i) sums[i] += way[i];
      }
    }
  };

  // Writes the digit of each key in the range, kElsewhere for others; returns the number in range.
  int64_t find_places(int64_t begin, int64_t end, uint32_t low, uint32_t high, int digit,
                      uint16_t *places) const {
    const int shift = 32 - (digit + 1) * shards::kDigitBits;
    int32_t count = 0;
    for_each(begin, end, [&](int64_t i, float x) {
      const uint32_t key = contract::value_key(x);
      const bool is_in = key - low <= high - low;
      const uint32_t value = key >> shift & uint32_t(shards::kNumDigitValues - 1);
      places[i - begin] = uint16_t(is_in ? value : uint32_t(DigitSums::kElsewhere));
      count += is_in;
    });
    return count;
  }

  // Moves the entries other than kElsewhere to the front; returns their number.
  static int64_t take_few(int64_t count, float *relative, uint16_t *places) {
    int64_t taken = 0;
    for (int64_t i = 0; i < count; ++i) {
      const uint16_t place = places[i];
      relative[taken] = relative[i];
      places[taken] = place;
      taken += place != DigitSums::kElsewhere;
    }
    return taken;
  }

  // Writes relative probabilities.
  void write_relative(const RowScale &scale, int64_t begin, int64_t end, float *out) const {
    if (passes_) {
      const RowView part = part_of(view_, begin, end - begin);
      passes_->write_probabilities(part, {scale}, 1.0f, 0, part.count, -kInfinity, out,
                                   SAMPLER_F32);
    } else {
      for_each(begin, end, [&](int64_t i, float x) {
        out[i - begin] = contract::relative_probability(scale, x);
      });
    }
  }

  // Calls f(begin, end, at_least) for the two ranges of a cut: values >= its value up to its id,
  // and larger values after it.
  template <class F>
  void for_each_range(Rank cut, const F &f) const {
    for_each_range(cut, 0, view_.count, f);
  }
  template <class F>
  void for_each_range(Rank cut, int64_t begin, int64_t end, const F &f) const {
    const float value = contract::value_of_rank(cut);
    const int64_t after = int64_t(contract::id_of_rank(cut)) + 1 - first_id_;
    const int64_t split = std::clamp(after, begin, end);
    if (begin < split) f(begin, split, value);
    if (split < end) f(split, end, contract::next_value(value));
  }

  uint64_t weight(const RowScale &scale, Rank cut, int64_t first, int64_t last) const {
    uint64_t sum = 0;
    for_each_range(cut, first, last, [&](int64_t begin, int64_t end, float at_least) {
      if (passes_) {
        sum += passes_->weigh(view_, {scale}, begin, end, at_least, nullptr);
      } else {
        for_each(begin, end, [&](int64_t, float x) {
          if (x >= at_least) sum += contract::weight(scale, x);
        });
      }
    });
    return sum;
  }

  GumbelBest gumbel_by_passes(const RowScale &scale, const contract::GumbelStream &random,
                              int64_t begin, int64_t end, float at_least) const {
    RowView list = view_;
    list.ids = ids_;
    list.id_type = SAMPLER_ID_I32;
    return passes_->gumbel(list, scale, random, begin, end, at_least);
  }

  // Four ids share a block of random words.
  GumbelBest gumbel_by_element(const RowScale &scale, const contract::GumbelStream &random,
                               int64_t begin, int64_t end, float at_least) const {
    GumbelBest best = {0.0f, -1};
    contract::Philox4 block = {};
    uint32_t block_index = UINT32_MAX;
    for_each(begin, end, [&](int64_t i, float x) {
      if (!(x >= at_least)) return;
      const auto id = uint32_t(first_id_ + i);
      if (block_index != id >> 2) {
        block_index = id >> 2;
        block = contract::gumbel_block(random, block_index);
      }
      const float score = contract::gumbel_score(view_.kind, x, scale.scale, block.word[id & 3]);
      if (best.index < 0 || score > best.score) best = {score, i};
    });
    return best;
  }

  const Passes *passes_;
  RowView view_;
  int64_t first_id_;
  const int32_t *ids_;
};

}  // namespace sampler::cpu
