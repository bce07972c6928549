#include "connection.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <tuple>

namespace server {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kSlice{20};  // after which patience is asked again

using NameOf = int (*)(int, sockaddr *, socklen_t *);

std::pair<std::string, int> end_of(int socket, NameOf name_of) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (name_of(socket, reinterpret_cast<sockaddr *>(&address), &size) != 0 ||
      getnameinfo(reinterpret_cast<sockaddr *>(&address), size, host, sizeof host, port,
                  sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return {};
  }
  return {host, std::atoi(port)};
}

bool should_retry() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

Connection::Connection(int socket, Patience patience)
    : socket_(socket),
      patience_(std::move(patience)),
      remote_(end_of(socket, getpeername)),
      local_(end_of(socket, getsockname)) {}

Connection::~Connection() {
  shutdown(socket_, SHUT_RDWR);
  close(socket_);
}

bool Connection::is_ready(short events) const {
  pollfd entry = {socket_, events, 0};
  return poll(&entry, 1, 0) > 0;
}

bool Connection::wait_for(short events) {
  pollfd entry = {socket_, events, 0};
  while (poll(&entry, 1, 0) <= 0) {
    if (waited_ >= patience_()) return false;
    const Clock::time_point begin = Clock::now();
    poll(&entry, 1, static_cast<int>(kSlice.count()));
    waited_ += Clock::now() - begin;
  }
  return true;
}

bool Connection::wait_for_request(std::chrono::milliseconds most) {
  waited_ = {};
  while (is_empty() && !is_ready(POLLIN)) {
    if (waited_ >= std::min(most, patience_())) return false;
    pollfd entry = {socket_, POLLIN, 0};
    const Clock::time_point begin = Clock::now();
    poll(&entry, 1, static_cast<int>(kSlice.count()));
    waited_ += Clock::now() - begin;
  }
  return true;
}

bool Connection::has_closed() const {
  char byte;
  const ssize_t size = recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return size == 0 || (size < 0 && !should_retry());
}

// Fills the empty buffer. 0 where the other end sends no more, -1 where that failed.
ssize_t Connection::receive() {
  for (;;) {
    if (!wait_for(POLLIN)) return -1;
    const ssize_t received = recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (received < 0 && should_retry()) continue;
    begin_ = 0;
    end_ = static_cast<std::size_t>(std::max<ssize_t>(received, 0));
    return received;
  }
}

ssize_t Connection::read(char *to, std::size_t size) {
  const ssize_t received = num_left_ == 0 ? -1 : is_empty() ? receive() : 1;
  if (received <= 0) {
    is_broken_ = true;
    return received;
  }
  const std::size_t num_read = std::min({size, end_ - begin_, num_left_});
  std::copy_n(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_), num_read, to);
  begin_ += num_read;
  num_left_ -= num_read;
  return static_cast<ssize_t>(num_read);
}

ssize_t Connection::write(const char *from, std::size_t size) {
  for (;;) {
    if (!wait_for(POLLOUT)) return -1;
    const ssize_t sent = send(socket_, from, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0 || !should_retry()) return sent;
  }
}

void Connection::get_remote_ip_and_port(std::string &ip, int &port) const {
  std::tie(ip, port) = remote_;
}

void Connection::get_local_ip_and_port(std::string &ip, int &port) const {
  std::tie(ip, port) = local_;
}

}  // namespace server
