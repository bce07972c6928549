#include "operations.h"

#include <cstdio>
#include <cstdlib>
#include <type_traits>

namespace capi_test {

namespace {

using Members = std::map<std::string, Member>;

// The structs that arguments point to follow them in memory.
struct PointedTo {
  sampler_params params = sampler_params_default();
  sampler_row_params row_params = {};
  sampler_pipeline pipeline = {};
  sampler_params draft_params = sampler_params_default();
  sampler_row_params draft_row_params = {};
  sampler_report_args reports = {};
  sampler_draft_layout layout = {};
  sampler_acceptance_params acceptance = {};

  PointedTo() {
    row_params.struct_size = draft_row_params.struct_size = sizeof row_params;
    pipeline.struct_size = sizeof pipeline;
    reports.struct_size = sizeof reports;
    layout.struct_size = sizeof layout;
    acceptance.struct_size = sizeof acceptance;
  }
};

const std::map<std::string, std::size_t> kPointers = {
    {"params", offsetof(PointedTo, params)},
    {"row_params", offsetof(PointedTo, row_params)},
    {"pipeline", offsetof(PointedTo, pipeline)},
    {"draft_params", offsetof(PointedTo, draft_params)},
    {"draft_row_params", offsetof(PointedTo, draft_row_params)},
    {"reports", offsetof(PointedTo, reports)},
    {"layout", offsetof(PointedTo, layout)},
    {"acceptance", offsetof(PointedTo, acceptance)}};

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
    (*to)[prefix + name] = member;
    (*to)[prefix + name].offset += offset;
  }
}

template <class T>
constexpr Number number_of() {
  using Element = std::remove_cv_t<std::remove_pointer_t<std::remove_all_extents_t<T>>>;
  if (std::is_same_v<Element, float>) return Number::kF32;
  if (!std::is_integral_v<Element>) return Number::kOther;
  if (std::is_same_v<Element, std::uint8_t>) return Number::kU8;
  if (std::is_same_v<Element, std::int32_t>) return Number::kI32;
  if (std::is_same_v<Element, std::uint32_t>) return Number::kU32;
  return std::is_signed_v<Element> ? Number::kI64 : Number::kU64;
}

// clang-format off
#define MEMBER(path)                                                        \
  members[#path] = {offsetof(Struct, path), sizeof(Struct{}.path),         \
                    std::is_pointer_v<decltype(Struct{}.path)>,              \
                    number_of<decltype(Struct{}.path)>()};
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
  MEMBER(guidance_scale)
  MEMBER(repetition_penalty) MEMBER(frequency_penalty) MEMBER(presence_penalty)
  MEMBER(penalty_window) MEMBER(penalty_scope) MEMBER(penalty_form)
  MEMBER(exponential_decay_start) MEMBER(exponential_decay_factor) MEMBER(dry_multiplier)
  MEMBER(dry_base) MEMBER(dry_allowed_length) MEMBER(dry_window) MEMBER(no_repeat_ngram_size)
  MEMBER(min_new_tokens) MEMBER(bad_word_scope) MEMBER(dynamic_temperature_range)
  MEMBER(dynamic_temperature_exponent) MEMBER(typical_p) MEMBER(top_n_sigma)
  MEMBER(epsilon_cutoff) MEMBER(eta_cutoff) MEMBER(top_h) MEMBER(p_less)
  MEMBER(min_k) MEMBER(top_a) MEMBER(xtc_probability)
  MEMBER(xtc_threshold) MEMBER(typical_p_ties) MEMBER(min_keep) MEMBER(stages)
  MEMBER(adaptive_kind) MEMBER(adaptive_target) MEMBER(adaptive_rate) MEMBER(top_p_decay)
  MEMBER(top_p_least) MEMBER(top_p_sum) MEMBER(typical_p_sum) MEMBER(cutoff_ties)
  return members;
}

#define LISTS(view) \
  MEMBER(view.offsets) MEMBER(view.token_ids) MEMBER(view.num_lists) MEMBER(view.num_token_ids)

template <>
Members members_of<sampler_pipeline>() {
  using Struct = sampler_pipeline;
  Members members;
  MEMBER(struct_size) MEMBER(token_id_type) MEMBER(token_bitmask_rule) LISTS(history)
  MEMBER(prompt_lengths) MEMBER(max_history_tokens) MEMBER(guidance_logits)
  MEMBER(num_guidance_rows) MEMBER(guidance_row_indices) LISTS(biased) MEMBER(biases)
  LISTS(bias_contexts)
  MEMBER(dense_bias) MEMBER(num_dense_biases) MEMBER(dense_bias_stride) LISTS(allowed)
  LISTS(banned) LISTS(stop) LISTS(unpenalized) LISTS(bad_words) MEMBER(bad_word_offsets) LISTS(dry_breakers)
  MEMBER(token_bitmasks) MEMBER(num_token_bitmasks) MEMBER(token_bitmask_stride)
  MEMBER(token_bitmask_indices) MEMBER(state) MEMBER(adaptive_values)
  return members;
}

