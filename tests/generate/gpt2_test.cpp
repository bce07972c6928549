#include "gpt2.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "bpe.h"
#include "model_files.h"
#include "naive_gpt2.h"

namespace {

using generate::BpeTokenizer;
using generate::Gpt2Model;
using generate::Gpt2Sequence;
using generate::TokenSpan;
using Ids = std::vector<std::int32_t>;
using Json = nlohmann::json;
using Logits = std::vector<float>;

Gpt2Model load(const ModelFiles &files) {
  const TempDir dir;
  files.write(dir.path());
  return Gpt2Model(dir.path());
}

Logits append(const Gpt2Model &model, Gpt2Sequence *sequence, const Ids &ids) {
  Logits logits(static_cast<std::size_t>(model.config().vocab_size));
  model.forward({{sequence, ids.data(), static_cast<int>(ids.size())}}, logits.data());
  return logits;
}

Logits logits_after(const Gpt2Model &model, const Ids &ids) {
  Gpt2Sequence sequence(model.config());
  return append(model, &sequence, ids);
}

// Bits, so that -0 is not 0 and a NaN is itself.
std::string bits(const Logits &logits) {
  std::string bytes(logits.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), logits.data(), bytes.size());
  return bytes;
}

Ids some_ids(int count, int vocab_size) {
  Ids ids;
  for (int i = 0; i < count; ++i) ids.push_back((7 * i * i + 3 * i + 1) % vocab_size);
  return ids;
}

// ---- reference.json --------------------------------------------------------------------------

class Reference : public testing::TestWithParam<int> {
 protected:
  const Json reference_ = Json::parse(read_bytes(tiny_gpt2() / "reference.json"))
                              .at(static_cast<std::size_t>(GetParam()));
  const std::filesystem::path directory_ = tiny_gpt2() / reference_.at("model").get<std::string>();
  const Gpt2Model model_{directory_};
  const BpeTokenizer tokenizer_{directory_, model_.config().vocab_size};
  const Ids ids_ = tokenizer_.encode(reference_.at("prompt").get<std::string>());
};

TEST_P(Reference, TokenIds) {
  EXPECT_EQ(Json(ids_), reference_.at("ids"));
}

TEST_P(Reference, LastLogits) {
  const Logits logits = logits_after(model_, ids_);
  // The reference is rounded to 5 decimals (5e-6). Logits of about 10 carry f32 rounding errors of
  // some units of 2^-21 from sums of up to 768 terms in 4 layers.
  constexpr double kLogitTolerance = 3e-5;
  Ids ranked(logits.size());
  std::iota(ranked.begin(), ranked.end(), 0);
  std::stable_sort(ranked.begin(), ranked.end(), [&](std::int32_t a, std::int32_t b) {
    return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
  });
  const Json &top10 = reference_.at("last_logits_top10");
  ASSERT_EQ(top10.size(), 10u);
  for (std::size_t i = 0; i < top10.size(); ++i) {
    EXPECT_EQ(ranked[i], top10[i][0].get<std::int32_t>());
    EXPECT_NEAR(logits[static_cast<std::size_t>(ranked[i])], top10[i][1].get<double>(),
                kLogitTolerance);
  }
  // 2,048 errors that do not all have one sign: about 2e-6 of each is left.
  EXPECT_NEAR(std::accumulate(logits.begin(), logits.end(), 0.0),
              reference_.at("last_logits_sum").get<double>(), 5e-3);
}

TEST_P(Reference, GreedyTokens) {
  Gpt2Sequence sequence(model_.config());
  Logits logits = append(model_, &sequence, ids_);
  Ids greedy_ids;
  for (int i = 0; i < 20; ++i) {
    const auto highest = std::max_element(logits.begin(), logits.end());
    greedy_ids.push_back(static_cast<std::int32_t>(highest - logits.begin()));
    logits = append(model_, &sequence, {greedy_ids.back()});
  }
  EXPECT_EQ(Json(greedy_ids), reference_.at("greedy_next_20"));
}

INSTANTIATE_TEST_SUITE_P(TinyGpt2, Reference, testing::Range(0, 8));

