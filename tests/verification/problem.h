// Verifications as values, apart from how a call lays them out, and what came of them.
#ifndef SAMPLER_TESTS_VERIFICATION_PROBLEM_H_
#define SAMPLER_TESTS_VERIFICATION_PROBLEM_H_

#include <sampler/sampler.h>

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "../sized.h"

namespace verification_test {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  // In [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool one_in(std::int64_t n) { return between(1, n) == 1; }
  double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  float within(float low, float high) { return low + (high - low) * static_cast<float>(unit()); }

 private:
  std::mt19937_64 engine_;
};

inline std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

using Row = std::vector<float>;

// One sequence. Position 0 follows the context, position i + 1 follows draft i.
struct Sequence {
  std::vector<std::int64_t> drafts;
  std::vector<std::int32_t> parents;  // of each draft; -1: the root. In a chain i - 1
  std::vector<Row> target;            // by position
  std::vector<Row> draft;             // by draft; of a problem with draft rows
  std::vector<std::int32_t> masks;    // by position; of a problem with masks
  std::vector<std::int64_t> forced;   // by position; -1: none

  float temperature = 1, top_p = 1;
  std::int32_t top_k = 0;       // of a problem with top-k by slot
  float draft_temperature = 1;  // of a problem with draft parameters by slot
  // In a problem with numbers by slot.
  float frequency_penalty = 0, adaptive_target = 0;
  std::int64_t top_p_reset_token_id = -1;
  sampler_acceptance rule = SAMPLER_ACCEPT_STANDARD;
  std::uint64_t seed = 0, offset = 0;

  std::vector<std::int32_t> history;
  std::int32_t prompt_length = 0;
  std::array<float, SAMPLER_NUM_ADAPTIVE_VALUES> adaptive_values = {kNan, kNan, kNan, kNan};

  std::int64_t num_drafts() const { return static_cast<std::int64_t>(drafts.size()); }
  // By number, which is the order in which they are tried.
  std::vector<std::int32_t> children(std::int32_t node) const;
};

// Rows are of values that every type has.
struct Problem {
  std::int64_t num_cols = 1;
  std::int64_t num_drafts = 0;  // the most that a sequence has
  bool is_tree = false, has_draft_rows = true;
  sampler_input_kind kind = SAMPLER_LOGITS, draft_kind = SAMPLER_LOGITS;
  sampler_params params = sampler_params_default();
  bool has_draft_params = false;
  sampler_params draft_params = sampler_params_default();
  bool has_draft_numbers_by_slot = false, has_numbers_by_slot = false;
  std::vector<Sequence> sequences;

  bool has_rules_by_slot = false;  // else all have that of sequence 0
  bool has_top_k_by_slot = false;
  sampler_sibling_rule sibling_rule = SAMPLER_SIBLINGS_INDEPENDENT;
  float typical_threshold = 0, typical_scale = 0;
  std::int32_t relaxed_top_k = 0;
  float relaxed_delta = 0, threshold_single = 0, threshold_total = 0;
  std::int32_t deferred_window = 0, deferred_top_k = 0;
  float deferred_entropy = 0;
  sampler_draw_method draw_method = SAMPLER_DRAW_INVERSE_CDF;
  std::vector<float> synthetic_rates;

  bool has_forced_tokens = false;
  bool has_pipeline = false;  // history, and what follows
  std::vector<std::vector<std::uint32_t>> masks;
  std::vector<std::int32_t> biased, banned, stop;
  std::vector<float> biases;
  std::vector<std::vector<std::int32_t>> bad_words, breakers;

  sampler_logprob_kind logprob_kind = SAMPLER_LOGPROB_RAW;
  std::int64_t num_top = 0, kept_capacity = 0;
  bool has_reports = false;  // those two, and others:
  bool has_kept_counts = true, has_ranks = true, has_logprobs = true, has_entropies = true,
       has_observations = true, has_kept_bitmask = true;

  std::int64_t num_sequences() const { return static_cast<std::int64_t>(sequences.size()); }
  sampler_acceptance rule(std::int64_t s) const {
    return sequences[has_rules_by_slot ? at(s) : 0].rule;
  }
};

bool is_token(const Problem &problem, std::int64_t id);

// How a call lays a problem out.
struct Layout {
  enum class Tree { kAsItIs, kParents, kTables, kTablesWithZeros };
  sampler_packing packing = SAMPLER_PACKING_DENSE;
  Tree tree = Tree::kAsItIs;        // kAsItIs: a chain by NULL, a tree by parents
  bool has_one_tree = false;        // tree_rows 1; all sequences have the first one's
  bool has_target_indices = false;  // the rows lie in another order, bad ones between them
  bool has_bonus_indices = false;   // with target indices
  bool has_draft_indices = false;   // likewise; equal rows are one
  bool has_draft_rows_by_slot = false;
  bool has_slots = false;            // slots in another order, with more of them
  bool has_one_temperature = false;  // that of sequence 0, for all
  bool has_state = false;            // the text is a state's
  bool has_wide_strides = false;     // of rows, sequences and draft ids
  bool has_positions = true;         // out_positions and KV indices are asked for
  bool has_new_outputs = true;       // reports
  bool has_accepted_counts = true;
  bool adds_counts = false;  // to what stood there
  bool has_i64_ids = false;
  bool has_candidates = false;           // rows are lists, in random order
  bool omits_impossible = false;         // lists are without tokens that have no probability
  bool has_tight_history = false;        // max_history_tokens is the longest text's length,
  bool has_short_history = false;        // or one less
  std::int64_t max_distinct_tokens = 0;  // of the state
  sampler_dtype dtype = SAMPLER_F32;     // of both models' rows
};

