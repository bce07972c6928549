// Extended verification of one sequence: the accepted drafts, and the distribution of the last
// token. Sections 10 and 16 of docs/contract.md.
//
// All threads of a sequence take the same path: `Models` returns the same value to each.
#pragma once

#include <cstdint>

#include "contract/adaptive_values.h"
#include "contract/entropy.h"
#include "contract/host_device.h"
#include "contract/log2.h"
#include "contract/philox.h"
#include "contract/rank.h"
#include "contract/request.h"
#include "contract/row_view.h"
#include "contract/verification.h"

namespace sampler::contract {

// A position's target row, and its use.
struct TargetPlace {
  RowView view;
  int64_t slot;
  int64_t output;       // output of its reports
  int64_t mask_output;  // output whose bitmask applies
  uint32_t xtc_word;
};

// Which probabilities are read.
enum class RowState {
  kOpened,  // those of the loaded row; given probabilities without stages are unchanged
  kChanged  // those of the residual, or of another change of the row
};

// `Models` reads the rows of both models, one of each loaded at a time, and holds a sequence's
// history. All functions that can fail return a row status. Tokens passed in are in the vocabulary.
//
//   has_pipeline(), is_adaptive(), has_outputs()
//                          whether there are stages; stages that observations update; per-token
//                          outputs
//   gives_up()             whether a row could not be read: nothing is written
//   begin_text(slot)       resets the history to the slot's own
//   append(slot, id, observation)
//                          appends a token to the history
//
//   load(place, parameters, asks_for_draws)
//                          loads a row of the target. asks_for_draws false: tokens that cannot be
//                          drawn are read, too
//   draw_as_sample(stream, &id)
//                          draws from the row just loaded, as sampler_sample does
//   has(id), rank_of(id), first()
//                          the row's tokens; the first kept rank
//   probability(id, RowState), kept_entropy_sums()
//   num_before(rank)       number of tokens before a rank, removed ones included
//   entropy_of_first(n)    - sum of p ln p over the first n kept tokens, added in rank order
//   distribute_all()       keeps all tokens, at temperature 1
//   observation(id), report(output, id), report_nothing(output)
//                          observation and reports of the row's token; the outputs of no token
//
//   load_draft(view, parameters, rules)
//                          loads a row of the drafter, which may be 0 everywhere
//   draft_probability(id)
//   begin_exclusion(), exclude(id), end_exclusion()
//                          removes tokens from the draft row and renormalises it; 0 everywhere if
//                          none is left
//
//   begin_change(RowState, factor, subtracts_draft), remove(id), end_change()
//                          changes the row to factor * p, or max(factor * p - q, 0), with single
//                          tokens set to 0. end_change() returns false if that is 0 everywhere; the
//                          row must then be loaded again
//   changed_sum()          sum of the changed row
//   draw_changed(word, &id)
//                          draws from the changed row, right after the change
//   keeps_loaded()         whether observations and reports still refer to the row as loaded
//
//   workers()              as for Sequence: the threads that share writes
//
// kMatches: all sequences are decided by decide_by_match(), or beforehand; and all trees have
// parents. kRelaxesGreedy: sequences may be both greedy and of RELAXED.
template <class Models>
class Verifier {
 public:
  // `memory` has room for a tree of request.num_drafts + 1 positions; null for chains.
  SAMPLER_HD Verifier(const VerifyRequest &request, const Verification &extended,
                      const TreeMemory &memory, Models &models)
      : request_(request), extended_(extended), models_(models), memory_(memory) {}

  // Verifies one sequence and writes all its outputs.
  SAMPLER_HD void run_sequence(int64_t sequence) {
    uint32_t status = begin(sequence, INT32_MAX);
    if (status == SAMPLER_ROW_OK) status = verify();
    while (status != SAMPLER_ROW_OK && keeps_verified() && judges_whole_chain()) {
      if (bad_position_ <= 0 || models_.gives_up()) break;
      status = begin(sequence, bad_position_ - 1);
      if (status == SAMPLER_ROW_OK) status = verify();
    }
    if (models_.gives_up()) return;
    if (status != SAMPLER_ROW_OK && (!keeps_verified() || judges_whole_chain())) depth_ = 0;
    write(status);
  }

 private:
  static constexpr int32_t kNone = -1;

  // ---- A sequence

