// Drafts verified by any rule of sampler_verify and through stages, by what the texts have said so
// far.
#pragma once

#include <cstdint>

#include "decoding/drafter.h"
#include "decoding/generation.h"
#include "decoding/memory.h"
#include "decoding/staged_sampler.h"
#include "sampler/sampler.h"

namespace sampler::decoding {

class StagedVerifier {
 public:
  // Of at most max_drafts drafts a text. Checks what is asked for as sampler_verify does, and takes
  // all memory. `drafter` makes the drafts.
  StagedVerifier(const ExecutionTarget &place, Generation &generation,
                 const sampler_speculative_args &args, int64_t max_drafts, const Drafter &drafter);

  // Verifies a round of these chains, whose target, drafts and outputs `args` has. A bad row ends
  // its chain where it is: contract::Verification::keeps_verified.
  void verify(const Array<Chain> &chains, sampler_verify_args *args);

  // What of the chains has become text enters the texts' state.
  void accept(const Array<Chain> &chains);

 private:
  // Whether tokens move stages.
  bool is_adaptive() const {
    return params_.adaptive_kind != SAMPLER_ADAPTIVE_NONE || row_params_.adaptive_kind ||
           params_.top_p_decay != 0 || row_params_.top_p_decay;
  }
  void complete(int64_t num_chains, sampler_verify_args *args);
  size_t ask_workspace(const Drafter &drafter);
  void check();

  ExecutionTarget place_;
  const Generation &generation_;
  const sampler_speculative_args &rules_;
  int64_t max_drafts_;
  sampler_params params_, draft_params_;
  sampler_row_params row_params_, draft_row_params_;
  TextState state_;
  Array<int32_t> slots_;             // by chain
  Array<int64_t> lengths_;           // of their texts, before the round
  Array<uint64_t> seeds_, offsets_;  // by slot
  Array<int32_t> accepted_;          // [chains, positions]
  DeviceBytes observations_;         // the same, f32
  int64_t num_positions_ = 1;
  LoopTransfer transfer_;
  sampler_row_params placed_, placed_draft_;  // numbers by text, where a call finds them
  sampler_pipeline pipeline_;
  DeviceBytes workspace_;
};

}  // namespace sampler::decoding
