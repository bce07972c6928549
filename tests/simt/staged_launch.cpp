#include "staged_launch.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <limits>
#include <numeric>
#include <random>
#include <type_traits>
#include <vector>

#include "contract/pipeline.h"
#include "contract/reports.h"
#include "cpu/executor.h"
#include "cpu/operations.h"
#include "launch/plan.h"
#include "machine/kernel.cuh"
#include "operations/kept_lists.cuh"
#include "stages/staged.h"

namespace simt_test {
namespace {

namespace contract = sampler::contract;
namespace cpu = sampler::cpu;
namespace kernels = sampler::kernels;

constexpr int kThreads = 64;

// Rows, lists and texts, in arrays that the requests point to.
class StagedProblem {
 public:
  // `only_forces`: lists of candidates, of each of which a token is forced, and nothing else.
  explicit StagedProblem(uint64_t seed, bool only_forces = false)
      : random_(seed), only_forces_(only_forces) {
    const int64_t widths[] = {20, 300, 2100, 6000};
    num_cols_ = widths[seed % 4];
    num_rows_ = between(1, 3);
    for (int64_t i = 0; i < num_rows_ * num_cols_; ++i) values_.push_back(value());
    rows_.values = values_.data();
    rows_.num_rows = num_rows_;
    rows_.num_cols = rows_.stride = num_cols_;
    parameters_.temperature.value = one_in(6) ? 0.0f : 0.5f + unit();
    if (one_in(3)) parameters_.top_k.value = int32_t(between(1, 30));
    if (one_in(3)) parameters_.top_p.value = 0.2f + 0.7f * unit();
    if (only_forces || one_in(4)) list_candidates();
    if (only_forces) return;
    if (!one_in(4)) set_edits();
    if (one_in(2)) set_windows();
    if (one_in(3)) set_adaptive();
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
    request.random.are_watermarks = one_in(2);
    request.logprob_kind = one_in(2) ? SAMPLER_LOGPROB_RAW : SAMPLER_LOGPROB_PROCESSED;
    if (pipeline_.has_edits() && one_in(3)) request.logprob_kind = SAMPLER_LOGPROB_EDITED;
    if (only_forces_ || one_in(4)) {
      for (int64_t i = 0; i < num_rows_; ++i) forced_.push_back(between(-1, num_cols_ - 1));
      pipeline_.forced_token_ids = forced_.data();
    }
    request.pipeline = &pipeline_;
    if (!only_forces_ && one_in(2)) set_reports(&request);
    return request;
  }

