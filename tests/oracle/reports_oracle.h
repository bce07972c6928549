// A second implementation of section 15 of docs/contract.md, to the bit: reports of a
// distribution's tokens. Shares no code with the library.
#ifndef SAMPLER_TESTS_ORACLE_REPORTS_ORACLE_H_
#define SAMPLER_TESTS_ORACLE_REPORTS_ORACLE_H_

#include <cstdint>
#include <vector>

#include "edits_oracle.h"
#include "windows_oracle.h"

namespace oracle {

// The tokens of a row with nonzero probability, in rank order, with any ids.
struct RankedTokens {
  std::vector<std::int64_t> ids;
  std::vector<float> values;
};
RankedTokens in_rank_order(const std::vector<std::int64_t> &ids, const std::vector<float> &values,
                           bool are_logits);

// Reports of all these tokens, at least one. `temperature` is 1 for probabilities; a greedy one has
// a single token.
class Reports {
 public:
  Reports(RankedTokens tokens, bool are_logits, float temperature);

  const RankedTokens &tokens() const { return tokens_; }
  // Rank from 1; 0 for other ids.
  std::int64_t rank(std::int64_t id) const;
  // By rank from 0; -inf for other ids.
  float logprob_at(std::size_t place) const;
  float logprob(std::int64_t id) const;
  float probability_at(std::size_t place) const;
  float entropy() const;

 private:
  RankedTokens tokens_;
  std::vector<float> log2_;  // relative, by token
  std::vector<Level> levels_;
  Ranked row_;
  bool is_greedy_ = false;
  std::uint64_t weight_ = 0;
  std::vector<float> probabilities_;
};

}  // namespace oracle

#endif  // SAMPLER_TESTS_ORACLE_REPORTS_ORACLE_H_
