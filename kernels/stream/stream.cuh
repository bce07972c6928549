// Sampling of long rows, streamed: blocks take chunks of rows, and the last block at a row
// completes it while others stream the next.
//
//     read     every chunk: the largest value of each group, and of the chunk
//     list     the row's last reader: the tokens above a bound that follows from the maxima of
//              groups, in rank order, with what they and those before them weigh
//     weigh    every chunk once more, from L2, where the weight of all of the row is needed
//     finish   the last of the row: cuts the list and draws from it, or from the tiles' weights
//
// Where top-p keeps more than a list holds, a sample of the row tells about where it is cut. Then
// the second pass lists the tokens near that value, the band, and weighs those above it by tile.
//
// Rows whose tokens do not fit the list are left to the general kernel.
#pragma once

#include <cstdint>
#include <type_traits>

#include "contract/draw.h"
#include "contract/elements.h"
#include "contract/log2.h"
#include "contract/request.h"
#include "machine/device.cuh"
#include "row/row.cuh"
#include "stream/ranked_list.cuh"
#include "stream/stream.h"
#include "stream/streamed_row.cuh"

namespace sampler::kernels {

using contract::Rank;

// Vectors in flight per thread.
constexpr int kStreamedVectors = 8;

// ---- Items of work ------------------------------------------------------------------------------

// The row and chunk of an item, and whether it is to be weighed.
SAMPLER_DEVICE inline void decode_item(const Stream &stream, uint32_t number, StreamItem *item) {
  const uint32_t chunks = uint32_t(stream.num_chunks);
  uint32_t place = number;  // among all chunks
  item->is_weighing = false;
  item->is_none = false;
  if (stream.weighs()) {
    // Chunks are read and weighed in turn, those that are read `ahead` of the others.
    const uint32_t ahead = uint32_t(stream.rows_ahead) * chunks;
    if (stream.num_items - number <= ahead) {  // none is left to be read
      item->is_weighing = true;
      place = number - stream.num_items / 2;
    } else if (number >= ahead) {
      item->is_weighing = (number - ahead) % 2 != 0;
      place = (number - ahead) / 2 + (item->is_weighing ? 0 : ahead);
    }
  }
  item->row = place / chunks;
  item->chunk = int(place % chunks);
}

// What the block that ends a row has left to do.
enum class StreamRest {
  kNothing,  // another block does it
  kDone,
  // To draw:
  kDraw,     // from the list in shared memory
  kList,     // the same, once the list is published
  kBand,     // from the tiles' weights, once the band is cut
  kWeights,  // from the tiles' weights
};

// A block of a launch, with its items.
template <class Context, sampler_dtype kDtype, StreamKind kKind>
class StreamBlock : RankedList<Context, StreamShared> {
 public:
  SAMPLER_DEVICE StreamBlock(const Context &context, const contract::SampleRequest &sample,
                             const Stream &layout)
      : RankedList<Context, StreamShared>(context, context.template shared<StreamShared>()),
        request(sample),
        stream(layout) {}

  SAMPLER_DEVICE void run() {
    uint32_t next = uint32_t(ctx.team());
    if (stream.has_tickets) ctx.wait_for_launch_before();
    if (kTakesAhead && ctx.thread() == 0) {
      begin_item(stream.has_tickets ? take_ticket() : next, &shared.items[turn_]);
      if (stream.has_tickets) next = take_ticket();
    }
    SAMPLER_KEEP_ROLLED
    for (;;) {
      if (ctx.thread() == 0) {
        if (!kTakesAhead) {
          begin_item(take_ticket(), &shared.items[turn_]);
          shared.num_listed = 0;
        }
        wait_for_item();
      }
      ctx.sync();
      if (item().is_last) return;
      // Before this item's tiles, so that the next item's parameters are ready in time.
      if (kTakesAhead && stream.has_tickets && ctx.thread() == 0) {
        begin_item(next, &shared.items[turn_ ^ 1]);
        next = take_ticket();
      }
      if (!item().is_none) {
        if constexpr (kKind == StreamKind::kGreedy) {
          read_first();
        } else {
          end_row();
        }
      }
      if (!stream.has_tickets) return;
      if constexpr (kTakesAhead) {
        turn_ ^= 1;
      } else {
        ctx.sync();
      }
    }
  }

 private:
  using List = RankedList<Context, StreamShared>;
  using List::add_up;
  using List::ctx;
  using List::find;
  using List::kBinsOfThread;
  using List::kWarps;
  using List::max_of_block;
  using List::nth_largest;
  using List::reserve;
  using List::shared;
  using List::sort;
  using List::sum_before;
  using List::sum_of_lanes;
  using List::sum_of_warps;
  using List::sum_of_weights;

  using Row = StreamedRow<kDtype>;
  static constexpr bool kWeighs = kKind >= StreamKind::kAny;
  static constexpr bool kEdits = kKind == StreamKind::kEdited;
  static constexpr sampler_input_kind kInput =
      kKind == StreamKind::kGiven ? SAMPLER_PROBABILITIES : SAMPLER_LOGITS;
  static constexpr bool kIsGiven = kInput == SAMPLER_PROBABILITIES;
  // Whether a block takes an item while it works on another. Of a row that is weighed the other
  // blocks would wait while this one completes another row.
  static constexpr bool kTakesAhead = !kWeighs;
  static constexpr int kBinsAtOnce = kDtype == SAMPLER_F32 ? 4 : 2;
  static constexpr uint32_t kNoValue = 0xFF800000u;  // the bits of -inf
  static constexpr int kIdBits = 20;                 // of kMaxVocabulary
  static constexpr uint32_t kIdMask = (uint32_t(1) << kIdBits) - 1;
  static constexpr uint64_t kNoPlace = ~uint64_t(0);  // beyond those of the band

  SAMPLER_DEVICE uint32_t take_ticket() const {
    return ctx.atomic_add(&stream.head()->ticket, uint32_t(1));
  }

  // Called by one thread.
  SAMPLER_DEVICE void begin_item(uint32_t number, StreamItem *out) const {
    StreamItem &item = *out;
    item.is_last = number >= stream.num_items;
    if (item.is_last) return;
    decode_item(stream, number, &item);
    item.slot = int(item.row % uint32_t(stream.num_slots));
    item.begin = item.chunk * stream.tiles_of_chunk;
    item.end = item.begin + stream.tiles_of_chunk;
    if (item.end > stream.num_tiles) item.end = stream.num_tiles;
    const int64_t index = request.row_indices ? request.row_indices[item.row] : int64_t(item.row);
    item.has_row = index >= 0 && index < request.input.num_rows;
    if (item.has_row) {
      const Row row = Row::of(request.input, index);
      item.values = row.begin;
      item.lead = row.lead;
    }
    if constexpr (kEdits) find_patch(item);
    if (item.is_weighing) read_parameters(item);
  }

  // Weighed items wait for the row's largest value; others, if the slot has had rows before, until
  // the last of them is finished. Blocks wait only for rows of earlier items, which running blocks
  // hold: the first unfinished item never waits, so there is no deadlock.
  SAMPLER_DEVICE bool is_waiting(const StreamItem &item) const {
    return item.is_weighing || item.row >= uint32_t(stream.num_slots);
  }
  SAMPLER_DEVICE bool has_come(const StreamItem &item, uint64_t seen) const {
    return item.is_weighing ? uint32_t(seen) / 2 >= item.row + 1
                            : seen >= item.row / uint32_t(stream.num_slots);
  }

