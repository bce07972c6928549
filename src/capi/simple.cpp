// The entry points of simple.h, each a few lines over a full call.
#include "sampler/simple.h"

#include "abi/handle_impl.h"
#include "abi/structs.h"
#include "capi/operations.h"

namespace sampler::capi {

using namespace abi;

namespace {

// Arguments of a full call, all else 0.
template <class Args>
Args args_of(sampler_stream stream) {
  Args args = sized<Args>();
  args.exec.stream = stream;
  return args;
}

sampler_params params_of(float temperature, int32_t top_k, float top_p, float min_p) {
  sampler_params params = sampler_params_default();
  params.temperature = temperature;
  params.top_k = top_k;
  params.top_p = top_p;
  params.min_p = min_p;
  return params;
}

sampler_status refuse_null(sampler_t sampler, const char *name) noexcept {
  return enter(sampler, [&](Entry &entry) {
    return fail(entry, SAMPLER_ERROR_INVALID_ARGUMENT, "%s is NULL; it is required", name);
  });
}

sampler_status draw(sampler_t sampler, const sampler_rows *input, const sampler_params &params,
                    uint64_t seed, uint64_t offset, int32_t *out_token_ids,
                    sampler_stream stream) noexcept {
  if (!input) return refuse_null(sampler, "input");
  sampler_sample_args args = args_of<sampler_sample_args>(stream);
  args.input = *input;
  args.params = &params;
  args.random.seed = seed;
  args.random.offset = offset;
  args.out_token_ids = out_token_ids;
  return sample(sampler, &args, Wording::kSimple);
}

sampler_status write_rows(sampler_t sampler, const sampler_rows *input,
                          const sampler_params &params, sampler_output_kind output_kind,
                          float *output, sampler_stream stream) noexcept {
  if (!input) return refuse_null(sampler, "input");
  sampler_filter_args args = args_of<sampler_filter_args>(stream);
  args.input = *input;
  args.params = &params;
  args.output_kind = output_kind;
  args.output = output;
  return filter(sampler, &args, Wording::kSimple);
}

}  // namespace

}  // namespace sampler::capi

extern "C" {

using namespace sampler::capi;

sampler_status sampler_argmax(sampler_t sampler, const sampler_rows *input, int32_t *out_token_ids,
                              sampler_stream stream) {
  return draw(sampler, input, params_of(0.0f, 0, 1.0f, 0.0f), 0, 0, out_token_ids, stream);
}

sampler_status sampler_categorical(sampler_t sampler, const sampler_rows *input, float temperature,
                                   uint64_t seed, uint64_t offset, int32_t *out_token_ids,
                                   sampler_stream stream) {
  return draw(sampler, input, params_of(temperature, 0, 1.0f, 0.0f), seed, offset, out_token_ids,
              stream);
}

sampler_status sampler_top_k(sampler_t sampler, const sampler_rows *input, int32_t top_k,
                             float temperature, uint64_t seed, uint64_t offset,
                             int32_t *out_token_ids, sampler_stream stream) {
  return draw(sampler, input, params_of(temperature, top_k, 1.0f, 0.0f), seed, offset,
              out_token_ids, stream);
}

sampler_status sampler_top_p(sampler_t sampler, const sampler_rows *input, float top_p,
                             float temperature, uint64_t seed, uint64_t offset,
                             int32_t *out_token_ids, sampler_stream stream) {
  return draw(sampler, input, params_of(temperature, 0, top_p, 0.0f), seed, offset, out_token_ids,
              stream);
}

sampler_status sampler_min_p(sampler_t sampler, const sampler_rows *input, float min_p,
                             float temperature, uint64_t seed, uint64_t offset,
                             int32_t *out_token_ids, sampler_stream stream) {
  return draw(sampler, input, params_of(temperature, 0, 1.0f, min_p), seed, offset, out_token_ids,
              stream);
}

sampler_status sampler_top_k_top_p(sampler_t sampler, const sampler_rows *input, int32_t top_k,
                                   float top_p, float temperature, uint64_t seed, uint64_t offset,
                                   int32_t *out_token_ids, sampler_stream stream) {
  return draw(sampler, input, params_of(temperature, top_k, top_p, 0.0f), seed, offset,
              out_token_ids, stream);
}

sampler_status sampler_softmax(sampler_t sampler, const sampler_rows *input, float temperature,
                               float *output, sampler_stream stream) {
  return write_rows(sampler, input, params_of(temperature, 0, 1.0f, 0.0f),
                    SAMPLER_OUTPUT_PROBABILITIES, output, stream);
}

sampler_status sampler_top_k_renorm(sampler_t sampler, const sampler_rows *input, int32_t top_k,
                                    float *output, sampler_stream stream) {
  return write_rows(sampler, input, params_of(1.0f, top_k, 1.0f, 0.0f),
                    SAMPLER_OUTPUT_PROBABILITIES, output, stream);
}

sampler_status sampler_top_p_renorm(sampler_t sampler, const sampler_rows *input, float top_p,
                                    float *output, sampler_stream stream) {
  return write_rows(sampler, input, params_of(1.0f, 0, top_p, 0.0f), SAMPLER_OUTPUT_PROBABILITIES,
                    output, stream);
}

sampler_status sampler_top_k_mask(sampler_t sampler, const sampler_rows *input, int32_t top_k,
                                  float *output, sampler_stream stream) {
  return write_rows(sampler, input, params_of(1.0f, top_k, 1.0f, 0.0f), SAMPLER_OUTPUT_VALUES,
                    output, stream);
}

sampler_status sampler_top_k_select(sampler_t sampler, const sampler_rows *input,
                                    int64_t num_selected, float *out_values, int32_t *out_token_ids,
                                    sampler_stream stream) {
  if (!input) return refuse_null(sampler, "input");
  sampler_select_args args = args_of<sampler_select_args>(stream);
  args.input = *input;
  args.num_selected = num_selected;
  args.out_values = out_values;
  args.out_token_ids = out_token_ids;
  return select(sampler, &args, Wording::kSimple);
}

sampler_status sampler_chain_speculative(sampler_t sampler, const sampler_rows *target,
                                         const sampler_rows *draft, const int32_t *draft_token_ids,
                                         int64_t num_drafts, uint64_t seed, uint64_t offset,
                                         int32_t *out_token_ids, int32_t *out_accepted_counts,
                                         int32_t *out_emitted_counts, sampler_stream stream) {
  if (!target) return refuse_null(sampler, "target");
  sampler_verify_args args = args_of<sampler_verify_args>(stream);
  args.target = *target;
  if (draft) args.draft = *draft;
  args.draft_token_ids = draft_token_ids;
  args.num_drafts = num_drafts;
  args.random.seed = seed;
  args.random.offset = offset;
  args.out_token_ids = out_token_ids;
  args.out_accepted_counts = out_accepted_counts;
  args.out_emitted_counts = out_emitted_counts;
  return verify(sampler, &args, Wording::kSimple);
}

}  // extern "C"
