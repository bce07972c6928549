// The automaton beside PCRE2's on random expressions and texts, and expressions that are refused.

#include "regex_automaton.h"

#include <gtest/gtest.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "../seed.h"
#include "completion.h"

namespace {

using server::RegexAutomaton;

// What PCRE2 makes of an expression.
class Reference {
 public:
  explicit Reference(const std::string &pattern) : states_(100000) {
    int error = 0;
    std::size_t offset = 0;
    code_.reset(pcre2_compile(units(pattern), pattern.size(), PCRE2_ANCHORED | PCRE2_DOLLAR_ENDONLY,
                              &error, &offset, nullptr),
                pcre2_code_free);
    limits_.reset(pcre2_match_context_create(nullptr), pcre2_match_context_free);
    pcre2_set_match_limit(limits_.get(), 100000);
    if (code_)
      match_.reset(pcre2_match_data_create_from_pattern(code_.get(), nullptr),
                   pcre2_match_data_free);
  }

  bool is_valid() const { return code_ != nullptr; }

  // None: that takes too long to tell. Not by PCRE2's automaton, which in 10.42 takes "c" for a
  // match of the whole of "ca" by "\\w{0,2}[^a]".
  std::optional<bool> is_match(std::string_view text) {
    const int result = pcre2_match(code_.get(), units(text), text.size(), 0, PCRE2_ENDANCHORED,
                                   match_.get(), limits_.get());
    if (result >= 0 || result == PCRE2_ERROR_NOMATCH) return result >= 0;
    EXPECT_EQ(result, PCRE2_ERROR_MATCHLIMIT);
    return std::nullopt;
  }

  // Whether a text, which is not empty, is a match or the beginning of one.
  bool may_become_match(std::string_view text) {
    const int result = run(text, PCRE2_PARTIAL_HARD);
    EXPECT_TRUE(result >= 0 || result == PCRE2_ERROR_PARTIAL || result == PCRE2_ERROR_NOMATCH)
        << result;
    return result == PCRE2_ERROR_PARTIAL ||
           (result >= 0 && pcre2_get_ovector_pointer(match_.get())[1] == text.size());
  }

 private:
  static PCRE2_SPTR units(std::string_view text) {
    return reinterpret_cast<PCRE2_SPTR>(text.data());
  }

  int run(std::string_view text, std::uint32_t options) {
    return pcre2_dfa_match(code_.get(), units(text), text.size(), 0, options, match_.get(), nullptr,
                           states_.data(), states_.size());
  }

  std::shared_ptr<pcre2_code> code_;
  std::shared_ptr<pcre2_match_data> match_;
  std::shared_ptr<pcre2_match_context> limits_;
  std::vector<int> states_;
};

// What the automaton makes of a text.
struct Verdict {
  bool may_become_match, is_match;
};

Verdict judge(const RegexAutomaton &automaton, std::string_view text) {
  Verdict verdict = {true, automaton.matches_empty()};
  RegexAutomaton::Places next = automaton.first();
  for (const char byte : text) {
    const RegexAutomaton::Places places = automaton.take(next, byte);
    verdict = {places.any(), automaton.is_match(places)};
    next = automaton.follow(places);
  }
  return verdict;
}

class Writer {
 public:
  explicit Writer(unsigned seed) : random_(seed) {}

  std::string expression() {
    return (one_in(5) ? "^" : "") + alternatives(3) + (one_in(5) ? "$" : "");
  }

  std::string text() {
    std::string text;
    for (std::size_t size = 1 + below(8); text.size() < size;) {
      text += one_in(8) ? pick({"\n", "\xff", "-", "]", "_", "{", "2", "^"})
                        : pick({"a", "b", "c", "A"});
    }
    return text;
  }

 private:
  std::size_t below(std::size_t bound) { return random_() % bound; }
  bool one_in(std::size_t number) { return below(number) == 0; }
  std::string pick(const std::vector<std::string> &of) { return of[below(of.size())]; }

  std::string alternatives(int depth) {
    std::string all = sequence(depth);
    while (one_in(3)) all += "|" + sequence(depth);
    return all;
  }

  std::string sequence(int depth) {
    std::string all;
    for (std::size_t count = below(4); count-- > 0;) {
      all += atom(depth);
      if (one_in(2)) {
        all += pick(
            {"*", "+", "?", "{2}", "{0,2}", "{1,}", "{0,}", "{0}", "{2,3}", "*?", "??", "{1,2}?"});
      }
    }
    return all;
  }

