/* Sampling, filters and selection with every option. simple.h has the common cases, one call each.
 *
 * One call per kind of result: sampler_sample draws tokens, sampler_score has the probabilities of
 * given ones, sampler_filter writes rows, sampler_select lists the first tokens in rank order.
 * speculative.h has the calls that verify drafts.
 *
 *   sampler_params params = sampler_params_default();
 *   params.top_k = 50;
 *   params.top_p = 0.95f;
 *   params.temperature = 0.8f;
 *
 *   sampler_sample_args args = {0};
 *   args.struct_size = sizeof args;
 *   args.input = logits;                 a sampler_rows
 *   args.params = &params;
 *   args.random.seed = seed;
 *   args.random.offset = step;           another value at every step
 *   args.out_token_ids = token_ids;      int32_t, [input.num_rows]
 *
 *   sampler_report_args reports = {0};   optional outputs; NULL: none
 *   reports.struct_size = sizeof reports;
 *   reports.out_logprobs = logprobs;     float, [input.num_rows]
 *   args.reports = &reports;
 *   status = sampler_sample(sampler, &args);
 *
 * Argument structs are all 0 except struct_size. They grow at the end only, and new members are off
 * when 0: programs compiled with older headers stay correct. Structs that they point to have a
 * struct_size of their own, are host memory on every handle, and are read during the call.
 *
 * Rank order sorts a row's tokens by value descending, then by id ascending (-0 equals +0). Tokens
 * of value -inf, or of probability 0, are never kept and never drawn.
 *
 * A bad row never makes a call fail: its status has the reason, and its neighbours are unaffected.
 * All calls return SAMPLER_OK, or: INVALID_ARGUMENT, WORKSPACE_TOO_SMALL, CALLBACK (a broken
 * parallel_for), CUDA, INTERNAL. Work is enqueued on `exec.stream` and the call returns at once; a
 * CPU handle finishes before it returns. */
#ifndef SAMPLER_SAMPLING_H
#define SAMPLER_SAMPLING_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <sampler/export.h>
#include <sampler/handle.h>
#include <sampler/pipeline.h>
#include <sampler/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Parameters ----------------------------------------------------------------------------- */

