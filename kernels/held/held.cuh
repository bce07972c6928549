// Rows held in shared memory. A team, the blocks of one cluster, takes a row: each block copies a
// part of it and passes over that, so device memory is read once, and written once.
//
//     load     every block: its part, and the largest value of it
//     list     of filters: tokens above a bound that follows from the threads' largest values; the
//              leader, the team's first block, sorts and cuts them
//     weigh    every block: the weights of its part, where that of all of the row is needed
//     write    every block: its part of the row of output; or, of a chain, the block that has the
//              last token draws it
//
// Rows whose tokens do not fit the list are left to the general kernel.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "contract/draw.h"
#include "contract/elements.h"
#include "contract/request.h"
#include "contract/verify_chain.h"
#include "held/held.h"
#include "machine/device.cuh"
#include "operations/residual.cuh"
#include "operations/sample.cuh"
#include "row/output.cuh"
#include "row/row.cuh"
#include "stages/edited_row.cuh"
#include "stages/edits.cuh"
#include "stages/staged.h"
#include "stream/ranked_list.cuh"
#include "stream/streamed_row.cuh"

namespace sampler::kernels {

// A row of any type that is held as f32: laid out like one of that type.
struct HeldRow : StreamedRow<SAMPLER_F32> {
  sampler_dtype dtype = SAMPLER_F32;

  SAMPLER_DEVICE static HeldRow of(const void *values, int count, sampler_dtype dtype) {
    HeldRow row;
    row.dtype = dtype;
    row.lead = elements_to_alignment(values, dtype);
    row.begin = static_cast<const char *>(values) - row.lead * int(contract::size_of(dtype));
    row.count = count;
    return row;
  }
  SAMPLER_DEVICE static HeldRow of(const contract::RowView &view) {
    return of(view.values, view.count, view.dtype);
  }

  SAMPLER_DEVICE float value(int index) const {
    return contract::load_value(begin, dtype, lead + index);
  }
};

// A block's part of a row, held as vectors where the lane that uses them finds them: those of a
// tile side by side, 16 bytes a lane. A group of 16 bits takes the last two of its four, until f32
// replace it.
template <class Context, sampler_dtype kDtype, class Shared, class RowType = StreamedRow<kDtype>>
class HeldBlock : protected RankedList<Context, Shared> {
 public:
  SAMPLER_DEVICE HeldBlock(const Context &context, const Held &layout)
      : RankedList<Context, Shared>(context, context.template shared<Shared>()), held(layout) {
    begin_ = context.cluster_rank() * held.tiles_of_block;
  }

 protected:
  using List = RankedList<Context, Shared>;
  using List::ctx;
  using List::shared;
  using List::sum_of_warps;
  using Row = RowType;
  static constexpr int kWarps = Context::kWarps;
  static constexpr int kSlots = kGroup / kQuad;  // vectors of f32 per group
  static constexpr int kFirstRaw = kSlots - Row::kVectors;

  SAMPLER_DEVICE int64_t index() const { return ctx.team(); }
  SAMPLER_DEVICE bool is_leader() const { return ctx.cluster_rank() == 0; }

  // A lane's vector of one of the block's tiles.
  SAMPLER_DEVICE Vector *place(int tile, int slot) const {
    return reinterpret_cast<Vector *>(&shared + 1) + (tile * kSlots + slot) * 32 + ctx.lane();
  }

  // Calls f(tile, of the block) for each of the warp's tiles that the row has.
  template <class F>
  SAMPLER_DEVICE void for_each_tile(const Row &row, const F &f) const {
    const int end = tiles_of(row);
    SAMPLER_KEEP_ROLLED
    for (int tile = ctx.warp(); tile < end; tile += kWarps) f(tile);
  }
  SAMPLER_DEVICE int tiles_of(const Row &row) const {
    const int in_row = (row.lead + row.count + kTile - 1) / kTile - begin_;
    return in_row < held.tiles_of_block ? in_row : held.tiles_of_block;
  }
  // Index of element `i` of the lane's group.
  SAMPLER_DEVICE int index_of(const Row &row, int tile, int i) const {
    return Row::position(begin_ + tile, ctx.lane(), i / Row::kElements) + i % Row::kElements -
           row.lead;
  }

  // Copies the block's part.
  SAMPLER_DEVICE void load(const Row &row) const {
    for_each_tile(row, [&](int tile) {
      if (row.is_whole(begin_ + tile)) {
        const char *const from =
            row.begin + Row::position(begin_ + tile, ctx.lane(), 0) * int64_t(Row::kBytes);
        SAMPLER_UNROLLED
        for (int i = 0; i < Row::kVectors; ++i) {
          ctx.copy_async(place(tile, kFirstRaw + i),
                         reinterpret_cast<const Vector *>(from + i * kVectorStep));
        }
      } else {
        Vector raw[Row::kVectors];
        row.load_any(ctx, begin_ + tile, raw);
        SAMPLER_UNROLLED
        for (int i = 0; i < Row::kVectors; ++i)
          ctx.store_vector(place(tile, kFirstRaw + i), raw[i]);
      }
    });
    wait_for_part();
  }
  SAMPLER_DEVICE void wait_for_part() const {
    ctx.commit_copies();
    ctx.wait_for_launch_before();
    ctx.template wait_for_copies<0>();
  }
  // A group as it was loaded.
  SAMPLER_DEVICE void raw_group(int tile, Vector (&raw)[Row::kVectors]) const {
    SAMPLER_UNROLLED
    for (int i = 0; i < Row::kVectors; ++i) raw[i] = ctx.load_shared(place(tile, kFirstRaw + i));
  }
  // A group of f32.
  SAMPLER_DEVICE void group(int tile, float (&x)[kGroup]) const {
    SAMPLER_UNROLLED
    for (int slot = 0; slot < kSlots; ++slot) {
      const Vector from = ctx.load_shared(place(tile, slot));
      SAMPLER_UNROLLED
      for (int j = 0; j < kQuad; ++j) x[slot * kQuad + j] = contract::float_of(from.word[j]);
    }
  }
  // The key of its largest element.
  SAMPLER_DEVICE uint32_t key_of_group(int tile) const {
    float x[kGroup];
    group(tile, x);
    float max = x[0];
    SAMPLER_UNROLLED
    for (int i = 1; i < kGroup; ++i) max = Context::larger(max, x[i]);
    return key_or_bad(max);
  }
  // Element `i` of a tile of f32, in order, of the block that has it.
  SAMPLER_DEVICE static int place_of(int tile, int i) {
    const int vector = i / Row::kElements, in_vector = i % Row::kElements;
    const int slot = (vector / 32 * Row::kElements + in_vector) / kQuad;
    return ((tile * kSlots + slot) * 32 + vector % 32) * kQuad + in_vector % kQuad;
  }
  SAMPLER_DEVICE float *values() const { return reinterpret_cast<float *>(&shared + 1); }
  SAMPLER_DEVICE static float element_of(const Vector (&raw)[Row::kVectors], int i) {
    return element<kDtype>(raw[i / Row::kElements], i % Row::kElements);
  }

