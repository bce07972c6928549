// Verification of chains against the oracle: token by token where exact arithmetic decides, and the
// distribution of the output.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "batch.h"
#include "compare.h"

namespace oracle_test::speculative_test {
namespace {

using oracle::Distribution;
using oracle::Draw;
using oracle::Filters;
using oracle::Real;
using oracle::Row;

// A batch of chains of equal length. Rows of position j of chain r are rows r * (drafts + 1) + j of
// the target and r * drafts + j of the draft.
struct Chains {
  std::int64_t num_rows = 0;
  std::int64_t num_drafts = 0;
  std::vector<std::vector<float>> target, draft;  // no draft rows: deterministic drafts
  sampler_dtype dtype = SAMPLER_F32;
  sampler_input_kind target_kind = SAMPLER_PROBABILITIES;
  sampler_input_kind draft_kind = SAMPLER_PROBABILITIES;
  std::vector<std::int32_t> draft_ids;  // [num_rows, num_drafts]
  std::vector<std::int32_t> counts;     // of drafts; empty: num_drafts
  Filters filters;
  std::vector<std::uint64_t> seeds;  // one per row: stream 0; empty: seed 5, stream = row
  std::uint64_t offset = 0;

  std::size_t target_row(std::int64_t r, std::int64_t j) const {
    return index(r * (num_drafts + 1) + j);
  }
  std::size_t draft_row(std::int64_t r, std::int64_t j) const { return index(r * num_drafts + j); }
  std::int64_t length(std::int64_t r) const {
    return counts.empty() ? num_drafts : counts[index(r)];
  }
  Draw draw(std::int64_t r) const {
    if (seeds.empty()) return {5, offset, static_cast<std::uint32_t>(r)};
    return {seeds[index(r)], offset, 0};
  }
};

struct Emitted {
  std::vector<std::int32_t> tokens;  // [num_rows, num_drafts + 1]
  std::vector<std::int32_t> accepted, emitted;
  std::vector<sampler_row_status> statuses;
};

// Target and draft of a batch, as the library reads them.
struct Tensors {
  explicit Tensors(const Chains &chains)
      : target(chains.dtype, chains.target_kind, chains.target, 0) {
    if (!chains.draft.empty()) {
      draft.emplace_back(chains.dtype, chains.draft_kind, chains.draft, 0);
    }
  }
  Batch target;
  std::vector<Batch> draft;  // none or one
};

Emitted verify(sampler_t sampler, const Chains &chains, const Tensors &tensors) {
  Emitted out;
  const std::size_t rows = index(chains.num_rows);
  out.tokens.assign(rows * index(chains.num_drafts + 1), -7);
  out.accepted.assign(rows, -7);
  out.emitted.assign(rows, -7);
  out.statuses.assign(rows, 0xffffffffU);
  sampler_params params = sampler_params_default();
  params.temperature = chains.filters.temperature;
  params.top_k = static_cast<std::int32_t>(chains.filters.top_k);
  params.top_p = chains.filters.top_p;
  params.min_p = chains.filters.min_p;
  auto args = sized<sampler_verify_args>();
  args.target = tensors.target.rows();
  if (!tensors.draft.empty()) args.draft = tensors.draft[0].rows();
  args.draft_token_ids = chains.draft_ids.data();
  args.num_drafts = chains.num_drafts;
  args.draft_counts = chains.counts.empty() ? nullptr : chains.counts.data();
  args.params = &params;
  args.random.seed = 5;
  args.random.offset = chains.offset;
  args.random.seeds = chains.seeds.empty() ? nullptr : chains.seeds.data();
  args.random.num_seeds = static_cast<std::int64_t>(chains.seeds.size());
  args.out_token_ids = out.tokens.data();
  args.out_accepted_counts = out.accepted.data();
  args.out_emitted_counts = out.emitted.data();
  args.out_row_status = out.statuses.data();
  EXPECT_EQ(sampler_verify(sampler, &args), SAMPLER_OK) << sampler_last_error();
  return out;
}

SamplerPtr sampler_for(const Chains &chains) {
  return make_sampler(chains.num_rows * (chains.num_drafts + 1),
                      static_cast<std::int64_t>(chains.target.front().size()));
}

bool is_known(const Chains &chains, std::int32_t id) {
  return id >= 0 && id < static_cast<std::int32_t>(chains.target.front().size());
}

// Probabilities of a row by id: as given, or of its kept tokens.
Distribution distribution_of(const Batch &batch, std::size_t r, const Filters &filters) {
  const auto i = static_cast<std::int64_t>(r);
  Distribution p(index(batch.num_cols()), Real{0});
  if (batch.kind() == SAMPLER_PROBABILITIES) {
    for (std::size_t id = 0; id < p.size(); ++id) p[id] = static_cast<Real>(batch.values(i)[id]);
    return p;
  }
  const Row &row = batch.row(i);
  const oracle::Cut cut = row.keep(filters).all;
  EXPECT_EQ(cut.lowest, cut.highest) << "this row's cut is too close for the comparison";
  const std::vector<Real> kept = row.distribution(filters.temperature, cut.count);
  for (std::size_t rank = 0; rank < kept.size(); ++rank) p[index(row.ids()[rank])] = kept[rank];
  return p;
}

// A position of a chain.
struct Position {
  Distribution p, q;
  std::int32_t draft_id = -1;
  bool has_draft = false;
};

// Bound of the relative error of the library's f32 probabilities of a row of logits: of the
// weights, 4e-7 near the maximum and less than 1e-5 anywhere, of the sum, and of two roundings.
// Given probabilities are exact.
Real probability_error(sampler_input_kind kind) {
  return kind == SAMPLER_LOGITS ? 1e-5L : Real{0};
}

enum class Verdict { kAccept, kReject, kTooClose };

Verdict verdict(const Chains &chains, const Position &at, const Draw &draw, std::int64_t j) {
  if (!is_known(chains, at.draft_id)) return Verdict::kReject;
  const std::uint32_t word = oracle::word32(draw, oracle::kAccept, static_cast<std::uint32_t>(j));
  const Real u = static_cast<Real>(word >> 3) * 0x1p-29L;
  const Real p = at.p[index(at.draft_id)];
  const Real uq = u * at.q[index(at.draft_id)];
  const Real error = p * probability_error(chains.target_kind) +
                     (at.has_draft ? uq * probability_error(chains.draft_kind) : 0);
  if (error > 0 && std::abs(uq - p) <= error) return Verdict::kTooClose;
  return uq < p ? Verdict::kAccept : Verdict::kReject;
}

// Checks the draw after a rejection.
void expect_draw(const Chains &chains, const Distribution &weights, const Distribution &subtracted,
                 std::uint64_t word, std::int32_t token) {
  Distribution kept(weights.size()), errors(weights.size());
  bool is_zero = true;
  Real largest = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    kept[i] = std::max(weights[i] - subtracted[i], Real{0});
    is_zero = is_zero && kept[i] == 0;
    largest = std::max(largest, kept[i]);
  }
  if (is_zero) kept = weights;
  if (is_zero) largest = *std::max_element(weights.begin(), weights.end());
  const Real error =
      std::max(probability_error(chains.target_kind), probability_error(chains.draft_kind));
  for (std::size_t i = 0; i < weights.size(); ++i) {
    // The f32 difference has an error of 2^-24, the weight of 2^-45 of the largest.
    errors[i] = (weights[i] + subtracted[i]) * error + kept[i] * 0x1p-24L +
                (kept[i] > 0 ? largest * 0x1p-44L : 0);
  }
  ASSERT_GE(token, 0);
  ASSERT_LT(index(token), weights.size());
  EXPECT_TRUE(kept[index(token)] + errors[index(token)] > 0) << "token of weight 0";
  EXPECT_TRUE(oracle::DrawTable(kept, errors).admits(word, token)) << "token " << token;
}

struct Checked {
  std::int64_t chains = 0, skipped = 0, bonus = 0, rejected = 0;
};

void check_chain(const Chains &chains, const Tensors &tensors, const Emitted &out, std::int64_t r,
                 Checked *checked) {
  const Draw draw = chains.draw(r);
  const std::int64_t length = chains.length(r);
  std::int32_t accepted = 0;
  std::int64_t first_rejection = length;
  bool all_known = true;
  for (std::int64_t j = 0; j < length; ++j) {
    Position at;
    at.draft_id = chains.draft_ids[chains.draft_row(r, j)];
    at.has_draft = !tensors.draft.empty();
    at.p = distribution_of(tensors.target, chains.target_row(r, j), chains.filters);
    at.q.assign(at.p.size(), 0);
    if (at.has_draft) {
      at.q = distribution_of(tensors.draft[0], chains.draft_row(r, j), chains.filters);
    } else if (is_known(chains, at.draft_id)) {
      at.q[index(at.draft_id)] = 1;
    }
    all_known = all_known && is_known(chains, at.draft_id);
    const Verdict found = verdict(chains, at, draw, j);
    if (found == Verdict::kTooClose) {
      ++checked->skipped;
      return;
    }
    if (found == Verdict::kAccept) {
      ++accepted;
    } else if (first_rejection == length) {
      first_rejection = j;
    }
  }
  ++checked->chains;
  EXPECT_EQ(out.statuses[index(r)], all_known ? SAMPLER_ROW_OK : SAMPLER_ROW_INVALID_DRAFT);
  EXPECT_EQ(out.accepted[index(r)], accepted);
  ASSERT_EQ(out.emitted[index(r)], first_rejection);

  const std::int32_t *tokens = &out.tokens[chains.target_row(r, 0)];
  for (std::int64_t j = 0; j <= chains.num_drafts; ++j) {
    if (j < first_rejection) {
      ASSERT_EQ(tokens[j], chains.draft_ids[chains.draft_row(r, j)]);
    } else if (j > first_rejection) {
      ASSERT_EQ(tokens[j], -1);
    }
  }
  const std::int64_t last = first_rejection;
  const Distribution p =
      distribution_of(tensors.target, chains.target_row(r, last), chains.filters);
  Distribution q(p.size(), 0);
  const auto position = static_cast<std::uint32_t>(last);
  if (last == length) {
    ++checked->bonus;
    expect_draw(chains, p, q, oracle::word64(draw, oracle::kBonus, position), tokens[last]);
    return;
  }
  ++checked->rejected;
  const std::int32_t id = chains.draft_ids[chains.draft_row(r, last)];
  if (is_known(chains, id)) {
    if (tensors.draft.empty()) {
      q[index(id)] = 1;
    } else {
      q = distribution_of(tensors.draft[0], chains.draft_row(r, last), chains.filters);
    }
  }
  expect_draw(chains, p, q, oracle::word64(draw, oracle::kResidual, position), tokens[last]);
}

void check_chains(const Chains &chains) {
  const Tensors tensors(chains);
  const SamplerPtr sampler = sampler_for(chains);
  const Emitted out = verify(sampler.get(), chains, tensors);
  Checked checked;
  for (std::int64_t r = 0; r < chains.num_rows; ++r) {
    SCOPED_TRACE("chain " + std::to_string(r));
    check_chain(chains, tensors, out, r, &checked);
    if (testing::Test::HasFailure()) return;
  }
  // Both outcomes must occur, and few chains may be too close to call.
  EXPECT_GT(checked.bonus, chains.num_rows / 50);
  EXPECT_GT(checked.rejected, chains.num_rows / 50);
  EXPECT_LE(checked.skipped * 100, chains.num_rows);
}

std::vector<float> random_logits(std::size_t num_cols, Random *random) {
  std::vector<float> row(num_cols);
  for (float &x : row) x = static_cast<float>(1.2 * random->normal());
  return row;
}

// Rows of one position are similar, as for a good drafter.
Chains random_chains(std::int64_t num_rows, std::int64_t num_drafts, std::size_t num_cols,
                     sampler_dtype dtype, bool logits, bool with_draft, std::uint64_t seed) {
  Random random(seed);
  Chains chains;
  chains.num_rows = num_rows;
  chains.num_drafts = num_drafts;
  chains.dtype = dtype;
  chains.target_kind = chains.draft_kind = logits ? SAMPLER_LOGITS : SAMPLER_PROBABILITIES;
  const auto finish = [&](const std::vector<float> &row) {
    return logits ? row : make_probabilities(row, 1.0);
  };
  for (std::int64_t r = 0; r < num_rows; ++r) {
    for (std::int64_t j = 0; j <= num_drafts; ++j) {
      const std::vector<float> target = random_logits(num_cols, &random);
      chains.target.push_back(finish(target));
      if (j == num_drafts) continue;
      std::vector<float> draft = target;
      for (float &x : draft) x += static_cast<float>(0.5 * random.normal());
      if (with_draft) chains.draft.push_back(finish(draft));
      // The likeliest of a few ids, so that drafts are often accepted.
      std::size_t id = random.below(num_cols);
      for (int attempt = 0; attempt < (with_draft ? 1 : 5); ++attempt) {
        const std::size_t other = random.below(num_cols);
        if (draft[other] > draft[id]) id = other;
      }
      chains.draft_ids.push_back(static_cast<std::int32_t>(id));
    }
  }
  return chains;
}

TEST(ChainSpeculative, DocumentedExample) {
  Chains chains;
  chains.num_rows = 1;
  chains.num_drafts = 2;
  chains.target = {{0, .1F, .6F, .3F}, {1, 0, 0, 0}, {.7F, .1F, .1F, .1F}};
  chains.draft = {{.1F, .2F, .3F, .4F}, {.2F, .3F, .4F, .1F}};
  chains.draft_ids = {2, 1};
  const SamplerPtr sampler = sampler_for(chains);
  for (chains.offset = 0; chains.offset < 100; ++chains.offset) {
    const Emitted out = verify(sampler.get(), chains, Tensors(chains));
    ASSERT_EQ(out.tokens, (std::vector<std::int32_t>{2, 0, -1}));
    ASSERT_EQ(out.accepted[0], 1);
    ASSERT_EQ(out.emitted[0], 1);
  }
}

TEST(ChainSpeculative, GivenProbabilitiesDecideEveryToken) {
  for (const sampler_dtype dtype : {SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16}) {
    check_chains(random_chains(600, 3, 7, dtype, false, true, 1));
    check_chains(random_chains(600, 1, 100, dtype, false, true, 2));
  }
}

TEST(ChainSpeculative, SeedsPerRowIgnoreTheSlot) {
  Chains chains = random_chains(400, 2, 5, SAMPLER_F32, false, true, 3);
  for (std::uint64_t r = 0; r < 400; ++r) chains.seeds.push_back(r * 0x100000001U);
  chains.offset = std::uint64_t{3} << 40;
  check_chains(chains);
}

TEST(ChainSpeculative, DeterministicDrafts) {
  check_chains(random_chains(600, 2, 4, SAMPLER_F32, false, false, 4));
}

TEST(ChainSpeculative, DraftCountsAndUnknownDrafts) {
  Random random(5);
  for (const bool with_draft : {true, false}) {
    Chains chains = random_chains(600, 4, 5, SAMPLER_F32, false, with_draft, 6);
    for (std::int64_t r = 0; r < chains.num_rows; ++r) {
      chains.counts.push_back(static_cast<std::int32_t>(random.below(5)));
    }
    for (std::int32_t &id : chains.draft_ids) {
      const std::size_t die = random.below(20);
      if (die == 0) id = 5;
      if (die == 1) id = -1;
      if (die == 2) id = std::numeric_limits<std::int32_t>::min();
    }
    check_chains(chains);
  }
}

TEST(ChainSpeculative, LogitsBecomeProbabilitiesFirst) {
  for (const bool with_draft : {true, false}) {
    Chains chains = random_chains(400, 3, 9, SAMPLER_F32, true, with_draft, 7);
    chains.filters.temperature = 0.8F;
    check_chains(chains);
    chains.filters.top_k = 6;
    check_chains(chains);
    chains.filters.top_k = 0;
    chains.filters.top_p = 0.9F;
    check_chains(chains);
    chains.filters.top_p = 1.0F;
    chains.filters.min_p = 0.1F;
    check_chains(chains);
  }
}

TEST(ChainSpeculative, GreedyFollowsTheArgmax) {
  for (const bool with_draft : {true, false}) {
    for (const bool logits : {true, false}) {
      Chains chains = random_chains(300, 3, 3, SAMPLER_BF16, logits, with_draft, 8);
      chains.filters.temperature = 0.0F;
      const Tensors tensors(chains);
      const SamplerPtr sampler = sampler_for(chains);
      const Emitted out = verify(sampler.get(), chains, tensors);
      for (std::int64_t r = 0; r < chains.num_rows; ++r) {
        bool is_open = true;
        std::int32_t accepted = 0;
        std::int32_t emitted = 0;
        for (std::int64_t j = 0; j <= chains.num_drafts; ++j) {
          const auto row = static_cast<std::int64_t>(chains.target_row(r, j));
          const std::int32_t argmax = tensors.target.row(row).ids()[0];
          ASSERT_EQ(out.tokens[index(row)], is_open ? argmax : -1) << r << " " << j;
          if (j == chains.num_drafts) continue;
          const bool matches = chains.draft_ids[chains.draft_row(r, j)] == argmax;
          accepted += matches ? 1 : 0;
          is_open = is_open && matches;
          emitted += is_open ? 1 : 0;
        }
        ASSERT_EQ(out.accepted[index(r)], accepted);
        ASSERT_EQ(out.emitted[index(r)], emitted);
      }
    }
  }
}

// Verifies one chain many times, and compares how often each number of drafts and each token at
// each place occurs with their distribution. Five standard deviations: a correct library misses one
// of the some 100 bounds for one seed in 20,000, and the seeds are fixed. With 200,000 chains an
// error of 0.004 in a probability of 0.1 is detected.
void check_law(Chains one) {
  constexpr std::int64_t kChains = 20000;
  constexpr int kCalls = 10;
  const Tensors tensors(one);
  std::vector<Distribution> target, draft;
  for (std::int64_t j = 0; j <= one.num_drafts; ++j) {
    target.push_back(distribution_of(tensors.target, index(j), one.filters));
    if (j < one.num_drafts && !tensors.draft.empty()) {
      draft.push_back(distribution_of(tensors.draft[0], index(j), one.filters));
    }
  }
  const oracle::SpeculativeLaw law = oracle::speculate(
      target, draft, std::vector<std::int64_t>(one.draft_ids.begin(), one.draft_ids.end()));

  Chains many = one;
  many.num_rows = kChains;
  many.target.clear();
  many.draft.clear();
  many.draft_ids.clear();
  for (std::int64_t r = 0; r < kChains; ++r) {
    many.target.insert(many.target.end(), one.target.begin(), one.target.end());
    many.draft.insert(many.draft.end(), one.draft.begin(), one.draft.end());
    many.draft_ids.insert(many.draft_ids.end(), one.draft_ids.begin(), one.draft_ids.end());
  }
  const Tensors repeated(many);
  const SamplerPtr sampler = sampler_for(many);
  const std::size_t slots = index(one.num_drafts + 1);
  const std::size_t columns = one.target[0].size();
  std::vector<std::vector<std::int64_t>> counts(slots, std::vector<std::int64_t>(columns + 1));
  std::vector<std::int64_t> emitted(slots);
  for (int call = 0; call < kCalls; ++call) {
    many.offset = static_cast<std::uint64_t>(call);
    const Emitted out = verify(sampler.get(), many, repeated);
    for (std::size_t i = 0; i < out.tokens.size(); ++i) {
      const std::int32_t token = out.tokens[i];
      ++counts[i % slots][token < 0 ? columns : index(token)];
    }
    for (const std::int32_t e : out.emitted) ++emitted[index(e)];
  }
  const auto expect_share = [&](std::int64_t count, Real p, const std::string &what) {
    const Real n = static_cast<Real>(kChains) * kCalls;
    // Discrete u and f32 probabilities move p by less than 1e-6, far below the deviation.
    EXPECT_LE(std::abs(static_cast<Real>(count) - n * p),
              5 * std::sqrt(n * p * (1 - p)) + n * 1e-6L)
        << what << ": " << count << " of " << n << ", expected share " << p;
  };
  for (std::size_t slot = 0; slot < slots; ++slot) {
    expect_share(emitted[slot], law.emitted[slot], "emitted " + std::to_string(slot));
    for (std::size_t id = 0; id <= columns; ++id) {
      expect_share(counts[slot][id], law.marginal[slot][id],
                   "slot " + std::to_string(slot) + " token " + std::to_string(id));
    }
  }
}

TEST(ChainSpeculative, EmittedTokensFollowTheLaw) {
  check_law(random_chains(1, 3, 5, SAMPLER_F32, false, true, 21));
  check_law(random_chains(1, 2, 6, SAMPLER_F16, false, true, 22));
  check_law(random_chains(1, 3, 4, SAMPLER_F32, false, false, 23));
  Chains filtered = random_chains(1, 3, 8, SAMPLER_F32, true, true, 24);
  filtered.filters.temperature = 1.3F;
  filtered.filters.top_k = 6;
  check_law(filtered);
}

// Rows of every kind, with sum 1 or any other; some are bad, and some leave no residual.
std::vector<std::vector<float>> residual_rows(std::size_t num_cols, sampler_dtype dtype,
                                              Random *random) {
  std::vector<std::vector<float>> rows;
  for (int kind = 0; kind < static_cast<int>(RowKind::kNumKinds); ++kind) {
    for (const double sum : {1.0, 1.0, 0.25}) {
      rows.push_back(make_probabilities(
          make_logits(static_cast<RowKind>(kind), num_cols, dtype, random), sum));
    }
  }
  rows.emplace_back(num_cols, 0.0F);
  rows.emplace_back(num_cols, 1.0F);
  rows.push_back(rows.front());
  rows.back()[num_cols / 2] = std::numeric_limits<float>::quiet_NaN();
  rows.push_back(rows.front());
  rows.back()[num_cols - 1] = -0.5F;
  return rows;
}

TEST(Residual, OfBothModelsRows) {
  Random random(31);
  for (const sampler_dtype dtype : {SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16}) {
    for (const sampler_dtype draft_dtype : {SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16}) {
      for (const std::size_t num_cols : {1, 2, 33, 1000}) {
        const std::vector<std::vector<float>> rows = residual_rows(num_cols, dtype, &random);
        // Some of the drafter's rows are the target's; bad ones are paired with good ones.
        std::vector<std::vector<float>> drafts = residual_rows(num_cols, draft_dtype, &random);
        for (std::size_t i = 0; i < drafts.size(); i += 4) drafts[i] = rows[i];
        std::rotate(drafts.begin() + 8, drafts.begin() + 9, drafts.end());
        const Batch target(dtype, SAMPLER_PROBABILITIES, rows, 3);
        const Batch draft(draft_dtype, SAMPLER_PROBABILITIES, drafts, 1);
        const SamplerPtr sampler = make_sampler(target.num_rows(), target.num_cols());
        compare_residual(sampler.get(), target, &draft, {}, SAMPLER_F32);
        compare_residual(sampler.get(), target, &draft, {}, dtype);
      }
    }
  }
}

TEST(Residual, OfDeterministicDrafts) {
  Random random(32);
  for (const sampler_dtype dtype : {SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16}) {
    for (const std::size_t num_cols : {1, 2, 33, 1000}) {
      const Batch target(dtype, SAMPLER_PROBABILITIES, residual_rows(num_cols, dtype, &random), 2);
      std::vector<std::int32_t> ids;
      for (std::int64_t r = 0; r < target.num_rows(); ++r) {
        ids.push_back(static_cast<std::int32_t>(random.below(num_cols + 2)) - 1);
      }
      const SamplerPtr sampler = make_sampler(target.num_rows(), target.num_cols());
      compare_residual(sampler.get(), target, nullptr, ids, SAMPLER_F32);
      compare_residual(sampler.get(), target, nullptr, ids, dtype);
    }
  }
}

}  // namespace
}  // namespace oracle_test::speculative_test