/* Temperature, filters, how they combine, and the parameters of the edits before them. */
typedef struct sampler_params {
  /* sizeof(sampler_params). */
  size_t struct_size;

  /* Divides the logits. At most 1e-5 (0 and negative too): greedy, the first token in rank order
   * whatever the filters. At most 2^64. Probabilities are used as given: the temperature must be 1,
   * or at most 1e-5. Not NaN. Default 1. */
  float temperature;

  /* Keeps the shortest prefix of rank order whose probability, relative to the filter's input, is
   * at least top_p, or above it by top_p_sum (nucleus sampling, Holtzman et al. 2020). >= 1:
   * off; <= 0: one token. Not NaN. Default 1. */
  float top_p;

  /* Keeps tokens at least min_p times as likely as the likeliest (Nguyen et al. 2024). <= 0: off;
   * above 1: 1. Not NaN. Default 0. */
  float min_p;

  /* Keeps the first top_k tokens in rank order. <= 0 or >= num_cols: off. Default 0. */
  int32_t top_k;

  /* How the filters combine. All default to 0, the first constant of their enumeration. */
  sampler_tie_rule top_k_ties;
  sampler_tie_rule top_p_ties;
  sampler_filter_order filter_order;
  sampler_temperature_order temperature_order;

  /* Edits: see pipeline.h. All are off by default. Floats are finite. */

  /* Classifier-free guidance by pipeline.guidance_logits. 0 and 1: off. */
  float guidance_scale;

  /* Penalties on tokens in the history: positive logits are divided by repetition_penalty, others
   * multiplied by it (Keskar et al. 2019; 0 and 1: off; not negative); frequency_penalty is
   * subtracted once per occurrence, presence_penalty once. */
  float repetition_penalty;
  float frequency_penalty;
  float presence_penalty;

  /* Number of last history tokens that count. <= 0: all. */
  int32_t penalty_window;
  sampler_penalty_scope penalty_scope;
  sampler_penalty_form penalty_form;

  /* The exponential decay length penalty (Hugging Face): from the output's token
   * exponential_decay_start on, the n-th token from there has the logits x of pipeline.stop at
   * x + |x| * (exponential_decay_factor^n - 1). */
  int32_t exponential_decay_start; /* negative: 0 */
  float exponential_decay_factor;  /* 0 and 1: off; not negative */

  /* DRY (p-e-w, text-generation-webui, 2024): a token that would continue a repeat of
   * n >= dry_allowed_length tokens loses dry_multiplier * dry_base^(n - dry_allowed_length). */
  float dry_multiplier;       /* <= 0: off */
  float dry_base;             /* 0: 1.75; below 1: off */
  int32_t dry_allowed_length; /* 0: 2; negative: 0 */
  int32_t dry_window;         /* last tokens searched for repeats; <= 0: all */

  /* Bans tokens that would complete an n-gram of the history. <= 0: off. */
  int32_t no_repeat_ngram_size;

  /* pipeline.stop is banned before the output has min_new_tokens tokens. <= 0: no minimum. */
  int32_t min_new_tokens;

  /* History searched for bad words. OUTPUT: the output (vLLM); the others: all. */
  sampler_penalty_scope bad_word_scope;

  /* Truncation windows: see pipeline.h. All are off by default, and none is NaN. */

  /* Dynamic temperature: from max(0, T - range) to T + range, by (H / H_max)^exponent, H the
   * entropy of its input (kalomaze 2023). Logits only. */
  float dynamic_temperature_range;    /* <= 0: off */
  float dynamic_temperature_exponent; /* 0: 1; negative: 0 */

  float typical_p;      /* locally typical sampling (Meister et al. 2023). <= 0, >= 1: off */
  float top_n_sigma;    /* n population standard deviations (Tang et al. 2024). <= 0: off */
  float epsilon_cutoff; /* (Hewitt et al. 2022). <= 0, >= 1: off */
  float eta_cutoff;     /* (Hewitt et al. 2022). <= 0, >= 1: off */
  float top_h;          /* (Potraghloo et al. 2025). <= 0, >= 1: off */

  sampler_p_less_kind p_less; /* (Tan, Wu, Howard 2025). NONE: off */

  /* tau of min-k (Ding et al. 2026), the tokens kept of a flat row times the range of its logits.
   * <= 0: off. 3 is usual; the smallest float keeps what stands before the fall alone. */
  float min_k;

  float top_a; /* times the largest probability squared (KoboldAI 2022). <= 0: off */

  float xtc_probability; /* exclude top choices (p-e-w 2024). <= 0: off. sampler_sample only */
  float xtc_threshold;   /* 0: 0.1; negative: 0; above 0.5: off */

  sampler_tie_rule typical_p_ties;

  /* Every window, top-k, top-p and min-p included, keeps at least min_keep tokens, if it
   * has them. */
  int32_t min_keep; /* <= 1: one */

  /* The order of all stages; 0 ends the list. Edits come first, ADAPTIVE last. Each enabled stage
   * must be listed, none twice. With a list, filter_order must be SEQUENTIAL, which then has no
   * effect, or JOINT, with the listed ones of top-k, top-p and min-p adjacent; temperature_order
   * must be FIRST. All 0: the order of sampler_stage, with filter_order and temperature_order
   * as documented. */
  sampler_stage stages[SAMPLER_MAX_STAGES];

  /* Adaptive stages: see pipeline.h. All are off by default. Greedy rows ignore them. Drawn tokens
   * update them: see pipeline.adaptive_values and sampler_accept. */

  /* NONE: off. The target is mirostat's surprise in bits (0: 5; not negative), or adaptive-p's
   * probability (negative: off; above 1: 1), or smoothing's factor (0: off; not negative). The
   * rate is mirostat's learning rate (0: 0.1), or adaptive-p's decay (0: 0.9; above 0.99: 0.99),
   * both 0 where negative, or smoothing's curve (0: 1; from 1 to 3). Both are finite, and ignored
   * with NONE. */
  sampler_adaptive_kind adaptive_kind;
  float adaptive_target;
  float adaptive_rate;

  /* After each token the running top_p, initially top_p, is multiplied by top_p_decay, down
   * to top_p_least. */
  float top_p_decay; /* <= 0, >= 1: off. Not NaN */
  float top_p_least; /* finite */

  /* Sums and ties. All default to 0, the first constant of their enumeration. */

  /* Whether the kept probability of top-p and typical-p must reach or exceed the threshold. */
  sampler_sum_rule top_p_sum;
  sampler_sum_rule typical_p_sum;

  /* Ties of epsilon and eta: KEEP keeps all tokens equal to the last one that min_keep requires, so
   * all of the likeliest where no token reaches the threshold. */
  sampler_tie_rule cutoff_ties;
} sampler_params;

