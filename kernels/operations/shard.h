// A round of sharded rows on a device: the request by value, and the layout of the state between
// rounds in the workspace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/host_device.h"
#include "contract/pipeline.h"
#include "contract/reports.h"
#include "contract/request.h"
#include "shards/call.h"
#include "shards/digests.h"
#include "shards/rows.h"
#include "stages/staged.h"

namespace sampler::kernels {

// Layout of the workspace, of all rows and per team. The teams' part has undefined contents at the
// start of a round.
struct ShardWorkspace {
  char *memory = nullptr;
  size_t rows = 0;  // offset of each part
  size_t listed_ranks = 0, listed_values = 0;
  size_t edited = 0;
  size_t teams = 0;
  int64_t edited_stride = 0;

  // Per team, relative to its own memory.
  size_t merged_ranks[2] = {}, merged_values[2] = {}, sizes[2] = {};
  size_t digits = 0;
  size_t marks = 0;  // one word per column; only with edits
  size_t bytes_of_team = 0;

  static ShardWorkspace of(const shards::ShardCall &call, const shards::ShardPlan &plan) {
    ShardWorkspace result;
    size_t used = 0;
    const auto take = [&](size_t bytes) {
      const size_t begin = used;
      used +=
          (bytes + StageMemory::kAlignment - 1) / StageMemory::kAlignment * StageMemory::kAlignment;
      return begin;
    };
    const size_t value_bytes = plan.has_values ? sizeof(float) : 0;
    const size_t num_listed = size_t(plan.num_rows) * size_t(plan.num_candidates);
    constexpr int64_t kVector = 4;  // elements that edits change at once
    result.edited_stride = (call.num_cols + kVector - 1) / kVector * kVector;
    result.rows = take(size_t(plan.num_rows) * sizeof(shards::ShardRow));
    result.listed_ranks = take(num_listed * sizeof(uint64_t));
    result.listed_values = take(num_listed * value_bytes);
    const size_t edited_rows = call.has_own_values() ? size_t(plan.num_rows) : 0;
    result.edited = take(edited_rows * size_t(result.edited_stride) * sizeof(float));
    result.teams = used;

    used = 0;
    const size_t num_merged = size_t(shards::ShardMemory::num_merged(call, plan));
    for (int i = 0; i < 2; ++i) {
      result.merged_ranks[i] = take(num_merged * sizeof(uint64_t));
      result.merged_values[i] = take(num_merged * value_bytes);
      result.sizes[i] = take(size_t(call.num_ranks) * sizeof(int32_t));
    }
    result.digits = take(shards::kNumDigitValues * sizeof(uint64_t));
    result.marks = take(call.has_edits() ? size_t(result.edited_stride) * sizeof(uint32_t) : 0);
    result.bytes_of_team = used;
    return result;
  }

  size_t bytes(int64_t num_teams) const { return teams + size_t(num_teams) * bytes_of_team; }

  template <class T>
  SAMPLER_HD T *part(size_t begin) const {
    return reinterpret_cast<T *>(memory + begin);
  }
  template <class T>
  SAMPLER_HD T *part_of_team(int64_t team, size_t begin) const {
    return part<T>(teams + size_t(team) * bytes_of_team + begin);
  }

  SAMPLER_HD shards::ShardMemory of_team(int64_t team) const {
    shards::ShardMemory result = {};
    result.rows = part<shards::ShardRow>(rows);
    result.listed = {part<uint64_t>(listed_ranks), part<float>(listed_values)};
    result.edited = teams > edited ? part<float>(edited) : nullptr;
    result.edited_stride = edited_stride;
    for (int i = 0; i < 2; ++i) {
      result.merged[i] = {part_of_team<uint64_t>(team, merged_ranks[i]),
                          part_of_team<float>(team, merged_values[i])};
      result.sizes[i] = part_of_team<int32_t>(team, sizes[i]);
    }
    result.digits = part_of_team<uint64_t>(team, digits);
    return result;
  }
};

struct ShardRequest {
  enum class Call { kSample, kFilter, kSelect, kResidual, kVerify };

  Call which = Call::kSelect;
  contract::SampleRequest sample;
  contract::FilterRequest filter;
  contract::SelectRequest select;
  contract::ResidualRequest residual;
  contract::VerifyRequest verify;
  bool has_pipeline = false, has_reports = false;
  contract::Pipeline stages;
  contract::Reports wanted;
  shards::ShardCall columns;  // without pointers
  shards::ShardPlan plan = {};
  shards::ShardDigests digests = {};
  shards::ShardRound round = {};
  ShardWorkspace workspace;

  ShardRequest() = default;
  explicit ShardRequest(const shards::ShardCall &call)
      : has_pipeline(call.pipeline != nullptr),
        has_reports(call.reports != nullptr),
        columns(call),
        plan(shards::plan_shards(call)),
        digests(shards::digest_arguments(call)),
        workspace(ShardWorkspace::of(call, plan)) {
    if (call.sample) which = Call::kSample, sample = *call.sample;
    if (call.filter) which = Call::kFilter, filter = *call.filter;
    if (call.select) which = Call::kSelect, select = *call.select;
    if (call.residual) which = Call::kResidual, residual = *call.residual;
    if (call.verify) which = Call::kVerify, verify = *call.verify;
    if (has_pipeline) stages = *call.pipeline;
    if (has_reports) wanted = *call.reports;
  }

  // Points into this request, so it must not move.
  SAMPLER_HD shards::ShardCall call() const {
    shards::ShardCall result = columns;
    result.sample = which == Call::kSample ? &sample : nullptr;
    result.filter = which == Call::kFilter ? &filter : nullptr;
    result.select = which == Call::kSelect ? &select : nullptr;
    result.residual = which == Call::kResidual ? &residual : nullptr;
    result.verify = which == Call::kVerify ? &verify : nullptr;
    result.pipeline = has_pipeline ? &stages : nullptr;
    result.reports = has_reports ? &wanted : nullptr;
    return result;
  }
};

}  // namespace sampler::kernels
