#include "operations.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace cpu_bench {

namespace {

constexpr int64_t kNumDrafts = 7;
constexpr int64_t kRejectedDraft = 3;
constexpr int64_t kNumSelected = 50;
constexpr int64_t kNumTop = 20;

bool takes_probabilities(Operation operation) {
  return operation == Operation::kRenorm || operation == Operation::kVerify;
}

bool writes_rows(Operation operation) {
  return operation != Operation::kSample && operation != Operation::kVerify;
}

sampler_params params_of(const Work &work) {
  sampler_params params = sampler_params_default();
  params.temperature = work.filters.temperature;
  params.top_k = work.filters.top_k;
  params.top_p = work.filters.top_p;
  params.min_p = work.filters.min_p;
  params.top_k_ties = params.top_p_ties = work.ties;
  params.filter_order = work.filter_order;
  return params;
}

Work with_stages(const char *name, const Filters &filters, Stages stages,
                 bool has_llama_chain = false) {
  Work work = {name, Operation::kSample, filters, has_llama_chain};
  work.stages = stages;
  return work;
}

// A struct of zeros with its size set.
template <class Args>
Args empty() {
  Args args = {};
  args.struct_size = sizeof args;
  return args;
}

Work reporting(const char *name, const Filters &filters, Reports reports) {
  Work work = {name, Operation::kSample, filters};
  work.reports = reports;
  return work;
}

int64_t argmax(const float *row, int64_t num_cols) {
  return std::max_element(row, row + num_cols) - row;
}

}  // namespace

