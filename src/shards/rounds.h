// Rounds of a row that is split among ranks: each rank sends a summary of its columns, and all
// decide alike from all messages. Section 17 of docs/contract.md.
//
// All threads of a row take the same path: `Columns` returns the same value to each. Work is
// divided by workers().
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/distribution.h"
#include "contract/draw.h"
#include "contract/elements.h"
#include "contract/entropy.h"
#include "contract/host_device.h"
#include "contract/log2.h"
#include "contract/philox.h"
#include "contract/pipeline.h"
#include "contract/rank.h"
#include "contract/reports.h"
#include "contract/request.h"
#include "contract/row_view.h"
#include "contract/weight.h"
#include "shards/call.h"
#include "shards/chains.h"
#include "shards/digests.h"
#include "shards/filters.h"
#include "shards/lists.h"
#include "shards/rows.h"

namespace sampler::shards {

using namespace contract;

// `Columns` reads this rank's columns of a row; ids and ranks are those of the whole row.
//
//   workers()              the threads of a row: index, count, and the barrier wait()
//   sum(own), max(own)     over the workers; a barrier
//
//   load(view, use, num_first, &first)
//                          checks a row of 1 column or more and finds its first rank; returns the
//                          status. list() may ask for `num_first` tokens of it
//   edit(slot, output, given, to)
//                          writes the edits of a good row, just loaded; returns the status
//   fill(values, x)        sets each element
//   list(view, count, put) calls put(place, rank) for the first tokens of a row just loaded, from
//                          any of the workers
//   subtract(p, q, removed, to)
//                          writes max(p - q, 0), or p without the token `removed` if q has no
//                          values; `to` null: not written. Returns its first rank; a barrier
//
//   count(view, cut), weight(view, scale, cut), entropy_sums(view, scale, cut)
//                          over the tokens that a cut keeps
//   count_ties(view, key)  tokens with this key
//   cut_after_ties(view, key, ties)
//                          the cut that keeps the first `ties` tokens with this key, and all above
//   add_digit(view, scale, lowest, search, digit, sums)
//                          adds the weights of the tokens of a search with keys >= `lowest`, by
//                          their digit, to zeroed sums
//   find(view, scale, cut, target)
//                          first column whose running sum of kept weights exceeds the target;
//                          -1: none
//   best_score(view, scale, cut, random, &score)
//                          first column with the largest Gumbel score; -1: no token is kept
//
//   find_in_list(ranks, count, target, measure)
//                          first place whose running measure(rank) reaches a target > 0; count:
//                          none
//   draw_from_list(ranks, count, scale, target)
//                          first rank, by ascending id, whose running weight exceeds the target,
//                          which is below the total weight
//
//   write_values(output_row, view, kept), write_probabilities(output_row, view, kept)
//                          an output row: the values of kept tokens and -inf, or probabilities
//   write_bad(output_row, view), write_nothing(output_row)
//                          a bad row's output: its values unchanged, or zeros
template <class Columns>
class ShardRounds {
 public:
  SAMPLER_HD ShardRounds(const ShardCall &call, const ShardPlan &plan, const ShardMemory &memory,
                         const ShardRound &round, Columns &columns)
      : call_(call), plan_(plan), memory_(memory), round_(round), columns_(columns) {}

  SAMPLER_HD void run_row(int64_t output) {
    output_ = output;
    row_ = memory_.rows[output];
    if (round_.number == 0) {
      row_ = {};
    } else {
      read();
    }
    if (round_.number == plan_.num_exchanges()) {
      write_outputs();
    } else {
      write();
    }
    row_.stamp = shard_stamp(round_.number + 1);
    workers().wait();  // all workers have read memory_.rows[output]
    if (is_first()) memory_.rows[output] = row_;
  }

 private:
  using Chains = ShardChains<ShardRounds, Columns>;
  friend Chains;

  SAMPLER_HD auto workers() const { return columns_.workers(); }
  SAMPLER_HD bool is_first() const { return workers().index == 0; }

  // Calls f(i) for each i < count, on one of the workers.
  template <class F>
  SAMPLER_HD void for_each(int64_t count, const F &f) const {
    const auto all = workers();
    for (int64_t i = all.index; i < count; i += all.count) f(i);
  }
  template <class F>
  SAMPLER_HD uint64_t sum_of(int64_t count, const F &f) const {
    uint64_t own = 0;
    for_each(count, [&](int64_t i) { own += f(i); });
    return columns_.sum(own);
  }

  // ---- This rank's part of a row

  SAMPLER_HD_CALL RowView given_view() const {
    // Values may be null on a rank without columns.
    if (call_.num_cols == 0) return own_part(row_view(call_.input(), 0, 0));
    if (call_.verify) return own_part(target_view(*call_.verify, output_, row_.emitted));
    const int64_t index =
        call_.sample && call_.sample->row_indices ? call_.sample->row_indices[output_] : output_;
    return own_part(row_view(call_.input(), index));
  }
  SAMPLER_HD_CALL RowView own_part(RowView view) const {
    view.count = int32_t(call_.num_cols);
    return view;
  }
  // The row after its edits.
  SAMPLER_HD_CALL RowView view() const {
    if (!memory_.edited || row_.uses_given) return given_view();
    return {edited(), nullptr, int32_t(call_.num_cols), SAMPLER_F32, SAMPLER_ID_I32, kind()};
  }
  SAMPLER_HD float *edited() const { return memory_.edited + output_ * memory_.edited_stride; }

