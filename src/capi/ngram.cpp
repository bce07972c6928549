// N-gram storages and prompt lookup.
#include "sampler/ngram.h"

#include <cinttypes>
#include <climits>
#include <cstdio>
#include <new>
#include <optional>

#include "capi/allocator.h"
#include "capi/busy.h"
#include "capi/init.h"
#include "contract/draw.h"
#include "contract/philox.h"
#include "contract/request.h"
#include "decoding/ngram_storage.h"
#include "decoding/prompt_lookup.h"

using sampler::decoding::NgramStorage;
using sampler::decoding::PromptLookup;

struct sampler_ngram_storage {
  sampler::capi::Allocator allocator;
  sampler::capi::Owner owner;
  sampler::capi::Entry *entry;  // of the call that may allocate or release blocks now
  int64_t memory_limit;
  NgramStorage contents;
};

struct sampler_prompt_lookup {
  sampler::capi::Allocator allocator;
  sampler::capi::Owner owner;
  size_t bytes;  // of the block that begins here
  int64_t vocabulary_size;
  PromptLookup text;
};

namespace sampler::capi {

namespace {

constexpr int kDefaultOrder = 3;
constexpr int kMaxOrder = 16;
constexpr int64_t kLeastMemoryLimit = 4096;

// Bytes of a storage without its table. A number, so that under a memory_limit the same n-grams are
// dropped whatever members there are.
constexpr size_t kStorageBytes = 264;
static_assert(sizeof(sampler_ngram_storage) <= kStorageBytes &&
              kStorageBytes < size_t(kLeastMemoryLimit));

constexpr int64_t kMostLookupTokens = int64_t(1) << 27;

// ---- Shared checks
// -------------------------------------------------------------------------------

// Tokens [first, num_tokens) are to be read.
void check_tokens(Check &check, const char *name, const char *count_name, const int32_t *token_ids,
                  int64_t first, int64_t num_tokens, int64_t vocabulary_size) {
  check.range(count_name, num_tokens, 0, INT64_MAX);
  if (!check.ok() || num_tokens == 0) return;
  check.required(name, token_ids);
  check.array(name, token_ids, sizeof(int32_t), num_tokens, Access::kRead);
  if (!check.ok()) return;
  for (int64_t i = first; i < num_tokens; ++i) {
    const int32_t id = token_ids[i];
    if (id >= 0 && id < vocabulary_size) continue;
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "%s[%" PRId64 "] is %" PRId32 "; it must be in [0, vocabulary_size), %" PRId64, name,
               i, id, vocabulary_size);
    return;
  }
}

// All of a context, or its last `most_tokens` tokens.
void check_context(Check &check, const int32_t *context, int64_t num_tokens, int64_t most_tokens,
                   int64_t vocabulary_size) {
  check_tokens(check, "context", "num_tokens", context,
               num_tokens > most_tokens ? num_tokens - most_tokens : 0, num_tokens,
               vocabulary_size);
}

void check_next_token_outputs(Check &check, const int32_t *out_token_id, const int32_t *out_known) {
  check.required("out_token_id", out_token_id);
  check.required("out_known", out_known);
}

void check_vocabulary_size(Check &check, int64_t vocabulary_size) {
  check.range("vocabulary_size", vocabulary_size, 1, contract::kMaxVocabulary);
}

int32_t unknown_token(uint64_t seed, uint64_t offset, int64_t vocabulary_size) {
  const uint64_t word = contract::random_word64({seed, offset, 0}, contract::Purpose::kDraft, 0);
  return int32_t(contract::draw_target(word, uint64_t(vocabulary_size)));
}

void write_next_token(int32_t token, uint64_t seed, uint64_t offset, int64_t vocabulary_size,
                      int32_t *out_token_id, int32_t *out_known) {
  *out_known = token >= 0;
  *out_token_id = token >= 0 ? token : unknown_token(seed, offset, vocabulary_size);
}

// What a sampler_ngram points to: a function as a call of its own.
template <auto function>
struct Entered;
template <class... Args, sampler_status (*function)(Entry &, Args...)>
struct Entered<function> {
  static sampler_status call(Args... args) {
    return enter(Log{}, [&](Entry &entry) { return function(entry, args...); });
  }
};

void forget_unfinished(sampler_ngram_storage *storage) {
  storage->contents.abandon();
}

void forget_unfinished(sampler_prompt_lookup *lookup) {
  lookup->text.reset();
}

// A storage or a lookup, taken for a call. False, and an error: it is NULL or serves another call.
template <class Handle>
class Taken {
 public:
  // `handle` may be an interface's `user`.
  Taken(Check &check, const char *name, void *handle) : handle_(static_cast<Handle *>(handle)) {
    check.required(name, handle);
    if (!check.ok()) return;
    busy_.emplace(&handle_->owner);
    if (busy_->interrupted()) forget_unfinished(handle_);
    if (!busy_->acquired()) {
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
                 "%s is serving another call; it serves one at a time", name);
    }
  }

