// Times the library's calls on this machine's CPU, relative to a plain maximum over the same bytes
// and, where LLAMA_LIB names a libllama.so, to llama.cpp's samplers.
#include <benchmark/benchmark.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <stdexcept>

#include "llama_peer.h"
#include "max_pass.h"
#include "measure.h"
#include "operations.h"

#ifndef SAMPLER_COMMIT
#define SAMPLER_COMMIT "unknown"
#endif

namespace cpu_bench {

namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

constexpr int kManyThreads = 2;
constexpr int64_t kRowsForThreads = 64;

// After one pass a cache that does not replace strictly by age still lacks some of the row.
constexpr int kWarmUps = 3;

struct Arguments {
  std::string json_path, filter = ".", command;
  double budget_seconds = 300;
  int num_rounds = 3;
  Limits limits;
};

// What all cells are measured for once before any is measured again, so that a minute in which the
// machine is slow spoils one round of some cells, which their medians leave out.
struct Round {
  Series limit, library;
  std::optional<Series> threads, llama, without_stages;
};

struct Result {
  Cell cell;
  std::vector<Round> rounds;
  std::string error;  // empty unless the measurement failed

  Series limit() const { return over_rounds(&Round::limit); }
  Series library() const { return over_rounds(&Round::library); }
  std::optional<Series> threads() const { return over_rounds(&Round::threads); }
  std::optional<Series> llama() const { return over_rounds(&Round::llama); }
  std::optional<Series> without_stages() const { return over_rounds(&Round::without_stages); }

