#include "operations.h"

#include <cstdio>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

namespace capi_test {

namespace {

template <class T>
constexpr MemberType type_of() {
  if constexpr (std::is_pointer_v<T>) return MemberType::kPointer;
  if constexpr (std::is_same_v<T, float>) return MemberType::kFloat;
  if constexpr (std::is_signed_v<T>)
    return sizeof(T) == 8 ? MemberType::kInt64 : MemberType::kInt32;
  return sizeof(T) == 8 ? MemberType::kUint64 : MemberType::kUint32;
}

// Adds what `get` gives, where the struct has it.
template <class ArgsStruct, class Get>
void add_member(std::map<std::string, Member> *members, const char *name, Get get) {
  if constexpr (std::is_invocable_v<Get, ArgsStruct &>) {
    ArgsStruct args = {};
    auto &member = get(args);
    using Type = std::remove_reference_t<decltype(member)>;
    const std::size_t offset = std::size_t(reinterpret_cast<unsigned char *>(&member) -
                                           reinterpret_cast<unsigned char *>(&args));
    (*members)[name] = {offset, sizeof member, type_of<Type>()};
  }
}

// clang-format off
#define FOR_EACH_MEMBER(X) \
  X(struct_size) X(stream) X(input) X(num_rows) X(num_cols) X(row_stride) X(input_dtype) \
  X(input_kind) X(row_indices) X(num_input_rows) X(candidate_ids) X(candidate_counts) \
  X(candidate_id_type) X(token_id_type) X(temperature) X(top_k) X(top_p) X(min_p) \
  X(temperatures) X(top_ks) X(top_ps) X(min_ps) X(top_k_ties) X(top_p_ties) X(filter_order) \
  X(temperature_order) X(draw_method) X(logprob_kind) X(seed) X(offset) X(seeds) X(offsets) \
  X(num_seeds) X(num_offsets) X(out_token_ids) X(out_kept_counts) X(out_logprobs) \
  X(out_row_status) X(out_values) X(out_counts) X(num_selected) X(output) X(output_dtype) \
  X(output_stride) X(target) X(num_drafts) X(target_row_stride) X(target_position_stride) \
  X(target_dtype) X(target_kind) X(draft) X(draft_row_stride) X(draft_position_stride) \
  X(draft_dtype) X(draft_kind) X(target_candidate_ids) X(target_candidate_counts) \
  X(draft_candidate_ids) X(draft_candidate_counts) X(draft_token_ids) X(draft_lengths) \
  X(out_accepted_counts) X(out_emitted_counts) X(accumulate_counts) X(reserved) \
  X(workspace) X(workspace_bytes)
// clang-format on

template <class ArgsStruct>
std::map<std::string, Member> members_of() {
  std::map<std::string, Member> members;
#define ADD_MEMBER(member)                  \
  add_member<ArgsStruct>(&members, #member, \
                         [](auto &args) -> decltype((args.member)) { return args.member; });
  FOR_EACH_MEMBER(ADD_MEMBER)
#undef ADD_MEMBER
  // A struct has no padding, so a member that is missing above shows as missing bytes.
  std::size_t bytes = 0;
  for (const auto &[name, member] : members) bytes += member.size;
  if (bytes != sizeof(ArgsStruct) || sizeof(ArgsStruct) > kMaxArgsSize) {
    std::fprintf(stderr, "a struct has members that operations.cpp does not list\n");
    std::abort();
  }
  return members;
}

#define OPERATION(function, constant, INIT)                                    \
  {                                                                            \
#function, constant, sizeof(function##_args), members_of<function##_args>(), \
        [](void *args, std::size_t struct_size) {                                \
          return function##_args_init(static_cast<function##_args *>(args), struct_size); \
        },                                                                       \
        [](void *args) {                                                         \
          const function##_args initialized = INIT;                              \
          std::memcpy(args, &initialized, sizeof initialized);                   \
        },                                                                       \
        [](sampler_t sampler, const void *args) {                                \
          return function(sampler, static_cast<const function##_args *>(args));  \
        } \
  }

}  // namespace

const std::vector<Operation> &operations() {
  static const std::vector<Operation> all = {
      OPERATION(sampler_sample, SAMPLER_OP_SAMPLE, SAMPLER_SAMPLE_ARGS_INIT),
      OPERATION(sampler_top_k, SAMPLER_OP_TOP_K, SAMPLER_TOP_K_ARGS_INIT),
      OPERATION(sampler_top_p, SAMPLER_OP_TOP_P, SAMPLER_TOP_P_ARGS_INIT),
      OPERATION(sampler_min_p, SAMPLER_OP_MIN_P, SAMPLER_MIN_P_ARGS_INIT),
      OPERATION(sampler_top_k_top_p, SAMPLER_OP_TOP_K_TOP_P, SAMPLER_TOP_K_TOP_P_ARGS_INIT),
      OPERATION(sampler_argmax, SAMPLER_OP_ARGMAX, SAMPLER_ARGMAX_ARGS_INIT),
      OPERATION(sampler_softmax, SAMPLER_OP_SOFTMAX, SAMPLER_SOFTMAX_ARGS_INIT),
      OPERATION(sampler_top_k_renorm, SAMPLER_OP_TOP_K_RENORM, SAMPLER_TOP_K_RENORM_ARGS_INIT),
      OPERATION(sampler_top_p_renorm, SAMPLER_OP_TOP_P_RENORM, SAMPLER_TOP_P_RENORM_ARGS_INIT),
      OPERATION(sampler_top_k_mask, SAMPLER_OP_TOP_K_MASK, SAMPLER_TOP_K_MASK_ARGS_INIT),
      OPERATION(sampler_top_k_select, SAMPLER_OP_TOP_K_SELECT, SAMPLER_TOP_K_SELECT_ARGS_INIT),
      OPERATION(sampler_chain_speculative, SAMPLER_OP_CHAIN_SPECULATIVE,
                SAMPLER_CHAIN_SPECULATIVE_ARGS_INIT),
      OPERATION(sampler_residual, SAMPLER_OP_RESIDUAL, SAMPLER_RESIDUAL_ARGS_INIT),
  };
  return all;
}

Args::Args(const Operation &operation) : operation_(&operation) {
  std::memset(bytes_, 0, sizeof bytes_);
  operation.init_by_macro(bytes_);
}

std::size_t Args::offset(const std::string &member, std::size_t size) const {
  const auto found = operation_->members.find(member);
  if (found == operation_->members.end() || found->second.size != size) {
    std::fprintf(stderr, "%s has no member %s of %zu bytes\n", operation_->name, member.c_str(),
                 size);
    std::abort();
  }
  return found->second.offset;
}

}  // namespace capi_test
