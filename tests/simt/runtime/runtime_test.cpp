// The fake CUDA runtime keeps the rules that the library's tests rely on.
#include "runtime.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace simt::runtime {
namespace {

using Function = std::function<void()>;

// A kernel that runs the function that it is launched with.
const char function_kernel = 0;

Kernel kernel_of_functions() {
  Kernel kernel;
  kernel.bind = [](const Grid &, void **arguments) -> Work {
    return [function = *static_cast<const Function *>(arguments[0])](std::uint64_t) { function(); };
  };
  return kernel;
}

class Runtime : public testing::Test {
 protected:
  Runtime() {
    reset();
    add_kernel(&function_kernel, kernel_of_functions());
  }
  // Also of the next test, when this one has failed.
  ~Runtime() override { EXPECT_EQ(0, num_allocations()); }
};

using RuntimeDeathTest = Runtime;

struct Config {
  dim3 grid;
  dim3 block = 256;
  int cluster = 1;
  std::size_t dynamic_bytes = 0;
  cudaStream_t stream = nullptr;

  // What get(launch_config) gives.
  template <class Get>
  auto use(const Get &get) const {
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = unsigned(cluster);
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    const cudaLaunchConfig_t config = {grid, block, dynamic_bytes, stream, &attribute, 1};
    return get(config);
  }
};

cudaError_t launch(
    const Config &config, const Function &function = [] {}) {
  void *arguments[] = {const_cast<Function *>(&function)};
  return config.use([&](const cudaLaunchConfig_t &launch_config) {
    return cudaLaunchKernelExC(&launch_config, &function_kernel, arguments);
  });
}

cudaError_t launch_on(int device, const Function &function) {
  EXPECT_EQ(cudaSuccess, cudaSetDevice(device));
  return launch({}, function);
}

cudaError_t opt_in(int dynamic_bytes) {
  return cudaFuncSetAttribute(&function_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              dynamic_bytes);
}

cudaError_t allow_non_portable_clusters() {
  return cudaFuncSetAttribute(&function_kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
}

// ---- Devices and errors -------------------------------------------------------------------------

TEST_F(Runtime, HasItsDevices) {
  int count = -1, value = -1;
  EXPECT_EQ(cudaSuccess, cudaGetDeviceCount(&count));
  EXPECT_EQ(2, count);
  EXPECT_EQ(cudaSuccess, cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
  EXPECT_EQ(132, value);
  EXPECT_EQ(cudaSuccess, cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 1));
  EXPECT_EQ(128, value);
  EXPECT_EQ(cudaErrorInvalidDevice,
            cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 2));
  EXPECT_EQ(cudaErrorInvalidDevice,
            cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, -1));
  EXPECT_EQ(cudaErrorInvalidDevice, cudaSetDevice(2));
  EXPECT_EQ(cudaErrorInvalidDevice, cudaSetDevice(-1));
  reset({});
  EXPECT_EQ(cudaErrorNoDevice, cudaGetDeviceCount(&count));
}

TEST_F(Runtime, CurrentDeviceIsTheThreads) {
  int device = -1;
  EXPECT_EQ(cudaSuccess, cudaSetDevice(1));
  std::thread([&] {
    EXPECT_EQ(cudaSuccess, cudaGetDevice(&device));
    EXPECT_EQ(0, device);
  }).join();
  EXPECT_EQ(cudaSuccess, cudaGetDevice(&device));
  EXPECT_EQ(1, device);
}

TEST_F(Runtime, LastErrorStaysUntilItIsTaken) {
  int device = -1;
  EXPECT_EQ(cudaSuccess, cudaGetLastError());
  EXPECT_EQ(cudaErrorInvalidDevice, cudaSetDevice(9));
  EXPECT_EQ(cudaSuccess, cudaGetDevice(&device));
  std::thread([] { EXPECT_EQ(cudaSuccess, cudaPeekAtLastError()); }).join();
  EXPECT_EQ(cudaErrorInvalidDevice, cudaPeekAtLastError());
  EXPECT_EQ(cudaErrorInvalidDevice, cudaGetLastError());
  EXPECT_EQ(cudaSuccess, cudaGetLastError());
}

