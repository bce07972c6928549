/* Decoding: the loops around a model, from prompts to texts. The model is the caller's, reached by
 * callbacks; sampler.h draws and verifies. docs/decoding.md explains models, caches and loops.
 *
 * Loops run on the caller's thread and wait for the stream once a step, with BY_ENTROPY once more
 * for each text. They do not use the handle's workspace. They take all memory as they begin, before
 * any callback, with the handle's hooks, what operations read and write on a CUDA device with CUDA,
 * and release it before they return. Where it is refused they return OUT_OF_MEMORY, with nothing
 * called back or written. It is for the most that the arguments allow:
 *
 *   8 bytes for each token that the texts can have, of prompts and min(max_new_tokens, what
 *     max_context leaves), 4 more with a drafter model, and 4 more with draft_top_k above 1; beam
 *     search 8 num_beams + 4, with POOL 12 num_beams + 4
 *
 *   rows of logits: a text's one, or gamma + 1 with drafts and one of the drafter's, by rules that
 *     ask for what drafts were drawn from gamma more of those; in beam search num_beams of them,
 * and as many of f32
 *
 *   a workspace like a handle's for so many rows; with BY_ENTROPY a row of f32 and 20 KB;
 *     with n-grams filler_top_k ids for each row, and once more; in beam search
 *     max(top_k, num_beams) ids and values for each, with POOL num_beams + num_end_tokens
 *
 *   with stages a state of a slot for each text, as long as the longest text can be, and what
 *     such a call takes as workspace
 *
 *   a bit for each token of the vocabulary, less than 1,000 bytes a text, 500 a beam and 100 a row
 *     beside, and a line of 130 bytes a draft for `trace` and `debug`
 *
 * Memory for what no text becomes is not touched.
 *
 * Arrays of this header are host memory, logits apart. A loop leaves the handle free between its
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
 * A model keeps a cache for each sequence: the tokens that it was fed and that were not cut off.
 * Callbacks return SAMPLER_OK or a status; negative ones are the caller's own. On another status
 * the loop stops, calls no model any more and returns that status; what was emitted before stands
 * in the outputs, and caches are as the callbacks that succeeded left them. None may throw. */

typedef struct sampler_forward_args {
  /* sizeof(sampler_forward_args) of the library. */
  size_t struct_size;
  sampler_stream stream;

  /* Spans of tokens, no two of one sequence. All these arrays are valid during the call. */
  int64_t num_spans;
  const int32_t *sequences;     /* [num_spans] in [0, max_sequences) */
  const int64_t *starts;        /* [num_spans] the length of the cache, where the span goes */
  const int64_t *token_offsets; /* [num_spans + 1] span i is token_ids[token_offsets[i]] and on */
  const int32_t *token_ids;
  const int64_t *logit_counts; /* [num_spans] logits wanted, of the last so many tokens; may be 0 */

  /* [num_logit_rows, vocabulary_size] Where the logits go, span after span: the loop's memory on
   * the handle's device. Enqueuing the work on `stream` is enough. Stride in elements. */
  void *logits;
  int64_t num_logit_rows;
  int64_t logits_row_stride;
  sampler_dtype logits_dtype;
  int32_t reserved; /* 0 */

  /* [token_offsets[num_spans]] NULL: in each span a token follows the one before it, the first one
   * the cache. Else, of the target with draft_top_k: the token of its span, counted from 0, that
   * each one follows, a lower one; -1: the cache. A token sees the cache, those that it follows,
   * one after the other, and itself: no other token of the span. Its position in the text is that
   * of the token that it follows, and 1. */
  const int32_t *parents;
} sampler_forward_args;

/* Appends each span to the cache of its sequence and writes the logits that follow its last
 * logit_counts tokens. Of a tree the logits of a token follow those that it sees. Its first path
 * comes before all else, and is all of it that `truncate` leaves: what became text beside it comes
 * again, so that nothing in a cache has to be moved. */
