#include "explanation.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <type_traits>

#include "reason.h"
#include "stages.h"

namespace explain {

namespace {

void check(sampler_status status) {
  if (status != SAMPLER_OK) throw std::runtime_error(sampler_last_error());
}

struct Destroy {
  void operator()(sampler_t sampler) const { sampler_destroy(sampler); }
};
using Sampler = std::unique_ptr<std::remove_pointer_t<sampler_t>, Destroy>;

Sampler make_sampler() {
  const sampler_options options = sampler_options_default();
  sampler_t sampler = nullptr;
  check(sampler_create(&options, &sampler));
  return Sampler(sampler);
}

// Asks the library about one row.
class Asker {
 public:
  explicit Asker(const Question &question) : question_(question), sampler_(make_sampler()) {}

  std::size_t size() const { return question_.logits.size(); }

  // The row as edits leave it.
  std::vector<float> edited(const sampler_params &edits, const sampler_pipeline &lists) {
    std::vector<float> values(size());
    sampler_filter_args args = {};
    args.struct_size = sizeof args;
    args.input = rows();
    args.params = &edits;
    args.pipeline = &lists;
    args.output_kind = SAMPLER_OUTPUT_VALUES;
    args.output = values.data();
    std::size_t bytes = 0;
    check(sampler_filter_workspace_size(sampler_.get(), &args, &bytes));
    args.exec = workspace(bytes);
    check(sampler_filter(sampler_.get(), &args));
    return values;
  }

  // Draws the token, and reports the probabilities of all tokens.
  sampler_row_status draw(const sampler_params &params, sampler_logprob_kind kind,
                          std::vector<double> *probabilities, double *entropy, Explanation *out,
                          std::vector<std::uint8_t> *removed_by) {
    std::vector<std::int32_t> ids(size());
    std::iota(ids.begin(), ids.end(), 0);
    std::vector<float> logprobs(size());
    float entropy_in_nats = 0;
    sampler_row_status status = SAMPLER_ROW_OK;
    sampler_row_params row_params = {};
    row_params.struct_size = sizeof row_params;
    const std::int64_t forced_token_id = question_.forced_token_id;
    row_params.forced_token_id = &forced_token_id;
    sampler_sample_args args = {};
    args.struct_size = sizeof args;
    args.input = rows();
    args.params = &params;
    args.row_params = &row_params;
    args.pipeline = question_.pipeline;
    args.random.seed = question_.seed;
    args.random.offset = question_.offset;
    args.draw_method = question_.draw_method;
    args.out_token_ids = &out->drawn_id;
    args.out_row_status = &status;
    sampler_report_args reports = {};
    reports.struct_size = sizeof reports;
    reports.logprob_kind = kind;
    reports.out_kept_counts = &out->num_kept;
    reports.out_ranks = &out->drawn_rank;
    reports.out_observations = &out->observation;
    reports.num_chosen = std::int64_t(size());
    reports.chosen_token_ids = ids.data();
    reports.out_chosen_logprobs = logprobs.data();
    reports.out_entropies = &entropy_in_nats;
    if (removed_by) {
      removed_by->resize(size());
      reports.out_removed_by = removed_by->data();
    }
    args.reports = &reports;
    std::size_t bytes = 0;
    check(sampler_sample_workspace_size(sampler_.get(), &args, &bytes));
    args.exec = workspace(bytes);
    check(sampler_sample(sampler_.get(), &args));
    *entropy = double(entropy_in_nats);
    probabilities->clear();
    for (const float logprob : logprobs) {
      probabilities->push_back(std::isnan(logprob) ? 0.0 : std::exp(double(logprob)));
    }
    return status;
  }

 private:
  sampler_rows rows() const {
    sampler_rows rows = {};
    rows.values = question_.logits.data();
    rows.num_rows = 1;
    rows.num_cols = std::int64_t(size());
    return rows;
  }

  sampler_exec workspace(std::size_t bytes) {
    workspace_.resize(bytes);
    sampler_exec exec = {};
    exec.workspace = workspace_.data();
    exec.workspace_bytes = bytes;
    return exec;
  }

