// Cuts of top-k, top-p and min-p by row passes. contract::filtered_prefix decides.
#include <algorithm>
#include <cmath>

#include "cpu/simd/row.h"
#include "cpu/simd/select.h"
#include "cpu/sort.h"

namespace sampler::cpu {

using contract::Rank;
using contract::RowParameters;
using contract::RowScale;
using contract::Share;

namespace {

// Shorter rows are not sampled to estimate the cut.
constexpr int64_t kLeastSampledRow = 2048;

// A sample that weighs this many times the heaviest token does not depend on a single token.
constexpr uint64_t kManyTokens = 64;

}  // namespace

// The `row` of contract::filtered_prefix. A prefix is represented by its cut.
class SimdRow::Filters {
 public:
  Filters(SimdRow &row, const RowScale &scale) : row_(row), passes_(row.passes_), scaling_{scale} {}

  Rank everything() const { return contract::lowest_cut(row_.kind()); }
  Rank shorter(Rank a, Rank b) const { return std::max(a, b); }

  Rank top_k(int32_t k, sampler_tie_rule ties, Rank seen) {
    if (k >= row_.row_.count) return seen;
    if (row_.list_.covers(seen)) {
      row_.shrink_list(seen);
    } else if (row_.list_.count < k) {
      row_.list_top(k, seen);
    }
    if (row_.list_.count < k) return seen;
    const Selected selected = select(row_.list_source(), nullptr, uint64_t(k));
    return cut_list(selected.value, uint64_t(k) - selected.above, ties, seen);
  }

  Rank top_p(Share share, sampler_tie_rule ties, Rank seen) {
    if (!row_.list_.covers(seen) && row_.is_sparse(seen)) row_.list_all(seen);
    if (!row_.list_.covers(seen)) return top_p_of_row(share, ties, seen);
    row_.shrink_list(seen);
    const uint64_t target = target_of(share, row_.weigh(row_.kept_of_list(), scaling_, nullptr));
    return cut_list_at_weight(select(row_.list_source(), &scaling_, target), target, ties, seen);
  }

  // Needs no pass: weights are monotone in values.
  Rank min_p(float p, Rank seen) const {
    const uint64_t heaviest = contract::weight(scaling_.row, row_.max());
    const uint64_t threshold = contract::min_p_threshold(p, heaviest);
    const uint32_t key =
        lowest_key_of_weight(scaling_.row, threshold, contract::key_of_rank(everything()),
                             contract::key_of_rank(row_.first_));
    return shorter(seen, contract::rank_of_key(key));
  }

 private:
  // The cut's value is in [low, below); `below` +inf: no bound. Tokens of at least `below` weigh
  // `above`, less than the target.
  struct Bracket {
    float low;
    float below;
    uint64_t above;
  };

  // A sample of the row's values.
  struct Sample {
    RowView values;
    uint64_t weight;
  };

  // Estimate of the cut from a sample.
  struct Estimate {
    float low;
    bool is_dense;  // too many tokens >= `low` to list
  };

  // The heaviest tokens of a dense row: those of at least `from`. They usually weigh less than the
  // target.
  struct Heavy {
    float from;
    uint64_t weight;
  };

  // At least 1: the first token is always kept.
  static uint64_t target_of(Share share, uint64_t total) {
    return std::max<uint64_t>(contract::top_p_threshold(share, total), 1);
  }

  // By weight; by count if `scaling` is null.
  Selected select(const RowView &list, const Scaling *scaling, uint64_t target) {
    return cpu::select(passes_, &row_.places_, list, scaling, target, row_.scratch_values_);
  }

  // The cut at the n-th token of this value. `source` is in ascending id order.
  Rank cut_at(const RowView &source, float value, uint64_t n, sampler_tie_rule ties,
              Rank seen) const {
    if (ties == SAMPLER_TIES_KEEP)
      return shorter(seen, contract::rank_of_key(contract::value_key(value)));
    const int64_t index = passes_.find_nth(source, value, int64_t(n));
    return contract::rank_of(value, uint32_t(source.id(index)));
  }

