#include "rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "oracle.h"

namespace oracle_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

float largest_finite(sampler_dtype dtype) {
  if (dtype == SAMPLER_F16) return 65504.0F;
  if (dtype == SAMPLER_BF16) return 0x1.fep127F;
  return std::numeric_limits<float>::max();
}

// Smallest subnormal and smallest normal.
float smallest(sampler_dtype dtype) {
  if (dtype == SAMPLER_F16) return 0x1p-24F;
  return dtype == SAMPLER_BF16 ? 0x1p-133F : 0x1p-149F;
}

float smallest_normal(sampler_dtype dtype) {
  return dtype == SAMPLER_F16 ? 0x1p-14F : std::numeric_limits<float>::min();
}

float normal(Random *random, double scale) {
  return static_cast<float>(scale * random->normal());
}

std::vector<float> language_row(std::size_t num_cols, Random *random) {
  std::vector<float> row(num_cols);
  for (std::size_t i = 0; i < num_cols; ++i) {
    row[i] =
        static_cast<float>(-1.1 * std::log(static_cast<double>(i + 1)) + 0.3 * random->normal());
  }
  for (std::size_t i = num_cols; i > 1; --i) std::swap(row[i - 1], row[random->below(i)]);
  return row;
}

std::vector<float> peaked_row(std::size_t num_cols, Random *random) {
  std::vector<float> row(num_cols);
  const std::size_t peak = random->below(num_cols);
  double others = 0;
  for (std::size_t i = 0; i < num_cols; ++i) {
    row[i] = normal(random, 1.0);
    if (i != peak) others += std::exp(static_cast<double>(row[i]));
  }
  if (others > 0) row[peak] = static_cast<float>(std::log(others * 0.95 / 0.05));
  return row;
}

float huge_element(sampler_dtype dtype, Random *random) {
  const float top = dtype == SAMPLER_F16 ? 6e4F : 1e30F;
  const std::vector<float> values = {top, std::nextafter(top, 0.0F), top * 0.999F, 1.0F, -top};
  return random->pick(values);
}

float element(RowKind kind, sampler_dtype dtype, Random *random) {
  switch (kind) {
    case RowKind::kFlat:
      return normal(random, 0.01);
    case RowKind::kEqual:
      return -7.25F;
    case RowKind::kTwoValues:
      return random->uniform() < 0.5 ? 1.0F : 2.0986123F;
    case RowKind::kMasked:
      return random->uniform() < 0.5 ? -kInf : normal(random, 3.0);
    case RowKind::kCoarse:
      return std::round(4 * normal(random, 1.5)) / 4;
    case RowKind::kCloseTies:
      return 8.0F + 0.0625F * static_cast<float>(random->below(6));
    case RowKind::kSubnormal: {
      const double steps = smallest_normal(dtype) / smallest(dtype);
      const double step = std::floor((2 * random->uniform() - 1) * steps);
      return static_cast<float>(step) * smallest(dtype);
    }
    case RowKind::kHuge:
      return huge_element(dtype, random);
    case RowKind::kWide:
      return static_cast<float>(400 * random->uniform() - 200);
    case RowKind::kHeavyTail:
      return -13.0F + normal(random, 0.1);
    case RowKind::kSignedZero: {
      const std::vector<float> values = {0.0F, -0.0F, 0.0F, -0.0F, 1.0F, -1.0F};
      return random->pick(values);
    }
    default:
      return normal(random, 3.0);
  }
}

}  // namespace

double Random::normal() {
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(6.283185307179586 * uniform());
}

const char *name(RowKind kind) {
  static const char *const kNames[] = {
      "normal", "language",   "peaked",    "flat", "equal", "two",        "one finite", "masked",
      "coarse", "close ties", "subnormal", "huge", "wide",  "heavy tail", "zeros"};
  return kNames[static_cast<int>(kind)];
}

TypedRow to_type(const std::vector<float> &values, sampler_dtype dtype) {
  TypedRow row;
  row.values = values;
  if (dtype == SAMPLER_F32) return row;
  for (float &value : row.values) {
    if (std::isfinite(value)) {
      value = std::clamp(value, -largest_finite(dtype), largest_finite(dtype));
    }
    const bool is_f16 = dtype == SAMPLER_F16;
    const std::uint16_t bits = is_f16 ? oracle::f32_to_f16(value) : oracle::f32_to_bf16(value);
    row.halfs.push_back(bits);
    value = is_f16 ? oracle::f16_to_f32(bits) : oracle::bf16_to_f32(bits);
  }
  return row;
}

std::vector<float> make_logits(RowKind kind, std::size_t num_cols, sampler_dtype dtype,
                               Random *random) {
  if (kind == RowKind::kLanguage) return language_row(num_cols, random);
  if (kind == RowKind::kPeaked) return peaked_row(num_cols, random);
  std::vector<float> row(num_cols, -kInf);
  const std::size_t special = random->below(num_cols);
  if (kind == RowKind::kOneFinite) {
    row[special] = -3.5F;
    return row;
  }
  for (float &value : row) value = element(kind, dtype, random);
  if (kind == RowKind::kMasked) row[special] = 1.0F;  // never empty
  if (kind == RowKind::kHeavyTail) row[special] = 0.0F;
  return row;
}

std::vector<float> make_probabilities(const std::vector<float> &logits, double sum_scale) {
  const double maximum = *std::max_element(logits.begin(), logits.end());
  std::vector<double> weights;
  weights.reserve(logits.size());
  for (const float x : logits) weights.push_back(std::exp(static_cast<double>(x) - maximum));
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<float> row;
  row.reserve(weights.size());
  for (const double w : weights) row.push_back(static_cast<float>(w / sum * sum_scale));
  return row;
}

}  // namespace oracle_test
