// A row computed by row passes. The results equal those of ReferenceRow; candidate lists are not
// supported.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "contract/elements.h"
#include "contract/filters.h"
#include "contract/philox.h"
#include "cpu/distribution.h"
#include "cpu/draw.h"
#include "cpu/edited_row.h"
#include "cpu/executor.h"
#include "cpu/front.h"
#include "cpu/places.h"
#include "cpu/reference_row.h"
#include "cpu/row.h"
#include "cpu/simd/passes.h"

namespace sampler::cpu {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Elements [begin, begin + count), without their ids.
inline RowView part_of(const RowView &source, int64_t begin, int64_t count) {
  RowView part = source;
  part.values =
      static_cast<const char *>(source.values) + begin * int64_t(contract::size_of(source.dtype));
  part.ids = nullptr;
  part.count = int32_t(count);
  return part;
}

class SimdRow {
 public:
  static constexpr bool kTakesEdits = true;

  // Bytes of memory for a row of `num_cols` columns, aligned to 64.
  static size_t memory_bytes(int64_t num_cols);
  // The executor has passes.
  SimdRow(const Executor &executor, const contract::Rows &rows, void *memory);

  // Reads the whole row; returns its status. Only chains continue with a row that is not OK, if it
  // is empty. `counts`: the number of tokens that may be drawn will be needed.
  uint32_t load(const RowView &view, contract::Use use = contract::Use::kDraw, bool counts = false);
  // As load(), but only the value of first() is set until find_first() or list_front().
  uint32_t load_value(const RowView &view, contract::Use use, bool counts = false);
  void find_first();
  // Loads with the bitmask that the edits will apply. False: the row must be loaded without it.
  bool load_allowed(const RowView &view, const uint32_t *allowed);
  sampler_input_kind kind() const { return row_.kind; }
  contract::Rank first() const { return first_; }
  float max() const { return contract::value_of_rank(first_); }

  // Applies edits to the loaded row, and refers to `edited` from then on; returns the status. Other
  // uses than `use` copy the row to edited.values().
  uint32_t take_edits(const EditedRow &edited, EditedUse use);
  const Passes *passes() const { return &passes_; }
  // Makes that copy now. Required before the row is written out.
  void apply_edits();

  // Number of first tokens that suffice; 0: unknown, or too many.
  int64_t num_first(const contract::RowParameters &parameters,
                    const contract::FilterRules &rules) const;
  // Before edits that raise no unedited logit: lists the first `wanted` tokens and some more, or
  // all if there are fewer. Empty if they are too many.
  Front list_front(int64_t wanted);
  // As take_edits(), for edits that are exact within the front only. From then on only the first
  // `wanted` tokens may be used. False if other tokens may be among these.
  bool take_front_edits(const EditedRow &edited, int64_t wanted, uint32_t *status);
  // After a false result: a larger front that suffices; empty if it has too many tokens.
  Front widen_front(const EditedRow &edited, int64_t wanted);
  // Restores the row as loaded.
  void drop_front();

  // The row and the parameters are valid.
  const Distribution &distribute(const contract::RowParameters &parameters,
                                 const contract::FilterRules &rules);
  // Replaces the kept tokens by their new logits, all kept at temperature 1. `memory` has
  // room for the row's values and may already hold them; it and the stage must outlive the row.
  // From here on the row is only for this use.
  const Distribution &reweigh(const contract::Reweighing &stage, float *memory, ReweighedUse use);
  // Number of kept tokens.
  int64_t kept_count() const;
  // The weight of the whole row at temperature 1.
  uint64_t total_weight() const;

  // Prepares `num_draws` draws from the distribution.
  void prepare_draws(int64_t num_draws);
  // The random words for one draw per stream.
  void sample_words(const contract::RandomStream *streams, int64_t count, uint64_t *words) const;
  // Draws one token id per word.
  void draw(const uint64_t *words, int64_t count, int64_t *ids) const;
  int64_t draw_gumbel(const contract::GumbelStream &random) const;

  // Writes the row's values.
  void copy_values(float *out) const;

  // The f32 row that write_probabilities() will write next: distribute() may write relative
  // probabilities there, so that each is computed once. Until the next load.
  void will_write(float *out) { relative_ = {out}; }
  // The same for adaptive-p's reweigh(), which reads them, with marks at tokens that are not kept.
  void will_reweigh(float *memory) { relative_ = {memory, true}; }
  // How many draws by weights distribute() will prepare: it may leave running sums for them. 0:
  // what follows reads no weights, so there are none. Until the next load, before which it is 1.
  void will_draw(int64_t num_draws) { num_draws_ = num_draws; }
  // Writes probabilities, or the values of kept tokens and -inf.
  void write_probabilities(void *out, sampler_dtype dtype) const;
  void write_kept_values(void *out, sampler_dtype dtype) const;

