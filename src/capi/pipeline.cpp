#include "capi/pipeline.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "contract/windows.h"

namespace sampler::capi {

namespace {

// A number that turns a stage on, alone or by slot.
struct Switch {
  const char *name;
  double value;
  bool is_on;
  const void *array;
  sampler_stage stage;
  bool needs_history;

  bool may_be_on() const { return is_on || array; }
};

constexpr int kNumSwitches = 14;

struct Switches {
  explicit Switches(const UserParameters &user) {
    const sampler_params &params = user.params;
    const sampler_row_params &arrays = user.arrays;
    constexpr bool kReadsHistory = true;
    const auto add = [&](const char *name, auto value, bool is_on, const void *array,
                         sampler_stage stage, bool needs_history = false) {
      all[count++] = {name, double(value), is_on, array, stage, needs_history};
    };
    add("repetition_penalty", params.repetition_penalty,
        params.repetition_penalty != 0.0f && params.repetition_penalty != 1.0f,
        arrays.repetition_penalty, SAMPLER_STAGE_PENALTIES, kReadsHistory);
    add("frequency_penalty", params.frequency_penalty, params.frequency_penalty != 0.0f,
        arrays.frequency_penalty, SAMPLER_STAGE_PENALTIES, kReadsHistory);
    add("presence_penalty", params.presence_penalty, params.presence_penalty != 0.0f,
        arrays.presence_penalty, SAMPLER_STAGE_PENALTIES, kReadsHistory);
    add("dry_multiplier", params.dry_multiplier, params.dry_multiplier > 0.0f,
        arrays.dry_multiplier, SAMPLER_STAGE_DRY, kReadsHistory);
    add("no_repeat_ngram_size", params.no_repeat_ngram_size, params.no_repeat_ngram_size > 0,
        arrays.no_repeat_ngram_size, SAMPLER_STAGE_NO_REPEAT_NGRAM, kReadsHistory);
    add("min_new_tokens", params.min_new_tokens, params.min_new_tokens > 0, arrays.min_new_tokens,
        SAMPLER_STAGE_MASK, kReadsHistory);
    add("dynamic_temperature_range", params.dynamic_temperature_range,
        params.dynamic_temperature_range > 0.0f, arrays.dynamic_temperature_range,
        SAMPLER_STAGE_TEMPERATURE);
    add("typical_p", params.typical_p, contract::fraction_is_on(params.typical_p), arrays.typical_p,
        SAMPLER_STAGE_TYPICAL_P);
    add("top_n_sigma", params.top_n_sigma, contract::top_n_sigma_is_on(params.top_n_sigma),
        arrays.top_n_sigma, SAMPLER_STAGE_TOP_N_SIGMA);
    add("epsilon_cutoff", params.epsilon_cutoff, contract::fraction_is_on(params.epsilon_cutoff),
        arrays.epsilon_cutoff, SAMPLER_STAGE_EPSILON);
    add("eta_cutoff", params.eta_cutoff, contract::fraction_is_on(params.eta_cutoff),
        arrays.eta_cutoff, SAMPLER_STAGE_ETA);
    add("top_h", params.top_h, contract::fraction_is_on(params.top_h), arrays.top_h,
        SAMPLER_STAGE_TOP_H);
    add("xtc_probability", params.xtc_probability, params.xtc_probability > 0.0f,
        arrays.xtc_probability, SAMPLER_STAGE_XTC);
    add("min_keep", params.min_keep, params.min_keep > 1, arrays.min_keep, 0);
  }

  const Switch *begin() const { return all; }
  const Switch *end() const { return all + count; }

  Switch all[kNumSwitches];
  int count = 0;
};

// A number that is on, or given by slot, is refused: `rule` says why.
void refuse(Check &check, const Switch &number, const char *rule) {
  if (number.array) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "row_params->%s is set; %s", number.name, rule);
  } else if (number.is_on) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "params->%s is %.9g; %s", number.name, number.value,
               rule);
  }
}

