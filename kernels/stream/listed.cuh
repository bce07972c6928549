// Rows whose first tokens a stream has listed: a block a row runs its windows and adaptive stage on
// the list, draws, and reports what was kept. Of positions of drafts it runs the windows, and
// leaves the list to the kernel that decides.
#pragma once

#include <cstdint>

#include "contract/adaptive.h"
#include "contract/draw.h"
#include "contract/entropy.h"
#include "contract/philox.h"
#include "contract/reports.h"
#include "contract/request.h"
#include "contract/stages.h"
#include "contract/window_walk.h"
#include "machine/device.cuh"
#include "operations/report_outputs.cuh"
#include "stages/staged.h"
#include "stream/list_windows.cuh"
#include "stream/ranked_list.cuh"
#include "stream/stream.h"

namespace sampler::kernels {

// Queries of a listed row's windows. All threads of the block query alike. They have many callers,
// and are functions on their own.
template <class Context>
struct ListedTokens {
  using Window = contract::Window;
  using List = RankedList<Context, ListedShared>;
  using Windows = ListWindows<Context, ListedShared>;

  Context ctx;

  SAMPLER_DEVICE float value(int64_t place) const {
    return contract::value_of_rank(ctx.template shared<ListedShared>().row.list[place]);
  }

  SAMPLER_DEVICE_CALL static uint64_t weight(Context ctx, contract::RowScale row, Window seen) {
    const List list(ctx, ctx.template shared<ListedShared>());
    return Windows(list).weight(for_logits(row), seen);
  }
  SAMPLER_DEVICE_CALL static contract::EntropySums entropies(Context ctx, contract::RowScale row,
                                                             Window seen) {
    const List list(ctx, ctx.template shared<ListedShared>());
    return Windows(list).entropies(for_logits(row), seen);
  }
  SAMPLER_DEVICE_CALL static contract::CollisionSums collisions(Context ctx, contract::RowScale row,
                                                                Window seen) {
    const List list(ctx, ctx.template shared<ListedShared>());
    return Windows(list).collisions(for_logits(row), seen);
  }
  SAMPLER_DEVICE_CALL static contract::DeviationSums deviations(Context ctx, contract::RowScale row,
                                                                contract::DeviationScale unit,
                                                                Window seen) {
    const List list(ctx, ctx.template shared<ListedShared>());
    return Windows(list).deviations(for_logits(row), unit, seen);
  }
  template <class Holds>
  SAMPLER_DEVICE_CALL static int64_t count_while(Context ctx, Window seen, Holds holds) {
    const uint64_t *const list = ctx.template shared<ListedShared>().row.list;
    return count_of_places(seen.begin, seen.end, [&](int64_t place) {
      return holds(contract::value_of_rank(list[place]));
    });
  }
  // Adds up the list; returns the weight of a window.
  SAMPLER_DEVICE_CALL static uint64_t add_up(Context ctx, contract::RowScale row, Window seen) {
    const List list(ctx, ctx.template shared<ListedShared>());
    ctx.sync();  // a stage before may have read other sums
    list.add_up(for_logits(row));
    return Windows(list).summed_weight(seen);
  }
  SAMPLER_DEVICE static int64_t count_reaching(const Context &ctx, uint64_t least, Window seen) {
    const List list(ctx, ctx.template shared<ListedShared>());
    return Windows(list).count_reaching(least, seen);
  }
  // `rule.row` is the list's scale.
  SAMPLER_DEVICE static Window nearest(const Context &ctx, const contract::Typical &rule,
                                       Window seen) {
    const List list(ctx, ctx.template shared<ListedShared>());
    contract::Typical of_logits = rule;
    of_logits.row = for_logits(rule.row);
    return Windows(list).nearest(of_logits, seen);
  }

