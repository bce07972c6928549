#include "cpu/simd/row.h"

#include <algorithm>
#include <limits>

#include "contract/draw.h"
#include "contract/elements.h"
#include "contract/log2.h"
#include "cpu/simd/select.h"
#include "cpu/sort.h"
#include "cpu/workspace.h"

namespace sampler::cpu {

using contract::Dtype;
using contract::InputKind;
using contract::Rank;
using contract::RowParameters;
using contract::RowScale;
using contract::TieRule;
namespace row_status = contract::row_status;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

// Lists so much shorter than the row are worth their making; else the row is read again.
constexpr int64_t kListShare = 8;
// Elements of which a draw computes each weight.
constexpr int64_t kDrawPart = 128;
// Shorter rows are not sampled for an estimate of the cut.
constexpr int64_t kLeastSampledRow = 2048;

uint32_t key_of_rank(Rank rank) {
  return uint32_t(rank >> 32);
}
Rank rank_of_key(uint32_t key) {
  return Rank(key) << 32;
}
// The next larger value.
float above(float x) {
  return contract::value_of_key(contract::value_key(x) + 1);
}

// The lowest key in [low, high] whose value weighs at least `weight`, as that of `high` does.
uint32_t lowest_key_of_weight(const RowScale &scale, uint64_t weight, uint32_t low, uint32_t high) {
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (contract::weight(scale, contract::value_of_key(middle)) >= weight) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return high;
}

// Elements [begin, begin + count), without their ids.
RowView part_of(const RowView &source, int64_t begin, int64_t count) {
  RowView part = source;
  part.values =
      static_cast<const char *>(source.values) + begin * int64_t(contract::size_of(source.dtype));
  part.ids = nullptr;
  part.count = int32_t(count);
  return part;
}

}  // namespace

template <class F>
void SimdRow::for_each_range(const Kept &kept, int64_t begin, int64_t end, const F &f) {
  const int64_t split = std::clamp(kept.split, begin, end);
  if (begin < split) f(begin, split, kept.at_least);
  if (split < end) f(split, end, kept.behind);
}

// ---- Memory

namespace {

struct Arrays {
  float *maxima, *list_values, *scratch_values, *spare;
  int32_t *list_ids, *scratch_ids;
  uint64_t *block_weights;
};

size_t lay_out(int64_t num_cols, void *memory, Arrays *out) {
  Arena arena(memory);
  const int64_t listed = num_cols + kListPadding;
  out->maxima = arena.take<float>((num_cols + kGroupBlock - 1) / kGroupBlock * kVectorElements);
  out->list_values = arena.take<float>(listed);
  out->list_ids = arena.take<int32_t>(listed);
  out->scratch_values = arena.take<float>(listed);
  out->scratch_ids = arena.take<int32_t>(listed);
  out->spare = arena.take<float>(listed);
  out->block_weights = arena.take<uint64_t>((num_cols + kWeightBlock - 1) / kWeightBlock);
  return arena.bytes();
}

}  // namespace

size_t SimdRow::memory_bytes(int64_t num_cols) {
  Arrays unused;
  return lay_out(num_cols, nullptr, &unused);
}

SimdRow::SimdRow(const Executor &executor, const contract::Rows &rows, void *memory)
    : passes_(*executor.passes), num_cols_(rows.num_cols), places_(executor.places_key) {
  Arrays arrays;
  lay_out(rows.num_cols, memory, &arrays);
  maxima_ = arrays.maxima;
  list_values_ = arrays.list_values;
  list_ids_ = arrays.list_ids;
  scratch_values_ = arrays.scratch_values;
  scratch_ids_ = arrays.scratch_ids;
  spare_ = arrays.spare;
  block_weights_ = arrays.block_weights;
  // Each pair stands side by side.
  list_wide_ = reinterpret_cast<uint64_t *>(list_values_);
  scratch_wide_ = reinterpret_cast<uint64_t *>(scratch_values_);
}

