// Verification of one sequence beyond dense chains by the standard rule: who is accepted, and what
// the last token is drawn from. Sections 10 and 16 of docs/contract.md.
//
// All threads that verify a sequence together walk through it alike: what they ask of the models'
// rows has one answer for all of them.
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

// A position's row of the target, and what it is prepared for.
struct TargetPlace {
  RowView view;
  int64_t slot;
  int64_t output;       // where reports of it go
  int64_t mask_output;  // whose bitmask it is
  uint32_t xtc_word;
};

// What tokens' probabilities are of.
enum class RowState {
  kOpened,  // a row as it was loaded; given probabilities without stages as they are given
  kChanged  // what has become of it
};

// `Models` has the models' rows, one of each at hand, and what a sequence has said. Statuses are
// results; tokens that are asked for are in the vocabulary.
//
//   has_pipeline(), is_adaptive(), has_outputs()
//                          whether there are stages, such that observations move, and whether
//                          anything is told of each token
//   begin_text(slot)       what the slot has said, before all of its rows
//   append(slot, id, observation)
//                          a token more
//
//   load(place, parameters, asks_for_draws)
//                          makes a row of the target the one at hand; not asks_for_draws: more than
//                          the tokens that may be drawn is looked at
//   draw_as_sample(stream, &id)
//                          a token of a row that was loaded just now, as sampler_sample draws it
//   has(id), rank_of(id), first()
//                          its tokens; the first one that is kept in rank order
//   probability(id, RowState), kept_entropy_sums(), num_before(rank)
//                          num_before: of all tokens
//   entropy_of_first(n)    - sum of p ln p of the first n kept tokens, added in rank order
//   distribute_all()       its tokens at temperature 1
//   observation(id), report(output, id), report_nothing(output)
//                          what is told of its token; of none
//
//   load_draft(view, parameters, rules)
//                          the same for a row of the drafter; all of it may be 0
//   draft_probability(id)
//   begin_exclusion(), exclude(id), end_exclusion()
//                          its tokens without some of them, and of sum 1 again; 0 where none is
//                          left
//
//   begin_change(RowState, factor, subtracts_draft), remove(id), end_change()
//                          makes of the row factor * p, or max(factor * p - q, 0); and 0 of single
//                          tokens. False: it is 0 everywhere, and the row must be loaded again
//   changed_sum()          of what it has become
//   keeps_loaded()         whether what is told of a token is still that of the row as it was
//   loaded draw_changed(word, &id)
//                          a token of that, right after
//
//   workers()              as for Sequence: who writes what is shared and what is told
template <class Models>
class Verifier {
 public:
  // The memory has room for a tree of request.num_drafts + 1 positions; null for chains.
  SAMPLER_HD Verifier(const ChainRequest &request, const Verification &more,
                      const TreeMemory &memory, Models &models)
      : request_(request), more_(more), models_(models), memory_(memory) {}

  // Writes all of its outputs.
  SAMPLER_HD void run_sequence(int64_t sequence) {
    uint32_t status = begin(sequence, INT32_MAX);
    if (status == SAMPLER_ROW_OK) status = verify();
    while (status != SAMPLER_ROW_OK && keeps_verified() && judges_whole_chain()) {
      if (bad_position_ <= 0) break;
      status = begin(sequence, bad_position_ - 1);
      if (status == SAMPLER_ROW_OK) status = verify();
    }
    if (status != SAMPLER_ROW_OK && (!keeps_verified() || judges_whole_chain())) depth_ = 0;
    write(status);
  }

 private:
  static constexpr int32_t kNone = -1;

  // ---- A sequence

