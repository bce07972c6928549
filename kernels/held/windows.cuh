// Truncations (windows) of a held row's stages, and the new weights of adaptive stages. For other
// rows: stages/stages.cuh.
#pragma once

#include <cstdint>

#include "contract/adaptive.h"
#include "contract/adaptive_values.h"
#include "contract/collision.h"
#include "contract/deviation.h"
#include "contract/entropy.h"
#include "contract/philox.h"
#include "contract/stages.h"
#include "contract/window_walk.h"
#include "held/nearest.cuh"
#include "row/row.cuh"
#include "stream/list_windows.cuh"

namespace sampler::kernels {

template <class Context>
class WindowBlock;

// A row's tokens as contract::RankedWindows queries them. All threads of the team query alike.
template <class Context>
struct HeldTokens {
  WindowBlock<Context> *block;

  SAMPLER_DEVICE float value(int64_t place) const { return block->value_at(place); }
};

// The first tokens are listed in rank order, in each block, unless typical-p alone is on. What a
// stage sees is a run of the list, the row from some token on, or what typical-p keeps of the
// latter; their sums are passes over the row. A row of which a window ends elsewhere is left.
template <class Context>
class WindowBlock : protected NearestBlock<Context> {
 public:
  using Base = NearestBlock<Context>;
  using Base::Base;
  using Window = contract::Window;

  // ---- Queries

  SAMPLER_DEVICE_CALL float value_at(int64_t place) {
    if (place == count_ - 1) return least_;
    if (place == 0) return first_;
    if (place >= listed_) is_left_ = true;
    return contract::value_of_rank(shared.row.list[place < listed_ ? place : 0]);
  }

  SAMPLER_DEVICE_CALL uint64_t weight(const contract::RowScale &of_logits, Window seen) {
    const contract::RowScale row = Base::for_logits(of_logits);
    uint64_t sums[1];
    sum(seen, sums, typename Listed::WeightOf{row});
    return sums[0];
  }
  SAMPLER_DEVICE_CALL contract::EntropySums entropies(const contract::RowScale &of_logits,
                                                      Window seen) {
    const contract::RowScale row = Base::for_logits(of_logits);
    uint64_t sums[2];
    sum(seen, sums, typename Listed::EntropyOf{row});
    return {sums[0], sums[1]};
  }
  SAMPLER_DEVICE_CALL contract::CollisionSums collisions(const contract::RowScale &of_logits,
                                                         Window seen) {
    const contract::RowScale row = Base::for_logits(of_logits);
    uint64_t sums[4];
    sum(seen, sums, typename Listed::CollisionOf{row});
    return {sums[0], sums[1], int64_t(sums[2]), sums[3]};
  }
  SAMPLER_DEVICE_CALL contract::DeviationSums deviations(const contract::RowScale &row,
                                                         const contract::DeviationScale &unit,
                                                         Window seen) {
    uint64_t sums[2];
    sum(seen, sums, typename Listed::DeviationOf{row, unit});
    return {sums[0], sums[1]};
  }

  template <class Holds>
  SAMPLER_DEVICE_CALL int64_t count_while(Window seen, Holds holds) {
    const int64_t last = seen.end < listed_ ? seen.end : listed_;
    const int64_t low = seen.begin < last
                            ? seen.begin + listed().count_while({seen.begin, last}, holds)
                            : seen.begin;
    if (low < last || last == seen.end) return low - seen.begin;
    if (seen.end == count_ && holds(least_)) return seen.count();
    is_left_ = true;
    return low > seen.begin ? low - seen.begin : 1;
  }

  // Number of tokens that top-p keeps, without ties.
  SAMPLER_DEVICE_CALL int64_t top_p(const contract::RowScale &row, contract::Share share,
                                    Window seen) {
    const uint64_t least = contract::top_p_threshold(share, weight(row, seen));
    const int64_t end = seen.end < listed_ ? seen.end : listed_;
    this->add_up(row);
    const int64_t count = seen.begin < end ? listed().count_reaching(least, {seen.begin, end}) : 1;
    if (seen.begin + count > end) is_left_ = true;
    return seen.begin + count > end ? 1 : count;
  }

  SAMPLER_DEVICE_CALL Window nearest(const contract::Typical &of_logits, Window seen) {
    const contract::Typical rule = Base::for_logits(of_logits);
    if (seen.end > listed_) return nearest_of_row(rule, seen);
    if (rule.min_keep <= kMostAdded) return listed().nearest(rule, seen);
    is_left_ = true;
    return {seen.begin, seen.begin + 1};
  }

