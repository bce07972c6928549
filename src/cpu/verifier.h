// Verification of one sequence after the other beyond dense chains by the standard rule: other
// rules, packed batches, trees, stages and reports.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "contract/adaptive_values.h"
#include "contract/verification.h"
#include "cpu/row_tasks.h"
#include "cpu/said.h"
#include "cpu/sampled_row.h"

namespace sampler::cpu {

template <class Row>
class Verifier {
 public:
  // For a request that has more().
  Verifier(const contract::ChainRequest &request, TaskMemory &memory)
      : request_(request),
        more_(*request.more),
        numbers_(more_.numbers),
        pipeline_(more_.positions.pipeline),
        num_places_(request.num_drafts + 1),
        sampled_(more_.positions, memory),
        draft_(memory.make_row_if<Row>(request.draft.values, request.draft)),
        said_(pipeline_, request.num_drafts, memory),
        values_(memory.take<float>(request.target.num_cols)),
        other_(memory.take<float>(request.target.num_cols)),
        draft_values_(memory.take<float>(excludes_siblings() ? request.target.num_cols : 0)),
        excluded_values_(memory.take<float>(excludes_siblings() ? request.target.num_cols : 0)),
        tree_{memory.take<int32_t>(num_places_), memory.take<int32_t>(num_places_)},
        tree_memory_(memory.take<int32_t>(more_.first_children ? 2 * num_places_ : 0)),
        tokens_(memory.take<int64_t>(num_places_)),
        positions_(memory.take<int32_t>(num_places_)),
        tried_(memory.take<int64_t>(num_places_)),
        has_outputs_(reports_anything(more_.positions)) {}

  void run_sequence(int64_t sequence) {
    uint32_t status = begin(sequence);
    if (status == SAMPLER_ROW_OK) status = verify();
    if (status != SAMPLER_ROW_OK) depth_ = 0;
    write(status);
  }

 private:
  static constexpr int32_t kNone = -1;

  static bool reports_anything(const contract::SampleRequest &positions) {
    return positions.reports || positions.out_logprobs || positions.out_observations ||
           positions.out_kept_counts;
  }
  bool excludes_siblings() const {
    return more_.has_trees() && request_.draft.values &&
           more_.sibling_rule == SAMPLER_SIBLINGS_WITHOUT_REPLACEMENT;
  }

  // ---- A sequence

  uint32_t begin(int64_t sequence) {
    chain_ = {};
    chain_.row = sequence;
    chain_.draft_status = SAMPLER_ROW_OK;
    depth_ = num_tried_ = 0;
    is_counting_ = false;
    forget_rows();
    slot_ = request_.slots[sequence];
    uint32_t status = contract::read_parameters(request_, slot_, &chain_.parameters);
    if (status != SAMPLER_ROW_OK) return status;
    rule_ = more_.acceptance[slot_];
    if (!contract::can_accept_by(rule_, more_)) return SAMPLER_ROW_INVALID_PARAMETER;
    chain_.greedy = contract::is_greedy(chain_.parameters.temperature);
    chain_.random = request_.random.of(slot_);
    draft_parameters_ = more_.draft_parameters.of(slot_);
    if (request_.draft.values) {
      status = contract::check_parameters(request_.draft.kind, draft_parameters_);
    }
    if (status != SAMPLER_ROW_OK) return status;
    if (!contract::find_sequence(request_, more_, sequence, &place_)) {
      return SAMPLER_ROW_INVALID_LIST;
    }
    chain_.length = std::clamp(place_.length, 0, int32_t(request_.num_drafts));
    bool is_valid = chain_.length == place_.length;
    for (int32_t i = 0; i < chain_.length; ++i) is_valid = is_valid && is_token(draft_id(i));
    if (!is_valid) chain_.draft_status = SAMPLER_ROW_INVALID_DRAFT;
    if (!contract::make_tree(request_, more_, sequence, chain_.length, tree_, tree_memory_)) {
      return SAMPLER_ROW_INVALID_TREE;
    }
    if (!pipeline_) return SAMPLER_ROW_OK;
    status = said_.begin(slot_);
    sampled_.stages().assume(&said_.said());
    return status;
  }

