// Cost of a step with rows sharded over ranks: the rounds of sampler/shard.h over MPI, compared
// with gathering the logits and sampling whole rows.
//
//   mpirun -np RANKS shards_bench [ROWS [COLUMNS [REPEATS]]] >>bench/results/shards.jsonl
//
// One JSON object per line and operation, from rank 0. Times are the least over all repeats, each
// of the slowest rank. REPEATS 0: only the bytes sent, for more operations.
#include <sampler_mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace {

struct Operation {
  const char *name;
  sampler_params params;
  sampler_draw_method draw_method;
  bool wants_logprobs;
};

std::vector<Operation> operations() {
  const sampler_params defaults = sampler_params_default();
  std::vector<Operation> list = {
      {"greedy", defaults, SAMPLER_DRAW_INVERSE_CDF, false},
      {"temperature", defaults, SAMPLER_DRAW_INVERSE_CDF, false},
      {"temperature, Gumbel", defaults, SAMPLER_DRAW_GUMBEL, false},
      {"min-p 0.05", defaults, SAMPLER_DRAW_INVERSE_CDF, false},
      {"top-k 50", defaults, SAMPLER_DRAW_INVERSE_CDF, false},
      {"top-k 50, top-p 0.95", defaults, SAMPLER_DRAW_INVERSE_CDF, false},
      {"top-k 50, top-p 0.95, raw log-probability", defaults, SAMPLER_DRAW_INVERSE_CDF, true},
      {"top-k 50 with ties", defaults, SAMPLER_DRAW_INVERSE_CDF, false},
      {"top-p 0.95", defaults, SAMPLER_DRAW_INVERSE_CDF, false},
  };
  list[0].params.temperature = 0.0f;
  list[3].params.min_p = 0.05f;
  for (const size_t i : {4, 5, 6, 7}) list[i].params.top_k = 50;
  for (const size_t i : {5, 6, 8}) list[i].params.top_p = 0.95f;
  list[7].params.top_k_ties = SAMPLER_TIES_KEEP;
  for (size_t i = 1; i < list.size(); ++i) list[i].params.temperature = 0.8f;
  return list;
}

void check(bool holds, const char *what) {
  if (holds) return;
  std::fprintf(stderr, "shards_bench: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// Time of the slowest rank in microseconds, the least over some repeats: ranks that share
// processors wait for each other in most of them.
template <class F>
double least_us(int repeats, const F &f) {
  std::vector<double> times;
  for (int i = -3; i < repeats; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    f();
    double own = (MPI_Wtime() - begin) * 1e6, slowest = 0.0;
    MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (i >= 0) times.push_back(slowest);
  }
  return *std::min_element(times.begin(), times.end());
}

// The machine and MPI version: "2 processors of a ..., Open MPI v4.1.4".
std::string machine() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(version, &length);
  std::string processor = "an unknown kind", line;
  for (std::ifstream file("/proc/cpuinfo"); std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) processor = line.substr(line.find(':') + 2);
  }
  const std::string mpi = std::string(version).substr(0, std::string(version).find(','));
  std::string text =
      std::to_string(sysconf(_SC_NPROCESSORS_ONLN)) + " processors of " + processor + ", " + mpi;
  for (char &c : text) {
    if (c == '"' || c == '\\' || c < ' ') c = ' ';
  }
  return text;
}

// Rows with equal parts of the columns on all ranks, and the gathered whole.
class GatheredRows {
 public:
  GatheredRows(const float *own, int64_t num_rows, int64_t own_cols, int num_ranks)
      : own_(own),
        num_rows_(num_rows),
        own_cols_(own_cols),
        num_ranks_(num_ranks),
        gathered_(size_t(num_rows * own_cols * num_ranks)),
        whole_(gathered_.size()) {}

  void gather() {
    const int count = int(num_rows_ * own_cols_);
    MPI_Allgather(own_, count, MPI_FLOAT, gathered_.data(), count, MPI_FLOAT, MPI_COMM_WORLD);
    for (int64_t part = 0; part < num_ranks_; ++part) {
      for (int64_t row = 0; row < num_rows_; ++row) {
        std::copy_n(gathered_.data() + (part * num_rows_ + row) * own_cols_, own_cols_,
                    whole_.data() + (row * num_ranks_ + part) * own_cols_);
      }
    }
  }
  // The gathered rows.
  sampler_rows whole(sampler_rows rows) const {
    rows.values = whole_.data();
    rows.num_cols = own_cols_ * num_ranks_;
    return rows;
  }

