// Edits of the beams' rows: biases, allowed and banned tokens, bad words, masks, a least length,
// penalties, DRY and n-grams, by what each beam has said. Of CPU handles.
#pragma once

#include <cstdint>

#include "decoding/loops/cached_model.h"
#include "decoding/loops/generation.h"
#include "decoding/loops/memory.h"
#include "decoding/loops/operations.h"
#include "sampler/sampler.h"

namespace sampler::decoding {

// The edits among these parameters, at temperature 1 and without windows.
sampler_params edits_of(const sampler_params &params);

// What has no meaning for beams: all parameters but edits.
sampler_params without_edits(const sampler_params &params);
sampler_row_params without_edits(const sampler_row_params &params);

// Lists by text become lists by beam: each as often as a text has beams. Lists of all texts stay.
class BeamLists {
 public:
  // Their offsets ascend. `values`: a number for each token, or null.
  BeamLists(const ExecutionTarget &place, const sampler_token_lists &lists, const float *values,
            int64_t num_beams);

  sampler_token_lists view() const { return view_; }
  const float *values() const { return values_view_; }

 private:
  Array<int64_t> offsets_;
  Array<int32_t> token_ids_;
  Array<float> values_;
  sampler_token_lists view_;
  const float *values_view_;
};

class BeamEdits {
 public:
  // Beam b of text i is slot i num_beams + b of the calls, which is its sequence. Checks what is
  // asked for as sampler_filter does, and takes all memory.
  BeamEdits(const ExecutionTarget &place, Generation &generation, int64_t num_beams);

  // Writes the probabilities of the rows that follow these beams, as the edits leave them. `args`
  // has the rows and the outputs.
  void filter(const Array<Feed> &feeds, sampler_filter_args *args);

 private:
  static constexpr int kNumNumbers = 10;

  int64_t num_slots() const { return num_beams_ * generation_.num_texts(); }
  void complete(sampler_filter_args *args) const;
  void copy_histories(const Array<Feed> &feeds);
  size_t prepare();

  ExecutionTarget place_;
  Generation &generation_;
  int64_t num_beams_;
  sampler_params params_;
  sampler_row_params row_params_;
  Array<uint32_t> numbers_;           // [kNumNumbers, slots], those that are by text
  Array<int32_t> slots_, masks_;      // by row
  Array<int32_t> history_;            // slot after slot
  Array<int64_t> offsets_, lengths_;  // of the slots' histories
  Array<const int32_t *> texts_;      // of the slots
  Array<int32_t> prompt_lengths_;
  BeamLists biased_, allowed_, banned_, stop_;
  sampler_pipeline pipeline_;
  size_t workspace_bytes_;
  HostBlock workspace_;
};

}  // namespace sampler::decoding
