#ifndef GENERATE_PRINTER_H
#define GENERATE_PRINTER_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "generation.h"
#include "options.h"
#include "tokenizer.h"
#include "utf8.h"

namespace generate {

// Prints the texts: a single one as it grows, several as blocks, in order, each as soon as it and
// those before it have ended. With a trace, a line for each round, and all texts at the end.
class Printer {
 public:
  // `prompts` are the tokens of the arguments' prompts.
  Printer(const Tokenizer &tokenizer, const std::vector<std::vector<std::int32_t>> &prompts,
          const Arguments &arguments, int context);

  // Takes the continuation `index`, which has new tokens or has ended, and prints what can be
  // printed now; with a trace nothing.
  void add_text(std::size_t index, const Continuation &continuation);

  // Prints what has not been printed.
  void print_texts();

  // Each new token with its log-probability, a line each, text after text.
  void print_logprobs(const std::vector<Continuation> &continuations) const;

  // Drafts are marked + accepted, - rejected, . not looked at; the model's own token after them is
  // marked * where all drafts were accepted, and > otherwise. A tree's accepted drafts come
  // first, and all others are marked -.
  void print_round(const sampler_trace_round &round) const;

 private:
  struct Text {
    TokenText tokens;
    Utf8Stream stream = {};
    std::string printable = "";
    std::size_t num_tokens = 0;  // in it, or printed
    // How it ended; empty until then.
    std::string end = "";
  };
  struct Mark {
    char sign;
    int colour;  // as in an ANSI sequence
  };

  std::string describe_end(const Continuation &continuation) const;
  void print_new_text(Text *text) const;
  void print_finished_blocks();
  std::string marked(const Mark &mark, std::int32_t token_id) const;

  const Tokenizer &tokenizer_;
  const Arguments &arguments_;
  int context_;
  std::size_t num_samples_;
  std::vector<Text> texts_;
  std::size_t next_block_ = 0;
};

}  // namespace generate

#endif  // GENERATE_PRINTER_H
