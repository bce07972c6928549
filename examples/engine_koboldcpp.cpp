// The body of a request to koboldcpp's /api/v1/generate. docs/coming-from.md has its rules.
#include <algorithm>
#include <sstream>
#include <unordered_map>

#include "engine_breakers.h"
#include "engine_table.h"

namespace engine_parameters {
namespace {

using P = sampler_params;

// Before its samplers it keeps this many of the likeliest tokens.
constexpr std::int32_t kMostTokens = 3000;

void set_window(const Value &value, Request *request) {
  request->params.penalty_window = std::max(value.integer(), 1);
}
void set_dry_window(const Value &value, Request *request) {
  request->params.dry_window = std::max(value.integer(), 0);  // below 1: all
}
// 0, where koboldcpp means 0, is a default of the library's.
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
  request->params.dynamic_temperature_exponent = exponent > 0.0f ? exponent : -1.0f;
}

// Below 1 it is a random one.
void set_kobold_seed(const Value &value, Request *request) {
  request->has_random_seed = value.integer() < 1;
  if (!request->has_random_seed) request->seed = value.seed();
}

void set_ban_of_end(const Value &value, Request *request) {
  request->bans_end = value.flag();
}

// A text with ids between commas, whose bias is the least one, whatever logit_bias says.
void ban_tokens(const Value &value, Request *request) {
  constexpr char kRule[] = "a text with token ids between commas";
  if (!value.json.is_string()) value.fail(kRule);
  std::unordered_map<std::int32_t, std::size_t> places;  // the first of each id
  for (std::size_t i = 0; i < request->biased.size(); ++i) places.emplace(request->biased[i], i);
  std::istringstream words(value.json.get<std::string>());
  for (std::string word; std::getline(words, word, ',');) {
    word.erase(std::remove(word.begin(), word.end(), ' '), word.end());
    const Json number = Json::parse(word, nullptr, false);
    if (!Value::is_integer(number)) value.fail(kRule);
    const auto id = number.get<std::int32_t>();
    const auto [found, is_new] = places.emplace(id, request->biased.size());
    if (is_new) {
      request->biased.push_back(id);
      request->biases.push_back(0);
    }
    request->biases[found->second] = -100.0f;
  }
}

void read_later(const Value &, Request *) {}
void check_number(const Value &value, Request *) {
  value.number();
}
void check_integer(const Value &value, Request *) {
  value.integer();
}

const std::vector<Switch> &switches() {
  const auto is_set = [](double x) { return x != 0; };
  const auto is_not_1 = [](double x) { return x != 1; };
  static const std::vector<Switch> all = {
      {"rep_pen", "6", SAMPLER_STAGE_PENALTIES, &P::repetition_penalty, nullptr,
       [](double x) { return x != 0 && x != 1; }, 0},
      {"presence_penalty", "6", SAMPLER_STAGE_PENALTIES, &P::presence_penalty, nullptr, is_set, 0},
      {"top_k", "0", SAMPLER_STAGE_TOP_K, nullptr, &P::top_k, is_above_0, 0},
      {"top_a", "1", SAMPLER_STAGE_TOP_A, &P::top_a, nullptr, is_above_0, 0},
      {"typical", "4", SAMPLER_STAGE_TYPICAL_P, &P::typical_p, nullptr,
       [](double x) { return x < 1; }, 0},
      {"top_p", "2", SAMPLER_STAGE_TOP_P, &P::top_p, nullptr, [](double x) { return x < 1; }, 1},
      {"min_p", "2", SAMPLER_STAGE_MIN_P, &P::min_p, nullptr, is_above_0, 0},
      {"temperature", "5", SAMPLER_STAGE_TEMPERATURE, &P::temperature, nullptr, is_not_1, 1},
      {"dynatemp_range", "5", SAMPLER_STAGE_TEMPERATURE, &P::dynamic_temperature_range, nullptr,
       is_set, 0},
      {"nsigma", "5", SAMPLER_STAGE_TOP_N_SIGMA, &P::top_n_sigma, nullptr, is_above_0, 0},
      {"xtc_probability", "xtc", SAMPLER_STAGE_XTC, &P::xtc_probability, nullptr, is_above_0, 0}};
  return all;
}

void set_defaults(sampler_params *params) {
  params->temperature = 0.75f;
  params->top_k = 100;
  params->top_p = 0.92f;
  params->min_p = 0.0f;
  params->penalty_window = 320;
  params->dry_window = 320;
  params->xtc_threshold = 0.2f;
}

using Order = std::vector<sampler_stage>;

// The samplers of a list of numbers; tail-free sampling, 3, is off here.
void add_samplers(const Value &list, const sampler_params &params, Order *order) {
  constexpr char kRule[] = "a list of at most 7 numbers from 0 to 6, each once";
  if (!list.json.is_array() || list.json.size() > 7) list.fail(kRule);
  const bool has_penalties = (params.repetition_penalty != 0 && params.repetition_penalty != 1) ||
                             params.presence_penalty != 0;
  std::vector<std::int32_t> seen;
  for (const Json &json : list.json) {
    const std::int32_t number = Value::is_integer(json) ? json.get<std::int32_t>() : -1;
    if (number < 0 || number > 6 || std::count(seen.begin(), seen.end(), number) > 0) {
      list.fail(kRule);
    }
    seen.push_back(number);
    switch (number) {
      case 0:
        if (std::count(order->begin(), order->end(), SAMPLER_STAGE_TOP_K) == 0) {
          order->push_back(SAMPLER_STAGE_TOP_K);
        }
        break;
      case 1:
        order->push_back(SAMPLER_STAGE_TOP_A);
        break;
      case 2:
        order->push_back(SAMPLER_STAGE_TOP_P);
        order->push_back(SAMPLER_STAGE_MIN_P);
        break;
      case 4:
        order->push_back(SAMPLER_STAGE_TYPICAL_P);
        break;
      case 5:
        order->push_back(SAMPLER_STAGE_TEMPERATURE);
        order->push_back(SAMPLER_STAGE_TOP_N_SIGMA);
        break;
      default:
        break;
    }
    if (number != 6) continue;
    const auto may_filter = [&](std::int32_t one) {
      return one != 3 && (one != 1 || params.top_a > 0);
    };
    if (has_penalties && std::any_of(seen.begin(), seen.end() - 1, may_filter)) {
      list.fail(
          "a list in which 6 comes before all filters where rep_pen or presence_penalty is "
          "on");
    }
  }
}

bool has_number(const Json &list, int number) {
  return std::any_of(list.begin(), list.end(), [&](const Json &one) { return one == number; });
}

void set_order(const Json &parameters, Request *request) {
  sampler_params &params = request->params;
  static const Json usual = {6, 0, 1, 3, 4, 2, 5};
  const Json *const given = find(parameters, "sampler_order");
  const std::string name = "sampler_order";
  const Value list = {name, given && !given->empty() ? *given : usual};
  const bool is_mirostat = params.adaptive_kind == SAMPLER_ADAPTIVE_MIROSTAT_V1 ||
                           params.adaptive_kind == SAMPLER_ADAPTIVE_MIROSTAT_V2;
  Order order = {SAMPLER_STAGE_BIAS, SAMPLER_STAGE_MASK, SAMPLER_STAGE_DRY};
  const bool has_top_k = params.top_k > 0 && !is_mirostat && has_number(list.json, 0);
  if (is_mirostat || has_number(list.json, 6)) order.push_back(SAMPLER_STAGE_PENALTIES);
  if (!has_top_k) order.push_back(SAMPLER_STAGE_TOP_K);  // of the most tokens
  if (is_mirostat) {
    order.push_back(SAMPLER_STAGE_TEMPERATURE);
  } else {
    add_samplers(list, params, &order);
    order.push_back(SAMPLER_STAGE_XTC);
  }
  order.push_back(SAMPLER_STAGE_ADAPTIVE);
  std::fill(std::begin(params.stages), std::end(params.stages), 0);
  std::copy(order.begin(), order.end(), params.stages);

  sampler_params defaults = sampler_params_default();
  set_defaults(&defaults);
  for (const Switch &one : switches()) {
    const bool is_top_k = one.integer == &P::top_k;
    const bool is_dynamic = one.number == &P::dynamic_temperature_range;
    const bool is_on = is_top_k ? has_top_k || params.top_k <= 0
                                : lists(params, one.stage) && !(is_dynamic && is_mirostat);
    if (is_on) continue;
    if (is_turned_on(one, parameters, params, defaults)) {
      throw Error(std::string(one.name) + " is set, and " +
                  (is_mirostat ? "mirostat has no such sampler beside it"
                               : "sampler_order does not list " + std::string(one.sampler)));
    }
    turn_off(one, &params);
  }
  params.top_k = has_top_k ? std::min(params.top_k, kMostTokens) : kMostTokens;
}

// koboldcpp smooths where it divides by the temperature; here it comes last.
void set_smoothing(const Json &parameters, float factor, bool is_adaptive_p,
                   sampler_params *params) {
  const Value value = {"smoothing_factor", *find(parameters, "smoothing_factor")};
  const Json *const order = find(parameters, "sampler_order");
  const bool is_last = !order || order->empty() || order->back() == 5;
  if (!is_last) value.fail("0 where sampler_order does not end in 5, the temperature");
  if (is_adaptive_p) value.fail("0 beside adaptive_target");
  if (params->top_n_sigma > 0.0f) value.fail("0 beside nsigma");
  if (params->xtc_probability > 0.0f) value.fail("0 beside xtc_probability");
  const Json *const curve = find(parameters, "smoothing_curve");
  params->adaptive_kind = SAMPLER_ADAPTIVE_SMOOTHING;
  params->adaptive_target = factor;
  params->adaptive_rate = curve ? Value{"smoothing_curve", *curve}.number() : 1.0f;
  if (params->adaptive_rate < 1.0f || params->adaptive_rate > 3.0f) {
    Value{"smoothing_curve", *curve}.fail("from 1 to 3");
  }
}

void set_adaptive(const Json &parameters, Request *request) {
  sampler_params &params = request->params;
  const auto number = [&](const char *name, float otherwise) {
    const Json *const value = find(parameters, name);
    return value ? Value{name, *value}.number() : otherwise;
  };
  const Json *const mirostat = find(parameters, "mirostat");
  if (mirostat && (*mirostat == 1 || *mirostat == 2)) {
    const Json *const factor = find(parameters, "smoothing_factor");
    if (factor && *factor > 0) Value{"smoothing_factor", *factor}.fail("0 beside mirostat");
    params.adaptive_kind =
        *mirostat == 1 ? SAMPLER_ADAPTIVE_MIROSTAT_V1 : SAMPLER_ADAPTIVE_MIROSTAT_V2;
    // 0, where koboldcpp means 0, is a default of the library's.
    const float tau = number("mirostat_tau", 5.0f), eta = number("mirostat_eta", 0.1f);
    params.adaptive_target = tau > 0.0f ? tau : 1e-30f;
    params.adaptive_rate = eta > 0.0f ? eta : -1.0f;
    return;
  }
  const float target = number("adaptive_target", -1.0f);
  const float factor = number("smoothing_factor", 0.0f);
  if (factor > 0.0f) {
    set_smoothing(parameters, factor, target > 0.0f, &params);
    return;
  }
  if (target <= 0.0f) return;
  params.adaptive_kind = SAMPLER_ADAPTIVE_P;
  params.adaptive_target = target;
  params.adaptive_rate = std::min(std::max(number("adaptive_decay", 0.9f), 0.01f), 0.99f);
  if (params.min_p <= 0.0f && params.top_p >= 1.0f) params.min_p = 0.002f;
}

void finish_koboldcpp(const Json &parameters, Request *request) {
  sampler_params &params = request->params;
  for (float &bias : request->biases) bias = std::min(100.0f, std::max(-100.0f, bias));
  const Json *const bans = find(parameters, "custom_token_bans");
  if (bans && !says_nothing(*bans)) ban_tokens({"custom_token_bans", *bans}, request);
  params.temperature = std::max(params.temperature, 0.0f);
  if (params.typical_p <= 0.0f && find(parameters, "typical")) {
    Value{"typical", *find(parameters, "typical")}.fail("above 0");
  }
  const Json *const slope = find(parameters, "rep_pen_slope");
  if (slope && *slope != 1 && params.repetition_penalty > 1.0f) {
    Value{"rep_pen_slope", *slope}.fail("1 where rep_pen is above 1: tokens count alike here");
  }
  if (params.dry_multiplier > 0.0f && find(parameters, "dry_base")) {
    const float base = params.dry_base;
    if (base <= 0.0f) params.dry_multiplier = 0.0f;
    if (base > 0.0f && base < 1.0f) {
      Value{"dry_base", *find(parameters, "dry_base")}.fail("at least 1 where DRY is on");
    }
  }
  set_adaptive(parameters, request);
  set_order(parameters, request);
  require_tokens_of_breakers(parameters, *request);
  request->of_vocabulary = {
      {"logit_bias", request->biased, "; koboldcpp does not look whether it is"}};
}

}  // namespace

