// The worked examples of docs/contract.md, from the contract's functions and from the library.
#include <gtest/gtest.h>

#include <vector>

#include "../sized.h"
#include "contract/draw.h"
#include "contract/filters.h"
#include "contract/log2.h"
#include "contract/philox.h"
#include "contract/weight.h"
#include "sampler/sampler.h"
#include "support.h"

namespace sampler::contract::example_test {
namespace {

constexpr int kCols = 8;
constexpr float kLogits[kCols] = {2.0f, 0.5f, 2.0f, -1.0f, -test::kInfinity, 1.5f, 0.5f, 3.0f};
constexpr RandomStream kRandom = {42, 7, 0};

TEST(Example, Weights) {
  const RowScale row = logits_row_scale(3.0f, 0.8f);
  EXPECT_EQ(row.scale, 0x1.cda994p+0f);
  struct Line {
    float t, e;
    uint64_t weight;
  };
  const Line lines[kCols] = {{-0x1.66d4cap+1f, 0x1.256182p-2f, 5040245309440},
                             {-0x1.6089fcp+2f, 0x1.67ee6ep-5f, 772946722816},
                             {-0x1.66d4cap+1f, 0x1.256182p-2f, 5040245309440},
                             {-0x1.06d4cap+3f, 0x1.b993fap-8f, 118535200768},
                             {-test::kInfinity, 0.0f, 0},
                             {-0x1.da3f3p+1f, 0x1.3a1228p-3f, 2697848684544},
                             {-0x1.6089fcp+2f, 0x1.67ee6ep-5f, 772946722816},
                             {-1.0f, 1.0f, 17592186044416}};
  for (int id = 0; id < kCols; ++id) {
    EXPECT_EQ(log2_ratio_minus_1(kLogits[id], row.max, row.scale), lines[id].t) << id;
    EXPECT_EQ(relative_probability(row, kLogits[id]), lines[id].e) << id;
    EXPECT_EQ(weight(row, kLogits[id]), lines[id].weight) << id;
  }
}

// The weight of the first, second ... of these ids together.
std::vector<uint64_t> running_sums(const std::vector<int> &ids) {
  const RowScale row = logits_row_scale(3.0f, 0.8f);
  std::vector<uint64_t> sums;
  sums.reserve(ids.size());
  uint64_t sum = 0;
  for (const int id : ids) sums.push_back(sum += weight(row, kLogits[id]));
  return sums;
}

TEST(Example, ThresholdAndTarget) {
  const std::vector<uint64_t> by_rank = running_sums({7, 0, 2, 5, 1});
  EXPECT_EQ(by_rank[2], 27672676663296u);
  EXPECT_EQ(by_rank[3], 30370525347840u);
  EXPECT_EQ(by_rank[4], 31143472070656u);
  EXPECT_EQ(top_p_threshold({0.9f}, 31143472070656), 28029124121073u);
  const std::vector<uint64_t> by_id = running_sums({0, 2, 5, 7});
  EXPECT_EQ(by_id[0], 5040245309440u);
  EXPECT_EQ(by_id[1], 10080490618880u);
  EXPECT_EQ(by_id[2], 12778339303424u);
  EXPECT_EQ(by_id[3], 30370525347840u);
  const Philox4 block = random_block(kRandom, Purpose::kSample, 0);
  EXPECT_EQ(block.word[0], 0x5bbd83b1u);
  EXPECT_EQ(block.word[1], 0x68784c85u);
  EXPECT_EQ(block.word[2], 0x172067aau);
  EXPECT_EQ(block.word[3], 0x2e6b75b7u);
  EXPECT_EQ(draw_target(random_word64(kRandom, Purpose::kSample, 0), 30370525347840),
            12393774535414u);
}

TEST(Example, GumbelScores) {
  struct Line {
    uint32_t id, word;
    float score;
  };
  const float scale = logit_scale(0.8f);
  for (const Line &line :
       {Line{0, 0x513b6760u, 0x1.3fc10ap+2f}, Line{2, 0xf2f8de42u, 0x1.042418p+1f},
        Line{5, 0xdd8f225cu, 0x1.b3664ep+0f}, Line{7, 0x92d06fcdu, 0x1.69059ap+2f}}) {
    const uint32_t word = random_block(kRandom, Purpose::kGumbel, line.id >> 2).word[line.id & 3];
    EXPECT_EQ(word, line.word) << line.id;
    EXPECT_EQ(gumbel_score(SAMPLER_LOGITS, kLogits[line.id], scale, word), line.score) << line.id;
  }
}

class ExampleCalls : public testing::Test {
 protected:
  void SetUp() override {
    sampler_options options = sampler_options_default();
    options.max_rows = 1;
    options.max_cols = kCols;
    ASSERT_EQ(sampler_create(&options, &sampler_), SAMPLER_OK) << sampler_last_error();
  }
  void TearDown() override { sampler_destroy(sampler_); }

