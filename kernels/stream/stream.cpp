#include "stream/stream.h"

#include <algorithm>

#include "contract/log2.h"
#include "contract/parameter_table.h"

namespace sampler::kernels {

namespace {

// Elements of rows read before the first of them is weighed, if rows have bands. To place one takes
// one block some 40 us, in which an H200 weighs a hundred rows of 128,256.
constexpr int64_t kElementsAhead = int64_t(40) << 20;
constexpr int64_t kMostRowsAhead = 384;
constexpr int64_t kMostSlots = 512;                    // if a row is read once
constexpr int64_t kMostListBytes = int64_t(32) << 20;  // group maxima, if a row is read once
constexpr int kTilesOfSmallChunk = 8;                  // one for each warp
// More only where a row would have too many chunks.
constexpr int kUsualTilesOfChunk = 64;
// The same of rows that are read twice without a band: soon enough to find the row in L2.
constexpr int kUsualTilesReadTwice = 32;

int64_t divided_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// Draws from long rows by ascending id.
bool may_be_streamed(const contract::SampleRequest &request) {
  const contract::Rows &input = request.input;
  return !input.ids && !input.counts && input.num_cols >= kLeastStreamedTiles * kTile &&
         request.draw_method == SAMPLER_DRAW_INVERSE_CDF;
}

// Tokens that a list may be asked for: the values of as many bins must leave the bound high.
int64_t most_listed(int64_t num_cols) {
  const int num_groups = int(divided_up(num_cols + kMaxLead, kTile)) * 32;
  const int num_bins = num_groups / groups_of_bin(num_groups);
  return std::min(kMostStreamedK, num_bins * 3 / 4);
}

// What lists of tokens may take of the workspace.
constexpr int64_t kMostBytesOfLists = int64_t(16) << 20;

// What all rows need, whose parameters are the same.
StreamNeed need_of_all(const contract::SampleRequest &request) {
  const contract::Parameters &all = request.parameters;
  const bool is_long = !keeps_all(all.top_k.value, request.input.num_cols) &&
                       all.top_k.value > most_listed(request.input.num_cols);
  if (is_long && !contract::is_greedy(all.temperature.value)) return StreamNeed::kOther;
  return stream_need(all.of(0), all.rules, request.input.num_cols, StreamWanted::of(request));
}
// Whether a row needs the general kernel does not depend on its reports.
bool is_all_for_general_kernel(const contract::SampleRequest &request) {
  return !request.parameters.differ_by_slot() && need_of_all(request) == StreamNeed::kOther;
}

// Whether slots have numbers of stages, which may be invalid: only lists and edits check these.
bool has_numbers_by_slot(const contract::Pipeline &stages) {
  bool has_array = false;
  contract::for_each_stage_parameter(&stages, [&](int, sampler_stage, const auto *number) {
    has_array |= number->array != nullptr;
  });
  return has_array || stages.adaptive_values || stages.state_slots;
}

// Whether stages change what filters keep, or the draw.
bool has_other_stages(const contract::Pipeline &stages) {
  return stages.has_windows || stages.adaptive.may_have_window() || stages.adaptive.may_decay();
}

// Whether the reports wanted, if any, are of the row that is read; more than the token's
// log-probability only without edits.
bool are_reports_of_rows(const StagedSampleRequest &request) {
  const contract::Reports &wanted = request.wanted;
  if (request.reports_kept() || wanted.out_removed_by || request.out_observations) return false;
  const bool has_more =
      wanted.wants_top() || wanted.wants_chosen() || wanted.out_ranks || wanted.out_entropies;
  if (request.logprob_kind == SAMPLER_LOGPROB_PROCESSED) return !has_more;
  const bool is_raw = request.logprob_kind == SAMPLER_LOGPROB_RAW;
  if (request.stages.has_edits()) return !has_more && !(is_raw && request.out_logprobs);
  const int64_t num_top = wanted.wants_top() ? wanted.num_top : 0;
  return num_top <= most_listed(request.input.num_cols);
}

// Whether rows of the request are read as streams are, as they are given or with few edits.
bool may_have_staged_stream(const StagedSampleRequest &request) {
  return may_be_streamed(request) && request.input.kind == SAMPLER_LOGITS &&
         !request.random.are_watermarks && are_edits_few(request.stages);
}
// Whether a stream draws from them, and reports all that is wanted.
bool draws_from_stream(const StagedSampleRequest &request) {
  return !has_other_stages(request.stages) && are_reports_of_rows(request);
}

// Whether all slots have mirostat v1.
bool is_mirostat_v1(const contract::AdaptiveParameters &adaptive) {
  return !adaptive.kind.array && adaptive.kind.value == SAMPLER_ADAPTIVE_MIROSTAT_V1;
}

// The first stage that may drop tokens. *is_at_one: whether it is before the temperature.
sampler_stage first_to_drop(const StagedSampleRequest &request, const contract::StageOrder &order,
                            bool *is_at_one) {
  const contract::Pipeline &stages = request.stages;
  const contract::Parameters &all = request.parameters;
  for (const sampler_stage stage : order) {
    switch (stage) {
      case SAMPLER_STAGE_TEMPERATURE:
        if (stages.dynamic_range.array || stages.dynamic_range.value > 0.0f) return stage;
        *is_at_one = false;
        continue;
      case SAMPLER_STAGE_TOP_K:
        if (!all.top_k.array && !contract::top_k_is_on(all.top_k.value)) continue;
        return stage;
      case SAMPLER_STAGE_TOP_P:
        if (!all.top_p.array && !contract::top_p_is_on(all.top_p.value) &&
            !stages.adaptive.may_decay()) {
          continue;
        }
        return stage;
      case SAMPLER_STAGE_MIN_P:
        if (!all.min_p.array && !contract::min_p_is_on(all.min_p.value)) continue;
        return stage;
      default:
        return stage;
    }
  }
  return SAMPLER_STAGE_ADAPTIVE;
}

}  // namespace

bool are_edits_few(const contract::Pipeline &stages) {
  return !stages.may_list_allowed() && !stages.dense_bias &&
         !(stages.guidance.logits && stages.guidance.may_guide()) && !stages.forced_token_ids &&
         !stages.scored_token_ids;
}

bool may_have_two_scales(const contract::Parameters &all) {
  const float other = 0.5f;  // than what is off
  const contract::RowParameters row = {all.temperature.array ? other : all.temperature.value, 0,
                                       all.top_p.array ? other : all.top_p.value,
                                       all.min_p.array ? other : all.min_p.value};
  return has_two_scales(row, all.rules);
}

StreamKind stream_kind(const contract::SampleRequest &request) {
  if (!may_be_streamed(request) || request.pipeline || request.reports ||
      request.out_observations) {
    return StreamKind::kNone;
  }
  const contract::Parameters &all = request.parameters;
  if (request.input.kind == SAMPLER_PROBABILITIES) {
    const bool is_given = request.input.dtype == SAMPLER_F32 && !is_all_for_general_kernel(request);
    return is_given ? StreamKind::kGiven : StreamKind::kNone;
  }
  if (!all.temperature.array && contract::is_greedy(all.temperature.value)) {
    return StreamWanted::of(request).total_at_one ? StreamKind::kAny : StreamKind::kGreedy;
  }
  if (all.differ_by_slot()) return StreamKind::kAny;
  switch (need_of_all(request)) {
    case StreamNeed::kList:
      return StreamKind::kList;
    case StreamNeed::kOther:
      return StreamKind::kNone;
    default:
      return StreamKind::kAny;
  }
}

StreamKind stream_kind(const StagedSampleRequest &request) {
  if (plan_lists(request).is_on()) {
    return request.stages.has_edits() ? StreamKind::kEdited : StreamKind::kList;
  }
  const bool is_streamed = may_have_staged_stream(request) && draws_from_stream(request) &&
                           !is_all_for_general_kernel(request);
  if (!is_streamed) return StreamKind::kNone;
  if (request.stages.has_edits()) return StreamKind::kEdited;
  return has_numbers_by_slot(request.stages) ? StreamKind::kNone : StreamKind::kAny;
}

StreamedLists plan_lists(const StagedSampleRequest &request) {
  constexpr int64_t kMostChosen = 1024;  // each is looked for in the list
  const contract::Reports &wanted = request.wanted;
  const bool is_of_kept = request.logprob_kind == SAMPLER_LOGPROB_PROCESSED ||
                          (!request.out_logprobs && !request.reports_distribution());
  if (draws_from_stream(request) || !is_of_kept || wanted.out_removed_by ||
      wanted.num_chosen > kMostChosen) {
    return {};
  }
  return plan_lists_alone(request);
}

StreamedLists plan_lists_alone(const StagedSampleRequest &request) {
  const contract::Pipeline &stages = request.stages;
  const contract::Parameters &all = request.parameters;
  if (!may_have_staged_stream(request) || request.lacks_lists || stages.min_keep.array ||
      all.rules.order == SAMPLER_FILTERS_JOINT) {
    return {};
  }
  StreamedLists lists;
  lists.order = stages.has_windows ? stages.windows : contract::order_of(all.rules);
  lists.min_p_is_at_one = true;
  const sampler_stage first = first_to_drop(request, lists.order, &lists.min_p_is_at_one);
  const int64_t num_cols = request.input.num_cols, least = stages.min_keep.value;
  if (first == SAMPLER_STAGE_TOP_K && all.rules.top_k_ties == SAMPLER_TIES_EXACT &&
      least <= most_listed(num_cols)) {
    lists.by_slot = all.top_k.array;
    lists.least = int(std::max<int64_t>(least, 0));
    lists.num_tokens = int(most_listed(num_cols));
  } else if (first == SAMPLER_STAGE_MIN_P && least <= 1) {
    lists.by_slot = all.min_p.array || (!lists.min_p_is_at_one && all.temperature.array);
    lists.num_tokens = kMostStreamedK;
  } else if (first == SAMPLER_STAGE_TOP_H && !stages.top_h.array &&
             contract::fraction_is_on(stages.top_h.value)) {
    const int64_t num = std::max<int64_t>(contract::kTopHTokens, least);
    lists.num_tokens = num <= most_listed(num_cols) ? int(num) : 0;
  } else if (first == SAMPLER_STAGE_ADAPTIVE && is_mirostat_v1(stages.adaptive) &&
             least <= most_listed(num_cols)) {
    lists.num_tokens = int(most_listed(num_cols));
  }
  lists.by = first;
  // Only those that are the same for all slots: the others are not read here.
  const contract::RowParameters row = {all.temperature.value, all.top_k.value, all.top_p.value,
                                       all.min_p.value};
  if (!lists.is_on() || (!lists.by_slot && !lists.have(row, num_cols))) return {};
  if (!lists.by_slot) lists.num_tokens = lists.tokens_of(row);
  // A session asks for the memory of the most positions: fewer must not need more.
  const bool is_limited = !request.num_before;
  if (is_limited && request.num_rows * int64_t(lists.row_bytes()) > kMostBytesOfLists) return {};
  return lists;
}

bool may_report_apart(const StagedSampleRequest &request) {
  const contract::Reports &wanted = request.wanted;
  return may_have_staged_stream(request) && !request.lacks_lists &&
         request.logprob_kind == SAMPLER_LOGPROB_RAW &&
         (request.out_logprobs || request.reports_distribution()) && request.out_token_ids.data &&
         !wanted.are_lists_packed() && !wanted.out_removed_by &&
         are_reports_of_rows(reports_of(request));
}

StagedSampleRequest draws_of(const StagedSampleRequest &request) {
  StagedSampleRequest draws = request;
  draws.logprob_kind = SAMPLER_LOGPROB_PROCESSED;
  draws.out_logprobs = nullptr;
  draws.wanted.num_top = draws.wanted.num_chosen = 0;
  draws.wanted.out_ranks = nullptr;
  draws.wanted.out_entropies = nullptr;
  return draws;
}

StagedSampleRequest reports_of(const StagedSampleRequest &request) {
  StagedSampleRequest reports = request;
  reports.stages = {};
  reports.parameters = {};
  reports.parameters.temperature.value = 0.0f;  // nothing else is drawn
  reports.wanted.out_kept_bitmask = nullptr;
  reports.wanted.kept_capacity = 0;
  reports.out_observations = nullptr;
  return reports;
}

bool need_lists_alone(const contract::SampleRequest &request) {
  if (request.parameters.differ_by_slot()) return false;
  const StreamNeed need = need_of_all(request);
  return need == StreamNeed::kFirst || need == StreamNeed::kList;
}

bool need_lists_alone(const StagedSampleRequest &request) {
  const contract::SampleRequest &rows = request;
  return plan_lists(request).is_on() || (!request.reports_distribution() && need_lists_alone(rows));
}

StreamedEdits plan_edits(const StagedSampleRequest &request, int most_bytes) {
  // Lists of many slots lie in one array, which does not tell how long each of them is.
  constexpr int64_t kMostOfLists = 2048;
  constexpr int64_t kGranularity = 256;
  const contract::Pipeline &stages = request.stages;
  int64_t wanted = stages.has_text() ? stages.max_history + stages.max_assumed : 0;
  for (const contract::TokenLists *lists : {&stages.biased, &stages.banned, &stages.stop}) {
    if (!*lists) continue;
    wanted += lists->num_lists == 1 ? lists->num_ids : std::min(lists->num_ids, kMostOfLists);
  }
  if (stages.bad_words) wanted += std::min(stages.bad_words.num_lists, kMostOfLists);
  wanted = divided_up(std::min(wanted, request.input.num_cols), kGranularity) * kGranularity;
  StreamedEdits edits;
  edits.num_words = int(divided_up(request.input.num_cols + kMaxLead, kTile)) * kWordsOfTile;
  const int64_t room = most_bytes - int64_t(EditsLists::bytes(edits));
  const int64_t most = room < 0 ? -1 : room / StreamedEdits::kBytesOfToken;
  edits.capacity = int(std::min({wanted, most, int64_t(kMostEdited)}));
  if (wanted > 0 && edits.capacity == 0) edits.capacity = -1;  // 0: nothing is wanted
  edits.bitmasks = stages.bitmasks;
  edits.bitmask_stride = stages.bitmask_stride;
  edits.bitmask_rule = stages.bitmask_rule;
  return edits;
}

bool may_have_bands(const contract::SampleRequest &request) {
  const contract::Parameters &all = request.parameters;
  const contract::RowParameters row = {0.0f, all.top_k.array ? 0 : all.top_k.value,
                                       all.top_p.array ? 0.5f : all.top_p.value,
                                       all.min_p.array ? 0.0f : all.min_p.value};
  return may_have_band(row, request.input.num_cols, request.out_kept_counts != nullptr);
}

size_t largest_stream_bytes(int64_t max_rows, int64_t max_cols, int blocks_at_once) {
  StreamedLists longest;
  longest.num_tokens = kMostStreamedK;
  const size_t bytes_of_lists =
      size_t(std::min(max_rows * int64_t(longest.row_bytes()), kMostBytesOfLists));
  size_t most = 0;
  for (int64_t tiles = kLeastStreamedTiles; tiles <= kMaxTiles; ++tiles) {
    const int64_t cols =  // at least
        std::max<int64_t>((tiles - 1) * kTile - kMaxLead + 1, kLeastStreamedTiles * kTile);
    if (cols > max_cols) break;
    for (const StreamKind kind : {StreamKind::kGreedy, StreamKind::kList, StreamKind::kAny}) {
      const Stream stream = plan_stream(kind, true, max_rows, cols, blocks_at_once);
      const size_t of_lists = stream.kind == StreamKind::kList ? bytes_of_lists : 0;
      most = std::max(most, stream.bytes() + of_lists);
    }
  }
  return most;
}

Stream plan_stream(StreamKind kind, bool may_have_bands, int64_t num_rows, int64_t num_cols,
                   int blocks_at_once, bool has_lists_alone) {
  constexpr int64_t kMostItems = int64_t(1) << 31;
  Stream stream;
  if (kind == StreamKind::kNone || num_rows < 1 || blocks_at_once < 1) return stream;
  stream.kind = kind;
  stream.has_lists_alone = has_lists_alone;
  const int64_t tiles = divided_up(num_cols + kMaxLead, kTile);
  stream.num_tiles = int(tiles);
  // As many chunks as keep all blocks busy, within the limits of their size.
  const int usual = stream.weighs() && !may_have_bands ? kUsualTilesReadTwice : kUsualTilesOfChunk;
  const int64_t small_chunks = divided_up(tiles, kTilesOfSmallChunk);
  const int64_t chunks =
      std::max(std::min(blocks_at_once / num_rows, small_chunks), divided_up(tiles, usual));
  stream.tiles_of_chunk = int(divided_up(tiles, std::clamp<int64_t>(chunks, 1, kMostChunks)));
  stream.num_chunks = int(divided_up(tiles, stream.tiles_of_chunk));

  // Without bands, what a row's weights wait for is there when each block has taken two more
  // chunks. A slot is free when its row is finished: those read in the meantime take others.
  const int64_t most_ahead = std::clamp<int64_t>(kElementsAhead / num_cols, 1, kMostRowsAhead);
  int64_t ahead = most_ahead;
  if (!may_have_bands) {
    ahead = std::clamp<int64_t>(blocks_at_once / stream.num_chunks, 1, most_ahead);
  }
  int64_t slots = kMostSlots;
  if (stream.weighs()) {
    slots = ahead + most_ahead;
  } else if (stream.has_maxima()) {
    slots = std::clamp<int64_t>(kMostListBytes / (stream.num_groups() * int64_t(sizeof(float))), 1,
                                kMostSlots);
  }
  stream.num_slots = int(std::min(num_rows, slots));
  stream.rows_ahead = int(std::min(num_rows, ahead));
  stream.num_rows = uint32_t(num_rows);
  if (stream.weighs() && may_have_bands && ahead >= num_rows) {
    const int64_t samplers = std::min<int64_t>(blocks_at_once / num_rows, kMostSamplers);
    stream.set_samplers(samplers < 2 ? 0 : int(samplers));
  }
  const int64_t items = stream.count_items();
  if (items >= kMostItems) return Stream();
  stream.num_items = uint32_t(items);
  // Kernels that may weigh rows take no item without a ticket.
  stream.has_tickets = kind >= StreamKind::kAny || num_rows > stream.num_slots;
  stream.num_blocks = int(stream.has_tickets ? std::min<int64_t>(items, blocks_at_once) : items);
  return stream;
}

}  // namespace sampler::kernels
