/* The decoding session: sequences that come and go while others run, around models that the caller
 * runs. decoding.h has loops that do all of it themselves; docs/decoding.md compares the two.
 *
 *   sampler_session_add(session, &add, &sequence);         at any time, and remove and fork
 *
 *   sampler_session_plan(session, &plan);                  in each step: which tokens to run
 *   ...                                                    the caller runs the models
 *   sampler_session_advance(session, &advance);            logits in, new tokens out
 *
 * A sequence is a text with its own parameters, seed, limits and source of drafts. It has a number
 * in [0, max_sequences), which the session gives: callers may use it for their caches. With
 * SAMPLER_ACCEPT_SAMPLE_MATCH, the default, its tokens are those that sampler_autoregressive draws
 * for its prompt, parameters and seed: the n-th new token, from 0, has the offset n. They do not
 * depend on the other sequences, on when it joined, on how spans are batched, or on drafts.
 *
 * A session belongs to a handle, and takes all its memory when it is created: nothing else here
 * takes or releases any, other than an n-gram storage that learns. It serves one call at a time,
 * and uses the handle for each, so that no other call of the handle may run at the same time. In a
 * child process that was forked while a call used it, it may only be destroyed.
 *
 * Of a CUDA handle logits, the drafter's too, and the arrays of the pipeline are memory of its
 * device; all else is host memory. All work is enqueued on the stream of the options.
 * sampler_session_advance waits for it, once: it tells the tokens, and by them the session knows
 * its texts. A step of a loop, it is no sampling call, and no graph may capture it. The other
 * calls, create and destroy apart, do not wait; plan, remove and get ask nothing of the device.
 *
 * Calls that fail change nothing, and may come again: after CUDA, too, where the device still
 * works. Where a clock throws, CALLBACK, tokens that were drawn stay. */
#ifndef SAMPLER_SESSION_H
#define SAMPLER_SESSION_H

#include <stddef.h>
#include <stdint.h>

#include <sampler/decoding.h>
#include <sampler/export.h>
#include <sampler/handle.h>
#include <sampler/ngram.h>
#include <sampler/pipeline.h>
#include <sampler/sampling.h>
#include <sampler/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sampler_session *sampler_session_t;

/* ---- Making one ----------------------------------------------------------------------------- */

typedef struct sampler_session_options {
  /* sizeof(sampler_session_options). */
  size_t struct_size;

  /* Sequences at once, finished ones that were not removed among them. In [1, 2^20]. */
  int64_t max_sequences;

  /* The longest text, its prompt included: what the target's cache can hold. In [1, 2^31). A
   * sequence takes 13 bytes for each token of it, a few hundred bytes, and for each of max_drafts
   * about 40, and 8 more for each of max_top_logprobs. */
  int64_t max_context;

  /* Columns of the logits, in [1, 2^20), and their type. */
  int64_t vocabulary_size;
  sampler_dtype logits_dtype;

  /* 1: the session keeps the drafter's rows, max_drafts rows of logits a sequence, which STANDARD,
   * BLOCK, RELAXED and DEFERRED need of a drafter model's drafts. Default 0. */
  int32_t keep_drafter_rows;

  /* Drafts of a sequence and step at most, in [0, 1024]. Default 0: nothing is drafted. */
  int64_t max_drafts;

  /* The longest text that the drafter model's cache can hold; a longer one goes on without drafts,
   * which is_drafting of sampler_session_get tells. In [0, 2^31). 0: max_context. */
  int64_t drafter_context;

  /* Room of each sequence's prompt lookup, which takes 132 bytes a token; a longer text goes
   * on without drafts. In [0, 2^27]. Default 0: no sequence has SAMPLER_DRAFTS_PROMPT_LOOKUP. */
  int64_t lookup_tokens;

  /* Of a sequence: end tokens, stop sequences, and tokens of all its stop sequences. In [0, 2^20].
   */
  int64_t max_end_tokens;
  int64_t max_stop_sequences;
  int64_t max_stop_tokens;

  /* Log-probabilities of the first tokens that sampler_session_advance can be asked for, in
   * [0, vocabulary_size]. Default 0. */
  int64_t max_top_logprobs;

  /* What no sequence can have of its own: rules of ties, orders, scopes and forms, and the list of
   * stages. Its numbers are those of sequences that are added without parameters. NULL: temperature
   * 1 and no filter. */
  const sampler_params *params;

  /* Lists and masks of the stages, by slot: the slot is the sequence's number, of max_sequences.
   * NULL: none. The struct is copied; the arrays that it names are the caller's, and are read in
   * each advance. history, prompt_lengths, adaptive_values, state and token_bitmask_indices must be
   * 0: the session's texts are the history. Where `stop` is 0 it is the end tokens of each
   * sequence, as min_new_tokens needs it. */
  const sampler_pipeline *pipeline;

  /* How drafts are accepted: the rule of sequences that name none, and the numbers of the rules,
   * where the most drafts of a sequence are max_drafts. Rule 0, and NULL:
   * SAMPLER_ACCEPT_SAMPLE_MATCH. Copied, with synthetic_rates. */
  const sampler_acceptance_params *acceptance;

  /* 1: sequences may have draft_top_k. Default 0. */
  int32_t has_draft_trees;

  /* 1: sequences may have adaptive_gamma, which takes a row of f32 and 20 KB. Default 0. */
  int32_t has_adaptive_gamma;

  /* Of SAMPLER_GAMMA_MEASURED. NULL: the system's monotonic clock. */
  sampler_clock_fn clock;
  void *clock_user;

  /* Of a CUDA handle: all of the session's work is enqueued on it, and logits are read in its
   * order: what computes them on another stream must have been waited for. It must outlive the
   * session. NULL: the legacy default stream. A CPU handle ignores it. */
  sampler_stream stream;

  /* What the n-grams of sequences with SAMPLER_DRAFTS_NGRAM learn of each new position: the so many
   * likeliest tokens of the target, in [0, 2^20), and then, where it is not among them, the token
   * that came. It takes as many ids for each row of logits, max_drafts + 1 rows a sequence. Default
   * 0: the token that came alone. */
  int64_t filler_top_k;
} sampler_session_options;

