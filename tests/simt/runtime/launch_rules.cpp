#include "launch_rules.h"

#include <algorithm>

namespace simt::runtime {
namespace {

constexpr int kWarpThreads = 32;
constexpr int kBlockThreads = 1024;
constexpr int kRegisters = 64 << 10;       // of a multiprocessor
constexpr int kBlocks = 32;                // of a multiprocessor
constexpr int kRegistersOfWarpUnit = 256;  // a warp gets a multiple of
constexpr int kSharedUnit = 128;           // a block gets a multiple of
constexpr unsigned kGridX = 0x7FFFFFFF;
constexpr unsigned kGridYAndZ = 65535;
constexpr int kPortableCluster = 8;

int rounded_up(int value, int unit) {
  return (value + unit - 1) / unit * unit;
}

std::size_t parameter_limit(const Device &device) {
  return device.compute_capability >= 70 ? 32764 : 4096;
}

std::int64_t num_threads(const dim3 &block) {
  return std::int64_t(block.x) * block.y * block.z;
}

}  // namespace

int blocks_per_multiprocessor(const Device &device, const Kernel &kernel, int block_threads,
                              std::size_t dynamic_bytes) {
  const int warps = rounded_up(block_threads, kWarpThreads) / kWarpThreads;
  const int registers =
      warps * rounded_up(kernel.num_registers * kWarpThreads, kRegistersOfWarpUnit);
  const int shared_bytes = rounded_up(
      kernel.static_shared_bytes + int(dynamic_bytes) + kReservedSharedBytes, kSharedUnit);
  return std::min({kBlocks, device.threads_per_multiprocessor / (warps * kWarpThreads),
                   kRegisters / registers, device.shared_bytes_per_multiprocessor / shared_bytes});
}

int clusters_in(int num_multiprocessors, int blocks_per_multiprocessor, int cluster_size) {
  return num_multiprocessors * blocks_per_multiprocessor / cluster_size;
}

int clusters_at_once(const Device &device, const Kernel &kernel, int block_threads,
                     std::size_t dynamic_bytes, int cluster_size) {
  const int blocks = blocks_per_multiprocessor(device, kernel, block_threads, dynamic_bytes);
  int clusters = 0;
  for (const int multiprocessors : device.processing_clusters) {
    clusters += clusters_in(multiprocessors, blocks, cluster_size);
  }
  return clusters;
}

int cluster_size_of(const cudaLaunchConfig_t &config) {
  int size = 1;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const auto &cluster = config.attrs[i].val.clusterDim;
    if (config.attrs[i].id == cudaLaunchAttributeClusterDimension) {
      size = int(cluster.x * cluster.y * cluster.z);
    }
  }
  return size;
}

cudaError_t check_setting(const Device &device, const Kernel &kernel, cudaFuncAttribute attribute,
                          int value) {
  switch (attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
      if (value < 0) return cudaErrorInvalidValue;
      if (kernel.static_shared_bytes + value > device.shared_bytes_per_block) {
        return cudaErrorInvalidValue;
      }
      return cudaSuccess;
    case cudaFuncAttributeNonPortableClusterSizeAllowed:
      return device.has_clusters() ? cudaSuccess : cudaErrorNotSupported;
  }
  return cudaErrorInvalidValue;
}

cudaError_t check_cluster(const Device &device, const KernelSettings &settings,
                          const cudaLaunchConfig_t &config) {
  const int size = cluster_size_of(config);
  if (size < 1) return cudaErrorInvalidClusterSize;
  if (size == 1) return cudaSuccess;
  if (!device.has_clusters()) return cudaErrorNotSupported;
  if (config.gridDim.x % unsigned(size) != 0) return cudaErrorInvalidClusterSize;
  const int limit = settings.has_non_portable_clusters ? device.largest_cluster : kPortableCluster;
  return size > limit ? cudaErrorInvalidClusterSize : cudaSuccess;
}

cudaError_t check_launch(const Device &device, const Kernel &kernel, const KernelSettings &settings,
                         const cudaLaunchConfig_t &config) {
  const dim3 &grid = config.gridDim;
  if (grid.x < 1 || grid.y < 1 || grid.z < 1) return cudaErrorInvalidConfiguration;
  if (grid.x > kGridX || grid.y > kGridYAndZ || grid.z > kGridYAndZ) {
    return cudaErrorInvalidConfiguration;
  }
  const std::int64_t threads = num_threads(config.blockDim);
  if (threads < 1 || threads > kBlockThreads) return cudaErrorInvalidConfiguration;
  if (threads > kernel.max_threads) return cudaErrorLaunchOutOfResources;
  if (kernel.parameter_bytes > parameter_limit(device)) return cudaErrorInvalidValue;

  const int limit = settings.opted_in_bytes >= 0
                        ? settings.opted_in_bytes
                        : kSharedBytesWithoutOptIn - kernel.static_shared_bytes;
  if (config.dynamicSmemBytes > std::size_t(std::max(limit, 0))) return cudaErrorInvalidValue;
  if (blocks_per_multiprocessor(device, kernel, int(threads), config.dynamicSmemBytes) < 1) {
    return cudaErrorLaunchOutOfResources;
  }

  const cudaError_t error = check_cluster(device, settings, config);
  if (error != cudaSuccess) return error;
  const int cluster = cluster_size_of(config);
  if (cluster > 1 &&
      clusters_at_once(device, kernel, int(threads), config.dynamicSmemBytes, cluster) < 1) {
    return cudaErrorInvalidClusterSize;
  }
  return cudaSuccess;
}

}  // namespace simt::runtime
