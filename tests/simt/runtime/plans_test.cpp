// The launch that is planned for every operation, type, width and number of rows, on every kind of
// device: the fake runtime takes it, and it keeps the device busy.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <ostream>
#include <queue>
#include <string>
#include <type_traits>
#include <vector>

#include "contract/any_request.h"
#include "contract/pipeline.h"
#include "cuda/backend.h"
#include "launch/launch.h"
#include "runtime.h"

namespace simt_test {
namespace {

namespace contract = sampler::contract;
namespace cuda = sampler::cuda;
namespace runtime = simt::runtime;

constexpr int kBlockThreads = 256;

struct Machine {
  std::string name;
  runtime::Device device;
};

std::ostream &operator<<(std::ostream &stream, const Machine &machine) {
  return stream << machine.name;
}

// Processing clusters differ from device to device; these are some that there are, or could be.
std::vector<Machine> machines() {
  runtime::Device blackwell = {
      {16, 16, 16, 16, 16, 16, 16, 16, 15, 15, 15, 15}, 99 << 10, 100 << 10, 120, 1536};
  blackwell.largest_cluster = 8;
  const auto share_of = [](const runtime::Device &whole, std::array<int, 12> clusters) {
    runtime::Device share = whole;
    share.processing_clusters = clusters;
    return share;
  };
  const runtime::Device a100 = {{16, 16, 16, 16, 16, 14, 14}, 163 << 10, 164 << 10, 80};
  return {
      {"sm_80", a100},
      {"sm_86", {{12, 12, 12, 12, 12, 12, 10}, 99 << 10, 100 << 10, 86, 1536}},
      {"sm_89", runtime::kAda},
      {"sm_90", runtime::kHopper},
      {"sm_100", {{18, 18, 18, 18, 19, 19, 19, 19}, 227 << 10, 228 << 10, 100}},
      {"sm_120", blackwell},
      {"sm_80_a_seventh", share_of(a100, {14})},
      {"sm_90_a_seventh", share_of(runtime::kHopper, {16})},
      {"sm_90_two_sevenths", share_of(runtime::kHopper, {16, 16})},
      {"sm_90_of_14", share_of(runtime::kHopper, {14})},
      {"sm_90_of_7", share_of(runtime::kHopper, {7})},
      {"sm_90_of_1", share_of(runtime::kHopper, {1})},
  };
}

struct Shape {
  int64_t num_rows;
  int64_t num_cols;
  sampler_dtype dtype = SAMPLER_F32;
  bool candidates = false;
  bool row_indices = false;

