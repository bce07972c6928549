#include "staged_launch.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <type_traits>
#include <vector>

#include "contract/pipeline.h"
#include "cpu/executor.h"
#include "cpu/operations.h"
#include "kernel.cuh"
#include "plan.h"
#include "staged.h"

namespace simt_test {
namespace {

namespace contract = sampler::contract;
namespace cpu = sampler::cpu;
namespace kernels = sampler::kernels;

constexpr int kThreads = 64;

// Rows, lists and texts, in arrays that the requests point to.
class StagedProblem {
 public:
  explicit StagedProblem(uint64_t seed) : random_(seed) {
    const int64_t widths[] = {20, 300, 2100, 6000};
    num_cols_ = widths[seed % 4];
    num_rows_ = between(1, 3);
    for (int64_t i = 0; i < num_rows_ * num_cols_; ++i) values_.push_back(value());
    rows_.values = values_.data();
    rows_.num_rows = num_rows_;
    rows_.num_cols = rows_.stride = num_cols_;
    if (one_in(4)) list_candidates();
    set_edits();
    if (one_in(2)) set_windows();
    parameters_.temperature.value = one_in(6) ? 0.0f : 0.5f + unit();
    if (one_in(3)) parameters_.top_k.value = int32_t(between(1, 30));
    if (one_in(3)) parameters_.top_p.value = 0.2f + 0.7f * unit();
  }
  StagedProblem(const StagedProblem &) = delete;
  StagedProblem &operator=(const StagedProblem &) = delete;

  contract::SampleRequest sample() {
    contract::SampleRequest request;
    request.input = rows_;
    request.num_rows = num_rows_;
    request.parameters = parameters_;
    request.random.seed.value = random_();
    request.draw_method = one_in(3) ? SAMPLER_DRAW_GUMBEL : SAMPLER_DRAW_INVERSE_CDF;
    request.logprob_kind = one_in(2) ? SAMPLER_LOGPROB_RAW : SAMPLER_LOGPROB_PROCESSED;
    if (one_in(4)) {
      for (int64_t i = 0; i < num_rows_; ++i) forced_.push_back(between(-1, num_cols_ - 1));
      pipeline_.forced_token_ids = forced_.data();
    }
    request.pipeline = &pipeline_;
    return request;
  }

  contract::RowsRequest filter() {
    contract::RowsRequest request;
    request.input = rows_;
    request.parameters = parameters_;
    request.output_kind = one_in(2) ? SAMPLER_OUTPUT_VALUES : SAMPLER_OUTPUT_PROBABILITIES;
    request.output_stride = num_cols_;
    request.pipeline = &pipeline_;
    return request;
  }

  // What a row yields, and where a request's outputs go.
  struct Outputs {
    std::vector<int32_t> tokens, counts;
    std::vector<float> logprobs, values, rows;
    std::vector<uint32_t> status;

    bool operator==(const Outputs &other) const {
      const auto same = [](const std::vector<float> &a, const std::vector<float> &b) {
        return a.size() == b.size() &&
               (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
      };
      return tokens == other.tokens && counts == other.counts && status == other.status &&
             same(logprobs, other.logprobs) && same(values, other.values) && same(rows, other.rows);
    }
  };
  Outputs bind(contract::SampleRequest *request) const {
    Outputs outputs = no_outputs();
    request->out_token_ids.data = outputs.tokens.data();
    request->out_kept_counts = outputs.counts.data();
    request->out_logprobs = outputs.logprobs.data();
    request->out_values = outputs.values.data();
    request->out_row_status = outputs.status.data();
    return outputs;
  }
  Outputs bind(contract::RowsRequest *request) const {
    Outputs outputs = no_outputs();
    outputs.rows.resize(size_t(num_rows_ * num_cols_), 7);
    request->output = outputs.rows.data();
    request->out_kept_counts = outputs.counts.data();
    request->out_row_status = outputs.status.data();
    return outputs;
  }

  std::mt19937_64 &random() { return random_; }

