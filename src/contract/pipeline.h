// A call's pipeline: its stages, their order, parameters and token lists.
//
// docs/contract.md, sections 13 and 14.
#pragma once

#include <cstdint>

#include "contract/adaptive_values.h"
#include "contract/edits.h"
#include "contract/elements.h"
#include "contract/host_device.h"
#include "contract/repeats.h"
#include "contract/request.h"
#include "contract/state_slots.h"
#include "sampler/pipeline.h"

namespace sampler::contract {

// A list of token ids.
struct TokenList {
  const void *ids = nullptr;
  sampler_id_type type = SAMPLER_ID_I32;
  int64_t begin = 0;
  int64_t count = 0;

  SAMPLER_HD int64_t operator[](int64_t i) const { return load_id(ids, type, begin + i); }
};

// Consecutive lists: one per slot, or one for all slots.
struct TokenLists {
  const int64_t *offsets = nullptr;  // null: no lists
  const void *ids = nullptr;
  sampler_id_type type = SAMPLER_ID_I32;
  int64_t num_lists = 0;
  int64_t num_ids = 0;

  SAMPLER_HD explicit operator bool() const { return offsets != nullptr; }

  // False if the list's offsets are invalid.
  SAMPLER_HD bool find(int64_t list, TokenList *out) const {
    const int64_t begin = offsets[list], end = offsets[list + 1];
    if (begin < 0 || begin > end || end > num_ids) return false;
    *out = {ids, type, begin, end - begin};
    return true;
  }
  SAMPLER_HD bool find_by_slot(int64_t slot, TokenList *out) const {
    return find(num_lists == 1 ? 0 : slot, out);
  }
};

// The drafts that end the text of each output, of the history's type: those of a chain lie where
// its outputs begin, those of a tree's node in `path_stride` places of its own.
struct AssumedDrafts {
  const void *ids = nullptr;        // null: none
  const int32_t *counts = nullptr;  // by output
  int32_t path_stride = 0;          // 0: of chains

  SAMPLER_HD TokenList before(int64_t output, sampler_id_type type) const {
    if (!ids) return {};
    const int64_t count = counts[output];
    return {ids, type, path_stride > 0 ? output * path_stride : output - count, count};
  }
};

// Logits that guide a row, by its elements.
struct GuidanceRow {
  const void *logits;
  sampler_dtype dtype;
  int64_t begin;

  SAMPLER_HD float operator[](int64_t element) const {
    return load_value(logits, dtype, begin + element);
  }
};

// Classifier-free guidance: rows of logits laid out like those of the call, by output row.
struct Guidance {
  PerSlot<float> scale{0};
  const void *logits = nullptr;
  sampler_dtype dtype = SAMPLER_F32;
  int64_t num_rows = 0, stride = 0;
  const int32_t *row_indices = nullptr;  // null: row i has row i

  bool may_guide() const { return scale.array || guidance_is_on(scale.value); }

  // Whether an output row has guidance, which find() finds.
  SAMPLER_HD bool guides(int64_t slot, int64_t output) const {
    return logits && guidance_is_on(scale[slot]) && index(output) >= 0;
  }

  // False if the index is invalid.
  SAMPLER_HD bool find(int64_t output, GuidanceRow *row) const {
    if (index(output) >= num_rows) return false;
    *row = {logits, dtype, index(output) * stride};
    return true;
  }

  // Negative: no guidance.
  SAMPLER_HD int64_t index(int64_t output) const {
    return row_indices ? row_indices[output] : output;
  }
};

// One slot's parameters of the edits.
struct EditNumbers {
  float guidance_scale;
  Penalties penalties;
  int32_t penalty_window;
  ExponentialDecay decay;
  DryRules dry;
  int32_t dry_window;
  int32_t no_repeat_ngram_size;
  int32_t min_new_tokens;

