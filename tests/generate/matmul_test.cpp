#include "matmul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace {

using generate::Layout;
using generate::PackedMatrix;

std::vector<float> random_values(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values;
  while (values.size() < size) values.push_back(static_cast<float>(random()) * 0x1p-31f - 1.0f);
  return values;
}

struct Sizes {
  std::size_t num_inputs;
  std::size_t num_outputs;
  std::size_t num_rows;
};

// The documented order of additions, to the bit: this file is built without contraction.
std::vector<float> expected_product(const Sizes &sizes, const std::vector<float> &x,
                                    const std::vector<float> &in_out,
                                    const std::vector<float> &bias,
                                    bool uses_fma = generate::multipliers().front().uses_fma) {
  std::vector<float> y;
  for (std::size_t row = 0; row < sizes.num_rows; ++row) {
    for (std::size_t output = 0; output < sizes.num_outputs; ++output) {
      float sum = bias[output];
      for (std::size_t i = 0; i < sizes.num_inputs; ++i) {
        const float weight = in_out[i * sizes.num_outputs + output];
        const float input = x[row * sizes.num_inputs + i];
        sum = uses_fma ? std::fma(weight, input, sum) : sum + weight * input;
      }
      y.push_back(sum);
    }
  }
  return y;
}

std::vector<float> transposed(const Sizes &sizes, const std::vector<float> &in_out) {
  std::vector<float> out_in(in_out.size());
  for (std::size_t i = 0; i < sizes.num_inputs; ++i) {
    for (std::size_t output = 0; output < sizes.num_outputs; ++output) {
      out_in[output * sizes.num_inputs + i] = in_out[i * sizes.num_outputs + output];
    }
  }
  return out_in;
}

// Panels that lie apart, as the values of attention do, by each instruction set of the machine.
TEST(Multipliers, AddInTheDocumentedOrderForAnyNumberOfRowsAndOutputs) {
  for (const generate::Multiplier &multiplier : generate::multipliers()) {
    for (const std::size_t num_outputs : {1, 16, 31, 64, 65, 112}) {
      for (std::size_t num_rows = 1; num_rows <= 20; ++num_rows) {
        const Sizes sizes = {11, num_outputs, num_rows};
        const std::vector<float> weights = random_values(sizes.num_inputs * num_outputs + 16, 1);
        const std::vector<float> x = random_values(sizes.num_inputs * num_rows, 2);
        const std::vector<float> bias = random_values(num_outputs, 3);
        std::vector<float> y(num_rows * num_outputs);
        multiplier.multiply({weights.data(), 16, num_outputs, sizes.num_inputs, num_outputs,
                             x.data(), sizes.num_inputs, num_rows, bias.data(), y.data(),
                             num_outputs});
        EXPECT_EQ(y, expected_product(sizes, x, weights, bias, multiplier.uses_fma))
            << multiplier.instruction_set << ", " << num_outputs << " outputs, " << num_rows
            << " rows";
      }
    }
  }
}

TEST(PackedMatrix, AddsInTheDocumentedOrderForAnyNumberOfRowsAndOutputs) {
  for (const std::size_t num_outputs : {1, 15, 16, 17, 33}) {
    for (std::size_t num_rows = 0; num_rows <= 13; ++num_rows) {
      const Sizes sizes = {19, num_outputs, num_rows};
      const std::vector<float> weights = random_values(sizes.num_inputs * num_outputs, 1);
      const std::vector<float> x = random_values(sizes.num_inputs * num_rows, 2);
      const std::vector<float> bias = random_values(num_outputs, 3);
      const std::vector<float> expected = expected_product(sizes, x, weights, bias);
      const PackedMatrix from_in_out(weights, sizes.num_inputs, num_outputs, Layout::kInOut);
      const PackedMatrix from_out_in(transposed(sizes, weights), sizes.num_inputs, num_outputs,
                                     Layout::kOutIn);
      std::vector<float> y(num_rows * num_outputs);
      from_in_out.multiply(x.data(), num_rows, bias.data(), y.data());
      EXPECT_EQ(y, expected) << num_outputs << " outputs, " << num_rows << " rows";
      from_out_in.multiply(x.data(), num_rows, bias.data(), y.data());
      EXPECT_EQ(y, expected) << num_outputs << " outputs, " << num_rows << " rows, transposed";
    }
  }
}

TEST(PackedMatrix, NoBiasIsZeros) {
  const Sizes sizes = {5, 18, 7};
  const std::vector<float> weights = random_values(5 * 18, 1);
  const std::vector<float> x = random_values(5 * 7, 2);
  std::vector<float> y(7 * 18);
  PackedMatrix(weights, 5, 18, Layout::kInOut).multiply(x.data(), 7, nullptr, y.data());
  EXPECT_EQ(y, expected_product(sizes, x, weights, std::vector<float>(18)));
}

TEST(PackedMatrix, RowsMayLieApart) {
  const Sizes sizes = {5, 18, 7};
  const std::vector<float> weights = random_values(5 * 18, 1);
  const std::vector<float> x = random_values(5 * 7, 2);
  const std::vector<float> expected = expected_product(sizes, x, weights, std::vector<float>(18));
  std::vector<float> y(7 * 20, 9.0f);
  PackedMatrix(weights, 5, 18, Layout::kInOut).multiply(x.data(), 7, nullptr, y.data(), 20);
  for (std::size_t i = 0; i < y.size(); ++i) {
    EXPECT_EQ(y[i], i % 20 < 18 ? expected[i / 20 * 18 + i % 20] : 9.0f) << i;
  }
}

TEST(PackedMatrix, GivesTheWeightsOfAnOutputBack) {
  const std::vector<float> weights = random_values(35 * 6, 1);
  const PackedMatrix matrix(weights, 6, 35, Layout::kOutIn);
  for (std::size_t output = 0; output < 35; ++output) {
    std::vector<float> row(6);
    matrix.copy_output(output, row.data());
    const auto begin = weights.begin() + static_cast<std::ptrdiff_t>(6 * output);
    EXPECT_EQ(row, std::vector<float>(begin, begin + 6));
  }
}

}  // namespace
