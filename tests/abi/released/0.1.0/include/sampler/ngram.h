/* N-gram storages and prompt lookup: drafts without a model.
 *
 * Plain functions on host memory, without a sampler. A storage is an interface, sampler_ngram, that
 * a caller may implement too; two implementations come with the library:
 *
 *   sampler_ngram_storage  counts which token followed which context, over any number of texts
 *   sampler_prompt_lookup  finds the end of one text earlier in it, and tells what followed there
 *
 * Each handle serves one call at a time, and may move between threads; a call that finds it serving
 * another one is INVALID_ARGUMENT. That holds for a decoding loop's calls, too: one that finds its
 * storage in use ends the loop. Different handles are independent. In a child process a handle that
 * a call of the parent was using is free and empty; what its table took stays lost to the child.
 * A call that fails changes nothing and writes no output; sampler_last_error() then tells why.
 * Arrays of tokens may be NULL where their number is 0.
 *
 * Time is bounded whatever the tokens are, such as those of a text that somebody made to be slow,
 * and whatever bytes are deserialised: each search for an n-gram or an edge takes O(log n) at
 * worst, n being how many there are. No hash has a secret key.
 *
 * An unknown token: where nothing is known, next_token gives a token that is uniform over the
 * vocabulary, floor(r * vocabulary_size / 2^64) with r the 64-bit word of purpose `draft`, index 0
 * and stream 0 of docs/contract.md: the same on every machine. */
#ifndef SAMPLER_NGRAM_H
#define SAMPLER_NGRAM_H

#include <stddef.h>
#include <stdint.h>

#include <sampler/export.h>
#include <sampler/handle.h>
#include <sampler/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The interface --------------------------------------------------------------------------
 *
 * Each function gets the struct's `user`. A caller's own may return any status, negative ones too,
 * and may not throw. `context` is a text's end: [num_tokens], the latest token last. Outputs are
 * required, and undefined when a function fails. */

/* The likeliest token to follow the end of `context`. *out_known is 1 when something is known
 * there, and 0 when the token is drawn from `seed` and `offset`, uniformly over the vocabulary. */
typedef sampler_status (*sampler_ngram_next_token_fn)(void *user, const int32_t *context,
                                                      int64_t num_tokens, uint64_t seed,
                                                      uint64_t offset, int32_t *out_token_id,
                                                      int32_t *out_known);

/* *out_has is 1 when a token is known to follow exactly this context, without back-off, and 0 when
 * not, as for a context of a length that is not kept. */
typedef sampler_status (*sampler_ngram_has_gram_fn)(void *user, const int32_t *context,
                                                    int64_t num_tokens, int32_t *out_has);

/* Counts each of `next_token_ids` once, in their order, as following the end of `context`; one that
 * stands there twice counts twice. */
typedef sampler_status (*sampler_ngram_update_fn)(void *user, const int32_t *context,
                                                  int64_t num_tokens, const int32_t *next_token_ids,
                                                  int64_t num_next_tokens);

/* Learns a text: an update with each of its tokens, as following those before it. What was known
 * stays. */
typedef sampler_status (*sampler_ngram_initialize_fn)(void *user, const int32_t *token_ids,
                                                      int64_t num_tokens);

/* Up to num_drafts tokens, each the likeliest after the context and the tokens before it: up to the
 * first that is unknown, that was counted fewer than least_count times there, or whose share, its
 * count over the counts of all tokens that followed there, is below least_share, in [0, 1]. Limits
 * of 0 are off. `out_token_ids` is [num_drafts], and *out_num_drafts their number. */
typedef sampler_status (*sampler_ngram_propose_fn)(void *user, const int32_t *context,
                                                   int64_t num_tokens, int64_t num_drafts,
                                                   int64_t least_count, float least_share,
                                                   int32_t *out_token_ids, int64_t *out_num_drafts);

/* Forgets all. */
typedef sampler_status (*sampler_ngram_reset_fn)(void *user);

typedef struct sampler_ngram {
  /* sizeof(sampler_ngram). */
  size_t struct_size;

  void *user;
  sampler_ngram_next_token_fn next_token;
  sampler_ngram_has_gram_fn has_gram;
  sampler_ngram_update_fn update;
  sampler_ngram_initialize_fn initialize;
  sampler_ngram_reset_fn reset;
  sampler_ngram_propose_fn propose; /* NULL: there is none */
} sampler_ngram;

/* ---- N-gram storage -------------------------------------------------------------------------- */

/* Counts of n-grams: contexts of up to order - 1 tokens, and how often each token followed. */
typedef struct sampler_ngram_storage *sampler_ngram_storage_t;

