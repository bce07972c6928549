/* State of sequences: tokens, prompt length, counts of each token, and values of adaptive stages.
 * Used by penalties, DRY, n-grams, bad words, min_new_tokens, mirostat, adaptive-p and top-p decay.
 *
 *   sampler_state_append(sampler, &prompt);    once
 *
 *   pipeline.state = state;                    in each step: draw, then accept the drawn token
 *   sampler_sample(sampler, &sample);
 *   sampler_accept(sampler, &accept);
 *
 * A state has a fixed number of slots, one per sequence, in the handle's memory. Drawn tokens enter
 * only by sampler_accept, so drawing twice changes nothing, and a rejected draft leaves no trace.
 * Callers without a state pass the history with each call, as sampler_pipeline.history; both give
 * the same tokens.
 *
 * Counts are sparse: an entry for each distinct token of a slot, never a row of the vocabulary.
 *
 * Only create and destroy take and release memory, and on a CUDA handle serialize and deserialize,
 * for a host copy of the slots; no call needs a workspace. All but create, size, destroy, serialize
 * and deserialize run in stream order; those wait for the device. A call that changes a state must
 * not overlap in time with others that change or read it; a CPU handle refuses such calls, since it
 * serves one at a time. A process forked while a call changed a state may only destroy it.
 *
 * A bad row changes nothing, and affects no other row. A bad slot makes its row bad (INVALID_SLOT).
 * A slot named twice by a call that changes it has undefined contents, other slots do not; on a
 * CUDA handle some of its rows may be bad (INVALID_SLOT). */
#ifndef SAMPLER_STATE_H
#define SAMPLER_STATE_H

#include <stddef.h>
#include <stdint.h>

#include <sampler/export.h>
#include <sampler/handle.h>
#include <sampler/pipeline.h>
#include <sampler/sampling.h>
#include <sampler/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Creation ------------------------------------------------------------------------------- */

typedef struct sampler_state_options {
  /* sizeof(sampler_state_options). */
  size_t struct_size;

  /* In [1, 2^31). */
  int64_t num_slots;

  /* The longest sequence, its prompt included. In [1, 2^31). */
  int64_t max_tokens;

  /* Distinct tokens per slot with counts, 20 bytes each, in [0, max_tokens]; 0: a quarter of
   * max_tokens, at least 64, at most max_tokens. A sequence with more is recounted in each draw:
   * same results, but slower. */
  int64_t max_distinct_tokens;

  /* 1: keeps the adaptive values after each token, 16 bytes each, and truncating restores them. 0:
   * truncating leaves them. */
  int32_t keep_adaptive_values;

  /* Must be 0. */
  int32_t reserved;
} sampler_state_options;

/* Makes a state of empty slots, owned by the handle: destroy it before the handle. All of its
 * memory is written once. On failure *out_state is NULL.
 * Errors: INVALID_ARGUMENT, OUT_OF_MEMORY (the handle's allocator, or the device; or an impossible
 * size), CUDA. */
SAMPLER_API sampler_status sampler_state_create(sampler_t sampler,
                                                const sampler_state_options *options,
                                                sampler_state_t *out_state);

/* Bytes of memory of such a state, device memory included.
 * Errors: INVALID_ARGUMENT, OUT_OF_MEMORY (an impossible size). */
SAMPLER_API sampler_status sampler_state_size(sampler_t sampler,
                                              const sampler_state_options *options,
                                              size_t *out_bytes);

/* NULL is allowed. Work that uses the state must have finished. */
SAMPLER_API void sampler_state_destroy(sampler_state_t state);

/* ---- Sequences ------------------------------------------------------------------------------
 *
 * In all structs: `slots` [num_rows] has the slot of each row; NULL: row i has slot i. num_rows is
 * in [0, 2^31), and without slots at most the number of slots. Arrays are in the handle's memory
 * and read when the work runs. out_row_status [num_rows] may be NULL. Errors: INVALID_ARGUMENT. */