// ---- Loading

uint32_t SimdRow::load(const RowView &view, contract::Use use) {
  if (!contract::has_valid_count(view, num_cols_)) return row_status::kInvalidCandidate;
  row_ = view;
  list_ = {};
  first_ = 0;
  if (view.count == 0) return row_status::kEmpty;
  // By `view`: the copy would be waited for.
  const RowScan scan = passes_.scan(view, maxima_);
  if (!scan.valid) return row_status::kInvalidValue;
  first_ = contract::rank_of(scan.max, uint32_t(passes_.find_first(view, maxima_, scan.max)));
  return contract::check_first(view.kind, first_, use);
}

int64_t SimdRow::num_maxima() const {
  return (row_.count + kGroupBlock - 1) / kGroupBlock * kVectorElements;
}

// Whether the tokens of the cut are few enough to be listed. Mostly the groups they are in tell.
bool SimdRow::is_sparse(Rank cut) const {
  const float value = contract::value_of_rank(cut);
  const RowView maxima = contract::f32_view(maxima_, num_maxima());
  const int64_t groups = passes_.count(maxima, 0, maxima.count, value);
  const int64_t all_groups = row_.count / kGroupElements;
  if (groups * kListShare <= all_groups) return true;
  if (groups > all_groups - all_groups / kListShare) return false;
  return passes_.count(row_, 0, row_.count, value) * kListShare <= row_.count;
}

// ---- Kept tokens

SimdRow::Kept SimdRow::kept_of_row(Rank cut) const {
  const float value = contract::value_of_rank(cut);
  const int64_t end_of_ties = int64_t(contract::id_of_rank(cut)) + 1;
  return {row_, std::min<int64_t>(end_of_ties, row_.count), value, above(value)};
}

SimdRow::Kept SimdRow::kept_of_list() const {
  return {list_source(), list_.count, -kInfinity, -kInfinity};
}

SimdRow::Kept SimdRow::kept() const {
  return list_.covers(distribution_.cut) ? kept_of_list() : kept_of_row(distribution_.cut);
}

uint64_t SimdRow::weigh(const Kept &kept, int64_t begin, int64_t end, const Scaling &scaling,
                        uint64_t *block_weights) const {
  uint64_t result = 0;
  for_each_range(kept, begin, end, [&](int64_t from, int64_t to, float at_least) {
    result += passes_.weigh(kept.source, scaling, from, to, at_least, block_weights);
  });
  return result;
}
uint64_t SimdRow::weigh(const Kept &kept, const Scaling &scaling, uint64_t *block_weights) const {
  return weigh(kept, 0, kept.source.count, scaling, block_weights);
}

int64_t SimdRow::kept_count() const {
  if (distribution_.greedy) return 1;
  if (list_.covers(distribution_.cut)) return list_.count;
  int64_t result = 0;
  const Kept kept = kept_of_row(distribution_.cut);
  for_each_range(kept, 0, row_.count, [&](int64_t begin, int64_t end, float at_least) {
    result += passes_.count(row_, begin, end, at_least);
  });
  return result;
}

// ---- The list

void SimdRow::list_range(const ListRange &range) {
  const Listed listed = passes_.list(row_, maxima_, 0, row_.count, range, list_values_, list_ids_);
  list_.count = listed.count;
  list_.floor = listed.end_of_ties < row_.count
                    ? contract::rank_of(range.at_least, uint32_t(listed.end_of_ties - 1))
                    : rank_of_key(contract::value_key(range.at_least));
}

void SimdRow::list_all(Rank cut) {
  list_range({contract::value_of_rank(cut), kUnlimited});
  shrink_list(cut);
}

