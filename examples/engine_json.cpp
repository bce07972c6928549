// Draws tokens from recorded logits by an engine's own parameters:
//
//   engine_json PRESET PARAMETERS LOGITS [STEPS]
//
//   engine_json llama.cpp '{"repeat_penalty":1.1,"top_k":40,"dry_multiplier":0.8}' logits.f16
//
// PRESET is a name of sampler_params_preset, PARAMETERS a JSON object, or @FILE that has one, such
// as a model's generation_config.json. LOGITS are rows of 2048 f16, one a step; STEPS of them are
// drawn from, or all. The tokens drawn so far are the history of the next step. A parameter that is
// not known is an error that names it.
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
};
using Sampler = std::unique_ptr<std::remove_pointer_t<sampler_t>, Destroy>;

void check(sampler_status status) {
  if (status != SAMPLER_OK) throw Error(sampler_last_error());
}

Sampler make_sampler() {
  const sampler_options options = sampler_options_default();
  sampler_t sampler = nullptr;
  check(sampler_create(&options, &sampler));
  return Sampler(sampler);
}

struct Drawn {
  std::int32_t token, kept;
  float logprob;
};

Drawn draw(sampler_t sampler, const Request &request, const Ids &history, std::uint64_t step,
           const std::vector<std::uint16_t> &logits) {
  const Pipeline pipeline(request, history, 0);
  Drawn drawn = {};
  sampler_sample_args args = {};
  args.struct_size = sizeof args;
  args.input.values = logits.data();
  args.input.num_rows = 1;
  args.input.num_cols = kNumCols;
  args.input.dtype = SAMPLER_F16;
  args.params = pipeline.params();
  args.pipeline = pipeline.get();
  args.draw_method = request.draw_method;
  args.logprob_kind = SAMPLER_LOGPROB_PROCESSED;
  args.random.seed = request.seed.value_or(1);
  args.random.offset = step;
  args.out_token_ids = &drawn.token;
  args.out_kept_counts = &drawn.kept;
  args.out_logprobs = &drawn.logprob;
  check(sampler_sample_workspace_size(sampler, &args, &args.exec.workspace_bytes));
  std::vector<unsigned char> workspace(args.exec.workspace_bytes);
  args.exec.workspace = workspace.data();
  check(sampler_sample(sampler, &args));
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
  Ids history;
  for (std::uint64_t step = 0; step < num_steps; ++step) {
    const auto bytes = static_cast<std::streamsize>(logits.size() * sizeof(std::uint16_t));
    if (!file.read(reinterpret_cast<char *>(logits.data()), bytes)) break;
    const Drawn drawn = draw(sampler.get(), request, history, step, logits);
    std::printf("token %d of %d, logprob %.4f\n", drawn.token, drawn.kept,
                static_cast<double>(drawn.logprob));
    history.push_back(drawn.token);
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
