// What tokens are drawn from in these tests: one row with its parameters, the probabilities that
// follow from them, and counts of what the library draws.
#ifndef SAMPLER_TESTS_STATISTICS_SOURCE_H_
#define SAMPLER_TESTS_STATISTICS_SOURCE_H_

#include <sampler/sampler.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "chi_square.h"

namespace statistics_test {

struct DestroySampler {
  void operator()(sampler_t sampler) const { sampler_destroy(sampler); }
};
using SamplerPtr = std::unique_ptr<struct sampler_handle, DestroySampler>;

// A CPU handle that works on the caller's thread.
SamplerPtr make_sampler(std::int64_t max_rows, std::int64_t max_cols);

struct Source {
  std::vector<float> values;  // exactly representable in dtype
  sampler_dtype dtype = SAMPLER_F32;
  sampler_input_kind kind = SAMPLER_LOGITS;
  std::vector<std::int32_t> candidate_ids;  // empty: an element's id is its column
  float temperature = 1.0f;
  std::int32_t top_k = 0;
  float top_p = 1.0f;
  float min_p = 0.0f;
  sampler_tie_rule ties = SAMPLER_TIES_EXACT;  // of top-k and top-p
  sampler_filter_order filter_order = SAMPLER_FILTERS_SEQUENTIAL;
  sampler_temperature_order temperature_order = SAMPLER_TEMPERATURE_FIRST;
  sampler_draw_method draw_method = SAMPLER_DRAW_INVERSE_CDF;
};

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