  SAMPLER_HD sampler_input_kind kind() const { return call_.input().kind; }
  SAMPLER_HD Rank lowest() const { return lowest_cut(kind()); }
  SAMPLER_HD_CALL RowScale scale_at(Rank first, float temperature) const {
    return row_scale(kind(), value_of_rank(first), temperature);
  }
  // Scales of the draw, of the filters' input, and of reports on the whole row.
  SAMPLER_HD RowScale draw_scale() const {
    return scale_at(row_.first, row_.greedy ? 1.0f : row_.parameters.temperature);
  }
  SAMPLER_HD RowScale filter_scale() const {
    const bool at_1 = rules().temperature_order == SAMPLER_TEMPERATURE_LAST;
    return scale_at(row_.first, at_1 || row_.greedy ? 1.0f : row_.parameters.temperature);
  }
  SAMPLER_HD RowScale reported_scale() const {
    return scale_at(call_.reports_given() ? row_.given_first : row_.first, 1.0f);
  }
  SAMPLER_HD RowView reported_view() const { return call_.reports_given() ? given_view() : view(); }
  SAMPLER_HD const FilterRules &rules() const { return call_.parameters().rules; }
  SAMPLER_HD int64_t slot() const { return call_.slots()[output_]; }

  // The cut for this rank's columns.
  SAMPLER_HD Rank own_cut(const RowView &own) const {
    if (row_.has_list_cut) return row_.list_cut;
    if (row_.cut.ties == SharedCut::kAllTies) return rank_of_key(row_.cut.key);
    return columns_.cut_after_ties(own, row_.cut.key, row_.cut.ties);
  }

  // A rank without columns has an empty row.
  SAMPLER_HD_CALL uint32_t load(const RowView &own, int64_t num_first, Rank *first) const {
    *first = 0;
    if (own.count == 0) return SAMPLER_ROW_EMPTY;
    return columns_.load(own, call_.select ? Use::kOrder : Use::kDraw, num_first, first);
  }

  // ---- Sending

  SAMPLER_HD char *sent_row() const {
    const size_t row_bytes = plan_.row_bytes(plan_.part(round_.number));
    return round_.send + sizeof(ShardHeader) + size_t(output_) * row_bytes;
  }
  template <class Part>
  SAMPLER_HD_CALL void send(const Part &part, size_t offset = 0) const {
    if (is_first()) *reinterpret_cast<Part *>(sent_row() + offset) = part;
  }

  SAMPLER_HD_CALL void write() {
    const ShardPart part = plan_.part(round_.number);
    uint64_t *const words = reinterpret_cast<uint64_t *>(sent_row());
    for_each(int64_t(plan_.row_bytes(part) / sizeof(uint64_t)), [&](int64_t i) { words[i] = 0; });
    workers().wait();
    if (part == ShardPart::kStart) {
      if (call_.residual) {
        write_residual_start();
      } else if (call_.verify) {
        Chains(call_, output_, *this, columns_).write(sent_row());
      } else {
        write_start();
      }
      return;
    }
    if (row_.status != SAMPLER_ROW_OK) return;
    if (plan_.brings_sums(part)) write_sums(plan_.own_bytes(part));
    switch (part) {
      case ShardPart::kDigit:
        if (row_.found == ShardFound::kSearched) write_digit();
        return;
      case ShardPart::kSums:
        if (call_.verify && !row_.is_settled && !row_.uses_given) leave_residual();
        return write_sums(0);
      case ShardPart::kToken:
        if (has_cut()) write_token();
        return;
      default:
        return write_num_before();
    }
  }

  SAMPLER_HD_CALL uint32_t check_row(RowParameters *parameters) const {
    if (call_.select) return SAMPLER_ROW_OK;
    if (call_.sample && call_.sample->row_indices) {
      const int32_t index = call_.sample->row_indices[output_];
      if (index < 0 || index >= call_.input().num_rows) return SAMPLER_ROW_INVALID_INDEX;
    }
    const int64_t slot = this->slot();
    if (!call_.slots().has(slot)) return SAMPLER_ROW_INVALID_SLOT;
    *parameters = call_.parameters().of(slot);
    const uint32_t status = check_parameters(kind(), *parameters);
    if (status != SAMPLER_ROW_OK || !call_.pipeline) return status;
    return call_.pipeline->has_valid_numbers(slot, kind()) ? SAMPLER_ROW_OK
                                                           : SAMPLER_ROW_INVALID_PARAMETER;
  }

  SAMPLER_HD_CALL uint64_t digest_row(const RowParameters &parameters) {
    if (call_.select)
      return digest_number(
          call_.select->selected_counts ? int64_t(call_.select->selected_counts[output_]) : 0);
    const auto sum = [this](uint64_t own) { return columns_.sum(own); };
    const auto all = workers();
    using OwnDigest = RowDigest<decltype(workers()), decltype(sum)>;
    if (call_.has_edits() && !knows_breakers_) {
      breakers_ = OwnDigest(all, sum).of_breakers(*call_.pipeline);
      knows_breakers_ = true;
    }
    return OwnDigest(all, sum, breakers_).of(call_, output_, slot(), parameters);
  }
  SAMPLER_HD static uint64_t digest_number(int64_t number) {
    Digest digest;
    digest.add(number);
    return digest.value();
  }

