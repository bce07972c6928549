// What filters keep of a held row of f32: the cut, its weight and its count.
#pragma once

#include <cstdint>
#include <type_traits>

#include "contract/filters.h"
#include "contract/request.h"
#include "held/block.cuh"

namespace sampler::kernels {

// kAnyKind: of logits or probabilities; else of logits.
template <class Context, class Shared, class Request, bool kAnyKind = false>
class CutBlock : protected HeldBlock<Context, SAMPLER_F32, Shared, HeldRow> {
 public:
  SAMPLER_DEVICE CutBlock(const Context &context, const Request &any, const Held &layout)
      : Block(context, layout), request(any) {}

 protected:
  using Block = HeldBlock<Context, SAMPLER_F32, Shared, HeldRow>;
  using Block::ctx;
  using Block::held;
  using Block::shared;
  using List = RankedList<Context, Shared>;
  using Row = typename Block::Row;

  template <sampler_dtype kHalf>
  static constexpr int kFirstHalves = Block::kSlots - StreamedRow<kHalf>::kVectors;

  // Copies the block's part as f32, and calls meanwhile() before it waits for that.
  template <class Meanwhile>
  SAMPLER_DEVICE void load_as_f32(const HeldRow &row, const Meanwhile &meanwhile) const {
    switch (row.dtype) {
      case SAMPLER_F16:
        begin_halves<SAMPLER_F16>(row);
        break;
      case SAMPLER_BF16:
        begin_halves<SAMPLER_BF16>(row);
        break;
      default:
        this->begin_load(row);
    }
    meanwhile();
    this->wait_for_part();
    if (row.dtype == SAMPLER_F16) widen<SAMPLER_F16>(row);
    if (row.dtype == SAMPLER_BF16) widen<SAMPLER_BF16>(row);
  }
  SAMPLER_DEVICE void load_as_f32(const HeldRow &row) const {
    load_as_f32(row, [] {});
  }
  // Copies halves to the end of their tile's place; then f32 take all of it.
  template <sampler_dtype kHalf>
  SAMPLER_DEVICE void begin_halves(const HeldRow &row) const {
    using Halves = StreamedRow<kHalf>;
    const Halves from = {row.begin, row.lead, row.count};
    this->for_each_tile(row, [&](int tile) {
      const int in_row = this->begin_ + tile;
      if (from.is_whole(in_row)) {
        const char *const group =
            from.begin + Halves::position(in_row, ctx.lane(), 0) * int64_t(Halves::kBytes);
        SAMPLER_UNROLLED
        for (int i = 0; i < Halves::kVectors; ++i) {
          ctx.copy_async(this->place(tile, kFirstHalves<kHalf> + i),
                         reinterpret_cast<const Vector *>(group + i * kVectorStep));
        }
      } else {
        Vector raw[Halves::kVectors];
        from.load_any(ctx, in_row, raw);
        SAMPLER_UNROLLED
        for (int i = 0; i < Halves::kVectors; ++i) {
          ctx.store_vector(this->place(tile, kFirstHalves<kHalf> + i), raw[i]);
        }
      }
    });
  }
  template <sampler_dtype kHalf>
  SAMPLER_DEVICE void widen(const HeldRow &row) const {
    using Halves = StreamedRow<kHalf>;
    this->for_each_tile(row, [&](int tile) {
      Vector raw[Halves::kVectors];
      SAMPLER_UNROLLED
      for (int i = 0; i < Halves::kVectors; ++i)
        raw[i] = ctx.load_shared(this->place(tile, kFirstHalves<kHalf> + i));
      ctx.warp_sync();  // all lanes have theirs
      SAMPLER_UNROLLED
      for (int i = 0; i < kGroup / kQuad; ++i) {
        Vector quad;
        SAMPLER_UNROLLED
        for (int j = 0; j < kQuad; ++j) {
          quad.word[j] = contract::bits_of(element<kHalf>(raw[i / 2], i % 2 * kQuad + j));
        }
        // Two quads of a lane lie side by side.
        Vector *const quads = this->place(tile, 0) - ctx.lane();
        ctx.store_vector(&quads[(i / 2 * 32 + ctx.lane()) * 2 + i % 2], quad);
      }
    });
    ctx.warp_sync();
  }

  SAMPLER_DEVICE const contract::FilterRules &rules() const { return request.parameters.rules; }
  static constexpr bool kVerifies = std::is_base_of_v<contract::VerifyRequest, Request>;

