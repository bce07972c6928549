// Edits of the beams' rows by each beam's history: biases, allowed and banned tokens, bad words,
// masks, minimum lengths, penalties, DRY and n-grams.
#pragma once

#include <cinttypes>
#include <cstdint>

#include "decoding/loops/cached_model.h"
#include "decoding/loops/device_memory.h"
#include "decoding/loops/generation.h"
#include "decoding/loops/memory.h"
#include "decoding/loops/operations.h"
#include "sampler/sampler.h"

namespace sampler::decoding {

// The edits of `params`, at temperature 1 and without windows.
sampler_params edits_of(const sampler_params &params);

// `params` with the edits reset. What remains has no meaning for beams.
sampler_params without_edits(const sampler_params &params);
sampler_row_params without_edits(const sampler_row_params &params);

// The first of the lists, whose offsets are in host memory, that is none; -1: all are lists.
int64_t find_invalid_list(const sampler_token_lists &lists, const int64_t *offsets);
// What is wrong with it, for its name, its number, its offset, the next one and num_token_ids.
constexpr char kInvalidOffsets[] =
    "pipeline->%s.offsets[%" PRId64 "] is %" PRId64 " and the next one %" PRId64
    "; they must ascend, and lie in [0, num_token_ids], %" PRId64;

// Expands lists by text to lists by beam, num_beams copies each. A list of all texts stays one.
class BeamLists {
 public:
  // `values`: one per token, or null. `name`: the lists' in the pipeline.
  BeamLists(const ExecutionTarget &place, const char *name, const sampler_token_lists &lists,
            const float *values, int64_t num_beams);

  sampler_token_lists view() const { return view_; }
  const float *values() const { return values_view_; }

 private:
  // The caller's.
  HostView<int64_t> given_offsets_;
  HostView<int32_t> given_ids_;
  HostView<float> given_values_;

  Input<int64_t> offsets_;
  Input<int32_t> token_ids_;
  Input<float> values_;
  sampler_token_lists view_;
  const float *values_view_;
};

class BeamEdits {
 public:
  // Beam b of text i is slot i * num_beams + b of the calls, and that sequence. Checks the
  // parameters as sampler_filter does, and allocates all memory.
  BeamEdits(const ExecutionTarget &place, Generation &generation, int64_t num_beams);

  // Writes the probabilities of the beams' next rows, after the edits. `args` has the rows and the
  // outputs.
  void filter(const Array<Feed> &feeds, sampler_filter_args *args);

 private:
  int64_t num_slots() const { return num_beams_ * generation_.num_texts(); }
  void complete(sampler_filter_args *args);
  void copy_histories(const Array<Feed> &feeds);
  size_t prepare();

  ExecutionTarget place_;
  Generation &generation_;
  int64_t num_beams_;
  sampler_params params_;
  sampler_row_params row_params_;
  Input<uint32_t> numbers_;       // [arrays given, slots]
  Input<int32_t> slots_, masks_;  // by row
  Input<int32_t> history_;        // slot after slot
  Input<int64_t> offsets_;        // of the slots' histories
  Array<int64_t> lengths_;
  Array<const int32_t *> texts_;  // of the slots
  Input<int32_t> prompt_lengths_;
  BeamLists biased_, allowed_, banned_, stop_, unpenalized_;
  sampler_pipeline pipeline_;
  size_t workspace_bytes_;
  DeviceBytes workspace_;
};

}  // namespace sampler::decoding
