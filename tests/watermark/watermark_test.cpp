// What the watermark draws and finds is what vLLM's does (tests/watermark/vllm.txt), each token is
// the best by the contract's words, and texts with and without it follow their laws.
#include <gtest/gtest.h>
#include <sampler/sampler.h>

#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "../seed.h"
#include "../sized.h"
#include "contract/log2.h"
#include "contract/watermark.h"
#include "contract/weight.h"

namespace watermark_test {
namespace {

namespace contract = sampler::contract;

struct Destroy {
  void operator()(sampler_t sampler) const { sampler_destroy(sampler); }
};
using Handle = std::unique_ptr<sampler_handle, Destroy>;

Handle make_handle() {
  sampler_options options = sampler_options_default();
  options.max_rows = 40;
  options.max_cols = 9000;
  sampler_t sampler = nullptr;
  EXPECT_EQ(sampler_create(&options, &sampler), SAMPLER_OK) << sampler_last_error();
  return Handle(sampler);
}

using Ids = std::vector<std::int64_t>;

struct Numbers {
  std::uint64_t seed = 77, offset = 77;
  std::uint32_t stream = 77;
};

Numbers numbers_of(std::uint64_t key, const Ids &context) {
  Numbers numbers;
  EXPECT_EQ(sampler_watermark_random(key, context.data(), std::int64_t(context.size()),
                                     &numbers.seed, &numbers.offset, &numbers.stream),
            SAMPLER_OK)
      << sampler_last_error();
  return numbers;
}

contract::GumbelStream stream_of(const Numbers &numbers) {
  return {{numbers.seed, numbers.offset, numbers.stream}, true};
}

struct Found {
  double score = -77, p_value = -77;
  std::int64_t num_scored = -77;
};

Found find(std::uint64_t key, const Ids &text, std::int64_t length = 4,
           bool keeps_repeated = false) {
  Found found;
  EXPECT_EQ(
      sampler_watermark_detect(key, text.data(), std::int64_t(text.size()), length, keeps_repeated,
                               &found.score, &found.num_scored, &found.p_value),
      SAMPLER_OK)
      << sampler_last_error();
  return found;
}

// ---- vLLM ---------------------------------------------------------------------------------------

std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

Ids read_ids(std::istream *words, std::int64_t count) {
  Ids ids;
  for (std::int64_t id = 0; std::int64_t(ids.size()) < count && *words >> id;) ids.push_back(id);
  return ids;
}

void check_words(std::istream *line) {
  std::uint64_t key = 0;
  std::int64_t length = 0;
  *line >> key >> length;
  const Ids context = read_ids(line, length), expected = read_ids(line, 8);
  const contract::GumbelStream random = stream_of(numbers_of(key, context));
  for (std::uint32_t id = 0; id < 8; ++id) {
    const std::uint32_t word = ~contract::gumbel_block(random, id / 4).word[id % 4];
    EXPECT_EQ(std::int64_t(word >> 8 << 8), expected[id]) << key << " " << length;
  }
}

// As in tests/tools/record_watermarks.py. Its noise has 24 bits, ours 32: none of these draws is
// that near.
void check_draw(sampler_t sampler, std::istream *line) {
  constexpr int kVocabulary = 64;
  std::uint64_t key = 0, seed = 0;
  *line >> key >> seed;
  const Numbers numbers = numbers_of(key, read_ids(line, 4));
  const Ids expected = read_ids(line, 1);
  float logits[kVocabulary];
  for (std::uint64_t id = 0; id < kVocabulary; ++id) {
    logits[id] = float(mix((seed << 8) + id) >> 40) * 0x1p-21F;
  }
  std::int64_t token = -77;
  auto args = sized<sampler_sample_args>();
  args.input.values = logits;
  args.input.num_rows = 1;
  args.input.num_cols = kVocabulary;
  args.random.seed = numbers.seed;
  args.random.offset = numbers.offset;
  args.random.streams = &numbers.stream;
  args.draw_method = SAMPLER_DRAW_WATERMARK;
  args.token_id_type = SAMPLER_ID_I64;
  args.out_token_ids = &token;
  ASSERT_EQ(sampler_sample(sampler, &args), SAMPLER_OK) << sampler_last_error();
  EXPECT_EQ(token, expected[0]) << key << " " << seed;
}

void check_text(std::istream *line) {
  std::uint64_t key = 0;
  std::int64_t length = 0, num_scored = 0;
  bool keeps_repeated = false;
  double score = 0, p_value = 0;
  *line >> key >> length >> keeps_repeated >> score >> num_scored >> p_value;
  const Found found = find(key, read_ids(line, INT64_MAX), length, keeps_repeated);
  EXPECT_EQ(found.num_scored, num_scored);
  // Both add logarithms of libm, in one order; the p-value's terms in different orders.
  EXPECT_NEAR(found.score, score, score * 1e-13);
  EXPECT_NEAR(found.p_value, p_value, p_value * 1e-10);
}

TEST(Vllm, DrawsAndFindsTheSame) {
  const Handle handle = make_handle();
  std::ifstream file(SAMPLER_WATERMARK_VLLM);
  std::map<std::string, int> counts;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string kind;
    line >> kind;
    ++counts[kind];
    if (kind == "words") check_words(&line);
    if (kind == "draw") check_draw(handle.get(), &line);
    if (kind == "text") check_text(&line);
  }
  EXPECT_EQ(counts["words"], 40);
  EXPECT_EQ(counts["draw"], 600);
  EXPECT_EQ(counts["text"], 120);
}

// ---- The contract's words -----------------------------------------------------------------------

// Rows of any width and type, with filters and lists: the token is the kept one with the best
// score.
TEST(Draws, AreTheBestByTheWords) {
  const Handle handle = make_handle();
  std::mt19937_64 random(seeded(3931));
  const auto below = [&](std::uint64_t end) { return std::int64_t(random() % end); };
  for (int round = 0; round < 150; ++round) {
    const std::int64_t num_cols =
        round % 10 == 0 ? 8200 + below(800) : 1 + below(round % 3 ? 40 : 900);
    const std::int64_t num_rows = 1 + below(3);
    const bool has_lists = num_cols < 1000 && below(4) == 0;
    std::vector<float> logits(std::size_t(num_rows * num_cols));
    for (float &x : logits) x = float(below(1 << 20)) * 0x1p-17F;
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; has_lists && i < num_rows * num_cols; ++i) {
      ids.push_back(std::int32_t((i % num_cols) * 5 + below(5)));
    }
    std::vector<std::uint64_t> seeds, offsets;
    std::vector<std::uint32_t> streams;
    for (std::int64_t row = 0; row < num_rows; ++row) {
      const Numbers numbers = numbers_of(random(), {below(100), below(100), -1});
      seeds.push_back(numbers.seed), offsets.push_back(numbers.offset);
      streams.push_back(numbers.stream);
    }
    sampler_params params = sampler_params_default();
    params.temperature = 0.25F + float(below(8)) * 0.25F;
    params.top_k = std::int32_t(below(3) == 0 ? below(20) : 0);
    params.top_p = below(3) == 0 ? 0.7F : 1.0F;
    constexpr std::int64_t kIds = 8192;
    std::vector<std::uint32_t> kept(std::size_t(num_rows * kIds / 32 * 2));
    std::vector<std::int32_t> tokens(std::size_t(num_rows), -77);
    auto reports = sized<sampler_report_args>();
    reports.out_kept_bitmask = kept.data();
    reports.kept_bitmask_stride = kIds / 32 * 2;
    auto args = sized<sampler_sample_args>();
    args.input.values = logits.data();
    args.input.num_rows = num_rows;
    args.input.num_cols = num_cols;
    args.input.candidate_ids = has_lists ? ids.data() : nullptr;
    args.params = &params;
    args.random.seeds = seeds.data();
    args.random.offsets = offsets.data();
    args.random.num_seeds = args.random.num_offsets = num_rows;
    args.random.streams = streams.data();
    args.draw_method = SAMPLER_DRAW_WATERMARK;
    args.reports = &reports;
    args.out_token_ids = tokens.data();
    std::vector<char> workspace(std::size_t(1) << 22);
    args.exec.workspace = workspace.data();
    args.exec.workspace_bytes = workspace.size();
    ASSERT_EQ(sampler_sample(handle.get(), &args), SAMPLER_OK) << sampler_last_error();
    for (std::int64_t row = 0; row < num_rows; ++row) {
      const auto r = std::size_t(row);
      const contract::GumbelStream stream = {{seeds[r], offsets[r], streams[r]}, true};
      float best = -INFINITY;
      std::int64_t expected = -1;
      for (std::int64_t i = 0; i < num_cols; ++i) {
        const auto at = std::size_t(row * num_cols + i);
        const std::int64_t id = has_lists ? ids[at] : i;
        const std::uint32_t bits = kept[r * (kIds / 32 * 2) + std::size_t(id / 32)];
        if (!(bits >> (id % 32) & 1)) continue;
        const std::uint32_t word =
            contract::gumbel_block(stream, std::uint32_t(id / 4)).word[id % 4];
        const float score = contract::gumbel_score(SAMPLER_LOGITS, logits[at],
                                                   contract::logit_scale(params.temperature), word);
        if (score > best || (score == best && id < expected)) best = score, expected = id;
      }
      ASSERT_EQ(tokens[r], expected) << round << ", row " << row;
    }
    // Without reports, which other kernels do.
    args.reports = nullptr;
    std::vector<std::int32_t> again(tokens.size(), -77);
    args.out_token_ids = again.data();
    ASSERT_EQ(sampler_sample(handle.get(), &args), SAMPLER_OK) << sampler_last_error();
    EXPECT_EQ(again, tokens);
  }
}