  SAMPLER_HD bool repetition_is_on() const {
    return penalties.repetition != 0.0f && penalties.repetition != 1.0f;
  }
  SAMPLER_HD bool counts_are_on() const {
    return penalties.frequency != 0.0f || penalties.presence != 0.0f;
  }
  // Whether tokens of the text are penalised, for how often they occur.
  SAMPLER_HD bool penalties_are_on() const { return repetition_is_on() || counts_are_on(); }
  SAMPLER_HD bool seek_repeats() const { return dry_is_on(dry) || no_repeat_ngram_size > 0; }
  SAMPLER_HD bool are_valid() const {
    return is_finite(guidance_scale) && are_valid_penalties(penalties) && decay.is_valid() &&
           !is_nan(dry.multiplier) && !is_nan(dry.base);
  }
};

// One slot's parameters of the windows, beside RowParameters.
struct WindowNumbers {
  float dynamic_range, dynamic_exponent;
  float typical_p, top_n_sigma, epsilon, eta, top_h;
  sampler_p_less_kind p_less;
  float min_k, top_a;
  float xtc_probability, xtc_threshold;
  int32_t min_keep;
  sampler_adaptive_kind mirostat;  // V1, V2, or NONE: off
  float mu;

  SAMPLER_HD bool are_valid(sampler_input_kind kind) const {
    const bool has_nan = is_nan(dynamic_range) || is_nan(dynamic_exponent) || is_nan(typical_p) ||
                         is_nan(top_n_sigma) || is_nan(epsilon) || is_nan(eta) || is_nan(top_h) ||
                         is_nan(min_k) || is_nan(top_a) || is_nan(xtc_probability) ||
                         is_nan(xtc_threshold);
    const bool is_kind = p_less >= SAMPLER_P_LESS_NONE && p_less <= SAMPLER_P_LESS_NORM;
    return !has_nan && is_kind && !(kind == SAMPLER_PROBABILITIES && dynamic_range > 0.0f);
  }
};

// Rules of the windows, the same for all slots.
struct WindowRules {
  sampler_tie_rule typical_p_ties = SAMPLER_TIES_EXACT;
  sampler_tie_rule cutoff_ties = SAMPLER_TIES_EXACT;  // of epsilon and eta
  sampler_sum_rule typical_p_sum = SAMPLER_SUM_REACHES;
};

constexpr int kNumStages = SAMPLER_STAGE_ADAPTIVE;

// The stages of a row, in order, each once.
struct StageOrder {
  sampler_stage stages[kNumStages] = {};
  int count = 0;

  SAMPLER_HD void add(sampler_stage stage) { stages[count++] = stage; }
  SAMPLER_HD bool has(sampler_stage wanted) const {
    for (const sampler_stage stage : *this) {
      if (stage == wanted) return true;
    }
    return false;
  }
  SAMPLER_HD const sampler_stage *begin() const { return stages; }
  SAMPLER_HD const sampler_stage *end() const { return stages + count; }
};

SAMPLER_HD constexpr bool is_edit(sampler_stage stage) {
  return stage >= SAMPLER_STAGE_BIAS && stage <= SAMPLER_STAGE_NO_REPEAT_NGRAM;
}
SAMPLER_HD constexpr bool is_filter(sampler_stage stage) {
  return stage >= SAMPLER_STAGE_TOP_K && stage <= SAMPLER_STAGE_MIN_P;
}

struct Pipeline {
  // The stages that may be on. `windows` is set only if has_windows.
  StageOrder edits, windows;
  // Whether the stages are more than temperature, top-k, top-p and min-p in an order that
  // FilterRules can express.
  bool has_windows = false;
  WindowRules window_rules;

  PerSlot<float> dynamic_range{0}, dynamic_exponent{0};
  PerSlot<float> typical_p{0}, top_n_sigma{0}, epsilon{0}, eta{0}, top_h{0};
  PerSlot<sampler_p_less_kind> p_less{SAMPLER_P_LESS_NONE};
  PerSlot<float> min_k{0}, top_a{0};
  PerSlot<float> xtc_probability{0}, xtc_threshold{0};
  PerSlot<int32_t> min_keep{0};