/* Makes an empty session, which must be destroyed before the handle. On failure *out_session is
 * NULL. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY (the handle's allocator, or the device), CUDA. */
SAMPLER_API sampler_status sampler_session_create(sampler_t sampler,
                                                  const sampler_session_options *options,
                                                  sampler_session_t *out_session);

/* How many bytes of memory such a session takes, those on the device too. Errors:
 * INVALID_ARGUMENT, OUT_OF_MEMORY. */
SAMPLER_API sampler_status sampler_session_size(sampler_t sampler,
                                                const sampler_session_options *options,
                                                size_t *out_bytes);

/* NULL is fine. Of a CUDA handle it waits for the device. */
SAMPLER_API void sampler_session_destroy(sampler_session_t session);

/* ---- Sequences ------------------------------------------------------------------------------ */

/* Where a sequence's drafts come from; all but NONE need max_drafts of the session. The first new
 * token is never drafted. */
typedef int32_t sampler_draft_source;
enum {
  SAMPLER_DRAFTS_NONE = 0,
  SAMPLER_DRAFTS_MODEL = 1,        /* a drafter model, which the caller runs */
  SAMPLER_DRAFTS_NGRAM = 2,        /* a sampler_ngram, which sequences may share */
  SAMPLER_DRAFTS_PROMPT_LOOKUP = 3 /* a lookup of the sequence's own, in the session's memory */
};

/* What sampler_session_get tells of a sequence. */
typedef struct sampler_session_sequence {
  /* sizeof(sampler_session_sequence), set by the caller. */
  size_t struct_size;

  /* [num_tokens] The text. Valid until the sequence is advanced or removed. */
  const int32_t *token_ids;
  int64_t num_tokens;
  int64_t prompt_length;

  /* How much of the text the caches hold. */
  int64_t cache_length;
  int64_t drafter_cache_length;

  sampler_finish_reason finish_reason; /* SAMPLER_FINISH_NONE: it runs */

  /* Why finish_reason is BAD_ROW; else 0. */
  sampler_row_status row_status;

  /* The stop sequence of STOP_SEQUENCE, from 0; else -1. */
  int64_t stop_sequence;

  int64_t num_steps; /* that gave a token */
  int64_t num_drafted;
  int64_t num_accepted;

  /* 0: there are no drafts any more, since its text or its n-grams had no room. */
  int32_t is_drafting;
  int32_t reserved;

  /* Beside its text, what its next tokens go by; `resumed` of sampler_session_add_args takes it.
   * The values of its adaptive stages, as in sampler_pipeline: NaN where one has not begun. Of
   * BY_ENTROPY the entropy of its steps, in nats, smoothed by ema_beta; NaN before the first. */
  float adaptive_values[SAMPLER_NUM_ADAPTIVE_VALUES];
  double drafter_entropy;
} sampler_session_sequence;

