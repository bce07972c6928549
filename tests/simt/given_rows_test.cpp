// Residuals and chains of given probabilities, which are checked while they are subtracted: one
// value that is none, wherever it stands in either row, rows of zeros, rows that are alike, of one
// type and alignment and of two. The device code gives the reference's bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "../seed.h"
#include "contract/elements.h"
#include "contract/float_bits.h"
#include "cpu/executor.h"
#include "cpu/operations.h"
#include "launch/plan.h"
#include "machine/kernel.cuh"
#include "simt.h"

namespace {

namespace kernels = sampler::kernels;
namespace cpu = sampler::cpu;
using namespace sampler::contract;

constexpr int kThreads = 64;

using Random = std::mt19937_64;

template <class T>
T pick(Random &random, std::initializer_list<T> choices) {
  return choices.begin()[random() % choices.size()];
}

// A model's row in memory that begins `lead` elements after a vector does.
struct StoredGiven {
  std::vector<uint32_t> memory;
  Rows rows;
  int32_t count;

  StoredGiven(const std::vector<float> &values, sampler_dtype dtype, int lead, int32_t num_counted)
      : memory(values.size() + 16), count(num_counted) {
    char *begin = reinterpret_cast<char *>(memory.data());
    begin += -reinterpret_cast<uintptr_t>(begin) % 16;
    begin += lead * int64_t(size_of(dtype));
    for (size_t i = 0; i < values.size(); ++i) store_value(begin, dtype, int64_t(i), values[i]);
    rows.values = begin;
    rows.num_rows = 1;
    rows.num_cols = int64_t(values.size());
    rows.stride = rows.num_cols;
    rows.dtype = dtype;
    rows.kind = SAMPLER_PROBABILITIES;
    if (count != rows.num_cols) rows.counts = &count;
  }
};

struct Given {
  std::vector<float> target, draft;
  int64_t draft_token;  // that the target seldom takes
  std::string description;
};

Given random_rows(Random &random, int64_t num_cols) {
  Given given;
  const auto n = size_t(num_cols);
  const auto row = [&] {
    std::vector<float> x(n);
    for (float &value : x) value = random() % 4 == 0 ? 0.0f : float(random() % 4096) * 0x1p-20f;
    return x;
  };
  given.target = row();
  given.draft = random() % 6 == 0 ? given.target : row();
  const char *names[] = {"none", "target is 0", "target is -0", "draft is 0", "both are 0"};
  const size_t zeros = random() % 12;
  given.description = names[zeros < 5 ? zeros : 0];
  if (zeros == 1 || zeros == 4) std::fill(given.target.begin(), given.target.end(), 0.0f);
  if (zeros == 2) std::fill(given.target.begin(), given.target.end(), -0.0f);
  if (zeros == 3 || zeros == 4) std::fill(given.draft.begin(), given.draft.end(), 0.0f);
  given.draft_token = int64_t(random() % n);
  if (random() % 2 != 0) given.target[size_t(given.draft_token)] = 0.0f;
  if (random() % 4 != 0) {
    const float infinity = std::numeric_limits<float>::infinity();
    const float value = pick(
        random, {quiet_nan(), -quiet_nan(), infinity, -infinity, -0.0f, -1.0f, -0x1p-24f, 1.0f});
    const bool in_target = random() % 2 != 0;
    const size_t place = pick<size_t>(random, {0, n - 1, n / 2, random() % n});
    (in_target ? given.target : given.draft)[place] = value;
    given.description += ", " + std::to_string(value) + " at " + std::to_string(place) +
                         " of the " + (in_target ? "target" : "draft");
  }
  return given;
}

template <class Request>
void run_on_fibers(Request request, const kernels::Plan &plan, uint64_t seed) {
  simt::launch<kThreads>(
      1, plan.team_size, plan.shared_bytes(), seed,
      [&](auto &ctx) { kernels::run_operation(ctx, request, plan); }, simt::Options());
}

kernels::Plan random_plan(Random &random, const kernels::Extent &extent) {
  kernels::Plan plan;
  plan.team_size = 1 << (random() % 3);
  const int64_t row_bytes = kernels::row_bytes_per_block(extent, plan.team_size);
  plan.row_cache_bytes = kernels::ring_bytes(kThreads);
  if (random() % 2 != 0) plan.row_cache_bytes = std::max(plan.row_cache_bytes, int(row_bytes));
  if (random() % 2 != 0) {
    plan.row_cache_bytes += int(kernels::maxima_bytes_per_block(extent, plan.team_size));
  }
  return plan;
}

template <class Request>
void run_reference(const Request &request) {
  std::vector<char> workspace(cpu::workspace_bytes(request, 1));
  cpu::run(request, cpu::Executor(), workspace.data());
}

class GivenRows : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    const int64_t num_cols = pick<int64_t>(random_, {3, 512, 1000, 1024, 2048, 3003});
    given_ = random_rows(random_, num_cols);
    const sampler_dtype dtype = sampler_dtype(random_() % 3);
    const sampler_dtype draft_dtype = random_() % 3 == 0 ? sampler_dtype(random_() % 3) : dtype;
    const int lead = int(random_() % 3);
    const int draft_lead = random_() % 3 == 0 ? int(random_() % 3) : lead;
    const auto count = [&] {
      return int32_t(may_be_short_ && random_() % 3 == 0 ? random_() % uint64_t(num_cols + 2)
                                                         : uint64_t(num_cols));
    };
    target_ = std::make_unique<StoredGiven>(given_.target, dtype, lead, count());
    draft_ = std::make_unique<StoredGiven>(given_.draft, draft_dtype, draft_lead, count());
    has_draft_ = random_() % 4 != 0;
  }

  std::string description() const {
    return given_.description + "; types " + std::to_string(target_->rows.dtype) + " and " +
           std::to_string(draft_->rows.dtype) + ", " + std::to_string(target_->count) + " and " +
           std::to_string(draft_->count) + " of " + std::to_string(target_->rows.num_cols) +
           (has_draft_ ? "" : ", no draft");
  }

  Random random_{seeded(uint64_t(GetParam()))};
  bool may_be_short_ = false;
  Given given_;
  std::unique_ptr<StoredGiven> target_, draft_;
  bool has_draft_;
};