  int64_t draft_id(int32_t draft) const {
    return contract::load_id(request_.draft_token_ids, request_.out_token_ids.type,
                             place_.first_draft + draft);
  }
  bool is_token(int64_t id) const { return contract::is_in_vocabulary(request_, id); }

  uint32_t verify() {
    if (!chain_.greedy && rule_ == SAMPLER_ACCEPT_BLOCK) return verify_block();
    if (!chain_.greedy && rule_ == SAMPLER_ACCEPT_DEFERRED) return verify_deferred();
    uint32_t status = walk();
    if (status == SAMPLER_ROW_OK) status = count_accepted();
    return status;
  }

  // Down from the root, as long as a child is accepted.
  uint32_t walk() {
    for (int32_t position = 0;;) {
      int32_t next = kNone;
      int64_t token = -1;
      uint32_t status = decide(position, &next, &token);
      if (status != SAMPLER_ROW_OK) return status;
      if (next == kNone) return finish(position, token);
      status = accept(position, draft_id(next - 1), true);
      if (status != SAMPLER_ROW_OK) return status;
      position = next;
    }
  }

  // `next`: the position after the child that is accepted; or kNone, and the token that is emitted
  // in its stead.
  uint32_t decide(int32_t position, int32_t *next, int64_t *token) {
    if (rule_ == SAMPLER_ACCEPT_SYNTHETIC) return decide_synthetic(position, next, token);
    if (rule_ == SAMPLER_ACCEPT_RELAXED && chain_.greedy) {
      return decide_relaxed_greedy(position, next, token);
    }
    if (chain_.greedy || rule_ == SAMPLER_ACCEPT_SAMPLE_MATCH) {
      return decide_by_match(position, next, token);
    }
    if (rule_ == SAMPLER_ACCEPT_TYPICAL) return decide_typical(position, next, token);
    if (rule_ == SAMPLER_ACCEPT_THRESHOLD) return decide_by_threshold(position, next, token);
    return decide_standard(position, next, token);
  }

  // f(child) for the children of a position that are tokens, until it returns true. The result is
  // that child, as a position.
  template <class F>
  int32_t find_child(int32_t position, const F &f) const {
    for (int32_t child = tree_.first_children[position]; child;
         child = tree_.next_siblings[child]) {
      if (is_token(draft_id(child - 1)) && f(child)) return child;
    }
    return kNone;
  }
  bool has_children(int32_t position) const { return tree_.first_children[position] != 0; }

  // ---- Rules

  uint32_t decide_by_match(int32_t position, int32_t *next, int64_t *token) {
    const uint32_t status = open(position);
    if (status != SAMPLER_ROW_OK) return status;
    const contract::RandomStream stream = sample_stream();
    sampled_.prepare_draws(1);
    sampled_.draw(&stream, 1, token);
    *next = find_child(position, [&](int32_t child) { return draft_id(child - 1) == *token; });
    return SAMPLER_ROW_OK;
  }

  uint32_t decide_synthetic(int32_t position, int32_t *next, int64_t *token) {
    *next = find_child(position, [&](int32_t child) {
      const double u = contract::uniform_of(contract::acceptance_word(chain_, child - 1));
      return u < double(numbers_.synthetic_rates[child - 1]);
    });
    return *next == kNone ? find_token(position, token) : uint32_t(SAMPLER_ROW_OK);
  }