TEST_F(Runtime, FailsTheCallThatATestNames) {
  int device = -1;
  fail_call("cudaGetDevice", cudaErrorNotSupported, 1);
  EXPECT_EQ(cudaSuccess, cudaGetDevice(&device));
  EXPECT_EQ(cudaSuccess, cudaSetDevice(1));
  EXPECT_EQ("", take_failed_function());
  EXPECT_EQ(cudaErrorNotSupported, cudaGetDevice(&device));
  EXPECT_EQ(0, device);
  EXPECT_EQ("cudaGetDevice", take_failed_function());
  EXPECT_EQ("", take_failed_function());
  EXPECT_EQ(cudaSuccess, cudaGetDevice(&device));
  fail_call("", cudaErrorInvalidValue, 0);
  EXPECT_EQ(cudaErrorInvalidValue, cudaSetDevice(0));
  EXPECT_EQ("cudaSetDevice", take_failed_function());
  EXPECT_EQ(3, calls()["cudaGetDevice"]);
  EXPECT_EQ(2, calls()["cudaSetDevice"]);
}

TEST_F(Runtime, MemoryIsTheDevices) {
  EXPECT_EQ(cudaSuccess, cudaSetDevice(1));
  void *memory = nullptr;
  EXPECT_EQ(cudaSuccess, cudaMalloc(&memory, 1000));
  EXPECT_EQ(0u, reinterpret_cast<std::uintptr_t>(memory) % 256);
  EXPECT_EQ(1, num_allocations());
  cudaPointerAttributes attributes;
  EXPECT_EQ(cudaSuccess, cudaPointerGetAttributes(&attributes, static_cast<char *>(memory) + 999));
  EXPECT_EQ(cudaMemoryTypeDevice, attributes.type);
  EXPECT_EQ(1, attributes.device);
  EXPECT_EQ(cudaSuccess, cudaPointerGetAttributes(&attributes, &attributes));
  EXPECT_EQ(cudaMemoryTypeUnregistered, attributes.type);
  adopt_host_memory(0);
  EXPECT_EQ(cudaSuccess, cudaPointerGetAttributes(&attributes, &attributes));
  EXPECT_EQ(cudaMemoryTypeDevice, attributes.type);
  EXPECT_EQ(0, attributes.device);

  const std::string text(1000, 'x');
  std::string copy(1000, 'y');
  copy_to_device(memory, text.data(), text.size());
  copy_to_host(copy.data(), memory, copy.size());
  EXPECT_EQ(text, copy);
  EXPECT_EQ(cudaErrorInvalidValue, cudaFree(static_cast<char *>(memory) + 1));
  EXPECT_EQ(cudaSuccess, cudaFree(nullptr));
  EXPECT_EQ(cudaSuccess, cudaFree(memory));
  EXPECT_EQ(0, num_allocations());
}

TEST_F(Runtime, MemoryHasAnEnd) {
  void *memory = nullptr;
  EXPECT_EQ(cudaErrorMemoryAllocation, cudaMalloc(&memory, std::size_t(1) << 60));
  EXPECT_EQ(cudaErrorMemoryAllocation, cudaGetLastError());
  EXPECT_EQ(0, num_allocations());
}

TEST_F(Runtime, KernelsReachTheirDevicesMemory) {
  auto *const memory = static_cast<int *>(allocate(1, sizeof(int)));
  EXPECT_EQ(cudaSuccess, launch_on(1, [=] { *memory = 42; }));
  int value = 0;
  copy_to_host(&value, memory, sizeof value);
  EXPECT_EQ(42, value);
  release(memory);
}

TEST_F(RuntimeDeathTest, NobodyElseDoes) {
  auto *const memory = static_cast<volatile int *>(allocate(1, 256));
  EXPECT_DEATH(*memory = 1, "");
  EXPECT_DEATH(std::printf("%d", *memory), "");
  EXPECT_DEATH(launch_on(0, [=] { *memory = 1; }), "");
  EXPECT_DEATH(launch_on(1, [=] { memory[64] = 1; }), "");
  release(const_cast<int *>(memory));
}

TEST_F(RuntimeDeathTest, WritingAroundAnAllocationIsNoticed) {
  auto *const memory = static_cast<char *>(allocate(0, 100));
  for (const std::ptrdiff_t place : {-1, 100}) {
    EXPECT_DEATH(
        {
          launch_on(0, [=] { memory[place] = 1; });
          release(memory);
        },
        "somebody wrote outside of an allocation");
  }
  EXPECT_DEATH(reset(), "device memory is left");
  release(memory);
}

// ---- Launches: what stands in the list of runtime.h ---------------------------------------------