  std::string describe(const char *operation) const {
    const char *const types[] = {"f32", "f16", "bf16"};
    return std::string(operation) + " of " + std::to_string(num_rows) + " rows of " +
           std::to_string(num_cols) + " " + types[int(dtype) % 3] +
           (candidates ? ", candidates" : "") + (row_indices ? ", row indices" : "");
  }
};

// Calls use(name, request) for each operation. Where the arrays are does not matter: nothing runs.
// All but softmax are the general kernels', whatever the width; streamed and held rows have plans
// of their own (stream_test.cpp, held_test.cpp).
template <class Use>
void for_each_request(const Shape &shape, const Use &use) {
  static const int32_t array[1] = {};
  contract::Rows rows;
  rows.values = array;
  rows.ids = shape.candidates ? array : nullptr;
  rows.num_rows = shape.num_rows;
  rows.num_cols = rows.stride = shape.num_cols;
  rows.dtype = shape.dtype;
  contract::SampleRequest sample;
  sample.input = rows;
  sample.num_rows = shape.num_rows;
  sample.draw_method = SAMPLER_DRAW_GUMBEL;
  if (shape.row_indices) sample.row_indices = array;
  contract::FilterRequest softmax;
  softmax.input = rows;
  contract::FilterRequest filter = softmax;
  filter.parameters.top_k.value = 2000;  // more than other kernels take
  contract::SelectRequest select;
  select.input = rows;
  contract::VerifyRequest chain;
  chain.target = chain.draft = rows;
  chain.target.kind = chain.draft.kind = SAMPLER_PROBABILITIES;
  chain.parameters.temperature.value = 0.0f;
  chain.num_rows = shape.num_rows;
  chain.reads_one_by_one = true;
  contract::ResidualRequest residual;
  residual.target = residual.draft = rows;
  residual.num_rows = shape.num_rows;
  use("sample", sample), use("filter", filter), use("select", select), use("verify", chain);
  use("softmax", softmax);
  if (!shape.candidates) use("residual", residual);
}

// Sampling and filtering, with stages.
template <class Use>
void for_each_staged_request(const Shape &shape, const Use &use) {
  static const contract::Pipeline stages = [] {
    contract::Pipeline pipeline;
    pipeline.edits.add(SAMPLER_STAGE_BIAS);
    return pipeline;
  }();
  const auto use_staged = [&](const char *name, auto request) {
    using Request = decltype(request);
    if constexpr (std::is_same_v<Request, contract::SampleRequest> ||
                  std::is_same_v<Request, contract::FilterRequest>) {
      request.pipeline = &stages;
      use(name, request);
    }
  };
  for_each_request(shape, use_staged);
}

// The teams of a launch that run at once.
struct Schedule {
  int num_multiprocessors = 0;  // that have a block while there are teams for all of them
  int64_t teams_at_once = 0;
};

Schedule schedule_of(const runtime::Device &device, const runtime::Launch &launch) {
  Schedule result;
  const int blocks = runtime::blocks_per_multiprocessor(device, runtime::kernel_at(launch.kernel),
                                                        kBlockThreads, launch.shared_bytes);
  // For teams, of each processing cluster: in all, and with a multiprocessor for each block.
  std::vector<int> room, alone;
  for (const int multiprocessors : device.processing_clusters) {
    room.push_back(runtime::clusters_in(multiprocessors, blocks, launch.team_size));
    alone.push_back(runtime::clusters_in(multiprocessors, std::min(blocks, 1), launch.team_size));
    result.teams_at_once += room.back();
  }
  if (result.teams_at_once == 0) return result;
  std::vector<int> teams(room.size());
  int64_t left = std::min(result.teams_at_once, launch.num_teams);
  for (const std::vector<int> &limit : {alone, room}) {
    for (bool any = true; any && left > 0;) {
      any = false;
      for (std::size_t i = 0; i < room.size() && left > 0; ++i) {
        if (teams[i] < limit[i]) ++teams[i], --left, any = true;
      }
    }
  }
  for (std::size_t i = 0; i < room.size(); ++i) {
    result.num_multiprocessors +=
        std::min(device.processing_clusters[i], teams[i] * launch.team_size);
  }
  return result;
}

// The part of a device's time, until the last team ends, in which teams run: each team goes where
// one has ended first, and a row takes its team one unit of time.
double busy_part(const runtime::Launch &launch, int64_t teams_at_once, int64_t num_rows) {
  std::priority_queue<int64_t, std::vector<int64_t>, std::greater<int64_t>> ends;
  int64_t last_end = 0;
  for (int64_t team = 0; team < launch.num_teams; ++team) {
    int64_t end = 0;
    if (int64_t(ends.size()) == teams_at_once) end = ends.top(), ends.pop();
    end += num_rows * (team + 1) / launch.num_teams - num_rows * team / launch.num_teams;
    ends.push(end);
    last_end = std::max(last_end, end);
  }
  return double(num_rows) / (double(last_end) * double(teams_at_once));
}

// A machine with one device, opened.
class Opened {
 public:
  explicit Opened(const runtime::Device &device) {
    runtime::reset({device});
    const cuda::Error error = cuda::open(0, false, &device_);
    EXPECT_FALSE(error) << error.call << ": " << error.reason;
  }
  ~Opened() { cuda::close(&device_); }
  Opened(const Opened &) = delete;
  Opened &operator=(const Opened &) = delete;

