// Results as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace gpu_check {

using Json = nlohmann::ordered_json;

// Describes the device, the library and the command of the results.
Json describe_run(int device, const std::string &command);

// Written by renaming, so that the file is always complete. No path: no file.
void write_json(const Json &json, const std::string &path);

}  // namespace gpu_check
