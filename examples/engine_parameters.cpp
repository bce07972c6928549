#include "engine_parameters.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "engine_own.h"
#include "engine_values.h"

namespace engine_parameters {
namespace {

// ---- Hugging Face -------------------------------------------------------------------------------

// [[[id], bias]].
void add_sequence_biases(const Value &value, Request *request) {
  if (!value.json.is_array()) value.fail("pairs of a list with one token id and a number");
  for (const Json &pair : value.json) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_array() || pair[0].size() != 1) {
      value.fail("pairs of a list with one token id and a number; longer lists are not supported");
    }
    add_bias(value, pair[0][0], pair[1], request);
  }
}

void set_min_length(const Value &value, Request *request) {
  request->min_length = value.integer();
}

void require_one_beam(const Value &value, Request *) {
  if (value.integer() != 1) value.fail("1: beams are sampler_beam_search's");
}

// ---- llama.cpp ----------------------------------------------------------------------------------

void set_penalty_window(const Value &value, Request *request) {
  const std::int32_t window = value.integer();
  request->params.penalty_window = std::max(window, 0);  // -1: all
}

// 0 where llama.cpp means 0, which is a default of the library's.
void set_allowed_length(const Value &value, Request *request) {
  const std::int32_t length = value.integer();
  request->params.dry_allowed_length = length > 0 ? length : -1;
}
void set_xtc_threshold(const Value &value, Request *request) {
  const float threshold = value.number();
  request->params.xtc_threshold = threshold > 0.0f ? threshold : -1.0f;
}
void set_exponent(const Value &value, Request *request) {
  const float exponent = value.number();
  request->params.dynamic_temperature_exponent = exponent != 0.0f ? exponent : -1.0f;
}
void set_dry_window(const Value &value, Request *request) {
  request->params.dry_window = std::max(value.integer(), 0);  // -1: all
}

void check_mirostat(const Value &value, Request *) {
  if (value.integer() < 0 || value.integer() > 2) value.fail("0, 1 or 2");
}
void check_number(const Value &value, Request *) {
  value.number();
}

// The order of stages. One that is not named is off.
void set_samplers(const Value &value, Request *request) {
  static const std::map<std::string, sampler_stage> stages = {
      {"penalties", SAMPLER_STAGE_PENALTIES},
      {"dry", SAMPLER_STAGE_DRY},
      {"top_n_sigma", SAMPLER_STAGE_TOP_N_SIGMA},
      {"top_k", SAMPLER_STAGE_TOP_K},
      {"typ_p", SAMPLER_STAGE_TYPICAL_P},
      {"top_p", SAMPLER_STAGE_TOP_P},
      {"min_p", SAMPLER_STAGE_MIN_P},
      {"xtc", SAMPLER_STAGE_XTC},
      {"temperature", SAMPLER_STAGE_TEMPERATURE}};
  // Whatever its place, it is the last one.
  static const std::string adaptive = "adaptive_p";
  if (!value.json.is_array()) value.fail("a list of names");
  sampler_stage order[SAMPLER_MAX_STAGES] = {SAMPLER_STAGE_BIAS, SAMPLER_STAGE_MASK};
  std::size_t count = 2;
  bool is_adaptive = false;
  for (const Json &name : value.json) {
    if (name == "infill") {
      value.fail("without \"infill\", which looks at the texts of tokens");
    }
    if (name == adaptive && !is_adaptive) {
      is_adaptive = true;
      continue;
    }
    const auto stage = name.is_string() ? stages.find(name.get<std::string>()) : stages.end();
    if (stage == stages.end() || std::count(order, order + count, stage->second) > 0) {
      value.fail("a list of names, each once: " + name.dump() + " is not one of them");
    }
    order[count++] = stage->second;
  }
  if (is_adaptive) {
    order[count] = SAMPLER_STAGE_ADAPTIVE;
    request->params.adaptive_kind = SAMPLER_ADAPTIVE_P;
  }
  std::copy(std::begin(order), std::end(order), request->params.stages);
}