// Leaves the tokens of the cut in the list, which covers it.
void SimdRow::shrink_list(Rank cut) {
  if (list_.floor >= cut) return;
  const float value = contract::value_of_rank(cut);
  const RowView source = list_source();
  const auto *behind_ties =
      std::upper_bound(list_ids_, list_ids_ + list_.count, int64_t(contract::id_of_rank(cut)));
  const Kept kept = {source, behind_ties - list_ids_, value, above(value)};
  // Not in place: what the first range writes behind its last token would be the second one's.
  int64_t count = 0;
  for_each_range(kept, 0, source.count, [&](int64_t begin, int64_t end, float at_least) {
    const ListRange range = {at_least, kUnlimited};
    float *const values = scratch_values_ + count;
    count += passes_.list(source, nullptr, begin, end, range, values, scratch_ids_ + count).count;
  });
  std::copy_n(scratch_values_, count, list_values_);
  std::copy_n(scratch_ids_, count, list_ids_);
  list_ = {count, cut};
}

// A value, at least `lowest`, that k tokens reach or more; `lowest` when it is not known whether
// there are so many. The k-th largest of group maxima is such a value. Maxima of coarser groups are
// asked first, when there are many for each of the k. Of the groups themselves fewer than k hold
// larger tokens, or not many more, however the tokens are dealt to them.
float SimdRow::group_bound(int64_t k, float lowest) {
  constexpr int64_t kGroupsPerToken = 8;
  const RowView maxima = contract::f32_view(maxima_, num_maxima());
  const int64_t factor = maxima.count / (kGroupsPerToken * k);
  if (factor <= 1) return bound_of_maxima(maxima, k, lowest);
  const int64_t num_folded = passes_.fold_maxima(maxima_, maxima.count, factor, scratch_values_);
  const float bound = bound_of_maxima(contract::f32_view(scratch_values_, num_folded), k, lowest);
  if (passes_.count(maxima, 0, maxima.count, bound) <= 2 * k) return bound;
  const RowView reaching =
      contract::f32_view(scratch_values_, passes_.pack(maxima, bound, kInfinity, scratch_values_));
  return cpu::select(passes_, &places_, reaching, nullptr, uint64_t(k), scratch_values_).value;
}

// A value that k of the maxima reach, and not many more but where they are alike; `lowest` when
// fewer reach that.
float SimdRow::bound_of_maxima(const RowView &maxima, int64_t k, float lowest) const {
  const auto num_reaching = [&](float bound) {
    return passes_.count(maxima, 0, maxima.count, bound);
  };
  if (num_reaching(lowest) < k) return lowest;
  uint32_t low = contract::value_key(lowest), high = key_of_rank(first_) + 1;
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    const int64_t reaching = num_reaching(contract::value_of_key(middle));
    if (reaching < k) {
      high = middle;
      continue;
    }
    low = middle;
    if (reaching <= k + k / 8) break;
  }
  return contract::value_of_key(low);
}

// Lists the first k tokens of `seen`, and some more. Of the tokens that equal the last of the k,
// those after it may be left out.
void SimdRow::list_top(int64_t k, Rank seen) {
  const float bound = group_bound(k, contract::value_of_rank(seen));
  list_range({bound, k});
  shrink_list(seen);
}

// ---- Filters

// The row that contract::filtered_prefix asks. A prefix is its cut.
class SimdRow::Filters {
 public:
  Filters(SimdRow &row, const RowScale &scale) : row_(row), passes_(row.passes_), scaling_{scale} {}

  Rank everything() const { return contract::lowest_cut(row_.kind()); }
  Rank shorter(Rank a, Rank b) const { return std::max(a, b); }

  Rank top_k(int32_t k, TieRule ties, Rank seen) {
    if (k >= row_.row_.count) return seen;
    // A list that there is holds no more than `seen`: the filters before have listed nothing else.
    if (!row_.list_.covers(seen)) row_.list_top(k, seen);
    if (row_.list_.count < k) return seen;
    const Selected selected = select(row_.list_source(), nullptr, uint64_t(k));
    return cut_list(selected.value, uint64_t(k) - selected.above, ties, seen);
  }

