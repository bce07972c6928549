// Sampling of long rows, streamed: the layout of a launch, and what its blocks share. stream.cuh
// has the device code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "contract/elements.h"
#include "contract/log2.h"
#include "contract/reports.h"
#include "contract/request.h"
#include "machine/team.cuh"
#include "stages/staged.h"

namespace sampler::kernels {

constexpr int kStreamAlignment = 128;    // a line of L2
constexpr int kMostChunks = 32;          // per row: one per lane
constexpr int kMostStreamedK = 1024;     // largest streamed top-k
constexpr int kStreamedTokens = 2048;    // candidates in a row's list
constexpr int kLeastStreamedTiles = 16;  // fewest tiles of a streamed row
constexpr int kPivotRank = 700;          // rank among the bins' maxima; top-p lists tokens above it
constexpr int kBandTokens = 2 * kStreamedTokens;  // candidates in a row's band
constexpr int kSampledVectors = 6144;             // of a row, to place its band
constexpr int kSampleBins = kStreamedTokens;      // of a sample's values
constexpr int kMostSamplers = 24;                 // per row
constexpr int kMostTilesOfChunk = 128;
constexpr int kMostEdited = 8192;  // tokens of a row that edits change
static_assert(kMostTilesOfChunk * kMostChunks >= kMaxTiles);

// What a launch computes for each row.
enum class StreamKind : int {
  kNone,    // the rows are not streamed
  kGreedy,  // the first token
  kList,    // draws from a short list only, and greedy rows
  kAny,     // any parameters
  kEdited,  // the same of edited rows
  kGiven,   // the same of rows of probabilities, f32
};
constexpr int kNumStreamKinds = 6;  // DeviceShape::stream_blocks has as many

// What a row needs, by its parameters.
enum class StreamNeed : int {
  kFirst,    // its first token
  kList,     // its first tokens
  kTotal,    // its first tokens and the weight of all, as filters weigh them
  kRaw,      // its first tokens and the weight of all at temperature 1
  kWeights,  // the weights of all, by tile
  kOther,    // not streamed: the general kernel
};

// Whether filters weigh the row at temperature 1, and its draw at another.
SAMPLER_HD inline bool has_two_scales(const contract::RowParameters &row,
                                      const contract::FilterRules &rules) {
  return rules.temperature_order == SAMPLER_TEMPERATURE_LAST && row.temperature != 1.0f &&
         (contract::top_p_is_on(row.top_p) || contract::min_p_is_on(row.min_p));
}

SAMPLER_HD inline bool keeps_all(int32_t top_k, int64_t num_cols) {
  return !contract::top_k_is_on(top_k) || top_k >= num_cols;
}

// Groups per bin: a bin is consecutive groups, and there are no more bins than a list holds.
SAMPLER_HD inline int groups_of_bin(int num_groups) {
  int size = 1;
  while (size * kStreamedTokens < num_groups) size *= 2;
  return size;
}

// What is wanted of a row besides its token.
struct StreamWanted {
  bool counts_kept;
  bool total_at_one;  // the weight of all at temperature 1

