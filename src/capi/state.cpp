// The entry points of state.h that make states, and turn them into bytes and back.
#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <new>

#include "abi/cuda_errors.h"
#include "capi/call.h"
#include "capi/state_impl.h"
#include "capi/views.h"
#include "state/serialization.h"

namespace sampler::capi {

using namespace abi;

namespace {

constexpr int64_t kMaxSlots = kMaxRows, kMaxTokens = kMaxRows;
constexpr int64_t kLeastDistinct = 64;

size_t round_up(size_t bytes) {
  constexpr size_t kAlignment = contract::StateSlotLayout::kAlignment;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// A state before it has memory: a block of the host's, which begins with the sampler_state, and
// with a CUDA handle one of the device's. The slots lie at the end of the one or begin the other.
struct Plan {
  int64_t num_slots = 0;
  contract::StateSlotLayout layout;
  size_t bytes = 0, device_bytes = 0;

  static size_t slots_at() { return round_up(sizeof(sampler_state)); }
  size_t slot_bytes() const { return size_t(num_slots) * layout.slot_bytes(); }
  // On a device a lock for each slot follows, and room for numbers.
  size_t lock_bytes() const { return round_up(size_t(num_slots) * sizeof(uint32_t)); }
};

Plan read_options(Check &check, const sampler_handle &handle,
                  const sampler_state_options *user_options) {
  sampler_state_options options;
  if (!check.read("options", user_options, &options)) return {};
  check.range("num_slots", options.num_slots, 1, kMaxSlots);
  check.range("max_tokens", options.max_tokens, 1, kMaxTokens);
  if (check.ok()) {
    check.range("max_distinct_tokens", options.max_distinct_tokens, 0, options.max_tokens + 1);
  }
  check.enumeration("keep_adaptive_values", options.keep_adaptive_values, 2);
  check.zero("reserved", options.reserved);
  if (!check.ok()) return {};

  const int64_t usual = std::max(options.max_tokens / 4, kLeastDistinct);
  const int64_t max_distinct = options.max_distinct_tokens ? options.max_distinct_tokens
                                                           : std::min(usual, options.max_tokens);
  Plan plan;
  plan.num_slots = options.num_slots;
  plan.layout = {int32_t(options.max_tokens), int32_t(max_distinct),
                 options.keep_adaptive_values != 0};
  const size_t others =
      Plan::slots_at() +
      (handle.on_cuda ? plan.lock_bytes() + cuda::state_number_bytes(handle.device, plan.num_slots)
                      : 0);
  size_t all = 0;
  const bool is_too_large =
      __builtin_mul_overflow(size_t(plan.num_slots), plan.layout.slot_bytes(), &all) ||
      __builtin_add_overflow(all, others, &all) || all > size_t(PTRDIFF_MAX);
  plan.bytes = handle.on_cuda ? Plan::slots_at() : all;
  plan.device_bytes = handle.on_cuda ? all - plan.bytes : 0;
  if (is_too_large) {
    check.fail(SAMPLER_ERROR_OUT_OF_MEMORY,
               "num_slots is %" PRId64 " and max_tokens %" PRId64
               "; they must fit the address space",
               options.num_slots, options.max_tokens);
  }
  return plan;
}

void check_cuda(Check &check, const cuda::Error &error) {
  if (check.ok()) check.adopt(cuda_status(check.entry(), error));
}

void make_slots(char *slots, const Plan &plan, sampler_state *state) {
  std::memset(slots, 0, plan.slot_bytes());
  state->slots = {slots, plan.num_slots, plan.layout};
  for (int64_t slot = 0; slot < plan.num_slots; ++slot) state->slots[slot].reset({});
}

void make_slots_on_device(Check &check, const sampler_handle &handle, const Plan &plan,
                          sampler_state *state) {
  void *memory = nullptr;
  check_cuda(check, cuda::allocate(handle.device, plan.device_bytes, &memory));
  if (!check.ok()) return;
  char *const slots = static_cast<char *>(memory), *const locks = slots + plan.slot_bytes();
  state->slots = {slots, plan.num_slots, plan.layout, reinterpret_cast<uint32_t *>(locks)};
  state->numbers = locks + plan.lock_bytes();
  contract::ResetRequest request;
  request.state_slots = state->slots;
  request.slots = {nullptr, plan.num_slots};
  request.num_rows = plan.num_slots;
  request.is_new = true;
  check_cuda(check, cuda::run_state(request, handle.device, nullptr, nullptr));
  if (check.ok()) check_cuda(check, cuda::synchronize(handle.device, nullptr));
  if (!check.ok()) cuda::release(handle.device, memory);
}

sampler_status create(Entry &entry, sampler_handle *handle, const sampler_state_options *options,
                      sampler_state_t *out_state) {
  Check check(entry);
  check.required("out_state", out_state);
  if (check.ok()) *out_state = nullptr;
  const Plan plan = read_options(check, *handle, options);
  Block block;
  if (!check.ok() || !allocate(check, handle->allocator, "state", plan.bytes, &block)) {
    return check.status();
  }
  auto *const state = new (block.data)
      sampler_state{handle, handle->allocator, handle->log, plan.bytes, {}, nullptr};
  if (handle->on_cuda) {
    make_slots_on_device(check, *handle, plan, state);
  } else {
    make_slots(static_cast<char *>(block.data) + Plan::slots_at(), plan, state);
  }
  if (check.ok()) {
    *out_state = state;
  } else {
    release(entry, handle->allocator, &block);
  }
  return check.status();
}

sampler_status size(Entry &entry, const sampler_handle *handle,
                    const sampler_state_options *options, size_t *out_bytes) {
  Check check(entry);
  check.required("out_bytes", out_bytes);
  const Plan plan = read_options(check, *handle, options);
  if (check.ok()) *out_bytes = plan.bytes + plan.device_bytes;
  return check.status();
}

void destroy(Entry &entry, sampler_state *state) {
  const bool is_on_device = state->slots.locks != nullptr;
  if (is_on_device) cuda::release(state->handle->device, state->slots.slots);
  const Allocator allocator = state->allocator;
  Block block = {state, state->bytes};
  release(entry, allocator, &block);
}

void check_first_slot(Check &check, const sampler_state &state, int64_t first_slot) {
  if (check.ok()) check.range("first_slot", first_slot, 0, state.slots.num_slots + 1);
}

// Slots where the host reads and writes them: themselves, or of a device a copy.
class SlotsOnHost {
 public:
  // `is_read`: the copy has what they hold, else zeros. All work enqueued before is in it.
  SlotsOnHost(Check &check, const sampler_state &state, int64_t first, int64_t count, bool is_read)
      : check_(check), state_(state), first_(first), state_slots_(state.slots) {
    if (!on_device()) return;
    state_slots_ = {nullptr, count, state.slots.layout};
    const size_t bytes = size_t(count) * state_slots_.layout.slot_bytes();
    if (!allocate(check, state.allocator, "copy of the slots", bytes, &copy_)) return;
    state_slots_.slots = static_cast<char *>(copy_.data);
    if (bytes == 0) return;
    check_cuda(check, cuda::synchronize(device()));
    if (!is_read) {
      std::memset(copy_.data, 0, bytes);
    } else if (check.ok()) {
      check_cuda(check, cuda::copy(device(), copy_.data, own_slots(), bytes, nullptr));
      if (check.ok()) check_cuda(check, cuda::synchronize(device(), nullptr));
    }
  }
  ~SlotsOnHost() { release(check_.entry(), state_.allocator, &copy_); }
  SlotsOnHost(const SlotsOnHost &) = delete;
  SlotsOnHost &operator=(const SlotsOnHost &) = delete;

  const contract::StateSlots &state_slots() const { return state_slots_; }
  int64_t first() const { return on_device() ? 0 : first_; }

  // What they hold becomes the slots'.
  void write() const {
    if (!on_device() || copy_.bytes == 0) return;
    check_cuda(check_, cuda::copy(device(), own_slots(), copy_.data, copy_.bytes, nullptr));
    if (check_.ok()) check_cuda(check_, cuda::synchronize(device(), nullptr));
  }

 private:
  bool on_device() const { return state_.handle->on_cuda; }
  const cuda::Device &device() const { return state_.handle->device; }
  char *own_slots() const {
    return state_.slots.slots + size_t(first_) * state_.slots.layout.slot_bytes();
  }

  Check &check_;
  const sampler_state &state_;
  int64_t first_;
  contract::StateSlots state_slots_;
  Block copy_;
};

// `data` have been found good.
void put_slots(Check &check, const sampler_state &state, int64_t first, int64_t count,
               const unsigned char *data) {
  const SlotsOnHost slots(check, state, first, count, false);
  if (!check.ok()) return;
  state::deserialize(slots.state_slots(), slots.first(), data);
  slots.write();
}

sampler_status serialize(Check &check, const sampler_state *state, int64_t first_slot,
                         int64_t num_slots, void *buffer, size_t buffer_bytes, size_t *out_bytes) {
  check.required("out_bytes", out_bytes);
  if (!check.ok()) return check.status();
  check_first_slot(check, *state, first_slot);
  if (check.ok()) {
    check.range("num_slots", num_slots, 0, state->slots.num_slots - first_slot + 1);
  }
  if (!buffer && buffer_bytes != 0) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "buffer is NULL and buffer_bytes %zu; it must be 0 then", buffer_bytes);
  }
  if (!check.ok()) return check.status();
  const SlotsOnHost slots(check, *state, first_slot, num_slots, true);
  if (!check.ok()) return check.status();
  const size_t bytes = state::serialized_bytes(slots.state_slots(), slots.first(), num_slots);
  *out_bytes = bytes;
  if (!buffer) return SAMPLER_OK;
  if (buffer_bytes < bytes) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "buffer_bytes is %zu; these sequences need %zu",
               buffer_bytes, bytes);
    return check.status();
  }
  state::serialize(slots.state_slots(), slots.first(), num_slots,
                   static_cast<unsigned char *>(buffer));
  return SAMPLER_OK;
}

