// A row worked on by the scalar reference, as the operations use it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/adaptive.h"
#include "contract/entropy.h"
#include "contract/philox.h"
#include "cpu/distribution.h"
#include "cpu/draw.h"
#include "cpu/edited_row.h"
#include "cpu/executor.h"
#include "cpu/row.h"

namespace sampler::cpu {

class ReferenceRow {
 public:
  static constexpr bool kTakesEdits = false;

  // Bytes of memory for rows like these, at an alignment of 64.
  static size_t memory_bytes(const contract::Rows &rows);
  ReferenceRow(const Executor &, const contract::Rows &rows, void *memory);

  // Reads the whole row. When its status is not ok, only chains go on: with an empty row.
  uint32_t load(const RowView &view, contract::Use use = contract::Use::kDraw);
  sampler_input_kind kind() const { return row_.kind; }
  contract::Rank first() const { return row_.first; }
  float max() const { return row_.max(); }

  // The row and the parameters are good.
  const Distribution &distribute(const contract::RowParameters &parameters,
                                 const contract::FilterRules &rules);
  // That of the tokens of rank `first` to `last`, which is the row's from here on.
  const Distribution &keep_ranks(contract::Rank first, contract::Rank last, float temperature);
  // Gives the kept tokens adaptive-p's logits: from here on the row is one of these, all of which
  // are kept at temperature 1. `memory` has room for its values, which may be there, and stays with
  // the row.
  const Distribution &reweigh(const contract::AdaptiveP &stage, float *memory, bool draws_alone);
  // How many tokens the distribution keeps.
  int64_t kept_count() const;
  // The weight of the whole row at temperature 1.
  uint64_t total_weight() const { return cpu::total_weight(row_); }

  bool load_allowed(const RowView &, const uint32_t *) { return false; }
  uint32_t take_edits(const EditedRow &, bool) { return SAMPLER_ROW_OK; }
  void settle() {}
  int64_t num_first(const contract::RowParameters &, const contract::FilterRules &) const {
    return 0;
  }

  // The row's values, as the elements stand.
  void copy_values(float *out) const;

  // The tokens' probabilities, or the values of the kept ones and -inf, as the elements stand.
  void write_probabilities(void *out, sampler_dtype dtype) const;
  void write_kept_values(void *out, sampler_dtype dtype) const;

  // Before draws from the distribution, `num_draws` of them.
  void prepare_draws(int64_t num_draws);
  // The words that outputs of these streams draw with.
  void sample_words(const contract::RandomStream *streams, int64_t count, uint64_t *words) const {
    cpu::sample_words(streams, count, words);
  }
  // Ids of tokens.
  void draw(const uint64_t *words, int64_t count, int64_t *ids) const {
    inverse_cdf_.draw(words, count, ids);
    for (int64_t i = 0; i < count; ++i) ids[i] = row_.id(ids[i]);
  }
  int64_t draw_gumbel(const contract::RandomStream &random) const {
    return row_.id(cpu::draw_gumbel(row_, distribution_, random));
  }

  // The first `wanted` ranks in rank order, or all there are. The result is their number.
  int64_t select(int64_t wanted, const contract::Rank **ranks);
  bool has(int64_t id) const { return row_.find(id) >= 0; }
  float value_of(int64_t id) const { return row_.values[row_.find(id)]; }

  // For reports: the row as it lies in memory; how many of its tokens, or of another's, come before
  // the one of this rank; the sums that the entropy of the whole row, and of what the distribution
  // keeps, is made of.
  const RowView &view() const { return view_; }
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
  bool chain_residual(const ReferenceRow *draft, int64_t rejected, float *p) const;
  // For other verification: its parts, of an array p of the row's elements; a token's probability
  // in what the row was distributed to, whatever it is.
  void subtract(const ReferenceRow &draft, float *p) const;
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
  bool become(const ReferenceRow &loaded, const float *probabilities) {
    row_ = loaded.row_;
    return become(probabilities);
  }

 private:
  float probability(int64_t index) const;

  RowBuffers buffers_;
  RowView view_ = {};
  Row row_;
  Distribution distribution_ = {};
  InverseCdf inverse_cdf_;
};

}  // namespace sampler::cpu