  // Drafts after the first `most_drafts` are ignored.
  SAMPLER_HD_CALL uint32_t begin(int64_t sequence, int32_t most_drafts) {
    bad_position_ = kNone;
    chain_ = {};
    chain_.row = sequence;
    chain_.draft_status = SAMPLER_ROW_OK;
    depth_ = 0;
    is_counting_ = false;
    forget_rows();
    slot_ = request_.slots[sequence];
    const bool is_found = find_sequence(request_, extended_, sequence, &place_);
    if (is_found) take_drafts();
    uint32_t status = read_parameters(request_, slot_, &chain_.parameters);
    if (status != SAMPLER_ROW_OK) return status;
    rule_ = extended_.acceptance[slot_];
    if (rule_ == SAMPLER_ACCEPT_DEFAULT) rule_ = extended_.acceptance.value;
    if (!can_accept_by(rule_, extended_)) return SAMPLER_ROW_INVALID_PARAMETER;
    chain_.greedy = is_greedy(chain_.parameters.temperature);
    chain_.random = request_.random.of(slot_);
    draft_parameters_ = extended_.draft_parameters.of(slot_);
    if (request_.draft.values && request_.draft.kind == SAMPLER_LOGITS) {
      status = check_parameters(request_.draft.kind, draft_parameters_);
    }
    if (status != SAMPLER_ROW_OK) return status;
    if (!is_found) return SAMPLER_ROW_INVALID_LIST;
    num_drafts_ = chain_.length;
    if (chain_.length > most_drafts) chain_.length = most_drafts;
    if (extended_.has_trees() && !make_tree()) return SAMPLER_ROW_INVALID_TREE;
    return models_.begin_text(slot_);
  }

  // The number of drafts, and whether that and they are valid.
  SAMPLER_HD void take_drafts() {
    const int32_t num_drafts = int32_t(request_.num_drafts), length = place_.length;
    chain_.length = length < 0 ? 0 : length > num_drafts ? num_drafts : length;
    bool is_valid = chain_.length == length;
    for (int32_t i = 0; i < chain_.length; ++i) is_valid = is_valid && is_token(draft_id(i));
    if (!is_valid) chain_.draft_status = SAMPLER_ROW_INVALID_DRAFT;
  }

  SAMPLER_HD bool make_tree() {
    const auto workers = models_.workers();
    if (workers.index == 0) {
      if constexpr (Models::kMatches) {
        *memory_.is_tree = take_parents(request_, extended_, chain_.row, chain_.length, memory_);
      } else {
        *memory_.is_tree =
            contract::make_tree(request_, extended_, chain_.row, chain_.length, memory_);
      }
    }
    workers.wait();
    return *memory_.is_tree != 0;
  }

  SAMPLER_HD int64_t draft_id(int32_t draft) const {
    return load_id(request_.draft_token_ids, request_.out_token_ids.type,
                   place_.first_draft + draft);
  }
  SAMPLER_HD bool is_token(int64_t id) const { return is_in_vocabulary(request_, id); }

  SAMPLER_HD bool keeps_verified() const { return extended_.keeps_verified; }
  SAMPLER_HD bool judges_whole_chain() const {
    const bool is_whole = rule_ == SAMPLER_ACCEPT_BLOCK || rule_ == SAMPLER_ACCEPT_DEFERRED;
    return is_whole && !chain_.greedy && !has_forced_tokens();
  }

  SAMPLER_HD uint32_t verify() {
    if constexpr (!Models::kMatches) {
      if (judges_whole_chain()) {
        return rule_ == SAMPLER_ACCEPT_BLOCK ? verify_block() : verify_deferred();
      }
    }
    const uint32_t status = walk();
    if (status == SAMPLER_ROW_OK) count_accepted();
    return status;
  }

  // Descends from the root while a child is accepted.
  SAMPLER_HD_CALL uint32_t walk() {
    for (int32_t position = 0;;) {
      int32_t next = kNone;
      int64_t token = -1;
      uint32_t status = decide(position, &next, &token);
      if (status != SAMPLER_ROW_OK) return status;
      if (next == kNone) return finish(position, token);
      status = accept(position, draft_id(next - 1), true);
      if (status != SAMPLER_ROW_OK) return status;
      position = next;
      note_position(position);
    }
  }

