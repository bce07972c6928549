// The way of every operation: read the struct, check it, find its workspace, run it.
#pragma once

#include <algorithm>
#include <cstdio>

#include "abi/busy.h"
#include "abi/check.h"
#include "abi/handle_impl.h"
#include "capi/reports.h"
#include "capi/requests.h"
#include "contract/unmask.h"
#include "contract/verification.h"
#include "cpu/operations.h"
#include "cpu/unmask.h"

namespace sampler::capi {

using namespace abi;

// Whether the call's arrays are where the handle's device wants them. Asks the driver.
inline void check_places(Check &check, const sampler_handle &handle) {
  const auto is_on_host = [&](Access access) {
    return access == Access::kReadOnHost ||
           (access == Access::kReadParameters && handle.device.host_parameters);
  };
  char device[64];
  std::snprintf(device, sizeof device, "memory of CUDA device %d", handle.device.id);
  check.places(
      [&](const void *address, Access access) {
        return is_on_host(access) ? cuda::is_host_memory(handle.device, address)
                                  : cuda::is_device_memory(handle.device, address);
      },
      [&](Access access) {
        if (access == Access::kReadOnHost) return static_cast<const char *>("host memory");
        return is_on_host(access) ? "host memory, with host_parameters" : device;
      });
}

// The memory a call works in: the caller's or the handle's. Null, and an error, when too small.
inline void *find_workspace(Check &check, const sampler_handle &handle, const sampler_exec &exec,
                            size_t needed_bytes) {
  if (!check.ok()) return nullptr;
  if (exec.workspace && exec.workspace_bytes < needed_bytes) {
    check.fail(SAMPLER_ERROR_WORKSPACE_TOO_SMALL,
               "exec.workspace_bytes is %zu; this call needs %zu", exec.workspace_bytes,
               needed_bytes);
  } else if (!exec.workspace && handle.workspace.bytes < needed_bytes) {
    check.fail(SAMPLER_ERROR_WORKSPACE_TOO_SMALL,
               "the sampler's workspace has %zu bytes; this call needs %zu: create it with larger "
               "max_rows and max_cols, or set exec.workspace",
               handle.workspace.bytes, needed_bytes);
  }
  return exec.workspace ? exec.workspace : handle.workspace.data;
}

template <class Request>
size_t needed_workspace(const sampler_handle &handle, const Request &request) {
  if (contract::num_output_rows(request) == 0) return 0;
  return handle.on_cuda ? cuda::workspace_bytes(request, handle.device)
                        : cpu::workspace_bytes(request, handle.executor.num_threads);
}

inline size_t needed_workspace(const sampler_handle &handle,
                               const contract::UnmaskRequest &request) {
  return handle.on_cuda && request.num_blocks > 0 ? cuda::workspace_bytes(request, handle.device)
                                                  : 0;
}

// The handle's executor. It calls the host's parallel_for as the host's callbacks are called.
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

inline void run_on_device(Check &check, const sampler_handle &handle,
                          const contract::UnmaskRequest &request, void *workspace,
                          sampler_stream stream) {
  if (!handle.on_cuda) return cpu::unmask(request);
  const cuda::Error error = cuda::run(request, handle.device, workspace, stream);
  if (error) check.fail(SAMPLER_ERROR_CUDA, "%s: %s", error.call, error.reason);
}

// Contents of host arrays, which are read once it is known that they are the host's.
template <class Request>
void check_contents(Check &, const Request &) {}
inline void check_contents(Check &check, const contract::VerifyRequest &request) {
  if (!request.verification) return;
  check.shares("acceptance->synthetic_rates", request.verification->numbers.synthetic_rates,
               request.num_drafts);
}

// Calls f with another request for the same, which may need less workspace. There is one for
// sessions, whose workspace is from before they know which numbers will differ by sequence; and for
// verifications where the workspace is the handle's: `is_of_handle`.
template <class Request, class F>
void visit_other(const Request &, bool, const F &) {}
template <class F>
void visit_other(const contract::SampleRequest &request, bool, const F &f) {
  if (!request.may_lack_lists) return;
  contract::SampleRequest other = request;
  other.lacks_lists = true;
  f(other);
}
template <class F>
void visit_other(const contract::VerifyRequest &request, bool is_of_handle, const F &f) {
  const bool is_of_session = request.verification && request.verification->keeps_verified;
  if (!is_of_session && !is_of_handle) return;
  contract::VerifyRequest other = request;
  other.reads_one_by_one = true;
  f(other);
}

template <class Request>
void check_and_run(Check &check, const sampler_handle &handle, const Request &request,
                   const sampler_exec &exec) {
  check.workspace(exec.workspace, exec.workspace_bytes);
  check.overlaps();
  if (handle.check_pointers) check_places(check, handle);
  check_contents(check, request);
  if (!check.ok() || !contract::writes_anything(request)) return;
  const auto run = [&](const Request &chosen, size_t needed_bytes) {
    void *workspace = find_workspace(check, handle, exec, needed_bytes);
    if (check.ok()) run_on_device(check, handle, chosen, workspace, exec.stream);
  };
  const size_t room = exec.workspace ? exec.workspace_bytes : handle.workspace.bytes;
  const size_t needed_bytes = needed_workspace(handle, request);
  bool has_run = false;
  if (needed_bytes > room) {
    visit_other(request, !exec.workspace, [&](const Request &other) {
      run(other, needed_workspace(handle, other));
      has_run = true;
    });
  }
  if (!has_run) run(request, needed_bytes);
}

// The parts of a request that it points to, for the time of a call.
struct RequestParts {
  std::optional<contract::Pipeline> pipeline;
  std::optional<contract::Reports> reports;
  std::optional<contract::Verification> verification;

