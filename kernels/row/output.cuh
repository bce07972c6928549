// Rows of output, written by a team.
#pragma once

#include <cstdint>
#include <type_traits>

#include "contract/elements.h"
#include "contract/request.h"
#include "machine/team.cuh"
#include "row/distribution.cuh"
#include "row/row.cuh"

namespace sampler::kernels {

// Rows in the caller's memory, `stride` elements apart.
struct OutputRows {
  void *values;
  int64_t num_cols;
  int64_t stride;
  sampler_dtype dtype;

  SAMPLER_DEVICE void store(int64_t element, float x) const {
    store_one(values, dtype, element, x);
  }

  // Stores 4 or 8 elements from `element` on, in whole vectors where aligned.
  template <int kCount, class Context>
  SAMPLER_DEVICE void store_run(Context &ctx, int64_t element, const float *x) const {
    char *to = static_cast<char *>(values) + element * int(contract::size_of(dtype));
    if (dtype == SAMPLER_F32 && is_aligned<Vector>(to)) {
      for (int i = 0; i < kCount; i += 4) {
        Vector raw;
        for (int j = 0; j < 4; ++j) raw.word[j] = contract::bits_of(x[i + j]);
        ctx.store_vector(reinterpret_cast<Vector *>(to) + i / 4, raw);
      }
    } else if (dtype != SAMPLER_F32 && is_aligned<Halves<kCount>>(to)) {
      Halves<kCount> raw;
      for (int i = 0; i < kCount / 2; ++i) {
        raw.word[i] = dtype == SAMPLER_F16
                          ? contract::narrow_f16(x[2 * i]) |
                                uint32_t(contract::narrow_f16(x[2 * i + 1])) << 16
                          : contract::narrow_bf16(x[2 * i]) |
                                uint32_t(contract::narrow_bf16(x[2 * i + 1])) << 16;
      }
      ctx.store_vector(reinterpret_cast<Halves<kCount> *>(to), raw);
    } else {
      for (int i = 0; i < kCount; ++i) store(element + i, x[i]);
    }
  }

 private:
  SAMPLER_DEVICE_CALL static void store_one(void *values, sampler_dtype dtype, int64_t element,
                                            float x) {
    contract::store_value(values, dtype, element, x);
  }

  template <int kCount>
  using Halves = std::conditional_t<kCount == 8, Vector, HalfVector>;

  template <class T>
  SAMPLER_DEVICE static bool is_aligned(const char *to) {
    return reinterpret_cast<uintptr_t>(to) % sizeof(T) == 0;
  }
};

// A request's rows of output.
template <class Request>
SAMPLER_DEVICE OutputRows output_rows(const Request &request, int64_t num_cols) {
  return {request.output, num_cols, request.output_stride, request.output_dtype};
}

// Fills a row of output after its elements.
template <class Context>
SAMPLER_DEVICE void write_nothing(Team<Context> &team, const OutputRows &output, int64_t index,
                                  int count, float nothing) {
  if (!team.is_leader()) return;
  for (int64_t i = count + team.ctx.thread(); i < output.num_cols; i += Context::kThreads) {
    output.store(index * output.stride + i, nothing);
  }
}

// Writes a row's elements, changed by `change(row, tile, first, x)` run by run, then `nothing`.
template <class Context, class Row, class Change>
SAMPLER_DEVICE void write_row(Team<Context> &team, const OutputRows &rows, int64_t index,
                              const Row &row, float nothing, const Change &change) {
  static_assert(kRun == 8, "a run is stored whole, or as two quads");
  const OutputRows output = rows;
  const int64_t begin = index * output.stride;
  Context &ctx = team.ctx;
  const auto write_run = [&](const Row &row_, int tile, int first, float(&x)[kRun]) {
    change(row_, tile, first, x);
    const int element = row_.index_of(tile, first);
    if (!row_.is_inside(tile)) {
      for (int i = 0; i < kRun; ++i) {
        const int place = row_.index_of(tile, first + i);
        if (row_.is_in_row(place)) output.store(begin + place, x[i]);
      }
    } else if (row_.elements_of_vector() == kRun) {
      output.template store_run<kRun>(ctx, begin + element, x);
    } else {
      output.template store_run<kQuad>(ctx, begin + element, x);
      output.template store_run<kQuad>(ctx, begin + element + 32 * kQuad, x + kQuad);
    }
  };
  row.template for_each_run<Starts::kFromRegisters>(contract::quiet_nan(), write_run);
  write_nothing(team, output, index, row.count(), nothing);
}

// Writes the probabilities of a row's tokens, then 0.
template <class Context, class Row>
SAMPLER_DEVICE_CALL void write_probabilities(Team<Context> &team, const OutputRows &rows,
                                             int64_t index, const Row &row,
                                             const Distribution &distribution) {
  const RowScale scale = distribution.scale;
  const float normalizer = distribution.normalizer;
  const bool greedy = distribution.greedy;
  const Cut cut = Cut::of(row, distribution.cut);
  const auto change = [&](const Row &row_, int tile, int first, float(&x)[kRun]) {
    cut.apply(row_, tile, first, x);
    if (greedy) {
      for (int i = 0; i < kRun; ++i) x[i] = x[i] > cut.nothing ? 1.0f : 0.0f;
      return;
    }
    make_relative(scale, x, [](const RowScale &s, float value) {
      return contract::relative_probability(s, value);
    });
    for (int i = 0; i < kRun; ++i) x[i] *= normalizer;
  };
  write_row(team, rows, index, row, 0.0f, change);
}

}  // namespace sampler::kernels
