/* Decoding sessions: continuous batching, with models run by the caller. decoding.h has loops that
 * run the models through callbacks; docs/decoding.md compares the two.
 *
 *   sampler_session_add(session, &add, &sequence);         at any time; likewise remove and fork
 *
 *   sampler_session_plan(session, &plan);                  in each step: which tokens to run
 *   ...                                                    the caller runs the models
 *   sampler_session_advance(session, &advance);            logits in, new tokens out
 *
 * A sequence is a text with its own parameters, seed, limits and draft source. The session gives it
 * a number in [0, max_sequences), which callers may use for their caches. With
 * SAMPLER_ACCEPT_SAMPLE_MATCH, the default, its tokens are those that sampler_autoregressive draws
 * for its prompt, parameters and seed: the n-th new token, from 0, has the offset n. They do not
 * depend on other sequences, on when it joined, on how spans are batched, or on drafts.
 *
 * A session belongs to a handle, and allocates all its memory at creation: nothing else here takes
 * or releases any, except an n-gram storage that learns. It serves one call at a time, and uses the
 * handle for each, so no other call of the handle may run at the same time. In a child process
 * forked while a call used it, it may only be destroyed.
 *
 * On a CUDA handle logits, the drafter's too, and the pipeline's arrays are device memory; all else
 * is host memory. All work is enqueued on the stream of the options. sampler_session_advance waits
 * for it once, since the session needs the tokens; no graph may capture it. The other calls, except
 * create and destroy, do not wait; plan, remove and get do not use the device.
 *
 * Failed calls change nothing, and may be repeated: after CUDA, too, if the device still works. If
 * a clock throws, CALLBACK, drawn tokens remain. */
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
#include <sampler/unmask.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sampler_session *sampler_session_t;

/* ---- Creation ------------------------------------------------------------------------------- */

typedef struct sampler_session_options {
  /* sizeof(sampler_session_options). */
  size_t struct_size;

  /* Maximum sequences, including finished ones not yet removed. In [1, 2^20]. */
  int64_t max_sequences;

  /* Maximum tokens of a text, its prompt included: the capacity of the target's cache. In
   * [1, 2^31). A sequence takes 13 bytes per token of it, about 900 bytes, and per draft of
   * max_drafts 30 to 60, and 8 more for each of max_top_logprobs, beside the calls' workspace. */
  int64_t max_context;

  /* Columns of the logits, in [1, 2^20), and their type. */
  int64_t vocabulary_size;
  sampler_dtype logits_dtype;

  /* 1: the session keeps the drafter's rows, max_drafts rows of logits per sequence, which
   * STANDARD, BLOCK, RELAXED and DEFERRED require for a drafter model's drafts. Default 0. */
  int32_t keep_drafter_rows;

  /* Maximum drafts per sequence and step, in [0, 1024]. Default 0: no drafts. */
  int64_t max_drafts;

  /* Capacity of the drafter model's cache in tokens; a longer text continues without drafts, as
   * is_drafting of sampler_session_get reports. In [0, 2^31). 0: max_context. */
  int64_t drafter_context;

  /* Capacity of each sequence's prompt lookup, at 132 bytes per token; a longer text continues
   * without drafts. In [0, 2^27]. Default 0: SAMPLER_DRAFTS_PROMPT_LOOKUP is unavailable. */
  int64_t lookup_tokens;

  /* Per sequence: end tokens, stop sequences, and tokens of all its stop sequences.
   * In [0, 2^20]. */
  int64_t max_end_tokens;
  int64_t max_stop_sequences;
  int64_t max_stop_tokens;

  /* Maximum num_top_logprobs of sampler_session_advance, in [0, vocabulary_size]. Default 0. */
  int64_t max_top_logprobs;

  /* Parameters common to all sequences: rules for ties, orders, scopes and forms, and the list of
   * stages. Its numbers are the defaults of sequences added without parameters; guidance_scale must
   * be off. NULL: temperature 1 and no filter. */
  const sampler_params *params;

  /* Lists and masks of the stages, by slot: the sequence's number, of max_sequences. NULL: none.
   * The struct is copied; its arrays remain the caller's, and are read in each advance. history,
   * prompt_lengths, adaptive_values, state and token_bitmask_indices must be 0: the session's texts
   * are the history. guidance_logits must be NULL: sampler_session_advance has them. If `stop` is 0
   * it is the end tokens of each sequence, as min_new_tokens and the exponential decay require. */
  const sampler_pipeline *pipeline;

  /* Default acceptance rule of sequences, and the rules' parameters; max_drafts is the max drafts
   * per sequence. Rule 0, and NULL: SAMPLER_ACCEPT_SAMPLE_MATCH. Copied, with synthetic_rates. */
  const sampler_acceptance_params *acceptance;

  /* 1: sequences may use draft_top_k. Default 0. */
  int32_t has_draft_trees;

  /* 1: sequences may use adaptive_gamma, which takes a row of f32 and 20 KB. Default 0. */
  int32_t has_adaptive_gamma;

  /* For SAMPLER_GAMMA_MEASURED. NULL: the system's monotonic clock. */
  sampler_clock_fn clock;
  void *clock_user;

  /* CUDA: all of the session's work is enqueued on it, and logits are read in its order: wait first
   * for work on other streams that computes them. It must outlive the session. NULL: the legacy
   * default stream. A CPU handle ignores it. */
  sampler_stream stream;

  /* Tokens that the n-grams of sequences with SAMPLER_DRAFTS_NGRAM learn per new position: the
   * target's filler_top_k likeliest, in [0, 2^20), then the token of the text unless among them.
   * Takes as many ids per row of logits, max_drafts + 1 rows per sequence. Default 0: only the
   * token of the text. */
  int64_t filler_top_k;

  /* 1: sequences may have `unmask`, with blocks of at most max_drafts + 1 positions, at about 50
   * bytes per position of each sequence. Default 0. */
  int32_t has_blocks;

  /* For blocks: the rows whose log-probabilities and entropies are the confidences. */
  sampler_logprob_kind confidence_kind;
} sampler_session_options;

