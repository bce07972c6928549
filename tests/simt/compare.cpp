#include "compare.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <type_traits>
#include <vector>

#include "cpu/executor.h"
#include "cpu/operations.h"
#include "machine/kernel.cuh"

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
           std::to_string(plan.row_cache_bytes) + ", slices " +
           std::to_string(plan.spread.num_load_slices) + " and " +
           std::to_string(plan.spread.num_slices) + ", order " + std::to_string(seed);
  }
};

// Threads of a block, and of a team at most. AddressSanitizer makes fibers dear, and code for each
// number of threads dear to compile.
#if defined(__SANITIZE_ADDRESS__)
constexpr int kBlockThreads[] = {32, 128};
constexpr int kMaxTeamThreads = 512;
#else
constexpr int kBlockThreads[] = {32, 64, 128, 256, 512};
constexpr int kMaxTeamThreads = 8 * 512;
#endif

// Cuts rows into slices of few tiles or none.
void spread(std::mt19937_64 &random, const kernels::Extent &extent, kernels::Plan *plan) {
  const int64_t tiles = kernels::tiles_of_row(extent.num_cols);
  const auto num_slices = [&] {
    return 1 + int(random() % uint64_t(std::min<int64_t>(tiles + 2, 40)));
  };
  kernels::Spread &spread = plan->spread;
  spread.num_load_slices = num_slices();
  spread.num_slices = 1 + num_slices() / plan->team_size;
  spread.num_blocks = spread.num_slices * plan->team_size;
  spread.num_tiles = int(tiles);
  plan->num_teams = extent.num_rows * spread.num_slices;
}

// As kernels::loading_plan(), of blocks with fewer threads.
kernels::Plan loading_plan(const Launch &launch) {
  kernels::Plan plan = kernels::loading_plan(launch.plan);
  plan.row_cache_bytes = kernels::ring_bytes(launch.num_threads);
  return plan;
}

bool is_compiled(int num_threads) {
  return std::find(std::begin(kBlockThreads), std::end(kBlockThreads), num_threads) !=
         std::end(kBlockThreads);
}

Launch random_launch(std::mt19937_64 &random, const kernels::Extent &extent) {
  const int threads[] = {32, 64, 128, 512};
  Launch launch;
  launch.num_threads = threads[random() % 4];
  launch.plan.team_size = 1 << (random() % 5);
  while (launch.num_threads * launch.plan.team_size > kMaxTeamThreads ||
         !is_compiled(launch.num_threads)) {
    launch.num_threads /= 2;
  }
  launch.plan.num_teams = 1 + int64_t(random() % uint64_t(extent.num_rows));
  const int64_t limit = int64_t(simt::kMaxSharedBytes - sizeof(kernels::TeamShared));
  const int64_t row_bytes = kernels::row_bytes_per_block(extent, launch.plan.team_size);
  const int64_t maxima_bytes = kernels::maxima_bytes_per_block(extent, launch.plan.team_size);
  int64_t bytes = kernels::ring_bytes(launch.num_threads);
  if (random() % 3 != 0 && row_bytes <= limit) bytes = std::max(bytes, row_bytes);
  if (random() % 3 != 0 && bytes + maxima_bytes <= limit) bytes += maxima_bytes;
  launch.plan.row_cache_bytes = int(bytes);
  launch.seed = random();
  if (kernels::can_be_spread(extent) && random() % 2 == 0) spread(random, extent, &launch.plan);
  return launch;
}

// A line of a workspace, with any content.
struct alignas(kernels::kSpreadAlignment) Line {
  char bytes[kernels::kSpreadAlignment];

  Line() { std::memset(bytes, 0xA5, sizeof bytes); }
};

template <class Context, class Request>
void run_kernel(Context &ctx, const Request &request, const kernels::Plan &plan) {
  if constexpr (std::is_same_v<Request, contract::SampleRequest>) {
    if (plan.spread.num_slices > 0) {
      return kernels::run_operation(ctx, kernels::SpreadRequest{request}, plan);
    }
  }
  kernels::run_operation(ctx, request, plan);
}

// Calls f with a number of threads of a block as a constant.
template <size_t kIndex, class F>
void with_threads(int num_threads, const F &f) {
  if constexpr (kIndex < std::size(kBlockThreads)) {
    if (num_threads == kBlockThreads[kIndex]) {
      f(std::integral_constant<int, kBlockThreads[kIndex]>());
    } else {
      with_threads<kIndex + 1>(num_threads, f);
    }
  }
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
  std::vector<Line> memory;
  kernels::Spread &spread = launch.plan.spread;
  if (spread.num_slices > 0) {
    const int64_t num_rows = kernels::extent_of(request).num_rows;
    memory.resize(size_t(num_rows) * spread.row_bytes() / sizeof(Line));
    spread.memory = memory.data()->bytes;
  }
  const auto run = [&](auto threads) {
    const auto run_plan = [&](const kernels::Plan &plan) {
      simt::launch<decltype(threads)::value>(
          plan.num_teams, plan.team_size, plan.shared_bytes(), launch.seed,
          [&](auto &ctx) { run_kernel(ctx, request, plan); }, options);
    };
    if (spread.num_slices > 0) run_plan(loading_plan(launch));
    run_plan(launch.plan);
  };
  with_threads<0>(launch.num_threads, run);
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
