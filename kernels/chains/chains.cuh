// Chains whose positions are read at once: their rows, drafts compared with sampled tokens, and the
// rows of the tokens that are reported.
#pragma once

#include <cstdint>

#include "chains/chains.h"
#include "contract/elements.h"
#include "contract/pipeline.h"
#include "contract/rank.h"
#include "contract/verification.h"
#include "contract/verify_extended.h"
#include "machine/device.cuh"
#include "machine/team.cuh"
#include "operations/report_outputs.cuh"
#include "stream/clear.cuh"
#include "stream/stream.h"

namespace sampler::kernels {

// Calls f(draft) for the drafts that lead to a position, the last one first; returns how many they
// are. A tree that is none ends somewhere.
template <class F>
SAMPLER_DEVICE int32_t for_each_before(const contract::Verification &rules, int64_t sequence,
                                       int32_t num_drafts, int32_t position, const F &f) {
  const int32_t *const parents =
      rules.parents + (rules.has_one_tree ? 0 : sequence) * int64_t(num_drafts);
  int32_t depth = 0;
  SAMPLER_KEEP_ROLLED
  for (int32_t node = position; node > 0; ++depth) {
    const int32_t parent = parents[node - 1];
    if (parent < -1 || parent >= node - 1) break;
    f(node - 1);
    node = parent + 1;
  }
  return depth;
}

// A sequence's tree, if the call has trees.
SAMPLER_DEVICE inline contract::TreeMemory tree_of(const ExtendedVerifyRequest &request,
                                                   const Chains &chains, int64_t sequence) {
  if (chains.tree_numbers == 0) return {};
  return contract::TreeMemory::of(request.rules, chains.num_positions, chains.tree(sequence));
}

// Finds the row and the slot of each position, and copies the draft after it, or of a tree those
// before it, for its text. A row of -1 has none.
template <class Context>
SAMPLER_DEVICE void run_place(const Context &ctx, const ExtendedVerifyRequest &request,
                              const Chains &chains) {
  const int64_t step = int64_t(ctx.num_teams()) * Context::kThreads;
  if (ctx.team() == 0 && ctx.thread() == 0) *chains.num_left() = 0;
  SAMPLER_KEEP_ROLLED
  for (int64_t output = int64_t(ctx.team()) * Context::kThreads + ctx.thread();
       output < chains.num_outputs(); output += step) {
    const uint32_t index = uint32_t(output), each = uint32_t(chains.num_positions);
    const int64_t sequence = index / each;
    const int32_t position = int32_t(index % each);
    contract::SequencePlace place = {};
    const bool is_there = contract::find_sequence(request, request.rules, sequence, &place);
    int32_t length = place.length < 0 ? 0 : place.length;
    if (length >= chains.num_positions) length = chains.num_positions - 1;
    int64_t row = -1;
    if (is_there && position <= length) {
      row = chains.rows_of_sequence > 0 ? sequence * chains.rows_of_sequence + position
                                        : contract::target_row_index(request, request.rules, place,
                                                                     sequence, position, length);
    }
    // Dense rows are more than the request knows.
    const bool is_past = chains.rows_of_sequence == 0 && row >= request.target.num_rows;
    chains.rows()[output] = row < 0 || is_past ? -1 : int32_t(row);
    chains.slots()[output] = int32_t(request.slots[sequence]);
    const bool is_tree = request.rules.parents != nullptr;
    const int32_t depth =
        is_tree ? for_each_before(request.rules, sequence, each - 1, position, [](int32_t) {})
                : position;
    chains.depths()[output] = depth;
    if (chains.text_id_size == 0) continue;
    const contract::TokenIds drafts = {chains.drafts(),
                                       VerifyMemory::text_type(request.positions.stages)};
    const auto draft_at = [&](int32_t draft) {
      return is_there && draft < length
                 ? contract::load_id(request.draft_token_ids, request.out_token_ids.type,
                                     place.first_draft + draft)
                 : -1;
    };
    if (!is_tree) {
      contract::store_id(drafts, output, draft_at(position));
      continue;
    }
    int64_t end = output * chains.path_stride + depth;
    for_each_before(request.rules, sequence, each - 1, position,
                    [&](int32_t draft) { contract::store_id(drafts, --end, draft_at(draft)); });
  }
}

// The status of a slot's history, where edits read it.
SAMPLER_DEVICE inline uint32_t status_of_text(const ExtendedVerifyRequest &request, int64_t slot) {
  const contract::Pipeline &stages = request.positions.stages;
  if (!VerifyMemory::assumes_text(stages)) return SAMPLER_ROW_OK;
  contract::SlotHistory history;
  return contract::read_text(stages, slot, &history);
}

// What sampling found, as contract::Verifier asks for it.
template <class Context>
class MatchedRows {
 public:
  static constexpr bool kMatches = true;