  SAMPLER_DEVICE const contract::Rows &input() const {
    if constexpr (kVerifies) {
      return request.target;
    } else {
      return request.input;
    }
  }
  SAMPLER_DEVICE int64_t num_cols() const { return input().num_cols; }
  SAMPLER_DEVICE bool counts_kept() const {
    if constexpr (kVerifies)
      return false;
    else
      return request.out_kept_counts != nullptr;
  }

  SAMPLER_DEVICE sampler_input_kind kind() const {
    if constexpr (kAnyKind) return input().kind;
    return SAMPLER_LOGITS;
  }
  // The key of the lowest value that a token has.
  SAMPLER_DEVICE uint32_t lowest_key() const {
    return contract::key_of_rank(contract::lowest_cut(kind()));
  }
  // The key of a row with a negative probability: that of NaN. Called by the whole team.
  SAMPLER_DEVICE uint32_t checked(const Row &row, uint32_t max_key) {
    if (kind() != SAMPLER_PROBABILITIES) return max_key;
    bool is_bad = false;
    this->for_each_tile(row, [&](int tile) {
      float x[kGroup];
      this->group(tile, x);
      SAMPLER_UNROLLED
      for (int i = 0; i < kGroup; ++i) {
        const bool is_in_row = uint32_t(this->index_of(row, tile, i)) < uint32_t(row.count);
        is_bad = is_bad || (x[i] < 0.0f && is_in_row);
      }
    });
    return this->max_of_team(is_bad ? ~uint32_t(0) : max_key);
  }

  SAMPLER_DEVICE StreamedRowState &state() const { return shared.state; }
  SAMPLER_DEVICE contract::RowScale scale() const {
    if (kind() == SAMPLER_PROBABILITIES) return contract::probabilities_row_scale(state().max);
    return {SAMPLER_LOGITS, state().max, state().scale, 0};
  }

  // Called by one thread.
  SAMPLER_DEVICE void read_parameters(int64_t slot) const {
    contract::RowParameters parameters;
    state().status = contract::read_parameters(request, slot, &parameters);
    state().need = StreamNeed::kOther;
    shared.num_listed = 0;
    if (state().status == SAMPLER_ROW_OK) set_parameters(parameters);
  }
  SAMPLER_DEVICE void set_parameters(const contract::RowParameters &parameters) const {
    state().parameters = parameters;
    const bool is_for_list =
        has_bound(parameters.top_k, num_cols()) && !has_two_scales(parameters, rules());
    state().need = StreamNeed::kOther;
    state().is_by_min_p = false;
    if (!is_for_list) return;
    state().need =
        stream_need(parameters, rules(), num_cols(), {false, false}, &state().is_by_min_p);
  }
  SAMPLER_DEVICE bool is_other() const {
    return state().status == SAMPLER_ROW_OK && state().need == StreamNeed::kOther;
  }
  SAMPLER_DEVICE void set_maximum(uint32_t key) const {
    if (ctx.thread() != 0) return;
    StreamedRowState &row = state();
    row.max_key = key;
    if (row.status == SAMPLER_ROW_OK) row.status = status_of_key(key, kind());
    row.max = contract::value_of_key(key);
    row.scale = contract::logit_scale(row.parameters.temperature);
  }

  SAMPLER_DEVICE void leave(int64_t row) const {
    if (!this->is_leader() || ctx.thread() != 0) return;
    ctx.wait_for_launch_before();
    held.left()[ctx.atomic_add(&held.head()->num_left, uint32_t(1))] = uint32_t(row);
  }

  // The thread's largest value. The leader gets those of its groups, in as many bins as the list
  // has places for.
  SAMPLER_DEVICE uint32_t largest_by_bins(const Row &row) const {
    const int each = kStreamedTokens / (ctx.team_size() * Context::kThreads);
    uint32_t *const bins = ctx.peer(&shared.row.bins.keys[0], 0) +
                           (ctx.cluster_rank() * each) * Context::kThreads + ctx.thread();
    const int end = this->tiles_of(row);
    uint32_t own = 0;
    SAMPLER_KEEP_ROLLED
    for (int bin = 0; bin < each; ++bin) {
      uint32_t key = 0;
      SAMPLER_KEEP_ROLLED
      for (int tile = ctx.warp() + bin * Context::kWarps; tile < end;
           tile += each * Context::kWarps) {
        const uint32_t of_group = this->key_of_group(tile);
        if (of_group > key) key = of_group;
      }
      bins[bin * Context::kThreads] = key;
      if (key > own) own = key;
    }
    return own;
  }

