/* Speculative decoding: verification of draft tokens against the target model's distribution, and
 * the residual distribution after a rejection. simple.h has sampler_chain_speculative, a
 * short form.
 *
 * A drafter proposes up to num_drafts tokens per sequence: a chain, or a tree. Position 0 follows
 * the context, position i + 1 follows draft i; the target has a row for each. The standard rule
 * accepts each draft with the probability that makes the emitted tokens follow the target's
 * distribution exactly (Leviathan et al. 2023, Chen et al. 2023): draft x is accepted when
 * u * q(x) < p(x), u uniform in [0, 1). At the first rejection a token is drawn from the residual
 * max(p - q, 0); if all drafts are accepted a bonus token is drawn from p at the last position.
 * Sections 10 and 16 of docs/contract.md have the arithmetic of all rules. */
#ifndef SAMPLER_SPECULATIVE_H
#define SAMPLER_SPECULATIVE_H

#include <stddef.h>
#include <stdint.h>

#include <sampler/export.h>
#include <sampler/handle.h>
#include <sampler/sampling.h>
#include <sampler/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Verification --------------------------------------------------------------------------- */

/* Acceptance rule: when a draft x with target probability p(x) and draft probability q(x) is
 * accepted. A greedy row (temperature at most 1e-5) accepts only the argmax, except with RELAXED
 * and SYNTHETIC. */
typedef int32_t sampler_acceptance;
enum {
  /* The context's default: STANDARD in sampler_verify and sampler_speculative, SAMPLE_MATCH in a
   * session. In a rule by slot or by sequence: the rule given for all. */
  SAMPLER_ACCEPT_DEFAULT = 0,

  /* Lossless: emitted tokens follow the target's distribution. */

  SAMPLER_ACCEPT_STANDARD = 1, /* u q(x) < p(x) */

  /* Block verification (Sun et al. 2024): judges all drafts of a chain together. Emits on average
   * no fewer tokens than STANDARD. */
  SAMPLER_ACCEPT_BLOCK = 2,

  /* The target's own token is drawn as by sampler_sample, at offset + i after i drafts; drafts are
   * accepted while they equal it. Needs no draft distribution. The text equals, token by token, the
   * one without speculation. */
  SAMPLER_ACCEPT_SAMPLE_MATCH = 3,

  /* Lossy: emitted tokens do not follow the target's distribution. */

  /* p(x) > min(typical_threshold, typical_scale * exp(-H(p))), deterministic (Cai et al. 2024). */
  SAMPLER_ACCEPT_TYPICAL = 4,

  /* x is one of the first relaxed_top_k tokens and p(x) >= p_max - relaxed_delta; if no draft of a
   * position is, as STANDARD. In a greedy row p is taken after the edits, at temperature
   * 1 (TensorRT-LLM). */
  SAMPLER_ACCEPT_RELAXED = 5,

  /* p(x) >= threshold_single, or u * threshold_total < the sum of p over x and the siblings tried
   * before it (SGLang). With both at 1 it is lossless for drafts chosen deterministically. */
  SAMPLER_ACCEPT_THRESHOLD = 6,

  /* As STANDARD, but a rejected draft of a chain is kept where the target is uncertain and the next
   * deferred_window drafts would be accepted (FLy, arXiv 2511.22972; vLLM). */
  SAMPLER_ACCEPT_DEFERRED = 7,

  /* u < synthetic_rates[i], whatever p and q: for benchmarks. After a rejection a token is drawn
   * from p. */
  SAMPLER_ACCEPT_SYNTHETIC = 8
};

/* How siblings of a tree were drafted, which determines the residual after a rejection. */
typedef int32_t sampler_sibling_rule;
enum {
  SAMPLER_SIBLINGS_INDEPENDENT = 0,        /* each was drawn from its own row */
  SAMPLER_SIBLINGS_WITHOUT_REPLACEMENT = 1 /* each from its row without its earlier siblings */
};

/* The acceptance rule and its parameters, shared by sampler_verify, sampler_speculative and
 * sessions. NULL, or all 0: the context's rule and the defaults. Parameters of unused rules are
 * checked, too. */