  // Called by one thread.
  SAMPLER_DEVICE void wait_for_item() const {
    StreamItem &item = this->item();
    if (item.is_last || !is_waiting(item)) return;
    const StreamSlot &slot = *this->slot();
    uint64_t seen, bound, band;  // in flight together
    SAMPLER_KEEP_ROLLED
    for (;;) {
      seen = item.is_weighing ? ctx.load_fresh(&slot.maximum) : ctx.load_fresh(&slot.num_finished);
      bound = ctx.load_fresh(&slot.bound);
      band = ctx.load_fresh(&slot.band);
      if (has_come(item, seen)) break;
      ctx.pause();
    }
    if (!kWeighs || !item.is_weighing) return;
    if (uint32_t(seen) != tag() * 2 + 1) {
      item.is_none = true;  // the row is not weighed
      return;
    }
    set_maximum(uint32_t(seen >> 32));
    if (!waits_for_bound()) return;
    item.row_state.bound = wait_for_value(&slot.bound, bound);
    if (may_have_band()) item.row_state.band = wait_for_value(&slot.band, band);
  }

  // Waits for a value with the row's tag. `word`: what has been loaded from there.
  SAMPLER_DEVICE float wait_for_value(const uint64_t *from, uint64_t word) const {
    while (uint32_t(word) != tag()) {
      ctx.pause();
      word = ctx.load_fresh(from);
    }
    return contract::float_of(uint32_t(word >> 32));
  }
  SAMPLER_DEVICE void publish_value(uint64_t *to, float value) const {
    ctx.publish(to, uint64_t(contract::bits_of(value)) << 32 | tag());
  }

  SAMPLER_DEVICE StreamItem &item() const { return shared.items[turn_]; }
  SAMPLER_DEVICE Row row() const {
    return {item().values, item().lead, int(request.input.num_cols)};
  }
  SAMPLER_DEVICE uint32_t output() const { return item().row; }

  // Each function has one call site, so that all are inlined into one.
  SAMPLER_DEVICE void end_row() {
    StreamRest rest;
    if constexpr (kWeighs) {
      rest = item().is_weighing ? weigh() : read();
    } else {
      rest = read();
    }
    if (rest > StreamRest::kDone && ctx.thread() == Context::kThreads - 1) {
      shared.word = random_word();
    }
    uint64_t total = 0;
    if constexpr (kWeighs) {
      if (rest == StreamRest::kList) {
        rest = load_list(&total) ? StreamRest::kDraw : end_with(true);
      } else if (rest == StreamRest::kBand) {
        rest = cut_band() ? StreamRest::kWeights : end_with(true);
      }
      if (rest == StreamRest::kWeights) {
        draw_from_weights();
        rest = StreamRest::kDone;
      }
    }
    if (rest == StreamRest::kDraw) {
      draw_from_list(total);
      rest = StreamRest::kDone;
    }
    if (rest != StreamRest::kDone) return;
    ctx.sync();
    if (ctx.thread() == 0) write_outcome();
    finish_slot();
  }

  template <bool kIsLast>
  SAMPLER_DEVICE void load(const Row &row, int tile, Vector (&raw)[Row::kVectors]) const {
    if (row.is_whole(tile)) {
      row.template load<kIsLast>(ctx, tile, raw);
    } else {
      row.load_any(ctx, tile, raw);
    }
  }

  // Calls f(tile, its lane's group, its patch) for each tile, with kVectorsAtOnce vectors in
  // flight.
  template <int kVectorsAtOnce, class F>
  SAMPLER_DEVICE void for_each_tile(const F &f) const {
    constexpr int kAtOnce = kVectorsAtOnce / Row::kVectors;
    if (!item().has_row) return;
    const Row row = this->row();
    const int end = item().end;
    if constexpr (kAtOnce == 1) {
      SAMPLER_KEEP_ROLLED
      for (int tile = item().begin + ctx.warp(); tile < end; tile += kWarps) {
        const TilePatch words = patch_of(tile);
        Vector raw[Row::kVectors];
        load<true>(row, tile, raw);
        f(tile, raw, words);
      }
    } else {
      SAMPLER_KEEP_ROLLED
      for (int tile = item().begin + ctx.warp(); tile < end; tile += kAtOnce * kWarps) {
        const int last = tile + (kAtOnce - 1) * kWarps;
        // All are whole if the first and the last are.
        if (last < end && row.is_whole(tile) && row.is_whole(last)) {
          TilePatch words[kAtOnce];
          SAMPLER_UNROLLED
          for (int i = 0; i < kAtOnce; ++i) words[i] = patch_of(tile + i * kWarps);
          Vector raw[kAtOnce][Row::kVectors];
          SAMPLER_UNROLLED
          for (int i = 0; i < kAtOnce; ++i)
            row.template load<false>(ctx, tile + i * kWarps, raw[i]);
          SAMPLER_UNROLLED
          for (int i = 0; i < kAtOnce; ++i) f(tile + i * kWarps, raw[i], words[i]);
        } else {
          SAMPLER_KEEP_ROLLED
          for (int i = tile; i <= last && i < end; i += kWarps) {
            const TilePatch words = patch_of(i);
            Vector raw[Row::kVectors];
            load<false>(row, i, raw);
            f(i, raw, words);
          }
        }
      }
    }
  }

  // Whether this block is the last of `all` to arrive: it sees what all threads published, and, if
  // the row has been read, has its parameters. When all of the block have come, its first warp
  // calls publish(). Called by the whole block.
  template <bool kIsRead, class Publish>
  SAMPLER_DEVICE bool is_last_at(uint32_t *counter, uint32_t all, const Publish &publish) const {
    ctx.sync();
    if (ctx.warp() == 0) publish();
    if (ctx.thread() == 0) {
      if (!stream.has_tickets) ctx.wait_for_launch_before();
      ctx.fence();
      const uint32_t before = ctx.atomic_add(counter, uint32_t(1));
      shared.is_last = before + 1 == all;
      if (before + 1 == all) {
        ctx.publish(counter, uint32_t(0));  // reset for the slot's next row
        ctx.fence();
        if constexpr (kIsRead) read_parameters(item());
      }
    }
    ctx.sync();
    return shared.is_last != 0;
  }

  SAMPLER_DEVICE StreamedRowState &state() const { return item().row_state; }
  SAMPLER_DEVICE contract::RowScale scale() const {
    if constexpr (kIsGiven) return contract::probabilities_row_scale(state().max);
    return {SAMPLER_LOGITS, state().max, state().scale, 0};
  }
  // Only lists are weighed twice.
  SAMPLER_DEVICE bool has_two() const {
    return !kWeighs && has_two_scales(state().parameters, request.parameters.rules);
  }
  SAMPLER_DEVICE contract::RowScale filter_scale() const {
    return has_two() ? raw_scale() : scale();
  }
  SAMPLER_DEVICE contract::RowScale raw_scale() const {
    if constexpr (kIsGiven) return scale();
    return contract::logits_row_scale(state().max, 1.0f);
  }
  SAMPLER_DEVICE StreamSlot *slot() const { return stream.slot(item().slot); }
  SAMPLER_DEVICE uint64_t *chunk_words() const { return stream.chunk_words(item().slot); }
  SAMPLER_DEVICE uint32_t tag() const { return output() + 1; }

  // ---- Outputs ----------------------------------------------------------------------------------

  SAMPLER_DEVICE contract::RandomStream random() const {
    return request.random.of(request.slots[output()]);
  }
  SAMPLER_DEVICE uint64_t random_word() const {
    return contract::random_word64(random(), contract::Purpose::kSample, 0);
  }

  SAMPLER_DEVICE void finish_slot() const {
    if (stream.has_tickets && ctx.thread() == 0) {
      ctx.fence();
      ctx.atomic_add(&slot()->num_finished, uint32_t(1));
    }
  }

