#include "http_server.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>

namespace server {

namespace {

constexpr std::size_t kMaxSkipped =
    1 << 26;  // bytes of a body that is too long, before its sender gets an answer

using Setup = std::function<void(httplib::Request &)>;

// What process_request() of the HTTP library takes besides depends on its version.
template <typename Server, typename... Addresses>
using ProcessRequest = bool (Server::*)(httplib::Stream &, Addresses..., bool, bool &,
                                        const Setup &);

template <typename Server, typename Base>
bool process(Server *server, ProcessRequest<Base> request, Connection *connection, bool is_last,
             bool *is_closed, const Setup &setup) {
  return (server->*request)(*connection, is_last, *is_closed, setup);
}

template <typename Server, typename Base>
bool process(Server *server,
             ProcessRequest<Base, const std::string &, int, const std::string &, int> request,
             Connection *connection, bool is_last, bool *is_closed, const Setup &setup) {
  std::string remote, local;
  int remote_port = 0, local_port = 0;
  connection->get_remote_ip_and_port(remote, remote_port);
  connection->get_local_ip_and_port(local, local_port);
  return (server->*request)(*connection, remote, remote_port, local, local_port, is_last,
                            *is_closed, setup);
}

// A body is taken as it is, whatever its headers declare: neither unpacked, which could make a
// thousand times as much of it, nor split. It is bounded also where nothing says how long it is.
void take_plain_body(httplib::Request *request, Connection *connection) {
  request->headers.erase("Content-Encoding");
  request->headers.erase("Content-Type");
  request->ranges.clear();
  const std::string length = request->get_header_value("Content-Length");
  const bool is_too_long = length.size() > 7 || std::atoll(length.c_str()) >
                                                    static_cast<long long>(HttpServer::kMaxBody);
  connection->limit(is_too_long ? kMaxSkipped : HttpServer::kMaxBody + HttpServer::kMaxHeader);
}

}  // namespace

class HttpServer::Threads final : public httplib::TaskQueue {
 public:
  explicit Threads(HttpServer *server)
      : server_(*server), pool_(static_cast<std::size_t>(server->num_threads_)) {}

  // A connection that has come. Newer versions of the library return whether there was room.
  decltype(std::declval<httplib::TaskQueue &>().enqueue({})) enqueue(
      std::function<void()> task) override {
    ++server_.num_connections_;
    return pool_.enqueue([this, task = std::move(task)] {
      task();
      --server_.num_connections_;
    });
  }

  void shutdown() override { pool_.shutdown(); }

 private:
  HttpServer &server_;
  httplib::ThreadPool pool_;
};

HttpServer::HttpServer(int num_threads) : num_threads_(num_threads) {
  new_task_queue = [this] { return new Threads(this); };
  set_payload_max_length(kMaxBody);
}

std::chrono::milliseconds HttpServer::patience() const {
  if (is_ending_) return kPatienceAtEnd;
  return num_connections_ > num_threads_ ? kPatienceUnderLoad : kPatience;
}

bool HttpServer::process_and_close_socket(socket_t socket) {
  Connection connection(socket, [this] { return patience(); });
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    connections_[std::this_thread::get_id()] = &connection;
  }
  const Setup setup = [&connection](httplib::Request &request) {
    take_plain_body(&request, &connection);
  };
  bool is_open = true, is_closed = false;
  for (std::size_t left = keep_alive_max_count_; left > 0 && is_open; --left) {
    if (is_ending_ || !connection.wait_for_request(kKeepAlive)) break;
    connection.limit(kMaxHeader);
    is_open = process<HttpServer>(this, &HttpServer::process_request, &connection, left == 1,
                                  &is_closed, setup) &&
              !is_closed && !connection.is_broken();
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  connections_.erase(std::this_thread::get_id());
  return is_open;
}

const Connection &HttpServer::connection() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return *connections_.at(std::this_thread::get_id());
}

void HttpServer::end() {
  is_ending_ = true;
  stop();
}

}  // namespace server