typedef struct sampler_acceptance_params {
  /* sizeof(sampler_acceptance_params). */
  size_t struct_size;

  sampler_acceptance rule;

  /* sampler_verify only; 0 elsewhere: how siblings of a tree were drafted, 0 without trees; and how
   * SAMPLE_MATCH draws, INVERSE_CDF with other rules. */
  sampler_sibling_rule sibling_rule;
  sampler_draw_method draw_method;

  /* Not NaN, not negative. */
  int32_t relaxed_top_k;   /* 0: 1 */
  float relaxed_delta;     /* difference of probabilities */
  float typical_threshold; /* 0: 0.09 */
  float typical_scale;     /* 0: 0.3 */
  float threshold_single;  /* 0: 1 */
  float threshold_total;   /* 0: 1 */
  float deferred_entropy;  /* nats; at least this is uncertain. 0: 0.3 */
  int32_t deferred_top_k;  /* first tokens in the entropy. 0: 3 */
  int32_t deferred_window; /* 0: min(6, max drafts per sequence - 1), at least 1 */

  /* [max drafts per sequence] In [0, 1], by the draft's index in its sequence. In host memory, read
   * during the call. Required by SYNTHETIC; NULL: no sequence has that rule. */
  const float *synthetic_rates;
} sampler_acceptance_params;

/* Memory layout of the drafts of several sequences. */
typedef int32_t sampler_packing;
enum {
  /* Arrays of num_sequences rows of num_drafts, or num_drafts + 1, entries. */
  SAMPLER_PACKING_DENSE = 0,

  /* Concatenated. packing_offsets is [num_sequences + 1]: the drafts of sequence s are
   * packing_offsets[s] to packing_offsets[s + 1] - 1, its positions begin s later. */
  SAMPLER_PACKING_DRAFTS = 1,

  /* As DRAFTS, without the leading 0: packing_offsets is [num_sequences] (vLLM, V1). */
  SAMPLER_PACKING_DRAFT_ENDS = 2,

  /* The positions of sequence s are packing_offsets[s] to packing_offsets[s + 1] - 1,
   * [num_sequences + 1], one more than its drafts. Arrays by draft have an entry for each position:
   * entry i + 1 is draft i's, entry 0 is not read (vLLM, V2). Its rows of `draft` begin
   * s earlier. */
  SAMPLER_PACKING_POSITIONS = 3
};

/* Layout of drafts and rows in sampler_verify. All 0, or NULL in sampler_verify_args: dense chains,
 * one sequence after the other. Arrays are in the handle's memory and read when the work runs.
 * Dense chains by the standard rule are faster with no member set but the two sequence strides. */
typedef struct sampler_draft_layout {
  /* sizeof(sampler_draft_layout). */
  size_t struct_size;

  /* Dense: elements from one sequence's first row to the next one's, of `target` and of `draft`, at
   * least the size of a sequence. 0: contiguous, or no draft. */
  int64_t target_sequence_stride;
  int64_t draft_sequence_stride;

  /* Dense: elements of draft_token_ids from one sequence's first to the next one's, at least
   * num_drafts; 0: num_drafts. */
  int64_t draft_token_stride;

  /* Packed batches. num_sequences is required with packing, and with target_row_indices or
   * bonus_row_indices, and may be 0; otherwise 0 takes it from target.num_rows. Sequences have at
   * most num_drafts drafts; a sequence whose offsets decrease, lie outside, or are further apart is
   * bad (INVALID_LIST). With packing draft_counts must be NULL. */
  sampler_packing packing;

  /* 1: the row of `draft` for draft i is slot * num_drafts + i (vLLM, V2). */
  int32_t draft_rows_by_slot;
  const int32_t *packing_offsets;
  int64_t num_sequences;

  /* Packed only: entries of arrays by draft (0 with POSITIONS), and by position (with other
   * packings only for target_row_indices). */
  int64_t num_packed_drafts;
  int64_t num_packed_positions;

  /* [num_sequences, num_drafts + 1], packed: [num_packed_positions] The row of `target` for each
   * position. With bonus_row_indices, [num_sequences], which has those of each sequence's last
   * position, target_row_indices is laid out by draft, like draft_token_ids, and required if there
   * may be drafts. NULL: position after position. An index outside makes its sequence bad
   * (INVALID_INDEX) when read. `target` then has any number of rows. */
  const int32_t *target_row_indices;
  const int32_t *bonus_row_indices;

  /* [num_sequences, num_drafts], packed: laid out like draft_token_ids. The row of `draft` that
   * each draft was drawn from. `draft` then has any number of rows. */
  const int32_t *draft_row_indices;

  /* Trees. Each draft's parent, a lower index, -1 for the root: [tree_rows, num_drafts]. Or
   * first_children and next_siblings, [tree_rows, num_drafts + 1]: by position, the position of its
   * first child and of its next sibling, -1 (or 0) for none (SGLang). tree_rows is 1, one tree for
   * all, or num_sequences; 0: num_sequences. A draft with two parents, or in a cycle, makes its
   * sequence bad (INVALID_TREE). NULL: a chain. Dense only.
   *
   * Siblings are tried in order. A rejected one leaves the residual to the next, by
   * acceptance->sibling_rule. BLOCK and DEFERRED are for chains. */
  const int32_t *parents;
  const int32_t *first_children;
  const int32_t *next_siblings;
  int64_t tree_rows;
} sampler_draft_layout;

