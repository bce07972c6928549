// Kernels of the benchmark itself: its inputs, and the read-only pass that results are related to.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include <sampler/sampler.h>

namespace gpu_check {

// What rows look like.
enum class Content {
  kLanguage,  // a language model's: -1.1 ln(rank), ranks in random order, plus N(0, 0.3)
  kFlat,      // N(0, 0.01)
  kEqual,
  kMasked,  // nine of ten are -inf, the others a language model's
};

// Fills `count` elements with rows of num_cols logits, or with their probabilities, which sum to
// about 1 for a language model's. f32 or bf16. `data` is aligned to 16 bytes.
void fill_rows(Content content, void *data, int64_t count, int64_t num_cols, sampler_dtype dtype,
               sampler_input_kind kind, cudaStream_t stream);

// Reads `bytes` bytes, a multiple of 16, at the device's pace, and keeps their maximum.
void read_maximum(const void *data, int64_t bytes, sampler_dtype dtype, unsigned *out,
                  cudaStream_t stream);

}  // namespace gpu_check
