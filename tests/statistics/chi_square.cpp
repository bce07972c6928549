#include "chi_square.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <sstream>

namespace statistics_test {
namespace {

double normal_tail(double x) {
  return 0.5 * std::erfc(x / std::sqrt(2.0));
}

// P(a, x) as a power series; converges well for x < a + 1.
double lower_gamma_series(double a, double x) {
  double term = 1 / a, sum = term;
  for (double n = a + 1; term > sum * std::numeric_limits<double>::epsilon(); ++n) {
    term *= x / n;
    sum += term;
  }
  return sum * std::exp(-x + a * std::log(x) - std::lgamma(a));
}

// Q(a, x) as a continued fraction (Lentz); converges well for x > a + 1.
double upper_gamma_fraction(double a, double x) {
  constexpr double kTiny = 1e-300;
  double b = x + 1 - a, c = 1 / kTiny, d = 1 / b, value = d, factor = 0;
  for (int i = 1; std::fabs(factor - 1) > 1e-14; ++i) {
    const double numerator = -i * (i - a);
    b += 2;
    d = 1 / (numerator * d + b);
    c = b + numerator / c;
    factor = d * c;
    value *= factor;
  }
  return value * std::exp(-x + a * std::log(x) - std::lgamma(a));
}

// Half of kAlpha, spread over the tokens' own tests.
double token_alpha(std::size_t num_tokens) {
  return kAlpha / 2 / static_cast<double>(num_tokens);
}

// The x that a chi-square variable exceeds with this chance.
double chi_square_quantile(double tail, double degrees_of_freedom) {
  double low = 0, high = 10 * degrees_of_freedom + 1000;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (chi_square_tail(middle, degrees_of_freedom) > tail ? low : high) = middle;
  }
  return low;
}

struct Cell {
  std::string name;
  double count = 0;
  double probability = 0;
};

// One cell per token; the rare ones share the first.
std::vector<Cell> make_cells(const Counts &counts, const Probabilities &probabilities,
                             double num_draws) {
  std::vector<Cell> cells = {{"the rare tokens", 0, 0}};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double p = static_cast<double>(probabilities[i]);
    const double count = static_cast<double>(counts[i]);
    if (num_draws * p < kFewestExpected) {
      cells[0].count += count;
      cells[0].probability += p;
    } else {
      cells.push_back({"token " + std::to_string(i), count, p});
    }
  }
  return cells;
}

std::string describe(const Cell &cell, double num_draws, double z) {
  std::ostringstream text;
  text.precision(10);
  text << cell.name << " was drawn " << cell.count << " times of " << num_draws << ", expected "
       << num_draws * cell.probability << ": " << z << " standard deviations";
  return text.str();
}

// (count - expected) / standard deviation.
double deviation(const Cell &cell, double num_draws) {
  const double expected = num_draws * cell.probability;
  return (cell.count - expected) / std::sqrt(expected * (1 - cell.probability));
}

}  // namespace

double chi_square_tail(double x, double degrees_of_freedom) {
  const double a = degrees_of_freedom / 2, half = x / 2;
  if (half <= 0) return 1;
  return half < a + 1 ? 1 - lower_gamma_series(a, half) : upper_gamma_fraction(a, half);
}

double normal_quantile(double upper_tail) {
  double low = 0, high = 40;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (normal_tail(middle) > upper_tail ? low : high) = middle;
  }
  return low;
}

std::string frequency_fault(const Counts &counts, const Probabilities &probabilities) {
  if (counts.size() != probabilities.size()) return "counts and probabilities differ in length";
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (probabilities[i] == 0 && counts[i] != 0) {
      return "token " + std::to_string(i) + " of probability 0 was drawn " +
             std::to_string(counts[i]) + " times";
    }
  }
  const double num_draws =
      static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
  const std::vector<Cell> cells = make_cells(counts, probabilities, num_draws);

  double statistic = 0;
  std::size_t num_used = 0;
  for (const Cell &cell : cells) num_used += num_draws * cell.probability >= kFewestExpected;
  if (num_used < 2) return "too few draws, or one token only: nothing to compare";
  const double bound = normal_quantile(token_alpha(num_used) / 2);
  for (const Cell &cell : cells) {
    const double expected = num_draws * cell.probability;
    if (expected < kFewestExpected) {
      // What is left of rare tokens is too little for a statistic; a bound on it is enough. Poisson
      // variables below 25 exceed this with a chance under 1e-7.
      if (cell.count > expected + 7 * std::sqrt(kFewestExpected)) {
        return describe(cell, num_draws, deviation(cell, num_draws));
      }
      continue;
    }
    const double z = deviation(cell, num_draws);
    if (std::fabs(z) > bound) return describe(cell, num_draws, z);
    statistic += (cell.count - expected) * (cell.count - expected) / expected;
  }
  const double tail = chi_square_tail(statistic, static_cast<double>(num_used - 1));
  if (tail >= kAlpha / 2) return "";
  std::ostringstream text;
  text << "chi-square " << statistic << " of " << num_used
       << " cells; an honest sampler exceeds it "
       << "with chance " << tail;
  return text.str();
}

double power_against_bias(double num_draws, double p, double bias, std::size_t num_tokens) {
  const double biased = p * (1 + bias);
  const double shift = std::fabs(bias) * std::sqrt(num_draws * p / (1 - p));
  // The biased count's own standard deviation, in units of the expected one.
  const double spread = std::sqrt(biased * (1 - biased) / (p * (1 - p)));
  return normal_tail((normal_quantile(token_alpha(num_tokens) / 2) - shift) / spread);
}

double power_against_correlation(double num_pairs, double correlation, std::size_t num_cells) {
  const double freedom = static_cast<double>(num_cells - 1);
  const double non_centrality = num_pairs * correlation * correlation;
  // A non-central chi-square variable of such non-centrality is nearly normal.
  const double mean = freedom + non_centrality;
  const double deviation = std::sqrt(2 * (freedom + 2 * non_centrality));
  return normal_tail((chi_square_quantile(kAlpha / 2, freedom) - mean) / deviation);
}

Probabilities pair_probabilities(const Probabilities &first, const Probabilities &second) {
  Probabilities joint;
  for (const long double p : first) {
    for (const long double q : second) joint.push_back(p * q);
  }
  return joint;
}

}  // namespace statistics_test