  // Finds the cut and the kept weight; without a list only if it is wanted. False: the list does
  // not show them.
  SAMPLER_DEVICE bool cut(const Row &row, bool wants_weight) {
    const StreamNeed what = state().need;
    const bool is_by_min_p = state().is_by_min_p;
    uint32_t key = lowest_key();  // that min-p keeps, where it drops tokens first
    if (is_by_min_p ||
        (what == StreamNeed::kWeights && contract::min_p_is_on(state().parameters.min_p))) {
      key = this->lowest_weighed(scale(), state().max_key, state().parameters.min_p);
    }
    if (what == StreamNeed::kWeights) {
      ctx.sync();
      const uint64_t weight = wants_weight ? this->weight_of_team(weigh(row, scale(), key)) : 0;
      const Rank cut = contract::rank_of_key(key);
      const int count = counts_kept() ? count_of(row, kept_from(cut)) : 0;
      if (ctx.thread() == 0) set_cut(cut, weight, count);
      ctx.sync();
      return true;
    }
    // Top-p alone may keep any number of tokens: weights by value show the bin of its cut, whose
    // tokens are listed. Else it is the tokens above a bound.
    const bool is_binned = what == StreamNeed::kTotal && has_top_p_alone();
    const float p = state().parameters.top_p;
    const ValueBins bins = ValueBins::of(scale(), 1.0f - (p > 0.0f ? p : 0.0f));
    uint64_t total = 0;
    if (what == StreamNeed::kTotal) {
      const auto bin_of = [&](float x, int, int) { return bins.of_value(x); };
      total = this->weight_of_team(is_binned ? weigh_by_bin(row, scale(), bin_of)
                                             : weigh(row, scale(), lowest_key()));
    }
    const bool is_first = contract::is_greedy(state().parameters.temperature);
    uint64_t begin[] = {0, 0};  // the bin or the bound, and the weight above the bin
    if (this->is_leader()) {
      if (is_binned) {
        find_bin(contract::top_p_threshold({p, rules().top_p_sum}, total));
        begin[0] = uint64_t(shared.kept_count);
        begin[1] = shared.kept_weight;
      } else {
        begin[0] = is_first ? state().max_key : is_by_min_p ? key : bound_of_list(what);
      }
    }
    ctx.sync();
    const auto *const of_leader = this->exchange(begin);
    const int bin = int(of_leader[0][0]);
    const float lowest = contract::value_of_key(uint32_t(of_leader[0][0]));
    const uint64_t above = of_leader[1][0];
    if (is_binned && bin == kStreamedTokens) return false;
    list_if(row, [&](float x) { return is_binned ? bins.of_value(x) == bin : x >= lowest; });
    ctx.team_sync();
    uint64_t found[] = {0, 0, 0};  // cut, weight, count; a count of 0: not found
    if (this->is_leader() && this->count() <= kStreamedTokens) {
      sort_list(is_binned ? bins.above(bin) : state().max, is_binned ? bins.below(bin) : lowest);
      int kept = 1;
      if (!is_first) {
        this->add_up(scale());
        typename List::Prefixes prefixes(*this, scale(), state().max, num_cols(), total,
                                         is_by_min_p, above);
        kept = contract::filtered_prefix_by_steps(prefixes, state().parameters, rules());
        ctx.sync();
      }
      if (kept <= this->count()) {
        found[0] = shared.row.list[kept - 1];
        found[1] = is_first ? 0 : above + shared.row.sums[kept - 1];
        found[2] = uint64_t(kept);
      }
    }
    ctx.sync();
    const auto *const all = this->exchange(found);
    const Rank cut = all[0][0];
    const uint64_t weight = all[1][0];
    int count = int(all[2][0]);
    if (count == 0) return false;
    if (is_binned && counts_kept()) count = count_of(row, kept_from(cut));
    if (ctx.thread() == 0) set_cut(cut, weight, count);
    ctx.sync();
    return true;
  }

