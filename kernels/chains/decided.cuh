// Chains and trees whose positions' kept tokens are listed: a block a sequence decides which drafts
// are kept, by any rule, and draws the token after them.
#pragma once

#include <cstdint>

#include "chains/chains.cuh"
#include "chains/chains.h"
#include "chains/plain_rows.cuh"
#include "contract/draw.h"
#include "contract/entropy.h"
#include "contract/rank.h"
#include "contract/verify_extended.h"
#include "contract/weight.h"
#include "machine/device.cuh"
#include "operations/residual.cuh"
#include "row/row.cuh"
#include "stream/list_windows.cuh"
#include "stream/ranked_list.cuh"
#include "stream/stream.h"

namespace sampler::kernels {

// The rows of a sequence as contract::Verifier asks for them, one loaded at a time. After a change
// each token of the list has a new probability, and all others none.
template <class Context>
class DecidedRows : RankedList<Context, ListedShared>, public PlainRows {
 public:
  SAMPLER_DEVICE DecidedRows(const Context &context, const ExtendedVerifyRequest &request,
                             const Stream &stream)
      : List(context, context.template shared<ListedShared>()),
        request_(request),
        stream_(stream) {}

  static constexpr bool kRelaxesGreedy = false;

  SAMPLER_DEVICE TeamWorkers<const Context> workers() const {
    return {ctx, ctx.thread(), Context::kThreads};
  }

  // ---- The text: a position's edits know the drafts before it.

  SAMPLER_DEVICE bool has_pipeline() const { return request_.has_pipeline; }
  SAMPLER_DEVICE uint32_t begin_text(int64_t slot) const { return status_of_text(request_, slot); }
  SAMPLER_DEVICE bool gives_up() const { return false; }

  // ---- Outputs of tokens, of the row as it is loaded

  SAMPLER_DEVICE bool has_outputs() const { return request_.has_outputs; }
  SAMPLER_DEVICE bool keeps_loaded() const { return false; }
  SAMPLER_DEVICE void report(int64_t output, int64_t id) const {
    const int place = find(id);
    float logprob = contract::negative_infinity();
    if (place >= 0) {
      const float x = contract::value_of_rank(shared.row.list[place]);
      logprob = greedy_ ? 0.0f : contract::log_probability(scale_, x, weight_);
    }
    write_outputs(output, count(), logprob);
  }
  SAMPLER_DEVICE void report_nothing(int64_t output) const {
    write_outputs(output, 0, contract::quiet_nan());
  }

  // ---- The target's row

  SAMPLER_DEVICE_CALL uint32_t load(const contract::TargetPlace &place,
                                    const contract::RowParameters &, bool) {
    const ListHead head = *stream_.lists.head(uint32_t(place.mask_output));
    if (head.status != SAMPLER_ROW_OK) return head.status;
    ctx.sync();  // all have read the row before
    const uint64_t *const ranks = stream_.lists.ranks(uint32_t(place.mask_output));
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < int(head.count); i += Context::kThreads) {
      shared.row.list[i] = ranks[i];
    }
    if (ctx.thread() == 0) shared.num_listed = head.count;
    ctx.sync();
    greedy_ = contract::is_greedy(head.temperature);
    scale_ = contract::logits_row_scale(contract::value_of_rank(first()),
                                        greedy_ ? 1.0f : head.temperature);
    weight_ = head.weight;
    return SAMPLER_ROW_OK;
  }

  SAMPLER_DEVICE_CALL void draw_as_sample(const contract::RandomStream &stream, int64_t *id) const {
    if (greedy_) {
      *id = contract::id_of_rank(first());
    } else {
      this->add_up(scale_);
      draw_changed(contract::random_word64(stream, contract::Purpose::kSample, 0), id);
    }
  }

  SAMPLER_DEVICE bool has(int64_t id) const { return id < request_.target.num_cols; }
  SAMPLER_DEVICE Rank first() const { return shared.row.list[0]; }
  SAMPLER_DEVICE Rank rank_of(int64_t id) const {
    const int place = find(id);
    return place < 0 ? 0 : shared.row.list[place];
  }
  SAMPLER_DEVICE float probability(int64_t id, contract::RowState state) const {
    const int place = find(id);
    return place < 0 ? 0.0f : probability_at(place, state);
  }
  SAMPLER_DEVICE contract::EntropySums kept_entropy_sums() const {
    return ListWindows<Context, ListedShared>(*this).entropies(scale_, {0, count()});
  }
  SAMPLER_DEVICE int64_t num_before(Rank rank) const {
    return this->length_of([&](int i) { return shared.row.list[i] > rank; });
  }
  SAMPLER_DEVICE float entropy_of_first(int64_t wanted) const {
    const int num = wanted < count() ? int(wanted) : count();
    float entropy = 0.0f;
    SAMPLER_KEEP_ROLLED
    for (int i = 0; i < num; ++i) {
      entropy -= contract::entropy_term(probability_at(i, contract::RowState::kOpened));
    }
    return entropy;
  }
  // ---- The drafter's row, of given probabilities

