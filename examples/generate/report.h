#ifndef GENERATE_REPORT_H
#define GENERATE_REPORT_H

#include <string>

#include "generation.h"
#include "options.h"

namespace generate {

// Prints times, drafts and the rate to standard error. `autoregressive` is the same prompts'
// continuation token by token in the same run of the program; NULL: there is none to compare with.
void print_report(const Arguments &arguments, const Generation &generation,
                  const Generation *autoregressive);

// Appends a line of JSON to arguments.json. Throws Error.
void append_json(const Arguments &arguments, const Generation &generation,
                 const Generation *autoregressive);

}  // namespace generate

#endif  // GENERATE_REPORT_H
