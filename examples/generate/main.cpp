// Continues prompts with a GPT-2 in the Hugging Face layout; libsampler draws the tokens.

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <limits>
#include <new>
#include <sstream>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "bpe.h"
#include "error.h"
#include "generation.h"
#include "gpt2.h"
#include "utf8.h"

namespace {

using generate::BpeTokenizer;
using generate::Continuation;
using generate::Error;
using generate::GenerationOptions;
using generate::GenerationTimes;
using generate::Gpt2Model;
using generate::StopReason;
using generate::Utf8Stream;

struct Arguments {
  std::string model;
  std::vector<std::string> prompts;
  bool greedy = false;
  GenerationOptions generation;
};

// A check for CLI11, whose own lets NaN through and lets integers wrap around.
template <typename Number>
std::function<std::string(const std::string &)> in_range(Number lowest, Number highest) {
  return [=](const std::string &text) -> std::string {
    Number value;
    const char *end = text.data() + text.size();
    const std::from_chars_result result = std::from_chars(text.data(), end, value);
    const bool is_number = result.ec == std::errc() && result.ptr == end;
    if (is_number && value >= lowest && value <= highest) return "";
    std::ostringstream rule;
    rule << "must be " << (std::is_integral_v<Number> ? "an integer" : "a number") << " in ["
         << lowest << ", " << highest << "]";
    return rule.str();
  };
}

void declare_options(CLI::App *app, Arguments *arguments) {
  constexpr int kMaxInt = std::numeric_limits<int>::max();
  GenerationOptions &generation = arguments->generation;
  generate::SamplingOptions &sampling = generation.sampling;
  app->add_option("--model", arguments->model,
                  "Folder with config.json, model.safetensors, vocab.json and merges.txt")
      ->type_name("DIR")
      ->required();
  app->add_option("--prompt", arguments->prompts,
                  "Text to continue; several --prompt make a batch. Without one, or with an empty "
                  "one, the model starts at <|endoftext|>")
      ->allow_extra_args(false);
  app->add_option("--length", generation.max_new_tokens, "New tokens at most")
      ->capture_default_str()
      ->check(in_range(1, kMaxInt));
  app->add_option("--samples", generation.num_samples, "Continuations of each prompt")
      ->capture_default_str()
      ->check(in_range(1, 10000));
  app->add_option("--seed", generation.seed,
                  "Seed of each prompt's first continuation, the next one has seed + 1. The same "
                  "seed gives the same text")
      ->capture_default_str()
      ->check(in_range(std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max()));
  CLI::Option *temperature = app->add_option("--temperature", sampling.temperature,
                                             "Divides the logits; 0 takes the likeliest token")
                                 ->capture_default_str()
                                 ->check(in_range(0.0, 1e9));
  app->add_option("--top-k", sampling.top_k, "Keep the K likeliest tokens; 0 keeps all")
      ->capture_default_str()
      ->check(in_range(0, kMaxInt));
  app->add_option("--top-p", sampling.top_p,
                  "Keep the likeliest tokens that together reach probability P; 1 keeps all")
      ->capture_default_str()
      ->check(in_range(0.0, 1.0));
  app->add_option("--min-p", sampling.min_p,
                  "Keep tokens at least P times as likely as the likeliest; 0 keeps all")
      ->capture_default_str()
      ->check(in_range(0.0, 1.0));
  app->add_flag("--greedy", arguments->greedy, "Take the likeliest token, as --temperature 0")
      ->excludes(temperature);
}

std::vector<std::int32_t> encode_prompt(const BpeTokenizer &tokenizer, const std::string &prompt) {
  std::vector<std::int32_t> ids = tokenizer.encode(prompt);
  if (!ids.empty()) return ids;
  if (!tokenizer.end_of_text()) {
    throw Error("an empty prompt needs <|endoftext|>, which vocab.json lacks");
  }
  return {*tokenizer.end_of_text()};
}

// Prints the texts: a single one as it grows, several as blocks, in order, each as soon as it and
// those before it have ended.
class Printer {
 public:
  Printer(const BpeTokenizer &tokenizer, const Arguments &arguments, int context)
      : tokenizer_(tokenizer),
        context_(context),
        num_samples_(static_cast<std::size_t>(arguments.generation.num_samples)) {
    for (const std::string &prompt : arguments.prompts) {
      Text text;
      text.printable = text.stream.push(prompt);
      texts_.insert(texts_.end(), num_samples_, text);
    }
  }

