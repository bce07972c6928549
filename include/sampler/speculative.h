/* Speculative decoding: verification of draft tokens against the target model's distribution, and
 * the distribution that a rejection leaves. simple.h has sampler_chain_speculative in one line.
 *
 * A drafter proposed up to num_drafts tokens per sequence: a chain, or a tree. Position 0 follows
 * the context, position i + 1 follows draft i; the target has a row for each. By the standard rule
 * each draft is accepted with the probability that makes the emitted tokens follow the target's
 * distribution exactly (Leviathan et al. 2023, Chen et al. 2023): draft x is accepted when
 * u * q(x) < p(x), u uniform in [0, 1). At the first rejection a token is drawn from the residual
 * max(p - q, 0); when all drafts were accepted a bonus token is drawn from p at the last position.
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

/* When a draft x is accepted where the target gives it p(x) and the drafter gave it q(x). A greedy
 * row (a temperature of at most 1e-5) accepts the argmax and nothing else, but for RELAXED and
 * SYNTHETIC. */
typedef int32_t sampler_acceptance;
enum {
  /* That of the context: STANDARD in sampler_verify and sampler_speculative, SAMPLE_MATCH in a
   * session. Where a rule is given by slot or by sequence: the one that is given for all. */
  SAMPLER_ACCEPT_DEFAULT = 0,

  /* Lossless: what is emitted follows the target's distribution. */

  SAMPLER_ACCEPT_STANDARD = 1, /* u q(x) < p(x) */

  /* Block verification (Sun et al. 2024): all drafts of a chain are judged together. On average it
   * emits no fewer tokens than STANDARD. */
  SAMPLER_ACCEPT_BLOCK = 2,

  /* The target's own token is drawn as sampler_sample draws it, at offset + i after i drafts, and
   * drafts are accepted while they are that token. Needs nothing of the drafter. The text is, token
   * by token, the one without speculation. */
  SAMPLER_ACCEPT_SAMPLE_MATCH = 3,

  /* Lossy: what is emitted is not of the target's distribution. */

  /* p(x) > min(typical_threshold, typical_scale * exp(-H(p))), without a coin (Cai et al. 2024). */
  SAMPLER_ACCEPT_TYPICAL = 4,

  /* x is one of the relaxed_top_k first tokens and p(x) >= p_max - relaxed_delta; where no draft of
   * a position is, as STANDARD. In a greedy row p is what the edits left, at temperature 1
   * (TensorRT-LLM). */
  SAMPLER_ACCEPT_RELAXED = 5,

  /* p(x) >= threshold_single, or u * threshold_total < the sum of p of x and the siblings tried
   * before it (SGLang). With both at 1 it is lossless for drafts chosen without chance. */
  SAMPLER_ACCEPT_THRESHOLD = 6,

  /* As STANDARD, but a rejected draft of a chain is kept where the target is in doubt and the next
   * deferred_window drafts would be accepted (FLy, arXiv 2511.22972; vLLM). */
  SAMPLER_ACCEPT_DEFERRED = 7,

  /* u < synthetic_rates[i], whatever the rows say: for benchmarks. Behind a rejection a token is
   * drawn from p. */
  SAMPLER_ACCEPT_SYNTHETIC = 8
};

/* The rule that drafts are accepted by, and the numbers of the rules, which sampler_verify,
 * sampler_speculative and sessions take alike. NULL, or all 0: the rule of the context, and the
 * numbers that stand for 0. Numbers of rules that are not used are checked, too. */
typedef struct sampler_acceptance_params {
  /* sizeof(sampler_acceptance_params). */
  size_t struct_size;

  sampler_acceptance rule;

  /* Not NaN, not negative. */
  int32_t relaxed_top_k;   /* 0: 1 */
  float relaxed_delta;     /* a difference of probabilities */
  float typical_threshold; /* 0: 0.09 */
  float typical_scale;     /* 0: 0.3 */
  float threshold_single;  /* 0: 1 */
  float threshold_total;   /* 0: 1 */
  float deferred_entropy;  /* in nats, at least this is doubt. 0: 0.3 */
  int32_t deferred_top_k;  /* of so many first tokens the entropy is taken. 0: 3 */
  int32_t deferred_window; /* 0: min(6, the most drafts of a sequence - 1), at least 1 */

  /* [the most drafts of a sequence] In [0, 1], by the draft's number in its sequence. In host
   * memory, read during the call. Required by SYNTHETIC; NULL: no sequence has that rule. */
  const float *synthetic_rates;
} sampler_acceptance_params;

