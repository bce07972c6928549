// The residual of the target's row after a rejected draft: the operation that writes it, and the
// row that chain_speculative draws from. CPU twin: src/cpu/residual.
//
// Given probabilities of both models are read once, together: checked, and subtracted into shared
// memory if that holds the residual. Logits and candidates are read separately before.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "contract/draw.h"
#include "contract/elements.h"
#include "contract/request.h"
#include "machine/team.cuh"
#include "row/distribution.cuh"
#include "row/output.cuh"
#include "row/row.cuh"

namespace sampler::kernels {

using contract::ResidualRequest;

// Probabilities of one position, given or computed from logits.
struct Position {
  StoredRow stored;
  Distribution distribution;  // of logits

  SAMPLER_HD float probability(float x, uint32_t id) const {
    if (stored.kind == SAMPLER_PROBABILITIES) return x;
    return distribution.probability(x, contract::rank_of(x, id));
  }

  // Whether they are given by ascending id.
  SAMPLER_HD bool is_given() const { return stored.kind == SAMPLER_PROBABILITIES && !stored.ids; }

  // Index of the element with this id, or -1.
  SAMPLER_HD int find(int64_t id) const {
    if (!stored.ids) return id >= 0 && id < stored.count ? int(id) : -1;
    for (int i = 0; i < stored.count; ++i) {
      if (stored.id(i) == id) return i;
    }
    return -1;
  }

  SAMPLER_HD float probability_of(int64_t id) const {
    const int index = find(id);
    return index < 0 ? 0.0f : probability(stored.value(index), uint32_t(id));
  }
};

// Checks of given probabilities during a pass.
struct GivenCheck {
  float invalid = 0.0f;      // nonzero or NaN if any is no valid probability
  uint32_t target_bits = 0;  // bitwise OR of the target's

  // |x| - x is 0 of a valid one, 2 |x| of a negative one, NaN of NaN and +inf.
  SAMPLER_DEVICE void take(float p, float q) {
    invalid += (std::fabs(p) - p) + (std::fabs(q) - q);
    target_bits |= contract::bits_of(p);
  }
  SAMPLER_DEVICE bool is_valid() const { return invalid == 0.0f; }
  SAMPLER_DEVICE bool has_target() const { return (target_bits & ~contract::kSignBit) != 0; }
};

// For rows that are already checked.
struct NoCheck {
  SAMPLER_DEVICE void take(float, float) {}
};

// A row of probabilities: the target's, or the residual.
struct ResidualRow {
  static constexpr bool kIsCopied = false;

  Position target;
  Position draft;
  int64_t removed;  // id that a deterministic drafter proposed; -1: none
  bool has_draft;
  bool is_residual;
  int num_alike;  // elements that vectors hold at the same places in all rows read
  // Source members of passes over a row.
  const void *ids;
  int count;
  int lead;
  sampler_input_kind kind;

  // Called once the other members are set.
  SAMPLER_DEVICE void take_shape() {
    const StoredRow &p = target.stored, &q = draft.stored;
    ids = p.ids;
    count = p.count;
    lead = p.lead;
    kind = SAMPLER_PROBABILITIES;
    const bool is_alike = !takes_draft() || (p.dtype == q.dtype && p.lead == q.lead);
    const int num_common = takes_draft() && q.count < p.count ? q.count : p.count;
    num_alike = is_given() && is_alike ? num_common : 0;
  }

  SAMPLER_DEVICE bool takes_draft() const { return is_residual && has_draft; }

  // Whether all rows read are probabilities by ascending id.
  SAMPLER_DEVICE bool is_given() const {
    return target.is_given() && (!takes_draft() || draft.is_given());
  }

  SAMPLER_DEVICE int64_t id(int index) const { return target.stored.id(index); }
  SAMPLER_HD int log2_of_vector() const { return target.stored.log2_of_vector(); }
  SAMPLER_HD int unused_value_bits() const { return 0; }

  SAMPLER_DEVICE float value(int index) const {
    const uint32_t token = uint32_t(id(index));
    const float p = target.probability(target.stored.value(index), token);
    return residual(p, token, takes_draft() ? draft.probability_of(token) : 0.0f);
  }