  const Question &question_;
  Sampler sampler_;
  std::vector<char> workspace_;
};

sampler_pipeline lists_of(const Question &question) {
  sampler_pipeline lists = {};
  lists.struct_size = sizeof lists;
  return question.pipeline ? *question.pipeline : lists;
}

// "biased (2), token_bitmasks (1900)": how many logits each list of a stage would change by itself.
std::string names_of_parts(sampler_stage stage, const Question &question, Asker *asker) {
  std::string text;
  for (const Part &part : parts_of(stage, lists_of(question))) {
    sampler_params params = question.params;
    turn_off_all_but_edits(&params);
    sampler_pipeline lists = part.lists;
    turn_off_other_edits(stage, &params, &lists);
    if (!lists.stop.offsets) params.min_new_tokens = 0;
    if (!lists.guidance_logits) params.guidance_scale = 0.0f;
    const std::vector<float> after = asker->edited(params, lists);
    std::int64_t count = 0;
    for (std::size_t i = 0; i < after.size(); ++i) {
      count += after[i] < question.logits[i] || after[i] > question.logits[i];
    }
    text +=
        (text.empty() ? "" : ", ") + std::string(part.name) + " (" + std::to_string(count) + ")";
  }
  return text;
}

bool is_adaptive_p(const Question &question) {
  return question.params.adaptive_kind == SAMPLER_ADAPTIVE_P &&
         question.params.adaptive_target >= 0.0f;
}

// Whether the last stage gives the tokens other weights.
bool reweighs(const Question &question) {
  return is_adaptive_p(question) || (question.params.adaptive_kind == SAMPLER_ADAPTIVE_SMOOTHING &&
                                     question.params.adaptive_target > 0.0f);
}

bool is_mirostat(const Question &question) {
  return question.params.adaptive_kind == SAMPLER_ADAPTIVE_MIROSTAT_V1 ||
         question.params.adaptive_kind == SAMPLER_ADAPTIVE_MIROSTAT_V2;
}

bool has_top_p_decay(const Question &question) {
  return question.params.top_p_decay > 0.0f && question.params.top_p_decay < 1.0f;
}

float decay_of(const sampler_params &params) {
  const float rate = params.adaptive_rate;
  return rate == 0.0f ? 0.9f : std::min(std::max(rate, 0.0f), 0.99f);
}

float first_top_p(const sampler_params &params) {
  return std::min(std::max(params.top_p, 0.0f), 1.0f);
}

// By section 14.2 of docs/contract.md, as are those after a token.
Values values_before(const Question &question) {
  const sampler_params &params = question.params;
  const float *const given = question.pipeline ? question.pipeline->adaptive_values : nullptr;
  Values values = {NAN, NAN, NAN, NAN};
  if (given) values = {given[0], given[1], given[2], given[3]};
  if (!is_mirostat(question)) {
    values.mu = NAN;
  } else if (std::isnan(values.mu)) {
    values.mu = 2 * (params.adaptive_target == 0.0f ? 5.0f : params.adaptive_target);
  }
  if (!is_adaptive_p(question)) {
    values.weighted_sum = values.total_weight = NAN;
  } else if (std::isnan(values.weighted_sum) || std::isnan(values.total_weight)) {
    const float rest = 1.0f - decay_of(params);
    values.weighted_sum = std::min(params.adaptive_target, 1.0f) / rest;
    values.total_weight = 1.0f / rest;
  }
  if (!has_top_p_decay(question)) {
    values.top_p = NAN;
  } else if (std::isnan(values.top_p)) {
    values.top_p = first_top_p(params);
  }
  return values;
}

Values values_after(const Question &question, const Explanation &explanation) {
  const sampler_params &params = question.params;
  Values values = explanation.values;
  if (explanation.status != SAMPLER_ROW_OK) return values;
  if (has_top_p_decay(question)) {
    values.top_p = explanation.drawn_id == question.top_p_reset_token_id
                       ? first_top_p(params)
                       : std::max(values.top_p * params.top_p_decay, params.top_p_least);
  }
  if (std::isnan(explanation.observation)) return values;
  if (is_mirostat(question)) {
    const float target = params.adaptive_target == 0.0f ? 5.0f : params.adaptive_target;
    const float rate = params.adaptive_rate == 0.0f ? 0.1f : std::max(params.adaptive_rate, 0.0f);
    const float step = rate * (explanation.observation - target);
    values.mu -= step;
  }
  if (is_adaptive_p(question)) {
    const float decay = decay_of(params);
    const float sum = decay * values.weighted_sum, total = decay * values.total_weight;
    values.weighted_sum = explanation.observation + sum;
    values.total_weight = 1.0f + total;
  }
  return values;
}

// The row after the last edit, and by stage how many logits each edit has changed.
std::vector<float> follow_edits(const Question &question, Asker *asker,
                                std::vector<std::int64_t> *num_changed) {
  sampler_params params = question.params;
  turn_off_all_but_edits(&params);
  sampler_pipeline lists = lists_of(question);
  std::vector<float> last = asker->edited(params, lists);
  std::vector<float> after = last;
  num_changed->assign(SAMPLER_MAX_STAGES + 1, 0);
  const std::vector<sampler_stage> order = order_of(question.params);
  for (auto stage = order.rbegin(); stage != order.rend(); ++stage) {
    if (!is_edit(*stage) || !is_on(*stage, params, lists)) continue;
    turn_off_edit(*stage, &params, &lists);
    const std::vector<float> before = asker->edited(params, lists);
    for (std::size_t i = 0; i < before.size(); ++i) {
      (*num_changed)[std::size_t(*stage)] += before[i] < after[i] || before[i] > after[i];
    }
    after = before;
  }
  return last;
}

// By more than the roundings of two log-probabilities in f32.
bool has_another_probability(const Token &token) {
  return std::abs(token.before - token.drawn_from) >
         4e-6 * std::max(token.before, token.drawn_from);
}

std::vector<Stage> summarise(const Question &question, const std::vector<Token> &tokens,
                             const std::vector<std::int64_t> &num_changed, Asker *asker) {
  std::vector<Stage> stages;
  const sampler_pipeline lists = lists_of(question);
  std::int64_t num_left = 0;
  for (const Token &token : tokens) num_left += token.removed_by != kWithoutProbability;
  const bool is_greedy = question.params.temperature <= 1e-5f;
  for (const sampler_stage stage : order_of(question.params)) {
    if (!is_on(stage, question.params, lists)) continue;
    if (is_greedy && !is_edit(stage) && stage != SAMPLER_STAGE_TEMPERATURE) continue;
    Stage row = {stage, names_of_parts(stage, question, asker), 0, 0, 0, 0.0};
    const std::string numbers = numbers_of(stage, question.params, lists);
    row.numbers += (row.numbers.empty() || numbers.empty() ? "" : ", ") + numbers;
    row.num_changed = num_changed[std::size_t(stage)];
    for (const Token &token : tokens) {
      row.num_changed += stage == SAMPLER_STAGE_ADAPTIVE && has_another_probability(token);
      if (token.removed_by != stage) continue;
      ++row.num_removed;
      row.removed += is_edit(stage) ? token.given : token.left;
    }
    num_left -= row.num_removed;
    row.num_left = num_left;
    stages.push_back(row);
  }
  return stages;
}

bool stands_before(const Token &a, const Token &b) {
  if (std::isnan(a.edited) || std::isnan(b.edited))
    return std::isnan(b.edited) > std::isnan(a.edited);
  return a.edited > b.edited;
}

}  // namespace

Explanation explain(const Question &question) {
  Asker asker(question);
  Explanation out = {};
  std::vector<double> given, left, before, drawn_from;
  std::vector<std::uint8_t> removed_by;
  double unused = 0;
  const sampler_params &params = question.params;
  asker.draw(params, SAMPLER_LOGPROB_RAW, &given, &out.entropy_given, &out, nullptr);
  asker.draw(params, SAMPLER_LOGPROB_EDITED, &left, &unused, &out, nullptr);
  out.is_reweighed = reweighs(question);
  if (out.is_reweighed) {
    sampler_params without = params;
    without.adaptive_kind = SAMPLER_ADAPTIVE_NONE;
    asker.draw(without, SAMPLER_LOGPROB_PROCESSED, &before, &unused, &out, nullptr);
  }
  out.status = asker.draw(params, SAMPLER_LOGPROB_PROCESSED, &drawn_from, &out.entropy_drawn_from,
                          &out, &removed_by);
  out.reason = reason_of(out.status, question);
  out.is_forced = question.forced_token_id >= 0;
  std::vector<std::int64_t> num_changed;
  const std::vector<float> edited = follow_edits(question, &asker, &num_changed);
  for (std::size_t i = 0; i < edited.size(); ++i) {
    out.tokens.push_back({std::int32_t(i), question.logits[i], edited[i], given[i], left[i],
                          before.empty() ? drawn_from[i] : before[i], drawn_from[i],
                          removed_by[i]});
  }
  std::stable_sort(out.tokens.begin(), out.tokens.end(), stands_before);
  out.stages = summarise(question, out.tokens, num_changed, &asker);
  out.values = values_before(question);
  out.values_after = values_after(question, out);
  return out;
}

}  // namespace explain