  SAMPLER_HD static StreamWanted of(const contract::SampleRequest &request) {
    return {request.out_kept_counts != nullptr,
            request.out_logprobs && request.logprob_kind != SAMPLER_LOGPROB_PROCESSED};
  }
};

SAMPLER_HD inline StreamNeed stream_need(const contract::RowParameters &row,
                                         const contract::FilterRules &rules, int64_t num_cols,
                                         const StreamWanted &wanted, bool *is_by_min_p) {
  *is_by_min_p = false;
  if (contract::is_greedy(row.temperature)) {
    return wanted.total_at_one ? StreamNeed::kRaw : StreamNeed::kFirst;
  }
  const bool by_k = !keeps_all(row.top_k, num_cols), by_p = contract::top_p_is_on(row.top_p);
  if (by_k && row.top_k > kMostStreamedK) return StreamNeed::kOther;
  *is_by_min_p = by_p && !by_k && rules.order == SAMPLER_FILTERS_MIN_P_FIRST &&
                 contract::min_p_is_on(row.min_p);
  if (by_p && !*is_by_min_p && (!by_k || rules.order == SAMPLER_FILTERS_JOINT)) {
    return StreamNeed::kTotal;
  }
  if (by_k || by_p) return wanted.total_at_one ? StreamNeed::kRaw : StreamNeed::kList;
  return wanted.counts_kept ? StreamNeed::kOther : StreamNeed::kWeights;
}
SAMPLER_HD inline StreamNeed stream_need(const contract::RowParameters &row,
                                         const contract::FilterRules &rules, int64_t num_cols,
                                         const StreamWanted &wanted) {
  bool is_by_min_p;
  return stream_need(row, rules, num_cols, wanted, &is_by_min_p);
}

// Whether the weight of all at temperature 1 is another sum than the one that the row needs.
SAMPLER_HD inline bool has_second_total(const contract::RowParameters &row,
                                        const contract::FilterRules &rules, StreamNeed need) {
  const bool sums_some = need == StreamNeed::kWeights && contract::min_p_is_on(row.min_p);
  const bool is_at_one =
      need == StreamNeed::kRaw || (need == StreamNeed::kTotal && has_two_scales(row, rules));
  return !is_at_one && (row.temperature != 1.0f || sums_some);
}

// Whether top-p is the only filter, and may keep more than a list.
SAMPLER_HD inline bool may_have_band(const contract::RowParameters &row, int64_t num_cols,
                                     bool counts_kept) {
  return contract::top_p_is_on(row.top_p) && !contract::min_p_is_on(row.min_p) && !counts_kept &&
         keeps_all(row.top_k, num_cols);
}

// Per launch; all 0 at its start.
struct alignas(kStreamAlignment) StreamHead {
  uint32_t ticket;    // items taken
  uint32_t num_left;  // rows left to the general kernel
};

// What a sample of a row follows from, to place its band.
struct alignas(16) RowSample {
  float pivot;         // the row's list has all tokens from here up
  float of_list;       // their relative weight
  float num_listed;    // those tokens; 0: the list is enough, or there is none
  float bins_of_unit;  // below the pivot
};

// Per row in progress; all 0 at the start of the launch.
struct alignas(64) StreamSlot {
  uint32_t num_read;      // chunks read
  uint32_t num_weighed;   // chunks weighed, and the list
  uint32_t num_listed;    // tokens; ~0: more than the list holds
  uint32_t num_finished;  // rows that this slot has completed
  uint64_t maximum;       // key of the row's largest value, with the row's tag
  uint64_t bound;         // lowest value with weight, or above the band; with the row's tag
  uint64_t band;          // lowest value of the band, with the row's tag
  uint32_t num_in_band;   // tokens; more than kBandTokens: they do not fit
  uint32_t num_sampled;   // parts of the row's sample
  RowSample sample;       // there before `maximum`
};

// What edits make of an output row: the tokens that they may change, and those tokens' logits then.
// Positions count from the row's aligned address (StreamedRow).
struct alignas(16) EditsHead {
  uint32_t number_status;  // of the stages' numbers
  uint32_t status;         // of the edits
  int32_t mask;            // the row's bitmask; -1: none
  uint32_t num_edited;     // kLeft: more than there is room for
  static constexpr uint32_t kLeft = ~uint32_t(0);
};

// The same of all rows: a head each, a bit for each position, the set bits before each word of
// them, and values in the order of positions. A tile's bits are kWordsOfTile words.
constexpr int kWordsOfTile = kTile / 32;
struct StreamedEdits {
  char *memory = nullptr;
  int num_words = 0;  // of a row's positions
  int capacity = 0;   // edited tokens of a row
  const uint32_t *bitmasks = nullptr;
  int64_t bitmask_stride = 0;
  contract::BitmaskRule bitmask_rule = contract::BitmaskRule::kLeaves;

  SAMPLER_HD bool is_on() const { return num_words > 0; }
  SAMPLER_HD EditsHead *head(uint32_t row) const {
    return reinterpret_cast<EditsHead *>(memory + size_t(row) * row_bytes());
  }
  SAMPLER_HD uint32_t *bits(uint32_t row) const {
    return reinterpret_cast<uint32_t *>(head(row) + 1);
  }
  SAMPLER_HD uint16_t *before(uint32_t row) const {
    return reinterpret_cast<uint16_t *>(bits(row) + num_words);
  }
  SAMPLER_HD float *values(uint32_t row) const {
    return reinterpret_cast<float *>(before(row) + num_words);
  }
  SAMPLER_HD size_t row_bytes() const {
    const size_t words = capacity > 0 ? size_t(num_words) * kBytesOfWord : 0;
    const size_t bytes = sizeof(EditsHead) + words + size_t(capacity) * sizeof(float);
    return (bytes + kStreamAlignment - 1) / kStreamAlignment * kStreamAlignment;
  }

