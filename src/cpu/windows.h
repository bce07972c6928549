// Runs the windows of a row's stages, for both kinds of row.
#pragma once

#include <algorithm>
#include <cstdint>

#include "contract/stages.h"
#include "cpu/distribution.h"
#include "cpu/reference_row.h"
#include "cpu/simd/row_windows.h"

namespace sampler::cpu {

// Tokens in rank order.
struct RankedTokens {
  const contract::Rank *ranks;
  float value(int64_t place) const { return contract::value_of_rank(ranks[place]); }
};

// Runs the windows and sets the row's distribution. `runner_of(tokens)` returns a
// contract::StageRunner. `memory` has room for the row's values and must outlive the row.
// `draws_alone`: from here on the row is only used for draws by weights.
template <class RunnerOf>
const Distribution &keep_window(ReferenceRow &row, float *, const contract::StageOrder &order,
                                uint32_t xtc_word, bool, const RunnerOf &runner_of) {
  RankedTokens tokens = {};
  const int64_t count = row.select(INT64_MAX, &tokens.ranks);
  const contract::Staged staged = runner_of(tokens).run(order, count, xtc_word);
  return row.keep_ranks(tokens.ranks[staged.window.begin], tokens.ranks[staged.window.end - 1],
                        staged.temperature);
}

template <class RunnerOf>
const Distribution &keep_window(SimdRow &row, float *memory, const contract::StageOrder &order,
                                uint32_t xtc_word, bool draws_alone, const RunnerOf &runner_of) {
  const int64_t num_decisive = runner_of(RankedTokens{}).num_decisive(order);
  RowWindows windows(row, memory, num_decisive);
  const RowTokens tokens = {&windows};
  const contract::Staged staged = runner_of(tokens).run(order, windows.count(), xtc_word);
  return windows.keep(staged.window, staged.temperature, draws_alone);
}

}  // namespace sampler::cpu
