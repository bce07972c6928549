// Green lists and tournaments are transformers' (tests/watermark/transformers.txt), their marks are
// found, texts without them are not, and each argument has its rule.
#include <gtest/gtest.h>
#include <sampler/sampler.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "../seed.h"
#include "../sized.h"

namespace watermark_test::schemes {
namespace {

using Ids = std::vector<std::int64_t>;
using Params = sampler_watermark_params;

// What other tests of transformers take.
const Ids kKeys = {654, 400, 836, 123, 340, 443, 597, 160, 57,  29,  590, 639, 13,  715, 468,
                   990, 966, 226, 324, 585, 118, 504, 421, 521, 129, 669, 732, 225, 90,  960};

std::size_t index(std::int64_t i) {
  return std::size_t(i);
}

// Params with the table that they need.
struct Scheme {
  Params params = sized<Params>();
  std::vector<std::int32_t> table;

  explicit Scheme(const Params &given) : params(given) {
    if (given.scheme == SAMPLER_WATERMARK_LEFTHASH) return;
    const bool is_self = given.scheme == SAMPLER_WATERMARK_SELFHASH;
    table.resize(index(given.table_size ? given.table_size : is_self ? 1000003 : 65536));
    EXPECT_EQ(sampler_watermark_table(&params, table.data()), SAMPLER_OK) << sampler_last_error();
    params.table = table.data();
  }
};

Params green(sampler_watermark_scheme scheme, std::int64_t vocabulary_size, std::int32_t length,
             double share = 0.25, std::int64_t key = 15485863) {
  auto params = sized<Params>();
  params.scheme = scheme;
  params.vocabulary_size = vocabulary_size;
  params.context_length = length;
  params.green_share = share;
  params.key = key;
  params.bias = 2;
  return params;
}

Params tournament(std::int64_t vocabulary_size, std::int32_t length,
                  std::int64_t table_size = 65536) {
  auto params = sized<Params>();
  params.scheme = SAMPLER_WATERMARK_TOURNAMENT;
  params.vocabulary_size = vocabulary_size;
  params.context_length = length;
  params.keys = kKeys.data();
  params.num_keys = std::int64_t(kKeys.size());
  params.table_size = table_size;
  return params;
}

std::vector<std::istringstream> lines_of(const std::string &kind) {
  std::ifstream file(SAMPLER_WATERMARK_TRANSFORMERS);
  EXPECT_TRUE(file) << SAMPLER_WATERMARK_TRANSFORMERS;
  std::vector<std::istringstream> result;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string first;
    words >> first;
    if (first == kind) result.push_back(std::move(words));
  }
  return result;
}

template <class T>
std::vector<T> read(std::istringstream *words, std::int64_t count) {
  std::vector<T> result(index(count));
  for (T &value : result) EXPECT_TRUE(*words >> value);
  return result;
}
void skip_colon(std::istringstream *words) {
  std::string colon;
  *words >> colon;
  EXPECT_EQ(colon, ":");
}
sampler_watermark_scheme scheme_of(const std::string &name) {
  return name == "lefthash" ? SAMPLER_WATERMARK_LEFTHASH : SAMPLER_WATERMARK_SELFHASH;
}

// The scheme's table is made once for a key.
const Scheme &scheme_with(const Params &params) {
  static std::map<std::int64_t, std::vector<std::int32_t>> tables;
  static std::vector<Scheme> schemes;
  schemes.clear();
  if (params.scheme != SAMPLER_WATERMARK_SELFHASH) return schemes.emplace_back(params);
  auto lefthash = params;
  lefthash.scheme = SAMPLER_WATERMARK_LEFTHASH;  // without a table yet
  Scheme &result = schemes.emplace_back(lefthash);
  result.params = params;
  std::vector<std::int32_t> &table = tables[params.key];
  if (table.empty()) {
    table.resize(1000003);
    EXPECT_EQ(sampler_watermark_table(&params, table.data()), SAMPLER_OK);
  }
  result.params.table = table.data();
  return result;
}

TEST(Schemes, GreenListsAreThoseOfTransformers) {
  int num_lines = 0;
  for (std::istringstream &words : lines_of("green")) {
    std::string name;
    std::int64_t vocabulary_size = 0, key = 0, length = 0, count = 0, sum = 0;
    double share = 0;
    words >> name >> vocabulary_size >> key >> share >> length;
    const Ids context = read<std::int64_t>(&words, length);
    skip_colon(&words);
    words >> count >> sum;
    const Ids first = read<std::int64_t>(&words, std::min<std::int64_t>(count, 8));
    const Scheme &scheme =
        scheme_with(green(scheme_of(name), vocabulary_size, std::int32_t(length), share, key));
    const bool has_self = scheme.params.scheme == SAMPLER_WATERMARK_SELFHASH;
    std::vector<std::int32_t> candidates(has_self ? 40 : index(vocabulary_size));
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      candidates[i] = std::int32_t(has_self ? 7 * (i + 1) % index(vocabulary_size) : i);
    }
    std::vector<float> biases(candidates.size(), -9);
    ASSERT_EQ(sampler_watermark_bias(&scheme.params, context.data(),
                                     has_self ? candidates.data() : nullptr, has_self ? 40 : 0,
                                     biases.data()),
              SAMPLER_OK)
        << sampler_last_error();
    Ids found;
    for (std::size_t i = 0; i < biases.size(); ++i) {
      EXPECT_TRUE(biases[i] == 0 || biases[i] == 2);
      if (biases[i] != 0) found.push_back(candidates[i]);
    }
    EXPECT_EQ(std::int64_t(found.size()), count);
    EXPECT_EQ(std::accumulate(found.begin(), found.end(), std::int64_t(0)), sum);
    found.resize(first.size());
    EXPECT_EQ(found, first);
    ++num_lines;
  }
  EXPECT_EQ(num_lines, 28);
}