  // Gives every block the team's values, which must be the same in all threads of a block. A
  // barrier of the team. Valid until the second exchange after it.
  template <int kCount>
  SAMPLER_DEVICE const uint64_t (*exchange(const uint64_t (&values)[kCount]))[kMostHeldTeam] {
    uint64_t(*const half)[kMostHeldTeam] = shared.values[parity_];
    parity_ ^= 1;
    SAMPLER_UNROLLED
    for (int i = 0; i < kCount; ++i) {
      if (ctx.thread() < ctx.team_size()) {
        *ctx.peer(&half[i][ctx.cluster_rank()], ctx.thread()) = values[i];
      }
    }
    ctx.team_sync();
    return half;
  }
  SAMPLER_DEVICE uint64_t sum(const uint64_t (&values)[kMostHeldTeam]) const {
    uint64_t result = 0;
    SAMPLER_KEEP_ROLLED
    for (int i = 0; i < ctx.team_size(); ++i) result += values[i];
    return result;
  }
  SAMPLER_DEVICE uint32_t max_of_team(uint32_t key) {
    const uint64_t own[] = {this->max_of_block(key)};
    return max(exchange(own)[0]);
  }
  SAMPLER_DEVICE uint32_t max(const uint64_t (&keys)[kMostHeldTeam]) const {
    uint32_t result = 0;
    SAMPLER_KEEP_ROLLED
    for (int i = 0; i < ctx.team_size(); ++i) {
      if (uint32_t(keys[i]) > result) result = uint32_t(keys[i]);
    }
    return result;
  }
  // Sum over the team of the threads' weights.
  SAMPLER_DEVICE uint64_t weight_of_team(uint64_t own) {
    const uint64_t low = ctx.warp_sum(uint32_t(own)), high = ctx.warp_sum(own >> 32);
    const uint64_t values[] = {sum_of_warps((high << 32) + low, 1)};
    return sum(exchange(values)[0]);
  }

  // ---- Rows of output ---------------------------------------------------------------------------

  // Writes the block's part; make(tile, i, x) gives x the kElements of the group from `i` on.
  template <class Make>
  SAMPLER_DEVICE void write(const OutputRows &output, const Row &row, const Make &make) const {
    const int64_t begin = index() * output.stride;
    for_each_tile(row, [&](int tile) {
      SAMPLER_KEEP_ROLLED
      for (int i = 0; i < kGroup; i += Row::kElements) {
        float x[Row::kElements];
        make(tile, i, x);
        const int first = index_of(row, tile, i);
        if (row.is_whole(begin_ + tile)) {
          output.template store_run<Row::kElements>(ctx, begin + first, x);
          continue;
        }
        for (int j = 0; j < Row::kElements; ++j) {
          if (uint32_t(first + j) < uint32_t(row.count)) output.store(begin + first + j, x[j]);
        }
      }
    });
  }

  // A bad row: zeros, or a copy of the input.
  SAMPLER_DEVICE void write_bad(const OutputRows &output, const Row &row, bool is_mask) const {
    const int first = begin_ * kTile - row.lead;
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < tiles_of(row) * kTile; i += Context::kThreads) {
      if (uint32_t(first + i) >= uint32_t(row.count)) continue;
      output.store(index() * output.stride + first + i, is_mask ? row.value(first + i) : 0.0f);
    }
  }

  // An element, in whichever block has it.
  SAMPLER_DEVICE float &value_in_team(const Row &row, int element) const {
    const int position = element + row.lead, tile = position / kTile;
    const int rank = tile / held.tiles_of_block;
    return *ctx.peer(&values()[place_of(tile - rank * held.tiles_of_block, position % kTile)],
                     rank);
  }

  // ---- Draws ------------------------------------------------------------------------------------

  // Draws a token, which the leader gets after the team's next barrier, from a row of f32, by
  // relative(x, index), which has its weight. Returns the row's weight. `word`: random.
  template <class Relative>
  SAMPLER_DEVICE uint64_t draw_by_tiles(const Row &row, uint64_t word, const Relative &relative) {
    uint64_t own = 0;  // of the warp
    for_each_tile(row, [&](int tile) {
      float x[kGroup];
      group(tile, x);
      contract::WeightSum weights;
      SAMPLER_UNROLLED
      for (int i = 0; i < kGroup; ++i) weights.add(relative(x[i], index_of(row, tile, i)));
      const uint64_t weight = ctx.warp_sum(weights.of(kGroup));
      if (ctx.lane() == 0) shared.drawn.tile_weights[tile] = weight;
      own += weight;
    });
    const uint64_t weights[] = {sum_of_warps(own, 1)};
    const auto *const all = exchange(weights);
    const uint64_t total = sum(all[0]);
    uint64_t target = contract::draw_target(word, total);
    int rank = 0;
    SAMPLER_KEEP_ROLLED
    for (; target >= all[0][rank]; ++rank) target -= all[0][rank];
    if (rank != ctx.cluster_rank() || ctx.warp() != 0) return total;
    int tile = 0;
    SAMPLER_KEEP_ROLLED
    for (;; tile += 32) {
      const int mine = tile + ctx.lane();
      const uint64_t weight = mine < tiles_of(row) ? shared.drawn.tile_weights[mine] : 0;
      const int lane = this->find(weight, &target);
      if (lane == 32) continue;
      tile += lane;
      break;
    }
    // A lane has as many of the tile's elements, in order, as its group has.
    const int first = (begin_ + tile) * kTile - row.lead;
    const auto weight_at = [&](int i) {
      return contract::weight_of(relative(values()[place_of(tile, i)], first + i));
    };
    uint64_t mine = 0;
    SAMPLER_KEEP_ROLLED
    for (int i = 0; i < kGroup; ++i) {
      mine += weight_at(ctx.lane() * kGroup + (i + ctx.lane() / 2) % kGroup);  // of many banks
    }
    const int lane = this->find(mine, &target);
    if (ctx.lane() != lane) return total;
    int i = lane * kGroup;
    SAMPLER_KEEP_ROLLED
    for (uint64_t weight = weight_at(i); target >= weight; weight = weight_at(i)) {
      target -= weight;
      ++i;
    }
    HeldDraw *const drawn = ctx.peer(&shared.drawn, 0);
    drawn->id = first + i;
    drawn->value = values()[place_of(tile, i)];
    return total;
  }

  const Held &held;
  int begin_;  // the block's first tile
  int parity_ = 0;
};

// ---- Softmax ------------------------------------------------------------------------------------

template <class Context, sampler_dtype kDtype>
class SoftmaxBlock : HeldBlock<Context, kDtype, HeldSoftmax> {
 public:
  SAMPLER_DEVICE SoftmaxBlock(const Context &context, const contract::FilterRequest &filter,
                              const Held &layout)
      : Block(context, layout), request(filter) {}

  SAMPLER_DEVICE void run() {
    const Row row = Row::of(request.input, this->index());
    if (ctx.thread() == 0) {
      shared.status =
          contract::read_parameters(request, request.slots[this->index()], &shared.parameters);
    }
    this->load(row);
    float max = contract::negative_infinity();
    this->for_each_tile(row, [&](int tile) {
      Vector raw[Row::kVectors];
      this->raw_group(tile, raw);
      max = Context::larger(max, largest<kDtype, Context>(raw));
    });
    const uint32_t key = this->max_of_team(key_or_bad(max));
    const OutputRows output = output_rows(request, request.input.num_cols);
    const uint32_t status = shared.status != SAMPLER_ROW_OK ? shared.status : status_of_key(key);
    if (status != SAMPLER_ROW_OK) {
      this->write_bad(output, row, false);
    } else if (contract::is_greedy(shared.parameters.temperature)) {
      write_first(output, row, contract::value_of_key(key));
    } else {
      write_all(output, row, contract::value_of_key(key));
    }
    if (this->is_leader() && ctx.thread() == 0 && request.out_row_status) {
      request.out_row_status[this->index()] = status;
    }
  }