  uint32_t decide_typical(int32_t position, int32_t *next, int64_t *token) {
    const uint32_t status = open(position);
    if (status != SAMPLER_ROW_OK) return status;
    if (has_children(position) && !is_empty_) {
      const float entropy = contract::entropy_in_nats(row().kept_entropy_sums());
      *next = find_child(position, [&](int32_t child) {
        return contract::accepts_typical(numbers_, probability(draft_id(child - 1)), entropy);
      });
    }
    return *next == kNone ? find_token(position, token) : uint32_t(SAMPLER_ROW_OK);
  }

  // Whether it is one of the first tokens, and how much of them.
  bool is_relaxed(int64_t id) {
    const float p = probability(id);
    if (!(p > 0.0f)) return false;
    const contract::Rank first = std::min(row().first(), row().distribution().first);
    const float most = probability(contract::id_of_rank(first));
    if (!(p >= most - numbers_.relaxed_delta)) return false;
    const contract::Rank rank = contract::rank_of(row().value_of(id), uint32_t(id));
    return row().num_before(rank) < numbers_.relaxed_top_k;
  }

  uint32_t decide_relaxed_greedy(int32_t position, int32_t *next, int64_t *token) {
    const uint32_t status = open(position, false);
    if (status != SAMPLER_ROW_OK) return status;
    *token = contract::id_of_rank(row().first());
    if (!has_children(position)) return SAMPLER_ROW_OK;
    row().settle();
    row().distribute({1.0f, 0, 1.0f, 0.0f}, {});
    is_changed_ = true;
    *next = find_child(position, [&](int32_t child) { return is_relaxed(draft_id(child - 1)); });
    return SAMPLER_ROW_OK;
  }

  uint32_t decide_by_threshold(int32_t position, int32_t *next, int64_t *token) {
    uint32_t status = open(position);
    if (status != SAMPLER_ROW_OK) return status;
    float total = 0.0f;
    num_tried_ = 0;
    *next = find_child(position, [&](int32_t child) {
      const int64_t id = draft_id(child - 1);
      const bool is_new = std::find(tried_, tried_ + num_tried_, id) == tried_ + num_tried_;
      const float p = is_new && !is_empty_ ? probability(id) : 0.0f;
      total += p;
      const uint32_t word = contract::acceptance_word(chain_, position);
      if (contract::accepts_by_threshold(numbers_, word, p, total)) return true;
      tried_[num_tried_++] = id;
      return false;
    });
    if (*next != kNone) return SAMPLER_ROW_OK;
    write_probabilities(other_);
    for (int32_t i = 0; i < num_tried_; ++i) row().remove(tried_[i], other_);
    take_residual();
    status = find_token(position, token);
    return status;
  }

  uint32_t decide_standard(int32_t position, int32_t *next, int64_t *token) {
    num_tried_ = 0;
    uint32_t status = SAMPLER_ROW_OK;
    *next = find_child(position, [&](int32_t child) {
      const int64_t id = draft_id(child - 1);
      bool is_accepted = false;
      status = judge(position, child, id, &is_accepted);
      if (status != SAMPLER_ROW_OK || is_accepted) return true;
      status = reject(position, child, id);
      tried_[num_tried_++] = id;
      return status != SAMPLER_ROW_OK;
    });
    if (status != SAMPLER_ROW_OK || *next != kNone) return status;
    return find_token(position, token);
  }

  // By its own verdict, where siblings may have been rejected before.
  uint32_t judge(int32_t position, int32_t child, int64_t id, bool *is_accepted) {
    float p = 0.0f, q = 0.0f;
    uint32_t status = look_up_target(position, id, &p);
    if (status == SAMPLER_ROW_OK && rule_ == SAMPLER_ACCEPT_RELAXED && !is_changed_) {
      status = open(position);
      *is_accepted = status == SAMPLER_ROW_OK && !is_empty_ && is_relaxed(id);
      if (*is_accepted) return SAMPLER_ROW_OK;
    }
    if (status == SAMPLER_ROW_OK) status = look_up_draft(child - 1, id, &q);
    if (status != SAMPLER_ROW_OK) return status;
    const uint32_t word = contract::acceptance_word(chain_, child - 1);
    *is_accepted = contract::accepts_draft(word, p, q);
    return SAMPLER_ROW_OK;
  }