  Rank cut_list(float value, uint64_t n, sampler_tie_rule ties, Rank seen) {
    const Rank cut = cut_at(row_.list_source(), value, n, ties, seen);
    row_.shrink_list(cut);
    return cut;
  }

  Rank cut_list_at_weight(const Selected &selected, uint64_t target, sampler_tie_rule ties,
                          Rank seen) {
    return cut_list(selected.value, num_of_value(selected, target), ties, seen);
  }

  // Number of tokens of the selected value needed to reach the target.
  uint64_t num_of_value(const Selected &selected, uint64_t target) const {
    const uint64_t wanted = target - selected.above;
    const uint64_t weight = contract::weight(scaling_.row, selected.value);
    return wanted / weight + (wanted % weight != 0);
  }

  Rank top_p_of_row(Share share, sampler_tie_rule ties, Rank seen) {
    const RowView &row = row_.row_;
    if (row.count < kLeastSampledRow) {
      const uint64_t total = row_.weigh(row_.kept_of_row(seen), scaling_, nullptr);
      const uint64_t target = target_of(share, total);
      const float low = lightest_kept(total - target, seen);
      row_.list_all(shorter(seen, contract::rank_of_key(contract::value_key(low))));
      return cut_list_at_weight(select(row_.list_source(), &scaling_, target), target, ties, seen);
    }
    const Sample sample = take_sample(contract::value_of_rank(seen));
    Heavy heavy;
    const uint64_t total = weigh_row(sample, share, seen, &heavy);
    const uint64_t target = target_of(share, total);
    Bracket bracket = {lightest_kept(total - target, seen), kInfinity, 0};
    Estimate estimate;
    if (make_estimate(sample, total - target, &estimate)) {
      estimate.low = std::max(estimate.low, bracket.low);
      Selected selected;
      if (!estimate.is_dense) {
        row_.list_all(shorter(seen, contract::rank_of_key(contract::value_key(estimate.low))));
        selected = select(row_.list_source(), &scaling_, target);
        if (selected.found) return cut_list_at_weight(selected, target, ties, seen);
      } else {
        estimate.low = std::min(estimate.low, heavy.from);
        selected = heavy.weight >= target
                       ? find_in_row({heavy.from, kInfinity, 0}, target)
                       : find_in_row({estimate.low, heavy.from, heavy.weight}, target);
        if (selected.found) return cut_row(selected, target, ties, seen);
      }
      // A cut outside the estimate lies below all values searched so far.
      bracket.below = estimate.low;
      bracket.above = selected.above;
    }
    return cut_row(find_in_row(bracket, target), target, ties, seen);
  }

  Sample take_sample(float lowest) {
    const RowView values = contract::f32_view(
        row_.spare_, passes_.sample(row_.row_, lowest, row_.places_.next(), row_.spare_));
    return {values, passes_.weigh(values, scaling_, 0, values.count, -kInfinity, nullptr)};
  }

  // Likely deviation of a sample's weight from its expected part: three standard deviations, if no
  // token is heavier than `heaviest`.
  static uint64_t spread_of(uint64_t part, uint64_t heaviest) {
    return part / 64 + 3 * uint64_t(std::sqrt(double(part) * double(heaviest)));
  }

  // Weight of `seen`. If the sample has no heavy tokens, the same pass also weighs the tokens that
  // top-p surely keeps.
  uint64_t weigh_row(const Sample &sample, Share share, Rank seen, Heavy *heavy) {
    *heavy = {kInfinity, 0};
    const Kept tokens = row_.kept_of_row(seen);
    const uint64_t cut_off = sample.weight - target_of(share, sample.weight);
    const uint64_t heaviest = contract::weight(scaling_.row, row_.max());
    const uint64_t not_surely_kept = cut_off + spread_of(cut_off, heaviest);
    if (sample.weight / kManyTokens < heaviest || not_surely_kept >= sample.weight) {
      return row_.weigh(tokens, scaling_, nullptr);
    }
    heavy->from = contract::next_value(
        select(sample.values, &scaling_, sample.weight - not_surely_kept).value);
    uint64_t total = 0;
    for_each_range(tokens, 0, row_.row_.count, [&](int64_t begin, int64_t end, float at_least) {
      const SplitWeight part =
          passes_.weigh_split(row_.row_, scaling_, begin, end, at_least, heavy->from);
      total += part.total;
      heavy->weight += part.heavy;
    });
    return total;
  }