  contract::FilterRequest filter() {
    contract::FilterRequest request;
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
    std::vector<float> logprobs, values, observations, rows;
    std::vector<uint32_t> status;
    // Reports.
    std::vector<int32_t> top_ids, ranks, kept_ids;
    std::vector<int64_t> kept_offsets;
    std::vector<float> top_logprobs, chosen_logprobs, entropies, kept_probabilities;
    std::vector<uint32_t> bitmasks;
    std::vector<uint8_t> removed_by;

    bool operator==(const Outputs &other) const {
      const auto same = [](const std::vector<float> &a, const std::vector<float> &b) {
        return a.size() == b.size() &&
               (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
      };
      return tokens == other.tokens && counts == other.counts && status == other.status &&
             same(logprobs, other.logprobs) && same(values, other.values) &&
             same(observations, other.observations) && same(rows, other.rows) &&
             top_ids == other.top_ids && ranks == other.ranks && kept_ids == other.kept_ids &&
             same(top_logprobs, other.top_logprobs) &&
             same(chosen_logprobs, other.chosen_logprobs) && same(entropies, other.entropies) &&
             same(kept_probabilities, other.kept_probabilities) && bitmasks == other.bitmasks &&
             kept_offsets == other.kept_offsets && removed_by == other.removed_by;
    }
  };
  Outputs bind(contract::SampleRequest *request) {
    Outputs outputs = no_outputs();
    request->out_token_ids.data = outputs.tokens.data();
    request->out_kept_counts = outputs.counts.data();
    request->out_logprobs = outputs.logprobs.data();
    request->out_values = outputs.values.data();
    request->out_observations = outputs.observations.data();
    request->out_row_status = outputs.status.data();
    if (request->reports) bind_reports(&outputs);
    return outputs;
  }
  Outputs bind(contract::FilterRequest *request) const {
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
    Outputs outputs;
    outputs.tokens.resize(n, -7);
    outputs.counts.resize(n, -7);
    outputs.logprobs.resize(n, 7);
    outputs.values.resize(n, 7);
    outputs.observations.resize(n, 7);
    outputs.status.resize(n, 7);
    return outputs;
  }

  void set_reports(contract::SampleRequest *request) {
    const int64_t counts[] = {0, 1, 20, 1500, num_cols_};
    const auto some = [&] { return std::min(num_cols_, counts[between(0, 4)]); };
    reports_.num_top = some();
    reports_.num_chosen = one_in(2) ? 5 : 0;
    for (int64_t i = 0; i < reports_.num_chosen * num_rows_; ++i) {
      chosen_.push_back(int32_t(between(-1, num_cols_)));
    }
    reports_.chosen_token_ids = chosen_.data();
    reports_.kept_bitmask_stride = one_in(2) ? (num_cols_ + 31) / 32 : 0;
    reports_.kept_capacity = some();
    packs_lists_ = one_in(3);
    if (packs_lists_) reports_.kept_capacity = between(0, num_rows_ * num_cols_);
    has_entropies_ = one_in(2);
    has_removals_ = one_in(3);
    request->reports = &reports_;
  }

  void bind_reports(Outputs *outputs) {
    const auto array = [&](auto *values, int64_t per_row) {
      values->assign(size_t(num_rows_ * per_row), 7);
      return values->empty() ? nullptr : values->data();
    };
    reports_.out_top_token_ids.data = array(&outputs->top_ids, reports_.num_top);
    reports_.out_top_logprobs = array(&outputs->top_logprobs, reports_.num_top);
    reports_.out_chosen_logprobs = array(&outputs->chosen_logprobs, reports_.num_chosen);
    reports_.out_ranks = array(&outputs->ranks, 1);
    reports_.out_entropies = array(&outputs->entropies, has_entropies_);
    reports_.out_kept_bitmask = array(&outputs->bitmasks, reports_.kept_bitmask_stride);
    const int64_t lists = packs_lists_ ? 1 : num_rows_;
    outputs->kept_ids.assign(size_t(lists * reports_.kept_capacity), 7);
    outputs->kept_probabilities.assign(size_t(lists * reports_.kept_capacity), 7);
    outputs->kept_offsets.assign(packs_lists_ ? size_t(num_rows_ + 1) : 0, 7);
    reports_.out_kept_token_ids.data = outputs->kept_ids.data();
    reports_.out_kept_probabilities = outputs->kept_probabilities.data();
    reports_.out_kept_offsets = packs_lists_ ? outputs->kept_offsets.data() : nullptr;
    reports_.out_removed_by = array(&outputs->removed_by, has_removals_ ? num_cols_ : 0);
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
    list_what_is_on();
    sampler_stage *const stages = pipeline_.windows.stages;
    std::shuffle(stages, stages + pipeline_.windows.count, random_);
    pipeline_.dynamic_range.value = 0.3f;
    pipeline_.typical_p.value = 0.9f;
    pipeline_.top_n_sigma.value = 2.0f;
    pipeline_.epsilon.value = 1e-4f;
    pipeline_.eta.value = 1e-3f;
    pipeline_.top_h.value = 0.7f;
    pipeline_.p_less.value = SAMPLER_P_LESS_NORM;
    pipeline_.min_k.value = 3.0f;
    pipeline_.top_a.value = 0.05f;
    pipeline_.xtc_probability.value = 0.5f;
  }

  // As calls must.
  void list_what_is_on() {
    contract::StageOrder &order = pipeline_.windows;
    const auto list = [&](sampler_stage stage) {
      if (std::find(order.begin(), order.end(), stage) == order.end()) order.add(stage);
    };
    list(SAMPLER_STAGE_TEMPERATURE);
    if (contract::top_k_is_on(parameters_.top_k.value)) list(SAMPLER_STAGE_TOP_K);
    if (contract::top_p_is_on(parameters_.top_p.value) ||
        contract::top_p_decay_is_on(pipeline_.adaptive.top_p_decay.value)) {
      list(SAMPLER_STAGE_TOP_P);
    }
  }

  void set_adaptive() {
    pipeline_.has_windows = true;
    if (one_in(2)) pipeline_.adaptive.top_p_decay.value = 0.9f;
    list_what_is_on();
    pipeline_.windows.add(SAMPLER_STAGE_ADAPTIVE);
    pipeline_.adaptive.kind.value =
        sampler_adaptive_kind(between(SAMPLER_ADAPTIVE_MIROSTAT_V1, SAMPLER_ADAPTIVE_SMOOTHING));
    pipeline_.adaptive.target.value =
        pipeline_.adaptive.kind.value >= SAMPLER_ADAPTIVE_P ? unit() : 8.0f * unit();
    if (pipeline_.adaptive.kind.value == SAMPLER_ADAPTIVE_SMOOTHING && one_in(2)) {
      pipeline_.adaptive.rate.value = 1.0f + 2.0f * unit();
    }
    for (int64_t i = 0; i < num_rows_ * SAMPLER_NUM_ADAPTIVE_VALUES; ++i) {
      adaptive_values_.push_back(one_in(3) ? std::numeric_limits<float>::quiet_NaN() : unit());
    }
    pipeline_.adaptive_values = adaptive_values_.data();
  }

  std::mt19937_64 random_;
  bool only_forces_;
  int64_t num_cols_, num_rows_;
  std::vector<float> values_, biases_, dense_, adaptive_values_;
  std::vector<int32_t> candidates_, chosen_;
  bool has_entropies_ = false, has_removals_ = false, packs_lists_ = false;
  std::vector<int64_t> forced_;
  Lists history_, biased_, allowed_, banned_, bad_words_, breakers_;
  contract::Rows rows_;
  contract::Parameters parameters_;
  contract::Pipeline pipeline_;
  contract::Reports reports_;
};

// Lists that are packed, and the launch after the others.
class Packing {
 public:
  explicit Packing(kernels::StagedSampleRequest *request) {
    request->kept_lists =
        contract::KeptLists::of(request->wanted, request->num_rows, [&](size_t bytes) {
          parts_.emplace_back(bytes / sizeof(uint64_t) + 1, 0xA5A5A5A5A5A5A5A5u);
          return reinterpret_cast<char *>(parts_.back().data());
        });
    if (request->kept_lists.num_taken) *request->kept_lists.num_taken = 0;
  }
  explicit Packing(kernels::StagedFilterRequest *) {}

