// Times that tools/gpu_model.py predicts, beside those that are measured.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace gpu_check {

using Json = nlohmann::ordered_json;

// Microseconds of a cell of the report on a device of this name; none where nothing is predicted.
std::optional<double> predicted_us(const std::string &device, const Json &cell);

// A line for each of a report's cells that is predicted: its name, predicted and measured
// microseconds on cold inputs, and how many times the predicted time it took.
std::string predicted_beside_measured(const Json &report);

}  // namespace gpu_check
