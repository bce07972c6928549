#include "cpu/shards.h"

#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <optional>

#include "contract/distribution.h"
#include "contract/draw.h"
#include "contract/elements.h"
#include "contract/log2.h"
#include "contract/pipeline.h"
#include "contract/reports.h"
#include "contract/row_view.h"
#include "contract/shards.h"
#include "cpu/edits.h"
#include "cpu/elements.h"
#include "cpu/own_columns.h"
#include "cpu/row_tasks.h"
#include "cpu/text.h"
#include "cpu/workspace.h"

namespace sampler::cpu {

using contract::Rank;
using contract::RowParameters;
using contract::RowScale;
using contract::RowView;
using contract::SharedCut;

// ---- What a call asks for

namespace {

// f(request) for the request of the call.
template <class F>
decltype(auto) visit(const ShardCall &call, const F &f) {
  return call.sample ? f(*call.sample) : f(*call.filter);
}

// Whether parameters that a call has for all of its rows make them all listed: their first tokens
// decide.
bool is_greedy_for_all(const contract::Parameters &parameters) {
  return !parameters.temperature.array && contract::is_greedy(parameters.temperature.value);
}
bool has_top_k(int32_t top_k, int64_t total_cols) {
  return contract::top_k_is_on(top_k) && top_k < total_cols;
}

bool may_have_top_p(const contract::Parameters &parameters, const contract::Pipeline *pipeline) {
  return parameters.top_p.array || contract::top_p_is_on(parameters.top_p.value) ||
         (pipeline && pipeline->adaptive.may_decay());
}

// Of a sample: what it reports of a distribution that is not what was drawn from; and of that.
bool reports_shares(const contract::SampleRequest &request) {
  const contract::Reports *reports = request.reports;
  return request.out_logprobs ||
         (reports && (reports->out_entropies || (reports->num_top && reports->out_top_logprobs)));
}
bool reports_row(const contract::SampleRequest &request) {
  return request.logprob_kind != SAMPLER_LOGPROB_PROCESSED && reports_shares(request);
}
bool reports_kept(const contract::SampleRequest &request) {
  return request.out_kept_counts ||
         (request.logprob_kind == SAMPLER_LOGPROB_PROCESSED && reports_shares(request));
}
bool wants_ranks(const contract::SampleRequest &request) {
  return request.reports && request.reports->out_ranks;
}

bool has_edits(const ShardCall &call) {
  return call.pipeline() && call.pipeline()->has_edits();
}
// Whether what is worked on is not what is given.
bool has_own_values(const ShardCall &call) {
  return has_edits(call) || call.residual;
}
// Whether reports are of the row as it was before its edits.
bool reports_given(const ShardCall &call) {
  return has_edits(call) && call.sample && call.sample->logprob_kind == SAMPLER_LOGPROB_RAW;
}

}  // namespace

const contract::Rows &ShardCall::input() const {
  if (residual) return residual->target;
  return sample ? sample->input : filter ? filter->input : select->input;
}
const contract::Pipeline *ShardCall::pipeline() const {
  return sample ? sample->pipeline : filter ? filter->pipeline : nullptr;
}
int64_t ShardCall::num_rows() const {
  return sample ? sample->num_rows : input().num_rows;
}

// ---- The plan

namespace {

// What messages are made of. All sizes are multiples of 8.

struct Header {
  uint64_t round;  // and kMagic
  uint64_t digests[ShardDigests::kNumGroups];
  int32_t rank;
  int32_t num_ranks;
  int32_t first_id;
  int32_t num_cols;
  uint64_t reserved;
};
constexpr uint64_t kMagic = uint64_t(0x73686172645F3101) << 8;

// Candidates follow, as ranks, and then their elements.
struct StartRow {
  uint32_t given_status;
  uint32_t edited_status;
  uint64_t digest;
  int64_t num_tokens;
  Rank given_first;  // in rank order, of the row before its edits
};
struct DigitRow {
  uint64_t weights[contract::kNumDigitValues];
};
struct SumsRow {
  uint64_t reported_weight, reported_surprise;  // of the whole row, at temperature 1
  uint64_t seen_weight;                         // of what JOINT's top-p sees
  uint64_t ties;                                // of the last token that top-k keeps
  uint64_t kept_weight, kept_surprise, kept_count;
};
struct TokenRow {
  float score;  // by GUMBEL
  int32_t id;   // -1: none
  float value, given_value;
};
struct RankRow {
  uint64_t num_before;
};

size_t round_up_to_8(size_t bytes) {
  return (bytes + 7) / 8 * 8;
}

}  // namespace

int ShardPlan::num_exchanges() const {
  if (num_rows == 0) return 0;
  return 1 + (has_digits ? contract::kNumDigits : 0) + has_sums + has_token + has_rank;
}

ShardPart ShardPlan::part(int round) const {
  if (round == 0) return ShardPart::kStart;
  int left = round - 1;
  if (has_digits && left < contract::kNumDigits) return ShardPart::kDigit;
  left -= has_digits ? contract::kNumDigits : 0;
  if (has_sums && left-- == 0) return ShardPart::kSums;
  if (has_token && left-- == 0) return ShardPart::kToken;
  return ShardPart::kRank;
}

size_t ShardPlan::row_bytes(ShardPart part) const {
  switch (part) {
    case ShardPart::kStart:
      return sizeof(StartRow) + size_t(num_candidates) * sizeof(Rank) +
             (has_values ? round_up_to_8(size_t(num_candidates) * sizeof(float)) : 0);
    case ShardPart::kDigit:
      return sizeof(DigitRow);
    case ShardPart::kSums:
      return sizeof(SumsRow);
    case ShardPart::kToken:
      return sizeof(TokenRow);
    default:
      return sizeof(RankRow);
  }
}

size_t ShardPlan::message_bytes(int round) const {
  return round < num_exchanges() ? sizeof(Header) + size_t(num_rows) * row_bytes(part(round)) : 0;
}

ShardPlan plan_shards(const ShardCall &call) {
  ShardPlan plan = {};
  plan.num_rows = call.num_rows();
  const int64_t total_cols = call.input().num_cols;
  if (call.select) {
    plan.num_candidates = call.select->num_selected;
    plan.has_values = call.select->out_values;
    return plan;
  }
  if (call.residual) {
    plan.num_candidates = 1;
    plan.has_sums = true;
    return plan;
  }
  const contract::Parameters &parameters = visit(
      call, [](const auto &request) -> const contract::Parameters & { return request.parameters; });
  const contract::FilterRules &rules = parameters.rules;
  const bool all_greedy = is_greedy_for_all(parameters);
  const bool all_top_k = !parameters.top_k.array && has_top_k(parameters.top_k.value, total_cols);
  const bool may_top_k = !all_greedy && (all_top_k || parameters.top_k.array);
  const bool may_top_p = !all_greedy && may_have_top_p(parameters, call.pipeline());
  // Whether a row may keep tokens that are no candidates.
  const bool may_keep_others =
      !all_greedy && !(all_top_k && rules.top_k_ties == SAMPLER_TIES_EXACT);
  const bool sums_for_top_p = may_top_k && may_top_p && rules.order == SAMPLER_FILTERS_JOINT;

  plan.num_candidates = 1;
  if (may_top_k) {
    plan.num_candidates = all_top_k        ? parameters.top_k.value
                          : call.max_top_k ? call.max_top_k
                                           : total_cols;
  }
  plan.has_digits = may_top_p && !all_top_k;
  if (call.filter) {
    plan.has_sums = may_keep_others || sums_for_top_p;
    return plan;
  }
  const contract::SampleRequest &sample = *call.sample;
  const bool draws_by_score = sample.draw_method == SAMPLER_DRAW_GUMBEL;
  const bool sums_of_kept =
      may_keep_others && (!draws_by_score || may_top_k || reports_kept(sample));
  plan.has_sums = reports_row(sample) || sums_for_top_p || sums_of_kept;
  plan.has_token = may_keep_others;
  plan.has_rank = wants_ranks(sample) && (may_keep_others || reports_given(call));
  if (sample.reports) {
    plan.num_candidates =
        std::min(total_cols, std::max(plan.num_candidates, sample.reports->num_top));
  }
  plan.has_values = sample.out_values || (reports_given(call) && reports_shares(sample)) ||
                    (reports_given(call) && wants_ranks(sample));
  return plan;
}

// ---- Digests

namespace {

class Digest {
 public:
  void add(uint64_t value) {
    state_ = (state_ ^ value) * 0x9E3779B97F4A7C15u;
    state_ ^= state_ >> 32;
  }
  void add(float value) { add(uint64_t(contract::bits_of(value))); }
  void add(int32_t value) { add(uint64_t(uint32_t(value))); }
  void add(int64_t value) { add(uint64_t(value)); }
  void add(bool value) { add(uint64_t(value)); }