  // What is left for the next sibling, or for the last token.
  uint32_t reject(int32_t position, int32_t child, int64_t id) {
    uint32_t status = is_changed_ ? uint32_t(SAMPLER_ROW_OK) : open(position);
    if (status == SAMPLER_ROW_OK && request_.draft.values) status = open_draft(child - 1);
    if (status != SAMPLER_ROW_OK) return status;
    if (is_changed_) {
      row().write_probabilities(other_, SAMPLER_F32);
    } else {
      write_probabilities(other_);
    }
    if (request_.draft.values) {
      row().subtract(draft_, other_);
    } else {
      row().remove(id, other_);
    }
    take_residual();
    return SAMPLER_ROW_OK;
  }

  // `other_` is what is drawn from, unless it is 0 everywhere: then the target's row.
  void take_residual() {
    is_changed_ = !is_empty_ && row().become(other_);
    if (is_changed_) {
      std::swap(values_, other_);
    } else {
      forget_rows();
    }
  }

  // What stands behind the last draft that was accepted.
  uint32_t find_token(int32_t position, int64_t *token) {
    if (!is_changed_) {
      const uint32_t status = open(position);
      if (status != SAMPLER_ROW_OK) return status;
      if (chain_.greedy) {
        *token = contract::id_of_rank(row().first());
        return SAMPLER_ROW_OK;
      }
      write_probabilities(other_);
      take_residual();
      if (!is_changed_) return SAMPLER_ROW_EMPTY;
    }
    const uint64_t word = contract::last_token_word(chain_, position, has_children(position));
    row().prepare_draws(1);
    row().draw(&word, 1, token);
    return SAMPLER_ROW_OK;
  }

  // Drafts of a chain that would be accepted each on its own, beyond the first rejection.
  uint32_t count_accepted() {
    chain_.accepted = depth_;
    const bool is_counted =
        request_.out_accepted_counts && !more_.has_trees() && rule_ == SAMPLER_ACCEPT_STANDARD;
    for (int32_t i = depth_ + 1; is_counted && i < chain_.length; ++i) {
      is_counting_ = true;
      forget_rows();
      assume(i - 1);
      const int64_t id = draft_id(i);
      int64_t token = -1;
      bool is_accepted = false;
      uint32_t status = SAMPLER_ROW_OK;
      if (chain_.greedy) {
        status = open(i);
        token = status == SAMPLER_ROW_OK ? int64_t(contract::id_of_rank(row().first())) : -1;
        is_accepted = token == id;
      } else if (is_token(id)) {
        status = judge(i, i + 1, id, &is_accepted);
      }
      chain_.accepted += status == SAMPLER_ROW_OK && is_accepted;
    }
    return SAMPLER_ROW_OK;
  }

  // A draft that was not accepted, as if it had been.
  void assume(int32_t draft) {
    const int64_t id = draft_id(draft);
    if (!pipeline_ || !is_token(id)) return;
    const bool is_observed = is_adaptive() && open(draft) == SAMPLER_ROW_OK && row().has(id);
    said_.append(slot_, id, is_observed ? sampled_.observation(id) : contract::quiet_nan());
    forget_rows();
  }

  // ---- Rules that judge a chain as a whole

  // Accepts the first `count` drafts, whose number is known now.
  uint32_t begin_again(int32_t count) {
    forget_rows();
    depth_ = 0;
    uint32_t status = pipeline_ ? said_.begin(slot_) : uint32_t(SAMPLER_ROW_OK);
    for (int32_t i = 0; i < count && status == SAMPLER_ROW_OK; ++i) {
      status = accept(i, draft_id(i), true);
    }
    chain_.accepted = count;
    return status;
  }

