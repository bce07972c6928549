#include "runtime.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <utility>

namespace simt::runtime {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr unsigned char kGarbage = 0xB7;
constexpr int kSharedBytesWithoutOptIn = 48 << 10;

[[noreturn]] void give_up(const char *reason) {
  std::fprintf(stderr, "simt::runtime: %s\n", reason);
  std::abort();
}

std::size_t page_size() {
  static const std::size_t size = std::size_t(sysconf(_SC_PAGESIZE));
  return size;
}

std::size_t rounded_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// Pages of their own, the last of which is never accessible. The memory ends right before that
// page, up to its alignment.
class Allocation {
 public:
  Allocation(int device, std::size_t bytes) : device_(device), bytes_(bytes) {
    pages_bytes_ = rounded_up(rounded_up(bytes, kAlignment), page_size());
    void *const pages = mmap(nullptr, pages_bytes_ + page_size(), PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) return;
    pages_ = static_cast<unsigned char *>(pages);
    data_ = pages_ + pages_bytes_ - rounded_up(bytes, kAlignment);
    set_accessible(true);
    std::memset(pages_, kGarbage, pages_bytes_);
    set_accessible(false);
  }

  void free() {
    set_accessible(true);
    const auto is_garbage = [](unsigned char byte) { return byte == kGarbage; };
    const bool intact = std::all_of(pages_, data_, is_garbage) &&
                        std::all_of(data_ + bytes_, pages_ + pages_bytes_, is_garbage);
    munmap(pages_, pages_bytes_ + page_size());
    if (!intact) give_up("somebody wrote outside of an allocation");
  }

  void set_accessible(bool accessible) const {
    mprotect(pages_, pages_bytes_, accessible ? PROT_READ | PROT_WRITE : PROT_NONE);
  }

  int device() const { return device_; }
  unsigned char *data() const { return data_; }
  bool holds(const void *begin, std::size_t bytes) const {
    const auto offset =
        reinterpret_cast<std::uintptr_t>(begin) - reinterpret_cast<std::uintptr_t>(data_);
    return offset <= bytes_ && bytes_ - offset >= bytes;
  }

 private:
  int device_;
  std::size_t bytes_;
  std::size_t pages_bytes_;
  unsigned char *pages_ = nullptr;
  unsigned char *data_ = nullptr;
};

struct Failure {
  std::string function;  // "": any
  cudaError_t error;
  int index;
};

struct Work {
  Launch launch;
  std::function<void(std::uint64_t)> run;
};

struct State {
  std::recursive_mutex mutex;  // of everything here, and of the machine that runs the kernels
  std::vector<Device> devices = {kHopper, kAda};
  int block_threads = 64;
  std::map<std::string, int> calls;
  std::vector<Failure> failures;  // to come
  std::string failed_function;
  std::map<void *, Allocation> allocations;
  int owner_of_host_memory = -1;
  std::map<std::pair<const void *, int>, int> shared_bytes;  // opted in by kernel and device
  std::vector<Launch> launches;
  std::uint64_t seed = 0;
  bool is_recording = false;
  std::vector<Work> recorded;
};

// Never destroyed: tests may release what they have at exit.
State &state() {
  static State *const the_state = new State;
  return *the_state;
}

using Lock = std::lock_guard<std::recursive_mutex>;

thread_local int current_device = 0;
thread_local cudaError_t last_error = cudaSuccess;

// Of every function that can fail: the error is the thread's last one until somebody asks for it.
cudaError_t result(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

// Counts the call; returns the error that a test has asked for, or success.
cudaError_t enter(const char *function) {
  State &s = state();
  ++s.calls[function];
  cudaError_t error = cudaSuccess;
  for (auto failure = s.failures.begin(); failure != s.failures.end();) {
    const bool is_meant = failure->function.empty() || failure->function == function;
    if (is_meant && failure->index-- == 0) {
      error = failure->error;
      s.failed_function = function;
      failure = s.failures.erase(failure);
    } else {
      ++failure;
    }
  }
  if (error == cudaSuccess && s.devices.empty()) error = cudaErrorNoDevice;
  return error;
}

bool is_device(int device) {
  return device >= 0 && device < int(state().devices.size());
}

int attribute_of(const Device &device, cudaDeviceAttr attribute) {
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      return device.num_multiprocessors;
    case cudaDevAttrComputeCapabilityMajor:
      return device.compute_capability;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return device.shared_bytes_per_multiprocessor;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return device.shared_bytes_per_block;
  }
  return -1;
}

const Allocation *find_allocation(const void *pointer) {
  for (const auto &[data, allocation] : state().allocations) {
    if (allocation.holds(pointer, 1)) return &allocation;
  }
  return nullptr;
}

// Null when the system has no such memory.
void *allocate_on(int device, std::size_t bytes) {
  const Allocation allocation(device, bytes);
  if (allocation.data()) state().allocations.emplace(allocation.data(), allocation);
  return allocation.data();
}

// Makes memory accessible as long as it lives.
class Access {
 public:
  explicit Access(std::function<bool(const Allocation &)> wanted) : wanted_(std::move(wanted)) {
    set(true);
  }
  ~Access() { set(false); }
  Access(const Access &) = delete;
  Access &operator=(const Access &) = delete;

