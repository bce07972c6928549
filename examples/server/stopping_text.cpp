#include "stopping_text.h"

#include <algorithm>
#include <cstddef>

namespace server {

namespace {

// How many bytes at the end of `text` a stop string begins with, but less than all of it.
std::size_t overlap(std::string_view text, std::string_view stop) {
  for (std::size_t size = std::min(text.size(), stop.size() - 1); size > 0; --size) {
    if (text.substr(text.size() - size) == stop.substr(0, size)) return size;
  }
  return 0;
}

}  // namespace

std::string StoppingText::push(std::string_view bytes) {
  held_back_ += stream_.push(bytes);
  std::size_t found = std::string::npos;
  std::size_t num_held_back = 0;
  for (const std::string &stop : stops_) {
    found = std::min(found, held_back_.find(stop));
    num_held_back = std::max(num_held_back, overlap(held_back_, stop));
  }
  has_stopped_ = found != std::string::npos;
  const std::string certain =
      held_back_.substr(0, has_stopped_ ? found : held_back_.size() - num_held_back);
  held_back_.erase(0, has_stopped_ ? held_back_.size() : certain.size());
  return certain;
}

std::string StoppingText::finish() {
  if (has_stopped_) return "";
  return std::move(held_back_) + stream_.finish();
}

}  // namespace server
