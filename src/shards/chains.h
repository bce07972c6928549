// Draft chains whose rows are split among ranks: standard rule, given probabilities or greedy.
// Writes a rank's message for each position, and reads those of all ranks. Sections 10 and 17 of
// docs/contract.md; chain.h decides.
#pragma once

#include <cstdint>

#include "contract/host_device.h"
#include "contract/rank.h"
#include "contract/verify_chain.h"
#include "shards/call.h"
#include "shards/digests.h"
#include "shards/filters.h"
#include "shards/rows.h"

namespace sampler::shards {

using namespace contract;

// `Rounds` is ShardRounds, which has the messages; `Columns` is documented there.
template <class Rounds, class Columns>
class ShardChains {
 public:
  SAMPLER_HD ShardChains(const ShardCall &call, int64_t row, const Rounds &rounds, Columns &columns)
      : call_(call),
        request_(*call.verify),
        rounds_(rounds),
        columns_(columns),
        chain_(make_chain(request_, row)) {}

  // ---- The first message

  // `message` is zeroed.
  SAMPLER_HD void write(char *message) {
    const bool is_first = columns_.workers().index == 0;
    if (is_first) *reinterpret_cast<ShardChain *>(message) = {chain_.status, 0, digest()};
    if (chain_.status != SAMPLER_ROW_OK) return;
    // No earlier draft is known to be rejected, so the last token may be drawn here.
    bool may_be_last = true;
    for (int32_t i = 0; i <= chain_.length; ++i) {
      ShardPosition position = {};
      if (may_be_last) inspect(i, &position);
      if (i < chain_.length && !judge(i, &position)) may_be_last = false;
      if (is_first) positions_of(message)[i] = position;
      if (!may_be_last && !request_.out_accepted_counts) return;
    }
  }

  // ---- All ranks' messages

  // Finds the first rejection and the row of the last token; returns the status.
  SAMPLER_HD uint32_t read(ShardRow *row) {
    const uint64_t digest = rounds_.messages_.template row<ShardChain>(0).digest;
    uint32_t status = chain_.status;
    for (int64_t rank = 0; rank < call_.num_ranks; ++rank) {
      const ShardChain &own = rounds_.messages_.template row<ShardChain>(rank);
      const bool is_valid = own.digest == digest && own.status == chain_.status;
      if (!is_valid) status = SAMPLER_ROW_INVALID_SHARD;
    }
    if (status != SAMPLER_ROW_OK) return status;
    status = verify_drafts(request_, &chain_, [this](int32_t i) { return verdict(i); });
    return status == SAMPLER_ROW_OK ? find_last(row) : status;
  }

  // ---- `models` of contract::verify_draft, for a draft whose id this rank owns

  SAMPLER_HD uint32_t find_first(int32_t, int64_t *) const { return SAMPLER_ROW_OK; }
  SAMPLER_HD uint32_t look_up_target(int32_t position, int64_t id, float *probability) const {
    return look_up(target_row(position), id - call_.first_id, probability);
  }
  SAMPLER_HD uint32_t look_up_draft(int32_t position, int64_t id, float *probability) const {
    const RowView own = rounds_.own_part(draft_view(request_, chain_.row, position));
    return look_up(own, id - call_.first_id, probability);
  }

 private:
  enum : uint32_t { kNotHere, kRejected, kAccepted };

  SAMPLER_HD static ShardPosition *positions_of(char *message) {
    return reinterpret_cast<ShardPosition *>(message + sizeof(ShardChain));
  }
  SAMPLER_HD const ShardPosition &received(int64_t rank, int32_t position) const {
    const char *const message = &rounds_.messages_.template row<char>(rank);
    return positions_of(const_cast<char *>(message))[position];
  }
  SAMPLER_HD RowView target_row(int32_t position) const {
    return rounds_.own_part(target_view(request_, chain_.row, position));
  }
  SAMPLER_HD int64_t id(int32_t position) const { return draft_id(request_, chain_.row, position); }

  // Digest of the row's array arguments.
  SAMPLER_HD uint64_t digest() const {
    Digest digest;
    digest.add(chain_.length), digest.add(chain_.draft_status == SAMPLER_ROW_OK);
    for (int32_t i = 0; i < chain_.length; ++i) digest.add(id(i));
    if (chain_.status != SAMPLER_ROW_OK) return digest.value();
    const RowParameters &parameters = chain_.parameters;
    digest.add(parameters.temperature), digest.add(parameters.top_k);
    digest.add(parameters.top_p), digest.add(parameters.min_p);
    digest.add(chain_.random.seed), digest.add(chain_.random.offset);
    digest.add(uint64_t(chain_.random.stream)), digest.add(request_.slots[chain_.row]);
    return digest.value();
  }

  SAMPLER_HD static uint32_t look_up(const RowView &own, int64_t column, float *probability) {
    *probability = own.value(column);
    return is_valid_value(own.kind, *probability) ? SAMPLER_ROW_OK : SAMPLER_ROW_INVALID_VALUE;
  }

