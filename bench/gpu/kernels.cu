#include "kernels.h"

#include <cmath>

#include "runtime.h"

namespace gpu_check {

namespace {

constexpr int kThreads = 512;
constexpr int kBlocksPerMultiprocessor = 4;
constexpr int kLoadsInFlight = 4;  // of 16 bytes, per thread

// splitmix64's finaliser.
__device__ uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// Uniform in (0, 1).
__device__ float uniform(uint32_t bits) {
  return (float(bits >> 8) + 0.5f) * 0x1p-24f;
}

__device__ float random_logit(Content content, uint64_t index, float num_cols) {
  const uint64_t a = mix(index * 2 + 1), b = mix(index * 2 + 2);
  const float rank = 1.0f + uniform(uint32_t(a)) * num_cols;
  const float noise =
      sqrtf(-2.0f * logf(uniform(uint32_t(b)))) * cosf(6.2831853f * uniform(uint32_t(b >> 32)));
  switch (content) {
    case Content::kFlat:
      return 0.01f * noise;
    case Content::kEqual:
      return 0.0f;
    case Content::kMasked:
      if ((a >> 32) % 10 != 0) return -INFINITY;
      break;
    case Content::kLanguage:
      break;
  }
  return -1.1f * logf(rank) + 0.3f * noise;
}

__global__ void fill_kernel(Content content, void *data, int64_t count, float num_cols, bool is_f32,
                            float probability_scale) {
  const int64_t step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    float x = random_logit(content, uint64_t(i), num_cols);
    if (probability_scale > 0.0f) x = expf(x) * probability_scale;
    if (is_f32) {
      static_cast<float *>(data)[i] = x;
    } else {
      static_cast<uint16_t *>(data)[i] = uint16_t((__float_as_uint(x) + 0x8000u) >> 16);
    }
  }
}

__device__ float maximum_of(uint32_t word, bool is_f32) {
  if (is_f32) return __uint_as_float(word);
  return fmaxf(__uint_as_float(word << 16), __uint_as_float(word & 0xFFFF0000u));
}

template <bool kIsF32>
__global__ void __launch_bounds__(kThreads)
    read_kernel(const uint4 *__restrict__ data, int64_t count, unsigned *out) {
  const int64_t step = int64_t(gridDim.x) * kThreads;
  float maximum = -INFINITY;
  const auto take = [&](uint4 v) {
    maximum = fmaxf(maximum, fmaxf(fmaxf(maximum_of(v.x, kIsF32), maximum_of(v.y, kIsF32)),
                                   fmaxf(maximum_of(v.z, kIsF32), maximum_of(v.w, kIsF32))));
  };
  int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  for (; i + (kLoadsInFlight - 1) * step < count; i += kLoadsInFlight * step) {
    uint4 loaded[kLoadsInFlight];
#pragma unroll
    for (int j = 0; j < kLoadsInFlight; ++j) loaded[j] = __ldg(data + i + j * step);
#pragma unroll
    for (int j = 0; j < kLoadsInFlight; ++j) take(loaded[j]);
  }
  for (; i < count; i += step) take(__ldg(data + i));
  for (int lane = 16; lane > 0; lane /= 2) {
    maximum = fmaxf(maximum, __shfl_xor_sync(0xFFFFFFFFu, maximum, lane));
  }
  // Order-preserving bits, so that an integer maximum is the float's.
  const unsigned bits = __float_as_uint(maximum);
  const unsigned key = bits ^ (bits >> 31 ? 0xFFFFFFFFu : 0x80000000u);
  if (threadIdx.x % 32 == 0) atomicMax(out, key);
}

int num_blocks() {
  int device = 0, multiprocessors = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  return multiprocessors * kBlocksPerMultiprocessor;
}

// Sum of exp(logit) over a row: the integral of (1 + u V)^-1.1 over u in (0, 1), times the mean of
// exp(N(0, 0.3)).
double total_weight(double num_cols) {
  return 1.0460279 * (1.0 - std::pow(1.0 + num_cols, -0.1)) / 0.1;
}

}  // namespace

void fill_rows(Content content, void *data, int64_t count, int64_t num_cols, sampler_dtype dtype,
               sampler_input_kind kind, cudaStream_t stream) {
  const float scale =
      kind == SAMPLER_PROBABILITIES ? float(1.0 / total_weight(double(num_cols))) : 0.0f;
  fill_kernel<<<num_blocks(), kThreads, 0, stream>>>(content, data, count, float(num_cols),
                                                     dtype == SAMPLER_F32, scale);
  CUDA_CHECK(cudaGetLastError());
}

void read_maximum(const void *data, int64_t bytes, sampler_dtype dtype, unsigned *out,
                  cudaStream_t stream) {
  const int64_t count = bytes / int64_t(sizeof(uint4));
  const int64_t wanted = (count + kThreads - 1) / kThreads;
  const int blocks = int(wanted < num_blocks() ? wanted : num_blocks());
  const auto *vectors = static_cast<const uint4 *>(data);
  if (dtype == SAMPLER_F32) {
    read_kernel<true><<<blocks, kThreads, 0, stream>>>(vectors, count, out);
  } else {
    read_kernel<false><<<blocks, kThreads, 0, stream>>>(vectors, count, out);
  }
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace gpu_check