TEST(Schemes, TablesAreThoseOfTransformers) {
  int num_lines = 0;
  for (std::istringstream &words : lines_of("table")) {
    std::string name;
    std::int64_t seed = 0, size = 0, sum = 0;
    words >> name >> seed >> size;
    skip_colon(&words);
    words >> sum;
    const auto first = read<std::int32_t>(&words, 6);
    Params params = name == "self" ? green(SAMPLER_WATERMARK_SELFHASH, 50, 0, 0.25, seed)
                                   : tournament(50, 1, size);
    if (name != "self") params.table_seed = std::uint64_t(seed);
    const Scheme scheme(params);
    ASSERT_EQ(std::int64_t(scheme.table.size()), size);
    std::int64_t own_sum = 0;
    for (std::size_t i = 0; i < scheme.table.size(); ++i) {
      own_sum += std::int64_t(i) * scheme.table[i];
    }
    EXPECT_EQ(own_sum % (std::int64_t(1) << 61), sum);
    EXPECT_TRUE(std::equal(first.begin(), first.end(), scheme.table.begin()));
    ++num_lines;
  }
  EXPECT_EQ(num_lines, 3);
}

// A bit alone decides the tournament of one layer between a token of each bit: 0 gets nothing.
TEST(Schemes, BitsAreThoseOfTransformers) {
  int num_lines = 0;
  for (std::istringstream &words : lines_of("bits")) {
    std::int64_t length = 0, size = 0;
    words >> length >> size;
    const Ids ngram = read<std::int64_t>(&words, length + 1);
    skip_colon(&words);
    const auto bits = read<int>(&words, std::int64_t(kKeys.size()));
    Params params = tournament(128256, std::int32_t(length), size);
    const Scheme scheme(params);
    params = scheme.params;
    std::int64_t num_ones = 0;
    for (std::size_t layer = 0; layer < kKeys.size(); ++layer) {
      params.keys = &kKeys[layer];
      params.num_keys = 1;
      double score = -1, p_value = -1;
      std::int64_t num_scored = -1;
      ASSERT_EQ(
          sampler_watermark_score(&params, ngram.data(), length + 1, &score, &num_scored, &p_value),
          SAMPLER_OK)
          << sampler_last_error();
      EXPECT_EQ(num_scored, 1);
      EXPECT_EQ(score, bits[layer]) << layer;
      num_ones += bits[layer];
    }
    EXPECT_GT(num_ones, 4);
    ++num_lines;
  }
  EXPECT_EQ(num_lines, 12);
}

TEST(Schemes, TournamentsAreThoseOfTransformers) {
  int num_lines = 0;
  for (std::istringstream &words : lines_of("tournament")) {
    std::int64_t length = 0, count = 0;
    words >> length >> count;
    const Ids context = read<std::int64_t>(&words, length);
    const auto ids = read<std::int32_t>(&words, count);
    const auto before = read<double>(&words, count), expected = read<double>(&words, count);
    std::vector<float> probabilities(before.begin(), before.end());
    const Scheme scheme(tournament(1000, std::int32_t(length)));
    ASSERT_EQ(sampler_watermark_tournament(&scheme.params, context.data(), ids.data(), count,
                                           probabilities.data()),
              SAMPLER_OK)
        << sampler_last_error();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      // Theirs is rounded to f32 in each of 30 layers, and by a logarithm and back.
      EXPECT_NEAR(probabilities[i], expected[i], 2e-6 + 1e-5 * expected[i]) << i;
    }
    EXPECT_NEAR(std::accumulate(probabilities.begin(), probabilities.end(), 0.0), 1, 1e-5);
    ++num_lines;
  }
  EXPECT_EQ(num_lines, 9);
}