const std::vector<Work> &all_works() {
  static const std::vector<Work> works = {
      {"greedy", Operation::kSample, {0.0f, 0, 1.0f, 0.0f}, true},
      {"top_k50_top_p0.95", Operation::kSample, {0.8f, 50, 0.95f, 0.0f}, true},
      {"top_k1000_top_p0.95", Operation::kSample, {1.0f, 1000, 0.95f, 0.0f}, true},
      {"min_p0.05", Operation::kSample, {0.8f, 0, 1.0f, 0.05f}, true},
      {"temperature0.8", Operation::kSample, {0.8f, 0, 1.0f, 0.0f}, true},
      {"top_p0.95", Operation::kSample, {0.8f, 0, 0.95f, 0.0f}, true},
      {"top_p0.5", Operation::kSample, {0.8f, 0, 0.5f, 0.0f}},
      {"top_k50_ties",
       Operation::kSample,
       {0.8f, 50, 1.0f, 0.0f},
       false,
       SAMPLER_FILTERS_SEQUENTIAL,
       SAMPLER_DRAW_INVERSE_CDF,
       SAMPLER_TIES_KEEP},
      {"top_k64000", Operation::kSample, {0.8f, 64000, 1.0f, 0.0f}},
      {"joint", Operation::kSample, {0.8f, 50, 0.95f, 0.05f}, false, SAMPLER_FILTERS_JOINT},
      {"gumbel",
       Operation::kSample,
       {0.8f, 0, 1.0f, 0.0f},
       false,
       SAMPLER_FILTERS_SEQUENTIAL,
       SAMPLER_DRAW_GUMBEL},
      {"gumbel_top_p0.95",
       Operation::kSample,
       {0.8f, 0, 0.95f, 0.0f},
       false,
       SAMPLER_FILTERS_SEQUENTIAL,
       SAMPLER_DRAW_GUMBEL},
      {"draws10000",
       Operation::kSample,
       {0.8f, 0, 1.0f, 0.0f},
       false,
       SAMPLER_FILTERS_SEQUENTIAL,
       SAMPLER_DRAW_INVERSE_CDF,
       SAMPLER_TIES_EXACT,
       10000},
      reporting("temperature0.8_logprob", {0.8f, 0, 1.0f, 0.0f}, Reports::kLogprob),
      reporting("temperature0.8_top20", {0.8f, 0, 1.0f, 0.0f}, Reports::kTop20),
      reporting("top_p0.95_logprob", {0.8f, 0, 0.95f, 0.0f}, Reports::kLogprob),
      reporting("top_p0.95_top20", {0.8f, 0, 0.95f, 0.0f}, Reports::kTop20),
      reporting("top_k50_raw_logprob", {0.8f, 50, 0.95f, 0.0f}, Reports::kRawLogprob),
      reporting("top_k50_raw_top20", {0.8f, 50, 0.95f, 0.0f}, Reports::kRawTop20),
      with_stages("typical_p0.9", {1.0f, 0, 1.0f, 0.0f}, Stages::kTypical),
      with_stages("adaptive_p0.5", {0.8f, 0, 1.0f, 0.0f}, Stages::kAdaptiveP),
      with_stages("greedy_penalties64", {0.0f, 0, 1.0f, 0.0f}, Stages::kPenalties64),
      with_stages("greedy_penalties4096", {0.0f, 0, 1.0f, 0.0f}, Stages::kPenalties4096),
      with_stages("greedy_state4096", {0.0f, 0, 1.0f, 0.0f}, Stages::kState4096),
      {"top_k50", Operation::kSample, {0.8f, 50, 1.0f, 0.0f}},
      with_stages("top_k50_penalties4096", {0.8f, 50, 1.0f, 0.0f}, Stages::kPenalties4096),
      with_stages("top_k50_top_p0.95_penalties4096", {0.8f, 50, 0.95f, 0.0f},
                  Stages::kPenalties4096),
      with_stages("top_k50_top_p0.95_state4096", {0.8f, 50, 0.95f, 0.0f}, Stages::kState4096),
      with_stages("temperature0.8_penalties4096", {0.8f, 0, 1.0f, 0.0f}, Stages::kPenalties4096),
      with_stages("temperature0.8_state4096", {0.8f, 0, 1.0f, 0.0f}, Stages::kState4096),
      with_stages("greedy_bitmask", {0.0f, 0, 1.0f, 0.0f}, Stages::kBitmask),
      with_stages("temperature0.8_bitmask", {0.8f, 0, 1.0f, 0.0f}, Stages::kBitmask),
      with_stages("temperature0.8_bitmask64", {0.8f, 0, 1.0f, 0.0f}, Stages::kBitmask64),
      with_stages("llama_filters", {0.8f, 40, 0.95f, 0.05f}, Stages::kLlamaFilters),
      with_stages("llama_filters_penalties4096", {0.8f, 40, 0.95f, 0.05f}, Stages::kLlama4096),
      with_stages("llama_chain", {0.8f, 40, 0.95f, 0.05f}, Stages::kLlama, true),
      {"softmax", Operation::kSoftmax},
      {"top_k_renorm50", Operation::kRenorm, {1.0f, 50, 1.0f, 0.0f}},
      {"top_p_renorm0.95", Operation::kRenorm, {1.0f, 0, 0.95f, 0.0f}},
      {"top_k_mask50", Operation::kMask, {1.0f, 50, 1.0f, 0.0f}},
      {"top_k_select50", Operation::kSelect},
      {"chain7", Operation::kVerify},
  };
  return works;
}

const char *name_of(sampler_dtype dtype) {
  return dtype == SAMPLER_F32 ? "f32" : dtype == SAMPLER_F16 ? "f16" : "bf16";
}

std::string Cell::name() const {
  return std::string(work->name) + "/" + name_of(kind) + "/V=" + std::to_string(num_cols) +
         "/B=" + std::to_string(num_rows) + "/" + name_of(dtype);
}

Problem::Problem(const Cell &cell)
    : cell_(cell),
      token_ids_(size_t(cell.num_rows *
                        std::max({kNumDrafts + 1, kNumSelected, cell.work->draws_per_row}))) {
  const Operation operation = cell.work->operation;
  if (operation == Operation::kVerify) {
    make_chain();
    return;
  }
  std::vector<float> rows = make_logits(cell.kind, cell.num_rows, cell.num_cols);
  make_stages();
  if (takes_probabilities(operation)) to_probabilities(&rows, cell.num_cols);
  input_ = to_dtype(rows, cell.dtype);
  spans_ = {{input_.data(), rows.size()}};
  if (writes_rows(operation)) output_ = AlignedBytes(input_.size());
  for (int64_t i = 0; i < cell.num_rows * cell.work->draws_per_row; ++i) {
    row_indices_.push_back(int32_t(i / cell.work->draws_per_row));
  }
}

