#include "decoding/ngram_storage.h"

#include <algorithm>
#include <cstring>

#include "decoding/aa_tree.h"

namespace sampler::decoding {

namespace {

constexpr uint64_t kLeastSlots = 64;
constexpr uint64_t kMostSlots = uint64_t(1) << 31;

// Entries that may be in use of so many slots: probes stay short.
uint64_t room_of(uint64_t num_slots) {
  return num_slots / 8 * 5;
}

// The hash of a context, and from it those of its children and, by its complement, of its n-grams.
constexpr uint64_t kRootHash = 0x243F6A8885A308D3u;

uint64_t extend(uint64_t hash, uint32_t token) {
  hash = (hash ^ token) * 0x9E3779B97F4A7C15u;
  hash = (hash ^ hash >> 32) * 0xD6E8FEB86659FD93u;
  return hash ^ hash >> 32;
}

uint32_t gram_hash(uint64_t hash, uint32_t next) {
  return uint32_t(extend(~hash, next));
}

// Tokens of a text whose places are fetched ahead of the one that is learned.
constexpr int64_t kPrefetchDistance = 4;

// ---- The serialised form
// -------------------------------------------------------------------------
//
// Integers are little-endian. A header, the contexts in the order of their numbers from 1 on, the
// n-grams in ascending order of (context, next token), the checksum of all bytes before it.

constexpr char kMagic[8] = {'S', 'M', 'P', 'L', 'N', 'G', 'R', 'M'};
constexpr uint32_t kVersion = 1;

// Offsets in the header.
constexpr size_t kVersionAt = 8, kAllOrdersAt = 12, kOrderAt = 16, kVocabularyAt = 20,
                 kNumContextsAt = 24, kNumGramsAt = 32, kNumUpdatesAt = 40, kNumDroppedAt = 48,
                 kHeaderBytes = 56;
constexpr size_t kChecksumBytes = 8;

// A context: parent, token, best next token or all ones. An n-gram: context, next token, count.
struct Record {
  unsigned char bytes[12];
};
static_assert(sizeof(Record) == 12 && alignof(Record) == 1);

uint32_t get32(const unsigned char *at) {
  return uint32_t(at[0]) | uint32_t(at[1]) << 8 | uint32_t(at[2]) << 16 | uint32_t(at[3]) << 24;
}

uint64_t get64(const unsigned char *at) {
  return get32(at) | uint64_t(get32(at + 4)) << 32;
}

void put32(unsigned char *at, uint32_t value) {
  for (int i = 0; i < 4; ++i) at[i] = static_cast<unsigned char>(value >> 8 * i);
}

void put64(unsigned char *at, uint64_t value) {
  put32(at, uint32_t(value));
  put32(at + 4, uint32_t(value >> 32));
}

void put_record(unsigned char *at, uint32_t first, uint32_t second, uint32_t third) {
  put32(at, first);
  put32(at + 4, second);
  put32(at + 8, third);
}

// FNV-1a with 64 bits.
uint64_t checksum(const unsigned char *data, size_t bytes) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ data[i]) * 0x100000001B3u;
  return hash;
}

}  // namespace

// ---- The table
// -----------------------------------------------------------------------------------

// A context has an entry of its own and, where all orders are kept, an n-gram at least.
size_t NgramStorage::bytes_of(uint64_t num_slots) const {
  if (num_slots == 0) return 0;
  const uint64_t most_contexts = config_.all_orders ? room_of(num_slots) / 2 : room_of(num_slots);
  return size_t(num_slots * sizeof(Slot) + (most_contexts + 1) * sizeof(Context));
}

