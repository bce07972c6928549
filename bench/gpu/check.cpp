#include "check.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <vector>

#include "runtime.h"
#include "unmasking.h"

namespace gpu_check {

namespace {

constexpr int64_t kMaxPrinted = 20;
constexpr int kProblemsAtOnce = 13;
constexpr uint64_t kGraphsPerOperation = 3;
constexpr int64_t kManyCells = 1 << 21;
constexpr unsigned char kWorkspaceGuard = 0x5A;
constexpr size_t kWorkspaceGuardBytes = 256;

const std::vector<int64_t> kWidths = {1, 2, 31, 32, 33, 1000, 2048, 2049, 32000, 128256, 262144};
const std::vector<int64_t> kBatches = {1, 3, 17, 64, 300, 4096};

// A problem on the device; with `host_parameters` its numbers per slot stay on the host.
class DeviceProblem {
 public:
  DeviceProblem(const Problem &problem, sampler_t sampler, bool host_parameters = false)
      : sampler_(sampler),
        host_parameters_(host_parameters),
        memory_(problem.memory().size()),
        workspace_bytes_(problem.workspace_bytes(sampler)),
        workspace_(workspace_bytes_ + kWorkspaceGuardBytes) {
    CUDA_CHECK(cudaMemset(workspace_.data(), kWorkspaceGuard, workspace_.bytes()));
    upload(problem);
  }

  // Uploads a problem's arrays; the layout must be the same.
  void upload(const Problem &problem) {
    CUDA_CHECK(cudaMemcpy(memory_.data(), problem.memory().data(), memory_.bytes(),
                          cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaDeviceSynchronize());
  }

  void enqueue(const Problem &problem, cudaStream_t stream) const {
    const void *parameters = host_parameters_ ? problem.memory().data() : memory_.data();
    problem.run(sampler_, memory_.data(), parameters, stream,
                workspace_bytes_ ? workspace_.data() : nullptr, workspace_bytes_);
  }

  void download(Problem *problem) const {
    CUDA_CHECK(cudaMemcpy(problem->memory().data(), memory_.data(), memory_.bytes(),
                          cudaMemcpyDeviceToHost));
    std::vector<unsigned char> guard(kWorkspaceGuardBytes);
    CUDA_CHECK(cudaMemcpy(guard.data(), workspace_.data() + workspace_bytes_, guard.size(),
                          cudaMemcpyDeviceToHost));
    const auto intact = [](unsigned char byte) { return byte == kWorkspaceGuard; };
    if (!std::all_of(guard.begin(), guard.end(), intact)) {
      throw std::runtime_error(problem->description() +
                               ": bytes behind the workspace were written");
    }
  }

 private:
  sampler_t sampler_;
  bool host_parameters_;
  DeviceMemory memory_;
  size_t workspace_bytes_;
  DeviceMemory workspace_;
};

class Checker {
 public:
  explicit Checker(const CheckOptions &options)
      : options_(options),
        has_device_(options.device >= 0),
        reference_(make_cpu_sampler(has_device_ ? num_processors() : 1)),
        other_(has_device_ ? make_cuda_sampler(options.device, 0, 0) : make_cpu_sampler(2)),
        checking_(has_device_ ? make_checking_cuda_sampler(options.device) : nullptr) {}

  CheckReport run() {
    if (options_.only) {
      check_one(*options_.only);
      return report_;
    }
    // Checks of different kinds come before long ones, in case time runs out.
    run_grid(0, kManyCells);
    if (has_device_) {
      run_unmasking();
      run_streams();
      run_graphs();
      if (!options_.is_small) run_beyond_32_bits();
    }
    run_grid(kManyCells, INT64_MAX);
    return report_;
  }

 private:
  static int num_processors() {
    return std::clamp(int(std::thread::hardware_concurrency()), 1, 256);
  }

  double elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

  bool wants(const Case &which) {
    if (to_text(which).find(options_.filter) == std::string::npos) return false;
    if (elapsed() < options_.budget_seconds) return true;
    ++report_.num_left_out;
    return false;
  }

  void progress(const char *what, int64_t num_rows, int64_t num_cols) const {
    std::printf("[%6.1f s] %s %" PRId64 " x %" PRId64 "\n", elapsed(), what, num_rows, num_cols);
    std::fflush(stdout);
  }

  // The command line that repeats the comparison. Grid calls are selected by name.
  std::string command(const Case &which, bool is_alone) const {
    const std::string text = to_text(which);
    if (is_alone) return "./gpu_check --case " + text + (has_device_ ? "" : " --cpu-only");
    const std::string what = text.substr(0, text.find(':'));
    return "./gpu_check --check-only --filter " + what + ":" + std::to_string(which.num_rows) +
           ":" + std::to_string(which.num_cols) + ":" + std::to_string(which.seed) + ":";
  }