  SAMPLER_DEVICE MatchedRows(const Context &context, const ExtendedVerifyRequest &request,
                             const Chains &chains)
      : ctx_(context), request_(request), chains_(chains) {}

  SAMPLER_DEVICE TeamWorkers<const Context> workers() const {
    return {ctx_, ctx_.thread(), Context::kThreads};
  }

  // Sampling has done what stages do.
  SAMPLER_DEVICE bool has_pipeline() const { return false; }
  SAMPLER_DEVICE bool is_adaptive() const { return false; }
  SAMPLER_DEVICE bool has_outputs() const { return request_.has_outputs; }
  SAMPLER_DEVICE void append(int64_t, int64_t, float) const {}

  SAMPLER_DEVICE uint32_t begin_text(int64_t slot) const { return status_of_text(request_, slot); }
  SAMPLER_DEVICE bool gives_up() const { return false; }

  SAMPLER_DEVICE uint32_t load(const contract::TargetPlace &place, const contract::RowParameters &,
                               bool) {
    position_ = place.mask_output;
    return chains_.statuses()[position_];
  }
  SAMPLER_DEVICE int64_t token() const {
    return contract::load_id(chains_.tokens(), request_.out_token_ids.type, position_);
  }
  SAMPLER_DEVICE void draw_as_sample(const contract::RandomStream &, int64_t *id) const {
    *id = token();
  }
  SAMPLER_DEVICE contract::Rank first() const { return contract::rank_of(0.0f, uint32_t(token())); }
  SAMPLER_DEVICE bool has(int64_t id) const { return id < request_.target.num_cols; }
  SAMPLER_DEVICE bool keeps_loaded() const { return true; }

  // Adaptive stages alone have observations, and sampling has written the reports.
  SAMPLER_DEVICE float observation(int64_t) const { return contract::quiet_nan(); }
  SAMPLER_DEVICE void report(int64_t, int64_t) const {}
  SAMPLER_DEVICE void report_nothing(int64_t output) const {
    const StagedSampleRequest &to = request_.positions;
    ReportOutputs<const Context>(ctx_, to).write_bad(output);
    if (ctx_.thread() == 0) write_no_token(to, output);
  }

 private:
  const Context &ctx_;
  const ExtendedVerifyRequest &request_;
  const Chains &chains_;
  int64_t position_ = 0;  // output of the loaded row
};

// Compares the drafts of a sequence. Called by a block.
template <class Context>
SAMPLER_DEVICE void run_match(const Context &ctx, const ExtendedVerifyRequest &request,
                              const Chains &chains) {
  MatchedRows<Context> rows(ctx, request, chains);
  const int64_t sequence = ctx.team();
  contract::Verifier<MatchedRows<Context>> verifier(request, request.rules,
                                                    tree_of(request, chains, sequence), rows);
  verifier.run_sequence(sequence);
}

// Finds the rows of verified tokens, for a stream of their reports. An output without a token has
// none.
template <class Context>
SAMPLER_DEVICE void run_find_reported(const Context &ctx, const ExtendedVerifyRequest &request,
                                      const Chains &chains, const Stream &stream) {
  run_clear(ctx, stream);
  const int64_t step = int64_t(ctx.num_teams()) * Context::kThreads;
  SAMPLER_KEEP_ROLLED
  for (int64_t output = int64_t(ctx.team()) * Context::kThreads + ctx.thread();
       output < chains.num_outputs(); output += step) {
    const uint32_t each = uint32_t(chains.num_positions);
    const uint32_t first = uint32_t(output) / each * each;
    const int32_t position = request.rules.out_positions[output];
    const bool is_there = position >= 0;
    chains.reported_rows()[output] = is_there ? chains.rows()[first + uint32_t(position)] : -1;
    chains.statuses()[output] = is_there ? SAMPLER_ROW_OK : SAMPLER_ROW_EMPTY;
  }
}

}  // namespace sampler::kernels
