#include "decoding/session/measured_gamma.h"

#include <time.h>

#include <algorithm>
#include <iterator>

namespace sampler::decoding {

namespace {

constexpr double kShare = 1.0 / 32;       // of the time, for rounds that do not pay
constexpr double kFirstCredit = 2;        // in rounds without drafts, like the next
constexpr double kMostCredit = 16;        // past gains do not justify new losses
constexpr double kLong = 2;               // an outlier's least cost, in believed costs
constexpr int kAccidentGap = 16;          // steps between two outliers
constexpr double kNewest = 1.0 / 8;       // weight of the newest step in a mean cost
constexpr double kNewestShort = 1.0 / 2;  // of a cheaper step: none is cheap by accident
constexpr double kMemory = 32;            // counts that acceptance rates remember
constexpr double kPooled = 2;  // weight of the rate of all positions in that of one, in counts
constexpr double kFirstReading = 1.0 / 8;     // of a draft's cost, for a token that is only read
constexpr double kLeastPassing = 1.0 / 1024;  // least share of texts for a position to count
constexpr int64_t kFirstRounds = 4;           // the prompts, and rounds to compare with
constexpr int64_t kFirstGap = 8, kLongestGap = 128;  // rounds between probes
constexpr int64_t kHopelessGap = 2048;  // the same where a draft costs more than a token
constexpr int kBurst = 4;               // rounds of a probe
constexpr int64_t kTurns = 8;           // rounds between trials of numbers other than the best

double power(double base, int64_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent /= 2, base *= base) {
    if (exponent % 2 == 1) result *= base;
  }
  return result;
}

}  // namespace

bool Accidents::is_one(double cost, double believed) {
  if (cost <= kLong * believed) {
    num_steps_ -= num_steps_ > 0;
    return false;
  }
  const bool is_accident = num_steps_ == 0;
  num_steps_ = kAccidentGap;
  return is_accident;
}

int CostCurve::place_of(int64_t rows) {
  if (rows < 16) return int(rows);
  const int exponent = 63 - __builtin_clzll(uint64_t(rows));
  return 16 + 8 * (exponent - 4) + int(rows >> (exponent - 3) & 7);
}

double CostCurve::add(int64_t rows, double cost) {
  const int place = place_of(rows);
  Point &point = points_[place];
  const bool is_new = at_or_below(place) != &point;
  const double believed = !is_new ? point.cost : is_known() ? at_most(double(rows)) : cost;
  const bool is_accident = point.accidents.is_one(cost, believed);
  if (is_accident) cost = kLong * believed;
  known_[place / 64] |= uint64_t(1) << place % 64;
  point.rows = double(rows);
  const bool is_other = cost < point.cost / kLong || (cost > kLong * point.cost && !is_accident);
  const double share = cost < point.cost ? kNewestShort : kNewest;
  point.cost = is_new || is_other ? cost : point.cost + (cost - point.cost) * share;
  return cost;
}

const CostCurve::Point *CostCurve::at_or_below(int place) const {
  if (place < 0) return nullptr;
  int word = place / 64;
  uint64_t bits = known_[word] & ~uint64_t(0) >> (63 - place % 64);
  while (bits == 0 && word > 0) bits = known_[--word];
  return bits == 0 ? nullptr : &points_[64 * word + (63 ^ __builtin_clzll(bits))];
}

const CostCurve::Point *CostCurve::at_or_above(int place) const {
  int word = place / 64;
  if (word >= kNumWords) return nullptr;
  uint64_t bits = known_[word] & ~uint64_t(0) << place % 64;
  while (bits == 0 && word + 1 < kNumWords) bits = known_[++word];
  return bits == 0 ? nullptr : &points_[64 * word + __builtin_ctzll(bits)];
}

