#ifndef SERVER_CONNECTION_H
#define SERVER_CONNECTION_H

#include <string>

namespace server {

// The connection of a request that a handler works on. The HTTP library does not hand it out: it is
// found among the process's sockets by its other end.
class Connection {
 public:
  Connection(const std::string &remote_address, int remote_port);

  // Whether the other end sends no more, or is gone: a client that has closed its connection. False
  // where the connection was not found.
  bool has_closed() const;

 private:
  int socket_ = -1;  // open as long as the handler runs
};

}  // namespace server

#endif  // SERVER_CONNECTION_H