 private:
  using Listed = ListWindows<Context, HeldSample>;
  SAMPLER_DEVICE Listed listed() const { return Listed(*this); }

  // The window that typical-p keeps of one that ends with the row.
  SAMPLER_DEVICE Window nearest_of_row(const contract::Typical &rule, Window seen) {
    const int64_t place = seen.begin;
    const bool is_shown = place == 0 || place < listed_;
    if (seen.end == count_ && is_shown) {
      const float first = place == 0 ? first_ : listed().value(place);
      const Rank before = place == 0 ? Base::kNoRank : shared.row.list[place - 1];
      const auto kept = this->find_nearest(row_, rule, before, first, least_);
      if (listed_ > 0) list_first();
      if (kept.is_found) {
        const int64_t begin = count_to(kept.before), end = count_to(kept.end);
        ends_[0] = {begin, kept.before};
        ends_[1] = {end, kept.end};
        const bool are_enough = end - begin >= rule.min_keep || end - begin == seen.count();
        if (are_enough) return {begin, end};
      }
    }
    is_left_ = true;
    return {seen.begin, seen.begin + 1};
  }
  // Number of tokens of at least a rank.
  SAMPLER_DEVICE_CALL int64_t count_to(Rank cut) {
    return cut == Base::kNoRank ? 0 : this->count_of(row_, Base::kept_from(cut));
  }

 protected:
  using Base::begin_;
  using Base::ctx;
  using Base::request;
  using Base::shared;
  using Base::state;
  using Row = typename Base::Row;

  // Drops from the row what the windows drop, and sets the parameters that remain. Returns the
  // row's status; *is_left: the list does not show the windows. Called by the whole team; a barrier
  // of it follows.
  SAMPLER_DEVICE_CALL uint32_t keep_window(const Row &row, int64_t slot, int64_t output,
                                           bool *is_left) {
    const contract::Pipeline &stages = request.stages;
    const contract::RowParameters parameters = state().parameters;
    *is_left = false;
    if (!stages.has_windows || contract::is_greedy(parameters.temperature)) return SAMPLER_ROW_OK;
    const HeldTokens<Context> tokens = {this};
    const contract::StageRunner<HeldTokens<Context>> runner(
        tokens, SAMPLER_LOGITS, parameters, stages.window_numbers(slot), this->rules(),
        stages.window_rules, row.count);
    if (!runner.any_is_on(stages.windows)) return SAMPLER_ROW_OK;
    const uint32_t key = this->max_of_team(this->largest_by_bins(row));
    const uint32_t status = status_of_key(key);
    if (status != SAMPLER_ROW_OK) return status;
    row_ = row;
    first_ = contract::value_of_key(key);
    const int64_t decisive = runner.num_decisive(stages.windows);
    *is_left = !look_at_first(decisive, !runner.is_alone(stages.windows, SAMPLER_STAGE_TYPICAL_P));
    if (*is_left) return SAMPLER_ROW_OK;
    const uint32_t xtc_word =
        contract::random_word32(request.stream_of(output, slot), contract::Purpose::kXtc, 0);
    const contract::Staged staged = runner.run(stages.windows, count_, xtc_word);
    const Window window = staged.window;
    is_left_ = is_left_ || !has_cut(window.begin) || !has_cut(window.end);
    *is_left = is_left_;
    if (is_left_) return SAMPLER_ROW_OK;
    const HeldKept kept = kept_to(window.end), dropped = kept_to(window.begin);
    this->change_all(row, [&](int element, float x) {
      const bool is_in = kept.has(x, element) && !(window.begin > 0 && dropped.has(x, element));
      return is_in ? x : contract::negative_infinity();
    });
    ctx.sync();  // all have read what the first thread sets
    if (ctx.thread() == 0) {
      shared.num_listed = 0;
      this->set_parameters({staged.temperature, 0, 1.0f, 0.0f});
    }
    ctx.team_sync();
    return SAMPLER_ROW_OK;
  }

