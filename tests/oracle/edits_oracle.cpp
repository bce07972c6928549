#include "edits_oracle.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace oracle {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();
constexpr Real kLn2 = 0.693147180559945309417232121458176568L;

// One f32 operation, by way of f64: that has more than 2 * 24 + 2 bits, so that rounding twice
// equals rounding once.
float sum(float a, float b) {
  return static_cast<float>(static_cast<double>(a) + static_cast<double>(b));
}
float difference(float a, float b) {
  return sum(a, -b);
}
float product(float a, float b) {
  return static_cast<float>(static_cast<double>(a) * static_cast<double>(b));
}
float quotient(float a, float b) {
  return static_cast<float>(static_cast<double>(a) / static_cast<double>(b));
}

// Keeps an edit's result finite for finite x.
float within_f32(float x, float result) {
  return std::isfinite(x) ? std::clamp(result, -kLargest, kLargest) : x;
}

float horner(const std::vector<float> &coefficients, float z) {
  float value = coefficients[0];
  for (std::size_t i = 1; i < coefficients.size(); ++i) {
    value = std::fmaf(value, z, coefficients[i]);
  }
  return value;
}

float q_of(float z) {
  return horner({0x1.01515cp-3F, -0x1.a75d36p-3F, 0x1.b96434p-3F, -0x1.e98638p-3F, 0x1.26dc6ep-2F,
                 -0x1.715b62p-2F, 0x1.ec736cp-2F, -0x1.715472p-1F, 0x1.715476p+0F},
                z);
}

// Section 8.3, with frexp for the mantissa.
float log2_plus(float y, int d) {
  int k = 0;
  float fraction = std::frexp(y, &k);  // in [0.5, 1)
  if (fraction < 0x1.6a09e6p-1F) {
    fraction *= 2;
    --k;
  }
  const float z = fraction - 1;
  return std::fmaf(z, q_of(z), static_cast<float>(k + d));
}

// Section 4.1.
float relative_of_t(float t) {
  if (t < -101 || t != t) return 0;
  const float n = std::nearbyint(t);
  const float p = horner(
      {0x1.5bba14p-10F, 0x1.3cea88p-7F, 0x1.c6b752p-5F, 0x1.ebf9bcp-3F, 0x1.62e42ap-1F, 0x1p+0F},
      t - n);
  return std::ldexp(p, static_cast<int>(n) + 1);
}

float scale_of(float temperature) {
  return quotient(0x1.715476p+0F, std::min(temperature, 0x1p64F));
}

// Section 4.2: the integer s that puts m * 2^s into (0.5, 1].
int exponent_of(float m) {
  int k = 0;
  return std::frexp(m, &k) == 0.5F ? 1 - k : -k;
}

float t_of(const Ranked &row, std::size_t rank) {
  return std::fmaf(difference(row.values[rank], row.values[0]), scale_of(row.temperature), -1.0F);
}

float relative_of(const Ranked &row, std::size_t rank) {
  return row.are_logits ? relative_of_t(t_of(row, rank))
                        : std::ldexp(row.values[rank], exponent_of(row.values[0]));
}

// log2 of the exact relative probability.
Real exact_relative_log2(const Ranked &row, std::size_t rank) {
  if (!row.are_logits) return std::log2(static_cast<Real>(row.values[rank]));
  const Real scale = static_cast<Real>(std::min(row.temperature, 0x1p64F)) * kLn2;
  return (static_cast<Real>(row.values[rank]) - static_cast<Real>(row.values[0])) / scale;
}

}  // namespace

// ---- edits ----

float with_guidance(float x, float other, float scale) {
  if (scale == 0 || scale == 1 || !std::isfinite(x) || other == -kInfinity) return x;
  if (!std::isfinite(other)) return other;
  return within_f32(x, sum(other, product(scale, difference(x, other))));
}

float with_biases(float x, const std::vector<float> &biases) {
  for (const float bias : biases) {
    if (x == -kInfinity) continue;
    x = std::isfinite(bias) ? within_f32(x, sum(x, bias)) : sum(x, bias);
  }
  return x;
}