  RequestContext context(sampler_t handle, bool is_of_session) {
    return {handle->fallback_token_id, &pipeline, &reports, &verification, handle, is_of_session};
  }
};

// A public operation, by its full call or, in other words for the same arguments, by a simple one.
template <class Args>
sampler_status call(sampler_t handle, const Args *user_args, Wording wording = Wording::kFull,
                    bool is_of_session = false) noexcept {
  return enter(handle, [&](Entry &entry) {
    const Busy busy(&handle->owner);
    Check check(entry, true, wording);
    check_is_free(check, busy);
    Args args;
    if (check.read("args", user_args, &args)) {
      RequestParts parts;
      const auto request = to_request(check, args, parts.context(handle, is_of_session));
      check_and_run(check, *handle, request, args.exec);
    }
    return check.status();
  });
}

// The workspace that the call with these arguments needs. Cold: small, not fast.
template <class Args>
[[gnu::cold]] sampler_status size_workspace(Entry &entry, sampler_t handle, const Args *user_args,
                                            size_t *out_bytes, bool is_of_session) {
  Check arguments(entry);
  arguments.required("out_bytes", out_bytes);
  if (!arguments.ok()) return arguments.status();
  Check shapes(entry, false);
  Args args;
  if (!shapes.read("args", user_args, &args)) return shapes.status();
  RequestParts parts;
  const auto request = to_request(shapes, args, parts.context(handle, is_of_session));
  if (!shapes.ok()) return shapes.status();
  *out_bytes = needed_workspace(*handle, request);
  visit_other(request, false, [&](const auto &other) {
    *out_bytes = std::max(*out_bytes, needed_workspace(*handle, other));
  });
  return shapes.status();
}
template <class Args>
sampler_status size_workspace(sampler_t handle, const Args *user_args, size_t *out_bytes,
                              bool is_of_session = false) noexcept {
  return enter(handle, [&](Entry &entry) {
    return size_workspace(entry, handle, user_args, out_bytes, is_of_session);
  });
}

}  // namespace sampler::capi
