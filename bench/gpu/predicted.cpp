#include "predicted.h"

#include <cstdint>
#include <cstdio>

namespace gpu_check {

namespace {

struct Predicted {
  const char *operation, *dtype;
  int64_t num_cols, num_rows;
  double h100_us, h200_us;
};

const Predicted kPredicted[] = {
#include "predicted.inc"
};

}  // namespace

std::optional<double> predicted_us(const std::string &device, const Json &cell) {
  const bool is_h200 = device.find("H200") != std::string::npos;
  if (!is_h200 && device.find("H100") == std::string::npos) return std::nullopt;
  for (const Predicted &each : kPredicted) {
    if (cell["operation"] == each.operation && cell["dtype"] == each.dtype &&
        cell["num_cols"] == each.num_cols && cell["num_rows"] == each.num_rows) {
      return is_h200 ? each.h200_us : each.h100_us;
    }
  }
  return std::nullopt;
}

std::string predicted_beside_measured(const Json &report) {
  std::string lines;
  for (const Json &cell : report["cells"]) {
    const std::optional<double> predicted = predicted_us(report["run"]["device"], cell);
    if (!predicted) continue;
    const double measured = cell["kernel_cold"]["median_us"];
    char line[120];
    std::snprintf(line, sizeof line, "%-36s predicted %9.2f us  measured %9.2f us  %6.2f x\n",
                  cell["name"].get<std::string>().c_str(), *predicted, measured,
                  measured / *predicted);
    lines += line;
  }
  return lines;
}

}  // namespace gpu_check
