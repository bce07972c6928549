// Packed lists of kept tokens, shared by the tasks of a call. See contract/kept_lists.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "contract/elements.h"
#include "contract/kept_lists.h"
#include "cpu/workspace.h"

namespace sampler::cpu {

inline contract::KeptLists make_kept_lists(const contract::Reports &reports, int64_t num_outputs,
                                           Arena &arena) {
  const auto lists = contract::KeptLists::of(
      reports, num_outputs, [&](size_t bytes) { return arena.take<char>(int64_t(bytes)); });
  if (lists.num_taken) *lists.num_taken = 0;
  return lists;
}

// Takes room for a list of `count` tokens; all lists share `capacity`. Called by any task.
inline contract::KeptList take_list(const contract::KeptLists &lists, int64_t output, int64_t count,
                                    int64_t capacity) {
  const uint64_t first =
      count ? __atomic_fetch_add(lists.num_taken, uint64_t(count), __ATOMIC_RELAXED) : 0;
  lists.places[output] = int64_t(first);
  lists.counts[output] = count;
  return {lists.token_ids, lists.probabilities, int64_t(first),
          first + uint64_t(count) <= uint64_t(capacity)};
}

// Gives output `to` the list of output `from`.
inline void share_list(const contract::KeptLists &lists, int64_t from, int64_t to) {
  lists.places[to] = lists.places[from];
  lists.counts[to] = lists.counts[from];
}

// After all tasks: writes the offsets and, if there is room, the lists in output order.
inline void pack(const contract::KeptLists &lists, const contract::Reports &to,
                 int64_t num_outputs) {
  int64_t *const offsets = to.out_kept_offsets;
  offsets[0] = 0;
  for (int64_t i = 0; i < num_outputs; ++i) offsets[i + 1] = offsets[i] + lists.counts[i];
  if (offsets[num_outputs] > to.kept_capacity) return;
  const auto copy = [&](void *packed, const void *waiting, size_t size) {
    if (!packed) return;
    for (int64_t i = 0; i < num_outputs; ++i) {
      std::memcpy(static_cast<char *>(packed) + size_t(offsets[i]) * size,
                  static_cast<const char *>(waiting) + size_t(lists.places[i]) * size,
                  size_t(lists.counts[i]) * size);
    }
  };
  copy(to.out_kept_token_ids.data, lists.token_ids.data,
       contract::size_of_id(to.out_kept_token_ids.type));
  copy(to.out_kept_probabilities, lists.probabilities, sizeof(float));
}

}  // namespace sampler::cpu
