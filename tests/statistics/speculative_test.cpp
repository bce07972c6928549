// The tokens that verification emits follow the target's distribution, whatever the drafts.
//
// Drafts come from a generator that has nothing to do with the library. Where the target's rows do
// not depend on the drafts before them, the token at each position, given that there is one,
// follows that position's row; where they do, as with a language model, the first two tokens
// together follow the product of the conditional distributions.
//
// Each check names the bias that it finds in any token of probability `least` or more. Late
// positions are reached by few rows, so larger ones there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>

#include "source.h"

namespace statistics_test::speculative_test {
namespace {

constexpr std::size_t kNumCols = 6;
constexpr std::size_t kNumDrafts = 2;
constexpr std::int64_t kRowsPerCall = 4096;
constexpr std::uint64_t kSeed = 0x5BEC'0001;

// Multiples of 1/32: given as f32 they are exact, and sum to 1 exactly.
const std::vector<std::vector<float>> kTarget = {
    {8 / 32.f, 4 / 32.f, 6 / 32.f, 3 / 32.f, 6 / 32.f, 5 / 32.f},
    {4 / 32.f, 9 / 32.f, 3 / 32.f, 7 / 32.f, 5 / 32.f, 4 / 32.f},
    {5 / 32.f, 5 / 32.f, 8 / 32.f, 4 / 32.f, 4 / 32.f, 6 / 32.f}};
const std::vector<std::vector<float>> kDraft = {
    {4 / 32.f, 8 / 32.f, 6 / 32.f, 9 / 32.f, 5 / 32.f, 0 / 32.f},
    {6 / 32.f, 6 / 32.f, 6 / 32.f, 6 / 32.f, 4 / 32.f, 4 / 32.f}};
constexpr double kLeastShare = 3 / 32.;

std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

Probabilities to_probabilities(const std::vector<float> &row) {
  return Probabilities(row.begin(), row.end());
}

// Draft tokens, by inversion of 53-bit uniform numbers.
class Drafter {
 public:
  explicit Drafter(std::uint64_t seed) : engine_(seed) {}

  std::int32_t draw(const Probabilities &p) {
    long double u = static_cast<long double>(engine_() >> 11) * 0x1p-53L;
    std::size_t token = 0;
    while (token + 1 < p.size() && u >= p[token]) u -= p[token++];
    return static_cast<std::int32_t>(token);
  }
  std::int32_t below(std::uint32_t n) { return static_cast<std::int32_t>(engine_() % n); }

 private:
  std::mt19937_64 engine_;
};

// A batch of chains, verified call after call with a growing offset.
struct Chains {
  explicit Chains(std::size_t drafts_per_row)
      : num_drafts(drafts_per_row),
        sampler(make_sampler(kRowsPerCall, kNumCols)),
        draft_ids(index(kRowsPerCall) * num_drafts),
        token_ids(index(kRowsPerCall) * (num_drafts + 1)),
        emitted_counts(index(kRowsPerCall)),
        accepted_counts(index(kRowsPerCall)) {
    args.num_drafts = static_cast<std::int64_t>(num_drafts);
    args.draft_token_ids = draft_ids.data();
    args.out_token_ids = token_ids.data();
    args.out_emitted_counts = emitted_counts.data();
    args.out_accepted_counts = accepted_counts.data();
    args.params = &params;
    args.random.seed = kSeed;
  }

  // One row for each position, of all chains.
  void set_target(const std::vector<float> &rows, sampler_input_kind kind) {
    args.target = view(rows, kind);
  }
  void set_draft(const std::vector<float> &rows, sampler_input_kind kind) {
    args.draft = view(rows, kind);
  }

  void verify() {
    ASSERT_EQ(sampler_verify(sampler.get(), &args), SAMPLER_OK) << sampler_last_error();
    ++args.random.offset;
  }

