// SAMPLER_HD marks functions compiled for both host and device, SAMPLER_HD_CALL those with many call
// sites and no part in a pass over a row: device code has them once. A unit whose kernels need no
// more than one of each defines SAMPLER_HD_CALLS_ARE_INLINED.
#pragma once

#if defined(__CUDACC__)
#define SAMPLER_HD __host__ __device__
#if defined(SAMPLER_HD_CALLS_ARE_INLINED)
#define SAMPLER_HD_CALL __host__ __device__ __forceinline__
#else
#define SAMPLER_HD_CALL __host__ __device__ __noinline__
#endif
#else
#define SAMPLER_HD
#define SAMPLER_HD_CALL
#endif
