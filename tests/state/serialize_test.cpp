// The serialised form: its bytes, on every machine the same; what is wrong with others.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "support.h"

namespace state_test::serialize_test {
namespace {

void put(std::string *data, std::size_t at, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) (*data)[at + i] = char(value >> 8 * i);
}

// FNV-1a of 64 bits (Fowler, Noll, Vo).
std::uint64_t fnv1a(const std::string &bytes) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char byte : bytes) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= 1099511628211u;
  }
  return hash;
}

std::string with_checksum(std::string body) {
  const std::uint64_t hash = fnv1a(body);
  body.resize(body.size() + 8);
  put(&body, body.size() - 8, hash, 8);
  return body;
}

// Deserialises a copy of exactly these bytes, into the pair's slots from the first one on.
sampler_status load(const Pair &pair, const std::string &data) {
  const std::unique_ptr<char[]> exact(new char[data.size()]);
  std::memcpy(exact.get(), data.data(), data.size());
  return sampler_state_deserialize(pair.sampler(), pair.state(), 0, exact.get(), data.size(),
                                   nullptr);
}

class Serialized : public testing::TestWithParam<bool> {
 protected:
  Serialized() {
    const Adaptive adaptive = {SAMPLER_ADAPTIVE_MIROSTAT_V2, 2.0F, 0.5F, 1.0F, 0, 0};
    pair_.append({0, 2}, {{5, 258}, {7}}, true, SAMPLER_ID_I32);
    pair_.accept({0}, {{{INT32_MAX}, {3.0F}}}, SAMPLER_ID_I32, &adaptive);
    data_ = pair_.bytes();
    body_ = data_.substr(0, data_.size() - 8);
  }

  void expect_corrupt(const std::string &data, const std::string &reason) {
    EXPECT_EQ(load(pair_, data), SAMPLER_ERROR_CORRUPT_DATA) << reason;
    EXPECT_EQ(sampler_last_error(), "data " + reason);
    EXPECT_EQ(pair_.bytes(), data_);
  }

  Handle handle_ = make_handle();
  Pair pair_ = Pair(handle_.get(), {3, 20, 0, GetParam()});
  std::string data_, body_;
};

INSTANTIATE_TEST_SUITE_P(KeepsValues, Serialized, testing::Bool());

TEST_P(Serialized, IsTheFormThatIsDocumented) {
  std::string expected("SMPLSTAT");
  const auto add = [&](std::uint64_t value, std::size_t bytes) {
    expected.resize(expected.size() + bytes);
    put(&expected, expected.size() - bytes, value, bytes);
  };
  const auto add_values = [&](std::uint32_t mu, int times) {
    for (int i = 0; i < times; ++i) {
      add(mu, 4);
      for (int k = 1; k < 4; ++k) add(0x7FC00000, 4);
    }
  };
  const std::uint32_t moved = 0x40600000;  // 3.5 = 4 - 0.5 * (3 - 2)
  add(1, 4);
  add(GetParam(), 4);
  add(3, 8);
  add(3, 4), add(2, 4);
  add_values(0x7FC00000, GetParam() ? 3 : 0);
  add_values(moved, 1);
  add(5, 4), add(258, 4), add(INT32_MAX, 4);
  add(0, 4), add(0, 4);
  add_values(0x7FC00000, 1);
  add(1, 4), add(1, 4);
  add_values(0x7FC00000, GetParam() ? 2 : 1);
  add(7, 4);
  EXPECT_EQ(data_, with_checksum(expected));
}

TEST_P(Serialized, OfNoSlotsIsAHeader) {
  const std::string data = serialize(handle_.get(), pair_.state(), 3, 0);
  EXPECT_EQ(data.size(), 32u);
  EXPECT_EQ(load(pair_, data), SAMPLER_OK);
  EXPECT_EQ(pair_.bytes(), data_);
}