  // `next`: the accepted child, as a position; or kNone, and `token` is emitted instead.
  SAMPLER_HD_CALL uint32_t decide(int32_t position, int32_t *next, int64_t *token) {
    const int64_t forced = forced_token(position);
    if (forced >= 0) return decide_forced(position, forced, next, token);
    if constexpr (Models::kMatches) {
      return decide_by_match(position, next, token);
    } else {
      if (rule_ == SAMPLER_ACCEPT_SYNTHETIC) return decide_synthetic(position, next, token);
      if constexpr (Models::kRelaxesGreedy) {
        if (rule_ == SAMPLER_ACCEPT_RELAXED && chain_.greedy) {
          return decide_relaxed_greedy(position, next, token);
        }
      }
      if (chain_.greedy || is_sample_match()) return decide_by_match(position, next, token);
      if (rule_ == SAMPLER_ACCEPT_TYPICAL) return decide_typical(position, next, token);
      if (rule_ == SAMPLER_ACCEPT_THRESHOLD) return decide_by_threshold(position, next, token);
      return decide_standard(position, next, token);
    }
  }

  SAMPLER_HD int32_t first_child(int32_t position) const {
    if (extended_.has_trees()) return memory_.first_children[position];
    return position < chain_.length ? position + 1 : 0;
  }
  SAMPLER_HD int32_t next_sibling(int32_t position) const {
    return extended_.has_trees() ? memory_.next_siblings[position] : 0;
  }
  SAMPLER_HD bool has_children(int32_t position) const { return first_child(position) != 0; }

  // The first child, as a position, that is in the vocabulary and for which f(child) is true;
  // kNone: no such child.
  template <class F>
  SAMPLER_HD int32_t find_child(int32_t position, const F &f) const {
    for (int32_t child = first_child(position); child; child = next_sibling(child)) {
      if (is_token(draft_id(child - 1)) && f(child)) return child;
    }
    return kNone;
  }
  // Calls f(id) for the children before `end`.
  template <class F>
  SAMPLER_HD void for_each_child(int32_t position, int32_t end, const F &f) const {
    find_child(position, [&](int32_t child) {
      if (child == end) return true;
      f(draft_id(child - 1));
      return false;
    });
  }

  // ---- Rules

  // The token that is decided beforehand; negative: none.
  SAMPLER_HD_CALL int64_t forced_token(int32_t position) const {
    if (!extended_.forced_token_ids) return -1;
    return load_id(extended_.forced_token_ids, request_.out_token_ids.type,
                   first_output() + position);
  }
  // In a chain.
  SAMPLER_HD bool has_forced_tokens() const {
    for (int32_t i = 0; extended_.forced_token_ids && i <= chain_.length; ++i) {
      if (forced_token(i) >= 0) return true;
    }
    return false;
  }

  SAMPLER_HD uint32_t decide_forced(int32_t position, int64_t forced, int32_t *next,
                                    int64_t *token) {
    const uint32_t status = open(position);
    if (status != SAMPLER_ROW_OK) return status;
    if (!models_.has(forced)) return SAMPLER_ROW_INVALID_PARAMETER;
    *token = forced;
    *next = find_child(position, [&](int32_t child) { return draft_id(child - 1) == forced; });
    return SAMPLER_ROW_OK;
  }

  SAMPLER_HD uint32_t decide_by_match(int32_t position, int32_t *next, int64_t *token) {
    const uint32_t status = open(position);
    if (status != SAMPLER_ROW_OK) return status;
    models_.draw_as_sample(sample_stream(), token);
    *next = find_child(position, [&](int32_t child) { return draft_id(child - 1) == *token; });
    return SAMPLER_ROW_OK;
  }

  SAMPLER_HD uint32_t decide_synthetic(int32_t position, int32_t *next, int64_t *token) {
    const uint32_t status = open(position);
    if (status != SAMPLER_ROW_OK) return status;
    *next = find_child(position, [&](int32_t child) {
      const double u = uniform_of(acceptance_word(chain_, child - 1));
      return u < double(extended_.numbers.synthetic_rates[child - 1]);
    });
    return *next == kNone ? find_token(position, token) : uint32_t(SAMPLER_ROW_OK);
  }

  SAMPLER_HD uint32_t decide_typical(int32_t position, int32_t *next, int64_t *token) {
    const uint32_t status = open(position);
    if (status != SAMPLER_ROW_OK) return status;
    if (has_children(position) && !is_empty_) {
      const float entropy = entropy_in_nats(models_.kept_entropy_sums());
      *next = find_child(position, [&](int32_t child) {
        return accepts_typical(extended_.numbers, probability(draft_id(child - 1)), entropy);
      });
    }
    return *next == kNone ? find_token(position, token) : uint32_t(SAMPLER_ROW_OK);
  }

