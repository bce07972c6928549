// SAMPLER_HD marks functions compiled for both host and device, SAMPLER_HD_CALL those with many call
// sites and no part in a pass over a row: device code has them once.
#pragma once

#if defined(__CUDACC__)
#define SAMPLER_HD __host__ __device__
#define SAMPLER_HD_CALL __host__ __device__ __noinline__
#else
#define SAMPLER_HD
#define SAMPLER_HD_CALL
#endif
