// Chains of drafts at random.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "problem.h"

namespace shards_test {

struct ChainProblem {
  Rows target, draft;
  std::vector<int64_t> ids;
  std::vector<int32_t> ids32, counts, slots;
  std::vector<float> temperatures;
  std::vector<int32_t> top_k;
  std::vector<uint64_t> seeds;
  sampler_row_params row_params = {};
  VerifyCall call;

  int64_t num_drafts() const { return call.args.num_drafts; }
  size_t row_bytes(const Rows &rows) const { return size_t(rows.num_cols) * rows.element_bytes(); }

  // The draft's rows are often the target's: what is drawn from them is kept.
  void copy_rows(std::mt19937_64 &random) {
    if (draft.dtype != target.dtype || draft.kind != target.kind) return;
    for (int64_t i = 0; i < draft.num_rows; ++i) {
      if (random() % 2) continue;
      const int64_t from = i / num_drafts() * (num_drafts() + 1) + i % num_drafts();
      std::memcpy(draft.bytes.data() + size_t(i) * row_bytes(draft),
                  target.bytes.data() + size_t(from) * row_bytes(target), row_bytes(draft));
    }
  }

  // The target's first token, any, or none.
  int64_t draw_id(std::mt19937_64 &random, int64_t position) const {
    const float *const row = target.values.data() + position * target.num_cols;
    if (random() % 5 < 3) return std::max_element(row, row + target.num_cols) - row;
    return int64_t(random() % uint64_t(target.num_cols + 2)) - 1;
  }

  ChainProblem(std::mt19937_64 &random, int64_t num_cols, sampler_dtype dtype,
               sampler_input_kind kind, bool has_bad_rows, int64_t num_sequences) {
    const int64_t num_drafts = int64_t(random() % 6);
    call.args.num_drafts = num_drafts;
    call.has_draft = num_drafts > 0 && random() % 3 > 0;
    target =
        make_rows(num_sequences * (num_drafts + 1), num_cols, dtype, kind, has_bad_rows, random());
    draft =
        make_rows(num_sequences * num_drafts, num_cols,
                  random() % 4 ? dtype : sampler_dtype(random() % 3), kind, has_bad_rows, random());
    if (num_drafts > 0) copy_rows(random);
    for (int64_t i = 0; i < num_sequences; ++i) {
      for (int64_t j = 0; j < num_drafts; ++j) {
        ids.push_back(draw_id(random, i * (num_drafts + 1) + j));
        ids32.push_back(int32_t(ids.back()));
      }
      counts.push_back(int32_t(random() % uint64_t(num_drafts + 3)) - 1);
      slots.push_back(int32_t(random() % uint64_t(num_sequences + 2)) - 1);
      temperatures.push_back(random() % 3 ? 1.0f : random() % 4 ? 0.0f : 0.5f);
      top_k.push_back(random() % 8 ? 0 : 3);
      seeds.push_back(random());
    }
    const bool is_wide = random() % 2;
    call.args.token_id_type = is_wide ? SAMPLER_ID_I64 : SAMPLER_ID_I32;
    call.args.draft_token_ids = is_wide ? static_cast<const void *>(ids.data()) : ids32.data();
    if (num_drafts == 0) call.args.draft_token_ids = nullptr;
    call.args.draft_counts = random() % 3 == 0 ? counts.data() : nullptr;
    call.args.accumulate_counts = int32_t(random() % 2);
    call.args.random.seed = random();
    call.args.random.offset = random();
    call.wants_accepted = random() % 2;
  }

  void use_slots(std::mt19937_64 &random) {
    call.args.slots = slots.data();
    call.args.num_slots = int64_t(slots.size());
    call.args.random.seeds = seeds.data();
    call.args.random.num_seeds = int64_t(seeds.size());
    row_params.struct_size = sizeof row_params;
    row_params.temperature = temperatures.data();
    row_params.top_k = random() % 2 ? top_k.data() : nullptr;
    call.args.row_params = &row_params;
  }
};

}  // namespace shards_test
