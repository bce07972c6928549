// The Context of real hardware. Clusters, CUB's block collectives and all other CUDA names are
// confined to this file.
#pragma once

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#include "machine/device.cuh"

namespace sampler::kernels {

// Whether the device that code is compiled for has clusters.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
constexpr bool kHasClusters = false;
#else
constexpr bool kHasClusters = true;
#endif

// kIsClustered: teams may have several blocks, which needs compute capability 9.0.
template <int kThreads_, bool kIsClustered>
class CudaContext {
 public:
  static constexpr int kThreads = kThreads_;
  static constexpr int kWarps = kThreads / 32;

  using BlockReduce = cub::BlockReduce<uint64_t, kThreads>;
  using BlockScan = cub::BlockScan<uint64_t, kThreads, cub::BLOCK_SCAN_WARP_SCANS>;

  // Shared memory of the block collectives. It counts against a launch's limit; other scan
  // algorithms take 2,000 bytes more.
  struct Scratch {
    union {
      typename BlockReduce::TempStorage reduce;
      typename BlockScan::TempStorage scan;
    };
    uint64_t result;
  };

  __device__ CudaContext(Scratch &scratch, void *shared) : scratch_(scratch), shared_(shared) {}

  __device__ int thread() const { return int(threadIdx.x); }
  __device__ int lane() const { return int(threadIdx.x & 31); }
  __device__ int warp() const { return int(threadIdx.x >> 5); }

  __device__ int cluster_rank() const {
#if __CUDA_ARCH__ >= 900
    if constexpr (kIsClustered) {
      uint32_t rank;
      asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
      return int(rank);
    }
#endif
    return 0;
  }

  __device__ int team_size() const {
#if __CUDA_ARCH__ >= 900
    if constexpr (kIsClustered) {
      uint32_t size;
      asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
      return int(size);
    }
#endif
    return 1;
  }

  __device__ int64_t team() const {
    return int64_t(blockIdx.x / unsigned(team_size()));
  }
  __device__ int64_t num_teams() const {
    return int64_t(gridDim.x / unsigned(team_size()));
  }

  __device__ void sync() const {
    __syncthreads();
  }

  __device__ void team_sync() const {
#if __CUDA_ARCH__ >= 900
    if constexpr (kIsClustered) {
      asm volatile("barrier.cluster.arrive.release.aligned;" : : : "memory");
      asm volatile("barrier.cluster.wait.acquire.aligned;" : : : "memory");
      return;
    }
#endif
    __syncthreads();
  }

  template <class T>
  __device__ T &shared() const {
    return *static_cast<T *>(shared_);
  }

  template <class T>
  __device__ T *peer(T *pointer, int rank) const {
#if __CUDA_ARCH__ >= 900
    if constexpr (kIsClustered) {
      uint64_t mapped;
      asm("mapa.u64 %0, %1, %2;"
          : "=l"(mapped)
          : "l"(reinterpret_cast<uint64_t>(pointer)), "r"(rank));
      return reinterpret_cast<T *>(mapped);
    }
#endif
    return pointer;
  }

  __device__ uint32_t ballot(bool predicate) const {
    return __ballot_sync(0xFFFFFFFFu, predicate);
  }

  __device__ uint64_t warp_broadcast(uint64_t value, int lane) const {
    return __shfl_sync(0xFFFFFFFFu, value, lane);
  }

  __device__ uint64_t warp_inclusive_sum(uint64_t value) const {
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const uint64_t before = __shfl_up_sync(0xFFFFFFFFu, value, distance);
      if (lane() >= distance) value += before;
    }
    return value;
  }

  // Sums limbs of 22 bits, which the hardware's u32 reduction can add.
  __device__ uint64_t warp_sum(uint64_t value) const {
    constexpr int kLimbBits = 22;
    const uint32_t low = uint32_t(value) & ((uint32_t(1) << kLimbBits) - 1);
    const uint32_t high = uint32_t(value >> kLimbBits);
    return (uint64_t(__reduce_add_sync(0xFFFFFFFFu, high)) << kLimbBits) +
           __reduce_add_sync(0xFFFFFFFFu, low);
  }

