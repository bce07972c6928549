// Items of work of a launch of streamed rows: the chunks that blocks take in turn, what they wait
// for, and the state of the rows.
#pragma once

#include <cstdint>

#include "contract/request.h"
#include "contract/weight.h"
#include "machine/device.cuh"
#include "stream/ranked_list.cuh"
#include "stream/stream.h"
#include "stream/streamed_row.cuh"

namespace sampler::kernels {

// The row and chunk of an item, and what is done with it.
SAMPLER_DEVICE inline void decode_item(const Stream &stream, uint32_t number, StreamItem *item) {
  const uint32_t chunks = uint32_t(stream.num_chunks);
  uint32_t place = number;  // among all chunks
  item->step = StreamStep::kRead;
  item->is_none = false;
  if (stream.weighs()) {
    // Chunks are read and weighed in turn, those that are read `ahead` of the others. Where rows
    // are sampled, all are read ahead.
    const uint32_t ahead = uint32_t(stream.rows_ahead) * chunks;
    if (stream.num_items - number <= ahead) {  // none is left to be read
      item->step = StreamStep::kWeigh;
      place = number + stream.num_rows * chunks - stream.num_items;
    } else if (stream.num_samplers > 0 && number >= ahead) {
      const uint32_t samplers = uint32_t(stream.num_samplers);
      item->step = StreamStep::kSample;
      item->row = (number - ahead) / samplers;
      item->chunk = int((number - ahead) % samplers);
      return;
    } else if (number >= ahead) {
      const bool is_weighing = (number - ahead) % 2 != 0;
      if (is_weighing) item->step = StreamStep::kWeigh;
      place = (number - ahead) / 2 + (is_weighing ? 0 : ahead);
    }
  }
  item->row = place / chunks;
  item->chunk = int(place % chunks);
}

// A block's item and its row, with the list of candidates.
template <class Context, sampler_dtype kDtype, StreamKind kKind>
class StreamItems : protected RankedList<Context, StreamShared> {
 protected:
  using List = RankedList<Context, StreamShared>;
  using List::ctx, List::shared;
  using Row = StreamedRow<kDtype>;

  SAMPLER_DEVICE StreamItems(const Context &context, const contract::SampleRequest &sample,
                             const Stream &layout)
      : List(context, context.template shared<StreamShared>()), request(sample), stream(layout) {}

  static constexpr bool kWeighs = kKind >= StreamKind::kAny;
  static constexpr bool kEdits = kKind == StreamKind::kEdited;
  static constexpr sampler_input_kind kInput =
      kKind == StreamKind::kGiven ? SAMPLER_PROBABILITIES : SAMPLER_LOGITS;
  static constexpr bool kIsGiven = kInput == SAMPLER_PROBABILITIES;
  static constexpr bool kReports = kKind == StreamKind::kAny;
  // Whether a block takes an item while it works on another. Of a row that is weighed the other
  // blocks would wait while this one completes another row.
  static constexpr bool kTakesAhead = !kWeighs;

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
    if (comes_later(item)) read_parameters(item);
  }

  // Items of a row that has been read.
  SAMPLER_DEVICE static bool comes_later(const StreamItem &item) {
    return kWeighs && item.step != StreamStep::kRead;
  }

  // Those wait for the row's largest value; others, if the slot has had rows before, until
  // the last of them is finished. Blocks wait only for rows of earlier items, which running blocks
  // hold: the first unfinished item never waits, so there is no deadlock.
  SAMPLER_DEVICE bool is_waiting(const StreamItem &item) const {
    return comes_later(item) || item.row >= uint32_t(stream.num_slots);
  }
  SAMPLER_DEVICE bool has_come(const StreamItem &item, uint64_t seen) const {
    return comes_later(item) ? uint32_t(seen) / 2 >= item.row + 1
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
      seen = comes_later(item) ? ctx.load_fresh(&slot.maximum) : ctx.load_fresh(&slot.num_finished);
      bound = ctx.load_fresh(&slot.bound);
      band = ctx.load_fresh(&slot.band);
      if (has_come(item, seen)) break;
      ctx.pause();
    }
    if (!comes_later(item)) return;
    if (uint32_t(seen) != tag() * 2 + 1) {
      item.is_none = true;  // the row is not weighed
      return;
    }
    set_maximum(uint32_t(seen >> 32));
    if (item.step == StreamStep::kSample) {
      ctx.fence();
      const Vector raw = ctx.load_fresh(reinterpret_cast<const Vector *>(&slot.sample));
      *reinterpret_cast<Vector *>(&shared.sample) = raw;
      item.row_state.bound = contract::float_of(contract::kInfinityBits);
      item.is_none = raw.word[2] == 0;  // nothing is listed
      return;
    }
    const bool is_banded = may_have_band();
    if (!is_banded && !is_cut_by_tile()) return;
    item.row_state.bound = wait_for_value(&slot.bound, bound);
    if (is_banded) item.row_state.band = wait_for_value(&slot.band, band);
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
  // Whether filters weigh the row otherwise than its draw does.
  SAMPLER_DEVICE bool has_two() const { return !kIsGiven && state().filter_scale != state().scale; }
  SAMPLER_DEVICE contract::RowScale filter_scale() const {
    if constexpr (kIsGiven) return scale();
    return {SAMPLER_LOGITS, state().max, state().filter_scale, 0};
  }
  SAMPLER_DEVICE contract::RowScale scale_of_min_p() const {
    return hands_on() && stream.lists.min_p_is_at_one ? raw_scale() : filter_scale();
  }
  SAMPLER_DEVICE contract::RowScale raw_scale() const {
    if constexpr (kIsGiven) return scale();
    return contract::logits_row_scale(state().max, 1.0f);
  }

