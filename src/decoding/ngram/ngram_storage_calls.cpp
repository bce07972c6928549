// The entry points of n-gram storages.
#include <cinttypes>
#include <climits>
#include <new>

#include "abi/allocator.h"
#include "decoding/ngram/ngram_calls.h"
#include "decoding/ngram/ngram_storage.h"

using sampler::decoding::NgramStorage;

struct sampler_ngram_storage {
  sampler::abi::Allocator allocator;
  sampler::abi::Owner owner;
  sampler::abi::Entry *entry;  // the call that may now allocate or free blocks
  int64_t memory_limit;
  NgramStorage contents;

  void forget_unfinished() { contents.abandon(); }
};

namespace sampler::decoding {

namespace {

using abi::Allocator;

constexpr int kDefaultOrder = 3;
constexpr int kMaxOrder = NgramStorage::kMostContext + 1;
constexpr int64_t kLeastMemoryLimit = 4096;

// Bytes charged for a storage without its table. Fixed, so that a memory_limit drops the same
// n-grams whatever the members.
constexpr size_t kStorageBytes = 264;
static_assert(sizeof(sampler_ngram_storage) <= kStorageBytes &&
              kStorageBytes < size_t(kLeastMemoryLimit));

using Storage = Taken<sampler_ngram_storage>;

// Checks a context whole, or its last `most_tokens` tokens.
void check_context(Check &check, const int32_t *context, int64_t num_tokens, int64_t most_tokens,
                   int64_t vocabulary_size) {
  check_tokens(check, "context", "num_tokens", context,
               num_tokens > most_tokens ? num_tokens - most_tokens : 0, num_tokens,
               vocabulary_size);
}

sampler_status create(Entry &entry, const sampler_ngram_storage_options *user_options,
                      sampler_ngram_storage_t *out_storage) {
  abi::prepare_unwinder();
  Check check(entry);
  check.required("out_storage", out_storage);
  if (check.ok()) *out_storage = nullptr;
  sampler_ngram_storage_options options;
  if (!check.read("options", user_options, &options)) return check.status();
  check.enumeration("kind", options.kind, 2);
  if (options.order == 0) options.order = kDefaultOrder;
  check.range("order", options.order, 2, kMaxOrder + 1);
  check_vocabulary_size(check, options.vocabulary_size);
  if (options.memory_limit != 0) {
    check.range("memory_limit", options.memory_limit, kLeastMemoryLimit, INT64_MAX);
  }
  abi::check_hooks(check, options.allocator);
  if (!check.ok()) return check.status();

  const Allocator allocator = abi::make_allocator(options.allocator);
  abi::Block memory;
  if (!abi::prepare_owners(check) ||
      !abi::allocate(check, allocator, "storage", kStorageBytes, &memory)) {
    return check.status();
  }
  auto *const storage = static_cast<sampler_ngram_storage *>(memory.data);
  NgramStorage::Config config;
  config.all_orders = options.kind == SAMPLER_NGRAM_ALL_ORDERS;
  config.order = options.order;
  config.vocabulary_size = options.vocabulary_size;
  config.memory_limit =
      options.memory_limit == 0 ? 0 : uint64_t(options.memory_limit) - kStorageBytes;
  config.memory.user = storage;
  config.memory.allocate = [](void *user, size_t bytes) {
    const auto *const self = static_cast<sampler_ngram_storage *>(user);
    return abi::call_allocate(*self->entry, self->allocator, bytes);
  };
  config.memory.deallocate = [](void *user, void *block, size_t bytes) {
    const auto *const self = static_cast<sampler_ngram_storage *>(user);
    abi::call_deallocate(*self->entry, self->allocator, block, bytes);
  };
  *out_storage = new (storage)
      sampler_ngram_storage{allocator, {}, &entry, options.memory_limit, NgramStorage(config)};
  return SAMPLER_OK;
}

void destroy(Entry &entry, sampler_ngram_storage *storage) {
  if (abi::Busy(&storage->owner).interrupted()) storage->forget_unfinished();
  const Allocator allocator = storage->allocator;
  storage->entry = &entry;
  storage->~sampler_ngram_storage();
  abi::call_deallocate(entry, allocator, storage, kStorageBytes);
}

void check_learned(Check &check, bool learned) {
  if (!learned) {
    check.fail(SAMPLER_ERROR_OUT_OF_MEMORY,
               "the allocator returned NULL for a larger table; the storage is as it was");
  }
}

sampler_status storage_next_token(Entry &entry, void *user, const int32_t *context,
                                  int64_t num_tokens, uint64_t seed, uint64_t offset,
                                  int32_t *out_token_id, int32_t *out_known) {
  Check check(entry);
  const Storage storage(check, "user", user);
  if (!storage) return check.status();
  const int64_t vocabulary_size = storage->contents.vocabulary_size();
  check_context(check, context, num_tokens, storage->contents.max_context(), vocabulary_size);
  check_next_token_outputs(check, out_token_id, out_known);
  if (!check.ok()) return check.status();
  write_next_token(storage->contents.next_token(context, num_tokens), seed, offset, vocabulary_size,
                   out_token_id, out_known);
  return SAMPLER_OK;
}

sampler_status storage_has_gram(Entry &entry, void *user, const int32_t *context,
                                int64_t num_tokens, int32_t *out_has) {
  Check check(entry);
  const Storage storage(check, "user", user);
  if (!storage) return check.status();
  check_context(check, context, num_tokens, INT64_MAX, storage->contents.vocabulary_size());
  check.required("out_has", out_has);
  if (check.ok()) *out_has = storage->contents.has_gram(context, num_tokens);
  return check.status();
}

sampler_status storage_propose(Entry &entry, void *user, const int32_t *context, int64_t num_tokens,
                               int64_t num_drafts, int64_t least_count, float least_share,
                               int32_t *out_token_ids, int64_t *out_num_drafts) {
  Check check(entry);
  const Storage storage(check, "user", user);
  if (!storage) return check.status();
  check_context(check, context, num_tokens, storage->contents.max_context(),
                storage->contents.vocabulary_size());
  check_proposal(check, num_drafts, least_count, least_share, out_token_ids, out_num_drafts);
  if (!check.ok()) return check.status();
  *out_num_drafts = storage->contents.propose(context, num_tokens, num_drafts, least_count,
                                              least_share, out_token_ids);
  return SAMPLER_OK;
}

sampler_status storage_update(Entry &entry, void *user, const int32_t *context, int64_t num_tokens,
                              const int32_t *next_token_ids, int64_t num_next_tokens) {
  Check check(entry);
  const Storage storage(check, "user", user);
  if (!storage) return check.status();
  check_context(check, context, num_tokens, storage->contents.max_context(),
                storage->contents.vocabulary_size());
  check_tokens(check, "next_token_ids", "num_next_tokens", next_token_ids, 0, num_next_tokens,
               storage->contents.vocabulary_size());
  if (!check.ok() || num_tokens == 0 || num_next_tokens == 0) return check.status();
  storage->entry = &entry;
  check_learned(check,
                storage->contents.update(context, num_tokens, next_token_ids, num_next_tokens));
  return check.status();
}

sampler_status storage_initialize(Entry &entry, void *user, const int32_t *token_ids,
                                  int64_t num_tokens) {
  Check check(entry);
  const Storage storage(check, "user", user);
  if (!storage) return check.status();
  check_tokens(check, "token_ids", "num_tokens", token_ids, 0, num_tokens,
               storage->contents.vocabulary_size());
  if (!check.ok() || num_tokens < 2) return check.status();
  storage->entry = &entry;
  check_learned(check, storage->contents.initialize(token_ids, num_tokens));
  return check.status();
}

sampler_status storage_reset(Entry &entry, void *user) {
  Check check(entry);
  const Storage storage(check, "user", user);
  if (!storage) return check.status();
  storage->entry = &entry;
  storage->contents.reset();
  return SAMPLER_OK;
}

sampler_status get_stats(Entry &entry, sampler_ngram_storage *handle,
                         sampler_ngram_storage_stats *out) {
  Check check(entry);
  const Storage storage(check, "storage", handle);
  sampler_ngram_storage_stats stats;
  if (!storage || !check.read("out_stats", out, &stats)) return check.status();
  stats.num_contexts = int64_t(storage->contents.num_contexts());
  stats.num_updates = int64_t(storage->contents.num_updates());
  stats.num_dropped = int64_t(storage->contents.num_dropped());
  stats.memory_bytes = int64_t(kStorageBytes + storage->contents.block_bytes());
  abi::write_struct(stats, out);
  return SAMPLER_OK;
}

sampler_status serialize(Entry &entry, sampler_ngram_storage *handle, void *buffer,
                         size_t buffer_bytes, size_t *out_bytes) {
  Check check(entry);
  const Storage storage(check, "storage", handle);
  check.required("out_bytes", out_bytes);
  if (!check.ok()) return check.status();
  const size_t bytes = storage->contents.serialized_bytes();
  if (!buffer && buffer_bytes != 0) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "buffer is NULL and buffer_bytes %zu; it must be 0 then", buffer_bytes);
  } else if (buffer && buffer_bytes < bytes) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "buffer_bytes is %zu; this storage needs %zu",
               buffer_bytes, bytes);
  }
  if (!check.ok()) return check.status();
  if (buffer) storage->contents.serialize(static_cast<unsigned char *>(buffer));
  *out_bytes = bytes;
  return SAMPLER_OK;
}

