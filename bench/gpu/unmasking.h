// sampler_unmask on a device against a CPU.
#pragma once

#include <sampler/sampler.h>

#include <cstdint>
#include <string>

namespace gpu_check {

// What differs between the two in random blocks of this seed; empty: nothing.
std::string difference_in_unmasking(sampler_t cpu, sampler_t device, uint64_t seed);

}  // namespace gpu_check
