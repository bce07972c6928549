// A fake CUDA runtime: devices, their memory, errors, and launches that run on fibers.
//
// Memory of a device can be reached by kernels on that device alone: the host, a kernel on another
// device, and whoever runs over its end fault. A launch has run when it returns, in whatever
// stream, unless a Recording takes it.
//
// What CUDA refuses it refuses, too. The rules, each with the test of runtime_test.cpp that shows
// it:
//
//   a device's number is that of one                  HasItsDevices
//   a kernel's address is known                       KernelsHaveAnAddress
//   there is code of it for the device                KernelsHaveCodeForSomeDevices
//   static and dynamic shared memory: 48 KiB          SharedMemoryWithoutOptingIn
//   and no more than was opted into                   SharedMemoryAboveWhatWasOptedInto
//   opted in: the device's maximum less static        OptingInCountsStaticSharedMemory
//   blocks of a grid: 1 to 2^31 - 1; y, z 65,535      GridsHaveALimit
//   threads of a block: 1 to 1,024, the kernel's      BlocksHaveALimit
//   a block fits in a multiprocessor's registers      RegistersHaveALimit
//   arguments: 4,096 bytes; 32,764 from 7.0 on        ArgumentsHaveALimit
//   a cluster's size divides the grid                 ClustersDivideTheGrid
//   8 blocks of a cluster; 16 by an attribute         ClustersOfMoreThanEightBlocksAreAskedFor
//   clusters from compute capability 9.0 on           ClustersNeedADeviceWithThem
//   a cluster runs within a processing cluster        ClustersRunInOneProcessingCluster
//   one that fits nowhere is not launched             ClustersThatFitNowhereAreNotLaunched
//   the driver reserves shared memory of each block   BlocksThatRunAtOnce
//   most calls make a context where there is none     CallsThatNeedAContextMakeOne
//   cudaSetDevice replaces the current context        SettingTheDeviceReplacesTheContext
//   contexts are a stack of the thread's              ContextsAreAStack
//   a primary context ends with its last owner        PrimaryContextsLastWhileSomebodyKeepsThem
//   a kernel's error stays, whoever asks              KernelsErrorsStayWithTheirContext
//   no kernel is used first while a stream captures   CapturesLoadNoKernel
//   nor is memory allocated, freed or waited for      CapturesEndWithWhatTheyDoNotAllow
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "launch_rules.h"

namespace simt::runtime {

// ---- The machine --------------------------------------------------------------------------------

constexpr Device kHopper = {{16, 16, 16, 16, 16, 16, 18, 18}, 227 << 10, 228 << 10, 90};
// Has no clusters.
constexpr Device kAda = {
    {12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 8}, 99 << 10, 100 << 10, 89, 1536};

// A machine with these devices on which nothing has happened: a process begins with one of each of
// the two. Without devices there is no driver either. All memory must have been released. Kernels
// stay.
void reset(const std::vector<Device> &devices = {kHopper, kAda});

// Kernels are known by an address of their own, from the process's beginning, in every context.
void add_kernel(const void *address, const Kernel &kernel);
Kernel &kernel_at(const void *address);

// Threads of a block of the kernels, 64 or 256. 256 is what a GPU runs; results are the same, and
// 64 are there sooner.
void set_block_threads(int num_threads);
int block_threads();

// ---- Contexts -----------------------------------------------------------------------------------

// The thread's stack of contexts, the current one last.
std::vector<CUcontext> contexts();

// Whether somebody keeps the device's primary context: by cuDevicePrimaryCtxRetain, or by a call of
// the runtime that needed it.
bool has_primary_context(int device);

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
  const void *kernel = nullptr;
  std::int64_t num_teams = 0;
  int team_size = 1;  // blocks
  std::size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
  int device = -1;
};

// Those since reset() or forget_calls() that did not fail.
const std::vector<Launch> &launches();

// Takes the launches of its lifetime as a captured graph, or a stream that is far behind: none runs
// until replay(), which may come again. One at a time. Calls that a capture does not allow end it:
// they fail, and so do the launches that follow.
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