/* Fills `params` with the defaults: temperature 1 and no filter. `struct_size` is the size of the
 * caller's struct; members unknown to the library are set to 0. INVALID_ARGUMENT: params is NULL,
 * or the size is no size of the struct. */
SAMPLER_API sampler_status sampler_params_init(sampler_params *params, size_t struct_size);

/* Fills `params` with a preset: an engine's stage order, rules for ties, scopes and forms, and
 * defaults. It gives the engine's distribution, not its random numbers; stages that the engine
 * lacks are not in `stages`, and an error if enabled. docs/coming-from.md lists remaining
 * differences. `name` is one of
 *
 *   llama.cpp, vllm, sglang, tensorrt_llm, hugging_face, flashinfer
 *   vllm_v2          vLLM's second model runner, whose top-k keeps k tokens despite ties
 *   hf_vllm_aligned  temperature, top-k with ties and top-p, greedy at 0, as in small engines
 *   nano_vllm        temperature only; set draw_method to SAMPLER_DRAW_GUMBEL
 *
 * for the newest known version, or with a version, as in "vllm@0.33": see sampler_preset_name.
 * Presets sample: for Hugging Face without do_sample, and TensorRT-LLM with nothing set, use
 * temperature 0. llama.cpp's default DRY breakers are texts, which the caller tokenizes.
 *
 * INVALID_ARGUMENT, and nothing is written: params or name is NULL, the size is no size of the
 * struct, or no preset has that name. */
SAMPLER_API sampler_status sampler_params_preset(sampler_params *params, size_t struct_size,
                                                 const char *name);

/* The name of preset `index`, from 0 on, with its version if it has one: a static string. NULL past
 * the last. */
SAMPLER_API const char *sampler_preset_name(int32_t index);

/* The same as sampler_params_init, inline. */
static inline sampler_params sampler_params_default(void) {
  sampler_params params;
  memset(&params, 0, sizeof params);
  params.struct_size = sizeof params;
  params.temperature = 1.0f;
  params.top_p = 1.0f;
  return params;
}

/* Parameters by slot: [number of slots] each, in the handle's memory, or host memory with the
 * handle's host_parameters. NULL: the scalar of that name for all. Every value has the scalar's
 * meaning. NaN, or a temperature not allowed with probabilities, makes the slot's rows bad. */
typedef struct sampler_row_params {
  /* sizeof(sampler_row_params). */
  size_t struct_size;

  const float *temperature;
  const float *top_p;
  const float *min_p;
  const int32_t *top_k;
  const float *guidance_scale;
  const float *repetition_penalty;
  const float *frequency_penalty;
  const float *presence_penalty;
  const int32_t *penalty_window;
  const int32_t *exponential_decay_start;
  const float *exponential_decay_factor;
  const float *dry_multiplier;
  const float *dry_base;
  const int32_t *dry_allowed_length;
  const int32_t *dry_window;
  const int32_t *no_repeat_ngram_size;
  const int32_t *min_new_tokens;
  const float *dynamic_temperature_range;
  const float *dynamic_temperature_exponent;
  const float *typical_p;
  const float *top_n_sigma;
  const float *epsilon_cutoff;
  const float *eta_cutoff;
  const float *top_h;
  const sampler_p_less_kind *p_less; /* an unknown constant makes the row bad */
  const float *min_k;
  const float *top_a;
  const float *xtc_probability;
  const float *xtc_threshold;
  const int32_t *min_keep;

  /* Token that the slot yields regardless of all else: the end of a thinking budget, a replayed
   * trace. Negative: none. An id outside the row makes it bad (INVALID_PARAMETER).
   * sampler_sample only. */
  const int64_t *forced_token_id;

  const sampler_adaptive_kind *adaptive_kind; /* an unknown constant makes the row bad */
  const float *adaptive_target;
  const float *adaptive_rate;
  const float *top_p_decay;
  const float *top_p_least;

  /* Token that resets the running top_p to top_p. Negative: none. NULL: none. */
  const int64_t *top_p_reset_token_id;
} sampler_row_params;

/* ---- Reports -------------------------------------------------------------------------------- */

