// Kernels that repeat one operation, to measure its latency.
#pragma once

#include <cuda_runtime_api.h>

namespace gpu_check {

constexpr int kProbeThreads = 256;
constexpr int kProbeRounds = 1024;

// An empty kernel.
void launch_empty(cudaStream_t stream);

// kProbeRounds barriers of one cluster of `size` blocks. Compute capability 9.0 and newer.
void launch_cluster_barriers(int size, cudaStream_t stream);

// Clusters of `size` blocks with `shared_bytes` each that run concurrently; 0 if none fits.
int active_clusters(int size, int shared_bytes);

// kProbeRounds additions to shared memory by each thread of one block: 32 or 64 bits wide; all
// lanes of a warp to one address, or each to its own.
void launch_shared_adds(bool is_wide, bool is_crowded, unsigned long long *out,
                        cudaStream_t stream);

}  // namespace gpu_check
