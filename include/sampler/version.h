/* Version of libsampler, at compile time and at run time. */
#ifndef SAMPLER_VERSION_H
#define SAMPLER_VERSION_H

#include <stdint.h>

#include <sampler/export.h>

#define SAMPLER_VERSION_MAJOR 0
#define SAMPLER_VERSION_MINOR 1
#define SAMPLER_VERSION_PATCH 0
/* Release candidate number of this version; 0: the release itself. */
#define SAMPLER_VERSION_CANDIDATE 1

/* major * 10000 + minor * 100 + patch. */
#define SAMPLER_VERSION \
  (SAMPLER_VERSION_MAJOR * 10000 + SAMPLER_VERSION_MINOR * 100 + SAMPLER_VERSION_PATCH)

/* The number in the SONAME. Programs and libraries with equal numbers are compatible: every change
 * that breaks the ABI raises it, also before version 0.1.0. */
#define SAMPLER_ABI_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

/* SAMPLER_VERSION of the loaded library. */
SAMPLER_API uint32_t sampler_version(void);

/* The same as text, "0.1.0" or, for a release candidate, "0.1.0-rc1". Static; never NULL. */
SAMPLER_API const char *sampler_version_string(void);

/* SAMPLER_ABI_VERSION of the loaded library. A program that opens the library with dlopen compares
 * it with its own SAMPLER_ABI_VERSION first. */
SAMPLER_API uint32_t sampler_abi_version(void);

#ifdef __cplusplus
}
#endif

#endif /* SAMPLER_VERSION_H */
