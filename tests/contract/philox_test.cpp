// Philox against published vectors, and which counter and key each draw uses.
#include "contract/philox.h"

#include <gtest/gtest.h>

#include "contract/request.h"

namespace sampler::contract::philox_test {
namespace {

testing::AssertionResult is_block(const Philox4 &block, uint32_t word0, uint32_t word1,
                                  uint32_t word2, uint32_t word3) {
  if (block.word[0] == word0 && block.word[1] == word1 && block.word[2] == word2 &&
      block.word[3] == word3) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << std::hex << block.word[0] << ' ' << block.word[1] << ' '
                                     << block.word[2] << ' ' << block.word[3];
}

// Known-answer vectors of the authors' library Random123, file kat_vectors.
TEST(Philox, GivesThePublishedBlocks) {
  EXPECT_TRUE(is_block(philox4x32_10({{0, 0, 0, 0}}, 0, 0), 0x6627E8D5u, 0xE169C58Du, 0xBC57AC4Cu,
                       0x9B00DBD8u));
  constexpr uint32_t kOnes = 0xFFFFFFFFu;
  EXPECT_TRUE(is_block(philox4x32_10({{kOnes, kOnes, kOnes, kOnes}}, kOnes, kOnes), 0x408F276Du,
                       0x41C83B0Eu, 0xA20BC7C6u, 0x6D5451FDu));
  EXPECT_TRUE(is_block(philox4x32_10({{0x243F6A88u, 0x85A308D3u, 0x13198A2Eu, 0x03707344u}},
                                     0xA4093822u, 0x299F31D0u),
                       0xD16CFE09u, 0x94FDCCEBu, 0x5001E420u, 0x24126EA1u));
}

constexpr RandomStream kStream = {0x0123456789ABCDEFu, 0xFEDCBA9876543210u, 0x13579BDFu};

// The block that the fourth word of the counter gives with kStream.
Philox4 block_of(uint32_t last_word) {
  return philox4x32_10({{0x76543210u, 0xFEDCBA98u, 0x13579BDFu, last_word}}, 0x89ABCDEFu,
                       0x01234567u);
}

void expect_counter(Purpose purpose, uint32_t index, uint32_t last_word) {
  const Philox4 expected = block_of(last_word);
  EXPECT_TRUE(is_block(random_block(kStream, purpose, index), expected.word[0], expected.word[1],
                       expected.word[2], expected.word[3]))
      << "purpose " << uint32_t(purpose);
}

TEST(Philox, CounterIsOffsetStreamPurposeAndIndex) {
  expect_counter(Purpose::kSample, 0, 0x00000000u);
  expect_counter(Purpose::kAccept, 5, 0x01000005u);
  expect_counter(Purpose::kResidual, 5, 0x02000005u);
  expect_counter(Purpose::kBonus, 65535, 0x0300FFFFu);
  expect_counter(Purpose::kDraft, 1, 0x04000001u);
  expect_counter(Purpose::kGumbel, 0xFFFFFFu, 0x05FFFFFFu);
}

TEST(Philox, WordsAreTheBlocksFirst) {
  const Philox4 block = block_of(0x01000005u);
  EXPECT_EQ(random_word32(kStream, Purpose::kAccept, 5), block.word[0]);
  EXPECT_EQ(random_word64(kStream, Purpose::kAccept, 5),
            uint64_t(block.word[1]) << 32 | block.word[0]);
}

TEST(Randomness, OneSeedGivesEachSlotAStreamOfItsOwn) {
  const uint64_t seed = 11, offsets[3] = {20, 21, 22};
  Randomness random;
  random.seed = {7, &seed, false};
  random.offset = {9, nullptr, false};
  RandomStream row = random.of(2);
  EXPECT_EQ(row.seed, 11u);
  EXPECT_EQ(row.offset, 9u);
  EXPECT_EQ(row.stream, 2u);

  random.seed = {7, nullptr, false};
  random.offset = {9, offsets, true};
  row = random.of(2);
  EXPECT_EQ(row.seed, 7u);
  EXPECT_EQ(row.offset, 22u);
  EXPECT_EQ(row.stream, 2u);
}

TEST(Randomness, ASeedPerSlotMakesItsNumberIrrelevant) {
  const uint64_t seeds[3] = {10, 11, 12}, offset = 20;
  Randomness random;
  random.seed = {7, seeds, true};
  random.offset = {9, &offset, false};
  const RandomStream row = random.of(2);
  EXPECT_EQ(row.seed, 12u);
  EXPECT_EQ(row.offset, 20u);
  EXPECT_EQ(row.stream, 0u);
}

TEST(Randomness, GivenStreamsServeEitherWay) {
  const uint64_t seeds[3] = {10, 11, 12};
  const uint32_t streams[3] = {5, 6, 0xFFFFFFFFu};
  Randomness random;
  random.streams = streams;
  EXPECT_EQ(random.of(1).stream, 6u);
  random.seed = {7, seeds, true};
  EXPECT_EQ(random.of(2).stream, 0xFFFFFFFFu);
}

}  // namespace
}  // namespace sampler::contract::philox_test