  // Lower bound of the value at top-p's cut: all tokens below its weight together weigh at most
  // `cut_off`.
  float lightest_kept(uint64_t cut_off, Rank seen) const {
    const uint64_t light = cut_off / uint64_t(row_.row_.count);
    return contract::value_of_key(lowest_key_of_weight(
        scaling_.row, light, contract::key_of_rank(seen), contract::key_of_rank(row_.first_)));
  }

  Rank cut_row(const Selected &selected, uint64_t target, sampler_tie_rule ties, Rank seen) const {
    return cut_at(row_.row_, selected.value, num_of_value(selected, target), ties, seen);
  }

  // `above` of the result includes bracket.above.
  Selected find_in_row(const Bracket &bracket, uint64_t target) {
    const RowView between = contract::f32_view(
        row_.scratch_values_,
        passes_.pack(row_.row_, bracket.low, contract::previous_value(bracket.below),
                     row_.scratch_values_));
    Selected selected = select(between, &scaling_, target - bracket.above);
    selected.above += bracket.above;
    return selected;
  }

  // Estimates a value below the cut: the sample's tokens under it weigh slightly less than their
  // part of `cut_off`, by an eighth or by the likely deviation. False if the sample is too light.
  bool make_estimate(const Sample &sample, uint64_t cut_off, Estimate *estimate) {
    const RowView &values = sample.values;
    const uint64_t own = cut_off / uint64_t(kSampleStep);
    if (own == 0 || sample.weight <= own) return false;
    const uint64_t heaviest = contract::weight(scaling_.row, row_.max());
    const uint64_t surely_cut = own - std::min(own / 8, spread_of(own, heaviest));
    estimate->low = select(values, &scaling_, sample.weight - surely_cut).value;
    const int64_t num_from_low =
        passes_.count(values, 0, values.count, estimate->low) * kSampleStep;
    estimate->is_dense = num_from_low * kListShare > row_.row_.count;
    return true;
  }