double CostCurve::at(double rows) const {
  const int place = place_of(int64_t(rows));
  const auto line = [&](const Point &from, const Point &to) {
    const double slope = std::max((to.cost - from.cost) / (to.rows - from.rows), 0.0);
    return from.cost + slope * (rows - from.rows);
  };
  const Point *const below = at_or_below(place), *const above = at_or_above(place + 1);
  if (!below) return above->cost * rows / above->rows;
  if (rows == below->rows) return below->cost;
  const Point *const before = at_or_below(int(below - points_) - 1);
  if (!above) return before ? line(*below, *before) : below->cost * rows / below->rows;
  const double between = line(*below, *above);
  return before ? std::min(between, line(*below, *before)) : between;
}

double CostCurve::at_most(double rows) const {
  const int place = place_of(int64_t(rows));
  const Point *const below = at_or_below(place), *const above = at_or_above(place + 1);
  if (!below) return above->cost;
  const double most = below->cost * std::max(rows / below->rows, 1.0);
  return above ? std::min(most, std::max(below->cost, above->cost)) : most;
}

double CostCurve::hoped(int64_t rows) const {
  const int place = place_of(rows);
  const Point *const below = at_or_below(place);
  if (!below) return 0;
  return below - points_ == place ? double(__builtin_inff()) : below->cost;
}

void Passing::Counts::add(int64_t num_passed, int64_t num_tried) {
  for (int64_t i = 0; i < num_tried; ++i) {
    const int64_t place = std::min<int64_t>(i, kNumPlaces - 1);
    passed[place] += i < num_passed;
    ++tried[place];
  }
}

void Passing::Share::add(double num_passed, double num_tried) {
  const double rest = kMemory / (kMemory + num_tried);
  passed = passed * rest + num_passed;
  tried = tried * rest + num_tried;
}

void Passing::add(const Counts &counts) {
  double num_passed = 0, num_tried = 0;
  for (int i = 0; i < kNumPlaces; ++i) {
    places_[i].add(counts.passed[i], counts.tried[i]);
    num_passed += counts.passed[i];
    num_tried += counts.tried[i];
  }
  all_.add(num_passed, num_tried);
}

double Passing::share(int64_t position) const {
  const Share &own = places_[std::min<int64_t>(position, kNumPlaces - 1)];
  return (own.passed + kPooled * all_.passed / all_.tried) / (own.tried + kPooled);
}

void RoundTexts::add(int64_t rows, int64_t positions, int64_t unread, int64_t unread_prompt) {
  ++num_texts;
  num_rows += rows;
  num_positions = std::max(num_positions, positions);
  num_unread += unread;
  num_unread_prompt += unread_prompt;
}

void MeasuredRound::add(int64_t wanted, int64_t text_depth, int64_t rows, int64_t num_text_kept,
                        bool runs) {
  ++num_texts;
  num_wanted = std::max(num_wanted, wanted);
  depth = std::max(depth, text_depth);
  num_rows += rows;
  num_kept += num_text_kept;
  // What would follow the end is unknown.
  const int64_t most = runs ? wanted : text_depth;
  drafted.add(text_depth, std::min(text_depth + 1, most));
  kept.add(num_text_kept, std::min(num_text_kept + 1, most));
}

int64_t MeasuredGamma::now(abi::Entry *entry) const {
  if (clock_) return entry->call_host([&] { return clock_(clock_user_); });
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t(time.tv_sec) * 1000000000 + time.tv_nsec;
}

double MeasuredGamma::expected_tokens(int64_t gamma) const {
  double sum = 1, passing = 1;
  for (int64_t i = 0; i < gamma && passing > kLeastPassing; ++i) {
    passing *= kept_.share(i);
    sum += passing;
  }
  return sum;
}

double MeasuredGamma::cost(int64_t gamma) const {
  if (gamma == 0) return plain();
  double num_drafted = 0, passing = 1;  // per text
  double num_steps = 0;                 // until all texts have their drafts; a search counts as one
  for (int64_t i = 0; i < gamma && passing > kLeastPassing; ++i) {
    passing *= drafts_.share(i);
    num_drafted += passing;
    num_steps += i == 0 ? 1 : 1 - power(1 - passing, texts_.num_texts);
  }
  return num_steps * drafter_.at(double(texts_.num_texts)) +
         target_.at(double(texts_.num_texts) + double(texts_.num_rows) * num_drafted);
}