  // Draws with stages or reports sort at several places: there it is a function.
  SAMPLER_DEVICE void sort_list(float first, float least) const {
    if constexpr (std::is_same_v<Request, StagedSampleRequest>) {
      sort_by_call(first, least);
    } else {
      this->sort(first, least);
    }
  }
  SAMPLER_DEVICE_CALL void sort_by_call(float first, float least) const {
    this->sort(first, least, kind() == SAMPLER_PROBABILITIES);
  }

  SAMPLER_DEVICE bool has_top_p_alone() const {
    const contract::RowParameters &parameters = state().parameters;
    return !contract::min_p_is_on(parameters.min_p) && keeps_all(parameters.top_k, num_cols());
  }

  // Bins of values, from the largest down; lighter tokens than any that top-p may keep have none.
  struct ValueBins {
    float max;
    float floor;
    float bins_of_unit;  // of logits; 0: of probabilities, whose bins are 1 / 32 of an octave

    // `rest`: the share of the weight that may be left out.
    SAMPLER_DEVICE static ValueBins of(const contract::RowScale &scale, float rest) {
      constexpr int kMostOctaves = 44;  // lighter tokens weigh nothing
      const int exponent = int(contract::bits_of(rest) >> 23) - 127;
      const int octaves = 21 - exponent < kMostOctaves ? 21 - exponent : kMostOctaves;
      if (kAnyKind && scale.kind == SAMPLER_PROBABILITIES) {
        const uint32_t bits = contract::bits_of(scale.max), below = uint32_t(octaves) << 23;
        return {scale.max, contract::float_of(bits > below ? bits - below : 1), 0.0f};
      }
      const float reach = float(octaves) / scale.scale;
      return {scale.max, scale.max - reach, float(kStreamedTokens - 1) / reach};
    }
    // -1: none.
    SAMPLER_DEVICE int of_value(float x) const {
      if (!(x >= floor)) return -1;
      if (kAnyKind && bins_of_unit == 0.0f) {
        return int((contract::bits_of(max) - contract::bits_of(x)) >> kBinShift);
      }
      const float place = (max - x) * bins_of_unit;
      return place < float(kStreamedTokens - 1) ? int(place) : kStreamedTokens - 1;
    }
    // Reached by no value of the bins before; above all of those after.
    SAMPLER_DEVICE float above(int bin) const {
      if (kAnyKind && bins_of_unit == 0.0f) return of_bits(bin);
      return max - (float(bin) - 0.5f) / bins_of_unit;
    }
    SAMPLER_DEVICE float below(int bin) const {
      if (kAnyKind && bins_of_unit == 0.0f) return of_bits(bin + 1);
      return max - (float(bin) + 1.5f) / bins_of_unit;
    }

   private:
    static constexpr int kBinShift = 18;
    static_assert(44 << (23 - kBinShift) < kStreamedTokens, "all octaves have bins");

    SAMPLER_DEVICE float of_bits(int bin) const {
      const uint32_t bits = contract::bits_of(max), down = uint32_t(bin) << kBinShift;
      return contract::float_of(bits > down ? bits - down : 0);
    }
  };

  // Lanes that make additions to one bin slow.
  static constexpr int kCrowd = 8;

  // Adds the lanes' weights to the bins that most of them have, with one addition each. Returns the
  // bin of a weight that is left; -1: none. Called by the whole warp.
  SAMPLER_DEVICE int add_crowded(int bin, uint64_t weight) const {
    constexpr int kMostTurns = 4;
    uint32_t left = ctx.ballot(bin >= 0);
    SAMPLER_KEEP_ROLLED
    for (int turn = 0; turn < kMostTurns && left != 0; ++turn) {
      const int lane = Context::lowest_bit(left);
      const bool is_alike = bin == int(uint32_t(ctx.warp_broadcast(uint64_t(uint32_t(bin)), lane)));
      const uint64_t of_bin = is_alike ? weight : 0;
      const uint64_t sum = (ctx.warp_sum(of_bin >> 32) << 32) + ctx.warp_sum(uint32_t(of_bin));
      if (ctx.lane() == lane) ctx.add_to_shared(&shared.row.weights[bin], sum);
      left &= ~ctx.ballot(is_alike);
      if (is_alike) bin = -1;
    }
    return bin;
  }