/* Members shared with sampler_sample_args mean the same.
 *
 * Probabilities are used as given, so they should sum to 1. Rows of logits become probabilities
 * first: temperature and filters, then softmax in f32, exactly as sampler_filter writes them. */
typedef struct sampler_verify_args {
  /* sizeof(sampler_verify_args). */
  size_t struct_size;

  sampler_exec exec;

  /* [num_sequences, num_drafts + 1, num_cols] The target's row at each draft position, then the one
   * after the last draft. target.num_rows is num_sequences * (num_drafts + 1), whatever
   * layout->target_sequence_stride, and determines num_sequences. In rows given as probabilities
   * only the drafts' elements are read before the first rejection; a candidate list is read whole,
   * so that any bad element makes the sequence bad. */
  sampler_rows target;

  /* [num_sequences, num_drafts, num_cols] The distributions that the drafts were drawn from. Its
   * num_cols is the target's. All 0: a deterministic drafter (its draft has probability 1), as with
   * n-gram drafts. A token outside a candidate list has probability 0. */
  sampler_rows draft;

  /* [num_sequences, num_drafts] The draft tokens, of type token_id_type. One outside the
   * vocabulary, [0, num_cols) (candidate lists: [0, 2^20)), is rejected with residual p. Required,
   * unless num_drafts is 0. num_drafts is in [0, 65535]. */
  const void *draft_token_ids;
  int64_t num_drafts;

  /* [num_sequences] Drafts per sequence, in [0, num_drafts]; values outside are clamped and set a
   * status. NULL: num_drafts. */
  const int32_t *draft_counts;

  /* Packed batches, row indices, and trees. NULL: dense chains. */
  const sampler_draft_layout *layout;

  /* [num_sequences] */
  const int32_t *slots;
  int64_t num_slots;

  /* Temperature and filters of rows of logits, target and draft alike. If the target is
   * probabilities the temperature must be 1 or greedy; if the draft is too (or absent), the filters
   * must be off. A violation fails the call; in an array, it makes the sequence bad:
   * SAMPLER_ROW_INVALID_PARAMETER. Greedy: drafts are accepted while they are the target's argmax,
   * and the next token is the argmax too. */
  const sampler_params *params;
  const sampler_row_params *row_params;

  /* Temperature and filters of `draft`. NULL: the target's, which must then have no other stage if
   * the draft is logits. */
  const sampler_params *draft_params;
  const sampler_row_params *draft_row_params;

  /* Stages of the target's rows. At each position the history and adaptive values are as if the
   * drafts before it had been accepted; nothing is changed. token_bitmask_indices is
   * [num_sequences, num_drafts + 1], by position, in trees and packed batches too. */
  const sampler_pipeline *pipeline;

  /* [num_sequences, num_drafts + 1] By position, likewise: the token that is decided there whatever
   * its row and the rule, of token_id_type, as at the end of a thinking budget. A draft that equals
   * it is accepted; else it is emitted, and the drafts after it are rejected. Negative: none. An id
   * outside the row makes the sequence bad (INVALID_PARAMETER) where it is reached. A chain with
   * one is verified by STANDARD instead of BLOCK and DEFERRED, which decide on whole chains. NULL:
   * none. row_params->forced_token_id must be NULL. */
  const void *forced_token_ids;

  /* One offset serves all positions of a sequence. */
  sampler_random random;

  /* The rule and its parameters. NULL, or rule 0: SAMPLER_ACCEPT_STANDARD, the fastest for
   * dense chains. */
  const sampler_acceptance_params *acceptance;

  /* The rule by slot, 0: that of `acceptance`. An unknown constant, or a rule incompatible with the
   * call, makes its sequence bad (INVALID_PARAMETER). NULL: `acceptance` for all. */
  const sampler_acceptance *acceptances;

  /* Type of draft_token_ids and out_token_ids, and of ids in reports. */
  sampler_id_type token_id_type;

  /* 1: counts are added to the two arrays. 0: they overwrite them. */
  int32_t accumulate_counts;

  /* [num_sequences, num_drafts + 1] The accepted drafts, then one token of the target, then -1. All
   * -1 for a bad sequence (the handle's fallback token first, if it has one). Required. */
  void *out_token_ids;

  /* [num_sequences] each; NULL: not wanted. Drafts that would be accepted each on its own, at any
   * position. Positions after the first rejection count only here: nothing there changes a token
   * or, draft ids apart, a status. For trees, and for rules other than STANDARD, it
   * equals out_emitted_counts. */
  int32_t *out_accepted_counts;

  /* Drafts kept before the first rejection: out_token_ids has one token more. */
  int32_t *out_emitted_counts;

  sampler_row_status *out_row_status;

  /* Optional outputs per emitted token, in the order of out_token_ids, from the target's
   * distribution at its position; without a token, as for a bad row. out_values, num_chosen,
   * out_kept_offsets and out_removed_by, with their related members, must be 0. NULL: none. */
  const sampler_report_args *reports;

  /* [num_sequences, num_drafts + 1] Positions where the emitted tokens were decided, 0 first, then
   * -1: the KV cache rows to keep. kv_indices, of the same shape, has a number per position (packed
   * batches too); out_kv_indices has those of out_positions. NULL: not wanted. */
  int32_t *out_positions;
  const int64_t *kv_indices;
  int64_t *out_kv_indices;
} sampler_verify_args;