  Rank top_p(float p, TieRule ties, Rank seen) {
    if (!row_.list_.covers(seen) && row_.is_sparse(seen)) row_.list_all(seen);
    if (!row_.list_.covers(seen)) return top_p_of_row(p, ties, seen);
    row_.shrink_list(seen);
    const uint64_t target = target_of(p, row_.weigh(row_.kept_of_list(), scaling_, nullptr));
    return cut_list_at_weight(select(row_.list_source(), &scaling_, target), target, ties, seen);
  }

  // No pass: weights fall with values.
  Rank min_p(float p, Rank seen) const {
    const uint64_t heaviest = contract::weight(scaling_.row, row_.max());
    const uint64_t threshold = contract::min_p_threshold(p, heaviest);
    const uint32_t key = lowest_key_of_weight(scaling_.row, threshold, key_of_rank(everything()),
                                              key_of_rank(row_.first_));
    return shorter(seen, rank_of_key(key));
  }

 private:
  // Where the cut's value is looked for: in [low, below), below +inf: no bound. Tokens from `below`
  // up weigh `above`, less than the target.
  struct Bracket {
    float low;
    float below;
    uint64_t above;
  };

  // What a sample of the row expects.
  struct Estimate {
    float low;
    float below;    // for dense rows
    bool is_dense;  // too many tokens are from `low` up to be listed
  };

  // The first token is kept whatever p is.
  static uint64_t target_of(float p, uint64_t total) {
    return std::max<uint64_t>(contract::top_p_threshold(p, total), 1);
  }

  // By weights, or by counts without a scaling.
  Selected select(const RowView &list, const Scaling *scaling, uint64_t target) {
    return cpu::select(passes_, &row_.places_, list, scaling, target, row_.scratch_values_);
  }

  // The cut at the n-th token of this value in a source of tokens by ascending id.
  Rank cut_at(const RowView &source, float value, uint64_t n, TieRule ties, Rank seen) const {
    if (ties == TieRule::kKeep) return shorter(seen, rank_of_key(contract::value_key(value)));
    const int64_t index = passes_.find_nth(source, value, int64_t(n));
    return contract::rank_of(value, uint32_t(source.id(index)));
  }

  Rank cut_list(float value, uint64_t n, TieRule ties, Rank seen) {
    const Rank cut = cut_at(row_.list_source(), value, n, ties, seen);
    row_.shrink_list(cut);
    return cut;
  }

  Rank cut_list_at_weight(const Selected &selected, uint64_t target, TieRule ties, Rank seen) {
    return cut_list(selected.value, num_of_value(selected, target), ties, seen);
  }

  // How many tokens of the selected value it takes to reach the target.
  uint64_t num_of_value(const Selected &selected, uint64_t target) const {
    const uint64_t wanted = target - selected.above;
    const uint64_t weight = contract::weight(scaling_.row, selected.value);
    return wanted / weight + (wanted % weight != 0);
  }

  Rank top_p_of_row(float p, TieRule ties, Rank seen) {
    const RowView &row = row_.row_;
    const uint64_t total = row_.weigh(row_.kept_of_row(seen), scaling_, nullptr);
    const uint64_t target = target_of(p, total);
    Bracket bracket = {lightest_kept(total - target, seen), kInfinity, 0};
    Estimate estimate;
    if (row.count < kLeastSampledRow) {
      row_.list_all(shorter(seen, rank_of_key(contract::value_key(bracket.low))));
      return cut_list_at_weight(select(row_.list_source(), &scaling_, target), target, ties, seen);
    }
    if (make_estimate(total - target, contract::value_of_rank(seen), &estimate)) {
      estimate.low = std::max(estimate.low, bracket.low);
      Selected selected;
      if (!estimate.is_dense) {
        row_.list_all(shorter(seen, rank_of_key(contract::value_key(estimate.low))));
        selected = select(row_.list_source(), &scaling_, target);
        if (selected.found) return cut_list_at_weight(selected, target, ties, seen);
      } else {
        selected = find_near(estimate, target);
        if (selected.found) return cut_row(selected, target, ties, seen);
      }
      // A cut that is not where the sample expects it is below all that was looked through.
      bracket.below = estimate.low;
      bracket.above = selected.above;
    }
    return cut_row(find_in_row(bracket, target), target, ties, seen);
  }

