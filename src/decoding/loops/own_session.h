// The session of a loop, in memory that is allocated when the loop starts.
#pragma once

#include <optional>

#include "decoding/loops/device_memory.h"
#include "decoding/session/session.h"

namespace sampler::decoding {

class OwnSession {
 public:
  // `host`, the loop's, must outlive this.
  OwnSession(const ExecutionTarget &place, const Session::Config &config, SessionHost *host);
  ~OwnSession();
  OwnSession(const OwnSession &) = delete;
  OwnSession &operator=(const OwnSession &) = delete;

  Session *operator->() { return &*session_; }

 private:
  struct Sizes {
    size_t host, device, workspace;
  };
  Sizes measure(SessionHost *host) const;

  ExecutionTarget place_;
  const Session::Config config_;
  Sizes sizes_;
  HostBlock host_;
  DeviceBytes device_;  // of a CUDA handle
  std::optional<Session> session_;
};

}  // namespace sampler::decoding
