// Logits lie where the handle's device is: on the host here, and where tests/simt/runtime links
// this suite with another definition, on a device of the fake CUDA runtime.
#ifndef SAMPLER_TESTS_DECODING_MEMORY_H_
#define SAMPLER_TESTS_DECODING_MEMORY_H_

#include <cstddef>

namespace decoding_test {

// Logits of the caller's own.
void *make_logits(const void *from, std::size_t bytes);
void release_logits(void *logits);

// A loop's logits.
void copy_to_logits(void *logits, const void *from, std::size_t bytes);
void copy_from_logits(void *to, const void *logits, std::size_t bytes);

}  // namespace decoding_test

#endif  // SAMPLER_TESTS_DECODING_MEMORY_H_
