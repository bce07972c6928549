// Serialised storages: the format, and bytes that are none.
#include <algorithm>

#include "../seed.h"
#include "support.h"

namespace ngram_test::serialize_test {
namespace {

std::uint64_t checksum_of(const std::string &data) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (std::size_t i = 0; i + 8 < data.size(); ++i) {
    hash = (hash ^ static_cast<unsigned char>(data[i])) * 0x100000001B3u;
  }
  return hash;
}

void put(std::string *data, std::size_t at, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) (*data)[at + std::size_t(i)] = char(value >> 8 * i);
}

std::string with_checksum(std::string data) {
  put(&data, data.size() - 8, checksum_of(data), 8);
  return data;
}

std::string hex(const std::string &data) {
  static const char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : data) {
    const unsigned byte = static_cast<unsigned char>(c);
    text += {kDigits[byte / 16], kDigits[byte % 16]};
  }
  return text;
}

// Contexts (2), (3), (2 3) of a vocabulary of 300; what follows 3 is 260 twice and 4 once.
Storage small_storage(sampler_ngram_kind kind = SAMPLER_NGRAM_ALL_ORDERS) {
  Storage storage(storage_options(kind, 3, 300));
  storage.update({2}, {3});
  storage.update({2, 3}, {4, 260});
  storage.update({3}, {260});
  return storage;
}

constexpr std::size_t kHeader = 56, kRecord = 12;

// Header: name, version, whether of all orders, order, vocabulary size; numbers of contexts and
// n-grams, updates, dropped. Contexts: parent, token, likeliest token. N-grams: context, token,
// count. Checksum.
TEST(Serialized, IsTheSameOnEveryMachine) {
  EXPECT_EQ(hex(small_storage().serialized()),
            "534d504c4e47524d"
            "01000000"
            "01000000"
            "03000000"
            "2c010000"
            "0300000000000000"
            "0500000000000000"
            "0400000000000000"
            "0000000000000000"
            "000000000200000003000000"
            "000000000300000004010000"
            "020000000200000004000000"
            "010000000300000001000000"
            "020000000400000001000000"
            "020000000401000002000000"
            "030000000400000001000000"
            "030000000401000001000000"
            "5c719e7b0f8907e4");
  EXPECT_EQ(hex(small_storage(SAMPLER_NGRAM_ONE_LEVEL).serialized()),
            "534d504c4e47524d"
            "01000000"
            "00000000"
            "03000000"
            "2c010000"
            "0200000000000000"
            "0200000000000000"
            "0200000000000000"
            "0000000000000000"
            "0000000003000000ffffffff"
            "010000000200000004000000"
            "020000000400000001000000"
            "020000000401000001000000"
            "f73937b49f0a9566");
}

TEST(Serialized, ComesBack) {
  for (const sampler_ngram_kind kind : {SAMPLER_NGRAM_ALL_ORDERS, SAMPLER_NGRAM_ONE_LEVEL}) {
    for (const std::size_t most : {0, 1, 5, 3000}) {
      std::mt19937 random(seeded(7));
      const auto options = storage_options(kind, 4, 30);
      NaiveStorage naive(options);
      Storage first(options), second(options);
      const Tokens text = random_tokens(&random, most, 30);
      naive.initialize(text);
      first.initialize(text);
      second.initialize({1, 2, 3, 4, 5, 6});
      const std::string data = first.serialized();
      ASSERT_EQ(second.deserialize(data), SAMPLER_OK) << sampler_last_error();
      EXPECT_EQ(second.serialized(), data);
      expect_same(second, naive, &random, 30, 5, 500);
      // And goes on like the first one, ties included.
      const Tokens more = random_tokens(&random, most, 30);
      naive.initialize(more);
      first.initialize(more);
      second.initialize(more);
      EXPECT_EQ(second.serialized(), first.serialized());
      expect_same(second, naive, &random, 30, 5, 500);
    }
  }
}

// What follows 3: two tokens with the largest count. Their sum is beyond 32 bits.
TEST(Serialized, SharesOfTheLargestCounts) {
  Storage storage = small_storage();
  std::string data = storage.serialized();
  for (const std::size_t gram : {1, 2}) {
    put(&data, kHeader + kRecord * (3 + gram) + 8, 0xFFFFFFFFu, 4);
  }
  ASSERT_EQ(storage.deserialize(with_checksum(data)), SAMPLER_OK) << sampler_last_error();
  EXPECT_EQ(storage.propose({3}, 1, 0, 0.5f), (Tokens{260}));
  EXPECT_EQ(storage.propose({3}, 1, 0, 0.51f), Tokens());
  EXPECT_EQ(storage.propose({3}, 1, 0xFFFFFFFF), (Tokens{260}));
  EXPECT_EQ(storage.propose({3}, 1, std::int64_t(1) << 32), Tokens());
}

