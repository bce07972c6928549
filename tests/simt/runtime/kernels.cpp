// Stands for the units of the CUDA compiler: the same kernels, which run on fibers.
#include <type_traits>

#include "chains/chains.cuh"
#include "chains/decided.cuh"
#include "held/held.cuh"
#include "launch/general.h"
#include "launch/launch.h"
#include "machine/kernel.cuh"
#include "operations/shard.cuh"
#include "operations/unmask.cuh"
#include "operations/verify_extended.cuh"
#include "runtime.h"
#include "simt.h"
#include "stages/state.cuh"
#include "stream/edits.cuh"
#include "stream/listed.cuh"
#include "stream/stream.cuh"

namespace sampler::kernels {

namespace {

namespace runtime = simt::runtime;
using runtime::Grid;

const char plain_kernel_addresses[1] = {};
const char staged_kernel_addresses[1] = {};
template <int kWords>
const char upload_kernel_addresses[1] = {};
const char pack_kernel_addresses[1] = {};
const char unmask_kernel_addresses[1] = {};
template <class Request>
const char state_kernel_addresses[1] = {};

template <class Request>
runtime::Work bind_general(const Grid &grid, void **arguments) {
  const auto &request = *static_cast<const Request *>(arguments[0]);
  const auto &plan = *static_cast<const Plan *>(arguments[1]);
  return [grid, request, plan](uint64_t seed) {
    const auto kernel = [&](auto &ctx) {
      request.visit([&](const auto &one) { run_operation(ctx, one, plan); });
    };
    const auto run = [&](auto threads) {
      simt::launch<decltype(threads)::value>(grid.num_teams, grid.team_size, grid.dynamic_bytes,
                                             seed, kernel);
    };
    if (runtime::block_threads() == kBlockThreads) {
      run(std::integral_constant<int, kBlockThreads>());
    } else {
      run(std::integral_constant<int, 64>());
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

template <sampler_dtype kDtype, StreamKind kKind>
const char stream_kernel_addresses[1] = {};
const char clear_kernel_addresses[1] = {};

// Blocks of streamed rows wait for each other: a few run at once.
constexpr int kStreamBlocksAtOnce = 3;

template <sampler_dtype kDtype, StreamKind kKind>
runtime::Work bind_stream(const Grid &grid, void **arguments) {
  const auto &request = *static_cast<const SampleRequest *>(arguments[0]);
  const auto &stream = *static_cast<const Stream *>(arguments[1]);
  return [grid, request, stream](uint64_t seed) {
    const auto run = [&](auto threads) {
      simt::launch_blocks<decltype(threads)::value>(
          grid.num_teams, kStreamBlocksAtOnce, grid.dynamic_bytes, seed,
          [&](auto &ctx) { run_stream<kDtype, kKind>(ctx, request, stream); });
    };
    if (runtime::block_threads() == kBlockThreads) {
      run(std::integral_constant<int, kBlockThreads>());
    } else {
      run(std::integral_constant<int, 64>());
    }
  };
}

runtime::Work bind_clear(const Grid &grid, void **arguments) {
  const auto &stream = *static_cast<const Stream *>(arguments[0]);
  return [grid, stream](uint64_t seed) {
    simt::launch<64>(grid.num_teams, 1, 0, seed, [&](auto &ctx) { run_clear(ctx, stream); });
  };
}

const char edits_kernel_addresses[1] = {};
const char listed_kernel_addresses[1] = {};

runtime::Work bind_listed(const Grid &grid, void **arguments) {
  const auto &request = *static_cast<const StagedSampleRequest *>(arguments[0]);
  const auto &stream = *static_cast<const Stream *>(arguments[1]);
  return [grid, request, stream](uint64_t seed) {
    const auto run = [&](auto threads) {
      simt::launch<decltype(threads)::value>(grid.num_teams, 1, grid.dynamic_bytes, seed,
                                             [&](auto &ctx) { run_listed(ctx, request, stream); });
    };
    if (runtime::block_threads() == kBlockThreads) {
      run(std::integral_constant<int, kBlockThreads>());
    } else {
      run(std::integral_constant<int, 64>());
    }
  };
}

runtime::Work bind_edits(const Grid &grid, void **arguments) {
  const auto &request = *static_cast<const StagedSampleRequest *>(arguments[0]);
  const auto &stream = *static_cast<const Stream *>(arguments[1]);
  return [grid, request, stream](uint64_t seed) {
    const auto run = [&](auto threads) {
      simt::launch<decltype(threads)::value>(grid.num_teams, 1, grid.dynamic_bytes, seed,
                                             [&](auto &ctx) { run_edits(ctx, request, stream); });
    };
    if (runtime::block_threads() == kBlockThreads) {
      run(std::integral_constant<int, kBlockThreads>());
    } else {
      run(std::integral_constant<int, 64>());
    }
  };
}

const char place_kernel_addresses[1] = {};
const char match_kernel_addresses[1] = {};

// Kernels of chains that are verified by sampling.
template <class Run>
runtime::Work bind_chains(const Grid &grid, void **arguments, const Run &run) {
  const auto &request = *static_cast<const ExtendedVerifyRequest *>(arguments[0]);
  const auto &chains = *static_cast<const Chains *>(arguments[1]);
  return [grid, request, chains, run](uint64_t seed) {
    simt::launch<64>(grid.num_teams, 1, grid.dynamic_bytes, seed,
                     [&](auto &ctx) { run(ctx, request, chains); });
  };
}
runtime::Work bind_place(const Grid &grid, void **arguments) {
  return bind_chains(grid, arguments, [](auto &ctx, const auto &request, const auto &chains) {
    run_place(ctx, request, chains);
  });
}
runtime::Work bind_match(const Grid &grid, void **arguments) {
  return bind_chains(grid, arguments, [](auto &ctx, const auto &request, const auto &chains) {
    run_match(ctx, request, chains);
  });
}

const char find_reported_kernel_addresses[1] = {};

runtime::Work bind_find_reported(const Grid &grid, void **arguments) {
  const auto &stream = *static_cast<const Stream *>(arguments[2]);
  return bind_chains(grid, arguments, [stream](auto &ctx, const auto &request, const auto &chains) {
    run_find_reported(ctx, request, chains, stream);
  });
}

const char decide_kernel_addresses[1] = {};

runtime::Work bind_decide(const Grid &grid, void **arguments) {
  const auto &request = *static_cast<const ExtendedVerifyRequest *>(arguments[0]);
  const auto &stream = *static_cast<const Stream *>(arguments[1]);
  const auto &chains = *static_cast<const Chains *>(arguments[2]);
  return [grid, request, stream, chains](uint64_t seed) {
    const auto run = [&](auto threads) {
      simt::launch<decltype(threads)::value>(
          grid.num_teams, 1, grid.dynamic_bytes, seed,
          [&](auto &ctx) { run_decide(ctx, request, stream, chains); });
    };
    if (runtime::block_threads() == kBlockThreads) {
      run(std::integral_constant<int, kBlockThreads>());
    } else {
      run(std::integral_constant<int, 64>());
    }
  };
}

template <sampler_dtype kDtype, HeldKind kKind>
const char held_kernel_addresses[1] = {};

template <sampler_dtype kDtype, HeldKind kKind>
runtime::Work bind_held(const Grid &grid, void **arguments) {
  const auto &request = *static_cast<const HeldRequest<kKind> *>(arguments[0]);
  const auto &held = *static_cast<const Held *>(arguments[1]);
  return [grid, request, held](uint64_t seed) {
    const auto run = [&](auto threads) {
      simt::launch<decltype(threads)::value>(
          grid.num_teams, grid.team_size, grid.dynamic_bytes, seed,
          [&](auto &ctx) { run_held<kDtype, kKind>(ctx, request, held); });
    };
    if (runtime::block_threads() == kBlockThreads) {
      run(std::integral_constant<int, kBlockThreads>());
    } else {
      run(std::integral_constant<int, 64>());
    }
  };
}

runtime::Work bind_pack(const Grid &grid, void **arguments) {
  const auto &request = *static_cast<const PackRequest *>(arguments[0]);
  return [grid, request](uint64_t seed) {
    simt::launch<64>(grid.num_teams, 1, 0, seed, [&](auto &ctx) { run_pack(ctx, request); });
  };
}

runtime::Work bind_unmask(const Grid &grid, void **arguments) {
  const auto &request = *static_cast<const contract::UnmaskRequest *>(arguments[0]);
  return [grid, request](uint64_t seed) {
    const auto run = [&](auto threads) {
      simt::launch<decltype(threads)::value>(grid.num_teams, 1, grid.dynamic_bytes, seed,
                                             [&](auto &ctx) { run_unmask(ctx, request); });
    };
    if (runtime::block_threads() == kBlockThreads) {
      run(std::integral_constant<int, kBlockThreads>());
    } else {
      run(std::integral_constant<int, 64>());
    }
  };
}

template <class Request>
runtime::Work bind_state(const Grid &grid, void **arguments) {
  const auto &request = *static_cast<const Request *>(arguments[0]);
  return [grid, request](uint64_t seed) {
    simt::launch<kBlockThreads>(grid.num_teams, 1, 0, seed,
                                [&](auto &ctx) { run_state(ctx, request); });
  };
}

// Two blocks have a multiprocessor's registers, or one: as plain.cu and staged.cu have it.
constexpr int kHalfOfRegisters = 128, kAllRegisters = 255;

template <class Request>
void add_general(const char *address, int num_registers) {
  runtime::Kernel kernel;
  kernel.static_shared_bytes = 112;  // what the block collectives take on hardware
  kernel.num_registers = num_registers;
  kernel.max_threads = kBlockThreads;
  kernel.parameter_bytes = sizeof(Request) + sizeof(Plan);
  kernel.bind = bind_general<Request>;
  runtime::add_kernel(address, kernel);
}

template <int kWords>
void add_upload() {
  runtime::Kernel kernel;
  kernel.max_threads = kBlockThreads;
  kernel.parameter_bytes = sizeof(Upload<kWords>);
  kernel.bind = bind_upload<kWords>;
  runtime::add_kernel(upload_kernel_addresses<kWords>, kernel);
}

void add_streams() {
  for_each_stream_kernel([](auto dtype, auto kind) {
    runtime::Kernel kernel;
    kernel.num_registers = 64;
    kernel.max_threads = kBlockThreads;
    kernel.static_shared_bytes = 112;
    kernel.parameter_bytes = sizeof(SampleRequest) + sizeof(Stream);
    kernel.bind = bind_stream<decltype(dtype)::value, decltype(kind)::value>;
    runtime::add_kernel(stream_kernel_addresses<decltype(dtype)::value, decltype(kind)::value>,
                        kernel);
  });
  runtime::Kernel clear;
  clear.max_threads = kBlockThreads;
  clear.parameter_bytes = sizeof(Stream);
  clear.bind = bind_clear;
  runtime::add_kernel(clear_kernel_addresses, clear);
  runtime::Kernel edits;
  edits.num_registers = kHalfOfRegisters;
  edits.max_threads = kBlockThreads;
  edits.static_shared_bytes = 112;
  edits.parameter_bytes = sizeof(StagedSampleRequest) + sizeof(Stream);
  edits.bind = bind_edits;
  runtime::add_kernel(edits_kernel_addresses, edits);
  runtime::Kernel listed = edits;
  listed.num_registers = 64;
  listed.bind = bind_listed;
  runtime::add_kernel(listed_kernel_addresses, listed);
}

void add_held() {
  for_each_held_kernel([](auto dtype, auto kind) {
    runtime::Kernel kernel;
    constexpr HeldKind kKind = decltype(kind)::value;
    const bool is_large =
        sampler::kernels::is_sample(kKind) || sampler::kernels::verifies_rows(kKind);
    kernel.num_registers = is_large ? kHalfOfRegisters : is_weighed(kKind) ? 80 : 64;
    kernel.max_threads = kBlockThreads;
    kernel.static_shared_bytes = 112;
    kernel.parameter_bytes = sizeof(HeldRequest<decltype(kind)::value>) + sizeof(Held);
    kernel.bind = bind_held<decltype(dtype)::value, decltype(kind)::value>;
    runtime::add_kernel(held_kernel_addresses<decltype(dtype)::value, decltype(kind)::value>,
                        kernel);
  });
}

void add_chains() {
  runtime::Kernel kernel;
  kernel.max_threads = kBlockThreads;
  kernel.static_shared_bytes = 112;
  kernel.parameter_bytes = sizeof(ExtendedVerifyRequest) + sizeof(Chains);
  kernel.bind = bind_place;
  runtime::add_kernel(place_kernel_addresses, kernel);
  kernel.bind = bind_match;
  runtime::add_kernel(match_kernel_addresses, kernel);
  kernel.num_registers = kHalfOfRegisters;
  kernel.parameter_bytes += sizeof(Stream);
  kernel.bind = bind_decide;
  runtime::add_kernel(decide_kernel_addresses, kernel);
  kernel.num_registers = runtime::Kernel().num_registers;
  kernel.bind = bind_find_reported;
  runtime::add_kernel(find_reported_kernel_addresses, kernel);
}

void add_pack() {
  runtime::Kernel kernel;
  kernel.max_threads = kBlockThreads;
  kernel.parameter_bytes = sizeof(PackRequest);
  kernel.bind = bind_pack;
  runtime::add_kernel(pack_kernel_addresses, kernel);
}

void add_unmask() {
  runtime::Kernel kernel;
  kernel.max_threads = kBlockThreads;
  kernel.static_shared_bytes = 112;
  kernel.parameter_bytes = sizeof(contract::UnmaskRequest);
  kernel.bind = bind_unmask;
  runtime::add_kernel(unmask_kernel_addresses, kernel);
}

template <class Request>
void add_state() {
  runtime::Kernel kernel;
  kernel.max_threads = kBlockThreads;
  kernel.parameter_bytes = sizeof(Request);
  kernel.bind = bind_state<Request>;
  runtime::add_kernel(state_kernel_addresses<Request>, kernel);
}

[[maybe_unused]] const bool are_added = [] {
  contract::for_each_state_request(
      [](const auto &request) { add_state<std::decay_t<decltype(request)>>(); });
  add_general<PlainRequest>(plain_kernel_addresses, kHalfOfRegisters);
  add_general<StagedRequest>(staged_kernel_addresses, kAllRegisters);
  add_streams();
  add_held();
  add_chains();
  add_pack();
  add_unmask();
  add_upload<kUploadWords>();
  add_upload<kSmallUploadWords>();
  return true;
}();

}  // namespace

const void *plain_kernel_address() {
  return plain_kernel_addresses;
}

const void *staged_kernel_address() {
  return staged_kernel_addresses;
}

const void *place_kernel_address() {
  return place_kernel_addresses;
}
const void *match_kernel_address() {
  return match_kernel_addresses;
}
const void *decide_kernel_address() {
  return decide_kernel_addresses;
}
const void *find_reported_kernel_address() {
  return find_reported_kernel_addresses;
}

template <class Request>
const void *state_kernel_address() {
  return state_kernel_addresses<Request>;
}
template const void *state_kernel_address<contract::AppendRequest>();
template const void *state_kernel_address<contract::AcceptRequest>();
template const void *state_kernel_address<contract::TruncateRequest>();
template const void *state_kernel_address<contract::CopyRequest>();
template const void *state_kernel_address<contract::ResetRequest>();
template const void *state_kernel_address<contract::ReadRequest>();

const void *stream_kernel_address(sampler_dtype dtype, StreamKind kind) {
  const void *address = nullptr;
  for_each_stream_kernel([&](auto of_dtype, auto of_kind) {
    constexpr sampler_dtype kDtype = decltype(of_dtype)::value;
    constexpr StreamKind kKind = decltype(of_kind)::value;
    if (kDtype == dtype && kKind == kind) address = stream_kernel_addresses<kDtype, kKind>;
  });
  return address;
}

const void *held_kernel_address(sampler_dtype dtype, HeldKind kind) {
  const void *address = nullptr;
  for_each_held_kernel([&](auto of_dtype, auto of_kind) {
    constexpr sampler_dtype kDtype = decltype(of_dtype)::value;
    constexpr HeldKind kKind = decltype(of_kind)::value;
    if (kKind != kind || (kDtype != dtype && !takes_all_types(kind))) return;
    address = held_kernel_addresses<kDtype, kKind>;
  });
  return address;
}

const void *clear_kernel_address() {
  return clear_kernel_addresses;
}

const void *edits_kernel_address() {
  return edits_kernel_addresses;
}

const void *listed_kernel_address() {
  return listed_kernel_addresses;
}

const void *pack_kernel_address() {
  return pack_kernel_addresses;
}

const void *unmask_kernel_address() {
  return unmask_kernel_addresses;
}

const void *upload_kernel_address() {
  return upload_kernel_addresses<kUploadWords>;
}

const void *small_upload_kernel_address() {
  return upload_kernel_addresses<kSmallUploadWords>;
}

}  // namespace sampler::kernels