  template <class T>
  void add(const contract::PerSlot<T> &numbers) {
    add(numbers.array != nullptr);
    if (!numbers.array) add(numbers.value);
  }
  void add(const contract::SeedSource &source) {
    add(source.array != nullptr);
    add(source.per_slot);
    if (!source.array) add(source.value);
  }
  void add(const contract::TokenLists &lists) {
    add(lists.offsets != nullptr);
    add(lists.num_lists);
    add(lists.num_ids);
  }
  void add(const contract::TokenList &list) {
    add(list.count);
    for (int64_t i = 0; i < list.count; ++i) add(list[i]);
  }
  void add(const contract::TokenLists &lists, int64_t slot) {
    contract::TokenList list;
    if (lists && lists.find_by_slot(slot, &list)) add(list);
  }

  uint64_t value() const { return state_; }

 private:
  uint64_t state_ = 0x6A09E667F3BCC909u;
};

// f(numbers) for each number of the edits that a slot has.
template <class F>
void for_each_number(const contract::Pipeline &pipeline, const F &f) {
  f(pipeline.repetition_penalty), f(pipeline.frequency_penalty), f(pipeline.presence_penalty);
  f(pipeline.penalty_window), f(pipeline.dry_multiplier), f(pipeline.dry_base);
  f(pipeline.dry_allowed_length), f(pipeline.dry_window), f(pipeline.no_repeat_ngram_size);
  f(pipeline.min_new_tokens), f(pipeline.adaptive.top_p_decay), f(pipeline.adaptive.top_p_least);
}

uint64_t digest_shape(const ShardCall &call) {
  const ShardPlan plan = plan_shards(call);
  Digest digest;
  digest.add(int32_t(call.sample ? 0 : call.filter ? 1 : call.select ? 2 : 3));
  digest.add(call.residual && call.residual->draft.values);
  digest.add(plan.num_rows);
  digest.add(plan.num_candidates);
  digest.add(plan.has_values);
  for (const bool has : {plan.has_digits, plan.has_sums, plan.has_token, plan.has_rank}) {
    digest.add(has);
  }
  digest.add(call.input().num_cols);
  digest.add(int32_t(call.input().kind));
  digest.add(call.num_ranks);
  if (call.sample) {
    digest.add(call.sample->row_indices != nullptr);
    digest.add(int32_t(call.sample->draw_method));
    digest.add(int32_t(call.sample->logprob_kind));
    digest.add(call.sample->reports && call.sample->reports->out_entropies);
  }
  return digest.value();
}

uint64_t digest_parameters(const ShardCall &call) {
  Digest digest;
  if (call.residual) return digest.value();
  if (call.select) {
    digest.add(call.select->selected_counts != nullptr);
    return digest.value();
  }
  visit(call, [&](const auto &request) {
    const contract::Parameters &parameters = request.parameters;
    digest.add(parameters.temperature), digest.add(parameters.top_k), digest.add(parameters.top_p);
    digest.add(parameters.min_p);
    const contract::FilterRules &rules = parameters.rules;
    digest.add(int32_t(rules.top_k_ties)), digest.add(int32_t(rules.top_p_ties));
    digest.add(int32_t(rules.order)), digest.add(int32_t(rules.temperature_order));
    digest.add(request.slots.of_rows != nullptr);
    digest.add(request.slots.count);
  });
  return digest.value();
}

uint64_t digest_randomness(const ShardCall &call) {
  Digest digest;
  if (call.sample) {
    digest.add(call.sample->random.seed), digest.add(call.sample->random.offset);
    digest.add(call.sample->random.streams != nullptr);
  }
  return digest.value();
}

uint64_t digest_stages(const ShardCall &call) {
  Digest digest;
  const contract::Pipeline *const pipeline = call.pipeline();
  if (!pipeline) return digest.value();
  for (const sampler_stage stage : pipeline->edits) digest.add(int32_t(stage));
  for_each_number(*pipeline, [&](const auto &numbers) { digest.add(numbers); });
  digest.add(int32_t(pipeline->penalty_scope)), digest.add(int32_t(pipeline->penalty_form));
  digest.add(pipeline->bad_words_end_output);
  digest.add(int32_t(pipeline->bitmask_rule));
  digest.add(pipeline->sequences ? true : false);
  for (const auto *lists :
       {&pipeline->history, &pipeline->biased, &pipeline->allowed, &pipeline->banned,
        &pipeline->stop, &pipeline->bad_words, &pipeline->dry_breakers}) {
    digest.add(*lists);
  }
  digest.add(pipeline->dense_bias != nullptr), digest.add(pipeline->bitmasks != nullptr);
  return digest.value();
}

// Of an output row whose slot is valid: what stands in arrays for it.
uint64_t digest_row(const ShardCall &call, int64_t output, int64_t slot,
                    const RowParameters &parameters) {
  Digest digest;
  digest.add(slot);
  digest.add(parameters.temperature), digest.add(parameters.top_k);
  digest.add(parameters.top_p), digest.add(parameters.min_p);
  if (call.sample) {
    const contract::RandomStream random = call.sample->random.of(slot);
    digest.add(random.seed), digest.add(random.offset), digest.add(uint64_t(random.stream));
    if (call.sample->row_indices) digest.add(call.sample->row_indices[output]);
  }
  const contract::Pipeline *const pipeline = call.pipeline();
  if (!pipeline) return digest.value();
  for_each_number(*pipeline, [&](const auto &numbers) { digest.add(numbers[slot]); });
  if (!pipeline->has_edits()) return digest.value();
  for (const auto *lists :
       {&pipeline->biased, &pipeline->allowed, &pipeline->banned, &pipeline->stop}) {
    digest.add(*lists, slot);
  }
  contract::TokenList biased;
  if (pipeline->biased && pipeline->biased.find_by_slot(slot, &biased)) {
    for (int64_t i = 0; i < biased.count; ++i) digest.add(pipeline->biases[biased.begin + i]);
  }
  Text text;
  if (RowEdits::read_text(*pipeline, slot, &text) == SAMPLER_ROW_OK) {
    digest.add(text.prompt_length());
    digest.add(text.tokens());
  }
  return digest.value();
}

}  // namespace

const char *ShardDigests::name(int group) {
  constexpr const char *names[kNumGroups] = {"the operation, its rows, columns, ranks or reports",
                                             "params or row_params", "random", "pipeline"};
  return names[group];
}

uint64_t ShardDigests::all() const {
  Digest digest;
  for (const uint64_t group : groups) digest.add(group);
  return digest.value();
}

ShardDigests digest_arguments(const ShardCall &call) {
  return {
      {digest_shape(call), digest_parameters(call), digest_randomness(call), digest_stages(call)}};
}

// ---- What the workspace holds from round to round

namespace {

struct Progress {
  uint64_t magic;
  int64_t next_round;
};

// One of the first tokens of a row.
struct Candidate {
  Rank rank;
  float given_value;
  int32_t owner;  // the rank of the communicator
};

enum class Found : int32_t {
  kNothing,  // the row is bad
  kListed,   // its first tokens decide
  kOpen,     // so does its first token alone
  kSearched  // top-p's cut is looked for digit by digit
};

struct RowState {
  uint32_t status;
  Found found;
  RowParameters parameters;
  bool greedy;
  bool is_owner;    // of the token that is drawn
  bool uses_given;  // of a residual that is 0 everywhere, or has no draft
  bool is_settled;  // the token is known: it was drawn from the list
  Rank first, given_first;
  int64_t num_tokens;
  int64_t num_listed;
  contract::DigitSearch search;
  SharedCut cut;  // the ties are this rank's own
  Rank list_cut;  // where the cut is one of the list
  bool has_list_cut;
  int64_t kept_count;
  uint64_t kept_weight, kept_surprise;
  uint64_t reported_weight, reported_surprise;
  uint64_t target;  // of the owner's own weights
  int64_t token, token_place;
  float value, given_value;
  uint64_t num_before;
};

// A Tokens of contract::ListedPrefix.
struct CandidateRanks {
  const Candidate *candidates;
  Rank operator[](int64_t i) const { return candidates[i].rank; }
};

// This rank's columns, as they lie in memory; and as a candidate list.
contract::Rows own_rows(const ShardCall &call) {
  contract::Rows rows = call.input();
  rows.num_cols = std::max<int64_t>(call.num_cols, 1);
  return rows;
}
contract::Rows own_list(const ShardCall &call) {
  static constexpr int32_t kSomewhere = 0;
  contract::Rows rows = own_rows(call);
  rows.ids = &kSomewhere;
  return rows;
}

// The memory of one task.
struct TaskBuffers {
  contract::Rows rows;
  Candidate *candidates;  // of all ranks, none of which has more than it has columns
  Elements elements;
  RowEdits edits;
  // One of them; neither where memory is only counted.
  std::optional<SimdRow> simd_row;
  std::optional<ReferenceRow> reference_row;

