#ifndef SERVER_REQUEST_H
#define SERVER_REQUEST_H

#include <cstdint>
#include <string>
#include <string_view>

#include "bpe.h"
#include "completion.h"

namespace server {

// What a request's numbers are checked against.
struct Limits {
  std::string model_name;
  int vocabulary_size;
  int max_context;
  int max_sequences;
  bool has_end_token;
};

// Reads the body of POST /v1/completions. Throws HttpError where it is wrong, or asks for what
// there is not. A member that is null is as if it were not there; without "seed" the seed is a
// random one.
CompletionRequest read_request(std::string_view body, const generate::BpeTokenizer &tokenizer,
                               const Limits &limits);

}  // namespace server

#endif  // SERVER_REQUEST_H
