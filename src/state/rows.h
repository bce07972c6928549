// Runs the calls of state.h on the host.
#pragma once

#include <cstdint>

#include "contract/state_rows.h"

namespace sampler::state {

// Runs all rows in order.
template <class Request>
void run(const Request &request) {
  for (int64_t row = 0; row < request.num_rows; ++row) contract::run_state_row(request, row);
}

}  // namespace sampler::state
