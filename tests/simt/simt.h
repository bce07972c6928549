// Plays CUDA on the host, so that device code written over a Context (kernels/machine/device.cuh)
// runs where there is no GPU, under sanitizers, and with its barriers taken out one by one.
//
//   simt::launch<256>(num_rows, team_size, sizeof(Shared), seed, [&](auto &context) {
//     some_kernel(context, arguments);
//   });
//
// Teams run one after another, the threads of a team as fibers in random order: a thread runs until
// it has to wait for others, so that what it reads is what the threads before it have written, and
// a missing barrier shows as a wrong result under most seeds. A seed gives the same run again.
//
// Broken rules end the launch with an Error. AddressSanitizer sees accesses outside of a block's
// shared memory, or before the block has begun or after it has ended. ThreadSanitizer sees races
// between threads of a team, ordered by its barriers alone; it bears a few thousand threads a team.
//
// One launch at a time in a process. A kernel may throw, which ends the launch, but must not
// swallow what it did not throw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "contract/float_bits.h"
#include "machine.h"
#include "sampler/types.h"

namespace simt {

// The Context of kernels/device.cuh. `place` is left to its default.
template <int kThreads_>
class SimtContext {
 public:
  static constexpr int kThreads = kThreads_;
  static constexpr int kWarps = kThreads / kWarpSize;
  static_assert(kThreads % kWarpSize == 0 && kThreads >= kWarpSize && kThreads <= kMaxThreads);

  explicit SimtContext(Thread &thread) : thread_(thread), machine_(*thread.machine) {}

  int thread() const { return thread_.index; }
  int lane() const { return thread_.index % kWarpSize; }
  int warp() const { return thread_.index / kWarpSize; }
  int cluster_rank() const { return is_grouped() ? 0 : thread_.block->rank; }
  int team_size() const { return is_grouped() ? 1 : machine_.dimensions().team_size; }
  std::int64_t team() const {
    const Dimensions &grid = machine_.dimensions();
    return is_grouped() ? machine_.team() * grid.team_size + thread_.block->rank : machine_.team();
  }
  std::int64_t num_teams() const {
    const Dimensions &grid = machine_.dimensions();
    return is_grouped() ? grid.num_blocks : grid.num_teams;
  }

  void sync(Place place = Place::here()) const { machine_.meet(thread_, {Kind::kSync, place}); }

  void team_sync(Place place = Place::here()) const {
    machine_.meet(thread_, {Kind::kTeamSync, place});
  }

  template <class T>
  T &shared(Place place = Place::here()) const {
    static_assert(alignof(T) <= 16, "dynamic shared memory is aligned to 16 bytes");
    const SharedMemory &memory = *thread_.block->shared;
    if (sizeof(T) > memory.num_bytes()) {
      machine_.fail(ErrorKind::kSharedSize, place, thread_,
                    "shared<T>() of " + std::to_string(sizeof(T)) + " bytes, launched with " +
                        std::to_string(memory.num_bytes()));
    }
    return *reinterpret_cast<T *>(memory.data());
  }

  template <class T>
  T *peer(T *pointer, int rank, Place place = Place::here()) const {
    if (rank < 0 || rank >= team_size()) {
      machine_.fail(
          ErrorKind::kPeerRank, place, thread_,
          "peer " + std::to_string(rank) + " of a team of " + std::to_string(team_size()));
    }
    const SharedMemory &own = *thread_.block->shared;
    const auto offset =
        reinterpret_cast<std::uintptr_t>(pointer) - reinterpret_cast<std::uintptr_t>(own.data());
    if (offset > own.num_bytes() || own.num_bytes() - offset < sizeof(T)) {
      machine_.fail(ErrorKind::kPeerAddress, place, thread_,
                    "peer() of an address outside of the block's shared memory");
    }
    return reinterpret_cast<T *>(machine_.block(rank).shared->data() + offset);
  }

  void warp_sync(Place place = Place::here()) const {
    machine_.meet(thread_, {Kind::kWarpSync, place});
  }

  std::uint32_t ballot(bool predicate, Place place = Place::here()) const {
    return std::uint32_t(machine_.meet(thread_, {Kind::kBallot, place}, predicate));
  }

  std::uint64_t warp_broadcast(std::uint64_t value, int lane, Place place = Place::here()) const {
    if (lane < 0 || lane >= kWarpSize) {
      machine_.fail(ErrorKind::kLane, place, thread_, "broadcast of lane " + std::to_string(lane));
    }
    return machine_.meet(thread_, {Kind::kWarpBroadcast, place}, value, lane);
  }

  std::uint64_t warp_inclusive_sum(std::uint64_t value, Place place = Place::here()) const {
    return machine_.meet(thread_, {Kind::kWarpInclusiveSum, place}, value);
  }

