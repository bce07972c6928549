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
      : rows_(team, request, row_cache),
        verifier_(request, request.rules,
                  contract::TreeMemory::of(
                      request.rules, request.num_drafts + 1,
                      request.memory.part<int32_t>(team.ctx.team(), request.memory.tree)),
                  rows_) {}

  SAMPLER_DEVICE void run(int64_t begin, int64_t end) {
    for (int64_t sequence = begin; sequence < end; ++sequence) verifier_.run_sequence(sequence);
  }

 private:
  VerifiedRows<Context> rows_;
  contract::Verifier<VerifiedRows<Context>> verifier_;
};

template <class Context>
struct OperationOf<ExtendedVerifyRequest, Context> {
  using Type = ExtendedVerifyTeam<Context>;
};

}  // namespace sampler::kernels
