/* Sampling, filters and selection with every option. simple.h has the same in one line each.
 *
 * There is one call for each kind of result: sampler_sample draws tokens, sampler_filter writes
 * rows, sampler_select lists the first tokens in rank order. speculative.h has the calls that
 * verify drafts.
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
 *   sampler_report_args reports = {0};   what else is told of the tokens; NULL: nothing
 *   reports.struct_size = sizeof reports;
 *   reports.out_logprobs = logprobs;     float, [input.num_rows]
 *   args.reports = &reports;
 *   status = sampler_sample(sampler, &args);
 *
 * Argument structs are all 0 except struct_size. They grow at the end only, and a member that is
 * added is off when it is 0: a program that was compiled with older headers stays right. Structs
 * that they point to have a struct_size of their own, are host memory on every handle, and are read
 * during the call.
 *
 * Rank order sorts a row's tokens by value descending, then by id ascending (-0 equals +0). Tokens
 * of value -inf, or of probability 0, are never kept and never drawn.
 *
 * A bad row never makes a call fail: its status tells why, and its neighbours are as they would be
 * without it. All calls return SAMPLER_OK, or: INVALID_ARGUMENT, WORKSPACE_TOO_SMALL, CALLBACK (a
 * broken parallel_for), CUDA, INTERNAL. Work is enqueued on `exec.stream` and the call returns at
 * once; a CPU handle has done it when the call returns. */
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

/* ---- What to draw from ---------------------------------------------------------------------- */

