#ifndef GENERATE_REPORT_H
#define GENERATE_REPORT_H

#include <string>
#include <vector>

#include "generation.h"
#include "options.h"

namespace generate {

// Runs of a mode, and as many autoregressive runs of the same prompts and seeds, taken in turn. At
// least one of each.
struct Comparison {
  std::vector<Generation> runs;
  std::vector<Generation> autoregressive;
};

// Prints times and drafts of a run, and the speeds that were compared, to standard error. NULL:
// there is nothing to compare with.
void print_report(const Arguments &arguments, const Generation &generation,
                  const Comparison *comparison);

// Appends a line of JSON to arguments.json. Throws Error.
void append_json(const Arguments &arguments, const Generation &generation,
                 const Comparison *comparison);

}  // namespace generate

#endif  // GENERATE_REPORT_H
