// What texts made to collide cost, in basic blocks of the library's code that are run: the copy of
// it in this program counts them (see CMakeLists.txt). So these tests depend on no clock, and see
// any new loop.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "decoding/ngram/ngram_storage.h"
#include "decoding/ngram/prompt_lookup.h"
#include "support.h"

namespace {
std::uint64_t num_blocks = 0;
}

// What the compiler calls in each block.
extern "C" void __sanitizer_cov_trace_pc() {
  ++num_blocks;
}

namespace ngram_test {
namespace {

using sampler::decoding::NgramStorage;
using sampler::decoding::PromptLookup;

constexpr std::int64_t kVocabulary = (1 << 20) - 1;

// ---- The library's hashes -----------------------------------------------------------------------

constexpr std::uint64_t kRootHash = 0x243F6A8885A308D3u;

std::uint64_t mix(std::uint64_t hash) {
  hash *= 0x9E3779B97F4A7C15u;
  return (hash ^ hash >> 32) * 0xD6E8FEB86659FD93u;
}

std::uint64_t extend(std::uint64_t hash, std::int32_t token) {
  hash = mix(hash ^ std::uint32_t(token));
  return hash ^ hash >> 32;
}

std::uint64_t hash_of(const Tokens &latest_first) {
  std::uint64_t hash = kRootHash;
  for (const std::int32_t token : latest_first) hash = extend(hash, token);
  return hash;
}

// ---- Texts --------------------------------------------------------------------------------------

Tokens random_text(std::size_t num_tokens) {
  std::mt19937 random(1);
  Tokens text(num_tokens);
  for (std::int32_t &token : text) token = std::int32_t(random() % kVocabulary);
  return text;
}

// A text each of whose tokens is the first that suits from a random one on.
template <class Suits>
Tokens make_text(std::size_t num_tokens, const Suits &suits) {
  std::mt19937 random(2);
  Tokens text;
  while (text.size() < num_tokens) {
    std::int32_t token = std::int32_t(random() % kVocabulary);
    while (!suits(text, token)) token = (token + 1) % kVocabulary;
    text.push_back(token);
  }
  return text;
}

// The n-grams of the longest contexts are all different and want 256 slots of the 2^20 or fewer.
Tokens text_of_colliding_grams(std::size_t num_tokens, std::size_t order) {
  std::set<Tokens> used;
  Tokens gram;
  std::uint64_t hash = 0;
  return make_text(num_tokens, [&](const Tokens &text, std::int32_t token) {
    if (text.size() < order - 1) return true;
    if (gram.empty()) {
      gram.assign(text.rbegin(), text.rbegin() + std::ptrdiff_t(order - 1));
      hash = hash_of(gram);
    }
    if (extend(~hash, token) % (1 << 20) >= 256) return false;
    gram.push_back(token);
    const bool is_new = used.insert(gram).second;
    gram.pop_back();
    if (is_new) gram.clear();
    return is_new;
  });
}

// The tokens are all different, and as contexts want the first 64th of the slots of a table of up
// to 2^16.
Tokens text_of_colliding_contexts(std::size_t num_tokens) {
  std::vector<bool> used(kVocabulary);
  return make_text(num_tokens, [&](const Tokens &, std::int32_t token) {
    if (used[std::size_t(token)] || extend(kRootHash, token) % (1 << 16) >= 1 << 10) return false;
    used[std::size_t(token)] = true;
    return true;
  });
}

// The tokens are all different. In a lookup with room for num_tokens, the edge from each end of the
// text to the next one wants one of the first 64 slots. States are numbered from 1 on, as they
// come.
Tokens text_of_colliding_edges(std::size_t num_tokens) {
  std::vector<bool> used(kVocabulary);
  return make_text(num_tokens, [&](const Tokens &text, std::int32_t token) {
    const std::uint64_t from = text.size() + 1, num_slots = 4 * num_tokens + 4;
    const std::uint64_t hash = mix(from << 32 | std::uint32_t(token));
    if (used[std::size_t(token)] || (hash >> 32) * num_slots >> 32 >= 64) return false;
    used[std::size_t(token)] = true;
    return true;
  });
}

// ---- Work ---------------------------------------------------------------------------------------

double blocks_of(const std::function<void()> &work) {
  num_blocks = 0;
  work();
  return double(num_blocks);
}

NgramStorage::Config config(int order) {
  NgramStorage::Config config;
  config.all_orders = true;
  config.order = order;
  config.vocabulary_size = kVocabulary;
  config.memory_limit = 0;
  config.memory.user = nullptr;
  config.memory.allocate = [](void *, std::size_t bytes) { return std::malloc(bytes); };
  config.memory.deallocate = [](void *, void *memory, std::size_t) { std::free(memory); };
  return config;
}

// Blocks for each token and order that is kept.
struct StorageWork {
  double learn, ask, propose, deserialize;
};

StorageWork work_of(const Tokens &text, int order) {
  const std::int64_t num_tokens = std::int64_t(text.size());
  NgramStorage storage(config(order)), other(config(order));
  StorageWork work;
  work.learn = blocks_of([&] { EXPECT_TRUE(storage.initialize(text.data(), num_tokens)); });
  work.ask = blocks_of([&] {
    for (std::int64_t i = 1; i <= num_tokens; ++i) storage.next_token(text.data(), i);
  });
  work.propose = blocks_of([&] {
    std::int32_t draft;
    for (std::int64_t i = 1; i <= num_tokens; ++i) storage.propose(text.data(), i, 1, 1, 0, &draft);
  });
  std::vector<unsigned char> data(storage.serialized_bytes());
  storage.serialize(data.data());
  work.deserialize = blocks_of([&] {
    const char *reason = "";
    EXPECT_EQ(other.deserialize(data.data(), data.size(), &reason), NgramStorage::Loaded::kOk)
        << reason;
  });
  const double count = double(num_tokens) * (order - 1);
  return {work.learn / count, work.ask / count, work.propose / count, work.deserialize / count};
}

double lookup_work_of(const Tokens &text) {
  const std::int64_t num_tokens = std::int64_t(text.size());
  std::vector<std::uint64_t> memory(PromptLookup::memory_bytes(num_tokens) / 8 + 1);
  PromptLookup lookup(memory.data(), num_tokens, {1, INT64_MAX});
  return blocks_of([&] {
           for (const std::int32_t token : text) lookup.append(token);
         }) /
         double(num_tokens);
}

// Ways through 32 slots and a tree of 10^5 nodes, with what goes with them, a few of each for a
// token and an order. What is learned, or read, is also copied at each doubling.
constexpr double kMostToLearn = 1500, kMostToAsk = 400, kMostToRead = 1500;

void expect_bounded(const StorageWork &work) {
  EXPECT_LT(work.learn, kMostToLearn);
  EXPECT_LT(work.ask, kMostToAsk);
  EXPECT_LT(work.propose, kMostToAsk);
  EXPECT_LT(work.deserialize, kMostToRead);
}

// That the texts still collide: they cost more than others. Where the library's hash has changed
// they must be made by the new one.
void expect_more(const StorageWork &work, const StorageWork &of_random) {
  EXPECT_GT(work.learn, 1.5 * of_random.learn);
}

TEST(Complexity, CollidingGrams) {
  for (const int order : {2, 3, 4}) {
    SCOPED_TRACE(order);
    const StorageWork random = work_of(random_text(16000), order);
    expect_bounded(random);
    const Tokens text = text_of_colliding_grams(16000, std::size_t(order));
    const StorageWork work = work_of(text, order);
    expect_bounded(work);
    expect_more(work, random);
  }
}

TEST(Complexity, CollidingContexts) {
  const StorageWork random = work_of(random_text(8000), 2);
  const StorageWork work = work_of(text_of_colliding_contexts(8000), 2);
  expect_bounded(work);
  expect_more(work, random);
}

TEST(Complexity, CollidingEdges) {
  const double random = lookup_work_of(random_text(16000));
  const double work = lookup_work_of(text_of_colliding_edges(16000));
  EXPECT_LT(work, 1000);
  EXPECT_GT(work, 1.5 * random);
}

// Colliding n-grams are counted all the same, and come back from the serialised form.
TEST(Collisions, ChangeNoCount) {
  for (const int order : {2, 3}) {
    const auto options = storage_options(SAMPLER_NGRAM_ALL_ORDERS, order, kVocabulary);
    Storage storage(options), other(options);
    NaiveStorage naive(options);
    const Tokens text = text_of_colliding_grams(3000, std::size_t(order));
    for (int round = 0; round < 2; ++round) {
      storage.initialize(text);
      naive.initialize(text);
    }
    ASSERT_EQ(other.deserialize(storage.serialized()), SAMPLER_OK);
    EXPECT_EQ(other.serialized(), storage.serialized());
    EXPECT_EQ(storage.stats().num_contexts, naive.num_contexts());
    for (std::size_t i = 1; i < text.size(); ++i) {
      const Tokens end(text.begin() + std::ptrdiff_t(i < 3 ? 0 : i - 3),
                       text.begin() + std::ptrdiff_t(i));
      ASSERT_EQ(storage.next(end), naive.next(end));
      ASSERT_EQ(other.next(end), naive.next(end));
    }
  }
}

// The last quarter repeats the second one, nine tokens at a time, the first three of which are no
// match yet. Each run splits a state off, with its edges.
TEST(Collisions, ChangeNoMatch) {
  constexpr std::size_t kNumTokens = 4000;
  Tokens text = text_of_colliding_edges(kNumTokens);
  std::vector<std::uint64_t> memory(PromptLookup::memory_bytes(kNumTokens) / 8 + 1);
  PromptLookup lookup(memory.data(), kNumTokens, {4, INT64_MAX});
  for (std::size_t i = 0; i < kNumTokens; ++i) {
    const bool is_repeated = i >= 3 * kNumTokens / 4 && i % 10 != 0;
    if (is_repeated) text[i] = text[i - kNumTokens / 2];
    lookup.append(text[i]);
    std::int32_t drafts[2];
    const bool is_match = is_repeated && i % 10 >= 4;
    ASSERT_EQ(lookup.propose(2, drafts), is_match ? 2 : 0) << i;
    if (!is_match) continue;
    ASSERT_EQ(drafts[0], text[i - kNumTokens / 2 + 1]) << i;
    ASSERT_EQ(drafts[1], text[i - kNumTokens / 2 + 2]) << i;
  }
}

// Twice the text takes little more than twice the work.
TEST(Complexity, Growth) {
  const double half = work_of(text_of_colliding_grams(8000, 2), 2).learn;
  const double all = work_of(text_of_colliding_grams(16000, 2), 2).learn;
  EXPECT_LT(all, 1.3 * half);
  EXPECT_LT(lookup_work_of(text_of_colliding_edges(16000)),
            1.3 * lookup_work_of(text_of_colliding_edges(8000)));
}

// The longest match of a run has as many ends as the run has tokens, and none goes on with another
// token.
TEST(Complexity, TokenThatFollowsNoEndOfTheMatch) {
  constexpr std::int64_t kNumTokens = 20000;
  constexpr int kNumCalls = 1000;
  for (const std::int64_t max_match : {INT64_MAX, std::int64_t(10000)}) {
    std::vector<std::uint64_t> memory(PromptLookup::memory_bytes(kNumTokens) / 8 + 1);
    PromptLookup lookup(memory.data(), kNumTokens, {1, max_match});
    for (std::int64_t i = 0; i < kNumTokens; ++i) lookup.append(i == 0 ? 7 : 5);
    const double blocks = blocks_of([&] {
      for (int i = 0; i < kNumCalls; ++i) {
        const std::int32_t more[] = {9, 7};
        EXPECT_EQ(lookup.next_token(more, 2, 0), 5);
      }
    });
    EXPECT_LT(blocks / kNumCalls, 1000);
  }
}

// Each context goes on from the one before. A token costs as much after a thousand drafts as after
// a few, whether the drafts are found or match nothing.
TEST(Complexity, DraftsOneByOne) {
  constexpr std::int64_t kNumTokens = 4000;
  Tokens text = random_text(kNumTokens / 2);
  text.insert(text.end(), text.begin(), text.end());
  std::vector<std::uint64_t> memory(PromptLookup::memory_bytes(2 * kNumTokens) / 8 + 1);
  for (const bool is_found : {true, false}) {
    PromptLookup lookup(memory.data(), 2 * kNumTokens, {1, INT64_MAX});
    for (const std::int32_t token : text) lookup.append(token);
    const auto work_of_a_draft = [&](std::size_t num_drafts) {
      Tokens drafts;
      const double blocks = blocks_of([&] {
        while (drafts.size() < num_drafts) {
          const auto count = std::int64_t(drafts.size());
          const std::int32_t next =
              lookup.next_token(drafts.data(), count, lookup.num_matched(drafts.data(), count));
          drafts.push_back(is_found ? next : kVocabulary - 1);
        }
      });
      EXPECT_TRUE(!is_found || std::equal(drafts.begin(), drafts.end(), text.begin()));
      return blocks / double(num_drafts);
    };
    EXPECT_LT(work_of_a_draft(1024), 1.5 * work_of_a_draft(32)) << is_found;
  }
}

}  // namespace
}  // namespace ngram_test
