/* Decoding loops around a model, from prompts to texts. The caller provides the model, as
 * callbacks; sampler.h draws and verifies. docs/decoding.md explains models, caches and loops.
 *
 * Loops run on the caller's thread and wait for the stream once per step, with BY_ENTROPY once more
 * per text. They do not use the handle's workspace. They allocate all memory when they begin,
 * before any callback, with the handle's allocator, and with CUDA for device memory, and release it
 * before they return. If that fails they return OUT_OF_MEMORY, with nothing called back or written.
 * The size is for the most that the arguments allow:
 *
 *   8 bytes per token that the texts can have, of prompts and min(max_new_tokens, what
 *     max_context leaves), 4 more with a drafter model, and 4 more with draft_top_k above 1; beam
 *     search 8 num_beams + 4, with POOL 12 num_beams + 4
 *
 *   rows of logits: one per text, or gamma + 1 with drafts and one of the drafter's, gamma more of
 *     those if the rule needs draft probabilities; in beam search num_beams, and as many of f32
 *
 *   a workspace like a handle's for these rows; with BY_ENTROPY a row of f32 and 20 KB;
 *     with n-grams filler_top_k ids per row, and once more; in beam search
 *     max(top_k, num_beams) ids and values per row, with POOL num_beams + num_end_tokens
 *
 *   with stages a state with a slot per text, as long as the longest text can be, and the
 *     workspace of such a call
 *
 *   a bit per token of the vocabulary, less than 1,000 bytes per text, 500 per beam and 100 per
 *     row besides, and a line of 130 bytes per draft for `trace` and `debug`
 *
 * Memory that no text reaches is not touched.
 *
 * Arrays of this header are host memory, except logits. A loop leaves the handle free between its
 * own calls, so that callbacks may use it; other threads may not. */
#ifndef SAMPLER_DECODING_H
#define SAMPLER_DECODING_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <sampler/export.h>
#include <sampler/handle.h>
#include <sampler/ngram.h>
#include <sampler/pipeline.h>
#include <sampler/sampling.h>
#include <sampler/speculative.h>
#include <sampler/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The model ------------------------------------------------------------------------------
 *
 * A model keeps a cache per sequence: the tokens that it was fed and that were not cut. Callbacks
 * return SAMPLER_OK or a status; negative ones are the caller's own. On another status the loop
 * stops, calls no model any more and returns that status; earlier outputs remain, and caches are as
 * the successful callbacks left them. None may throw. */

typedef struct sampler_forward_args {
  /* sizeof(sampler_forward_args) of the library. */
  size_t struct_size;
  sampler_stream stream;

  /* Spans of tokens, at most one per sequence. All these arrays are valid during the call. */
  int64_t num_spans;
  const int32_t *sequences;     /* [num_spans] in [0, max_sequences) */
  const int64_t *starts;        /* [num_spans] cache length, where the span goes */
  const int64_t *token_offsets; /* [num_spans + 1] span i starts at token_ids[token_offsets[i]] */
  const int32_t *token_ids;
  const int64_t *logit_counts; /* [num_spans] trailing tokens with logits wanted; may be 0 */

  /* [num_logit_rows, vocabulary_size] Output for the logits, span after span: the loop's memory on
   * the handle's device. Enqueuing the work on `stream` is enough. Stride in elements. */
  void *logits;
  int64_t num_logit_rows;
  int64_t logits_row_stride;
  sampler_dtype logits_dtype;
  int32_t reserved; /* 0 */

  /* [token_offsets[num_spans]] NULL: each token follows the one before it in its span, the first
   * one the cache. Else, for the target with draft_top_k: the parent of each token, a lower index
   * in its span, from 0; -1: the cache. A token attends to the cache, its ancestors in order, and
   * itself: no other token of the span. Its position is its parent's plus 1. */
  const int32_t *parents;
} sampler_forward_args;

/* Appends each span to the cache of its sequence and writes the logits after its last logit_counts
 * tokens. In a tree a token's logits follow those that it attends to. A tree's first path comes
 * first, and is all of it that `truncate` leaves: accepted tokens beside it are fed again, so that
 * nothing in a cache has to be moved. */
typedef sampler_status (*sampler_forward_fn)(void *user, const sampler_forward_args *args);

