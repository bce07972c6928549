// Prompt lookup, against a search through the whole text.
#include <algorithm>

#include "../seed.h"
#include "counting_allocator.h"
#include "support.h"

namespace ngram_test::lookup_test {
namespace {

using capi_test::CountingAllocator;

sampler_prompt_lookup_options lookup_options(std::int64_t max_tokens, std::int64_t vocabulary_size,
                                             std::int64_t min_match = 1,
                                             std::int64_t max_match = 0) {
  sampler_prompt_lookup_options options = sized<sampler_prompt_lookup_options>();
  options.min_match = min_match;
  options.max_match = max_match;
  options.max_tokens = max_tokens;
  options.vocabulary_size = vocabulary_size;
  return options;
}

class Lookup : public Interface {
 public:
  explicit Lookup(const sampler_prompt_lookup_options &options) {
    sampler_prompt_lookup_t lookup = nullptr;
    EXPECT_EQ(sampler_prompt_lookup_create(&options, &lookup), SAMPLER_OK) << sampler_last_error();
    handle_.reset(lookup);
    EXPECT_EQ(sampler_prompt_lookup_interface(lookup, &functions), SAMPLER_OK);
  }

  sampler_prompt_lookup_t get() const { return handle_.get(); }

  void append(const Tokens &tokens) {
    EXPECT_EQ(sampler_prompt_lookup_append(get(), tokens.data(), std::int64_t(tokens.size())),
              SAMPLER_OK)
        << sampler_last_error();
  }

  Tokens propose(std::size_t num_drafts) const {
    Tokens drafts(num_drafts + 1, -7);
    std::int64_t count = -1;
    EXPECT_EQ(sampler_prompt_lookup_propose(get(), std::int64_t(num_drafts), drafts.data(), &count),
              SAMPLER_OK)
        << sampler_last_error();
    EXPECT_TRUE(count >= 0 && count <= std::int64_t(num_drafts));
    for (std::size_t i = std::size_t(count); i < drafts.size(); ++i) EXPECT_EQ(drafts[i], -7);
    drafts.resize(std::size_t(count));
    return drafts;
  }