// A float that is finite and at least `low`.
void check_penalty(Check &check, const char *name, float value, float low) {
  if (value >= low && contract::is_finite(value)) return;
  check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is %.9g; it must be finite%s", name, double(value),
             low == 0.0f ? " and not negative" : "");
}

void read_numbers(Check &check, const UserParameters &user, int64_t num_slots,
                  contract::Pipeline *out) {
  const sampler_params &params = user.params;
  const sampler_row_params &arrays = user.arrays;
  const float any = -contract::kLargestFloat;
  if (!arrays.repetition_penalty)
    check_penalty(check, "params->repetition_penalty", params.repetition_penalty, 0.0f);
  if (!arrays.frequency_penalty)
    check_penalty(check, "params->frequency_penalty", params.frequency_penalty, any);
  if (!arrays.presence_penalty)
    check_penalty(check, "params->presence_penalty", params.presence_penalty, any);
  const auto numbers = [&](const char *name, auto value, const auto *array, auto *per_slot) {
    *per_slot = read_per_slot(check, name, value, array, num_slots);
  };
  // The name in row_params, which begins by 4 letters more.
  const auto floats = [&](const char *name, float value, const float *array, auto *per_slot) {
    constexpr size_t kRow = sizeof "row_" - 1;
    if (!array) check.not_nan(name + kRow, value);
    numbers(name, value, array, per_slot);
  };
  numbers("row_params->repetition_penalty", params.repetition_penalty, arrays.repetition_penalty,
          &out->repetition_penalty);
  numbers("row_params->frequency_penalty", params.frequency_penalty, arrays.frequency_penalty,
          &out->frequency_penalty);
  numbers("row_params->presence_penalty", params.presence_penalty, arrays.presence_penalty,
          &out->presence_penalty);
  numbers("row_params->penalty_window", params.penalty_window, arrays.penalty_window,
          &out->penalty_window);
  floats("row_params->dry_multiplier", params.dry_multiplier, arrays.dry_multiplier,
         &out->dry_multiplier);
  floats("row_params->dry_base", params.dry_base, arrays.dry_base, &out->dry_base);
  numbers("row_params->dry_allowed_length", params.dry_allowed_length, arrays.dry_allowed_length,
          &out->dry_allowed_length);
  numbers("row_params->dry_window", params.dry_window, arrays.dry_window, &out->dry_window);
  numbers("row_params->no_repeat_ngram_size", params.no_repeat_ngram_size,
          arrays.no_repeat_ngram_size, &out->no_repeat_ngram_size);
  numbers("row_params->min_new_tokens", params.min_new_tokens, arrays.min_new_tokens,
          &out->min_new_tokens);
  floats("row_params->dynamic_temperature_range", params.dynamic_temperature_range,
         arrays.dynamic_temperature_range, &out->dynamic_range);
  floats("row_params->dynamic_temperature_exponent", params.dynamic_temperature_exponent,
         arrays.dynamic_temperature_exponent, &out->dynamic_exponent);
  floats("row_params->typical_p", params.typical_p, arrays.typical_p, &out->typical_p);
  floats("row_params->top_n_sigma", params.top_n_sigma, arrays.top_n_sigma, &out->top_n_sigma);
  floats("row_params->epsilon_cutoff", params.epsilon_cutoff, arrays.epsilon_cutoff, &out->epsilon);
  floats("row_params->eta_cutoff", params.eta_cutoff, arrays.eta_cutoff, &out->eta);
  floats("row_params->top_h", params.top_h, arrays.top_h, &out->top_h);
  floats("row_params->xtc_probability", params.xtc_probability, arrays.xtc_probability,
         &out->xtc_probability);
  floats("row_params->xtc_threshold", params.xtc_threshold, arrays.xtc_threshold,
         &out->xtc_threshold);
  numbers("row_params->min_keep", params.min_keep, arrays.min_keep, &out->min_keep);
  out->typical_p_ties = check.enumeration("params->typical_p_ties", params.typical_p_ties, 2);
  check.parameters("row_params->forced_token_id", arrays.forced_token_id, sizeof(int64_t),
                   num_slots);
  out->forced_token_ids = arrays.forced_token_id;
  out->penalty_scope = check.enumeration("params->penalty_scope", params.penalty_scope, 3);
  out->penalty_form =
      contract::PenaltyForm(check.enumeration("params->penalty_form", params.penalty_form, 3));
  out->bad_words_end_output = check.enumeration("params->bad_word_scope", params.bad_word_scope,
                                                3) == SAMPLER_PENALTY_SCOPE_OUTPUT;
}

