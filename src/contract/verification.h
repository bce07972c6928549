// Verification beyond dense chains by the standard rule: other rules, packed batches, trees, stages
// and reports. Section 10 of docs/contract.md.
#pragma once

#include <cstdint>

#include "contract/chain.h"
#include "contract/entropy.h"
#include "contract/host_device.h"
#include "contract/log2.h"
#include "contract/philox.h"
#include "contract/request.h"
#include "contract/row_view.h"
#include "sampler/speculative.h"

namespace sampler::contract {

// The numbers of the rules, with their defaults in the place of 0.
struct AcceptanceNumbers {
  float typical_threshold, typical_scale;
  int32_t relaxed_top_k;
  float relaxed_delta;
  float threshold_single, threshold_total;
  int32_t deferred_window, deferred_top_k;
  float deferred_entropy;
  const float *synthetic_rates;  // by draft
};

// What a ChainRequest has beyond its own members.
struct Verification {
  // The positions as rows that are sampled and reported, [num_sequences, num_drafts + 1].
  SampleRequest positions;
  Parameters draft_parameters;

  // SAMPLER_ACCEPT_DEFAULT of the array is the value, which is a rule.
  PerSlot<sampler_acceptance> acceptance{SAMPLER_ACCEPT_STANDARD};
  sampler_sibling_rule sibling_rule = SAMPLER_SIBLINGS_INDEPENDENT;
  AcceptanceNumbers numbers;
  bool has_rates = false;  // for all drafts

  sampler_packing packing = SAMPLER_PACKING_DENSE;
  const int32_t *packing_offsets = nullptr;
  int64_t num_packed_drafts = 0, num_packed_positions = 0;
  int64_t draft_token_stride = 0;
  const int32_t *target_rows = nullptr, *bonus_rows = nullptr;  // null: as packing says
  const int32_t *draft_rows = nullptr;
  bool draft_rows_by_slot = false;

  // All null: chains.
  const int32_t *parents = nullptr;
  const int32_t *first_children = nullptr, *next_siblings = nullptr;
  bool has_one_tree = false;

  int32_t *out_positions = nullptr;
  const int64_t *kv_indices = nullptr;
  int64_t *out_kv_indices = nullptr;

  // Of the decoding loops and sessions. A sequence that meets a bad row keeps the drafts that were
  // accepted before: out_token_ids and the reports have them, then none, the emitted count tells
  // how many, and the row's status why. A rule that judges a chain as a whole judges the part of it
  // that ends before the row; the sequence is bad only where that is the first one.
  bool keeps_verified = false;