  // This thread's part of the weight; adds it to the block's bins. bin_of(x, tile, i): a value's
  // bin; -1: none.
  template <class BinOf>
  SAMPLER_DEVICE uint64_t weigh_by_bin(const Row &row, const contract::RowScale &scale,
                                       const BinOf &bin_of) const {
    const float nothing = kind() == SAMPLER_PROBABILITIES ? 0.0f : contract::negative_infinity();
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < kStreamedTokens; i += Context::kThreads) {
      shared.row.weights[i] = {};
    }
    ctx.sync();
    uint64_t own = 0;
    this->for_each_tile(row, [&](int tile) {
      const int first = bin_of(contract::float_of(this->place(tile, 0)->word[0]), tile, 0);
      const uint32_t alike = ctx.warp_match(first >= 0 ? uint32_t(first) : ~uint32_t(ctx.lane()));
      const bool is_crowded = ctx.ballot(Context::count_bits(alike) >= kCrowd) != 0;
      SAMPLER_KEEP_ROLLED
      for (int slot = 0; slot < Block::kSlots; ++slot) {
        const Vector quad = ctx.load_shared(this->place(tile, slot));
        SAMPLER_UNROLLED
        for (int j = 0; j < kQuad; ++j) {
          // Beside a row lies -inf, which is no probability.
          const float value = contract::larger_of(contract::float_of(quad.word[j]), nothing);
          const uint64_t weight = contract::weight_of(contract::relative_for_weight(scale, value));
          own += weight;
          int bin = bin_of(value, tile, slot * kQuad + j);
          if (is_crowded) bin = add_crowded(bin, weight);
          if (bin >= 0) ctx.add_to_shared(&shared.row.weights[bin], weight);
        }
      }
    });
    ctx.sync();
    return own;
  }

  // Finds the bin at which the team's running weight reaches `least`, or is not 0, and the weight
  // before it: kept_count and kept_weight. kStreamedTokens: none. Called by the leader; the list is
  // not used yet, and holds the team's weights.
  SAMPLER_DEVICE void find_bin(uint64_t least) const {
    uint64_t *const weights = shared.row.list;
    if (ctx.thread() == 0) shared.kept_count = kStreamedTokens;
    if (least == 0) least = 1;
    SAMPLER_KEEP_ROLLED
    for (int bin = ctx.thread(); bin < kStreamedTokens; bin += Context::kThreads) {
      uint64_t weight = 0;
      SAMPLER_UNROLLED
      for (int rank = 0; rank < kMostHeldTeam; ++rank) {
        if (rank < ctx.team_size()) weight += ctx.peer(&shared.row.weights[bin], rank)->value();
      }
      weights[bin] = weight;
    }
    ctx.sync();
    constexpr int kEach = List::kBinsOfThread;
    const int first = ctx.thread() * kEach;
    uint64_t own = 0;
    SAMPLER_KEEP_ROLLED
    for (int i = first; i < first + kEach; ++i) own += weights[i];
    uint64_t all;
    uint64_t before = this->sum_before(own, 0, &all);
    if (before < least && before + own >= least) {
      int bin = first;
      SAMPLER_KEEP_ROLLED
      for (; before + weights[bin] < least; ++bin) before += weights[bin];
      shared.kept_count = bin;
      shared.kept_weight = before;
    }
    ctx.sync();
  }

  SAMPLER_DEVICE void set_cut(uint64_t cut, uint64_t weight, int count) const {
    shared.cut = cut;
    shared.kept_weight = weight;
    shared.kept_count = count;
  }

  // This thread's part of the weight of the values from a key up.
  SAMPLER_DEVICE uint64_t weigh(const Row &row, const contract::RowScale &scale,
                                uint32_t key) const {
    const float low = contract::value_of_key(key);
    uint64_t own = 0;
    this->for_each_tile(row, [&](int tile) {
      float x[kGroup];
      this->group(tile, x);
      contract::WeightSum weights;
      SAMPLER_UNROLLED
      for (int i = 0; i < kGroup; ++i) {
        weights.add(x[i] >= low ? contract::relative_for_weight(scale, x[i]) : 0.0f);
      }
      own += weights.of(kGroup);
    });
    return own;
  }