  std::uint64_t warp_sum(std::uint64_t value, Place place = Place::here()) const {
    if (value >> 49 != 0) {
      machine_.fail(ErrorKind::kWarpSum, place, thread_, "warp_sum of " + std::to_string(value));
    }
    return machine_.meet(thread_, {Kind::kWarpSum, place}, value);
  }

  std::uint32_t warp_max(std::uint32_t value, Place place = Place::here()) const {
    return std::uint32_t(machine_.meet(thread_, {Kind::kWarpMax, place}, value));
  }

  std::uint32_t warp_match(std::uint32_t value, Place place = Place::here()) const {
    return std::uint32_t(machine_.meet(thread_, {Kind::kWarpMatch, place}, value));
  }

  static int lowest_bit(std::uint32_t bits) { return __builtin_ctz(bits); }
  static int count_bits(std::uint32_t bits) { return __builtin_popcount(bits); }

  std::uint64_t block_sum(std::uint64_t value, Place place = Place::here()) const {
    return machine_.meet(thread_, {Kind::kBlockSum, place}, value);
  }

  std::uint64_t block_max(std::uint64_t value, Place place = Place::here()) const {
    return machine_.meet(thread_, {Kind::kBlockMax, place}, value);
  }

  std::uint64_t block_exclusive_sum(std::uint64_t value, std::uint64_t *total,
                                    Place place = Place::here()) const {
    const std::uint64_t result = machine_.meet(thread_, {Kind::kBlockExclusiveSum, place}, value);
    *total = thread_.total;
    return result;
  }

  std::uint32_t block_count(bool predicate, Place place = Place::here()) const {
    return std::uint32_t(machine_.meet(thread_, {Kind::kBlockCount, place}, predicate));
  }

  std::uint32_t atomic_add(std::uint32_t *address, std::uint32_t value) const {
    return atomic([&] { return __atomic_fetch_add(address, value, __ATOMIC_RELAXED); });
  }

  std::uint64_t atomic_add(std::uint64_t *address, std::uint64_t value) const {
    return atomic([&] { return __atomic_fetch_add(address, value, __ATOMIC_RELAXED); });
  }

  std::uint32_t atomic_or(std::uint32_t *address, std::uint32_t value) const {
    return atomic([&] { return __atomic_fetch_or(address, value, __ATOMIC_RELAXED); });
  }

