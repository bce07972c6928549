/* The stages between logits and the draw: edits, which process single tokens by id; the
 * temperature; windows, which truncate by rank order.
 *
 * Parameters are members of sampler_params, and by slot of sampler_row_params. Lists and histories
 * are in a sampler_pipeline, named by the arguments of sampler_sample and sampler_filter. The
 * history is a list, too, or a state that keeps it: state.h.
 *
 *   sampler_params params = sampler_params_default();
 *   params.repetition_penalty = 1.1f;
 *
 *   sampler_pipeline pipeline = {0};
 *   pipeline.struct_size = sizeof pipeline;
 *   pipeline.history.offsets = offsets;      int64_t, [num_slots + 1]
 *   pipeline.history.token_ids = tokens;     int32_t: those of slot s begin at tokens[offsets[s]]
 *   pipeline.history.num_lists = num_slots;
 *   pipeline.history.num_token_ids = num_tokens;
 *
 *   args.params = &params;
 *   args.pipeline = &pipeline;
 *
 * Each stage sees the output of the one before it; a stage that is off costs nothing. Edits work in
 * f32, whatever the type of the logits; -inf stays -inf. Sections 13 (windows) and 14 (edits,
 * adaptive stages) of docs/contract.md have the arithmetic. A greedy row takes the first token, in
 * rank order, after the edits.
 *
 * A row with a NaN or +inf after its last edit is bad (INVALID_VALUE), and so is one without a
 * token (EMPTY). Edits skip ids outside a row; in a history they count like any other. Rows of
 * probabilities are not edited: a pipeline that would is an error there.
 *
 * CPU and CUDA handles give the same bits. */
#ifndef SAMPLER_PIPELINE_H
#define SAMPLER_PIPELINE_H

#include <stddef.h>
#include <stdint.h>

#include <sampler/export.h>
#include <sampler/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The stages, in their default order (no sampler_params.stages). */
typedef int32_t sampler_stage;
enum {
  /* Edits. */
  SAMPLER_STAGE_BIAS = 1,      /* guidance, pipeline.biased, the dense bias */
  SAMPLER_STAGE_MASK = 2,      /* allowed and banned tokens, bad words, stop tokens, bitmask */
  SAMPLER_STAGE_PENALTIES = 3, /* repetition, frequency, presence, exponential decay */
  SAMPLER_STAGE_DRY = 4,       /* penalises repeats of sequences */
  SAMPLER_STAGE_NO_REPEAT_NGRAM = 5, /* bans tokens that complete an n-gram of the history */
  SAMPLER_STAGE_TEMPERATURE = 6,
  /* Windows: each keeps some tokens of those that the one before it kept. */
  SAMPLER_STAGE_TYPICAL_P = 7,   /* surprise nearest the entropy */
  SAMPLER_STAGE_TOP_N_SIGMA = 8, /* within n standard deviations of the largest logit */
  SAMPLER_STAGE_EPSILON = 9,     /* probability at least epsilon */
  SAMPLER_STAGE_ETA = 10,        /* the same, and lower where the entropy is high */
  SAMPLER_STAGE_TOP_H = 11,      /* a share of the entropy */
  SAMPLER_STAGE_P_LESS = 12,     /* probability at least the sum of squared probabilities */
  SAMPLER_STAGE_MIN_K = 13,      /* before the steepest fall of the logits */
  SAMPLER_STAGE_TOP_A = 14,      /* probability at least a share of the largest one squared */
  SAMPLER_STAGE_XTC = 15,        /* at random, removes all tokens above a threshold but the last */
  SAMPLER_STAGE_TOP_K = 16,
  SAMPLER_STAGE_TOP_P = 17,
  SAMPLER_STAGE_MIN_P = 18,
  SAMPLER_STAGE_ADAPTIVE = 19 /* mirostat, adaptive-p or smoothing; always last */
};
enum { SAMPLER_MAX_STAGES = 32 }; /* more than there are: later versions have more */

/* The threshold of P_LESS (Tan, Wu, Howard 2025). */
typedef int32_t sampler_p_less_kind;
enum {
  SAMPLER_P_LESS_NONE = 0,  /* off */
  SAMPLER_P_LESS_PLAIN = 1, /* the sum c of squared probabilities */
  SAMPLER_P_LESS_NORM = 2   /* (n c - 1) / (n - 1), lower; n tokens are left */
};

/* The name of a stage, as in its constant: "TOP_P" for SAMPLER_STAGE_TOP_P. A static string; NULL
 * for other numbers, 0 included. */
