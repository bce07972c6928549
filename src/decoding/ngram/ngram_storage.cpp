#include "decoding/ngram/ngram_storage.h"

#include <algorithm>

namespace sampler::decoding {

namespace {

// Prefetch distance, in tokens of the text that is learned.
constexpr int64_t kPrefetchDistance = 4;

}  // namespace

// ---- Memory -------------------------------------------------------------------------------------

// An empty table, in addition to blocks of other_bytes.
NgramStorage::Room NgramStorage::allocate(uint64_t num_slots, size_t other_bytes,
                                          NgramTable *out) const {
  if (num_slots > NgramTable::kMostSlots) return Room::kLimit;
  const size_t bytes = NgramTable::bytes_of(num_slots, config_.all_orders);
  if (config_.memory_limit != 0 && other_bytes + bytes > config_.memory_limit) return Room::kLimit;
  void *const block = config_.memory.allocate(config_.memory.user, bytes);
  if (!block) return Room::kOutOfMemory;
  *out = NgramTable(block, num_slots, config_.all_orders);
  return Room::kYes;
}

void NgramStorage::release(NgramTable *table) const {
  if (table->block()) {
    config_.memory.deallocate(config_.memory.user, table->block(), bytes_of(*table));
  }
  *table = {};
}

// A table of twice the size with this one's contents.
NgramStorage::Room NgramStorage::allocate_doubled(NgramTable *out) const {
  const Room room = allocate(std::max(2 * table_.num_slots(), NgramTable::kLeastSlots),
                             bytes_of(table_) + bytes_of(before_), out);
  if (room == Room::kYes && table_.num_slots() != 0) out->copy(table_);
  return room;
}

NgramStorage::Room NgramStorage::make_room(int num_entries) {
  if (uint64_t(num_entries) <= table_.num_free()) return Room::kYes;
  if (!may_grow_) return Room::kLimit;
  NgramTable doubled;
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

// ---- Learning -----------------------------------------------------------------------------------

// Prefetches the entries that learning `next` visits. Always inlined: GCC takes a function that
// only prefetches for one without effect, and drops its calls.
[[gnu::always_inline]] inline void NgramStorage::prefetch(const int32_t *context_end,
                                                          int64_t num_tokens, uint32_t next) const {
  if (table_.num_slots() == 0) return;
  const int depth = int(std::min<int64_t>(num_tokens, max_context()));
  uint64_t hash = kRootHash;
  for (int length = 1; length <= depth; ++length) {
    hash = extend(hash, uint32_t(context_end[-length]));
    table_.prefetch(uint32_t(hash));
    if (!config_.all_orders && length < depth) continue;
    table_.prefetch(gram_hash(hash, next));
  }
}

// Runs `learn`, which learns up to num_next_tokens tokens. If they might not fit, it works on a
// copy from the start; if even the copy might exceed the limit, nothing grows and nothing can fail.
template <class Learn>
bool NgramStorage::learn_all_or_nothing(int64_t num_next_tokens, const Learn &learn) {
  if (table_.num_free() / uint64_t(2 * max_context()) < uint64_t(num_next_tokens)) {
    NgramTable copy;
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

// Learns one token after a context of num_tokens tokens. False: out of memory.
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
    const Slot *const found = table_.find(uint32_t(hash), context, token);
    const bool is_new = !found;
    uint32_t child = is_new ? kNone : found->value;
    Slot *gram = is_new ? nullptr : table_.find(next_hash, child, kGram | next);
    if (!gram) {
      const Room room = make_room(is_new ? 2 : 1);
      if (room == Room::kOutOfMemory) return false;
      if (room == Room::kLimit) {
        // A context that is dropped has no longer ones.
        table_.num_dropped += is_new ? uint64_t(depth - length + 1) : 1;
        if (is_new) return true;
        context = child;
        continue;
      }
      if (is_new) child = table_.add_context(uint32_t(hash), context, token);
      gram = table_.add(next_hash, child, kGram | next, 0);
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
      length == depth ? table_.find(gram_hash(hash, next), context, kGram | next) : nullptr;
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
      context = table_.add_context(uint32_t(hash), context, token);
    }
    gram = table_.add(gram_hash(hash, next), context, kGram | next, 0);
  }
  count(gram);
  return true;
}

void NgramStorage::count(Slot *gram) {
  Context &context = table_.context(gram->context);
  if (gram->value != kNone) {
    ++gram->value;
    ++context.sum;
  }
  if (gram->value <= context.best_count) return;  // ties keep the incumbent
  if (context.best == kNone) ++table_.num_known;
  context.best = gram->token();
  context.best_count = gram->value;
}

// ---- Lookup -------------------------------------------------------------------------------------

// Walks from the root to the longest known context that ends where `context` does; returns its
// length.
int NgramStorage::walk(const int32_t *context, int64_t num_tokens, uint32_t *number,
                       uint64_t *hash) const {
  const int most = int(std::min<int64_t>(num_tokens, max_context()));
  *number = kRoot;
  *hash = kRootHash;
  if (table_.num_slots() == 0) return 0;
  for (int length = 0; length < most; ++length) {
    const uint32_t token = uint32_t(context[num_tokens - 1 - length]);
    const uint64_t child_hash = extend(*hash, token);
    const Slot *const child = table_.find(uint32_t(child_hash), *number, token);
    if (!child) return length;
    *number = child->value;
    *hash = child_hash;
  }
  return most;
}

int32_t NgramStorage::next_token(const int32_t *context, int64_t num_tokens) const {
  uint32_t number;
  uint64_t hash;
  const int length = walk(context, num_tokens, &number, &hash);
  if (length == 0) return -1;
  // kNone, as an int32, is -1: with a single order, shorter contexts have no counts.
  return int32_t(table_.context(number).best);
}

int64_t NgramStorage::propose(const int32_t *context, int64_t num_tokens, int64_t num_drafts,
                              int64_t least_count, float least_share,
                              int32_t *out_token_ids) const {
  // The last tokens of the context and the drafts.
  int32_t end[kMostContext];
  int64_t length = std::min<int64_t>(num_tokens, max_context());
  std::copy_n(context + num_tokens - length, length, end);
  int64_t num_proposed = 0;
  while (num_proposed < num_drafts) {
    uint32_t number;
    uint64_t hash;
    if (walk(end, length, &number, &hash) == 0) break;
    const Context &known = table_.context(number);
    if (known.best == kNone || int64_t(known.best_count) < least_count) break;
    if (float(double(known.best_count) / double(known.sum)) < least_share) break;
    out_token_ids[num_proposed++] = int32_t(known.best);
    if (length == max_context()) {
      std::copy(end + 1, end + length, end);
      --length;
    }
    end[length++] = int32_t(known.best);
  }
  return num_proposed;
}

bool NgramStorage::has_gram(const int32_t *context, int64_t num_tokens) const {
  if (num_tokens < 1) return false;
  uint32_t number;
  uint64_t hash;
  return walk(context, num_tokens, &number, &hash) == num_tokens &&
         table_.context(number).best != kNone;
}

}  // namespace sampler::decoding
