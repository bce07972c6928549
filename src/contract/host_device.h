// SAMPLER_HD marks functions compiled for both host and device.
#pragma once

#if defined(__CUDACC__)
#define SAMPLER_HD __host__ __device__
#else
#define SAMPLER_HD
#endif
