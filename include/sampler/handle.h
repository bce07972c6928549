/* The sampler handle: creation, options, workspace, and the capabilities of build and machine. */
#ifndef SAMPLER_HANDLE_H
#define SAMPLER_HANDLE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <sampler/export.h>
#include <sampler/types.h>
#include <sampler/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A sampler: a device, its threads and an optional workspace. It may move between threads but
 * serves one call at a time; different handles are independent. */
typedef struct sampler_handle *sampler_t;

/* ---- Callbacks ------------------------------------------------------------------------------
 *
 * Each gets the `user` pointer given beside it. None may throw, or call back into the handle.
 *
 * Floating-point environment: a call uses its own, whatever the thread's rounding mode,
 * flush-to-zero or unmasked exceptions, and restores the thread's. Callbacks, those of other
 * headers too, run in the thread's; their changes to it persist. */

/* Returns `bytes` bytes aligned to `alignment` (a power of two), or NULL. Called only by functions
 * that create an object, by decoding loops before any other callback, and, as ngram.h says, by
 * n-gram storages. */
typedef void *(*sampler_allocate_fn)(void *user, size_t bytes, size_t alignment);

/* Releases memory from the allocate function, with the same `bytes` and `alignment`. Called only by
 * functions that destroy an object, by those that create one when they fail, by decoding loops
 * before they return, and by n-gram storages. */
typedef void (*sampler_deallocate_fn)(void *user, void *memory, size_t bytes, size_t alignment);

/* Source of memory. Both functions NULL: the C library's malloc. A view: it never grows. */
typedef struct sampler_allocator {
  sampler_allocate_fn allocate;
  sampler_deallocate_fn deallocate;
  void *user;
} sampler_allocator;

typedef int32_t sampler_log_level;
enum { SAMPLER_LOG_INFO = 0, SAMPLER_LOG_ERROR = 1 };

/* Receives one line without a line end: handle creations, and every error text of the handle's
 * calls. Called on the calling thread; `message` is valid until it returns. */
typedef void (*sampler_log_fn)(void *user, sampler_log_level level, const char *message);

/* One task of a call: `index` in [0, num_tasks). */
typedef void (*sampler_task_fn)(void *task_user, int64_t index);

/* Runs `task(task_user, i)` exactly once for each i in [0, num_tasks), in any order, on any
 * threads, and returns when all have returned. Omitting or repeating a task, or running another
 * index, fails the call: SAMPLER_ERROR_CALLBACK. No task may start, or still run, after it has
 * returned or thrown: the tasks' memory ends with the call. */
typedef void (*sampler_parallel_for_fn)(void *user, int64_t num_tasks, sampler_task_fn task,
                                        void *task_user);

/* ---- Creation ------------------------------------------------------------------------------- */

typedef struct sampler_options {
  /* sizeof(sampler_options). */
  size_t struct_size;

  /* SAMPLER_ABI_VERSION of the headers that the caller was compiled with. */
  uint32_t abi_version;

  /* Device of this handle's arrays. */
  sampler_device_type device_type;

  /* CUDA device number, from 0. 0 for the CPU. Calls use the device's primary context, as CUDA's
   * runtime does, so streams and arrays must belong to it; the handle retains it
   * until destroyed. */
  int32_t device_id;

  /* CPU: rows processed at once, in [1, 256]; 0 is 1, the caller's thread alone. If more, and
   * without `parallel_for`, the threads are started here, once, and sleep between calls. In a child
   * process that has a copy of the handle, from fork() or, from Linux 4.14 on, clone(), the handle
   * uses only the caller's thread, and is free even if another thread's call was using it then. */
  int32_t num_threads;

  /* The handle's workspace: fits any operation on up to `max_rows` output rows of up to `max_cols`
   * columns, except these, which need more: calls with stages of pipeline.h, with out_removed_by or
   * out_kept_offsets; scores of candidate lists, and on a CUDA device reports on them;
   * sampler_verify other than dense chains by the standard rule, or with draft_params,
   * draft_row_params, forced_token_ids, reports, out_positions or out_kv_indices. 0 and 0: none,
   * each call brings its own. One without the other is an error. max_rows in [0, 2^31), max_cols in
   * [0, 2^20). */
  int64_t max_rows;
  int64_t max_cols;

  /* Runs a call's tasks on the caller's threads instead of the handle's. NULL: the handle's. */
  sampler_parallel_for_fn parallel_for;
  void *parallel_for_user;

  /* Memory for the handle, its workspace and the decoding loops. All 0: the C library's. */
  sampler_allocator allocator;

  /* NULL: the library is silent. */
  sampler_log_fn log;
  void *log_user;

  /* Token of a bad row: -1, or, when `use_fallback_token` is 1, this id. It must then lie in
   * [0, num_cols) of every call on rows, in [0, 2^20) on candidate lists. */
  int64_t fallback_token_id;
  int32_t use_fallback_token;

  /* CUDA. 1: numbers per row, slot or block (the arrays of sampler_row_params and sampler_random,
   * selected_counts, block_num_committed and block_num_steps_left) are host arrays. They travel
   * with the launch, in its stream, without a wait, and may be reused when the call returns; a
   * captured graph replays the values at capture. All other arrays stay on the device. A call needs
   * up to 36 bytes more workspace per slot, up to 88 more with stages of pipeline.h, and 8 per
   * block. 0: they are device arrays like all others. A CPU handle ignores it. */
  int32_t host_parameters;

  /* CUDA. 1: every call checks that its arrays and workspace are memory of the handle's device, or
   * managed or mapped, and host_parameters' arrays host memory; INVALID_ARGUMENT names the wrong
   * one. For debugging: one driver query per array. 0: no check. A CPU handle ignores it. */
  int32_t check_pointers;

  /* Must be 0. */
  int32_t reserved;
} sampler_options;

