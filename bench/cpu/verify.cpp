// Time of verifications relative to one read of the rows that each must read: 8 sequences of 7
// drafts over 128,256 tokens, f32, on one thread. Drafts are drawn from the target's rows with
// noise, so that each sequence has accepted drafts and most have a rejection. The read is a plain
// maximum over the same rows, as in cpu_bench; of a row of given probabilities the standard rule
// reads one element until it is rejected.
#include <sampler/sampler.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "max_pass.h"
#include "measure.h"
#include "rows.h"

namespace cpu_bench {
namespace {

constexpr int64_t kSequences = 8, kDrafts = 7, kCols = 128256;
constexpr int64_t kPositions = kDrafts + 1;

// A root with two children; they have three and two, the first of which has one.
constexpr int32_t kTree[kDrafts] = {-1, -1, 0, 0, 1, 1, 2};

struct Case {
  const char *name;
  sampler_acceptance rule;
  bool is_tree;
  bool has_draft;
  bool are_probabilities;
  bool has_reports;
};

constexpr Case kCases[] = {
    {"standard, chain, probabilities", SAMPLER_ACCEPT_STANDARD, false, true, true, false},
    {"standard, chain, logits", SAMPLER_ACCEPT_STANDARD, false, true, false, false},
    {"standard, chain, logits, n-grams", SAMPLER_ACCEPT_STANDARD, false, false, false, false},
    {"standard, chain, logits, log-probabilities", SAMPLER_ACCEPT_STANDARD, false, true, false,
     true},
    {"standard, tree, probabilities", SAMPLER_ACCEPT_STANDARD, true, true, true, false},
    {"standard, tree, logits", SAMPLER_ACCEPT_STANDARD, true, true, false, false},
    {"block, chain, probabilities", SAMPLER_ACCEPT_BLOCK, false, true, true, false},
    {"block, chain, logits", SAMPLER_ACCEPT_BLOCK, false, true, false, false},
    {"sample-match, chain, logits", SAMPLER_ACCEPT_SAMPLE_MATCH, false, false, false, false},
    {"sample-match, chain, logits, log-probabilities", SAMPLER_ACCEPT_SAMPLE_MATCH, false, false,
     false, true},
    {"sample-match, tree, logits", SAMPLER_ACCEPT_SAMPLE_MATCH, true, false, false, false},
    {"threshold, tree, probabilities", SAMPLER_ACCEPT_THRESHOLD, true, false, true, false},
};

void check(sampler_status status) {
  if (status == SAMPLER_OK) return;
  std::fprintf(stderr, "%s\n", sampler_last_error());
  std::exit(1);
}

template <class Struct>
Struct sized() {
  Struct result = {};
  result.struct_size = sizeof result;
  return result;
}

// The rows of all cases.
struct Rows {
  Rows() {
    // Sharper than other benchmarks' rows, so that drafts are accepted.
    target = make_logits(RowKind::kLanguage, kSequences * kPositions, kCols);
    for (float &x : target) x *= 1.5f;
    uint32_t random = 1;
    for (int64_t s = 0; s < kSequences; ++s) {
      for (int64_t i = 0; i < kDrafts; ++i) {
        // In a tree a draft's row belongs to its parent's position; here all belong to chains.
        const float *const row = &target[size_t((s * kPositions + i) * kCols)];
        for (int64_t x = 0; x < kCols; ++x) {
          random = random * 1664525u + 1013904223u;
          draft.push_back(row[x] + float(random >> 8) * 0x1p-23f - 1.0f);
        }
      }
    }
    target_probabilities = target;
    draft_probabilities = draft;
    to_probabilities(&target_probabilities, kCols);
    to_probabilities(&draft_probabilities, kCols);
  }
  std::vector<float> target, draft, target_probabilities, draft_probabilities;
};

class Problem {
 public:
  Problem(const Case &which, const Rows &rows) : case_(which) {
    sampler_options options = sampler_options_default();
    options.num_threads = 1;
    check(sampler_create(&options, &sampler_));
    const bool given = which.are_probabilities;
    args_.target = view(given ? rows.target_probabilities : rows.target);
    const sampler_rows draft = view(given ? rows.draft_probabilities : rows.draft);
    if (which.has_draft) args_.draft = draft;
    draw_drafts(draft);
    args_.num_drafts = kDrafts;
    args_.draft_token_ids = drafts_.data();
    acceptance_.rule = which.rule;
    args_.acceptance = &acceptance_;
    args_.random.seed = 3;
    if (which.is_tree) {
      layout_.parents = kTree;
      layout_.tree_rows = 1;
      args_.layout = &layout_;
    }
    tokens_.resize(size_t(kSequences * kPositions));
    positions_.resize(tokens_.size());
    logprobs_.resize(tokens_.size());
    emitted_.resize(size_t(kSequences));
    args_.out_token_ids = tokens_.data();
    args_.out_positions = positions_.data();
    args_.out_emitted_counts = emitted_.data();
    if (which.has_reports) {
      reports_.out_logprobs = logprobs_.data();
      args_.reports = &reports_;
    }
    size_t bytes = 0;
    check(sampler_verify_workspace_size(sampler_, &args_, &bytes));
    workspace_.resize(bytes);
    args_.exec.workspace = workspace_.data();
    args_.exec.workspace_bytes = bytes;
    run();
    find_rows();
  }
  ~Problem() { sampler_destroy(sampler_); }
  Problem(const Problem &) = delete;
  Problem &operator=(const Problem &) = delete;

