// Lists a streamed row's first tokens, found by the largest values of its groups.
#pragma once

#include <cstdint>

#include "contract/log2.h"
#include "contract/rank.h"
#include "machine/device.cuh"
#include "row/row.cuh"
#include "stream/stream.h"
#include "stream/streamed_row.cuh"
#include "stream/values.cuh"

namespace sampler::kernels {

// The list of a row's first tokens, up to their order.
template <class Context, sampler_dtype kDtype, StreamKind kKind>
class StreamListing : protected StreamValues<Context, kDtype, kKind> {
 protected:
  using Base = StreamValues<Context, kDtype, kKind>;
  using Base::Base;
  using Base::ctx, Base::item, Base::kBinsOfThread, Base::kEdits, Base::kInput, Base::nth_largest,
      Base::request, Base::reserve, Base::selected_of, Base::shared, Base::state, Base::stream,
      Base::values_of;
  using typename Base::Row;
  using typename Base::VectorValues;

  static constexpr int kBinsAtOnce = kDtype == SAMPLER_F32 ? 4 : 2;
  static constexpr uint32_t kNoValue = 0xFF800000u;  // the bits of -inf

  SAMPLER_DEVICE int groups_of_bin() const { return kernels::groups_of_bin(stream.num_groups()); }

  // Loads the keys of the bins' largest values. Returns this thread's largest.
  SAMPLER_DEVICE uint32_t load_bins(int size) const {
    const float *const maxima = stream.maxima(item().slot);
    const int num_groups = stream.num_groups();
    uint32_t own = 0;
    if (size == 4) {
      SAMPLER_SOME_UNROLLED
      for (int bin = ctx.thread(); bin < kStreamedTokens; bin += Context::kThreads) {
        float max = contract::negative_infinity();
        if (4 * bin < num_groups) {  // num_groups is a multiple of 32
          const Vector raw[1] = {
              ctx.load_fresh(reinterpret_cast<const Vector *>(&maxima[4 * bin]))};
          max = largest<SAMPLER_F32, Context>(raw);
        }
        const uint32_t key = key_or_bad(max);
        shared.row.bins.keys[bin] = key;
        if (key > own) own = key;
      }
      return own;
    }
    SAMPLER_KEEP_ROLLED
    for (int bin = ctx.thread(); bin < kStreamedTokens; bin += Context::kThreads) {
      float max = contract::negative_infinity();
      SAMPLER_KEEP_ROLLED
      for (int i = bin * size; i < (bin + 1) * size && i < num_groups; ++i) {
        max = Context::larger(max, ctx.load_fresh(&maxima[i]));
      }
      const uint32_t key = key_or_bad(max);
      shared.row.bins.keys[bin] = key;
      if (key > own) own = key;
    }
    return own;
  }

  // A key that at least the wanted number of tokens reach, and not many more.
  // `max_key`: of the row's largest value.
  SAMPLER_DEVICE uint32_t bound_of_list(StreamNeed what, uint32_t own, uint32_t max_key) const {
    const contract::RowParameters &row = state().parameters;
    const bool is_by_k =
        !keeps_all(row.top_k, request.input.num_cols) && !contract::is_greedy(row.temperature);
    int wanted = is_by_k ? row.top_k : 0;
    if (this->hands_on()) wanted = stream.lists.tokens_of(row);
    uint32_t most = ~uint32_t(0);
    if (state().is_by_min_p) {
      most = bound_of_min_p(max_key);
      if (this->num_top() == 0) return most;
      wanted = 0;
    }
    if (this->num_top() > wanted) wanted = this->num_top();
    if (what == StreamNeed::kTotal) {
      const int bins =
          stream.num_groups() < kStreamedTokens ? stream.num_groups() : kStreamedTokens;
      const int of_p = kPivotRank < bins / 2 ? kPivotRank : bins / 2;
      if (of_p > wanted) wanted = of_p;
    }
    uint32_t key;
    if (wanted <= Context::kThreads / 2) {
      const uint32_t keys[1] = {own};
      key = nth_largest(keys, wanted);
    } else {
      uint32_t keys[kBinsOfThread];
      SAMPLER_UNROLLED
      for (int i = 0; i < kBinsOfThread; ++i) {
        keys[i] = shared.row.bins.keys[i * Context::kThreads + ctx.thread()];
      }
      key = nth_largest(keys, wanted);
    }
    return at_least_lowest(Base::kReports && key > most ? most : key);
  }
  // A key that all tokens reach which min-p keeps.
  SAMPLER_DEVICE uint32_t bound_of_min_p(uint32_t max_key) const {
    if constexpr (Base::kWeighs) return contract::value_key(state().bound);
    constexpr float kMargin = 0.01f;  // above the errors of both logarithms
    const contract::RowParameters &row = state().parameters;
    const float min_p = row.min_p < 1.0f ? row.min_p : 1.0f;
    ctx.sync();  // the scale is set
    const float scale = this->scale_of_min_p().scale;
    const float bits = contract::log2_shifted(min_p, 0) - kMargin;
    const float lowest = contract::value_of_key(max_key) + bits / scale;
    return at_least_lowest(contract::value_key(lowest));
  }
  SAMPLER_DEVICE static uint32_t at_least_lowest(uint32_t key) {
    const uint32_t lowest = contract::key_of_rank(contract::lowest_cut(kInput));
    return key > lowest ? key : lowest;
  }

