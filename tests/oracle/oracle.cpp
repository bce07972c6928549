#include "oracle.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace oracle {
namespace {

constexpr Real kInfinity = std::numeric_limits<Real>::infinity();
constexpr float kGreedyTemperature = 1e-5F;
constexpr float kLargestTemperature = 0x1p64F;
constexpr Real kLn2 = 0.693147180559945309417232121458176568L;
constexpr Real kLog2E = 1.44269504088896340735992468100189214L;
constexpr Real kHalfUlpF32 = 0x1p-24L;  // relative error of one f32 rounding

// The library's weight of a logit x, at distance d = (m - x) * log2e / T >= 0 below the maximum m.
// The exact weight is 2^-d. The library computes p(f) * 2^(n+1) from
//
//     t = fl(fl(x - m) * c - 1),   c = fl(log2e_f32 / T),   n + f = t
//
// with these errors:
//   fl(x - m)    relative 2^-24 (subtraction never underflows inexactly)     -> d * 2^-24 in t
//   c            relative 2^-24 of the division, 1.4e-8 of log2e in f32      -> d * 7.4e-8 in t
//   fl of t      relative 2^-24 of |t| = 1 + d                               -> (1 + d) * 2^-24
//   n, f         exact
//   p(f)         relative 1.7e-7, its own rounding included
//   2^-44 units  absolute 2^-45; weights below 2^-45 vanish, the same bound
// A change of dt in t changes the weight by a factor of 2^dt, to first order by ln2 * dt
// relatively. The error grows with d, but such a token weighs 2^-d: the sum over a row stays small.
// The maximum itself has t = -1, f = 0, p(0) = 1: its weight is exact.
constexpr Real kExp2Error = 1.7e-7L;
constexpr Real kUnitError = 0x1p-45L;
// Second-order terms (dt < 1e-5 wherever a weight is not 0) and expl's own error of 2^-57.
constexpr Real kSafety = 1.01L;

Real logit_relative_error(Real distance) {
  const Real log2e_f32 = static_cast<Real>(static_cast<float>(kLog2E));
  const Real log2e_error = std::abs(log2e_f32 - kLog2E) / kLog2E;
  const Real t_error =
      distance * (kHalfUlpF32 + kHalfUlpF32 + log2e_error) + (1 + distance) * kHalfUlpF32;
  // Far below the maximum the first-order bound exceeds 1, but both weights are then below 2^-45.
  return std::min(kSafety * (kExp2Error + kLn2 * t_error), Real{1});
}

Real clamp_temperature(float temperature) {
  return static_cast<Real>(std::min(temperature, kLargestTemperature));
}

bool is_multiple_of_unit(Real value) {
  const Real units = std::ldexp(value, 44);
  return units == std::floor(units);
}

}  // namespace

float f16_to_f32(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int fraction = bits & 0x3ff;
  float magnitude;
  if (exponent == 31) {
    magnitude = fraction != 0 ? std::numeric_limits<float>::quiet_NaN()
                              : std::numeric_limits<float>::infinity();
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(fraction), -24);
  } else {
    magnitude = std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

float bf16_to_f32(std::uint16_t bits) {
  const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

std::uint16_t f32_to_f16(float value) {
  const std::uint32_t sign = std::signbit(value) ? 0x8000U : 0U;
  const double magnitude = std::abs(static_cast<double>(value));
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7e00U);
  // Below 65520, the midpoint between the largest f16 and 2^16, a value rounds to a finite one.
  if (magnitude >= 65520.0) return static_cast<std::uint16_t>(sign | 0x7c00U);
  if (magnitude == 0.0) return static_cast<std::uint16_t>(sign);
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  // Spacing of f16 around the magnitude: 11 bits, no finer than 2^-24.
  const int spacing = std::max(exponent - 11, -24);
  const double units = std::nearbyint(std::ldexp(magnitude, -spacing));
  // Counted in steps from 0: each binade above 2^-14 adds 1024 of them, a carry included.
  const double steps = spacing == -24 ? units : units + 1024.0 * (spacing + 24);
  return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(steps));
}

std::uint16_t f32_to_bf16(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16 & 0x8000U) | 0x7fc0U);
  const std::uint32_t dropped = bits & 0xffffU;
  std::uint32_t kept = bits >> 16;
  if (dropped > 0x8000U || (dropped == 0x8000U && (kept & 1U) != 0)) ++kept;
  return static_cast<std::uint16_t>(kept);
}

