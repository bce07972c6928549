// Checks and helpers that the entry points of n-gram storages and prompt lookup share.
#pragma once

#include <cstdint>
#include <optional>

#include "abi/busy.h"
#include "abi/check.h"
#include "abi/init.h"
#include "sampler/ngram.h"

namespace sampler::abi {

SAMPLER_ZERO_TRAITS(sampler_ngram)
SAMPLER_ZERO_TRAITS(sampler_ngram_storage_options)
SAMPLER_ZERO_TRAITS(sampler_ngram_storage_stats)
SAMPLER_ZERO_TRAITS(sampler_prompt_lookup_options)

}  // namespace sampler::abi

namespace sampler::decoding {

using abi::Check;
using abi::Entry;

// Check an array of tokens: its address, and that the ids from `first` on are in the vocabulary.
void check_array(Check &check, const char *name, const char *count_name, const int32_t *token_ids,
                 int64_t num_tokens);
void check_ids(Check &check, const char *name, const int32_t *token_ids, int64_t first,
               int64_t num_tokens, int64_t vocabulary_size);
inline void check_tokens(Check &check, const char *name, const char *count_name,
                         const int32_t *token_ids, int64_t first, int64_t num_tokens,
                         int64_t vocabulary_size) {
  check_array(check, name, count_name, token_ids, num_tokens);
  check_ids(check, name, token_ids, first, num_tokens, vocabulary_size);
}

void check_vocabulary_size(Check &check, int64_t vocabulary_size);

// Checks a draft's least share, in [0, 1].
void check_share(Check &check, const char *name, float share);

// Checks the arguments of `propose` other than its context.
void check_proposal(Check &check, int64_t num_drafts, int64_t least_count, float least_share,
                    const int32_t *out_token_ids, const int64_t *out_num_drafts);

// The outputs of next_token. `token` -1: unknown.
void check_next_token_outputs(Check &check, const int32_t *out_token_id, const int32_t *out_known);
void write_next_token(int32_t token, uint64_t seed, uint64_t offset, int64_t vocabulary_size,
                      int32_t *out_token_id, int32_t *out_known);

sampler_status write_interface(Check &check, const sampler_ngram &functions,
                               sampler_ngram *out_ngram);

// Runs a body as an exported function.
template <class Body>
sampler_status enter(const Body &body) {
  return abi::enter(abi::Log{}, body);
}

// The functions that a sampler_ngram points to: `function` as an entry point of its own.
template <auto function>
struct Entered;
template <class... Args, sampler_status (*function)(Entry &, Args...)>
struct Entered<function> {
  static sampler_status call(Args... args) {
    return enter([&](Entry &entry) { return function(entry, args...); });
  }
};

// A storage or lookup, locked for a call. False, with an error: it is NULL or serves another call.
template <class Handle>
class Taken {
 public:
  // `handle` may be an interface's `user`.
  Taken(Check &check, const char *name, void *handle) : handle_(static_cast<Handle *>(handle)) {
    check.required(name, handle);
    if (!check.ok()) return;
    busy_.emplace(&handle_->owner);
    if (busy_->interrupted()) handle_->forget_unfinished();
    if (!busy_->acquired()) {
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
                 "%s is serving another call; it serves one at a time", name);
    }
  }

  explicit operator bool() const { return busy_ && busy_->acquired(); }
  Handle *operator->() const { return handle_; }

 private:
  Handle *handle_;
  std::optional<abi::Busy> busy_;
};

}  // namespace sampler::decoding