 private:
  using Block = HeldBlock<Context, kDtype, HeldSoftmax>;
  using Block::ctx;
  using Block::kSlots;
  using Block::shared;
  using Row = typename Block::Row;

  SAMPLER_DEVICE void write_all(const OutputRows &output, const Row &row, float max) {
    const contract::RowScale scale = contract::logits_row_scale(max, shared.parameters.temperature);
    uint64_t own = 0;
    this->for_each_tile(row, [&](int tile) {
      Vector raw[Row::kVectors];
      this->raw_group(tile, raw);
      contract::WeightSum weights;
      SAMPLER_UNROLLED
      for (int slot = 0; slot < kSlots; ++slot) {
        Vector relative;
        SAMPLER_UNROLLED
        for (int j = 0; j < kQuad; ++j) {
          const float x =
              contract::relative_probability(scale, Block::element_of(raw, slot * kQuad + j));
          weights.add(x);
          relative.word[j] = contract::bits_of(x);
        }
        ctx.store_vector(this->place(tile, slot), relative);
      }
      own += weights.of(kGroup);
    });
    const float normalizer = contract::normalizer(this->weight_of_team(own));
    this->write(output, row, [&](int tile, int i, float(&x)[Row::kElements]) {
      SAMPLER_UNROLLED
      for (int j = 0; j < Row::kElements; j += kQuad) {
        const Vector relative = ctx.load_shared(this->place(tile, (i + j) / kQuad));
        SAMPLER_UNROLLED
        for (int n = 0; n < kQuad; ++n)
          x[j + n] = contract::float_of(relative.word[n]) * normalizer;
      }
    });
  }

  // Greedy: the first token has probability 1.
  SAMPLER_DEVICE void write_first(const OutputRows &output, const Row &row, float max) {
    uint32_t own = 0;
    this->for_each_tile(row, [&](int tile) {
      Vector raw[Row::kVectors];
      this->raw_group(tile, raw);
      SAMPLER_UNROLLED
      for (int i = 0; i < kGroup; ++i) {
        const uint32_t upside_down = ~uint32_t(this->index_of(row, tile, i));
        if (Block::element_of(raw, i) == max && upside_down > own) own = upside_down;
      }
    });
    ctx.sync();  // before `partial` is used again
    const int first = int(~this->max_of_team(own));
    this->write(output, row, [&](int tile, int i, float(&x)[Row::kElements]) {
      SAMPLER_UNROLLED
      for (int j = 0; j < Row::kElements; ++j) {
        x[j] = this->index_of(row, tile, i) + j == first ? 1.0f : 0.0f;
      }
    });
  }

  const contract::FilterRequest &request;
};

// ---- Cuts ---------------------------------------------------------------------------------------

