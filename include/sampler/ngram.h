/* N-gram storages and prompt lookup: drafts without a model.
 *
 * Plain functions on host memory, without a sampler. Both implement an interface, sampler_ngram,
 * that a caller may implement too:
 *
 *   sampler_ngram_storage  counts which token followed which context, over any number of texts
 *   sampler_prompt_lookup  finds earlier occurrences of a text's end, and the tokens after them
 *
 * Each handle serves one call at a time, and may move between threads; a call that finds it busy is
 * INVALID_ARGUMENT. This includes the calls of decoding loops: a loop that finds its storage busy
 * ends. Different handles are independent. In a child process a handle that a call of the parent
 * was using is free and empty; its table's memory is lost to the child. A failed call changes
 * nothing and writes no output; sampler_last_error() has the reason. Arrays of tokens may be NULL
 * if their count is 0.
 *
 * Time is bounded for any tokens, adversarial texts included, and for any deserialised bytes: each
 * search for an n-gram or an edge takes O(log n) at worst, n their number. No hash has a
 * secret key.
 *
 * Unknown contexts: next_token gives a token uniform over the vocabulary,
 * floor(r * vocabulary_size / 2^64) with r the 64-bit word of purpose `draft`, index 0 and stream 0
 * of docs/contract.md: the same on every machine. */
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

/* The likeliest token after `context`. *out_known is 1 if the context is known, and 0 if the token
 * is drawn from `seed` and `offset`, uniformly over the vocabulary. */
typedef sampler_status (*sampler_ngram_next_token_fn)(void *user, const int32_t *context,
                                                      int64_t num_tokens, uint64_t seed,
                                                      uint64_t offset, int32_t *out_token_id,
                                                      int32_t *out_known);

/* *out_has is 1 if a token is known to follow exactly this context, without back-off, else 0, as
 * for a context of an unsupported length. */
typedef sampler_status (*sampler_ngram_has_gram_fn)(void *user, const int32_t *context,
                                                    int64_t num_tokens, int32_t *out_has);

/* Counts each of `next_token_ids` once, in order, as following `context`; duplicates
 * count twice. */
typedef sampler_status (*sampler_ngram_update_fn)(void *user, const int32_t *context,
                                                  int64_t num_tokens, const int32_t *next_token_ids,
                                                  int64_t num_next_tokens);

/* Learns a text: an update with each of its tokens, as following those before it. Adds to
 * existing counts. */
typedef sampler_status (*sampler_ngram_initialize_fn)(void *user, const int32_t *token_ids,
                                                      int64_t num_tokens);

/* Up to num_drafts tokens, each the likeliest after the context and the tokens before it: up to the
 * first that is unknown, counted fewer than least_count times there, or whose share, its count over
 * the counts of all tokens that followed there, is below least_share, in [0, 1]. Limits of 0 are
 * off. `out_token_ids` is [num_drafts], and *out_num_drafts their number. */
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
  sampler_ngram_propose_fn propose; /* NULL: not supported */
} sampler_ngram;

/* ---- N-gram storage -------------------------------------------------------------------------- */

/* Counts of n-grams: contexts of up to order - 1 tokens, and how often each token followed. */
typedef struct sampler_ngram_storage *sampler_ngram_storage_t;

typedef int32_t sampler_ngram_kind;
enum {
  /* N-grams of 2 to `order` tokens. An unknown context backs off to its longest known end, down to
   * its last token alone. */
  SAMPLER_NGRAM_ALL_ORDERS = 0,
  /* N-grams of `order` tokens only. A context of fewer than order - 1 tokens is unknown. */
  SAMPLER_NGRAM_ONE_LEVEL = 1
};

typedef struct sampler_ngram_storage_options {
  /* sizeof(sampler_ngram_storage_options). */
  size_t struct_size;

  sampler_ngram_kind kind;

  /* Length of the longest n-gram in tokens, in [2, 16]; 0: 3. */
  int32_t order;

  /* Token ids lie in [0, vocabulary_size). In [1, 2^20); required. */
  int64_t vocabulary_size;

  /* Maximum bytes at any time, at least 4096; 0: no limit. While the storage grows or is
   * deserialised, its old and new table both count, so that in the end a third to two thirds are
   * used. At the limit known n-grams still count, others are dropped. */
  int64_t memory_limit;

  /* Memory for the handle and its table. All 0: the C library's. `allocate` is called when the
   * storage is created, deserialised, or learns; neither function may call back into
   * the storage. */
  sampler_allocator allocator;
} sampler_ngram_storage_options;

/* Creates an empty storage. On failure *out_storage is NULL.
 * Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. */
SAMPLER_API sampler_status sampler_ngram_storage_create(
    const sampler_ngram_storage_options *options, sampler_ngram_storage_t *out_storage);

/* NULL is allowed. */
SAMPLER_API void sampler_ngram_storage_destroy(sampler_ngram_storage_t storage);

/* Fills *out_ngram, whose struct_size is set, with the storage as an interface. It is valid until
 * the storage is destroyed; `user` is the storage.
 *
 * next_token  gives the token counted most often after the longest known context; on ties the one
 *             that reached that count first. At most the context's last order - 1 tokens are read.
 *             Counts stop at 2^32 - 1.
 *
 * has_gram    1 for contexts of 1 to order - 1 tokens (ONE_LEVEL: order - 1) with a counted next
 *             token.
 *
 * propose     as next_token, token after token: each has its count and share after the longest
 *             known context, without regard to shorter ones. The share is the f32 nearest to that
 *             of the n-grams counted; dropped ones have none.
 *
 * update      counts in every supported order for which the context is long enough. At most the
 *             context's last order - 1 tokens are read.
 *
 * reset       also releases the table's memory and sets the statistics to 0.
 *
 * A call takes amortised O(order log n) at worst per token learned or proposed, n the n-grams
 * known: now and then the table grows.
 *
 * update and initialize return OUT_OF_MEMORY when the allocator returned NULL: the storage is then
 * unchanged, even if part of a text had been learned. Ids outside the vocabulary
 * are INVALID_ARGUMENT. */
