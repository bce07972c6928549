// Calls of sampler_sample or sampler_score with reports, and what they reported.
#ifndef SAMPLER_TESTS_PIPELINE_REPORTED_H_
#define SAMPLER_TESTS_PIPELINE_REPORTED_H_

#include <sampler/sampler.h>

#include <cstdint>
#include <vector>

#include "../sized.h"
#include "problem.h"

namespace pipeline_test {

// How much is asked for. 0: nothing of it, or of the stride the default.
struct Sizes {
  std::int64_t top = 0, chosen = 0, bitmask_stride = 0, kept = 0;
  sampler_id_type id_type = SAMPLER_ID_I32;
  bool removed_by = true;
  bool lacks_room = false;
};

// Any that the problem's rows can have. Ids that a call may name, some of which no row has.
Sizes random_sizes(Random &random, const Problem &problem);
std::vector<std::int64_t> random_chosen(Random &random, std::int64_t count, const Problem &problem,
                                        sampler_id_type type);

// The reports of a call, its tokens beside them. Ids as i64.
struct Reported {
  std::vector<std::int64_t> token_ids, top_ids, kept_ids;
  std::vector<std::int64_t> kept_offsets, packed_ids;  // of a second call, which packs the lists
  std::vector<std::int32_t> kept_counts, ranks;
  std::vector<float> logprobs, top_logprobs, chosen_logprobs, entropies, kept_probabilities;
  std::vector<float> packed_probabilities;
  std::vector<std::uint32_t> bitmask;
  std::vector<std::uint8_t> removed_by;
  std::vector<sampler_row_status> status;
};

// The arguments that both have.
sampler_score_args score_args_of(const SampleArgs &args);

// What sampler_score is given: a token for each output row, and lists of kept tokens, if there are
// offsets.
struct Given {
  std::vector<std::int64_t> token_ids;
  std::vector<std::int64_t> kept_offsets, kept_ids;
};

// `args` has the rows, their parameters and `num_rows` rows of output. `chosen`: sizes.chosen for
// each of them. The workspace is exactly what the call needs. A second call packs the lists of kept
// tokens; where `lacks_room`, one entry is missing, and the lists are empty. With `given` it is
// sampler_score that is called.
Reported report(sampler_t sampler, SampleArgs args, std::int64_t num_rows, const Sizes &sizes,
                const std::vector<std::int64_t> &chosen, const Given *given = nullptr);

// Asserts that the reports of two calls are the same, bit for bit, but for tokens, statuses and
// removals.
void assert_same_reports(const Reported &got, const Reported &expected);

// Turns off what depends on more than lists of kept tokens.
void leave_out_what_lists_lack(Problem *problem);
void leave_out_what_lists_lack(Call *call);

}  // namespace pipeline_test

#endif  // SAMPLER_TESTS_PIPELINE_REPORTED_H_
