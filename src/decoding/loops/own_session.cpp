#include "decoding/loops/own_session.h"

namespace sampler::decoding {

OwnSession::Sizes OwnSession::measure(const ExecutionTarget &place, const Session::Config &config) {
  Arena host(nullptr), device(nullptr);
  Arena *const calls = place.handle->on_cuda ? &device : &host;
  const Session session(config, place.handle, &host, calls);
  size_t workspace_bytes = 0;
  if (!host.is_too_large() && !device.is_too_large()) {
    require(session.ask_workspace(*place.entry, &workspace_bytes));
  }
  calls->take<char>(int64_t(workspace_bytes));
  if (host.is_too_large() || device.is_too_large()) {
    throw Failure{capi::fail(*place.entry, SAMPLER_ERROR_OUT_OF_MEMORY,
                             "the texts of the loop do not fit the address space")};
  }
  return {host.bytes(), device.bytes(), workspace_bytes};
}

OwnSession::OwnSession(const ExecutionTarget &place, const Session::Config &config)
    : place_(place),
      sizes_(measure(place, config)),
      host_(place, sizes_.host),
      device_(place, sizes_.device) {
  Arena host(host_.data()), device(device_.data());
  Arena *const calls = place.handle->on_cuda ? &device : &host;
  session_.emplace(config, place.handle, &host, calls);
  void *const workspace = calls->take<char>(int64_t(sizes_.workspace));
  require(session_->start(*place.entry, workspace, sizes_.workspace));
}

OwnSession::~OwnSession() {
  session_->stop(*place_.entry);
}

}  // namespace sampler::decoding
