// Extended verification: rules other than the standard one, packed batches, trees, stages and
// reports. Section 10 of docs/contract.md.
#pragma once

#include <cstdint>

#include "contract/entropy.h"
#include "contract/host_device.h"
#include "contract/log2.h"
#include "contract/philox.h"
#include "contract/request.h"
#include "contract/row_view.h"
#include "contract/verify_chain.h"
#include "sampler/speculative.h"

namespace sampler::contract {

// Parameters of the acceptance rules, with defaults for 0.
struct AcceptanceNumbers {
  float typical_threshold, typical_scale;
  int32_t relaxed_top_k;
  float relaxed_delta;
  float threshold_single, threshold_total;
  int32_t deferred_window, deferred_top_k;
  float deferred_entropy;
  const float *synthetic_rates;  // by draft
};

// The extended part of a VerifyRequest.
struct Verification {
  // The positions as rows to sample and report, [num_sequences, num_drafts + 1].
  SampleRequest positions;
  Parameters draft_parameters;

  // SAMPLER_ACCEPT_DEFAULT of the array is the value, which is a rule.
  PerSlot<sampler_acceptance> acceptance{SAMPLER_ACCEPT_STANDARD};
  sampler_sibling_rule sibling_rule = SAMPLER_SIBLINGS_INDEPENDENT;
  AcceptanceNumbers numbers;
  bool has_rates = false;  // synthetic_rates are given for all drafts

  sampler_packing packing = SAMPLER_PACKING_DENSE;
  const int32_t *packing_offsets = nullptr;
  int64_t num_packed_drafts = 0, num_packed_positions = 0;
  int64_t draft_token_stride = 0;
  const int32_t *target_rows = nullptr, *bonus_rows = nullptr;  // null: determined by packing
  const int32_t *draft_rows = nullptr;
  bool draft_rows_by_slot = false;

  // All null: chains.
  const int32_t *parents = nullptr;
  const int32_t *first_children = nullptr, *next_siblings = nullptr;
  bool has_one_tree = false;

  // [num_sequences, num_drafts + 1] Tokens decided beforehand; negative: none. Their type is that
  // of out_token_ids.
  const void *forced_token_ids = nullptr;

  int32_t *out_positions = nullptr;
  const int64_t *kv_indices = nullptr;
  int64_t *out_kv_indices = nullptr;

  // For the decoding loops and sessions: a sequence with a bad row keeps the drafts accepted before
  // that row. out_token_ids and the reports hold these drafts alone, the emitted count their
  // number, and the row status the error. A rule that verifies a whole chain verifies the part
  // before the bad row; the sequence is bad only if its first row is.
  bool keeps_verified = false;