  SAMPLER_HD bool has_trees() const { return parents || first_children; }
  SAMPLER_HD bool excludes_siblings() const {
    return has_trees() && sibling_rule == SAMPLER_SIBLINGS_WITHOUT_REPLACEMENT;
  }
};

// Whether a rule can be followed: where it is given by slot it may not.
SAMPLER_HD inline bool can_accept_by(sampler_acceptance rule, const Verification &more) {
  switch (rule) {
    case SAMPLER_ACCEPT_BLOCK:
    case SAMPLER_ACCEPT_DEFERRED:
      return !more.has_trees();
    case SAMPLER_ACCEPT_SYNTHETIC:
      return more.has_rates;
    default:
      return rule >= SAMPLER_ACCEPT_STANDARD && rule <= SAMPLER_ACCEPT_THRESHOLD;
  }
}

// Where the drafts and positions of one sequence are.
struct SequencePlace {
  int64_t first_draft;      // its entry of the draft token ids
  int64_t first_position;   // of target_rows, and the row where there are none
  int64_t first_draft_row;  // where there are no draft_rows
  int32_t length;           // drafts, not yet clamped to what a sequence may have
};

// False: the sequence's offsets are none.
SAMPLER_HD inline bool find_sequence(const ChainRequest &request, const Verification &more,
                                     int64_t sequence, SequencePlace *out) {
  if (more.packing == SAMPLER_PACKING_DENSE) {
    const int64_t num_drafts = request.num_drafts;
    *out = {sequence * more.draft_token_stride, sequence * (num_drafts + 1), sequence * num_drafts,
            request.draft_counts ? request.draft_counts[sequence] : int32_t(num_drafts)};
    return true;
  }
  const int32_t *const offsets = more.packing_offsets;
  const bool has_no_zero = more.packing == SAMPLER_PACKING_DRAFT_ENDS;
  const int64_t begin = !has_no_zero ? offsets[sequence] : sequence ? offsets[sequence - 1] : 0;
  const int64_t end = offsets[has_no_zero ? sequence : sequence + 1];
  if (more.packing == SAMPLER_PACKING_POSITIONS) {
    if (begin < 0 || end <= begin || end > more.num_packed_positions) return false;
    *out = {begin + 1, begin, begin - sequence, int32_t(end - begin - 1)};
  } else {
    if (begin < 0 || end < begin || end > more.num_packed_drafts) return false;
    *out = {begin, begin + sequence, begin, int32_t(end - begin)};
  }
  return out->length <= request.num_drafts;
}

// The rows of both models. False: there is no such row.
SAMPLER_HD inline bool find_target_row(const ChainRequest &request, const Verification &more,
                                       const SequencePlace &place, int64_t sequence,
                                       int32_t position, int32_t length, RowView *out) {
  const bool is_dense = more.packing == SAMPLER_PACKING_DENSE;
  if (is_dense && !more.target_rows && !more.bonus_rows) {
    *out = target_view(request, sequence, position);
    return true;
  }
  int64_t row = place.first_position + position;
  if (more.bonus_rows && position == length) {
    row = more.bonus_rows[sequence];
  } else if (more.target_rows) {
    const int64_t first_draft = is_dense ? sequence * request.num_drafts : place.first_draft;
    row = more.target_rows[more.bonus_rows ? first_draft + position : row];
  }
  if (row < 0 || row >= request.target.num_rows) return false;
  *out = row_view(request.target, row);
  return true;
}

SAMPLER_HD inline bool find_draft_row(const ChainRequest &request, const Verification &more,
                                      const SequencePlace &place, int64_t sequence, int64_t slot,
                                      int32_t draft, RowView *out) {
  int64_t row = place.first_draft_row + draft;
  if (more.draft_rows) {
    const bool is_dense = more.packing == SAMPLER_PACKING_DENSE;
    const int64_t first = is_dense ? sequence * request.num_drafts : place.first_draft;
    row = more.draft_rows[first + draft];
  } else if (more.draft_rows_by_slot) {
    row = slot * request.num_drafts + draft;
  } else if (more.packing == SAMPLER_PACKING_DENSE) {
    *out = draft_view(request, sequence, draft);
    return true;
  }
  if (row < 0 || row >= request.draft.num_rows) return false;
  *out = row_view(request.draft, row);
  return true;
}

// ---- Trees

// A sequence's tree, and what is noted in it. Where there are chains all of it is null.
struct TreeMemory {
  // By position: its first child and its next sibling, as positions; 0: none.
  int32_t *first_children = nullptr, *next_siblings = nullptr;
  int32_t *links = nullptr;      // two for each position, where the caller has such tables
  int32_t *positions = nullptr;  // those walked through
  int32_t *is_tree = nullptr;    // one number

