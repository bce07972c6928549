// A row that a team edits, in the workspace, and the ways in which all of its threads do.
#pragma once

#include <cstdint>

#include "contract/edits.h"
#include "contract/pipeline.h"
#include "elements.cuh"
#include "row.cuh"
#include "team.cuh"

namespace sampler::kernels {

template <class Context>
class EditedRow {
 public:
  // `of_elements`: a word for each.
  SAMPLER_DEVICE EditedRow(Team<Context> &owner, const TeamElements<Context> &elements,
                           uint32_t *of_elements)
      : team(owner), marks(of_elements), elements_(elements) {}

  // The elements of `row`, whose f32 values lie at `at`, as many from an aligned place as there.
  // `first_id`: of a row that is no list.
  SAMPLER_DEVICE void begin(const StoredRow &row, float *at, int64_t first_id = 0) {
    first_id_ = first_id;
    ids_ = row.ids;
    id_type_ = row.id_type;
    count_ = row.count;
    lead_ = row.lead % kQuad;
    values = at;
  }

  SAMPLER_DEVICE int count() const { return count_; }

  SAMPLER_DEVICE int thread() const {
    return team.ctx.cluster_rank() * Context::kThreads + team.ctx.thread();
  }
  SAMPLER_DEVICE int num_threads() const { return team.ctx.team_size() * Context::kThreads; }

  // Whether any thread says so. A barrier of the team.
  SAMPLER_DEVICE bool any(bool own) const { return team.sum(own ? 1 : 0) != 0; }

  // The element of a token; -1: the row has no such id.
  SAMPLER_DEVICE int find(int64_t id) const { return elements_.find(id); }

  SAMPLER_DEVICE int64_t id_of_element(int element) const {
    return ids_ ? contract::load_id(ids_, id_type_, element) : first_id_ + element;
  }

  // Calls f(i), each i in some thread.
  template <class F>
  SAMPLER_DEVICE void for_each(int64_t begin, int64_t end, const F &f) const {
    for (int64_t i = begin + thread(); i < end; i += num_threads()) f(i);
  }

  // f(element, i) for each id of a list that the row has. A barrier after it.
  template <class F>
  SAMPLER_DEVICE void for_each_listed(const contract::TokenList &list, const F &f) const {
    for_each(0, list.count, [&](int64_t i) {
      const int element = find(list[i]);
      if (element >= 0) f(element, i);
    });
    team.ctx.team_sync();
  }

  // change(element, x) in place of each value: aligned vectors, of which those at the ends reach
  // beyond the row into memory that is its own. A barrier after it.
  template <class Change>
  SAMPLER_DEVICE void change_all(const Change &change) const {
    const int lead = lead_, count = count_;
    Vector *vectors = reinterpret_cast<Vector *>(values - lead);
    const int num_vectors = (lead + count + kQuad - 1) / kQuad;
    for (int i = thread(); i < num_vectors; i += num_threads()) {
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

  SAMPLER_DEVICE void ban(int element) const {
    if (element >= 0) values[element] = contract::ban(values[element], true);
  }

  // The marks as a bit for each element. Empties them, and is a barrier after that; marks one;
  // makes `nothing` of the values of those not marked, with a barrier after it and none before.
  SAMPLER_DEVICE void clear_bits() const {
    for_each(0, (count_ + 31) / 32, [&](int64_t i) { marks[i] = 0; });
    team.ctx.team_sync();
  }
  SAMPLER_DEVICE void mark_bit(int element) const {
    team.ctx.atomic_or(&marks[element / 32], uint32_t(1) << (element % 32));
  }
  SAMPLER_DEVICE_CALL void keep_marked(float nothing) const {
    const uint32_t *bits = marks;
    change_all([=](int element, float x) {
      return (bits[element / 32] >> (element % 32) & 1u) != 0 ? x : nothing;
    });
  }

  Team<Context> &team;
  float *values = nullptr;
  uint32_t *marks;  // what is in them lasts for one stage

 private:
  const TeamElements<Context> &elements_;
  const void *ids_ = nullptr;
  sampler_id_type id_type_ = SAMPLER_ID_I32;
  int64_t first_id_ = 0;
  int count_ = 0;
  int lead_ = 0;
};

}  // namespace sampler::kernels