  TaskBuffers(const ShardCall &call, const ShardPlan &plan, const Executor &executor,
              TaskMemory &memory, bool is_counted)
      : rows(own_rows(call)),
        candidates(memory.take<Candidate>(
            std::min(call.num_ranks * plan.num_candidates, call.input().num_cols))),
        elements(has_edits(call), own_list(call), memory),
        edits(has_edits(call) ? RowEdits(*call.pipeline(), own_list(call), memory) : RowEdits()) {
    if (has_own_values(call)) rows.dtype = SAMPLER_F16;  // either is loaded: no type takes more
    if (is_counted) {
      memory.make_row<CountedRow>(rows);
    } else if (executor.passes) {
      simd_row.emplace(memory.make_row<SimdRow>(rows));
    } else {
      reference_row.emplace(memory.make_row<ReferenceRow>(rows));
    }
  }

  // f(row), by the kind of row that the machine has.
  template <class F>
  auto with_row(const F &f) {
    return simd_row ? f(*simd_row) : f(*reference_row);
  }
};

struct Memory {
  Progress *progress;
  int32_t *first_ids;  // [ranks + 1]
  RowState *rows;
  Candidate *candidates;  // [rows, candidates]
  int32_t *ids;           // this rank's
  float *edited;          // [rows, columns], where there are edits; of a residual its elements
  int64_t num_tasks;
  size_t task_bytes;
  char *tasks;

  Memory(const ShardCall &call, const ShardPlan &plan, const Executor &executor, Arena &arena)
      : progress(arena.take<Progress>(1)),
        first_ids(arena.take<int32_t>(call.num_ranks + 1)),
        rows(arena.take<RowState>(plan.num_rows)),
        candidates(arena.take<Candidate>(plan.num_rows * plan.num_candidates)),
        ids(arena.take<int32_t>(call.num_cols + kListPadding)),
        edited(has_own_values(call) ? arena.take<float>(plan.num_rows * call.num_cols) : nullptr),
        num_tasks(std::min<int64_t>(plan.num_rows, executor.num_threads)) {
    TaskMemory task(executor, nullptr);
    const TaskBuffers unused(call, plan, executor, task, true);
    task_bytes = task.size();
    tasks = arena.take<char>(num_tasks * int64_t(task_bytes));
  }
};

}  // namespace

size_t shard_workspace_bytes(const ShardCall &call, int num_threads) {
  if (call.num_rows() == 0) return 0;
  Executor executor;
  executor.num_threads = num_threads;
  Arena arena(nullptr);
  const Memory unused(call, plan_shards(call), executor, arena);
  return arena.bytes();
}

// ---- A round

namespace {

class Round {
 public:
  Round(const ShardCall &call, const ShardPlan &plan, int round, const Memory &memory,
        const Passes *passes, const void *received, void *send)
      : call_(call),
        plan_(plan),
        memory_(memory),
        passes_(passes),
        round_(round),
        received_(static_cast<const char *>(received)),
        send_(static_cast<char *>(send)) {}

  void run_row(int64_t output, TaskBuffers &buffers) const {
    RowState &row = memory_.rows[output];
    if (round_ == 0) row = {};
    if (round_ > 0) read(output, row, buffers);
    if (round_ == plan_.num_exchanges()) {
      write_outputs(output, row);
      return;
    }
    const ShardPart part = plan_.part(round_);
    char *const out = send_ + sizeof(Header) + size_t(output) * plan_.row_bytes(part);
    std::memset(out, 0, plan_.row_bytes(part));
    write(part, output, row, buffers, out);
  }

 private:
  // ---- This rank's part of a row

  OwnColumns columns(const RowView &view) const {
    return {passes_, view, call_.first_id, memory_.ids};
  }

  RowView given_view(int64_t output) const {
    const int64_t index =
        call_.sample && call_.sample->row_indices ? call_.sample->row_indices[output] : output;
    RowView view = contract::row_view(call_.input(), index);
    view.count = int32_t(call_.num_cols);
    return view;
  }
  // As edits left it.
  RowView view(int64_t output) const {
    if (!memory_.edited || memory_.rows[output].uses_given) return given_view(output);
    return contract::f32_view(memory_.edited + output * call_.num_cols, call_.num_cols, nullptr,
                              kind());
  }

  sampler_input_kind kind() const { return call_.input().kind; }
  RowScale scale_at(Rank first, float temperature) const {
    return contract::row_scale(kind(), contract::value_of_rank(first), temperature);
  }
  // What is drawn from; what filters see.
  RowScale draw_scale(const RowState &row) const {
    return scale_at(row.first, row.greedy ? 1.0f : row.parameters.temperature);
  }
  RowScale filter_scale(const RowState &row) const {
    const bool at_1 = rules().temperature_order == SAMPLER_TEMPERATURE_LAST;
    return scale_at(row.first, at_1 || row.greedy ? 1.0f : row.parameters.temperature);
  }
  const contract::FilterRules &rules() const {
    return visit(call_, [](const auto &request) -> const contract::FilterRules & {
      return request.parameters.rules;
    });
  }
  int64_t slot(int64_t output) const {
    return visit(call_, [&](const auto &request) { return request.slots[output]; });
  }

  // The cut of this rank's columns.
  Rank own_cut(const RowState &row, const RowView &own) const {
    if (row.has_list_cut) return row.list_cut;
    if (row.cut.ties == SharedCut::kAllTies) return contract::rank_of_key(row.cut.key);
    return columns(own).cut_after_ties(row.cut.key, row.cut.ties);
  }

  // ---- Round 0

  uint32_t check_row(int64_t output, RowParameters *parameters) const {
    if (call_.select) return SAMPLER_ROW_OK;
    if (call_.sample && call_.sample->row_indices) {
      const int32_t index = call_.sample->row_indices[output];
      if (index < 0 || index >= call_.input().num_rows) return SAMPLER_ROW_INVALID_INDEX;
    }
    const uint32_t status = visit(call_, [&](const auto &request) {
      return contract::read_parameters(request, request.slots[output], parameters);
    });
    const contract::Pipeline *const pipeline = call_.pipeline();
    if (status != SAMPLER_ROW_OK || !pipeline) return status;
    return pipeline->has_valid_numbers(slot(output), kind()) ? SAMPLER_ROW_OK
                                                             : SAMPLER_ROW_INVALID_PARAMETER;
  }