  // Set the row's result. Called by one thread.
  SAMPLER_DEVICE void set_first(uint32_t id) const {
    shared.outcome = {0, id, 1, SAMPLER_ROW_OK, true, false};
  }
  SAMPLER_DEVICE void set_drawn(uint32_t id, int kept_count, uint64_t kept_weight) const {
    shared.outcome = {kept_weight, id, kept_count, SAMPLER_ROW_OK, false, false};
  }
  SAMPLER_DEVICE void set_bad(uint32_t status) const {
    shared.outcome = {0, 0, 0, status, false, false};
  }
  SAMPLER_DEVICE void set_left() const { shared.outcome.is_left = true; }

  // Called by one thread.
  SAMPLER_DEVICE void write_outcome() const {
    const StreamedOutcome &outcome = shared.outcome;
    const int64_t output = this->output();
    if (outcome.is_left) {
      stream.left()[ctx.atomic_add(&stream.head()->num_left, uint32_t(1))] = uint32_t(output);
      return;
    }
    const bool is_good = outcome.status == SAMPLER_ROW_OK;
    contract::store_id(request.out_token_ids, output,
                       is_good ? int64_t(outcome.id) : request.bad_row_token);
    if (request.out_kept_counts) request.out_kept_counts[output] = outcome.kept_count;
    if (request.out_row_status) request.out_row_status[output] = outcome.status;
    if (!request.out_values && !request.out_logprobs) return;
    const float given = is_good ? row().value(int(outcome.id)) : contract::quiet_nan();
    if (request.out_values) request.out_values[output] = given;
    if (!request.out_logprobs) return;
    const float x = kEdits && is_good ? value_at(int(outcome.id)) : given;
    const bool is_raw = request.logprob_kind == SAMPLER_LOGPROB_RAW;
    float logprob = outcome.is_greedy && !is_raw ? 0.0f : x;
    if (is_good && (is_raw || !outcome.is_greedy)) {
      logprob = contract::log_probability(is_raw ? raw_scale() : scale(), x,
                                          is_raw ? shared.total_of_row : outcome.kept_weight);
    }
    request.out_logprobs[output] = logprob;
  }

  // Called by one thread.
  SAMPLER_DEVICE void read_parameters(StreamItem &item) const {
    StreamedRowState &row = item.row_state;
    row.status = SAMPLER_ROW_INVALID_INDEX;
    row.need = StreamNeed::kOther;
    if (item.has_row) {
      row.status = contract::read_parameters(request, request.slots[item.row], &row.parameters);
    }
    if (kEdits && row.status == SAMPLER_ROW_OK) row.status = item.patch.number_status;
    if (row.status != SAMPLER_ROW_OK || (kEdits && item.patch.is_left)) return;
    row.need = stream_need(row.parameters, request.parameters.rules, request.input.num_cols,
                           StreamWanted::of(request));
  }

  // Called by one thread, with the row's parameters.
  SAMPLER_DEVICE void set_maximum(uint32_t key) const {
    StreamedRowState &row = state();
    row.max_key = key;
    if (row.status == SAMPLER_ROW_OK) row.status = status_of_key(key, kInput);
    if (kEdits && row.status == SAMPLER_ROW_OK) row.status = item().patch.status;
    row.max = contract::value_of_key(key);
    row.scale = contract::logit_scale(row.parameters.temperature);
    row.bound = contract::negative_infinity();
    row.band = contract::float_of(contract::kInfinityBits);
  }

  // ---- Edits ------------------------------------------------------------------------------------

  // Called by one thread.
  SAMPLER_DEVICE void find_patch(StreamItem &item) const {
    const StreamedEdits &edits = stream.edits;
    const Vector raw = ctx.load_fresh(reinterpret_cast<const Vector *>(edits.head(item.row)));
    const EditsHead head = {raw.word[0], raw.word[1], int32_t(raw.word[2]), raw.word[3]};
    item.patch.number_status = head.number_status;
    item.patch.status = head.status;
    item.patch.is_left = head.num_edited == EditsHead::kLeft;
    const bool is_edited = head.num_edited != 0 && !item.patch.is_left;
    item.patch.bits = is_edited ? edits.bits(item.row) : nullptr;
    item.patch.before = edits.before(item.row);
    item.patch.values = edits.values(item.row);
    item.patch.mask = head.mask < 0 ? nullptr : edits.bitmasks + head.mask * edits.bitmask_stride;
  }
  SAMPLER_DEVICE const StreamedPatch &patch() const { return item().patch; }

  static constexpr uint32_t kBitsOfVector = (uint32_t(1) << Row::kElements) - 1;

  // A tile's words of edits and of the mask, one a lane, which load() fetches beside the tile.
  struct TilePatch {
    uint32_t edited, mask;
  };
  SAMPLER_DEVICE TilePatch patch_of(int tile) const {
    TilePatch words = {0, ~uint32_t(0)};
    if constexpr (!kEdits) return words;
    if (patch().bits && ctx.lane() < kWordsOfTile) {
      words.edited = ctx.load_fresh(&patch().bits[tile * kWordsOfTile + ctx.lane()]);
    }
    // Ids lie by the lead before positions, so a tile's may begin within a word.
    if (patch().mask && ctx.lane() <= kWordsOfTile) {
      const int id = tile * kTile - item().lead + 32 * ctx.lane();
      const int word = id >= 0 ? id / 32 : -1;
      words.mask = word >= 0 ? mask_word(word) : 0;
    }
    return words;
  }
  // A bit for each element of the lane's group: whether it is allowed.
  SAMPLER_DEVICE uint32_t allowed_of(const TilePatch &words) const {
    const int shift = (kTile - item().lead) % 32;  // of the tile's first id in its word
    uint32_t bits = 0;
    SAMPLER_UNROLLED
    for (int i = 0; i < Row::kVectors; ++i) {
      const int at = Row::position(0, ctx.lane(), i) + shift;
      const uint32_t low = uint32_t(ctx.warp_broadcast(words.mask, at / 32));
      const uint32_t high = uint32_t(ctx.warp_broadcast(words.mask, at / 32 + 1));
      const uint64_t both = uint64_t(high) << 32 | low;
      bits |= (uint32_t(both >> (at % 32)) & kBitsOfVector) << (i * Row::kElements);
    }
    return bits;
  }

  // The edited elements of a vector: a bit for each, and the place of the first one's value.
  struct VectorEdits {
    uint32_t bits, place;
  };
  // Those of the vector at a position; `word`: the bits of 32 positions around it.
  SAMPLER_DEVICE VectorEdits edits_of(uint32_t word, int position) const {
    const int shift = position % 32;
    VectorEdits edits = {word >> shift & kBitsOfVector, 0};
    if (edits.bits != 0) {
      edits.place = uint32_t(ctx.load_fresh(&patch().before[position / 32])) +
                    uint32_t(Context::count_bits(word & ((uint32_t(1) << shift) - 1)));
    }
    return edits;
  }
  SAMPLER_DEVICE VectorEdits edits_of(int position) const {
    if (!patch().bits) return {0, 0};
    return edits_of(ctx.load_fresh(&patch().bits[position / 32]), position);
  }
  // A bit for each of those elements: whether the mask allows it, outside the row any.
  SAMPLER_DEVICE uint32_t allowed_of(int position) const {
    const int id = position - item().lead;
    const int first = id < 0 ? 0 : id / 32, shift = id - first * 32;
    const uint64_t words = uint64_t(mask_word(first + 1)) << 32 | mask_word(first);
    return uint32_t(shift < 0 ? words << -shift : words >> shift) & kBitsOfVector;
  }
  SAMPLER_DEVICE uint32_t mask_word(int index) const {
    if (index < stream.edits.bitmask_stride) return patch().mask[index];
    return stream.edits.bitmask_rule == contract::BitmaskRule::kLeaves ? ~uint32_t(0) : 0;
  }

