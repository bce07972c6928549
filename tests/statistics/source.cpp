#include "source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "oracle.h"

namespace statistics_test {
namespace {

constexpr std::int64_t kRowsPerCall = 1 << 18;

using Order = std::vector<std::size_t>;

// Elements in rank order, those that can be drawn at all.
Order rank_order(const Source &source) {
  const auto id = [&](std::size_t i) {
    return source.candidate_ids.empty() ? static_cast<std::int32_t>(i) : source.candidate_ids[i];
  };
  Order order;
  for (std::size_t i = 0; i < source.values.size(); ++i) {
    const float x = source.values[i];
    if (source.kind == SAMPLER_LOGITS ? x > -INFINITY : x > 0) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const float x = source.values[a], y = source.values[b];
    return x != y ? x > y : id(a) < id(b);
  });
  return order;
}

// Probabilities relative to the largest, by element.
Probabilities relative_probabilities(const Source &source, float temperature) {
  const float top = *std::max_element(source.values.begin(), source.values.end());
  Probabilities result;
  for (const float x : source.values) {
    const auto logit = (static_cast<long double>(x) - top) / temperature;
    result.push_back(source.kind == SAMPLER_LOGITS ? std::exp(logit)
                                                   : static_cast<long double>(x) / top);
  }
  return result;
}

// Each filter shortens `order`, the prefix of rank order that it sees, as a set of its own.
class Filters {
 public:
  Filters(const Source &source, Probabilities seen) : source_(source), seen_(std::move(seen)) {}

  void top_k(Order *order) const {
    const auto k = static_cast<std::size_t>(source_.top_k);
    if (source_.top_k > 0 && k < order->size()) cut(order, k, source_.top_k_ties);
  }

  void top_p(Order *order) const {
    if (source_.top_p >= 1) return;
    long double total = 0, sum = 0;
    for (const std::size_t i : *order) total += seen_[i];
    std::size_t length = 0;
    while (sum < source_.top_p * total) {
      sum += seen_[(*order)[length++]];
      expect_clear(sum / total, source_.top_p);
    }
    cut(order, std::max<std::size_t>(length, 1), source_.top_p_ties);
  }

  void min_p(Order *order) const {
    if (source_.min_p <= 0) return;
    std::size_t length = 0;
    while (length < order->size() && seen_[(*order)[length]] >= source_.min_p) ++length;
    for (const std::size_t i : *order) expect_clear(seen_[i], source_.min_p);
    order->resize(std::max<std::size_t>(length, 1));
  }

 private:
  static void expect_clear(long double value, long double threshold) {
    EXPECT_GT(std::fabs(value - threshold), 1e-5L) << "the row decides nothing by rounding only";
  }

  void cut(Order *order, std::size_t length, sampler_tie_rule ties) const {
    if (ties == SAMPLER_TIES_KEEP) {
      const float last = source_.values[(*order)[length - 1]];
      while (length < order->size() && source_.values[(*order)[length]] == last) ++length;
    }
    order->resize(length);
  }

  const Source &source_;
  Probabilities seen_;
};

Order kept_elements(const Source &source) {
  const bool last = source.temperature_order == SAMPLER_TEMPERATURE_LAST;
  const Filters filters(source, relative_probabilities(source, last ? 1.0f : source.temperature));
  Order order = rank_order(source);
  if (source.filter_order == SAMPLER_FILTERS_JOINT) {
    Order by_k = order, by_p = order, by_min_p = order;
    filters.top_k(&by_k);
    filters.top_p(&by_p);
    filters.min_p(&by_min_p);
    order.resize(std::min({by_k.size(), by_p.size(), by_min_p.size()}));
    return order;
  }
  if (source.filter_order == SAMPLER_FILTERS_MIN_P_FIRST) filters.min_p(&order);
  filters.top_k(&order);
  filters.top_p(&order);
  if (source.filter_order == SAMPLER_FILTERS_SEQUENTIAL) filters.min_p(&order);
  return order;
}

// The element that has an id; ids.size() for one that has none.
std::vector<std::size_t> elements_by_id(const Source &source) {
  std::vector<std::int32_t> ids = source.candidate_ids;
  if (ids.empty()) {
    ids.resize(source.values.size());
    std::iota(ids.begin(), ids.end(), 0);
  }
  const auto largest = static_cast<std::size_t>(*std::max_element(ids.begin(), ids.end()));
  std::vector<std::size_t> elements(largest + 1, ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) elements[static_cast<std::size_t>(ids[i])] = i;
  return elements;
}

}  // namespace