  // How many numbers it takes, for request.num_drafts + 1 positions.
  SAMPLER_HD static int64_t num_numbers(const Verification &more, int64_t num_places) {
    return more.has_trees() ? (more.first_children ? 5 : 3) * num_places + 1 : 0;
  }
  SAMPLER_HD static TreeMemory of(const Verification &more, int64_t num_places, int32_t *numbers) {
    if (!more.has_trees() || !numbers) return {};  // null: they are being counted
    TreeMemory memory;
    memory.is_tree = numbers;
    memory.first_children = numbers + 1;
    memory.next_siblings = memory.first_children + num_places;
    memory.positions = memory.next_siblings + num_places;
    memory.links = memory.positions + num_places;
    return memory;
  }
};

// Links of first children and next siblings: each position follows at most one other. What begins
// no way that ends goes in a circle.
SAMPLER_HD inline bool take_links(const Verification &more, int64_t index, int64_t num_drafts,
                                  int32_t length, const TreeMemory &tree) {
  const int32_t *const first = more.first_children + index * (num_drafts + 1);
  const int32_t *const next = more.next_siblings + index * (num_drafts + 1);
  int32_t *const before = tree.links, *const num_after = tree.links + length + 1;
  for (int32_t i = 0; i <= length; ++i) before[i] = -1, num_after[i] = 0;
  for (int32_t i = 0; i <= length; ++i) {
    const int32_t links[2] = {first[i], next[i]};
    for (const int32_t link : links) {
      if (link < -1 || link > length) return false;
      if (link <= 0) continue;
      if (before[link] >= 0) return false;
      before[link] = i;
      ++num_after[i];
    }
    tree.first_children[i] = first[i] > 0 ? first[i] : 0;
    tree.next_siblings[i] = next[i] > 0 ? next[i] : 0;
  }
  int32_t num_ended = 0;
  for (int32_t i = 0; i <= length; ++i) {
    for (int32_t at = i; at >= 0 && num_after[at] == 0; at = before[at]) {
      num_after[at] = -1;
      ++num_ended;
      if (before[at] >= 0) --num_after[before[at]];
    }
  }
  return num_ended == length + 1 && tree.next_siblings[0] == 0;
}

// Makes the tree of a sequence of `length` drafts, of a call that has trees. False: it is none.
SAMPLER_HD inline bool make_tree(const ChainRequest &request, const Verification &more,
                                 int64_t sequence, int32_t length, const TreeMemory &tree) {
  const int64_t index = more.has_one_tree ? 0 : sequence;
  if (!more.parents) return take_links(more, index, request.num_drafts, length, tree);
  for (int32_t position = 0; position <= length; ++position) {
    tree.first_children[position] = tree.next_siblings[position] = 0;
  }
  const int32_t *const parents = more.parents + index * request.num_drafts;
  for (int32_t draft = length - 1; draft >= 0; --draft) {
    const int32_t parent = parents[draft];
    if (parent < -1 || parent >= draft) return false;
    tree.next_siblings[draft + 1] = tree.first_children[parent + 1];
    tree.first_children[parent + 1] = draft + 1;
  }
  return true;
}

// ---- Rules

SAMPLER_HD inline uint32_t acceptance_word(const Chain &chain, int32_t draft) {
  return random_word32(chain.random, Purpose::kAccept, uint32_t(draft));
}
SAMPLER_HD inline double uniform_of(uint32_t word) {
  return double(word >> 3) * 0x1p-29;
}

// What a token is drawn with that follows `position`, at which drafts were tried or not.
SAMPLER_HD inline uint64_t last_token_word(const Chain &chain, int32_t position, bool were_tried) {
  return random_word64(chain.random, were_tried ? Purpose::kResidual : Purpose::kBonus,
                       uint32_t(position));
}

SAMPLER_HD inline float natural_log(float x) {
  return x > 0.0f ? log2_shifted(x, 0) * kLn2 : negative_infinity();
}

// What a token takes off the entropy of some tokens.
SAMPLER_HD inline float entropy_term(float p) {
  return p > 0.0f ? p * natural_log(p) : 0.0f;
}

// `entropy` in nats, of the target's distribution.
SAMPLER_HD inline bool accepts_typical(const AcceptanceNumbers &numbers, float p, float entropy) {
  return p > numbers.typical_threshold ||
         natural_log(p) > natural_log(numbers.typical_scale) - entropy;
}

// `total`: of p and the siblings tried before.
SAMPLER_HD inline bool accepts_by_threshold(const AcceptanceNumbers &numbers, uint32_t word,
                                            float p, float total) {
  const double most = uniform_of(word) * double(numbers.threshold_total);
  return p > 0.0f && (p >= numbers.threshold_single || most < double(total));
}

// Block verification. The drafts up to one are kept with these probabilities: of what was, and of
// this draft.
SAMPLER_HD inline double block_ratio(double before, float p, float q) {
  if (before == 0.0 || p == 0.0f) return 0.0;
  const double ratio = before * double(p) / double(q);
  return ratio < 1.0 ? ratio : 1.0;
}
// `left`: the sum of what they leave.
SAMPLER_HD inline bool accepts_block(uint32_t word, double ratio, double left) {
  const double whole = left + 1.0 - ratio;
  return !(whole > 0.0) || uniform_of(word) * whole < left;
}

}  // namespace sampler::contract
