// The calls of state.h on a device: a warp per row. Its first lane does the sequential part.
#pragma once

#include <cstdint>
#include <type_traits>

#include "contract/state_rows.h"
#include "machine/device.cuh"

namespace sampler::kernels {

// The lanes of a warp.
template <class Context>
struct Lanes {
  static constexpr int count = 32;
  Context &ctx;
  int index;

  SAMPLER_DEVICE explicit Lanes(Context &context) : ctx(context), index(context.lane()) {}
  SAMPLER_DEVICE void wait() const { ctx.warp_sync(); }
};

constexpr int kStateLine = 16;  // bytes that a lane clears at once
static_assert(contract::StateSlotLayout::kAlignment % kStateLine == 0);

// Empties a slot whose memory and lock may be uninitialised. Called by the whole warp.
template <class Context>
SAMPLER_DEVICE void clear_slot(Context &ctx, const contract::StateSlots &state_slots,
                               int64_t slot) {
  struct alignas(kStateLine) Line {
    uint32_t word[kStateLine / 4];
  };
  const size_t bytes = state_slots.layout.slot_bytes();
  Line *const lines = reinterpret_cast<Line *>(state_slots.slots + size_t(slot) * bytes);
  for (size_t i = size_t(ctx.lane()); i < bytes / sizeof(Line); i += 32) lines[i] = {};
  if (ctx.lane() == 0) state_slots.locks[slot] = 0;
  ctx.warp_sync();
}

// Rows of one slot, which a call must not have, do not run concurrently: the later one does
// nothing, and its slot gets a bad status.
template <class Context>
class SlotLock {
 public:
  // Called by the whole warp.
  SAMPLER_DEVICE SlotLock(Context &ctx, uint32_t *locks, int64_t slot)
      : ctx_(ctx), lock_(locks + slot) {
    uint64_t before = 0;
    if (ctx.lane() == 0) before = ctx.atomic_or(lock_, 1u);
    is_held_ = ctx.warp_broadcast(before, 0) == 0;
    ctx.fence();
  }
  SAMPLER_DEVICE bool is_held() const { return is_held_; }
  SAMPLER_DEVICE void release() const {
    ctx_.fence();
    ctx_.warp_sync();
    if (ctx_.lane() == 0) ctx_.publish(lock_, 0u);
    ctx_.fence();
  }

 private:
  Context &ctx_;
  uint32_t *lock_;
  bool is_held_;
};

template <class Context, class Request>
SAMPLER_DEVICE void run_state(Context &ctx, const Request &request) {
  constexpr int kWarps = Context::kThreads / 32;
  const int64_t row = ctx.team() * kWarps + ctx.warp();
  if (row >= request.num_rows) return;
  const Lanes<Context> lanes(ctx);
  const int64_t slot = request.slots[row];
  if (std::is_same_v<Request, contract::ReadRequest> || !request.state_slots.has(slot)) {
    contract::run_state_row(request, row, lanes);
    return;
  }
  if constexpr (std::is_same_v<Request, contract::ResetRequest>) {
    if (request.is_new) {
      clear_slot(ctx, request.state_slots, slot);
      contract::run_state_row(request, row, lanes);
      return;
    }
  }
  const SlotLock<Context> lock(ctx, request.state_slots.locks, slot);
  if (!lock.is_held()) {
    if (lanes.index == 0) contract::write_outcome(request, row, SAMPLER_ROW_INVALID_SLOT, -1);
    return;
  }
  contract::run_state_row(request, row, lanes);
  lock.release();
}

}  // namespace sampler::kernels
