// The rows that a task works on: by row passes where the call has them, else by the reference.
//
// Candidate lists are the reference's on every machine: they are short, and sorting them by id
// takes most of their time.
#pragma once

#include <algorithm>
#include <cstddef>

#include "contract/request.h"
#include "cpu/executor.h"
#include "cpu/reference_row.h"
#include "cpu/simd/row.h"

namespace sampler::cpu {

// Memory for a row of either kind: the workspace does not depend on the instruction set.
inline size_t row_memory_bytes(const contract::Rows &rows) {
  const size_t reference = ReferenceRow::memory_bytes(rows);
  return rows.ids ? reference : std::max(reference, SimdRow::memory_bytes(rows.num_cols));
}

// Makes rows of one kind.
struct ReferenceRows {
  using Row = ReferenceRow;
  Row make(const contract::Rows &rows, void *memory) const { return Row(rows, memory); }
};

struct SimdRows {
  using Row = SimdRow;
  const Passes &passes;
  uint64_t places_key;

  Row make(const contract::Rows &rows, void *memory) const {
    return Row(passes, places_key, rows.num_cols, memory);
  }
};

// work(rows) with what makes the rows of a call; `is_list`: whether any are candidate lists.
template <class Work>
Misuse with_rows(const Executor &executor, bool is_list, const Work &work) {
  if (executor.passes && !is_list) return work(SimdRows{*executor.passes, executor.places_key});
  return work(ReferenceRows());
}

}  // namespace sampler::cpu
