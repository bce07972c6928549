// The entry points of speculative.h.
#include "capi/call.h"
#include "capi/operations.h"

namespace sampler::capi {

sampler_status verify(sampler_t sampler, const sampler_verify_args *args,
                      Wording wording) noexcept {
  return call(sampler, args, wording);
}

sampler_status verify_up_to_bad_rows(sampler_t sampler, const sampler_verify_args *args) noexcept {
  return call(sampler, args, Wording::kFull, true);
}
sampler_status verify_up_to_bad_rows_workspace_size(sampler_t sampler,
                                                    const sampler_verify_args *args,
                                                    size_t *out_bytes) noexcept {
  return size_workspace(sampler, args, out_bytes, true);
}

}  // namespace sampler::capi

extern "C" {

using namespace sampler::capi;

sampler_status sampler_verify(sampler_t sampler, const sampler_verify_args *args) {
  return sampler::capi::verify(sampler, args, Wording::kFull);
}

sampler_status sampler_verify_workspace_size(sampler_t sampler, const sampler_verify_args *args,
                                             size_t *out_bytes) {
  return size_workspace(sampler, args, out_bytes);
}

sampler_status sampler_residual(sampler_t sampler, const sampler_residual_args *args) {
  return call(sampler, args);
}

sampler_status sampler_residual_workspace_size(sampler_t sampler, const sampler_residual_args *args,
                                               size_t *out_bytes) {
  return size_workspace(sampler, args, out_bytes);
}

}  // extern "C"