  explicit operator bool() const { return busy_ && busy_->acquired(); }
  Handle *operator->() const { return handle_; }

 private:
  Handle *handle_;
  std::optional<Busy> busy_;
};

using Storage = Taken<sampler_ngram_storage>;
using Lookup = Taken<sampler_prompt_lookup>;

sampler_status write_interface(Check &check, const sampler_ngram &functions,
                               sampler_ngram *out_ngram) {
  sampler_ngram ignored;
  if (check.read("out_ngram", out_ngram, &ignored)) write_struct(functions, out_ngram);
  return check.status();
}

// ---- Storage
// -------------------------------------------------------------------------------------

sampler_status create(Entry &entry, const sampler_ngram_storage_options *user_options,
                      sampler_ngram_storage_t *out_storage) {
  prepare_unwinder();
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
  check_hooks(check, options.allocator);
  if (!check.ok()) return check.status();

  const Allocator allocator = make_allocator(options.allocator);
  Block memory;
  if (!prepare_owners(check) || !allocate(check, allocator, "storage", kStorageBytes, &memory)) {
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
    return call_allocate(*self->entry, self->allocator, bytes);
  };
  config.memory.deallocate = [](void *user, void *block, size_t bytes) {
    const auto *const self = static_cast<sampler_ngram_storage *>(user);
    call_deallocate(*self->entry, self->allocator, block, bytes);
  };
  *out_storage = new (storage)
      sampler_ngram_storage{allocator, {}, &entry, options.memory_limit, NgramStorage(config)};
  return SAMPLER_OK;
}

void destroy(Entry &entry, sampler_ngram_storage *storage) {
  if (Busy(&storage->owner).interrupted()) forget_unfinished(storage);
  const Allocator allocator = storage->allocator;
  storage->entry = &entry;
  storage->~sampler_ngram_storage();
  call_deallocate(entry, allocator, storage, kStorageBytes);
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
  write_struct(stats, out);
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
                          Entered<storage_initialize>::call, Entered<storage_reset>::call},
                         out_ngram);
}

// ---- Prompt lookup
// -------------------------------------------------------------------------------

size_t lookup_bytes(int64_t max_tokens) {
  return sizeof(sampler_prompt_lookup) + PromptLookup::memory_bytes(max_tokens);
}

sampler_status create(Entry &entry, const sampler_prompt_lookup_options *user_options,
                      sampler_prompt_lookup_t *out_lookup) {
  prepare_unwinder();
  Check check(entry);
  check.required("out_lookup", out_lookup);
  if (check.ok()) *out_lookup = nullptr;
  sampler_prompt_lookup_options options;
  if (!check.read("options", user_options, &options)) return check.status();
  if (options.min_match == 0) options.min_match = 1;
  check.range("min_match", options.min_match, 1, INT64_MAX);
  check.range("max_match", options.max_match, 0, INT64_MAX);
  if (options.max_match != 0 && options.max_match < options.min_match) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "max_match is %" PRId64 "; it must be 0 or at least min_match, %" PRId64,
               options.max_match, options.min_match);
  }
  check.range("max_tokens", options.max_tokens, 1, kMostLookupTokens + 1);
  check_vocabulary_size(check, options.vocabulary_size);
  check_hooks(check, options.allocator);
  if (!check.ok()) return check.status();

  const Allocator allocator = make_allocator(options.allocator);
  Block memory;
  if (!prepare_owners(check) ||
      !allocate(check, allocator, "lookup", lookup_bytes(options.max_tokens), &memory)) {
    return check.status();
  }
  auto *const lookup = static_cast<sampler_prompt_lookup *>(memory.data);
  const int64_t max_match = options.max_match == 0 ? INT64_MAX : options.max_match;
  *out_lookup = new (lookup) sampler_prompt_lookup{
      allocator,
      {},
      memory.bytes,
      options.vocabulary_size,
      PromptLookup(lookup + 1, options.max_tokens, {options.min_match, max_match})};
  return SAMPLER_OK;
}