/* Cuts the cache of `sequence` to its first `length` tokens, fewer than it has; 0 empties it. */
typedef sampler_status (*sampler_truncate_fn)(void *user, int32_t sequence, int64_t length);

/* Replaces the cache of `destination` by a copy of that of `source`. */
typedef sampler_status (*sampler_fork_fn)(void *user, int32_t source, int32_t destination);

typedef struct sampler_model {
  /* sizeof(sampler_model). */
  size_t struct_size;

  /* Passed to the callbacks. */
  void *user;
  sampler_forward_fn forward;   /* required */
  sampler_truncate_fn truncate; /* required */
  sampler_fork_fn fork;         /* needed by beam search with caches; else may be NULL */

  int64_t vocabulary_size; /* columns of the logits, in [1, 2^20) */
  int64_t max_context;     /* capacity of a cache in tokens, at least 1 */
  int64_t max_sequences;   /* caches, in [1, 2^31) */
  int64_t max_span_tokens; /* in all spans of a forward; longer ones are split. 0: no limit */
  sampler_dtype logits_dtype;

  /* 1: forward supports `parents`; required of the target with draft_top_k above 1. Default 0. */
  int32_t reads_parents;
} sampler_model;

/* ---- Arguments and results of all loops -----------------------------------------------------
 *
 * Defaults are those of the speculative-decoding reference implementations' API: the likeliest
 * token, 40 tokens, the end token 1. */

typedef int32_t sampler_processor;
enum {
  /* The likeliest token. Filters are ignored; only adaptive_gamma uses the temperature. */
  SAMPLER_PROCESSOR_GREEDY = 0,
  SAMPLER_PROCESSOR_SAMPLE = 1 /* drawn as by sampler_sample */
};

typedef int32_t sampler_finish_reason;
enum {
  SAMPLER_FINISH_NONE = 0,         /* not finished: it continues, or the loop failed */
  SAMPLER_FINISH_END_TOKEN = 1,    /* the last token is an end token */
  SAMPLER_FINISH_LENGTH = 2,       /* max_new_tokens reached */
  SAMPLER_FINISH_CONTEXT = 3,      /* prompt and new tokens fill the target's max_context */
  SAMPLER_FINISH_CANCELLED = 4,    /* on_tokens ended it */
  SAMPLER_FINISH_BAD_ROW = 5,      /* the logits gave no token (NaN, +inf, all -inf) */
  SAMPLER_FINISH_STOP_SEQUENCE = 6 /* the last tokens are a stop sequence; session.h only */
};

/* Receives the new tokens of a step, valid during the call; `reason` is not NONE with the last
 * tokens, which may be 0 in number. Nonzero return: the text ends here, CANCELLED unless it had
 * already ended. */
typedef int32_t (*sampler_tokens_fn)(void *user, int64_t text, const int32_t *token_ids,
                                     int64_t num_tokens, sampler_finish_reason reason);

/* Logits processor: rewrites logits in place, on the handle's device, before any other use:
 * penalties, biases, grammars. Enqueuing that on `stream` is enough. Row i follows `lengths[i]`
 * tokens of the model's sequence `sequences[i]`; both arrays are host memory. In a draft tree these
 * are the text and the ancestors of the row's draft, and several rows have one length. Called for
 * logits of both drafter and target. */
typedef sampler_status (*sampler_process_fn)(void *user, sampler_stream stream, void *logits,
                                             int64_t num_rows, int64_t num_cols, int64_t row_stride,
                                             const int32_t *sequences, const int64_t *lengths);

/* Writes the text of a token into `buffer`, at most buffer_bytes, and returns its length. For
 * trace lines. */
typedef size_t (*sampler_token_text_fn)(void *user, int32_t token_id, char *buffer,
                                        size_t buffer_bytes);

typedef struct sampler_trace_round {
  size_t struct_size;
  int64_t text;                   /* in [0, num_sequences) */
  int64_t round;                  /* of this text, from 0 */
  const int32_t *draft_token_ids; /* in a tree the accepted ones first, then the others */
  int64_t num_drafted;
  int64_t num_accepted;  /* the first num_accepted drafts became text */
  int32_t next_token_id; /* the target's token after them; -1: none */
  float entropy;         /* of the drafter, in nats; NaN when not measured */
  const char *line;      /* the round as text, by token_text, or as numbers if NULL */
} sampler_trace_round;

