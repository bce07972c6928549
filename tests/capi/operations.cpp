#include "operations.h"

#include <cstdio>
#include <cstdlib>
#include <type_traits>

namespace capi_test {

namespace {

using Members = std::map<std::string, Member>;

// The structs that arguments point to follow them in memory.
constexpr std::size_t kPointedToBytes =
    sizeof(sampler_params) + sizeof(sampler_row_params) + sizeof(sampler_pipeline);

// A struct has no padding, so a member that is missing below shows as missing bytes.
void expect_size(const Members &members, std::size_t size) {
  for (const auto &[name, member] : members) size -= member.size;
  if (size != 0) {
    std::fprintf(stderr, "a struct has members that operations.cpp does not list\n");
    std::abort();
  }
}

void add(const std::string &prefix, const Members &from, std::size_t offset, Members *to) {
  for (const auto &[name, member] : from) {
    (*to)[prefix + name] = {offset + member.offset, member.size, member.is_pointer};
  }
}

// clang-format off
#define MEMBER(path)                                                        \
  members[#path] = {offsetof(Struct, path), sizeof(Struct{}.path),         \
                    std::is_pointer_v<decltype(Struct{}.path)>};
#define ROWS(view)                                                                             \
  MEMBER(view.values) MEMBER(view.num_rows) MEMBER(view.num_cols) MEMBER(view.row_stride)     \
  MEMBER(view.candidate_ids) MEMBER(view.candidate_counts) MEMBER(view.dtype)                 \
  MEMBER(view.kind) MEMBER(view.candidate_id_type) MEMBER(view.reserved)
#define EXEC MEMBER(exec.stream) MEMBER(exec.workspace) MEMBER(exec.workspace_bytes)
#define RANDOM                                                                           \
  MEMBER(random.seed) MEMBER(random.offset) MEMBER(random.seeds) MEMBER(random.offsets) \
  MEMBER(random.streams) MEMBER(random.num_seeds) MEMBER(random.num_offsets)
#define SLOTS MEMBER(slots) MEMBER(num_slots)
#define PARAMETERS MEMBER(params) MEMBER(row_params)
#define OUTPUT_ROWS \
  MEMBER(output_dtype) MEMBER(output) MEMBER(output_stride) MEMBER(out_row_status)

template <class Struct>
Members members_of();

template <>
Members members_of<sampler_params>() {
  using Struct = sampler_params;
  Members members;
  MEMBER(struct_size) MEMBER(temperature) MEMBER(top_p) MEMBER(min_p) MEMBER(top_k)
  MEMBER(top_k_ties) MEMBER(top_p_ties) MEMBER(filter_order) MEMBER(temperature_order)
  MEMBER(repetition_penalty) MEMBER(frequency_penalty) MEMBER(presence_penalty)
  MEMBER(penalty_window) MEMBER(penalty_scope) MEMBER(penalty_form) MEMBER(dry_multiplier)
  MEMBER(dry_base) MEMBER(dry_allowed_length) MEMBER(dry_window) MEMBER(no_repeat_ngram_size)
  MEMBER(min_new_tokens) MEMBER(bad_word_scope) MEMBER(dynamic_temperature_range)
  MEMBER(dynamic_temperature_exponent) MEMBER(typical_p) MEMBER(top_n_sigma)
  MEMBER(epsilon_cutoff) MEMBER(eta_cutoff) MEMBER(top_h) MEMBER(xtc_probability)
  MEMBER(xtc_threshold) MEMBER(typical_p_ties) MEMBER(min_keep) MEMBER(stages)
  MEMBER(adaptive_kind) MEMBER(adaptive_target) MEMBER(adaptive_rate) MEMBER(top_p_decay)
  MEMBER(top_p_least) MEMBER(reserved)
  return members;
}

#define LISTS(view) \
  MEMBER(view.offsets) MEMBER(view.token_ids) MEMBER(view.num_lists) MEMBER(view.num_token_ids)

template <>
Members members_of<sampler_pipeline>() {
  using Struct = sampler_pipeline;
  Members members;
  MEMBER(struct_size) MEMBER(token_id_type) MEMBER(token_bitmask_rule) LISTS(history)
  MEMBER(prompt_lengths) MEMBER(max_history_tokens) LISTS(biased) MEMBER(biases)
  MEMBER(dense_bias) MEMBER(num_dense_biases) MEMBER(dense_bias_stride) LISTS(allowed)
  LISTS(banned) LISTS(stop) LISTS(bad_words) MEMBER(bad_word_offsets) LISTS(dry_breakers)
  MEMBER(token_bitmasks) MEMBER(num_token_bitmasks) MEMBER(token_bitmask_stride)
  MEMBER(token_bitmask_indices) MEMBER(state) MEMBER(adaptive_values)
  return members;
}

template <>
Members members_of<sampler_row_params>() {
  using Struct = sampler_row_params;
  Members members;
  MEMBER(struct_size) MEMBER(temperature) MEMBER(top_p) MEMBER(min_p) MEMBER(top_k)
  MEMBER(repetition_penalty) MEMBER(frequency_penalty) MEMBER(presence_penalty)
  MEMBER(penalty_window) MEMBER(dry_multiplier) MEMBER(dry_base) MEMBER(dry_allowed_length)
  MEMBER(dry_window) MEMBER(no_repeat_ngram_size) MEMBER(min_new_tokens)
  MEMBER(dynamic_temperature_range) MEMBER(dynamic_temperature_exponent) MEMBER(typical_p)
  MEMBER(top_n_sigma) MEMBER(epsilon_cutoff) MEMBER(eta_cutoff) MEMBER(top_h)
  MEMBER(xtc_probability) MEMBER(xtc_threshold) MEMBER(min_keep) MEMBER(forced_token_id)
  MEMBER(adaptive_kind) MEMBER(adaptive_target) MEMBER(adaptive_rate) MEMBER(top_p_decay)
  MEMBER(top_p_least) MEMBER(top_p_reset_token_id)
  return members;
}

template <>
Members members_of<sampler_sample_args>() {
  using Struct = sampler_sample_args;
  Members members;
  MEMBER(struct_size) EXEC ROWS(input) MEMBER(row_indices) MEMBER(num_row_indices) SLOTS
  PARAMETERS RANDOM MEMBER(draw_method) MEMBER(logprob_kind) MEMBER(token_id_type)
  MEMBER(reserved) MEMBER(out_token_ids) MEMBER(out_kept_counts) MEMBER(out_logprobs)
  MEMBER(out_values) MEMBER(out_row_status) MEMBER(pipeline) MEMBER(num_top_logprobs)
  MEMBER(out_top_token_ids) MEMBER(out_top_logprobs) MEMBER(num_chosen) MEMBER(chosen_token_ids)
  MEMBER(out_chosen_logprobs) MEMBER(out_ranks) MEMBER(out_entropies) MEMBER(out_observations)
  MEMBER(out_kept_bitmask) MEMBER(kept_bitmask_stride) MEMBER(kept_capacity)
  MEMBER(out_kept_token_ids) MEMBER(out_kept_probabilities) MEMBER(out_removed_by)
  return members;
}

template <>
Members members_of<sampler_filter_args>() {
  using Struct = sampler_filter_args;
  Members members;
  MEMBER(struct_size) EXEC ROWS(input) SLOTS PARAMETERS MEMBER(output_kind) OUTPUT_ROWS
  MEMBER(out_kept_counts) MEMBER(pipeline)
  return members;
}

template <>
Members members_of<sampler_select_args>() {
  using Struct = sampler_select_args;
  Members members;
  MEMBER(struct_size) EXEC ROWS(input) MEMBER(num_selected) MEMBER(selected_counts)
  MEMBER(output_dtype) MEMBER(token_id_type) MEMBER(out_values) MEMBER(out_token_ids)
  MEMBER(out_counts) MEMBER(out_row_status)
  return members;
}

template <>
Members members_of<sampler_verify_args>() {
  using Struct = sampler_verify_args;
  Members members;
  MEMBER(struct_size) EXEC ROWS(target) ROWS(draft) MEMBER(target_sequence_stride)
  MEMBER(draft_sequence_stride) MEMBER(draft_token_ids) MEMBER(num_drafts) MEMBER(draft_counts)
  SLOTS PARAMETERS RANDOM MEMBER(token_id_type) MEMBER(accumulate_counts) MEMBER(out_token_ids)
  MEMBER(out_accepted_counts) MEMBER(out_emitted_counts) MEMBER(out_row_status)
  return members;
}

// What tests/verification sets, and all others leave at 0.
template <class Struct>
Members other_members_of() {
  return {};
}
template <>
Members other_members_of<sampler_verify_args>() {
  using Struct = sampler_verify_args;
  Members members;
  MEMBER(acceptance) MEMBER(sibling_rule) MEMBER(acceptances) MEMBER(typical_threshold)
  MEMBER(typical_scale) MEMBER(relaxed_top_k) MEMBER(relaxed_delta) MEMBER(threshold_single)
  MEMBER(threshold_total) MEMBER(deferred_window) MEMBER(deferred_top_k) MEMBER(deferred_entropy)
  MEMBER(draw_method) MEMBER(synthetic_rates) MEMBER(packing) MEMBER(draft_rows_by_slot)
  MEMBER(packing_offsets) MEMBER(num_sequences) MEMBER(num_packed_drafts)
  MEMBER(num_packed_positions) MEMBER(draft_token_stride) MEMBER(target_row_indices)
  MEMBER(bonus_row_indices) MEMBER(draft_row_indices) MEMBER(parents) MEMBER(first_children)
  MEMBER(next_siblings) MEMBER(tree_rows) MEMBER(draft_params) MEMBER(draft_row_params)
  MEMBER(pipeline) MEMBER(logprob_kind) MEMBER(reserved) MEMBER(out_kept_counts)
  MEMBER(out_logprobs) MEMBER(out_ranks) MEMBER(out_entropies) MEMBER(out_observations)
  MEMBER(num_top_logprobs) MEMBER(out_top_token_ids) MEMBER(out_top_logprobs)
  MEMBER(out_kept_bitmask) MEMBER(kept_bitmask_stride) MEMBER(kept_capacity)
  MEMBER(out_kept_token_ids) MEMBER(out_kept_probabilities) MEMBER(out_positions)
  MEMBER(kv_indices) MEMBER(out_kv_indices)
  return members;
}

template <>
Members members_of<sampler_residual_args>() {
  using Struct = sampler_residual_args;
  Members members;
  MEMBER(struct_size) EXEC ROWS(target) ROWS(draft) MEMBER(draft_token_ids)
  MEMBER(token_id_type) OUTPUT_ROWS
  return members;
}
// clang-format on

template <class Struct>
Members checked_members_of() {
  const Members members = members_of<Struct>();
  Members all = members;
  all.merge(other_members_of<Struct>());
  expect_size(all, sizeof(Struct));
  return members;
}

template <class Struct>
Members all_members_of() {
  Members members = checked_members_of<Struct>();
  if (members.count("params")) {
    add("params.", checked_members_of<sampler_params>(), sizeof(Struct), &members);
    add("row_params.", checked_members_of<sampler_row_params>(),
        sizeof(Struct) + sizeof(sampler_params), &members);
  }
  if (members.count("pipeline")) {
    add("pipeline.", checked_members_of<sampler_pipeline>(),
        sizeof(Struct) + sizeof(sampler_params) + sizeof(sampler_row_params), &members);
  }
  return members;
}

template <class Struct, sampler_status (*run)(sampler_t, const Struct *),
          sampler_status (*workspace_size)(sampler_t, const Struct *, std::size_t *)>
Operation make_operation(const char *name) {
  return {name, sizeof(Struct), all_members_of<Struct>(),
          [](sampler_t sampler, const void *args) {
            return run(sampler, static_cast<const Struct *>(args));
          },
          [](sampler_t sampler, const void *args, std::size_t *out_bytes) {
            return workspace_size(sampler, static_cast<const Struct *>(args), out_bytes);
          }};
}
#define OPERATION(function) \
  make_operation<function##_args, function, function##_workspace_size>(#function)

}  // namespace

const std::vector<Operation> &operations() {
  static const std::vector<Operation> all = {
      OPERATION(sampler_sample), OPERATION(sampler_filter),   OPERATION(sampler_select),
      OPERATION(sampler_verify), OPERATION(sampler_residual),
  };
  return all;
}

std::string name_in_errors(const std::string &member) {
  for (const std::string parent : {"params", "row_params", "pipeline"}) {
    if (member.rfind(parent + ".", 0) == 0) {
      return parent + "->" + member.substr(parent.size() + 1);
    }
  }
  return member;
}

Args::Args(const Operation &operation)
    : operation_(&operation), bytes_(new unsigned char[operation.args_size + kPointedToBytes]()) {
  set("struct_size", operation.args_size);
  if (!operation.has("params")) return;
  unsigned char *const params = bytes_.get() + operation.args_size;
  const sampler_params defaults = sampler_params_default();
  std::memcpy(params, &defaults, sizeof defaults);
  set("params", params);
  set("row_params", params + sizeof defaults);
  set("row_params.struct_size", sizeof(sampler_row_params));
  if (!operation.has("pipeline")) return;
  set("pipeline", params + sizeof defaults + sizeof(sampler_row_params));
  set("pipeline.struct_size", sizeof(sampler_pipeline));
}

std::string Args::bytes() const {
  return {static_cast<const char *>(data()), operation_->args_size + kPointedToBytes};
}

unsigned char *Args::at(const std::string &member, std::size_t size) const {
  const auto found = operation_->members.find(member);
  if (found == operation_->members.end() || found->second.size != size) {
    std::fprintf(stderr, "%s has no member %s of %zu bytes\n", operation_->name, member.c_str(),
                 size);
    std::abort();
  }
  return bytes_.get() + found->second.offset;
}

}  // namespace capi_test
