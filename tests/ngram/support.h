// What the tests of n-gram storages share.
#pragma once

#include <gtest/gtest.h>
#include <sampler/sampler.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "../sized.h"

namespace ngram_test {

using Tokens = std::vector<std::int32_t>;

struct Next {
  std::int32_t token_id, known;
  bool operator==(const Next &other) const {
    return token_id == other.token_id && known == other.known;
  }
};
std::ostream &operator<<(std::ostream &out, const Next &next);

// A storage or a lookup through its interface; each call must succeed.
class Interface {
 public:
  Next next(const Tokens &context, std::uint64_t seed = 0, std::uint64_t offset = 0) const;
  bool has(const Tokens &context) const;
  Tokens propose(const Tokens &context, std::size_t num_drafts, std::int64_t least_count = 0,
                 float least_share = 0) const;
  void update(const Tokens &context, const Tokens &next);
  void initialize(const Tokens &text);
  void reset();

  sampler_ngram functions = sized<sampler_ngram>();
};

sampler_ngram_storage_options storage_options(sampler_ngram_kind kind, int order,
                                              std::int64_t vocabulary_size);

class Storage : public Interface {
 public:
  explicit Storage(const sampler_ngram_storage_options &options);

  sampler_ngram_storage_t get() const { return handle_.get(); }
  sampler_ngram_storage_stats stats() const;
  std::string serialized() const;
  sampler_status deserialize(const std::string &data) {
    return sampler_ngram_storage_deserialize(get(), data.data(), data.size());
  }

 private:
  struct Destroy {
    void operator()(sampler_ngram_storage_t storage) const {
      sampler_ngram_storage_destroy(storage);
    }
  };
  std::unique_ptr<sampler_ngram_storage, Destroy> handle_;
};

// What a storage must do, without regard to time and memory.
class NaiveStorage {
 public:
  explicit NaiveStorage(const sampler_ngram_storage_options &options) : options_(options) {}

  Next next(const Tokens &context) const;  // token -1 where nothing is known
  bool has(const Tokens &context) const { return contexts_.count(context) != 0; }
  Tokens propose(Tokens context, std::size_t num_drafts, std::int64_t least_count,
                 float least_share) const;
  void update(const Tokens &context, const Tokens &next);
  void initialize(const Tokens &text);
  void reset();

  std::int64_t num_contexts() const { return std::int64_t(contexts_.size()); }
  std::int64_t num_updates() const { return num_updates_; }

 private:
  struct Context {
    std::map<std::int32_t, int> counts;
    std::int32_t best;
  };

  const Context *find(const Tokens &context) const;

  int shortest() const {
    return options_.kind == SAMPLER_NGRAM_ALL_ORDERS ? 1 : options_.order - 1;
  }

  sampler_ngram_storage_options options_;
  std::map<Tokens, Context> contexts_;
  std::int64_t num_updates_ = 0;
};

Tokens random_tokens(std::mt19937 *random, std::size_t most, std::int32_t vocabulary_size);

// The storage answers as the model does, for random contexts.
void expect_same(const Storage &storage, const NaiveStorage &naive, std::mt19937 *random,
                 std::int32_t vocabulary_size, std::size_t most_tokens, int num_questions);

}  // namespace ngram_test