 private:
  SAMPLER_DEVICE static contract::RowScale for_logits(const contract::RowScale &row) {
    return {SAMPLER_LOGITS, row.max, row.scale, 0};
  }
};

// A block with its row.
template <class Context>
class ListedBlock : RankedList<Context, ListedShared> {
 public:
  SAMPLER_DEVICE ListedBlock(const Context &context, const StagedSampleRequest &sample,
                             const Stream &layout)
      : List(context, context.template shared<ListedShared>()),
        request_(sample),
        stream_(layout),
        outputs_(context, sample),
        output_(context.team()) {}

  SAMPLER_DEVICE void run() {
    ctx.wait_for_launch_before();
    const ListHead head = *stream_.lists.head(uint32_t(output_));
    if (head.count == ListHead::kLeft) return;
    const int64_t slot = request_.slots[output_];
    contract::RowParameters parameters;
    const uint32_t status = status_of(head, slot, &parameters);
    if (status != SAMPLER_ROW_OK) return end_with(status);
    load_list(int(head.count));
    contract::Staged kept = {{0, 1}, parameters.temperature};
    if (!contract::is_greedy(parameters.temperature)) kept = keep(parameters, slot);
    if (may_lack(kept.window)) return leave();
    take(kept.window);
    if (stream_.lists.are_of_positions()) {
      hand_on(kept);
    } else {
      draw(kept.temperature, slot);
    }
  }

 private:
  using List = RankedList<Context, ListedShared>;
  using List::ctx, List::shared, List::count;
  using Tokens = ListedTokens<Context>;
  using Window = contract::Window;

  // What is drawn from: the list, whose tokens have these weights.
  struct Drawn {
    contract::RowScale scale;
    uint64_t weight;  // of all; of a greedy row it is not known
    bool greedy;
  };

  SAMPLER_DEVICE void end_with(uint32_t status) const {
    if (!stream_.lists.are_of_positions()) return outputs_.write_bad(output_, status);
    ctx.sync();  // all have read the head
    if (ctx.thread() == 0) stream_.lists.head(uint32_t(output_))->status = status;
  }

  // Leaves what is kept, and its weight.
  SAMPLER_DEVICE void hand_on(const contract::Staged &kept) const {
    const float first = contract::value_of_rank(shared.row.list[0]);
    uint64_t weight = 0;
    if (!contract::is_greedy(kept.temperature)) {
      const contract::RowScale scale = contract::logits_row_scale(first, kept.temperature);
      weight = Tokens::weight(ctx, scale, {0, count()});
    }
    uint64_t *const ranks = stream_.lists.ranks(uint32_t(output_));
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < count() && kept.window.begin > 0; i += Context::kThreads) {
      ranks[i] = shared.row.list[i];
    }
    if (ctx.thread() == 0) {
      *stream_.lists.head(uint32_t(output_)) = {SAMPLER_ROW_OK, uint32_t(count()), weight,
                                                kept.temperature};
    }
  }

  // The row's status. Its parameters come before its values.
  SAMPLER_DEVICE uint32_t status_of(const ListHead &head, int64_t slot,
                                    contract::RowParameters *parameters) const {
    if (head.status == SAMPLER_ROW_INVALID_INDEX) return head.status;
    const uint32_t status = contract::read_parameters(request_, slot, parameters);
    if (status != SAMPLER_ROW_OK) return status;
    if (!request_.stages.has_valid_numbers(slot, SAMPLER_LOGITS)) {
      return SAMPLER_ROW_INVALID_PARAMETER;
    }
    *parameters = request_.stages.adapted(*parameters, slot);
    return head.status;
  }