void destroy(Entry &entry, sampler_prompt_lookup *lookup) {
  const Allocator allocator = lookup->allocator;
  call_deallocate(entry, allocator, lookup, lookup->bytes);
}

void append_checked(Check &check, const Lookup &lookup, const int32_t *token_ids,
                    int64_t num_tokens) {
  if (!check.ok()) return;
  const int64_t room = lookup->text.max_tokens() - lookup->text.num_tokens();
  if (num_tokens > room) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "%" PRId64 " tokens are to be appended; there is room for %" PRId64 " of max_tokens",
               num_tokens, room);
    return;
  }
  for (int64_t i = 0; i < num_tokens; ++i) lookup->text.append(token_ids[i]);
}

sampler_status lookup_append(Entry &entry, const char *name, void *handle, const int32_t *token_ids,
                             int64_t num_tokens) {
  Check check(entry);
  const Lookup lookup(check, name, handle);
  if (!lookup) return check.status();
  check_tokens(check, "token_ids", "num_tokens", token_ids, 0, num_tokens, lookup->vocabulary_size);
  append_checked(check, lookup, token_ids, num_tokens);
  return check.status();
}

sampler_status propose(Entry &entry, sampler_prompt_lookup *handle, int64_t num_drafts,
                       int32_t *out_token_ids, int64_t *out_num_drafts) {
  Check check(entry);
  const Lookup lookup(check, "lookup", handle);
  check.range("num_drafts", num_drafts, 0, INT64_MAX);
  if (num_drafts > 0) check.required("out_token_ids", out_token_ids);
  check.required("out_num_drafts", out_num_drafts);
  if (check.ok()) *out_num_drafts = lookup->text.propose(num_drafts, out_token_ids);
  return check.status();
}

sampler_status lookup_next_token(Entry &entry, void *user, const int32_t *context,
                                 int64_t num_tokens, uint64_t seed, uint64_t offset,
                                 int32_t *out_token_id, int32_t *out_known) {
  Check check(entry);
  const Lookup lookup(check, "user", user);
  if (!lookup) return check.status();
  const int64_t text = lookup->text.num_tokens();
  check_tokens(check, "context", "num_tokens", context, text, num_tokens, lookup->vocabulary_size);
  check_next_token_outputs(check, out_token_id, out_known);
  if (!check.ok()) return check.status();
  const int32_t token =
      num_tokens < text ? -1 : lookup->text.next_token(context + text, num_tokens - text);
  write_next_token(token, seed, offset, lookup->vocabulary_size, out_token_id, out_known);
  return SAMPLER_OK;
}

sampler_status lookup_has_gram(Entry &entry, void *user, const int32_t *context, int64_t num_tokens,
                               int32_t *out_has) {
  Check check(entry);
  const Lookup lookup(check, "user", user);
  if (!lookup) return check.status();
  check_context(check, context, num_tokens, INT64_MAX, lookup->vocabulary_size);
  check.required("out_has", out_has);
  if (check.ok()) *out_has = lookup->text.has_gram(context, num_tokens);
  return check.status();
}

sampler_status lookup_update(Entry &entry, void *user, const int32_t *context, int64_t num_tokens,
                             const int32_t *next_token_ids, int64_t num_next_tokens) {
  Check check(entry);
  const Lookup lookup(check, "user", user);
  if (!lookup) return check.status();
  const int64_t text = lookup->text.num_tokens();
  check_tokens(check, "context", "num_tokens", context, text, num_tokens, lookup->vocabulary_size);
  check_tokens(check, "next_token_ids", "num_next_tokens", next_token_ids, 0, num_next_tokens,
               lookup->vocabulary_size);
  if (num_tokens > text) append_checked(check, lookup, context + text, num_tokens - text);
  return check.status();
}

