// Verification of a chain of drafts per row.
#include <algorithm>

#include "contract/draw.h"
#include "contract/elements.h"
#include "cpu/operations.h"
#include "cpu/two_models.h"

namespace sampler::cpu {

using contract::ChainRequest;
using contract::InputKind;
using contract::Purpose;
using contract::RowParameters;
namespace row_status = contract::row_status;

namespace {

// A token's probability, or the status that makes the row bad.
struct Lookup {
  float probability = 0.0f;
  uint32_t status = row_status::kOk;
};

struct Verdict {
  bool accepted = false;
  uint32_t status = row_status::kOk;
};

// The chain of one output row. The rows of probabilities have memory of their own.
template <class Row>
class Chain {
 public:
  Chain(const ChainRequest &request, int64_t row, Row &target, Row &draft, float *residual)
      : request_(request),
        row_(row),
        target_(target),
        draft_(draft),
        residual_(residual),
        slot_(request.slots[row]) {}

  void run() {
    check_drafts();
    uint32_t status = contract::check_slot(request_.slots, slot_);
    if (status == row_status::kOk) status = take_parameters();
    if (status == row_status::kOk) status = verify();
    if (status == row_status::kOk) status = draw_last_token();
    write(status);
  }

 private:
  int64_t draft_id(int64_t position) const {
    return contract::load_id(request_.draft_token_ids, request_.out_token_ids.type,
                             row_ * request_.num_drafts + position);
  }

  bool is_in_vocabulary(int64_t id) const {
    const int64_t size = request_.target.ids ? contract::kMaxVocabulary : request_.target.num_cols;
    return id >= 0 && id < size;
  }

  uint32_t take_parameters() {
    parameters_ = request_.parameters.of(slot_);
    greedy_ = contract::is_greedy(parameters_.temperature);
    random_ = request_.random.of(slot_);
    return contract::check_parameters(request_, parameters_);
  }

  void check_drafts() {
    const int64_t length =
        request_.draft_counts ? request_.draft_counts[row_] : request_.num_drafts;
    length_ = std::clamp<int64_t>(length, 0, request_.num_drafts);
    bool valid = length == length_;
    for (int64_t i = 0; i < length_; ++i) valid = valid && is_in_vocabulary(draft_id(i));
    draft_status_ = valid ? row_status::kOk : row_status::kInvalidDraft;
  }

  RowView target_view(int64_t position) const {
    return contract::row_view(
        request_.target, row_ * (request_.num_drafts + 1) + position,
        row_ * request_.target_row_stride + position * request_.target.stride);
  }

  RowView draft_view(int64_t position) const {
    return contract::row_view(request_.draft, row_ * request_.num_drafts + position,
                              row_ * request_.draft_row_stride + position * request_.draft.stride);
  }

  // Reads a whole row. Given probabilities may be all zero here.
  uint32_t load(const RowView &view, Row &row) const {
    const uint32_t status = row.load(view);
    const bool given = view.kind == InputKind::kProbabilities;
    if (given && status == row_status::kEmpty) return row_status::kOk;
    if (!given && status == row_status::kOk) {
      row.distribute(parameters_, request_.parameters.rules);
    }
    return status;
  }

  // The probability of `id`. Of given probabilities no other element is read.
  Lookup look_up(const RowView &view, Row &row, int64_t id) const {
    if (view.kind == InputKind::kProbabilities && !view.ids) {
      if (!contract::has_valid_count(view, request_.target.num_cols)) {
        return {0.0f, row_status::kInvalidCandidate};
      }
      if (id >= view.count) return {};
      const float p = view.value(id);
      const bool valid = contract::is_valid_value(view.kind, p);
      return {p, valid ? row_status::kOk : row_status::kInvalidValue};
    }
    const uint32_t status = load(view, row);
    if (status != row_status::kOk) return {0.0f, status};
    return {row.probability_of(id), row_status::kOk};
  }

  Verdict judge_greedily(int64_t position) const {
    const uint32_t status = target_.load(target_view(position));
    if (status != row_status::kOk) return {false, status};
    return {draft_id(position) == int64_t(contract::id_of_rank(target_.first()))};
  }

  Verdict judge(int64_t position) const {
    if (greedy_) return judge_greedily(position);
    const int64_t id = draft_id(position);
    if (!is_in_vocabulary(id)) return {};
    const Lookup target = look_up(target_view(position), target_, id);
    if (target.status != row_status::kOk) return {false, target.status};
    Lookup draft = {1.0f};
    if (request_.draft.values) draft = look_up(draft_view(position), draft_, id);
    if (draft.status != row_status::kOk) return {false, draft.status};
    const uint32_t word = contract::random_word32(random_, Purpose::kAccept, uint32_t(position));
    return {contract::accepts_draft(word, target.probability, draft.probability)};
  }