  static void run(const kernels::StagedSampleRequest &request, uint64_t seed) {
    const contract::Reports &wanted = request.wanted;
    if (!wanted.are_lists_packed()) return;
    const kernels::PackRequest packing = {request.kept_lists,
                                          request.num_rows,
                                          wanted.kept_capacity,
                                          wanted.out_kept_token_ids,
                                          wanted.out_kept_probabilities,
                                          wanted.out_kept_offsets};
    simt::launch<kThreads>(1 + int64_t(seed % uint64_t(request.num_rows)), 1, 0, seed,
                           [&](auto &ctx) { kernels::run_pack(ctx, packing); });
  }
  static void run(const kernels::StagedFilterRequest &, uint64_t) {}

 private:
  std::deque<std::vector<uint64_t>> parts_;
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
  const Packing packing(&staged);
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
  Packing::run(staged, random());
  return actual == expected;
}

}  // namespace

bool equal_with_stages(std::uint64_t seed, const simt::Options &options) {
  StagedProblem problem(seed);
  return equal(&problem, problem.sample(), options) && equal(&problem, problem.filter(), options);
}

bool equal_from_forced_candidates(std::uint64_t seed, const simt::Options &options) {
  StagedProblem problem(seed, true);
  return equal(&problem, problem.sample(), options);
}

}  // namespace simt_test
