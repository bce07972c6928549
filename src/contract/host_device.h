// Marks functions that the host compiler and nvcc both compile: the contract has one text.
#pragma once

#if defined(__CUDACC__)
#define SAMPLER_HD __host__ __device__
#else
#define SAMPLER_HD
#endif