  // Edits the values of a vector, which are x from `first` on.
  template <int kCount>
  SAMPLER_DEVICE void edit(VectorEdits edits, int first, float (&x)[kCount]) const {
    SAMPLER_KEEP_ROLLED
    for (; edits.bits != 0; edits.bits &= edits.bits - 1, ++edits.place) {
      const int i = Context::lowest_bit(edits.bits);
      const float value = ctx.load_fresh(&patch().values[edits.place]);
      SAMPLER_UNROLLED
      for (int j = 0; j < Row::kElements; ++j) x[first + j] = i == j ? value : x[first + j];
    }
  }
  // Bans those whose bit is 0.
  template <int kCount>
  SAMPLER_DEVICE static void ban(uint32_t allowed, float (&x)[kCount]) {
    SAMPLER_UNROLLED
    for (int j = 0; j < kCount; ++j) x[j] = contract::ban(x[j], (allowed >> j & 1) == 0);
  }

  // A group's values, as edits leave them.
  struct Group {
    float x[kGroup];
  };
  SAMPLER_DEVICE Group group_of(int tile, const Vector (&raw)[Row::kVectors],
                                const TilePatch &words) const {
    Group group;
    SAMPLER_UNROLLED
    for (int i = 0; i < kGroup; ++i) {
      group.x[i] = element<kDtype>(raw[i / Row::kElements], i % Row::kElements);
      if constexpr (kIsGiven) group.x[i] = contract::larger_of(group.x[i], 0.0f);  // beside the row
    }
    if constexpr (kEdits) {
      if (ctx.ballot(words.edited != 0) != 0) {
        VectorEdits edits[Row::kVectors];
        SAMPLER_UNROLLED
        for (int i = 0; i < Row::kVectors; ++i) {
          const int in_tile = Row::position(0, ctx.lane(), i);
          const uint32_t word = uint32_t(ctx.warp_broadcast(words.edited, in_tile / 32));
          edits[i] = edits_of(word, tile * kTile + in_tile);
        }
        SAMPLER_UNROLLED
        for (int i = 0; i < Row::kVectors; ++i) edit(edits[i], i * Row::kElements, group.x);
      }
      if (patch().mask) ban(allowed_of(words), group.x);
    }
    return group;
  }
  // The largest of them; NaN if a given one is NaN or infinite, or negative where that is invalid.
  SAMPLER_DEVICE float largest_of(int tile, const Vector (&raw)[Row::kVectors],
                                  const TilePatch &words) const {
    const float given = largest<kDtype, Context>(raw);
    if constexpr (kIsGiven) return is_negative(tile, raw) ? contract::quiet_nan() : given;
    if constexpr (!kEdits) return given;
    const Group group = group_of(tile, raw, words);
    float max = group.x[0];
    SAMPLER_UNROLLED
    for (int i = 1; i < kGroup; ++i) max = Context::larger(max, group.x[i]);
    return given < contract::float_of(contract::kInfinityBits) ? max : contract::quiet_nan();
  }

  // Whether a probability of the group is below 0. Beside the row lies -inf.
  SAMPLER_DEVICE bool is_negative(int tile, const Vector (&raw)[Row::kVectors]) const {
    const bool is_whole = row().is_whole(tile);
    bool any = false;
    SAMPLER_UNROLLED
    for (int i = 0; i < kGroup; ++i) {
      const int position = Row::position(tile, ctx.lane(), i / Row::kElements) + i % Row::kElements;
      const bool is_in = is_whole || row().is_inside(position, 1);
      any = any || (element<kDtype>(raw[i / Row::kElements], i % Row::kElements) < 0.0f && is_in);
    }
    return any;
  }

  // The values of the vector at a position, as edits leave them.
  struct VectorValues {
    float x[Row::kElements];
  };
  SAMPLER_DEVICE VectorValues values_of(int position, const Vector &raw) const {
    VectorValues values;
    SAMPLER_UNROLLED
    for (int i = 0; i < Row::kElements; ++i) values.x[i] = element<kDtype>(raw, i);
    if constexpr (kEdits) {
      edit(edits_of(position), 0, values.x);
      if (patch().mask) ban(allowed_of(position), values.x);
    }
    return values;
  }
  // Element `i` of some vectors, which is not the same in all lanes.
  template <int kCount>
  SAMPLER_DEVICE static float selected_of(const VectorValues (&values)[kCount],
                                          const Vector (&raw)[kCount], int i) {
    if constexpr (!kEdits) return selected_element<kDtype>(raw, i);
    float x = values[0].x[0];
    SAMPLER_UNROLLED
    for (int j = 1; j < kCount * Row::kElements; ++j) {
      x = i == j ? values[j / Row::kElements].x[j % Row::kElements] : x;
    }
    return x;
  }
  // An element's value, as edits leave it.
  SAMPLER_DEVICE float value_at(int index) const {
    const float given = row().value(index);
    if constexpr (!kEdits) return given;
    const int position = index + row().lead;
    const int first = position / Row::kElements * Row::kElements, i = position - first;
    if (patch().mask && (allowed_of(first) >> i & 1) == 0) return contract::negative_infinity();
    const VectorEdits edits = edits_of(first);
    if ((edits.bits >> i & 1) == 0) return given;
    const uint32_t lower = edits.bits & ((uint32_t(1) << i) - 1);
    return ctx.load_fresh(&patch().values[edits.place + uint32_t(Context::count_bits(lower))]);
  }

  // ---- Greedy -----------------------------------------------------------------------------------

  SAMPLER_DEVICE void read_first() {
    float best = contract::negative_infinity();
    int best_tile = -1;
    bool is_bad = false;
    for_each_tile<kStreamedVectors>([&](int tile, const Vector(&raw)[Row::kVectors], TilePatch) {
      const float max = largest<kDtype, Context>(raw);
      is_bad = is_bad || !(max < contract::float_of(contract::kInfinityBits));
      if (max > best) {
        best = max;
        best_tile = tile;
      }
    });
    const uint32_t key = best_tile >= 0 ? contract::value_key(best) : 0;
    const uint32_t first = ctx.warp_max(key);
    uint32_t id_upside_down = 0;
    if (key == first && best_tile >= 0) {
      Vector raw[Row::kVectors];
      row().load_any(ctx, best_tile, raw);
      SAMPLER_UNROLLED
      for (int i = kGroup - 1; i >= 0; --i) {
        if (element<kDtype>(raw[i / Row::kElements], i % Row::kElements) == best) {
          id_upside_down = ~uint32_t(Row::position(best_tile, ctx.lane(), i / Row::kElements) +
                                     i % Row::kElements - row().lead);
        }
      }
    }
    id_upside_down = ctx.warp_max(id_upside_down);
    const bool any_bad = ctx.ballot(is_bad) != 0;
    if (ctx.lane() == 0) {
      shared.partial[0][ctx.warp()] =
          any_bad ? ~uint64_t(0) : uint64_t(first) << 32 | id_upside_down;
    }
    ctx.sync();
    if (ctx.warp() != 0) return;
    uint64_t rank = max_of_lanes(ctx.lane() < kWarps ? shared.partial[0][ctx.lane()] : 0);
    uint64_t before = 0;
    if (ctx.lane() == 0) {
      ctx.publish(&chunk_words()[item().chunk], rank);
      if (!stream.has_tickets) ctx.wait_for_launch_before();
      ctx.fence();
      before = ctx.atomic_add(&slot()->num_read, uint32_t(1));
    }
    if (ctx.warp_broadcast(before, 0) + 1 != uint64_t(stream.num_chunks)) return;
    ctx.fence();
    rank = 0;
    if (ctx.lane() < stream.num_chunks) rank = ctx.load_fresh(&chunk_words()[ctx.lane()]);
    rank = max_of_lanes(rank);
    if (ctx.lane() != 0) return;
    ctx.publish(&slot()->num_read, uint32_t(0));  // reset for the slot's next row
    end_first(rank);
    finish_slot();
  }

