// Calls as values: what they compute from, apart from how it is laid out and run.
#ifndef SAMPLER_TESTS_INVARIANCE_PROBLEM_H_
#define SAMPLER_TESTS_INVARIANCE_PROBLEM_H_

#include <sampler/sampler.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "call.h"

namespace invariance_test {

using oracle_test::Random;
using oracle_test::RowKind;

using test_support::name;
using test_support::Operation;
const std::vector<Operation> &operations();

// A row of logits or probabilities. Without ids it may be shorter than num_cols: then the call has
// candidate_counts.
struct Values {
  std::vector<float> values;      // as they widen from the problem's type
  std::vector<std::int32_t> ids;  // of a candidate list; empty: an element's id is its column

  friend bool operator==(const Values &a, const Values &b);  // bit for bit
};

// All that belongs to one output row.
struct RowInput {
  std::vector<Values> target;           // one; verify: one per position
  std::vector<Values> draft;            // one per draft; empty: deterministic drafts
  std::vector<std::int64_t> draft_ids;  // one per draft
  std::int32_t draft_count = 0;
  float temperature = 1.0f;
  std::int32_t top_k = 0;  // select: how many tokens
  float top_p = 1.0f;
  float min_p = 0.0f;
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
  std::uint32_t stream = 0;  // where the setting has streams
};

struct Problem {
  Operation operation = Operation::kSample;
  std::vector<RowInput> rows;
  std::int64_t num_cols = 0;
  // Ids of results: those of num_cols' elements, or, where a problem was made wider or turned into
  // lists, those of the problem that it came from.
  std::int64_t vocabulary = 0;
  bool has_candidates = false;
  std::int64_t num_drafts = 0;  // of verify; residual: 1
  std::int64_t num_selected = 1;
  sampler_dtype dtype = SAMPLER_F32;
  sampler_dtype draft_dtype = SAMPLER_F32;
  sampler_dtype output_dtype = SAMPLER_F32;
  sampler_input_kind kind = SAMPLER_LOGITS;
  sampler_input_kind draft_kind = SAMPLER_LOGITS;
  sampler_output_kind output_kind = SAMPLER_OUTPUT_PROBABILITIES;
  sampler_tie_rule top_k_ties = SAMPLER_TIES_EXACT;
  sampler_tie_rule top_p_ties = SAMPLER_TIES_EXACT;
  sampler_sum_rule top_p_sum = SAMPLER_SUM_REACHES;
  sampler_filter_order filter_order = SAMPLER_FILTERS_SEQUENTIAL;
  sampler_temperature_order temperature_order = SAMPLER_TEMPERATURE_FIRST;
  sampler_draw_method draw_method = SAMPLER_DRAW_INVERSE_CDF;
  sampler_logprob_kind logprob_kind = SAMPLER_LOGPROB_RAW;
};

// Rows of the target that an output row has.
std::int64_t num_positions(const Problem &problem);

bool has_slots(Operation operation);

// Whether filters may be set: drafts of given probabilities have none.
bool takes_filters(const Problem &problem);

std::string describe(const Problem &problem);

// A generated call as values: of random types, rows, parameters and options. Most rows are good.
Problem random_problem(Operation operation, std::size_t num_cols, std::size_t num_rows,
                       Random *random);

// One of the ways in which a row can be bad: contents or parameters.
void spoil(const Problem &problem, RowInput *row, Random *random);

// The value of a token that can never be drawn: -inf, or probability 0.
float impossible(sampler_input_kind kind);

// The same rows as lists of (id, value) in random order. `omit_impossible` leaves out what can
// never be drawn, and the lists become shorter than num_cols. The problem itself where the
// operation has no lists.
Problem as_candidates(const Problem &problem, bool omit_impossible, Random *random);

// The rows that give the same results as a list of all their ids: all, except verifications of
// given probabilities with bad contents. Only the draft's element of such a row is looked at, but
// the whole of a list.
std::vector<std::size_t> rows_equal_as_lists(const Problem &problem);

// The same with `count` columns more, all impossible.
Problem widened(const Problem &problem, std::int64_t count);

// The same with rows, and positions of rows, of any lengths up to num_cols. `one_length`: at least
// 1 and the same for all that belongs to one output row; draft tokens are then below it.
Problem shortened(const Problem &problem, bool one_length, Random *random);

// The same with impossible tokens at the end of rows that are shorter than num_cols.
Problem padded(const Problem &problem);

// The same values as f32.
Problem as_f32(const Problem &problem);

// The problem's rows in this order, any number of times each.
Problem with_rows(const Problem &problem, const std::vector<std::size_t> &order);

std::vector<std::size_t> random_order(std::size_t size, Random *random);

}  // namespace invariance_test

#endif  // SAMPLER_TESTS_INVARIANCE_PROBLEM_H_