/* The temperature, the filters, how they combine, and the numbers of the edits before them. */
typedef struct sampler_params {
  /* sizeof(sampler_params). */
  size_t struct_size;

  /* Logits are divided by the temperature. At most 1e-5 (0 and negative ones too): greedy, the
   * first token in rank order whatever the filters say. At most 2^64. Probabilities are taken as
   * they are: there it must be 1, or at most 1e-5. Not NaN. Default 1. */
  float temperature;

  /* Keeps the shortest prefix of rank order whose probability, relative to what the filter sees,
   * is at least top_p, or above it by top_p_sum (nucleus sampling, Holtzman et al. 2020).
   * >= 1: off; <= 0: one token. Not NaN. Default 1. */
  float top_p;

  /* Keeps the tokens at least min_p times as likely as the likeliest one (Nguyen et al. 2024).
   * <= 0: off; above 1: 1. Not NaN. Default 0. */
  float min_p;

  /* Keeps the first top_k tokens in rank order. <= 0 or >= num_cols: off. Default 0. */
  int32_t top_k;

  /* How the filters combine. All default to 0, the first constant of their enumeration. */
  sampler_tie_rule top_k_ties;
  sampler_tie_rule top_p_ties;
  sampler_filter_order filter_order;
  sampler_temperature_order temperature_order;

  /* Edits: see pipeline.h. All are off by default. Floats are finite. */

  /* Of tokens that occur in the history: positive logits are divided by repetition_penalty and
   * others multiplied with it (Keskar et al. 2019; 0 and 1: off; not negative); frequency_penalty
   * is subtracted for each occurrence, presence_penalty once. */
  float repetition_penalty;
  float frequency_penalty;
  float presence_penalty;

  /* Of the history the last so many tokens count. <= 0: all. */
  int32_t penalty_window;
  sampler_penalty_scope penalty_scope;
  sampler_penalty_form penalty_form;

  /* DRY (p-e-w, text-generation-webui, 2024): a token that would continue a repeat of n tokens
   * loses dry_multiplier * dry_base^(n - dry_allowed_length), from the allowed length on. */
  float dry_multiplier;       /* <= 0: off */
  float dry_base;             /* 0: 1.75; below 1: off */
  int32_t dry_allowed_length; /* 0: 2; negative: 0 */
  int32_t dry_window;         /* repeats are sought in the last so many tokens; <= 0: in all */

  /* Tokens that would complete an n-gram of the history are banned. <= 0: off. */
  int32_t no_repeat_ngram_size;

  /* pipeline.stop is banned before the output has so many tokens. <= 0: no minimum. */
  int32_t min_new_tokens;

  /* What bad words are looked for in. OUTPUT: the output (vLLM); the others: all. */
  sampler_penalty_scope bad_word_scope;

  /* Windows: see pipeline.h. All are off by default, and none is NaN. */

  /* Dynamic temperature: T follows the entropy of what it sees, from max(0, T - range) to T +
   * range, by the power `exponent` of its share of the largest (kalomaze 2023). Logits only. */
  float dynamic_temperature_range;    /* <= 0: off */
  float dynamic_temperature_exponent; /* 0: 1; negative: 0 */

  float typical_p;       /* locally typical sampling (Meister et al. 2023). <= 0, >= 1: off */
  float top_n_sigma;     /* (Tang et al. 2024), of the population. <= 0: off */
  float epsilon_cutoff;  /* (Hewitt et al. 2022). <= 0, >= 1: off */
  float eta_cutoff;      /* (the same). <= 0, >= 1: off */
  float top_h;           /* (Potraghloo et al. 2025). <= 0, >= 1: off */
  float xtc_probability; /* exclude top choices (p-e-w 2024). <= 0: off. sampler_sample only */
  float xtc_threshold;   /* 0: 0.1; negative: 0; above 0.5: off */

  sampler_tie_rule typical_p_ties;

  /* No window, top-k, top-p and min-p among them, keeps fewer tokens, where there are so many. */
  int32_t min_keep; /* <= 1: one */

  /* The order of all stages; 0 ends it. Edits come first, ADAPTIVE comes last. A stage that is on
   * must be listed, none twice. filter_order must be SEQUENTIAL, whatever it means without a list,
   * or JOINT: then the listed ones of top-k, top-p and min-p stand side by side. temperature_order
   * must be FIRST. All 0: the order of sampler_stage, in which filter_order and temperature_order
   * have their meaning. */
  sampler_stage stages[SAMPLER_MAX_STAGES];

  /* Adaptive stages: see pipeline.h. All are off by default. They change nothing in a greedy row.
   * What is drawn moves them on: see pipeline.adaptive_values and sampler_accept. */

  /* NONE: off. The target is mirostat's surprise in bits (0: 5; not negative), or adaptive-p's
   * probability (negative: off; above 1: 1). The rate is mirostat's learning rate (0: 0.1), or
   * adaptive-p's decay (0: 0.9; above 0.99: 0.99); a negative one is 0. Both are finite, and mean
   * nothing with NONE. */
  sampler_adaptive_kind adaptive_kind;
  float adaptive_target;
  float adaptive_rate;

  /* After each token the running top_p, which begins as top_p, is multiplied by the factor, and
   * does not fall below the least value. */
  float top_p_decay; /* the factor. <= 0, >= 1: off. Not NaN */
  float top_p_least; /* finite */

  /* Sums and ties. All default to 0, the first constant of their enumeration. */

  /* Whether what top-p and typical-p keep must reach their share or exceed it. */
  sampler_sum_rule top_p_sum;
  sampler_sum_rule typical_p_sum;

  /* Ties of epsilon and eta: with KEEP, all tokens stay that equal the last one of those that
   * min_keep asks for, so all of the likeliest where no token reaches the threshold. */
  sampler_tie_rule cutoff_ties;
} sampler_params;

/* Fills `params` with the defaults: temperature 1 and no filter. `struct_size` is the size of the
 * caller's struct; what a newer one has more is set to 0. INVALID_ARGUMENT: params is NULL, or the
 * size is no size of the struct. */
SAMPLER_API sampler_status sampler_params_init(sampler_params *params, size_t struct_size);

/* Fills `params` with a preset: the order of stages of an engine, its rules of ties, scopes and
 * forms, and its own defaults. It gives the engine's distribution, not its random numbers; what
 * the engine does not do is not listed in `stages`, and an error where it is on.
 * docs/coming-from.md has what differs all the same. `name` is one of
 *
 *   llama.cpp, vllm, sglang, tensorrt_llm, hugging_face, flashinfer
 *   vllm_v2          vLLM's second model runner, whose top-k has k tokens, whatever ties
 *   hf_vllm_aligned  temperature, top-k with ties and top-p, greedy at 0: what small engines do
 *   nano_vllm        the temperature alone. Its draw is draw_method SAMPLER_DRAW_GUMBEL
 *
 * the newest version that is known, or another one, as in "vllm@0.33": sampler_preset_name lists
 * them. A preset samples: Hugging Face without do_sample, and TensorRT-LLM where nothing is set,
 * are temperature 0. llama.cpp's default breakers of DRY are texts, which the caller turns into
 * tokens.
 *
 * INVALID_ARGUMENT, and nothing is written: params or name is NULL, the size is no size of the
 * struct, or no preset has that name. */
