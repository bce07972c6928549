// Draws tokens from recorded logits by an engine's own parameters:
//
//   engine_json PRESET PARAMETERS LOGITS [STEPS]
//
//   engine_json llama.cpp '{"repeat_penalty":1.1,"top_k":40,"dry_multiplier":0.8}' logits.f16
//
// PRESET is a name of sampler_params_preset, PARAMETERS a JSON object, or @FILE that has one, such
// as a model's generation_config.json. LOGITS are rows of 2048 f16, one a step; STEPS of them are
// drawn from, or all. A state remembers the tokens drawn so far, which are the history of the next
// step, and what adaptive stages have come to. A parameter that is not known is an error that names
// it.
#include <sampler/sampler.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "engine_parameters.h"
#include "json_file.h"

namespace {

using engine_parameters::Error;
using engine_parameters::Ids;
using engine_parameters::Pipeline;
using engine_parameters::Request;

constexpr std::int64_t kNumCols = 2048;

struct Destroy {
  void operator()(sampler_t sampler) const { sampler_destroy(sampler); }
  void operator()(sampler_state_t state) const { sampler_state_destroy(state); }
};
using Sampler = std::unique_ptr<std::remove_pointer_t<sampler_t>, Destroy>;
using State = std::unique_ptr<std::remove_pointer_t<sampler_state_t>, Destroy>;

void check(sampler_status status) {
  if (status != SAMPLER_OK) throw Error(sampler_last_error());
}

Sampler make_sampler() {
  const sampler_options options = sampler_options_default();
  sampler_t sampler = nullptr;
  check(sampler_create(&options, &sampler));
  return Sampler(sampler);
}

State make_state(sampler_t sampler, std::int64_t max_tokens) {
  sampler_state_options options = {};
  options.struct_size = sizeof options;
  options.num_slots = 1;
  options.max_tokens = max_tokens;
  sampler_state_t state = nullptr;
  check(sampler_state_create(sampler, &options, &state));
  return State(state);
}

struct Drawn {
  std::int32_t token, kept;
  float logprob;
};

Drawn draw(sampler_t sampler, const Request &request, sampler_state_t state, std::uint64_t step,
           const std::vector<std::uint16_t> &logits) {
  const Pipeline lists(request, Ids(), 0);
  sampler_pipeline pipeline = *lists.get();
  pipeline.history = {};
  pipeline.prompt_lengths = nullptr;
  pipeline.state = state;
  sampler_row_params row_params = {};
  row_params.struct_size = sizeof row_params;
  const std::int64_t reset_token = request.top_p_reset_token_id.value_or(-1);
  row_params.top_p_reset_token_id = &reset_token;
  Drawn drawn = {};
  float observation = 0;
  sampler_sample_args args = {};
  args.struct_size = sizeof args;
  args.input.values = logits.data();
  args.input.num_rows = 1;
  args.input.num_cols = kNumCols;
  args.input.dtype = SAMPLER_F16;
  args.params = lists.params();
  args.row_params = &row_params;
  args.pipeline = &pipeline;
  args.draw_method = request.draw_method;
  args.logprob_kind = SAMPLER_LOGPROB_PROCESSED;
  args.random.seed = request.seed.value_or(1);
  args.random.offset = step;
  args.out_token_ids = &drawn.token;
  args.out_kept_counts = &drawn.kept;
  args.out_logprobs = &drawn.logprob;
  args.out_observations = &observation;
  check(sampler_sample_workspace_size(sampler, &args, &args.exec.workspace_bytes));
  std::vector<unsigned char> workspace(args.exec.workspace_bytes);
  args.exec.workspace = workspace.data();
  check(sampler_sample(sampler, &args));

  sampler_accept_args accept = {};
  accept.struct_size = sizeof accept;
  accept.state = state;
  accept.num_rows = 1;
  accept.token_ids = &drawn.token;
  accept.num_tokens = 1;
  accept.observations = &observation;
  accept.params = args.params;
  accept.row_params = args.row_params;
  check(sampler_accept(sampler, &accept));
  return drawn;
}

void run(const std::string &preset, const std::string &parameters, const std::string &path,
         std::uint64_t num_steps) {
  Request request =
      engine_parameters::read(preset, generate::read_json_argument(parameters, "PARAMETERS"));
  if (request.max_new_tokens && *request.max_new_tokens >= 0) {
    num_steps = std::min(num_steps, static_cast<std::uint64_t>(*request.max_new_tokens));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(path + " cannot be read");
  const Sampler sampler = make_sampler();
  std::vector<std::uint16_t> logits(kNumCols);
  file.seekg(0, std::ios::end);
  const std::int64_t num_rows = file.tellg() / (kNumCols * std::int64_t{sizeof logits[0]});
  file.seekg(0);
  const State state = make_state(sampler.get(), std::max(num_rows, std::int64_t{1}));
  for (std::uint64_t step = 0; step < num_steps; ++step) {
    const auto bytes = static_cast<std::streamsize>(logits.size() * sizeof(std::uint16_t));
    if (!file.read(reinterpret_cast<char *>(logits.data()), bytes)) break;
    const Drawn drawn = draw(sampler.get(), request, state.get(), step, logits);
    std::printf("token %d of %d, logprob %.4f\n", drawn.token, drawn.kept,
                static_cast<double>(drawn.logprob));
  }
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 4 && argc != 5) {
    std::fputs("usage: engine_json PRESET PARAMETERS LOGITS [STEPS]; presets:", stderr);
    for (std::int32_t i = 0; const char *name = sampler_preset_name(i); ++i) {
      std::fprintf(stderr, " %s", name);
    }
    std::fputs("\n", stderr);
    return 2;
  }
  try {
    run(argv[1], argv[2], argv[3], argc == 5 ? std::strtoull(argv[4], nullptr, 10) : UINT64_MAX);
    return 0;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "engine_json: %s\n", error.what());
    return 1;
  }
}
