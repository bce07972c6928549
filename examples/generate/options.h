#ifndef GENERATE_OPTIONS_H
#define GENERATE_OPTIONS_H

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "generation.h"

namespace generate {

// What the program is told.
struct Arguments {
  std::string model;
  std::string draft;                 // folder of the drafter, with Mode::kSpeculative
  std::vector<std::string> prompts;  // one at least
  GenerationOptions generation;
  bool trace = false;
  bool colour = false;
  int repeats = 1;   // runs with and without drafts or beams, in turn
  std::string json;  // file; "": none
};

// The name of a mode on the command line.
const char *mode_name(Mode mode);

// Throws CLI::Error, which CLI::App::exit() makes a message and an exit status of.
Arguments parse_arguments(CLI::App *app, int argc, char **argv);

}  // namespace generate

#endif  // GENERATE_OPTIONS_H
