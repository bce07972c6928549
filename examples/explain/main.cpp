// Shows what each stage does to a row of logits: a table, and an SVG plot.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>
#include <string>

#include "engine_parameters.h"
#include "engine_values.h"
#include "error.h"
#include "in_range.h"
#include "json_file.h"
#include "picture.h"
#include "row_file.h"
#include "tokenizer.h"

namespace {

using engine_parameters::Ids;
using generate::Error;
using generate::in_range;

constexpr std::int64_t kMaxCols = (1 << 20) - 1;
constexpr int kMaxInt = std::numeric_limits<int>::max();

struct Arguments {
  std::string logits;
  std::int64_t row = 0;
  std::int64_t num_cols = 0;
  std::string type;
  std::string preset = "llama.cpp";
  std::string params = "{}";
  std::string bitmask, dense_bias, guidance;
  std::int64_t bitmask_row = 0, dense_bias_row = 0, guidance_row = 0;
  std::string adaptive_values = "{}";
  std::string history;
  std::int32_t prompt_length = 0;
  std::optional<std::uint64_t> seed;
  std::uint64_t offset = 0;
  std::string tokenizer;
  std::int64_t num_tokens = 20;
  std::string svg;
};

void declare_row(CLI::App *app, Arguments *arguments) {
  app->add_option("LOGITS", arguments->logits,
                  "File of logits: .f32, .f16 or .bf16, little-endian without a header; .npy; all "
                  "others are text with numbers in it. - is standard input")
      ->required();
  app->add_option("--row", arguments->row, "Which row of the file, from 0")
      ->capture_default_str()
      ->check(in_range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()));
  app->add_option("--cols", arguments->num_cols,
                  "Logits of a row; 0: the last dimension of .npy, else the file is one row")
      ->capture_default_str()
      ->check(in_range(std::int64_t{0}, kMaxCols));
  app->add_option("--dtype", arguments->type, "What the file holds, where its name does not tell")
      ->type_name("TYPE")
      ->check(CLI::IsMember({"f32", "f16", "bf16", "npy", "text"}));
}

void declare_sampling(CLI::App *app, Arguments *arguments) {
  app->add_option("--preset", arguments->preset,
                  "The engine whose stages they are: a name of sampler_params_preset, koboldcpp or "
                  "ollama; or sampler: the library's defaults, and its own names in --params")
      ->capture_default_str()
      ->type_name("NAME")
      ->check(engine_parameters::preset_error);
  app->add_option("--params", arguments->params,
                  "The engine's own parameters, a JSON object: '{\"top_k\": 40}', or @FILE")
      ->type_name("JSON");
  constexpr std::int64_t kMaxRow = std::numeric_limits<std::int64_t>::max();
  const auto add_row_of_file = [&](const std::string &name, std::string *file, const char *what,
                                   std::int64_t *row, const char *which) {
    CLI::Option *const option = app->add_option("--" + name, *file, what)->type_name("FILE");
    app->add_option("--" + name + "-row", *row, which)
        ->capture_default_str()
        ->check(in_range(std::int64_t{0}, kMaxRow))
        ->needs(option);
  };
  add_row_of_file("bitmask", &arguments->bitmask,
                  "File of the tokens that may be drawn, as a grammar gives them: bit i of word j "
                  "is token 32 j + i. .u32, .npy, or text with numbers in it",
                  &arguments->bitmask_row, "Which bitmask of the file, from 0");
  add_row_of_file("dense-bias", &arguments->dense_bias,
                  "File of what is added to each logit, in the forms of LOGITS",
                  &arguments->dense_bias_row, "Which row of that, from 0");
  add_row_of_file("guidance", &arguments->guidance,
                  "File of the logits that guide, by guidance_scale, in the forms of LOGITS",
                  &arguments->guidance_row, "Which row of that, from 0");
  app->add_option(
         "--adaptive-values", arguments->adaptive_values,
         "What adaptive stages have come to, a JSON object: mu, weighted_sum, total_weight, "
         "top_p; what is not given is at its start")
      ->type_name("JSON");
  app->add_option("--history", arguments->history,
                  "The tokens so far, prompt and output: ids like 3,1,4, or @FILE")
      ->type_name("IDS");
  app->add_option("--prompt-length", arguments->prompt_length,
                  "How many tokens of the history are the prompt")
      ->capture_default_str()
      ->check(in_range(0, kMaxInt));
  app->add_option("--seed", arguments->seed, "Of the draw; else that of the parameters, or 0")
      ->check(in_range(std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max()));
  app->add_option("--offset", arguments->offset, "Of the draw: the number of the step")
      ->capture_default_str()
      ->check(in_range(std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max()));
}

