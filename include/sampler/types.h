/* Shared types of libsampler: status codes, enumerations, and the three views that calls take:
 * rows, random numbers, and a call's stream and workspace.
 *
 * Enumerations are 32-bit integers with constants in anonymous enums: a value added by a newer
 * library never makes an older program's type invalid. */
#ifndef SAMPLER_TYPES_H
#define SAMPLER_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include <sampler/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status codes --------------------------------------------------------------------------- */

/* Returned by every function that can fail; sampler_last_error() then describes the error in
 * one line. */
typedef int32_t sampler_status;
enum {
  SAMPLER_OK = 0,
  /* An argument violates its documentation. Nothing was enqueued, no output written. */
  SAMPLER_ERROR_INVALID_ARGUMENT = 1,
  /* The allocator returned NULL, or the device has no memory left. Only these allocate: functions
   * that create something, decoding loops, n-gram storages that learn or are deserialised, on a
   * CUDA handle the copy that serialises a state, and, by malloc, detectors of watermarks. */
  SAMPLER_ERROR_OUT_OF_MEMORY = 2,
  /* The handle's or the call's workspace is smaller than the call's _workspace_size. */
  SAMPLER_ERROR_WORKSPACE_TOO_SMALL = 3,
  /* The arguments are valid, but not supported by this build or device. */
  SAMPLER_ERROR_UNSUPPORTED = 4,
  /* The program was compiled for another ABI of libsampler. */
  SAMPLER_ERROR_ABI_MISMATCH = 5,
  /* A system call failed, such as starting a thread when the handle was created. */
  SAMPLER_ERROR_SYSTEM = 6,
  /* A callback (parallel_for) broke its contract. The outputs are undefined. */
  SAMPLER_ERROR_CALLBACK = 7,
  /* CUDA reported an error. The outputs are undefined. */
  SAMPLER_ERROR_CUDA = 8,
  /* A bug in libsampler, which it caught. The outputs are undefined. */
  SAMPLER_ERROR_INTERNAL = 9,
  /* Serialised data is truncated, damaged or of a newer format. */
  SAMPLER_ERROR_CORRUPT_DATA = 10
};

/* The name of a status, such as "SAMPLER_ERROR_INVALID_ARGUMENT". Static; never NULL:
 * "SAMPLER_STATUS_UNKNOWN" for an unknown number. */
SAMPLER_API const char *sampler_status_string(sampler_status status);

/* One line about the last failed call on this thread: the argument, its value, the rule. Successful
 * calls do not change it. Never NULL, "" before the first failure; valid until the next failing
 * call on this thread. Up to 256 threads need no allocation; further threads call malloc, and have
 * "" if it fails. */
SAMPLER_API const char *sampler_last_error(void);

/* ---- Row status ----------------------------------------------------------------------------- */

/* Bits of an `out_row_status` entry. A bad row never makes a call fail and never changes another
 * row: it yields token -1 (or the handle's fallback token) and a bit with the reason. */
typedef uint32_t sampler_row_status;
enum {
  /* The row is good. */
  SAMPLER_ROW_OK = 0,
  /* A NaN, a +inf logit, or a negative or infinite probability. */
  SAMPLER_ROW_INVALID_VALUE = 1,
  /* No token to choose: every logit is -inf, every probability 0, or there is no candidate. */
  SAMPLER_ROW_EMPTY = 2,
  /* A parameter of this row is NaN, or a temperature or filter not allowed with probabilities. */
  SAMPLER_ROW_INVALID_PARAMETER = 4,
  /* The row's entry in row_indices names no input row, or that in token_bitmask_indices no mask.
   * sampler_unmask's blocks: block_offsets do not ascend within the rows. */
  SAMPLER_ROW_INVALID_INDEX = 8,
  /* candidate_counts is outside [0, num_cols], or a candidate id is outside [0, 2^20)
   * or duplicated. */
  SAMPLER_ROW_INVALID_CANDIDATE = 16,
  /* A draft token id is outside the vocabulary, or a draft length outside [0, num_drafts]. The
   * draft is rejected; the row is otherwise good and has its outputs. */
  SAMPLER_ROW_INVALID_DRAFT = 32,
  /* The row's slot is outside [0, num_slots). */
  SAMPLER_ROW_INVALID_SLOT = 64,
  /* A pipeline list of the row's slot has offsets that decrease or lie outside the list's ids, or
   * breaks another rule of pipeline.h. */
  SAMPLER_ROW_INVALID_LIST = 128,
  /* The tokens do not fit in the state's slot, which is unchanged. */
  SAMPLER_ROW_STATE_FULL = 256,
  /* The draft tree is malformed. */
  SAMPLER_ROW_INVALID_TREE = 512,
  /* The ranks of a sharded row disagree about the contents of its arrays, or its top_k is
   * above sampler_shard_args.max_top_k. */
  SAMPLER_ROW_INVALID_SHARD = 1024
};