TEST(ReferenceFile, HasFourPromptsForEachModel) {
  const Json references = Json::parse(read_bytes(tiny_gpt2() / "reference.json"));
  EXPECT_EQ(references.size(), 8u);
  const auto is_target = [](const Json &reference) { return reference.at("model") == "target"; };
  EXPECT_EQ(std::count_if(references.begin(), references.end(), is_target), 4);
}

// ---- The same logits however the tokens come --------------------------------------------------

TEST(Gpt2, LogitsDoNotDependOnHowTheTokensAreCutIntoSpans) {
  const Gpt2Model model(tiny_gpt2() / "target");
  const Ids ids = some_ids(30, 2048);
  const Logits whole = logits_after(model, ids);
  for (const std::size_t span_tokens : {1, 4, 7, 29}) {
    Gpt2Sequence sequence(model.config());
    Logits last;
    for (std::size_t begin = 0; begin < ids.size(); begin += span_tokens) {
      const std::size_t end = std::min(begin + span_tokens, ids.size());
      last = append(model, &sequence,
                    {ids.begin() + static_cast<std::ptrdiff_t>(begin),
                     ids.begin() + static_cast<std::ptrdiff_t>(end)});
    }
    EXPECT_EQ(sequence.length(), 30);
    EXPECT_EQ(bits(last), bits(whole)) << "spans of " << span_tokens;
  }
}

// The logits after each token, `span_tokens` tokens at a time.
Logits all_logits(const Gpt2Model &model, const Ids &ids, std::size_t span_tokens) {
  const auto vocab_size = static_cast<std::size_t>(model.config().vocab_size);
  Logits logits(ids.size() * vocab_size);
  Gpt2Sequence sequence(model.config());
  for (std::size_t begin = 0; begin < ids.size(); begin += span_tokens) {
    const int count = static_cast<int>(std::min(span_tokens, ids.size() - begin));
    model.forward({{&sequence, &ids[begin], count, count}}, &logits[begin * vocab_size]);
  }
  return logits;
}

TEST(Gpt2, LogitsOfEveryTokenAreThoseOfTokensOneByOne) {
  const Gpt2Model model(tiny_gpt2() / "target");
  const Ids ids = some_ids(25, 2048);
  const std::string one_by_one = bits(all_logits(model, ids, 1));
  for (const std::size_t span_tokens : {2, 6, 7, 25}) {
    EXPECT_EQ(bits(all_logits(model, ids, span_tokens)), one_by_one) << "spans of " << span_tokens;
  }
}

TEST(Gpt2, EachSpanGivesAsManyLogitsAsAreWanted) {
  const Gpt2Model model = load(ModelFiles::odd_sizes());
  const Ids ids = some_ids(9, 37);
  const Logits all = all_logits(model, ids, ids.size());
  const std::vector<int> num_logits = {2, 0, 9, 1};
  std::vector<Gpt2Sequence> sequences(num_logits.size(), Gpt2Sequence(model.config()));
  std::vector<TokenSpan> spans;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    spans.push_back({&sequences[i], ids.data(), 9, num_logits[i]});
  }
  constexpr std::size_t kStride = 40;
  Logits logits(12 * kStride, 7.0f);
  model.forward(spans, logits.data(), kStride);

  const float *row = logits.data();
  for (const int count : num_logits) {
    for (int token = 9 - count; token < 9; ++token, row += kStride) {
      const float *expected = &all[static_cast<std::size_t>(token) * 37];
      EXPECT_EQ(bits({row, row + 37}), bits({expected, expected + 37}));
      EXPECT_EQ(Logits(row + 37, row + kStride), Logits(3, 7.0f));
    }
  }
  for (const Gpt2Sequence &sequence : sequences) EXPECT_EQ(sequence.length(), 9);
}

TEST(Gpt2, ASequenceThatWasCutGoesOnLikeOneThatWasNot) {
  const Gpt2Model model(tiny_gpt2() / "draft");
  const Ids ids = some_ids(20, 2048);
  for (const int length : {0, 1, 7, 19, 20}) {
    Gpt2Sequence sequence(model.config());
    append(model, &sequence, ids);
    sequence.truncate(length);
    EXPECT_EQ(sequence.length(), length);
    Gpt2Sequence fork = sequence;
    Ids expected(ids.begin(), ids.begin() + length);
    expected.insert(expected.end(), {3, 4, 5});
    const std::string logits = bits(logits_after(model, expected));
    EXPECT_EQ(bits(append(model, &sequence, {3, 4, 5})), logits) << length;
    EXPECT_EQ(bits(append(model, &fork, {3, 4, 5})), logits) << length;
  }
  Gpt2Sequence sequence(model.config());
  append(model, &sequence, ids);
  EXPECT_THROW(sequence.truncate(21), std::invalid_argument);
  EXPECT_THROW(sequence.truncate(-1), std::invalid_argument);
  EXPECT_EQ(sequence.length(), 20);
}

