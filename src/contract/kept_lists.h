// Packed lists of kept tokens, without gaps: section 15 of docs/contract.md.
//
// A list's offset is known once all earlier rows are done. Until then it is staged in the
// workspace, at the next free place. The staging area has the lists' total capacity; if that is too
// small, no list is written.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/elements.h"
#include "contract/reports.h"

namespace sampler::contract {

// Staged lists.
struct KeptLists {
  uint64_t *num_taken = nullptr;  // entries, including those without room; initially 0
  int64_t *places = nullptr;      // by output: where its list begins; undefined if empty
  int64_t *counts = nullptr;      // by output: tokens
  TokenIds token_ids;
  float *probabilities = nullptr;

  // take(bytes) returns memory aligned for any of these, or null when it only counts.
  template <class Take>
  static KeptLists of(const Reports &reports, int64_t num_outputs, const Take &take) {
    KeptLists lists;
    if (!reports.are_lists_packed() || num_outputs == 0) return lists;
    const TokenIds &ids = reports.out_kept_token_ids;
    const auto capacity = size_t(reports.kept_capacity);
    const size_t num_bytes = size_t(num_outputs) * sizeof(int64_t);
    lists.num_taken = reinterpret_cast<uint64_t *>(take(sizeof(uint64_t)));
    lists.places = reinterpret_cast<int64_t *>(take(num_bytes));
    lists.counts = reinterpret_cast<int64_t *>(take(num_bytes));
    lists.token_ids = {ids.data ? take(capacity * size_of_id(ids.type)) : nullptr, ids.type};
    if (reports.out_kept_probabilities) {
      lists.probabilities = reinterpret_cast<float *>(take(capacity * sizeof(float)));
    }
    return lists;
  }
};

// Destination of one list: entries from `first` on.
struct KeptList {
  TokenIds token_ids;
  float *probabilities;
  int64_t first;
  bool has_room;
};

}  // namespace sampler::contract