 private:
  const float *own_;
  int64_t num_rows_, own_cols_;
  int num_ranks_;
  std::vector<float> gathered_, whole_;
};

class Step {
 public:
  int rank, num_ranks;
  int64_t num_rows, num_cols;  // of whole rows
  int repeats;
  sampler_t sampler;
  std::vector<float> logits;  // this rank's columns
  int64_t first;

  void measure(const Operation &operation) const {
    const int64_t own_cols = num_cols / num_ranks;
    std::vector<int32_t> tokens(size_t(num_rows), -1);
    std::vector<float> logprobs(size_t(num_rows), 0.0f);
    sampler_sample_args args = {};
    args.struct_size = sizeof args;
    args.input.values = logits.data();
    args.input.num_rows = num_rows;
    args.input.num_cols = own_cols;
    args.params = &operation.params;
    args.draw_method = operation.draw_method;
    args.out_token_ids = tokens.data();
    sampler_report_args reports = {};
    reports.struct_size = sizeof reports;
    reports.out_logprobs = operation.wants_logprobs ? logprobs.data() : nullptr;
    args.reports = &reports;
    sampler_shard_args shard = {};
    shard.sample = &args;
    const sampler_shard_plan_info plan = print_plan(operation.name, &shard, num_rows * own_cols);
    if (repeats > 0) {
      std::vector<int32_t> whole_tokens(size_t(num_rows), -2);
      GatheredRows rows(logits.data(), num_rows, own_cols, num_ranks);
      sampler_sample_args whole = args;
      whole.input = rows.whole(args.input);
      whole.out_token_ids = whole_tokens.data();
      measure_times(plan, shard, &args, &whole, {&rows}, sampler_sample,
                    sampler_sample_workspace_size);
      check(tokens == whole_tokens, "the tokens are not those of the whole rows");
    }
    end_line();
  }

  // Verification of num_drafts drafts per row, by rows of the drafter: in every other row the
  // middle draft is rejected.
  void measure_chains(const char *name, int64_t num_drafts, float temperature) const {
    const int64_t own_cols = num_cols / num_ranks, num_tokens = num_rows * (num_drafts + 1);
    const int64_t num_values = repeats > 0 ? num_rows * own_cols : 0;  // per position
    std::vector<float> target(size_t(num_values * (num_drafts + 1) + 1));
    std::vector<float> draft(size_t(num_values * num_drafts + 1));
    std::mt19937_64 random(uint64_t(rank) + 1);
    std::normal_distribution<float> normal(-14.0f, 1.0f);
    for (float &p : target) p = std::exp(normal(random));
    for (float &p : draft) p = std::exp(normal(random));
    std::vector<int32_t> drafts, tokens(size_t(num_tokens), -1), whole_tokens(tokens.size(), -2);
    // Sets an element if this rank has its column.
    const auto put = [&](std::vector<float> *rows, int64_t row, int64_t id, float p) {
      if (num_values > 0 && id >= first && id < first + own_cols) {
        (*rows)[size_t(row * own_cols + id - first)] = p;
      }
    };
    for (int64_t i = 0; i < num_rows * num_drafts; ++i) {
      const int64_t row = i / num_drafts, position = i % num_drafts, id = i * 7919 % num_cols;
      const bool is_rejected = row % 2 && position == num_drafts / 2;
      drafts.push_back(int32_t(id));
      put(&draft, i, id, 0.8f);
      put(&target, row + i, id, is_rejected ? 0.0f : 0.8f);
    }
    sampler_params params = sampler_params_default();
    params.temperature = temperature;
    sampler_verify_args args = {};
    args.struct_size = sizeof args;
    args.target.values = target.data();
    args.target.num_rows = num_tokens;
    args.target.num_cols = own_cols;
    args.target.kind = SAMPLER_PROBABILITIES;
    args.draft = args.target;
    args.draft.values = draft.data();
    args.draft.num_rows = num_rows * num_drafts;
    args.draft_token_ids = drafts.data();
    args.out_token_ids = tokens.data();
    args.num_drafts = num_drafts;
    args.params = &params;
    sampler_shard_args shard = {};
    shard.verify = &args;
    const sampler_shard_plan_info plan =
        print_plan(name, &shard, num_rows * (2 * num_drafts + 1) * own_cols);
    if (repeats > 0) {
      GatheredRows targets(target.data(), args.target.num_rows, own_cols, num_ranks);
      GatheredRows draft_rows(draft.data(), args.draft.num_rows, own_cols, num_ranks);
      sampler_verify_args whole = args;
      whole.target = targets.whole(args.target);
      whole.draft = draft_rows.whole(args.draft);
      whole.out_token_ids = whole_tokens.data();
      measure_times(plan, shard, &args, &whole, {&targets, &draft_rows}, sampler_verify,
                    sampler_verify_workspace_size);
      check(tokens == whole_tokens, "the chains are not those of the whole rows");
      // In the first row all are accepted, in the second one none from the middle on.
      const auto second = size_t(num_drafts + 1 + num_drafts / 2);
      check(std::equal(drafts.begin(), drafts.begin() + num_drafts, tokens.begin()) &&
                (num_rows == 1 || (tokens[second] >= 0 && tokens[second + 1] < 0)),
            "other drafts are accepted than should be");
    }
    end_line();
  }

