/* Unmasking: the step of a diffusion language model after sampling.
 *
 * Such a model predicts all masked positions of a block at once. sampler_sample draws a candidate
 * for each; sampler_unmask decides which candidates stand, and writes them in place of the mask
 * token. The model then runs again with the block as it is now.
 *
 *   sampler_report_args reports = {0};      what the confidence is made of
 *   reports.struct_size = sizeof reports;
 *   reports.out_logprobs = logprobs;
 *   sample.reports = &reports;
 *   status = sampler_sample(sampler, &sample);
 *
 *   sampler_unmask_args args = {0};
 *   args.struct_size = sizeof args;
 *   args.num_rows = num_blocks * 32;        one row per position
 *   args.num_blocks = num_blocks;
 *   args.candidate_token_ids = candidates;  sample.out_token_ids
 *   args.candidate_status = row_status;     sample.out_row_status
 *   args.scores = logprobs;
 *   args.token_ids = token_ids;             int32_t, [num_rows], read and written
 *   sampler_unmask_params params = {0};
 *   params.struct_size = sizeof params;
 *   params.mask_token_id = mask_token_id;
 *   params.num_committed = 1;               at least one a step,
 *   params.threshold = 0.95f;               and all that the model is sure of
 *   args.params = &params;
 *   args.out_masked_counts = num_left;      0: the block is done
 *   status = sampler_unmask(sampler, &args);
 *
 * Rows of a block need random numbers of their own: sampler_sample draws rows that share a slot,
 * or a seed, an offset and a stream, with one word. Give each row a slot (slots NULL), or streams
 * that differ within a block; another offset at every step.
 *
 * Arithmetic: section 18 of docs/contract.md. What engines call their rules: docs/diffusion.md. */
#ifndef SAMPLER_UNMASK_H
#define SAMPLER_UNMASK_H

#include <stddef.h>
#include <stdint.h>

#include <sampler/export.h>
#include <sampler/handle.h>
#include <sampler/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What orders a block's candidates: the most confident first, of equal ones the earlier row. */
typedef int32_t sampler_confidence;
enum {
  /* The candidate's probability: LLaDA's low_confidence, Dream's maskgit_plus, SGLang, LMDeploy.
   * Scores are log-probabilities, out_logprobs. */
  SAMPLER_CONFIDENCE_PROBABILITY = 0,
  /* The likeliest token's probability less the second's: Dream's topk_margin. Scores are
   * out_top_logprobs of at least two tokens; score_stride is num_top_logprobs. */
  SAMPLER_CONFIDENCE_MARGIN = 1,
  /* Minus the entropy: Dream's entropy, and the EB sampler. Scores are out_entropies. */
  SAMPLER_CONFIDENCE_ENTROPY = 2,
  /* The score as it is, +-inf too. A threshold that is on is above 0. */
  SAMPLER_CONFIDENCE_GIVEN = 3,
  /* A uniform random number in [0, 1): LLaDA's random, Dream's origin. No scores. */
  SAMPLER_CONFIDENCE_RANDOM = 4,
  /* Minus the row's number in its block: LMDeploy's sequential. No scores. */
  SAMPLER_CONFIDENCE_POSITION = 5
};

/* What happened to a row's token. */
typedef int32_t sampler_unmask_change;
enum {
  SAMPLER_UNMASK_KEPT = 0,      /* nothing: masked still, or a token as before */
  SAMPLER_UNMASK_COMMITTED = 1, /* the candidate took the mask's place */
  SAMPLER_UNMASK_EDITED = 2     /* the candidate took another token's place */
};

/* The rules by which candidates stand. */
typedef struct sampler_unmask_params {
  /* sizeof(sampler_unmask_params). */
  size_t struct_size;

  /* Tokens that are mask_token_id, at least 0, are masked; a candidate that is it never stands. */
  int64_t mask_token_id;

  /* Positions of a whole block, for texts of a session, see sampler_session_add_args; else 0. */
  int64_t block_length;

  sampler_confidence confidence;

  /* Draws the order, without replacement, by softmax(confidence / order_temperature): Dream's
   * alg_temp. At most 1e-5: strictly by confidence. At most 2^64. Not NaN. Off with RANDOM and
   * POSITION. */
  float order_temperature;

  /* Commits every row whose confidence is above it (SGLang, LMDeploy's dynamic rule), with ENTROPY
   * every row whose entropy is below it. <= 0: off, and below 0 an error with GIVEN, whose scores
   * may be negative. Not NaN. Off with POSITION. */
  float threshold;

  /* ENTROPY: commits rows as long as the sum of the entropies before them, in nats, each at most
   * 16, is at most the bound; so at least one (the EB sampler, Ben-Hamu et al. 2025). <= 0: off.
   * Not NaN. Off with other confidences. */
  float entropy_bound;

  /* Puts candidates in the place of other tokens than the mask, where they differ and the
   * confidence is above it (with ENTROPY the entropy below): LLaDA 2.1's edits. <= 0: off, with
   * GIVEN as above. Not NaN. Off with RANDOM and POSITION. */
  float edit_threshold;

  /* Commits at least the first num_committed rows of the order. <= 0: none by number. */
  int32_t num_committed;

  /* Commits at least the first ceil(masked / num_steps_left) rows, which fills the block in
   * num_steps_left steps: LLaDA's schedule, and Hugging Face's of num_transfer_tokens. <= 0: off.
   * In a session: the steps of each block. */
  int32_t num_steps_left;

  /* For texts of a session. 0: blocks begin at multiples of block_length, so that the first one may
   * have prompt tokens (SDAR, LLaDA 2). 1: the first one begins after the prompt (LLaDA, Dream). */
  int32_t blocks_after_prompt;
} sampler_unmask_params;

