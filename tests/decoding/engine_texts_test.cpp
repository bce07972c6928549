// Greedy and beam-search texts of the small GPT-2 against those of Hugging Face transformers, which
// tests/tools/record_engine_texts.py has recorded.
#include <gtest/gtest.h>
#include <sampler/sampler.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "generation.h"
#include "gpt2.h"
#include "model_callbacks.h"

namespace decoding_test::engine_texts_test {
namespace {

// Both have the weights in f32 but add them up in other orders: logits differ by some 1e-5, and a
// score is a sum of up to 30 logarithms of their softmax, the engine's in f32.
constexpr double kTolerance = 1e-3;

struct ScoredText {
  double score;
  Tokens tokens;
};

// A line of the file.
struct Case {
  std::int64_t num_beams, max_new_tokens;
  std::int32_t early_stopping;
  float length_penalty;
  Tokens ends, prompt;
  std::vector<ScoredText> texts;
};

Tokens tokens_in(std::istream &words) {
  Tokens tokens;
  for (std::int32_t token; words >> token;) tokens.push_back(token);
  return tokens;
}

Case parse(const std::string &line) {
  std::vector<std::istringstream> parts;
  std::istringstream rest(line);
  for (std::string part; std::getline(rest, part, ';');) parts.emplace_back(part);
  Case result = {};
  parts.at(0) >> result.num_beams >> result.early_stopping >> result.length_penalty >>
      result.max_new_tokens;
  EXPECT_TRUE(parts[0]) << line;
  result.ends = tokens_in(parts.at(1));
  result.prompt = tokens_in(parts.at(2));
  for (std::size_t i = 3; i < parts.size(); ++i) {
    ScoredText text;
    parts[i] >> text.score;
    text.tokens = tokens_in(parts[i]);
    result.texts.push_back(text);
  }
  return result;
}

class EngineTexts : public testing::Test {
 protected:
  std::vector<ScoredText> texts_of(const Case &recorded) {
    generate::ModelCallbacks model(gpt2_, recorded.num_beams);
    const std::int64_t offsets[] = {0, std::int64_t(recorded.prompt.size())};
    const auto num_results = std::size_t(recorded.num_beams);
    Tokens token_ids(num_results * std::size_t(recorded.max_new_tokens));
    std::vector<std::int64_t> lengths(num_results);
    std::vector<float> scores(num_results);
    sampler_generation_args args = sampler_generation_args_default();
    args.target = model.get();
    args.num_sequences = 1;
    args.prompt_offsets = offsets;
    args.prompt_token_ids = recorded.prompt.data();
    args.max_new_tokens = recorded.max_new_tokens;
    args.end_token_ids = recorded.ends.data();
    args.num_end_tokens = std::int64_t(recorded.ends.size());
    args.use_cache = 1;
    args.out_token_ids = token_ids.data();
    args.out_lengths = lengths.data();
    sampler_beam_search_args beam_search = sampler_beam_search_args_default();
    beam_search.generation = &args;
    beam_search.rule = SAMPLER_BEAMS_POOL;
    beam_search.num_beams = beam_search.num_results = recorded.num_beams;
    beam_search.min_length = 0;
    beam_search.alpha = recorded.length_penalty;
    beam_search.early_stop = recorded.early_stopping;
    beam_search.out_scores = scores.data();
    EXPECT_EQ(recorded.num_beams == 1 ? sampler_autoregressive(sampler_.get(), &args)
                                      : sampler_beam_search(sampler_.get(), &beam_search),
              SAMPLER_OK)
        << sampler_last_error();
    std::vector<ScoredText> texts;
    for (std::size_t i = 0; i < num_results; ++i) {
      const auto row = token_ids.begin() + std::ptrdiff_t(i) * recorded.max_new_tokens;
      texts.push_back({double(scores[i]), Tokens(row, row + lengths[i])});
    }
    return texts;
  }

  Sampler sampler_ = make_sampler();
  generate::Gpt2Model gpt2_{std::filesystem::path(TINY_GPT2_DIR) / "target"};
};

TEST_F(EngineTexts, AreThoseOfHuggingFace) {
  std::ifstream file(ENGINE_TEXTS);
  ASSERT_TRUE(file) << ENGINE_TEXTS;
  int num_greedy = 0, num_beams = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    SCOPED_TRACE(line);
    const Case recorded = parse(line);
    ASSERT_EQ(std::int64_t(recorded.texts.size()), recorded.num_beams);
    ++(recorded.num_beams == 1 ? num_greedy : num_beams);
    const std::vector<ScoredText> texts = texts_of(recorded);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ(texts[i].tokens, recorded.texts[i].tokens) << i;
      EXPECT_NEAR(texts[i].score, recorded.texts[i].score, kTolerance) << i;
    }
  }
  EXPECT_GE(num_greedy, 20);
  EXPECT_GE(num_beams, 150);
}

}  // namespace
}  // namespace decoding_test::engine_texts_test
