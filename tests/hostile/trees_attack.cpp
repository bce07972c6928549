// Random draft trees of one sequence, most of which are none: cycles, drafts that hang on two or on
// what there is not. Its status is INVALID_TREE then, the other sequences have what they have
// without it, and every call ends.
//
// usage: trees_attack [COUNT [SEED]]
#include <gtest/gtest.h>
#include <unistd.h>

#include <cinttypes>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "../seed.h"
#include "random_problem.h"

namespace verification_test {
namespace {

constexpr unsigned kPatience = 60;  // seconds for a problem and all its trees
constexpr int kTreesOfAProblem = 50;

// What a link may be that its writer was careless or means harm with.
std::int32_t any_link(Random *random, std::int64_t most) {
  switch (random->between(0, 19)) {
    case 0:
      return random->one_in(2) ? INT32_MAX : INT32_MIN;
    case 1:
      return static_cast<std::int32_t>(random->between(INT32_MIN, INT32_MAX));
    default:
      return static_cast<std::int32_t>(random->between(-2, most + 1));
  }
}

bool is_tree(const std::int32_t *parents, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (parents[i] < -1 || parents[i] >= i) return false;
  }
  return true;
}

// By tables: each position of the first `count` + 1 is linked to at most once, the first neither is
// nor has a sibling, and links go in no circle.
bool is_tree(const std::int32_t *first_children, const std::int32_t *next_siblings,
             std::int64_t count) {
  std::vector<std::int64_t> from(at(count + 1), -1);
  for (std::int64_t i = 0; i <= count; ++i) {
    for (const std::int32_t *links : {first_children, next_siblings}) {
      if (links[i] == 0 || links[i] == -1) continue;
      if (links[i] < 0 || links[i] > count || from[at(links[i])] >= 0) return false;
      if (i == 0 && links == next_siblings) return false;
      from[at(links[i])] = i;
    }
  }
  for (std::int64_t i = 0; i <= count; ++i) {
    std::int64_t place = i;
    for (std::int64_t steps = 0; place > 0; ++steps) {
      if (steps > count) return false;
      place = from[at(place)];
    }
  }
  return true;
}

struct Counts {
  std::int64_t calls = 0, invalid = 0, valid = 0;
};

// False: something is wrong, and has been reported.
bool attack(Random *random, sampler_t sampler, const Problem &problem, const Layout &layout,
            const std::vector<Outcome> &good, Counts *counts) {
  Call call(sampler, problem, layout);
  const std::int64_t bad = random->between(0, problem.num_sequences() - 1);
  const std::int64_t most = problem.num_drafts, count = problem.sequences[at(bad)].num_drafts();
  const bool has_parents = call.args.draft_layout.parents != nullptr;
  // A few links, or all of them.
  const bool is_all = random->one_in(2);
  for (std::int64_t i = 0; i <= most; ++i) {
    if (has_parents) {
      if (i < most && (is_all || random->one_in(most)))
        call.parents[at(bad * most + i)] = any_link(random, most);
      continue;
    }
    const std::size_t place = at(bad * (most + 1) + i);
    if (is_all || random->one_in(most)) call.first_children[place] = any_link(random, most);
    if (is_all || random->one_in(most)) call.next_siblings[place] = any_link(random, most);
  }
  const sampler_status status = call.run();
  ++counts->calls;
  if (status != SAMPLER_OK) {
    std::printf("refused: %s\n", sampler_last_error());
    return false;
  }
  const std::vector<Outcome> outcomes = call.outcomes();
  const bool is_invalid = (call.status[at(bad)] & SAMPLER_ROW_INVALID_TREE) != 0;
  ++(is_invalid ? counts->invalid : counts->valid);
  const std::size_t first = at(bad * (most + 1));
  const bool is_valid =
      has_parents ? is_tree(&call.parents[at(bad * most)], count)
                  : is_tree(&call.first_children[first], &call.next_siblings[first], count);
  if (is_invalid == is_valid) {
    std::printf("%s: status %d\n", describe(problem, layout).c_str(), int(call.status[at(bad)]));
    return false;
  }
  for (std::int64_t s = 0; s < problem.num_sequences(); ++s) {
    const std::string text = s == bad ? "" : difference(good[at(s)], outcomes[at(s)]);
    if (!text.empty()) {
      std::printf("%s: sequence %" PRId64 ": %s\n", describe(problem, layout).c_str(), s,
                  text.c_str());
      return false;
    }
  }
  return true;
}

bool attack_all(std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  sampler_t sampler = nullptr;
  if (sampler_create(nullptr, &sampler) != SAMPLER_OK) return false;
  Counts counts;
  while (counts.calls < count) {
    alarm(kPatience);
    Kind kind;
    kind.is_tree = true;
    do {
      kind.rule = static_cast<sampler_acceptance>(random.between(0, SAMPLER_ACCEPT_SYNTHETIC));
    } while (kind.rule == SAMPLER_ACCEPT_BLOCK || kind.rule == SAMPLER_ACCEPT_DEFERRED);
    kind.has_stages = random.one_in(3);
    kind.has_reports = random.one_in(2);
    kind.has_bad_ids = !kind.has_stages;
    const Problem problem = random_problem(&random, kind);
    Layout layout = random_layout(&random, problem);
    layout.packing = SAMPLER_PACKING_DENSE;
    layout.has_one_tree = false;
    const Layout::Tree trees[] = {Layout::Tree::kParents, Layout::Tree::kTables,
                                  Layout::Tree::kTablesWithZeros};
    layout.tree = trees[random.between(0, 2)];
    if (problem.num_drafts == 0 || problem.num_sequences() == 0) continue;
    const std::vector<Outcome> good = verify(sampler, problem, layout);
    for (int i = 0; i < kTreesOfAProblem; ++i) {
      if (!attack(&random, sampler, problem, layout, good, &counts)) return false;
    }
  }
  sampler_destroy(sampler);
  std::printf("%" PRId64 " trees: %" PRId64 " invalid, %" PRId64 " not\n", counts.calls,
              counts.invalid, counts.valid);
  return counts.invalid > count / 4 && counts.valid > count / 50;
}

}  // namespace
}  // namespace verification_test

int main(int argc, char **argv) {
  const std::int64_t count = argc > 1 ? std::atoll(argv[1]) : 5000;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : seeded(32);
  return verification_test::attack_all(count, seed) && !testing::Test::HasFailure() ? 0 : 1;
}