  SAMPLER_HD_CALL void write_start() {
    RowParameters parameters = {};
    ShardStart start = {SAMPLER_ROW_EMPTY, SAMPLER_ROW_EMPTY, 0, 0, 0, 0};
    start.given_status = check_row(&parameters);
    if (start.given_status == SAMPLER_ROW_OK) {
      start.digest = digest_row(parameters);
      const RowView given = given_view();
      const int64_t num_first = plan_.num_candidates;
      RowView seen = given;
      start.given_status = load(given, call_.has_edits() ? 0 : num_first, &start.given_first);
      Rank first = start.given_first;
      if (!call_.has_edits()) {
        start.edited_status = start.given_status;
      } else if (start.given_status == SAMPLER_ROW_OK) {
        start.edited_status = columns_.edit(slot(), output_, given, edited());
        seen = view();
        if (start.edited_status == SAMPLER_ROW_OK) {
          start.edited_status = load(seen, num_first, &first);
        }
      } else {
        columns_.fill(edited(), negative_infinity());
      }
      if (start.edited_status == SAMPLER_ROW_OK) {
        start.num_tokens = int32_t(columns_.count(seen, lowest()));
        write_candidates(given, seen, first, start.num_tokens);
        start.ties = ties_of_last(seen, start.num_tokens);
      }
    }
    send(start);
  }

  SAMPLER_HD_CALL void write_candidates(const RowView &given, const RowView &seen, Rank first,
                                        int64_t num_tokens) {
    const ShardList to = candidates_at(sent_row(), plan_.num_candidates);
    const bool has_values = plan_.has_values;
    const int64_t first_id = call_.first_id;
    const auto put = [&](int64_t place, Rank rank) {
      to.ranks[place] = rank;
      if (has_values) to.values[place] = given.value(int64_t(id_of_rank(rank)) - first_id);
    };
    const int64_t wanted = smaller(plan_.num_candidates, num_tokens);
    if (wanted > 1) {
      columns_.list(seen, wanted, put);
    } else if (wanted == 1 && is_first()) {
      put(0, first);
    }
  }

  // Number of tokens with the value of the last candidate, which may exceed the candidates.
  SAMPLER_HD_CALL int32_t ties_of_last(const RowView &seen, int64_t num_tokens) {
    const int64_t num_listed = smaller(plan_.num_candidates, num_tokens);
    if (!plan_.has_ties || num_listed == 0) return 0;
    workers().wait();  // the candidates have been written
    const Rank last = candidates_at(sent_row(), plan_.num_candidates).ranks[num_listed - 1];
    return int32_t(columns_.count_ties(seen, key_of_rank(last)));
  }

  SAMPLER_HD_CALL void write_digit() {
    const RowScale scale = filter_scale();
    const bool sees_min_p =
        rules().order == SAMPLER_FILTERS_MIN_P_FIRST && min_p_is_on(row_.parameters.min_p);
    const uint32_t lowest =
        sees_min_p ? min_p_key() : lowest_key_of_weight(scale, key_of_rank(row_.first), 1);
    columns_.add_digit(view(), scale, lowest, row_.search, digit_of(round_.number),
                       reinterpret_cast<ShardDigit *>(sent_row())->weights);
  }
  SAMPLER_HD static int digit_of(int exchange) { return exchange - 1; }

  SAMPLER_HD uint32_t min_p_key() const {
    const RowScale scale = filter_scale();
    const uint64_t first = weight(scale, value_of_rank(row_.first));
    return lowest_key_of_weight(scale, key_of_rank(row_.first),
                                min_p_threshold(row_.parameters.min_p, first));
  }

  SAMPLER_HD_CALL void write_sums(size_t offset) {
    ShardSums sums = {};
    if (call_.reports_row()) {
      const EntropySums all = weigh(reported_view(), reported_scale(), lowest());
      sums.reported_weight = all.weight;
      sums.reported_surprise = all.surprise;
    }
    const RowView own = view();
    if (row_.found != ShardFound::kListed) {
      const Rank cut = own_cut(own);
      const EntropySums kept = weigh(own, draw_scale(), cut);
      sums.kept_count = uint64_t(columns_.count(own, cut));
      sums.kept_weight = kept.weight;
      sums.kept_surprise = kept.surprise;
    } else if (decides_by_sums()) {
      sums.seen_weight = columns_.weight(own, filter_scale(), lowest());
    }
    send(sums, offset);
  }

  // The weight, and the surprise if entropies are reported.
  SAMPLER_HD_CALL EntropySums weigh(const RowView &own, const RowScale &scale, Rank cut) const {
    if (call_.wants_entropies()) return columns_.entropy_sums(own, scale, cut);
    return {columns_.weight(own, scale, cut), 0};
  }

  SAMPLER_HD_CALL void write_token() {
    ShardToken token = {0.0f, -1, 0.0f, 0.0f};
    const RowView own = view();
    const RowScale scale = draw_scale();
    const Rank cut = own_cut(own);
    int64_t column = -1;
    if (call_.draws_by_score()) {
      column = columns_.best_score(own, scale, cut, gumbel_random(), &token.score);
    } else if (row_.is_owner) {
      column = columns_.find(own, scale, cut, row_.target);
    }
    if (column >= 0) {
      token.id = int32_t(call_.first_id + column);
      token.value = own.value(column);
      token.given_value = given_view().value(column);
      if (plan_.has_token_rank) {
        const Rank rank = rank_of(token.value, uint32_t(token.id));
        send(ShardNumBefore{num_before(own, rank)}, sizeof token);
      }
    }
    send(token);
  }
  // Number of tokens on all ranks before a token of this rank, which is listed or has the cut's
  // value.
  SAMPLER_HD_CALL uint64_t num_before(const RowView &own, Rank rank) {
    const Rank *const ranks = list().ranks;
    const Rank above_ties = rank_of_key(row_.cut.key + 1);
    const int64_t first_tie = first_below(ranks, 0, row_.num_listed, above_ties);
    if (rank >= above_ties) return uint64_t(first_below(ranks, 0, first_tie, rank + 1));
    const int64_t own_before = columns_.count(own, rank + 1) - columns_.count(own, above_ties);
    return uint64_t(first_tie) + row_.ties_before + uint64_t(own_before);
  }
  SAMPLER_HD RandomStream random() const { return call_.sample->random.of(slot()); }
  SAMPLER_HD GumbelStream gumbel_random() const {
    return {random(), call_.sample->random.are_watermarks};
  }

