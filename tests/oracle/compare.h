// Calls of the C ABI on batches of rows, with each output compared with the oracle. Failures go to
// GoogleTest; a comparison stops at its first.
#ifndef SAMPLER_TESTS_ORACLE_COMPARE_H_
#define SAMPLER_TESTS_ORACLE_COMPARE_H_

#include <sampler/sampler.h>

#include <cstdint>
#include <vector>

#include "batch.h"
#include "oracle.h"

namespace oracle_test {

enum class SeedForm {
  kScalar,        // `seed` and `offset` values
  kDeviceScalar,  // arrays of one element
  kArray,         // one per slot: stream 0
  kOffsetArray,   // `seed`, and an offset per slot; the stream is still the slot
  kStreams        // `seed`, `offset`, and a stream per slot
};

struct OutputRow {
  std::int64_t input_row = 0;
  oracle::Filters filters;  // for sampling: ties and orders as in CallSettings
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
  std::uint32_t stream = 0;  // with kStreams
};

// Settings of one call.
struct CallSettings {
  oracle::Filters orders;  // ties and orders
  sampler_draw_method draw_method = SAMPLER_DRAW_INVERSE_CDF;
  sampler_logprob_kind logprob_kind = SAMPLER_LOGPROB_RAW;
  SeedForm seed_form = SeedForm::kArray;
  bool wide_ids = false;         // i64 tokens
  bool parameter_arrays = true;  // else the first output row's, for all
  bool slots = false;            // in reverse order, among more slots than rows
};

void compare_sampling(sampler_t sampler, const Batch &batch, const CallSettings &settings,
                      const std::vector<OutputRow> &outputs, Tally *tally);
// Filters per row; ties and orders are those of the first.
void compare_filter(sampler_t sampler, const Batch &batch,
                    const std::vector<oracle::Filters> &filters, sampler_output_kind output_kind,
                    sampler_dtype output_dtype, Tally *tally);
void compare_select(sampler_t sampler, const Batch &batch, std::int64_t num_selected,
                    const std::vector<std::int32_t> &selected_counts, sampler_dtype output_dtype);
// `draft` NULL: a deterministic drafter, with a draft id per row.
void compare_residual(sampler_t sampler, const Batch &target, const Batch *draft,
                      const std::vector<std::int32_t> &draft_ids, sampler_dtype output_dtype);

}  // namespace oracle_test

#endif  // SAMPLER_TESTS_ORACLE_COMPARE_H_
