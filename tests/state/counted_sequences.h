// The part of complexity_test that is counted.
#ifndef SAMPLER_TESTS_STATE_COUNTED_SEQUENCES_H_
#define SAMPLER_TESTS_STATE_COUNTED_SEQUENCES_H_

#include <cstdint>

namespace state_test {

// Appends the tokens to an empty slot that has room for them, and truncates it to none.
void append_and_truncate(const std::int32_t *tokens, std::int32_t num_tokens,
                         std::int32_t max_distinct);

}  // namespace state_test

#endif  // SAMPLER_TESTS_STATE_COUNTED_SEQUENCES_H_