sampler_status deserialize(Entry &entry, sampler_ngram_storage *handle, const void *data,
                           size_t data_bytes) {
  Check check(entry);
  const Storage storage(check, "storage", handle);
  check.required("data", data);
  if (!check.ok()) return check.status();
  const char *reason = "";
  storage->entry = &entry;
  switch (storage->contents.deserialize(static_cast<const unsigned char *>(data), data_bytes,
                                        &reason)) {
    case NgramStorage::Loaded::kOk:
      break;
    case NgramStorage::Loaded::kCorrupt:
      check.fail(SAMPLER_ERROR_CORRUPT_DATA, "data %s", reason);
      break;
    case NgramStorage::Loaded::kOtherKind:
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
                 "data are of a storage of another %s; it must be the same", reason);
      break;
    case NgramStorage::Loaded::kOutOfMemory:
      check_learned(check, false);
      break;
    case NgramStorage::Loaded::kOverLimit:
      check.fail(SAMPLER_ERROR_OUT_OF_MEMORY,
                 "memory_limit is %" PRId64 "; old and new contents together need more",
                 storage->memory_limit);
      break;
  }
  return check.status();
}

sampler_status get_interface(Entry &entry, sampler_ngram_storage *storage,
                             sampler_ngram *out_ngram) {
  Check check(entry);
  check.required("storage", storage);
  return write_interface(check,
                         {sizeof(sampler_ngram), storage, Entered<storage_next_token>::call,
                          Entered<storage_has_gram>::call, Entered<storage_update>::call,
                          Entered<storage_initialize>::call, Entered<storage_reset>::call,
                          Entered<storage_propose>::call},
                         out_ngram);
}

}  // namespace

}  // namespace sampler::decoding

