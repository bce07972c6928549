/* What the bindings made by SWIG call in place of libsampler: flat functions that take the members
 * of an argument struct one by one, so that a call crosses into C once, and that keep a failed
 * call's text in the handle, since the caller may be on another thread when it asks for it.
 *
 * This file is copied into each generated wrapper; shim_operations.h, made from the public headers,
 * follows it there. */
#include <sampler/sampler.h>
#include <stdio.h>
#include <stdlib.h>

/* A sampler, and what became of its last call. Serves one call at a time. */
typedef struct shim_handle {
  sampler_t sampler;
  sampler_status status; /* of the last call that failed */
  char error[512];
} shim_handle;

/* Arrays of a call, by what the call does with them and the type of their elements; `any`: the type
 * is told by another argument. Each is followed by an argument `_at`: the byte offset of its first
 * element, or, where the array is NULL, the address of device or other memory outside the language.
 * Go passes whole addresses. */
typedef void *shim_read_any;
typedef void *shim_read_f32;
typedef void *shim_read_i32;
typedef void *shim_read_u64;
typedef void *shim_write_any;
typedef void *shim_write_f32;
typedef void *shim_write_i32;
typedef void *shim_write_u32;
typedef uintptr_t shim_offset;

static inline void *shim_at(void *array, shim_offset at) {
  return (void *)((uintptr_t)array + at);
}

static inline sampler_t shim_sampler(shim_handle *handle) {
  return handle ? handle->sampler : NULL;
}

/* 0 or minus the status, whose text the handle keeps. */
static inline int64_t shim_finish(shim_handle *handle, sampler_status status) {
  if (status != SAMPLER_OK && handle) {
    handle->status = status;
    snprintf(handle->error, sizeof handle->error, "%s", sampler_last_error());
  }
  return -(int64_t)status;
}

/* The bytes, or minus the status. */
static inline int64_t shim_workspace_size(shim_handle *handle, sampler_operation operation,
                                          const void *args) {
  size_t bytes = 0;
  const int64_t result =
      shim_finish(handle, sampler_workspace_size(shim_sampler(handle), operation, args, &bytes));
  return result < 0 ? result : (int64_t)bytes;
}

/* NULL when there is no memory. Else a handle, which shim_destroy must be given even when its
 * status is not SAMPLER_OK: then it holds the error's text and no sampler. */
static inline shim_handle *shim_create_with(const sampler_options *options) {
  shim_handle *handle = (shim_handle *)calloc(1, sizeof(shim_handle));
  if (handle) shim_finish(handle, sampler_create(options, &handle->sampler));
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

static inline const char *shim_status_string(int32_t status) {
  return sampler_status_string(status);
}

static inline const char *shim_version_string(void) {
  return sampler_version_string();
}
