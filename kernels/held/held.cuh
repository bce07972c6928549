// Rows held in shared memory. A team, the blocks of one cluster, takes a row: each block copies a
// part of it and passes over that, so device memory is read once, and written once.
//
//     load     every block: its part, and the largest value of it
//     list     of filters: tokens above a bound that follows from the threads' largest values; the
//              leader, the team's first block, sorts and cuts them
//     weigh    every block: the weights of its part, where that of all of the row is needed
//     write    every block: its part of the row of output; or the block that has the token to be
//              drawn draws it
//
// Rows whose tokens do not fit the list are left to the general kernel.
#pragma once

#include "held/chain.cuh"
#include "held/draw.cuh"
#include "held/filter.cuh"
#include "held/held.h"
#include "held/reweigh.cuh"
#include "held/sample.cuh"
#include "held/select.cuh"
#include "held/softmax.cuh"
#include "held/typical.cuh"
#include "held/values.cuh"
#include "held/verify.cuh"
#include "held/verify_extended.cuh"

namespace sampler::kernels {

template <sampler_dtype kDtype, HeldKind kKind, class Context>
SAMPLER_DEVICE void run_held(const Context &ctx, const HeldRequest<kKind> &request,
                             const Held &held) {
  // Peers' shared memory may be accessed from there on: some kinds begin to load before.
  constexpr bool kLoads =
      kKind == HeldKind::kSoftmax || kKind == HeldKind::kDraw || is_weighed(kKind);
  if constexpr (!kLoads) ctx.team_sync();
  if constexpr (kKind == HeldKind::kSoftmax) {
    SoftmaxBlock<Context, kDtype>(ctx, request, held).run();
  } else if constexpr (kKind == HeldKind::kFilter) {
    FilterBlock<Context>(ctx, request, held).run();
  } else if constexpr (kKind == HeldKind::kChain) {
    ChainBlock<Context, kDtype>(ctx, request, held).run();
  } else if constexpr (kKind == HeldKind::kDraw) {
    DrawBlock<Context, kDtype>(ctx, request, held).run();
  } else if constexpr (kKind == HeldKind::kReweighed) {
    ReweighedBlock<Context>(ctx, request, held).run();
  } else if constexpr (kKind == HeldKind::kValues) {
    ValueBlock<Context>(ctx, request, held).run();
  } else if constexpr (kKind == HeldKind::kTypical) {
    TypicalBlock<Context>(ctx, request, held).run();
  } else if constexpr (kKind == HeldKind::kSelect) {
    SelectBlock<Context>(ctx, request, held).run();
  } else if constexpr (kKind == HeldKind::kVerify) {
    VerifyBlock<Context>(ctx, request, held).run();
  } else if constexpr (kKind == HeldKind::kVerifyExtended) {
    ExtendedVerifyBlock<Context>(ctx, request, held).run();
  } else {
    constexpr bool kEdits = kKind != HeldKind::kReport;
    constexpr bool kStages = kKind == HeldKind::kStaged;
    SampleBlock<Context, kEdits, kStages>(ctx, request, held).run();
  }
  ctx.wait_for_launch_before();  // the launch after this one counts on both
}

}  // namespace sampler::kernels
