#ifndef SERVER_REQUEST_H
#define SERVER_REQUEST_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat_template.h"
#include "completion.h"
#include "tokenizer.h"

namespace server {

// What a request's numbers are checked against.
struct Limits {
  std::string model_name;
  int vocabulary_size;
  int max_context;
  int max_sequences;
  int max_waiting;  // requests of the engine
  bool has_end_token;
  std::string why_no_chats;
};

// What a client asks for: the same of each prompt.
struct ServedRequest {
  bool is_chat = false;                    // one prompt, of messages
  std::vector<CompletionRequest> prompts;  // one at least; alike but for the prompt
  std::vector<std::string> echoed;         // what precedes the texts of each prompt
  int num_choices = 1;              // sent for each prompt: the likeliest, where more are written
  std::optional<int> num_logprobs;  // sent with each token
  bool is_streamed = false;
  bool has_usage = true;  // a stream: at its end

  // All choices that are written, sent or not.
  int num_written() const { return static_cast<int>(prompts.size()) * prompts[0].num_choices; }
};

// Reads the body of POST /v1/completions. Throws HttpError where it is wrong, or asks for what
// there is not. A member that is null is as if it were not there; without "seed" the seed is a
// random one.
ServedRequest read_request(std::string_view body, const generate::Tokenizer &tokenizer,
                           const Limits &limits);

// The same of POST /v1/chat/completions. `chat_template` null: there are no chats.
ServedRequest read_chat_request(std::string_view body, const generate::Tokenizer &tokenizer,
                                const Limits &limits, ChatTemplate *chat_template);

}  // namespace server

#endif  // SERVER_REQUEST_H