  // Loads some columns. The result is the status; *first the first token's rank.
  uint32_t load(const RowView &own, TaskBuffers &buffers, Rank *first) const {
    *first = 0;
    if (own.count == 0) return SAMPLER_ROW_EMPTY;
    const auto use = call_.select ? contract::Use::kOrder : contract::Use::kDraw;
    return buffers.with_row([&](auto &row) {
      const uint32_t status = row.load(own, use);
      if (status == SAMPLER_ROW_OK) *first = to_global(row.first());
      return status;
    });
  }
  // The rank of one of this rank's columns, with the token's id.
  Rank to_global(Rank rank) const { return rank - Rank(call_.first_id); }

  // Edits a good row into memory that lasts. The result is the status.
  uint32_t edit(int64_t output, const RowView &given, TaskBuffers &buffers) const {
    RowView list = given;
    list.ids = memory_.ids;
    list.id_type = SAMPLER_ID_I32;
    buffers.elements.index(list);
    float *const values = buffers.edits.row().values();
    buffers.with_row([&](auto &row) { row.copy_values(values); });
    const uint32_t status = buffers.edits.edit(slot(output), output, list, buffers.elements, true);
    std::memcpy(memory_.edited + output * call_.num_cols, values,
                size_t(call_.num_cols) * sizeof(float));
    return status;
  }

  void write_start(int64_t output, TaskBuffers &buffers, char *out) const {
    RowParameters parameters = {};
    StartRow start = {SAMPLER_ROW_EMPTY, SAMPLER_ROW_EMPTY, 0, 0, 0};
    start.given_status = check_row(output, &parameters);
    if (start.given_status == SAMPLER_ROW_OK) {
      start.digest = call_.select ? digest_selected(output)
                                  : digest_row(call_, output, slot(output), parameters);
      const RowView given = given_view(output);
      start.given_status = load(given, buffers, &start.given_first);
      Rank first = start.given_first;
      if (!has_edits(call_)) {
        start.edited_status = start.given_status;
      } else if (start.given_status == SAMPLER_ROW_OK) {
        start.edited_status = edit(output, given, buffers);
        if (start.edited_status == SAMPLER_ROW_OK) {
          start.edited_status = load(view(output), buffers, &first);
        }
      } else {
        std::fill_n(memory_.edited + output * call_.num_cols, call_.num_cols,
                    contract::negative_infinity());
      }
      if (start.edited_status == SAMPLER_ROW_OK) {
        start.num_tokens = columns(view(output)).count(contract::lowest_cut(kind()));
        write_candidates(output, first, start.num_tokens, buffers, out + sizeof start);
      }
    }
    std::memcpy(out, &start, sizeof start);
  }

  // ---- Residuals

  // The token that a deterministic drafter proposed; -1 where there is a row of q.
  int64_t removed(int64_t output) const {
    const contract::ResidualRequest &request = *call_.residual;
    if (request.draft.values) return -1;
    return contract::load_id(request.draft_token_ids, request.token_id_type, output);
  }
  bool has_valid_draft(int64_t output) const {
    const int64_t id = removed(output);
    return call_.residual->draft.values || (id >= 0 && id < call_.input().num_cols);
  }
  RowView draft_view(int64_t output) const {
    RowView view = contract::row_view(call_.residual->draft, output);
    view.count = int32_t(call_.num_cols);
    return view;
  }

  // The statuses are those of p and of q, the candidate the residual's first token.
  void write_residual_start(int64_t output, TaskBuffers &buffers, char *out) const {
    StartRow start = {SAMPLER_ROW_EMPTY, SAMPLER_ROW_EMPTY, 0, 0, 0};
    Digest digest;
    digest.add(removed(output));
    start.digest = digest.value();
    const RowView p = given_view(output);
    start.given_status = load(p, buffers, &start.given_first);
    Rank unused = 0;
    const bool has_draft = call_.residual->draft.values;
    if (has_draft) start.edited_status = load(draft_view(output), buffers, &unused);
    float *const residual = memory_.edited + output * call_.num_cols;
    const RowView q = has_draft ? draft_view(output) : p;
    const int64_t own_removed = removed(output) - call_.first_id;
    Rank first = 0;
    columns(p).for_each([&](int64_t i, float x) {
      const float rest = has_draft ? contract::residual_probability(x, q.value(i)) : x;
      residual[i] = !has_draft && i == own_removed ? 0.0f : rest;
      first = std::max(first, columns(p).rank_of(i, residual[i]));
    });
    if (first >= contract::lowest_cut(kind())) {
      start.num_tokens = 1;
      std::memcpy(out + sizeof start, &first, sizeof first);
    }
    std::memcpy(out, &start, sizeof start);
  }

  void choose_residual(int64_t output, const StartRow &all, bool is_nothing, RowState &row) const {
    row.status = all.given_status;
    if (row.status == SAMPLER_ROW_OK && all.edited_status != SAMPLER_ROW_EMPTY) {
      row.status = all.edited_status;
    }
    row.uses_given = is_nothing || !has_valid_draft(output);
    row.first = row.uses_given ? all.given_first : list(row)[0].rank;
    row.parameters = {1.0f, 0, 1.0f, 0.0f};
    row.found = Found::kOpen;
    row.cut = {contract::key_of_rank(contract::lowest_cut(kind())), SharedCut::kAllTies};
  }

  void write_residual(int64_t output, const RowState &row) const {
    const contract::ResidualRequest &request = *call_.residual;
    const bool good = row.status == SAMPLER_ROW_OK;
    char *const out =
        static_cast<char *>(request.output) +
        output * request.output_stride * int64_t(contract::size_of(request.output_dtype));
    const RowScale scale = good ? draw_scale(row) : RowScale();
    const float normalizer = good ? contract::normalizer(row.kept_weight) : 0.0f;
    columns(view(output)).for_each([&](int64_t i, float x) {
      const float value = good ? contract::relative_probability(scale, x) * normalizer : 0.0f;
      contract::store_value(out, request.output_dtype, i, value);
    });
    if (!request.out_row_status) return;
    const uint32_t invalid_draft =
        has_valid_draft(output) ? 0u : uint32_t(SAMPLER_ROW_INVALID_DRAFT);
    request.out_row_status[output] = row.status | invalid_draft;
  }

  uint64_t digest_selected(int64_t output) const {
    const int32_t *const counts = call_.select->selected_counts;
    Digest digest;
    digest.add(counts ? counts[output] : 0);
    return digest.value();
  }

  void write_candidates(int64_t output, Rank first, int64_t num_tokens, TaskBuffers &buffers,
                        char *out) const {
    const int64_t wanted = std::min(plan_.num_candidates, num_tokens);
    const Rank *ranks = nullptr;
    if (wanted > 1) buffers.with_row([&](auto &row) { row.select(wanted, &ranks); });
    const RowView given = given_view(output);
    char *const values = out + size_t(plan_.num_candidates) * sizeof(Rank);
    for (int64_t i = 0; i < wanted; ++i) {
      const Rank rank = wanted > 1 ? to_global(ranks[i]) : first;
      std::memcpy(out + size_t(i) * sizeof rank, &rank, sizeof rank);
      if (!plan_.has_values) continue;
      const float value = given.value(contract::id_of_rank(rank) - call_.first_id);
      std::memcpy(values + size_t(i) * sizeof value, &value, sizeof value);
    }
  }

  // Brings the first `wanted` of some elements to their begin, in order.
  template <class T, class Before>
  static void take_first(T *elements, int64_t count, int64_t wanted, const Before &before) {
    if (wanted < count) std::nth_element(elements, elements + wanted, elements + count, before);
    std::sort(elements, elements + std::min(wanted, count), before);
  }

  // ---- What the other rounds send

  void write(ShardPart part, int64_t output, const RowState &row, TaskBuffers &buffers,
             char *out) const {
    if (part == ShardPart::kStart) {
      return call_.residual ? write_residual_start(output, buffers, out)
                            : write_start(output, buffers, out);
    }
    if (row.status != SAMPLER_ROW_OK) return;
    switch (part) {
      case ShardPart::kDigit:
        if (row.found == Found::kSearched) write_digit(output, row, out);
        return;
      case ShardPart::kSums:
        return write_sums(output, row, out);
      case ShardPart::kToken:
        if (!row.is_settled) write_token(output, row, out);
        return;
      default:
        return write_rank(output, row, out);
    }
  }

