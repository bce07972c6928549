// The way into the library. Every exported function that does more than return a constant runs in
// enter(), and so does every function that a sampler_ngram of the library points to. Whatever
// computes, allocates, checks or logs takes the Entry, which is made only there.
#pragma once

#include "abi/error.h"
#include "cpu/fp_environment.h"
#include "sampler/handle.h"

namespace sampler::abi {

// Where messages go; `log` null: nowhere.
struct Log {
  sampler_log_fn log = nullptr;
  void *user = nullptr;
};

// A call, from its begin to its end: the contract's floating-point environment, and the only way
// out to what is the host's.
class Entry {
 public:
  Entry(const Entry &) = delete;
  Entry &operator=(const Entry &) = delete;

  void set_log(const Log &log) { log_ = log; }

  // Calls a function of the host's, in the host's floating-point environment.
  template <class Function>
  auto call_host(const Function &function) {
    const cpu::FpEnvironment::Host host(&environment_);
    return function();
  }

  // An exception of the callback, which must not throw, goes no further.
  void log(sampler_log_level level, const char *message) noexcept {
    if (!log_.log) return;
    try {
      call_host([&] { log_.log(log_.user, level, message); });
    } catch (...) {
    }
  }

 private:
  template <class Body>
  friend sampler_status enter(const Log &log, const Body &body) noexcept;
  explicit Entry(const Log &log) : log_(log) {}

  Log log_;
  cpu::FpEnvironment environment_;
};

// Runs `body(entry)` and returns its status. Nothing that it throws goes further: callbacks must
// not throw, and nothing else does.
template <class Body>
sampler_status enter(const Log &log, const Body &body) noexcept {
  Entry entry(log);
  try {
    return body(entry);
  } catch (...) {
    return fail(entry, SAMPLER_ERROR_CALLBACK, "a callback threw an exception; it must not");
  }
}

}  // namespace sampler::abi