// Everything that a call wrote for one sequence, by the names of the outputs. Floats as their bits.
using Outcome = std::map<std::string, std::vector<std::int64_t>>;

// "" where they are the same; else what differs. Outputs that only one of them has are left out,
// but for the tokens.
std::string difference(const Outcome &expected, const Outcome &actual);

// The outcomes of all sequences. `status` NULL: it must be SAMPLER_OK.
std::vector<Outcome> verify(sampler_t sampler, const Problem &problem, const Layout &layout = {},
                            sampler_status *status = nullptr);

// Changes the arguments before the call.
class Call {
 public:
  Call(sampler_t sampler, const Problem &problem, const Layout &layout);
  ~Call();
  Call(const Call &) = delete;
  Call &operator=(const Call &) = delete;

  sampler_status run();
  std::vector<Outcome> outcomes() const;
  std::string state_bytes() const;

  VerifyArgs args;
  sampler_params params, draft_params;
  sampler_row_params row_params = {}, draft_row_params = {};
  sampler_pipeline pipeline = {};
  std::int64_t num_slots = 0;

  // The arrays of the call, to be changed before run().
  std::vector<float> target, draft;
  std::vector<std::int32_t> target_ids, target_id_counts, draft_ids, draft_id_counts;
  std::vector<std::int64_t> drafts;
  std::vector<std::int32_t> drafts32, parents, first_children, next_siblings, draft_counts;
  std::vector<std::int32_t> packing_offsets, target_row_indices, bonus_row_indices;
  std::vector<std::int32_t> draft_row_indices, slots, mask_indices;
  std::vector<sampler_acceptance> rules;
  std::vector<std::int64_t> kv_indices, forced;
  std::vector<std::int32_t> forced32;
  std::vector<std::uint64_t> seeds, offsets;
  std::vector<float> temperatures, top_ps, draft_temperatures;
  std::vector<std::int32_t> top_ks;
  std::vector<float> frequency_penalties, adaptive_targets;
  std::vector<std::int64_t> reset_token_ids;
  std::vector<std::uint32_t> masks;
  std::vector<std::int64_t> history_offsets, one_list[6], bad_word_offsets, breaker_offsets;
  std::vector<std::int32_t> history, prompt_lengths, bad_words, breakers;
  std::vector<float> adaptive_values;
  std::vector<std::int32_t> slot_of;  // by sequence
  std::vector<std::int64_t> tokens;
  std::vector<std::int32_t> tokens32, accepted, emitted, positions;
  std::vector<std::int64_t> kv;
  std::vector<sampler_row_status> status;
  std::vector<std::int32_t> kept_counts, ranks, top_ids32, kept_ids32;
  std::vector<std::int64_t> top_ids, kept_ids;
  std::vector<float> logprobs, entropies, observations, top_logprobs, kept_probabilities;
  std::vector<std::uint32_t> kept_bitmask;

 private:
  void lay_drafts();
  void lay_target();
  void lay_draft_rows();
  void lay_slots();
  void lay_pipeline();
  void lay_outputs();
  std::int64_t num_call_cols() const {
    return problem_.num_cols + (layout_.has_candidates ? 2 : 0);
  }
  // Writes a row, as a list where the call has lists. `element`: where it begins.
  void put_row(const Row &row, std::int64_t number, std::int64_t element,
               std::vector<float> *values, std::vector<std::int32_t> *ids,
               std::vector<std::int32_t> *counts);
  void set_lists(std::int64_t num_rows, std::vector<float> *values, std::vector<std::int32_t> *ids,
                 std::vector<std::int32_t> *counts, sampler_rows *view);
  void set_values(const std::vector<float> &values, std::vector<std::uint16_t> *narrow,
                  sampler_rows *view) const;
  std::int64_t position_place(std::int64_t s, std::int64_t i) const;
  std::int64_t draft_place(std::int64_t s, std::int64_t i) const;
  std::int64_t num_position_places() const;
  std::int64_t num_draft_places() const;
  std::int64_t entry_place(std::int64_t s, std::int64_t i) const;
  std::int64_t num_entry_places() const;

  sampler_t sampler_;
  const Problem &problem_;
  const Layout layout_;
  sampler_state_t state_ = nullptr;
  std::vector<unsigned char> workspace_;
  std::vector<std::uint16_t> target16_, draft16_;
  Random order_{1};
};

}  // namespace verification_test

#endif  // SAMPLER_TESTS_VERIFICATION_PROBLEM_H_
