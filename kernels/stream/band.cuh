// The band: tokens of a streamed row near the value where a sample says that top-p cuts it.
#pragma once

#include <cstdint>

#include "contract/filters.h"
#include "contract/rank.h"
#include "contract/weight.h"
#include "machine/device.cuh"
#include "row/row.cuh"
#include "stream/listing.cuh"
#include "stream/stream.h"
#include "stream/streamed_row.cuh"

namespace sampler::kernels {

// The band of a row, from its place to its cut.
template <class Context, sampler_dtype kDtype, StreamKind kKind>
class StreamBand : protected StreamListing<Context, kDtype, kKind> {
 protected:
  using Base = StreamListing<Context, kDtype, kKind>;
  using Base::Base;
  using Base::chunk_words, Base::ctx, Base::filter_scale, Base::group_of, Base::item,
      Base::kBinsOfThread, Base::kEdits, Base::kIsGiven, Base::publish_maximum, Base::publish_value,
      Base::request, Base::selected_of, Base::shared, Base::slot, Base::state, Base::stream,
      Base::sum_before, Base::sum_of_lanes, Base::sum_of_warps, Base::sum_of_weights,
      Base::values_of;
  using typename Base::Group;
  using typename Base::Row;
  using typename Base::TilePatch;
  using typename Base::VectorValues;

  static constexpr float kUnitsOfPivot = 0x1p16f;  // of a sample's mass, that the pivot weighs
  static constexpr int kIdBits = 20;               // of kMaxVocabulary
  static constexpr uint32_t kIdMask = (uint32_t(1) << kIdBits) - 1;
  static constexpr uint64_t kNoPlace = ~uint64_t(0);  // beyond those of the band

  // Vectors that lie in the row: from the first up to the end.
  SAMPLER_DEVICE int first_vector() const {
    return (this->row().lead + Row::kElements - 1) / Row::kElements;
  }
  SAMPLER_DEVICE int end_vector() const {
    return (this->row().lead + this->row().count) / Row::kElements;
  }

  // Calls f(element) for those of these vectors that are sampled, from `begin` to `end`: of the
  // most that are, at even distances, or of all.
  template <class F>
  SAMPLER_DEVICE void for_each_sampled(int begin, int end, const F &f) const {
    constexpr bool kHasRoom = kDtype == SAMPLER_F32 && !kEdits;
    constexpr int kAtOnce = kHasRoom ? 4 : 2;  // what registers allow
    constexpr int kParts = kHasRoom ? 2 : 4;   // of a vector, for less code
    const auto *const vectors =
        reinterpret_cast<const Vector *>(this->row().begin) + first_vector();
    const uint32_t num_vectors = uint32_t(end_vector() - first_vector());
    const auto vector_at = [&](int at) {
      return num_vectors < uint32_t(kSampledVectors) ? uint32_t(at)
                                                     : uint32_t(at) * num_vectors / kSampledVectors;
    };
    SAMPLER_KEEP_ROLLED
    for (int first = begin + ctx.thread(); first < end; first += kAtOnce * Context::kThreads) {
      Vector raw[kAtOnce];
      SAMPLER_UNROLLED
      for (int i = 0; i < kAtOnce; ++i) {
        const int place = first + i * Context::kThreads;
        raw[i] = ctx.load_streamed(&vectors[vector_at(place < end ? place : first)]);
      }
      SAMPLER_KEEP_ROLLED
      for (int i = 0; i < kAtOnce && first + i * Context::kThreads < end; ++i) {
        const int vector = first_vector() + int(vector_at(first + i * Context::kThreads));
        VectorValues values = values_of(vector * Row::kElements, raw[0]);
        SAMPLER_KEEP_ROLLED
        for (int part = 0; part < kParts; ++part) {
          SAMPLER_UNROLLED
          for (int j = 0; j < Row::kElements / kParts; ++j) f(values.x[j]);
          SAMPLER_UNROLLED
          for (int j = 0; j < Row::kElements - Row::kElements / kParts; ++j) {
            values.x[j] = values.x[j + Row::kElements / kParts];
          }
        }
        SAMPLER_UNROLLED
        for (int j = 0; j < kAtOnce - 1; ++j) raw[j] = raw[j + 1];
      }
    }
  }