 private:
  struct Destroy {
    void operator()(sampler_prompt_lookup_t lookup) const { sampler_prompt_lookup_destroy(lookup); }
  };
  std::unique_ptr<sampler_prompt_lookup, Destroy> handle_;
};

// How many tokens, up to most, the first `end` of the text have at their end as the whole text has.
std::size_t match_at(const Tokens &text, std::size_t end, std::size_t most) {
  std::size_t length = 0;
  while (length < end && length < most &&
         text[end - 1 - length] == text[text.size() - 1 - length]) {
    ++length;
  }
  return length;
}

// Where the longest match of the text's end ends, among ends up to last; 0: there is none.
std::size_t naive_match(const Tokens &text, std::size_t last, std::size_t min_match,
                        std::size_t max_match) {
  std::size_t best = 0, best_length = min_match;
  for (std::size_t end = 1; end <= last; ++end) {
    const std::size_t length = match_at(text, end, max_match);
    if (length < best_length) continue;
    best = end;
    best_length = length;
  }
  return best;
}

Tokens naive_propose(const Tokens &text, std::size_t num_drafts, std::size_t min_match,
                     std::size_t max_match) {
  if (text.empty()) return {};
  const std::size_t end = naive_match(text, text.size() - 1, min_match, max_match);
  if (end == 0) return {};
  const std::size_t count = std::min(num_drafts, text.size() - end);
  return Tokens(text.begin() + std::ptrdiff_t(end), text.begin() + std::ptrdiff_t(end + count));
}

bool naive_has(const Tokens &text, const Tokens &context) {
  const auto found = std::search(text.begin(), text.end(), context.begin(), context.end());
  return found != text.end() && found + std::ptrdiff_t(context.size()) != text.end();
}

// What follows a context that begins with the text.
void expect_naive_next(const Lookup &lookup, const Tokens &text, const Tokens &context,
                       std::size_t min_match, std::size_t max_match) {
  const std::size_t last = context.size() == text.size() ? text.size() - 1 : text.size();
  const std::size_t end = naive_match(context, last, min_match, max_match);
  const Next next = lookup.next(context);
  ASSERT_EQ(next.known, end != 0) << testing::PrintToString(context);
  if (end != 0) {
    ASSERT_EQ(next.token_id, context[end]) << testing::PrintToString(context);
  }
}

void expect_naive(Lookup *lookup, const Tokens &text, std::size_t min_match, std::size_t max_match,
                  std::mt19937 *random, std::int32_t vocabulary_size) {
  ASSERT_EQ(lookup->propose(4), naive_propose(text, 4, min_match, max_match))
      << testing::PrintToString(text);
  Tokens context = text;
  const Tokens more = random_tokens(random, 4, vocabulary_size);
  context.insert(context.end(), more.begin(), more.end());
  expect_naive_next(*lookup, text, context, min_match, max_match);

  const Tokens part = random_tokens(random, 5, vocabulary_size);
  const bool is_length = part.size() >= min_match && part.size() <= max_match;
  ASSERT_EQ(lookup->has(part), is_length && naive_has(text, part)) << testing::PrintToString(part);
}

// Texts of random tokens, of repeated pieces, and of one token with others between.
std::int32_t token_of(int kind, const Tokens &text, std::mt19937 *random,
                      std::int32_t vocabulary_size) {
  const std::int32_t any = std::int32_t((*random)() % std::uint32_t(vocabulary_size));
  if (kind == 1 && text.size() > 5 && (*random)() % 12) return text[text.size() - 5];
  if (kind == 2 && (*random)() % 10) return 0;
  return any;
}

TEST(Lookup, IsASearchThroughTheText) {
  std::mt19937 random(seeded(1));
  for (int round = 0; round < 400; ++round) {
    const std::size_t most = 1 + random() % 100;
    const std::int32_t vocabulary_size = std::int32_t(1 + random() % 4);
    const std::size_t min_match = 1 + random() % 3;
    const std::size_t max_match = random() % 2 ? 0 : min_match + random() % 5;
    const std::size_t longest = max_match == 0 ? most + 9 : max_match;
    Lookup lookup(lookup_options(std::int64_t(most), vocabulary_size, std::int64_t(min_match),
                                 std::int64_t(max_match)));
    for (int again = 0; again < 2; ++again) {
      Tokens text;
      while (text.size() < most) {
        text.push_back(token_of(round % 3, text, &random, vocabulary_size));
        lookup.append({text.back()});
        expect_naive(&lookup, text, min_match, longest, &random, vocabulary_size);
        if (HasFatalFailure()) return;
      }
      ASSERT_EQ(sampler_prompt_lookup_reset(lookup.get()), SAMPLER_OK);
      ASSERT_EQ(lookup.propose(3), Tokens());
    }
  }
}

// Longer ones, compared now and then. The second kind has all ends of a long run again and again.
TEST(Lookup, OfLongTexts) {
  std::mt19937 random(seeded(2));
  for (const int kind : {0, 1, 2, 3}) {
    constexpr std::size_t kMost = 4000;
    Lookup lookup(lookup_options(kMost, 50)), limited(lookup_options(kMost, 50, 1, 6));
    Tokens text;
    for (std::size_t i = 0; i < kMost; ++i) {
      const std::int32_t token =
          kind == 3 ? (i % 400 ? 0 : std::int32_t(i / 400)) : token_of(kind, text, &random, 3);
      text.push_back(token);
      lookup.append({token});
      limited.append({token});
      if (i % 97 && i % 400 > 3) continue;
      ASSERT_EQ(lookup.propose(10), naive_propose(text, 10, 1, kMost)) << kind << ", " << i;
      ASSERT_EQ(limited.propose(10), naive_propose(text, 10, 1, 6)) << kind << ", " << i;
    }
  }
}

TEST(Lookup, OfEquallyLongMatchesTheLatest) {
  Lookup lookup(lookup_options(20, 10));
  lookup.append({1, 2, 5, 1, 2, 6, 9, 2, 7, 1, 2});
  EXPECT_EQ(lookup.propose(2), (Tokens{6, 9}));
  EXPECT_EQ(lookup.propose(1), (Tokens{6}));
  EXPECT_EQ(lookup.propose(0), Tokens());
  EXPECT_EQ(lookup.propose(100), (Tokens{6, 9, 2, 7, 1, 2}));
  Lookup limited(lookup_options(20, 10, 1, 1));
  limited.append({1, 2, 5, 1, 2, 6, 9, 2, 7, 1, 2});
  EXPECT_EQ(limited.propose(2), (Tokens{7, 1}));
}

TEST(Lookup, MayOverlapItsMatch) {
  Lookup lookup(lookup_options(20, 10));
  lookup.append({4, 4});
  EXPECT_EQ(lookup.propose(5), (Tokens{4}));
  lookup.append({4, 4});
  EXPECT_EQ(lookup.propose(5), (Tokens{4}));
}

TEST(Lookup, WithTheLargestIds) {
  constexpr std::int32_t kLast = (1 << 20) - 2;
  Lookup lookup(lookup_options(1000, (1 << 20) - 1));
  Tokens text;
  for (std::int32_t i = 0; i < 400; ++i) text.push_back(kLast - i);
  lookup.append(text);
  EXPECT_EQ(lookup.propose(2), Tokens());
  lookup.append({kLast - 100});
  EXPECT_EQ(lookup.propose(2), (Tokens{kLast - 101, kLast - 102}));
}

TEST(Lookup, HasRoomForAsManyTokensAsItSays) {
  CountingAllocator allocator;
  auto options = lookup_options(7, 10);
  allocator.install(&options);
  Lookup lookup(options);
  EXPECT_EQ(allocator.num_calls(), 1);
  lookup.append({1, 2, 3, 1, 2});
  const Tokens three = {3, 4, 5};
  EXPECT_EQ(sampler_prompt_lookup_append(lookup.get(), three.data(), 3),
            SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(sampler_last_error(),
               "3 tokens are to be appended; there is room for 2 of max_tokens");
  EXPECT_EQ(lookup.propose(1), (Tokens{3}));
  lookup.append({3, 1});
  EXPECT_EQ(lookup.propose(1), (Tokens{2}));
  EXPECT_EQ(sampler_prompt_lookup_append(lookup.get(), three.data(), 1),
            SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(allocator.num_calls(), 1);
}

// Nothing more is known of a sequence that outgrows the text, until a reset.
TEST(Lookup, KnowsNothingOfASequenceThatOutgrewTheText) {
  Lookup lookup(lookup_options(7, 10));
  const Interface &interface = lookup;
  Tokens text = {1, 2, 3, 1, 2, 3};
  lookup.update(text, {});
  EXPECT_EQ(interface.propose(text, 3), (Tokens{1, 2, 3}));
  text.insert(text.end(), {1, 2});
  for (int i = 0; i < 3; ++i) {
    lookup.update(text, {});
    EXPECT_EQ(interface.propose(text, 3), Tokens());
    EXPECT_EQ(lookup.next(text).known, 0);
    text.push_back(3);
  }
  // Nor of a shorter one, whose end stands in it.
  EXPECT_EQ(interface.propose({1, 2, 3, 1, 2, 3}, 3), Tokens());
  lookup.reset();
  lookup.update({4, 5, 4}, {});
  EXPECT_EQ(interface.propose({4, 5, 4}, 3), (Tokens{5, 4, 5}));
}

TEST(Lookup, WithoutMemory) {
  CountingAllocator allocator(0);
  auto options = lookup_options(1000, 10);
  allocator.install(&options);
  sampler_prompt_lookup_t lookup = reinterpret_cast<sampler_prompt_lookup_t>(&options);
  EXPECT_EQ(sampler_prompt_lookup_create(&options, &lookup), SAMPLER_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(lookup, nullptr);
  EXPECT_LT(allocator.last_bytes(), 132u * 1000 + 1000);
}

TEST(LookupInterface, FollowsOneSequence) {
  Lookup lookup(lookup_options(100, 10));
  lookup.initialize({1, 2, 3, 4});
  EXPECT_EQ(lookup.next({1, 2, 3, 4, 1}), (Next{2, 1}));
  EXPECT_EQ(lookup.next({1, 2, 3, 4, 1, 2}), (Next{3, 1}));
  EXPECT_EQ(lookup.next({1, 2, 3, 4, 1, 2, 9}).known, 0);
  EXPECT_EQ(lookup.next({1, 2, 3}).known, 0) << "shorter than the text";
  // The text grows by contexts; what follows them is not learned.
  lookup.update({1, 2, 3, 4, 1, 2, 7}, {8, 9});
  EXPECT_EQ(lookup.next({1, 2, 3, 4, 1, 2, 7}).known, 0);
  EXPECT_EQ(lookup.next({1, 2, 3, 4, 1, 2, 7, 2}), (Next{7, 1}));
  EXPECT_TRUE(lookup.has({1, 2}));
  EXPECT_TRUE(lookup.has({2, 7}) == false);
  lookup.update({1, 2}, {5});
  EXPECT_EQ(lookup.next({1, 2, 3, 4, 1, 2, 7, 2}), (Next{7, 1}));
  lookup.reset();
  EXPECT_EQ(lookup.next({1}).known, 0);
  EXPECT_FALSE(lookup.has({1}));
}

// One by one, the tokens that next_token gives.
void expect_proposal(const Lookup &lookup, Tokens context, std::size_t num_drafts) {
  const Tokens proposed = lookup.Interface::propose(context, num_drafts, 1, 1.0f);
  ASSERT_EQ(lookup.Interface::propose(context, num_drafts, 2), Tokens());
  Tokens expected;
  while (expected.size() < num_drafts) {
    const Next next = lookup.next(context);
    if (!next.known) break;
    expected.push_back(next.token_id);
    context.push_back(next.token_id);
  }
  ASSERT_EQ(proposed, expected) << testing::PrintToString(context);
}

TEST(LookupInterface, ProposesBeyondTheText) {
  Lookup lookup(lookup_options(20, 10));
  lookup.append({1, 2, 3, 1});
  EXPECT_EQ(lookup.propose(10), (Tokens{2, 3, 1}));
  EXPECT_EQ(lookup.Interface::propose({1, 2, 3, 1}, 5), (Tokens{2, 3, 1, 2, 3}));
  EXPECT_EQ(lookup.Interface::propose({1, 2, 3, 1, 2}, 3), (Tokens{3, 1, 2}));
  EXPECT_EQ(lookup.Interface::propose({1, 2, 3, 1, 9}, 3), Tokens());
  EXPECT_EQ(lookup.Interface::propose({1, 2, 3}, 3), Tokens()) << "shorter than the text";
}

// Contexts that go on from the one before, as those of drafts do, that are cut, that differ in one
// token, and that there is no room for, while the text grows.
TEST(LookupInterface, ContextsMayGoOnFromTheLastOne) {
  std::mt19937 random(seeded(5));
  for (int round = 0; round < 300; ++round) {
    const std::size_t most = 1 + random() % 60;
    const std::int32_t vocabulary_size = std::int32_t(1 + random() % 4);
    const auto any = [&] { return std::int32_t(random() % std::uint32_t(vocabulary_size)); };
    const std::size_t min_match = 1 + random() % 2;
    const std::size_t max_match = random() % 2 ? 0 : min_match + random() % 5;
    const std::size_t longest = max_match == 0 ? 1000 : max_match;
    Lookup lookup(lookup_options(std::int64_t(most), vocabulary_size, std::int64_t(min_match),
                                 std::int64_t(max_match)));
    Tokens text;
    while (text.size() < most) {
      text.push_back(token_of(round % 3, text, &random, vocabulary_size));
      lookup.append({text.back()});
      Tokens context = text;
      for (int i = 0; i < 16; ++i) {
        expect_naive_next(lookup, text, context, min_match, longest);
        if (HasFatalFailure()) return;
        const std::size_t num_more = context.size() - text.size();
        if (num_more > 0 && random() % 8 == 0) context.resize(text.size() + random() % num_more);
        const std::size_t num_left = context.size() - text.size();
        if (num_left > 0 && random() % 4 == 0) context[text.size() + random() % num_left] = any();
        for (std::size_t n = random() % 3; n > 0; --n) context.push_back(any());
        expect_proposal(lookup, context, random() % 9);
        if (random() % 2) context.push_back(lookup.next(context).token_id);
      }
      // The text may become what the last context began with.
      if (context.size() > text.size() && text.size() < most && random() % 4 == 0) {
        text.push_back(context[text.size()]);
        lookup.append({text.back()});
        expect_naive_next(lookup, text, context, min_match, longest);
      }
    }
  }
}

// Tokens that were matched before are of the vocabulary; those that come after them may not be.
TEST(LookupInterface, EachNewTokenIsChecked) {
  Lookup lookup(lookup_options(20, 10));
  lookup.initialize({1, 2, 3, 1});
  EXPECT_EQ(lookup.next({1, 2, 3, 1, 2}), (Next{3, 1}));
  const sampler_ngram &f = lookup.functions;
  std::int32_t token = -7, known = -7;
  for (const Tokens &context : {Tokens{1, 2, 3, 1, 2, 10}, Tokens{1, 2, 3, 1, -1, 3}}) {
    EXPECT_EQ(f.next_token(f.user, context.data(), 6, 0, 0, &token, &known),
              SAMPLER_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(token, -7);
  }
  std::int64_t count = -7;
  const Tokens bad = {1, 2, 3, 1, 2, 10};
  EXPECT_EQ(f.propose(f.user, bad.data(), 6, 1, 0, 0, &token, &count),
            SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(count, -7);
  EXPECT_EQ(lookup.next({1, 2, 3, 1, 2, 3}), (Next{1, 1}));
}

TEST(LookupInterface, AnUnknownTokenIsThatOfAStorage) {
  const Lookup lookup(lookup_options(100, 1000));
  const Storage storage(storage_options(SAMPLER_NGRAM_ALL_ORDERS, 3, 1000));
  for (std::uint64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(lookup.next({1}, i, 3), storage.next({1}, i, 3));
  }
}

}  // namespace
}  // namespace ngram_test::lookup_test
