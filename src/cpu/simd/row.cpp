#include "cpu/simd/row.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "contract/draw.h"
#include "contract/elements.h"
#include "contract/log2.h"
#include "cpu/simd/select.h"
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
// The Gumbel draw from a list is scalar.
constexpr int64_t kScalarGumbel = 256;
// Elements of which a draw computes each weight.
constexpr int64_t kDrawPart = 128;
// Shorter rows are not sampled for an estimate of the cut.
constexpr int64_t kLeastSampledRow = 8192;

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

Source maxima_source(const float *maxima, int64_t count) {
  return {maxima, nullptr, count, Dtype::kF32};
}

// Elements [begin, begin + count) as a source of their own.
Source part_of(const Source &source, int64_t begin, int64_t count) {
  const char *values = static_cast<const char *>(source.values);
  return {values + begin * int64_t(contract::size_of(source.dtype)),
          source.ids ? source.ids + begin : nullptr, count, source.dtype};
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
  float *maxima, *list_values, *relative, *scratch_values, *scratch_relative;
  int32_t *list_ids;
  uint64_t *block_weights;
};

size_t carve(int64_t num_cols, void *memory, Arrays *out) {
  Arena arena(memory);
  const int64_t listed = num_cols + kListPadding;
  out->maxima = arena.take<float>((num_cols + kGroupBlock - 1) / kGroupBlock * kVectorElements);
  out->list_values = arena.take<float>(listed);
  out->list_ids = arena.take<int32_t>(listed);
  out->relative = arena.take<float>(listed);
  out->scratch_values = arena.take<float>(listed);
  out->scratch_relative = arena.take<float>(listed);
  out->block_weights = arena.take<uint64_t>((num_cols + kWeightBlock - 1) / kWeightBlock);
  return arena.bytes();
}

}  // namespace

size_t SimdRow::memory_bytes(int64_t num_cols) {
  Arrays unused;
  return carve(num_cols, nullptr, &unused);
}

SimdRow::SimdRow(const Passes &passes, int64_t num_cols, void *memory) : passes_(passes) {
  Arrays arrays;
  carve(num_cols, memory, &arrays);
  maxima_ = arrays.maxima;
  list_values_ = arrays.list_values;
  list_ids_ = arrays.list_ids;
  relative_ = arrays.relative;
  scratch_values_ = arrays.scratch_values;
  ranks_ = reinterpret_cast<Rank *>(relative_);  // the two stand side by side
  scratch_relative_ = arrays.scratch_relative;
  block_weights_ = arrays.block_weights;
}

// ---- Loading

uint32_t SimdRow::load(const RowView &view) {
  view_ = view;
  row_ = {view.values, nullptr, view.count, view.dtype};
  kind_ = view.kind;
  list_ = {};
  const RowScan scan = passes_.scan(row_, kind_, maxima_);
  if (!scan.valid) return row_status::kInvalidValue;
  first_ = contract::rank_of(scan.max, uint32_t(passes_.find_first(row_, maxima_, scan.max)));
  return first_ < contract::lowest_cut(kind_) ? row_status::kEmpty : row_status::kOk;
}

int64_t SimdRow::num_maxima() const {
  return (row_.count + kGroupBlock - 1) / kGroupBlock * kVectorElements;
}

// Whether the tokens of the cut are few enough to be listed, going by the groups they are in.
bool SimdRow::is_sparse(Rank cut) const {
  const Source maxima = maxima_source(maxima_, num_maxima());
  const int64_t groups = passes_.count(maxima, 0, maxima.count, contract::value_of_rank(cut));
  return groups * kListShare <= row_.count / kGroupElements;
}

// ---- Kept tokens

SimdRow::Kept SimdRow::kept_of_row(Rank cut) const {
  const float value = contract::value_of_rank(cut);
  const int64_t end_of_ties = int64_t(contract::id_of_rank(cut)) + 1;
  return {row_, std::min(end_of_ties, row_.count), value, above(value)};
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
  list_range({contract::value_of_rank(cut), kInfinity, kUnlimited});
  shrink_list(cut);
}

