// Times of a device beside what they are to be.
#pragma once

#include <string>

namespace gpu_check {

// Prints the f32 cells of 128,256 columns in a file of times, each with its goal for an H200 and
// FlashInfer's time there, and last those that are farthest from their goals.
void print_beside_goals(const std::string &json_path);

}  // namespace gpu_check