  SAMPLER_HD bool has_trees() const { return parents || first_children; }
  SAMPLER_HD bool excludes_siblings() const {
    return has_trees() && sibling_rule == SAMPLER_SIBLINGS_WITHOUT_REPLACEMENT;
  }
};

// Whether the call supports a rule. Rules given by slot are checked here.
SAMPLER_HD inline bool can_accept_by(sampler_acceptance rule, const Verification &extended) {
  switch (rule) {
    case SAMPLER_ACCEPT_BLOCK:
    case SAMPLER_ACCEPT_DEFERRED:
      return !extended.has_trees();
    case SAMPLER_ACCEPT_SYNTHETIC:
      return extended.has_rates;
    default:
      return rule >= SAMPLER_ACCEPT_STANDARD && rule <= SAMPLER_ACCEPT_THRESHOLD;
  }
}

// Location of one sequence's drafts and positions.
struct SequencePlace {
  int64_t first_draft;      // index in the draft token ids
  int64_t first_position;   // index in target_rows, or the row if there are none
  int64_t first_draft_row;  // if there are no draft_rows
  int32_t length;           // number of drafts, not yet clamped to num_drafts
};

// False if the sequence's offsets are invalid.
SAMPLER_HD inline bool find_sequence(const VerifyRequest &request, const Verification &extended,
                                     int64_t sequence, SequencePlace *out) {
  if (extended.packing == SAMPLER_PACKING_DENSE) {
    const int64_t num_drafts = request.num_drafts;
    *out = {sequence * extended.draft_token_stride, sequence * (num_drafts + 1),
            sequence * num_drafts,
            request.draft_counts ? request.draft_counts[sequence] : int32_t(num_drafts)};
    return true;
  }
  const int32_t *const offsets = extended.packing_offsets;
  const bool has_no_zero = extended.packing == SAMPLER_PACKING_DRAFT_ENDS;
  const int64_t begin = !has_no_zero ? offsets[sequence] : sequence ? offsets[sequence - 1] : 0;
  const int64_t end = offsets[has_no_zero ? sequence : sequence + 1];
  if (extended.packing == SAMPLER_PACKING_POSITIONS) {
    if (begin < 0 || end <= begin || end > extended.num_packed_positions) return false;
    *out = {begin + 1, begin, begin - sequence, int32_t(end - begin - 1)};
  } else {
    if (begin < 0 || end < begin || end > extended.num_packed_drafts) return false;
    *out = {begin, begin + sequence, begin, int32_t(end - begin)};
  }
  return out->length <= request.num_drafts;
}

// The index of a target's row, which may be out of range.
SAMPLER_HD inline int64_t target_row_index(const VerifyRequest &request,
                                           const Verification &extended, const SequencePlace &place,
                                           int64_t sequence, int32_t position, int32_t length) {
  const bool is_dense = extended.packing == SAMPLER_PACKING_DENSE;
  const int64_t row = place.first_position + position;
  if (extended.bonus_rows && position == length) return extended.bonus_rows[sequence];
  if (!extended.target_rows) return row;
  const int64_t first_draft = is_dense ? sequence * request.num_drafts : place.first_draft;
  return extended.target_rows[extended.bonus_rows ? first_draft + position : row];
}

// The rows of both models. False if the row index is out of range.
SAMPLER_HD inline bool find_target_row(const VerifyRequest &request, const Verification &extended,
                                       const SequencePlace &place, int64_t sequence,
                                       int32_t position, int32_t length, RowView *out) {
  const bool is_dense = extended.packing == SAMPLER_PACKING_DENSE;
  if (is_dense && !extended.target_rows && !extended.bonus_rows) {
    *out = target_view(request, sequence, position);
    return true;
  }
  const int64_t row = target_row_index(request, extended, place, sequence, position, length);
  if (row < 0 || row >= request.target.num_rows) return false;
  *out = row_view(request.target, row);
  return true;
}

SAMPLER_HD inline bool find_draft_row(const VerifyRequest &request, const Verification &extended,
                                      const SequencePlace &place, int64_t sequence, int64_t slot,
                                      int32_t draft, RowView *out) {
  int64_t row = place.first_draft_row + draft;
  if (extended.draft_rows) {
    const bool is_dense = extended.packing == SAMPLER_PACKING_DENSE;
    const int64_t first = is_dense ? sequence * request.num_drafts : place.first_draft;
    row = extended.draft_rows[first + draft];
  } else if (extended.draft_rows_by_slot) {
    row = slot * request.num_drafts + draft;
  } else if (extended.packing == SAMPLER_PACKING_DENSE) {
    *out = draft_view(request, sequence, draft);
    return true;
  }
  if (row < 0 || row >= request.draft.num_rows) return false;
  *out = row_view(request.draft, row);
  return true;
}

// ---- Trees

// Memory for a sequence's tree; all null for chains.
struct TreeMemory {
  // By position: first child and next sibling, as positions; 0: none.
  int32_t *first_children = nullptr, *next_siblings = nullptr;
  int32_t *links = nullptr;      // two per position, if the caller gives links
  int32_t *positions = nullptr;  // accepted path
  int32_t *is_tree = nullptr;    // one entry

