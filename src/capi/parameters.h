// Parameters of the table, from the public structs to the contract's.
#pragma once

#include "capi/views.h"
#include "contract/parameter_table.h"

namespace sampler::capi {

// Parameters beside temperature, top-k, top-p and min-p, but forced_token_id.
struct OtherParameters {
  const contract::ParameterInfo *begin() const {
    return contract::kParameters + contract::kNumFilterParameters;
  }
  const contract::ParameterInfo *end() const {
    return contract::kParameters + contract::kNumParameters - 1;
  }
};
inline OtherParameters other_parameters() {
  return {};
}

// Whether the parameter may turn its stage on in some slot.
inline bool may_turn_on(const contract::ParameterInfo &parameter, const UserParameters &user) {
  return parameter.turns_on() &&
         (parameter.array_in(user.arrays) || parameter.scalar_is_on(user.params, user.arrays));
}

// Checks a scalar that no array replaces.
void check_scalar(Check &check, const contract::ParameterInfo &parameter,
                  const UserParameters &user);

template <class T>
void read_parameter(Check &check, const contract::ParameterInfo &parameter,
                    const UserParameters &user, int64_t num_slots, contract::PerSlot<T> *out) {
  check_scalar(check, parameter, user);
  *out = read_per_slot(check, parameter.row_path, parameter.scalar_in<T>(user.params),
                       parameter.array_in<T>(user.arrays), num_slots);
}

// Reads what read_parameter does not: the token that resets top-p. Checks what is of several
// parameters.
void complete_adaptive(Check &check, const UserParameters &user, int64_t num_slots,
                       contract::AdaptiveParameters *out);

// The parameters of the adaptive stages alone. `top_p` has been checked.
contract::AdaptiveParameters read_adaptive(Check &check, const UserParameters &user,
                                           const contract::PerSlot<float> &top_p,
                                           int64_t num_slots);

}  // namespace sampler::capi