TEST_F(Runtime, KernelsHaveAnAddress) {
  const char unknown = 0;
  cudaFuncAttributes attributes;
  EXPECT_EQ(cudaErrorInvalidDeviceFunction, cudaFuncGetAttributes(&attributes, &unknown));
  Kernel kernel = kernel_of_functions();
  kernel.static_shared_bytes = 112;
  kernel.num_registers = 99;
  add_kernel(&function_kernel, kernel);
  EXPECT_EQ(cudaSuccess, cudaFuncGetAttributes(&attributes, &function_kernel));
  EXPECT_EQ(112u, attributes.sharedSizeBytes);
  EXPECT_EQ(99, attributes.numRegs);
}

TEST_F(Runtime, KernelsHaveCodeForSomeDevices) {
  Device turing = kAda;
  turing.compute_capability = 75;
  reset({turing, kAda});
  cudaFuncAttributes attributes;
  EXPECT_EQ(cudaErrorNoKernelImageForDevice, cudaFuncGetAttributes(&attributes, &function_kernel));
  EXPECT_EQ(cudaErrorNoKernelImageForDevice, launch({}));
  EXPECT_EQ(cudaSuccess, launch_on(1, [] {}));
}

TEST_F(Runtime, SharedMemoryWithoutOptingIn) {
  Kernel kernel = kernel_of_functions();
  kernel.static_shared_bytes = 2352;
  add_kernel(&function_kernel, kernel);
  Config config;
  config.dynamic_bytes = (48 << 10) - 2352;
  EXPECT_EQ(cudaSuccess, launch(config));
  ++config.dynamic_bytes;
  EXPECT_EQ(cudaErrorInvalidValue, launch(config));
}

TEST_F(Runtime, SharedMemoryAboveWhatWasOptedInto) {
  Config config;
  config.dynamic_bytes = 100 << 10;
  EXPECT_EQ(cudaSuccess, opt_in(100 << 10));
  EXPECT_EQ(cudaSuccess, launch(config));
  ++config.dynamic_bytes;
  EXPECT_EQ(cudaErrorInvalidValue, launch(config));
  // Not on another device.
  EXPECT_EQ(cudaSuccess, cudaSetDevice(1));
  config.dynamic_bytes = 50 << 10;
  EXPECT_EQ(cudaErrorInvalidValue, launch(config));
}

TEST_F(Runtime, OptingInCountsStaticSharedMemory) {
  EXPECT_EQ(cudaSuccess, opt_in(227 << 10));
  EXPECT_EQ(cudaErrorInvalidValue, opt_in((227 << 10) + 1));
  EXPECT_EQ(cudaErrorInvalidValue, opt_in(-1));
  Kernel kernel = kernel_of_functions();
  kernel.static_shared_bytes = 2352;
  add_kernel(&function_kernel, kernel);
  EXPECT_EQ(cudaSuccess, opt_in((227 << 10) - 2352));
  EXPECT_EQ(cudaErrorInvalidValue, opt_in((227 << 10) - 2351));
  EXPECT_EQ(cudaSuccess, cudaSetDevice(1));
  EXPECT_EQ(cudaSuccess, opt_in((99 << 10) - 2352));
  EXPECT_EQ(cudaErrorInvalidValue, opt_in((99 << 10) - 2351));
}

TEST_F(Runtime, GridsHaveALimit) {
  EXPECT_EQ(cudaErrorInvalidConfiguration, launch({dim3(0)}));
  EXPECT_EQ(cudaErrorInvalidConfiguration, launch({dim3(1, 0)}));
  EXPECT_EQ(cudaSuccess, launch({dim3(0x7FFFFFFF)}));
  EXPECT_EQ(cudaErrorInvalidConfiguration, launch({dim3(0x80000000)}));
  EXPECT_EQ(cudaSuccess, launch({dim3(1, 65535, 65535)}));
  EXPECT_EQ(cudaErrorInvalidConfiguration, launch({dim3(1, 65536, 1)}));
  EXPECT_EQ(cudaErrorInvalidConfiguration, launch({dim3(1, 1, 65536)}));
}