/* Receives a round of a text; everything is valid during the call. */
typedef void (*sampler_trace_fn)(void *user, const sampler_trace_round *round);

typedef struct sampler_generation_stats {
  /* sizeof(sampler_generation_stats), set by the caller. */
  size_t struct_size;
  int64_t num_rounds;     /* steps of the loop, including the prompts' own */
  int64_t num_new_tokens; /* of all texts */
  int64_t num_drafted;
  int64_t num_accepted;
  int64_t target_forwards; /* calls of the callback */
  int64_t drafter_forwards;
  double acceptance_rate;   /* num_accepted / num_drafted; 0 without drafts */
  int64_t num_plain_rounds; /* of sampler_speculative: without drafts */
} sampler_generation_stats;

typedef struct sampler_generation_args {
  size_t struct_size;
  sampler_stream stream;
  const sampler_model *target;

  /* Prompts: text i starts with prompt_token_ids[prompt_offsets[i]] up to prompt_offsets[i + 1], at
   * least one token and at most the target's max_context. It is the models' sequence
   * first_sequence + i, whose caches must be empty. num_sequences in [0, 2^31); 0 does nothing. */
  int64_t num_sequences;
  int64_t first_sequence;
  const int64_t *prompt_offsets; /* [num_sequences + 1], from 0 on */
  const int32_t *prompt_token_ids;

  /* Maximum new tokens per text, in [1, 2^31). Default 40. */
  int64_t max_new_tokens;

  /* Tokens that end a text, in [0, vocabulary_size); the first one to occur is the text's last
   * token. NULL and 0: token 1 alone. Not NULL and 0: none; an id such as -1 instead
   * is INVALID_ARGUMENT. */
  const int32_t *end_token_ids;
  int64_t num_end_tokens;

  /* Padding of out_token_ids after a text. Default 0. */
  int32_t pad_token_id;

  /* 1: models keep their caches, and are fed new tokens only; rejected ones are cut. 0: caches are
   * emptied after each step and each forward gets the whole text. The tokens are the same.
   * Default 0. */
  int32_t use_cache;

  /* How a token comes from logits. Default GREEDY. */
  sampler_processor processor;

  /* 1: the line of each round is also logged by the handle. Default 0. */
  int32_t debug;

  /* Used with SAMPLE. NULL: temperature 1 and no filter. 0 differs: top_p <= 0 keeps one token,
   * min_p <= 0 all. Mind temperature_order: Hugging Face filters after the temperature
   * (SAMPLER_TEMPERATURE_FIRST), llama.cpp and the reference implementations of speculative
   * decoding before it (SAMPLER_TEMPERATURE_LAST). */
  const sampler_params *params;

  /* Text i has seeds[i], or seed + i where `seeds` is NULL, and its n-th new token, from 0, the
   * offset n: a text depends on nothing beside it. (N-grams are shared,
   * see sampler_speculative_args.) */
  uint64_t seed;
  const uint64_t *seeds;

  /* Callbacks, each of which may be NULL, and their `user`. */
  void *user;
  sampler_process_fn process;
  sampler_tokens_fn on_tokens;
  sampler_trace_fn trace;
  sampler_token_text_fn token_text;

  /* [num_sequences, max_new_tokens] New tokens, end token included, then pad_token_id. Required. */
  int32_t *out_token_ids;

  /* [num_sequences] each; NULL: not wanted. */
  int64_t *out_lengths; /* new tokens */
  sampler_finish_reason *out_finish_reasons;
  int64_t *out_cache_lengths; /* tokens in the target's cache, all part of the text */

  sampler_generation_stats *out_stats;

  /* Parameters by text, and the lists of stages: see pipeline.h. sampler_beam_search supports only
   * edits. Text i is slot i. Arrays are read in each step, so on_tokens may change them for the
   * next tokens. On a CUDA handle the arrays of row_params and token_bitmask_indices are host
   * memory, the others of the pipeline device memory, of which beam search copies lists by text to
   * the host as it begins.
   *
   * history, prompt_lengths, adaptive_values and state must be 0: the loop's texts are the history,
   * and the loop updates adaptive values. guidance_logits must be NULL. token_bitmasks and
   * token_bitmask_indices are by text; sampler_speculative, whose drafts need a mask each, supports
   * neither these nor forced tokens. Its drafter uses only temperature, top-k, top-p and min-p.
   * With GREEDY the temperature is 0. */
  const sampler_row_params *row_params;
  const sampler_pipeline *pipeline;
} sampler_generation_args;

