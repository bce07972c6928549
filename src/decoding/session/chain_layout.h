// The layout of the chains that an advance verifies: those of one call are contiguous.
#pragma once

#include <cstdint>
#include <iterator>

#include "decoding/session/drafting.h"
#include "decoding/session/sequence_table.h"
#include "decoding/session/transfer.h"
#include "sampler/speculative.h"

namespace sampler::decoding {

// The chains that one call draws or verifies, and their drafts; both are contiguous. Offsets, one
// more than chains, are apart from other groups'. Arrays by position have num_positions places per
// chain.
struct ChainGroup {
  int64_t first, first_offset, first_place, num_positions, count, num_drafts;
  int64_t num_places() const { return count * num_positions; }
};

class ChainLayout {
 public:
  using Group = ChainGroup;

  // A sequence that gets tokens, and the index of its span.
  struct Chain {
    int64_t span;
    int32_t sequence;
  };

  ChainLayout(const SessionConfig &config, SequenceTable *table, const Drafting *drafting,
              Transfer *transfer, SessionArrays *arrays);

  // Groups the spans with logits, and sets the draw offsets of their sequences.
  void find(const sampler_session_advance_args &args);

  const Group &group(DraftGroup kind) const { return groups_[int(kind)]; }
  const Chain &chain(int64_t chain) const { return chains_[chain]; }
  int64_t num_rows() const { return num_rows_; }  // of the target

  // The rule of a group's sequences; SAMPLER_ACCEPT_DEFAULT: they differ.
  sampler_acceptance rule_of(const Group &group) const;

  // Place a group's arrays for a call.
  const int32_t *place_slots(const Group &group) {
    return transfer_.in(slots_ + group.first, group.count);
  }
  // The row of each chain's first position; only for a group without drafts.
  const int32_t *place_rows(const Group &group) {
    return transfer_.in(target_rows_ + group.first_place, group.count);
  }
  const int32_t *place_masks(const Group &group) {
    return transfer_.in(masks_ + group.first_place, group.num_places());
  }
  const int32_t *place_guidance(const Group &group) {
    return transfer_.in(guidance_rows_ + group.first_place, group.num_places());
  }
  const int32_t *place_forced(const Group &group) {
    return transfer_.in(forced_ + group.first_place, group.num_places());
  }
  // By sequence; those of the group without drafts.
  const int64_t *place_forced_by_slot() {
    return transfer_.parameter(forced_by_slot_, config_.num_sequences());
  }
  void place_chains(const Group &group, sampler_draft_layout *layout, sampler_verify_args *args);
  void place_trees(const Group &group, sampler_draft_layout *layout, sampler_verify_args *args);

 private:
  int64_t max_drafts() const { return config_.max_drafts(); }
  DraftGroup group_of(int32_t sequence) const;
  int64_t add_chain(const sampler_session_advance_args &args, int64_t span, int64_t first_row,
                    const Group &group);

  const SessionConfig &config_;
  SequenceTable &table_;
  const Drafting &drafting_;
  Transfer &transfer_;
  Group groups_[std::size(kDraftGroups)] = {};
  int64_t num_rows_ = 0;
  // By chain, at most [chains, max_drafts + 1]; drafts are packed.
  Chain *chains_;
  int32_t *slots_;
  int32_t *draft_counts_, *tree_parents_;  // trees only
  int32_t *packing_offsets_, *draft_ids_, *target_rows_, *masks_, *guidance_rows_, *forced_;
  int64_t *forced_by_slot_;
};

}  // namespace sampler::decoding
