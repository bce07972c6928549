// Verification of one row's draft chain: which drafts are accepted, and the distribution of the
// last token.
#pragma once

#include <cstdint>

#include "contract/draw.h"
#include "contract/elements.h"
#include "contract/host_device.h"
#include "contract/philox.h"
#include "contract/request.h"
#include "contract/row_view.h"

namespace sampler::contract {

struct Chain {
  int64_t row;  // output row
  RowParameters parameters;
  uint32_t status;  // of the slot's parameters
  bool greedy;
  RandomStream random;
  int32_t length;  // number of drafts
  uint32_t draft_status;
  int32_t accepted;    // drafts that pass their test, including those after the first rejection
  int32_t emitted;     // drafts before the first rejection
  int64_t last_token;  // the token after them
};

SAMPLER_HD inline int64_t draft_id(const VerifyRequest &request, int64_t row, int32_t position) {
  return load_id(request.draft_token_ids, request.out_token_ids.type,
                 row * request.num_drafts + position);
}

SAMPLER_HD inline bool is_in_vocabulary(const VerifyRequest &request, int64_t id) {
  return id >= 0 && id < (request.target.ids ? kMaxVocabulary : request.target.num_cols);
}

// The models' rows at one position.
SAMPLER_HD inline RowView target_view(const VerifyRequest &request, int64_t row, int32_t position) {
  return row_view(request.target, row * (request.num_drafts + 1) + position,
                  row * request.target_row_stride + position * request.target.stride);
}
SAMPLER_HD inline RowView draft_view(const VerifyRequest &request, int64_t row, int32_t position) {
  return row_view(request.draft, row * request.num_drafts + position,
                  row * request.draft_row_stride + position * request.draft.stride);
}

// The chain before verification. A draft id outside the vocabulary is reported, and rejected at its
// position.
SAMPLER_HD inline Chain make_chain(const VerifyRequest &request, int64_t row) {
  const int32_t num_drafts = int32_t(request.num_drafts);
  const int32_t length = request.draft_counts ? request.draft_counts[row] : num_drafts;
  Chain chain = {};
  chain.row = row;
  const int64_t slot = request.slots[row];
  chain.status = read_parameters(request, slot, &chain.parameters);
  if (chain.status == SAMPLER_ROW_OK) {
    chain.greedy = is_greedy(chain.parameters.temperature);
    chain.random = request.random.of(slot);
  }
  chain.length = length < 0 ? 0 : length > num_drafts ? num_drafts : length;
  bool valid = length == chain.length;
  for (int32_t i = 0; i < chain.length; ++i) {
    valid = valid && is_in_vocabulary(request, draft_id(request, row, i));
  }
  chain.draft_status = valid ? SAMPLER_ROW_OK : SAMPLER_ROW_INVALID_DRAFT;
  return chain;
}

struct DraftVerdict {
  bool accepted;
  uint32_t status;  // not OK: the row is bad, unless an earlier draft was rejected
};

// `models` reads the rows of both models: `find_first(position, &id)` finds the first token of the
// target's row in rank order; `look_up_target(position, id, &probability)` and
// `look_up_draft(position, id, &probability)` give a token's probability. All return a row status.
template <class Models>
SAMPLER_HD inline DraftVerdict verify_draft(const VerifyRequest &request, const Chain &chain,
                                            int32_t position, Models &models) {
  const int64_t id = draft_id(request, chain.row, position);
  if (chain.greedy) {
    int64_t first = -1;
    const uint32_t status = models.find_first(position, &first);
    return {status == SAMPLER_ROW_OK && id == first, status};
  }
  if (!is_in_vocabulary(request, id)) return {false, SAMPLER_ROW_OK};
  float target = 0.0f, draft = 1.0f;
  uint32_t status = models.look_up_target(position, id, &target);
  if (status == SAMPLER_ROW_OK && request.draft.values) {
    status = models.look_up_draft(position, id, &draft);
  }
  if (status != SAMPLER_ROW_OK) return {false, status};
  const uint32_t word = random_word32(chain.random, Purpose::kAccept, uint32_t(position));
  return {accepts_draft(word, target, draft), SAMPLER_ROW_OK};
}

// Finds the first rejection; returns the row's status. `verify(position)` returns a draft's
// verdict. After the first rejection a bad row only means that the draft is not accepted.
template <class Verify>
SAMPLER_HD inline uint32_t verify_drafts(const VerifyRequest &request, Chain *chain,
                                         const Verify &verify) {
  chain->emitted = chain->length;
  for (int32_t i = 0; i < chain->length; ++i) {
    const bool rejected_before = chain->emitted < i;
    if (rejected_before && !request.out_accepted_counts) break;
    const DraftVerdict verdict = verify(i);
    if (verdict.status != SAMPLER_ROW_OK && !rejected_before) return verdict.status;
    if (verdict.accepted) {
      ++chain->accepted;
    } else if (!rejected_before) {
      chain->emitted = i;
    }
  }
  return SAMPLER_ROW_OK;
}

// Id of the rejected draft; -1 if there is none, or its id is outside the vocabulary.
SAMPLER_HD inline int64_t rejected_draft(const VerifyRequest &request, const Chain &chain) {
  if (chain.emitted == chain.length) return -1;
  const int64_t id = draft_id(request, chain.row, chain.emitted);
  return is_in_vocabulary(request, id) ? id : -1;
}

// Random word for the last token.
SAMPLER_HD inline uint64_t last_token_word(const Chain &chain) {
  const Purpose purpose = chain.emitted < chain.length ? Purpose::kResidual : Purpose::kBonus;
  return random_word64(chain.random, purpose, uint32_t(chain.emitted));
}

// Draws the last token. `draw(rejected, &id)` draws from max(p - q, 0), or from p if `rejected` is
// -1, and returns false if that is 0 everywhere. Rounding can make p <= q everywhere: the token is
// then drawn from p, so that every good row gets one.
template <class Draw>
SAMPLER_HD inline uint32_t draw_last_token(Chain *chain, int64_t rejected, const Draw &draw) {
  while (!draw(rejected, &chain->last_token)) {
    if (rejected < 0) return SAMPLER_ROW_EMPTY;
    rejected = -1;
  }
  return SAMPLER_ROW_OK;
}

// Token `index` of an output row.
SAMPLER_HD inline int64_t chain_token(const VerifyRequest &request, const Chain &chain,
                                      uint32_t status, int32_t index) {
  if (status != SAMPLER_ROW_OK) return index == 0 ? request.bad_row_token : -1;
  if (index < chain.emitted) return draft_id(request, chain.row, index);
  return index == chain.emitted ? chain.last_token : -1;
}

// Writes all of a row's outputs except its tokens.
SAMPLER_HD inline void write_chain_outcome(const VerifyRequest &request, const Chain &chain,
                                           uint32_t status) {
  const bool good = status == SAMPLER_ROW_OK;
  const auto write = [&](int32_t *counts, int32_t count) {
    if (!counts) return;
    const uint32_t before = request.accumulate_counts ? uint32_t(counts[chain.row]) : 0;
    counts[chain.row] = int32_t(before + uint32_t(count));  // wraps on overflow
  };
  write(request.out_accepted_counts, good ? chain.accepted : 0);
  write(request.out_emitted_counts, good ? chain.emitted : 0);
  if (request.out_row_status) request.out_row_status[chain.row] = status | chain.draft_status;
}

}  // namespace sampler::contract
