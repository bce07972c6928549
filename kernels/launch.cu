// The kernels as the CUDA compiler sees them, and their launches.
#include "launch.h"

#include <cstring>
#include <type_traits>

#include "cuda_context.cuh"
#include "kernel.cuh"

namespace sampler::kernels {

namespace {

// Without clusters the kernels for them are empty: nobody launches them.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
constexpr bool kHasClusters = false;
#else
constexpr bool kHasClusters = true;
#endif

// The compiler needs a few registers more for clusters there.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
constexpr bool kClustersTakeMore = true;
#else
constexpr bool kClustersTakeMore = false;
#endif

// Blocks that share a multiprocessor's registers: one, where two would spill some. A chain has two
// rows at hand.
template <bool kIsClustered, class Request>
constexpr int kLeastBlocks = std::is_same<Request, contract::ChainRequest>::value ||
                                     (kIsClustered && kClustersTakeMore)
                                 ? 1
                                 : kBlocksPerMultiprocessor;

template <bool kIsClustered, class Request>
__global__ void __launch_bounds__(kBlockThreads, kLeastBlocks<kIsClustered, Request>)
    operation_kernel(const __grid_constant__ Request request, const __grid_constant__ Plan plan) {
  if constexpr (kIsClustered && !kHasClusters) return;
  using Context = CudaContext<kBlockThreads, kIsClustered>;
  extern __shared__ __align__(16) char dynamic_shared[];
  __shared__ typename Context::Scratch scratch;
  Context ctx(scratch, dynamic_shared);
  run_operation(ctx, request, plan);
}

template <int kWords>
__global__ void __launch_bounds__(kBlockThreads)
    upload_kernel(const __grid_constant__ Upload<kWords> upload) {
  using Context = CudaContext<kBlockThreads, false>;
  __shared__ typename Context::Scratch scratch;
  Context ctx(scratch, nullptr);
  run_upload(ctx, upload);
}

template <int kWords>
cudaError_t launch_upload(const Upload<kWords> &upload, cudaStream_t stream) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(unsigned((upload.num_words + kBlockThreads - 1) / kBlockThreads));
  config.blockDim = dim3(kBlockThreads);
  config.stream = stream;
  return cudaLaunchKernelEx(&config, &upload_kernel<kWords>, upload);
}

template <class Request>
cudaError_t launch_operation(const Request &request, const Plan &plan, cudaStream_t stream) {
  const bool clustered = plan.team_size > 1;
  const auto kernel =
      clustered ? &operation_kernel<true, Request> : &operation_kernel<false, Request>;
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = unsigned(plan.team_size);
  cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(unsigned(plan.num_teams * plan.team_size));
  config.blockDim = dim3(kBlockThreads);
  config.dynamicSmemBytes = plan.shared_bytes();
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = clustered ? 1 : 0;
  return cudaLaunchKernelEx(&config, kernel, request, plan);
}

template <class Request>
cudaError_t allow_shared_memory_of(const Request &, size_t bytes) {
  const auto allow = [bytes](const void *kernel) {
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes));
  };
  const cudaError_t error =
      allow(reinterpret_cast<const void *>(&operation_kernel<false, Request>));
  if (error != cudaSuccess) return error;
  return allow(reinterpret_cast<const void *>(&operation_kernel<true, Request>));
}

}  // namespace

cudaError_t launch(const Upload<kUploadWords> &upload, cudaStream_t stream) {
  if (upload.num_words > kSmallUploadWords) return launch_upload(upload, stream);
  Upload<kSmallUploadWords> small;
  small.to = upload.to;
  small.num_words = upload.num_words;
  std::memcpy(small.words, upload.words, size_t(upload.num_words) * sizeof(uint32_t));
  return launch_upload(small, stream);
}

cudaError_t launch(const contract::AnyRequest &any, const Plan &plan, cudaStream_t stream) {
  return any.visit([&](const auto &request) { return launch_operation(request, plan, stream); });
}

cudaError_t allow_shared_memory(size_t bytes) {
  cudaError_t error = cudaSuccess;
  contract::AnyRequest::for_each_operation([&](const auto &request) {
    if (error == cudaSuccess) error = allow_shared_memory_of(request, bytes);
  });
  return error;
}

}  // namespace sampler::kernels
