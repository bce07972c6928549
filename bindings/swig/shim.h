/* What the bindings made by SWIG call in place of libsampler: a handful of functions that take
 * structs by address, so that none of them knows members.
 *
 * A language builds the headers' structs itself, in memory of its own that does not move during a
 * call, laid out as C does on a 64-bit machine: structs_of() and paths_of() of generate.py read
 * that layout from the headers. Go has structs of the same layout (raw/structs.go); where a
 * language has none, members are written at their offsets. For a call it
 *   - sets all members, struct_size included; those that it leaves out are 0;
 *   - sets pointers to the addresses of arrays, which stay where they are until the call returns,
 *     or of device memory; `params` and `row_params` to the addresses of such structs;
 *   - gives shim_call the address of the argument struct.
 *
 * The text of a failed call is kept in the handle, since the caller may be on another thread when
 * it asks for it.
 *
 * This file is copied into each generated wrapper, where SWIG declares what is not under SWIG. */
/* Room for the text of an error. */
#define SHIM_ERROR_BYTES 512

#ifndef SWIG
#include <sampler/sampler.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A sampler, and what became of its last call. Serves one call at a time. */
typedef struct shim_handle {
  sampler_t sampler;
  sampler_status status; /* of the last call that failed */
  int32_t log_level;     /* of the line that was logged last and not taken yet; -1: none */
  char error[SHIM_ERROR_BYTES];
  char line[SHIM_ERROR_BYTES];
} shim_handle;

/* A call logs one line at most: the language takes it when the call has returned, since it may not
 * be called back while its arrays are pinned. */
static inline void shim_log(void *user, sampler_log_level level, const char *message) {
  shim_handle *const handle = (shim_handle *)user;
  handle->log_level = level;
  snprintf(handle->line, sizeof handle->line, "%s", message);
}

/* 0 or minus the status, whose text the handle keeps. */
static inline int64_t shim_finish(shim_handle *handle, sampler_status status) {
  if (status != SAMPLER_OK && handle) {
    handle->status = status;
    snprintf(handle->error, sizeof handle->error, "%s", sampler_last_error());
  }
  return -(int64_t)status;
}

#endif

/* The address of a struct. */
typedef uintptr_t shim_address;

/* The full calls. */
#define SHIM_SAMPLE 0
#define SHIM_FILTER 1
#define SHIM_SELECT 2
#define SHIM_VERIFY 3
#define SHIM_RESIDUAL 4
#define SHIM_SCORE 5
#define SHIM_UNMASK 6

/* Those of states, which need no workspace. */
#define SHIM_STATE_APPEND 7
#define SHIM_ACCEPT 8
#define SHIM_STATE_TRUNCATE 9
#define SHIM_STATE_COPY 10
#define SHIM_STATE_RESET 11
#define SHIM_STATE_READ 12

#ifndef SWIG
static inline sampler_status shim_call_state(sampler_t sampler, int32_t operation, const void *a) {
  switch (operation) {
    case SHIM_STATE_APPEND:
      return sampler_state_append(sampler, a);
    case SHIM_ACCEPT:
      return sampler_accept(sampler, a);
    case SHIM_STATE_TRUNCATE:
      return sampler_state_truncate(sampler, a);
    case SHIM_STATE_COPY:
      return sampler_state_copy(sampler, a);
    case SHIM_STATE_RESET:
      return sampler_state_reset(sampler, a);
    case SHIM_STATE_READ:
      return sampler_state_read(sampler, a);
  }
  return SAMPLER_ERROR_INTERNAL;
}
#endif

/* `args` is the argument struct of the operation, one of the above. With `only_size` 0 it calls;
 * else it returns the bytes of workspace that the call needs. Minus the status where either
 * fails. */
