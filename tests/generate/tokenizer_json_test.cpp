#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "model_files.h"
#include "tokenizer.h"

namespace {

using generate::Tokenizer;
using Json = nlohmann::json;
using Ids = std::vector<std::int32_t>;

class TokenizerJson : public testing::Test {
 protected:
  std::unique_ptr<Tokenizer> read(const Json &json, int vocab_size = 2050) {
    write_bytes(dir_.path() / "tokenizer.json", json.dump());
    return generate::read_tokenizer(dir_.path(), vocab_size);
  }

  // What follows the file's name.
  std::string error(const Json &json) {
    const std::string what = error_of([&] { read(json); });
    const std::size_t begin = (dir_.path() / "tokenizer.json: ").string().size();
    return what.substr(std::min(what.size(), begin));
  }

  // With the vocabulary and the merges of the tiny GPT-2.
  Json whole(Json json) const {
    json["model"]["vocab"] = Json::parse(files_.vocab);
    json["model"]["merges"] = merges_;
    return json;
  }

  TempDir dir_;
  const ModelFiles files_ = ModelFiles::read("target");
  const Json merges_ = [this] {
    Json merges = Json::array();
    std::istringstream lines(files_.merges);
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind("#version", 0) != 0) merges.push_back(line);
    }
    return merges;
  }();
  const Json cases_ = Json::parse(read_bytes(TOKENIZER_JSON_CASES));
  const Json gpt2_ = cases_[0]["tokenizer"];
};

TEST_F(TokenizerJson, TextsAreEncodedAsTokenizersDoes) {
  for (const Json &one : cases_) {
    const auto tokenizer = read(whole(one["tokenizer"]));
    for (const Json &example : one["texts"]) {
      const std::string text = example["text"];
      if (text.empty()) continue;  // begins with a token in any case
      ASSERT_EQ(tokenizer->encode_prompt(text, tokenizer->adds_begin_token()),
                example["ids"].get<Ids>())
          << one["name"] << " " << example["text"];
    }
    EXPECT_EQ(tokenizer->adds_begin_token(), one["name"] == "llama3");
  }
}

TEST_F(TokenizerJson, ItIsTheSameTokenizerAsThatOfVocabularyAndMerges) {
  const auto tokenizer = read(whole(gpt2_));
  Json pairs = whole(gpt2_);
  for (Json &merge : pairs["model"]["merges"]) {
    const std::string both = merge;
    const std::size_t space = both.find(' ');
    merge = {both.substr(0, space), both.substr(space + 1)};
  }
  const auto of_pairs = read(pairs);
  const auto other = generate::read_tokenizer(tiny_gpt2() / "target", 2048);
  std::mt19937 random(1);
  for (int round = 0; round < 100; ++round) {
    std::string bytes;
    for (int i = 0; i < 60; ++i)
      bytes += static_cast<char>(random() % (round % 2 == 0 ? 256 : 128));
    const Ids ids = other->encode(bytes);
    ASSERT_EQ(tokenizer->encode(bytes), ids);
    ASSERT_EQ(of_pairs->encode(bytes), ids);
  }
  for (std::int32_t id = 0; id < 2048; ++id) {
    ASSERT_EQ(tokenizer->token_bytes(id), other->token_bytes(id));
  }
  EXPECT_EQ(tokenizer->end_token(), 2047);
  EXPECT_EQ(tokenizer->encode_prompt("", false), Ids{2047});
}

TEST_F(TokenizerJson, AWordThatIsATokenNeedsNoMergesWhereTheFileSaysSo) {
  Json json = {{"pre_tokenizer", gpt2_["pre_tokenizer"]},
               {"model",
                {{"vocab", {{"a", 0}, {"b", 1}, {"c", 2}, {"ab", 3}, {"abc", 4}, {"\u0120", 5}}},
                 {"merges", {"a b"}}}}};
  EXPECT_EQ(read(json)->encode("abc abc"), (Ids{3, 2, 5, 3, 2}));
  json["model"]["ignore_merges"] = true;
  EXPECT_EQ(read(json)->encode("abc abc"), (Ids{4, 5, 3, 2}));
}

TEST_F(TokenizerJson, AddedTokensAreTheirNames) {
  const auto qwen = read(whole(cases_[3]["tokenizer"]));
  EXPECT_EQ(qwen->encode("<|im_start|>"), Ids{2048});
  EXPECT_EQ(qwen->token_bytes(2048), "<|im_start|>");
  EXPECT_EQ(qwen->find_token("<|im_start|>"), 2048);
  EXPECT_EQ(qwen->token_bytes(2049), "  ");
}

