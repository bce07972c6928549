// What device code uses of the machine: one class, CudaContext here and SimtContext in
// tests/simt, where the same kernels run on fibers of the host.
//
// Device code names no CUDA builtin. It is a set of templates over a Context:
//
//   Context::kThreads                 threads of a block, a multiple of 32
//   thread(), lane(), warp()          place in the block
//   cluster_rank(), team_size()       the block's place in its team: a thread block cluster
//   team(), num_teams()               the team's place in the grid
//   sync()                            barrier of the block
//   team_sync()                       barrier of the team; orders shared and global memory
//   shared<T>()                       the block's dynamic shared memory, seen as a T
//   peer(pointer, rank)               the same place in another block's shared memory
//   ballot(bool)                      one bit a lane
//   warp_broadcast(u64, lane)         one lane's value
//   warp_inclusive_sum(u64)           over the lanes up to this one
//   warp_sum(u64)                     over the lanes, of numbers below 2^49, in every lane
//   warp_max(u32)                     over the lanes, in every lane
//   warp_match(u32)                   one bit for each lane with the same value
//   lowest_bit(u32), count_bits(u32)  static: for ballots; lowest_bit not of 0
//   block_sum(u64), block_max(u64)    over the block, the same result in every thread
//   block_exclusive_sum(u64, *total)  over the threads before this one; the total in every thread
//   block_count(bool)                 number of threads with true, in every thread
//   atomic_add(u32 *, u32), atomic_add(u64 *, u64), atomic_or(u32 *, u32), atomic_max(u32 *, u32)
//                                     in shared memory of any block of the team, or global memory;
//                                     the old value
//   store_same(T *, T)                a store of 4 bytes, of a value that other threads of the team
//                                     may store there at the same time
//   add_to_shared(u32 *, u32), add_to_shared(TwoWords *, u64)
//                                     the same in the block's own shared memory, without the old
//                                     value
//   publish(T *, T)                   a store to global memory that other teams read, after fence()
//   fence()                           orders the thread's accesses to global memory, and those
//                                     before the block's or the team's last barrier, for all of
//                                     the device
//   load_fresh<T>(const T *)          a load of 4, 8 or 16 bytes of global memory that another
//                                     block may have published in this launch
//   wait_for_launch_before()          waits until the launch before this one in its stream has
//   ended
//                                     and its writes are visible; this one may have begun earlier
//   let_next_launch_begin()           the next launch may begin before this one has ended
//   settle(u32 *)                     has the value computed here, once, not again at each use
//   pause()                           between polls for what another block publishes
//   load_vector<T>(const T *)         an aligned load of a 8- or 16-byte struct
//   load_streamed<T>(const T *)       the same of 16 bytes that nobody writes during the launch and
//                                     this multiprocessor reads once
//   load_shared<T>(const T *)         the same from the block's own shared memory
//   store_vector<T>(T *, T)           and the store
//   copy_async<T>(T *shared, const T *global)
//                                     starts a copy of a 8- or 16-byte struct, aligned on both
//                                     sides
//   commit_copies()                   ends a group of the thread's copies, which may be empty
//   wait_for_copies<n>()              waits until all but the last n groups have arrived; for this
//                                     thread only, others need a barrier
//   warp_sync()                       barrier of the warp; orders shared memory
//   larger(float, float), smaller(float, float)
//                                     static: either of two zeros; larger: NaN if one is NaN
//   larger_pair<dtype>(u32, u32), smaller_pair<dtype>(u32, u32)
//                                     the same for both halves, each an element of 16 bits
//
// Barriers, ballots, broadcasts and block or warp sums are reached by every thread of the block
// (the warp, the team) together: no early return, no divergence around them. The block's sums are
// barriers too: what was written to shared memory before is visible after.
#pragma once

#include <cstdint>

#include "contract/host_device.h"

#if defined(__CUDACC__)
#define SAMPLER_DEVICE __device__
// noinline, for code with many call sites: inlined copies would add up, as a kernel contains all of
// its passes. A unit whose kernels have it once defines SAMPLER_CALLS_ARE_INLINED.
#if defined(SAMPLER_CALLS_ARE_INLINED)
#define SAMPLER_DEVICE_CALL __device__ __forceinline__
#else
#define SAMPLER_DEVICE_CALL __device__ __noinline__
#endif
// Before a loop with a large enough body.
#define SAMPLER_KEEP_ROLLED _Pragma("unroll 1")
// Before a loop over registers.
#define SAMPLER_UNROLLED _Pragma("unroll")
// Before a loop whose loads should overlap.
#define SAMPLER_SOME_UNROLLED _Pragma("unroll 4")
#else
#define SAMPLER_DEVICE
#define SAMPLER_DEVICE_CALL
#define SAMPLER_KEEP_ROLLED
#define SAMPLER_UNROLLED
#define SAMPLER_SOME_UNROLLED
#endif

namespace sampler::kernels {

// A 64-bit sum in shared memory: additions need no compare-and-swap loop.
struct TwoWords {
  uint32_t low;
  uint32_t high;

  SAMPLER_HD static TwoWords of(uint64_t number) {
    return {uint32_t(number), uint32_t(number >> 32)};
  }
  SAMPLER_HD uint64_t value() const { return uint64_t(high) << 32 | low; }
};

}  // namespace sampler::kernels