static inline int64_t shim_call(shim_handle *handle, int32_t only_size, int32_t operation,
                                shim_address args) {
  const sampler_t sampler = handle ? handle->sampler : NULL;
  const void *const a = (const void *)args;
  sampler_status status = SAMPLER_ERROR_INTERNAL;
  size_t bytes = 0;
  switch (operation) {
    case SHIM_SAMPLE:
      status = only_size ? sampler_sample_workspace_size(sampler, a, &bytes)
                         : sampler_sample(sampler, a);
      break;
    case SHIM_FILTER:
      status = only_size ? sampler_filter_workspace_size(sampler, a, &bytes)
                         : sampler_filter(sampler, a);
      break;
    case SHIM_SELECT:
      status = only_size ? sampler_select_workspace_size(sampler, a, &bytes)
                         : sampler_select(sampler, a);
      break;
    case SHIM_VERIFY:
      status = only_size ? sampler_verify_workspace_size(sampler, a, &bytes)
                         : sampler_verify(sampler, a);
      break;
    case SHIM_RESIDUAL:
      status = only_size ? sampler_residual_workspace_size(sampler, a, &bytes)
                         : sampler_residual(sampler, a);
      break;
    case SHIM_SCORE:
      status =
          only_size ? sampler_score_workspace_size(sampler, a, &bytes) : sampler_score(sampler, a);
      break;
    case SHIM_UNMASK:
      status = only_size ? sampler_unmask_workspace_size(sampler, a, &bytes)
                         : sampler_unmask(sampler, a);
      break;
    default:
      status = only_size ? SAMPLER_OK : shim_call_state(sampler, operation, a);
  }
  return status == SAMPLER_OK ? (int64_t)bytes : shim_finish(handle, status);
}

/* `options` is a sampler_options; with `keeps_log` shim_log_level and shim_log_line give what the
 * sampler logs. NULL when there is no memory. Else a handle, which shim_destroy must be given even
 * when its status is not SAMPLER_OK: then it holds the error's text and no sampler. */
static inline shim_handle *shim_create(shim_address options, int32_t keeps_log) {
  shim_handle *handle = (shim_handle *)calloc(1, sizeof(shim_handle));
  if (handle) {
    sampler_options given = *(const sampler_options *)options;
    handle->log_level = -1;
    if (keeps_log) {
      given.log = shim_log;
      given.log_user = handle;
    }
    shim_finish(handle, sampler_create(&given, &handle->sampler));
  }
  return handle;
}

static inline void shim_destroy(shim_handle *handle) {
  if (handle) sampler_destroy(handle->sampler);
  free(handle);
}

/* Status and text of the last call with this handle that failed; SAMPLER_OK and "" before. */
static inline int32_t shim_status(shim_handle *handle) {
  return handle ? handle->status : SAMPLER_ERROR_INVALID_ARGUMENT;
}

static inline const char *shim_error(shim_handle *handle) {
  return handle ? handle->error : "handle is NULL; it is required";
}

/* The level of what the last call logged, once; -1: nothing. */
static inline int32_t shim_log_level(shim_handle *handle) {
  const int32_t level = handle->log_level;
  handle->log_level = -1;
  return level;
}

/* The line itself, which stays until the next one is logged. */
static inline const char *shim_log_line(shim_handle *handle) {
  return handle->line;
}

/* The address of a sampler_state, made by `options`, a sampler_state_options; shim_state_destroy
 * must be given it before shim_destroy the handle. 0 on failure. */
static inline shim_address shim_state_create(shim_handle *handle, shim_address options) {
  sampler_state_t state = NULL;
  shim_finish(handle, sampler_state_create(handle ? handle->sampler : NULL,
                                           (const sampler_state_options *)options, &state));
  return (shim_address)state;
}

static inline void shim_state_destroy(shim_address state) {
  sampler_state_destroy((sampler_state_t)state);
}

/* The bytes that such a state takes; minus the status. */
static inline int64_t shim_state_size(shim_handle *handle, shim_address options) {
  size_t bytes = 0;
  const sampler_status status = sampler_state_size(handle ? handle->sampler : NULL,
                                                   (const sampler_state_options *)options, &bytes);
  return status == SAMPLER_OK ? (int64_t)bytes : shim_finish(handle, status);
}

/* Writes `num_slots` sequences from `first_slot` on into the buffer at an address, or where that is
 * 0 nothing. The bytes that they take; minus the status. */