constexpr int64_t kAnyNumber = -1;

// `num_slots`: of lists by slot; kAnyNumber: of others.
contract::TokenLists read_lists(Check &check, const char *name, const sampler_token_lists &lists,
                                sampler_id_type type, int64_t num_slots) {
  if (!lists.offsets) {
    check.zero(Name(name, "num_lists"), lists.num_lists);
    check.zero(Name(name, "num_token_ids"), lists.num_token_ids);
    return {};
  }
  check.range(Name(name, "num_lists"), lists.num_lists, 0, kMaxRows);
  if (num_slots != kAnyNumber && lists.num_lists != 1 && lists.num_lists != num_slots) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "%s.num_lists is %" PRId64 "; it must be 1 or the number of slots, %" PRId64, name,
               lists.num_lists, num_slots);
  }
  check.range(Name(name, "num_token_ids"), lists.num_token_ids, 0, INT64_MAX);
  if (!check.ok()) return {};
  check.array(Name(name, "offsets"), lists.offsets, sizeof(int64_t), lists.num_lists + 1,
              Access::kRead);
  check.array(Name(name, "token_ids"), lists.token_ids, contract::size_of_id(type),
              lists.num_token_ids, Access::kRead, Need::kRequired);
  return {lists.offsets, lists.token_ids, type, lists.num_lists, lists.num_token_ids};
}

void needs_lists(Check &check, bool has_them, const char *name, const char *lists) {
  if (has_them) return;
  check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "%s is set; it needs pipeline->%s", name, lists);
}

void read_history(Check &check, const sampler_pipeline &user, int64_t num_slots,
                  contract::Pipeline *out) {
  out->history =
      read_lists(check, "pipeline->history", user.history, user.token_id_type, num_slots);
  if (!out->history && user.prompt_lengths)
    needs_lists(check, false, "pipeline->prompt_lengths", "history");
  check.range("pipeline->max_history_tokens", user.max_history_tokens, 0, kMaxRows);
  out->prompt_lengths = user.prompt_lengths;
  check.array("pipeline->prompt_lengths", user.prompt_lengths, sizeof(int32_t), num_slots,
              Access::kRead);
  const int64_t all = std::min(user.history.num_token_ids, kMaxRows - 1);
  out->max_history = user.max_history_tokens == 0 ? all : user.max_history_tokens;
}

