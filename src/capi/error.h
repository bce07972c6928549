// The text behind sampler_last_error().
#pragma once

#include <cstdarg>

#include "sampler/handle.h"

namespace sampler::capi {

// Where a handle's messages go; `log` null: nowhere.
struct Log {
  sampler_log_fn log = nullptr;
  void *user = nullptr;

  // What the callback throws, which it must not, goes no further.
  void operator()(sampler_log_level level, const char *message) const noexcept {
    if (!log) return;
    try {
      log(user, level, message);
    } catch (...) {
    }
  }
};

// Sets the calling thread's error text, tells the log, and returns `status`.
sampler_status fail(const Log &log, sampler_status status, const char *format, va_list values);

[[gnu::format(printf, 3, 4)]] sampler_status fail(const Log &log, sampler_status status,
                                                  const char *format, ...);

}  // namespace sampler::capi
