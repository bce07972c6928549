// Sampling of long rows, streamed: blocks take chunks of rows, and the last block at a row
// completes it while others stream the next.
//
//     read     every chunk: the largest value of each group, and of the chunk
//     list     the row's last reader: the tokens above a bound that follows from the maxima of
//              groups, in rank order, with what they and those before them weigh
//     sample   where that list may be too short for top-p: a part of the row, which tells about
//              where top-p cuts it
//     weigh    every chunk once more, from L2, where the weight of all of the row is needed
//     finish   the last of the row: cuts the list and draws from it, or from the tiles' weights
//
// After a sample the second pass lists the tokens near the cut, the band, and weighs those above it
// by tile. The row's last reader takes the sample; of few rows, blocks that have nothing else to
// do.
//
// Rows whose tokens do not fit the list are left to the general kernel.
#pragma once

#include <cstdint>

#include "contract/draw.h"
#include "contract/elements.h"
#include "contract/log2.h"
#include "contract/request.h"
#include "machine/device.cuh"
#include "row/row.cuh"
#include "stream/clear.cuh"
#include "stream/reports.cuh"
#include "stream/stream.h"
#include "stream/streamed_row.cuh"

namespace sampler::kernels {

// Vectors in flight per thread.
constexpr int kStreamedVectors = 8;

// A block of a launch, with its items.
template <class Context, sampler_dtype kDtype, StreamKind kKind>
class StreamBlock : StreamReports<Context, kDtype, kKind> {
 public:
  SAMPLER_DEVICE StreamBlock(const Context &context, const contract::SampleRequest &sample,
                             const Stream &layout)
      : Base(context, sample, layout) {}

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
  using Base = StreamReports<Context, kDtype, kKind>;
  using List = RankedList<Context, StreamShared>;
  using Base::add_up, Base::begin_item, Base::bound_of_list, Base::chunk_words, Base::ctx,
      Base::cut_band, Base::filter_scale, Base::find, Base::finish_slot, Base::for_each_in_band,
      Base::group_of, Base::groups_of_bin, Base::hands_on, Base::has_band, Base::has_total,
      Base::has_two, Base::item, Base::kEdits, Base::kInput, Base::kIsGiven, Base::kNoPlace,
      Base::kTakesAhead, Base::kWarps, Base::kWeighs, Base::largest_of, Base::list_groups,
      Base::list_tokens, Base::load_bins, Base::load_words, Base::max_of_block, Base::may_have_band,
      Base::place_in_band, Base::publish_maximum, Base::publish_value, Base::raw_scale,
      Base::read_parameters, Base::request, Base::row, Base::set_maximum, Base::shared, Base::slot,
      Base::sort, Base::state, Base::stream, Base::sum_before, Base::sum_of_lanes,
      Base::take_ticket, Base::tile_in_band, Base::total_weight, Base::turn_, Base::value_at,
      Base::wait_for_item, Base::weigh_beside_band;
  using typename Base::Group;
  using typename Base::Row;
  using typename Base::TilePatch;