  void run() { check(sampler_verify(sampler_, &args_)); }

  // The rows that must be read.
  const std::vector<const float *> &rows() const { return rows_; }

  double mean_kept() const {
    double sum = 0;
    for (const int32_t count : emitted_) sum += count;
    return sum / double(kSequences);
  }

 private:
  sampler_rows view(const std::vector<float> &values) const {
    sampler_rows rows = {};
    rows.values = values.data();
    rows.num_rows = int64_t(values.size()) / kCols;
    rows.num_cols = kCols;
    rows.kind = case_.are_probabilities ? SAMPLER_PROBABILITIES : SAMPLER_LOGITS;
    return rows;
  }

  void draw_drafts(const sampler_rows &draft) {
    drafts_.resize(size_t(kSequences * kDrafts));
    auto args = sized<sampler_sample_args>();
    args.input = draft;
    args.random.seed = 17;
    args.out_token_ids = drafts_.data();
    size_t bytes = 0;
    check(sampler_sample_workspace_size(sampler_, &args, &bytes));
    std::vector<unsigned char> workspace(bytes);
    args.exec.workspace = workspace.data();
    args.exec.workspace_bytes = bytes;
    check(sampler_sample(sampler_, &args));
  }

  void find_rows() {
    const bool is_block = case_.rule == SAMPLER_ACCEPT_BLOCK;
    const bool reads_elements = case_.are_probabilities && case_.rule == SAMPLER_ACCEPT_STANDARD;
    const auto *const target = static_cast<const float *>(args_.target.values);
    const auto *const draft = static_cast<const float *>(args_.draft.values);
    for (int64_t s = 0; s < kSequences; ++s) {
      const int32_t *const positions = &positions_[size_t(s * kPositions)];
      const int32_t last = emitted_[size_t(s)];
      for (int32_t i = 0; i <= (is_block ? int32_t(kDrafts) : last); ++i) {
        const int32_t position = is_block ? i : positions[i];
        const bool is_last = is_block ? i == kDrafts : i == last;
        // Block verification reads the row after the drafts only if all were accepted.
        if (is_block && is_last && last < kDrafts) continue;
        if (!reads_elements || is_last) {
          rows_.push_back(target + (s * kPositions + position) * kCols);
        }
        if (!case_.has_draft) continue;
        // The rows of the children tried there: those before the accepted one, and that one.
        for (int32_t child = 0; child < kDrafts; ++child) {
          const int32_t parent = case_.is_tree ? kTree[child] : child - 1;
          if (parent + 1 != position) continue;
          const bool is_accepted = !is_last && positions[i + 1] == child + 1;
          if (is_block || !reads_elements || !is_accepted) {
            rows_.push_back(draft + (s * kDrafts + child) * kCols);
          }
          if (is_accepted) break;
        }
        // Rejected siblings before an accepted one leave a residual of the target's row.
        const bool were_rejected = !is_last && case_.is_tree && reads_elements &&
                                   has_earlier_sibling(positions[i + 1] - 1);
        if (were_rejected) rows_.push_back(target + (s * kPositions + position) * kCols);
      }
    }
  }

  static bool has_earlier_sibling(int32_t child) {
    return std::count(kTree, kTree + child, kTree[child]) > 0;
  }

  const Case case_;
  sampler_t sampler_ = nullptr;
  sampler_verify_args args_ = sized<sampler_verify_args>();
  sampler_acceptance_params acceptance_ = sized<sampler_acceptance_params>();
  sampler_draft_layout layout_ = sized<sampler_draft_layout>();
  sampler_report_args reports_ = sized<sampler_report_args>();
  std::vector<int32_t> drafts_, tokens_, positions_, emitted_;
  std::vector<float> logprobs_;
  std::vector<unsigned char> workspace_;
  std::vector<const float *> rows_;
};

// Runs the cases whose names contain `part`.
void run_all(const std::string &part) {
  const Rows rows;
  const MaxPass pass = usable_max_passes().front();
  std::printf("%-48s %6s %6s %10s %10s %6s\n", "", "kept", "rows", "us", "read, us", "ratio");
  for (const Case &which : kCases) {
    if (std::string(which.name).find(part) == std::string::npos) continue;
    Problem problem(which, rows);
    const auto read = [&] {
      for (const float *row : problem.rows()) {
        run_max_pass(pass, row, size_t(kCols), SAMPLER_F32);
      }
    };
    const std::vector<Series> series =
        measure({[&](int) { read(); }, [&](int) { problem.run(); }}, read, Limits());
    // The best of each: other work on the machine only adds.
    std::printf("%-48s %6.2f %6zu %10.1f %10.1f %6.2f\n", which.name, problem.mean_kept(),
                problem.rows().size(), series[1].best_us, series[0].best_us,
                series[1].best_us / series[0].best_us);
  }
}

}  // namespace
}  // namespace cpu_bench

int main(int argc, char **argv) {
  cpu_bench::run_all(argc > 1 ? argv[1] : "");
  return 0;
}