  SAMPLER_HD_CALL void write_num_before() {
    const float value = call_.reports_given() ? row_.given_value : row_.value;
    const Rank rank = rank_of(value, uint32_t(row_.token));
    send(ShardNumBefore{uint64_t(columns_.count(reported_view(), rank + 1))});
  }

  // ---- Receiving

  SAMPLER_HD_CALL void read() {
    const bool is_next = row_.stamp == shard_stamp(round_.number);
    if (!is_next || !round_.is_agreed) {
      row_ = {};
      row_.status = SAMPLER_ROW_INVALID_SHARD;
      return;
    }
    const ShardPart part = plan_.part(round_.number - 1);
    messages_ = ShardMessages::of(call_, plan_, round_, output_);
    if (part == ShardPart::kStart) return call_.verify ? read_chain() : read_start();
    if (row_.status != SAMPLER_ROW_OK) return;
    if (plan_.brings_sums(part)) {
      const KeptWeights kept = add_sums(plan_.own_bytes(part));
      if (decides_by_sums()) decide_by_list(kept.seen);
    }
    switch (part) {
      case ShardPart::kDigit:
        if (row_.found == ShardFound::kSearched) read_digit();
        return;
      case ShardPart::kSums:
        return read_sums();
      case ShardPart::kToken:
        if (!row_.is_settled) read_token();
        return;
      default:
        messages_.template for_each<ShardNumBefore>(
            [&](int64_t, const ShardNumBefore &own) { row_.num_before += own.num_before; });
    }
  }

  SAMPLER_HD_CALL ShardList list() const {
    const int64_t first = output_ * plan_.num_candidates;
    return {memory_.listed.ranks + first,
            plan_.has_values ? memory_.listed.values + first : nullptr};
  }

  SAMPLER_HD_CALL void read_start() {
    row_ = {};
    ShardStart all = {SAMPLER_ROW_EMPTY,
                      SAMPLER_ROW_EMPTY,
                      messages_.template row<ShardStart>(0).digest,
                      0,
                      0,
                      0};
    messages_.template for_each<ShardStart>([&](int64_t rank, const ShardStart &own) {
      const bool is_valid = own.digest == all.digest && own.num_tokens >= 0 &&
                            own.num_tokens <= messages_.header(rank).num_cols && own.ties >= 0 &&
                            own.ties <= own.num_tokens;
      const uint32_t given = is_valid ? own.given_status : uint32_t(SAMPLER_ROW_INVALID_SHARD);
      all.given_status = status_of_parts(all.given_status, given);
      all.edited_status = status_of_parts(all.edited_status, own.edited_status);
      all.num_tokens += own.num_tokens;
      if (own.given_first > all.given_first) all.given_first = own.given_first;
    });
    const ShardLists<Columns> lists(call_, plan_, memory_, messages_, columns_);
    if (all.given_status != SAMPLER_ROW_INVALID_SHARD && !lists.are_valid()) {
      all.given_status = SAMPLER_ROW_INVALID_SHARD;
    }
    if (all.given_status == SAMPLER_ROW_INVALID_SHARD) {
      row_.status = all.given_status;
      return;
    }
    row_.num_listed = lists.merge(list());
    if (call_.residual) return choose_residual(all);
    row_.status = all.given_status != SAMPLER_ROW_OK ? all.given_status : all.edited_status;
    if (row_.status != SAMPLER_ROW_OK) return;
    row_.num_tokens = all.num_tokens;
    row_.given_first = all.given_first;
    if (row_.num_listed == 0) {
      row_.status = SAMPLER_ROW_INVALID_SHARD;  // no rank sends this
      return;
    }
    row_.first = list().ranks[0];
    if (!call_.select) choose_way();
  }

  // ---- Cuts

  SAMPLER_HD_CALL void choose_way() {
    RowParameters parameters = call_.parameters().of(slot());
    if (call_.pipeline) parameters = call_.pipeline->adapted(parameters, slot());
    row_.parameters = parameters;
    row_.greedy = is_greedy(parameters.temperature);
    if (!row_.greedy && !call_.has_top_k(parameters.top_k)) {
      row_.found = top_p_is_on(parameters.top_p) ? ShardFound::kSearched : ShardFound::kOpen;
      const bool has_min_p = min_p_is_on(parameters.min_p);
      row_.cut = {has_min_p ? min_p_key() : key_of_rank(lowest()), SharedCut::kAllTies};
      return;
    }
    row_.found = ShardFound::kListed;
    if (!row_.greedy && parameters.top_k > plan_.num_candidates) {
      row_.status = SAMPLER_ROW_INVALID_SHARD;
      return;
    }
    if (plan_.has_ties && !row_.greedy) count_ties();
    if (!decides_by_sums()) {
      decide_by_list(0);
    } else if (plan_.has_early_token) {
      expect_all_ties();
    }
  }

