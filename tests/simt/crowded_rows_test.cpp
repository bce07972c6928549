// Top-k of rows in which most tokens tie at the k-th largest group maximum: few or many groups hold
// tokens above the ties, fewer than k or more, more than a list has room for. And top-p of rows in
// which about as many tokens lie near the cut as its list has room for. The device code selects and
// keeps the tokens that the reference does.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "../seed.h"
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
constexpr int kTiles = 40;
constexpr int kDraws = 200;  // from one row of ties

struct Crowd {
  int num_groups;       // with tokens above the ties
  int tokens_of_group;  // of each
  int num_values;       // of those tokens
  bool has_ids;

  std::string description() const {
    return std::to_string(num_groups) + " groups of " + std::to_string(tokens_of_group) +
           " tokens above, " + std::to_string(num_values) + " values" +
           (has_ids ? ", candidates" : "");
  }
};

// Half of the others tie, half are lower.
std::vector<float> row_of(const Crowd &crowd, std::mt19937_64 &random) {
  std::vector<float> row(size_t(kTiles) * kernels::kTile);
  for (float &x : row) x = random() % 2 != 0 ? 0.5f : -1.0f;
  for (int i = 0; i < crowd.num_groups; ++i) {
    const int tile = i % kTiles, lane = int(random() % 32);
    for (int j = 0; j < crowd.tokens_of_group; ++j) {
      const int place = tile * kernels::kTile + kernels::place_in_tile(lane, j, 2);
      row[size_t(place)] = 1.0f + float(random() % uint64_t(crowd.num_values));
    }
  }
  return row;
}

// The `count` largest tokens, next to each other, and as heavy as some of the others together.
struct NearCut {
  int count;
  int num_values;
  sampler_tie_rule ties;
  bool has_ids;

  std::string description() const {
    return std::to_string(count) + " tokens near the cut, " + std::to_string(num_values) +
           " values, ties " + (ties == SAMPLER_TIES_KEEP ? "kept" : "exact") +
           (has_ids ? ", candidates" : "");
  }
};

std::vector<float> row_of(const NearCut &near, std::mt19937_64 &random) {
  std::vector<float> row(size_t(kTiles) * kernels::kTile, 0.0f);
  for (int i = 0; i < near.count; ++i) {
    row[size_t(i)] = float_of(bits_of(1.0f) + uint32_t(random() % uint64_t(near.num_values)));
  }
  std::shuffle(row.begin(), row.end(), random);
  return row;
}

// So few candidates that all of them fit in a list: some above the ties.
struct FewCandidates {
  int count;
  int num_above;

  std::string description() const {
    return std::to_string(count) + " candidates, " + std::to_string(num_above) + " above the ties";
  }
};

std::vector<float> row_of(const FewCandidates &few, std::mt19937_64 &random) {
  std::vector<float> row(size_t(few.count), 0.5f);
  for (int i = 0; i < few.num_above; ++i) row[size_t(i)] = 1.0f + float(random() % 5);
  std::shuffle(row.begin(), row.end(), random);
  return row;
}

// Candidates of one value of which exact top-p keeps some: in the draw, tokens of one value weigh
// something or nothing, and many lanes find one bin of ids.
struct PartlyKept {
  int count;

  std::string description() const { return std::to_string(count) + " candidates of one value"; }
};

std::vector<float> row_of(const PartlyKept &partly, std::mt19937_64 &) {
  return std::vector<float>(size_t(partly.count), 0.5f);
}

std::vector<int32_t> ids_of(size_t count, std::mt19937_64 &random) {
  std::vector<int32_t> ids(count);
  for (size_t i = 0; i < count; ++i) ids[i] = int32_t(i);
  std::shuffle(ids.begin(), ids.end(), random);
  return ids;
}

template <class Request>
void run_reference(const Request &request) {
  std::vector<char> workspace(cpu::workspace_bytes(request, 1));
  cpu::run(request, cpu::Executor(), workspace.data());
}

template <class Request>
void run_on_fibers(const Request &request, int team_size, uint64_t seed) {
  const kernels::Extent extent = kernels::extent_of(request);
  kernels::Plan plan;
  plan.team_size = team_size;
  plan.row_cache_bytes =
      kernels::ring_bytes(kThreads) + int(kernels::maxima_bytes_per_block(extent, team_size));
  std::vector<uint32_t> bitmap(size_t(kernels::kIdWords));
  plan.bitmaps = bitmap.data();
  simt::launch<kThreads>(
      1, team_size, plan.shared_bytes(), seed,
      [&](auto &ctx) { kernels::run_operation(ctx, request, plan); }, simt::Options());
}

class CrowdedRows : public testing::Test {
 protected:
  template <class Crowd>
  Rows make_rows(const Crowd &crowd, bool has_ids) {
    row_ = row_of(crowd, random_);
    ids_ = ids_of(row_.size(), random_);
    Rows rows;
    rows.values = row_.data();
    rows.ids = has_ids ? ids_.data() : nullptr;
    rows.num_rows = 1;
    rows.num_cols = rows.stride = int64_t(row_.size());
    return rows;
  }

