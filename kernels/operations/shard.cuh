// Rows sharded over ranks: a team per row and round, driven by shards::ShardRounds. CPU twin:
// src/cpu/shard_columns.h.
//
// State between rounds lies in the workspace. A round reads this rank's columns, as given or as
// edited, and the messages that the caller's collective has received there. Only the stream is
// waited for, so a graph may contain rounds and collectives.
#pragma once

#include <cstdint>

#include "contract/draw.h"
#include "contract/elements.h"
#include "contract/entropy.h"
#include "contract/row_view.h"
#include "machine/kernel.cuh"
#include "machine/team.cuh"
#include "operations/shard.h"
#include "row/distribution.cuh"
#include "row/draw.cuh"
#include "row/elements.cuh"
#include "row/entropy.cuh"
#include "row/output.cuh"
#include "row/ranks.cuh"
#include "row/row.cuh"
#include "row/selection.cuh"
#include "shards/call.h"
#include "shards/rounds.h"
#include "stages/edited_row.cuh"
#include "stages/edits.cuh"

namespace sampler::kernels {

// Columns whose first has id `first`.
struct ColumnsRow : StoredRow {
  uint32_t first;

  SAMPLER_HD uint32_t first_id() const { return first; }
};

// Tokens in rank order, as candidates.
struct ListedRow {
  static constexpr bool kIsCopied = false;

  const Rank *ids;  // their ranks
  int count;
  sampler_input_kind kind;
  int lead = 0;

  SAMPLER_DEVICE int64_t id(int index) const { return contract::id_of_rank(ids[index]); }
  SAMPLER_DEVICE float value(int index) const { return contract::value_of_rank(ids[index]); }
  SAMPLER_HD int log2_of_vector() const { return 2; }
  SAMPLER_HD int unused_value_bits() const { return 0; }

  template <class Context>
  SAMPLER_DEVICE void fill(Context &ctx, int begin, float (&x)[kGroup]) const {
    for (int i = 0; i < kGroup; ++i) {
      const int index = begin + place_in_tile(ctx.lane(), i, log2_of_vector());
      x[i] = index < count ? value(index) : 0.0f;
    }
  }
};

// This rank's columns of a row, as shards::ShardRounds queries them.
template <class Context>
class TeamColumns {
 public:
  // `stages`: those of the call, or an empty pipeline.
  SAMPLER_DEVICE TeamColumns(Team<Context> &team, const shards::ShardCall &call,
                             const contract::Pipeline &stages, const ShardWorkspace &workspace,
                             const RowCache &row_cache)
      : team_(team),
        call_(call),
        row_cache_(row_cache),
        elements_(nullptr),
        edited_(team, elements_,
                workspace.part_of_team<uint32_t>(team.ctx.team(), workspace.marks)),
        edits_(edited_, stages) {}

  SAMPLER_DEVICE TeamWorkers<Context> workers() const { return workers_of(team_); }
  SAMPLER_DEVICE_CALL uint64_t sum(uint64_t own) { return team_.sum(own); }
  SAMPLER_DEVICE_CALL uint64_t max(uint64_t own) { return team_.max(own); }

  // ---- The loaded row

  SAMPLER_DEVICE_CALL uint32_t load(const contract::RowView &view, contract::Use use,
                                    int64_t num_first, Rank *first) {
    Row row(team_.ctx, stored_row(view), row_cache_);
    has_maxima_ = num_first > 1 && num_first < view.count && num_first <= kEnoughOfRun;
    summary_ = load_row(team_, row, has_maxima_ ? int(num_first) : 0, use);
    loaded_ = view.values;
    if (summary_.status == SAMPLER_ROW_OK) *first = to_global(summary_.first);
    return summary_.status;
  }

  SAMPLER_DEVICE_CALL uint32_t edit(int64_t slot, int64_t output, const contract::RowView &given,
                                    float *to) {
    with_row(given, [&](const Row &row) {
      write_row(team_, OutputRows{to, given.count, given.count, SAMPLER_F32}, 0, row, 0.0f,
                [](const Row &, int, int, float(&)[kRun]) {});
    });
    loaded_ = nullptr;
    contract::RowView view = given;
    view.values = to;
    view.dtype = SAMPLER_F32;
    elements_.index(team_, stored_row(view), call_.first_id);
    edited_.begin(stored_row(view), to, call_.first_id);
    team_.ctx.team_sync();
    return edits_.edit(slot, output);
  }

  SAMPLER_DEVICE void fill(float *values, float x) const {
    for_each(call_.num_cols, [&](int64_t i) { values[i] = x; });
  }

