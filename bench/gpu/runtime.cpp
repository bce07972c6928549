#include "runtime.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

namespace gpu_check {

namespace {

// No call of the checks or the benchmark takes a tenth of this.
constexpr std::chrono::seconds kHangTime(60);

SamplerPtr make_sampler(const sampler_options &options) {
  sampler_t sampler = nullptr;
  if (sampler_create(&options, &sampler) != SAMPLER_OK) {
    throw std::runtime_error(std::string("sampler_create: ") + sampler_last_error());
  }
  return SamplerPtr(sampler);
}

}  // namespace

void check(cudaError_t error, const char *call) {
  if (error == cudaSuccess) return;
  throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(error));
}

int num_cuda_devices() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();
  return 0;
}

DeviceMemory::DeviceMemory(size_t bytes) : bytes_(bytes) {
  CUDA_CHECK(cudaMalloc(&data_, bytes > 0 ? bytes : 1));
}

void Stream::wait(const std::string &what) const {
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    const cudaError_t status = cudaStreamQuery(stream_);
    if (status == cudaSuccess) return;
    if (status != cudaErrorNotReady) {
      throw std::runtime_error(what + ": " + cudaGetErrorString(status));
    }
    if (std::chrono::steady_clock::now() - begin > kHangTime) {
      std::fprintf(stderr, "HANG: %s\n", what.c_str());
      std::_Exit(3);  // releasing anything would wait for the kernel
    }
    std::this_thread::yield();
  }
}

double time_of(const Graph &graph, const Stream &stream, const std::string &what) {
  const Event start, stop;
  CUDA_CHECK(cudaEventRecord(start, stream));
  graph.launch(stream);
  CUDA_CHECK(cudaEventRecord(stop, stream));
  stream.wait(what);
  float milliseconds = 0;
  CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
  return double(milliseconds) * 1e3;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

SamplerPtr make_cpu_sampler(int num_threads) {
  sampler_options options = sampler_options_default();
  options.num_threads = num_threads;
  return make_sampler(options);
}

SamplerPtr make_cuda_sampler(int device, int64_t max_rows, int64_t max_cols) {
  sampler_options options = sampler_options_default();
  options.device_type = SAMPLER_DEVICE_CUDA;
  options.device_id = device;
  options.max_rows = max_rows;
  options.max_cols = max_cols;
  return make_sampler(options);
}

SamplerPtr make_checking_cuda_sampler(int device) {
  sampler_options options = sampler_options_default();
  options.device_type = SAMPLER_DEVICE_CUDA;
  options.device_id = device;
  options.host_parameters = 1;
  options.check_pointers = 1;
  return make_sampler(options);
}

}  // namespace gpu_check
