// Counts of n-grams: how often a token followed a context.
#pragma once

#include <cstddef>
#include <cstdint>

#include "decoding/ngram/ngram_table.h"

namespace sampler::decoding {

// Allocator of a storage's blocks. `allocate` returns null when out of memory; neither throws.
struct Memory {
  void *(*allocate)(void *user, size_t bytes);
  void (*deallocate)(void *user, void *memory, size_t bytes);
  void *user;
};

class NgramStorage {
 public:
  static constexpr int kMostContext = 15;

  struct Config {
    bool all_orders;          // else n-grams of `order` tokens only
    int order;                // in [2, kMostContext + 1]
    int64_t vocabulary_size;  // in [1, 2^20)
    uint64_t memory_limit;    // bytes of blocks, old and new together; 0: no limit
    Memory memory;
  };

  explicit NgramStorage(const Config &config) : config_(config) {}
  ~NgramStorage() { reset(); }
  NgramStorage(const NgramStorage &) = delete;
  NgramStorage &operator=(const NgramStorage &) = delete;

  // The most frequent token after the longest known context; -1: unknown.
  int32_t next_token(const int32_t *context, int64_t num_tokens) const;
  bool has_gram(const int32_t *context, int64_t num_tokens) const;

  // Writes up to num_drafts tokens, each the most frequent after those before it, up to the first
  // that is unknown or below a limit; returns their number. O(order log n) per token.
  int64_t propose(const int32_t *context, int64_t num_tokens, int64_t num_drafts,
                  int64_t least_count, float least_share, int32_t *out_token_ids) const;

  // False, with everything unchanged: out of memory.
  [[nodiscard]] bool update(const int32_t *context, int64_t num_tokens,
                            const int32_t *next_token_ids, int64_t num_next_tokens);
  [[nodiscard]] bool initialize(const int32_t *token_ids, int64_t num_tokens);
  void reset();

  // Forgets everything without freeing the blocks: after an interrupted update it is unknown which
  // blocks exist.
  void abandon();

  int max_context() const { return config_.order - 1; }
  int64_t vocabulary_size() const { return config_.vocabulary_size; }
  uint64_t num_contexts() const { return table_.num_known; }
  uint64_t num_updates() const { return table_.num_updates; }
  uint64_t num_dropped() const { return table_.num_dropped; }
  size_t block_bytes() const { return bytes_of(table_); }

  size_t serialized_bytes() const;
  void serialize(unsigned char *out) const;

  enum class Loaded { kOk, kCorrupt, kOtherKind, kOutOfMemory, kOverLimit };
  // Unless kOk, the contents are unchanged; *reason is set for kCorrupt and kOtherKind.
  Loaded deserialize(const unsigned char *data, size_t bytes, const char **reason);

 private:
  using Slot = NgramTable::Slot;
  using Context = NgramTable::Context;
  static constexpr uint32_t kRoot = NgramTable::kRoot, kNone = NgramTable::kNone,
                            kGram = NgramTable::kGram;

  size_t bytes_of(const NgramTable &table) const {
    return NgramTable::bytes_of(table.num_slots(), config_.all_orders);
  }
  int walk(const int32_t *context, int64_t num_tokens, uint32_t *number, uint64_t *hash) const;
  void prefetch(const int32_t *context_end, int64_t num_tokens, uint32_t next) const;

  enum class Room { kYes, kLimit, kOutOfMemory };
  Room allocate(uint64_t num_slots, size_t other_bytes, NgramTable *out) const;
  void release(NgramTable *table) const;
  Room allocate_doubled(NgramTable *out) const;
  Room make_room(int num_entries);

  template <class Learn>
  bool learn_all_or_nothing(int64_t num_next_tokens, const Learn &learn);
  bool learn(const int32_t *next, const int32_t *context_end, int64_t num_tokens);
  bool learn_orders(const int32_t *context_end, int depth, uint32_t next);
  bool learn_one_level(const int32_t *context_end, uint32_t next);
  void count(Slot *gram);

  // In ngram_serialization.cpp.
  const char *read_contexts(const unsigned char *data, uint64_t num_contexts,
                            NgramTable *out) const;
  const char *read_grams(const unsigned char *data, uint64_t num_grams, NgramTable *out) const;
  const char *read_tables(const unsigned char *data, uint64_t num_contexts, uint64_t num_grams,
                          NgramTable *out) const;

  Config config_;
  NgramTable table_;

  // The table to return to when memory runs out during learning.
  NgramTable before_;
  bool may_grow_ = false;
};

}  // namespace sampler::decoding