 private:
  void set(bool accessible) const {
    for (const auto &[data, allocation] : state().allocations) {
      if (wanted_(allocation)) allocation.set_accessible(accessible);
    }
  }

  std::function<bool(const Allocation &)> wanted_;
};

void copy(void *to, const void *from, std::size_t bytes, const void *on_device) {
  const Lock lock(state().mutex);
  if (bytes == 0) return;
  const auto holds = [&](const Allocation &allocation) {
    return allocation.holds(on_device, bytes);
  };
  const auto &allocations = state().allocations;
  if (std::none_of(allocations.begin(), allocations.end(),
                   [&](const auto &entry) { return holds(entry.second); })) {
    give_up("a copy that is not within one allocation");
  }
  const Access access(holds);
  std::memcpy(to, from, bytes);
}

void run(const Work &work) {
  const Access access(
      [&](const Allocation &allocation) { return allocation.device() == work.launch.device; });
  work.run(++state().seed);
}

cudaError_t check_launch(const Launch &launch) {
  const Device &device = state().devices[std::size_t(launch.device)];
  if (launch.num_teams < 1 || launch.team_size < 1 || launch.num_teams > INT32_MAX ||
      launch.num_teams * launch.team_size > INT32_MAX) {
    return cudaErrorInvalidConfiguration;
  }
  if (launch.team_size > 1 && device.compute_capability < 9) return cudaErrorNotSupported;
  if (launch.team_size > 8) return cudaErrorInvalidValue;  // larger clusters need an attribute
  const auto opted_in = state().shared_bytes.find({launch.kernel, launch.device});
  const int limit =
      opted_in == state().shared_bytes.end() ? kSharedBytesWithoutOptIn : opted_in->second;
  return launch.shared_bytes > std::size_t(limit) ? cudaErrorInvalidValue : cudaSuccess;
}

}  // namespace

void reset(const std::vector<Device> &devices) {
  State &s = state();
  const Lock lock(s.mutex);
  if (!s.allocations.empty()) give_up("device memory is left at a reset");
  s.devices = devices;
  s.block_threads = 64;
  s.calls.clear();
  s.failures.clear();
  s.failed_function.clear();
  s.owner_of_host_memory = -1;
  s.shared_bytes.clear();
  s.launches.clear();
  current_device = 0;
  last_error = cudaSuccess;
}

void set_block_threads(int num_threads) {
  const Lock lock(state().mutex);
  state().block_threads = num_threads;
}

int block_threads() {
  const Lock lock(state().mutex);
  return state().block_threads;
}

std::map<std::string, int> calls() {
  const Lock lock(state().mutex);
  return state().calls;
}

void forget_calls() {
  const Lock lock(state().mutex);
  state().calls.clear();
  state().launches.clear();
}

void fail_call(const std::string &function, cudaError_t error, int index) {
  const Lock lock(state().mutex);
  state().failures.push_back({function, error, index});
}

void reset_failures() {
  const Lock lock(state().mutex);
  state().failures.clear();
}

std::string take_failed_function() {
  const Lock lock(state().mutex);
  return std::exchange(state().failed_function, "");
}

void *allocate(int device, std::size_t bytes) {
  const Lock lock(state().mutex);
  if (!is_device(device)) give_up("memory of a device that is not there");
  void *const memory = allocate_on(device, bytes);
  if (!memory) give_up("out of memory");
  return memory;
}

void release(void *memory) {
  const Lock lock(state().mutex);
  const auto found = state().allocations.find(memory);
  if (found == state().allocations.end()) give_up("memory released that was not allocated");
  found->second.free();
  state().allocations.erase(found);
}

void copy_to_device(void *to, const void *from, std::size_t bytes) {
  copy(to, from, bytes, to);
}

void copy_to_host(void *to, const void *from, std::size_t bytes) {
  copy(to, from, bytes, from);
}

int num_allocations() {
  const Lock lock(state().mutex);
  return int(state().allocations.size());
}

void adopt_host_memory(int device) {
  const Lock lock(state().mutex);
  state().owner_of_host_memory = device;
}

cudaError_t launch(Launch launch, std::function<void(std::uint64_t)> work) {
  State &s = state();
  const Lock lock(s.mutex);
  cudaError_t error = enter("cudaLaunchKernelExC");
  launch.device = current_device;
  if (error == cudaSuccess) error = check_launch(launch);
  if (error != cudaSuccess) return result(error);
  s.launches.push_back(launch);
  const Work item = {launch, std::move(work)};
  if (s.is_recording) {
    s.recorded.push_back(item);
    return cudaSuccess;
  }
  try {
    run(item);
  } catch (const std::exception &kernel_error) {
    std::fprintf(stderr, "simt::runtime: %s\n", kernel_error.what());
    error = cudaErrorLaunchFailure;
  }
  return result(error);
}