/* Makes an empty session, which must be destroyed before the handle. On failure *out_session is
 * NULL. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY (the handle's allocator, or the device), CUDA. */
SAMPLER_API sampler_status sampler_session_create(sampler_t sampler,
                                                  const sampler_session_options *options,
                                                  sampler_session_t *out_session);

/* Bytes of memory of such a session, device memory included. Errors:
 * INVALID_ARGUMENT, OUT_OF_MEMORY. */
SAMPLER_API sampler_status sampler_session_size(sampler_t sampler,
                                                const sampler_session_options *options,
                                                size_t *out_bytes);

/* NULL is allowed. On a CUDA handle it waits for the device. */
SAMPLER_API void sampler_session_destroy(sampler_session_t session);

/* ---- Sequences ------------------------------------------------------------------------------ */

/* Source of a sequence's drafts; all but NONE need the session's max_drafts. The first new token is
 * never drafted. */
typedef int32_t sampler_draft_source;
enum {
  SAMPLER_DRAFTS_NONE = 0,
  SAMPLER_DRAFTS_MODEL = 1,        /* a drafter model, run by the caller */
  SAMPLER_DRAFTS_NGRAM = 2,        /* a sampler_ngram, which sequences may share */
  SAMPLER_DRAFTS_PROMPT_LOOKUP = 3 /* the sequence's own lookup, in the session's memory */
};

