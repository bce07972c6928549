#include "request.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>

#include "error.h"
#include "json_file.h"

namespace server {

namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxStops = 4;

[[noreturn]] void fail(const std::string &name, const std::string &message) {
  throw HttpError(400, message, name);
}

// Members of a body; those that nobody has asked for are unknown.
class Members {
 public:
  explicit Members(const Json &body) : body_(body) {}

  // NULL: it is not there.
  const Json *find(const std::string &name) {
    known_.insert(name);
    const auto found = body_.find(name);
    return found == body_.end() || found->is_null() ? nullptr : &*found;
  }

  template <typename Integer>
  Integer integer(const std::string &name, Integer otherwise, Integer lowest, Integer highest) {
    const Json *const member = find(name);
    if (!member) return otherwise;
    const bool is_small = member->is_number_integer() && !member->is_number_unsigned();
    const bool is_in_range =
        is_small ? std::is_signed_v<Integer> &&
                       member->get<std::int64_t>() >= static_cast<std::int64_t>(lowest)
                 : member->is_number_unsigned() &&
                       (lowest <= 0 ||
                        member->get<std::uint64_t>() >= static_cast<std::uint64_t>(lowest)) &&
                       member->get<std::uint64_t>() <= static_cast<std::uint64_t>(highest);
    if (!is_in_range) reject(name, *member, "an integer", lowest, highest);
    return member->get<Integer>();
  }

  float number(const std::string &name, float otherwise, double lowest, double highest) {
    const Json *const member = find(name);
    if (!member) return otherwise;
    const double value = member->is_number() ? member->get<double>() : std::nan("");
    if (!(value >= lowest && value <= highest)) reject(name, *member, "a number", lowest, highest);
    return static_cast<float>(value);
  }

  bool flag(const std::string &name) {
    const Json *const member = find(name);
    if (member && !member->is_boolean()) fail(name, name + " must be true or false");
    return member && member->get<bool>();
  }

  void reject_unknown() const {
    for (const auto &[name, value] : body_.items()) {
      if (value.is_null() || known_.count(name) > 0) continue;
      fail(name, generate::in_readable_quotes(name) + " is not supported");
    }
  }

 private:
  template <typename Number>
  [[noreturn]] static void reject(const std::string &name, const Json &value, const char *kind,
                                  Number lowest, Number highest) {
    std::ostringstream message;
    message << name << " is " << value.dump().substr(0, 40) << "; it must be " << kind << " in ["
            << lowest << ", " << highest << "]";
    fail(name, message.str());
  }