  // Counts top-k's ties on all ranks. A rank with more of them than it could list has one as its
  // last candidate.
  SAMPLER_HD_CALL void count_ties() {
    const uint32_t key = key_of_rank(list().ranks[num_deciding() - 1]);
    const auto ties_of = [this, key](int64_t rank) -> uint64_t {
      const int64_t num_listed = messages_.num_candidates_of(rank);
      if (num_listed == 0) return 0;
      const Rank *const ranks = messages_.candidates_of(rank).ranks;
      if (key_of_rank(ranks[num_listed - 1]) == key) {
        return messages_.template row<ShardStart>(rank).ties;
      }
      return uint64_t(first_below(ranks, 0, num_listed, rank_of_key(key)) -
                      first_below(ranks, 0, num_listed, rank_of_key(key + 1)));
    };
    row_.ties = sum_of(call_.num_ranks, ties_of);
    row_.ties_before = sum_of(call_.rank, ties_of);
    row_.own_ties = ties_of(call_.rank);
  }

  // Number of listed tokens that top-k may keep.
  SAMPLER_HD int64_t num_deciding() const {
    return row_.greedy ? 1 : smaller(row_.parameters.top_k, row_.num_listed);
  }

  // Whether the row's cut also needs sums over all ranks.
  SAMPLER_HD bool decides_by_sums() const {
    if (row_.greedy || !(plan_.has_sums || plan_.has_early_token)) return false;
    return rules().order == SAMPLER_FILTERS_JOINT && top_p_is_on(row_.parameters.top_p);
  }

  // The listed tokens, for ListedPrefix.
  struct Listed {
    const ShardRounds *rounds;
    const Rank *ranks;

    SAMPLER_HD Rank operator[](int64_t i) const { return ranks[i]; }
    SAMPLER_HD uint64_t weight_of_first(const RowScale &scale, int64_t n) const {
      return rounds->sum_of(n, [&](int64_t i) { return weight(scale, value_of_rank(ranks[i])); });
    }
    SAMPLER_HD int64_t find(const RowScale &scale, int64_t n, uint64_t target) const {
      return rounds->columns_.find_in_list(
          ranks, n, target, [scale](Rank rank) { return weight(scale, value_of_rank(rank)); });
    }
  };

  // Cuts a listed row. `seen_weight`: input weight of JOINT's top-p.
  SAMPLER_HD_CALL void decide_by_list(uint64_t seen_weight) {
    const Listed listed = {this, list().ranks};
    const int64_t num_deciding = this->num_deciding(), first_tie = first_tie_of_last();
    uint64_t num_ties = uint64_t(num_deciding - first_tie);
    if (row_.ties > num_ties) num_ties = row_.ties;
    ListedPrefix<Listed> prefix(listed, num_deciding, num_ties, row_.num_tokens, seen_weight,
                                filter_scale());
    row_.kept_count = row_.greedy ? 1 : filtered_prefix(prefix, row_.parameters, rules());
    if (has_cut()) return keep_ties(first_tie);
    row_.has_list_cut = true;
    row_.list_cut = listed[row_.kept_count - 1];
    row_.is_settled = true;
    weigh_list(row_.kept_count);
    if (call_.sample) draw_from_list();
  }

  // Place of the first token that ties with the last deciding one.
  SAMPLER_HD int64_t first_tie_of_last() const {
    const Rank *const ranks = list().ranks;
    const int64_t last = num_deciding() - 1;
    return first_below(ranks, 0, last, rank_of_key(key_of_rank(ranks[last]) + 1));
  }

  // Whether unlisted tokens are kept, from a known cut.
  SAMPLER_HD bool has_cut() const {
    if (row_.found == ShardFound::kListed) return row_.kept_count > row_.num_listed;
    return !row_.is_settled;
  }

  // Keeps ties of top-k's last token; `first_tie` tokens are above them.
  SAMPLER_HD void keep_ties(int64_t first_tie) {
    weigh_list(first_tie);
    const Rank last = list().ranks[num_deciding() - 1];
    row_.cut = {key_of_rank(last), uint64_t(row_.kept_count - first_tie)};
    share_ties();
  }

  // Assumes that JOINT's top-p keeps all ties, before this is known.
  SAMPLER_HD void expect_all_ties() {
    const int64_t first_tie = first_tie_of_last();
    row_.kept_count = first_tie + int64_t(row_.ties);
    if (has_cut()) keep_ties(first_tie);
  }

  SAMPLER_HD_CALL void weigh_list(int64_t count) {
    const RowScale scale = draw_scale();
    const Rank *const ranks = list().ranks;
    EntropySums own;
    for_each(count, [&](int64_t i) { own.add(entropy_sums(scale, value_of_rank(ranks[i]))); });
    row_.kept_weight = columns_.sum(own.weight);
    if (call_.wants_entropies()) row_.kept_surprise = columns_.sum(own.surprise);
  }

  // Draws from the kept tokens, all of which are listed.
  SAMPLER_HD_CALL void draw_from_list() {
    const ShardList list = this->list();
    Rank drawn = list.ranks[0];
    if (!row_.greedy) {
      drawn = call_.draws_by_score()
                  ? best_of_list(row_.kept_count)
                  : columns_.draw_from_list(list.ranks, row_.kept_count, draw_scale(),
                                            draw_target(row_.kept_weight));
    }
    row_.token_place = first_below(list.ranks, 0, row_.kept_count, drawn + 1);
    row_.token = id_of_rank(drawn);
    row_.value = value_of_rank(drawn);
    row_.given_value = plan_.has_values ? list.values[row_.token_place] : 0.0f;
  }