/* A sequence, as reported by sampler_session_get. */
typedef struct sampler_session_sequence {
  /* sizeof(sampler_session_sequence), set by the caller. */
  size_t struct_size;

  /* [num_tokens] The text. Valid until the sequence is advanced or removed. */
  const int32_t *token_ids;
  int64_t num_tokens;
  int64_t prompt_length;

  /* Tokens of the text in the caches. */
  int64_t cache_length;
  int64_t drafter_cache_length;

  sampler_finish_reason finish_reason; /* SAMPLER_FINISH_NONE: running */

  /* Cause of BAD_ROW in finish_reason; else 0. */
  sampler_row_status row_status;

  /* Index of the stop sequence for STOP_SEQUENCE, from 0; else -1. */
  int64_t stop_sequence;

  int64_t num_steps; /* steps that gave a token */
  int64_t num_drafted;
  int64_t num_accepted;

  /* 0: no more drafts, since its text or its n-grams ran out of room. */
  int32_t is_drafting;
  int32_t reserved;

  /* State that the next tokens depend on besides the text, for `resumed` of
   * sampler_session_add_args. Values of the adaptive stages, as in sampler_pipeline: NaN before a
   * stage starts. For BY_ENTROPY the entropy of its steps, in nats, smoothed by ema_beta; NaN
   * before the first. */
  float adaptive_values[SAMPLER_NUM_ADAPTIVE_VALUES];
  double drafter_entropy;
} sampler_session_sequence;

