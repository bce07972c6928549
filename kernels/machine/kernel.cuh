// Bodies of the general kernels, by operation: a grid of teams, each with a run of rows; the two
// launches of spread rows.
#pragma once

#include <cstdint>
#include <type_traits>

#include "launch/plan.h"
#include "machine/team.cuh"
#include "operations/filter.cuh"
#include "operations/residual.cuh"
#include "operations/sample.cuh"
#include "operations/select.cuh"
#include "operations/spread.cuh"
#include "operations/verify_chain.cuh"
#include "row/row.cuh"
#include "stages/staged.cuh"

namespace sampler::kernels {

template <class Request, class Context>
struct OperationOf;
template <class Context>
struct OperationOf<contract::SampleRequest, Context> {
  using Type = SampleTeam<Context>;
};
template <class Context>
struct OperationOf<contract::FilterRequest, Context> {
  using Type = FilterTeam<Context>;
};
template <class Context>
struct OperationOf<StagedSampleRequest, Context> {
  using Type = StagedSampleTeam<Context>;
};
template <class Context>
struct OperationOf<StagedFilterRequest, Context> {
  using Type = StagedFilterTeam<Context>;
};
template <class Context>
struct OperationOf<contract::SelectRequest, Context> {
  using Type = SelectTeam<Context>;
};
template <class Context>
struct OperationOf<contract::VerifyRequest, Context> {
  using Type = VerifyTeam<Context>;
};
template <class Context>
struct OperationOf<contract::ResidualRequest, Context> {
  using Type = ResidualTeam<Context>;
};

template <class Context, class Request>
SAMPLER_DEVICE_CALL void run_operation(Context &ctx, const Request &request, const Plan &plan) {
  TeamShared &shared = ctx.template shared<TeamShared>();
  Team<Context> team(ctx, shared);
  const RowCache row_cache = {reinterpret_cast<char *>(&shared + 1), plan.row_cache_bytes};
  if (plan.bitmaps) team.bitmap = plan.bitmaps + ctx.team() * kIdWords;
  const int64_t num_rows = extent_of(request).num_rows;
  typename OperationOf<Request, Context>::Type operation(team, request, row_cache);
  constexpr bool kMayBeLeft = std::is_same_v<Request, contract::SampleRequest> ||
                              std::is_same_v<Request, contract::FilterRequest> ||
                              std::is_same_v<Request, contract::SelectRequest> ||
                              std::is_same_v<Request, contract::VerifyRequest> ||
                              std::is_same_v<Request, StagedSampleRequest> ||
                              std::is_same_v<Request, ExtendedVerifyRequest>;
  if constexpr (kMayBeLeft) {
    if (plan.num_left) {
      ctx.wait_for_launch_before();
      if (*plan.num_left == 0) return;
    }
  }
  // A block's shared memory may be accessed only while it runs: from here on, until the last
  // barrier, which follows every access to a peer.
  ctx.team_sync();
  const bool is_left = kMayBeLeft && plan.num_left;
  if constexpr (kMayBeLeft) {
    if (is_left) operation.take_list(plan.left, *plan.num_left);
  }
  const int64_t num_own = is_left ? 0 : num_rows;
  operation.run(num_own * ctx.team() / ctx.num_teams(),
                num_own * (ctx.team() + 1) / ctx.num_teams());
}

template <class Context>
SAMPLER_DEVICE_CALL void run_operation(Context &ctx, const SpreadRequest &request,
                                       const Plan &plan) {
  TeamShared &shared = ctx.template shared<TeamShared>();
  Team<Context> team(ctx, shared);
  const RowCache row_cache = {reinterpret_cast<char *>(&shared + 1), plan.row_cache_bytes};
  SpreadSample<Context> operation(team, request, row_cache, plan.spread);
  ctx.team_sync();
  operation.run();
}

}  // namespace sampler::kernels
