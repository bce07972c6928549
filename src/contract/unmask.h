// Unmasking: which candidates of a block stand. Section 18 of docs/contract.md.
#pragma once

#include <cstdint>

#include "contract/elements.h"
#include "contract/host_device.h"
#include "contract/log2.h"
#include "contract/philox.h"
#include "contract/rank.h"
#include "contract/request.h"
#include "contract/weight.h"
#include "sampler/unmask.h"

namespace sampler::contract {

constexpr int64_t kMaxBlocks = int64_t(1) << 16;

struct UnmaskRequest {
  int64_t num_rows = 0;
  const int64_t *block_offsets = nullptr;  // null: blocks of block_rows rows
  int64_t block_rows = 0;
  int64_t num_blocks = 0;

  sampler_confidence confidence = SAMPLER_CONFIDENCE_PROBABILITY;
  sampler_id_type token_id_type = SAMPLER_ID_I32;
  const void *candidate_token_ids = nullptr;
  const uint32_t *candidate_status = nullptr;  // null: none is bad
  const float *scores = nullptr;
  int64_t score_stride = 0;
  void *token_ids = nullptr;  // null: all rows are masked
  int64_t mask_token_id = 0;

  Slots slots;
  Randomness random;
  float order_temperature = 0;
  float threshold = 0;
  float entropy_bound = 0;
  float edit_threshold = 0;
  PerSlot<int32_t> num_committed{0};  // by block, as the next one
  PerSlot<int32_t> num_steps_left{0};

  uint8_t *out_changes = nullptr;
  float *out_confidences = nullptr;
  int32_t *out_committed_counts = nullptr;
  int32_t *out_edited_counts = nullptr;
  int32_t *out_masked_counts = nullptr;
  uint32_t *out_block_status = nullptr;

  SAMPLER_HD bool orders_by_chance() const { return !is_greedy(order_temperature); }
  SAMPLER_HD bool is_random() const {
    return confidence == SAMPLER_CONFIDENCE_RANDOM || orders_by_chance();
  }
};

SAMPLER_HD inline bool writes_anything(const UnmaskRequest &request) {
  return request.num_blocks > 0;
}

// A block of rows.
struct Block {
  int64_t begin;
  int64_t num_rows;
};

SAMPLER_HD inline Block block_of(const UnmaskRequest &request, int64_t block) {
  if (!request.block_offsets) return {block * request.block_rows, request.block_rows};
  const int64_t begin = request.block_offsets[block];
  return {begin, request.block_offsets[block + 1] - begin};
}

// e of a log-probability: the probability.
SAMPLER_HD inline float probability_of(float logprob) {
  const float t = fma32(logprob, kLog2E, -1.0f);
  return exp2_plus_1(t < -1.0f ? t : -1.0f);
}

// Entropies are summed as integers, in units of 2^-28, so that their order is of no matter.
constexpr float kLargestEntropy = 16.0f;
SAMPLER_HD inline uint64_t entropy_units(float entropy) {
  const float bounded = entropy < kLargestEntropy ? entropy : kLargestEntropy;
  return bounded > 0 ? uint64_t(double(bounded) * 0x1p28) : 0;
}
// The most that the entropies before a committed row may sum to.
SAMPLER_HD inline uint64_t entropy_budget(float bound) {
  constexpr float kLargest = 0x1p35f;  // above the sum of any block
  return uint64_t(double(bound < kLargest ? bound : kLargest) * 0x1p28);
}

// A row of a block, seen for itself.
struct UnmaskRow {
  bool is_masked;
  bool may_stand;    // its candidate
  float confidence;  // NaN: none
  float score;       // what orders it
};

class UnmaskRows {
 public:
  SAMPLER_HD UnmaskRows(const UnmaskRequest &request, const Block &block)
      : request_(request),
        block_(block),
        scale_(request.orders_by_chance() ? logit_scale(request.order_temperature) : 0.0f) {
    uint32_t last = uint32_t(block.num_rows > 0 ? block.num_rows - 1 : 0);
    for (; last > 0; last >>= 1) ++index_bits_;
  }

  SAMPLER_HD int64_t size() const { return block_.num_rows; }

  SAMPLER_HD int64_t candidate(int64_t i) const {
    return load_id(request_.candidate_token_ids, request_.token_id_type, block_.begin + i);
  }
  SAMPLER_HD int64_t token(int64_t i) const {
    return load_id(request_.token_ids, request_.token_id_type, block_.begin + i);
  }