typedef struct sampler_session_add_args {
  /* sizeof(sampler_session_add_args). */
  size_t struct_size;

  /* The text so far, [num_tokens], in [1, max_context], ids of the vocabulary. The first
   * prompt_length are the prompt, in [1, num_tokens], the others its new tokens, as for a removed
   * sequence that resumes; 0: all are the prompt. */
  const int32_t *token_ids;
  int64_t num_tokens;
  int64_t prompt_length;

  /* Tokens of these already in the target's and the drafter's caches, in [0, num_tokens - 1] and
   * [0, num_tokens], and at most drafter_context. A drafter's cache of the whole text is fed its
   * last token again. */
  int64_t cache_length;
  int64_t drafter_cache_length;

  /* NULL: the session's. Rules for ties, orders, scopes, forms and stages must be the session's. */
  const sampler_params *params;
  uint64_t seed;

  /* Maximum new tokens, in [0, 2^31); 0: the rest of max_context. */
  int64_t max_new_tokens;

  /* [num_end_tokens] Tokens that end the text. */
  const int32_t *end_token_ids;
  int64_t num_end_tokens;

  /* Sequences of tokens that end the text when its new tokens end in one; none may be empty.
   * num_lists of them, in one array of int32_t. All 0: none. */
  sampler_token_lists stop_sequences;

  sampler_draft_source draft_source;

  /* Acceptance rule, see speculative.h; 0: the session's, by default SAMPLE_MATCH: the target's own
   * token is drawn at each position, and drafts are kept while they equal it, so that the text is,
   * token by token, the one without drafts. With other rules tokens depend on the drafts and on
   * num_drafts, too. A model's drafts have its rows as draft probabilities, others are
   * deterministic. SYNTHETIC needs the session's synthetic_rates. */
  sampler_acceptance acceptance;

  /* The n-grams of NGRAM, else NULL. Copied. They learn the text now, unless ngram_has_text is 1,
   * and later each new token. Drafts come from `propose` if it is not NULL and draft_unknown is 0,
   * else from next_token. If it fails later, such as for lack of memory, the sequence continues
   * without drafts. */
  const sampler_ngram *ngram;

  /* Maximum drafts per step, in [0, max_drafts]; 0: max_drafts. */
  int64_t num_drafts;

  /* For PROMPT_LOOKUP: the shortest match, in [0, 2^27]; 0: 1. Drafts are the tokens after the
   * longest match and, if the text ends before num_drafts, the drafts themselves, as if the text
   * continued so. */
  int64_t min_match;

  /* For NGRAM. 1: an unknown context is followed by the n-grams' draft for it. 0: by none. */
  int32_t draft_unknown;

  /* 1: the n-grams of NGRAM have already learned these tokens, as for a removed sequence, and do
   * not learn them again. 0: they learn them. */
  int32_t ngram_has_text;

  /* For NGRAM, without draft_unknown and with an ngram that has `propose`: drafts end before the
   * first that was counted fewer than ngram_least_count times after its context, or with a share of
   * all tokens counted there below ngram_least_share, in [0, 1]. 0: off. */
  int64_t ngram_least_count;
  float ngram_least_share;

  /* For MODEL, without draft_top_k, in [0, 1]: a draft with less than this probability in the
   * drafter's row is the last of its step, as in sampler_speculative_args. 0: off. */
  float least_draft_probability;

  /* For MODEL, with the session's has_draft_trees, in [0, num_drafts]. 0: drafts are drawn, one per
   * position. Else drafts are the drafter's draft_top_k likeliest tokens per position, at most
   * num_drafts in all: the first of a position is extended, the others are its siblings, and the
   * target runs them as a tree. Supported by all rules but BLOCK and DEFERRED, and verified as
   * deterministic drafts; SAMPLE_MATCH accepts more of them than of a chain. */
  int64_t draft_top_k;

  /* How the number of drafts of a step, at most num_drafts, is chosen; needs the
   * session's has_adaptive_gamma.
   *
   * BY_ENTROPY, for MODEL without draft_top_k: as in sampler_speculative_args, from gamma_min to
   * num_drafts, H at the sequence's temperature (1 if greedy) and smoothed by ema_beta over its
   * own steps.
   *
   * MEASURED: the number with most tokens per second, from 0 to num_drafts, by the time from plan
   * to advance, common to all such sequences of the session. Times differ from run to run: with
   * SAMPLE_MATCH texts do not change, with other rules they follow the same distribution, but the
   * seed does not fix them. Only rounds of drafts and verification that these sequences begin and
   * end together, while no other one has a span, are measured; to keep them together, a plan with a
   * drafter span for one has no target span for those whose drafts are ready. Beside others MODEL
   * drafts nothing, and the time budget uses earlier measurements. With draft_top_k the number
   * counts positions. */
  sampler_gamma_rule adaptive_gamma;
  float ema_beta;    /* for BY_ENTROPY, in [0, 1) */
  int64_t gamma_min; /* for BY_ENTROPY, in [0, num_drafts] */

  /* Result of sampler_session_get for a removed sequence, of this session or another, that resumes
   * here. Only its adaptive_values and drafter_entropy, without which the next tokens may differ,
   * and num_steps, num_drafted and num_accepted are read. Adaptive values must not be infinite, the
   * entropy must be NaN or finite and at least 0, counts in [0, 2^62). Read only during the call.
   * NULL: a new sequence. */
  const sampler_session_sequence *resumed;

  /* For a diffusion language model, whose text grows by blocks (unmask.h): the rules by which
   * candidates stand. Needs the session's has_blocks. block_length is in [1, max_drafts + 1], and
   * confidence is not GIVEN. Without num_committed, num_steps_left and entropy_bound num_committed
   * is 1. Copied. NULL: the text grows by tokens.
   *
   * A span ends with the block, masked positions included, and has a row for each of its positions
   * after the text. An advance draws their candidates, of which the rules commit some. The text
   * grows once no position is masked; with edit_threshold once a later step changes nothing, the
   * 16th at the latest. The last block ends at max_context, or beyond max_new_tokens. Caches hold
   * whole blocks of the text: each is fed again with the next one. A step that changes nothing
   * while positions are masked, or only edits after 16 that did, finishes the sequence, BAD_ROW.
   * The n-th new token, from 0, is drawn with the offset n, in step s of its block, from 0, with
   * the stream s.
   *
   * Stages see the text before the block: penalties count it, and bad words and contexts of biases
   * follow it. Those that need to know what each token follows must be off: DRY, no-repeat n-grams,
   * min_new_tokens, the exponential decay, mirostat, adaptive-p, top-p decay. draft_source must be
   * NONE. Log-probabilities are not reported. */
  const sampler_unmask_params *unmask;
} sampler_session_add_args;

/* Adds a sequence; *out_sequence is its number. It is finished at once if its last token, when new,
 * ends it, or there is no room for another. With PROMPT_LOOKUP it takes time proportional to
 * lookup_tokens. Errors: INVALID_ARGUMENT (also: the session has max_sequences), CUDA, the status
 * of ngram's initialize. */