// Each token of a tree has the logits of its path alone, also beside a chain, and what is cut off
// leaves nothing.
TEST(Gpt2, LogitsOfATreeAreThoseOfItsPaths) {
  const Gpt2Model model(tiny_gpt2() / "target");
  const Ids text = some_ids(21, 2048);
  const Ids tree = {5, 9, 700, 9, 5, 31, 9, 1000, 2};
  const Ids parents = {-1, 0, 1, 1, 0, 4, 5, 3, -1};
  const Ids chain = some_ids(4, 300);
  Gpt2Sequence sequence(model.config()), beside(model.config());
  append(model, &sequence, text);
  Logits logits(13 * 2048);
  model.forward({{&sequence, tree.data(), 9, 9, parents.data()}, {&beside, chain.data(), 4, 4}},
                logits.data());
  for (std::size_t i = 0; i < tree.size(); ++i) {
    Ids path;
    for (auto at = static_cast<std::int32_t>(i); at >= 0; at = parents[std::size_t(at)]) {
      path.insert(path.begin(), tree[std::size_t(at)]);
    }
    path.insert(path.begin(), text.begin(), text.end());
    const auto row = logits.begin() + static_cast<std::ptrdiff_t>(2048 * i);
    EXPECT_EQ(bits(Logits(row, row + 2048)), bits(logits_after(model, path))) << i;
  }
  EXPECT_EQ(bits(Logits(logits.end() - 2048, logits.end())), bits(logits_after(model, chain)));
  EXPECT_EQ(sequence.length(), 30);
  sequence.truncate(23);
  Ids expected = text;
  expected.insert(expected.end(), {5, 9, 77});
  EXPECT_EQ(bits(append(model, &sequence, {77})), bits(logits_after(model, expected)));

  for (const std::int32_t bad : {-2, 1, 2}) {
    const Ids wrong = {-1, bad};
    Logits row(2048);
    EXPECT_THROW(model.forward({{&sequence, tree.data(), 2, 1, wrong.data()}}, row.data()),
                 std::invalid_argument);
  }
}

TEST(Gpt2, LogitsDoNotDependOnTheBatch) {
  const Gpt2Model model(tiny_gpt2() / "target");
  std::vector<Ids> prompts(9);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    prompts[i] = some_ids(1 + static_cast<int>(5 * i % 13), 2000 - static_cast<int>(i));
  }
  for (std::size_t batch_size = 1; batch_size <= prompts.size(); ++batch_size) {
    std::vector<Gpt2Sequence> sequences(batch_size, Gpt2Sequence(model.config()));
    std::vector<TokenSpan> prefill, decode;
    const std::int32_t next = 5;
    for (std::size_t i = 0; i < batch_size; ++i) {
      // The other way round, so that each prompt meets other slots.
      const Ids &ids = prompts[batch_size - 1 - i];
      prefill.push_back({&sequences[i], ids.data(), static_cast<int>(ids.size())});
      decode.push_back({&sequences[i], &next, 1});
    }
    Logits prefilled(batch_size * 2048), decoded(batch_size * 2048);
    model.forward(prefill, prefilled.data());
    model.forward(decode, decoded.data());
    for (std::size_t i = 0; i < batch_size; ++i) {
      Gpt2Sequence alone(model.config());
      const auto row = [&](const Logits &logits) {
        const auto begin = logits.begin() + static_cast<std::ptrdiff_t>(2048 * i);
        return bits(Logits(begin, begin + 2048));
      };
      EXPECT_EQ(row(prefilled), bits(append(model, &alone, prompts[batch_size - 1 - i])));
      EXPECT_EQ(row(decoded), bits(append(model, &alone, {next})));
    }
  }
}

