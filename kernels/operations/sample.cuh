// One token per output row: sample, top_k, top_p, min_p, top_k_top_p, argmax.
//
// A team processes a run of output rows. A row is read from device memory once if the team's shared
// memory holds it, else once per pass. Consecutive outputs with the same row and parameters share
// its preparation.
#pragma once

#include <cstdint>

#include "contract/draw.h"
#include "contract/elements.h"
#include "contract/log2.h"
#include "contract/request.h"
#include "machine/team.cuh"
#include "row/distribution.cuh"
#include "row/draw.cuh"
#include "row/row.cuh"

namespace sampler::kernels {

using contract::SampleRequest;

SAMPLER_HD inline int64_t input_row(const SampleRequest &request, int64_t output) {
  return request.row_indices ? request.row_indices[output] : output;
}

SAMPLER_HD inline bool same_bits(const RowParameters &a, const RowParameters &b) {
  return contract::bits_of(a.temperature) == contract::bits_of(b.temperature) &&
         a.top_k == b.top_k && contract::bits_of(a.top_p) == contract::bits_of(b.top_p) &&
         contract::bits_of(a.min_p) == contract::bits_of(b.min_p);
}

template <class Context>
class SampleTeam {
 public:
  SAMPLER_DEVICE SampleTeam(Team<Context> &team, const SampleRequest &request,
                            const RowCache &row_cache)
      : team_(team), request_(request), row_cache_(row_cache) {}

  // Output rows [begin, end).
  SAMPLER_DEVICE void run(int64_t begin, int64_t end) {
    next_ = begin;
    end_ = end;
    while (next_ < end_ || take_listed()) run_shared();
  }

  // From now on also processes rows of a list: teams take turns, this one starts at its own index.
  SAMPLER_DEVICE void take_list(const uint32_t *list, uint32_t num_rows) {
    list_ = list;
    place_ = uint32_t(team_.ctx.team());
    num_places_ = num_rows;
  }

 protected:
  using Row = TeamRow<Context, StoredRow>;

  // Moves to the next row of the list, if there is one.
  SAMPLER_DEVICE bool take_listed() {
    if (!list_ || place_ >= num_places_) return false;
    next_ = list_[place_];
    end_ = next_ + 1;
    place_ += uint32_t(team_.ctx.num_teams());
    return true;
  }

  // Processes the outputs, from the next one on, that share its row and parameters.
  SAMPLER_DEVICE void run_shared() {
    output_ = next_++;
    const int64_t index = input_row(request_, output_);
    uint32_t status = SAMPLER_ROW_INVALID_INDEX;
    if (index >= 0 && index < request_.input.num_rows) {
      status = contract::read_parameters(request_, request_.slots[output_], &parameters_);
    }
    if (status != SAMPLER_ROW_OK) {
      write_bad(status);
      return;
    }
    const StoredRow stored = stored_row(contract::row_view(request_.input, index));
    while (request_.row_indices && next_ < end_ && input_row(request_, next_) == index &&
           has_parameters(next_)) {
      ++next_;
    }
    if (!contract::has_valid_count(stored, request_.input.num_cols)) {
      write_bad(SAMPLER_ROW_INVALID_CANDIDATE);
    } else {
      run_row(stored);
    }
  }

  SAMPLER_DEVICE bool has_parameters(int64_t output) const {
    const int64_t slot = request_.slots[output];
    return request_.slots.has(slot) && same_bits(request_.parameters.of(slot), parameters_);
  }

  SAMPLER_DEVICE void run_row(const StoredRow &stored) {
    Row row(team_.ctx, stored, row_cache_);
    const RowSummary summary = load_row(team_, row, wanted_group_maxima(parameters_, stored.count));
    if (summary.status != SAMPLER_ROW_OK) {
      write_bad(summary.status);
      return;
    }
    raw_weight_ = has_raw_logprobs() ? total_weight(team_, row, summary) : 0;
    ListState list;
    const Distribution distribution = make_distribution(
        team_, row, summary, parameters_, request_.parameters.rules, &list, wanted_of_kept());
    write_tokens(row, summary, distribution, list);
  }

  SAMPLER_DEVICE bool has_raw_logprobs() const {
    return request_.out_logprobs && request_.logprob_kind == SAMPLER_LOGPROB_RAW;
  }