template <>
Members members_of<sampler_row_params>() {
  using Struct = sampler_row_params;
  Members members;
  MEMBER(struct_size) MEMBER(temperature) MEMBER(top_p) MEMBER(min_p) MEMBER(top_k)
  MEMBER(guidance_scale)
  MEMBER(repetition_penalty) MEMBER(frequency_penalty) MEMBER(presence_penalty)
  MEMBER(penalty_window) MEMBER(exponential_decay_start) MEMBER(exponential_decay_factor)
  MEMBER(dry_multiplier) MEMBER(dry_base) MEMBER(dry_allowed_length)
  MEMBER(dry_window) MEMBER(no_repeat_ngram_size) MEMBER(min_new_tokens)
  MEMBER(dynamic_temperature_range) MEMBER(dynamic_temperature_exponent) MEMBER(typical_p)
  MEMBER(top_n_sigma) MEMBER(epsilon_cutoff) MEMBER(eta_cutoff) MEMBER(top_h)
  MEMBER(p_less) MEMBER(min_k) MEMBER(top_a)
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
  PARAMETERS MEMBER(pipeline) RANDOM MEMBER(draw_method) MEMBER(token_id_type)
  MEMBER(out_token_ids) MEMBER(out_row_status) MEMBER(reports)
  return members;
}

template <>
Members members_of<sampler_score_args>() {
  using Struct = sampler_score_args;
  Members members;
  MEMBER(struct_size) EXEC ROWS(input) MEMBER(row_indices) MEMBER(num_row_indices) SLOTS
  PARAMETERS MEMBER(pipeline) RANDOM MEMBER(token_id_type) MEMBER(reserved) MEMBER(token_ids)
  LISTS(kept) MEMBER(out_row_status) MEMBER(reports)
  return members;
}

template <>
Members members_of<sampler_report_args>() {
  using Struct = sampler_report_args;
  Members members;
  MEMBER(struct_size) MEMBER(logprob_kind) MEMBER(reserved) MEMBER(out_logprobs)
  MEMBER(out_values) MEMBER(out_kept_counts) MEMBER(out_observations) MEMBER(num_top_logprobs)
  MEMBER(out_top_token_ids) MEMBER(out_top_logprobs) MEMBER(num_chosen) MEMBER(chosen_token_ids)
  MEMBER(out_chosen_logprobs) MEMBER(out_ranks) MEMBER(out_entropies) MEMBER(out_kept_bitmask)
  MEMBER(kept_bitmask_stride) MEMBER(kept_capacity) MEMBER(out_kept_token_ids)
  MEMBER(out_kept_probabilities) MEMBER(out_kept_offsets) MEMBER(out_removed_by)
  return members;
}

template <>
Members members_of<sampler_acceptance_params>() {
  using Struct = sampler_acceptance_params;
  Members members;
  MEMBER(struct_size) MEMBER(rule) MEMBER(sibling_rule) MEMBER(draw_method)
  MEMBER(relaxed_top_k) MEMBER(relaxed_delta)
  MEMBER(typical_threshold) MEMBER(typical_scale) MEMBER(threshold_single)
  MEMBER(threshold_total) MEMBER(deferred_entropy) MEMBER(deferred_top_k)
  MEMBER(deferred_window) MEMBER(synthetic_rates)
  return members;
}

template <>
Members members_of<sampler_draft_layout>() {
  using Struct = sampler_draft_layout;
  Members members;
  MEMBER(struct_size) MEMBER(target_sequence_stride) MEMBER(draft_sequence_stride)
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
  MEMBER(struct_size) EXEC ROWS(target) ROWS(draft) MEMBER(draft_token_ids)
  MEMBER(num_drafts) MEMBER(draft_counts) MEMBER(layout) SLOTS PARAMETERS RANDOM MEMBER(token_id_type) MEMBER(accumulate_counts) MEMBER(out_token_ids)
  MEMBER(out_accepted_counts) MEMBER(out_emitted_counts) MEMBER(out_row_status)
  return members;
}

#define STATE MEMBER(struct_size) EXEC MEMBER(state)
#define ROWS_OF_STATE MEMBER(slots) MEMBER(num_rows)

template <>
Members members_of<sampler_state_append_args>() {
  using Struct = sampler_state_append_args;
  Members members;
  STATE ROWS_OF_STATE LISTS(tokens) MEMBER(token_id_type) MEMBER(token_kind) MEMBER(out_lengths)
  MEMBER(out_row_status)
  return members;
}

