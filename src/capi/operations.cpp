// The operations' entry points, and the size of their workspace.
#include "capi/call.h"
#include "capi/requests.h"
#include "capi/structs.h"

namespace sampler::capi {

namespace {

void size_workspace_of(Check &check, sampler_handle *handle, sampler_operation operation,
                       const void *args, size_t *out_bytes) {
  switch (operation) {
    case SAMPLER_OP_SAMPLE:
      return size_workspace<sampler_sample_args>(check, handle, args, out_bytes);
    case SAMPLER_OP_TOP_K:
      return size_workspace<sampler_top_k_args>(check, handle, args, out_bytes);
    case SAMPLER_OP_TOP_P:
      return size_workspace<sampler_top_p_args>(check, handle, args, out_bytes);
    case SAMPLER_OP_MIN_P:
      return size_workspace<sampler_min_p_args>(check, handle, args, out_bytes);
    case SAMPLER_OP_TOP_K_TOP_P:
      return size_workspace<sampler_top_k_top_p_args>(check, handle, args, out_bytes);
    case SAMPLER_OP_ARGMAX:
      return size_workspace<sampler_argmax_args>(check, handle, args, out_bytes);
    case SAMPLER_OP_SOFTMAX:
      return size_workspace<sampler_softmax_args>(check, handle, args, out_bytes);
    case SAMPLER_OP_TOP_K_RENORM:
      return size_workspace<sampler_top_k_renorm_args>(check, handle, args, out_bytes);
    case SAMPLER_OP_TOP_P_RENORM:
      return size_workspace<sampler_top_p_renorm_args>(check, handle, args, out_bytes);
    case SAMPLER_OP_TOP_K_MASK:
      return size_workspace<sampler_top_k_mask_args>(check, handle, args, out_bytes);
    case SAMPLER_OP_TOP_K_SELECT:
      return size_workspace<sampler_top_k_select_args>(check, handle, args, out_bytes);
    case SAMPLER_OP_CHAIN_SPECULATIVE:
      return size_workspace<sampler_chain_speculative_args>(check, handle, args, out_bytes);
    case SAMPLER_OP_RESIDUAL:
      return size_workspace<sampler_residual_args>(check, handle, args, out_bytes);
    default:
      check.enumeration("operation", operation, SAMPLER_OP_RESIDUAL + 1);
  }
}

}  // namespace

}  // namespace sampler::capi

extern "C" {

#define SAMPLER_DEFINE_OPERATION(name, ...)                         \
  sampler_status name(sampler_t sampler, const name##_args *args) { \
    return sampler::capi::call(sampler, args);                      \
  }
SAMPLER_FOR_EACH_ARGS(SAMPLER_DEFINE_OPERATION)
#undef SAMPLER_DEFINE_OPERATION

sampler_status sampler_workspace_size(sampler_t sampler, sampler_operation operation,
                                      const void *args, size_t *out_bytes) {
  using namespace sampler::capi;
  return enter(sampler ? sampler->log : Log{}, [&](Entry &entry) {
    Check arguments(entry);
    arguments.required("sampler", sampler);
    arguments.required("args", args);
    arguments.required("out_bytes", out_bytes);
    if (!arguments.ok()) return arguments.status();
    Check shapes(entry, false);
    size_workspace_of(shapes, sampler, operation, args, out_bytes);
    return shapes.status();
  });
}

}  // extern "C"