// Each process has a share of the last product, empty where there are more processes than panels.
TEST(Gpt2, SharesOfTheLogitsAreTheLogits) {
  for (const ModelFiles &files : {ModelFiles::odd_sizes(), ModelFiles::read("draft")}) {
    const Gpt2Model model = load(files);
    const auto vocab_size = static_cast<std::size_t>(model.config().vocab_size);
    const Ids ids = some_ids(3, model.config().vocab_size);
    Gpt2Sequence whole_sequence(model.config());
    Logits whole(3 * vocab_size);
    model.forward({{&whole_sequence, ids.data(), 3, 3}}, whole.data());
    for (const int num_ranks : {1, 2, 3, 7, 64, 200}) {
      Logits gathered(whole.size());
      std::size_t end = 0;
      for (int rank = 0; rank < num_ranks; ++rank) {
        const generate::TokenRange range = model.share(rank, num_ranks);
        ASSERT_EQ(range.begin, end);
        end = range.end;
        Gpt2Sequence sequence(model.config());
        Logits part(3 * range.size());
        model.forward_share({{&sequence, ids.data(), 3, 3}}, range, part.data());
        EXPECT_EQ(sequence.length(), 3);
        for (std::size_t row = 0; row < 3; ++row) {
          std::copy_n(part.data() + row * range.size(), range.size(),
                      gathered.data() + row * vocab_size + range.begin);
        }
      }
      EXPECT_EQ(end, vocab_size);
      EXPECT_EQ(bits(gathered), bits(whole)) << num_ranks;
    }
  }
}

TEST(Gpt2, ACopiedSequenceIsAFork) {
  const Gpt2Model model(tiny_gpt2() / "draft");
  Gpt2Sequence sequence(model.config());
  append(model, &sequence, {1, 2, 3});
  Gpt2Sequence fork = sequence;
  const Logits other = append(model, &fork, {4, 5});
  EXPECT_EQ(bits(append(model, &sequence, {6})), bits(logits_after(model, {1, 2, 3, 6})));
  EXPECT_EQ(bits(other), bits(logits_after(model, {1, 2, 3, 4, 5})));
}

TEST(Gpt2, SpansThatDoNotFitAreRefused) {
  const Gpt2Model model = load(ModelFiles::odd_sizes());
  Gpt2Sequence sequence(model.config());
  append(model, &sequence, some_ids(10, 37));
  EXPECT_THROW(append(model, &sequence, {}), std::invalid_argument);
  EXPECT_THROW(append(model, &sequence, some_ids(7, 37)), std::invalid_argument);
  EXPECT_THROW(append(model, &sequence, {37}), std::invalid_argument);
  EXPECT_THROW(append(model, &sequence, {-1}), std::invalid_argument);
  const std::int32_t id = 0;
  Logits logits(3 * 37);
  EXPECT_THROW(model.forward({{&sequence, &id, 1, 2}}, logits.data()), std::invalid_argument);
  EXPECT_THROW(model.forward({{&sequence, &id, 1, -1}}, logits.data()), std::invalid_argument);
  EXPECT_EQ(sequence.length(), 10);
  append(model, &sequence, some_ids(6, 37));
  EXPECT_THROW(append(model, &sequence, {0}), std::invalid_argument);
}

// ---- Other files ------------------------------------------------------------------------------

std::string tiny_logits(const ModelFiles &files) {
  return bits(logits_after(load(files), some_ids(20, 2048)));
}

// Widened or narrowed; narrowing to BF16 cuts the mantissa.
StoredTensor converted(const StoredTensor &tensor, const std::string &dtype) {
  const std::vector<double> values = tensor.values();
  StoredTensor result = f32_tensor(tensor.shape, {values.begin(), values.end()});
  if (dtype == "BF16") {
    std::string upper_halves;
    for (std::size_t i = 0; i < result.bytes.size(); i += 4) {
      upper_halves += result.bytes.substr(i + 2, 2);
    }
    result = {dtype, tensor.shape, upper_halves};
  }
  return result;
}

ModelFiles with_dtype(ModelFiles files, const std::string &dtype) {
  for (auto &[name, tensor] : files.tensors) tensor = converted(tensor, dtype);
  return files;
}