typedef struct sampler_session_add_args {
  /* sizeof(sampler_session_add_args). */
  size_t struct_size;

  /* The text so far, [num_tokens], in [1, max_context], ids of the vocabulary. The first
   * prompt_length are the prompt, in [1, num_tokens], and the others its new tokens, as of a
   * sequence that was removed and goes on here; 0: all are the prompt. */
  const int32_t *token_ids;
  int64_t num_tokens;
  int64_t prompt_length;

  /* How many of these tokens the target's and the drafter's caches hold already, in
   * [0, num_tokens - 1] and [0, num_tokens], and at most drafter_context. A drafter's cache that
   * holds the whole text is fed its last token again. */
  int64_t cache_length;
  int64_t drafter_cache_length;

  /* NULL: the session's. Rules of ties, orders, scopes, forms and stages must be the session's. */
  const sampler_params *params;
  uint64_t seed;

  /* New tokens at most, in [0, 2^31); 0: as many as max_context leaves. */
  int64_t max_new_tokens;

  /* [num_end_tokens] Tokens that end the text. */
  const int32_t *end_token_ids;
  int64_t num_end_tokens;

  /* Sequences of tokens that end the text where its new tokens end in one; none may be empty.
   * num_lists of them, in one array of int32_t. All 0: none. */
  sampler_token_lists stop_sequences;

  sampler_draft_source draft_source;

  /* The rule that its drafts are accepted by, which speculative.h explains; 0: the session's, by
   * default SAMPLE_MATCH: the target's own token is drawn at each position, and drafts are kept
   * while they are that token, so that the text is, token by token, the one without drafts. By
   * other rules tokens depend on the drafts and on num_drafts, too. Drafts of a model were drawn
   * from its rows, others are certain. SYNTHETIC needs synthetic_rates of the session. */
  sampler_acceptance acceptance;

  /* The n-grams of NGRAM, else NULL. Copied. They learn the text now, unless ngram_has_text is 1,
   * and later each new token. Drafts come by `propose` where it has that and draft_unknown is 0,
   * else by next_token. Where it fails later, as for want of memory, the sequence goes on without
   * drafts. */
  const sampler_ngram *ngram;

  /* Drafts a step at most, in [0, max_drafts]; 0: max_drafts. */
  int64_t num_drafts;

  /* Of PROMPT_LOOKUP: the shortest match, in [0, 2^27]; 0: 1. Drafts are what followed the longest
   * match and, where the text ends before there are num_drafts, the drafts themselves: what follows
   * there if the text goes on so. */
  int64_t min_match;

  /* Of NGRAM. 1: a context that is unknown is followed by the draft that the n-grams give for it.
   * 0: by none. */
  int32_t draft_unknown;

  /* 1: the n-grams of NGRAM have learned these tokens, as those of a removed sequence, and do not
   * learn them again. 0: they learn them. */
  int32_t ngram_has_text;

  /* Of NGRAM, without draft_unknown and with an ngram that has `propose`: drafts end before the
   * first that was counted fewer than ngram_least_count times after its context, or whose share of
   * what followed there is below ngram_least_share, in [0, 1]. 0: off. */
  int64_t ngram_least_count;
  float ngram_least_share;

  /* Of MODEL without draft_top_k, in [0, 1]: a draft to which the drafter's row gives less than
   * this probability is the last of its step, as in sampler_speculative_args. 0: off. */
  float least_draft_probability;

  /* Of MODEL, with has_draft_trees of the session, in [0, num_drafts]. 0: drafts are drawn, one a
   * position. Else they are the drafter's so many likeliest tokens of each position, num_drafts of
   * them at most: the first of a position goes on, the others hang beside it, and the target runs
   * them as a tree. For all rules but BLOCK and DEFERRED, to which such drafts are certain; with
   * SAMPLE_MATCH more of them are kept than of a chain. */
  int64_t draft_top_k;

  /* How many drafts a step gets, num_drafts at most, with has_adaptive_gamma of the session.
   *
   * BY_ENTROPY, of MODEL without draft_top_k: as in sampler_speculative_args, from gamma_min to
   * num_drafts, H at the sequence's temperature (a greedy one's at 1) and smoothed by ema_beta over
   * its own steps.
   *
   * MEASURED: the number of most tokens a second, from 0 to num_drafts, by the time from plan to
   * advance. It is one for all such sequences of the session. Times differ from run to run: with
   * SAMPLE_MATCH texts stay as they are, by other rules they follow the same distribution, but the
   * seed does not fix them. What is measured are rounds of drafts and their verification that these
   * sequences begin and end together, while no other one has a span; so that they do, a plan that
   * has a span of the drafter for one has none of the target for those that have their drafts.
   * Beside others MODEL drafts nothing, and the account is kept by what was measured. With
   * draft_top_k a number is of positions. */
  sampler_gamma_rule adaptive_gamma;
  float ema_beta;    /* of BY_ENTROPY, in [0, 1) */
  int64_t gamma_min; /* of BY_ENTROPY, in [0, num_drafts] */

  /* What sampler_session_get gave of a removed sequence, of this session or of another one, which
   * goes on here. Its adaptive_values and drafter_entropy go on, without which the next tokens may
   * be others, and its num_steps, num_drafted and num_accepted; nothing else is read. Adaptive
   * values must not be infinite, the entropy must be NaN or finite and at least 0, numbers in
   * [0, 2^62). Read during the call alone. NULL: it is a new one. */
  const sampler_session_sequence *resumed;
} sampler_session_add_args;

