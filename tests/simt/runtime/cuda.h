// What the library and its tests use of CUDA's driver API, declared as there, for a fake CUDA
// runtime.
#ifndef SAMPLER_TESTS_SIMT_RUNTIME_CUDA_H_
#define SAMPLER_TESTS_SIMT_RUNTIME_CUDA_H_

// The runtime's codes.
enum CUresult {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_UNKNOWN = 999,
};

using CUcontext = struct CUctx_st *;
using CUdevice = int;

extern "C" {

CUresult cuCtxCreate(CUcontext *context, unsigned flags, CUdevice device);
CUresult cuCtxDestroy(CUcontext context);
CUresult cuCtxGetCurrent(CUcontext *context);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuCtxPushCurrent(CUcontext context);
CUresult cuCtxPopCurrent(CUcontext *context);
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
CUresult cuDevicePrimaryCtxRelease(CUdevice device);

}  // extern "C"

#endif  // SAMPLER_TESTS_SIMT_RUNTIME_CUDA_H_