  SAMPLER_DEVICE uint64_t max_of_lanes(uint64_t value) const {
    const uint32_t high = ctx.warp_max(uint32_t(value >> 32));
    const uint32_t low = ctx.warp_max(uint32_t(value >> 32) == high ? uint32_t(value) : 0);
    return uint64_t(high) << 32 | low;
  }

  SAMPLER_DEVICE void end_first(uint64_t rank) {
    read_parameters(item());
    uint32_t status = state().status;
    if (status == SAMPLER_ROW_OK) {
      status = rank == ~uint64_t(0)
                   ? uint32_t(SAMPLER_ROW_INVALID_VALUE)
                   : contract::check_first(SAMPLER_LOGITS, rank, contract::Use::kDraw);
    }
    if (status != SAMPLER_ROW_OK) {
      set_bad(status);
    } else {
      set_first(contract::id_of_rank(rank));
    }
    write_outcome();
  }

  // ---- The first pass ---------------------------------------------------------------------------

  SAMPLER_DEVICE StreamRest read() {
    float *const maxima = stream.maxima(item().slot);
    uint32_t key = 0;
    float lowest = contract::float_of(contract::kInfinityBits);
    constexpr int kVectorsAtOnce = kEdits ? Row::kVectors : kStreamedVectors;
    for_each_tile<kVectorsAtOnce>(
        [&](int tile, const Vector(&raw)[Row::kVectors], const TilePatch &words) {
          const float max = largest_of(tile, raw, words);
          ctx.publish(&maxima[tile * 32 + ctx.lane()], max);
          if constexpr (kWeighs) {
            const uint32_t own = key_or_bad(max);
            if (own > key) key = own;
            const float x = element<kDtype>(raw[0], 0);
            if (x > contract::negative_infinity()) lowest = Context::smaller(lowest, x);
          }
        });
    if constexpr (kWeighs) {
      const uint64_t word = max_of_keys(key, ~contract::value_key(lowest));
      if (ctx.lane() == 0) shared.partial[0][ctx.warp()] = word;
    }
    const bool is_last = is_last_at<true>(&slot()->num_read, uint32_t(stream.num_chunks), [&] {
      if constexpr (kWeighs) {
        uint64_t word = ctx.lane() < kWarps ? shared.partial[0][ctx.lane()] : 0;
        word = max_of_keys(uint32_t(word), uint32_t(word >> 32));
        if (ctx.lane() == 0) ctx.publish(&chunk_words()[item().chunk], word);
      }
    });
    return is_last ? end_read() : StreamRest::kNothing;
  }

  // The warp's largest keys of two kinds in one word.
  SAMPLER_DEVICE uint64_t max_of_keys(uint32_t low, uint32_t high) const {
    low = ctx.warp_max(low);
    return uint64_t(ctx.warp_max(high)) << 32 | low;
  }

  // Called when the whole row has been read.
  SAMPLER_DEVICE StreamRest end_read() {
    if constexpr (kWeighs) {
      if (ctx.warp() == 0) {
        uint64_t word = 0;
        if (ctx.lane() < stream.num_chunks) word = ctx.load_fresh(&chunk_words()[ctx.lane()]);
        word = max_of_keys(uint32_t(word), uint32_t(word >> 32));
        if (ctx.lane() == 0) {
          set_maximum(uint32_t(word));
          shared.lowest = contract::value_of_key(~uint32_t(word >> 32));
          if (!waits_for_bound()) publish_maximum();
        }
      }
      ctx.sync();
    }
    if (state().status != SAMPLER_ROW_OK) return end_with(false);
    const StreamNeed what = state().need;
    if (what == StreamNeed::kOther) return end_with(true);
    if (what == StreamNeed::kWeights) {
      if constexpr (!kWeighs) return end_with(true);
      if (waits_for_bound()) {
        const float bound = contract::value_of_key(
            this->lowest_weighed(scale(), state().max_key, state().parameters.min_p));
        if (ctx.thread() == 0) {
          publish_value(&slot()->bound, bound);
          publish_maximum();
        }
      }
      return StreamRest::kNothing;
    }
    return list(what);
  }

  // Whether min-p excludes weights of tiles.
  SAMPLER_DEVICE bool is_cut() const { return contract::min_p_is_on(state().parameters.min_p); }
  SAMPLER_DEVICE bool waits_for_bound() const {
    return state().status == SAMPLER_ROW_OK &&
           ((state().need == StreamNeed::kWeights && is_cut()) || may_have_band());
  }
  SAMPLER_DEVICE bool may_have_band() const {
    return state().need == StreamNeed::kTotal &&
           kernels::may_have_band(state().parameters, request.input.num_cols,
                                  request.out_kept_counts != nullptr);
  }
  SAMPLER_DEVICE bool has_band() const {
    return state().band < contract::float_of(contract::kInfinityBits);
  }

  // Whether the row is weighed for its list.
  SAMPLER_DEVICE static bool has_total(StreamNeed need) {
    return need == StreamNeed::kTotal || need == StreamNeed::kRaw;
  }

  // Publishes the row's largest value, if the row is to be weighed. Called by one thread.
  SAMPLER_DEVICE void publish_maximum() const {
    const StreamedRowState &row = state();
    const bool is_weighed =
        row.status == SAMPLER_ROW_OK && (has_total(row.need) || row.need == StreamNeed::kWeights);
    ctx.publish(&slot()->maximum, uint64_t(row.max_key) << 32 | tag() * 2 | (is_weighed ? 1u : 0u));
    ctx.fence();
  }

  // The row is bad, or left to the general kernel.
  SAMPLER_DEVICE StreamRest end_with(bool is_left) {
    if (ctx.thread() == 0) {
      if (is_left) {
        set_left();
      } else {
        set_bad(state().status);
      }
    }
    return StreamRest::kDone;
  }

  // ---- The list ---------------------------------------------------------------------------------

  // Groups per bin: a bin is consecutive groups, and there are no more bins than the list holds.
  SAMPLER_DEVICE int groups_of_bin() const {
    int size = 1;
    SAMPLER_KEEP_ROLLED
    while (size * kStreamedTokens < stream.num_groups()) size *= 2;
    return size;
  }

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

  // Lists the row's tokens from a key up, in rank order, with their running weights.
  SAMPLER_DEVICE StreamRest list(StreamNeed what) {
    const int size = groups_of_bin();
    const uint32_t own = load_bins(size);
    if (ctx.thread() == 0) shared.num_groups = shared.num_listed = 0;
    uint32_t own_max = 0;
    if constexpr (!kWeighs) {
      own_max = max_of_block(own);
      if (ctx.thread() == 0) set_maximum(own_max);
      if (status_of_key(own_max, kInput) != SAMPLER_ROW_OK) return end_with(false);
    }
    const bool is_first = contract::is_greedy(state().parameters.temperature);
    const uint32_t bound =
        is_first ? (kWeighs ? state().max_key : own_max) : bound_of_list(what, own);
    const bool fits = list_groups(size, bound) && list_tokens(bound);
    if (!fits && !has_total(what)) return end_with(true);
    if constexpr (kWeighs) {
      if (may_have_band()) {
        const bool is_weighed = fits && place_band(contract::value_of_key(bound));
        ctx.sync();
        if (ctx.thread() == 0) {
          if (!is_weighed) state().need = StreamNeed::kOther;
          publish_value(&slot()->bound, state().bound);
          publish_value(&slot()->band, state().band);
          publish_maximum();
        }
        if (!is_weighed) return end_with(true);
      }
    }
    const bool is_listed = fits && !has_band();
    if (is_listed) {
      sort(state().max, contract::value_of_key(bound), kIsGiven);
      if (what == StreamNeed::kFirst) {
        if (ctx.thread() == 0) set_first(contract::id_of_rank(shared.row.list[0]));
        return StreamRest::kDone;
      }
      if constexpr (kWeighs) {
        if (!is_first) add_up(scale());
      }
    }
    if (!has_total(what)) return StreamRest::kDraw;
    if constexpr (kWeighs) {
      uint64_t *const words = stream.words(item().slot);
      SAMPLER_KEEP_ROLLED
      for (int i = ctx.thread(); is_listed && i < this->count(); i += Context::kThreads) {
        ctx.publish(&words[i], shared.row.list[i]);
        ctx.publish(&words[kStreamedTokens + i], shared.row.sums[i]);
      }
      // If not all fit, the last block at the row leaves it, since it is being weighed.
      if (ctx.thread() == 0) {
        ctx.publish(&slot()->num_listed, is_listed ? uint32_t(this->count()) : ~uint32_t(0));
      }
      if (is_last_at<false>(&slot()->num_weighed, uint32_t(stream.num_chunks) + 1, [] {})) {
        return has_band() ? StreamRest::kBand : StreamRest::kList;
      }
    }
    return StreamRest::kNothing;
  }

