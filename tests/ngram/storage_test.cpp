// N-gram storages: what they count, forget and drop.
#include <algorithm>
#include <cstring>
#include <functional>
#include <stdexcept>

#include "../seed.h"
#include "chi_square.h"
#include "counting_allocator.h"
#include "support.h"

namespace ngram_test::storage_test {
namespace {

using capi_test::CountingAllocator;

constexpr sampler_ngram_kind kKinds[] = {SAMPLER_NGRAM_ALL_ORDERS, SAMPLER_NGRAM_ONE_LEVEL};

Tokens text_of(std::uint32_t seed, std::size_t num_tokens, std::uint32_t vocabulary_size) {
  std::mt19937 random(seed);
  Tokens text(num_tokens);
  for (std::int32_t &token : text) token = std::int32_t(random() % vocabulary_size);
  return text;
}

TEST(Storage, IsTheNaiveModel) {
  for (const sampler_ngram_kind kind : kKinds) {
    for (const int order : {2, 3, 4, 16}) {
      for (const std::int32_t vocabulary_size : {1, 2, 7, (1 << 20) - 1}) {
        SCOPED_TRACE(testing::Message() << "kind " << kind << ", order " << order << ", vocabulary "
                                        << vocabulary_size);
        std::mt19937 random(seeded(std::uint32_t(order + vocabulary_size)));
        const auto options = storage_options(kind, order, vocabulary_size);
        Storage storage(options);
        NaiveStorage naive(options);
        const std::size_t most = std::size_t(order) + 2;
        for (int step = 0; step < 150; ++step) {
          const std::uint32_t what = random() % 50;
          const Tokens first = random_tokens(&random, most, vocabulary_size);
          const Tokens second = random_tokens(&random, 3, vocabulary_size);
          if (what == 0) {
            storage.reset();
            naive.reset();
          } else if (what < 10) {
            const Tokens text = random_tokens(&random, 60, vocabulary_size);
            storage.initialize(text);
            naive.initialize(text);
          } else {
            storage.update(first, second);
            naive.update(first, second);
          }
          expect_same(storage, naive, &random, vocabulary_size, most, 10);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(Storage, LearnsATextAsItLearnsItsTokens) {
  const Tokens text = text_of(1, 500, 6);
  for (const sampler_ngram_kind kind : kKinds) {
    Storage whole(storage_options(kind, 4, 6)), single(storage_options(kind, 4, 6));
    whole.initialize(text);
    for (std::size_t i = 1; i < text.size(); ++i) {
      single.update(Tokens(text.begin(), text.begin() + std::ptrdiff_t(i)), {text[i]});
    }
    EXPECT_EQ(whole.serialized(), single.serialized());
  }
}

TEST(Storage, KeepsBigrams) {
  Storage storage(storage_options(SAMPLER_NGRAM_ALL_ORDERS, 4, 10));
  storage.initialize({1, 2});
  EXPECT_TRUE(storage.has({1}));
  EXPECT_EQ(storage.next({1}), (Next{2, 1}));
  EXPECT_EQ(storage.next({9, 9, 9, 1}), (Next{2, 1}));
  EXPECT_FALSE(storage.has({2}));
  Storage of_order_2(storage_options(SAMPLER_NGRAM_ONE_LEVEL, 2, 10));
  of_order_2.initialize({1, 2});
  EXPECT_EQ(of_order_2.next({1}), (Next{2, 1}));
}

TEST(Storage, BacksOffToTheLongestKnownContext) {
  Storage storage(storage_options(SAMPLER_NGRAM_ALL_ORDERS, 4, 10));
  storage.update({3}, {4, 4, 4, 4});
  storage.update({2, 3}, {5, 5});
  storage.update({1, 2, 3}, {6});
  EXPECT_EQ(storage.next({1, 2, 3}), (Next{6, 1}));
  EXPECT_EQ(storage.next({8, 1, 2, 3}), (Next{6, 1}));
  EXPECT_EQ(storage.next({8, 2, 3}), (Next{5, 1}));
  EXPECT_EQ(storage.next({8, 3}), (Next{4, 1}));
  EXPECT_EQ(storage.next({3}), (Next{4, 1}));
  EXPECT_EQ(storage.next({8}).known, 0);
  EXPECT_EQ(storage.next({}).known, 0);
  // No back-off there.
  EXPECT_TRUE(storage.has({1, 2, 3}));
  EXPECT_FALSE(storage.has({8, 2, 3}));
  EXPECT_FALSE(storage.has({0, 1, 2, 3}));
  EXPECT_FALSE(storage.has({}));
}

TEST(Storage, OfOneLevelKnowsThatLevelAlone) {
  Storage storage(storage_options(SAMPLER_NGRAM_ONE_LEVEL, 3, 10));
  storage.initialize({1, 2, 3});
  EXPECT_EQ(storage.next({1, 2}), (Next{3, 1}));
  EXPECT_EQ(storage.next({7, 1, 2}), (Next{3, 1}));
  EXPECT_EQ(storage.next({2}).known, 0);
  EXPECT_EQ(storage.next({7, 2}).known, 0);
  EXPECT_FALSE(storage.has({2}));
  EXPECT_EQ(storage.stats().num_contexts, 1);
  EXPECT_EQ(storage.stats().num_updates, 1);
}

TEST(Storage, TheIncumbentWinsTies) {
  Storage storage(storage_options(SAMPLER_NGRAM_ALL_ORDERS, 2, 10));
  storage.update({1}, {7});
  storage.update({1}, {3});
  EXPECT_EQ(storage.next({1}).token_id, 7);
  storage.update({1}, {3});
  EXPECT_EQ(storage.next({1}).token_id, 3);
  storage.update({1}, {7});
  EXPECT_EQ(storage.next({1}).token_id, 3);
  storage.update({1}, {7});
  EXPECT_EQ(storage.next({1}).token_id, 7);
  storage.update({1}, {5, 5, 5});
  EXPECT_EQ(storage.next({1}).token_id, 7);
}

// After 1, 2 comes 6 times of 10; after 1 2, 3 does 3 times of 4; then 4 always, once.
TEST(Storage, ProposesWhatIsCountedOftenEnough) {
  Storage storage(storage_options(SAMPLER_NGRAM_ALL_ORDERS, 3, 10));
  storage.update({1}, {2, 2, 2, 2, 2, 2, 5, 6, 7, 8});
  storage.update({1, 2}, {3, 3, 3, 9});
  storage.update({2, 3}, {4});
  const Tokens all = {2, 3, 4};
  EXPECT_EQ(storage.propose({1}, 10), all);
  EXPECT_EQ(storage.propose({0, 1}, 10), all) << "after the longest known context";
  EXPECT_EQ(storage.propose({1}, 2), (Tokens{2, 3}));
  EXPECT_EQ(storage.propose({1}, 0), Tokens());
  EXPECT_EQ(storage.propose({}, 10), Tokens());
  EXPECT_EQ(storage.propose({4}, 10), Tokens());

  EXPECT_EQ(storage.propose({1}, 10, 1), all);
  EXPECT_EQ(storage.propose({1}, 10, 2), (Tokens{2, 3}));
  EXPECT_EQ(storage.propose({1}, 10, 3), (Tokens{2, 3}));
  EXPECT_EQ(storage.propose({1}, 10, 4), (Tokens{2}));
  EXPECT_EQ(storage.propose({1}, 10, 7), Tokens());
  // A share that is just the limit is enough, though 0.6 is no f32.
  EXPECT_EQ(storage.propose({1}, 10, 0, 0.6f), all);
  EXPECT_EQ(storage.propose({1}, 10, 0, 0.61f), Tokens());
  EXPECT_EQ(storage.propose({1, 2}, 10, 0, 0.75f), (Tokens{3, 4}));
  EXPECT_EQ(storage.propose({1, 2}, 10, 0, 0.76f), Tokens());
  EXPECT_EQ(storage.propose({2, 3}, 10, 0, 1.0f), (Tokens{4}));
  EXPECT_EQ(storage.propose({1, 2}, 10, 3, 0.5f), (Tokens{3}));
}

TEST(Storage, OfTheHighestOrderProposesLongAfterItsContext) {
  Storage storage(storage_options(SAMPLER_NGRAM_ONE_LEVEL, 16, 40));
  Tokens text(40);
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = std::int32_t(i);
  storage.initialize(text);
  const auto from = [&](std::size_t i, std::size_t end) {
    return Tokens(text.begin() + std::ptrdiff_t(i), text.begin() + std::ptrdiff_t(end));
  };
  EXPECT_EQ(storage.propose(from(0, 15), 100), from(15, 40));
  EXPECT_EQ(storage.propose(from(0, 18), 5), from(18, 23));
  EXPECT_EQ(storage.propose(from(1, 15), 100), Tokens()) << "14 tokens";
}

TEST(Storage, AnUnknownTokenIsThatOfTheContract) {
  const Storage storage(storage_options(SAMPLER_NGRAM_ALL_ORDERS, 3, 1000));
  // floor(r * 1000 / 2^64), with the words r of a Philox that is not the library's:
  // 0x1161acf1ad49311a, 0x701fe99a3634b9c0, 0xc088ca6e8a778313, 0x74acfd4bd081b632.
  EXPECT_EQ(storage.next({1}, 42, 7), (Next{67, 0}));
  EXPECT_EQ(storage.next({}, 43, 7), (Next{437, 0}));
  EXPECT_EQ(storage.next({5, 6, 7}, 42, 8), (Next{752, 0}));
  EXPECT_EQ(storage.next({1}, 0x500000009, 0x300000002), (Next{455, 0}));
  const Storage of_one(storage_options(SAMPLER_NGRAM_ALL_ORDERS, 3, 1));
  EXPECT_EQ(of_one.next({0}, 42, 7), (Next{0, 0}));
}

// Chance 1e-6 of failing, taken once: the seeds are fixed. 60,000 draws find a token that comes
// 13 % too often with chance 0.99.
TEST(Storage, UnknownTokensAreUniform) {
  constexpr int kVocabulary = 7, kNumDraws = 60000;
  const Storage storage(storage_options(SAMPLER_NGRAM_ALL_ORDERS, 3, kVocabulary));
  for (const bool by_seed : {true, false}) {
    std::vector<double> counts(kVocabulary);
    for (std::uint64_t i = 0; i < kNumDraws; ++i) {
      const Next next = storage.next({1}, by_seed ? i : 5, by_seed ? 5 : i);
      ASSERT_EQ(next.known, 0);
      ASSERT_TRUE(next.token_id >= 0 && next.token_id < kVocabulary);
      ++counts[std::size_t(next.token_id)];
    }
    double statistic = 0;
    constexpr double kExpected = double(kNumDraws) / kVocabulary;
    for (const double count : counts) {
      statistic += (count - kExpected) * (count - kExpected) / kExpected;
    }
    EXPECT_GT(statistics_test::chi_square_tail(statistic, kVocabulary - 1), 1e-6);
  }
}

TEST(Storage, ForgetsAllOnReset) {
  CountingAllocator allocator;
  auto options = storage_options(SAMPLER_NGRAM_ALL_ORDERS, 3, 50);
  allocator.install(&options);
  Storage storage(options);
  const std::string empty = storage.serialized();
  const std::int64_t least = storage.stats().memory_bytes;
  storage.initialize(text_of(1, 2000, 50));
  EXPECT_EQ(storage.stats().memory_bytes, std::int64_t(allocator.bytes_held()));
  EXPECT_GT(storage.stats().memory_bytes, least);
  storage.reset();
  EXPECT_EQ(storage.serialized(), empty);
  EXPECT_EQ(storage.stats().memory_bytes, least);
  EXPECT_EQ(std::int64_t(allocator.bytes_held()), least);
  EXPECT_EQ(storage.next({1}).known, 0);
}

// The counts in a serialised storage, and the number of n-grams.
struct Sum {
  std::uint64_t counts = 0, num_grams = 0;
};
Sum sum_of(const std::string &data) {
  std::uint64_t num_contexts, num_grams;
  std::memcpy(&num_contexts, data.data() + 24, sizeof num_contexts);
  std::memcpy(&num_grams, data.data() + 32, sizeof num_grams);
  Sum sum;
  for (std::uint64_t i = 0; i < num_grams; ++i) {
    std::uint32_t count;
    std::memcpy(&count, data.data() + 56 + 12 * (num_contexts + i) + 8, sizeof count);
    sum.counts += count;
  }
  sum.num_grams = num_grams;
  return sum;
}

TEST(MemoryLimit, HoldsAtAnyTime) {
  for (const sampler_ngram_kind kind : kKinds) {
    for (std::int64_t limit = 4096; limit < 200000; limit += limit / 10) {
      SCOPED_TRACE(testing::Message() << "kind " << kind << ", limit " << limit);
      CountingAllocator allocator;
      auto options = storage_options(kind, 4, 100);
      options.memory_limit = limit;
      allocator.install(&options);
      Storage storage(options);
      const Tokens text = text_of(3, 4000, 100);
      storage.initialize(Tokens(text.begin(), text.begin() + 30));
      storage.initialize(Tokens(text.begin() + 27, text.end()));
      for (std::size_t i = 3; i < text.size(); ++i) {
        storage.update({text[i], text[i - 1], text[i - 2]}, {text[i - 3]});
      }
      EXPECT_LE(allocator.peak_bytes(), std::size_t(limit));
      EXPECT_EQ(storage.stats().memory_bytes, std::int64_t(allocator.bytes_held()));
      if (limit > 4096) {
        EXPECT_GT(allocator.peak_bytes(), std::size_t(limit) / 4);
      }
      EXPECT_GT(storage.stats().num_dropped, 0);
      // Every n-gram was counted or dropped.
      const std::uint64_t all = kind == SAMPLER_NGRAM_ALL_ORDERS
                                    ? (3 * 29 - 3) + (3 * 3972 - 3) + 3 * 3997
                                    : 27 + 3970 + 3997;
      EXPECT_EQ(sum_of(storage.serialized()).counts + std::uint64_t(storage.stats().num_dropped),
                all);
    }
  }
}

TEST(MemoryLimit, KnownNgramsStillCount) {
  auto options = storage_options(SAMPLER_NGRAM_ALL_ORDERS, 3, 1000);
  options.memory_limit = 20000;
  Storage storage(options);
  storage.update({1, 2}, {3, 4, 4});
  storage.initialize(text_of(3, 10000, 1000));
  ASSERT_GT(storage.stats().num_dropped, 0);
  const Sum before = sum_of(storage.serialized());
  const std::int64_t dropped = storage.stats().num_dropped;
  EXPECT_EQ(storage.next({1, 2}), (Next{4, 1}));
  storage.update({1, 2}, {3, 3});
  EXPECT_EQ(storage.next({1, 2}), (Next{3, 1}));
  EXPECT_EQ(storage.stats().num_dropped, dropped);
  const Sum after = sum_of(storage.serialized());
  EXPECT_EQ(after.counts, before.counts + 4);
  EXPECT_EQ(after.num_grams, before.num_grams);
}

TEST(Allocator, FailingAsAStorageIsCreated) {
  CountingAllocator allocator(0);
  auto options = storage_options(SAMPLER_NGRAM_ALL_ORDERS, 3, 20);
  allocator.install(&options);
  sampler_ngram_storage_t storage = reinterpret_cast<sampler_ngram_storage_t>(&options);
  EXPECT_EQ(sampler_ngram_storage_create(&options, &storage), SAMPLER_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(storage, nullptr);
  EXPECT_EQ(sampler_last_error(), "the allocator returned NULL for the storage, " +
                                      std::to_string(allocator.last_bytes()) + " bytes");
}

// Runs a step. Where it fails for want of memory, all is as it was, and it is run again.
void run_until_done(const Storage &storage, const CountingAllocator &allocator, int *num_failures,
                    const std::function<sampler_status()> &step) {
  const std::string before = storage.serialized();
  const std::int64_t bytes = storage.stats().memory_bytes;
  if (step() == SAMPLER_OK) return;
  ++*num_failures;
  EXPECT_STREQ(sampler_last_error(),
               "the allocator returned NULL for a larger table; the storage is as it was");
  EXPECT_EQ(storage.serialized(), before);
  EXPECT_EQ(storage.stats().memory_bytes, bytes);
  EXPECT_EQ(allocator.bytes_held(), std::size_t(bytes));
  EXPECT_EQ(step(), SAMPLER_OK);
}

TEST(Allocator, FailingAtEachCallInTurn) {
  constexpr std::size_t kNumUpdates = 300;
  const Tokens text = text_of(9, 3000, 20);
  for (const sampler_ngram_kind kind : kKinds) {
    auto options = storage_options(kind, 3, 20);
    NaiveStorage naive(options);
    for (std::size_t i = 2; i < kNumUpdates; ++i) {
      naive.update(Tokens(text.begin(), text.begin() + std::ptrdiff_t(i)), {text[i]});
    }
    naive.initialize(text);

    // Call 0 is that of the storage itself.
    int num_calls = 2, num_failures = 0;
    for (int failing = 1; failing < num_calls; ++failing) {
      CountingAllocator allocator(failing);
      allocator.install(&options);
      Storage storage(options);
      const sampler_ngram &f = storage.functions;
      const auto run = [&](const std::function<sampler_status()> &step) {
        run_until_done(storage, allocator, &num_failures, step);
      };
      for (std::size_t i = 2; i < kNumUpdates; ++i) {
        run([&] { return f.update(f.user, text.data(), std::int64_t(i), &text[i], 1); });
      }
      run([&] { return f.initialize(f.user, text.data(), std::int64_t(text.size())); });
      const std::string learned = storage.serialized();
      run([&] { return f.update(f.user, text.data(), 2, &text[5], 1); });
      run([&] { return storage.deserialize(learned); });
      EXPECT_EQ(storage.serialized(), learned);
      std::mt19937 random(1);
      expect_same(storage, naive, &random, 20, 4, 300);
      num_calls = std::max(num_calls, allocator.num_calls());
    }
    EXPECT_GE(num_failures, 5);
  }
}

TEST(Allocator, ThatThrowsHasNone) {
  auto options = storage_options(SAMPLER_NGRAM_ALL_ORDERS, 3, 20);
  static bool throws;
  throws = false;
  options.allocator.allocate = [](void *, std::size_t bytes, std::size_t alignment) -> void * {
    if (throws) throw std::runtime_error("no memory");
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  };
  options.allocator.deallocate = [](void *, void *memory, std::size_t, std::size_t) {
    std::free(memory);
  };
  Storage storage(options);
  throws = true;
  const std::int32_t token = 1;
  EXPECT_EQ(storage.functions.update(storage.functions.user, &token, 1, &token, 1),
            SAMPLER_ERROR_OUT_OF_MEMORY);
  sampler_ngram_storage_t other = nullptr;
  EXPECT_EQ(sampler_ngram_storage_create(&options, &other), SAMPLER_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(other, nullptr);
}

}  // namespace
}  // namespace ngram_test::storage_test
