#ifndef SERVER_STOPPING_TEXT_H
#define SERVER_STOPPING_TEXT_H

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "utf8.h"

namespace server {

// A text that grows token by token, up to the first of its stop strings, which is no part of it.
class StoppingText {
 public:
  // No stop string may be empty.
  explicit StoppingText(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  // Adds a token's bytes, and returns what is certain now: characters that are complete and cannot
  // belong to a stop string. Must not be called once it has stopped.
  std::string push(std::string_view bytes);

  // Ends the text, and returns what was held back.
  std::string finish();

  bool has_stopped() const { return has_stopped_; }

 private:
  std::vector<std::string> stops_;
  generate::Utf8Stream stream_;
  std::string held_back_;  // may be the beginning of a stop string
  bool has_stopped_ = false;
};

}  // namespace server

#endif  // SERVER_STOPPING_TEXT_H
