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
#ifndef SWIG
#include <sampler/sampler.h>
#include <stdio.h>
#include <stdlib.h>

/* A sampler, and what became of its last call. Serves one call at a time. */
typedef struct shim_handle {
  sampler_t sampler;
  sampler_status status; /* of the last call that failed */
  char error[512];
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