  // The token with the largest Gumbel score among the first `count`; the lowest id among equals.
  SAMPLER_HD_CALL Rank best_of_list(int64_t count) const {
    const GumbelStream random = gumbel_random();
    const RowScale scale = draw_scale();
    const Rank *const ranks = list().ranks;
    Rank own = 0, own_token = 0;
    for_each(count, [&](int64_t i) {
      const uint32_t id = id_of_rank(ranks[i]);
      const Philox4 block = gumbel_block(random, id / 4);
      const float score =
          gumbel_score(kind(), value_of_rank(ranks[i]), scale.scale, block.word[id % 4]);
      const Rank rank = rank_of(score, id);
      if (rank <= own) return;
      own = rank;
      own_token = ranks[i];
    });
    const Rank best = columns_.max(own);
    return columns_.max(own == best ? own_token : 0);
  }

  SAMPLER_HD_CALL uint64_t draw_target(uint64_t weight) const {
    const uint64_t word =
        call_.verify ? last_token_word(chain()) : random_word64(random(), Purpose::kSample, 0);
    return contract::draw_target(word, weight);
  }

  SAMPLER_HD_CALL void read_digit() {
    const int digit = digit_of(round_.number - 1);
    uint64_t own_seen = 0;
    for_each(kNumDigitValues, [&](int64_t v) {
      uint64_t sum = 0;
      messages_.template for_each<ShardDigit>(
          [&](int64_t, const ShardDigit &own) { sum += own.weights[v]; });
      memory_.digits[v] = sum;
      own_seen += sum;
    });
    const uint64_t seen = columns_.sum(own_seen);
    if (digit == 0) {
      const uint64_t missing = top_p_threshold({row_.parameters.top_p, rules().top_p_sum}, seen);
      row_.search.missing = missing > 1 ? missing : 1;
    }
    const int value = row_.search.take(memory_.digits);
    if (digit + 1 == kNumDigits) finish_search(value);
  }

  // Sets the cut to the key at which top-p's weight is reached, with this rank's number of ties. A
  // min-p cut above that key remains: all its tokens reach min-p's weight.
  SAMPLER_HD_CALL void finish_search(int value) {
    const uint32_t key = row_.search.key;
    if (key < row_.cut.key) return;
    if (rules().top_p_ties == SAMPLER_TIES_KEEP) {
      row_.cut = {key, SharedCut::kAllTies};
      return;
    }
    const uint64_t own_weight = weight(filter_scale(), value_of_key(key));
    const uint64_t tie_weight = own_weight > 1 ? own_weight : 1;
    uint64_t before = 0, own = 0;
    messages_.template for_each<ShardDigit>([&](int64_t rank, const ShardDigit &sums) {
      const uint64_t count = sums.weights[value] / tie_weight;
      if (rank < call_.rank) before += count;
      if (rank == call_.rank) own = count;
    });
    const uint64_t ties = (row_.search.missing + tie_weight - 1) / tie_weight;
    row_.cut = {key, own_ties(ties, before, own)};
  }

  struct KeptWeights {
    uint64_t seen, before, own;
  };
  SAMPLER_HD_CALL KeptWeights add_sums(size_t offset) {
    ShardSums all = {};
    uint64_t kept_before = 0, kept_own = 0;
    for (int64_t rank = 0; rank < call_.num_ranks; ++rank) {
      const ShardSums &own = messages_.template row<ShardSums>(rank, offset);
      all.reported_weight += own.reported_weight;
      all.reported_surprise += own.reported_surprise;
      all.seen_weight += own.seen_weight;
      if (rank < call_.rank) kept_before += own.kept_weight;
      if (rank == call_.rank) kept_own = own.kept_weight;
      all.kept_weight += own.kept_weight;
      all.kept_surprise += own.kept_surprise;
      all.kept_count += own.kept_count;
    }
    row_.reported_weight = all.reported_weight;
    row_.reported_surprise = all.reported_surprise;
    if (row_.found != ShardFound::kListed) {
      row_.kept_weight = all.kept_weight;
      row_.kept_surprise = all.kept_surprise;
      row_.kept_count = int64_t(all.kept_count);
    }
    return {all.seen_weight, kept_before, kept_own};
  }

  SAMPLER_HD_CALL void read_sums() {
    const KeptWeights kept = add_sums(0);
    if (row_.found != ShardFound::kListed) {
      choose_owner(kept.before, kept.own);
    } else if (decides_by_sums()) {
      decide_by_list(kept.seen);
    }
  }

  // Distributes the kept ties among the ranks, for a row that keeps ties beyond its list.
  SAMPLER_HD_CALL void share_ties() {
    const RowScale scale = draw_scale();
    const Rank *const ranks = list().ranks;
    const uint64_t ties = row_.cut.ties;
    const int64_t num_above = row_.kept_count - int64_t(ties);
    const EntropySums tie = entropy_sums(scale, value_of_key(row_.cut.key));
    row_.kept_weight += ties * tie.weight;
    row_.kept_surprise += ties * tie.surprise;
    row_.cut.ties = own_ties(ties, row_.ties_before, row_.own_ties);
    const auto weight_of_ids = [&](int64_t begin, int64_t end) {
      return sum_of(num_above, [&](int64_t i) {
        const int64_t id = id_of_rank(ranks[i]);
        return id >= begin && id < end ? weight(scale, value_of_rank(ranks[i])) : 0;
      });
    };
    const int64_t first_id = call_.first_id;
    choose_owner(weight_of_ids(0, first_id) + own_ties(ties, 0, row_.ties_before) * tie.weight,
                 weight_of_ids(first_id, first_id + call_.num_cols) + row_.cut.ties * tie.weight);
  }

