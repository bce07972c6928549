// From the structs that calls share (views, parameters) to the contract's, each rule checked on the
// way. A name is the member's path from the arguments: "input.num_cols", "params->top_p".
#pragma once

#include "abi/check.h"
#include "contract/elements.h"
#include "sampler/sampling.h"

namespace sampler::capi {

using namespace abi;

constexpr int64_t kMaxRows = int64_t(1) << 31;
constexpr int kNumDtypes = 3;
constexpr int kNumIdTypes = 2;

template <class T>
T *read_output_array(Check &check, const Name &name, T *data, int64_t count) {
  check.array(name, data, sizeof(T), count, Access::kWrite);
  return data;
}

sampler_id_type read_token_id_type(Check &check, sampler_id_type type);

// `name` is "input", "target" or "draft". Everything but the memory.
contract::Rows read_rows_shape(Check &check, const char *name, const sampler_rows &rows);

// The memory of rows in whole batches, `num_groups` groups of num_rows / num_groups rows whose
// first ones are `group_stride` elements apart.
void check_rows_memory(Check &check, const char *name, const contract::Rows &rows,
                       int64_t num_groups, int64_t group_stride, Need need);

// Both.
contract::Rows read_rows(Check &check, const char *name, const sampler_rows &rows,
                         Need need = Need::kRequired);

// A view that is all 0 says that the drafter was deterministic.
bool has_rows(const sampler_rows &draft);

// Rows of a draft, of which there must be `num_rows`: `meaning`.
contract::Rows read_draft_shape(Check &check, const sampler_rows &view, int64_t num_rows,
                                const char *meaning, const contract::Rows &target);

// In a request the address says whether there is a draft. Where it may be null all the same, of no
// rows and where only a size is asked, it is not read.
void check_draft_memory(Check &check, const sampler_rows &view, int64_t num_groups,
                        int64_t group_stride, contract::Rows *rows);

// Slots of `num_rows` rows of output.
contract::Slots read_slots(Check &check, const int32_t *slots, int64_t num_slots, int64_t num_rows);

// What the caller's `params` and `row_params` say; null: the defaults.
struct UserParameters {
  sampler_params params = sampler_params_default();
  sampler_row_params arrays = {};
};
UserParameters read_user_parameters(Check &check, const sampler_params *params,
                                    const sampler_row_params *row_params);

// A value for all slots, or one of each.
template <class T>
contract::PerSlot<T> read_per_slot(Check &check, const char *array_name, T value, const T *array,
                                   int64_t num_slots) {
  check.parameters(array_name, array, sizeof(T), num_slots);
  return {value, array};
}

contract::PerSlot<float> read_top_p(Check &check, const UserParameters &user, int64_t num_slots);

// `kind`: probabilities need a temperature of 1, or greedy.
contract::Parameters read_parameters(Check &check, const UserParameters &user,
                                     sampler_input_kind kind, int64_t num_slots);

// The same of draft_params and draft_row_params, which are for logits.
contract::Parameters read_draft_parameters(Check &check, const UserParameters &user,
                                           int64_t num_slots);

contract::Randomness read_random(Check &check, const sampler_random &random, int64_t num_slots);

// What a bad row yields, which must be an id of `rows`.
int64_t read_fallback_token(Check &check, int64_t id, const contract::Rows &rows);

// f32, or the input's own type.
sampler_dtype read_output_dtype(Check &check, sampler_dtype output_dtype, const char *input_name,
                                sampler_dtype input_dtype);

// Rows of output, f32 or of the input's type.
template <class Args, class Request>
void read_output_rows(Check &check, const Args &args, const char *input_name,
                      const contract::Rows &input, Request *request) {
  request->output_dtype = read_output_dtype(check, args.output_dtype, input_name, input.dtype);
  request->output_stride = check.stride("output_stride", args.output_stride,
                                        Name(input_name, "num_cols"), input.num_cols);
  request->output = args.output;
  check.array("output", args.output, contract::size_of(request->output_dtype), input.num_rows,
              input.num_cols, request->output_stride, Access::kWrite, Need::kRequired);
  request->out_row_status =
      read_output_array(check, "out_row_status", args.out_row_status, input.num_rows);
}

}  // namespace sampler::capi