  uint32_t verify_block() {
    int32_t length = 0;  // up to the first draft that is no token
    while (length < chain_.length && is_token(draft_id(length))) ++length;
    double ratio = 1.0, best_ratio = 1.0;
    int32_t best = 0;
    for (int32_t i = 0; i < length; ++i) {
      const int64_t id = draft_id(i);
      float p = 0.0f, q = 0.0f;
      uint32_t status = open(i);
      if (status == SAMPLER_ROW_OK) status = look_up_target(i, id, &p);
      if (status == SAMPLER_ROW_OK) status = look_up_draft(i, id, &q);
      if (status != SAMPLER_ROW_OK) return status;
      if (i > 0) {
        double left = 0.0;
        status = leave_behind(i, ratio, &left);
        if (status != SAMPLER_ROW_OK) return status;
        if (contract::accepts_block(contract::acceptance_word(chain_, i - 1), ratio, left)) {
          best = i;
          best_ratio = ratio;
        }
      }
      ratio = contract::block_ratio(ratio, p, q);
      status = accept(i, id, false);
      if (status != SAMPLER_ROW_OK) return status;
    }
    if (length > 0) {
      const uint32_t word = contract::acceptance_word(chain_, length - 1);
      if (contract::uniform_of(word) < ratio) best = length;
    }
    uint32_t status = begin_again(best);
    if (status != SAMPLER_ROW_OK) return status;
    double left = 0.0;
    if (best < length) status = leave_behind(best, best_ratio, &left);
    int64_t token = -1;
    if (status == SAMPLER_ROW_OK) status = find_token(best, &token);
    return status == SAMPLER_ROW_OK ? finish(best, token) : status;
  }

  // The row becomes max(ratio p - q, 0), of which `left` is the sum; where that is 0 everywhere it
  // stays what it is.
  uint32_t leave_behind(int32_t position, double ratio, double *left) {
    uint32_t status = open(position);
    if (status == SAMPLER_ROW_OK && request_.draft.values) status = open_draft(position);
    if (status != SAMPLER_ROW_OK) return status;
    write_probabilities(other_);
    const float factor = float(ratio);
    for (int64_t i = 0; i < row().view().count; ++i) other_[i] *= factor;
    if (request_.draft.values) {
      row().subtract(draft_, other_);
    } else {
      row().remove(draft_id(position), other_);
    }
    take_residual();
    if (!is_changed_) return SAMPLER_ROW_OK;
    const Distribution &distribution = row().distribution();
    *left = contract::sum_of_weights(distribution.scale, distribution.kept_weight);
    return SAMPLER_ROW_OK;
  }

  uint32_t verify_deferred() {
    const int32_t window = numbers_.deferred_window;
    int32_t count = 0, deferred = kNone;
    for (; count < chain_.length; ++count) {
      const int64_t id = draft_id(count);
      bool is_accepted = false;
      uint32_t status = SAMPLER_ROW_OK;
      if (is_token(id)) status = judge(count, count + 1, id, &is_accepted);
      if (status == SAMPLER_ROW_OK && !is_accepted) {
        if (deferred != kNone) break;
        bool is_doubtful = false;
        if (count + window < chain_.length) status = doubt(count, id, &is_doubtful);
        if (status == SAMPLER_ROW_OK && !is_doubtful) break;
        deferred = count;
      }
      if (status == SAMPLER_ROW_OK) status = accept(count, id, false);
      if (status != SAMPLER_ROW_OK) return status;
      if (deferred != kNone && count == deferred + window) deferred = kNone;
    }
    if (deferred != kNone) count = deferred;
    uint32_t status = begin_again(count);
    if (status == SAMPLER_ROW_OK && count < chain_.length && is_token(draft_id(count))) {
      status = reject(count, count + 1, draft_id(count));
    }
    int64_t token = -1;
    if (status == SAMPLER_ROW_OK) status = find_token(count, &token);
    return status == SAMPLER_ROW_OK ? finish(count, token) : status;
  }