  // Replaces the kept tokens' values by their new logits, of temperature 1, and drops the others.
  // `marks`: by element; those of adaptive-p get the token's probability. Called by the whole team;
  // a barrier of it follows.
  SAMPLER_DEVICE_CALL void reweigh(const Row &row, const contract::AdaptiveRules &rules,
                                   int64_t slot, uint32_t *marks) {
    const HeldKept kept = this->kept();
    const contract::Reweighing stage =
        contract::reweighing(request.stages.values(slot), rules, this->scale(), shared.kept_weight);
    ctx.sync();
    this->change_all(row, [&](int element, float x) {
      if (!kept.has(x, element)) return contract::negative_infinity();
      if (stage.smooths) return stage.smoothing.logit(x);
      marks[element] = contract::bits_of(stage.adaptive_p.probability(x));
      return stage.adaptive_p.logit(x);
    });
    if (ctx.thread() == 0) {
      shared.num_listed = 0;
      this->set_parameters({1.0f, 0, 1.0f, 0.0f});
    }
    ctx.team_sync();
  }

  // The observation for the adaptive stage of a row whose token was drawn, or forced. NaN: none.
  SAMPLER_DEVICE float observation(const contract::AdaptiveRules &rules, uint64_t kept_weight,
                                   const uint32_t *marks) const {
    const int id = int(shared.drawn.id);
    const float value = shared.drawn.value;
    if (contract::is_greedy(state().parameters.temperature) || !this->kept().has(value, id)) {
      return contract::quiet_nan();
    }
    if (rules.is_mirostat()) {
      return contract::surprise(contract::relative_log2(this->scale(), value), kept_weight);
    }
    return rules.is_adaptive_p() ? contract::float_of(marks[id]) : contract::quiet_nan();
  }

 private:
  static constexpr int kMostAdded = 64;  // tokens one by one

  // Finds the number of tokens, of which the first `decisive` are all that matters, and lists the
  // first ones, if that is wanted. False: the list does not hold them.
  SAMPLER_DEVICE_CALL bool look_at_first(int64_t decisive, bool wants_list) {
    const bool are_few = decisive < row_.count;
    const int most = row_.count / kGroup * 3 / 4;
    const int longest = most < kMostStreamedK ? most : kMostStreamedK;
    is_left_ = false;
    listed_ = 0;
    ends_[0] = ends_[1] = {};
    if (wants_list) {
      if (are_few && decisive > longest) return false;
      uint64_t begin[] = {0};
      if (this->is_leader()) begin[0] = this->bound_of(are_few ? int(decisive) : longest);
      ctx.sync();
      lowest_ = contract::value_of_key(uint32_t(this->exchange(begin)[0][0]));
      list_first();
      if (is_left_) return false;
    }
    if (are_few) {
      count_ = decisive < listed_ ? decisive : listed_;
      listed_ = count_;
      least_ = listed().value(count_ - 1);
    } else {
      measure();
    }
    return true;
  }

  // Lists the first tokens in every block.
  SAMPLER_DEVICE_CALL void list_first() {
    const float lowest = lowest_;
    this->list_if(row_, [lowest](float x) { return x >= lowest; });
    ctx.team_sync();
    const uint32_t num_listed = *ctx.peer(&shared.num_listed, 0);
    if (num_listed > uint32_t(kStreamedTokens)) {
      is_left_ = true;
      return;
    }
    if (this->is_leader()) this->sort_list(first_, lowest);
    ctx.team_sync();
    if (!this->is_leader()) {
      SAMPLER_KEEP_ROLLED
      for (int i = ctx.thread(); i < int(num_listed); i += Context::kThreads) {
        shared.row.list[i] = *ctx.peer(&shared.row.list[i], 0);
      }
      if (ctx.thread() == 0) shared.num_listed = num_listed;
    }
    ctx.sync();
    listed_ = int64_t(num_listed);
  }

  // The number of tokens, and the lowest value.
  SAMPLER_DEVICE void measure() {
    uint64_t num = 0;
    float least = contract::float_of(contract::kInfinityBits);
    this->for_each_tile(row_, [&](int tile) {
      float x[kGroup];
      this->group(tile, x);
      SAMPLER_UNROLLED
      for (int i = 0; i < kGroup; ++i) {
        const bool is_token = x[i] > contract::negative_infinity();
        num += is_token ? 1 : 0;
        least = is_token ? Context::smaller(least, x[i]) : least;
      }
    });
    count_ = int64_t(this->weight_of_team(num));
    least_ = contract::value_of_key(~this->max_of_team(~contract::value_key(least)));
  }