SAMPLER_API sampler_status sampler_params_preset(sampler_params *params, size_t struct_size,
                                                 const char *name);

/* The name of preset `index`, with its version where it has one: a static string. From 0 on; NULL
 * where there is none. */
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

/* The same by slot: [number of slots] each, in the handle's memory, or host memory with the
 * handle's host_parameters. NULL: the scalar of that name for all. Every value has the scalar's
 * meaning. One that is NaN, or a temperature that probabilities cannot have, makes its rows bad. */
typedef struct sampler_row_params {
  /* sizeof(sampler_row_params). */
  size_t struct_size;

  const float *temperature;
  const float *top_p;
  const float *min_p;
  const int32_t *top_k;
  const float *repetition_penalty;
  const float *frequency_penalty;
  const float *presence_penalty;
  const int32_t *penalty_window;
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
  const float *xtc_probability;
  const float *xtc_threshold;
  const int32_t *min_keep;

  /* The token that the slot yields whatever the rest says: the end of a thinking budget, a trace
   * that is replayed. Negative: none. One that is no element of the row makes it bad
   * (INVALID_PARAMETER). sampler_sample only. */
  const int64_t *forced_token_id;

  const sampler_adaptive_kind *adaptive_kind; /* one that is no such constant: the row is bad */
  const float *adaptive_target;
  const float *adaptive_rate;
  const float *top_p_decay;
  const float *top_p_least;

  /* The token after which the running top_p is top_p again. Negative: none. NULL: none. */
  const int64_t *top_p_reset_token_id;
} sampler_row_params;

/* ---- Reports -------------------------------------------------------------------------------- */

/* What a call tells of the tokens beside their ids. sampler_sample, sampler_verify and
 * sampler_session_advance take one; NULL: nothing is told.
 *
 * "Rows" are the rows of the call's out_token_ids: those of output of sampler_sample,
 * [num_sequences, num_drafts + 1] of sampler_verify, [num_spans, max_drafts + 1] of
 * sampler_session_advance. Token ids are of the call's token_id_type, of a session int32_t. Arrays
 * are where the call's outputs are. A number of 0 or a NULL array: not wanted. What a call does not
 * report must be 0 there, which its documentation names.
 *
 * Reports are of the distribution that logprob_kind names: the row as it is given (RAW), as its
 * edits left it (EDITED), or what was drawn from (PROCESSED), of which tokens that were not kept
 * have no part. A greedy row is a single token in PROCESSED. Section 15 of docs/contract.md has
 * their arithmetic. */