  // Whether the token is within relaxed_top_k, and within relaxed_delta of the highest probability.
  SAMPLER_HD_CALL bool is_relaxed(int64_t id) {
    const float p = probability(id);
    if (!(p > 0.0f)) return false;
    const float most = probability(id_of_rank(models_.first()));
    if (!(p >= most - extended_.numbers.relaxed_delta)) return false;
    return models_.num_before(models_.rank_of(id)) < extended_.numbers.relaxed_top_k;
  }
  SAMPLER_HD int32_t find_relaxed(int32_t position) {
    return find_child(position, [&](int32_t child) { return is_relaxed(draft_id(child - 1)); });
  }

  SAMPLER_HD uint32_t decide_relaxed_greedy(int32_t position, int32_t *next, int64_t *token) {
    const uint32_t status = open(position, false);
    if (status != SAMPLER_ROW_OK) return status;
    *token = id_of_rank(models_.first());
    if (!has_children(position)) return SAMPLER_ROW_OK;
    models_.distribute_all();
    is_changed_ = true;
    *next = find_relaxed(position);
    return SAMPLER_ROW_OK;
  }

  // A token that several children share counts once.
  SAMPLER_HD uint32_t decide_by_threshold(int32_t position, int32_t *next, int64_t *token) {
    const uint32_t status = open(position);
    if (status != SAMPLER_ROW_OK) return status;
    float total = 0.0f;
    *next = find_child(position, [&](int32_t child) {
      const int64_t id = draft_id(child - 1);
      bool is_new = true;
      for_each_child(position, child, [&](int64_t other) { is_new = is_new && other != id; });
      const float p = is_new && !is_empty_ ? probability(id) : 0.0f;
      total += p;
      return accepts_by_threshold(extended_.numbers, acceptance_word(chain_, position), p, total);
    });
    if (*next != kNone) return SAMPLER_ROW_OK;
    change(1.0f, false,
           [&] { for_each_child(position, kNone, [&](int64_t id) { models_.remove(id); }); });
    return find_token(position, token);
  }

  // The standard rule. Under the relaxed rule it decides only if no child is within the bounds.
  SAMPLER_HD uint32_t decide_standard(int32_t position, int32_t *next, int64_t *token) {
    uint32_t status = SAMPLER_ROW_OK;
    if (rule_ == SAMPLER_ACCEPT_RELAXED) {
      status = open(position);
      if (status != SAMPLER_ROW_OK) return status;
      *next = find_relaxed(position);
      if (*next != kNone) return SAMPLER_ROW_OK;
    }
    *next = find_child(position, [&](int32_t child) {
      bool is_accepted = false;
      status = judge(position, child, &is_accepted);
      if (status != SAMPLER_ROW_OK || is_accepted) return true;
      status = reject(position, child);
      return status != SAMPLER_ROW_OK;
    });
    if (status != SAMPLER_ROW_OK || *next != kNone) return status;
    return find_token(position, token);
  }

  // The standard test of one draft. Siblings may have been rejected before.
  SAMPLER_HD_CALL uint32_t judge(int32_t position, int32_t child, bool *is_accepted) {
    const int64_t id = draft_id(child - 1);
    float p = 0.0f, q = 0.0f;
    uint32_t status = look_up_target(position, id, &p);
    if (status == SAMPLER_ROW_OK) status = look_up_draft(position, child, id, &q);
    if (status != SAMPLER_ROW_OK) return status;
    *is_accepted = accepts_draft(acceptance_word(chain_, child - 1), p, q);
    return SAMPLER_ROW_OK;
  }

  // The open row becomes the residual, for the next sibling or the last token.
  SAMPLER_HD_CALL uint32_t reject(int32_t position, int32_t child) {
    uint32_t status = is_changed_ ? uint32_t(SAMPLER_ROW_OK) : open(position);
    if (status == SAMPLER_ROW_OK && request_.draft.values) status = open_draft(position, child);
    if (status == SAMPLER_ROW_OK) subtract_child(child, 1.0f);
    return status;
  }

  // The open row becomes max(factor * p - q, 0).
  SAMPLER_HD_CALL void subtract_child(int32_t child, float factor) {
    const bool has_draft = request_.draft.values != nullptr;
    change(factor, has_draft, [&] {
      if (!has_draft) models_.remove(draft_id(child - 1));
    });
  }

