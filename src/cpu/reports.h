// Reports of a row besides its token: section 15 of docs/contract.md.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>

#include "contract/elements.h"
#include "contract/entropy.h"
#include "contract/pipeline.h"
#include "contract/reports.h"
#include "cpu/distribution.h"
#include "cpu/elements.h"
#include "cpu/kept_lists.h"
#include "cpu/removals.h"

namespace sampler::cpu {

// Reports and log-probabilities of the output rows that share one prepared row. Reports of the
// given or the edited row are computed while it is loaded.
template <class Row>
class RowReports {
 public:
  template <class Memory>
  RowReports(const contract::SampleRequest &request, Memory &memory,
             const contract::KeptLists *kept_lists)
      : request_(request),
        reports_(request.reports),
        kept_lists_(kept_lists),
        removals_(request, memory) {}

  // Whether look_at() must be called with the given row; with the edited row, whose values are then
  // read until the last report.
  bool looks_at_given() const { return looks_at(SAMPLER_LOGPROB_RAW); }
  bool looks_at_edited() const {
    if (request_.logprob_kind == SAMPLER_LOGPROB_RAW) return removals_.are_wanted();
    return looks_at(SAMPLER_LOGPROB_EDITED);
  }

  // Whether look_at() must be called with the distribution that is drawn from.
  bool looks_at_drawn() const {
    return request_.logprob_kind == SAMPLER_LOGPROB_PROCESSED ||
           (reports_ && (reports_->out_kept_bitmask || reports_->wants_kept_list()));
  }

  // Called before a row is prepared for `output` and others, `num_outputs` in all.
  void begin(int64_t output, int64_t num_outputs, RowEdits *edits) {
    output_ = output;
    ranks_together_ = reports_ && reports_->out_ranks && num_outputs >= kWorthSorting;
    removals_.begin(output, edits);
  }

  // Reads the loaded row: the given one (RAW), or the edited one. `elements`: index of the row if
  // another is loaded after it, otherwise null.
  void look_at(sampler_logprob_kind kind, const Elements *elements, Row *row) {
    if (kind == SAMPLER_LOGPROB_RAW) removals_.look_at_given(row->view());
    if (request_.logprob_kind != kind) return;
    view_ = row->view();
    elements_ = elements;
    reported_ = contract::reported_row(row->kind(), row->max());
    if (wants_entropy()) {
      const contract::EntropySums sums = row->entropy_sums(reported_.scale);
      entropy_ = contract::entropy_in_nats(sums);
      reported_.weight = sums.weight;
    } else if (wants_weight()) {
      reported_.weight = row->total_weight();
    }
    if (elements && wants_top()) write_top(row);
  }

  // Reads the edited row, before its distribution.
  void trace_removals(const contract::RowParameters &parameters, int64_t slot, uint32_t xtc_word,
                      Row *row) {
    removals_.trace(parameters, slot, xtc_word, row);
  }

  // Reads the distribution that is drawn from.
  void look_at(const Distribution &drawn, const Row &row) {
    if (request_.logprob_kind != SAMPLER_LOGPROB_PROCESSED) return;
    view_ = row.view();
    elements_ = nullptr;
    reported_ = {drawn.scale, drawn.cut, drawn.kept_weight, drawn.greedy, drawn.first};
    if (!wants_entropy()) return;
    entropy_ = drawn.greedy ? 0.0f : contract::entropy_in_nats(row.kept_entropy_sums());
  }

  // Log-probability of a token of the row.
  float log_probability(const Row &row, int64_t id) const {
    return reported_.log_probability(value_of(row, id), uint32_t(id));
  }

  // Writes the reports of one output, with token `id`.
  void write_own(const Row &row, int64_t output, int64_t id) const {
    if (!reports_) return;
    if (reports_->out_ranks && !ranks_together_) {
      write_rank(row, output, id, [&](contract::Rank rank) {
        return elements_ ? row.num_before(view_, rank) : row.num_before(rank);
      });
    }
    for (int64_t i = 0; i < reports_->num_chosen; ++i) {
      const int64_t place = output * reports_->num_chosen + i;
      const int64_t chosen =
          contract::load_id(reports_->chosen_token_ids, request_.out_token_ids.type, place);
      reports_->out_chosen_logprobs[place] =
          has(row, chosen) ? log_probability(row, chosen) : contract::quiet_nan();
    }
  }

