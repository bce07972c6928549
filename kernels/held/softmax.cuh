// Softmax of held rows.
#pragma once

#include <cstdint>

#include "contract/request.h"
#include "held/block.cuh"
#include "row/output.cuh"

namespace sampler::kernels {

template <class Context, sampler_dtype kDtype>
class SoftmaxBlock : HeldBlock<Context, kDtype, HeldSoftmax> {
 public:
  SAMPLER_DEVICE SoftmaxBlock(const Context &context, const contract::FilterRequest &filter,
                              const Held &layout)
      : Block(context, layout), request(filter) {}

  SAMPLER_DEVICE void run() {
    const Row row = Row::of(request.input, this->index());
    this->begin_load(row);
    if (ctx.thread() == 0) {
      shared.status =
          contract::read_parameters(request, request.slots[this->index()], &shared.parameters);
    }
    ctx.team_sync();
    this->wait_for_part();
    const uint32_t key = this->max_of_team(this->key_of_part(row));
    const OutputRows output = output_rows(request, request.input.num_cols);
    const uint32_t status = shared.status != SAMPLER_ROW_OK ? shared.status : status_of_key(key);
    if (status != SAMPLER_ROW_OK) {
      this->write_bad(output, row, false);
    } else if (contract::is_greedy(shared.parameters.temperature)) {
      write_first(output, row, contract::value_of_key(key));
    } else {
      write_all(output, row, contract::value_of_key(key));
    }
    if (this->is_leader() && ctx.thread() == 0 && request.out_row_status) {
      request.out_row_status[this->index()] = status;
    }
  }

 private:
  using Block = HeldBlock<Context, kDtype, HeldSoftmax>;
  using Block::ctx;
  using Block::kSlots;
  using Block::shared;
  using Row = typename Block::Row;

  SAMPLER_DEVICE void write_all(const OutputRows &output, const Row &row, float max) {
    const contract::RowScale scale = contract::logits_row_scale(max, shared.parameters.temperature);
    uint64_t own = 0;
    this->for_each_tile(row, [&](int tile) {
      Vector raw[Row::kVectors];
      this->raw_group(tile, raw);
      contract::WeightSum weights;
      SAMPLER_UNROLLED
      for (int slot = 0; slot < kSlots; ++slot) {
        Vector relative;
        SAMPLER_UNROLLED
        for (int j = 0; j < kQuad; ++j) {
          const float x =
              contract::relative_probability(scale, Block::element_of(raw, slot * kQuad + j));
          weights.add(x);
          relative.word[j] = contract::bits_of(x);
        }
        ctx.store_vector(this->place(tile, slot), relative);
      }
      own += weights.of(kGroup);
    });
    const float normalizer = contract::normalizer(this->weight_of_team(own));
    this->write(output, row, [&](int tile, int i, float(&x)[Row::kElements]) {
      SAMPLER_UNROLLED
      for (int j = 0; j < Row::kElements; j += kQuad) {
        const Vector relative = ctx.load_shared(this->place(tile, (i + j) / kQuad));
        SAMPLER_UNROLLED
        for (int n = 0; n < kQuad; ++n)
          x[j + n] = contract::float_of(relative.word[n]) * normalizer;
      }
    });
  }

  // Greedy: the first token has probability 1.
  SAMPLER_DEVICE void write_first(const OutputRows &output, const Row &row, float max) {
    uint32_t own = 0;
    this->for_each_tile(row, [&](int tile) {
      Vector raw[Row::kVectors];
      this->raw_group(tile, raw);
      SAMPLER_UNROLLED
      for (int i = 0; i < kGroup; ++i) {
        const uint32_t upside_down = ~uint32_t(this->index_of(row, tile, i));
        if (Block::element_of(raw, i) == max && upside_down > own) own = upside_down;
      }
    });
    ctx.sync();  // before `partial` is used again
    const int first = int(~this->max_of_team(own));
    this->write(output, row, [&](int tile, int i, float(&x)[Row::kElements]) {
      SAMPLER_UNROLLED
      for (int j = 0; j < Row::kElements; ++j) {
        x[j] = this->index_of(row, tile, i) + j == first ? 1.0f : 0.0f;
      }
    });
  }

  const contract::FilterRequest &request;
};

}  // namespace sampler::kernels