void read_biases(Check &check, const sampler_pipeline &user, const contract::Rows &input,
                 int64_t num_slots, contract::Pipeline *out) {
  out->biased = read_lists(check, "pipeline->biased", user.biased, user.token_id_type, num_slots);
  if (!out->biased && user.biases) needs_lists(check, false, "pipeline->biases", "biased");
  if (out->biased) {
    check.array("pipeline->biases", user.biases, sizeof(float), user.biased.num_token_ids,
                Access::kRead, Need::kRequired);
  }
  out->biases = user.biases;
  if (!user.dense_bias) {
    check.zero("pipeline->num_dense_biases", user.num_dense_biases);
    check.zero("pipeline->dense_bias_stride", user.dense_bias_stride);
    return;
  }
  if (user.num_dense_biases != 1 && user.num_dense_biases != num_slots) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "pipeline->num_dense_biases is %" PRId64
               "; it must be 1 or the number of slots, %" PRId64,
               user.num_dense_biases, num_slots);
  }
  check.range("pipeline->dense_bias_stride", user.dense_bias_stride, input.ids ? 1 : 0, kMaxRows);
  out->dense_bias = user.dense_bias;
  out->dense_bias_by_slot = user.num_dense_biases != 1;
  out->dense_bias_stride = user.dense_bias_stride ? user.dense_bias_stride : input.num_cols;
  check.array("pipeline->dense_bias", user.dense_bias, sizeof(float), user.num_dense_biases,
              out->dense_bias_stride, out->dense_bias_stride, Access::kRead);
}

void read_bans(Check &check, const sampler_pipeline &user, int64_t num_slots,
               contract::Pipeline *out) {
  const sampler_id_type type = user.token_id_type;
  out->allowed = read_lists(check, "pipeline->allowed", user.allowed, type, num_slots);
  out->banned = read_lists(check, "pipeline->banned", user.banned, type, num_slots);
  out->stop = read_lists(check, "pipeline->stop", user.stop, type, num_slots);
  out->bad_words = read_lists(check, "pipeline->bad_words", user.bad_words, type, kAnyNumber);
  if (!out->bad_words && user.bad_word_offsets)
    needs_lists(check, false, "pipeline->bad_word_offsets", "bad_words");
  out->bad_word_offsets = user.bad_word_offsets;
  check.array("pipeline->bad_word_offsets", user.bad_word_offsets, sizeof(int64_t), num_slots + 1,
              Access::kRead);
  out->dry_breakers =
      read_lists(check, "pipeline->dry_breakers", user.dry_breakers, type, kAnyNumber);
}

void read_bitmasks(Check &check, const sampler_pipeline &user, const contract::Rows &input,
                   int64_t num_rows, contract::Pipeline *out) {
  out->bitmask_rule = check.enumeration("pipeline->token_bitmask_rule", user.token_bitmask_rule,
                                        2) == SAMPLER_MASK_FORBIDS
                          ? contract::BitmaskRule::kForbids
                          : contract::BitmaskRule::kLeaves;
  if (!user.token_bitmasks) {
    check.zero("pipeline->num_token_bitmasks", user.num_token_bitmasks);
    check.zero("pipeline->token_bitmask_stride", user.token_bitmask_stride);
    if (user.token_bitmask_indices)
      needs_lists(check, false, "pipeline->token_bitmask_indices", "token_bitmasks");
    return;
  }
  check.range("pipeline->num_token_bitmasks", user.num_token_bitmasks,
              user.token_bitmask_indices ? 0 : num_rows, kMaxRows);
  check.range("pipeline->token_bitmask_stride", user.token_bitmask_stride, input.ids ? 1 : 0,
              kMaxRows);
  out->bitmasks = user.token_bitmasks;
  out->num_bitmasks = user.num_token_bitmasks;
  out->bitmask_stride =
      user.token_bitmask_stride ? user.token_bitmask_stride : (input.num_cols + 31) / 32;
  out->bitmask_indices = user.token_bitmask_indices;
  check.array("pipeline->token_bitmasks", user.token_bitmasks, sizeof(uint32_t),
              user.num_token_bitmasks, out->bitmask_stride, out->bitmask_stride, Access::kRead);
  check.array("pipeline->token_bitmask_indices", user.token_bitmask_indices, sizeof(int32_t),
              num_rows, Access::kRead);
}