  void write_digit(int64_t output, const RowState &row, char *out) const {
    DigitRow sums = {};
    const RowScale scale = filter_scale(row);
    const bool sees_min_p =
        rules().order == SAMPLER_FILTERS_MIN_P_FIRST && contract::min_p_is_on(row.parameters.min_p);
    const uint32_t lowest =
        sees_min_p ? min_p_key(row)
                   : contract::lowest_key_of_weight(scale, contract::key_of_rank(row.first), 1);
    columns(view(output))
        .add_by_key(
            scale,
            [&](uint32_t key) {
              const bool counts = key >= lowest && row.search.is_below(key, round_ - 1);
              return counts ? contract::DigitSearch::value(key, round_ - 1) : -1;
            },
            sums.weights);
    std::memcpy(out, &sums, sizeof sums);
  }

  uint32_t min_p_key(const RowState &row) const {
    const RowScale scale = filter_scale(row);
    const uint64_t first = contract::weight(scale, contract::value_of_rank(row.first));
    return contract::lowest_key_of_weight(scale, contract::key_of_rank(row.first),
                                          contract::min_p_threshold(row.parameters.min_p, first));
  }

  void write_sums(int64_t output, const RowState &row, char *out) const {
    SumsRow sums = {};
    if (call_.sample && reports_row(*call_.sample)) add_reported(output, row, &sums);
    const RowView own = view(output);
    if (row.found == Found::kListed) {
      if (decides_by_sums(row)) add_list_sums(row, own, &sums);
    } else {
      add_kept(row, own, &sums);
    }
    std::memcpy(out, &sums, sizeof sums);
  }

  void add_reported(int64_t output, const RowState &row, SumsRow *sums) const {
    const bool is_given = reports_given(call_);
    const RowScale scale = scale_at(is_given ? row.given_first : row.first, 1.0f);
    add_weight(columns(is_given ? given_view(output) : view(output)), scale,
               contract::lowest_cut(kind()), &sums->reported_weight, &sums->reported_surprise);
  }

  // And what is surprising in it, where that is reported.
  void add_weight(const OwnColumns &own, const RowScale &scale, Rank cut, uint64_t *weight,
                  uint64_t *surprise) const {
    const bool wants_entropy =
        call_.sample && call_.sample->reports && call_.sample->reports->out_entropies;
    const contract::EntropySums sums = wants_entropy
                                           ? own.entropy_sums(scale, cut)
                                           : contract::EntropySums{own.weight(scale, cut), 0};
    *weight += sums.weight;
    *surprise += sums.surprise;
  }

  void add_list_sums(const RowState &row, const RowView &own, SumsRow *sums) const {
    const uint32_t key = contract::key_of_rank(list(row)[num_deciding(row) - 1].rank);
    if (rules().order == SAMPLER_FILTERS_JOINT) {
      sums->seen_weight = columns(own).weight(filter_scale(row), contract::lowest_cut(kind()));
    }
    sums->ties = uint64_t(columns(own).count_ties(key));
  }

  void add_kept(const RowState &row, const RowView &own, SumsRow *sums) const {
    const Rank cut = own_cut(row, own);
    sums->kept_count = uint64_t(columns(own).count(cut));
    add_weight(columns(own), draw_scale(row), cut, &sums->kept_weight, &sums->kept_surprise);
  }

  void write_token(int64_t output, const RowState &row, char *out) const {
    TokenRow token = {0.0f, -1, 0.0f, 0.0f};
    const bool by_score = call_.sample->draw_method == SAMPLER_DRAW_GUMBEL;
    const RowView own = view(output);
    const RowScale scale = draw_scale(row);
    const Rank cut = own_cut(row, own);
    int64_t best = -1;
    if (by_score) {
      const GumbelBest found =
          columns(own).gumbel(scale, call_.sample->random.of(slot(output)), cut);
      token.score = found.score;
      best = found.index;
    } else if (row.is_owner) {
      best = columns(own).find(scale, cut, row.target);
    }
    if (best >= 0) {
      token.id = int32_t(call_.first_id + best);
      token.value = own.value(best);
      token.given_value = given_view(output).value(best);
    }
    std::memcpy(out, &token, sizeof token);
  }

  void write_rank(int64_t output, const RowState &row, char *out) const {
    const bool is_given = reports_given(call_);
    const Rank rank =
        contract::rank_of(is_given ? row.given_value : row.value, uint32_t(row.token));
    const OwnColumns own = columns(is_given ? given_view(output) : view(output));
    const RankRow result = {uint64_t(own.count(rank + 1))};
    std::memcpy(out, &result, sizeof result);
  }

  // Scores by GUMBEL of ascending ids, four of which share a block of random words.
  class Scores {
   public:
    explicit Scores(const contract::RandomStream &random) : random_(random) {}

    float of(sampler_input_kind kind, float x, const RowScale &scale, uint32_t id) {
      if (index_ != id >> 2) {
        index_ = id >> 2;
        block_ = contract::random_block(random_, contract::Purpose::kGumbel, index_);
      }
      return contract::gumbel_score(kind, x, scale.scale, block_.word[id & 3]);
    }

   private:
    contract::RandomStream random_;
    contract::Philox4 block_ = {};
    uint32_t index_ = UINT32_MAX;
  };

  // ---- What the ranks have sent

  void read(int64_t output, RowState &row, TaskBuffers &buffers) const {
    const ShardPart part = plan_.part(round_ - 1);
    if (part == ShardPart::kStart) return read_start(output, row, buffers);
    if (row.status != SAMPLER_ROW_OK) return;
    switch (part) {
      case ShardPart::kDigit:
        if (row.found == Found::kSearched) read_digit(output, row);
        return;
      case ShardPart::kSums:
        return read_sums(output, row, buffers);
      case ShardPart::kToken:
        if (!row.is_settled) read_token(output, row);
        return;
      default:
        for_each_rank<RankRow>(
            output, [&](int64_t, const RankRow &own) { row.num_before += own.num_before; });
    }
  }

  const char *received_row(int64_t rank, int64_t output) const {
    const size_t row_bytes = plan_.row_bytes(plan_.part(round_ - 1));
    return received_ + size_t(rank) * plan_.message_bytes(round_ - 1) + sizeof(Header) +
           size_t(output) * row_bytes;
  }
  template <class Part, class F>
  void for_each_rank(int64_t output, const F &f) const {
    for (int64_t rank = 0; rank < call_.num_ranks; ++rank) {
      Part part;
      std::memcpy(&part, received_row(rank, output), sizeof part);
      f(rank, part);
    }
  }

  bool owns(int64_t rank, int64_t id) const {
    return id >= memory_.first_ids[rank] && id < memory_.first_ids[rank + 1];
  }

  Candidate *list(const RowState &row) const {
    return memory_.candidates + (&row - memory_.rows) * plan_.num_candidates;
  }

  static bool is_before(const Candidate &a, const Candidate &b) { return a.rank > b.rank; }

  void read_start(int64_t output, RowState &row, TaskBuffers &buffers) const {
    row = {};
    StartRow all = {SAMPLER_ROW_EMPTY, SAMPLER_ROW_EMPTY, 0, 0, 0};
    int64_t num_candidates = 0;
    for_each_rank<StartRow>(output, [&](int64_t rank, const StartRow &own) {
      if (rank == 0) all.digest = own.digest;
      const uint32_t given =
          own.digest == all.digest ? own.given_status : uint32_t(SAMPLER_ROW_INVALID_SHARD);
      all.given_status = contract::status_of_parts(all.given_status, given);
      all.edited_status = contract::status_of_parts(all.edited_status, own.edited_status);
      all.num_tokens += own.num_tokens;
      all.given_first = std::max(all.given_first, own.given_first);
      if (!read_candidates(rank, output, own, buffers.candidates, &num_candidates)) {
        all.given_status = SAMPLER_ROW_INVALID_SHARD;
      }
    });
    if (call_.residual) {
      take_first(buffers.candidates, num_candidates, std::min<int64_t>(num_candidates, 1),
                 is_before);
      if (num_candidates > 0) *list(row) = buffers.candidates[0];
      return choose_residual(output, all, num_candidates == 0, row);
    }
    row.status = all.given_status != SAMPLER_ROW_OK ? all.given_status : all.edited_status;
    if (row.status != SAMPLER_ROW_OK) return;
    row.num_tokens = all.num_tokens;
    row.given_first = all.given_first;
    row.num_listed = std::min(num_candidates, plan_.num_candidates);
    if (row.num_listed == 0) {
      row.status = SAMPLER_ROW_INVALID_SHARD;  // no rank sends this
      return;
    }
    take_first(buffers.candidates, num_candidates, row.num_listed, is_before);
    std::copy_n(buffers.candidates, row.num_listed, list(row));
    row.first = list(row)[0].rank;
    if (!call_.select) choose_way(output, row, buffers);
  }

