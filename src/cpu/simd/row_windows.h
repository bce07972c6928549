// Windows of an unsorted row, by row passes.
//
// A place is a token's index in rank order. Ends of windows are cached with their cuts; other
// places are found by selection.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "contract/window_walk.h"
#include "cpu/simd/nearest.h"
#include "cpu/simd/row.h"

namespace sampler::cpu {

class RowWindows {
 public:
  using Window = contract::Window;

  // Windows of a loaded row, or of its first `wanted` tokens. `memory` has room for the row's
  // values and must outlive the row.
  RowWindows(SimdRow &row, float *memory, int64_t wanted);

  // Maximum `wanted` for which only the first tokens are listed.
  static int64_t most_listed(int64_t num_elements) {
    constexpr int64_t kWorthListing = 4096;
    return std::min(kWorthListing, num_elements / SimdRow::kListShare);
  }

  // Number of tokens.
  int64_t count() const { return count_; }

  float value(int64_t place);
  uint64_t weight(const contract::RowScale &scale, Window seen);
  contract::EntropySums sums(const contract::RowScale &scale, Window seen);
  contract::CollisionSums collisions(const contract::RowScale &scale, Window seen);
  contract::DeviationSums deviations(const contract::RowScale &scale,
                                     const contract::DeviationScale &unit, Window seen);
  int64_t top_p(const contract::RowScale &scale, contract::Share share, Window seen);
  Window nearest(const contract::Typical &rule, Window seen);

  // See contract::WindowWalk. `holds` must be true exactly for values from some bound up.
  template <class Holds>
  int64_t count_while(Window seen, const Holds &holds) {
    const contract::Rank cut = look_at(seen);
    uint32_t low = contract::key_of_rank(cut), high = contract::key_of_rank(row_.first_);
    if (!holds(contract::value_of_key(high))) return 0;
    if (holds(contract::value_of_key(low))) return seen.count();
    while (high - low > 1) {
      const uint32_t middle = low + (high - low) / 2;
      (holds(contract::value_of_key(middle)) ? high : low) = middle;
    }
    return end_of(contract::rank_of_key(high)) - seen.begin;
  }

  // Sets the row's distribution to a window. `draws_alone`: the row is then only used for draws by
  // weights.
  const Distribution &keep(Window window, float temperature, bool draws_alone);

 private:
  // Number of first tokens that are sorted when single tokens are read.
  static constexpr int64_t kHead = 256;

  // `cut` keeps the tokens before `place`. `least`: the last one's value; NaN: unknown.
  struct End {
    int64_t place = -1;
    contract::Rank cut = 0;
    float least = 0.0f;
  };
  // Begin of a window. is_found false: the first token of its value has not been searched yet, and
  // `first` is the highest rank of that value.
  struct Begin {
    int64_t place = -1;
    contract::Rank first = 0;
    bool is_found = true;
  };

  contract::Rank look_at(Window seen);
  void list_few(contract::Rank cut, int64_t num_tokens);
  void begin_at(Window seen, contract::Rank cut);
  contract::Rank cut_at(int64_t end);
  End *find_end(int64_t end);
  void remember(int64_t end, contract::Rank cut);
  int64_t end_of(contract::Rank cut);
  SimdRow::Kept kept(contract::Rank cut);
  int64_t count(contract::Rank cut);
  contract::Rank rank(int64_t place);
  contract::Rank bound_at(int64_t place);
  ValueRange range_of(contract::Rank cut, float at_most);
  contract::Rank nth_of_value(contract::Rank cut, float value, uint64_t n);
  void sort_head();

  // Typical-p: src/cpu/simd/row_nearest.cpp.
  class Nearest;

  SimdRow &row_;
  const Passes &passes_;
  float *memory_;
  int64_t count_;
  int64_t base_ = 0;  // place of the row's first token
  // Cut and end of all remaining tokens.
  contract::Rank widest_;
  int64_t widest_end_;

  static constexpr int kRemembered = 32;
  std::array<End, kRemembered> ends_;
  int num_ends_ = 0;
  Begin begin_;  // begin of typical-p's last window
  std::array<contract::Rank, kHead> head_;
  int64_t head_begin_ = 0, head_count_ = 0;
};

// `Tokens` of contract::RankedWindows.
struct RowTokens {
  RowWindows *windows;

  float value(int64_t place) const { return windows->value(place); }
};

}  // namespace sampler::cpu

namespace sampler::contract {

template <>
class WindowWalk<cpu::RowTokens> {
 public:
  explicit WindowWalk(const cpu::RowTokens &tokens) : windows_(*tokens.windows) {}

  uint64_t weight(const RowScale &row, Window seen) const { return windows_.weight(row, seen); }
  EntropySums sums(const RowScale &row, Window seen) const { return windows_.sums(row, seen); }
  CollisionSums collisions(const RowScale &row, Window seen) const {
    return windows_.collisions(row, seen);
  }
  DeviationSums deviations(const RowScale &row, const DeviationScale &unit, Window seen) const {
    return windows_.deviations(row, unit, seen);
  }
  template <class Holds>
  int64_t count_while(Window seen, const Holds &holds) const {
    return windows_.count_while(seen, holds);
  }
  int64_t top_p(const RowScale &row, Share share, Window seen) const {
    return windows_.top_p(row, share, seen);
  }
  Window nearest(const Typical &rule, Window seen) const { return windows_.nearest(rule, seen); }

 private:
  cpu::RowWindows &windows_;
};

}  // namespace sampler::contract
