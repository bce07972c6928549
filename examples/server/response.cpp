#include "response.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string_view>

namespace server {

namespace {

Json choice_of(std::size_t index, const std::string &text, const Json &logprobs,
               const std::string &finish_reason) {
  Json choice;
  choice["index"] = index;
  choice["text"] = text;
  choice["logprobs"] = logprobs;
  choice["finish_reason"] = finish_reason.empty() ? Json() : Json(finish_reason);
  return choice;
}

Json no_logprobs() {
  return {{"tokens", Json::array()},
          {"token_logprobs", Json::array()},
          {"top_logprobs", Json::array()},
          {"text_offset", Json::array()}};
}

std::size_t num_characters(const std::string &text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
}

}  // namespace

std::string dump(const Json &json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json error_body(const HttpError &error) {
  Json body;
  body["message"] = error.what();
  body["type"] = error.status() < 500 ? "invalid_request_error" : "server_error";
  body["param"] = error.parameter().empty() ? Json() : Json(error.parameter());
  body["code"] = error.status();
  return {{"error", body}};
}

Json model_list(const std::string &model_name, std::time_t created) {
  const Json model = {
      {"id", model_name}, {"object", "model"}, {"created", created}, {"owned_by", "local"}};
  return {{"object", "list"}, {"data", Json::array({model})}};
}

Answer::Answer(const CompletionRequest &request, const generate::BpeTokenizer &tokenizer,
               const std::string &model_name, const std::string &id, std::time_t created)
    : request_(request),
      tokenizer_(tokenizer),
      model_name_(model_name),
      id_(id),
      created_(created),
      choices_(static_cast<std::size_t>(request.num_choices)) {
  if (!request.num_logprobs) return;
  for (Choice &choice : choices_) choice.logprobs = no_logprobs();
}

Json Answer::add(const Progress &progress) {
  Choice &choice = choices_[static_cast<std::size_t>(progress.choice)];
  choice.text += progress.text;
  choice.finish_reason = progress.finish_reason;
  choice.num_tokens += progress.tokens.size();
  Json logprobs;
  if (request_.num_logprobs) {
    logprobs = logprobs_of(progress, &choice);
    for (const auto &[name, values] : logprobs.items()) {
      for (const Json &value : values) choice.logprobs[name].push_back(value);
    }
  }
  return choice_of(static_cast<std::size_t>(progress.choice), progress.text, logprobs,
                   progress.finish_reason);
}

Json Answer::header() const {
  Json json;
  json["id"] = id_;
  json["object"] = "text_completion";
  json["created"] = created_;
  json["model"] = model_name_;
  return json;
}

Json Answer::chunk(const Json &choice) const {
  Json json = header();
  json["choices"] = Json::array({choice});
  return json;
}

Json Answer::whole() const {
  Json json = header();
  json["choices"] = Json::array();
  std::size_t num_tokens = 0;
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    const Choice &choice = choices_[i];
    json["choices"].push_back(choice_of(i, choice.text, choice.logprobs, choice.finish_reason));
    num_tokens += choice.num_tokens;
  }
  json["usage"] = {{"prompt_tokens", request_.prompt.size()},
                   {"completion_tokens", num_tokens},
                   {"total_tokens", request_.prompt.size() + num_tokens}};
  return json;
}

Json Answer::logprobs_of(const Progress &progress, Choice *choice) const {
  Json logprobs = no_logprobs();
  for (const DrawnToken &token : progress.tokens) {
    const std::string text = token_text(token.id);
    Json top = Json::object();
    for (const auto &[id, logprob] : token.top) top.emplace(token_text(id), logprob);
    // The drawn token is told also where it is none of the likeliest.
    top.emplace(text, token.logprob);
    logprobs["tokens"].push_back(text);
    logprobs["token_logprobs"].push_back(token.logprob);
    logprobs["top_logprobs"].push_back(top);
    logprobs["text_offset"].push_back(choice->num_characters);
    choice->num_characters += num_characters(choice->stream.push(tokenizer_.token_bytes(token.id)));
  }
  return logprobs;
}

// A token's bytes, which need not be characters.
std::string Answer::token_text(std::int32_t id) const {
  const std::string &bytes = tokenizer_.token_bytes(id);
  for (std::string_view rest = bytes; !rest.empty();) {
    const generate::Utf8Character character = generate::scan_utf8_character(rest);
    if (character.kind != generate::Utf8Character::kComplete) {
      std::string text = "bytes:";
      for (const char byte : bytes) {
        char escaped[5];
        std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned char>(byte));
        text += escaped;
      }
      return text;
    }
    rest.remove_prefix(character.num_bytes);
  }
  return bytes;
}

}  // namespace server
