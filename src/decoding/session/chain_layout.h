// What an advance verifies, as calls take it: chains by sequence, those of one call together.
#pragma once

#include <cstdint>
#include <iterator>

#include "decoding/session/drafting.h"
#include "decoding/session/sequence_table.h"
#include "decoding/session/transfer.h"
#include "sampler/speculative.h"

namespace sampler::decoding {

// Chains that one call draws or verifies, which stand together, and all their drafts. The offsets
// of chains, one more, stand with those of other groups. What goes along with positions stands in
// places, so many a chain.
struct ChainGroup {
  int64_t first, first_offset, first_place, num_positions, count, num_drafts;
  int64_t num_places() const { return count * num_positions; }
};

class ChainLayout {
 public:
  using Group = ChainGroup;

  // A sequence that gets tokens, and its span's place among the spans.
  struct Chain {
    int64_t span;
    int32_t sequence;
  };

  ChainLayout(const SessionConfig &config, SequenceTable *table, const Drafting *drafting,
              Transfer *transfer, SessionArrays *arrays);

  // The spans with logits, group after group. Draws get the offsets of their places.
  void find(const sampler_session_advance_args &args);

  const Group &group(DraftGroup kind) const { return groups_[int(kind)]; }
  const Chain &chain(int64_t chain) const { return chains_[chain]; }
  int64_t num_rows() const { return num_rows_; }  // of the target

  // Where calls find what is a group's.
  const int32_t *place_slots(const Group &group) {
    return transfer_.in(slots_ + group.first, group.count);
  }
  // The row of each chain's first position, in a group without drafts.
  const int32_t *place_rows(const Group &group) {
    return transfer_.in(target_rows_ + group.first_place, group.count);
  }
  const int32_t *place_masks(const Group &group) {
    return transfer_.in(masks_ + group.first_place, group.num_places());
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
  // By chain, [chains, max_drafts + 1] at most; the drafts of chains are packed.
  Chain *chains_;
  int32_t *slots_;
  int32_t *draft_counts_, *tree_parents_;  // of trees
  int32_t *packing_offsets_, *draft_ids_, *target_rows_, *masks_;
};

}  // namespace sampler::decoding
