/* libsampler: turns logits into tokens. This header includes all others.
 *
 *   simple.h       one call each: argmax, top-k, top-p, softmax, selection, verification ...
 *   types.h        status codes, row statuses, enumerations, views of rows
 *   handle.h       creating a sampler, its options
 *   sampling.h     sampling, filters and selection with every option
 *   pipeline.h     the stages between logits and the draw: edits, penalties, truncation
 *   unmask.h       steps of diffusion language models
 *   state.h        the history of sequences: tokens, counts, adaptive values
 *   speculative.h  verification of draft tokens, residuals
 *   decoding.h     loops around a model: autoregressive, speculative, beam search
 *   session.h      continuous batching of sequences; the caller runs the model
 *   watermark.h    texts that their key's owner can tell from others
 *   shard.h        rows sharded by vocabulary over many ranks
 *   ngram.h        drafts without a model: n-gram storages and prompt lookup
 *   version.h      the version of the header and of the library
 *
 * Common rules:
 *
 * - Same logits, parameters, seed and offset: same token, on every backend and machine, whatever
 *   the batch, the neighbouring rows, the strides and the number of threads. docs/contract.md
 *   specifies the results bit for bit.
 * - Arrays are device memory on a CUDA handle and host memory on a CPU handle. Structs are always
 *   host memory and may be reused when the call returns. Arrays must stay valid until the work on
 *   the stream has finished (CPU: until the call returns). The library keeps no pointer.
 * - Pointers are aligned to their element type. Outputs overlap neither inputs nor each other; an
 *   array reaches from its first element to its last, with all gaps that strides leave.
 * - A call checks all its arguments before it writes or enqueues anything. A row with bad contents
 *   is no error: it gets token -1 and a row status, and does not affect its neighbours.
 * - Only creating and destroying something, the loops of decoding.h, n-gram storages that learn and
 *   detectors of watermarks take and release memory. No call starts a thread, except
 *   sampler_create on request. None prints, or changes the caller's current device or context,
 *   pending CUDA error or floating-point environment.
 * - Structs with a struct_size grow at the end, so that programs and libraries of different
 *   versions work together: set it to the sizeof of your headers. */
#ifndef SAMPLER_SAMPLER_H
#define SAMPLER_SAMPLER_H

#include <sampler/decoding.h>
#include <sampler/handle.h>
#include <sampler/ngram.h>
#include <sampler/pipeline.h>
#include <sampler/sampling.h>
#include <sampler/session.h>
#include <sampler/shard.h>
#include <sampler/simple.h>
#include <sampler/speculative.h>
#include <sampler/state.h>
#include <sampler/types.h>
#include <sampler/unmask.h>
#include <sampler/version.h>
#include <sampler/watermark.h>

#endif /* SAMPLER_SAMPLER_H */
