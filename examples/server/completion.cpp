#include "completion.h"

namespace server {

void Mailbox::add(Progress progress) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!progress.finish_reason.empty()) --num_unfinished_;
    progress_.push_back(std::move(progress));
  }
  changed_.notify_one();
}

void Mailbox::fail(const HttpError &error) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!error_) error_ = error;
  }
  changed_.notify_one();
}

bool Mailbox::wait_for(std::chrono::milliseconds patience) {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(lock, patience, [this] { return is_ready(); });
}

std::optional<Progress> Mailbox::next() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return is_ready(); });
  if (error_) throw *error_;
  if (progress_.empty()) return std::nullopt;
  Progress progress = std::move(progress_.front());
  progress_.pop_front();
  return progress;
}

}  // namespace server