float with_penalties(float x, std::int64_t repetition_count, std::int64_t count, float repetition,
                     float frequency, float presence, Form form) {
  const auto repeat = [&] {
    if (repetition_count == 0 || repetition == 0 || x == -kInfinity) return;
    if (x > 0) {
      x = within_f32(x, form == Form::kReciprocal ? product(x, quotient(1, repetition))
                                                  : quotient(x, repetition));
    } else {
      x = within_f32(x, product(x, repetition));
    }
  };
  if (form != Form::kCountsFirst) repeat();
  if (count > 0 && x != -kInfinity) {
    const float all = product(static_cast<float>(count), frequency);
    x = within_f32(x, form == Form::kReciprocal ? difference(difference(x, all), presence)
                                                : difference(x, sum(all, presence)));
  }
  if (form == Form::kCountsFirst) repeat();
  return x;
}

namespace {

double power_of(float base, std::int64_t n) {
  double power = 1;
  std::vector<bool> bits;
  for (std::int64_t rest = n; rest > 0; rest /= 2) bits.push_back(rest % 2 == 1);
  for (std::size_t i = bits.size(); i-- > 0;) {
    power = power * power;
    if (bits[i]) power = power * static_cast<double>(base);
  }
  return power;
}

}  // namespace

float dry_power(float base, std::int32_t n) {
  return std::min(static_cast<float>(std::min(power_of(base, n), 1e300)), kLargest);
}

float with_decay(float x, float factor, std::int64_t n) {
  if (x == -kInfinity || factor == 0 || n <= 0) return x;
  const auto gain =
      static_cast<float>(std::min(power_of(factor, n), static_cast<double>(kLargest)) - 1);
  if (gain == 0) return x;
  return within_f32(x, sum(x, product(std::fabs(x), gain)));
}

Real exact_dry_power(float base, std::int32_t n) {
  return std::pow(static_cast<Real>(base), static_cast<Real>(n));
}

float with_repeat(float x, float multiplier, float base, std::int32_t n) {
  if (x == -kInfinity) return x;
  const float result = difference(x, product(multiplier, dry_power(base, n)));
  return std::isfinite(multiplier) ? within_f32(x, result) : result;
}

std::int32_t dry_limit(const Text &context, const std::vector<Text> &breakers) {
  for (std::size_t begin = context.size(); begin-- > 0;) {
    std::size_t longest = 0;
    for (const Text &breaker : breakers) {
      const auto first = context.begin() + static_cast<std::ptrdiff_t>(begin);
      if (breaker.size() <= context.size() - begin &&
          std::equal(breaker.begin(), breaker.end(), first)) {
        longest = std::max(longest, breaker.size());
      }
    }
    if (longest > 0) return static_cast<std::int32_t>(context.size() - begin - longest);
  }
  return static_cast<std::int32_t>(context.size());
}

std::map<std::int64_t, std::int32_t> dry_lengths(const Text &context,
                                                 const std::vector<Text> &breakers,
                                                 std::int32_t allowed_length) {
  const std::int32_t limit = dry_limit(context, breakers);
  const auto size = static_cast<std::int32_t>(context.size());
  const auto at = [&](std::int32_t from_newest) {
    return context[static_cast<std::size_t>(size - 1 - from_newest)];
  };
  std::map<std::int64_t, std::int32_t> lengths;
  for (std::int32_t k = 1; k < size; ++k) {
    std::int32_t length = 0;
    while (length < limit && k + length < size && at(length) == at(k + length)) ++length;
    if (length < allowed_length) continue;
    const std::int64_t token = at(k - 1);
    if (std::find(breakers.begin(), breakers.end(), Text{token}) != breakers.end()) continue;
    std::int32_t &n = lengths.emplace(token, 0).first->second;
    n = std::max(n, length - allowed_length);
  }
  return lengths;
}

std::set<std::int64_t> ngram_bans(const Text &history, std::int32_t size) {
  std::set<std::int64_t> banned;
  const auto n = static_cast<std::size_t>(size);
  for (std::size_t begin = 0; begin + n <= history.size(); ++begin) {
    const auto first = history.begin() + static_cast<std::ptrdiff_t>(begin);
    if (std::equal(first, first + (size - 1), history.end() - (size - 1))) {
      banned.insert(history[begin + n - 1]);
    }
  }
  return banned;
}

