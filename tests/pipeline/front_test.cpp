// Penalties of long texts where only a row's first tokens are asked for: of the text only tokens
// that may become one of them need a look. Every output is that of the rows that the oracle has
// edited, by lists and by states, and every report that of the scalar reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "../seed.h"
#include "../sized.h"
#include "handles.h"
#include "problem.h"
#include "reported.h"

namespace pipeline_test::front_test {
namespace {

constexpr std::uint64_t kNumProblems = affordable(400);

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

template <class T>
const T &one_of(Random &random, const std::vector<T> &choices) {
  return choices[at(random.between(0, static_cast<std::int64_t>(choices.size()) - 1))];
}

// Apart, with many ties, nearly all of them -inf, or all alike.
std::vector<float> random_row(Random &random, std::int64_t num_cols) {
  const std::int64_t kind = random.between(0, 5);
  std::vector<float> row;
  for (std::int64_t i = 0; i < num_cols; ++i) {
    const bool is_nothing = kind == 4 && !random.one_in(400);
    const float apart = random.within(-2.0F, 2.0F) * random.within(0.0F, 6.0F);
    row.push_back(is_nothing  ? -kInfinity
                  : kind == 0 ? static_cast<float>(random.between(-3, 3))
                  : kind == 1 ? apart - 20.0F
                  : kind == 5 ? -1.5F
                              : apart);
  }
  if (kind == 3) row[at(random.between(0, num_cols - 1))] = 40.0F;
  return row;
}

// The row's tokens from the likeliest on.
std::vector<std::int64_t> ranked(const std::vector<float> &row) {
  std::vector<std::int64_t> ids(row.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::stable_sort(ids.begin(), ids.end(),
                   [&](std::int64_t a, std::int64_t b) { return row[at(a)] > row[at(b)]; });
  return ids;
}

// Tokens of which some are among the first of the row; some are no ids of it, and some stand where
// those do in a table of 2^10 or 2^15 places.
Text random_text(Random &random, const std::vector<std::int64_t> &first, std::int64_t num_cols,
                 bool has_valid_ids) {
  const std::int64_t length = one_of<std::int64_t>(random, {0, 1, 17, 64, 500, 3000});
  const std::int64_t num_first = one_of<std::int64_t>(random, {0, 1, 3, 30, 200});
  const std::int64_t share = random.between(1, 6);
  Text text;
  for (std::int64_t i = 0; i < length; ++i) {
    std::int64_t id = random.between(0, num_cols - 1);
    if (num_first > 0 && random.one_in(share)) id = first[at(random.between(0, num_first - 1))];
    if (random.one_in(40)) id = first[0] + one_of<std::int64_t>(random, {1 << 10, 1 << 15});
    if (random.one_in(40)) id = one_of<std::int64_t>(random, {num_cols, INT32_MAX});
    if (!has_valid_ids && random.one_in(40)) id = one_of<std::int64_t>(random, {-1, INT32_MIN});
    text.push_back(id);
  }
  return text;
}

void add_other_edits(Random &random, const std::vector<std::int64_t> &first, Problem *problem,
                     Slot *slot) {
  const auto any = [&] { return random.between(0, problem->num_cols - 1); };
  if (problem->has_biased) {
    const Text &text = slot->history;
    const auto last = static_cast<std::int64_t>(text.size()) - 1;
    for (const std::int64_t id : {first[0], first[50], any(), std::int64_t(-1)}) {
      const bool has_occurred = id < 0 && last >= 0;
      slot->biased.push_back(has_occurred ? text[at(random.between(0, last))] : id);
      slot->biases.push_back(one_of<float>(random, {-kInfinity, -1.0F, 0.5F, 30.0F, 3e38F}));
    }
  }
  if (problem->has_banned) slot->banned = {first[0], first[2], any()};
  slot->numbers.dry_multiplier = random.one_in(4) ? 0.8F : 0.0F;
  slot->numbers.no_repeat_ngram_size = random.one_in(6) ? 2 : 0;
}

// Ends that the text's length raises, and tokens without penalties; some have occurred.
void add_decay(Random &random, const std::vector<std::int64_t> &first, Problem *problem) {
  Slot &slot = problem->slots[0];
  const auto length = static_cast<std::int64_t>(slot.history.size());
  const auto occurred = [&] {
    return length > 0 ? slot.history[at(random.between(0, length - 1))] : first[7];
  };
  if (random.one_in(3)) {
    problem->has_stop = true;
    slot.stop = {first[at(random.between(0, 300))], occurred(), occurred()};
    // Little, for much makes all of them the largest f32.
    const std::int64_t output = length - slot.prompt_length;
    slot.numbers.exponential_decay_start =
        static_cast<std::int32_t>(std::max<std::int64_t>(output - random.between(0, 3), 0));
    slot.numbers.exponential_decay_factor = one_of<float>(random, {0.5F, 1.125F, 3.0F});
  }
  problem->has_unpenalized = random.one_in(3);
  if (problem->has_unpenalized) slot.unpenalized = {first[0], occurred(), occurred()};
}

void add_bitmask(Random &random, const std::vector<std::int64_t> &first, Problem *problem) {
  const std::int64_t share = one_of<std::int64_t>(random, {2, 10, 300});
  std::vector<std::uint32_t> mask(at((problem->num_cols + 31) / 32));
  for (std::int64_t id = 0; id < problem->num_cols; ++id) {
    if (random.one_in(share)) mask[at(id / 32)] |= std::uint32_t(1) << (id % 32);
  }
  mask[at(first[1] / 32)] |= std::uint32_t(1) << (first[1] % 32);
  problem->bitmasks = {mask};
}

// Penalties that lower, or with `raises` any.
void add_penalties(Random &random, bool raises, Numbers *numbers) {
  numbers->repetition_penalty = one_of<float>(random, {0.0F, 1.0F, 1.1F, 1.5F, 4.0F});
  numbers->frequency_penalty = one_of<float>(random, {0.0F, 0.01F, 1.0F, 1e38F});
  numbers->presence_penalty = one_of<float>(random, {0.0F, 0.5F, 3.0F});
  if (raises) numbers->repetition_penalty = one_of<float>(random, {1.1F, 0.5F});
  if (raises && random.one_in(2)) numbers->frequency_penalty = -0.5F;
  if (raises && random.one_in(2)) numbers->presence_penalty = -1.0F;
  numbers->penalty_window = one_of<std::int32_t>(random, {0, 0, 1, 64, 2999});
}

// One row.
Problem front_problem(std::uint64_t seed) {
  Random random(seeded(seed));
  Problem problem;
  problem.num_cols = random.one_in(3) ? random.between(2048, 2500) : random.between(9000, 50000);
  problem.rows = {random_row(random, problem.num_cols)};
  problem.slot_of_row = {0};
  problem.has_prompt_lengths = true;
  problem.has_biased = random.one_in(3);
  problem.has_banned = random.one_in(4);
  problem.has_forced_tokens = random.one_in(6);
  problem.penalty_scope = static_cast<std::int32_t>(random.between(0, 2));
  problem.penalty_form = static_cast<std::int32_t>(random.between(0, 2));
  problem.id_type = random.one_in(2) ? SAMPLER_ID_I64 : SAMPLER_ID_I32;
  const std::vector<std::int64_t> first = ranked(problem.rows[0]);
  Slot slot;
  slot.history = random_text(random, first, problem.num_cols, random.one_in(2));
  slot.prompt_length =
      static_cast<std::int32_t>(random.between(0, static_cast<std::int64_t>(slot.history.size())));
  add_penalties(random, random.one_in(5), &slot.numbers);
  add_other_edits(random, first, &problem, &slot);
  if (problem.has_forced_tokens) slot.numbers.forced_token_id = first[at(random.between(0, 99))];
  problem.slots = {slot};
  if (random.one_in(4)) add_bitmask(random, first, &problem);
  if (random.one_in(3)) problem.stages = {4, 3, 5, 2, 1, 6, 16, 17, 18};
  problem.params.temperature = random.one_in(3) ? 0.0F : 0.8F;
  problem.params.top_k = one_of<std::int32_t>(random, {1, 2, 7, 20, 50, 200});
  if (random.one_in(2)) problem.params.top_p = 0.9F;
  if (random.one_in(8)) problem.params.top_k_ties = SAMPLER_TIES_KEEP;
  add_decay(random, first, &problem);
  return problem;
}

bool equal(const Sampled &a, const Sampled &b) {
  const auto same = [](const auto &x, const auto &y) {
    return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof x[0]) == 0;
  };
  return a.token_ids == b.token_ids && a.kept_counts == b.kept_counts && a.status == b.status &&
         same(a.logprobs, b.logprobs);
}

Sampled sample(sampler_t sampler, const Call &call) {
  return sample(sampler, call, SAMPLER_LOGPROB_PROCESSED, SAMPLER_DRAW_INVERSE_CDF);
}

class Front : public testing::TestWithParam<sampler_dtype> {};

TEST_P(Front, OfPenalizedRowsEqualsTheOracle) {
  const std::vector<Handle> handles = handles_of_all_isas();
  const Handle reference = make_handle("scalar", 1);
  std::int64_t num_good = 0;
  for (std::uint64_t seed = 0; seed < kNumProblems; ++seed) {
    SCOPED_TRACE(seed);
    Problem problem = front_problem(seed * 3 + std::uint64_t(GetParam()));
    round_rows(&problem, GetParam());
    const Expected edited_row = {{edited(problem, 0)}, {}};
    const Sampled expected = sample(reference.get(), Call(problem, SAMPLER_F32, &edited_row));
    num_good += expected.status[0] == SAMPLER_ROW_OK ? 1 : 0;
    const Call call(problem, GetParam());
    for (const Handle &handle : handles) ASSERT_TRUE(equal(sample(handle.get(), call), expected));
  }
  EXPECT_GT(num_good, static_cast<std::int64_t>(kNumProblems / 2));
}

// A state with the problem's text. Some count but a few distinct tokens.
sampler_state_t make_state(sampler_t sampler, const Slot &slot, bool counts_few) {
  const auto length = static_cast<std::int64_t>(slot.history.size());
  sampler_state_options options = {};
  options.struct_size = sizeof options;
  options.num_slots = 1;
  options.max_tokens = length + 1;
  options.max_distinct_tokens = counts_few ? length / 3 + 1 : length + 1;
  sampler_state_t state = nullptr;
  EXPECT_EQ(sampler_state_create(sampler, &options, &state), SAMPLER_OK) << sampler_last_error();
  for (const bool is_prompt : {true, false}) {
    const std::int64_t begin = is_prompt ? 0 : slot.prompt_length;
    const std::int64_t end = is_prompt ? slot.prompt_length : length;
    const std::int64_t offsets[] = {0, end - begin};
    sampler_state_append_args args = {};
    args.struct_size = sizeof args;
    args.state = state;
    args.num_rows = 1;
    args.tokens = {offsets, slot.history.data() + begin, 1, end - begin};
    args.token_id_type = SAMPLER_ID_I64;
    args.token_kind = is_prompt ? SAMPLER_TOKENS_PROMPT : SAMPLER_TOKENS_OUTPUT;
    EXPECT_EQ(sampler_state_append(sampler, &args), SAMPLER_OK) << sampler_last_error();
  }
  return state;
}

TEST_P(Front, OfTextsThatAStateHoldsEqualsTheOracle) {
  const std::vector<Handle> handles = handles_of_all_isas();
  const Handle reference = make_handle("scalar", 1);
  for (std::uint64_t seed = 0; seed < kNumProblems / 2; ++seed) {
    SCOPED_TRACE(seed);
    Problem problem = front_problem(seed * 3 + std::uint64_t(GetParam()));
    Text &text = problem.slots[0].history;
    for (std::int64_t &id : text) id = std::max<std::int64_t>(id, 0);
    round_rows(&problem, GetParam());
    const Expected edited_row = {{edited(problem, 0)}, {}};
    const Sampled expected = sample(reference.get(), Call(problem, SAMPLER_F32, &edited_row));
    for (const Handle &handle : handles) {
      Call call(problem, GetParam());
      call.pipeline.history = {};
      call.pipeline.prompt_lengths = nullptr;
      call.pipeline.max_history_tokens = 0;
      call.pipeline.state = make_state(handle.get(), problem.slots[0], seed % 3 == 0);
      const Sampled sampled = sample(handle.get(), call);
      sampler_state_destroy(call.pipeline.state);
      ASSERT_TRUE(equal(sampled, expected));
    }
  }
}

// With other windows after a top-k, and with all reports of what is drawn from.
TEST_P(Front, IsReportedAsByTheReference) {
  const std::vector<Handle> handles = handles_of_all_isas();
  const Handle reference = make_handle("scalar", 1);
  for (std::uint64_t seed = 0; seed < kNumProblems / 2; ++seed) {
    SCOPED_TRACE(seed);
    Problem problem = front_problem(seed * 3 + std::uint64_t(GetParam()));
    Random random(seeded(~seed));
    problem.has_windows = random.one_in(2);
    if (problem.has_windows) {
      problem.stages = {1, 2, 3, 4, 5, 8, 16, 7, 17, 18, 15, 6};
      problem.slots[0].numbers.typical_p = 0.9F;
      problem.slots[0].numbers.xtc_probability = 0.5F;
      problem.slots[0].numbers.min_keep = 2;
    }
    round_rows(&problem, GetParam());
    const Call call(problem, GetParam());
    SampleArgs args = call.args<SampleArgs>();
    args.random.seed = seed;
    args.report_args.logprob_kind = one_of<sampler_logprob_kind>(
        random, {SAMPLER_LOGPROB_PROCESSED, SAMPLER_LOGPROB_RAW, SAMPLER_LOGPROB_EDITED});
    if (random.one_in(3)) args.draw_method = SAMPLER_DRAW_GUMBEL;
    const Sizes sizes = {9, 4, 0, 300, SAMPLER_ID_I64, false};
    const std::vector<std::int64_t> first = ranked(problem.rows[0]);
    const std::vector<std::int64_t> chosen = {first[0], first[5], first[60], -1};
    const Reported expected = report(reference.get(), args, 1, sizes, chosen);
    for (const Handle &handle : handles) {
      const Reported reported = report(handle.get(), args, 1, sizes, chosen);
      ASSERT_EQ(reported.token_ids, expected.token_ids);
      ASSERT_EQ(reported.status, expected.status);
      ASSERT_EQ(reported.top_ids, expected.top_ids);
      ASSERT_EQ(reported.ranks, expected.ranks);
      ASSERT_EQ(reported.kept_ids, expected.kept_ids);
      ASSERT_EQ(reported.bitmask, expected.bitmask);
      for (const auto values : {&Reported::logprobs, &Reported::top_logprobs, &Reported::entropies,
                                &Reported::chosen_logprobs, &Reported::kept_probabilities}) {
        const std::vector<float> &a = reported.*values, &b = expected.*values;
        ASSERT_EQ(a.size(), b.size());
        ASSERT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]), 0);
      }
    }
  }
}

std::string name_of(const testing::TestParamInfo<sampler_dtype> &type) {
  const char *const names[] = {"F32", "F16", "BF16"};
  return names[type.param];
}

INSTANTIATE_TEST_SUITE_P(Types, Front, testing::Values(SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16),
                         name_of);

}  // namespace
}  // namespace pipeline_test::front_test