  PerSlot<float> repetition_penalty{0}, frequency_penalty{0}, presence_penalty{0};
  PerSlot<int32_t> penalty_window{0};
  PerSlot<int32_t> decay_start{0};
  PerSlot<float> decay_factor{0};
  sampler_penalty_scope penalty_scope = SAMPLER_PENALTY_SCOPE_STANDARD;
  PenaltyForm penalty_form = PenaltyForm::kDivide;
  PerSlot<float> dry_multiplier{0}, dry_base{0};
  PerSlot<int32_t> dry_allowed_length{0}, dry_window{0};
  PerSlot<int32_t> no_repeat_ngram_size{0}, min_new_tokens{0};
  bool bad_words_end_output = false;  // searched in the output alone

  const int64_t *forced_token_ids = nullptr;

  // sampler_score: by output row, the token that the row yields, and the tokens that were kept,
  // which replace filters, windows and `allowed`.
  const void *scored_token_ids = nullptr;
  sampler_id_type scored_id_type = SAMPLER_ID_I32;
  TokenLists kept;

  AdaptiveParameters adaptive;

  StateSlots state_slots;  // by slot; replaces adaptive_values, history and prompt_lengths
  const float *adaptive_values = nullptr;  // [slots, SAMPLER_NUM_ADAPTIVE_VALUES]; null: initial

  TokenLists history;
  const int32_t *prompt_lengths = nullptr;
  int64_t max_history = 0;
  int64_t max_assumed = 0;  // draft tokens that a call may append to the history
  AssumedDrafts drafts;     // on devices; other backends append them
  Guidance guidance;
  TokenLists biased;
  const float *biases = nullptr;
  TokenLists bias_contexts;  // by entry of `biased`; none: no context
  const float *dense_bias = nullptr;
  bool dense_bias_by_slot = false;
  int64_t dense_bias_stride = 0;
  TokenLists allowed, banned, stop, unpenalized;
  TokenLists bad_words;
  const int64_t *bad_word_offsets = nullptr;  // null: all words apply to every slot
  TokenLists dry_breakers;
  const uint32_t *bitmasks = nullptr;
  int64_t num_bitmasks = 0;
  int64_t bitmask_stride = 0;
  const int32_t *bitmask_indices = nullptr;
  BitmaskRule bitmask_rule = BitmaskRule::kLeaves;

  SAMPLER_HD EditNumbers numbers(int64_t slot) const {
    return {
        guidance.scale[slot],
        {repetition_penalty[slot], frequency_penalty[slot], presence_penalty[slot], penalty_form},
        penalty_window[slot],
        {decay_start[slot], decay_factor[slot]},
        dry_rules(dry_multiplier[slot], dry_base[slot], dry_allowed_length[slot]),
        dry_window[slot],
        no_repeat_ngram_size[slot],
        min_new_tokens[slot]};
  }

  SAMPLER_HD WindowNumbers window_numbers(int64_t slot) const {
    return window_numbers(slot, values(slot));
  }
  // With other adaptive values.
  SAMPLER_HD WindowNumbers window_numbers(int64_t slot, const AdaptiveValues &values) const {
    constexpr float kDefaultThreshold = 0.1f;
    const float exponent = dynamic_exponent[slot], threshold = xtc_threshold[slot];
    const AdaptiveRules rules = adaptive.of(slot);
    return {dynamic_range[slot],
            exponent == 0.0f ? 1.0f : exponent,
            typical_p[slot],
            top_n_sigma[slot],
            epsilon[slot],
            eta[slot],
            top_h[slot],
            p_less[slot],
            min_k[slot],
            top_a[slot],
            xtc_probability[slot],
            threshold == 0.0f ? kDefaultThreshold : threshold,
            min_keep[slot],
            rules.is_mirostat() ? rules.kind : sampler_adaptive_kind(SAMPLER_ADAPTIVE_NONE),
            begun_mu(values, rules)};
  }

  // The slot's adaptive values.
  SAMPLER_HD AdaptiveValues values(int64_t slot) const {
    if (state_slots) return state_slots[slot].values();
    if (!adaptive_values) return {};
    const float *const own = adaptive_values + slot * SAMPLER_NUM_ADAPTIVE_VALUES;
    return {own[0], {own[1], own[2]}, own[3]};
  }