  // Replaces each value of the block's part by change(element, x).
  template <class Change>
  SAMPLER_DEVICE void change_all(const Row &row, const Change &change) const {
    this->for_each_tile(row, [&](int tile) {
      SAMPLER_KEEP_ROLLED
      for (int slot = 0; slot < Block::kSlots; ++slot) {
        Vector raw = ctx.load_shared(this->place(tile, slot));
        SAMPLER_UNROLLED
        for (int j = 0; j < kQuad; ++j) {
          const int element = this->index_of(row, tile, slot * kQuad + j);
          if (uint32_t(element) >= uint32_t(row.count)) continue;
          raw.word[j] = contract::bits_of(change(element, contract::float_of(raw.word[j])));
        }
        ctx.store_vector(this->place(tile, slot), raw);
      }
    });
  }

  // Number of kept tokens. Called by the whole team.
  SAMPLER_DEVICE int count_of(const Row &row, const HeldKept &kept) {
    uint32_t own = 0;
    this->for_each_tile(row, [&](int tile) {
      float x[kGroup];
      this->group(tile, x);
      SAMPLER_UNROLLED
      for (int i = 0; i < kGroup; ++i) own += kept.has(x[i], this->index_of(row, tile, i)) ? 1 : 0;
    });
    const uint64_t values[] = {this->sum_of_counts(own, 0)};
    return int(this->sum(this->exchange(values)[0]));
  }

  // A key that at least the wanted number of tokens reach, and not many more. Called by the leader.
  SAMPLER_DEVICE uint32_t bound_of_list(StreamNeed what) const {
    const int32_t top_k = state().parameters.top_k;
    int wanted = keeps_all(top_k, num_cols()) ? 0 : top_k;
    if (what == StreamNeed::kTotal) {
      const int groups = held.team_size * held.tiles_of_block * 32;
      const int bins = groups < kStreamedTokens ? groups : kStreamedTokens;
      const int of_p = kPivotRank < bins / 2 ? kPivotRank : bins / 2;
      if (of_p > wanted) wanted = of_p;
    }
    return bound_of(wanted);
  }
  // The same for any number. Called by the leader.
  SAMPLER_DEVICE uint32_t bound_of(int wanted) const {
    uint32_t keys[List::kBinsOfThread];
    SAMPLER_UNROLLED
    for (int i = 0; i < List::kBinsOfThread; ++i) {
      keys[i] = shared.row.bins.keys[i * Context::kThreads + ctx.thread()];
    }
    const uint32_t lowest = lowest_key();
    const uint32_t key = this->nth_largest(keys, wanted);
    return key > lowest ? key : lowest;
  }

  // Adds the block's tokens for whose values is_listed is true to the leader's list.
  template <class F>
  SAMPLER_DEVICE void list_if(const Row &row, const F &is_listed) const {
    const auto hits_of = [&](int tile) {
      float x[kGroup];
      this->group(tile, x);
      uint32_t hits = 0;
      SAMPLER_UNROLLED
      for (int i = 0; i < kGroup; ++i) hits |= is_listed(x[i]) ? 1u << i : 0;
      return hits;
    };
    list_hits(row, hits_of, [](float x, uint32_t id) { return contract::rank_of(x, id); });
  }
  // Adds entry(x, id) of the tokens of the lane's groups that hits_of(tile) has bits of.
  template <class Hits, class Entry>
  SAMPLER_DEVICE void list_hits(const Row &row, const Hits &hits_of, const Entry &entry) const {
    uint32_t *const num_listed = ctx.peer(&shared.num_listed, 0);
    uint64_t *const to = ctx.peer(&shared.row.list[0], 0);
    uint32_t own = 0;
    this->for_each_tile(row,
                        [&](int tile) { own += uint32_t(Context::count_bits(hits_of(tile))); });
    uint32_t at = this->reserve(num_listed, own);  // all of a warp's at once
    this->for_each_tile(row, [&](int tile) {
      SAMPLER_KEEP_ROLLED
      for (uint32_t hits = hits_of(tile); hits != 0; hits &= hits - 1, ++at) {
        const int i = Context::lowest_bit(hits);
        const float value = contract::float_of(this->place(tile, i / kQuad)->word[i % kQuad]);
        if (at < uint32_t(kStreamedTokens)) {
          to[at] = entry(value, uint32_t(this->index_of(row, tile, i)));
        }
      }
    });
  }

  SAMPLER_DEVICE static HeldKept kept_from(Rank cut) {
    return {contract::value_of_rank(cut), int(contract::id_of_rank(cut) & 0x7FFFFFFFu)};
  }
  SAMPLER_DEVICE HeldKept kept() const { return kept_from(shared.cut); }

  const Request &request;
};

}  // namespace sampler::kernels