TEST(Serialized, MayLieAnywhere) {
  const Storage storage = small_storage();
  const std::string data = storage.serialized();
  std::string shifted(data.size() + 1, '\0');
  std::size_t bytes = 0;
  ASSERT_EQ(sampler_ngram_storage_serialize(storage.get(), shifted.data() + 1, data.size(), &bytes),
            SAMPLER_OK);
  EXPECT_EQ(shifted.substr(1), data);
  Storage other(storage_options(SAMPLER_NGRAM_ALL_ORDERS, 3, 300));
  ASSERT_EQ(sampler_ngram_storage_deserialize(other.get(), shifted.data() + 1, shifted.size() - 1),
            SAMPLER_OK);
  EXPECT_EQ(other.serialized(), data);
}

// Refused, with this status, and all is as before.
void expect_refused(Storage *storage, const std::string &data, sampler_status status,
                    const std::string &message = "") {
  const std::string before = storage->serialized();
  ASSERT_EQ(storage->deserialize(data), status);
  if (!message.empty()) {
    ASSERT_EQ(sampler_last_error(), message);
  }
  ASSERT_EQ(storage->serialized(), before);
}

TEST(Corrupt, AnyByteChangedOrMissing) {
  Storage storage(storage_options(SAMPLER_NGRAM_ALL_ORDERS, 3, 300));
  storage.initialize({7, 8, 9});
  const std::string data = small_storage().serialized();
  for (std::size_t i = 0; i < data.size(); ++i) {
    SCOPED_TRACE(i);
    for (const int change : {1, 0x80, 0xFF}) {
      std::string changed = data;
      changed[i] = char(changed[i] ^ change);
      expect_refused(&storage, changed, SAMPLER_ERROR_CORRUPT_DATA);
    }
    expect_refused(&storage, data.substr(0, i), SAMPLER_ERROR_CORRUPT_DATA);
    expect_refused(&storage, data.substr(i + 1), SAMPLER_ERROR_CORRUPT_DATA);
    if (HasFatalFailure()) return;
  }
  expect_refused(&storage, data + '\0', SAMPLER_ERROR_CORRUPT_DATA);
}

// With a right checksum the contents decide: what is taken gives the same bytes back.
TEST(Corrupt, AnyByteOfTheContents) {
  for (const sampler_ngram_kind kind : {SAMPLER_NGRAM_ALL_ORDERS, SAMPLER_NGRAM_ONE_LEVEL}) {
    Storage storage(storage_options(kind, 3, 300));
    const std::string data = small_storage(kind).serialized();
    int num_taken = 0, num_refused = 0;
    for (std::size_t i = 0; i + 8 < data.size(); ++i) {
      for (int value = 0; value < 256; ++value) {
        std::string changed = data;
        changed[i] = char(value);
        changed = with_checksum(changed);
        if (storage.deserialize(changed) == SAMPLER_OK) {
          ++num_taken;
          ASSERT_EQ(storage.serialized(), changed) << i << ", " << value;
          storage.initialize({1, 2, 3, 4, 299});
        } else {
          ++num_refused;
        }
      }
    }
    EXPECT_GT(num_taken, 1000);
    EXPECT_GT(num_refused, 1000);
  }
}

TEST(Corrupt, RandomBytesBehindAHeader) {
  std::mt19937 random(seeded(5));
  Storage storage(storage_options(SAMPLER_NGRAM_ALL_ORDERS, 3, 300));
  const std::string data = small_storage().serialized();
  for (int round = 0; round < 3000; ++round) {
    std::string changed = data;
    for (int i = 0; i < 4; ++i) {
      const std::size_t at = kHeader + random() % (data.size() - kHeader - 8) / 4 * 4;
      put(&changed, at, random() % 4 ? random() % 6 : random(), 4);
    }
    changed = with_checksum(changed);
    if (storage.deserialize(changed) == SAMPLER_OK) {
      ASSERT_EQ(storage.serialized(), changed);
    }
  }
}