  // Lists the groups whose maxima reach the bound. False: too many.
  SAMPLER_DEVICE bool list_groups(int size, uint32_t bound) const {
    const float *const maxima = stream.maxima(item().slot);
    const float least = contract::value_of_key(bound);
    const int num_groups = stream.num_groups();  // a multiple of 32
    ctx.sync();
    SAMPLER_KEEP_ROLLED
    for (int first = 0; first < kStreamedTokens; first += kBinsAtOnce * Context::kThreads) {
      SAMPLER_KEEP_ROLLED
      for (int part = 0; part < size; part += 4) {  // four groups of each bin
        Vector raw[kBinsAtOnce] = {};
        uint32_t hits = 0;
        SAMPLER_UNROLLED
        for (int i = 0; i < kBinsAtOnce; ++i) {
          const int bin = first + i * Context::kThreads + ctx.thread();
          const int group = bin * size + part;
          const bool is_wanted = shared.row.bins.keys[bin] >= bound && group < num_groups;
          if (!is_wanted) continue;
          if (size >= 4) {
            raw[i] = ctx.load_fresh(reinterpret_cast<const Vector *>(&maxima[group]));
          }
          SAMPLER_UNROLLED
          for (int j = 0; j < 4; ++j) {
            if (size < 4) {
              raw[i].word[j] =
                  j < size ? contract::bits_of(ctx.load_fresh(&maxima[group + j])) : kNoValue;
            }
          }
        }
        SAMPLER_UNROLLED
        for (int i = 0; i < kBinsAtOnce; ++i) {
          const int bin = first + i * Context::kThreads + ctx.thread();
          const bool is_wanted =
              shared.row.bins.keys[bin] >= bound && bin * size + part < num_groups;
          SAMPLER_UNROLLED
          for (int j = 0; j < 4; ++j) {
            const bool is_hit = is_wanted && contract::float_of(raw[i].word[j]) >= least;
            hits |= is_hit ? 1u << (4 * i + j) : 0;
          }
        }
        uint32_t place = reserve(&shared.num_groups, uint32_t(Context::count_bits(hits)));
        SAMPLER_KEEP_ROLLED
        for (; hits != 0 && place < uint32_t(kStreamedTokens); ++place) {
          const int hit = Context::lowest_bit(hits);
          hits &= hits - 1;
          const int bin = first + hit / 4 * Context::kThreads + ctx.thread();
          shared.row.bins.groups[place] = uint32_t(bin * size + part + hit % 4);
        }
      }
    }
    ctx.sync();
    return shared.num_groups <= uint32_t(kStreamedTokens);
  }

  // Lists these groups' tokens that reach the bound. False: too many.
  SAMPLER_DEVICE bool list_tokens(uint32_t bound) const {
    constexpr int kVectorsAtOnce = kDtype != SAMPLER_F32 ? 1 : kEdits ? 2 : 4;
    const float least = contract::value_of_key(bound);
    const int num_vectors = int(shared.num_groups) * Row::kVectors;
    const Row row = this->row();
    SAMPLER_KEEP_ROLLED
    for (int first = 0; first < num_vectors; first += kVectorsAtOnce * Context::kThreads) {
      Vector raw[kVectorsAtOnce] = {};
      uint32_t hits = 0;
      SAMPLER_UNROLLED
      for (int i = 0; i < kVectorsAtOnce; ++i) {
        const int place = first + i * Context::kThreads + ctx.thread();
        if (place < num_vectors) raw[i] = row.vector(ctx, position_of(place));
      }
      VectorValues values[kVectorsAtOnce];
      SAMPLER_UNROLLED
      for (int i = 0; i < kVectorsAtOnce; ++i) {
        const int place = first + i * Context::kThreads + ctx.thread();
        const bool is_in = place < num_vectors;
        values[i] = values_of(is_in ? position_of(place) : 0, raw[i]);
        SAMPLER_UNROLLED
        for (int j = 0; j < Row::kElements; ++j) {
          const bool is_hit = is_in && values[i].x[j] >= least;
          hits |= is_hit ? 1u << (i * Row::kElements + j) : 0;
        }
      }
      uint32_t to = reserve(&shared.num_listed, uint32_t(Context::count_bits(hits)));
      SAMPLER_KEEP_ROLLED
      for (; hits != 0 && to < uint32_t(kStreamedTokens); ++to) {
        const int hit = Context::lowest_bit(hits);
        hits &= hits - 1;
        const int vector = first + hit / Row::kElements * Context::kThreads + ctx.thread();
        const int index = position_of(vector) + hit % Row::kElements - row.lead;
        shared.row.list[to] = contract::rank_of(selected_of(values, raw, hit), uint32_t(index));
      }
    }
    ctx.sync();
    return shared.num_listed <= uint32_t(kStreamedTokens);
  }

  // Position of a vector of the listed groups.
  SAMPLER_DEVICE int position_of(int vector) const {
    const int group = int(shared.row.bins.groups[vector / Row::kVectors]);
    return Row::position(group / 32, group % 32, vector % Row::kVectors);
  }
};

}  // namespace sampler::kernels
