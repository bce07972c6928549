// GPT-2 as its paper and Hugging Face's model write it, in f64, without cache, batch or blocks:
// what the logits of the program are compared with. Shares no code with it.
#ifndef TESTS_GENERATE_NAIVE_GPT2_H
#define TESTS_GENERATE_NAIVE_GPT2_H

#include <cstdint>
#include <vector>

#include "model_files.h"

// The logits that follow the last token. Tensor names must have no prefix.
std::vector<double> naive_gpt2_logits(const ModelFiles &files,
                                      const std::vector<std::int32_t> &token_ids);

#endif  // TESTS_GENERATE_NAIVE_GPT2_H
