// The contract's test grid: widths, types, rows and parameters.
#ifndef SAMPLER_TESTS_ORACLE_GRID_H_
#define SAMPLER_TESTS_ORACLE_GRID_H_

#include <sampler/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rows.h"

namespace oracle_test {

// All kinds of rows of one width and type in every comparison, with parameters from the contract's
// list.
struct Grid {
  std::size_t num_cols = 0;
  sampler_dtype dtype = SAMPLER_F32;
  sampler_input_kind kind = SAMPLER_LOGITS;
  std::size_t parameters_per_row = 0;  // combinations per row
  std::size_t draws = 0;               // tokens drawn for each
  std::vector<RowKind> row_kinds;      // empty: all
  // The least percentage of cuts that leave the library no choice; below it the row or its
  // parameters test nothing.
  std::int64_t decided_percent = 95;
};
void compare_grid(const Grid &grid);

}  // namespace oracle_test

#endif  // SAMPLER_TESTS_ORACLE_GRID_H_