  SAMPLER_DEVICE void load_list(int num) const {
    const uint64_t *const ranks = stream_.lists.ranks(uint32_t(output_));
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < num; i += Context::kThreads) shared.row.list[i] = ranks[i];
    if (ctx.thread() == 0) shared.num_listed = uint32_t(num);
    ctx.sync();
  }

  // What the windows, or the filters, keep of the list.
  SAMPLER_DEVICE contract::Staged keep(const contract::RowParameters &parameters,
                                       int64_t slot) const {
    const contract::Pipeline &stages = request_.stages;
    const contract::FilterRules &rules = request_.parameters.rules;
    const Tokens tokens = {ctx};
    const contract::StageRunner<Tokens> runner(tokens, SAMPLER_LOGITS, parameters,
                                               stages.window_numbers(slot), rules,
                                               stages.window_rules, request_.input.num_cols);
    return runner.run(stream_.lists.order, count(), xtc_word(slot));
  }
  SAMPLER_DEVICE uint32_t xtc_word(int64_t slot) const {
    // Positions have that of the sequence, by number.
    const uint32_t num_positions = uint32_t(stream_.lists.num_positions);
    const contract::RandomStream random =
        num_positions > 0 ? request_.random.of(slot) : request_.stream_of(output_, slot);
    const uint32_t index = num_positions > 0 ? uint32_t(output_) % num_positions : 0;
    return contract::random_word32(random, contract::Purpose::kXtc, index);
  }

  // Whether tokens that are not in the list may be kept, too: mirostat v1 alone finds how many.
  SAMPLER_DEVICE bool may_lack(Window kept) const {
    return stream_.lists.by == SAMPLER_STAGE_ADAPTIVE && count() == stream_.lists.num_tokens &&
           kept.end == count();
  }
  SAMPLER_DEVICE void leave() const {
    if (ctx.thread() != 0) return;
    stream_.left()[ctx.atomic_add(&stream_.head()->num_left, uint32_t(1))] = uint32_t(output_);
  }

  // Drops from the list what is not in a window.
  SAMPLER_DEVICE void take(Window kept) const {
    const int num = int(kept.count());
    SAMPLER_KEEP_ROLLED
    for (int first = 0; first < num && kept.begin > 0; first += Context::kThreads) {
      const int i = first + ctx.thread();
      const Rank rank = i < num ? shared.row.list[kept.begin + i] : 0;
      ctx.sync();
      if (i < num) shared.row.list[i] = rank;
      ctx.sync();
    }
    ctx.sync();
    if (ctx.thread() == 0) shared.num_listed = uint32_t(num);
    ctx.sync();
  }

  SAMPLER_DEVICE void draw(float temperature, int64_t slot) {
    const float first = contract::value_of_rank(shared.row.list[0]);
    const contract::AdaptiveRules rules = request_.stages.adaptive.of(slot);
    Drawn drawn = {contract::logits_row_scale(first, temperature), 0,
                   contract::is_greedy(temperature)};
    contract::Reweighing reweighing = {};
    if (drawn.greedy) {
      if (ctx.thread() == 0) shared.id = contract::id_of_rank(shared.row.list[0]);
    } else {
      drawn.weight = Tokens::add_up(ctx, drawn.scale, {0, count()});
      if (rules.reweighs()) {
        reweighing =
            contract::reweighing(request_.stages.values(slot), rules, drawn.scale, drawn.weight);
        drawn.scale = contract::logits_row_scale(reweigh(reweighing), 1.0f);
        drawn.weight = Tokens::add_up(ctx, drawn.scale, {0, count()});
      }
      const uint64_t word =
          contract::random_word64(request_.stream_of(output_, slot), contract::Purpose::kSample, 0);
      this->draw_by_id(count(), contract::draw_target(word, drawn.weight), request_.input.num_cols,
                       [&](uint32_t id) { shared.id = id; });
    }
    ctx.sync();
    const uint32_t id = shared.id;
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < count(); i += Context::kThreads) {
      if (contract::id_of_rank(shared.row.list[i]) == id) shared.place = uint32_t(i);
    }
    ctx.sync();
    const contract::Reported reported = {drawn.scale, shared.row.list[count() - 1], drawn.weight,
                                         drawn.greedy, shared.row.list[0]};
    if (ctx.thread() == 0) write(drawn, reported, rules, reweighing);
    report(drawn, reported);
  }

  // Gives the list's tokens their new logits, and sorts them anew. Returns the largest.
  SAMPLER_DEVICE float reweigh(const contract::Reweighing &stage) const {
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < count(); i += Context::kThreads) {
      const Rank rank = shared.row.list[i];
      shared.given[i] = rank;
      const float y = stage.logit(contract::value_of_rank(rank));
      shared.row.list[i] = contract::rank_of(y, contract::id_of_rank(rank));
    }
    ctx.sync();
    this->sort();
    return contract::value_of_rank(shared.row.list[0]);
  }

  // ---- Outputs ----------------------------------------------------------------------------------

  // Called by one thread.
  SAMPLER_DEVICE void write(const Drawn &drawn, const contract::Reported &reported,
                            const contract::AdaptiveRules &rules,
                            const contract::Reweighing &reweighing) const {
    const uint32_t id = shared.id;
    const float value = contract::value_of_rank(shared.row.list[shared.place]);
    if (request_.out_token_ids.data) {
      contract::store_id(request_.out_token_ids, output_, int64_t(id));
    }
    if (request_.out_kept_counts) request_.out_kept_counts[output_] = count();
    if (request_.out_row_status) request_.out_row_status[output_] = SAMPLER_ROW_OK;
    if (request_.out_logprobs) {
      request_.out_logprobs[output_] = reported.log_probability(value, id);
    }
    if (request_.out_values) {
      const contract::Rows &input = request_.input;
      const int64_t row = request_.row_indices ? request_.row_indices[output_] : output_;
      request_.out_values[output_] =
          contract::load_value(input.values, input.dtype, row * input.stride + id);
    }
    if (!request_.out_observations) return;
    float observation = contract::quiet_nan();
    if (!drawn.greedy && rules.is_mirostat()) {
      observation = contract::surprise(contract::relative_log2(drawn.scale, value), drawn.weight);
    } else if (!drawn.greedy && rules.is_adaptive_p()) {
      int place = 0;
      SAMPLER_KEEP_ROLLED
      while (contract::id_of_rank(shared.given[place]) != id) ++place;
      observation = reweighing.adaptive_p.probability(contract::value_of_rank(shared.given[place]));
    }
    request_.out_observations[output_] = observation;
  }

  SAMPLER_DEVICE void report(const Drawn &drawn, const contract::Reported &reported) const {
    const contract::Reports &to = request_.wanted;
    if (to.wants_top()) {
      outputs_.for_each(to.num_top, [&](int64_t i) {
        if (i < count()) {
          outputs_.write_top(output_, i, shared.row.list[i], reported);
        } else {
          outputs_.write_no_top_at(output_, i);
        }
      });
    }
    if (to.wants_chosen()) {
      outputs_.write_chosen(output_, reported, [&](int64_t id, float *x) {
        *x = contract::negative_infinity();
        SAMPLER_KEEP_ROLLED
        for (int i = 0; i < count(); ++i) {
          const Rank rank = shared.row.list[i];
          if (int64_t(contract::id_of_rank(rank)) == id) *x = contract::value_of_rank(rank);
        }
        return id >= 0 && id < request_.input.num_cols;
      });
    }
    if (to.out_ranks && ctx.thread() == 0) to.out_ranks[output_] = int32_t(shared.place) + 1;
    if (to.out_entropies) {
      contract::EntropySums sums;
      if (!drawn.greedy) sums = Tokens::entropies(ctx, drawn.scale, {0, count()});
      if (ctx.thread() == 0) {
        to.out_entropies[output_] = drawn.greedy ? 0.0f : contract::entropy_in_nats(sums);
      }
    }
    if (request_.reports_kept()) report_kept(drawn);
  }

  // Reports the kept tokens, by ascending id.
  SAMPLER_DEVICE void report_kept(const Drawn &drawn) const {
    const contract::Reports &to = request_.wanted;
    const int num = count();
    const float normalizer = drawn.greedy ? 1.0f : contract::normalizer(drawn.weight);
    if (to.out_kept_bitmask) outputs_.clear_bitmask(output_);
    if (ctx.thread() == 0) {
      shared.first_kept = to.are_lists_packed() ? outputs_.take_places(output_, num) : 0;
    }
    ctx.sync();
    const contract::KeptList list = outputs_.list_of(output_, num, shared.first_kept);
    if (to.wants_kept_list() && !to.are_lists_packed()) {
      outputs_.write_no_kept(output_, list.has_room ? num : 0);
    }
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < num; i += Context::kThreads) {
      const Rank rank = shared.row.list[i];
      const uint32_t id = contract::id_of_rank(rank);
      int place = 0;
      SAMPLER_KEEP_ROLLED
      for (int j = 0; j < num; ++j) {
        place += contract::id_of_rank(shared.row.list[j]) < id ? 1 : 0;
      }
      shared.ids[place] = id;
      if (!to.wants_kept_list() || !list.has_room) continue;
      if (list.token_ids.data) contract::store_id(list.token_ids, list.first + place, int64_t(id));
      if (list.probabilities) {
        const float x = contract::value_of_rank(rank);
        list.probabilities[list.first + place] =
            drawn.greedy ? 1.0f : contract::relative_probability(drawn.scale, x) * normalizer;
      }
    }
    if (!to.out_kept_bitmask) return;
    ctx.sync();
    uint32_t *const words = outputs_.bitmask(output_);
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < num; i += Context::kThreads) {
      const uint32_t word = shared.ids[i] / 32;
      const bool is_first = i == 0 || shared.ids[i - 1] / 32 != word;  // else another thread's
      if (!is_first || int64_t(word) >= to.kept_bitmask_stride) continue;
      uint32_t bits = 0;
      SAMPLER_KEEP_ROLLED
      for (int j = i; j < num && shared.ids[j] / 32 == word; ++j) {
        bits |= uint32_t(1) << (shared.ids[j] % 32);
      }
      words[word] = bits;
    }
  }

  const StagedSampleRequest &request_;
  const Stream &stream_;
  ReportOutputs<const Context> outputs_;
  int64_t output_;
};

