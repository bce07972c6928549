// Sequences that are bad, and arguments that break a rule. A bad sequence says why, and its
// neighbours are what they are without it; a call that is refused names the member and writes
// nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../seed.h"
#include "../sized.h"
#include "handles.h"
#include "random_problem.h"

namespace verification_test::bad_input_test {
namespace {

using pipeline_test::Handles;

constexpr std::int64_t kBad = 2;  // the sequence that is spoiled

// Six sequences with all of their drafts, by SAMPLE_MATCH or another rule.
Problem good_problem(sampler_acceptance rule, bool is_tree, bool has_stages) {
  for (std::uint64_t seed = 0;; ++seed) {
    Random random(seeded(seed));
    Kind kind;
    kind.rule = rule;
    kind.is_tree = is_tree;
    kind.has_stages = has_stages;
    kind.has_reports = true;
    kind.has_bad_ids = kind.has_greedy_rows = false;
    Problem problem = random_problem(&random, kind);
    if (problem.num_drafts < 4 || problem.num_sequences() < 4 || !problem.has_draft_rows ||
        problem.num_cols < 10 || problem.kind != SAMPLER_LOGITS || problem.num_top == 0 ||
        problem.kept_capacity == 0 || (has_stages && problem.masks.empty())) {
      continue;
    }
    const bool is_full = std::all_of(
        problem.sequences.begin(), problem.sequences.end(),
        [&](const Sequence &sequence) { return sequence.num_drafts() == problem.num_drafts; });
    problem.has_draft_numbers_by_slot = false;
    if (is_full) return problem;
  }
}

void expect_bad(const Problem &problem, const Outcome &outcome, sampler_row_status status) {
  const std::size_t each = at(problem.num_drafts + 1);
  const std::vector<std::int64_t> none(each, -1), zeros(each, 0), nans(each, 0x7FC00000);
  EXPECT_EQ(outcome.at("tokens"), none);
  EXPECT_EQ(outcome.at("accepted")[0], 0);
  EXPECT_EQ(outcome.at("emitted")[0], 0);
  EXPECT_EQ(outcome.at("status")[0], std::int64_t(status));
  EXPECT_EQ(outcome.at("positions"), none);
  EXPECT_EQ(outcome.at("kv"), none);
  EXPECT_EQ(outcome.at("kept_counts"), zeros);
  EXPECT_EQ(outcome.at("ranks"), zeros);
  EXPECT_EQ(outcome.at("logprobs"), nans);
  EXPECT_EQ(outcome.at("entropies"), nans);
  EXPECT_EQ(outcome.at("observations"), nans);
  for (const std::int64_t word : outcome.at("kept_bitmask")) EXPECT_EQ(word, 0);
  for (const std::int64_t id : outcome.at("top_ids")) EXPECT_EQ(id, -1);
  for (const std::int64_t x : outcome.at("top_logprobs")) EXPECT_EQ(x, 0x7FC00000);
  for (const std::int64_t id : outcome.at("kept_ids")) EXPECT_EQ(id, -1);
  for (const std::int64_t p : outcome.at("kept_probabilities")) EXPECT_EQ(p, 0);
}

using Change = std::function<void(Call *)>;

// `status` 0: the sequence is as it was, too.
void expect_row(const Problem &problem, const Layout &layout, const Change &spoil,
                sampler_row_status status, const std::string &what) {
  SCOPED_TRACE(what);
  const Handles handles;
  for (const bool is_simd : {false, true}) {
    sampler_t const sampler = is_simd ? handles.simd.get() : handles.reference.get();
    const auto good = verify(sampler, problem, layout);
    Call call(sampler, problem, layout);
    spoil(&call);
    ASSERT_EQ(call.run(), SAMPLER_OK) << sampler_last_error();
    const auto outcomes = call.outcomes();
    for (std::int64_t s = 0; s < problem.num_sequences(); ++s) {
      if (s == kBad && status != 0) {
        expect_bad(problem, outcomes[at(s)], status);
      } else {
        EXPECT_EQ(difference(good[at(s)], outcomes[at(s)]), "") << "sequence " << s;
      }
    }
  }
}

TEST(BadTrees, MakeTheirSequenceBad) {
  for (const sampler_acceptance rule :
       {SAMPLER_ACCEPT_STANDARD, SAMPLER_ACCEPT_SAMPLE_MATCH, SAMPLER_ACCEPT_THRESHOLD}) {
    const Problem problem = good_problem(rule, true, false);
    const std::int64_t most = problem.num_drafts;
    Layout by_parents, by_tables;
    by_parents.tree = Layout::Tree::kParents;
    by_tables.tree = Layout::Tree::kTables;
    const auto parent = [&](std::int64_t node, std::int32_t value, sampler_row_status status,
                            const char *what) {
      expect_row(
          problem, by_parents, [=](Call *call) { call->parents[at(kBad * most + node)] = value; },
          status, what);
    };
    const sampler_row_status bad = SAMPLER_ROW_INVALID_TREE;
    parent(0, 0, bad, "hangs on itself");
    parent(2, 2, bad, "hangs on itself, later");
    parent(1, 2, bad, "hangs on a later one");
    parent(1, -2, bad, "below the root");
    parent(1, INT32_MIN, bad, "far below the root");
    parent(most - 1, std::int32_t(most), bad, "hangs on none");
    parent(most - 1, INT32_MAX, bad, "hangs on none, far off");

    const auto table = [&](std::vector<std::pair<std::int64_t, std::int32_t>> children,
                           std::vector<std::pair<std::int64_t, std::int32_t>> siblings,
                           sampler_row_status status, const char *what) {
      expect_row(
          problem, by_tables,
          [=](Call *call) {
            const std::int64_t first = kBad * (most + 1);
            for (const auto &[place, value] : children) {
              call->first_children[at(first + place)] = value;
            }
            for (const auto &[place, value] : siblings) {
              call->next_siblings[at(first + place)] = value;
            }
          },
          status, what);
    };
    const auto none = [&](std::int64_t from) {
      std::vector<std::pair<std::int64_t, std::int32_t>> all;
      for (std::int64_t place = from; place <= most; ++place) all.emplace_back(place, -1);
      return all;
    };
    const auto with = [](std::vector<std::pair<std::int64_t, std::int32_t>> all,
                         std::vector<std::pair<std::int64_t, std::int32_t>> more) {
      all.insert(all.end(), more.begin(), more.end());
      return all;
    };
    using Entries = std::vector<std::pair<std::int64_t, std::int32_t>>;
    const Entries chain = with(none(0), {{0, 1}, {1, 2}, {2, 3}, {3, 4}});
    table(with(none(0), {{0, 1}, {1, 1}}), none(0), bad, "its own child");
    table(with(none(0), {{0, 1}, {1, 2}, {2, 1}}), none(0), bad, "its grandchild's child");
    table(with(none(0), {{0, 1}, {2, 3}, {3, 2}}), none(0), bad, "a ring beside the tree");
    table(chain, with(none(0), {{1, 2}}), bad, "a child and a sibling of one");
    table(with(none(0), {{0, 1}, {2, 3}, {1, 3}}), with(none(0), {{1, 2}}), bad, "two parents");
    table(with(none(0), {{0, 1}}), with(none(0), {{1, 2}, {2, 1}}), bad, "siblings in a ring");
    table(with(none(0), {{0, 1}}), with(none(0), {{1, 1}}), bad, "its own sibling");
    table(with(none(0), {{0, std::int32_t(most + 1)}}), none(0), bad, "a child outside");
    table(with(none(0), {{0, 1}}), with(none(0), {{1, std::int32_t(most + 1)}}), bad,
          "a sibling outside");
    table(with(none(0), {{0, INT32_MAX}}), none(0), bad, "a child far outside");
    table(with(none(0), {{0, 1}}), with(none(0), {{0, 2}}), bad, "the root has a sibling");
  }
}

TEST(BadOffsets, MakeTheirSequenceBad) {
  const Problem problem = good_problem(SAMPLER_ACCEPT_SAMPLE_MATCH, false, false);
  const std::int64_t count = problem.num_sequences();
  // The last sequence, so that no other is moved.
  Problem turned = problem;
  turned.sequences.resize(at(kBad + 1));
  ASSERT_LE(kBad + 1, count);
  for (const sampler_packing packing :
       {SAMPLER_PACKING_DRAFTS, SAMPLER_PACKING_DRAFT_ENDS, SAMPLER_PACKING_POSITIONS}) {
    Layout layout;
    layout.packing = packing;
    for (const std::int32_t value : {-1, 0, 1, INT32_MIN, INT32_MAX, 100000}) {
      expect_row(
          turned, layout, [=](Call *call) { call->packing_offsets.back() = value; },
          SAMPLER_ROW_INVALID_LIST,
          "packing " + std::to_string(packing) + ", ends at " + std::to_string(value));
    }
    // One more than a sequence may have, though they are there.
    Layout longer = layout;
    Problem small = turned;
    --small.num_drafts;
    for (Sequence &sequence : small.sequences) {
      if (&sequence == &small.sequences.back()) continue;
      sequence.drafts.pop_back();
      sequence.parents.pop_back();
      sequence.target.pop_back();
      sequence.draft.pop_back();
    }
    const Handles handles;
    const auto outcomes = verify(handles.simd.get(), small, longer);
    expect_bad(small, outcomes[at(kBad)], SAMPLER_ROW_INVALID_LIST);
    EXPECT_EQ(outcomes[0].at("status")[0], SAMPLER_ROW_OK);
  }
}

TEST(BadIndices, MakeTheirSequenceBadWhenTheyAreRead) {
  for (const bool is_tree : {false, true}) {
    for (const sampler_packing packing : {SAMPLER_PACKING_DENSE, SAMPLER_PACKING_DRAFTS}) {
      if (is_tree && packing != SAMPLER_PACKING_DENSE) continue;
      const Problem problem = good_problem(SAMPLER_ACCEPT_STANDARD, is_tree, false);
      const std::int64_t most = problem.num_drafts;
      Layout layout;
      layout.packing = packing;
      layout.has_target_indices = layout.has_draft_indices = true;
      for (const std::int32_t value : {-1, INT32_MIN, INT32_MAX}) {
        const std::string what = "index " + std::to_string(value);
        expect_row(
            problem, layout,
            [=](Call *call) { call->target_row_indices[at(kBad * (most + 1))] = value; },
            SAMPLER_ROW_INVALID_INDEX, what + ", target");
        expect_row(
            problem, layout,
            [=](Call *call) {
              for (std::int64_t i = 0; i < most; ++i) {
                call->draft_row_indices[at(kBad * most + i)] = value;
              }
            },
            SAMPLER_ROW_INVALID_INDEX, what + ", draft");
      }
      // The end of the rows, and one before it.
      const Handles handles;
      Call call(handles.simd.get(), problem, layout);
      call.target_row_indices[at(kBad * (most + 1))] = std::int32_t(call.args.target.num_rows);
      ASSERT_EQ(call.run(), SAMPLER_OK) << sampler_last_error();
      expect_bad(problem, call.outcomes()[at(kBad)], SAMPLER_ROW_INVALID_INDEX);
      Layout bonus = layout;
      bonus.has_bonus_indices = true;
      if (is_tree) continue;
      // Where all drafts are accepted the bonus row is read; where one is not, it is not.
      const auto good = verify(handles.simd.get(), problem, bonus);
      for (std::int64_t s = 0; s < problem.num_sequences(); ++s) {
        Call other(handles.simd.get(), problem, bonus);
        other.bonus_row_indices[at(s)] = -5;
        other.args.out_accepted_counts = nullptr;
        ASSERT_EQ(other.run(), SAMPLER_OK) << sampler_last_error();
        const bool is_read = good[at(s)].at("emitted")[0] == most;
        EXPECT_EQ(other.outcomes()[at(s)].at("status")[0],
                  is_read ? SAMPLER_ROW_INVALID_INDEX : SAMPLER_ROW_OK)
            << "sequence " << s;
      }
    }
  }
}

TEST(BadRules, MakeTheirSequenceBad) {
  for (const bool is_tree : {false, true}) {
    Problem problem = good_problem(SAMPLER_ACCEPT_STANDARD, is_tree, false);
    problem.has_rules_by_slot = true;
    const auto rule = [&](sampler_acceptance value, const char *what) {
      expect_row(
          problem, {}, [=](Call *call) { call->rules[at(call->slot_of[at(kBad)])] = value; },
          SAMPLER_ROW_INVALID_PARAMETER, what);
    };
    rule(-1, "-1");
    rule(9, "9");
    rule(INT32_MIN, "the least");
    rule(INT32_MAX, "the largest");
    rule(SAMPLER_ACCEPT_SYNTHETIC, "SYNTHETIC without rates");
    if (is_tree) rule(SAMPLER_ACCEPT_BLOCK, "BLOCK of a tree");
    if (is_tree) rule(SAMPLER_ACCEPT_DEFERRED, "DEFERRED of a tree");
  }
}

TEST(BadRows, MakeTheirSequenceBad) {
  for (sampler_acceptance rule = 1; rule < 9; ++rule) {
    const bool is_for_chains = rule == SAMPLER_ACCEPT_BLOCK || rule == SAMPLER_ACCEPT_DEFERRED;
    for (const bool is_tree : {false, true}) {
      if (is_tree && is_for_chains) continue;
      const Problem problem = good_problem(rule, is_tree, false);
      const std::string what = "rule " + std::to_string(rule) + (is_tree ? ", tree" : ", chain");
      const auto first = [=](Call *call) {
        return &call->target[at(kBad * (problem.num_drafts + 1) * problem.num_cols)];
      };
      expect_row(
          problem, {}, [=](Call *call) { first(call)[3] = kNan; }, SAMPLER_ROW_INVALID_VALUE,
          what + ", NaN");
      expect_row(
          problem, {}, [=](Call *call) { first(call)[0] = kInfinity; }, SAMPLER_ROW_INVALID_VALUE,
          what + ", infinity");
      expect_row(
          problem, {},
          [=](Call *call) { std::fill(first(call), first(call) + problem.num_cols, -kInfinity); },
          SAMPLER_ROW_EMPTY, what + ", empty");
      expect_row(
          problem, {}, [](Call *call) { call->temperatures[at(call->slot_of[at(kBad)])] = kNan; },
          SAMPLER_ROW_INVALID_PARAMETER, what + ", temperature");
      Layout layout;
      layout.has_slots = true;
      expect_row(
          problem, layout, [](Call *call) { call->slots[at(kBad)] = -1; }, SAMPLER_ROW_INVALID_SLOT,
          what + ", slot");
      expect_row(
          problem, layout,
          [](Call *call) { call->slots[at(kBad)] = std::int32_t(call->num_slots); },
          SAMPLER_ROW_INVALID_SLOT, what + ", slot at the end");
    }
  }
}

// Tokens after the one that ends a sequence are not looked at.
TEST(BadRows, BehindTheEndAreNotRead) {
  for (const bool is_tree : {false, true}) {
    for (const sampler_acceptance rule :
         {SAMPLER_ACCEPT_STANDARD, SAMPLER_ACCEPT_SAMPLE_MATCH, SAMPLER_ACCEPT_TYPICAL,
          SAMPLER_ACCEPT_RELAXED, SAMPLER_ACCEPT_THRESHOLD}) {
      const Problem problem = good_problem(rule, is_tree, false);
      const Handles handles;
      const auto good = verify(handles.simd.get(), problem);
      for (const bool is_simd : {false, true}) {
        Call call((is_simd ? handles.simd : handles.reference).get(), problem, {});
        for (std::int64_t s = 0; s < problem.num_sequences(); ++s) {
          const auto &read = good[at(s)].at("positions");
          for (std::int64_t i = 0; i <= problem.num_drafts; ++i) {
            if (std::find(read.begin(), read.end(), i) != read.end()) continue;
            const std::int64_t row = s * (problem.num_drafts + 1) + i;
            call.target[at(row * problem.num_cols)] = kNan;
          }
        }
        ASSERT_EQ(call.run(), SAMPLER_OK) << sampler_last_error();
        const auto outcomes = call.outcomes();
        for (std::int64_t s = 0; s < problem.num_sequences(); ++s) {
          Outcome expected = good[at(s)];
          expected.erase("accepted");  // counts those as rejected
          EXPECT_EQ(difference(expected, outcomes[at(s)]), "")
              << "rule " << rule << ", sequence " << s;
        }
      }
    }
  }
}

TEST(BadStages, MakeTheirSequenceBad) {
  for (const bool is_tree : {false, true}) {
    const Problem problem = good_problem(SAMPLER_ACCEPT_STANDARD, is_tree, true);
    expect_row(
        problem, {},
        [](Call *call) { call->prompt_lengths[at(kBad)] = 1 + int(call->history.size()); },
        SAMPLER_ROW_INVALID_LIST, "prompt length");
    expect_row(
        problem, {}, [](Call *call) { call->prompt_lengths[at(kBad)] = -1; },
        SAMPLER_ROW_INVALID_LIST, "negative prompt length");
    expect_row(
        problem, {}, [](Call *call) { call->adaptive_values[at(4 * kBad)] = kInfinity; },
        SAMPLER_ROW_INVALID_PARAMETER, "adaptive value");
    expect_row(
        problem, {},
        [&](Call *call) {
          call->mask_indices[at(kBad * (problem.num_drafts + 1))] =
              std::int32_t(problem.masks.size());
        },
        SAMPLER_ROW_INVALID_INDEX, "mask");
    Problem last = problem;
    last.sequences.resize(at(kBad + 1));
    expect_row(
        last, {}, [](Call *call) { call->history_offsets.back() = -1; }, SAMPLER_ROW_INVALID_LIST,
        "history that falls");
    expect_row(
        last, {},
        [](Call *call) { call->history_offsets.back() = std::int64_t(call->history.size()) + 1; },
        SAMPLER_ROW_INVALID_LIST, "history outside");
  }
}

TEST(BadDraftParameters, MakeTheirSequenceBad) {
  Problem problem = good_problem(SAMPLER_ACCEPT_STANDARD, false, true);
  ASSERT_TRUE(problem.has_draft_params);
  std::vector<float> temperatures(at(problem.num_sequences()), 0.8F);
  const auto with = [&](float value) {
    return [&temperatures, value](Call *call) {
      temperatures.assign(temperatures.size(), 0.8F);
      temperatures[at(kBad)] = value;
      call->draft_row_params.struct_size = sizeof call->draft_row_params;
      call->draft_row_params.temperature = temperatures.data();
      call->args.draft_row_params = &call->draft_row_params;
    };
  };
  problem.draft_params.temperature = 0.8F;
  expect_row(problem, {}, with(0.8F), 0, "as for all");
  expect_row(problem, {}, with(kNan), SAMPLER_ROW_INVALID_PARAMETER, "NaN");
}

// A fallback token stands in place of -1.
TEST(BadRows, YieldTheFallbackToken) {
  const Problem problem = good_problem(SAMPLER_ACCEPT_SAMPLE_MATCH, false, false);
  sampler_options options = sampler_options_default();
  options.use_fallback_token = 1;
  options.fallback_token_id = 4;
  sampler_t sampler = nullptr;
  ASSERT_EQ(sampler_create(&options, &sampler), SAMPLER_OK);
  {
    Call call(sampler, problem, {});
    call.temperatures[at(kBad)] = kNan;
    ASSERT_EQ(call.run(), SAMPLER_OK) << sampler_last_error();
    const Outcome outcome = call.outcomes()[at(kBad)];
    std::vector<std::int64_t> expected(at(problem.num_drafts + 1), -1);
    expected[0] = 4;
    EXPECT_EQ(outcome.at("tokens"), expected);
    EXPECT_EQ(outcome.at("positions"), std::vector<std::int64_t>(expected.size(), -1));
  }
  sampler_destroy(sampler);
}

// Numbers that are anything, in every array that has them: nothing is read outside of the arrays,
// which AddressSanitizer sees, both handles say the same, and every token is one or none.
TEST(BadArrays, AreReadSafely) {
  const Handles handles;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    Random random(seeded(seed));
    Kind kind;
    kind.rule = static_cast<sampler_acceptance>(1 + seed % 8);
    kind.is_tree = random.one_in(2) && kind.rule != SAMPLER_ACCEPT_BLOCK &&
                   kind.rule != SAMPLER_ACCEPT_DEFERRED;
    kind.has_stages = random.one_in(2);
    kind.has_reports = random.one_in(2);
    Problem problem = random_problem(&random, kind);
    problem.has_rules_by_slot = random.one_in(2);
    Layout layout = random_layout(&random, problem);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(problem, layout));
    const auto spoil = [&](auto *array) {
      if (array->empty() || random.one_in(2)) return;
      using Element = std::decay_t<decltype((*array)[0])>;
      for (std::int64_t i = random.between(1, 3); i > 0; --i) {
        const std::int64_t values[] = {-1, 0,         1,         2,
                                       5,  INT32_MIN, INT32_MAX, random.between(-3, 70)};
        (*array)[at(random.between(0, std::int64_t(array->size()) - 1))] =
            static_cast<Element>(values[random.between(0, 7)]);
      }
    };
    std::vector<std::vector<Outcome>> both;
    for (sampler_t sampler : {handles.simd.get(), handles.reference.get()}) {
      random = Random(seeded(seed));
      Call call(sampler, problem, layout);
      spoil(&call.packing_offsets);
      spoil(&call.target_row_indices);
      spoil(&call.bonus_row_indices);
      spoil(&call.draft_row_indices);
      spoil(&call.parents);
      spoil(&call.first_children);
      spoil(&call.next_siblings);
      spoil(&call.slots);
      spoil(&call.draft_counts);
      spoil(&call.drafts);
      call.drafts32.assign(call.drafts.begin(), call.drafts.end());
      spoil(&call.mask_indices);
      spoil(&call.rules);
      spoil(&call.prompt_lengths);
      spoil(&call.history_offsets);
      spoil(&call.target_id_counts);
      spoil(&call.draft_id_counts);
      spoil(&call.target_ids);
      call.args.draft_token_ids = layout.has_i64_ids
                                      ? static_cast<const void *>(call.drafts.data())
                                      : static_cast<const void *>(call.drafts32.data());
      ASSERT_EQ(call.run(), SAMPLER_OK) << sampler_last_error();
      both.push_back(call.outcomes());
    }
    for (std::size_t s = 0; s < both[0].size(); ++s) {
      ASSERT_EQ(difference(both[1][s], both[0][s]), "") << "sequence " << s;
      const auto &tokens = both[0][s].at("tokens");
      const std::int64_t emitted = both[0][s].at("emitted")[0];
      ASSERT_TRUE(emitted >= 0 && emitted <= problem.num_drafts);
      const bool is_bad = (both[0][s].at("status")[0] & ~SAMPLER_ROW_INVALID_DRAFT) != 0;
      for (std::int64_t i = 0; i <= problem.num_drafts; ++i) {
        ASSERT_EQ(tokens[at(i)] >= 0, !is_bad && i <= emitted) << "sequence " << s << ", " << i;
        ASSERT_LT(tokens[at(i)], 1 << 20);
      }
    }
  }
}