/* Fills `options` with the defaults: all 0 except struct_size and abi_version. `struct_size` is the
 * size of the caller's struct; members unknown to the library are set to 0. */
SAMPLER_API sampler_status sampler_options_init(sampler_options *options, size_t struct_size);

/* The same, inline. */
static inline sampler_options sampler_options_default(void) {
  sampler_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.abi_version = SAMPLER_ABI_VERSION;
  return options;
}

/* Creates a sampler. `options` NULL: a CPU sampler with one thread and no workspace. On failure
 * *out_sampler is NULL and nothing is leaked.
 * A CPU sampler uses the machine's best instruction set, or the one that the environment variable
 * SAMPLER_ISA names: scalar, avx2, avx512 or neon.
 * Errors: INVALID_ARGUMENT, ABI_MISMATCH, UNSUPPORTED (no CUDA in this build or on this machine),
 * OUT_OF_MEMORY, SYSTEM (a thread could not be started), CUDA (with CUDA's error text). */
SAMPLER_API sampler_status sampler_create(const sampler_options *options, sampler_t *out_sampler);

/* Stops the handle's threads and releases its memory. NULL is allowed. Enqueued work must
 * have finished. */
SAMPLER_API void sampler_destroy(sampler_t sampler);

/* ---- Capabilities --------------------------------------------------------------------------- */

/* Bits of instruction sets for CPU rows. All give the same tokens. AVX2 means AVX2, FMA and F16C;
 * AVX512 adds F, BW, DQ and VL. */
enum { SAMPLER_ISA_SCALAR = 1, SAMPLER_ISA_AVX2 = 2, SAMPLER_ISA_AVX512 = 4, SAMPLER_ISA_NEON = 8 };

typedef struct sampler_capabilities {
  /* sizeof(sampler_capabilities), set by the caller. */
  size_t struct_size;

  /* sampler_version() and sampler_abi_version(). */
  uint32_t version;
  uint32_t abi_version;

  /* SAMPLER_ISA_ bits: compiled in, usable on this machine, and the one that a new sampler would
   * use (0 when SAMPLER_ISA names none that is usable). */
  uint32_t isa_compiled;
  uint32_t isa_usable;
  uint32_t isa_active;

  /* 1 if built with CUDA, and the number of devices a handle can be created for (0 also without
   * a driver). */
  uint32_t cuda_compiled;
  uint32_t num_cuda_devices;

  /* Processors that the calling thread may run on, at least 1. */
  uint32_t num_processors;
} sampler_capabilities;

/* Fills the fields within the caller's struct_size. Needs no handle, touches no device; the first
 * call may start CUDA's runtime. */
SAMPLER_API sampler_status sampler_get_capabilities(sampler_capabilities *out_capabilities);

#ifdef __cplusplus
}
#endif

#endif /* SAMPLER_HANDLE_H */
