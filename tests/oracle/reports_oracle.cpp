#include "reports_oracle.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace oracle {
namespace {

constexpr float kLn2 = 0x1.62e430p-1F;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

RankedTokens in_rank_order(const std::vector<std::int64_t> &ids, const std::vector<float> &values,
                           bool are_logits) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] > (are_logits ? -kInfinity : 0.0F)) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return values[a] != values[b] ? values[a] > values[b] : ids[a] < ids[b];
  });
  RankedTokens tokens;
  for (const std::size_t i : order) {
    tokens.ids.push_back(ids[i]);
    tokens.values.push_back(values[i]);
  }
  return tokens;
}

Reports::Reports(RankedTokens tokens, bool are_logits, float temperature)
    : tokens_(std::move(tokens)), is_greedy_(temperature <= 1e-5F) {
  row_ = {tokens_.values, are_logits, is_greedy_ ? 1.0F : temperature};
  weight_ = total_weight(row_);
  probabilities_ = probabilities_of(row_);
  for (std::size_t i = 0; i < tokens_.values.size(); ++i) {
    log2_.push_back(relative_log2(row_, i));
    levels_.push_back({tokens_.values[i], 1});
  }
}

std::int64_t Reports::rank(std::int64_t id) const {
  const auto found = std::find(tokens_.ids.begin(), tokens_.ids.end(), id);
  return found == tokens_.ids.end() ? 0 : found - tokens_.ids.begin() + 1;
}

float Reports::logprob_at(std::size_t place) const {
  if (is_greedy_) return 0;
  // Mirostat's surprise is the logarithm in bits, negated.
  return (0.0F - mirostat_observation(log2_[place], weight_)) * kLn2;
}

float Reports::logprob(std::int64_t id) const {
  const std::int64_t own = rank(id);
  return own == 0 ? -kInfinity : logprob_at(static_cast<std::size_t>(own - 1));
}

float Reports::probability_at(std::size_t place) const {
  return is_greedy_ ? 1 : probabilities_[place];
}

float Reports::entropy() const {
  if (is_greedy_) return 0;
  return entropy_of(window_sums(levels_, row_.are_logits, row_.temperature)) * kLn2;
}

}  // namespace oracle
