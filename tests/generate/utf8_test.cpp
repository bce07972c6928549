#include "utf8.h"

#include <gtest/gtest.h>

#include <string>

#include "lower_case.h"

namespace {

using generate::Utf8Stream;

std::string printable(const std::string &bytes, std::size_t chunk_bytes) {
  Utf8Stream stream;
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += chunk_bytes) {
    text += stream.push(bytes.substr(i, chunk_bytes));
  }
  return text + stream.finish();
}

TEST(LowerCase, ChangesCapitalLettersOfAnyScriptAndNothingElse) {
  using generate::lower_case;
  EXPECT_EQ(lower_case(""), "");
  EXPECT_EQ(lower_case("ABC abc 123 $0 \\L"), "abc abc 123 $0 \\l");
  EXPECT_EQ(lower_case("\u00C4\u00D6 \u03A3\u0416 \uFF21 \u96EA \U00010400"),
            "\u00E4\u00F6 \u03C3\u0436 \uFF41 \u96EA \U00010428");
  EXPECT_EQ(lower_case("\u1E9E\u2C2F\u023A"), "\u00DF\u2C5F\u2C65");  // of other sizes in UTF-8
  EXPECT_EQ(lower_case(std::string("A\xFF\xC3\0Z\xE9\x9B", 7)),
            std::string("a\xFF\xC3\0z\xE9\x9B", 7));
  const std::string many(1'000'000, 'Q');
  EXPECT_EQ(lower_case(many), std::string(many.size(), 'q'));
}

TEST(Utf8Stream, HoldsBackACharacterUntilItIsComplete) {
  Utf8Stream stream;
  EXPECT_EQ(stream.push("a\xE2"), "a");
  EXPECT_EQ(stream.push("\x82"), "");
  EXPECT_EQ(stream.push("\xAC!"), "\xE2\x82\xAC!");
  EXPECT_EQ(stream.push("\xF0\x9F\x98"), "");
  EXPECT_EQ(stream.push("\x80"), "\xF0\x9F\x98\x80");
  EXPECT_EQ(stream.finish(), "");
}

TEST(Utf8Stream, ReplacesACharacterThatNeverBecomesComplete) {
  Utf8Stream stream;
  EXPECT_EQ(stream.push("\xE2\x82"), "");
  EXPECT_EQ(stream.finish(), "\uFFFD");
  EXPECT_EQ(stream.push("b"), "b");
}

// What the Unicode Standard recommends in section 3.9, tables 3-8 to 3-11.
TEST(Utf8Stream, ReplacesMaximalSubpartsOfIllFormedSequences) {
  const std::pair<std::string, std::string> cases[] = {
      {"\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41",
       "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\x41"},
      {"\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41",
       "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\x41"},
      {"\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42",
       "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\x41\uFFFD\uFFFD\x42"},
      {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", "\uFFFD\uFFFD\uFFFD\uFFFD\x41"},
  };
  for (const auto &[bytes, text] : cases) {
    for (std::size_t chunk_bytes = 1; chunk_bytes <= bytes.size(); ++chunk_bytes) {
      EXPECT_EQ(printable(bytes, chunk_bytes), text) << "in chunks of " << chunk_bytes;
    }
  }
}

TEST(Utf8Stream, PassesEveryCharacterOnUnchanged) {
  for (const std::string text : {"\u007F", "\u0080", "\u07FF", "\u0800", "\uD7FF", "\uE000",
                                 "\uFFFF", "\U00010000", "\U0010FFFF"}) {
    EXPECT_EQ(printable(text, 1), text);
  }
}

}  // namespace
