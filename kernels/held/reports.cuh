// Reports of a held row besides its token: of the distribution that the kind of log-probabilities
// names, and of the kept tokens. For rows beyond this: operations/reports.cuh.
#pragma once

#include <cstdint>

#include "contract/entropy.h"
#include "contract/reports.h"
#include "held/cut.cuh"
#include "operations/report_outputs.cuh"
#include "row/entropy.cuh"
#include "stages/staged.h"

namespace sampler::kernels {

template <class Context, bool kAnyKind = false>
class ReportBlock : protected CutBlock<Context, HeldSample, StagedSampleRequest, kAnyKind> {
 public:
  SAMPLER_DEVICE ReportBlock(const Context &context, const StagedSampleRequest &sample,
                             const Held &layout)
      : Cut(context, sample, layout), outputs(context, sample) {}

 protected:
  using Cut = CutBlock<Context, HeldSample, StagedSampleRequest, kAnyKind>;
  using Block = typename Cut::Block;
  using Cut::ctx;
  using Cut::request;
  using Cut::shared;
  using Row = typename Cut::Row;

  // Finds the row's largest value and, if it is good, what filters keep, as cut() does.
  SAMPLER_DEVICE bool find_kept(const Row &row, bool wants_weight = false) {
    this->set_maximum(this->checked(row, this->max_of_team(this->largest_by_bins(row))));
    ctx.sync();
    return this->state().status != SAMPLER_ROW_OK || this->cut(row, wants_weight);
  }

  SAMPLER_DEVICE_CALL bool find_kept_by_call(const Row &row, bool wants_weight = false) {
    return find_kept(row, wants_weight);
  }

  // Reports a distribution of the row in shared memory, from which token `id` was drawn.
  // `reported.weight` is the distribution's weight, or 0 if not known. False: the list does not
  // hold the top tokens, and reports are missing. The team must have passed a barrier since the row
  // was written; called by the whole team.
  SAMPLER_DEVICE bool report_distribution(const Row &row, contract::Reported reported,
                                          int64_t output, int64_t id) {
    const contract::Reports &to = request.wanted;
    const float value = this->value_in_team(row, int(id));
    const Sums sums = sums_of(row, reported, {value, int(id)});
    if (reported.weight == 0) reported.weight = sums.entropy.weight;
    if (outputs.is_first_thread()) {
      const bool has_token = reported.has(value, uint32_t(id));
      if (to.out_ranks) to.out_ranks[output] = has_token ? int32_t(sums.rank) : 0;
      if (to.out_entropies) {
        to.out_entropies[output] = reported.greedy ? 0.0f : contract::entropy_in_nats(sums.entropy);
      }
      if (request.out_logprobs && request.logprob_kind == SAMPLER_LOGPROB_EDITED) {
        request.out_logprobs[output] = reported.log_probability(value, uint32_t(id));
      }
    }
    if (to.wants_chosen()) {
      outputs.write_chosen(output, reported, [&](int64_t chosen, float *x) {
        const bool is_in = chosen >= 0 && chosen < row.count;
        if (is_in) *x = this->value_in_team(row, int(chosen));
        return is_in;
      });
    }
    return !to.wants_top() || report_top(row, reported, output);
  }

  // Reports the kept tokens of the row that was drawn from. Called by the whole team.
  SAMPLER_DEVICE void report_kept(const Row &row, const HeldDistribution &drawn, int64_t output) {
    const contract::Reports &to = request.wanted;
    const int num_words = (row.count + 31) / 32;
    if (to.out_kept_bitmask) {
      uint32_t *const words = outputs.bitmask(output);
      outputs.for_each(to.kept_bitmask_stride, [&](int64_t i) {
        words[i] = i < num_words ? kept_word(row, drawn.kept, int(i)) : 0;
      });
    }
    if (to.wants_kept_list()) list_kept(row, drawn, num_words, output);
  }

  ReportOutputs<const Context> outputs;

 private:
  struct Sums {
    contract::EntropySums entropy;  // the surprise only if wanted
    uint64_t rank;
  };

