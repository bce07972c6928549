// Counts of n-grams in one hash table.
//
// Contexts are the nodes of a tree: behind the root stand contexts of one token, and the children
// of a context are those that have one token more in front. So the walk from the root along a
// text's end, backwards, meets every context that is known there, the longest last.
//
// The table has an entry for each child, key (context, earlier token), value the child's number,
// and one for each n-gram, key (context, next token), value its count. All of it lies in one block,
// which grows by doubling.
//
// The hash is no secret, so a text can be made whose entries all want the same slots. An entry
// therefore lies among the first kWindow slots from the one that its hash names or, where those
// were taken when it came, in any slot, as a node of a balanced tree. Each search looks at kWindow
// slots and 2 log2(n + 1) nodes at most, whatever the text.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sampler::decoding {

// Where a storage takes its blocks. Null when there is no memory; neither function throws.
struct Memory {
  void *(*allocate)(void *user, size_t bytes);
  void (*deallocate)(void *user, void *memory, size_t bytes);
  void *user;
};

class NgramStorage {
 public:
  struct Config {
    bool all_orders;          // else of `order` tokens only
    int order;                // in [2, 16]
    int64_t vocabulary_size;  // in [1, 2^20)
    uint64_t memory_limit;    // bytes of blocks, old and new together; 0: none
    Memory memory;
  };

  explicit NgramStorage(const Config &config) : config_(config) {}
  ~NgramStorage() { reset(); }
  NgramStorage(const NgramStorage &) = delete;
  NgramStorage &operator=(const NgramStorage &) = delete;

  // The likeliest token behind the longest known context; -1: nothing is known.
  int32_t next_token(const int32_t *context, int64_t num_tokens) const;
  bool has_gram(const int32_t *context, int64_t num_tokens) const;

  // False, and all as it was: no memory.
  [[nodiscard]] bool update(const int32_t *context, int64_t num_tokens,
                            const int32_t *next_token_ids, int64_t num_next_tokens);
  [[nodiscard]] bool initialize(const int32_t *token_ids, int64_t num_tokens);
  void reset();

  // Forgets all, and leaves the blocks alone: a learner did not come to its end, so that it is
  // unknown which there are.
  void abandon();

  int max_context() const { return config_.order - 1; }
  int64_t vocabulary_size() const { return config_.vocabulary_size; }
  uint64_t num_contexts() const { return table_.num_known; }
  uint64_t num_updates() const { return table_.num_updates; }
  uint64_t num_dropped() const { return table_.num_dropped; }
  size_t block_bytes() const { return bytes_of(table_.num_slots); }

  size_t serialized_bytes() const;
  void serialize(unsigned char *out) const;

  enum class Loaded { kOk, kCorrupt, kOtherKind, kOutOfMemory, kOverLimit };
  // Not kOk: the contents are as before, and *reason, where it is kCorrupt or kOtherKind, says why.
  Loaded deserialize(const unsigned char *data, size_t bytes, const char **reason);

 private:
  static constexpr uint32_t kRoot = 0;
  static constexpr uint32_t kNone = ~uint32_t(0);
  static constexpr uint64_t kWindow = 32;

  // In Slot::edge, beside the token.
  static constexpr uint32_t kGram = uint32_t(1) << 31;
  static constexpr int kLevelShift =
      20;  // a node's level in the tree; 0: the entry is in its window
  static constexpr uint32_t kToken = (uint32_t(1) << kLevelShift) - 1;

  // In each member of a slot that holds the children of two nodes, beside a node's slot.
  static constexpr uint32_t kLink = uint32_t(1) << 31;

  struct Slot {
    uint32_t context;  // kNone: the slot is free
    uint32_t edge;     // the earlier token, or kGram and the next token
    uint32_t value;    // the child's number, or the count
    uint32_t hash;     // of the context's tokens and the edge; of a node: where its children are

    uint64_t key() const { return uint64_t(edge) << 32 | context; }
    bool is_entry() const { return context < kLink; }
    uint32_t token() const { return edge & kToken; }
    uint32_t level() const { return (edge & ~kGram) >> kLevelShift; }
    bool is_node() const { return level() != 0; }
  };
  // Contexts are numbered as they come, so a parent has a lower number; the root is 0.
  struct Context {
    uint32_t parent, token;
    uint32_t best, best_count;  // the likeliest next token, and its count; best kNone: no count
  };
  struct Table {
    Slot *slots = nullptr;
    Context *contexts = nullptr;
    uint64_t num_slots = 0;  // a power of two; 0: there is no block
    uint64_t num_used = 0;
    uint32_t num_contexts = 0;  // the root apart; 0 to num_contexts are their numbers
    uint64_t num_known = 0;     // contexts with a count
    uint64_t num_updates = 0, num_dropped = 0;

    // The tree: its root, where the next node's children go if half a slot is left for them, else
    // 0, and a slot with nothing but taken ones from it on.
    uint32_t root = 0, next_children = 0, free_end = 0;
  };
  class Nodes;

  size_t bytes_of(uint64_t num_slots) const;
  static Slot *find(const Table &table, uint32_t hash, uint32_t context, uint32_t edge);
  static Slot *find_free(const Table &table, uint32_t hash);
  static Slot *add(Table *table, uint32_t hash, uint32_t context, uint32_t edge, uint32_t value);
  static Slot *find_node(const Table &table, uint32_t context, uint32_t edge);
  static Slot *add_node(Table *table, uint32_t context, uint32_t edge, uint32_t value);
  static uint32_t take_slot(Table *table);
  int walk(const int32_t *context, int64_t num_tokens, uint32_t *number, uint64_t *hash) const;
  void prefetch(const int32_t *context_end, int64_t num_tokens, uint32_t next) const;
  static uint64_t hash_of(const Table &table, uint32_t context);
  static void copy_entry(const Table &table, const Slot &entry, Table *out);

  enum class Room { kYes, kLimit, kOutOfMemory };
  Room allocate(uint64_t num_slots, size_t other_bytes, Table *out) const;
  void release(Table *table) const;
  Room allocate_doubled(Table *out) const;
  Room make_room(int num_entries);

  template <class Learn>
  bool learn_all_or_nothing(int64_t num_next_tokens, const Learn &learn);
  bool learn(const int32_t *next, const int32_t *context_end, int64_t num_tokens);
  bool learn_orders(const int32_t *context_end, int depth, uint32_t next);
  bool learn_one_level(const int32_t *context_end, uint32_t next);
  uint32_t add_context(uint32_t hash, uint32_t parent, uint32_t token);
  void count(Slot *gram);

  const char *read_contexts(const unsigned char *data, uint64_t num_contexts, Table *out) const;
  const char *read_grams(const unsigned char *data, uint64_t num_grams, Table *out) const;
  const char *read_tables(const unsigned char *data, uint64_t num_contexts, uint64_t num_grams,
                          Table *out) const;

  Config config_;
  Table table_;

  // While learning that may need more room: what to go back to where there is no memory for it.
  Table before_;
  bool may_grow_ = false;
};

}  // namespace sampler::decoding
