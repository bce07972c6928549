#include "capi/stage_order.h"

#include <algorithm>
#include <cstdint>

#include "contract/reports.h"

namespace sampler::capi {

namespace {
constexpr int kNumStages = contract::kNumStages + 1;  // from 0 on
}  // namespace

bool lists_stages(const sampler_params &params) {
  return std::any_of(params.stages, params.stages + SAMPLER_MAX_STAGES,
                     [](sampler_stage stage) { return stage != 0; });
}

namespace {

class StageSet {
 public:
  void add(sampler_stage stage) { bits_ |= uint32_t(1) << stage; }
  void add_if(bool is_one, sampler_stage stage) { bits_ |= uint32_t(is_one) << stage; }
  bool has(sampler_stage stage) const { return (bits_ >> stage & 1u) != 0; }
  bool has_all_of(const StageSet &others) const { return (others.bits_ & ~bits_) == 0; }

 private:
  static_assert(kNumStages <= 32, "a bit for each");
  uint32_t bits_ = 0;
};

// Which stages may be on.
StageSet stages_on(const UserParameters &user, const contract::Pipeline &lists) {
  StageSet on;
  for (const contract::ParameterInfo &parameter : contract::kParameters) {
    on.add_if(parameter.stage && may_turn_on(parameter, user), parameter.stage);
  }
  on.add_if(lists.biased || lists.dense_bias, SAMPLER_STAGE_BIAS);
  // The exponential decay needs stop tokens without a ban of them.
  const bool bans_stop = lists.stop && !lists.may_decay();
  on.add_if(lists.allowed || lists.banned || bans_stop || lists.bad_words || lists.bitmasks,
            SAMPLER_STAGE_MASK);
  return on;
}

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
  order.add(SAMPLER_STAGE_ADAPTIVE);
  return order;
}

contract::StageOrder listed_order(Check &check, const sampler_params &params, StageSet *listed) {
  contract::StageOrder order;
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
    } else if (listed->has(stage)) {
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
                 "params->stages has SAMPLER_STAGE_%s twice; it must have each stage once",
                 sampler_stage_name(stage));
    } else if (listed->has(SAMPLER_STAGE_ADAPTIVE)) {
      check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
                 "params->stages has SAMPLER_STAGE_%s after SAMPLER_STAGE_ADAPTIVE; ADAPTIVE must "
                 "be the last",
                 sampler_stage_name(stage));
    } else if (contract::is_edit(stage) && order.count > 0 &&
               !contract::is_edit(order.stages[order.count - 1])) {
      check.fail(
          SAMPLER_ERROR_INVALID_ARGUMENT,
          "params->stages has SAMPLER_STAGE_%s after SAMPLER_STAGE_%s; edits must come first",
          sampler_stage_name(stage), sampler_stage_name(order.stages[order.count - 1]));
    } else {
      listed->add(stage);
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

void check_all_listed(Check &check, const StageSet &on, const StageSet &listed) {
  if (listed.has_all_of(on)) return;
  for (sampler_stage stage = 1; stage < kNumStages; ++stage) {
    if (!on.has(stage) || listed.has(stage)) continue;
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "SAMPLER_STAGE_%s is on and params->stages does not list it",
               sampler_stage_name(stage));
  }
}

bool are_equal(const contract::StageOrder &a, const contract::StageOrder &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

// Those of an order that may be on, but for edits.
contract::StageOrder windows_of(const contract::StageOrder &order, const StageSet &on) {
  contract::StageOrder result;
  for (const sampler_stage stage : order) {
    if (on.has(stage) && !contract::is_edit(stage)) result.add(stage);
  }
  return result;
}

// Whether rules without a list of stages say this order of temperature and filters; they do then.
// `is_listed`: not all of it is what they say already.
bool find_rules(const contract::StageOrder &order, bool is_listed, const StageSet &on,
                contract::FilterRules *rules) {
  for (const sampler_stage stage : order) {
    if (stage != SAMPLER_STAGE_TEMPERATURE && !contract::is_filter(stage)) return false;
  }
  const bool is_joint = rules->order == SAMPLER_FILTERS_JOINT;
  const bool is_first = rules->order == SAMPLER_FILTERS_SEQUENTIAL &&
                        rules->temperature_order == SAMPLER_TEMPERATURE_FIRST;
  if (is_first && !is_listed) return true;  // it is what is tried first
  for (const sampler_filter_order filters :
       {SAMPLER_FILTERS_SEQUENTIAL, SAMPLER_FILTERS_MIN_P_FIRST}) {
    for (const sampler_temperature_order temperature :
         {SAMPLER_TEMPERATURE_FIRST, SAMPLER_TEMPERATURE_LAST}) {
      contract::FilterRules found = *rules;
      found.order = filters;
      found.temperature_order = temperature;
      // JOINT has no order: any of its filters may stand anywhere among them.
      contract::StageOrder usual = windows_of(contract::order_of(found), on), asked = order;
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

}  // namespace

void read_order(Check &check, const UserParameters &user, contract::FilterRules *rules,
                contract::Pipeline *out) {
  const StageSet on = stages_on(user, *out);
  StageSet listed;
  const bool is_listed = lists_stages(user.params);
  const contract::StageOrder order =
      is_listed ? listed_order(check, user.params, &listed) : usual_order(*rules);
  if (!check.ok()) return;
  if (is_listed) check_all_listed(check, on, listed);
  if (rules->order == SAMPLER_FILTERS_JOINT) check_joint(check, order);
  for (const sampler_stage stage : order) {
    if (on.has(stage) && contract::is_edit(stage)) out->edits.add(stage);
  }
  out->windows = windows_of(order, on);
  const bool may_keep_more = out->min_keep.array || out->min_keep.value > 1;
  const bool is_dynamic = out->dynamic_range.array || out->dynamic_range.value > 0.0f;
  out->has_windows = may_keep_more || is_dynamic || !find_rules(out->windows, is_listed, on, rules);
}

}  // namespace sampler::capi

extern "C" const char *sampler_stage_name(sampler_stage stage) {
  constexpr const char *names[sampler::capi::kNumStages] = {
      nullptr,     "BIAS",        "MASK",    "PENALTIES", "DRY",   "NO_REPEAT_NGRAM", "TEMPERATURE",
      "TYPICAL_P", "TOP_N_SIGMA", "EPSILON", "ETA",       "TOP_H", "P_LESS",          "MIN_K",
      "TOP_A",     "XTC",         "TOP_K",   "TOP_P",     "MIN_P", "ADAPTIVE"};
  return stage > 0 && stage < sampler::capi::kNumStages ? names[stage] : nullptr;
}
