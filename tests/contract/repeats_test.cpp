// What a history repeats: against searches through all of it, and steps that are counted.
#include "cpu/repeats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "contract/repeats.h"
#include "edits_oracle.h"
#include "support.h"

namespace sampler::contract::repeats_test {
namespace {

using oracle::Text;
using test::Random;

constexpr int32_t kUnused = -77;

// Reads of a sequence, counted.
template <class Sequence>
struct Counted {
  Sequence sequence;
  int64_t *reads;

  template <class Index>
  int64_t operator[](Index i) const {
    ++*reads;
    return int64_t(sequence[i]);
  }
};

NewestFirst<int64_t> newest_first(const Text &text) {
  return {text.data() + text.size(), int32_t(text.size())};
}

// Breakers as the contract wants them: in order, none twice, one after the other.
class BreakerList {
 public:
  explicit BreakerList(std::vector<Text> breakers) {
    std::sort(breakers.begin(), breakers.end());
    breakers.erase(std::unique(breakers.begin(), breakers.end()), breakers.end());
    for (const Text &breaker : breakers) {
      ids_.insert(ids_.end(), breaker.begin(), breaker.end());
      offsets_.push_back(int32_t(ids_.size()));
    }
  }

  using Ids = Counted<const int64_t *>;
  Breakers<const int32_t *, Ids> get(int64_t *reads) const {
    return {offsets_.data(), Ids{ids_.data(), reads}, int32_t(offsets_.size()) - 1};
  }

