#ifndef SERVER_ENGINE_H
#define SERVER_ENGINE_H

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "completion.h"
#include "gpt2.h"
#include "tokenizer.h"

namespace server {

// How an engine is doing.
struct EngineCounts {
  int num_running;          // choices, those that wait for the prompt of their first one among them
  std::size_t num_waiting;  // requests
  std::int64_t num_tokens;  // that were drawn so far
};

struct EngineOptions {
  int max_sequences = 32;     // choices at once
  int max_waiting = 64;       // requests that wait for room
  int max_step_tokens = 512;  // of all sequences, in a forward; at least max_drafts + 1
  int max_drafts = 0;         // of a step, by prompt lookup; the texts are the same
  int num_threads = 1;        // of the sampler
};

// The thread that owns a decoding session and the caches of its sequences. In each step it plans,
// runs the model and advances, with the sequences that there are then: requests join and leave
// between steps.
class Engine {
 public:
  Engine(const generate::Gpt2Model &model, const generate::Tokenizer &tokenizer,
         std::optional<std::int32_t> end_token, const EngineOptions &options);
  ~Engine();
  Engine(const Engine &) = delete;
  Engine &operator=(const Engine &) = delete;

  // A client whose request is being read. As long as it lives the engine is not idle, and submit()
  // takes what it wants, though the engine has begun to drain meanwhile. Throws HttpError, 503,
  // where the engine takes no requests any more.
  std::shared_ptr<void> enter();

  // Queues requests of a client that has entered, all or none. Throws HttpError, 503, where the
  // queue has no room for them or the engine has stopped.
  void submit(const std::vector<std::shared_ptr<Completion>> &completions);

  EngineCounts counts();

  // Takes no requests any more; those that it has go on.
  void drain();

  // Whether it has no requests.
  bool is_idle();

  // Fails all requests that have not ended, and ends the thread. May be called twice.
  void stop();

 private:
  class Scheduler;

  void run();

  // Those that wait and whose clients have gone hold no place.
  void forget_cancelled();

  // A request that there is room for; NULL: none.
  std::shared_ptr<Completion> take_waiting();

  // False: it is to stop.
  bool wait_for_work();

  const EngineOptions options_;
  std::unique_ptr<Scheduler> scheduler_;  // the thread's
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Completion>> waiting_;
  bool is_draining_ = false;
  bool is_stopping_ = false;
  bool is_idle_ = true;  // the scheduler, and nothing has been taken for it
  int num_entered_ = 0;
  int num_running_ = 0;
  std::int64_t num_tokens_ = 0;
  std::thread thread_;
};

}  // namespace server

#endif  // SERVER_ENGINE_H