/* Verifies each sequence's drafts and emits between 1 and num_drafts + 1 tokens. */
SAMPLER_API sampler_status sampler_verify(sampler_t sampler, const sampler_verify_args *args);

/* As sampler_sample_workspace_size. A handle's workspace may have less for long dense chains by the
 * standard rule: their positions are then read one after the other, which takes longer. */
SAMPLER_API sampler_status sampler_verify_workspace_size(sampler_t sampler,
                                                         const sampler_verify_args *args,
                                                         size_t *out_bytes);

/* ---- Residual ------------------------------------------------------------------------------- */

typedef struct sampler_residual_args {
  /* sizeof(sampler_residual_args). */
  size_t struct_size;

  sampler_exec exec;

  /* [num_rows, num_cols] The target's probabilities, p. Used as given, so they should sum to 1. Not
   * candidate lists. */
  sampler_rows target;

  /* [num_rows, num_cols] The draft probabilities, q, of the same shape, used as given. All 0: a
   * deterministic drafter, with its proposals in draft_token_ids. */
  sampler_rows draft;

  /* [num_rows] The tokens of a deterministic drafter, of type token_id_type: q is 1 for them. An id
   * outside [0, num_cols) leaves p as the residual, and sets a status. Required if draft is all 0,
   * else NULL. */
  const void *draft_token_ids;
  sampler_id_type token_id_type;

  /* SAMPLER_F32, or target.dtype. */
  sampler_dtype output_dtype;

  /* [num_rows, num_cols] Probabilities, which sum to 1 up to rounding, exactly 0 where nothing is
   * left; 0 throughout a bad row. Rows start output_stride elements apart, at least num_cols; 0:
   * num_cols. Required. */
  void *output;
  int64_t output_stride;

  /* [num_rows] NULL: not wanted. A row of p or q with a negative, NaN or infinite element is bad;
   * an all-zero p is empty. An all-zero q subtracts nothing. */
  sampler_row_status *out_row_status;
} sampler_residual_args;

/* Writes the distribution after a rejection in sampler_verify: max(p - q, 0) of each row,
 * renormalised, or p where that is 0 everywhere. */
SAMPLER_API sampler_status sampler_residual(sampler_t sampler, const sampler_residual_args *args);

/* As sampler_sample_workspace_size. */
SAMPLER_API sampler_status sampler_residual_workspace_size(sampler_t sampler,
                                                           const sampler_residual_args *args,
                                                           size_t *out_bytes);

#ifdef __cplusplus
}
#endif

#endif /* SAMPLER_SPECULATIVE_H */