template <class Context>
SAMPLER_DEVICE void run_listed(const Context &ctx, const StagedSampleRequest &request,
                               const Stream &stream) {
  ListedBlock<Context>(ctx, request, stream).run();
}

}  // namespace sampler::kernels

namespace sampler::contract {

template <class Context>
class WindowWalk<kernels::ListedTokens<Context>> {
 public:
  using Tokens = kernels::ListedTokens<Context>;

  SAMPLER_DEVICE explicit WindowWalk(const Tokens &tokens) : ctx_(tokens.ctx) {}

  SAMPLER_DEVICE uint64_t weight(const RowScale &row, Window seen) const {
    return Tokens::weight(ctx_, row, seen);
  }
  SAMPLER_DEVICE EntropySums sums(const RowScale &row, Window seen) const {
    return Tokens::entropies(ctx_, row, seen);
  }
  SAMPLER_DEVICE CollisionSums collisions(const RowScale &row, Window seen) const {
    return Tokens::collisions(ctx_, row, seen);
  }
  SAMPLER_DEVICE DeviationSums deviations(const RowScale &row, const DeviationScale &unit,
                                          Window seen) const {
    return Tokens::deviations(ctx_, row, unit, seen);
  }
  template <class Holds>
  SAMPLER_DEVICE int64_t count_while(Window seen, const Holds &holds) const {
    return Tokens::count_while(ctx_, seen, holds);
  }
  SAMPLER_DEVICE int64_t top_p(const RowScale &row, Share share, Window seen) const {
    const uint64_t least = top_p_threshold(share, Tokens::add_up(ctx_, row, seen));
    return Tokens::count_reaching(ctx_, least, seen);
  }
  SAMPLER_DEVICE Window nearest(const Typical &rule, Window seen) const {
    return Tokens::nearest(ctx_, rule, seen);
  }

 private:
  Context ctx_;
};

}  // namespace sampler::contract
