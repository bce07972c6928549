// Rows of output, written by a team from the rows it passes over.
#pragma once

#include <cstdint>

#include "contract/elements.h"
#include "contract/request.h"
#include "row.cuh"
#include "team.cuh"

namespace sampler::kernels {

// Rows in the caller's memory, `stride` elements apart.
struct OutputRows {
  void *values;
  int64_t num_cols;
  int64_t stride;
  sampler_dtype dtype;

  SAMPLER_DEVICE void store(int64_t element, float x) const {
    contract::store_value(values, dtype, element, x);
  }

  // In one piece where the output is aligned as the input is.
  template <class Context>
  SAMPLER_DEVICE void store_vector(Context &ctx, int64_t element, const float (&x)[kVector]) const {
    if (dtype == SAMPLER_F32) {
      float *output = static_cast<float *>(values) + element;
      if (elements_to_alignment(output, dtype) == 0) {
        Vector32 raw;
        for (int i = 0; i < kVector; ++i) raw.element[i] = x[i];
        ctx.store_vector(reinterpret_cast<Vector32 *>(output), raw);
        return;
      }
    } else {
      uint16_t *output = static_cast<uint16_t *>(values) + element;
      if (elements_to_alignment(output, dtype) == 0) {
        Vector16 raw;
        for (int i = 0; i < kVector; ++i) {
          raw.element[i] =
              dtype == SAMPLER_F16 ? contract::narrow_f16(x[i]) : contract::narrow_bf16(x[i]);
        }
        ctx.store_vector(reinterpret_cast<Vector16 *>(output), raw);
        return;
      }
    }
    for (int i = 0; i < kVector; ++i) store(element + i, x[i]);
  }
};

// Where a request wants its rows of output.
template <class Request>
SAMPLER_DEVICE OutputRows output_rows(const Request &request, int64_t num_cols) {
  return {request.output, num_cols, request.output_stride, request.output_dtype};
}

// Writes element(x, id) for each element of the row to output row `index`, and `nothing` after
// them.
template <class Context, class Row, class Element>
SAMPLER_DEVICE void write_row(Team<Context> &team, const OutputRows &output, int64_t index,
                              const Row &row, float nothing, const Element &element) {
  const int64_t first = index * output.stride;
  row.for_each_vector([&](int position, const float(&x)[kVector]) {
    const int begin = position - row.source().lead;
    float y[kVector];
    for (int i = 0; i < kVector; ++i) {
      const bool in_row = begin + i >= 0 && begin + i < row.count();
      y[i] = in_row ? element(x[i], row.id(begin + i)) : 0.0f;
    }
    if (row.is_inside(position)) {
      output.store_vector(team.ctx, first + begin, y);
      return;
    }
    for (int i = 0; i < kVector; ++i) {
      if (begin + i >= 0 && begin + i < row.count()) output.store(first + begin + i, y[i]);
    }
  });
  if (!team.is_leader()) return;
  for (int64_t i = row.count() + team.ctx.thread(); i < output.num_cols; i += Context::kThreads) {
    output.store(first + i, nothing);
  }
}

}  // namespace sampler::kernels
