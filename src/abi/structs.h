// The public structs that start with struct_size: their defaults, and reading one from a caller
// whose headers may be older or newer than this library.
#pragma once

#include <cstddef>
#include <cstring>

#include "sampler/handle.h"
#include "sampler/sampling.h"
#include "sampler/shard.h"
#include "sampler/speculative.h"
#include "sampler/state.h"
#include "sampler/unmask.h"

namespace sampler::abi {

template <class Struct>
struct StructTraits;

// Structs that are all 0 by default, and those that have a function for it; in this namespace. A
// struct that has grown since its first release states the size it had then.
#define SAMPLER_STRUCT_TRAITS(Struct, ...)                      \
  template <>                                                   \
  struct StructTraits<Struct> {                                 \
    static constexpr const char *kName = #Struct;               \
    static constexpr size_t kFirstReleaseSize = sizeof(Struct); \
    static Struct defaults() { return __VA_ARGS__; }            \
  };
#define SAMPLER_ZERO_TRAITS(Struct) SAMPLER_STRUCT_TRAITS(Struct, {})
#define SAMPLER_DEFAULT_TRAITS(Struct) SAMPLER_STRUCT_TRAITS(Struct, Struct##_default())
SAMPLER_ZERO_TRAITS(sampler_sample_args)
SAMPLER_ZERO_TRAITS(sampler_score_args)
SAMPLER_ZERO_TRAITS(sampler_filter_args)
SAMPLER_ZERO_TRAITS(sampler_select_args)
SAMPLER_ZERO_TRAITS(sampler_report_args)
SAMPLER_ZERO_TRAITS(sampler_acceptance_params)
SAMPLER_ZERO_TRAITS(sampler_draft_layout)
SAMPLER_ZERO_TRAITS(sampler_verify_args)
SAMPLER_ZERO_TRAITS(sampler_residual_args)
SAMPLER_ZERO_TRAITS(sampler_unmask_args)
SAMPLER_ZERO_TRAITS(sampler_unmask_params)
SAMPLER_ZERO_TRAITS(sampler_shard_args)
SAMPLER_ZERO_TRAITS(sampler_shard_plan_info)
SAMPLER_ZERO_TRAITS(sampler_row_params)
SAMPLER_ZERO_TRAITS(sampler_pipeline)
SAMPLER_ZERO_TRAITS(sampler_state_options)
SAMPLER_ZERO_TRAITS(sampler_state_append_args)
SAMPLER_ZERO_TRAITS(sampler_accept_args)
SAMPLER_ZERO_TRAITS(sampler_state_truncate_args)
SAMPLER_ZERO_TRAITS(sampler_state_copy_args)
SAMPLER_ZERO_TRAITS(sampler_state_reset_args)
SAMPLER_ZERO_TRAITS(sampler_state_read_args)
SAMPLER_ZERO_TRAITS(sampler_capabilities)
SAMPLER_DEFAULT_TRAITS(sampler_params)
SAMPLER_DEFAULT_TRAITS(sampler_options)

// A struct as the library itself makes one: all 0 except its size.
template <class Struct>
Struct sized() {
  Struct result = {};
  result.struct_size = sizeof result;
  return result;
}

// No released struct is larger; a size above it is an uninitialised one.
constexpr size_t kMaxStructSize = 65536;

// Whether a caller's struct_size can be one.
template <class Struct>
bool is_struct_size(size_t struct_size) {
  return struct_size >= StructTraits<Struct>::kFirstReleaseSize && struct_size <= kMaxStructSize;
}

// Whether all bytes of a newer caller's struct beyond what this library knows are 0.
template <class Struct>
bool has_zero_tail(const Struct *user, size_t struct_size) {
  const unsigned char *bytes = reinterpret_cast<const unsigned char *>(user);
  for (size_t i = sizeof(Struct); i < struct_size; ++i) {
    if (bytes[i] != 0) return false;
  }
  return true;
}

// The caller's members, and the defaults of those that an older caller lacks.
template <class Struct>
Struct with_defaults(const Struct *user, size_t struct_size) {
  Struct result = StructTraits<Struct>::defaults();
  std::memcpy(&result, user, struct_size < sizeof(Struct) ? struct_size : sizeof(Struct));
  result.struct_size = sizeof(Struct);
  return result;
}

}  // namespace sampler::abi
