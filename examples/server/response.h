#ifndef SERVER_RESPONSE_H
#define SERVER_RESPONSE_H

#include <cstddef>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "completion.h"
#include "request.h"
#include "tokenizer.h"
#include "utf8.h"

namespace server {

// Members in the order in which they are written.
using Json = nlohmann::ordered_json;

// One line.
std::string dump(const Json &json);

Json error_body(const HttpError &error);
Json model_list(const std::string &model_name, std::time_t created);

// Turns the progress of a request into answers: a chunk for each, or all of it as one.
class Answer {
 public:
  Answer(ServedRequest request, const generate::Tokenizer &tokenizer, const std::string &model_name,
         const std::string &id, std::time_t created);

  // Adds what a step gave a choice to the answer, and returns it as a choice of a chunk, of a chat
  // where the request is one.
  Json add(const Progress &progress);

  // A chunk with a choice.
  Json chunk(const Json &choice) const;

  // The chunk after the last choice, with the numbers of tokens.
  Json last_chunk() const;

  // All that was added.
  Json whole() const;

 private:
  struct Choice {
    generate::TokenText tokens;
    std::string text = "";
    std::string finish_reason = "";
    Json logprobs = {};
    std::size_t num_tokens = 0;
    double logprob = 0.0;  // of all tokens
    // Characters of all tokens, by which each token's place in the text is counted.
    generate::Utf8Stream stream = {};
    std::size_t num_characters = 0;
  };

  // The choices sent for the prompt whose first one this is: the likeliest by token, best first, or
  // all that were written.
  std::vector<std::size_t> told_choices(std::size_t first) const;

  Json header(bool is_chunk) const;
  Json choice_of(std::size_t index, const std::string &text, const Json &logprobs,
                 const std::string &finish_reason, bool is_chunk) const;
  Json chat_logprobs_of(const Progress &progress) const;
  Json usage() const;
  Json logprobs_of(const Progress &progress, Choice *choice) const;
  std::string token_text(std::int32_t id) const;

  const ServedRequest request_;
  const generate::Tokenizer &tokenizer_;
  std::string model_name_;
  std::string id_;
  std::time_t created_;
  std::vector<Choice> choices_;
};

}  // namespace server

#endif  // SERVER_RESPONSE_H
