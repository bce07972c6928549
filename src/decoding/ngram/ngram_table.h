// The hash table of an n-gram storage, in one block of memory.
//
// Contexts form a tree: the root's children are contexts of one token, and a context's children
// have one more token in front. The walk from the root, backwards along a text's end, meets every
// known context, the longest last.
//
// The table has an entry for each child, key (context, earlier token), value the child's number,
// and one for each n-gram, key (context, next token), value its count.
//
// The hash is not secret, so a text can be made whose entries all hash to the same slot. An entry
// therefore lies within kWindow slots of its hash or, if those were taken, in any slot, as a node
// of a balanced tree. A search visits at most kWindow slots and 2 log2(n + 1) nodes, whatever the
// text.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sampler::decoding {

// The hash of a context's tokens, latest first; its children's hashes extend it.
constexpr uint64_t kRootHash = 0x243F6A8885A308D3u;

inline uint64_t extend(uint64_t hash, uint32_t token) {
  hash = (hash ^ token) * 0x9E3779B97F4A7C15u;
  hash = (hash ^ hash >> 32) * 0xD6E8FEB86659FD93u;
  return hash ^ hash >> 32;
}

// The hash of an n-gram, from its context's hash.
inline uint32_t gram_hash(uint64_t hash, uint32_t next) {
  return uint32_t(extend(~hash, next));
}

// Copies share the block.
class NgramTable {
 public:
  static constexpr uint32_t kRoot = 0;
  static constexpr uint32_t kNone = ~uint32_t(0);
  static constexpr uint64_t kLeastSlots = 64;
  static constexpr uint64_t kMostSlots = uint64_t(1) << 31;

  // Flag in Slot::edge, beside the token: the entry is an n-gram's.
  static constexpr uint32_t kGram = uint32_t(1) << 31;

  struct Slot {
    uint32_t context;  // kNone: the slot is free
    uint32_t edge;     // the earlier token, or kGram and the next token
    uint32_t value;    // the child's number, or the count
    uint32_t hash;     // of the context's tokens and the edge; in a node: the place of its children

    uint64_t key() const { return uint64_t(edge) << 32 | context; }
    bool is_entry() const { return context < kLink; }
    bool is_gram() const { return is_entry() && (edge & kGram); }
    uint32_t token() const { return edge & kToken; }
    uint32_t level() const { return (edge & ~kGram) >> kLevelShift; }
    bool is_node() const { return level() != 0; }
  };
  // Contexts are numbered by arrival, so a parent has a lower number; the root is 0.
  struct Context {
    uint32_t parent, token;
    uint32_t best, best_count;  // the most frequent next token and its count; best kNone: no count
    uint64_t sum;               // of the counts of all next tokens
  };

  // Most entries in use of num_slots slots, so that searches stay short.
  static uint64_t room_of(uint64_t num_slots) { return num_slots / 8 * 5; }

  // Bytes of a block: the contexts, then, at a multiple of 16 bytes, the slots. With all orders
  // every context but the root has at least one n-gram.
  static size_t bytes_of(uint64_t num_slots, bool all_orders);

  // No table.
  NgramTable() = default;
  // An empty table in a block of bytes_of(num_slots, all_orders); num_slots a power of two in
  // [kLeastSlots, kMostSlots].
  NgramTable(void *block, uint64_t num_slots, bool all_orders);

  void *block() const { return contexts_; }
  uint64_t num_slots() const { return num_slots_; }  // 0: no table
  uint64_t num_used() const { return num_used_; }
  uint64_t num_free() const { return room_of(num_slots_) - num_used_; }
  uint32_t num_contexts() const { return num_contexts_; }  // without the root: the latest's number
  Context &context(uint32_t number) const { return contexts_[number]; }
  const Slot *begin() const { return slots_; }
  const Slot *end() const { return slots_ + num_slots_; }

  // The entry of a key; null if unknown.
  Slot *find(uint32_t hash, uint32_t context, uint32_t edge) const;
  // Adds an entry for an unknown key. There must be room.
  Slot *add(uint32_t hash, uint32_t context, uint32_t edge, uint32_t value);
  uint32_t add_context(uint32_t hash, uint32_t parent, uint32_t token);
  // Adds all contexts and entries of `other` to an empty table, which must have room for them.
  void copy(const NgramTable &other);

  uint64_t hash_of(uint32_t context) const;
  [[gnu::always_inline]] void prefetch(uint32_t hash) const {
    __builtin_prefetch(slots_ + (hash & (num_slots_ - 1)), 1);
  }

  // Statistics of the storage.
  uint64_t num_known = 0;  // contexts with a count
  uint64_t num_updates = 0, num_dropped = 0;

 private:
  static constexpr uint64_t kWindow = 32;

  // Shift of a node's level in Slot::edge; level 0: the entry is in its window.
  static constexpr int kLevelShift = 20;
  static constexpr uint32_t kToken = (uint32_t(1) << kLevelShift) - 1;

  // Flag in each member of a slot that holds the children of two nodes; the other bits name a node.
  static constexpr uint32_t kLink = uint32_t(1) << 31;

  class Nodes;

  Slot *find_free(uint32_t hash) const;
  Slot *find_node(uint32_t context, uint32_t edge) const;
  Slot *add_node(uint32_t context, uint32_t edge, uint32_t value);
  uint32_t take_slot();
  void copy_node(const NgramTable &other, const Slot &entry);

  Slot *slots_ = nullptr;
  Context *contexts_ = nullptr;
  uint64_t num_slots_ = 0;
  uint64_t num_used_ = 0;
  uint32_t num_contexts_ = 0;

  // The tree: its root; the place of the next node's children if half a slot is left, else 0; a
  // slot from which on all are taken.
  uint32_t root_ = 0, next_children_ = 0, free_end_ = 0;
};

inline NgramTable::Slot *NgramTable::find(uint32_t hash, uint32_t context, uint32_t edge) const {
  const uint64_t key = Slot{context, edge, 0, 0}.key();
  for (uint64_t i = hash; i != hash + kWindow; ++i) {
    Slot *const slot = slots_ + (i & (num_slots_ - 1));
    if (slot->key() == key) return slot;
    if (slot->context == kNone) return nullptr;
  }
  return find_node(context, edge);
}

// The first free slot of a window; null if there is none.
inline NgramTable::Slot *NgramTable::find_free(uint32_t hash) const {
  for (uint64_t i = hash; i != hash + kWindow; ++i) {
    Slot *const slot = slots_ + (i & (num_slots_ - 1));
    if (slot->context == kNone) return slot;
  }
  return nullptr;
}

inline NgramTable::Slot *NgramTable::add(uint32_t hash, uint32_t context, uint32_t edge,
                                         uint32_t value) {
  ++num_used_;
  Slot *const slot = find_free(hash);
  if (!slot) return add_node(context, edge, value);
  *slot = {context, edge, value, hash};
  return slot;
}

inline uint32_t NgramTable::add_context(uint32_t hash, uint32_t parent, uint32_t token) {
  const uint32_t number = ++num_contexts_;
  contexts_[number] = {parent, token, kNone, 0, 0};
  add(hash, parent, token, number);
  return number;
}

}  // namespace sampler::decoding
