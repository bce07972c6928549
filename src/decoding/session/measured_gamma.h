// The number of drafts of a round from their measured cost and gain: docs/decoding.md has the rule
// and its bounds.
#pragma once

#include <cstdint>

#include "abi/entry.h"
#include "sampler/decoding.h"

namespace sampler::decoding {

// Detects outliers: steps that are long by accident, at most one in kAccidentGap.
class Accidents {
 public:
  bool is_one(double cost, double believed);

 private:
  int num_steps_ = 0;  // until the next may be one
};

// Cost of a step by its number of rows, in nanoseconds: a mean over the last measured steps.
class CostCurve {
 public:
  // Adds a step. Returns its believed cost, less than `cost` after an accident.
  double add(int64_t rows, double cost);
  bool is_known() const { return at_or_above(0) != nullptr; }
  // Linear extrapolation beyond what was measured. Between two points: the line from below if it is
  // the lower one, because what looks dearer than it is would never be measured.
  double at(double rows) const;
  // Upper bound for what was not measured: each further row costs what those before it did.
  double at_most(double rows) const;
  // Lower bound: further rows are free. Infinite where measured.
  double hoped(int64_t rows) const;

 private:
  struct Point {
    double rows = 0;  // of the last step
    double cost = 0;
    Accidents accidents;
  };
  // One point per number of rows up to 16, then 8 per doubling.
  static constexpr int kNumPoints = 16 + 8 * 44;
  static constexpr int kNumWords = (kNumPoints + 63) / 64;
  static int place_of(int64_t rows);
  // The nearest known point from a place on; null if there is none.
  const Point *at_or_below(int place) const;
  const Point *at_or_above(int place) const;

  Point points_[kNumPoints];
  uint64_t known_[kNumWords] = {};  // one bit per point
};

// Acceptance rate by position: the share of texts that pass it, of those that reached it.
class Passing {
 public:
  static constexpr int kNumPlaces = 16;  // the last is for all positions after it, too

  // Counts of a round.
  struct Counts {
    double passed[kNumPlaces] = {}, tried[kNumPlaces] = {};
    void add(int64_t num_passed, int64_t num_tried);
  };

  // `first` is the rate until there are counts.
  explicit Passing(double first) : all_{kFirstWeight * first, kFirstWeight} {}
  void add(const Counts &counts);
  double share(int64_t position) const;

 private:
  static constexpr double kFirstWeight = 4;
  struct Share {
    double passed = 0, tried = 0;
    void add(double num_passed, double num_tried);
  };
  Share places_[kNumPlaces];
  Share all_;
};

// The size of a round. A position is a draft of a text or, in a tree, all drafts of a depth.
struct RoundTexts {
  int64_t num_texts = 0;
  int64_t num_rows = 0;       // of one position of each text
  int64_t num_positions = 0;  // the most of any text
  // Tokens that the drafter has not read, and those of prompts among them.
  int64_t num_unread = 0, num_unread_prompt = 0;

  void add(int64_t rows, int64_t positions, int64_t unread, int64_t unread_prompt);
};

// A verified round.
struct MeasuredRound {
  int64_t num_texts = 0;
  int64_t num_wanted = 0;  // positions to draft, the most of any text
  int64_t depth = 0;       // drafted positions, the most of any text
  int64_t num_rows = 0;    // of the target
  int64_t num_kept = 0;
  Passing::Counts drafted, kept;

  // Adds a text that got drafts for `depth` of `wanted` positions.
  void add(int64_t wanted, int64_t depth, int64_t rows, int64_t num_kept, bool runs);
};

// The yardstick is plain decoding: `credit_` is the time that rounds saved against decoding their
// tokens without drafts, plus a small share of that time. The drafts of a round never cost more
// than the credit, even if none is accepted.
class MeasuredGamma {
 public:
  // `clock` null: the system's monotonic clock.
  MeasuredGamma(sampler_clock_fn clock, void *clock_user)
      : clock_(clock), clock_user_(clock_user) {}

  // Number of positions of the next round. `is_timed`: the round will be measured.
  int64_t choose(const RoundTexts &texts, bool is_timed);

  // Called before the drafts, after them, and after the target has verified them.
  void start(abi::Entry *entry) { start_ = now(entry); }
  void mark_drafted(abi::Entry *entry) { drafted_ = now(entry); }
  void finish(abi::Entry *entry, const MeasuredRound &round);
  // For a round verified beside other work: it is charged its believed cost.
  void finish_untimed(const MeasuredRound &round);

 private:
  int64_t now(abi::Entry *entry) const;
  double expected_tokens(int64_t gamma) const;
  double cost(int64_t gamma) const;
  double plain() const { return target_.at(double(texts_.num_texts)); }
  int64_t charged_unread() const;
  double read_cost() const { return read_share_ * drafter_.at(double(texts_.num_texts)); }
  double most_loss(int64_t gamma) const;
  bool is_affordable(int64_t gamma) const { return most_loss(gamma) <= credit_; }
  int64_t best(int64_t least) const;
  int64_t pick(bool is_timed);
  int64_t turn(int64_t gamma);
  int64_t probe();
  int64_t hoped() const;
  void learn_reading(double reading);
  double learn_drafts(const MeasuredRound &round, double drafting);
  void learn(const MeasuredRound &round);
  void settle(const MeasuredRound &round, double cost);

  const sampler_clock_fn clock_;
  void *const clock_user_;
  int64_t start_ = 0, drafted_ = 0;
  RoundTexts texts_;
  bool is_paying_ = true;  // drafts do, as far as is known
  CostCurve target_;       // a forward and its verification, by rows
  CostCurve drafter_;      // a position of each text, by texts
  // Cost of reading a token that was not fed as it came, in drafts, and for how many such tokens it
  // is known. Many cost more than one, but less each.
  double read_share_ = 0;
  int64_t num_read_ = 0;
  double first_drafting_ = 0;
  bool waits_to_read_ = false;
  Accidents readings_;
  Passing kept_{0.7}, drafts_{1};
  double credit_ = 0;
  double turn_credit_ = 0;  // likewise, of drafts that pay against other numbers
  int64_t num_rounds_ = 0;
  int num_drafted_rounds_ = 0;
  int64_t num_since_ = 0, gap_ = 8;  // rounds since a probe or turn, and to the next probe
  int turn_ = 0;
  // Remaining rounds of a probe. The first finds the drafter's memory and caches cold.
  int burst_left_ = 2;
  int64_t burst_gamma_ = 1;
  bool is_probe_ = false;
};

}  // namespace sampler::decoding
