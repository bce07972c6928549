#include "connection.h"

#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <system_error>

namespace server {

namespace {

// "address port" of a socket's other end; "" where it has none.
std::string remote_end(int socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (getpeername(socket, reinterpret_cast<sockaddr *>(&address), &size) != 0 ||
      getnameinfo(reinterpret_cast<sockaddr *>(&address), size, host, sizeof host, port,
                  sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "";
  }
  return std::string(host) + " " + port;
}

}  // namespace

Connection::Connection(const std::string &remote_address, int remote_port) {
  const std::string remote = remote_address + " " + std::to_string(remote_port);
  std::error_code error;
  for (const auto &entry : std::filesystem::directory_iterator("/dev/fd", error)) {
    const std::string name = entry.path().filename();
    int number = -1;
    std::from_chars(name.data(), name.data() + name.size(), number);
    if (number >= 0 && remote_end(number) == remote) socket_ = number;
  }
}

bool Connection::has_closed() const {
  if (socket_ < 0) return false;
  char byte;
  const ssize_t size = recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return size == 0 || (size < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

}  // namespace server