typedef int32_t sampler_token_kind;
enum { SAMPLER_TOKENS_OUTPUT = 0, SAMPLER_TOKENS_PROMPT = 1 };

typedef struct sampler_state_append_args {
  /* sizeof(sampler_state_append_args). */
  size_t struct_size;
  sampler_exec exec;
  sampler_state_t state;
  const int32_t *slots;
  int64_t num_rows;

  /* A list per row: tokens.num_lists is num_rows. All of a row's tokens are appended, or none: its
   * offsets must be valid (INVALID_LIST), the tokens fit (STATE_FULL), and the ids lie in
   * [0, 2^31) (INVALID_LIST). */
  sampler_token_lists tokens;
  sampler_id_type token_id_type;

  /* Prompt tokens after an output token make the row bad (INVALID_LIST). */
  sampler_token_kind token_kind;

  /* [num_rows] Tokens in each slot afterwards; -1 for a bad slot. NULL: not wanted. */
  int32_t *out_lengths;
  sampler_row_status *out_row_status;
} sampler_state_append_args;

/* Appends a prompt, or text not drawn here. Adaptive values do not change. */
SAMPLER_API sampler_status sampler_state_append(sampler_t sampler,
                                                const sampler_state_append_args *args);

typedef struct sampler_accept_args {
  /* sizeof(sampler_accept_args). */
  size_t struct_size;
  sampler_exec exec;
  sampler_state_t state;
  const int32_t *slots;
  int64_t num_rows;

  /* [num_rows, num_tokens] out_token_ids of the draw (num_tokens 1) or of verification. A row ends
   * at its first negative id; with a negative first id nothing happens. All of a row's tokens are
   * accepted, or none: they must fit (STATE_FULL), their ids be below 2^31 (INVALID_LIST), and the
   * slot's adaptive parameters valid (INVALID_PARAMETER), as reported in out_row_status. num_tokens
   * in [1, 2^20]. */
  const void *token_ids;
  int64_t num_tokens;
  sampler_id_type token_id_type;

  /* Must be 0. */
  int32_t reserved;

  /* [num_rows, num_tokens] out_observations of the call that drew the tokens. A NaN updates neither
   * mirostat nor adaptive-p. NULL: all are NaN. */
  const float *observations;

  /* Those of that call: only the adaptive stage, top_p and its decay are read. Arrays by slot are
   * indexed by this call's slots and have an entry per slot of the state. Both NULL: adaptive
   * values do not change. */
  const sampler_params *params;
  const sampler_row_params *row_params;

  /* [slots of the state] In and out: each grows by the number of tokens its slot accepted. May be
   * the draw's sampler_random.offsets, so that a loop of draw and accept needs no host. NULL: the
   * caller updates offsets. */
  uint64_t *offsets;

  /* [num_rows] As in sampler_state_append_args. */
  int32_t *out_lengths;
  sampler_row_status *out_row_status;
} sampler_accept_args;

/* Accepts drawn tokens: they enter history and counts, and each updates the adaptive values, by
 * section 14.2 of docs/contract.md. */
SAMPLER_API sampler_status sampler_accept(sampler_t sampler, const sampler_accept_args *args);

typedef struct sampler_state_truncate_args {
  /* sizeof(sampler_state_truncate_args). */
  size_t struct_size;
  sampler_exec exec;
  sampler_state_t state;
  const int32_t *slots;
  int64_t num_rows;

  /* [num_rows] Tokens to keep. More than there are: all; negative: none. Required. */
  const int32_t *lengths;
  sampler_row_status *out_row_status;
} sampler_state_truncate_args;

/* Removes the tokens after the first `lengths`, as if never appended: the slot's bytes are
 * restored. Prompts may be cut, too. */
SAMPLER_API sampler_status sampler_state_truncate(sampler_t sampler,
                                                  const sampler_state_truncate_args *args);