  // Writes the reports that outputs share, after the last draw: for the output passed to begin();
  // copy_to(output) then copies them. Ranks that are found by sorting are written per output by
  // write_sorted_rank().
  void write_shared(Row *row) {
    if (!reports_) return;
    if (reports_->out_kept_bitmask) {
      row->set_kept_bits(clear_bitmask(output_), reports_->kept_bitmask_stride);
    }
    if (reports_->wants_kept_list()) write_kept_list(row);
    if (!elements_ && wants_top()) write_top(row);
    if (reports_->out_entropies) reports_->out_entropies[output_] = entropy_;
    if (ranks_together_) num_sorted_ = row->select(view_.count, &sorted_);
  }
  void copy_to(int64_t output) const {
    if (output == output_) return;
    if (reports_->are_lists_packed()) share_list(*kept_lists_, output_, output);
    for_each_shared([&](void *array, int64_t bytes) {
      auto *const rows = static_cast<char *>(array);
      std::memcpy(rows + output * bytes, rows + output_ * bytes, size_t(bytes));
    });
  }

  void write_sorted_rank(const Row &row, int64_t output) const {
    if (!ranks_together_) return;
    const int64_t id =
        contract::load_id(request_.out_token_ids.data, request_.out_token_ids.type, output);
    write_rank(row, output, id, [&](contract::Rank rank) {
      return std::lower_bound(sorted_, sorted_ + num_sorted_, rank, std::greater<>()) - sorted_;
    });
  }

  void write_bad(int64_t output) const {
    if (!reports_) return;
    const contract::Reports &to = *reports_;
    if (to.wants_top()) write_no_top(output, 0);
    for (int64_t i = 0; i < to.num_chosen; ++i) {
      to.out_chosen_logprobs[output * to.num_chosen + i] = contract::quiet_nan();
    }
    if (to.out_ranks) to.out_ranks[output] = 0;
    if (to.out_entropies) to.out_entropies[output] = contract::quiet_nan();
    if (to.out_kept_bitmask) clear_bitmask(output);
    if (to.are_lists_packed()) {
      take_list(*kept_lists_, output, 0, 0);
    } else if (to.wants_kept_list()) {
      write_no_kept(output, 0);
    }
    removals_.write_bad(output);
  }

 private:
  // From this many outputs on, ranks are found by sorting the row once instead of counting for
  // each.
  static constexpr int64_t kWorthSorting = 512;

  bool looks_at(sampler_logprob_kind kind) const {
    return reports_ || (request_.out_logprobs && request_.logprob_kind == kind);
  }
  bool wants_top() const { return reports_ && reports_->wants_top(); }
  bool wants_entropy() const { return reports_ && reports_->out_entropies; }
  bool wants_weight() const {
    return request_.out_logprobs || (wants_top() && reports_->out_top_logprobs) ||
           (reports_ && reports_->wants_chosen());
  }

  bool has(const Row &row, int64_t id) const {
    return elements_ ? elements_->find(id) >= 0 : row.has(id);
  }
  // A draft that is not in the row counts as a token of probability 0.
  float value_of(const Row &row, int64_t id) const {
    if (!has(row, id)) {
      return view_.kind == SAMPLER_LOGITS ? contract::negative_infinity() : 0.0f;
    }
    return elements_ ? view_.value(elements_->find(id)) : row.value_of(id);
  }

  template <class NumBefore>
  void write_rank(const Row &row, int64_t output, int64_t id, const NumBefore &num_before) const {
    const float value = value_of(row, id);
    const bool has_rank = reported_.has(value, uint32_t(id));
    reports_->out_ranks[output] =
        has_rank ? int32_t(num_before(contract::rank_of(value, uint32_t(id))) + 1) : 0;
  }