static inline int64_t shim_state_serialize(shim_handle *handle, shim_address state,
                                           int64_t first_slot, int64_t num_slots,
                                           shim_address buffer, int64_t buffer_bytes) {
  size_t bytes = 0;
  const sampler_status status =
      sampler_state_serialize(handle ? handle->sampler : NULL, (sampler_state_t)state, first_slot,
                              num_slots, (void *)buffer, (size_t)buffer_bytes, &bytes);
  return status == SAMPLER_OK ? (int64_t)bytes : shim_finish(handle, status);
}

/* How many slots were set from the bytes at `data`; minus the status. */
static inline int64_t shim_state_deserialize(shim_handle *handle, shim_address state,
                                             int64_t first_slot, shim_address data,
                                             int64_t data_bytes) {
  int64_t num_slots = 0;
  const sampler_status status =
      sampler_state_deserialize(handle ? handle->sampler : NULL, (sampler_state_t)state, first_slot,
                                (const void *)data, (size_t)data_bytes, &num_slots);
  return status == SAMPLER_OK ? num_slots : shim_finish(handle, status);
}

/* The address of a sampler_session, made by `options`, a sampler_session_options;
 * shim_session_destroy must be given it before shim_destroy the handle, which serves no other call
 * while a session's call runs. 0 on failure. */
static inline shim_address shim_session_create(shim_handle *handle, shim_address options) {
  sampler_session_t session = NULL;
  shim_finish(handle, sampler_session_create(handle ? handle->sampler : NULL,
                                             (const sampler_session_options *)options, &session));
  return (shim_address)session;
}

static inline void shim_session_destroy(shim_address session) {
  sampler_session_destroy((sampler_session_t)session);
}

/* The bytes that such a session takes; minus the status. */
static inline int64_t shim_session_size(shim_handle *handle, shim_address options) {
  size_t bytes = 0;
  const sampler_status status = sampler_session_size(
      handle ? handle->sampler : NULL, (const sampler_session_options *)options, &bytes);
  return status == SAMPLER_OK ? (int64_t)bytes : shim_finish(handle, status);
}

/* The number of the new sequence; minus the status. */
static inline int64_t shim_session_add(shim_handle *handle, shim_address session,
                                       shim_address args) {
  int32_t sequence = -1;
  const sampler_status status = sampler_session_add(
      (sampler_session_t)session, (const sampler_session_add_args *)args, &sequence);
  return status == SAMPLER_OK ? sequence : shim_finish(handle, status);
}

static inline int64_t shim_session_fork(shim_handle *handle, shim_address session,
                                        shim_address args) {
  int32_t sequence = -1;
  const sampler_status status = sampler_session_fork(
      (sampler_session_t)session, (const sampler_session_fork_args *)args, &sequence);
  return status == SAMPLER_OK ? sequence : shim_finish(handle, status);
}

/* 0, or minus the status, here and below. */
static inline int64_t shim_session_remove(shim_handle *handle, shim_address session,
                                          int32_t sequence) {
  return shim_finish(handle, sampler_session_remove((sampler_session_t)session, sequence));
}

/* `out_sequence` is a sampler_session_sequence with its struct_size set. */
static inline int64_t shim_session_get(shim_handle *handle, shim_address session, int32_t sequence,
                                       shim_address out_sequence) {
  return shim_finish(handle, sampler_session_get((sampler_session_t)session, sequence,
                                                 (sampler_session_sequence *)out_sequence));
}

static inline int64_t shim_session_plan(shim_handle *handle, shim_address session,
                                        shim_address args) {
  return shim_finish(handle, sampler_session_plan((sampler_session_t)session,
                                                  (const sampler_session_plan_args *)args));
}

/* Copies a text, or a span's tokens, from one address to another. */
static inline void shim_copy_tokens(shim_address from, shim_address to, int64_t num_tokens) {
  memcpy((void *)to, (const void *)from, (size_t)num_tokens * sizeof(int32_t));
}

static inline int64_t shim_session_advance(shim_handle *handle, shim_address session,
                                           shim_address args) {
  return shim_finish(handle, sampler_session_advance((sampler_session_t)session,
                                                     (const sampler_session_advance_args *)args));
}

/* Fills `params`, a sampler_params. The status; where it fails, `error`, of SHIM_ERROR_BYTES, gets
 * its text. */
