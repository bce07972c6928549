// The library's operations as the loops call them: parameters from the call's arguments, numbers
// per text from the host, workspace made beforehand.
#pragma once

#include <cstdint>

#include "capi/structs.h"
#include "decoding/cached_model.h"
#include "decoding/device_memory.h"
#include "decoding/failure.h"
#include "decoding/generation.h"
#include "sampler/sampler.h"

namespace sampler::decoding {

// How tokens are drawn.
inline sampler_params params_of(const sampler_generation_args &generation) {
  sampler_params params = sampler_params_default();
  if (generation.processor == SAMPLER_PROCESSOR_GREEDY) {
    params.temperature = 0;
  } else if (generation.params) {
    params = *generation.params;
  }
  return params;
}

// Rows of a model's logits.
inline sampler_rows rows_of(const sampler_model &model, const LogitRows &logits, int64_t num_rows) {
  sampler_rows rows = {};
  rows.values = logits.data;
  rows.num_rows = num_rows;
  rows.num_cols = model.vocabulary_size;
  rows.row_stride = logits.row_stride;
  rows.dtype = model.logits_dtype;
  return rows;
}

// What the operations of a loop work in, one after the other.
class Workspace {
 public:
  // For calls on up to max_rows rows of a model's vocabulary.
  Workspace(const ExecutionTarget &place, int64_t max_rows, int64_t num_cols)
      : place_(place), bytes_(place, capi::largest_workspace(*place.handle, max_rows, num_cols)) {}

  // To its log and its parallel_for these look like the host's calls.
  template <class Args>
  void run(sampler_status (*function)(sampler_t, const Args *), Args *args) {
    args->exec = {place_.stream, bytes_.data(), bytes_.size()};
    require(place_.entry->call_host([&] { return function(place_.handle, args); }));
  }

 private:
  ExecutionTarget place_;
  DeviceBytes bytes_;
};

// Seeds and offsets, one a row.
class Randomness {
 public:
  Randomness(const ExecutionTarget &place, int64_t max_rows)
      : seeds_(place, max_rows, true), offsets_(place, max_rows, true) {}

  void clear() {
    seeds_.values().clear();
    offsets_.values().clear();
  }
  void add(uint64_t seed, uint64_t offset) {
    seeds_.values().push_back(seed);
    offsets_.values().push_back(offset);
  }
  sampler_random upload() {
    sampler_random random = {};
    random.seeds = seeds_.upload();
    random.offsets = offsets_.upload();
    random.num_seeds = random.num_offsets = int64_t(seeds_.values().size());
    return random;
  }

 private:
  Input<uint64_t> seeds_, offsets_;
};

// Draws tokens from rows of a model's logits.
class TokenSampler {
 public:
  // At most max_draws at once.
  TokenSampler(const ExecutionTarget &place, const sampler_generation_args &generation,
               const sampler_model &model, int64_t max_draws)
      : params_(params_of(generation)),
        model_(model),
        rows_(place, max_draws),
        randomness_(place, max_draws),
        tokens_(place, max_draws),
        row_status_(place, max_draws),
        drawn_(place, max_draws) {}

  // A draw from that row.
  void add(int64_t row, uint64_t seed, uint64_t offset) {
    rows_.values().push_back(int32_t(row));
    randomness_.add(seed, offset);
  }

  // The tokens of all draws that were added, -1 of bad rows even where the handle has a fallback
  // token, of so many rows of logits. Valid until the next draw().
  const int32_t *draw(const LogitRows &logits, int64_t num_rows, Workspace *workspace) {
    auto args = capi::sized<sampler_sample_args>();
    const size_t num_draws = rows_.values().size();
    args.input = rows_of(model_, logits, num_rows);
    args.row_indices = rows_.upload();
    args.num_row_indices = int64_t(num_draws);
    args.params = &params_;
    args.random = randomness_.upload();
    args.out_token_ids = tokens_.data();
    args.out_row_status = row_status_.data();
    workspace->run(sampler_sample, &args);
    rows_.values().clear();
    randomness_.clear();
    const int32_t *const tokens = tokens_.on_host(num_draws);
    const sampler_row_status *const row_status = row_status_.on_host(num_draws);
    drawn_.clear();
    for (size_t i = 0; i < num_draws; ++i) {
      drawn_.push_back(row_status[i] == SAMPLER_ROW_OK ? tokens[i] : -1);
    }
    return drawn_.data();
  }

 private:
  const sampler_params params_;
  const sampler_model &model_;
  Input<int32_t> rows_;
  Randomness randomness_;
  Output<int32_t> tokens_;
  Output<sampler_row_status> row_status_;
  Array<int32_t> drawn_;
};

}  // namespace sampler::decoding
