// Prints the most dynamic shared memory that any launch is planned with, of a kernel with STATIC
// bytes of static shared memory, where a block and a multiprocessor have the others:
//
//   most_dynamic_bytes STATIC PER_BLOCK PER_MULTIPROCESSOR
//
// With the device's other blocks away, and with as many as are planned for beside it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "launch/plan.h"

namespace kernels = sampler::kernels;

int main(int num_arguments, char **arguments) {
  if (num_arguments != 4) return 2;
  const int static_bytes = std::atoi(arguments[1]);
  kernels::SharedMemory memory = {};
  memory.per_block = std::atoi(arguments[2]);
  memory.per_multiprocessor = std::atoi(arguments[3]);
  memory.reserved_per_block = 1024;
  kernels::DeviceShape device;
  device.num_multiprocessors = 132;
  kernels::KernelShape &shape = device.of(kernels::KernelSet::kPlain);
  kernels::divide_shared_memory(memory, static_bytes, &shape);

  int most = 0;
  for (int num_team_sizes = 1; num_team_sizes <= kernels::kNumTeamSizes; ++num_team_sizes) {
    // A device whose largest clusters have 2^(num_team_sizes - 1) blocks.
    for (kernels::Share &share : shape.shares) {
      for (int i = 0; i < kernels::kNumTeamSizes; ++i) {
        share.teams_at_once[i] = i < num_team_sizes ? 132 >> i : 0;
      }
    }
    for (const int64_t num_rows : {1, 64, 1024}) {
      for (const int element_bytes : {2, 4}) {
        for (int64_t num_cols = 1; num_cols < sampler::contract::kMaxVocabulary; num_cols += 97) {
          const kernels::Extent extent = {num_rows, num_cols, element_bytes, false,
                                          kernels::Operation(0)};
          most = std::max(most, int(kernels::make_plan(device, extent).shared_bytes()));
        }
      }
    }
  }
  std::printf("%d %d\n", most, shape.shares[0].dynamic_bytes);
}