TEST(Corrupt, EachRuleIsChecked) {
  const sampler_status corrupt = SAMPLER_ERROR_CORRUPT_DATA;
  Storage storage = small_storage();
  const std::string data = storage.serialized();
  const auto changed = [&](std::size_t at, std::uint64_t value, int bytes = 4) {
    std::string result = data;
    put(&result, at, value, bytes);
    return with_checksum(result);
  };
  const auto context = [&](int i, int member) {
    return kHeader + kRecord * std::size_t(i - 1) + 4 * std::size_t(member);
  };
  const auto gram = [&](int i, int member) { return context(4 + i, member); };

  expect_refused(&storage, "", corrupt, "data are shorter than a header");
  expect_refused(&storage, data.substr(0, 63), corrupt, "data are shorter than a header");
  expect_refused(&storage, changed(0, 'x', 1), corrupt, "data are no n-gram storage");
  expect_refused(&storage, changed(8, 2), corrupt, "data are of an unknown format version");
  expect_refused(&storage, changed(8, 0), corrupt, "data are of an unknown format version");
  std::string damaged = data;
  damaged[70] = char(damaged[70] ^ 1);
  expect_refused(&storage, damaged, corrupt, "data have a wrong checksum");

  const std::string size = "data have another size than their header says";
  for (const std::size_t at : {24, 32}) {
    for (const std::uint64_t count :
         {std::uint64_t(0), std::uint64_t(1) << 32, std::uint64_t(1) << 62, ~std::uint64_t(0)}) {
      expect_refused(&storage, changed(at, count, 8), corrupt, size);
    }
  }
  // Counts whose sum is right modulo 2^64.
  std::string wrapped = data;
  put(&wrapped, 24, std::uint64_t(1) << 63, 8);
  put(&wrapped, 32, (std::uint64_t(1) << 63) + 8, 8);
  expect_refused(&storage, with_checksum(wrapped), corrupt, size);
  expect_refused(&storage, changed(40, ~std::uint64_t(0), 8), corrupt,
                 "data have a negative statistic");

  expect_refused(&storage, changed(context(1, 0), 1), corrupt,
                 "data have a context before its parent");
  expect_refused(&storage, changed(context(2, 0), 3), corrupt,
                 "data have a context before its parent");
  expect_refused(&storage, changed(context(1, 1), 300), corrupt,
                 "data have a token outside the vocabulary");
  expect_refused(&storage, changed(context(2, 1), 2), corrupt, "data have a context twice");
  expect_refused(&storage, changed(context(1, 2), 4), corrupt,
                 "data have a likeliest token that is not");
  expect_refused(&storage, changed(context(2, 2), 4), corrupt,
                 "data have a likeliest token that is not");
  expect_refused(&storage, changed(gram(0, 0), 0), corrupt, "data have an empty context");
  expect_refused(&storage, changed(gram(0, 0), 9), corrupt, "data have an empty context");
  expect_refused(&storage, changed(gram(4, 0), 9), corrupt,
                 "data have an n-gram without its context");
  expect_refused(&storage, changed(gram(0, 1), 300), corrupt,
                 "data have a token outside the vocabulary");
  expect_refused(&storage, changed(gram(2, 1), 4), corrupt, "data have n-grams out of order");
  expect_refused(&storage, changed(gram(2, 1), 3), corrupt, "data have n-grams out of order");
  expect_refused(&storage, changed(gram(1, 2), 0), corrupt,
                 "data have an n-gram that is not counted");

  // (2 3 3), in a storage that keeps contexts of two tokens.
  Storage deeper(storage_options(SAMPLER_NGRAM_ALL_ORDERS, 4, 300));
  deeper.initialize({1, 2, 3, 4});
  std::string deep = deeper.serialized();
  put(&deep, 16, 3, 4);
  expect_refused(&storage, with_checksum(deep), corrupt, "data have a context that is too long");
}

TEST(Deserialize, OfAnotherStorageIsRefused) {
  const std::string data = small_storage().serialized();
  const std::string ends[] = {"kind", "order", "vocabulary_size"};
  const sampler_ngram_storage_options others[] = {
      storage_options(SAMPLER_NGRAM_ONE_LEVEL, 3, 300),
      storage_options(SAMPLER_NGRAM_ALL_ORDERS, 4, 300),
      storage_options(SAMPLER_NGRAM_ALL_ORDERS, 3, 301)};
  for (int i = 0; i < 3; ++i) {
    Storage storage(others[i]);
    storage.initialize({5, 6, 7});
    expect_refused(&storage, data, SAMPLER_ERROR_INVALID_ARGUMENT,
                   "data are of a storage of another " + ends[i] + "; it must be the same");
  }
}

TEST(Deserialize, KeepsTheMemoryLimit) {
  Storage large(storage_options(SAMPLER_NGRAM_ALL_ORDERS, 3, 300));
  std::mt19937 random(3);
  Tokens text(3000);
  for (std::int32_t &token : text) token = std::int32_t(random() % 300);
  large.initialize(text);
  auto options = storage_options(SAMPLER_NGRAM_ALL_ORDERS, 3, 300);
  options.memory_limit = 10000;
  Storage storage(options);
  storage.initialize({1, 2, 3});
  expect_refused(&storage, large.serialized(), SAMPLER_ERROR_OUT_OF_MEMORY,
                 "memory_limit is 10000; old and new contents together need more");
  EXPECT_EQ(storage.deserialize(small_storage().serialized()), SAMPLER_OK);
}

TEST(Serialize, IntoWhatIsTooSmall) {
  const Storage storage = small_storage();
  const std::string data = storage.serialized();
  std::string buffer(data.size(), '\xCD');
  std::size_t bytes = 77;
  EXPECT_EQ(sampler_ngram_storage_serialize(storage.get(), buffer.data(), data.size() - 1, &bytes),
            SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(sampler_last_error(), "buffer_bytes is " + std::to_string(data.size() - 1) +
                                      "; this storage needs " + std::to_string(data.size()));
  EXPECT_EQ(buffer, std::string(data.size(), '\xCD'));
  EXPECT_EQ(bytes, 77u);
}

}  // namespace
}  // namespace ngram_test::serialize_test
