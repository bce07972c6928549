#include "explanation.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <type_traits>

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

// The same parameters without what follows the edits.
sampler_params edits_of(sampler_params params) {
  const sampler_params off = sampler_params_default();
  const std::vector<sampler_stage> order = order_of(params);
  std::fill(std::begin(params.stages), std::end(params.stages), 0);
  std::copy_if(order.begin(), order.end(), params.stages, is_edit);
  params.filter_order = off.filter_order;
  params.temperature_order = off.temperature_order;
  params.temperature = off.temperature;
  params.top_k = off.top_k;
  params.top_p = off.top_p;
  params.min_p = off.min_p;
  for (float sampler_params::*window :
       {&sampler_params::dynamic_temperature_range, &sampler_params::typical_p,
        &sampler_params::top_n_sigma, &sampler_params::epsilon_cutoff, &sampler_params::eta_cutoff,
        &sampler_params::top_h, &sampler_params::xtc_probability, &sampler_params::top_p_decay}) {
    params.*window = 0.0f;
  }
  params.min_keep = 0;
  params.adaptive_kind = SAMPLER_ADAPTIVE_NONE;
  return params;
}

// Asks the library about one row.
class Asker {
 public:
  explicit Asker(const Question &question) : question_(question), sampler_(make_sampler()) {}

  std::size_t size() const { return question_.logits.size(); }

  // The row as its edits leave it.
  std::vector<float> edited() {
    std::vector<float> values(size());
    const sampler_params edits = edits_of(question_.params);
    sampler_filter_args args = {};
    args.struct_size = sizeof args;
    args.input = rows();
    args.params = &edits;
    args.pipeline = question_.pipeline;
    args.output_kind = SAMPLER_OUTPUT_VALUES;
    args.output = values.data();
    std::size_t bytes = 0;
    check(sampler_filter_workspace_size(sampler_.get(), &args, &bytes));
    args.exec = workspace(bytes);
    check(sampler_filter(sampler_.get(), &args));
    return values;
  }

  // Draws the token, and tells the probabilities of all tokens.
  sampler_row_status draw(sampler_logprob_kind kind, std::vector<double> *probabilities,
                          double *entropy, Explanation *out,
                          std::vector<std::uint8_t> *removed_by) {
    std::vector<std::int32_t> ids(size());
    std::iota(ids.begin(), ids.end(), 0);
    std::vector<float> logprobs(size());
    float entropy_in_nats = 0;
    sampler_row_status status = SAMPLER_ROW_OK;
    sampler_sample_args args = {};
    args.struct_size = sizeof args;
    args.input = rows();
    args.params = &question_.params;
    args.pipeline = question_.pipeline;
    args.random.seed = question_.seed;
    args.random.offset = question_.offset;
    args.draw_method = question_.draw_method;
    args.logprob_kind = kind;
    args.out_token_ids = &out->drawn_id;
    args.out_kept_counts = &out->num_kept;
    args.out_ranks = &out->drawn_rank;
    args.out_row_status = &status;
    args.num_chosen = std::int64_t(size());
    args.chosen_token_ids = ids.data();
    args.out_chosen_logprobs = logprobs.data();
    args.out_entropies = &entropy_in_nats;
    if (removed_by) {
      removed_by->resize(size());
      args.out_removed_by = removed_by->data();
    }
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

std::vector<Stage> summarise(const Question &question, const Explanation &explanation) {
  std::vector<Stage> stages;
  std::int64_t num_left = 0, num_changed = 0;
  for (const Token &token : explanation.tokens) {
    num_left += token.removed_by != kWithoutProbability;
    num_changed += token.edited != token.logit;
  }
  const bool is_greedy = question.params.temperature <= 1e-5f;
  for (const sampler_stage stage : order_of(question.params)) {
    Stage row = {stage, numbers_of(stage, question.params, question.pipeline), 0, 0, 0, 0.0};
    if (row.numbers.empty() || (is_greedy && !is_edit(stage) && stage != SAMPLER_STAGE_TEMPERATURE))
      continue;
    if (is_edit(stage)) row.num_changed = num_changed;
    for (const Token &token : explanation.tokens) {
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

}  // namespace

Explanation explain(const Question &question) {
  Asker asker(question);
  Explanation out = {};
  std::vector<double> given, left, drawn_from;
  std::vector<std::uint8_t> removed_by;
  double unused = 0;
  asker.draw(SAMPLER_LOGPROB_RAW, &given, &out.entropy_given, &out, nullptr);
  asker.draw(SAMPLER_LOGPROB_EDITED, &left, &unused, &out, nullptr);
  out.status = asker.draw(SAMPLER_LOGPROB_PROCESSED, &drawn_from, &out.entropy_drawn_from, &out,
                          &removed_by);
  const std::vector<float> edited = asker.edited();
  for (std::size_t i = 0; i < edited.size(); ++i) {
    out.tokens.push_back({std::int32_t(i), question.logits[i], edited[i], given[i], left[i],
                          drawn_from[i], removed_by[i]});
  }
  std::stable_sort(out.tokens.begin(), out.tokens.end(),
                   [](const Token &a, const Token &b) { return a.edited > b.edited; });
  out.stages = summarise(question, out);
  return out;
}

}  // namespace explain