TEST_P(Serialized, IsRefusedWithAnyByteChangedOrLost) {
  for (std::size_t at = 0; at < data_.size(); ++at) {
    for (const int change : {1, 0x80, 0xFF}) {
      std::string changed = data_;
      changed[at] = char(changed[at] ^ change);
      EXPECT_EQ(load(pair_, changed), SAMPLER_ERROR_CORRUPT_DATA) << "byte " << at;
    }
    EXPECT_EQ(load(pair_, data_.substr(0, at)), SAMPLER_ERROR_CORRUPT_DATA) << at << " bytes";
    EXPECT_EQ(load(pair_, with_checksum(body_.substr(0, std::min(at, body_.size() - 1)))),
              SAMPLER_ERROR_CORRUPT_DATA)
        << at << " bytes";
  }
  EXPECT_EQ(pair_.bytes(), data_);
  EXPECT_EQ(load(pair_, data_), SAMPLER_OK);
  EXPECT_EQ(pair_.bytes(), data_);
}

TEST_P(Serialized, IsRefusedWithContentsThatBreakARule) {
  // Offsets of what follows the header: slot 0, whose tokens are the last of it.
  const std::size_t sequence = 24, values = sequence + 8;
  const std::size_t tokens = values + 16 * (GetParam() ? 4 : 1);
  const auto with = [&](std::size_t at, std::uint64_t value, std::size_t bytes = 4) {
    std::string body = body_;
    put(&body, at, value, bytes);
    return with_checksum(body);
  };
  expect_corrupt("", "are shorter than a header");
  expect_corrupt(data_.substr(0, 31), "are shorter than a header");
  expect_corrupt(with(0, 'X', 1), "are no sequences of a state");
  expect_corrupt(with(8, 2), "are of an unknown format version");
  expect_corrupt(with(8, 0), "are of an unknown format version");
  expect_corrupt(with(12, 2), "have an unknown flag");
  expect_corrupt(body_ + std::string(8, '\0'), "have a wrong checksum");
  for (const std::uint64_t count : {std::uint64_t(4), std::uint64_t(1) << 32, UINT64_MAX}) {
    expect_corrupt(with(16, count, 8), "are shorter than their sequences");
  }
  expect_corrupt(with(16, 2, 8), "are longer than their sequences");
  expect_corrupt(with_checksum(body_ + std::string(4, '\0')), "are longer than their sequences");
  expect_corrupt(with(sequence, 0x80000000u), "have a sequence that is too long");
  expect_corrupt(with(sequence, INT32_MAX), "are shorter than their sequences");
  expect_corrupt(with(sequence + 4, 4), "have a prompt longer than its sequence");
  expect_corrupt(with(sequence + 4, 0xFFFFFFFFu), "have a prompt longer than its sequence");
  expect_corrupt(with(tokens + 4, 0x80000000u), "have a token that is none");
  for (const std::size_t value : {0, 4, 8, 12}) {
    for (const std::uint32_t bits : {0x7F800000u, 0xFF800000u, 0x7FC00001u, 0xFFC00000u}) {
      expect_corrupt(with(values + value, bits), "have an adaptive value that is none");
    }
  }
  EXPECT_EQ(load(pair_, with(tokens + 4, 259)), SAMPLER_OK);
}

// Random bytes behind a good header and before a good checksum.
TEST_P(Serialized, ReadsNothingOutside) {
  Random random(3);
  for (int round = 0; round < 20000; ++round) {
    std::string body = body_.substr(0, 24 + std::size_t(random.between(0, 60)) * 4);
    for (int i = 0; i < 3; ++i) {
      const std::size_t at = 4 * std::size_t(random.between(3, std::int64_t(body.size()) / 4 - 1));
      const std::int64_t most = random.one_in(2) ? 20 : UINT32_MAX;
      put(&body, at, std::uint64_t(random.between(0, most)), 4);
    }
    load(pair_, with_checksum(body));
  }
}

}  // namespace
}  // namespace state_test::serialize_test
