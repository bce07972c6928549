// The entry points of prompt lookup.
#include <cinttypes>
#include <climits>
#include <new>

#include "abi/allocator.h"
#include "decoding/ngram/ngram_calls.h"
#include "decoding/ngram/prompt_lookup.h"

using sampler::decoding::PromptLookup;

struct sampler_prompt_lookup {
  sampler::abi::Allocator allocator;
  sampler::abi::Owner owner;
  size_t bytes;  // size of the block that begins here
  int64_t vocabulary_size;
  PromptLookup text;
  bool is_outgrown;  // the sequence was longer than max_tokens

  void reset() {
    text.reset();
    is_outgrown = false;
  }
  void forget_unfinished() { reset(); }
};

namespace sampler::decoding {

namespace {

using abi::Allocator;

constexpr int64_t kMostLookupTokens = int64_t(1) << 27;

using Lookup = Taken<sampler_prompt_lookup>;

size_t lookup_bytes(int64_t max_tokens) {
  return sizeof(sampler_prompt_lookup) + PromptLookup::memory_bytes(max_tokens);
}

sampler_status create(Entry &entry, const sampler_prompt_lookup_options *user_options,
                      sampler_prompt_lookup_t *out_lookup) {
  abi::prepare_unwinder();
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
  abi::check_hooks(check, options.allocator);
  if (!check.ok()) return check.status();

  const Allocator allocator = abi::make_allocator(options.allocator);
  abi::Block memory;
  if (!abi::prepare_owners(check) ||
      !abi::allocate(check, allocator, "lookup", lookup_bytes(options.max_tokens), &memory)) {
    return check.status();
  }
  auto *const lookup = static_cast<sampler_prompt_lookup *>(memory.data);
  const int64_t max_match = options.max_match == 0 ? INT64_MAX : options.max_match;
  *out_lookup = new (lookup) sampler_prompt_lookup{
      allocator,
      {},
      memory.bytes,
      options.vocabulary_size,
      PromptLookup(lookup + 1, options.max_tokens, {options.min_match, max_match}),
      false};
  return SAMPLER_OK;
}

void destroy(Entry &entry, sampler_prompt_lookup *lookup) {
  const Allocator allocator = lookup->allocator;
  abi::call_deallocate(entry, allocator, lookup, lookup->bytes);
}

int64_t room_of(const PromptLookup &text) {
  return text.max_tokens() - text.num_tokens();
}

void append_checked(Check &check, const Lookup &lookup, const int32_t *token_ids,
                    int64_t num_tokens) {
  if (!check.ok()) return;
  const int64_t room = room_of(lookup->text);
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

// Returns the number of context tokens beyond the text, and checks those not matched yet. Negative:
// the context is shorter, or the text was outgrown.
int64_t check_extra(Check &check, const Lookup &lookup, const int32_t *context, int64_t num_tokens,
                    int64_t *matched) {
  const int64_t text = lookup->text.num_tokens();
  const int64_t num_extra = lookup->is_outgrown ? -1 : num_tokens - text;
  check_array(check, "context", "num_tokens", context, num_tokens);
  *matched = check.ok() && num_extra > 0 ? lookup->text.num_matched(context + text, num_extra) : 0;
  check_ids(check, "context", context, text + *matched, text + num_extra, lookup->vocabulary_size);
  return num_extra;
}

sampler_status lookup_next_token(Entry &entry, void *user, const int32_t *context,
                                 int64_t num_tokens, uint64_t seed, uint64_t offset,
                                 int32_t *out_token_id, int32_t *out_known) {
  Check check(entry);
  const Lookup lookup(check, "user", user);
  if (!lookup) return check.status();
  const int64_t text = lookup->text.num_tokens();
  int64_t matched;
  const int64_t num_extra = check_extra(check, lookup, context, num_tokens, &matched);
  check_next_token_outputs(check, out_token_id, out_known);
  if (!check.ok()) return check.status();
  const int32_t token =
      num_extra < 0 ? -1 : lookup->text.next_token(context + text, num_extra, matched);
  write_next_token(token, seed, offset, lookup->vocabulary_size, out_token_id, out_known);
  return SAMPLER_OK;
}

sampler_status lookup_propose_more(Entry &entry, void *user, const int32_t *context,
                                   int64_t num_tokens, int64_t num_drafts, int64_t least_count,
                                   float least_share, int32_t *out_token_ids,
                                   int64_t *out_num_drafts) {
  Check check(entry);
  const Lookup lookup(check, "user", user);
  if (!lookup) return check.status();
  const int64_t text = lookup->text.num_tokens();
  int64_t matched;
  const int64_t num_extra = check_extra(check, lookup, context, num_tokens, &matched);
  check_proposal(check, num_drafts, least_count, least_share, out_token_ids, out_num_drafts);
  if (!check.ok()) return check.status();
  // Each draft has count 1 and share 1.
  const bool is_wanted = num_extra >= 0 && least_count <= 1;
  *out_num_drafts = is_wanted ? lookup->text.propose(context + text, num_extra, matched, num_drafts,
                                                     out_token_ids)
                              : 0;
  return SAMPLER_OK;
}

sampler_status lookup_has_gram(Entry &entry, void *user, const int32_t *context, int64_t num_tokens,
                               int32_t *out_has) {
  Check check(entry);
  const Lookup lookup(check, "user", user);
  if (!lookup) return check.status();
  check_tokens(check, "context", "num_tokens", context, 0, num_tokens, lookup->vocabulary_size);
  check.required("out_has", out_has);
  if (check.ok()) *out_has = lookup->text.has_gram(context, num_tokens);
  return check.status();
}

sampler_status lookup_update(Entry &entry, void *user, const int32_t *context, int64_t num_tokens,
                             const int32_t *next_token_ids, int64_t num_next_tokens) {
  Check check(entry);
  const Lookup lookup(check, "user", user);
  if (!lookup) return check.status();
  int64_t matched;
  const int64_t text = lookup->text.num_tokens();
  const int64_t num_extra = check_extra(check, lookup, context, num_tokens, &matched);
  check_tokens(check, "next_token_ids", "num_next_tokens", next_token_ids, 0, num_next_tokens,
               lookup->vocabulary_size);
  if (!check.ok() || num_extra <= 0) return check.status();
  lookup->is_outgrown = num_extra > room_of(lookup->text);
  if (!lookup->is_outgrown) append_checked(check, lookup, context + text, num_extra);
  return check.status();
}

sampler_status lookup_initialize(Entry &entry, void *user, const int32_t *token_ids,
                                 int64_t num_tokens) {
  return lookup_append(entry, "user", user, token_ids, num_tokens);
}

sampler_status lookup_reset(Entry &entry, const char *name, void *handle) {
  Check check(entry);
  const Lookup lookup(check, name, handle);
  if (lookup) lookup->reset();
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
                          Entered<lookup_initialize>::call, Entered<lookup_reset_user>::call,
                          Entered<lookup_propose_more>::call},
                         out_ngram);
}

}  // namespace

}  // namespace sampler::decoding

