// Adaptive stages by the public calls: what they do nothing for, and what makes rows bad.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "../seed.h"
#include "adaptive_batch.h"
#include "handles.h"
#include "problem.h"

namespace pipeline_test::adaptive_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::size_t kNumValues = AdaptiveBatch::kNumValues;

bool same_bits(const std::vector<float> &a, const std::vector<float> &b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// ---- Top-p decay

// The same as a top_p by slot, whatever the order of the filters: where it needs no other stage,
// too.
TEST(TopPDecay, TakesThePlaceOfTopP) {
  const Handles handles;
  Random random(seeded(1));
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    AdaptiveBatch decaying(5, 200), plain(5, 200);
    decaying.fill_normal(random, 3);
    plain.logits = decaying.logits;
    std::vector<float> top_p;
    decaying.params.top_p = random.one_in(3) ? 1.0F : random.within(-0.1F, 1.1F);
    for (std::size_t i = 0; i < 5; ++i) {
      float &running = decaying.values[i * kNumValues + 3];
      if (!random.one_in(3)) running = random.within(-0.1F, 1.1F);
      const float start = std::min(std::max(decaying.params.top_p, 0.0F), 1.0F);
      top_p.push_back(std::isnan(running) ? start : running);
    }
    decaying.params.top_p_decay = random.within(0.01F, 0.99F);
    decaying.params.top_k = plain.params.top_k = random.one_in(2) ? 0 : 40;
    decaying.params.min_p = plain.params.min_p = random.one_in(2) ? 0.0F : 0.02F;
    const std::int64_t order = random.between(0, 2);
    decaying.params.filter_order = plain.params.filter_order = std::int32_t(order);
    decaying.params.temperature_order = plain.params.temperature_order = random.one_in(2) ? 1 : 0;
    decaying.params.temperature = plain.params.temperature = random.one_in(5) ? 0.0F : 0.8F;
    plain.row_params.top_p = top_p.data();
    plain.args.pipeline = nullptr;
    plain.run(handles.reference);
    for (const Handle *handle : {&handles.simd, &handles.reference}) {
      decaying.run(*handle);
      EXPECT_EQ(decaying.token_ids, plain.token_ids);
      EXPECT_EQ(decaying.kept_counts, plain.kept_counts);
      EXPECT_TRUE(same_bits(decaying.logprobs, plain.logprobs));
      EXPECT_TRUE(same_bits(decaying.observations, std::vector<float>(5, std::nanf(""))));
    }
  }
}

TEST(TopPDecay, IsOffOutsideOf0And1) {
  const Handles handles;
  Random random(2);
  AdaptiveBatch batch(3, 100);
  batch.fill_normal(random, 3);
  batch.params.top_p = 0.9F;
  batch.run(handles.simd);
  const auto kept = batch.kept_counts;
  std::fill(batch.values.begin(), batch.values.end(), 0.1F);
  for (const float off : {0.0F, -1.0F, 1.0F, kInfinity, -kInfinity}) {
    batch.params.top_p_decay = off;
    batch.run(handles.simd);
    EXPECT_EQ(batch.kept_counts, kept) << off;
  }
  batch.params.top_p_decay = 0.5F;
  batch.run(handles.simd);
  EXPECT_NE(batch.kept_counts, kept);
}

// ---- Rows of which nothing is observed

TEST(Adaptive, DoesNothingInAGreedyRow) {
  const Handles handles;
  Random random(3);
  for (const sampler_adaptive_kind kind : {1, 2, 3}) {
    AdaptiveBatch batch(2, 50);
    batch.fill_normal(random, 2);
    batch.params.adaptive_kind = kind;
    batch.params.adaptive_target = 0.3F;
    const float temperatures[] = {0.0F, 1.0F};
    batch.row_params.temperature = temperatures;
    for (const Handle *handle : {&handles.simd, &handles.reference}) {
      batch.run(*handle);
      EXPECT_EQ(batch.kept_counts[0], 1);
      EXPECT_EQ(batch.logprobs[0], 0.0F);
      EXPECT_TRUE(std::isnan(batch.observations[0]));
      EXPECT_FALSE(std::isnan(batch.observations[1]));
    }
    // Greedy by the dynamic temperature alone: the other tokens weigh nothing.
    batch.row_params.temperature = nullptr;
    batch.params.dynamic_temperature_range = 1;
    batch.row(0)[9] = 200;
    for (const Handle *handle : {&handles.simd, &handles.reference}) {
      batch.run(*handle);
      EXPECT_TRUE(std::isnan(batch.observations[0])) << kind;
      EXPECT_FALSE(std::isnan(batch.observations[1])) << kind;
    }
  }
}