// ---- Arguments

// The call is refused, names the member, and writes nothing.
void refuse(const Problem &problem, const Layout &layout, const std::string &member,
            const Change &change) {
  SCOPED_TRACE(member);
  const Handles handles;
  for (const bool is_simd : {false, true}) {
    Call call((is_simd ? handles.simd : handles.reference).get(), problem, layout);
    change(&call);
    const auto before = call.outcomes();
    ASSERT_EQ(call.run(), SAMPLER_ERROR_INVALID_ARGUMENT);
    EXPECT_NE(std::string(sampler_last_error()).find(member), std::string::npos)
        << sampler_last_error();
    const auto after = call.outcomes();
    for (std::size_t s = 0; s < before.size(); ++s) {
      EXPECT_EQ(difference(before[s], after[s]), "") << "written";
    }
  }
}

void accept(const Problem &problem, const Layout &layout, const std::string &what,
            const Change &change) {
  SCOPED_TRACE(what);
  const Handles handles;
  for (const bool is_simd : {false, true}) {
    Call call((is_simd ? handles.simd : handles.reference).get(), problem, layout);
    change(&call);
    ASSERT_EQ(call.run(), SAMPLER_OK) << sampler_last_error();
  }
}

// The structs of a call, by the type of a member.
sampler_acceptance_params *struct_of(Call *call, const sampler_acceptance_params *) {
  return &call->args.acceptance_params;
}
sampler_draft_layout *struct_of(Call *call, const sampler_draft_layout *) {
  return &call->args.draft_layout;
}
sampler_report_args *struct_of(Call *call, const sampler_report_args *) {
  return &call->args.report_args;
}
template <class T, class Struct>
void set(Call *call, T Struct::*member, T value) {
  struct_of(call, static_cast<const Struct *>(nullptr))->*member = value;
}

