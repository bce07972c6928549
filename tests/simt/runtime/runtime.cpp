#include "runtime.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

// A context as the driver has it.
struct CUctx_st {
  int device = 0;
  bool is_alive = true;
  // An error of a kernel's: every later call in this context fails with it.
  cudaError_t sticky_error = cudaSuccess;
  std::map<const void *, simt::runtime::KernelSettings> loaded;
};

namespace simt::runtime {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr unsigned char kGarbage = 0xB7;

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

struct Recorded {
  int device;
  Work work;
};

// A device's: what the runtime works in, for as long as anybody keeps it.
struct PrimaryContext {
  CUcontext context = nullptr;
  int num_owners = 0;
  bool is_the_runtimes = false;  // which is one of the owners
};

struct State {
  std::recursive_mutex mutex;  // of everything here, and of the machine that runs the kernels
  std::vector<Device> devices = {kHopper, kAda};
  std::vector<PrimaryContext> primaries{2};
  std::vector<std::unique_ptr<CUctx_st>> contexts;  // all that there ever were
  std::map<const void *, Kernel> kernels;
  int block_threads = 64;
  std::map<std::string, int> calls;
  std::vector<Failure> failures;  // to come
  std::string failed_function;
  std::map<void *, Allocation> allocations;
  int owner_of_host_memory = -1;
  std::vector<Launch> launches;
  std::uint64_t seed = 0;
  bool is_recording = false;
  bool is_recording_broken = false;
  std::vector<Recorded> recorded;
};

// Never destroyed: tests may release what they have at exit.
State &state() {
  static State *const the_state = new State;
  return *the_state;
}

using Lock = std::lock_guard<std::recursive_mutex>;

thread_local std::vector<CUcontext> context_stack;
thread_local int runtimes_device = 0;  // where there is no context
thread_local cudaError_t last_error = cudaSuccess;

int current_device() {
  return context_stack.empty() ? runtimes_device : context_stack.back()->device;
}

// Every function that can fail returns through it: the error is the thread's last one until
// somebody asks for it.
cudaError_t result(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

// A kernel's error stays with its context, whoever asks.
cudaError_t pending_error() {
  const bool is_stuck = !context_stack.empty() && context_stack.back()->sticky_error != cudaSuccess;
  return is_stuck ? context_stack.back()->sticky_error : last_error;
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

const Device &device_at(int device) {
  return state().devices[std::size_t(device)];
}

CUcontext make_context(int device) {
  auto &contexts = state().contexts;
  contexts.push_back(std::make_unique<CUctx_st>());
  contexts.back()->device = device;
  return contexts.back().get();
}

CUcontext retain_primary(int device) {
  PrimaryContext &primary = state().primaries[std::size_t(device)];
  if (primary.num_owners++ == 0) primary.context = make_context(device);
  return primary.context;
}

void set_current(CUcontext context) {
  if (!context_stack.empty()) context_stack.pop_back();
  if (context) context_stack.push_back(context);
}

// As cudaSetDevice, and runtime calls that find no context.
void make_primary_current(int device) {
  PrimaryContext &primary = state().primaries[std::size_t(device)];
  if (!primary.is_the_runtimes) retain_primary(device);
  primary.is_the_runtimes = true;
  set_current(primary.context);
}

// enter() of a call of the runtime that works in a context. Without one the thread gets the primary
// context of its device, and keeps it.
cudaError_t enter_context(const char *function) {
  const cudaError_t error = enter(function);
  if (error != cudaSuccess) return error;
  if (context_stack.empty()) make_primary_current(runtimes_device);
  if (!context_stack.back()->is_alive) return cudaErrorDeviceUninitialized;
  return context_stack.back()->sticky_error;
}

// A call that a capture does not allow, and that ends it.
cudaError_t refuse_in_capture() {
  if (!state().is_recording) return cudaSuccess;
  state().is_recording_broken = true;
  return cudaErrorStreamCaptureUnsupported;
}

// A kernel is loaded when it is first used in a context, by whatever call.
cudaError_t load(const void *address) {
  State &s = state();
  const auto kernel = s.kernels.find(address);
  if (kernel == s.kernels.end()) return cudaErrorInvalidDeviceFunction;
  auto &loaded = context_stack.back()->loaded;
  if (loaded.count(address) != 0) return cudaSuccess;
  if (device_at(current_device()).compute_capability < kernel->second.least_compute_capability) {
    return cudaErrorNoKernelImageForDevice;
  }
  if (const cudaError_t error = refuse_in_capture(); error != cudaSuccess) return error;
  loaded[address];
  return cudaSuccess;
}

// enter_context() of a call that uses a kernel.
cudaError_t enter_with_kernel(const char *function, const void *kernel) {
  const cudaError_t error = enter_context(function);
  return error == cudaSuccess ? load(kernel) : error;
}

KernelSettings &settings_of(const void *kernel) {
  return context_stack.back()->loaded.at(kernel);
}

int attribute_of(const Device &device, cudaDeviceAttr attribute) {
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      return device.num_multiprocessors();
    case cudaDevAttrReservedSharedMemoryPerBlock:
      return kReservedSharedBytes;
    case cudaDevAttrClusterLaunch:
      return device.has_clusters();
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

void run(const Recorded &launch) {
  const Access access(
      [&](const Allocation &allocation) { return allocation.device() == launch.device; });
  launch.work(++state().seed);
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
  s.launches.clear();
  s.primaries.assign(devices.size(), {});
  s.contexts.clear();
  context_stack.clear();
  runtimes_device = 0;
  last_error = cudaSuccess;
}

void add_kernel(const void *address, const Kernel &kernel) {
  const Lock lock(state().mutex);
  state().kernels[address] = kernel;
}

Kernel &kernel_at(const void *address) {
  const Lock lock(state().mutex);
  return state().kernels.at(address);
}

std::vector<CUcontext> contexts() {
  return context_stack;
}

bool has_primary_context(int device) {
  const Lock lock(state().mutex);
  return state().primaries.at(std::size_t(device)).num_owners > 0;
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

const std::vector<Launch> &launches() {
  return state().launches;
}

Recording::Recording() {
  const Lock lock(state().mutex);
  if (state().is_recording) give_up("a recording within a recording");
  state().is_recording = true;
  state().is_recording_broken = false;
}

Recording::~Recording() {
  const Lock lock(state().mutex);
  state().is_recording = false;
  state().recorded.clear();
}

void Recording::replay() const {
  const Lock lock(state().mutex);
  if (state().is_recording_broken) give_up("a replay of a capture that was broken off");
  for (const Recorded &launch : state().recorded) run(launch);
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
  if (error == cudaSuccess) *device = current_device();
  return result(error);
}

cudaError_t cudaSetDevice(int device) {
  const Lock lock(state().mutex);
  cudaError_t error = enter("cudaSetDevice");
  if (error == cudaSuccess && !is_device(device)) error = cudaErrorInvalidDevice;
  if (error == cudaSuccess) {
    runtimes_device = device;
    make_primary_current(device);
  }
  return result(error);
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device) {
  const Lock lock(state().mutex);
  cudaError_t error = enter("cudaDeviceGetAttribute");
  if (error == cudaSuccess && !is_device(device)) error = cudaErrorInvalidDevice;
  if (error == cudaSuccess) *value = attribute_of(device_at(device), attribute);
  return result(error);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult *status) {
  const std::map<std::string, void *> functions = {
      {"cuCtxPushCurrent", reinterpret_cast<void *>(&cuCtxPushCurrent)},
      {"cuCtxPopCurrent", reinterpret_cast<void *>(&cuCtxPopCurrent)},
      {"cuDevicePrimaryCtxRetain", reinterpret_cast<void *>(&cuDevicePrimaryCtxRetain)},
      {"cuDevicePrimaryCtxRelease", reinterpret_cast<void *>(&cuDevicePrimaryCtxRelease)},
  };
  const Lock lock(state().mutex);
  const cudaError_t error = enter("cudaGetDriverEntryPointByVersion");
  if (error != cudaSuccess) return result(error);
  const auto found = functions.find(symbol);
  const bool is_found = found != functions.end();
  *function = is_found ? found->second : nullptr;
  *status = is_found ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *kernel) {
  const Lock lock(state().mutex);
  const cudaError_t error = enter_with_kernel("cudaFuncGetAttributes", kernel);
  if (error != cudaSuccess) return result(error);
  const Kernel &found = kernel_at(kernel);
  *attributes = {std::size_t(found.static_shared_bytes), found.max_threads, found.num_registers};
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute attribute, int value) {
  const Lock lock(state().mutex);
  cudaError_t error = enter_with_kernel("cudaFuncSetAttribute", kernel);
  if (error == cudaSuccess) {
    error = check_setting(device_at(current_device()), kernel_at(kernel), attribute, value);
  }
  if (error != cudaSuccess) return result(error);
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
    settings_of(kernel).opted_in_bytes = value;
  } else {
    settings_of(kernel).has_non_portable_clusters = value != 0;
  }
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *num_blocks, const void *kernel,
                                                          int block_threads,
                                                          std::size_t dynamic_bytes) {
  const Lock lock(state().mutex);
  const cudaError_t error =
      enter_with_kernel("cudaOccupancyMaxActiveBlocksPerMultiprocessor", kernel);
  if (error != cudaSuccess) return result(error);
  *num_blocks = blocks_per_multiprocessor(device_at(current_device()), kernel_at(kernel),
                                          block_threads, dynamic_bytes);
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveClusters(int *num_clusters, const void *kernel,
                                           const cudaLaunchConfig_t *config) {
  const Lock lock(state().mutex);
  cudaError_t error = enter_with_kernel("cudaOccupancyMaxActiveClusters", kernel);
  const Device &device = device_at(current_device());
  if (error == cudaSuccess) error = check_cluster(device, settings_of(kernel), *config);
  if (error != cudaSuccess) return result(error);
  *num_clusters = clusters_at_once(device, kernel_at(kernel), int(config->blockDim.x),
                                   config->dynamicSmemBytes, cluster_size_of(*config));
  return cudaSuccess;
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel,
                                void **arguments) {
  State &s = state();
  const Lock lock(s.mutex);
  cudaError_t error = enter_with_kernel("cudaLaunchKernelExC", kernel);
  if (error == cudaSuccess) {
    error =
        check_launch(device_at(current_device()), kernel_at(kernel), settings_of(kernel), *config);
  }
  if (error == cudaSuccess && s.is_recording && s.is_recording_broken) {
    error = cudaErrorStreamCaptureInvalidated;
  }
  if (error != cudaSuccess) return result(error);
  const int cluster_size = cluster_size_of(*config);
  const Grid grid = {std::int64_t(config->gridDim.x) / cluster_size, cluster_size,
                     config->dynamicSmemBytes};
  s.launches.push_back(
      {kernel, grid.num_teams, cluster_size, grid.dynamic_bytes, config->stream, current_device()});
  const Recorded launch = {current_device(), kernel_at(kernel).bind(grid, arguments)};
  if (s.is_recording) {
    s.recorded.push_back(launch);
    return cudaSuccess;
  }
  try {
    run(launch);
  } catch (const std::exception &kernel_error) {
    std::fprintf(stderr, "simt::runtime: %s\n", kernel_error.what());
    error = context_stack.back()->sticky_error = cudaErrorLaunchFailure;
  }
  return result(error);
}

cudaError_t cudaMalloc(void **memory, std::size_t bytes) {
  const Lock lock(state().mutex);
  cudaError_t error = enter_context("cudaMalloc");
  if (error == cudaSuccess) error = refuse_in_capture();
  if (error == cudaSuccess) {
    *memory = allocate_on(current_device(), bytes);
    if (!*memory) error = cudaErrorMemoryAllocation;
  }
  return result(error);
}

cudaError_t cudaFree(void *memory) {
  const Lock lock(state().mutex);
  cudaError_t error = enter_context("cudaFree");
  if (error == cudaSuccess) error = refuse_in_capture();
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
// A capture would take it; this one takes launches alone.
cudaError_t cudaMemcpyAsync(void *to, const void *from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t) {
  const Lock lock(state().mutex);
  cudaError_t error = enter_context("cudaMemcpyAsync");
  if (error == cudaSuccess) error = refuse_in_capture();
  if (error != cudaSuccess || bytes == 0) return result(error);
  const Access access([&](const Allocation &allocation) {
    return allocation.holds(to, bytes) || allocation.holds(from, bytes);
  });
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t) {
  const Lock lock(state().mutex);
  cudaError_t error = enter_context("cudaStreamSynchronize");
  if (error == cudaSuccess) error = refuse_in_capture();
  return result(error);
}

cudaError_t cudaDeviceSynchronize() {
  const Lock lock(state().mutex);
  cudaError_t error = enter_context("cudaDeviceSynchronize");
  if (error == cudaSuccess) error = refuse_in_capture();
  return result(error);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *pointer) {
  const Lock lock(state().mutex);
  const cudaError_t error = enter_context("cudaPointerGetAttributes");
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
  const cudaError_t error = pending_error();
  last_error = cudaSuccess;
  return error;
}

cudaError_t cudaPeekAtLastError() {
  const Lock lock(state().mutex);
  ++state().calls["cudaPeekAtLastError"];
  return pending_error();
}

CUresult cuCtxCreate(CUcontext *context, unsigned, CUdevice device) {
  const Lock lock(state().mutex);
  const CUresult error = CUresult(enter("cuCtxCreate"));
  if (error != CUDA_SUCCESS) return error;
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *context = make_context(device);
  context_stack.push_back(*context);
  return CUDA_SUCCESS;
}

CUresult cuCtxDestroy(CUcontext context) {
  const Lock lock(state().mutex);
  const CUresult error = CUresult(enter("cuCtxDestroy"));
  if (error != CUDA_SUCCESS) return error;
  if (!context->is_alive) return CUDA_ERROR_INVALID_CONTEXT;
  context->is_alive = false;
  if (!context_stack.empty() && context_stack.back() == context) context_stack.pop_back();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context) {
  const Lock lock(state().mutex);
  const CUresult error = CUresult(enter("cuCtxGetCurrent"));
  if (error == CUDA_SUCCESS) *context = context_stack.empty() ? nullptr : context_stack.back();
  return error;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  const Lock lock(state().mutex);
  const CUresult error = CUresult(enter("cuCtxSetCurrent"));
  if (error == CUDA_SUCCESS) set_current(context);
  return error;
}

CUresult cuCtxPushCurrent(CUcontext context) {
  const Lock lock(state().mutex);
  const CUresult error = CUresult(enter("cuCtxPushCurrent"));
  if (error != CUDA_SUCCESS) return error;
  if (!context || !context->is_alive) return CUDA_ERROR_INVALID_CONTEXT;
  context_stack.push_back(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext *context) {
  const Lock lock(state().mutex);
  const CUresult error = CUresult(enter("cuCtxPopCurrent"));
  if (error != CUDA_SUCCESS) return error;
  if (context_stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  *context = context_stack.back();
  context_stack.pop_back();
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  const Lock lock(state().mutex);
  const CUresult error = CUresult(enter("cuDevicePrimaryCtxRetain"));
  if (error != CUDA_SUCCESS) return error;
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *context = retain_primary(device);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  const Lock lock(state().mutex);
  const CUresult error = CUresult(enter("cuDevicePrimaryCtxRelease"));
  if (error != CUDA_SUCCESS) return error;
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  PrimaryContext &primary = state().primaries[std::size_t(device)];
  if (primary.num_owners == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (--primary.num_owners == 0) primary.context->is_alive = false;
  return CUDA_SUCCESS;
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
    case cudaErrorInvalidDeviceFunction:
      return "invalid device function";
    case cudaErrorDeviceUninitialized:
      return "invalid device context";
    case cudaErrorNoKernelImageForDevice:
      return "no kernel image is available for execution on the device";
    case cudaErrorStreamCaptureUnsupported:
      return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated:
      return "operation failed due to a previous error during capture";
    case cudaErrorInvalidClusterSize:
      return "cluster misconfiguration";
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