  SAMPLER_DEVICE StreamSlot *slot() const { return stream.slot(item().slot); }
  SAMPLER_DEVICE uint64_t *chunk_words() const { return stream.chunk_words(item().slot); }
  SAMPLER_DEVICE uint32_t tag() const { return output() + 1; }

  // Called by one thread.
  SAMPLER_DEVICE void read_parameters(StreamItem &item) const {
    StreamedRowState &row = item.row_state;
    row.status = SAMPLER_ROW_INVALID_INDEX;
    row.need = StreamNeed::kOther;
    row.is_by_min_p = false;
    if (item.has_row) {
      row.status = contract::read_parameters(request, request.slots[item.row], &row.parameters);
    }
    if (kEdits && row.status == SAMPLER_ROW_OK) row.status = item.patch.number_status;
    if (row.status != SAMPLER_ROW_OK || (kEdits && item.patch.is_left)) return;
    if (hands_on()) {
      const bool is_greedy = contract::is_greedy(row.parameters.temperature);
      row.is_by_min_p = !is_greedy && stream.lists.by == SAMPLER_STAGE_MIN_P;
      row.need = is_greedy ? StreamNeed::kFirst : StreamNeed::kList;
      return;
    }
    const contract::FilterRules &rules = request.parameters.rules;
    row.need =
        stream_need(row.parameters, rules, request.input.num_cols, wanted(), &row.is_by_min_p);
  }
  // Whether another kernel runs the rows' stages on their lists.
  SAMPLER_DEVICE bool hands_on() const {
    return (kKind == StreamKind::kList || kEdits) && stream.lists.is_on();
  }
  SAMPLER_DEVICE StreamWanted wanted() const {
    StreamWanted wanted = StreamWanted::of(request);
    if (kReports && stream.reports_rows()) wanted.total_at_one = true;
    return wanted;
  }

  // Called by one thread, with the row's parameters.
  SAMPLER_DEVICE void set_maximum(uint32_t key) const {
    StreamedRowState &row = state();
    row.max_key = key;
    if (row.status == SAMPLER_ROW_OK) row.status = status_of_key(key, kInput);
    if (kEdits && row.status == SAMPLER_ROW_OK) row.status = item().patch.status;
    row.max = contract::value_of_key(key);
    row.scale = contract::logit_scale(row.parameters.temperature);
    const bool has_two = has_two_scales(row.parameters, request.parameters.rules);
    row.filter_scale = has_two ? contract::logit_scale(1.0f) : row.scale;
    row.bound = contract::negative_infinity();
    row.band = contract::float_of(contract::kInfinityBits);
  }

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
    item.patch.mask = edits.mask_of(head);
  }
  SAMPLER_DEVICE const StreamedPatch &patch() const { return item().patch; }

  // Whether min-p excludes weights of tiles.
  SAMPLER_DEVICE bool is_cut() const { return contract::min_p_is_on(state().parameters.min_p); }
  SAMPLER_DEVICE bool is_cut_by_tile() const {
    return state().need == StreamNeed::kWeights && is_cut();
  }
  SAMPLER_DEVICE bool may_have_band() const {
    return state().need == StreamNeed::kTotal &&
           kernels::may_have_band(state().parameters, request.input.num_cols,
                                  request.out_kept_counts != nullptr);
  }
  SAMPLER_DEVICE bool has_band() const {
    return state().band < contract::float_of(contract::kInfinityBits);
  }

  // First tokens that are reported, at the head of the row's list.
  SAMPLER_DEVICE int num_top() const { return kReports ? stream.num_top() : 0; }
  // Whether a row that is drawn from by its tiles' weights has a list for these.
  SAMPLER_DEVICE bool lists_top() const {
    return state().need == StreamNeed::kWeights && num_top() > 0;
  }
  SAMPLER_DEVICE bool has_second_total() const {
    return kWeighs && wanted().total_at_one &&
           kernels::has_second_total(state().parameters, request.parameters.rules, state().need);
  }

  // Whether the row's entropy is reported.
  SAMPLER_DEVICE bool has_entropy() const { return kReports && stream.reports.out_entropies; }

  // Whether the row is weighed for its list.
  SAMPLER_DEVICE static bool has_total(StreamNeed need) {
    return need == StreamNeed::kTotal || need == StreamNeed::kRaw;
  }

  SAMPLER_DEVICE static bool is_weighed(StreamNeed need) {
    return has_total(need) || need == StreamNeed::kWeights;
  }

  // Publishes the row's largest value, if the row is to be weighed. Called by one thread.
  SAMPLER_DEVICE void publish_maximum() const {
    const StreamedRowState &row = state();
    const uint32_t weighs = row.status == SAMPLER_ROW_OK && is_weighed(row.need) ? 1 : 0;
    ctx.publish(&slot()->maximum, uint64_t(row.max_key) << 32 | tag() * 2 | weighs);
    ctx.fence();
  }

  SAMPLER_DEVICE void finish_slot() const {
    if (stream.has_tickets && ctx.thread() == 0) {
      ctx.fence();
      ctx.atomic_add(&slot()->num_finished, uint32_t(1));
    }
  }

  const contract::SampleRequest &request;
  const Stream &stream;

  int turn_ = 0;  // parity of the item
};

}  // namespace sampler::kernels