TEST(Adaptive, ObservesAForcedTokenThatIsKept) {
  const Handles handles;
  AdaptiveBatch batch(2, 4);
  const float row[] = {0.0F, -1.0F, -2.0F, -30.0F};
  for (const std::size_t i : {0, 1}) std::copy_n(row, 4, batch.row(i));
  batch.params.adaptive_kind = SAMPLER_ADAPTIVE_MIROSTAT_V2;
  batch.values[0] = batch.values[4] = 3.0F;  // of p >= 1/8: the first two
  const std::int64_t forced[] = {1, 2};
  batch.row_params.forced_token_id = forced;
  for (const Handle *handle : {&handles.simd, &handles.reference}) {
    batch.run(*handle);
    EXPECT_EQ(batch.kept_counts[0], 2);
    EXPECT_NEAR(batch.observations[0], std::log2(1 + std::exp(1.0)), 1.5e-5);
    EXPECT_TRUE(std::isnan(batch.observations[1]));
  }
}

TEST(Adaptive, OfOneKindOrNoneBySlot) {
  const Handles handles;
  Random random(4);
  AdaptiveBatch batch(4, 300);
  batch.fill_normal(random, 2);
  const sampler_adaptive_kind kinds[] = {0, 1, 2, 3};
  batch.row_params.adaptive_kind = kinds;
  batch.params.adaptive_target = 0.25F;
  batch.run(handles.simd);
  EXPECT_TRUE(std::isnan(batch.observations[0]));
  EXPECT_EQ(batch.kept_counts[0], 300);
  EXPECT_LT(batch.kept_counts[1], 300);
  EXPECT_LT(batch.kept_counts[2], 300);
  EXPECT_EQ(batch.kept_counts[3], 300);
  for (const std::size_t i : {1, 2, 3}) EXPECT_FALSE(std::isnan(batch.observations[i]));
}

// A curve of 0 is 1, the square alone; the cube lowers what is far.
TEST(Adaptive, SmoothsByASquareOrByACube) {
  const Handles handles;
  Random random(7);
  AdaptiveBatch batch(1, 300);
  batch.fill_normal(random, 2);
  batch.params.adaptive_kind = SAMPLER_ADAPTIVE_SMOOTHING;
  batch.params.adaptive_target = 0.25F;
  for (const Handle *handle : {&handles.simd, &handles.reference}) {
    batch.params.adaptive_rate = 0;
    const std::vector<float> square = batch.probabilities(*handle);
    batch.params.adaptive_rate = 1;
    EXPECT_TRUE(same_bits(batch.probabilities(*handle), square));
    batch.params.adaptive_rate = 2;
    const std::vector<float> both = batch.probabilities(*handle);
    EXPECT_LT(*std::min_element(both.begin(), both.end()),
              *std::min_element(square.begin(), square.end()));
  }
}

// ---- Bad rows

// Slot 1 alone is bad by `change`, and has the status also where its row has a NaN.
void expect_invalid(const Handles &handles, const std::function<void(AdaptiveBatch *)> &change) {
  for (const bool has_nan : {false, true}) {
    Random random(5);
    AdaptiveBatch batch(3, 60), good(3, 60);
    batch.fill_normal(random, 2);
    good.logits = batch.logits;
    if (has_nan) batch.row(1)[7] = std::nanf("");
    change(&batch);
    batch.run(handles.simd);
    EXPECT_EQ(batch.status[0], SAMPLER_ROW_OK);
    EXPECT_EQ(batch.status[1], SAMPLER_ROW_INVALID_PARAMETER);
    EXPECT_EQ(batch.status[2], SAMPLER_ROW_OK);
    EXPECT_EQ(batch.token_ids[1], -1);
    EXPECT_EQ(batch.kept_counts[1], 0);
    EXPECT_TRUE(std::isnan(batch.observations[1]) && std::isnan(batch.logprobs[1]));
    std::vector<float> output = batch.probabilities(handles.reference);
    EXPECT_EQ(std::count(output.begin() + 60, output.begin() + 120, 0.0F), 60);
  }
}

TEST(Adaptive, NumbersOfASlotMayBeInvalid) {
  const Handles handles;
  using Array = const float *sampler_row_params::*;
  const auto with = [&](Array member, float value, sampler_adaptive_kind kind) {
    SCOPED_TRACE(value);
    const bool is_curve =
        kind == SAMPLER_ADAPTIVE_SMOOTHING && member == &sampler_row_params::adaptive_rate;
    const float good = is_curve ? 1.5F : 0.5F;
    const std::vector<float> numbers = {good, value, good};
    expect_invalid(handles, [&](AdaptiveBatch *batch) {
      batch->params.adaptive_kind = kind;
      batch->row_params.*member = numbers.data();
    });
  };
  for (const float bad : {std::nanf(""), kInfinity, -kInfinity}) {
    for (const sampler_adaptive_kind kind : {0, 1, 2, 3, 4}) {
      with(&sampler_row_params::adaptive_target, bad, kind);
      with(&sampler_row_params::adaptive_rate, bad, kind);
    }
    with(&sampler_row_params::top_p_least, bad, 0);
  }
  with(&sampler_row_params::top_p_decay, std::nanf(""), 0);
  with(&sampler_row_params::adaptive_target, -0.5F, SAMPLER_ADAPTIVE_MIROSTAT_V1);
  with(&sampler_row_params::adaptive_target, -0.5F, SAMPLER_ADAPTIVE_MIROSTAT_V2);
  with(&sampler_row_params::adaptive_target, -0.5F, SAMPLER_ADAPTIVE_SMOOTHING);
  for (const float curve : {-1.0F, 0.99F, 3.01F}) {
    with(&sampler_row_params::adaptive_rate, curve, SAMPLER_ADAPTIVE_SMOOTHING);
  }
  for (const sampler_adaptive_kind kind : {-1, 5, INT32_MAX, INT32_MIN}) {
    const std::vector<sampler_adaptive_kind> kinds = {0, kind, 2};
    expect_invalid(handles,
                   [&](AdaptiveBatch *batch) { batch->row_params.adaptive_kind = kinds.data(); });
  }
}