  template <class Put>
  SAMPLER_DEVICE void list(const contract::RowView &view, int64_t count, const Put &put) {
    with_row(view, [&](const Row &row) {
      list_in_rank_order(team_, row, summary_, contract::lowest_cut(view.kind),
                         has_maxima_ ? summary_.group_max : 0, int(count),
                         [&](int place, Rank rank) { put(place, to_global(rank)); });
    });
  }

  SAMPLER_DEVICE_CALL Rank subtract(const contract::RowView &p, const contract::RowView &q,
                                    int64_t removed, float *to) {
    const bool has_draft = q.values != nullptr;
    const int64_t first_id = call_.first_id;
    Rank first = 0;
    for_each(p.count, [&](int64_t i) {
      const float x = p.value(i);
      float rest = i == removed - first_id ? 0.0f : x;
      if (has_draft) rest = contract::residual_probability(x, q.value(i));
      if (to) to[i] = rest;
      const Rank rank = contract::rank_of(rest, uint32_t(first_id + i));
      if (rank > first) first = rank;
    });
    return team_.max(first);
  }

  // ---- Passes over a row

  SAMPLER_DEVICE_CALL int64_t count(const contract::RowView &view, Rank cut) {
    int64_t result = 0;
    with_row(view, [&](const Row &row) {
      const WarpSums own = weigh(team_.ctx, row, {}, to_own(cut), nullptr, {true, false});
      result = int64_t(team_.sum(own.count));
    });
    return result;
  }
  SAMPLER_DEVICE int64_t count_ties(const contract::RowView &view, uint32_t key) {
    return count(view, contract::rank_of_key(key)) - count(view, contract::rank_of_key(key + 1));
  }

  SAMPLER_DEVICE_CALL uint64_t weight(const contract::RowView &view, const RowScale &scale,
                                      Rank cut) {
    uint64_t result = 0;
    with_row(view, [&](const Row &row) { result = weight_of_row(team_, row, scale, to_own(cut)); });
    return result;
  }
  SAMPLER_DEVICE_CALL contract::EntropySums entropy_sums(const contract::RowView &view,
                                                         const RowScale &scale, Rank cut) {
    contract::EntropySums result;
    with_row(view,
             [&](const Row &row) { result = entropy_sums_of_row(team_, row, scale, to_own(cut)); });
    return result;
  }

  SAMPLER_DEVICE_CALL Rank cut_after_ties(const contract::RowView &view, uint32_t key,
                                          uint64_t ties) {
    if (ties == 0) return contract::rank_of_key(key + 1);
    const Rank lowest = contract::rank_of_key(key);
    uint32_t id = kNoId;
    with_row(view, [&](const Row &row) { id = find_tie(row, key, ties); });
    return id == kNoId ? lowest : lowest | uint32_t(~(id + uint32_t(call_.first_id)));
  }

  // Tokens that are not counted have bins of their own, one per lane.
  SAMPLER_DEVICE_CALL void add_digit(const contract::RowView &view, const RowScale &row_scale,
                                     uint32_t lowest, const shards::DigitSearch &search, int digit,
                                     uint64_t *sums) {
    Context &ctx = team_.ctx;
    TeamShared &shared = team_.shared;
    constexpr int kNumValues = shards::kNumDigitValues;
    const uint32_t below = search.lowest(digit), high = search.highest(digit);
    const uint32_t low = lowest > below ? lowest : below;
    clear_bins(ctx, shared);
    with_row(view, [&](const Row &row) {
      const RowScale scale = row_scale;
      const int first_tile = row.tiles().begin;
      HeldBin held;
      const auto add = [&](const Row &, int tile, int first, float(&x)[kRun]) {
        CrowdedRun run;
        for (int i = 0; i < kRun; ++i) {
          const uint32_t key = contract::value_key(x[i]);
          const bool counts = key >= low && key <= high;
          run.bin[i] = counts ? shards::DigitSearch::value(key, digit) : kNumValues + ctx.lane();
        }
        make_relative(scale, x, [](const RowScale &s, float value) {
          return contract::relative_for_weight(s, value);
        });
        for (int i = 0; i < kRun; ++i) run.relative[i] = x[i];
        const bool looks = first == 0 && (tile - first_tile) % (int(kRoundsToALook) / kGroup) == 0;
        held = add_crowded(ctx, shared, run, looks, held);
      };
      row.for_each_run(contract::value_of_key(low), add);
      add_held<Weight>(ctx, shared, held);
    });
    ctx.team_sync();
    for_each(kNumValues, [&](int64_t v) {
      uint64_t sum = 0;
      for (int block = 0; block < ctx.team_size(); ++block) {
        const Bin &bin = *ctx.peer(&shared.bins[v], block);
        sum += bin.measure.value() - bin.count * contract::kWeightBias;
      }
      sums[v] = sum;
    });
  }

