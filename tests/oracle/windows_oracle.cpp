#include "windows_oracle.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <tuple>

#include "edits_oracle.h"

namespace oracle {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr float kLargestFloat = 0x1.fffffep127F;
constexpr float kLargestTemperature = 0x1p64F;

std::uint64_t in_64_bits(Wide sum) {
  if (sum >> 64 != 0) std::abort();
  return static_cast<std::uint64_t>(sum);
}

// ---- sections 4 and 8.3 ----

float horner(float argument, std::initializer_list<float> coefficients) {
  float sum = 0;
  bool is_first = true;
  for (const float coefficient : coefficients) {
    sum = is_first ? coefficient : std::fma(sum, argument, coefficient);
    is_first = false;
  }
  return sum;
}

// e of section 4.1.
float exp2_of_t_plus_1(float t) {
  if (!(t >= -101.0F)) return 0;
  const float n = std::nearbyint(t);
  const float p = horner(t - n, {0x1.5bba14p-10F, 0x1.3cea88p-7F, 0x1.c6b752p-5F, 0x1.ebf9bcp-3F,
                                 0x1.62e42ap-1F, 0x1p+0F});
  return std::ldexp(p, static_cast<int>(n) + 1);
}

// log2(y) + d.
float log2_plus(float y, int d) {
  int k = 0;
  float fraction = std::frexp(y, &k);  // in [0.5, 1)
  if (fraction < 0x1.6a09e6p-1F) {
    fraction *= 2;
    --k;
  }
  const float z = fraction - 1;
  const float q =
      horner(z, {0x1.01515cp-3F, -0x1.a75d36p-3F, 0x1.b96434p-3F, -0x1.e98638p-3F, 0x1.26dc6ep-2F,
                 -0x1.715b62p-2F, 0x1.ec736cp-2F, -0x1.715472p-1F, 0x1.715476p+0F});
  return std::fma(z, q, static_cast<float>(k + d));
}

std::uint64_t in_units(float relative) {
  return static_cast<std::uint64_t>(std::nearbyint(std::ldexp(static_cast<double>(relative), 44)));
}

// s of section 4.2.
int exponent_of(float largest) {
  int exponent = 0;
  const float fraction = std::frexp(largest, &exponent);
  return fraction == 0.5F ? 1 - exponent : -exponent;
}

struct Scale {
  bool is_logits;
  float first;
  float c;
  int s;
};

Scale scale_of(bool is_logits, float first, float temperature) {
  const float c = 0x1.715476p+0F / std::min(temperature, kLargestTemperature);
  return {is_logits, first, c, is_logits ? 0 : exponent_of(first)};
}

struct Relative {
  float r;
  float e;
};

Relative relative_of(const Scale &scale, float x) {
  if (scale.is_logits) {
    const float t = std::fma(x - scale.first, scale.c, -1.0F);
    return {t + 1.0F, exp2_of_t_plus_1(t)};
  }
  const double scaled = std::ldexp(static_cast<double>(x), scale.s);
  return {log2_plus(x, scale.s), static_cast<float>(scaled)};
}

std::uint64_t surprise_of(const Relative &token) {
  return token.e == 0 ? 0 : in_units(-token.r * token.e);
}

// floor(fraction * total) for a fraction in (0, 1], and whether that is exact.
struct Floor {
  std::uint64_t value;
  bool is_exact;
};
Floor floor_of(float fraction, std::uint64_t total) {
  int exponent = 0;
  const auto significand =
      static_cast<std::uint64_t>(std::ldexp(std::frexp(fraction, &exponent), 24));
  const int shift = 24 - exponent;
  const Wide product = Wide{significand} * total;
  if (shift >= 128) return {0, product == 0};
  const Wide floor = product >> shift;
  return {in_64_bits(floor), (floor << shift) == product};
}
std::uint64_t ceiling(float fraction, std::uint64_t total) {
  const Floor floor = floor_of(fraction, total);
  return floor.is_exact ? floor.value : floor.value + 1;
}

// The least weight that reaches the fraction, or exceeds it.
std::uint64_t least_of(float fraction, std::uint64_t total, bool exceeds) {
  return exceeds ? floor_of(fraction, total).value + 1 : ceiling(fraction, total);
}

float log2_of_sum(std::uint64_t weight) {
  return log2_plus(static_cast<float>(weight), -44);
}

// The value that top-n-sigma uses.
float sigma_value(const Scale &scale, float x) {
  return scale.is_logits ? x : relative_of(scale, x).r;
}

std::int64_t count_of(const std::vector<Level> &levels) {
  std::int64_t count = 0;
  for (const Level &level : levels) count += level.count;
  return count;
}

}  // namespace

// ---- section 13, to the bit ----