  SAMPLER_HD UnmaskRow operator[](int64_t i) const {
    const int64_t row = block_.begin + i;
    UnmaskRow result;
    result.is_masked = !request_.token_ids || token(i) == request_.mask_token_id;
    const int64_t slot = request_.is_random() ? request_.slots[row] : 0;
    const bool has_slot = !request_.is_random() || request_.slots.has(slot);
    const bool is_bad = request_.candidate_status &&
                        (request_.candidate_status[row] & ~uint32_t(SAMPLER_ROW_INVALID_DRAFT));
    const uint32_t word =
        request_.is_random() && has_slot
            ? random_word32(request_.random.of(slot), Purpose::kUnmask, uint32_t(i) & kIndexMask)
            : 0;
    result.confidence = is_bad || !has_slot ? quiet_nan() : confidence_of(row, i, word);
    const int64_t id = candidate(i);
    const bool is_mask = request_.token_ids && id == request_.mask_token_id;
    result.may_stand = id >= 0 && !is_mask && !is_nan(result.confidence);
    result.score = !request_.orders_by_chance() ? result.confidence
                                                : gumbel_score(result.confidence, scale_, word);
    return result;
  }

  // A larger key comes first. Unique in the block.
  SAMPLER_HD uint64_t key(int64_t i, const UnmaskRow &row) const {
    return uint64_t(value_key(row.score)) << index_bits_ | uint64_t(size() - 1 - i);
  }
  SAMPLER_HD int num_digits() const { return (32 + index_bits_ + 7) / 8; }

  // Whether a number is on the confident side of a threshold that is on.
  SAMPLER_HD bool passes(float threshold, float confidence) const {
    if (!(threshold > 0)) return false;
    return request_.confidence == SAMPLER_CONFIDENCE_ENTROPY ? -confidence < threshold
                                                             : confidence > threshold;
  }

 private:
  static constexpr uint32_t kIndexMask = (1u << kPurposeShift) - 1;

  SAMPLER_HD float confidence_of(int64_t row, int64_t i, uint32_t word) const {
    if (request_.confidence == SAMPLER_CONFIDENCE_POSITION) return -float(i);
    if (request_.confidence == SAMPLER_CONFIDENCE_RANDOM) return float(word >> 8) * 0x1p-24f;
    const float *const scores = request_.scores + row * request_.score_stride;
    const float score = scores[0];
    if (is_nan(score)) return score;
    switch (request_.confidence) {
      case SAMPLER_CONFIDENCE_PROBABILITY:
        return probability_of(score);
      case SAMPLER_CONFIDENCE_MARGIN:  // the second may be none
        return probability_of(score) - (is_nan(scores[1]) ? 0.0f : probability_of(scores[1]));
      case SAMPLER_CONFIDENCE_ENTROPY:
        return -score;
      default:
        return score;
    }
  }

