// Each barrier of the device code is needed: without it, some launch gives a wrong result, breaks a
// rule of the machine, or does not end. Those that are not are listed here with their reason.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "compare.h"
#include "cpu/executor.h"
#include "cpu/operations.h"
#include "gumbel_request.h"
#include "launch/plan.h"
#include "machine/kernel.cuh"
#include "shards_launch.h"
#include "staged_launch.h"

namespace {

namespace cpu = sampler::cpu;
namespace kernels = sampler::kernels;

constexpr int kNumProblems = 1500;
constexpr uint64_t kNumStagedProblems = 600;
constexpr uint64_t kNumShardProblems = 200;
constexpr uint64_t kNumForcedProblems = 40;

// Gumbel draws of a team from one row after another, of which each scores less than all before: the
// best score of one must not be taken for the next one's. Random problems seldom tell.
bool equal_from_falling_rows(uint64_t seed, const simt::Options &options) {
  constexpr int kThreads = 128;
  constexpr size_t kRows = 4, kCols = 4096;
  std::mt19937_64 random(seed);
  std::vector<float> rows(kRows * kCols);
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i] = float(random() % 1024) * 0x1p-8f - 100.0f * float(i / kCols);
  }
  std::vector<int32_t> expected(kRows), tokens(kRows);
  sampler::contract::SampleRequest request = simt_test::gumbel_request(rows, seed, &expected);
  std::vector<char> workspace(cpu::workspace_bytes(request, 1));
  cpu::run(request, cpu::Executor(), workspace.data());
  request.out_token_ids.data = tokens.data();
  kernels::Plan plan;
  plan.row_cache_bytes = kernels::ring_bytes(kThreads);
  simt::launch<kThreads>(
      1, 1, plan.shared_bytes(), seed,
      [&](auto &ctx) { kernels::run_operation(ctx, request, plan); }, options);
  return tokens == expected;
}

// A token of the first few of few candidates, most of which tie: what lies above the ties is
// listed, and then another list is opened.
bool equal_from_few_candidates(uint64_t seed, const simt::Options &options) {
  constexpr int kThreads = 64;
  std::mt19937_64 random(seed);
  const size_t counts[] = {300, 900, size_t(kernels::kListCapacity)};
  const size_t count = counts[seed % 3], num_above = 1 + seed % 19;
  const int team_size = 1 + int(random() % 2);
  std::vector<float> row(count, 0.5f);
  for (size_t i = 0; i < num_above; ++i) row[i] = 1.0f + float(random() % 5);
  std::shuffle(row.begin(), row.end(), random);
  std::vector<int32_t> ids(count), expected(1), tokens(1);
  std::iota(ids.begin(), ids.end(), 0);
  std::shuffle(ids.begin(), ids.end(), random);
  sampler::contract::SampleRequest request = simt_test::gumbel_request(row, seed, &expected);
  request.draw_method = SAMPLER_DRAW_INVERSE_CDF;
  request.input.ids = ids.data();
  request.parameters.top_k.value = 20;
  std::vector<char> workspace(cpu::workspace_bytes(request, 1));
  cpu::run(request, cpu::Executor(), workspace.data());
  request.out_token_ids.data = tokens.data();
  kernels::Plan plan;
  plan.team_size = team_size;
  plan.row_cache_bytes =
      kernels::ring_bytes(kThreads) +
      int(kernels::maxima_bytes_per_block(kernels::extent_of(request), team_size));
  std::vector<uint32_t> bitmap(size_t(kernels::kIdWords));
  plan.bitmaps = bitmap.data();
  simt::launch<kThreads>(
      1, team_size, plan.shared_bytes(), random(),
      [&](auto &ctx) { kernels::run_operation(ctx, request, plan); }, options);
  return tokens == expected;
}

bool all_equal(const simt::Options &options) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    if (!equal_from_falling_rows(seed, options)) return false;
  }
  std::mt19937_64 random(20);
  for (int i = 0; i < kNumProblems; ++i) {
    if (simt_test::difference(random, simt_test::kSmall, i, options) != "") return false;
  }
  for (uint64_t seed = 1; seed <= 300; ++seed) {  // one in two hundred tells
    if (!equal_from_few_candidates(seed, options)) return false;
  }
  for (uint64_t seed = 1; seed <= kNumForcedProblems; ++seed) {
    if (!simt_test::equal_from_forced_candidates(seed, options)) return false;
  }
  for (uint64_t seed = 1; seed <= kNumStagedProblems; ++seed) {
    if (!simt_test::equal_with_stages(seed, options)) return false;
  }
  for (uint64_t seed = 1; seed <= kNumShardProblems; ++seed) {
    if (!simt_test::equal_on_ranks(seed, options)) return false;
  }
  return true;
}

// The text of a line of device code, which names a barrier better than its number.
std::string text_of(const simt::Place &place) {
  std::ifstream file(place.file);
  std::string line;
  for (int i = 0; i < place.line; ++i) std::getline(file, line);
  return line.substr(std::min(line.size(), line.find_first_not_of(' ')));
}

// Those that nobody notices here.
bool is_for_machines_alone(const simt::Site &site) {
  const std::string file = site.place.file, text = text_of(site.place);
  const auto is_in = [&](const char *name) { return file.find(name) != std::string::npos; };
  // Fibers run a team to its end before another begins, so nobody sees what a team has left in the
  // workspace too early. The barrier is between all threads' fences and the number of teams that
  // are done.
  if (is_in("spread.cuh") && text == "ctx.team_sync();") return true;
  // Where rows are spread, another barrier of the team comes before a block reaches a peer.
  simt::Place next = site.place;
  ++next.line;
  if (is_in("kernel.cuh") && text_of(next) == "operation.run();") return true;
  // take_maxima() leaves them for all lanes to read, though the searches that come after it begin
  // with barriers of their own.
  return is_in("row.cuh") && text == "ctx_.warp_sync();" && site.kind == simt::Kind::kWarpSync;
}

// Seconds of the processor that this process has used.
double used_seconds() {
  return double(std::clock()) / CLOCKS_PER_SEC;
}

// In a child, which may crash or hang: that it does where it takes several times as long as with
// all barriers, by its own clock, whatever else the machine does.
bool is_noticed_missing(int site, rlim_t most_seconds) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit = {most_seconds, most_seconds};
    setrlimit(RLIMIT_CPU, &limit);
    std::freopen("/dev/null", "w", stderr);
    simt::Options options;
    options.skip_site = site;
    bool equal = false;
    try {
      equal = all_equal(options);
    } catch (const std::exception &) {
    }
    _exit(equal ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(Barriers, EachIsNeeded) {
  const double begin = used_seconds();
  ASSERT_TRUE(all_equal(simt::Options()));
  const rlim_t most_seconds = 10 + rlim_t(3 * (used_seconds() - begin));
  const auto sites = simt::sites();  // a copy: it grows with what runs
  int num_barriers = 0;
  for (size_t i = 0; i < sites.size(); ++i) {
    const bool is_collective = sites[i].kind != simt::Kind::kSync &&
                               sites[i].kind != simt::Kind::kTeamSync &&
                               sites[i].kind != simt::Kind::kWarpSync;
    if (is_collective || is_for_machines_alone(sites[i])) continue;
    ++num_barriers;
    EXPECT_TRUE(is_noticed_missing(int(i), most_seconds))
        << simt::to_string(sites[i]) << ": " << text_of(sites[i].place);
  }
  EXPECT_GE(num_barriers, 10);
}

}  // namespace
