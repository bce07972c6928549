#ifndef SERVER_CONNECTION_H
#define SERVER_CONNECTION_H

#include <httplib.h>
#include <poll.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>

namespace server {

// How long a client may keep a thread waiting, for each of its requests and all in all.
using Patience = std::function<std::chrono::milliseconds()>;

// A client's connection, as the HTTP library reads and writes it. Reading fails, and so does
// writing, when the client has kept it waiting for too long, byte by byte or not, or has sent too
// much.
class Connection final : public httplib::Stream {
 public:
  // Closes the socket at its end. `patience` is asked again and again, and may grow less.
  Connection(int socket, Patience patience);
  ~Connection() override;
  Connection(const Connection &) = delete;
  Connection &operator=(const Connection &) = delete;

  // Waits for a request's first byte. False: none came.
  bool wait_for_request(std::chrono::milliseconds most);

  // What a request may still have of bytes.
  void limit(std::size_t num_bytes) { num_left_ = num_bytes; }

  // Whether the other end sends no more, or is gone: a client that has closed its connection.
  bool has_closed() const;

  // Whether reading has failed: what comes next, if anything, is no request.
  bool is_broken() const { return is_broken_; }

  // The HTTP library's. Newer ones have some of these, older ones others.
  bool is_readable() const override { return !is_empty() || is_ready(POLLIN); }
  bool is_writable() const { return is_ready(POLLOUT) && !has_closed(); }
  bool wait_readable() const { return is_readable(); }
  bool wait_writable() const { return is_writable(); }
  ssize_t read(char *to, std::size_t size) override;
  ssize_t write(const char *from, std::size_t size) override;
  void get_remote_ip_and_port(std::string &ip, int &port) const override;
  void get_local_ip_and_port(std::string &ip, int &port) const;
  socket_t socket() const override { return socket_; }
  time_t duration() const { return 0; }

 private:
  bool is_empty() const { return begin_ == end_; }
  bool is_ready(short events) const;
  bool wait_for(short events);
  ssize_t receive();

  const int socket_;
  const Patience patience_;
  std::pair<std::string, int> remote_, local_;
  std::chrono::steady_clock::duration waited_{};  // in this request
  std::size_t num_left_ = 0;                      // bytes that may be read
  bool is_broken_ = false;
  std::array<char, 4096> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // of what has been received and not read
};

}  // namespace server

#endif  // SERVER_CONNECTION_H