TEST_F(Runtime, BlocksHaveALimit) {
  EXPECT_EQ(cudaErrorInvalidConfiguration, launch({1, dim3(0)}));
  EXPECT_EQ(cudaSuccess, launch({1, dim3(1024)}));
  EXPECT_EQ(cudaErrorInvalidConfiguration, launch({1, dim3(1025)}));
  EXPECT_EQ(cudaErrorInvalidConfiguration, launch({1, dim3(512, 3)}));
  Kernel kernel = kernel_of_functions();
  kernel.max_threads = 256;
  add_kernel(&function_kernel, kernel);
  EXPECT_EQ(cudaSuccess, launch({1, dim3(256)}));
  EXPECT_EQ(cudaErrorLaunchOutOfResources, launch({1, dim3(257)}));
}

TEST_F(Runtime, RegistersHaveALimit) {
  Kernel kernel = kernel_of_functions();
  kernel.num_registers = 128;
  add_kernel(&function_kernel, kernel);
  EXPECT_EQ(cudaSuccess, launch({1, dim3(512)}));
  EXPECT_EQ(cudaErrorLaunchOutOfResources, launch({1, dim3(544)}));
}

TEST_F(Runtime, ArgumentsHaveALimit) {
  Device pascal = kAda;
  pascal.compute_capability = 61;
  reset({kHopper, pascal});
  Kernel kernel = kernel_of_functions();
  kernel.least_compute_capability = 60;
  kernel.parameter_bytes = 32764;
  add_kernel(&function_kernel, kernel);
  EXPECT_EQ(cudaSuccess, launch({}));
  EXPECT_EQ(cudaErrorInvalidValue, launch_on(1, [] {}));
  kernel.parameter_bytes = 4096;
  add_kernel(&function_kernel, kernel);
  EXPECT_EQ(cudaSuccess, launch_on(1, [] {}));
  kernel.parameter_bytes = 32765;
  add_kernel(&function_kernel, kernel);
  EXPECT_EQ(cudaErrorInvalidValue, launch_on(0, [] {}));
}

// ---- Clusters -----------------------------------------------------------------------------------

Config clusters_of(int size, unsigned num_blocks) {
  Config config;
  config.grid = num_blocks;
  config.cluster = size;
  return config;
}

TEST_F(Runtime, ClustersDivideTheGrid) {
  EXPECT_EQ(cudaSuccess, launch(clusters_of(8, 24)));
  EXPECT_EQ(cudaErrorInvalidClusterSize, launch(clusters_of(8, 25)));
  EXPECT_EQ(cudaErrorInvalidClusterSize, launch(clusters_of(0, 24)));
}

TEST_F(Runtime, ClustersOfMoreThanEightBlocksAreAskedFor) {
  EXPECT_EQ(cudaErrorInvalidClusterSize, launch(clusters_of(16, 16)));
  EXPECT_EQ(cudaSuccess, allow_non_portable_clusters());
  EXPECT_EQ(cudaSuccess, launch(clusters_of(16, 16)));
  EXPECT_EQ(cudaErrorInvalidClusterSize, launch(clusters_of(32, 32)));
}

TEST_F(Runtime, ClustersNeedADeviceWithThem) {
  EXPECT_EQ(cudaSuccess, cudaSetDevice(1));
  EXPECT_EQ(cudaErrorNotSupported, launch(clusters_of(2, 2)));
  EXPECT_EQ(cudaErrorNotSupported, allow_non_portable_clusters());
  EXPECT_EQ(cudaSuccess, launch(clusters_of(1, 2)));
}

int clusters_at_once(const Config &config) {
  int result = -1;
  EXPECT_EQ(cudaSuccess, config.use([&](const cudaLaunchConfig_t &launch_config) {
    return cudaOccupancyMaxActiveClusters(&result, &function_kernel, &launch_config);
  }));
  return result;
}

// 33 clusters of 8 would have as many blocks as the device has room for.
TEST_F(Runtime, ClustersRunInOneProcessingCluster) {
  EXPECT_EQ(cudaSuccess, opt_in(227 << 10));
  EXPECT_EQ(cudaSuccess, allow_non_portable_clusters());
  Config config = clusters_of(8, 8);
  config.dynamic_bytes = 113 << 10;
  EXPECT_EQ(32, clusters_at_once(config));
  // The driver's share of each block.
  ++config.dynamic_bytes;
  EXPECT_EQ(16, clusters_at_once(config));
  config.cluster = config.grid.x = 16;
  EXPECT_EQ(8, clusters_at_once(config));
  config.cluster = config.grid.x = 4;
  EXPECT_EQ(32, clusters_at_once(config));
}

