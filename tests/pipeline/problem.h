// Random rows with random pipelines, the structs of their calls, and what the oracle makes of them.
#ifndef SAMPLER_TESTS_PIPELINE_PROBLEM_H_
#define SAMPLER_TESTS_PIPELINE_PROBLEM_H_

#include <gtest/gtest.h>
#include <sampler/sampler.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "../random.h"
#include "../sized.h"
#include "edits_oracle.h"

namespace pipeline_test {

using oracle::Text;

// How many of `count` random problems are tried: fewer where they are dear, under emulation and
// with AddressSanitizer. The preset test tries them all.
constexpr std::uint64_t affordable(std::uint64_t count) {
#if defined(__SANITIZE_ADDRESS__) || defined(__aarch64__)
  return count / 5;
#else
  return count;
#endif
}

using tests::Random;

// Numbers of one slot, as sampler_row_params has them.
struct Numbers {
  float guidance_scale = 0;
  float repetition_penalty = 0, frequency_penalty = 0, presence_penalty = 0;
  std::int32_t penalty_window = 0;
  std::int32_t exponential_decay_start = 0;
  float exponential_decay_factor = 0;
  float dry_multiplier = 0, dry_base = 0;
  std::int32_t dry_allowed_length = 0, dry_window = 0;
  std::int32_t no_repeat_ngram_size = 0, min_new_tokens = 0;
  std::int64_t forced_token_id = -1;
  float dynamic_temperature_range = 0, dynamic_temperature_exponent = 0;
  float typical_p = 0, top_n_sigma = 0, epsilon_cutoff = 0, eta_cutoff = 0, top_h = 0;
  sampler_p_less_kind p_less = SAMPLER_P_LESS_NONE;
  float min_k = 0, top_a = 0;
  float xtc_probability = 0, xtc_threshold = 0;
  std::int32_t min_keep = 0;
  sampler_adaptive_kind adaptive_kind = SAMPLER_ADAPTIVE_NONE;
  float adaptive_target = 0, adaptive_rate = 0, top_p_decay = 0, top_p_least = 0;
};

// One slot's numbers, history and lists.
struct Slot {
  Numbers numbers;
  Text history;
  std::int32_t prompt_length = 0;
  Text biased, allowed, banned, stop, unpenalized;
  std::vector<float> biases;        // of `biased`
  std::vector<Text> bias_contexts;  // of `biased`, or of the first of them
  std::vector<float> dense_bias;
  std::int64_t first_bad_word = 0, end_of_bad_words = 0;
  std::array<float, SAMPLER_NUM_ADAPTIVE_VALUES> adaptive_values = {};
};

// What a call has, in a form that is easy to change; empty: not given.
struct Problem {
  std::int64_t num_cols = 1;
  std::vector<std::vector<float>> rows;  // as long as the row, which may be short
  bool has_counts = false;
  std::vector<std::vector<std::int64_t>> candidate_ids;  // by row, or none
  std::vector<std::int32_t> slot_of_row;
  bool has_slots = false;
  std::vector<Slot> slots;

  bool numbers_by_slot = false;  // else all have those of slot 0
  bool has_history = true, has_biased = false, has_bias_contexts = false, has_dense_bias = false,
       has_allowed = false;
  bool has_banned = false, has_stop = false, has_unpenalized = false, has_bad_words = false,
       has_bad_word_offsets = false;
  bool has_prompt_lengths = false;
  bool has_forced_tokens = false;
  bool lists_for_all = false;  // biased, allowed, banned, stop and unpenalized are slot 0's
  bool dense_bias_for_all = false;
  std::int64_t dense_bias_stride = 0;
  std::vector<std::vector<float>> guidance;  // rows; none: no guidance
  std::vector<std::int32_t> guidance_indices;
  std::vector<Text> bad_words, breakers;
  std::vector<std::vector<std::uint32_t>> bitmasks;
  std::int64_t bitmask_stride = 0;
  std::vector<std::int32_t> bitmask_indices;
  sampler_mask_rule bitmask_rule = SAMPLER_MASK_LEAVES;
  sampler_penalty_scope penalty_scope = 0, bad_word_scope = 0;
  sampler_penalty_form penalty_form = 0;
  sampler_id_type id_type = SAMPLER_ID_I32;
  sampler_input_kind kind = SAMPLER_LOGITS;
  sampler_params params = sampler_params_default();  // temperature and filters, ties and orders
  bool has_edits = true;
  bool has_windows = false;
  bool has_adaptive = false, has_adaptive_values = false;
  std::vector<sampler_stage> stages;  // the order; empty: the usual one

