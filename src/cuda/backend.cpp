// The CUDA backend: devices, workspaces and launches. The CUDA runtime is linked statically.
#include "cuda/backend.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <iterator>
#include <type_traits>

#include "chains/chains.h"
#include "cuda/host_parameters.h"
#include "cuda/prepare.h"
#include "held/held.h"
#include "launch/launch.h"
#include "launch/plan.h"
#include "stream/stream.h"

namespace sampler::cuda {

namespace {

Error error_of(const char *call, cudaError_t error) {
  if (error == cudaSuccess) return {};
  return {call, cudaGetErrorString(error), error == cudaErrorMemoryAllocation};
}

// Clears on destruction the pending runtime error that the library's calls left, unless one of the
// caller's was pending before.
class PendingError {
 public:
  PendingError() : was_pending_(cudaPeekAtLastError() != cudaSuccess) {}
  ~PendingError() {
    if (!was_pending_) cudaGetLastError();
  }
  PendingError(const PendingError &) = delete;
  PendingError &operator=(const PendingError &) = delete;

 private:
  bool was_pending_;
};

// Driver and runtime share their error codes.
Error error_of(const char *call, CUresult result) {
  return error_of(call, cudaError_t(result));
}

template <class Function>
Function *driver_function(void *address) {
  return reinterpret_cast<Function *>(address);
}

// Makes the device's context current for the lifetime of the object, then restores the caller's, if
// any. cudaSetDevice would replace the caller's context, and a runtime call without a context would
// create one. Errors do not stay pending.
class CurrentDevice {
 public:
  explicit CurrentDevice(const Device &device) : device_(device) {
    const auto push = driver_function<decltype(cuCtxPushCurrent)>(device.push_context);
    error_ = error_of("cuCtxPushCurrent", push(device.context));
  }
  ~CurrentDevice() {
    CUcontext context = nullptr;
    if (!error_) driver_function<decltype(cuCtxPopCurrent)>(device_.pop_context)(&context);
  }
  CurrentDevice(const CurrentDevice &) = delete;
  CurrentDevice &operator=(const CurrentDevice &) = delete;

  const Error &error() const { return error_; }

 private:
  PendingError pending_error_;
  const Device &device_;
  Error error_;
};

// Looks up a driver function. The library is not linked with the driver, so that machines without
// it can use the CPU.
Error find_driver_function(const char *name, void **function) {
  constexpr unsigned kVersion = 12000;  // CUDA version of the declarations in <cuda.h>
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const char *const call = "cudaGetDriverEntryPointByVersion";
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, function, kVersion, cudaEnableDefault, &found);
#else
  const char *const call = "cudaGetDriverEntryPoint";
  const cudaError_t error = cudaGetDriverEntryPoint(name, function, cudaEnableDefault, &found);
  static_assert(CUDART_VERSION >= kVersion);
#endif
  if (error == cudaSuccess && found != cudaDriverEntryPointSuccess) {
    return error_of(call, cudaErrorNotSupported);
  }
  return error_of(call, error);
}

// Retains the device's primary context.
Error retain_context(Device *device) {
  void *retain = nullptr;
  const struct {
    const char *name;
    void **function;
  } wanted[] = {
      {"cuCtxPushCurrent", &device->push_context},
      {"cuCtxPopCurrent", &device->pop_context},
      {"cuDevicePrimaryCtxRelease", &device->release_context},
      {"cuDevicePrimaryCtxRetain", &retain},
  };
  for (const auto &item : wanted) {
    if (const Error error = find_driver_function(item.name, item.function)) return error;
  }
  const auto retain_primary = driver_function<decltype(cuDevicePrimaryCtxRetain)>(retain);
  CUcontext context = nullptr;
  const CUresult result = retain_primary(&context, device->id);
  if (result == CUDA_SUCCESS) device->context = context;
  return error_of("cuDevicePrimaryCtxRetain", result);
}

// Whether rows of a request may be streamed, and held.
template <class Request>
constexpr bool kMayBeStreamed = std::is_same_v<Request, contract::SampleRequest> ||
                                std::is_same_v<Request, kernels::StagedSampleRequest>;
template <class Request>
constexpr bool kMayBeHeld =
    kMayBeStreamed<Request> || std::is_same_v<Request, contract::FilterRequest> ||
    std::is_same_v<Request, contract::SelectRequest> ||
    std::is_same_v<Request, contract::VerifyRequest> ||
    std::is_same_v<Request, kernels::ExtendedVerifyRequest>;

// The plans of requests whose rows are streamed, or held; default: they are not.
template <class Request>
kernels::Stream stream_of(const Request &request, const Device &device) {
  const kernels::StreamKind kind = kernels::stream_kind(request);
  kernels::Stream stream = kernels::plan_stream(
      kind, kernels::may_have_bands(request), request.num_rows, request.input.num_cols,
      device.shape.stream_blocks[int(kind)], kernels::need_lists_alone(request));
  if constexpr (kernels::kHasStages<Request>) {
    if (stream.is_on()) stream.lists = kernels::plan_lists(request);
    if (!stream.lists.is_on()) stream.reports = request.wanted;
    if (stream.has_edits()) stream.edits = kernels::plan_edits(request, device.shape.edits_bytes);
  }
  return stream.edits.capacity < 0 ? kernels::Stream() : stream;
}

template <class Request>
kernels::Held held_of(const Request &request, const Device &device) {
  if constexpr (kMayBeHeld<Request> && kernels::kHasStages<Request>) {
    return kernels::plan_held(request, device.shape);
  } else if constexpr (kMayBeHeld<Request>) {
    const kernels::Extent extent = kernels::extent_of(request);
    return kernels::plan_held(kernels::held_kind(request), extent.num_rows, extent.num_cols,
                              device.shape);
  }
  return {};
}

// The stream that lists the first tokens of chains' positions.
kernels::Stream stream_of(const kernels::ExtendedVerifyRequest &request,
                          const kernels::Chains &chains, const Device &device) {
  if (!kernels::may_be_listed(request)) return {};
  const kernels::StagedSampleRequest positions = kernels::positions_of(request, chains);
  const kernels::StreamedLists lists = kernels::plan_lists_alone(positions);
  if (!lists.is_on()) return {};
  const kernels::StreamKind kind =
      positions.stages.has_edits() ? kernels::StreamKind::kEdited : kernels::StreamKind::kList;
  kernels::Stream stream =
      kernels::plan_stream(kind, false, positions.num_rows, positions.input.num_cols,
                           device.shape.stream_blocks[int(kind)], true);
  if (!stream.is_on()) return {};
  stream.lists = lists;
  stream.lists.num_positions = chains.num_positions;
  if (stream.has_edits()) stream.edits = kernels::plan_edits(positions, device.shape.edits_bytes);
  return stream.edits.capacity < 0 ? kernels::Stream() : stream;
}

// The plan of a request whose rows are streamed or held; neither: the general kernel has all.
struct FastPlan {
  kernels::Stream stream;
  kernels::Held held;
  kernels::Chains chains;  // decided from streamed or held positions

