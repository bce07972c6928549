// What tokens are drawn from in these tests: one row with its parameters, the probabilities that
// follow from them, and counts of what the library draws.
#ifndef SAMPLER_TESTS_STATISTICS_SOURCE_H_
#define SAMPLER_TESTS_STATISTICS_SOURCE_H_

#include <sampler/sampler.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "../sized.h"
#include "chi_square.h"

namespace statistics_test {

struct DestroySampler {
  void operator()(sampler_t sampler) const { sampler_destroy(sampler); }
};
using SamplerPtr = std::unique_ptr<struct sampler_handle, DestroySampler>;

// A CPU handle that works on the caller's thread.
SamplerPtr make_sampler(std::int64_t max_rows, std::int64_t max_cols);

// One row, and what to draw from it.
struct Source : sampler_params {
  Source() : sampler_params(sampler_params_default()) {}

  std::vector<float> values;  // exactly representable in dtype
  sampler_dtype dtype = SAMPLER_F32;
  sampler_input_kind kind = SAMPLER_LOGITS;
  std::vector<std::int32_t> candidate_ids;  // empty: an element's id is its column
  sampler_draw_method draw_method = SAMPLER_DRAW_INVERSE_CDF;
};

// Contiguous rows of f32.
inline sampler_rows rows_of(const float *values, sampler_input_kind kind, std::int64_t num_rows,
                            std::int64_t num_cols) {
  sampler_rows rows = {};
  rows.values = values;
  rows.num_rows = num_rows;
  rows.num_cols = num_cols;
  rows.kind = kind;
  return rows;
}

// The probability of each element by the definitions of the filters, in long double. A test failure
// where a cut lies so close to a threshold that rounding decides it.
Probabilities expected_probabilities(const Source &source);

// f32 logits, at `temperature`, of these relative probabilities.
std::vector<float> logits_of(const std::vector<double> &probabilities, double temperature = 1);

// The row in the library's element type.
std::vector<unsigned char> to_bytes(const std::vector<float> &values, sampler_dtype dtype);

// How often each element is drawn by at least `num_draws` draws with one seed: output rows count
// the streams, calls count the offset.
Counts draw_counts(const Source &source, std::uint64_t num_draws, std::uint64_t seed);

// Draws with `seed`, and compares them with the expected probabilities. The number of draws is that
// for which a relative bias of `bias` of any token whose probability is `least` or more fails the
// check with chance kPower.
void expect_frequencies(const Source &source, double least, double bias, std::uint64_t seed);

// The number of draws that power asks for.
std::uint64_t draws_needed(double least, double bias, std::size_t num_tokens);

}  // namespace statistics_test

#endif  // SAMPLER_TESTS_STATISTICS_SOURCE_H_
