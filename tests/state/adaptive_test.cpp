// Loops of draw and accept with adaptive stages: by a state, and by lists with values that the
// oracle moves on from what was observed.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "../seed.h"
#include "../sized.h"
#include "support.h"

namespace state_test::adaptive_test {
namespace {

constexpr std::int64_t kSlots = 5, kColumns = 40;

// One draw of all slots.
struct Draw {
  std::vector<std::int32_t> tokens = std::vector<std::int32_t>(kSlots, -5);
  std::vector<float> observations = std::vector<float>(kSlots, NAN);
};

class Loop {
 public:
  Loop(sampler_t sampler, std::uint64_t seed)
      : random_(seeded(seed)),
        pair_(sampler, {kSlots, 60, 0, true}),
        workspace_(1 << 18),
        logits_(std::size_t(kSlots * kColumns)) {
    adaptive_ = {std::int32_t(seed % 4),
                 0.2F + 2 * random_.unit(),
                 random_.unit(),
                 0.9F,
                 random_.one_in(2) ? 0.9F : 0.0F,
                 0.2F};
    params_.temperature = 0.5F + random_.unit();
    params_.frequency_penalty = random_.one_in(2) ? 0.3F : 0.0F;
    params_.adaptive_kind = adaptive_.kind;
    params_.adaptive_target = adaptive_.target;
    params_.adaptive_rate = adaptive_.rate;
    params_.top_p = adaptive_.top_p;
    params_.top_p_decay = adaptive_.decay;
    params_.top_p_least = adaptive_.least;
  }

  void step(std::uint64_t number) {
    for (float &x : logits_) x = 6 * random_.unit();
    const Draw drawn = by_state(number);
    const Draw expected = by_lists(number);
    ASSERT_EQ(drawn.tokens, expected.tokens);
    ASSERT_EQ(std::memcmp(drawn.observations.data(), expected.observations.data(),
                          kSlots * sizeof(float)),
              0);
    std::vector<Accepted> rows;
    for (std::size_t i = 0; i < kSlots; ++i) {
      rows.push_back({{drawn.tokens[i]}, {drawn.observations[i]}});
    }
    pair_.accept({0, 1, 2, 3, 4}, rows, SAMPLER_ID_I32, &adaptive_);
    if (random_.one_in(4)) {
      // The values go back with the tokens.
      const std::int64_t length = std::int64_t(pair_.slot(2).tokens.size());
      pair_.truncate({2}, {std::int32_t(random_.between(0, length))});
    }
    pair_.check();
  }

  const Adaptive &adaptive() const { return adaptive_; }
  const Values &values() const { return pair_.slot(0).present(); }

 private:
  Draw by_state(std::uint64_t step) {
    auto pipeline = sized<sampler_pipeline>();
    pipeline.state = pair_.state();
    return draw(pipeline, step);
  }

  Draw by_lists(std::uint64_t step) {
    std::vector<Text> texts;
    std::vector<Values> values;
    for (std::int64_t slot = 0; slot < kSlots; ++slot) {
      texts.push_back(pair_.slot(slot).tokens);
      values.push_back(pair_.slot(slot).present());
    }
    const Lists lists(texts, SAMPLER_ID_I32);
    std::vector<float> floats(kSlots * SAMPLER_NUM_ADAPTIVE_VALUES);
    std::memcpy(floats.data(), values.data(), floats.size() * sizeof(float));
    auto pipeline = sized<sampler_pipeline>();
    pipeline.history = lists.view();
    pipeline.adaptive_values = floats.data();
    return draw(pipeline, step);
  }

  Draw draw(const sampler_pipeline &pipeline, std::uint64_t step) {
    Draw result;
    SampleArgs args;
    args.exec.workspace = workspace_.data();
    args.exec.workspace_bytes = workspace_.size();
    args.input.values = logits_.data();
    args.input.num_rows = kSlots;
    args.input.num_cols = kColumns;
    args.params = &params_;
    args.pipeline = &pipeline;
    args.random.seed = 3;
    args.random.offset = step;
    args.out_token_ids = result.tokens.data();
    args.report_args.out_observations = result.observations.data();
    EXPECT_EQ(sampler_sample(pair_.sampler(), &args), SAMPLER_OK) << sampler_last_error();
    return result;
  }

  Random random_;
  Pair pair_;
  std::vector<unsigned char> workspace_;
  std::vector<float> logits_;
  Adaptive adaptive_;
  sampler_params params_ = sampler_params_default();
};

TEST(Adaptive, LoopsByAStateAreThoseByLists) {
  const Handle handle = make_handle();
  int num_decayed = 0;
  for (std::uint64_t seed = 0; seed < 60 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Loop loop(handle.get(), seed);
    for (std::uint64_t step = 0; step < 30 && !HasFatalFailure(); ++step) loop.step(step);
    const bool decays = loop.adaptive().decay > 0;
    const sampler_adaptive_kind kind = loop.adaptive().kind;
    const bool is_mirostat =
        kind == SAMPLER_ADAPTIVE_MIROSTAT_V1 || kind == SAMPLER_ADAPTIVE_MIROSTAT_V2;
    EXPECT_EQ(loop.values()[0] != kNotBegun[0], is_mirostat);
    EXPECT_EQ(loop.values()[1] != kNotBegun[1], kind == SAMPLER_ADAPTIVE_P);
    EXPECT_EQ(loop.values()[3] != kNotBegun[3], decays);
    num_decayed += decays;
  }
  EXPECT_GT(num_decayed, 10);
}

}  // namespace
}  // namespace state_test::adaptive_test