TEST(Schemes, ScoresAreThoseOfTransformers) {
  int num_lines = 0;
  for (std::istringstream &words : lines_of("z")) {
    std::string name;
    std::int64_t vocabulary_size = 0, key = 0, length = 0, num_tokens = 0, count = 0;
    double share = 0, expected = 0;
    words >> name >> vocabulary_size >> key >> share >> length >> num_tokens;
    const Ids tokens = read<std::int64_t>(&words, num_tokens);
    skip_colon(&words);
    words >> count >> expected;
    Params params = green(scheme_of(name), vocabulary_size, std::int32_t(length), share, key);
    params.keeps_repeated = 1;
    const Scheme &scheme = scheme_with(params);
    double score = 0, p_value = 0;
    std::int64_t num_scored = 0;
    ASSERT_EQ(sampler_watermark_score(&scheme.params, tokens.data(), num_tokens, &score,
                                      &num_scored, &p_value),
              SAMPLER_OK)
        << sampler_last_error();
    EXPECT_EQ(num_scored, count);
    EXPECT_NEAR(score, expected, 1e-12);  // by another order of operations
    EXPECT_NEAR(p_value, std::erfc(score / std::sqrt(2.0)) / 2, 1e-12);
    ++num_lines;
  }
  EXPECT_EQ(num_lines, 8);
}

// Draws by weights.
std::int32_t draw(const std::vector<double> &weights, std::mt19937_64 *random) {
  return std::int32_t(std::discrete_distribution<int>(weights.begin(), weights.end())(*random));
}

struct Found {
  double score = 0, p_value = 0;
  std::int64_t num_scored = 0;
};
Found find(const Params &params, const Ids &tokens) {
  Found found;
  EXPECT_EQ(sampler_watermark_score(&params, tokens.data(), std::int64_t(tokens.size()),
                                    &found.score, &found.num_scored, &found.p_value),
            SAMPLER_OK)
      << sampler_last_error();
  return found;
}

// Texts of 200 tokens drawn from a flat distribution of 60, with the mark and without.
TEST(Schemes, MarksAreFound) {
  constexpr std::int64_t kVocabulary = 60;
  for (sampler_watermark_scheme kind = 0; kind <= SAMPLER_WATERMARK_TOURNAMENT; ++kind) {
    SCOPED_TRACE(kind);
    const bool is_tournament = kind == SAMPLER_WATERMARK_TOURNAMENT;
    const std::int32_t length = is_tournament ? 2 : 1;
    const Scheme scheme(is_tournament ? tournament(kVocabulary, length)
                                      : green(kind, kVocabulary, length));
    std::vector<std::int32_t> all(kVocabulary);
    std::iota(all.begin(), all.end(), 0);
    std::mt19937_64 random(seeded(std::uint64_t(kind) + 1));
    int num_false = 0;
    for (int round = 0; round < 20; ++round) {
      Ids marked(index(length), 0), plain = marked;
      while (marked.size() < 200) {
        const std::int64_t *const context = marked.data() + marked.size() - index(length);
        std::vector<double> weights(kVocabulary, 1.0);
        if (is_tournament) {
          std::vector<float> probabilities(kVocabulary, 1.0f / kVocabulary);
          ASSERT_EQ(sampler_watermark_tournament(&scheme.params, context, all.data(), kVocabulary,
                                                 probabilities.data()),
                    SAMPLER_OK);
          weights.assign(probabilities.begin(), probabilities.end());
        } else {
          std::vector<float> biases(kVocabulary);
          const bool has_self = kind == SAMPLER_WATERMARK_SELFHASH;
          ASSERT_EQ(sampler_watermark_bias(&scheme.params, context, has_self ? all.data() : nullptr,
                                           has_self ? kVocabulary : 0, biases.data()),
                    SAMPLER_OK)
              << sampler_last_error();
          for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = std::exp(double(biases[i]));
        }
        marked.push_back(draw(weights, &random));
        plain.push_back(draw(std::vector<double>(kVocabulary, 1.0), &random));
      }
      Params params = scheme.params;
      EXPECT_LT(find(params, marked).p_value, 1e-4);
      params.keeps_repeated = 1;
      EXPECT_LT(find(params, marked).p_value, 1e-6);
      num_false += find(scheme.params, plain).p_value < 0.01;
    }
    EXPECT_LE(num_false, 4);
  }
}