void declare_output(CLI::App *app, Arguments *arguments) {
  app->add_option("--tokenizer", arguments->tokenizer,
                  "Folder with a model's tokenizer: shows the tokens' texts")
      ->type_name("DIR");
  app->add_option("--top", arguments->num_tokens, "Tokens to show, the likeliest after the edits")
      ->capture_default_str()
      ->check(in_range(std::int64_t{0}, kMaxCols));
  app->add_option("--svg", arguments->svg, "Write a plot of all tokens to this file")
      ->type_name("FILE");
}

// Ids with commas or spaces between them.
Ids read_ids(const std::string &argument) {
  const bool is_file = !argument.empty() && argument[0] == '@';
  std::string text = is_file ? generate::read_file(argument.substr(1)) : argument;
  for (char &c : text) c = c == ',' ? ' ' : c;
  std::istringstream words(text);
  Ids ids;
  for (std::string word; words >> word;) {
    const std::string wrong = in_range(0, kMaxInt)(word);
    if (!wrong.empty()) throw Error("--history: " + wrong);
    std::from_chars(word.data(), word.data() + word.size(), ids.emplace_back());
  }
  return ids;
}

// In the order of sampler_pipeline.adaptive_values, and who has them.
using AdaptiveValues = std::array<float, SAMPLER_NUM_ADAPTIVE_VALUES>;
constexpr const char *kNames[] = {"mu", "weighted_sum", "total_weight", "top_p"};
constexpr const char *kOwners[] = {"mirostat", "adaptive-p, with both of its values,",
                                   "adaptive-p, with both of its values,", "a decay of top_p"};

AdaptiveValues read_adaptive_values(const std::string &argument) {
  AdaptiveValues values;
  values.fill(std::numeric_limits<float>::quiet_NaN());
  const nlohmann::json json = generate::read_json_argument(argument, "--adaptive-values");
  for (const auto &[name, value] : json.items()) {
    const auto known = std::find(std::begin(kNames), std::end(kNames), name);
    if (known == std::end(kNames) || !engine_parameters::Value::is_f32(value)) {
      throw Error("--adaptive-values: " + generate::in_quotes(name) + " is " + value.dump() +
                  "; there are mu, weighted_sum, total_weight and top_p, numbers that f32 has");
    }
    values[std::size_t(known - std::begin(kNames))] = value.get<float>();
  }
  return values;
}

// A value that is given and not used is an error.
void check_used(const AdaptiveValues &given, const explain::Values &used) {
  const AdaptiveValues values = {used.mu, used.weighted_sum, used.total_weight, used.top_p};
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (std::isnan(given[i]) || given[i] == values[i]) continue;
    throw Error(std::string("--adaptive-values: ") + kNames[i] + " is given; it must be so with " +
                kOwners[i] + " alone");
  }
}

