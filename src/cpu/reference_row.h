// A row computed by the scalar reference. simd/row.h says what the functions of both do.
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

  // Bytes of memory for one of `rows`, aligned to 64.
  static size_t memory_bytes(const contract::Rows &rows);
  ReferenceRow(const Executor &, const contract::Rows &rows, void *memory);

  uint32_t load(const RowView &view, contract::Use use = contract::Use::kDraw);
  sampler_input_kind kind() const { return row_.kind; }
  contract::Rank first() const { return row_.first; }
  float max() const { return row_.max(); }

  const Distribution &distribute(const contract::RowParameters &parameters,
                                 const contract::FilterRules &rules);
  const Distribution &keep_ranks(contract::Rank first, contract::Rank last, float temperature);
  const Distribution &reweigh(const contract::Reweighing &stage, float *memory, ReweighedUse use);
  int64_t kept_count() const;
  uint64_t total_weight() const { return cpu::total_weight(row_); }

  bool load_allowed(const RowView &, const uint32_t *) { return false; }
  uint32_t take_edits(const EditedRow &, EditedUse) { return SAMPLER_ROW_OK; }
  void apply_edits() {}
  const Passes *passes() const { return nullptr; }
  int64_t num_first(const contract::RowParameters &, const contract::FilterRules &) const {
    return 0;
  }

  void copy_values(float *out) const;

  void will_write(float *) {}
  void will_reweigh(float *) {}
  void will_draw(int64_t) {}
  void write_probabilities(void *out, sampler_dtype dtype) const;
  void write_kept_values(void *out, sampler_dtype dtype) const;

  void prepare_draws(int64_t num_draws);
  void sample_words(const contract::RandomStream *streams, int64_t count, uint64_t *words) const {
    cpu::sample_words(streams, count, words);
  }
  void draw(const uint64_t *words, int64_t count, int64_t *ids) const {
    inverse_cdf_.draw(words, count, ids);
    for (int64_t i = 0; i < count; ++i) ids[i] = row_.id(ids[i]);
  }
  int64_t draw_gumbel(const contract::GumbelStream &random) const {
    return row_.id(cpu::draw_gumbel(row_, distribution_, random));
  }

  int64_t select(int64_t wanted, const contract::Rank **ranks);
  bool has(int64_t id) const { return row_.find(id) >= 0; }
  float value_of(int64_t id) const { return row_.values[row_.find(id)]; }

  const RowView &view() const { return view_; }
  int64_t num_before(contract::Rank rank) const;
  int64_t num_before(const RowView &view, contract::Rank rank) const;
  contract::EntropySums entropy_sums(const contract::RowScale &scale) const;
  contract::EntropySums kept_entropy_sums() const;
  int64_t select_kept(int64_t wanted, const contract::Rank **ranks);
  void set_kept_bits(uint32_t *words, int64_t num_words) const;
  int64_t list_kept(const int32_t **ids);
  void write_listed_probabilities(float *out) const;

  float probability_of(int64_t id) const;
  void chain_probabilities(float *out) const;
  bool become_residual(const ReferenceRow *draft, int64_t rejected, float *p);
  void subtract(const ReferenceRow &draft, float *p) const;
  void remove(int64_t id, float *p) const;
  float kept_probability(int64_t id) const;
  void kept_probabilities(float *out, float *scratch);
  // Gives the row's tokens these probabilities, not normalised. False if they are all 0.
  bool take(const float *probabilities);
  const Distribution &distribution() const { return distribution_; }
  // Gives the row's tokens these probabilities and distributes them. False if they are all 0.
  bool become(const float *probabilities);
  // The same with the tokens of `loaded`, which may be this row.
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
