// The library's operations as the loops call them: parameters from the call's arguments, numbers
// per text from the host, workspace made beforehand.
#pragma once

#include <cstdint>

#include "decoding/cached_model.h"
#include "decoding/device_memory.h"
#include "decoding/failure.h"
#include "decoding/generation.h"
#include "sampler/sampler.h"

namespace sampler::decoding {

// How tokens are drawn, for all argument structs alike.
template <class Args>
void set_processor(Args *args, const sampler_generation_args &generation) {
  if (generation.processor == SAMPLER_PROCESSOR_GREEDY) {
    args->temperature = 0;
    return;
  }
  args->temperature = generation.temperature;
  args->top_k = generation.top_k;
  args->top_p = generation.top_p;
  args->min_p = generation.min_p;
  args->top_k_ties = generation.top_k_ties;
  args->top_p_ties = generation.top_p_ties;
  args->filter_order = generation.filter_order;
  args->temperature_order = generation.temperature_order;
}

// Rows of a model's logits as an operation's input.
template <class Args>
void set_input(Args *args, const sampler_model &model, const LogitRows &logits, int64_t num_rows) {
  args->input = logits.data;
  args->num_rows = num_rows;
  args->num_cols = model.vocabulary_size;
  args->row_stride = logits.row_stride;
  args->input_dtype = model.logits_dtype;
}

// What the operations of a loop work in, one after the other.
class Workspace {
 public:
  // For calls on up to max_rows rows of a model's vocabulary.
  Workspace(const Place &place, int64_t max_rows, int64_t num_cols)
      : place_(place), bytes_(place, capi::largest_workspace(*place.handle, max_rows, num_cols)) {}

  // Calls of the host's, as far as its log and its parallel_for can tell.
  template <class Args>
  void run(sampler_status (*function)(sampler_t, const Args *), Args *args) {
    args->stream = place_.stream;
    args->workspace = bytes_.data();
    args->workspace_bytes = bytes_.size();
    require(place_.entry->call_host([&] { return function(place_.handle, args); }));
  }

 private:
  Place place_;
  DeviceBytes bytes_;
};

// Seeds and offsets, one a row.
class Randomness {
 public:
  Randomness(const Place &place, int64_t max_rows)
      : seeds_(place, max_rows, true), offsets_(place, max_rows, true) {}

  void clear() {
    seeds_.values().clear();
    offsets_.values().clear();
  }
  void add(uint64_t seed, uint64_t offset) {
    seeds_.values().push_back(seed);
    offsets_.values().push_back(offset);
  }
  template <class Args>
  void set(Args *args) {
    args->seeds = seeds_.upload();
    args->offsets = offsets_.upload();
    args->num_seeds = args->num_offsets = int64_t(seeds_.values().size());
  }

 private:
  Input<uint64_t> seeds_, offsets_;
};

// Draws tokens from rows of a model's logits.
class TokenSampler {
 public:
  // At most max_draws at once.
  TokenSampler(const Place &place, const sampler_generation_args &generation,
               const sampler_model &model, int64_t max_draws)
      : generation_(generation),
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
    sampler_sample_args args = SAMPLER_SAMPLE_ARGS_INIT;
    const size_t num_draws = rows_.values().size();
    set_input(&args, model_, logits, int64_t(num_draws));
    set_processor(&args, generation_);
    args.num_input_rows = num_rows;
    args.row_indices = rows_.upload();
    randomness_.set(&args);
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
  const sampler_generation_args &generation_;
  const sampler_model &model_;
  Input<int32_t> rows_;
  Randomness randomness_;
  Output<int32_t> tokens_;
  Output<sampler_row_status> row_status_;
  Array<int32_t> drawn_;
};

}  // namespace sampler::decoding
