#include "adaptive_stage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "oracle.h"

namespace pipeline_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

// The tokens that are kept, in rank order.
struct KeptRow {
  std::vector<std::size_t> elements;
  oracle::Ranked ranked;

  // Place of an element in rank order; none: the number of tokens.
  std::size_t rank_of(std::size_t element) const {
    return static_cast<std::size_t>(std::find(elements.begin(), elements.end(), element) -
                                    elements.begin());
  }
};

std::int64_t id_of(const Problem &problem, std::int64_t row, std::size_t element) {
  return problem.candidate_ids.empty() ? static_cast<std::int64_t>(element)
                                       : problem.candidate_ids[at(row)][element];
}

// `values` by element; those that are no tokens are -inf, or 0 where they are probabilities.
KeptRow kept_row(const Problem &problem, std::int64_t row, const std::vector<float> &values,
                 bool are_logits, float temperature) {
  KeptRow kept = {{}, {{}, are_logits, temperature}};
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] > (are_logits ? -kInfinity : 0.0F)) kept.elements.push_back(i);
  }
  std::sort(kept.elements.begin(), kept.elements.end(), [&](std::size_t a, std::size_t b) {
    return values[a] != values[b] ? values[a] > values[b]
                                  : id_of(problem, row, a) < id_of(problem, row, b);
  });
  for (const std::size_t i : kept.elements) kept.ranked.values.push_back(values[i]);
  return kept;
}

// What the windows keep.
KeptRow kept_row(const Problem &problem, const Expected &staged, std::int64_t row) {
  const bool are_logits = problem.kind == SAMPLER_LOGITS;
  return kept_row(problem, row, staged.rows[at(row)], are_logits,
                  are_logits ? staged.temperatures[at(row)] : 1.0F);
}

std::size_t element_of(const Problem &problem, std::int64_t row, std::int64_t id) {
  std::size_t element = 0;
  while (id_of(problem, row, element) != id) ++element;
  return element;
}

bool is_adaptive_p(const Numbers &numbers) {
  return numbers.adaptive_kind == SAMPLER_ADAPTIVE_P && numbers.adaptive_target >= 0;
}

bool reweighs(const Numbers &numbers) {
  return is_adaptive_p(numbers) ||
         (numbers.adaptive_kind == SAMPLER_ADAPTIVE_SMOOTHING && numbers.adaptive_target > 0);
}

// The row of the new logits, by element.
std::vector<float> logits_of_kept(const Problem &problem, const KeptRow &kept, std::int64_t row) {
  const Numbers &numbers = problem.numbers(row);
  const std::vector<float> y =
      is_adaptive_p(numbers)
          ? oracle::adaptive_p_logits(kept.ranked, adaptive_start(problem, row).sums,
                                      numbers.adaptive_target)
          : oracle::smoothed_logits(kept.ranked, numbers.adaptive_target, numbers.adaptive_rate);
  std::vector<float> logits(problem.rows[at(row)].size(), -kInfinity);
  for (std::size_t i = 0; i < y.size(); ++i) logits[kept.elements[i]] = y[i];
  return logits;
}

KeptRow reweigh(const Problem &problem, const KeptRow &kept, std::int64_t row) {
  return kept_row(problem, row, logits_of_kept(problem, kept, row), true, 1);
}

// By ascending id the first at which the running sum exceeds the word's share of the total.
std::size_t draw_by_weight(const Problem &problem, const KeptRow &kept, std::int64_t row,
                           std::uint64_t word) {
  std::vector<std::size_t> by_id(kept.elements.size());
  std::iota(by_id.begin(), by_id.end(), std::size_t{0});
  std::sort(by_id.begin(), by_id.end(), [&](std::size_t a, std::size_t b) {
    return id_of(problem, row, kept.elements[a]) < id_of(problem, row, kept.elements[b]);
  });
  const std::vector<std::uint64_t> weights = oracle::weights_of(kept.ranked);
  __extension__ using Wide = unsigned __int128;
  const auto target =
      static_cast<std::uint64_t>((Wide{word} * oracle::total_weight(kept.ranked)) >> 64);
  std::uint64_t sum = 0;
  std::size_t place = 0;
  while ((sum += weights[by_id[place]]) <= target) ++place;
  return kept.elements[by_id[place]];
}

// The plain draw from the new logits, at temperature 1.
std::int64_t draw_by_gumbel(const Problem &problem, const KeptRow &kept, std::int64_t row,
                            sampler_t sampler) {
  const std::vector<float> values = logits_of_kept(problem, kept, row);
  std::vector<std::int64_t> ids;
  for (std::size_t i = 0; i < values.size(); ++i) ids.push_back(id_of(problem, row, i));

  sampler_params params = sampler_params_default();
  const std::uint64_t seed = Call::seed_of(row);
  std::int64_t token = -1;
  auto args = sampler_sample_args();
  args.struct_size = sizeof args;
  args.input.values = values.data();
  args.input.num_rows = 1;
  args.input.num_cols = static_cast<std::int64_t>(values.size());
  args.input.candidate_ids = ids.data();
  args.input.candidate_id_type = SAMPLER_ID_I64;
  args.params = &params;
  args.random.seeds = &seed;
  args.random.num_seeds = 1;
  args.random.offset = Call::kOffset;
  args.draw_method = SAMPLER_DRAW_GUMBEL;
  args.token_id_type = SAMPLER_ID_I64;
  args.out_token_ids = &token;
  const auto memory = workspace_of(sampler, &args, &sampler_sample_workspace_size);
  EXPECT_EQ(sampler_sample(sampler, &args), SAMPLER_OK) << sampler_last_error();
  return token;
}