// Makes a text in which likely tokens recur, and one bitmask for all rows; the same in every run.
void Problem::make_stages() {
  const Stages stages = cell_.work->stages;
  if (stages == Stages::kNone) return;
  const int64_t num_cols = cell_.num_cols;
  const int64_t length = stages == Stages::kPenalties64 ? 64 : 4096;
  uint64_t state = 1;
  const auto next = [&state] { return (state = state * 6364136223846793005u + 1) >> 33; };
  if (stages == Stages::kBitmask || stages == Stages::kBitmask64) {
    for (int64_t i = 0; i < (num_cols + 31) / 32; ++i) bitmask_.push_back(uint32_t(next() << 1));
    if (stages == Stages::kBitmask64) {
      std::fill(bitmask_.begin(), bitmask_.end(), 0u);
      for (int i = 0; i < 64; ++i) {
        const uint64_t id = next() % uint64_t(num_cols);
        bitmask_[size_t(id / 32)] |= 1u << (id % 32);
      }
    }
    pipeline_.token_bitmasks = bitmask_.data();
    pipeline_.num_token_bitmasks = 1;
    bitmask_indices_.assign(size_t(cell_.num_rows), 0);
    pipeline_.token_bitmask_indices = bitmask_indices_.data();
  } else if (stages != Stages::kTypical && stages != Stages::kAdaptiveP &&
             stages != Stages::kLlamaFilters) {
    for (int64_t i = 0; i < length; ++i) {
      const uint64_t bits = next(), narrow = uint64_t(1) << (next() % 18);
      history_.push_back(int32_t(bits % std::min(narrow, uint64_t(num_cols))));
    }
    for (int64_t row = 0; row <= cell_.num_rows; ++row) history_offsets_.push_back(row * length);
    std::vector<int32_t> all;
    for (int64_t row = 0; row < cell_.num_rows; ++row) {
      all.insert(all.end(), history_.begin(), history_.end());
    }
    history_ = all;
    if (stages == Stages::kState4096) return;
    pipeline_.history = {history_offsets_.data(), history_.data(), cell_.num_rows,
                         int64_t(history_.size())};
  }
}

// A state with the text of each row in its slot.
sampler_state_t Problem::state_of(sampler_t sampler) {
  State &state = states_[sampler];
  if (state) return state.get();
  auto options = empty<sampler_state_options>();
  options.num_slots = cell_.num_rows;
  options.max_tokens = options.max_distinct_tokens = history_offsets_[1];
  sampler_state_t made = nullptr;
  auto text = empty<sampler_state_append_args>();
  sampler_status status = sampler_state_create(sampler, &options, &made);
  state.reset(made);
  text.state = made;
  text.num_rows = cell_.num_rows;
  text.tokens = {history_offsets_.data(), history_.data(), cell_.num_rows,
                 int64_t(history_.size())};
  if (status == SAMPLER_OK) status = sampler_state_append(sampler, &text);
  if (status != SAMPLER_OK) throw std::runtime_error(sampler_last_error());
  return made;
}