SamplerPtr make_sampler(std::int64_t max_rows, std::int64_t max_cols) {
  sampler_options options = sampler_options_default();
  options.max_rows = max_rows;
  options.max_cols = max_cols;
  sampler_t sampler = nullptr;
  EXPECT_EQ(sampler_create(&options, &sampler), SAMPLER_OK) << sampler_last_error();
  return SamplerPtr(sampler);
}

Probabilities expected_probabilities(const Source &source) {
  const Probabilities relative = relative_probabilities(source, source.temperature);
  Probabilities result(source.values.size(), 0);
  long double total = 0;
  for (const std::size_t i : kept_elements(source)) total += result[i] = relative[i];
  for (long double &p : result) p /= total;
  return result;
}

std::vector<float> logits_of(const std::vector<double> &probabilities, double temperature) {
  std::vector<float> logits(probabilities.size());
  std::transform(probabilities.begin(), probabilities.end(), logits.begin(),
                 [=](double p) { return static_cast<float>(temperature * std::log(p)); });
  return logits;
}

std::vector<unsigned char> to_bytes(const std::vector<float> &values, sampler_dtype dtype) {
  const std::size_t size = dtype == SAMPLER_F32 ? 4 : 2;
  std::vector<unsigned char> bytes(values.size() * size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (dtype == SAMPLER_F32) {
      std::memcpy(&bytes[4 * i], &values[i], 4);
      continue;
    }
    const bool is_f16 = dtype == SAMPLER_F16;
    const std::uint16_t bits =
        is_f16 ? oracle::f32_to_f16(values[i]) : oracle::f32_to_bf16(values[i]);
    EXPECT_EQ(is_f16 ? oracle::f16_to_f32(bits) : oracle::bf16_to_f32(bits), values[i]);
    std::memcpy(&bytes[2 * i], &bits, 2);
  }
  return bytes;
}

Counts draw_counts(const Source &source, std::uint64_t num_draws, std::uint64_t seed) {
  const std::int64_t num_cols = static_cast<std::int64_t>(source.values.size());
  const SamplerPtr sampler = make_sampler(kRowsPerCall, num_cols);
  const std::vector<unsigned char> row = to_bytes(source.values, source.dtype);
  const std::vector<std::int32_t> row_indices(kRowsPerCall, 0);
  std::vector<std::int32_t> token_ids(kRowsPerCall);
  auto args = sized<sampler_sample_args>();
  args.input.values = row.data();
  args.input.num_rows = 1;
  args.input.num_cols = num_cols;
  args.input.candidate_ids = source.candidate_ids.empty() ? nullptr : source.candidate_ids.data();
  args.input.dtype = source.dtype;
  args.input.kind = source.kind;
  args.row_indices = row_indices.data();
  args.num_row_indices = kRowsPerCall;
  args.params = &source;
  args.random.seed = seed;
  args.draw_method = source.draw_method;
  args.out_token_ids = token_ids.data();

  const std::vector<std::size_t> elements = elements_by_id(source);
  Counts by_id(elements.size());
  for (std::uint64_t drawn = 0; drawn < num_draws; drawn += kRowsPerCall, ++args.random.offset) {
    const sampler_status status = sampler_sample(sampler.get(), &args);
    if (status != SAMPLER_OK) {
      ADD_FAILURE() << sampler_last_error();
      break;
    }
    for (const std::int32_t id : token_ids) ++by_id.at(static_cast<std::size_t>(id));
  }
  Counts counts(source.values.size());
  for (std::size_t id = 0; id < by_id.size(); ++id) {
    if (by_id[id] != 0) counts.at(elements[id]) += by_id[id];
  }
  return counts;
}

std::uint64_t draws_needed(double least, double bias, std::size_t num_tokens) {
  // A token that is drawn less often than it should be is the harder one to catch.
  double low = 1, high = 1e12;
  while (high / low > 1.001) {
    const double middle = std::sqrt(low * high);
    const double power = std::min(power_against_bias(middle, least, bias, num_tokens),
                                  power_against_bias(middle, least, -bias, num_tokens));
    (power < kPower ? low : high) = middle;
  }
  return static_cast<std::uint64_t>(high);
}

void expect_frequencies(const Source &source, double least, double bias, std::uint64_t seed) {
  const Probabilities expected = expected_probabilities(source);
  const Counts counts = draw_counts(source, draws_needed(least, bias, source.values.size()), seed);
  EXPECT_EQ(frequency_fault(counts, expected), "");
}

}  // namespace statistics_test
