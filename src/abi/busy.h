// One call at a time: who uses a handle, an n-gram storage or a lookup.
#pragma once

#include <atomic>

#include "abi/check.h"
#include "cpu/fork_generation.h"

namespace sampler::abi {

// To be called before an Owner is created. False, and an error: the system has no memory.
inline bool prepare_owners(Check &check) {
  if (check.ok() && !cpu::prepare_fork_generation()) {
    check.fail(SAMPLER_ERROR_OUT_OF_MEMORY, "the system has no page of memory for the library");
  }
  return check.ok();
}

// Lies in the object: the generation of the process in which a call uses it, or 0.
class Owner {
 private:
  friend class Busy;
  std::atomic<uint32_t> generation_{0};
};

// Takes the object for as long as this lives.
class Busy {
 public:
  explicit Busy(Owner *owner) : owner_(owner) {
    const uint32_t own = cpu::fork_generation();
    uint32_t found = owner_->generation_.load(std::memory_order_relaxed);
    acquired_ = found != own &&
                owner_->generation_.compare_exchange_strong(found, own, std::memory_order_acquire);
    interrupted_ = acquired_ && found != 0;
  }
  ~Busy() {
    if (acquired_) owner_->generation_.store(0, std::memory_order_release);
  }
  Busy(const Busy &) = delete;
  Busy &operator=(const Busy &) = delete;

  // False: another call of this process uses the object.
  bool acquired() const { return acquired_; }

  // This process was forked while a call of its parent used the object. That call does not go on
  // here; what it was changing is as it was at the fork.
  bool interrupted() const { return interrupted_; }

 private:
  Owner *owner_;
  bool acquired_;
  bool interrupted_;
};

// An error where another call uses the handle.
inline void check_is_free(Check &check, const Busy &busy) {
  if (busy.acquired()) return;
  check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
             "sampler is serving another call; it serves one at a time");
}

}  // namespace sampler::abi
