#include "capi/verification_members.h"

#include <cstddef>
#include <cstring>

namespace sampler::capi {

namespace {

struct Member {
  const char *name;
  size_t begin;
};

constexpr Member kMembers[] = {
    {"acceptance", offsetof(sampler_verify_args, acceptance)},
    {"sibling_rule", offsetof(sampler_verify_args, sibling_rule)},
    {"acceptances", offsetof(sampler_verify_args, acceptances)},
    {"typical_threshold", offsetof(sampler_verify_args, typical_threshold)},
    {"typical_scale", offsetof(sampler_verify_args, typical_scale)},
    {"relaxed_top_k", offsetof(sampler_verify_args, relaxed_top_k)},
    {"relaxed_delta", offsetof(sampler_verify_args, relaxed_delta)},
    {"threshold_single", offsetof(sampler_verify_args, threshold_single)},
    {"threshold_total", offsetof(sampler_verify_args, threshold_total)},
    {"deferred_window", offsetof(sampler_verify_args, deferred_window)},
    {"deferred_top_k", offsetof(sampler_verify_args, deferred_top_k)},
    {"deferred_entropy", offsetof(sampler_verify_args, deferred_entropy)},
    {"draw_method", offsetof(sampler_verify_args, draw_method)},
    {"synthetic_rates", offsetof(sampler_verify_args, synthetic_rates)},
    {"packing", offsetof(sampler_verify_args, packing)},
    {"draft_rows_by_slot", offsetof(sampler_verify_args, draft_rows_by_slot)},
    {"packing_offsets", offsetof(sampler_verify_args, packing_offsets)},
    {"num_sequences", offsetof(sampler_verify_args, num_sequences)},
    {"num_packed_drafts", offsetof(sampler_verify_args, num_packed_drafts)},
    {"num_packed_positions", offsetof(sampler_verify_args, num_packed_positions)},
    {"draft_token_stride", offsetof(sampler_verify_args, draft_token_stride)},
    {"target_row_indices", offsetof(sampler_verify_args, target_row_indices)},
    {"bonus_row_indices", offsetof(sampler_verify_args, bonus_row_indices)},
    {"draft_row_indices", offsetof(sampler_verify_args, draft_row_indices)},
    {"parents", offsetof(sampler_verify_args, parents)},
    {"first_children", offsetof(sampler_verify_args, first_children)},
    {"next_siblings", offsetof(sampler_verify_args, next_siblings)},
    {"tree_rows", offsetof(sampler_verify_args, tree_rows)},
    {"draft_params", offsetof(sampler_verify_args, draft_params)},
    {"draft_row_params", offsetof(sampler_verify_args, draft_row_params)},
    {"pipeline", offsetof(sampler_verify_args, pipeline)},
    {"logprob_kind", offsetof(sampler_verify_args, logprob_kind)},
    {"reserved", offsetof(sampler_verify_args, reserved)},
    {"out_kept_counts", offsetof(sampler_verify_args, out_kept_counts)},
    {"out_logprobs", offsetof(sampler_verify_args, out_logprobs)},
    {"out_ranks", offsetof(sampler_verify_args, out_ranks)},
    {"out_entropies", offsetof(sampler_verify_args, out_entropies)},
    {"out_observations", offsetof(sampler_verify_args, out_observations)},
    {"num_top_logprobs", offsetof(sampler_verify_args, num_top_logprobs)},
    {"out_top_token_ids", offsetof(sampler_verify_args, out_top_token_ids)},
    {"out_top_logprobs", offsetof(sampler_verify_args, out_top_logprobs)},
    {"out_kept_bitmask", offsetof(sampler_verify_args, out_kept_bitmask)},
    {"kept_bitmask_stride", offsetof(sampler_verify_args, kept_bitmask_stride)},
    {"kept_capacity", offsetof(sampler_verify_args, kept_capacity)},
    {"out_kept_token_ids", offsetof(sampler_verify_args, out_kept_token_ids)},
    {"out_kept_probabilities", offsetof(sampler_verify_args, out_kept_probabilities)},
    {"out_positions", offsetof(sampler_verify_args, out_positions)},
    {"kv_indices", offsetof(sampler_verify_args, kv_indices)},
    {"out_kv_indices", offsetof(sampler_verify_args, out_kv_indices)},
};
constexpr size_t kNumMembers = sizeof kMembers / sizeof kMembers[0];

}  // namespace

const char *first_set_member(const sampler_verify_args &args) {
  static constexpr char kZeros[sizeof(sampler_verify_args)] = {};
  const char *const bytes = reinterpret_cast<const char *>(&args);
  const size_t begin = kMembers[0].begin;
  if (std::memcmp(bytes + begin, kZeros, sizeof args - begin) == 0) return nullptr;
  for (size_t i = 0; i < kNumMembers; ++i) {
    const size_t end = i + 1 < kNumMembers ? kMembers[i + 1].begin : sizeof args;
    const size_t size = end - kMembers[i].begin;
    if (std::memcmp(bytes + kMembers[i].begin, kZeros, size) != 0) return kMembers[i].name;
  }
  return nullptr;
}

}  // namespace sampler::capi