  // What run(request) makes of the request's outputs.
  template <class Run>
  static std::vector<int32_t> selected(SelectRequest request, const Run &run) {
    std::vector<int32_t> tokens(size_t(request.num_selected), -2);
    request.out_token_ids.data = tokens.data();
    run(request);
    return tokens;
  }
  template <class Run>
  static std::vector<int32_t> drawn_and_kept(SampleRequest request, const Run &run) {
    std::vector<int32_t> outputs(size_t(2 * request.num_rows), -2);
    request.out_token_ids.data = &outputs[0];
    request.out_kept_counts = &outputs[size_t(request.num_rows)];
    run(request);
    return outputs;
  }

  void expect_equal(const Crowd &crowd, int k) { expect_equal(crowd, crowd.has_ids, k); }
  void expect_equal(const FewCandidates &few, int k) { expect_equal(few, true, k); }
  void expect_equal(const NearCut &near, float share_of_near) {
    const float weight = 2.7183f * float(near.count);
    SampleRequest sample = sample_of(make_rows(near, near.has_ids));
    sample.parameters.top_p.value =
        share_of_near * weight / (weight + float(row_.size()) - float(near.count));
    sample.parameters.rules.top_p_ties = near.ties;
    expect_same_draw(sample, near.description() + ", share " + std::to_string(share_of_near));
  }
  void expect_equal(const PartlyKept &partly, float top_p) {
    SampleRequest sample = sample_of(make_rows(partly, true));
    const std::vector<int32_t> row_indices(size_t(kDraws), 0);
    sample.row_indices = row_indices.data();
    sample.num_rows = kDraws;
    sample.parameters.top_p.value = top_p;
    expect_same_draw(sample, partly.description() + ", top-p " + std::to_string(top_p));
  }

 private:
  template <class Crowded>
  void expect_equal(const Crowded &crowd, bool has_ids, int k) {
    const std::string description = crowd.description() + ", k " + std::to_string(k);
    SelectRequest select;
    select.input = make_rows(crowd, has_ids);
    select.num_selected = k;
    const int team_size = 1 + int(random_() % 2);
    EXPECT_EQ(selected(select,
                       [&](const auto &request) { run_on_fibers(request, team_size, random_()); }),
              selected(select, [](const auto &request) { run_reference(request); }))
        << description;
    SampleRequest sample = sample_of(select.input);
    sample.parameters.top_k.value = k;
    expect_same_draw(sample, description);
  }

  SampleRequest sample_of(const Rows &rows) {
    SampleRequest sample;
    sample.input = rows;
    sample.num_rows = 1;
    sample.parameters.temperature.value = 1.0f;
    sample.parameters.top_p.value = 1.0f;
    sample.random.seed.value = random_();
    return sample;
  }

  void expect_same_draw(const SampleRequest &sample, const std::string &description) {
    const int team_size = 1 + int(random_() % 2);
    EXPECT_EQ(
        drawn_and_kept(sample,
                       [&](const auto &request) { run_on_fibers(request, team_size, random_()); }),
        drawn_and_kept(sample, [](const auto &request) { run_reference(request); }))
        << description;
  }

  std::mt19937_64 random_{seeded(5)};
  std::vector<float> row_;
  std::vector<int32_t> ids_;
};

TEST_F(CrowdedRows, KeepWhatTheReferenceKeeps) {
  for (const int num_groups : {0, 5, 12, 18}) {
    for (const int tokens_of_group : {1, 3, 16}) {
      for (const int num_values : {1, 7, 1000}) {
        for (const bool has_ids : {false, true}) {
          const Crowd crowd = {num_groups, tokens_of_group, num_values, has_ids};
          for (const int k : {20, 30, 300}) expect_equal(crowd, k);
        }
      }
    }
  }
}

// Threads run in other orders each time: a list may not be opened before all have seen the last
// one.
TEST_F(CrowdedRows, OfFewCandidatesKeepWhatTheReferenceKeeps) {
  for (const int count : {300, 900, kernels::kListCapacity}) {
    for (const int num_above : {1, 7, 19}) {
      for (int i = 0; i < 8; ++i) expect_equal(FewCandidates{count, num_above}, 20);
    }
  }
}

TEST_F(CrowdedRows, AreCutWhereTheReferenceCuts) {
  for (const int count : {200, 257, kernels::kNearCapacity, kernels::kNearCapacity + 1, 3000}) {
    for (const int num_values : {1, 2, 1 << 20}) {
      for (const sampler_tie_rule ties : {SAMPLER_TIES_EXACT, SAMPLER_TIES_KEEP}) {
        for (const float share : {0.001f, 0.5f, 0.999f}) {
          expect_equal(NearCut{count, num_values, ties, false}, share);
          expect_equal(NearCut{count, num_values, ties, true}, share);
        }
      }
    }
  }
}

TEST_F(CrowdedRows, OfWhichSomeTiesAreKeptAreDrawnFromAsInTheReference) {
  for (const int count : {kernels::kListCapacity + 1, 3000, 5000}) {
    for (const float top_p : {0.45f, 0.9f, 0.99f}) {
      expect_equal(PartlyKept{count}, top_p);
    }
  }
}

}  // namespace
