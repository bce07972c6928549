// Gumbel draws of one token from each of some rows of logits, for a launch of device code.
#pragma once

#include <cstdint>
#include <vector>

#include "contract/request.h"

namespace simt_test {

// `rows` have the same length; the vectors outlive the request.
inline sampler::contract::SampleRequest gumbel_request(const std::vector<float> &rows,
                                                       uint64_t seed,
                                                       std::vector<int32_t> *tokens) {
  sampler::contract::SampleRequest request;
  request.num_rows = int64_t(tokens->size());
  request.input.values = rows.data();
  request.input.num_rows = request.num_rows;
  request.input.num_cols = int64_t(rows.size() / tokens->size());
  request.input.stride = request.input.num_cols;
  request.parameters.temperature.value = 1.0f;
  request.draw_method = SAMPLER_DRAW_GUMBEL;
  request.random.seed.value = seed;
  request.out_token_ids.data = tokens->data();
  return request;
}

}  // namespace simt_test
