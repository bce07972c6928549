// The library's own names, as an engine's parameters: for engine_parameters.cpp.
#ifndef ENGINE_OWN_H_
#define ENGINE_OWN_H_

#include <map>
#include <string>

#include "engine_values.h"

namespace engine_parameters {

// Enumerations and stages are the ends of their constants' names: "mirostat_v2", "TOP_H".
const std::map<std::string, Reader> &own_parameters();

}  // namespace engine_parameters

#endif  // ENGINE_OWN_H_
