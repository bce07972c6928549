// Windows of an unsorted row: places, ends and sums.
#include "cpu/simd/row_windows.h"

#include <algorithm>
#include <limits>

#include "cpu/simd/select.h"
#include "cpu/sort.h"

namespace sampler::cpu {

using contract::Rank;
using contract::RowScale;
using contract::Window;

RowWindows::RowWindows(SimdRow &row, float *memory, int64_t wanted)
    : row_(row), passes_(row.passes_), memory_(memory), widest_(contract::lowest_cut(row.kind())) {
  if (wanted <= most_listed(row_.row_.count)) {
    widest_ = row_.top_k_cut(wanted, widest_);
    count_ = row_.list_.count;
  } else {
    row_.apply_edits();
    const float lowest = contract::value_of_rank(widest_);
    const int64_t count = row_.row_.count;
    count_ = row_.least_ >= lowest ? count : passes_.count(row_.row_, 0, count, lowest);
  }
  widest_end_ = count_;
  remember(count_, widest_);
}

// ---- Places

RowWindows::End *RowWindows::find_end(int64_t end) {
  for (End &known : ends_) {
    if (known.place == end) return &known;
  }
  return nullptr;
}

void RowWindows::remember(int64_t end, Rank cut) {
  if (!find_end(end)) ends_[num_ends_++ % kRemembered] = {end, cut, contract::quiet_nan()};
}

Rank RowWindows::cut_at(int64_t end) {
  if (const End *const known = find_end(end)) return known->cut;
  const int64_t k = end - base_;
  if (row_.is_only_listed_ && row_.list_.count < k) row_.list_all(widest_);
  const Rank cut = row_.top_k_cut(k, row_.list_.count >= k ? row_.list_.floor : widest_);
  remember(end, cut);
  return cut;
}

SimdRow::Kept RowWindows::kept(Rank cut) {
  if (row_.is_only_listed_ && !row_.list_.covers(cut)) row_.list_all(cut);
  return row_.list_.covers(cut) ? row_.kept_of_list(cut) : row_.kept_of_row(cut);
}

// Number of tokens that a cut keeps.
int64_t RowWindows::count(Rank cut) {
  const SimdRow::Kept tokens = kept(cut);
  if (!tokens.source.ids && row_.groups_from(cut) == 0) return 0;
  int64_t result = 0;
  SimdRow::for_each_range(tokens, 0, tokens.source.count,
                          [&](int64_t begin, int64_t end, float at_least) {
                            result += passes_.count(tokens.source, begin, end, at_least);
                          });
  return result;
}

// End of the window that a cut keeps. Lists its tokens if at most half of the groups have any.
int64_t RowWindows::end_of(Rank cut) {
  if (!row_.list_.covers(cut) && row_.groups_from(cut) * 2 <= row_.num_maxima()) {
    row_.list_all(cut);
  }
  const int64_t end = base_ + count(cut);
  remember(end, cut);
  return end;
}

ValueRange RowWindows::range_of(Rank cut, float at_most) {
  ValueRange result = {0, kInfinity, -kInfinity};
  const SimdRow::Kept tokens = kept(cut);
  SimdRow::for_each_range(
      tokens, 0, tokens.source.count, [&](int64_t begin, int64_t end, float at_least) {
        const ValueRange part = passes_.find_range(tokens.source, begin, end, at_least, at_most);
        result.count += part.count;
        result.least = std::min(result.least, part.least);
        result.largest = std::max(result.largest, part.largest);
      });
  return result;
}

// Rank of the n-th token equal to `value`, n >= 1, among those of a cut.
Rank RowWindows::nth_of_value(Rank cut, float value, uint64_t n) {
  const Rank from = std::max(cut, contract::rank_of_key(contract::value_key(value)));
  const RowView source = kept(from).source;
  const int64_t index = passes_.find_nth(source, value, int64_t(n));
  return contract::rank_of(value, uint32_t(source.id(index)));
}

Rank RowWindows::rank(int64_t place) {
  if (place == base_) return row_.first_;
  if (place == begin_.place) {
    if (!begin_.is_found) {
      const Rank cut = contract::cut_with_ties(begin_.first);
      begin_ = {place, nth_of_value(cut, contract::value_of_rank(cut), 1)};
    }
    return begin_.first;
  }
  const Rank cut = cut_at(place + 1);
  const float value = range_of(cut, kInfinity).least;
  const Rank before = contract::rank_of_key(contract::value_key(contract::next_value(value)));
  return nth_of_value(cut, value, uint64_t(place + 1 - base_ - count(before)));
}

// A rank with the value at this place: tokens from there on do not exceed it, tokens before do.
Rank RowWindows::bound_at(int64_t place) {
  return place != base_ && place == begin_.place ? begin_.first : rank(place);
}

float RowWindows::value(int64_t place) {
  if (place == base_) return row_.max();
  End *const known = find_end(place + 1);
  if (known) {
    if (contract::is_nan(known->least)) known->least = range_of(known->cut, kInfinity).least;
    return known->least;
  }
  if (place < base_ || place >= base_ + kHead) return contract::value_of_rank(bound_at(place));
  if (head_begin_ != base_ || place >= head_begin_ + head_count_) sort_head();
  return contract::value_of_rank(head_[size_t(place - base_)]);
}

void RowWindows::sort_head() {
  const Rank cut = cut_at(std::min(widest_end_, base_ + kHead));
  if (!row_.list_.covers(cut)) row_.list_all(cut);
  std::array<Rank, kHead> scratch;
  head_begin_ = base_;
  head_count_ = 0;
  for (int64_t i = 0; i < row_.list_.count; ++i) {
    const Rank rank = contract::rank_of(row_.list_values_[i], uint32_t(row_.list_ids_[i]));
    if (rank >= cut) head_[size_t(head_count_++)] = rank;
  }
  const Rank *const sorted = sort_ranks(head_.data(), head_count_, scratch.data());
  if (sorted != head_.data()) std::copy_n(sorted, head_count_, head_.data());
}

// ---- Windows

// Prepares passes over a window and returns its cut: the row begins with the window, and its tokens
// are listed if they are few.
Rank RowWindows::look_at(Window seen) {
  const Rank cut = cut_at(seen.end);
  if (seen.begin != base_) begin_at(seen, cut);
  list_few(cut, seen.count());
  return cut;
}

// Lists the tokens of a cut if a window of `num_tokens` is worth it, or only the list is valid.
void RowWindows::list_few(Rank cut, int64_t num_tokens) {
  const bool is_sparse = num_tokens * SimdRow::kListShare <= row_.row_.count;
  if ((is_sparse || row_.is_only_listed_) && !row_.list_.covers(cut)) row_.list_all(cut);
}

void RowWindows::begin_at(Window seen, Rank cut) {
  const Rank first = rank(seen.begin);
  list_few(cut, seen.count());
  if (row_.list_.covers(cut)) {
    row_.shrink_list(cut);
    widest_ = cut;
    widest_end_ = seen.end;
  } else {
    row_.list_ = {};
  }
  row_.begin_later(first, memory_);
  base_ = seen.begin;
}

uint64_t RowWindows::weight(const RowScale &scale, Window seen) {
  return row_.weigh(kept(look_at(seen)), {scale}, nullptr);
}

contract::EntropySums RowWindows::sums(const RowScale &scale, Window seen) {
  const SimdRow::Kept tokens = kept(look_at(seen));
  contract::EntropySums result;
  SimdRow::for_each_range(
      tokens, 0, tokens.source.count, [&](int64_t begin, int64_t end, float at_least) {
        result.add(passes_.sum_entropy(tokens.source, scale, begin, end, at_least));
      });
  return result;
}

contract::CollisionSums RowWindows::collisions(const RowScale &scale, Window seen) {
  const SimdRow::Kept tokens = kept(look_at(seen));
  contract::CollisionSums result;
  SimdRow::for_each_range(
      tokens, 0, tokens.source.count, [&](int64_t begin, int64_t end, float at_least) {
        result.add(passes_.sum_collisions(tokens.source, scale, begin, end, at_least));
      });
  return result;
}

contract::DeviationSums RowWindows::deviations(const RowScale &scale,
                                               const contract::DeviationScale &unit, Window seen) {
  const SimdRow::Kept tokens = kept(look_at(seen));
  contract::DeviationSums result;
  SimdRow::for_each_range(
      tokens, 0, tokens.source.count, [&](int64_t begin, int64_t end, float at_least) {
        result.add(passes_.sum_deviations(tokens.source, scale, unit, begin, end, at_least));
      });
  return result;
}

int64_t RowWindows::top_p(const RowScale &scale, contract::Share share, Window seen) {
  return end_of(row_.top_p_cut(scale, share, look_at(seen))) - seen.begin;
}

const Distribution &RowWindows::keep(Window window, float temperature, bool draws_alone) {
  if (draws_alone && !contract::is_greedy(temperature)) {
    const Rank cut = cut_at(window.end), first = bound_at(window.begin);
    list_few(cut, window.count());
    row_.draw_from(first, cut, temperature);
    return row_.distribution_;
  }
  const Rank cut = look_at(window);
  row_.weigh_kept(contract::is_greedy(temperature) ? row_.first_ : cut, temperature);
  row_.distribution_.first = row_.first_;
  return row_.distribution_;
}

}  // namespace sampler::cpu