  // Each function has one call site, so that all are inlined into one.
  SAMPLER_DEVICE void end_row() {
    StreamRest rest;
    if constexpr (kWeighs) {
      const StreamStep step = item().step;
      rest = step == StreamStep::kSample  ? StreamRest::kSample
             : step == StreamStep::kWeigh ? weigh()
                                          : read();
      if (rest == StreamRest::kSample) rest = this->sample();
      if (rest == StreamRest::kLeft) rest = end_with(true);
    } else {
      rest = read();
    }
    if (rest == StreamRest::kListed) rest = hand_list();
    if (rest > StreamRest::kDone && ctx.thread() == Context::kThreads - 1) {
      shared.word = random_word();
    }
    uint64_t total = 0;
    if constexpr (kWeighs) {
      if (rest == StreamRest::kList) {
        rest = load_list(&total) ? StreamRest::kDraw : end_with(true);
      } else if (rest == StreamRest::kBand) {
        rest = cut_band() ? StreamRest::kWeights : end_with(true);
      } else if (rest == StreamRest::kWeights && this->lists_top() && !this->has_list()) {
        rest = end_with(true);
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
    if constexpr (kWeighs) {
      if (!stream.has_drawn && this->has_second_total()) this->load_second_total();
    }
    if constexpr (Base::kReports) {
      if (stream.has_drawn && ctx.thread() == 0) take_drawn();
      if (stream.reports_rows()) this->report_row();
    }
    if (ctx.thread() == 0) write_outcome();
    finish_slot();
  }

  // ---- Outputs ----------------------------------------------------------------------------------

  SAMPLER_DEVICE contract::RandomStream random() const {
    return request.stream_of(this->output(), request.slots[this->output()]);
  }
  SAMPLER_DEVICE uint64_t random_word() const {
    return contract::random_word64(random(), contract::Purpose::kSample, 0);
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

  // Takes the token that a launch before this one has drawn. Called by one thread.
  SAMPLER_DEVICE void take_drawn() const {
    StreamedOutcome &outcome = shared.outcome;
    if (outcome.is_left) return;
    const int64_t id = contract::load_id(request.out_token_ids.data, request.out_token_ids.type,
                                         int64_t(this->output()));
    outcome.status = request.out_row_status[this->output()];
    outcome.id = uint32_t(id);
  }

  // Called by one thread.
  SAMPLER_DEVICE void write_outcome() const {
    const StreamedOutcome &outcome = shared.outcome;
    const int64_t output = this->output();
    if (hands_on()) {
      *stream.lists.head(uint32_t(output)) = {
          outcome.status, outcome.is_left ? ListHead::kLeft : uint32_t(outcome.kept_count), 0, 0};
      if (!outcome.is_left) return;
    }
    if (outcome.is_left) {
      stream.left()[ctx.atomic_add(&stream.head()->num_left, uint32_t(1))] = uint32_t(output);
      return;
    }
    const bool is_good = outcome.status == SAMPLER_ROW_OK;
    const bool is_new = !Base::kReports || !stream.has_drawn;
    if (is_new) {
      contract::store_id(request.out_token_ids, output,
                         is_good ? int64_t(outcome.id) : request.bad_row_token);
      if (request.out_kept_counts) request.out_kept_counts[output] = outcome.kept_count;
      if (request.out_row_status) request.out_row_status[output] = outcome.status;
    }
    if (!request.out_values && !request.out_logprobs) return;
    const float given = is_good ? row().value(int(outcome.id)) : contract::quiet_nan();
    if (is_new && request.out_values) request.out_values[output] = given;
    if (!request.out_logprobs) return;
    const float x = kEdits && is_good ? value_at(int(outcome.id)) : given;
    const bool is_at_one = request.logprob_kind != SAMPLER_LOGPROB_PROCESSED;
    float logprob = outcome.is_greedy && !is_at_one ? 0.0f : x;
    if (is_good && (is_at_one || !outcome.is_greedy)) {
      logprob = contract::log_probability(is_at_one ? raw_scale() : this->scale(), x,
                                          is_at_one ? shared.total_of_row : outcome.kept_weight);
    }
    request.out_logprobs[output] = logprob;
  }

  // ---- Greedy -----------------------------------------------------------------------------------

  SAMPLER_DEVICE void read_first() {
    float best = contract::negative_infinity();
    int best_tile = -1;
    bool is_bad = false;
    this->template for_each_tile<kStreamedVectors>(
        [&](int tile, const Vector(&raw)[Row::kVectors], TilePatch) {
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
    this->template for_each_tile<kVectorsAtOnce>(
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
    const bool is_last =
        this->template is_last_at<true>(&slot()->num_read, uint32_t(stream.num_chunks), [&] {
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
          const bool is_later = this->is_cut_by_tile() || may_have_band();
          if (state().status != SAMPLER_ROW_OK || !is_later) publish_maximum();
        }
      }
      ctx.sync();
    }
    if (state().status != SAMPLER_ROW_OK) return end_with(false);
    const StreamNeed what = state().need;
    if (what == StreamNeed::kOther) return end_with(true);
    if (hands_on() && stream.lists.by_slot && what == StreamNeed::kList &&
        !stream.lists.have(state().parameters, request.input.num_cols)) {
      return end_with(true);
    }
    if constexpr (kWeighs) {
      const bool is_cut_by_tile = this->is_cut_by_tile();
      if (is_cut_by_tile || state().is_by_min_p) {
        const float bound = contract::value_of_key(this->lowest_weighed(
            this->scale_of_min_p(), state().max_key, state().parameters.min_p));
        if (ctx.thread() == 0) {
          state().bound = bound;
          if (is_cut_by_tile) {
            publish_value(&slot()->bound, bound);
            publish_maximum();
          }
        }
        ctx.sync();
      }
      if (what == StreamNeed::kWeights && !this->lists_top()) return StreamRest::kNothing;
    } else {
      if (what == StreamNeed::kWeights) return end_with(true);
    }
    return list(what);
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
    const bool is_of_first = is_first && this->num_top() == 0;
    const uint32_t max_key = kWeighs ? state().max_key : own_max;
    const uint32_t bound = is_of_first ? max_key : bound_of_list(what, own, max_key);
    if (ctx.thread() == 0) {
      shared.sample.pivot = contract::value_of_key(bound);
      shared.sample.num_listed = 0;
    }
    const bool fits = list_groups(size, bound) && list_tokens(bound);
    if (!fits && !this->is_weighed(what)) return end_with(true);
    if constexpr (kWeighs) {
      if (may_have_band()) {
        const bool is_sampled = fits && this->needs_sample(contract::value_of_key(bound));
        if (!is_sampled || stream.num_samplers == 0) return StreamRest::kSample;
        begin_samples();
      }
    }
    return StreamRest::kListed;
  }

  // Lets other blocks sample the row, and weigh it when the band is placed.
  SAMPLER_DEVICE void begin_samples() const {
    auto *const bins = reinterpret_cast<Vector *>(stream.sample_bins(item().slot));
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < kSampleBins / 4; i += Context::kThreads) {
      ctx.store_vector(&bins[i], Vector{});
    }
    ctx.sync();
    if (ctx.thread() == 0) {
      ctx.store_vector(reinterpret_cast<Vector *>(&slot()->sample),
                       *reinterpret_cast<const Vector *>(&shared.sample));
      state().band = shared.sample.pivot;  // the block's list is not what the row is drawn from
      ctx.fence();
      publish_maximum();
    }
    ctx.sync();
  }

  // Goes on with the row's list, if another block has not placed a band beside it.
  SAMPLER_DEVICE StreamRest hand_list() {
    const StreamNeed what = state().need;
    const bool is_first = contract::is_greedy(state().parameters.temperature);
    const bool is_listed = this->fits() && !has_band();
    if (is_listed || (this->fits() && this->num_top() > 0)) {
      sort(state().max, shared.sample.pivot, kIsGiven);
      if constexpr (Base::kReports) this->write_first_tokens();
      if (hands_on()) {
        hand_on(is_first);
        return StreamRest::kDone;
      }
      if (what == StreamNeed::kFirst) {
        if (ctx.thread() == 0) set_first(contract::id_of_rank(shared.row.list[0]));
        return StreamRest::kDone;
      }
      if constexpr (kWeighs) {
        if (!is_first && what != StreamNeed::kWeights) add_up(filter_scale());
      }
    }
    if (!this->is_weighed(what)) return StreamRest::kDraw;
    if constexpr (kWeighs) {
      uint64_t *const words = stream.words(item().slot);
      const int num_published = is_listed && has_total(what) ? this->count() : 0;
      SAMPLER_KEEP_ROLLED
      for (int i = ctx.thread(); i < num_published; i += Context::kThreads) {
        ctx.publish(&words[i], shared.row.list[i]);
        ctx.publish(&words[kStreamedTokens + i], shared.row.sums[i]);
      }
      // If not all fit, the last block at the row leaves it, since it is being weighed.
      if (ctx.thread() == 0) {
        ctx.publish(&slot()->num_listed, is_listed ? uint32_t(this->count()) : ~uint32_t(0));
      }
      if (this->template is_last_at<false>(&slot()->num_weighed, uint32_t(stream.num_chunks) + 1,
                                           [] {})) {
        return rest_of_weighed();
      }
    }
    return StreamRest::kNothing;
  }

  // Leaves the list to the kernel that runs the row's stages.
  SAMPLER_DEVICE void hand_on(bool is_first) const {
    const int most = stream.lists.tokens_of(state().parameters);
    const int wanted = is_first ? 1 : most;
    const int num = this->count() < wanted ? this->count() : wanted;
    uint64_t *const ranks = stream.lists.ranks(this->output());
    SAMPLER_KEEP_ROLLED
    for (int i = ctx.thread(); i < num; i += Context::kThreads) ranks[i] = shared.row.list[i];
    if (ctx.thread() != 0) return;
    set_drawn(0, num, 0);
    const bool is_longer =
        stream.lists.by == SAMPLER_STAGE_MIN_P && !is_first && this->count() > most;
    if (is_longer || num == 0) set_left();
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
      if (!kWeighs || is_filtered) add_up(is_filtered ? this->scale() : filter_scale());
      if (is_filtered) break;
      typename List::Prefixes prefixes(*this, filter_scale(), state().max, request.input.num_cols,
                                       total, state().is_by_min_p);
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
    this->draw_by_id(kept, target, request.input.num_cols,
                     [&](uint32_t id) { set_drawn(id, kept, kept_weight); });
  }

  // Loads the published list and total. False: there is no list.
  SAMPLER_DEVICE bool load_list(uint64_t *total) const {
    const uint32_t count = ctx.load_fresh(&slot()->num_listed);
    if (count > uint32_t(kStreamedTokens)) return false;
    if (ctx.thread() == 0) shared.num_listed = count;
    const uint64_t *const words = stream.words(item().slot);
    // Ranks and sums lie alike in both memories.
    const auto place_of = [&](int i) {
      return i < int(count) ? i : kStreamedTokens + i - int(count);
    };
    load_words(words, 2 * int(count), place_of,
               [&](int place, uint64_t word) { shared.band[place] = word; });
    *total = total_weight();
    ctx.sync();
    return true;
  }

  // ---- The second pass --------------------------------------------------------------------------

  SAMPLER_DEVICE StreamRest weigh() {
    uint64_t sum = 0, above = 0, other = 0, surprise = 0;
    if (has_band()) sum = weigh_beside_band(&above);
    if (has_band() ? has_two() : this->is_cut_by_tile()) {
      if (has_band()) ctx.fence();  // after the tiles' other weights
      const uint64_t weight = weigh_chunk<true>(true, this->scale());
      (has_band() ? other : sum) = weight;
    }
    SAMPLER_KEEP_ROLLED
    for (int i = has_band() || this->is_cut_by_tile() ? 1 : 0;
         i < (this->has_second_total() ? 2 : 1); ++i) {
      const bool is_at_one = i == 1 || state().need == StreamNeed::kRaw;
      const bool is_of_filters = state().need == StreamNeed::kTotal;
      const contract::RowScale scale = is_at_one       ? raw_scale()
                                       : is_of_filters ? filter_scale()
                                                       : this->scale();
      const uint64_t weight = weigh_chunk<false>(i == 0 && is_by_tile(), scale);
      (i == 0 ? sum : other) = weight;
    }
    if constexpr (Base::kReports) {
      if (this->has_entropy()) surprise = this->surprise_of_chunk();
    }
    if (ctx.lane() == 0) {
      shared.partial[0][ctx.warp()] = above;
      shared.partial[1][ctx.warp()] = sum;
      shared.partial[2][ctx.warp()] = other;
      shared.partial[3][ctx.warp()] = surprise;
    }
    // The list arrives, too.
    const uint32_t of_list = is_by_tile() && !this->lists_top() ? 0 : 1;
    const uint32_t arrivals = uint32_t(stream.num_chunks) + of_list;
    const bool is_last = this->template is_last_at<false>(&slot()->num_weighed, arrivals, [&] {
      publish_weight(shared.partial[1], kMostChunks);
      if (has_band()) publish_weight(shared.partial[0], 0);
      if (this->has_second_total() || has_two()) {
        publish_weight(shared.partial[2], 2 * kMostChunks);
      }
      if (this->has_entropy()) publish_weight(shared.partial[3], 3 * kMostChunks);
    });
    return is_last ? rest_of_weighed() : StreamRest::kNothing;
  }

  SAMPLER_DEVICE bool is_by_tile() const { return state().need == StreamNeed::kWeights; }

  // Called when the whole row has been weighed, and listed.
  SAMPLER_DEVICE StreamRest rest_of_weighed() const {
    if (is_by_tile()) return StreamRest::kWeights;
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
  SAMPLER_DEVICE uint64_t weigh_chunk(bool by_tile, const contract::RowScale &scale) const {
    uint64_t *const tiles = stream.tiles(item().slot);
    uint64_t sum = 0;
    float below = kIsCut ? contract::previous_value(state().bound) : 0.0f;
    if (kIsCut && this->has_two()) {  // of what filters keep some may weigh nothing
      constexpr float kOctaves = 48.0f;
      below = Context::larger(below, contract::previous_value(scale.max - kOctaves / scale.scale));
    }
    this->template for_each_tile<Row::kVectors>(
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
      for_each_in_band(this->scale(), shared.cut, kNoPlace, [&](uint64_t place, uint64_t weight) {
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
    return is_kept ? contract::weight(this->scale(), x) : 0;
  }
};

template <sampler_dtype kDtype, StreamKind kKind, class Context>
SAMPLER_DEVICE void run_stream(const Context &ctx, const contract::SampleRequest &request,
                               const Stream &stream) {
  StreamBlock<Context, kDtype, kKind>(ctx, request, stream).run();
}

}  // namespace sampler::kernels