Row Row::from_logits(const std::vector<float> &logits) {
  std::vector<std::int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  return from_candidates(ids, logits);
}

Row Row::from_candidates(const std::vector<std::int32_t> &ids, const std::vector<float> &logits) {
  assert(ids.size() == logits.size());
  Row row;
  row.columns_ = static_cast<std::int64_t>(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const float x = logits[i];
    if (std::isnan(x) || x == std::numeric_limits<float>::infinity()) {
      row.status_ = RowStatus::kInvalid;
    }
    if (x == -std::numeric_limits<float>::infinity()) continue;
    row.ids_.push_back(ids[i]);
    row.values_.push_back(x);
  }
  row.sort_and_index(std::is_sorted(ids.begin(), ids.end()));
  return row;
}

Row Row::from_probabilities(const std::vector<float> &probabilities) {
  Row row;
  row.is_logits_ = false;
  row.columns_ = static_cast<std::int64_t>(probabilities.size());
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    const float p = probabilities[i];
    if (!(p >= 0.0F) || std::isinf(p)) row.status_ = RowStatus::kInvalid;
    if (p == 0.0F) continue;
    row.ids_.push_back(static_cast<std::int32_t>(i));
    row.values_.push_back(p);
  }
  row.sort_and_index(true);
  return row;
}

Row Row::for_selection(const std::vector<std::int32_t> &ids, const std::vector<float> &values,
                       bool is_logits) {
  Row row;
  const Real least = is_logits ? -kInfinity : Real{0};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Real x = values[i];
    if (!(x >= least)) row.status_ = RowStatus::kInvalid;
    if (x == least) continue;
    row.ids_.push_back(ids[i]);
    row.values_.push_back(values[i]);
  }
  row.sort_and_index(std::is_sorted(ids.begin(), ids.end()));
  return row;
}

void Row::sort_and_index(bool ids_ascend) {
  if (status_ == RowStatus::kInvalid) {
    ids_.clear();
    values_.clear();
    return;
  }
  if (ids_.empty()) {
    status_ = RowStatus::kEmpty;
    return;
  }
  const std::size_t n = ids_.size();
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Float comparison makes -0 equal to +0, as rank order wants.
  std::sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
    return values_[a] != values_[b] ? values_[a] > values_[b] : ids_[a] < ids_[b];
  });

  std::vector<std::int32_t> ids(n);
  std::vector<float> values(n);
  ranks_by_id_.resize(n);
  for (std::size_t rank = 0; rank < n; ++rank) {
    ids[rank] = ids_[order[rank]];
    values[rank] = values_[order[rank]];
    if (ids_ascend) ranks_by_id_[order[rank]] = static_cast<std::int64_t>(rank);
  }
  ids_ = std::move(ids);
  values_ = std::move(values);
  if (!ids_ascend) {
    std::iota(ranks_by_id_.begin(), ranks_by_id_.end(), std::int64_t{0});
    std::sort(ranks_by_id_.begin(), ranks_by_id_.end(), [this](std::int64_t a, std::int64_t b) {
      return ids_[static_cast<std::size_t>(a)] < ids_[static_cast<std::size_t>(b)];
    });
  }

  tie_begin_.resize(n);
  tie_end_.resize(n);
  for (std::size_t begin = 0; begin < n;) {
    std::size_t end = begin + 1;
    while (end < n && values_[end] == values_[begin]) ++end;
    for (std::size_t rank = begin; rank < end; ++rank) {
      tie_begin_[rank] = static_cast<std::int64_t>(begin);
      tie_end_[rank] = static_cast<std::int64_t>(end);
    }
    begin = end;
  }
}

std::int64_t Row::rank_of(std::int32_t id) const {
  const auto position = std::lower_bound(ranks_by_id_.begin(), ranks_by_id_.end(), id,
                                         [this](std::int64_t rank, std::int32_t key) {
                                           return ids_[static_cast<std::size_t>(rank)] < key;
                                         });
  if (position == ranks_by_id_.end()) return -1;
  return ids_[static_cast<std::size_t>(*position)] == id ? *position : -1;
}

