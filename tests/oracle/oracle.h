// The oracle: a second implementation of the library's results, with sorted lists, long double sums
// and expl. Shares no code with the library. Slow and short on purpose.
//
// The library rounds its weights, so a filter may cut one token away from the exact cut where the
// exact sums are close to the threshold. The oracle therefore gives an interval: the exact kept
// count, and the lowest and highest count within the documented error. Elsewhere counts must be
// equal.
#ifndef SAMPLER_TESTS_ORACLE_ORACLE_H_
#define SAMPLER_TESTS_ORACLE_ORACLE_H_

#include <array>
#include <cstdint>
#include <map>
#include <vector>

namespace oracle {

// 64 bits of mantissa on x86-64, 113 on aarch64; the bounds below assume 64.
using Real = long double;

// Exact widening, and rounding to nearest even (overflow gives infinity, a NaN the quiet NaN).
float f16_to_f32(std::uint16_t bits);
float bf16_to_f32(std::uint16_t bits);
std::uint16_t f32_to_f16(float value);
std::uint16_t f32_to_bf16(float value);

enum class RowStatus { kOk, kInvalid, kEmpty };
enum class Ties { kExact, kKeep };
enum class FilterOrder { kSequential, kJoint, kMinPFirst };
enum class TemperatureOrder { kFirst, kLast };

struct Filters {
  // At most 1e-5: greedy; above 2^64: a bad row. Probabilities take 1 or greedy only.
  float temperature = 1.0F;
  std::int64_t top_k = 0;  // at most 0, or at least the number of columns: off
  float top_p = 1.0F;      // at least 1: off; at most 0: keeps one token
  float min_p = 0.0F;      // at most 0: off; above 1: counts as 1
  Ties top_k_ties = Ties::kExact;
  Ties top_p_ties = Ties::kExact;
  bool top_p_exceeds = false;  // the kept probability must exceed top_p, not only reach it
  FilterOrder filter_order = FilterOrder::kSequential;
  TemperatureOrder temperature_order = TemperatureOrder::kFirst;
};

// A kept set is always the first `count` tokens in rank order.
struct Cut {
  std::int64_t count = 0;   // in exact arithmetic
  std::int64_t lowest = 0;  // fewest and most tokens that the library's rounding can keep
  std::int64_t highest = 0;
  // Distance of the decision from its threshold, relative to the threshold's scale (the total
  // weight for top_p, the largest weight for min_p): the error of the sums that would move the cut.
  // Infinite if nothing is compared (top_k, a filter that is off).
  Real margin = 0;
};

struct Kept {
  RowStatus status = RowStatus::kOk;
  bool greedy = false;
  Cut top_k, top_p, min_p;  // each filter alone, on its input
  Cut all;                  // all filters, in the given order
};

// Weights of a row at one temperature, by rank. The largest is 1 for logits, in (0.5, 1] for
// probabilities; `error` bounds the difference from the library's weight.
struct Weights {
  std::vector<Real> weight;
  std::vector<Real> error;
  std::vector<Real> weight_sum;  // [i] = sum over the first i ranks, i = 0 .. size
  std::vector<Real> error_sum;
  std::int64_t first_inexact = 0;  // before this rank neither sum is rounded
};

// A row, sorted once. Tokens of value -inf (logits) or 0 (probabilities) are left out: they are
// neither kept nor drawn.
class Row {
 public:
  static Row from_logits(const std::vector<float> &logits);
  static Row from_probabilities(const std::vector<float> &probabilities);
  // Pairs in any order, with distinct ids. Their number replaces that of the columns.
  static Row from_candidates(const std::vector<std::int32_t> &ids,
                             const std::vector<float> &logits);
  // The pairs as sampler_select sees them: +inf is an ordinary value. Has status, size, ids and
  // values only.
  static Row for_selection(const std::vector<std::int32_t> &ids, const std::vector<float> &values,
                           bool is_logits);

  RowStatus status() const { return status_; }
  bool is_logits() const { return is_logits_; }
  std::int64_t size() const { return static_cast<std::int64_t>(ids_.size()); }
  const std::vector<std::int32_t> &ids() const { return ids_; }  // in rank order
  float value(std::int64_t rank) const { return values_[static_cast<std::size_t>(rank)]; }
  std::int64_t rank_of(std::int32_t id) const;  // -1: absent, -inf or probability 0
  // Ranks [tie_begin, tie_end) have the value of the token at `rank`.
  std::int64_t tie_begin(std::int64_t rank) const {
    return tie_begin_[static_cast<std::size_t>(rank)];
  }
  std::int64_t tie_end(std::int64_t rank) const { return tie_end_[static_cast<std::size_t>(rank)]; }
  const std::vector<std::int64_t> &ranks_by_id() const { return ranks_by_id_; }