  SAMPLER_HD const uint32_t *mask_of(const EditsHead &of_row) const {
    return of_row.mask < 0 ? nullptr : bitmasks + of_row.mask * bitmask_stride;
  }
  SAMPLER_HD uint32_t mask_word(const uint32_t *mask, int index) const {
    if (index < bitmask_stride) return mask[index];
    return bitmask_rule == contract::BitmaskRule::kLeaves ? ~uint32_t(0) : 0;
  }
  // A bit for each of up to 32 ids from one on: whether the mask allows it; of negative ones any.
  SAMPLER_HD uint32_t allowed_from(const uint32_t *mask, int id) const {
    const int first = id < 0 ? 0 : id / 32, shift = id - first * 32;
    const uint64_t words = uint64_t(mask_word(mask, first + 1)) << 32 | mask_word(mask, first);
    return uint32_t(shift < 0 ? words << -shift : words >> shift);
  }

  // What a word with the number before it, and a token whose logit is edited, take of the shared
  // memory of the block that edits.
  static constexpr int kBytesOfWord = 6, kBytesOfToken = 12;
};

// A row's first tokens, in rank order, which the stages that remain are run on by another kernel.
struct alignas(16) ListHead {
  uint32_t status;
  uint32_t count;     // kLeft: the row is left to the general kernel
  uint64_t weight;    // of positions, after their windows: of all, at
  float temperature;  // what is in force then
  static constexpr uint32_t kLeft = ~uint32_t(0);
};

// The same of all rows.
struct StreamedLists {
  static constexpr float kNearMinP = 7.25f;  // in bits below the largest: min-p 0.0066 at 1

  char *memory = nullptr;
  int num_tokens = 0;  // that a row's token follows from, at most; 0: the stream draws it
  int least = 0;       // tokens that top-k keeps at least
  sampler_stage by = SAMPLER_STAGE_TOP_K;  // the stage that they follow from: it, or min-p, top-h,
                                           // or mirostat v1
  bool by_slot = false;          // of some slots it may follow from no such list: those are left
  bool min_p_is_at_one = false;  // min-p is at temperature 1
  int32_t num_positions = 0;     // of a sequence, whose windows alone are run; 0: of no sequences
  contract::StageOrder order;    // of windows, or filters

  SAMPLER_HD bool is_on() const { return num_tokens > 0; }
  SAMPLER_HD bool are_of_positions() const { return num_positions > 0; }
  // Whether not only odd rows may be left.
  SAMPLER_HD bool leave_many() const { return by_slot || by == SAMPLER_STAGE_ADAPTIVE; }

  // Whether a row's token follows from a list.
  SAMPLER_HD bool have(const contract::RowParameters &row, int64_t num_cols) const {
    if (by == SAMPLER_STAGE_MIN_P) {
      return is_near(row.min_p, min_p_is_at_one ? 1.0f : row.temperature);
    }
    return by != SAMPLER_STAGE_TOP_K ||
           (!keeps_all(row.top_k, num_cols) && row.top_k <= num_tokens);
  }
  SAMPLER_HD int tokens_of(const contract::RowParameters &row) const {
    return by != SAMPLER_STAGE_TOP_K ? num_tokens : row.top_k > least ? row.top_k : least;
  }
  // Whether min-p keeps few tokens of all but flat rows: those whose logits are near the largest.
  SAMPLER_HD static bool is_near(float min_p, float temperature) {
    return min_p > 0.0f && -contract::log2_shifted(min_p, 0) * temperature <= kNearMinP;
  }
  SAMPLER_HD ListHead *head(uint32_t row) const {
    return reinterpret_cast<ListHead *>(memory + size_t(row) * row_bytes());
  }
  SAMPLER_HD uint64_t *ranks(uint32_t row) const {
    return reinterpret_cast<uint64_t *>(head(row) + 1);
  }
  SAMPLER_HD size_t row_bytes() const {
    const size_t bytes = sizeof(ListHead) + size_t(num_tokens) * sizeof(uint64_t);
    return (bytes + kStreamAlignment - 1) / kStreamAlignment * kStreamAlignment;
  }
};

// Layout of a launch, chosen by plan_stream, read by host and device. A row is cut into chunks. An
// item is a chunk to be read or, in a later pass, weighed; blocks take items in order.
struct Stream {
  StreamKind kind = StreamKind::kNone;
  bool has_tickets = false;      // else each block has the item of its index
  bool has_lists_alone = false;  // no row needs the weights of all its tokens
  int num_tiles = 0;             // most tiles of a row
  int num_chunks = 0;            // per row
  int tiles_of_chunk = 0;
  int rows_ahead = 0;  // rows read before the first of them is weighed
  // Items that sample a row to place its band, of few rows, all read ahead; 0: its last reader
  // does.
  int num_samplers = 0;
  int vectors_of_sampler = kSampledVectors;  // at most
  int num_slots = 0;
  uint32_t num_rows = 0;
  uint32_t num_items = 0;
  int num_blocks = 0;
  char *memory = nullptr;      // bytes(), aligned
  StreamHead *next = nullptr;  // that of a launch for the rows that this one leaves; cleared, too
  StreamedEdits edits;         // of kEdited
  StreamedLists lists;         // of kList and kEdited
  contract::Reports reports;   // of kAny: top and chosen tokens, ranks, entropies
  // Only these and log-probabilities are written, of tokens that launches before drew.
  bool has_drawn = false;