/* ---- Enumerations --------------------------------------------------------------------------- */

/* Memory of a call's arrays. */
typedef int32_t sampler_device_type;
enum {
  SAMPLER_DEVICE_CPU = 0, /* host memory */
  SAMPLER_DEVICE_CUDA = 1 /* memory of the handle's CUDA device */
};

/* Element type of logits and probabilities. All widen exactly to f32 before any computation. f16 is
 * IEEE binary16, bf16 the upper half of an f32. */
typedef int32_t sampler_dtype;
enum { SAMPLER_F32 = 0, SAMPLER_F16 = 1, SAMPLER_BF16 = 2 };

/* Type of token ids. */
typedef int32_t sampler_id_type;
enum { SAMPLER_ID_I32 = 0, SAMPLER_ID_I64 = 1 };

/* Meaning of a row's values. Probabilities are >= 0 and need not sum to 1. */
typedef int32_t sampler_input_kind;
enum { SAMPLER_LOGITS = 0, SAMPLER_PROBABILITIES = 1 };

/* How a filter treats tokens that tie with the last kept one. */
typedef int32_t sampler_tie_rule;
enum {
  SAMPLER_TIES_EXACT = 0, /* lower ids first, so top-k keeps exactly k */
  SAMPLER_TIES_KEEP = 1   /* keeps all ties (FlashInfer's renorms, Hugging Face's top-k) */
};

/* How the kept probability of top-p or typical-p compares with the threshold. Matters only where a
 * sum equals the threshold exactly. */
typedef int32_t sampler_sum_rule;
enum {
  SAMPLER_SUM_REACHES = 0, /* at least the threshold, so 0.5 keeps 4 of 8 equal tokens */
  SAMPLER_SUM_EXCEEDS = 1  /* above the threshold, so 0.5 keeps 5 of 8 (SGLang's top-p) */
};

/* How top-k, top-p and min-p combine. */
typedef int32_t sampler_filter_order;
enum {
  /* top-k; then top-p of the weight that top-k kept; then min-p. */
  SAMPLER_FILTERS_SEQUENTIAL = 0,
  /* Each filter sees the whole row; the intersection is kept. */
  SAMPLER_FILTERS_JOINT = 1,
  /* min-p; then top-k; then top-p of the remaining weight (vLLM). */
  SAMPLER_FILTERS_MIN_P_FIRST = 2
};

/* When the temperature applies. The draw always uses it. */
typedef int32_t sampler_temperature_order;
enum {
  SAMPLER_TEMPERATURE_FIRST = 0, /* filters see the row at the temperature */
  SAMPLER_TEMPERATURE_LAST = 1   /* filters see the row at temperature 1 (llama.cpp) */
};

/* How a token is drawn from the kept ones. All follow the same distribution. */
typedef int32_t sampler_draw_method;
enum {
  /* One uniform number per row; exact in integers, resolves tails of any size. */
  SAMPLER_DRAW_INVERSE_CDF = 0,
  /* Argmax of logit / temperature + Gumbel noise per token: a small change of the logits rarely
   * changes the token. Tails below 2^-30 of the likeliest token are not resolved. */
  SAMPLER_DRAW_GUMBEL = 1,
  /* GUMBEL with the random words of a watermark: seeds, offsets and streams are those of
   * sampler_watermark_random (watermark.h). sampler_sample only, of shards too. */
  SAMPLER_DRAW_WATERMARK = 2
};

