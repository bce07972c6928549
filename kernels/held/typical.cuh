// Draws from what typical-p keeps of held rows.
#pragma once

#include <cstdint>

#include "contract/filters.h"
#include "contract/rank.h"
#include "contract/windows.h"
#include "held/nearest.cuh"
#include "held/weighed.cuh"

namespace sampler::kernels {

// Beside other windows: WindowBlock.
template <class Context>
class TypicalBlock : NearestBlock<Context, WeighedBlock<Context, HeldTypical>> {
 public:
  using Base = NearestBlock<Context, WeighedBlock<Context, HeldTypical>>;
  using Base::Base;

  SAMPLER_DEVICE void run() {
    this->run_row(
        [this](int64_t slot, const contract::AdaptiveValues &) {
          shared.typical_p = request.stages.typical_p[slot];
          return !contract::is_nan(shared.typical_p);
        },
        [this](const Row &row, uint32_t max_key, const Given &given) {
          draw(row, max_key, given);
        });
  }

 private:
  using Base::ctx;
  using Base::request;
  using Base::shared;
  using typename Base::Given;
  using typename Base::Nearest;
  using Row = typename Base::Row;

  SAMPLER_DEVICE void draw(const Row &row, uint32_t max_key, const Given &given) {
    const bool greedy = this->is_greedy();
    float max = contract::value_of_key(max_key);
    Nearest kept = {true, Base::kNoRank, contract::rank_of_key(greedy ? max_key : lowest_key())};
    if (!greedy && contract::fraction_is_on(shared.typical_p)) {
      kept = find_typical(row, max);
      if (!kept.is_found) return this->leave(this->index());
    }
    const bool begins_later = kept.before != Base::kNoRank;
    const HeldKept end = Base::kept_from(kept.end), before = Base::kept_from(kept.before);
    const auto has = [=](float x, int index) {
      return end.has(x, index) && !(begins_later && before.has(x, index));
    };
    if (begins_later) max = largest_of(row, has);
    const contract::RowScale scale =
        contract::logits_row_scale(max, greedy ? 1.0f : shared.parameters.temperature);
    const int32_t count = greedy ? 1 : count_of(row, has);
    const auto relative = [=](float x, int index) {
      return has(x, index) ? contract::relative_for_weight(scale, x) : 0.0f;
    };
    const uint64_t own = this->template weigh_tiles<false>(row, relative);
    const auto write = [&](int id, float x, uint64_t total) {
      this->write({id, scale, x, total, contract::quiet_nan()}, row.value(id), given, count);
    };
    this->template find_drawn<false>(row, own, greedy ? 0 : shared.word, relative, write);
  }

  SAMPLER_DEVICE Nearest find_typical(const Row &row, float max) {
    const contract::RowScale scale =
        contract::logits_row_scale(max, is_at_one() ? 1.0f : shared.parameters.temperature);
    float last = contract::float_of(contract::kInfinityBits);
    this->for_each_element(row, [&](float x) {
      last = x > contract::negative_infinity() ? Context::smaller(last, x) : last;
    });
    const float least = contract::value_of_key(~this->max_of_team(~contract::value_key(last)));
    const contract::EntropySums all = this->entropies(row, scale, contract::negative_infinity());
    const contract::WindowRules &rules = request.stages.window_rules;
    const uint64_t threshold =
        contract::top_p_threshold({shared.typical_p, rules.typical_p_sum}, all.weight);
    return this->find_nearest(
        row, {scale, contract::mean_surprise(all), all.weight, threshold, rules.typical_p_ties, 1},
        Base::kNoRank, max, least);
  }
  // Whether typical-p comes before the temperature.
  SAMPLER_DEVICE bool is_at_one() const {
    for (const sampler_stage stage : request.stages.windows) {
      if (stage == SAMPLER_STAGE_TEMPERATURE) return false;
      if (stage == SAMPLER_STAGE_TYPICAL_P) return true;
    }
    return false;
  }
  SAMPLER_DEVICE static uint32_t lowest_key() {
    return contract::key_of_rank(contract::lowest_cut(SAMPLER_LOGITS));
  }

  // Calls f(x) for the thread's elements that has(x, index) keeps.
  template <class Has, class F>
  SAMPLER_DEVICE void for_each_kept(const Row &row, const Has &has, const F &f) const {
    this->for_each_tile(row, [&](int tile) {
      this->for_each_quad(tile, [&](int slot, const Vector &quad) {
        SAMPLER_UNROLLED
        for (int j = 0; j < kQuad; ++j) {
          const float x = contract::float_of(quad.word[j]);
          if (has(x, this->index_of(row, tile, slot * kQuad + j))) f(x);
        }
      });
    });
  }
  template <class Has>
  SAMPLER_DEVICE float largest_of(const Row &row, const Has &has) {
    float own = contract::negative_infinity();
    for_each_kept(row, has, [&](float x) { own = Context::larger(own, x); });
    return contract::value_of_key(this->max_of_team(contract::value_key(own)));
  }
  template <class Has>
  SAMPLER_DEVICE int32_t count_of(const Row &row, const Has &has) {
    if (!request.out_kept_counts) return 0;
    uint64_t own = 0;
    for_each_kept(row, has, [&](float) { ++own; });
    return int32_t(this->weight_of_team(own));
  }
};

}  // namespace sampler::kernels
