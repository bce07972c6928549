// The way of every call: read the struct, check it, find its workspace, run it.
#pragma once

#include <cstdio>

#include "capi/busy.h"
#include "capi/check.h"
#include "capi/handle_impl.h"
#include "cpu/operations.h"

namespace sampler::capi {

// Whether the call's arrays are where the handle's device wants them. Asks the driver.
inline void check_places(Check &check, const sampler_handle &handle) {
  const auto is_on_host = [&](Access access) {
    return access == Access::kReadParameters && handle.device.host_parameters;
  };
  char device[64];
  std::snprintf(device, sizeof device, "memory of CUDA device %d", handle.device.id);
  check.places(
      [&](const void *address, Access access) {
        return is_on_host(access) ? cuda::is_host_memory(address)
                                  : cuda::is_device_memory(handle.device, address);
      },
      [&](Access access) {
        return is_on_host(access) ? "host memory, with host_parameters" : device;
      });
}

// The memory a call works in: the caller's or the handle's. Null, and an error, when too small.
template <class Args>
void *find_workspace(Check &check, const sampler_handle &handle, const Args &args,
                     size_t needed_bytes) {
  if (!check.ok()) return nullptr;
  if (args.workspace && args.workspace_bytes < needed_bytes) {
    check.fail(SAMPLER_ERROR_WORKSPACE_TOO_SMALL, "workspace_bytes is %zu; this call needs %zu",
               args.workspace_bytes, needed_bytes);
  } else if (!args.workspace && handle.workspace.bytes < needed_bytes) {
    check.fail(SAMPLER_ERROR_WORKSPACE_TOO_SMALL,
               "the sampler's workspace has %zu bytes; this call needs %zu: create it with larger "
               "max_rows and max_cols, or set workspace",
               handle.workspace.bytes, needed_bytes);
  }
  return args.workspace ? args.workspace : handle.workspace.data;
}

template <class Request>
size_t needed_workspace(const sampler_handle &handle, const Request &request) {
  return handle.on_cuda ? cuda::workspace_bytes(request, handle.device)
                        : cpu::workspace_bytes(request, handle.executor.num_threads);
}

// The handle's executor, with a parallel_for of the host's called as all that is the host's.
struct HostParallelFor {
  Entry &entry;
  const cpu::Executor &handles;

  cpu::Executor executor() {
    cpu::Executor result = handles;
    if (!result.parallel_for) return result;
    result.parallel_for_user = this;
    result.parallel_for = [](void *user, int64_t num_tasks, cpu::TaskFn task, void *task_user) {
      auto *const self = static_cast<HostParallelFor *>(user);
      self->entry.call_host([&] {
        self->handles.parallel_for(self->handles.parallel_for_user, num_tasks, task, task_user);
      });
    };
    return result;
  }
};

template <class Request>
void run_on_device(Check &check, const sampler_handle &handle, const Request &request,
                   void *workspace, sampler_stream stream) {
  if (handle.on_cuda) {
    const cuda::Error error = cuda::run(request, handle.device, workspace, stream);
    if (error) check.fail(SAMPLER_ERROR_CUDA, "%s: %s", error.call, error.reason);
    return;
  }
  HostParallelFor parallel_for = {check.entry(), handle.executor};
  if (const cpu::Misuse misuse = cpu::run(request, parallel_for.executor(), workspace)) {
    check.fail(SAMPLER_ERROR_CALLBACK, "%s", misuse);
  }
}

template <class Args>
void check_and_run(Check &check, sampler_handle *handle, const Args &args) {
  auto request = to_request(check, args, *handle);
  check.workspace(args.workspace, args.workspace_bytes);
  check.overlaps();
  if (handle->check_pointers) check_places(check, *handle);
  if (!check.ok() || args.num_rows == 0) return;
  void *workspace = find_workspace(check, *handle, args, needed_workspace(*handle, request));
  if (check.ok()) run_on_device(check, *handle, request, workspace, args.stream);
}

// A public operation. `to_request(check, args, handle)` is found for each struct by overloading.
template <class Args>
sampler_status call(sampler_t handle, const Args *user_args) noexcept {
  return enter(handle, [&](Entry &entry) {
    const Busy busy(&handle->owner);
    Check check(entry);
    if (!busy.acquired()) {
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
                 "sampler is serving another call; it serves one at a time");
      return check.status();
    }
    Args args;
    if (check.read("args", user_args, &args)) check_and_run(check, handle, args);
    return check.status();
  });
}

// sampler_workspace_size for one struct.
template <class Args>
void size_workspace(Check &check, sampler_handle *handle, const void *user_args,
                    size_t *out_bytes) {
  Args args;
  if (!check.read("args", static_cast<const Args *>(user_args), &args)) return;
  const auto request = to_request(check, args, *handle);
  if (!check.ok()) return;
  *out_bytes = args.num_rows == 0 ? 0 : needed_workspace(*handle, request);
}

}  // namespace sampler::capi
