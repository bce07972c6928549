// What CUDA C++ of SGLang and FlashInfer needs to be compiled for the host and run by one thread: a
// block of one, whose sums and scans are those of its own elements. cuda_verification.py puts the
// kernels' sources behind it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>

using std::max;
using std::min;

#define __global__
#define __device__
#define __forceinline__ inline
#define __shared__
#define __align__(x)
#define __syncthreads()
#define FLASHINFER_SAMPLING_LAUNCH_BOUNDS(x)
#define FLASHINFER_CUB_SUBTRACTLEFT_DEFINED

struct Index {
  uint32_t x;
};
static Index blockIdx, threadIdx;

// The uniform numbers that a block draws, one after the other.
struct curandStatePhilox4_32_10_t {
  const float *next;
};
static const float *host_coins;
static void curand_init(uint64_t, uint64_t, uint64_t, curandStatePhilox4_32_10_t *state) {
  state->next = host_coins;
}
static float curand_uniform(curandStatePhilox4_32_10_t *state) {
  return *state->next++;
}
static void atomicMin(int *at, int value) {
  *at = min(*at, value);
}

namespace cub {
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING };
enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING };
struct Storage {};

template <class T, int THREADS, BlockReduceAlgorithm ALGORITHM>
struct BlockReduce {
  explicit BlockReduce(Storage) {}
  template <int N>
  T Sum(const T (&items)[N]) {
    T sum = 0;
    for (const T item : items) sum += item;
    return sum;
  }
  template <int N, class Op>
  T Reduce(const T (&items)[N], Op op) {
    T result = items[0];
    for (const T item : items) result = op(result, item);
    return result;
  }
};
template <class T, int THREADS, BlockScanAlgorithm ALGORITHM>
struct BlockScan {
  explicit BlockScan(Storage) {}
  template <int N>
  void InclusiveSum(const T (&items)[N], T (&out)[N]) {
    T sum = 0;
    for (int i = 0; i < N; ++i) out[i] = sum += items[i];
  }
};
template <class T, int THREADS>
struct BlockAdjacentDifference {
  explicit BlockAdjacentDifference(Storage) {}
  template <int N, class Op>
  void SubtractLeft(const T (&items)[N], T (&out)[N], Op op) {
    for (int i = 0; i < N; ++i) out[i] = i == 0 ? items[0] : op(items[i], items[i - 1]);
  }
};
}  // namespace cub

namespace flashinfer {
inline uint32_t ceil_div(uint32_t a, uint32_t b) {
  return (a + b - 1) / b;
}
template <class T, size_t N>
struct vec_t {
  T items[N];
  T &operator[](size_t i) { return items[i]; }
  void fill(T value) { std::fill_n(items, N, value); }
  void load(const T *from) { std::copy_n(from, N, items); }
  void cast_load(const T *from) { load(from); }
};

namespace sampling {
using namespace cub;
struct BoolDiffOp {
  bool operator()(bool a, bool b) const { return a != b; }
};
struct MaxReduceOp {
  int operator()(int a, int b) const { return max(a, b); }
};
template <uint32_t THREADS, BlockScanAlgorithm SCAN, BlockReduceAlgorithm REDUCE>
struct SamplingTempStorage {
  struct {
    Storage reduce, reduce_int, scan, adj_diff;
  } block_prim;
  struct {
    float value;
  } block_aggregate;
  int sampled_id, last_valid_id;
};
template <uint32_t N, uint32_t THREADS, BlockScanAlgorithm SCAN, BlockReduceAlgorithm REDUCE,
          class T>
void DeterministicInclusiveSum(const float (&items)[N], float (&out)[N], T *) {
  BlockScan<float, THREADS, SCAN>(Storage{}).InclusiveSum(items, out);
}
}  // namespace sampling
}  // namespace flashinfer