  bool is_on() const { return stream.is_on() || held.is_on(); }
  // Whether small kernels compute most rows.
  bool is_small() const {
    return stream.is_on() || (held.is_on() && !kernels::is_sample(held.kind));
  }
  size_t bytes() const { return stream.bytes() + held.bytes(); }
};

template <class Request>
FastPlan fast_plan_of(const Request &request, const Device &device) {
  FastPlan plan;
  // Edits are cheaper beside a stream, draws of all tokens from held rows.
  if constexpr (std::is_same_v<Request, kernels::StagedSampleRequest>) {
    plan.stream = stream_of(request, device);
  }
  // Rows that lists leave are held.
  const bool leaves_many = plan.stream.lists.leave_many();
  if (!plan.is_on() || leaves_many) plan.held = held_of(request, device);
  if (leaves_many && plan.held.is_on() && !kernels::is_sample(plan.held.kind)) plan.stream = {};
  if constexpr (std::is_same_v<Request, contract::SampleRequest>) {
    if (!plan.is_on()) plan.stream = stream_of(request, device);
  }
  if constexpr (std::is_same_v<Request, kernels::ExtendedVerifyRequest>) {
    const kernels::Chains chains = kernels::plan_chains(request);
    if (chains.kind == kernels::ChainsKind::kDecided) {
      plan.stream = stream_of(request, chains, device);
      if (plan.stream.is_on()) {
        plan.held = {};
      } else if (request.has_pipeline) {
        plan.held = kernels::plan_held(request, chains, device.shape);
      }
      if (plan.stream.is_on() || plan.held.edits.is_on()) plan.chains = chains;
    }
  }
  return plan;
}

// Plan of the general kernel, which computes all rows, or those that other kernels leave. Without
// rows any plan is valid.
template <class Request>
kernels::Plan plan_of(const Request &request, const Device &device, bool is_left = false) {
  kernels::Extent extent = kernels::extent_of(request);
  extent.is_left = is_left;
  return extent.num_rows > 0 ? kernels::make_plan(device.shape, extent) : kernels::Plan();
}
template <class Request>
kernels::Plan plan_of(const Request &request, const Device &device, const FastPlan &fast) {
  kernels::Plan plan = plan_of(request, device, fast.is_on());
  // Teams of both have the same memory, one after the other; of some kinds they have none.
  if (kernels::is_sample(fast.held.kind)) {
    plan.num_teams = std::max(plan.num_teams, fast.held.num_teams);
  } else if (fast.held.is_on() && !fast.held.leaves_rows()) {
    plan.num_teams = 0;
  }
  return plan;
}

// Layout of a call's workspace: positions of chains that are sampled; bitmaps, or data that teams
// of spread rows or streams exchange; edited rows; packed lists; statuses of rows that are reported
// apart; per-slot parameters from the host.
struct Layout {
  static_assert(kernels::kIdWords * sizeof(uint32_t) % alignof(uint64_t) == 0);
  static_assert(kernels::kSpreadAlignment % alignof(uint64_t) == 0);
  static_assert(kernels::kStreamAlignment == kernels::kSpreadAlignment);
  static_assert(kernels::kIdWords * sizeof(uint32_t) % kernels::StageMemory::kAlignment == 0);