WindowSums window_sums(const std::vector<Level> &levels, bool is_logits, float temperature) {
  const Scale scale = scale_of(is_logits, levels[0].value, temperature);
  Wide weight = 0;
  Wide surprise = 0;
  for (const Level &level : levels) {
    const Relative token = relative_of(scale, level.value);
    weight += Wide{in_units(token.e)} * static_cast<std::uint64_t>(level.count);
    surprise += Wide{surprise_of(token)} * static_cast<std::uint64_t>(level.count);
  }
  return {in_64_bits(weight), in_64_bits(surprise)};
}

float mean_surprise_of(const WindowSums &sums) {
  return static_cast<float>(static_cast<double>(sums.surprise) / static_cast<double>(sums.weight));
}

float entropy_of(const WindowSums &sums) {
  return std::max(mean_surprise_of(sums) + log2_of_sum(sums.weight), 0.0F);
}

float sigma_of(const std::vector<Level> &levels, bool is_logits) {
  const Scale scale = scale_of(is_logits, levels[0].value, 1.0F);
  const float first = sigma_value(scale, levels.front().value);
  const float last = sigma_value(scale, levels.back().value);
  if (first == last) return 0;
  int exponent = 0;
  std::frexp(std::min(first - last, kLargestFloat), &exponent);
  const int k = 22 - exponent;  // puts the last one's distance into [2^21, 2^22)
  Wide sum = 0;
  Wide squares = 0;
  for (const Level &level : levels) {
    const float distance = std::min(first - sigma_value(scale, level.value), kLargestFloat);
    const double scaled = std::ldexp(static_cast<double>(distance), k);
    const auto u = static_cast<std::uint64_t>(std::nearbyint(scaled));
    sum += Wide{u} * static_cast<std::uint64_t>(level.count);
    squares += Wide{u} * u * static_cast<std::uint64_t>(level.count);
  }
  const auto n = static_cast<double>(count_of(levels));
  const double a = static_cast<double>(in_64_bits(sum)) / n;
  const double variance = static_cast<double>(in_64_bits(squares)) / n - a * a;
  const auto root = static_cast<float>(std::sqrt(variance));
  return static_cast<float>(std::ldexp(static_cast<double>(root), -k));
}

float dynamic_temperature_of(const std::vector<Level> &levels, float temperature, float range,
                             float exponent) {
  const float middle = std::min(temperature, kLargestTemperature);
  const float reach = std::min(range, kLargestTemperature);
  const float low = std::max(middle - reach, 0.0F);
  const float high = middle + reach;
  const std::int64_t n = count_of(levels);
  float q = 1;
  if (n > 1) {
    const float largest = log2_plus(static_cast<float>(n), 0);
    q = std::min(entropy_of(window_sums(levels, true, 1.0F)) / largest, 1.0F);
  }
  float p = q;
  if (q != 0 && q != 1) {
    p = exp2_of_t_plus_1(std::fma(std::max(exponent, 0.0F), log2_plus(q, 0), -1.0F));
  }
  return low + (high - low) * p;
}

Window::Window(const std::vector<float> &values, bool is_logits, float temperature,
               std::int64_t min_keep)
    : is_logits_(is_logits),
      temperature_(temperature),
      min_keep_(std::max(min_keep, std::int64_t{1})),
      values_(values),
      rank_order_(values.size()) {
  const Scale scale = scale_of(is_logits, values[0], temperature);
  for (const float value : values) {
    const Relative token = relative_of(scale, value);
    tokens_.push_back({token.r, in_units(token.e), surprise_of(token)});
    levels_.push_back({value, 1});
  }
  std::iota(rank_order_.begin(), rank_order_.end(), std::int64_t{0});
  sums_ = window_sums(levels_, is_logits, temperature);
}

Window::Places Window::finish(Places kept, const Places &order) const {
  if (static_cast<std::int64_t>(kept.size()) < min_keep_) {
    kept.assign(order.begin(), order.begin() + std::min(min_keep_, size()));
  }
  std::sort(kept.begin(), kept.end());
  return kept;
}

Window::Places Window::weighing(std::uint64_t least) const {
  Places kept;
  for (std::int64_t i = 0; i < size(); ++i) {
    if (tokens_[static_cast<std::size_t>(i)].weight >= least) kept.push_back(i);
  }
  return kept;
}

Window::Places Window::top_k(std::int64_t k, Ties ties) const {
  const float last = values_[static_cast<std::size_t>(std::min(k, size()) - 1)];
  Places kept;
  for (std::int64_t i = 0; i < size(); ++i) {
    const bool is_tie = ties == Ties::kKeep && values_[static_cast<std::size_t>(i)] == last;
    if (i < k || is_tie) kept.push_back(i);
  }
  return finish(kept, rank_order_);
}

