#ifndef SERVER_MASK_THREAD_H
#define SERVER_MASK_THREAD_H

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "regex_guide.h"
#include "tokenizer.h"

namespace server {

// A bit for each token that may follow a text.
using Mask = std::vector<std::uint32_t>;

// Works out masks beside the model, so that no text waits for those of others.
class MaskThread {
 public:
  MaskThread(const generate::Tokenizer &tokenizer, std::int32_t vocabulary_size,
             std::int32_t end_token);
  ~MaskThread();
  MaskThread(const MaskThread &) = delete;
  MaskThread &operator=(const MaskThread &) = delete;

  // The mask of a text as it is now; at_start: the tokenizer drops a space that its next token
  // begins with. It may be destroyed before it is ready.
  std::future<Mask> start(const RegexGuide &guide, bool at_start);

 private:
  void run();

  const SortedTokens tokens_;
  std::optional<SortedTokens> first_tokens_;  // none where the tokenizer drops no space
  const std::int32_t vocabulary_size_;
  const std::int32_t end_token_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::packaged_task<Mask()>> tasks_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace server

#endif  // SERVER_MASK_THREAD_H