  // This lane's group of the tile that begins at element `begin`; 0 outside the row. Given values
  // go through `check`.
  template <class Context, class Check>
  SAMPLER_DEVICE void fill(Context &ctx, int begin, float (&x)[kGroup], Check &check) const {
    if (begin >= 0 && begin + kTile <= num_alike) {
      if (target.stored.dtype == SAMPLER_F32) {
        fill_alike<SAMPLER_F32>(ctx, begin, x, check);
      } else if (target.stored.dtype == SAMPLER_BF16) {
        fill_alike<SAMPLER_BF16>(ctx, begin, x, check);
      } else {
        fill_alike<SAMPLER_F16>(ctx, begin, x, check);
      }
      return;
    }
    const int shift = log2_of_vector();
    for (int i = 0; i < kGroup; i += kQuad) {
      const Vector quad = load_quad(ctx, begin + place_in_tile(ctx.lane(), i, shift));
      for (int j = 0; j < kQuad; ++j) x[i + j] = contract::float_of(quad.word[j]);
    }
    if constexpr (!std::is_same_v<Check, NoCheck>) {
      if (!is_given()) return;
      SAMPLER_KEEP_ROLLED
      for (int i = 0; i < kGroup; ++i) {
        const int index = begin + place_in_tile(ctx.lane(), i, shift);
        if (index < 0 || index >= count) continue;
        const bool has_q = takes_draft() && index < draft.stored.count;
        check.take(target.stored.value(index), has_q ? draft.stored.value(index) : 0.0f);
      }
    }
  }
  template <class Context>
  SAMPLER_DEVICE void fill(Context &ctx, int begin, float (&x)[kGroup]) const {
    NoCheck none;
    fill(ctx, begin, x, none);
  }

  // Checks the elements of the draft's row beyond the target's; `thread` of `num_threads` does its
  // share.
  SAMPLER_DEVICE void check_rest(int thread, int num_threads, GivenCheck &check) const {
    if (!takes_draft() || !is_given()) return;
    for (int i = count + thread; i < draft.stored.count; i += num_threads) {
      check.take(0.0f, draft.stored.value(i));
    }
  }

 private:
  SAMPLER_DEVICE float residual(float p, uint32_t token, float q) const {
    if (!is_residual) return p;
    return !has_draft && int64_t(token) == removed ? 0.0f : contract::residual_probability(p, q);
  }

  // A group of given probabilities that vectors hold at the same places in both rows.
  template <sampler_dtype kDtype, class Context, class Check>
  SAMPLER_DEVICE void fill_alike(Context &ctx, int begin, float (&x)[kGroup], Check &check) const {
    constexpr int kShift = kDtype == SAMPLER_F32 ? 2 : 3, kElements = 1 << kShift;
    constexpr int kVectors = kGroup / kElements;
    const int first = begin + place_in_tile(ctx.lane(), 0, kShift);
    const Vector *from = target.stored.vector_at<kDtype>(first);
    Vector p[kVectors], q[kVectors] = {};
    for (int i = 0; i < kVectors; ++i) p[i] = ctx.load_vector(from + i * 32);
    if (takes_draft()) {
      from = draft.stored.vector_at<kDtype>(first);
      for (int i = 0; i < kVectors; ++i) q[i] = load_draft(ctx, from + i * 32);
    }
    for (int i = 0; i < kVectors; ++i) {
      float of_target[kElements], of_draft[kElements];
      widen_vector<kDtype>(p[i], of_target);
      widen_vector<kDtype>(q[i], of_draft);
      for (int j = 0; j < kElements; ++j) {
        check.take(of_target[j], of_draft[j]);
        x[i * kElements + j] = contract::residual_probability(of_target[j], of_draft[j]);
      }
    }
    if (is_residual && !has_draft && removed >= begin && removed < begin + kTile) {
      for (int i = 0; i < kGroup; ++i) {
        if (begin + place_in_tile(ctx.lane(), i, kShift) == int(removed)) x[i] = 0.0f;
      }
    }
  }
  // A name of its own distinguishes these loads from those of the first row.
  template <class Context>
  SAMPLER_DEVICE static Vector load_draft(Context &ctx, const Vector *from) {
    return ctx.load_vector(from);
  }

  // Elements [index, index + kQuad) of any rows, as f32; 0 outside the row.
  template <class Context>
  SAMPLER_DEVICE_CALL Vector load_quad(Context &ctx, int index) const {
    float x[kQuad], q[kQuad] = {};
    const bool draft_goes_on = !draft.stored.ids && index + kQuad <= draft.stored.count;
    if (ids || index < 0 || index + kQuad > count || (takes_draft() && !draft_goes_on)) {
      for (int i = 0; i < kQuad; ++i) {
        x[i] = index + i >= 0 && index + i < count ? value(index + i) : 0.0f;
      }
    } else {
      target.stored.load(ctx, index, x);
      if (takes_draft()) draft.stored.load(ctx, index, q);
      for (int i = 0; i < kQuad; ++i) {
        const uint32_t token = uint32_t(index + i);
        const float p = target.probability(x[i], token);
        x[i] = residual(p, token, takes_draft() ? draft.probability(q[i], token) : 0.0f);
      }
    }
    Vector raw;
    for (int i = 0; i < kQuad; ++i) raw.word[i] = contract::bits_of(x[i]);
    return raw;
  }
};

// Result of the pass over the rows. For given probabilities: whether any is invalid, and whether
// all of the target's are 0.
struct ResidualSummary {
  bool is_invalid;
  bool is_empty;
  Rank first;  // of the largest value