 private:
  int64_t between(int64_t low, int64_t high) {
    return low + int64_t(random_() % uint64_t(high - low + 1));
  }
  bool one_in(int64_t n) { return between(1, n) == 1; }
  float unit() { return float(random_() >> 40) * 0x1p-24f; }

  float value() {
    if (one_in(30)) return -std::numeric_limits<float>::infinity();
    return one_in(3) ? float(between(-20, 20)) : 40.0f * unit() - 20.0f;
  }

  Outputs no_outputs() const {
    const size_t n = size_t(num_rows_);
    return {std::vector<int32_t>(n, -7),
            std::vector<int32_t>(n, -7),
            std::vector<float>(n, 7),
            std::vector<float>(n, 7),
            {},
            std::vector<uint32_t>(n, 7)};
  }

  void list_candidates() {
    for (int64_t row = 0; row < num_rows_; ++row) {
      std::vector<int32_t> ids(static_cast<size_t>(num_cols_));
      std::iota(ids.begin(), ids.end(), 0);
      std::shuffle(ids.begin(), ids.end(), random_);
      candidates_.insert(candidates_.end(), ids.begin(), ids.end());
    }
    rows_.ids = candidates_.data();
  }

  // Lists of `num_lists`, with ids below `num_ids` that come again.
  struct Lists {
    std::vector<int64_t> offsets = {0};
    std::vector<int32_t> ids;
  };
  contract::TokenLists lists(Lists *lists, int64_t num_lists, int64_t most, int64_t num_ids) {
    for (int64_t i = 0; i < num_lists; ++i) {
      for (int64_t n = between(1, most); n > 0; --n) {
        lists->ids.push_back(int32_t(between(-1, num_ids)));
      }
      lists->offsets.push_back(int64_t(lists->ids.size()));
    }
    return {lists->offsets.data(), lists->ids.data(), SAMPLER_ID_I32, num_lists,
            int64_t(lists->ids.size())};
  }

  void set_edits() {
    for (int stage = SAMPLER_STAGE_BIAS; stage <= SAMPLER_STAGE_NO_REPEAT_NGRAM; ++stage) {
      if (one_in(2)) pipeline_.edits.add(sampler_stage(stage));
    }
    sampler_stage *const stages = pipeline_.edits.stages;
    std::shuffle(stages, stages + pipeline_.edits.count, random_);
    const int64_t num_ids = std::min<int64_t>(num_cols_, between(2, 12));
    pipeline_.history = lists(&history_, num_rows_, 1500, num_ids);
    if (one_in(2)) repeat_history();
    pipeline_.max_history = pipeline_.history.num_ids;
    pipeline_.biased = lists(&biased_, num_rows_, one_in(2) ? 300 : 5, num_ids * 8);
    for (size_t i = 0; i < biased_.ids.size(); ++i) biases_.push_back(4.0f * unit() - 2.0f);
    pipeline_.biases = biases_.data();
    if (one_in(2)) {
      for (int64_t i = 0; i < num_cols_; ++i) dense_.push_back(unit());
      pipeline_.dense_bias = dense_.data();
      pipeline_.dense_bias_stride = num_cols_;
    }
    if (one_in(3)) pipeline_.allowed = lists(&allowed_, num_rows_, num_cols_, num_cols_);
    if (one_in(2)) pipeline_.banned = lists(&banned_, num_rows_, 40, num_ids);
    if (one_in(2)) pipeline_.bad_words = lists(&bad_words_, 60, 3, num_ids);
    pipeline_.repetition_penalty.value = 1.3f;
    pipeline_.frequency_penalty.value = one_in(2) ? 0.25f : 0.0f;
    pipeline_.presence_penalty.value = 0.5f;
    pipeline_.penalty_scope = sampler_penalty_scope(between(0, 2));
    pipeline_.dry_multiplier.value = 0.8f;
    pipeline_.dry_base.value = 1.01f;
    if (one_in(2)) {
      breakers_.offsets = {0, 1};
      breakers_.ids = {int32_t(num_ids - 1)};
      pipeline_.dry_breakers = {breakers_.offsets.data(), breakers_.ids.data(), SAMPLER_ID_I32, 1,
                                1};
    }
    pipeline_.no_repeat_ngram_size.value = int32_t(between(1, 9));
  }

