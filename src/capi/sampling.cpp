// The entry points of sampling.h.
#include "abi/init.h"
#include "capi/call.h"
#include "capi/operations.h"
#include "capi/presets.h"

namespace sampler::capi {

using namespace abi;

sampler_status sample(sampler_t sampler, const sampler_sample_args *args,
                      Wording wording) noexcept {
  return call(sampler, args, wording);
}

sampler_status sample_of_session(sampler_t sampler, const sampler_sample_args *args) noexcept {
  return call(sampler, args, Wording::kFull, true);
}

sampler_status filter(sampler_t sampler, const sampler_filter_args *args,
                      Wording wording) noexcept {
  return call(sampler, args, wording);
}

sampler_status select(sampler_t sampler, const sampler_select_args *args,
                      Wording wording) noexcept {
  return call(sampler, args, wording);
}

}  // namespace sampler::capi

extern "C" {

using namespace sampler::capi;

sampler_status sampler_params_init(sampler_params *params, size_t struct_size) {
  return enter_init("params", params, struct_size);
}

sampler_status sampler_params_preset(sampler_params *params, size_t struct_size, const char *name) {
  return enter(Log{}, [&](Entry &entry) {
    Check check(entry);
    check_init(check, "params", params, struct_size);
    const Preset *const preset = find_preset(check, name);
    if (preset) fill(params_of(*preset), params, struct_size);
    return check.status();
  });
}

const char *sampler_preset_name(int32_t index) {
  return preset_name(index);
}

sampler_status sampler_sample(sampler_t sampler, const sampler_sample_args *args) {
  return sampler::capi::sample(sampler, args, Wording::kFull);
}

sampler_status sampler_score(sampler_t sampler, const sampler_score_args *args) {
  return call(sampler, args);
}

sampler_status sampler_filter(sampler_t sampler, const sampler_filter_args *args) {
  return sampler::capi::filter(sampler, args, Wording::kFull);
}

sampler_status sampler_select(sampler_t sampler, const sampler_select_args *args) {
  return sampler::capi::select(sampler, args, Wording::kFull);
}

sampler_status sampler_sample_workspace_size(sampler_t sampler, const sampler_sample_args *args,
                                             size_t *out_bytes) {
  return size_workspace(sampler, args, out_bytes);
}

sampler_status sampler_score_workspace_size(sampler_t sampler, const sampler_score_args *args,
                                            size_t *out_bytes) {
  return size_workspace(sampler, args, out_bytes);
}

sampler_status sampler_filter_workspace_size(sampler_t sampler, const sampler_filter_args *args,
                                             size_t *out_bytes) {
  return size_workspace(sampler, args, out_bytes);
}

sampler_status sampler_select_workspace_size(sampler_t sampler, const sampler_select_args *args,
                                             size_t *out_bytes) {
  return size_workspace(sampler, args, out_bytes);
}

}  // extern "C"