// The row is good and not greedy.
void adapt_row(const Problem &problem, const Expected &staged, sampler_draw_method draw,
               sampler_t sampler, std::int64_t row, Sampled *sampled) {
  const Numbers &numbers = problem.numbers(row);
  const KeptRow kept = kept_row(problem, staged, row);
  const std::int64_t forced =
      problem.has_forced_tokens ? problem.slot(row).numbers.forced_token_id : -1;
  std::int64_t token = sampled->token_ids[at(row)];
  KeptRow new_row;
  if (reweighs(numbers)) {
    new_row = reweigh(problem, kept, row);
    const std::uint64_t word =
        oracle::word64({Call::seed_of(row), Call::kOffset, 0}, oracle::kSample, 0);
    if (forced < 0 && draw == SAMPLER_DRAW_GUMBEL) {
      token = draw_by_gumbel(problem, kept, row, sampler);
    } else if (forced < 0) {
      token = id_of(problem, row, draw_by_weight(problem, new_row, row, word));
    }
  }
  const std::size_t element = element_of(problem, row, token);
  const std::size_t rank = kept.rank_of(element);
  sampled->token_ids[at(row)] = static_cast<std::int32_t>(token);
  if (rank == kept.elements.size()) return;  // forced, and not kept
  const auto surprise_in = [&](const KeptRow &tokens) {
    return oracle::mirostat_observation(
        oracle::relative_log2(tokens.ranked, tokens.rank_of(element)),
        oracle::total_weight(tokens.ranked));
  };
  if (reweighs(numbers)) {
    constexpr float kLn2 = 0x1.62e430p-1F;
    sampled->logprobs[at(row)] = (0.0F - surprise_in(new_row)) * kLn2;
  }
  if (is_adaptive_p(numbers)) {
    sampled->observations[at(row)] = oracle::adaptive_p_probabilities(kept.ranked)[rank];
  } else if (numbers.adaptive_kind == SAMPLER_ADAPTIVE_MIROSTAT_V1 ||
             numbers.adaptive_kind == SAMPLER_ADAPTIVE_MIROSTAT_V2) {
    sampled->observations[at(row)] = surprise_in(kept);
  }
}

bool is_adapted(const Expected &staged, const std::vector<sampler_row_status> &status,
                std::int64_t row) {
  return status[at(row)] == SAMPLER_ROW_OK && !staged.temperatures.empty() &&
         staged.temperatures[at(row)] > 1e-5F;
}

}  // namespace

AdaptiveStart adaptive_start(const Problem &problem, std::int64_t row) {
  const Numbers &n = problem.numbers(row);
  const auto unless_nan = [](float x, float start) { return std::isnan(x) ? start : x; };
  const float nan = std::nanf("");
  const auto own = problem.has_adaptive_values
                       ? problem.slot(row).adaptive_values
                       : std::array<float, SAMPLER_NUM_ADAPTIVE_VALUES>{nan, nan, nan, nan};
  AdaptiveStart start = {};
  start.mu = unless_nan(own[0], 2 * (n.adaptive_target == 0 ? 5.0F : n.adaptive_target));
  start.sums = {own[1], own[2]};
  if (std::isnan(own[1]) || std::isnan(own[2])) {
    const float decay = n.adaptive_rate == 0 ? 0.9F : std::clamp(n.adaptive_rate, 0.0F, 0.99F);
    start.sums = oracle::adaptive_p_start(std::min(n.adaptive_target, 1.0F), decay);
  }
  const float top_p = problem.params.top_p;
  const bool decays = n.top_p_decay > 0 && n.top_p_decay < 1;
  start.top_p = decays ? unless_nan(own[3], std::clamp(top_p, 0.0F, 1.0F)) : top_p;
  return start;
}

oracle::RankedTokens reweighed_tokens(const Problem &problem, const Expected &staged,
                                      std::int64_t row) {
  if (!reweighs(problem.numbers(row)) || staged.temperatures[at(row)] <= 1e-5F) return {};
  const KeptRow kept = kept_row(problem, staged, row);
  const KeptRow new_row = reweigh(problem, kept, row);
  oracle::RankedTokens tokens = {{}, new_row.ranked.values};
  for (const std::size_t i : new_row.elements) tokens.ids.push_back(id_of(problem, row, i));
  return tokens;
}

void adapt(const Problem &problem, const Expected &staged, sampler_draw_method draw,
           sampler_t sampler, Sampled *sampled) {
  for (std::int64_t row = 0; row < problem.num_rows(); ++row) {
    if (!is_adapted(staged, sampled->status, row)) continue;
    adapt_row(problem, staged, draw, sampler, row, sampled);
  }
}

void adapt(const Problem &problem, const Expected &staged, Filtered *filtered) {
  for (std::int64_t row = 0; row < problem.num_rows(); ++row) {
    if (!reweighs(problem.numbers(row)) || !is_adapted(staged, filtered->status, row)) continue;
    const KeptRow kept = kept_row(problem, staged, row);
    const KeptRow new_row = reweigh(problem, kept, row);
    const std::vector<float> probabilities = oracle::probabilities_of(new_row.ranked);
    for (std::size_t i = 0; i < probabilities.size(); ++i) {
      filtered->output[at(row * problem.num_cols) + new_row.elements[i]] = probabilities[i];
    }
  }
}

}  // namespace pipeline_test