  // Most tokens are those of one or a few before.
  void repeat_history() {
    const size_t period = size_t(between(1, 40));
    for (size_t i = period; i < history_.ids.size(); ++i) {
      if (!one_in(150)) history_.ids[i] = history_.ids[i - period];
    }
  }

  void set_windows() {
    pipeline_.has_windows = true;
    for (int stage = SAMPLER_STAGE_TEMPERATURE; stage <= SAMPLER_STAGE_MIN_P; ++stage) {
      if (one_in(2)) pipeline_.windows.add(sampler_stage(stage));
    }
    sampler_stage *const stages = pipeline_.windows.stages;
    std::shuffle(stages, stages + pipeline_.windows.count, random_);
    pipeline_.dynamic_range.value = 0.3f;
    pipeline_.typical_p.value = 0.9f;
    pipeline_.top_n_sigma.value = 2.0f;
    pipeline_.epsilon.value = 1e-4f;
    pipeline_.eta.value = 1e-3f;
    pipeline_.top_h.value = 0.7f;
    pipeline_.xtc_probability.value = 0.5f;
  }

  std::mt19937_64 random_;
  int64_t num_cols_, num_rows_;
  std::vector<float> values_, biases_, dense_;
  std::vector<int32_t> candidates_;
  std::vector<int64_t> forced_;
  Lists history_, biased_, allowed_, banned_, bad_words_, breakers_;
  contract::Rows rows_;
  contract::Parameters parameters_;
  contract::Pipeline pipeline_;
};

struct alignas(kernels::StageMemory::kAlignment) Line {
  char bytes[kernels::StageMemory::kAlignment];
};

template <class Request>
bool equal(StagedProblem *problem, Request request, const simt::Options &options) {
  StagedProblem::Outputs expected = problem->bind(&request);
  std::vector<char> workspace(cpu::workspace_bytes(request, 1));
  cpu::run(request, cpu::Executor(), workspace.data());

  StagedProblem::Outputs actual = problem->bind(&request);
  kernels::Staged<Request> staged(request);
  const kernels::Extent extent = kernels::extent_of(staged);
  kernels::Plan plan;
  std::mt19937_64 &random = problem->random();
  plan.team_size = 1 << random() % 3;
  plan.num_teams = 1 + int64_t(random() % uint64_t(extent.num_rows));
  plan.row_cache_bytes = kernels::ring_bytes(kThreads);
  const int64_t part = kernels::row_bytes_per_block(extent, plan.team_size);
  if (random() % 2 == 0 && part <= 64 * 1024) {
    plan.row_cache_bytes = std::max(plan.row_cache_bytes, int(part));
  }
  if (random() % 2 == 0) {
    plan.row_cache_bytes += int(kernels::maxima_bytes_per_block(extent, plan.team_size));
  }
  Line garbage;
  std::memset(garbage.bytes, 0xA5, sizeof garbage);
  std::vector<Line> memory(size_t(plan.num_teams) * staged.memory.bytes_of_team / sizeof(Line) + 1,
                           garbage);
  staged.memory.memory = memory[0].bytes;
  std::vector<uint32_t> bitmaps;
  if (kernels::needs_bitmaps(extent)) {
    bitmaps.resize(size_t(plan.num_teams * kernels::kIdWords), 0xA5A5A5A5u);
    plan.bitmaps = bitmaps.data();
  }
  simt::launch<kThreads>(
      plan.num_teams, plan.team_size, plan.shared_bytes(), random(),
      [&](auto &ctx) { kernels::run_operation(ctx, staged, plan); }, options);
  return actual == expected;
}

}  // namespace

bool equal_with_stages(std::uint64_t seed, const simt::Options &options) {
  StagedProblem problem(seed);
  return equal(&problem, problem.sample(), options) && equal(&problem, problem.filter(), options);
}

}  // namespace simt_test