using namespace sampler::decoding;

extern "C" {

sampler_status sampler_ngram_storage_create(const sampler_ngram_storage_options *options,
                                            sampler_ngram_storage_t *out_storage) {
  return enter([&](Entry &entry) { return create(entry, options, out_storage); });
}

void sampler_ngram_storage_destroy(sampler_ngram_storage_t storage) {
  enter([&](Entry &entry) {
    if (storage) destroy(entry, storage);
    return SAMPLER_OK;
  });
}

sampler_status sampler_ngram_storage_interface(sampler_ngram_storage_t storage,
                                               sampler_ngram *out_ngram) {
  return enter([&](Entry &entry) { return get_interface(entry, storage, out_ngram); });
}

sampler_status sampler_ngram_storage_get_stats(sampler_ngram_storage_t storage,
                                               sampler_ngram_storage_stats *out_stats) {
  return enter([&](Entry &entry) { return get_stats(entry, storage, out_stats); });
}

sampler_status sampler_ngram_storage_serialize(sampler_ngram_storage_t storage, void *buffer,
                                               size_t buffer_bytes, size_t *out_bytes) {
  return enter(
      [&](Entry &entry) { return serialize(entry, storage, buffer, buffer_bytes, out_bytes); });
}

sampler_status sampler_ngram_storage_deserialize(sampler_ngram_storage_t storage, const void *data,
                                                 size_t data_bytes) {
  return enter([&](Entry &entry) { return deserialize(entry, storage, data, data_bytes); });
}

}  // extern "C"
