#include "reported.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "../sized.h"
#include "problem.h"

namespace pipeline_test {
namespace {

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

class Ids {
 public:
  Ids(std::int64_t count, sampler_id_type type) : type_(type), narrow_(at(count), -77) {
    if (type == SAMPLER_ID_I64) wide_.assign(at(count), -77);
  }
  explicit Ids(const std::vector<std::int64_t> &ids, sampler_id_type type) : type_(type) {
    wide_ = ids;
    for (const std::int64_t id : ids) narrow_.push_back(static_cast<std::int32_t>(id));
  }
  void *data() {
    return type_ == SAMPLER_ID_I64 ? static_cast<void *>(wide_.data())
                                   : static_cast<void *>(narrow_.data());
  }
  std::vector<std::int64_t> values() const {
    return type_ == SAMPLER_ID_I64 ? wide_
                                   : std::vector<std::int64_t>(narrow_.begin(), narrow_.end());
  }

 private:
  sampler_id_type type_;
  std::vector<std::int32_t> narrow_;
  std::vector<std::int64_t> wide_;
};

// Draws tokens, or, with `given`, scores those. The workspace is exactly what the call needs.
void call(sampler_t sampler, SampleArgs *args, const Given *given) {
  if (!given) {
    const auto memory = workspace_of(sampler, args, &sampler_sample_workspace_size);
    EXPECT_EQ(sampler_sample(sampler, args), SAMPLER_OK) << sampler_last_error();
    return;
  }
  Ids token_ids(given->token_ids, args->token_id_type), kept(given->kept_ids, args->token_id_type);
  sampler_score_args score = score_args_of(*args);
  score.token_ids = token_ids.data();
  if (!given->kept_offsets.empty()) {
    const auto num_lists = static_cast<std::int64_t>(given->kept_offsets.size()) - 1;
    score.kept = {given->kept_offsets.data(), kept.data(), num_lists,
                  static_cast<std::int64_t>(given->kept_ids.size())};
  }
  const auto memory = workspace_of(sampler, &score, &sampler_score_workspace_size);
  EXPECT_EQ(sampler_score(sampler, &score), SAMPLER_OK) << sampler_last_error();
}

// The lists of kept tokens without gaps, `num_kept` tokens in all.
void pack(sampler_t sampler, SampleArgs args, std::int64_t num_rows, std::int64_t num_kept,
          const Sizes &sizes, const Given *given, Reported *result) {
  constexpr std::int64_t kBeyond = 3;
  const bool lacks_room = sizes.lacks_room && num_kept > 0;
  Ids token_ids(num_rows, sizes.id_type), ids(num_kept + kBeyond, sizes.id_type);
  std::vector<float> probabilities(at(num_kept + kBeyond), 7);
  result->kept_offsets.assign(at(num_rows + 1), -7);
  args.token_id_type = sizes.id_type;
  args.out_token_ids = token_ids.data();
  args.report_args.kept_capacity = lacks_room ? num_kept - 1 : num_kept;
  args.report_args.out_kept_token_ids = ids.data();
  args.report_args.out_kept_probabilities = probabilities.data();
  args.report_args.out_kept_offsets = result->kept_offsets.data();
  call(sampler, &args, given);
  EXPECT_EQ(token_ids.values(), result->token_ids);
  const auto written = static_cast<std::ptrdiff_t>(lacks_room ? 0 : num_kept);
  std::vector<std::int64_t> all = ids.values();
  for (auto id = all.begin() + written; id != all.end(); ++id) EXPECT_EQ(*id, -77);
  for (auto p = probabilities.begin() + written; p != probabilities.end(); ++p) EXPECT_EQ(*p, 7);
  result->packed_ids.assign(all.begin(), all.begin() + written);
  result->packed_probabilities.assign(probabilities.begin(), probabilities.begin() + written);
}

}  // namespace

sampler_score_args score_args_of(const SampleArgs &args) {
  auto result = sized<sampler_score_args>();
  result.input = args.input;
  result.row_indices = args.row_indices;
  result.num_row_indices = args.num_row_indices;
  result.slots = args.slots;
  result.num_slots = args.num_slots;
  result.params = args.params;
  result.row_params = args.row_params;
  result.pipeline = args.pipeline;
  result.random = args.random;
  result.token_id_type = args.token_id_type;
  result.out_row_status = args.out_row_status;
  result.reports = args.reports;
  return result;
}

Sizes random_sizes(Random &random, const Problem &problem) {
  const std::int64_t width = problem.num_cols;
  const auto some = [&] {
    const std::int64_t counts[] = {0, 1, 2, width / 2, width};
    return std::min(width, counts[random.between(0, 4)]);
  };
  Sizes sizes = {some(), std::min<std::int64_t>(some(), 40), 0, some(), SAMPLER_ID_I32};
  if (!problem.candidate_ids.empty() || random.one_in(3)) {
    sizes.bitmask_stride = random.between(1, width / 32 + 3);
  }
  if (random.one_in(2)) sizes.id_type = SAMPLER_ID_I64;
  sizes.lacks_room = random.one_in(4);
  return sizes;
}

std::vector<std::int64_t> random_chosen(Random &random, std::int64_t count, const Problem &problem,
                                        sampler_id_type type) {
  std::vector<std::int64_t> ids(at(count));
  for (auto &id : ids) {
    const auto row = problem.candidate_ids.empty() ? 0 : random.between(0, problem.num_rows() - 1);
    const bool is_listed = !problem.candidate_ids.empty() && !random.one_in(4);
    const auto &listed = is_listed ? problem.candidate_ids[at(row)] : std::vector<std::int64_t>();
    id = !listed.empty()
             ? listed[at(random.between(0, static_cast<std::int64_t>(listed.size()) - 1))]
             : random.between(-2, problem.num_cols + 2);
    if (random.one_in(20)) id = type == SAMPLER_ID_I64 ? INT64_MIN + 5 : INT32_MIN;
    if (random.one_in(20)) id = type == SAMPLER_ID_I64 ? INT64_MAX : INT32_MAX;
  }
  return ids;
}

Reported report(sampler_t sampler, SampleArgs args, std::int64_t num_rows, const Sizes &sizes,
                const std::vector<std::int64_t> &chosen, const Given *given) {
  const std::int64_t words =
      sizes.bitmask_stride ? sizes.bitmask_stride : (args.input.num_cols + 31) / 32;
  Ids token_ids(num_rows, sizes.id_type), top_ids(num_rows * sizes.top, sizes.id_type);
  Ids kept_ids(num_rows * sizes.kept, sizes.id_type), chosen_ids(chosen, sizes.id_type);
  const SampleArgs plain = args;
  Reported result;
  result.kept_counts.assign(at(num_rows), -7);
  result.ranks.assign(at(num_rows), -7);
  result.logprobs.assign(at(num_rows), 7);
  result.top_logprobs.assign(at(num_rows * sizes.top), 7);
  result.chosen_logprobs.assign(at(num_rows * sizes.chosen), 7);
  result.entropies.assign(at(num_rows), 7);
  result.bitmask.assign(at(num_rows * words), 7);
  result.kept_probabilities.assign(at(num_rows * sizes.kept), 7);
  result.removed_by.assign(at(num_rows * args.input.num_cols), 7);
  result.status.assign(at(num_rows), 7);
  args.token_id_type = sizes.id_type;
  args.out_token_ids = token_ids.data();
  args.report_args.out_kept_counts = result.kept_counts.data();
  args.report_args.out_logprobs = result.logprobs.data();
  args.out_row_status = result.status.data();
  args.report_args.num_top_logprobs = sizes.top;
  args.report_args.out_top_token_ids = top_ids.data();
  args.report_args.out_top_logprobs = result.top_logprobs.data();
  args.report_args.num_chosen = sizes.chosen;
  args.report_args.chosen_token_ids = chosen_ids.data();
  args.report_args.out_chosen_logprobs = result.chosen_logprobs.data();
  args.report_args.out_ranks = result.ranks.data();
  args.report_args.out_entropies = result.entropies.data();
  args.report_args.out_kept_bitmask = result.bitmask.data();
  args.report_args.kept_bitmask_stride = sizes.bitmask_stride;
  args.report_args.kept_capacity = sizes.kept;
  args.report_args.out_kept_token_ids = kept_ids.data();
  args.report_args.out_kept_probabilities = result.kept_probabilities.data();
  if (sizes.removed_by) args.report_args.out_removed_by = result.removed_by.data();
  call(sampler, &args, given);
  result.token_ids = token_ids.values();
  result.top_ids = top_ids.values();
  result.kept_ids = kept_ids.values();
  const auto num_kept =
      std::accumulate(result.kept_counts.begin(), result.kept_counts.end(), std::int64_t(0));
  pack(sampler, plain, num_rows, num_kept, sizes, given, &result);
  return result;
}

namespace {

template <class T>
void assert_same(const char *what, const std::vector<T> &got, const std::vector<T> &expected) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool is_same = std::memcmp(&got[i], &expected[i], sizeof(T)) == 0;
    ASSERT_TRUE(is_same) << what << ' ' << i << ": " << got[i] << " for " << expected[i];
  }
}

}  // namespace