  std::int32_t &draft(std::int64_t row, std::size_t position) {
    return draft_ids[index(row) * num_drafts + position];
  }
  // -1 after the last.
  std::int32_t token(std::int64_t row, std::size_t position) const {
    return token_ids[index(row) * (num_drafts + 1) + position];
  }

  // One row for each position, the same in every chain.
  static std::vector<float> repeated(const std::vector<std::vector<float>> &positions) {
    std::vector<float> result;
    for (std::int64_t row = 0; row < kRowsPerCall; ++row) {
      for (const auto &values : positions)
        result.insert(result.end(), values.begin(), values.end());
    }
    return result;
  }

  sampler_verify_args args = sized<sampler_verify_args>();
  sampler_params params = sampler_params_default();
  std::size_t num_drafts;
  SamplerPtr sampler;
  std::vector<std::int32_t> draft_ids, token_ids, emitted_counts, accepted_counts;

 private:
  static sampler_rows view(const std::vector<float> &rows, sampler_input_kind kind) {
    return rows_of(rows.data(), kind, static_cast<std::int64_t>(rows.size() / kNumCols), kNumCols);
  }
};

// What is emitted at each position, and how many drafts were kept and would have been.
struct Emitted {
  std::vector<Counts> tokens = std::vector<Counts>(kNumDrafts + 1, Counts(kNumCols));
  Counts emitted = Counts(kNumDrafts + 1);
  Counts accepted = Counts(kNumDrafts + 1);

