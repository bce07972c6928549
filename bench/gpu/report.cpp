#include "report.h"

#include <cuda_runtime_api.h>
#include <sampler/sampler.h>

#include <cstdio>
#include <ctime>
#include <fstream>
#include <stdexcept>

#include "runtime.h"

#ifndef SAMPLER_COMMIT
#define SAMPLER_COMMIT "unknown"
#endif

namespace gpu_check {

namespace {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  return text;
}

// The driver's version from the kernel module, "" if unknown: NVML is not linked.
std::string kernel_driver() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

Json describe_run(int device, const std::string &command) {
  cudaDeviceProp properties;
  int driver = 0, runtime = 0;
  CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  CUDA_CHECK(cudaDriverGetVersion(&driver));
  CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
  return {{"program", "libsampler"},
          {"version", sampler_version_string()},
          {"commit", SAMPLER_COMMIT},
          {"date", utc_now()},
          {"command", command},
          {"device", properties.name},
          {"compute_capability", properties.major * 10 + properties.minor},
          {"multiprocessors", properties.multiProcessorCount},
          {"l2_bytes", properties.l2CacheSize},
          {"driver", kernel_driver()},
          {"driver_cuda_version", driver},
          {"runtime_cuda_version", runtime}};
}

void write_json(const Json &json, const std::string &path) {
  if (path.empty()) return;
  const std::string partial = path + ".partial";
  std::ofstream file(partial);
  file << json.dump(1) << '\n';
  file.close();
  if (!file || std::rename(partial.c_str(), path.c_str()) != 0) {
    throw std::runtime_error("cannot write " + path);
  }
}

}  // namespace gpu_check