/* Fills `args` with the defaults. `struct_size` is the size of the caller's struct; members unknown
 * to the library are set to 0. */
SAMPLER_API sampler_status sampler_generation_args_init(sampler_generation_args *args,
                                                        size_t struct_size);

/* The same, inline. */
static inline sampler_generation_args sampler_generation_args_default(void) {
  sampler_generation_args args;
  memset(&args, 0, sizeof args);
  args.struct_size = sizeof args;
  args.max_new_tokens = 40;
  return args;
}

/* ---- Loops ----------------------------------------------------------------------------------
 *
 * Errors of all: INVALID_ARGUMENT and UNSUPPORTED before any callback, with no output written;
 * OUT_OF_MEMORY; the status of a callback; CALLBACK (one threw); CUDA. A finished text takes part
 * in no further forward. The handle's fallback token is not used: a row without a token ends
 * its text. */

/* Feeds the prompts whole, draws the first token from their last logits, then one per step. */
SAMPLER_API sampler_status sampler_autoregressive(sampler_t sampler,
                                                  const sampler_generation_args *args);

/* How the number of drafts of a round is chosen. */
typedef int32_t sampler_gamma_rule;
enum {
  SAMPLER_GAMMA_FIXED = 0,      /* gamma */
  SAMPLER_GAMMA_BY_ENTROPY = 1, /* from the drafter's entropy, see adaptive_gamma */
  /* By measured cost and gain: the number with most tokens per second, 0 included. A time budget
   * limits losses: it starts with the time of two rounds without drafts, and grows by 1/32 of the
   * time without drafts and by what drafts gain; no round begins with drafts that may lose more. So
   * unprofitable drafts lose at most that and, once, the first two rounds with drafts and the
   * drafter's prefill; a step's excess over its measured cost is lost in one round. Times, and so
   * numbers of drafts and sampled texts, differ from run to run: their distribution is exact, but
   * the seed does not fix them. Greedy texts are those of sampler_autoregressive. */
  SAMPLER_GAMMA_MEASURED = 2
};

/* Monotonic time in nanoseconds, from any origin. Called when the drafts of a round and their
 * verification are on the host. */
typedef int64_t (*sampler_clock_fn)(void *user);

