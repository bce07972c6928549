/* Compiles only if xla.h says what XLA's own header says. */
#include <xla/ffi/api/c_api.h>

#include "xla.h"

#define SAME(a, b) _Static_assert((long)(a) == (long)(b), #a " is not " #b)
#define SIZE(own, of_xla) SAME(sizeof(own), sizeof(of_xla))
#define AT(own, member, of_xla, its)                  \
  SAME(offsetof(own, member), offsetof(of_xla, its)); \
  SAME(sizeof(((own *)0)->member), sizeof(((of_xla *)0)->its))

SAME(XLA_MAJOR, XLA_FFI_API_MAJOR);

SAME(XLA_EXTENSION_METADATA, XLA_FFI_Extension_Metadata);
SAME(XLA_U8, XLA_FFI_DataType_U8);
SAME(XLA_S32, XLA_FFI_DataType_S32);
SAME(XLA_S64, XLA_FFI_DataType_S64);
SAME(XLA_U32, XLA_FFI_DataType_U32);
SAME(XLA_U64, XLA_FFI_DataType_U64);
SAME(XLA_F16, XLA_FFI_DataType_F16);
SAME(XLA_F32, XLA_FFI_DataType_F32);
SAME(XLA_BF16, XLA_FFI_DataType_BF16);
SAME(XLA_ARGUMENT_BUFFER, XLA_FFI_ArgType_BUFFER);
SAME(XLA_RESULT_BUFFER, XLA_FFI_RetType_BUFFER);
SAME(XLA_ATTRIBUTE_ARRAY, XLA_FFI_AttrType_ARRAY);
SAME(XLA_ATTRIBUTE_SCALAR, XLA_FFI_AttrType_SCALAR);
SAME(XLA_ATTRIBUTE_STRING, XLA_FFI_AttrType_STRING);
SAME(XLA_INVALID_ARGUMENT, XLA_FFI_Error_Code_INVALID_ARGUMENT);
SAME(XLA_RESOURCE_EXHAUSTED, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED);
SAME(XLA_UNIMPLEMENTED, XLA_FFI_Error_Code_UNIMPLEMENTED);
SAME(XLA_INTERNAL, XLA_FFI_Error_Code_INTERNAL);
SAME(XLA_STAGE_EXECUTE, XLA_FFI_ExecutionStage_EXECUTE);

SIZE(XlaExtension, XLA_FFI_Extension_Base);
AT(XlaExtension, type, XLA_FFI_Extension_Base, type);
AT(XlaExtension, next, XLA_FFI_Extension_Base, next);
SIZE(XlaVersion, XLA_FFI_Api_Version);
AT(XlaVersion, major_version, XLA_FFI_Api_Version, major_version);
AT(XlaVersion, minor_version, XLA_FFI_Api_Version, minor_version);
AT(XlaMetadata, version, XLA_FFI_Metadata, api_version);
AT(XlaMetadata, traits, XLA_FFI_Metadata, traits);
#if XLA_FFI_API_MINOR >= 3
AT(XlaMetadata, state_type, XLA_FFI_Metadata, state_type_id);
#endif
AT(XlaMetadataExtension, metadata, XLA_FFI_Metadata_Extension, metadata);

SIZE(XlaBuffer, XLA_FFI_Buffer);
AT(XlaBuffer, dtype, XLA_FFI_Buffer, dtype);
AT(XlaBuffer, data, XLA_FFI_Buffer, data);
AT(XlaBuffer, rank, XLA_FFI_Buffer, rank);
AT(XlaBuffer, dims, XLA_FFI_Buffer, dims);
SIZE(XlaSpan, XLA_FFI_ByteSpan);
AT(XlaSpan, text, XLA_FFI_ByteSpan, ptr);
AT(XlaSpan, length, XLA_FFI_ByteSpan, len);
SIZE(XlaScalar, XLA_FFI_Scalar);
AT(XlaScalar, dtype, XLA_FFI_Scalar, dtype);
AT(XlaScalar, value, XLA_FFI_Scalar, value);
SIZE(XlaArray, XLA_FFI_Array);
AT(XlaArray, dtype, XLA_FFI_Array, dtype);
AT(XlaArray, size, XLA_FFI_Array, size);
AT(XlaArray, data, XLA_FFI_Array, data);
SIZE(XlaValues, XLA_FFI_Args);
AT(XlaValues, size, XLA_FFI_Args, size);
AT(XlaValues, types, XLA_FFI_Args, types);
AT(XlaValues, values, XLA_FFI_Args, args);
SIZE(XlaValues, XLA_FFI_Rets);
AT(XlaValues, size, XLA_FFI_Rets, size);
AT(XlaValues, types, XLA_FFI_Rets, types);
AT(XlaValues, values, XLA_FFI_Rets, rets);
SIZE(XlaAttributes, XLA_FFI_Attrs);
AT(XlaAttributes, size, XLA_FFI_Attrs, size);
AT(XlaAttributes, types, XLA_FFI_Attrs, types);
AT(XlaAttributes, names, XLA_FFI_Attrs, names);
AT(XlaAttributes, values, XLA_FFI_Attrs, attrs);
AT(XlaFrame, extensions, XLA_FFI_CallFrame, extension_start);
AT(XlaFrame, api, XLA_FFI_CallFrame, api);
AT(XlaFrame, context, XLA_FFI_CallFrame, ctx);
AT(XlaFrame, stage, XLA_FFI_CallFrame, stage);
AT(XlaFrame, arguments, XLA_FFI_CallFrame, args);
AT(XlaFrame, results, XLA_FFI_CallFrame, rets);
AT(XlaFrame, attributes, XLA_FFI_CallFrame, attrs);