  SAMPLER_DEVICE_CALL int64_t find(const contract::RowView &view, const RowScale &scale, Rank cut,
                                   uint64_t target) {
    uint32_t found = kNoId;
    with_row(view, [&](const Row &row) {
      const Rank own_cut = to_own(cut);
      uint64_t *const tile_sums = team_.shared.cut.tile_sums;
      const WarpSums own = weigh(team_.ctx, row, scale, own_cut, tile_sums, {false, true});
      found =
          find_in_row(team_, row, own.weight, target, tile_sums, 0.0f, [&](float x, uint32_t id) {
            const bool kept = contract::rank_of(x, id) >= own_cut;
            return kept ? contract::weight(scale, x) : uint64_t(0);
          });
    });
    return found == kNoId ? -1 : int64_t(found);
  }

  SAMPLER_DEVICE_CALL int64_t best_score(const contract::RowView &view, const RowScale &scale,
                                         Rank cut, const contract::GumbelStream &random,
                                         float *score) {
    ColumnsRow source;
    static_cast<StoredRow &>(source) = stored_row(view);
    source.first = uint32_t(call_.first_id);
    TeamRow<Context, ColumnsRow> row(team_.ctx, source, row_cache_);
    row.pass_over();
    loaded_ = nullptr;
    Distribution kept = {};
    kept.scale = scale;
    kept.cut = to_own(cut);
    const uint64_t best = team_.max(best_of_row(team_, row, kept, random).rank());
    if (best == 0) return -1;
    *score = contract::value_of_rank(best);
    return int64_t(contract::id_of_rank(best));
  }

  // ---- Lists

  template <class Measure>
  SAMPLER_DEVICE int64_t find_in_list(const Rank *ranks, int64_t count, uint64_t target,
                                      const Measure &measure) {
    return kernels::find_in_list(team_.ctx, team_.shared, ranks, int(count), target, measure);
  }

  SAMPLER_DEVICE_CALL Rank draw_from_list(const Rank *ranks, int64_t count,
                                          const RowScale &row_scale, uint64_t target) {
    const RowScale scale = row_scale;
    const ListedRow source = {ranks, int(count), scale.kind};
    TeamRow<Context, ListedRow> row(team_.ctx, source, row_cache_);
    row.pass_over();
    loaded_ = nullptr;
    const uint64_t lowest = IdOrder::key(0.0f, contract::kMaxVocabulary - 1);
    const Search search = {lowest, ~uint64_t(0), target + 1, kIdsOfBin};
    const uint64_t key = select_key<IdOrder>(team_, row, search, [scale](uint64_t of_token) {
                           return contract::weight(scale, IdOrder::value(of_token));
                         }).key;
    return contract::rank_of(IdOrder::value(key), IdOrder::id(key));
  }

  // ---- Rows of output

  SAMPLER_DEVICE_CALL void write_values(int64_t output, const contract::RowView &view,
                                        const contract::Distribution &kept) {
    with_row(view, [&](const Row &row) {
      const Rank own = to_own(kept.cut);
      const Cut cut = {contract::value_of_rank(own), contract::id_of_rank(own),
                       contract::negative_infinity()};
      write_row(team_, this->output(), output, row, contract::negative_infinity(),
                [&](const Row &row_, int tile, int first, float(&x)[kRun]) {
                  cut.apply(row_, tile, first, x);
                });
    });
  }
  SAMPLER_DEVICE_CALL void write_probabilities(int64_t output, const contract::RowView &view,
                                               const contract::Distribution &kept) {
    with_row(view, [&](const Row &row) {
      Distribution own = {};
      static_cast<contract::Distribution &>(own) = kept;
      own.cut = to_own(kept.cut);
      kernels::write_probabilities(team_, this->output(), output, row, own);
    });
  }
  SAMPLER_DEVICE void write_bad(int64_t output, const contract::RowView &view) const {
    const OutputRows to = this->output();
    for_each(view.count, [&](int64_t i) { to.store(output * to.stride + i, view.value(i)); });
  }
  SAMPLER_DEVICE void write_nothing(int64_t output) const {
    const OutputRows to = this->output();
    for_each(to.num_cols, [&](int64_t i) { to.store(output * to.stride + i, 0.0f); });
  }

 private:
  using Row = TeamRow<Context, StoredRow>;

  template <class F>
  SAMPLER_DEVICE void for_each(int64_t count, const F &f) const {
    const TeamWorkers<Context> all = workers();
    for (int64_t i = all.index; i < count; i += all.count) f(i);
  }