// The tree of the entries that found no place in their window. Slot 0 is never a node's: the
// highest free slots are taken, and a sixteenth of all is free at the least.
class NgramStorage::Nodes {
 public:
  explicit Nodes(const Table &table) : slots_(table.slots) {}

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

// The entry of a key; null: it is unknown.
inline NgramStorage::Slot *NgramStorage::find(const Table &table, uint32_t hash, uint32_t context,
                                              uint32_t edge) {
  const uint64_t key = Slot{context, edge, 0, 0}.key();
  for (uint64_t i = hash; i != hash + kWindow; ++i) {
    Slot *const slot = table.slots + (i & (table.num_slots - 1));
    if (slot->key() == key) return slot;
    if (slot->context == kNone) return nullptr;
  }
  return find_node(table, context, edge);
}

// The first free slot of a window; null: there is none.
inline NgramStorage::Slot *NgramStorage::find_free(const Table &table, uint32_t hash) {
  for (uint64_t i = hash; i != hash + kWindow; ++i) {
    Slot *const slot = table.slots + (i & (table.num_slots - 1));
    if (slot->context == kNone) return slot;
  }
  return nullptr;
}

// A new entry for an unknown key.
inline NgramStorage::Slot *NgramStorage::add(Table *table, uint32_t hash, uint32_t context,
                                             uint32_t edge, uint32_t value) {
  ++table->num_used;
  Slot *const slot = find_free(*table, hash);
  if (!slot) return add_node(table, context, edge, value);
  *slot = {context, edge, value, hash};
  return slot;
}

[[gnu::noinline]] NgramStorage::Slot *NgramStorage::find_node(const Table &table, uint32_t context,
                                                              uint32_t edge) {
  const uint32_t node = find_in_tree(Nodes(table), table.root, Nodes::key_of(context, edge));
  return node == 0 ? nullptr : table.slots + node;
}

[[gnu::noinline]] NgramStorage::Slot *NgramStorage::add_node(Table *table, uint32_t context,
                                                             uint32_t edge, uint32_t value) {
  const uint32_t node = take_slot(table);
  uint32_t children = table->next_children;
  if (children == 0) {
    const uint32_t links = take_slot(table);
    table->slots[links] = {kLink, kLink, kLink, kLink};
    children = 2 * links;
    table->next_children = children + 1;
  } else {
    table->next_children = 0;
  }
  Slot *const slot = table->slots + node;
  *slot = {context, edge | uint32_t(1) << kLevelShift, value, children};
  table->root = add_to_tree(Nodes(*table), table->root, node);
  return slot;
}

// The last free slot. There is one: five eighths of the slots are entries at most, and each is a
// node with half a slot for its children at worst.
uint32_t NgramStorage::take_slot(Table *table) {
  do --table->free_end;
  while (table->slots[table->free_end].context != kNone);
  return table->free_end;
}

// Goes from the root to the longest known context that ends where `context` does; returns its
// length.
int NgramStorage::walk(const int32_t *context, int64_t num_tokens, uint32_t *number,
                       uint64_t *hash) const {
  const int most = int(std::min<int64_t>(num_tokens, max_context()));
  *number = kRoot;
  *hash = kRootHash;
  if (table_.num_slots == 0) return 0;
  for (int length = 0; length < most; ++length) {
    const uint32_t token = uint32_t(context[num_tokens - 1 - length]);
    const uint64_t child_hash = extend(*hash, token);
    const Slot *const child = find(table_, uint32_t(child_hash), *number, token);
    if (!child) return length;
    *number = child->value;
    *hash = child_hash;
  }
  return most;
}

// Fetches what learning `next` will look at. GCC takes a function that does no more for one without
// an effect, and leaves its calls out: it must not be a function of its own.
[[gnu::always_inline]] inline void NgramStorage::prefetch(const int32_t *context_end,
                                                          int64_t num_tokens, uint32_t next) const {
  if (table_.num_slots == 0) return;
  const uint64_t mask = table_.num_slots - 1;
  const int depth = int(std::min<int64_t>(num_tokens, max_context()));
  uint64_t hash = kRootHash;
  for (int length = 1; length <= depth; ++length) {
    hash = extend(hash, uint32_t(context_end[-length]));
    __builtin_prefetch(table_.slots + (hash & mask & 0xFFFFFFFFu), 1);
    if (!config_.all_orders && length < depth) continue;
    __builtin_prefetch(table_.slots + (gram_hash(hash, next) & mask), 1);
  }
}

// Of a context's tokens, the latest first.
uint64_t NgramStorage::hash_of(const Table &table, uint32_t context) {
  if (context == kRoot) return kRootHash;
  return extend(hash_of(table, table.contexts[context].parent), table.contexts[context].token);
}

// Adds what is a node, or will be one, to another table.
[[gnu::noinline]] void NgramStorage::copy_entry(const Table &table, const Slot &entry, Table *out) {
  uint32_t hash = entry.hash;
  if (entry.is_node()) {
    const uint64_t context_hash = hash_of(table, entry.context);
    hash = entry.edge & kGram ? gram_hash(context_hash, entry.token())
                              : uint32_t(extend(context_hash, entry.token()));
  }
  add(out, hash, entry.context, entry.edge & (kGram | kToken), entry.value);
}

// An empty table beside blocks of other_bytes.
NgramStorage::Room NgramStorage::allocate(uint64_t num_slots, size_t other_bytes,
                                          Table *out) const {
  const size_t bytes = bytes_of(num_slots);
  if (num_slots > kMostSlots) return Room::kLimit;
  if (config_.memory_limit != 0 && other_bytes + bytes > config_.memory_limit) return Room::kLimit;
  void *const block = config_.memory.allocate(config_.memory.user, bytes);
  if (!block) return Room::kOutOfMemory;
  *out = {};
  out->num_slots = num_slots;
  out->free_end = uint32_t(num_slots - 1);  // so that no kLink | node is kNone
  out->contexts = static_cast<Context *>(block);
  out->slots = reinterpret_cast<Slot *>(static_cast<char *>(block) + bytes) - num_slots;
  std::memset(out->slots, 0xFF, num_slots * sizeof(Slot));
  out->contexts[kRoot] = {kNone, kNone, kNone, 0};
  return Room::kYes;
}

void NgramStorage::release(Table *table) const {
  if (table->contexts) {
    config_.memory.deallocate(config_.memory.user, table->contexts, bytes_of(table->num_slots));
  }
  *table = {};
}

// A table of twice the size with the contents of this one.
NgramStorage::Room NgramStorage::allocate_doubled(Table *out) const {
  const Room room = allocate(std::max(2 * table_.num_slots, kLeastSlots),
                             bytes_of(table_.num_slots) + bytes_of(before_.num_slots), out);
  if (room != Room::kYes || table_.num_slots == 0) return room;
  std::memcpy(out->contexts, table_.contexts, (table_.num_contexts + size_t(1)) * sizeof(Context));
  out->num_contexts = table_.num_contexts;
  out->num_known = table_.num_known;
  out->num_updates = table_.num_updates;
  out->num_dropped = table_.num_dropped;
  for (uint64_t i = 0; i < table_.num_slots; ++i) {
    const Slot &slot = table_.slots[i];
    if (!slot.is_entry()) continue;
    Slot *const free = slot.is_node() ? nullptr : find_free(*out, slot.hash);
    if (!free) {
      copy_entry(table_, slot, out);
      continue;
    }
    *free = slot;
    ++out->num_used;
  }
  return room;
}

NgramStorage::Room NgramStorage::make_room(int num_entries) {
  if (table_.num_used + uint64_t(num_entries) <= room_of(table_.num_slots)) return Room::kYes;
  if (!may_grow_) return Room::kLimit;
  Table doubled;
  const Room room = allocate_doubled(&doubled);
  if (room != Room::kYes) return room;
  release(&table_);
  table_ = doubled;
  return room;
}

void NgramStorage::reset() {
  release(&table_);
}

void NgramStorage::abandon() {
  table_ = before_ = {};
  may_grow_ = false;
}

// ---- Learning
// ------------------------------------------------------------------------------------

// Runs `learn`, which learns up to so many tokens. Where that might not fit, it works on a copy
// from the start; where even the copy would pass the limit, nothing grows and nothing can fail.
template <class Learn>
bool NgramStorage::learn_all_or_nothing(int64_t num_next_tokens, const Learn &learn) {
  const uint64_t free = room_of(table_.num_slots) - table_.num_used;
  if (free / uint64_t(2 * max_context()) < uint64_t(num_next_tokens)) {
    Table copy;
    const Room room = allocate_doubled(&copy);
    if (room == Room::kOutOfMemory) return false;
    if (room == Room::kYes) {
      before_ = table_;
      table_ = copy;
      may_grow_ = true;
    }
  }
  const bool learned = learn();
  if (!learned) std::swap(table_, before_);
  release(&before_);
  may_grow_ = false;
  return learned;
}

bool NgramStorage::update(const int32_t *context, int64_t num_tokens, const int32_t *next_token_ids,
                          int64_t num_next_tokens) {
  return learn_all_or_nothing(num_next_tokens, [&] {
    for (int64_t i = 0; i < num_next_tokens; ++i) {
      prefetch(context + num_tokens, num_tokens, uint32_t(next_token_ids[i]));
      if (!learn(next_token_ids + i, context + num_tokens, num_tokens)) return false;
    }
    return true;
  });
}

bool NgramStorage::initialize(const int32_t *token_ids, int64_t num_tokens) {
  return learn_all_or_nothing(num_tokens, [&] {
    for (int64_t i = 1; i < num_tokens; ++i) {
      const int64_t ahead = std::min(i + kPrefetchDistance, num_tokens - 1);
      prefetch(token_ids + ahead, ahead, uint32_t(token_ids[ahead]));
      if (!learn(token_ids + i, token_ids + i, i)) return false;
    }
    return true;
  });
}

// One token behind a context of num_tokens tokens. False: no memory.
bool NgramStorage::learn(const int32_t *next, const int32_t *context_end, int64_t num_tokens) {
  const int depth = int(std::min<int64_t>(num_tokens, max_context()));
  if (depth < (config_.all_orders ? 1 : max_context())) return true;
  ++table_.num_updates;
  return config_.all_orders ? learn_orders(context_end, depth, uint32_t(*next))
                            : learn_one_level(context_end, uint32_t(*next));
}

bool NgramStorage::learn_orders(const int32_t *context_end, int depth, uint32_t next) {
  uint32_t context = kRoot;
  uint64_t hash = kRootHash;
  for (int length = 1; length <= depth; ++length) {
    const uint32_t token = uint32_t(context_end[-length]);
    hash = extend(hash, token);
    const uint32_t next_hash = gram_hash(hash, next);
    const Slot *const found = find(table_, uint32_t(hash), context, token);
    const bool is_new = !found;
    uint32_t child = is_new ? kNone : found->value;
    Slot *gram = is_new ? nullptr : find(table_, next_hash, child, kGram | next);
    if (!gram) {
      const Room room = make_room(is_new ? 2 : 1);
      if (room == Room::kOutOfMemory) return false;
      if (room == Room::kLimit) {
        // Behind a context that is not kept there are no longer ones.
        table_.num_dropped += is_new ? uint64_t(depth - length + 1) : 1;
        if (is_new) return true;
        context = child;
        continue;
      }
      if (is_new) child = add_context(uint32_t(hash), context, token);
      gram = add(&table_, next_hash, child, kGram | next, 0);
    }
    count(gram);
    context = child;
  }
  return true;
}

bool NgramStorage::learn_one_level(const int32_t *context_end, uint32_t next) {
  const int depth = max_context();
  uint32_t context;
  uint64_t hash;
  int length = walk(context_end - depth, depth, &context, &hash);
  Slot *gram =
      length == depth ? find(table_, gram_hash(hash, next), context, kGram | next) : nullptr;
  if (!gram) {
    const Room room = make_room(depth - length + 1);
    if (room == Room::kOutOfMemory) return false;
    if (room == Room::kLimit) {
      ++table_.num_dropped;
      return true;
    }
    while (length < depth) {
      const uint32_t token = uint32_t(context_end[-++length]);
      hash = extend(hash, token);
      context = add_context(uint32_t(hash), context, token);
    }
    gram = add(&table_, gram_hash(hash, next), context, kGram | next, 0);
  }
  count(gram);
  return true;
}

uint32_t NgramStorage::add_context(uint32_t hash, uint32_t parent, uint32_t token) {
  const uint32_t number = ++table_.num_contexts;
  table_.contexts[number] = {parent, token, kNone, 0};
  add(&table_, hash, parent, token, number);
  return number;
}

void NgramStorage::count(Slot *gram) {
  Context &context = table_.contexts[gram->context];
  if (gram->value != kNone) ++gram->value;
  if (gram->value <= context.best_count) return;  // among equals the incumbent stays
  if (context.best == kNone) ++table_.num_known;
  context.best = gram->token();
  context.best_count = gram->value;
}

// ---- Asking
// --------------------------------------------------------------------------------------

int32_t NgramStorage::next_token(const int32_t *context, int64_t num_tokens) const {
  uint32_t number;
  uint64_t hash;
  const int length = walk(context, num_tokens, &number, &hash);
  if (length == 0) return -1;
  // kNone, as an int32, is -1: a part of a context of one level has no count.
  return int32_t(table_.contexts[number].best);
}

bool NgramStorage::has_gram(const int32_t *context, int64_t num_tokens) const {
  if (num_tokens < 1) return false;
  uint32_t number;
  uint64_t hash;
  return walk(context, num_tokens, &number, &hash) == num_tokens &&
         table_.contexts[number].best != kNone;
}

// ---- Serialising
// ---------------------------------------------------------------------------------

// All entries but those of contexts are n-grams.
size_t NgramStorage::serialized_bytes() const {
  return kHeaderBytes + size_t(table_.num_used) * sizeof(Record) + kChecksumBytes;
}

void NgramStorage::serialize(unsigned char *out) const {
  std::memcpy(out, kMagic, sizeof kMagic);
  put32(out + kVersionAt, kVersion);
  put32(out + kAllOrdersAt, config_.all_orders);
  put32(out + kOrderAt, uint32_t(config_.order));
  put32(out + kVocabularyAt, uint32_t(config_.vocabulary_size));
  put64(out + kNumContextsAt, table_.num_contexts);
  put64(out + kNumGramsAt, table_.num_used - table_.num_contexts);
  put64(out + kNumUpdatesAt, table_.num_updates);
  put64(out + kNumDroppedAt, table_.num_dropped);

  unsigned char *at = out + kHeaderBytes;
  for (uint32_t i = 1; i <= table_.num_contexts; ++i, at += sizeof(Record)) {
    const Context &context = table_.contexts[i];
    put_record(at, context.parent, context.token, context.best);
  }
  Record *const grams = reinterpret_cast<Record *>(at);
  for (uint64_t i = 0; i < table_.num_slots; ++i) {
    const Slot &slot = table_.slots[i];
    if (!slot.is_entry() || !(slot.edge & kGram)) continue;
    put_record(at, slot.context, slot.token(), slot.value);
    at += sizeof(Record);
  }
  std::sort(grams, reinterpret_cast<Record *>(at), [](const Record &a, const Record &b) {
    const uint32_t first = get32(a.bytes), second = get32(b.bytes);
    return first != second ? first < second : get32(a.bytes + 4) < get32(b.bytes + 4);
  });
  put64(at, checksum(out, size_t(at - out)));
}

NgramStorage::Loaded NgramStorage::deserialize(const unsigned char *data, size_t bytes,
                                               const char **reason) {
  const auto corrupt = [&](const char *why) {
    *reason = why;
    return Loaded::kCorrupt;
  };
  const auto other = [&](const char *what) {
    *reason = what;
    return Loaded::kOtherKind;
  };
  if (bytes < kHeaderBytes + kChecksumBytes) return corrupt("are shorter than a header");
  if (std::memcmp(data, kMagic, sizeof kMagic) != 0) return corrupt("are no n-gram storage");
  if (get32(data + kVersionAt) != kVersion) return corrupt("are of an unknown format version");
  const size_t records_bytes = bytes - kHeaderBytes - kChecksumBytes;
  if (get64(data + bytes - kChecksumBytes) != checksum(data, bytes - kChecksumBytes)) {
    return corrupt("have a wrong checksum");
  }
  if (get32(data + kAllOrdersAt) != uint32_t(config_.all_orders)) return other("kind");
  if (get32(data + kOrderAt) != uint32_t(config_.order)) return other("order");
  if (get32(data + kVocabularyAt) != uint32_t(config_.vocabulary_size)) {
    return other("vocabulary_size");
  }
  const uint64_t num_contexts = get64(data + kNumContextsAt), num_grams = get64(data + kNumGramsAt);
  const uint64_t num_records = records_bytes / sizeof(Record);
  if (records_bytes % sizeof(Record) != 0 || num_contexts > num_records ||
      num_grams != num_records - num_contexts) {
    return corrupt("have another size than their header says");
  }
  // What the table has room for, too.
  if (config_.all_orders && num_contexts > num_grams) return corrupt("have an empty context");

  uint64_t num_slots = kLeastSlots;
  while (room_of(num_slots) < num_records) num_slots *= 2;
  Table table;
  switch (allocate(num_slots, bytes_of(table_.num_slots), &table)) {
    case Room::kLimit:
      return Loaded::kOverLimit;
    case Room::kOutOfMemory:
      return Loaded::kOutOfMemory;
    case Room::kYes:
      break;
  }
  table.num_updates = get64(data + kNumUpdatesAt);
  table.num_dropped = get64(data + kNumDroppedAt);
  if (const char *why = read_tables(data + kHeaderBytes, num_contexts, num_grams, &table)) {
    release(&table);
    return corrupt(why);
  }
  release(&table_);
  table_ = table;
  return Loaded::kOk;
}

// Each of these returns null, or what is wrong.
const char *NgramStorage::read_tables(const unsigned char *data, uint64_t num_contexts,
                                      uint64_t num_grams, Table *out) const {
  if ((out->num_updates | out->num_dropped) >> 63 != 0) return "have a negative statistic";
  const char *const why = read_contexts(data, num_contexts, out);
  return why ? why : read_grams(data + num_contexts * sizeof(Record), num_grams, out);
}

// Until the n-grams are read, a context's best_count is its length.
const char *NgramStorage::read_contexts(const unsigned char *data, uint64_t num_contexts,
                                        Table *out) const {
  for (uint64_t i = 0; i < num_contexts; ++i, data += sizeof(Record)) {
    const uint32_t parent = get32(data), token = get32(data + 4), number = uint32_t(i) + 1;
    if (parent >= number) return "have a context before its parent";
    if (token >= config_.vocabulary_size) return "have a token outside the vocabulary";
    const uint32_t length = out->contexts[parent].best_count + 1;
    if (length > uint32_t(max_context())) return "have a context that is too long";
    out->contexts[number] = {parent, token, get32(data + 8), length};
    const uint32_t hash = uint32_t(hash_of(*out, number));
    if (find(*out, hash, parent, token)) return "have a context twice";
    add(out, hash, parent, token, number);
  }
  out->num_contexts = uint32_t(num_contexts);
  return nullptr;
}

const char *NgramStorage::read_grams(const unsigned char *data, uint64_t num_grams,
                                     Table *out) const {
  const unsigned char *const end = data + num_grams * sizeof(Record);
  for (uint32_t number = 1; number <= out->num_contexts; ++number) {
    Context &context = out->contexts[number];
    const bool is_kept = config_.all_orders || context.best_count == uint32_t(max_context());
    const uint64_t hash = hash_of(*out, number);
    uint32_t most = 0, best_count = 0;
    for (int64_t previous = -1; data != end && get32(data) == number; data += sizeof(Record)) {
      const uint32_t token = get32(data + 4), count = get32(data + 8);
      if (token >= config_.vocabulary_size) return "have a token outside the vocabulary";
      if (token <= previous) return "have n-grams out of order";
      if (count == 0 || !is_kept) return "have an n-gram that is not counted";
      add(out, gram_hash(hash, token), number, kGram | token, count);
      if (token == context.best) best_count = count;
      most = std::max(most, count);
      previous = token;
    }
    if (is_kept != (most != 0)) return "have an empty context";
    if (best_count != most || (!is_kept && context.best != kNone)) {
      return "have a likeliest token that is not";
    }
    context.best_count = most;
    out->num_known += is_kept;
  }
  return data == end ? nullptr : "have an n-gram without its context";
}

}  // namespace sampler::decoding