static inline int32_t shim_params_preset(shim_address params, const char *name,
                                         shim_address error) {
  const sampler_status status =
      sampler_params_preset((sampler_params *)params, sizeof(sampler_params), name);
  if (status != SAMPLER_OK) {
    snprintf((char *)error, SHIM_ERROR_BYTES, "%s", sampler_last_error());
  }
  return status;
}

/* NULL from the number of presets on. */
static inline const char *shim_preset_name(int32_t index) {
  return sampler_preset_name(index);
}

/* NULL of what is no stage. */
static inline const char *shim_stage_name(int32_t stage) {
  return sampler_stage_name(stage);
}

/* `capabilities` is a sampler_capabilities with its struct_size set. */
static inline int32_t shim_get_capabilities(shim_address capabilities) {
  return sampler_get_capabilities((sampler_capabilities *)capabilities);
}

static inline const char *shim_status_string(int32_t status) {
  return sampler_status_string(status);
}

static inline const char *shim_version_string(void) {
  return sampler_version_string();
}

/* ---- N-grams -------------------------------------------------------------------------------- */

#ifndef SWIG
/* An n-gram storage or a prompt lookup, its interface, and what became of its last call. */
typedef struct shim_ngram {
  sampler_ngram_storage_t storage;
  sampler_prompt_lookup_t lookup;
  sampler_ngram calls;
  sampler_status status;
  char error[SHIM_ERROR_BYTES];
} shim_ngram;

static inline int64_t shim_ngram_finish(shim_ngram *ngram, sampler_status status) {
  if (status != SAMPLER_OK) {
    ngram->status = status;
    snprintf(ngram->error, sizeof ngram->error, "%s", sampler_last_error());
  }
  return -(int64_t)status;
}
#endif

/* `options` is a sampler_ngram_storage_options, or with `is_lookup` a
 * sampler_prompt_lookup_options. 0 when there is no memory. Else the address that the functions
 * below take, and that shim_ngram_destroy must be given whatever its status is. */
static inline shim_address shim_ngram_create(shim_address options, int32_t is_lookup) {
  shim_ngram *const ngram = (shim_ngram *)calloc(1, sizeof(shim_ngram));
  if (!ngram) return 0;
  ngram->calls.struct_size = sizeof ngram->calls;
  if (is_lookup) {
    const sampler_prompt_lookup_options *const given =
        (const sampler_prompt_lookup_options *)options;
    if (!shim_ngram_finish(ngram, sampler_prompt_lookup_create(given, &ngram->lookup))) {
      shim_ngram_finish(ngram, sampler_prompt_lookup_interface(ngram->lookup, &ngram->calls));
    }
  } else {
    const sampler_ngram_storage_options *const given =
        (const sampler_ngram_storage_options *)options;
    if (!shim_ngram_finish(ngram, sampler_ngram_storage_create(given, &ngram->storage))) {
      shim_ngram_finish(ngram, sampler_ngram_storage_interface(ngram->storage, &ngram->calls));
    }
  }
  return (shim_address)ngram;
}

static inline void shim_ngram_destroy(shim_address ngram) {
  if (ngram) {
    sampler_ngram_storage_destroy(((shim_ngram *)ngram)->storage);
    sampler_prompt_lookup_destroy(((shim_ngram *)ngram)->lookup);
  }
  free((void *)ngram);
}

/* Status and text of its last call that failed. */
static inline int32_t shim_ngram_status(shim_address ngram) {
  return ((shim_ngram *)ngram)->status;
}

static inline const char *shim_ngram_error(shim_address ngram) {
  return ((shim_ngram *)ngram)->error;
}

/* The address of its sampler_ngram. */
static inline shim_address shim_ngram_interface(shim_address ngram) {
  return (shim_address) & ((shim_ngram *)ngram)->calls;
}

/* 0, or minus the status; `out` gets a token and whether it is known, two of int32_t. */
static inline int64_t shim_ngram_next_token(shim_address ngram, shim_address context,
                                            int64_t num_tokens, int64_t seed, int64_t offset,
                                            shim_address out) {
  shim_ngram *const n = (shim_ngram *)ngram;
  int32_t *const found = (int32_t *)out;
  return shim_ngram_finish(
      n, n->calls.next_token(n->calls.user, (const int32_t *)context, num_tokens, (uint64_t)seed,
                             (uint64_t)offset, found, found + 1));
}

