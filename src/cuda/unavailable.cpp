// Stub of the CUDA backend for builds without CUDA. No handle for it can be created, so the other
// functions are never called.
#include "cuda/backend.h"

namespace sampler::cuda {

namespace {
constexpr Error kUnavailable = {"this build", "has no CUDA", false};
}

bool is_compiled() {
  return false;
}
int num_devices() {
  return 0;
}
Error open(int, bool, Device *) {
  return kUnavailable;
}
void close(Device *) {}
bool is_device_memory(const Device &, const void *) {
  return false;
}
bool is_host_memory(const Device &, const void *) {
  return true;
}
Error allocate(const Device &, size_t, void **) {
  return kUnavailable;
}
void release(const Device &, void *) {}
Error copy(const Device &, void *, const void *, size_t, CUstream_st *) {
  return kUnavailable;
}
Error synchronize(const Device &, CUstream_st *) {
  return kUnavailable;
}

size_t largest_workspace_bytes(int64_t, int64_t, const Device &) {
  return 0;
}
size_t workspace_bytes(const contract::AnyRequest &, const Device &) {
  return 0;
}
size_t workspace_bytes(const contract::UnmaskRequest &, const Device &) {
  return 0;
}
size_t shard_workspace_bytes(const shards::ShardCall &, const Device &) {
  return 0;
}
Error run_shard_round(const shards::ShardCall &, int, const Device &, void *, const void *, void *,
                      CUstream_st *) {
  return kUnavailable;
}
Error synchronize(const Device &) {
  return kUnavailable;
}
size_t state_number_bytes(const Device &, int64_t) {
  return 0;
}
template <class Request>
Error run_state(const Request &, const Device &, void *, CUstream_st *) {
  return kUnavailable;
}
template Error run_state(const contract::AppendRequest &, const Device &, void *, CUstream_st *);
template Error run_state(const contract::AcceptRequest &, const Device &, void *, CUstream_st *);
template Error run_state(const contract::TruncateRequest &, const Device &, void *, CUstream_st *);
template Error run_state(const contract::CopyRequest &, const Device &, void *, CUstream_st *);
template Error run_state(const contract::ResetRequest &, const Device &, void *, CUstream_st *);
template Error run_state(const contract::ReadRequest &, const Device &, void *, CUstream_st *);

Error run(const contract::AnyRequest &, const Device &, void *, CUstream_st *) {
  return kUnavailable;
}
Error run(const contract::UnmaskRequest &, const Device &, void *, CUstream_st *) {
  return kUnavailable;
}

}  // namespace sampler::cuda