  SAMPLER_DEVICE void write_tokens(const Row &row, const RowSummary &summary,
                                   const Distribution &distribution, const ListState &list) {
    if (distribution.greedy) {
      const Token token = {contract::id_of_rank(distribution.cut),
                           value_at(team_, row, distribution.cut)};
      for (; output_ < next_; ++output_) write_good(token, summary, distribution);
      return;
    }
    const DrawSource source = is_gumbel() ? DrawSource() : prepare_draw(team_, distribution, list);
    for (; output_ < next_; ++output_) {
      write_drawn(row, draw(row, distribution, list, source, random_stream()), summary,
                  distribution);
    }
  }

  SAMPLER_DEVICE contract::RandomStream random_stream() const {
    return request_.stream_of(output_, request_.slots[output_]);
  }

  SAMPLER_DEVICE void write_drawn(const Row &row, const Token &drawn, const RowSummary &summary,
                                  const Distribution &distribution) const {
    Token token = drawn;
    if (request_.out_values) {
      token.value = value_at(team_, row, contract::rank_of(token.value, token.id));
    }
    write_good(token, summary, distribution);
  }

  SAMPLER_DEVICE bool is_gumbel() const { return request_.draw_method == SAMPLER_DRAW_GUMBEL; }

  // Sums of the kept tokens that the draw and the outputs need.
  SAMPLER_DEVICE Wanted wanted_of_kept() const {
    const bool logprobs = request_.out_logprobs && request_.logprob_kind != SAMPLER_LOGPROB_RAW;
    return {request_.out_kept_counts != nullptr, !is_gumbel() || logprobs};
  }

  template <class Stream>
  SAMPLER_DEVICE Token draw(const Row &row, const Distribution &distribution, const ListState &list,
                            const DrawSource &source, const Stream &random) {
    if (is_gumbel()) return draw_gumbel(team_, row, distribution, list, random);
    const uint64_t word = contract::random_word64(random, contract::Purpose::kSample, 0);
    return draw_inverse_cdf(team_, row, distribution, source,
                            contract::draw_target(word, distribution.kept_weight));
  }

  SAMPLER_DEVICE_CALL void write_bad(uint32_t status) const {
    if (!team_.is_leader()) return;
    for (int64_t output = output_ + team_.ctx.thread(); output < next_;
         output += Context::kThreads) {
      if (request_.out_token_ids.data) {
        contract::store_id(request_.out_token_ids, output, request_.bad_row_token);
      }
      if (request_.out_kept_counts) request_.out_kept_counts[output] = 0;
      if (request_.out_logprobs) request_.out_logprobs[output] = contract::quiet_nan();
      if (request_.out_values) request_.out_values[output] = contract::quiet_nan();
      if (request_.out_row_status) request_.out_row_status[output] = status;
    }
  }

  SAMPLER_DEVICE float logprob(const Token &token, const RowSummary &summary,
                               const Distribution &distribution) const {
    if (request_.logprob_kind == SAMPLER_LOGPROB_RAW) {
      const RowScale at_1 =
          contract::row_scale(request_.input.kind, contract::value_of_rank(summary.first), 1.0f);
      return contract::log_probability(at_1, token.value, raw_weight_);
    }
    if (distribution.greedy) return 0.0f;
    return contract::log_probability(distribution.scale, token.value, distribution.kept_weight);
  }

  SAMPLER_DEVICE_CALL void write_good(const Token &token, const RowSummary &summary,
                                      const Distribution &distribution) const {
    if (!team_.is_first_thread()) return;
    const int64_t output = output_;
    contract::store_id(request_.out_token_ids, output, token.id);
    if (request_.out_kept_counts)
      request_.out_kept_counts[output] = int32_t(distribution.kept_count);
    if (request_.out_logprobs) {
      request_.out_logprobs[output] = logprob(token, summary, distribution);
    }
    if (request_.out_values) request_.out_values[output] = token.value;
    if (request_.out_row_status) request_.out_row_status[output] = SAMPLER_ROW_OK;
  }

  Team<Context> &team_;
  const SampleRequest &request_;
  RowCache row_cache_;
  // Kept in memory: the passes need the registers.
  int64_t output_;  // first not yet written of those prepared together
  int64_t next_;    // first after them
  int64_t end_;
  const uint32_t *list_ = nullptr;
  uint32_t place_ = 0;  // of the next row in the list
  uint32_t num_places_ = 0;
  RowParameters parameters_ = {};
  uint64_t raw_weight_;
};

}  // namespace sampler::kernels
