#include "timing.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "kernels.h"
#include "report.h"
#include "runtime.h"

namespace gpu_check {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRepeats = 50;
// A slow cell ends its repeats after this time, with at least kMinRepeats.
constexpr double kMaxSecondsPerSeries = 0.5;
constexpr int kMinRepeats = 5;

constexpr int kHotCallsPerGraph = 16;
constexpr int kMaxCallsPerGraph = 320;
// Least bytes of rotated inputs, more than any L2 cache.
constexpr int64_t kColdBytes = int64_t(192) << 20;
constexpr int64_t kPoolBytes = int64_t(20) << 30;
constexpr int64_t kOutputPoolBytes = int64_t(4) << 30;
constexpr int64_t kWorkspaceBytes = int64_t(1) << 30;
constexpr int64_t kNumDrafts = 7;
constexpr int64_t kHistory = 1000;  // tokens of a text
constexpr int64_t kTop = 20;
constexpr int64_t kMaxRows = 4096;
constexpr int64_t kMaxCols = 200000;

// Reports besides tokens.
struct Reports {
  int32_t *kept_counts, *ranks, *top_ids;
  float *logprobs, *values, *top_logprobs;
  sampler_row_status *row_status;
};

// What stages read: [kMaxRows, kHistory] tokens of histories; a bitmask, and top-k, for each row.
struct Texts {
  const int64_t *offsets;
  const int32_t *tokens;
  const uint32_t *bitmasks;
  const int32_t *top_k;
};

// The shape and data of a call.
struct Call {
  const void *input;
  const void *draft;  // verification only
  void *output;       // whole rows
  int32_t *token_ids;
  Reports reports;
  Texts texts;
  void *workspace;  // kWorkspaceBytes, or what there was
  size_t workspace_bytes;
  const int32_t *draft_token_ids;
  int64_t num_rows, num_cols;
  sampler_dtype dtype;
  sampler_input_kind kind;
  const sampler_params *params;
  cudaStream_t stream;
};

using Enqueue = sampler_status (*)(sampler_t, const Call &);

struct Work {
  const char *name;
  sampler_input_kind kind;
  bool writes_rows;
  // Input rows per row: allocated; and read by the call, each counted once.
  int num_stored_rows, num_read_rows;
  Enqueue enqueue;
  sampler_params params;
  Content content = Content::kLanguage;
};

sampler_params params(float temperature, int32_t top_k, float top_p, float min_p,
                      sampler_filter_order filter_order = SAMPLER_FILTERS_SEQUENTIAL) {
  sampler_params params = sampler_params_default();
  params.temperature = temperature;
  params.top_k = top_k;
  params.top_p = top_p;
  params.min_p = min_p;
  params.filter_order = filter_order;
  return params;
}

// With other numbers of stages.
template <class Set>
sampler_params params_with(const Set &set) {
  sampler_params params = sampler_params_default();
  set(&params);
  return params;
}

sampler_params params_with_penalties() {
  return params_with([](auto *of) {
    of->top_k = 50, of->top_p = 0.9f;
    of->repetition_penalty = 1.1f, of->frequency_penalty = 0.2f;
  });
}
sampler_params params_of_llama_cpp(float xtc_probability) {
  return params_with([=](auto *of) {
    if (sampler_params_preset(of, sizeof *of, "llama.cpp") != SAMPLER_OK) std::abort();
    of->temperature = 0.8f, of->top_k = 40, of->top_p = 0.95f, of->min_p = 0.05f;
    of->repetition_penalty = 1.1f, of->xtc_probability = xtc_probability;
  });
}

template <class Args>
Args begin_args(const Call &call) {
  Args args = {};
  args.struct_size = sizeof args;
  args.exec.stream = call.stream;
  args.exec.workspace = call.workspace;
  args.exec.workspace_bytes = call.workspace_bytes;
  return args;
}

sampler_rows rows_of(const Call &call, const void *values, int64_t num_rows) {
  sampler_rows rows = {};
  rows.values = values;
  rows.num_rows = num_rows;
  rows.num_cols = call.num_cols;
  rows.dtype = call.dtype;
  rows.kind = call.kind;
  return rows;
}

sampler_sample_args sample_args(const Call &call) {
  auto args = begin_args<sampler_sample_args>(call);
  args.input = rows_of(call, call.input, call.num_rows);
  args.params = call.params;
  args.random.seed = 1;
  args.out_token_ids = call.token_ids;
  return args;
}
sampler_status sample(sampler_t sampler, const Call &call) {
  const sampler_sample_args args = sample_args(call);
  return sampler_sample(sampler, &args);
}
sampler_status sample_and_report(sampler_t sampler, const Call &call) {
  sampler_sample_args args = sample_args(call);
  sampler_report_args reports = {};
  reports.struct_size = sizeof reports;
  reports.out_kept_counts = call.reports.kept_counts;
  reports.out_logprobs = call.reports.logprobs;
  reports.out_values = call.reports.values;
  args.reports = &reports;
  args.out_row_status = call.reports.row_status;
  return sampler_sample(sampler, &args);
}

// What servers report of each token: of the row as it is given.
sampler_report_args top_reports_of(const Call &call) {
  sampler_report_args reports = {};
  reports.struct_size = sizeof reports;
  reports.num_top_logprobs = kTop;
  reports.out_top_token_ids = call.reports.top_ids;
  reports.out_top_logprobs = call.reports.top_logprobs;
  reports.out_ranks = call.reports.ranks;
  reports.out_logprobs = call.reports.logprobs;
  return reports;
}
sampler_status report_top(sampler_t sampler, const Call &call, sampler_sample_args args) {
  const sampler_report_args reports = top_reports_of(call);
  args.reports = &reports;
  return sampler_sample(sampler, &args);
}
sampler_status sample_and_report_top(sampler_t sampler, const Call &call) {
  return report_top(sampler, call, sample_args(call));
}
sampler_pipeline pipeline_of_texts(const Call &call) {
  sampler_pipeline pipeline = {};
  pipeline.struct_size = sizeof pipeline;
  pipeline.history.offsets = call.texts.offsets;
  pipeline.history.token_ids = call.texts.tokens;
  pipeline.history.num_lists = call.num_rows;
  pipeline.history.num_token_ids = call.num_rows * kHistory;
  pipeline.max_history_tokens = kHistory;
  return pipeline;
}
sampler_status sample_from_text(sampler_t sampler, const Call &call) {
  sampler_sample_args args = sample_args(call);
  const sampler_pipeline pipeline = pipeline_of_texts(call);
  args.pipeline = &pipeline;
  return sampler_sample(sampler, &args);
}
sampler_status sample_from_text_and_report_top(sampler_t sampler, const Call &call) {
  sampler_sample_args args = sample_args(call);
  const sampler_pipeline pipeline = pipeline_of_texts(call);
  args.pipeline = &pipeline;
  return report_top(sampler, call, args);
}
sampler_status sample_from_text_by_own_top_k(sampler_t sampler, const Call &call) {
  sampler_sample_args args = sample_args(call);
  const sampler_pipeline pipeline = pipeline_of_texts(call);
  sampler_row_params own = {};
  own.struct_size = sizeof own;
  own.top_k = call.texts.top_k;
  args.pipeline = &pipeline;
  args.row_params = &own;
  return sampler_sample(sampler, &args);
}
sampler_status sample_by_bitmask(sampler_t sampler, const Call &call) {
  sampler_sample_args args = sample_args(call);
  sampler_pipeline pipeline = {};
  pipeline.struct_size = sizeof pipeline;
  pipeline.token_bitmasks = call.texts.bitmasks;
  pipeline.num_token_bitmasks = call.num_rows;
  args.pipeline = &pipeline;
  return sampler_sample(sampler, &args);
}

sampler_status write_rows(sampler_t sampler, const Call &call, sampler_output_kind output_kind) {
  auto args = begin_args<sampler_filter_args>(call);
  args.input = rows_of(call, call.input, call.num_rows);
  args.params = call.params;
  args.output_kind = output_kind;
  args.output = call.output;
  args.output_dtype = call.dtype;
  return sampler_filter(sampler, &args);
}
sampler_status filter(sampler_t sampler, const Call &call) {
  return write_rows(sampler, call, SAMPLER_OUTPUT_PROBABILITIES);
}
sampler_status mask(sampler_t sampler, const Call &call) {
  return write_rows(sampler, call, SAMPLER_OUTPUT_VALUES);
}

sampler_verify_args verify_args(const Call &call) {
  auto args = begin_args<sampler_verify_args>(call);
  args.target = rows_of(call, call.input, call.num_rows * (kNumDrafts + 1));
  args.params = call.params;
  args.num_drafts = kNumDrafts;
  args.draft_token_ids = call.draft_token_ids;
  args.random.seed = 1;
  args.out_token_ids = call.token_ids;
  return args;
}
sampler_status verify(sampler_t sampler, const Call &call) {
  sampler_verify_args args = verify_args(call);
  args.draft = rows_of(call, call.draft, call.num_rows * kNumDrafts);
  return sampler_verify(sampler, &args);
}
// Drafts without probabilities, as a lookup makes them.
sampler_status verify_lookup(sampler_t sampler, const Call &call) {
  const sampler_verify_args args = verify_args(call);
  return sampler_verify(sampler, &args);
}
sampler_status verify_lookup_and_report_top(sampler_t sampler, const Call &call) {
  sampler_verify_args args = verify_args(call);
  const sampler_report_args reports = top_reports_of(call);
  args.reports = &reports;
  return sampler_verify(sampler, &args);
}

// With penalties over the text and the drafts before each position.
sampler_status verify_lookup_after_text(sampler_t sampler, const Call &call) {
  sampler_verify_args args = verify_args(call);
  const sampler_pipeline pipeline = pipeline_of_texts(call);
  args.pipeline = &pipeline;
  return sampler_verify(sampler, &args);
}
sampler_status verify_by(sampler_t sampler, const Call &call, sampler_acceptance rule) {
  sampler_verify_args args = verify_args(call);
  sampler_acceptance_params acceptance = {};
  acceptance.struct_size = sizeof acceptance;
  acceptance.rule = rule;
  args.acceptance = &acceptance;
  return sampler_verify(sampler, &args);
}
// By the tokens that a sampling of all positions draws.
sampler_status verify_match(sampler_t sampler, const Call &call) {
  return verify_by(sampler, call, SAMPLER_ACCEPT_SAMPLE_MATCH);
}
// As SGLang verifies, by the target's probabilities alone.
sampler_status verify_threshold(sampler_t sampler, const Call &call) {
  return verify_by(sampler, call, SAMPLER_ACCEPT_THRESHOLD);
}

sampler_status residual(sampler_t sampler, const Call &call) {
  auto args = begin_args<sampler_residual_args>(call);
  args.target = rows_of(call, call.input, call.num_rows);
  args.draft = rows_of(call, call.draft, call.num_rows);
  args.output = call.output;
  args.output_dtype = call.dtype;
  return sampler_residual(sampler, &args);
}

// Most informative first. Names match torch_peer.py.
const Work kWorks[] = {
    {"top_k50_top_p0.9", SAMPLER_LOGITS, false, 1, 1, &sample, params(1.0f, 50, 0.9f, 0.0f)},
    {"top_p0.9", SAMPLER_LOGITS, false, 1, 1, &sample, params(1.0f, 0, 0.9f, 0.0f)},
    {"greedy", SAMPLER_LOGITS, false, 1, 1, &sample, params(0.0f, 0, 1.0f, 0.0f)},
    {"temperature", SAMPLER_LOGITS, false, 1, 1, &sample, params(0.8f, 0, 1.0f, 0.0f)},
    {"softmax", SAMPLER_LOGITS, true, 1, 1, &filter, params(1.0f, 0, 1.0f, 0.0f)},
    {"min_p0.05", SAMPLER_LOGITS, false, 1, 1, &sample, params(1.0f, 0, 1.0f, 0.05f)},
    {"top_k1000", SAMPLER_LOGITS, false, 1, 1, &sample, params(1.0f, 1000, 1.0f, 0.0f)},
    {"joint", SAMPLER_LOGITS, false, 1, 1, &sample,
     params(1.0f, 50, 0.9f, 0.0f, SAMPLER_FILTERS_JOINT)},
    {"top_k_mask50", SAMPLER_LOGITS, true, 1, 1, &mask, params(1.0f, 50, 1.0f, 0.0f)},
    {"top_k_renorm50", SAMPLER_PROBABILITIES, true, 1, 1, &filter, params(1.0f, 50, 1.0f, 0.0f)},
    {"top_p_renorm0.9", SAMPLER_PROBABILITIES, true, 1, 1, &filter, params(1.0f, 0, 0.9f, 0.0f)},
    // Reads the target's and the draft's row at the rejected position.
    {"chain7", SAMPLER_PROBABILITIES, false, 2 * kNumDrafts + 1, 2, &verify,
     params(1.0f, 0, 1.0f, 0.0f)},
    {"residual", SAMPLER_PROBABILITIES, true, 2, 2, &residual, params(1.0f, 0, 1.0f, 0.0f)},
    {"all_outputs", SAMPLER_LOGITS, false, 1, 1, &sample_and_report, params(1.0f, 50, 0.9f, 0.0f)},
    {"top_p0.9_probabilities", SAMPLER_PROBABILITIES, false, 1, 1, &sample,
     params(1.0f, 0, 0.9f, 0.0f)},
    {"top_p0.9_last", SAMPLER_LOGITS, false, 1, 1, &sample, params_with([](auto *of) {
       of->temperature = 0.8f, of->top_p = 0.9f;
       of->temperature_order = SAMPLER_TEMPERATURE_LAST;
     })},
    {"min_p0.05_top_p0.9", SAMPLER_LOGITS, false, 1, 1, &sample,
     params(0.8f, 0, 0.9f, 0.05f, SAMPLER_FILTERS_MIN_P_FIRST)},
    {"penalties1000", SAMPLER_LOGITS, false, 1, 1, &sample_from_text, params_with_penalties()},
    {"penalties1000_top20", SAMPLER_LOGITS, false, 1, 1, &sample_from_text_and_report_top,
     params_with_penalties()},
    {"bitmask", SAMPLER_LOGITS, false, 1, 1, &sample_by_bitmask, params(1.0f, 50, 0.9f, 0.0f)},
    {"top20_logprobs", SAMPLER_LOGITS, false, 1, 1, &sample_and_report_top,
     params(1.0f, 50, 0.9f, 0.0f)},
    {"typical_p0.9", SAMPLER_LOGITS, false, 1, 1, &sample,
     params_with([](auto *of) { of->typical_p = 0.9f; })},
    {"top_n_sigma1", SAMPLER_LOGITS, false, 1, 1, &sample,
     params_with([](auto *of) { of->top_n_sigma = 1.0f; })},
    {"llama.cpp", SAMPLER_LOGITS, false, 1, 1, &sample_from_text, params_of_llama_cpp(0.5f)},
    {"llama.cpp_no_xtc", SAMPLER_LOGITS, false, 1, 1, &sample_from_text, params_of_llama_cpp(0.0f)},
    {"llama.cpp_own_k", SAMPLER_LOGITS, false, 1, 1, &sample_from_text_by_own_top_k,
     params_of_llama_cpp(0.5f)},
    {"mirostat_v2", SAMPLER_LOGITS, false, 1, 1, &sample, params_with([](auto *of) {
       of->adaptive_kind = SAMPLER_ADAPTIVE_MIROSTAT_V2;
       of->adaptive_target = 5.0f, of->adaptive_rate = 0.1f;
     })},
    {"adaptive_p0.5", SAMPLER_LOGITS, false, 1, 1, &sample, params_with([](auto *of) {
       of->adaptive_kind = SAMPLER_ADAPTIVE_P;
       of->adaptive_target = 0.5f, of->adaptive_rate = 0.9f;
     })},
    // At least the first position's row.
    {"lookup7_logits", SAMPLER_LOGITS, false, kNumDrafts + 1, 1, &verify_lookup,
     params(1.0f, 50, 0.9f, 0.0f)},
    {"lookup7_top20", SAMPLER_LOGITS, false, kNumDrafts + 1, kNumDrafts + 1,
     &verify_lookup_and_report_top, params(1.0f, 50, 0.9f, 0.0f)},
    {"lookup7_penalties1000", SAMPLER_LOGITS, false, kNumDrafts + 1, kNumDrafts + 1,
     &verify_lookup_after_text, params_with_penalties()},
    {"match7", SAMPLER_LOGITS, false, kNumDrafts + 1, kNumDrafts + 1, &verify_match,
     params(1.0f, 50, 0.9f, 0.0f)},
    {"threshold7", SAMPLER_PROBABILITIES, false, kNumDrafts + 1, 1, &verify_threshold,
     params(1.0f, 0, 1.0f, 0.0f)},
    {"top_p0.9_flat", SAMPLER_LOGITS, false, 1, 1, &sample, params(1.0f, 0, 0.9f, 0.0f),
     Content::kFlat},
    {"top_p0.9_equal", SAMPLER_LOGITS, false, 1, 1, &sample, params(1.0f, 0, 0.9f, 0.0f),
     Content::kEqual},
    {"top_p0.9_masked", SAMPLER_LOGITS, false, 1, 1, &sample, params(1.0f, 0, 0.9f, 0.0f),
     Content::kMasked},
    {"top_k50_top_p0.9_equal", SAMPLER_LOGITS, false, 1, 1, &sample, params(1.0f, 50, 0.9f, 0.0f),
     Content::kEqual},
    {"top_k50_top_p0.9_masked", SAMPLER_LOGITS, false, 1, 1, &sample, params(1.0f, 50, 0.9f, 0.0f),
     Content::kMasked},
};

struct Cell {
  const Work *work;
  int64_t num_rows, num_cols;
  sampler_dtype dtype;

