#ifndef SERVER_SERVICE_H
#define SERVER_SERVICE_H

#include <httplib.h>

#include <atomic>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>

#include "completion.h"
#include "engine.h"
#include "http_server.h"
#include "request.h"
#include "response.h"
#include "tokenizer.h"

namespace server {

// The HTTP side: handlers read requests, queue them in the engine and write what comes of them.
class Service {
 public:
  // `chat_template` null: there are no chats.
  Service(const generate::Tokenizer &tokenizer, Limits limits,
          std::unique_ptr<ChatTemplate> chat_template, Engine *engine);

  // Adds its handlers. The service must outlive the server.
  void add_to(HttpServer *http);

  // Requests for a text that are being answered.
  int num_open() const { return num_open_; }

 private:
  void complete(ServedRequest request, const Connection &connection,
                httplib::Response *http_response);
  void stream(ServedRequest request, const std::shared_ptr<Mailbox> &mailbox,
              const std::shared_ptr<void> &open, httplib::Response *http_response);
  Answer new_answer(ServedRequest request);

  const generate::Tokenizer &tokenizer_;
  const Limits limits_;
  const std::unique_ptr<ChatTemplate> chat_template_;
  Engine *const engine_;
  const std::time_t created_;
  std::atomic<std::uint64_t> num_requests_{0};
  std::atomic<int> num_open_{0};
};

}  // namespace server

#endif  // SERVER_SERVICE_H