  __device__ uint32_t warp_max(uint32_t value) const {
    return __reduce_max_sync(0xFFFFFFFFu, value);
  }

  __device__ uint32_t warp_match(uint32_t value) const {
    return __match_any_sync(0xFFFFFFFFu, value);
  }

  __device__ static int lowest_bit(uint32_t bits) {
    return __ffs(int(bits)) - 1;
  }
  __device__ static int count_bits(uint32_t bits) {
    return __popc(bits);
  }

  SAMPLER_DEVICE_CALL uint64_t block_sum(uint64_t value) const {
    return share(BlockReduce(scratch_.reduce).Sum(value));
  }

  SAMPLER_DEVICE_CALL uint64_t block_max(uint64_t value) const {
    return share(BlockReduce(scratch_.reduce).Reduce(value, Larger()));
  }

  SAMPLER_DEVICE_CALL uint64_t block_exclusive_sum(uint64_t value, uint64_t *total) const {
    uint64_t result;
    BlockScan(scratch_.scan).ExclusiveSum(value, result, *total);
    __syncthreads();
    return result;
  }

  __device__ uint32_t block_count(bool predicate) const {
    return uint32_t(__syncthreads_count(predicate));
  }

  __device__ uint32_t atomic_add(uint32_t *address, uint32_t value) const {
    return ::atomicAdd(address, value);
  }

  __device__ uint64_t atomic_add(uint64_t *address, uint64_t value) const {
    return ::atomicAdd(reinterpret_cast<unsigned long long *>(address), value);
  }

  __device__ uint32_t atomic_or(uint32_t *address, uint32_t value) const {
    return ::atomicOr(address, value);
  }

  __device__ uint32_t atomic_max(uint32_t *address, uint32_t value) const {
    return ::atomicMax(address, value);
  }

  __device__ void add_to_shared(uint32_t *address, uint32_t value) const {
    asm volatile("red.shared.add.u32 [%0], %1;"
                 :
                 : "r"(uint32_t(__cvta_generic_to_shared(address))), "r"(value)
                 : "memory");
  }

  template <class T>
  __device__ void store_same(T *address, T value) const {
    *address = value;
  }

  template <class T>
  __device__ void publish(T *address, const T &value) const {
    *address = value;
  }

  __device__ void fence() const {
    __threadfence();
  }

  __device__ void add_to_shared(TwoWords *address, uint64_t value) const {
    asm volatile(
        "{\n"
        "  .reg .u32 before, high;\n"
        "  atom.shared.add.u32 before, [%0], %1;\n"
        "  add.cc.u32 before, before, %1;\n"
        "  addc.u32 high, %2, 0;\n"
        "  red.shared.add.u32 [%0 + 4], high;\n"
        "}"
        :
        : "r"(uint32_t(__cvta_generic_to_shared(address))), "r"(uint32_t(value)),
          "r"(uint32_t(value >> 32))
        : "memory");
  }

  template <class T>
  __device__ T load_vector(const T *address) const {
    T value;
    if constexpr (sizeof(T) == 16) {
      const uint4 raw = *reinterpret_cast<const uint4 *>(address);
      value.word[0] = raw.x, value.word[1] = raw.y, value.word[2] = raw.z, value.word[3] = raw.w;
    } else {
      const uint2 raw = *reinterpret_cast<const uint2 *>(address);
      value.word[0] = raw.x, value.word[1] = raw.y;
    }
    return value;
  }

  template <class T>
  __device__ T load_fresh(const T *address) const {
    if constexpr (sizeof(T) == 16) {
      const uint4 raw = __ldcg(reinterpret_cast<const uint4 *>(address));
      T value;
      value.word[0] = raw.x, value.word[1] = raw.y, value.word[2] = raw.z, value.word[3] = raw.w;
      return value;
    } else if constexpr (sizeof(T) == 8) {
      return T(__ldcg(reinterpret_cast<const unsigned long long *>(address)));
    } else {
      return __ldcg(address);
    }
  }

