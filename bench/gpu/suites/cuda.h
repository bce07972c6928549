// What the suites' stand-in for the fake runtime asks of the real one, whose headers it cannot
// include beside the fake ones.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpu_suites {

void *allocate(std::size_t bytes);  // on the device
void release(void *memory);
void copy(void *to, const void *from, std::size_t bytes);
int capability();  // of device 0, 90 for 9.0; 0: no device

// Memory that device and host reach at the same address; null: there is none.
void *allocate_reached(std::size_t bytes);
bool reaches_all_memory();  // of the host
bool reach(void *begin, std::size_t bytes, bool writes);

// Called for each launch, before it.
void note_launch(const void *kernel, std::int64_t num_blocks, int cluster_size,
                 std::size_t shared_bytes);

}  // namespace gpu_suites