TEST(Gpt2Files, TheTypeOfTheTensorsDoesNotMatter) {
  const ModelFiles f16 = ModelFiles::read("draft");
  EXPECT_EQ(tiny_logits(with_dtype(f16, "F32")), tiny_logits(f16));
  const ModelFiles bf16 = with_dtype(f16, "BF16");
  EXPECT_EQ(tiny_logits(with_dtype(bf16, "F32")), tiny_logits(bf16));
  EXPECT_NE(tiny_logits(bf16), tiny_logits(f16));

  ModelFiles mixed = f16;
  for (const std::string name : {"wte.weight", "h.0.attn.c_attn.weight", "ln_f.bias"}) {
    mixed.tensors[name] = converted(mixed.tensors[name], "F32");
  }
  EXPECT_EQ(tiny_logits(mixed), tiny_logits(f16));
}

TEST(Gpt2Files, NamesMayHaveThePrefixTransformer) {
  const ModelFiles plain = ModelFiles::read("draft");
  ModelFiles prefixed = plain;
  prefixed.tensors.clear();
  for (const auto &[name, tensor] : plain.tensors) prefixed.tensors["transformer." + name] = tensor;
  EXPECT_EQ(tiny_logits(prefixed), tiny_logits(plain));

  prefixed.tensors["lm_head.weight"] = plain.tensors.at("wte.weight");
  prefixed.config["tie_word_embeddings"] = false;
  EXPECT_EQ(tiny_logits(prefixed), tiny_logits(plain));
}

TEST(Gpt2Files, TensorsThatAreNotNeededAreIgnored) {
  ModelFiles files = ModelFiles::read("draft");
  const std::string logits = tiny_logits(files);
  files.tensors["h.0.attn.bias"] = {"BOOL", {1, 1, 2, 2}, std::string(4, '\1')};
  files.tensors["h.0.attn.masked_bias"] = f32_tensor({}, {-1e4f});
  // Tied by config.json, so the file's own head does not count.
  files.tensors["lm_head.weight"] = f32_tensor({1}, {1.0f});
  EXPECT_EQ(tiny_logits(files), logits);
}

TEST(Gpt2Files, TheHeadMayBeItsOwn) {
  ModelFiles files = ModelFiles::odd_sizes();
  const Ids ids = some_ids(5, 37);
  const Logits tied = logits_after(load(files), ids);
  files.config["tie_word_embeddings"] = false;
  std::vector<float> doubled;
  for (const double weight : files.tensors.at("wte.weight").values()) {
    doubled.push_back(static_cast<float>(2 * weight));
  }
  files.tensors["lm_head.weight"] = f32_tensor({37, 20}, doubled);
  Logits expected = tied;
  for (float &logit : expected) logit *= 2;
  EXPECT_EQ(bits(logits_after(load(files), ids)), bits(expected));
}

class NaiveComparison : public testing::TestWithParam<Json> {};

TEST_P(NaiveComparison, TheLogitsAreThoseOfTheNaiveModel) {
  ModelFiles files = ModelFiles::odd_sizes();
  files.config.update(GetParam());
  const Gpt2Model model = load(files);
  if (files.config.value("activation_function", "") == "gelu_pytorch_tanh") {
    files.config["activation_function"] = "gelu_new";  // another name of the same function
  }
  const Ids ids = some_ids(16, 37);
  Gpt2Sequence sequence(model.config());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Logits logits = append(model, &sequence, {ids[i]});
    const std::vector<double> expected =
        naive_gpt2_logits(files, {ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(i) + 1});
    for (std::size_t token = 0; token < expected.size(); ++token) {
      // Logits here are below 2, an ulp is 1.2e-7; some twenty of them for sums of up to 60 terms
      // and 2 layers. The wrong activation is off by 1e-4, a wrong scale or epsilon by more.
      EXPECT_NEAR(logits[token], expected[token], 3e-6) << "position " << i << " token " << token;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Configs, NaiveComparison,
                         testing::Values(Json::object(), Json{{"activation_function", "gelu"}},
                                         Json{{"activation_function", "gelu_pytorch_tanh"}},
                                         Json{{"n_head", 1}}, Json{{"n_head", 20}},
                                         Json{{"layer_norm_epsilon", 0.01}},
                                         Json{{"scale_attn_weights", false}},
                                         Json{{"scale_attn_by_inverse_layer_idx", true}},
                                         Json{{"scale_attn_weights", false},
                                              {"scale_attn_by_inverse_layer_idx", true}}));

}  // namespace
