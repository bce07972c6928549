// The loops around the small GPT-2 of examples/tiny_gpt2 and its drafter, with caches that are cut
// for real: greedy texts are the same, token for token, whichever loop gives them.
#include <gtest/gtest.h>
#include <sampler/sampler.h>

#include <filesystem>
#include <map>
#include <memory>
#include <ostream>
#include <vector>

#include "generation.h"
#include "gpt2.h"
#include "model_callbacks.h"

namespace decoding_test::gpt2_test {
namespace {

constexpr std::int64_t kNumPrompts = 200;

const generate::Gpt2Model &gpt2(const char *name) {
  static std::map<std::string, std::unique_ptr<generate::Gpt2Model>> models;
  auto &model = models[name];
  if (!model) {
    model = std::make_unique<generate::Gpt2Model>(std::filesystem::path(TINY_GPT2_DIR) / name);
  }
  return *model;
}

class Gpt2 : public testing::Test {
 protected:
  struct Texts {
    Tokens token_ids;  // [texts, max_new_tokens]
    std::vector<sampler_finish_reason> reasons;
    sampler_generation_stats stats = sized<sampler_generation_stats>();
  };

  Texts run(const std::vector<Tokens> &prompts, LoopArgs args, const Loop &loop) {
    generate::ModelCallbacks target(gpt2("target"), std::int64_t(prompts.size()));
    Tokens ids;
    std::vector<std::int64_t> offsets = {0};
    for (const Tokens &prompt : prompts) {
      ids.insert(ids.end(), prompt.begin(), prompt.end());
      offsets.push_back(std::int64_t(ids.size()));
    }
    Texts texts;
    texts.token_ids.assign(prompts.size() * std::size_t(args.max_new_tokens), -1);
    texts.reasons.resize(prompts.size());
    static const std::int32_t kEnd = 2047;
    args.end_token_ids = &kEnd;
    args.num_end_tokens = 1;
    args.target = target.get();
    args.num_sequences = std::int64_t(prompts.size());
    args.prompt_offsets = offsets.data();
    args.prompt_token_ids = ids.data();
    args.out_token_ids = texts.token_ids.data();
    args.out_finish_reasons = texts.reasons.data();
    args.out_stats = &texts.stats;
    EXPECT_EQ(loop(sampler_.get(), &args), SAMPLER_OK) << sampler_last_error();
    return texts;
  }

  // What the model itself says after 1 to 12 random tokens.
  std::vector<Tokens> make_prompts() {
    Random random(6);
    std::vector<Tokens> starts;
    for (std::int64_t i = 0; i < kNumPrompts; ++i) {
      starts.push_back({std::int32_t(random.between(0, 2046))});
    }
    LoopArgs args;
    args.max_new_tokens = 11;
    args.use_cache = 1;
    args.processor = SAMPLER_PROCESSOR_SAMPLE;
    args.seed = 17;
    const Texts texts = run(starts, args, autoregressive());
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const auto row = texts.token_ids.begin() + std::ptrdiff_t(i * 11);
      starts[i].insert(starts[i].end(), row, row + std::ptrdiff_t(random.between(0, 11)));
    }
    return starts;
  }

  static Loop speculative_loop(const SpeculativeArgs &options) {
    return [=](sampler_t sampler, const LoopArgs *generation) {
      generate::ModelCallbacks drafter(gpt2("draft"), generation->num_sequences);
      SpeculativeArgs args = options;
      args.generation = generation;
      args.drafter = drafter.get();
      args.out_drafted_counts = generation->out_drafted_counts;
      args.out_accepted_counts = generation->out_accepted_counts;
      return sampler_speculative(sampler, &args);
    };
  }

  static Loop ngram_loop(std::int64_t least_count = 0, float least_share = 0,
                         std::int64_t filler_top_k = 3) {
    return [=](sampler_t sampler, const LoopArgs *generation) {
      sampler_ngram_storage_options options = sized<sampler_ngram_storage_options>();
      options.vocabulary_size = gpt2("target").config().vocab_size;
      sampler_ngram_storage_t storage = nullptr;
      EXPECT_EQ(sampler_ngram_storage_create(&options, &storage), SAMPLER_OK);
      sampler_ngram ngram = sized<sampler_ngram>();
      EXPECT_EQ(sampler_ngram_storage_interface(storage, &ngram), SAMPLER_OK);
      SpeculativeArgs args;
      args.ngram_least_count = least_count;
      args.ngram_least_share = least_share;
      args.filler_top_k = filler_top_k;
      const sampler_status status = decoding_test::speculative(ngram, args)(sampler, generation);
      sampler_ngram_storage_destroy(storage);
      return status;
    };
  }

  void expect_same_texts(int use_cache, std::int64_t max_new_tokens) {
    const std::vector<Tokens> prompts = make_prompts();
    LoopArgs args;
    args.max_new_tokens = max_new_tokens;
    args.use_cache = 1;
    const Texts expected = run(prompts, args, autoregressive());
    args.use_cache = use_cache;
    SpeculativeArgs fixed, adaptive;
    adaptive.adaptive_gamma = 1;
    adaptive.gamma_max = 9;
    adaptive.first_target = 0;
    std::vector<Loop> loops = {speculative_loop(fixed), speculative_loop(adaptive), ngram_loop()};
    if (use_cache == 0) loops.push_back(autoregressive());
    for (const Loop &loop : loops) {
      const Texts texts = run(prompts, args, loop);
      EXPECT_EQ(texts.token_ids, expected.token_ids);
      EXPECT_EQ(texts.reasons, expected.reasons);
      if (texts.stats.num_drafted > 0) {
        EXPECT_GT(texts.stats.acceptance_rate, 0.02);
        EXPECT_LE(texts.stats.target_forwards, expected.stats.target_forwards);
      }
    }
  }

  Sampler sampler_ = make_sampler();
};

TEST_F(Gpt2, GreedyTextsAreTheSameWithCaches) {
  expect_same_texts(1, 40);
}

TEST_F(Gpt2, GreedyTextsAreTheSameWithoutCaches) {
  expect_same_texts(0, 12);
}

// Drafts that were counted more often, and are a larger share, are accepted more often.
TEST_F(Gpt2, LimitsKeepMoreOfTheDrafts) {
  const std::vector<Tokens> prompts = make_prompts();
  LoopArgs args;
  args.max_new_tokens = 40;
  args.use_cache = 1;
  const Texts all = run(prompts, args, ngram_loop(0, 0, 0));
  const Texts known = run(prompts, args, ngram_loop(1, 0, 0));
  const Texts limited = run(prompts, args, ngram_loop(2, 0.5f, 0));
  EXPECT_EQ(known.token_ids, all.token_ids);
  EXPECT_EQ(limited.token_ids, all.token_ids);
  EXPECT_GT(limited.stats.acceptance_rate, 1.5 * known.stats.acceptance_rate);
  EXPECT_GT(limited.stats.num_drafted, known.stats.num_drafted / 4);
  EXPECT_LT(limited.stats.num_drafted, known.stats.num_drafted);
}

}  // namespace
}  // namespace decoding_test::gpt2_test