typedef sampler_status (*sampler_forward_fn)(void *user, const sampler_forward_args *args);

/* Cuts the cache of `sequence` to its first `length` tokens, fewer than it has; 0 empties it. */
typedef sampler_status (*sampler_truncate_fn)(void *user, int32_t sequence, int64_t length);

/* Makes the cache of `destination` a copy of that of `source`, whatever it held. */
typedef sampler_status (*sampler_fork_fn)(void *user, int32_t source, int32_t destination);

typedef struct sampler_model {
  /* sizeof(sampler_model). */
  size_t struct_size;

  /* Handed to the callbacks. */
  void *user;
  sampler_forward_fn forward;   /* required */
  sampler_truncate_fn truncate; /* required */
  sampler_fork_fn fork;         /* needed by beam search with caches; else it may be NULL */

  int64_t vocabulary_size; /* columns of the logits, in [1, 2^20) */
  int64_t max_context;     /* tokens that a cache can hold, at least 1 */
  int64_t max_sequences;   /* caches, in [1, 2^31) */
  int64_t max_span_tokens; /* of all spans of a forward; longer ones are split. 0: no limit */
  sampler_dtype logits_dtype;

  /* 1: forward goes by `parents`, which draft_top_k above 1 needs of the target. Default 0. */
  int32_t reads_parents;
} sampler_model;

/* ---- What all loops take and give -----------------------------------------------------------
 *
 * Defaults are those of the speculative-decoding reference implementations' API: the likeliest
 * token, 40 tokens, the end token 1. */

typedef int32_t sampler_processor;
enum {
  /* The likeliest token. Filters are not used; the temperature by adaptive_gamma alone. */
  SAMPLER_PROCESSOR_GREEDY = 0,
  SAMPLER_PROCESSOR_SAMPLE = 1 /* drawn as sampler_sample does it */
};

typedef int32_t sampler_finish_reason;
enum {
  SAMPLER_FINISH_NONE = 0,         /* not finished: it goes on, or the loop failed */
  SAMPLER_FINISH_END_TOKEN = 1,    /* the last token is an end token */
  SAMPLER_FINISH_LENGTH = 2,       /* it has max_new_tokens */
  SAMPLER_FINISH_CONTEXT = 3,      /* prompt and new tokens are the target's max_context */
  SAMPLER_FINISH_CANCELLED = 4,    /* on_tokens wanted no more */
  SAMPLER_FINISH_BAD_ROW = 5,      /* the logits gave no token (NaN, +inf, all -inf) */
  SAMPLER_FINISH_STOP_SEQUENCE = 6 /* the last tokens are a stop sequence; of session.h alone */
};

/* Takes the new tokens of a step, which are valid during the call; `reason` is not NONE with the
 * last of them, of which there may be 0. Not 0: the text ends here, CANCELLED where it had not
 * ended anyway. */
typedef int32_t (*sampler_tokens_fn)(void *user, int64_t text, const int32_t *token_ids,
                                     int64_t num_tokens, sampler_finish_reason reason);

/* Rewrites logits in place, on the handle's device, before anything else looks at them: penalties,
 * biases, grammars. Enqueuing that on `stream` is enough. Row i follows `lengths[i]` tokens of the
 * model's sequence `sequences[i]`; both arrays are host memory. In a tree of drafts that is the
 * text and the drafts that the row's own follows, and several rows have one length. Logits of the
 * drafter and of the target both come by. */
typedef sampler_status (*sampler_process_fn)(void *user, sampler_stream stream, void *logits,
                                             int64_t num_rows, int64_t num_cols, int64_t row_stride,
                                             const int32_t *sequences, const int64_t *lengths);

/* Writes the text of a token into `buffer`, at most buffer_bytes, and returns its length. For trace
 * lines. */
