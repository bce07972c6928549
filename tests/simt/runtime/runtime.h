// A fake CUDA runtime: devices, their memory, errors, and launches that run on fibers.
//
// Memory of a device can be reached by kernels on that device alone: the host, a kernel on another
// device, and whoever runs over its end fault. A launch has run when it returns, in whatever
// stream, unless a Recording takes it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace simt::runtime {

// ---- The machine --------------------------------------------------------------------------------

struct Device {
  int num_multiprocessors;
  int shared_bytes_per_block;  // at most, opted in
  int shared_bytes_per_multiprocessor;
  int compute_capability;  // the major number; thread block clusters begin with 9
};

constexpr Device kHopper = {132, 227 << 10, 228 << 10, 9};
constexpr Device kAda = {128, 99 << 10, 100 << 10, 8};  // has no clusters

// A machine with these devices on which nothing has happened: a process begins with one of each of
// the two. Without devices there is no driver either. All memory must have been released.
void reset(const std::vector<Device> &devices = {kHopper, kAda});

// Threads of a block of the kernels, 64 or 256. 256 is what a GPU runs; results are the same, and
// 64 are there sooner.
void set_block_threads(int num_threads);
int block_threads();

// ---- Calls and errors ---------------------------------------------------------------------------

// How often each function has been called since reset() or forget_calls(), those that failed too.
// A launch counts as cudaLaunchKernelExC.
std::map<std::string, int> calls();
void forget_calls();

// Call number `index` from now of that function, 0 the next, does nothing but return `error`. Of
// any function: "".
void fail_call(const std::string &function, cudaError_t error, int index = 0);

// Forgets the failures that are still to come.
void reset_failures();

// The function that failed so last, and "" from then on.
std::string take_failed_function();

// ---- Memory -------------------------------------------------------------------------------------

// Not counted among the calls. As cudaMalloc gives it: aligned to 256 bytes; full of garbage.
void *allocate(int device, std::size_t bytes);
void release(void *memory);
void copy_to_device(void *to, const void *from, std::size_t bytes);
void copy_to_host(void *to, const void *from, std::size_t bytes);

int num_allocations();

// From now on cudaPointerGetAttributes takes memory that it does not know for the device's. For
// tests written for the CPU, whose arrays kernels here can reach.
void adopt_host_memory(int device);

// ---- Launches -----------------------------------------------------------------------------------

struct Launch {
  const void *kernel = nullptr;  // any address that is the kernel's own
  std::int64_t num_teams = 1;
  int team_size = 1;  // blocks
  std::size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
  int device = -1;  // filled in by launch()
};

// Stands for cudaLaunchKernelExC: runs `work(seed)`, which runs the kernel with its threads in an
// order drawn by the seed. `work` holds copies of the kernel's arguments.
cudaError_t launch(Launch launch, std::function<void(std::uint64_t seed)> work);

// Those since reset() or forget_calls() that did not fail.
const std::vector<Launch> &launches();

// Takes the launches of its lifetime as a captured graph, or a stream that is far behind: none runs
// until replay(), which may come again. One at a time.
class Recording {
 public:
  Recording();
  ~Recording();
  Recording(const Recording &) = delete;
  Recording &operator=(const Recording &) = delete;

  // Throws what a kernel throws.
  void replay() const;
};

}  // namespace simt::runtime
