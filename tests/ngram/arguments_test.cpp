// Every argument rule, with its text; what is refused changes nothing.
#include <climits>
#include <functional>
#include <limits>

#include "support.h"

namespace ngram_test::arguments_test {
namespace {

constexpr std::int32_t kVocabulary = 10;

void expect_invalid(sampler_status status, const std::string &message) {
  EXPECT_EQ(status, SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(sampler_last_error(), message);
}

// The error for a struct of another size than this version's.
template <class Struct>
std::string wrong_size(const std::string &name, const std::string &type, std::size_t size) {
  return name + "->struct_size is " + std::to_string(size) + "; set it to sizeof(" + type + "), " +
         std::to_string(sizeof(Struct)) + " here or up to 65536 with newer headers";
}
#define WRONG_SIZE(name, type, size) wrong_size<type>(name, #type, size)

struct StorageRule {
  std::function<void(sampler_ngram_storage_options *)> change;
  std::string message;
};

TEST(StorageOptions, EachRuleIsChecked) {
  using Options = sampler_ngram_storage_options;
  const std::vector<StorageRule> rules = {
      {[](Options *o) { o->struct_size = 8; },
       WRONG_SIZE("options", sampler_ngram_storage_options, 8)},
      {[](Options *o) { o->struct_size = SIZE_MAX; },
       WRONG_SIZE("options", sampler_ngram_storage_options, SIZE_MAX)},
      {[](Options *o) { o->kind = 2; }, "kind is 2; it must be one of its constants, 0 to 1"},
      {[](Options *o) { o->kind = -1; }, "kind is -1; it must be one of its constants, 0 to 1"},
      {[](Options *o) { o->order = 1; }, "order is 1; it must be at least 2"},
      {[](Options *o) { o->order = -1; }, "order is -1; it must be at least 2"},
      {[](Options *o) { o->order = INT_MIN; }, "order is -2147483648; it must be at least 2"},
      {[](Options *o) { o->order = 17; }, "order is 17; it must be below 17"},
      {[](Options *o) { o->vocabulary_size = 0; }, "vocabulary_size is 0; it must be at least 1"},
      {[](Options *o) { o->vocabulary_size = 1 << 20; },
       "vocabulary_size is 1048576; it must be below 1048576"},
      {[](Options *o) { o->memory_limit = -1; }, "memory_limit is -1; it must be at least 4096"},
      {[](Options *o) { o->memory_limit = 4095; },
       "memory_limit is 4095; it must be at least 4096"},
      {[](Options *o) {
         o->allocator.allocate = [](void *, std::size_t, std::size_t) -> void * { return nullptr; };
       },
       "allocator.deallocate is NULL; both hooks or neither must be set"},
      {[](Options *o) {
         o->allocator.deallocate = [](void *, void *, std::size_t, std::size_t) {};
       },
       "allocator.allocate is NULL; both hooks or neither must be set"},
  };
  for (const StorageRule &rule : rules) {
    sampler_ngram_storage_options options =
        storage_options(SAMPLER_NGRAM_ALL_ORDERS, 3, kVocabulary);
    rule.change(&options);
    sampler_ngram_storage_t storage = reinterpret_cast<sampler_ngram_storage_t>(&options);
    expect_invalid(sampler_ngram_storage_create(&options, &storage), rule.message);
    EXPECT_EQ(storage, nullptr);
  }
  sampler_ngram_storage_t storage = nullptr;
  expect_invalid(sampler_ngram_storage_create(nullptr, &storage),
                 "options is NULL; it must point to a struct");
  const auto options = storage_options(SAMPLER_NGRAM_ALL_ORDERS, 3, kVocabulary);
  expect_invalid(sampler_ngram_storage_create(&options, nullptr),
                 "out_storage is NULL; it is required");
  sampler_ngram_storage_destroy(nullptr);
}

struct LookupRule {
  std::function<void(sampler_prompt_lookup_options *)> change;
  std::string message;
};

TEST(LookupOptions, EachRuleIsChecked) {
  using Options = sampler_prompt_lookup_options;
  const std::vector<LookupRule> rules = {
      {[](Options *o) { o->struct_size = 0; },
       WRONG_SIZE("options", sampler_prompt_lookup_options, 0)},
      {[](Options *o) { o->min_match = -1; }, "min_match is -1; it must be at least 1"},
      {[](Options *o) { o->min_match = INT64_MIN; },
       "min_match is -9223372036854775808; it must be at least 1"},
      {[](Options *o) { o->max_match = -1; }, "max_match is -1; it must be at least 0"},
      {[](Options *o) { o->min_match = 4, o->max_match = 3; },
       "max_match is 3; it must be 0 or at least min_match, 4"},
      {[](Options *o) { o->max_tokens = 0; }, "max_tokens is 0; it must be at least 1"},
      {[](Options *o) { o->max_tokens = (1 << 27) + 1; },
       "max_tokens is 134217729; it must be below 134217729"},
      {[](Options *o) { o->vocabulary_size = -1; }, "vocabulary_size is -1; it must be at least 1"},
      {[](Options *o) { o->vocabulary_size = INT64_MAX - 1; },
       "vocabulary_size is 9223372036854775806; it must be below 1048576"},
      {[](Options *o) {
         o->allocator.deallocate = [](void *, void *, std::size_t, std::size_t) {};
       },
       "allocator.allocate is NULL; both hooks or neither must be set"},
  };
  const auto good = [] {
    sampler_prompt_lookup_options options = sized<sampler_prompt_lookup_options>();
    options.max_tokens = 20;
    options.vocabulary_size = kVocabulary;
    return options;
  };
  for (const LookupRule &rule : rules) {
    sampler_prompt_lookup_options options = good();
    rule.change(&options);
    sampler_prompt_lookup_t lookup = reinterpret_cast<sampler_prompt_lookup_t>(&options);
    expect_invalid(sampler_prompt_lookup_create(&options, &lookup), rule.message);
    EXPECT_EQ(lookup, nullptr);
  }
  sampler_prompt_lookup_t lookup = nullptr;
  expect_invalid(sampler_prompt_lookup_create(nullptr, &lookup),
                 "options is NULL; it must point to a struct");
  const sampler_prompt_lookup_options options = good();
  expect_invalid(sampler_prompt_lookup_create(&options, nullptr),
                 "out_lookup is NULL; it is required");
  sampler_prompt_lookup_destroy(nullptr);
}

TEST(StorageFunctions, EachRuleIsChecked) {
  Storage storage(storage_options(SAMPLER_NGRAM_ALL_ORDERS, 3, kVocabulary));
  storage.initialize({1, 2, 3, 1, 2});
  const std::string before = storage.serialized();
  sampler_ngram ngram = sized<sampler_ngram>();
  sampler_ngram_storage_stats stats = sized<sampler_ngram_storage_stats>();
  std::size_t bytes = 0;
  char buffer[8];
  expect_invalid(sampler_ngram_storage_interface(nullptr, &ngram),
                 "storage is NULL; it is required");
  EXPECT_EQ(ngram.next_token, nullptr);
  expect_invalid(sampler_ngram_storage_interface(storage.get(), nullptr),
                 "out_ngram is NULL; it must point to a struct");
  ngram.struct_size = 8;
  expect_invalid(sampler_ngram_storage_interface(storage.get(), &ngram),
                 WRONG_SIZE("out_ngram", sampler_ngram, 8));
  EXPECT_EQ(ngram.next_token, nullptr);
  expect_invalid(sampler_ngram_storage_get_stats(nullptr, &stats),
                 "storage is NULL; it is required");
  expect_invalid(sampler_ngram_storage_get_stats(storage.get(), nullptr),
                 "out_stats is NULL; it must point to a struct");
  stats.struct_size = 65537;
  expect_invalid(sampler_ngram_storage_get_stats(storage.get(), &stats),
                 WRONG_SIZE("out_stats", sampler_ngram_storage_stats, 65537));
  expect_invalid(sampler_ngram_storage_serialize(nullptr, nullptr, 0, &bytes),
                 "storage is NULL; it is required");
  expect_invalid(sampler_ngram_storage_serialize(storage.get(), nullptr, 0, nullptr),
                 "out_bytes is NULL; it is required");
  expect_invalid(sampler_ngram_storage_serialize(storage.get(), nullptr, 8, &bytes),
                 "buffer is NULL and buffer_bytes 8; it must be 0 then");
  expect_invalid(sampler_ngram_storage_deserialize(nullptr, buffer, sizeof buffer),
                 "storage is NULL; it is required");
  expect_invalid(sampler_ngram_storage_deserialize(storage.get(), nullptr, 8),
                 "data is NULL; it is required");
  EXPECT_EQ(storage.serialized(), before);
}

TEST(LookupFunctions, EachRuleIsChecked) {
  sampler_prompt_lookup_options options = sized<sampler_prompt_lookup_options>();
  options.max_tokens = 20;
  options.vocabulary_size = kVocabulary;
  sampler_prompt_lookup_t lookup = nullptr;
  ASSERT_EQ(sampler_prompt_lookup_create(&options, &lookup), SAMPLER_OK);
  sampler_ngram ngram = sized<sampler_ngram>();
  const std::int32_t tokens[] = {1, 2, 10, -1};
  std::int32_t out_tokens[2] = {-5, -5};
  std::int64_t count = -5;
  expect_invalid(sampler_prompt_lookup_append(nullptr, tokens, 1),
                 "lookup is NULL; it is required");
  expect_invalid(sampler_prompt_lookup_append(lookup, nullptr, 1),
                 "token_ids is NULL; it is required");
  expect_invalid(sampler_prompt_lookup_append(lookup, tokens, -1),
                 "num_tokens is -1; it must be at least 0");
  expect_invalid(sampler_prompt_lookup_append(lookup, tokens, 3),
                 "token_ids[2] is 10; it must be in [0, vocabulary_size), 10");
  EXPECT_EQ(sampler_prompt_lookup_append(lookup, nullptr, 0), SAMPLER_OK);
  expect_invalid(sampler_prompt_lookup_reset(nullptr), "lookup is NULL; it is required");
  expect_invalid(sampler_prompt_lookup_interface(nullptr, &ngram),
                 "lookup is NULL; it is required");
  expect_invalid(sampler_prompt_lookup_interface(lookup, nullptr),
                 "out_ngram is NULL; it must point to a struct");
  expect_invalid(sampler_prompt_lookup_propose(nullptr, 1, out_tokens, &count),
                 "lookup is NULL; it is required");
  expect_invalid(sampler_prompt_lookup_propose(lookup, -1, out_tokens, &count),
                 "num_drafts is -1; it must be at least 0");
  expect_invalid(sampler_prompt_lookup_propose(lookup, 1, nullptr, &count),
                 "out_token_ids is NULL; it is required");
  expect_invalid(sampler_prompt_lookup_propose(lookup, 1, out_tokens, nullptr),
                 "out_num_drafts is NULL; it is required");
  EXPECT_EQ(count, -5);
  EXPECT_EQ(sampler_prompt_lookup_propose(lookup, INT64_MAX - 1, out_tokens, &count), SAMPLER_OK);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(out_tokens[0], -5);
  sampler_prompt_lookup_destroy(lookup);
}

// The functions of both interfaces keep the same rules. `num_learned` shows whether one changed
// something.
void expect_rules(const sampler_ngram &f, const std::function<std::string()> &contents) {
  const std::string before = contents();
  const std::int32_t good[] = {1, 2, 3, 4, 1, 2, 3, 4}, bad[] = {1, 2, 3, 4, 1, 2, 10, 3};
  const std::int32_t negative[] = {1, 2, 3, 4, 1, -1, 2};
  std::int32_t token = -5, known = -5;
  const std::string user = "user is NULL; it is required";
  expect_invalid(f.next_token(nullptr, good, 8, 0, 0, &token, &known), user);
  std::int32_t drafts[2] = {-5, -5};
  std::int64_t num_drafts = -5;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto propose = [&](const std::int32_t *tokens, std::int64_t num_tokens,
                           std::int64_t least_count = 0, float least_share = 0) {
    return f.propose(f.user, tokens, num_tokens, 2, least_count, least_share, drafts, &num_drafts);
  };
  expect_invalid(f.propose(nullptr, good, 8, 2, 0, 0, drafts, &num_drafts), user);
  expect_invalid(propose(good, -1), "num_tokens is -1; it must be at least 0");
  expect_invalid(propose(nullptr, 8), "context is NULL; it is required");
  expect_invalid(propose(bad, 8), "context[6] is 10; it must be in [0, vocabulary_size), 10");
  expect_invalid(propose(good, 8, -1), "least_count is -1; it must be at least 0");
  expect_invalid(propose(good, 8, 0, -0.5f), "least_share is -0.5; it must be in [0, 1]");
  expect_invalid(propose(good, 8, 0, 1.5f), "least_share is 1.5; it must be in [0, 1]");
  expect_invalid(propose(good, 8, 0, nan), "least_share is nan; it must be in [0, 1]");
  expect_invalid(f.propose(f.user, good, 8, -1, 0, 0, drafts, &num_drafts),
                 "num_drafts is -1; it must be at least 0");
  expect_invalid(f.propose(f.user, good, 8, 2, 0, 0, nullptr, &num_drafts),
                 "out_token_ids is NULL; it is required");
  expect_invalid(f.propose(f.user, good, 8, 2, 0, 0, drafts, nullptr),
                 "out_num_drafts is NULL; it is required");
  EXPECT_EQ(drafts[0], -5);
  EXPECT_EQ(num_drafts, -5);
  EXPECT_EQ(f.propose(f.user, nullptr, 0, 0, 0, 0, nullptr, &num_drafts), SAMPLER_OK);
  EXPECT_EQ(num_drafts, 0);
  expect_invalid(f.has_gram(nullptr, good, 2, &known), user);
  expect_invalid(f.update(nullptr, good, 8, good, 1), user);
  expect_invalid(f.initialize(nullptr, good, 8), user);
  expect_invalid(f.reset(nullptr), user);

  const std::string count = "num_tokens is -1; it must be at least 0";
  expect_invalid(f.next_token(f.user, good, -1, 0, 0, &token, &known), count);
  expect_invalid(f.has_gram(f.user, good, -1, &known), count);
  expect_invalid(f.update(f.user, good, -1, good, 1), count);
  expect_invalid(f.initialize(f.user, good, -1), count);
  expect_invalid(f.initialize(f.user, good, INT64_MIN),
                 "num_tokens is -9223372036854775808; it must be at least 0");
  expect_invalid(f.update(f.user, good, 8, good, -3),
                 "num_next_tokens is -3; it must be at least 0");
  EXPECT_EQ(f.initialize(f.user, good, INT64_MAX - 1), SAMPLER_ERROR_INVALID_ARGUMENT);

  const std::string context = "context is NULL; it is required";
  expect_invalid(f.next_token(f.user, nullptr, 8, 0, 0, &token, &known), context);
  expect_invalid(f.has_gram(f.user, nullptr, 8, &known), context);
  expect_invalid(f.update(f.user, nullptr, 8, good, 1), context);
  expect_invalid(f.initialize(f.user, nullptr, 8), "token_ids is NULL; it is required");
  expect_invalid(f.update(f.user, good, 8, nullptr, 1), "next_token_ids is NULL; it is required");

  const std::string id = "[6] is 10; it must be in [0, vocabulary_size), 10";
  expect_invalid(f.next_token(f.user, bad, 8, 0, 0, &token, &known), "context" + id);
  expect_invalid(f.has_gram(f.user, bad, 8, &known), "context" + id);
  expect_invalid(f.update(f.user, bad, 8, good, 1), "context" + id);
  expect_invalid(f.update(f.user, good, 8, bad, 8), "next_token_ids" + id);
  expect_invalid(f.initialize(f.user, bad, 8), "token_ids" + id);
  expect_invalid(f.next_token(f.user, negative, 7, 0, 0, &token, &known),
                 "context[5] is -1; it must be in [0, vocabulary_size), 10");

  expect_invalid(f.next_token(f.user, good, 8, 0, 0, nullptr, &known),
                 "out_token_id is NULL; it is required");
  expect_invalid(f.next_token(f.user, good, 8, 0, 0, &token, nullptr),
                 "out_known is NULL; it is required");
  expect_invalid(f.has_gram(f.user, good, 2, nullptr), "out_has is NULL; it is required");
  EXPECT_EQ(token, -5);
  EXPECT_EQ(known, -5);

  // Nothing to do is no error.
  EXPECT_EQ(f.update(f.user, nullptr, 0, nullptr, 0), SAMPLER_OK);
  EXPECT_EQ(f.update(f.user, nullptr, 0, good, 1), SAMPLER_OK);
  EXPECT_EQ(f.initialize(f.user, nullptr, 0), SAMPLER_OK);
  EXPECT_EQ(f.has_gram(f.user, nullptr, 0, &known), SAMPLER_OK);
  EXPECT_EQ(known, 0);
  EXPECT_EQ(f.next_token(f.user, nullptr, 0, 1, 2, &token, &known), SAMPLER_OK);
  EXPECT_EQ(known, 0);
  EXPECT_EQ(contents(), before);
}

TEST(StorageInterface, EachRuleIsChecked) {
  Storage storage(storage_options(SAMPLER_NGRAM_ALL_ORDERS, 3, kVocabulary));
  storage.initialize({1, 2, 3, 1, 2});
  expect_rules(storage.functions, [&] { return storage.serialized(); });
}

TEST(StorageInterface, ReadsTheEndOfAContextOnly) {
  Storage storage(storage_options(SAMPLER_NGRAM_ALL_ORDERS, 3, kVocabulary));
  storage.initialize({1, 2, 3});
  EXPECT_EQ(storage.next({-1, 99, 1, 2}), (Next{3, 1}));
  storage.update({-1, 99, 1, 2}, {3});
  EXPECT_EQ(storage.stats().num_updates, 3);
}

TEST(LookupInterface, EachRuleIsChecked) {
  sampler_prompt_lookup_options options = sized<sampler_prompt_lookup_options>();
  options.max_tokens = 20;
  options.vocabulary_size = kVocabulary;
  sampler_prompt_lookup_t lookup = nullptr;
  ASSERT_EQ(sampler_prompt_lookup_create(&options, &lookup), SAMPLER_OK);
  const std::int32_t text[] = {1, 2, 3, 1, 2};
  ASSERT_EQ(sampler_prompt_lookup_append(lookup, text, 5), SAMPLER_OK);
  Interface interface;
  ASSERT_EQ(sampler_prompt_lookup_interface(lookup, &interface.functions), SAMPLER_OK);
  expect_rules(interface.functions, [&] {
    std::string contents;
    for (const std::int32_t more : {0, 1, 2, 3, 4}) {
      contents += std::to_string(interface.next({1, 2, 3, 1, 2, more}).token_id) + " ";
    }
    std::int32_t drafts[20];
    std::int64_t count = 0;
    EXPECT_EQ(sampler_prompt_lookup_propose(lookup, 20, drafts, &count), SAMPLER_OK);
    return contents + std::to_string(count);
  });
  sampler_prompt_lookup_destroy(lookup);
}

}  // namespace
}  // namespace ngram_test::arguments_test
