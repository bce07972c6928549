/* What every part of libsampler shares: status codes, enumerations, and the three views that calls
 * take: rows, randomness, and where a call runs.
 *
 * Enumerations are 32-bit integers whose constants stand in anonymous enums: a value that a newer
 * library adds never makes an older program's type invalid. */
#ifndef SAMPLER_TYPES_H
#define SAMPLER_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include <sampler/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- What a call returns -------------------------------------------------------------------- */

/* Every function that can fail returns one of these; sampler_last_error() then tells in one line
 * what was wrong. */
typedef int32_t sampler_status;
enum {
  SAMPLER_OK = 0,
  /* An argument breaks a rule of its documentation. Nothing was enqueued, no output written. */
  SAMPLER_ERROR_INVALID_ARGUMENT = 1,
  /* The allocator returned NULL. Creating a handle, a state or a session, a decoding loop as it
   * begins, and an n-gram storage as it learns allocate; nothing else does. */
  SAMPLER_ERROR_OUT_OF_MEMORY = 2,
  /* The handle's or the call's workspace is smaller than the call's _workspace_size tells. */
  SAMPLER_ERROR_WORKSPACE_TOO_SMALL = 3,
  /* The arguments are valid, but this build or device does not offer what they ask for. */
  SAMPLER_ERROR_UNSUPPORTED = 4,
  /* The program was compiled for another ABI of libsampler. */
  SAMPLER_ERROR_ABI_MISMATCH = 5,
  /* The system refused something, such as starting a thread when the handle was created. */
  SAMPLER_ERROR_SYSTEM = 6,
  /* A callback of the caller (parallel_for) broke its contract. The outputs are undefined. */
  SAMPLER_ERROR_CALLBACK = 7,
  /* CUDA reported an error. The outputs are undefined. */
  SAMPLER_ERROR_CUDA = 8,
  /* A fault of libsampler itself, which it caught. The outputs are undefined. */
  SAMPLER_ERROR_INTERNAL = 9,
  /* Serialised data is truncated, damaged or of a newer format. */
  SAMPLER_ERROR_CORRUPT_DATA = 10
};

/* The name of a status, "SAMPLER_ERROR_INVALID_ARGUMENT". Static; never NULL: a number that is no
 * status gives "SAMPLER_STATUS_UNKNOWN". */
SAMPLER_API const char *sampler_status_string(sampler_status status);

/* One line about the last call on this thread that failed: which argument, its value, the rule.
 * Calls that succeed leave it alone. Never NULL, "" before the first failure; valid until the next
 * failing call on this thread. Up to 256 threads have one without any memory being taken; a further
 * one takes it from malloc, and has "" where there is none. */
SAMPLER_API const char *sampler_last_error(void);

/* ---- What became of a row ------------------------------------------------------------------- */

/* Bits of an `out_row_status` entry. A bad row never makes a call fail and never changes another
 * row: it yields token -1 (or the handle's fallback token) and a bit that says why. */
typedef uint32_t sampler_row_status;
enum {
  /* The row is good. */
  SAMPLER_ROW_OK = 0,
  /* A NaN, a +inf logit, or a negative or infinite probability. */
  SAMPLER_ROW_INVALID_VALUE = 1,
  /* No token to choose: every logit is -inf, every probability 0, or there is no candidate. */
  SAMPLER_ROW_EMPTY = 2,
  /* A parameter of this row is NaN, or a temperature or filter that probabilities cannot have. */
  SAMPLER_ROW_INVALID_PARAMETER = 4,
  /* The row's entry of row_indices names no input row, or that of token_bitmask_indices no mask. */
  SAMPLER_ROW_INVALID_INDEX = 8,
  /* candidate_counts is outside [0, num_cols], or a candidate id is outside [0, 2^20) or
   * listed twice. */
  SAMPLER_ROW_INVALID_CANDIDATE = 16,
  /* A draft token id is outside the vocabulary, or a draft length outside [0, num_drafts].
   * Such a draft is rejected; the row is otherwise good and has its outputs. */
  SAMPLER_ROW_INVALID_DRAFT = 32,
  /* The row's entry of slots is outside [0, num_slots). */
  SAMPLER_ROW_INVALID_SLOT = 64,
  /* A list of the row's slot, in the pipeline, has offsets that fall or lie outside of the list's
   * ids, or breaks another rule of pipeline.h. */
  SAMPLER_ROW_INVALID_LIST = 128,
  /* The tokens do not fit in the slot of the state, which is as it was. */
  SAMPLER_ROW_STATE_FULL = 256,
  /* The sequence's drafts hang together in a way that no tree does. */
  SAMPLER_ROW_INVALID_TREE = 512,
  /* The ranks that a row lies on disagree about what its arrays say, or its top_k is above
   * sampler_shard_args.max_top_k. */
  SAMPLER_ROW_INVALID_SHARD = 1024
};