void Problem::add_stages(sampler_t sampler, sampler_params *params, sampler_sample_args *args) {
  const Stages stages = cell_.work->stages;
  if (stages == Stages::kNone) return;
  pipeline_.struct_size = sizeof pipeline_;
  if (stages == Stages::kState4096) pipeline_.state = state_of(sampler);
  args->pipeline = &pipeline_;
  if (stages == Stages::kTypical) params->typical_p = 0.9f;
  if (stages == Stages::kAdaptiveP) {
    params->adaptive_kind = SAMPLER_ADAPTIVE_P;
    params->adaptive_target = 0.5f;
  }
  if (stages == Stages::kPenalties64 || stages == Stages::kPenalties4096 ||
      stages == Stages::kState4096) {
    params->repetition_penalty = 1.1f;
    params->frequency_penalty = 0.1f;
  }
  if (stages < Stages::kLlamaFilters) return;
  const sampler_stage order[] = {1, 2, 3, 4, 8, 16, 7, 17, 18, 15, 6};
  std::copy(std::begin(order), std::end(order), params->stages);
  if (stages == Stages::kLlamaFilters) return;
  params->repetition_penalty = LlamaNumbers::kRepetitionPenalty;
  if (stages == Stages::kLlama4096) return;
  params->penalty_window = LlamaNumbers::kPenaltyWindow;
  params->dry_multiplier = LlamaNumbers::kDryMultiplier;
  params->dry_base = LlamaNumbers::kDryBase;
  params->dry_allowed_length = LlamaNumbers::kDryAllowedLength;
}

// The draft's row equals the target's up to the rejected position, which makes acceptance certain.
// At that position the draft's likeliest token has probability 0 in the target.
void Problem::make_chain() {
  const int64_t num_cols = cell_.num_cols;
  std::vector<float> two = make_logits(cell_.kind, 2, num_cols);
  to_probabilities(&two, num_cols);
  const float *accepted = two.data(), *proposed = two.data() + num_cols;
  std::vector<float> rejecting(proposed, proposed + num_cols);
  std::rotate(rejecting.begin(), rejecting.begin() + 1, rejecting.end());
  const int64_t accepted_id = argmax(accepted, num_cols), proposed_id = argmax(proposed, num_cols);
  rejecting[size_t(proposed_id)] = 0.0f;

  std::vector<float> target, draft;
  target.reserve(size_t(cell_.num_rows * (kNumDrafts + 1) * num_cols));
  draft.reserve(size_t(cell_.num_rows * kNumDrafts * num_cols));
  for (int64_t row = 0; row < cell_.num_rows; ++row) {
    for (int64_t position = 0; position <= kNumDrafts; ++position) {
      const bool rejects = position == kRejectedDraft;
      const float *p = rejects ? rejecting.data() : accepted;
      target.insert(target.end(), p, p + num_cols);
      if (position == kNumDrafts) break;
      const float *q = rejects ? proposed : accepted;
      draft.insert(draft.end(), q, q + num_cols);
      draft_token_ids_.push_back(int32_t(rejects ? proposed_id : accepted_id));
    }
  }
  input_ = to_dtype(target, cell_.dtype);
  draft_ = to_dtype(draft, cell_.dtype);
  const size_t row_bytes = size_t(num_cols) * size_of(cell_.dtype);
  for (int64_t row = 0; row < cell_.num_rows; ++row) {
    const size_t p = size_t(row * (kNumDrafts + 1) + kRejectedDraft) * row_bytes;
    const size_t q = size_t(row * kNumDrafts + kRejectedDraft) * row_bytes;
    spans_.push_back({input_.data() + p, size_t(num_cols)});
    spans_.push_back({draft_.data() + q, size_t(num_cols)});
  }
}

sampler_rows Problem::rows_of(const AlignedBytes &values, int64_t num_rows) const {
  sampler_rows rows = {};
  rows.values = values.data();
  rows.num_rows = num_rows;
  rows.num_cols = cell_.num_cols;
  rows.dtype = cell_.dtype;
  if (takes_probabilities(cell_.work->operation)) rows.kind = SAMPLER_PROBABILITIES;
  return rows;
}