  __device__ void wait_for_launch_before() const {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" : : : "memory");
#endif
  }
  __device__ void let_next_launch_begin() const {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" : : : "memory");
#endif
  }

  // Has *value computed here, once, rather than wherever it is used.
  __device__ void settle(uint32_t *value) const {
    asm volatile("mov.b32 %0, %0;" : "+r"(*value));
  }

  // Forces a waiting thread to reload memory: the compiler may not keep earlier reads.
  __device__ void pause() const {
    __nanosleep(20);
    asm volatile("" : : : "memory");
  }

  template <class T>
  __device__ T load_streamed(const T *address) const {
    static_assert(sizeof(T) == 16, "a whole vector");
    T value;
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(value.word[0]), "=r"(value.word[1]), "=r"(value.word[2]), "=r"(value.word[3])
        : "l"(address));
    return value;
  }

  template <class T>
  __device__ T load_last(const T *address) const {
    static_assert(sizeof(T) == 16, "a whole vector");
    T value;
    asm("{\n"
        "  .reg .b64 policy;\n"
        "  createpolicy.fractional.L2::evict_first.b64 policy, 1.0;\n"
        "  ld.global.nc.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], policy;\n"
        "}"
        : "=r"(value.word[0]), "=r"(value.word[1]), "=r"(value.word[2]), "=r"(value.word[3])
        : "l"(address));
    return value;
  }

  template <class T>
  __device__ T load_shared(const T *address) const {
    static_assert(sizeof(T) == 16, "a whole vector");
    const uint32_t from = uint32_t(__cvta_generic_to_shared(address));
    T value;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.word[0]), "=r"(value.word[1]), "=r"(value.word[2]),
                   "=r"(value.word[3])
                 : "r"(from));
    return value;
  }

  template <class T>
  __device__ void store_vector(T *address, const T &value) const {
    if constexpr (sizeof(T) == 16) {
      *reinterpret_cast<uint4 *>(address) =
          make_uint4(value.word[0], value.word[1], value.word[2], value.word[3]);
    } else {
      *reinterpret_cast<uint2 *>(address) = make_uint2(value.word[0], value.word[1]);
    }
  }

  __device__ static float larger(float a, float b) {
    float result;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
  }
  __device__ static float smaller(float a, float b) {
    return fminf(a, b);
  }

  template <sampler_dtype kDtype>
  __device__ static uint32_t larger_pair(uint32_t a, uint32_t b) {
    uint32_t result;
    if constexpr (kDtype == SAMPLER_BF16) {
      asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
    } else {
      asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
    }
    return result;
  }
  template <sampler_dtype kDtype>
  __device__ static uint32_t smaller_pair(uint32_t a, uint32_t b) {
    uint32_t result;
    if constexpr (kDtype == SAMPLER_BF16) {
      asm("min.bf16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
    } else {
      asm("min.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
    }
    return result;
  }

  // Hardware asynchronous copies, from compute capability 8.0.
  template <class T>
  __device__ void copy_async(T *shared, const T *global) const {
    const uint32_t to = uint32_t(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;"
                 :
                 : "r"(to), "l"(global), "n"(sizeof(T))
                 : "memory");
  }

  __device__ void commit_copies() const {
    asm volatile("cp.async.commit_group;" : : : "memory");
  }

  template <int kPending>
  __device__ void wait_for_copies() const {
    asm volatile("cp.async.wait_group %0;" : : "n"(kPending) : "memory");
  }

  __device__ void warp_sync() const {
    __syncwarp();
  }

 private:
  struct Larger {
    __device__ uint64_t operator()(uint64_t a, uint64_t b) const { return a > b ? a : b; }
  };

  // CUB returns the result to thread 0 only.
  __device__ uint64_t share(uint64_t value) const {
    if (threadIdx.x == 0) scratch_.result = value;
    __syncthreads();
    const uint64_t result = scratch_.result;
    __syncthreads();
    return result;
  }

  Scratch &scratch_;
  void *shared_;
};

}  // namespace sampler::kernels