  void write_top(Row *row) {
    const contract::Reports &to = *reports_;
    const contract::Rank *ranks = nullptr;
    const bool are_kept = request_.logprob_kind == SAMPLER_LOGPROB_PROCESSED;
    const int64_t count =
        are_kept ? row->select_kept(to.num_top, &ranks) : row->select(to.num_top, &ranks);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t place = output_ * to.num_top + i;
      const uint32_t id = contract::id_of_rank(ranks[i]);
      if (to.out_top_token_ids.data) contract::store_id(to.out_top_token_ids, place, id);
      if (to.out_top_logprobs) {
        to.out_top_logprobs[place] =
            reported_.log_probability(contract::value_of_rank(ranks[i]), id);
      }
    }
    write_no_top(output_, count);
  }
  void write_no_top(int64_t output, int64_t begin) const {
    const contract::Reports &to = *reports_;
    const int64_t first = output * to.num_top + begin, count = to.num_top - begin;
    fill_ids(to.out_top_token_ids, first, count);
    if (to.out_top_logprobs) std::fill_n(to.out_top_logprobs + first, count, contract::quiet_nan());
  }

  void write_kept_list(Row *row) const {
    const int32_t *ids = nullptr;
    const int64_t count = row->list_kept(&ids);
    const contract::KeptList list = list_of(count);
    const int64_t listed = list.has_room ? count : 0;
    for (int64_t i = 0; list.token_ids.data && i < listed; ++i) {
      contract::store_id(list.token_ids, list.first + i, ids[i]);
    }
    if (list.probabilities && listed > 0) {
      row->write_listed_probabilities(list.probabilities + list.first);
    }
    if (!reports_->are_lists_packed()) write_no_kept(output_, listed);
  }
  // Destination for the current output.
  contract::KeptList list_of(int64_t count) const {
    const contract::Reports &to = *reports_;
    if (to.are_lists_packed()) return take_list(*kept_lists_, output_, count, to.kept_capacity);
    return {to.out_kept_token_ids, to.out_kept_probabilities, output_ * to.kept_capacity,
            count <= to.kept_capacity};
  }
  void write_no_kept(int64_t output, int64_t begin) const {
    const contract::Reports &to = *reports_;
    const int64_t first = output * to.kept_capacity + begin, count = to.kept_capacity - begin;
    fill_ids(to.out_kept_token_ids, first, count);
    if (to.out_kept_probabilities) std::fill_n(to.out_kept_probabilities + first, count, 0.0f);
  }
  uint32_t *clear_bitmask(int64_t output) const {
    uint32_t *const words = reports_->out_kept_bitmask + output * reports_->kept_bitmask_stride;
    std::fill_n(words, reports_->kept_bitmask_stride, 0u);
    return words;
  }

  // Fills with -1.
  static void fill_ids(const contract::TokenIds &ids, int64_t first, int64_t count) {
    if (!ids.data) return;
    const size_t size = contract::size_of_id(ids.type);
    std::memset(static_cast<char *>(ids.data) + size_t(first) * size, 0xFF, size_t(count) * size);
  }

  // Calls f(array, bytes per output) for each shared report.
  template <class F>
  void for_each_shared(const F &f) const {
    const contract::Reports &to = *reports_;
    const int64_t id_bytes = int64_t(contract::size_of_id(to.out_top_token_ids.type));
    const auto visit = [&](void *array, int64_t bytes) {
      if (array && bytes > 0) f(array, bytes);
    };
    visit(to.out_top_token_ids.data, to.num_top * id_bytes);
    visit(to.out_top_logprobs, to.num_top * int64_t(sizeof(float)));
    visit(to.out_entropies, sizeof(float));
    visit(to.out_kept_bitmask, to.kept_bitmask_stride * int64_t(sizeof(uint32_t)));
    visit(to.out_removed_by, request_.input.num_cols);
    if (to.are_lists_packed()) return;
    visit(to.out_kept_token_ids.data, to.kept_capacity * id_bytes);
    visit(to.out_kept_probabilities, to.kept_capacity * int64_t(sizeof(float)));
  }

  const contract::SampleRequest &request_;
  const contract::Reports *reports_;  // null: none
  const contract::KeptLists *kept_lists_;
  Removals<Row> removals_;
  int64_t output_ = 0;  // of begin()
  contract::RowView view_ = {};
  const Elements *elements_ = nullptr;  // index of view_; null: view_ is the row loaded last
  contract::Reported reported_ = {};
  float entropy_ = 0.0f;
  bool ranks_together_ = false;
  const contract::Rank *sorted_ = nullptr;  // the whole row, if ranks_together_
  int64_t num_sorted_ = 0;
};

}  // namespace sampler::cpu
