#include "bpe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "model_files.h"

namespace {

using generate::BpeTokenizer;
using Json = nlohmann::json;

constexpr int kVocabSize = 2048;

const BpeTokenizer &shakespeare() {
  static const BpeTokenizer tokenizer(tiny_gpt2() / "target", kVocabSize);
  return tokenizer;
}

std::string decode(const BpeTokenizer &tokenizer, const std::vector<std::int32_t> &ids) {
  std::string bytes;
  for (const std::int32_t id : ids) bytes += tokenizer.token_bytes(id);
  return bytes;
}

std::vector<std::string> split(const std::string &text) {
  std::vector<std::string> words;
  for (const std::string_view word : shakespeare().split(text)) words.emplace_back(word);
  return words;
}

TEST(Bpe, SplitsAsGpt2Does) {
  const std::pair<std::string, std::vector<std::string>> cases[] = {
      {"", {}},
      {"Hello world", {"Hello", " world"}},
      {"I'll've we're DON'T", {"I", "'ll", "'ve", " we", "'re", " DON", "'", "T"}},
      {"'sir 'twas", {"'s", "ir", " '", "twas"}},
      {"a  b   c", {"a", " ", " b", "  ", " c"}},
      {"end  ", {"end", "  "}},
      {"x\n\ny\n", {"x", "\n", "\n", "y", "\n"}},
      {"tab\tin", {"tab", "\t", "in"}},
      {"42 times 1,000!", {"42", " times", " 1", ",", "000", "!"}},
      {"?!... --\"", {"?!...", " --\""}},
      {"na\u00EFve caf\u00E9", {"na\u00EFve", " caf\u00E9"}},
      // Combining marks are no letters.
      {"e\u0301a", {"e", "\u0301", "a"}},
      {"\u6F22\u5B57 \u65E5\u672C", {"\u6F22\u5B57", " \u65E5\u672C"}},
      // Numbers of any script: Roman numeral eight, superscript two, Arabic-Indic three.
      {"\u2167\u00B2\u0663x", {"\u2167\u00B2\u0663", "x"}},
      // White space of any kind; only U+0020 joins the word after it.
      {"a\u00A0b\u3000\u2003c", {"a", "\u00A0", "b", "\u3000", "\u2003", "c"}},
      {" \U0001F600\u20AC", {" \U0001F600\u20AC"}},
  };
  for (const auto &[text, words] : cases) EXPECT_EQ(split(text), words) << text;
}

TEST(Bpe, InvalidUtf8MakesWordsOfItsOwn) {
  EXPECT_EQ(split("ab\xFF"
                  "cd"),
            (std::vector<std::string>{"ab", "\xFF", "cd"}));
  EXPECT_EQ(split("\xE2\x82"), (std::vector<std::string>{"\xE2\x82"}));
  EXPECT_EQ(split("a \x80\xF0\x9F z"),
            (std::vector<std::string>{"a", " ", "\x80", "\xF0\x9F", " z"}));
}

// The algorithm as it is usually written: merge all occurrences of the pair of lowest rank, from
// left to right, until no pair is left.
class NaiveBpe {
 public:
  NaiveBpe(const Json &vocab, const std::string &merges) : vocab_(vocab) {
    std::istringstream lines(merges);
    std::string left, right;
    int rank = 0;
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind("#version", 0) == 0) continue;
      std::istringstream(line) >> left >> right;
      rank_.emplace(std::pair(left, right), rank++);
    }
  }

  // `symbols`: the word's bytes as vocab.json writes them.
  std::vector<std::int32_t> encode(std::vector<std::string> symbols) const {
    while (true) {
      auto best = rank_.end();
      for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
        const auto found = rank_.find({symbols[i], symbols[i + 1]});
        if (found == rank_.end()) continue;
        if (best == rank_.end() || found->second < best->second) best = found;
      }
      if (best == rank_.end()) break;
      for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
        if (symbols[i] != best->first.first || symbols[i + 1] != best->first.second) continue;
        symbols[i] += symbols[i + 1];
        symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      }
    }
    std::vector<std::int32_t> ids(symbols.size());
    std::transform(symbols.begin(), symbols.end(), ids.begin(),
                   [&](const std::string &symbol) { return vocab_.at(symbol); });
    return ids;
  }

 private:
  Json vocab_;
  std::map<std::pair<std::string, std::string>, int> rank_;
};