  size_t chain_bytes = 0;
  size_t bitmap_bytes = 0;
  size_t spread_bytes = 0;
  size_t stream_bytes = 0;
  size_t stage_bytes = 0;
  size_t list_bytes = 0;
  size_t status_bytes = 0;
  size_t parameter_bytes = 0;

  size_t team_bytes() const { return std::max({bitmap_bytes, spread_bytes, stream_bytes}); }
  size_t before_statuses() const { return team_bytes() + stage_bytes + list_bytes; }
  size_t before_parameters() const { return chain_bytes + before_statuses() + status_bytes; }

  // Size, for a block of any alignment.
  size_t bytes() const {
    const size_t used = before_parameters() + parameter_bytes;
    return used ? used + alignment() - 1 : 0;
  }

  char *begin(void *workspace) const {
    const uintptr_t address = reinterpret_cast<uintptr_t>(workspace);
    return reinterpret_cast<char *>((address + alignment() - 1) / alignment() * alignment());
  }

 private:
  size_t alignment() const {
    if (stage_bytes || chain_bytes) return kernels::StageMemory::kAlignment;
    return spread_bytes || stream_bytes ? size_t(kernels::kSpreadAlignment) : alignof(uint64_t);
  }
};

size_t status_bytes(int64_t num_rows) {
  return size_t(num_rows + num_rows % 2) * sizeof(uint32_t);
}

size_t bitmap_bytes(int64_t num_teams) {
  return size_t(num_teams) * kernels::kIdWords * sizeof(uint32_t);
}

// Places a request's packed lists in `memory`; null: only counts. Returns their bytes.
template <class Request>
size_t place_kept_lists(Request *, char *) {
  return 0;
}
size_t place_kept_lists(kernels::StagedSampleRequest *request, char *memory) {
  size_t used = 0;
  const auto take = [&](size_t bytes) {
    constexpr size_t kAlignment = alignof(uint64_t);
    char *const part = memory ? memory + used : nullptr;
    used += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return part;
  };
  request->kept_lists = contract::KeptLists::of(request->wanted, request->num_rows, take);
  return used;
}

template <class Request>
Layout layout_of(const Request &request, const kernels::Plan &plan, const Device &device,
                 size_t stream_bytes = 0) {
  Layout layout;
  layout.stream_bytes = stream_bytes;
  const kernels::Extent extent = kernels::extent_of(request);
  if (kernels::needs_bitmaps(extent)) layout.bitmap_bytes = bitmap_bytes(plan.num_teams);
  if (plan.spread.num_slices > 0) {
    layout.spread_bytes = size_t(extent.num_rows) * plan.spread.row_bytes();
  }
  if constexpr (kernels::kHasStages<Request>) {
    layout.stage_bytes = size_t(plan.num_teams) * request.memory.bytes_of_team;
    Request placed = request;
    layout.list_bytes = place_kept_lists(&placed, nullptr);
  } else if constexpr (std::is_same_v<Request, kernels::ShardRequest>) {
    layout.stage_bytes = request.workspace.bytes(plan.num_teams);
  }
  layout.parameter_bytes = host_array_bytes(request, device.host_parameters);
  return layout;
}

// Whether a request runs on the kernels with stages, which have registers to spare. So do draws
// from probabilities where rows are held and not streamed, unless some are of one row, whose work
// they share.
bool is_staged(const contract::SampleRequest &request, const Device &device) {
  return request.pipeline || request.reports || request.out_observations ||
         request.random.are_watermarks ||
         (request.input.kind == SAMPLER_PROBABILITIES && !stream_of(request, device).is_on() &&
          request.num_rows <= request.input.num_rows &&
          held_of(kernels::StagedSampleRequest(request), device).is_on());
}
bool is_staged(const contract::FilterRequest &request, const Device &) {
  return request.pipeline != nullptr;
}

bool is_staged(const contract::VerifyRequest &request, const Device &) {
  return request.verification != nullptr;
}
// Updates duplicate members of a request after its arrays and memory were moved to the workspace.
template <class Request>
void settle(kernels::Staged<Request> *request) {
  request->stages.adaptive.top_p = request->parameters.top_p;
}
void settle(kernels::ExtendedVerifyRequest *request) {
  contract::Pipeline &stages = request->positions.stages;
  request->positions.parameters = request->parameters;
  request->positions.memory = request->memory;
  stages.adaptive.top_p = request->parameters.top_p;
}
void settle(kernels::ShardRequest *request) {
  contract::AdaptiveParameters &adaptive = request->stages.adaptive;
  using Call = kernels::ShardRequest::Call;
  if (request->which == Call::kSample) adaptive.top_p = request->sample.parameters.top_p;
  if (request->which == Call::kFilter) adaptive.top_p = request->filter.parameters.top_p;
}

// Enqueues all launches of an operation; launch_rows() those that compute its rows.
template <class Request, class LaunchRows>
cudaError_t launch_all(const Request &, const Device &, CUstream_st *,
                       const LaunchRows &launch_rows) {
  return launch_rows();
}

// Packed lists add two launches: one before the rows, which zeroes the number of entries, and one
// after them, which packs. Without rows only the second is launched.
template <class LaunchRows>
cudaError_t launch_all(const kernels::StagedSampleRequest &request, const Device &device,
                       CUstream_st *stream, const LaunchRows &launch_rows) {
  const contract::Reports &wanted = request.wanted;
  if (!wanted.are_lists_packed()) return launch_rows();
  if (request.num_rows > 0) {
    Uploader zero(request.kept_lists.num_taken, stream);
    zero.add(nullptr, 0, sizeof(uint64_t));
    cudaError_t error = zero.flush();
    if (error == cudaSuccess) error = launch_rows();
    if (error != cudaSuccess) return error;
  }
  const kernels::PackRequest packing = {request.kept_lists,
                                        request.num_rows,
                                        wanted.kept_capacity,
                                        wanted.out_kept_token_ids,
                                        wanted.out_kept_probabilities,
                                        wanted.out_kept_offsets};
  const int64_t most_blocks = std::max<int64_t>(request.num_rows, 1);
  return kernels::launch(packing, std::min<int64_t>(most_blocks, device.shape.num_multiprocessors),
                         stream);
}

// The sampling of the positions of chains that are verified by it, as the request of its kernels.
template <class F>
auto visit_positions(const kernels::ExtendedVerifyRequest &request, const kernels::Chains &chains,
                     const Device &device, const F &f) {
  const kernels::StagedSampleRequest staged = kernels::positions_of(request, chains);
  const contract::SampleRequest &plain = staged;
  if (request.are_staged || is_staged(plain, device)) return f(staged);
  return f(plain);
}

// Chains that are verified by it, only where their rows are streamed or held.
kernels::Chains matched_of(const kernels::ExtendedVerifyRequest &request, const Device &device) {
  const kernels::Chains chains = kernels::plan_chains(request);
  const bool is_fast = chains.kind == kernels::ChainsKind::kMatched &&
                       visit_positions(request, chains, device, [&](const auto &positions) {
                         return fast_plan_of(positions, device).is_on();
                       });
  return is_fast ? chains : kernels::Chains();
}

// The same for chains whose positions are sampled, or listed, at once.
bool reads_at_once(const kernels::ExtendedVerifyRequest &request, const Device &device) {
  const kernels::Chains chains = kernels::plan_chains(request);
  if (chains.kind == kernels::ChainsKind::kMatched) return matched_of(request, device).is_on();
  return chains.is_on() && stream_of(request, chains, device).is_on();
}

// Calls f(request) with the request type of its kernels. Requests with stages have other kernels,
// and so have dense chains whose positions are read at once.
template <class F>
auto visit(const contract::AnyRequest &any, const Device &device, const F &f) {
  return any.visit([&](const auto &request) {
    using Request = std::decay_t<decltype(request)>;
    if constexpr (std::is_same_v<Request, contract::VerifyRequest>) {
      if (!request.verification && !request.reads_one_by_one && request.num_rows > 0) {
        const contract::Verification rules = kernels::rules_of_chains(request);
        contract::VerifyRequest chains = request;
        chains.verification = &rules;
        const kernels::ExtendedVerifyRequest extended(chains);
        if (reads_at_once(extended, device)) return f(extended);
      }
    }
    if constexpr (std::is_same_v<Request, contract::SampleRequest> ||
                  std::is_same_v<Request, contract::FilterRequest> ||
                  std::is_same_v<Request, contract::VerifyRequest>) {
      if (is_staged(request, device)) return f(kernels::Staged<Request>(request));
    }
    return f(request);
  });
}

}  // namespace