 private:
  Series over_rounds(Series Round::*member) const {
    std::vector<Series> all;
    for (const Round &round : rounds) all.push_back(round.*member);
    return combine(all);
  }
  std::optional<Series> over_rounds(std::optional<Series> Round::*member) const {
    std::vector<Series> all;
    for (const Round &round : rounds) {
      if (round.*member) all.push_back(*(round.*member));
    }
    if (all.empty()) return std::nullopt;
    return combine(all);
  }
};

// ---- Cells to measure ---------------------------------------------------------------------------

// A subset of all combinations: every type for rows of a language model, hard rows for one shape,
// batches for one vocabulary; other vocabularies for typical work.
std::vector<Cell> all_cells() {
  std::vector<Cell> cells;
  const auto add = [&](RowKind kind, int64_t num_rows, int64_t num_cols, sampler_dtype dtype,
                       size_t num_works) {
    for (size_t i = 0; i < num_works; ++i) {
      cells.push_back({&all_works()[i], kind, num_rows, num_cols, dtype});
    }
  };
  const size_t all = all_works().size(), without_chain = all - 1, typical = 3;
  std::vector<RowKind> hard_rows;
  for (int kind = 1; kind < kNumRowKinds; ++kind) hard_rows.push_back(RowKind(kind));
  for (const int64_t num_cols : {128256, 32000, 262144}) {
    add(RowKind::kLanguage, 1, num_cols, SAMPLER_F32, all);
  }
  for (const Work &work : all_works()) {
    if (work.draws_per_row > 1) cells.push_back({&work, RowKind::kLanguage, 1, 111, SAMPLER_F32});
  }
  for (const RowKind kind : hard_rows) add(kind, 1, 128256, SAMPLER_F32, all);
  for (const sampler_dtype dtype : {SAMPLER_F16, SAMPLER_BF16}) {
    add(RowKind::kLanguage, 1, 128256, dtype, all);
  }
  add(RowKind::kLanguage, 8, 128256, SAMPLER_F32, all);
  // The rows of 64 chains would take half a gigabyte.
  add(RowKind::kLanguage, 64, 128256, SAMPLER_F32, without_chain);
  for (const int64_t num_cols : {32000, 262144}) {
    for (const sampler_dtype dtype : {SAMPLER_F16, SAMPLER_BF16}) {
      add(RowKind::kLanguage, 1, num_cols, dtype, typical);
    }
    for (const int64_t num_rows : {8, 64}) {
      add(RowKind::kLanguage, num_rows, num_cols, SAMPLER_F32, typical);
    }
  }
  for (const RowKind kind : {RowKind::kPeaked, RowKind::kFlat, RowKind::kEqual, RowKind::kMasked}) {
    add(kind, 64, 128256, SAMPLER_F32, typical);
  }
  return cells;
}

struct DestroySampler {
  void operator()(sampler_t sampler) const { sampler_destroy(sampler); }
};
using SamplerPtr = std::unique_ptr<sampler_handle, DestroySampler>;

SamplerPtr make_sampler(const Cell &cell, int num_threads) {
  sampler_options options = sampler_options_default();
  options.num_threads = num_threads;
  options.max_rows = cell.num_rows * cell.work->draws_per_row;
  options.max_cols = cell.num_cols;
  sampler_t sampler = nullptr;
  if (sampler_create(&options, &sampler) != SAMPLER_OK) {
    throw std::runtime_error(sampler_last_error());
  }
  return SamplerPtr(sampler);
}

uint32_t num_processors() {
  sampler_capabilities capabilities = {};
  capabilities.struct_size = sizeof capabilities;
  sampler_get_capabilities(&capabilities);
  return capabilities.num_processors;
}

// Measures the limit, the library on one thread and, where they apply, on more threads and
// llama.cpp.
Round measure_cell(const LlamaLibrary *llama_library, const Limits &limits, const Cell &cell) {
  const bool has_threads = cell.num_rows >= kRowsForThreads && num_processors() >= kManyThreads;
  const SamplerPtr sampler = make_sampler(cell, 1),
                   threaded = has_threads ? make_sampler(cell, kManyThreads) : nullptr;
  Problem problem(cell);
  const MaxPass pass = usable_max_passes().front();
  const auto read = [&] {
    for (const Span &span : problem.spans()) {
      run_max_pass(pass, span.data, span.num_elements, cell.dtype);
    }
  };
  std::vector<std::function<void(int)>> contenders = {
      [&](int) { read(); }, [&](int run) { problem.call(sampler.get(), uint64_t(run)); }};

  // The bitmask's part of the same call is reported in maxima, too.
  const bool has_bare =
      cell.work->stages == Stages::kBitmask || cell.work->stages == Stages::kBitmask64;
  if (has_bare) {
    contenders.push_back(
        [&](int run) { problem.call_without_stages(sampler.get(), uint64_t(run)); });
  }
  if (has_threads) {
    contenders.push_back([&](int run) { problem.call(threaded.get(), uint64_t(run)); });
  }
  std::optional<LlamaChain> llama;
  const bool has_llama = llama_library != nullptr && cell.work->has_llama_chain &&
                         cell.num_rows == 1 && cell.dtype == SAMPLER_F32;
  if (has_llama) {
    llama.emplace(*llama_library, *cell.work, problem.history(), cell.num_cols);
    contenders.push_back([&](int) {
      if (llama->sample(problem.logits(), cell.num_cols) < 0) {
        throw std::runtime_error(cell.name() + ": llama.cpp chose no token");
      }
    });
  }
  const auto warm_up = [&] {
    for (int i = 0; i < kWarmUps; ++i) read();
  };
  const std::vector<Series> series = measure(contenders, warm_up, limits);
  Round round;
  round.limit = series[0];
  round.library = series[1];
  if (has_bare) round.without_stages = series[2];
  if (has_threads) round.threads = series[has_bare ? 3 : 2];
  if (has_llama) round.llama = series.back();
  return round;
}

// ---- Reports ------------------------------------------------------------------------------------

double times_limit(const Result &result) {
  return result.library().median_us / result.limit().median_us;
}

// Time that the stages add to the call, in maxima.
double added_limits(const Result &result) {
  return (result.library().median_us - result.without_stages()->median_us) /
         result.limit().median_us;
}

double thread_efficiency(const Result &result) {
  return result.library().median_us / (kManyThreads * result.threads()->median_us);
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  return text;
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unnamed processor";
}

// Size of the first processor's cache of this level; 0 if unknown.
int64_t cache_bytes(int level) {
  for (const auto &cache : benchmark::CPUInfo::Get().caches) {
    if (cache.level == level && cache.type != "Instruction") return cache.size;
  }
  return 0;
}

// Indexed by SAMPLER_ISA_ bit; the library may know more than these headers.
std::string instructions_in_use() {
  const char *const names[] = {"scalar", "AVX2", "AVX-512", "NEON"};
  sampler_capabilities capabilities = {};
  capabilities.struct_size = sizeof capabilities;
  sampler_get_capabilities(&capabilities);
  for (size_t bit = 0; bit < std::size(names); ++bit) {
    if (capabilities.isa_active == uint32_t(1) << bit) return names[bit];
  }
  return "instruction set " + std::to_string(capabilities.isa_active);
}

Json describe_run(const Arguments &arguments, const LlamaLibrary *llama) {
  Json run = {{"program", "libsampler"},
              {"version", sampler_version_string()},
              {"commit", SAMPLER_COMMIT},
              {"date", utc_now()},
              {"command", arguments.command},
              {"cpu", processor_name()},
              {"num_cpus", num_processors()},
              {"l2_bytes", cache_bytes(2)},
              {"l3_bytes", cache_bytes(3)},
              {"compiler", SAMPLER_COMPILER},
              {"instructions", instructions_in_use()},
              {"limit_instructions", usable_max_passes().front().instructions}};
  if (llama != nullptr) run["llama"] = "llama.cpp " + llama->version();
  return run;
}

Json to_json(const Result &result) {
  const Cell &cell = result.cell;
  const Series library = result.library();
  Json row = {{"name", cell.name()},
              {"run_type", "iteration"},
              {"iterations", library.repeats},
              {"real_time", library.median_us},
              {"time_unit", "us"},
              {"operation", cell.work->name},
              {"rows", name_of(cell.kind)},
              {"num_rows", cell.num_rows},
              {"num_cols", cell.num_cols},
              {"dtype", name_of(cell.dtype)},
              {"best_us", library.best_us},
              {"rounds", result.rounds.size()},
              {"spread", library.spread},
              {"limit_us", result.limit().median_us},
              {"times_limit", times_limit(result)}};
  if (const auto threads = result.threads()) {
    row["threads_us"] = threads->median_us;
    row["thread_efficiency"] = thread_efficiency(result);
  }
  if (const auto without = result.without_stages()) {
    row["without_stages_us"] = without->median_us;
    row["added_limits"] = added_limits(result);
  }
  if (const auto llama = result.llama()) {
    row["llama_us"] = llama->median_us;
    row["times_faster_than_llama"] = llama->median_us / library.median_us;
  }
  return row;
}

void print(const Result &result) {
  const Series library = result.library();
  std::printf("%-46s %10.1f us %7.2f x max +-%3.0f %%", result.cell.name().c_str(),
              library.median_us, times_limit(result), 50 * library.spread);
  if (const auto without = result.without_stages()) {
    std::printf("  without %8.1f us: + %.2f x max", without->median_us, added_limits(result));
  }
  if (const auto llama = result.llama()) {
    std::printf("  llama.cpp %10.1f us %6.2f x", llama->median_us,
                llama->median_us / library.median_us);
  }
  if (result.threads()) {
    std::printf("  %d threads %3.0f %%", kManyThreads, 100 * thread_efficiency(result));
  }
  std::printf("\n");
  std::fflush(stdout);
}

// Prints each result of the last round, and writes all that is known to a file in Google
// Benchmark's format, complete after each. That library's own file would name the machine and the
// folder.
class Reporter : public benchmark::BenchmarkReporter {
 public:
  Reporter(const std::deque<Result> &results, const Arguments &arguments, Json context)
      : results_(results), arguments_(arguments), context_(std::move(context)) {}