template <class T, class Struct>
void refuse_each(const Problem &problem, const Layout &layout, const std::string &name,
                 T Struct::*member, const std::vector<T> &values) {
  for (const T value : values) {
    SCOPED_TRACE(value);
    refuse(problem, layout, name, [=](Call *call) { set(call, member, value); });
  }
}

TEST(Arguments, AreOfTheirEnumerations) {
  const Problem problem = good_problem(SAMPLER_ACCEPT_STANDARD, false, false);
  const auto each = [&](const char *name, auto member, std::int32_t count) {
    refuse_each(problem, {}, name, member,
                std::vector<std::int32_t>{-1, count, INT32_MIN, INT32_MAX});
  };
  each("acceptance->rule", &sampler_acceptance_params::rule, 9);
  each("acceptance->sibling_rule", &sampler_acceptance_params::sibling_rule, 2);
  each("layout->packing", &sampler_draft_layout::packing, 4);
  each("acceptance->draw_method", &sampler_acceptance_params::draw_method, 2);
  each("reports->logprob_kind", &sampler_report_args::logprob_kind, 3);
  each("layout->draft_rows_by_slot", &sampler_draft_layout::draft_rows_by_slot, 2);
  each("reports->reserved", &sampler_report_args::reserved, 1);
}

TEST(Arguments, HaveNumbersInTheirRange) {
  const Problem problem = good_problem(SAMPLER_ACCEPT_STANDARD, false, false);
  const std::pair<const char *, float sampler_acceptance_params::*> floats[] = {
      {"acceptance->typical_threshold", &sampler_acceptance_params::typical_threshold},
      {"acceptance->typical_scale", &sampler_acceptance_params::typical_scale},
      {"acceptance->relaxed_delta", &sampler_acceptance_params::relaxed_delta},
      {"acceptance->threshold_single", &sampler_acceptance_params::threshold_single},
      {"acceptance->threshold_total", &sampler_acceptance_params::threshold_total},
      {"acceptance->deferred_entropy", &sampler_acceptance_params::deferred_entropy}};
  for (const auto &[name, member] : floats) {
    refuse_each(problem, {}, name, member, {kNan, -1e-30F, -1.0F, -kInfinity});
    const auto own = member;
    for (const float value : {-0.0F, 1e-40F, 3e38F}) {
      accept(problem, {}, name, [=](Call *call) { set(call, own, value); });
    }
  }
  const std::pair<const char *, std::int32_t sampler_acceptance_params::*> integers[] = {
      {"acceptance->relaxed_top_k", &sampler_acceptance_params::relaxed_top_k},
      {"acceptance->deferred_window", &sampler_acceptance_params::deferred_window},
      {"acceptance->deferred_top_k", &sampler_acceptance_params::deferred_top_k}};
  for (const auto &[name, member] : integers) {
    refuse_each(problem, {}, name, member, {-1, INT32_MIN});
    const auto own = member;
    accept(problem, {}, name, [=](Call *call) { set(call, own, INT32_MAX - 1); });
  }
  const std::vector<std::int64_t> negative = {-1, INT64_MIN};
  refuse_each(problem, {}, "layout->num_sequences", &sampler_draft_layout::num_sequences, negative);
  refuse_each(problem, {}, "layout->draft_token_stride", &sampler_draft_layout::draft_token_stride,
              negative);
  refuse_each(problem, {}, "reports->num_top_logprobs", &sampler_report_args::num_top_logprobs,
              negative);
  refuse_each(problem, {}, "reports->kept_capacity", &sampler_report_args::kept_capacity, negative);
  refuse_each(problem, {}, "reports->kept_bitmask_stride",
              &sampler_report_args::kept_bitmask_stride, negative);
  refuse_each(problem, {}, "reports->num_top_logprobs", &sampler_report_args::num_top_logprobs,
              {problem.num_cols + 1, INT64_MAX});
  refuse_each(problem, {}, "reports->kept_capacity", &sampler_report_args::kept_capacity,
              {problem.num_cols + 1, INT64_MAX});
  refuse_each(problem, {}, "layout->draft_token_stride", &sampler_draft_layout::draft_token_stride,
              {std::int64_t{1}, problem.num_drafts - 1});
  refuse_each(problem, {}, "layout->num_sequences", &sampler_draft_layout::num_sequences,
              {problem.num_sequences() + 1, std::int64_t{1}, INT64_MAX});
  Layout packed;
  packed.packing = SAMPLER_PACKING_DRAFTS;
  refuse_each(problem, packed, "layout->num_sequences", &sampler_draft_layout::num_sequences,
              {std::int64_t{-1}, INT64_MIN, INT64_MAX});
  refuse_each(problem, packed, "layout->num_packed_drafts",
              &sampler_draft_layout::num_packed_drafts, {std::int64_t{-1}, INT64_MIN, INT64_MAX});
  refuse_each(problem, packed, "layout->num_packed_positions",
              &sampler_draft_layout::num_packed_positions,
              {std::int64_t{-1}, INT64_MIN, INT64_MAX});
}