typedef size_t (*sampler_token_text_fn)(void *user, int32_t token_id, char *buffer,
                                        size_t buffer_bytes);

typedef struct sampler_trace_round {
  size_t struct_size;
  int64_t text;                   /* in [0, num_sequences) */
  int64_t round;                  /* of this text, from 0 */
  const int32_t *draft_token_ids; /* of a tree those that became text first, then the others */
  int64_t num_drafted;
  int64_t num_accepted;  /* the first so many drafts became text */
  int32_t next_token_id; /* the target's token after them; -1: none */
  float entropy;         /* of the drafter's distribution, in nats; NaN when it was not measured */
  const char *line;      /* all of it, by token_text, or as numbers where that is NULL */
} sampler_trace_round;

/* Takes a round of a text; everything is valid during the call. */
typedef void (*sampler_trace_fn)(void *user, const sampler_trace_round *round);

typedef struct sampler_generation_stats {
  /* sizeof(sampler_generation_stats), set by the caller. */
  size_t struct_size;
  int64_t num_rounds;     /* steps of the loop, the prompts' own among them */
  int64_t num_new_tokens; /* of all texts */
  int64_t num_drafted;
  int64_t num_accepted;
  int64_t target_forwards; /* calls of the callback */
  int64_t drafter_forwards;
  double acceptance_rate;   /* num_accepted / num_drafted; 0 when nothing was drafted */
  int64_t num_plain_rounds; /* of sampler_speculative: those without drafts */
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

  /* New tokens of a text at most, in [1, 2^31). Default 40. */
  int64_t max_new_tokens;

  /* Tokens that end a text, in [0, vocabulary_size); the earliest in it does, and is its last
   * token. NULL and 0: token 1 alone. Not NULL and 0: none; an id such as -1 in its place is
   * INVALID_ARGUMENT. */
  const int32_t *end_token_ids;
  int64_t num_end_tokens;

  /* Fills out_token_ids after a text. Default 0. */
  int32_t pad_token_id;

  /* 1: models keep what they were fed, and are fed new tokens only; what is rejected is cut off.
   * 0: caches are emptied after each step and each forward gets the whole text. The tokens are the
   * same. Default 0. */
  int32_t use_cache;

  /* How a token comes from logits. Default GREEDY. */
  sampler_processor processor;

  /* 1: the line of each round goes to the handle's log, too. Default 0. */
  int32_t debug;

  /* Of SAMPLE. NULL: temperature 1 and no filter. A top_p or min_p of 0 is not the same: top_p <= 0
   * keeps one token, min_p <= 0 all. Mind temperature_order: Hugging Face filters after the
   * temperature (SAMPLER_TEMPERATURE_FIRST), llama.cpp and the reference implementations of
   * speculative decoding before it (SAMPLER_TEMPERATURE_LAST). */
  const sampler_params *params;

  /* Text i has seeds[i], or seed + i where `seeds` is NULL, and its n-th new token, from 0, the
   * offset n: what a text becomes depends on nothing beside it. (N-grams are shared, see
   * sampler_speculative_args.) */
  uint64_t seed;
  const uint64_t *seeds;

  /* Callbacks, each of which may be NULL, and what they are handed as `user`. */
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
  int64_t *out_cache_lengths; /* tokens in the target's cache, all of them of the text */

  sampler_generation_stats *out_stats;

  /* Parameters by text, and the lists of stages: see pipeline.h. sampler_beam_search takes edits
   * alone, and those of CPU handles alone: of a CUDA handle it refuses them, UNSUPPORTED, and a
   * stage in params. Text i is slot i. Arrays are read in each step, so that
   * on_tokens may change what the next tokens are drawn by. On a CUDA handle the arrays of
   * row_params and token_bitmask_indices are host memory, the others of the pipeline the device's.
   *
   * history, prompt_lengths, adaptive_values and state must be 0: the loop's texts are the history,
   * and what their tokens move is moved. token_bitmasks and token_bitmask_indices are by text;
   * sampler_speculative, whose drafts need a mask each, takes none, and no forced tokens. Its
   * drafter draws by temperature, top-k, top-p and min-p alone. With GREEDY the temperature is 0.
   */
  const sampler_row_params *row_params;
  const sampler_pipeline *pipeline;
} sampler_generation_args;

