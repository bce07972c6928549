// The serialised form of a storage: a header, the contexts by ascending number from 1, the n-grams
// by ascending (context, next token), the checksum of all bytes before it. Integers are
// little-endian.
#include <algorithm>
#include <cstring>

#include "contract/bytes.h"
#include "decoding/ngram/ngram_storage.h"

namespace sampler::decoding {

namespace {

using contract::checksum;
using contract::get32;
using contract::get64;
using contract::put32;
using contract::put64;

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

void put_record(unsigned char *at, uint32_t first, uint32_t second, uint32_t third) {
  put32(at, first);
  put32(at + 4, second);
  put32(at + 8, third);
}

}  // namespace

// All entries but the contexts' are n-grams.
size_t NgramStorage::serialized_bytes() const {
  return kHeaderBytes + size_t(table_.num_used()) * sizeof(Record) + kChecksumBytes;
}

void NgramStorage::serialize(unsigned char *out) const {
  std::memcpy(out, kMagic, sizeof kMagic);
  put32(out + kVersionAt, kVersion);
  put32(out + kAllOrdersAt, config_.all_orders);
  put32(out + kOrderAt, uint32_t(config_.order));
  put32(out + kVocabularyAt, uint32_t(config_.vocabulary_size));
  put64(out + kNumContextsAt, table_.num_contexts());
  put64(out + kNumGramsAt, table_.num_used() - table_.num_contexts());
  put64(out + kNumUpdatesAt, table_.num_updates);
  put64(out + kNumDroppedAt, table_.num_dropped);

  unsigned char *at = out + kHeaderBytes;
  for (uint32_t i = 1; i <= table_.num_contexts(); ++i, at += sizeof(Record)) {
    const Context &context = table_.context(i);
    put_record(at, context.parent, context.token, context.best);
  }
  Record *const grams = reinterpret_cast<Record *>(at);
  for (const Slot &slot : table_) {
    if (!slot.is_gram()) continue;
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
  // The table's capacity relies on this, too.
  if (config_.all_orders && num_contexts > num_grams) return corrupt("have an empty context");

  uint64_t num_slots = NgramTable::kLeastSlots;
  while (NgramTable::room_of(num_slots) < num_records) num_slots *= 2;
  NgramTable table;
  switch (allocate(num_slots, bytes_of(table_), &table)) {
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

// Each returns null, or what is wrong.
const char *NgramStorage::read_tables(const unsigned char *data, uint64_t num_contexts,
                                      uint64_t num_grams, NgramTable *out) const {
  if ((out->num_updates | out->num_dropped) >> 63 != 0) return "have a negative statistic";
  const char *const why = read_contexts(data, num_contexts, out);
  return why ? why : read_grams(data + num_contexts * sizeof(Record), num_grams, out);
}

// Until the n-grams are read, best_count holds the context's length.
const char *NgramStorage::read_contexts(const unsigned char *data, uint64_t num_contexts,
                                        NgramTable *out) const {
  for (uint64_t i = 0; i < num_contexts; ++i, data += sizeof(Record)) {
    const uint32_t parent = get32(data), token = get32(data + 4), number = uint32_t(i) + 1;
    if (parent >= number) return "have a context before its parent";
    if (token >= config_.vocabulary_size) return "have a token outside the vocabulary";
    const uint32_t length = out->context(parent).best_count + 1;
    if (length > uint32_t(max_context())) return "have a context that is too long";
    const uint32_t hash = uint32_t(extend(out->hash_of(parent), token));
    if (out->find(hash, parent, token)) return "have a context twice";
    Context &context = out->context(out->add_context(hash, parent, token));
    context.best = get32(data + 8);
    context.best_count = length;
  }
  return nullptr;
}

const char *NgramStorage::read_grams(const unsigned char *data, uint64_t num_grams,
                                     NgramTable *out) const {
  const unsigned char *const end = data + num_grams * sizeof(Record);
  for (uint32_t number = 1; number <= out->num_contexts(); ++number) {
    Context &context = out->context(number);
    const bool is_kept = config_.all_orders || context.best_count == uint32_t(max_context());
    const uint64_t hash = out->hash_of(number);
    uint32_t most = 0, best_count = 0;
    uint64_t sum = 0;
    for (int64_t previous = -1; data != end && get32(data) == number; data += sizeof(Record)) {
      const uint32_t token = get32(data + 4), count = get32(data + 8);
      if (token >= config_.vocabulary_size) return "have a token outside the vocabulary";
      if (token <= previous) return "have n-grams out of order";
      if (count == 0 || !is_kept) return "have an n-gram that is not counted";
      out->add(gram_hash(hash, token), number, kGram | token, count);
      if (token == context.best) best_count = count;
      most = std::max(most, count);
      sum += count;
      previous = token;
    }
    if (is_kept != (most != 0)) return "have an empty context";
    if (best_count != most || (!is_kept && context.best != kNone)) {
      return "have a likeliest token that is not";
    }
    context.best_count = most;
    context.sum = sum;
    out->num_known += is_kept;
  }
  return data == end ? nullptr : "have an n-gram without its context";
}

}  // namespace sampler::decoding
