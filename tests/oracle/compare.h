// Calls of the C ABI on batches of rows, each output held against the oracle. Failures go to
// GoogleTest; a comparison stops at its first.
#ifndef SAMPLER_TESTS_ORACLE_COMPARE_H_
#define SAMPLER_TESTS_ORACLE_COMPARE_H_

#include <sampler/sampler.h>

#include <cstdint>
#include <vector>

#include "batch.h"
#include "oracle.h"

namespace oracle_test {

enum class Function { kSample, kTopKTopP, kTopK, kTopP, kMinP };
enum class SeedForm {
  kScalar,        // `seed`, `offset`
  kDeviceScalar,  // arrays of one
  kArray,         // one per output row: stream 0
  kOffsetArray    // `seed`, and an offset per output row: the stream is still the row
};

struct OutputRow {
  std::int64_t input_row = 0;
  oracle::Filters filters;  // ties and orders as in CallSettings
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
};

// What one call has in common.
struct CallSettings {
  Function function = Function::kSample;
  oracle::Filters orders;  // its ties and orders
  sampler_draw_method draw_method = SAMPLER_DRAW_INVERSE_CDF;
  sampler_logprob_kind logprob_kind = SAMPLER_LOGPROB_RAW;
  SeedForm seed_form = SeedForm::kArray;
  bool wide_ids = false;         // i64 tokens
  bool parameter_arrays = true;  // else those of the first output row, for all
};

void compare_sampling(sampler_t sampler, const Batch &batch, const CallSettings &settings,
                      const std::vector<OutputRow> &outputs, Tally *tally);
void compare_softmax(sampler_t sampler, const Batch &batch, const std::vector<float> &temperatures,
                     sampler_dtype output_dtype);
void compare_top_k_renorm(sampler_t sampler, const Batch &batch, const std::vector<float> &temps,
                          const std::vector<std::int32_t> &top_ks, oracle::Ties ties,
                          sampler_dtype output_dtype, Tally *tally);
void compare_top_p_renorm(sampler_t sampler, const Batch &batch, const std::vector<float> &temps,
                          const std::vector<float> &top_ps, oracle::Ties ties,
                          oracle::TemperatureOrder temperature_order, sampler_dtype output_dtype,
                          Tally *tally);
void compare_top_k_mask(sampler_t sampler, const Batch &batch,
                        const std::vector<std::int32_t> &top_ks, oracle::Ties ties,
                        sampler_dtype output_dtype);
void compare_top_k_select(sampler_t sampler, const Batch &batch, std::int64_t num_selected,
                          const std::vector<std::int32_t> &top_ks, sampler_dtype output_dtype);
void compare_argmax(sampler_t sampler, const Batch &batch);
// `draft` NULL: a deterministic drafter, with a draft id for each row.
void compare_residual(sampler_t sampler, const Batch &target, const Batch *draft,
                      const std::vector<std::int32_t> &draft_ids, sampler_dtype output_dtype);

}  // namespace oracle_test

#endif  // SAMPLER_TESTS_ORACLE_COMPARE_H_