  // The lowest value that top-p can cut at: all tokens below its weight together weigh at most what
  // the filter may cut off.
  float lightest_kept(uint64_t cut_off, Rank seen) const {
    const uint64_t light = cut_off / uint64_t(row_.row_.count);
    return contract::value_of_key(
        lowest_key_of_weight(scaling_.row, light, key_of_rank(seen), key_of_rank(row_.first_)));
  }

  Rank cut_row(const Selected &selected, uint64_t target, TieRule ties, Rank seen) const {
    return cut_at(row_.row_, selected.value, num_of_value(selected, target), ties, seen);
  }

  // Not found only where the cut is below the estimate.
  Selected find_near(const Estimate &estimate, uint64_t target) {
    const RowView &row = row_.row_;
    const uint64_t heavier =
        estimate.below <= row_.max()
            ? passes_.weigh(row, scaling_, 0, row.count, estimate.below, nullptr)
            : 0;
    if (heavier >= target) return find_in_row({estimate.below, kInfinity, 0}, target);
    return find_in_row({estimate.low, estimate.below, heavier}, target);
  }

  // `above` counts from the row's first token.
  Selected find_in_row(const Bracket &bracket, uint64_t target) {
    const RowView between = contract::f32_view(
        row_.scratch_values_,
        passes_.pack(row_.row_, bracket.low, value_before(bracket.below), row_.scratch_values_));
    Selected selected = select(between, &scaling_, target - bracket.above);
    selected.above += bracket.above;
    return selected;
  }

  // From where a sample of the row has seven eighths of its part of the weight that the filter may
  // cut off, and for dense rows up to where it has five fourths. False when it is too light to say.
  bool make_estimate(uint64_t cut_off, float lowest, Estimate *estimate) {
    const RowView sample = contract::f32_view(
        row_.spare_, passes_.sample(row_.row_, lowest, row_.places_.next(), row_.spare_));
    const uint64_t weight = passes_.weigh(sample, scaling_, 0, sample.count, -kInfinity, nullptr);
    const uint64_t own = cut_off / uint64_t(kSampleStep);
    if (own == 0 || weight <= own) return false;
    estimate->low = select(sample, &scaling_, weight - own / 8 * 7).value;
    const int64_t num_from_low =
        passes_.count(sample, 0, sample.count, estimate->low) * kSampleStep;
    estimate->is_dense = num_from_low * kListShare > row_.row_.count;
    estimate->below = kInfinity;
    if (estimate->is_dense && weight - own > own / 4) {
      estimate->below = above(select(sample, &scaling_, weight - own - own / 4).value);
    }
    return true;
  }

  SimdRow &row_;
  const Passes &passes_;
  Scaling scaling_;
};

const contract::Distribution &SimdRow::distribute(const RowParameters &parameters,
                                                  const contract::FilterRules &rules) {
  contract::Distribution &result = distribution_;
  result.greedy = contract::is_greedy(parameters.temperature);
  result.scale = contract::row_scale(kind(), max(), result.greedy ? 1.0f : parameters.temperature);
  if (result.greedy) {
    result.cut = first_;
    result.kept_weight = contract::weight(result.scale, max());
  } else {
    const bool at_1 = rules.temperature_order == contract::TemperatureOrder::kLast;
    Filters filters(*this, at_1 ? contract::row_scale(kind(), max(), 1.0f) : result.scale);
    result.cut = contract::filtered_prefix(filters, parameters, rules);
    if (!list_.covers(result.cut) && is_sparse(result.cut)) list_all(result.cut);
    if (list_.covers(result.cut)) shrink_list(result.cut);
    const Kept tokens = kept();
    std::fill_n(block_weights_, (tokens.source.count + kWeightBlock - 1) / kWeightBlock, 0);
    result.kept_weight = weigh(tokens, {result.scale}, block_weights_);
  }
  result.normalizer = contract::normalizer(result.kept_weight);
  return result;
}

