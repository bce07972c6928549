#include "decoding/loops/own_session.h"

namespace sampler::decoding {

OwnSession::Sizes OwnSession::measure(SessionHost *host) const {
  Arena memory(nullptr), on_device(nullptr);
  Arena *const calls = place_.handle->on_cuda ? &on_device : &memory;
  SessionArrays arrays(&memory, calls);
  const Session session(config_, place_.handle, host, &arrays);
  size_t workspace_bytes = 0;
  if (!memory.is_too_large() && !on_device.is_too_large()) {
    require(session.ask_workspace(*place_.entry, &workspace_bytes));
  }
  calls->take<char>(int64_t(workspace_bytes));
  if (memory.is_too_large() || on_device.is_too_large()) {
    throw Failure{abi::fail(*place_.entry, SAMPLER_ERROR_OUT_OF_MEMORY,
                            "the texts of the loop do not fit the address space")};
  }
  return {memory.bytes(), on_device.bytes(), workspace_bytes};
}

OwnSession::OwnSession(const ExecutionTarget &place, const Session::Config &config,
                       SessionHost *host)
    : place_(place),
      config_(config),
      sizes_(measure(host)),
      host_(place, sizes_.host),
      device_(place, sizes_.device) {
  Arena memory(host_.data()), on_device(device_.data());
  Arena *const calls = place.handle->on_cuda ? &on_device : &memory;
  SessionArrays arrays(&memory, calls);
  session_.emplace(config_, place.handle, host, &arrays);
  void *const workspace = calls->take<char>(int64_t(sizes_.workspace));
  require(session_->start(*place.entry, workspace, sizes_.workspace));
}

OwnSession::~OwnSession() {
  session_->stop(*place_.entry);
}

}  // namespace sampler::decoding