  // The column of the `n`-th token, from 1, with a key; kNoId if there are fewer.
  SAMPLER_DEVICE uint32_t find_tie(const Row &row, uint32_t key, uint64_t n) {
    const Rank low = contract::rank_of_key(key), high = low | ~uint32_t(0);
    // A warp stops counting at n.
    uint32_t count = 0;
    row.template for_each_between<RankOrder>(low, high, kNoLastIndex, [&](bool is_in, uint64_t) {
      count += uint32_t(Context::count_bits(team_.ctx.ballot(is_in)));
      return count < n;
    });
    return find_in_row(
        team_, row, count, n - 1, nullptr, contract::value_of_key(key),
        [key](float x, uint32_t) { return uint64_t(contract::value_key(x) == key); });
  }

  // Calls f(row); reloads the row unless it was loaded just now.
  template <class F>
  SAMPLER_DEVICE void with_row(const contract::RowView &view, const F &f) {
    Row row(team_.ctx, stored_row(view), row_cache_);
    if (loaded_ == view.values && view.count > 0) {
      row.resume();
    } else {
      row.pass_over();
      loaded_ = nullptr;
    }
    f(row);
  }

  // Converts ranks and cuts between ids of the whole row and column indices.
  SAMPLER_DEVICE Rank to_global(Rank rank) const { return rank - Rank(call_.first_id); }
  SAMPLER_DEVICE Rank to_own(Rank cut) const {
    const int64_t id = contract::id_of_rank(cut);
    if (id < call_.first_id) return contract::rank_of_key(contract::key_of_rank(cut) + 1);
    if (id >= call_.first_id + call_.num_cols) return contract::cut_with_ties(cut);
    return cut + Rank(call_.first_id);
  }

  SAMPLER_DEVICE OutputRows output() const {
    return call_.filter ? output_rows(*call_.filter, call_.num_cols)
                        : output_rows(*call_.residual, call_.num_cols);
  }

  Team<Context> &team_;
  const shards::ShardCall &call_;
  RowCache row_cache_;
  const void *loaded_ = nullptr;  // values of the row in the team's shared memory
  bool has_maxima_ = false;
  RowSummary summary_ = {};
  TeamElements<Context> elements_;
  EditedRow<Context> edited_;
  TeamEdits<Context, EditedRow<Context>> edits_;
};

template <class Context>
class ShardTeam {
 public:
  SAMPLER_DEVICE ShardTeam(Team<Context> &team, const ShardRequest &request,
                           const RowCache &row_cache)
      : team_(team),
        request_(request),
        call_(request.call()),
        memory_(request.workspace.of_team(team.ctx.team())),
        round_(request.round),
        columns_(team, call_, request.stages, request.workspace, row_cache),
        rounds_(call_, request.plan, memory_, round_, columns_) {}

  SAMPLER_DEVICE void run(int64_t begin, int64_t end) {
    round_.is_agreed = round_.number == 0 || are_agreed();
    if (team_.ctx.team() == 0 && team_.is_first_thread() && round_.send) {
      *reinterpret_cast<shards::ShardHeader *>(round_.send) =
          shards::shard_header(call_, request_.digests, round_.number);
    }
    for (int64_t output = begin; output < end; ++output) rounds_.run_row(output);
  }

 private:
  // Whether the headers of all ranks' messages agree; on a CPU the host checks that.
  SAMPLER_DEVICE_CALL bool are_agreed() const {
    const int exchange = round_.number - 1;
    const size_t message_bytes = request_.plan.message_bytes(exchange);
    const auto header = [&](int64_t rank) -> const shards::ShardHeader & {
      return *reinterpret_cast<const shards::ShardHeader *>(round_.received +
                                                            size_t(rank) * message_bytes);
    };
    bool agrees = true;
    for (int64_t rank = team_.ctx.thread(); rank < call_.num_ranks; rank += Context::kThreads) {
      const shards::ShardVerdict verdict = shards::judge_header(
          header(rank), header(0), rank > 0 ? &header(rank - 1) : nullptr, exchange, rank);
      agrees = agrees && verdict.has_message && verdict.are_alike && verdict.follows;
    }
    const shards::ShardHeader &last = header(call_.num_ranks - 1);
    agrees = agrees && int64_t(last.first_id) + last.num_cols == call_.total_cols();
    const shards::ShardDigests &own = header(call_.rank).digests;
    for (int group = 0; group < shards::ShardDigests::kNumGroups; ++group) {
      agrees = agrees && own.groups[group] == request_.digests.groups[group];
    }
    return team_.ctx.block_count(!agrees) == 0;
  }

  Team<Context> &team_;
  const ShardRequest &request_;
  shards::ShardCall call_;
  shards::ShardMemory memory_;
  shards::ShardRound round_;
  TeamColumns<Context> columns_;
  shards::ShardRounds<TeamColumns<Context>> rounds_;
};

template <class Context>
struct OperationOf<ShardRequest, Context> {
  using Type = ShardTeam<Context>;
};

}  // namespace sampler::kernels