// ---- TensorRT-LLM -------------------------------------------------------------------------------

void set_reset_id(const Value &value, Request *request) {
  const std::int32_t id = value.integer();
  if (id >= 0) request->top_p_reset_token_id = id;  // -1: none
}

// ---- What depends on several parameters ---------------------------------------------------------

using Finish = void (*)(const Json &, Request *);

const Json *find(const Json &parameters, const char *name) {
  const auto found = parameters.find(name);
  return found == parameters.end() || found->is_null() ? nullptr : &*found;
}

// What turns on a sampler that may be left out, and what it is then.
struct Switch {
  const char *name, *sampler;
  sampler_stage stage;
  bool (*is_on)(const sampler_params &);
  void (*turn_off)(sampler_params *);
};
const Switch kSwitches[] = {
    {"repeat_penalty", "penalties", SAMPLER_STAGE_PENALTIES,
     [](const sampler_params &p) { return p.repetition_penalty != 0 && p.repetition_penalty != 1; },
     [](sampler_params *p) { p->repetition_penalty = 0; }},
    {"frequency_penalty", "penalties", SAMPLER_STAGE_PENALTIES,
     [](const sampler_params &p) { return p.frequency_penalty != 0; },
     [](sampler_params *p) { p->frequency_penalty = 0; }},
    {"presence_penalty", "penalties", SAMPLER_STAGE_PENALTIES,
     [](const sampler_params &p) { return p.presence_penalty != 0; },
     [](sampler_params *p) { p->presence_penalty = 0; }},
    {"dry_multiplier", "dry", SAMPLER_STAGE_DRY,
     [](const sampler_params &p) { return p.dry_multiplier > 0; },
     [](sampler_params *p) { p->dry_multiplier = 0; }},
    {"top_n_sigma", "top_n_sigma", SAMPLER_STAGE_TOP_N_SIGMA,
     [](const sampler_params &p) { return p.top_n_sigma > 0; },
     [](sampler_params *p) { p->top_n_sigma = 0; }},
    {"top_k", "top_k", SAMPLER_STAGE_TOP_K, [](const sampler_params &p) { return p.top_k > 0; },
     [](sampler_params *p) { p->top_k = 0; }},
    {"typical_p", "typ_p", SAMPLER_STAGE_TYPICAL_P,
     [](const sampler_params &p) { return p.typical_p > 0 && p.typical_p < 1; },
     [](sampler_params *p) { p->typical_p = 0; }},
    {"top_p", "top_p", SAMPLER_STAGE_TOP_P, [](const sampler_params &p) { return p.top_p < 1; },
     [](sampler_params *p) { p->top_p = 1; }},
    {"min_p", "min_p", SAMPLER_STAGE_MIN_P, [](const sampler_params &p) { return p.min_p > 0; },
     [](sampler_params *p) { p->min_p = 0; }},
    {"xtc_probability", "xtc", SAMPLER_STAGE_XTC,
     [](const sampler_params &p) { return p.xtc_probability > 0; },
     [](sampler_params *p) { p->xtc_probability = 0; }},
    {"temperature", "temperature", SAMPLER_STAGE_TEMPERATURE,
     [](const sampler_params &p) { return p.temperature != 1; },
     [](sampler_params *p) { p->temperature = 1; }},
    {"dynatemp_range", "temperature", SAMPLER_STAGE_TEMPERATURE,
     [](const sampler_params &p) { return p.dynamic_temperature_range != 0; },
     [](sampler_params *p) { p->dynamic_temperature_range = 0; }}};

// A sampler that the order lacks is off. Who has turned it on is told so.
void turn_off_unlisted(const Json &parameters, Request *request) {
  sampler_params &params = request->params;
  const bool is_mirostat = params.adaptive_kind == SAMPLER_ADAPTIVE_MIROSTAT_V1 ||
                           params.adaptive_kind == SAMPLER_ADAPTIVE_MIROSTAT_V2;
  for (const Switch &one : kSwitches) {
    const bool is_listed =
        std::count(std::begin(params.stages), std::end(params.stages), one.stage) > 0;
    const bool is_static = std::string(one.name) != "dynatemp_range";
    if (is_listed && (is_static || !is_mirostat)) continue;
    if (find(parameters, one.name) && one.is_on(params)) {
      throw Error(std::string(one.name) + " is set, and " +
                  (is_mirostat ? "mirostat has no such sampler beside it"
                               : "\"samplers\" does not list \"" + std::string(one.sampler) + '"'));
    }
    one.turn_off(&params);
  }
}

