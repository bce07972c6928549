// A second implementation of section 13 of the contract, and of mirostat's windows of 14.2: its
// text, with the C library's fma, ldexp and sqrt, 128-bit sums and sorted lists; and exact values
// in long double. Shares no code with the library.
#ifndef SAMPLER_TESTS_ORACLE_WINDOWS_ORACLE_H_
#define SAMPLER_TESTS_ORACLE_WINDOWS_ORACLE_H_

#include <cstdint>
#include <vector>

#include "oracle.h"

namespace oracle {

// `count` tokens of one value.
struct Level {
  float value;
  std::int64_t count;
};

// ---- to the bit ----

struct WindowSums {
  std::uint64_t weight = 0;    // W
  std::uint64_t surprise = 0;  // S
};

// Sums over all levels, in rank order. Summed in 128 bits; a sum that does not fit 64 ends the
// program.
WindowSums window_sums(const std::vector<Level> &levels, bool is_logits, float temperature);
float mean_surprise_of(const WindowSums &sums);
float entropy_of(const WindowSums &sums);
float sigma_of(const std::vector<Level> &levels, bool is_logits);
float dynamic_temperature_of(const std::vector<Level> &levels, float temperature, float range,
                             float exponent);

// A window; its tokens are identified by their places, 0 .. n - 1. A stage's result is the
// ascending list of kept places.
class Window {
 public:
  using Places = std::vector<std::int64_t>;

  // `values` in rank order.
  Window(const std::vector<float> &values, bool is_logits, float temperature,
         std::int64_t min_keep);

  Places top_k(std::int64_t k, Ties ties) const;
  // `exceeds`: the kept weight must exceed the share, not only reach it.
  Places top_p(float p, Ties ties, bool exceeds) const;
  Places min_p(float p) const;
  Places epsilon(float epsilon, Ties ties) const;
  Places eta(float epsilon, Ties ties) const;
  Places top_n_sigma(float n) const;
  Places top_h(float share) const;
  Places p_less(bool is_norm) const;
  Places min_k(float tau) const;
  Places top_a(float share) const;
  Places typical_p(float p, Ties ties, bool exceeds) const;
  Places xtc(std::uint32_t word, float probability, float threshold) const;
  // `num_elements`: of the row.
  Places mirostat_v1(float mu, std::int64_t num_elements) const;
  Places mirostat_v2(float mu) const;

  const std::vector<Level> &levels() const { return levels_; }
  const WindowSums &sums() const { return sums_; }

 private:
  struct Token {
    float relative_log2;     // r
    std::uint64_t weight;    // w
    std::uint64_t surprise;  // q
  };

  std::int64_t size() const { return static_cast<std::int64_t>(tokens_.size()); }
  Places weighing(std::uint64_t least) const;
  Places cut_off(float fraction, Ties ties) const;
  // Adds the first ones of `order` if there are fewer than min_keep.
  Places finish(Places kept, const Places &order) const;

  bool is_logits_;
  float temperature_;
  std::int64_t min_keep_;
  std::vector<float> values_;
  std::vector<Token> tokens_;
  std::vector<Level> levels_;
  Places rank_order_;
  WindowSums sums_;
};

// ---- exactly ----

// In bits.
Real exact_entropy(const std::vector<Level> &levels, bool is_logits, float temperature);
// Standard deviation of the values, or of the probabilities' base-2 logarithms.
Real exact_sigma(const std::vector<Level> &levels, bool is_logits);
Real exact_dynamic_temperature(const std::vector<Level> &levels, float temperature, float range,
                               float exponent);

}  // namespace oracle

#endif  // SAMPLER_TESTS_ORACLE_WINDOWS_ORACLE_H_