typedef struct sampler_speculative_args {
  size_t struct_size;
  const sampler_generation_args *generation;

  /* Source of drafts: one of `drafter` and `ngram`; the other is NULL.
   *
   * A model with the target's vocabulary_size. A text longer than its max_context continues
   * without drafts. */
  const sampler_model *drafter;

  /* N-grams, by sampler_ngram_storage_interface, sampler_prompt_lookup_interface, or the caller.
   * They learn the prompts first, and are not reset. All texts of the call share them, so texts
   * affect each other's drafts: this changes no greedy text, and the tokens but not the
   * distribution of sampled ones. */
  const sampler_ngram *ngram;

  /* Maximum drafts per round, in [1, 1024]; fewer if a draft is an end token or a limit is near.
   * Default 5. */
  int64_t gamma;

  /* BY_ENTROPY, drafter only: gamma from the entropy H, in nats, of its distribution at the
   * temperature, without filters: clamp(trunc((1 - H / ln(vocabulary_size)) gamma_max), gamma_min,
   * gamma_max). The first draft uses the same logits. MEASURED: in [0, gamma_max].
   * Default FIXED. */
  sampler_gamma_rule adaptive_gamma;

  /* Smoothing of H over a text's rounds: ema_beta H_before + (1 - ema_beta) H. In [0, 1).
   * Default 0. */
  float ema_beta;

  /* gamma_min in [0, gamma_max], default 1; gamma_max in [1, 1024], 0 (default): gamma. */
  int64_t gamma_min;
  int64_t gamma_max;

  /* Tokens that the n-grams learn per new position of a text: the target's filler_top_k likeliest,
   * at most 2^20 - 1, then the token of the text unless among them; 0: only that one. Default 3. */
  int64_t filler_top_k;

  /* 1: no draft follows a context unknown to the n-grams; 0: their token for it does. Default 0. */
  int32_t stop_if_unknown;

  /* 1: the first token is drawn from the target's prompt logits, without drafts. Default 1. */
  int32_t first_target;

  /* 1: after a rejected draft the token is drawn from the target's p instead of the residual, so
   * that the text no longer follows the target's distribution. For comparisons, drafter only.
   * Default 0. */
  int32_t skip_sample_adjustment;

  int32_t reserved; /* must be 0 */

  /* For MEASURED. NULL: the system's monotonic clock. */
  sampler_clock_fn clock;
  void *clock_user;

  /* N-grams only, which then need `propose`: drafts end before the first that was counted fewer
   * than ngram_least_count times after its context, or with a share of all tokens counted there
   * below ngram_least_share, in [0, 1]. With either no draft follows an unknown context, whatever
   * stop_if_unknown. A filler_top_k above 0 counts as many tokens alike, so shares rarely exceed
   * 1 / filler_top_k. 0 (default): off. */
  int64_t ngram_least_count;
  float ngram_least_share;

  /* Drafter only, in [0, 1]: a draft with less than this probability in the drafter's row, at
   * temperature 1 and without filters, is the last of its round (Hugging Face's
   * assistant_confidence_threshold, llama.cpp's p_min). It is still verified: otherwise STANDARD
   * would not be lossless. Default 0: off. */
  float least_draft_probability;

  /* Acceptance rule and its parameters; gamma, or gamma_max, is the max drafts per sequence.
   * SAMPLE_MATCH gives, token by token, the text of sampler_autoregressive. Rule 0, and NULL
   * (default): STANDARD. */
  const sampler_acceptance_params *acceptance;

  /* Drafter only, in [0, gamma]. 0 (default): drafts are drawn, one per position. Else drafts are
   * the drafter's draft_top_k likeliest tokens per position, at most gamma in all: the first of a
   * position is extended, the others are its siblings, and the target runs them as a tree. Above 1
   * the target needs reads_parents, and max_span_tokens 0 or at least gamma + 1. Accepts more than
   * a chain of the tree's depth. Supported by all rules but BLOCK and DEFERRED, and verified as
   * deterministic drafts. adaptive_gamma must not be BY_ENTROPY; least_draft_probability and
   * skip_sample_adjustment must be 0. */
  int64_t draft_top_k;

  /* [num_sequences] each; NULL: not wanted. Drafts per text, and those that became text. */
  int64_t *out_drafted_counts;
  int64_t *out_accepted_counts;
} sampler_speculative_args;

/* Fills `args` with the defaults. `struct_size` is the size of the caller's struct; members unknown
 * to the library are set to 0. */
SAMPLER_API sampler_status sampler_speculative_args_init(sampler_speculative_args *args,
                                                         size_t struct_size);

/* The same, inline. */
static inline sampler_speculative_args sampler_speculative_args_default(void) {
  sampler_speculative_args args;
  memset(&args, 0, sizeof args);
  args.struct_size = sizeof args;
  args.gamma = 5;
  args.gamma_min = 1;
  args.filler_top_k = 3;
  args.first_target = 1;
  return args;
}

/* Drafts with a model or n-grams, and verifies with the target. A model's drafts (Leviathan et al.
 * 2023) are verified as by sampler_verify from both models' logits, n-grams' without draft
 * probabilities: a draft of probability p is kept with probability p and, once rejected, not drawn
 * again. Greedy gives the text of sampler_autoregressive; sampling gives texts of
 * its distribution. */
SAMPLER_API sampler_status sampler_speculative(sampler_t sampler,
                                               const sampler_speculative_args *args);

/* What happens to finished beams. */
typedef int32_t sampler_beam_rule;
enum {
  /* They keep their places among the num_beams of the text, and their scores, until better beams
   * displace them. So fewer and fewer beams continue. */
  SAMPLER_BEAMS_SHARED = 0,

  /* They go to a pool, and num_beams continue in each step, as in Hugging Face's generate. All
   * continuations of a text's beams are ranked by summed log-probability. Those among the first
   * num_beams that end (by an end token, or all at max_new_tokens and max_context) enter the pool,
   * which keeps the num_beams best scores, the earliest on ties; the first num_beams that do not
   * end continue. top_k is not used. Results are the pool's. Hugging Face's length_penalty is alpha
   * with min_length 0; `early_stopping` is early_stop. */
  SAMPLER_BEAMS_POOL = 1
};

