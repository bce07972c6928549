// The body of a request to llama.cpp's server, and to Ollama, which runs that server.
#include <algorithm>
#include <cctype>

#include "engine_breakers.h"
#include "engine_table.h"

namespace engine_parameters {
namespace {

using P = sampler_params;

void set_penalty_window(const Value &value, Request *request) {
  request->params.penalty_window = std::max(value.integer(), 0);  // -1: all
}

// 0 where llama.cpp means 0, which is a default of the library's.
void set_allowed_length(const Value &value, Request *request) {
  const std::int32_t length = value.integer();
  request->params.dry_allowed_length = length > 0 ? length : -1;
}
void set_xtc_threshold(const Value &value, Request *request) {
  const float threshold = std::min(value.number(), 1.0f);
  request->params.xtc_threshold = threshold > 0.0f ? threshold : -1.0f;
}
void set_exponent(const Value &value, Request *request) {
  const float exponent = value.number();
  request->params.dynamic_temperature_exponent = exponent != 0.0f ? exponent : -1.0f;
}
void set_dry_window(const Value &value, Request *request) {
  request->params.dry_window = std::max(value.integer(), 0);  // -1: all
}
// One below 1 is the server's default.
void set_dry_base(const Value &value, Request *request) {
  const float base = value.number();
  request->params.dry_base = base < 1.0f ? 0.0f : base;
}

// llama.cpp's seeds have 32 bits, and the last one is a random one, as -1 is.
void set_llama_seed(const Value &value, Request *request) {
  set_seed_or_random(value, request);
  if (request->seed == 0xffffffffu) {
    request->seed.reset();
    request->has_random_seed = true;
  }
}

void set_ban_of_end(const Value &value, Request *request) {
  request->bans_end = value.flag();
}

void check_mirostat(const Value &value, Request *) {
  if (value.integer() < 0 || value.integer() > 2) value.fail("0, 1 or 2");
}
void check_number(const Value &value, Request *) {
  value.number();
}

[[noreturn]] void fail_at(const Value &samplers, const Json &one) {
  samplers.fail("a list of names, each once: " + one.dump(-1, ' ', true) + " is not one of them");
}

// Names in any case, with and without "_" or "-"; or a text with a letter for each.
std::vector<std::string> names_of_samplers(const Value &value) {
  static const std::map<char, const char *> letters = {
      {'e', "penalties"}, {'d', "dry"},    {'s', "topnsigma"}, {'k', "topk"},
      {'y', "typp"},      {'p', "topp"},   {'m', "minp"},      {'x', "xtc"},
      {'t', "temp"},      {'i', "infill"}, {'a', "adaptivep"}};
  static const std::map<std::string, const char *> others = {
      {"temperature", "temp"}, {"typ", "typp"}, {"nucleus", "topp"}};
  std::vector<std::string> names;
  if (value.json.is_string()) {
    for (const char letter : value.json.get<std::string>()) {
      const auto found = letters.find(letter);
      if (found == letters.end()) {
        constexpr char kLetters[] = "made of e, d, s, k, y, p, m, x, t and a, each once";
        if (letter <= ' ' || letter > '~') value.fail(kLetters);
        value.fail(kLetters + std::string(": '") + letter + "' is not one of them");
      }
      names.emplace_back(found->second);
    }
    return names;
  }
  if (!value.json.is_array()) value.fail("a list of names");
  for (const Json &json : value.json) {
    if (!json.is_string()) fail_at(value, json);
    std::string name;
    for (const char c : json.get<std::string>()) {
      if (c != '_' && c != '-')
        name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    const auto other = others.find(name);
    names.push_back(other == others.end() ? name : other->second);
  }
  return names;
}

// The order of stages. One that is not named is off.
void set_samplers(const Value &value, Request *request) {
  static const std::map<std::string, sampler_stage> stages = {
      {"penalties", SAMPLER_STAGE_PENALTIES},
      {"dry", SAMPLER_STAGE_DRY},
      {"topnsigma", SAMPLER_STAGE_TOP_N_SIGMA},
      {"topk", SAMPLER_STAGE_TOP_K},
      {"typp", SAMPLER_STAGE_TYPICAL_P},
      {"topp", SAMPLER_STAGE_TOP_P},
      {"minp", SAMPLER_STAGE_MIN_P},
      {"xtc", SAMPLER_STAGE_XTC},
      {"temp", SAMPLER_STAGE_TEMPERATURE}};
  sampler_stage order[SAMPLER_MAX_STAGES] = {SAMPLER_STAGE_BIAS, SAMPLER_STAGE_MASK};
  std::size_t count = 2, place = 0;
  bool is_adaptive = false;
  for (const std::string &name : names_of_samplers(value)) {
    const Json &json = value.json.is_array() ? value.json[place++] : value.json;
    if (name == "infill") {
      value.fail("without \"infill\", which looks at the texts of tokens");
    }
    // Whatever its place, it is the last one.
    if (name == "adaptivep" && !is_adaptive) {
      is_adaptive = true;
      continue;
    }
    const auto stage = stages.find(name);
    if (stage == stages.end() || std::count(order, order + count, stage->second) > 0) {
      fail_at(value, json);
    }
    order[count++] = stage->second;
  }
  if (is_adaptive) {
    order[count] = SAMPLER_STAGE_ADAPTIVE;
    request->params.adaptive_kind = SAMPLER_ADAPTIVE_P;
  }
  std::copy(std::begin(order), std::end(order), request->params.stages);
}

const std::vector<Switch> &switches() {
  const auto is_repetition = [](double x) { return x != 0 && x != 1; };
  const auto is_set = [](double x) { return x != 0; };
  const auto is_fraction = [](double x) { return x > 0 && x < 1; };
  static const std::vector<Switch> all = {
      {"repeat_penalty", "penalties", SAMPLER_STAGE_PENALTIES, &P::repetition_penalty, nullptr,
       is_repetition, 0},
      {"frequency_penalty", "penalties", SAMPLER_STAGE_PENALTIES, &P::frequency_penalty, nullptr,
       is_set, 0},
      {"presence_penalty", "penalties", SAMPLER_STAGE_PENALTIES, &P::presence_penalty, nullptr,
       is_set, 0},
      {"dry_multiplier", "dry", SAMPLER_STAGE_DRY, &P::dry_multiplier, nullptr, is_above_0, 0},
      {"top_n_sigma", "top_n_sigma", SAMPLER_STAGE_TOP_N_SIGMA, &P::top_n_sigma, nullptr,
       is_above_0, 0},
      {"top_k", "top_k", SAMPLER_STAGE_TOP_K, nullptr, &P::top_k, is_above_0, 0},
      {"typical_p", "typ_p", SAMPLER_STAGE_TYPICAL_P, &P::typical_p, nullptr, is_fraction, 0},
      {"top_p", "top_p", SAMPLER_STAGE_TOP_P, &P::top_p, nullptr, [](double x) { return x < 1; },
       1},
      {"min_p", "min_p", SAMPLER_STAGE_MIN_P, &P::min_p, nullptr, is_above_0, 0},
      {"xtc_probability", "xtc", SAMPLER_STAGE_XTC, &P::xtc_probability, nullptr, is_above_0, 0},
      {"temperature", "temperature", SAMPLER_STAGE_TEMPERATURE, &P::temperature, nullptr,
       [](double x) { return x != 1; }, 1},
      {"dynatemp_range", "temperature", SAMPLER_STAGE_TEMPERATURE, &P::dynamic_temperature_range,
       nullptr, is_set, 0}};
  return all;
}

// A sampler that the order lacks is off. A note says so to who has turned it on.
void turn_off_unlisted(const Json &parameters, Request *request) {
  sampler_params &params = request->params;
  sampler_params defaults;
  sampler_params_preset(&defaults, sizeof defaults, "llama.cpp");
  const bool is_mirostat = params.adaptive_kind == SAMPLER_ADAPTIVE_MIROSTAT_V1 ||
                           params.adaptive_kind == SAMPLER_ADAPTIVE_MIROSTAT_V2;
  for (const Switch &one : switches()) {
    const bool is_dynamic = one.number == &P::dynamic_temperature_range;
    if (lists(params, one.stage) && !(is_dynamic && is_mirostat)) continue;
    if (is_turned_on(one, parameters, params, defaults)) {
      throw Error(std::string(one.name) + " is set, and " +
                  (is_mirostat ? "mirostat has no such sampler beside it"
                               : "\"samplers\" does not list \"" + std::string(one.sampler) + '"'));
    }
    turn_off(one, &params);
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
  // The server clamps these.
  params.temperature = std::max(params.temperature, 0.0f);
  params.top_k = std::max(params.top_k, 0);
  for (float P::*const share : {&P::top_p, &P::min_p, &P::xtc_probability}) {
    params.*share = std::min(std::max(params.*share, 0.0f), 1.0f);
  }
  const auto is_zero = [&](const char *name) {
    const Json *const value = find(parameters, name);
    return value && *value == 0;
  };
  if (is_zero("repeat_last_n")) {
    params.repetition_penalty = params.frequency_penalty = params.presence_penalty = 0.0f;
  }
  if (is_zero("dry_penalty_last_n")) params.dry_multiplier = 0.0f;
  set_adaptive(parameters, request);
  turn_off_unlisted(parameters, request);
  require_tokens_of_breakers(parameters, *request);
  request->of_vocabulary = {
      {"logit_bias", request->biased, "; llama.cpp passes over it without a word"}};
}

// A typical_p of 0 is not sent, and a length of 0 or below is none.
void finish_ollama(const Json &parameters, Request *request) {
  if (request->params.typical_p == 0.0f) request->params.typical_p = 1.0f;
  if (request->max_new_tokens.value_or(-1) <= 0) request->max_new_tokens.reset();
  finish_llama(parameters, request);
}

const std::vector<Range> &penalty_ranges() {
  static const std::vector<Range> all = {
      {"repeat_last_n", [](double x) { return x >= -1; }, "-1, which is all, or at least 0"},
      {"repeat_penalty", is_above_0, "above 0"}};
  return all;
}

}  // namespace

Engine llama_cpp() {
  Engine engine;
  engine.title = "llama.cpp";
  engine.base = "llama.cpp";
  engine.nested = "generation_settings";
  engine.parameters =
      join<Parameters>({filter_parameters(),
                        penalty_parameters(),
                        {{"min_p", set_number<&P::min_p>},
                         {"repeat_penalty", set_number<&P::repetition_penalty>},
                         {"repeat_last_n", set_penalty_window},
                         {"typical_p", set_number<&P::typical_p>},
                         {"top_n_sigma", set_number<&P::top_n_sigma>},
                         {"xtc_probability", set_number<&P::xtc_probability>},
                         {"xtc_threshold", set_xtc_threshold},
                         {"dynatemp_range", set_number<&P::dynamic_temperature_range>},
                         {"dynatemp_exponent", set_exponent},
                         {"dry_multiplier", set_number<&P::dry_multiplier>},
                         {"dry_base", set_dry_base},
                         {"dry_allowed_length", set_allowed_length},
                         {"dry_penalty_last_n", set_dry_window},
                         {"dry_sequence_breakers", set_breakers},
                         {"min_keep", set_integer<&P::min_keep>},
                         {"logit_bias", add_biases},
                         {"samplers", set_samplers},
                         {"mirostat", check_mirostat},
                         {"mirostat_tau", check_number},
                         {"mirostat_eta", check_number},
                         {"adaptive_target", check_number},
                         {"adaptive_decay", check_number},
                         {"ignore_eos", set_ban_of_end},
                         {"seed", set_llama_seed},
                         {"max_completion_tokens", set_length},
                         {"max_tokens", set_length},
                         {"n_predict", set_length}}});
  const auto is_length = [](double x) { return x >= -1; };
  engine.ranges = {{"dry_penalty_last_n", is_length, "-1, which is all, or at least 0"},
                   {"dry_allowed_length", is_at_least_0, "at least 0"},
                   {"min_keep", is_at_least_0, "at least 0"},
                   {"adaptive_decay", [](double x) { return x >= 0 && x <= 0.99; }, "in [0, 0.99]"},
                   {"n_predict", is_length, "-1, which is no limit, or at least 0"},
                   {"max_tokens", is_length, "-1, which is no limit, or at least 0"},
                   {"max_completion_tokens", is_length, "-1, which is no limit, or at least 0"}};
  engine.ranges.insert(engine.ranges.end(), penalty_ranges().begin(), penalty_ranges().end());
  engine.undone = {
      {"grammar", {"left out: no grammar is made here", {}}},
      {"json_schema", {"left out: no grammar is made here", {}}},
      {"response_format", {"left out: no grammar is made here", {Json{{"type", "text"}}}}},
      {"reasoning_budget_tokens", {"left out: no thinking is told from a text here", {-1}}}};
  engine.ignored = join<Names>({request_names(),
                                {"add_generation_prompt",
                                 "backend_sampling",
                                 "cache_prompt",
                                 "chat_format",
                                 "chat_parser",
                                 "chat_template_kwargs",
                                 "continue_final_message",
                                 "generation_prompt",
                                 "grammar_lazy",
                                 "grammar_triggers",
                                 "id_slot",
                                 "image_data",
                                 "input_extra",
                                 "input_prefix",
                                 "input_suffix",
                                 "lora",
                                 "n_cache_reuse",
                                 "n_cmpl",
                                 "n_discard",
                                 "n_indent",
                                 "n_keep",
                                 "n_probs",
                                 "parse_tool_calls",
                                 "penalize_nl",
                                 "post_sampling_probs",
                                 "preserved_tokens",
                                 "reasoning_budget_end_tag",
                                 "reasoning_budget_end_tags",
                                 "reasoning_budget_message",
                                 "reasoning_budget_start_tag",
                                 "reasoning_control",
                                 "reasoning_format",
                                 "reasoning_in_content",
                                 "response_fields",
                                 "return_progress",
                                 "return_tokens",
                                 "slot_id",
                                 "speculative.n_max",
                                 "speculative.n_min",
                                 "speculative.p_min",
                                 "speculative.type",
                                 "speculative.types",
                                 "sse_ping_interval",
                                 "t_max_predict_ms",
                                 "t_max_prompt_ms",
                                 "timings_per_token",
                                 "verbose"}});
  engine.finish = finish_llama;
  return engine;
}

// Ollama as of August 2026: it gives its options to llama.cpp's server.
Engine ollama() {
  Engine engine;
  engine.title = "Ollama";
  engine.base = "llama.cpp";
  engine.nested = "options";
  engine.start = [](sampler_params *params) {
    params->top_p = 0.9f;
    params->min_p = 0.0f;
  };
  engine.parameters = join<Parameters>({filter_parameters(),
                                        {{"min_p", set_number<&P::min_p>},
                                         {"typical_p", set_number<&P::typical_p>},
                                         {"repeat_last_n", set_penalty_window},
                                         {"repeat_penalty", set_number<&P::repetition_penalty>},
                                         {"presence_penalty", set_number<&P::presence_penalty>},
                                         {"frequency_penalty", set_number<&P::frequency_penalty>},
                                         {"seed", set_llama_seed},
                                         {"num_predict", set_length}}});
  engine.ranges = penalty_ranges();
  engine.undone = {{"format", {"left out: no grammar is made here", {}}},
                   {"mirostat", {"0: Ollama has none any more", {0}}},
                   {"tfs_z", {"1: Ollama has no tail-free sampling any more", {1}}}};
  engine.ignored = join<Names>({request_names(),
                                {"context",
                                 "draft_num_predict",
                                 "embedding_only",
                                 "f16_kv",
                                 "images",
                                 "keep_alive",
                                 "logits_all",
                                 "low_vram",
                                 "main_gpu",
                                 "mirostat_eta",
                                 "mirostat_tau",
                                 "num_batch",
                                 "num_ctx",
                                 "num_gpu",
                                 "num_gqa",
                                 "num_keep",
                                 "num_thread",
                                 "numa",
                                 "penalize_newline",
                                 "raw",
                                 "rope_frequency_base",
                                 "rope_frequency_scale",
                                 "shift",
                                 "system",
                                 "template",
                                 "think",
                                 "truncate",
                                 "use_mlock",
                                 "use_mmap",
                                 "vocab_only"}});
  engine.finish = finish_ollama;
  return engine;
}

}  // namespace engine_parameters
