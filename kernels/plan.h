// The layout of a launch: how many teams of how many blocks, and what they keep in shared memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/any_request.h"
#include "contract/elements.h"
#include "contract/request.h"
#include "device_shape.h"
#include "shard.h"
#include "spread.h"
#include "staged.h"
#include "team.cuh"

namespace sampler::kernels {

constexpr int kBlockThreads = 256;
// Blocks that a multiprocessor has registers for: 128 a thread, with which nothing is spilled.
constexpr int kBlocksPerMultiprocessor = 2;

constexpr int kCopiesInFlight = 1;  // tiles of a warp that are on their way while it uses one
// Tiles of a warp that a row which does not stay in shared memory passes through: those on their
// way and the one in use.
constexpr int kRingTiles = kCopiesInFlight + 1;

SAMPLER_HD constexpr int ring_bytes(int num_threads) {
  return num_threads / 32 * kRingTiles * kTile * int(sizeof(float));
}

// How a launch is laid out. Chosen by make_plan, read by host and device.
struct Plan {
  int team_size = 1;  // blocks of a cluster, a power of two
  int64_t num_teams = 1;
  int row_cache_bytes = 0;         // of a block's shared memory, for its part of a row
  uint32_t *bitmaps = nullptr;     // kIdWords words a team, for long candidate lists; else null
  Spread spread;                   // of few long rows, which have two launches; this is the second
  const uint32_t *left = nullptr;  // not null: the rows are those that streaming left, by number,
  const uint32_t *num_left = nullptr;  // and so many
  bool may_overlap = false;            // of launches that follow each other: the device can do that

  SAMPLER_HD size_t shared_bytes() const { return sizeof(TeamShared) + size_t(row_cache_bytes); }
};

// What matters to the layout in a request.
struct Extent {
  int64_t num_rows;  // of output
  int64_t num_cols;
  int element_bytes;  // in shared memory
  bool has_candidates;
  Operation operation;
  bool shares_rows = false;  // neighbouring rows of output may be of one row of input
  bool is_left = false;      // few rows if any, which the device knows
};

SAMPLER_HD constexpr Operation operation_of(const contract::SampleRequest &) {
  return Operation::kSample;
}
SAMPLER_HD constexpr Operation operation_of(const contract::RowsRequest &) {
  return Operation::kRows;
}
SAMPLER_HD constexpr Operation operation_of(const StagedSampleRequest &) {
  return Operation::kStagedSample;
}
SAMPLER_HD constexpr Operation operation_of(const StagedRowsRequest &) {
  return Operation::kStagedRows;
}
SAMPLER_HD constexpr Operation operation_of(const contract::SelectRequest &) {
  return Operation::kSelect;
}
SAMPLER_HD constexpr Operation operation_of(const contract::ChainRequest &) {
  return Operation::kChain;
}
SAMPLER_HD constexpr Operation operation_of(const VerifyRequest &) {
  return Operation::kVerify;
}
SAMPLER_HD constexpr Operation operation_of(const ShardRequest &) {
  return Operation::kShard;
}
SAMPLER_HD constexpr Operation operation_of(const contract::ResidualRequest &) {
  return Operation::kResidual;
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
// What the last token is drawn from is f32.
SAMPLER_HD inline Extent extent_of(const contract::ChainRequest &request) {
  return {request.num_rows, request.target.num_cols, int(sizeof(float)),
          contract::reads_lists(request), operation_of(request)};
}
// What the edits leave is f32, and each row of output has its own.
template <class Request>
SAMPLER_HD inline Extent extent_of(const Staged<Request> &request) {
  Extent extent = extent_of(static_cast<const Request &>(request));
  extent.element_bytes = int(sizeof(float));
  extent.operation = operation_of(request);
  extent.shares_rows = false;
  return extent;
}
// So is the residual.
SAMPLER_HD inline Extent extent_of(const contract::ResidualRequest &request) {
  return {request.num_rows, request.target.num_cols, int(sizeof(float)), false,
          operation_of(request)};
}

// Of this rank's columns, or what it makes of them.
SAMPLER_HD inline Extent extent_of(const ShardRequest &request) {
  const contract::ShardCall call = request.call();
  const sampler_dtype dtype =
      call.has_own_values() ? sampler_dtype(SAMPLER_F32) : call.input().dtype;
  return {request.plan.num_rows, call.num_cols, int(contract::size_of(dtype)), false,
          operation_of(request)};
}

// f(request) for an empty request of each operation that a device has.
template <class F>
void for_each_operation(const F &f) {
  contract::AnyRequest::for_each_operation(f);
  f(StagedSampleRequest()), f(StagedRowsRequest()), f(VerifyRequest()), f(ShardRequest());
}

// A block's tiles of a row, and the bytes of its part of one and of its group maxima.
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

// Whether teams need bitmaps, for ids that stand twice and for the order of those that tie: where
// candidates do not fit the leader's list.
inline bool needs_bitmaps(const Extent &extent) {
  return extent.has_candidates && extent.num_cols > kListCapacity;
}

// Whether each team has memory of its own in the workspace, where it changes rows or merges lists.
inline bool has_stages(const Extent &extent) {
  return extent.operation == Operation::kStagedSample ||
         extent.operation == Operation::kStagedRows || extent.operation == Operation::kVerify ||
         extent.operation == Operation::kShard;
}

// Whether rows may be cut into slices. Lists of candidates are not: their ids are checked by one
// team.
inline bool can_be_spread(const Extent &extent) {
  return extent.operation == Operation::kSample && !extent.has_candidates && !extent.is_left;
}

// The shares of a kernel with so many bytes of static shared memory, of which a block has
// `per_block` at most, and of which the driver reserves some of a multiprocessor's for each block.
struct SharedMemory {
  int per_block;  // static and dynamic, opted in
  int per_multiprocessor;
  int reserved_per_block;
};
void divide_shared_memory(const SharedMemory &memory, int static_bytes, KernelShape *out);

// The hardware deals out teams as others end, so there are more of them than run at once, and each
// has few rows. Bitmaps are the caller's to set; they are large, and with them there are no more
// teams than run at once, nor than multiprocessors.
Plan make_plan(const DeviceShape &device, const Extent &extent);

// Where few long rows would leave most of a device idle they are spread over it: two launches, of
// `plan` and before it of this.
Plan loading_plan(const Plan &plan);

// The most that make_plan() asks for spread rows, of calls on up to so many rows and columns.
size_t largest_spread_bytes(const DeviceShape &device, int64_t max_rows, int64_t max_cols);

}  // namespace sampler::kernels