typedef struct sampler_state_copy_args {
  /* sizeof(sampler_state_copy_args). */
  size_t struct_size;
  sampler_exec exec;

  /* One state, or two of the same handle. */
  sampler_state_t source;
  sampler_state_t destination;

  /* [num_rows] Both required. A source may serve many rows. Within one state no destination may be
   * a source of another row. */
  const int32_t *source_slots;
  const int32_t *destination_slots;
  int64_t num_rows;

  /* STATE_FULL: the source's tokens do not fit in the destination, which is unchanged. */
  sampler_row_status *out_row_status;
} sampler_state_copy_args;

/* Copies sequences: beams, several continuations of a prompt, a larger state. Adaptive values of
 * earlier tokens are copied if both states keep them; if only the destination does, they are the
 * source's current ones. */
SAMPLER_API sampler_status sampler_state_copy(sampler_t sampler,
                                              const sampler_state_copy_args *args);

typedef struct sampler_state_reset_args {
  /* sizeof(sampler_state_reset_args). */
  size_t struct_size;
  sampler_exec exec;
  sampler_state_t state;

  /* NULL and num_rows 0: every slot, and no array is read or written. */
  const int32_t *slots;
  int64_t num_rows;

  /* [num_rows, SAMPLER_NUM_ADAPTIVE_VALUES] Initial values; NaN is the start of its stage, infinity
   * makes the row bad (INVALID_PARAMETER). NULL: all start. */
  const float *adaptive_values;
  sampler_row_status *out_row_status;
} sampler_state_reset_args;

/* Empties slots for new sequences. */
SAMPLER_API sampler_status sampler_state_reset(sampler_t sampler,
                                               const sampler_state_reset_args *args);

typedef struct sampler_state_read_args {
  /* sizeof(sampler_state_read_args). */
  size_t struct_size;
  sampler_exec exec;
  sampler_state_t state;
  const int32_t *slots;
  int64_t num_rows;

  /* [num_rows, num_tokens] The first tokens of each slot, then -1. num_tokens in [0, 2^31). */
  void *out_token_ids;
  int64_t num_tokens;
  sampler_id_type token_id_type;

  /* Must be 0. */
  int32_t reserved;

  /* [num_rows] each; -1 for a bad slot. */
  int32_t *out_lengths;
  int32_t *out_prompt_lengths;

  /* [num_rows, SAMPLER_NUM_ADAPTIVE_VALUES] NaN for a stage not yet started. */
  float *out_adaptive_values;
  sampler_row_status *out_row_status;
} sampler_state_read_args;

/* Reads the contents of slots. NULL outputs are not written. */
SAMPLER_API sampler_status sampler_state_read(sampler_t sampler,
                                              const sampler_state_read_args *args);

/* ---- Serialisation -------------------------------------------------------------------------- */

/* Writes the sequences of slots [first_slot, first_slot + num_slots) into `buffer`, host memory, in
 * a format that is the same on every machine. *out_bytes is the size needed; `buffer` NULL: only
 * that. Waits for the device.
 * Errors: INVALID_ARGUMENT (also a buffer that is too small; *out_bytes is still set). */
SAMPLER_API sampler_status sampler_state_serialize(sampler_t sampler, sampler_state_t state,
                                                   int64_t first_slot, int64_t num_slots,
                                                   void *buffer, size_t buffer_bytes,
                                                   size_t *out_bytes);

/* Replaces the slots from first_slot on by serialised sequences. Every byte is checked; on failure
 * all slots are unchanged. *out_num_slots is the number of slots set; it may be NULL.
 * Errors: INVALID_ARGUMENT (more slots or longer sequences than the state has room
 * for), CORRUPT_DATA. */
SAMPLER_API sampler_status sampler_state_deserialize(sampler_t sampler, sampler_state_t state,
                                                     int64_t first_slot, const void *data,
                                                     size_t data_bytes, int64_t *out_num_slots);

#ifdef __cplusplus
}
#endif

#endif /* SAMPLER_STATE_H */
