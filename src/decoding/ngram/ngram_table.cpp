#include "decoding/ngram/ngram_table.h"

#include <cstring>

#include "decoding/ngram/aa_tree.h"

namespace sampler::decoding {

size_t NgramTable::bytes_of(uint64_t num_slots, bool all_orders) {
  if (num_slots == 0) return 0;
  const uint64_t most_contexts = all_orders ? room_of(num_slots) / 2 : room_of(num_slots);
  const uint64_t context_bytes = (most_contexts + 1) * sizeof(Context);
  return size_t(num_slots * sizeof(Slot) + (context_bytes + 15) / 16 * 16);
}

NgramTable::NgramTable(void *block, uint64_t num_slots, bool all_orders)
    : slots_(
          reinterpret_cast<Slot *>(static_cast<char *>(block) + bytes_of(num_slots, all_orders)) -
          num_slots),
      contexts_(static_cast<Context *>(block)),
      num_slots_(num_slots),
      free_end_(uint32_t(num_slots - 1)) {  // so that no kLink | node is kNone
  std::memset(slots_, 0xFF, num_slots * sizeof(Slot));
  contexts_[kRoot] = {kNone, kNone, kNone, 0, 0};
}

uint64_t NgramTable::hash_of(uint32_t context) const {
  if (context == kRoot) return kRootHash;
  return extend(hash_of(contexts_[context].parent), contexts_[context].token);
}

void NgramTable::copy(const NgramTable &other) {
  std::memcpy(contexts_, other.contexts_, (other.num_contexts_ + size_t(1)) * sizeof(Context));
  num_contexts_ = other.num_contexts_;
  num_known = other.num_known;
  num_updates = other.num_updates;
  num_dropped = other.num_dropped;
  for (const Slot &slot : other) {
    if (!slot.is_entry()) continue;
    Slot *const free = slot.is_node() ? nullptr : find_free(slot.hash);
    if (!free) {
      copy_node(other, slot);
      continue;
    }
    *free = slot;
    ++num_used_;
  }
}

// Adds an entry that is a node, or becomes one.
[[gnu::noinline]] void NgramTable::copy_node(const NgramTable &other, const Slot &entry) {
  uint32_t hash = entry.hash;
  if (entry.is_node()) {
    const uint64_t context_hash = other.hash_of(entry.context);
    hash = entry.is_gram() ? gram_hash(context_hash, entry.token())
                           : uint32_t(extend(context_hash, entry.token()));
  }
  add(hash, entry.context, entry.edge & (kGram | kToken), entry.value);
}

// ---- The tree -----------------------------------------------------------------------------------

// The entries outside their window. Slot 0 is never a node: nodes take the highest free slots, and
// at least a sixteenth of all slots is free.
class NgramTable::Nodes {
 public:
  explicit Nodes(Slot *slots) : slots_(slots) {}

  static uint64_t key_of(uint32_t context, uint32_t edge) { return uint64_t(context) << 32 | edge; }

  uint64_t key(uint32_t node) const {
    return key_of(slots_[node].context, slots_[node].edge & (kGram | kToken));
  }
  uint32_t level(uint32_t node) const { return node == 0 ? 0 : slots_[node].level(); }
  void set_level(uint32_t node, uint32_t level) const {
    uint32_t &edge = slots_[node].edge;
    edge = (edge & (kGram | kToken)) | level << kLevelShift;
  }
  uint32_t child(uint32_t node, int side) const { return link(node, side) & ~kLink; }
  void set_child(uint32_t node, int side, uint32_t child) const {
    link(node, side) = kLink | child;
  }

 private:
  uint32_t &link(uint32_t node, int side) const {
    const uint32_t place = slots_[node].hash;
    Slot &links = slots_[place / 2];
    if (place % 2 == 0) return side == 0 ? links.context : links.edge;
    return side == 0 ? links.value : links.hash;
  }

  Slot *slots_;
};

[[gnu::noinline]] NgramTable::Slot *NgramTable::find_node(uint32_t context, uint32_t edge) const {
  const uint32_t node = find_in_tree(Nodes(slots_), root_, Nodes::key_of(context, edge));
  return node == 0 ? nullptr : slots_ + node;
}

[[gnu::noinline]] NgramTable::Slot *NgramTable::add_node(uint32_t context, uint32_t edge,
                                                         uint32_t value) {
  const uint32_t node = take_slot();
  uint32_t children = next_children_;
  if (children == 0) {
    const uint32_t links = take_slot();
    slots_[links] = {kLink, kLink, kLink, kLink};
    children = 2 * links;
    next_children_ = children + 1;
  } else {
    next_children_ = 0;
  }
  Slot *const slot = slots_ + node;
  *slot = {context, edge | uint32_t(1) << kLevelShift, value, children};
  root_ = add_to_tree(Nodes(slots_), root_, node);
  return slot;
}

// Takes the last free slot. There is one: at most five eighths of the slots are entries, and each
// is at worst a node with half a slot for its children.
uint32_t NgramTable::take_slot() {
  do --free_end_;
  while (slots_[free_end_].context != kNone);
  return free_end_;
}

}  // namespace sampler::decoding