  // Whether a draft that was rejected may be kept all the same, for what follows.
  uint32_t doubt(int32_t position, int64_t id, bool *is_doubtful) {
    if (!is_token(id)) return SAMPLER_ROW_OK;
    float q = 0.0f;
    uint32_t status = open(position);
    if (status == SAMPLER_ROW_OK) status = look_up_draft(position, id, &q);
    if (status != SAMPLER_ROW_OK) return status;
    if (is_empty_ || !(probability(id) > 0.0f) || !(q > 0.0f)) return SAMPLER_ROW_OK;
    const contract::Rank *ranks = nullptr;
    const int64_t count = row().select_kept(numbers_.deferred_top_k, &ranks);
    float entropy = 0.0f;
    for (int64_t i = 0; i < count; ++i) {
      const float p = row().distribution().probability(contract::value_of_rank(ranks[i]), ranks[i]);
      if (p > 0.0f) entropy -= p * contract::natural_log(p);
    }
    *is_doubtful = entropy >= numbers_.deferred_entropy;
    forget_rows();
    return SAMPLER_ROW_OK;
  }

  // ---- What is accepted

  bool is_adaptive() const { return pipeline_ && pipeline_->adaptive.may_have_window(); }

  uint32_t accept(int32_t position, int64_t id, bool is_final) {
    float observation = contract::quiet_nan();
    if (is_adaptive() || (is_final && has_outputs_)) {
      const uint32_t status = open(position);
      if (status != SAMPLER_ROW_OK) return status;
      if (is_adaptive()) observation = sampled_.observation(id);
    }
    if (is_final) report(position, id);
    if (pipeline_) said_.append(slot_, id, observation);
    tokens_[depth_] = id;
    positions_[depth_] = position;
    ++depth_;
    forget_rows();
    return SAMPLER_ROW_OK;
  }

  // The token after the drafts.
  uint32_t finish(int32_t position, int64_t token) {
    if (has_outputs_) {
      const uint32_t status = open(position);
      if (status != SAMPLER_ROW_OK) return status;
      report(position, token);
    }
    tokens_[depth_] = token;
    positions_[depth_] = position;
    return SAMPLER_ROW_OK;
  }

  void report(int32_t position, int64_t id) {
    if (!has_outputs_) return;
    sampled_.write_good(output(position), id);
    if (!more_.positions.reports) return;
    sampled_.report_shared();
    is_changed_ = true;  // lists of the row are used up
  }

  // Of the token that is decided at a position. Those of drafts that are only counted are written
  // over.
  int64_t output(int32_t position) const {
    return chain_.row * num_places_ + (is_counting_ ? position : depth_);
  }

  void write(uint32_t status) {
    const bool is_good = status == SAMPLER_ROW_OK;
    const int32_t num_tokens = is_good ? depth_ + 1 : 0;
    const int64_t first = chain_.row * num_places_;
    for (int32_t i = 0; i < num_places_; ++i) {
      const bool is_there = i < num_tokens;
      const int64_t instead = !is_good && i == 0 ? request_.bad_row_token : -1;
      contract::store_id(request_.out_token_ids, first + i, is_there ? tokens_[i] : instead);
      if (more_.out_positions) more_.out_positions[first + i] = is_there ? positions_[i] : -1;
      if (more_.out_kv_indices) {
        more_.out_kv_indices[first + i] = is_there ? more_.kv_indices[first + positions_[i]] : -1;
      }
      if (has_outputs_ && !is_there) sampled_.write_bad(first + i);
    }
    chain_.emitted = depth_;
    contract::write_chain_outcome(request_, chain_, status);
  }

  // ---- Rows

  Row &row() { return sampled_.row(); }

  void forget_rows() {
    open_ = open_draft_ = kNone;
    is_changed_ = false;
  }

