// The structs of ngram.h: their sizes, defaults and growth.
#include <cstring>

#include "support.h"

namespace ngram_test {
namespace {

template <class Struct>
void expect_init(const Struct &by_macro, const std::string &name,
                 sampler_status (*init)(Struct *, std::size_t)) {
  Struct by_function;
  std::memset(static_cast<void *>(&by_function), 0xCD, sizeof by_function);
  ASSERT_EQ(init(&by_function, sizeof by_function), SAMPLER_OK);
  EXPECT_EQ(std::memcmp(&by_function, &by_macro, sizeof by_macro), 0) << name;

  // A newer caller's struct is zero behind what is known.
  struct Newer {
    Struct known;
    std::uint64_t unknown;
  } newer;
  std::memset(static_cast<void *>(&newer), 0xCD, sizeof newer);
  ASSERT_EQ(init(&newer.known, sizeof newer), SAMPLER_OK);
  EXPECT_EQ(newer.unknown, 0u);
  EXPECT_EQ(newer.known.struct_size, sizeof newer);

  EXPECT_EQ(init(nullptr, sizeof(Struct)), SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(sampler_last_error(), name + " is NULL; it is required");
  for (const std::size_t size : {std::size_t(0), sizeof(Struct) - 1, std::size_t(65537)}) {
    EXPECT_EQ(init(&by_function, size), SAMPLER_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(sampler_last_error(), "struct_size is " + std::to_string(size) + "; it must be " +
                                        std::to_string(sizeof(Struct)) +
                                        " or the size of a newer version, at most 65536");
  }
}

TEST(Structs, InitFunctionsGiveWhatTheMacrosGive) {
  const sampler_ngram ngram = SAMPLER_NGRAM_INIT;
  expect_init(ngram, "ngram", &sampler_ngram_init);
  const sampler_ngram_storage_options storage = SAMPLER_NGRAM_STORAGE_OPTIONS_INIT;
  EXPECT_EQ(storage.kind, SAMPLER_NGRAM_ALL_ORDERS);
  EXPECT_EQ(storage.order, 3);
  expect_init(storage, "options", &sampler_ngram_storage_options_init);
  const sampler_prompt_lookup_options lookup = SAMPLER_PROMPT_LOOKUP_OPTIONS_INIT;
  EXPECT_EQ(lookup.min_match, 1);
  EXPECT_EQ(lookup.max_match, 0);
  expect_init(lookup, "options", &sampler_prompt_lookup_options_init);
}

TEST(Structs, OfANewerCaller) {
  const Storage storage(storage_options(SAMPLER_NGRAM_ALL_ORDERS, 3, 10));
  struct Newer {
    sampler_ngram_storage_stats known;
    std::uint64_t unknown;
  } newer = {SAMPLER_NGRAM_STORAGE_STATS_INIT, 0};
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
}  // namespace ngram_test
