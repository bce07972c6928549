/* libsampler: turns logits into tokens. One header for all of it.
 *
 *   version.h      the version of the header and of the library
 *   types.h        status codes, row statuses, enumerations
 *   handle.h       creating a sampler, its options and workspace
 *   sampling.h     sample, top-k, top-p, min-p, argmax, softmax, renormalisation, masks, selection
 *   speculative.h  verification of draft tokens, residuals
 *   decoding.h     the loops around a model: autoregressive, speculative, n-gram-assisted, beams
 *   ngram.h        drafts without a model: n-gram storages and prompt lookup
 *
 * Rules for all of it:
 *
 * - Same logits, parameters, seed and offset: same token. On every backend and machine, whatever
 *   the batch, the neighbouring rows, the strides and the number of threads. docs/contract.md says
 *   what is computed, bit for bit.
 * - Arrays are device memory on a CUDA handle and host memory on a CPU handle; `args` itself is
 *   always host memory and may be reused when the call returns. Arrays must stay valid until the
 *   work on the stream has finished (CPU: until the call returns). The library keeps no pointer.
 * - Pointers are aligned to their element type. Outputs overlap neither inputs nor each other; an
 *   array reaches from its first element to its last, with all that strides leave between.
 * - A call checks all its arguments before it writes or enqueues anything. A row with bad contents
 *   is no error: it gets token -1 and a row status, and its neighbours are as they would be.
 * - No call but those that create and destroy starts or stops threads or allocates, but for the loops of
 *   decoding.h and n-gram storages as they learn; none prints, or changes the caller's current device, pending CUDA error
 *   or floating-point environment.
 * - Argument structs start with their own size, so that programs and libraries of different
 *   versions work together. Set them up with their _INIT macro or _init function, never by hand. */
#ifndef SAMPLER_SAMPLER_H
#define SAMPLER_SAMPLER_H

#include <sampler/decoding.h>
#include <sampler/handle.h>
#include <sampler/ngram.h>
#include <sampler/sampling.h>
#include <sampler/speculative.h>
#include <sampler/types.h>
#include <sampler/version.h>

#endif /* SAMPLER_SAMPLER_H */