// Prompts are read once, so drafts that are believed to pay are not charged for them.
int64_t MeasuredGamma::charged_unread() const {
  return texts_.num_unread - (is_paying_ ? texts_.num_unread_prompt : 0);
}

// Loss against decoding without drafts, if none is accepted.
double MeasuredGamma::most_loss(int64_t gamma) const {
  if (gamma == 0) return 0;
  return double(charged_unread()) * read_cost() +
         double(gamma) * drafter_.at_most(double(texts_.num_texts)) +
         target_.at_most(double(texts_.num_texts + texts_.num_rows * gamma)) - plain();
}

// The number >= `least` with the most tokens per cost; 0 if none is affordable.
int64_t MeasuredGamma::best(int64_t least) const {
  int64_t best = 0;
  double best_rate = 0;
  for (int64_t gamma = least; gamma <= texts_.num_positions && is_affordable(gamma); ++gamma) {
    const double rate = expected_tokens(gamma) / cost(gamma);
    if (rate > best_rate) best = gamma, best_rate = rate;
  }
  return best;
}

int64_t MeasuredGamma::choose(const RoundTexts &texts, bool is_timed) {
  texts_ = texts;
  is_probe_ = false;
  return std::min(pick(is_timed), texts.num_positions);
}

int64_t MeasuredGamma::pick(bool is_timed) {
  if (num_rounds_ < kFirstRounds) return 0;
  // The first draft reads the prompt; the second one measures what a draft costs.
  if (num_drafted_rounds_ < 2) return is_timed && credit_ > 0 ? 1 : 0;
  // A round without drafts leaves a token to read; the next draft measures what that costs.
  if (!waits_to_read_ && num_read_ > 0 && texts_.num_unread == 0) {
    waits_to_read_ = true;
    return 0;
  }
  is_paying_ = true;
  const int64_t gamma = best(0);
  is_paying_ = gamma > 0;
  ++num_since_;
  if (!is_timed) return gamma;
  return gamma > 0 ? turn(gamma) : probe();
}

// Drafts pay: the best number, and sometimes another one or none, so that costs stay current.
int64_t MeasuredGamma::turn(int64_t gamma) {
  gap_ = kFirstGap;
  const double best_cost = cost(gamma);
  turn_credit_ = std::min(turn_credit_ + kShare * best_cost, kMostCredit * plain());
  if (num_since_ < kTurns) return gamma;
  const int64_t others[] = {0, gamma + 1, 0, gamma - 1, 0, 2 * gamma};
  const int64_t other =
      std::clamp<int64_t>(others[turn_ % std::size(others)], 0, texts_.num_positions);
  const double loss = cost(other) - best_cost * expected_tokens(other) / expected_tokens(gamma);
  if (loss > turn_credit_ || !is_affordable(other)) return gamma;
  num_since_ = 0;
  ++turn_;
  turn_credit_ -= std::max(loss, 0.0);
  return other;
}

// The least number of unknown cost that would pay if its further rows were free; 0: none.
int64_t MeasuredGamma::hoped() const {
  double tokens = 1, passing = 1;
  for (int64_t i = 0; i < texts_.num_positions && passing > kLeastPassing; ++i) {
    passing *= kept_.share(i);
    tokens += passing;
    const double cost = double(i + 1) * drafter_.at(double(texts_.num_texts)) +
                        target_.hoped(texts_.num_texts + texts_.num_rows * (i + 1));
    if (cost < tokens * plain()) return i + 1;
  }
  return 0;
}

// Drafts do not pay: rounds with them at growing intervals, with the best number and, by turns,
// with one that may be better than it seems, for which credit is saved.
int64_t MeasuredGamma::probe() {
  const bool is_hopeless = drafter_.at(double(texts_.num_texts)) > plain();
  if (burst_left_ > 0 && !is_hopeless && is_affordable(burst_gamma_)) {
    --burst_left_;
    is_probe_ = true;
    return burst_gamma_;
  }
  const int64_t longest = is_hopeless ? kHopelessGap : kLongestGap;
  gap_ = std::clamp(gap_, is_hopeless ? kLongestGap : 1, longest);
  if (num_since_ < gap_) return 0;
  const int64_t better = turn_ % 2 == 0 ? hoped() : 0;
  const int64_t gamma = better > 0 ? better : best(1);
  if (gamma == 0 || !is_affordable(gamma)) return 0;
  ++turn_;
  num_since_ = 0;
  gap_ = std::min(2 * gap_, longest);
  is_probe_ = true;
  burst_left_ = kBurst - 1;
  return burst_gamma_ = gamma;
}

