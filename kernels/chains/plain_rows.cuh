// What contract::Verifier asks of calls without adaptive stages, whose drafter's rows are given
// probabilities, and of those without reports.
#pragma once

#include <cstdint>

#include "contract/elements.h"
#include "contract/verify_extended.h"
#include "machine/device.cuh"
#include "operations/residual.cuh"
#include "row/row.cuh"

namespace sampler::kernels {

class PlainRows {
 public:
  static constexpr bool kMatches = false, kRelaxesGreedy = true;

  SAMPLER_DEVICE bool is_adaptive() const { return false; }
  SAMPLER_DEVICE void append(int64_t, int64_t, float) const {}

  SAMPLER_DEVICE bool has_outputs() const { return false; }
  SAMPLER_DEVICE bool keeps_loaded() const { return true; }
  SAMPLER_DEVICE float observation(int64_t) const { return contract::quiet_nan(); }
  SAMPLER_DEVICE void report(int64_t, int64_t) const {}
  SAMPLER_DEVICE void report_nothing(int64_t) const {}

  SAMPLER_DEVICE float draft_probability(int64_t id) const {
    return id < draft_.count ? draft_.value(int(id)) : 0.0f;
  }
  // For siblings without replacement, whose calls are not decided with these rows.
  SAMPLER_DEVICE void begin_exclusion() const {}
  SAMPLER_DEVICE void exclude(int64_t) const {}
  SAMPLER_DEVICE void end_exclusion() const {}

 protected:
  // Takes the drafter's row. Returns whether a worker's share of it is valid: all of them check it.
  template <class Context>
  SAMPLER_DEVICE bool take_draft(const TeamWorkers<Context> &workers,
                                 const contract::RowView &view) {
    draft_ = stored_row(view);
    GivenCheck check;
    const int lead = (kQuad - draft_.lead % kQuad) % kQuad;
    const int begin = lead < draft_.count ? lead : draft_.count;  // of whole vectors
    const int num_quads = (draft_.count - begin) / kQuad;
    SAMPLER_SOME_UNROLLED
    for (int i = workers.index; i < num_quads; i += workers.count) {
      float q[kQuad];
      draft_.load(workers.ctx, begin + i * kQuad, q);
      SAMPLER_UNROLLED
      for (int j = 0; j < kQuad; ++j) check.take(0.0f, q[j]);
    }
    const int end = begin + num_quads * kQuad, num_others = begin + (draft_.count - end);
    if (workers.index < num_others) {
      const int other = workers.index < begin ? workers.index : end + workers.index - begin;
      check.take(0.0f, draft_.value(other));
    }
    return check.is_valid();
  }

  StoredRow draft_ = {};
};

}  // namespace sampler::kernels