/* 0 or 1, or minus the status. */
static inline int64_t shim_ngram_has_gram(shim_address ngram, shim_address context,
                                          int64_t num_tokens) {
  shim_ngram *const n = (shim_ngram *)ngram;
  int32_t has = 0;
  const int64_t result = shim_ngram_finish(
      n, n->calls.has_gram(n->calls.user, (const int32_t *)context, num_tokens, &has));
  return result ? result : has;
}

static inline int64_t shim_ngram_update(shim_address ngram, shim_address context,
                                        int64_t num_tokens, shim_address next_token_ids,
                                        int64_t num_next_tokens) {
  shim_ngram *const n = (shim_ngram *)ngram;
  return shim_ngram_finish(n, n->calls.update(n->calls.user, (const int32_t *)context, num_tokens,
                                              (const int32_t *)next_token_ids, num_next_tokens));
}

static inline int64_t shim_ngram_initialize(shim_address ngram, shim_address token_ids,
                                            int64_t num_tokens) {
  shim_ngram *const n = (shim_ngram *)ngram;
  return shim_ngram_finish(
      n, n->calls.initialize(n->calls.user, (const int32_t *)token_ids, num_tokens));
}

static inline int64_t shim_ngram_reset(shim_address ngram) {
  shim_ngram *const n = (shim_ngram *)ngram;
  return shim_ngram_finish(n, n->calls.reset(n->calls.user));
}

/* How many tokens it wrote into `out`, or minus the status. */
static inline int64_t shim_ngram_propose(shim_address ngram, shim_address context,
                                         int64_t num_tokens, int64_t num_drafts,
                                         int64_t least_count, float least_share, shim_address out) {
  shim_ngram *const n = (shim_ngram *)ngram;
  int64_t count = 0;
  const int64_t result = shim_ngram_finish(
      n, n->calls.propose(n->calls.user, (const int32_t *)context, num_tokens, num_drafts,
                          least_count, least_share, (int32_t *)out, &count));
  return result ? result : count;
}

/* `stats` is a sampler_ngram_storage_stats with its struct_size set. */
static inline int64_t shim_ngram_get_stats(shim_address ngram, shim_address stats) {
  shim_ngram *const n = (shim_ngram *)ngram;
  return shim_ngram_finish(
      n, sampler_ngram_storage_get_stats(n->storage, (sampler_ngram_storage_stats *)stats));
}

/* The bytes that it takes, or minus the status; `buffer` may be 0. */
static inline int64_t shim_ngram_serialize(shim_address ngram, shim_address buffer,
                                           int64_t buffer_bytes) {
  shim_ngram *const n = (shim_ngram *)ngram;
  size_t bytes = 0;
  const int64_t result = shim_ngram_finish(
      n, sampler_ngram_storage_serialize(n->storage, (void *)buffer, (size_t)buffer_bytes, &bytes));
  return result ? result : (int64_t)bytes;
}

static inline int64_t shim_ngram_deserialize(shim_address ngram, shim_address data,
                                             int64_t data_bytes) {
  shim_ngram *const n = (shim_ngram *)ngram;
  return shim_ngram_finish(
      n, sampler_ngram_storage_deserialize(n->storage, (const void *)data, (size_t)data_bytes));
}

static inline int64_t shim_lookup_append(shim_address ngram, shim_address token_ids,
                                         int64_t num_tokens) {
  shim_ngram *const n = (shim_ngram *)ngram;
  return shim_ngram_finish(
      n, sampler_prompt_lookup_append(n->lookup, (const int32_t *)token_ids, num_tokens));
}

/* As shim_ngram_propose, after the text itself. */
static inline int64_t shim_lookup_propose(shim_address ngram, int64_t num_drafts,
                                          shim_address out) {
  shim_ngram *const n = (shim_ngram *)ngram;
  int64_t count = 0;
  const int64_t result = shim_ngram_finish(
      n, sampler_prompt_lookup_propose(n->lookup, num_drafts, (int32_t *)out, &count));
  return result ? result : count;
}

