// Where filters cut a row: the decisions are contract::filtered_prefix's.
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

// Shorter rows are not sampled for an estimate of the cut.
constexpr int64_t kLeastSampledRow = 2048;

// A sample that weighs so many times the heaviest token is not one heavy token's chance.
constexpr uint64_t kManyTokens = 64;

}  // namespace

// The row that contract::filtered_prefix asks. A prefix is its cut.
class SimdRow::Filters {
 public:
  Filters(SimdRow &row, const RowScale &scale) : row_(row), passes_(row.passes_), scaling_{scale} {}

  Rank everything() const { return contract::lowest_cut(row_.kind()); }
  Rank shorter(Rank a, Rank b) const { return std::max(a, b); }

  Rank top_k(int32_t k, sampler_tie_rule ties, Rank seen) {
    if (k >= row_.row_.count) return seen;
    // A list that there is holds no more than `seen`: the filters before have listed nothing else.
    if (!row_.list_.covers(seen) && row_.list_.count < k) row_.list_top(k, seen);
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

  // No pass: weights fall with values.
  Rank min_p(float p, Rank seen) const {
    const uint64_t heaviest = contract::weight(scaling_.row, row_.max());
    const uint64_t threshold = contract::min_p_threshold(p, heaviest);
    const uint32_t key =
        lowest_key_of_weight(scaling_.row, threshold, contract::key_of_rank(everything()),
                             contract::key_of_rank(row_.first_));
    return shorter(seen, contract::rank_of_key(key));
  }

 private:
  // Where the cut's value is looked for: in [low, below), below +inf: no bound. Tokens from `below`
  // up weigh `above`, less than the target.
  struct Bracket {
    float low;
    float below;
    uint64_t above;
  };

  // Values of a part of the row.
  struct Sample {
    RowView values;
    uint64_t weight;
  };

  // What a sample of the row expects.
  struct Estimate {
    float low;
    bool is_dense;  // too many tokens are from `low` up to be listed
  };

  // What a dense row's heaviest tokens weigh: all from `from` up. Less than the target, mostly.
  struct Heavy {
    float from;
    uint64_t weight;
  };

  // The first token is kept whatever the share is.
  static uint64_t target_of(Share share, uint64_t total) {
    return std::max<uint64_t>(contract::top_p_threshold(share, total), 1);
  }

  // By weights, or by counts without a scaling.
  Selected select(const RowView &list, const Scaling *scaling, uint64_t target) {
    return cpu::select(passes_, &row_.places_, list, scaling, target, row_.scratch_values_);
  }

  // The cut at the n-th token of this value in a source of tokens by ascending id.
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

  // How many tokens of the selected value it takes to reach the target.
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
      // A cut that is not where the sample expects it is below all that was looked through.
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

  // How much more or less than its part of such a weight a sample may well have: three standard
  // deviations, if none of its tokens is heavier than `heaviest`.
  static uint64_t spread_of(uint64_t part, uint64_t heaviest) {
    return part / 64 + 3 * uint64_t(std::sqrt(double(part) * double(heaviest)));
  }

  // The weight of what is seen. In the same pass, where a sample without heavy tokens tells which
  // they are, that of the tokens which top-p surely keeps.
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

  // The lowest value that top-p can cut at: all tokens below its weight together weigh at most what
  // the filter may cut off.
  float lightest_kept(uint64_t cut_off, Rank seen) const {
    const uint64_t light = cut_off / uint64_t(row_.row_.count);
    return contract::value_of_key(lowest_key_of_weight(
        scaling_.row, light, contract::key_of_rank(seen), contract::key_of_rank(row_.first_)));
  }

  Rank cut_row(const Selected &selected, uint64_t target, sampler_tie_rule ties, Rank seen) const {
    return cut_at(row_.row_, selected.value, num_of_value(selected, target), ties, seen);
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

  // From where a sample of the row has a little less than its part of the weight that the filter
  // may cut off: an eighth less, or for many tokens what chance makes of it. False when it is too
  // light to say.
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
  if (!lists_first_tokens(parameters, rules)) settle();
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

// The distribution of the tokens that a cut keeps. Greedy, that is the first token.
void SimdRow::weigh_kept(Rank cut, float temperature) {
  Distribution &result = distribution_;
  result.cut = cut;
  result.greedy = contract::is_greedy(temperature);
  result.scale = contract::row_scale(kind(), max(), result.greedy ? 1.0f : temperature);
  if (result.greedy) {
    result.kept_weight = contract::weight(result.scale, max());
  } else {
    weigh_kept(cut);
  }
  result.normalizer = contract::normalizer(result.kept_weight);
}

const Distribution &SimdRow::reweigh(const contract::AdaptiveP &stage, float *memory,
                                     bool draws_alone) {
  constexpr contract::RowParameters kAll = {1.0f, 0, 1.0f, 0.0f};
  const Rank cut = distribution_.cut;
  const Kept kept = kept_of_row(cut);
  if (!list_.covers(cut) && kept.split == row_.count) {
    const float max = passes_.reweigh(row_, stage, kept.at_least, memory, maxima_);
    begin(contract::f32_view(memory, row_.count));
    first_ = contract::rank_of(max, uint32_t(passes_.find_first(row_, maxima_, max)));
    return distribute(kAll, {});
  }
  if (!list_.covers(cut)) list_all(cut);
  const float max =
      passes_.reweigh(list_source(), stage, contract::value_of_rank(contract::lowest_cut(kind())),
                      list_values_, scratch_values_);
  if (!draws_alone) {
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

Rank SimdRow::top_k_cut(int64_t k, Rank seen) {
  return Filters(*this, {}).top_k(int32_t(k), SAMPLER_TIES_EXACT, seen);
}

Rank SimdRow::top_p_cut(const RowScale &scale, Share share, Rank seen) {
  return Filters(*this, scale).top_p(share, SAMPLER_TIES_EXACT, seen);
}

// Weighs the tokens of the cut, by the distribution's scale.
void SimdRow::weigh_kept(Rank cut) {
  if (list_.covers(cut) && !has_others_) shrink_list(cut);
  distribution_.cut = cut;
  const Kept tokens = kept();
  std::fill_n(block_weights_, (tokens.source.count + kWeightBlock - 1) / kWeightBlock, 0);
  distribution_.kept_weight = weigh(tokens, {distribution_.scale}, block_weights_);
}

uint64_t SimdRow::total_weight() const {
  const Scaling scaling = {contract::row_scale(kind(), max(), 1.0f)};
  return passes_.weigh(row_, scaling, 0, row_.count, -kInfinity, nullptr);
}

int64_t SimdRow::select(int64_t wanted, const Rank **ranks) {
  const Rank everything = contract::lowest_cut(kind());
  const RowScale scale = contract::row_scale(kind(), max(), 1.0f);
  if (wanted < row_.count) {
    const Rank seen = list_.count >= wanted ? list_.floor : everything;  // the list has them all
    Filters(*this, scale).top_k(int32_t(wanted), SAMPLER_TIES_EXACT, seen);
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

}  // namespace sampler::cpu