  void plan_reports_and_edits() const {
    int32_t token = 0;
    const std::vector<int64_t> offsets(size_t(num_rows) + 1, 0);
    sampler_pipeline pipeline = {};
    pipeline.struct_size = sizeof pipeline;
    pipeline.history = {offsets.data(), &token, num_rows, 0};
    sampler_params params = sampler_params_default();
    params.temperature = 0.8f;
    sampler_sample_args args = {};
    args.struct_size = sizeof args;
    args.input = own_rows();
    args.params = &params;
    args.out_token_ids = &token;
    sampler_report_args reports = {};
    reports.struct_size = sizeof reports;
    args.reports = &reports;
    sampler_shard_args shard = {};
    shard.sample = &args;
    const auto plan = [&](const char *name) {
      print_only_plan(name, &shard, num_rows * args.input.num_cols);
    };
    reports.out_ranks = &token;
    plan("temperature, rank");
    params.top_k = 50;
    plan("top-k 50, rank");
    reports.out_ranks = nullptr;
    params.top_p = 0.95f;
    params.top_k_ties = params.top_p_ties = SAMPLER_TIES_KEEP;
    params.filter_order = SAMPLER_FILTERS_JOINT;
    plan("top-k 50, joint top-p 0.95, both with ties");
    params = sampler_params_default();
    params.temperature = 0.8f;
    params.top_k = 50;
    args.pipeline = &pipeline;
    params.repetition_penalty = 1.1f;
    plan("top-k 50, repetition penalty");
    float logprob = 0.0f;
    reports.out_logprobs = &logprob;
    plan("top-k 50, repetition penalty, raw log-probability");
  }

  // Plans of calls without draws.
  void plan_rows() const {
    float value = 0.0f;
    int32_t token = 0;
    const sampler_rows rows = own_rows();
    const int64_t gathered = num_rows * rows.num_cols;
    sampler_params params = sampler_params_default();
    sampler_filter_args filter = {};
    filter.struct_size = sizeof filter;
    filter.input = rows;
    filter.params = &params;
    filter.output = &value;
    sampler_shard_args shard = {};
    shard.filter = &filter;
    print_only_plan("softmax", &shard, gathered);
    params.top_k = 50;
    print_only_plan("filter, top-k 50", &shard, gathered);
    params.top_k = 0;
    params.top_p = 0.95f;
    print_only_plan("filter, top-p 0.95", &shard, gathered);

    sampler_select_args select = {};
    select.struct_size = sizeof select;
    select.input = rows;
    select.num_selected = 50;
    select.out_values = &value;
    select.out_token_ids = &token;
    shard = {};
    shard.select = &select;
    print_only_plan("select 50", &shard, gathered);

    sampler_residual_args residual = {};
    residual.struct_size = sizeof residual;
    residual.target = rows;
    residual.target.kind = SAMPLER_PROBABILITIES;
    residual.draft = residual.target;
    residual.output = &value;
    shard = {};
    shard.residual = &residual;
    print_only_plan("residual", &shard, 2 * gathered);
  }

 private:
  sampler_rows own_rows() const {
    sampler_rows rows = {};
    rows.values = logits.data();
    rows.num_rows = num_rows;
    rows.num_cols = num_cols / num_ranks;
    return rows;
  }