/* Fills `args` with the defaults. `struct_size` is the size of the caller's struct; what a newer
 * one has more is set to 0. */
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
 * OUT_OF_MEMORY; the status of a callback; CALLBACK (one threw); CUDA. A text that has finished
 * takes part in no further forward. The handle's fallback token is not used: a row without a token
 * ends its text. */

/* Feeds the prompts whole, draws the first token from their last logits, then one a step. */
SAMPLER_API sampler_status sampler_autoregressive(sampler_t sampler,
                                                  const sampler_generation_args *args);

/* What decides on the number of drafts of a round. */
typedef int32_t sampler_gamma_rule;
enum {
  SAMPLER_GAMMA_FIXED = 0,      /* gamma */
  SAMPLER_GAMMA_BY_ENTROPY = 1, /* the drafter's entropy, see adaptive_gamma */
  /* What drafts are measured to cost and to gain: the number of most tokens a second, 0 included.
   * No round begins with drafts that may lose more than there is on an account, which has two rounds
   * without drafts at first, and gets a thirty-second of the time without drafts and what drafts
   * gain. So where drafts do not pay no more than that is lost, and, once, the first two rounds with
   * drafts and the drafter's reading of the prompts; what a step costs more than was measured before
   * is lost in one round. Times differ from run to run, so numbers of drafts do,
   * and with them sampled texts: their distribution is exact, but the seed does not fix them.
   * Greedy texts are those of sampler_autoregressive. */
  SAMPLER_GAMMA_MEASURED = 2
};

/* The time in nanoseconds since any moment, never less than before. A loop asks for it when the
 * drafts of a round and their verification are on the host. */
typedef int64_t (*sampler_clock_fn)(void *user);

