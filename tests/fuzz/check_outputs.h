// What must hold of the outputs of a call that succeeded, whatever its inputs were.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "call.h"

namespace fuzz {

[[noreturn]] inline void fault(const capi_test::Call &call, const char *what, std::int64_t row) {
  std::fprintf(stderr, "%s, row %lld: %s\nlast error: %s\n", describe(call.spec()).c_str(),
               static_cast<long long>(row), what, sampler_last_error());
  std::abort();
}

inline void require(bool condition, const capi_test::Call &call, const char *what,
                    std::int64_t row = -1) {
  if (!condition) fault(call, what, row);
}

// `bad_token`: what the handle yields for a bad row. The call's shapes are those of its spec.
void check_outputs(capi_test::Call *call, std::int64_t bad_token);

}  // namespace fuzz
