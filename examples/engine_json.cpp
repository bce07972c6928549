// Draws tokens from recorded logits by an engine's own parameters:
//
//   engine_json PRESET PARAMETERS LOGITS [STEPS]
//
//   engine_json llama.cpp '{"repeat_penalty":1.1,"top_k":40,"dry_multiplier":0.8}' logits.f16
//
// PRESET is a name of sampler_params_preset, koboldcpp, ollama or sampler, PARAMETERS a JSON
// object, or @FILE that has one, such as a model's generation_config.json or the body of a request.
// LOGITS are rows of 2048 f16, one a step; STEPS of them are drawn from, or all, until a token ends
// the text. A state remembers the tokens drawn so far, which are the history of the next step, and
// what adaptive stages have come to.
//
// Parameters that are not about sampling are named on standard error, and passed over. One that is
// not known or that cannot be done is an error that names it, and so is a row that gives no token.
#include <sampler/sampler.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "engine_parameters.h"
#include "in_range.h"
#include "json_file.h"
#include "reason.h"
#include "row_file.h"

namespace {

using engine_parameters::Error;
using engine_parameters::Ids;
using engine_parameters::Pipeline;
using engine_parameters::Request;

constexpr std::int64_t kNumCols = 2048;
constexpr std::size_t kRowBytes = kNumCols * sizeof(std::uint16_t);

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
  sampler_row_status status;
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
  const std::int64_t forced_token = request.forced_token(step);
  row_params.forced_token_id = &forced_token;
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
  args.random.seed = request.seed.value_or(1);
  args.random.offset = step;
  args.out_token_ids = &drawn.token;
  args.out_row_status = &drawn.status;
  sampler_report_args reports = {};
  reports.struct_size = sizeof reports;
  reports.logprob_kind = SAMPLER_LOGPROB_PROCESSED;
  reports.out_kept_counts = &drawn.kept;
  reports.out_logprobs = &drawn.logprob;
  reports.out_observations = &observation;
  args.reports = &reports;
  check(sampler_sample_workspace_size(sampler, &args, &args.exec.workspace_bytes));
  std::vector<unsigned char> workspace(args.exec.workspace_bytes);
  args.exec.workspace = workspace.data();
  check(sampler_sample(sampler, &args));
  if (drawn.status != SAMPLER_ROW_OK) return drawn;

  sampler_accept_args accept = {};
  accept.struct_size = sizeof accept;
  accept.state = state;
  accept.num_rows = 1;
  accept.token_ids = &drawn.token;
  accept.num_tokens = 1;
  accept.observations = &observation;
  accept.params = args.params;
  accept.row_params = args.row_params;
  sampler_row_status accepted = SAMPLER_ROW_OK;
  accept.out_row_status = &accepted;
  check(sampler_accept(sampler, &accept));
  if (accepted != SAMPLER_ROW_OK) {
    throw Error("step " + std::to_string(step) + ": the state refuses the token, status " +
                std::to_string(accepted));
  }
  return drawn;
}

[[noreturn]] void fail_at(std::uint64_t step, const std::string &path, const Request &request,
                          sampler_row_status status) {
  const Pipeline lists(request, Ids(), 0);
  explain::Question question;
  question.logits = explain::read_row(path, ".f16", static_cast<std::int64_t>(step), kNumCols);
  question.pipeline = lists.get();
  question.forced_token_id = request.forced_token(step);
  throw Error("step " + std::to_string(step) +
              " gives no token: " + explain::reason_of(status, question));
}

// Without STEPS there is one for each row, and never more than the parameters want.
std::uint64_t num_steps(const char *steps, const Request &request, std::uint64_t num_rows) {
  if (steps) {
    const std::string wrong = generate::in_range(std::uint64_t{1}, num_rows)(steps);
    if (!wrong.empty()) throw Error("STEPS: " + wrong);
    num_rows = std::stoull(steps);
  }
  const std::int32_t longest = request.max_new_tokens.value_or(-1);
  return longest < 0 ? num_rows : std::min(num_rows, static_cast<std::uint64_t>(longest));
}

void run(const std::string &preset, const std::string &parameters, const std::string &path,
         const char *steps) {
  const std::string wrong = engine_parameters::preset_error(preset);
  if (!wrong.empty()) throw Error("PRESET: " + wrong);
  Request request =
      engine_parameters::read(preset, generate::read_json_argument(parameters, "PARAMETERS"));
  engine_parameters::check_vocabulary(request, kNumCols);
  engine_parameters::draw_random_seed(&request);
  if (request.bans_end) {
    request.notes.emplace_back("the model's end tokens are banned, and not known here");
  }
  const auto tell = [](const std::string &note) {
    std::fprintf(stderr, "engine_json: %s\n", note.c_str());
  };
  const Ids ends = request.ends();
  const std::string bytes = generate::read_file(path);
  if (bytes.empty() || bytes.size() % kRowBytes != 0) {
    throw Error(path + " has " + std::to_string(bytes.size()) + " bytes; it must be rows of " +
                std::to_string(kNumCols) + " f16, of " + std::to_string(kRowBytes) + " bytes each");
  }
  const std::uint64_t count = num_steps(steps, request, bytes.size() / kRowBytes);
  const Sampler sampler = make_sampler();
  const State state =
      make_state(sampler.get(), std::max(static_cast<std::int64_t>(count), std::int64_t{1}));
  std::for_each(request.notes.begin(), request.notes.end(), tell);
  std::vector<std::uint16_t> logits(kNumCols);
  for (std::uint64_t step = 0; step < count; ++step) {
    std::memcpy(logits.data(), bytes.data() + step * kRowBytes, kRowBytes);
    const Drawn drawn = draw(sampler.get(), request, state.get(), step, logits);
    if (drawn.status != SAMPLER_ROW_OK) fail_at(step, path, request, drawn.status);
    std::printf("token %d of %d, logprob %.4f\n", drawn.token, drawn.kept,
                static_cast<double>(drawn.logprob));
    if (std::count(ends.begin(), ends.end(), drawn.token) > 0) {
      tell("token " + std::to_string(drawn.token) + " ends the text");
      break;
    }
  }
  if (std::fflush(stdout) != 0) throw Error("the tokens cannot be written to standard output");
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 4 && argc != 5) {
    std::fputs("usage: engine_json PRESET PARAMETERS LOGITS [STEPS]; presets:", stderr);
    for (const std::string &name : engine_parameters::preset_names()) {
      std::fprintf(stderr, " %s", name.c_str());
    }
    std::fputs("\n", stderr);
    return 2;
  }
  try {
    run(argv[1], argv[2], argv[3], argc == 5 ? argv[4] : nullptr);
    return 0;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "engine_json: %s\n", error.what());
    return 1;
  }
}
