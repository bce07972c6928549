#include "problem.h"
#include "../sized.h"

#include <algorithm>
#include <limits>
#include <random>

namespace shards_test {

using oracle_test::RowKind;

sampler_rows Rows::whole() const {
  sampler_rows rows = {};
  rows.values = bytes.data();
  rows.num_rows = num_rows;
  rows.num_cols = num_cols;
  rows.dtype = dtype;
  rows.kind = kind;
  return rows;
}

sampler_rows Rows::part(int64_t begin, int64_t end, std::vector<unsigned char> *own) const {
  sampler_rows rows = whole();
  rows.num_cols = end - begin;
  rows.row_stride = end - begin + 3;
  if (end == begin) rows.values = nullptr, rows.row_stride = 0;
  const size_t size = element_bytes();
  own->assign(size_t(num_rows * rows.row_stride) * size + 16, 0xFF);
  for (int64_t row = 0; row < num_rows && end > begin; ++row) {
    std::memcpy(own->data() + size_t(row * rows.row_stride) * size,
                bytes.data() + size_t(row * num_cols + begin) * size, size_t(end - begin) * size);
  }
  if (end > begin) rows.values = own->data();
  return rows;
}

Rows make_rows(int64_t num_rows, int64_t num_cols, sampler_dtype dtype, sampler_input_kind kind,
               bool has_bad_rows, uint64_t seed) {
  oracle_test::Random random(seed);
  Rows rows = {num_rows, num_cols, dtype, kind, {}, {}};
  constexpr size_t kNumKinds = size_t(RowKind::kNumKinds);
  for (int64_t i = 0; i < num_rows; ++i) {
    const auto row_kind = RowKind((seed + size_t(i)) % kNumKinds);
    std::vector<float> row = make_logits(row_kind, size_t(num_cols), dtype, &random);
    if (kind == SAMPLER_PROBABILITIES) {
      row = oracle_test::make_probabilities(row, i % 2 ? 1.0 : 3.0);
    }
    if (has_bad_rows && random.below(4) == 0) {
      const float infinity = std::numeric_limits<float>::infinity();
      const float nothing = kind == SAMPLER_LOGITS ? -infinity : 0.0f;
      const size_t which = random.below(3);
      if (which == 0) std::fill(row.begin(), row.end(), nothing);
      if (which == 1) row[random.below(row.size())] = std::numeric_limits<float>::quiet_NaN();
      if (which == 2) row[random.below(row.size())] = infinity;
    }
    const oracle_test::TypedRow typed = oracle_test::to_type(row, dtype);
    rows.values.insert(rows.values.end(), typed.values.begin(), typed.values.end());
    const auto *const begin = dtype == SAMPLER_F32
                                  ? reinterpret_cast<const unsigned char *>(typed.values.data())
                                  : reinterpret_cast<const unsigned char *>(typed.halfs.data());
    rows.bytes.insert(rows.bytes.end(), begin, begin + row.size() * rows.element_bytes());
  }
  return rows;
}

Ranges even_ranges(int64_t num_cols, int64_t num_ranks) {
  Ranges ranges;
  for (int64_t i = 0; i <= num_ranks; ++i) ranges.push_back(num_cols * i / num_ranks);
  return ranges;
}

Ranges uneven_ranges(int64_t num_cols, int64_t num_ranks, uint64_t seed) {
  std::mt19937_64 random(seed);
  Ranges ranges = {0, num_cols};
  for (int64_t i = 1; i < num_ranks; ++i) {
    // Every other one where another is: ranges of no columns.
    ranges.push_back(i % 2 ? int64_t(random() % uint64_t(num_cols + 1)) : ranges.back());
  }
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

void Tokens::bind(SampleArgs *args, int64_t num_rows) {
  const auto give = [&](auto *array, size_t count, auto **member) {
    if (!*member) return;
    array->assign(count, {});
    std::memset(array->data(), 0x5A, count * sizeof array->front());
    *member = array->data();
  };
  const auto count = size_t(num_rows), num_top = count * size_t(args->report_args.num_top_logprobs);
  ids.assign(count, 0x5A5A5A5A);
  args->out_token_ids = ids.data();
  give(&statuses, count, &args->out_row_status);
  give(&kept_counts, count, &args->report_args.out_kept_counts);
  give(&logprobs, count, &args->report_args.out_logprobs);
  give(&values, count, &args->report_args.out_values);
  give(&ranks, count, &args->report_args.out_ranks);
  give(&entropies, count, &args->report_args.out_entropies);
  if (num_top == 0) return;
  top_ids.assign(num_top, 0x5A5A5A5A);
  top_logprobs.assign(num_top, 0.0f);
  args->report_args.out_top_token_ids = top_ids.data();
  args->report_args.out_top_logprobs = top_logprobs.data();
}

namespace {

template <class T>
std::string difference(const char *name, const std::vector<T> &a, const std::vector<T> &b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (i < b.size() && std::memcmp(&a[i], &b[i], sizeof a[i]) == 0) continue;
    return std::string(name) + "[" + std::to_string(i) + "] is " + std::to_string(b[i]) + ", not " +
           std::to_string(a[i]);
  }
  return a.size() == b.size() ? "" : std::string(name) + " has another length";
}

// Stands for an output that is wanted.
template <class T>
T *wanted(bool is_wanted) {
  static T somewhere;
  return is_wanted ? &somewhere : nullptr;
}

// One rank's arguments, as far as they are its own.
sampler_shard_args shard_args(const Ranges &ranges, size_t rank) {
  sampler_shard_args args = {};
  args.struct_size = sizeof args;
  args.first_token_id = ranges[rank];
  args.total_cols = ranges.back();
  args.rank = int64_t(rank);
  args.num_ranks = int64_t(ranges.size()) - 1;
  return args;
}

SampleArgs sample_args(const SampleCall &call, Tokens *tokens, const sampler_rows &input) {
  SampleArgs args = call.args;
  args.input = input;
  args.params = &call.params;
  args.out_row_status = wanted<sampler_row_status>(true);
  args.report_args.out_kept_counts = wanted<int32_t>(call.wanted.kept_counts);
  args.report_args.out_logprobs = wanted<float>(call.wanted.logprobs);
  args.report_args.out_values = wanted<float>(call.wanted.values);
  args.report_args.out_ranks = wanted<int32_t>(call.wanted.ranks);
  args.report_args.out_entropies = wanted<float>(call.wanted.entropies);
  args.report_args.num_top_logprobs = std::min(call.wanted.num_top, input.num_cols);
  tokens->bind(&args, args.row_indices ? args.num_row_indices : input.num_rows);
  return args;
}

// Has the rows of `args` guide each other, through a pipeline of its own.
void guide(const SampleCall &call, SampleArgs *args, sampler_pipeline *pipeline) {
  if (call.guided_by.empty()) return;
  alignas(16) static const unsigned char kNothing[16] = {};  // of a rank without columns
  *pipeline = *call.args.pipeline;
  pipeline->guidance_logits = args->input.values ? args->input.values : kNothing;
  pipeline->num_guidance_rows = args->input.num_rows;
  pipeline->guidance_row_indices = call.guided_by.data();
  args->pipeline = pipeline;
}

std::string error_of(const Outcome &outcome) {
  for (size_t rank = 0; rank < outcome.statuses.size(); ++rank) {
    if (outcome.statuses[rank] == SAMPLER_OK) continue;
    return "rank " + std::to_string(rank) + ": " + outcome.errors[rank];
  }
  return "";
}

}  // namespace

std::string difference(const Tokens &a, const Tokens &b) {
  std::string text = difference("status", a.statuses, b.statuses);
  if (text.empty()) text = difference("token", a.ids, b.ids);
  if (text.empty()) text = difference("kept_count", a.kept_counts, b.kept_counts);
  if (text.empty()) text = difference("logprob", a.logprobs, b.logprobs);
  if (text.empty()) text = difference("value", a.values, b.values);
  if (text.empty()) text = difference("rank", a.ranks, b.ranks);
  if (text.empty()) text = difference("entropy", a.entropies, b.entropies);
  if (text.empty()) text = difference("top_id", a.top_ids, b.top_ids);
  if (text.empty()) text = difference("top_logprob", a.top_logprobs, b.top_logprobs);
  return text;
}

Tokens sample_whole(sampler_t sampler, const Rows &rows, const SampleCall &call) {
  Tokens tokens;
  SampleArgs args = sample_args(call, &tokens, rows.whole());
  sampler_pipeline pipeline;
  guide(call, &args, &pipeline);
  EXPECT_EQ(run_whole(sampler, &args, sampler_sample, sampler_sample_workspace_size), SAMPLER_OK)
      << sampler_last_error();
  return tokens;
}

std::string compare_sample(const Samplers &samplers, const Rows &rows, const SampleCall &call,
                           const Ranges &ranges, Outcome *outcome) {
  const Tokens expected = sample_whole(samplers.of(0), rows, call);
  const size_t num_ranks = ranges.size() - 1;
  std::vector<Tokens> tokens(num_ranks);
  std::vector<std::vector<unsigned char>> memory(num_ranks);
  std::vector<SampleArgs> calls(num_ranks);
  std::vector<sampler_pipeline> pipelines(num_ranks);
  std::vector<sampler_shard_args> shards(num_ranks);
  for (size_t rank = 0; rank < num_ranks; ++rank) {
    const sampler_rows part = rows.part(ranges[rank], ranges[rank + 1], &memory[rank]);
    sampler_rows whole = part;
    whole.num_cols = rows.num_cols;
    calls[rank] = sample_args(call, &tokens[rank], whole);
    calls[rank].input = part;
    guide(call, &calls[rank], &pipelines[rank]);
    shards[rank] = shard_args(ranges, rank);
    shards[rank].sample = &calls[rank];
    shards[rank].max_top_k = call.max_top_k;
  }
  *outcome = run_ranks(samplers, shards);
  std::string text = error_of(*outcome);
  for (size_t rank = 0; rank < num_ranks && text.empty(); ++rank) {
    text = difference(expected, tokens[rank]);
    if (!text.empty()) text = "rank " + std::to_string(rank) + ": " + text;
  }
  return text;
}

std::string compare_filter(const Samplers &samplers, const Rows &rows, const FilterCall &call,
                           const Ranges &ranges) {
  const size_t size = call.args.output_dtype == SAMPLER_F32 ? 4 : 2;
  const auto bind = [&](sampler_filter_args *args, const sampler_rows &input, int64_t stride,
                        std::vector<unsigned char> *out, std::vector<int32_t> *numbers) {
    *args = call.args;
    args->struct_size = sizeof *args;
    args->input = input;
    args->params = &call.params;
    out->assign(size_t(rows.num_rows * stride) * size + 8, 0x5A);
    numbers->assign(size_t(2 * rows.num_rows), 0x5A5A5A5A);
    args->output = out->data();
    args->output_stride = stride;
    args->out_kept_counts = numbers->data();
    args->out_row_status = reinterpret_cast<sampler_row_status *>(numbers->data()) + rows.num_rows;
  };
  std::vector<unsigned char> whole;
  std::vector<int32_t> numbers;
  sampler_filter_args args;
  bind(&args, rows.whole(), rows.num_cols, &whole, &numbers);
  if (run_whole(samplers.of(0), &args, sampler_filter, sampler_filter_workspace_size) !=
      SAMPLER_OK) {
    return sampler_last_error();
  }
  const size_t num_ranks = ranges.size() - 1;
  std::vector<std::vector<unsigned char>> memory(num_ranks), outputs(num_ranks);
  std::vector<std::vector<int32_t>> own(num_ranks);
  std::vector<sampler_filter_args> calls(num_ranks);
  std::vector<sampler_shard_args> shards(num_ranks);
  for (size_t rank = 0; rank < num_ranks; ++rank) {
    const int64_t width = ranges[rank + 1] - ranges[rank];
    bind(&calls[rank], rows.part(ranges[rank], ranges[rank + 1], &memory[rank]), width,
         &outputs[rank], &own[rank]);
    shards[rank] = shard_args(ranges, rank);
    shards[rank].filter = &calls[rank];
  }
  const Outcome outcome = run_ranks(samplers, shards);
  std::string text = error_of(outcome);
  for (size_t rank = 0; rank < num_ranks && text.empty(); ++rank) {
    text = difference("count or status", numbers, own[rank]);
    const size_t width = size_t(ranges[rank + 1] - ranges[rank]) * size;
    for (size_t row = 0; row < size_t(rows.num_rows) && text.empty(); ++row) {
      const auto *const expected =
          whole.data() + (row * size_t(rows.num_cols) + size_t(ranges[rank])) * size;
      if (std::memcmp(expected, outputs[rank].data() + row * width, width) != 0) {
        text = "row " + std::to_string(row) + " of rank " + std::to_string(rank) + " differs";
      }
    }
    if (text.empty() && outputs[rank][size_t(rows.num_rows) * width] != 0x5A) text = "written over";
  }
  return text;
}

std::string compare_select(const Samplers &samplers, const Rows &rows, int64_t num_selected,
                           const int32_t *selected_counts, const Ranges &ranges) {
  struct Lists {
    std::vector<float> values;
    std::vector<int32_t> ids, counts, statuses;
  };
  const auto bind = [&](sampler_select_args *args, const sampler_rows &input, Lists *out) {
    *args = {};
    args->struct_size = sizeof *args;
    args->input = input;
    args->num_selected = num_selected;
    args->selected_counts = selected_counts;
    out->values.assign(size_t(rows.num_rows * num_selected), 77.0f);
    out->ids.assign(size_t(rows.num_rows * num_selected), 77);
    out->counts.assign(size_t(rows.num_rows), 77);
    out->statuses.assign(size_t(rows.num_rows), 77);
    args->out_values = out->values.data();
    args->out_token_ids = out->ids.data();
    args->out_counts = out->counts.data();
    args->out_row_status = reinterpret_cast<sampler_row_status *>(out->statuses.data());
  };
  Lists expected;
  sampler_select_args args;
  bind(&args, rows.whole(), &expected);
  if (run_whole(samplers.of(0), &args, sampler_select, sampler_select_workspace_size) !=
      SAMPLER_OK) {
    return sampler_last_error();
  }
  const size_t num_ranks = ranges.size() - 1;
  std::vector<std::vector<unsigned char>> memory(num_ranks);
  std::vector<Lists> own(num_ranks);
  std::vector<sampler_select_args> calls(num_ranks);
  std::vector<sampler_shard_args> shards(num_ranks);
  for (size_t rank = 0; rank < num_ranks; ++rank) {
    bind(&calls[rank], rows.part(ranges[rank], ranges[rank + 1], &memory[rank]), &own[rank]);
    shards[rank] = shard_args(ranges, rank);
    shards[rank].select = &calls[rank];
  }
  const Outcome outcome = run_ranks(samplers, shards);
  std::string text = error_of(outcome);
  for (size_t rank = 0; rank < num_ranks && text.empty(); ++rank) {
    text = difference("value", expected.values, own[rank].values);
    if (text.empty()) text = difference("id", expected.ids, own[rank].ids);
    if (text.empty()) text = difference("count", expected.counts, own[rank].counts);
    if (text.empty()) text = difference("status", expected.statuses, own[rank].statuses);
  }
  return text;
}

std::string compare_residual(const Samplers &samplers, const Rows &p, const Rows &q,
                             const int32_t *drafts, sampler_dtype output_dtype,
                             const Ranges &ranges) {
  const size_t size = output_dtype == SAMPLER_F32 ? 4 : 2;
  const auto bind = [&](sampler_residual_args *args, const sampler_rows &target,
                        const sampler_rows &draft, int64_t stride, std::vector<unsigned char> *out,
                        std::vector<int32_t> *statuses) {
    *args = {};
    args->struct_size = sizeof *args;
    args->target = target;
    if (!drafts) args->draft = draft;
    args->draft_token_ids = drafts;
    args->output_dtype = output_dtype;
    out->assign(size_t(p.num_rows * stride) * size + 8, 0x5A);
    statuses->assign(size_t(p.num_rows), 77);
    args->output = out->data();
    args->output_stride = stride;
    args->out_row_status = reinterpret_cast<sampler_row_status *>(statuses->data());
  };
  std::vector<unsigned char> whole;
  std::vector<int32_t> statuses;
  sampler_residual_args args;
  bind(&args, p.whole(), q.whole(), p.num_cols, &whole, &statuses);
  if (run_whole(samplers.of(0), &args, sampler_residual, sampler_residual_workspace_size) !=
      SAMPLER_OK) {
    return sampler_last_error();
  }
  const size_t num_ranks = ranges.size() - 1;
  std::vector<std::vector<unsigned char>> memory(2 * num_ranks), outputs(num_ranks);
  std::vector<std::vector<int32_t>> own(num_ranks);
  std::vector<sampler_residual_args> calls(num_ranks);
  std::vector<sampler_shard_args> shards(num_ranks);
  for (size_t rank = 0; rank < num_ranks; ++rank) {
    const int64_t begin = ranges[rank], end = ranges[rank + 1];
    bind(&calls[rank], p.part(begin, end, &memory[2 * rank]),
         q.part(begin, end, &memory[2 * rank + 1]), end - begin, &outputs[rank], &own[rank]);
    shards[rank] = shard_args(ranges, rank);
    shards[rank].residual = &calls[rank];
  }
  const Outcome outcome = run_ranks(samplers, shards);
  std::string text = error_of(outcome);
  for (size_t rank = 0; rank < num_ranks && text.empty(); ++rank) {
    text = difference("status", statuses, own[rank]);
    const size_t width = size_t(ranges[rank + 1] - ranges[rank]) * size;
    for (size_t row = 0; row < size_t(p.num_rows) && text.empty(); ++row) {
      const auto *const expected =
          whole.data() + (row * size_t(p.num_cols) + size_t(ranges[rank])) * size;
      if (std::memcmp(expected, outputs[rank].data() + row * width, width) != 0) {
        text = "row " + std::to_string(row) + " of rank " + std::to_string(rank) + " differs";
      }
    }
    if (text.empty() && outputs[rank][size_t(p.num_rows) * width] != 0x5A) text = "written over";
  }
  return text;
}

std::string difference(const Verified &a, const Verified &b) {
  std::string text = difference("status", a.statuses, b.statuses);
  if (text.empty()) text = difference("token", a.ids, b.ids);
  if (text.empty()) text = difference("emitted", a.emitted, b.emitted);
  if (text.empty()) text = difference("accepted", a.accepted, b.accepted);
  return text;
}

void bind(const VerifyCall &call, const sampler_rows &target, const sampler_rows &draft,
          sampler_verify_args *args, Verified *out) {
  const int64_t num_positions = call.args.num_drafts + 1;
  const auto num_sequences = size_t(target.num_rows / num_positions);
  const size_t words = call.args.token_id_type == SAMPLER_ID_I64 ? 2 : 1;
  *args = call.args;
  args->struct_size = sizeof *args;
  args->target = target;
  if (call.has_draft) args->draft = draft;
  args->params = &call.params;
  out->ids.assign(num_sequences * size_t(num_positions) * words, 77);
  out->accepted.assign(num_sequences, 70);
  out->emitted.assign(num_sequences, 80);
  out->statuses.assign(num_sequences, 77);
  args->out_token_ids = out->ids.data();
  args->out_accepted_counts = call.wants_accepted ? out->accepted.data() : nullptr;
  args->out_emitted_counts = out->emitted.data();
  args->out_row_status = out->statuses.data();
}

Verified verify_whole(sampler_t sampler, const Rows &target, const Rows &draft,
                      const VerifyCall &call) {
  Verified verified;
  sampler_verify_args args;
  bind(call, target.whole(), draft.whole(), &args, &verified);
  EXPECT_EQ(run_whole(sampler, &args, sampler_verify, sampler_verify_workspace_size), SAMPLER_OK)
      << sampler_last_error();
  return verified;
}

std::string compare_verify(const Samplers &samplers, const Rows &target, const Rows &draft,
                           const VerifyCall &call, const Ranges &ranges, Outcome *outcome) {
  const Verified expected = verify_whole(samplers.of(0), target, draft, call);
  const size_t num_ranks = ranges.size() - 1;
  std::vector<std::vector<unsigned char>> memory(2 * num_ranks);
  std::vector<Verified> own(num_ranks);
  std::vector<sampler_verify_args> calls(num_ranks);
  std::vector<sampler_shard_args> shards(num_ranks);
  for (size_t rank = 0; rank < num_ranks; ++rank) {
    const int64_t begin = ranges[rank], end = ranges[rank + 1];
    bind(call, target.part(begin, end, &memory[2 * rank]),
         draft.part(begin, end, &memory[2 * rank + 1]), &calls[rank], &own[rank]);
    shards[rank] = shard_args(ranges, rank);
    shards[rank].verify = &calls[rank];
  }
  *outcome = run_ranks(samplers, shards);
  std::string text = error_of(*outcome);
  for (size_t rank = 0; rank < num_ranks && text.empty(); ++rank) {
    text = difference(expected, own[rank]);
    if (!text.empty()) text = "rank " + std::to_string(rank) + ": " + text;
  }
  return text;
}

}  // namespace shards_test
