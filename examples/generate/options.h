#ifndef GENERATE_OPTIONS_H
#define GENERATE_OPTIONS_H

#include <optional>
#include <string>
#include <vector>

#include "generation.h"

namespace generate {

// What the command line asks for.
struct Arguments {
  std::string model;
  std::string draft;                 // folder of the drafter, with Mode::kSpeculative
  std::vector<std::string> prompts;  // one at least
  GenerationOptions generation;
  bool has_end_ids = false;  // generation.end_tokens stand in place of the model's
  bool trace = false;
  bool colour = false;
  std::optional<int> explained_step;
  int explained_text = 0;          // in the order in which texts are printed, from 0
  int repeats = 1;                 // runs with and without drafts or beams, in turn
  std::string json;                // file; "": none
  int num_ranks = 0;               // processes that share the model's last product; 0: not by MPI
  std::vector<std::string> notes;  // lines for a user: what was passed over, and why
};

// The name of a mode on the command line.
const char *mode_name(Mode mode);

// The same of a rule that drafts are verified by.
const char *acceptance_name(sampler_acceptance acceptance);

// The result is the status to exit with, where the command line asks for no more than help or is
// wrong, which it then has printed.
std::optional<int> parse_arguments(int argc, char **argv, Arguments *arguments);

}  // namespace generate

#endif  // GENERATE_OPTIONS_H