  // Not for greedy temperatures; probabilities ignore the temperature. The reference is valid until
  // the next call of any member: only the last temperature and 1 are cached.
  const Weights &weights(float temperature) const;

  // Bound of the relative error of the library's weight before it is rounded to units, as softmax
  // writes it. 0 for probabilities, which are scaled exactly.
  Real relative_error(std::int64_t rank, float temperature) const;
  // A logit's weight is 2^-distance of the maximum's.
  Real distance(std::int64_t rank, float temperature) const;

  Kept keep(const Filters &filters) const;

  // Probabilities of the first `kept` ranks, with sum 1. Greedy: one-hot.
  std::vector<Real> distribution(float temperature, std::int64_t kept) const;

  // ln of a token's probability; -inf outside the first `kept` ranks.
  Real logprob(std::int32_t id, float temperature, std::int64_t kept) const;

 private:
  Row() = default;
  void sort_and_index(bool ids_ascend);
  void weigh_logits(float temperature, Weights *out) const;
  void weigh_probabilities(Weights *out) const;
  void finish_weights(Weights *out) const;

  Cut apply_top_k(const Cut &input, std::int64_t k, Ties ties) const;
  Cut apply_top_p(const Weights &weights, const Cut &input, const Filters &filters) const;
  Cut cut_top_p(const Weights &weights, std::int64_t size, const Filters &filters) const;
  Cut cut_min_p(const Weights &weights, float p) const;
  std::int64_t extend_over_ties(std::int64_t count, std::int64_t size, Ties ties) const;

  bool is_logits_ = true;
  RowStatus status_ = RowStatus::kOk;
  std::int64_t columns_ = 0;
  std::vector<std::int32_t> ids_;
  std::vector<float> values_;
  std::vector<std::int64_t> tie_begin_, tie_end_;
  std::vector<std::int64_t> ranks_by_id_;  // ascending id
  mutable std::map<float, Weights> weights_;
};

// Philox4x32-10 (Salmon et al., 2011).
std::array<std::uint32_t, 4> philox(const std::array<std::uint32_t, 4> &counter,
                                    const std::array<std::uint32_t, 2> &key);

enum Purpose : std::uint32_t {
  kSample = 0,
  kAccept = 1,
  kResidual = 2,
  kBonus = 3,
  kDraft = 4,
  kGumbel = 5
};

struct Draw {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
  std::uint32_t stream = 0;  // the output row if seed and offset are scalars, 0 for arrays
};

std::uint64_t word64(const Draw &draw, Purpose purpose, std::uint32_t index);
std::uint32_t word32(const Draw &draw, Purpose purpose, std::uint32_t index);

// The token that a 64-bit word draws from the first `kept` ranks, by inverse CDF over ascending
// ids.
class DrawTable {
 public:
  DrawTable(const Row &row, float temperature, std::int64_t kept);
  // Token i has weight weights[i]; errors[i] bounds the difference from the library's weight.
  DrawTable(const std::vector<Real> &weights, const std::vector<Real> &errors);
  std::int32_t nominal(std::uint64_t word) const;
  // Whether the library's rounded weights may give `id`: true for the nominal token, and for a
  // neighbour if the word is within the weights' error of the boundary between them.
  bool admits(std::uint64_t word, std::int32_t id) const;

 private:
  std::vector<std::int32_t> ids_;  // ascending
  std::vector<Real> weight_sum_;   // [i] = sum over the first i ids
  std::vector<Real> error_sum_;
};

struct GumbelCheck {
  std::int32_t nominal = -1;
  Real shortfall = 0;  // score of the best token minus score of `id`, in units of log2
  Real tolerance = 0;  // bound of the rounding errors of both scores
};

// Gumbel-max over the first `kept` ranks, which must include `id`. A probability's score is its
// log2 plus the noise.
GumbelCheck check_gumbel(const Row &row, float temperature, std::int64_t kept, const Draw &draw,
                         std::int32_t id);

using Distribution = std::vector<Real>;

// The distribution of one chain: target rows 0 .. n, draft rows 0 .. n-1 (none: deterministic
// drafts), draft ids 0 .. n-1. Rows are used as given; only those drawn from are normalised.
struct SpeculativeLaw {
  std::vector<Real> pass;              // [j] = acceptance probability at position j
  std::vector<Real> emitted;           // [e] = exactly e drafts are accepted, e = 0 .. n
  std::vector<Distribution> residual;  // [j] = token drawn after a rejection at j; [n] = bonus
  std::vector<Distribution> marginal;  // [slot][id]; the last entry is that of -1
};

SpeculativeLaw speculate(const std::vector<Distribution> &target,
                         const std::vector<Distribution> &draft,
                         const std::vector<std::int64_t> &draft_ids);

}  // namespace oracle

#endif  // SAMPLER_TESTS_ORACLE_ORACLE_H_