std::set<std::int64_t> word_bans(const Text &history, const std::vector<Text> &words) {
  std::set<std::int64_t> banned;
  for (const Text &word : words) {
    Text ending = history;
    if (word.size() - 1 > history.size()) continue;
    ending.erase(ending.begin(), ending.end() - static_cast<std::ptrdiff_t>(word.size() - 1));
    ending.push_back(word.back());
    if (ending == word) banned.insert(word.back());
  }
  return banned;
}

std::set<std::int64_t> allowed_by_bitmask(const std::vector<std::uint32_t> &words,
                                          std::int64_t num_ids, bool others_are_banned) {
  std::set<std::int64_t> allowed;
  std::int64_t id = 0;
  for (std::uint32_t word : words) {
    for (int bit = 0; bit < 32; ++bit, word /= 2, ++id) {
      if (word % 2 == 1 && id < num_ids) allowed.insert(id);
    }
  }
  for (; id < num_ids && !others_are_banned; ++id) allowed.insert(id);
  return allowed;
}

Text counted_tokens(const Text &history, std::int64_t prompt_length, std::int32_t window,
                    bool output_only) {
  Text counted;
  const auto size = static_cast<std::int64_t>(history.size());
  for (std::int64_t place = 0; place < size; ++place) {
    if (window > 0 && size - place > window) continue;
    if (output_only && place < prompt_length) continue;
    counted.push_back(history[static_cast<std::size_t>(place)]);
  }
  return counted;
}

// ---- adaptive stages ----

std::uint64_t weight_of_relative(float e) {
  return static_cast<std::uint64_t>(std::nearbyint(static_cast<double>(e) * 0x1p44));
}

float relative_of_log2(float y) {
  return relative_of_t(difference(y, 1));
}

std::vector<std::uint64_t> weights_of(const Ranked &row) {
  std::vector<std::uint64_t> weights;
  for (std::size_t rank = 0; rank < row.values.size(); ++rank) {
    weights.push_back(weight_of_relative(relative_of(row, rank)));
  }
  return weights;
}

std::uint64_t total_weight(const Ranked &row) {
  const std::vector<std::uint64_t> weights = weights_of(row);
  return std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
}

float relative_log2(const Ranked &row, std::size_t rank) {
  return row.are_logits ? sum(t_of(row, rank), 1)
                        : log2_plus(row.values[rank], exponent_of(row.values[0]));
}

Real exact_log2(const Ranked &row, std::size_t rank) {
  Real total = 0;
  for (std::size_t i = row.values.size(); i-- > 0;) total += std::exp2(exact_relative_log2(row, i));
  return exact_relative_log2(row, rank) - std::log2(total);
}

float mirostat_slope(const Ranked &row) {
  const std::size_t m = std::min(row.values.size(), std::size_t{100});
  double a = 0;
  double b = 0;
  for (std::size_t i = 0; i + 1 < m; ++i) {
    // log2(1 + z); from the third term on z is in the range of Q.
    const float z = quotient(1, static_cast<float>(i + 1));
    const double length = i < 2 ? log2_plus(sum(1, z), 0) : product(z, q_of(z));
    const float fall =
        row.are_logits
            ? product(difference(row.values[i], row.values[i + 1]), scale_of(row.temperature))
            : difference(relative_log2(row, i), relative_log2(row, i + 1));
    a = a + length * static_cast<double>(fall);
    b = b + length * length;
  }
  return static_cast<float>(a / b);
}

Real exact_mirostat_slope(const Ranked &row) {
  static const std::vector<Real> lengths = [] {
    std::vector<Real> made(99);
    for (std::size_t i = 0; i < made.size(); ++i) {
      made[i] = std::log2(static_cast<Real>(i + 2) / static_cast<Real>(i + 1));
    }
    return made;
  }();
  const std::size_t m = std::min(row.values.size(), std::size_t{100});
  Real a = 0;
  Real b = 0;
  for (std::size_t i = 0; i + 1 < m; ++i) {
    a += lengths[i] * (exact_relative_log2(row, i) - exact_relative_log2(row, i + 1));
    b += lengths[i] * lengths[i];
  }
  return a / b;
}