  // Drafts beyond the first `most_drafts` are left out.
  SAMPLER_HD uint32_t begin(int64_t sequence, int32_t most_drafts) {
    bad_position_ = kNone;
    chain_ = {};
    chain_.row = sequence;
    chain_.draft_status = SAMPLER_ROW_OK;
    depth_ = 0;
    is_counting_ = false;
    forget_rows();
    slot_ = request_.slots[sequence];
    uint32_t status = read_parameters(request_, slot_, &chain_.parameters);
    if (status != SAMPLER_ROW_OK) return status;
    rule_ = more_.acceptance[slot_];
    if (rule_ == SAMPLER_ACCEPT_DEFAULT) rule_ = more_.acceptance.value;
    if (!can_accept_by(rule_, more_)) return SAMPLER_ROW_INVALID_PARAMETER;
    chain_.greedy = is_greedy(chain_.parameters.temperature);
    chain_.random = request_.random.of(slot_);
    draft_parameters_ = more_.draft_parameters.of(slot_);
    if (request_.draft.values && request_.draft.kind == SAMPLER_LOGITS) {
      status = check_parameters(request_.draft.kind, draft_parameters_);
    }
    if (status != SAMPLER_ROW_OK) return status;
    if (!find_sequence(request_, more_, sequence, &place_)) return SAMPLER_ROW_INVALID_LIST;
    const int32_t num_drafts = int32_t(request_.num_drafts), length = place_.length;
    chain_.length = length < 0 ? 0 : length > num_drafts ? num_drafts : length;
    bool is_valid = chain_.length == length;
    for (int32_t i = 0; i < chain_.length; ++i) is_valid = is_valid && is_token(draft_id(i));
    if (!is_valid) chain_.draft_status = SAMPLER_ROW_INVALID_DRAFT;
    if (chain_.length > most_drafts) chain_.length = most_drafts;
    if (more_.has_trees() && !make_tree()) return SAMPLER_ROW_INVALID_TREE;
    return models_.begin_text(slot_);
  }

  SAMPLER_HD bool make_tree() {
    const auto workers = models_.workers();
    if (workers.index == 0) {
      *memory_.is_tree = contract::make_tree(request_, more_, chain_.row, chain_.length, memory_);
    }
    workers.wait();
    return *memory_.is_tree != 0;
  }

  SAMPLER_HD int64_t draft_id(int32_t draft) const {
    return load_id(request_.draft_token_ids, request_.out_token_ids.type,
                   place_.first_draft + draft);
  }
  SAMPLER_HD bool is_token(int64_t id) const { return is_in_vocabulary(request_, id); }

  SAMPLER_HD bool keeps_verified() const { return more_.keeps_verified; }
  SAMPLER_HD bool judges_whole_chain() const {
    return !chain_.greedy && (rule_ == SAMPLER_ACCEPT_BLOCK || rule_ == SAMPLER_ACCEPT_DEFERRED);
  }

  SAMPLER_HD uint32_t verify() {
    if (judges_whole_chain()) {
      return rule_ == SAMPLER_ACCEPT_BLOCK ? verify_block() : verify_deferred();
    }
    const uint32_t status = walk();
    if (status == SAMPLER_ROW_OK) count_accepted();
    return status;
  }