  // `gathered`: elements that gathering would send.
  sampler_shard_plan_info print_plan(const char *name, sampler_shard_args *shard,
                                     int64_t gathered) const {
    shard->struct_size = sizeof *shard;
    shard->first_token_id = first;
    shard->total_cols = num_cols;
    sampler_shard_plan_info plan = {};
    plan.struct_size = sizeof plan;
    check(sampler_mpi_plan(sampler, shard, MPI_COMM_WORLD, &plan) == SAMPLER_OK,
          sampler_last_error());
    size_t sent = 0;
    for (int64_t i = 0; i < plan.num_exchanges; ++i) sent += plan.message_bytes[i];
    if (rank != 0) return plan;
    std::printf(
        "{\"operation\": \"%s\", \"ranks\": %d, \"rows\": %ld, \"cols\": %ld, "
        "\"exchanges\": %ld, \"sent_bytes\": %zu, \"gather_bytes\": %zu",
        name, num_ranks, long(num_rows), long(num_cols), long(plan.num_exchanges), sent,
        size_t(gathered) * sizeof(float));
    return plan;
  }
  void print_only_plan(const char *name, sampler_shard_args *shard, int64_t gathered) const {
    print_plan(name, shard, gathered);
    end_line();
  }
  void end_line() const {
    if (rank == 0) std::printf("}\n");
    std::fflush(stdout);
  }

  // Times a call over shards, with arguments `args`; its exchanges only; and the same call on
  // gathered rows, `whole`.
  template <class Args, class Run, class Size>
  void measure_times(const sampler_shard_plan_info &plan, const sampler_shard_args &shard,
                     Args *args, Args *whole, const std::vector<GatheredRows *> &rows,
                     const Run &run, const Size &size) const {
    std::vector<uint64_t> workspace(plan.workspace_bytes / 8 + 1),
        memory(sampler_mpi_memory_bytes(&plan, num_ranks) / 8 + 1);
    args->exec.workspace = workspace.data();
    args->exec.workspace_bytes = plan.workspace_bytes;
    const double shards_us = least_us(repeats, [&] {
      const char *error = "";
      check(sampler_mpi_run(sampler, &shard, MPI_COMM_WORLD, memory.data(), memory.size() * 8,
                            &error) == SAMPLER_OK,
            error);
    });
    const double exchange_us = least_us(repeats, [&] {
      for (int64_t i = 0; i < plan.num_exchanges; ++i) {
        const int words = int(plan.message_bytes[i] / 8);
        MPI_Allgather(memory.data(), words, MPI_UINT64_T, memory.data() + words, words,
                      MPI_UINT64_T, MPI_COMM_WORLD);
      }
    });

    // The alternative: all values to every rank. All ranks have the same number of columns here.
    size_t whole_bytes = 0;
    check(size(sampler, whole, &whole_bytes) == SAMPLER_OK, "size");
    std::vector<char> whole_workspace(whole_bytes + 1);
    whole->exec.workspace = whole_workspace.data();
    whole->exec.workspace_bytes = whole_bytes;
    const double gather_us = least_us(repeats, [&] {
      for (GatheredRows *const part : rows) part->gather();
      check(run(sampler, whole) == SAMPLER_OK, sampler_last_error());
    });

    if (rank != 0) return;
    std::printf(
        ", \"repeats\": %d, \"machine\": \"%s\", \"shards_us\": %.1f, \"exchange_us\": %.1f, "
        "\"gather_us\": %.1f",
        repeats, machine().c_str(), shards_us, exchange_us, gather_us);
  }
};

}  // namespace

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  Step step = {};
  MPI_Comm_rank(MPI_COMM_WORLD, &step.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &step.num_ranks);
  const auto number = [&](int place, long otherwise) {
    return argc > place ? std::strtol(argv[place], nullptr, 10) : otherwise;
  };
  step.num_rows = number(1, 8);
  step.num_cols = number(2, 128256);
  step.repeats = int(number(3, 20));
  step.num_cols -= step.num_cols % step.num_ranks;
  check(step.num_rows > 0 && step.num_cols > 0 && step.repeats >= 0, "a number is too small");
  check(sampler_create(nullptr, &step.sampler) == SAMPLER_OK, sampler_last_error());
  const int64_t own_cols = step.num_cols / step.num_ranks;
  step.first = own_cols * step.rank;
  std::mt19937_64 random(uint64_t(step.rank) + 1);
  std::normal_distribution<float> normal(0.0f, 3.0f);
  step.logits.resize(step.repeats > 0 ? size_t(step.num_rows * own_cols) : 1);
  for (float &logit : step.logits) logit = normal(random);
  for (const Operation &operation : operations()) step.measure(operation);
  if (step.repeats == 0) {
    step.plan_reports_and_edits();
    step.plan_rows();
  }
  step.measure_chains("chains of 4 drafts", 4, 1.0f);
  step.measure_chains("chains of 4 drafts, greedy", 4, 0.0f);
  sampler_destroy(step.sampler);
  MPI_Finalize();
  return 0;
}