  bool is_sample_match() const { return rule_ == SAMPLER_ACCEPT_SAMPLE_MATCH; }
  // Of the token that is drawn next, as sampler_sample draws it.
  contract::RandomStream sample_stream() const {
    contract::RandomStream stream = chain_.random;
    stream.offset += uint64_t(depth_);
    return stream;
  }
  uint32_t xtc_word(int32_t position) const {
    if (!pipeline_) return 0;
    constexpr contract::Purpose kXtc = contract::Purpose::kXtc;
    return is_sample_match() ? contract::random_word32(sample_stream(), kXtc, 0)
                             : contract::random_word32(chain_.random, kXtc, uint32_t(position));
  }

  // The target's row at a position, as the drafts that were accepted leave it.
  uint32_t open(int32_t position, bool asks_for_draws = true) {
    if (open_ == position && !is_changed_) return SAMPLER_ROW_OK;
    open_ = kNone;
    is_changed_ = is_empty_ = false;
    RowView view;
    if (!contract::find_target_row(request_, more_, place_, chain_.row, position, chain_.length,
                                   &view)) {
      return SAMPLER_ROW_INVALID_INDEX;
    }
    uint32_t status = sampled_.prepare(
        {view, slot_, output(position), chain_.row * num_places_ + position, 1, xtc_word(position)},
        chain_.parameters, asks_for_draws);
    // Given probabilities may be 0 everywhere, until one of them is drawn.
    const bool is_tolerated =
        view.kind == SAMPLER_PROBABILITIES && !chain_.greedy && !is_sample_match() && !has_outputs_;
    if (status == SAMPLER_ROW_EMPTY && is_tolerated) {
      is_empty_ = true;
      status = SAMPLER_ROW_OK;
    }
    if (status == SAMPLER_ROW_OK) open_ = position;
    return status;
  }

  bool has_stages() const { return pipeline_ && pipeline_->changes_rows(); }

  // Of a token of the open row.
  float probability(int64_t id) {
    if (is_empty_) return 0.0f;
    const bool is_given = row().kind() == SAMPLER_PROBABILITIES && !has_stages() && !is_changed_;
    return is_given ? row().probability_of(id) : row().kept_probability(id);
  }

  // Of all tokens of the open row, as its elements stand. `values_` is used.
  void write_probabilities(float *out) {
    const int64_t count = row().view().count;
    if (is_empty_) {
      std::fill_n(out, count, 0.0f);
    } else if (!has_stages()) {
      row().chain_probabilities(out);
    } else {
      const int32_t *ids = nullptr;
      const int64_t num_kept = row().list_kept(&ids);
      std::fill_n(out, count, 0.0f);
      row().write_listed_probabilities(values_);
      const Elements &elements = sampled_.stages().elements();
      for (int64_t i = 0; i < num_kept; ++i) out[elements.find(ids[i])] = values_[i];
    }
  }

  // Where nothing else is asked of a row of given probabilities, no other element is read.
  bool reads_elements(const contract::Rows &rows) const {
    return rows.kind == SAMPLER_PROBABILITIES && !rows.ids;
  }
  static uint32_t look_up(const RowView &view, int64_t num_cols, int64_t id, float *probability) {
    if (!contract::has_valid_count(view, num_cols)) return SAMPLER_ROW_INVALID_CANDIDATE;
    *probability = id < view.count ? view.value(id) : 0.0f;
    return contract::is_valid_value(view.kind, *probability) ? SAMPLER_ROW_OK
                                                             : SAMPLER_ROW_INVALID_VALUE;
  }

  uint32_t look_up_target(int32_t position, int64_t id, float *p) {
    const bool is_open = open_ == position;
    if (!is_open && !pipeline_ && !has_outputs_ && reads_elements(request_.target)) {
      RowView view;
      if (!contract::find_target_row(request_, more_, place_, chain_.row, position, chain_.length,
                                     &view)) {
        return SAMPLER_ROW_INVALID_INDEX;
      }
      return look_up(view, request_.target.num_cols, id, p);
    }
    if (!is_changed_) {
      const uint32_t status = open(position);
      if (status != SAMPLER_ROW_OK) return status;
    }
    *p = probability(id);
    return SAMPLER_ROW_OK;
  }