  // What a call launches: where rows are spread, what loads them, and always the operation.
  template <class Request>
  std::vector<runtime::Launch> launches_of(const Request &request) {
    runtime::forget_calls();
    alignas(8) static char workspace[8];
    const runtime::Recording recording;
    const cuda::Error error = cuda::run(request, device_, workspace, nullptr);
    EXPECT_FALSE(error) << error.call << ": " << error.reason;
    return runtime::launches();
  }
  template <class Request>
  runtime::Launch launch_of(const Request &request) {
    const std::vector<runtime::Launch> launches = launches_of(request);
    return launches.empty() ? runtime::Launch() : launches.back();
  }

  std::size_t workspace_bytes(const contract::AnyRequest &request) const {
    return cuda::workspace_bytes(request, device_);
  }
  std::size_t largest_workspace_bytes(int64_t max_rows, int64_t max_cols) const {
    return cuda::largest_workspace_bytes(max_rows, max_cols, device_);
  }

 private:
  cuda::Device device_;
};

class Plans : public testing::TestWithParam<Machine> {
 protected:
  const runtime::Device &device() const { return GetParam().device; }
  template <class Request>
  runtime::Launch launch_of(const Request &request) {
    return opened_.launch_of(request);
  }

  Opened opened_{GetParam().device};
};

const int64_t kNumRows[] = {1, 8, 64, 256, 1024, 100000};
const int64_t kNumCols[] = {1, 1000, 32000, 128256, 152064, 262144, (1 << 20) - 1};

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (const int64_t num_cols : kNumCols) {
    for (const int64_t num_rows : kNumRows) {
      for (const sampler_dtype dtype : {SAMPLER_F32, SAMPLER_F16, SAMPLER_BF16}) {
        all.push_back({num_rows, num_cols, dtype});
        all.push_back({num_rows, num_cols, dtype, true, false});
        all.push_back({num_rows, num_cols, dtype, false, true});
      }
    }
  }
  return all;
}

bool has_bitmaps(const Shape &shape) {
  return shape.candidates && shape.num_cols > 2048;
}

// The fake runtime refuses what CUDA refuses.
TEST_P(Plans, AreTaken) {
  for (const Shape &shape : shapes()) {
    for_each_request(shape, [&](const char *name, const auto &request) {
      SCOPED_TRACE(shape.describe(name));
      const std::vector<runtime::Launch> launches = opened_.launches_of(request);
      ASSERT_TRUE(launches.size() == 1 || launches.size() == 2);
      for (const runtime::Launch &launch : launches) {
        EXPECT_GT(schedule_of(device(), launch).teams_at_once, 0);
        if (launches.size() == 1) {
          EXPECT_LE(launch.num_teams, shape.num_rows);
        } else {  // at least two teams a row, and a multiprocessor for each block
          EXPECT_EQ(0, launch.num_teams % shape.num_rows);
          EXPECT_GE(launch.num_teams, 2 * shape.num_rows);
          EXPECT_LE(launch.num_teams * launch.team_size, device().num_multiprocessors());
          EXPECT_EQ(launch.num_teams * launch.team_size,
                    schedule_of(device(), launch).num_multiprocessors);
        }
      }
    });
  }
}

// A handle made for max_rows and max_cols has room for what smaller calls need.
TEST_P(Plans, FitInTheHandlesWorkspace) {
  for (const int64_t max_cols : {16000, 128256, (1 << 20) - 1}) {
    for (const int64_t max_rows : {1, 3, 50, 1000, 8000}) {
      const std::size_t room = opened_.largest_workspace_bytes(max_rows, max_cols);
      for (int64_t num_rows = 1; num_rows <= max_rows; num_rows += 1 + num_rows / 8) {
        for (int64_t num_cols = 1000; num_cols <= max_cols; num_cols += num_cols / 3) {
          for_each_request({num_rows, num_cols}, [&](const char *, const auto &request) {
            ASSERT_LE(opened_.workspace_bytes(request), room)
                << num_rows << " rows of " << num_cols << " columns";
            if constexpr (std::is_same_v<std::decay_t<decltype(request)>,
                                         contract::SampleRequest>) {
              static const float temperatures[1] = {};
              contract::SampleRequest streamed = request;
              streamed.draw_method = SAMPLER_DRAW_INVERSE_CDF;
              ASSERT_LE(opened_.workspace_bytes(streamed), room);
              static float entropies[1];
              contract::Reports reports;
              reports.out_entropies = entropies;
              contract::SampleRequest listed = streamed;
              listed.reports = &reports;
              listed.logprob_kind = SAMPLER_LOGPROB_PROCESSED;
              listed.parameters.min_p.value = 0.1f;
              ASSERT_LE(opened_.workspace_bytes(listed), room)
                  << num_rows << " listed rows of " << num_cols << " columns";
              streamed.parameters.temperature.array = temperatures;
              ASSERT_LE(opened_.workspace_bytes(streamed), room)
                  << num_rows << " streamed rows of " << num_cols << " columns";
              streamed.input.kind = SAMPLER_PROBABILITIES;
              ASSERT_LE(opened_.workspace_bytes(streamed), room) << "probabilities";
              contract::FilterRequest held;
              held.input = request.input;
              held.parameters.top_k.value = 50;
              ASSERT_LE(opened_.workspace_bytes(held), room)
                  << num_rows << " held rows of " << num_cols << " columns";
              contract::VerifyRequest chains;
              chains.target = request.input;
              chains.num_rows = num_rows;
              ASSERT_LE(opened_.workspace_bytes(chains), room)
                  << num_rows << " chains of " << num_cols << " columns";
            }
          });
        }
      }
    }
  }
}

// So it has where rows are listed by each slot's own top-k, and held where there is no list; and
// where their reports are streamed apart. Sizes at which little else takes memory.
TEST_P(Plans, OfListsFitInTheHandlesWorkspace) {
  static const float logits[1] = {};
  static const int32_t numbers[1] = {};
  static int32_t ids[1], ranks[1];
  static uint32_t bits[1];
  const int64_t sizes[][2] = {{300, 128256}, {700, 8192}, {1900, 9000}, {1900, 250000}};
  for (const auto &[max_rows, max_cols] : sizes) {
    SCOPED_TRACE(testing::Message() << max_rows << " rows of " << max_cols << " columns");
    const std::size_t room = opened_.largest_workspace_bytes(max_rows, max_cols);
    contract::Reports reports;
    reports.out_ranks = ranks;
    contract::SampleRequest request;
    request.input.values = logits;
    request.input.num_rows = 1;
    request.input.num_cols = request.input.stride = max_cols;
    request.row_indices = numbers;
    request.num_rows = max_rows;
    request.out_token_ids.data = ids;
    request.reports = &reports;
    contract::SampleRequest by_slot = request;
    by_slot.logprob_kind = SAMPLER_LOGPROB_PROCESSED;
    by_slot.parameters.top_k.array = numbers;
    EXPECT_LE(opened_.workspace_bytes(by_slot), room) << "by slot";
    contract::Reports raw = reports;
    raw.out_kept_bitmask = bits;
    raw.kept_bitmask_stride = 1;
    contract::SampleRequest apart = request;
    apart.reports = &raw;
    apart.parameters.top_k.value = 40;
    EXPECT_LE(opened_.workspace_bytes(apart), room) << "apart";
    apart.parameters.top_k.array = numbers;
    EXPECT_LE(opened_.workspace_bytes(apart), room) << "apart, by slot";
  }
}

// So have chains of a few drafts, whose positions are read at once; longer ones need no more than
// chains did that are read position by position.
TEST_P(Plans, OfChainsFitInTheHandlesWorkspace) {
  static const float logits[1] = {};
  for (const int64_t max_cols : {9000, 128256}) {
    for (const int64_t max_rows : {1, 64, 1000}) {
      SCOPED_TRACE(testing::Message() << max_rows << " chains of " << max_cols << " columns");
      const std::size_t room = opened_.largest_workspace_bytes(max_rows, max_cols);
      contract::VerifyRequest chains;
      chains.target.values = logits;
      chains.target.num_cols = chains.target.stride = max_cols;
      chains.parameters.top_k.value = 50;
      chains.num_rows = max_rows;
      const auto bytes_of = [&](int64_t num_drafts) {
        chains.num_drafts = num_drafts;
        chains.target.num_rows = max_rows * (num_drafts + 1);
        chains.target_row_stride = (num_drafts + 1) * max_cols;
        return opened_.workspace_bytes(chains);
      };
      for (const int64_t num_drafts : {1, 3, 7}) EXPECT_LE(bytes_of(num_drafts), room);
      EXPECT_LT(opened_.largest_workspace_bytes(1 << 30, max_cols), std::size_t(18) << 30);
      EXPECT_GT(bytes_of(200), room);
      chains.reads_one_by_one = true;
      EXPECT_LE(bytes_of(200), room);
    }
  }
}

TEST_P(Plans, KeepTheDeviceBusy) {
  for (const Shape &shape : shapes()) {
    if (shape.num_rows < 1024 || has_bitmaps(shape)) continue;
    for_each_request(shape, [&](const char *name, const auto &request) {
      SCOPED_TRACE(shape.describe(name));
      const runtime::Launch launch = launch_of(request);
      const Schedule schedule = schedule_of(device(), launch);
      // A sixth at most is lost while the last rows are computed. A quarter of the multiprocessors
      // at most is without a block, where clusters do not fill their part of the device.
      EXPECT_GE(busy_part(launch, schedule.teams_at_once, shape.num_rows), 5.0 / 6);
      EXPECT_GE(schedule.num_multiprocessors * 4, device().num_multiprocessors() * 3);
      if (!device().has_clusters()) {
        EXPECT_EQ(device().num_multiprocessors(), schedule.num_multiprocessors);
      }
    });
  }
}

// Bitmaps are a team's own, of the workspace: teams that do not run at once would wait for others.
TEST_P(Plans, WithBitmapsHaveTheTeamsThatRunAtOnce) {
  for (const Shape &shape : shapes()) {
    if (!has_bitmaps(shape)) continue;
    for_each_request(shape, [&](const char *name, const auto &request) {
      SCOPED_TRACE(shape.describe(name));
      const runtime::Launch launch = launch_of(request);
      const Schedule schedule = schedule_of(device(), launch);
      EXPECT_LE(launch.num_teams, schedule.teams_at_once);
      EXPECT_LE(launch.num_teams, device().num_multiprocessors());
      if (shape.num_rows >= device().num_multiprocessors()) {
        EXPECT_GE(launch.num_teams * 2,
                  std::min<int64_t>(schedule.teams_at_once, device().num_multiprocessors()));
      }
    });
  }
}

// One launch. Its teams edit rows in memory of their own.
TEST_P(Plans, WithStagesHaveTheTeamsThatRunAtOnce) {
  for (const Shape &shape : shapes()) {
    for_each_staged_request(shape, [&](const char *name, const auto &request) {
      SCOPED_TRACE(shape.describe(name));
      const std::vector<runtime::Launch> launches = opened_.launches_of(request);
      ASSERT_EQ(1u, launches.size());
      const Schedule schedule = schedule_of(device(), launches[0]);
      EXPECT_LE(launches[0].num_teams, std::min(schedule.teams_at_once, shape.num_rows));
      if (shape.num_rows >= 1024 && !has_bitmaps(shape)) {
        EXPECT_GE(busy_part(launches[0], schedule.teams_at_once, shape.num_rows), 5.0 / 6);
        EXPECT_GE(schedule.num_multiprocessors * 4, device().num_multiprocessors() * 3);
      }
    });
  }
}

// Outputs of one row stand together: a row is prepared once for each team that has some of them.
TEST_P(Plans, LetOutputsShareRows) {
  for (const int64_t num_rows : {64, 1024, 10000}) {
    const Shape shape = {num_rows, 128256, SAMPLER_F32, false, true};
    for_each_request(shape, [&](const std::string &name, const auto &request) {
      if (name != "sample") return;
      const runtime::Launch launch = launch_of(request);
      const Schedule schedule = schedule_of(device(), launch);
      EXPECT_LE(launch.num_teams, schedule.teams_at_once * 4);
      if (num_rows < schedule.teams_at_once * 16) {
        EXPECT_LE(launch.num_teams, schedule.teams_at_once);
      }
    });
  }
}

const auto name_of = [](const testing::TestParamInfo<Machine> &machine) {
  return machine.param.name;
};
INSTANTIATE_TEST_SUITE_P(On, Plans, testing::ValuesIn(machines()), name_of);

// Multiprocessors that a call of few rows has a block on, in each of its launches.
class FewRows : public testing::TestWithParam<Machine> {
 protected:
  std::string multiprocessors(const Shape &shape) {
    std::string result;
    Opened opened(GetParam().device);
    for_each_request(shape, [&](const std::string &name, const auto &request) {
      if (name != "sample") return;
      for (const runtime::Launch &launch : opened.launches_of(request)) {
        if (!result.empty()) result += ", ";
        result += std::to_string(schedule_of(GetParam().device, launch).num_multiprocessors);
      }
    });
    return result;
  }
};

// Clusters do not fill all of a device with them. The smallest shares, of one cluster, are left to
// it.
TEST_P(FewRows, UseAllOfTheDevice) {
  const std::map<std::string, std::array<const char *, 3>> expected = {
      // one row of 128,256 columns, two of them, one of 32,000
      {"sm_80", {"108, 108", "108, 108", "62, 62"}},
      {"sm_86", {"82, 82", "82, 82", "62, 62"}},
      {"sm_89", {"128, 128", "128, 128", "62, 62"}},
      {"sm_90", {"132, 128", "132, 128", "8"}},
      {"sm_100", {"148, 128", "148, 128", "8"}},
      {"sm_120", {"188, 160", "188, 160", "8"}},
      {"sm_80_a_seventh", {"14, 14", "14, 14", "14, 14"}},
      {"sm_90_a_seventh", {"16", "16", "8"}},
      {"sm_90_two_sevenths", {"32, 32", "32", "8"}},
      {"sm_90_of_14", {"8", "14", "8"}},
      {"sm_90_of_7", {"7", "7", "4"}},
      {"sm_90_of_1", {"1", "1", "1"}},
  };
  const auto &of_device = expected.at(GetParam().name);
  EXPECT_EQ(of_device[0], multiprocessors({1, 128256}));
  EXPECT_EQ(of_device[1], multiprocessors({2, 128256}));
  EXPECT_EQ(of_device[2], multiprocessors({1, 32000}));
  if (std::string(of_device[0]).find(',') == std::string::npos) return;
  EXPECT_EQ(of_device[0], multiprocessors({1, 128256, SAMPLER_F16}));
  EXPECT_EQ(of_device[0], multiprocessors({1, 128256, SAMPLER_BF16}));
}

INSTANTIATE_TEST_SUITE_P(On, FewRows, testing::ValuesIn(machines()), name_of);

// A kernel's static shared memory is asked for, not known.
class StaticSharedMemory : public testing::TestWithParam<Machine> {};

TEST_P(StaticSharedMemory, HasRoomInEachPlan) {
  const auto set_static_bytes = [](int bytes) {
    for (const void *kernel :
         {sampler::kernels::plain_kernel_address(), sampler::kernels::staged_kernel_address()}) {
      runtime::kernel_at(kernel).static_shared_bytes = bytes;
    }
  };
  const int before =
      runtime::kernel_at(sampler::kernels::plain_kernel_address()).static_shared_bytes;
  for (const int bytes : {0, 2352, 16000}) {
    set_static_bytes(bytes);
    Opened opened(GetParam().device);
    for (int64_t num_cols = 20000; num_cols < 1 << 20; num_cols += num_cols / 16) {
      for (const int64_t num_rows : {1, 1024}) {
        for_each_request({num_rows, num_cols}, [&](const char *, const auto &request) {
          SCOPED_TRACE(num_cols);
          EXPECT_GT(opened.launch_of(request).num_teams, 0);
        });
      }
    }
  }
  set_static_bytes(before);
}

INSTANTIATE_TEST_SUITE_P(On, StaticSharedMemory, testing::ValuesIn(machines()), name_of);

// ---- On one device, number by number ------------------------------------------------------------

class HopperPlans : public testing::Test {
 protected:
  // "teams x blocks, multiprocessors" for that operation.
  std::string plan_of(const Shape &shape, const std::string &wanted = "sample") {
    std::string result;
    Opened hopper(runtime::kHopper);
    for_each_request(shape, [&](const std::string &name, const auto &request) {
      if (name != wanted) return;
      const runtime::Launch launch = hopper.launch_of(request);
      const Schedule schedule = schedule_of(runtime::kHopper, launch);
      result = std::to_string(launch.num_teams) + " x " + std::to_string(launch.team_size) + ", " +
               std::to_string(schedule.num_multiprocessors);
    });
    return result;
  }
};

TEST_F(HopperPlans, OfALanguageModel) {
  EXPECT_EQ("8 x 16, 128", plan_of({1, 128256}));
  EXPECT_EQ("8 x 16, 128", plan_of({4, 128256}));
  EXPECT_EQ("1 x 16, 16", plan_of({1, 128256}, "filter"));
  EXPECT_EQ("1 x 8, 8", plan_of({1, 128256}, "softmax"));
  EXPECT_EQ("1024 x 8, 132", plan_of({1024, 128256}, "softmax"));
  EXPECT_EQ("1024 x 2, 132", plan_of({1024, 32000}, "softmax"));
  EXPECT_EQ("1 x 16, 16", plan_of({1, 128256, SAMPLER_F32, true}));
  EXPECT_EQ("8 x 16, 128", plan_of({8, 128256}));
  EXPECT_EQ("16 x 8, 128", plan_of({16, 128256}));
  EXPECT_EQ("64 x 8, 132", plan_of({64, 128256}));
  EXPECT_EQ("1024 x 8, 132", plan_of({1024, 128256}));
  EXPECT_EQ("1024 x 4, 132", plan_of({1024, 128256, SAMPLER_BF16}));
  EXPECT_EQ("1024 x 8, 128", plan_of({1024, 128256}, "verify"));
  EXPECT_EQ("1024 x 8, 128", plan_of({1024, 262144}));
  EXPECT_EQ("32 x 8, 132", plan_of({1024, 128256, SAMPLER_F32, true}));
  EXPECT_EQ("32 x 8, 132", plan_of({64, 128256, SAMPLER_F32, false, true}));
  EXPECT_EQ("128 x 8, 132", plan_of({1024, 128256, SAMPLER_F32, false, true}));
}

TEST_F(HopperPlans, OfSmallRows) {
  EXPECT_EQ("1 x 1, 1", plan_of({1, 1000}));
  EXPECT_EQ("1024 x 1, 132", plan_of({1024, 1000}));
  EXPECT_EQ("3125 x 1, 132", plan_of({100000, 1000}));
}

// A grid has 2^31 - 1 blocks at most.
TEST_F(HopperPlans, OfTheMostRows) {
  EXPECT_EQ("268435455 x 8, 128", plan_of({INT32_MAX, 262144}));
  EXPECT_EQ("67108864 x 1, 132", plan_of({INT32_MAX, 1000}));
}

}  // namespace
}  // namespace simt_test
