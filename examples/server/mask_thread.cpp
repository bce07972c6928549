#include "mask_thread.h"

#include <utility>

namespace server {

MaskThread::MaskThread(const generate::Tokenizer &tokenizer, std::int32_t vocabulary_size,
                       std::int32_t end_token)
    : tokens_(tokenizer, vocabulary_size, false),
      vocabulary_size_(vocabulary_size),
      end_token_(end_token) {
  if (tokenizer.first_space() != generate::Tokenizer::FirstSpace::kKept) {
    first_tokens_.emplace(tokenizer, vocabulary_size, true);
  }
  thread_ = std::thread([this] { run(); });
}

MaskThread::~MaskThread() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

std::future<Mask> MaskThread::start(const RegexGuide &guide, bool at_start) {
  const SortedTokens *const tokens = at_start && first_tokens_ ? &*first_tokens_ : &tokens_;
  std::packaged_task<Mask()> task(
      [this, guide, tokens] { return guide.mask(*tokens, vocabulary_size_, end_token_); });
  std::future<Mask> mask = task.get_future();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
  return mask;
}

void MaskThread::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_stopping_ || !tasks_.empty(); });
    if (is_stopping_) return;
    std::packaged_task<Mask()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace server
