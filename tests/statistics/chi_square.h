// Frequencies against probabilities: Pearson's chi-square, and what it is able to find.
//
// One check of N draws is a family of tests that together fail an honest sampler with chance
// kAlpha:
//
//   - each token against all others (one degree of freedom). With probability p and a relative bias
//     b the square root of its non-centrality is b sqrt(N p / (1 - p)): this test finds a bias of a
//     single token;
//   - all tokens at once (K - 1 degrees of freedom): finds a bias that is spread over many.
//
// Tokens that are expected fewer than kFewestExpected times count as one. A token of probability 0
// must not be drawn at all.
#ifndef SAMPLER_TESTS_STATISTICS_CHI_SQUARE_H_
#define SAMPLER_TESTS_STATISTICS_CHI_SQUARE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace statistics_test {

// Chance that an honest sampler fails one check. Half is for the single tokens, evenly, half for
// all at once. Seeds are fixed, so a check that has passed once passes always.
constexpr double kAlpha = 1e-4;
// Chance with which a bias that a check claims to find is found.
constexpr double kPower = 0.99;
// Below this the statistic is not near its limiting distribution.
constexpr double kFewestExpected = 25;

using Counts = std::vector<std::uint64_t>;
using Probabilities = std::vector<long double>;

// P(X > x) for X chi-square distributed.
double chi_square_tail(double x, double degrees_of_freedom);

// The x that a standard normal variable exceeds with this chance, in (0, 1/2].
double normal_quantile(double upper_tail);

// "" where the counts pass as draws from these probabilities, else what is wrong with them.
std::string frequency_fault(const Counts &counts, const Probabilities &probabilities);

// Chance that the check of `num_draws` draws fails when one of `num_tokens` tokens has probability
// (1 + bias) p instead of p, by this token's own test alone.
double power_against_bias(double num_draws, double p, double bias, std::size_t num_tokens);

// Chance that the check of `num_pairs` pairs of independent draws, as num_cells joint outcomes,
// fails when they are correlated: the non-centrality is num_pairs correlation^2.
double power_against_correlation(double num_pairs, double correlation, std::size_t num_cells);

// Joint probabilities of two independent draws; entry i * size + j is outcome (i, j).
Probabilities pair_probabilities(const Probabilities &first, const Probabilities &second);

}  // namespace statistics_test

#endif  // SAMPLER_TESTS_STATISTICS_CHI_SQUARE_H_