/* The distribution of a log-probability. */
typedef int32_t sampler_logprob_kind;
enum {
  SAMPLER_LOGPROB_RAW = 0,       /* the whole row, as given, at temperature 1 */
  SAMPLER_LOGPROB_PROCESSED = 1, /* the distribution drawn from: temperature and filters applied */
  SAMPLER_LOGPROB_EDITED = 2     /* the whole row, after its edits, at temperature 1 */
};

/* Output of a filter. */
typedef int32_t sampler_output_kind;
enum {
  SAMPLER_OUTPUT_PROBABILITIES = 0, /* probabilities of kept tokens, renormalised; 0 elsewhere */
  SAMPLER_OUTPUT_VALUES = 1         /* values of kept tokens, unchanged; -inf elsewhere */
};

/* A CUDA stream (the type of cudaStream_t and CUstream). NULL is the legacy default stream. A CPU
 * handle ignores it. */
typedef struct CUstream_st *sampler_stream;

/* ---- Views ----------------------------------------------------------------------------------
 *
 * Views are passed by value, inside other structs. They never grow, so they have no struct_size.
 * All bits 0 is the default of every member. */

/* Rows of logits or probabilities, row_stride elements apart. Never written. */
typedef struct sampler_rows {
  /* [num_rows, num_cols] Elements of type `dtype`. Required, unless num_rows is 0. */
  const void *values;

  /* Rows, in [0, 2^31). 0: the call does nothing. */
  int64_t num_rows;

  /* Columns: the vocabulary, or the capacity for candidates. In [1, 2^20). */
  int64_t num_cols;

  /* Elements from one row to the next, at least num_cols. 0: num_cols. */
  int64_t row_stride;

  /* [num_rows, num_cols] Candidate lists, for engines that hold (id, logit) pairs instead of whole
   * rows. Laid out like `values`: the token id of each element, in [0, 2^20), in any order,
   * distinct within a row. A list of all ids gives the same token as the row. NULL: an element's id
   * is its column. */
  const void *candidate_ids;

  /* [num_rows] Elements of each row, in [0, num_cols]; later ones are not read. The length of each
   * list with candidate_ids, of each row without. NULL: num_cols. */
  const int32_t *candidate_counts;

  sampler_dtype dtype;
  sampler_input_kind kind;

  /* Type of candidate_ids. */
  sampler_id_type candidate_id_type;

  /* Must be 0. */
  int32_t reserved;
} sampler_rows;

/* Random numbers: Philox4x32-10 (Salmon et al. 2011) of (seed, offset, stream). Use each triple
 * once: a sequence takes a seed, or a stream of one, and its position as the offset.
 *
 * Arrays are in the handle's memory, read when the work runs, and indexed by slot, or by row in
 * calls without slots. */
typedef struct sampler_random {
  uint64_t seed;
  uint64_t offset;

  /* [num_seeds], [num_offsets] Each count is 1 (one for all) or the number of slots. NULL and 0:
   * `seed`, `offset`. */
  const uint64_t *seeds;
  const uint64_t *offsets;

  /* [slots] Stream of each slot, such as a request id where all share a seed. NULL: the slot's
   * number with a shared seed, so that slots draw independently; 0 with a seed per slot, so that a
   * token depends on its seed and offset alone, not on its place. */
  const uint32_t *streams;

  int64_t num_seeds;
  int64_t num_offsets;
} sampler_random;

/* Stream and workspace of a call. */
typedef struct sampler_exec {
  /* Stream of the work. Ignored by a CPU handle. */
  sampler_stream stream;

  /* Memory for the call, at least as many bytes as its _workspace_size function returns; any
   * alignment. NULL and 0: the handle's. Calls that share a workspace must not overlap in time: one
   * thread, or one stream. Its contents are undefined before and after a call. */
  void *workspace;
  size_t workspace_bytes;
} sampler_exec;

#ifdef __cplusplus
}
#endif

#endif /* SAMPLER_TYPES_H */