const std::vector<Launch> &launches() {
  return state().launches;
}

Recording::Recording() {
  const Lock lock(state().mutex);
  if (state().is_recording) give_up("a recording within a recording");
  state().is_recording = true;
}

Recording::~Recording() {
  const Lock lock(state().mutex);
  state().is_recording = false;
  state().recorded.clear();
}

void Recording::replay() const {
  const Lock lock(state().mutex);
  for (const Work &work : state().recorded) run(work);
}

}  // namespace simt::runtime

using namespace simt::runtime;

extern "C" {

cudaError_t cudaGetDeviceCount(int *count) {
  const Lock lock(state().mutex);
  const cudaError_t error = enter("cudaGetDeviceCount");
  if (error == cudaSuccess) *count = int(state().devices.size());
  return result(error);
}

cudaError_t cudaGetDevice(int *device) {
  const Lock lock(state().mutex);
  const cudaError_t error = enter("cudaGetDevice");
  if (error == cudaSuccess) *device = current_device;
  return result(error);
}

cudaError_t cudaSetDevice(int device) {
  const Lock lock(state().mutex);
  cudaError_t error = enter("cudaSetDevice");
  if (error == cudaSuccess && !is_device(device)) error = cudaErrorInvalidDevice;
  if (error == cudaSuccess) current_device = device;
  return result(error);
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device) {
  const Lock lock(state().mutex);
  cudaError_t error = enter("cudaDeviceGetAttribute");
  if (error == cudaSuccess && !is_device(device)) error = cudaErrorInvalidDevice;
  if (error == cudaSuccess) {
    *value = attribute_of(state().devices[std::size_t(device)], attribute);
  }
  return result(error);
}

cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute, int value) {
  const Lock lock(state().mutex);
  cudaError_t error = enter("cudaFuncSetAttribute");
  if (error == cudaSuccess) {
    const int limit = state().devices[std::size_t(current_device)].shared_bytes_per_block;
    if (value < 0 || value > limit) error = cudaErrorInvalidValue;
  }
  if (error == cudaSuccess) state().shared_bytes[{kernel, current_device}] = value;
  return result(error);
}

cudaError_t cudaMalloc(void **memory, std::size_t bytes) {
  const Lock lock(state().mutex);
  cudaError_t error = enter("cudaMalloc");
  if (error == cudaSuccess) {
    *memory = allocate_on(current_device, bytes);
    if (!*memory) error = cudaErrorMemoryAllocation;
  }
  return result(error);
}

cudaError_t cudaFree(void *memory) {
  const Lock lock(state().mutex);
  cudaError_t error = enter("cudaFree");
  if (error == cudaSuccess && memory) {
    if (state().allocations.count(memory) == 0) {
      error = cudaErrorInvalidValue;
    } else {
      release(memory);
    }
  }
  return result(error);
}

// As launches, it has run when it returns. What of it is a device's must be within an allocation.
cudaError_t cudaMemcpyAsync(void *to, const void *from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t) {
  const Lock lock(state().mutex);
  const cudaError_t error = enter("cudaMemcpyAsync");
  if (error != cudaSuccess || bytes == 0) return result(error);
  if (state().is_recording) return result(cudaErrorNotSupported);
  const Access access([&](const Allocation &allocation) {
    return allocation.holds(to, bytes) || allocation.holds(from, bytes);
  });
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t) {
  const Lock lock(state().mutex);
  return result(enter("cudaStreamSynchronize"));
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *pointer) {
  const Lock lock(state().mutex);
  const cudaError_t error = enter("cudaPointerGetAttributes");
  if (error != cudaSuccess) return result(error);
  const Allocation *const allocation = find_allocation(pointer);
  const int device = allocation ? allocation->device() : state().owner_of_host_memory;
  if (device < 0) {
    *attributes = {cudaMemoryTypeUnregistered, -1, nullptr, nullptr};
  } else {
    *attributes = {cudaMemoryTypeDevice, device, const_cast<void *>(pointer), nullptr};
  }
  return cudaSuccess;
}

cudaError_t cudaGetLastError() {
  const Lock lock(state().mutex);
  ++state().calls["cudaGetLastError"];
  return std::exchange(last_error, cudaSuccess);
}

cudaError_t cudaPeekAtLastError() {
  const Lock lock(state().mutex);
  ++state().calls["cudaPeekAtLastError"];
  return last_error;
}

const char *cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument";
    case cudaErrorInsufficientDriver:
      return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorLaunchOutOfResources:
      return "too many resources requested for launch";
    case cudaErrorLaunchFailure:
      return "unspecified launch failure";
    case cudaErrorNotSupported:
      return "operation not supported";
  }
  return "unrecognized error code";
}

}  // extern "C"