typedef struct sampler_speculative_args {
  size_t struct_size;
  const sampler_generation_args *generation;

  /* Where drafts come from, one of the two; the other is NULL.
   *
   * A model of the target's vocabulary_size. A text that is longer than its max_context goes on
   * without drafts. */
  const sampler_model *drafter;

  /* Or n-grams: sampler_ngram_storage_interface's, sampler_prompt_lookup_interface's, or the
   * caller's own. They learn the prompts first, and are not reset. All texts of the call share
   * them: what one taught them others are drafted, which changes no greedy text, and of sampled
   * ones the tokens but not the distribution. */
  const sampler_ngram *ngram;

  /* Drafts a round at most, in [1, 1024]; fewer where a draft is an end token or a limit is near.
   * Default 5. */
  int64_t gamma;

  /* BY_ENTROPY, of a drafter alone: gamma follows the entropy H of its distribution at the
   * temperature, without filters, in nats: clamp(trunc((1 - H / ln(vocabulary_size)) gamma_max),
   * gamma_min, gamma_max). The logits that it is taken of serve the first draft. MEASURED: in
   * [0, gamma_max]. Default FIXED. */
  sampler_gamma_rule adaptive_gamma;

  /* H is smoothed over a text's rounds: ema_beta H_before + (1 - ema_beta) H. In [0, 1). Default 0.
   */
  float ema_beta;

  /* gamma_min in [0, gamma_max], default 1; gamma_max in [1, 1024], 0 (default): gamma. */
  int64_t gamma_min;
  int64_t gamma_max;

  /* What the n-grams learn of each position that became text: the so many likeliest tokens of the
   * target, at most 2^20 - 1, and then, where it is not among them, the token that came; 0: that
   * one alone. Default 3. */
  int64_t filler_top_k;

  /* 1: no draft follows a context that the n-grams do not know; 0: the token that they give for it.
   * Default 0. */
  int32_t stop_if_unknown;

  /* 1: the first token is drawn from the target's logits of the prompt, without drafts. Default 1.
   */
  int32_t first_target;

  /* 1: after a rejected draft the token is drawn from the target's p and not from the residual, so
   * that the text no longer follows the target's distribution. For comparisons, with a drafter
   * alone. Default 0. */
  int32_t skip_sample_adjustment;

  int32_t reserved; /* must be 0 */

  /* Of MEASURED. NULL: the system's monotonic clock. */
  sampler_clock_fn clock;
  void *clock_user;

  /* Of n-grams alone, for which `propose` is needed then: drafts end before the first that was
   * counted fewer than ngram_least_count times after its context, or whose share of what followed
   * there is below ngram_least_share, in [0, 1]. With either of them no draft follows an unknown
   * context, whatever stop_if_unknown. A filler_top_k above 0 counts as many tokens alike, so that
   * shares are hardly above 1 / filler_top_k. 0 (default): off. */
  int64_t ngram_least_count;
  float ngram_least_share;

  /* Of a drafter, in [0, 1]: a draft to which the drafter's row gives less than this probability,
   * at temperature 1 and without filters, is the last of its round (Hugging Face's
   * assistant_confidence_threshold, llama.cpp's p_min). It is verified, too: if it were left out,
   * STANDARD would not be lossless. Default 0: off. */
  float least_draft_probability;

  /* How drafts are accepted, where the most drafts of a sequence are gamma, or gamma_max.
   * SAMPLE_MATCH gives, token by token, the text of sampler_autoregressive. Rule 0, and NULL
   * (default): STANDARD. */
  const sampler_acceptance_params *acceptance;

  /* Of a drafter, in [0, gamma]. 0 (default): drafts are drawn, one a position. Else they are the
   * drafter's so many likeliest tokens of each position, gamma of them at most: the first of a
   * position goes on, the others hang beside it, and the target runs them as a tree, for which it
   * needs reads_parents, and max_span_tokens 0 or at least gamma + 1, where this is above 1. More
   * of them are kept than of a chain as long as the tree is deep. For all rules but BLOCK and
   * DEFERRED, to which such drafts are certain. adaptive_gamma must not be BY_ENTROPY;
   * least_draft_probability and skip_sample_adjustment must be 0. */
  int64_t draft_top_k;

  /* [num_sequences] each; NULL: not wanted. Of each text: its drafts, and those that became text. */
  int64_t *out_drafted_counts;
  int64_t *out_accepted_counts;
} sampler_speculative_args;

/* Fills `args` with the defaults. `struct_size` is the size of the caller's struct; what a newer
 * one has more is set to 0. */
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

/* Drafts with a model or n-grams, and verifies with the target. With a model (Leviathan et al.
 * 2023) as sampler_verify does it from both models' logits. With n-grams without draft
 * probabilities: a draft of probability p is kept with probability p and, once rejected, not drawn
 * again. Greedy gives the text of sampler_autoregressive; sampling gives texts of its distribution.
 */
SAMPLER_API sampler_status sampler_speculative(sampler_t sampler,
                                               const sampler_speculative_args *args);

/* What becomes of beams that have ended. */
typedef int32_t sampler_beam_rule;
enum {
  /* They keep their places among the num_beams of the text, and their scores, as long as no better
   * beam takes them. So there are fewer and fewer that go on. */
  SAMPLER_BEAMS_SHARED = 0,

  /* They go to a pool, and num_beams go on in each step, as Hugging Face's generate has it. All
   * continuations of a text's beams are ranked by their sums of log-probabilities. Of the first
   * num_beams those that end (by an end token, or all at max_new_tokens and max_context) go to the
   * pool, which keeps the num_beams of the best scores, of equal ones those that came first; the
   * first num_beams that do not end go on. top_k is not used. Results are the pool's.
   * Hugging Face's length_penalty is alpha with min_length 0; `early_stopping` is early_stop. */
  SAMPLER_BEAMS_POOL = 1
};

