#include "rows.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <numeric>
#include <random>

namespace cpu_bench {

namespace {

constexpr size_t kCacheLine = 64;

// Rows beyond these are rotations of them, which are cheaper to make.
constexpr int64_t kNumDrawnRows = 4;

using Random = std::mt19937_64;

// Uniform in (0, 1). The standard library's distributions differ between implementations.
double uniform(Random *random) {
  return (double((*random)() >> 11) + 0.5) * 0x1p-53;
}

double normal(Random *random) {
  const double radius = std::sqrt(-2.0 * std::log(uniform(random)));
  return radius * std::cos(6.283185307179586 * uniform(random));
}

void shuffle(float *row, int64_t num_cols, Random *random) {
  for (int64_t i = num_cols - 1; i > 0; --i) {
    std::swap(row[i], row[(*random)() % uint64_t(i + 1)]);
  }
}

void draw_language(float *row, int64_t num_cols, Random *random) {
  for (int64_t i = 0; i < num_cols; ++i) {
    row[i] = float(-1.1 * std::log(double(i + 1)) + 0.3 * normal(random));
  }
  shuffle(row, num_cols, random);
}

// Makes the first token 19 times as likely as all others together.
void draw_peaked(float *row, int64_t num_cols, Random *random) {
  draw_language(row, num_cols, random);
  double others = 0;
  for (int64_t i = 1; i < num_cols; ++i) others += std::exp(double(row[i]));
  row[0] = float(std::log(19.0 * others));
  std::swap(row[0], row[(*random)() % uint64_t(num_cols)]);
}

void draw_masked(float *row, int64_t num_cols, Random *random) {
  draw_language(row, num_cols, random);
  for (int64_t i = 0; i < num_cols; ++i) {
    if (uniform(random) < 0.9) row[i] = -INFINITY;
  }
}

// From the largest value to the smallest.
template <class Value>
void fill_by_rank(float *row, int64_t num_cols, const Value &value) {
  for (int64_t rank = 0; rank < num_cols; ++rank) row[rank] = value(rank);
}

// Defeats a median of nine evenly spaced elements: in each step the five lowest of the nine are the
// lowest of all that remain. Placing is slow, so columns after kMostPlaced are just low.
void draw_killer(float *row, int64_t num_cols) {
  constexpr int64_t kProbes = 9, kLowest = 5, kMostPlaced = int64_t(1) << 17;
  std::fill_n(row, num_cols, -20.0f);
  num_cols = std::min(num_cols, kMostPlaced);
  std::vector<int64_t> left(static_cast<size_t>(num_cols));
  std::iota(left.begin(), left.end(), 0);
  int64_t rank = 0;
  const auto place_next = [&](int64_t id) {
    row[id] = -12.0f + 12.0f * float(rank++) / float(num_cols);
  };
  while (int64_t(left.size()) >= kProbes) {
    const auto count = int64_t(left.size());
    size_t kept = 0;
    int64_t next_probe = 0;
    for (int64_t i = 0; i < count; ++i) {
      if (next_probe < kLowest && i == (2 * next_probe + 1) * count / (2 * kProbes)) {
        place_next(left[size_t(i)]);
        ++next_probe;
      } else {
        left[kept++] = left[size_t(i)];
      }
    }
    left.resize(kept);
  }
  for (const int64_t id : left) place_next(id);
}

// At temperature 0.8: one heavy token; 200 tokens that together have a tenth of its weight; and
// light tokens that have a twenty-fifth of the total.
void draw_hidden(float *row, int64_t num_cols, Random *random) {
  const double temperature = 0.8;
  for (int64_t i = 0; i < num_cols; ++i) {
    row[i] = float(temperature * std::log(0.045 / double(num_cols)) + 0.01 * normal(random));
  }
  const int64_t num_hidden = std::min<int64_t>(200, num_cols / 2), first = num_cols / 3;
  for (int64_t i = first; i < first + num_hidden; ++i) {
    row[i] = float(temperature * std::log(0.1 / double(num_hidden)) + 0.01 * normal(random));
  }
  row[num_cols / 7] = 0.0f;
}

void draw_row(RowKind kind, float *row, int64_t num_cols, Random *random) {
  switch (kind) {
    case RowKind::kLanguage:
      draw_language(row, num_cols, random);
      break;
    case RowKind::kPeaked:
      draw_peaked(row, num_cols, random);
      break;
    case RowKind::kFlat:
      for (int64_t i = 0; i < num_cols; ++i) row[i] = float(0.01 * normal(random));
      break;
    case RowKind::kEqual:
      std::fill_n(row, num_cols, 1.0f);
      break;
    case RowKind::kMasked:
      draw_masked(row, num_cols, random);
      break;
    case RowKind::kDescending:
      draw_language(row, num_cols, random);
      std::sort(row, row + num_cols, std::greater<float>());
      break;
    case RowKind::kAscending:
      draw_language(row, num_cols, random);
      std::sort(row, row + num_cols);
      break;
    case RowKind::kTwoValues:
      for (int64_t i = 0; i < num_cols; ++i) row[i] = (*random)() % 2 == 0 ? 1.0f : 1.5f;
      break;
    case RowKind::kThreeValues:
      for (int64_t i = 0; i < num_cols; ++i) row[i] = 1.0f + 0x1p-7f * float((*random)() % 3);
      break;
    case RowKind::kNearTies:
      fill_by_rank(row, num_cols, [](int64_t rank) { return -1.0f - 0x1p-23f * float(rank); });
      shuffle(row, num_cols, random);
      break;
    case RowKind::kGeometric:
      fill_by_rank(row, num_cols, [&](int64_t rank) {
        return -std::exp2(float(126.0 * double(rank) / double(num_cols) - 120.0));
      });
      shuffle(row, num_cols, random);
      break;
    case RowKind::kPeriodic:
      for (int64_t i = 0; i < num_cols; ++i) row[i] = -0.02f * float(i * 97 % 251);
      break;
    case RowKind::kKiller:
      draw_killer(row, num_cols);
      break;
    case RowKind::kClustered:
      draw_language(row, num_cols, random);
      std::partial_sort(row, row + num_cols / 8, row + num_cols, std::greater<float>());
      shuffle(row, num_cols / 8, random);
      break;
    case RowKind::kUnsampled:
      draw_language(row, num_cols, random);
      for (int64_t i = 0; i < num_cols; ++i) {
        if (i / 16 % 32 == 0) row[i] -= 15.0f;
      }
      break;
    case RowKind::kHidden:
      draw_hidden(row, num_cols, random);
      break;
    case RowKind::kTied:
      for (int64_t i = 0; i < num_cols; ++i) row[i] = float(-8.0 - 0.5 * normal(random));
      for (int64_t i = 0; i < num_cols; i += 10) row[i] = 1.0f;
      for (int64_t i = 0; i < std::min<int64_t>(40, num_cols); ++i) row[i] = 2.0f + float(i);
      break;
  }
}

uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

uint16_t to_bf16(float value) {
  const uint32_t bits = bits_of(value);
  return uint16_t((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

uint16_t to_f16(float value) {
  const uint32_t bits = bits_of(value), sign = (bits >> 16) & 0x8000u;
  const float magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return uint16_t(sign | 0x7C00u);
  if (magnitude < 0x1p-14f) return uint16_t(sign | uint32_t(std::nearbyint(magnitude * 0x1p24f)));
  const uint32_t rounded = (bits & 0x7FFFFFFFu) + 0xFFFu + ((bits >> 13) & 1u);
  return uint16_t(sign | ((rounded - (112u << 23)) >> 13));
}

}  // namespace

const char *name_of(RowKind kind) {
  static const char *const names[kNumRowKinds] = {
      "lm",           "peaked",     "flat",      "equal",     "masked",    "descending",
      "ascending",    "two values", "bf16 ties", "near ties", "geometric", "periodic",
      "pivot killer", "clustered",  "unsampled", "hidden",    "tied at k",
  };
  return names[int(kind)];
}

std::vector<float> make_logits(RowKind kind, int64_t num_rows, int64_t num_cols) {
  Random random(20261101);
  std::vector<float> rows(size_t(num_rows * num_cols));
  for (int64_t r = 0; r < num_rows; ++r) {
    float *row = rows.data() + r * num_cols;
    if (r < kNumDrawnRows) {
      draw_row(kind, row, num_cols, &random);
    } else {
      const float *drawn = rows.data() + r % kNumDrawnRows * num_cols;
      std::rotate_copy(drawn, drawn + r * 97 % num_cols, drawn + num_cols, row);
    }
  }
  return rows;
}

void to_probabilities(std::vector<float> *rows, int64_t num_cols) {
  for (auto row = rows->begin(); row != rows->end(); row += num_cols) {
    const double maximum = double(*std::max_element(row, row + num_cols));
    double total = 0;
    for (int64_t i = 0; i < num_cols; ++i) total += std::exp(double(row[i]) - maximum);
    for (int64_t i = 0; i < num_cols; ++i) {
      row[i] = float(std::exp(double(row[i]) - maximum) / total);
    }
  }
}

AlignedBytes::AlignedBytes(size_t bytes) : size_(bytes) {
  const size_t whole_lines = (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
  memory_.reset(static_cast<std::byte *>(std::aligned_alloc(kCacheLine, whole_lines)));
  if (!memory_) throw std::bad_alloc();
  std::memset(memory_.get(), 0, whole_lines);
}

void AlignedBytes::Free::operator()(std::byte *memory) const {
  std::free(memory);
}

size_t size_of(sampler_dtype dtype) {
  return dtype == SAMPLER_F32 ? 4 : 2;
}

AlignedBytes to_dtype(const std::vector<float> &values, sampler_dtype dtype) {
  AlignedBytes bytes(values.size() * size_of(dtype));
  if (dtype == SAMPLER_F32) {
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  }
  auto *words = reinterpret_cast<uint16_t *>(bytes.data());
  for (size_t i = 0; i < values.size(); ++i) {
    words[i] = dtype == SAMPLER_F16 ? to_f16(values[i]) : to_bf16(values[i]);
  }
  return bytes;
}

}  // namespace cpu_bench
