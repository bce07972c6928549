#include "abi/error.h"

#include <cstdio>
#include <cstring>

#include "abi/entry.h"
#include "abi/thread_state.h"

namespace sampler::abi {

namespace {

const char *const kStatusNames[] = {
    "SAMPLER_OK",
    "SAMPLER_ERROR_INVALID_ARGUMENT",
    "SAMPLER_ERROR_OUT_OF_MEMORY",
    "SAMPLER_ERROR_WORKSPACE_TOO_SMALL",
    "SAMPLER_ERROR_UNSUPPORTED",
    "SAMPLER_ERROR_ABI_MISMATCH",
    "SAMPLER_ERROR_SYSTEM",
    "SAMPLER_ERROR_CALLBACK",
    "SAMPLER_ERROR_CUDA",
    "SAMPLER_ERROR_INTERNAL",
    "SAMPLER_ERROR_CORRUPT_DATA",
};
constexpr int32_t kNumStatuses = sizeof kStatusNames / sizeof *kStatusNames;
static_assert(kNumStatuses == SAMPLER_ERROR_CORRUPT_DATA + 1);

// A text may quote what the caller or the environment gave: a line end would make it two lines, and
// a letter that its end cut in the middle no UTF-8, which Python and Java refuse.
void keep_printable_ascii(char *text) {
  for (; *text; ++text) {
    if (*text < ' ' || *text > '~') *text = '?';
  }
}

}  // namespace

// The log's line is not the thread's error text: calls that the log makes with other handles may
// fail and overwrite that. It is set last, so that it is that of the call that failed last.
sampler_status fail(Entry &entry, sampler_status status, const char *format, va_list values) {
  char text[kMaxErrorText];
  std::vsnprintf(text, sizeof text, format, values);
  keep_printable_ascii(text);
  entry.log(SAMPLER_LOG_ERROR, text);
  if (ThreadState *const state = make_thread_state()) {
    std::memcpy(state->error_text, text, sizeof text);
  }
  return status;
}

sampler_status fail(Entry &entry, sampler_status status, const char *format, ...) {
  va_list values;
  va_start(values, format);
  fail(entry, status, format, values);
  va_end(values);
  return status;
}

sampler_status fail_in_host(Entry &entry, const char *name, sampler_status status) {
  if (status < 0) return fail(entry, status, "%s returned %d", name, int(status));
  return fail(entry, status, "%s returned %d, %s", name, int(status),
              sampler_status_string(status));
}

}  // namespace sampler::abi

extern "C" {

const char *sampler_last_error(void) {
  const sampler::abi::ThreadState *const state = sampler::abi::thread_state();
  return state ? state->error_text : "";
}

const char *sampler_status_string(sampler_status status) {
  const bool known = status >= 0 && status < sampler::abi::kNumStatuses;
  return known ? sampler::abi::kStatusNames[status] : "SAMPLER_STATUS_UNKNOWN";
}

}  // extern "C"