// ---- Laws ---------------------------------------------------------------------------------------

double chi_square(const std::map<std::int64_t, int> &counts, const std::vector<double> &chances,
                  int num_draws) {
  double sum = 0;
  for (std::size_t i = 0; i < chances.size(); ++i) {
    const auto found = counts.find(std::int64_t(i));
    const double expected = chances[i] * num_draws;
    const double seen = found == counts.end() ? 0 : found->second;
    sum += (seen - expected) * (seen - expected) / expected;
  }
  return sum;
}

// Over keys, and over contexts of one key, tokens follow the row's distribution. Seeds are fixed.
TEST(Laws, TokensFollowTheDistribution) {
  const Handle handle = make_handle();
  const std::vector<double> chances = {0.4, 0.25, 0.2, 0.1, 0.05};
  constexpr int kDraws = 40000, kRows = 40;
  for (const bool over_keys : {false, true}) {
    std::map<std::int64_t, int> counts;
    std::vector<float> logits;
    for (int row = 0; row < kRows; ++row) {
      for (const double chance : chances) logits.push_back(float(std::log(chance)));
    }
    for (int begin = 0; begin < kDraws; begin += kRows) {
      std::uint64_t seeds[kRows], offsets[kRows];
      std::uint32_t streams[kRows];
      std::int32_t tokens[kRows];
      for (int row = 0; row < kRows; ++row) {
        const int draw = begin + row;
        const Numbers numbers = numbers_of(over_keys ? std::uint64_t(draw) : 39,
                                           {5, over_keys ? 7 : draw % 211, over_keys ? 7 : draw});
        seeds[row] = numbers.seed, offsets[row] = numbers.offset, streams[row] = numbers.stream;
      }
      auto args = sized<sampler_sample_args>();
      args.input.values = logits.data();
      args.input.num_rows = kRows;
      args.input.num_cols = 5;
      args.random.seeds = seeds;
      args.random.offsets = offsets;
      args.random.num_seeds = args.random.num_offsets = kRows;
      args.random.streams = streams;
      args.draw_method = SAMPLER_DRAW_WATERMARK;
      args.out_token_ids = tokens;
      ASSERT_EQ(sampler_sample(handle.get(), &args), SAMPLER_OK) << sampler_last_error();
      for (const std::int32_t token : tokens) ++counts[token];
    }
    EXPECT_LT(chi_square(counts, chances, kDraws), 23.5) << over_keys;  // 1e-4 of four degrees
  }
}