  // Decides whether this rank owns the target: `before` and `own` are the kept weights of the ranks
  // before it and its own.
  SAMPLER_HD void choose_owner(uint64_t before, uint64_t own) {
    if (!call_.sample && !call_.verify) return;
    const uint64_t target = draw_target(row_.kept_weight);
    row_.is_owner = target >= before && target - before < own;
    row_.target = target - before;
  }

  SAMPLER_HD_CALL void read_token() {
    const bool by_score = call_.draws_by_score();
    ShardToken best = {0.0f, -1, 0.0f, 0.0f};
    messages_.template for_each<ShardToken>([&](int64_t rank, const ShardToken &own) {
      if (!messages_.owns(rank, own.id)) return;
      if (best.id >= 0 && !(by_score && own.score > best.score)) return;
      best = own;
      if (!plan_.has_token_rank) return;
      row_.num_before = messages_.template row<ShardNumBefore>(rank, sizeof own).num_before;
    });
    if (best.id < 0) {
      row_.status = SAMPLER_ROW_INVALID_SHARD;
      return;
    }
    row_.token = best.id;
    row_.value = best.value;
    row_.given_value = best.given_value;
  }

  // ---- Residuals

  // The deterministic drafter's token; -1 if there is a row q.
  SAMPLER_HD int64_t removed() const {
    const ResidualRequest &request = *call_.residual;
    return request.draft.values ? -1
                                : load_id(request.draft_token_ids, request.token_id_type, output_);
  }
  SAMPLER_HD_CALL bool has_valid_draft() const {
    const int64_t id = removed();
    return call_.residual->draft.values || (id >= 0 && id < call_.total_cols());
  }

  // given_status is the status of p, edited_status that of q; the candidate is the residual's first
  // token.
  SAMPLER_HD_CALL void write_residual_start() {
    ShardStart start = {SAMPLER_ROW_EMPTY, SAMPLER_ROW_EMPTY, digest_number(removed()), 0, 0, 0};
    const RowView p = given_view();
    RowView q = {};
    Rank unused = 0;
    if (call_.residual->draft.values) {
      q = own_part(row_view(call_.residual->draft, output_));
      start.edited_status = load(q, 0, &unused);
    }
    start.given_status = load(p, 0, &start.given_first);
    if (start.given_status != SAMPLER_ROW_INVALID_VALUE &&
        start.edited_status != SAMPLER_ROW_INVALID_VALUE) {
      const Rank first = columns_.subtract(p, q, removed(), edited());
      if (first >= lowest()) {
        start.num_tokens = 1;
        if (is_first()) candidates_at(sent_row(), plan_.num_candidates).ranks[0] = first;
      }
    }
    send(start);
  }

  SAMPLER_HD_CALL void choose_residual(const ShardStart &all) {
    row_.status = all.given_status;
    if (row_.status == SAMPLER_ROW_OK && all.edited_status != SAMPLER_ROW_EMPTY) {
      row_.status = all.edited_status;
    }
    row_.uses_given = row_.num_listed == 0 || !has_valid_draft();
    row_.first = row_.uses_given ? all.given_first : list().ranks[0];
    row_.parameters = {1.0f, 0, 1.0f, 0.0f};
    row_.found = ShardFound::kOpen;
    row_.cut = {key_of_rank(lowest()), SharedCut::kAllTies};
  }

  // ---- Verification

  SAMPLER_HD_CALL void read_chain() {
    row_ = {};
    row_.status = Chains(call_, output_, *this, columns_).read(&row_);
  }

  // The chain with the results so far.
  SAMPLER_HD_CALL Chain chain() const {
    Chain chain = make_chain(*call_.verify, output_);
    chain.emitted = row_.emitted;
    chain.accepted = row_.accepted;
    chain.last_token = row_.token;
    return chain;
  }

  // Writes the residual of the position at which the chain ends.
  SAMPLER_HD void leave_residual() {
    const VerifyRequest &request = *call_.verify;
    const Chain chain = this->chain();
    RowView q = {};
    if (request.draft.values) q = own_part(draft_view(request, output_, row_.emitted));
    columns_.subtract(given_view(), q, rejected_draft(request, chain), edited());
  }

  SAMPLER_HD_CALL void write_chain() const {
    const VerifyRequest &request = *call_.verify;
    const Chain chain = this->chain();
    const int64_t first = output_ * (request.num_drafts + 1);
    for_each(request.num_drafts + 1, [&](int64_t i) {
      const int64_t id = chain_token(request, chain, row_.status, int32_t(i));
      store_id(request.out_token_ids, first + i, id);
    });
    if (is_first()) write_chain_outcome(request, chain, row_.status);
  }

  // ---- Outputs

  SAMPLER_HD bool is_good() const { return row_.status == SAMPLER_ROW_OK; }

  SAMPLER_HD_CALL void write_outputs() {
    if (call_.residual) return write_residual();
    if (call_.verify) return write_chain();
    if (call_.select) return write_selected();
    if (call_.filter) return write_filtered();
    if (is_first()) write_token_outputs();
    if (call_.reports) write_top();
  }