TEST(Arguments, HaveRatesThatAreProbabilities) {
  const Problem problem = good_problem(SAMPLER_ACCEPT_SYNTHETIC, false, false);
  std::vector<Problem> problems = {problem, problem};
  problems[1].has_rules_by_slot = true;
  const auto with_last = [&](float value) {
    std::vector<float> rates(at(problem.num_drafts), 1.0F);
    rates.back() = value;
    return rates;
  };
  for (const float value : {-0.0F, 0.0F, 1e-40F, 1.0F}) {
    const std::vector<float> rates = with_last(value);
    accept(problem, {}, "acceptance->synthetic_rates",
           [&](Call *call) { call->args.acceptance_params.synthetic_rates = rates.data(); });
  }
  const std::string last =
      "acceptance->synthetic_rates[" + std::to_string(problem.num_drafts - 1) + "] is ";
  for (const float value : {kNan, kInfinity, -kInfinity, 1.0000001F, 2.0F, -1e-30F, -1.0F}) {
    const std::vector<float> rates = with_last(value);
    for (const Problem &each : problems) {
      refuse(each, {}, last,
             [&](Call *call) { call->args.acceptance_params.synthetic_rates = rates.data(); });
    }
  }
}

TEST(Arguments, BelongTogether) {
  const Problem chain = good_problem(SAMPLER_ACCEPT_STANDARD, false, false);
  const Problem tree = good_problem(SAMPLER_ACCEPT_STANDARD, true, false);
  Layout packed, parents, tables;
  packed.packing = SAMPLER_PACKING_DRAFTS;
  parents.tree = Layout::Tree::kParents;
  tables.tree = Layout::Tree::kTables;
  // Rules.
  refuse(chain, {}, "acceptance->synthetic_rates",
         [](Call *call) { call->args.acceptance_params.rule = SAMPLER_ACCEPT_SYNTHETIC; });
  for (const sampler_acceptance rule : {SAMPLER_ACCEPT_BLOCK, SAMPLER_ACCEPT_DEFERRED}) {
    refuse(tree, parents, "acceptance->rule",
           [=](Call *call) { call->args.acceptance_params.rule = rule; });
    refuse(tree, tables, "acceptance->rule",
           [=](Call *call) { call->args.acceptance_params.rule = rule; });
  }
  // Trees.
  refuse(tree, parents, "layout->parents", [](Call *call) {
    call->args.draft_layout.first_children = call->first_children.data();
    call->args.draft_layout.next_siblings = call->next_siblings.data();
  });
  refuse(tree, tables, "layout->next_siblings",
         [](Call *call) { call->args.draft_layout.next_siblings = nullptr; });
  refuse(tree, tables, "layout->first_children",
         [](Call *call) { call->args.draft_layout.first_children = nullptr; });
  for (const std::int64_t rows : {std::int64_t{2}, std::int64_t{-1}, INT64_MAX, INT64_MIN}) {
    refuse(tree, parents, "layout->tree_rows",
           [=](Call *call) { call->args.draft_layout.tree_rows = rows; });
  }
  refuse(chain, packed, "layout->parents", [&](Call *call) {
    call->parents.assign(at(chain.num_sequences() * chain.num_drafts), -1);
    call->args.draft_layout.parents = call->parents.data();
  });
  // Packed batches.
  refuse(chain, packed, "layout->packing_offsets",
         [](Call *call) { call->args.draft_layout.packing_offsets = nullptr; });
  refuse(chain, packed, "draft_counts", [&](Call *call) {
    call->draft_counts.assign(at(chain.num_sequences()), 1);
    call->args.draft_counts = call->draft_counts.data();
  });
  // Indices.
  Layout indices;
  indices.has_target_indices = true;
  refuse(chain, {}, "layout->bonus_row_indices", [&](Call *call) {
    call->bonus_row_indices.assign(at(chain.num_sequences()), 0);
    call->args.draft_layout.bonus_row_indices = call->bonus_row_indices.data();
    call->args.draft_layout.num_sequences = chain.num_sequences();
  });
  // Where num_sequences is forgotten.
  Problem alone = chain;
  alone.has_draft_rows = false;
  refuse(alone, {}, "layout->bonus_row_indices is set; it needs layout->target_row_indices",
         [&](Call *call) {
           call->bonus_row_indices.assign(at(chain.num_sequences()), 0);
           call->args.draft_layout.bonus_row_indices = call->bonus_row_indices.data();
           call->args.draft_layout.num_sequences = 0;
         });
  refuse(chain, indices, "layout->num_sequences is 0 and draft.num_rows",
         [](Call *call) { call->args.draft_layout.num_sequences = 0; });
  refuse(chain, {}, "layout->draft_row_indices", [&](Call *call) {
    call->draft_row_indices.assign(at(chain.num_sequences() * chain.num_drafts), 0);
    call->args.draft_layout.draft_row_indices = call->draft_row_indices.data();
    call->args.draft_layout.draft_rows_by_slot = 1;
  });
  // Outputs.
  refuse(chain, {}, "kv_indices", [](Call *call) { call->args.kv_indices = nullptr; });
  refuse(chain, {}, "out_top", [](Call *call) {
    call->args.report_args.out_top_token_ids = nullptr;
    call->args.report_args.out_top_logprobs = nullptr;
  });
  refuse(chain, {}, "out_kept", [](Call *call) {
    call->args.report_args.out_kept_token_ids = nullptr;
    call->args.report_args.out_kept_probabilities = nullptr;
  });
}

