// The reports of sampler_sample against the oracle: every number is equal to the bit, whatever the
// instruction set, the type, the stages and the form of the call.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "../seed.h"
#include "../sized.h"
#include "adaptive_stage.h"
#include "handles.h"
#include "oracle.h"
#include "problem.h"
#include "reported.h"
#include "reports_oracle.h"

namespace pipeline_test::reports_test {
namespace {

constexpr std::uint64_t kNumProblems = affordable(250);

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

bool same(float a, float b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

// Checks the reports of one output row. `row` is the input row, `n` the output row.
class RowCheck {
 public:
  RowCheck(const Problem &problem, std::int64_t row, const Reported &got, std::int64_t n,
           const Sizes &sizes, const std::vector<std::int64_t> &chosen)
      : problem_(problem), row_(row), got_(got), n_(n), sizes_(sizes), chosen_(chosen) {}

  void expect_bad() const {
    for (std::int64_t i = 0; i < sizes_.top; ++i) expect_no_top(i);
    for (std::int64_t i = 0; i < sizes_.chosen; ++i) {
      ASSERT_TRUE(std::isnan(got_.chosen_logprobs[at(n_ * sizes_.chosen + i)]));
    }
    for (std::int64_t i = 0; i < sizes_.kept; ++i) expect_no_kept(i);
    ASSERT_EQ(got_.kept_offsets[at(n_ + 1)], got_.kept_offsets[at(n_)]);
    ASSERT_EQ(got_.ranks[at(n_)], 0);
    ASSERT_TRUE(std::isnan(got_.entropies[at(n_)]));
    for (std::int64_t id = 0; id < 32 * words(); ++id) ASSERT_FALSE(bit(id));
    for (std::int64_t i = 0; i < problem_.num_cols; ++i) ASSERT_EQ(removed_by(i), 255);
  }

  // What the distribution's tokens say.
  void expect_of(const oracle::Reports &expected) const {
    const auto &tokens = expected.tokens();
    const auto count = static_cast<std::int64_t>(tokens.ids.size());
    for (std::int64_t i = 0; i < sizes_.top; ++i) {
      if (i >= count) {
        expect_no_top(i);
        continue;
      }
      ASSERT_EQ(got_.top_ids[at(n_ * sizes_.top + i)], tokens.ids[at(i)]) << i;
      ASSERT_EQ(got_.top_logprobs[at(n_ * sizes_.top + i)], expected.logprob_at(at(i))) << i;
    }
    for (std::int64_t i = 0; i < sizes_.chosen; ++i) {
      const std::int64_t id = chosen_[at(n_ * sizes_.chosen + i)];
      const float logprob = has(id) ? expected.logprob(id) : std::nanf("");
      ASSERT_TRUE(same(got_.chosen_logprobs[at(n_ * sizes_.chosen + i)], logprob)) << id;
    }
    const std::int64_t token = got_.token_ids[at(n_)];
    ASSERT_EQ(got_.ranks[at(n_)], expected.rank(token));
    ASSERT_EQ(got_.logprobs[at(n_)], expected.logprob(token));
    ASSERT_EQ(got_.entropies[at(n_)], expected.entropy());
  }

  // The kept set, and what removed the other elements.
  void expect_kept(const oracle::Reports &kept, const Removals &removals) const {
    auto ids = kept.tokens().ids;
    const auto count = static_cast<std::int64_t>(ids.size());
    std::sort(ids.begin(), ids.end());
    for (std::int64_t id = 0; id < 32 * words(); ++id) {
      ASSERT_EQ(bit(id), std::binary_search(ids.begin(), ids.end(), id)) << id;
    }
    const std::int64_t listed = count <= sizes_.kept ? count : 0;
    for (std::int64_t i = 0; i < sizes_.kept; ++i) {
      if (i >= listed) {
        expect_no_kept(i);
        continue;
      }
      const std::int64_t place = kept.rank(ids[at(i)]) - 1;
      ASSERT_EQ(got_.kept_ids[at(n_ * sizes_.kept + i)], ids[at(i)]);
      ASSERT_EQ(got_.kept_probabilities[at(n_ * sizes_.kept + i)], kept.probability_at(at(place)));
    }
    expect_packed(kept, ids);
    for (std::int64_t i = 0; i < problem_.num_cols; ++i) {
      ASSERT_EQ(removed_by(i), at(i) < removals.size() ? removals[at(i)] : 255) << i;
      if (at(i) >= removals.size()) continue;
      ASSERT_EQ(removed_by(i) == 0, std::binary_search(ids.begin(), ids.end(), id_of(i)));
    }
  }

  std::int64_t id_of(std::int64_t element) const {
    return problem_.candidate_ids.empty() ? element : problem_.candidate_ids[at(row_)][at(element)];
  }

 private:
  // The same list where lists are packed, and have room.
  void expect_packed(const oracle::Reports &kept, const std::vector<std::int64_t> &ids) const {
    const std::int64_t first = got_.kept_offsets[at(n_)];
    ASSERT_EQ(got_.kept_offsets[at(n_ + 1)] - first, static_cast<std::int64_t>(ids.size()));
    for (std::size_t i = 0; i < ids.size() && !sizes_.lacks_room; ++i) {
      ASSERT_EQ(got_.packed_ids[at(first) + i], ids[i]);
      ASSERT_EQ(got_.packed_probabilities[at(first) + i],
                kept.probability_at(at(kept.rank(ids[i]) - 1)));
    }
  }

  std::int64_t words() const {
    return sizes_.bitmask_stride ? sizes_.bitmask_stride : (problem_.num_cols + 31) / 32;
  }
  bool bit(std::int64_t id) const {
    return (got_.bitmask[at(n_ * words() + id / 32)] >> (id % 32) & 1) != 0;
  }
  int removed_by(std::int64_t element) const {
    return got_.removed_by[at(n_ * problem_.num_cols + element)];
  }
  bool has(std::int64_t id) const {
    for (std::size_t i = 0; i < problem_.rows[at(row_)].size(); ++i) {
      if (id_of(static_cast<std::int64_t>(i)) == id) return true;
    }
    return false;
  }
  void expect_no_top(std::int64_t i) const {
    ASSERT_EQ(got_.top_ids[at(n_ * sizes_.top + i)], -1);
    ASSERT_TRUE(std::isnan(got_.top_logprobs[at(n_ * sizes_.top + i)]));
  }
  void expect_no_kept(std::int64_t i) const {
    ASSERT_EQ(got_.kept_ids[at(n_ * sizes_.kept + i)], -1);
    ASSERT_EQ(got_.kept_probabilities[at(n_ * sizes_.kept + i)], 0.0F);
  }

  const Problem &problem_;
  std::int64_t row_;
  const Reported &got_;
  std::int64_t n_;
  const Sizes &sizes_;
  const std::vector<std::int64_t> &chosen_;
};

bool has_token(const std::vector<float> &row, sampler_input_kind kind) {
  const float nothing = kind == SAMPLER_LOGITS ? -kInfinity : 0.0F;
  return std::any_of(row.begin(), row.end(), [&](float x) { return x > nothing; });
}

// What the oracle makes of one row.
struct ExpectedRow {
  std::vector<float> given, edited, drawn;
  float temperature;
  Removals removals;
};

ExpectedRow expected_row(const Problem &problem, std::int64_t row) {
  ExpectedRow result;
  const float nothing = problem.kind == SAMPLER_LOGITS ? -kInfinity : 0.0F;
  result.given = problem.rows[at(row)];
  for (const float x : result.given) result.removals.push_back(x > nothing ? 0 : 255);
  result.edited = edited(problem, row, &result.removals);
  result.temperature = problem.params.temperature;
  result.drawn = result.edited;
  if (!has_token(result.edited, problem.kind)) return result;
  const Staged staged = keep_windows(problem, row, result.edited, true, &result.removals);
  if (!problem.has_windows) return result;
  result.drawn = staged.values;
  result.temperature = staged.temperature;
  return result;
}

// The distribution that is drawn from. `tokens`: those that the windows leave; filters keep the
// first `kept_count`.
oracle::Reports drawn_from(const Problem &problem, std::int64_t row, const ExpectedRow &expected,
                           oracle::RankedTokens tokens, std::size_t kept_count) {
  if (problem.has_windows) {
    const auto i = at(row);
    Expected staged;
    staged.rows.resize(i + 1);
    staged.temperatures.resize(i + 1);
    staged.rows[i] = expected.drawn;
    staged.temperatures[i] = expected.temperature;
    auto reweighed = reweighed_tokens(problem, staged, row);
    if (!reweighed.ids.empty()) return oracle::Reports(std::move(reweighed), true, 1);
  }
  EXPECT_LE(kept_count, tokens.ids.size());
  tokens.ids.resize(kept_count);
  tokens.values.resize(kept_count);
  return {std::move(tokens), problem.kind == SAMPLER_LOGITS, expected.temperature};
}

void check_problem(const std::vector<Handle> &handles, const Problem &problem, sampler_dtype dtype,
                   std::uint64_t seed, std::int64_t *num_good) {
  Random random(seeded(seed));
  const Call call(problem, dtype);
  const Sizes sizes = random_sizes(random, problem);
  const std::int64_t num_rows = problem.num_rows();
  const auto chosen = random_chosen(random, num_rows * sizes.chosen, problem, sizes.id_type);
  auto args = call.args<SampleArgs>();
  args.random.seeds = call.seeds.data();
  args.random.num_seeds = call.num_slots;
  args.random.offset = Call::kOffset;
  args.draw_method = seed % 3 == 0 ? SAMPLER_DRAW_GUMBEL : SAMPLER_DRAW_INVERSE_CDF;
  args.report_args.logprob_kind = static_cast<sampler_logprob_kind>(random.between(0, 2));
  for (const Handle &handle : handles) {
    const Sampled plain = sample(handle.get(), call, SAMPLER_LOGPROB_RAW, args.draw_method);
    const Reported got = report(handle.get(), args, num_rows, sizes, chosen);
    ASSERT_EQ(got.kept_offsets[0], 0);
    for (std::int64_t row = 0; row < num_rows; ++row) {
      SCOPED_TRACE("row " + std::to_string(row) + ", kind " +
                   std::to_string(args.report_args.logprob_kind));
      ASSERT_EQ(got.status[at(row)], plain.status[at(row)]);
      ASSERT_EQ(got.token_ids[at(row)], plain.token_ids[at(row)]);
      ASSERT_EQ(got.kept_counts[at(row)], plain.kept_counts[at(row)]);
      const RowCheck check(problem, row, got, row, sizes, chosen);
      if (got.status[at(row)] != SAMPLER_ROW_OK) {
        check.expect_bad();
        if (testing::Test::HasFatalFailure()) return;
        continue;
      }
      ++*num_good;
      const ExpectedRow expected = expected_row(problem, row);
      std::vector<std::int64_t> ids;
      for (std::size_t i = 0; i < expected.given.size(); ++i) {
        ids.push_back(check.id_of(static_cast<std::int64_t>(i)));
      }
      const bool are_logits = problem.kind == SAMPLER_LOGITS;
      const oracle::Reports kept =
          drawn_from(problem, row, expected, oracle::in_rank_order(ids, expected.drawn, are_logits),
                     at(plain.kept_counts[at(row)]));
      if (args.report_args.logprob_kind == SAMPLER_LOGPROB_PROCESSED) {
        check.expect_of(kept);
      } else {
        const bool is_raw = args.report_args.logprob_kind == SAMPLER_LOGPROB_RAW;
        check.expect_of(oracle::Reports(
            oracle::in_rank_order(ids, is_raw ? expected.given : expected.edited, are_logits),
            are_logits, 1.0F));
      }
      if (testing::Test::HasFatalFailure()) return;
      check.expect_kept(kept, expected.removals);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

class Reports : public testing::TestWithParam<sampler_dtype> {};

// Values on a coarse grid.
void make_ties(Problem *problem) {
  for (auto &row : problem->rows) {
    for (float &x : row) {
      x = problem->kind == SAMPLER_LOGITS ? std::nearbyint(x) : std::ceil(x * 16) / 16;
    }
  }
}

void check_problems(sampler_dtype dtype, Problem (*make)(std::uint64_t)) {
  const std::vector<Handle> handles = handles_of_all_isas();
  std::int64_t num_good = 0;
  for (std::uint64_t seed = 0; seed < kNumProblems; ++seed) {
    SCOPED_TRACE(seed);
    Problem problem = make(seeded(seed * 3 + std::uint64_t(dtype)));
    if (seed % 3 == 0) make_ties(&problem);
    round_rows(&problem, dtype);
    check_problem(handles, problem, dtype, seed, &num_good);
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(num_good, static_cast<std::int64_t>(2 * kNumProblems));
}

TEST_P(Reports, OfEditsEqualThoseOfTheOracle) {
  check_problems(GetParam(), make_problem);
}
TEST_P(Reports, OfWindowsEqualThoseOfTheOracle) {
  check_problems(GetParam(), make_staged_problem);
}

std::string name_of(const testing::TestParamInfo<sampler_dtype> &type) {
  const char *const names[] = {"F32", "F16", "BF16"};
  return names[type.param];
}
INSTANTIATE_TEST_SUITE_P(Types, Reports, testing::Values(SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16),
                         name_of);

}  // namespace
}  // namespace pipeline_test::reports_test