  std::int64_t num_rows() const { return static_cast<std::int64_t>(rows.size()); }
  // After num_cols has changed.
  void resize_guidance() {
    for (auto &row : guidance) row.resize(static_cast<std::size_t>(num_cols), 0.5F);
  }
  const Slot &slot(std::int64_t row) const {
    return slots[static_cast<std::size_t>(slot_of_row[static_cast<std::size_t>(row)])];
  }
  const Numbers &numbers(std::int64_t row) const {
    return numbers_by_slot ? slot(row).numbers : slots[0].numbers;
  }
};

// With edits, and temperature, top-k, top-p and min-p; the other adds windows and orders.
Problem make_problem(std::uint64_t seed);
Problem make_staged_problem(std::uint64_t seed);

// Rounds the rows to the type and widens them again: what the library reads.
void round_rows(Problem *problem, sampler_dtype dtype);

// By element, which stage has removed it; 0: none has.
using Removals = std::vector<std::uint8_t>;

// Row `row` after its edits. `removals`: where those of edits are noted.
std::vector<float> edited(const Problem &problem, std::int64_t row, Removals *removals = nullptr);

// What is left of an edited row: -inf (probabilities: 0) for what the windows drop, and the
// temperature to draw at. Without a coin XTC is off.
struct Staged {
  std::vector<float> values;
  float temperature;
};
Staged keep_windows(const Problem &problem, std::int64_t row, const std::vector<float> &values,
                    bool has_coin, Removals *removals = nullptr);

// Rows as the oracle leaves them, and each row's temperature; none: the problem's own, and its
// filters.
struct Expected {
  std::vector<std::vector<float>> rows;
  std::vector<float> temperatures;
};

// The structs of a call, and the arrays that they point to. `expected`: in place of the problem's
// own rows and stages.
class Call {
 public:
  Call(const Problem &problem, sampler_dtype dtype, const Expected *expected = nullptr);
  Call(const Call &) = delete;
  Call &operator=(const Call &) = delete;

  sampler_rows input = {};
  sampler_params params;
  sampler_row_params row_params = {};
  sampler_pipeline pipeline = {};
  std::vector<std::int32_t> slots;  // empty: none
  std::vector<std::uint64_t> seeds;
  static constexpr std::uint64_t kOffset = 5;
  static std::uint64_t seed_of(std::int64_t slot) { return 77 + static_cast<std::uint64_t>(slot); }

  // The arguments' common members.
  template <class Args>
  Args args() const {
    Args result = sized<Args>();
    result.input = input;
    result.params = &params;
    result.row_params = &row_params;
    result.pipeline = has_pipeline ? &pipeline : nullptr;
    result.slots = slots.empty() ? nullptr : slots.data();
    result.num_slots = slots.empty() ? 0 : num_slots;
    return result;
  }

  std::int64_t num_slots;
  bool has_pipeline;

 private:
  void set_numbers(const Problem &problem);
  void set_lists(const Problem &problem);
  void set_guidance(const Problem &problem, sampler_dtype dtype);

  struct Lists {
    std::vector<std::int64_t> offsets;
    std::vector<unsigned char> ids;
    sampler_token_lists view(const std::vector<Text> &lists, sampler_id_type type);
  };

  std::vector<unsigned char> values_, candidate_ids_, guidance_;
  std::vector<std::int32_t> counts_;
  Lists history_, biased_, bias_contexts_, allowed_, banned_, stop_, unpenalized_, bad_words_,
      breakers_;
  std::vector<std::int32_t> prompt_lengths_, guidance_indices_, bitmask_indices_;
  std::vector<float> biases_, dense_bias_;
  std::vector<std::int64_t> bad_word_offsets_;
  std::vector<std::uint32_t> bitmasks_;
  std::vector<float> guidance_scale_, repetition_, frequency_, presence_, multiplier_, base_;
  std::vector<float> decay_factor_;
  std::vector<std::int32_t> decay_start_;
  std::vector<std::int32_t> window_, allowed_length_, dry_window_, ngram_, min_new_;
  std::vector<float> temperatures_, range_, exponent_, typical_, sigma_, epsilon_, eta_, top_h_;
  std::vector<float> min_k_, top_a_;
  std::vector<std::int32_t> p_less_;
  std::vector<float> xtc_probability_, xtc_threshold_;
  std::vector<std::int32_t> min_keep_, kind_;
  std::vector<float> target_, rate_, decay_, least_, adaptive_values_;
  std::vector<std::int64_t> forced_;
};

// A workspace of exactly the bytes that the call needs.
template <class Args, class Size>
std::vector<unsigned char> workspace_of(sampler_t sampler, Args *args, Size size) {
  std::size_t bytes = 0;
  EXPECT_EQ(size(sampler, args, &bytes), SAMPLER_OK) << sampler_last_error();
  std::vector<unsigned char> memory(bytes, 0xA5);
  args->exec.workspace = memory.data();
  args->exec.workspace_bytes = bytes;
  return memory;
}

// Outputs of sampler_sample but for its reports.
struct Sampled {
  std::vector<std::int32_t> token_ids, kept_counts;
  std::vector<float> logprobs, values, observations;
  std::vector<sampler_row_status> status;
};
// Observations are left alone where they are not wanted.
Sampled sample(sampler_t sampler, const Call &call, sampler_logprob_kind logprob_kind,
               sampler_draw_method draw_method);

// The tokens alone, with nothing else asked of their rows, drawn by weights.
std::vector<std::int32_t> sample_ids(sampler_t sampler, const Call &call);

struct Filtered {
  std::vector<float> output;
  std::vector<std::int32_t> kept_counts;
  std::vector<sampler_row_status> status;
};
Filtered filter(sampler_t sampler, const Call &call, sampler_output_kind output_kind);

}  // namespace pipeline_test

#endif  // SAMPLER_TESTS_PIPELINE_PROBLEM_H_