typedef struct sampler_beam_search_args {
  size_t struct_size;

  /* `processor` must be GREEDY; `debug` must be 0; on_tokens, trace and out_cache_lengths must
   * be NULL.
   *
   * Edits of params, row_params and pipeline apply, by each beam's history: biases, allowed and
   * banned tokens, bad words, bitmasks, min_new_tokens with `stop`, penalties, DRY and
   * no_repeat_ngram_size. Scores sum the edited log-probabilities. Temperature, top-k, top-p and
   * min-p of `params` are ignored; all other stages must be off. Lists and arrays by text are read
   * when the call starts. bad_word_offsets must be NULL, num_dense_biases at most 1, and
   * token_id_type I32. Beams of text i use the model's sequences from first_sequence + i num_beams.
   * out_token_ids is [num_sequences, num_results, max_new_tokens], out_lengths and
   * out_finish_reasons [num_sequences, num_results], best first; missing results have length 0 and
   * reason NONE. Caches are empty on return. */
  const sampler_generation_args *generation;

  int64_t num_beams;   /* in [1, 1024]; default 4 */
  int64_t top_k;       /* continuations per beam (prompt: >= num_beams), in [1, 2^20); default 3 */
  int64_t num_results; /* in [1, num_beams]; default 1 */

  /* A beam's score is the sum of its tokens' log-probabilities (at temperature 1, from 0 on) over
   * ((min_length + length) / (min_length + 1))^alpha (Wu et al. 2016), length its new tokens. Ties
   * go to the better parent, then the lower id. min_length >= 0, default 5; alpha in [0, 100],
   * default 1.2; 0: no penalty. */
  float min_length;
  float alpha;

  /* When a text ends, at the latest when no beam continues. Checked after each step.
   * SHARED: 1: once num_results of its beams have ended, whatever the others may become; 0: once
   *   all have.
   * POOL: 1: once the pool holds num_beams; 0: once it does, and the best running beam, ended
   *   as it is, would score no better than the worst of the pool. (With alpha > 0 a longer
   *   one may still score better.)
   * Default 0. */
  int32_t early_stop;

  sampler_beam_rule rule; /* default SHARED */

  /* [num_sequences, num_results] Scores; -inf for missing results. NULL: not wanted. */
  float *out_scores;
} sampler_beam_search_args;

/* Fills `args` with the defaults. `struct_size` is the size of the caller's struct; members unknown
 * to the library are set to 0. */
SAMPLER_API sampler_status sampler_beam_search_args_init(sampler_beam_search_args *args,
                                                         size_t struct_size);

/* The same, inline. */
static inline sampler_beam_search_args sampler_beam_search_args_default(void) {
  sampler_beam_search_args args;
  memset(&args, 0, sizeof args);
  args.struct_size = sizeof args;
  args.num_beams = 4;
  args.top_k = 3;
  args.num_results = 1;
  args.min_length = 5.0f;
  args.alpha = 1.2f;
  return args;
}

/* Keeps the num_beams best continuations of each text, step by step. A beam ended by a row without
 * a token, BAD_ROW, comes last, with score -inf; in a pool it yields its place to any other, and
 * does not count as filling the pool. */
SAMPLER_API sampler_status sampler_beam_search(sampler_t sampler,
                                               const sampler_beam_search_args *args);

/* ---- Helpers for a caller's own loops and caches -------------------------------------------- */

/* KV cache tokens to cut after a round of num_drafted drafts, the first num_emitted of them kept:
 * the target was fed all of them, the drafter all but the last. *out_target and *out_drafter:
 * tokens to cut from the ends of their caches; 0: none. *out_missing: kept drafts not yet fed to
 * the drafter, 0 or 1. 0 <= num_emitted <= num_drafted. All three required. */
SAMPLER_API sampler_status sampler_prune_count(int64_t num_drafted, int64_t num_emitted,
                                               int64_t *out_target, int64_t *out_drafter,
                                               int64_t *out_missing);

#ifdef __cplusplus
}
#endif

#endif /* SAMPLER_DECODING_H */
