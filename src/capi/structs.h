// The public structs that start with struct_size: their defaults, and reading one from a caller
// whose headers may be older or newer than this library.
#pragma once

#include <cstddef>
#include <cstring>

#include "sampler/sampler.h"

#define SAMPLER_FOR_EACH_ARGS(X)                                    \
  X(sampler_sample, SAMPLER_SAMPLE_ARGS_INIT)                       \
  X(sampler_top_k_top_p, SAMPLER_TOP_K_TOP_P_ARGS_INIT)             \
  X(sampler_top_k, SAMPLER_TOP_K_ARGS_INIT)                         \
  X(sampler_top_p, SAMPLER_TOP_P_ARGS_INIT)                         \
  X(sampler_min_p, SAMPLER_MIN_P_ARGS_INIT)                         \
  X(sampler_argmax, SAMPLER_ARGMAX_ARGS_INIT)                       \
  X(sampler_softmax, SAMPLER_SOFTMAX_ARGS_INIT)                     \
  X(sampler_top_k_renorm, SAMPLER_TOP_K_RENORM_ARGS_INIT)           \
  X(sampler_top_p_renorm, SAMPLER_TOP_P_RENORM_ARGS_INIT)           \
  X(sampler_top_k_mask, SAMPLER_TOP_K_MASK_ARGS_INIT)               \
  X(sampler_top_k_select, SAMPLER_TOP_K_SELECT_ARGS_INIT)           \
  X(sampler_chain_speculative, SAMPLER_CHAIN_SPECULATIVE_ARGS_INIT) \
  X(sampler_residual, SAMPLER_RESIDUAL_ARGS_INIT)

namespace sampler::capi {

template <class Struct>
struct StructTraits;

// A struct that has grown since its first release states here the size it had then.
#define SAMPLER_STRUCT_TRAITS(Struct, ...)                      \
  template <>                                                   \
  struct StructTraits<Struct> {                                 \
    static constexpr size_t kFirstReleaseSize = sizeof(Struct); \
    static Struct defaults() {                                  \
      Struct result = __VA_ARGS__;                              \
      return result;                                            \
    }                                                           \
  };
#define SAMPLER_ARGS_TRAITS(name, ...) SAMPLER_STRUCT_TRAITS(name##_args, __VA_ARGS__)
SAMPLER_FOR_EACH_ARGS(SAMPLER_ARGS_TRAITS)
SAMPLER_STRUCT_TRAITS(sampler_options, SAMPLER_OPTIONS_INIT)
SAMPLER_STRUCT_TRAITS(sampler_capabilities, SAMPLER_CAPABILITIES_INIT)
SAMPLER_STRUCT_TRAITS(sampler_model, SAMPLER_MODEL_INIT)
SAMPLER_STRUCT_TRAITS(sampler_generation_stats, SAMPLER_GENERATION_STATS_INIT)
SAMPLER_STRUCT_TRAITS(sampler_generation_args, SAMPLER_GENERATION_ARGS_INIT)
SAMPLER_STRUCT_TRAITS(sampler_speculative_args, SAMPLER_SPECULATIVE_ARGS_INIT)
SAMPLER_STRUCT_TRAITS(sampler_ngram_assisted_args, SAMPLER_NGRAM_ASSISTED_ARGS_INIT)
SAMPLER_STRUCT_TRAITS(sampler_beam_search_args, SAMPLER_BEAM_SEARCH_ARGS_INIT)
SAMPLER_STRUCT_TRAITS(sampler_ngram, SAMPLER_NGRAM_INIT)
SAMPLER_STRUCT_TRAITS(sampler_ngram_storage_options, SAMPLER_NGRAM_STORAGE_OPTIONS_INIT)
SAMPLER_STRUCT_TRAITS(sampler_ngram_storage_stats, SAMPLER_NGRAM_STORAGE_STATS_INIT)
SAMPLER_STRUCT_TRAITS(sampler_prompt_lookup_options, SAMPLER_PROMPT_LOOKUP_OPTIONS_INIT)
#undef SAMPLER_ARGS_TRAITS
#undef SAMPLER_STRUCT_TRAITS

// No released struct is larger; a size above it is an uninitialised one.
constexpr size_t kMaxStructSize = 65536;

// Whether a caller's struct_size can be one; *least gets the smallest that can.
template <class Struct>
bool is_struct_size(size_t struct_size) {
  return struct_size >= StructTraits<Struct>::kFirstReleaseSize && struct_size <= kMaxStructSize;
}

// Whether all bytes of a newer caller's struct behind what this library knows are 0.
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

}  // namespace sampler::capi