  // `token`: those up to the drawn one in rank order.
  SAMPLER_DEVICE Sums sums_of(const Row &row, const contract::Reported &reported,
                              const HeldKept &token) {
    const bool has_entropy = request.wanted.out_entropies && !reported.greedy;
    const HeldKept all = Cut::kept_from(reported.cut);
    const float nothing =
        this->kind() == SAMPLER_PROBABILITIES ? 0.0f : contract::negative_infinity();
    contract::EntropySums own;
    uint32_t rank = 0;
    this->for_each_tile(row, [&](int tile) {
      float x[kGroup];
      this->group(tile, x);
      SAMPLER_UNROLLED
      for (int i = 0; i < kGroup; ++i) {
        const int index = this->index_of(row, tile, i);
        rank += token.has(x[i], index) ? 1 : 0;
        if (!all.has(x[i], index)) x[i] = nothing;
      }
      if (has_entropy) {
        add_entropy_of_kind(reported.scale, x, &own);
      } else {
        contract::WeightSum weights;
        SAMPLER_UNROLLED
        for (int i = 0; i < kGroup; ++i) {
          weights.add(contract::relative_for_weight(reported.scale, x[i]));
        }
        own.weight += weights.of(kGroup);
      }
    });
    const uint64_t values[] = {this->sum_of_threads(own.weight, 1),
                               this->sum_of_threads(own.surprise, 0), this->sum_of_counts(rank, 1)};
    const auto *const of_team = this->exchange(values);
    return {{this->sum(of_team[0]), this->sum(of_team[1])}, this->sum(of_team[2])};
  }

  // False: the list does not hold the top tokens.
  SAMPLER_DEVICE bool report_top(const Row &row, const contract::Reported &reported,
                                 int64_t output) {
    const int num_top = int(request.wanted.num_top);
    ctx.sync();  // all have read the row's parameters
    if (ctx.thread() == 0) {
      shared.num_listed = 0;
      this->set_parameters({1.0f, num_top, 1.0f, 0.0f});
    }
    ctx.team_sync();
    if (!find_kept_by_call(row)) return false;
    if (!this->is_leader()) return true;
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < num_top; i += Context::kThreads) {
      if (i < this->count() && shared.row.list[i] >= reported.cut) {
        outputs.write_top(output, i, shared.row.list[i], reported);
      } else {
        outputs.write_no_top_at(output, i);
      }
    }
    return true;
  }

  // Which of the 32 tokens from 32 * `word` on are kept.
  SAMPLER_DEVICE_CALL uint32_t kept_word(const Row &row, const HeldKept &kept, int word) const {
    uint32_t bits = 0;
    SAMPLER_KEEP_ROLLED
    for (int i = 0; i < 32 && 32 * word + i < row.count; ++i) {
      const int index = 32 * word + i;
      bits |= kept.has(this->value_in_team(row, index), index) ? uint32_t(1) << i : 0;
    }
    return bits;
  }

  // Lists the kept tokens by ascending id: a thread has as many words as any other.
  SAMPLER_DEVICE void list_kept(const Row &row, const HeldDistribution &drawn, int num_words,
                                int64_t output) {
    const bool is_packed = request.wanted.are_lists_packed();
    const int num_threads = ctx.team_size() * Context::kThreads;
    const int each = (num_words + num_threads - 1) / num_threads;
    const int first = (ctx.cluster_rank() * Context::kThreads + ctx.thread()) * each;
    const int end = first + each < num_words ? first + each : num_words;
    uint64_t own = 0;
    SAMPLER_KEEP_ROLLED
    for (int word = first; word < end; ++word) {
      own += uint64_t(Context::count_bits(kept_word(row, drawn.kept, word)));
    }
    uint64_t of_block[1];
    uint64_t before = this->sum_before(own, 0, &of_block[0]);
    const auto *const counts = this->exchange(of_block);
    SAMPLER_KEEP_ROLLED
    for (int rank = 0; rank < ctx.cluster_rank(); ++rank) before += counts[0][rank];
    const int64_t count = int64_t(this->sum(counts[0]));
    uint64_t place[] = {0};
    if (is_packed) {
      const bool takes = outputs.is_first_thread();
      place[0] = this->sum_of_warps(takes ? outputs.take_places(output, count) : 0, 1);
      place[0] = this->exchange(place)[0][0];
    }
    const contract::KeptList list = outputs.list_of(output, count, place[0]);
    if (!is_packed) outputs.write_no_kept(output, list.has_room ? count : 0);
    if (!list.has_room) return;
    int64_t at = list.first + int64_t(before);
    SAMPLER_KEEP_ROLLED
    for (int word = first; word < end; ++word) {
      uint32_t bits = kept_word(row, drawn.kept, word);
      SAMPLER_KEEP_ROLLED
      for (; bits != 0; bits &= bits - 1, ++at) {
        const int index = 32 * word + Context::lowest_bit(bits);
        if (list.token_ids.data) contract::store_id(list.token_ids, at, index);
        if (list.probabilities) {
          list.probabilities[at] = drawn.probability(this->value_in_team(row, index), index);
        }
      }
    }
  }
};

}  // namespace sampler::kernels