uint64_t SimdRow::total_weight() const {
  const Scaling scaling = {contract::row_scale(kind(), max(), 1.0f)};
  return passes_.weigh(row_, scaling, 0, row_.count, -kInfinity, nullptr);
}

// ---- Draws

// The relative probabilities of source elements [begin, end), 0 of those that are not kept.
void SimdRow::write_relative(const Kept &tokens, int64_t begin, int64_t end,
                             float *relative) const {
  for_each_range(tokens, begin, end, [&](int64_t from, int64_t to, float at_least) {
    const RowView part = part_of(tokens.source, from, to - from);
    passes_.write_probabilities(part, {distribution_.scale}, 1.0f, 0, part.count, at_least,
                                relative + (from - begin), Dtype::kF32);
  });
}

// Index in the kept tokens' source.
int64_t SimdRow::draw_index(uint64_t word) const {
  const Kept tokens = kept();
  uint64_t target = contract::draw_target(word, distribution_.kept_weight);
  int64_t block = 0;
  for (; target >= block_weights_[block]; ++block) target -= block_weights_[block];

  // Parts of the block are weighed until the target is in one, and of that all elements.
  const int64_t count = tokens.source.count;
  int64_t begin = block * kWeightBlock, end = 0;
  for (;; begin = end) {
    end = std::min(begin + kDrawPart, count);
    const uint64_t weight = weigh(tokens, begin, end, {distribution_.scale}, nullptr);
    if (target < weight) break;
    target -= weight;
  }
  float relative[kDrawPart];
  write_relative(tokens, begin, end, relative);
  uint64_t sum = 0;
  int64_t index = begin;
  while ((sum += contract::weight_of(relative[index - begin])) <= target) ++index;
  return index;
}

void SimdRow::prepare_draws(int64_t num_draws) {
  const Kept tokens = kept();
  const int64_t count = tokens.source.count;
  has_sums_ = are_many_draws(num_draws, count);
  if (!has_sums_) return;
  uint64_t sum = 0;
  for (int64_t begin = 0; begin < count; begin += kDrawPart) {
    const int64_t end = std::min(begin + kDrawPart, count);
    float relative[kDrawPart];
    write_relative(tokens, begin, end, relative);
    for (int64_t i = begin; i < end; ++i) {
      scratch_wide_[i] = sum += contract::weight_of(relative[i - begin]);
    }
  }
  inverse_cdf_ = InverseCdf(scratch_wide_, count);
  inverse_cdf_.make_guide(num_draws, reinterpret_cast<int32_t *>(spare_));
}

void SimdRow::sample_words(const contract::RandomStream *streams, int64_t count,
                           uint64_t *words) const {
  constexpr int64_t kWorthAVector = 4;
  if (count < kWorthAVector) {
    cpu::sample_words(streams, count, words);
  } else {
    passes_.sample_words(streams, count, words);
  }
}

void SimdRow::draw(const uint64_t *words, int64_t count, int64_t *ids) const {
  if (has_sums_) {
    inverse_cdf_.draw(words, count, ids);
  } else {
    for (int64_t i = 0; i < count; ++i) ids[i] = draw_index(words[i]);
  }
  for (int64_t i = 0; i < count; ++i) ids[i] = kept_id(ids[i]);
}

int64_t SimdRow::draw_gumbel(const contract::RandomStream &random) const {
  const Kept tokens = kept();
  GumbelBest best = {-kInfinity, -1};
  for_each_range(tokens, 0, tokens.source.count, [&](int64_t begin, int64_t end, float at_least) {
    const GumbelBest part =
        passes_.gumbel(tokens.source, distribution_.scale, random, begin, end, at_least);
    if (part.score > best.score) best = part;
  });
  return kept_id(best.index);
}