const Weights &Row::weights(float temperature) const {
  const float key = is_logits_ ? std::min(temperature, kLargestTemperature) : 1.0F;
  const auto known = weights_.find(key);
  if (known != weights_.end()) return known->second;
  for (auto entry = weights_.begin(); entry != weights_.end();) {
    entry = entry->first == 1.0F ? std::next(entry) : weights_.erase(entry);
  }
  Weights &made = weights_[key];
  if (is_logits_) {
    weigh_logits(key, &made);
  } else {
    weigh_probabilities(&made);
  }
  finish_weights(&made);
  return made;
}

Real Row::distance(std::int64_t rank, float temperature) const {
  const Real below = static_cast<Real>(value(0)) - static_cast<Real>(value(rank));
  return below / clamp_temperature(temperature) * kLog2E;
}

Real Row::relative_error(std::int64_t rank, float temperature) const {
  if (!is_logits_ || value(rank) == value(0)) return 0;
  return logit_relative_error(distance(rank, temperature));
}

void Row::weigh_logits(float temperature, Weights *out) const {
  assert(temperature > kGreedyTemperature);
  const Real maximum = static_cast<Real>(values_[0]);
  const Real inverse_scale = clamp_temperature(temperature);
  Real weight = 1;
  Real error = 0;
  for (std::size_t rank = 0; rank < values_.size(); ++rank) {
    if (rank > 0 && values_[rank] != values_[rank - 1]) {
      const Real nats = (static_cast<Real>(values_[rank]) - maximum) / inverse_scale;
      weight = std::exp(nats);
      error = logit_relative_error(-nats * kLog2E) * weight + kUnitError;
    }
    out->weight.push_back(weight);
    out->error.push_back(error);
  }
  out->first_inexact = tie_end_[0];
}

// Scales a probability by a power of two, which is exact, and rounds it to a multiple of 2^-44.
void Row::weigh_probabilities(Weights *out) const {
  int exponent = 0;
  // frexp is in [0.5, 1); a power of two must become 1 instead of 0.5.
  const float fraction = std::frexp(values_[0], &exponent);
  if (fraction == 0.5F) --exponent;
  out->first_inexact = size();
  for (std::size_t rank = 0; rank < values_.size(); ++rank) {
    const Real weight = std::ldexp(static_cast<Real>(values_[rank]), -exponent);
    const bool is_exact = is_multiple_of_unit(weight);
    out->weight.push_back(weight);
    out->error.push_back(is_exact ? Real{0} : std::min(kUnitError, weight));
    if (!is_exact)
      out->first_inexact = std::min(out->first_inexact, static_cast<std::int64_t>(rank));
  }
}

void Row::finish_weights(Weights *out) const {
  out->weight_sum.assign(1, Real{0});
  out->error_sum.assign(1, Real{0});
  for (std::size_t rank = 0; rank < out->weight.size(); ++rank) {
    out->weight_sum.push_back(out->weight_sum.back() + out->weight[rank]);
    out->error_sum.push_back(out->error_sum.back() + out->error[rank]);
  }
}

std::int64_t Row::extend_over_ties(std::int64_t count, std::int64_t size, Ties ties) const {
  if (ties == Ties::kExact || count == 0) return count;
  return std::min(tie_end(count - 1), size);
}

Cut Row::apply_top_k(const Cut &input, std::int64_t k, Ties ties) const {
  Cut cut = input;
  cut.margin = kInfinity;
  if (k <= 0 || k >= columns_) return cut;
  for (std::int64_t *count : {&cut.count, &cut.lowest, &cut.highest}) {
    if (k < *count) *count = extend_over_ties(k, *count, ties);
  }
  return cut;
}

// More tokens before the filter mean more weight, a higher threshold and a later cut: the ends of
// the interval before the filter give those after it.
Cut Row::apply_top_p(const Weights &weights, const Cut &input, const Filters &filters) const {
  Cut cut = cut_top_p(weights, input.count, filters);
  if (input.lowest != input.count) {
    cut.lowest = cut_top_p(weights, input.lowest, filters).lowest;
  }
  if (input.highest != input.count) {
    cut.highest = cut_top_p(weights, input.highest, filters).highest;
  }
  return cut;
}

