// The blocks of an advance: draws of candidates for their positions, and which of these stand.
#pragma once

#include <cstdint>

#include "decoding/session/chain_layout.h"
#include "decoding/session/sequence_table.h"
#include "decoding/session/session_requests.h"
#include "decoding/session/transfer.h"

namespace sampler::decoding {

class BlockBatch {
 public:
  // The likeliest tokens of a row, by which MARGIN is known. At most the columns.
  static constexpr int64_t kNumTop = 2;

  // All arguments must outlive this.
  BlockBatch(const SessionConfig &config, SequenceTable *table, const ChainLayout *layout,
             SessionRequests *requests, Transfer *transfer, SessionArrays *arrays);

  // Draws candidates for the positions of a group's blocks: a call for each position of a block,
  // since rows that share a slot share a random word.
  sampler_status draw(abi::Entry &entry, const sampler_session_advance_args &args,
                      const ChainGroup &group);

  // What a step makes of a block.
  struct Outcome {
    bool is_complete = false;
    sampler_row_status row_status = SAMPLER_ROW_OK;  // else no candidate may stand
  };
  // Writes the candidates that stand over the masks of a block, after download.
  Outcome unmask(abi::Entry &entry, const ChainGroup &group, int64_t index);

 private:
  // Draws, position after position. Those of a position are contiguous.
  struct Drawn {
    int32_t *row_indices, *slots, *masks, *guidance_rows;
    int32_t *candidates;
    sampler_row_status *row_status;
    float *logprobs, *entropies, *top_logprobs;
  };
  // Where the calls of a step have these arrays. Null: not wanted.
  struct Placed {
    const int32_t *row_indices, *slots, *masks, *guidance_rows;
    const uint64_t *offsets;
    const uint32_t *streams;
    int32_t *candidates;
    sampler_row_status *row_status;
    float *logprobs, *entropies, *top_logprobs;
  };

  // What a confidence is made of: `count` numbers of each draw.
  struct Scores {
    const float *values;
    int64_t count;
  };

  int64_t max_positions() const { return config_.max_drafts() + 1; }
  void find_sequences(const ChainGroup &group);
  // Returns the number of draws.
  int64_t find_draws(const sampler_session_advance_args &args, const ChainGroup &group);
  Placed place(const sampler_session_advance_args &args, const ChainGroup &group,
               int64_t num_draws);
  sampler_status draw_position(abi::Entry &entry, const sampler_session_advance_args &args,
                               const Placed &placed, int64_t position);
  Scores scores_of(sampler_confidence confidence) const;
  sampler_row_status status_of_masked(const SessionSequence &own, const int32_t *tokens) const;

  const SessionConfig &config_;
  SequenceTable &table_;
  const ChainLayout &layout_;
  SessionRequests &requests_;
  Transfer &transfer_;
  Drawn drawn_;        // at most [chains, max_positions]; two top_logprobs of each
  int64_t *firsts_;    // [max_positions + 1] the first draw of each position
  int32_t *draws_;     // [chains, max_positions] the draw of each position; -1: none
  uint64_t *offsets_;  // [max_positions, sequences]
  uint32_t *streams_;  // [sequences]
  // One block's, by position.
  int32_t *candidates_, *slots_;
  sampler_row_status *row_status_;
  float *scores_;  // two of each
};

}  // namespace sampler::decoding