Engine koboldcpp() {
  Engine engine;
  engine.title = "koboldcpp";
  engine.base = "llama.cpp";
  engine.start = set_defaults;
  engine.parameters =
      join<Parameters>({filter_parameters(),
                        {{"min_p", set_number<&P::min_p>},
                         {"top_a", set_number<&P::top_a>},
                         {"typical", set_number<&P::typical_p>},
                         {"nsigma", set_number<&P::top_n_sigma>},
                         {"rep_pen", set_number<&P::repetition_penalty>},
                         {"rep_pen_range", set_window},
                         {"rep_pen_slope", check_number},
                         {"presence_penalty", set_number<&P::presence_penalty>},
                         {"dynatemp_range", set_number<&P::dynamic_temperature_range>},
                         {"dynatemp_exponent", set_exponent},
                         {"xtc_probability", set_number<&P::xtc_probability>},
                         {"xtc_threshold", set_xtc_threshold},
                         {"dry_multiplier", set_number<&P::dry_multiplier>},
                         {"dry_base", set_number<&P::dry_base>},
                         {"dry_allowed_length", set_allowed_length},
                         {"dry_penalty_last_n", set_dry_window},
                         {"dry_sequence_breakers", set_breakers},
                         {"mirostat", check_integer},
                         {"mirostat_tau", check_number},
                         {"mirostat_eta", check_number},
                         {"adaptive_target", check_number},
                         {"adaptive_decay", check_number},
                         {"smoothing_factor", check_number},
                         {"smoothing_curve", check_number},
                         {"logit_bias", add_biases},
                         {"custom_token_bans", read_later},
                         {"sampler_order", read_later},
                         {"sampler_seed", set_kobold_seed},
                         {"ban_eos_token", set_ban_of_end},
                         {"bypass_eos", set_ignore_eos},
                         {"max_length", set_length}}});
  engine.ranges = {{"rep_pen", is_above_0, "above 0"},
                   {"dynatemp_range", is_at_least_0, "at least 0"},
                   {"max_length", [](double x) { return x >= 1; }, "at least 1"}};
  engine.undone = {
      {"tfs", {"1: there is no tail-free sampling here", {1}}},
      {"grammar", {"left out: no grammar is made here", {}}},
      {"banned_tokens", {"left out: texts need a tokenizer", {}}},
      {"banned_strings", {"left out: texts need a tokenizer", {}}},
      {"guidance_scale", {"1: there is no second model here", {1}}},
      {"negative_prompt", {"left out: there is no second model here", {}}},
      {"reasoning_effort", {"left out: no thinking is told from a text here", {"high"}}}};
  engine.ignored = join<Names>(
      {request_names(),
       {"adapter", "audio", "genkey", "grammar_retain_state", "images", "max_context_length",
        "memory", "quiet", "render_special", "replace_instruct_placeholders", "stop_sequence",
        "trim_stop", "use_default_badwordsids", "using_openai_tools"}});
  engine.finish = finish_koboldcpp;
  return engine;
}

}  // namespace engine_parameters
