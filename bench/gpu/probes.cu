#include "probes.h"

#include <cooperative_groups.h>

#include <type_traits>

#include "runtime.h"

namespace gpu_check {

namespace {

__global__ void empty_kernel() {}

__global__ void cluster_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  const auto cluster = cooperative_groups::this_cluster();
  for (int i = 0; i < kProbeRounds; ++i) cluster.sync();
#endif
}

template <class Word>
__global__ void add_kernel(bool is_crowded, unsigned long long *out) {
  __shared__ Word bins[kProbeThreads];
  bins[threadIdx.x] = 0;
  __syncthreads();
  Word *const bin = &bins[is_crowded ? threadIdx.x / 32 * 32 : threadIdx.x];
  for (int i = 0; i < kProbeRounds; ++i) atomicAdd(bin, Word(i));
  __syncthreads();
  out[threadIdx.x] = bins[threadIdx.x];
}

cudaLaunchConfig_t cluster_config(int size, int shared_bytes, cudaStream_t stream,
                                  cudaLaunchAttribute *attribute) {
  attribute->id = cudaLaunchAttributeClusterDimension;
  attribute->val.clusterDim = {unsigned(size), 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(unsigned(size));
  config.blockDim = dim3(kProbeThreads);
  config.dynamicSmemBytes = size_t(shared_bytes);
  config.stream = stream;
  config.attrs = attribute;
  config.numAttrs = 1;
  return config;
}

void allow(int shared_bytes) {
  const void *kernel = reinterpret_cast<const void *>(&cluster_kernel);
  CUDA_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
}

}  // namespace

void launch_empty(cudaStream_t stream) {
  empty_kernel<<<1, kProbeThreads, 0, stream>>>();
  CUDA_CHECK(cudaGetLastError());
}

void launch_cluster_barriers(int size, cudaStream_t stream) {
  allow(0);
  cudaLaunchAttribute attribute = {};
  const cudaLaunchConfig_t config = cluster_config(size, 0, stream, &attribute);
  CUDA_CHECK(cudaLaunchKernelEx(&config, &cluster_kernel));
}

int active_clusters(int size, int shared_bytes) {
  allow(shared_bytes);
  cudaLaunchAttribute attribute = {};
  const cudaLaunchConfig_t config = cluster_config(size, shared_bytes, nullptr, &attribute);
  int result = 0;
  if (cudaOccupancyMaxActiveClusters(&result, &cluster_kernel, &config) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return result;
}

void launch_shared_adds(bool is_wide, bool is_crowded, unsigned long long *out,
                        cudaStream_t stream) {
  if (is_wide) {
    add_kernel<unsigned long long><<<1, kProbeThreads, 0, stream>>>(is_crowded, out);
  } else {
    add_kernel<unsigned><<<1, kProbeThreads, 0, stream>>>(is_crowded, out);
  }
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace gpu_check