template <>
Members members_of<sampler_accept_args>() {
  using Struct = sampler_accept_args;
  Members members;
  STATE ROWS_OF_STATE MEMBER(token_ids) MEMBER(num_tokens) MEMBER(token_id_type) MEMBER(reserved)
  MEMBER(observations) PARAMETERS MEMBER(offsets) MEMBER(out_lengths) MEMBER(out_row_status)
  return members;
}

template <>
Members members_of<sampler_state_truncate_args>() {
  using Struct = sampler_state_truncate_args;
  Members members;
  STATE ROWS_OF_STATE MEMBER(lengths) MEMBER(out_row_status)
  return members;
}

template <>
Members members_of<sampler_state_copy_args>() {
  using Struct = sampler_state_copy_args;
  Members members;
  MEMBER(struct_size) EXEC MEMBER(source) MEMBER(destination) MEMBER(source_slots)
  MEMBER(destination_slots) MEMBER(num_rows) MEMBER(out_row_status)
  return members;
}

template <>
Members members_of<sampler_state_reset_args>() {
  using Struct = sampler_state_reset_args;
  Members members;
  STATE ROWS_OF_STATE MEMBER(adaptive_values) MEMBER(out_row_status)
  return members;
}

template <>
Members members_of<sampler_state_read_args>() {
  using Struct = sampler_state_read_args;
  Members members;
  STATE ROWS_OF_STATE MEMBER(out_token_ids) MEMBER(num_tokens) MEMBER(token_id_type)
  MEMBER(reserved) MEMBER(out_lengths) MEMBER(out_prompt_lengths) MEMBER(out_adaptive_values)
  MEMBER(out_row_status)
  return members;
}

// Arguments of the two functions that take no struct.
struct SerializeArgs {
  std::size_t struct_size;
  sampler_state_t state;
  std::int64_t first_slot, num_slots;
  std::uint8_t *out_data;
  std::size_t out_data_bytes;
};
struct DeserializeArgs {
  std::size_t struct_size;
  sampler_state_t state;
  std::int64_t first_slot;
  const std::uint8_t *data;
  std::size_t data_bytes;
  std::int64_t *out_num_slots;
};

template <>
Members members_of<SerializeArgs>() {
  using Struct = SerializeArgs;
  Members members;
  MEMBER(struct_size) MEMBER(state) MEMBER(first_slot) MEMBER(num_slots) MEMBER(out_data)
  MEMBER(out_data_bytes)
  return members;
}

template <>
Members members_of<DeserializeArgs>() {
  using Struct = DeserializeArgs;
  Members members;
  MEMBER(struct_size) MEMBER(state) MEMBER(first_slot) MEMBER(data) MEMBER(data_bytes)
  MEMBER(out_num_slots)
  return members;
}

// What tests/verification and tests/vectors set, and all others leave at 0.
template <class Struct>
Members other_members_of() {
  return {};
}
template <>
Members other_members_of<sampler_verify_args>() {
  using Struct = sampler_verify_args;
  Members members;
  MEMBER(draft_params) MEMBER(draft_row_params) MEMBER(pipeline) MEMBER(forced_token_ids)
  MEMBER(acceptance)
  MEMBER(acceptances) MEMBER(reports)
  MEMBER(out_positions) MEMBER(kv_indices) MEMBER(out_kv_indices)
  return members;
}
template <>
Members other_members_of<sampler_draft_layout>() {
  using Struct = sampler_draft_layout;
  Members members;
  MEMBER(draft_token_stride) MEMBER(packing) MEMBER(draft_rows_by_slot) MEMBER(packing_offsets)
  MEMBER(num_sequences) MEMBER(num_packed_drafts) MEMBER(num_packed_positions)
  MEMBER(target_row_indices) MEMBER(bonus_row_indices) MEMBER(draft_row_indices) MEMBER(parents)
  MEMBER(first_children) MEMBER(next_siblings) MEMBER(tree_rows)
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
Members all_direct_members_of() {
  Members members = members_of<Struct>();
  members.merge(other_members_of<Struct>());
  expect_size(members, sizeof(Struct));
  return members;
}

Members pointed_to_by(const std::string &pointer, bool has_all) {
  if (pointer == "pipeline") return all_direct_members_of<sampler_pipeline>();
  if (pointer == "reports") return all_direct_members_of<sampler_report_args>();
  if (pointer == "acceptance") return all_direct_members_of<sampler_acceptance_params>();
  if (pointer == "layout") {
    return has_all ? all_direct_members_of<sampler_draft_layout>()
                   : members_of<sampler_draft_layout>();
  }
  const bool is_by_slot = pointer == "row_params" || pointer == "draft_row_params";
  return is_by_slot ? all_direct_members_of<sampler_row_params>()
                    : all_direct_members_of<sampler_params>();
}

// With those of the structs that `members` point to.
template <class Struct>
Members with_pointees(Members members, bool has_all) {
  for (const auto &[pointer, offset] : kPointers) {
    if (!members.count(pointer)) continue;
    add(pointer + ".", pointed_to_by(pointer, has_all), sizeof(Struct) + offset, &members);
  }
  return members;
}

template <class Struct, sampler_status (*run)(sampler_t, const Struct *),
          sampler_status (*workspace_size)(sampler_t, const Struct *, std::size_t *)>
Operation make_operation(const char *name) {
  return {name,
          sizeof(Struct),
          with_pointees<Struct>(members_of<Struct>(), false),
          with_pointees<Struct>(all_direct_members_of<Struct>(), true),
          [](sampler_t sampler, const void *args) {
            return run(sampler, static_cast<const Struct *>(args));
          },
          [](sampler_t sampler, const void *args, std::size_t *out_bytes) {
            return workspace_size(sampler, static_cast<const Struct *>(args), out_bytes);
          }};
}
#define OPERATION(function) \
  make_operation<function##_args, function, function##_workspace_size>(#function)

sampler_status serialize(sampler_t sampler, const SerializeArgs *args) {
  std::size_t bytes = 0;
  return sampler_state_serialize(sampler, args->state, args->first_slot, args->num_slots,
                                 args->out_data, args->out_data_bytes, &bytes);
}

sampler_status deserialize(sampler_t sampler, const DeserializeArgs *args) {
  return sampler_state_deserialize(sampler, args->state, args->first_slot, args->data,
                                   args->data_bytes, args->out_num_slots);
}

template <class Struct>
sampler_status no_workspace(sampler_t, const Struct *, std::size_t *) {
  return SAMPLER_ERROR_UNSUPPORTED;
}

}  // namespace

