// What the library should compute, worked out a second time: sorted lists, long double sums and
// expl, and not one line shared with the library. It is slow and short on purpose.
//
// The library rounds its weights, so a cut of a filter may land one token away from the exact one
// when the exact sums pass the threshold by a hair. The oracle therefore answers with an interval:
// the exact kept count and the lowest and highest count that arithmetic within the documented error
// can produce. Everywhere else the counts must be equal.
#ifndef SAMPLER_TESTS_ORACLE_ORACLE_H_
#define SAMPLER_TESTS_ORACLE_ORACLE_H_

#include <array>
#include <cstdint>
#include <map>
#include <vector>

namespace oracle {

// 64 bits of mantissa on x86-64, 113 on aarch64; the bounds below assume no more than 64.
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
  bool top_p_exceeds = false;  // what top-p keeps must be above top_p, not only reach it
  FilterOrder filter_order = FilterOrder::kSequential;
  TemperatureOrder temperature_order = TemperatureOrder::kFirst;
};

// A kept set is always the first `count` tokens in rank order.
struct Cut {
  std::int64_t count = 0;   // in exact arithmetic
  std::int64_t lowest = 0;  // the fewest and the most tokens that the library's rounding can keep
  std::int64_t highest = 0;
  // Distance of the decision from its threshold, relative to the threshold's scale (the total
  // weight for top_p, the largest weight for min_p): how far the sums had to move to cut elsewhere.
  // Infinite where nothing is compared (top_k, a filter that is off).
  Real margin = 0;
};

struct Kept {
  RowStatus status = RowStatus::kOk;
  bool greedy = false;
  Cut top_k, top_p, min_p;  // each filter by itself, on what it saw
  Cut all;                  // all of them, in the order asked for
};

// Weights of one row at one temperature, by rank. The largest is 1 for logits, in (0.5, 1] for
// probabilities; `error` bounds the distance to the library's weight in the same unit.
struct Weights {
  std::vector<Real> weight;
  std::vector<Real> error;
  std::vector<Real> weight_sum;  // [i] = sum over the first i ranks, i = 0 .. size
  std::vector<Real> error_sum;
  std::int64_t first_inexact = 0;  // before this rank the sums are free of rounding here and there
};

// One row, sorted once. Tokens of value -inf (logits) or 0 (probabilities) are left out: they can
// be neither kept nor drawn.
class Row {
 public:
  static Row from_logits(const std::vector<float> &logits);
  static Row from_probabilities(const std::vector<float> &probabilities);
  // Pairs in any order; ids are distinct. The number of pairs takes the place of the columns.
  static Row from_candidates(const std::vector<std::int32_t> &ids,
                             const std::vector<float> &logits);
  // What selection sees of (id, value) pairs: +inf is a value like any other. Has status, size, ids
  // and values only.
  static Row for_selection(const std::vector<std::int32_t> &ids, const std::vector<float> &values,
                           bool is_logits);

  RowStatus status() const { return status_; }
  bool is_logits() const { return is_logits_; }
  std::int64_t size() const { return static_cast<std::int64_t>(ids_.size()); }
  const std::vector<std::int32_t> &ids() const { return ids_; }  // in rank order
  float value(std::int64_t rank) const { return values_[static_cast<std::size_t>(rank)]; }
  std::int64_t rank_of(std::int32_t id) const;  // -1: absent, -inf or probability 0
  // Ranks [tie_begin, tie_end) hold the tokens equal in value to the one at `rank`.
  std::int64_t tie_begin(std::int64_t rank) const {
    return tie_begin_[static_cast<std::size_t>(rank)];
  }
  std::int64_t tie_end(std::int64_t rank) const { return tie_end_[static_cast<std::size_t>(rank)]; }
  const std::vector<std::int64_t> &ranks_by_id() const { return ranks_by_id_; }

  // Not for greedy temperatures; probabilities ignore theirs. The reference lasts until the next
  // call of any member: only the last temperature and 1 are remembered.
  const Weights &weights(float temperature) const;

  // Bound of the relative error of the library's weight before its rounding to units, as softmax
  // writes it. 0 for probabilities, whose scaling is exact.
  Real relative_error(std::int64_t rank, float temperature) const;
  // How far below the maximum a logit's weight is, as a power of two: weight = 2^-distance.
  Real distance(std::int64_t rank, float temperature) const;

  Kept keep(const Filters &filters) const;

  // Probabilities of the first `kept` ranks at this temperature, which sum to 1. Greedy: one-hot.
  std::vector<Real> distribution(float temperature, std::int64_t kept) const;

  // ln of the same for one token; -inf outside the first `kept` ranks.
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
  std::uint32_t stream = 0;  // the output row where seed and offset are scalars, 0 for arrays
};

std::uint64_t word64(const Draw &draw, Purpose purpose, std::uint32_t index);
std::uint32_t word32(const Draw &draw, Purpose purpose, std::uint32_t index);

// Which token a 64-bit word draws from the first `kept` ranks by inverse CDF over ascending ids.
class DrawTable {
 public:
  DrawTable(const Row &row, float temperature, std::int64_t kept);
  // Token i weighs `weights[i]`, and `errors[i]` bounds its distance to the library's weight.
  DrawTable(const std::vector<Real> &weights, const std::vector<Real> &errors);
  std::int32_t nominal(std::uint64_t word) const;
  // Whether the library's rounded weights may lead to `id`: true for the nominal token, and for
  // a neighbour where the word lies within the weights' own error of the border between them.
  bool admits(std::uint64_t word, std::int32_t id) const;

 private:
  std::vector<std::int32_t> ids_;  // ascending
  std::vector<Real> weight_sum_;   // [i] = sum over the first i ids
  std::vector<Real> error_sum_;
};

struct GumbelCheck {
  std::int32_t nominal = -1;
  Real shortfall = 0;  // score of the best token minus score of `id`, in units of log2
  Real tolerance = 0;  // what rounding of both scores can account for
};

// Gumbel-max over the first `kept` ranks; `id` must be among them. A probability's score is its
// log2 plus the noise.
GumbelCheck check_gumbel(const Row &row, float temperature, std::int64_t kept, const Draw &draw,
                         std::int32_t id);

using Distribution = std::vector<Real>;

// The law of one chain: target rows 0 .. n, draft rows 0 .. n-1 (none: the draft is deterministic),
// draft ids 0 .. n-1. Rows are taken as given; only the rows that are drawn from are normalised.
struct SpeculativeLaw {
  std::vector<Real> pass;              // [j] = position j passes on its own
  std::vector<Real> emitted;           // [e] = exactly e drafts are kept, e = 0 .. n
  std::vector<Distribution> residual;  // [j] = token drawn after a rejection at j; [n] = bonus
  std::vector<Distribution> marginal;  // [slot][id]; the last entry is the chance of -1
};

SpeculativeLaw speculate(const std::vector<Distribution> &target,
                         const std::vector<Distribution> &draft,
                         const std::vector<std::int64_t> &draft_ids);

}  // namespace oracle

#endif  // SAMPLER_TESTS_ORACLE_ORACLE_H_
