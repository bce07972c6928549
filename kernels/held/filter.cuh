// Filters of held rows: probabilities, or values, of what they keep.
#pragma once

#include <cstdint>

#include "contract/request.h"
#include "held/cut.cuh"
#include "row/output.cuh"

namespace sampler::kernels {

template <class Context>
class FilterBlock : CutBlock<Context, HeldFilter, contract::FilterRequest, true> {
 public:
  using Cut = CutBlock<Context, HeldFilter, contract::FilterRequest, true>;
  using Cut::Cut;

  SAMPLER_DEVICE void run() {
    const Row row = Row::of(contract::row_view(request.input, this->index()));
    if (ctx.thread() == 0) this->read_parameters(request.slots[this->index()]);
    ctx.sync();
    if (this->is_other()) return this->leave(this->index());
    this->load_as_f32(row);
    this->set_maximum(this->checked(row, this->max_of_team(this->largest_by_bins(row))));
    ctx.sync();
    if (state().status != SAMPLER_ROW_OK) {
      this->write_bad(output(), row, is_mask());
      write_outcome(0);
    } else if (!this->cut(row, !is_mask())) {
      this->leave(this->index());
    } else {
      write_kept(row);
      write_outcome(shared.kept_count);
    }
  }

 private:
  using Cut::ctx;
  using Cut::request;
  using Cut::shared;
  using Cut::state;
  using Row = typename Cut::Row;

  SAMPLER_DEVICE bool is_mask() const { return request.output_kind == SAMPLER_OUTPUT_VALUES; }
  SAMPLER_DEVICE OutputRows output() const { return output_rows(request, request.input.num_cols); }

  SAMPLER_DEVICE void write_kept(const Row &row) const {
    const contract::RowScale scale = this->scale();
    const auto cut = this->kept();
    const bool greedy = contract::is_greedy(state().parameters.temperature);
    const float normalizer = greedy || is_mask() ? 1.0f : contract::normalizer(shared.kept_weight);
    this->write(output(), row, [&](int tile, int i, float(&x)[Row::kElements]) {
      const int first = this->index_of(row, tile, i);
      uint32_t kept = 0;
      SAMPLER_UNROLLED
      for (int j = 0; j < Row::kElements; j += kQuad) {
        const Vector from = ctx.load_shared(this->place(tile, (i + j) / kQuad));
        SAMPLER_UNROLLED
        for (int n = 0; n < kQuad; ++n) {
          x[j + n] = contract::float_of(from.word[n]);
          kept |= cut.has(x[j + n], first + j + n) ? 1u << (j + n) : 0;
        }
      }
      if (is_mask() || greedy) {
        SAMPLER_UNROLLED
        for (int j = 0; j < Row::kElements; ++j) {
          const bool is_kept = (kept >> j & 1) != 0;
          if (greedy && !is_mask()) {
            x[j] = is_kept ? 1.0f : 0.0f;
          } else {
            x[j] = is_kept ? x[j] : contract::negative_infinity();
          }
        }
        return;
      }
      SAMPLER_UNROLLED
      for (int j = 0; j < Row::kElements; ++j) {
        const float probability =
            kept != 0 ? contract::relative_probability(scale, x[j]) * normalizer : 0.0f;
        x[j] = (kept >> j & 1) != 0 ? probability : 0.0f;
      }
    });
  }

  SAMPLER_DEVICE void write_outcome(int kept_count) const {
    if (!this->is_leader() || ctx.thread() != 0) return;
    if (request.out_kept_counts) request.out_kept_counts[this->index()] = kept_count;
    if (request.out_row_status) request.out_row_status[this->index()] = state().status;
  }
};

}  // namespace sampler::kernels