  void compare(const Problem &expected, const Problem &actual, const char *how, bool is_alone) {
    ++report_.num_calls;
    for (const std::string &line : differences(expected, actual)) {
      if (++report_.num_mismatches > kMaxPrinted) continue;
      std::printf("MISMATCH %s: %s: %s\n  reproduce: %s\n", how, actual.description().c_str(),
                  line.c_str(), command(actual.source(), is_alone).c_str());
      std::fflush(stdout);
    }
  }

  // ---- One call -----------------------------------------------------------------------------

  // Counts exceptions as mismatches; a lost device ends the checks.
  template <class Work>
  void guarded(const Case &which, bool is_alone, const Work &work) {
    try {
      work();
    } catch (const std::runtime_error &error) {
      if (++report_.num_mismatches <= kMaxPrinted) {
        std::printf("FAILED %s\n  reproduce: %s\n", error.what(), command(which, is_alone).c_str());
      }
      if (has_device_ && cudaDeviceSynchronize() != cudaSuccess) throw;
    }
  }

  void check_one(const Case &which) {
    guarded(which, true, [&] {
      if (has_device_) {
        check_on_device(which);
      } else {
        check_on_cpu(which);
      }
    });
  }

  // With two threads, other strides and other alignments.
  void check_on_cpu(Case which) {
    Problem expected(which);
    expected.run(reference_.get());
    ++which.layout;
    Problem actual(which);
    actual.run(other_.get());
    compare(expected, actual, "CPU handles", true);
  }

  // Every third takes its numbers per slot from the host.
  void check_on_device(const Case &which) {
    Problem expected(which);
    const bool on_host = which.seed % 3 == 1;
    DeviceProblem device(expected, on_host ? checking_.get() : other_.get(), on_host);
    Problem actual = expected;
    device.enqueue(actual, stream());
    expected.run(reference_.get());  // while the device works
    stream().wait(actual.description());
    device.download(&actual);
    compare(expected, actual, "device", true);
  }

  // ---- The grid -----------------------------------------------------------------------------

  struct Shape {
    int64_t num_rows, num_cols;
    int num_seeds;
  };

  // Small shapes first, with more seeds.
  std::vector<Shape> shapes() const {
    const bool small = options_.is_small || !has_device_;
    const int64_t max_cells = int64_t(1) << (options_.is_small ? 15 : has_device_ ? 27 : 18);
    std::vector<Shape> result;
    for (const int64_t num_cols : kWidths) {
      for (const int64_t num_rows : kBatches) {
        const int64_t cells = num_rows * num_cols;
        if (cells > max_cells && (num_rows > 1 || options_.is_small)) continue;
        const int num_seeds = small               ? (cells < 20000 ? 5 : 3)
                              : cells < (1 << 18) ? 60
                              : cells < (1 << 23) ? 16
                                                  : 5;
        result.push_back({num_rows, num_cols, num_seeds});
      }
    }
    std::stable_sort(result.begin(), result.end(), [](const Shape &a, const Shape &b) {
      return a.num_rows * a.num_cols < b.num_rows * b.num_cols;
    });
    return result;
  }

  // Shapes with min_cells to end_cells elements.
  void run_grid(int64_t min_cells, int64_t end_cells) {
    for (const Shape &shape : shapes()) {
      const int64_t cells = shape.num_rows * shape.num_cols;
      if (cells < min_cells || cells >= end_cells) continue;
      progress("all operations on", shape.num_rows, shape.num_cols);
      for (int operation = 0; operation < kNumOperations; ++operation) {
        for (int seed = 0; seed < shape.num_seeds; ++seed) {
          const Case which = {Operation(operation), shape.num_rows, shape.num_cols,
                              uint64_t(seed),       uint64_t(seed), uint64_t(seed)};
          if (wants(which)) check_one(which);
        }
      }
    }
  }

  // ---- Unmasking ----------------------------------------------------------------------------

  void run_unmasking() {
    if (!options_.filter.empty()) return;
    progress("unmasking", 0, 0);
    for (uint64_t seed = 0; seed < (options_.is_small ? 12 : 120); ++seed) {
      ++report_.num_calls;
      const std::string difference = difference_in_unmasking(reference_.get(), other_.get(), seed);
      if (difference.empty()) continue;
      if (++report_.num_mismatches <= kMaxPrinted) {
        std::printf("MISMATCH device: %s\n", difference.c_str());
      }
    }
  }

  // ---- Streams and graphs -------------------------------------------------------------------

  // All operations at once, each call with its own stream and memory.
  void run_streams() {
    for (uint64_t round = 0; round < (options_.is_small ? 2 : 12); ++round) {
      const int64_t num_cols = kWidths[size_t(5 + round % 5)];
      const int64_t num_rows = options_.is_small ? 2 : 40;
      if (round % 4 == 0) progress("several streams,", num_rows, num_cols);
      std::vector<Problem> problems;
      for (int i = 0; i < kProblemsAtOnce; ++i) {
        const uint64_t seed = 1000 + 100 * round + uint64_t(i);
        const Case which = {Operation(i % kNumOperations), num_rows, num_cols, seed, 0, round};
        if (wants(which)) problems.emplace_back(which);
      }
      if (problems.empty()) continue;
      guarded(problems[0].source(), false, [&] { run_at_once(&problems); });
    }
  }

