/* SAMPLER_API marks libsampler.so's exported symbols. */
#ifndef SAMPLER_EXPORT_H
#define SAMPLER_EXPORT_H

#if defined(__GNUC__)
#define SAMPLER_API __attribute__((visibility("default")))
#else
#define SAMPLER_API
#endif

#endif /* SAMPLER_EXPORT_H */
