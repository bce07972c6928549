// The measured calls of the library, each with its inputs and outputs.
#pragma once

#include <sampler/sampler.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rows.h"

namespace cpu_bench {

enum class Operation {
  kSample,
  kSoftmax,  // logits to probabilities
  kRenorm,   // probabilities to probabilities
  kMask,     // logits to logits
  kSelect,
  kVerify
};

struct Filters {
  float temperature = 1.0f;
  int32_t top_k = 0;
  float top_p = 1.0f;
  float min_p = 0.0f;
};

// Reports of a sample besides the token, from the drawn distribution or the raw row.
enum class Reports {
  kNone,
  kLogprob,     // of the token
  kTop20,       // and the 20 likeliest tokens with theirs, and the token's rank
  kRawLogprob,  // the same of the raw row
  kRawTop20
};

// Stages besides temperature and filters.
enum class Stages {
  kNone,
  kTypical,        // typical-p 0.9
  kAdaptiveP,      // adaptive-p 0.5
  kPenalties64,    // of the last 64 tokens, an engine's default
  kPenalties4096,  // of 4,096 tokens
  kState4096,      // the same, from a state
  kBitmask,        // bans half of the tokens
  kBitmask64,      // allows 64 tokens at most
  kLlamaFilters,   // llama.cpp's default chain without edits
  kLlama4096,      // that with penalties of 4,096 tokens
  kLlama           // that with penalties of 64 tokens and DRY of 4,096
};

// Parameters of kLlama.
struct LlamaNumbers {
  static constexpr float kRepetitionPenalty = 1.1f, kDryMultiplier = 0.8f, kDryBase = 1.75f;
  static constexpr int32_t kPenaltyWindow = 64, kDryAllowedLength = 2;
};

struct Work {
  const char *name;
  Operation operation;
  Filters filters = {};
  bool has_llama_chain = false;  // llama.cpp has the same samplers
  sampler_filter_order filter_order = SAMPLER_FILTERS_SEQUENTIAL;
  sampler_draw_method draw_method = SAMPLER_DRAW_INVERSE_CDF;
  sampler_tie_rule ties = SAMPLER_TIES_EXACT;
  int64_t draws_per_row = 1;
  Reports reports = Reports::kNone;
  Stages stages = Stages::kNone;
};

// All works, most informative first.
const std::vector<Work> &all_works();

struct Cell {
  const Work *work;
  RowKind kind;
  int64_t num_rows, num_cols;
  sampler_dtype dtype;

  std::string name() const;  // "top_p0.95/lm/V=128256/B=1/f32"
};

const char *name_of(sampler_dtype dtype);

// Memory that a call reads at least once.
struct Span {
  const void *data;
  size_t num_elements;
};

// Inputs, outputs and the call of a cell. Logits are the cell's rows; operations on probabilities
// get their softmax. The chain has 7 drafts: the first three are accepted and the fourth is
// rejected, so it reads one row of the target and one of the draft.
class Problem {
 public:
  explicit Problem(const Cell &cell);

  const std::vector<Span> &spans() const { return spans_; }

  // f32 inputs.
  const float *logits() const { return reinterpret_cast<const float *>(input_.data()); }

  // The history of the first row; empty without stages that read it.
  std::vector<int32_t> history() const {
    if (history_offsets_.empty()) return {};
    return {history_.begin(), history_.begin() + history_offsets_[1]};
  }

  // Tokens of the last call: 8 per row for the chain; for many draws those of each row in turn.
  const std::vector<int32_t> &token_ids() const { return token_ids_; }

  // A new `offset` draws new tokens. Throws the library's error text on failure. The handle must
  // outlive the problem.
  void call(sampler_t sampler, uint64_t offset);

  // Samples the same rows without the work's stages.
  void call_without_stages(sampler_t sampler, uint64_t offset);

 private:
  sampler_rows rows_of(const AlignedBytes &values, int64_t num_rows) const;
  void add_reports(sampler_sample_args *args, sampler_report_args *wanted);
  sampler_status sample(sampler_t sampler, uint64_t offset, bool has_stages);
  sampler_status filter(sampler_t sampler);
  sampler_status select(sampler_t sampler);
  sampler_status verify(sampler_t sampler, uint64_t offset);
  sampler_status dispatch(sampler_t sampler, uint64_t offset);
  void make_chain();
  void make_stages();
  sampler_state_t state_of(sampler_t sampler);
  void add_stages(sampler_t sampler, sampler_params *params, sampler_sample_args *args);

  const Cell cell_;
  AlignedBytes input_, draft_, output_;
  std::vector<int32_t> token_ids_, draft_token_ids_, row_indices_, top_token_ids_, ranks_;
  std::vector<float> logprobs_, top_logprobs_;
  std::vector<Span> spans_;
  std::vector<int32_t> history_;
  std::vector<int64_t> history_offsets_;
  std::vector<uint32_t> bitmask_;
  std::vector<int32_t> bitmask_indices_;
  sampler_pipeline pipeline_ = {};
  // One for each handle used; destroyed before the handle.
  struct DestroyState {
    void operator()(sampler_state_t state) const { sampler_state_destroy(state); }
  };
  using State = std::unique_ptr<sampler_state, DestroyState>;
  std::map<sampler_t, State> states_;
};

}  // namespace cpu_bench