  void run_at_once(std::vector<Problem> *problems) {
    const size_t n = problems->size();
    std::vector<std::unique_ptr<DeviceProblem>> devices;
    const std::vector<Stream> streams(n);
    for (const Problem &problem : *problems) {
      devices.push_back(std::make_unique<DeviceProblem>(problem, other_.get()));
    }
    for (size_t i = 0; i < n; ++i) devices[i]->enqueue((*problems)[i], streams[i]);
    for (size_t i = 0; i < n; ++i) {
      Problem &expected = (*problems)[i];
      Problem actual = expected;
      expected.run(reference_.get());
      streams[i].wait("several streams, " + actual.description());
      devices[i]->download(&actual);
      compare(expected, actual, "several streams", false);
    }
  }

  // A call captured once, and replayed with other rows, seeds and parameters in the same memory.
  void run_graphs() {
    for (uint64_t seed = 0; seed < (options_.is_small ? 1 : 6); ++seed) {
      const int64_t num_cols = kWidths[size_t(5 + seed % 5)];
      const int64_t num_rows = options_.is_small ? 3 : seed % 2 == 0 ? 5 : 64;
      progress("graph replays,", num_rows, num_cols);
      for (int operation = 0; operation < kNumOperations; ++operation) {
        for (uint64_t i = 0; i < kGraphsPerOperation; ++i) {
          const uint64_t structure = 2000 + kGraphsPerOperation * seed + i;
          const Case which = {Operation(operation), num_rows, num_cols, structure, 0, seed};
          if (wants(which)) guarded(which, false, [&] { check_replays(which); });
        }
      }
    }
  }

  void check_replays(Case which) {
    const Problem captured(which);
    DeviceProblem device(captured, other_.get());
    const Graph graph(stream(), [&] { device.enqueue(captured, stream()); });
    for (which.content = 0; which.content < 3; ++which.content) {
      Problem expected(which);
      Problem actual = expected;
      device.upload(expected);
      graph.launch(stream());
      expected.run(reference_.get());
      stream().wait("graph replay, " + actual.description());
      device.download(&actual);
      compare(expected, actual, "graph replay", false);
    }
  }

  // ---- Beyond 2^32 elements -----------------------------------------------------------------

  void run_beyond_32_bits() {
    constexpr int64_t kNumCols = 262144;
    constexpr int64_t kNumRows = (int64_t(1) << 32) / kNumCols + 3;
    for (const Operation operation : {kSample, kFilter}) {
      const Case which = {operation, kNumRows, kNumCols, seed_of_16_bit_rows(operation), 0, 0};
      const int64_t bytes = kNumRows * kNumCols * (operation == kFilter ? 4 : 2);
      if (!has_room_for(bytes)) {
        std::printf("skipped: no memory for %s\n", to_text(which).c_str());
        continue;
      }
      if (!wants(which)) continue;
      progress(name(operation), kNumRows, kNumCols);
      check_one(which);
    }
  }

  // A seed for which input and output rows, if any, have two bytes an element and outputs have
  // their own rows.
  static uint64_t seed_of_16_bit_rows(Operation operation) {
    for (uint64_t seed = 0;; ++seed) {
      constexpr int64_t kNumCols = 100;
      const Problem problem({operation, 1, kNumCols, seed, 0, 0});
      const auto fits = [](const Array &array) {
        return array.row_bytes <= 2 * kNumCols && array.name != "row_indices";
      };
      if (std::all_of(problem.arrays().begin(), problem.arrays().end(), fits)) return seed;
    }
  }

  // Host memory for the reference, the device's results, and a margin.
  static bool has_room_for(int64_t bytes) {
    size_t free_bytes = 0, total_bytes = 0;
    CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    const int64_t host_bytes = int64_t(sysconf(_SC_AVPHYS_PAGES)) * sysconf(_SC_PAGESIZE);
    return bytes + bytes / 8 < int64_t(free_bytes) && 2 * bytes + bytes / 4 < host_bytes;
  }

  // Created at first use: there is none without a device.
  const Stream &stream() {
    if (!only_stream_) only_stream_ = std::make_unique<Stream>();
    return *only_stream_;
  }

  const CheckOptions options_;
  const bool has_device_;
  const SamplerPtr reference_;
  const SamplerPtr other_;     // on the device, if there is one
  const SamplerPtr checking_;  // on the device, with parameters on the host
  std::unique_ptr<Stream> only_stream_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  CheckReport report_;
};

}  // namespace

CheckReport run_checks(const CheckOptions &options) {
  return Checker(options).run();
}

}  // namespace gpu_check
