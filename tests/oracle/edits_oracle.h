// A second implementation of edits and adaptive stages, section 14 of docs/contract.md: searches of
// the whole history, single f32 operations by way of f64 and, besides the bits, exact arithmetic
// for what is rounded. Shares no code with the library.
#ifndef SAMPLER_TESTS_ORACLE_EDITS_ORACLE_H_
#define SAMPLER_TESTS_ORACLE_EDITS_ORACLE_H_

#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace oracle {

using Real = long double;
using Text = std::vector<std::int64_t>;  // the oldest token first

// ---- edits ----

enum class Form { kDivide, kReciprocal, kCountsFirst };

float with_guidance(float x, float other, float scale);
float with_biases(float x, const std::vector<float> &biases);

// Counts of 0: unchanged.
float with_penalties(float x, std::int64_t repetition_count, std::int64_t count, float repetition,
                     float frequency, float presence, Form form);

// A stop token's logit at the n-th token of an exponential decay.
float with_decay(float x, float factor, std::int64_t n);

float dry_power(float base, std::int32_t n);
Real exact_dry_power(float base, std::int32_t n);  // not limited to the largest f32
float with_repeat(float x, float multiplier, float base, std::int32_t n);

std::int32_t dry_limit(const Text &context, const std::vector<Text> &breakers);

// n of each token that DRY edits, from comparing the context with itself at every distance.
std::map<std::int64_t, std::int32_t> dry_lengths(const Text &context,
                                                 const std::vector<Text> &breakers,
                                                 std::int32_t allowed_length);

std::set<std::int64_t> ngram_bans(const Text &history, std::int32_t size);
std::set<std::int64_t> word_bans(const Text &history, const std::vector<Text> &words);

// The ids in [0, num_ids) that the bitmask allows.
std::set<std::int64_t> allowed_by_bitmask(const std::vector<std::uint32_t> &words,
                                          std::int64_t num_ids, bool others_are_banned);

// The tokens of a history that are counted.
Text counted_tokens(const Text &history, std::int64_t prompt_length, std::int32_t window,
                    bool output_only);

// ---- adaptive stages ----

// Tokens in rank order: logits at a temperature, or probabilities (`temperature` is 1).
struct Ranked {
  std::vector<float> values;
  bool are_logits;
  float temperature;
};

// The contract's bits, and exact values.
std::vector<std::uint64_t> weights_of(const Ranked &row);
std::uint64_t total_weight(const Ranked &row);
std::vector<float> probabilities_of(const Ranked &row);  // section 9
float relative_log2(const Ranked &row, std::size_t rank);
Real exact_log2(const Ranked &row, std::size_t rank);  // of the share of the row's sum

float mirostat_slope(const Ranked &row);
Real exact_mirostat_slope(const Ranked &row);
std::int32_t mirostat_k(float slope, float mu, std::int64_t num_elements, std::int64_t num_seen);
Real exact_mirostat_log2_k(Real slope, float mu, std::int64_t num_elements);

std::uint64_t mirostat_threshold(float mu, std::uint64_t total);
float mirostat_observation(float log2_relative, std::uint64_t kept_weight);
float mirostat_moved(float mu, float observation, float target, float rate);

struct AdaptiveSums {
  float sum, weight;
};
AdaptiveSums adaptive_p_start(float target, float decay);
AdaptiveSums adaptive_p_moved(AdaptiveSums sums, float observation, float decay);

// The probabilities p that the stage sees, and the logits that it makes.
std::vector<float> adaptive_p_probabilities(const Ranked &row);
std::vector<float> adaptive_p_logits(const Ranked &row, AdaptiveSums sums, float target);
// The new distribution, normalised, from the exact softmax.
std::vector<Real> exact_adaptive_p(const Ranked &row, AdaptiveSums sums, float target);

// The logits that smoothing makes, and its exact distribution.
std::vector<float> smoothed_logits(const Ranked &row, float factor, float curve);
std::vector<Real> exact_smoothing(const Ranked &row, float factor, float curve);

// 2^y for y <= 0, and the weight of a relative probability.
float relative_of_log2(float y);
std::uint64_t weight_of_relative(float e);

float top_p_moved(float running, float top_p, float factor, float least, bool is_reset_token);

}  // namespace oracle

#endif  // SAMPLER_TESTS_ORACLE_EDITS_ORACLE_H_
