// Rows, whole and in ranges of columns, and what calls make of them.
#pragma once

#include <sampler/sampler.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "../sized.h"
#include "ranks.h"
#include "rows.h"

namespace shards_test {

struct Rows {
  int64_t num_rows, num_cols;
  sampler_dtype dtype;
  sampler_input_kind kind;
  std::vector<float> values;         // what elements widen to
  std::vector<unsigned char> bytes;  // elements

  size_t element_bytes() const { return dtype == SAMPLER_F32 ? 4 : 2; }
  // Columns [begin, end); of the whole memory, or of a copy in `own` with a stride of its own.
  sampler_rows whole() const;
  sampler_rows part(int64_t begin, int64_t end, std::vector<unsigned char> *own) const;
};

// Every kind of row in turn, from `first_kind` on. Some hold a NaN, a +inf, or nothing.
Rows make_rows(int64_t num_rows, int64_t num_cols, sampler_dtype dtype, sampler_input_kind kind,
               bool has_bad_rows, uint64_t seed);

// Even, and with steps at random, some of them empty.
Ranges even_ranges(int64_t num_cols, int64_t num_ranks);
Ranges uneven_ranges(int64_t num_cols, int64_t num_ranks, uint64_t seed);

// A call on whole rows, in a workspace of its own.
template <class Args, class Call, class Size>
sampler_status run_whole(sampler_t sampler, Args *args, const Call &run, const Size &size) {
  size_t bytes = 0;
  const sampler_status status = size(sampler, args, &bytes);
  if (status != SAMPLER_OK) return status;
  std::vector<char> workspace(bytes + 1);
  args->exec.workspace = workspace.data();
  args->exec.workspace_bytes = bytes;
  return run(sampler, args);
}

// What sampler_sample writes.
struct Tokens {
  std::vector<int32_t> ids, kept_counts, ranks, top_ids;
  std::vector<float> logprobs, values, entropies, top_logprobs;
  std::vector<sampler_row_status> statuses;

  // Points the outputs that `args` wants, those that are not NULL, at arrays of this.
  void bind(SampleArgs *args, int64_t num_rows);
};
// "" where they are equal to the bit.
std::string difference(const Tokens &a, const Tokens &b);

// Which outputs a call wants.
struct Wanted {
  bool logprobs = false, values = false, kept_counts = false, ranks = false, entropies = false;
  int64_t num_top = 0;
};

struct SampleCall {
  sampler_params params = sampler_params_default();
  SampleArgs args;  // without input, outputs and workspace
  Wanted wanted;
  int64_t max_top_k = 0;
  std::vector<int32_t> guided_by;  // by output row, the input row that guides it; none: no guidance
};

// The call on the whole rows; and on ranges of them, which must come out the same on every rank.
// The result is what differs, "" where nothing does.
Tokens sample_whole(sampler_t sampler, const Rows &rows, const SampleCall &call);
std::string compare_sample(const Samplers &samplers, const Rows &rows, const SampleCall &call,
                           const Ranges &ranges, Outcome *outcome);

struct FilterCall {
  sampler_params params = sampler_params_default();
  sampler_filter_args args = {};
};
std::string compare_filter(const Samplers &samplers, const Rows &rows, const FilterCall &call,
                           const Ranges &ranges);

std::string compare_select(const Samplers &samplers, const Rows &rows, int64_t num_selected,
                           const int32_t *selected_counts, const Ranges &ranges);

// q has as many rows and columns as p. `drafts`, if not null, stand for q's rows.
std::string compare_residual(const Samplers &samplers, const Rows &p, const Rows &q,
                             const int32_t *drafts, sampler_dtype output_dtype,
                             const Ranges &ranges);

// What sampler_verify writes.
struct Verified {
  std::vector<int32_t> ids, accepted, emitted;
  std::vector<sampler_row_status> statuses;
};
std::string difference(const Verified &a, const Verified &b);

struct VerifyCall {
  sampler_params params = sampler_params_default();
  VerifyArgs args;  // without rows, outputs and workspace
  bool has_draft = false;
  bool wants_accepted = false;
};

// num_drafts + 1 rows of the target for each sequence, and num_drafts of the draft.
void bind(const VerifyCall &call, const sampler_rows &target, const sampler_rows &draft,
          sampler_verify_args *args, Verified *out);
Verified verify_whole(sampler_t sampler, const Rows &target, const Rows &draft,
                      const VerifyCall &call);
std::string compare_verify(const Samplers &samplers, const Rows &target, const Rows &draft,
                           const VerifyCall &call, const Ranges &ranges, Outcome *outcome);

}  // namespace shards_test