bool is_compiled() {
  return true;
}

int num_devices() {
  const PendingError pending_error;
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

Error open(int device_id, bool host_parameters, Device *out) {
  const PendingError pending_error;
  out->id = device_id;
  out->host_parameters = host_parameters;
  Attributes attributes;
  const Outcome read = read_attributes(device_id, &attributes);
  if (read.error != cudaSuccess) return error_of(read.call, read.error);
  if (const Error error = retain_context(out)) return error;
  const CurrentDevice current(*out);
  if (current.error()) return current.error();
  const Outcome prepared = prepare_kernels(attributes, &out->shape);
  return error_of(prepared.call, prepared.error);
}

void close(Device *device) {
  if (!device->context) return;
  const auto release =
      driver_function<decltype(cuDevicePrimaryCtxRelease)>(device->release_context);
  release(device->id);
  device->context = nullptr;
}

Error allocate(const Device &device, size_t bytes, void **out) {
  const CurrentDevice current(device);
  if (current.error()) return current.error();
  return error_of("cudaMalloc", cudaMalloc(out, bytes));
}

void release(const Device &device, void *memory) {
  const CurrentDevice current(device);
  if (!current.error()) cudaFree(memory);
}

Error copy(const Device &device, void *to, const void *from, size_t bytes, CUstream_st *stream) {
  const CurrentDevice current(device);
  if (current.error()) return current.error();
  // From pageable memory it returns once the source has been read.
  return error_of("cudaMemcpyAsync", cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream));
}