TEST_F(Runtime, ClustersThatFitNowhereAreNotLaunched) {
  Device share = kHopper;
  share.processing_clusters = {7};
  reset({share});
  EXPECT_EQ(cudaSuccess, opt_in(200 << 10));
  Config config = clusters_of(8, 8);
  EXPECT_EQ(cudaSuccess, launch(config));
  config.dynamic_bytes = 200 << 10;
  EXPECT_EQ(0, clusters_at_once(config));
  EXPECT_EQ(cudaErrorInvalidClusterSize, launch(config));
}

TEST_F(Runtime, BlocksThatRunAtOnce) {
  Kernel kernel = kernel_of_functions();
  kernel.static_shared_bytes = 112;
  kernel.num_registers = 128;
  add_kernel(&function_kernel, kernel);
  const auto blocks = [](int dynamic_bytes) {
    int result = -1;
    EXPECT_EQ(cudaSuccess, cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                               &result, &function_kernel, 256, std::size_t(dynamic_bytes)));
    return result;
  };
  EXPECT_EQ(2, blocks(0));
  EXPECT_EQ(2, blocks((113 << 10) - 112));
  EXPECT_EQ(1, blocks((113 << 10) - 111));
  EXPECT_EQ(0, blocks(227 << 10));
}

// ---- Contexts -----------------------------------------------------------------------------------

TEST_F(Runtime, CallsThatNeedAContextMakeOne) {
  int value;
  cudaPointerAttributes attributes;
  EXPECT_EQ(cudaSuccess, cudaGetDeviceCount(&value));
  EXPECT_EQ(cudaSuccess, cudaGetDevice(&value));
  EXPECT_EQ(cudaSuccess, cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 1));
  EXPECT_TRUE(contexts().empty());
  EXPECT_FALSE(has_primary_context(0));
  EXPECT_EQ(cudaSuccess, cudaPointerGetAttributes(&attributes, &value));
  EXPECT_EQ(1u, contexts().size());
  EXPECT_TRUE(has_primary_context(0));
  EXPECT_FALSE(has_primary_context(1));
}

TEST_F(Runtime, SettingTheDeviceReplacesTheContext) {
  CUcontext own = nullptr, primary = nullptr;
  EXPECT_EQ(CUDA_SUCCESS, cuCtxCreate(&own, 0, 1));
  EXPECT_EQ(std::vector<CUcontext>{own}, contexts());
  int device = -1;
  EXPECT_EQ(cudaSuccess, cudaGetDevice(&device));
  EXPECT_EQ(1, device);
  EXPECT_EQ(cudaSuccess, cudaSetDevice(1));
  EXPECT_EQ(CUDA_SUCCESS, cuDevicePrimaryCtxRetain(&primary, 1));
  EXPECT_EQ(std::vector<CUcontext>{primary}, contexts());
  EXPECT_NE(own, primary);
  EXPECT_EQ(CUDA_SUCCESS, cuDevicePrimaryCtxRelease(1));
}

TEST_F(Runtime, ContextsAreAStack) {
  CUcontext first = nullptr, second = nullptr, popped = nullptr;
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuCtxPopCurrent(&popped));
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuCtxPushCurrent(nullptr));
  EXPECT_EQ(CUDA_SUCCESS, cuCtxCreate(&first, 0, 0));
  EXPECT_EQ(CUDA_SUCCESS, cuDevicePrimaryCtxRetain(&second, 1));
  EXPECT_EQ(CUDA_SUCCESS, cuCtxPushCurrent(second));
  EXPECT_EQ((std::vector<CUcontext>{first, second}), contexts());
  std::thread([] { EXPECT_TRUE(contexts().empty()); }).join();
  EXPECT_EQ(CUDA_SUCCESS, cuCtxPopCurrent(&popped));
  EXPECT_EQ(second, popped);
  EXPECT_EQ(std::vector<CUcontext>{first}, contexts());
}