  // False where they are none.
  bool read_candidates(int64_t rank, int64_t output, const StartRow &start, Candidate *out,
                       int64_t *count) const {
    const int64_t num_cols = memory_.first_ids[rank + 1] - memory_.first_ids[rank];
    if (start.num_tokens < 0 || start.num_tokens > num_cols) return false;
    const int64_t num = std::min(start.num_tokens, plan_.num_candidates);
    const char *const ranks = received_row(rank, output) + sizeof start;
    const char *const values = ranks + size_t(plan_.num_candidates) * sizeof(Rank);
    for (int64_t i = 0; i < num; ++i) {
      Candidate candidate = {0, 0.0f, int32_t(rank)};
      std::memcpy(&candidate.rank, ranks + size_t(i) * sizeof(Rank), sizeof(Rank));
      if (!owns(rank, contract::id_of_rank(candidate.rank))) return false;
      if (candidate.rank < contract::lowest_cut(kind())) return false;
      if (plan_.has_values) {
        std::memcpy(&candidate.given_value, values + size_t(i) * sizeof(float), sizeof(float));
      }
      out[(*count)++] = candidate;
    }
    return true;
  }

  // How the row's cut is found.
  void choose_way(int64_t output, RowState &row, TaskBuffers &buffers) const {
    RowParameters parameters = {};
    visit(call_, [&](const auto &request) {
      return contract::read_parameters(request, request.slots[output], &parameters);
    });
    if (call_.pipeline()) parameters = call_.pipeline()->adapted(parameters, slot(output));
    row.parameters = parameters;
    row.greedy = contract::is_greedy(parameters.temperature);
    if (!row.greedy && !has_top_k(parameters.top_k, call_.input().num_cols)) {
      row.found = contract::top_p_is_on(parameters.top_p) ? Found::kSearched : Found::kOpen;
      const uint32_t lowest = contract::key_of_rank(contract::lowest_cut(kind()));
      const bool has_min_p = contract::min_p_is_on(parameters.min_p);
      row.cut = {has_min_p ? min_p_key(row) : lowest, SharedCut::kAllTies};
      return;
    }
    row.found = Found::kListed;
    if (!row.greedy && parameters.top_k > plan_.num_candidates) {
      row.status = SAMPLER_ROW_INVALID_SHARD;
      return;
    }
    if (!decides_by_sums(row)) decide_by_list(output, row, nullptr, buffers);
  }

  // Of the list, those that top-k may keep.
  int64_t num_deciding(const RowState &row) const {
    return row.greedy ? 1 : std::min<int64_t>(row.parameters.top_k, row.num_listed);
  }

  // Whether more must be known of a row than its first tokens.
  bool decides_by_sums(const RowState &row) const {
    if (row.greedy || !plan_.has_sums) return false;
    return rules().top_k_ties == SAMPLER_TIES_KEEP ||
           (rules().order == SAMPLER_FILTERS_JOINT && contract::top_p_is_on(row.parameters.top_p));
  }

  // The cut of a listed row. `sums` may be null where the list alone decides.
  void decide_by_list(int64_t output, RowState &row, const SumsRow *sums,
                      TaskBuffers &buffers) const {
    const Candidate *const list = this->list(row);
    const int64_t num_deciding = this->num_deciding(row);
    const CandidateRanks ranks = {list};
    // Without sums top-k keeps no further ties.
    const contract::ListedPrefix<CandidateRanks> listed(ranks, num_deciding, 1, 0, 0,
                                                        filter_scale(row));
    const int64_t first_tie = listed.first_tie();
    const bool keeps_ties = sums && rules().top_k_ties == SAMPLER_TIES_KEEP;
    const uint64_t num_listed_ties = uint64_t(num_deciding - first_tie);
    const uint64_t num_ties = keeps_ties ? std::max(sums->ties, num_listed_ties) : num_listed_ties;
    contract::ListedPrefix<CandidateRanks> prefix(ranks, num_deciding, num_ties, row.num_tokens,
                                                  sums ? sums->seen_weight : 0, filter_scale(row));
    row.kept_count = row.greedy ? 1 : contract::filtered_prefix(prefix, row.parameters, rules());
    if (row.kept_count <= row.num_listed) {
      row.has_list_cut = true;
      row.list_cut = list[row.kept_count - 1].rank;
      row.is_settled = true;
      weigh_list(row, row.kept_count);
      if (call_.sample) draw_from_list(output, row, buffers);
    } else {
      weigh_list(row, first_tie);
      const uint32_t key = contract::key_of_rank(list[num_deciding - 1].rank);
      row.cut = {key, uint64_t(row.kept_count - first_tie)};
    }
  }

  void weigh_list(RowState &row, int64_t count) const {
    const RowScale scale = draw_scale(row);
    for (int64_t i = 0; i < count; ++i) add_kept_token(scale, list(row)[i].rank, 1, &row);
  }
  void add_kept_token(const RowScale &scale, Rank rank, uint64_t times, RowState *row) const {
    const contract::EntropySums sums = contract::entropy_sums(scale, contract::value_of_rank(rank));
    row->kept_weight += times * sums.weight;
    row->kept_surprise += times * sums.surprise;
  }

  // From the kept ones, which are all in the list.
  void draw_from_list(int64_t output, RowState &row, TaskBuffers &buffers) const {
    const int64_t count = row.kept_count;
    Candidate *const kept = buffers.candidates;
    std::copy_n(list(row), count, kept);
    int64_t drawn = 0;
    if (!row.greedy) {
      std::sort(kept, kept + count, [](const Candidate &a, const Candidate &b) {
        return contract::id_of_rank(a.rank) < contract::id_of_rank(b.rank);
      });
      drawn = draw_of_kept(output, row, kept, count);
    }
    row.token = contract::id_of_rank(kept[drawn].rank);
    row.value = contract::value_of_rank(kept[drawn].rank);
    row.given_value = kept[drawn].given_value;
    row.token_place = std::find_if(list(row), list(row) + count,
                                   [&](const Candidate &candidate) {
                                     return candidate.rank == kept[drawn].rank;
                                   }) -
                      list(row);
  }

  int64_t draw_of_kept(int64_t output, const RowState &row, const Candidate *kept,
                       int64_t count) const {
    const contract::RandomStream random = call_.sample->random.of(slot(output));
    const RowScale scale = draw_scale(row);
    if (call_.sample->draw_method == SAMPLER_DRAW_GUMBEL) {
      Scores scores(random);
      int64_t best = -1;
      float best_score = 0.0f;
      for (int64_t i = 0; i < count; ++i) {
        const float score = scores.of(kind(), contract::value_of_rank(kept[i].rank), scale,
                                      contract::id_of_rank(kept[i].rank));
        if (best >= 0 && !(score > best_score)) continue;
        best = i;
        best_score = score;
      }
      return best;
    }
    const uint64_t target = draw_target(random, row.kept_weight);
    uint64_t sum = 0;
    int64_t i = 0;
    for (; i < count - 1; ++i) {
      sum += contract::weight(scale, contract::value_of_rank(kept[i].rank));
      if (sum > target) break;
    }
    return i;
  }

  static uint64_t draw_target(const contract::RandomStream &random, uint64_t weight) {
    return contract::draw_target(contract::random_word64(random, contract::Purpose::kSample, 0),
                                 weight);
  }