// Mirostat stands in place of all samplers but the temperature; adaptive-p is on where `samplers`
// has it.
void set_adaptive(const Json &parameters, Request *request) {
  sampler_params &params = request->params;
  const auto number = [&](const char *name, float otherwise) {
    const Json *const value = find(parameters, name);
    return value ? Value{name, *value}.number() : otherwise;
  };
  const Json *const mirostat = find(parameters, "mirostat");
  if (mirostat && *mirostat != 0) {
    if (find(parameters, "samplers"))
      throw Error("samplers is set, and mirostat takes their place");
    const sampler_stage order[SAMPLER_MAX_STAGES] = {
        SAMPLER_STAGE_BIAS, SAMPLER_STAGE_MASK, SAMPLER_STAGE_TEMPERATURE, SAMPLER_STAGE_ADAPTIVE};
    std::copy(std::begin(order), std::end(order), params.stages);
    params.adaptive_kind =
        *mirostat == 1 ? SAMPLER_ADAPTIVE_MIROSTAT_V1 : SAMPLER_ADAPTIVE_MIROSTAT_V2;
    // 0, where llama.cpp means 0, is a default of the library's.
    const float tau = number("mirostat_tau", 5.0f), eta = number("mirostat_eta", 0.1f);
    params.adaptive_target = tau > 0.0f ? tau : 1e-30f;
    params.adaptive_rate = eta > 0.0f ? eta : -1.0f;
    return;
  }
  const float target = number("adaptive_target", -1.0f);
  if (params.adaptive_kind == SAMPLER_ADAPTIVE_P) {
    params.adaptive_target = target;
    const float decay = number("adaptive_decay", 0.9f);
    params.adaptive_rate = decay > 0.0f ? decay : -1.0f;  // 0 is a default of the library's
  } else if (target >= 0.0f) {
    throw Error("adaptive_target is set, and \"samplers\" does not list \"adaptive_p\"");
  }
}

void finish_llama(const Json &parameters, Request *request) {
  sampler_params &params = request->params;
  const auto is_zero = [&](const char *name) {
    const Json *const value = find(parameters, name);
    return value && *value == 0;
  };
  if (is_zero("repeat_last_n")) {
    params.repetition_penalty = params.frequency_penalty = params.presence_penalty = 0.0f;
  }
  const Json *const base = find(parameters, "dry_base");
  if (is_zero("dry_penalty_last_n") || (base && *base < 1)) params.dry_multiplier = 0.0f;
  set_adaptive(parameters, request);
  turn_off_unlisted(parameters, request);
}

// What vLLM's SamplingParams refuses.
void check_vllm(const Json &parameters) {
  struct Rule {
    const char *name;
    bool (*holds)(double);
    const char *rule;
  };
  const Rule rules[] = {
      {"temperature", [](double x) { return x >= 0; }, "at least 0"},
      {"top_k", [](double x) { return x >= -1; }, "0 or -1, which are off, or at least 1"},
      {"top_p", [](double x) { return x > 0 && x <= 1; }, "in (0, 1]"},
      {"min_p", [](double x) { return x >= 0 && x <= 1; }, "in [0, 1]"},
      {"repetition_penalty", [](double x) { return x > 0; }, "above 0"},
      {"frequency_penalty", [](double x) { return x >= -2 && x <= 2; }, "in [-2, 2]"},
      {"presence_penalty", [](double x) { return x >= -2 && x <= 2; }, "in [-2, 2]"},
      {"min_tokens", [](double x) { return x >= 0; }, "at least 0"},
      {"max_tokens", [](double x) { return x >= 1; }, "at least 1"}};
  for (const Rule &one : rules) {
    const Json *const value = find(parameters, one.name);
    if (value && !one.holds(value->get<double>())) {
      Value{one.name, *value}.fail(one.rule + std::string(", as vLLM has it"));
    }
  }
}