Window::Places Window::top_p(float p, Ties ties, bool exceeds) const {
  const std::uint64_t threshold = p > 0 ? least_of(p, sums_.weight, exceeds) : 0;
  std::int64_t count = 1;
  std::uint64_t sum = tokens_[0].weight;
  while (sum < threshold) sum += tokens_[static_cast<std::size_t>(count++)].weight;
  const Places kept(rank_order_.begin(), rank_order_.begin() + count);
  return ties == Ties::kKeep ? top_k(count, ties) : finish(kept, rank_order_);
}

Window::Places Window::min_p(float p) const {
  return finish(weighing(ceiling(std::min(p, 1.0F), tokens_[0].weight)), rank_order_);
}

// With ties, tokens with the value of the last one that min_keep protects are kept.
Window::Places Window::cut_off(float fraction, Ties ties) const {
  const std::uint64_t least = ceiling(fraction, sums_.weight);
  if (ties == Ties::kExact) return finish(weighing(least), rank_order_);
  const float spared = values_[static_cast<std::size_t>(std::min(min_keep_, size()) - 1)];
  Places kept;
  for (std::int64_t i = 0; i < size(); ++i) {
    const auto place = static_cast<std::size_t>(i);
    if (tokens_[place].weight >= least || values_[place] >= spared) kept.push_back(i);
  }
  return kept;
}

Window::Places Window::epsilon(float epsilon, Ties ties) const {
  return cut_off(epsilon, ties);
}

Window::Places Window::eta(float epsilon, Ties ties) const {
  const float share = exp2_of_t_plus_1(-entropy_of(sums_) - 1.0F);
  const float fraction = std::min(epsilon, std::sqrt(epsilon) * share);
  return cut_off(fraction, ties);
}

Window::Places Window::top_n_sigma(float n) const {
  const Scale scale = scale_of(is_logits_, values_[0], 1.0F);
  const float sigma = sigma_of(levels_, is_logits_);
  const float product = sigma == 0 ? 0 : n * sigma;
  const float bound = sigma_value(scale, values_[0]) - product;
  Places kept;
  for (std::int64_t i = 0; i < size(); ++i) {
    if (sigma_value(scale, values_[static_cast<std::size_t>(i)]) >= bound) kept.push_back(i);
  }
  return finish(kept, rank_order_);
}

Window::Places Window::top_h(float share) const {
  const std::size_t seen = std::min<std::size_t>(100, tokens_.size());
  WindowSums all;
  for (std::size_t i = 0; i < seen; ++i) {
    all.weight += tokens_[i].weight;
    all.surprise += tokens_[i].surprise;
  }
  const double log2 = log2_of_sum(all.weight);
  const auto part = [&](const WindowSums &sums) {
    return static_cast<double>(sums.surprise) + log2 * static_cast<double>(sums.weight);
  };
  const double limit = static_cast<double>(share) * part(all);
  Places kept;
  WindowSums prefix;
  for (std::size_t i = 0; i < seen; ++i) {
    prefix.weight += tokens_[i].weight;
    prefix.surprise += tokens_[i].surprise;
    if (i > 0 && (part(all) <= 0 || part(prefix) > limit)) break;
    kept.push_back(static_cast<std::int64_t>(i));
  }
  return finish(kept, rank_order_);
}

// w * W >= the sum of w * w; the normalised threshold from its least weight.
Window::Places Window::p_less(bool is_norm) const {
  Wide squares = 0;
  for (const Token &token : tokens_) squares += Wide(token.weight) * token.weight;
  const Wide total = sums_.weight;
  auto least = static_cast<std::uint64_t>((squares + total - 1) / total);
  const auto others = static_cast<std::uint64_t>(size() - 1);
  if (is_norm && others > 0) least -= (sums_.weight - least) / others;
  return finish(weighing(least), rank_order_);
}

Window::Places Window::top_a(float share) const {
  const std::uint64_t first = tokens_[0].weight;
  const float of_first =
      std::min(share * (static_cast<float>(first) / static_cast<float>(sums_.weight)), 1.0F);
  const auto least =
      std::ceil(static_cast<long double>(of_first) * static_cast<long double>(first));
  return finish(weighing(std::max<std::uint64_t>(static_cast<std::uint64_t>(least), 1)),
                rank_order_);
}

Window::Places Window::min_k(float tau) const {
  const Scale scale = scale_of(is_logits_, values_[0], 1.0F);
  const auto value = [&](std::int64_t place) {
    return sigma_value(scale, values_[static_cast<std::size_t>(place)]);
  };
  const auto fall = [&](std::int64_t from, std::int64_t to) {
    return std::min(value(from) - value(to), std::numeric_limits<float>::max());
  };
  const std::int64_t num_highest = std::count(values_.begin(), values_.end(), values_[0]);
  if (num_highest == size()) return rank_order_;
  // The place, from 1 on, after which the values fall most steeply.
  std::int64_t kept = 0;
  float steepest = 0;
  const std::int64_t last = std::min(size() - 1, std::max<std::int64_t>(num_highest, 127));
  for (std::int64_t place = num_highest; place <= last; ++place) {
    const float steepness = fall(place - 1, place) / static_cast<float>(place);
    if (steepness > steepest) kept = place, steepest = steepness;
  }
  const float of_flat = tau / fall(0, size() - 1);
  kept = std::max(
      kept, of_flat < static_cast<float>(size()) ? static_cast<std::int64_t>(of_flat) : size());
  return kept == 0 ? top_k(1, Ties::kKeep) : top_k(kept, Ties::kKeep);
}

