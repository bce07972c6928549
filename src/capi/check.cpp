#include "capi/check.h"

#include <cinttypes>

#include "contract/float_bits.h"

namespace sampler::capi {

void Check::fail(sampler_status status, const char *format, ...) {
  if (!ok()) return;
  va_list values;
  va_start(values, format);
  status_ = capi::fail(entry_, status, format, values);
  va_end(values);
}

void Check::range(const char *name, int64_t value, int64_t low, int64_t end) {
  if (value < low) {
    fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is %" PRId64 "; it must be at least %" PRId64, name,
         value, low);
  } else if (value >= end) {
    fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is %" PRId64 "; it must be below %" PRId64, name,
         value, end);
  }
}

void Check::enumeration(const char *name, int32_t value, int32_t count) {
  if (value < 0 || value >= count) {
    fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is %d; it must be one of its constants, 0 to %d", name,
         int(value), int(count - 1));
  }
}

void Check::zero(const char *name, int64_t value) {
  if (value != 0) {
    fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is %" PRId64 "; it must be 0", name, value);
  }
}

void Check::not_nan(const char *name, float value) {
  if (contract::is_nan(value)) {
    fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is NaN; it must be a number", name);
  }
}

int64_t Check::stride(const char *name, int64_t stride, const char *least_name, int64_t least) {
  if (stride == 0) return least;
  if (stride < least) {
    fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is %" PRId64 "; it must be 0 or at least %s, %" PRId64,
         name, stride, least_name, least);
  }
  return stride;
}

void Check::required(const char *name, const void *data) {
  if (checks_memory_ && !data) {
    fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is NULL; it is required", name);
  }
}

void Check::array(const char *name, const void *data, size_t size, int64_t rows, int64_t cols,
                  int64_t stride, Access access, Need need) {
  if (rows == 0 || cols == 0) return;
  if (need == Need::kRequired) required(name, data);
  if (!ok() || (need == Need::kOptional && !data)) return;
  const uintptr_t address = checks_memory_ ? reinterpret_cast<uintptr_t>(data) : 0;
  if (address % size != 0) {
    fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is %p; it must be aligned to %zu bytes", name, data,
         size);
    return;
  }
  int64_t last_row, elements, bytes;
  if (__builtin_mul_overflow(rows - 1, stride, &last_row) ||
      __builtin_add_overflow(last_row, cols, &elements) ||
      __builtin_mul_overflow(elements, int64_t(size), &bytes) ||
      uint64_t(bytes) > UINTPTR_MAX - address) {
    fail(SAMPLER_ERROR_INVALID_ARGUMENT,
         "%s has %" PRId64 " rows, %" PRId64 " elements apart; it must fit the address space", name,
         rows, stride);
    return;
  }
  if (checks_memory_) add_range(name, data, size_t(bytes), access);
}

void Check::workspace(const void *data, size_t bytes) {
  if (!checks_memory_) return;
  if (!data && bytes != 0) {
    fail(SAMPLER_ERROR_INVALID_ARGUMENT,
         "workspace is NULL and workspace_bytes %zu; it must be 0 then", bytes);
  } else if (bytes > UINTPTR_MAX - reinterpret_cast<uintptr_t>(data)) {
    fail(SAMPLER_ERROR_INVALID_ARGUMENT,
         "workspace_bytes is %zu; the workspace must fit the address space", bytes);
  } else if (ok() && data) {
    add_range("workspace", data, bytes, Access::kWrite);
  }
}

void Check::add_range(const char *name, const void *data, size_t bytes, Access access) {
  if (num_ranges_ == kMaxRanges) {
    fail(SAMPLER_ERROR_INTERNAL, "more than %d arrays in a call", kMaxRanges);
    return;
  }
  const uintptr_t begin = reinterpret_cast<uintptr_t>(data);
  ranges_[num_ranges_++] = {name, begin, begin + bytes, access};
}

void Check::overlaps() {
  for (int i = 0; i < num_ranges_; ++i) {
    for (int j = 0; j < num_ranges_; ++j) {
      const Range &a = ranges_[i], &b = ranges_[j];
      if (i == j || a.access != Access::kWrite || a.begin >= b.end || b.begin >= a.end) continue;
      fail(SAMPLER_ERROR_INVALID_ARGUMENT,
           "%s overlaps %s; outputs must overlap neither inputs nor each other", a.name, b.name);
      return;
    }
  }
}

}  // namespace sampler::capi
