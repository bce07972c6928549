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

// The weights of a linear layer, kept in panels of 16 outputs so that a product reads them once,
// front to back, and fills vector registers whatever the instruction set.
//
// Each output is bias + x[0] w[0] + x[1] w[1] + ..., added in this order, rounded after each
// product and each sum (built without contraction to fma). So a row's result depends neither on
// the other rows nor on the instruction set.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  PackedMatrix(const std::vector<float> &weights, std::size_t num_inputs, std::size_t num_outputs,
               Layout layout);

  // y[r] = x[r] W + bias for each row. x is [num_rows, num_inputs], y is [num_rows, num_outputs],
  // its rows y_stride floats apart; 0: num_outputs. bias NULL: zeros.
  void multiply(const float *x, std::size_t num_rows, const float *bias, float *y,
                std::size_t y_stride = 0) const;

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