  // Values on a line where as far is as many octaves of weight: of probabilities roughly, by bits.
  // -0 lies below all others.
  SAMPLER_DEVICE static float coordinate(float x) {
    if constexpr (kIsGiven) return float(int32_t(contract::bits_of(x)));
    return x;
  }
  SAMPLER_DEVICE static float value_at_coordinate(float at) {
    if constexpr (!kIsGiven) return at;
    return at > 1.0f ? contract::float_of(uint32_t(at)) : contract::float_of(1);
  }

  // What sampled values lie in: bins from the pivot down to what weighs nothing.
  SAMPLER_DEVICE float units_of_octave() const {
    return kIsGiven ? 0x1p23f : 1.0f / filter_scale().scale;
  }
  SAMPLER_DEVICE float lowest_coordinate(float pivot) const {
    constexpr float kOctaves = 18.0f;  // lighter tokens weigh nothing
    return coordinate(pivot) - kOctaves * units_of_octave();
  }

  // Whether the list has all tokens that it is to have.
  SAMPLER_DEVICE bool fits() const {
    return shared.num_groups <= uint32_t(kStreamedTokens) &&
           shared.num_listed <= uint32_t(kStreamedTokens);
  }

  // Whether top-p may keep more than the list, which has all tokens from `pivot` up. Then sets what
  // a sample of the row follows from. Called by the whole block.
  SAMPLER_DEVICE bool needs_sample(float pivot) const {
    const contract::RowScale scale = filter_scale();
    uint64_t own_listed = 0;
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < this->count(); i += Context::kThreads) {
      own_listed += contract::weight(scale, contract::value_of_rank(shared.row.list[i]));
    }
    const float of_list = float(sum_of_weights(own_listed, 1)) * 0x1p-44f;
    const float floor = lowest_coordinate(pivot), least = coordinate(shared.lowest);
    const float units = coordinate(pivot) - (least > floor ? least : floor);
    const float bins_of_unit = float(kSampleBins - 1) / units;
    // No other token weighs more than the pivot.
    const float most_of_rest = float(int(request.input.num_cols) - this->count()) *
                               contract::relative_for_weight(scale, pivot);
    const float p = state().parameters.top_p;
    if (of_list > p * 1.0001f * (of_list + most_of_rest)) return false;
    if (!(bins_of_unit > 0.0f && bins_of_unit < 0x1p60f)) return false;
    if (ctx.thread() == 0) shared.sample = {pivot, of_list, float(this->count()), bins_of_unit};
    return true;
  }

  // Publishes where the row's band lies, if its list is too short. Where several blocks sample the
  // row, the last of them does.
  SAMPLER_DEVICE StreamRest sample() {
    if (item().step == StreamStep::kRead && ctx.thread() == 0) {
      state().bound = contract::float_of(contract::kInfinityBits);
    }
    ctx.sync();
    bool is_placed = fits();
    if (shared.sample.num_listed > 0.0f) {
      const float units_of_one =
          kUnitsOfPivot / contract::relative_for_weight(filter_scale(), shared.sample.pivot);
      const int num_vectors = end_vector() - first_vector();
      const int sampled = num_vectors < kSampledVectors ? num_vectors : kSampledVectors;
      if (!fill_bins(sampled, units_of_one)) return StreamRest::kNothing;
      is_placed = place_band(float(num_vectors) / float(sampled), units_of_one);
      ctx.sync();
    }
    const bool is_reader = item().step == StreamStep::kRead;
    if (ctx.thread() == 0) {
      publish_value(&slot()->bound, state().bound);
      publish_value(&slot()->band, state().band);
      if (is_reader && !is_placed) state().need = StreamNeed::kOther;
      publish_maximum();  // by others once more
    }
    // Else the row is being weighed; without a list, it is left thereafter.
    if (!is_reader) return StreamRest::kNothing;
    return is_placed ? StreamRest::kListed : StreamRest::kLeft;
  }

