// What a preset knows of its engine's parameters: for engine_parameters.cpp and the files of
// engines.
#ifndef ENGINE_TABLE_H_
#define ENGINE_TABLE_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine_values.h"

namespace engine_parameters {

using Parameters = std::map<std::string, Reader>;
using Names = std::set<std::string>;

// What the engine refuses, of a number.
struct Range {
  const char *name;
  bool (*holds)(double);
  const char *rule;  // follows "it must be"
};

// A parameter that is about sampling and that cannot be done here.
struct Undone {
  const char *rule;           // follows "it must be"
  std::vector<Json> neutral;  // values that say nothing, beside null, false and empty ones
};

struct Engine {
  const char *title;  // in messages
  const char *base;   // the preset of the library that it starts from; "": the defaults
  Parameters parameters;
  std::vector<Range> ranges;
  std::map<std::string, Undone> undone;
  Names ignored;  // not about sampling
  // A member of a request's body that has the parameters, or null; they may also stand beside it.
  const char *nested = nullptr;
  // The engine's defaults where they differ from the base's.
  void (*start)(sampler_params *) = nullptr;
  // Whether the engine does not look at a parameter, because of another one.
  bool (*is_unused)(const Json &parameters, const std::string &name) = nullptr;
  const char *why_unused = nullptr;
  // What depends on several parameters.
  void (*finish)(const Json &parameters, Request *request) = nullptr;
};

Engine llama_cpp();
Engine ollama();
Engine koboldcpp();
Engine vllm();
Engine vllm_v2();
Engine sglang();
Engine tensorrt_llm();
Engine hugging_face();
Engine flashinfer();
Engine hf_vllm_aligned();
Engine nano_vllm();

// ---- What several engines have ------------------------------------------------------------------

const Parameters &filter_parameters();   // temperature, top_k, top_p
const Parameters &penalty_parameters();  // repetition_, frequency_, presence_penalty
const Names &request_names();            // of any server's body: the prompt, the transport

template <class Container>
Container join(const std::vector<Container> &parts) {
  Container all;
  for (const Container &part : parts) all.insert(part.begin(), part.end());
  return all;
}

// Null where there is none, or a null.
inline const Json *find(const Json &parameters, const char *name) {
  const auto found = parameters.find(name);
  return found == parameters.end() || found->is_null() ? nullptr : &*found;
}

// Null, false, or empty.
inline bool says_nothing(const Json &value) {
  return value.is_null() || value == false || value == "" ||
         ((value.is_array() || value.is_object()) && value.empty());
}

// Ranges that several engines have.
inline bool is_at_least_0(double x) {
  return x >= 0;
}
inline bool is_above_0(double x) {
  return x > 0;
}
inline bool is_share(double x) {
  return x >= 0 && x <= 1;
}
inline bool is_share_above_0(double x) {
  return x > 0 && x <= 1;
}
inline bool is_within_2(double x) {
  return x >= -2 && x <= 2;
}

// ---- Lists of samplers --------------------------------------------------------------------------

// What turns on a sampler that a list may leave out.
struct Switch {
  const char *name;     // the parameter
  const char *sampler;  // what a list calls it
  sampler_stage stage;
  float sampler_params::*number;          // or
  std::int32_t sampler_params::*integer;  // this one
  bool (*is_on)(double);
  double off;
};

// Whether the parameters turn it on, by another value than the default.
bool is_turned_on(const Switch &one, const Json &parameters, const sampler_params &params,
                  const sampler_params &defaults);

void turn_off(const Switch &one, sampler_params *params);

bool lists(const sampler_params &params, sampler_stage stage);

}  // namespace engine_parameters

#endif  // ENGINE_TABLE_H_