TEST_F(Runtime, PrimaryContextsLastWhileSomebodyKeepsThem) {
  CUcontext first = nullptr, same = nullptr, next = nullptr;
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease(0));
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuDevicePrimaryCtxRetain(&first, 2));
  EXPECT_EQ(CUDA_SUCCESS, cuDevicePrimaryCtxRetain(&first, 0));
  EXPECT_EQ(CUDA_SUCCESS, cuDevicePrimaryCtxRetain(&same, 0));
  EXPECT_EQ(first, same);
  EXPECT_EQ(CUDA_SUCCESS, cuDevicePrimaryCtxRelease(0));
  EXPECT_TRUE(has_primary_context(0));
  EXPECT_EQ(CUDA_SUCCESS, cuDevicePrimaryCtxRelease(0));
  EXPECT_FALSE(has_primary_context(0));
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuCtxPushCurrent(first));
  // A kernel's settings are gone with it.
  EXPECT_EQ(CUDA_SUCCESS, cuDevicePrimaryCtxRetain(&next, 0));
  EXPECT_NE(first, next);
  EXPECT_EQ(CUDA_SUCCESS, cuDevicePrimaryCtxRelease(0));
}

TEST_F(Runtime, KernelsErrorsStayWithTheirContext) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(cudaErrorLaunchFailure, launch_on(0, [] { throw std::runtime_error("divergence"); }));
  testing::internal::GetCapturedStderr();
  void *memory = nullptr;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(cudaErrorLaunchFailure, cudaGetLastError());
    EXPECT_EQ(cudaErrorLaunchFailure, cudaPeekAtLastError());
    EXPECT_EQ(cudaErrorLaunchFailure, launch({}));
    EXPECT_EQ(cudaErrorLaunchFailure, cudaMalloc(&memory, 1));
  }
  EXPECT_EQ(cudaSuccess, launch_on(1, [] {}));
}

// ---- Captures -----------------------------------------------------------------------------------

TEST_F(Runtime, CapturesLoadNoKernel) {
  {
    const Recording recording;
    EXPECT_EQ(cudaErrorStreamCaptureUnsupported, launch({}));
    EXPECT_EQ(cudaErrorStreamCaptureUnsupported, opt_in(0));
  }
  EXPECT_EQ(cudaSuccess, launch({}));
  // In another context it is not loaded yet.
  const Recording recording;
  EXPECT_EQ(cudaErrorStreamCaptureUnsupported, launch_on(1, [] {}));
}

TEST_F(RuntimeDeathTest, CapturesEndWithWhatTheyDoNotAllow) {
  EXPECT_EQ(cudaSuccess, launch({}));
  void *memory = nullptr;
  int value = 0;
  const Function calls[] = {
      [&] { EXPECT_EQ(cudaErrorStreamCaptureUnsupported, cudaMalloc(&memory, 1)); },
      [&] { EXPECT_EQ(cudaErrorStreamCaptureUnsupported, cudaFree(nullptr)); },
      [&] { EXPECT_EQ(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(nullptr)); },
      [&] {
        EXPECT_EQ(cudaErrorStreamCaptureUnsupported,
                  cudaMemcpyAsync(&value, &value, sizeof value, cudaMemcpyDefault, nullptr));
      },
  };
  for (const Function &call : calls) {
    const Recording recording;
    EXPECT_EQ(cudaSuccess, launch({}));
    call();
    EXPECT_EQ(cudaErrorStreamCaptureInvalidated, launch({}));
    EXPECT_DEATH(recording.replay(), "a capture that was broken off");
  }
  EXPECT_EQ(cudaSuccess, launch({}));
}

TEST_F(Runtime, AThrowingKernelIsAFailedLaunch) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(cudaErrorLaunchFailure, launch_on(0, [] { throw std::runtime_error("divergence"); }));
  EXPECT_NE(std::string::npos, testing::internal::GetCapturedStderr().find("divergence"));
}

TEST_F(Runtime, RecordsLaunches) {
  int num_runs = 0;
  Config one;
  one.stream = reinterpret_cast<cudaStream_t>(&one);
  EXPECT_EQ(cudaSuccess, launch_on(1, [] {}));
  forget_calls();
  {
    const Recording recording;
    EXPECT_EQ(cudaSuccess, launch(one, [&] { ++num_runs; }));
    EXPECT_EQ(0, num_runs);
    recording.replay();
    recording.replay();
    EXPECT_EQ(2, num_runs);
  }
  EXPECT_EQ(cudaSuccess, launch(one, [&] { ++num_runs; }));
  EXPECT_EQ(3, num_runs);
  ASSERT_EQ(2u, launches().size());
  EXPECT_EQ(1, launches()[0].device);
  EXPECT_EQ(one.stream, launches()[0].stream);
  EXPECT_EQ(2, calls()["cudaLaunchKernelExC"]);
}

}  // namespace
}  // namespace simt::runtime
