#include "matmul.h"

#include <algorithm>
#include <cstring>

namespace generate {

namespace {

// As wide as a panel; the compiler splits it where registers are narrower.
using Lanes = float __attribute__((vector_size(sizeof(PanelRow))));

// Rows that share a pass over a panel: 6 sums, a row of the panel and a broadcast input fit the
// 16 registers of AVX2 and the 32 of AVX-512 and NEON.
constexpr std::size_t kMaxRows = 6;

struct Product {
  const PanelRow *panels;
  std::size_t num_inputs;
  std::size_t num_outputs;
  const float *x;
  std::size_t num_rows;
  const float *bias;
  float *y;
  std::size_t y_stride;
};

template <std::size_t kRows>
__attribute__((always_inline)) inline void multiply_rows(const Product &product,
                                                         const PanelRow *panel,
                                                         std::size_t first_row,
                                                         std::size_t first_output) {
  const std::size_t width = std::min(kPanelWidth, product.num_outputs - first_output);
  const float *x = product.x + first_row * product.num_inputs;
  Lanes sums[kRows] = {};
  if (product.bias != nullptr) {
    std::memcpy(&sums[0], product.bias + first_output, width * sizeof(float));
    for (std::size_t r = 1; r < kRows; ++r) sums[r] = sums[0];
  }
  for (std::size_t i = 0; i < product.num_inputs; ++i) {
    Lanes weights;
    std::memcpy(&weights, &panel[i], sizeof weights);
    for (std::size_t r = 0; r < kRows; ++r) sums[r] += weights * x[r * product.num_inputs + i];
  }
  float *y = product.y + first_row * product.y_stride + first_output;
  for (std::size_t r = 0; r < kRows; ++r) {
    std::memcpy(y + r * product.y_stride, &sums[r], width * sizeof(float));
  }
}

__attribute__((always_inline)) inline void multiply_panels(const Product &product) {
  const PanelRow *panel = product.panels;
  for (std::size_t output = 0; output < product.num_outputs; output += kPanelWidth) {
    std::size_t row = 0;
    for (; row + kMaxRows <= product.num_rows; row += kMaxRows) {
      multiply_rows<kMaxRows>(product, panel, row, output);
    }
    switch (product.num_rows - row) {
      case 5:
        multiply_rows<5>(product, panel, row, output);
        break;
      case 4:
        multiply_rows<4>(product, panel, row, output);
        break;
      case 3:
        multiply_rows<3>(product, panel, row, output);
        break;
      case 2:
        multiply_rows<2>(product, panel, row, output);
        break;
      case 1:
        multiply_rows<1>(product, panel, row, output);
        break;
      default:
        break;
    }
    panel += product.num_inputs;
  }
}

void multiply_baseline(const Product &product) {
  multiply_panels(product);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void multiply_avx2(const Product &product) {
  multiply_panels(product);
}

__attribute__((target("avx512f"))) void multiply_avx512(const Product &product) {
  multiply_panels(product);
}
#endif

using MultiplyFn = void (*)(const Product &);

MultiplyFn fastest_multiply() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return multiply_avx512;
  if (__builtin_cpu_supports("avx2")) return multiply_avx2;
#endif
  return multiply_baseline;
}

}  // namespace

PackedMatrix::PackedMatrix(const std::vector<float> &weights, std::size_t num_inputs,
                           std::size_t num_outputs, Layout layout)
    : num_inputs_(num_inputs),
      num_outputs_(num_outputs),
      panels_((num_outputs + kPanelWidth - 1) / kPanelWidth * num_inputs) {
  PanelRow *panel_row = panels_.data();
  for (std::size_t first = 0; first < num_outputs; first += kPanelWidth) {
    const std::size_t end = std::min(first + kPanelWidth, num_outputs);
    for (std::size_t i = 0; i < num_inputs; ++i, ++panel_row) {
      for (std::size_t output = first; output < end; ++output) {
        panel_row->weights[output - first] =
            weights[layout == Layout::kInOut ? i * num_outputs + output : output * num_inputs + i];
      }
    }
  }
}

void PackedMatrix::multiply(const float *x, std::size_t num_rows, const float *bias, float *y,
                            std::size_t y_stride) const {
  static const MultiplyFn fastest = fastest_multiply();
  if (y_stride == 0) y_stride = num_outputs_;
  fastest({panels_.data(), num_inputs_, num_outputs_, x, num_rows, bias, y, y_stride});
}

void PackedMatrix::copy_output(std::size_t output, float *out_weights) const {
  const PanelRow *panel = &panels_[output / kPanelWidth * num_inputs_];
  for (std::size_t i = 0; i < num_inputs_; ++i) {
    out_weights[i] = panel[i].weights[output % kPanelWidth];
  }
}

}  // namespace generate