// Biases are clamped, and low temperatures raised, as vLLM does.
void finish_vllm(const Json &parameters, Request *request) {
  check_vllm(parameters);
  const Json *const longest = find(parameters, "max_tokens");
  const Json *const least = find(parameters, "min_tokens");
  if (longest && least && *least > *longest) {
    Value{"min_tokens", *least}.fail("at most max_tokens, " + longest->dump() + ", as vLLM has it");
  }
  for (float &bias : request->biases) bias = std::min(100.0f, std::max(-100.0f, bias));
  float &temperature = request->params.temperature;
  if (temperature > 0.0f) temperature = std::max(0.01f, temperature);
}

// Its second runner has room for so much of a request.
void finish_vllm_v2(const Json &parameters, Request *request) {
  finish_vllm(parameters, request);
  const auto check = [](const char *name, std::size_t number, std::size_t most,
                        const char *of_what) {
    if (number > most) {
      throw Error(std::string(name) + " has " + std::to_string(number) + of_what +
                  "; it must have at most " + std::to_string(most) +
                  ", as vLLM's second runner has it");
    }
  };
  std::size_t num_word_tokens = 0;
  for (const Ids &word : request->bad_words) num_word_tokens += word.size();
  check("allowed_token_ids", request->allowed.size(), 1024, " tokens");
  check("logit_bias", request->biased.size(), 1024, " tokens");
  check("bad_words_token_ids", request->bad_words.size(), 128, " words");
  check("bad_words_token_ids", num_word_tokens, 1024, " tokens");
  if (request->params.min_new_tokens > 0) {
    check("stop_token_ids", request->stop.size(), 128, " tokens");
  }
}

// Greedy where nothing asks for sampling, and where a filter leaves one token.
void finish_tensorrt(const Json &parameters, Request *request) {
  const auto equals = [&](const char *name, int number) {
    const Json *const value = find(parameters, name);
    return value && *value == number;
  };
  const bool is_set = find(parameters, "temperature") || find(parameters, "top_k") ||
                      find(parameters, "top_p") || find(parameters, "min_p");
  if (!is_set || equals("top_p", 0) || equals("top_k", 1) || equals("min_p", 1)) {
    request->params.temperature = 0.0f;
  }
}

void finish_hugging_face(const Json &parameters, Request *request) {
  const Json *const samples = find(parameters, "do_sample");
  if (!samples || !*samples) request->params.temperature = 0.0f;
  request->may_lack_end = true;
  // An end token is no bad word.
  const Ids &stop = request->stop;
  const auto is_stop = [&](const Ids &word) {
    return word.size() == 1 && std::find(stop.begin(), stop.end(), word[0]) != stop.end();
  };
  auto &words = request->bad_words;
  words.erase(std::remove_if(words.begin(), words.end(), is_stop), words.end());
}

void finish_flashinfer(const Json &parameters, Request *request) {
  const Json *const order = find(parameters, "filter_apply_order");
  if (!order || *order == "top_k_first") return;
  if (*order != "joint") {
    throw Error("filter_apply_order is " + order->dump() +
                "; it must be \"top_k_first\" or \"joint\"");
  }
  request->params.filter_order = SAMPLER_FILTERS_JOINT;
}

void finish_nano_vllm(const Json &, Request *request) {
  request->draw_method = SAMPLER_DRAW_GUMBEL;
}

// ---- Engines ------------------------------------------------------------------------------------

using P = sampler_params;
using Parameters = std::map<std::string, Reader>;

struct Engine {
  Parameters parameters;
  Finish finish;
};

const char kOwnNames[] = "sampler";
const Parameters kFilters = {{"temperature", set_number<&P::temperature>},
                             {"top_k", set_integer<&P::top_k>},
                             {"top_p", set_number<&P::top_p>}};
