// What gpu_check prints beside the times that it measures, of a report as it writes them.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "predicted.h"

namespace gpu_check {
namespace {

Json cell(const std::string &operation, int num_rows, double measured_us) {
  return {{"name", operation + "/B=" + std::to_string(num_rows)},
          {"operation", operation},
          {"num_rows", num_rows},
          {"num_cols", 128256},
          {"dtype", "f32"},
          {"kernel_cold", {{"median_us", measured_us}}}};
}

TEST(Predicted, IsKnownOfTwoDevices) {
  const Json greedy = cell("greedy", 1024, 0);
  const auto h100 = predicted_us("NVIDIA H100 80GB HBM3", greedy);
  const auto h200 = predicted_us("NVIDIA H200", greedy);
  ASSERT_TRUE(h100 && h200);
  EXPECT_GT(*h100, *h200);                      // whose memory is faster
  EXPECT_GT(*h200, 1024 * 128256 * 4 / 4.9e6);  // the published limit
  EXPECT_FALSE(predicted_us("NVIDIA A100-SXM4-80GB", greedy));
}

TEST(Predicted, IsUnknownOfOtherCells) {
  EXPECT_FALSE(predicted_us("NVIDIA H200", cell("greedy", 1023, 0)));
  EXPECT_FALSE(predicted_us("NVIDIA H200", cell("joint", 1024, 0)));
  Json other = cell("greedy", 1024, 0);
  other["dtype"] = "f16";
  EXPECT_FALSE(predicted_us("NVIDIA H200", other));
}

TEST(Predicted, StandsBesideWhatIsMeasured) {
  Json report = {{"run", {{"device", "NVIDIA H200"}}}, {"cells", Json::array()}};
  const double predicted = *predicted_us("NVIDIA H200", cell("top_p0.9", 64, 0));
  report["cells"].push_back(cell("top_p0.9", 64, 1.5 * predicted));
  report["cells"].push_back(cell("joint", 64, 10));
  const std::string lines = predicted_beside_measured(report);
  char expected[120];
  std::snprintf(expected, sizeof expected,
                "%-36s predicted %9.2f us  measured %9.2f us    1.50 x\n", "top_p0.9/B=64",
                predicted, 1.5 * predicted);
  EXPECT_EQ(lines, expected);
  report["run"]["device"] = "NVIDIA L4";
  EXPECT_EQ(predicted_beside_measured(report), "");
}

}  // namespace
}  // namespace gpu_check