  void add_token(std::size_t index, const Continuation &continuation) {
    Text &text = texts_[index];
    const std::int32_t token_id = continuation.new_tokens.back();
    if (continuation.stop_reason != StopReason::kEndToken) {
      text.printable += text.stream.push(tokenizer_.token_bytes(token_id));
    }
    if (continuation.stop_reason != StopReason::kNone) {
      text.printable += text.stream.finish() + "\n";
      text.end = describe_end(continuation);
    }
    if (texts_.size() == 1) {
      print_new_text(&text);
    } else {
      print_finished_blocks();
    }
  }

 private:
  struct Text {
    Utf8Stream stream;
    std::string printable;
    // How it ended; empty until then.
    std::string end;
  };

  // "12 new tokens, ended with <|endoftext|>"
  std::string describe_end(const Continuation &continuation) const {
    const std::vector<std::int32_t> &tokens = continuation.new_tokens;
    std::string count =
        std::to_string(tokens.size()) + (tokens.size() == 1 ? " new token" : " new tokens");
    switch (continuation.stop_reason) {
      case StopReason::kEndToken:
        return count + ", ended with " + tokenizer_.token_bytes(tokens.back());
      case StopReason::kContext:
        return count + ", stopped at the context limit of " + std::to_string(context_) + " tokens";
      default:
        return count;
    }
  }

  void print_new_text(Text *text) {
    std::cout << text->printable << std::flush;
    text->printable.clear();
    if (!text->end.empty()) std::cerr << text->end << "\n";
  }

  void print_finished_blocks() {
    for (; next_block_ < texts_.size() && !texts_[next_block_].end.empty(); ++next_block_) {
      const Text &text = texts_[next_block_];
      std::cout << (next_block_ == 0 ? "" : "\n") << "== prompt " << next_block_ / num_samples_ + 1
                << ", sample " << next_block_ % num_samples_ + 1 << ": " << text.end << " ==\n"
                << text.printable << std::flush;
    }
  }

  const BpeTokenizer &tokenizer_;
  int context_;
  std::size_t num_samples_;
  std::vector<Text> texts_;
  std::size_t next_block_ = 0;
};

void print_times(const std::vector<Continuation> &continuations, const GenerationTimes &times) {
  std::size_t num_decoded = 0;
  for (const Continuation &continuation : continuations) {
    num_decoded += continuation.new_tokens.size() - 1;
  }
  const double decode_seconds = times.total_seconds - times.first_token_seconds;
  std::fprintf(stderr, "time to first token %.2f ms, ", 1e3 * times.first_token_seconds);
  if (num_decoded > 0) {
    std::fprintf(stderr, "then %.0f tokens/s, ", static_cast<double>(num_decoded) / decode_seconds);
  }
  std::fprintf(stderr, "sampling took %.1f %% of the time\n",
               100 * times.sampling_seconds / times.total_seconds);
}

void run(Arguments arguments) {
  if (arguments.prompts.empty()) arguments.prompts.emplace_back();
  if (arguments.greedy) arguments.generation.sampling.temperature = 0;
  const Gpt2Model model(arguments.model);
  const BpeTokenizer tokenizer(arguments.model, model.config().vocab_size);
  arguments.generation.end_token = model.config().eos_token_id;
  if (!arguments.generation.end_token) arguments.generation.end_token = tokenizer.end_of_text();

  std::vector<std::vector<std::int32_t>> prompts;
  for (const std::string &prompt : arguments.prompts) {
    prompts.push_back(encode_prompt(tokenizer, prompt));
  }
  Printer printer(tokenizer, arguments, model.config().n_positions);
  GenerationTimes times;
  const auto on_token = [&](std::size_t index, const Continuation &continuation) {
    printer.add_token(index, continuation);
  };
  const std::vector<Continuation> continuations =
      generate_text(model, prompts, arguments.generation, on_token, &times);
  if (!std::cout) throw Error("the text cannot be written to standard output");
  print_times(continuations, times);
}

int run_program(int argc, char **argv) {
  Arguments arguments;
  CLI::App app("Continues prompts with a GPT-2; libsampler draws the tokens.", "generate");
  declare_options(&app, &arguments);
  CLI11_PARSE(app, argc, argv);
  run(std::move(arguments));
  return 0;
}

}  // namespace

int main(int argc, char **argv) {
  try {
    return run_program(argc, argv);
  } catch (const std::bad_alloc &) {
    std::fputs("generate: out of memory\n", stderr);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "generate: %s\n", error.what());
  }
  return 1;
}