std::vector<std::string> ascii_symbols(const std::string &word) {
  std::vector<std::string> symbols;
  for (const char c : word) symbols.push_back(c == ' ' ? "\u0120" : std::string(1, c));
  return symbols;
}

TEST(Bpe, MergesAsTheNaiveAlgorithmDoes) {
  const ModelFiles files = ModelFiles::read("target");
  const NaiveBpe naive(Json::parse(files.vocab), files.merges);
  std::mt19937 random(1);
  const std::string letters = "etaoinshrdlu,.'T ";
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (int i = 0; i < 60; ++i) text += letters[random() % letters.size()];
    std::vector<std::int32_t> expected;
    for (const std::string &word : split(text)) {
      for (const std::int32_t id : naive.encode(ascii_symbols(word))) expected.push_back(id);
    }
    EXPECT_EQ(shakespeare().encode(text), expected) << text;
  }
}

// Merges in any order, where a later merge may give what an earlier one takes.
TEST(Bpe, MergesAsTheNaiveAlgorithmDoesForMergesInRandomOrder) {
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    Json vocab = {{"a", 0}, {"b", 1}};
    std::vector<std::string> tokens = {"a", "b"};
    std::vector<std::string> merges;
    for (int i = 0; i < 12; ++i) {
      const std::string left = tokens[random() % tokens.size()];
      const std::string right = tokens[random() % tokens.size()];
      std::string line = left;
      line.append(" ").append(right).append("\n");
      if (std::find(merges.begin(), merges.end(), line) != merges.end()) continue;
      merges.push_back(line);
      if (vocab.contains(left + right)) continue;
      vocab[left + right] = tokens.size();
      tokens.push_back(left + right);
    }
    std::shuffle(merges.begin(), merges.end(), random);
    std::string merges_text;
    for (const std::string &line : merges) merges_text += line;

    const TempDir dir;
    write_bytes(dir.path() / "vocab.json", vocab.dump());
    write_bytes(dir.path() / "merges.txt", merges_text);
    const BpeTokenizer tokenizer(dir.path(), 100);
    const NaiveBpe naive(vocab, merges_text);
    for (int i = 0; i < 20; ++i) {
      std::string word;
      while (word.size() < 30) word += "ab"[random() % 2];
      EXPECT_EQ(tokenizer.encode(word), naive.encode(ascii_symbols(word))) << merges_text << word;
    }
  }
}

TEST(Bpe, DecodingGivesTheBytesBack) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::string bytes;
    for (int i = 0; i < 100; ++i) {
      bytes += static_cast<char>(random() % (round % 2 == 0 ? 256 : 128));
    }
    EXPECT_EQ(decode(shakespeare(), shakespeare().encode(bytes)), bytes);
  }
  const std::string text = "Na\u00EFve \u6F22\u5B57, \U0001F600\u00A0\u0301!\r\n";
  EXPECT_EQ(decode(shakespeare(), shakespeare().encode(text)), text);
}

TEST(Bpe, EndOfTextIsOneToken) {
  const std::vector<std::int32_t> ids = shakespeare().encode("a<|endoftext|><|endoftext|>b");
  ASSERT_EQ(ids.size(), 4u);
  EXPECT_EQ(ids[1], 2047);
  EXPECT_EQ(ids[2], 2047);
  EXPECT_EQ(shakespeare().end_token(), 2047);
  EXPECT_EQ(shakespeare().encode("<|endoftext|").front(), shakespeare().encode("<").front());
}

// A quadratic algorithm would not end.
TEST(Bpe, AWordOfAMillionLettersTakesNoQuadraticTime) {
  const std::string word(1'000'000, 'a');
  EXPECT_EQ(decode(shakespeare(), shakespeare().encode(word)), word);
  const std::string spaces(1'000'000, ' ');
  EXPECT_EQ(decode(shakespeare(), shakespeare().encode(spaces + "x")), spaces + "x");
}

class BpeFiles : public testing::Test {
 protected:
  std::string error(const std::string &vocab, const std::string &merges, int vocab_size = 300) {
    write_bytes(dir_.path() / "vocab.json", vocab);
    write_bytes(dir_.path() / "merges.txt", merges);
    return error_of([&] { BpeTokenizer(dir_.path(), vocab_size); });
  }
  std::string in_vocab(const std::string &what) const {
    return (dir_.path() / "vocab.json").string() + ": " + what;
  }
  std::string in_merges(const std::string &what) const {
    return (dir_.path() / "merges.txt").string() + ":" + what;
  }

  TempDir dir_;
};

