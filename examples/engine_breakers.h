// DRY's sequence breakers, as llama.cpp and koboldcpp have them: for their files.
#ifndef ENGINE_BREAKERS_H_
#define ENGINE_BREAKERS_H_

#include <algorithm>

#include "engine_table.h"

namespace engine_parameters {

// A list of texts, or a text that has such a list.
inline bool are_texts(const Json &breakers) {
  return breakers.is_string() ||
         (breakers.is_array() && std::any_of(breakers.begin(), breakers.end(),
                                             [](const Json &one) { return one.is_string(); }));
}

// Texts need a tokenizer. They stand in whole requests where DRY is off, too.
inline void set_breakers(const Value &value, Request *request) {
  if (!are_texts(value.json)) set_words<&Request::dry_breakers>(value, request);
}

inline void require_tokens_of_breakers(const Json &parameters, const Request &request) {
  const Json *const breakers = find(parameters, "dry_sequence_breakers");
  if (breakers && are_texts(*breakers) && !says_nothing(*breakers) &&
      request.params.dry_multiplier > 0) {
    Value{"dry_sequence_breakers", *breakers}.fail(
        "lists of token ids where DRY is on: texts need a tokenizer");
  }
}

}  // namespace engine_parameters

#endif  // ENGINE_BREAKERS_H_