std::int32_t mirostat_k(float slope, float mu, std::int64_t num_elements, std::int64_t num_seen) {
  if (num_seen == 1 || std::isinf(slope)) return 1;
  const float lambda = log2_plus(static_cast<float>(num_elements), 0);
  const float epsilon = difference(slope, 1);
  const float y = product(epsilon, lambda);
  float rho = 0;
  if (std::abs(y) >= 1) {
    const float rest = difference(1, relative_of_log2(-std::abs(y)));
    rho = difference(log2_plus(std::abs(epsilon), 0), log2_plus(rest, 0));
    rho = difference(rho, std::max(-y, 0.0F));
  } else {
    const float z = product(y, y);
    const float p = horner({0x1.d9706ap-21F, -0x1.e50096p-14F, 0x1.d9304p-6F}, z);
    rho = std::fmaf(-z, p, product(0.5F, y));
    rho = difference(rho, difference(log2_plus(lambda, 0), 0x1.0eba78p-1F));
  }
  const float q = quotient(sum(rho, mu), slope);
  if (std::isnan(q) || q <= 0) return 1;
  if (q >= 20) return static_cast<std::int32_t>(num_seen);
  const float n = std::floor(q) + 1;
  const float power = std::ldexp(relative_of_log2(difference(q, n)), static_cast<int>(n));
  const auto k = static_cast<std::int64_t>(std::floor(power));
  return static_cast<std::int32_t>(std::clamp(k, std::int64_t{1}, num_seen));
}

Real exact_mirostat_log2_k(Real slope, float mu, std::int64_t num_elements) {
  const Real size = static_cast<Real>(num_elements);
  const Real epsilon = slope - 1;
  // (epsilon 2^mu / (1 - V^-epsilon))^(1 / slope)
  const Real ratio =
      epsilon == 0 ? 1 / std::log(size) : -epsilon / std::expm1(-epsilon * std::log(size));
  return (std::log2(ratio) + static_cast<Real>(mu)) / slope;
}

std::uint64_t mirostat_threshold(float mu, std::uint64_t total) {
  const float fraction = relative_of_log2(mu > 0 ? -mu : 0.0F);
  if (fraction == 0) return 0;
  // ceil(significand * total / 2^shift), with a significand of 24 bits.
  int exponent = 0;
  const double significand = std::ldexp(std::frexp(fraction, &exponent), 24);
  const int shift = 24 - exponent;
  __extension__ using Wide = unsigned __int128;
  const Wide whole = static_cast<Wide>(static_cast<std::uint64_t>(significand)) * total;
  if (shift > 100) return total > 0 ? 1 : 0;
  const Wide unit = static_cast<Wide>(1) << shift;
  return static_cast<std::uint64_t>((whole + unit - 1) / unit);
}

float mirostat_observation(float log2_relative, std::uint64_t kept_weight) {
  return difference(log2_plus(static_cast<float>(kept_weight), -44), log2_relative);
}

float mirostat_moved(float mu, float observation, float target, float rate) {
  const float result = difference(mu, product(rate, difference(observation, target)));
  return std::isfinite(result) ? result : mu;
}

AdaptiveSums adaptive_p_start(float target, float decay) {
  return {quotient(target, difference(1, decay)), quotient(1, difference(1, decay))};
}

AdaptiveSums adaptive_p_moved(AdaptiveSums sums, float observation, float decay) {
  const float new_sum = sum(observation, product(decay, sums.sum));
  const float new_weight = sum(1, product(decay, sums.weight));
  if (!std::isfinite(new_sum) || !std::isfinite(new_weight)) return sums;
  return {new_sum, new_weight};
}

