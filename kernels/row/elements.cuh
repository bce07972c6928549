// Maps token ids to the elements of a team's row.
#pragma once

#include <cstdint>

#include "machine/device.cuh"
#include "machine/team.cuh"
#include "row/row.cuh"
#include "stages/staged.h"

namespace sampler::kernels {

// Candidates are found by a bitmap of all ids: the number of ids before one is its position.
template <class Context>
class TeamElements {
 public:
  // `memory`: for candidates 2 kIdWords words and one per candidate.
  SAMPLER_DEVICE explicit TeamElements(uint32_t *memory) : bits_(memory) {}

  // The row must be good. For candidates there are barriers of the team: the team must have passed
  // one between the last query and this call, and must pass one before the next query. `first_id`:
  // id of the first element of a row without candidates.
  SAMPLER_DEVICE void index(Team<Context> &team, const StoredRow &row, int64_t first_id = 0) {
    count_ = row.count;
    first_id_ = first_id;
    is_list_ = row.ids != nullptr;
    if (is_list_) index_list(team, row);
  }

  // The element of a token; -1: the row does not have the id.
  SAMPLER_DEVICE int find(int64_t id) const {
    if (!is_list_) return id >= first_id_ && id < first_id_ + count_ ? int(id - first_id_) : -1;
    if (id < 0 || id >= contract::kMaxVocabulary) return -1;
    const int word = int(id) / 32;
    const uint32_t bit = uint32_t(1) << (id % 32);
    if ((bits_[word] & bit) == 0) return -1;
    return int(elements()[place_of(word, bit)]);
  }

  // The element at position `place` in ascending order of ids.
  SAMPLER_DEVICE int at(int place) const { return is_list_ ? int(elements()[place]) : place; }

 private:
  SAMPLER_DEVICE uint32_t place_of(int word, uint32_t bit) const {
    return num_before()[word] + uint32_t(Context::count_bits(bits_[word] & (bit - 1)));
  }

  SAMPLER_DEVICE_CALL void index_list(Team<Context> &team, const StoredRow &row) {
    Context &ctx = team.ctx;
    const int thread = ctx.cluster_rank() * Context::kThreads + ctx.thread();
    const int num_threads = ctx.team_size() * Context::kThreads;
    for (int i = thread; i < int(kIdWords); i += num_threads) bits_[i] = 0;
    ctx.team_sync();
    for (int i = thread; i < row.count; i += num_threads) {
      const uint32_t id = uint32_t(row.id(i));
      ctx.atomic_or(&bits_[id / 32], uint32_t(1) << (id % 32));
    }
    ctx.team_sync();
    if (team.is_leader()) count_before(ctx);
    ctx.team_sync();
    for (int i = thread; i < row.count; i += num_threads) {
      const uint32_t id = uint32_t(row.id(i));
      elements()[place_of(int(id / 32), uint32_t(1) << (id % 32))] = uint32_t(i);
    }
  }

  SAMPLER_DEVICE void count_before(Context &ctx) {
    constexpr int kWords = int(kIdWords) / Context::kThreads;
    const int first = ctx.thread() * kWords;
    uint32_t own = 0;
    for (int i = first; i < first + kWords; ++i) own += uint32_t(Context::count_bits(bits_[i]));
    uint64_t total = 0;
    uint32_t before = uint32_t(ctx.block_exclusive_sum(own, &total));
    for (int i = first; i < first + kWords; ++i) {
      num_before()[i] = before;
      before += uint32_t(Context::count_bits(bits_[i]));
    }
  }

  // By word: number of ids in the words before it.
  SAMPLER_DEVICE uint32_t *num_before() const { return bits_ + kIdWords; }
  // Elements by ascending id.
  SAMPLER_DEVICE uint32_t *elements() const { return bits_ + 2 * kIdWords; }

  uint32_t *bits_;
  int64_t first_id_ = 0;
  int count_ = 0;
  bool is_list_ = false;
};

}  // namespace sampler::kernels
