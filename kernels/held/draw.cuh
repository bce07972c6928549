// Draws from held rows by the weights of all tokens, or of those that min-p keeps.
#pragma once

#include <cstdint>

#include "contract/draw.h"
#include "contract/log2.h"
#include "contract/request.h"
#include "held/block.cuh"
#include "operations/sample.cuh"

namespace sampler::kernels {

template <class Context, sampler_dtype kDtype>
class DrawBlock : HeldBlock<Context, kDtype, HeldDraw> {
 public:
  SAMPLER_DEVICE DrawBlock(const Context &context, const contract::SampleRequest &sample,
                           const Held &layout)
      : Block(context, layout), request(sample) {}

  SAMPLER_DEVICE void run() {
    const int64_t index = input_row(request, this->index());
    if (index < 0 || index >= request.input.num_rows) return write_bad(SAMPLER_ROW_INVALID_INDEX);
    const Row row = Row::of(request.input, index);
    this->begin_load(row);
    if (ctx.thread() == 0) {
      const int64_t slot = request.slots[this->index()];
      shared.status = contract::read_parameters(request, slot, &shared.parameters);
      if (shared.status == SAMPLER_ROW_OK) {
        shared.word = contract::random_word64(request.stream_of(this->index(), slot),
                                              contract::Purpose::kSample, 0);
      }
    }
    ctx.team_sync();
    this->wait_for_part();
    const uint32_t key = this->max_of_team(this->key_of_part(row));
    const uint32_t status = shared.status != SAMPLER_ROW_OK ? shared.status : status_of_key(key);
    if (status != SAMPLER_ROW_OK) return write_bad(status);
    draw(row, key);
  }

 private:
  using Block = HeldBlock<Context, kDtype, HeldDraw>;
  using Block::ctx;
  using Block::shared;
  using Row = typename Block::Row;

  SAMPLER_DEVICE void draw(const Row &row, uint32_t max_key) {
    const contract::RowScale scale =
        contract::logits_row_scale(contract::value_of_key(max_key), shared.parameters.temperature);
    float below = contract::negative_infinity();  // values up to it are left out
    uint64_t own;
    if (contract::min_p_is_on(shared.parameters.min_p)) {
      const uint32_t lowest = this->lowest_weighed(scale, max_key, shared.parameters.min_p);
      below = contract::previous_value(contract::value_of_key(lowest));
      own = this->template weigh_tiles<true>(
          row, [&](float x, int) { return contract::relative_for_weight_above(scale, x, below); });
    } else {
      own = this->template weigh_tiles<true>(
          row, [&](float x, int) { return contract::relative_for_weight(scale, x); });
    }
    const auto relative = [&](float x, int) {
      return x > below ? contract::relative_for_weight(scale, x) : 0.0f;
    };
    const auto write = [&](int id, float x, uint64_t total) { this->write(scale, id, x, total); };
    this->template find_drawn<true>(row, own, shared.word, relative, write);
  }

  // Called by one thread.
  SAMPLER_DEVICE void write(const contract::RowScale &scale, int id, float x,
                            uint64_t total) const {
    const int64_t output = this->index();
    contract::store_id(request.out_token_ids, output, id);
    if (request.out_row_status) request.out_row_status[output] = SAMPLER_ROW_OK;
    if (request.out_values) request.out_values[output] = x;
    // Raw ones are of this temperature, and of all tokens, too.
    if (request.out_logprobs) {
      request.out_logprobs[output] = contract::log_probability(scale, x, total);
    }
  }

  SAMPLER_DEVICE void write_bad(uint32_t status) const {
    if (!this->is_leader() || ctx.thread() != 0) return;
    const int64_t output = this->index();
    contract::store_id(request.out_token_ids, output, request.bad_row_token);
    if (request.out_row_status) request.out_row_status[output] = status;
    if (request.out_values) request.out_values[output] = contract::quiet_nan();
    if (request.out_logprobs) request.out_logprobs[output] = contract::quiet_nan();
  }

  const contract::SampleRequest &request;
};

}  // namespace sampler::kernels
