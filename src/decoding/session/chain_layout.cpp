#include "decoding/session/chain_layout.h"

#include <algorithm>

namespace sampler::decoding {

ChainLayout::ChainLayout(const SessionConfig &config, SequenceTable *table,
                         const Drafting *drafting, Transfer *transfer, SessionArrays *arrays)
    : config_(config), table_(*table), drafting_(*drafting), transfer_(*transfer) {
  const int64_t count = config.num_sequences(), num_places = max_drafts() + 1;
  const bool has_masks = config.pipeline.token_bitmasks != nullptr;
  chains_ = arrays->take<Chain>(count);
  slots_ = arrays->in<int32_t>(count);
  draft_counts_ = arrays->in<int32_t>(config.num_tree_places() > 0 ? count : 0);
  tree_parents_ = arrays->in<int32_t>(count, config.num_tree_places());
  packing_offsets_ = arrays->in<int32_t>(count + int64_t(std::size(kDraftGroups)));
  draft_ids_ = arrays->in<int32_t>(count, num_places);
  target_rows_ = arrays->in<int32_t>(count, num_places);
  masks_ = arrays->in<int32_t>(has_masks ? count : 0, num_places);
  guidance_rows_ = arrays->in<int32_t>(count, num_places);
  forced_ = arrays->in<int32_t>(count, num_places);
  forced_by_slot_ = arrays->in<int64_t>(count);
}

DraftGroup ChainLayout::group_of(int32_t sequence) const {
  const SessionSequence &own = table_[sequence];
  if (own.block.is_used()) return DraftGroup::kBlocks;
  const bool is_drawn =
      own.num_drafts == 0 && table_.acceptances()[sequence] == SAMPLER_ACCEPT_SAMPLE_MATCH;
  return is_drawn ? DraftGroup::kNone : own.group;
}

// Appends a span of the target to its group, as chain `group.count`. Returns its number of drafts.
int64_t ChainLayout::add_chain(const sampler_session_advance_args &args, int64_t index,
                               int64_t first_row, const Group &group) {
  const int64_t chain = group.first + group.count;
  const int32_t sequence = args.spans[index].sequence;
  const SessionSequence &own = table_[sequence];
  int64_t first_draft = group.num_drafts;  // within the group; each tree has max_drafts places
  if (group_of(sequence) == DraftGroup::kTrees) {
    first_draft = group.count * max_drafts();
    draft_counts_[chain] = int32_t(own.num_drafts);
    std::copy_n(drafting_.parents_of(sequence), own.num_drafts,
                tree_parents_ + chain * max_drafts());
  }
  slots_[chain] = sequence;
  table_.offsets()[sequence] = uint64_t(own.num_new());
  const int64_t first_place = group.first_place + first_draft;
  std::copy_n(table_.drafts(sequence), own.num_drafts, draft_ids_ + first_place);
  for (int64_t j = 0; j <= own.num_drafts; ++j) {
    target_rows_[first_place + group.count + j] = int32_t(first_row + j);
  }
  for (int64_t j = 0; args.token_bitmask_indices && j < group.num_positions; ++j) {
    masks_[group.first_place + group.num_places() + j] =
        j <= own.num_drafts ? args.token_bitmask_indices[first_row + j] : -1;
  }
  for (int64_t j = 0; args.guidance_logits && j < group.num_positions; ++j) {
    guidance_rows_[group.first_place + group.num_places() + j] =
        j <= own.num_drafts ? guidance_row_of(args, first_row + j) : -1;
  }
  for (int64_t j = 0; args.forced_token_ids && j < group.num_positions; ++j) {
    forced_[group.first_place + group.num_places() + j] =
        j <= own.num_drafts ? args.forced_token_ids[first_row + j] : -1;
  }
  if (args.forced_token_ids) forced_by_slot_[sequence] = args.forced_token_ids[first_row];
  chains_[chain] = {index, sequence};
  return own.num_drafts;
}

void ChainLayout::find(const sampler_session_advance_args &args) {
  int64_t num_chains = 0, num_offsets = 0, num_places = 0;
  if (args.forced_token_ids) std::fill_n(forced_by_slot_, config_.num_sequences(), -1);
  for (const DraftGroup kind : kDraftGroups) {
    Group &group = groups_[int(kind)];
    const int64_t num_positions = kind == DraftGroup::kNone ? 1 : max_drafts() + 1;
    group = {num_chains, num_offsets, num_places, num_positions, 0, 0};
    num_rows_ = 0;
    for (int64_t i = 0; i < args.num_spans; ++i) {
      const sampler_span &span = args.spans[i];
      const int64_t first_row = num_rows_;
      num_rows_ += span.num_logits;
      table_[span.sequence].first_row = first_row;
      if (span.num_logits == 0 || group_of(span.sequence) != kind) continue;
      packing_offsets_[num_offsets++] = int32_t(group.num_drafts);
      group.num_drafts += add_chain(args, i, first_row, group);
      ++group.count;
    }
    packing_offsets_[num_offsets++] = int32_t(group.num_drafts);
    num_chains += group.count;
    num_places += group.num_places();
  }
}

// Drafts are packed.
sampler_acceptance ChainLayout::rule_of(const Group &group) const {
  const auto rule_at = [&](int64_t i) {
    return table_.acceptances()[chains_[group.first + i].sequence];
  };
  for (int64_t i = 1; i < group.count; ++i) {
    if (rule_at(i) != rule_at(0)) return SAMPLER_ACCEPT_DEFAULT;
  }
  return rule_at(0);
}

void ChainLayout::place_chains(const Group &group, sampler_draft_layout *layout,
                               sampler_verify_args *args) {
  const int64_t first = group.first_place;
  layout->packing = SAMPLER_PACKING_DRAFTS;
  layout->num_packed_drafts = group.num_drafts;
  layout->num_packed_positions = group.num_drafts + group.count;
  layout->packing_offsets = transfer_.in(packing_offsets_ + group.first_offset, group.count + 1);
  args->draft_token_ids = transfer_.in(draft_ids_ + first, group.num_drafts);
  layout->target_row_indices = transfer_.in(target_rows_ + first, layout->num_packed_positions);
}

// Each tree has max_drafts places.
void ChainLayout::place_trees(const Group &group, sampler_draft_layout *layout,
                              sampler_verify_args *args) {
  const int64_t first = group.first_place, num_places = group.count * max_drafts();
  args->draft_counts = transfer_.in(draft_counts_ + group.first, group.count);
  layout->parents = transfer_.in(tree_parents_ + group.first * max_drafts(), num_places);
  args->draft_token_ids = transfer_.in(draft_ids_ + first, num_places);
  layout->target_row_indices = transfer_.in(target_rows_ + first, group.num_places());
}

}  // namespace sampler::decoding