  // The row's parameters, with the running top_p if top-p decays.
  SAMPLER_HD RowParameters adapted(const RowParameters &parameters, int64_t slot) const {
    return adapted(parameters, slot, values(slot));
  }
  SAMPLER_HD RowParameters adapted(RowParameters parameters, int64_t slot,
                                   const AdaptiveValues &values) const {
    const AdaptiveRules rules = adaptive.of(slot);
    if (rules.decays()) parameters.top_p = begun_top_p(values, rules);
    return parameters;
  }

  // The token that an output row yields whatever its draw; negative: none. No row has an element of
  // the id that stands for a negative scored token.
  SAMPLER_HD int64_t forced_token(int64_t slot, int64_t output) const {
    if (scored_token_ids) {
      const int64_t id = load_id(scored_token_ids, scored_id_type, output);
      return id < 0 ? kMaxVocabulary : id;
    }
    return forced_token_ids ? forced_token_ids[slot] : -1;
  }

  // Whether rows may have lists of the only tokens that they may yield.
  SAMPLER_HD bool may_list_allowed() const { return kept || allowed; }

  // An output row's list of the only tokens that it may yield. `*has_list`: whether there is one.
  // False if its offsets are invalid.
  SAMPLER_HD bool find_allowed(int64_t slot, int64_t output, TokenList *list,
                               bool *has_list) const {
    *has_list = bool(kept);
    if (kept) return kept.find(output, list);
    if (!allowed) return true;
    if (!allowed.find_by_slot(slot, list)) return false;
    *has_list = list->count > 0;
    return true;
  }

  SAMPLER_HD bool has_valid_numbers(int64_t slot, sampler_input_kind kind) const {
    return numbers(slot).are_valid() && window_numbers(slot).are_valid(kind) &&
           adaptive.of(slot).are_valid() && are_valid_values(values(slot));
  }

  SAMPLER_HD bool may_decay() const {
    return decay_factor.array || exponential_decay_is_on(decay_factor.value);
  }

  // Whether DRY or n-gram bans may be on, which need memory for repeat lengths.
  SAMPLER_HD bool seeks_repeats() const {
    return dry_multiplier.array || dry_multiplier.value > 0.0f || no_repeat_ngram_size.array ||
           no_repeat_ngram_size.value > 0;
  }

  // Whether the sequences' tokens are known.
  SAMPLER_HD bool has_text() const { return state_slots || history; }

  SAMPLER_HD bool has_edits() const { return edits.count > 0; }

  // Whether the stages may change the input row before the draw.
  SAMPLER_HD bool changes_rows() const { return has_edits() || has_windows; }

  // Whether a stage may be on; else only the slots' numbers are checked.
  SAMPLER_HD bool is_on() const {
    return changes_rows() || forced_token_ids || adaptive_values || adaptive.may_decay();
  }
};

// A slot's history, oldest token first.
struct SlotHistory {
  TokenList tokens;
  int64_t prompt_length = 0;
};

// Reads a slot's history; returns a row status.
SAMPLER_HD inline uint32_t read_text(const Pipeline &pipeline, int64_t slot, SlotHistory *text) {
  *text = {};
  if (pipeline.state_slots) {
    const StateSlot sequence = pipeline.state_slots[slot];
    if (sequence.length() > pipeline.max_history) return SAMPLER_ROW_INVALID_LIST;
    *text = {{sequence.tokens(), SAMPLER_ID_I32, 0, sequence.length()}, sequence.prompt_length()};
    return SAMPLER_ROW_OK;
  }
  if (!pipeline.history) return SAMPLER_ROW_OK;
  TokenList history;
  if (!pipeline.history.find_by_slot(slot, &history) || history.count > pipeline.max_history) {
    return SAMPLER_ROW_INVALID_LIST;
  }
  const int64_t prompt_length = pipeline.prompt_lengths ? pipeline.prompt_lengths[slot] : 0;
  if (prompt_length < 0 || prompt_length > history.count) return SAMPLER_ROW_INVALID_LIST;
  *text = {history, prompt_length};
  return SAMPLER_ROW_OK;
}

}  // namespace sampler::contract
