// Results as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace gpu_check {

using Json = nlohmann::ordered_json;

// The device, the library and the command that results are recorded with.
Json describe_run(int device, const std::string &command);

// Renamed into place, so that the file is whole at any time. Nothing without a path.
void write_json(const Json &json, const std::string &path);

}  // namespace gpu_check