  // A key that at least the wanted number of tokens reach, and not many more.
  SAMPLER_DEVICE uint32_t bound_of_list(StreamNeed what, uint32_t own) const {
    int wanted =
        keeps_all(state().parameters.top_k, request.input.num_cols) ? 0 : state().parameters.top_k;
    if (what == StreamNeed::kTotal) {
      const int bins =
          stream.num_groups() < kStreamedTokens ? stream.num_groups() : kStreamedTokens;
      const int of_p = kPivotRank < bins / 2 ? kPivotRank : bins / 2;
      if (of_p > wanted) wanted = of_p;
    }
    const uint32_t lowest = contract::key_of_rank(contract::lowest_cut(kInput));
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

  // ---- The band ---------------------------------------------------------------------------------

  // Vectors that lie in the row: from the first up to the end.
  SAMPLER_DEVICE int first_vector() const {
    return (row().lead + Row::kElements - 1) / Row::kElements;
  }
  SAMPLER_DEVICE int end_vector() const { return (row().lead + row().count) / Row::kElements; }

  // Calls f(element) for `sampled` of these vectors: for the most that are, at even distances, or
  // for all.
  template <class F>
  SAMPLER_DEVICE void for_each_sampled(int sampled, const F &f) const {
    constexpr int kAtOnce = 4;  // what registers allow
    const auto *const vectors = reinterpret_cast<const Vector *>(row().begin) + first_vector();
    const uint32_t num_vectors = uint32_t(end_vector() - first_vector());
    const auto vector_at = [&](int at) {
      return sampled < kSampledVectors ? uint32_t(at)
                                       : uint32_t(at) * num_vectors / kSampledVectors;
    };
    SAMPLER_KEEP_ROLLED
    for (int first = ctx.thread(); first < sampled; first += kAtOnce * Context::kThreads) {
      Vector raw[kAtOnce];
      SAMPLER_UNROLLED
      for (int i = 0; i < kAtOnce; ++i) {
        const int place = first + i * Context::kThreads;
        raw[i] = ctx.load_streamed(&vectors[vector_at(place < sampled ? place : first)]);
      }
      SAMPLER_KEEP_ROLLED
      for (int i = 0; i < kAtOnce && first + i * Context::kThreads < sampled; ++i) {
        const int vector = first_vector() + int(vector_at(first + i * Context::kThreads));
        const VectorValues values = values_of(vector * Row::kElements, raw[0]);
        SAMPLER_UNROLLED
        for (int j = 0; j < Row::kElements; ++j) f(values.x[j]);
        SAMPLER_UNROLLED
        for (int j = 0; j < kAtOnce - 1; ++j) raw[j] = raw[j + 1];
      }
    }
  }

  // Values on a line where as far is as many octaves of weight: of probabilities roughly, by bits.
  SAMPLER_DEVICE static float coordinate(float x) {
    if constexpr (kIsGiven) return float(contract::bits_of(x));
    return x;
  }
  SAMPLER_DEVICE static float value_at_coordinate(float at) {
    if constexpr (!kIsGiven) return at;
    return at > 1.0f ? contract::float_of(uint32_t(at)) : contract::float_of(1);
  }

  // Places the band, if top-p keeps more than the list, which has all tokens from `pivot` up.
  // False: there would be too many tokens. What it estimates decides where a token is looked for,
  // never which one it is.
  SAMPLER_DEVICE bool place_band(float pivot) {
    constexpr int kSampleBins = kStreamedTokens;
    constexpr float kUnits = 0x1p16f;  // of mass, as many as the pivot weighs
    static_assert(kSampledVectors * Row::kElements < 1 << 16,
                  "what is sampled has fewer than 2^32");
    constexpr float kOctaves = 18.0f;        // lighter tokens weigh nothing
    constexpr float kMostDeviations = 4.0f;  // that the band reaches to either side
    constexpr float kLeastDeviations = 2.0f;
    constexpr float kMost = 0.97f * kBandTokens;
    const contract::RowScale scale = this->scale();
    const float p = state().parameters.top_p;
    const float of_pivot = contract::relative_for_weight(scale, pivot);
    uint64_t own_listed = 0;
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < this->count(); i += Context::kThreads) {
      own_listed += contract::weight(scale, contract::value_of_rank(shared.row.list[i]));
    }
    const float of_list = float(sum_of_weights(own_listed, 1)) * 0x1p-44f;
    if (ctx.thread() == 0) state().bound = contract::float_of(contract::kInfinityBits);
    // No other token weighs more than the pivot.
    const float most_of_rest = float(int(request.input.num_cols) - this->count()) * of_pivot;
    if (of_list > p * 1.0001f * (of_list + most_of_rest)) return true;

    const int num_vectors = end_vector() - first_vector();
    const int sampled = num_vectors < kSampledVectors ? num_vectors : kSampledVectors;
    const float of_octave = kIsGiven ? 0x1p23f : 1.0f / scale.scale;
    const float from = coordinate(pivot), floor = from - kOctaves * of_octave;
    const float least = coordinate(shared.lowest), lowest = least > floor ? least : floor;
    const float bins_of_unit = float(kSampleBins - 1) / (from - lowest);
    if (!(lowest < from) || !(bins_of_unit < 0x1p60f)) return true;

    uint32_t *const bins = shared.row.bins.keys;  // units of mass
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < kSampleBins; i += Context::kThreads) bins[i] = 0;
    ctx.sync();
    const float units_of_one = kUnits / of_pivot;
    for_each_sampled(sampled, [&](float x) {
      const float at = coordinate(x);
      if (at < floor || x >= pivot) return;
      const float units = contract::relative_for_weight(scale, x) * units_of_one;
      const float place = (from - at) * bins_of_unit;
      const int bin = place < float(kSampleBins - 1) ? int(place) : kSampleBins - 1;
      ctx.add_to_shared(&bins[bin], uint32_t(units + 0.5f));
    });
    ctx.sync();
    const int first = ctx.thread() * kBinsOfThread;
    uint64_t own = 0;
    SAMPLER_KEEP_ROLLED
    for (int i = 0; i < kBinsOfThread; ++i) own += bins[first + i];
    uint64_t all;
    const uint64_t before = sum_before(own, 1, &all);