  void add(const Chains &chains) {
    for (std::int64_t row = 0; row < kRowsPerCall; ++row) {
      for (std::size_t i = 0; i <= kNumDrafts; ++i) {
        const std::int32_t token = chains.token(row, i);
        if (token >= 0) ++tokens[i].at(index(token));
      }
      ++emitted.at(index(chains.emitted_counts[index(row)]));
      ++accepted.at(index(chains.accepted_counts[index(row)]));
    }
  }
};

void expect_frequencies(const Counts &counts, const Probabilities &p, double least, double bias,
                        const std::string &what) {
  std::uint64_t num_draws = 0;
  for (const std::uint64_t count : counts) num_draws += count;
  ASSERT_GE(power_against_bias(static_cast<double>(num_draws), least, -bias, p.size()), kPower)
      << what << ": " << num_draws << " draws";
  EXPECT_EQ(frequency_fault(counts, p), "") << what;
}

// The token at every position follows the target; a bias to be found for each position.
void expect_target(const Emitted &emitted, const std::vector<Probabilities> &target, double least,
                   const std::vector<double> &biases) {
  for (std::size_t i = 0; i < target.size(); ++i) {
    expect_frequencies(emitted.tokens[i], target[i], least, biases[i],
                       "position " + std::to_string(i));
  }
}

// How many of the drafts are kept before the first rejection, and how many would be on their own,
// when the draft at each position is accepted with these chances.
void expect_counts(const Emitted &emitted, const std::vector<long double> &accept) {
  const long double a = accept[0], b = accept[1];
  expect_frequencies(emitted.emitted, {1 - a, a * (1 - b), a * b}, kLeastShare, 0.01,
                     "emitted counts");
  expect_frequencies(emitted.accepted, {(1 - a) * (1 - b), a * (1 - b) + b * (1 - a), a * b},
                     kLeastShare, 0.01, "accepted counts");
}

std::vector<Probabilities> target_probabilities() {
  std::vector<Probabilities> result(kTarget.size());
  std::transform(kTarget.begin(), kTarget.end(), result.begin(), &to_probabilities);
  return result;
}

// Sum of min(p, q): the chance that a draft drawn from q is accepted.
long double overlap(const Probabilities &p, const Probabilities &q) {
  long double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) sum += std::min(p[i], q[i]);
  return sum;
}

TEST(Speculative, WithDraftProbabilities) {
  Chains chains(kNumDrafts);
  const std::vector<float> target = Chains::repeated(kTarget), draft = Chains::repeated(kDraft);
  chains.set_target(target, SAMPLER_PROBABILITIES);
  chains.set_draft(draft, SAMPLER_PROBABILITIES);
  const std::vector<Probabilities> q = {to_probabilities(kDraft[0]), to_probabilities(kDraft[1])};
  Drafter drafter(1);
  Emitted emitted;
  for (int call = 0; call < 2200; ++call) {
    for (std::int64_t row = 0; row < kRowsPerCall; ++row) {
      for (std::size_t i = 0; i < kNumDrafts; ++i) chains.draft(row, i) = drafter.draw(q[i]);
    }
    chains.verify();
    emitted.add(chains);
  }
  const std::vector<Probabilities> p = target_probabilities();
  expect_target(emitted, p, kLeastShare, {0.01, 0.01, 0.01});
  expect_counts(emitted, {overlap(p[0], q[0]), overlap(p[1], q[1])});
}

// Drafts of a drafter that is no distribution: tokens in turn, likely and unlikely ones.
TEST(Speculative, DeterministicDrafts) {
  Chains chains(kNumDrafts);
  const std::vector<float> target = Chains::repeated(kTarget);
  chains.set_target(target, SAMPLER_PROBABILITIES);
  Emitted emitted;
  for (std::size_t i = 0; i < kNumDrafts; ++i) {
    for (std::int64_t row = 0; row < kRowsPerCall; ++row) {
      chains.draft(row, i) = static_cast<std::int32_t>(i == 0 ? row % 3 * 2 : row / 3 % 2);
    }
  }
  for (int call = 0; call < 3000; ++call) {
    chains.verify();
    emitted.add(chains);
  }
  expect_target(emitted, target_probabilities(), kLeastShare, {0.01, 0.015, 0.03});
}

// Rows have 0, 1 or 2 drafts; after its last draft a row ends with a token of the target.
TEST(Speculative, RaggedLengths) {
  Chains chains(kNumDrafts);
  const std::vector<float> target = Chains::repeated(kTarget), draft = Chains::repeated(kDraft);
  std::vector<std::int32_t> counts(index(kRowsPerCall));
  chains.set_target(target, SAMPLER_PROBABILITIES);
  chains.set_draft(draft, SAMPLER_PROBABILITIES);
  chains.args.draft_counts = counts.data();
  const std::vector<Probabilities> q = {to_probabilities(kDraft[0]), to_probabilities(kDraft[1])};
  Drafter drafter(2);
  Emitted emitted;
  for (int call = 0; call < 3600; ++call) {
    for (std::int64_t row = 0; row < kRowsPerCall; ++row) {
      counts[index(row)] = drafter.below(kNumDrafts + 1);
      for (std::size_t i = 0; i < kNumDrafts; ++i) chains.draft(row, i) = drafter.draw(q[i]);
    }
    chains.verify();
    emitted.add(chains);
    for (std::int64_t row = 0; row < kRowsPerCall; ++row) {
      ASSERT_LE(chains.emitted_counts[index(row)], counts[index(row)]);
    }
  }
  expect_target(emitted, target_probabilities(), kLeastShare, {0.01, 0.01, 0.013});
}

// Target and draft as logits, temperature and filters applied to both.
TEST(Speculative, FromLogitsWithFilters) {
  Source parameters;
  parameters.temperature = 0.8f;
  parameters.top_k = 5;
  parameters.min_p = 0.2f;
  std::vector<std::vector<float>> target_logits, draft_logits;
  std::vector<Probabilities> p, q;
  const auto add = [&](const std::vector<float> &shares, std::vector<std::vector<float>> *logits,
                       std::vector<Probabilities> *probabilities) {
    // 2^-6: a token that the filters drop.
    std::vector<double> positive(shares.begin(), shares.end());
    for (double &share : positive) share = std::max(share, 0x1p-6);
    parameters.values = logits_of(positive);
    logits->push_back(parameters.values);
    probabilities->push_back(expected_probabilities(parameters));
  };
  for (const auto &row : kTarget) add(row, &target_logits, &p);
  for (const auto &row : kDraft) add(row, &draft_logits, &q);
  ASSERT_EQ(p[0][3], 0);  // dropped by top-k
  ASSERT_EQ(q[0][5], 0);

  Chains chains(kNumDrafts);
  const std::vector<float> target = Chains::repeated(target_logits);
  const std::vector<float> draft = Chains::repeated(draft_logits);
  chains.set_target(target, SAMPLER_LOGITS);
  chains.set_draft(draft, SAMPLER_LOGITS);
  chains.params = parameters;
  Drafter drafter(3);
  Emitted emitted;
  for (int call = 0; call < 820; ++call) {
    for (std::int64_t row = 0; row < kRowsPerCall; ++row) {
      for (std::size_t i = 0; i < kNumDrafts; ++i) chains.draft(row, i) = drafter.draw(q[i]);
    }
    chains.verify();
    emitted.add(chains);
  }
  expect_target(emitted, p, 0.1, {0.013, 0.015, 0.02});
}

// A model of one token's memory: the target's row after a draft depends on the draft. A chain that
// emitted one token only goes on with a call without drafts, as a generation would.
TEST(Speculative, FirstTwoTokensTogether) {
  constexpr std::size_t kSmall = 4;  // tokens in use; the others have probability 0
  const auto row_behind = [](std::size_t token) {
    std::vector<float> row(kNumCols, 0.0f);
    const float shares[kSmall] = {4 / 16.f, 5 / 16.f, 3 / 16.f, 4 / 16.f};
    for (std::size_t i = 0; i < kSmall; ++i) row[i] = shares[(i + token) % kSmall];
    return row;
  };
  const std::vector<float> first_row = row_behind(1);
  const std::vector<float> draft_row = row_behind(3);

  Chains chains(1), ends(0);
  std::vector<float> target(index(kRowsPerCall) * 2 * kNumCols);
  std::vector<float> end_target(index(kRowsPerCall) * kNumCols);
  const std::vector<float> draft = Chains::repeated({draft_row});
  chains.set_target(target, SAMPLER_PROBABILITIES);
  chains.set_draft(draft, SAMPLER_PROBABILITIES);
  ends.set_target(end_target, SAMPLER_PROBABILITIES);
  ends.args.random.offset = std::uint64_t{1} << 40;
  const Probabilities q = to_probabilities(draft_row);
  Drafter drafter(4);
  Counts pairs(kSmall * kSmall);
  for (int call = 0; call < 3000; ++call) {
    for (std::int64_t row = 0; row < kRowsPerCall; ++row) {
      const std::int32_t draft_id = chains.draft(row, 0) = drafter.draw(q);
      const std::vector<float> second_row = row_behind(index(draft_id));
      float *const rows = &target[index(row) * 2 * kNumCols];
      std::copy(first_row.begin(), first_row.end(), rows);
      std::copy(second_row.begin(), second_row.end(), rows + kNumCols);
    }
    chains.verify();
    for (std::int64_t row = 0; row < kRowsPerCall; ++row) {
      const std::vector<float> values = row_behind(index(chains.token(row, 0)));
      std::copy(values.begin(), values.end(), &end_target[index(row) * kNumCols]);
    }
    ends.verify();
    for (std::int64_t row = 0; row < kRowsPerCall; ++row) {
      const std::int32_t second =
          chains.token(row, 1) >= 0 ? chains.token(row, 1) : ends.token(row, 0);
      ++pairs.at(index(chains.token(row, 0)) * kSmall + index(second));
    }
  }
  Probabilities expected;
  for (std::size_t i = 0; i < kSmall; ++i) {
    for (std::size_t j = 0; j < kSmall; ++j) {
      expected.push_back(static_cast<long double>(first_row[i]) * row_behind(i)[j]);
    }
  }
  expect_frequencies(pairs, expected, 0.04, 0.01, "pairs");
}

}  // namespace
}  // namespace statistics_test::speculative_test