sampler_status deserialize(Check &check, const sampler_state *state, int64_t first_slot,
                           const void *data, size_t data_bytes, int64_t *out_num_slots) {
  check.required("data", data);
  if (!check.ok()) return check.status();
  check_first_slot(check, *state, first_slot);
  if (!check.ok()) return check.status();
  const contract::StateSlots &state_slots = state->slots;
  const auto *const bytes = static_cast<const unsigned char *>(data);
  const state::Checked checked =
      state::check_serialized(state_slots, first_slot, bytes, data_bytes);
  switch (checked.fault) {
    case state::Fault::kNone:
      put_slots(check, *state, first_slot, checked.num_slots, bytes);
      if (check.ok() && out_num_slots) *out_num_slots = checked.num_slots;
      break;
    case state::Fault::kCorrupt:
      check.fail(SAMPLER_ERROR_CORRUPT_DATA, "data %s", checked.reason);
      break;
    case state::Fault::kTooManySlots:
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
                 "data have %" PRId64 " sequences; the state has %" PRId64 " slots from first_slot",
                 checked.num_slots, state_slots.num_slots - first_slot);
      break;
    case state::Fault::kTooLong:
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
                 "data have a sequence of %" PRId64 " tokens; max_tokens of the state is %d",
                 checked.longest, int(state_slots.layout.max_tokens));
      break;
  }
  return check.status();
}