  // The first `wanted` ranks, or all if there are fewer; returns their number.
  int64_t select(int64_t wanted, const contract::Rank **ranks);
  bool has(int64_t id) const { return id >= 0 && id < row_.count; }
  float value_of(int64_t id) const {
    if (is_reweighed_) return listed_value(id);
    if (later_.stage) return new_logit(row_.value(id));
    return edited_ ? edited_->seen(id) : row_.value(id);
  }

  // For reports: the row in memory; the number of its tokens, or of another row's without ids,
  // before a rank; the entropy sums of the whole row, and of the kept tokens.
  const RowView &view() const { return row_; }
  int64_t num_before(contract::Rank rank) const;
  int64_t num_before(const RowView &view, contract::Rank rank) const;
  contract::EntropySums entropy_sums(const contract::RowScale &scale) const;
  contract::EntropySums kept_entropy_sums() const;
  // After the last draw: the first `wanted` kept ranks, or all if there are fewer; the bits of kept
  // ids, in zeroed words; the kept ids, ascending, and their probabilities.
  int64_t select_kept(int64_t wanted, const contract::Rank **ranks);
  void set_kept_bits(uint32_t *words, int64_t num_words) const;
  int64_t list_kept(const int32_t **ids);
  void write_listed_probabilities(float *out) const;

  // For chains. Given probabilities are not normalised.
  float probability_of(int64_t id) const;
  void chain_probabilities(float *out) const;
  // Writes max(p - q, 0), where q is the row `draft`; `draft` null: q is 1 for the token
  // `rejected`. Becomes that; false if it is 0 everywhere: the row must be loaded anew then.
  bool become_residual(const SimdRow *draft, int64_t rejected, float *p);
  // For extended verification: subtracts q, or removes a token, in an array p by element; the
  // probability of a token in the row's distribution, even for given probabilities.
  void subtract(const SimdRow &draft, float *p) const;
  void remove(int64_t id, float *p) const;
  float kept_probability(int64_t id) const;
  // kept_probability() of all elements. `scratch` has room for all elements. Invalidates lists
  // returned for reports.
  void kept_probabilities(float *out, float *scratch);
  // Gives the row's tokens these probabilities, not normalised. False if they are all 0.
  bool take(const float *probabilities);
  const Distribution &distribution() const { return distribution_; }
  // Gives the row's tokens these probabilities and distributes them. False if they are all 0.
  bool become(const float *probabilities);
  // The same with the tokens of `loaded`, which may be this row.
  bool become(const SimdRow &loaded, const float *probabilities) {
    row_.count = loaded.row_.count;
    return become(probabilities);
  }

 private:
  friend class RowWindows;  // cpu/simd/row_windows.h

  // Listed tokens, in ascending id order: all tokens of rank >= `floor`.
  struct List {
    int64_t count = -1;  // -1: no list
    contract::Rank floor = 0;

    bool covers(contract::Rank cut) const { return count >= 0 && floor <= cut; }
  };
  // Kept tokens of a source. Lower bounds: `at_least` before index `split`, `after` from there on.
  // Upper bounds: `before_first` before index `first`, `at_most` from there on.
  struct Kept {
    RowView source;
    int64_t split;
    float at_least;
    float after;
    int64_t first = 0;
    float before_first = kInfinity, at_most = kInfinity;
  };
  class Filters;

  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

  // A list is made only if it is this many times shorter than the row.
  static constexpr int64_t kListShare = 8;
  // The same where tokens of the list are edited, for each is looked up.
  static constexpr int64_t kEditedListShare = 64;

  // Calls f(begin, end, at_least) for the ranges of kept elements in [begin, end).
  template <class F>
  static void for_each_range(const Kept &kept, int64_t begin, int64_t end, const F &f) {
    const int64_t split = std::clamp(kept.split, begin, end);
    if (begin < split) f(begin, split, kept.at_least);
    if (split < end) f(split, end, kept.after);
  }

