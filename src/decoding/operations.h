// The library's operations as the loops call them: parameters from the call's arguments, numbers
// per text from the host, workspace made beforehand.
#pragma once

#include <algorithm>
#include <cstdint>

#include "capi/structs.h"
#include "decoding/cached_model.h"
#include "decoding/device_memory.h"
#include "decoding/failure.h"
#include "decoding/generation.h"
#include "sampler/sampler.h"

namespace sampler::decoding {

// Calls one of the library's functions, to which the loop is a host.
template <class Call>
void require_call(const ExecutionTarget &place, const Call &call) {
  require(place.entry->call_host(call));
}

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
  // For calls on up to max_rows rows of a model's vocabulary, and one that needs least_bytes.
  Workspace(const ExecutionTarget &place, int64_t max_rows, int64_t num_cols,
            size_t least_bytes = 0)
      : place_(place),
        bytes_(place,
               std::max(least_bytes, capi::largest_workspace(*place.handle, max_rows, num_cols))) {}

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

// Temperature, top-p, min-p and top-k by draw, of texts that have them by text.
class DrawNumbers {
 public:
  // `by_text`: plain, all NULL where the texts have none.
  DrawNumbers(const ExecutionTarget &place, int64_t max_draws, const sampler_row_params &by_text)
      : by_text_(by_text),
        temperature_(place, by_text.temperature ? max_draws : 0, true),
        top_p_(place, by_text.top_p ? max_draws : 0, true),
        min_p_(place, by_text.min_p ? max_draws : 0, true),
        top_k_(place, by_text.top_k ? max_draws : 0, true) {}

  void clear() {
    temperature_.values().clear();
    top_p_.values().clear();
    min_p_.values().clear();
    top_k_.values().clear();
  }
  void add(int64_t text) {
    if (by_text_.temperature) temperature_.values().push_back(by_text_.temperature[text]);
    if (by_text_.top_p) top_p_.values().push_back(by_text_.top_p[text]);
    if (by_text_.min_p) min_p_.values().push_back(by_text_.min_p[text]);
    if (by_text_.top_k) top_k_.values().push_back(by_text_.top_k[text]);
  }
  sampler_row_params upload() {
    auto result = capi::sized<sampler_row_params>();
    result.temperature = temperature_.upload();
    result.top_p = top_p_.upload();
    result.min_p = min_p_.upload();
    result.top_k = top_k_.upload();
    return result;
  }

 private:
  const sampler_row_params by_text_;
  Input<float> temperature_, top_p_, min_p_;
  Input<int32_t> top_k_;
};

// Draws tokens from rows of a model's logits.
class TokenSampler {
 public:
  // At most max_draws at once, by these parameters, or those of the texts. `has_logprobs`: tokens
  // come with log-probabilities.
  TokenSampler(const ExecutionTarget &place, const sampler_params &params,
               const sampler_row_params &by_text, const sampler_model &model, int64_t max_draws,
               bool has_logprobs = false)
      : params_(params),
        numbers_(place, max_draws, by_text),
        model_(model),
        rows_(place, max_draws),
        randomness_(place, max_draws),
        tokens_(place, max_draws),
        row_status_(place, max_draws),
        has_logprobs_(has_logprobs),
        logprobs_(place, has_logprobs ? max_draws : 0),
        drawn_(place, max_draws) {}

  // A draw from that row, for a text.
  void add(int64_t row, const Text &text, uint64_t offset) {
    rows_.values().push_back(int32_t(row));
    randomness_.add(text.seed, offset);
    numbers_.add(text.index);
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
    const sampler_row_params row_params = numbers_.upload();
    args.row_params = &row_params;
    args.random = randomness_.upload();
    args.out_token_ids = tokens_.data();
    args.out_row_status = row_status_.data();
    if (has_logprobs_) args.out_logprobs = logprobs_.data();
    workspace->run(sampler_sample, &args);
    rows_.values().clear();
    randomness_.clear();
    numbers_.clear();
    const int32_t *const tokens = tokens_.on_host(num_draws);
    const sampler_row_status *const row_status = row_status_.on_host(num_draws);
    drawn_.clear();
    for (size_t i = 0; i < num_draws; ++i) {
      drawn_.push_back(row_status[i] == SAMPLER_ROW_OK ? tokens[i] : -1);
    }
    return drawn_.data();
  }

  // Of the last draw()'s tokens, in the whole row at temperature 1; null: there are none.
  const float *logprobs(size_t num_draws) {
    return has_logprobs_ ? logprobs_.on_host(num_draws) : nullptr;
  }

 private:
  const sampler_params params_;
  DrawNumbers numbers_;
  const sampler_model &model_;
  Input<int32_t> rows_;
  Randomness randomness_;
  Output<int32_t> tokens_;
  Output<sampler_row_status> row_status_;
  bool has_logprobs_;
  Output<float> logprobs_;
  Array<int32_t> drawn_;
};

}  // namespace sampler::decoding