using namespace sampler::decoding;

extern "C" {

sampler_status sampler_prompt_lookup_create(const sampler_prompt_lookup_options *options,
                                            sampler_prompt_lookup_t *out_lookup) {
  return enter([&](Entry &entry) { return create(entry, options, out_lookup); });
}

void sampler_prompt_lookup_destroy(sampler_prompt_lookup_t lookup) {
  enter([&](Entry &entry) {
    if (lookup) destroy(entry, lookup);
    return SAMPLER_OK;
  });
}

sampler_status sampler_prompt_lookup_append(sampler_prompt_lookup_t lookup,
                                            const int32_t *token_ids, int64_t num_tokens) {
  return enter(
      [&](Entry &entry) { return lookup_append(entry, "lookup", lookup, token_ids, num_tokens); });
}

sampler_status sampler_prompt_lookup_reset(sampler_prompt_lookup_t lookup) {
  return enter([&](Entry &entry) { return lookup_reset(entry, "lookup", lookup); });
}

sampler_status sampler_prompt_lookup_propose(sampler_prompt_lookup_t lookup, int64_t num_drafts,
                                             int32_t *out_token_ids, int64_t *out_num_drafts) {
  return enter([&](Entry &entry) {
    return propose(entry, lookup, num_drafts, out_token_ids, out_num_drafts);
  });
}

sampler_status sampler_prompt_lookup_interface(sampler_prompt_lookup_t lookup,
                                               sampler_ngram *out_ngram) {
  return enter([&](Entry &entry) { return get_interface(entry, lookup, out_ngram); });
}

}  // extern "C"