  RowView list_source() const {
    return contract::f32_view(list_values_, list_.count, list_ids_, row_.kind);
  }
  Kept kept_of_row(contract::Rank cut) const {
    const float value = contract::value_of_rank(cut);
    const int64_t end_of_ties = int64_t(contract::id_of_rank(cut)) + 1;
    return {row_, std::min<int64_t>(end_of_ties, row_.count), value, contract::next_value(value)};
  }
  // The listed tokens that a cut keeps. The list covers the cut.
  Kept kept_of_list(contract::Rank cut) const;
  Kept kept_of_list() const { return {list_source(), list_.count, -kInfinity, -kInfinity}; }
  Kept kept() const;
  bool reweighs_later(const contract::Reweighing &stage, float at_least, float *memory);
  float new_logit(float x) const {
    return x >= later_.at_least ? later_.stage->logit(x) : -kInfinity;
  }
  float nearest_probability(const contract::AdaptiveP &rules, float at_least);
  void reweigh_now();
  bool weighs_edits(contract::Rank cut) const { return weighs_edits_ && !list_.covers(cut); }
  Kept block_of(const Kept &kept, int64_t begin) const;
  uint64_t weigh_given(const Kept &tokens, int64_t begin, int64_t end, bool has_earlier);
  uint64_t weigh_edited(const Kept &tokens);
  uint64_t weigh(const Kept &kept, int64_t begin, int64_t end, const Scaling &scaling,
                 uint64_t *block_weights) const;
  uint64_t weigh(const Kept &kept, const Scaling &scaling, uint64_t *block_weights) const;
  bool is_worth_sums(int64_t num_draws, const Kept &kept) const;
  uint64_t sum_weights(const Kept &kept);
  int64_t num_maxima() const;
  int64_t groups_from(contract::Rank cut) const;
  bool is_sparse(contract::Rank cut) const;
  float group_bound(int64_t k, float lowest);
  float bound_of_maxima(const RowView &maxima, int64_t k, float lowest) const;
  // The cuts of these filters on `seen`, with exact ties.
  contract::Rank top_k_cut(int64_t k, contract::Rank seen);
  contract::Rank top_p_cut(const contract::RowScale &scale, contract::Share share,
                           contract::Rank seen);
  void weigh_kept(contract::Rank cut, float temperature);
  void begin_later(contract::Rank first, float *memory);
  void draw_from(contract::Rank first, contract::Rank cut, float temperature);
  void drop_before_first();
  void begin(const RowView &view);
  bool lists_first_tokens(const contract::RowParameters &parameters,
                          const contract::FilterRules &rules) const;
  uint32_t take_copy();
  void refresh_maxima(float from);
  template <class Seen>
  int64_t find_first_seen(float max, const Seen &seen) const;
  Front front() const;
  float largest_changed(const EditedRow &edited) const;
  void replace_edited();
  void list_range(const ListRange &range);
  void list_all(contract::Rank cut);
  void list_first();
  float listed_value(int64_t id) const;
  contract::Rank first_of_list() const;
  void list_top(int64_t k, contract::Rank seen);
  bool list_edited();
  void shrink_list(contract::Rank cut);
  void weigh_kept(contract::Rank cut);
  void write_relative(const Kept &tokens, int64_t begin, int64_t end, float *relative) const;
  bool writes_list() const;
  bool become_scanned(float max);
  template <class F>
  void write_listed(void *out, sampler_dtype dtype, float nothing, const F &f) const;
  int64_t draw_index(uint64_t word) const;
  // The id at an index of the kept tokens' source.
  int64_t kept_id(int64_t index) const {
    return list_.covers(distribution_.cut) ? list_ids_[index] : index;
  }

  const Passes &passes_;
  int64_t num_cols_;
  Places places_;
  RowView row_ = {};
  contract::Rank first_ = 0;
  float least_ = -kInfinity;  // a lower bound of all values
  Distribution distribution_ = {};
  List list_;
  // Only the list is valid: row_ still has tokens before first_, or unedited values.
  bool is_only_listed_ = false;
  bool is_reweighed_ = false;  // the list holds new logits
  // Whether row_ has tokens before first_, which have no weight; after draw_from(), whether the
  // list has tokens that are not kept.
  bool has_earlier_ = false, has_others_ = false;
  struct {
    float *out = nullptr;
    bool has_marks = false;   // those of will_reweigh()
    bool is_written = false;  // by weigh_kept(), for all of the row
    float least = 0.0f;       // if it has marks
  } relative_;
  // The kept tokens, those of at least `at_least`, have been weighed with new logits, which row_
  // does not hold: draws compute them block by block. `memory` has room for all.
  struct {
    const contract::Reweighing *stage = nullptr;  // null: not so
    float at_least = 0.0f;
    float *memory = nullptr;
  } later_;
  const uint32_t *loaded_with_ = nullptr;  // bitmask of load_allowed()
  const EditedRow *edited_ = nullptr;      // null: row_ has no pending edits
  bool weighs_edits_ = false;  // distribute() leaves them pending, and only draws follow
  int64_t num_draws_ = 1;
  InverseCdf inverse_cdf_;
  bool has_sums_ = false;  // scratch_wide_ has those of the kept tokens

  float *maxima_;
  float *list_values_;
  int32_t *list_ids_;
  float *scratch_values_;
  int32_t *scratch_ids_;
  float *spare_;
  // The memory of the list and of the scratch arrays, as one uint64_t per token.
  uint64_t *list_wide_;
  uint64_t *scratch_wide_;
  uint64_t *block_weights_;  // of the kept tokens
};

}  // namespace sampler::cpu
