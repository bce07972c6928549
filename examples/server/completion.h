#ifndef SERVER_COMPLETION_H
#define SERVER_COMPLETION_H

#include <sampler/sampler.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "regex_guide.h"

namespace server {

// What is answered instead of a text: an HTTP status, and a text for the client.
class HttpError : public std::runtime_error {
 public:
  HttpError(int status, const std::string &message, std::string parameter = "")
      : std::runtime_error(message), status_(status), parameter_(std::move(parameter)) {}

  int status() const { return status_; }

  // The name of the member that is wrong, or "".
  const std::string &parameter() const { return parameter_; }

 private:
  int status_;
  std::string parameter_;
};

// Texts from one prompt, checked.
struct CompletionRequest {
  std::vector<std::int32_t> prompt;  // one token at least
  std::int64_t max_tokens = 0;       // at least 1, and the context has room for them
  int num_choices = 1;               // in [1, the engine's sequences]
  std::uint64_t seed = 0;            // of choice 0; choice i has the i-th after it
  sampler_params params = sampler_params_default();
  std::vector<std::string> stops;                      // none is empty
  std::optional<int> num_logprobs;                     // in [0, kMaxLogprobs]; none: not wanted
  std::vector<std::pair<std::int32_t, float>> biases;  // by token, kMaxBiases at most
  std::optional<RegexGuide> guide;                     // of each choice
};

constexpr int kMaxLogprobs = 5;
constexpr std::size_t kMaxBiases = 300;

// A token that was drawn, and log-probabilities of the model's distribution.
struct DrawnToken {
  std::int32_t id;
  float logprob;
  std::vector<std::pair<std::int32_t, float>> top;  // num_logprobs of them, the likeliest first
};

// What a step gave a choice. In a mailbox the choices of all its completions are numbered.
struct Progress {
  int choice = 0;
  std::string text;
  std::vector<DrawnToken> tokens;
  std::string finish_reason;  // "stop" or "length"; "": it goes on
};

// Progress of all that one client asks for, on its way from the engine's thread to a handler's.
class Mailbox {
 public:
  explicit Mailbox(int num_choices) : num_unfinished_(num_choices) {}

  // The engine's.
  void add(Progress progress);
  void fail(const HttpError &error);
  bool is_cancelled() const { return is_cancelled_; }

  // The handler's. Whether next() would not wait, after `patience` at most.
  bool wait_for(std::chrono::milliseconds patience);

  // Waits for progress; none: all choices have finished. Throws what the engine failed with first.
  std::optional<Progress> next();

  // The client has gone, or has its answer.
  void cancel() { is_cancelled_ = true; }

 private:
  bool is_ready() const { return !progress_.empty() || error_ || num_unfinished_ == 0; }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Progress> progress_;
  std::optional<HttpError> error_;
  int num_unfinished_;
  std::atomic<bool> is_cancelled_{false};
};

// A request of the engine, and where its progress goes.
class Completion {
 public:
  Completion(CompletionRequest completion_request, int first_choice,
             std::shared_ptr<Mailbox> mailbox)
      : request(std::move(completion_request)),
        first_choice_(first_choice),
        mailbox_(std::move(mailbox)) {}

  const CompletionRequest request;

  void add(Progress progress) const {
    progress.choice += first_choice_;
    mailbox_->add(std::move(progress));
  }
  void fail(const HttpError &error) const { mailbox_->fail(error); }  // nothing is added any more
  bool is_cancelled() const { return mailbox_->is_cancelled(); }

 private:
  const int first_choice_;
  const std::shared_ptr<Mailbox> mailbox_;
};

}  // namespace server

#endif  // SERVER_COMPLETION_H