/* ---- Enumerations --------------------------------------------------------------------------- */

/* Where the arrays of a call live. */
typedef int32_t sampler_device_type;
enum {
  SAMPLER_DEVICE_CPU = 0, /* host memory */
  SAMPLER_DEVICE_CUDA = 1 /* memory of the handle's CUDA device */
};

/* Type of the elements of logits and probabilities. All widen exactly to f32 before anything is
 * computed. f16 is IEEE binary16, bf16 the upper half of an f32. */
typedef int32_t sampler_dtype;
enum { SAMPLER_F32 = 0, SAMPLER_F16 = 1, SAMPLER_BF16 = 2 };

/* Type of token ids. */
typedef int32_t sampler_id_type;
enum { SAMPLER_ID_I32 = 0, SAMPLER_ID_I64 = 1 };

/* What the numbers of a row mean. Probabilities are >= 0 and need not sum to 1. */
typedef int32_t sampler_input_kind;
enum { SAMPLER_LOGITS = 0, SAMPLER_PROBABILITIES = 1 };

/* What a filter does with tokens that equal the last kept one in value. */
typedef int32_t sampler_tie_rule;
enum {
  SAMPLER_TIES_EXACT = 0, /* lower ids first, so top-k keeps exactly k */
  SAMPLER_TIES_KEEP = 1   /* all of them are kept (FlashInfer's renorms, Hugging Face's top-k) */
};

/* What the probability of the tokens that top-p or typical-p keeps must do. It differs only where a
 * sum is the share exactly. */
typedef int32_t sampler_sum_rule;
enum {
  SAMPLER_SUM_REACHES = 0, /* be at least the share, so 0.5 keeps 4 of 8 equal tokens */
  SAMPLER_SUM_EXCEEDS = 1  /* be more than the share, so 0.5 keeps 5 of 8 (SGLang's top-p) */
};

/* Which filter sees what. */
typedef int32_t sampler_filter_order;
enum {
  /* top-k; then top-p of the weight that top-k kept; then min-p. */
  SAMPLER_FILTERS_SEQUENTIAL = 0,
  /* Each filter sees the whole row; what all of them keep is kept. */
  SAMPLER_FILTERS_JOINT = 1,
  /* min-p; then top-k; then top-p of the weight that is left (vLLM). */
  SAMPLER_FILTERS_MIN_P_FIRST = 2
};

/* When the temperature applies. The draw always uses it. */
typedef int32_t sampler_temperature_order;
enum {
  SAMPLER_TEMPERATURE_FIRST = 0, /* filters see the row at the temperature */
  SAMPLER_TEMPERATURE_LAST = 1   /* filters see the row at temperature 1 (llama.cpp) */
};

/* How a token is drawn from what the filters kept. Both follow the same distribution. */
typedef int32_t sampler_draw_method;
enum {
  /* One uniform number per row; exact in integers, tails of any size. */
  SAMPLER_DRAW_INVERSE_CDF = 0,
  /* The largest of logit / temperature + Gumbel noise per token: a small change of the logits
   * rarely changes the token. Tails below 2^-30 of the likeliest token are not resolved. */
  SAMPLER_DRAW_GUMBEL = 1
};