sampler_status lookup_initialize(Entry &entry, void *user, const int32_t *token_ids,
                                 int64_t num_tokens) {
  return lookup_append(entry, "user", user, token_ids, num_tokens);
}

sampler_status lookup_reset(Entry &entry, const char *name, void *handle) {
  Check check(entry);
  const Lookup lookup(check, name, handle);
  if (lookup) lookup->text.reset();
  return check.status();
}

sampler_status lookup_reset_user(Entry &entry, void *user) {
  return lookup_reset(entry, "user", user);
}

sampler_status get_interface(Entry &entry, sampler_prompt_lookup *lookup,
                             sampler_ngram *out_ngram) {
  Check check(entry);
  check.required("lookup", lookup);
  return write_interface(check,
                         {sizeof(sampler_ngram), lookup, Entered<lookup_next_token>::call,
                          Entered<lookup_has_gram>::call, Entered<lookup_update>::call,
                          Entered<lookup_initialize>::call, Entered<lookup_reset_user>::call},
                         out_ngram);
}

}  // namespace

}  // namespace sampler::capi

using namespace sampler::capi;

extern "C" {

sampler_status sampler_ngram_storage_create(const sampler_ngram_storage_options *options,
                                            sampler_ngram_storage_t *out_storage) {
  return enter(Log{}, [&](Entry &entry) { return create(entry, options, out_storage); });
}

void sampler_ngram_storage_destroy(sampler_ngram_storage_t storage) {
  enter(Log{}, [&](Entry &entry) {
    if (storage) destroy(entry, storage);
    return SAMPLER_OK;
  });
}

sampler_status sampler_ngram_storage_interface(sampler_ngram_storage_t storage,
                                               sampler_ngram *out_ngram) {
  return enter(Log{}, [&](Entry &entry) { return get_interface(entry, storage, out_ngram); });
}

sampler_status sampler_ngram_storage_get_stats(sampler_ngram_storage_t storage,
                                               sampler_ngram_storage_stats *out_stats) {
  return enter(Log{}, [&](Entry &entry) { return get_stats(entry, storage, out_stats); });
}

sampler_status sampler_ngram_storage_serialize(sampler_ngram_storage_t storage, void *buffer,
                                               size_t buffer_bytes, size_t *out_bytes) {
  return enter(Log{}, [&](Entry &entry) {
    return serialize(entry, storage, buffer, buffer_bytes, out_bytes);
  });
}

sampler_status sampler_ngram_storage_deserialize(sampler_ngram_storage_t storage, const void *data,
                                                 size_t data_bytes) {
  return enter(Log{}, [&](Entry &entry) { return deserialize(entry, storage, data, data_bytes); });
}

sampler_status sampler_prompt_lookup_create(const sampler_prompt_lookup_options *options,
                                            sampler_prompt_lookup_t *out_lookup) {
  return enter(Log{}, [&](Entry &entry) { return create(entry, options, out_lookup); });
}

void sampler_prompt_lookup_destroy(sampler_prompt_lookup_t lookup) {
  enter(Log{}, [&](Entry &entry) {
    if (lookup) destroy(entry, lookup);
    return SAMPLER_OK;
  });
}

sampler_status sampler_prompt_lookup_append(sampler_prompt_lookup_t lookup,
                                            const int32_t *token_ids, int64_t num_tokens) {
  return enter(Log{}, [&](Entry &entry) {
    return lookup_append(entry, "lookup", lookup, token_ids, num_tokens);
  });
}

sampler_status sampler_prompt_lookup_reset(sampler_prompt_lookup_t lookup) {
  return enter(Log{}, [&](Entry &entry) { return lookup_reset(entry, "lookup", lookup); });
}

sampler_status sampler_prompt_lookup_propose(sampler_prompt_lookup_t lookup, int64_t num_drafts,
                                             int32_t *out_token_ids, int64_t *out_num_drafts) {
  return enter(Log{}, [&](Entry &entry) {
    return propose(entry, lookup, num_drafts, out_token_ids, out_num_drafts);
  });
}

sampler_status sampler_prompt_lookup_interface(sampler_prompt_lookup_t lookup,
                                               sampler_ngram *out_ngram) {
  return enter(Log{}, [&](Entry &entry) { return get_interface(entry, lookup, out_ngram); });
}

}  // extern "C"
