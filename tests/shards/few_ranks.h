// Calls on a few ranks that are as they should be, for tests to break.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "../sized.h"
#include "problem.h"

namespace shards_test {

// Ranks that sample rows.
struct SampleRanks {
  static constexpr int64_t kNumRows = 2, kNumCols = 40, kNumRanks = 4, kWidth = 10;
  static constexpr int32_t kUntouched = 0x5A5A5A5A;

  SampleRanks() {
    for (int64_t rank = 0; rank < kNumRanks; ++rank) {
      params[rank] = sampler_params_default();
      row_params[rank].struct_size = sizeof row_params[rank];
      pipelines[rank].struct_size = sizeof pipelines[rank];
      SampleArgs &args = samples[rank];
      args.input = rows.part(rank * kWidth, (rank + 1) * kWidth, &memory[rank]);
      args.params = &params[rank];
      args.out_token_ids = tokens[rank];
      args.out_row_status = statuses[rank];
      for (int64_t row = 0; row < kNumRows; ++row) {
        tokens[rank][row] = kUntouched;
        statuses[rank][row] = kUntouched;
      }
      sampler_shard_args &shard = shards[rank];
      shard.struct_size = sizeof shard;
      shard.sample = &args;
      shard.first_token_id = rank * kWidth;
      shard.total_cols = kNumCols;
      shard.rank = rank;
      shard.num_ranks = kNumRanks;
    }
  }
  SampleRanks(const SampleRanks &) = delete;
  SampleRanks &operator=(const SampleRanks &) = delete;

  // Other rows, where these are: the whole ones, and each rank's columns.
  void put(const Rows &other) {
    std::copy(other.bytes.begin(), other.bytes.end(), rows.bytes.begin());
    for (int64_t rank = 0; rank < kNumRanks; ++rank) {
      rows.part(rank * kWidth, (rank + 1) * kWidth, &memory[rank]);
    }
  }

  template <class Spoil>
  Outcome run(const Samplers &samplers, const Spoil &spoil) const {
    return run_ranks(samplers, std::vector<sampler_shard_args>(shards, shards + kNumRanks), spoil);
  }
  Outcome run(const Samplers &samplers) const {
    return run(samplers, [](int64_t, char *, size_t) {});
  }

  Rows rows = make_rows(kNumRows, kNumCols, SAMPLER_F32, SAMPLER_LOGITS, false, 0);
  std::vector<unsigned char> memory[kNumRanks];
  sampler_params params[kNumRanks];
  sampler_row_params row_params[kNumRanks] = {};
  sampler_pipeline pipelines[kNumRanks] = {};
  SampleArgs samples[kNumRanks];
  sampler_shard_args shards[kNumRanks] = {};
  int32_t tokens[kNumRanks][kNumRows];
  sampler_row_status statuses[kNumRanks][kNumRows];
};

// Ranks that verify chains.
struct ChainRanks {
  static constexpr int64_t kNumCols = 40, kNumSequences = 4, kNumDrafts = 3;
  static constexpr size_t kNumRanks = 3;

  ChainRanks() {
    const Ranges ranges = even_ranges(kNumCols, kNumRanks);
    ids.assign(kNumRanks, std::vector<int32_t>(kNumSequences * kNumDrafts, 7));
    tokens.assign(kNumRanks, std::vector<int32_t>(kNumSequences * (kNumDrafts + 1), 77));
    counts.assign(kNumRanks, std::vector<int32_t>(kNumSequences, kNumDrafts));
    seeds.assign(kNumRanks, std::vector<uint64_t>(kNumSequences, 5));
    statuses.assign(kNumRanks, std::vector<sampler_row_status>(kNumSequences, 77));
    for (size_t r = 0; r < kNumRanks; ++r) {
      VerifyArgs &args = calls[r];
      args.target = target.part(ranges[r], ranges[r + 1], &memory[2 * r]);
      args.draft = draft.part(ranges[r], ranges[r + 1], &memory[2 * r + 1]);
      args.num_drafts = kNumDrafts;
      args.draft_token_ids = ids[r].data();
      args.draft_counts = counts[r].data();
      args.params = &params[r];
      args.random.seeds = seeds[r].data();
      args.random.num_seeds = kNumSequences;
      args.out_token_ids = tokens[r].data();
      args.out_row_status = statuses[r].data();
      shards[r].struct_size = sizeof shards[r];
      shards[r].verify = &args;
      shards[r].first_token_id = ranges[r];
      shards[r].total_cols = kNumCols;
      shards[r].rank = int64_t(r);
      shards[r].num_ranks = kNumRanks;
    }
  }
  // Other rows, where these are: the whole ones, and each rank's columns.
  void put(std::mt19937_64 &random) {
    for (Rows *const rows : {&target, &draft}) {
      const Rows other =
          make_rows(rows->num_rows, rows->num_cols, rows->dtype, rows->kind, false, random());
      std::copy(other.bytes.begin(), other.bytes.end(), rows->bytes.begin());
    }
    const Ranges ranges = even_ranges(kNumCols, kNumRanks);
    for (size_t r = 0; r < kNumRanks; ++r) {
      target.part(ranges[r], ranges[r + 1], &memory[2 * r]);
      draft.part(ranges[r], ranges[r + 1], &memory[2 * r + 1]);
    }
  }

  ChainRanks(const ChainRanks &) = delete;
  ChainRanks &operator=(const ChainRanks &) = delete;

  Rows target = make_rows(kNumSequences * (kNumDrafts + 1), kNumCols, SAMPLER_F32,
                          SAMPLER_PROBABILITIES, false, 3);
  Rows draft =
      make_rows(kNumSequences * kNumDrafts, kNumCols, SAMPLER_F32, SAMPLER_PROBABILITIES, false, 4);
  std::vector<std::vector<unsigned char>> memory{2 * kNumRanks};
  std::vector<sampler_params> params{kNumRanks, sampler_params_default()};
  std::vector<std::vector<int32_t>> ids, tokens, counts;
  std::vector<std::vector<uint64_t>> seeds;
  std::vector<std::vector<sampler_row_status>> statuses;
  std::vector<VerifyArgs> calls{kNumRanks, VerifyArgs()};
  std::vector<sampler_shard_args> shards{kNumRanks, sampler_shard_args()};
};

}  // namespace shards_test