typedef int32_t sampler_ngram_kind;
enum {
  /* N-grams of 2 to `order` tokens. After an unknown context the longest known end of it counts,
   * down to its last token alone. */
  SAMPLER_NGRAM_ALL_ORDERS = 0,
  /* N-grams of `order` tokens only. A context of fewer than order - 1 tokens is unknown. */
  SAMPLER_NGRAM_ONE_LEVEL = 1
};

typedef struct sampler_ngram_storage_options {
  /* sizeof(sampler_ngram_storage_options). */
  size_t struct_size;

  sampler_ngram_kind kind;

  /* Tokens of the longest n-gram, in [2, 16]; 0: 3. */
  int32_t order;

  /* Token ids lie in [0, vocabulary_size). In [1, 2^20); required. */
  int64_t vocabulary_size;

  /* Bytes that the storage may take at any time, at least 4096; 0: no limit. While it grows or is
   * deserialised, its old and its new table count both, so that between a third and two thirds are
   * used in the end. At the limit known n-grams still count, others are dropped. */
  int64_t memory_limit;

  /* Memory for the handle and its table. All 0: the C library's. `allocate` is called when the
   * storage is created, deserialised, or learns; neither function may call back into the storage.
   */
  sampler_allocator allocator;
} sampler_ngram_storage_options;

/* Creates an empty storage. On failure *out_storage is NULL.
 * Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. */
SAMPLER_API sampler_status sampler_ngram_storage_create(
    const sampler_ngram_storage_options *options, sampler_ngram_storage_t *out_storage);

/* NULL is fine. */
SAMPLER_API void sampler_ngram_storage_destroy(sampler_ngram_storage_t storage);

/* Fills *out_ngram, whose struct_size is set, with the storage as an interface. It is valid until
 * the storage is destroyed; `user` is the storage.
 *
 * next_token  gives the token counted most often after the longest known context; of equal counts
 *             the one that had that count first. Of the context at most the last order - 1 tokens
 *             are read. Counts stop at 2^32 - 1.
 *
 * has_gram    1 for contexts of 1 to order - 1 tokens (ONE_LEVEL: order - 1) that a token is
 *             counted after.
 *
 * propose     as next_token, token after token: each has the count and the share that it has after
 *             the longest known context, without regard to shorter ones. The share is the f32
 *             nearest to that of the n-grams counted; those dropped have none.
 *
 * update      counts in every order that is kept and for which the context is long enough. Of the
 *             context at most the last order - 1 tokens are read.
 *
 * reset       also gives the table's memory back and sets the statistics to 0.
 *
 * A call takes amortised O(order log n) at worst for each token that it learns or proposes, n being
 * the n-grams known: now and then the table grows.
 *
 * update and initialize return OUT_OF_MEMORY when the allocator returned NULL: the storage is then
 * as it was, whatever part of a text had been learned. Other ids than those of the vocabulary are
 * INVALID_ARGUMENT. */
SAMPLER_API sampler_status sampler_ngram_storage_interface(sampler_ngram_storage_t storage,
                                                           sampler_ngram *out_ngram);

typedef struct sampler_ngram_storage_stats {
  /* sizeof(sampler_ngram_storage_stats). */
  size_t struct_size;

  /* Contexts that a token followed, of all lengths kept. */
  int64_t num_contexts;

  /* Next tokens learned, each once whatever the number of orders, dropped or not. */
  int64_t num_updates;

  /* N-grams that were not counted for want of room: memory_limit, or 1.3 * 10^9 table entries. */
  int64_t num_dropped;

  /* What the storage takes of its allocator now. */
  int64_t memory_bytes;
} sampler_ngram_storage_stats;

/* Fills *out_stats, whose struct_size is set. */
SAMPLER_API sampler_status sampler_ngram_storage_get_stats(sampler_ngram_storage_t storage,
                                                           sampler_ngram_storage_stats *out_stats);

/* Writes the contents into `buffer`, which has `buffer_bytes` bytes, and their number into
 * *out_bytes: little-endian, versioned, with a checksum; the same bytes on every machine. `buffer`
 * NULL, with 0 bytes: only the number. A buffer that is too small is INVALID_ARGUMENT, and
 * *out_bytes is not written. Takes O(n log n). */
SAMPLER_API sampler_status sampler_ngram_storage_serialize(sampler_ngram_storage_t storage,
                                                           void *buffer, size_t buffer_bytes,
                                                           size_t *out_bytes);