SAMPLER_API const char *sampler_stage_name(sampler_stage stage);

/* The last stage. All but SMOOTHING adapt to the drawn tokens. */
typedef int32_t sampler_adaptive_kind;
enum {
  SAMPLER_ADAPTIVE_NONE = 0,
  SAMPLER_ADAPTIVE_MIROSTAT_V1 = 1, /* (Basu, Ramachandran, Keskar, Varshney 2021) */
  SAMPLER_ADAPTIVE_MIROSTAT_V2 = 2,
  SAMPLER_ADAPTIVE_P = 3, /* llama.cpp's: changes the weights of the tokens it receives */

  /* Quadratic and cubic smoothing (kalomaze 2024, koboldcpp): a token d below the first one in
   * logit / T gets the logit -k d^2 - s d^3, with k = factor * (3 - curve) / 2 and
   * s = factor * (curve - 1) / 2. */
  SAMPLER_ADAPTIVE_SMOOTHING = 4
};

/* Adaptive values per slot: mirostat's mu; adaptive-p's weighted sum and total weight; the
 * running top_p. */
enum { SAMPLER_NUM_ADAPTIVE_VALUES = 4 };

/* State of sequences: see state.h. */
typedef struct sampler_state *sampler_state_t;

/* Which tokens of a history count. */
typedef int32_t sampler_penalty_scope;
enum {
  SAMPLER_PENALTY_SCOPE_STANDARD = 0, /* repetition: all; frequency and presence: output (vLLM) */
  SAMPLER_PENALTY_SCOPE_ALL = 1,      /* prompt and output (llama.cpp) */
  SAMPLER_PENALTY_SCOPE_OUTPUT = 2    /* output (SGLang) */
};

/* Arithmetic of the penalties, for a token that occurs c times. Forms differ in the last bit; the
 * last one in its order too. */
typedef int32_t sampler_penalty_form;
enum {
  SAMPLER_PENALTY_DIVIDE = 0,      /* x / r; then x - (c * frequency + presence) */
  SAMPLER_PENALTY_RECIPROCAL = 1,  /* x * (1 / r); then x - c * frequency - presence (vLLM) */
  SAMPLER_PENALTY_COUNTS_FIRST = 2 /* as DIVIDE, repetition last (SGLang) */
};

/* How ids without a word in the bitmask are treated. A vocabulary padded beyond the tokenizer's has
 * such ids if the mask is made for the tokenizer's: LEAVES, the default, allows them whatever the
 * grammar. Set FORBIDS unless all ids beyond the mask may be drawn. */
typedef int32_t sampler_mask_rule;
enum {
  SAMPLER_MASK_LEAVES = 0, /* unchanged (xgrammar) */
  SAMPLER_MASK_FORBIDS = 1 /* banned (llguidance) */
};

/* Lists of token ids, concatenated: list i is token_ids[offsets[i]] to
 * token_ids[offsets[i + 1] - 1]. A view, passed by value. All 0: no lists.
 *
 * For lists by slot, num_lists is the number of slots, or 1: one list for all. Rows whose offsets
 * decrease, or lie outside [0, num_token_ids], are bad (INVALID_LIST). */
typedef struct sampler_token_lists {
  /* [num_lists + 1] Ascending. */
  const int64_t *offsets;

  /* [num_token_ids] Of the pipeline's token_id_type. May be NULL if empty. */
  const void *token_ids;

  int64_t num_lists;
  int64_t num_token_ids;
} sampler_token_lists;