  // Changes the open row. If the result is 0 everywhere, the target's row is used again.
  template <class Remove>
  SAMPLER_HD void change(float factor, bool subtracts_draft, const Remove &remove) {
    if (!is_empty_) {
      models_.begin_change(is_changed_ ? RowState::kChanged : RowState::kOpened, factor,
                           subtracts_draft);
      remove();
      is_changed_ = models_.end_change();
    }
    if (is_empty_ || !is_changed_) forget_rows();
  }

  // Draws the token after the last accepted draft.
  SAMPLER_HD_CALL uint32_t find_token(int32_t position, int64_t *token) {
    if (!is_changed_) {
      const uint32_t status = open(position);
      if (status != SAMPLER_ROW_OK) return status;
      if (chain_.greedy) {
        *token = id_of_rank(models_.first());
        return SAMPLER_ROW_OK;
      }
      change(1.0f, false, [] {});
      if (!is_changed_) return SAMPLER_ROW_EMPTY;
    }
    models_.draw_changed(last_token_word(chain_, position, has_children(position)), token);
    return SAMPLER_ROW_OK;
  }

  // Counts the drafts after the first rejection that would each be accepted on its own.
  SAMPLER_HD_CALL void count_accepted() {
    chain_.accepted = depth_;
    const bool is_counted =
        request_.out_accepted_counts && !extended_.has_trees() && rule_ == SAMPLER_ACCEPT_STANDARD;
    for (int32_t i = depth_ + 1; is_counted && i < chain_.length; ++i) {
      is_counting_ = true;
      forget_rows();
      assume(i - 1);
      bool is_accepted = false;
      uint32_t status = SAMPLER_ROW_OK;
      if (forced_token(i) >= 0) {
        is_accepted = draft_id(i) == forced_token(i);
      } else if (Models::kMatches || chain_.greedy) {
        status = open(i);
        is_accepted =
            status == SAMPLER_ROW_OK && int64_t(id_of_rank(models_.first())) == draft_id(i);
      } else if constexpr (!Models::kMatches) {
        if (is_token(draft_id(i))) status = judge(i, i + 1, &is_accepted);
      }
      chain_.accepted += status == SAMPLER_ROW_OK && is_accepted;
    }
  }

  // Extends the history by a draft that was not accepted.
  SAMPLER_HD void assume(int32_t draft) {
    const int64_t id = draft_id(draft);
    if (!models_.has_pipeline() || !is_token(id)) return;
    const bool is_observed =
        models_.is_adaptive() && open(draft) == SAMPLER_ROW_OK && models_.has(id);
    models_.append(slot_, id, is_observed ? models_.observation(id) : quiet_nan());
    forget_rows();
  }

  // ---- Rules that verify a whole chain

  // Restarts and accepts the first `count` drafts.
  SAMPLER_HD_CALL uint32_t accept_prefix(int32_t count) {
    forget_rows();
    depth_ = 0;
    uint32_t status = models_.begin_text(slot_);
    for (int32_t i = 0; i < count && status == SAMPLER_ROW_OK; ++i) {
      status = accept(i, draft_id(i), true);
    }
    chain_.accepted = count;
    return status;
  }

  SAMPLER_HD_CALL uint32_t verify_block() {
    int32_t length = 0;  // drafts before the first invalid id
    while (length < chain_.length && is_token(draft_id(length))) ++length;
    double ratio = 1.0, best_ratio = 1.0;
    int32_t best = 0;
    for (int32_t i = 0; i < length; ++i) {
      const int64_t id = draft_id(i);
      float p = 0.0f, q = 0.0f;
      uint32_t status = open(i);
      if (status == SAMPLER_ROW_OK) status = look_up_target(i, id, &p);
      if (status == SAMPLER_ROW_OK) status = look_up_draft(i, i + 1, id, &q);
      if (status != SAMPLER_ROW_OK) return status;
      if (i > 0) {
        double left = 0.0;
        status = take_residual(i, ratio, &left);
        if (status != SAMPLER_ROW_OK) return status;
        if (accepts_block(acceptance_word(chain_, i - 1), ratio, left)) {
          best = i;
          best_ratio = ratio;
        }
      }
      ratio = block_ratio(ratio, p, q);
      status = accept(i, id, false);
      if (status != SAMPLER_ROW_OK) return status;
    }
    if (length > 0 && uniform_of(acceptance_word(chain_, length - 1)) < ratio) best = length;
    uint32_t status = accept_prefix(best);
    if (status != SAMPLER_ROW_OK) return status;
    double left = 0.0;
    if (best < length) status = take_residual(best, best_ratio, &left);
    return status == SAMPLER_ROW_OK ? finish_with_token(best) : status;
  }