  // Samples the block's part of the row into bins, in units of mass. False: another block adds more
  // to the row's.
  SAMPLER_DEVICE bool fill_bins(int sampled, float units_of_one) const {
    static_assert(kSampledVectors * Row::kElements < 1 << 16,
                  "what is sampled has fewer than 2^32");
    uint32_t *const bins = shared.row.bins.keys;
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < kSampleBins; i += Context::kThreads) bins[i] = 0;
    ctx.sync();
    const bool has_samplers = stream.num_samplers > 0;
    const int begin = has_samplers ? item().chunk * stream.vectors_of_sampler : 0;
    const int most = begin + stream.vectors_of_sampler, end = most < sampled ? most : sampled;
    const contract::RowScale scale = filter_scale();
    const float pivot = shared.sample.pivot, bins_of_unit = shared.sample.bins_of_unit;
    const float from = coordinate(pivot), floor = lowest_coordinate(pivot);
    for_each_sampled(begin, end, [&](float x) {
      const float at = coordinate(x);
      if (at < floor || x >= pivot) return;
      const float units = contract::relative_for_weight(scale, x) * units_of_one;
      const float place = (from - at) * bins_of_unit;
      const int bin = place < float(kSampleBins - 1) ? int(place) : kSampleBins - 1;
      ctx.add_to_shared(&bins[bin], uint32_t(units + 0.5f));
    });
    ctx.sync();
    if (!has_samplers) return true;
    uint32_t *const all = stream.sample_bins(item().slot);
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < kSampleBins; i += Context::kThreads) {
      if (bins[i] != 0) ctx.atomic_add(&all[i], bins[i]);
    }
    if (!this->template is_last_at<false>(&slot()->num_sampled, uint32_t(stream.num_samplers),
                                          [] {})) {
      return false;
    }
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < kSampleBins / 4; i += Context::kThreads) {
      reinterpret_cast<Vector *>(bins)[i] =
          ctx.load_fresh(&reinterpret_cast<const Vector *>(all)[i]);
    }
    ctx.sync();
    return true;
  }

  // Places the band by the sampled bins, where a sampled token stands for `tokens`. False: there
  // would be too many tokens. What it estimates decides where a token is looked for, never which
  // one it is.
  SAMPLER_DEVICE bool place_band(float tokens, float units_of_one) const {
    constexpr float kMostDeviations = 4.0f;  // that the band reaches to either side
    constexpr float kLeastDeviations = 2.0f;
    constexpr float kMost = 0.97f * kBandTokens;
    const uint32_t *const bins = shared.row.bins.keys;
    const float p = state().parameters.top_p, bins_of_unit = shared.sample.bins_of_unit;
    const float from = coordinate(shared.sample.pivot);
    uint32_t first = uint32_t(ctx.thread() * kBinsOfThread);
    ctx.settle(&first);  // here: a register less elsewhere
    uint64_t own = 0;
    SAMPLER_KEEP_ROLLED
    for (uint32_t i = first; i < first + kBinsOfThread; ++i) own += bins[i];
    uint64_t all;
    const uint64_t before = sum_before(own, 1, &all);

    // Errors of the mass above the cut and below it move the cut by their parts 1 - p and p.
    const float above = shared.sample.of_list * units_of_one;
    const float wanted = (p * (above + tokens * float(all)) - above) / tokens;
    const float octaves_of_bin = 1.0f / (bins_of_unit * units_of_octave());
    const auto units_at = [&](uint32_t bin) {
      return kUnitsOfPivot * contract::exp2_of_negative(-(float(bin) + 0.5f) * octaves_of_bin);
    };
    float variance = 0.0f, mass = float(before);
    SAMPLER_KEEP_ROLLED
    for (uint32_t i = first; i < first + kBinsOfThread; ++i) {
      const float part = mass < wanted ? 1.0f - p : p;
      variance += float(bins[i]) * units_at(i) * part * part;
      mass += float(bins[i]);
    }
    variance = float(sum_of_warps(ctx.warp_sum(uint64_t(variance * 0x1p-8f)), 0)) * 0x1p8f;
    uint32_t num_above = 0, num_below = 0;
    int turn = 0;
    SAMPLER_KEEP_ROLLED
    for (float deviations = kMostDeviations;; deviations -= 0.5f) {
      if (deviations < kLeastDeviations) return false;
      const float reach = deviations * deviations * variance;
      uint32_t own_above = 0, own_below = 0, own_tokens = 0;
      mass = float(before);
      SAMPLER_KEEP_ROLLED
      for (uint32_t i = first; i < first + kBinsOfThread; ++i) {
        const float to_begin = mass - wanted;
        mass += float(bins[i]);
        const float from_end = wanted - mass;
        const bool is_above = from_end > 0.0f && from_end * from_end >= reach;
        const bool is_below = to_begin > 0.0f && to_begin * to_begin >= reach;
        own_above += is_above ? 1 : 0;
        own_below += is_below ? 1 : 0;
        if (!is_above && !is_below) own_tokens += uint32_t(float(bins[i]) / units_at(i) + 0.5f);
      }
      turn ^= 1;
      const uint64_t counts = sum_of_warps(
          ctx.warp_sum(uint64_t(own_tokens) << 24 | own_below << 12 | own_above), turn);
      num_above = uint32_t(counts) & 0xFFFu, num_below = uint32_t(counts) >> 12 & 0xFFFu;
      // The list is enough. Where its block has left it, the band has its tokens.
      if (num_below == uint32_t(kSampleBins)) {
        if (item().step != StreamStep::kRead && ctx.thread() == 0)
          state().band = shared.sample.pivot;
        return true;
      }
      if (num_below == 0) return false;
      const float in_list = num_above == 0 ? shared.sample.num_listed : 0.0f;
      if (in_list + tokens * float(counts >> 24) < kMost) break;
    }
    if (ctx.thread() == 0) {
      if (num_above != 0)
        state().bound = value_at_coordinate(from - float(num_above) / bins_of_unit);
      const uint32_t num_to_end = uint32_t(kSampleBins) - num_below;
      state().band = value_at_coordinate(from - float(num_to_end) / bins_of_unit);
    }
    return true;
  }

  // A number in the order of ranks for the tokens of the band.
  SAMPLER_DEVICE uint64_t place_in_band(uint32_t key, uint32_t id) const {
    return uint64_t(key - contract::value_key(state().band)) << kIdBits | (id ^ kIdMask);
  }
  SAMPLER_DEVICE float value_in_band(uint64_t place) const {
    return contract::value_of_key(contract::value_key(state().band) + uint32_t(place >> kIdBits));
  }
  SAMPLER_DEVICE int tile_in_band(uint64_t place) const {
    const int id = int((uint32_t(place) & kIdMask) ^ kIdMask);
    return (id + this->row().lead) / kTile;
  }

  // Weighs, as filters do, the chunk's tokens above the band, by tile, and all of them; adds those
  // in it to the band. Lane 0 of each warp has the warp's weights.
  SAMPLER_DEVICE uint64_t weigh_beside_band(uint64_t *weight_above) {
    uint64_t *const tiles = stream.tiles(item().slot);
    const contract::RowScale scale = filter_scale();
    const float bound = state().bound, band = state().band;
    uint64_t sum = 0;          // in lane 1 of the weights above
    contract::WeightSum none;  // of a token that weighs nothing
    none.add(0.0f);
    this->template for_each_tile<Row::kVectors>(
        [&](int tile, const Vector(&raw)[Row::kVectors], const TilePatch &words) {
          contract::WeightSum weights, above;
          uint32_t in_band = 0;
          const Group group = group_of(tile, raw, words);
          SAMPLER_UNROLLED
          for (int i = 0; i < kGroup; ++i) {
            const float x = group.x[i];
            const float relative = contract::relative_for_weight(scale, x);
            const contract::WeightSum before = weights;
            weights.add(relative);
            const bool is_above = x >= bound;
            above.high_bits += is_above ? weights.high_bits - before.high_bits : none.high_bits;
            above.low_bits += is_above ? weights.low_bits - before.low_bits : none.low_bits;
            in_band |= x >= band && !is_above ? 1u << i : 0;
          }
          // At once: no relative weight is computed anew for the second sum.
          ctx.settle(&weights.high_bits);
          ctx.settle(&weights.low_bits);
          ctx.settle(&above.high_bits);
          ctx.settle(&above.low_bits);
          const uint64_t weight = ctx.warp_sum(weights.of(kGroup));
          const uint64_t of_above = ctx.warp_sum(above.of(kGroup));
          if (ctx.lane() == 0) ctx.publish(&tiles[tile], of_above);
          sum += ctx.lane() == 0 ? weight : of_above;
          list_in_band(tile, in_band, [&](int i) { return selected_of(group, raw, i); });
        });
    ctx.sync();
    const uint32_t count = shared.num_listed;
    if (ctx.thread() == 0) {
      const uint32_t most = uint32_t(kBandTokens) + 1;  // does not fit, and sums do not overflow
      shared.prefix = int(ctx.atomic_add(&slot()->num_in_band, count < most ? count : most));
    }
    ctx.sync();
    uint64_t *const words = stream.words(item().slot);
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < int(count) && shared.prefix + i < kBandTokens;
         i += Context::kThreads) {
      ctx.publish(&words[shared.prefix + i], shared.band[i]);
    }
    *weight_above = ctx.warp_broadcast(sum, 1);
    return sum;
  }

  // Adds a tile's tokens to the block's part of the band: those of which a lane has a bit in
  // `in_band`; value_of(i) is element `i` of its group.
  template <class ValueOf>
  SAMPLER_DEVICE void list_in_band(int tile, uint32_t in_band, const ValueOf &value_of) const {
    const uint64_t all = ctx.warp_sum(uint64_t(Context::count_bits(in_band)));
    if (all == 0) return;
    uint64_t first = 0;
    if (ctx.lane() == 0) first = ctx.atomic_add(&shared.num_listed, uint32_t(all));
    uint32_t place = uint32_t(ctx.warp_broadcast(first, 0));
    const int begin = Row::position(tile, ctx.lane(), 0) - this->row().lead;
    SAMPLER_KEEP_ROLLED
    for (uint32_t lanes = ctx.ballot(in_band != 0); lanes != 0; lanes = ctx.ballot(in_band != 0)) {
      const uint32_t before = lanes & ((uint32_t(1) << ctx.lane()) - 1);
      const uint32_t own = place + uint32_t(Context::count_bits(before));
      if (in_band != 0 && own < uint32_t(kBandTokens)) {
        const int i = Context::lowest_bit(in_band);
        const int index = begin + Row::position(0, 0, i / Row::kElements) + i % Row::kElements;
        shared.band[own] = contract::rank_of(value_of(i), uint32_t(index));
      }
      in_band &= in_band - 1;
      place += uint32_t(Context::count_bits(lanes));
    }
  }

  // Loads the published band and cuts it where top-p does; sums what is kept by chunk. False: the
  // cut is not in it.
  SAMPLER_DEVICE bool cut_band() {
    const uint32_t count = ctx.load_fresh(&slot()->num_in_band);
    uint64_t of_chunk = 0;  // above the band
    if (ctx.lane() < stream.num_chunks) of_chunk = ctx.load_fresh(&chunk_words()[ctx.lane()]);
    uint64_t above = sum_of_lanes(of_chunk);
    if (ctx.warp() == 0) {
      if (this->has_two() && ctx.lane() < stream.num_chunks) {
        of_chunk = ctx.load_fresh(&chunk_words()[2 * kMostChunks + ctx.lane()]);
      }
      shared.of_chunks[ctx.lane()] = TwoWords::of(of_chunk);
    }
    const contract::FilterRules &rules = request.parameters.rules;
    const uint64_t total = total_weight();
    uint64_t least = contract::top_p_threshold({state().parameters.top_p, rules.top_p_sum}, total);
    if (least == 0) least = 1;
    if (ctx.thread() == 0) shared.num_listed = count;
    ctx.sync();
    if (ctx.thread() == 0) {
      ctx.publish(&slot()->num_in_band, uint32_t(0));
      shared.total_of_row = total;
    }
    if (count > uint32_t(kBandTokens) || above >= least) return false;
    const auto place_of = [](int i) { return i; };
    load_words(stream.words(item().slot), int(count), place_of, [&](int i, Rank rank) {
      shared.band[i] = place_in_band(contract::key_of_rank(rank), contract::id_of_rank(rank));
    });

    // The highest place from which on the weights reach the threshold, in [low, end). From `end` on
    // they are `above`.
    const uint32_t top = has_upper_bound() ? contract::value_key(state().bound) : state().max_key;
    uint64_t low = 0;
    uint64_t end = uint64_t(top - contract::value_key(state().band) + 1) << kIdBits;
    constexpr int kBits = 7;
    static_assert(1 << kBits == kMostTilesOfChunk && kMostTilesOfChunk == 4 * 32,
                  "four bins a lane");
    TwoWords *const bins = shared.of_tiles;
    int shift = 0;
    SAMPLER_KEEP_ROLLED
    while ((end - 1) >> shift >> kBits != 0) shift += kBits;
    SAMPLER_KEEP_ROLLED
    for (bool is_found = false; shift >= 0 && !is_found; shift -= kBits) {
      SAMPLER_KEEP_ROLLED
      for (int i = ctx.thread(); i < kMostTilesOfChunk; i += Context::kThreads) bins[i] = {};
      ctx.sync();
      for_each_in_band(filter_scale(), low, end, [&](uint64_t place, uint64_t weight) {
        ctx.add_to_shared(&bins[(place - low) >> shift], weight);
      });
      ctx.sync();
      // Every warp finds the bin: a lane has four, from the highest down.
      const int highest = kMostTilesOfChunk - 1 - 4 * ctx.lane();
      uint64_t of_lane = 0;
      SAMPLER_KEEP_ROLLED
      for (int i = 0; i < 4; ++i) of_lane += bins[highest - i].value();
      const uint64_t up_to = above + ctx.warp_inclusive_sum(of_lane);
      const uint32_t reached = ctx.ballot(up_to >= least);
      if (reached == 0) return false;  // in the first round
      const int lane = Context::lowest_bit(reached);
      uint64_t before = up_to - of_lane;
      int bin = highest;
      SAMPLER_KEEP_ROLLED
      for (int i = 0; i < 3 && before + bins[bin].value() < least; ++i)
        before += bins[bin--].value();
      above = ctx.warp_broadcast(before, lane);
      bin = int(ctx.warp_broadcast(uint64_t(bin), lane));
      low += uint64_t(bin) << shift;
      end = low + (uint64_t(1) << shift);
      // A bin lighter than two tokens of its lowest value has one token: the cut.
      is_found = bins[bin].value() < 2 * contract::weight(filter_scale(), value_in_band(low));
      ctx.sync();
    }
    const uint64_t mask = rules.top_p_ties == SAMPLER_TIES_KEEP ? ~uint64_t(kIdMask) : kNoPlace;
    for_each_in_band(filter_scale(), low, end,
                     [&](uint64_t place, uint64_t) { shared.cut = place & mask; });
    ctx.sync();
    add_kept_to_chunks();
    return true;
  }

  // Adds the band's kept tokens to their chunks' weights: neighbors mostly have the same chunk.
  SAMPLER_DEVICE void add_kept_to_chunks() const {
    SAMPLER_KEEP_ROLLED
    for (int first = ctx.warp() * 32; first < this->count(); first += Context::kThreads) {
      const int i = first + ctx.lane();
      const uint64_t place = i < this->count() ? shared.band[i] : 0;
      const bool is_kept = i < this->count() && place >= shared.cut;
      const uint64_t weight = is_kept ? contract::weight(this->scale(), value_in_band(place)) : 0;
      const int chunk = tile_in_band(place) / stream.tiles_of_chunk;
      SAMPLER_KEEP_ROLLED
      for (uint32_t lanes = ctx.ballot(is_kept); lanes != 0;) {
        const int of_first = int(ctx.warp_broadcast(uint64_t(chunk), Context::lowest_bit(lanes)));
        const uint64_t sum = ctx.warp_sum(chunk == of_first ? weight : 0);
        if (ctx.lane() == 0) ctx.add_to_shared(&shared.of_chunks[of_first], sum);
        lanes &= ~ctx.ballot(chunk == of_first);
      }
    }
  }

  SAMPLER_DEVICE bool has_upper_bound() const {
    return state().bound < contract::float_of(contract::kInfinityBits);
  }

  // Calls f(place, weight) for each token of the band in [low, end).
  template <class F>
  SAMPLER_DEVICE void for_each_in_band(const contract::RowScale &scale, uint64_t low, uint64_t end,
                                       const F &f) const {
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < this->count(); i += Context::kThreads) {
      const uint64_t place = shared.band[i];
      if (place < low || place >= end) continue;
      f(place, contract::weight(scale, value_in_band(place)));
    }
  }

  // Weight of the whole row, of the chunks' words from a place on. Called by whole warps.
  SAMPLER_DEVICE uint64_t total_weight(int from = kMostChunks) const {
    uint64_t own = 0;
    if (ctx.lane() < stream.num_chunks) own = ctx.load_fresh(&chunk_words()[from + ctx.lane()]);
    return sum_of_lanes(own);
  }

  // Calls f(place, word) for `count` published words, with several in flight.
  template <class PlaceOf, class F>
  SAMPLER_DEVICE void load_words(const uint64_t *words, int count, const PlaceOf &place_of,
                                 const F &f) const {
    constexpr int kAtOnce = 8;
    SAMPLER_KEEP_ROLLED
    for (int first = ctx.thread(); first < count; first += kAtOnce * Context::kThreads) {
      uint64_t loaded[kAtOnce];
      SAMPLER_UNROLLED
      for (int i = 0; i < kAtOnce; ++i) {
        const int at = first + i * Context::kThreads;
        loaded[i] = ctx.load_fresh(&words[place_of(at < count ? at : first)]);
      }
      SAMPLER_UNROLLED
      for (int i = 0; i < kAtOnce; ++i) {
        const int at = first + i * Context::kThreads;
        if (at < count) f(place_of(at), loaded[i]);
      }
    }
  }
};

}  // namespace sampler::kernels