typedef struct sampler_unmask_args {
  /* sizeof(sampler_unmask_args). */
  size_t struct_size;

  sampler_exec exec;

  /* Positions of all blocks, in [0, 2^31). */
  int64_t num_rows;

  /* [num_blocks + 1] Block b has the rows [block_offsets[b], block_offsets[b + 1]), which may be
   * none. Offsets ascend, in [0, num_rows]; where any does not, all blocks are bad (INVALID_INDEX)
   * and no row is written. Rows of no block are neither read nor written. NULL: blocks of
   * num_rows / num_blocks rows, without a rest. */
  const int64_t *block_offsets;

  /* In [0, 65536]. */
  int64_t num_blocks;

  /* Type of candidate_token_ids and token_ids. */
  sampler_id_type token_id_type;
  int32_t reserved; /* must be 0 */

  /* NULL: all 0. */
  const sampler_unmask_params *params;

  /* [num_rows] A candidate for each row. A negative one never stands. Required. */
  const void *candidate_token_ids;

  /* [num_rows] SAMPLER_ROW_ bits. The candidate of a bad row never stands, nor that of a row with a
   * NaN score. NULL: no other row is bad. Give it where a bad row has a fallback token. */
  const sampler_row_status *candidate_status;

  /* [num_rows, score_stride] The first score of each row is read, with MARGIN the first two.
   * Required, or NULL, as params->confidence says. */
  const float *scores;

  /* In elements. 0: 1, with MARGIN 2. */
  int64_t score_stride;

  /* [num_rows] The positions' tokens, read and written. NULL: all rows are masked,
   * params->mask_token_id must be 0, and edit_threshold off. */
  void *token_ids;

  /* [num_rows] As in sampler_sample_args, for RANDOM and order_temperature; the candidate of a row
   * with an invalid slot does not stand then. Random numbers follow from the slot and the row's
   * place in its block: rows of a block may share a slot, blocks should not. */
  const int32_t *slots;
  int64_t num_slots;
  sampler_random random;

  /* [num_blocks] num_committed and num_steps_left of each block. In host memory with the
   * handle's host_parameters. NULL: those of `params`. */
  const int32_t *block_num_committed;
  const int32_t *block_num_steps_left;

  /* [num_rows] What happened to each row: a SAMPLER_UNMASK_ constant. NULL: not wanted. */
  uint8_t *out_changes;

  /* [num_rows] The confidences; NaN where there is none. NULL: not wanted. */
  float *out_confidences;

  /* [num_blocks] Rows committed, rows edited, and rows that are masked still: 0 when the block is
   * done. A bad block has 0, 0 and -1. NULL: not wanted. */
  int32_t *out_committed_counts;
  int32_t *out_edited_counts;
  int32_t *out_masked_counts;

  /* [num_blocks] SAMPLER_ROW_ bits of each block. NULL: not wanted. */
  sampler_row_status *out_block_status;
} sampler_unmask_args;

/* Commits the candidates that each block's rules let stand: at least the number asked for, and all
 * that the threshold or the entropy bound lets through. INVALID_ARGUMENT, WORKSPACE_TOO_SMALL,
 * CUDA, INTERNAL. A block with masked rows may commit none, if no candidate can stand, or neither
 * number nor bound is set. */
SAMPLER_API sampler_status sampler_unmask(sampler_t sampler, const sampler_unmask_args *args);

/* As sampler_sample_workspace_size. 0, but for a CUDA handle with host_parameters. */
SAMPLER_API sampler_status sampler_unmask_workspace_size(sampler_t sampler,
                                                         const sampler_unmask_args *args,
                                                         size_t *out_bytes);

#ifdef __cplusplus
}
#endif

#endif /* SAMPLER_UNMASK_H */
