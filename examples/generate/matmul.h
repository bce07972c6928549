#ifndef GENERATE_MATMUL_H
#define GENERATE_MATMUL_H

#include <cstddef>
#include <vector>

namespace generate {

// How a weight matrix lies in its file.
enum class Layout { kInOut, kOutIn };

inline constexpr std::size_t kPanelWidth = 16;

// The weights from one input to the outputs of a panel.
struct alignas(64) PanelRow {
  float weights[kPanelWidth];
};

// y[r][o] = bias[o] + x[r][0] w[0][o] + x[r][1] w[1][o] + ... for each row r and output o.
//
// Outputs come in panels of 16, so that weights are read once for all rows, front to back, and fill
// vector registers whatever the instruction set. w[i][o] is
// weights[o / 16 * panel_stride + i * input_stride + o % 16]; the last panel is read whole.
//
// Sums are added in this order, product and sum rounded together (fma) where the machine can:
// aarch64, and x86-64 with AVX2. So a row's result depends neither on the other rows nor, among
// machines with fma, on the instruction set.
struct Product {
  const float *weights;
  std::size_t panel_stride;
  std::size_t input_stride;
  std::size_t num_inputs;
  std::size_t num_outputs;
  const float *x;
  std::size_t x_stride;
  std::size_t num_rows;
  const float *bias;  // NULL: zeros
  float *y;
  std::size_t y_stride;
};

// A way to compute products.
struct Multiplier {
  const char *instruction_set;
  bool uses_fma;
  void (*multiply)(const Product &);
};

// Those that this machine has the instructions for, the fastest first.
const std::vector<Multiplier> &multipliers();

inline void multiply(const Product &product) {
  multipliers().front().multiply(product);
}

// The weights of a linear layer, in panels.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  PackedMatrix(const std::vector<float> &weights, std::size_t num_inputs, std::size_t num_outputs,
               Layout layout);

  // y[r] = x[r] W + bias for each row. x is [num_rows, num_inputs], y is [num_rows, num_outputs],
  // its rows y_stride floats apart; 0: num_outputs. bias NULL: zeros.
  void multiply(const float *x, std::size_t num_rows, const float *bias, float *y,
                std::size_t y_stride = 0) const;

  // Only the outputs [first_output, end_output), the first of which is a panel's. y is [num_rows,
  // end_output - first_output].
  void multiply_part(const float *x, std::size_t num_rows, std::size_t first_output,
                     std::size_t end_output, float *y, std::size_t y_stride) const;

  // Copies the num_inputs weights of one output.
  void copy_output(std::size_t output, float *out_weights) const;

 private:
  std::size_t num_inputs_ = 0;
  std::size_t num_outputs_ = 0;
  // [ceil(num_outputs / 16), num_inputs]; weights past the last output are 0.
  std::vector<PanelRow> panels_;
};

}  // namespace generate

#endif  // GENERATE_MATMUL_H
