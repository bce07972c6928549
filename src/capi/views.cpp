#include "capi/views.h"

#include <cinttypes>
#include <cstring>

namespace sampler::capi {

namespace {

contract::SeedSource read_seed(Check &check, uint64_t value, const char *array_name,
                               const uint64_t *array, const char *count_name, int64_t count,
                               int64_t num_slots) {
  if (!array) {
    check.zero(count_name, count);
  } else if (count != 1 && count != num_slots) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "%s is %" PRId64 "; it must be 1 or the number of slots, %" PRId64, count_name,
               count, num_slots);
  }
  check.parameters(array_name, array, sizeof(uint64_t), count);
  return {value, array, array && count == num_slots};
}

// The paths of the members.
struct RuleNames {
  const char *top_k_ties, *top_p_ties, *filter_order, *temperature_order, *top_p_sum;
};
contract::FilterRules read_rules(Check &check, const RuleNames &names,
                                 const sampler_params &params) {
  contract::FilterRules rules;
  rules.top_k_ties = check.enumeration(names.top_k_ties, params.top_k_ties, 2);
  rules.top_p_ties = check.enumeration(names.top_p_ties, params.top_p_ties, 2);
  rules.order = check.enumeration(names.filter_order, params.filter_order, 3);
  rules.temperature_order = check.enumeration(names.temperature_order, params.temperature_order, 2);
  rules.top_p_sum = check.enumeration(names.top_p_sum, params.top_p_sum, 2);
  return rules;
}

}  // namespace

sampler_id_type read_token_id_type(Check &check, sampler_id_type type) {
  return check.enumeration("token_id_type", type, kNumIdTypes);
}

contract::Rows read_rows_shape(Check &check, const char *name, const sampler_rows &view) {
  contract::Rows rows;
  check.range(Name(name, "num_rows"), view.num_rows, 0, kMaxRows);
  check.range(Name(name, "num_cols"), view.num_cols, 1, contract::kMaxVocabulary);
  rows.values = view.values;
  rows.ids = view.candidate_ids;
  rows.counts = view.candidate_counts;
  rows.num_rows = view.num_rows;
  rows.num_cols = view.num_cols;
  rows.stride = check.stride(Name(name, "row_stride"), view.row_stride, Name(name, "num_cols"),
                             view.num_cols);
  rows.dtype = check.enumeration(Name(name, "dtype"), view.dtype, kNumDtypes);
  rows.kind = check.enumeration(Name(name, "kind"), view.kind, 2);
  rows.id_type =
      check.enumeration(Name(name, "candidate_id_type"), view.candidate_id_type, kNumIdTypes);
  check.zero(Name(name, "reserved"), view.reserved);
  return rows;
}

void check_rows_memory(Check &check, const char *name, const contract::Rows &rows,
                       int64_t num_groups, int64_t group_stride, Need need) {
  if (!check.ok()) return;
  const int64_t num_rows = num_groups ? rows.num_rows / num_groups : 0;
  int64_t extent = 0;
  if (num_rows > 0 && (__builtin_mul_overflow(num_rows - 1, rows.stride, &extent) ||
                       __builtin_add_overflow(extent, rows.num_cols, &extent))) {
    extent = INT64_MAX;  // which no array has, so that the check below refuses it
  }
  check.array(Name(name, "values"), rows.values, contract::size_of(rows.dtype), num_groups, extent,
              group_stride, Access::kRead, need);
  check.array(Name(name, "candidate_ids"), rows.ids, contract::size_of_id(rows.id_type), num_groups,
              extent, group_stride, Access::kRead);
  check.array(Name(name, "candidate_counts"), rows.counts, sizeof(int32_t), rows.num_rows,
              Access::kRead);
}

contract::Rows read_rows(Check &check, const char *name, const sampler_rows &view, Need need) {
  const contract::Rows rows = read_rows_shape(check, name, view);
  check_rows_memory(check, name, rows, rows.num_rows, rows.stride, need);
  return rows;
}

bool has_rows(const sampler_rows &draft) {
  constexpr sampler_rows nothing = {};
  return std::memcmp(&draft, &nothing, sizeof draft) != 0;
}

contract::Rows read_draft_shape(Check &check, const sampler_rows &view, int64_t num_rows,
                                const char *meaning, const contract::Rows &target) {
  if (!has_rows(view)) {
    contract::Rows nothing;
    nothing.num_cols = target.num_cols;
    return nothing;
  }
  const contract::Rows rows = read_rows_shape(check, "draft", view);
  if (view.num_rows != num_rows) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "draft.num_rows is %" PRId64 "; it must be %s, %" PRId64, view.num_rows, meaning,
               num_rows);
  }
  if (view.num_cols != target.num_cols) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "draft.num_cols is %" PRId64 "; it must be target.num_cols, %" PRId64, view.num_cols,
               target.num_cols);
  }
  return rows;
}

void check_draft_memory(Check &check, const sampler_rows &view, int64_t num_groups,
                        int64_t group_stride, contract::Rows *rows) {
  if (!has_rows(view)) return;
  check_rows_memory(check, "draft", *rows, num_groups, group_stride, Need::kRequired);
  static constexpr float somewhere = 0;
  if (!rows->values) rows->values = &somewhere;
}

