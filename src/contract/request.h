// Requests: the checked arguments of a call, the same for all backends.
#pragma once

#include <cstdint>

#include "contract/draw.h"
#include "contract/filters.h"
#include "contract/host_device.h"
#include "contract/philox.h"
#include "contract/weight.h"
#include "sampler/types.h"

namespace sampler::contract {

// Bound of token ids (exclusive) and of column counts (inclusive).
constexpr int64_t kMaxVocabulary = int64_t(1) << 20;

// Rows of values in the caller's memory; candidate lists also have ids.
struct Rows {
  const void *values = nullptr;
  const void *ids = nullptr;        // null: an element's id is its column
  const int32_t *counts = nullptr;  // elements of each row; null: num_cols
  int64_t num_rows = 0;
  int64_t num_cols = 0;
  int64_t stride = 0;  // elements
  sampler_dtype dtype = SAMPLER_F32;
  sampler_input_kind kind = SAMPLER_LOGITS;
  sampler_id_type id_type = SAMPLER_ID_I32;
};

// The slot of each output row, which selects its parameters, seed and offset.
struct Slots {
  const int32_t *of_rows = nullptr;  // null: row i has slot i
  int64_t count = 0;                 // number of slots, if of_rows is set

  SAMPLER_HD int64_t operator[](int64_t row) const { return of_rows ? of_rows[row] : row; }
  SAMPLER_HD bool has(int64_t slot) const { return !of_rows || (slot >= 0 && slot < count); }
  SAMPLER_HD int64_t number(int64_t num_rows) const { return of_rows ? count : num_rows; }
};

// One value for all slots, or one per slot.
template <class T>
struct PerSlot {
  T value;
  const T *array = nullptr;

  SAMPLER_HD T operator[](int64_t slot) const { return array ? array[slot] : value; }
};

struct Parameters {
  PerSlot<float> temperature{1.0f};
  PerSlot<int32_t> top_k{0};
  PerSlot<float> top_p{1.0f};
  PerSlot<float> min_p{0.0f};
  FilterRules rules;

  SAMPLER_HD RowParameters of(int64_t slot) const {
    return {temperature[slot], top_k[slot], top_p[slot], min_p[slot]};
  }
  SAMPLER_HD bool differ_by_slot() const {
    return temperature.array || top_k.array || top_p.array || min_p.array;
  }
};

// A seed or an offset: a value, an array of one, or an array of one per slot.
struct SeedSource {
  uint64_t value = 0;
  const uint64_t *array = nullptr;
  bool per_slot = false;

  SAMPLER_HD uint64_t operator[](int64_t slot) const {
    return array ? array[per_slot ? slot : 0] : value;
  }
};

struct Randomness {
  SeedSource seed;
  SeedSource offset;
  const uint32_t *streams = nullptr;  // null: the slot, or 0 if seeds are per slot
  bool are_watermarks = false;        // of Gumbel draws

  SAMPLER_HD RandomStream of(int64_t slot) const {
    const uint32_t stream = streams ? streams[slot] : seed.per_slot ? 0u : uint32_t(slot);
    return {seed[slot], offset[slot], stream};
  }
};

// Defined in pipeline.h and reports.h. In host memory, valid during the call.
struct Pipeline;
struct Reports;

struct TokenIds {
  void *data = nullptr;
  sampler_id_type type = SAMPLER_ID_I32;
};

// sampler_sample: one token per output row.
struct SampleRequest {
  Rows input;
  const int32_t *row_indices = nullptr;  // null: output row i draws from input row i
  int64_t num_rows = 0;                  // output rows
  Slots slots;
  Parameters parameters;
  Randomness random;
  sampler_draw_method draw_method = SAMPLER_DRAW_INVERSE_CDF;
  sampler_logprob_kind logprob_kind = SAMPLER_LOGPROB_RAW;  // EDITED only with edits
  int64_t bad_row_token = -1;
  const Pipeline *pipeline = nullptr;  // null: no stages and no forced tokens
  const Reports *reports = nullptr;    // null: none

  // Whether rows may be computed without lists of their first tokens, on a device whose workspace
  // has no room for them, as a session's; and whether they are.
  bool may_lack_lists = false, lacks_lists = false;

  // How many tokens of its sequence each output comes after; null: none.
  const int32_t *num_before = nullptr;

  TokenIds out_token_ids;
  int32_t *out_kept_counts = nullptr;
  float *out_logprobs = nullptr;
  float *out_values = nullptr;
  float *out_observations = nullptr;
  uint32_t *out_row_status = nullptr;

  SAMPLER_HD RandomStream stream_of(int64_t output, int64_t slot) const {
    RandomStream stream = random.of(slot);
    if (num_before) stream.offset += uint64_t(num_before[output]);
    return stream;
  }

  // For verified positions: whether any per-token output is wanted.
  SAMPLER_HD bool reports_anything() const {
    return reports || out_logprobs || out_observations || out_kept_counts;
  }
};

// sampler_filter: one output row per input row.
struct FilterRequest {
  Rows input;
  Slots slots;
  Parameters parameters;
  sampler_output_kind output_kind = SAMPLER_OUTPUT_PROBABILITIES;
  const Pipeline *pipeline = nullptr;  // null: no edits

  void *output = nullptr;
  sampler_dtype output_dtype = SAMPLER_F32;
  int64_t output_stride = 0;
  int32_t *out_kept_counts = nullptr;
  uint32_t *out_row_status = nullptr;
};

// sampler_select: the first tokens of each row in rank order.
struct SelectRequest {
  Rows input;
  int64_t num_selected = 0;
  const int32_t *selected_counts = nullptr;

  void *out_values = nullptr;
  sampler_dtype output_dtype = SAMPLER_F32;
  TokenIds out_token_ids;
  int32_t *out_counts = nullptr;
  uint32_t *out_row_status = nullptr;
};

struct Verification;  // verification.h

// Verification of a chain of drafts per row.
struct VerifyRequest {
  Rows target;  // num_drafts + 1 positions per row, `stride` apart
  Rows draft;   // num_drafts positions per row; values null: deterministic drafter
  int64_t target_row_stride = 0;
  int64_t draft_row_stride = 0;
  int64_t num_rows = 0;
  int64_t num_drafts = 0;
  const void *draft_token_ids = nullptr;  // of out_token_ids' type
  const int32_t *draft_counts = nullptr;
  Slots slots;
  Parameters parameters;
  Randomness random;
  int64_t bad_row_token = -1;
  const Verification *verification = nullptr;  // null: dense chains, standard rule. In host memory

  // Whether a device reads positions one after the other: its workspace has no room for all.
  bool reads_one_by_one = false;

  TokenIds out_token_ids;
  int32_t *out_accepted_counts = nullptr;
  int32_t *out_emitted_counts = nullptr;
  bool accumulate_counts = false;
  uint32_t *out_row_status = nullptr;

  // Filters apply to logits only.
  SAMPLER_HD bool has_filters() const {
    return target.kind == SAMPLER_LOGITS || (draft.values && draft.kind == SAMPLER_LOGITS);
  }
};

// sampler_residual: the distribution after a rejected draft, per row.
struct ResidualRequest {
  Rows target;  // given probabilities
  Rows draft;   // given probabilities; values null: deterministic drafter
  int64_t num_rows = 0;
  const void *draft_token_ids = nullptr;  // of a deterministic drafter
  sampler_id_type token_id_type = SAMPLER_ID_I32;

  void *output = nullptr;
  sampler_dtype output_dtype = SAMPLER_F32;
  int64_t output_stride = 0;
  uint32_t *out_row_status = nullptr;
};

}  // namespace sampler::contract
