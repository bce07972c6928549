#include "shards_launch.h"

#include <algorithm>
#include <limits>
#include <random>

#include "contract/pipeline.h"
#include "contract/reports.h"
#include "cpu/executor.h"
#include "cpu/operations.h"
#include "launch/plan.h"
#include "machine/kernel.cuh"
#include "operations/shard.cuh"

namespace simt_test {

namespace {

namespace contract = sampler::contract;
namespace cpu = sampler::cpu;
namespace kernels = sampler::kernels;

constexpr int kThreads = 64;

class Problem {
 public:
  explicit Problem(std::uint64_t seed) : random_(seed) {
    num_rows_ = between(1, 4);
    num_cols_ = one_in(3) ? between(1, 40) : between(200, 2500);
    const bool has_ties = one_in(3);
    for (std::int64_t i = 0; i < num_rows_ * num_cols_; ++i) {
      values_.push_back(has_ties ? float(between(0, 2)) : float(between(0, 1 << 20)) * 0x1p-16f);
    }
    if (one_in(8)) values_[0] = std::numeric_limits<float>::quiet_NaN();
    first_ids_ = {0};
    const std::int64_t num_ranks = between(1, 4);
    for (std::int64_t i = 1; i < num_ranks; ++i) first_ids_.push_back(between(0, num_cols_));
    first_ids_.push_back(num_cols_);
    std::sort(first_ids_.begin(), first_ids_.end());
    set_parameters();
    if (one_in(2)) set_edits();
  }

  struct Outputs {
    std::vector<std::int32_t> ids, kept, ranks, top;
    std::vector<float> logprobs, entropies;
    std::vector<std::uint32_t> statuses;
    contract::Reports reports;

    bool operator==(const Outputs &other) const {
      const auto same = [](const std::vector<float> &a, const std::vector<float> &b) {
        return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
      };
      return ids == other.ids && kept == other.kept && ranks == other.ranks && top == other.top &&
             statuses == other.statuses && same(logprobs, other.logprobs) &&
             same(entropies, other.entropies);
    }
  };

  contract::SampleRequest bind(Outputs *to) const {
    const auto rows = std::size_t(num_rows_);
    to->ids.assign(rows, 77), to->kept.assign(rows, 77), to->statuses.assign(rows, 77);
    to->logprobs.assign(rows, 77.0f);
    contract::SampleRequest request = request_;
    request.input.values = values_.data();
    request.out_token_ids.data = to->ids.data();
    request.out_kept_counts = to->kept.data();
    request.out_logprobs = to->logprobs.data();
    request.out_row_status = to->statuses.data();
    request.pipeline = has_edits_ ? &pipeline_ : nullptr;
    if (num_top_ > 0) {
      to->ranks.assign(rows, 77), to->entropies.assign(rows, 77.0f);
      to->top.assign(rows * std::size_t(num_top_), 77);
      to->reports.num_top = num_top_;
      to->reports.out_top_token_ids.data = to->top.data();
      to->reports.out_ranks = to->ranks.data();
      to->reports.out_entropies = to->entropies.data();
      request.reports = &to->reports;
    }
    return request;
  }

  const std::vector<std::int64_t> &first_ids() const { return first_ids_; }
  std::mt19937_64 &random() { return random_; }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + std::int64_t(random_() % std::uint64_t(high - low + 1));
  }
  bool one_in(int n) { return between(1, n) == 1; }

 private:
  void set_parameters() {
    request_.input.num_rows = request_.num_rows = num_rows_;
    request_.input.num_cols = request_.input.stride = num_cols_;
    contract::Parameters &to = request_.parameters;
    to.temperature.value = one_in(6) ? 0.0f : 0.7f;
    if (one_in(2)) to.top_k.value = std::int32_t(between(1, std::min<std::int64_t>(num_cols_, 60)));
    if (one_in(2)) to.top_p.value = 0.9f;
    if (one_in(4)) to.min_p.value = 0.01f;
    to.rules.top_k_ties = sampler_tie_rule(between(0, 1));
    to.rules.top_p_ties = sampler_tie_rule(between(0, 1));
    to.rules.order = sampler_filter_order(between(0, 2));
    to.rules.top_p_sum = sampler_sum_rule(between(0, 1));
    request_.random.seed.value = random_();
    request_.draw_method = sampler_draw_method(one_in(3));
    request_.logprob_kind = one_in(2) ? SAMPLER_LOGPROB_RAW : SAMPLER_LOGPROB_PROCESSED;
    if (one_in(3)) num_top_ = between(1, std::min<std::int64_t>(num_cols_, 9));
    // RAW top log-probabilities beside edits have no sharded form: their ids have.
  }

  // Biases by list or for all columns, and bans.
  void set_edits() {
    has_edits_ = true;
    pipeline_.edits.add(SAMPLER_STAGE_BIAS);
    pipeline_.edits.add(SAMPLER_STAGE_MASK);
    for (int i = 0; i < 40; ++i) {
      ids_.push_back(std::int32_t(between(0, num_cols_ - 1)));
      biases_.push_back(float(between(-8, 8)));
    }
    for (std::int64_t i = 0; i < num_cols_; ++i) dense_.push_back(float(between(-1, 1)));
    if (one_in(2)) {
      pipeline_.biased = {offsets_, ids_.data(), SAMPLER_ID_I32, 1, 40};
      pipeline_.biases = biases_.data();
    } else {
      pipeline_.dense_bias = dense_.data();
      pipeline_.dense_bias_stride = num_cols_;
    }
    if (num_cols_ > 100) pipeline_.banned = {offsets_, ids_.data(), SAMPLER_ID_I32, 1, 40};
    // What is reported of a row before its edits takes a rank more.
    num_top_ = request_.logprob_kind == SAMPLER_LOGPROB_RAW ? 0 : num_top_;
  }

  std::mt19937_64 random_;
  std::int64_t num_rows_, num_cols_, num_top_ = 0;
  std::vector<float> values_, biases_, dense_;
  std::vector<std::int32_t> ids_;
  std::int64_t offsets_[2] = {0, 40};
  std::vector<std::int64_t> first_ids_;
  bool has_edits_ = false;
  contract::SampleRequest request_;
  contract::Pipeline pipeline_;
};

}  // namespace

bool equal_on_ranks(std::uint64_t seed, const simt::Options &options) {
  Problem problem(seed);
  Problem::Outputs expected;
  const contract::SampleRequest whole = problem.bind(&expected);
  std::vector<char> workspace(cpu::workspace_bytes(whole, 1));
  cpu::run(whole, cpu::Executor(), workspace.data());

  std::vector<Problem::Outputs> outputs(problem.first_ids().size() - 1);
  kernels::Plan plan;
  plan.team_size = 1 << problem.between(0, 2);
  plan.num_teams = problem.between(1, whole.num_rows);
  plan.row_cache_bytes = kernels::ring_bytes(kThreads);
  if (problem.one_in(2)) plan.row_cache_bytes += 16 * kernels::kTile * 4;
  run_on_ranks(
      problem.first_ids(), plan.num_teams,
      [&](std::int64_t rank) { return problem.bind(&outputs[std::size_t(rank)]); },
      [&](const kernels::ShardRequest &request) {
        simt::launch<kThreads>(
            plan.num_teams, plan.team_size, plan.shared_bytes(), problem.random()(),
            [&](auto &ctx) { kernels::run_operation(ctx, request, plan); }, options);
      });
  return std::all_of(outputs.begin(), outputs.end(),
                     [&](const Problem::Outputs &own) { return own == expected; });
}

}  // namespace simt_test
