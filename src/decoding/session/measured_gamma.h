// How many drafts a round gets when the loop measures what they cost and gain: docs/decoding.md has
// the rule and its bounds.
#pragma once

#include <cstdint>

#include "capi/entry.h"
#include "sampler/decoding.h"

namespace sampler::decoding {

// Tells steps that are long by accident: one of them in so many.
class Accidents {
 public:
  bool is_one(double cost, double believed);

 private:
  int num_steps_ = 0;  // that have to come before the next one
};

// What a step costs by its number of rows, in nanoseconds: a mean over the last steps where it was
// measured.
class CostCurve {
 public:
  // The result: what is believed of this step, less than `cost` after an accident.
  double add(int64_t rows, double cost);
  bool is_known() const { return at_or_above(0) != nullptr; }
  // Linear beyond what was measured; between two numbers of rows the line from below, if it is the
  // lower one: what looks dearer than it is would never be measured.
  double at(double rows) const;
  // Of what was not measured: as if each further row cost what those before it did.
  double at_most(double rows) const;
  // And as if it cost nothing. Of what was measured: infinite.
  double hoped(int64_t rows) const;

 private:
  struct Point {
    double rows = 0;  // of the last step
    double cost = 0;
    Accidents accidents;
  };
  // Up to 16 rows a point each, then 8 to each doubling.
  static constexpr int kNumPoints = 16 + 8 * 44;
  static constexpr int kNumWords = (kNumPoints + 63) / 64;
  static int place_of(int64_t rows);
  // The nearest known point from a place on. Null: there is none.
  const Point *at_or_below(int place) const;
  const Point *at_or_above(int place) const;

  Point points_[kNumPoints];
  uint64_t known_[kNumWords] = {};  // a bit a point
};

// How far texts get: of those that passed all positions before one, the share that passes it.
class Passing {
 public:
  static constexpr int kNumPlaces = 16;  // the last is of all positions behind it, too

  // Of a round.
  struct Counts {
    double passed[kNumPlaces] = {}, tried[kNumPlaces] = {};
    void add(int64_t num_passed, int64_t num_tried);
  };

  // `first` is believed until there are counts.
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

// What a round will be of. A position is a draft of a text, or of a tree all drafts of a depth.
struct RoundTexts {
  int64_t num_texts = 0;
  int64_t num_rows = 0;       // of a position of each
  int64_t num_positions = 0;  // at most, of the text that may have most
  // That the drafter lacks, and those of them that are of prompts.
  int64_t num_unread = 0, num_unread_prompt = 0;

  void add(int64_t rows, int64_t positions, int64_t unread, int64_t unread_prompt);
};

// A round that has been verified.
struct MeasuredRound {
  int64_t num_texts = 0;
  int64_t num_wanted = 0;  // positions that drafts were wanted for, of the text with most of them
  int64_t depth = 0;       // positions that got drafts, likewise
  int64_t num_rows = 0;    // of the target
  int64_t num_kept = 0;
  Passing::Counts drafted, kept;

  // A text, for `wanted` positions of which `depth` got drafts.
  void add(int64_t wanted, int64_t depth, int64_t rows, int64_t num_kept, bool runs);
};

// Plain decoding is the yardstick: `credit_` is the time that rounds saved against decoding their
// tokens without drafts, and a small share of that time. No round has drafts that, if none is kept,
// cost more than there is.
class MeasuredGamma {
 public:
  // `clock` null: the system's monotonic clock.
  MeasuredGamma(sampler_clock_fn clock, void *clock_user)
      : clock_(clock), clock_user_(clock_user) {}

  // Positions of the next round. `is_timed`: it will be measured.
  int64_t choose(const RoundTexts &texts, bool is_timed);

  // Around the drafts, and when the target has verified them.
  void start(capi::Entry *entry) { start_ = now(entry); }
  void mark_drafted(capi::Entry *entry) { drafted_ = now(entry); }
  void finish(capi::Entry *entry, const MeasuredRound &round);
  // Of what was verified beside others: it costs what is believed.
  void finish_untimed(const MeasuredRound &round);

 private:
  int64_t now(capi::Entry *entry) const;
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
  bool is_paying_ = true;  // drafts, as far as is believed
  CostCurve target_;       // a forward and its verification, by rows
  CostCurve drafter_;      // a position of each text, by texts
  // What the drafter takes for a token that it was not fed as it came, in drafts, and of how many
  // of them it is known. Many are dearer than one, but each is cheaper.
  double read_share_ = 0;
  int64_t num_read_ = 0;
  double first_drafting_ = 0;
  bool waits_to_read_ = false;
  Accidents readings_;
  Passing kept_{0.7}, drafts_{1};
  double credit_ = 0;
  double turn_credit_ = 0;  // likewise, of drafts that pay against those of other numbers
  int64_t num_rounds_ = 0;
  int num_drafted_rounds_ = 0;
  int64_t num_since_ = 0, gap_ = 8;  // rounds since a probe or turn, and to the next probe
  int turn_ = 0;
  // Rounds that a probe still has: the first finds the drafter's memory and caches cold.
  int burst_left_ = 2;
  int64_t burst_gamma_ = 1;
  bool is_probe_ = false;
};

}  // namespace sampler::decoding
