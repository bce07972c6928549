#include "facts.h"

#include <cstdio>
#include <vector>

#include "probes.h"
#include "report.h"
#include "runtime.h"

namespace gpu_check {

namespace {

int attribute(int device, cudaDeviceAttr name) {
  int value = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&value, name, device));
  return value;
}

Json attributes_of(int device) {
  const struct {
    const char *name;
    cudaDeviceAttr attribute;
  } kWanted[] = {
      {"multiprocessors", cudaDevAttrMultiProcessorCount},
      {"threads_per_multiprocessor", cudaDevAttrMaxThreadsPerMultiProcessor},
      {"registers_per_multiprocessor", cudaDevAttrMaxRegistersPerMultiprocessor},
      {"shared_bytes_per_multiprocessor", cudaDevAttrMaxSharedMemoryPerMultiprocessor},
      {"shared_bytes_per_block", cudaDevAttrMaxSharedMemoryPerBlockOptin},
      {"reserved_shared_bytes_per_block", cudaDevAttrReservedSharedMemoryPerBlock},
      {"l2_bytes", cudaDevAttrL2CacheSize},
      {"memory_bus_bits", cudaDevAttrGlobalMemoryBusWidth},
      {"has_clusters", cudaDevAttrClusterLaunch},
  };
  Json result;
  for (const auto &wanted : kWanted) result[wanted.name] = attribute(device, wanted.attribute);
  return result;
}

// Median microseconds of the work that `enqueue` enqueues, `count` times in a graph.
template <class Enqueue>
double median_time(const Stream &stream, int count, const Enqueue &enqueue) {
  constexpr int kRepeats = 51;
  const Graph graph(stream, [&] {
    for (int i = 0; i < count; ++i) enqueue();
  });
  std::vector<double> times;
  for (int i = 0; i < kRepeats; ++i) times.push_back(time_of(graph, stream, "a probe"));
  return median(times) / count;
}

Json cluster_facts(const Stream &stream, int max_shared_bytes) {
  Json result = Json::array();
  for (int size = 1; size <= 16; size *= 2) {
    Json fact = {{"blocks", size}};
    for (const int shared_bytes : {0, 48 << 10, 64 << 10, 100 << 10, 200 << 10}) {
      if (shared_bytes > max_shared_bytes) continue;
      fact["active_with_" + std::to_string(shared_bytes >> 10) + "_kib"] =
          active_clusters(size, shared_bytes);
    }
    if (active_clusters(size, 0) > 0) {
      const double all = median_time(stream, 1, [&] { launch_cluster_barriers(size, stream); });
      fact["barrier_ns"] = all * 1e3 / kProbeRounds;
    }
    result.push_back(fact);
  }
  return result;
}

Json atomics_facts(const Stream &stream) {
  const DeviceMemory out(kProbeThreads * sizeof(unsigned long long));
  auto *const words = reinterpret_cast<unsigned long long *>(out.data());
  Json result;
  for (const bool is_wide : {false, true}) {
    for (const bool is_crowded : {false, true}) {
      const double all =
          median_time(stream, 1, [&] { launch_shared_adds(is_wide, is_crowded, words, stream); });
      result[std::string(is_wide ? "64_bits" : "32_bits") +
             (is_crowded ? "_same_address_ns" : "_own_address_ns")] = all * 1e3 / kProbeRounds;
    }
  }
  return result;
}

}  // namespace

void report_facts(int device, const std::string &json_path) {
  const Stream stream;
  Json facts = {{"run", describe_run(device, "./gpu_check --facts")},
                {"attributes", attributes_of(device)}};
  write_json(facts, json_path);  // in case the following fails
  // A handle for the usual sizes, as the library's first step.
  make_cuda_sampler(device, 1024, 128256);
  facts["handle"] = "created";
  constexpr int kLaunches = 100;
  facts["launch_us_in_a_graph"] = median_time(stream, kLaunches, [&] { launch_empty(stream); });
  facts["shared_add_by_a_block_of_8_warps"] = atomics_facts(stream);
  if (attribute(device, cudaDevAttrClusterLaunch)) {
    facts["clusters"] =
        cluster_facts(stream, attribute(device, cudaDevAttrMaxSharedMemoryPerBlockOptin));
  }
  write_json(facts, json_path);
  std::printf("%s\n", facts.dump(1).c_str());
}

}  // namespace gpu_check