  sampler_t sampler_ = nullptr;
};

struct Drawn {
  int32_t token = -1;
  int32_t kept_count = -1;
  float logprob = 0.0f;
};

Drawn draw(sampler_t sampler, sampler_draw_method draw_method, sampler_logprob_kind logprob_kind) {
  Drawn drawn;
  sampler_params params = sampler_params_default();
  params.temperature = 0.8f;
  params.top_k = 5;
  params.top_p = 0.9f;
  SampleArgs args;
  args.input = test::rows_of(kLogits, SAMPLER_F32, SAMPLER_LOGITS, 1, kCols);
  args.params = &params;
  args.draw_method = draw_method;
  args.report_args.logprob_kind = logprob_kind;
  args.random.seed = kRandom.seed;
  args.random.offset = kRandom.offset;
  args.out_token_ids = &drawn.token;
  args.report_args.out_kept_counts = &drawn.kept_count;
  args.report_args.out_logprobs = &drawn.logprob;
  EXPECT_EQ(sampler_sample(sampler, &args), SAMPLER_OK) << sampler_last_error();
  return drawn;
}

TEST_F(ExampleCalls, TokensAndLogprobs) {
  const Drawn raw = draw(sampler_, SAMPLER_DRAW_INVERSE_CDF, SAMPLER_LOGPROB_RAW);
  EXPECT_EQ(raw.token, 5);
  EXPECT_EQ(raw.kept_count, 4);
  EXPECT_EQ(raw.logprob, -0x1.21772p+1f);
  const Drawn processed = draw(sampler_, SAMPLER_DRAW_INVERSE_CDF, SAMPLER_LOGPROB_PROCESSED);
  EXPECT_EQ(processed.token, 5);
  EXPECT_EQ(processed.logprob, -0x1.35e3eap+1f);
  EXPECT_EQ(draw(sampler_, SAMPLER_DRAW_GUMBEL, SAMPLER_LOGPROB_RAW).token, 7);
}

TEST_F(ExampleCalls, VerificationWhateverTheWords) {
  const float draft[] = {0.1f, 0.2f, 0.3f, 0.4f, 0.2f, 0.3f, 0.4f, 0.1f};
  const float target[] = {0.0f, 0.1f, 0.6f, 0.3f, 1.0f, 0.0f, 0.0f, 0.0f, 0.7f, 0.1f, 0.1f, 0.1f};
  const int32_t draft_tokens[] = {2, 1};
  for (uint64_t seed = 0; seed < 100; ++seed) {
    int32_t tokens[3], accepted, emitted;
    auto args = sized<sampler_verify_args>();
    args.target = test::rows_of(target, SAMPLER_F32, SAMPLER_PROBABILITIES, 3, 4);
    args.draft = test::rows_of(draft, SAMPLER_F32, SAMPLER_PROBABILITIES, 2, 4);
    args.draft_token_ids = draft_tokens;
    args.num_drafts = 2;
    args.random.seed = seed;
    args.out_token_ids = tokens;
    args.out_accepted_counts = &accepted;
    args.out_emitted_counts = &emitted;
    ASSERT_EQ(sampler_verify(sampler_, &args), SAMPLER_OK) << sampler_last_error();
    EXPECT_EQ(tokens[0], 2);
    EXPECT_EQ(tokens[1], 0);
    EXPECT_EQ(tokens[2], -1);
    EXPECT_EQ(accepted, 1);
    EXPECT_EQ(emitted, 1);
  }
}

}  // namespace
}  // namespace sampler::contract::example_test
