// The CUDA runtime, with owning classes and exceptions.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <sampler/sampler.h>

namespace gpu_check {

// Throws CUDA's error text unless the call succeeded.
void check(cudaError_t error, const char *call);
#define CUDA_CHECK(call) ::gpu_check::check((call), #call)

// Usable devices; 0 without a driver.
int num_cuda_devices();

class DeviceMemory {
 public:
  explicit DeviceMemory(size_t bytes);
  ~DeviceMemory() { cudaFree(data_); }
  DeviceMemory(const DeviceMemory &) = delete;
  DeviceMemory &operator=(const DeviceMemory &) = delete;

  unsigned char *data() const { return static_cast<unsigned char *>(data_); }
  size_t bytes() const { return bytes_; }

 private:
  void *data_ = nullptr;
  size_t bytes_;
};

class Stream {
 public:
  Stream() { CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;
  operator cudaStream_t() const { return stream_; }

  // Waits for the enqueued work. If a kernel hangs, ends the program and names `what`.
  void wait(const std::string &what) const;

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { CUDA_CHECK(cudaEventCreate(&event_)); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event &) = delete;
  Event &operator=(const Event &) = delete;
  operator cudaEvent_t() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

// A graph of the work that `enqueue` enqueues.
class Graph {
 public:
  template <class Enqueue>
  Graph(cudaStream_t stream, const Enqueue &enqueue) {
    CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    cudaGraph_t graph = nullptr;
    try {
      enqueue();
    } catch (...) {
      cudaStreamEndCapture(stream, &graph);  // else the stream would be unusable
      if (graph) cudaGraphDestroy(graph);
      throw;
    }
    CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
    const cudaError_t error = cudaGraphInstantiate(&graph_, graph, 0);
    cudaGraphDestroy(graph);
    check(error, "cudaGraphInstantiate");
  }
  ~Graph() { cudaGraphExecDestroy(graph_); }
  Graph(const Graph &) = delete;
  Graph &operator=(const Graph &) = delete;

  void launch(cudaStream_t stream) const { CUDA_CHECK(cudaGraphLaunch(graph_, stream)); }

 private:
  cudaGraphExec_t graph_ = nullptr;
};

// Microseconds from before the graph's first work to after its last. `what` names it if it hangs.
double time_of(const Graph &graph, const Stream &stream, const std::string &what);

double median(std::vector<double> values);

struct DestroySampler {
  void operator()(sampler_t sampler) const { sampler_destroy(sampler); }
};
using SamplerPtr = std::unique_ptr<struct sampler_handle, DestroySampler>;

SamplerPtr make_cpu_sampler(int num_threads);
// With a workspace for calls of this size; 0 and 0: none.
SamplerPtr make_cuda_sampler(int device, int64_t max_rows, int64_t max_cols);
// Without a workspace; takes numbers per row from the host, and checks every pointer.
SamplerPtr make_checking_cuda_sampler(int device);

}  // namespace gpu_check