SIZE(XlaErrorCreate, XLA_FFI_Error_Create_Args);
AT(XlaErrorCreate, message, XLA_FFI_Error_Create_Args, message);
AT(XlaErrorCreate, code, XLA_FFI_Error_Create_Args, errc);
SIZE(XlaErrorDestroy, XLA_FFI_Error_Destroy_Args);
AT(XlaErrorDestroy, error, XLA_FFI_Error_Destroy_Args, error);
SIZE(XlaStreamGet, XLA_FFI_Stream_Get_Args);
AT(XlaStreamGet, context, XLA_FFI_Stream_Get_Args, ctx);
AT(XlaStreamGet, stream, XLA_FFI_Stream_Get_Args, stream);
SIZE(XlaMemoryAllocate, XLA_FFI_DeviceMemory_Allocate_Args);
AT(XlaMemoryAllocate, context, XLA_FFI_DeviceMemory_Allocate_Args, ctx);
AT(XlaMemoryAllocate, size, XLA_FFI_DeviceMemory_Allocate_Args, size);
AT(XlaMemoryAllocate, alignment, XLA_FFI_DeviceMemory_Allocate_Args, alignment);
AT(XlaMemoryAllocate, data, XLA_FFI_DeviceMemory_Allocate_Args, data);
SIZE(XlaMemoryFree, XLA_FFI_DeviceMemory_Free_Args);
AT(XlaMemoryFree, context, XLA_FFI_DeviceMemory_Free_Args, ctx);
AT(XlaMemoryFree, size, XLA_FFI_DeviceMemory_Free_Args, size);
AT(XlaMemoryFree, data, XLA_FFI_DeviceMemory_Free_Args, data);
SIZE(XlaThreadPoolSchedule, XLA_FFI_ThreadPool_Schedule_Args);
AT(XlaThreadPoolSchedule, context, XLA_FFI_ThreadPool_Schedule_Args, ctx);
AT(XlaThreadPoolSchedule, task, XLA_FFI_ThreadPool_Schedule_Args, task);
AT(XlaThreadPoolSchedule, data, XLA_FFI_ThreadPool_Schedule_Args, data);
SIZE(XlaThreadPoolCount, XLA_FFI_ThreadPool_NumThreads_Args);
AT(XlaThreadPoolCount, context, XLA_FFI_ThreadPool_NumThreads_Args, ctx);
AT(XlaThreadPoolCount, num_threads, XLA_FFI_ThreadPool_NumThreads_Args, num_threads);
SIZE(XlaDeviceOrdinal, XLA_FFI_DeviceOrdinal_Get_Args);
AT(XlaDeviceOrdinal, context, XLA_FFI_DeviceOrdinal_Get_Args, ctx);
AT(XlaDeviceOrdinal, ordinal, XLA_FFI_DeviceOrdinal_Get_Args, device_ordinal);

AT(XlaApi, version, XLA_FFI_Api, api_version);
AT(XlaApi, error_create, XLA_FFI_Api, XLA_FFI_Error_Create);
AT(XlaApi, error_destroy, XLA_FFI_Api, XLA_FFI_Error_Destroy);
AT(XlaApi, stream_get, XLA_FFI_Api, XLA_FFI_Stream_Get);
AT(XlaApi, memory_allocate, XLA_FFI_Api, XLA_FFI_DeviceMemory_Allocate);
AT(XlaApi, memory_free, XLA_FFI_Api, XLA_FFI_DeviceMemory_Free);
AT(XlaApi, thread_pool_schedule, XLA_FFI_Api, XLA_FFI_ThreadPool_Schedule);
AT(XlaApi, thread_pool_count, XLA_FFI_Api, XLA_FFI_ThreadPool_NumThreads);
AT(XlaApi, device_ordinal, XLA_FFI_Api, XLA_FFI_DeviceOrdinal_Get);
