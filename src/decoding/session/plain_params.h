// Sampling parameters of a drafter's draws: temperature, top-k, top-p and min-p only.
#pragma once

#include "abi/structs.h"
#include "sampler/sampling.h"

namespace sampler::decoding {

inline sampler_params plain_params(const sampler_params &params) {
  sampler_params result = sampler_params_default();
  result.temperature = params.temperature;
  result.top_p = params.top_p;
  result.min_p = params.min_p;
  result.top_k = params.top_k;
  result.top_k_ties = params.top_k_ties;
  result.top_p_ties = params.top_p_ties;
  result.filter_order = params.filter_order;
  result.temperature_order = params.temperature_order;
  result.top_p_sum = params.top_p_sum;
  return result;
}

inline sampler_row_params plain_params(const sampler_row_params &params) {
  auto result = abi::sized<sampler_row_params>();
  result.temperature = params.temperature;
  result.top_p = params.top_p;
  result.min_p = params.min_p;
  result.top_k = params.top_k;
  return result;
}

}  // namespace sampler::decoding
