// The fake CUDA runtime keeps the rules that the library's tests rely on.
#include "runtime.h"

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace simt::runtime {
namespace {

class Runtime : public testing::Test {
 protected:
  Runtime() { reset(); }
  // Also of the next test, when this one has failed.
  ~Runtime() override { EXPECT_EQ(0, num_allocations()); }
};

using RuntimeDeathTest = Runtime;

cudaError_t launch_on(int device, const Launch &config, std::function<void()> kernel) {
  EXPECT_EQ(cudaSuccess, cudaSetDevice(device));
  return launch(config, [kernel = std::move(kernel)](std::uint64_t) { kernel(); });
}

TEST_F(Runtime, HasItsDevices) {
  int count = -1, value = -1;
  EXPECT_EQ(cudaSuccess, cudaGetDeviceCount(&count));
  EXPECT_EQ(2, count);
  EXPECT_EQ(cudaSuccess, cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 1));
  EXPECT_EQ(8, value);
  EXPECT_EQ(cudaErrorInvalidDevice,
            cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 2));
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
  EXPECT_EQ(cudaSuccess, launch_on(1, {}, [=] { *memory = 42; }));
  int value = 0;
  copy_to_host(&value, memory, sizeof value);
  EXPECT_EQ(42, value);
  release(memory);
}

TEST_F(RuntimeDeathTest, NobodyElseDoes) {
  auto *const memory = static_cast<volatile int *>(allocate(1, 256));
  EXPECT_DEATH(*memory = 1, "");
  EXPECT_DEATH(std::printf("%d", *memory), "");
  EXPECT_DEATH(launch_on(0, {}, [=] { *memory = 1; }), "");
  EXPECT_DEATH(launch_on(1, {}, [=] { memory[64] = 1; }), "");
  release(const_cast<int *>(memory));
}

TEST_F(RuntimeDeathTest, WritingAroundAnAllocationIsNoticed) {
  auto *const memory = static_cast<char *>(allocate(0, 100));
  for (const std::ptrdiff_t place : {-1, 100}) {
    EXPECT_DEATH(
        {
          launch_on(0, {}, [=] { memory[place] = 1; });
          release(memory);
        },
        "somebody wrote outside of an allocation");
  }
  EXPECT_DEATH(reset(), "device memory is left");
  release(memory);
}

TEST_F(Runtime, LaunchesKeepTheLimitsOfTheDevice) {
  static const char kernel = 0;
  Launch large;
  large.kernel = &kernel;
  large.shared_bytes = (48 << 10) + 1;
  EXPECT_EQ(cudaErrorInvalidValue, launch_on(0, large, [] {}));
  EXPECT_EQ(cudaSuccess,
            cudaFuncSetAttribute(&kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 << 10));
  EXPECT_EQ(cudaSuccess, launch_on(0, large, [] {}));
  // Not on the other device, nor for the other kernel.
  EXPECT_EQ(cudaErrorInvalidValue, launch_on(1, large, [] {}));
  EXPECT_EQ(cudaErrorInvalidValue,
            cudaFuncSetAttribute(&kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 << 10));
  large.kernel = &large;
  EXPECT_EQ(cudaErrorInvalidValue, launch_on(0, large, [] {}));

  Launch cluster;
  cluster.team_size = 8;
  EXPECT_EQ(cudaSuccess, launch_on(0, cluster, [] {}));
  EXPECT_EQ(cudaErrorNotSupported, launch_on(1, cluster, [] {}));
  cluster.team_size = 16;
  EXPECT_EQ(cudaErrorInvalidValue, launch_on(0, cluster, [] {}));
  Launch empty;
  empty.num_teams = 0;
  EXPECT_EQ(cudaErrorInvalidConfiguration, launch_on(0, empty, [] {}));
}

TEST_F(Runtime, AThrowingKernelIsAFailedLaunch) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(cudaErrorLaunchFailure,
            launch_on(0, {}, [] { throw std::runtime_error("divergence"); }));
  EXPECT_NE(std::string::npos, testing::internal::GetCapturedStderr().find("divergence"));
}

TEST_F(Runtime, RecordsLaunches) {
  int num_runs = 0;
  Launch one;
  one.stream = reinterpret_cast<cudaStream_t>(&one);
  {
    const Recording recording;
    EXPECT_EQ(cudaSuccess, launch_on(1, one, [&] { ++num_runs; }));
    EXPECT_EQ(0, num_runs);
    recording.replay();
    recording.replay();
    EXPECT_EQ(2, num_runs);
  }
  EXPECT_EQ(cudaSuccess, launch_on(1, one, [&] { ++num_runs; }));
  EXPECT_EQ(3, num_runs);
  ASSERT_EQ(2u, launches().size());
  EXPECT_EQ(1, launches()[0].device);
  EXPECT_EQ(one.stream, launches()[0].stream);
  EXPECT_EQ(2, calls()["cudaLaunchKernelExC"]);
}

}  // namespace
}  // namespace simt::runtime
