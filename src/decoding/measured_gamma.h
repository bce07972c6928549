// How many drafts a round gets when the loop measures what they cost and gain: docs/decoding.md has
// the formula.
#pragma once

#include <cstdint>

#include "capi/entry.h"
#include "sampler/decoding.h"

namespace sampler::decoding {

// What a step costs by its number of rows, in nanoseconds: a mean over the last steps where it was
// measured, linear between and beyond.
class CostCurve {
 public:
  void add(int64_t rows, double cost);
  bool is_known() const { return num_known_ > 0; }
  double at(int64_t rows) const;

 private:
  struct Point {
    double rows = 0;  // of the last step
    double cost = 0;
    bool is_known = false;
  };
  // Up to 16 rows a point each, then 8 to each doubling.
  static constexpr int kNumPoints = 16 + 8 * 44;
  static int place_of(int64_t rows);

  Point points_[kNumPoints];
  int num_known_ = 0;
};

// A round that has been verified.
struct MeasuredRound {
  int64_t num_texts;
  int64_t depth;     // drafts of the text with most of them
  int64_t num_rows;  // of the target: all drafts, and one more a text
  int64_t num_examined;
  int64_t num_kept;
};

// Plain decoding is the yardstick: `credit_` is the time that rounds saved against decoding their
// tokens without drafts, and a small share of that time. It pays for rounds that may lose.
class MeasuredGamma {
 public:
  // `clock` null: the system's monotonic clock.
  MeasuredGamma(int64_t gamma_max, sampler_clock_fn clock, void *clock_user)
      : gamma_max_(gamma_max), clock_(clock), clock_user_(clock_user) {}

  // For a round of this many texts.
  int64_t choose(int64_t num_texts);

  // Around the drafts, and when the target has verified them.
  void start(capi::Entry *entry) { start_ = now(entry); }
  void mark_drafted(capi::Entry *entry) { drafted_ = now(entry); }
  void finish(capi::Entry *entry, const MeasuredRound &round);

 private:
  int64_t now(capi::Entry *entry) const;
  double expected_tokens(int64_t gamma) const;
  double cost(int64_t num_texts, int64_t gamma) const;
  double loss(int64_t num_texts, int64_t gamma) const;
  int64_t best(int64_t num_texts, int64_t least) const;
  int64_t probe(int64_t num_texts);
  void learn_drafts(const MeasuredRound &round, double drafting);

  const int64_t gamma_max_;
  const sampler_clock_fn clock_;
  void *const clock_user_;
  int64_t start_ = 0, drafted_ = 0;
  CostCurve target_;   // a forward and its verification, by rows
  CostCurve drafter_;  // a draft of each text, by texts
  double acceptance_ = 0.7;
  double credit_ = 0;
  double read_cost_ = 0;    // of the drafter, for a token that it was not fed as it came
  int64_t num_unread_ = 0;  // such tokens
  int64_t num_rounds_ = 0;
  int num_drafted_rounds_ = 0;
  int64_t num_since_probe_ = 0, gap_ = 8;
  int64_t explored_ = 1;
  int turn_ = 0;
  bool is_probe_ = false;
  // Rounds that a probe still has: the first finds the drafter's memory and caches cold.
  int burst_left_ = 2;
  int64_t burst_gamma_ = 1;
};

}  // namespace sampler::decoding