/* Arrays are in the handle's memory and read when the work runs. */
typedef struct sampler_pipeline {
  /* sizeof(sampler_pipeline). */
  size_t struct_size;

  /* Type of every token id in this struct. */
  sampler_id_type token_id_type;

  sampler_mask_rule token_bitmask_rule;

  /* By slot: the tokens so far, oldest first: prompt, then output. Penalties, DRY, n-grams, bad
   * words and min_new_tokens need it. */
  sampler_token_lists history;

  /* [slots] Prompt tokens in each history, in [0, its length]; others make the row bad
   * (INVALID_LIST). NULL: 0, all is output. */
  const int32_t *prompt_lengths;

  /* Upper bound of history lengths; rows with a longer one are bad (INVALID_LIST). DRY and n-grams
   * take 4 bytes of workspace per token of it. In [0, 2^31). 0: history.num_token_ids, or the
   * state's max_tokens. */
  int64_t max_history_tokens;

  /* Classifier-free guidance (Sanchez et al. 2023): rows of logits u of the same tokens, as after
   * another prompt, which make the call's logits x into u + guidance_scale * (x - u). They have the
   * type, columns and stride of the call's logits; in a call with candidate_ids their elements are
   * those of its rows. x stays where it or u is -inf; else a NaN or +inf makes the row bad
   * (INVALID_VALUE). Only read where a slot's guidance_scale is on. Not for loops;
   * in sessions sampler_session_advance has them. */
  const void *guidance_logits;

  /* At least 1, and without guidance_row_indices one per output row; 0 if guidance_logits is
   * NULL. */
  int64_t num_guidance_rows;

  /* [output rows] The guidance row of each row; negative: none; num_guidance_rows or more: the row
   * is bad (INVALID_INDEX). NULL: row i has row i. */
  const int32_t *guidance_row_indices;

  /* By slot: tokens with a bias, added to their logits. */
  sampler_token_lists biased;

  /* [biased.num_token_ids] Finite or -inf; other values make the row bad (INVALID_PARAMETER).
   * Biases of an id listed twice are both added, in list order. */
  const float *biases;

  /* A list for each entry of biased.token_ids, [biased.num_token_ids]: its bias is added only where
   * the history ends in these tokens (Hugging Face's sequence_bias: the last token is biased, the
   * others are the list). Empty lists: always. It needs a history. A row with an invalid list is
   * bad (INVALID_LIST). offsets NULL: always, for all. */
  sampler_token_lists bias_contexts;

  /* [num_dense_biases, dense_bias_stride] Bias by id: one row for all slots, or one each. Ids from
   * dense_bias_stride on get none. Stride 0: num_cols, but candidate_ids require a stride. */
  const float *dense_bias;
  int64_t num_dense_biases;
  int64_t dense_bias_stride;

  /* By slot: the only tokens that may be drawn, unless the slot's list is empty. Duplicates
   * are allowed. */
  sampler_token_lists allowed;

  /* By slot: tokens that must not be drawn. */
  sampler_token_lists banned;

  /* By slot: tokens that must not be drawn before the output has min_new_tokens tokens, and that
   * the exponential decay makes likelier. */
  sampler_token_lists stop;

  /* By slot: tokens that repetition, frequency and presence penalties leave as they are, such as
   * newlines and ends. */
  sampler_token_lists unpenalized;

  /* Words of one or more tokens, and which of them each slot has: [slots + 1], slot s has the words
   * from bad_word_offsets[s] to bad_word_offsets[s + 1] - 1. NULL: every slot has all. A word's
   * last token is banned where the history ends in the others. A word without tokens makes its rows
   * bad (INVALID_LIST). */
  sampler_token_lists bad_words;
  const int64_t *bad_word_offsets;

  /* DRY's sequence breakers, for all slots: distinct sequences of 1 to 20 tokens in lexicographic
   * order. Others make rows with DRY bad (INVALID_LIST). */
  sampler_token_lists dry_breakers;

  /* [num_token_bitmasks, token_bitmask_stride] Bit i of word j is 1 where id 32 j + i may be drawn
   * (xgrammar). Ids from 32 token_bitmask_stride on, as in a padded vocabulary, are allowed unless
   * token_bitmask_rule is FORBIDS. The stride, in words, is also the length of a mask; 0:
   * ceil(num_cols / 32), but candidate_ids require a stride. At least 1 mask, and without
   * token_bitmask_indices one per output row; 0 if token_bitmasks is NULL. */
  const uint32_t *token_bitmasks;
  int64_t num_token_bitmasks;
  int64_t token_bitmask_stride;

  /* [output rows] The mask of each row; negative: none; num_token_bitmasks or more: the row is bad
   * (INVALID_INDEX). NULL: row i has mask i, and there must be one for each. */
  const int32_t *token_bitmask_indices;

  /* Replaces history, prompt_lengths and adaptive_values, which must be NULL then: slot s of the
   * call is slot s of the state, and the call has at most the state's slots. It belongs to the same
   * handle, and is only read. */
  sampler_state_t state;

  /* [slots, SAMPLER_NUM_ADAPTIVE_VALUES] For callers without a state, who update them from
   * out_observations by section 14.2 of docs/contract.md. NaN is the start of its stage; infinity
   * makes the row bad (INVALID_PARAMETER), even with the stage off. NULL: all start. */
  const float *adaptive_values;
} sampler_pipeline;

#ifdef __cplusplus
}
#endif

#endif /* SAMPLER_PIPELINE_H */