Error synchronize(const Device &device, CUstream_st *stream) {
  const CurrentDevice current(device);
  if (current.error()) return current.error();
  return error_of("cudaStreamSynchronize", cudaStreamSynchronize(stream));
}

bool is_device_memory(const Device &device, const void *address) {
  const CurrentDevice current(device);
  cudaPointerAttributes attributes = {};
  if (current.error() || cudaPointerGetAttributes(&attributes, address) != cudaSuccess) {
    return false;
  }
  switch (attributes.type) {
    case cudaMemoryTypeDevice:
      return attributes.device == device.id;
    case cudaMemoryTypeManaged:
      return true;
    default:
      return attributes.type == cudaMemoryTypeHost && attributes.devicePointer == address;
  }
}

bool is_host_memory(const Device &device, const void *address) {
  const CurrentDevice current(device);
  cudaPointerAttributes attributes = {};
  return current.error() || cudaPointerGetAttributes(&attributes, address) != cudaSuccess ||
         attributes.type != cudaMemoryTypeDevice;
}

namespace {

// How the rows of a request are computed.
struct RowsPlan {
  FastPlan fast;
  kernels::Stream reports;  // after it
  kernels::Plan plan;
  Layout layout;
};

template <class Request>
RowsPlan rows_plan_of(const Request &request, const Device &device) {
  RowsPlan rows;
  rows.fast = fast_plan_of(request, device);
  rows.plan = plan_of(request, device, rows.fast);
  rows.layout = layout_of(request, rows.plan, device, rows.fast.bytes());
  return rows;
}

// The same; reports that small kernels do not write beside draws are streamed apart.
RowsPlan rows_plan_of(const kernels::StagedSampleRequest &request, const Device &device) {
  const RowsPlan at_once = rows_plan_of<kernels::StagedSampleRequest>(request, device);
  if (at_once.fast.is_small() || !kernels::may_report_apart(request)) return at_once;
  const kernels::StagedSampleRequest draws = kernels::draws_of(request);
  RowsPlan rows = rows_plan_of<kernels::StagedSampleRequest>(draws, device);
  if (!rows.fast.is_small()) return at_once;
  rows.reports = stream_of(kernels::reports_of(request), device);
  if (!rows.reports.is_on()) return at_once;
  rows.reports.has_drawn = true;
  if (rows.plan.num_teams == 0) {  // the draws leave no rows, but the reports may
    rows.plan = plan_of(draws, device, true);
    rows.layout = layout_of(draws, rows.plan, device, rows.fast.bytes());
  }
  rows.layout.stream_bytes = std::max(rows.layout.stream_bytes, rows.reports.bytes());
  rows.layout.status_bytes = status_bytes(request.num_rows);
  return rows;
}

// How a verification is computed: by rows, or, matched, by those of its positions.
struct VerifyPlan {
  kernels::Chains chains;  // whose positions are found by a launch before all others
  RowsPlan rows;
  kernels::Stream reports;  // after them
  kernels::Plan rest;       // of what these leave