/* The numbers that a watermark draws with: seed, offset and stream, each a 64-bit word of
 * `out`. The status; where it fails, `error` gets its text. */
static inline int32_t shim_watermark_random(int64_t key, shim_address context,
                                            int64_t context_length, shim_address out,
                                            shim_address error) {
  uint64_t *const o = (uint64_t *)out;
  uint32_t stream = 0;
  const sampler_status status = sampler_watermark_random((uint64_t)key, (const int64_t *)context,
                                                         context_length, o, o + 1, &stream);
  if (status == SAMPLER_OK) {
    o[2] = stream;
  } else {
    snprintf((char *)error, SHIM_ERROR_BYTES, "%s", sampler_last_error());
  }
  return status;
}

/* Looks for a watermark: the score, the number of tokens scored, an int64_t, and the p-value, 8
 * bytes each, go to `out`. The status, as above. */
static inline int32_t shim_watermark_detect(int64_t key, shim_address token_ids,
                                            int64_t num_token_ids, int64_t context_length,
                                            int32_t keeps_repeated, shim_address out,
                                            shim_address error) {
  double *const o = (double *)out;
  const sampler_status status =
      sampler_watermark_detect((uint64_t)key, (const int64_t *)token_ids, num_token_ids,
                               context_length, keeps_repeated, o, (int64_t *)(o + 1), o + 2);
  if (status != SAMPLER_OK) {
    snprintf((char *)error, SHIM_ERROR_BYTES, "%s", sampler_last_error());
  }
  return status;
}

#ifndef SWIG
/* The status, as above. */
static inline int32_t shim_told(sampler_status status, shim_address error) {
  if (status != SAMPLER_OK) {
    snprintf((char *)error, SHIM_ERROR_BYTES, "%s", sampler_last_error());
  }
  return status;
}
#endif

/* Hugging Face's schemes, as watermark.h has them. The status, as above; `params` has the address
 * of a sampler_watermark_params. */
static inline int32_t shim_watermark_table(shim_address params, shim_address out,
                                           shim_address error) {
  return shim_told(
      sampler_watermark_table((const sampler_watermark_params *)params, (int32_t *)out), error);
}
static inline int32_t shim_watermark_bias(shim_address params, shim_address context,
                                          shim_address candidate_token_ids, int64_t num_candidates,
                                          shim_address out, shim_address error) {
  return shim_told(
      sampler_watermark_bias((const sampler_watermark_params *)params, (const int64_t *)context,
                             (const int32_t *)candidate_token_ids, num_candidates, (float *)out),
      error);
}
static inline int32_t shim_watermark_tournament(shim_address params, shim_address context,
                                                shim_address token_ids, int64_t num_tokens,
                                                shim_address probabilities, shim_address error) {
  return shim_told(sampler_watermark_tournament(
                       (const sampler_watermark_params *)params, (const int64_t *)context,
                       (const int32_t *)token_ids, num_tokens, (float *)probabilities),
                   error);
}

/* `out` as in shim_watermark_detect. */
static inline int32_t shim_watermark_score(shim_address params, shim_address token_ids,
                                           int64_t num_token_ids, shim_address out,
                                           shim_address error) {
  double *const o = (double *)out;
  return shim_told(
      sampler_watermark_score((const sampler_watermark_params *)params, (const int64_t *)token_ids,
                              num_token_ids, o, (int64_t *)(o + 1), o + 2),
      error);
}

/* What to cut off caches, as sampler_prune_count: three of int64_t go to `out`. The status; where
 * it fails, `error` gets its text. */
static inline int32_t shim_prune_count(int64_t num_drafted, int64_t num_emitted, shim_address out,
                                       shim_address error) {
  int64_t *const o = (int64_t *)out;
  const sampler_status status = sampler_prune_count(num_drafted, num_emitted, o, o + 1, o + 2);
  if (status != SAMPLER_OK) {
    snprintf((char *)error, SHIM_ERROR_BYTES, "%s", sampler_last_error());
  }
  return status;
}
