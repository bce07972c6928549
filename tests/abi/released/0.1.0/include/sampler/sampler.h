/* libsampler: turns logits into tokens. One header for all of it.
 *
 *   simple.h       one line each: argmax, top-k, top-p, softmax, selection, verification ...
 *   types.h        status codes, row statuses, enumerations, views of rows
 *   handle.h       creating a sampler, its options
 *   sampling.h     sampling, filters and selection with every option
 *   pipeline.h     the stages between logits and the draw: edits, penalties, windows
 *   state.h        what is remembered of sequences: tokens, counts, adaptive values
 *   speculative.h  verification of draft tokens, residuals
 *   decoding.h     the loops around a model: autoregressive, speculative, beam search
 *   session.h      texts that come and go while others run; the caller runs the model
 *   shard.h        a row over many ranks: shards of the vocabulary
 *   ngram.h        drafts without a model: n-gram storages and prompt lookup
 *   version.h      the version of the header and of the library
 *
 * Rules for all of it:
 *
 * - Same logits, parameters, seed and offset: same token. On every backend and machine, whatever
 *   the batch, the neighbouring rows, the strides and the number of threads. docs/contract.md says
 *   what is computed, bit for bit.
 * - Arrays are device memory on a CUDA handle and host memory on a CPU handle. Structs are always
 *   host memory and may be reused when the call returns. Arrays must stay valid until the work on
 *   the stream has finished (CPU: until the call returns). The library keeps no pointer.
 * - Pointers are aligned to their element type. Outputs overlap neither inputs nor each other; an
 *   array reaches from its first element to its last, with all that strides leave between.
 * - A call checks all its arguments before it writes or enqueues anything. A row with bad contents
 *   is no error: it gets token -1 and a row status, and its neighbours are as they would be.
 * - Creating and destroying a handle, a state or a session, the loops of decoding.h and n-gram
 *   storages that learn take and release memory. Nothing else does. No call starts a thread, other
 *   than sampler_create where it was asked to. None prints, or changes the caller's current device
 *   or context, pending CUDA error or floating-point environment.
 * - Structs with a struct_size grow at the end, so that programs and libraries of different
 * versions work together: set it to the sizeof of your headers. */
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
#include <sampler/version.h>

#endif /* SAMPLER_SAMPLER_H */
