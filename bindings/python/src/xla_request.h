/* A call as XLA has it, buffers and attributes, and what the library takes. Nothing here needs the
 * GIL. */
#ifndef LIBSAMPLER_PYTHON_XLA_REQUEST_H
#define LIBSAMPLER_PYTHON_XLA_REQUEST_H

#include "core.h"
#include "xla.h"

enum { XLA_MAX_ARGUMENTS = 96, XLA_MAX_RESULTS = 4 };

typedef struct XlaBytes {
  const void *data;
  size_t size;
} XlaBytes;

typedef struct XlaRequest {
  Operation operation; /* SAMPLE, FILTER, VERIFY */
  int64_t num_arguments, num_results;
  const XlaBuffer *arguments[XLA_MAX_ARGUMENTS];
  const XlaBuffer *results[XLA_MAX_RESULTS];

  /* What each argument is, with spaces between: names of members of the call's struct, of
   * sampler_row_params and of sampler_pipeline. A list takes two arguments, offsets and ids. */
  XlaSpan operands;

  /* sampler_params, sampler_pipeline, sampler_acceptance_params: only their numbers are read. Size
   * 0: none. */
  XlaBytes params, pipeline, acceptance;
  int is_probabilities;
  int writes_values; /* of a filter: SAMPLER_OUTPUT_VALUES */

  /* What xla_request_read makes of it. */
  union {
    sampler_sample_args sample;
    sampler_filter_args filter;
    sampler_verify_args verify;
  } args;
  sampler_exec *exec; /* of args */
  sampler_params read_params;
  sampler_row_params read_row_params;
  sampler_pipeline read_pipeline;
  sampler_acceptance_params read_acceptance;
  char broken[200]; /* the first rule that is broken */
} XlaRequest;

/* Fills args; -1 where `broken` says why not. All other rules are the library's. */
int xla_request_read(XlaRequest *request);

/* An address that is not NULL, for buffers without elements or not allocated yet. */
extern char xla_nothing[16];

#endif