typedef struct sampler_report_args {
  /* sizeof(sampler_report_args). */
  size_t struct_size;

  /* The distribution of out_logprobs and of all that follows out_observations. */
  sampler_logprob_kind logprob_kind;

  /* Must be 0. */
  int32_t reserved;

  /* [rows] Natural logarithm of the probability of the row's token; NaN for a bad row. Of a row of
   * probabilities it is relative to the row's sum. */
  float *out_logprobs;

  /* [rows] The token's value in the input as it is given, widened to f32; NaN for a bad row. */
  float *out_values;

  /* [rows] How many tokens the filters kept: 1 for a greedy row, 0 for a bad one. */
  int32_t *out_kept_counts;

  /* [rows] What moves the adaptive stage on: the token's surprise in bits among those that mirostat
   * kept, or its probability before adaptive-p changed it. NaN where nothing does. */
  float *out_observations;

  /* [rows, num_top_logprobs] The distribution's first tokens in rank order, and their
   * log-probabilities; then, and in bad rows, -1 and NaN. num_top_logprobs in [0, num_cols]; either
   * array may be NULL, not both. */
  int64_t num_top_logprobs;
  void *out_top_token_ids;
  float *out_top_logprobs;

  /* [rows, num_chosen] The log-probabilities of tokens that the caller names: -inf of elements that
   * have no part in the distribution; NaN of ids that are no element of the row, and in bad rows.
   * num_chosen in [0, num_cols]; where it is not 0 both are required. */
  int64_t num_chosen;
  const void *chosen_token_ids;
  float *out_chosen_logprobs;

  /* [rows] The place of the row's token among the distribution's in rank order, the first is 1; 0
   * for a bad row, and for a forced token that has no part in the distribution. */
  int32_t *out_ranks;

  /* [rows] The distribution's entropy in nats, 0 or more; NaN for a bad row. */
  float *out_entropies;

  /* [rows, kept_bitmask_stride] The tokens that were kept, laid out like token_bitmasks; all 0 in a
   * bad row. The stride is in words, below 2^31; 0: ceil(num_cols / 32). Ids from 32 stride on have
   * no bit. With candidate_ids the stride must be given. */
  uint32_t *out_kept_bitmask;
  int64_t kept_bitmask_stride;

  /* [rows, kept_capacity] The same as a list, by ascending id, and their probabilities, which sum
   * to 1 up to rounding and are those that sampler_filter writes; then, and in bad rows, -1 and 0.
   * A row that keeps more than kept_capacity has an empty list, and its number in out_kept_counts.
   * In [0, num_cols]; either array may be NULL, not both. */
  int64_t kept_capacity;
  void *out_kept_token_ids;
  float *out_kept_probabilities;

  /* [rows + 1] Packs the lists of kept tokens (CSR): that of row i is the entries
   * [offsets[i], offsets[i + 1]) of out_kept_token_ids and out_kept_probabilities, without gaps; a
   * bad row's is empty. kept_capacity is then the entries of each of the two arrays, for all rows
   * together, at most 2^51; with 0 both may be NULL. Lists that have no room together are all left
   * out: neither array is written, and the offsets are those of the lists all the same. So the
   * lists are there where the last offset is at most kept_capacity, and tells what is needed where
   * it is not. Entries from the last offset on are not written. A call without rows writes one
   * offset, 0. NULL: lists of kept_capacity entries a row, as above. The workspace holds up to
   * kept_capacity entries more. */
  int64_t *out_kept_offsets;

  /* [rows, num_cols] By element: the SAMPLER_STAGE_ that removed the token (sampler_stage_name), 0
   * where it is kept, 255 where the input gives it no probability or the row has no such element;
   * 255 everywhere in a bad row. Of edits it is the one after which the logit is -inf; with JOINT
   * filters the first of top-k, top-p and min-p that does not keep the token; in a greedy row
   * TEMPERATURE, of what the edits left. Sorts the row: some milliseconds for 128,256 columns. */
  uint8_t *out_removed_by;
} sampler_report_args;

/* ---- Tokens --------------------------------------------------------------------------------- */

typedef struct sampler_sample_args {
  /* sizeof(sampler_sample_args). */
  size_t struct_size;

  sampler_exec exec;
  sampler_rows input;

  /* [num_row_indices] The input row that each output row draws from, in [0, input.num_rows); any
   * other value makes the output row bad. Rows of output are then num_row_indices, in [0, 2^31).
   * Outputs of one input row with equal parameters share the work of preparing it. NULL and 0:
   * output row i draws from input row i. */
  const int32_t *row_indices;
  int64_t num_row_indices;

  /* [output rows] The slot of each output row, in [0, num_slots); any other value makes the row
   * bad. Engines hold parameters, seeds and offsets by sequence, in arrays of num_slots entries of
   * which a batch names some: row_params and random are indexed by slot, logits by row. NULL and 0:
   * output row i has slot i. */
  const int32_t *slots;
  int64_t num_slots;

  /* What to draw from. NULL: temperature 1 and no filter. */
  const sampler_params *params;

  /* NULL: the same for all. */
  const sampler_row_params *row_params;

  /* Edits of the logits. NULL: none. */
  const sampler_pipeline *pipeline;

  sampler_random random;

  /* How the token is drawn. GUMBEL rounds logit / temperature + noise to f32: logits of a size
   * above 1,000 or so coarsen the noise, and those for which it would pass 2^126, or -2^126, tie,
   * so that the lowest id of them is drawn. */
  sampler_draw_method draw_method;

  /* Type of out_token_ids, and of the ids of reports. */
  sampler_id_type token_id_type;

  /* [output rows] The tokens: column numbers, or candidate ids. -1 or the handle's fallback token
   * for a bad row. Required. */
  void *out_token_ids;

  /* [output rows] SAMPLER_ROW_ bits. NULL: not wanted. */
  sampler_row_status *out_row_status;

  /* What else is told of each output row, all of sampler_report_args. NULL: nothing. */
  const sampler_report_args *reports;
} sampler_sample_args;