// Leaves the tokens of the cut in the list, which covers it.
void SimdRow::shrink_list(Rank cut) {
  if (list_.floor >= cut) return;
  const float value = contract::value_of_rank(cut);
  const Source source = list_source();
  const auto *behind_ties =
      std::upper_bound(list_ids_, list_ids_ + list_.count, int64_t(contract::id_of_rank(cut)));
  const Kept kept = {source, behind_ties - list_ids_, value, above(value)};
  // Not in place: what the first range writes behind its last token would be the second one's.
  auto *ids = reinterpret_cast<int32_t *>(scratch_relative_);
  int64_t count = 0;
  for_each_range(kept, 0, source.count, [&](int64_t begin, int64_t end, float at_least) {
    const ListRange range = {at_least, kInfinity, kUnlimited};
    float *const values = scratch_values_ + count;
    count += passes_.list(source, nullptr, begin, end, range, values, ids + count).count;
  });
  std::copy_n(scratch_values_, count, list_values_);
  std::copy_n(ids, count, list_ids_);
  list_ = {count, cut};
}

// A value, at least `lowest`, that k tokens reach or more, but not many more; `lowest` when it is
// not known whether there are so many. The k-th largest of group maxima is such a value, of coarser
// groups when there are many for each of the k.
float SimdRow::group_bound(int64_t k, float lowest) const {
  constexpr int64_t kGroupsPerToken = 8;
  const float *maxima = maxima_;
  int64_t count = num_maxima();
  const int64_t factor = count / (kGroupsPerToken * k);
  if (factor > 1) {
    count = passes_.fold_maxima(maxima, count, factor, scratch_values_);
    maxima = scratch_values_;
  }
  const auto num_reaching = [&](float bound) {
    return passes_.count(maxima_source(maxima, count), 0, count, bound);
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

// Lists the first k tokens of `seen`, and some more.
void SimdRow::list_top(int64_t k, TieRule ties, Rank seen) {
  const float bound = group_bound(k, contract::value_of_rank(seen));
  // Later tokens that equal the bound come behind the k that are listed already.
  const int64_t enough = ties == TieRule::kExact ? k : kUnlimited;
  list_range({bound, kInfinity, enough});
  shrink_list(seen);
}

// ---- Filters

// The row that contract::filtered_prefix asks. A prefix is its cut.
class SimdRow::Filters {
 public:
  Filters(SimdRow &row, const RowScale &scale) : row_(row), passes_(row.passes_), scaling_{scale} {}

  Rank everything() const { return contract::lowest_cut(row_.kind_); }
  Rank shorter(Rank a, Rank b) const { return std::max(a, b); }

  Rank top_k(int32_t k, TieRule ties, Rank seen) {
    if (k >= row_.row_.count) return seen;
    if (row_.list_.covers(seen)) {
      row_.shrink_list(seen);
    } else {
      row_.list_top(k, ties, seen);
    }
    if (row_.list_.count < k) return seen;
    const Selected selected = select_from_list(nullptr, uint64_t(k));
    return cut_list(selected.value, uint64_t(k) - selected.above, ties, seen);
  }

  Rank top_p(float p, TieRule ties, Rank seen) {
    if (!row_.list_.covers(seen) && row_.is_sparse(seen)) row_.list_all(seen);
    if (!row_.list_.covers(seen)) return top_p_of_row(p, ties, seen);
    row_.shrink_list(seen);
    const uint64_t total = row_.weigh(row_.kept_of_list(), scaling_, nullptr);
    Rank cut = seen;
    find_in_list(target_of(p, total), ties, seen, &cut);
    return cut;
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
  // The values between which a sample of the row expects the cut.
  struct Estimate {
    float low;
    float below;    // +inf: no upper bound
    bool is_dense;  // too many tokens are above `low` to be listed
  };

  // The first token is kept whatever p is.
  static uint64_t target_of(float p, uint64_t total) {
    return std::max<uint64_t>(contract::top_p_threshold(p, total), 1);
  }

  Selected select_from_list(const float *relative, uint64_t target) {
    return cpu::select(passes_, row_.list_values_, relative, row_.list_.count, target,
                       row_.scratch_values_, row_.scratch_relative_);
  }

  void make_relative() {
    passes_.write_probabilities(row_.list_source(), scaling_, 1.0f, 0, row_.list_.count, -kInfinity,
                                row_.relative_, Dtype::kF32);
  }

  uint64_t weight_of(float x) const { return contract::weight(scaling_.row, x); }

  // The cut at the n-th token of this value in a source of tokens by ascending id.
  Rank cut_at(const Source &source, float value, uint64_t n, TieRule ties, Rank seen) const {
    if (ties == TieRule::kKeep) return shorter(seen, rank_of_key(contract::value_key(value)));
    const int64_t index = passes_.find_nth(source, value, int64_t(n));
    return contract::rank_of(value, uint32_t(source.ids ? source.ids[index] : index));
  }

  Rank cut_list(float value, uint64_t n, TieRule ties, Rank seen) {
    const Rank cut = cut_at(row_.list_source(), value, n, ties, seen);
    row_.shrink_list(cut);
    return cut;
  }

  // How many tokens of this value it takes to weigh so much.
  uint64_t num_of_value(float value, uint64_t wanted) const {
    const uint64_t weight = weight_of(value);
    return wanted / weight + (wanted % weight != 0);
  }

  // Cuts the list where its weight reaches the target. False when it does not.
  bool find_in_list(uint64_t target, TieRule ties, Rank seen, Rank *cut) {
    make_relative();
    const Selected selected = select_from_list(row_.relative_, target);
    if (!selected.found) return false;
    const uint64_t n = num_of_value(selected.value, target - selected.above);
    *cut = cut_list(selected.value, n, ties, seen);
    return true;
  }

  Rank top_p_of_row(float p, TieRule ties, Rank seen) {
    const uint64_t total = row_.weigh(row_.kept_of_row(seen), scaling_, nullptr);
    const uint64_t target = target_of(p, total);
    const float lowest = contract::value_of_rank(seen);
    Estimate estimate;
    Rank cut = seen;
    if (row_.row_.count >= kLeastSampledRow && make_estimate(total - target, lowest, &estimate)) {
      if (estimate.is_dense) {
        if (find_between(estimate, target, ties, seen, &cut)) return cut;
      } else {
        row_.list_all(shorter(seen, rank_of_key(contract::value_key(estimate.low))));
        if (find_in_list(target, ties, seen, &cut)) return cut;
      }
    }
    // All tokens below this weight together weigh at most what the filter may cut off.
    const uint64_t light = (total - target) / uint64_t(row_.row_.count);
    const uint32_t key = lowest_key_of_weight(scaling_.row, light, contract::value_key(lowest),
                                              key_of_rank(row_.first_));
    row_.list_all(shorter(seen, rank_of_key(key)));
    find_in_list(target, ties, seen, &cut);
    return cut;
  }

  // From where a sample of the row has seven eighths of its part of the weight that the filter may
  // cut off, and for dense rows up to where it has twice that. False when it is too light to say.
  bool make_estimate(uint64_t cut_off, float lowest, Estimate *estimate) {
    row_.list_.count = passes_.sample(row_.row_, lowest, row_.list_values_);
    make_relative();
    const uint64_t weight = row_.weigh(row_.kept_of_list(), scaling_, nullptr);
    const uint64_t own = cut_off / uint64_t(kSampleStep);
    const int64_t num_sampled = row_.list_.count;
    const bool usable = num_sampled > 0 && own > 0 && weight > own;
    if (usable) {
      estimate->low = select_from_list(row_.relative_, weight - own / 8 * 7).value;
      const PivotMeasure measure =
          passes_.measure(row_.list_values_, nullptr, num_sampled, estimate->low);
      const int64_t num_above_low = (measure.above + measure.equal) * kSampleStep;
      estimate->is_dense = num_above_low * kListShare > row_.row_.count;
      estimate->below = kInfinity;
      if (estimate->is_dense && weight / 2 > own) {
        estimate->below = above(select_from_list(row_.relative_, weight - 2 * own).value);
      }
    }
    row_.list_ = {};
    return usable;
  }

  // Finds the cut among the tokens between two values without listing those above. False when it is
  // not there.
  bool find_between(const Estimate &estimate, uint64_t target, TieRule ties, Rank seen, Rank *cut) {
    const Source &row = row_.row_;
    const uint64_t heavier = passes_.weigh(row, scaling_, 0, row.count, estimate.below, nullptr);
    if (heavier >= target) return false;
    if (estimate.below == above(estimate.low)) {
      const uint64_t n = num_of_value(estimate.low, target - heavier);
      if (passes_.find_nth(row, estimate.low, int64_t(n)) < 0) return false;
      *cut = cut_at(row, estimate.low, n, ties, seen);
      return true;
    }
    row_.list_range({estimate.low, estimate.below, kUnlimited});
    make_relative();
    const Selected selected = select_from_list(row_.relative_, target - heavier);
    if (selected.found) {
      const uint64_t n = num_of_value(selected.value, target - heavier - selected.above);
      *cut = cut_at(row_.list_source(), selected.value, n, ties, seen);
    }
    row_.list_ = {};
    return selected.found;
  }

  SimdRow &row_;
  const Passes &passes_;
  Scaling scaling_;
};

const contract::Distribution &SimdRow::distribute(const RowParameters &parameters,
                                                  const contract::FilterRules &rules) {
  contract::Distribution &result = distribution_;
  result.greedy = contract::is_greedy(parameters.temperature);
  result.scale = contract::row_scale(kind_, max(), result.greedy ? 1.0f : parameters.temperature);
  if (result.greedy) {
    result.cut = first_;
    result.kept_weight = contract::weight(result.scale, max());
  } else {
    const bool at_1 = rules.temperature_order == contract::TemperatureOrder::kLast;
    Filters filters(*this, at_1 ? contract::row_scale(kind_, max(), 1.0f) : result.scale);
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
  const Scaling scaling = {contract::row_scale(kind_, max(), 1.0f)};
  return passes_.weigh(row_, scaling, 0, row_.count, -kInfinity, nullptr);
}

// ---- Draws

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
  for_each_range(tokens, begin, end, [&](int64_t from, int64_t to, float at_least) {
    const Source part = part_of(tokens.source, from, to - from);
    passes_.write_probabilities(part, {distribution_.scale}, 1.0f, 0, part.count, at_least,
                                relative + (from - begin), Dtype::kF32);
  });
  uint64_t sum = 0;
  int64_t index = begin;
  while ((sum += contract::weight_of(relative[index - begin])) <= target) ++index;
  return index;
}

Token SimdRow::draw(uint64_t word) const {
  const int64_t index = draw_index(word);
  return token_at(list_.covers(distribution_.cut) ? list_ids_[index] : index);
}

Token SimdRow::draw_gumbel(const contract::RandomStream &random) const {
  GumbelBest best = {-kInfinity, -1};
  if (list_.covers(distribution_.cut) && list_.count <= kScalarGumbel) {
    for (int64_t i = 0; i < list_.count; ++i) {
      const uint32_t id = uint32_t(list_ids_[i]);
      const contract::Philox4 block =
          contract::random_block(random, contract::Purpose::kGumbel, id >> 2);
      const float score = contract::gumbel_score(kind_, list_values_[i], distribution_.scale.scale,
                                                 block.word[id & 3]);
      if (score > best.score) best = {score, id};
    }
  } else {
    for_each_range(kept_of_row(distribution_.cut), 0, row_.count,
                   [&](int64_t begin, int64_t end, float at_least) {
                     const GumbelBest part =
                         passes_.gumbel(row_, distribution_.scale, random, begin, end, at_least);
                     if (part.score > best.score) best = part;
                   });
  }
  return token_at(best.index);
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
  const Rank everything = contract::lowest_cut(kind_);
  const RowScale scale = contract::row_scale(kind_, max(), 1.0f);
  if (wanted < row_.count) {
    Filters(*this, scale).top_k(int32_t(wanted), TieRule::kExact, everything);
  } else {
    list_all(everything);
  }
  for (int64_t i = 0; i < list_.count; ++i) {
    ranks_[i] = contract::rank_of(list_values_[i], uint32_t(list_ids_[i]));
  }
  std::sort(ranks_, ranks_ + list_.count, std::greater<Rank>());
  *ranks = ranks_;
  return list_.count;
}

// ---- Chains

float SimdRow::probability_of(int64_t id) const {
  if (id < 0 || id >= row_.count) return 0.0f;
  const float x = view_.value(id);
  if (kind_ == InputKind::kProbabilities) return x;
  return distribution_.probability(x, contract::rank_of(x, uint32_t(id)));
}

void SimdRow::chain_probabilities(float *out) const {
  if (kind_ == InputKind::kLogits) {
    write_probabilities(out, Dtype::kF32);
  } else {
    passes_.write_values(row_, 0, row_.count, -kInfinity, out, Dtype::kF32);
  }
}

bool SimdRow::chain_residual(const SimdRow *draft, int64_t rejected, float *p) const {
  chain_probabilities(p);
  if (!draft) {
    if (rejected < row_.count) p[rejected] = 0.0f;
  } else if (draft->kind_ == InputKind::kProbabilities) {
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
  const Source residual = {p, nullptr, row_.count, Dtype::kF32};
  return passes_.scan(residual, InputKind::kProbabilities, maxima_).max > 0.0f;
}

bool SimdRow::become(const float *probabilities) {
  RowView view = view_;
  view.values = probabilities;
  view.dtype = Dtype::kF32;
  view.kind = InputKind::kProbabilities;
  if (load(view) != row_status::kOk) return false;
  distribute({1.0f, 0, 1.0f, 0.0f}, {});
  return true;
}

}  // namespace sampler::cpu