// body(check), while no other call of the handle runs, and with a state of the handle's.
template <class Body>
sampler_status enter_with(sampler_handle *handle, const sampler_state *state,
                          const Body &body) noexcept {
  return enter(handle, [&](Entry &entry) {
    const Busy busy(&handle->owner);
    Check check(entry);
    check_is_free(check, busy);
    check_state(check, "state", handle, state);
    return check.ok() ? body(check) : check.status();
  });
}

}  // namespace

}  // namespace sampler::capi

using namespace sampler::capi;

extern "C" {

sampler_status sampler_state_create(sampler_t sampler, const sampler_state_options *options,
                                    sampler_state_t *out_state) {
  return enter(sampler, [&](Entry &entry) { return create(entry, sampler, options, out_state); });
}

sampler_status sampler_state_size(sampler_t sampler, const sampler_state_options *options,
                                  size_t *out_bytes) {
  return enter(sampler, [&](Entry &entry) { return size(entry, sampler, options, out_bytes); });
}

void sampler_state_destroy(sampler_state_t state) {
  if (!state) return;
  enter(state->log, [&](Entry &entry) {
    destroy(entry, state);
    return SAMPLER_OK;
  });
}

sampler_status sampler_state_serialize(sampler_t sampler, sampler_state_t state, int64_t first_slot,
                                       int64_t num_slots, void *buffer, size_t buffer_bytes,
                                       size_t *out_bytes) {
  return enter_with(sampler, state, [&](Check &check) {
    return serialize(check, state, first_slot, num_slots, buffer, buffer_bytes, out_bytes);
  });
}

sampler_status sampler_state_deserialize(sampler_t sampler, sampler_state_t state,
                                         int64_t first_slot, const void *data, size_t data_bytes,
                                         int64_t *out_num_slots) {
  return enter_with(sampler, state, [&](Check &check) {
    return deserialize(check, state, first_slot, data, data_bytes, out_num_slots);
  });
}

}  // extern "C"