  // Number of int32_t needed, for num_places = num_drafts + 1 positions.
  SAMPLER_HD static int64_t num_numbers(const Verification &extended, int64_t num_places) {
    return extended.has_trees() ? (extended.first_children ? 5 : 3) * num_places + 1 : 0;
  }
  SAMPLER_HD static TreeMemory of(const Verification &extended, int64_t num_places,
                                  int32_t *numbers) {
    if (!extended.has_trees() || !numbers) return {};  // null: counting only
    TreeMemory memory;
    memory.is_tree = numbers;
    memory.first_children = numbers + 1;
    memory.next_siblings = memory.first_children + num_places;
    memory.positions = memory.next_siblings + num_places;
    memory.links = memory.positions + num_places;
    return memory;
  }
};

// Copies the links to first children and next siblings. Rejects cycles and nodes with two
// predecessors.
SAMPLER_HD inline bool take_links(const Verification &extended, int64_t index, int64_t num_drafts,
                                  int32_t length, const TreeMemory &tree) {
  const int32_t *const first = extended.first_children + index * (num_drafts + 1);
  const int32_t *const next = extended.next_siblings + index * (num_drafts + 1);
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

// Builds the tree of a sequence of `length` drafts. False if the tree is malformed.
SAMPLER_HD inline bool take_parents(const VerifyRequest &request, const Verification &extended,
                                    int64_t sequence, int32_t length, const TreeMemory &tree) {
  for (int32_t position = 0; position <= length; ++position) {
    tree.first_children[position] = tree.next_siblings[position] = 0;
  }
  const int64_t index = extended.has_one_tree ? 0 : sequence;
  const int32_t *const parents = extended.parents + index * request.num_drafts;
  for (int32_t draft = length - 1; draft >= 0; --draft) {
    const int32_t parent = parents[draft];
    if (parent < -1 || parent >= draft) return false;
    tree.next_siblings[draft + 1] = tree.first_children[parent + 1];
    tree.first_children[parent + 1] = draft + 1;
  }
  return true;
}
SAMPLER_HD inline bool make_tree(const VerifyRequest &request, const Verification &extended,
                                 int64_t sequence, int32_t length, const TreeMemory &tree) {
  if (extended.parents) return take_parents(request, extended, sequence, length, tree);
  const int64_t index = extended.has_one_tree ? 0 : sequence;
  return take_links(extended, index, request.num_drafts, length, tree);
}

// ---- Rules

SAMPLER_HD inline uint32_t acceptance_word(const Chain &chain, int32_t draft) {
  return random_word32(chain.random, Purpose::kAccept, uint32_t(draft));
}
SAMPLER_HD inline double uniform_of(uint32_t word) {
  return double(word >> 3) * 0x1p-29;
}

// Random word for the token after `position`. `were_tried`: whether drafts were tried there.
SAMPLER_HD inline uint64_t last_token_word(const Chain &chain, int32_t position, bool were_tried) {
  return random_word64(chain.random, were_tried ? Purpose::kResidual : Purpose::kBonus,
                       uint32_t(position));
}

SAMPLER_HD inline float natural_log(float x) {
  return x > 0.0f ? log2_shifted(x, 0) * kLn2 : negative_infinity();
}

// p ln p, the negative of an entropy term.
SAMPLER_HD inline float entropy_term(float p) {
  return p > 0.0f ? p * natural_log(p) : 0.0f;
}

// `entropy` of the target's distribution, in nats.
SAMPLER_HD inline bool accepts_typical(const AcceptanceNumbers &numbers, float p, float entropy) {
  return p > numbers.typical_threshold ||
         natural_log(p) > natural_log(numbers.typical_scale) - entropy;
}

// `total`: p plus the probabilities of the siblings tried before.
SAMPLER_HD inline bool accepts_by_threshold(const AcceptanceNumbers &numbers, uint32_t word,
                                            float p, float total) {
  const double most = uniform_of(word) * double(numbers.threshold_total);
  return p > 0.0f && (p >= numbers.threshold_single || most < double(total));
}

// Block verification: the ratio after a draft with target probability p and draft probability q.
// `before` is the ratio of the drafts before it.
SAMPLER_HD inline double block_ratio(double before, float p, float q) {
  if (before == 0.0 || p == 0.0f) return 0.0;
  const double ratio = before * double(p) / double(q);
  return ratio < 1.0 ? ratio : 1.0;
}
// `left`: sum of the residual.
SAMPLER_HD inline bool accepts_block(uint32_t word, double ratio, double left) {
  const double whole = left + 1.0 - ratio;
  return !(whole > 0.0) || uniform_of(word) * whole < left;
}

}  // namespace sampler::contract