  int64_t element_bytes() const { return dtype == SAMPLER_F32 ? 4 : 2; }
  int64_t row_bytes() const { return num_rows * num_cols * element_bytes(); }
  std::string name() const {
    return std::string(work->name) + "/B=" + std::to_string(num_rows) +
           "/V=" + std::to_string(num_cols) + (dtype == SAMPLER_F32 ? "/f32" : "/bf16");
  }
};

// Low values are measured early.
int importance(const Cell &cell) {
  const std::map<int64_t, int> columns = {{128256, 0}, {32000, 3}, {200000, 4}};
  const std::map<int64_t, int> rows = {{1, 0}, {64, 0}, {1024, 0}, {256, 1}, {8, 2}, {4096, 3}};
  return columns.at(cell.num_cols) + rows.at(cell.num_rows) + (cell.dtype == SAMPLER_F32 ? 0 : 2);
}

// Among equally important cells, those that share inputs are consecutive.
std::vector<Cell> all_cells() {
  std::vector<Cell> cells;
  for (const int64_t num_cols : {128256, 32000, 200000}) {
    for (const sampler_dtype dtype : {SAMPLER_F32, SAMPLER_BF16}) {
      for (const Work &work : kWorks) {
        for (const int64_t num_rows : {1, 64, 1024, 256, 8, 4096}) {
          cells.push_back({&work, num_rows, num_cols, dtype});
        }
      }
    }
  }
  std::stable_sort(cells.begin(), cells.end(),
                   [](const Cell &a, const Cell &b) { return importance(a) < importance(b); });
  return cells;
}

// Rows of ordinary content, of which goals.cpp may have goals.
bool is_in_brief(const Cell &cell) {
  return cell.num_cols == 128256 && cell.dtype == SAMPLER_F32 && cell.num_rows != 8 &&
         cell.num_rows <= 1024 && cell.work->content == Content::kLanguage;
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Series {
  double median_us, best_us;
  int repeats, calls_per_repeat;
};

// Repeats until there are enough, or time runs out. `measure` returns microseconds.
Series repeat(int calls_per_repeat, double most_seconds, const std::function<double()> &measure) {
  measure();
  std::vector<double> times;
  const Clock::time_point begin = Clock::now();
  while (int(times.size()) < kRepeats) {
    if (int(times.size()) >= kMinRepeats && seconds_since(begin) > most_seconds) break;
    times.push_back(measure());
  }
  const double best = *std::min_element(times.begin(), times.end());
  return {median(times), best, int(times.size()), calls_per_repeat};
}

Json to_json(const Series &series) {
  return {{"median_us", series.median_us},
          {"best_us", series.best_us},
          {"repeats", series.repeats},
          {"calls_per_repeat", series.calls_per_repeat}};
}

class Timer {
 public:
  explicit Timer(const TimingOptions &options)
      : options_(options),
        sampler_(make_cuda_sampler(options.device, kMaxRows, kMaxCols)),
        pool_(pool_bytes(kPoolBytes, 3)),
        outputs_(pool_bytes(kOutputPoolBytes, 4)),
        small_outputs_(size_t(kMaxRows * kSmallOutputs) * sizeof(int32_t)),
        draft_token_ids_(size_t(kMaxRows * kNumDrafts) * sizeof(int32_t)),
        workspace_(pool_bytes(kWorkspaceBytes, 4)),
        histories_(size_t(kMaxRows * kHistory) * sizeof(int32_t)),
        history_offsets_(size_t(kMaxRows + 1) * sizeof(int64_t)),
        bitmasks_(size_t(kMaxRows * ((kMaxCols + 31) / 32)) * sizeof(uint32_t)),
        top_k_(size_t(kMaxRows) * sizeof(int32_t)) {
    fill_texts();
    CUDA_CHECK(cudaMemset(draft_token_ids_.data(), 0, draft_token_ids_.bytes()));
    CUDA_CHECK(cudaMemset(small_outputs_.data(), 0, small_outputs_.bytes()));
    report_ = {{"run", describe_run(options.device, options.command)}, {"cells", Json::array()}};
  }

  int run() {
    int num_left_out = 0;
    for (const Cell &cell : all_cells()) {
      if (cell.name().find(options_.filter) == std::string::npos) continue;
      if (options_.is_brief && !is_in_brief(cell)) continue;
      const bool fits = cell.row_bytes() * cell.work->num_stored_rows <= int64_t(pool_.bytes()) &&
                        (!cell.work->writes_rows || cell.row_bytes() <= int64_t(outputs_.bytes()));
      if (!fits || seconds_since(begin_) >= options_.budget_seconds) {
        ++num_left_out;
        continue;
      }
      measure(cell);
      report_["run"]["seconds"] = seconds_since(begin_);
      write_json(report_, options_.json_path);
    }
    return num_left_out;
  }

 private:
  // At most `wanted`, and at most a part of the free memory.
  static size_t pool_bytes(int64_t wanted, size_t part) {
    size_t free_bytes = 0, total_bytes = 0;
    CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    return std::min(size_t(wanted), free_bytes / part) / 256 * 256;
  }

  // Words of 4 bytes a row: the tokens of a chain, and reports of them.
  static constexpr int64_t kSmallOutputs = (kNumDrafts + 1) * (3 + 2 * kTop) + 3;

  // ---- Data ---------------------------------------------------------------------------------

  // Each text has tokens of its own, of ids below 32,000; a mask allows every other token.
  void fill_texts() const {
    std::vector<int64_t> offsets(kMaxRows + 1);
    for (size_t i = 0; i < offsets.size(); ++i) offsets[i] = int64_t(i) * kHistory;
    std::vector<int32_t> tokens(size_t(kMaxRows * kHistory));
    for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = int32_t(i * 2654435761u % 32000);
    CUDA_CHECK(cudaMemcpy(history_offsets_.data(), offsets.data(), history_offsets_.bytes(),
                          cudaMemcpyHostToDevice));
    CUDA_CHECK(
        cudaMemcpy(histories_.data(), tokens.data(), histories_.bytes(), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemset(bitmasks_.data(), 0x55, bitmasks_.bytes()));
    std::vector<int32_t> top_k(kMaxRows, 40);
    for (size_t i = 1; i < top_k.size(); i += 2) top_k[i] = 20;
    CUDA_CHECK(cudaMemcpy(top_k_.data(), top_k.data(), top_k_.bytes(), cudaMemcpyHostToDevice));
  }

  void fill_pool(const Cell &cell) {
    const Work &work = *cell.work;
    const auto wanted = std::make_tuple(cell.num_cols, cell.dtype, work.kind, work.content);
    if (wanted == pool_content_) return;
    fill_rows(work.content, pool_.data(), int64_t(pool_.bytes()) / cell.element_bytes(),
              cell.num_cols, cell.dtype, work.kind, stream_);
    stream_.wait("making inputs");
    pool_content_ = wanted;
  }

  // Number of different inputs that calls rotate through, so that none is still in a cache.
  int64_t num_inputs(const Cell &cell) const {
    const int64_t bytes = cell.row_bytes() * cell.work->num_stored_rows;
    const int64_t read = cell.row_bytes() * cell.work->num_read_rows;
    return std::clamp<int64_t>(
        kColdBytes / read + 1, 1,
        std::min<int64_t>(int64_t(pool_.bytes()) / bytes, kMaxCallsPerGraph));
  }

  Call make_call(const Cell &cell, int64_t index) const {
    const int64_t stored = cell.row_bytes() * cell.work->num_stored_rows;
    const int64_t num_outputs = std::max<int64_t>(int64_t(outputs_.bytes()) / cell.row_bytes(), 1);
    Call call = {};
    call.input = pool_.data() + index * stored;
    // The target's rows come first: one more than the draft's, or as many if each has one.
    call.draft =
        pool_.data() + index * stored + (cell.work->num_stored_rows + 1) / 2 * cell.row_bytes();
    call.output = outputs_.data() + index % num_outputs * cell.row_bytes();
    call.token_ids = reinterpret_cast<int32_t *>(small_outputs_.data());
    int32_t *next = call.token_ids + kMaxRows * (kNumDrafts + 1);
    const auto take = [&](int64_t num) {
      next += kMaxRows * num;
      return next - kMaxRows * num;
    };
    call.reports.kept_counts = take(1);
    call.reports.ranks = take(kNumDrafts + 1);
    call.reports.top_ids = take(kTop * (kNumDrafts + 1));
    call.reports.logprobs = reinterpret_cast<float *>(take(kNumDrafts + 1));
    call.reports.values = reinterpret_cast<float *>(take(1));
    call.reports.top_logprobs = reinterpret_cast<float *>(take(kTop * (kNumDrafts + 1)));
    call.reports.row_status = reinterpret_cast<sampler_row_status *>(take(1));
    call.texts = {reinterpret_cast<const int64_t *>(history_offsets_.data()),
                  reinterpret_cast<const int32_t *>(histories_.data()),
                  reinterpret_cast<const uint32_t *>(bitmasks_.data()),
                  reinterpret_cast<const int32_t *>(top_k_.data())};
    call.workspace = workspace_.data();
    call.workspace_bytes = workspace_.bytes();
    call.draft_token_ids = reinterpret_cast<const int32_t *>(draft_token_ids_.data());
    call.num_rows = cell.num_rows;
    call.num_cols = cell.num_cols;
    call.dtype = cell.dtype;
    call.kind = cell.work->kind;
    call.params = &cell.work->params;
    call.stream = stream_;
    return call;
  }

  void enqueue(const Cell &cell, int64_t index) const {
    if (cell.work->enqueue(sampler_.get(), make_call(cell, index)) != SAMPLER_OK) {
      throw std::runtime_error(cell.name() + ": " + sampler_last_error());
    }
  }

  // ---- Times --------------------------------------------------------------------------------

  double most_seconds() const { return kMaxSecondsPerSeries / (options_.is_brief ? 5 : 1); }

  // Time per call in a graph of num_calls; inputs rotate through the first num_different.
  template <class EnqueueOne>
  Series time_graph(int num_calls, int64_t num_different, const std::string &what,
                    const EnqueueOne &enqueue_one) {
    const Graph graph(stream_, [&] {
      for (int i = 0; i < num_calls; ++i) enqueue_one(i % num_different);
    });
    return repeat(num_calls, most_seconds(),
                  [&] { return time_of(graph, stream_, what) / num_calls; });
  }

  // Time of a call and the wait for its result, with rotated inputs; or of the call only.
  Series time_call(const Cell &cell, int64_t num_different, bool waits) {
    int64_t next = 0;
    return repeat(1, most_seconds(), [&] {
      const Clock::time_point begin = Clock::now();
      enqueue(cell, next++ % num_different);
      if (waits) CUDA_CHECK(cudaStreamSynchronize(stream_));
      const double time = seconds_since(begin) * 1e6;
      stream_.wait(cell.name());
      return time;
    });
  }

  // Time of the read-only pass over one row per row. Measured once for each size.
  double read_us(const Cell &cell, bool is_cold) {
    const auto key = std::make_tuple(cell.row_bytes(), cell.dtype, is_cold);
    const auto known = read_us_.find(key);
    if (known != read_us_.end()) return known->second;
    Cell plain = cell;
    plain.work = &kWorks[0];
    const int64_t different = is_cold ? num_inputs(plain) : 1;
    const int calls = is_cold ? int(different) : kHotCallsPerGraph;
    const Series series =
        time_graph(std::max(calls, 4), different, "read-only pass", [&](int64_t index) {
          read_maximum(make_call(plain, index).input, plain.row_bytes(), plain.dtype,
                       reinterpret_cast<unsigned *>(small_outputs_.data()), stream_);
        });
    return read_us_[key] = series.median_us;
  }

  void measure(const Cell &cell) {
    fill_pool(cell);
    const Work &work = *cell.work;
    const int64_t different = num_inputs(cell);
    enqueue(cell, 0);
    stream_.wait(cell.name());
    const auto one = [&](int64_t index) { enqueue(cell, index); };
    const Series cold =
        time_graph(int(std::max<int64_t>(different, 4)), different, cell.name(), one);
    const Series hot = time_graph(kHotCallsPerGraph, 1, cell.name(), one);
    const double rows_moved = work.num_read_rows + (work.writes_rows ? 1 : 0);
    const double cold_limit = read_us(cell, true) * rows_moved;
    const double hot_limit = read_us(cell, false) * rows_moved;
    Json row = {{"name", cell.name()},
                {"program", "libsampler"},
                {"operation", work.name},
                {"num_rows", cell.num_rows},
                {"num_cols", cell.num_cols},
                {"dtype", cell.dtype == SAMPLER_F32 ? "f32" : "bf16"},
                {"graph", true},
                {"bytes_read", cell.row_bytes() * work.num_read_rows},
                {"bytes_written", work.writes_rows ? cell.row_bytes() : 0},
                {"kernel_cold", to_json(cold)},
                {"kernel_hot", to_json(hot)},
                {"wall", to_json(time_call(cell, different, true))},
                {"enqueue", to_json(time_call(cell, different, false))},
                {"limit_cold_us", cold_limit},
                {"limit_hot_us", hot_limit},
                {"share_cold", cold_limit / cold.median_us},
                {"share_hot", hot_limit / hot.median_us}};
    report_["cells"].push_back(row);
    std::printf("%-36s cold %9.2f us (%3.0f %%)  hot %9.2f us (%3.0f %%)  wall %9.2f us\n",
                cell.name().c_str(), cold.median_us, 100 * cold_limit / cold.median_us,
                hot.median_us, 100 * hot_limit / hot.median_us,
                row["wall"]["median_us"].get<double>());
    std::fflush(stdout);
  }

  const TimingOptions options_;
  const SamplerPtr sampler_;
  const Stream stream_;
  const DeviceMemory pool_, outputs_, small_outputs_, draft_token_ids_;
  const DeviceMemory workspace_, histories_, history_offsets_, bitmasks_, top_k_;
  std::tuple<int64_t, sampler_dtype, sampler_input_kind, Content> pool_content_ = {};
  std::map<std::tuple<int64_t, sampler_dtype, bool>, double> read_us_;
  const Clock::time_point begin_ = Clock::now();
  Json report_;
};

}  // namespace

int run_timing(const TimingOptions &options) {
  return Timer(options).run();
}

}  // namespace gpu_check