TEST(Arguments, OfStages) {
  const Problem problem = good_problem(SAMPLER_ACCEPT_STANDARD, false, true);
  ASSERT_TRUE(problem.has_draft_params);
  refuse(problem, {}, "draft_params", [](Call *call) { call->args.draft_params = nullptr; });
  static const std::vector<std::int64_t> forced(100, -1);
  refuse(problem, {}, "forced_token_id",
         [](Call *call) { call->row_params.forced_token_id = forced.data(); });
  refuse(problem, {}, "forced_token_ids",
         [](Call *call) { call->args.forced_token_ids = reinterpret_cast<const void *>(3); });
  refuse(problem, {}, "draft_params", [](Call *call) { call->draft_params.temperature = kNan; });
  refuse(problem, {}, "draft_params", [](Call *call) { call->draft_params.struct_size = 1; });
  refuse(problem, {}, "draft_params", [](Call *call) { call->draft_params.typical_p = 0.5F; });
  refuse(problem, {}, "draft_params",
         [](Call *call) { call->draft_params.repetition_penalty = 1.5F; });
  refuse(problem, {}, "pipeline", [](Call *call) { call->pipeline.struct_size = 1; });
  // Without indices each position has a mask of its own.
  refuse(problem, {}, "token_bitmask",
         [](Call *call) { call->pipeline.token_bitmask_indices = nullptr; });
  const Problem plain = good_problem(SAMPLER_ACCEPT_STANDARD, false, false);
  refuse(plain, {}, "repetition_penalty",
         [](Call *call) { call->params.repetition_penalty = 1.5F; });
}