// The shortest prefix whose weight S_j reaches, or exceeds, p * W, among the first `size` ranks of
// total weight W.
//
// The library decides by the sign of S'_j - p * W', exactly, on weights that are each within
// their error e_i of the weights here. Tokens in the prefix enter with the factor 1 - p, the
// others with -p, so the difference moves by at most
//     (1 - p) * sum of e_i, i < j   +   p * sum of e_i, i >= j,
// where tokens of one value move together: for the tie that the cut runs through, with a
// tokens inside and b outside, that is |(1 - p) * a - p * b| * e. If the exact difference at j is
// farther from 0 than this, the library is on the same side; its sums rise with j, so a side
// known at j bounds the cut.
Cut Row::cut_top_p(const Weights &weights, std::int64_t size, const Filters &filters) const {
  const float p = filters.top_p;
  const Ties ties = filters.top_p_ties;
  if (p >= 1.0F) return {size, size, size, kInfinity};
  if (p <= 0.0F) {
    const std::int64_t count = extend_over_ties(1, size, ties);
    return {count, count, count, kInfinity};
  }
  const Real share = static_cast<Real>(p);
  const auto n = static_cast<std::size_t>(size);
  const Real total = weights.weight_sum[n];
  const Real threshold = share * total;
  const auto excess = [&](std::int64_t j) {
    return weights.weight_sum[static_cast<std::size_t>(j)] - threshold;
  };
  // Bound of the errors of summing and multiplying in long double here.
  const std::int64_t inexact = std::max<std::int64_t>(size - weights.first_inexact, 0);
  const Real own_error =
      static_cast<Real>(inexact) * 0x1p-64L * total + std::abs(std::fma(share, total, -threshold));
  const auto bound = [&](std::int64_t j) {
    const std::int64_t begin = tie_begin(j - 1);
    const std::int64_t end = std::min(tie_end(j - 1), size);
    const auto inside = static_cast<Real>(j - begin);
    const auto outside = static_cast<Real>(end - j);
    return (1 - share) * weights.error_sum[static_cast<std::size_t>(begin)] +
           std::abs((1 - share) * inside - share * outside) *
               weights.error[static_cast<std::size_t>(begin)] +
           share * (weights.error_sum[n] - weights.error_sum[static_cast<std::size_t>(end)]) +
           own_error;
  };

  const auto is_enough = [&](Real more) { return filters.top_p_exceeds ? more > 0 : more >= 0; };
  std::int64_t below = 0;  // largest count known to be too small
  std::int64_t cut = size;
  while (cut - below > 1) {
    const std::int64_t middle = below + (cut - below) / 2;
    (is_enough(excess(middle)) ? cut : below) = middle;
  }
  std::int64_t lowest = cut;
  while (lowest > 1 && is_enough(excess(lowest - 1) + bound(lowest - 1))) --lowest;
  std::int64_t highest = cut;
  while (highest < size && !is_enough(excess(highest) - bound(highest))) ++highest;

  return {extend_over_ties(cut, size, ties), extend_over_ties(lowest, size, ties),
          extend_over_ties(highest, size, ties), std::min(excess(cut), -excess(cut - 1)) / total};
}

Cut Row::cut_min_p(const Weights &weights, float p) const {
  if (p <= 0.0F) return {size(), size(), size(), kInfinity};
  // Exact: 24 bits times 24 bits.
  const Real threshold = static_cast<Real>(std::min(p, 1.0F)) * weights.weight[0];
  const auto weight = [&](std::int64_t rank) {
    return weights.weight[static_cast<std::size_t>(rank)];
  };
  const auto error = [&](std::int64_t rank) {
    return weights.error[static_cast<std::size_t>(rank)];
  };
  // Weights are monotone in the rank; the first is never below the threshold.
  const auto first_below = std::partition_point(weights.weight.begin(), weights.weight.end(),
                                                [&](Real w) { return w >= threshold; });
  Cut cut;
  cut.count = static_cast<std::int64_t>(first_below - weights.weight.begin());
  cut.lowest = cut.count;
  while (cut.lowest > 1 && weight(cut.lowest - 1) - error(cut.lowest - 1) < threshold) --cut.lowest;
  cut.highest = cut.count;
  while (cut.highest < size() && weight(cut.highest) + error(cut.highest) >= threshold) {
    ++cut.highest;
  }
  cut.margin = weight(cut.count - 1) - threshold;
  if (cut.count < size()) cut.margin = std::min(cut.margin, threshold - weight(cut.count));
  cut.margin /= weights.weight[0];
  return cut;
}