TEST_F(TokenizerJson, WhatIsNotSupportedIsRefusedByName) {
  ASSERT_EQ(cases_[0]["name"], "gpt2");
  ASSERT_EQ(error(whole(gpt2_)), "");
  const std::string no = ", which is not supported";
  const auto with = [&](const char *place, const Json &value) {
    Json json = whole(gpt2_);
    json[Json::json_pointer(place)] = value;
    return error(json);
  };
  EXPECT_EQ(with("/normalizer", {{"type", "NFC"}}), "normalizer.type is \"NFC\"" + no);
  EXPECT_EQ(with("/model/type", "WordPiece"), "model.type is \"WordPiece\"" + no);
  EXPECT_EQ(with("/model/dropout", 0.1), "model.dropout is 0.1" + no);
  EXPECT_EQ(with("/model/byte_fallback", true), "model.byte_fallback is true" + no);
  EXPECT_EQ(with("/model/end_of_word_suffix", "</w>"), "model.end_of_word_suffix is \"</w>\"" + no);
  EXPECT_EQ(with("/decoder", {{"type", "Metaspace"}}), "decoder.type is \"Metaspace\"" + no);
  EXPECT_EQ(with("/pre_tokenizer", nullptr),
            "pre_tokenizer is not ByteLevel, and no other is supported");
  EXPECT_EQ(with("/pre_tokenizer", {{"type", "Metaspace"}}),
            "pre_tokenizer.type is \"Metaspace\"" + no);
  const Json sequence = {{"type", "Sequence"},
                         {"pretokenizers", Json::array({{{"type", "ByteLevel"}}})}};
  EXPECT_EQ(with("/pre_tokenizer", sequence),
            "pre_tokenizer.pretokenizers[0].add_prefix_space is missing");
  const auto with_split = [&](const Json &split) {
    return with(
        "/pre_tokenizer",
        {{"type", "Sequence"}, {"pretokenizers", Json::array({split, gpt2_["pre_tokenizer"]})}});
  };
  const std::string first = "pre_tokenizer.pretokenizers[0].";
  EXPECT_EQ(with_split({{"type", "Split"}, {"pattern", {{"Regex", "a"}}}, {"behavior", "Removed"}}),
            first + "behavior is \"Removed\"" + no);
  EXPECT_EQ(with_split({{"type", "Split"}, {"pattern", {{"Regex", ""}}}}),
            first + "pattern is {\"Regex\":\"\"}" + no);
  EXPECT_EQ(with_split({{"type", "Split"}, {"pattern", {{"Regex", "(a"}}}}),
            "model.vocab: PCRE2 cannot compile the pattern \"(a\": missing closing parenthesis");
  EXPECT_EQ(with_split({{"type", "Split"}, {"pattern", {{"Regex", "\\C"}}}})
                .rfind("model.vocab: PCRE2 cannot compile the pattern \"\\\\C\": ", 0),
            0u);
  EXPECT_EQ(with_split(gpt2_["pre_tokenizer"]),
            "pre_tokenizer.pretokenizers[1].type is \"ByteLevel\"" + no);
  EXPECT_EQ(with("/post_processor", {{"type", "RobertaProcessing"}}),
            "post_processor.type is \"RobertaProcessing\"" + no);
  EXPECT_EQ(with("/post_processor", {{"type", "TemplateProcessing"}, {"single", Json::array()}}),
            "post_processor.single is []" + no);
  EXPECT_EQ(with("/added_tokens/0/lstrip", true), "added_tokens[0].lstrip is true" + no);
}

TEST_F(TokenizerJson, DamagedFilesAreErrors) {
  const auto with = [&](const char *place, const Json &value) {
    Json json = whole(gpt2_);
    json[Json::json_pointer(place)] = value;
    return error(json);
  };
  EXPECT_EQ(with("/model", nullptr), "model is missing");
  EXPECT_EQ(with("/model", "BPE"), "model is no object");
  EXPECT_EQ(with("/model/vocab", Json::array()), "model.vocab is no object");
  EXPECT_EQ(with("/model/vocab/the", -1),
            "model.vocab: token \"the\" has id -1; ids are integers in [0, 2050)");
  EXPECT_EQ(with("/model/merges", "a b"), "model.merges is no list");
  for (const Json &merge : {Json("ab"), Json(" b"), Json({"a"}), Json({"a", 1}), Json(1)}) {
    EXPECT_EQ(with("/model/merges/2", merge), "model.merges: number 3: two tokens are needed");
  }
  EXPECT_EQ(with("/model/merges/2", "a \xE9\x9B\xAA"),
            "model.merges: number 3: \"a\\u96ea\" is not in model.vocab");
  EXPECT_EQ(with("/model/merges/2", merges_[1]),
            "model.merges: number 3: this pair stands earlier too");
  EXPECT_EQ(with("/model/ignore_merges", 1), "model.ignore_merges is neither true nor false");
  EXPECT_EQ(with("/added_tokens", 1), "added_tokens is no list");
  EXPECT_EQ(with("/added_tokens/0/id", 2050),
            "added_tokens[0].id is 2050; ids are integers in [0, 2050)");
  EXPECT_EQ(with("/added_tokens/0/id", 5),
            "model.vocab: the added token \"<|endoftext|>\" has id 5, and the vocabulary says "
            "otherwise");
  EXPECT_EQ(with("/added_tokens/0/content", "new"),
            "model.vocab: the added token \"new\" has id 2047, and the vocabulary says otherwise");
  EXPECT_EQ(with("/added_tokens/0/content", ""), "added_tokens[0].content is empty");
  EXPECT_EQ(with("/pre_tokenizer/type", 1), "pre_tokenizer.type is no string");
  Json llama = whole(cases_[2]["tokenizer"]);
  llama["post_processor"]["processors"][1]["single"][0]["SpecialToken"]["id"] = "none";
  EXPECT_EQ(error(llama), "model.vocab: has no token \"none\", which prompts begin with");
}

}  // namespace
