#include "tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model_files.h"

namespace {

using generate::NamedTokens;
using generate::Tokenizer;
using generate::TokenText;
using Ids = std::vector<std::int32_t>;

// "a[1]b[2]" for the text "a", the token 1, the text "b" and the token 2.
std::string parts_of(const NamedTokens &tokens, const std::string &text) {
  std::string parts, all;
  for (const NamedTokens::Part &part : tokens.split(text)) {
    all += part.text;
    parts += part.id ? "[" + std::to_string(*part.id) + "]" : std::string(part.text);
  }
  EXPECT_EQ(all, text);
  return parts;
}

TEST(NamedTokens, TheFirstNameCountsAndTheLongestOfThoseThatBeginThere) {
  NamedTokens tokens;
  EXPECT_EQ(parts_of(tokens, "abc"), "abc");
  tokens.add("<a>", 1);
  tokens.add("<a><b>", 2);
  tokens.add("><", 3);
  tokens.add("", 4);
  EXPECT_EQ(parts_of(tokens, ""), "");
  EXPECT_EQ(parts_of(tokens, "x<a>y"), "x[1]y");
  EXPECT_EQ(parts_of(tokens, "<a><b><a><"), "[2][1]<");
  EXPECT_EQ(parts_of(tokens, "<a><<a"), "[1]<<a");
  EXPECT_EQ(parts_of(tokens, "<b><a>"), "<b[3]a>");
  EXPECT_EQ(parts_of(tokens, "<a><a><b>"), "[1][2]");
}

// A search for each name after each token would not end.
TEST(NamedTokens, ManyNamesAndTokensTakeNoQuadraticTime) {
  NamedTokens tokens;
  for (int i = 0; i < 200; ++i) tokens.add("<|" + std::to_string(i) + "|>", i);
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "<|7|>";
  EXPECT_EQ(tokens.split(text).size(), 100'000u);
}

class TokenizerFiles : public testing::Test {
 protected:
  void write(const char *name, std::string_view bytes) { write_bytes(dir_.path() / name, bytes); }
  std::unique_ptr<Tokenizer> read() { return generate::read_tokenizer(dir_.path(), 2048); }
  // What follows the folder's name.
  std::string error() {
    const std::string what = error_of([&] { read(); });
    return what.substr(std::min(what.size(), dir_.path().string().size()));
  }

  void write_bpe() {
    const ModelFiles files = ModelFiles::read("target");
    write("vocab.json", files.vocab);
    write("merges.txt", files.merges);
  }

  TempDir dir_;
};

TEST_F(TokenizerFiles, AFolderWithoutOneIsAnError) {
  EXPECT_EQ(error(), ": no vocab.json, spiece.model, tokenizer.model or tokenizer.json");
}

TEST_F(TokenizerFiles, SentencePieceModelsNeedTheLibrary) {
#ifdef HAS_SENTENCEPIECE
  const std::string expected = ": not a SentencePiece model, or a damaged one";
#else
  const std::string expected =
      ": needs SentencePiece (Debian: libsentencepiece-dev), which was not there when the program "
      "was built";
#endif
  write("tokenizer.model", "a");
  EXPECT_EQ(error(), "/tokenizer.model" + expected);
  write("spiece.model", "a");
  EXPECT_EQ(error(), "/spiece.model" + expected);
  write_bpe();
  EXPECT_EQ(error(), "");
}

TEST_F(TokenizerFiles, BpeKeepsFirstSpacesAndHasNoNamesButTheBytes) {
  write_bpe();
  const auto tokenizer = read();
  EXPECT_EQ(tokenizer->token_name(2047), "<|endoftext|>");
  const Ids ids = tokenizer->encode(" king");
  std::string bytes;
  TokenText text(*tokenizer, {});
  for (const std::int32_t id : ids) bytes += text.push(id);
  EXPECT_EQ(bytes, " king");
  EXPECT_EQ(tokenizer->first_token_bytes(ids[0]), tokenizer->token_bytes(ids[0]));
}

TEST_F(TokenizerFiles, TheConfigurationNamesTheBeginningToken) {
  write_bpe();
  const auto begin_of = [&](const char *config) {
    write("tokenizer_config.json", config);
    const auto tokenizer = read();
    return tokenizer->encode_prompt("", tokenizer->adds_begin_token());
  };
  const Ids a = read()->encode("a"), end = {2047};
  EXPECT_EQ(read()->encode_prompt("", false), end);
  EXPECT_EQ(begin_of("{}"), end);
  EXPECT_EQ(begin_of(R"({"add_bos_token": null, "bos_token": null})"), end);
  EXPECT_EQ(begin_of(R"({"add_bos_token": false, "bos_token": "a"})"), a);
  EXPECT_EQ(begin_of(R"({"add_bos_token": true, "bos_token": {"content": "a"}})"), a);
  EXPECT_EQ(begin_of(R"({"add_bos_token": true})"), end);
  EXPECT_EQ(begin_of(R"({"bos_token": "no such token"})"), end);
  EXPECT_EQ(read()->encode_prompt("a", false), a);
  EXPECT_EQ(read()->encode_prompt("a", true), (Ids{2047, a[0]}));
  for (const auto &[config, message] : std::vector<std::pair<const char *, const char *>>{
           {"[", "not valid JSON at byte 2"},
           {R"({"add_bos_token": 1})", "add_bos_token is 1; it must be true or false"},
           {R"({"add_bos_token": true, "bos_token": "no such token"})",
            "add_bos_token is true, and the vocabulary has no bos_token"}}) {
    write("tokenizer_config.json", config);
    EXPECT_EQ(error(), std::string("/tokenizer_config.json: ") + message);
  }
}

}  // namespace
