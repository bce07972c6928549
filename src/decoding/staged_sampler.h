// Tokens drawn through stages, by what the texts have said so far: a state with a slot for each
// text, and the call's parameters and lists by text.
#pragma once

#include <cstdint>

#include "decoding/generation.h"
#include "decoding/loop_transfer.h"
#include "decoding/memory.h"
#include "decoding/operations.h"
#include "sampler/sampler.h"

namespace sampler::decoding {

// How tokens are drawn: a call's parameters, by text where they are, and its lists, masks of rows
// apart.
sampler_params staged_params(const sampler_generation_args &args);
sampler_row_params staged_row_params(const sampler_generation_args &args);
sampler_pipeline staged_pipeline(const sampler_generation_args &args, sampler_state_t state);

// The texts of a loop, for the operations.
class TextState {
 public:
  // Has the prompts.
  TextState(const ExecutionTarget &place, Generation &generation);
  ~TextState() { sampler_state_destroy(state_); }
  TextState(const TextState &) = delete;
  TextState &operator=(const TextState &) = delete;

  sampler_state_t get() const { return state_; }

 private:
  void append(const ExecutionTarget &place, const sampler_generation_args &args);

  sampler_state_t state_ = nullptr;
};

class StagedSampler {
 public:
  // Checks what stages are asked for as sampler_sample does, and takes all memory.
  StagedSampler(const ExecutionTarget &place, Generation &generation);

  // A token for each of these texts, after which row i of the logits comes; -1 of a bad row. They
  // have entered the texts' state. Valid until the next draw().
  const int32_t *draw(const Array<Text *> &texts, const LogitRows &logits);

 private:
  // A draw from so many rows. It points to placed_ and pipeline_.
  sampler_sample_args sample_args(const LogitRows &logits, int64_t num_rows);
  size_t ask_workspace();
  void accept(int64_t num_rows);

  ExecutionTarget place_;
  const Generation &generation_;
  sampler_params params_;
  sampler_row_params row_params_;
  TextState state_;
  Array<int32_t> slots_, masks_;     // by row
  Array<uint64_t> seeds_, offsets_;  // by slot
  Array<int32_t> tokens_;
  Array<sampler_row_status> row_status_;
  DeviceBytes observations_;  // f32
  LoopTransfer transfer_;
  sampler_row_params placed_;  // the numbers by text, where a call finds them
  sampler_pipeline pipeline_;
  DeviceBytes workspace_;
};

}  // namespace sampler::decoding