  void read_digit(int64_t output, RowState &row) const {
    const int digit = round_ - 2;
    DigitRow all = {};
    uint64_t seen = 0;
    for_each_rank<DigitRow>(output, [&](int64_t, const DigitRow &own) {
      for (int v = 0; v < contract::kNumDigitValues; ++v) all.weights[v] += own.weights[v];
    });
    if (digit == 0) {
      for (const uint64_t weight : all.weights) seen += weight;
      row.search.missing =
          std::max<uint64_t>(contract::top_p_threshold(row.parameters.top_p, seen), 1);
    }
    const int value = row.search.take(all.weights);
    if (digit + 1 == contract::kNumDigits) finish_search(output, row, value);
  }

  void finish_search(int64_t output, RowState &row, int value) const {
    const uint32_t key = row.search.key;
    // The cut so far is that of min-p, all of whose tokens weigh as much as it asks for.
    if (key < row.cut.key) return;
    if (rules().top_p_ties == SAMPLER_TIES_KEEP) {
      row.cut = {key, SharedCut::kAllTies};
      return;
    }
    const uint64_t weight =
        std::max<uint64_t>(contract::weight(filter_scale(row), contract::value_of_key(key)), 1);
    const uint64_t ties = (row.search.missing + weight - 1) / weight;
    uint64_t before = 0, own = 0;
    for_each_rank<DigitRow>(output, [&](int64_t rank, const DigitRow &sums) {
      const uint64_t count = sums.weights[value] / weight;
      if (rank < call_.rank) before += count;
      if (rank == call_.rank) own = count;
    });
    row.cut = {key, contract::own_ties(ties, before, own)};
  }

  void read_sums(int64_t output, RowState &row, TaskBuffers &buffers) const {
    SumsRow all = {};
    for_each_rank<SumsRow>(output, [&](int64_t, const SumsRow &own) {
      all.reported_weight += own.reported_weight;
      all.reported_surprise += own.reported_surprise;
      all.seen_weight += own.seen_weight;
      all.ties += own.ties;
      all.kept_weight += own.kept_weight;
      all.kept_surprise += own.kept_surprise;
      all.kept_count += own.kept_count;
      if (own.ties > uint64_t(call_.input().num_cols)) row.status = SAMPLER_ROW_INVALID_SHARD;
    });
    if (row.status != SAMPLER_ROW_OK) return;
    row.reported_weight = all.reported_weight;
    row.reported_surprise = all.reported_surprise;
    if (row.found != Found::kListed) {
      row.kept_weight = all.kept_weight;
      row.kept_surprise = all.kept_surprise;
      row.kept_count = int64_t(all.kept_count);
      choose_owner(output, row, [&](int64_t rank) { return sums_of(rank, output).kept_weight; });
    } else if (decides_by_sums(row)) {
      decide_by_list(output, row, &all, buffers);
      if (!row.is_settled) share_ties(output, row);
    }
  }

  SumsRow sums_of(int64_t rank, int64_t output) const {
    SumsRow sums;
    std::memcpy(&sums, received_row(rank, output), sizeof sums);
    return sums;
  }

  // Of a listed row that keeps ties beyond its list.
  void share_ties(int64_t output, RowState &row) const {
    const RowScale scale = draw_scale(row);
    const uint64_t ties = row.cut.ties;
    const Rank tie = list(row)[num_deciding(row) - 1].rank;
    const int64_t num_above = row.kept_count - int64_t(ties);
    add_kept_token(scale, tie, ties, &row);
    uint64_t before = 0;
    const uint64_t tie_weight = contract::weight(scale, contract::value_of_rank(tie));
    choose_owner(output, row, [&](int64_t rank) {
      const uint64_t held = sums_of(rank, output).ties;
      const uint64_t own = contract::own_ties(ties, before, held);
      before += held;
      if (rank == call_.rank) row.cut.ties = own;
      uint64_t weight = own * tie_weight;
      for (int64_t i = 0; i < num_above; ++i) {
        const Candidate &candidate = list(row)[i];
        if (candidate.owner == rank) {
          weight += contract::weight(scale, contract::value_of_rank(candidate.rank));
        }
      }
      return weight;
    });
  }

  // Where the target lies: `weight_of(rank)` is what each rank keeps, asked once for each.
  template <class WeightOf>
  void choose_owner(int64_t output, RowState &row, const WeightOf &weight_of) const {
    const uint64_t target =
        call_.sample ? draw_target(call_.sample->random.of(slot(output)), row.kept_weight) : 0;
    uint64_t sum = 0;
    for (int64_t rank = 0; rank < call_.num_ranks; ++rank) {
      const uint64_t weight = weight_of(rank);
      if (rank == call_.rank && target >= sum && target - sum < weight) {
        row.is_owner = true;
        row.target = target - sum;
      }
      sum += weight;
    }
  }

  void read_token(int64_t output, RowState &row) const {
    const bool by_score = call_.sample->draw_method == SAMPLER_DRAW_GUMBEL;
    TokenRow best = {0.0f, -1, 0.0f, 0.0f};
    for_each_rank<TokenRow>(output, [&](int64_t rank, const TokenRow &own) {
      if (!owns(rank, own.id)) return;
      if (best.id < 0 || (by_score && own.score > best.score)) best = own;
    });
    if (best.id < 0) {
      row.status = SAMPLER_ROW_INVALID_SHARD;
      return;
    }
    row.token = best.id;
    row.value = best.value;
    row.given_value = best.given_value;
  }

  // ---- Outputs

  void write_outputs(int64_t output, const RowState &row) const {
    if (call_.residual) return write_residual(output, row);
    if (call_.select) return write_selected(output, row);
    if (call_.filter) return write_filtered(output, row);
    const contract::SampleRequest &request = *call_.sample;
    const bool good = row.status == SAMPLER_ROW_OK;
    contract::store_id(request.out_token_ids, output, good ? row.token : request.bad_row_token);
    if (request.out_row_status) request.out_row_status[output] = row.status;
    if (request.out_kept_counts)
      request.out_kept_counts[output] = good ? int32_t(row.kept_count) : 0;
    if (request.out_values) {
      request.out_values[output] = good ? row.given_value : contract::quiet_nan();
    }
    const contract::Reported reported = good ? this->reported(row) : contract::Reported();
    if (request.out_logprobs) {
      const float value = reports_given(call_) ? row.given_value : row.value;
      request.out_logprobs[output] =
          good ? reported.log_probability(value, uint32_t(row.token)) : contract::quiet_nan();
    }
    if (request.reports) write_reports(*request.reports, output, row, reported);
  }

  // With all tokens in it: those that are asked about are.
  contract::Reported reported(const RowState &row) const {
    if (call_.sample->logprob_kind == SAMPLER_LOGPROB_PROCESSED) {
      return {draw_scale(row), 0, row.kept_weight, row.greedy, ~Rank(0)};
    }
    return {scale_at(reports_given(call_) ? row.given_first : row.first, 1.0f), 0,
            row.reported_weight, false, ~Rank(0)};
  }

  void write_reports(const contract::Reports &to, int64_t output, const RowState &row,
                     const contract::Reported &reported) const {
    const bool good = row.status == SAMPLER_ROW_OK;
    const bool of_kept = call_.sample->logprob_kind == SAMPLER_LOGPROB_PROCESSED;
    if (to.out_ranks) {
      const uint64_t before = plan_.has_rank ? row.num_before : uint64_t(row.token_place);
      to.out_ranks[output] = good ? int32_t(before) + 1 : 0;
    }
    if (to.out_entropies) {
      const contract::EntropySums sums =
          of_kept ? contract::EntropySums{row.kept_weight, row.kept_surprise}
                  : contract::EntropySums{row.reported_weight, row.reported_surprise};
      const bool is_one = of_kept && row.greedy;
      to.out_entropies[output] = !good    ? contract::quiet_nan()
                                 : is_one ? 0.0f
                                          : contract::entropy_in_nats(sums);
    }
    const int64_t in_distribution = of_kept ? row.kept_count : row.num_listed;
    const int64_t count = good ? std::min(row.num_listed, in_distribution) : 0;
    for (int64_t i = 0; i < to.num_top; ++i) {
      const int64_t place = output * to.num_top + i;
      const Rank rank = i < count ? list(row)[i].rank : 0;
      const int64_t id = i < count ? int64_t(contract::id_of_rank(rank)) : -1;
      if (to.out_top_token_ids.data) contract::store_id(to.out_top_token_ids, place, id);
      if (to.out_top_logprobs) {
        to.out_top_logprobs[place] =
            i < count ? reported.log_probability(contract::value_of_rank(rank), uint32_t(id))
                      : contract::quiet_nan();
      }
    }
  }