namespace {

Cut intersect(const Cut &a, const Cut &b) {
  return {std::min(a.count, b.count), std::min(a.lowest, b.lowest), std::min(a.highest, b.highest),
          std::min(a.margin, b.margin)};
}

}  // namespace

Kept Row::keep(const Filters &filters) const {
  Kept kept;
  kept.status = status_;
  if (std::isnan(filters.temperature) || filters.temperature > kLargestTemperature ||
      std::isnan(filters.top_p) || std::isnan(filters.min_p)) {
    kept.status = RowStatus::kInvalid;
  }
  const bool is_greedy = filters.temperature <= kGreedyTemperature;
  if (!is_logits_ && !is_greedy && filters.temperature != 1.0F) kept.status = RowStatus::kInvalid;
  if (kept.status != RowStatus::kOk) return kept;

  if (is_greedy) {
    kept.greedy = true;
    kept.all = {1, 1, 1, kInfinity};
    kept.top_k = kept.top_p = kept.min_p = kept.all;
    return kept;
  }
  const bool filters_see_one = filters.temperature_order == TemperatureOrder::kLast;
  const Weights &seen = weights(filters_see_one ? 1.0F : filters.temperature);
  const Cut whole = {size(), size(), size(), kInfinity};
  kept.min_p = cut_min_p(seen, filters.min_p);
  switch (filters.filter_order) {
    case FilterOrder::kSequential:
      kept.top_k = apply_top_k(whole, filters.top_k, filters.top_k_ties);
      kept.top_p = apply_top_p(seen, kept.top_k, filters);
      kept.all = intersect(kept.top_p, kept.min_p);
      break;
    case FilterOrder::kJoint:
      kept.top_k = apply_top_k(whole, filters.top_k, filters.top_k_ties);
      kept.top_p = apply_top_p(seen, whole, filters);
      kept.all = intersect(intersect(kept.top_k, kept.top_p), kept.min_p);
      break;
    case FilterOrder::kMinPFirst:
      kept.top_k = apply_top_k(kept.min_p, filters.top_k, filters.top_k_ties);
      kept.top_p = apply_top_p(seen, kept.top_k, filters);
      kept.all = kept.top_p;
      kept.all.margin = std::min(kept.top_p.margin, kept.min_p.margin);
      break;
  }
  return kept;
}

std::vector<Real> Row::distribution(float temperature, std::int64_t kept) const {
  std::vector<Real> probabilities(static_cast<std::size_t>(kept), Real{0});
  if (kept == 0) return probabilities;
  if (temperature <= kGreedyTemperature) {
    probabilities[0] = 1;
    return probabilities;
  }
  const Weights &seen = weights(temperature);
  for (std::size_t rank = 0; rank < probabilities.size(); ++rank) {
    probabilities[rank] = seen.weight[rank] / seen.weight_sum[probabilities.size()];
  }
  return probabilities;
}

Real Row::logprob(std::int32_t id, float temperature, std::int64_t kept) const {
  const std::int64_t rank = rank_of(id);
  if (rank < 0 || rank >= kept) return -kInfinity;
  if (temperature <= kGreedyTemperature) return rank == 0 ? 0 : -kInfinity;
  const Real total = weights(temperature).weight_sum[static_cast<std::size_t>(kept)];
  if (!is_logits_) {
    return std::log(weights(temperature).weight[static_cast<std::size_t>(rank)] / total);
  }
  const Real nats = (static_cast<Real>(value(rank)) - static_cast<Real>(value(0))) /
                    clamp_temperature(temperature);
  return nats - std::log(total);
}

std::array<std::uint32_t, 4> philox(const std::array<std::uint32_t, 4> &counter,
                                    const std::array<std::uint32_t, 2> &key) {
  std::array<std::uint32_t, 4> x = counter;
  std::array<std::uint32_t, 2> k = key;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53U} * x[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57U} * x[2];
    x = {static_cast<std::uint32_t>(product1 >> 32) ^ x[1] ^ k[0],
         static_cast<std::uint32_t>(product1),
         static_cast<std::uint32_t>(product0 >> 32) ^ x[3] ^ k[1],
         static_cast<std::uint32_t>(product0)};
    k[0] += 0x9E3779B9U;
    k[1] += 0xBB67AE85U;
  }
  return x;
}