  // Finds the first rejection. Behind it a bad row only means a draft that is not accepted.
  uint32_t verify() {
    emitted_ = length_;
    for (int64_t i = 0; i < length_; ++i) {
      const bool rejected_before = emitted_ < i;
      if (rejected_before && !request_.out_accepted_counts) break;
      const Verdict verdict = judge(i);
      if (verdict.status != row_status::kOk && !rejected_before) return verdict.status;
      if (verdict.accepted) {
        ++accepted_;
      } else if (!rejected_before) {
        emitted_ = i;
      }
    }
    return row_status::kOk;
  }

  uint32_t draw_last_token() {
    const uint32_t status = load(target_view(emitted_), target_);
    if (status != row_status::kOk) return status;
    if (greedy_) {
      if (target_.first() < contract::lowest_cut(target_.kind())) return row_status::kEmpty;
      last_token_ = contract::id_of_rank(target_.first());
      return row_status::kOk;
    }
    bool from_residual = false;
    if (emitted_ < length_) {
      const uint32_t draft_status = make_residual(&from_residual);
      if (draft_status != row_status::kOk) return draft_status;
    }
    if (!from_residual) target_.chain_probabilities(residual_);
    const Purpose purpose = emitted_ < length_ ? Purpose::kResidual : Purpose::kBonus;
    const uint64_t word = contract::random_word64(random_, purpose, uint32_t(emitted_));
    if (!target_.become(residual_)) return row_status::kEmpty;
    target_.prepare_draws(1);
    target_.draw(&word, 1, &last_token_);
    return row_status::kOk;
  }

  // max(p - q, 0) by the target's elements. Not usable when it is zero everywhere: then p <= q by
  // rounding, and the token comes from p, so that a row never ends without one.
  uint32_t make_residual(bool *usable) {
    const int64_t rejected = draft_id(emitted_);
    if (!is_in_vocabulary(rejected)) return row_status::kOk;
    const bool has_draft = request_.draft.values;
    if (has_draft) {
      const uint32_t status = load(draft_view(emitted_), draft_);
      if (status != row_status::kOk) return status;
    }
    *usable = target_.chain_residual(has_draft ? &draft_ : nullptr, rejected, residual_);
    return row_status::kOk;
  }

  void write(uint32_t status) const {
    const bool good = status == row_status::kOk;
    const int64_t num_tokens = request_.num_drafts + 1;
    for (int64_t i = 0; i < num_tokens; ++i) {
      int64_t id = -1;
      if (good && i < emitted_) id = draft_id(i);
      if (good && i == emitted_) id = last_token_;
      if (!good && i == 0) id = request_.bad_row_token;
      contract::store_id(request_.out_token_ids, row_ * num_tokens + i, id);
    }
    write_count(request_.out_accepted_counts, good ? accepted_ : 0);
    write_count(request_.out_emitted_counts, good ? emitted_ : 0);
    if (request_.out_row_status) request_.out_row_status[row_] = status | draft_status_;
  }

  void write_count(int32_t *counts, int64_t count) const {
    if (!counts) return;
    const int32_t before = request_.accumulate_counts ? counts[row_] : 0;
    counts[row_] = int32_t(uint32_t(before) + uint32_t(count));  // wraps rather than overflows
  }

  const ChainRequest &request_;
  int64_t row_;
  Row &target_;
  Row &draft_;
  float *residual_;
  int64_t slot_;
  RowParameters parameters_ = {};
  bool greedy_ = false;
  contract::RandomStream random_ = {};

  int64_t length_ = 0;
  uint32_t draft_status_ = row_status::kOk;
  int64_t accepted_ = 0;
  int64_t emitted_ = 0;  // drafts kept before the first rejection
  int64_t last_token_ = -1;
};

}  // namespace

size_t workspace_bytes(const ChainRequest &request, int num_threads) {
  return two_models_bytes(request, num_threads);
}

Misuse run(const ChainRequest &request, const Executor &executor, void *block) {
  return for_rows_of_two_models(request, executor, block,
                                [&](int64_t row, auto &target, auto &draft, float *residual) {
                                  Chain(request, row, target, draft, residual).run();
                                });
}

}  // namespace sampler::cpu