// Nothing that is asked for is dropped for want of a list, or of a draw.
void check_needs(Check &check, const Switches &switches, const contract::Pipeline &out,
                 sampler_input_kind kind, Draws draws) {
  for (const Switch &number : switches) {
    if (number.needs_history && !out.history) refuse(check, number, "it needs pipeline->history");
    if (number.stage == SAMPLER_STAGE_XTC && draws == Draws::kNo)
      refuse(check, number, "sampler_filter draws no coin");
    if (number.stage == SAMPLER_STAGE_TEMPERATURE && kind == SAMPLER_PROBABILITIES && !number.array)
      refuse(check, number, "it needs SAMPLER_LOGITS");
  }
  if (out.bad_words && !out.history) needs_lists(check, false, "pipeline->bad_words", "history");
  const bool has_minimum = out.min_new_tokens.array || out.min_new_tokens.value > 0;
  if (has_minimum && !out.stop) needs_lists(check, false, "min_new_tokens", "stop");
}

// ---- The order of the stages

constexpr int kNumStages = SAMPLER_STAGE_MIN_P + 1;

// Which stages may be on.
struct StageSet {
  bool has[kNumStages] = {};

  StageSet(const Switches &switches, const UserParameters &user, const contract::Pipeline &lists) {
    const sampler_params &params = user.params;
    const sampler_row_params &arrays = user.arrays;
    for (const Switch &number : switches) {
      if (number.stage && number.may_be_on()) has[number.stage] = true;
    }
    if (lists.biased || lists.dense_bias) has[SAMPLER_STAGE_BIAS] = true;
    if (lists.allowed || lists.banned || lists.stop || lists.bad_words || lists.bitmasks)
      has[SAMPLER_STAGE_MASK] = true;
    if (params.temperature != 1.0f || arrays.temperature) has[SAMPLER_STAGE_TEMPERATURE] = true;
    if (contract::top_k_is_on(params.top_k) || arrays.top_k) has[SAMPLER_STAGE_TOP_K] = true;
    if (contract::top_p_is_on(params.top_p) || arrays.top_p) has[SAMPLER_STAGE_TOP_P] = true;
    if (contract::min_p_is_on(params.min_p) || arrays.min_p) has[SAMPLER_STAGE_MIN_P] = true;
  }
};

// The three filters in an order that has no list, and the temperature before or after them.
void add_filters(const contract::FilterRules &rules, contract::StageOrder *order) {
  if (rules.order == SAMPLER_FILTERS_MIN_P_FIRST) order->add(SAMPLER_STAGE_MIN_P);
  order->add(SAMPLER_STAGE_TOP_K);
  order->add(SAMPLER_STAGE_TOP_P);
  if (rules.order != SAMPLER_FILTERS_MIN_P_FIRST) order->add(SAMPLER_STAGE_MIN_P);
}

// That of sampler_stage, but for what the rules say.
contract::StageOrder usual_order(const contract::FilterRules &rules) {
  contract::StageOrder order;
  const bool is_last = rules.temperature_order == SAMPLER_TEMPERATURE_LAST;
  for (sampler_stage stage = SAMPLER_STAGE_BIAS; stage < SAMPLER_STAGE_TOP_K; ++stage) {
    if (stage != SAMPLER_STAGE_TEMPERATURE || !is_last) order.add(stage);
  }
  add_filters(rules, &order);
  if (is_last) order.add(SAMPLER_STAGE_TEMPERATURE);
  return order;
}

const char *name_of(sampler_stage stage) {
  constexpr const char *names[kNumStages] = {"",
                                             "BIAS",
                                             "MASK",
                                             "PENALTIES",
                                             "DRY",
                                             "NO_REPEAT_NGRAM",
                                             "TEMPERATURE",
                                             "TYPICAL_P",
                                             "TOP_N_SIGMA",
                                             "EPSILON",
                                             "ETA",
                                             "TOP_H",
                                             "XTC",
                                             "TOP_K",
                                             "TOP_P",
                                             "MIN_P"};
  return names[stage];
}

