/* What XLA hands to foreign functions: the part of its stable C interface, xla/ffi/api/c_api.h,
 * that xla.c uses, declared here so that the package builds without jaxlib. tests/xla_layout.c
 * compares it with jaxlib's own header.
 *
 * Every struct begins with its size, and grows at the end with the minor version. */
#ifndef LIBSAMPLER_PYTHON_XLA_H
#define LIBSAMPLER_PYTHON_XLA_H

#include <stddef.h>
#include <stdint.h>

/* The version that is declared here. The major one changes with any member's place. */
enum { XLA_MAJOR = 0, XLA_MINOR = 3 };

/* Opaque. */
typedef struct XlaContext XlaContext; /* of one execution: stream, memory, threads */
typedef struct XlaError XlaError;     /* NULL: none */

enum { XLA_EXTENSION_METADATA = 1 };

typedef struct XlaExtension {
  size_t struct_size;
  int32_t type;
  struct XlaExtension *next;
} XlaExtension;

typedef struct XlaVersion {
  size_t struct_size;
  XlaExtension *extensions;
  int32_t major_version;
  int32_t minor_version;
} XlaVersion;

/* Asked for as the function is registered. */
typedef struct XlaMetadata {
  size_t struct_size;
  XlaVersion version;
  uint32_t traits;    /* 0: not recorded into CUDA graphs */
  int64_t state_type; /* 0: no state. From 0.3 on, whatever struct_size says */
} XlaMetadata;

typedef struct XlaMetadataExtension {
  XlaExtension extension;
  XlaMetadata *metadata;
} XlaMetadataExtension;

/* ---- Values --------------------------------------------------------------------------------- */

enum {
  XLA_U8 = 6,
  XLA_S32 = 4,
  XLA_S64 = 5,
  XLA_U32 = 8,
  XLA_U64 = 9,
  XLA_F16 = 10,
  XLA_F32 = 11,
  XLA_BF16 = 16
};

enum { XLA_ARGUMENT_BUFFER = 1, XLA_RESULT_BUFFER = 1 };
enum { XLA_ATTRIBUTE_ARRAY = 1, XLA_ATTRIBUTE_SCALAR = 3, XLA_ATTRIBUTE_STRING = 4 };

/* An array, contiguous, the last dimension fastest. */
typedef struct XlaBuffer {
  size_t struct_size;
  XlaExtension *extensions;
  int32_t dtype;
  void *data;
  int64_t rank;
  int64_t *dims; /* [rank] */
} XlaBuffer;

typedef struct XlaSpan {
  const char *text; /* without a 0 at its end */
  size_t length;
} XlaSpan;

typedef struct XlaScalar {
  int32_t dtype;
  void *value;
} XlaScalar;

typedef struct XlaArray {
  int32_t dtype;
  size_t size;
  void *data;
} XlaArray;

typedef struct XlaValues { /* arguments, or results */
  size_t struct_size;
  XlaExtension *extensions;
  int64_t size;
  int32_t *types;
  void **values; /* [size] XlaBuffer */
} XlaValues;

typedef struct XlaAttributes {
  size_t struct_size;
  XlaExtension *extensions;
  int64_t size;
  int32_t *types;
  XlaSpan **names;
  void **values; /* [size] XlaArray, XlaScalar, XlaSpan */
} XlaAttributes;

/* ---- Functions of XLA ----------------------------------------------------------------------- */

enum {
  XLA_INVALID_ARGUMENT = 3,
  XLA_RESOURCE_EXHAUSTED = 8,
  XLA_UNIMPLEMENTED = 12,
  XLA_INTERNAL = 13
};

typedef struct XlaErrorCreate {
  size_t struct_size;
  XlaExtension *extensions;
  const char *message; /* copied */
  int32_t code;
} XlaErrorCreate;

typedef struct XlaErrorDestroy {
  size_t struct_size;
  XlaExtension *extensions;
  XlaError *error;
} XlaErrorDestroy;

typedef struct XlaStreamGet {
  size_t struct_size;
  XlaExtension *extensions;
  XlaContext *context;
  void *stream; /* out */
} XlaStreamGet;

typedef struct XlaMemoryAllocate {
  size_t struct_size;
  XlaExtension *extensions;
  XlaContext *context;
  size_t size;
  size_t alignment;
  void *data; /* out */
} XlaMemoryAllocate;

typedef struct XlaMemoryFree {
  size_t struct_size;
  XlaExtension *extensions;
  XlaContext *context;
  size_t size;
  void *data;
} XlaMemoryFree;

typedef void XlaTask(void *data);

typedef struct XlaThreadPoolSchedule {
  size_t struct_size;
  XlaExtension *extensions;
  XlaContext *context;
  XlaTask *task;
  void *data;
} XlaThreadPoolSchedule;

typedef struct XlaThreadPoolCount {
  size_t struct_size;
  XlaExtension *extensions;
  XlaContext *context;
  int64_t *num_threads; /* out */
} XlaThreadPoolCount;

typedef struct XlaDeviceOrdinal {
  size_t struct_size;
  XlaExtension *extensions;
  XlaContext *context;
  int32_t ordinal; /* out */
} XlaDeviceOrdinal;

typedef void XlaUnused(void);

typedef struct XlaApi {
  size_t struct_size;
  XlaExtension *extensions;
  XlaVersion version;
  const void *internal;
  XlaError *(*error_create)(XlaErrorCreate *);
  XlaUnused *error_get_message;
  void (*error_destroy)(XlaErrorDestroy *);
  XlaUnused *handler_register;
  XlaError *(*stream_get)(XlaStreamGet *);
  XlaUnused *type_register, *execution_context_get, *state_set, *state_get;
  XlaError *(*memory_allocate)(XlaMemoryAllocate *);
  XlaError *(*memory_free)(XlaMemoryFree *);
  XlaError *(*thread_pool_schedule)(XlaThreadPoolSchedule *);
  XlaError *(*thread_pool_count)(XlaThreadPoolCount *);
  XlaUnused *future_create, *future_set_available, *future_set_error, *run_id_get;
  XlaError *(*device_ordinal)(XlaDeviceOrdinal *);
} XlaApi;

/* ---- A call --------------------------------------------------------------------------------- */

enum { XLA_STAGE_EXECUTE = 3 };

typedef struct XlaFrame {
  size_t struct_size;
  XlaExtension *extensions;
  const XlaApi *api;
  XlaContext *context;
  int32_t stage;
  XlaValues arguments;
  XlaValues results;
  XlaAttributes attributes;
} XlaFrame;

typedef XlaError *XlaHandler(XlaFrame *frame);

#endif