std::vector<float> probabilities_of(const Ranked &row) {
  const auto g = static_cast<float>(0x1p44 / static_cast<double>(total_weight(row)));
  std::vector<float> probabilities;
  for (std::size_t rank = 0; rank < row.values.size(); ++rank) {
    probabilities.push_back(product(relative_of(row, rank), g));
  }
  return probabilities;
}

float adaptive_p_total(const Ranked &row) {
  return product(static_cast<float>(total_weight(row)), 0x1p-44F);
}

std::vector<float> adaptive_p_probabilities(const Ranked &row) {
  const float total = adaptive_p_total(row);
  std::vector<float> probabilities;
  for (std::size_t rank = 0; rank < row.values.size(); ++rank) {
    probabilities.push_back(quotient(relative_of(row, rank), total));
  }
  return probabilities;
}

std::vector<float> adaptive_p_logits(const Ranked &row, AdaptiveSums sums, float target) {
  const float limited = std::min(target, 1.0F);
  float a = limited;
  if (sums.weight > 0) {
    a = difference(product(2, limited), quotient(sums.sum, sums.weight));
    a = std::min(std::max(a, 0.0F), 1.0F);
  }
  const float inverse = quotient(1, adaptive_p_total(row));
  std::vector<float> logits;
  for (std::size_t rank = 0; rank < row.values.size(); ++rank) {
    const float q = difference(std::fmaf(relative_of(row, rank), inverse, 4), 4);
    const float d = product(std::abs(difference(q, a)), 0x1.aaaaaap+1F);
    logits.push_back(product(quotient(product(d, d), sum(1, d)), -10));
  }
  return logits;
}

std::vector<Real> exact_adaptive_p(const Ranked &row, AdaptiveSums sums, float target) {
  const Real limited = std::min(target, 1.0F);
  const Real mean =
      sums.weight > 0 ? static_cast<Real>(sums.sum) / static_cast<Real>(sums.weight) : limited;
  const Real a = std::clamp(2 * limited - mean, Real{0}, Real{1});
  std::vector<Real> shares;
  Real total = 0;
  for (std::size_t rank = 0; rank < row.values.size(); ++rank) {
    shares.push_back(std::exp2(exact_relative_log2(row, rank)));
    total += shares.back();
  }
  Real new_total = 0;
  for (Real &share : shares) {
    const Real d = std::abs(share / total - a) / 0.3L;
    share = std::exp(-10 * d * d / (1 + d));
    new_total += share;
  }
  for (Real &share : shares) share /= new_total;
  return shares;
}

std::vector<float> smoothed_logits(const Ranked &row, float factor, float curve) {
  const float half = product(0.5F, factor), bend = curve == 0 ? 1 : curve;
  const float square = product(product(half, difference(3, bend)), 0x1.ebfbep-2F);
  const float cube = product(product(half, difference(bend, 1)), 0x1.55046ap-2F);
  std::vector<float> logits;
  for (std::size_t rank = 0; rank < row.values.size(); ++rank) {
    const float b = std::min(difference(relative_log2(row, 0), relative_log2(row, rank)), 0x1p60F);
    const float y = product(-product(b, b), std::fmaf(cube, b, square));
    logits.push_back(std::max(y, std::numeric_limits<float>::lowest()));
  }
  return logits;
}

std::vector<Real> exact_smoothing(const Ranked &row, float factor, float curve) {
  const Real bend = curve == 0 ? Real{1} : static_cast<Real>(curve);
  const Real square = static_cast<Real>(factor) * (3 - bend) / 2;
  const Real cube = static_cast<Real>(factor) * (bend - 1) / 2;
  std::vector<Real> shares;
  Real total = 0;
  for (std::size_t rank = 0; rank < row.values.size(); ++rank) {
    const Real d = (exact_relative_log2(row, rank) - exact_relative_log2(row, 0)) * kLn2;
    shares.push_back(std::exp(-square * d * d + cube * d * d * d));
    total += shares.back();
  }
  for (Real &share : shares) share /= total;
  return shares;
}

float top_p_moved(float running, float top_p, float factor, float least, bool is_reset_token) {
  if (is_reset_token) return std::min(std::max(top_p, 0.0F), 1.0F);
  return std::max(product(running, factor), least);
}

}  // namespace oracle
