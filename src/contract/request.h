// What an operation is asked to compute, whoever computes it: the checked arguments of a call.
#pragma once

#include <cstdint>

#include "contract/draw.h"
#include "contract/filters.h"
#include "contract/host_device.h"
#include "contract/philox.h"
#include "contract/weight.h"

namespace sampler::contract {

enum class Dtype : int32_t { kF32 = 0, kF16 = 1, kBf16 = 2 };
enum class IdType : int32_t { kI32 = 0, kI64 = 1 };
enum class LogprobKind : int32_t { kRaw = 0, kProcessed = 1 };

// Bits of a row's status. A row has at most one of them, but for kInvalidDraft.
namespace row_status {
constexpr uint32_t kOk = 0;
constexpr uint32_t kInvalidValue = 1;
constexpr uint32_t kEmpty = 2;
constexpr uint32_t kInvalidParameter = 4;
constexpr uint32_t kInvalidIndex = 8;
constexpr uint32_t kInvalidCandidate = 16;
constexpr uint32_t kInvalidDraft = 32;
}  // namespace row_status

// Token ids lie below this, and so do column counts.
constexpr int64_t kMaxVocabulary = int64_t(1) << 20;

// Rows of values in the caller's memory, and where they are candidate lists, their ids.
struct Rows {
  const void *values = nullptr;
  const void *ids = nullptr;        // null: an element's id is its column
  const int32_t *counts = nullptr;  // null: num_cols each
  int64_t num_rows = 0;
  int64_t num_cols = 0;
  int64_t stride = 0;  // elements
  Dtype dtype = Dtype::kF32;
  InputKind kind = InputKind::kLogits;
  IdType id_type = IdType::kI32;
};

// One value for all output rows, or one each.
template <class T>
struct PerRow {
  T value;
  const T *array = nullptr;

  SAMPLER_HD T operator[](int64_t row) const { return array ? array[row] : value; }
};

struct Parameters {
  PerRow<float> temperature{1.0f};
  PerRow<int32_t> top_k{0};
  PerRow<float> top_p{1.0f};
  PerRow<float> min_p{0.0f};
  FilterRules rules;

  SAMPLER_HD RowParameters row(int64_t row) const {
    return {temperature[row], top_k[row], top_p[row], min_p[row]};
  }
  SAMPLER_HD bool differ_by_row() const {
    return temperature.array || top_k.array || top_p.array || min_p.array;
  }
};

// A seed or an offset: a value, or an array of one, or of one per output row.
struct SeedSource {
  uint64_t value = 0;
  const uint64_t *array = nullptr;
  bool per_row = false;

  SAMPLER_HD uint64_t operator[](int64_t row) const {
    return array ? array[per_row ? row : 0] : value;
  }
};

struct Randomness {
  SeedSource seed;
  SeedSource offset;

  // With a seed of its own a row does not depend on its slot in the batch.
  SAMPLER_HD RandomStream row(int64_t row) const {
    return {seed[row], offset[row], seed.per_row ? 0u : uint32_t(row)};
  }
};

struct TokenIds {
  void *data = nullptr;
  IdType type = IdType::kI32;
};

// One token per output row.
struct SampleRequest {
  Rows input;
  const int32_t *row_indices = nullptr;  // null: output row i draws from input row i
  int64_t num_rows = 0;                  // output rows
  Parameters parameters;
  Randomness random;
  DrawMethod draw_method = DrawMethod::kInverseCdf;
  LogprobKind logprob_kind = LogprobKind::kRaw;
  int64_t bad_row_token = -1;

  TokenIds out_token_ids;
  int32_t *out_kept_counts = nullptr;
  float *out_logprobs = nullptr;
  float *out_values = nullptr;
  uint32_t *out_row_status = nullptr;
};

enum class RowOutput { kProbabilities, kMask };

// A row of output for each row of input.
struct RowsRequest {
  Rows input;
  Parameters parameters;
  RowOutput output_kind = RowOutput::kProbabilities;

  void *output = nullptr;
  Dtype output_dtype = Dtype::kF32;
  int64_t output_stride = 0;
  int32_t *out_kept_counts = nullptr;
  uint32_t *out_row_status = nullptr;
};

// The first tokens of each row in rank order.
struct SelectRequest {
  Rows input;
  int64_t num_selected = 0;
  const int32_t *top_ks = nullptr;

  void *out_values = nullptr;
  Dtype output_dtype = Dtype::kF32;
  TokenIds out_token_ids;
  int32_t *out_counts = nullptr;
  uint32_t *out_row_status = nullptr;
};

// Verification of a chain of drafts per row.
struct ChainRequest {
  Rows target;  // num_drafts + 1 positions a row, `stride` apart
  Rows draft;   // num_drafts positions a row; values null: the drafter was deterministic
  int64_t target_row_stride = 0;
  int64_t draft_row_stride = 0;
  int64_t num_rows = 0;
  int64_t num_drafts = 0;
  const void *draft_token_ids = nullptr;  // of out_token_ids' type
  const int32_t *draft_lengths = nullptr;
  Parameters parameters;
  Randomness random;
  int64_t bad_row_token = -1;

  TokenIds out_token_ids;
  int32_t *out_accepted_counts = nullptr;
  int32_t *out_emitted_counts = nullptr;
  bool accumulate_counts = false;
  uint32_t *out_row_status = nullptr;

  // Given probabilities are not filtered.
  SAMPLER_HD bool has_filters() const {
    return target.kind == InputKind::kLogits || (draft.values && draft.kind == InputKind::kLogits);
  }
};

// What a rejected draft leaves of each row.
struct ResidualRequest {
  Rows target;  // given probabilities
  Rows draft;   // the same; values null: the drafter was deterministic
  int64_t num_rows = 0;
  const void *draft_token_ids = nullptr;  // of a deterministic drafter
  IdType token_id_type = IdType::kI32;

  void *output = nullptr;
  Dtype output_dtype = Dtype::kF32;
  int64_t output_stride = 0;
  uint32_t *out_row_status = nullptr;
};

}  // namespace sampler::contract