    // A sampled token stands for so many. Errors of the mass above the cut and below it move the
    // cut by their parts 1 - p and p.
    const float tokens = float(num_vectors) / float(sampled);
    const float above = of_list * units_of_one;
    const float wanted = (p * (above + tokens * float(all)) - above) / tokens;
    const float octaves_of_bin = 1.0f / (bins_of_unit * of_octave);
    const auto units_at = [&](int bin) {
      return kUnits * contract::exp2_of_negative(-(float(bin) + 0.5f) * octaves_of_bin);
    };
    float variance = 0.0f, mass = float(before);
    SAMPLER_KEEP_ROLLED
    for (int i = first; i < first + kBinsOfThread; ++i) {
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
      for (int i = first; i < first + kBinsOfThread; ++i) {
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
      if (num_below == uint32_t(kSampleBins)) return true;  // the list is enough
      if (num_below == 0) return false;
      const float in_list = num_above == 0 ? float(this->count()) : 0.0f;
      if (in_list + tokens * float(counts >> 24) < kMost) break;
    }
    if (ctx.thread() == 0) {
      if (num_above != 0)
        state().bound = value_at_coordinate(from - float(num_above) / bins_of_unit);
      const uint32_t num_to_end = uint32_t(kSampleBins) - num_below;
      state().band = value_at_coordinate(from - float(num_to_end) / bins_of_unit);
    }
    ctx.sync();
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
    return (id + row().lead) / kTile;
  }