void Problem::add_reports(sampler_sample_args *args, sampler_report_args *wanted) {
  const Reports reports = cell_.work->reports;
  if (reports == Reports::kNone) return;
  *wanted = empty<sampler_report_args>();
  args->reports = wanted;
  const bool is_raw = reports == Reports::kRawLogprob || reports == Reports::kRawTop20;
  wanted->logprob_kind = is_raw ? SAMPLER_LOGPROB_RAW : SAMPLER_LOGPROB_PROCESSED;
  const size_t num_rows = size_t(cell_.num_rows);
  logprobs_.resize(num_rows);
  wanted->out_logprobs = logprobs_.data();
  if (reports != Reports::kTop20 && reports != Reports::kRawTop20) return;
  top_token_ids_.resize(num_rows * kNumTop);
  top_logprobs_.resize(num_rows * kNumTop);
  ranks_.resize(num_rows);
  wanted->num_top_logprobs = kNumTop;
  wanted->out_top_token_ids = top_token_ids_.data();
  wanted->out_top_logprobs = top_logprobs_.data();
  wanted->out_ranks = ranks_.data();
}

sampler_status Problem::sample(sampler_t sampler, uint64_t offset, bool has_stages) {
  sampler_params params = params_of(*cell_.work);
  auto args = empty<sampler_sample_args>();
  args.input = rows_of(input_, cell_.num_rows);
  args.params = &params;
  args.draw_method = cell_.work->draw_method;
  args.random.seed = 1;
  args.random.offset = offset;
  args.out_token_ids = token_ids_.data();
  if (cell_.work->draws_per_row > 1) {
    args.num_row_indices = int64_t(row_indices_.size());
    args.row_indices = row_indices_.data();
  }
  sampler_report_args reports;
  add_reports(&args, &reports);
  if (has_stages) add_stages(sampler, &params, &args);
  return sampler_sample(sampler, &args);
}

sampler_status Problem::filter(sampler_t sampler) {
  const sampler_params params = params_of(*cell_.work);
  auto args = empty<sampler_filter_args>();
  args.input = rows_of(input_, cell_.num_rows);
  args.params = &params;
  if (cell_.work->operation == Operation::kMask) args.output_kind = SAMPLER_OUTPUT_VALUES;
  args.output = output_.data();
  args.output_dtype = cell_.dtype;
  return sampler_filter(sampler, &args);
}

sampler_status Problem::select(sampler_t sampler) {
  auto args = empty<sampler_select_args>();
  args.input = rows_of(input_, cell_.num_rows);
  args.num_selected = kNumSelected;
  args.out_values = output_.data();
  args.output_dtype = cell_.dtype;
  args.out_token_ids = token_ids_.data();
  return sampler_select(sampler, &args);
}

sampler_status Problem::verify(sampler_t sampler, uint64_t offset) {
  auto args = empty<sampler_verify_args>();
  args.target = rows_of(input_, cell_.num_rows * (kNumDrafts + 1));
  args.draft = rows_of(draft_, cell_.num_rows * kNumDrafts);
  args.num_drafts = kNumDrafts;
  args.draft_token_ids = draft_token_ids_.data();
  args.random.seed = 1;
  args.random.offset = offset;
  args.out_token_ids = token_ids_.data();
  return sampler_verify(sampler, &args);
}

sampler_status Problem::dispatch(sampler_t sampler, uint64_t offset) {
  switch (cell_.work->operation) {
    case Operation::kSample:
      return sample(sampler, offset, true);
    case Operation::kSoftmax:
    case Operation::kRenorm:
    case Operation::kMask:
      return filter(sampler);
    case Operation::kSelect:
      return select(sampler);
    case Operation::kVerify:
      return verify(sampler, offset);
  }
  return SAMPLER_ERROR_INVALID_ARGUMENT;
}

void Problem::call(sampler_t sampler, uint64_t offset) {
  if (dispatch(sampler, offset) != SAMPLER_OK) {
    throw std::runtime_error(cell_.name() + ": " + sampler_last_error());
  }
}

void Problem::call_without_stages(sampler_t sampler, uint64_t offset) {
  if (sample(sampler, offset, false) != SAMPLER_OK) {
    throw std::runtime_error(cell_.name() + ": " + sampler_last_error());
  }
}

}  // namespace cpu_bench