SAMPLER_API sampler_status sampler_session_add(sampler_session_t session,
                                               const sampler_session_add_args *args,
                                               int32_t *out_sequence);

typedef struct sampler_session_fork_args {
  /* sizeof(sampler_session_fork_args). */
  size_t struct_size;

  /* The sequence to fork, which continues unaffected. */
  int32_t source;

  int32_t reserved; /* must be 0 */

  /* NULL: the source's, so that the fork repeats its text. */
  const uint64_t *seed;
  const sampler_params *params;
} sampler_session_fork_args;

/* Adds a copy of a sequence, without the step's drafts: same text, same cache lengths. The caller
 * copies the caches, cut to the lengths from sampler_session_get. Errors: INVALID_ARGUMENT (also:
 * the session has max_sequences), CUDA. */
SAMPLER_API sampler_status sampler_session_fork(sampler_session_t session,
                                                const sampler_session_fork_args *args,
                                                int32_t *out_sequence);

/* Removes a sequence, finished or not, planned or not. Its number may be reused.
 * Errors: INVALID_ARGUMENT. */
SAMPLER_API sampler_status sampler_session_remove(sampler_session_t session, int32_t sequence);

/* Fills *out_sequence, whose struct_size is set. Errors: INVALID_ARGUMENT. */
SAMPLER_API sampler_status sampler_session_get(sampler_session_t session, int32_t sequence,
                                               sampler_session_sequence *out_sequence);

/* ---- Steps ---------------------------------------------------------------------------------- */

/* Tokens to run through a model. It never grows. */
typedef struct sampler_span {
  int32_t sequence;

  /* The session's plan that it belongs to, which distinguishes it from earlier spans. */
  int32_t plan;

  /* Required cache length, where the span goes: cut the cache beyond it. */
  int64_t start;

  /* [num_tokens] At least one; the last ones may be drafts, or a block. Valid until the sequence is
   * advanced, planned again or removed. */
  const int32_t *token_ids;
  int64_t num_tokens;

  /* Rows of logits for sampler_session_advance: those after the last num_logits tokens. May be 0: a
   * part of a long text. */
  int64_t num_logits;
} sampler_span;

typedef struct sampler_session_plan_args {
  /* sizeof(sampler_session_plan_args). */
  size_t struct_size;

  /* [num_sequences] Sequences to plan, distinct, in their order of priority for max_tokens.
   * Finished ones are skipped. NULL and 0: all. */
  const int32_t *sequences;
  int64_t num_sequences;

  /* Maximum tokens in all spans of a model; 0: no limit. Else at least max_drafts + 1. Longer texts
   * are planned in parts. A sequence that does not fit gets no span; without `sequences` it is
   * among the first next time. */
  int64_t max_tokens;

  /* [num_sequences], or [max_sequences] if that is 0. A sequence has a span of one of the two
   * models: of the drafter if it needs a draft. out_drafter_spans may be NULL if no sequence
   * has SAMPLER_DRAFTS_MODEL. */
  sampler_span *out_spans;
  int64_t *out_num_spans;
  sampler_span *out_drafter_spans;
  int64_t *out_num_drafter_spans;

  /* [spans of the target, max_drafts] Parent of each draft of a span: a lower index of its drafts,
   * -1 the text; in a chain draft i follows i - 1. Entries past the drafts of a span are -1. In a
   * tree drafts attend to their ancestors, and not to other drafts; their positions in the text are
   * their depths. The first path comes first, so a cache cut to out_cache_lengths holds the text: a
   * kept draft beside that path is fed again. May be NULL if no sequence has a draft_top_k
   * above 1. */
  int32_t *out_parents;
} sampler_session_plan_args;

/* Plans a step. Planning again before advancing is allowed; a sequence's last plan counts, and
 * spans of earlier ones are refused, even if equal. A draft source that fails ends the drafting of
 * its sequence.
 * Errors: INVALID_ARGUMENT. */
SAMPLER_API sampler_status sampler_session_plan(sampler_session_t session,
                                                const sampler_session_plan_args *args);