  // Whether it is known which tokens come before a place: in the list or at its end, the row's end,
  // or an end of typical-p.
  SAMPLER_DEVICE bool has_cut(int64_t end) const {
    return end <= listed_ || end == count_ || end == ends_[0].place || end == ends_[1].place;
  }
  // The rank that these tokens reach.
  SAMPLER_DEVICE_CALL Rank cut_of(int64_t end) const {
    for (const End &one : ends_) {
      if (one.place == end) return one.cut;
    }
    if (end == count_ && end > listed_) return contract::lowest_cut(SAMPLER_LOGITS);
    const int64_t listed = end < listed_ ? end : listed_;
    return shared.row.list[listed > 0 ? listed - 1 : 0];
  }
  SAMPLER_DEVICE HeldKept kept_to(int64_t end) const { return Base::kept_from(cut_of(end)); }

  // Sums over a window of what add(x, own) adds to `own`.
  template <int kCount, class Add>
  SAMPLER_DEVICE void sum(Window seen, uint64_t (&sums)[kCount], const Add &add) {
    if (seen.end <= listed_) return listed().sum(seen, sums, add);
    uint64_t own[kCount] = {};
    if (!has_cut(seen.end) || !has_cut(seen.begin)) is_left_ = true;
    const bool begins_later = seen.begin > 0, ends_sooner = seen.end != count_;
    const HeldKept before = begins_later ? kept_to(seen.begin) : HeldKept();
    const HeldKept kept = ends_sooner ? kept_to(seen.end) : HeldKept();
    this->for_each_tile(row_, [&](int tile) {
      SAMPLER_KEEP_ROLLED
      for (int slot = 0; slot < Base::Block::kSlots; ++slot) {
        const Vector quad = ctx.load_shared(this->place(tile, slot));
        SAMPLER_UNROLLED
        for (int j = 0; j < kQuad; ++j) {
          const float x = contract::float_of(quad.word[j]);
          const int index = this->index_of(row_, tile, slot * kQuad + j);
          const bool is_seen = x > contract::negative_infinity() &&
                               !(begins_later && before.has(x, index)) &&
                               (!ends_sooner || kept.has(x, index));
          if (is_seen) add(x, own);
        }
      }
    });
    uint64_t of_block[kCount];
    SAMPLER_UNROLLED
    for (int i = 0; i < kCount; ++i) of_block[i] = this->sum_of_threads(own[i], i);
    const auto *const of_team = this->exchange(of_block);
    SAMPLER_UNROLLED
    for (int i = 0; i < kCount; ++i) sums[i] = Base::sum(of_team[i]);
  }
  // The tokens before a place rank at least `cut`.
  struct End {
    int64_t place = -1;
    Rank cut = 0;
  };

  Row row_;
  End ends_[2];  // of typical-p's window, without a list
  int64_t listed_ = 0;
  int64_t count_ = 0;    // tokens
  float first_ = 0.0f;   // the largest value
  float lowest_ = 0.0f;  // of the list
  float least_ = 0.0f;
  bool is_left_ = false;
};

}  // namespace sampler::kernels

namespace sampler::contract {

template <class Context>
class WindowWalk<kernels::HeldTokens<Context>> {
 public:
  SAMPLER_DEVICE explicit WindowWalk(const kernels::HeldTokens<Context> &tokens)
      : block_(*tokens.block) {}

  SAMPLER_DEVICE uint64_t weight(const RowScale &row, Window seen) const {
    return block_.weight(row, seen);
  }
  SAMPLER_DEVICE EntropySums sums(const RowScale &row, Window seen) const {
    return block_.entropies(row, seen);
  }
  SAMPLER_DEVICE CollisionSums collisions(const RowScale &row, Window seen) const {
    return block_.collisions(row, seen);
  }
  SAMPLER_DEVICE DeviationSums deviations(const RowScale &row, const DeviationScale &unit,
                                          Window seen) const {
    return block_.deviations(row, unit, seen);
  }
  template <class Holds>
  SAMPLER_DEVICE int64_t count_while(Window seen, const Holds &holds) const {
    return block_.count_while(seen, holds);
  }
  SAMPLER_DEVICE int64_t top_p(const RowScale &row, Share share, Window seen) const {
    return block_.top_p(row, share, seen);
  }
  SAMPLER_DEVICE Window nearest(const Typical &rule, Window seen) const {
    return block_.nearest(rule, seen);
  }

 private:
  kernels::WindowBlock<Context> &block_;
};

}  // namespace sampler::contract
