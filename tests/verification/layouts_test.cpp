// The same sequences laid out in other ways give the same outputs to the bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "../seed.h"
#include "../sized.h"
#include "handles.h"
#include "random_problem.h"
#include "walk.h"

namespace verification_test::layouts_test {
namespace {

using pipeline_test::Handles;

#if defined(__SANITIZE_ADDRESS__) || defined(__aarch64__)
constexpr std::uint64_t kDear = 5;
#else
constexpr std::uint64_t kDear = 1;
#endif

Kind kind_of(sampler_acceptance rule, bool is_tree, bool has_stages) {
  Kind kind;
  kind.rule = rule;
  kind.is_tree = is_tree;
  kind.has_stages = has_stages;
  kind.has_reports = true;
  kind.has_bad_ids = !has_stages;
  return kind;
}

bool is_for_chains(sampler_acceptance rule) {
  return rule == SAMPLER_ACCEPT_BLOCK || rule == SAMPLER_ACCEPT_DEFERRED;
}

// All rules in turn; one in so many has stages.
Kind kind_in_turn(Random *random, std::uint64_t seed, std::int64_t num_to_one_with_stages) {
  const auto rule = static_cast<sampler_acceptance>(1 + seed % 8);
  const bool is_tree = !is_for_chains(rule) && random->one_in(2);
  return kind_of(rule, is_tree, random->one_in(num_to_one_with_stages));
}

// Random problems of all rules, chains or trees, with stages and without.
void for_problems(bool are_trees, std::uint64_t num_problems,
                  const std::function<void(const Handles &, Random *, Problem *)> &check) {
  const Handles handles;
  for (std::uint64_t seed = 0; seed < num_problems / kDear; ++seed) {
    Random random(seeded(seed));
    const auto rule = static_cast<sampler_acceptance>(1 + seed % 8);
    if (are_trees && is_for_chains(rule)) continue;
    Problem problem = random_problem(&random, kind_of(rule, are_trees, random.one_in(3)));
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(problem, {}));
    check(handles, &random, &problem);
    if (testing::Test::HasFailure()) return;
  }
}

void expect_equal(const std::vector<Outcome> &expected, const std::vector<Outcome> &actual,
                  const std::string &what) {
  ASSERT_EQ(expected.size(), actual.size());
  for (std::size_t s = 0; s < expected.size(); ++s) {
    ASSERT_EQ(difference(expected[s], actual[s]), "") << what << ", sequence " << s;
  }
}

// On both handles, by the layout, against the plain layout.
void expect_as_plain(const Handles &handles, const Problem &problem, const Layout &layout,
                     const std::string &what) {
  const auto plain = verify(handles.reference.get(), problem);
  expect_equal(plain, verify(handles.reference.get(), problem, layout), what);
  expect_equal(plain, verify(handles.simd.get(), problem, layout), what + ", SIMD");
}

// What sampler_verify has always given: no member of the new ones is set.
Layout old_layout() {
  Layout layout;
  layout.has_positions = layout.has_new_outputs = false;
  return layout;
}

TEST(OldCalls, AreTheWalk) {
  const Handles handles;
  for (std::uint64_t seed = 0; seed < 400 / kDear; ++seed) {
    Random random(seeded(seed));
    const Problem problem = random_problem(&random, kind_of(SAMPLER_ACCEPT_STANDARD, false, false));
    Layout layout = old_layout();
    layout.has_wide_strides = false;
    const auto simd = verify(handles.simd.get(), problem, layout);
    expect_equal(verify(handles.reference.get(), problem, layout), simd, "SIMD");
    for (std::int64_t s = 0; s < problem.num_sequences(); ++s) {
      const Expectation expected = expect(handles.reference.get(), problem, s);
      ASSERT_FALSE(expected.is_uncertain);
      ASSERT_EQ(difference(expected.outcome, simd[at(s)]), "")
          << "seed " << seed << ", sequence " << s << ": " << describe(problem, layout);
    }
  }
}

// Each of the new members takes the call another way, which changes nothing of what it says.
TEST(OldCalls, SayTheSameWithNewMembers) {
  const Handles handles;
  for (std::uint64_t seed = 0; seed < 400 / kDear; ++seed) {
    Random random(seeded(seed));
    Problem problem = random_problem(&random, kind_of(SAMPLER_ACCEPT_STANDARD, false, false));
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(problem, {}));
    for (const bool is_simd : {false, true}) {
      sampler_t const sampler = is_simd ? handles.simd.get() : handles.reference.get();
      const auto old = verify(sampler, problem, old_layout());
      Layout layout = old_layout();
      layout.has_positions = true;
      expect_equal(old, verify(sampler, problem, layout), "positions");
      layout = old_layout();
      layout.has_new_outputs = true;
      expect_equal(old, verify(sampler, problem, layout), "reports");
      layout = old_layout();
      layout.has_target_indices = true;
      expect_equal(old, verify(sampler, problem, layout), "target indices");
      if (problem.kind == SAMPLER_LOGITS && problem.has_draft_rows &&
          problem.draft_kind == SAMPLER_LOGITS) {
        // Parameters of the drafts that are those of the target.
        Problem with_params = problem;
        for (Sequence &sequence : with_params.sequences) {
          sequence.temperature = problem.sequences[0].temperature;
          sequence.top_p = 1;
        }
        const auto without = verify(sampler, with_params, old_layout());
        with_params.has_draft_params = true;
        with_params.draft_params = problem.params;
        with_params.draft_params.temperature = problem.sequences[0].temperature;
        expect_equal(without, verify(sampler, with_params, old_layout()), "draft parameters");
      }
      Call call(sampler, problem, old_layout());
      call.args.acceptances = call.rules.data();
      ASSERT_EQ(call.run(), SAMPLER_OK) << sampler_last_error();
      expect_equal(old, call.outcomes(), "rules by slot");
    }
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

TEST(Chains, AreTrees) {
  for_problems(false, 400, [](const Handles &handles, Random *, Problem *problem) {
    if (is_for_chains(problem->sequences[0].rule)) return;
    for (const auto tree :
         {Layout::Tree::kParents, Layout::Tree::kTables, Layout::Tree::kTablesWithZeros}) {
      Layout layout;
      layout.tree = tree;
      auto chains = verify(handles.reference.get(), *problem);
      // A tree's accepted counts are its emitted ones.
      for (Outcome &chain : chains) chain["accepted"] = chain["emitted"];
      expect_equal(chains, verify(handles.reference.get(), *problem, layout), "tree");
      expect_equal(chains, verify(handles.simd.get(), *problem, layout), "tree, SIMD");
    }
  });
}

TEST(Chains, ArePackedInEveryWay) {
  for_problems(false, 300, [](const Handles &handles, Random *, Problem *problem) {
    for (const sampler_packing packing :
         {SAMPLER_PACKING_DRAFTS, SAMPLER_PACKING_DRAFT_ENDS, SAMPLER_PACKING_POSITIONS}) {
      for (int which = 0; which < 8; ++which) {
        Layout layout;
        layout.packing = packing;
        layout.has_target_indices = (which & 1) != 0;
        layout.has_bonus_indices = (which & 3) == 3;
        layout.has_draft_indices = problem->has_draft_rows && (which & 4) != 0;
        layout.has_wide_strides = (which & 2) != 0;
        expect_as_plain(handles, *problem, layout,
                        "packing " + std::to_string(packing) + ", way " + std::to_string(which));
      }
    }
  });
}

TEST(Rows, HaveIndices) {
  for (const bool are_trees : {false, true}) {
    for_problems(are_trees, 200, [](const Handles &handles, Random *, Problem *problem) {
      Layout layout;
      layout.has_target_indices = true;
      expect_as_plain(handles, *problem, layout, "target");
      layout.has_bonus_indices = !problem->is_tree;
      layout.has_draft_indices = problem->has_draft_rows;
      expect_as_plain(handles, *problem, layout, "target, bonus and draft");
      if (!problem->has_draft_rows) return;
      layout = {};
      layout.has_draft_indices = true;
      expect_as_plain(handles, *problem, layout, "draft");
      layout = {};
      layout.has_draft_rows_by_slot = true;
      expect_as_plain(handles, *problem, layout, "draft by slot");
      layout.has_slots = true;
      expect_as_plain(handles, *problem, layout, "draft by slot, slots in another order");
    });
  }
}

// The same values of other types, and as lists in any order.
TEST(Rows, AreOfEveryTypeAndLists) {
  for (const bool are_trees : {false, true}) {
    for_problems(are_trees, 200, [](const Handles &handles, Random *random, Problem *problem) {
      for (const sampler_dtype dtype : {SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16}) {
        for (const bool has_candidates : {false, true}) {
          Layout layout = random_layout(random, *problem);
          if (has_candidates && !layout.has_candidates) continue;
          layout.dtype = dtype;
          layout.has_candidates = has_candidates;
          expect_as_plain(handles, *problem, layout, describe(*problem, layout));
        }
      }
    });
  }
}

TEST(Trees, AreWrittenInEveryWay) {
  for_problems(true, 400, [](const Handles &handles, Random *, Problem *problem) {
    for (const auto tree :
         {Layout::Tree::kParents, Layout::Tree::kTables, Layout::Tree::kTablesWithZeros}) {
      Layout layout;
      layout.tree = tree;
      expect_as_plain(handles, *problem, layout, "way " + std::to_string(int(tree)));
    }
  });
}

// One tree for all sequences is that tree for each.
TEST(Trees, AreOneForAll) {
  for_problems(true, 300, [](const Handles &handles, Random *, Problem *problem) {
    const Sequence &first = problem->sequences[0];
    for (Sequence &sequence : problem->sequences) {
      if (sequence.num_drafts() > first.num_drafts()) return;
      sequence.parents = first.parents;
      sequence.parents.resize(sequence.drafts.size());
      // Siblings by a rule that needs distinct tokens might have been no siblings before.
      if (problem->sibling_rule != SAMPLER_SIBLINGS_INDEPENDENT) return;
    }
    for (const auto tree : {Layout::Tree::kParents, Layout::Tree::kTables}) {
      // A table is of nodes that the sequence has.
      if (tree == Layout::Tree::kTables &&
          std::any_of(problem->sequences.begin(), problem->sequences.end(), [&](const auto &other) {
            return other.num_drafts() != first.num_drafts();
          })) {
        continue;
      }
      Layout layout;
      layout.tree = tree;
      layout.has_one_tree = true;
      expect_as_plain(handles, *problem, layout, "one tree");
    }
  });
}

TEST(Batches, HaveAnyOrderAndAnySlots) {
  for (const bool are_trees : {false, true}) {
    for_problems(are_trees, 200, [](const Handles &handles, Random *random, Problem *problem) {
      problem->has_rules_by_slot = true;
      const auto plain = verify(handles.reference.get(), *problem);
      Layout layout;
      layout.has_slots = true;
      layout.has_i64_ids = random->one_in(2);
      layout.has_wide_strides = random->one_in(2);
      expect_as_plain(handles, *problem, layout, "slots");
      Problem turned = *problem;
      std::reverse(turned.sequences.begin(), turned.sequences.end());
      auto outcomes = verify(handles.simd.get(), turned, layout);
      std::reverse(outcomes.begin(), outcomes.end());
      expect_equal(plain, outcomes, "the other way round");
      for (std::size_t s = 0; s < plain.size(); ++s) {
        Problem alone = *problem;
        alone.sequences = {problem->sequences[s]};
        expect_equal({plain[s]}, verify(handles.simd.get(), alone), "alone");
      }
    });
  }
}

// Sequences by different rules do not know of each other.
TEST(Batches, HaveRulesBySlot) {
  const Handles handles;
  for (std::uint64_t seed = 0; seed < 150 / kDear; ++seed) {
    Random random(seeded(seed));
    const bool is_tree = seed % 2 == 0;
    Kind kind = kind_of(SAMPLER_ACCEPT_SYNTHETIC, is_tree, seed % 3 == 0);
    kind.has_bad_ids = false;
    Problem problem = random_problem(&random, kind);
    problem.draw_method = SAMPLER_DRAW_INVERSE_CDF;
    const std::vector<Sequence> sequences = problem.sequences;
    problem.sequences.clear();
    for (sampler_acceptance rule = 1; rule < 9; ++rule) {
      if (is_tree && is_for_chains(rule)) continue;
      problem.sequences.push_back(sequences[at(rule) % sequences.size()]);
      problem.sequences.back().rule = rule;
    }
    problem.has_rules_by_slot = true;
    const Layout layout = random_layout(&random, problem);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(problem, layout));
    const auto together = verify(handles.simd.get(), problem, layout);
    expect_equal(verify(handles.reference.get(), problem, layout), together, "SIMD");
    for (std::size_t s = 0; s < together.size(); ++s) {
      Problem alone = problem;
      alone.sequences = {problem.sequences[s]};
      alone.has_rules_by_slot = false;
      expect_equal(verify(handles.reference.get(), alone), {together[s]}, "alone");
    }
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

// The rule of a slot that names none is the call's, and that STANDARD where it names none either.
TEST(Batches, HaveTheRuleOfTheCallWhereSlotsNameNone) {
  const Handles handles;
  for (std::uint64_t seed = 0; seed < 160 / kDear; ++seed) {
    Random random(seeded(seed));
    const auto rule = static_cast<sampler_acceptance>(1 + seed % 8);
    const bool is_tree = random.one_in(2) && !is_for_chains(rule);
    const Problem problem = random_problem(&random, kind_of(rule, is_tree, false));
    const Layout layout = random_layout(&random, problem);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(problem, layout));
    for (const bool is_simd : {false, true}) {
      sampler_t const sampler = is_simd ? handles.simd.get() : handles.reference.get();
      const auto expected = verify(sampler, problem, layout);
      Call by_slot(sampler, problem, layout);
      std::fill(by_slot.rules.begin(), by_slot.rules.end(), SAMPLER_ACCEPT_DEFAULT);
      by_slot.args.acceptances = by_slot.rules.data();
      ASSERT_EQ(by_slot.run(), SAMPLER_OK) << sampler_last_error();
      expect_equal(expected, by_slot.outcomes(), "by slot");
      if (rule != SAMPLER_ACCEPT_STANDARD) continue;
      Call unnamed(sampler, problem, layout);
      unnamed.args.acceptance_params.rule = SAMPLER_ACCEPT_DEFAULT;
      ASSERT_EQ(unnamed.run(), SAMPLER_OK) << sampler_last_error();
      expect_equal(expected, unnamed.outcomes(), "no rule");
      if (problem.sibling_rule != SAMPLER_SIBLINGS_INDEPENDENT) continue;
      Call without(sampler, problem, layout);
      without.args.acceptance = nullptr;
      ASSERT_EQ(without.run(), SAMPLER_OK) << sampler_last_error();
      expect_equal(expected, without.outcomes(), "NULL");
    }
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

// Without a state and with one; its bytes do not change, as every call of verify() sees.
TEST(Texts, AreListsOrAState) {
  for (const bool are_trees : {false, true}) {
    for_problems(are_trees, 400, [](const Handles &handles, Random *, Problem *problem) {
      if (!problem->has_pipeline) return;
      Layout layout;
      layout.has_state = true;
      expect_as_plain(handles, *problem, layout, "state");
      layout.has_slots = true;
      expect_as_plain(handles, *problem, layout, "state, slots in another order");
    });
  }
}

// Each output is what it is, whichever others are asked for.
TEST(Outputs, DoNotDependOnEachOther) {
  for (const bool are_trees : {false, true}) {
    for_problems(are_trees, 300, [](const Handles &handles, Random *random, Problem *problem) {
      const auto expected = verify(handles.reference.get(), *problem);
      for (const bool is_simd : {false, true}) {
        Call call((is_simd ? handles.simd : handles.reference).get(), *problem, {});
        std::vector<const char *> left_out;
        const auto maybe = [&](const char *name, auto **output) {
          if (random->one_in(2)) return;
          *output = nullptr;
          left_out.push_back(name);
        };
        VerifyArgs &args = call.args;
        maybe("accepted", &args.out_accepted_counts);
        maybe("emitted", &args.out_emitted_counts);
        maybe("status", &args.out_row_status);
        maybe("positions", &args.out_positions);
        maybe("kv", &args.out_kv_indices);
        maybe("kept_counts", &args.report_args.out_kept_counts);
        maybe("ranks", &args.report_args.out_ranks);
        maybe("logprobs", &args.report_args.out_logprobs);
        maybe("entropies", &args.report_args.out_entropies);
        maybe("observations", &args.report_args.out_observations);
        maybe("kept_bitmask", &args.report_args.out_kept_bitmask);
        if (!args.report_args.out_kept_bitmask) args.report_args.kept_bitmask_stride = 0;
        random->one_in(2) ? maybe("top_ids", &args.report_args.out_top_token_ids)
                          : maybe("top_logprobs", &args.report_args.out_top_logprobs);
        random->one_in(2) ? maybe("kept_ids", &args.report_args.out_kept_token_ids)
                          : maybe("kept_probabilities", &args.report_args.out_kept_probabilities);
        ASSERT_EQ(call.run(), SAMPLER_OK) << sampler_last_error();
        auto outcomes = call.outcomes();
        for (Outcome &outcome : outcomes) {
          for (const char *const name : left_out) outcome.erase(name);
        }
        expect_equal(expected, outcomes, is_simd ? "SIMD" : "scalar");
      }
    });
  }
}

// Makes some rows of both models bad, or 0 everywhere. Of given target rows the standard rule,
// which forced tokens take, reads without reports only the drafts' elements.
void spoil_rows(Random *random, Problem *problem, sampler_acceptance rule) {
  const bool reads_elements = rule == SAMPLER_ACCEPT_STANDARD || problem->has_forced_tokens;
  const auto spoil = [&](std::vector<Row> *rows, sampler_input_kind kind, bool may_be_bad) {
    for (Row &row : *rows) {
      if (!random->one_in(4)) continue;
      if (may_be_bad && random->one_in(2)) {
        row.back() = kNan;
      } else {
        std::fill(row.begin(), row.end(), kind == SAMPLER_LOGITS ? -kInfinity : 0.0f);
      }
    }
  };
  for (Sequence &sequence : problem->sequences) {
    spoil(&sequence.target, problem->kind, problem->kind == SAMPLER_LOGITS || !reads_elements);
    spoil(&sequence.draft, problem->draft_kind, true);
  }
}

// Whether a sequence has reports changes neither its tokens nor its status, whatever its rows are.
TEST(Outputs, OfBadRowsDoNotDependOnReports) {
  const Handles handles;
  int num_good = 0, num_bad = 0;
  for (std::uint64_t seed = 0; seed < 1600 / kDear; ++seed) {
    Random random(seeded(seed));
    Kind kind = kind_in_turn(&random, seed, 4);
    kind.has_forced_tokens = random.one_in(4);
    Problem problem = random_problem(&random, kind);
    spoil_rows(&random, &problem, kind.rule);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(problem, {}));
    Layout without_reports;
    without_reports.has_new_outputs = false;
    for (const bool is_simd : {false, true}) {
      sampler_t sampler = (is_simd ? handles.simd : handles.reference).get();
      const auto expected = verify(sampler, problem, without_reports);
      expect_equal(expected, verify(sampler, problem), is_simd ? "SIMD" : "scalar");
      for (const Outcome &outcome : expected) {
        ++(outcome.at("status")[0] == SAMPLER_ROW_OK ? num_good : num_bad);
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(num_good, 100 / kDear);
  EXPECT_GT(num_bad, 100 / kDear);
}

TEST(Outputs, AccumulateCounts) {
  for (const bool are_trees : {false, true}) {
    for_problems(are_trees, 100, [](const Handles &handles, Random *, Problem *problem) {
      auto expected = verify(handles.simd.get(), *problem);
      Call call(handles.simd.get(), *problem, {});
      call.args.accumulate_counts = 1;
      call.args.exec = {};
      for (std::size_t s = 0; s < expected.size(); ++s) {
        call.accepted[s] = call.emitted[s] = 100 * static_cast<std::int32_t>(s);
        expected[s]["accepted"][0] += 100 * static_cast<std::int64_t>(s);
        expected[s]["emitted"][0] += 100 * static_cast<std::int64_t>(s);
      }
      ASSERT_EQ(call.run(), SAMPLER_OK) << sampler_last_error();
      expect_equal(expected, call.outcomes(), "accumulated");
    });
  }
}

// Members for all in place of arrays by slot, and no counts where all sequences have all drafts.
TEST(Parameters, AreForAllOrBySlot) {
  for (const bool are_trees : {false, true}) {
    for_problems(are_trees, 300, [](const Handles &handles, Random *, Problem *problem) {
      problem->has_numbers_by_slot = problem->has_draft_numbers_by_slot = false;
      bool is_full = true;
      for (Sequence &sequence : problem->sequences) {
        sequence.temperature = problem->sequences[0].temperature;
        sequence.top_p = problem->sequences[0].top_p;
        is_full = is_full && sequence.num_drafts() == problem->num_drafts;
      }
      for (const bool is_simd : {false, true}) {
        sampler_t const sampler = (is_simd ? handles.simd : handles.reference).get();
        const auto expected = verify(sampler, *problem);
        Call call(sampler, *problem, {});
        call.args.row_params = nullptr;
        call.params.temperature = problem->sequences[0].temperature;
        call.params.top_p = problem->sequences[0].top_p;
        if (is_full) call.args.draft_counts = nullptr;
        ASSERT_EQ(call.run(), SAMPLER_OK) << sampler_last_error();
        expect_equal(expected, call.outcomes(), is_simd ? "SIMD" : "scalar");
      }
    });
  }
}

TEST(Handles, OfAllInstructionSetsAgree) {
  const auto handles = pipeline_test::handles_of_all_isas();
  for (std::uint64_t seed = 0; seed < 160 / kDear; ++seed) {
    Random random(seeded(seed));
    Kind kind = kind_in_turn(&random, seed, 2);
    kind.is_large = random.one_in(3);
    const Problem problem = random_problem(&random, kind);
    const Layout layout = random_layout(&random, problem);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(problem, layout));
    const auto expected = verify(handles[0].get(), problem, layout);
    for (std::size_t i = 1; i < handles.size(); ++i) {
      expect_equal(expected, verify(handles[i].get(), problem, layout),
                   "handle " + std::to_string(i));
    }
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

// Without arrays by slot: the members for all, and the stream of each slot.
TEST(Randomness, IsByStream) {
  for_problems(false, 200, [](const Handles &handles, Random *, Problem *problem) {
    for (Sequence &sequence : problem->sequences) {
      sequence.seed = 7;
      sequence.offset = 9;
    }
    const auto run = [&](sampler_t sampler, bool has_streams) {
      Call call(sampler, *problem, {});
      std::vector<std::uint32_t> streams(at(call.num_slots));
      std::iota(streams.begin(), streams.end(), 0U);
      if (has_streams) {
        call.args.random.streams = streams.data();
      } else {
        call.args.random.seeds = call.args.random.offsets = nullptr;
        call.args.random.num_seeds = call.args.random.num_offsets = 0;
        call.args.random.seed = 7;
        call.args.random.offset = 9;
      }
      EXPECT_EQ(call.run(), SAMPLER_OK) << sampler_last_error();
      return call.outcomes();
    };
    const auto expected = run(handles.reference.get(), true);
    expect_equal(expected, run(handles.reference.get(), false), "one seed");
    expect_equal(expected, run(handles.simd.get(), false), "one seed, SIMD");
    expect_equal({expected[0]}, {verify(handles.simd.get(), *problem)[0]}, "stream 0");
  });
}

}  // namespace
}  // namespace verification_test::layouts_test