/* Optional outputs beside the token ids, for sampler_sample, sampler_score, sampler_verify and
 * sampler_session_advance; NULL: none.
 *
 * "Rows" are the rows of the call's tokens: the output rows of sampler_sample and sampler_score,
 * [num_sequences, num_drafts + 1] of sampler_verify, [num_spans, max_drafts + 1] of
 * sampler_session_advance. Token ids have the call's token_id_type, in sessions int32_t. Arrays are
 * in the memory of the call's outputs. A count of 0 or a NULL array: not wanted. Reports that a
 * call does not support must be 0; its documentation lists them.
 *
 * Reports describe the distribution of logprob_kind: the row as given (RAW), after its edits
 * (EDITED), or as drawn from (PROCESSED), which excludes removed tokens. A greedy row is a single
 * token in PROCESSED. Arithmetic: section 15 of docs/contract.md. */
typedef struct sampler_report_args {
  /* sizeof(sampler_report_args). */
  size_t struct_size;

  /* The distribution of out_logprobs and of all members after out_observations. */
  sampler_logprob_kind logprob_kind;

  /* Must be 0. */
  int32_t reserved;

  /* [rows] Natural log-probability of the row's token; NaN for a bad row. For rows of probabilities
   * it is relative to the row's sum. */
  float *out_logprobs;

  /* [rows] The token's input value, widened to f32; NaN for a bad row. */
  float *out_values;

  /* [rows] Number of kept tokens: 1 for a greedy row, 0 for a bad one. */
  int32_t *out_kept_counts;

  /* [rows] Input to the adaptive stage's update: the token's surprise in bits among those that
   * mirostat kept, or its probability before adaptive-p changed it. NaN without an update. */
  float *out_observations;

  /* [rows, num_top_logprobs] The distribution's first tokens in rank order, and their
   * log-probabilities; padding, and all of a bad row, is -1 and NaN. num_top_logprobs in
   * [0, num_cols]; either array may be NULL, not both. */
  int64_t num_top_logprobs;
  void *out_top_token_ids;
  float *out_top_logprobs;

  /* [rows, num_chosen] Log-probabilities of the caller's tokens: -inf outside the distribution; NaN
   * for ids outside the row, and in bad rows. num_chosen in [0, num_cols]; unless it is 0 both
   * are required. */
  int64_t num_chosen;
  const void *chosen_token_ids;
  float *out_chosen_logprobs;

  /* [rows] Rank of the row's token in the distribution, from 1; 0 for a bad row, and for a forced
   * token outside the distribution. */
  int32_t *out_ranks;

  /* [rows] The distribution's entropy in nats, >= 0; NaN for a bad row. */
  float *out_entropies;

  /* [rows, kept_bitmask_stride] The kept tokens, laid out like token_bitmasks; all 0 in a bad row.
   * The stride is in words, below 2^31; 0: ceil(num_cols / 32). Ids from 32 * stride on have no
   * bit. The stride is required with candidate_ids. */
  uint32_t *out_kept_bitmask;
  int64_t kept_bitmask_stride;

  /* [rows, kept_capacity] The kept tokens by ascending id, and their probabilities, which sum to 1
   * up to rounding and equal sampler_filter's; padding, and all of a bad row, is -1 and 0. A row
   * that keeps more than kept_capacity has an empty list; its count is in out_kept_counts. In
   * [0, num_cols]; either array may be NULL, not both. */
  int64_t kept_capacity;
  void *out_kept_token_ids;
  float *out_kept_probabilities;

  /* [rows + 1] Packs the kept lists (CSR): row i's are the entries [offsets[i], offsets[i + 1]) of
   * out_kept_token_ids and out_kept_probabilities, without gaps; a bad row's is empty.
   * kept_capacity is then the size of each of the two arrays, for all rows together, at most 2^51;
   * with 0 both may be NULL. If the lists do not all fit, neither array is written, but the offsets
   * are: the lists are valid if the last offset is at most kept_capacity, else it is the size
   * needed. Entries from the last offset on are not written. A call without rows writes one offset,
   * 0. NULL: lists of kept_capacity entries per row, as above. The workspace grows by up to
   * kept_capacity entries. */
  int64_t *out_kept_offsets;

  /* [rows, num_cols] Per element: the SAMPLER_STAGE_ that removed it (sampler_stage_name), 0 if
   * kept, 255 if its input probability is 0 or the row has no such element; 255 everywhere in a bad
   * row. For edits, the one after which the logit is -inf; with JOINT filters the first of top-k,
   * top-p and min-p that removes it; in a greedy row TEMPERATURE, for tokens that the edits left.
   * Sorts the row: some milliseconds for 128,256 columns. */
  uint8_t *out_removed_by;
} sampler_report_args;