/* How siblings of a tree were drafted, which decides what a rejection leaves for the next one. */
typedef int32_t sampler_sibling_rule;
enum {
  SAMPLER_SIBLINGS_INDEPENDENT = 0,        /* each was drawn from its own row */
  SAMPLER_SIBLINGS_WITHOUT_REPLACEMENT = 1 /* each from its row without its earlier siblings */
};

/* How the drafts of several sequences lie in memory. */
typedef int32_t sampler_packing;
enum {
  /* Arrays of num_sequences rows of num_drafts, or num_drafts + 1, entries. */
  SAMPLER_PACKING_DENSE = 0,

  /* One after the other. packing_offsets is [num_sequences + 1]: the drafts of sequence s are those
   * from packing_offsets[s] to packing_offsets[s + 1] - 1, its positions begin s later. */
  SAMPLER_PACKING_DRAFTS = 1,

  /* The same without the leading 0: packing_offsets is [num_sequences] (vLLM, V1). */
  SAMPLER_PACKING_DRAFT_ENDS = 2,

  /* The positions of sequence s are those from packing_offsets[s] to packing_offsets[s + 1] - 1,
   * [num_sequences + 1], one more than its drafts. What is laid out by draft has an entry for each
   * position: entry i + 1 is of draft i, entry 0 is not read (vLLM, V2). Its rows of `draft` begin
   * s earlier. */
  SAMPLER_PACKING_POSITIONS = 3
};

/* Where the drafts and rows of a sampler_verify lie, where they are not dense chains, one sequence
 * after the other. All 0, or NULL in sampler_verify_args: they are. Arrays are in the handle's
 * memory and read when the work runs. Dense chains by the standard rule are verified faster without
 * a member of it but the two strides. */
typedef struct sampler_draft_layout {
  /* sizeof(sampler_draft_layout). */
  size_t struct_size;

  /* Dense: distance in elements from one sequence's first row to the next one's, of `target` and of
   * `draft`, at least what the rows of one take. 0: they are contiguous, or there is no draft. */
  int64_t target_sequence_stride;
  int64_t draft_sequence_stride;

  /* Dense: elements of draft_token_ids from one sequence's first to the next one's, at least
   * num_drafts; 0: num_drafts. */
  int64_t draft_token_stride;

  /* Packed batches. num_sequences says how many sequences there are then, and where
   * target_row_indices or bonus_row_indices is given, 0 among them; else 0 is what target.num_rows
   * tells. Sequences have at most num_drafts drafts; one whose offsets fall, lie outside, or are
   * further apart is bad (INVALID_LIST). draft_counts must be NULL then. */
  sampler_packing packing;

  /* 1: the row of `draft` that belongs to draft i is slot * num_drafts + i (vLLM, V2). */
  int32_t draft_rows_by_slot;
  const int32_t *packing_offsets;
  int64_t num_sequences;

  /* Packed only: how many entries there are of what is laid out by draft (0 with POSITIONS), and by
   * position (with the others only where target_row_indices has them). */
  int64_t num_packed_drafts;
  int64_t num_packed_positions;

  /* [num_sequences, num_drafts + 1], packed: [num_packed_positions] The row of `target` that each
   * position reads. With bonus_row_indices, [num_sequences], those of a sequence's last position
   * are there, and target_row_indices, which is required where there may be drafts, is laid out by
   * draft, like draft_token_ids. NULL: position after position. One outside makes its sequence bad
   * (INVALID_INDEX) when it is read. `target` has any number of rows then. */
  const int32_t *target_row_indices;
  const int32_t *bonus_row_indices;

  /* [num_sequences, num_drafts], packed: laid out like draft_token_ids. The row of `draft` that
   * each draft was drawn from. `draft` has any number of rows then. */
  const int32_t *draft_row_indices;

  /* Trees. The node that each draft hangs on, a lower number, -1 the root: [tree_rows, num_drafts].
   * Or first_children and next_siblings, [tree_rows, num_drafts + 1]: by position, the position of
   * its first child and of its next sibling, -1 (or 0) for none (SGLang). tree_rows is 1, one tree
   * for all, or num_sequences; 0: num_sequences. A tree in which a draft hangs on two, or on itself
   * by way of others, makes its sequence bad (INVALID_TREE). NULL: a chain. Dense only.
   *
   * Siblings are tried in their order. At a rejected one what is left for the next is the residual,
   * by sibling_rule of sampler_verify_args. BLOCK and DEFERRED are for chains. */
  const int32_t *parents;
  const int32_t *first_children;
  const int32_t *next_siblings;
  int64_t tree_rows;
} sampler_draft_layout;

