// Verification beyond dense standard chains, decided by contract/verifier.h: a team per sequence.
#pragma once

#include <cstdint>

#include "contract/verification.h"
#include "contract/verify_extended.h"
#include "machine/kernel.cuh"
#include "machine/team.cuh"
#include "operations/verified_rows.cuh"
#include "stages/staged.h"

namespace sampler::kernels {

template <class Context>
class ExtendedVerifyTeam {
 public:
  SAMPLER_DEVICE ExtendedVerifyTeam(Team<Context> &team, const ExtendedVerifyRequest &request,
                                    const RowCache &row_cache)
      : team_(team),
        rows_(team, request, row_cache),
        verifier_(request, request.rules,
                  contract::TreeMemory::of(
                      request.rules, request.num_drafts + 1,
                      request.memory.part<int32_t>(team.ctx.team(), request.memory.tree)),
                  rows_) {}

  // Sequences [begin, end), or those of a list.
  SAMPLER_DEVICE void run(int64_t begin, int64_t end) {
    if (list_) begin = team_.ctx.team(), end = num_listed_;
    const int64_t step = list_ ? team_.ctx.num_teams() : 1;
    for (int64_t i = begin; i < end; i += step) verifier_.run_sequence(list_ ? list_[i] : i);
  }

  // From now on run() takes the sequences of a list, in turns with other teams.
  SAMPLER_DEVICE void take_list(const uint32_t *list, uint32_t num_sequences) {
    list_ = list;
    num_listed_ = num_sequences;
  }

 private:
  Team<Context> &team_;
  const uint32_t *list_ = nullptr;
  int64_t num_listed_ = 0;
  VerifiedRows<Context> rows_;
  contract::Verifier<VerifiedRows<Context>> verifier_;
};

template <class Context>
struct OperationOf<ExtendedVerifyRequest, Context> {
  using Type = ExtendedVerifyTeam<Context>;
};

}  // namespace sampler::kernels
