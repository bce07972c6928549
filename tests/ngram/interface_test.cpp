// The structs of ngram.h: their sizes, defaults and growth.
#include "support.h"

namespace ngram_test::interface_test {
namespace {

// Members that are 0 have their defaults.
TEST(Structs, OfZerosHaveTheDefaults) {
  Storage zeros(storage_options(SAMPLER_NGRAM_ALL_ORDERS, 0, 10)),
      trigrams(storage_options(SAMPLER_NGRAM_ALL_ORDERS, 3, 10));
  for (Storage *const storage : {&zeros, &trigrams}) storage->initialize({1, 2, 3, 4, 2, 3, 5});
  EXPECT_EQ(zeros.serialized(), trigrams.serialized());

  sampler_prompt_lookup_options options = sized<sampler_prompt_lookup_options>();
  options.max_tokens = 20;
  options.vocabulary_size = 10;
  const std::int32_t text[] = {1, 2, 3, 7, 3, 9, 2, 3};
  for (const std::int64_t min_match : {0, 1, 2, 3}) {
    options.min_match = min_match;
    sampler_prompt_lookup_t lookup = nullptr;
    ASSERT_EQ(sampler_prompt_lookup_create(&options, &lookup), SAMPLER_OK);
    // After 3 alone, 9 came last; after 2 and 3, 7 did.
    for (const std::int64_t count : {5, 8}) {
      ASSERT_EQ(sampler_prompt_lookup_reset(lookup), SAMPLER_OK);
      ASSERT_EQ(sampler_prompt_lookup_append(lookup, text, count), SAMPLER_OK);
      std::int32_t draft = -1;
      std::int64_t num_drafts = -1;
      ASSERT_EQ(sampler_prompt_lookup_propose(lookup, 1, &draft, &num_drafts), SAMPLER_OK);
      const std::int64_t match = count == 5 ? 1 : 2;
      EXPECT_EQ(num_drafts, match >= min_match) << min_match;
      if (num_drafts == 1) {
        EXPECT_EQ(draft, 7);
      }
    }
    sampler_prompt_lookup_destroy(lookup);
  }
}

TEST(Structs, OfANewerCaller) {
  const Storage storage(storage_options(SAMPLER_NGRAM_ALL_ORDERS, 3, 10));
  struct Newer {
    sampler_ngram_storage_stats known;
    std::uint64_t unknown;
  } newer = {sized<sampler_ngram_storage_stats>(), 0};
  newer.known.struct_size = sizeof newer;
  ASSERT_EQ(sampler_ngram_storage_get_stats(storage.get(), &newer.known), SAMPLER_OK);
  EXPECT_EQ(newer.known.struct_size, sizeof newer);
  EXPECT_GT(newer.known.memory_bytes, 0);
  newer.unknown = 1;
  newer.known.memory_bytes = -5;
  ASSERT_EQ(sampler_ngram_storage_get_stats(storage.get(), &newer.known),
            SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(newer.known.memory_bytes, -5);
}

}  // namespace
}  // namespace ngram_test::interface_test
