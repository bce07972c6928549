#include "capi/error.h"

#include <cstdio>

namespace sampler::capi {

namespace {

// Touched only when a call fails: a thread's first touch may allocate it.
thread_local char error_text[512];

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
};
constexpr int32_t kNumStatuses = sizeof kStatusNames / sizeof *kStatusNames;
static_assert(kNumStatuses == SAMPLER_ERROR_INTERNAL + 1);

}  // namespace

sampler_status fail(const Log &log, sampler_status status, const char *format, va_list values) {
  std::vsnprintf(error_text, sizeof error_text, format, values);
  log(SAMPLER_LOG_ERROR, error_text);
  return status;
}

sampler_status fail(const Log &log, sampler_status status, const char *format, ...) {
  va_list values;
  va_start(values, format);
  fail(log, status, format, values);
  va_end(values);
  return status;
}

}  // namespace sampler::capi

extern "C" {

const char *sampler_last_error(void) {
  return sampler::capi::error_text;
}

const char *sampler_status_string(sampler_status status) {
  const bool known = status >= 0 && status < sampler::capi::kNumStatuses;
  return known ? sampler::capi::kStatusNames[status] : "SAMPLER_STATUS_UNKNOWN";
}

}  // extern "C"
