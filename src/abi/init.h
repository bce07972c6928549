// Structs that the library fills: with defaults, and with answers.
#pragma once

#include <algorithm>

#include "abi/check.h"

namespace sampler::abi {

// Whether `out` has the size of such a struct.
template <class Struct>
void check_init(Check &check, const char *name, const Struct *out, size_t struct_size) {
  check.required(name, out);
  if (!is_struct_size<Struct>(struct_size)) {
    check.fail(
        SAMPLER_ERROR_INVALID_ARGUMENT,
        "struct_size is %zu; it must be sizeof(%s), %zu here or up to %zu with newer headers",
        struct_size, StructTraits<Struct>::kName, sizeof(Struct), kMaxStructSize);
  }
}

// What a struct of that size has room for; 0 beyond it.
template <class Struct>
void fill(Struct value, Struct *out, size_t struct_size) {
  value.struct_size = struct_size;
  std::memset(static_cast<void *>(out), 0, struct_size);
  std::memcpy(out, &value, std::min(struct_size, sizeof value));
}

// What the _init functions do.
template <class Struct>
sampler_status init(Entry &entry, const char *name, Struct *out, size_t struct_size) {
  Check check(entry);
  check_init(check, name, out, struct_size);
  if (check.ok()) fill(StructTraits<Struct>::defaults(), out, struct_size);
  return check.status();
}

// An exported function that does that.
template <class Struct>
sampler_status enter_init(const char *name, Struct *out, size_t struct_size) {
  return enter(Log{}, [&](Entry &entry) { return init(entry, name, out, struct_size); });
}

// As much of `value` as the caller's struct, whose struct_size has been checked, has room for.
template <class Struct>
void write_struct(Struct value, Struct *out) {
  value.struct_size = out->struct_size;
  std::memcpy(out, &value, std::min(value.struct_size, sizeof value));
}

}  // namespace sampler::abi
