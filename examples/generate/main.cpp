// Continues prompts with a GPT-2 in the Hugging Face layout; libsampler draws the tokens.

#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "error.h"
#include "explain_step.h"
#include "generation.h"
#include "gpt2.h"
#include "options.h"
#include "printer.h"
#include "ranks.h"
#include "report.h"
#include "tokenizer.h"

namespace {

using generate::Arguments;
using generate::Comparison;
using generate::Continuation;
using generate::Error;
using generate::Generation;
using generate::GenerationOptions;
using generate::Gpt2Model;
using generate::Listeners;
using generate::Mode;
using generate::Printer;
using generate::Ranks;
using generate::StepExplainer;
using generate::Tokenizer;
using Prompts = std::vector<std::vector<std::int32_t>>;

std::vector<std::int32_t> encode_prompt(const Tokenizer &tokenizer, const std::string &prompt) {
  auto ids = tokenizer.encode_prompt(prompt, tokenizer.adds_begin_token());
  if (ids.empty()) throw Error("an empty prompt needs a beginning token, which the model lacks");
  return ids;
}

// The model's end token ends a text, unless --end-ids or the engine's parameters say otherwise.
void set_end(const Gpt2Model &model, const Tokenizer &tokenizer, bool has_end_ids,
             GenerationOptions *options) {
  std::optional<std::int32_t> end = model.config().eos_token_id;
  if (!end) end = tokenizer.end_token();
  if (!has_end_ids && !(options->engine && options->engine->ignores_end)) options->end_token = end;
  if (!options->engine) return;
  engine_parameters::check_vocabulary(*options->engine, model.config().vocab_size);
  if (end && options->engine->bans_end) options->engine->banned.push_back(*end);
  std::vector<std::int32_t> ends = options->end_tokens;
  if (options->end_token) ends.push_back(*options->end_token);
  engine_parameters::end_at(ends, &*options->engine);
}

// Generates from the same prompts, with as many samples, without drafts or beams.
Generation autoregressive_run(const Gpt2Model &model, const Prompts &prompts,
                              GenerationOptions options) {
  if (options.mode == Mode::kBeam) {
    options.num_samples = 1;
    options.sampling.temperature = 0;
  }
  options.mode = Mode::kAutoregressive;
  return generate_text(model, nullptr, prompts, options, {});
}

// `first` and what follows it, in turn with autoregressive runs of the same seeds.
Comparison compare(const Gpt2Model &model, const Gpt2Model *drafter, const Prompts &prompts,
                   GenerationOptions options, int repeats, const Generation &first) {
  Comparison comparison;
  comparison.runs.push_back(first);
  comparison.autoregressive.push_back(autoregressive_run(model, prompts, options));
  for (int i = 1; i < repeats; ++i) {
    ++options.seed;
    comparison.runs.push_back(generate_text(model, drafter, prompts, options, {}));
    comparison.autoregressive.push_back(autoregressive_run(model, prompts, options));
  }
  return comparison;
}

// Where there are ranks the first one alone prints.
void run(Arguments arguments, Ranks *ranks) {
  GenerationOptions &options = arguments.generation;
  options.ranks = ranks;
  const bool prints = !ranks || ranks->rank() == 0;
  const Gpt2Model model(arguments.model);
  std::optional<Gpt2Model> drafter;
  if (options.mode == Mode::kSpeculative) drafter.emplace(arguments.draft);
  const auto tokenizer = generate::read_tokenizer(arguments.model, model.config().vocab_size);
  set_end(model, *tokenizer, arguments.has_end_ids, &options);

  if (prints) {
    for (const std::string &note : arguments.notes) std::cerr << "generate: " << note << '\n';
  }
  Prompts prompts;
  for (const std::string &prompt : arguments.prompts) {
    prompts.push_back(encode_prompt(*tokenizer, prompt));
  }
  Printer printer(*tokenizer, prompts, arguments, model.config().n_positions);
  Listeners listeners;
  if (prints) {
    listeners.on_tokens = [&](std::size_t index, const Continuation &continuation) {
      printer.add_text(index, continuation);
    };
  }
  if (arguments.trace) {
    listeners.on_round = [&](const sampler_trace_round &round) { printer.print_round(round); };
  }
  std::optional<StepExplainer> explainer;
  if (arguments.explained_step) {
    const auto explained = static_cast<std::size_t>(arguments.explained_text);
    const auto num_samples = static_cast<std::size_t>(options.num_samples);
    explainer.emplace(*arguments.explained_step, options, prompts[explained / num_samples],
                      explained % num_samples);
    listeners.on_logits = [&explainer, explained](std::size_t index,
                                                  const Continuation &continuation,
                                                  const float *logits, std::int64_t num_cols) {
      if (index == explained) explainer->look_at(continuation, logits, num_cols);
    };
  }
  const Gpt2Model *const draft_model = drafter ? &*drafter : nullptr;
  const Generation generation = generate_text(model, draft_model, prompts, options, listeners);
  if (!prints) return;
  if (arguments.trace) printer.print_texts();
  if (options.has_logprobs) printer.print_logprobs(generation.continuations);
  if (explainer) explainer->print(*tokenizer, std::cout);
  if (!std::cout) throw Error("the text cannot be written to standard output");
  std::optional<Comparison> comparison;
  if (options.mode != Mode::kAutoregressive) {
    comparison = compare(model, draft_model, prompts, options, arguments.repeats, generation);
  }
  const Comparison *const beside = comparison ? &*comparison : nullptr;
  print_report(arguments, generation, beside);
  if (!arguments.json.empty()) append_json(arguments, generation, beside);
}

}  // namespace

int main(int argc, char **argv) {
  std::unique_ptr<Ranks> ranks;
  try {
    generate::Arguments arguments;
    if (const auto status = generate::parse_arguments(argc, argv, &arguments)) return *status;
    if (arguments.num_ranks > 0) ranks = generate::start_ranks(arguments.num_ranks);
    run(arguments, ranks.get());
    return 0;
  } catch (const std::bad_alloc &) {
    std::fputs("generate: out of memory\n", stderr);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "generate: %s\n", error.what());
  }
  if (ranks) ranks->abort();
  return 1;
}