  bool is_matched() const { return chains.kind == kernels::ChainsKind::kMatched; }
  // Whether small kernels compute most rows and all reports.
  bool is_small() const { return rows.fast.is_small() || rows.reports.is_on(); }
};

// All at once.
VerifyPlan plan_at_once(const kernels::ExtendedVerifyRequest &request, const Device &device) {
  VerifyPlan plan;
  plan.chains = matched_of(request, device);
  if (plan.chains.is_on()) {
    plan.rows = visit_positions(request, plan.chains, device, [&](const auto &positions) {
      return rows_plan_of(positions, device);
    });
    plan.rows.layout.parameter_bytes = host_array_bytes(request, device.host_parameters);
  } else {
    plan.rows = rows_plan_of<kernels::ExtendedVerifyRequest>(request, device);
    plan.chains = plan.rows.fast.chains;
  }
  plan.rows.layout.chain_bytes = plan.chains.bytes();
  return plan;
}

// Reports that small kernels do not write beside the verification are streamed apart.
VerifyPlan rows_plan_of(const kernels::ExtendedVerifyRequest &request, const Device &device) {
  const VerifyPlan at_once = plan_at_once(request, device);
  if (at_once.is_small() || !kernels::may_report_apart(request)) return at_once;
  const kernels::ExtendedVerifyRequest verified = kernels::verified_of(request, {});
  VerifyPlan plan = plan_at_once(verified, device);
  if (!plan.is_small()) return at_once;
  if (!plan.chains.is_on()) {
    plan.chains = kernels::plan_chains(verified);
    if (!plan.chains.is_on()) return at_once;
    plan.chains.kind = kernels::ChainsKind::kDecided;  // held rows decide by matches, too
  }
  plan.chains.are_reported = true;
  const kernels::StagedSampleRequest reports = kernels::reports_of(request, plan.chains);
  plan.reports = stream_of(reports, device);
  if (!plan.reports.is_on()) return at_once;
  plan.reports.has_drawn = true;
  const kernels::StagedSampleRequest left = kernels::left_of(reports);
  plan.rest = plan_of(left, device, true);
  Layout &layout = plan.rows.layout;
  layout.chain_bytes = plan.chains.bytes();
  layout.stream_bytes = std::max(layout.stream_bytes, plan.reports.bytes());
  layout.stage_bytes =
      std::max(layout.stage_bytes, size_t(plan.rest.num_teams) * left.memory.bytes_of_team);
  return plan;
}

const Layout &layout_of(const RowsPlan &plan) {
  return plan.layout;
}
const Layout &layout_of(const VerifyPlan &plan) {
  return plan.rows.layout;
}

}  // namespace

size_t workspace_bytes(const contract::AnyRequest &any, const Device &device) {
  return visit(any, device, [&](const auto &request) {
    return layout_of(rows_plan_of(request, device)).bytes();
  });
}

namespace {

// What chains of a few drafts need whose positions are read at once.
size_t chains_bytes(int64_t max_rows, int64_t max_cols, const Device &device) {
  constexpr int64_t kDrafts = 7, kMostChains = 1024;
  constexpr int32_t kTopK = 100;
  const int64_t num_chains = std::min(max_rows, kMostChains);
  contract::VerifyRequest request;
  request.target.values = &request;  // only non-null matters
  request.target.num_cols = request.target.stride = max_cols;
  request.target.num_rows = num_chains * (kDrafts + 1);
  request.target_row_stride = (kDrafts + 1) * max_cols;
  request.num_rows = num_chains;
  request.num_drafts = kDrafts;
  request.parameters.top_k.value = kTopK;
  return max_cols > 0 ? workspace_bytes(contract::AnyRequest(request), device) : 0;
}

}  // namespace

size_t largest_workspace_bytes(int64_t max_rows, int64_t max_cols, const Device &device) {
  Layout layout;
  if (max_cols > kernels::kListCapacity) {
    layout.bitmap_bytes =
        bitmap_bytes(std::min<int64_t>(max_rows, device.shape.num_multiprocessors));
  }
  layout.spread_bytes = kernels::largest_spread_bytes(device.shape, max_rows, max_cols);
  layout.stream_bytes =
      kernels::largest_stream_bytes(max_rows, max_cols,
                                    *std::max_element(std::begin(device.shape.stream_blocks),
                                                      std::end(device.shape.stream_blocks)));
  if (layout.stream_bytes > 0) {  // what follows a stream
    kernels::Held held;
    held.kind = kernels::HeldKind::kStaged;
    held.num_rows = max_rows;
    layout.stream_bytes += held.bytes();
    layout.status_bytes = status_bytes(max_rows);
  }
  if (device.host_parameters) {
    contract::SampleRequest request;
    request.num_rows = max_rows;
    // Only non-null matters.
    visit_host_arrays(&request, [&](auto **array, int64_t) { point_to(&layout, array); });
    request.random.seed.per_slot = request.random.offset.per_slot = true;
    layout.parameter_bytes = host_array_bytes(request);
  }
  return std::max(layout.bytes(), chains_bytes(max_rows, max_cols, device));
}

