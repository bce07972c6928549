// Stands for kernels/launch.cu: the same kernels, launched on fibers.
#include "launch.h"

#include <type_traits>

#include "kernel.cuh"
#include "runtime.h"
#include "simt.h"

namespace sampler::kernels {

namespace {

namespace runtime = simt::runtime;

// An address for each of the two kernels of a request, with clusters and without.
template <class Request>
const char kernel_addresses[2] = {};

template <class Request>
const void *address_of_kernel(bool clustered) {
  return &kernel_addresses<Request>[clustered];
}

template <int kThreads, class Request>
void run(const Request &request, const Plan &plan, uint64_t seed) {
  simt::launch<kThreads>(plan.num_teams, plan.team_size, plan.shared_bytes(), seed,
                         [&](auto &ctx) { run_operation(ctx, request, plan); });
}

const char upload_kernel_address = 0;

template <class Request>
cudaError_t launch_operation(const Request &request, const Plan &plan, cudaStream_t stream) {
  runtime::Launch config;
  config.kernel = address_of_kernel<Request>(plan.team_size > 1);
  config.num_teams = plan.num_teams;
  config.team_size = plan.team_size;
  config.shared_bytes = plan.shared_bytes();
  config.stream = stream;
  return runtime::launch(config, [request, plan](uint64_t seed) {
    if (runtime::block_threads() == kBlockThreads) {
      run<kBlockThreads>(request, plan, seed);
    } else {
      run<64>(request, plan, seed);
    }
  });
}

}  // namespace

cudaError_t launch(const Upload<kUploadWords> &upload, cudaStream_t stream) {
  constexpr int kThreads = 64;
  runtime::Launch config;
  config.kernel = &upload_kernel_address;
  config.num_teams = (upload.num_words + kThreads - 1) / kThreads;
  config.team_size = 1;
  config.shared_bytes = 0;
  config.stream = stream;
  return runtime::launch(config, [upload](uint64_t seed) {
    simt::launch<kThreads>((upload.num_words + kThreads - 1) / kThreads, 1, 0, seed,
                           [&](auto &ctx) { run_upload(ctx, upload); });
  });
}

cudaError_t launch(const contract::AnyRequest &any, const Plan &plan, cudaStream_t stream) {
  return any.visit([&](const auto &request) { return launch_operation(request, plan, stream); });
}

cudaError_t allow_shared_memory(size_t bytes) {
  cudaError_t error = cudaSuccess;
  contract::AnyRequest::for_each_operation([&](const auto &request) {
    using Request = std::decay_t<decltype(request)>;
    for (const bool clustered : {false, true}) {
      if (error != cudaSuccess) return;
      error = cudaFuncSetAttribute(address_of_kernel<Request>(clustered),
                                   cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes));
    }
  });
  return error;
}

}  // namespace sampler::kernels