  SAMPLER_HD bool is_on() const { return kind != StreamKind::kNone; }
  SAMPLER_HD bool has_maxima() const { return kind >= StreamKind::kList; }
  SAMPLER_HD bool weighs() const { return kind >= StreamKind::kAny && !has_lists_alone; }
  SAMPLER_HD bool has_edits() const { return kind == StreamKind::kEdited; }
  SAMPLER_HD bool reports_rows() const {
    return reports.wants_top() || reports.wants_chosen() || reports.out_ranks ||
           reports.out_entropies;
  }
  // First tokens that are reported.
  SAMPLER_HD int num_top() const { return reports.wants_top() ? int(reports.num_top) : 0; }
  // Whether rows may be left to the general kernel.
  SAMPLER_HD bool leaves_rows() const { return kind >= StreamKind::kList; }

  SAMPLER_HD int num_groups() const { return num_tiles * 32; }
  void set_samplers(int num) {
    num_samplers = num;
    vectors_of_sampler = num == 0 ? kSampledVectors : (kSampledVectors + num - 1) / num;
  }
  SAMPLER_HD int64_t count_items() const {
    return int64_t(num_rows) * ((weighs() ? 2 : 1) * num_chunks + num_samplers);
  }

  SAMPLER_HD StreamHead *head() const { return reinterpret_cast<StreamHead *>(memory); }
  SAMPLER_HD StreamSlot *slot(int index) const {
    return reinterpret_cast<StreamSlot *>(memory + sizeof(StreamHead)) + index;
  }
  // Bytes that must be 0 at the start of the launch.
  SAMPLER_HD size_t cleared_bytes() const {
    return sizeof(StreamHead) + lines(size_t(num_slots) * sizeof(StreamSlot));
  }
  // One word per chunk for the first pass, then three for the second.
  SAMPLER_HD uint64_t *chunk_words(int slot) const {
    return reinterpret_cast<uint64_t *>(memory + cleared_bytes()) + slot * (4 * kMostChunks);
  }
  // The list's ranks and running weights, or the band's ranks.
  SAMPLER_HD uint64_t *words(int slot) const {
    return reinterpret_cast<uint64_t *>(memory + offset_of_words()) + size_t(slot) * slot_words();
  }
  // Before the band's ranks: what samplers count by bin.
  SAMPLER_HD uint32_t *sample_bins(int slot) const {
    return reinterpret_cast<uint32_t *>(words(slot));
  }
  // The tiles' weights.
  SAMPLER_HD uint64_t *tiles(int slot) const { return words(slot) + kBandTokens; }
  SAMPLER_HD float *maxima(int slot) const {
    return reinterpret_cast<float *>(memory + offset_of_maxima()) +
           size_t(slot) * size_t(num_groups());
  }
  // Output rows left to the general kernel.
  SAMPLER_HD uint32_t *left() const {
    return reinterpret_cast<uint32_t *>(memory + offset_of_left());
  }
  SAMPLER_HD size_t bytes() const {
    if (!is_on()) return 0;
    return offset_of_lists() + (lists.is_on() ? size_t(num_rows) * lists.row_bytes() : 0);
  }
  void place(char *workspace) {
    if (!workspace) return;
    memory = workspace;
    edits.memory = workspace + offset_of_edits();
    lists.memory = workspace + offset_of_lists();
  }

