// Lists that no pipeline may have make their own rows bad, with a status that says why, and no
// others.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "problem.h"

namespace pipeline_test::bad_lists_test {
namespace {

constexpr std::int64_t kNumRows = 4;
constexpr std::size_t kBadRow = 2;  // and slot
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Four rows, each with all kinds of lists.
Problem full_problem() {
  Problem problem;
  problem.num_cols = 40;
  problem.has_biased = problem.has_dense_bias = problem.has_allowed = problem.has_banned = true;
  problem.has_stop = problem.has_unpenalized = problem.has_bad_words =
      problem.has_bad_word_offsets = true;
  problem.has_prompt_lengths = problem.has_windows = problem.numbers_by_slot = true;
  problem.bad_words = {{1, 2}, {3}, {2, 2, 4}, {5}};
  problem.breakers = {{6}, {7, 8}, {9}};
  problem.bitmasks = {{~0U, ~0U}, {~8U, ~0U}};
  problem.bitmask_indices = {-1, 0, 1, 1};
  problem.guidance.assign(2, std::vector<float>(40, 0.5F));
  problem.guidance_indices = {0, -1, 1, 1};
  Random random(1);
  for (std::int64_t row = 0; row < kNumRows; ++row) {
    std::vector<float> values(40);
    for (float &x : values) x = random.within(-4.0F, 4.0F);
    problem.rows.push_back(values);
    problem.slot_of_row.push_back(static_cast<std::int32_t>(row));
    Slot slot;
    slot.history = {1, 2, 3, 1, 2, 3, 1, 2};
    slot.prompt_length = 4;
    slot.numbers.guidance_scale = 1.5F;
    slot.numbers.repetition_penalty = 1.2F;
    slot.numbers.dry_multiplier = 0.8F;
    slot.numbers.no_repeat_ngram_size = 3;
    slot.numbers.min_new_tokens = 9;
    slot.numbers.typical_p = 0.9F;
    slot.biased = {4, 5};
    slot.biases = {1.0F, -2.0F};
    slot.dense_bias.assign(40, 0.25F);
    for (std::int64_t id = 0; id < 38; ++id) slot.allowed.push_back(id);
    slot.banned = {11};
    slot.stop = {12, 13};
    slot.unpenalized = {3};
    slot.numbers.exponential_decay_factor = 1.5F;
    slot.first_bad_word = row;
    slot.end_of_bad_words = row + 1;
    problem.slots.push_back(slot);
  }
  return problem;
}

struct Handle {
  Handle() { EXPECT_EQ(sampler_create(nullptr, &sampler), SAMPLER_OK) << sampler_last_error(); }
  ~Handle() { sampler_destroy(sampler); }
  sampler_t sampler = nullptr;
};

Sampled run(const Handle &handle, const Call &call) {
  return sample(handle.sampler, call, SAMPLER_LOGPROB_RAW, SAMPLER_DRAW_INVERSE_CDF);
}

// The bad row alone has the status; the others have the outputs that they have without it.
void expect_bad(const std::string &what, const Sampled &bad, const Sampled &good,
                sampler_row_status status, std::size_t bad_row = kBadRow) {
  SCOPED_TRACE(what);
  for (std::size_t row = 0; row < kNumRows; ++row) {
    if (row == bad_row) {
      EXPECT_EQ(bad.status[row], status);
      EXPECT_EQ(bad.token_ids[row], -1);
      EXPECT_EQ(bad.kept_counts[row], 0);
      EXPECT_TRUE(std::isnan(bad.logprobs[row]) && std::isnan(bad.values[row]));
      continue;
    }
    EXPECT_EQ(bad.status[row], SAMPLER_ROW_OK);
    EXPECT_EQ(bad.token_ids[row], good.token_ids[row]);
    EXPECT_EQ(bad.kept_counts[row], good.kept_counts[row]);
    EXPECT_EQ(bad.logprobs[row], good.logprobs[row]);
  }
}

// Offsets copied, to be broken.
struct Offsets {
  Offsets(const std::int64_t *from, std::int64_t num_lists) : copy(from, from + num_lists + 1) {}
  std::vector<std::int64_t> copy;
};

TEST(BadLists, MakeTheirOwnRowsBad) {
  const Handle handle;
  const Problem problem = full_problem();
  const Call usual(problem, SAMPLER_F32);
  const Sampled good = run(handle, usual);
  for (const sampler_row_status status : good.status) ASSERT_EQ(status, SAMPLER_ROW_OK);

  const std::pair<const char *, sampler_token_lists sampler_pipeline::*> lists[] = {
      {"history", &sampler_pipeline::history}, {"biased", &sampler_pipeline::biased},
      {"allowed", &sampler_pipeline::allowed}, {"banned", &sampler_pipeline::banned},
      {"stop", &sampler_pipeline::stop},       {"unpenalized", &sampler_pipeline::unpenalized}};
  for (const auto &[name, member] : lists) {
    // The last list, whose end is nobody else's begin; the slots change places with it.
    Problem moved = problem;
    moved.has_slots = true;
    moved.slot_of_row = {0, 1, 3, 2};
    const Call ordinary(moved, SAMPLER_F32);
    const Sampled expected = run(handle, ordinary);
    for (const std::int64_t end : {std::int64_t(0), std::int64_t(1) << 40, INT64_MAX, INT64_MIN}) {
      Call call(moved, SAMPLER_F32);
      Offsets offsets((call.pipeline.*member).offsets, kNumRows);
      offsets.copy[kNumRows] = end;
      (call.pipeline.*member).offsets = offsets.copy.data();
      expect_bad(name, run(handle, call), expected, SAMPLER_ROW_INVALID_LIST);
    }
  }
}

TEST(BadLists, OfOtherKinds) {
  const Handle handle;
  const Problem problem = full_problem();
  const Sampled good = run(handle, Call(problem, SAMPLER_F32));
  const auto with = [&](const std::string &what, const std::function<void(Problem *)> &change,
                        sampler_row_status status) {
    Problem changed = problem;
    change(&changed);
    expect_bad(what, run(handle, Call(changed, SAMPLER_F32)), good, status);
  };
  const auto with_number = [&](const std::string &what, auto member, auto value) {
    with(
        what, [&](Problem *p) { p->slots[kBadRow].numbers.*member = value; },
        SAMPLER_ROW_INVALID_PARAMETER);
  };
  for (const std::int32_t length : {-1, 9, INT32_MAX, INT32_MIN}) {
    with(
        "prompt length", [&](Problem *p) { p->slots[kBadRow].prompt_length = length; },
        SAMPLER_ROW_INVALID_LIST);
  }
  for (const float bias : {kInfinity, std::nanf("")}) {
    with(
        "bias", [&](Problem *p) { p->slots[kBadRow].biases[1] = bias; },
        SAMPLER_ROW_INVALID_PARAMETER);
    with(
        "dense bias", [&](Problem *p) { p->slots[kBadRow].dense_bias[20] = bias; },
        SAMPLER_ROW_INVALID_VALUE);
    with(
        "guidance",
        [&](Problem *p) {
          p->guidance.emplace_back(40, 0.5F);
          p->guidance[2][7] = bias;
          p->guidance_indices[kBadRow] = 2;
        },
        SAMPLER_ROW_INVALID_VALUE);
  }
  with(
      "all tokens banned",
      [&](Problem *p) {
        for (std::int64_t id = 0; id < 40; ++id) p->slots[kBadRow].banned.push_back(id);
      },
      SAMPLER_ROW_EMPTY);
  for (const std::int32_t mask : {2, INT32_MAX}) {
    with(
        "mask", [&](Problem *p) { p->bitmask_indices[kBadRow] = mask; }, SAMPLER_ROW_INVALID_INDEX);
  }
  for (const std::int32_t row : {2, INT32_MAX}) {
    with(
        "row of guidance", [&](Problem *p) { p->guidance_indices[kBadRow] = row; },
        SAMPLER_ROW_INVALID_INDEX);
  }
  with(
      "a word without tokens", [](Problem *p) { p->bad_words[kBadRow] = {}; },
      SAMPLER_ROW_INVALID_LIST);
  for (const float x : {-1.0F, kInfinity, std::nanf("")}) {
    with_number("repetition", &Numbers::repetition_penalty, x);
  }
  for (const float x : {kInfinity, -kInfinity, std::nanf("")}) {
    with_number("guidance", &Numbers::guidance_scale, x);
    with_number("frequency", &Numbers::frequency_penalty, x);
    with_number("presence", &Numbers::presence_penalty, x);
  }
  for (const auto member :
       {&Numbers::dry_multiplier, &Numbers::dry_base, &Numbers::dynamic_temperature_range,
        &Numbers::dynamic_temperature_exponent, &Numbers::typical_p, &Numbers::top_n_sigma,
        &Numbers::epsilon_cutoff, &Numbers::eta_cutoff, &Numbers::top_h, &Numbers::min_k,
        &Numbers::top_a, &Numbers::xtc_probability, &Numbers::xtc_threshold}) {
    with_number("NaN", member, std::nanf(""));
  }
  for (const std::int32_t kind : {-1, 3, INT32_MIN, INT32_MAX}) {
    with_number("p-less", &Numbers::p_less, kind);
  }
}

// Numbers of stages that are off, in a call that has no other stage.
TEST(BadNumbers, OfNoStageMakeTheirOwnRowsBad) {
  const Handle handle;
  const std::vector<float> logits(kNumRows * 8, 0.5F);
  const float nan = std::nanf("");
  const std::pair<const float * sampler_row_params::*, std::vector<float>> numbers[] = {
      {&sampler_row_params::dry_base, {nan}},
      {&sampler_row_params::dynamic_temperature_exponent, {nan}},
      {&sampler_row_params::xtc_threshold, {nan}},
      {&sampler_row_params::adaptive_target, {nan, kInfinity, -kInfinity}},
      {&sampler_row_params::adaptive_rate, {nan, kInfinity, -kInfinity}},
      {&sampler_row_params::top_p_least, {nan, kInfinity, -kInfinity}}};
  for (const auto &[member, bad_ones] : numbers) {
    for (const float bad : bad_ones) {
      std::vector<float> values(kNumRows, 1.0F);
      values[kBadRow] = bad;
      sampler_row_params row_params = {};
      row_params.struct_size = sizeof row_params;
      row_params.*member = values.data();
      std::vector<std::int32_t> tokens(kNumRows);
      std::vector<sampler_row_status> status(kNumRows);
      std::vector<unsigned char> workspace(1 << 16);
      sampler_sample_args args = {};
      args.struct_size = sizeof args;
      args.input.values = logits.data();
      args.input.num_rows = kNumRows;
      args.input.num_cols = 8;
      args.row_params = &row_params;
      args.exec.workspace = workspace.data();
      args.exec.workspace_bytes = workspace.size();
      args.out_token_ids = tokens.data();
      args.out_row_status = status.data();
      ASSERT_EQ(sampler_sample(handle.sampler, &args), SAMPLER_OK) << sampler_last_error();
      std::vector<sampler_row_status> expected(kNumRows, SAMPLER_ROW_OK);
      expected[kBadRow] = SAMPLER_ROW_INVALID_PARAMETER;
      EXPECT_EQ(status, expected) << bad;
      EXPECT_EQ(tokens[kBadRow], -1);

      std::vector<float> probabilities(kNumRows * 8);
      sampler_filter_args filter = {};
      filter.struct_size = sizeof filter;
      filter.input = args.input;
      filter.row_params = &row_params;
      filter.exec = args.exec;
      filter.output = probabilities.data();
      filter.out_row_status = status.data();
      status.assign(kNumRows, SAMPLER_ROW_OK);
      ASSERT_EQ(sampler_filter(handle.sampler, &filter), SAMPLER_OK) << sampler_last_error();
      EXPECT_EQ(status, expected) << bad;
    }
  }
}

// The last ones, whose ends are nobody else's begins.
TEST(BadLists, OfBadWordsBySlot) {
  const Handle handle;
  const Problem problem = full_problem();
  const Sampled good = run(handle, Call(problem, SAMPLER_F32));
  for (const std::int64_t end : {INT64_MIN, std::int64_t(-1), std::int64_t(2), INT64_MAX}) {
    Call call(problem, SAMPLER_F32);
    Offsets words(call.pipeline.bad_words.offsets, 4);
    words.copy[4] = end;
    call.pipeline.bad_words.offsets = words.copy.data();
    expect_bad("a word", run(handle, call), good, SAMPLER_ROW_INVALID_LIST, 3);
  }
  for (const std::int64_t end :
       {INT64_MIN, std::int64_t(-1), std::int64_t(2), std::int64_t(5), INT64_MAX}) {
    Call call(problem, SAMPLER_F32);
    Offsets offsets(call.pipeline.bad_word_offsets, kNumRows);
    offsets.copy[kNumRows] = end;
    call.pipeline.bad_word_offsets = offsets.copy.data();
    expect_bad("a slot's words", run(handle, call), good, SAMPLER_ROW_INVALID_LIST, 3);
  }
}

TEST(BadLists, OfAHistoryThatIsTooLong) {
  const Handle handle;
  Problem problem = full_problem();
  problem.slots[kBadRow].history.push_back(1);
  const Sampled good = run(handle, Call(full_problem(), SAMPLER_F32));
  Call call(problem, SAMPLER_F32);
  call.pipeline.max_history_tokens = 8;
  expect_bad("length", run(handle, call), good, SAMPLER_ROW_INVALID_LIST);
  call.pipeline.max_history_tokens = 9;
  EXPECT_EQ(run(handle, call).status[kBadRow], SAMPLER_ROW_OK);
}

// Breakers are one list for all: rows without DRY do not mind them.
TEST(BadLists, OfBreakers) {
  const Handle handle;
  const std::vector<std::vector<Text>> bad_breakers = {{{7}, {6}}, {{6}, {6}},    {{6}, {}},
                                                       {{}},       {Text(21, 1)}, {{6, 1}, {6}}};
  for (const auto &breakers : bad_breakers) {
    Problem problem = full_problem();
    problem.breakers = breakers;
    for (std::size_t i = 0; i < kNumRows; ++i) {
      if (i != kBadRow) problem.slots[i].numbers.dry_multiplier = 0;
    }
    Problem without = problem;
    without.breakers.clear();
    const Sampled good = run(handle, Call(without, SAMPLER_F32));
    expect_bad("breakers", run(handle, Call(problem, SAMPLER_F32)), good, SAMPLER_ROW_INVALID_LIST);
  }
  Problem one = full_problem();
  for (std::size_t i = 0; i < kNumRows; ++i) {
    if (i != kBadRow) one.slots[i].numbers.dry_multiplier = 0;
  }
  const Sampled good = run(handle, Call(one, SAMPLER_F32));
  for (const std::int64_t end : {INT64_MIN, std::int64_t(-1), std::int64_t(2), INT64_MAX}) {
    Call call(one, SAMPLER_F32);
    Offsets offsets(call.pipeline.dry_breakers.offsets, 3);
    offsets.copy[3] = end;
    call.pipeline.dry_breakers.offsets = offsets.copy.data();
    expect_bad("offsets", run(handle, call), good, SAMPLER_ROW_INVALID_LIST);
  }
  Problem problem = full_problem();
  problem.breakers = {Text(20, 1), {2}};
  for (const auto status : run(handle, Call(problem, SAMPLER_F32)).status) {
    EXPECT_EQ(status, SAMPLER_ROW_OK);
  }
}

TEST(ForcedTokens, MustBeElements) {
  const Handle handle;
  Problem problem = full_problem();
  problem.has_forced_tokens = true;
  for (const std::int64_t id : {std::int64_t(40), std::int64_t(1) << 33, INT64_MAX}) {
    problem.slots[kBadRow].numbers.forced_token_id = id;
    const Sampled sampled = run(handle, Call(problem, SAMPLER_F32));
    EXPECT_EQ(sampled.status[kBadRow], SAMPLER_ROW_INVALID_PARAMETER);
    EXPECT_EQ(sampled.token_ids[kBadRow], -1);
  }
  // One that is banned is yielded all the same.
  problem.slots[kBadRow].numbers.forced_token_id = 11;
  const Sampled sampled = sample(handle.sampler, Call(problem, SAMPLER_F32),
                                 SAMPLER_LOGPROB_PROCESSED, SAMPLER_DRAW_INVERSE_CDF);
  EXPECT_EQ(sampled.status[kBadRow], SAMPLER_ROW_OK);
  EXPECT_EQ(sampled.token_ids[kBadRow], 11);
  EXPECT_EQ(sampled.logprobs[kBadRow], -kInfinity);
}

}  // namespace
}  // namespace pipeline_test::bad_lists_test
