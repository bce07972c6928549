#include "operations.h"

#include <algorithm>
#include <stdexcept>

namespace cpu_bench {

namespace {

constexpr int64_t kNumDrafts = 7;
constexpr int64_t kRejectedDraft = 3;
constexpr int64_t kNumSelected = 50;

bool takes_probabilities(Operation operation) {
  return operation == Operation::kTopKRenorm || operation == Operation::kTopPRenorm ||
         operation == Operation::kChain;
}

bool writes_rows(Operation operation) {
  return operation == Operation::kSoftmax || operation == Operation::kTopKRenorm ||
         operation == Operation::kTopPRenorm || operation == Operation::kTopKMask ||
         operation == Operation::kTopKSelect;
}

int64_t argmax(const float *row, int64_t num_cols) {
  return std::max_element(row, row + num_cols) - row;
}

}  // namespace

const std::vector<Work> &all_works() {
  static const std::vector<Work> works = {
      {"greedy", Operation::kArgmax, {}, true},
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
      {"softmax", Operation::kSoftmax},
      {"top_k_renorm50", Operation::kTopKRenorm, {1.0f, 50, 1.0f, 0.0f}},
      {"top_p_renorm0.95", Operation::kTopPRenorm, {1.0f, 0, 0.95f, 0.0f}},
      {"top_k_mask50", Operation::kTopKMask, {1.0f, 50, 1.0f, 0.0f}},
      {"top_k_select50", Operation::kTopKSelect},
      {"chain7", Operation::kChain},
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
  if (operation == Operation::kChain) {
    make_chain();
    return;
  }
  std::vector<float> rows = make_logits(cell.kind, cell.num_rows, cell.num_cols);
  if (takes_probabilities(operation)) to_probabilities(&rows, cell.num_cols);
  input_ = to_dtype(rows, cell.dtype);
  spans_ = {{input_.data(), rows.size()}};
  if (writes_rows(operation)) output_ = AlignedBytes(input_.size());
  for (int64_t i = 0; i < cell.num_rows * cell.work->draws_per_row; ++i) {
    row_indices_.push_back(int32_t(i / cell.work->draws_per_row));
  }
}

// The draft's row equals the target's up to the rejected position, which makes acceptance certain.
// There the draft's likeliest token has no probability in the target.
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

template <class Args>
Args Problem::with_rows(Args args) const {
  args.input = input_.data();
  args.num_rows = cell_.num_rows;
  args.num_cols = cell_.num_cols;
  args.input_dtype = cell_.dtype;
  return args;
}

template <class Args>
Args Problem::with_output(Args args) {
  args.output = output_.data();
  args.output_dtype = cell_.dtype;
  return args;
}

sampler_status Problem::sample(sampler_t sampler, uint64_t offset) {
  const Filters &filters = cell_.work->filters;
  auto args = with_rows<sampler_sample_args>(SAMPLER_SAMPLE_ARGS_INIT);
  args.temperature = filters.temperature;
  args.top_k = filters.top_k;
  args.top_p = filters.top_p;
  args.min_p = filters.min_p;
  args.filter_order = cell_.work->filter_order;
  args.draw_method = cell_.work->draw_method;
  args.top_k_ties = args.top_p_ties = cell_.work->ties;
  args.seed = 1;
  args.offset = offset;
  args.out_token_ids = token_ids_.data();
  if (cell_.work->draws_per_row > 1) {
    args.num_input_rows = cell_.num_rows;
    args.num_rows = cell_.num_rows * cell_.work->draws_per_row;
    args.row_indices = row_indices_.data();
  }
  return sampler_sample(sampler, &args);
}

sampler_status Problem::verify_chain(sampler_t sampler, uint64_t offset) {
  sampler_chain_speculative_args args = SAMPLER_CHAIN_SPECULATIVE_ARGS_INIT;
  args.target = input_.data();
  args.draft = draft_.data();
  args.num_rows = cell_.num_rows;
  args.num_drafts = kNumDrafts;
  args.num_cols = cell_.num_cols;
  args.target_dtype = args.draft_dtype = cell_.dtype;
  args.target_kind = args.draft_kind = SAMPLER_PROBABILITIES;
  args.draft_token_ids = draft_token_ids_.data();
  args.seed = 1;
  args.offset = offset;
  args.out_token_ids = token_ids_.data();
  return sampler_chain_speculative(sampler, &args);
}

sampler_status Problem::dispatch(sampler_t sampler, uint64_t offset) {
  switch (cell_.work->operation) {
    case Operation::kArgmax: {
      auto args = with_rows<sampler_argmax_args>(SAMPLER_ARGMAX_ARGS_INIT);
      args.out_token_ids = token_ids_.data();
      return sampler_argmax(sampler, &args);
    }
    case Operation::kSample:
      return sample(sampler, offset);
    case Operation::kSoftmax: {
      const auto args = with_output(with_rows<sampler_softmax_args>(SAMPLER_SOFTMAX_ARGS_INIT));
      return sampler_softmax(sampler, &args);
    }
    case Operation::kTopKRenorm: {
      auto args = with_output(with_rows<sampler_top_k_renorm_args>(SAMPLER_TOP_K_RENORM_ARGS_INIT));
      args.top_k = cell_.work->filters.top_k;
      return sampler_top_k_renorm(sampler, &args);
    }
    case Operation::kTopPRenorm: {
      auto args = with_output(with_rows<sampler_top_p_renorm_args>(SAMPLER_TOP_P_RENORM_ARGS_INIT));
      args.top_p = cell_.work->filters.top_p;
      return sampler_top_p_renorm(sampler, &args);
    }
    case Operation::kTopKMask: {
      auto args = with_output(with_rows<sampler_top_k_mask_args>(SAMPLER_TOP_K_MASK_ARGS_INIT));
      args.top_k = cell_.work->filters.top_k;
      return sampler_top_k_mask(sampler, &args);
    }
    case Operation::kTopKSelect: {
      auto args = with_rows<sampler_top_k_select_args>(SAMPLER_TOP_K_SELECT_ARGS_INIT);
      args.num_selected = kNumSelected;
      args.out_values = output_.data();
      args.output_dtype = cell_.dtype;
      args.out_token_ids = token_ids_.data();
      return sampler_top_k_select(sampler, &args);
    }
    case Operation::kChain:
      return verify_chain(sampler, offset);
  }
  return SAMPLER_ERROR_INVALID_ARGUMENT;
}

void Problem::call(sampler_t sampler, uint64_t offset) {
  if (dispatch(sampler, offset) != SAMPLER_OK) {
    throw std::runtime_error(cell_.name() + ": " + sampler_last_error());
  }
}

}  // namespace cpu_bench
