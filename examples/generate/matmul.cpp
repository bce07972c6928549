#include "matmul.h"

#include <algorithm>
#include <cstring>

namespace generate {

namespace {

// Copies `count` floats, most often kCount.
template <std::size_t kCount>
__attribute__((always_inline)) inline void copy(float *to, const float *from, std::size_t count) {
  if (count == kCount) {
    std::memcpy(to, from, kCount * sizeof(float));
  } else {
    std::memcpy(to, from, count * sizeof(float));
  }
}

// The sums of some rows in some panels side by side: a lone sum would keep the adders waiting for
// itself.
template <std::size_t kLanes, std::size_t kRows, std::size_t kPanels>
__attribute__((always_inline)) inline void multiply_tile(const Product &product,
                                                         std::size_t first_row,
                                                         std::size_t first_output) {
  constexpr std::size_t kWidth = kPanels * kPanelWidth, kVectors = kPanelWidth / kLanes;
  typedef float Vector __attribute__((vector_size(kLanes * sizeof(float))));
  const std::size_t width = std::min(kWidth, product.num_outputs - first_output);
  float edge[kWidth] = {};
  if (product.bias != nullptr) copy<kWidth>(edge, product.bias + first_output, width);
  Vector sums[kRows][kPanels][kVectors];
  for (std::size_t r = 0; r < kRows; ++r) std::memcpy(&sums[r], edge, sizeof edge);

  const float *weights = product.weights + first_output / kPanelWidth * product.panel_stride;
  const float *x = product.x + first_row * product.x_stride;
  for (std::size_t i = 0; i < product.num_inputs; ++i, weights += product.input_stride) {
    Vector row[kPanels][kVectors];
#pragma GCC unroll 8
    for (std::size_t p = 0; p < kPanels; ++p) {
#pragma GCC unroll 8
      for (std::size_t v = 0; v < kVectors; ++v) {
        std::memcpy(&row[p][v], weights + p * product.panel_stride + v * kLanes, sizeof(Vector));
      }
    }
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRows; ++r) {
      const float input = x[r * product.x_stride + i];
#pragma GCC unroll 8
      for (std::size_t p = 0; p < kPanels; ++p) {
#pragma GCC unroll 8
        for (std::size_t v = 0; v < kVectors; ++v) sums[r][p][v] += row[p][v] * input;
      }
    }
  }

  float *y = product.y + first_row * product.y_stride + first_output;
  for (std::size_t r = 0; r < kRows; ++r) {
    std::memcpy(edge, &sums[r], sizeof edge);
    copy<kWidth>(y + r * product.y_stride, edge, width);
  }
}

// All rows in kPanels panels, in passes of kRows or one less: an evenly filled pass is cheaper a
// row than a full one and a rest.
template <std::size_t kLanes, std::size_t kRows, std::size_t kPanels>
__attribute__((always_inline)) inline void multiply_rows(const Product &product,
                                                         std::size_t first_output) {
  std::size_t num_passes = (product.num_rows + kRows - 1) / kRows;
  for (std::size_t row = 0; row < product.num_rows; --num_passes) {
    if (product.num_rows - row > (kRows - 1) * num_passes) {
      multiply_tile<kLanes, kRows, kPanels>(product, row, first_output);
      row += kRows;
    } else if constexpr (kRows > 1) {
      multiply_tile<kLanes, kRows - 1, kPanels>(product, row, first_output);
      row += kRows - 1;
    }
  }
}

// kTile: the rows times panels whose sums fit the registers. Weights come from memory once: all
// rows are multiplied by a few panels before the next ones.
template <std::size_t kLanes, std::size_t kTile, std::size_t kRows>
__attribute__((always_inline)) inline void multiply_panels(const Product &product,
                                                           std::size_t rows_a_pass) {
  if constexpr (kRows > 1) {
    if (rows_a_pass < kRows) {
      return multiply_panels<kLanes, kTile, kRows - 1>(product, rows_a_pass);
    }
  }
  constexpr std::size_t kPanels = std::min<std::size_t>(kRows == 1 ? 4 : 2, kTile / kRows);
  std::size_t output = 0;
  for (; output + (kPanels - 1) * kPanelWidth < product.num_outputs;
       output += kPanels * kPanelWidth) {
    multiply_rows<kLanes, kRows, kPanels>(product, output);
  }
  for (; output < product.num_outputs; output += kPanelWidth) {
    multiply_rows<kLanes, kRows, 1>(product, output);
  }
}

template <std::size_t kLanes, std::size_t kTile>
__attribute__((always_inline)) inline void multiply_tiles(const Product &product) {
  constexpr std::size_t kMaxRows = std::min<std::size_t>(6, kTile);
  if (product.num_rows == 0) return;
  const std::size_t num_passes = (product.num_rows + kMaxRows - 1) / kMaxRows;
  multiply_panels<kLanes, kTile, kMaxRows>(product,
                                           (product.num_rows + num_passes - 1) / num_passes);
}

#if defined(__x86_64__)

// 16 registers of 4 floats, of which 12 hold sums.
void multiply_sse(const Product &product) {
  multiply_tiles<4, 3>(product);
}

// 16 registers of 8 floats, of which 12 hold sums.
__attribute__((target("avx2,fma"))) void multiply_avx2(const Product &product) {
  multiply_tiles<8, 6>(product);
}

// 32 registers of 16 floats: 12 sums keep the adders busy and leave room for what they are made of.
__attribute__((target("avx512f,fma"))) void multiply_avx512(const Product &product) {
  multiply_tiles<16, 12>(product);
}

std::vector<Multiplier> supported_multipliers() {
  std::vector<Multiplier> supported;
  if (__builtin_cpu_supports("avx512f")) supported.push_back({"AVX-512", true, multiply_avx512});
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    supported.push_back({"AVX2", true, multiply_avx2});
  }
  supported.push_back({"SSE", false, multiply_sse});
  return supported;
}

#else

// aarch64: 32 registers of 4 floats, of which 24 hold sums.
void multiply_neon(const Product &product) {
  multiply_tiles<4, 6>(product);
}

std::vector<Multiplier> supported_multipliers() {
  return {{"NEON", true, multiply_neon}};
}

#endif

}  // namespace

const std::vector<Multiplier> &multipliers() {
  static const std::vector<Multiplier> supported = supported_multipliers();
  return supported;
}

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
  generate::multiply({panels_.empty() ? nullptr : panels_[0].weights, num_inputs_ * kPanelWidth,
                      kPanelWidth, num_inputs_, num_outputs_, x, num_inputs_, num_rows, bias, y,
                      y_stride == 0 ? num_outputs_ : y_stride});
}

void PackedMatrix::multiply_part(const float *x, std::size_t num_rows, std::size_t first_output,
                                 std::size_t end_output, float *y, std::size_t y_stride) const {
  if (first_output == end_output) return;
  generate::multiply({panels_[first_output / kPanelWidth * num_inputs_].weights,
                      num_inputs_ * kPanelWidth, kPanelWidth, num_inputs_,
                      end_output - first_output, x, num_inputs_, num_rows, nullptr, y, y_stride});
}

void PackedMatrix::copy_output(std::size_t output, float *out_weights) const {
  const PanelRow *panel = &panels_[output / kPanelWidth * num_inputs_];
  for (std::size_t i = 0; i < num_inputs_; ++i) {
    out_weights[i] = panel[i].weights[output % kPanelWidth];
  }
}

}  // namespace generate