/* ---- Tokens --------------------------------------------------------------------------------- */

typedef struct sampler_sample_args {
  /* sizeof(sampler_sample_args). */
  size_t struct_size;

  sampler_exec exec;
  sampler_rows input;

  /* [num_row_indices] The input row of each output row, in [0, input.num_rows); other values make
   * the output row bad. There are then num_row_indices output rows, in [0, 2^31). Output rows with
   * the same input row and parameters share its preparation. NULL and 0: output row i draws from
   * input row i. */
  const int32_t *row_indices;
  int64_t num_row_indices;

  /* [output rows] The slot of each output row, in [0, num_slots); other values make the row bad.
   * For engines that keep parameters, seeds and offsets per sequence, in arrays of num_slots
   * entries: row_params and random are indexed by slot, logits by row. NULL and 0: output row i has
   * slot i. */
  const int32_t *slots;
  int64_t num_slots;

  /* NULL: temperature 1 and no filter. */
  const sampler_params *params;

  /* NULL: `params` for all. */
  const sampler_row_params *row_params;

  /* Edits of the logits. NULL: none. */
  const sampler_pipeline *pipeline;

  sampler_random random;

  /* GUMBEL rounds logit / temperature + noise to f32: logits above about 1,000 in size coarsen the
   * noise, and sums beyond 2^126, or -2^126, tie, so that the lowest of their ids is drawn. */
  sampler_draw_method draw_method;

  /* Type of out_token_ids, and of ids in reports. */
  sampler_id_type token_id_type;

  /* [output rows] The tokens: column numbers, or candidate ids. -1 or the handle's fallback token
   * for a bad row. Required. */
  void *out_token_ids;

  /* [output rows] SAMPLER_ROW_ bits. NULL: not wanted. */
  sampler_row_status *out_row_status;

  /* Optional outputs per output row; all of sampler_report_args is supported. NULL: none. */
  const sampler_report_args *reports;
} sampler_sample_args;

/* Draws one token per output row from its filtered input row. */
SAMPLER_API sampler_status sampler_sample(sampler_t sampler, const sampler_sample_args *args);

/* ---- Scores --------------------------------------------------------------------------------- */

typedef struct sampler_score_args {
  /* sizeof(sampler_score_args). */
  size_t struct_size;

  /* As in sampler_sample_args. Several output rows may score tokens of one input row. Random
   * numbers are those of XTC alone. row_params->forced_token_id must be NULL. */
  sampler_exec exec;
  sampler_rows input;
  const int32_t *row_indices;
  int64_t num_row_indices;
  const int32_t *slots;
  int64_t num_slots;
  const sampler_params *params;
  const sampler_row_params *row_params;
  const sampler_pipeline *pipeline;
  sampler_random random;

  /* Type of token_ids, of kept, and of ids in reports. */
  sampler_id_type token_id_type;

  /* Must be 0. */
  int32_t reserved;

  /* [output rows] The tokens to score. A negative one, and one outside the row, makes the row bad
   * (INVALID_PARAMETER), which suits padding. Required. */
  const void *token_ids;

  /* A list for each output row: the tokens that were kept when its token was drawn, in any order.
   * They replace filters, windows and pipeline.allowed: PROCESSED log-probabilities are relative to
   * them, after the edits, at the temperature. A row with an empty list is bad (EMPTY).
   *
   * num_lists is the number of output rows; num_token_ids may be more than the last offset, so
   * out_kept_offsets and out_kept_token_ids of an earlier call do as they are. Logits only;
   * reports->logprob_kind must be PROCESSED, the kind that depends on what was kept. Dynamic
   * temperature, adaptive-p and smoothing, which depend on more, must be off, and not given by slot.
   *
   * offsets NULL: filters and windows decide, as in sampler_sample. */
  sampler_token_lists kept;

  /* [output rows] SAMPLER_ROW_ bits. NULL: not wanted. */
  sampler_row_status *out_row_status;

  /* Outputs per output row, out_logprobs among them. NULL: none. */
  const sampler_report_args *reports;
} sampler_score_args;

/* Reports on given tokens what sampler_sample reports on drawn ones, bit for bit. Nothing is drawn:
 * log-probabilities for training on what was sampled, scores of choices, perplexity. */
