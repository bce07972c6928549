#include "sentencepiece_tokenizer.h"

#include <gtest/gtest.h>
#include <sentencepiece_processor.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "model_files.h"
#include "sentencepiece_models.h"
#include "utf8.h"

namespace {

using generate::Tokenizer;
using generate::TokenText;
using Ids = std::vector<std::int32_t>;
using FirstSpace = Tokenizer::FirstSpace;

constexpr int kNumPieces = 600;
constexpr int kVocabSize = 605;

const std::string &model_bytes(const std::string &kind) {
  static std::map<std::string, std::string> models;
  std::string &model = models[kind];
  if (model.empty()) {
    model = sentencepiece_model(kind, kNumPieces, tiny_gpt2() / "target" / "vocab.json");
  }
  return model;
}

// A folder with a model, as the program reads it and as the library does.
class SentencePiece : public testing::TestWithParam<const char *> {
 protected:
  SentencePiece() {
    write_bytes(dir_.path() / "spiece.model", model_bytes(GetParam()));
    tokenizer_ = generate::read_tokenizer(dir_.path(), kVocabSize);
    EXPECT_TRUE(library_.LoadFromSerializedProto(model_bytes(GetParam())).ok());
  }

  std::string decode(const Ids &ids) const {
    std::string text;
    EXPECT_TRUE(library_.Decode(ids, &text).ok());
    return text;
  }

  // Tokens of every type, more often those that matter where a text begins. Bytes make characters.
  Ids random_ids(std::mt19937 *random) const {
    Ids ids;
    const int space = library_.PieceToId("\u2581");
    const bool has_bytes = library_.IsByte(library_.PieceToId("<0xE9>"));
    for (std::size_t left = (*random)() % 12; left > 0; --left) {
      const auto kind = (*random)() % 8;
      if (kind == 0) {
        ids.push_back(static_cast<std::int32_t>((*random)() % 4));  // unknown, control
      } else if (kind <= 2 && library_.IdToPiece(space) == "\u2581") {
        ids.push_back(space);
      } else if (kind == 3 && has_bytes) {
        for (const char *byte : {"<0xE9>", "<0x9B>", "<0xAA>"}) {
          ids.push_back(library_.PieceToId(byte));
        }
      } else {
        const auto id = static_cast<std::int32_t>((*random)() % kNumPieces);
        if (!library_.IsByte(id)) ids.push_back(id);
      }
    }
    return ids;
  }

  std::string text_after(const Ids &prompt, const Ids &ids) const {
    TokenText text(*tokenizer_, prompt);
    std::string bytes;
    for (const std::int32_t id : ids) bytes += text.push(id);
    return bytes;
  }