  std::string atom(int depth) {
    if (depth > 0 && one_in(4)) return pick({"(", "(?:"}) + alternatives(depth - 1) + ")";
    return pick({"a",     "b",      "c",     ".",       "[ab]",         "[^a]",       "[a-c]",
                 "\\d",   "\\w",    "\\W",   "\\s",     "\\S",          "\\D",        "\\n",
                 "\\x61", "[]a]",   "[^]a]", "[a\\]-]", "[[:alpha:]_]", "[\\d-a]",    "-",
                 "]",     "{",      "{a",    "{,2}",    "\\-",          "[\\n\\x41]", "[[:^",
                 "[a",    "[^\\W]", "[[a]"});
  }

  std::mt19937 random_;
};

TEST(RegexAutomaton, MatchesWhatPcre2Matches) {
  Writer writer(static_cast<unsigned>(seeded(20)));
#if defined(__SANITIZE_ADDRESS__)
  constexpr int kNumTried = 2000;  // each takes ten times as long
#else
  constexpr int kNumTried = 20000;
#endif
  int num_expressions = 0, num_matches = 0, num_beginnings = 0, num_others = 0, num_untold = 0;
  for (int i = 0; i < kNumTried; ++i) {
    const std::string expression = writer.expression();
    Reference reference(expression);
    std::shared_ptr<RegexAutomaton> automaton;
    try {
      automaton = std::make_shared<RegexAutomaton>(expression);
    } catch (const server::HttpError &error) {
      // More is refused than PCRE2 refuses: a count after a count, and what is named here.
      const std::string message = error.what();
      EXPECT_TRUE(
          !reference.is_valid() || message.find("repeats a repetition") != std::string::npos ||
          message.find("range") != std::string::npos || message.find("[:") != std::string::npos)
          << expression << ": " << message;
      continue;
    }
    ASSERT_TRUE(reference.is_valid()) << expression;
    ++num_expressions;
    // By PCRE2, or by the automaton itself where PCRE2 cannot tell.
    const auto expected = [&](std::string_view text, bool is_match) {
      const std::optional<bool> told = reference.is_match(text);
      num_untold += !told.has_value();
      return told.value_or(is_match);
    };
    EXPECT_EQ(automaton->matches_empty(), expected("", automaton->matches_empty())) << expression;
    for (int j = 0; j < 20; ++j) {
      const std::string text = writer.text();
      const Verdict verdict = judge(*automaton, text);
      EXPECT_EQ(verdict.is_match, expected(text, verdict.is_match)) << expression << " on " << text;
      EXPECT_EQ(verdict.may_become_match, reference.may_become_match(text))
          << expression << " on " << text;
      ++(verdict.is_match ? num_matches : verdict.may_become_match ? num_beginnings : num_others);
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(num_expressions, kNumTried / 2);
  EXPECT_GT(num_matches, kNumTried / 2);
  EXPECT_GT(num_beginnings, kNumTried / 2);
  EXPECT_GT(num_others, kNumTried / 2);
  EXPECT_LT(num_untold, kNumTried / 50);
}

std::string why_refused(const std::string &expression) {
  try {
    RegexAutomaton automaton(expression);
  } catch (const server::HttpError &error) {
    EXPECT_EQ(error.status(), 400);
    EXPECT_EQ(error.parameter(), "regex");
    return error.what();
  }
  return "";
}

TEST(RegexAutomaton, RefusesWhatCostsTooMuchOrMatchesNothing) {
  EXPECT_EQ(why_refused(".*[a-z].{150}x"), "");
  EXPECT_EQ(why_refused("[ab]{512}"), "");
  for (const char *const expression : {"[ab]{513}", "a{100000}", "a{99999999999999999999}",
                                       "(a{1,100}){1,100}", "(a{0,30}b{0,30}){9}"}) {
    EXPECT_NE(why_refused(expression).find("needs more than 512 places"), std::string::npos)
        << expression;
  }
  // Nothing but groups, again and again.
  EXPECT_EQ(why_refused("(((((){999}){999}){999}){999}){999}"), "regex repeats groups too often");
  for (const char *const expression : {"[^\\x00-\\xff]", "a[^\\x00-\\xff]+", "(b|ab)[^\\d\\D]"}) {
    EXPECT_EQ(why_refused(expression), "regex matches no text") << expression;
  }
  EXPECT_EQ(why_refused("a|b[^\\x00-\\xff]"), "");
  for (const char *const expression :
       {"a^b",   "a$b",   "(^a)",    "(a$)",    "a**",      "a{2}{3}", "a+*",
        "*",     "|+",    "a)",      "(a",      "[a",       "[",       "\\",
        "\\x6",  "\\xg1", "[b-a]",   "[a-\\d]", "[[:no:]]", "[[.a.]]", "a{3,2}",
        "(?i)a", "(?=a)", "(*UTF)a", "\\1",     "\\b",      "\\Qa\\E", "a++"}) {
    EXPECT_NE(why_refused(expression), "") << expression;
  }
  EXPECT_EQ(why_refused(std::string(101, '(') + std::string(101, ')')),
            "regex has too many groups in groups, at byte 101");
}

}  // namespace