  const UnmaskRequest &request_;
  const Block block_;
  const float scale_;
  int index_bits_ = 0;  // of a row's number
};

// Workers, who share a block's rows:
//   index, count          each has the rows index, index + count, ...
//   sum(uint64_t)         over the workers, in each
//   clear()               empties 256 bins
//   add(bin, measure)     to a bin; it may be called by some of them alone
//   find(budget, &bin, &before)
//                         the first bin, from the last one down, with which the sum of all from
//                         there on exceeds the budget, and the sum before it. False: none
// All of them call the others together, and see afterwards what was done before.

// The lowest key of the rows that stand by an order: each as long as the measures before it sum to
// at most `budget`. measure(row) of those that may stand.
template <class Workers, class Measure>
SAMPLER_HD uint64_t find_unmask_cut(Workers &workers, const UnmaskRows &rows, uint64_t budget,
                                    const Measure &measure) {
  uint64_t cut = 0;
  for (int shift = 8 * (rows.num_digits() - 1); shift >= 0; shift -= 8) {
    workers.clear();
    for (int64_t i = workers.index; i < rows.size(); i += workers.count) {
      const UnmaskRow row = rows[i];
      if (!row.is_masked || !row.may_stand) continue;
      const uint64_t key = rows.key(i, row);
      if ((key >> shift) >> 8 == (cut >> shift) >> 8)
        workers.add(int(key >> shift & 255), measure(row));
    }
    int bin = 0;
    uint64_t before = 0;
    if (!workers.find(budget, &bin, &before)) return cut;  // all that begin like it
    cut |= uint64_t(bin) << shift;
    budget -= before;
  }
  return cut;
}

SAMPLER_HD inline void write_unmasked(const UnmaskRequest &request, int64_t block, uint32_t status,
                                      uint64_t num_committed = 0, uint64_t num_edited = 0,
                                      int64_t num_masked = -1) {
  if (request.out_committed_counts) request.out_committed_counts[block] = int32_t(num_committed);
  if (request.out_edited_counts) request.out_edited_counts[block] = int32_t(num_edited);
  if (request.out_masked_counts) request.out_masked_counts[block] = int32_t(num_masked);
  if (request.out_block_status) request.out_block_status[block] = status;
}

// Decides on a block, whose offsets are as they should be.
template <class Workers>
SAMPLER_HD void unmask_block(const UnmaskRequest &request, int64_t block, Workers &workers) {
  const Block extent = block_of(request, block);
  const UnmaskRows rows(request, extent);
  uint64_t num_masked = 0;
  for (int64_t i = workers.index; i < rows.size(); i += workers.count) {
    num_masked += rows[i].is_masked;
  }
  num_masked = workers.sum(num_masked);

  uint64_t cut = ~uint64_t(0);  // above all keys
  const int64_t steps = request.num_steps_left[block], number = request.num_committed[block];
  const int64_t of_step = steps > 0 ? (int64_t(num_masked) + steps - 1) / steps : 0;
  const int64_t least = number > of_step ? number : of_step;
  if (least > 0 && num_masked > 0) {
    cut = find_unmask_cut(workers, rows, uint64_t(least - 1),
                          [](const UnmaskRow &) { return uint64_t(1); });
  }
  if (request.entropy_bound > 0 && num_masked > 0) {
    const uint64_t other =
        find_unmask_cut(workers, rows, entropy_budget(request.entropy_bound),
                        [](const UnmaskRow &row) { return entropy_units(-row.confidence); });
    if (other < cut) cut = other;
  }

  uint64_t num_committed = 0, num_edited = 0;
  for (int64_t i = workers.index; i < rows.size(); i += workers.count) {
    const UnmaskRow row = rows[i];
    const bool is_committed =
        row.is_masked && row.may_stand &&
        (rows.key(i, row) >= cut || rows.passes(request.threshold, row.confidence));
    const bool is_edited = !row.is_masked && row.may_stand && rows.candidate(i) != rows.token(i) &&
                           rows.passes(request.edit_threshold, row.confidence);
    num_committed += is_committed;
    num_edited += is_edited;
    const int64_t place = extent.begin + i;
    if (request.token_ids && (is_committed || is_edited)) {
      store_id({request.token_ids, request.token_id_type}, place, rows.candidate(i));
    }
    if (request.out_changes) {
      request.out_changes[place] = uint8_t(is_committed ? SAMPLER_UNMASK_COMMITTED
                                           : is_edited  ? SAMPLER_UNMASK_EDITED
                                                        : SAMPLER_UNMASK_KEPT);
    }
    if (request.out_confidences) request.out_confidences[place] = row.confidence;
  }
  num_committed = workers.sum(num_committed);
  num_edited = workers.sum(num_edited);
  if (workers.index == 0) {
    write_unmasked(request, block, SAMPLER_ROW_OK, num_committed, num_edited,
                   int64_t(num_masked - num_committed));
  }
}

// Whether the offsets ascend, within the rows: all of them, so that no row is of two blocks. On a
// device each block reads them, which its rows outweigh.  Where they do not, write_unmasked() has
// the blocks' status.
template <class Workers>
SAMPLER_HD bool are_blocks_good(const UnmaskRequest &request, Workers &workers) {
  if (!request.block_offsets) return true;
  uint64_t num_bad = 0;
  for (int64_t i = workers.index; i <= request.num_blocks; i += workers.count) {
    const int64_t least = i == 0 ? 0 : request.block_offsets[i - 1];
    const int64_t offset = request.block_offsets[i];
    num_bad += offset < least || offset > request.num_rows;
  }
  return workers.sum(num_bad) == 0;
}

}  // namespace sampler::contract
