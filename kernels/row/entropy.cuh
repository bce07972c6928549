// Sums for entropies, by a team.
#pragma once

#include <cstdint>

#include "contract/entropy.h"
#include "contract/weight.h"
#include "machine/team.cuh"
#include "row/distribution.cuh"
#include "row/row.cuh"

namespace sampler::kernels {

// Adds a run's tokens. Padding is -inf or 0 and adds nothing.
template <int kCount>
SAMPLER_DEVICE void add_entropy_of_kind(const RowScale &scale, const float (&x)[kCount],
                                        contract::EntropySums *own) {
  contract::WeightSum weight, surprise;
  for (int i = 0; i < kCount; ++i) {
    const float relative = contract::relative_probability(scale, x[i]);
    weight.add(relative);
    surprise.add(contract::relative_surprise(contract::relative_log2(scale, x[i]), relative));
  }
  own->add({weight.of(kCount), surprise.of(kCount)});
}

// Dispatches on the kind, once per run.
SAMPLER_DEVICE inline void add_entropy(const RowScale &scale, const float (&x)[kRun],
                                       contract::EntropySums *own) {
  if (scale.kind == SAMPLER_LOGITS) {
    add_entropy_of_kind({SAMPLER_LOGITS, scale.max, scale.scale, 0}, x, own);
  } else {
    add_entropy_of_kind({SAMPLER_PROBABILITIES, scale.max, 0.0f, scale.exponent}, x, own);
  }
}

template <class Context>
SAMPLER_DEVICE contract::EntropySums sum_of_team(Team<Context> &team,
                                                 const contract::EntropySums &own) {
  const uint64_t values[] = {team.ctx.block_sum(own.weight), team.ctx.block_sum(own.surprise)};
  const Exchanged all = team.exchange(values);
  return {all.sum(0), all.sum(1)};
}

// Sums of the tokens from a cut up.
template <class Context, class Row>
SAMPLER_DEVICE_CALL contract::EntropySums entropy_sums_of_row(Team<Context> &team, const Row &row,
                                                              const RowScale &row_scale,
                                                              Rank rank) {
  const RowScale scale = row_scale;
  const Cut cut = Cut::of(row, rank);
  const bool cuts = rank > contract::lowest_cut(row.kind());
  contract::EntropySums own;
  row.template for_each_run<Starts::kFromRegisters>(
      cut.lowest, [&](const Row &row_, int tile, int first, float(&x)[kRun]) {
        if (cuts) cut.apply(row_, tile, first, x);
        add_entropy(scale, x, &own);
      });
  return sum_of_team(team, own);
}

}  // namespace sampler::kernels