  uint32_t look_up_draft(int32_t draft, int64_t id, float *q) {
    *q = 1.0f;
    if (!request_.draft.values) return SAMPLER_ROW_OK;
    const bool is_whole = !excludes_siblings() || num_tried_ == 0;
    if (is_whole && reads_elements(request_.draft)) {
      RowView view;
      if (!contract::find_draft_row(request_, more_, place_, chain_.row, slot_, draft, &view)) {
        return SAMPLER_ROW_INVALID_INDEX;
      }
      return look_up(view, request_.target.num_cols, id, q);
    }
    const uint32_t status = open_draft(draft);
    if (status == SAMPLER_ROW_OK) *q = draft_.probability_of(id);
    return status;
  }

  // The row that a draft was drawn from.
  uint32_t open_draft(int32_t draft) {
    if (open_draft_ == draft) return SAMPLER_ROW_OK;
    open_draft_ = kNone;
    RowView view;
    if (!contract::find_draft_row(request_, more_, place_, chain_.row, slot_, draft, &view)) {
      return SAMPLER_ROW_INVALID_INDEX;
    }
    uint32_t status = draft_.load(view);
    const bool is_given = view.kind == SAMPLER_PROBABILITIES;
    if (is_given && status == SAMPLER_ROW_EMPTY) status = SAMPLER_ROW_OK;
    if (status != SAMPLER_ROW_OK) return status;
    if (!is_given) draft_.distribute(draft_parameters_, more_.draft_parameters.rules);
    if (excludes_siblings() && num_tried_ > 0) exclude_tried(view);
    open_draft_ = draft;
    return SAMPLER_ROW_OK;
  }

  // Without the siblings that were tried before, and of sum 1 again.
  void exclude_tried(RowView view) {
    draft_.chain_probabilities(draft_values_);
    for (int32_t i = 0; i < num_tried_; ++i) draft_.remove(tried_[i], draft_values_);
    if (draft_.become(draft_values_)) {
      draft_.write_probabilities(excluded_values_, SAMPLER_F32);
    } else {
      std::fill_n(excluded_values_, view.count, 0.0f);
    }
    view.values = excluded_values_;
    view.dtype = SAMPLER_F32;
    view.kind = SAMPLER_PROBABILITIES;
    draft_.load(view);
  }

  const contract::ChainRequest &request_;
  const contract::Verification &more_;
  const contract::AcceptanceNumbers &numbers_;
  const contract::Pipeline *pipeline_;
  int64_t num_places_;
  SampledRow<Row> sampled_;
  Row draft_;
  AssumedText said_;
  float *values_, *other_;  // of the target's elements; what it has become, and what it may become
  float *draft_values_, *excluded_values_;
  contract::Tree tree_;
  int32_t *tree_memory_;
  int64_t *tokens_;
  int32_t *positions_;
  int64_t *tried_;  // siblings that were rejected
  int32_t num_tried_ = 0;
  bool has_outputs_;  // for each token

  contract::Chain chain_ = {};
  contract::SequencePlace place_ = {};
  contract::RowParameters draft_parameters_ = {};
  int64_t slot_ = 0;
  sampler_acceptance rule_ = SAMPLER_ACCEPT_STANDARD;
  int32_t depth_ = 0;     // drafts that were accepted
  int32_t open_ = kNone;  // the position whose row is loaded
  int32_t open_draft_ = kNone;
  bool is_counting_ = false;  // drafts behind the first rejection
  bool is_changed_ = false;   // the row is not as it was opened
  bool is_empty_ = false;     // the open row has given probabilities, all 0
};

}  // namespace sampler::cpu
