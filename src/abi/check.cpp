#include "abi/check.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "contract/float_bits.h"

namespace sampler::abi {

namespace {

// Members of the structs that a simple call fills, as its arguments: "input.num_cols" becomes
// "input->num_cols", and "params->top_p" "top_p".
void name_arguments(char *text) {
  struct Word {
    const char *member;
    const char *argument;
  };
  constexpr Word words[] = {{"input.", "input->"},
                            {"target.", "target->"},
                            {"draft.", "draft->"},
                            {"params->", ""},
                            {", or set exec.workspace", ""}};
  char result[kMaxErrorText];
  size_t length = 0;
  for (const char *at = text; *at && length + 1 < sizeof result;) {
    const Word *found = nullptr;
    for (const Word &word : words) {
      if (!found && std::strncmp(at, word.member, std::strlen(word.member)) == 0) found = &word;
    }
    if (!found) {
      result[length++] = *at++;
      continue;
    }
    length += size_t(std::snprintf(result + length, sizeof result - length, "%s", found->argument));
    length = std::min(length, sizeof result - 1);
    at += std::strlen(found->member);
  }
  result[length] = '\0';
  std::memcpy(text, result, length + 1);
}

}  // namespace

Name::Text Name::text() const {
  Text result;
  std::snprintf(result.text, sizeof result.text, "%s%s%s", parent_ ? parent_ : "",
                parent_ ? "." : "", member_);
  return result;
}

void Check::fail(sampler_status status, const char *format, ...) {
  if (!ok()) return;
  va_list values;
  va_start(values, format);
  char text[kMaxErrorText];
  std::vsnprintf(text, sizeof text, format, values);
  va_end(values);
  if (wording_ == Wording::kSimple) name_arguments(text);
  status_ = abi::fail(entry_, status, "%s", text);
}

void Check::range(const Name &name, int64_t value, int64_t low, int64_t end) {
  if (value < low) {
    fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is %" PRId64 "; it must be at least %" PRId64,
         name.text().text, value, low);
  } else if (value >= end) {
    fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is %" PRId64 "; it must be below %" PRId64,
         name.text().text, value, end);
  }
}

int32_t Check::enumeration(const Name &name, int32_t value, int32_t count) {
  if (value < 0 || value >= count) {
    fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is %d; it must be one of its constants, 0 to %d",
         name.text().text, int(value), int(count - 1));
  }
  return value;
}

void Check::refuse_not_zero(const Name &name, int64_t value) {
  fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is %" PRId64 "; it must be 0", name.text().text, value);
}

void Check::shares(const Name &name, const float *values, int64_t count) {
  for (int64_t i = 0; ok() && checks_memory_ && values && i < count; ++i) {
    if (values[i] >= 0 && values[i] <= 1) continue;
    fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s[%" PRId64 "] is %.9g; it must be in [0, 1]",
         name.text().text, i, double(values[i]));
  }
}

void Check::refuse_nan(const Name &name) {
  fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is NaN; it must be a number", name.text().text);
}

int64_t Check::stride(const Name &name, int64_t stride, const Name &least_name, int64_t least) {
  if (stride == 0) return least;
  if (stride < least) {
    fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is %" PRId64 "; it must be 0 or at least %s, %" PRId64,
         name.text().text, stride, least_name.text().text, least);
  }
  return stride;
}

void Check::required(const Name &name, const void *data) {
  if (checks_memory_ && !data) {
    fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is NULL; it is required", name.text().text);
  }
}

void Check::array(const Name &name, const void *data, size_t size, int64_t rows, int64_t cols,
                  int64_t stride, Access access, Need need) {
  if (rows == 0 || cols == 0) return;
  if (need == Need::kRequired) required(name, data);
  if (!ok() || (need == Need::kOptional && !data)) return;
  const uintptr_t address = checks_memory_ ? reinterpret_cast<uintptr_t>(data) : 0;
  if (address % size != 0) {
    fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is %p; it must be aligned to %zu bytes",
         name.text().text, data, size);
    return;
  }
  int64_t last_row, elements, bytes;
  if (__builtin_mul_overflow(rows - 1, stride, &last_row) ||
      __builtin_add_overflow(last_row, cols, &elements) ||
      __builtin_mul_overflow(elements, int64_t(size), &bytes) ||
      uint64_t(bytes) > UINTPTR_MAX - address) {
    fail(SAMPLER_ERROR_INVALID_ARGUMENT,
         "%s has %" PRId64 " rows, %" PRId64 " elements apart; it must fit the address space",
         name.text().text, rows, stride);
    return;
  }
  if (checks_memory_) add_range(name, data, size_t(bytes), access);
}

void Check::workspace(const void *data, size_t bytes) {
  if (!checks_memory_) return;
  if (!data && bytes != 0) {
    fail(SAMPLER_ERROR_INVALID_ARGUMENT,
         "exec.workspace is NULL and exec.workspace_bytes %zu; it must be 0 then", bytes);
  } else if (bytes > UINTPTR_MAX - reinterpret_cast<uintptr_t>(data)) {
    fail(SAMPLER_ERROR_INVALID_ARGUMENT,
         "exec.workspace_bytes is %zu; the workspace must fit the address space", bytes);
  } else if (ok() && data) {
    add_range("exec.workspace", data, bytes, Access::kWrite);
  }
}

void Check::add_range(const Name &name, const void *data, size_t bytes, Access access) {
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
           "%s overlaps %s; outputs must overlap neither inputs nor each other", a.name.text().text,
           b.name.text().text);
      return;
    }
  }
}

}  // namespace sampler::abi