  TempDir dir_;
  std::unique_ptr<Tokenizer> tokenizer_;
  sentencepiece::SentencePieceProcessor library_;
};
INSTANTIATE_TEST_SUITE_P(Kinds, SentencePiece, testing::Values("unigram", "bpe", "plain"));

TEST_P(SentencePiece, TokensMakeTheTextThatTheLibraryDecodes) {
  std::mt19937 random(1);
  int num_dropped = 0;
  for (int round = 0; round < 3000; ++round) {
    const Ids ids = random_ids(&random);
    const std::string expected = decode(ids);
    ASSERT_EQ(text_after({}, ids), expected) << testing::PrintToString(ids);
    std::string all;
    for (const std::int32_t id : ids) all += tokenizer_->token_bytes(id);
    num_dropped += all.size() != expected.size();
    // The rest after a prompt.
    auto middle = ids.begin() + static_cast<std::ptrdiff_t>(random() % (ids.size() + 1));
    while (middle != ids.end() && library_.IsByte(*middle)) ++middle;
    const Ids prompt(ids.begin(), middle), rest(middle, ids.end());
    ASSERT_EQ(decode(prompt) + text_after(prompt, rest), expected) << testing::PrintToString(ids);
  }
  const bool drops = tokenizer_->first_space() != FirstSpace::kKept;
  EXPECT_EQ(num_dropped > 100, drops);
  EXPECT_EQ(drops, std::string(GetParam()) != "plain");
  EXPECT_EQ(tokenizer_->first_space() == FirstSpace::kDroppedOfEachToken,
            std::string(GetParam()) == "unigram");
}

TEST_P(SentencePiece, TextsAreEncodedAsTheLibraryDoes) {
  std::mt19937 random(2);
  const std::vector<std::string> words = {"the", " ", "  ", "Once", "\u96EA",   "\u00FC", "\u2460",
                                          "\n",  "?", "t",  "\xFF", "<|user|>", "\u2581"};
  for (int round = 0; round < 500; ++round) {
    std::string text;
    for (int i = 0; i < 15; ++i) text += words[random() % words.size()];
    Ids expected;
    ASSERT_TRUE(library_.Encode(text, &expected).ok());
    ASSERT_EQ(tokenizer_->encode(text), expected) << text;
    // Every text comes back, with the library's mark of a space as one.
    if (std::string(GetParam()) == "unigram" || text.find('\xFF') != std::string::npos) continue;
    for (std::size_t at; (at = text.find("\u2581")) != std::string::npos;) text.replace(at, 3, " ");
    ASSERT_EQ(text_after({}, expected), text);
  }
}

TEST_P(SentencePiece, NamesOfControlPiecesStandForThem) {
  const auto encode = [&](const char *text) { return tokenizer_->encode(text); };
  Ids expected = encode("the");
  for (const std::int32_t id : {1, 2, 1}) expected.push_back(id);
  for (const std::int32_t id : encode("upon")) expected.push_back(id);
  EXPECT_EQ(encode("the<s></s><s>upon"), expected);
  EXPECT_EQ(encode("<s>"), Ids{1});
  EXPECT_EQ(tokenizer_->token_bytes(2), "");
  EXPECT_EQ(tokenizer_->token_name(2), "</s>");
  const int unknown = library_.unk_id();
  EXPECT_EQ(tokenizer_->token_bytes(unknown), decode({unknown}));
}

TEST_P(SentencePiece, TheModelSaysWhatBeginsAndEndsATextAndIdsBeyondItAreNoTokens) {
  EXPECT_EQ(tokenizer_->begin_token(), 1);
  EXPECT_EQ(tokenizer_->end_token(), 2);
  EXPECT_EQ(tokenizer_->encode_prompt("", false), Ids{1});
  EXPECT_EQ(tokenizer_->find_token("</s>"), 2);
  EXPECT_EQ(tokenizer_->find_token("<unk>"), 0);
  EXPECT_EQ(tokenizer_->find_token("no such piece"), std::nullopt);
  EXPECT_EQ(tokenizer_->token_bytes(kVocabSize - 1), "");
  EXPECT_EQ(error_of([&] { generate::read_tokenizer(dir_.path(), kNumPieces); }), "");
  EXPECT_EQ(error_of([&] { generate::read_tokenizer(dir_.path(), kNumPieces - 1); }),
            (dir_.path() / "spiece.model").string() +
                ": has 600 pieces; vocab_size of config.json is 599");
}

TEST_P(SentencePiece, ABeginningTokenIsAddedWhereTheModelWantsIt) {
  EXPECT_FALSE(tokenizer_->adds_begin_token());
  write_bytes(dir_.path() / "tokenizer_config.json", R"({"add_bos_token": true})");
  const auto adds = generate::read_tokenizer(dir_.path(), kVocabSize);
  EXPECT_TRUE(adds->adds_begin_token());
  Ids expected = tokenizer_->encode("the");
  EXPECT_EQ(adds->encode_prompt("the", false), expected);
  expected.insert(expected.begin(), 1);
  EXPECT_EQ(adds->encode_prompt("the", true), expected);
  EXPECT_EQ(adds->encode_prompt("", true), Ids{1});
  write_bytes(dir_.path() / "tokenizer_config.json",
              R"({"add_bos_token": true, "bos_token": {"content": "</s>"}})");
  EXPECT_EQ(generate::read_tokenizer(dir_.path(), kVocabSize)->encode_prompt("", true), Ids{2});
}

TEST_P(SentencePiece, TextsAreInSmallLettersWhereTheModelWantsThem) {
  write_bytes(dir_.path() / "tokenizer_config.json", R"({"do_lower_case": true})");
  const auto lower = generate::read_tokenizer(dir_.path(), kVocabSize);
  EXPECT_EQ(lower->encode("The KING</s>ONCE \u00C9\xFFX"),
            tokenizer_->encode("the king</s>once \u00E9\xFFx"));
  EXPECT_NE(lower->encode("The KING"), tokenizer_->encode("The KING"));
}

// Another message with the same type goes on with the first one: its fields replace those before.
TEST_P(SentencePiece, TablesThatPointBeyondTheirEndAndOtherTextsAfterDecodingAreRefused) {
  const auto field = [](char tag, const std::string &content) {
    const auto size = static_cast<unsigned>(content.size());
    return std::string{tag, static_cast<char>(0x80 | (size & 0x7F)), static_cast<char>(size >> 7)} +
           content;
  };
  const std::string size = {0, 4, 0, 0};  // 256 units of 4 bytes
  std::string units(1024, '\0');
  const std::string strings(1, '\0');
  const auto error = [&](char which, const std::string &table) {
    write_bytes(dir_.path() / "spiece.model",
                model_bytes(GetParam()) + field(which, field(0x12, table)));
    const std::string what = error_of([&] { generate::read_tokenizer(dir_.path(), kVocabSize); });
    return what.empty() ? "" : what.substr((dir_.path() / "spiece.model").string().size());
  };
  constexpr char kNormalizer = 0x1A, kDenormalizer = 0x2A;
  const std::string damaged = ": not a SentencePiece model, or a damaged one";
  EXPECT_EQ(error(kNormalizer, size + units + strings), "");
  EXPECT_EQ(error(kDenormalizer, size + units + strings),
            ": has rules of denormalization, which are not supported");
  EXPECT_EQ(error(kNormalizer, size + units + "a"), damaged);
  EXPECT_EQ(error(kNormalizer, size + units), damaged);
  EXPECT_EQ(error(kNormalizer, size + units.substr(1) + strings), damaged);
  units[102] = 4;  // 256 units further on
  EXPECT_EQ(error(kNormalizer, size + units + strings), damaged);
  units[102] = 0;
  units[4 * 7 + 1] = 1;  // a leaf at its own place, whose value is that unit
  EXPECT_EQ(error(kNormalizer, size + units + strings), damaged);
  units[4 * 7 + 1] = 0;
  units[3] = static_cast<char>(0x80);  // the root as a leaf
  EXPECT_EQ(error(kNormalizer, size + units + strings), damaged);
  units[3] = 0;
  // A tag of more than 32 bits, of which protobuf takes the low ones.
  const std::string normalizer = field(kNormalizer, field(0x12, size + units + strings));
  write_bytes(dir_.path() / "spiece.model",
              model_bytes(GetParam()) + "\x9A\x80\x80\x80\x10" + normalizer.substr(1));
  EXPECT_NE(error_of([&] { generate::read_tokenizer(dir_.path(), kVocabSize); }), "");
}

// Whatever a file holds: an error or a tokenizer that works, and no memory error (sanitizers).
TEST_P(SentencePiece, DamagedFilesDoNoHarm) {
  std::mt19937 random(3);
  int num_loaded = 0;
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    std::string bytes = model_bytes(GetParam());
    if (round % 8 == 0) {
      bytes.resize(random() % bytes.size());
    } else {
      for (int i = 0; i < 1 + round % 3; ++i) {
        bytes[random() % bytes.size()] = static_cast<char>(random());
      }
    }
    write_bytes(dir_.path() / "spiece.model", bytes);
    error_of([&] {
      const auto tokenizer = generate::read_tokenizer(dir_.path(), kVocabSize);
      ++num_loaded;
      const Ids ids = tokenizer->encode("Once upon a \u96EA, \u2460 the");
      text_after({}, ids);
    });
  }
  EXPECT_LT(num_loaded, kRounds);
}

}  // namespace
