// Runs a problem through the C ABI in one of the many ways that must not change its results.
#ifndef SAMPLER_TESTS_INVARIANCE_RUN_H_
#define SAMPLER_TESTS_INVARIANCE_RUN_H_

#include <sampler/sampler.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fp_mode.h"
#include "problem.h"

namespace invariance_test {

struct DestroySampler {
  void operator()(sampler_t sampler) const { sampler_destroy(sampler); }
};
using SamplerPtr = std::unique_ptr<struct sampler_handle, DestroySampler>;

// A handle without a workspace: each call brings its own.
SamplerPtr make_sampler(std::int32_t num_threads = 1,
                        sampler_parallel_for_fn parallel_for = nullptr, void *user = nullptr);

// Layout and circumstances of a call.
struct Setting {
  std::int64_t padding = 0;      // elements, NaN, between rows and between positions
  std::size_t misalignment = 0;  // elements by which arrays start after a 64-byte boundary
  std::size_t workspace_misalignment = 0;  // bytes
  unsigned char fill = 0;                  // bytes of outputs and workspace before the call
  sampler_id_type token_id_type = SAMPLER_ID_I32;
  sampler_id_type candidate_id_type = SAMPLER_ID_I32;
  // One value instead of an array; the rows' own must be equal. A seed that is not an array has the
  // slot for its stream.
  bool has_scalar_parameters = false;
  bool has_scalar_seed = false;
  bool has_scalar_offset = false;
  // Scalar seeds and offsets as arrays of one.
  bool has_arrays_of_one = false;
  bool has_streams = false;
  // The slot of each row; rows of one slot have the same parameters, seed, offset and stream. Slots
  // of no row hold NaN and -1. Empty: the call has none. Ignored where the operation has no slots.
  std::vector<std::int32_t> slots;
  std::int64_t num_slots = 0;
  // Rows that are equal stored once, in reverse order. Ignored where the operation has no
  // row_indices.
  bool has_row_indices = false;
  bool has_optional_outputs = true;
  FpMode fp_mode = FpMode::kDefault;  // of the calling thread, during the call
};

std::string describe(const Setting &setting);

// All that a row's outputs say, bit for bit: its status; token ids; the elements of an output row,
// by ascending id; then what is optional: counts, log-probability, values.
using RowResult = std::vector<std::uint64_t>;
using Results = std::vector<RowResult>;

// The call must succeed, leave its inputs and what lies around its outputs alone, and use no more
// workspace than it asked for.
Results run(sampler_t sampler, const Problem &problem, const Setting &setting = {});

// Each row in a call of its own.
Results run_alone(sampler_t sampler, const Problem &problem, const Setting &setting = {});

sampler_row_status status_of(const RowResult &result);

}  // namespace invariance_test

#endif  // SAMPLER_TESTS_INVARIANCE_RUN_H_
