#include "response.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <string_view>
#include <utility>

namespace server {

namespace {

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

Answer::Answer(ServedRequest request, const generate::Tokenizer &tokenizer,
               const std::string &model_name, const std::string &id, std::time_t created)
    : request_(std::move(request)),
      tokenizer_(tokenizer),
      model_name_(model_name),
      id_(id),
      created_(created) {
  for (const CompletionRequest &one : request_.prompts) {
    const Choice choice = {generate::TokenText(tokenizer, one.prompt)};
    choices_.insert(choices_.end(), static_cast<std::size_t>(one.num_choices), choice);
  }
  if (!request_.num_logprobs) return;
  for (Choice &choice : choices_) {
    choice.logprobs = request_.is_chat ? Json{{"content", Json::array()}} : no_logprobs();
  }
}

// In a chat the text is a message, of which a chunk has a part.
Json Answer::choice_of(std::size_t index, const std::string &text, const Json &logprobs,
                       const std::string &finish_reason, bool is_chunk) const {
  Json choice;
  choice["index"] = index;
  if (request_.is_chat) {
    choice[is_chunk ? "delta" : "message"] = {{"role", "assistant"}, {"content", text}};
  } else {
    choice["text"] = text;
  }
  choice["logprobs"] = logprobs;
  choice["finish_reason"] = finish_reason.empty() ? Json() : Json(finish_reason);
  return choice;
}

Json Answer::add(const Progress &progress) {
  const std::size_t index = static_cast<std::size_t>(progress.choice);
  Choice &choice = choices_[index];
  const std::size_t prompt = index / static_cast<std::size_t>(request_.prompts[0].num_choices);
  const std::string text = (choice.num_tokens == 0 ? request_.echoed[prompt] : "") + progress.text;
  choice.text += text;
  choice.finish_reason = progress.finish_reason;
  choice.num_tokens += progress.tokens.size();
  for (const DrawnToken &token : progress.tokens) choice.logprob += double(token.logprob);
  Json logprobs;
  if (request_.num_logprobs) {
    logprobs = request_.is_chat ? chat_logprobs_of(progress) : logprobs_of(progress, &choice);
    for (const auto &[name, values] : logprobs.items()) {
      for (const Json &value : values) choice.logprobs[name].push_back(value);
    }
  }
  return choice_of(index, text, logprobs, progress.finish_reason, true);
}

Json Answer::header(bool is_chunk) const {
  Json json;
  json["id"] = id_;
  json["object"] = !request_.is_chat ? "text_completion"
                   : is_chunk        ? "chat.completion.chunk"
                                     : "chat.completion";
  json["created"] = created_;
  json["model"] = model_name_;
  return json;
}

Json Answer::chunk(const Json &choice) const {
  Json json = header(true);
  json["choices"] = Json::array({choice});
  if (request_.has_usage) json["usage"] = nullptr;
  return json;
}

Json Answer::last_chunk() const {
  Json json = header(true);
  json["choices"] = Json::array();
  json["usage"] = usage();
  return json;
}

std::vector<std::size_t> Answer::told_choices(std::size_t first) const {
  std::vector<std::size_t> told(static_cast<std::size_t>(request_.prompts[0].num_choices));
  std::iota(told.begin(), told.end(), first);
  const std::size_t num_told = static_cast<std::size_t>(request_.num_choices);
  if (num_told == told.size()) return told;
  const auto logprob_by_token = [this](std::size_t i) {
    return choices_[i].logprob / static_cast<double>(choices_[i].num_tokens);
  };
  std::stable_sort(told.begin(), told.end(), [&](std::size_t a, std::size_t b) {
    return logprob_by_token(a) > logprob_by_token(b);
  });
  told.resize(num_told);
  return told;
}

Json Answer::usage() const {
  std::size_t num_prompt_tokens = 0, num_tokens = 0;
  for (const CompletionRequest &one : request_.prompts) num_prompt_tokens += one.prompt.size();
  for (const Choice &choice : choices_) num_tokens += choice.num_tokens;
  return {{"prompt_tokens", num_prompt_tokens},
          {"completion_tokens", num_tokens},
          {"total_tokens", num_prompt_tokens + num_tokens}};
}

Json Answer::whole() const {
  Json json = header(false);
  json["choices"] = Json::array();
  const std::size_t num_by_prompt = static_cast<std::size_t>(request_.prompts[0].num_choices);
  for (std::size_t first = 0; first < choices_.size(); first += num_by_prompt) {
    for (const std::size_t i : told_choices(first)) {
      const Choice &choice = choices_[i];
      json["choices"].push_back(choice_of(json["choices"].size(), choice.text, choice.logprobs,
                                          choice.finish_reason, false));
    }
  }
  json["usage"] = usage();
  return json;
}

Json Answer::logprobs_of(const Progress &progress, Choice *choice) const {
  Json logprobs = no_logprobs();
  for (const DrawnToken &token : progress.tokens) {
    const std::string text = token_text(token.id);
    Json top = Json::object();
    for (const auto &[id, logprob] : token.top) top.emplace(token_text(id), logprob);
    // The drawn token is there also where it is none of the likeliest.
    top.emplace(text, token.logprob);
    logprobs["tokens"].push_back(text);
    logprobs["token_logprobs"].push_back(token.logprob);
    logprobs["top_logprobs"].push_back(top);
    logprobs["text_offset"].push_back(choice->num_characters);
    choice->num_characters += num_characters(choice->stream.push(choice->tokens.push(token.id)));
  }
  return logprobs;
}

Json Answer::chat_logprobs_of(const Progress &progress) const {
  const auto token = [this](std::int32_t id, float logprob) {
    Json bytes = Json::array();
    for (const char byte : tokenizer_.token_bytes(id)) {
      bytes.push_back(static_cast<unsigned char>(byte));
    }
    return Json{{"token", token_text(id)}, {"logprob", logprob}, {"bytes", bytes}};
  };
  Json content = Json::array();
  for (const DrawnToken &drawn : progress.tokens) {
    Json top = Json::array();
    for (const auto &[id, logprob] : drawn.top) top.push_back(token(id, logprob));
    content.push_back(token(drawn.id, drawn.logprob));
    content.back()["top_logprobs"] = top;
  }
  return {{"content", content}};
}

// A token's bytes, which need not be characters.
std::string Answer::token_text(std::int32_t id) const {
  const std::string &bytes = tokenizer_.token_name(id);
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