namespace {

std::array<std::uint32_t, 4> words(const Draw &draw, Purpose purpose, std::uint32_t index) {
  return philox(
      {static_cast<std::uint32_t>(draw.offset), static_cast<std::uint32_t>(draw.offset >> 32),
       draw.stream, static_cast<std::uint32_t>(purpose) << 24 | index},
      {static_cast<std::uint32_t>(draw.seed), static_cast<std::uint32_t>(draw.seed >> 32)});
}

}  // namespace

std::uint64_t word64(const Draw &draw, Purpose purpose, std::uint32_t index) {
  const auto w = words(draw, purpose, index);
  return std::uint64_t{w[1]} << 32 | w[0];
}

std::uint32_t word32(const Draw &draw, Purpose purpose, std::uint32_t index) {
  return words(draw, purpose, index)[0];
}

DrawTable::DrawTable(const Row &row, float temperature, std::int64_t kept)
    : weight_sum_(1, Real{0}), error_sum_(1, Real{0}) {
  assert(kept >= 1);
  if (kept == 1) {
    ids_ = {row.ids()[0]};
    weight_sum_.push_back(1);
    error_sum_.push_back(0);
    return;
  }
  const Weights &weights = row.weights(temperature);
  for (const std::int64_t rank : row.ranks_by_id()) {
    if (rank >= kept) continue;
    const auto i = static_cast<std::size_t>(rank);
    ids_.push_back(row.ids()[i]);
    weight_sum_.push_back(weight_sum_.back() + weights.weight[i]);
    // Each addition here is rounded, too, by 2^-64 of a sum below 2^20.
    error_sum_.push_back(error_sum_.back() + weights.error[i] + 0x1p-44L * (rank >= 1 ? 1 : 0));
  }
}

DrawTable::DrawTable(const std::vector<Real> &weights, const std::vector<Real> &errors)
    : weight_sum_(1, Real{0}), error_sum_(1, Real{0}) {
  for (std::size_t i = 0; i < weights.size(); ++i) {
    ids_.push_back(static_cast<std::int32_t>(i));
    weight_sum_.push_back(weight_sum_.back() + weights[i]);
    error_sum_.push_back(error_sum_.back() + errors[i]);
  }
}

std::int32_t DrawTable::nominal(std::uint64_t word) const {
  const Real target = std::ldexp(static_cast<Real>(word), -64) * weight_sum_.back();
  const auto above = std::upper_bound(weight_sum_.begin() + 1, weight_sum_.end() - 1, target);
  return ids_[static_cast<std::size_t>(above - weight_sum_.begin()) - 1];
}

// The argument of cut_top_p, with u = word / 2^64 for p: `id` is drawn if S' before it <= u * W' <
// S' through it, and S'_j - u * W' is off by at most (1 - u) * errors before j + u * errors from j
// on.
bool DrawTable::admits(std::uint64_t word, std::int32_t id) const {
  const auto position = std::lower_bound(ids_.begin(), ids_.end(), id);
  if (position == ids_.end() || *position != id) return false;
  const auto before = static_cast<std::size_t>(position - ids_.begin());
  const Real u = std::ldexp(static_cast<Real>(word), -64);
  const Real target = u * weight_sum_.back();
  const auto bound = [&](std::size_t j) {
    return (1 - u) * error_sum_[j] + u * (error_sum_.back() - error_sum_[j]) +
           0x1p-63L * weight_sum_.back();
  };
  return weight_sum_[before] - target <= bound(before) &&
         weight_sum_[before + 1] - target >= -bound(before + 1);
}

namespace {

// -log2(-ln(1 - v)) of the token's uniform v, which the contract defines in f32.
Real gumbel_noise(const Draw &draw, std::int32_t id) {
  const auto lanes = words(draw, kGumbel, static_cast<std::uint32_t>(id) >> 2);
  const auto word = static_cast<float>(lanes[static_cast<std::size_t>(id & 3)]);
  const float v = std::min(std::fma(word, 0x1p-32F, 0x1p-33F), 1 - 0x1p-24F);
  return -std::log2(-std::log1p(-static_cast<Real>(v)));
}

// Noise is within +-36; the library's has an error of a few f32 roundings, four here.
constexpr Real kLargestNoise = 36;
constexpr Real kNoiseError = 4 * kLargestNoise * kHalfUlpF32;

}  // namespace

