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

// The tokens that the windows keep, in rank order.
struct KeptRow {
  std::vector<std::size_t> elements;
  oracle::Ranked ranked;
  std::uint64_t weight = 0;

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

KeptRow kept_row(const Problem &problem, const Expected &staged, std::int64_t row) {
  const std::vector<float> &values = staged.rows[at(row)];
  const bool are_logits = problem.kind == SAMPLER_LOGITS;
  KeptRow kept = {{}, {{}, are_logits, are_logits ? staged.temperatures[at(row)] : 1.0F}};
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] > (are_logits ? -kInfinity : 0.0F)) kept.elements.push_back(i);
  }
  std::sort(kept.elements.begin(), kept.elements.end(), [&](std::size_t a, std::size_t b) {
    return values[a] != values[b] ? values[a] > values[b]
                                  : id_of(problem, row, a) < id_of(problem, row, b);
  });
  for (const std::size_t i : kept.elements) kept.ranked.values.push_back(values[i]);
  for (const std::uint64_t weight : oracle::weights_of(kept.ranked)) kept.weight += weight;
  return kept;
}

std::size_t element_of(const Problem &problem, std::int64_t row, std::int64_t id) {
  std::size_t element = 0;
  while (id_of(problem, row, element) != id) ++element;
  return element;
}

bool is_adaptive_p(const Numbers &numbers) {
  return numbers.adaptive_kind == SAMPLER_ADAPTIVE_P && numbers.adaptive_target >= 0;
}

// The tokens of a row with adaptive-p.
struct Reweighed {
  std::vector<float> y;
  std::vector<std::uint64_t> weights;
  std::uint64_t total = 0;
};

Reweighed reweigh(const Problem &problem, const KeptRow &kept, std::int64_t row) {
  Reweighed result;
  result.y = oracle::adaptive_p_log2(oracle::probabilities_of(kept.ranked),
                                     adaptive_start(problem, row).sums,
                                     problem.numbers(row).adaptive_target);
  for (const float y : result.y) {
    result.weights.push_back(oracle::weight_of_relative(oracle::relative_of_log2(y)));
    result.total += result.weights.back();
  }
  return result;
}

// By ascending id the first at which the running sum exceeds the word's share of the total.
std::size_t draw_by_weight(const Problem &problem, const KeptRow &kept, const Reweighed &new_row,
                           std::int64_t row, std::uint64_t word) {
  std::vector<std::size_t> by_id(kept.elements.size());
  std::iota(by_id.begin(), by_id.end(), std::size_t{0});
  std::sort(by_id.begin(), by_id.end(), [&](std::size_t a, std::size_t b) {
    return id_of(problem, row, kept.elements[a]) < id_of(problem, row, kept.elements[b]);
  });
  __extension__ using Wide = unsigned __int128;
  const auto target = static_cast<std::uint64_t>((Wide{word} * new_row.total) >> 64);
  std::uint64_t sum = 0;
  std::size_t place = 0;
  while ((sum += new_row.weights[by_id[place]]) <= target) ++place;
  return by_id[place];
}

// The highest y + noise: the plain draw from logits y at the temperature at which c of 4.1 is 1.
std::int64_t draw_by_gumbel(const Problem &problem, const KeptRow &kept, const Reweighed &new_row,
                            std::int64_t row, sampler_t sampler) {
  std::vector<float> values(problem.rows[at(row)].size(), -kInfinity);
  std::vector<std::int64_t> ids;
  for (std::size_t i = 0; i < values.size(); ++i) ids.push_back(id_of(problem, row, i));
  for (std::size_t i = 0; i < kept.elements.size(); ++i) values[kept.elements[i]] = new_row.y[i];

  sampler_params params = sampler_params_default();
  params.temperature = 0x1.715476p+0F;
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

// Of a row that is good and not greedy.
void adapt_row(const Problem &problem, const Expected &staged, sampler_draw_method draw,
               sampler_t sampler, std::int64_t row, Sampled *sampled) {
  const Numbers &numbers = problem.numbers(row);
  const KeptRow kept = kept_row(problem, staged, row);
  const std::int64_t forced =
      problem.has_forced_tokens ? problem.slot(row).numbers.forced_token_id : -1;
  std::int64_t token = sampled->token_ids[at(row)];
  Reweighed new_row;
  if (is_adaptive_p(numbers)) {
    new_row = reweigh(problem, kept, row);
    const std::uint64_t word =
        oracle::word64({Call::seed_of(row), Call::kOffset, 0}, oracle::kSample, 0);
    if (forced < 0 && draw == SAMPLER_DRAW_GUMBEL) {
      token = draw_by_gumbel(problem, kept, new_row, row, sampler);
    } else if (forced < 0) {
      const std::size_t place = draw_by_weight(problem, kept, new_row, row, word);
      token = id_of(problem, row, kept.elements[place]);
    }
  }
  const std::size_t element = element_of(problem, row, token);
  const std::size_t rank = kept.rank_of(element);
  sampled->token_ids[at(row)] = static_cast<std::int32_t>(token);
  if (rank == kept.elements.size()) return;  // forced, and not kept
  if (is_adaptive_p(numbers)) {
    constexpr float kLn2 = 0x1.62e430p-1F;
    const float r = (new_row.y[rank] - 1.0F) + 1.0F;
    const float log2_total = oracle::mirostat_observation(0, new_row.total);
    sampled->logprobs[at(row)] = (r - log2_total) * kLn2;
    sampled->observations[at(row)] = oracle::probabilities_of(kept.ranked)[rank];
  } else if (numbers.adaptive_kind == SAMPLER_ADAPTIVE_MIROSTAT_V1 ||
             numbers.adaptive_kind == SAMPLER_ADAPTIVE_MIROSTAT_V2) {
    sampled->observations[at(row)] =
        oracle::mirostat_observation(oracle::relative_log2(kept.ranked, rank), kept.weight);
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

oracle::RankedTokens adaptive_p_tokens(const Problem &problem, const Expected &staged,
                                       std::int64_t row) {
  if (!is_adaptive_p(problem.numbers(row)) || staged.temperatures[at(row)] <= 1e-5F) return {};
  const KeptRow kept = kept_row(problem, staged, row);
  std::vector<std::int64_t> ids;
  for (const std::size_t i : kept.elements) ids.push_back(id_of(problem, row, i));
  return oracle::in_rank_order(ids, reweigh(problem, kept, row).y, true);
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
    const bool is_adaptive = is_adaptive_p(problem.numbers(row));
    if (!is_adaptive || !is_adapted(staged, filtered->status, row)) continue;
    const KeptRow kept = kept_row(problem, staged, row);
    const Reweighed new_row = reweigh(problem, kept, row);
    const auto g = static_cast<float>(0x1p44 / static_cast<double>(new_row.total));
    for (std::size_t i = 0; i < kept.elements.size(); ++i) {
      filtered->output[at(row * problem.num_cols) + kept.elements[i]] =
          oracle::relative_of_log2(new_row.y[i]) * g;
    }
  }
}

}  // namespace pipeline_test