// Nothing to do, and next to nothing.
TEST(Arguments, OfNoSequencesAndNoDrafts) {
  const Handles handles;
  for (const sampler_packing packing : {SAMPLER_PACKING_DENSE, SAMPLER_PACKING_DRAFTS,
                                        SAMPLER_PACKING_DRAFT_ENDS, SAMPLER_PACKING_POSITIONS}) {
    Problem problem = good_problem(SAMPLER_ACCEPT_SAMPLE_MATCH, false, false);
    Layout layout;
    layout.packing = packing;
    problem.num_drafts = 0;
    for (Sequence &sequence : problem.sequences) {
      sequence.drafts.clear();
      sequence.parents.clear();
      sequence.draft.clear();
      sequence.target.resize(1);
    }
    problem.has_draft_rows = false;
    const auto outcomes = verify(handles.simd.get(), problem, layout);
    for (const Outcome &outcome : outcomes) {
      EXPECT_EQ(outcome.at("status")[0], SAMPLER_ROW_OK);
      EXPECT_GE(outcome.at("tokens")[0], 0);
      EXPECT_EQ(outcome.at("positions")[0], 0);
    }
    // Arrays without entries may be NULL. What is laid out by draft has some with POSITIONS.
    if (packing == SAMPLER_PACKING_POSITIONS) continue;
    Layout bonus = layout;
    bonus.has_bonus_indices = true;
    for (const bool is_synthetic : {false, true}) {
      Call call(handles.simd.get(), problem, bonus);
      call.args.draft_layout.target_row_indices = nullptr;
      call.args.draft_token_ids = nullptr;
      if (is_synthetic) {
        call.args.acceptance_params.rule = SAMPLER_ACCEPT_SYNTHETIC;
        call.args.acceptance_params.draw_method = SAMPLER_DRAW_INVERSE_CDF;
      } else if (packing == SAMPLER_PACKING_DENSE) {
        call.args.draft_layout.tree_rows = 1;
        call.args.acceptance_params.sibling_rule = SAMPLER_SIBLINGS_WITHOUT_REPLACEMENT;
      }
      ASSERT_EQ(call.run(), SAMPLER_OK) << sampler_last_error();
      for (const Outcome &outcome : call.outcomes()) {
        EXPECT_EQ(outcome.at("status")[0], SAMPLER_ROW_OK)
            << "layout->packing " << packing << ", synthetic " << is_synthetic;
      }
    }
  }
}

}  // namespace
}  // namespace verification_test::bad_input_test