/* Members that sampler_sample_args has too mean the same.
 *
 * Probabilities are taken as given, so they should sum to 1. Rows of logits become probabilities
 * first: temperature and filters, then softmax in f32, exactly what sampler_filter writes. */
typedef struct sampler_verify_args {
  /* sizeof(sampler_verify_args). */
  size_t struct_size;

  sampler_exec exec;

  /* [num_sequences, num_drafts + 1, num_cols] The target's row at each draft position, then the one
   * that follows the last draft. target.num_rows is num_sequences * (num_drafts + 1), whatever
   * layout->target_sequence_stride is, and tells num_sequences. Of rows of given probabilities only
   * the drafts' elements are looked at before the first rejection; a candidate list is read whole,
   * so that a bad element anywhere in it makes the sequence bad. */
  sampler_rows target;

  /* [num_sequences, num_drafts, num_cols] The rows that the drafts were drawn from. Its num_cols is
   * the target's. All 0: the drafter was deterministic (its draft has probability 1), as with
   * n-gram drafts. A token that is not in a candidate list has probability 0 there. */
  sampler_rows draft;

  /* [num_sequences, num_drafts] The draft tokens, of type token_id_type. One outside the
   * vocabulary, [0, num_cols) (candidate lists: [0, 2^20)), is rejected, and the residual there is
   * p. Required, unless num_drafts is 0. num_drafts is in [0, 65535]. */
  const void *draft_token_ids;
  int64_t num_drafts;

  /* [num_sequences] How many drafts each sequence has, in [0, num_drafts]; values outside are
   * clamped and set a status. NULL: num_drafts. */
  const int32_t *draft_counts;

  /* Packed batches, rows in other places, and trees. NULL: dense chains. */
  const sampler_draft_layout *layout;

  /* [num_sequences] */
  const int32_t *slots;
  int64_t num_slots;

  /* Temperature and filters of the rows that are logits, target and draft alike. When the target is
   * probabilities the temperature must be 1 or greedy; when the draft is too (or there is none),
   * the filters must be off. A value that is not makes the call fail, an element of an array its
   * sequence: SAMPLER_ROW_INVALID_PARAMETER. Greedy: a draft is accepted while it is the target's
   * argmax, and the token that follows is the argmax too. */
  const sampler_params *params;
  const sampler_row_params *row_params;

  /* Temperature and filters of `draft`. NULL: those of the target, which must then have no other
   * stage where the draft is logits. */
  const sampler_params *draft_params;
  const sampler_row_params *draft_row_params;

  /* The stages of the target's rows. At each position the text, and what adaptive stages remember,
   * are as if the drafts before it had been accepted; nothing is changed. token_bitmask_indices is
   * [num_sequences, num_drafts + 1], by position, in trees and packed batches too. Forced tokens
   * are not verified: forced_token_id must be NULL. */
  const sampler_pipeline *pipeline;

  /* One offset serves all positions of a sequence. */
  sampler_random random;

  /* The rule, and the numbers of the rules. NULL: SAMPLER_ACCEPT_STANDARD, which rule 0 is, too.
   * Dense chains by it are verified faster than by others. */
  const sampler_acceptance_params *acceptance;

  /* The rule by slot, 0: that of `acceptance`. One that is no such constant, or does not go with
   * what the call has, makes its sequence bad (INVALID_PARAMETER). NULL: the same for all. */
  const sampler_acceptance *acceptances;

  /* How siblings of a tree were drafted; 0 without trees. */
  sampler_sibling_rule sibling_rule;

  /* How SAMPLE_MATCH draws. The other rules: INVERSE_CDF. */
  sampler_draw_method draw_method;

  /* Type of draft_token_ids and out_token_ids, and of the ids of reports. */
  sampler_id_type token_id_type;

  /* 1: the counts are added to what the two arrays hold. 0: they overwrite it. */
  int32_t accumulate_counts;

  /* [num_sequences, num_drafts + 1] The accepted drafts, then one token of the target, then -1. For
   * a bad sequence -1 throughout (the handle's fallback token first, if it has one). Required. */
  void *out_token_ids;

  /* [num_sequences] each; NULL: not wanted. Drafts that would be accepted each on its own, wherever
   * they stand. Positions after the first rejection count only here: nothing there changes a token
   * or, draft ids apart, a status. Of trees and of rules but STANDARD it is out_emitted_counts. */
  int32_t *out_accepted_counts;

  /* Drafts kept before the first rejection: out_token_ids has one token more. */
  int32_t *out_emitted_counts;

  sampler_row_status *out_row_status;

  /* What else is told of every emitted token, in the order of out_token_ids: of the target's
   * distribution at its position; as for a bad row where no token stands. out_values, num_chosen,
   * out_kept_offsets and out_removed_by must be 0, and what belongs to them. NULL: nothing. */
  const sampler_report_args *reports;

  /* [num_sequences, num_drafts + 1] The positions that the emitted tokens were decided at, 0 first:
   * the rows of a KV cache to keep. Then -1. kv_indices, of the same shape, has a number for each
   * position (packed batches too); out_kv_indices has those of out_positions. NULL: not wanted. */
  int32_t *out_positions;
  const int64_t *kv_indices;
  int64_t *out_kv_indices;
} sampler_verify_args;

