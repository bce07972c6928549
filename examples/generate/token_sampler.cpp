#include "token_sampler.h"

#include <string>

#include "error.h"

namespace generate {

namespace {

void check(sampler_status status) {
  if (status != SAMPLER_OK) throw Error(std::string("sampling: ") + sampler_last_error());
}

}  // namespace

TokenSampler::TokenSampler(std::int64_t max_draws, std::int64_t vocab_size)
    : vocab_size_(vocab_size) {
  sampler_options options = SAMPLER_OPTIONS_INIT;
  options.max_rows = max_draws;
  options.max_cols = vocab_size;
  sampler_t sampler;
  check(sampler_create(&options, &sampler));
  sampler_.reset(sampler);
}

std::vector<std::int32_t> TokenSampler::sample(const std::vector<float> &logits,
                                               std::int64_t num_rows,
                                               const std::vector<Draw> &draws,
                                               const SamplingOptions &options) {
  std::vector<std::int32_t> rows;
  std::vector<std::uint64_t> seeds;
  std::vector<std::uint64_t> offsets;
  for (const Draw &draw : draws) {
    rows.push_back(draw.logits_row);
    seeds.push_back(draw.seed);
    offsets.push_back(draw.position);
  }
  std::vector<std::int32_t> token_ids(draws.size());
  std::vector<sampler_row_status> row_status(draws.size());

  sampler_sample_args args = SAMPLER_SAMPLE_ARGS_INIT;
  args.input = logits.data();
  args.num_rows = static_cast<std::int64_t>(draws.size());
  args.num_cols = vocab_size_;
  args.num_input_rows = num_rows;
  args.row_indices = rows.data();
  args.temperature = options.temperature;
  args.top_k = options.top_k;
  args.top_p = options.top_p;
  args.min_p = options.min_p;
  args.seeds = seeds.data();
  args.offsets = offsets.data();
  args.num_seeds = args.num_offsets = args.num_rows;
  args.out_token_ids = token_ids.data();
  args.out_row_status = row_status.data();
  check(sampler_sample(sampler_.get(), &args));

  for (const sampler_row_status status : row_status) {
    if (status != SAMPLER_ROW_OK) {
      throw Error("the model's logits are not finite numbers: its weights may be damaged");
    }
  }
  return token_ids;
}

}  // namespace generate