  // The row becomes max(ratio * p - q, 0), and `left` its sum. Unchanged if that is 0 everywhere.
  SAMPLER_HD_CALL uint32_t take_residual(int32_t position, double ratio, double *left) {
    uint32_t status = open(position);
    if (status == SAMPLER_ROW_OK && request_.draft.values) {
      status = open_draft(position, position + 1);
    }
    if (status != SAMPLER_ROW_OK) return status;
    subtract_child(position + 1, float(ratio));
    if (is_changed_) *left = models_.changed_sum();
    return SAMPLER_ROW_OK;
  }

  SAMPLER_HD_CALL uint32_t verify_deferred() {
    const int32_t window = extended_.numbers.deferred_window;
    int32_t count = 0, deferred = kNone;
    for (; count < chain_.length; ++count) {
      const int64_t id = draft_id(count);
      bool is_accepted = false;
      uint32_t status = SAMPLER_ROW_OK;
      if (is_token(id)) status = judge(count, count + 1, &is_accepted);
      if (status == SAMPLER_ROW_OK && !is_accepted) {
        if (deferred != kNone) break;
        bool is_deferred = false;
        if (window < chain_.length - count) status = check_deferral(count, id, &is_deferred);
        if (status == SAMPLER_ROW_OK && !is_deferred) break;
        deferred = count;
      }
      if (status == SAMPLER_ROW_OK) status = accept(count, id, false);
      if (status != SAMPLER_ROW_OK) return status;
      if (deferred != kNone && count - deferred == window) deferred = kNone;
    }
    if (deferred != kNone) count = deferred;
    uint32_t status = accept_prefix(count);
    if (status == SAMPLER_ROW_OK && count < chain_.length && is_token(draft_id(count))) {
      status = reject(count, count + 1);
    }
    return status == SAMPLER_ROW_OK ? finish_with_token(count) : status;
  }

  // Whether the decision on a rejected draft is deferred to the next drafts.
  SAMPLER_HD_CALL uint32_t check_deferral(int32_t position, int64_t id, bool *is_deferred) {
    if (!is_token(id)) return SAMPLER_ROW_OK;
    float q = 0.0f;
    uint32_t status = open(position);
    if (status == SAMPLER_ROW_OK) status = look_up_draft(position, position + 1, id, &q);
    if (status != SAMPLER_ROW_OK) return status;
    if (is_empty_ || !(probability(id) > 0.0f) || !(q > 0.0f)) return SAMPLER_ROW_OK;
    const float entropy = models_.entropy_of_first(extended_.numbers.deferred_top_k);
    *is_deferred = entropy >= extended_.numbers.deferred_entropy;
    forget_rows();
    return SAMPLER_ROW_OK;
  }

  // ---- Accepted tokens

  // The position at which the token of a depth is decided.
  SAMPLER_HD int32_t position_at(int32_t depth) const {
    return extended_.has_trees() ? memory_.positions[depth] : depth;
  }
  SAMPLER_HD void note_position(int32_t position) {
    if (extended_.has_trees() && models_.workers().index == 0) memory_.positions[depth_] = position;
  }

  SAMPLER_HD_CALL uint32_t accept(int32_t position, int64_t id, bool is_final) {
    float observation = quiet_nan();
    if (models_.is_adaptive() || (is_final && models_.has_outputs())) {
      const uint32_t status = open_as_loaded(position);
      if (status != SAMPLER_ROW_OK) return status;
      if (models_.is_adaptive()) observation = models_.observation(id);
    }
    if (is_final && models_.has_outputs()) report(position, id);
    if (models_.has_pipeline()) models_.append(slot_, id, observation);
    note_position(position);
    ++depth_;
    forget_rows();
    return SAMPLER_ROW_OK;
  }

  // Emits and reports the last token.
  SAMPLER_HD_CALL uint32_t finish(int32_t position, int64_t token) {
    if (models_.has_outputs()) {
      const uint32_t status = open_as_loaded(position);
      if (status != SAMPLER_ROW_OK) return status;
      report(position, token);
    }
    note_position(position);
    chain_.last_token = token;
    return SAMPLER_ROW_OK;
  }
  SAMPLER_HD_CALL uint32_t finish_with_token(int32_t position) {
    int64_t token = -1;
    const uint32_t status = find_token(position, &token);
    return status == SAMPLER_ROW_OK ? finish(position, token) : status;
  }

