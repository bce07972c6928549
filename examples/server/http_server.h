#ifndef SERVER_HTTP_SERVER_H
#define SERVER_HTTP_SERVER_H

#include <httplib.h>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "connection.h"

namespace server {

// An HTTP server that no client keeps for long. A connection has a thread from its first byte to
// its end, and those beyond the number of threads wait for one. A client may keep a thread waiting,
// for the whole of a request and its answer, for kPatience; where others wait for a thread, for
// kPatienceUnderLoad; once the server ends, hardly at all.
class HttpServer final : public httplib::Server {
 public:
  static constexpr std::chrono::milliseconds kPatience{10000};
  static constexpr std::chrono::milliseconds kPatienceUnderLoad{250};
  static constexpr std::chrono::milliseconds kPatienceAtEnd{250};
  static constexpr std::chrono::milliseconds kKeepAlive{1000};  // between requests
  static constexpr std::size_t kMaxBody = 1 << 20;              // bytes
  static constexpr std::size_t kMaxHeader = 1 << 16;            // bytes, all lines together

  explicit HttpServer(int num_threads);

  // The connection of the request that this thread handles.
  const Connection &connection();

  // Waits for no client any more, and lets the server end.
  void end();

 private:
  class Threads;

  // The HTTP library's: what a thread does for a connection.
  bool process_and_close_socket(socket_t socket) override;

  std::chrono::milliseconds patience() const;

  const int num_threads_;
  std::atomic<int> num_connections_{0};  // those that wait for a thread among them
  std::atomic<bool> is_ending_{false};
  std::mutex mutex_;
  std::map<std::thread::id, const Connection *> connections_;
};

}  // namespace server

#endif  // SERVER_HTTP_SERVER_H
