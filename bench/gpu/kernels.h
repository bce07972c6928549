// Kernels of the benchmark: its inputs, and the read-only pass that results are compared with.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include <sampler/sampler.h>

namespace gpu_check {

// Contents of rows.
enum class Content {
  kLanguage,  // a language model's: -1.1 ln(rank), ranks in random order, plus N(0, 0.3)
  kFlat,      // N(0, 0.01)
  kEqual,
  kMasked,  // a language model's, with nine of ten tokens at -inf
};

// Fills `count` elements with rows of num_cols logits, or with their probabilities, which sum to
// about 1 for kLanguage. f32 or bf16. `data` must be aligned to 16 bytes.
void fill_rows(Content content, void *data, int64_t count, int64_t num_cols, sampler_dtype dtype,
               sampler_input_kind kind, cudaStream_t stream);

// Reads `bytes` bytes, a multiple of 16, at the device's bandwidth, and keeps their maximum.
void read_maximum(const void *data, int64_t bytes, sampler_dtype dtype, unsigned *out,
                  cudaStream_t stream);

}  // namespace gpu_check