void assert_same_reports(const Reported &got, const Reported &expected) {
  assert_same("kept count", got.kept_counts, expected.kept_counts);
  assert_same("log-probability", got.logprobs, expected.logprobs);
  assert_same("top id", got.top_ids, expected.top_ids);
  assert_same("top log-probability", got.top_logprobs, expected.top_logprobs);
  assert_same("chosen log-probability", got.chosen_logprobs, expected.chosen_logprobs);
  assert_same("rank", got.ranks, expected.ranks);
  assert_same("entropy", got.entropies, expected.entropies);
  assert_same("word of kept bits", got.bitmask, expected.bitmask);
  assert_same("kept id", got.kept_ids, expected.kept_ids);
  assert_same("kept probability", got.kept_probabilities, expected.kept_probabilities);
  assert_same("kept offset", got.kept_offsets, expected.kept_offsets);
  assert_same("packed id", got.packed_ids, expected.packed_ids);
  assert_same("packed probability", got.packed_probabilities, expected.packed_probabilities);
}

void leave_out_what_lists_lack(Problem *problem) {
  for (Slot &slot : problem->slots) {
    slot.numbers.dynamic_temperature_range = 0;
    if (slot.numbers.adaptive_kind >= SAMPLER_ADAPTIVE_P) slot.numbers.adaptive_kind = 0;
  }
}

void leave_out_what_lists_lack(Call *call) {
  call->row_params.adaptive_kind = nullptr;
  call->row_params.dynamic_temperature_range = nullptr;
}

}  // namespace pipeline_test
