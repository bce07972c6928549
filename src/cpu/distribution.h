// What a row's temperature and filters make of it: the kept tokens and their probabilities.
#pragma once

#include <cstdint>

#include "contract/distribution.h"
#include "contract/filters.h"
#include "cpu/row.h"

namespace sampler::cpu {

using contract::Distribution;

// The row and the parameters are good. Uses the buffers to sort.
Distribution make_distribution(const Row &row, const contract::RowParameters &parameters,
                               const contract::FilterRules &rules, const RowBuffers &buffers);

// All tokens of the row, at this scale of weights.
Distribution distribution_of_all(const Row &row, const contract::RowScale &scale);

// The weight of the whole row at temperature 1.
uint64_t total_weight(const Row &row);

}  // namespace sampler::cpu