explain::Explanation answer(const Arguments &arguments) {
  engine_parameters::Request request = engine_parameters::read(
      arguments.preset, generate::read_json_argument(arguments.params, "--params"));
  const Ids history = read_ids(arguments.history);
  if (std::size_t(arguments.prompt_length) > history.size()) {
    throw Error("--prompt-length is " + std::to_string(arguments.prompt_length) +
                "; it must be at most the number of tokens in --history, " +
                std::to_string(history.size()));
  }
  explain::Question question;
  question.logits = explain::read_row(
      arguments.logits, arguments.type.empty() ? arguments.logits : "." + arguments.type,
      arguments.row, arguments.num_cols);
  const auto num_cols = std::int64_t(question.logits.size());
  engine_parameters::check_vocabulary(request, num_cols);
  if (!arguments.seed) {
    engine_parameters::draw_random_seed(&request);
  } else if (request.seed && *request.seed != *arguments.seed) {
    request.notes.push_back("--seed stands in place of the seed " + std::to_string(*request.seed) +
                            " of --params");
  }
  if (request.bans_end) {
    request.notes.emplace_back("the model's end tokens are banned, and not known here");
  }
  for (const std::string &note : request.notes) {
    std::fprintf(stderr, "sampler-explain: %s\n", note.c_str());
  }
  if (!arguments.bitmask.empty()) {
    request.token_bitmask =
        explain::read_bitmask(arguments.bitmask, arguments.bitmask_row, (num_cols + 31) / 32);
  }
  if (!arguments.dense_bias.empty()) {
    request.dense_bias = explain::read_row(arguments.dense_bias, arguments.dense_bias,
                                           arguments.dense_bias_row, num_cols);
  }
  const engine_parameters::Pipeline lists(request, history, arguments.prompt_length);
  const auto adaptive_values = read_adaptive_values(arguments.adaptive_values);
  sampler_pipeline pipeline = *lists.get();
  std::vector<float> guidance;
  if (!arguments.guidance.empty()) {
    guidance =
        explain::read_row(arguments.guidance, arguments.guidance, arguments.guidance_row, num_cols);
    pipeline.guidance_logits = guidance.data();
    pipeline.num_guidance_rows = 1;
  }
  pipeline.adaptive_values = adaptive_values.data();
  question.params = *lists.params();
  question.pipeline = &pipeline;
  question.top_p_reset_token_id = request.top_p_reset_token_id.value_or(-1);
  question.draw_method = request.draw_method;
  question.seed = arguments.seed.value_or(request.seed.value_or(0));
  question.offset = arguments.offset;
  question.forced_token_id =
      request.forced_token(history.size() - std::size_t(arguments.prompt_length));
  explain::Explanation explanation = explain::explain(question);
  check_used(adaptive_values, explanation.values);
  return explanation;
}

void run(const Arguments &arguments) {
  const explain::Explanation explanation = answer(arguments);
  std::unique_ptr<generate::Tokenizer> tokenizer;
  if (!arguments.tokenizer.empty()) {
    tokenizer = generate::read_tokenizer(arguments.tokenizer, int(explanation.tokens.size()));
  }
  const auto text = [&](std::int32_t id) {
    return tokenizer ? generate::in_readable_quotes(tokenizer->token_name(id)) : "";
  };
  explain::print(explanation, std::size_t(arguments.num_tokens), text, std::cout);
  if (!std::cout.flush()) throw Error("the table cannot be written to standard output");
  if (explanation.status != SAMPLER_ROW_OK) throw Error("no token: " + explanation.reason);
  if (arguments.svg.empty()) return;
  std::ofstream svg(arguments.svg);
  explain::plot(explanation, svg);
  svg.close();
  if (!svg) throw Error("--svg: " + arguments.svg + " cannot be written");
}

}  // namespace

int main(int argc, char **argv) {
  try {
    Arguments arguments;
    CLI::App app("Shows what each stage does to a row of logits.", "sampler-explain");
    declare_row(&app, &arguments);
    declare_sampling(&app, &arguments);
    declare_output(&app, &arguments);
    CLI11_PARSE(app, argc, argv);
    run(arguments);
    return 0;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "sampler-explain: %s\n", error.what());
    return 1;
  }
}