  const Json &body_;
  std::set<std::string> known_;
};

std::vector<std::int32_t> read_prompt(Members *members, const generate::BpeTokenizer &tokenizer,
                                      int vocabulary_size) {
  const Json *const prompt = members->find("prompt");
  if (!prompt) fail("prompt", "prompt is missing");
  if (prompt->is_string()) {
    std::vector<std::int32_t> ids = tokenizer.encode(prompt->get_ref<const std::string &>());
    if (ids.empty() && tokenizer.end_of_text()) ids.push_back(*tokenizer.end_of_text());
    if (ids.empty()) fail("prompt", "prompt is empty; the vocabulary has no <|endoftext|>");
    return ids;
  }
  const std::string rule = "prompt must be a string or a list of token ids in [0, " +
                           std::to_string(vocabulary_size) +
                           "); lists of prompts are not supported";
  if (!prompt->is_array() || prompt->empty()) fail("prompt", rule);
  std::vector<std::int32_t> ids;
  for (const Json &id : *prompt) {
    if (!id.is_number_unsigned() ||
        id.get<std::uint64_t>() >= static_cast<std::uint64_t>(vocabulary_size)) {
      fail("prompt", rule);
    }
    ids.push_back(id.get<std::int32_t>());
  }
  return ids;
}

std::vector<std::string> read_stops(Members *members) {
  const Json *const stop = members->find("stop");
  if (!stop) return {};
  const Json list = stop->is_string() ? Json::array({*stop}) : *stop;
  const auto is_stop = [](const Json &text) {
    return text.is_string() && !text.get_ref<const std::string &>().empty();
  };
  if (!list.is_array() || list.size() > kMaxStops ||
      !std::all_of(list.begin(), list.end(), is_stop)) {
    fail("stop", "stop must be a string or a list of at most 4 strings, none of them empty");
  }
  return list.get<std::vector<std::string>>();
}

// {"42": -100, ...}
std::vector<std::pair<std::int32_t, float>> read_biases(Members *members, int vocabulary_size) {
  const Json *const bias = members->find("logit_bias");
  if (!bias) return {};
  const std::string rule = "logit_bias must be an object of at most " + std::to_string(kMaxBiases) +
                           " token ids in [0, " + std::to_string(vocabulary_size) +
                           ") with numbers in [-100, 100]";
  if (!bias->is_object() || bias->size() > kMaxBiases) fail("logit_bias", rule);
  std::vector<std::pair<std::int32_t, float>> biases;
  for (const auto &[key, value] : bias->items()) {
    const bool is_id = !key.empty() && key.size() <= 7 &&
                       key.find_first_not_of("0123456789") == std::string::npos &&
                       (key.size() == 1 || key[0] != '0');
    const double number = value.is_number() ? value.get<double>() : std::nan("");
    if (!is_id || std::stoi(key) >= vocabulary_size || !(number >= -100 && number <= 100)) {
      fail("logit_bias", rule);
    }
    biases.emplace_back(std::stoi(key), static_cast<float>(number));
  }
  return biases;
}

void check_model(Members *members, const std::string &name) {
  const Json *const model = members->find("model");
  if (!model) return;
  if (!model->is_string()) fail("model", "model must be a string");
  if (*model != name) {
    throw HttpError(404, "there is no model " + model->dump() + "; this is " + Json(name).dump(),
                    "model");
  }
}

std::uint64_t random_seed() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

Json parse(std::string_view body) {
  try {
    return generate::parse_json_object(body, "the body");
  } catch (const generate::Error &error) {
    throw HttpError(400, error.what());
  }
}

}  // namespace

CompletionRequest read_request(std::string_view body, const generate::BpeTokenizer &tokenizer,
                               const Limits &limits) {
  const Json json = parse(body);
  Members members(json);
  CompletionRequest request;
  check_model(&members, limits.model_name);
  request.prompt = read_prompt(&members, tokenizer, limits.vocabulary_size);
  const std::int64_t room = limits.max_context - static_cast<std::int64_t>(request.prompt.size());
  if (room < 1) {
    fail("prompt", "prompt has " + std::to_string(request.prompt.size()) +
                       " tokens; the model's context of " + std::to_string(limits.max_context) +
                       " must have room for a new one");
  }
  request.max_tokens =
      members.integer<std::int64_t>("max_tokens", std::min<std::int64_t>(16, room), 1, room);
  request.num_choices = members.integer("n", 1, 1, limits.max_sequences);
  const std::uint64_t highest_seed = std::numeric_limits<std::uint64_t>::max();
  request.seed = members.find("seed") ? members.integer<std::uint64_t>("seed", 0, 0, highest_seed)
                                      : random_seed();
  sampler_params &params = request.params;
  params.temperature = members.number("temperature", 1, 0, 2);
  params.top_p = members.number("top_p", 1, 0, 1);
  params.min_p = members.number("min_p", 0, 0, 1);
  params.top_k = members.integer<std::int32_t>("top_k", 0, -1, 1 << 20);
  params.presence_penalty = members.number("presence_penalty", 0, -2, 2);
  params.frequency_penalty = members.number("frequency_penalty", 0, -2, 2);
  params.repetition_penalty = members.number("repetition_penalty", 1, 0.01, 100);
  request.stops = read_stops(&members);
  if (members.find("logprobs")) {
    request.num_logprobs = members.integer("logprobs", 0, 0, kMaxLogprobs);
  }
  request.biases = read_biases(&members, limits.vocabulary_size);
  if (const Json *const regex = members.find("regex")) {
    if (!regex->is_string()) fail("regex", "regex must be a string");
    if (!limits.has_end_token) fail("regex", "regex needs a model that has an end token");
    request.guide.emplace(regex->get_ref<const std::string &>());
  }
  request.is_streamed = members.flag("stream");
  if (members.flag("echo")) fail("echo", "echo is not supported");
  members.reject_unknown();
  return request;
}

}  // namespace server