  SAMPLER_DEVICE bool is_zero() const {
    return first < contract::lowest_cut(SAMPLER_PROBABILITIES);
  }
};

template <class Context>
SAMPLER_DEVICE_CALL ResidualSummary load_residual(Team<Context> &team,
                                                  TeamRow<Context, ResidualRow> &row) {
  Context &ctx = team.ctx;
  GivenCheck check;
  const float own = row.load_made([&](const auto &row_, int tile, float(&x)[kGroup]) {
    row_.source().fill(ctx, row_.begin_of(tile), x, check);
  });
  row.source().check_rest(ctx.cluster_rank() * Context::kThreads + ctx.thread(),
                          ctx.team_size() * Context::kThreads, check);
  const uint64_t values[] = {ctx.block_max(contract::value_key(own)),
                             ctx.block_count(!check.is_valid()),
                             ctx.block_count(check.has_target())};
  const Exchanged all = team.exchange(values);
  return {all.sum(1) != 0, row.source().is_given() && all.sum(2) == 0,
          contract::rank_of_key(uint32_t(all.max(0)))};
}

template <class Context>
SAMPLER_DEVICE Distribution residual_distribution(Team<Context> &team,
                                                  const TeamRow<Context, ResidualRow> &row,
                                                  const ResidualSummary &found) {
  const RowSummary summary = {SAMPLER_ROW_OK, found.first, 0, 0};
  return unfiltered_distribution(team, row, summary, 1.0f);
}

template <class Context>
class ResidualTeam {
 public:
  SAMPLER_DEVICE ResidualTeam(Team<Context> &team, const ResidualRequest &request,
                              const RowCache &row_cache)
      : team_(team), request_(request), row_cache_(row_cache) {}

  SAMPLER_DEVICE void run(int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) run_row(row);
  }

 private:
  SAMPLER_DEVICE void run_row(int64_t index) {
    ResidualRow source = {};
    source.target.stored = stored_row(contract::row_view(request_.target, index));
    source.has_draft = request_.draft.values != nullptr;
    if (source.has_draft) {
      source.draft.stored = stored_row(contract::row_view(request_.draft, index));
    } else {
      source.removed = contract::load_id(request_.draft_token_ids, request_.token_id_type, index);
    }
    source.is_residual = source.removed >= 0 && source.removed < request_.target.num_cols;
    const uint32_t draft_status = source.is_residual ? SAMPLER_ROW_OK : SAMPLER_ROW_INVALID_DRAFT;
    uint32_t status = SAMPLER_ROW_OK;
    if (!write_good(index, source, &status)) {
      source.is_residual = false;
      write_good(index, source, &status);
    }
    if (status != SAMPLER_ROW_OK) write_bad(index);
    if (team_.is_first_thread() && request_.out_row_status) {
      request_.out_row_status[index] = status | draft_status;
    }
  }

  // Writes the row unless its status is bad. Returns false when the whole residual is zero.
  SAMPLER_DEVICE_CALL bool write_good(int64_t index, ResidualRow &source, uint32_t *status) {
    source.take_shape();
    TeamRow<Context, ResidualRow> row(team_.ctx, source, row_cache_);
    const ResidualSummary found = load_residual(team_, row);
    if (found.is_empty) {
      *status = SAMPLER_ROW_EMPTY;
    } else if (found.is_invalid) {
      *status = SAMPLER_ROW_INVALID_VALUE;
    } else if (found.is_zero()) {
      return false;
    } else {
      const Distribution all = residual_distribution(team_, row, found);
      write_probabilities(team_, output_rows(request_, request_.target.num_cols), index, row, all);
    }
    return true;
  }

  SAMPLER_DEVICE void write_bad(int64_t index) const {
    const OutputRows output = output_rows(request_, request_.target.num_cols);
    const int num_threads = team_.ctx.team_size() * Context::kThreads;
    for (int64_t i = team_.ctx.cluster_rank() * Context::kThreads + team_.ctx.thread();
         i < output.num_cols; i += num_threads) {
      output.store(index * output.stride + i, 0.0f);
    }
  }

  Team<Context> &team_;
  const ResidualRequest &request_;
  RowCache row_cache_;
};

}  // namespace sampler::kernels