/* Adds a sequence; *out_sequence is its number. It may have finished already: where its last token,
 * if it is a new one, ends it, or there is no room for another one. With PROMPT_LOOKUP it takes
 * time in proportion to lookup_tokens. Errors: INVALID_ARGUMENT (also: the session has
 * max_sequences), CUDA, the status of ngram's initialize. */
SAMPLER_API sampler_status sampler_session_add(sampler_session_t session,
                                               const sampler_session_add_args *args,
                                               int32_t *out_sequence);

typedef struct sampler_session_fork_args {
  /* sizeof(sampler_session_fork_args). */
  size_t struct_size;

  /* What is forked: a sequence, which goes on as if nothing had been. */
  int32_t source;

  int32_t reserved; /* must be 0 */

  /* NULL: the source's, with which its text comes again. */
  const uint64_t *seed;
  const sampler_params *params;
} sampler_session_fork_args;

/* Adds a sequence that is a copy of another one, drafts of the step apart: the same text, of which
 * the caches hold as much. The caller copies the caches, cut to what sampler_session_get tells.
 * Errors: INVALID_ARGUMENT (also: the session has max_sequences), CUDA. */
SAMPLER_API sampler_status sampler_session_fork(sampler_session_t session,
                                                const sampler_session_fork_args *args,
                                                int32_t *out_sequence);

/* Removes a sequence, finished or not, planned or not. Its number may be given to another one.
 * Errors: INVALID_ARGUMENT. */
SAMPLER_API sampler_status sampler_session_remove(sampler_session_t session, int32_t sequence);

/* Fills *out_sequence, whose struct_size is set. Errors: INVALID_ARGUMENT. */
SAMPLER_API sampler_status sampler_session_get(sampler_session_t session, int32_t sequence,
                                               sampler_session_sequence *out_sequence);

/* ---- Steps ---------------------------------------------------------------------------------- */

/* Tokens to run through a model. It never grows. */
typedef struct sampler_span {
  int32_t sequence;

  /* Which plan of the session it is of: the session tells spans of earlier ones by it. */
  int32_t plan;

  /* The length that the cache must have, where the span goes: what it holds beyond is cut off. */
  int64_t start;

  /* [num_tokens] At least one; the last of them may be drafts. Valid until the sequence is
   * advanced, planned again or removed. */
  const int32_t *token_ids;
  int64_t num_tokens;

  /* Rows of logits that sampler_session_advance wants, those that follow the last so many tokens.
   * May be 0: a part of a long text. */
  int64_t num_logits;
} sampler_span;

