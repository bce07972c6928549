// Rows for the errors of windows: their sums by the contract beside what the oracle says exactly.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "contract/deviation.h"
#include "contract/entropy.h"
#include "contract/weight.h"
#include "contract/windows.h"
#include "support.h"
#include "windows_oracle.h"

namespace sampler::contract::test {

using oracle::Level;
using oracle::Real;

// A standard normal number, near enough.
inline float normal(Random &random) {
  float sum = -6.0f;
  for (int i = 0; i < 12; ++i) sum += random.unit();
  return sum;
}

// A row as levels, its sums by the contract.
struct LevelRow {
  std::vector<Level> levels;
  sampler_input_kind kind = SAMPLER_LOGITS;
  float temperature = 1.0f;

  bool is_logits() const { return kind == SAMPLER_LOGITS; }
  RowScale scale() const { return row_scale(kind, levels[0].value, temperature); }

  int64_t count() const {
    int64_t count = 0;
    for (const Level &level : levels) count += level.count;
    return count;
  }

  EntropySums sums() const {
    const RowScale row = scale();
    EntropySums sums;
    for (const Level &level : levels) {
      const EntropySums one = entropy_sums(row, level.value);
      sums.add({one.weight * uint64_t(level.count), one.surprise * uint64_t(level.count)});
    }
    return sums;
  }

  float sigma() const {
    const RowScale row = scale();
    const float first = sigma_value(row, levels.front().value);
    const DeviationScale unit = deviation_scale(first, sigma_value(row, levels.back().value));
    DeviationSums sums;
    for (const Level &level : levels) {
      const uint64_t u = deviation(unit, sigma_value(row, level.value));
      sums.sum += u * uint64_t(level.count);
      sums.squares += u * u * uint64_t(level.count);
    }
    return standard_deviation(unit, sums, uint64_t(count()));
  }

  double entropy_error() const {
    const Real exact = oracle::exact_entropy(levels, is_logits(), temperature);
    return double(std::abs(Real(entropy(sums())) - exact));
  }
  // In nats.
  double reported_entropy_error() const {
    const Real exact = oracle::exact_entropy(levels, is_logits(), temperature) * std::log(Real{2});
    return double(std::abs(Real(entropy_in_nats(sums())) - exact));
  }
  // Relative.
  double sigma_error() const {
    return double(std::abs(Real(sigma()) / oracle::exact_sigma(levels, is_logits()) - 1));
  }
};

// Normal logits of a standard deviation of 2^-9 to 20 at a temperature of 0.14 to 7.4; or what
// their softmax is about.
inline LevelRow normal_row(Random &random, sampler_input_kind kind, int largest) {
  LevelRow row;
  row.kind = kind;
  const int count = std::max(1, int(std::exp2(random.unit() * std::log2(float(largest)))));
  const float deviation = std::exp2(13.3f * random.unit() - 9.0f);
  row.temperature = kind == SAMPLER_LOGITS ? std::exp(4.0f * random.unit() - 2.0f) : 1.0f;
  for (int i = 0; i < count; ++i) {
    const float x = deviation * normal(random);
    row.levels.push_back({kind == SAMPLER_LOGITS ? x : std::exp(x - 3.0f * deviation), 1});
  }
  std::sort(row.levels.begin(), row.levels.end(),
            [](const Level &a, const Level &b) { return a.value > b.value; });
  return row;
}

}  // namespace sampler::contract::test
