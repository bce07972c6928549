#include "max_pass.h"

#include <cmath>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#else
#error "The yardstick needs intrinsics for this architecture"
#endif

namespace cpu_bench {

namespace {

// Registers of maxima, enough to hide the latency of one maximum.
constexpr size_t kNumMaxima = 8;

// DEFINE_MAX_PASS(name, target, Value, lowest, Register, splat, load, max, store): the pass over
// `Value`s with one instruction set; the last five are its types and operations. A macro, since a
// function with a target attribute inlines only functions with the same one.
#define DEFINE_MAX_PASS(name, target, Value, lowest, Register, splat, load, max, store)    \
  target Value name(const Value *values, size_t count) {                                   \
    constexpr size_t kLanes = sizeof(Register) / sizeof(Value);                            \
    Register maxima[kNumMaxima];                                                           \
    for (size_t j = 0; j < kNumMaxima; ++j) maxima[j] = splat(lowest);                     \
    size_t i = 0;                                                                          \
    for (; i + kNumMaxima * kLanes <= count; i += kNumMaxima * kLanes) {                   \
      for (size_t j = 0; j < kNumMaxima; ++j) {                                            \
        maxima[j] = max(maxima[j], load(values + i + j * kLanes));                         \
      }                                                                                    \
    }                                                                                      \
    for (; i + kLanes <= count; i += kLanes) maxima[0] = max(maxima[0], load(values + i)); \
    for (size_t j = 1; j < kNumMaxima; ++j) maxima[0] = max(maxima[0], maxima[j]);         \
    Value lanes[kLanes];                                                                   \
    store(lanes, maxima[0]);                                                               \
    Value result = lowest;                                                                 \
    for (const Value value : lanes) result = value > result ? value : result;              \
    for (; i < count; ++i) result = values[i] > result ? values[i] : result;               \
    return result;                                                                         \
  }

constexpr float kLowestF32 = -INFINITY;
constexpr int16_t kLowestI16 = INT16_MIN;

#if defined(__x86_64__)
#define TARGET_AVX512 __attribute__((target("avx512f,avx512bw")))
#define TARGET_AVX2 __attribute__((target("avx2")))
#define LOAD_512(p) _mm512_loadu_si512(static_cast<const void *>(p))
#define LOAD_256(p) _mm256_loadu_si256(reinterpret_cast<const __m256i *>(p))
#define LOAD_128(p) _mm_loadu_si128(reinterpret_cast<const __m128i *>(p))
#define STORE_512(p, x) _mm512_storeu_si512(static_cast<void *>(p), x)
#define STORE_256(p, x) _mm256_storeu_si256(reinterpret_cast<__m256i *>(p), x)
#define STORE_128(p, x) _mm_storeu_si128(reinterpret_cast<__m128i *>(p), x)

DEFINE_MAX_PASS(f32_avx512, TARGET_AVX512, float, kLowestF32, __m512, _mm512_set1_ps,
                _mm512_loadu_ps, _mm512_max_ps, _mm512_storeu_ps)
DEFINE_MAX_PASS(i16_avx512, TARGET_AVX512, int16_t, kLowestI16, __m512i, _mm512_set1_epi16,
                LOAD_512, _mm512_max_epi16, STORE_512)
DEFINE_MAX_PASS(f32_avx2, TARGET_AVX2, float, kLowestF32, __m256, _mm256_set1_ps, _mm256_loadu_ps,
                _mm256_max_ps, _mm256_storeu_ps)
DEFINE_MAX_PASS(i16_avx2, TARGET_AVX2, int16_t, kLowestI16, __m256i, _mm256_set1_epi16, LOAD_256,
                _mm256_max_epi16, STORE_256)
DEFINE_MAX_PASS(f32_baseline, , float, kLowestF32, __m128, _mm_set1_ps, _mm_loadu_ps, _mm_max_ps,
                _mm_storeu_ps)
DEFINE_MAX_PASS(i16_baseline, , int16_t, kLowestI16, __m128i, _mm_set1_epi16, LOAD_128,
                _mm_max_epi16, STORE_128)
#else
DEFINE_MAX_PASS(f32_baseline, , float, kLowestF32, float32x4_t, vdupq_n_f32, vld1q_f32, vmaxq_f32,
                vst1q_f32)
DEFINE_MAX_PASS(i16_baseline, , int16_t, kLowestI16, int16x8_t, vdupq_n_s16, vld1q_s16, vmaxq_s16,
                vst1q_s16)
#endif

}  // namespace

std::vector<MaxPass> usable_max_passes() {
  std::vector<MaxPass> passes;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")) {
    passes.push_back({"AVX-512", &f32_avx512, &i16_avx512});
  }
  if (__builtin_cpu_supports("avx2")) passes.push_back({"AVX2", &f32_avx2, &i16_avx2});
  passes.push_back({"SSE2", &f32_baseline, &i16_baseline});
#else
  passes.push_back({"NEON", &f32_baseline, &i16_baseline});
#endif
  return passes;
}

void run_max_pass(const MaxPass &pass, const void *values, size_t count, sampler_dtype dtype) {
  if (dtype == SAMPLER_F32) {
    volatile const float keep = pass.of_f32(static_cast<const float *>(values), count);
    static_cast<void>(keep);
  } else {
    volatile const int16_t keep = pass.of_i16(static_cast<const int16_t *>(values), count);
    static_cast<void>(keep);
  }
}

}  // namespace cpu_bench
