#include "compare.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "cpu/executor.h"
#include "cpu/operations.h"
#include "kernel.cuh"

namespace simt_test {
namespace {

namespace contract = sampler::contract;
namespace cpu = sampler::cpu;
namespace kernels = sampler::kernels;

template <class Request>
Outputs run_reference(const Problem &problem, Request request) {
  Outputs outputs = problem.bind_outputs(&request);
  std::vector<char> workspace(cpu::workspace_bytes(request, 1));
  cpu::run(request, cpu::Executor(), workspace.data());
  return outputs;
}

struct Launch {
  int num_threads;
  kernels::Plan plan;
  uint64_t seed;

  std::string description() const {
    return std::to_string(num_threads) + " threads, team of " + std::to_string(plan.team_size) +
           ", " + std::to_string(plan.num_teams) + " teams, row_cache " +
           std::to_string(plan.row_cache_bytes) + ", order " + std::to_string(seed);
  }
};

// Threads of a team at most. AddressSanitizer makes fibers dear.
#if defined(__SANITIZE_ADDRESS__)
constexpr int kMaxTeamThreads = 512;
#else
constexpr int kMaxTeamThreads = 8 * 512;
#endif

Launch random_launch(std::mt19937_64 &random, const kernels::Extent &extent) {
  const int threads[] = {32, 64, 128, 512};
  Launch launch;
  launch.num_threads = threads[random() % 4];
  launch.plan.team_size = 1 << (random() % 5);
  while (launch.num_threads * launch.plan.team_size > kMaxTeamThreads) launch.num_threads /= 2;
  launch.plan.num_teams = 1 + int64_t(random() % uint64_t(extent.num_rows));
  const int64_t limit = int64_t(simt::kMaxSharedBytes - sizeof(kernels::TeamShared));
  const int64_t row_bytes = kernels::row_bytes_per_block(extent, launch.plan.team_size);
  const int64_t maxima_bytes = kernels::maxima_bytes_per_block(extent, launch.plan.team_size);
  int64_t bytes = kernels::ring_bytes(launch.num_threads);
  if (random() % 3 != 0 && row_bytes <= limit) bytes = std::max(bytes, row_bytes);
  if (random() % 3 != 0 && bytes + maxima_bytes <= limit) bytes += maxima_bytes;
  launch.plan.row_cache_bytes = int(bytes);
  launch.seed = random();
  return launch;
}

template <class Request>
Outputs run_device_code(const Problem &problem, Request request, Launch launch,
                        const simt::Options &options) {
  Outputs outputs = problem.bind_outputs(&request);
  std::vector<uint32_t> bitmaps;
  if (kernels::needs_bitmaps(kernels::extent_of(request))) {
    bitmaps.resize(size_t(launch.plan.num_teams * kernels::kIdWords), 0xA5A5A5A5u);
    launch.plan.bitmaps = bitmaps.data();
  }
  const auto kernel = [&](auto &ctx) { kernels::run_operation(ctx, request, launch.plan); };
  const auto run = [&](auto threads) {
    simt::launch<decltype(threads)::value>(launch.plan.num_teams, launch.plan.team_size,
                                           launch.plan.shared_bytes(), launch.seed, kernel,
                                           options);
  };
  switch (launch.num_threads) {
    case 32:
      run(std::integral_constant<int, 32>());
      break;
    case 64:
      run(std::integral_constant<int, 64>());
      break;
    case 128:
      run(std::integral_constant<int, 128>());
      break;
    case 256:
      run(std::integral_constant<int, 256>());
      break;
    default:
      run(std::integral_constant<int, 512>());
      break;
  }
  return outputs;
}

// "" when the device code gives the reference's bits, otherwise what differs.
template <class Request>
std::string difference(const Problem &problem, const Request &request, std::mt19937_64 &random,
                       const simt::Options &options) {
  const Launch launch = random_launch(random, kernels::extent_of(request));
  const Outputs expected = run_reference(problem, request);
  const Outputs actual = run_device_code(problem, request, launch, options);
  const std::string differs = difference(expected, actual);
  if (differs.empty()) return "";
  return differs + " in " + problem.description() + "; " + launch.description();
}

}  // namespace

std::string difference(std::mt19937_64 &random, const Scale &scale, int which,
                       const simt::Options &options) {
  Problem problem(random, scale);
  return problem.visit(
      which, [&](const auto &request) { return difference(problem, request, random, options); });
}

}  // namespace simt_test