  // Statuses and first ranks of this rank's part of a position's rows, and of their residual.
  SAMPLER_HD void inspect(int32_t i, ShardPosition *position) {
    const RowView p = target_row(i);
    position->target_status = rounds_.load(p, 0, &position->target_first);
    if (chain_.greedy || i == chain_.length || !is_in_vocabulary(request_, id(i))) return;
    RowView q = {};
    if (request_.draft.values) {
      q = rounds_.own_part(draft_view(request_, chain_.row, i));
      Rank unused = 0;
      position->draft_status = rounds_.load(q, 0, &unused);
    }
    if (position->target_status == SAMPLER_ROW_INVALID_VALUE ||
        position->draft_status == SAMPLER_ROW_INVALID_VALUE) {
      return;
    }
    const Rank first = columns_.subtract(p, q, id(i), nullptr);
    position->residual_first = first >= lowest_cut(p.kind) ? first : 0;
  }

  // Verifies a draft whose id this rank owns. False if the draft is known here to be rejected, or
  // its row to be bad.
  SAMPLER_HD bool judge(int32_t i, ShardPosition *position) const {
    if (chain_.greedy) return true;  // decided from all ranks' messages
    if (!is_in_vocabulary(request_, id(i))) return false;
    const int64_t column = id(i) - call_.first_id;
    if (column < 0 || column >= call_.num_cols) return true;
    const DraftVerdict verdict = verify_draft(request_, chain_, i, *this);
    position->verdict = verdict.accepted ? kAccepted : kRejected;
    position->verdict_status = verdict.status;
    return verdict.accepted;
  }

  SAMPLER_HD bool is_own(int64_t rank, Rank first) const {
    return first == 0 || rounds_.messages_.owns(rank, id_of_rank(first));
  }

  // Combines all ranks' messages of a position.
  SAMPLER_HD ShardPosition gather(int32_t i) const {
    ShardPosition all = {SAMPLER_ROW_EMPTY, SAMPLER_ROW_EMPTY, kNotHere, SAMPLER_ROW_OK, 0, 0};
    for (int64_t rank = 0; rank < call_.num_ranks; ++rank) {
      const ShardPosition &own = received(rank, i);
      all.target_status = status_of_parts(all.target_status, own.target_status);
      all.draft_status = status_of_parts(all.draft_status, own.draft_status);
      if (own.target_first > all.target_first) {
        all.target_first = own.target_first;
      }
      if (own.residual_first > all.residual_first) {
        all.residual_first = own.residual_first;
      }
      if (!is_own(rank, own.target_first) || !is_own(rank, own.residual_first)) {
        all.target_status = SAMPLER_ROW_INVALID_SHARD;  // no rank sends this
      }
    }
    return all;
  }

  SAMPLER_HD DraftVerdict verdict(int32_t i) const {
    if (chain_.greedy) {
      const ShardPosition all = gather(i);
      const bool is_first = id(i) == int64_t(id_of_rank(all.target_first));
      return {all.target_status == SAMPLER_ROW_OK && is_first, all.target_status};
    }
    if (!is_in_vocabulary(request_, id(i))) return {false, SAMPLER_ROW_OK};
    const ShardPosition &own = received(rounds_.messages_.owner_of(id(i)), i);
    const bool is_verdict = own.verdict == kAccepted || own.verdict == kRejected;
    const bool is_status =
        own.verdict_status == SAMPLER_ROW_OK || own.verdict_status == SAMPLER_ROW_INVALID_VALUE;
    if (!is_verdict || !is_status) return {false, SAMPLER_ROW_INVALID_SHARD};
    return {own.verdict == kAccepted, own.verdict_status};
  }

  SAMPLER_HD uint32_t find_last(ShardRow *row) {
    const ShardPosition all = gather(chain_.emitted);
    const Rank lowest = lowest_cut(request_.target.kind);
    uint32_t status = all.target_status;
    row->emitted = chain_.emitted;
    row->accepted = chain_.accepted;
    row->greedy = chain_.greedy;
    if (chain_.greedy) {
      row->found = ShardFound::kListed;
      row->is_settled = true;
      row->first = all.target_first;
      row->token = id_of_rank(all.target_first);
      return status;
    }
    // A row of given probabilities may be 0 everywhere if the residual decides.
    if (status == SAMPLER_ROW_EMPTY) status = SAMPLER_ROW_OK;
    const bool has_rest = rejected_draft(request_, chain_) >= 0;
    if (status == SAMPLER_ROW_OK && has_rest && request_.draft.values &&
        all.draft_status != SAMPLER_ROW_EMPTY) {
      status = all.draft_status;
    }
    row->uses_given = !has_rest || all.residual_first == 0;
    row->first = row->uses_given ? all.target_first : all.residual_first;
    row->parameters = {1.0f, 0, 1.0f, 0.0f};
    row->found = ShardFound::kOpen;
    row->cut = {key_of_rank(lowest), SharedCut::kAllTies};
    return status == SAMPLER_ROW_OK && row->first < lowest ? uint32_t(SAMPLER_ROW_EMPTY) : status;
  }

  const ShardCall &call_;
  const VerifyRequest &request_;
  const Rounds &rounds_;
  Columns &columns_;
  Chain chain_;
};

}  // namespace sampler::shards