  SimdRow &row_;
  const Passes &passes_;
  Scaling scaling_;
};

const Distribution &SimdRow::distribute(const RowParameters &parameters,
                                        const contract::FilterRules &rules) {
  distribution_.first = ~Rank(0);
  if (!lists_first_tokens(parameters, rules) && !weighs_edits_ && !list_edited()) apply_edits();
  Rank cut = first_;
  if (!contract::is_greedy(parameters.temperature)) {
    const bool at_1 = rules.temperature_order == SAMPLER_TEMPERATURE_LAST;
    Filters filters(*this,
                    contract::row_scale(kind(), max(), at_1 ? 1.0f : parameters.temperature));
    cut = contract::filtered_prefix(filters, parameters, rules);
    if (!list_.covers(cut) && is_sparse(cut)) list_all(cut);
  }
  weigh_kept(cut, parameters.temperature);
  return distribution_;
}

// Sets the distribution to the tokens that a cut keeps; the first token if greedy.
void SimdRow::weigh_kept(Rank cut, float temperature) {
  Distribution &result = distribution_;
  result.cut = cut;
  result.greedy = contract::is_greedy(temperature);
  result.scale = contract::row_scale(kind(), max(), result.greedy ? 1.0f : temperature);
  if (result.greedy || num_draws_ == 0) {
    result.kept_weight = contract::weight(result.scale, max());
  } else {
    weigh_kept(cut);
  }
  result.normalizer = contract::normalizer(result.kept_weight);
}

const Distribution &SimdRow::reweigh(const contract::Reweighing &stage, float *memory,
                                     ReweighedUse use) {
  constexpr contract::RowParameters kAll = {1.0f, 0, 1.0f, 0.0f};
  const Rank cut = distribution_.cut;
  const Kept kept = kept_of_row(cut);
  if (!list_.covers(cut) && kept.split == row_.count) {
    if (use == ReweighedUse::kDrawsByWeights && reweighs_later(stage, kept.at_least, memory)) {
      return distribution_;
    }
    const float max = passes_.reweigh(row_, stage, kept.at_least, memory, maxima_);
    begin(contract::f32_view(memory, row_.count));
    first_ = contract::rank_of(max, uint32_t(passes_.find_first(row_, maxima_, max)));
    return distribute(kAll, {});
  }
  if (!list_.covers(cut)) list_all(cut);
  const float max =
      passes_.reweigh(list_source(), stage, contract::value_of_rank(contract::lowest_cut(kind())),
                      list_values_, scratch_values_);
  if (use == ReweighedUse::kAny) {
    std::fill_n(memory, row_.count, -kInfinity);
    for (int64_t i = 0; i < list_.count; ++i) memory[list_ids_[i]] = list_values_[i];
    load(contract::f32_view(memory, row_.count));
    return distribute(kAll, {});
  }
  row_.kind = SAMPLER_LOGITS;
  is_only_listed_ = is_reweighed_ = true;
  list_.floor = contract::lowest_cut(SAMPLER_LOGITS);
  first_ = contract::rank_of(max, uint32_t(list_ids_[passes_.find_nth(list_source(), max, 1)]));
  distribution_.first = ~Rank(0);
  weigh_kept(list_.floor, 1.0f);
  return distribution_;
}

// Weighs adaptive-p's new logits of the kept tokens, those of at least `at_least`. False for other
// rows and stages.
bool SimdRow::reweighs_later(const contract::Reweighing &stage, float at_least, float *memory) {
  if (stage.smooths || !relative_.is_written || !relative_.has_marks) return false;
  const contract::AdaptiveP &rules = stage.adaptive_p;
  const float max = rules.logit_of(nearest_probability(rules, at_least));
  const int64_t num_blocks = (row_.count + kWeightBlock - 1) / kWeightBlock;
  std::fill_n(block_weights_, num_blocks, 0);
  later_ = {&stage, at_least, memory};
  list_ = {};
  Distribution &result = distribution_;
  result.cut = contract::lowest_cut(SAMPLER_LOGITS);
  result.scale = contract::logits_row_scale(max, 1.0f);
  result.kept_weight = passes_.weigh_adaptive(memory, row_.count, rules, max, block_weights_);
  result.normalizer = contract::normalizer(result.kept_weight);
  return true;
}

// The rounded probability nearest to the wanted one, of the tokens of at least `at_least`.
float SimdRow::nearest_probability(const contract::AdaptiveP &rules, float at_least) {
  constexpr int64_t kMostGroups = 64;
  const float largest = rules.rounded_probability(max());
  const float least = rules.rounded(relative_.least);
  if (largest <= rules.wanted) return largest;
  if (least >= rules.wanted) return least;
  // The lowest value whose probability is above the wanted one.
  const uint32_t highest = contract::value_key(max());
  const float bound = contract::value_of_key(
      first_key(contract::value_key(at_least), highest, highest,
                [&](float x) { return rules.rounded_probability(x) > rules.wanted; }));
  const float most = contract::previous_value(bound);
  const RowView maxima = contract::f32_view(maxima_, num_maxima());
  const bool are_few = passes_.count(maxima, 0, maxima.count, bound) <= kMostGroups;
  float above = max();
  if (!are_few) above = passes_.find_range(row_, 0, row_.count, bound, kInfinity).least;
  // A group with larger values has a maximum that is no element of the range.
  const RowView &source = are_few ? maxima : row_;
  const ValueRange range = passes_.find_range(source, 0, source.count, at_least, most);
  float below = range.count > 0 ? range.largest : -kInfinity;
  if (are_few) {
    const ListRange larger = {bound, kUnlimited};
    const int64_t num_groups =
        passes_.list(maxima, nullptr, 0, maxima.count, larger, scratch_values_, scratch_ids_).count;
    for (int64_t i = 0; i < num_groups; ++i) {
      const int64_t group = scratch_ids_[i];
      int64_t id = group / kVectorElements * kGroupBlock + group % kVectorElements;
      for (; id < row_.count && id / kGroupBlock == group / kVectorElements;
           id += kVectorElements) {
        const float x = row_.value(id);
        if (x >= bound) above = std::min(above, x);
        if (x < bound && x >= at_least) below = std::max(below, x);
      }
    }
  }
  const float p = rules.rounded_probability(above);
  if (below < at_least) return p;
  const float q = rules.rounded_probability(below);
  return rules.logit_of(q) > rules.logit_of(p) ? q : p;
}

// Gives the row the new logits.
void SimdRow::reweigh_now() {
  const auto later = later_;
  passes_.reweigh(row_, *later.stage, later.at_least, later.memory, scratch_values_);
  row_ = contract::f32_view(later.memory, row_.count);
  later_ = {};
}

Rank SimdRow::top_k_cut(int64_t k, Rank seen) {
  return Filters(*this, {}).top_k(int32_t(k), SAMPLER_TIES_EXACT, seen);
}

Rank SimdRow::top_p_cut(const RowScale &scale, Share share, Rank seen) {
  return Filters(*this, scale).top_p(share, SAMPLER_TIES_EXACT, seen);
}

// Weighs the tokens of the cut at the distribution's scale.
void SimdRow::weigh_kept(Rank cut) {
  if (list_.covers(cut) && !has_others_) shrink_list(cut);
  distribution_.cut = cut;
  const Kept tokens = kept();
  has_sums_ = is_worth_sums(num_draws_, tokens);
  if (has_sums_) {
    distribution_.kept_weight = sum_weights(tokens);
    return;
  }
  std::fill_n(block_weights_, (tokens.source.count + kWeightBlock - 1) / kWeightBlock, 0);
  if (weighs_edits(cut)) {
    distribution_.kept_weight = weigh_edited(tokens);
    return;
  }
  const bool is_whole = !list_.covers(cut) && !has_earlier_;
  relative_.is_written = relative_.out && is_whole;
  if (!relative_.is_written) {
    distribution_.kept_weight = weigh(tokens, {distribution_.scale}, block_weights_);
    return;
  }
  distribution_.kept_weight = 0;
  relative_.least = kInfinity;
  for_each_range(tokens, 0, row_.count, [&](int64_t begin, int64_t end, float at_least) {
    if (!relative_.has_marks) {
      distribution_.kept_weight += passes_.weigh_and_write(row_, {distribution_.scale}, begin, end,
                                                           at_least, block_weights_, relative_.out);
      return;
    }
    const MarkedWeight weight =
        passes_.weigh_and_mark(row_, {distribution_.scale}, begin, end, at_least, relative_.out);
    distribution_.kept_weight += weight.total;
    relative_.least = std::min(relative_.least, weight.least);
  });
}

uint64_t SimdRow::total_weight() const {
  const Scaling scaling = {contract::row_scale(kind(), max(), 1.0f)};
  return passes_.weigh(row_, scaling, 0, row_.count, -kInfinity, nullptr);
}

int64_t SimdRow::select(int64_t wanted, const Rank **ranks) {
  const Rank everything = contract::lowest_cut(kind());
  const RowScale scale = contract::row_scale(kind(), max(), 1.0f);
  if (wanted < row_.count) {
    const Rank seen = list_.count >= wanted ? list_.floor : everything;  // the list has enough
    Filters(*this, scale).top_k(int32_t(wanted), SAMPLER_TIES_EXACT, seen);
  } else {
    list_all(everything);
  }
  const int64_t count = list_.count;
  for (int64_t i = 0; i < count; ++i) {
    scratch_wide_[i] = contract::rank_of(list_values_[i], uint32_t(list_ids_[i]));
  }
  list_ = {};  // its memory is reused by the sort
  *ranks = sort_ranks(scratch_wide_, count, list_wide_);
  return count;
}

}  // namespace sampler::cpu