 private:
  std::vector<int32_t> offsets_ = {0};
  std::vector<int64_t> ids_;
};

struct Steps {
  int64_t text_reads = 0;
  int64_t breaker_reads = 0;
};

// Runs `visit_all` on memory of exactly this size, with numbers around it that must stay.
template <class VisitAll>
void with_memory(int64_t size, VisitAll visit_all) {
  std::vector<int32_t> memory(size_t(size) + 2, kUnused);
  visit_all(memory.data() + 1);
  EXPECT_EQ(memory.front(), kUnused);
  EXPECT_EQ(memory.back(), kUnused);
}

std::map<int64_t, int32_t> dry_lengths(const Text &context, const std::vector<Text> &breakers,
                                       int32_t allowed_length, Steps *steps) {
  const BreakerList list(breakers);
  const auto sorted = list.get(&steps->breaker_reads);
  const Counted<NewestFirst<int64_t>> text = {newest_first(context), &steps->text_reads};
  const int32_t n = int32_t(context.size());
  const int32_t limit = sorted.repeat_limit(text, n);
  EXPECT_EQ(limit, oracle::dry_limit(context, breakers));

  std::map<int64_t, int32_t> lengths, long_lengths;
  const auto note_in = [&](std::map<int64_t, int32_t> *to) {
    return [&, to](int64_t token, int32_t length) {
      if (length < allowed_length || sorted.has_token(token)) return;
      int32_t &longest = to->emplace(token, 0).first->second;
      longest = std::max(longest, length - allowed_length);
    };
  };
  with_memory(std::min(limit, n),
              [&](int32_t *memory) { visit_repeats(text, n, limit, memory, note_in(&lengths)); });
  if (allowed_length >= 2 && limit >= 2) {
    with_memory(std::min(limit, n), [&](int32_t *memory) {
      cpu::visit_long_repeats(newest_first(context), limit, memory, note_in(&long_lengths));
    });
    EXPECT_EQ(lengths, long_lengths);
  }
  return lengths;
}

std::set<int64_t> ngram_bans(const Text &history, int32_t size) {
  std::set<int64_t> banned;
  const int32_t n = int32_t(history.size());
  with_memory(std::min(size - 1, n), [&](int32_t *memory) {
    visit_ngram_bans(newest_first(history), n, size, memory,
                     [&](int64_t token) { banned.insert(token); });
  });
  if (size < 3 || size > n) return banned;
  std::set<int64_t> ends_of_long_repeats;
  with_memory(size - 1, [&](int32_t *memory) {
    cpu::visit_long_repeats(newest_first(history), size - 1, memory,
                            [&](int64_t token, int32_t length) {
                              if (length == size - 1) ends_of_long_repeats.insert(token);
                            });
  });
  EXPECT_EQ(banned, ends_of_long_repeats);
  return banned;
}

std::set<int64_t> word_bans(const Text &history, const std::vector<Text> &words) {
  std::set<int64_t> banned;
  for (const Text &word : words) {
    if (bans_word_end(newest_first(history), int32_t(history.size()), word, int32_t(word.size()))) {
      banned.insert(word.back());
    }
  }
  return banned;
}

// ---- texts ----

Text random_text(Random &random, int length, int num_tokens) {
  Text text(size_t(length), 0);
  for (int64_t &token : text) token = random.between(0, num_tokens - 1);
  return text;
}

Text periodic(const Text &period, int length) {
  Text text;
  for (int i = 0; i < length; ++i) text.push_back(period[size_t(i) % period.size()]);
  return text;
}

Text fibonacci(int length) {
  Text text = {0}, next = {0, 1};
  while (int(next.size()) < length) {
    const Text longer = [&] {
      Text joined = next;
      joined.insert(joined.end(), text.begin(), text.end());
      return joined;
    }();
    text = next;
    next = longer;
  }
  next.resize(size_t(length));
  return next;
}

Text thue_morse(int length) {
  Text text;
  for (int i = 0; i < length; ++i) text.push_back(__builtin_popcount(unsigned(i)) & 1);
  return text;
}

// Runs of one token, each a token longer than the last, with another between them.
Text growing_runs(int length) {
  Text text;
  for (int run = 1; int(text.size()) < length; ++run) {
    text.insert(text.end(), size_t(run), 0);
    text.push_back(1);
  }
  text.resize(size_t(length));
  return text;
}

Text reversed(Text text) {
  std::reverse(text.begin(), text.end());
  return text;
}

std::map<std::string, Text> crafted_texts(int length) {
  Text runs_apart(size_t(length), 0);
  runs_apart[size_t(length) / 2] = 1;
  Text near_end(size_t(length), 0);
  near_end[size_t(length) - 1] = 1;
  Text all_different(static_cast<size_t>(length));
  std::iota(all_different.begin(), all_different.end(), 0);
  std::map<std::string, Text> texts = {{"one token", Text(size_t(length), 7)},
                                       {"period 2", periodic({0, 1}, length)},
                                       {"period 7", periodic({0, 0, 1, 0, 0, 1, 2}, length)},
                                       {"fibonacci", fibonacci(length)},
                                       {"thue-morse", thue_morse(length)},
                                       {"growing runs", growing_runs(length)},
                                       {"two runs", runs_apart},
                                       {"another at the end", near_end},
                                       {"all different", all_different}};
  for (const auto &[name, text] : std::map<std::string, Text>(texts)) {
    texts[name + ", reversed"] = reversed(text);
  }
  return texts;
}

std::vector<Text> random_breakers(Random &random, int num_tokens) {
  std::vector<Text> breakers(size_t(random.between(0, 5)));
  for (Text &breaker : breakers) {
    const int length = random.between(0, 3) == 0 ? random.between(1, 6) : random.between(1, 2);
    breaker = random_text(random, length, num_tokens);
  }
  return breakers;
}

// ---- DRY ----

TEST(Dry, FindsWhatASearchThroughAllOfTheContextFinds) {
  Random random(1);
  constexpr int kRounds = 20000;
  int64_t num_found = 0, num_limited = 0;
  for (int round = 0; round < kRounds; ++round) {
    const int num_tokens = random.between(1, 4);
    const Text context = random_text(random, random.between(0, 40), num_tokens);
    // Tokens that the context does not have, too.
    const auto breakers = random_breakers(random, num_tokens + random.between(0, 3));
    const int32_t allowed_length = random.between(0, 4);
    Steps steps;
    const auto lengths = dry_lengths(context, breakers, allowed_length, &steps);
    ASSERT_EQ(lengths, oracle::dry_lengths(context, breakers, allowed_length)) << "round " << round;
    num_found += lengths.empty() ? 0 : 1;
    num_limited += oracle::dry_limit(context, breakers) < int32_t(context.size()) ? 1 : 0;
  }
  EXPECT_GT(num_found, kRounds / 4);
  EXPECT_GT(num_limited, kRounds / 4);
}

TEST(Dry, OfCraftedTexts) {
  for (const int length : {1, 2, 3, 34, 55, 100, 600}) {
    for (const auto &[name, text] : crafted_texts(length)) {
      const std::vector<std::vector<Text>> lists = {{},
                                                    {{0}},
                                                    {{1}},
                                                    {{0}, {1}, {7}},
                                                    {{0, 0, 0}},
                                                    {{1, 0}, {0, 1}, {0, 1, 0, 0}},
                                                    {{5, 5}},
                                                    {Text(20, 0)},
                                                    {Text(20, 7), Text(19, 7), {7, 7}}};
      for (const auto &breakers : lists) {
        Steps steps;
        ASSERT_EQ(dry_lengths(text, breakers, 2, &steps), oracle::dry_lengths(text, breakers, 2))
            << name << ", " << length << " tokens";
      }
    }
  }
}

TEST(Dry, OfWorkedExamples) {
  Steps steps;
  using Lengths = std::map<int64_t, int32_t>;
  EXPECT_EQ(dry_lengths({}, {}, 2, &steps), Lengths());
  EXPECT_EQ(dry_lengths({5}, {}, 0, &steps), Lengths());
  EXPECT_EQ(dry_lengths({5, 5}, {}, 0, &steps), (Lengths{{5, 1}}));
  // 1 2 3 came before, and 4 followed; 2 3 came before, and 9 followed.
  const Text text = {1, 2, 3, 4, 2, 3, 9, 1, 2, 3};
  EXPECT_EQ(dry_lengths(text, {}, 2, &steps), (Lengths{{4, 1}, {9, 0}}));
  EXPECT_EQ(dry_lengths(text, {}, 3, &steps), (Lengths{{4, 0}}));
  // Repeats do not reach over the 1; the 9 is left alone.
  EXPECT_EQ(dry_lengths(text, {{1}}, 2, &steps), (Lengths{{4, 0}, {9, 0}}));
  EXPECT_EQ(dry_lengths(text, {{9}}, 2, &steps), (Lengths{{4, 1}}));
  // A breaker of two tokens limits the repeats, and is no token that is left alone.
  EXPECT_EQ(dry_lengths(text, {{9, 1}}, 2, &steps), (Lengths{{4, 0}, {9, 0}}));
  EXPECT_EQ(dry_lengths(text, {{2, 3}}, 1, &steps), Lengths());
}

TEST(Dry, LimitOfBreakersThatOverlap) {
  const Text context = {0, 1, 2, 3, 4, 5};
  int64_t reads = 0;
  const auto limit = [&](const std::vector<Text> &breakers) {
    const BreakerList list(breakers);
    return list.get(&reads).repeat_limit(newest_first(context), int32_t(context.size()));
  };
  EXPECT_EQ(limit({}), 6);
  EXPECT_EQ(limit({{9}}), 6);
  EXPECT_EQ(limit({{5}}), 0);
  EXPECT_EQ(limit({{0}}), 5);
  // The longest of those that begin at one place counts.
  EXPECT_EQ(limit({{2}}), 3);
  EXPECT_EQ(limit({{2}, {2, 3}}), 2);
  EXPECT_EQ(limit({{2}, {2, 3}, {2, 3, 4}}), 1);
  EXPECT_EQ(limit({{2}, {2, 3}, {2, 3, 5}}), 2);
  // The newest beginning counts, not the newest end.
  EXPECT_EQ(limit({{1, 2, 3, 4}, {2}}), 3);
  EXPECT_EQ(limit({{1, 2, 3, 4}}), 1);
  // A breaker must end within the context.
  EXPECT_EQ(limit({{5, 6}}), 6);
  EXPECT_EQ(limit({{4, 5, 6}, {0, 1}}), 4);
}

TEST(Dry, SingleTokensThatAreBreakers) {
  const BreakerList list({{3}, {5, 1}, {5}, {7, 7}, {0, 3}});
  int64_t reads = 0;
  const auto breakers = list.get(&reads);
  for (int64_t id = -1; id < 10; ++id) {
    EXPECT_EQ(breakers.has_token(id), id == 3 || id == 5) << id;
  }
  const BreakerList none({});
  EXPECT_FALSE(none.get(&reads).has_token(0));
}

// ---- n-grams and words ----

TEST(NoRepeatNgram, BansWhatASearchThroughTheHistoryBans) {
  Random random(2);
  constexpr int kRounds = 20000;
  int64_t num_banned = 0;
  for (int round = 0; round < kRounds; ++round) {
    const Text history = random_text(random, random.between(0, 40), random.between(1, 4));
    const int32_t size = random.between(1, 6);
    const auto banned = ngram_bans(history, size);
    ASSERT_EQ(banned, oracle::ngram_bans(history, size)) << "round " << round;
    num_banned += banned.empty() ? 0 : 1;
  }
  EXPECT_GT(num_banned, kRounds / 2);
}

TEST(NoRepeatNgram, OfCraftedTexts) {
  for (const int length : {1, 2, 3, 55, 300}) {
    for (const auto &[name, text] : crafted_texts(length)) {
      for (const int32_t size : {1, 2, 3, 8, 54, 55, 56, 299, 300, 301, 302, INT32_MAX}) {
        ASSERT_EQ(ngram_bans(text, size),
                  size > length ? std::set<int64_t>() : oracle::ngram_bans(text, size))
            << name << ", " << length << " tokens, size " << size;
      }
    }
  }
}

TEST(NoRepeatNgram, OfWorkedExamples) {
  using Ids = std::set<int64_t>;
  EXPECT_EQ(ngram_bans({}, 1), Ids());
  EXPECT_EQ(ngram_bans({4}, 1), Ids({4}));
  EXPECT_EQ(ngram_bans({4, 5, 4}, 1), Ids({4, 5}));
  EXPECT_EQ(ngram_bans({4}, 2), Ids());
  EXPECT_EQ(ngram_bans({4, 4}, 2), Ids({4}));
  EXPECT_EQ(ngram_bans({1, 2, 1, 3, 1}, 2), Ids({2, 3}));
  EXPECT_EQ(ngram_bans({1, 2, 3, 1, 2}, 3), Ids({3}));
}

TEST(BadWords, AreBannedAtTheirEnd) {
  Random random(3);
  constexpr int kRounds = 20000;
  int64_t num_banned = 0;
  for (int round = 0; round < kRounds; ++round) {
    const int num_tokens = random.between(1, 4);
    const Text history = random_text(random, random.between(0, 8), num_tokens);
    std::vector<Text> words(size_t(random.between(0, 4)));
    for (Text &word : words) word = random_text(random, random.between(1, 5), num_tokens);
    const auto banned = word_bans(history, words);
    ASSERT_EQ(banned, oracle::word_bans(history, words)) << "round " << round;
    num_banned += banned.empty() ? 0 : 1;
  }
  EXPECT_GT(num_banned, kRounds / 4);
  EXPECT_EQ(word_bans({}, {{3}, {4, 5}}), std::set<int64_t>({3}));
  EXPECT_EQ(word_bans({4}, {{4, 5}, {3, 4, 6}}), std::set<int64_t>({5}));
}

// ---- steps ----

constexpr int kLongText = 50000;

// Each comparison reads two tokens, each visit one.
int64_t num_comparisons(int64_t text_reads, int64_t n) {
  return (text_reads - (n - 1)) / 2;
}

TEST(Steps, OfRepeatsAreFewerThanTwoATokenWhateverTheText) {
  const int64_t n = kLongText;
  double most = 0;
  for (const auto &[name, text] : crafted_texts(kLongText)) {
    for (const int32_t limit : {0, 1, 2, 3, 10, 1000, kLongText / 2, kLongText}) {
      int64_t reads = 0, visits = 0;
      const Counted<NewestFirst<int64_t>> counted = {newest_first(text), &reads};
      with_memory(std::min<int64_t>(limit, n), [&](int32_t *memory) {
        visit_repeats(counted, int32_t(n), limit, memory, [&](int64_t, int32_t) { ++visits; });
      });
      EXPECT_EQ(visits, n - 1);
      EXPECT_LT(num_comparisons(reads, n), 2 * n) << name << ", limit " << limit;
      most = std::max(most, double(num_comparisons(reads, n)) / double(n));
    }
  }
  RecordProperty("comparisons_per_token", std::to_string(most));
  EXPECT_GT(most, 1.0);  // the texts are hard ones
}

TEST(Steps, OfNgramsAreFewerThanTwoATokenWhateverTheSize) {
  const int64_t n = kLongText;
  for (const auto &[name, text] : crafted_texts(kLongText)) {
    for (const int32_t size : {1, 2, 5, 1000, kLongText}) {
      int64_t reads = 0;
      const Counted<NewestFirst<int64_t>> counted = {newest_first(text), &reads};
      with_memory(size - 1, [&](int32_t *memory) {
        visit_ngram_bans(counted, int32_t(n), size, memory, [](int64_t) {});
      });
      EXPECT_LT(num_comparisons(reads, n), 2 * n) << name << ", size " << size;
    }
  }
}

TEST(Steps, OfBreakersAreBoundedForEachToken) {
  // Long breakers that agree with the text almost to their end, and none of which ever begins.
  for (const int num_breakers : {1, 10, 1000}) {
    std::vector<Text> breakers;
    for (int i = 0; i < num_breakers; ++i) {
      Text breaker(kLongestBreaker, 0);
      breaker.back() = 100 + i;
      breakers.push_back(breaker);
    }
    const BreakerList list(breakers);
    int log2_ceiling = 1;
    while ((1 << log2_ceiling) < num_breakers + 1) ++log2_ceiling;
    int64_t text_reads = 0, breaker_reads = 0;
    const Text text(size_t(kLongText), 0);
    const Counted<NewestFirst<int64_t>> counted = {newest_first(text), &text_reads};
    EXPECT_EQ(list.get(&breaker_reads).repeat_limit(counted, kLongText), kLongText);
    EXPECT_LE(text_reads, int64_t(kLongText) * kLongestBreaker);
    EXPECT_GT(text_reads, int64_t(kLongText) * (kLongestBreaker - 1) - 1000);
    EXPECT_LE(breaker_reads, int64_t(kLongText) * kLongestBreaker * 2 * log2_ceiling);
  }
}

TEST(Steps, OfAWordAreThoseOfItsTokens) {
  const Text history(1000, 0);
  for (const int32_t length : {1, 2, 500, 1001}) {
    const Text word(size_t(length), 0);
    int64_t reads = 0;
    EXPECT_TRUE(bans_word_end(Counted<NewestFirst<int64_t>>{newest_first(history), &reads}, 1000,
                              word, length));
    EXPECT_EQ(reads, length - 1);
  }
  const Text longer(1002, 0);
  int64_t reads = 0;
  EXPECT_FALSE(bans_word_end(Counted<NewestFirst<int64_t>>{newest_first(history), &reads}, 1000,
                             longer, 1002));
  EXPECT_EQ(reads, 0);
}

}  // namespace
}  // namespace sampler::contract::repeats_test
