// The text that sampler_last_error() returns.
#pragma once

#include <cstdarg>

#include "abi/thread_state.h"
#include "sampler/types.h"

namespace sampler::abi {

class Entry;

// An error text's room, with its end.
constexpr size_t kMaxErrorText = sizeof(ThreadState::error_text);

// Sets the calling thread's error text, writes it to the call's log, and returns `status`.
sampler_status fail(Entry &entry, sampler_status status, const char *format, va_list values);

[[gnu::format(printf, 3, 4)]] sampler_status fail(Entry &entry, sampler_status status,
                                                  const char *format, ...);

// A function of the host, `name`, returned `status`, which is not OK.
sampler_status fail_in_host(Entry &entry, const char *name, sampler_status status);

}  // namespace sampler::abi