 private:
  SAMPLER_HD static size_t lines(size_t bytes) {
    return (bytes + kStreamAlignment - 1) / kStreamAlignment * kStreamAlignment;
  }
  SAMPLER_HD size_t slot_words() const {
    return weighs() ? size_t(kBandTokens) + size_t(num_tiles + 1) / 2 * 2 : 0;
  }
  SAMPLER_HD size_t offset_of_words() const {
    return cleared_bytes() + size_t(num_slots) * 4 * kMostChunks * sizeof(uint64_t);
  }
  SAMPLER_HD size_t offset_of_maxima() const {
    return offset_of_words() + size_t(num_slots) * slot_words() * sizeof(uint64_t);
  }
  SAMPLER_HD size_t offset_of_left() const {
    return offset_of_maxima() +
           (has_maxima() ? lines(size_t(num_slots) * size_t(num_groups()) * sizeof(float)) : 0);
  }
  SAMPLER_HD size_t offset_of_edits() const {
    return offset_of_left() + (leaves_rows() ? lines(size_t(num_rows) * 4) : 0);
  }
  SAMPLER_HD size_t offset_of_lists() const {
    return offset_of_edits() + (has_edits() ? size_t(num_rows) * edits.row_bytes() : 0);
  }
};

// State of a row.
struct StreamedRowState {
  contract::RowParameters parameters;
  float scale;         // of the logits,
  float filter_scale;  // the same where filters weigh them,
  float max;           // and their largest: two RowScales
  StreamNeed need;
  bool is_by_min_p;  // the list has all tokens that min-p, the first filter, keeps
  uint32_t status;   // of the parameters
  uint32_t max_key;  // of the largest value
  float bound;       // lowest value with weight, or above the band
  float band;        // lowest value of the band, which reaches up to the bound; infinity: none
};

// An output row's edits, as its blocks read them.
struct StreamedPatch {
  const uint32_t *bits;  // null: no token is edited
  const uint16_t *before;
  const float *values;
  const uint32_t *mask;  // null: none
  uint32_t number_status;
  uint32_t status;
  bool is_left;
};

// What the block that ends a part of a row's work has left to do.
enum class StreamRest {
  kNothing,  // another block does it
  kSample,   // the sample of the row
  kListed,   // the list, as far as another block needs it
  kLeft,     // to leave the row to the general kernel
  kDone,
  // To draw:
  kDraw,     // from the list in shared memory
  kList,     // the same, once the list is published
  kBand,     // from the tiles' weights, once the band is cut
  kWeights,  // from the tiles' weights
};

// What is done with an item.
enum class StreamStep : int {
  kRead,
  kSample,  // `chunk` is a part of the sample
  kWeigh,
};

// The chunk of a row that a block works on.
struct StreamItem {
  const char *values;  // of the row, from an aligned address
  uint32_t row;        // index of the output row
  int lead;            // elements between the two
  int slot;
  int chunk;
  int begin;  // its tiles
  int end;
  StreamStep step;
  bool is_none;  // the row does not need it
  bool is_last;  // there are no more items
  bool has_row;  // the input row exists
  StreamedRowState row_state;
  StreamedPatch patch;  // of kEdited
};

// Result of a row.
struct StreamedOutcome {
  uint64_t kept_weight;
  uint32_t id;
  int kept_count;
  uint32_t status;
  bool is_greedy;
  bool is_left;  // left to the general kernel
};

// The candidates of a row.
struct alignas(16) StreamedList {
  uint64_t list[kStreamedTokens];
  union {
    uint64_t sums[kStreamedTokens];
    TwoWords weights[kStreamedTokens];  // by value
    struct {                            // while the list is made
      uint32_t keys[kStreamedTokens];
      uint32_t groups[kStreamedTokens];
    } bins;
  };
};

// A block's shared memory.
struct alignas(16) StreamShared {
  StreamItem items[2];
  StreamedOutcome outcome;
  uint64_t partial[4][32];  // by warp
  uint64_t word;            // random word
  uint64_t target;
  uint64_t total;
  uint64_t total_of_row;
  uint32_t is_last;
  uint32_t num_groups;
  uint32_t num_listed;
  int prefix;
  uint64_t cut;  // of the band
  RowSample sample;
  float lowest;                          // of some of the row's values, -inf aside
  TwoWords of_chunks[kMostChunks];       // kept weights, of a row with a band
  TwoWords of_tiles[kMostTilesOfChunk];  // of a chunk: weights of the band's kept tokens
  union {
    StreamedList row;
    uint64_t band[kBandTokens];
  };
};

// Calls f(dtype, kind), integral constants, for each kernel of streamed rows.
template <class F>
void for_each_stream_kernel(const F &f) {
  const auto of_type = [&](auto dtype) {
    f(dtype, std::integral_constant<StreamKind, StreamKind::kGreedy>());
    f(dtype, std::integral_constant<StreamKind, StreamKind::kList>());
    f(dtype, std::integral_constant<StreamKind, StreamKind::kAny>());
    f(dtype, std::integral_constant<StreamKind, StreamKind::kEdited>());
  };
  of_type(std::integral_constant<sampler_dtype, SAMPLER_F32>());
  of_type(std::integral_constant<sampler_dtype, SAMPLER_F16>());
  of_type(std::integral_constant<sampler_dtype, SAMPLER_BF16>());
  f(std::integral_constant<sampler_dtype, SAMPLER_F32>(),
    std::integral_constant<StreamKind, StreamKind::kGiven>());
}

// Whether filters of some rows may weigh them at temperature 1, and what is drawn at another.
bool may_have_two_scales(const contract::Parameters &all);

// The kind of launch for all rows of a request; kNone: not streamed.
StreamKind stream_kind(const contract::SampleRequest &request);
StreamKind stream_kind(const StagedSampleRequest &request);

// Whether rows of a request may have a band.
bool may_have_bands(const contract::SampleRequest &request);

// Whether a first launch may list the tokens that edits change: they change logits that lists and
// texts name, and forbid tokens by bitmasks, alone.
bool are_edits_few(const contract::Pipeline &stages);

// The most bytes that plan_stream() lays out, up to max_rows and max_cols.
size_t largest_stream_bytes(int64_t max_rows, int64_t max_cols, int blocks_at_once);

// `blocks_at_once`: concurrent blocks on the device. kNone without rows to stream.
Stream plan_stream(StreamKind kind, bool may_have_bands, int64_t num_rows, int64_t num_cols,
                   int blocks_at_once, bool has_lists_alone = false);

// Whether all rows of a request need lists alone.
bool need_lists_alone(const contract::SampleRequest &request);
bool need_lists_alone(const StagedSampleRequest &request);

// Lists of the first tokens that all else follows from, where a top-k or min-p is the first to drop
// tokens, and other stages or reports follow; off: the rows have none.
StreamedLists plan_lists(const StagedSampleRequest &request);
// The same, whatever follows from them.
StreamedLists plan_lists_alone(const StagedSampleRequest &request);

// Reports of rows as they are given, where others are drawn from: whether these may be streamed
// alone, after the draws. Then the draws, and the reports of the tokens that they wrote.
bool may_report_apart(const StagedSampleRequest &request);
StagedSampleRequest draws_of(const StagedSampleRequest &request);
StagedSampleRequest reports_of(const StagedSampleRequest &request);

// The room that the edits of a request's rows take; `most_bytes`: of a block's shared memory. A
// capacity of -1: there is no room.
StreamedEdits plan_edits(const StagedSampleRequest &request, int most_bytes);

// The shared memory of a block that edits a row, before what EditsLists has.
struct alignas(16) EditsShared {
  TeamShared team;
};

// The shared memory of a block that runs a listed row's stages.
struct alignas(16) ListedShared {
  uint64_t partial[3][32];  // by warp
  uint32_t num_listed;
  uint32_t id;                     // of the drawn token
  uint32_t place;                  // in the list
  uint64_t first_kept;             // place in a packed list
  uint64_t given[kMostStreamedK];  // the list before adaptive-p or smoothing
  uint32_t ids[kMostStreamedK];    // of the kept tokens, ascending
  StreamedList row;
};

// A row's edits in shared memory: those of StreamedEdits, and for each token its id and a mark.
struct EditsLists {
  uint32_t *bits;
  float *values;
  int32_t *ids;
  uint32_t *marks;
  uint16_t *before;

  SAMPLER_HD static EditsLists of(EditsShared *shared, const StreamedEdits &edits) {
    EditsLists lists;
    lists.bits = reinterpret_cast<uint32_t *>(shared + 1);
    lists.values = reinterpret_cast<float *>(lists.bits + edits.num_words);
    lists.ids = reinterpret_cast<int32_t *>(lists.values + edits.capacity);
    lists.marks = reinterpret_cast<uint32_t *>(lists.ids + edits.capacity);
    lists.before = reinterpret_cast<uint16_t *>(lists.marks + edits.capacity);
    return lists;
  }
  SAMPLER_HD static size_t bytes(const StreamedEdits &edits) {
    return sizeof(EditsShared) + size_t(edits.num_words) * StreamedEdits::kBytesOfWord +
           size_t(edits.capacity) * StreamedEdits::kBytesOfToken;
  }
};

}  // namespace sampler::kernels