const Parameters kPenalties = {{"repetition_penalty", set_number<&P::repetition_penalty>},
                               {"frequency_penalty", set_number<&P::frequency_penalty>},
                               {"presence_penalty", set_number<&P::presence_penalty>}};
const Parameters kMinP = {{"min_p", set_number<&P::min_p>}};
const Parameters kLlama = {{"repeat_penalty", set_number<&P::repetition_penalty>},
                           {"repeat_last_n", set_penalty_window},
                           {"typical_p", set_number<&P::typical_p>},
                           {"top_n_sigma", set_number<&P::top_n_sigma>},
                           {"xtc_probability", set_number<&P::xtc_probability>},
                           {"xtc_threshold", set_xtc_threshold},
                           {"dynatemp_range", set_number<&P::dynamic_temperature_range>},
                           {"dynatemp_exponent", set_exponent},
                           {"dry_multiplier", set_number<&P::dry_multiplier>},
                           {"dry_base", set_number<&P::dry_base>},
                           {"dry_allowed_length", set_allowed_length},
                           {"dry_penalty_last_n", set_dry_window},
                           {"dry_sequence_breakers", set_words<&Request::dry_breakers>},
                           {"min_keep", set_integer<&P::min_keep>},
                           {"logit_bias", add_biases},
                           {"samplers", set_samplers},
                           {"mirostat", check_mirostat},
                           {"mirostat_tau", check_number},
                           {"mirostat_eta", check_number},
                           {"adaptive_target", check_number},
                           {"adaptive_decay", check_number},
                           {"seed", set_seed},
                           {"n_predict", set_length}};
const Parameters kVllm = {{"seed", set_seed},
                          {"logit_bias", add_biases},
                          {"allowed_token_ids", add_ids<&Request::allowed>},
                          {"bad_words_token_ids", set_words<&Request::bad_words>},
                          {"min_tokens", set_integer<&P::min_new_tokens>},
                          {"max_tokens", set_length},
                          {"ignore_eos", set_ignore_eos},
                          {"stop_token_ids", add_ids<&Request::stop>}};
const Parameters kSglang = {{"sampling_seed", set_seed},
                            {"logit_bias", add_biases},
                            {"min_new_tokens", set_integer<&P::min_new_tokens>},
                            {"max_new_tokens", set_length},
                            {"ignore_eos", set_ignore_eos},
                            {"stop_token_ids", add_ids<&Request::stop>}};
const Parameters kTensorrt = {{"seed", set_seed},
                              {"no_repeat_ngram_size", set_integer<&P::no_repeat_ngram_size>},
                              {"embedding_bias", set_dense_bias},
                              {"bad_token_ids", add_ids<&Request::banned>},
                              {"min_tokens", set_integer<&P::min_new_tokens>},
                              {"end_id", add_ids<&Request::stop>},
                              {"pad_id", ignore},
                              {"top_p_decay", set_number<&P::top_p_decay>},
                              {"top_p_min", set_number<&P::top_p_least>},
                              {"top_p_reset_ids", set_reset_id},
                              {"max_tokens", set_length}};
const Parameters kHuggingFace = {{"do_sample", [](const Value &value, Request *) { value.flag(); }},
                                 {"repetition_penalty", set_number<&P::repetition_penalty>},
                                 {"typical_p", set_number<&P::typical_p>},
                                 {"epsilon_cutoff", set_number<&P::epsilon_cutoff>},
                                 {"eta_cutoff", set_number<&P::eta_cutoff>},
                                 {"top_h", set_number<&P::top_h>},
                                 {"no_repeat_ngram_size", set_integer<&P::no_repeat_ngram_size>},
                                 {"bad_words_ids", set_words<&Request::bad_words>},
                                 {"suppress_tokens", add_ids<&Request::banned>},
                                 {"sequence_bias", add_sequence_biases},
                                 {"eos_token_id", add_ids<&Request::stop>},
                                 {"min_new_tokens", set_integer<&P::min_new_tokens>},
                                 {"min_length", set_min_length},
                                 {"max_new_tokens", set_length},
                                 {"num_beams", require_one_beam},
                                 {"renormalize_logits", ignore},
                                 {"bos_token_id", ignore},
                                 {"pad_token_id", ignore},
                                 {"transformers_version", ignore},
                                 {"_from_model_config", ignore}};
