#include "support.h"

#include <algorithm>
#include <ostream>

namespace ngram_test {

std::ostream &operator<<(std::ostream &out, const Next &next) {
  return out << next.token_id << (next.known ? "" : ", unknown");
}

Next Interface::next(const Tokens &context, std::uint64_t seed, std::uint64_t offset) const {
  Next result = {-2, -2};
  EXPECT_EQ(functions.next_token(functions.user, context.data(), std::int64_t(context.size()), seed,
                                 offset, &result.token_id, &result.known),
            SAMPLER_OK)
      << sampler_last_error();
  return result;
}

bool Interface::has(const Tokens &context) const {
  std::int32_t result = -2;
  EXPECT_EQ(
      functions.has_gram(functions.user, context.data(), std::int64_t(context.size()), &result),
      SAMPLER_OK)
      << sampler_last_error();
  EXPECT_TRUE(result == 0 || result == 1) << result;
  return result != 0;
}

Tokens Interface::propose(const Tokens &context, std::size_t num_drafts, std::int64_t least_count,
                          float least_share) const {
  Tokens drafts(num_drafts + 1, -7);
  std::int64_t count = -1;
  EXPECT_EQ(
      functions.propose(functions.user, context.data(), std::int64_t(context.size()),
                        std::int64_t(num_drafts), least_count, least_share, drafts.data(), &count),
      SAMPLER_OK)
      << sampler_last_error();
  EXPECT_TRUE(count >= 0 && count <= std::int64_t(num_drafts)) << count;
  for (std::size_t i = std::size_t(count); i < drafts.size(); ++i) EXPECT_EQ(drafts[i], -7);
  drafts.resize(std::size_t(count));
  return drafts;
}

void Interface::update(const Tokens &context, const Tokens &next) {
  EXPECT_EQ(functions.update(functions.user, context.data(), std::int64_t(context.size()),
                             next.data(), std::int64_t(next.size())),
            SAMPLER_OK)
      << sampler_last_error();
}

void Interface::initialize(const Tokens &text) {
  EXPECT_EQ(functions.initialize(functions.user, text.data(), std::int64_t(text.size())),
            SAMPLER_OK)
      << sampler_last_error();
}

void Interface::reset() {
  EXPECT_EQ(functions.reset(functions.user), SAMPLER_OK);
}

sampler_ngram_storage_options storage_options(sampler_ngram_kind kind, int order,
                                              std::int64_t vocabulary_size) {
  sampler_ngram_storage_options options = sized<sampler_ngram_storage_options>();
  options.kind = kind;
  options.order = order;
  options.vocabulary_size = vocabulary_size;
  return options;
}

Storage::Storage(const sampler_ngram_storage_options &options) {
  sampler_ngram_storage_t storage = nullptr;
  EXPECT_EQ(sampler_ngram_storage_create(&options, &storage), SAMPLER_OK) << sampler_last_error();
  handle_.reset(storage);
  EXPECT_EQ(sampler_ngram_storage_interface(storage, &functions), SAMPLER_OK);
}

sampler_ngram_storage_stats Storage::stats() const {
  sampler_ngram_storage_stats stats = sized<sampler_ngram_storage_stats>();
  EXPECT_EQ(sampler_ngram_storage_get_stats(get(), &stats), SAMPLER_OK);
  return stats;
}

std::string Storage::serialized() const {
  std::size_t bytes = 0, written = 0;
  EXPECT_EQ(sampler_ngram_storage_serialize(get(), nullptr, 0, &bytes), SAMPLER_OK);
  std::string data(bytes, '\xCD');
  EXPECT_EQ(sampler_ngram_storage_serialize(get(), data.data(), bytes, &written), SAMPLER_OK);
  EXPECT_EQ(written, bytes);
  return data;
}

const NaiveStorage::Context *NaiveStorage::find(const Tokens &context) const {
  const int most = std::min(int(context.size()), options_.order - 1);
  for (int length = most; length >= shortest(); --length) {
    const auto found = contexts_.find(Tokens(context.end() - length, context.end()));
    if (found != contexts_.end()) return &found->second;
  }
  return nullptr;
}

Next NaiveStorage::next(const Tokens &context) const {
  const Context *const found = find(context);
  return found ? Next{found->best, 1} : Next{-1, 0};
}

Tokens NaiveStorage::propose(Tokens context, std::size_t num_drafts, std::int64_t least_count,
                             float least_share) const {
  Tokens drafts;
  while (drafts.size() < num_drafts) {
    const Context *const found = find(context);
    if (!found) break;
    std::int64_t sum = 0;
    for (const auto &next : found->counts) sum += next.second;
    const int count = found->counts.at(found->best);
    if (count < least_count || float(count / double(sum)) < least_share) break;
    drafts.push_back(found->best);
    context.push_back(found->best);
  }
  return drafts;
}

void NaiveStorage::update(const Tokens &context, const Tokens &next) {
  const int most = std::min(int(context.size()), options_.order - 1);
  if (most < shortest()) return;
  for (const std::int32_t token : next) {
    ++num_updates_;
    for (int length = shortest(); length <= most; ++length) {
      Context &entry = contexts_[Tokens(context.end() - length, context.end())];
      if (entry.counts.empty()) entry.best = token;
      if (++entry.counts[token] > entry.counts[entry.best]) entry.best = token;
    }
  }
}

void NaiveStorage::initialize(const Tokens &text) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    update(Tokens(text.begin(), text.begin() + std::ptrdiff_t(i)), {text[i]});
  }
}

void NaiveStorage::reset() {
  contexts_.clear();
  num_updates_ = 0;
}

Tokens random_tokens(std::mt19937 *random, std::size_t most, std::int32_t vocabulary_size) {
  Tokens tokens((*random)() % (most + 1));
  for (std::int32_t &token : tokens) {
    token = std::int32_t((*random)() % std::uint32_t(vocabulary_size));
  }
  return tokens;
}

void expect_same(const Storage &storage, const NaiveStorage &naive, std::mt19937 *random,
                 std::int32_t vocabulary_size, std::size_t most_tokens, int num_questions) {
  EXPECT_EQ(storage.stats().num_contexts, naive.num_contexts());
  EXPECT_EQ(storage.stats().num_updates, naive.num_updates());
  for (int i = 0; i < num_questions; ++i) {
    const Tokens context = random_tokens(random, most_tokens, vocabulary_size);
    const Next expected = naive.next(context), actual = storage.next(context);
    ASSERT_EQ(actual.known, expected.known) << testing::PrintToString(context);
    if (expected.known) {
      ASSERT_EQ(actual, expected) << testing::PrintToString(context);
    }
    ASSERT_EQ(storage.has(context), naive.has(context)) << testing::PrintToString(context);
    const std::int64_t least_count = (*random)() % 4;
    const float least_share = float((*random)() % 5) / 5;
    ASSERT_EQ(storage.propose(context, 6, least_count, least_share),
              naive.propose(context, 6, least_count, least_share))
        << testing::PrintToString(context) << ", " << least_count << ", " << least_share;
  }
}

}  // namespace ngram_test