contract::Slots read_slots(Check &check, const int32_t *slots, int64_t num_slots,
                           int64_t num_rows) {
  if (slots) {
    check.range("num_slots", num_slots, 0, kMaxRows);
  } else {
    check.zero("num_slots", num_slots);
  }
  check.array("slots", slots, sizeof(int32_t), num_rows, Access::kRead);
  return {slots, slots ? num_slots : num_rows};
}

UserParameters read_user_parameters(Check &check, const sampler_params *params,
                                    const sampler_row_params *row_params) {
  UserParameters result;
  if (params) check.read("params", params, &result.params);
  if (row_params) check.read("row_params", row_params, &result.arrays);
  return result;
}

contract::PerSlot<float> read_top_p(Check &check, const UserParameters &user, int64_t num_slots) {
  if (!user.arrays.top_p) check.not_nan("params->top_p", user.params.top_p);
  return read_per_slot(check, "row_params->top_p", user.params.top_p, user.arrays.top_p, num_slots);
}

void check_temperature(Check &check, const char *name, const sampler_params &params,
                       sampler_input_kind kind) {
  check.not_nan(name, params.temperature);
  if (contract::is_valid_temperature(kind, params.temperature)) return;
  check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is %.9g; it must be %s", name,
             double(params.temperature),
             kind == SAMPLER_PROBABILITIES ? "1, or at most 1e-5, with SAMPLER_PROBABILITIES"
                                           : "at most 2^64");
}

contract::Parameters read_parameters(Check &check, const UserParameters &user,
                                     sampler_input_kind kind, int64_t num_slots) {
  const sampler_params &params = user.params;
  const sampler_row_params &arrays = user.arrays;
  contract::Parameters result;
  if (!check.ok()) return result;

  if (!arrays.temperature) check_temperature(check, "params->temperature", params, kind);
  result.top_p = read_top_p(check, user, num_slots);
  if (!arrays.min_p) check.not_nan("params->min_p", params.min_p);
  result.temperature = read_per_slot(check, "row_params->temperature", params.temperature,
                                     arrays.temperature, num_slots);
  result.top_k = read_per_slot(check, "row_params->top_k", params.top_k, arrays.top_k, num_slots);
  result.min_p = read_per_slot(check, "row_params->min_p", params.min_p, arrays.min_p, num_slots);
  result.rules = read_rules(check,
                            {"params->top_k_ties", "params->top_p_ties", "params->filter_order",
                             "params->temperature_order", "params->top_p_sum"},
                            params);
  return result;
}

contract::Parameters read_draft_parameters(Check &check, const UserParameters &user,
                                           int64_t num_slots) {
  const sampler_params &params = user.params;
  const sampler_row_params &arrays = user.arrays;
  contract::Parameters result;
  if (!check.ok()) return result;
  if (!arrays.temperature)
    check_temperature(check, "draft_params->temperature", params, SAMPLER_LOGITS);
  if (!arrays.top_p) check.not_nan("draft_params->top_p", params.top_p);
  if (!arrays.min_p) check.not_nan("draft_params->min_p", params.min_p);
  result.temperature = read_per_slot(check, "draft_row_params->temperature", params.temperature,
                                     arrays.temperature, num_slots);
  result.top_p =
      read_per_slot(check, "draft_row_params->top_p", params.top_p, arrays.top_p, num_slots);
  result.top_k =
      read_per_slot(check, "draft_row_params->top_k", params.top_k, arrays.top_k, num_slots);
  result.min_p =
      read_per_slot(check, "draft_row_params->min_p", params.min_p, arrays.min_p, num_slots);
  result.rules = read_rules(
      check,
      {"draft_params->top_k_ties", "draft_params->top_p_ties", "draft_params->filter_order",
       "draft_params->temperature_order", "draft_params->top_p_sum"},
      params);
  return result;
}

contract::Randomness read_random(Check &check, const sampler_random &random, int64_t num_slots) {
  contract::Randomness result;
  result.seed = read_seed(check, random.seed, "random.seeds", random.seeds, "random.num_seeds",
                          random.num_seeds, num_slots);
  result.offset = read_seed(check, random.offset, "random.offsets", random.offsets,
                            "random.num_offsets", random.num_offsets, num_slots);
  result.streams = random.streams;
  check.parameters("random.streams", random.streams, sizeof(uint32_t), num_slots);
  return result;
}

int64_t read_fallback_token(Check &check, int64_t id, const contract::Rows &rows) {
  if (id >= rows.num_cols && !rows.ids) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "the sampler's fallback_token_id is %" PRId64
               "; it must be below num_cols, %" PRId64,
               id, rows.num_cols);
  }
  return id;
}

sampler_dtype read_output_dtype(Check &check, sampler_dtype output_dtype, const char *input_name,
                                sampler_dtype input_dtype) {
  check.enumeration("output_dtype", output_dtype, kNumDtypes);
  if (output_dtype != SAMPLER_F32 && output_dtype != int(input_dtype)) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "output_dtype is %d; it must be SAMPLER_F32 or %s.dtype, %d", int(output_dtype),
               input_name, int(input_dtype));
  }
  return output_dtype;
}

}  // namespace sampler::capi