TEST(Schemes, RepeatedContextsCountOnce) {
  Params params = green(SAMPLER_WATERMARK_LEFTHASH, 50, 1);
  EXPECT_EQ(find(params, {1, 2, 1, 2, 1, 3}).num_scored, 3);  // 1 2, 2 1, 1 3
  params.keeps_repeated = 1;
  EXPECT_EQ(find(params, {1, 2, 1, 2, 1, 3}).num_scored, 5);
  EXPECT_EQ(find(params, {1}).num_scored, 0);
  EXPECT_EQ(find(params, {}).p_value, 1);
  const Scheme own(tournament(50, 1));
  EXPECT_EQ(find(own.params, {1, 2, 1, 2, 1, 3}).num_scored, 2);  // after 1, after 2
  EXPECT_EQ(find(own.params, {}).score, 0.5);
}

TEST(Schemes, ArgumentsAreChecked) {
  const Scheme left(green(SAMPLER_WATERMARK_LEFTHASH, 50, 1)), own(tournament(50, 1));
  const std::int64_t context[] = {3};
  std::int32_t ids[] = {1, 2};
  std::vector<float> biases(50, -9);
  float probabilities[] = {0.5f, 0.5f};
  double score = 0, p_value = 0;
  std::int64_t num_scored = 0;
  const auto message = [](sampler_status status) {
    if (status == SAMPLER_OK) return std::string();
    EXPECT_EQ(status, SAMPLER_ERROR_INVALID_ARGUMENT);
    return std::string(sampler_last_error());
  };
  const auto of_bias = [&](const std::function<void(Params *)> &change) {
    Params params = left.params;
    change(&params);
    const std::string result =
        message(sampler_watermark_bias(&params, context, nullptr, 0, biases.data()));
    EXPECT_EQ(biases, std::vector<float>(50, -9));
    return result;
  };
  EXPECT_EQ(of_bias([](Params *p) { p->struct_size = 3; }).substr(0, 23),
            "params->struct_size is ");
  EXPECT_EQ(of_bias([](Params *p) { p->scheme = 3; }),
            "params->scheme is 3; it must be one of its constants, 0 to 2");
  EXPECT_EQ(of_bias([](Params *p) { p->context_length = 0; }),
            "params->context_length is 0; it must be at least 1");
  EXPECT_EQ(of_bias([](Params *p) { p->context_length = 65; }),
            "params->context_length is 65; it must be below 65");
  EXPECT_EQ(of_bias([](Params *p) { p->vocabulary_size = 1; }),
            "params->vocabulary_size is 1; it must be at least 2");
  EXPECT_EQ(of_bias([](Params *p) { p->vocabulary_size = 1 << 20; }),
            "params->vocabulary_size is 1048576; it must be below 1048576");
  EXPECT_EQ(of_bias([](Params *p) { p->green_share = NAN; }),
            "params->green_share is nan; it must be in (0, 1)");
  EXPECT_EQ(of_bias([](Params *p) { p->green_share = 1; }),
            "params->green_share is 1; it must be in (0, 1)");
  EXPECT_EQ(of_bias([](Params *p) { p->bias = INFINITY; }),
            "params->bias is inf; it must be finite");
  EXPECT_EQ(of_bias([](Params *p) { p->keeps_repeated = 2; }),
            "params->keeps_repeated is 2; it must be one of its constants, 0 to 1");
  EXPECT_EQ(of_bias([](Params *p) { p->num_keys = 2; }), "params->num_keys is 2; it must be 0");
  EXPECT_EQ(of_bias([](Params *p) { p->table_size = 2; }), "params->table_size is 2; it must be 0");
  EXPECT_EQ(of_bias([](Params *p) { p->table_seed = 2; }), "params->table_seed is 2; it must be 0");
  EXPECT_EQ(of_bias([](Params *p) { p->scheme = SAMPLER_WATERMARK_SELFHASH; }),
            "params->table is NULL; it is required");
  EXPECT_EQ(of_bias([&](Params *p) { *p = own.params; }),
            "params->scheme is 2; this call is for SAMPLER_WATERMARK_LEFTHASH and "
            "SAMPLER_WATERMARK_SELFHASH");
  EXPECT_EQ(message(sampler_watermark_bias(nullptr, context, nullptr, 0, biases.data())),
            "params is NULL; it must point to a struct");
  EXPECT_EQ(message(sampler_watermark_bias(&left.params, nullptr, nullptr, 0, biases.data())),
            "context is NULL; it is required");
  EXPECT_EQ(message(sampler_watermark_bias(&left.params, context, ids, 1, biases.data())),
            "num_candidates is 1; it must be below 1");
  {
    Params self = green(SAMPLER_WATERMARK_SELFHASH, 50, 1);
    self.table = ids;  // not read
    self.table_size = 2;
    EXPECT_EQ(message(sampler_watermark_bias(&self, context, ids, 1025, biases.data())),
              "num_candidates is 1025; it must be below 1025");
  }
  EXPECT_EQ(message(sampler_watermark_bias(&left.params, context, nullptr, 0, nullptr)),
            "out_biases is NULL; it is required");
  const std::int64_t far[] = {50};
  EXPECT_EQ(message(sampler_watermark_bias(&left.params, far, nullptr, 0, biases.data())),
            "context[0] is 50; it must be in [0, vocabulary_size), 50");

  const auto of_tournament = [&](const std::function<void(Params *)> &change) {
    Params params = own.params;
    change(&params);
    return message(sampler_watermark_tournament(&params, context, ids, 2, probabilities));
  };
  EXPECT_EQ(of_tournament([](Params *p) { p->key = 1; }), "params->key is 1; it must be 0");
  EXPECT_EQ(
      of_tournament([](Params *p) { p->bias = 1; }),
      "params->green_share is 0 and bias 1; they must be 0 with SAMPLER_WATERMARK_TOURNAMENT");
  EXPECT_EQ(of_tournament([](Params *p) { p->num_keys = 65; }),
            "params->num_keys is 65; it must be below 65");
  EXPECT_EQ(of_tournament([](Params *p) { p->keys = nullptr; }),
            "params->keys is NULL; it is required");
  EXPECT_EQ(of_tournament([](Params *p) { p->table = nullptr; }),
            "params->table is NULL; it is required");
  EXPECT_EQ(of_tournament([](Params *p) { p->table_size = -1; }),
            "params->table_size is -1; it must be at least 1");
  EXPECT_EQ(of_tournament([&](Params *p) { *p = left.params; }),
            "params->scheme is 0; this call is for SAMPLER_WATERMARK_TOURNAMENT");
  for (const float bad : {-1.0f, NAN, INFINITY}) {
    float values[] = {0.5f, bad};
    EXPECT_EQ(
        message(sampler_watermark_tournament(&own.params, context, ids, 2, values)).substr(0, 20),
        "probabilities[1] is ");
    EXPECT_EQ(values[0], 0.5f);
  }
  float none[] = {0, 0};
  EXPECT_EQ(message(sampler_watermark_tournament(&own.params, context, ids, 2, none)),
            "probabilities are all 0");
  float huge[] = {0x1p126f, 0x1p126f};
  EXPECT_EQ(message(sampler_watermark_tournament(&own.params, context, ids, 2, huge)),
            "the sum of probabilities is 1.70141183e+38; it must be below 2^127");
  huge[1] = 0x1.8p125f;
  EXPECT_EQ(sampler_watermark_tournament(&own.params, context, ids, 2, huge), SAMPLER_OK);
  EXPECT_TRUE(std::isfinite(huge[0]) && std::isfinite(huge[1]));
  ids[1] = -1;
  EXPECT_EQ(message(sampler_watermark_tournament(&own.params, context, ids, 2, probabilities)),
            "token_ids[1] is -1; it must be in [0, vocabulary_size), 50");
  EXPECT_EQ(message(sampler_watermark_tournament(&own.params, context, ids, 0, probabilities)),
            "num_tokens is 0; it must be at least 1");
  EXPECT_EQ(message(sampler_watermark_table(&left.params, ids)),
            "params->scheme is SAMPLER_WATERMARK_LEFTHASH; it has no table");
  EXPECT_EQ(message(sampler_watermark_table(&own.params, nullptr)),
            "out_table is NULL; it is required");
  EXPECT_EQ(message(sampler_watermark_score(&left.params, far, 1, &score, &num_scored, &p_value)),
            "token_ids[0] is 50; it must be in [0, vocabulary_size), 50");
  EXPECT_EQ(
      message(sampler_watermark_score(&left.params, context, -1, &score, &num_scored, &p_value)),
      "num_token_ids is -1; it must be at least 0");
  EXPECT_EQ(
      message(sampler_watermark_score(&left.params, context, 1, nullptr, &num_scored, &p_value)),
      "out_score is NULL; it is required");
}

}  // namespace
}  // namespace watermark_test::schemes