/* Verifies each sequence's chain of drafts and emits between 1 and num_drafts + 1 tokens. */
SAMPLER_API sampler_status sampler_verify(sampler_t sampler, const sampler_verify_args *args);

/* As sampler_sample_workspace_size. */
SAMPLER_API sampler_status sampler_verify_workspace_size(sampler_t sampler,
                                                         const sampler_verify_args *args,
                                                         size_t *out_bytes);

/* ---- Residual ------------------------------------------------------------------------------- */

typedef struct sampler_residual_args {
  /* sizeof(sampler_residual_args). */
  size_t struct_size;

  sampler_exec exec;

  /* [num_rows, num_cols] The target's rows of probabilities, p. Taken as given, so they should sum
   * to 1. Not candidate lists. */
  sampler_rows target;

  /* [num_rows, num_cols] The rows of probabilities that the drafts were drawn from, q, of as many
   * rows and columns, taken as given. All 0: the drafter was deterministic, and draft_token_ids
   * says what it proposed. */
  sampler_rows draft;

  /* [num_rows] The tokens of a deterministic drafter, of type token_id_type: q is 1 for them. Of a
   * row whose id lies outside [0, num_cols) the residual is p, and a status tells. Required where
   * draft is all 0; NULL where it is not. */
  const void *draft_token_ids;
  sampler_id_type token_id_type;

  /* SAMPLER_F32, or target.dtype. */
  sampler_dtype output_dtype;

  /* [num_rows, num_cols] Probabilities, which sum to 1 up to rounding, exactly 0 where nothing is
   * left; 0 in every element of a bad row. Rows start output_stride elements apart, at least
   * num_cols; 0: num_cols. Required. */
  void *output;
  int64_t output_stride;

  /* [num_rows] NULL: not wanted. A row of p or q with an element that is negative, NaN or infinite
   * is bad, and a p that is 0 throughout is empty. A q that is 0 throughout takes nothing off p. */
  sampler_row_status *out_row_status;
} sampler_residual_args;

/* Writes what sampler_verify draws from after a rejection: max(p - q, 0) of each row, renormalised,
 * or p where that is 0 everywhere. */
SAMPLER_API sampler_status sampler_residual(sampler_t sampler, const sampler_residual_args *args);

/* As sampler_sample_workspace_size. */
SAMPLER_API sampler_status sampler_residual_workspace_size(sampler_t sampler,
                                                           const sampler_residual_args *args,
                                                           size_t *out_bytes);

#ifdef __cplusplus
}
#endif

#endif /* SAMPLER_SPECULATIVE_H */