  std::uint32_t atomic_max(std::uint32_t *address, std::uint32_t value) const {
    return atomic([&] {
      std::uint32_t old = __atomic_load_n(address, __ATOMIC_RELAXED);
      while (old < value && !__atomic_compare_exchange_n(address, &old, value, false,
                                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      }
      return old;
    });
  }

  template <class T>
  void publish(T *address, const T &value) const {
    static_assert(std::is_trivially_copyable_v<T>);
    machine_.tick(thread_);
    if (machine_.is_early()) {
      sanitizers::store_shared(address, &value, sizeof value);
    } else {
      thread_.publications.add(address, &value, sizeof value);
    }
  }

  void fence() const { machine_.fence(thread_); }

  template <class T>
  void store_same(T *address, T value) const {
    sanitizers::store_shared(address, &value, sizeof value);
  }

  template <class T>
  T load_fresh(const T *address) const {
    static_assert(std::is_trivially_copyable_v<T>);
    machine_.tick(thread_);
    T value;
    sanitizers::load_shared(&value, address, sizeof value);
    return value;
  }

  // Launches run one after the other.
  void wait_for_launch_before() const {}
  void let_next_launch_begin() const {}

  void settle(std::uint32_t *) const {}

  void pause(Place place = Place::here()) const { machine_.pause(thread_, place); }

  template <class T>
  T load_streamed(const T *address, Place place = Place::here()) const {
    return load_vector(address, place);
  }

  void add_to_shared(std::uint32_t *address, std::uint32_t value,
                     Place place = Place::here()) const {
    check_own(address, sizeof *address, "add_to_shared", place);
    atomic_add(address, value);
  }
  // To a number in two words, `low` and `high`.
  template <class TwoWords>
  void add_to_shared(TwoWords *address, std::uint64_t value, Place place = Place::here()) const {
    check_own(address, sizeof *address, "add_to_shared", place);
    const std::uint32_t low = std::uint32_t(value);
    const std::uint32_t before = atomic_add(&address->low, low);
    atomic_add(&address->high, std::uint32_t(value >> 32) + (before + low < low ? 1 : 0));
  }

  template <class T>
  T load_vector(const T *address, Place place = Place::here()) const {
    check_vector<T>(address, place);
    machine_.tick(thread_);
    T value;
    std::memcpy(&value, address, sizeof value);
    return value;
  }

  template <class T>
  T load_shared(const T *address, Place place = Place::here()) const {
    check_own(address, sizeof(T), "load_shared", place);
    return load_vector(address, place);
  }

  template <class T>
  void store_vector(T *address, const T &value, Place place = Place::here()) const {
    check_vector<T>(address, place);
    std::memcpy(address, &value, sizeof value);
    machine_.tick(thread_);
  }

  template <class T>
  void copy_async(T *shared, const T *global, Place place = Place::here()) const {
    check_vector<T>(shared, place);
    check_vector<T>(global, place);
    if (machine_.is_early()) {
      std::memcpy(shared, global, sizeof(T));
    } else {
      thread_.copies.start(shared, global, sizeof(T));
    }
  }

  template <class T>
  T load_last(const T *address, Place place = Place::here()) const {
    return load_vector(address, place);
  }

  void commit_copies() const { thread_.copies.commit(); }

  template <int kPending>
  void wait_for_copies() const {
    thread_.copies.wait(kPending);
  }

  static float larger(float a, float b) { return a > b || a != a ? a : b; }
  static float smaller(float a, float b) { return a < b || b != b ? a : b; }

  template <sampler_dtype kDtype>
  static std::uint32_t larger_pair(std::uint32_t a, std::uint32_t b) {
    return of_halves(a, b, [](std::uint16_t x, std::uint16_t y) {
      const float a_half = widen<kDtype>(x), b_half = widen<kDtype>(y);
      return a_half > b_half || a_half != a_half ? x : y;
    });
  }
  template <sampler_dtype kDtype>
  static std::uint32_t smaller_pair(std::uint32_t a, std::uint32_t b) {
    return of_halves(a, b, [](std::uint16_t x, std::uint16_t y) {
      const float a_half = widen<kDtype>(x), b_half = widen<kDtype>(y);
      return a_half < b_half || b_half != b_half ? x : y;
    });
  }

 private:
  template <sampler_dtype kDtype>
  static float widen(std::uint16_t x) {
    return kDtype == SAMPLER_BF16 ? sampler::contract::widen_bf16(x)
                                  : sampler::contract::widen_f16(x);
  }
  template <class Operation>
  static std::uint32_t of_halves(std::uint32_t a, std::uint32_t b, const Operation &operation) {
    const std::uint16_t low = operation(std::uint16_t(a), std::uint16_t(b));
    const std::uint16_t high = operation(std::uint16_t(a >> 16), std::uint16_t(b >> 16));
    return std::uint32_t(low) | std::uint32_t(high) << 16;
  }

  template <class Operation>
  auto atomic(const Operation &operation) const {
    machine_.tick(thread_);
    const auto old = operation();
    machine_.tick(thread_);
    return old;
  }

  void check_own(const void *address, std::size_t num_bytes, const char *name, Place place) const {
    const SharedMemory &own = *thread_.block->shared;
    const auto *begin = static_cast<const std::byte *>(address);
    if (begin < own.data() || begin + num_bytes > own.data() + own.num_bytes()) {
      machine_.fail(ErrorKind::kSharedAddress, place, thread_,
                    std::string(name) + "() of an address outside of the block's shared memory");
    }
  }

  template <class T>
  void check_vector(const void *address, Place place) const {
    static_assert(sizeof(T) == 8 || sizeof(T) == 16, "a vector has 8 or 16 bytes");
    static_assert(std::is_trivially_copyable_v<T>);
    if (reinterpret_cast<std::uintptr_t>(address) % sizeof(T) != 0) {
      machine_.fail(ErrorKind::kMisaligned, place, thread_,
                    "vector of " + std::to_string(sizeof(T)) + " bytes at an address that is " +
                        std::to_string(reinterpret_cast<std::uintptr_t>(address) % sizeof(T)) +
                        " above a multiple");
    }
  }

  bool is_grouped() const { return machine_.dimensions().num_blocks > 0; }

  Thread &thread_;
  Machine &machine_;
};

// Runs kernel(context) in every thread of `grid_teams` teams of `team_size` blocks, and returns
// when all have ended. `kernel` takes a SimtContext<kThreads> &.
template <int kThreads, class Kernel>
void launch(std::int64_t grid_teams, int team_size, std::size_t shared_bytes, std::uint64_t seed,
            const Kernel &kernel, const Options &options = Options()) {
  Machine::instance().launch({grid_teams, team_size, kThreads, shared_bytes}, seed, options,
                             [&](Thread &thread) {
                               SimtContext<kThreads> context(thread);
                               kernel(context);
                             });
}

// The same of a grid of single blocks, of which `at_once` run at the same time: they may wait for
// each other.
template <int kThreads, class Kernel>
void launch_blocks(std::int64_t num_blocks, int at_once, std::size_t shared_bytes,
                   std::uint64_t seed, const Kernel &kernel, const Options &options = Options()) {
  const std::int64_t num_groups = (num_blocks + at_once - 1) / at_once;
  Machine::instance().launch({num_groups, at_once, kThreads, shared_bytes, num_blocks}, seed,
                             options, [&](Thread &thread) {
                               SimtContext<kThreads> context(thread);
                               if (context.team() < num_blocks) kernel(context);
                             });
}

}  // namespace simt