const Parameters kNano = {{"temperature", set_number<&P::temperature>},
                          {"max_tokens", set_length},
                          {"ignore_eos", set_ignore_eos}};
const Parameters kFlashinfer = {{"filter_apply_order", ignore}, {"seed", set_seed}};

Parameters join(const std::vector<Parameters> &parts) {
  Parameters all;
  for (const Parameters &part : parts) all.insert(part.begin(), part.end());
  return all;
}

const std::map<std::string, Engine> &engines() {
  static const std::map<std::string, Engine> all = {
      {"llama.cpp", {join({kFilters, kPenalties, kMinP, kLlama}), finish_llama}},
      {"vllm", {join({kFilters, kPenalties, kMinP, kVllm}), finish_vllm}},
      {"vllm_v2", {join({kFilters, kPenalties, kMinP, kVllm}), finish_vllm_v2}},
      {"sglang", {join({kFilters, kPenalties, kMinP, kSglang}), nullptr}},
      {"tensorrt_llm", {join({kFilters, kPenalties, kMinP, kTensorrt}), finish_tensorrt}},
      {"hugging_face", {join({kFilters, kMinP, kHuggingFace}), finish_hugging_face}},
      {"flashinfer", {join({kFilters, kMinP, kFlashinfer}), finish_flashinfer}},
      {"hf_vllm_aligned", {join({kFilters, {{"seed", set_seed}}}), nullptr}},
      {"nano_vllm", {kNano, finish_nano_vllm}},
      {kOwnNames, {own_parameters(), nullptr}}};
  return all;
}

}  // namespace

std::string preset_error(const std::string &name) {
  sampler_params params;
  if (name == kOwnNames ||
      sampler_params_preset(&params, sizeof params, name.c_str()) == SAMPLER_OK) {
    return "";
  }
  std::string names = kOwnNames;
  for (std::int32_t i = 0; const char *known = sampler_preset_name(i); ++i) {
    names += ", " + std::string(known);
  }
  return Json(name).dump(-1, ' ', true, Json::error_handler_t::replace) +
         " is given; it must be one of " + names + "; the version may be left out";
}

Request read(const std::string &preset, const Json &parameters) {
  Request request = read_before_end(preset, parameters);
  end_at({}, &request);
  return request;
}

Request read_before_end(const std::string &preset, const Json &parameters) {
  const std::string wrong = preset_error(preset);
  if (!wrong.empty()) throw Error("the preset: " + wrong);
  Request request;
  request.params = sampler_params_default();
  if (preset != kOwnNames) {
    sampler_params_preset(&request.params, sizeof request.params, preset.c_str());
  }
  if (!parameters.is_object()) throw Error("the parameters must be a JSON object");
  const std::string name = preset.substr(0, preset.find('@'));
  const Engine &engine = engines().at(name);
  for (const auto &[key, json] : parameters.items()) {
    const auto found = engine.parameters.find(key);
    if (found == engine.parameters.end()) {
      throw Error(key + " is no parameter of " + name + " that this program knows");
    }
    if (!json.is_null()) found->second({key, json}, &request);
  }
  if (engine.finish) engine.finish(parameters, &request);
  return request;
}

void end_at(const Ids &tokens, Request *request) {
  request->stop.insert(request->stop.end(), tokens.begin(), tokens.end());
  if (!request->stop.empty()) return;
  if (request->params.min_new_tokens > 0 && !request->may_lack_end && !request->ignores_end) {
    throw Error("a least number of new tokens is set, and no token that ends a text");
  }
  request->params.min_new_tokens = request->min_length = 0;
}

}  // namespace engine_parameters
