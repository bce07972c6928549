// All row passes, over vectors of 16. Included once by the unit of each instruction set, after its
// vectors, which define the namespace SAMPLER_ISA.
//
// The operations are the contract's; see src/contract. Everything has internal linkage, see
// inline.h.
#pragma once

#include "cpu/simd/passes/edit.h"
#include "cpu/simd/passes/gumbel.h"
#include "cpu/simd/passes/list.h"
#include "cpu/simd/passes/reweigh.h"
#include "cpu/simd/passes/scan.h"
#include "cpu/simd/passes/sums.h"
#include "cpu/simd/passes/weigh.h"

namespace sampler::cpu::SAMPLER_ISA {
namespace {

constexpr Passes passes_of(const char *name, uint32_t isa) {
  return {name,           isa,
          scan,           scan_range,
          scan_allowed,   copy,
          copy_allowed,   reweigh,
          weigh_adaptive, find_first,
          find_nth,       count,
          count_groups,   find_range,
          fold_maxima,    list,
          pack,           pack_beyond,
          mark_ids,       pick_ids,
          count_id,       sample,
          weigh,          weigh_and_write,
          weigh_and_mark, weigh_between,
          weigh_split,    sum_entropy,
          sum_collisions, sum_deviations,
          sum_weights,    write_probabilities,
          multiply,       write_values,
          set_bits,       penalize,
          weigh_allowed,  weigh_changes,
          subtract,       sample_words,
          gumbel};
}

}  // namespace
}  // namespace sampler::cpu::SAMPLER_ISA