TEST_F(BpeFiles, BadVocabulariesAreRefused) {
  EXPECT_EQ(error("", ""), in_vocab("not valid JSON at byte 1"));
  EXPECT_EQ(error("{\"a\": 0", ""), in_vocab("not valid JSON at byte 8"));
  EXPECT_EQ(error("[\"a\"]", ""), in_vocab("not a JSON object"));
  EXPECT_EQ(error("{\"a\": 1e400}", ""), in_vocab("not valid JSON: a number is out of range"));
  EXPECT_EQ(error("{\"a\": 0, \"a\": 1}", ""), in_vocab("key \"a\" stands twice"));
  EXPECT_EQ(error("{\"a\": 0, \"b\": 0}", ""),
            in_vocab("token \"b\" has id 0, as another token has"));
  EXPECT_EQ(error("{\"\\n\": 300}", ""),
            in_vocab("token \"\\n\" has id 300; ids are integers in [0, 300)"));
  for (const std::string id : {"-1", "1.5", "\"1\"", "null", "[]", "18446744073709551615"}) {
    EXPECT_EQ(error("{\"a\": " + id + "}", ""),
              in_vocab("token \"a\" has id " + id + "; ids are integers in [0, 300)"));
  }
  EXPECT_EQ(error(std::string(1000, '['), ""), in_vocab("nested deeper than 32 levels"));
}

TEST_F(BpeFiles, BadMergesAreRefused) {
  const std::string vocab = R"({"a": 0, "b": 1, "ab": 2})";
  EXPECT_EQ(error(vocab, "#version: 0.2\r\na b\r\n\r\n"), "");
  EXPECT_EQ(error(vocab, "a b\nab"),
            in_merges("2: two tokens with a space between them are needed"));
  for (const std::string line : {"a b ab", "a  b", " a", "a ", " "}) {
    EXPECT_EQ(error(vocab, line), in_merges("1: two tokens with a space between them are needed"));
  }
  EXPECT_EQ(error(vocab, "b a"), in_merges("1: \"ba\" is not in vocab.json"));
  EXPECT_EQ(error(vocab, "#version\n\na\x01 b"),
            in_merges("3: \"a\\u0001b\" is not in vocab.json"));
  EXPECT_EQ(error(R"({"a": 0, "ab": 2})", "a b"), in_merges("1: \"b\" is not in vocab.json"));
  EXPECT_EQ(error(vocab, "a b\na b"), in_merges("2: this pair stands in an earlier line too"));
}

TEST_F(BpeFiles, MissingFilesAreNamed) {
  EXPECT_EQ(error_of([&] { BpeTokenizer(dir_.path(), 10); }),
            in_vocab("cannot be opened: No such file or directory"));
  write_bytes(dir_.path() / "vocab.json", "{}");
  EXPECT_EQ(
      error_of([&] { BpeTokenizer(dir_.path(), 10); }),
      (dir_.path() / "merges.txt").string() + ": cannot be opened: No such file or directory");
}

TEST_F(BpeFiles, AByteWithoutATokenCannotBeEncoded) {
  ASSERT_EQ(error(R"({"a": 0})", "#version: 0.2\n"), "");
  const BpeTokenizer tokenizer(dir_.path(), 10);
  EXPECT_EQ(tokenizer.encode("aa"), (std::vector<std::int32_t>{0, 0}));
  EXPECT_EQ(tokenizer.token_bytes(9), "");
  EXPECT_EQ(tokenizer.end_token(), std::nullopt);
  EXPECT_EQ(error_of([&] { tokenizer.encode("a\xC3"); }), "vocab.json has no token for byte 195");
}

// Whatever a file holds: an error or a tokenizer that works, and no memory error (sanitizers).
TEST_F(BpeFiles, DamagedFilesDoNoHarm) {
  std::mt19937 random(4);
  const ModelFiles files = ModelFiles::read("draft");
  int num_loaded = 0;
  for (int round = 0; round < 60; ++round) {
    std::string vocab = files.vocab, merges = files.merges;
    std::string &damaged = round % 2 == 0 ? vocab : merges;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    if (error(vocab, merges, kVocabSize).empty()) {
      ++num_loaded;
      const BpeTokenizer tokenizer(dir_.path(), kVocabSize);
      error_of([&] { EXPECT_EQ(decode(tokenizer, tokenizer.encode("To be, or")), "To be, or"); });
    }
  }
  EXPECT_LT(num_loaded, 60);
}

}  // namespace