SAMPLER_API sampler_status sampler_ngram_storage_interface(sampler_ngram_storage_t storage,
                                                           sampler_ngram *out_ngram);

typedef struct sampler_ngram_storage_stats {
  /* sizeof(sampler_ngram_storage_stats). */
  size_t struct_size;

  /* Contexts followed by a token, of all supported lengths. */
  int64_t num_contexts;

  /* Next tokens learned, each once whatever the number of orders, dropped or not. */
  int64_t num_updates;

  /* N-grams not counted for lack of room: memory_limit, or 1.3 * 10^9 table entries. */
  int64_t num_dropped;

  /* Current memory from the allocator. */
  int64_t memory_bytes;
} sampler_ngram_storage_stats;

/* Fills *out_stats, whose struct_size is set. */
SAMPLER_API sampler_status sampler_ngram_storage_get_stats(sampler_ngram_storage_t storage,
                                                           sampler_ngram_storage_stats *out_stats);

/* Writes the contents into `buffer`, of `buffer_bytes` bytes, and their size into *out_bytes:
 * little-endian, versioned, with a checksum; the same bytes on every machine. `buffer` NULL, with 0
 * bytes: only the size. A buffer that is too small is INVALID_ARGUMENT, and *out_bytes is not
 * written. Takes O(n log n). */
SAMPLER_API sampler_status sampler_ngram_storage_serialize(sampler_ngram_storage_t storage,
                                                           void *buffer, size_t buffer_bytes,
                                                           size_t *out_bytes);

/* Replaces the contents by serialised ones. Every byte is checked; on failure the contents are
 * unchanged. Takes O(order + log n) per record of 12 bytes, and memory for at most 3.2 table
 * entries per record, whatever the bytes.
 * Errors: INVALID_ARGUMENT (data of another kind, order or vocabulary), CORRUPT_DATA, OUT_OF_MEMORY
 * (the allocator, or memory_limit, which counts old and new contents; reset makes room). */
SAMPLER_API sampler_status sampler_ngram_storage_deserialize(sampler_ngram_storage_t storage,
                                                             const void *data, size_t data_bytes);

/* ---- Prompt lookup --------------------------------------------------------------------------- */

/* One growing text. Finds the longest earlier occurrence of the text's end, which may overlap that
 * end; the latest on ties. Appending a token takes amortised O(log n) at worst, for any text. */
typedef struct sampler_prompt_lookup *sampler_prompt_lookup_t;

typedef struct sampler_prompt_lookup_options {
  /* sizeof(sampler_prompt_lookup_options). */
  size_t struct_size;

  /* Tokens of the text's end that must match, at least 1, 0: 1; and the most that are compared, at
   * least min_match, 0: all. */
  int64_t min_match;
  int64_t max_match;

  /* Capacity for the text in tokens, in [1, 2^27]; required. All memory, 132 bytes per token plus
   * less than 1000, is allocated when the lookup is created. */
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

/* NULL is allowed. */
SAMPLER_API void sampler_prompt_lookup_destroy(sampler_prompt_lookup_t lookup);

/* Appends tokens to the text: all, or none if there is no room for all (INVALID_ARGUMENT). */
SAMPLER_API sampler_status sampler_prompt_lookup_append(sampler_prompt_lookup_t lookup,
                                                        const int32_t *token_ids,
                                                        int64_t num_tokens);

/* Empties the text. Takes time in proportion to max_tokens. */
SAMPLER_API sampler_status sampler_prompt_lookup_reset(sampler_prompt_lookup_t lookup);

/* Up to num_drafts tokens that followed the match, fewer if the text ends first; out_token_ids is
 * [num_drafts], and *out_num_drafts their number. 0: no match of at least min_match tokens. */
SAMPLER_API sampler_status sampler_prompt_lookup_propose(sampler_prompt_lookup_t lookup,
                                                         int64_t num_drafts, int32_t *out_token_ids,
                                                         int64_t *out_num_drafts);

/* Fills *out_ngram, whose struct_size is set, with the lookup as an interface for one sequence. It
 * is valid until the lookup is destroyed; `user` is the lookup.
 *
 * Every context must be a prefix of the sequence, and begin with the text; this is not checked, and
 * otherwise the tokens are useless.
 *
 * next_token  the token after the longest occurrence in the text of the context's end, within
 *             min_match and max_match. Tokens of the context past the text, such as drafts, are
 *             matched but not appended, in amortised O(log n) at worst for each. A context that
 *             extends that of the last call is matched from there, so that drafting one by one
 *             matches each draft once. A context shorter than the text is unknown.
 *
 * propose     as next_token, token after token, in amortised O(log n) at worst for each. A match
 *             counts as one occurrence: each token has the count 1 and the share 1, so that
 *             least_count above 1 leaves none.
 *
 * has_gram    1 when the context, of min_match to max_match tokens, occurs anywhere in the text
 *             and a token follows it.
 *
 * update      appends the context's tokens past the text; next_token_ids are checked but not
 *             learned, since only some of them may be part of the sequence. If there is no room,
 *             nothing is appended, and until a reset next_token knows nothing and propose gives
 *             nothing: a loop continues without drafts.
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