// ---- Rows of output

void SimdRow::write_probabilities(void *out, Dtype dtype) const {
  const Scaling scaling = {distribution_.scale};
  if (distribution_.greedy) {
    passes_.write_probabilities(row_, scaling, 1.0f, 0, row_.count, kInfinity, out, dtype);
    contract::store_value(out, dtype, contract::id_of_rank(first_), 1.0f);
    return;
  }
  for_each_range(kept_of_row(distribution_.cut), 0, row_.count,
                 [&](int64_t begin, int64_t end, float at_least) {
                   passes_.write_probabilities(row_, scaling, distribution_.normalizer, begin, end,
                                               at_least, out, dtype);
                 });
}

void SimdRow::write_kept_values(void *out, Dtype dtype) const {
  for_each_range(kept_of_row(distribution_.cut), 0, row_.count,
                 [&](int64_t begin, int64_t end, float at_least) {
                   passes_.write_values(row_, begin, end, at_least, out, dtype);
                 });
}

int64_t SimdRow::select(int64_t wanted, const Rank **ranks) {
  const Rank everything = contract::lowest_cut(kind());
  const RowScale scale = contract::row_scale(kind(), max(), 1.0f);
  if (wanted < row_.count) {
    Filters(*this, scale).top_k(int32_t(wanted), TieRule::kExact, everything);
  } else {
    list_all(everything);
  }
  const int64_t count = list_.count;
  for (int64_t i = 0; i < count; ++i) {
    scratch_wide_[i] = contract::rank_of(list_values_[i], uint32_t(list_ids_[i]));
  }
  list_ = {};  // its memory is the sort's
  *ranks = sort_ranks(scratch_wide_, count, list_wide_);
  return count;
}

// ---- Chains

float SimdRow::probability_of(int64_t id) const {
  if (id < 0 || id >= row_.count) return 0.0f;
  const float x = row_.value(id);
  if (kind() == InputKind::kProbabilities) return x;
  return distribution_.probability(x, contract::rank_of(x, uint32_t(id)));
}

void SimdRow::chain_probabilities(float *out) const {
  if (kind() == InputKind::kLogits) {
    write_probabilities(out, Dtype::kF32);
  } else {
    passes_.write_values(row_, 0, row_.count, -kInfinity, out, Dtype::kF32);
  }
}

bool SimdRow::chain_residual(const SimdRow *draft, int64_t rejected, float *p) const {
  chain_probabilities(p);
  if (!draft) {
    if (rejected < row_.count) p[rejected] = 0.0f;
  } else if (draft->kind() == InputKind::kProbabilities) {
    const int64_t count = std::min(row_.count, draft->row_.count);
    passes_.subtract(draft->row_, {{}, true}, 1.0f, 0, count, -kInfinity, p);
  } else {
    const Kept tokens = draft->kept_of_row(draft->distribution_.cut);
    const int64_t count = std::min(row_.count, draft->row_.count);
    for_each_range(tokens, 0, count, [&](int64_t begin, int64_t end, float at_least) {
      passes_.subtract(draft->row_, {draft->distribution_.scale}, draft->distribution_.normalizer,
                       begin, end, at_least, p);
    });
  }
  const RowView residual = contract::f32_view(p, row_.count, nullptr, InputKind::kProbabilities);
  return passes_.scan(residual, maxima_).max > 0.0f;
}

bool SimdRow::become(const float *probabilities) {
  const RowView view =
      contract::f32_view(probabilities, row_.count, nullptr, InputKind::kProbabilities);
  if (load(view) != row_status::kOk) return false;
  distribute({1.0f, 0, 1.0f, 0.0f}, {});
  return true;
}

}  // namespace sampler::cpu
