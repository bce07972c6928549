#include "decoding/measured_gamma.h"

#include <time.h>

#include <algorithm>

namespace sampler::decoding {

namespace {

constexpr double kShare = 1.0 / 32;  // of plain decoding's time, for probes that do not pay
constexpr double kFirstCredit = 2;   // in rounds without drafts, like the next
constexpr double kMostCredit = 16;   // what was gained before is no reason to lose more now
constexpr double kLongest = 1.5;     // times what is believed
constexpr double kNewestShort = 1.0 / 2;
constexpr double kNewest = 1.0 / 8;  // share of the newest step in a mean cost
constexpr double kNewestDraft = 1.0 / 32;
constexpr int64_t kFirstGap = 8,
                  kLongestGap = 128;  // rounds between probes while drafts do not pay
constexpr int kBurst = 4;             // rounds of a probe, while there is credit
constexpr int64_t kTurns = 8;         // and while they do

}  // namespace

int CostCurve::place_of(int64_t rows) {
  if (rows < 16) return int(rows);
  const int exponent = 63 - __builtin_clzll(uint64_t(rows));
  return 16 + 8 * (exponent - 4) + int(rows >> (exponent - 3) & 7);
}

void CostCurve::add(int64_t rows, double cost) {
  Point &point = points_[place_of(rows)];
  num_known_ += !point.is_known;
  point.rows = double(rows);
  if (!point.is_known || cost < point.cost / 2) {
    point.cost = cost;
    point.is_known = true;
    return;
  }
  // A step is long by accident, never short.
  const double share = cost < point.cost ? kNewestShort : kNewest;
  point.cost += (std::min(cost, 2 * point.cost) - point.cost) * share;
}

double CostCurve::at(int64_t rows) const {
  const int place = place_of(rows);
  const Point *points[2] = {};  // the nearest, one on either side where there is one
  for (int i = place; i >= 0 && !points[0]; --i) {
    if (points_[i].is_known) points[0] = &points_[i];
  }
  const int below = points[0] ? int(points[0] - points_) : -1;
  for (int i = place + 1; i < kNumPoints && !points[1]; ++i) {
    if (points_[i].is_known) points[1] = &points_[i];
  }
  for (int i = below - 1; i >= 0 && !points[1]; --i) {
    if (points_[i].is_known) points[1] = &points_[i];
  }
  if (!points[0]) return points[1]->cost;
  // With a single point, as if each row cost as much.
  const double slope =
      points[1] ? (points[1]->cost - points[0]->cost) / (points[1]->rows - points[0]->rows)
                : points[0]->cost / points[0]->rows;
  return points[0]->cost + std::max(slope, 0.0) * (double(rows) - points[0]->rows);
}

int64_t MeasuredGamma::now(capi::Entry *entry) const {
  if (clock_) return entry->call_host([&] { return clock_(clock_user_); });
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t(time.tv_sec) * 1000000000 + time.tv_nsec;
}

double MeasuredGamma::expected_tokens(int64_t gamma) const {
  double sum = 1, kept = 1;
  for (int64_t i = 0; i < gamma; ++i) sum += kept *= acceptance_;
  return sum;
}

double MeasuredGamma::cost(int64_t num_texts, int64_t gamma) const {
  const double drafts = gamma > 0 ? double(gamma) * drafter_.at(num_texts) : 0;
  return drafts + target_.at(num_texts * (gamma + 1));
}

double MeasuredGamma::loss(int64_t num_texts, int64_t gamma) const {
  return cost(num_texts, gamma) + double(num_unread_) * read_cost_ -
         expected_tokens(gamma) * target_.at(num_texts);
}

// The gamma, from `least` on, that gives the most tokens for its cost.
int64_t MeasuredGamma::best(int64_t num_texts, int64_t least) const {
  int64_t best = least;
  double best_rate = 0;
  for (int64_t gamma = least; gamma <= gamma_max_; ++gamma) {
    const double rate = expected_tokens(gamma) / cost(num_texts, gamma);
    if (rate > best_rate) best = gamma, best_rate = rate;
  }
  return best;
}

int64_t MeasuredGamma::choose(int64_t num_texts) {
  is_probe_ = false;
  // The prompts, and rounds to compare with, the first of which find caches cold.
  if (num_rounds_ < 4) return 0;
  // The first draft reads the prompt; what a draft costs the second one says.
  if (num_drafted_rounds_ < 2) return credit_ > 0 || num_drafted_rounds_ == 1 ? 1 : 0;
  const int64_t gamma = best(num_texts, 0);
  ++num_since_probe_;
  if (gamma == 0 && burst_left_ > 0 && credit_ > 0) {
    --burst_left_;
    is_probe_ = true;
    return burst_gamma_;
  }
  if (gamma == 0) return num_since_probe_ < gap_ ? 0 : probe(num_texts);
  gap_ = kFirstGap;
  if (credit_ < 0) return 0;
  if (num_since_probe_ < kTurns) return gamma;
  num_since_probe_ = 0;
  turn_ = (turn_ + 1) % 4;
  return turn_ % 2 == 0 ? 0 : std::clamp<int64_t>(gamma + 2 - turn_, 0, gamma_max_);
}

// The number of drafts that loses least; each fourth time another one, whose cost may have been
// guessed wrong.
int64_t MeasuredGamma::probe(int64_t num_texts) {
  int64_t gamma = best(num_texts, 1);
  if (++turn_ % 4 == 0) {
    explored_ = explored_ * 2 <= gamma_max_ ? explored_ * 2 : 1;
    if (loss(num_texts, explored_) <= credit_) gamma = explored_;
  }
  if (loss(num_texts, gamma) > credit_) return 0;
  num_since_probe_ = 0;
  gap_ = std::min(2 * gap_, kLongestGap);
  is_probe_ = true;
  burst_left_ = kBurst - 1;
  return burst_gamma_ = gamma;
}

void MeasuredGamma::finish(capi::Entry *entry, const MeasuredRound &round) {
  const int64_t end = now(entry);
  double drafting = double(drafted_ - start_), judging = double(end - drafted_);
  if (num_rounds_++ == 0) {
    credit_ = kShare * judging;
    return;
  }
  const int64_t num_texts = round.num_texts;
  if (target_.is_known()) {
    // Where a step takes longer than its rows one by one, the machine did something else.
    const double row = target_.at(num_texts);
    judging = std::min(judging, kLongest * row * double(round.num_rows) / double(num_texts));
    drafting = std::min(drafting, kLongest * row * double(round.depth + num_unread_));
  }
  target_.add(round.num_rows, judging);
  const double plain = target_.at(num_texts);
  if (num_rounds_ == 2) credit_ += kFirstCredit * plain;
  if (round.depth > 0) {
    learn_drafts(round, drafting);
  } else {
    num_unread_ += num_texts;
  }
  credit_ += kShare * plain;
  if (round.depth > 0) {
    const double num_tokens = double(num_texts + round.num_kept) / double(num_texts);
    credit_ += num_tokens * plain - target_.at(round.num_rows) - drafting;
  }
  credit_ = std::min(credit_, kMostCredit * plain);
}

void MeasuredGamma::learn_drafts(const MeasuredRound &round, double drafting) {
  ++num_drafted_rounds_;
  const double draft = drafting / double(round.depth);
  if (num_unread_ == 0 || !drafter_.is_known() || draft < drafter_.at(round.num_texts)) {
    drafter_.add(round.num_texts, draft);
  } else {
    const double reading = drafting - double(round.depth) * drafter_.at(round.num_texts);
    read_cost_ += (reading / double(num_unread_) - read_cost_) / 2;
  }
  num_unread_ = 0;
  if (round.num_examined == 0) return;
  const double rate = double(round.num_kept) / double(round.num_examined);
  if (is_probe_ && rate > acceptance_) gap_ = std::max<int64_t>(gap_ / 8, 1);
  for (int64_t i = 0; i < round.num_examined; ++i) {
    acceptance_ += (rate - acceptance_) * kNewestDraft;
  }
}

}  // namespace sampler::decoding
