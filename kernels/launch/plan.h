// The layout of a launch: the number and size of teams, and their shared memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/any_request.h"
#include "contract/elements.h"
#include "contract/request.h"
#include "machine/device_shape.h"
#include "machine/team.cuh"
#include "operations/shard.h"
#include "operations/spread.h"
#include "stages/staged.h"

namespace sampler::kernels {

constexpr int kBlockThreads = 256;
// Blocks that a multiprocessor has registers for: 128 a thread, enough without spills.
constexpr int kBlocksPerMultiprocessor = 2;

constexpr int kCopiesInFlight = 1;  // tiles in flight of a warp while it uses one
// Tiles in a warp's ring, for a row that does not stay in shared memory: those in flight and the
// one in use.
constexpr int kRingTiles = kCopiesInFlight + 1;

SAMPLER_HD constexpr int ring_bytes(int num_threads) {
  return num_threads / 32 * kRingTiles * kTile * int(sizeof(float));
}

// Sampling from spread rows, which two launches do.
struct SpreadRequest : contract::SampleRequest {};

// Layout of a launch, chosen by make_plan, read by host and device.
struct Plan {
  int team_size = 1;  // blocks of a cluster, a power of two
  int64_t num_teams = 1;
  int row_cache_bytes = 0;         // of a block's shared memory, for its part of a row
  uint32_t *bitmaps = nullptr;     // kIdWords words per team, for long candidate lists; else null
  Spread spread;                   // of few long rows, which take two launches; this is the second
  const uint32_t *left = nullptr;  // not null: the rows that streaming left, by number,
  const uint32_t *num_left = nullptr;  // and how many
  bool may_overlap = false;            // consecutive launches may overlap on this device

  SAMPLER_HD size_t shared_bytes() const { return sizeof(TeamShared) + size_t(row_cache_bytes); }
};

// The properties of a request that determine the layout.
struct Extent {
  int64_t num_rows;  // of output
  int64_t num_cols;
  int element_bytes;  // in shared memory
  bool has_candidates;
  Operation operation;
  bool shares_rows = false;  // neighbouring output rows may share an input row
  bool is_left = false;      // few rows, if any; their number is on the device
};

template <class Request>
constexpr Operation kOperationOf = Operation::kSample;
template <>
inline constexpr Operation kOperationOf<contract::FilterRequest> = Operation::kRows;
template <>
inline constexpr Operation kOperationOf<contract::SelectRequest> = Operation::kSelect;
template <>
inline constexpr Operation kOperationOf<contract::VerifyRequest> = Operation::kChain;
template <>
inline constexpr Operation kOperationOf<contract::ResidualRequest> = Operation::kResidual;
template <>
inline constexpr Operation kOperationOf<StagedSampleRequest> = Operation::kStagedSample;
template <>
inline constexpr Operation kOperationOf<StagedFilterRequest> = Operation::kStagedRows;
template <>
inline constexpr Operation kOperationOf<ExtendedVerifyRequest> = Operation::kVerify;
template <>
inline constexpr Operation kOperationOf<ShardRequest> = Operation::kShard;
template <>
inline constexpr Operation kOperationOf<SpreadRequest> = Operation::kSpread;

template <class Request>
SAMPLER_HD constexpr Operation operation_of(const Request &) {
  return kOperationOf<Request>;
}

template <class Request>
SAMPLER_HD inline Extent extent_of(const Request &request) {
  return {contract::num_output_rows(request), request.input.num_cols,
          int(contract::size_of(request.input.dtype)), contract::reads_lists(request),
          operation_of(request)};
}
SAMPLER_HD inline Extent extent_of(const contract::SampleRequest &request) {
  Extent extent = extent_of<contract::SampleRequest>(request);
  extent.shares_rows = request.row_indices != nullptr;
  return extent;
}
// The row that the last token is drawn from is f32.
SAMPLER_HD inline Extent extent_of(const contract::VerifyRequest &request) {
  return {request.num_rows, request.target.num_cols, int(sizeof(float)),
          contract::reads_lists(request), operation_of(request)};
}
// The edited row is f32, one per output row.
template <class Request>
SAMPLER_HD inline Extent extent_of(const Staged<Request> &request) {
  Extent extent = extent_of(static_cast<const Request &>(request));
  extent.element_bytes = int(sizeof(float));
  extent.operation = operation_of(request);
  extent.shares_rows = false;
  return extent;
}
// The residual is f32.
SAMPLER_HD inline Extent extent_of(const contract::ResidualRequest &request) {
  return {request.num_rows, request.target.num_cols, int(sizeof(float)), false,
          operation_of(request)};
}

// This rank's columns, as given or as changed.
SAMPLER_HD inline Extent extent_of(const ShardRequest &request) {
  const shards::ShardCall call = request.call();
  const sampler_dtype dtype =
      call.has_own_values() ? sampler_dtype(SAMPLER_F32) : call.input().dtype;
  return {request.plan.num_rows, call.num_cols, int(contract::size_of(dtype)), false,
          operation_of(request)};
}

// Tiles of a row per block, and the bytes of a block's part and of its group maxima.
inline int64_t tiles_of_row(int64_t num_cols) {
  return (num_cols + kMaxLead + kTile - 1) / kTile;
}
inline int64_t tiles_per_block(const Extent &extent, int team_size) {
  return (tiles_of_row(extent.num_cols) + team_size - 1) / team_size;
}
inline int64_t row_bytes_per_block(const Extent &extent, int team_size) {
  return tiles_per_block(extent, team_size) * kTile * extent.element_bytes;
}
inline int64_t maxima_bytes_per_block(const Extent &extent, int team_size) {
  return tiles_per_block(extent, team_size) * kMaximaBytes;
}

// Whether teams need bitmaps, for duplicate ids and for the order of ties: if candidates do not fit
// the leader's list.
inline bool needs_bitmaps(const Extent &extent) {
  return extent.has_candidates && extent.num_cols > kListCapacity;
}

// Whether each team has its own memory in the workspace, to change rows or merge lists.
inline bool has_stages(const Extent &extent) {
  return extent.operation == Operation::kStagedSample ||
         extent.operation == Operation::kStagedRows || extent.operation == Operation::kVerify ||
         extent.operation == Operation::kShard;
}

// Whether rows may be cut into slices. Candidates may not: one team checks their ids.
inline bool can_be_spread(const Extent &extent) {
  return extent.operation == Operation::kSample && !extent.has_candidates && !extent.is_left;
}

// Divides a multiprocessor's shared memory into a kernel's shares. A block has at most per_block
// bytes, and the driver reserves some for each block.
struct SharedMemory {
  int per_block;  // static and dynamic, opted in
  int per_multiprocessor;
  int reserved_per_block;
};
void divide_shared_memory(const SharedMemory &memory, int static_bytes, KernelShape *out);

// The hardware starts teams as others end, so there are more than run at once, each with few rows.
// The caller sets the bitmaps; they are large, so with them there are no more teams than run at
// once, nor than multiprocessors.
Plan make_plan(const DeviceShape &device, const Extent &extent);

// The first of two launches of spread rows, before `plan`. Few long rows are spread if they would
// leave most of the device idle.
Plan loading_plan(const Plan &plan);

// The most bytes that make_plan() needs for spread rows, up to max_rows and max_cols.
size_t largest_spread_bytes(const DeviceShape &device, int64_t max_rows, int64_t max_cols);

}  // namespace sampler::kernels