  SAMPLER_DEVICE_CALL uint32_t load_draft(const contract::RowView &view,
                                          const contract::RowParameters &,
                                          const contract::FilterRules &) {
    if (!contract::has_valid_count(view, request_.target.num_cols)) {
      return SAMPLER_ROW_INVALID_CANDIDATE;
    }
    const bool is_valid = this->take_draft(workers(), view);
    return ctx.block_count(!is_valid) == 0 ? SAMPLER_ROW_OK : SAMPLER_ROW_INVALID_VALUE;
  }

  // ---- Changes of the target's row

  SAMPLER_DEVICE_CALL void begin_change(contract::RowState state, float factor,
                                        bool subtracts_draft) const {
    ctx.sync();  // all have read what changes
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < count(); i += Context::kThreads) {
      const float p = probability_at(i, state) * factor;
      const float q = subtracts_draft ? draft_probability(id_at(i)) : 0.0f;
      changed()[i] = subtracts_draft ? contract::residual_probability(p, q) : p;
    }
    ctx.sync();
  }
  SAMPLER_DEVICE void remove(int64_t id) const {
    const int place = find(id);
    if (place >= 0 && ctx.thread() == 0) changed()[place] = 0.0f;
  }
  SAMPLER_DEVICE_CALL bool end_change() {
    ctx.sync();
    float own = 0.0f;
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < count(); i += Context::kThreads) {
      own = contract::larger_of(own, changed()[i]);
    }
    const uint32_t key = this->max_of_block(contract::value_key(own));
    ctx.sync();
    if (contract::rank_of_key(key) < contract::lowest_cut(SAMPLER_PROBABILITIES)) return false;
    greedy_ = false;
    scale_ = contract::probabilities_row_scale(contract::value_of_key(key));
    this->add_up_by([&](int i) { return contract::weight(scale_, changed()[i]); });
    weight_ = shared.row.sums[count() - 1];
    return true;
  }
  SAMPLER_DEVICE double changed_sum() const { return contract::sum_of_weights(scale_, weight_); }
  SAMPLER_DEVICE_CALL void draw_changed(uint64_t word, int64_t *id) const {
    ctx.sync();  // all have read the token before
    this->draw_by_id(count(), contract::draw_target(word, weight_), request_.target.num_cols,
                     [&](uint32_t drawn) { shared.id = drawn; });
    ctx.sync();
    *id = int64_t(shared.id);
  }

 private:
  using List = RankedList<Context, ListedShared>;
  using List::ctx, List::shared, List::count;

  SAMPLER_DEVICE float *changed() const { return reinterpret_cast<float *>(shared.ids); }
  SAMPLER_DEVICE uint32_t id_at(int place) const {
    return contract::id_of_rank(shared.row.list[place]);
  }

  SAMPLER_DEVICE_CALL void write_outputs(int64_t output, int kept_count, float logprob) const {
    if (ctx.thread() != 0) return;
    const contract::SampleRequest &to = request_.positions;
    if (to.out_kept_counts) to.out_kept_counts[output] = kept_count;
    if (to.out_logprobs) to.out_logprobs[output] = logprob;
  }

  // The place of a token in the list; -1: it is not there.
  SAMPLER_DEVICE_CALL int find(int64_t id) const {
    ctx.sync();  // all have read the place before
    if (ctx.thread() == 0) shared.place = ~uint32_t(0);
    ctx.sync();
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < count(); i += Context::kThreads) {
      if (int64_t(id_at(i)) == id) shared.place = uint32_t(i);
    }
    ctx.sync();
    return int(shared.place);
  }

  SAMPLER_DEVICE float probability_at(int place, contract::RowState state) const {
    if (greedy_) return 1.0f;
    const bool is_changed = state == contract::RowState::kChanged;
    const float x = is_changed ? changed()[place] : contract::value_of_rank(shared.row.list[place]);
    return contract::relative_probability(scale_, x) * contract::normalizer(weight_);
  }

  const ExtendedVerifyRequest &request_;
  const Stream &stream_;
  contract::RowScale scale_ = {};
  uint64_t weight_ = 0;  // of the list, or of the changed row
  bool greedy_ = false;
};

// Decides a sequence, or leaves it to the general kernel. Called by a block.
template <class Context>
SAMPLER_DEVICE void run_decide(const Context &ctx, const ExtendedVerifyRequest &request,
                               const Stream &stream, const Chains &chains) {
  ctx.wait_for_launch_before();
  const int64_t sequence = ctx.team();
  bool is_left = false;
  SAMPLER_KEEP_ROLLED
  for (int i = ctx.thread(); i < chains.num_positions; i += Context::kThreads) {
    const uint32_t output = uint32_t(sequence * chains.num_positions + i);
    is_left = is_left || stream.lists.head(output)->count == ListHead::kLeft;
  }
  if (ctx.block_count(is_left) != 0) {
    if (ctx.thread() == 0)
      chains.left()[ctx.atomic_add(chains.num_left(), uint32_t(1))] = uint32_t(sequence);
    return;
  }
  DecidedRows<Context> rows(ctx, request, stream);
  contract::Verifier<DecidedRows<Context>> verifier(request, request.rules,
                                                    tree_of(request, chains, sequence), rows);
  verifier.run_sequence(sequence);
}

}  // namespace sampler::kernels