typedef struct sampler_session_advance_args {
  /* sizeof(sampler_session_advance_args). */
  size_t struct_size;

  /* [num_spans] Spans that the target ran, whole copies of those planned: any subset, in
   * any order. */
  const sampler_span *spans;
  int64_t num_spans;

  /* Their rows of logits, span after span: [sum of num_logits, vocabulary_size]. The stride is in
   * elements; 0: vocabulary_size. Not read after the call returns SAMPLER_OK; after CUDA, enqueued
   * work may still read them. */
  const void *logits;
  int64_t logits_row_stride;

  /* The same for the drafter. */
  const sampler_span *drafter_spans;
  int64_t num_drafter_spans;
  const void *drafter_logits;
  int64_t drafter_row_stride;

  /* [rows of logits] With masks in the session's pipeline: the mask of each target row, which
   * follows the text and the drafts before it; negative: none. Else NULL. */
  const int32_t *token_bitmask_indices;

  /* [rows of logits] The token that is decided at each target row whatever its logits, below
   * vocabulary_size, as where a thinking budget runs out among the drafts: a draft that is this
   * token is kept, any other ends the drafts. Negative: none, as rows of blocks must be. In host
   * memory. NULL: none. */
  const int32_t *forced_token_ids;

  /* Outputs per target span, [num_spans, ...]; all but out_token_ids and out_counts may be NULL,
   * and with no spans those, too. */

  /* [num_spans, max_drafts + 1] New tokens, then -1; and their number, 0 for a span without logits
   * or whose block is not complete. */
  int32_t *out_token_ids;
  int64_t *out_counts;

  /* Not NONE: the sequence has finished, and is not planned any more. */
  sampler_finish_reason *out_finish_reasons;

  /* Lengths to cut the caches to. Rejected drafts are cut. */
  int64_t *out_cache_lengths;
  int64_t *out_drafter_cache_lengths;

  /* Drafts that became text. */
  int64_t *out_accepted_counts;

  /* Cause of BAD_ROW; else 0. */
  sampler_row_status *out_row_status;

  /* Log-probabilities of the new tokens, padded with NaN, and of the first num_top_logprobs tokens
   * in rank order, padded with -1 and NaN: logprob_kind, out_logprobs, num_top_logprobs in
   * [0, max_top_logprobs], out_top_token_ids of int32_t and out_top_logprobs. Other members of
   * sampler_report_args must be 0. In host memory. NULL: none. */
  const sampler_report_args *reports;

  /* Classifier-free guidance: [num_guidance_rows, vocabulary_size] rows as in sampler_pipeline,
   * with the stride of `logits`, from a cache with another prompt, to which the caller feeds each
   * span's new tokens and drafts. Required where a sequence with rows has guidance_scale on; may be
   * NULL and 0 elsewhere. */
  const void *guidance_logits;
  int64_t num_guidance_rows;

  /* [rows of logits] The guidance row of each target row; negative: none. In host memory. NULL: the
   * row of the same number. */
  const int32_t *guidance_row_indices;
} sampler_session_advance_args;

/* Processes logits: the drafter's become drafts, the target's verify drafts and become tokens. A
 * row without a token (NaN, +inf, all -inf) finishes its sequence, BAD_ROW, with the drafts kept
 * before it (BLOCK and DEFERRED, which judge all drafts of a step together, judge those that end
 * before it, and the sequence continues up to it); a bad row of the drafter only ends the step's
 * drafts. A span that differs from its sequence's last plan, or whose sequence has been removed or
 * planned again since, is INVALID_ARGUMENT. On a CUDA handle each sequence with BY_ENTROPY that
 * begins a step adds a wait.
 * Errors: INVALID_ARGUMENT, CALLBACK (a broken parallel_for), CUDA. */
SAMPLER_API sampler_status sampler_session_advance(sampler_session_t session,
                                                   const sampler_session_advance_args *args);

#ifdef __cplusplus
}
#endif

#endif /* SAMPLER_SESSION_H */