  bool ReportContext(const Context &) override { return true; }

  void ReportRuns(const std::vector<Run> &runs) override {
    for (const Run &run : runs) {
      for (const Result &result : results_) {
        if (result.cell.name() == run.run_name.function_name) add(result);
      }
    }
  }

 private:
  void add(const Result &result) {
    if (int(result.rounds.size()) == arguments_.num_rounds) print(result);
    if (!arguments_.json_path.empty()) write();
  }

  void write() {
    context_["seconds"] = std::chrono::duration<double>(Clock::now() - begin_).count();
    Json report = {{"context", context_}, {"benchmarks", Json::array()}};
    for (const Result &result : results_) {
      if (!result.rounds.empty()) report["benchmarks"].push_back(to_json(result));
    }
    const std::string partial = arguments_.json_path + ".partial";
    std::ofstream file(partial);
    file << report.dump(1) << '\n';
    file.close();
    if (!file || std::rename(partial.c_str(), arguments_.json_path.c_str()) != 0) {
      throw std::runtime_error("cannot write " + arguments_.json_path);
    }
  }

  const std::deque<Result> &results_;
  const Arguments &arguments_;
  const Clock::time_point begin_ = Clock::now();
  Json context_;
};

// ---- Running ------------------------------------------------------------------------------------

// One iteration of Google Benchmark is one round of a cell; its time is the median.
void register_cell(const LlamaLibrary *llama, const Arguments &arguments, Result *result) {
  const Clock::time_point begin = Clock::now();
  const auto run = [=](benchmark::State &state) {
    const double elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
    if (elapsed >= arguments.budget_seconds) return state.SkipWithError("left out");
    try {
      result->rounds.push_back(measure_cell(llama, arguments.limits, result->cell));
    } catch (const std::exception &error) {
      result->error = error.what();
      return state.SkipWithError(result->error.c_str());
    }
    for (auto _ : state) state.SetIterationTime(result->rounds.back().library.median_us * 1e-6);
  };
  benchmark::RegisterBenchmark(result->cell.name().c_str(), run)->Iterations(1)->UseManualTime();
}

int run(const Arguments &arguments) {
  std::optional<LlamaLibrary> llama_library;
  const char *llama_path = std::getenv("LLAMA_LIB");
  if (llama_path != nullptr && *llama_path != '\0') llama_library.emplace(llama_path);
  const LlamaLibrary *llama = llama_library ? &*llama_library : nullptr;

  const std::regex filter(arguments.filter);
  std::deque<Result> results;  // elements must not move
  for (const Cell &cell : all_cells()) {
    if (!std::regex_search(cell.name(), filter)) continue;
    results.push_back({cell, {}, {}});
    register_cell(llama, arguments, &results.back());
  }
  if (results.empty()) throw std::runtime_error("no measurement matches " + arguments.filter);
  Reporter reporter(results, arguments, describe_run(arguments, llama));
  for (int round = 0; round < arguments.num_rounds; ++round) {
    benchmark::RunSpecifiedBenchmarks(&reporter);
  }

  int num_short = 0, num_failed = 0;
  for (const Result &result : results) {
    if (!result.error.empty()) {
      std::fprintf(stderr, "%s\n", result.error.c_str());
      ++num_failed;
    } else if (int(result.rounds.size()) < arguments.num_rounds) {
      ++num_short;
    }
  }
  if (num_short > 0) {
    std::printf("%d of %zu have fewer rounds than %d: the budget of %g seconds is used up\n",
                num_short, results.size(), arguments.num_rounds, arguments.budget_seconds);
  }
  return num_failed > 0 ? 1 : 0;
}

int parse_and_run(int argc, char **argv) {
  Arguments arguments;
  CLI::App app("Times libsampler on the CPU; LLAMA_LIB names a libllama.so to compare it with");
  app.add_option("--json", arguments.json_path, "Where results go, rewritten after each");
  app.add_option("--filter", arguments.filter, "Only what this regular expression finds a part of");
  app.add_option("--budget", arguments.budget_seconds, "Seconds after which nothing is begun")
      ->capture_default_str();
  app.add_option("--rounds", arguments.num_rounds, "How often each is measured, in turns")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--min-repeats", arguments.limits.min_repeats,
                 "Calls of which a round takes the median")
      ->capture_default_str();
  app.add_option("--min-time", arguments.limits.min_seconds, "Seconds for a measurement in a round")
      ->capture_default_str();
  app.add_option("--command", arguments.command, "The command that the results are recorded with")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return run(arguments);
}

}  // namespace

}  // namespace cpu_bench

int main(int argc, char **argv) {
  try {
    return cpu_bench::parse_and_run(argc, argv);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