namespace {

// Places what a request and the plan of its rows have in `memory`.
template <class Request>
void place_rows(Request *request, RowsPlan *rows, const Device &device, char *memory) {
  kernels::Plan &plan = rows->plan;
  const Layout &layout = rows->layout;
  char *const stages = memory + layout.team_bytes();
  if (layout.bitmap_bytes > 0) plan.bitmaps = reinterpret_cast<uint32_t *>(memory);
  if (layout.spread_bytes > 0) plan.spread.memory = memory;
  if constexpr (kernels::kHasStages<Request>) {
    request->memory.memory = stages;
    place_kept_lists(request, stages + layout.stage_bytes);
    settle(request);
  } else if constexpr (std::is_same_v<Request, kernels::ShardRequest>) {
    request->workspace.memory = stages;
    settle(request);
  }
  plan.may_overlap = device.shape.overlaps_launches && rows->fast.is_on();
}

// Enqueues the rows of a placed request.
template <class Request>
cudaError_t enqueue_placed(const Request &request, FastPlan fast, const kernels::Plan &plan,
                           const Device &device, char *memory, CUstream_st *stream) {
  const auto launch_rows = [&] {
    if constexpr (std::is_same_v<Request, kernels::ExtendedVerifyRequest>) {
      fast.stream.place(memory);
      if (fast.stream.is_on()) {
        return kernels::launch(request, fast.chains, fast.stream, plan, stream);
      }
      if (fast.chains.is_on()) {
        fast.held.place(memory);
        return kernels::launch(request, fast.chains, fast.held, plan, stream);
      }
    }
    if constexpr (kMayBeStreamed<Request>) {
      fast.stream.place(memory);
      if constexpr (kernels::kHasStages<Request>) {
        if (fast.stream.is_on() && fast.held.is_on()) {
          fast.held.place(memory + fast.stream.bytes());
          return kernels::launch(request, fast.stream, fast.held, plan, stream);
        }
      }
      if (fast.stream.is_on()) return kernels::launch(request, fast.stream, plan, stream);
    }
    if constexpr (kMayBeHeld<Request>) {
      fast.held.place(memory);
      if (fast.held.is_on()) return kernels::launch(request, fast.held, plan, stream);
    }
    return kernels::launch(request, plan, stream);
  };
  return launch_all(request, device, stream, launch_rows);
}

// The same, and reports of them that are streamed apart.
cudaError_t enqueue_apart(kernels::StagedSampleRequest request, RowsPlan rows, const Device &device,
                          char *memory, CUstream_st *stream) {
  if (!request.out_row_status) {
    request.out_row_status = reinterpret_cast<uint32_t *>(memory + rows.layout.before_statuses());
  }
  const cudaError_t error =
      enqueue_placed(kernels::draws_of(request), rows.fast, rows.plan, device, memory, stream);
  if (error != cudaSuccess) return error;
  rows.reports.place(memory);
  return kernels::launch_reports(kernels::reports_of(request), request, rows.reports, rows.plan,
                                 stream);
}

// Enqueues the rows of a request whose arrays are on the device. `memory`: that of the rows.
template <class Request>
cudaError_t enqueue_rows(Request request, RowsPlan rows, const Device &device, char *memory,
                         CUstream_st *stream) {
  place_rows(&request, &rows, device, memory);
  if constexpr (std::is_same_v<Request, kernels::StagedSampleRequest>) {
    if (rows.reports.is_on()) return enqueue_apart(request, rows, device, memory, stream);
  }
  return enqueue_placed(request, rows.fast, rows.plan, device, memory, stream);
}

// Copies a request's arrays from the host to its workspace.
template <class Request>
cudaError_t upload(Request *request, const Layout &layout, const Device &device, char *memory,
                   CUstream_st *stream) {
  if (layout.parameter_bytes == 0) return cudaSuccess;
  char *const to = memory + layout.before_parameters();
  return upload_host_arrays(request, to, stream, device.host_parameters);
}

// Enqueues a verification without reports that are streamed apart. `memory`: that of the plan.
cudaError_t enqueue_verified(const kernels::ExtendedVerifyRequest &request, const VerifyPlan &plan,
                             const Device &device, char *memory, CUstream_st *stream) {
  const kernels::Chains &chains = plan.chains;
  char *const memory_of_rows = memory + chains.bytes();
  if (!plan.is_matched()) {
    return enqueue_rows(request, plan.rows, device, memory_of_rows, stream);
  }
  const cudaError_t error = visit_positions(request, chains, device, [&](const auto &positions) {
    return enqueue_rows(positions, plan.rows, device, memory_of_rows, stream);
  });
  return error == cudaSuccess ? kernels::launch_match(request, chains, stream) : error;
}

// The same, and these reports.
cudaError_t enqueue_rows(const kernels::ExtendedVerifyRequest &request, VerifyPlan plan,
                         const Device &device, char *memory, CUstream_st *stream) {
  kernels::Chains &chains = plan.chains;
  chains.memory = memory;
  if (plan.rows.fast.chains.is_on()) plan.rows.fast.chains = chains;
  if (chains.is_on()) {
    const cudaError_t error = kernels::launch_place(request, chains, stream);
    if (error != cudaSuccess) return error;
  }
  if (!plan.reports.is_on()) return enqueue_verified(request, plan, device, memory, stream);
  const kernels::ExtendedVerifyRequest verified = kernels::verified_of(request, chains);
  const cudaError_t error = enqueue_verified(verified, plan, device, memory, stream);
  if (error != cudaSuccess) return error;
  char *const memory_of_rows = memory + chains.bytes();
  kernels::StagedSampleRequest left = kernels::left_of(kernels::reports_of(request, chains));
  left.memory.memory = memory_of_rows + plan.rows.layout.team_bytes();
  plan.reports.place(memory_of_rows);
  plan.rest.may_overlap = device.shape.overlaps_launches;
  return kernels::launch_reports(verified, chains, left, plan.reports, plan.rest, stream);
}

// Enqueues a request. Arrays from the host are moved to the workspace.
template <class Request>
Error enqueue(Request request, const Device &device, void *workspace, CUstream_st *stream) {
  const CurrentDevice current(device);
  if (current.error()) return current.error();
  const auto plan = rows_plan_of(request, device);
  const Layout &layout = layout_of(plan);
  char *const memory = layout.begin(workspace);
  cudaError_t error = upload(&request, layout, device, memory, stream);
  if (error == cudaSuccess) error = enqueue_rows(request, plan, device, memory, stream);
  return error_of("cudaLaunchKernelExC", error);
}

}  // namespace