/* Draws one token per output row from what the filters keep of its input row. */
SAMPLER_API sampler_status sampler_sample(sampler_t sampler, const sampler_sample_args *args);

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

  /* PROBABILITIES: the softmax of the kept tokens, which sums to 1 up to rounding; one-hot when
   * greedy; exactly 0 in every element of a bad row. VALUES: the kept logits unchanged, -inf
   * elsewhere; a bad row is copied as it is. VALUES needs logits. */
  sampler_output_kind output_kind;

  /* SAMPLER_F32 or input.dtype. */
  sampler_dtype output_dtype;

  /* [input.num_rows, input.num_cols] Each row output_stride elements after the one before, at least
   * num_cols; 0: num_cols. With candidate lists an element belongs to the candidate at the same
   * place, and those that follow a row's last one are written as not kept. Required. */
  void *output;
  int64_t output_stride;

  /* [input.num_rows] As in sampler_report_args, and SAMPLER_ROW_ bits. NULL: not wanted. */
  int32_t *out_kept_counts;
  sampler_row_status *out_row_status;

  /* Edits of the logits, as in sampler_sample_args: VALUES writes the logits that they left. */
  const sampler_pipeline *pipeline;
} sampler_filter_args;

/* Writes what the filters keep of each row: softmax without filters, renormalisation, masks. */
SAMPLER_API sampler_status sampler_filter(sampler_t sampler, const sampler_filter_args *args);

/* ---- Lists ---------------------------------------------------------------------------------- */

typedef struct sampler_select_args {
  /* sizeof(sampler_select_args). */
  size_t struct_size;

  sampler_exec exec;
  sampler_rows input;

  /* How many tokens a row yields at most: columns of the outputs, in [1, input.num_cols]. */
  int64_t num_selected;

  /* [input.num_rows] How many each row yields. <= 0 or >= num_selected: num_selected. In host
   * memory with the handle's host_parameters. NULL: num_selected for all. */
  const int32_t *selected_counts;

  /* Types of out_values, SAMPLER_F32 or input.dtype, and of out_token_ids. */
  sampler_dtype output_dtype;
  sampler_id_type token_id_type;

  /* [input.num_rows, num_selected] Values and ids, both in rank order and contiguous. +inf is a
   * value like any other here; NaN makes the row bad. Where a row has fewer tokens to give, the
   * rest is -inf (probabilities: 0) and -1; so is all of a bad row. Either may be NULL, not both.
   */
  void *out_values;
  void *out_token_ids;

  /* [input.num_rows] How many tokens each row yielded; 0 for a bad row. NULL: not wanted. */
  int32_t *out_counts;
  sampler_row_status *out_row_status;
} sampler_select_args;

/* Writes the first tokens of each row in rank order: their values and ids. */
SAMPLER_API sampler_status sampler_select(sampler_t sampler, const sampler_select_args *args);

/* ---- Workspace ------------------------------------------------------------------------------
 *
 * Each tells how many bytes of workspace the call with these `args` needs: with so many it
 * succeeds, with one fewer it returns SAMPLER_ERROR_WORKSPACE_TOO_SMALL. `args` is set as for the
 * call. Of arrays only whether they are NULL matters, and none is read; those that the call
 * requires may be NULL all the same. What the call refuses whatever its addresses, this refuses
 * too, with the same text. speculative.h has those of its calls. */
SAMPLER_API sampler_status sampler_sample_workspace_size(sampler_t sampler,
                                                         const sampler_sample_args *args,
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