  // A row that is 0 everywhere has the reports of a bad one. None is where all drafts are compared.
  SAMPLER_HD void report(int32_t position, int64_t id) {
    if (!Models::kMatches && is_empty_) {
      models_.report_nothing(output(position));
    } else {
      models_.report(output(position), id);
    }
  }

  // Output of the token decided at a position. Outputs of drafts that are only counted are
  // overwritten later.
  SAMPLER_HD int64_t output(int32_t position) const {
    return first_output() + (is_counting_ ? position : depth_);
  }
  SAMPLER_HD int64_t first_output() const { return chain_.row * (request_.num_drafts + 1); }

  SAMPLER_HD int64_t token_at(int32_t depth) const {
    return depth < depth_ ? draft_id(position_at(depth + 1) - 1) : chain_.last_token;
  }

  SAMPLER_HD_CALL void write(uint32_t status) {
    const bool is_good = status == SAMPLER_ROW_OK;
    const int32_t num_places = int32_t(request_.num_drafts) + 1;
    const int32_t num_tokens = is_good ? depth_ + 1 : depth_;
    const int64_t first = first_output();
    const auto workers = models_.workers();
    workers.wait();
    for (int32_t i = workers.index; i < num_places; i += workers.count) {
      const bool is_there = i < num_tokens;
      const int64_t instead = !is_good && i == 0 ? request_.bad_row_token : -1;
      store_id(request_.out_token_ids, first + i, is_there ? token_at(i) : instead);
      if (extended_.out_positions)
        extended_.out_positions[first + i] = is_there ? position_at(i) : -1;
      if (extended_.out_kv_indices) {
        extended_.out_kv_indices[first + i] =
            is_there ? extended_.kv_indices[first + position_at(i)] : -1;
      }
    }
    for (int32_t i = num_tokens; models_.has_outputs() && i < num_places; ++i) {
      models_.report_nothing(first + i);
    }
    chain_.emitted = depth_;
    if (!is_good && keeps_verified()) {
      chain_.accepted = depth_;
      chain_.draft_status |= status;
      status = SAMPLER_ROW_OK;  // for the counts
    }
    if (workers.index == 0) write_chain_outcome(request_, chain_, status);
  }

  // ---- Rows

  SAMPLER_HD void forget_rows() {
    open_ = open_draft_ = kNone;
    is_changed_ = false;
  }

  SAMPLER_HD bool is_sample_match() const { return rule_ == SAMPLER_ACCEPT_SAMPLE_MATCH; }
  // Random stream of the next token, as in sampler_sample.
  SAMPLER_HD RandomStream sample_stream() const {
    RandomStream stream = chain_.random;
    stream.offset += uint64_t(depth_);
    return stream;
  }
  SAMPLER_HD uint32_t xtc_word(int32_t position) const {
    if (!models_.has_pipeline()) return 0;
    return is_sample_match() ? random_word32(sample_stream(), Purpose::kXtc, 0)
                             : random_word32(chain_.random, Purpose::kXtc, uint32_t(position));
  }

  SAMPLER_HD bool find_view(int32_t position, RowView *view) const {
    return find_target_row(request_, extended_, place_, chain_.row, position, num_drafts_, view);
  }

  // Loads the target's row at a position, with the accepted drafts in the history.
  SAMPLER_HD_CALL uint32_t open(int32_t position, bool asks_for_draws = true) {
    if (open_ == position && !is_changed_) return SAMPLER_ROW_OK;
    open_ = kNone;
    is_changed_ = is_empty_ = false;
    RowView view;
    if (!find_view(position, &view)) return SAMPLER_ROW_INVALID_INDEX;
    uint32_t status =
        models_.load({view, slot_, output(position), first_output() + position, xtc_word(position)},
                     chain_.parameters, asks_for_draws);
    // A row of given probabilities may be 0 everywhere unless it is drawn from.
    const bool is_tolerated =
        view.kind == SAMPLER_PROBABILITIES && !chain_.greedy && !is_sample_match();
    if (status == SAMPLER_ROW_EMPTY && is_tolerated) {
      is_empty_ = true;
      status = SAMPLER_ROW_OK;
    }
    if (status == SAMPLER_ROW_OK) {
      open_ = position;
    } else {
      bad_position_ = position;
    }
    return status;
  }

  // Observations and reports refer to the row as loaded.
  SAMPLER_HD uint32_t open_as_loaded(int32_t position) {
    const bool is_there = open_ == position && models_.keeps_loaded();
    return is_there ? uint32_t(SAMPLER_ROW_OK) : open(position);
  }