contract::StageOrder listed_order(Check &check, const sampler_params &params) {
  contract::StageOrder order;
  bool is_listed[kNumStages] = {};
  bool has_ended = false;
  for (int i = 0; i < SAMPLER_MAX_STAGES && check.ok(); ++i) {
    const sampler_stage stage = params.stages[i];
    if (stage < 0 || stage >= kNumStages) {
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
                 "params->stages[%d] is %d; it must be a SAMPLER_STAGE_ constant, 1 to %d, or 0", i,
                 int(stage), kNumStages - 1);
    } else if (stage == 0) {
      has_ended = true;
    } else if (has_ended) {
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
                 "params->stages[%d] is %d; it must be 0, after the 0 that ends the list", i,
                 int(stage));
    } else if (is_listed[stage]) {
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
                 "params->stages has SAMPLER_STAGE_%s twice; it must have each stage once",
                 name_of(stage));
    } else if (contract::is_edit(stage) && order.count > 0 &&
               !contract::is_edit(order.stages[order.count - 1])) {
      check.fail(
          SAMPLER_ERROR_INVALID_ARGUMENT,
          "params->stages has SAMPLER_STAGE_%s after SAMPLER_STAGE_%s; edits must come first",
          name_of(stage), name_of(order.stages[order.count - 1]));
    } else {
      is_listed[stage] = true;
      order.add(stage);
    }
  }
  if (params.filter_order == SAMPLER_FILTERS_MIN_P_FIRST ||
      params.temperature_order != SAMPLER_TEMPERATURE_FIRST) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "params->stages lists the order and params->%s is another; it must be 0",
               params.temperature_order ? "temperature_order" : "filter_order");
  }
  return order;
}

// With JOINT the filters stand side by side.
void check_joint(Check &check, const contract::StageOrder &order) {
  int num_runs = 0;
  bool before = false;
  for (const sampler_stage stage : order) {
    const bool is_filter = contract::is_filter(stage);
    if (is_filter && !before) ++num_runs;
    before = is_filter;
  }
  if (num_runs <= 1) return;
  check.fail(
      SAMPLER_ERROR_INVALID_ARGUMENT,
      "params->stages has another stage between TOP_K, TOP_P and MIN_P; they must stand side "
      "by side with SAMPLER_FILTERS_JOINT");
}

void check_all_listed(Check &check, const StageSet &on, const contract::StageOrder &order) {
  for (sampler_stage stage = 1; stage < kNumStages; ++stage) {
    if (!on.has[stage] || std::find(order.begin(), order.end(), stage) != order.end()) continue;
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "SAMPLER_STAGE_%s is on and params->stages does not list it", name_of(stage));
  }
}