/* Of which distribution a log-probability is. */
typedef int32_t sampler_logprob_kind;
enum {
  SAMPLER_LOGPROB_RAW = 0,       /* the whole row, as it is given, at temperature 1 */
  SAMPLER_LOGPROB_PROCESSED = 1, /* what was drawn from: temperature and filters applied */
  SAMPLER_LOGPROB_EDITED = 2     /* the whole row, as its edits left it, at temperature 1 */
};

/* What a filter writes of a row. */
typedef int32_t sampler_output_kind;
enum {
  SAMPLER_OUTPUT_PROBABILITIES = 0, /* of the kept tokens, renormalised; 0 elsewhere */
  SAMPLER_OUTPUT_VALUES = 1         /* of the kept tokens, as they are; -inf elsewhere */
};

/* A CUDA stream (cudaStream_t and CUstream are this type). NULL is the legacy default stream.
 * A CPU handle ignores it. */
typedef struct CUstream_st *sampler_stream;

/* ---- Views ----------------------------------------------------------------------------------
 *
 * Views are passed by value, inside other structs. They never grow, so they have no struct_size.
 * All bits 0 is the default of every member. */

/* Rows of logits or probabilities, each row_stride elements after the one before. Never written. */
typedef struct sampler_rows {
  /* [num_rows, num_cols] Elements of type `dtype`. Required, unless there are no rows. */
  const void *values;

  /* Rows, in [0, 2^31). With 0 a call does nothing. */
  int64_t num_rows;

  /* Columns: the vocabulary, or the room for candidates. In [1, 2^20). */
  int64_t num_cols;

  /* Distance of two rows in elements, at least num_cols. 0: num_cols. */
  int64_t row_stride;

  /* Candidate lists, for engines that hold (id, logit) pairs rather than whole rows.
   * [num_rows, num_cols], laid out like `values`: the token id of each element, in [0, 2^20), in
   * any order, none twice in a row. A list of all ids gives the same token as the row. NULL: the id
   * of an element is its column. */
  const void *candidate_ids;

  /* [num_rows] How many elements each row has, in [0, num_cols]; those that follow are not read.
   * With candidate_ids it is the length of each list, without them of each row. NULL: num_cols. */
  const int32_t *candidate_counts;

  sampler_dtype dtype;
  sampler_input_kind kind;

  /* Type of candidate_ids. */
  sampler_id_type candidate_id_type;

  /* Must be 0. */
  int32_t reserved;
} sampler_rows;

/* Randomness: Philox4x32-10 (Salmon et al. 2011) of (seed, offset, stream). Use each triple once: a
 * sequence takes a seed, or a stream of one, and its position as the offset.
 *
 * Arrays are in the handle's memory, read when the work runs, and indexed by slot: by row where the
 * call has no slots. */
typedef struct sampler_random {
  uint64_t seed;
  uint64_t offset;

  /* [num_seeds], [num_offsets] Each number is 1 (one for all) or the number of slots. NULL and 0:
   * `seed`, `offset`. */
  const uint64_t *seeds;
  const uint64_t *offsets;

  /* [slots] The stream of each: a request id, say, where all share a seed. NULL: the slot's number
   * where one seed serves all, so that they draw independently; 0 where each has its own, so that a
   * row's token depends on its seed and offset alone and not on its place. */
  const uint32_t *streams;

  int64_t num_seeds;
  int64_t num_offsets;
} sampler_random;

/* Where a call runs. */
typedef struct sampler_exec {
  /* Where the work is enqueued. Ignored by a CPU handle. */
  sampler_stream stream;

  /* Memory for the call, of as many bytes as its _workspace_size function tells, or more; any
   * alignment. NULL and 0: the handle's. Calls that share one must not overlap in time: one thread,
   * or one stream. Its contents are undefined before and after a call. */
  void *workspace;
  size_t workspace_bytes;
} sampler_exec;

#ifdef __cplusplus
}
#endif

#endif /* SAMPLER_TYPES_H */