TEST_P(GivenRows, LeaveTheSameResidual) {
  ResidualRequest request;
  request.num_rows = 1;
  request.target = target_->rows;
  int32_t draft_token = int32_t(random_() % 5 == 0 ? -1 : given_.draft_token);
  if (has_draft_) {
    request.draft = draft_->rows;
  } else {
    request.draft_token_ids = &draft_token;
  }
  request.output_dtype = sampler_dtype(random_() % 3);
  request.output_stride = request.target.num_cols;
  struct Outputs {
    std::vector<uint32_t> row;
    uint32_t status = 77;
    bool operator==(const Outputs &other) const {
      return row == other.row && status == other.status;
    }
  };
  const auto outputs_of = [&](const auto &run) {
    Outputs outputs;
    outputs.row.assign(size_t(request.target.num_cols) + 4, 0xA5A5A5A5u);
    request.output = outputs.row.data();
    request.out_row_status = &outputs.status;
    run();
    return outputs;
  };
  const Outputs expected = outputs_of([&] { run_reference(request); });
  const kernels::Plan plan = random_plan(random_, kernels::extent_of(request));
  const Outputs actual = outputs_of([&] { run_on_fibers(request, plan, random_()); });
  EXPECT_EQ(actual.status, expected.status) << description();
  EXPECT_TRUE(actual == expected) << description();
}

class GivenChains : public GivenRows {
 protected:
  GivenChains() { may_be_short_ = true; }
};

TEST_P(GivenChains, EndWithTheSameToken) {
  VerifyRequest request;
  request.num_rows = 1;
  request.num_drafts = 1;
  // The second position is the first's row again.
  request.target = target_->rows;
  request.target.stride = 0;
  const int32_t counts[] = {target_->count, target_->count};
  request.target.counts = counts;
  if (has_draft_) request.draft = draft_->rows;
  const int32_t draft_token = int32_t(given_.draft_token);
  request.draft_token_ids = &draft_token;
  const int32_t num_drafts = int32_t(random_() % 4 != 0);
  request.draft_counts = &num_drafts;
  request.random.seed.value = random_();
  struct Outputs {
    int32_t tokens[2] = {77, 77};
    int32_t accepted = 77;
    uint32_t status = 77;
    bool operator==(const Outputs &other) const {
      return std::memcmp(this, &other, sizeof(Outputs)) == 0;
    }
  };
  const auto outputs_of = [&](const auto &run) {
    Outputs outputs;
    request.out_token_ids.data = outputs.tokens;
    request.out_accepted_counts = &outputs.accepted;
    request.out_row_status = &outputs.status;
    run();
    return outputs;
  };
  const Outputs expected = outputs_of([&] { run_reference(request); });
  const kernels::Plan plan = random_plan(random_, kernels::extent_of(request));
  const Outputs actual = outputs_of([&] { run_on_fibers(request, plan, random_()); });
  EXPECT_EQ(actual.status, expected.status) << description();
  EXPECT_TRUE(actual == expected) << description();
}

INSTANTIATE_TEST_SUITE_P(Seeds, GivenRows, testing::Range(0, 400));
INSTANTIATE_TEST_SUITE_P(Seeds, GivenChains, testing::Range(0, 400));

}  // namespace