  void write_filtered(int64_t output, const RowState &row) const {
    const contract::RowsRequest &request = *call_.filter;
    const bool good = row.status == SAMPLER_ROW_OK;
    const bool is_mask = request.output_kind == SAMPLER_OUTPUT_VALUES;
    char *const out =
        static_cast<char *>(request.output) +
        output * request.output_stride * int64_t(contract::size_of(request.output_dtype));
    const auto store = [&](int64_t i, float x) {
      contract::store_value(out, request.output_dtype, i, x);
    };
    if (request.out_row_status) request.out_row_status[output] = row.status;
    if (request.out_kept_counts)
      request.out_kept_counts[output] = good ? int32_t(row.kept_count) : 0;
    if (!good) {
      columns(given_view(output)).for_each([&](int64_t i, float x) {
        store(i, is_mask ? x : 0.0f);
      });
      return;
    }
    const RowView own = view(output);
    const contract::Distribution kept = {draw_scale(row), own_cut(row, own), row.kept_weight,
                                         contract::normalizer(row.kept_weight), row.greedy};
    columns(own).for_each([&](int64_t i, float x) {
      const Rank rank = columns(own).rank_of(i, x);
      const float value = kept.keeps(rank) ? x : contract::negative_infinity();
      store(i, is_mask ? value : kept.probability(x, rank));
    });
  }

  void write_selected(int64_t output, const RowState &row) const {
    const contract::SelectRequest &request = *call_.select;
    const int32_t own = request.selected_counts ? request.selected_counts[output] : 0;
    const int64_t wanted = own <= 0 || own >= request.num_selected ? request.num_selected : own;
    const bool good = row.status == SAMPLER_ROW_OK;
    const int64_t count = good ? std::min(wanted, row.num_listed) : 0;
    const float nothing = kind() == SAMPLER_LOGITS ? contract::negative_infinity() : 0.0f;
    for (int64_t i = 0; i < request.num_selected; ++i) {
      const int64_t place = output * request.num_selected + i;
      if (request.out_values) {
        contract::store_value(request.out_values, request.output_dtype, place,
                              i < count ? list(row)[i].given_value : nothing);
      }
      if (!request.out_token_ids.data) continue;
      contract::store_id(request.out_token_ids, place,
                         i < count ? int64_t(contract::id_of_rank(list(row)[i].rank)) : -1);
    }
    if (request.out_counts) request.out_counts[output] = int32_t(count);
    if (request.out_row_status) request.out_row_status[output] = row.status;
  }

  const ShardCall &call_;
  const ShardPlan &plan_;
  const Memory &memory_;
  const Passes *passes_;
  int round_;
  const char *received_;
  char *send_;
};

class RoundTasks final : public Tasks {
 public:
  RoundTasks(const ShardCall &call, const ShardPlan &plan, const Memory &memory,
             const Executor &executor, const Round &round)
      : Tasks(memory.num_tasks),
        call_(call),
        plan_(plan),
        memory_(memory),
        executor_(executor),
        round_(round) {}

 private:
  void run(int64_t index) override {
    TaskMemory memory(executor_, memory_.tasks + size_t(index) * memory_.task_bytes);
    TaskBuffers buffers(call_, plan_, executor_, memory, false);
    const int64_t begin = plan_.num_rows * index / size();
    const int64_t end = plan_.num_rows * (index + 1) / size();
    for (int64_t row = begin; row < end; ++row) round_.run_row(row, buffers);
  }

  const ShardCall &call_;
  const ShardPlan &plan_;
  const Memory &memory_;
  const Executor &executor_;
  const Round &round_;
};

[[gnu::format(printf, 2, 3)]] bool refuse(ShardFault *fault, const char *format, ...) {
  va_list values;
  va_start(values, format);
  std::vsnprintf(fault->text, sizeof fault->text, format, values);
  va_end(values);
  return false;
}

// The headers of all ranks, which every rank judges alike.
bool read_headers(const ShardCall &call, const ShardPlan &plan, int round,
                  const ShardDigests &digests, const void *received, int32_t *first_ids,
                  ShardFault *fault) {
  const int64_t total_cols = call.input().num_cols;
  int64_t next_id = 0;
  for (int64_t rank = 0; rank < call.num_ranks; ++rank) {
    Header header, first;
    std::memcpy(&first, received, sizeof first);
    std::memcpy(&header,
                static_cast<const char *>(received) + size_t(rank) * plan.message_bytes(round),
                sizeof header);
    if (header.round != (kMagic | uint64_t(round)) || header.rank != rank) {
      return refuse(fault,
                    "received has no message of round %d at the place of rank %" PRId64
                    "; messages stand in the order of their ranks",
                    round, rank);
    }
    for (int group = 0; group < ShardDigests::kNumGroups; ++group) {
      if (header.digests[group] == first.digests[group]) continue;
      return refuse(fault, "%s differs between ranks 0 and %" PRId64 "; it must be the same",
                    ShardDigests::name(group), rank);
    }
    if (header.first_id != next_id) {
      return refuse(fault,
                    "first_token_id of rank %" PRId64 " is %d; it must be %" PRId64
                    ", where the range before it ends",
                    rank, int(header.first_id), next_id);
    }
    first_ids[rank] = header.first_id;
    next_id += header.num_cols;
  }
  first_ids[call.num_ranks] = int32_t(next_id);
  if (next_id != total_cols) {
    return refuse(fault, "the ranks' ranges end at %" PRId64 "; it must be total_cols, %" PRId64,
                  next_id, total_cols);
  }
  for (int group = 0; group < ShardDigests::kNumGroups; ++group) {
    Header own;
    std::memcpy(&own,
                static_cast<const char *>(received) + size_t(call.rank) * plan.message_bytes(round),
                sizeof own);
    if (own.digests[group] != digests.groups[group]) {
      return refuse(fault, "%s is not what it was in round %d; it must be the same in all rounds",
                    ShardDigests::name(group), round);
    }
  }
  return true;
}

}  // namespace

bool run_shard_round(const ShardCall &call, int round, const Executor &executor, void *workspace,
                     const void *received, void *send, Misuse *misuse, ShardFault *fault) {
  const ShardPlan plan = plan_shards(call);
  const ShardDigests digests = digest_arguments(call);
  Arena arena(workspace);
  const Memory memory(call, plan, executor, arena);
  Progress &progress = *memory.progress;
  if (round == 0) {
    progress = {kMagic, 0};
    for (int64_t i = 0; i < call.num_cols + kListPadding; ++i) {
      memory.ids[i] = int32_t(call.first_id + i);
    }
  } else if (progress.magic != kMagic || progress.next_round != round) {
    return refuse(fault,
                  "round is %d; rounds come in order, from 0 on, with a workspace of their own",
                  round);
  } else if (!read_headers(call, plan, round - 1, digests, received, memory.first_ids, fault)) {
    progress.magic = 0;
    return false;
  }
  if (round < plan.num_exchanges()) {
    Header header = {kMagic | uint64_t(round),
                     {},
                     int32_t(call.rank),
                     int32_t(call.num_ranks),
                     int32_t(call.first_id),
                     int32_t(call.num_cols),
                     0};
    std::copy_n(digests.groups, ShardDigests::kNumGroups, header.digests);
    std::memcpy(send, &header, sizeof header);
  }
  const Round work(call, plan, round, memory, executor.passes, received, send);
  RoundTasks tasks(call, plan, memory, executor, work);
  *misuse = executor.run(&tasks);
  progress.next_round = round + 1;
  return true;
}

}  // namespace sampler::cpu
