// What an engine's session has of its own.
#include "decoding/session/engine_host.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "parts.h"

namespace session_test::engine_host_test {
namespace {

using Tokens = std::vector<std::int32_t>;

struct Engine {
  Engine() : config(small_config()), transfer(handle.get(), nullptr, 0, 0, &arena, &arena) {
    config.options.max_end_tokens = 3;
    config.params = sampler_params_default();
  }

  void set(std::int32_t sequence, const Tokens &text, const Tokens &ends,
           const sampler_params &params = sampler_params_default()) {
    auto args = sized<sampler_session_add_args>();
    args.token_ids = text.data();
    args.num_tokens = std::int64_t(text.size());
    args.end_token_ids = ends.data();
    args.num_end_tokens = std::int64_t(ends.size());
    host().set(sequence, args, params);
  }
  decoding::EngineHost &host() {
    if (!host_) host_.emplace(config, &arrays);
    return *host_;
  }

  Handle handle;
  decoding::SessionConfig config;
  std::vector<std::max_align_t> memory = std::vector<std::max_align_t>(std::size_t(1) << 15);
  decoding::Arena arena{memory.data()};
  decoding::SessionArrays arrays{&arena, &arena};
  decoding::Transfer transfer;

 private:
  std::optional<decoding::EngineHost> host_;
};

TEST(EngineHost, TextsAndEndTokensAreASequencesOwn) {
  Engine engine;
  engine.set(0, {1, 2}, {5, 6});
  engine.set(1, {3, 4}, {7});
  EXPECT_TRUE(engine.host().is_end(0, 5) && engine.host().is_end(0, 6));
  EXPECT_FALSE(engine.host().is_end(0, 7));
  EXPECT_TRUE(engine.host().is_end(1, 7));
  engine.host().copy(1, 0, 2, nullptr);
  EXPECT_EQ(Tokens(engine.host().text(0), engine.host().text(0) + 2), (Tokens{3, 4}));
  EXPECT_FALSE(engine.host().is_end(0, 5));
  EXPECT_TRUE(engine.host().is_end(0, 7));
  engine.host().clear(0);
  EXPECT_FALSE(engine.host().is_end(0, 7));
  EXPECT_TRUE(engine.host().is_end(1, 7));
}

TEST(EngineHost, NumbersGoAlongWhereTheyDiffer) {
  Engine engine;
  EXPECT_EQ(engine.host().place_numbers(&engine.transfer).temperature, nullptr);
  sampler_params params = sampler_params_default();
  params.temperature = 0.5f;
  params.repetition_penalty = 1.5f;
  engine.set(1, {1}, {}, params);
  const sampler_row_params all = engine.host().place_numbers(&engine.transfer);
  ASSERT_NE(all.temperature, nullptr);
  EXPECT_EQ(all.temperature[0], 1.0f);
  EXPECT_EQ(all.temperature[1], 0.5f);
  EXPECT_NE(all.repetition_penalty, nullptr);
  EXPECT_EQ(all.top_p, nullptr);
  const sampler_row_params plain = engine.host().place_plain_numbers(all, &engine.transfer);
  EXPECT_NE(plain.temperature, nullptr);
  EXPECT_EQ(plain.repetition_penalty, nullptr) << "no drafter's token is drawn by it";
  EXPECT_EQ(engine.host().entropy_temperature(1), 0.5f);
  engine.host().copy(1, 0, 1, nullptr);
  EXPECT_EQ(engine.host().entropy_temperature(0), 0.5f);
  engine.host().clear(0);
  engine.host().clear(1);
  EXPECT_EQ(engine.host().place_numbers(&engine.transfer).temperature, nullptr);
}

TEST(EngineHost, AMinimumOfNewTokensNeedsEndTokens) {
  Engine engine;
  EXPECT_FALSE(engine.host().needs_ends());
  EXPECT_TRUE(engine.host().extent(&engine).has_ends) << "a sequence may have one";
  sampler_params params = sampler_params_default();
  params.min_new_tokens = 2;
  engine.set(1, {1}, {8}, params);
  EXPECT_TRUE(engine.host().needs_ends());
  const sampler_token_lists ends = engine.host().place_ends(&engine.transfer);
  EXPECT_EQ(ends.num_lists, 2);
  EXPECT_EQ(ends.offsets[1], 3);
  EXPECT_EQ(static_cast<const std::int32_t *>(ends.token_ids)[ends.offsets[1]], 8);
}

TEST(EngineHost, NgramsThatFailAreNoFailureOfTheSession) {
  Engine engine;
  in_call([&](sampler::abi::Entry &entry) {
    const auto call = [&](const auto &function) {
      return engine.host().call_ngram(entry, "update", function);
    };
    EXPECT_TRUE(call([] { return sampler_status(SAMPLER_OK); }));
    EXPECT_FALSE(call([] { return sampler_status(SAMPLER_ERROR_CALLBACK); }));
    EXPECT_FALSE(call([]() -> sampler_status { throw std::runtime_error("no"); }));
  });
}

sampler_status refuse(void *, const std::int32_t *, std::int64_t) {
  return SAMPLER_ERROR_CALLBACK;
}

TEST(EngineHost, NgramsLearnATextThatTheyDoNotKnow) {
  Engine engine;
  auto ngram = sized<sampler_ngram>();
  ngram.initialize = refuse;
  auto args = sized<sampler_session_add_args>();
  args.ngram = &ngram;
  in_call([&](sampler::abi::Entry &entry) {
    EXPECT_EQ(engine.host().teach(entry, args), SAMPLER_OK);
    args.draft_source = SAMPLER_DRAFTS_NGRAM;
    EXPECT_EQ(engine.host().teach(entry, args), SAMPLER_ERROR_CALLBACK);
    args.ngram_has_text = 1;
    EXPECT_EQ(engine.host().teach(entry, args), SAMPLER_OK);
  });
}

}  // namespace
}  // namespace session_test::engine_host_test
