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

  std::string text(const std::string &name) {
    const Json *const member = find(name);
    if (member && !member->is_string()) fail(name, name + " must be a string");
    return member ? member->get<std::string>() : "";
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

struct Prompt {
  std::vector<std::int32_t> ids;
  std::string text;
};

Prompt prompt_of_text(const std::string &text, const generate::Tokenizer &tokenizer,
                      bool adds_begin_token) {
  std::vector<std::int32_t> ids = tokenizer.encode_prompt(text, adds_begin_token);
  if (ids.empty()) fail("prompt", "prompt is empty; the vocabulary has no token for that");
  return {std::move(ids), text};
}

// None: it is no list of ids.
std::optional<Prompt> prompt_of_ids(const Json &list, const generate::Tokenizer &tokenizer,
                                    int vocabulary_size) {
  if (!list.is_array() || list.empty()) return std::nullopt;
  Prompt prompt;
  generate::TokenText text(tokenizer, {});
  for (const Json &id : list) {
    if (!id.is_number_unsigned() ||
        id.get<std::uint64_t>() >= static_cast<std::uint64_t>(vocabulary_size)) {
      return std::nullopt;
    }
    prompt.ids.push_back(id.get<std::int32_t>());
    prompt.text += text.push(prompt.ids.back());
  }
  return prompt;
}

// A text or a list of ids, or a list of these.
std::vector<Prompt> read_prompts(Members *members, const generate::Tokenizer &tokenizer,
                                 const Limits &limits) {
  const Json *const member = members->find("prompt");
  if (!member) fail("prompt", "prompt is missing");
  const auto of_text = [&tokenizer](const Json &text) {
    return prompt_of_text(text.get_ref<const std::string &>(), tokenizer,
                          tokenizer.adds_begin_token());
  };
  if (member->is_string()) {
    return {of_text(*member)};
  }
  if (auto prompt = prompt_of_ids(*member, tokenizer, limits.vocabulary_size)) return {*prompt};
  const std::string rule = "prompt must be a string, a list of token ids in [0, " +
                           std::to_string(limits.vocabulary_size) + "), or a list of at most " +
                           std::to_string(limits.max_waiting) + " of these";
  if (!member->is_array() || member->empty() ||
      member->size() > static_cast<std::size_t>(limits.max_waiting)) {
    fail("prompt", rule);
  }
  std::vector<Prompt> prompts;
  for (const Json &one : *member) {
    if (one.is_string()) {
      prompts.push_back(of_text(one));
    } else if (auto prompt = prompt_of_ids(one, tokenizer, limits.vocabulary_size)) {
      prompts.push_back(std::move(*prompt));
    } else {
      fail("prompt", rule);
    }
  }
  return prompts;
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

// {"include_usage": true}; a whole answer always has it.
bool wants_usage(Members *members, bool is_streamed) {
  const Json *const options = members->find("stream_options");
  if (!options) return !is_streamed;
  if (!is_streamed) fail("stream_options", "stream_options needs stream to be true");
  if (!options->is_object()) fail("stream_options", "stream_options must be an object");
  Members own(*options);
  const bool wants = own.flag("include_usage");
  own.reject_unknown();
  return wants;
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

// How many tokens the context leaves after the longest prompt; `name` has them.
std::int64_t room_after(const std::vector<Prompt> &prompts, const char *name,
                        const Limits &limits) {
  const auto longest = std::max_element(
      prompts.begin(), prompts.end(),
      [](const Prompt &a, const Prompt &b) { return a.ids.size() < b.ids.size(); });
  const std::int64_t room = limits.max_context - static_cast<std::int64_t>(longest->ids.size());
  if (room < 1) {
    fail(name, std::string(name) + " has " + std::to_string(longest->ids.size()) +
                   " tokens; the model's context of " + std::to_string(limits.max_context) +
                   " must have room for a new one");
  }
  return room;
}

// What both kinds of requests have.
void read_sampling(Members *members, const Limits &limits, CompletionRequest *request,
                   ServedRequest *served) {
  served->num_choices = members->integer("n", 1, 1, limits.max_sequences);
  request->num_choices = served->num_choices;
  const std::uint64_t highest_seed = std::numeric_limits<std::uint64_t>::max();
  request->seed = members->find("seed")
                      ? members->integer<std::uint64_t>("seed", 0, 0, highest_seed)
                      : random_seed();
  sampler_params &params = request->params;
  params.temperature = members->number("temperature", 1, 0, 2);
  params.top_p = members->number("top_p", 1, 0, 1);
  params.min_p = members->number("min_p", 0, 0, 1);
  params.top_k = members->integer<std::int32_t>("top_k", 0, -1, 1 << 20);
  params.presence_penalty = members->number("presence_penalty", 0, -2, 2);
  params.frequency_penalty = members->number("frequency_penalty", 0, -2, 2);
  params.repetition_penalty = members->number("repetition_penalty", 1, 0.01, 100);
  request->stops = read_stops(members);
  request->biases = read_biases(members, limits.vocabulary_size);
  if (const Json *const regex = members->find("regex")) {
    if (!regex->is_string()) fail("regex", "regex must be a string");
    if (!limits.has_end_token) fail("regex", "regex needs a model that has an end token");
    request->guide.emplace(regex->get_ref<const std::string &>());
  }
  served->is_streamed = members->flag("stream");
  served->has_usage = wants_usage(members, served->is_streamed);
  members->text("user");  // whoever it is
}

constexpr char kMessagesRule[] =
    "messages must be a list of objects, each with a role, a string, and a content, a string or a "
    "list of {\"type\": \"text\", \"text\": ...}";

std::string text_of_content(const Json &content) {
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) fail("messages", kMessagesRule);
  std::string text;
  for (const Json &part : content) {
    const bool is_text = part.is_object() && part.value("type", Json()) == "text" &&
                         part.value("text", Json()).is_string();
    if (!is_text) fail("messages", kMessagesRule);
    text += part["text"].get<std::string>();
  }
  return text;
}

Json read_messages(Members *members) {
  const Json *const list = members->find("messages");
  if (!list) fail("messages", "messages is missing");
  if (!list->is_array() || list->empty()) fail("messages", kMessagesRule);
  Json messages = Json::array();
  for (const Json &one : *list) {
    const bool has_both =
        one.is_object() && one.value("role", Json()).is_string() && one.contains("content");
    if (!has_both) fail("messages", kMessagesRule);
    Json message = {{"role", one["role"]}, {"content", text_of_content(one["content"])}};
    for (const auto &[name, value] : one.items()) {
      if (name == "role" || name == "content" || value.is_null()) continue;
      if (name != "name" || !value.is_string()) {
        fail("messages", generate::in_readable_quotes(name) + " of a message is not supported");
      }
      message[name] = value;
    }
    messages.push_back(message);
  }
  return messages;
}

// {"type": "text"}, which is what there is.
void check_response_format(Members *members) {
  const Json *const format = members->find("response_format");
  if (format && *format != Json{{"type", "text"}}) {
    fail("response_format", "response_format must be {\"type\": \"text\"}; regex says more");
  }
}

}  // namespace

ServedRequest read_request(std::string_view body, const generate::Tokenizer &tokenizer,
                           const Limits &limits) {
  const Json json = parse(body);
  Members members(json);
  ServedRequest served;
  CompletionRequest request;
  check_model(&members, limits.model_name);
  const std::vector<Prompt> prompts = read_prompts(&members, tokenizer, limits);
  const std::int64_t room = room_after(prompts, "prompt", limits);
  request.max_tokens =
      members.integer<std::int64_t>("max_tokens", std::min<std::int64_t>(16, room), 1, room);
  read_sampling(&members, limits, &request, &served);
  request.num_choices =
      members.integer("best_of", served.num_choices, served.num_choices, limits.max_sequences);
  if (members.find("logprobs")) {
    served.num_logprobs = members.integer("logprobs", 0, 0, kMaxLogprobs);
  }
  request.num_logprobs = served.num_logprobs;
  if (request.num_choices > served.num_choices) {
    if (served.is_streamed) fail("best_of", "best_of above n needs whole texts: stream is true");
    if (!request.num_logprobs) request.num_logprobs = 0;
  }
  const bool echoes = members.flag("echo");
  if (echoes && served.num_logprobs) {
    fail("echo", "echo does not go with logprobs: those of the prompt are not computed");
  }
  if (!members.text("suffix").empty()) {
    fail("suffix", "suffix is not supported: the model does not fill in");
  }
  members.reject_unknown();
  for (const Prompt &prompt : prompts) {
    served.prompts.push_back(request);
    served.prompts.back().prompt = prompt.ids;
    served.echoed.push_back(echoes ? prompt.text : "");
  }
  return served;
}

ServedRequest read_chat_request(std::string_view body, const generate::Tokenizer &tokenizer,
                                const Limits &limits, ChatTemplate *chat_template) {
  if (!chat_template) throw HttpError(404, limits.why_no_chats);
  const Json json = parse(body);
  Members members(json);
  ServedRequest served;
  CompletionRequest request;
  served.is_chat = true;
  check_model(&members, limits.model_name);
  nlohmann::ordered_json variables = {{"add_generation_prompt", true}};
  if (const Json *const own = members.find("chat_template_kwargs")) {
    if (!own->is_object()) fail("chat_template_kwargs", "chat_template_kwargs must be an object");
    // Tools have their members in the client's order.
    variables.update(nlohmann::ordered_json::parse(body)["chat_template_kwargs"]);
  }
  variables["messages"] = read_messages(&members);
  const char *const tokens_name =
      members.find("max_completion_tokens") ? "max_completion_tokens" : "max_tokens";
  members.find("max_tokens");
  check_response_format(&members);
  const bool has_logprobs = members.flag("logprobs");
  const int num_top = members.integer("top_logprobs", 0, 0, kMaxLogprobs);
  if (num_top > 0 && !has_logprobs) fail("top_logprobs", "top_logprobs needs logprobs to be true");
  if (has_logprobs) served.num_logprobs = request.num_logprobs = num_top;
  read_sampling(&members, limits, &request, &served);
  members.reject_unknown();
  // Last, since it takes the longest. A template has the beginning token itself.
  const std::vector<Prompt> prompts = {
      prompt_of_text(chat_template->render(variables), tokenizer, false)};
  const std::int64_t room = room_after(prompts, "messages", limits);
  request.max_tokens = members.integer<std::int64_t>(tokens_name, room, 1, room);
  request.prompt = prompts[0].ids;
  served.prompts.push_back(request);
  served.echoed.emplace_back();
  return served;
}

}  // namespace server