SAMPLER_API sampler_status sampler_score(sampler_t sampler, const sampler_score_args *args);

/* ---- Rows ----------------------------------------------------------------------------------- */

typedef struct sampler_filter_args {
  /* sizeof(sampler_filter_args). */
  size_t struct_size;

  sampler_exec exec;
  sampler_rows input;

  /* [input.num_rows] As in sampler_sample_args. */
  const int32_t *slots;
  int64_t num_slots;
  const sampler_params *params;
  const sampler_row_params *row_params;

  /* PROBABILITIES: softmax of the kept tokens, which sums to 1 up to rounding; one-hot when greedy;
   * exactly 0 throughout a bad row. VALUES: kept logits unchanged, -inf elsewhere; a bad row is
   * copied. VALUES needs logits. */
  sampler_output_kind output_kind;

  /* SAMPLER_F32 or input.dtype. */
  sampler_dtype output_dtype;

  /* [input.num_rows, input.num_cols] Rows output_stride elements apart, at least num_cols; 0:
   * num_cols. With candidate lists an element belongs to the candidate at the same position, and
   * those past a row's last one are written as removed. Required. */
  void *output;
  int64_t output_stride;

  /* [input.num_rows] As in sampler_report_args, and SAMPLER_ROW_ bits. NULL: not wanted. */
  int32_t *out_kept_counts;
  sampler_row_status *out_row_status;

  /* Edits of the logits, as in sampler_sample_args: VALUES writes the edited logits. */
  const sampler_pipeline *pipeline;
} sampler_filter_args;

/* Writes the filtered rows: softmax without filters, renormalisation, masks. */
SAMPLER_API sampler_status sampler_filter(sampler_t sampler, const sampler_filter_args *args);

/* ---- Lists ---------------------------------------------------------------------------------- */

typedef struct sampler_select_args {
  /* sizeof(sampler_select_args). */
  size_t struct_size;

  sampler_exec exec;
  sampler_rows input;

  /* Maximum tokens per row: columns of the outputs, in [1, input.num_cols]. */
  int64_t num_selected;

  /* [input.num_rows] Tokens per row. <= 0 or >= num_selected: num_selected. In host memory with the
   * handle's host_parameters. NULL: num_selected for all. */
  const int32_t *selected_counts;

  /* Types of out_values, SAMPLER_F32 or input.dtype, and of out_token_ids. */
  sampler_dtype output_dtype;
  sampler_id_type token_id_type;

  /* [input.num_rows, num_selected] Values and ids, in rank order and contiguous. +inf is an
   * ordinary value here; NaN makes the row bad. Missing tokens, and all of a bad row, are -inf
   * (probabilities: 0) and -1. Either array may be NULL, not both. */
  void *out_values;
  void *out_token_ids;

  /* [input.num_rows] Tokens written per row; 0 for a bad row. NULL: not wanted. */
  int32_t *out_counts;
  sampler_row_status *out_row_status;
} sampler_select_args;

/* Writes the first tokens of each row in rank order: their values and ids. */
SAMPLER_API sampler_status sampler_select(sampler_t sampler, const sampler_select_args *args);

/* ---- Workspace ------------------------------------------------------------------------------
 *
 * The exact workspace size in bytes of the call with these `args`: one byte fewer returns
 * SAMPLER_ERROR_WORKSPACE_TOO_SMALL. `args` is set as for the call. No array is read, only compared
 * with NULL; arrays that the call requires may still be NULL. Arguments that the call rejects
 * whatever its addresses are rejected here, with the same text. speculative.h has those of
 * its calls. */
SAMPLER_API sampler_status sampler_sample_workspace_size(sampler_t sampler,
                                                         const sampler_sample_args *args,
                                                         size_t *out_bytes);
SAMPLER_API sampler_status sampler_score_workspace_size(sampler_t sampler,
                                                        const sampler_score_args *args,
                                                        size_t *out_bytes);
SAMPLER_API sampler_status sampler_filter_workspace_size(sampler_t sampler,
                                                         const sampler_filter_args *args,
                                                         size_t *out_bytes);
SAMPLER_API sampler_status sampler_select_workspace_size(sampler_t sampler,
                                                         const sampler_select_args *args,
                                                         size_t *out_bytes);

#ifdef __cplusplus
}
#endif

#endif /* SAMPLER_SAMPLING_H */