const std::vector<Operation> &state_operations() {
  static const std::vector<Operation> all = {
      make_operation<sampler_state_append_args, sampler_state_append,
                     no_workspace<sampler_state_append_args>>("append"),
      make_operation<sampler_accept_args, sampler_accept, no_workspace<sampler_accept_args>>(
          "accept"),
      make_operation<sampler_state_truncate_args, sampler_state_truncate,
                     no_workspace<sampler_state_truncate_args>>("truncate"),
      make_operation<sampler_state_copy_args, sampler_state_copy,
                     no_workspace<sampler_state_copy_args>>("copy"),
      make_operation<sampler_state_reset_args, sampler_state_reset,
                     no_workspace<sampler_state_reset_args>>("reset"),
      make_operation<sampler_state_read_args, sampler_state_read,
                     no_workspace<sampler_state_read_args>>("read"),
      make_operation<SerializeArgs, serialize, no_workspace<SerializeArgs>>("serialize"),
      make_operation<DeserializeArgs, deserialize, no_workspace<DeserializeArgs>>("deserialize"),
  };
  return all;
}

const std::vector<Operation> &operations() {
  static const std::vector<Operation> all = {
      OPERATION(sampler_sample), OPERATION(sampler_filter),   OPERATION(sampler_select),
      OPERATION(sampler_verify), OPERATION(sampler_residual), OPERATION(sampler_score),
  };
  return all;
}

std::string Operation::path(const std::string &member) const {
  if (all_members.count(member)) return member;
  for (const std::string parent : {"reports.", "layout.", "acceptance."}) {
    if (all_members.count(parent + member)) return parent + member;
  }
  return member;
}

std::string name_in_errors(const std::string &member) {
  for (const std::string parent :
       {"params", "row_params", "pipeline", "reports", "layout", "acceptance"}) {
    if (member.rfind(parent + ".", 0) == 0) {
      return parent + "->" + member.substr(parent.size() + 1);
    }
  }
  return member;
}

Args::Args(const Operation &operation)
    : operation_(&operation), bytes_(new unsigned char[operation.args_size + sizeof(PointedTo)]()) {
  set("struct_size", operation.args_size);
  const PointedTo defaults;
  std::memcpy(bytes_.get() + operation.args_size, &defaults, sizeof defaults);
  for (const auto &[pointer, offset] : kPointers) {
    if (operation.has(pointer)) connect(pointer);
  }
}

void Args::connect(const std::string &pointer) {
  set<void *>(pointer, bytes_.get() + operation_->args_size + kPointers.at(pointer));
}

std::string Args::bytes() const {
  return {static_cast<const char *>(data()), operation_->args_size + sizeof(PointedTo)};
}

unsigned char *Args::at(const std::string &member, std::size_t size) const {
  const auto found = operation_->all_members.find(operation_->path(member));
  if (found == operation_->all_members.end() || found->second.size != size) {
    std::fprintf(stderr, "%s has no member %s of %zu bytes\n", operation_->name, member.c_str(),
                 size);
    std::abort();
  }
  return bytes_.get() + found->second.offset;
}

}  // namespace capi_test