bool are_equal(const contract::StageOrder &a, const contract::StageOrder &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

// Those of an order that may be on, but for edits.
contract::StageOrder windows_of(const contract::StageOrder &order, const StageSet &on) {
  contract::StageOrder result;
  for (const sampler_stage stage : order) {
    if (on.has[stage] && !contract::is_edit(stage)) result.add(stage);
  }
  return result;
}

// Whether rules without a list of stages say this order of temperature and filters; they do then.
bool find_rules(const contract::StageOrder &order, const StageSet &on,
                contract::FilterRules *rules) {
  for (const sampler_stage stage : order) {
    if (stage != SAMPLER_STAGE_TEMPERATURE && !contract::is_filter(stage)) return false;
  }
  const bool is_joint = rules->order == SAMPLER_FILTERS_JOINT;
  for (const sampler_filter_order filters :
       {SAMPLER_FILTERS_SEQUENTIAL, SAMPLER_FILTERS_MIN_P_FIRST}) {
    for (const sampler_temperature_order temperature :
         {SAMPLER_TEMPERATURE_FIRST, SAMPLER_TEMPERATURE_LAST}) {
      contract::FilterRules found = *rules;
      found.order = filters;
      found.temperature_order = temperature;
      // JOINT has no order: any of its filters may stand anywhere among them.
      contract::StageOrder usual = windows_of(usual_order(found), on), asked = order;
      if (is_joint) {
        const auto not_temperature = [](sampler_stage stage) { return contract::is_filter(stage); };
        for (contract::StageOrder *one : {&usual, &asked}) {
          sampler_stage *const first =
              std::find_if(one->stages, one->stages + one->count, not_temperature);
          sampler_stage *const last =
              std::find_if_not(first, one->stages + one->count, not_temperature);
          std::sort(first, last);
        }
        found.order = SAMPLER_FILTERS_JOINT;
      }
      if (!are_equal(usual, asked)) continue;
      *rules = found;
      return true;
    }
  }
  return false;
}

void read_order(Check &check, const Switches &switches, const UserParameters &user,
                contract::FilterRules *rules, contract::Pipeline *out) {
  const StageSet on(switches, user, *out);
  const bool is_listed = user.params.stages[0] != 0;
  const contract::StageOrder order =
      is_listed ? listed_order(check, user.params) : usual_order(*rules);
  if (!check.ok()) return;
  if (is_listed) check_all_listed(check, on, order);
  if (rules->order == SAMPLER_FILTERS_JOINT) check_joint(check, order);
  for (const sampler_stage stage : order) {
    if (on.has[stage] && contract::is_edit(stage)) out->edits.add(stage);
  }
  out->windows = windows_of(order, on);
  const bool may_keep_more = out->min_keep.array || out->min_keep.value > 1;
  const bool is_dynamic = out->dynamic_range.array || out->dynamic_range.value > 0.0f;
  out->has_windows = may_keep_more || is_dynamic || !find_rules(out->windows, on, rules);
}

}  // namespace

const contract::Pipeline *read_pipeline(Check &check, const UserParameters &parameters,
                                        const sampler_pipeline *user, const contract::Rows &input,
                                        int64_t num_slots, int64_t num_rows, Draws draws,
                                        contract::FilterRules *rules, contract::Pipeline *storage) {
  sampler_pipeline pipeline = {};
  if (user) check.read("pipeline", user, &pipeline);
  if (!check.ok()) return nullptr;
  read_numbers(check, parameters, num_slots, storage);
  if (storage->forced_token_ids && draws == Draws::kNo) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "row_params->forced_token_id is set; sampler_filter draws no token");
  }
  check.enumeration("pipeline->token_id_type", pipeline.token_id_type, kNumIdTypes);
  if (!check.ok()) return nullptr;
  read_history(check, pipeline, num_slots, storage);
  read_biases(check, pipeline, input, num_slots, storage);
  read_bans(check, pipeline, num_slots, storage);
  read_bitmasks(check, pipeline, input, num_rows, storage);
  const Switches switches(parameters);
  check_needs(check, switches, *storage, input.kind, draws);
  if (!check.ok()) return nullptr;
  read_order(check, switches, parameters, rules, storage);
  if (storage->has_edits() && input.kind == SAMPLER_PROBABILITIES) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "pipeline has SAMPLER_STAGE_%s and input.kind is SAMPLER_PROBABILITIES; edits need "
               "SAMPLER_LOGITS",
               name_of(storage->edits.stages[0]));
  }
  const bool has_any = storage->has_edits() || storage->has_windows || storage->forced_token_ids;
  return has_any ? storage : nullptr;
}

void refuse_other_stages(Check &check, const UserParameters &parameters, const char *function) {
  char rule[80];
  std::snprintf(rule, sizeof rule, "it must be off: %s does not have that stage", function);
  for (const Switch &number : Switches(parameters)) refuse(check, number, rule);
  if (parameters.arrays.forced_token_id) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "row_params->forced_token_id is set; %s does not force tokens", function);
  }
  if (parameters.params.stages[0] != 0) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "params->stages lists an order; %s has that of filter_order and temperature_order",
               function);
  }
}

}  // namespace sampler::capi
