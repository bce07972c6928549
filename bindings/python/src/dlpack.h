/* The structs of DLPack 1.3 that this package reads (https://github.com/dmlc/dlpack). */
#ifndef LIBSAMPLER_PYTHON_DLPACK_H
#define LIBSAMPLER_PYTHON_DLPACK_H

#include <stdint.h>

enum { DLPACK_CPU = 1, DLPACK_CUDA = 2, DLPACK_CUDA_HOST = 3, DLPACK_CUDA_MANAGED = 13 };
enum { DLPACK_INT = 0, DLPACK_UINT = 1, DLPACK_FLOAT = 2, DLPACK_BFLOAT = 4 };

typedef struct DLDevice {
  int32_t device_type;
  int32_t device_id;
} DLDevice;

typedef struct DLTensor {
  void *data;
  DLDevice device;
  int32_t ndim;
  struct {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
  } dtype;
  int64_t *shape;
  int64_t *strides; /* in elements; NULL: one row after the other */
  uint64_t byte_offset;
} DLTensor;

/* The content of a capsule "dltensor". */
typedef struct DLManagedTensor {
  DLTensor tensor;
  void *manager;
  void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

enum { DLPACK_READ_ONLY = 1 };

/* The content of a capsule "dltensor_versioned". What follows `flags` is as long as `major` is 1. */
typedef struct DLManagedTensorVersioned {
  uint32_t major;
  uint32_t minor;
  void *manager;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags;
  DLTensor tensor;
} DLManagedTensorVersioned;

/* The content of a type's attribute __dlpack_c_exchange_api__, a capsule "dlpack_exchange_api". */
typedef struct DLPackExchangeAPI {
  uint32_t major;
  uint32_t minor;
  struct DLPackExchangeAPI *previous;
  void *allocate;
  void *managed_tensor_from_object;
  void *managed_tensor_to_object;
  int (*tensor_from_object)(void *object, DLTensor *out); /* NULL: there is none */
  int (*current_stream)(int32_t device_type, int32_t device_id, void **out_stream);
} DLPackExchangeAPI;

#endif
