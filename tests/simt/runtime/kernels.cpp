// Stands for kernels/launch.cu: the same kernels, which run on fibers.
#include <type_traits>

#include "kernel.cuh"
#include "launch.h"
#include "runtime.h"
#include "simt.h"

namespace sampler::kernels {

namespace {

namespace runtime = simt::runtime;
using runtime::Grid;

// An address for each of the two kernels of a request, with clusters and without.
template <class Request>
const char kernel_addresses[2] = {};
template <int kWords>
const char upload_kernel_addresses[1] = {};

template <int kThreads, class Request>
void run(const Grid &grid, const Request &request, const Plan &plan, uint64_t seed) {
  simt::launch<kThreads>(grid.num_teams, grid.team_size, grid.dynamic_bytes, seed,
                         [&](auto &ctx) { run_operation(ctx, request, plan); });
}

template <class Request>
runtime::Work bind_operation(const Grid &grid, void **arguments) {
  const auto &request = *static_cast<const Request *>(arguments[0]);
  const auto &plan = *static_cast<const Plan *>(arguments[1]);
  return [grid, request, plan](uint64_t seed) {
    if (runtime::block_threads() == kBlockThreads) {
      run<kBlockThreads>(grid, request, plan, seed);
    } else {
      run<64>(grid, request, plan, seed);
    }
  };
}

template <int kWords>
runtime::Work bind_upload(const Grid &grid, void **arguments) {
  const auto &upload = *static_cast<const Upload<kWords> *>(arguments[0]);
  return [grid, upload](uint64_t seed) {
    simt::launch<64>(grid.num_teams, 1, 0, seed, [&](auto &ctx) { run_upload(ctx, upload); });
  };
}

template <class Request>
void add_operation() {
  for (const char &address : kernel_addresses<Request>) {
    runtime::Kernel kernel;
    kernel.static_shared_bytes = 112;  // what the block collectives take on hardware
    // Two blocks have a multiprocessor's registers, or one: as kernels/launch.cu has it.
    kernel.num_registers = std::is_same_v<Request, contract::ChainRequest> ? 255 : 128;
    kernel.max_threads = kBlockThreads;
    kernel.parameter_bytes = sizeof(Request) + sizeof(Plan);
    kernel.bind = bind_operation<Request>;
    runtime::add_kernel(&address, kernel);
  }
}

template <int kWords>
void add_upload() {
  runtime::Kernel kernel;
  kernel.max_threads = kBlockThreads;
  kernel.parameter_bytes = sizeof(Upload<kWords>);
  kernel.bind = bind_upload<kWords>;
  runtime::add_kernel(upload_kernel_addresses<kWords>, kernel);
}

[[maybe_unused]] const bool are_added = [] {
  contract::AnyRequest::for_each_operation(
      [](const auto &request) { add_operation<std::decay_t<decltype(request)>>(); });
  add_upload<kUploadWords>();
  add_upload<kSmallUploadWords>();
  return true;
}();

}  // namespace

const void *operation_kernel_address(const contract::AnyRequest &any, bool clustered) {
  return any.visit([&](const auto &request) -> const void * {
    return &kernel_addresses<std::decay_t<decltype(request)>>[clustered];
  });
}

const void *upload_kernel_address() {
  return upload_kernel_addresses<kUploadWords>;
}

const void *small_upload_kernel_address() {
  return upload_kernel_addresses<kSmallUploadWords>;
}

}  // namespace sampler::kernels
