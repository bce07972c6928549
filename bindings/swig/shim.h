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
  char error[SHIM_ERROR_BYTES];
} shim_handle;

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

/* Those of states, which need no workspace. */
#define SHIM_STATE_APPEND 5
#define SHIM_ACCEPT 6
#define SHIM_STATE_TRUNCATE 7
#define SHIM_STATE_COPY 8
#define SHIM_STATE_RESET 9
#define SHIM_STATE_READ 10

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
 * else it tells the bytes of workspace that the call needs. Minus the status where either fails. */
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
    default:
      status = only_size ? SAMPLER_OK : shim_call_state(sampler, operation, a);
  }
  return status == SAMPLER_OK ? (int64_t)bytes : shim_finish(handle, status);
}

/* `options` is a sampler_options. NULL when there is no memory. Else a handle, which shim_destroy
 * must be given even when its status is not SAMPLER_OK: then it holds the error's text and no
 * sampler. */
static inline shim_handle *shim_create(shim_address options) {
  shim_handle *handle = (shim_handle *)calloc(1, sizeof(shim_handle));
  if (handle) {
    shim_finish(handle, sampler_create((const sampler_options *)options, &handle->sampler));
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