void MeasuredGamma::finish(abi::Entry *entry, const MeasuredRound &round) {
  const int64_t end = now(entry);
  const double drafting = double(drafted_ - start_), judging = double(end - drafted_);
  if (num_rounds_++ == 0) {
    credit_ = kShare * judging;
    return;
  }
  const double charged = target_.add(round.num_rows, judging);
  if (num_rounds_ == 2) {
    credit_ += kFirstCredit * plain();
    turn_credit_ = plain();
  }
  settle(round, charged + (round.num_wanted > 0 ? learn_drafts(round, drafting) : 0));
  learn(round);
}

void MeasuredGamma::finish_untimed(const MeasuredRound &round) {
  if (num_rounds_ < 2 || num_drafted_rounds_ < 2) return;
  const double texts = double(round.num_texts);
  const double drafts = round.depth > 0 ? double(round.depth) * drafter_.at(texts) : 0;
  settle(round, target_.at(double(round.num_rows)) + drafts);
  learn(round);
}

// Learns the cost of drafting; returns the part that is charged.
double MeasuredGamma::learn_drafts(const MeasuredRound &round, double drafting) {
  const int64_t unread = texts_.num_unread;
  if (++num_drafted_rounds_ == 1) {
    first_drafting_ = drafting;
    num_read_ = unread;
    return 0;
  }
  const double steps = double(std::max<int64_t>(round.depth, 1));  // a search counts as one
  if (!drafter_.is_known()) {
    const double draft = drafting / (steps + double(unread) * kFirstReading);
    drafter_.add(round.num_texts, draft);
    if (num_read_ > 0 && draft > 0) {
      read_share_ = std::clamp((first_drafting_ / draft - 1) / double(num_read_), 0.0, 1.0);
    }
    return drafting;
  }
  const double drafts = steps * drafter_.at(double(round.num_texts));
  if (unread == 0) return steps * drafter_.add(round.num_texts, drafting / steps);
  if (drafting < drafts) drafter_.add(round.num_texts, drafting / steps);
  const double believed = drafts + double(unread) * read_cost();
  if (readings_.is_one(drafting, believed)) drafting = kLong * believed;
  const double reading = std::max(drafting - drafts, 0.0);
  learn_reading(reading);
  return drafting - reading * double(unread - charged_unread()) / double(unread);
}

// Few tokens update the cost of many only if they are dearer than those were.
void MeasuredGamma::learn_reading(double reading) {
  const double draft = std::max(drafter_.at(double(texts_.num_texts)), 1.0);
  const bool are_few =
      texts_.num_unread < num_read_ / 2 && reading <= draft + double(num_read_) * read_cost();
  const double share = reading / double(texts_.num_unread) / draft;
  if (share < read_share_) {
    read_share_ = share;
  } else if (are_few) {
    return;
  } else {
    read_share_ += (share - read_share_) / 2;
  }
  num_read_ = texts_.num_unread;
}

void MeasuredGamma::learn(const MeasuredRound &round) {
  const double believed = kept_.share(0);
  drafts_.add(round.drafted);
  kept_.add(round.kept);
  if (is_probe_ && kept_.share(0) > believed) gap_ = std::max<int64_t>(gap_ / 8, 1);
}

// Credits the time that the round saved against plain decoding.
void MeasuredGamma::settle(const MeasuredRound &round, double cost) {
  const double plain = target_.at(double(round.num_texts));
  credit_ += kShare * plain;
  if (round.num_wanted > 0) {
    credit_ += double(round.num_texts + round.num_kept) / double(round.num_texts) * plain - cost;
  }
  credit_ = std::min(credit_, kMostCredit * plain);
}

}  // namespace sampler::decoding
