// A row of columns worked on by row passes. Gives what ReferenceRow gives.
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

  // Bytes of memory for rows of `num_cols` columns, at an alignment of 64.
  static size_t memory_bytes(int64_t num_cols);
  // For calls of an executor that has passes.
  SimdRow(const Executor &executor, const contract::Rows &rows, void *memory);

  // Reads the whole row. When its status is not ok, only chains go on: with an empty row.
  // `counts`: how many of the row's tokens may be drawn will be asked.
  uint32_t load(const RowView &view, contract::Use use = contract::Use::kDraw, bool counts = false);
  // Of first() no more than its value is known then, until find_first() or list_front().
  uint32_t load_value(const RowView &view, contract::Use use, bool counts = false);
  void find_first();
  // As load() at once with a bitmask that edits will be told of. False: it must be loaded without.
  bool load_allowed(const RowView &view, const uint32_t *allowed);
  sampler_input_kind kind() const { return row_.kind; }
  contract::Rank first() const { return first_; }
  float max() const { return contract::value_of_rank(first_); }

  // The loaded row's logits become the edited ones, which are kept. The result is its status.
  // Where more than its first tokens is asked for, as `asks_for_all` says it will be, they are
  // copied to edited.values().
  uint32_t take_edits(const EditedRow &edited, bool asks_for_all);
  // Does so now: before the row is written.
  void settle();

  // How many of the first tokens are looked at; 0: more than that, or too many.
  int64_t num_first(const contract::RowParameters &parameters,
                    const contract::FilterRules &rules) const;
  // Before edits that raise none but edited logits: the first `wanted` tokens and some more, or all
  // there are. None where they are too many.
  Front list_front(int64_t wanted);
  // As take_edits() of edits that are right of the front alone, where nothing but the first
  // `wanted` tokens is asked for from here on. False, and nothing is done, when other tokens may be
  // among these.
  bool take_front_edits(const EditedRow &edited, int64_t wanted, uint32_t *status);
  // After that, a front that will do; none where that has too many tokens.
  Front widen_front(const EditedRow &edited, int64_t wanted);
  // After either: the row is as it was loaded.
  void drop_front();

  // The row and the parameters are good.
  const Distribution &distribute(const contract::RowParameters &parameters,
                                 const contract::FilterRules &rules);
  // Gives the kept tokens adaptive-p's logits: from here on the row is one of these, all of which
  // are kept at temperature 1. `memory` has room for its values, which may be there, and stays with
  // the row. `draws_alone`: no more is asked of it than draws, and values of tokens.
  const Distribution &reweigh(const contract::AdaptiveP &stage, float *memory, bool draws_alone);
  // How many tokens the distribution keeps.
  int64_t kept_count() const;
  // The weight of the whole row at temperature 1.
  uint64_t total_weight() const;

  // Before draws from the distribution, `num_draws` of them.
  void prepare_draws(int64_t num_draws);
  // The words that outputs of these streams draw with.
  void sample_words(const contract::RandomStream *streams, int64_t count, uint64_t *words) const;
  // Ids of tokens.
  void draw(const uint64_t *words, int64_t count, int64_t *ids) const;
  int64_t draw_gumbel(const contract::RandomStream &random) const;

  // The row's values.
  void copy_values(float *out) const;

  // The tokens' probabilities, or the values of the kept ones and -inf.
  void write_probabilities(void *out, sampler_dtype dtype) const;
  void write_kept_values(void *out, sampler_dtype dtype) const;

  // The first `wanted` ranks in rank order, or all there are. The result is their number.
  int64_t select(int64_t wanted, const contract::Rank **ranks);
  bool has(int64_t id) const { return id >= 0 && id < row_.count; }
  float value_of(int64_t id) const {
    if (is_reweighed_) return listed_value(id);
    return edited_ ? edited_->seen(id) : row_.value(id);
  }

  // For reports: the row as it lies in memory; how many of its tokens, or of another row without
  // ids, come before the one of this rank; the sums that the entropy of the whole row, and of what
  // the distribution keeps, is made of.
  const RowView &view() const { return row_; }
  int64_t num_before(contract::Rank rank) const;
  int64_t num_before(const RowView &view, contract::Rank rank) const;
  contract::EntropySums entropy_sums(const contract::RowScale &scale) const;
  contract::EntropySums kept_entropy_sums() const;
  // After the last draw: the first `wanted` ranks of kept tokens, or all there are; the bits of
  // kept ids in words that are 0; the kept tokens by ascending id, and their probabilities.
  int64_t select_kept(int64_t wanted, const contract::Rank **ranks);
  void set_kept_bits(uint32_t *words, int64_t num_words) const;
  int64_t list_kept(const int32_t **ids);
  void write_listed_probabilities(float *out) const;

  // For chains. Rows of probabilities are taken as given.
  float probability_of(int64_t id) const;
  void chain_probabilities(float *out) const;
  // max(p - q, 0) for the row `draft` of q, or without it, for a q that is `rejected` alone.
  // False when that is zero everywhere.
  bool chain_residual(const SimdRow *draft, int64_t rejected, float *p) const;
  // For other verification: its parts, of an array p of the row's elements; a token's probability
  // in what the row was distributed to, whatever it is.
  void subtract(const SimdRow &draft, float *p) const;
  void remove(int64_t id, float *p) const;
  float kept_probability(int64_t id) const;
  // Of all tokens, as in chain_probabilities(). `scratch` has room for as many; lists that reports
  // have asked for are gone.
  void kept_probabilities(float *out, float *scratch);
  // Gives the row's tokens these probabilities, taken as given. False when they are all zero.
  bool take(const float *probabilities);
  const Distribution &distribution() const { return distribution_; }
  // Gives the row's tokens these probabilities, and distributes them. False when they are all zero.
  bool become(const float *probabilities);
  // The same with the tokens of another row, or of this one.
  bool become(const SimdRow &loaded, const float *probabilities) {
    row_.count = loaded.row_.count;
    return become(probabilities);
  }

 private:
  friend class RowWindows;  // cpu/simd/row_windows.h

  // Tokens that are listed by ascending id: all of the row from `floor` up.
  struct List {
    int64_t count = -1;  // -1: there is no list
    contract::Rank floor = 0;

    bool covers(contract::Rank cut) const { return count >= 0 && floor <= cut; }
  };
  // The tokens of a source that a cut keeps: those of at least `at_least` before index `split`, and
  // of at least `after` from there; before index `first` they are no more than `before_first`, and
  // from there no more than `at_most`.
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

  // A list this much shorter than the row is worth making; otherwise the row is read again.
  static constexpr int64_t kListShare = 8;

  // f(begin, end, at_least) for the kept ones of source elements [begin, end).
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
  // Those of the list that a cut keeps, which it covers.
  Kept kept_of_list(contract::Rank cut) const;
  Kept kept_of_list() const { return {list_source(), list_.count, -kInfinity, -kInfinity}; }
  Kept kept() const;
  uint64_t weigh(const Kept &kept, int64_t begin, int64_t end, const Scaling &scaling,
                 uint64_t *block_weights) const;
  uint64_t weigh(const Kept &kept, const Scaling &scaling, uint64_t *block_weights) const;
  int64_t num_maxima() const;
  int64_t groups_from(contract::Rank cut) const;
  bool is_sparse(contract::Rank cut) const;
  float group_bound(int64_t k, float lowest);
  float bound_of_maxima(const RowView &maxima, int64_t k, float lowest) const;
  // Where these filters cut the tokens down to `seen`; ties are not kept.
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
  void refresh_maxima();
  template <class Seen>
  int64_t find_first_seen(float max, const Seen &seen) const;
  Front front() const;
  static bool has_invalid_logit(const EditedRow &edited);
  void replace_edited();
  bool lower_edited();
  void list_range(const ListRange &range);
  void list_all(contract::Rank cut);
  void list_first();
  float listed_value(int64_t id) const;
  contract::Rank first_of_list() const;
  void list_top(int64_t k, contract::Rank seen);
  void shrink_list(contract::Rank cut);
  void weigh_kept(contract::Rank cut);
  void write_relative(const Kept &tokens, int64_t begin, int64_t end, float *relative) const;
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
  float least_ = -kInfinity;  // no value is below it
  Distribution distribution_ = {};
  List list_;
  // Whether the row's values are not those of its tokens: it has tokens before the first, or values
  // from before edits. What is listed is right.
  bool is_only_listed_ = false;
  bool is_reweighed_ = false;  // by adaptive-p, where that is so
  // After draw_from(): whether it still has tokens before the first, and its list others than what
  // is kept.
  bool has_earlier_ = false, has_others_ = false;
  const uint32_t *loaded_with_ = nullptr;  // the bitmask
  const EditedRow *edited_ = nullptr;      // null: the row has no edits that its values lack
  InverseCdf inverse_cdf_;
  bool has_sums_ = false;

  float *maxima_;
  float *list_values_;
  int32_t *list_ids_;
  float *scratch_values_;
  int32_t *scratch_ids_;
  float *spare_;
  // The memory of the list and the scratch, used as one integer per token.
  uint64_t *list_wide_;
  uint64_t *scratch_wide_;
  uint64_t *block_weights_;  // of what the distribution keeps
};

}  // namespace sampler::cpu