typedef struct sampler_beam_search_args {
  size_t struct_size;

  /* `processor` must be GREEDY; `debug` must be 0; on_tokens, trace and
   * out_cache_lengths must be NULL.
   *
   * Of params, row_params and pipeline the edits count, by what each beam has said: biases, allowed
   * and banned tokens, bad words, bitmasks, min_new_tokens with `stop`, penalties, DRY and
   * no_repeat_ngram_size. Scores are sums of the log-probabilities that they leave. Temperature,
   * top-k, top-p and min-p of `params` are not used; all other stages must be off. Lists and
   * numbers by text are read when the call starts. bad_word_offsets must be NULL, num_dense_biases
   * at most 1, and token_id_type I32. Beams of text i live in the model's sequences first_sequence
   * + i num_beams and on. out_token_ids is [num_sequences, num_results, max_new_tokens],
   * out_lengths and out_finish_reasons [num_sequences, num_results], best first; where there are
   * fewer results, their lengths are 0 and their reasons NONE. Caches are empty on return. */
  const sampler_generation_args *generation;

  int64_t num_beams;   /* in [1, 1024]; default 4 */
  int64_t top_k;       /* continuations tried of a beam, in [1, 2^20); default 3. Of the
                        * prompt num_beams, where that is more */
  int64_t num_results; /* in [1, num_beams]; default 1 */

  /* A beam's score is the sum of its tokens' log-probabilities (at temperature 1, from 0 on) over
   * ((min_length + length) / (min_length + 1))^alpha (Wu et al. 2016), length its new tokens. Of
   * equal scores the better parent's comes first, then the lower id. min_length >= 0, default 5;
   * alpha in [0, 100], default 1.2; 0: no penalty. */
  float min_length;
  float alpha;

  /* When a text ends, which it does at the latest when no beam goes on. Asked after each step.
   * SHARED: 1: once num_results of its beams have ended, whatever the others may become; 0: once
   *   all have.
   * POOL: 1: once the pool holds num_beams; 0: once it does, and the best beam that goes on, were
   *   it to end as it is, would have no better score than the worst of the pool. (With alpha > 0 a
   *   longer one may still come to have a better one.)
   * Default 0. */
  int32_t early_stop;

  sampler_beam_rule rule; /* default SHARED */

  /* [num_sequences, num_results] Scores; -inf where there is no result. NULL: not wanted. */
  float *out_scores;
} sampler_beam_search_args;

/* Fills `args` with the defaults. `struct_size` is the size of the caller's struct; what a newer
 * one has more is set to 0. */
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

/* Keeps the num_beams best continuations of each text, step by step. One that a row without a token
 * ended, BAD_ROW, comes after all others, its score -inf; in a pool it takes no place that another
 * one needs, and the pool is not full with it. */
SAMPLER_API sampler_status sampler_beam_search(sampler_t sampler,
                                               const sampler_beam_search_args *args);

/* ---- For callers with loops and caches of their own ----------------------------------------- */

/* What to cut off caches after a round of num_drafted drafts of which the first num_emitted were
 * kept: the target was fed all of them, the drafter all but the last. *out_target and *out_drafter:
 * tokens at the ends of their caches; 0 cuts off nothing. *out_missing: drafts that were kept and
 * that the drafter has not been fed, 0 or 1. 0 <= num_emitted <= num_drafted. All three required.
 */
SAMPLER_API sampler_status sampler_prune_count(int64_t num_drafted, int64_t num_emitted,
                                               int64_t *out_target, int64_t *out_drafter,
                                               int64_t *out_missing);

#ifdef __cplusplus
}
#endif

#endif /* SAMPLER_DECODING_H */