/* Replaces the contents by serialised ones. Every byte is checked; on failure the contents are as
 * before. Takes O(order + log n) a record of 12 bytes, and memory for at most 3.2 table entries for
 * each, whatever the bytes are.
 * Errors: INVALID_ARGUMENT (the data are of a storage of another kind, order or vocabulary),
 * CORRUPT_DATA, OUT_OF_MEMORY (the allocator, or memory_limit, which counts old and new contents;
 * reset makes room). */
SAMPLER_API sampler_status sampler_ngram_storage_deserialize(sampler_ngram_storage_t storage,
                                                             const void *data, size_t data_bytes);

/* ---- Prompt lookup --------------------------------------------------------------------------- */

/* One growing text. It tells what followed the longest earlier occurrence of the text's end, which
 * may overlap that end; of equally long ones the latest. Appending a token takes amortised
 * O(log n) at worst, whatever the text. */
typedef struct sampler_prompt_lookup *sampler_prompt_lookup_t;

typedef struct sampler_prompt_lookup_options {
  /* sizeof(sampler_prompt_lookup_options). */
  size_t struct_size;

  /* Tokens of the text's end that must match, at least 1, 0: 1; and that are looked at, at least
   * min_match, 0: all. */
  int64_t min_match;
  int64_t max_match;

  /* Room for the text, in [1, 2^27]; required. All memory, 132 bytes a token and less
   * than 1000 beside, is allocated when the lookup is created. */
  int64_t max_tokens;

  /* Token ids lie in [0, vocabulary_size). In [1, 2^20); required. */
  int64_t vocabulary_size;

  /* Memory for the handle. All 0: the C library's. */
  sampler_allocator allocator;
} sampler_prompt_lookup_options;

/* Creates a lookup with an empty text. On failure *out_lookup is NULL.
 * Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. */
SAMPLER_API sampler_status sampler_prompt_lookup_create(
    const sampler_prompt_lookup_options *options, sampler_prompt_lookup_t *out_lookup);

/* NULL is fine. */
SAMPLER_API void sampler_prompt_lookup_destroy(sampler_prompt_lookup_t lookup);

/* Appends tokens to the text: all or, where they are more than there is room for
 * (INVALID_ARGUMENT), none. */
SAMPLER_API sampler_status sampler_prompt_lookup_append(sampler_prompt_lookup_t lookup,
                                                        const int32_t *token_ids,
                                                        int64_t num_tokens);

/* Empties the text. Takes time in proportion to max_tokens. */
SAMPLER_API sampler_status sampler_prompt_lookup_reset(sampler_prompt_lookup_t lookup);

/* Up to num_drafts tokens that followed the match, fewer where the text ends before; out_token_ids
 * is [num_drafts], and *out_num_drafts their number. 0: no match of at least min_match tokens. */
SAMPLER_API sampler_status sampler_prompt_lookup_propose(sampler_prompt_lookup_t lookup,
                                                         int64_t num_drafts, int32_t *out_token_ids,
                                                         int64_t *out_num_drafts);

/* Fills *out_ngram, whose struct_size is set, with the lookup as an interface for one sequence. It
 * is valid until the lookup is destroyed; `user` is the lookup.
 *
 * Every context must be a beginning of the sequence, and begin with the text; that is not checked,
 * and where it is not so the tokens are of no use.
 *
 * next_token  what followed the longest occurrence in the text of the context's end, within
 *             min_match and max_match. Tokens of the context after the text, such as drafts, are
 *             matched but not appended, in amortised O(log n) at worst for each. A context that
 *             goes on from that of the last call is matched from there on, so that drafting one by
 *             one matches each draft once. A context shorter than the text is unknown.
 *
 * propose     what next_token gives, token after token, in amortised O(log n) at worst for each. A
 *             match counts as one occurrence: each token has the count 1 and the share 1, so that
 *             least_count above 1 leaves none.
 *
 * has_gram    1 when the context, of min_match to max_match tokens, stands anywhere in the text and
 *             a token follows it.
 *
 * update      appends to the text what the context has beyond it; next_token_ids are checked but
 *             not learned, since only some of them may be part of the sequence. Where there is no
 *             room for that, nothing is appended, and from then until a reset next_token knows
 *             nothing and propose gives nothing: a loop goes on without drafts.
 *
 * initialize  appends, as sampler_prompt_lookup_append does.
 *
 * reset       is sampler_prompt_lookup_reset. */
SAMPLER_API sampler_status sampler_prompt_lookup_interface(sampler_prompt_lookup_t lookup,
                                                           sampler_ngram *out_ngram);

#ifdef __cplusplus
}
#endif

#endif /* SAMPLER_NGRAM_H */
