// Lists of kept tokens that follow one another without gaps: section 15 of docs/contract.md.
//
// Where a list begins is known when all rows before it are done. Until then each list waits in the
// workspace, wherever it found room when its row was done: what all lists have room for is enough
// for that, and if it is not, none is written.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/elements.h"
#include "contract/reports.h"

namespace sampler::contract {

// The lists that wait.
struct KeptLists {
  uint64_t *num_taken = nullptr;  // entries, whether or not there was room; begins as 0
  int64_t *places = nullptr;      // by output, where its list begins; of an empty one anything
  int64_t *counts = nullptr;      // by output, its tokens
  TokenIds token_ids;
  float *probabilities = nullptr;

  // take(bytes): memory that is aligned for all of these; null where it only counts.
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

// Where a list is written: the entries from `first` on.
struct KeptList {
  TokenIds token_ids;
  float *probabilities;
  int64_t first;
  bool has_room;
};

}  // namespace sampler::contract