Window::Places Window::typical_p(float p, Ties ties, bool exceeds) const {
  const float mean = mean_surprise_of(sums_);
  const auto excess = [&](std::int64_t i) {
    return tokens_[static_cast<std::size_t>(i)].relative_log2 + mean;
  };
  const auto key = [&](std::int64_t i) {
    const float g = excess(i);
    return std::make_tuple(std::abs(g), g > 0 ? 0 : 1, g > 0 ? -i : i);
  };
  Places order = rank_order_;
  std::sort(order.begin(), order.end(),
            [&](std::int64_t a, std::int64_t b) { return key(a) < key(b); });
  const std::uint64_t threshold = least_of(p, sums_.weight, exceeds);
  std::uint64_t sum = 0;
  Places kept;
  for (const std::int64_t i : order) {
    const bool is_tie = ties == Ties::kKeep && !kept.empty() &&
                        std::abs(excess(i)) == std::abs(excess(kept.back()));
    if (sum >= threshold && !is_tie) break;
    sum += tokens_[static_cast<std::size_t>(i)].weight;
    kept.push_back(i);
  }
  return finish(kept, order);
}

Window::Places Window::xtc(std::uint32_t word, float probability, float threshold) const {
  const bool drops = probability > 0 && threshold <= 0.5F &&
                     word < ceiling(std::min(probability, 1.0F), std::uint64_t{1} << 32);
  const std::uint64_t least = threshold > 0 ? ceiling(threshold, sums_.weight) : 0;
  const auto above = static_cast<std::int64_t>(weighing(least).size());
  if (!drops || above < 2 || size() - (above - 1) < min_keep_) return rank_order_;
  return Places(rank_order_.begin() + (above - 1), rank_order_.end());
}

Window::Places Window::mirostat_v1(float mu, std::int64_t num_elements) const {
  const float slope = mirostat_slope({values_, is_logits_, temperature_});
  const std::int64_t k = mirostat_k(slope, mu, num_elements, size());
  return finish(Places(rank_order_.begin(), rank_order_.begin() + k), rank_order_);
}

Window::Places Window::mirostat_v2(float mu) const {
  return finish(weighing(mirostat_threshold(mu, sums_.weight)), rank_order_);
}

// ---- exactly ----

Real exact_entropy(const std::vector<Level> &levels, bool is_logits, float temperature) {
  const Real scale = static_cast<Real>(std::min(temperature, kLargestTemperature));
  const Real first = static_cast<Real>(levels[0].value);
  Real total = 0;
  Real mean = 0;  // of a token's distance below the first, in nats
  for (const Level &level : levels) {
    const Real value = static_cast<Real>(level.value);
    const Real below = is_logits ? (first - value) / scale : std::log(first / value);
    const Real weight = static_cast<Real>(level.count) * std::exp(-below);
    total += weight;
    if (weight > 0) mean += weight * below;
  }
  return (std::log(total) + mean / total) / std::log(Real{2});
}

Real exact_sigma(const std::vector<Level> &levels, bool is_logits) {
  const auto count = static_cast<Real>(count_of(levels));
  const auto below = [&](const Level &level) {
    const Real first = static_cast<Real>(levels[0].value);
    const Real value = static_cast<Real>(level.value);
    return is_logits ? first - value : std::log2(first / value);
  };
  Real mean = 0;
  for (const Level &level : levels) mean += static_cast<Real>(level.count) * below(level) / count;
  Real variance = 0;
  for (const Level &level : levels) {
    const Real deviation = below(level) - mean;
    variance += static_cast<Real>(level.count) * deviation * deviation / count;
  }
  return std::sqrt(variance);
}

Real exact_dynamic_temperature(const std::vector<Level> &levels, float temperature, float range,
                               float exponent) {
  const Real middle = static_cast<Real>(temperature);
  const Real reach = static_cast<Real>(range);
  const Real low = std::max(middle - reach, Real{0});
  const Real high = middle + reach;
  const Real largest = std::log2(static_cast<Real>(count_of(levels)));
  const Real share = largest == 0 ? Real{1} : exact_entropy(levels, true, 1.0F) / largest;
  return low + (high - low) * std::pow(share, static_cast<Real>(exponent));
}

}  // namespace oracle