  SAMPLER_HD_CALL void write_token_outputs() const {
    const SampleRequest &to = *call_.sample;
    const bool good = is_good();
    store_id(to.out_token_ids, output_, good ? row_.token : to.bad_row_token);
    if (to.out_row_status) to.out_row_status[output_] = row_.status;
    if (to.out_kept_counts) to.out_kept_counts[output_] = good ? int32_t(row_.kept_count) : 0;
    if (to.out_values) to.out_values[output_] = good ? row_.given_value : quiet_nan();
    if (to.out_logprobs) {
      const float value = call_.reports_given() ? row_.given_value : row_.value;
      to.out_logprobs[output_] =
          good ? reported().log_probability(value, uint32_t(row_.token)) : quiet_nan();
    }
    if (call_.wants_ranks()) {
      const bool has_num_before = plan_.has_rank || !row_.is_settled;
      const uint64_t before = has_num_before ? row_.num_before : uint64_t(row_.token_place);
      call_.reports->out_ranks[output_] = good ? int32_t(before) + 1 : 0;
    }
    if (call_.wants_entropies()) call_.reports->out_entropies[output_] = entropy();
  }

  SAMPLER_HD bool reports_processed() const {
    return call_.sample->logprob_kind == SAMPLER_LOGPROB_PROCESSED;
  }

  // Lowest cut: only tokens of the distribution are asked for.
  SAMPLER_HD Reported reported() const {
    if (reports_processed()) return {draw_scale(), 0, row_.kept_weight, row_.greedy, ~Rank(0)};
    return {reported_scale(), 0, row_.reported_weight, false, ~Rank(0)};
  }

  SAMPLER_HD float entropy() const {
    if (!is_good()) return quiet_nan();
    if (reports_processed()) {
      return row_.greedy ? 0.0f : entropy_in_nats({row_.kept_weight, row_.kept_surprise});
    }
    return entropy_in_nats({row_.reported_weight, row_.reported_surprise});
  }

  SAMPLER_HD_CALL void write_top() const {
    const Reports &to = *call_.reports;
    const int64_t in_distribution = reports_processed() ? row_.kept_count : row_.num_listed;
    const int64_t count = is_good() ? smaller(row_.num_listed, in_distribution) : 0;
    const Reported reported = count > 0 ? this->reported() : Reported();
    const Rank *const ranks = list().ranks;
    for_each(to.num_top, [&](int64_t i) {
      const int64_t place = output_ * to.num_top + i;
      const Rank rank = i < count ? ranks[i] : 0;
      const int64_t id = i < count ? int64_t(id_of_rank(rank)) : -1;
      if (to.out_top_token_ids.data) store_id(to.out_top_token_ids, place, id);
      if (to.out_top_logprobs) {
        to.out_top_logprobs[place] =
            i < count ? reported.log_probability(value_of_rank(rank), uint32_t(id)) : quiet_nan();
      }
    });
  }

  SAMPLER_HD_CALL void write_filtered() const {
    const FilterRequest &to = *call_.filter;
    const bool is_mask = to.output_kind == SAMPLER_OUTPUT_VALUES;
    if (is_first()) {
      if (to.out_row_status) to.out_row_status[output_] = row_.status;
      if (to.out_kept_counts) {
        to.out_kept_counts[output_] = is_good() ? int32_t(row_.kept_count) : 0;
      }
    }
    if (!is_good()) {
      if (is_mask) return columns_.write_bad(output_, given_view());
      return columns_.write_nothing(output_);
    }
    const RowView own = view();
    if (own.count == 0) return;
    const Distribution kept = {draw_scale(), own_cut(own), row_.kept_weight,
                               normalizer(row_.kept_weight), row_.greedy};
    if (is_mask) return columns_.write_values(output_, own, kept);
    columns_.write_probabilities(output_, own, kept);
  }

  SAMPLER_HD_CALL void write_residual() const {
    const uint32_t invalid_draft =
        has_valid_draft() ? uint32_t(SAMPLER_ROW_OK) : uint32_t(SAMPLER_ROW_INVALID_DRAFT);
    if (is_first() && call_.residual->out_row_status) {
      call_.residual->out_row_status[output_] = row_.status | invalid_draft;
    }
    if (!is_good()) return columns_.write_nothing(output_);
    const RowView own = view();
    if (own.count == 0) return;
    columns_.write_probabilities(
        output_, own,
        {draw_scale(), lowest(), row_.kept_weight, normalizer(row_.kept_weight), false});
  }

  SAMPLER_HD_CALL void write_selected() const {
    const SelectRequest &to = *call_.select;
    const int32_t own = to.selected_counts ? to.selected_counts[output_] : 0;
    const int64_t wanted = own <= 0 || own >= to.num_selected ? to.num_selected : own;
    const int64_t count = is_good() ? smaller(wanted, row_.num_listed) : 0;
    const float nothing = kind() == SAMPLER_LOGITS ? negative_infinity() : 0.0f;
    const ShardList list = this->list();
    for_each(to.num_selected, [&](int64_t i) {
      const int64_t place = output_ * to.num_selected + i;
      if (to.out_values) {
        store_value(to.out_values, to.output_dtype, place, i < count ? list.values[i] : nothing);
      }
      if (!to.out_token_ids.data) return;
      store_id(to.out_token_ids, place, i < count ? int64_t(id_of_rank(list.ranks[i])) : -1);
    });
    if (!is_first()) return;
    if (to.out_counts) to.out_counts[output_] = int32_t(count);
    if (to.out_row_status) to.out_row_status[output_] = row_.status;
  }

  const ShardCall &call_;
  const ShardPlan &plan_;
  const ShardMemory &memory_;
  const ShardRound &round_;
  Columns &columns_;
  int64_t output_ = 0;
  ShardMessages messages_;
  ShardRow row_ = {};
  bool knows_breakers_ = false;
  uint64_t breakers_ = 0;
};

}  // namespace sampler::shards