// Also those of stages that are off.
TEST(Adaptive, ValuesAreNotInfinite) {
  const Handles handles;
  for (std::size_t i = 0; i < kNumValues; ++i) {
    for (const float bad : {kInfinity, -kInfinity}) {
      expect_invalid(handles, [&](AdaptiveBatch *batch) { batch->values[kNumValues + i] = bad; });
    }
  }
}

// A NaN is a start, and so is no array.
TEST(Adaptive, StartsWhereNothingIsRemembered) {
  const Handles handles;
  Random random(6);
  const float starts[][2] = {{8.0F, 0.0F}, {8.0F, 0.0F}, {0.3F / (1 - 0.9F), 1 / (1 - 0.9F)}};
  for (const sampler_adaptive_kind kind : {1, 2, 3}) {
    AdaptiveBatch batch(1, 400);
    batch.fill_normal(random, 2);
    batch.params.adaptive_kind = kind;
    batch.params.adaptive_target = kind == SAMPLER_ADAPTIVE_P ? 0.3F : 4.0F;
    batch.run(handles.simd);
    const auto expected = batch.probabilities(handles.simd);
    batch.pipeline.adaptive_values = nullptr;
    EXPECT_TRUE(same_bits(batch.probabilities(handles.simd), expected));
    batch.pipeline.adaptive_values = batch.values.data();
    float *const own = batch.values.data() + (kind == SAMPLER_ADAPTIVE_P ? 1 : 0);
    std::copy_n(starts[kind - 1], kind == SAMPLER_ADAPTIVE_P ? 2 : 1, own);
    EXPECT_TRUE(same_bits(batch.probabilities(handles.simd), expected));
    own[0] *= 0.5F;
    EXPECT_FALSE(same_bits(batch.probabilities(handles.simd), expected));
  }
}

// However far its probability is from the one that is wanted: in logits, in probabilities, drawn by
// either method, forced.
TEST(Adaptive, PIsExactOfALoneToken) {
  const Handles handles;
  Random random(seeded(7));
  constexpr std::int64_t kRows = 40, kColumns = 70, kFirst = 3;
  const std::vector<std::int64_t> forced(kRows, kFirst);
  for (int round = 0; round < 16; ++round) {
    SCOPED_TRACE(round);
    AdaptiveBatch batch(kRows, kColumns);
    for (float &x : batch.logits) x = random.within(0.001F, 0.5F);
    for (std::size_t i = 0; i < std::size_t(kRows); ++i) {
      batch.row(i)[kFirst] = random.within(0.6F, 3.0F);
      batch.values[i * kNumValues + 1] = random.within(-1, 2);
      batch.values[i * kNumValues + 2] = 1;
    }
    const bool are_logits = round % 2 == 0;
    batch.args.input.kind = are_logits ? SAMPLER_LOGITS : SAMPLER_PROBABILITIES;
    batch.args.draw_method = (round / 2) % 2 == 0 ? SAMPLER_DRAW_INVERSE_CDF : SAMPLER_DRAW_GUMBEL;
    batch.params.top_k = 1;
    batch.params.temperature = are_logits ? 0.7F : 1.0F;
    batch.params.adaptive_kind = SAMPLER_ADAPTIVE_P;
    batch.params.adaptive_target = round / 8 == 0 ? 0.02F : 0.5F;
    for (const Handle *handle : {&handles.simd, &handles.reference}) {
      batch.row_params.forced_token_id = round / 4 % 2 == 1 ? forced.data() : nullptr;
      batch.run(*handle);
      batch.row_params.forced_token_id = nullptr;
      EXPECT_EQ(batch.status, std::vector<sampler_row_status>(kRows, SAMPLER_ROW_OK));
      EXPECT_EQ(batch.token_ids, std::vector<std::int32_t>(kRows, kFirst));
      EXPECT_EQ(batch.logprobs, std::vector<float>(kRows, 0.0F));
      EXPECT_EQ(batch.observations, std::vector<float>(kRows, 1.0F));
      std::vector<float> expected(batch.logits.size());
      for (std::int64_t row = 0; row < kRows; ++row) {
        expected[std::size_t(row * kColumns + kFirst)] = 1;
      }
      EXPECT_EQ(batch.probabilities(*handle), expected);
    }
  }
}

}  // namespace
}  // namespace pipeline_test::adaptive_test