  // Down from the root, as long as a child is accepted.
  SAMPLER_HD uint32_t walk() {
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

  // `next`: the position after the child that is accepted; or kNone, and the token that is emitted
  // in its stead.
  SAMPLER_HD uint32_t decide(int32_t position, int32_t *next, int64_t *token) {
    if (rule_ == SAMPLER_ACCEPT_SYNTHETIC) return decide_synthetic(position, next, token);
    if (rule_ == SAMPLER_ACCEPT_RELAXED && chain_.greedy) {
      return decide_relaxed_greedy(position, next, token);
    }
    if (chain_.greedy || is_sample_match()) return decide_by_match(position, next, token);
    if (rule_ == SAMPLER_ACCEPT_TYPICAL) return decide_typical(position, next, token);
    if (rule_ == SAMPLER_ACCEPT_THRESHOLD) return decide_by_threshold(position, next, token);
    return decide_standard(position, next, token);
  }

  SAMPLER_HD int32_t first_child(int32_t position) const {
    if (more_.has_trees()) return memory_.first_children[position];
    return position < chain_.length ? position + 1 : 0;
  }
  SAMPLER_HD int32_t next_sibling(int32_t position) const {
    return more_.has_trees() ? memory_.next_siblings[position] : 0;
  }
  SAMPLER_HD bool has_children(int32_t position) const { return first_child(position) != 0; }

  // f(child) for the children of a position that are tokens, until it returns true. The result is
  // that child, as a position.
  template <class F>
  SAMPLER_HD int32_t find_child(int32_t position, const F &f) const {
    for (int32_t child = first_child(position); child; child = next_sibling(child)) {
      if (is_token(draft_id(child - 1)) && f(child)) return child;
    }
    return kNone;
  }
  // f(id) for those before `end`.
  template <class F>
  SAMPLER_HD void for_each_child(int32_t position, int32_t end, const F &f) const {
    find_child(position, [&](int32_t child) {
      if (child == end) return true;
      f(draft_id(child - 1));
      return false;
    });
  }

  // ---- Rules

  SAMPLER_HD uint32_t decide_by_match(int32_t position, int32_t *next, int64_t *token) {
    const uint32_t status = open(position);
    if (status != SAMPLER_ROW_OK) return status;
    models_.draw_as_sample(sample_stream(), token);
    *next = find_child(position, [&](int32_t child) { return draft_id(child - 1) == *token; });
    return SAMPLER_ROW_OK;
  }

  SAMPLER_HD uint32_t decide_synthetic(int32_t position, int32_t *next, int64_t *token) {
    *next = find_child(position, [&](int32_t child) {
      const double u = uniform_of(acceptance_word(chain_, child - 1));
      return u < double(more_.numbers.synthetic_rates[child - 1]);
    });
    return *next == kNone ? find_token(position, token) : uint32_t(SAMPLER_ROW_OK);
  }

  SAMPLER_HD uint32_t decide_typical(int32_t position, int32_t *next, int64_t *token) {
    const uint32_t status = open(position);
    if (status != SAMPLER_ROW_OK) return status;
    if (has_children(position) && !is_empty_) {
      const float entropy = entropy_in_nats(models_.kept_entropy_sums());
      *next = find_child(position, [&](int32_t child) {
        return accepts_typical(more_.numbers, probability(draft_id(child - 1)), entropy);
      });
    }
    return *next == kNone ? find_token(position, token) : uint32_t(SAMPLER_ROW_OK);
  }

  // Whether it is one of the first tokens, and how much of them.
  SAMPLER_HD bool is_relaxed(int64_t id) {
    const float p = probability(id);
    if (!(p > 0.0f)) return false;
    const float most = probability(id_of_rank(models_.first()));
    if (!(p >= most - more_.numbers.relaxed_delta)) return false;
    return models_.num_before(models_.rank_of(id)) < more_.numbers.relaxed_top_k;
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

  // Each token counts once.
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
      return accepts_by_threshold(more_.numbers, acceptance_word(chain_, position), p, total);
    });
    if (*next != kNone) return SAMPLER_ROW_OK;
    change(1.0f, false,
           [&] { for_each_child(position, kNone, [&](int64_t id) { models_.remove(id); }); });
    return find_token(position, token);
  }

  // Where no child is relaxed the standard rule decides.
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

  // By its own verdict, where siblings may have been rejected before.
  SAMPLER_HD uint32_t judge(int32_t position, int32_t child, bool *is_accepted) {
    const int64_t id = draft_id(child - 1);
    float p = 0.0f, q = 0.0f;
    uint32_t status = look_up_target(position, id, &p);
    if (status == SAMPLER_ROW_OK) status = look_up_draft(position, child, id, &q);
    if (status != SAMPLER_ROW_OK) return status;
    *is_accepted = accepts_draft(acceptance_word(chain_, child - 1), p, q);
    return SAMPLER_ROW_OK;
  }

  // What is left for the next sibling, or for the last token.
  SAMPLER_HD uint32_t reject(int32_t position, int32_t child) {
    uint32_t status = is_changed_ ? uint32_t(SAMPLER_ROW_OK) : open(position);
    if (status == SAMPLER_ROW_OK && request_.draft.values) status = open_draft(position, child);
    if (status == SAMPLER_ROW_OK) leave_without(child, 1.0f);
    return status;
  }

  // The open row becomes max(factor p - q, 0).
  SAMPLER_HD void leave_without(int32_t child, float factor) {
    const bool has_draft = request_.draft.values != nullptr;
    change(factor, has_draft, [&] {
      if (!has_draft) models_.remove(draft_id(child - 1));
    });
  }

  // The open row becomes another, unless that is 0 everywhere: then it is the target's again.
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

  // The token after the last draft that was accepted.
  SAMPLER_HD uint32_t find_token(int32_t position, int64_t *token) {
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

  // Drafts of a chain that would be accepted each on its own, beyond the first rejection.
  SAMPLER_HD void count_accepted() {
    chain_.accepted = depth_;
    const bool is_counted =
        request_.out_accepted_counts && !more_.has_trees() && rule_ == SAMPLER_ACCEPT_STANDARD;
    for (int32_t i = depth_ + 1; is_counted && i < chain_.length; ++i) {
      is_counting_ = true;
      forget_rows();
      assume(i - 1);
      bool is_accepted = false;
      uint32_t status = SAMPLER_ROW_OK;
      if (chain_.greedy) {
        status = open(i);
        is_accepted =
            status == SAMPLER_ROW_OK && int64_t(id_of_rank(models_.first())) == draft_id(i);
      } else if (is_token(draft_id(i))) {
        status = judge(i, i + 1, &is_accepted);
      }
      chain_.accepted += status == SAMPLER_ROW_OK && is_accepted;
    }
  }

  // A draft that was not accepted, as if it had been.
  SAMPLER_HD void assume(int32_t draft) {
    const int64_t id = draft_id(draft);
    if (!models_.has_pipeline() || !is_token(id)) return;
    const bool is_observed =
        models_.is_adaptive() && open(draft) == SAMPLER_ROW_OK && models_.has(id);
    models_.append(slot_, id, is_observed ? models_.observation(id) : quiet_nan());
    forget_rows();
  }

  // ---- Rules that judge a chain as a whole

  // Accepts the first `count` drafts, whose number is known now.
  SAMPLER_HD uint32_t begin_again(int32_t count) {
    forget_rows();
    depth_ = 0;
    uint32_t status = models_.begin_text(slot_);
    for (int32_t i = 0; i < count && status == SAMPLER_ROW_OK; ++i) {
      status = accept(i, draft_id(i), true);
    }
    chain_.accepted = count;
    return status;
  }

  SAMPLER_HD uint32_t verify_block() {
    int32_t length = 0;  // up to the first draft that is no token
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
        status = take_what_is_left(i, ratio, &left);
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
    uint32_t status = begin_again(best);
    if (status != SAMPLER_ROW_OK) return status;
    double left = 0.0;
    if (best < length) status = take_what_is_left(best, best_ratio, &left);
    return status == SAMPLER_ROW_OK ? finish_with_token(best) : status;
  }

  // The row becomes max(ratio p - q, 0), of which `left` is the sum; where that is 0 everywhere it
  // stays what it is.
  SAMPLER_HD uint32_t take_what_is_left(int32_t position, double ratio, double *left) {
    uint32_t status = open(position);
    if (status == SAMPLER_ROW_OK && request_.draft.values) {
      status = open_draft(position, position + 1);
    }
    if (status != SAMPLER_ROW_OK) return status;
    leave_without(position + 1, float(ratio));
    if (is_changed_) *left = models_.changed_sum();
    return SAMPLER_ROW_OK;
  }

  SAMPLER_HD uint32_t verify_deferred() {
    const int32_t window = more_.numbers.deferred_window;
    int32_t count = 0, deferred = kNone;
    for (; count < chain_.length; ++count) {
      const int64_t id = draft_id(count);
      bool is_accepted = false;
      uint32_t status = SAMPLER_ROW_OK;
      if (is_token(id)) status = judge(count, count + 1, &is_accepted);
      if (status == SAMPLER_ROW_OK && !is_accepted) {
        if (deferred != kNone) break;
        bool is_doubtful = false;
        if (window < chain_.length - count) status = doubt(count, id, &is_doubtful);
        if (status == SAMPLER_ROW_OK && !is_doubtful) break;
        deferred = count;
      }
      if (status == SAMPLER_ROW_OK) status = accept(count, id, false);
      if (status != SAMPLER_ROW_OK) return status;
      if (deferred != kNone && count - deferred == window) deferred = kNone;
    }
    if (deferred != kNone) count = deferred;
    uint32_t status = begin_again(count);
    if (status == SAMPLER_ROW_OK && count < chain_.length && is_token(draft_id(count))) {
      status = reject(count, count + 1);
    }
    return status == SAMPLER_ROW_OK ? finish_with_token(count) : status;
  }

  // Whether a draft that was rejected may be kept all the same, for what follows.
  SAMPLER_HD uint32_t doubt(int32_t position, int64_t id, bool *is_doubtful) {
    if (!is_token(id)) return SAMPLER_ROW_OK;
    float q = 0.0f;
    uint32_t status = open(position);
    if (status == SAMPLER_ROW_OK) status = look_up_draft(position, position + 1, id, &q);
    if (status != SAMPLER_ROW_OK) return status;
    if (is_empty_ || !(probability(id) > 0.0f) || !(q > 0.0f)) return SAMPLER_ROW_OK;
    const float entropy = models_.entropy_of_first(more_.numbers.deferred_top_k);
    *is_doubtful = entropy >= more_.numbers.deferred_entropy;
    forget_rows();
    return SAMPLER_ROW_OK;
  }

  // ---- What is accepted

  // The position that the token of a depth is decided at.
  SAMPLER_HD int32_t position_at(int32_t depth) const {
    return more_.has_trees() ? memory_.positions[depth] : depth;
  }
  SAMPLER_HD void note_position(int32_t position) {
    if (more_.has_trees() && models_.workers().index == 0) memory_.positions[depth_] = position;
  }

  SAMPLER_HD uint32_t accept(int32_t position, int64_t id, bool is_final) {
    float observation = quiet_nan();
    if (models_.is_adaptive() || (is_final && models_.has_outputs())) {
      const uint32_t status = open_to_tell(position);
      if (status != SAMPLER_ROW_OK) return status;
      if (models_.is_adaptive()) observation = models_.observation(id);
    }
    if (is_final && models_.has_outputs()) models_.report(output(position), id);
    if (models_.has_pipeline()) models_.append(slot_, id, observation);
    note_position(position);
    ++depth_;
    forget_rows();
    return SAMPLER_ROW_OK;
  }

  // The token after the drafts.
  SAMPLER_HD uint32_t finish(int32_t position, int64_t token) {
    if (models_.has_outputs()) {
      const uint32_t status = open_to_tell(position);
      if (status != SAMPLER_ROW_OK) return status;
      models_.report(output(position), token);
    }
    note_position(position);
    chain_.last_token = token;
    return SAMPLER_ROW_OK;
  }
  SAMPLER_HD uint32_t finish_with_token(int32_t position) {
    int64_t token = -1;
    const uint32_t status = find_token(position, &token);
    return status == SAMPLER_ROW_OK ? finish(position, token) : status;
  }

  // Of the token that is decided at a position. Those of drafts that are only counted are written
  // over.
  SAMPLER_HD int64_t output(int32_t position) const {
    return first_output() + (is_counting_ ? position : depth_);
  }
  SAMPLER_HD int64_t first_output() const { return chain_.row * (request_.num_drafts + 1); }

  SAMPLER_HD int64_t token_at(int32_t depth) const {
    return depth < depth_ ? draft_id(position_at(depth + 1) - 1) : chain_.last_token;
  }

  SAMPLER_HD void write(uint32_t status) {
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
      if (more_.out_positions) more_.out_positions[first + i] = is_there ? position_at(i) : -1;
      if (more_.out_kv_indices) {
        more_.out_kv_indices[first + i] = is_there ? more_.kv_indices[first + position_at(i)] : -1;
      }
    }
    for (int32_t i = num_tokens; models_.has_outputs() && i < num_places; ++i) {
      models_.report_nothing(first + i);
    }
    chain_.emitted = depth_;
    if (!is_good && keeps_verified()) {
      chain_.accepted = depth_;
      chain_.draft_status |= status;
      status = SAMPLER_ROW_OK;  // of the counts
    }
    if (workers.index == 0) write_chain_outcome(request_, chain_, status);
  }

  // ---- Rows

  SAMPLER_HD void forget_rows() {
    open_ = open_draft_ = kNone;
    is_changed_ = false;
  }

  SAMPLER_HD bool is_sample_match() const { return rule_ == SAMPLER_ACCEPT_SAMPLE_MATCH; }
  // Of the token that is drawn next, as sampler_sample draws it.
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
    return find_target_row(request_, more_, place_, chain_.row, position, chain_.length, view);
  }

  // The target's row at a position, as the drafts that were accepted leave it.
  SAMPLER_HD uint32_t open(int32_t position, bool asks_for_draws = true) {
    if (open_ == position && !is_changed_) return SAMPLER_ROW_OK;
    open_ = kNone;
    is_changed_ = is_empty_ = false;
    RowView view;
    if (!find_view(position, &view)) return SAMPLER_ROW_INVALID_INDEX;
    uint32_t status =
        models_.load({view, slot_, output(position), first_output() + position, xtc_word(position)},
                     chain_.parameters, asks_for_draws);
    // Given probabilities may be 0 everywhere, until one of them is drawn.
    const bool is_tolerated = view.kind == SAMPLER_PROBABILITIES && !chain_.greedy &&
                              !is_sample_match() && !models_.has_outputs();
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

  // For observations and reports, which are of the row as it was loaded.
  SAMPLER_HD uint32_t open_to_tell(int32_t position) {
    const bool is_there = open_ == position && models_.keeps_loaded();
    return is_there ? uint32_t(SAMPLER_ROW_OK) : open(position);
  }

  // Of a token of the open row.
  SAMPLER_HD float probability(int64_t id) {
    if (is_empty_) return 0.0f;
    return models_.probability(id, is_changed_ ? RowState::kChanged : RowState::kOpened);
  }

  // Where nothing else is asked of a row of given probabilities, no other element is read.
  SAMPLER_HD bool reads_elements(const Rows &rows) const {
    return rows.kind == SAMPLER_PROBABILITIES && !rows.ids;
  }
  SAMPLER_HD static uint32_t look_up(const RowView &view, int64_t num_cols, int64_t id,
                                     float *probability) {
    if (!has_valid_count(view, num_cols)) return SAMPLER_ROW_INVALID_CANDIDATE;
    *probability = id < view.count ? view.value(id) : 0.0f;
    return is_valid_value(view.kind, *probability) ? SAMPLER_ROW_OK : SAMPLER_ROW_INVALID_VALUE;
  }

  SAMPLER_HD uint32_t look_up_target(int32_t position, int64_t id, float *p) {
    const bool reads_one = reads_elements(request_.target) && open_ != position &&
                           !models_.has_pipeline() && !models_.has_outputs();
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

  // Whether children of a position were tried before this one.
  SAMPLER_HD bool follows_others(int32_t position, int32_t child) const {
    return find_child(position, [](int32_t) { return true; }) != child;
  }

  SAMPLER_HD uint32_t look_up_draft(int32_t position, int32_t child, int64_t id, float *q) {
    *q = 1.0f;
    if (!request_.draft.values) return SAMPLER_ROW_OK;
    const bool is_whole = !more_.excludes_siblings() || !follows_others(position, child);
    if (is_whole && reads_elements(request_.draft)) {
      RowView view;
      if (!find_draft_row(request_, more_, place_, chain_.row, slot_, child - 1, &view)) {
        return SAMPLER_ROW_INVALID_INDEX;
      }
      return look_up(view, request_.target.num_cols, id, q);
    }
    const uint32_t status = open_draft(position, child);
    if (status == SAMPLER_ROW_OK) *q = models_.draft_probability(id);
    return status;
  }

  // The row that a child was drawn from.
  SAMPLER_HD uint32_t open_draft(int32_t position, int32_t child) {
    if (open_draft_ == child) return SAMPLER_ROW_OK;
    open_draft_ = kNone;
    RowView view;
    if (!find_draft_row(request_, more_, place_, chain_.row, slot_, child - 1, &view)) {
      return SAMPLER_ROW_INVALID_INDEX;
    }
    const uint32_t status =
        models_.load_draft(view, draft_parameters_, more_.draft_parameters.rules);
    if (status != SAMPLER_ROW_OK) return status;
    if (more_.excludes_siblings() && follows_others(position, child)) {
      models_.begin_exclusion();
      for_each_child(position, child, [&](int64_t id) { models_.exclude(id); });
      models_.end_exclusion();
    }
    open_draft_ = child;
    return SAMPLER_ROW_OK;
  }

  const ChainRequest &request_;
  const Verification &more_;
  Models &models_;
  TreeMemory memory_;

  Chain chain_ = {};
  SequencePlace place_ = {};
  RowParameters draft_parameters_ = {};
  int64_t slot_ = 0;
  sampler_acceptance rule_ = SAMPLER_ACCEPT_STANDARD;
  int32_t depth_ = 0;             // drafts that were accepted
  int32_t open_ = kNone;          // the position whose row is loaded
  int32_t open_draft_ = kNone;    // the child, as a position, whose draft row is loaded
  int32_t bad_position_ = kNone;  // the last one whose row could not be loaded
  bool is_counting_ = false;      // drafts after the first rejection
  bool is_changed_ = false;       // the row is not as it was opened
  bool is_empty_ = false;         // the open row has given probabilities, all 0
};

}  // namespace sampler::contract
