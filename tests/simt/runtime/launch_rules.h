// What CUDA asks of a launch, and how much of one a device runs at once.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace simt::runtime {

struct Device {
  // Multiprocessors of each processing cluster (GPC). A thread block cluster runs in one of these.
  std::array<int, 12> processing_clusters;
  int shared_bytes_per_block;  // static and dynamic at most, opted in
  int shared_bytes_per_multiprocessor;
  int compute_capability;  // 90 for 9.0, with which thread block clusters begin
  int threads_per_multiprocessor = 2048;
  int largest_cluster = 16;  // with the attribute for clusters that are not portable

  constexpr int num_multiprocessors() const {
    int sum = 0;
    for (const int multiprocessors : processing_clusters) sum += multiprocessors;
    return sum;
  }
  constexpr bool has_clusters() const { return compute_capability >= 90; }
};

constexpr int kReservedSharedBytes = 1 << 10;  // of a multiprocessor's, for each block

// Teams, as the kernels call clusters, and blocks that are in none.
struct Grid {
  std::int64_t num_teams;
  int team_size;
  std::size_t dynamic_bytes;
};

// Runs a kernel with its threads in an order drawn by the seed.
using Work = std::function<void(std::uint64_t seed)>;

struct Kernel {
  int static_shared_bytes = 0;
  int num_registers = 32;  // of a thread
  int max_threads = 1024;  // of a block
  std::size_t parameter_bytes = 0;
  int least_compute_capability = 80;  // that there is code for
  // Copies the arguments, as a launch does.
  std::function<Work(const Grid &grid, void **arguments)> bind;
};

// What was set of a kernel, in one context.
struct KernelSettings {
  int opted_in_bytes = -1;  // of dynamic shared memory; -1: nobody has
  bool has_non_portable_clusters = false;
};

// Static and dynamic shared memory of a block without opting in.
constexpr int kSharedBytesWithoutOptIn = 48 << 10;

int blocks_per_multiprocessor(const Device &device, const Kernel &kernel, int block_threads,
                              std::size_t dynamic_bytes);

// Clusters that run at once in a processing cluster of num_multiprocessors.
int clusters_in(int num_multiprocessors, int blocks_per_multiprocessor, int cluster_size);
int clusters_at_once(const Device &device, const Kernel &kernel, int block_threads,
                     std::size_t dynamic_bytes, int cluster_size);

// The blocks of the configuration's clusters, 1 without.
int cluster_size_of(const cudaLaunchConfig_t &config);

cudaError_t check_setting(const Device &device, const Kernel &kernel, cudaFuncAttribute attribute,
                          int value);
cudaError_t check_cluster(const Device &device, const KernelSettings &settings,
                          const cudaLaunchConfig_t &config);
cudaError_t check_launch(const Device &device, const Kernel &kernel, const KernelSettings &settings,
                         const cudaLaunchConfig_t &config);

}  // namespace simt::runtime