  // Probability of a token in the open row.
  SAMPLER_HD_CALL float probability(int64_t id) {
    if (is_empty_) return 0.0f;
    return models_.probability(id, is_changed_ ? RowState::kChanged : RowState::kOpened);
  }

  // Whether single elements can be read instead of the row: given probabilities without ids.
  SAMPLER_HD bool reads_elements(const Rows &rows) const {
    return rows.kind == SAMPLER_PROBABILITIES && !rows.ids;
  }
  SAMPLER_HD_CALL static uint32_t look_up(const RowView &view, int64_t num_cols, int64_t id,
                                          float *probability) {
    if (!has_valid_count(view, num_cols)) return SAMPLER_ROW_INVALID_CANDIDATE;
    *probability = id < view.count ? view.value(id) : 0.0f;
    return is_valid_value(view.kind, *probability) ? SAMPLER_ROW_OK : SAMPLER_ROW_INVALID_VALUE;
  }

  SAMPLER_HD_CALL uint32_t look_up_target(int32_t position, int64_t id, float *p) {
    const bool reads_one = reads_elements(request_.target) && open_ != position &&
                           !judges_whole_chain() && !models_.has_pipeline() &&
                           !models_.has_outputs();
    if (reads_one) {
      RowView view;
      if (!find_view(position, &view)) return SAMPLER_ROW_INVALID_INDEX;
      return look_up(view, request_.target.num_cols, id, p);
    }
    if (!is_changed_) {
      const uint32_t status = open(position);
      if (status != SAMPLER_ROW_OK) return status;
    }
    *p = probability(id);
    return SAMPLER_ROW_OK;
  }

  // Whether other children of the position were tried before this one.
  SAMPLER_HD bool follows_others(int32_t position, int32_t child) const {
    return find_child(position, [](int32_t) { return true; }) != child;
  }

  SAMPLER_HD_CALL uint32_t look_up_draft(int32_t position, int32_t child, int64_t id, float *q) {
    *q = 1.0f;
    if (!request_.draft.values) return SAMPLER_ROW_OK;
    const bool is_whole = !extended_.excludes_siblings() || !follows_others(position, child);
    if (is_whole && reads_elements(request_.draft)) {
      RowView view;
      if (!find_draft_row(request_, extended_, place_, chain_.row, slot_, child - 1, &view)) {
        return SAMPLER_ROW_INVALID_INDEX;
      }
      return look_up(view, request_.target.num_cols, id, q);
    }
    const uint32_t status = open_draft(position, child);
    if (status == SAMPLER_ROW_OK) *q = models_.draft_probability(id);
    return status;
  }

  // Loads the draft row that a child was drawn from.
  SAMPLER_HD_CALL uint32_t open_draft(int32_t position, int32_t child) {
    if (open_draft_ == child) return SAMPLER_ROW_OK;
    open_draft_ = kNone;
    RowView view;
    if (!find_draft_row(request_, extended_, place_, chain_.row, slot_, child - 1, &view)) {
      return SAMPLER_ROW_INVALID_INDEX;
    }
    const uint32_t status =
        models_.load_draft(view, draft_parameters_, extended_.draft_parameters.rules);
    if (status != SAMPLER_ROW_OK) return status;
    if (extended_.excludes_siblings() && follows_others(position, child)) {
      models_.begin_exclusion();
      for_each_child(position, child, [&](int64_t id) { models_.exclude(id); });
      models_.end_exclusion();
    }
    open_draft_ = child;
    return SAMPLER_ROW_OK;
  }

  const VerifyRequest &request_;
  const Verification &extended_;
  Models &models_;
  TreeMemory memory_;

  Chain chain_ = {};
  SequencePlace place_ = {};
  RowParameters draft_parameters_ = {};
  int64_t slot_ = 0;
  sampler_acceptance rule_ = SAMPLER_ACCEPT_STANDARD;
  int32_t num_drafts_ = 0;        // chain_.length, unless some are ignored
  int32_t depth_ = 0;             // accepted drafts
  int32_t open_ = kNone;          // position whose row is loaded
  int32_t open_draft_ = kNone;    // child, as a position, whose draft row is loaded
  int32_t bad_position_ = kNone;  // last position whose row could not be loaded
  bool is_counting_ = false;      // counts drafts after the first rejection
  bool is_changed_ = false;       // the open row was changed
  bool is_empty_ = false;         // the open row is of given probabilities, all 0
};

}  // namespace sampler::contract