  // Weighs the chunk's tokens above the band, by tile, and all of them; adds those in it to the
  // band. Lane 0 of each warp has the warp's weights.
  SAMPLER_DEVICE uint64_t weigh_beside_band(uint64_t *weight_above) {
    uint64_t *const tiles = stream.tiles(item().slot);
    const contract::RowScale scale = this->scale();
    const float bound = state().bound, band = state().band;
    uint64_t sum = 0;          // in lane 1 of the weights above
    contract::WeightSum none;  // of a token that weighs nothing
    none.add(0.0f);
    for_each_tile<Row::kVectors>(
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

  // Element `i` of a group, which is not the same in all lanes.
  SAMPLER_DEVICE static float selected_of(const Group &group, const Vector (&raw)[Row::kVectors],
                                          int i) {
    if constexpr (!kEdits) return selected_element<kDtype>(raw, i);
    float x = group.x[0];
    SAMPLER_UNROLLED
    for (int j = 1; j < kGroup; ++j) x = i == j ? group.x[j] : x;
    return x;
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
    const int begin = Row::position(tile, ctx.lane(), 0) - row().lead;
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
    if (ctx.warp() == 0) shared.of_chunks[ctx.lane()] = TwoWords::of(of_chunk);
    uint64_t above = sum_of_lanes(of_chunk);
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
    load_words(stream.words(item().slot), int(count), [&](int i, Rank rank) {
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
      for_each_in_band(low, end, [&](uint64_t place, uint64_t weight) {
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
      is_found = bins[bin].value() < 2 * contract::weight(scale(), value_in_band(low));
      ctx.sync();
    }
    const uint64_t mask = rules.top_p_ties == SAMPLER_TIES_KEEP ? ~uint64_t(kIdMask) : kNoPlace;
    for_each_in_band(low, end, [&](uint64_t place, uint64_t) { shared.cut = place & mask; });
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
      const uint64_t weight = is_kept ? contract::weight(scale(), value_in_band(place)) : 0;
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
  SAMPLER_DEVICE void for_each_in_band(uint64_t low, uint64_t end, const F &f) const {
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < this->count(); i += Context::kThreads) {
      const uint64_t place = shared.band[i];
      if (place < low || place >= end) continue;
      f(place, contract::weight(scale(), value_in_band(place)));
    }
  }

  // Ends a row whose list is in shared memory. `total`: weight of the whole row, if known.
  SAMPLER_DEVICE void draw_from_list(uint64_t total) {
    if (ctx.thread() == 0) shared.total_of_row = total;
    if (contract::is_greedy(state().parameters.temperature)) {
      if (ctx.thread() == 0) set_first(contract::id_of_rank(shared.row.list[0]));
      return;
    }
    int kept = 0;
    SAMPLER_KEEP_ROLLED
    for (bool is_filtered = false;; is_filtered = true) {
      if constexpr (!kWeighs) add_up(is_filtered ? scale() : filter_scale());
      if (is_filtered) break;
      typename List::Prefixes prefixes(*this, filter_scale(), state().max, request.input.num_cols,
                                       total);
      kept = contract::filtered_prefix_by_steps(prefixes, state().parameters,
                                                request.parameters.rules);
      ctx.sync();
      if (kept > this->count()) {
        if (ctx.thread() == 0) set_left();
        return;
      }
      if (!has_two()) break;
    }
    const uint64_t kept_weight = shared.row.sums[kept - 1];
    const uint64_t target = contract::draw_target(shared.word, kept_weight);
    if (kept <= Context::kThreads) {
      const bool is_own = ctx.thread() < kept;
      const uint32_t id = is_own ? contract::id_of_rank(shared.row.list[ctx.thread()]) : 0;
      uint64_t before = 0, last = 0, own = 0;
      for (int i = 0; i < kept; ++i) {
        const uint64_t sum = shared.row.sums[i], weight = sum - last;
        last = sum;
        if (contract::id_of_rank(shared.row.list[i]) < id) before += weight;
        if (i == ctx.thread()) own = weight;
      }
      if (is_own && before <= target && target < before + own) {
        set_drawn(id, kept, kept_weight);
      }
    } else {
      uint32_t ids[kBinsOfThread];
      uint64_t weights[kBinsOfThread];
      SAMPLER_UNROLLED
      for (int i = 0; i < kBinsOfThread; ++i) {
        const int at = i * Context::kThreads + ctx.thread();
        ids[i] = 0;
        weights[i] = 0;
        if (at >= kept) continue;
        ids[i] = contract::id_of_rank(shared.row.list[at]);
        weights[i] = shared.row.sums[at] - (at > 0 ? shared.row.sums[at - 1] : 0);
      }
      uint32_t id = 0;
      int turn = 0;
      SAMPLER_KEEP_ROLLED
      for (int bit = 19; bit >= 0; --bit) {
        const uint32_t candidate = id | uint32_t(1) << bit;
        if (candidate >= uint32_t(request.input.num_cols)) continue;
        uint64_t before = 0;
        SAMPLER_UNROLLED
        for (int i = 0; i < kBinsOfThread; ++i) before += ids[i] < candidate ? weights[i] : 0;
        turn ^= 1;  // not the bit's parity: some bits are skipped
        if (sum_of_weights(before, turn) <= target) id = candidate;
      }
      if (ctx.thread() == 0) set_drawn(id, kept, kept_weight);
    }
  }

  // ---- The second pass --------------------------------------------------------------------------

  SAMPLER_DEVICE StreamRest weigh() {
    const bool by_tile = state().need == StreamNeed::kWeights;
    uint64_t sum, above = 0;
    if (has_band()) {
      sum = weigh_beside_band(&above);
    } else {
      sum = by_tile && is_cut() ? weigh_chunk<true>(true) : weigh_chunk<false>(by_tile);
    }
    if (ctx.lane() == 0) {
      shared.partial[0][ctx.warp()] = above;
      shared.partial[1][ctx.warp()] = sum;
    }
    // The list arrives, too.
    const uint32_t arrivals = uint32_t(stream.num_chunks) + (by_tile ? 0 : 1);
    const bool is_last = is_last_at<false>(&slot()->num_weighed, arrivals, [&] {
      publish_weight(shared.partial[1], kMostChunks);
      if (has_band()) publish_weight(shared.partial[0], 0);
    });
    if (!is_last) return StreamRest::kNothing;
    if (by_tile) return StreamRest::kWeights;
    return has_band() ? StreamRest::kBand : StreamRest::kList;
  }

  // Publishes the chunk's weight, the sum of the warps', from a place among the chunks' words on.
  // Called by a warp.
  SAMPLER_DEVICE void publish_weight(const uint64_t *of_warps, int from) const {
    const uint64_t sum = sum_of_lanes(ctx.lane() < kWarps ? of_warps[ctx.lane()] : 0);
    if (ctx.lane() == 0) ctx.publish(&chunk_words()[from + item().chunk], sum);
  }

  // The chunk's weight; lane 0 of each warp has the warp's.
  template <bool kIsCut>
  SAMPLER_DEVICE uint64_t weigh_chunk(bool by_tile) const {
    uint64_t *const tiles = stream.tiles(item().slot);
    uint64_t sum = 0;
    const contract::RowScale scale = state().need == StreamNeed::kRaw ? raw_scale() : this->scale();
    const float below =
        kIsCut ? contract::value_of_key(contract::value_key(state().bound) - 1) : 0.0f;
    for_each_tile<Row::kVectors>(
        [&](int tile, const Vector(&raw)[Row::kVectors], const TilePatch &words) {
          contract::WeightSum weights;
          const Group group = group_of(tile, raw, words);
          SAMPLER_UNROLLED
          for (int i = 0; i < kGroup; ++i) {
            const float x = group.x[i];
            weights.add(kIsCut ? contract::relative_for_weight_above(scale, x, below)
                               : contract::relative_for_weight(scale, x));
          }
          const uint64_t weight = ctx.warp_sum(weights.of(kGroup));
          if (ctx.lane() != 0) return;
          if (by_tile) ctx.publish(&tiles[tile], weight);
          sum += weight;
        });
    return sum;
  }

  // Weight of the whole row. Called by the whole block.
  SAMPLER_DEVICE uint64_t total_weight() const {
    uint64_t own = 0;
    if (ctx.lane() < stream.num_chunks) {
      own = ctx.load_fresh(&chunk_words()[kMostChunks + ctx.lane()]);
    }
    return sum_of_lanes(own);
  }

  // Calls f(index, word) for each published word, with several in flight.
  template <class F>
  SAMPLER_DEVICE void load_words(const uint64_t *words, int count, const F &f) const {
    constexpr int kAtOnce = 8;
    SAMPLER_KEEP_ROLLED
    for (int first = ctx.thread(); first < count; first += kAtOnce * Context::kThreads) {
      uint64_t loaded[kAtOnce];
      SAMPLER_UNROLLED
      for (int i = 0; i < kAtOnce; ++i) {
        const int at = first + i * Context::kThreads;
        loaded[i] = ctx.load_fresh(&words[at < count ? at : first]);
      }
      SAMPLER_UNROLLED
      for (int i = 0; i < kAtOnce; ++i) {
        const int at = first + i * Context::kThreads;
        if (at < count) f(at, loaded[i]);
      }
    }
  }

  // Loads the published list and total. False: there is no list.
  SAMPLER_DEVICE bool load_list(uint64_t *total) const {
    const uint32_t count = ctx.load_fresh(&slot()->num_listed);
    if (count > uint32_t(kStreamedTokens)) return false;
    if (ctx.thread() == 0) shared.num_listed = count;
    const uint64_t *const words = stream.words(item().slot);
    load_words(words, int(count), [&](int i, uint64_t word) { shared.row.list[i] = word; });
    load_words(words + kStreamedTokens, int(count),
               [&](int i, uint64_t word) { shared.row.sums[i] = word; });
    *total = total_weight();
    ctx.sync();
    return true;
  }

  // Called when the tiles' weights are published, and the band is cut, if there is one.
  SAMPLER_DEVICE void draw_from_weights() {
    const bool is_banded = has_band();
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < kMostTilesOfChunk; i += Context::kThreads) {
      shared.of_tiles[i] = {};
    }
    ctx.sync();
    uint64_t target = 0;  // in the first warp
    if (ctx.warp() == 0) {
      uint64_t own = 0;
      if (is_banded) {
        own = shared.of_chunks[ctx.lane()].value();
      } else if (ctx.lane() < stream.num_chunks) {
        own = ctx.load_fresh(&chunk_words()[kMostChunks + ctx.lane()]);
      }
      const uint64_t total = sum_of_lanes(own);
      target = contract::draw_target(shared.word, total);
      const int chunk = find(own, &target);
      if (ctx.lane() == 0) {
        shared.prefix = chunk;
        shared.total = total;
        if (!is_banded) shared.total_of_row = total;
      }
    }
    ctx.sync();
    const int first_tile = shared.prefix * stream.tiles_of_chunk;
    const int end_tile = first_tile + stream.tiles_of_chunk;
    if (is_banded) {
      for_each_in_band(shared.cut, kNoPlace, [&](uint64_t place, uint64_t weight) {
        const int tile = tile_in_band(place);
        if (tile >= first_tile && tile < end_tile) {
          ctx.add_to_shared(&shared.of_tiles[tile - first_tile], weight);
        }
      });
    }
    ctx.sync();
    if (ctx.warp() == 0) {
      constexpr int kTilesOfLane = kMostTilesOfChunk / 32;
      const uint64_t *const tiles = stream.tiles(item().slot);
      const int first = first_tile + kTilesOfLane * ctx.lane();
      uint64_t weights[kTilesOfLane], own = 0;
      SAMPLER_UNROLLED
      for (int i = 0; i < kTilesOfLane; ++i) {
        const bool is_in = first + i < end_tile && first + i < stream.num_tiles;
        weights[i] = is_in ? ctx.load_fresh(&tiles[first + i]) : 0;
      }
      SAMPLER_UNROLLED
      for (int i = 0; i < kTilesOfLane; ++i) {
        weights[i] += shared.of_tiles[first + i - first_tile].value();
        own += weights[i];
      }
      const int lane = find(own, &target);
      if (ctx.lane() == lane) {
        int tile = first;
        SAMPLER_UNROLLED
        for (int i = 0; i < kTilesOfLane - 1; ++i) {
          const bool is_before = tile == first + i && target >= weights[i];
          target -= is_before ? weights[i] : 0;
          tile += is_before ? 1 : 0;
        }
        shared.prefix = tile;
        shared.target = target;
      }
    }
    ctx.sync();
    target = shared.target;
    int turn = 0;
    SAMPLER_KEEP_ROLLED
    for (int index = shared.prefix * kTile - row().lead + ctx.thread();;
         index += Context::kThreads) {
      const uint64_t own = weight_at(index);
      uint64_t all;
      turn ^= 1;
      const uint64_t before = sum_before(own, turn, &all);
      if (before <= target && target < before + own) {
        set_drawn(uint32_t(index), 0, shared.total);
      }
      if (target < all) break;
      target -= all;
    }
  }

  // Weight of an element; 0 if it is outside the row or removed.
  SAMPLER_DEVICE uint64_t weight_at(int index) const {
    if (index < 0 || index >= row().count) return 0;
    const float x = value_at(index);
    bool is_kept = x >= state().bound;
    if (!is_kept && x >= state().band) {
      is_kept = place_in_band(contract::value_key(x), uint32_t(index)) >= shared.cut;
    }
    return is_kept ? contract::weight(scale(), x) : 0;
  }

  const contract::SampleRequest &request;
  const Stream &stream;

  int turn_ = 0;  // parity of the item
};

template <sampler_dtype kDtype, StreamKind kKind, class Context>
SAMPLER_DEVICE void run_stream(const Context &ctx, const contract::SampleRequest &request,
                               const Stream &stream) {
  StreamBlock<Context, kDtype, kKind>(ctx, request, stream).run();
}

// Clears what a launch must find 0.
template <class Context>
SAMPLER_DEVICE void run_clear(const Context &ctx, const Stream &stream) {
  ctx.let_next_launch_begin();
  const int64_t num_vectors = int64_t(stream.cleared_bytes() / sizeof(Vector));
  auto *const vectors = reinterpret_cast<Vector *>(stream.memory);
  for (int64_t i = ctx.team() * Context::kThreads + ctx.thread(); i < num_vectors;
       i += ctx.num_teams() * Context::kThreads) {
    ctx.store_vector(&vectors[i], Vector{});
  }
}

}  // namespace sampler::kernels