Error run(const contract::AnyRequest &any, const Device &device, void *workspace,
          CUstream_st *stream) {
  return visit(any, device,
               [&](const auto &request) { return enqueue(request, device, workspace, stream); });
}

// Its workspace has host arrays alone.
size_t workspace_bytes(const contract::UnmaskRequest &request, const Device &device) {
  Layout layout;
  layout.parameter_bytes = host_array_bytes(request, device.host_parameters);
  return layout.bytes();
}

Error run(const contract::UnmaskRequest &any, const Device &device, void *workspace,
          CUstream_st *stream) {
  const CurrentDevice current(device);
  if (current.error()) return current.error();
  contract::UnmaskRequest request = any;  // its arrays may be moved to the device
  cudaError_t error =
      upload_host_arrays(&request, Layout().begin(workspace), stream, device.host_parameters);
  if (error == cudaSuccess) error = kernels::launch(request, stream);
  return error_of("cudaLaunchKernelExC", error);
}

size_t shard_workspace_bytes(const shards::ShardCall &call, const Device &device) {
  if (call.num_rows() == 0) return 0;
  return rows_plan_of(kernels::ShardRequest(call), device).layout.bytes();
}

Error run_shard_round(const shards::ShardCall &call, int round, const Device &device,
                      void *workspace, const void *received, void *send, CUstream_st *stream) {
  kernels::ShardRequest request(call);
  const bool is_last = round == request.plan.num_exchanges();
  request.round = {round, static_cast<const char *>(received),
                   is_last ? nullptr : static_cast<char *>(send), true};
  return enqueue(request, device, workspace, stream);
}

size_t state_number_bytes(const Device &device, int64_t num_slots) {
  if (!device.host_parameters) return 0;
  contract::AcceptRequest request;
  request.slots = {nullptr, num_slots};
  const Layout somewhere;  // only non-null matters
  visit_host_arrays(&request, [&](auto **array, int64_t) { point_to(&somewhere, array); });
  return host_array_bytes(request);
}

template <class Request>
Error run_state(const Request &any, const Device &device, void *numbers, CUstream_st *stream) {
  const CurrentDevice current(device);
  if (current.error()) return current.error();
  Request request = any;  // its arrays may be moved to the device
  if (device.host_parameters) {
    const cudaError_t uploaded = upload_host_arrays(&request, numbers, stream);
    if (uploaded != cudaSuccess) return error_of("cudaLaunchKernelExC", uploaded);
  }
  return error_of("cudaLaunchKernelExC", kernels::launch_state(request, stream));
}
template Error run_state(const contract::AppendRequest &, const Device &, void *, CUstream_st *);
template Error run_state(const contract::AcceptRequest &, const Device &, void *, CUstream_st *);
template Error run_state(const contract::TruncateRequest &, const Device &, void *, CUstream_st *);
template Error run_state(const contract::CopyRequest &, const Device &, void *, CUstream_st *);
template Error run_state(const contract::ResetRequest &, const Device &, void *, CUstream_st *);
template Error run_state(const contract::ReadRequest &, const Device &, void *, CUstream_st *);

Error synchronize(const Device &device) {
  const CurrentDevice current(device);
  if (current.error()) return current.error();
  return error_of("cudaDeviceSynchronize", cudaDeviceSynchronize());
}

}  // namespace sampler::cuda