// What filters keep of a row of f32.
template <class Context, class Shared, class Request>
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

  // Copies the block's part as f32.
  SAMPLER_DEVICE void load_as_f32(const HeldRow &row) const {
    switch (row.dtype) {
      case SAMPLER_F16:
        return load_halves<SAMPLER_F16>(row);
      case SAMPLER_BF16:
        return load_halves<SAMPLER_BF16>(row);
      default:
        this->load(row);
    }
  }
  // Copies halves to the end of their tile's place; then f32 take all of it.
  template <sampler_dtype kHalf>
  SAMPLER_DEVICE void load_halves(const HeldRow &row) const {
    using Halves = StreamedRow<kHalf>;
    constexpr int kFirst = Block::kSlots - Halves::kVectors;
    const Halves from = {row.begin, row.lead, row.count};
    this->for_each_tile(row, [&](int tile) {
      const int in_row = this->begin_ + tile;
      if (from.is_whole(in_row)) {
        const char *const group =
            from.begin + Halves::position(in_row, ctx.lane(), 0) * int64_t(Halves::kBytes);
        SAMPLER_UNROLLED
        for (int i = 0; i < Halves::kVectors; ++i) {
          ctx.copy_async(this->place(tile, kFirst + i),
                         reinterpret_cast<const Vector *>(group + i * kVectorStep));
        }
      } else {
        Vector raw[Halves::kVectors];
        from.load_any(ctx, in_row, raw);
        SAMPLER_UNROLLED
        for (int i = 0; i < Halves::kVectors; ++i) {
          ctx.store_vector(this->place(tile, kFirst + i), raw[i]);
        }
      }
    });
    this->wait_for_part();
    this->for_each_tile(row, [&](int tile) {
      Vector raw[Halves::kVectors];
      SAMPLER_UNROLLED
      for (int i = 0; i < Halves::kVectors; ++i)
        raw[i] = ctx.load_shared(this->place(tile, kFirst + i));
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
  SAMPLER_DEVICE int64_t num_cols() const {
    if constexpr (std::is_same_v<Request, contract::VerifyRequest>) {
      return request.target.num_cols;
    } else {
      return request.input.num_cols;
    }
  }
  SAMPLER_DEVICE bool counts_kept() const {
    if constexpr (std::is_same_v<Request, contract::VerifyRequest>)
      return false;
    else
      return request.out_kept_counts != nullptr;
  }

  SAMPLER_DEVICE StreamedRowState &state() const { return shared.state; }
  SAMPLER_DEVICE contract::RowScale scale() const {
    return {SAMPLER_LOGITS, state().max, state().scale, 0};
  }

  // Called by one thread.
  SAMPLER_DEVICE void read_parameters(int64_t slot) const {
    StreamedRowState &row = state();
    row.need = StreamNeed::kOther;
    row.status = contract::read_parameters(request, slot, &row.parameters);
    shared.num_listed = 0;
    if (row.status != SAMPLER_ROW_OK) return;
    row.need = stream_need(row.parameters, rules(), num_cols(), {counts_kept(), false});
    if (!has_bound(row.parameters.top_k, num_cols())) row.need = StreamNeed::kOther;
  }
  SAMPLER_DEVICE bool is_other() const {
    return state().status == SAMPLER_ROW_OK && state().need == StreamNeed::kOther;
  }
  SAMPLER_DEVICE void set_maximum(uint32_t key) const {
    if (ctx.thread() != 0) return;
    StreamedRowState &row = state();
    row.max_key = key;
    if (row.status == SAMPLER_ROW_OK) row.status = status_of_key(key);
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
    if (what == StreamNeed::kWeights) {
      // Min-p is the only filter, if any is on.
      const uint32_t lowest = contract::value_key(contract::negative_infinity()) + 1;
      const bool is_cut = contract::min_p_is_on(state().parameters.min_p);
      const uint32_t key =
          is_cut ? this->lowest_weighed(scale(), state().max_key, state().parameters.min_p)
                 : lowest;
      ctx.sync();
      const uint64_t weight = wants_weight ? this->weight_of_team(weigh(row, scale(), key)) : 0;
      if (ctx.thread() == 0) set_cut(contract::rank_of_key(key), weight, 0);
      ctx.sync();
      return true;
    }
    // Top-p alone may keep any number of tokens: weights by value show the bin of its cut, whose
    // tokens are listed. Else it is the tokens above a bound.
    const bool is_binned = what == StreamNeed::kTotal && has_top_p_alone();
    const float p = state().parameters.top_p;
    const ValueBins bins = ValueBins::of(scale(), 1.0f - p);
    uint64_t total = 0;
    if (what == StreamNeed::kTotal) {
      total = this->weight_of_team(is_binned ? weigh_by_value(row, bins) : weigh(row, scale(), 0));
    }
    const bool is_first = contract::is_greedy(state().parameters.temperature);
    uint64_t begin[] = {0, 0};  // the bin or the bound, and the weight above the bin
    if (this->is_leader()) {
      if (is_binned) {
        find_bin(contract::top_p_threshold({p, rules().top_p_sum}, total));
        begin[0] = uint64_t(shared.kept_count);
        begin[1] = shared.kept_weight;
      } else {
        begin[0] = is_first ? state().max_key : bound_of_list(what);
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
      this->sort(is_binned ? bins.value(float(bin) - 0.5f) : state().max,
                 is_binned ? bins.value(float(bin) + 1.5f) : lowest);
      int kept = 1;
      if (!is_first) {
        this->add_up(scale());
        typename List::Prefixes prefixes(*this, scale(), state().max, num_cols(), total, above);
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
    if (ctx.thread() == 0) set_cut(all[0][0], all[1][0], int(all[2][0]));
    ctx.sync();
    return shared.kept_count != 0;
  }

  SAMPLER_DEVICE bool has_top_p_alone() const {
    const contract::RowParameters &parameters = state().parameters;
    return !contract::min_p_is_on(parameters.min_p) && !counts_kept() &&
           keeps_all(parameters.top_k, num_cols());
  }

  // Bins of values, from the largest down; lighter tokens than any that top-p may keep have none.
  struct ValueBins {
    float max;
    float floor;
    float bins_of_unit;

    // `rest`: the share of the weight that may be left out.
    SAMPLER_DEVICE static ValueBins of(const contract::RowScale &scale, float rest) {
      constexpr int kMostOctaves = 44;  // lighter tokens weigh nothing
      const int exponent = int(contract::bits_of(rest) >> 23) - 127;
      const int octaves = 21 - exponent < kMostOctaves ? 21 - exponent : kMostOctaves;
      const float reach = float(octaves) / scale.scale;
      return {scale.max, scale.max - reach, float(kStreamedTokens - 1) / reach};
    }
    // -1: none.
    SAMPLER_DEVICE int of_value(float x) const {
      if (!(x >= floor)) return -1;
      const float place = (max - x) * bins_of_unit;
      return place < float(kStreamedTokens - 1) ? int(place) : kStreamedTokens - 1;
    }
    SAMPLER_DEVICE float value(float place) const { return max - place / bins_of_unit; }
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

  // This thread's part of the weight; adds it to the block's bins.
  SAMPLER_DEVICE uint64_t weigh_by_value(const Row &row, const ValueBins &bins) const {
    const contract::RowScale scale = this->scale();
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < kStreamedTokens; i += Context::kThreads) {
      shared.row.weights[i] = {};
    }
    ctx.sync();
    uint64_t own = 0;
    this->for_each_tile(row, [&](int tile) {
      float x[kGroup];
      this->group(tile, x);
      const int first = bins.of_value(x[0]);
      const uint32_t alike = ctx.warp_match(first >= 0 ? uint32_t(first) : ~uint32_t(ctx.lane()));
      const bool is_crowded = ctx.ballot(Context::count_bits(alike) >= kCrowd) != 0;
      SAMPLER_UNROLLED
      for (int i = 0; i < kGroup; ++i) {
        const uint64_t weight = contract::weight_of(contract::relative_for_weight(scale, x[i]));
        own += weight;
        int bin = bins.of_value(x[i]);
        if (is_crowded) bin = add_crowded(bin, weight);
        if (bin >= 0) ctx.add_to_shared(&shared.row.weights[bin], weight);
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
    const float low = key != 0 ? contract::value_of_key(key) : contract::negative_infinity();
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
    uint32_t keys[List::kBinsOfThread];
    SAMPLER_UNROLLED
    for (int i = 0; i < List::kBinsOfThread; ++i) {
      keys[i] = shared.row.bins.keys[i * Context::kThreads + ctx.thread()];
    }
    const uint32_t lowest = contract::value_key(contract::negative_infinity()) + 1;
    const uint32_t key = this->nth_largest(keys, wanted);
    return key > lowest ? key : lowest;
  }

  // Adds the block's tokens for whose values is_listed is true to the leader's list.
  template <class F>
  SAMPLER_DEVICE void list_if(const Row &row, const F &is_listed) const {
    uint32_t *const num_listed = ctx.peer(&shared.num_listed, 0);
    uint64_t *const to = ctx.peer(&shared.row.list[0], 0);
    const auto hits_of = [&](const float(&x)[kGroup]) {
      uint32_t hits = 0;
      SAMPLER_UNROLLED
      for (int i = 0; i < kGroup; ++i) hits |= is_listed(x[i]) ? 1u << i : 0;
      return hits;
    };
    uint32_t own = 0;
    this->for_each_tile(row, [&](int tile) {
      float x[kGroup];
      this->group(tile, x);
      own += uint32_t(Context::count_bits(hits_of(x)));
    });
    uint32_t at = this->reserve(num_listed, own);  // all of a warp's at once
    this->for_each_tile(row, [&](int tile) {
      float x[kGroup];
      this->group(tile, x);
      const uint32_t hits = hits_of(x);
      SAMPLER_UNROLLED
      for (int i = 0; i < kGroup; ++i) {
        if ((hits >> i & 1) == 0) continue;
        if (at < uint32_t(kStreamedTokens)) {
          to[at] = contract::rank_of(x[i], uint32_t(this->index_of(row, tile, i)));
        }
        ++at;
      }
    });
  }

  SAMPLER_DEVICE HeldKept kept() const {
    return {contract::value_of_rank(shared.cut),
            int(contract::id_of_rank(shared.cut) & 0x7FFFFFFFu)};
  }

  const Request &request;
};

// ---- Filters ------------------------------------------------------------------------------------

template <class Context>
class FilterBlock : CutBlock<Context, HeldFilter, contract::FilterRequest> {
 public:
  using Cut = CutBlock<Context, HeldFilter, contract::FilterRequest>;
  using Cut::Cut;

  SAMPLER_DEVICE void run() {
    const Row row = Row::of(contract::row_view(request.input, this->index()));
    if (ctx.thread() == 0) this->read_parameters(request.slots[this->index()]);
    ctx.sync();
    if (this->is_other()) return this->leave(this->index());
    this->load_as_f32(row);
    this->set_maximum(this->max_of_team(this->largest_by_bins(row)));
    ctx.sync();
    if (state().status != SAMPLER_ROW_OK) {
      this->write_bad(output(), row, is_mask());
      write_outcome(0);
    } else if (!this->cut(row, !is_mask())) {
      this->leave(this->index());
    } else {
      write_kept(row);
      write_outcome(shared.kept_count);
    }
  }

 private:
  using Cut::ctx;
  using Cut::request;
  using Cut::shared;
  using Cut::state;
  using Row = typename Cut::Row;

  SAMPLER_DEVICE bool is_mask() const { return request.output_kind == SAMPLER_OUTPUT_VALUES; }
  SAMPLER_DEVICE OutputRows output() const { return output_rows(request, request.input.num_cols); }

  SAMPLER_DEVICE void write_kept(const Row &row) const {
    const contract::RowScale scale = this->scale();
    const auto cut = this->kept();
    const bool greedy = contract::is_greedy(state().parameters.temperature);
    const float normalizer = greedy || is_mask() ? 1.0f : contract::normalizer(shared.kept_weight);
    this->write(output(), row, [&](int tile, int i, float(&x)[Row::kElements]) {
      const int first = this->index_of(row, tile, i);
      uint32_t kept = 0;
      SAMPLER_UNROLLED
      for (int j = 0; j < Row::kElements; j += kQuad) {
        const Vector from = ctx.load_shared(this->place(tile, (i + j) / kQuad));
        SAMPLER_UNROLLED
        for (int n = 0; n < kQuad; ++n) {
          x[j + n] = contract::float_of(from.word[n]);
          kept |= cut.has(x[j + n], first + j + n) ? 1u << (j + n) : 0;
        }
      }
      if (is_mask() || greedy) {
        SAMPLER_UNROLLED
        for (int j = 0; j < Row::kElements; ++j) {
          const bool is_kept = (kept >> j & 1) != 0;
          if (greedy && !is_mask()) {
            x[j] = is_kept ? 1.0f : 0.0f;
          } else {
            x[j] = is_kept ? x[j] : contract::negative_infinity();
          }
        }
        return;
      }
      SAMPLER_UNROLLED
      for (int j = 0; j < Row::kElements; ++j) {
        const float probability =
            kept != 0 ? contract::relative_probability(scale, x[j]) * normalizer : 0.0f;
        x[j] = (kept >> j & 1) != 0 ? probability : 0.0f;
      }
    });
  }

  SAMPLER_DEVICE void write_outcome(int kept_count) const {
    if (!this->is_leader() || ctx.thread() != 0) return;
    if (request.out_kept_counts) request.out_kept_counts[this->index()] = kept_count;
    if (request.out_row_status) request.out_row_status[this->index()] = state().status;
  }
};

// ---- First tokens -------------------------------------------------------------------------------

template <class Context>
class SelectBlock : CutBlock<Context, HeldFilter, contract::SelectRequest> {
 public:
  using Cut = CutBlock<Context, HeldFilter, contract::SelectRequest>;
  using Cut::Cut;

  SAMPLER_DEVICE void run() {
    const Row row = Row::of(contract::row_view(request.input, this->index()));
    if (ctx.thread() == 0) {
      shared.num_listed = 0;
      const int num_selected = int(request.num_selected);
      const int k = request.selected_counts ? request.selected_counts[this->index()] : 0;
      state().parameters.top_k = k <= 0 || k >= num_selected ? num_selected : k;
    }
    this->load_as_f32(row);
    const uint32_t key = this->max_of_team(this->largest_by_bins(row));
    const contract::Rank first = contract::rank_of_key(key) | ~uint32_t(0);
    const uint32_t status =
        key == ~uint32_t(0) ? uint32_t(SAMPLER_ROW_INVALID_VALUE)
                            : contract::check_first(SAMPLER_LOGITS, first, contract::Use::kOrder);
    if (status != SAMPLER_ROW_OK) return write(row, 0, status);
    uint64_t begin[] = {0};
    if (this->is_leader()) begin[0] = this->bound_of_list(StreamNeed::kList);
    ctx.sync();
    const float lowest = contract::value_of_key(uint32_t(this->exchange(begin)[0][0]));
    this->list_if(row, [&](float x) { return x >= lowest; });
    ctx.team_sync();
    if (!this->is_leader()) return;
    if (this->count() > kStreamedTokens) return this->leave(this->index());
    this->sort(contract::value_of_key(key), lowest);
    const int wanted = state().parameters.top_k;
    write(row, wanted < this->count() ? wanted : this->count(), status);
  }

 private:
  using Cut::ctx;
  using Cut::request;
  using Cut::shared;
  using Cut::state;
  using Row = typename Cut::Row;

  // Writes so many tokens of the list, and nothing after them.
  SAMPLER_DEVICE void write(const Row &row, int count, uint32_t status) const {
    if (!this->is_leader()) return;
    const int64_t begin = this->index() * request.num_selected;
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < int(request.num_selected); i += Context::kThreads) {
      float x = contract::negative_infinity();
      int64_t id = -1;
      if (i < count) {
        id = contract::id_of_rank(shared.row.list[i]);
        x = contract::value_of_rank(shared.row.list[i]);
        if (x == 0.0f) x = row.value(int(id));  // ranks do not have its sign
      }
      if (request.out_values) {
        contract::store_value(request.out_values, request.output_dtype, begin + i, x);
      }
      if (request.out_token_ids.data) contract::store_id(request.out_token_ids, begin + i, id);
    }
    if (ctx.thread() != 0) return;
    if (request.out_counts) request.out_counts[this->index()] = count;
    if (request.out_row_status) request.out_row_status[this->index()] = status;
  }
};

// ---- Chains -------------------------------------------------------------------------------------

// Writes a chain's outputs. Called by a block.
template <class Context>
SAMPLER_DEVICE void write_chain(const Context &ctx, const contract::VerifyRequest &request,
                                const contract::Chain &chain, uint32_t status) {
  const int num_tokens = int(request.num_drafts) + 1;
  SAMPLER_KEEP_ROLLED
  for (int i = ctx.thread(); i < num_tokens; i += Context::kThreads) {
    contract::store_id(request.out_token_ids, chain.row * num_tokens + i,
                       contract::chain_token(request, chain, status, i));
  }
  if (ctx.thread() == 0) contract::write_chain_outcome(request, chain, status);
}

template <class Context, sampler_dtype kDtype>
class ChainBlock : HeldBlock<Context, kDtype, HeldChain> {
 public:
  SAMPLER_DEVICE ChainBlock(const Context &context, const contract::VerifyRequest &verify,
                            const Held &layout)
      : Block(context, layout), request(verify) {}

  SAMPLER_DEVICE void run() {
    look_up();
    ctx.sync();
    if (ctx.thread() == 0) walk();
    ctx.sync();
    if (shared.status == SAMPLER_ROW_OK) draw_last_token();
    // Every block has read the counts, which the row's outputs may overwrite.
    ctx.team_sync();
    if (!this->is_leader()) return;
    contract::Chain chain = shared.chain;
    chain.last_token = shared.drawn.id;
    write_chain(ctx, request, chain, shared.status);
  }

 private:
  using Block = HeldBlock<Context, kDtype, HeldChain>;
  using Block::begin_;
  using Block::ctx;
  using Block::kSlots;
  using Block::shared;
  using Row = typename Block::Row;

  // Reads the probabilities of the first drafts, all at once.
  SAMPLER_DEVICE void look_up() const {
    const int64_t index = this->index();
    const int length = request.draft_counts ? request.draft_counts[index] : int(request.num_drafts);
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < length && i < int(request.num_drafts) && i < kLookedUp;
         i += Context::kThreads) {
      const int64_t id = contract::draft_id(request, index, i);
      if (!contract::is_in_vocabulary(request, id)) continue;
      shared.target[i] = contract::target_view(request, index, i).value(id);
      if (!request.draft.values) continue;
      shared.draft[i] = contract::draft_view(request, index, i).value(id);
    }
  }

  struct Models {
    const ChainBlock &block;

    SAMPLER_DEVICE uint32_t find_first(int, int64_t *) const { return SAMPLER_ROW_OK; }  // greedy
    SAMPLER_DEVICE uint32_t look_up_target(int position, int64_t id, float *probability) const {
      *probability = position < kLookedUp
                         ? block.shared.target[position]
                         : contract::target_view(block.request, block.index(), position).value(id);
      return status_of(*probability);
    }
    SAMPLER_DEVICE uint32_t look_up_draft(int position, int64_t id, float *probability) const {
      *probability = position < kLookedUp
                         ? block.shared.draft[position]
                         : contract::draft_view(block.request, block.index(), position).value(id);
      return status_of(*probability);
    }
    SAMPLER_DEVICE static uint32_t status_of(float x) {
      return contract::is_valid_value(SAMPLER_PROBABILITIES, x) ? SAMPLER_ROW_OK
                                                                : SAMPLER_ROW_INVALID_VALUE;
    }
  };

  // Called by one thread.
  SAMPLER_DEVICE void walk() const {
    contract::Chain chain = contract::make_chain(request, this->index());
    uint32_t status = chain.status;
    if (status == SAMPLER_ROW_OK) {
      status = contract::verify_drafts(request, &chain, [&](int position) {
        Models models = {*this};
        return contract::verify_draft(request, chain, position, models);
      });
    }
    shared.chain = chain;
    shared.status = status;
  }

  SAMPLER_DEVICE void draw_last_token() {
    const contract::Chain &chain = shared.chain;
    const int64_t index = this->index();
    int64_t removed = contract::rejected_draft(request, chain);
    const int count = int(request.target.num_cols);
    const Row target = Row::at(contract::target_view(request, index, chain.emitted).values, count);
    SAMPLER_KEEP_ROLLED
    for (;;) {
      Row draft = {};
      const bool has_draft = removed >= 0 && request.draft.values;
      if (has_draft)
        draft = Row::at(contract::draft_view(request, index, chain.emitted).values, count);
      bool is_bad = false;
      const uint32_t own = load_residual(target, draft, has_draft ? -1 : removed, &is_bad);
      ctx.sync();
      const uint64_t values[] = {this->max_of_block(own), ctx.block_count(is_bad)};
      const auto *const all = this->exchange(values);
      if (this->sum(all[1]) != 0) return set_status(SAMPLER_ROW_INVALID_VALUE);
      const uint32_t key = this->max(all[0]);
      if (contract::rank_of_key(key) >= contract::lowest_cut(SAMPLER_PROBABILITIES)) {
        return draw(target, contract::value_of_key(key));
      }
      if (removed < 0) return set_status(SAMPLER_ROW_EMPTY);
      removed = -1;
    }
  }

  SAMPLER_DEVICE void set_status(uint32_t status) const {
    if (ctx.thread() == 0) shared.status = status;
  }

  // Computes the block's part of max(p - q, 0), or of p if there is no draft, 0 at `removed`.
  // Returns the key of the thread's largest.
  SAMPLER_DEVICE uint32_t load_residual(const Row &target, const Row &draft, int64_t removed,
                                        bool *is_bad) const {
    const bool has_draft = draft.begin != nullptr;
    const bool is_alike = !has_draft || draft.lead == target.lead;
    GivenCheck check;
    float max = 0.0f;
    this->for_each_tile(target, [&](int tile) {
      const bool is_whole = is_alike && target.is_whole(begin_ + tile);
      Vector p[Row::kVectors], q[Row::kVectors] = {};
      if (is_whole) {
        target.template load<false>(ctx, begin_ + tile, p);
        if (has_draft) draft.template load<false>(ctx, begin_ + tile, q);
      }
      SAMPLER_UNROLLED
      for (int slot = 0; slot < kSlots; ++slot) {
        Vector x;
        SAMPLER_UNROLLED
        for (int j = 0; j < kQuad; ++j) {
          const int i = slot * kQuad + j;
          const int index = this->index_of(target, tile, i);
          float of_target = 0.0f, of_draft = 0.0f;
          if (is_whole) {
            of_target = Block::element_of(p, i);
            of_draft = Block::element_of(q, i);
          } else if (uint32_t(index) < uint32_t(target.count)) {
            of_target = target.value(index);
            if (has_draft) of_draft = draft.value(index);
          }
          check.take(of_target, of_draft);
          float rest = has_draft ? contract::residual_probability(of_target, of_draft) : of_target;
          if (index == int(removed)) rest = 0.0f;
          max = rest > max ? rest : max;
          x.word[j] = contract::bits_of(rest);
        }
        ctx.store_vector(this->place(tile, slot), x);
      }
    });
    *is_bad = !check.is_valid();
    return contract::value_key(max);
  }

  SAMPLER_DEVICE void draw(const Row &target, float max) {
    const contract::RowScale scale = contract::probabilities_row_scale(max);
    this->draw_by_tiles(target, contract::last_token_word(shared.chain),
                        [&](float x, int) { return contract::relative_for_weight(scale, x); });
  }

  const contract::VerifyRequest &request;
};

// ---- Chains of logits ---------------------------------------------------------------------------

template <class Context>
class VerifyBlock : CutBlock<Context, HeldVerify, contract::VerifyRequest> {
 public:
  using Cut = CutBlock<Context, HeldVerify, contract::VerifyRequest>;
  using Cut::Cut;

  SAMPLER_DEVICE void run() {
    if (ctx.thread() == 0) {
      shared.chain = contract::make_chain(request, this->index());
      shared.is_left = false;
    }
    ctx.sync();
    contract::Chain chain = shared.chain;
    uint32_t status = chain.status;
    if (status == SAMPLER_ROW_OK) {
      status = contract::verify_drafts(request, &chain, [&](int position) {
        Models models = {*this, chain};
        return contract::verify_draft(request, chain, position, models);
      });
    }
    if (status == SAMPLER_ROW_OK && !shared.is_left) status = find_last_token(&chain);
    // Every block has read the counts, which the row's outputs may overwrite.
    ctx.team_sync();
    if (shared.is_left) return this->leave(this->index());
    if (this->is_leader()) write_chain(ctx, request, chain, status);
  }

 private:
  using Block = typename Cut::Block;
  using Cut::ctx;
  using Cut::request;
  using Cut::shared;
  using Cut::state;
  using Row = typename Cut::Row;

  struct Models {
    VerifyBlock &block;
    const contract::Chain &chain;

    SAMPLER_DEVICE uint32_t find_first(int position, int64_t *id) {
      const uint32_t status = block.load_logits(
          contract::target_view(block.request, chain.row, position).values, kTarget);
      *id = contract::id_of_rank(block.shared.cut);
      block.ctx.team_sync();
      return status;
    }
    SAMPLER_DEVICE uint32_t look_up_target(int position, int64_t id, float *probability) {
      return block.look_up(contract::target_view(block.request, chain.row, position), id,
                           probability);
    }
    SAMPLER_DEVICE uint32_t look_up_draft(int position, int64_t id, float *probability) {
      return block.look_up(contract::draft_view(block.request, chain.row, position), id,
                           probability);
    }
  };

  // The probability of a token. A barrier of the team follows the reading of logits.
  SAMPLER_DEVICE uint32_t look_up(const contract::RowView &view, int64_t id, float *probability) {
    if (view.kind == SAMPLER_PROBABILITIES) {
      *probability = view.value(id);
      return contract::is_valid_value(SAMPLER_PROBABILITIES, *probability)
                 ? SAMPLER_ROW_OK
                 : SAMPLER_ROW_INVALID_VALUE;
    }
    const uint32_t status = load_logits(view.values, kTarget);
    const float x = this->value_in_team(Row::of(view), int(id));
    *probability = shared.distributions[kTarget].probability(x, int(id));
    ctx.team_sync();
    return status;
  }

  // Loads a row of logits and finds what filters keep: shared.distributions[which]. If the list
  // does not show that, the whole chain is left. Returns the row's status. A barrier of the team
  // must follow before the next row. One function: it has most of the kernel's code.
  SAMPLER_DEVICE_CALL uint32_t load_logits(const void *values, int which) {
    const Row row = Row::of(values, int(this->num_cols()), request.target.dtype);
    if (ctx.thread() == 0) this->read_parameters(request.slots[this->index()]);
    this->load_as_f32(row);
    this->set_maximum(this->max_of_team(this->largest_by_bins(row)));
    ctx.sync();
    if (state().status != SAMPLER_ROW_OK) return state().status;
    if (this->is_other() || !this->cut(row, true)) {
      if (ctx.thread() == 0) shared.is_left = true;
      ctx.sync();
      return SAMPLER_ROW_INVALID_VALUE;  // ends the walk
    }
    if (ctx.thread() == 0) {
      HeldDistribution &out = shared.distributions[which];
      out.scale = this->scale();
      out.kept = this->kept();
      out.greedy = contract::is_greedy(state().parameters.temperature);
      out.normalizer = out.greedy ? 1.0f : contract::normalizer(shared.kept_weight);
    }
    ctx.sync();
    return SAMPLER_ROW_OK;
  }

  SAMPLER_DEVICE uint32_t find_last_token(contract::Chain *chain) {
    const int64_t rejected = contract::rejected_draft(request, *chain);
    const contract::RowView target = contract::target_view(request, chain->row, chain->emitted);
    contract::RowView draft = {};
    uint32_t draft_status = SAMPLER_ROW_OK;
    if (!chain->greedy && rejected >= 0 && request.draft.values) {
      draft = contract::draft_view(request, chain->row, chain->emitted);
      if (draft.kind == SAMPLER_LOGITS) {
        draft_status = load_logits(draft.values, kDraft);
        ctx.team_sync();
      }
    }
    const Row row = Row::of(target);
    uint32_t status = SAMPLER_ROW_OK;
    const uint32_t drawn =
        contract::draw_last_token(chain, rejected, [&](int64_t removed, int64_t *id) {
          status = load_logits(target.values, kTarget);
          if (chain->greedy) *id = contract::id_of_rank(shared.cut);
          if (status == SAMPLER_ROW_OK) status = draft_status;
          if (status != SAMPLER_ROW_OK || chain->greedy || shared.is_left) {
            ctx.team_sync();
            return true;
          }
          bool is_bad = false;
          const uint32_t own =
              subtract(row, removed >= 0 ? draft : contract::RowView{}, removed, &is_bad);
          ctx.sync();
          const uint64_t values[] = {this->max_of_block(own), ctx.block_count(is_bad)};
          const auto *const all = this->exchange(values);
          const uint32_t key = this->max(all[0]);
          if (this->sum(all[1]) != 0) {
            status = SAMPLER_ROW_INVALID_VALUE;
            return true;
          }
          if (contract::rank_of_key(key) < contract::lowest_cut(SAMPLER_PROBABILITIES)) {
            return false;
          }
          const contract::RowScale scale =
              contract::probabilities_row_scale(contract::value_of_key(key));
          this->draw_by_tiles(row, contract::last_token_word(*chain), [&](float x, int) {
            return contract::relative_for_weight(scale, x);
          });
          ctx.team_sync();
          *id = ctx.peer(&shared.drawn, 0)->id;
          return true;
        });
    return status != SAMPLER_ROW_OK ? status : drawn;
  }

  // Replaces the block's part of a row of logits by max(p - q, 0), 0 at `removed` where there is no
  // draft; by p where nothing is removed. Returns the key of the thread's largest.
  SAMPLER_DEVICE uint32_t subtract(const Row &row, const contract::RowView &draft, int64_t removed,
                                   bool *is_bad) const {
    const HeldDistribution of_target = shared.distributions[kTarget];
    const HeldDistribution of_draft = shared.distributions[kDraft];
    float max = 0.0f;
    bool bad = false;
    const StoredRow other = stored_row(draft);
    this->for_each_tile(row, [&](int tile) {
      SAMPLER_UNROLLED
      for (int slot = 0; slot < Block::kSlots; ++slot) {
        const int first = this->index_of(row, tile, slot * kQuad);
        float q[kQuad] = {};
        if (!draft.values) {
        } else if (first >= 0 && first + kQuad <= row.count) {
          other.load(ctx, first, q);
        } else {
          for (int j = 0; j < kQuad; ++j) {
            if (uint32_t(first + j) < uint32_t(row.count)) q[j] = other.value(first + j);
          }
        }
        Vector raw = ctx.load_shared(this->place(tile, slot));
        SAMPLER_UNROLLED
        for (int j = 0; j < kQuad; ++j) {
          const int index = first + j;
          const bool is_in = uint32_t(index) < uint32_t(row.count);
          float x = is_in ? of_target.probability(contract::float_of(raw.word[j]), index) : 0.0f;
          if (is_in && draft.values) {
            if (draft.kind == SAMPLER_LOGITS) {
              q[j] = of_draft.probability(q[j], index);
            } else if (!contract::is_valid_value(SAMPLER_PROBABILITIES, q[j])) {
              bad = true;
            }
            x = contract::residual_probability(x, q[j]);
          } else if (index == int(removed)) {
            x = 0.0f;
          }
          max = x > max ? x : max;
          raw.word[j] = contract::bits_of(x);
        }
        ctx.store_vector(this->place(tile, slot), raw);
      }
    });
    *is_bad = bad;
    return contract::value_key(max);
  }

  static constexpr int kTarget = 0, kDraft = 1;  // distributions
};

// ---- Edited rows --------------------------------------------------------------------------------

// A row of f32 in the shared memory of all blocks of its team.
template <class Context, class Block>
class HeldEditedRow : public TeamEditedRow<Context, HeldEditedRow<Context, Block>> {
 public:
  using TeamEditedRow<Context, HeldEditedRow>::team;
  using Row = HeldRow;

  SAMPLER_DEVICE HeldEditedRow(Team<Context> &owner, const Block &block, uint32_t *of_elements)
      : TeamEditedRow<Context, HeldEditedRow>(owner, of_elements), block_(block) {}

  SAMPLER_DEVICE void begin(const Row &row) { row_ = row; }

  SAMPLER_DEVICE int count() const { return row_.count; }
  SAMPLER_DEVICE int find(int64_t id) const { return id >= 0 && id < row_.count ? int(id) : -1; }
  SAMPLER_DEVICE int64_t id_of_element(int element) const { return element; }
  SAMPLER_DEVICE float &value(int element) const { return block_.value_in_team(row_, element); }

  // Replaces each value by change(element, x). A barrier follows.
  template <class Change>
  SAMPLER_DEVICE void change_all(const Change &change) const {
    block_.change_all(row_, change);
    team.ctx.team_sync();
  }

 private:
  const Block &block_;
  Row row_;
};

template <class Context>
class SampleBlock : CutBlock<Context, HeldSample, StagedSampleRequest> {
 public:
  SAMPLER_DEVICE SampleBlock(const Context &context, const StagedSampleRequest &sample,
                             const Held &layout)
      : Cut(context, sample, layout),
        team_(context, *reinterpret_cast<TeamShared *>(&context.template shared<HeldSample>().row)),
        row_(team_, *this,
             sample.memory.template part<uint32_t>(context.team(), sample.memory.marks)),
        edits_(row_, sample.stages) {}

  SAMPLER_DEVICE void run() {
    for (output_ = ctx.team(); output_ < held.num_rows; output_ += ctx.num_teams()) {
      run_row();
      ctx.team_sync();  // peers may access this block's shared memory until here
    }
  }

 private:
  static_assert(sizeof(TeamShared) <= sizeof(StreamedList), "edits come before the list");
  using Cut = CutBlock<Context, HeldSample, StagedSampleRequest>;
  using Block = typename Cut::Block;
  using Cut::ctx;
  using Cut::held;
  using Cut::request;
  using Cut::shared;
  using Cut::state;
  using Row = typename Cut::Row;
  using EditedRow = HeldEditedRow<const Context, SampleBlock>;
  friend EditedRow;

  SAMPLER_DEVICE void run_row() {
    const int64_t index = input_row(request, output_);
    const bool has_row = index >= 0 && index < request.input.num_rows;
    const int64_t slot = request.slots[output_];
    if (ctx.thread() == 0) {
      this->read_parameters(slot);
      if (!has_row) {
        state().status = SAMPLER_ROW_INVALID_INDEX;
      } else if (state().status == SAMPLER_ROW_OK &&
                 !request.stages.has_valid_numbers(slot, SAMPLER_LOGITS)) {
        state().status = SAMPLER_ROW_INVALID_PARAMETER;
      }
    }
    ctx.sync();
    if (state().status != SAMPLER_ROW_OK) return write_bad(state().status);
    if (this->is_other()) return this->leave(output_);
    const Row row = Row::of(contract::row_view(request.input, index));
    this->load_as_f32(row);
    const uint32_t given_key = this->max_of_team(largest_of(row));
    uint32_t status = status_of_key(given_key);
    if (status != SAMPLER_ROW_OK) return write_bad(status);
    // Raw log-probabilities are of the row before its edits.
    const contract::RowScale raw_scale =
        contract::logits_row_scale(contract::value_of_key(given_key), 1.0f);
    const uint64_t raw_weight =
        has_raw_logprobs() ? this->weight_of_team(this->weigh(row, raw_scale, 0)) : 0;
    row_.begin(row);
    status = edits_.edit(slot, output_);
    ctx.team_sync();  // the list takes the memory of the edits
    if (status != SAMPLER_ROW_OK) return write_bad(status);
    this->set_maximum(this->max_of_team(this->largest_by_bins(row)));
    ctx.sync();
    if (state().status != SAMPLER_ROW_OK) return write_bad(state().status);
    if (!this->cut(row, false)) return this->leave(output_);
    const uint64_t kept_weight = draw(row, slot);
    ctx.team_sync();
    if (this->is_leader() && ctx.thread() == 0) write(row, kept_weight, raw_scale, raw_weight);
  }

  SAMPLER_DEVICE uint32_t largest_of(const Row &row) const {
    uint32_t own = 0;
    this->for_each_tile(row, [&](int tile) {
      const uint32_t key = this->key_of_group(tile);
      if (key > own) own = key;
    });
    return own;
  }

  // Returns the kept weight; of a greedy row it is not known.
  SAMPLER_DEVICE uint64_t draw(const Row &row, int64_t slot) {
    if (contract::is_greedy(state().parameters.temperature)) {
      if (this->is_leader() && ctx.thread() == 0) {
        shared.drawn.id = contract::id_of_rank(shared.cut);
        shared.drawn.value = contract::value_of_rank(shared.cut);
      }
      return 0;
    }
    const contract::RowScale scale = this->scale();
    const auto kept = this->kept();
    const uint64_t word =
        contract::random_word64(request.random.of(slot), contract::Purpose::kSample, 0);
    return this->draw_by_tiles(row, word, [&](float x, int element) {
      return kept.has(x, element) ? contract::relative_for_weight(scale, x) : 0.0f;
    });
  }

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

  SAMPLER_DEVICE bool has_raw_logprobs() const {
    return request.out_logprobs && request.logprob_kind == SAMPLER_LOGPROB_RAW;
  }

  // Called by one thread.
  SAMPLER_DEVICE void write(const Row &row, uint64_t kept_weight,
                            const contract::RowScale &raw_scale, uint64_t raw_weight) const {
    const HeldDraw &drawn = shared.drawn;
    if (request.out_token_ids.data) contract::store_id(request.out_token_ids, output_, drawn.id);
    if (request.out_kept_counts) request.out_kept_counts[output_] = shared.kept_count;
    if (request.out_row_status) request.out_row_status[output_] = SAMPLER_ROW_OK;
    const float given = row.value(int(drawn.id));
    if (request.out_values) request.out_values[output_] = given;
    if (!request.out_logprobs) return;
    float logprob = 0.0f;
    if (has_raw_logprobs()) {
      logprob = contract::forced_log_probability(raw_scale, given, true, raw_weight);
    } else if (!contract::is_greedy(state().parameters.temperature)) {
      logprob = contract::forced_log_probability(this->scale(), drawn.value, true, kept_weight);
    }
    request.out_logprobs[output_] = logprob;
  }

  SAMPLER_DEVICE void write_bad(uint32_t status) const {
    if (!this->is_leader() || ctx.thread() != 0) return;
    if (request.out_token_ids.data) {
      contract::store_id(request.out_token_ids, output_, request.bad_row_token);
    }
    if (request.out_kept_counts) request.out_kept_counts[output_] = 0;
    if (request.out_logprobs) request.out_logprobs[output_] = contract::quiet_nan();
    if (request.out_values) request.out_values[output_] = contract::quiet_nan();
    if (request.out_row_status) request.out_row_status[output_] = status;
  }

  Team<const Context> team_;
  EditedRow row_;
  TeamEdits<const Context, EditedRow> edits_;
  int64_t output_ = 0;
};

template <sampler_dtype kDtype, HeldKind kKind, class Context>
SAMPLER_DEVICE void run_held(const Context &ctx, const HeldRequest<kKind> &request,
                             const Held &held) {
  ctx.team_sync();  // peers' shared memory may be accessed from here on
  if constexpr (kKind == HeldKind::kSoftmax) {
    SoftmaxBlock<Context, kDtype>(ctx, request, held).run();
  } else if constexpr (kKind == HeldKind::kFilter) {
    FilterBlock<Context>(ctx, request, held).run();
  } else if constexpr (kKind == HeldKind::kChain) {
    ChainBlock<Context, kDtype>(ctx, request, held).run();
  } else if constexpr (kKind == HeldKind::kSelect) {
    SelectBlock<Context>(ctx, request, held).run();
  } else if constexpr (kKind == HeldKind::kVerify) {
    VerifyBlock<Context>(ctx, request, held).run();
  } else {
    SampleBlock<Context>(ctx, request, held).run();
  }
  ctx.wait_for_launch_before();  // the launch after this one counts on both
}

}  // namespace sampler::kernels
