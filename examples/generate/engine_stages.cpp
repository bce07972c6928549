#include "engine_stages.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "error.h"

namespace generate {

namespace {

void check(sampler_status status) {
  if (status != SAMPLER_OK) throw Error(std::string("sampling: ") + sampler_last_error());
}

}  // namespace

EngineStages::EngineStages(engine_parameters::Request request) : request_(std::move(request)) {
  const sampler_options options = sampler_options_default();
  sampler_t sampler = nullptr;
  check(sampler_create(&options, &sampler));
  sampler_.reset(sampler);
}

void EngineStages::apply(const engine_parameters::Ids &text, std::int32_t prompt_length,
                         float *logits, std::int64_t num_cols) {
  const engine_parameters::Pipeline pipeline(request_, text, prompt_length);
  row_.assign(logits, logits + num_cols);
  sampler_filter_args args = {};
  args.struct_size = sizeof args;
  args.input.values = row_.data();
  args.input.num_rows = 1;
  args.input.num_cols = num_cols;
  args.params = pipeline.params();
  args.pipeline = pipeline.get();
  args.output_kind = SAMPLER_OUTPUT_PROBABILITIES;
  args.output = logits;
  check(sampler_filter_workspace_size(sampler_.get(), &args, &args.exec.workspace_bytes));
  workspace_.resize(std::max(workspace_.size(), args.exec.workspace_bytes));
  args.exec.workspace = workspace_.data();
  args.exec.workspace_bytes = workspace_.size();
  check(sampler_filter(sampler_.get(), &args));
  // The loop takes them as logits at temperature 1. A bad row, all 0, stays one.
  std::transform(logits, logits + num_cols, logits, [](float p) { return std::log(p); });
}

}  // namespace generate
