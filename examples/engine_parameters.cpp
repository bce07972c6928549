#include "engine_parameters.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "engine_own.h"
#include "engine_table.h"

namespace engine_parameters {
namespace {

constexpr char kOwnNames[] = "sampler";

Engine own() {
  Engine engine;
  engine.title = "the library";
  engine.base = "";
  engine.parameters = own_parameters();
  return engine;
}

const std::map<std::string, Engine> &engines() {
  static const std::map<std::string, Engine> all = {{"llama.cpp", llama_cpp()},
                                                    {"vllm", vllm()},
                                                    {"vllm_v2", vllm_v2()},
                                                    {"sglang", sglang()},
                                                    {"tensorrt_llm", tensorrt_llm()},
                                                    {"hugging_face", hugging_face()},
                                                    {"flashinfer", flashinfer()},
                                                    {"hf_vllm_aligned", hf_vllm_aligned()},
                                                    {"nano_vllm", nano_vllm()},
                                                    {"koboldcpp", koboldcpp()},
                                                    {"ollama", ollama()},
                                                    {kOwnNames, own()}};
  return all;
}

bool is_preset_of_library(const std::string &name) {
  sampler_params params;
  return sampler_params_preset(&params, sizeof params, name.c_str()) == SAMPLER_OK;
}

// A user's name on one line, as JSON escapes it.
std::string escaped(const std::string &name) {
  const std::string quoted = Json(name).dump(-1, ' ', true, Json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2);
}

std::string joined(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// Those of a request's body stand beside those of the member that it has for them.
Json flat(const Json &parameters, const Engine &engine) {
  const Json *const nested = engine.nested ? find(parameters, engine.nested) : nullptr;
  if (!nested) return parameters;
  if (!nested->is_object()) Value{engine.nested, *nested}.fail("an object");
  Json all = parameters;
  all.erase(engine.nested);
  for (const auto &[name, value] : nested->items()) {
    if (find(all, name.c_str())) {
      throw Error(escaped(name) + " stands twice: in " + engine.nested + " and beside it");
    }
    all[name] = value;
  }
  return all;
}

// Sorts parameters by what is to be done with them.
class Reading {
 public:
  Reading(const std::string &preset, const Engine &engine, const Json &parameters)
      : preset_(preset), engine_(engine), parameters_(parameters) {
    for (const auto &[name, value] : parameters.items()) {
      if (!value.is_null()) sort(name, value);
    }
  }

  // Reports all that are not known, or that cannot be done, at once.
  void check() const {
    std::string errors;
    if (!unknown_.empty()) {
      errors = joined(unknown_) +
               (unknown_.size() == 1 ? " is no parameter of " : " are no parameters of ") +
               preset_ + " that this program knows";
    }
    for (const std::string &one : undone_) errors += (errors.empty() ? "" : "; ") + one;
    if (!errors.empty()) throw Error(errors);
  }

  void read(Request *request) const {
    for (const std::string &name : known_) {
      const Value value = {name, parameters_[name]};
      engine_.parameters.at(name)(value, request);
      for (const Range &range : engine_.ranges) {
        if (range.name == name && !range.holds(value.json.get<double>())) {
          value.fail(range.rule + std::string(", as ") + engine_.title + " has it");
        }
      }
    }
    // Their values mean nothing, but are of the right type.
    Request nowhere = *request;
    for (const std::string &name : unused_) {
      engine_.parameters.at(name)({name, parameters_[name]}, &nowhere);
    }
    add_note("not about sampling, and passed over: ", ignored_, request);
    if (!unused_.empty()) {
      add_note(std::string(engine_.why_unused) + ", and passed over: ", unused_, request);
    }
    add_note("not known, and passed over as empty: ", empty_, request);
  }

 private:
  using Strings = std::vector<std::string>;

  void sort(const std::string &name, const Json &value) {
    const auto undone = engine_.undone.find(name);
    if (engine_.is_unused && engine_.is_unused(parameters_, name)) {
      unused_.push_back(name);
    } else if (engine_.parameters.count(name) > 0) {
      known_.push_back(name);
    } else if (undone != engine_.undone.end()) {
      const std::vector<Json> &neutral = undone->second.neutral;
      if (says_nothing(value)) return;
      if (std::find(neutral.begin(), neutral.end(), value) != neutral.end()) return;
      undone_.push_back(Value{name, value}.what_is_wrong(undone->second.rule));
    } else if (engine_.ignored.count(name) > 0) {
      if (!says_nothing(value)) ignored_.push_back(name);
    } else {
      (says_nothing(value) ? empty_ : unknown_).push_back(escaped(name));
    }
  }

  static void add_note(const std::string &what, const Strings &names, Request *request) {
    if (!names.empty()) request->notes.push_back(what + joined(names));
  }

  const std::string &preset_;
  const Engine &engine_;
  const Json &parameters_;
  Strings known_, unknown_, undone_, ignored_, unused_, empty_;
};

}  // namespace

bool is_turned_on(const Switch &one, const Json &parameters, const sampler_params &params,
                  const sampler_params &defaults) {
  const auto value = [&](const sampler_params &p) {
    return one.number ? static_cast<double>(p.*one.number) : static_cast<double>(p.*one.integer);
  };
  return find(parameters, one.name) && one.is_on(value(params)) && value(params) != value(defaults);
}

void turn_off(const Switch &one, sampler_params *params) {
  if (one.number) {
    params->*one.number = static_cast<float>(one.off);
  } else {
    params->*one.integer = static_cast<std::int32_t>(one.off);
  }
}

bool lists(const sampler_params &params, sampler_stage stage) {
  return std::count(std::begin(params.stages), std::end(params.stages), stage) > 0;
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names = {kOwnNames};
  for (std::int32_t i = 0; const char *name = sampler_preset_name(i); ++i) names.emplace_back(name);
  for (const auto &[name, engine] : engines()) {
    if (name != kOwnNames && !is_preset_of_library(name)) names.push_back(name);
  }
  return names;
}

std::string preset_error(const std::string &name) {
  const std::vector<std::string> names = preset_names();
  if (is_preset_of_library(name) || std::count(names.begin(), names.end(), name) > 0) return "";
  return Json(name).dump(-1, ' ', true, Json::error_handler_t::replace) +
         " is given; it must be one of " + joined(names) + "; the version may be left out";
}

Request read(const std::string &preset, const Json &parameters) {
  Request request = read_before_end(preset, parameters);
  end_at({}, &request);
  return request;
}

Request read_before_end(const std::string &preset, const Json &parameters) {
  const std::string wrong = preset_error(preset);
  if (!wrong.empty()) throw Error("the preset: " + wrong);
  if (!parameters.is_object()) throw Error("the parameters must be a JSON object");
  const std::string name = preset.substr(0, preset.find('@'));
  const Engine &engine = engines().at(name);
  Request request;
  request.params = sampler_params_default();
  // A version is the library's.
  const std::string base = is_preset_of_library(preset) ? preset : engine.base;
  if (!base.empty()) sampler_params_preset(&request.params, sizeof request.params, base.c_str());
  if (engine.start) engine.start(&request.params);
  const Json all = flat(parameters, engine);
  const Reading reading(name, engine, all);
  reading.check();
  reading.read(&request);
  if (engine.finish) engine.finish(all, &request);
  return request;
}

void end_at(const Ids &tokens, Request *request) {
  request->stop.insert(request->stop.end(), tokens.begin(), tokens.end());
  if (!request->stop.empty()) return;
  if (request->params.min_new_tokens > 0 && !request->may_lack_end && !request->ignores_end) {
    throw Error("a least number of new tokens is set, and no token that ends a text");
  }
  request->params.min_new_tokens = request->min_length = 0;
  request->params.exponential_decay_factor = 0.0f;
}

void check_vocabulary(const Request &request, std::int64_t size) {
  for (const NamedIds &list : request.of_vocabulary) {
    for (const std::int32_t id : list.ids) {
      if (id >= 0 && id < size) continue;
      throw Error(list.name + " has token " + std::to_string(id) +
                  "; it must be of the vocabulary, [0, " + std::to_string(size) + ")" + list.why);
    }
  }
}

void draw_random_seed(Request *request) {
  if (!request->has_random_seed) return;
  // 31 bits, not 0: every engine takes it as a seed.
  request->seed = std::random_device()() % 0x7fffffffu + 1;
  request->notes.push_back("the seed is a random one: " + std::to_string(*request->seed));
}

}  // namespace engine_parameters