typedef struct sampler_session_plan_args {
  /* sizeof(sampler_session_plan_args). */
  size_t struct_size;

  /* [num_sequences] Which ones, none twice, in the order in which they get of max_tokens. Finished
   * ones are passed over. NULL and 0: all. */
  const int32_t *sequences;
  int64_t num_sequences;

  /* Tokens of all spans of a model at most; 0: no limit. Else at least max_drafts + 1. Texts that
   * are longer are planned in parts. A sequence that there is no room for gets no span; without
   * `sequences` it is among the first next time. */
  int64_t max_tokens;

  /* [num_sequences], or [max_sequences] where that is 0. A sequence has a span of one of the two
   * models: of the drafter where it needs a draft. out_drafter_spans may be NULL where none has
   * SAMPLER_DRAFTS_MODEL. */
  sampler_span *out_spans;
  int64_t *out_num_spans;
  sampler_span *out_drafter_spans;
  int64_t *out_num_drafter_spans;

  /* [spans of the target, max_drafts] What each draft of a span follows: a lower one of its drafts,
   * -1 the text; in a chain draft i follows i - 1. What follows the drafts of a span is -1. In a
   * tree drafts see those that they follow, and not the others; their positions in the text are
   * their depths. The first path comes first, so that a cache that is cut to out_cache_lengths
   * holds the text: a kept draft beside that path is fed again. May be NULL where no sequence has a
   * draft_top_k above 1. */
  int32_t *out_parents;
} sampler_session_plan_args;

/* Tells what to run. Planning again without having advanced is fine; the last plan of a sequence
 * counts, and spans of earlier ones are refused, even where they are the same. A draft source that
 * fails ends the drafting of its sequence.
 * Errors: INVALID_ARGUMENT. */
SAMPLER_API sampler_status sampler_session_plan(sampler_session_t session,
                                                const sampler_session_plan_args *args);

typedef struct sampler_session_advance_args {
  /* sizeof(sampler_session_advance_args). */
  size_t struct_size;

  /* [num_spans] Spans that the target ran, whole copies of those planned: any of them, in any
   * order. */
  const sampler_span *spans;
  int64_t num_spans;

  /* Their rows of logits, span after span: [sum of num_logits, vocabulary_size]. The stride is in
   * elements; 0: vocabulary_size. They are not read any more when the call returns SAMPLER_OK;
   * after CUDA work that was enqueued may still read them. */
  const void *logits;
  int64_t logits_row_stride;

  /* The same of the drafter. */
  const sampler_span *drafter_spans;
  int64_t num_drafter_spans;
  const void *drafter_logits;
  int64_t drafter_row_stride;

  /* [rows of logits] With masks in the session's pipeline: the mask of each row of the target,
   * which follows the text and the drafts before it; negative: none. Else NULL. */
  const int32_t *token_bitmask_indices;

  /* What follows is by span of the target, [num_spans, ...]; all but out_token_ids and out_counts
   * may be NULL, and where there is no span those, too. */

  /* [num_spans, max_drafts + 1] New tokens, then -1; and how many. A span without logits has none.
   */
  int32_t *out_token_ids;
  int64_t *out_counts;

  /* Not NONE: the sequence has finished, and is not planned any more. */
  sampler_finish_reason *out_finish_reasons;

  /* To which lengths to cut the caches. Drafts that were not kept are cut off. */
  int64_t *out_cache_lengths;
  int64_t *out_drafter_cache_lengths;

  /* Drafts that became text. */
  int64_t *out_accepted_counts;

  /* Of BAD_ROW: why; else 0. */
  sampler_row_status *out_row_status;

  /* Log-probabilities of the new tokens, then NaN, and of the first num_top_logprobs tokens in rank
   * order, then -1 and NaN: logprob_kind, out_logprobs, num_top_logprobs in [0, max_top_logprobs],
   * out_top_token_ids of int32_t and out_top_logprobs. What else sampler_report_args has must be 0.
   * In host memory. NULL: none. */
  const sampler_report_args *reports;
} sampler_session_advance_args;

/* Takes logits: the drafter's become drafts, the target's verify drafts and become tokens. A row
 * without a token (NaN, +inf, all -inf) finishes its sequence, BAD_ROW, with the drafts that were
 * kept before it (BLOCK and DEFERRED, which judge all drafts of a step together, judge those that
 * end before it, and the sequence goes on up to it); a bad row of the drafter only ends the drafts
 * of its step. A span
 * that is not as its sequence was planned last, also since that has been removed or planned anew,
 * is INVALID_ARGUMENT. Of a CUDA handle each sequence with BY_ENTROPY whose step begins makes it
 * wait once more.
 * Errors: INVALID_ARGUMENT, CALLBACK (a broken parallel_for), CUDA. */
SAMPLER_API sampler_status sampler_session_advance(sampler_session_t session,
                                                   const sampler_session_advance_args *args);

#ifdef __cplusplus
}
#endif

#endif /* SAMPLER_SESSION_H */