// score = x * c + noise in units of log2, c = log2e / T.
GumbelCheck check_gumbel(const Row &row, float temperature, std::int64_t kept, const Draw &draw,
                         std::int32_t id) {
  GumbelCheck check;
  Real best = -kInfinity;
  Real score_of_id = -kInfinity;
  const auto tolerance_of = [&](std::int64_t rank) {
    const auto i = static_cast<std::size_t>(rank);
    if (!row.is_logits()) {
      const Weights &weights = row.weights(1.0F);
      return kLog2E * weights.error[i] / weights.weight[i];
    }
    // c is off by 2^-24 + 1.4e-8, the fma rounds by 2^-24 of a sum of at most |x c| + 36.
    const Real scaled =
        static_cast<Real>(row.value(rank)) * kLog2E / clamp_temperature(temperature);
    return (std::abs(scaled) + kLargestNoise) * 3 * kHalfUlpF32;
  };
  std::int64_t nominal_rank = 0;
  for (std::int64_t rank = 0; rank < kept; ++rank) {
    const std::int32_t token = row.ids()[static_cast<std::size_t>(rank)];
    const auto value = static_cast<Real>(row.value(rank));
    const Real scaled =
        row.is_logits() ? value * kLog2E / clamp_temperature(temperature) : std::log2(value);
    const Real score = std::clamp(scaled + gumbel_noise(draw, token), -0x1p126L, 0x1p126L);
    if (token == id) {
      score_of_id = score;
      check.tolerance += tolerance_of(rank);
    }
    if (score > best || (score == best && token < check.nominal)) {
      best = score;
      check.nominal = token;
      nominal_rank = rank;
    }
  }
  check.shortfall = best - score_of_id;
  check.tolerance += tolerance_of(nominal_rank) + 2 * kNoiseError;
  return check;
}

SpeculativeLaw speculate(const std::vector<Distribution> &target,
                         const std::vector<Distribution> &draft,
                         const std::vector<std::int64_t> &draft_ids) {
  const std::size_t drafts = draft_ids.size();
  const std::size_t columns = target.front().size();
  assert(target.size() == drafts + 1);
  SpeculativeLaw law;
  for (std::size_t j = 0; j <= drafts; ++j) {
    Distribution next = target[j];
    if (j < drafts) {
      const std::int64_t id = draft_ids[j];
      const bool is_known = id >= 0 && id < static_cast<std::int64_t>(columns);
      Distribution q(columns, Real{0});
      if (!draft.empty()) {
        q = draft[j];
      } else if (is_known) {
        q[static_cast<std::size_t>(id)] = 1;
      }
      Real pass = 0;
      if (is_known) {
        const Real p_draft = target[j][static_cast<std::size_t>(id)];
        const Real q_draft = q[static_cast<std::size_t>(id)];
        // u * q < p with u in [0, 1): p = 0 never passes, q = 0 < p always does.
        pass = p_draft >= q_draft ? (p_draft > 0 ? 1 : 0) : p_draft / q_draft;
        Distribution residual(columns);
        for (std::size_t i = 0; i < columns; ++i) residual[i] = std::max(next[i] - q[i], Real{0});
        if (draft.empty()) residual[static_cast<std::size_t>(id)] = 0;
        if (std::any_of(residual.begin(), residual.end(), [](Real r) { return r > 0; })) {
          next = residual;
        }
      }
      law.pass.push_back(pass);
    }
    const Real sum = std::accumulate(next.begin(), next.end(), Real{0});
    for (Real &probability : next) probability /= sum;
    law.residual.push_back(next);
  }

  Real reached = 1;  // all drafts before this slot passed
  Real ended = 0;
  for (std::size_t slot = 0; slot <= drafts; ++slot) {
    const Real pass = slot < drafts ? law.pass[slot] : Real{0};
    Distribution marginal(columns + 1, Real{0});
    for (std::size_t i = 0; i < columns; ++i) {
      marginal[i] = reached * (1 - pass) * law.residual[slot][i];
    }
    if (pass > 0) marginal[static_cast<std::size_t>(draft_ids[slot])] += reached * pass;
    marginal[columns] = ended;
    law.marginal.push_back(marginal);
    law.emitted.push_back(reached * (1 - pass));
    ended += reached * (1 - pass);
    reached *= pass;
  }
  return law;
}

}  // namespace oracle
