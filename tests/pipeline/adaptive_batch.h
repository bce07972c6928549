// A call with adaptive stages, all of whose parameters can be changed.
#ifndef SAMPLER_TESTS_PIPELINE_ADAPTIVE_BATCH_H_
#define SAMPLER_TESTS_PIPELINE_ADAPTIVE_BATCH_H_

#include <cmath>
#include <vector>

#include "../sized.h"
#include "handles.h"
#include "problem.h"

namespace pipeline_test {

// Rows of logits with adaptive numbers and values by slot, all outputs, and the values that follow.
struct AdaptiveBatch {
  static constexpr std::size_t kNumValues = SAMPLER_NUM_ADAPTIVE_VALUES;

  AdaptiveBatch(std::int64_t num_rows, std::int64_t num_cols)
      : token_ids(std::size_t(num_rows)),
        kept_counts(token_ids.size()),
        logprobs(token_ids.size()),
        observations(token_ids.size()),
        status(token_ids.size()),
        values(token_ids.size() * kNumValues, std::nanf("")),
        logits(std::size_t(num_rows * num_cols)) {
    args.input.values = logits.data();
    args.input.num_rows = num_rows;
    args.input.num_cols = num_cols;
    args.params = &params;
    args.row_params = &row_params;
    args.pipeline = &pipeline;
    args.report_args.logprob_kind = SAMPLER_LOGPROB_PROCESSED;
    args.random.seed = 5;
    args.out_token_ids = token_ids.data();
    args.report_args.out_kept_counts = kept_counts.data();
    args.report_args.out_logprobs = logprobs.data();
    args.report_args.out_observations = observations.data();
    args.out_row_status = status.data();
    row_params.struct_size = sizeof row_params;
    pipeline.struct_size = sizeof pipeline;
    pipeline.adaptive_values = values.data();
  }
  AdaptiveBatch(const AdaptiveBatch &) = delete;
  AdaptiveBatch &operator=(const AdaptiveBatch &) = delete;

  void run(const Handle &handle) {
    const auto memory = workspace_of(handle.get(), &args, &sampler_sample_workspace_size);
    ASSERT_EQ(sampler_sample(handle.get(), &args), SAMPLER_OK) << sampler_last_error();
  }
  // What sampler_filter makes of it.
  std::vector<float> probabilities(const Handle &handle) {
    std::vector<float> output(logits.size());
    sampler_filter_args filter = {};
    filter.struct_size = sizeof filter;
    filter.input = args.input;
    filter.params = &params;
    filter.row_params = &row_params;
    filter.pipeline = &pipeline;
    filter.output = output.data();
    const auto memory = workspace_of(handle.get(), &filter, &sampler_filter_workspace_size);
    EXPECT_EQ(sampler_filter(handle.get(), &filter), SAMPLER_OK) << sampler_last_error();
    return output;
  }

  std::int64_t num_cols() const { return args.input.num_cols; }
  float *row(std::size_t i) { return logits.data() + std::int64_t(i) * num_cols(); }
  void fill_normal(Random &random, float spread) {
    for (float &x : logits) {
      x = 0;
      for (int term = 0; term < 12; ++term) x += random.unit() - 0.5F;
      x *= spread;
    }
  }

  sampler_params params = sampler_params_default();
  sampler_row_params row_params = {};
  sampler_pipeline pipeline = {};
  SampleArgs args;
  std::vector<std::int32_t> token_ids, kept_counts;
  std::vector<float> logprobs, observations;
  std::vector<sampler_row_status> status;
  std::vector<float> values, logits;
};

}  // namespace pipeline_test

#endif  // SAMPLER_TESTS_PIPELINE_ADAPTIVE_BATCH_H_
