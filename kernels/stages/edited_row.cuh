// A row that a team edits, in the workspace or in shared memory, and access to it by all threads.
#pragma once

#include <cstdint>

#include "contract/edits.h"
#include "contract/pipeline.h"
#include "machine/team.cuh"
#include "row/elements.cuh"
#include "row/row.cuh"

namespace sampler::kernels {

// What edits need of a row whose team they share. Row: the class derived from it, with count(),
// find(), id_of_element(), value() and change_all().
template <class Context, class Row>
class TeamEditedRow {
 public:
  // `of_elements`: one word per element.
  SAMPLER_DEVICE TeamEditedRow(Team<Context> &owner, uint32_t *of_elements)
      : team(owner), marks(of_elements) {}

  SAMPLER_DEVICE int thread() const {
    return team.ctx.cluster_rank() * Context::kThreads + team.ctx.thread();
  }
  SAMPLER_DEVICE int num_threads() const { return team.ctx.team_size() * Context::kThreads; }

  // Whether `own` is true in any thread. A barrier of the team.
  SAMPLER_DEVICE bool any(bool own) const { return team.sum(own ? 1 : 0) != 0; }

  // Calls f(i) for each i, in one thread each.
  template <class F>
  SAMPLER_DEVICE void for_each(int64_t begin, int64_t end, const F &f) const {
    for (int64_t i = begin + thread(); i < end; i += num_threads()) f(i);
  }

  // Calls f(element, i) for each listed id that the row has. A barrier follows.
  template <class F>
  SAMPLER_DEVICE void for_each_listed(const contract::TokenList &list, const F &f) const {
    for_each(0, list.count, [&](int64_t i) {
      const int element = self().find(list[i]);
      if (element >= 0) f(element, i);
    });
    team.ctx.team_sync();
  }

  SAMPLER_DEVICE void ban(int element) const {
    if (element >= 0) team.ctx.store_same(&self().value(element), contract::negative_infinity());
  }

  // Any number of threads may set an element's word to the same value.
  SAMPLER_DEVICE void set_mark(int element, uint32_t value) const {
    team.ctx.store_same(&marks[element], value);
  }

  // Marks as one bit per element. clear_bits() ends with a barrier. keep_marked() replaces unmarked
  // values by `nothing`; a barrier follows it, none precedes it.
  SAMPLER_DEVICE void clear_bits() const {
    for_each(0, (self().count() + 31) / 32, [&](int64_t i) { marks[i] = 0; });
    team.ctx.team_sync();
  }
  SAMPLER_DEVICE void mark_bit(int element) const {
    team.ctx.atomic_or(&marks[element / 32], uint32_t(1) << (element % 32));
  }
  SAMPLER_DEVICE_CALL void keep_marked(float nothing) const {
    const uint32_t *bits = marks;
    self().change_all([=](int element, float x) {
      return (bits[element / 32] >> (element % 32) & 1u) != 0 ? x : nothing;
    });
  }

  Team<Context> &team;
  uint32_t *marks;  // contents last for one stage

 private:
  SAMPLER_DEVICE const Row &self() const { return static_cast<const Row &>(*this); }
};

template <class Context>
class EditedRow : public TeamEditedRow<Context, EditedRow<Context>> {
 public:
  using TeamEditedRow<Context, EditedRow>::team;

  SAMPLER_DEVICE EditedRow(Team<Context> &owner, const TeamElements<Context> &elements,
                           uint32_t *of_elements)
      : TeamEditedRow<Context, EditedRow>(owner, of_elements), elements_(elements) {}

  // Starts with the elements of `row`, whose f32 values lie at `at`, with the same lead as the row.
  // `first_id`: id of the first element of a row without candidates.
  SAMPLER_DEVICE void begin(const StoredRow &row, float *at, int64_t first_id = 0) {
    first_id_ = first_id;
    ids_ = row.ids;
    id_type_ = row.id_type;
    count_ = row.count;
    lead_ = row.lead % kQuad;
    values = at;
  }

  SAMPLER_DEVICE int count() const { return count_; }

  // The element of a token; -1: the row does not have the id.
  SAMPLER_DEVICE int find(int64_t id) const { return elements_.find(id); }

  SAMPLER_DEVICE int64_t id_of_element(int element) const {
    return ids_ ? contract::load_id(ids_, id_type_, element) : first_id_ + element;
  }

  // Replaces each value by change(element, x), in aligned vectors; those at the ends extend into
  // padding that the row owns. A barrier follows.
  template <class Change>
  SAMPLER_DEVICE void change_all(const Change &change) const {
    const int lead = lead_, count = count_;
    Vector *vectors = reinterpret_cast<Vector *>(values - lead);
    const int num_vectors = (lead + count + kQuad - 1) / kQuad;
    for (int i = this->thread(); i < num_vectors; i += this->num_threads()) {
      Vector raw = team.ctx.load_vector(vectors + i);
      for (int j = 0; j < kQuad; ++j) {
        const int element = i * kQuad + j - lead;
        if (element < 0 || element >= count) continue;
        raw.word[j] = contract::bits_of(change(element, contract::float_of(raw.word[j])));
      }
      team.ctx.store_vector(vectors + i, raw);
    }
    team.ctx.team_sync();
  }

  SAMPLER_DEVICE float &value(int element) const { return values[element]; }

  float *values = nullptr;

 private:
  const TeamElements<Context> &elements_;
  const void *ids_ = nullptr;
  sampler_id_type id_type_ = SAMPLER_ID_I32;
  int64_t first_id_ = 0;
  int count_ = 0;
  int lead_ = 0;
};

}  // namespace sampler::kernels