// One in a hundred of the texts without it has a p-value of at most 0.01, one in two of at most
// 0.5; a key that is not the text's finds nothing either.
TEST(Laws, TextsWithoutItAreNotFound) {
  std::mt19937_64 random(3932);
  constexpr int kTexts = 4000;
  int num_below[2] = {};
  for (int i = 0; i < kTexts; ++i) {
    Ids text;
    const auto length = std::size_t(20 + random() % 100);
    while (text.size() < length) text.push_back(std::int64_t(random() % 50000));
    const double p_value = find(random(), text).p_value;
    num_below[0] += p_value <= 0.01;
    num_below[1] += p_value <= 0.5;
  }
  EXPECT_NEAR(num_below[0], kTexts * 0.01, 4 * std::sqrt(kTexts * 0.01 * 0.99));
  EXPECT_NEAR(num_below[1], kTexts * 0.5, 4 * std::sqrt(kTexts * 0.25));
}

// ---- Arguments ----------------------------------------------------------------------------------

TEST(Arguments, AreChecked) {
  const std::int64_t ids[64] = {};
  std::uint64_t seed = 77, offset = 77;
  std::uint32_t stream = 77;
  const auto refuse_random = [&](const std::int64_t *context, std::int64_t length,
                                 std::uint64_t *out_seed, std::uint64_t *out_offset,
                                 std::uint32_t *out_stream, const std::string &message) {
    EXPECT_EQ(sampler_watermark_random(1, context, length, out_seed, out_offset, out_stream),
              SAMPLER_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(sampler_last_error(), message);
    EXPECT_EQ(seed, 77u);
    EXPECT_EQ(offset, 77u);
    EXPECT_EQ(stream, 77u);
  };
  refuse_random(ids, 0, &seed, &offset, &stream, "context_length is 0; it must be at least 1");
  refuse_random(ids, 65, &seed, &offset, &stream, "context_length is 65; it must be below 65");
  refuse_random(ids, INT64_MIN, &seed, &offset, &stream,
                "context_length is -9223372036854775808; it must be at least 1");
  refuse_random(nullptr, 1, &seed, &offset, &stream, "context is NULL; it is required");
  refuse_random(ids, 1, nullptr, &offset, &stream, "out_seed is NULL; it is required");
  refuse_random(ids, 1, &seed, nullptr, &stream, "out_offset is NULL; it is required");
  refuse_random(ids, 1, &seed, &offset, nullptr, "out_stream is NULL; it is required");

  double score = 77, p_value = 77;
  std::int64_t num_scored = 77;
  const auto refuse_detect = [&](const std::int64_t *tokens, std::int64_t count,
                                 std::int64_t length, double *out_score, std::int64_t *out_num,
                                 double *out_p, const std::string &message) {
    EXPECT_EQ(sampler_watermark_detect(1, tokens, count, length, 0, out_score, out_num, out_p),
              SAMPLER_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(sampler_last_error(), message);
    EXPECT_EQ(score, 77);
    EXPECT_EQ(num_scored, 77);
    EXPECT_EQ(p_value, 77);
  };
  refuse_detect(ids, -1, 4, &score, &num_scored, &p_value,
                "num_token_ids is -1; it must be at least 0");
  refuse_detect(ids, std::int64_t(1) << 31, 4, &score, &num_scored, &p_value,
                "num_token_ids is 2147483648; it must be below 2147483648");
  refuse_detect(ids, 4, 0, &score, &num_scored, &p_value,
                "context_length is 0; it must be at least 1");
  refuse_detect(nullptr, 4, 4, &score, &num_scored, &p_value, "token_ids is NULL; it is required");
  refuse_detect(ids, 4, 4, nullptr, &num_scored, &p_value, "out_score is NULL; it is required");
  refuse_detect(ids, 4, 4, &score, nullptr, &p_value, "out_num_scored is NULL; it is required");
  refuse_detect(ids, 4, 4, &score, &num_scored, nullptr, "out_p_value is NULL; it is required");

  EXPECT_EQ(sampler_watermark_detect(1, nullptr, 0, 4, 0, &score, &num_scored, &p_value),
            SAMPLER_OK);
  EXPECT_EQ(score, 0);
  EXPECT_EQ(num_scored, 0);
  EXPECT_EQ(p_value, 1);
  // Ids of any size: their low 32 bits count, as vLLM's do.
  const Ids huge = {INT64_MIN, INT64_MAX, -1, 1 << 20, 0, INT64_MAX};
  const Found found = find(7, huge, 2);
  EXPECT_EQ(found.num_scored, 5);  // the fourth context is the first
  EXPECT_TRUE(std::isfinite(found.score) && found.p_value >= 0 && found.p_value <= 1);
}

// A text of one token over and over has few contexts, and long texts take the time of their length.
TEST(Detect, RepeatedContextsCountOnce) {
  const Ids text(100000, 5);
  EXPECT_EQ(find(3, text).num_scored, 5);
  const Found all = find(3, text, 4, true);
  EXPECT_EQ(all.num_scored, 100000);
  EXPECT_TRUE(std::isfinite(all.score));
}

}  // namespace
}  // namespace watermark_test
