#include "goals.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

namespace gpu_check {

namespace {

constexpr int kNumSizes = 4;
constexpr int kNumRows[kNumSizes] = {1, 64, 256, 1024};

// Microseconds of kernel time with cold inputs, by kNumRows. 0: none.
struct Goal {
  const char *operation;
  double goal[kNumSizes];
  double peer[kNumSizes];  // flashinfer 0.7.2.post1; torch for greedy
};

// An edit may take 10 us more than the plain draw and 15 % from 64 rows on, a report 15 %, a window
// twice as long as top-p, a position of a chain 1.3 times as long as a draw.
const Goal kGoals[] = {
    {"greedy", {4, 11, 34, 120}, {36.6, 39.2, 49.2, 0}},
    {"top_k50_top_p0.9", {8, 16, 42, 130}, {52.0, 64.1, 137, 462}},
    {"min_p0.05", {8, 16, 42, 130}, {61.8, 111, 310, 1070}},
    {"top_k1000", {9.2, 18.4, 48.3, 149.5}, {73.4, 184, 388, 1240}},
    {"temperature", {8, 20, 55, 170}, {52.7, 107, 269, 972}},
    {"top_p0.9", {10, 24, 70, 220}, {63.3, 145, 314, 1107}},
    {"top_p0.9_probabilities", {10, 24, 70, 220}, {}},
    {"top_p0.9_last", {10, 24, 70, 220}, {}},
    {"min_p0.05_top_p0.9", {8, 16, 42, 130}, {}},
    {"joint", {10, 24, 70, 220}, {93.0, 181, 377, 1128}},
    {"softmax", {6, 20, 68, 250}, {16.7, 42.4, 112, 431}},
    {"top_k_mask50", {6, 20, 68, 250}, {34.0, 79.0, 234, 924}},
    {"top_k_renorm50", {6, 20, 68, 250}, {39.5, 87.2, 258, 1012}},
    {"top_p_renorm0.9", {10, 24, 70, 250}, {79.2, 231, 638, 2390}},
    {"chain7", {8, 22, 70, 250}, {55.9, 89.6, 173, 552}},
    {"lookup7_logits", {13, 98, 338, 1352}, {}},
    {"lookup7_top20", {15, 113, 389, 1555}, {}},
    {"lookup7_penalties1000", {23, 113, 389, 1555}, {}},
    {"match7", {13, 98, 338, 1352}, {}},
    {"threshold7", {8, 22, 70, 250}, {}},
    {"penalties1000", {18, 18.4, 48.3, 149.5}, {}},
    {"penalties1000_top20", {20.7, 21.2, 55.5, 172}, {}},
    {"bitmask", {8.2, 16.5, 43.3, 134}, {}},
    {"top20_logprobs", {9.2, 18.4, 48.3, 149.5}, {}},
    {"typical_p0.9", {20, 48, 140, 440}, {}},
    {"top_n_sigma1", {20, 48, 140, 440}, {}},
    {"llama.cpp", {20, 48, 140, 440}, {}},
    {"llama.cpp_no_xtc", {20, 48, 140, 440}, {}},
    {"llama.cpp_own_k", {20, 48, 140, 440}, {}},
    {"mirostat_v2", {20, 48, 140, 440}, {}},
    {"adaptive_p0.5", {20, 48, 140, 440}, {}},
};

struct Line {
  const Goal *goal;
  int size;
  double us;

  double of_goal() const { return us / goal->goal[size]; }
};

void print(const Line &line) {
  std::printf("%-22s %5d rows %9.1f us, goal %7.1f (%4.1f times)", line.goal->operation,
              kNumRows[line.size], line.us, line.goal->goal[line.size], line.of_goal());
  const double peer = line.goal->peer[line.size];
  if (peer > 0) std::printf(", peer %7.1f (%4.1f times)", peer, line.us / peer);
  std::printf("\n");
}

}  // namespace

void print_beside_goals(const std::string &json_path) {
  std::ifstream file(json_path);
  const auto report = nlohmann::json::parse(file, nullptr, false);
  if (report.is_discarded() || !report.contains("cells")) {
    std::printf("%s has no times\n", json_path.c_str());
    return;
  }
  std::vector<Line> lines;
  for (const Goal &goal : kGoals) {
    for (int size = 0; size < kNumSizes; ++size) {
      for (const auto &cell : report["cells"]) {
        const bool is_one = cell["operation"] == goal.operation && cell["dtype"] == "f32" &&
                            cell["num_cols"] == 128256 && cell["num_rows"] == kNumRows[size];
        if (is_one) lines.push_back({&goal, size, cell["kernel_cold"]["median_us"]});
      }
    }
  }
  for (const Line &line : lines) print(line);
  constexpr std::size_t kFarthest = 10;
  std::sort(lines.begin(), lines.end(),
            [](const Line &a, const Line &b) { return a.of_goal() > b.of_goal(); });
  std::printf("farthest from their goals:\n");
  for (std::size_t i = 0; i < std::min(lines.size(), kFarthest); ++i) print(lines[i]);
}

}  // namespace gpu_check
