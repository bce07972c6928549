#include "problem.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <set>

#include "oracle.h"

namespace pipeline_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

// ---- Random problems

// Few ids, so that texts repeat themselves; some are outside of the vocabulary.
Text random_ids(Random &random, std::int64_t count, std::int64_t num_ids) {
  Text ids(at(count));
  for (auto &id : ids) {
    id = random.one_in(12) ? random.between(-3, num_ids + 40) : random.between(0, num_ids - 1);
  }
  return ids;
}

float random_logit(Random &random) {
  switch (random.between(0, 19)) {
    case 0:
      return -kInfinity;
    case 1:
      return random.one_in(2) ? 0.0F : -0.0F;
    default:
      return random.within(-8.0F, 8.0F);
  }
}

Numbers random_numbers(Random &random, std::int64_t num_cols) {
  Numbers numbers;
  const float repetitions[] = {0.0F, 1.0F, 1.1F, 1.7F, 0.6F};
  numbers.repetition_penalty = repetitions[random.between(0, 4)];
  if (random.one_in(2)) numbers.frequency_penalty = random.within(-1.0F, 2.0F);
  if (random.one_in(2)) numbers.presence_penalty = random.within(-1.0F, 2.0F);
  numbers.penalty_window = random.one_in(2) ? 0 : static_cast<std::int32_t>(random.between(-1, 70));
  if (random.one_in(2)) numbers.dry_multiplier = random.within(-0.2F, 1.5F);
  const float bases[] = {0.0F, 1.0F, 1.2F, 3.0F, 0.5F};
  numbers.dry_base = bases[random.between(0, 4)];
  numbers.dry_allowed_length = static_cast<std::int32_t>(random.between(-1, 4));
  numbers.dry_window = random.one_in(2) ? 0 : static_cast<std::int32_t>(random.between(-1, 70));
  if (random.one_in(3))
    numbers.no_repeat_ngram_size = static_cast<std::int32_t>(random.between(-1, 5));
  numbers.min_new_tokens = static_cast<std::int32_t>(random.between(-1, 40));
  if (random.one_in(3)) numbers.forced_token_id = random.between(-1, num_cols);
  return numbers;
}

Slot random_slot(Random &random, const Problem &problem) {
  const std::int64_t num_ids = std::min<std::int64_t>(problem.num_cols, random.between(2, 12));
  Slot slot;
  slot.numbers = random_numbers(random, problem.num_cols);
  slot.history = random_ids(random, random.one_in(6) ? 0 : random.between(0, 70), num_ids);
  if (problem.has_prompt_lengths) {
    slot.prompt_length = static_cast<std::int32_t>(
        random.between(0, static_cast<std::int64_t>(slot.history.size())));
  }
  slot.biased = random_ids(random, random.between(0, 8), problem.num_cols);
  for (std::size_t i = 0; i < slot.biased.size(); ++i) {
    slot.biases.push_back(random.one_in(9) ? -kInfinity : random.within(-3.0F, 3.0F));
  }
  if (random.one_in(3)) {
    slot.allowed = random_ids(random, problem.num_cols / 2 + 1, problem.num_cols);
  }
  slot.banned = random_ids(random, random.between(0, 3), problem.num_cols);
  slot.stop = random_ids(random, random.between(0, 3), problem.num_cols);
  const auto num_words = static_cast<std::int64_t>(problem.bad_words.size());
  slot.first_bad_word = problem.slots.empty() ? 0 : problem.slots.back().end_of_bad_words;
  slot.end_of_bad_words = random.between(slot.first_bad_word, num_words);
  return slot;
}

std::vector<Text> random_breakers(Random &random) {
  std::set<Text> breakers;
  for (std::int64_t n = random.between(0, 4); n > 0; --n) {
    breakers.insert(random_ids(random, random.one_in(3) ? random.between(2, 20) : 1, 12));
  }
  return {breakers.begin(), breakers.end()};
}

void add_bitmasks(Random &random, Problem *problem) {
  const std::int64_t enough = (problem->num_cols + 31) / 32;
  problem->bitmask_stride =
      !problem->candidate_ids.empty() || random.one_in(3) ? random.between(1, enough + 1) : 0;
  const std::int64_t words = problem->bitmask_stride ? problem->bitmask_stride : enough;
  const bool has_indices = random.one_in(2);
  const std::int64_t num_masks = has_indices ? random.between(1, 4) : problem->num_rows();
  for (std::int64_t i = 0; i < num_masks; ++i) {
    std::vector<std::uint32_t> mask(at(words));
    for (auto &word : mask) {
      word = random.one_in(3) ? UINT32_MAX
                              : static_cast<std::uint32_t>(random.between(0, UINT32_MAX)) |
                                    static_cast<std::uint32_t>(random.between(0, UINT32_MAX));
    }
    problem->bitmasks.push_back(mask);
  }
  for (std::int64_t i = 0; has_indices && i < problem->num_rows(); ++i) {
    problem->bitmask_indices.push_back(
        static_cast<std::int32_t>(random.between(-1, num_masks - 1)));
  }
  problem->bitmask_rule = random.one_in(3) ? SAMPLER_MASK_FORBIDS : SAMPLER_MASK_LEAVES;
}

void add_rows(Random &random, Problem *problem) {
  const std::int64_t widths[] = {1, 5, 33, 64, 300, 2100};
  problem->num_cols = widths[random.between(0, 5)];
  const bool has_candidates = random.one_in(3);
  problem->has_counts = random.one_in(3);
  for (std::int64_t row = random.between(1, 5); row > 0; --row) {
    const std::int64_t count =
        problem->has_counts ? random.between(1, problem->num_cols) : problem->num_cols;
    std::vector<float> values(at(count));
    for (float &x : values) x = random_logit(random);
    problem->rows.push_back(values);
    if (!has_candidates) continue;
    std::vector<std::int64_t> ids(at(2 * problem->num_cols));
    std::iota(ids.begin(), ids.end(), 0);
    for (std::size_t i = ids.size(); i > 1; --i) {
      std::swap(ids[i - 1], ids[at(random.between(0, static_cast<std::int64_t>(i) - 1))]);
    }
    ids.resize(at(problem->num_cols));
    problem->candidate_ids.push_back(ids);
  }
}

// ---- Memory

template <class T>
void put(std::vector<unsigned char> *bytes, T value) {
  unsigned char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  bytes->insert(bytes->end(), raw, raw + sizeof raw);
}

void put_value(std::vector<unsigned char> *bytes, sampler_dtype dtype, float x) {
  if (dtype == SAMPLER_F32) return put(bytes, x);
  put(bytes, dtype == SAMPLER_F16 ? oracle::f32_to_f16(x) : oracle::f32_to_bf16(x));
}

void put_id(std::vector<unsigned char> *bytes, sampler_id_type type, std::int64_t id) {
  if (type == SAMPLER_ID_I64) return put(bytes, id);
  put(bytes, static_cast<std::int32_t>(id));
}

const void *data_of(const std::vector<unsigned char> &bytes) {
  return bytes.empty() ? nullptr : bytes.data();
}

}  // namespace

Problem make_problem(std::uint64_t seed) {
  Random random(seed);
  Problem problem;
  add_rows(random, &problem);
  problem.has_slots = random.one_in(2);
  const std::int64_t num_slots = problem.num_rows() + (problem.has_slots ? 2 : 0);
  problem.numbers_by_slot = random.one_in(2);
  problem.has_biased = random.one_in(2);
  problem.has_dense_bias = random.one_in(4);
  problem.has_allowed = random.one_in(4);
  problem.has_banned = random.one_in(3);
  problem.has_stop = true;
  problem.has_bad_words = random.one_in(2);
  problem.has_bad_word_offsets = random.one_in(2);
  problem.has_prompt_lengths = random.one_in(2);
  problem.has_forced_tokens = random.one_in(4);
  problem.lists_for_all = random.one_in(3);
  problem.dense_bias_for_all = random.one_in(2);
  if (problem.has_bad_words) {
    for (std::int64_t n = random.between(1, 6); n > 0; --n) {
      problem.bad_words.push_back(random_ids(random, random.between(1, 4), 8));
    }
  }
  problem.breakers = random_breakers(random);
  if (random.one_in(3)) add_bitmasks(random, &problem);
  problem.dense_bias_stride = !problem.candidate_ids.empty() || random.one_in(3)
                                  ? random.between(1, problem.num_cols + 2)
                                  : 0;
  problem.penalty_scope = static_cast<std::int32_t>(random.between(0, 2));
  problem.bad_word_scope = static_cast<std::int32_t>(random.between(0, 2));
  problem.penalty_form = static_cast<std::int32_t>(random.between(0, 2));
  problem.id_type = random.one_in(2) ? SAMPLER_ID_I64 : SAMPLER_ID_I32;
  for (std::int64_t s = 0; s < num_slots; ++s) {
    Slot slot = random_slot(random, problem);
    slot.dense_bias.resize(
        at(problem.dense_bias_stride ? problem.dense_bias_stride : problem.num_cols));
    for (float &bias : slot.dense_bias) bias = random.within(-2.0F, 2.0F);
    problem.slots.push_back(slot);
  }
  for (std::int64_t row = 0; row < problem.num_rows(); ++row) {
    const std::int64_t slot = problem.has_slots ? random.between(0, num_slots - 1) : row;
    problem.slot_of_row.push_back(static_cast<std::int32_t>(slot));
  }
  problem.params.temperature = random.one_in(5) ? 0.0F : random.within(0.3F, 2.0F);
  if (random.one_in(2)) problem.params.top_k = static_cast<std::int32_t>(random.between(1, 60));
  if (random.one_in(2)) problem.params.top_p = random.within(0.3F, 1.0F);
  if (random.one_in(3)) problem.params.min_p = random.within(0.0F, 0.2F);
  problem.params.filter_order = static_cast<std::int32_t>(random.between(0, 2));
  return problem;
}

// ---- What the oracle makes of a row

std::vector<float> edited(const Problem &problem, std::int64_t row) {
  const Slot &own = problem.slot(row);
  const Slot &first = problem.slots[0];
  const Numbers &numbers = problem.numbers_by_slot ? own.numbers : first.numbers;
  const Slot &lists = problem.lists_for_all ? first : own;
  const Slot &dense = problem.dense_bias_for_all ? first : own;

  std::vector<float> values = problem.rows[at(row)];
  std::map<std::int64_t, std::size_t> element;
  for (std::size_t i = 0; i < values.size(); ++i) {
    element[problem.candidate_ids.empty() ? static_cast<std::int64_t>(i)
                                          : problem.candidate_ids[at(row)][i]] = i;
  }
  const auto edit = [&](std::int64_t id, const auto &f) {
    const auto found = element.find(id);
    if (found != element.end()) values[found->second] = f(values[found->second]);
  };
  const auto ban = [&](std::int64_t id) { edit(id, [](float) { return -kInfinity; }); };

  if (problem.has_biased) {
    for (std::size_t i = 0; i < lists.biased.size(); ++i) {
      edit(lists.biased[i], [&](float x) { return oracle::with_biases(x, {lists.biases[i]}); });
    }
  }
  if (problem.has_dense_bias) {
    for (std::size_t id = 0; id < dense.dense_bias.size(); ++id) {
      edit(static_cast<std::int64_t>(id),
           [&](float x) { return oracle::with_biases(x, {dense.dense_bias[id]}); });
    }
  }

  const Text output(own.history.begin() + own.prompt_length, own.history.end());
  if (problem.has_allowed && !lists.allowed.empty()) {
    const std::set<std::int64_t> allowed(lists.allowed.begin(), lists.allowed.end());
    for (const auto &[id, i] : element) {
      if (allowed.count(id) == 0) values[i] = -kInfinity;
    }
  }
  if (problem.has_banned) std::for_each(lists.banned.begin(), lists.banned.end(), ban);
  const std::int64_t mask = problem.bitmasks.empty()          ? -1
                            : problem.bitmask_indices.empty() ? row
                                                              : problem.bitmask_indices[at(row)];
  if (mask >= 0) {
    const auto allowed =
        oracle::allowed_by_bitmask(problem.bitmasks[at(mask)], 3 * problem.num_cols,
                                   problem.bitmask_rule == SAMPLER_MASK_FORBIDS);
    for (const auto &[id, i] : element) {
      if (allowed.count(id) == 0) values[i] = -kInfinity;
    }
  }
  if (problem.has_bad_words) {
    const auto begin = problem.bad_words.begin();
    const std::vector<Text> words =
        problem.has_bad_word_offsets
            ? std::vector<Text>(begin + own.first_bad_word, begin + own.end_of_bad_words)
            : problem.bad_words;
    const bool output_only = problem.bad_word_scope == SAMPLER_PENALTY_SCOPE_OUTPUT;
    for (const std::int64_t id : oracle::word_bans(output_only ? output : own.history, words)) {
      ban(id);
    }
  }
  if (problem.has_stop && static_cast<std::int64_t>(output.size()) < numbers.min_new_tokens) {
    std::for_each(lists.stop.begin(), lists.stop.end(), ban);
  }

  const bool all = problem.penalty_scope == SAMPLER_PENALTY_SCOPE_ALL;
  const bool none_of_prompt = problem.penalty_scope == SAMPLER_PENALTY_SCOPE_OUTPUT;
  const auto count = [&](bool output_only) {
    std::map<std::int64_t, std::int64_t> counts;
    for (const std::int64_t id : oracle::counted_tokens(own.history, own.prompt_length,
                                                        numbers.penalty_window, output_only)) {
      ++counts[id];
    }
    return counts;
  };
  auto repeated = count(none_of_prompt), counted = count(!all);
  for (const auto &[id, i] : element) {
    values[i] = oracle::with_penalties(
        values[i], repeated[id], counted[id], numbers.repetition_penalty, numbers.frequency_penalty,
        numbers.presence_penalty, static_cast<oracle::Form>(problem.penalty_form));
  }

  const float base = numbers.dry_base == 0 ? 1.75F : numbers.dry_base;
  if (numbers.dry_multiplier > 0 && base >= 1) {
    const std::int32_t allowed_length =
        numbers.dry_allowed_length == 0 ? 2 : std::max(numbers.dry_allowed_length, 0);
    const Text context = oracle::counted_tokens(own.history, 0, numbers.dry_window, false);
    for (const auto &[id, n] : oracle::dry_lengths(context, problem.breakers, allowed_length)) {
      const std::int32_t length = n;
      edit(id,
           [&](float x) { return oracle::with_repeat(x, numbers.dry_multiplier, base, length); });
    }
  }
  if (numbers.no_repeat_ngram_size > 0) {
    for (const std::int64_t id : oracle::ngram_bans(own.history, numbers.no_repeat_ngram_size)) {
      ban(id);
    }
  }
  return values;
}

// ---- Calls

sampler_token_lists Call::Lists::view(const std::vector<Text> &lists, sampler_id_type type) {
  std::int64_t total = 3;  // what comes before the first list is nobody's
  for (std::int64_t i = 0; i < total; ++i) put_id(&ids, type, 1);
  offsets = {total};
  for (const Text &list : lists) {
    for (const std::int64_t id : list) put_id(&ids, type, id);
    total += static_cast<std::int64_t>(list.size());
    offsets.push_back(total);
  }
  return {offsets.data(), data_of(ids), static_cast<std::int64_t>(lists.size()), total};
}

Call::Call(const Problem &problem, sampler_dtype dtype,
           const std::vector<std::vector<float>> *edited_rows)
    : params(problem.params),
      num_slots(static_cast<std::int64_t>(problem.slots.size())),
      has_pipeline(!edited_rows) {
  const auto &rows = edited_rows ? *edited_rows : problem.rows;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    counts_.push_back(static_cast<std::int32_t>(rows[row].size()));
    for (std::int64_t i = 0; i < problem.num_cols; ++i) {
      const bool exists = at(i) < rows[row].size();
      put_value(&values_, dtype, exists ? rows[row][at(i)] : std::nanf(""));
      if (!problem.candidate_ids.empty()) {
        put_id(&candidate_ids_, problem.id_type, exists ? problem.candidate_ids[row][at(i)] : -9);
      }
    }
  }
  input.values = values_.data();
  input.num_rows = problem.num_rows();
  input.num_cols = problem.num_cols;
  input.dtype = dtype;
  input.candidate_ids = data_of(candidate_ids_);
  input.candidate_id_type = problem.id_type;
  input.candidate_counts = problem.has_counts ? counts_.data() : nullptr;
  if (problem.has_slots) slots = problem.slot_of_row;
  for (std::size_t s = 0; s < problem.slots.size(); ++s) seeds.push_back(77 + s);

  row_params.struct_size = sizeof row_params;
  if (problem.has_forced_tokens) {
    for (const Slot &slot : problem.slots) forced_.push_back(slot.numbers.forced_token_id);
    row_params.forced_token_id = forced_.data();
  }
  if (!has_pipeline) return;

  pipeline.struct_size = sizeof pipeline;
  pipeline.token_id_type = problem.id_type;
  std::vector<Text> history, biased, allowed, banned, stop;
  for (const Slot &slot : problem.slots) {
    history.push_back(slot.history);
    prompt_lengths_.push_back(slot.prompt_length);
    if (bad_word_offsets_.empty()) bad_word_offsets_.push_back(slot.first_bad_word);
    bad_word_offsets_.push_back(slot.end_of_bad_words);
    repetition_.push_back(slot.numbers.repetition_penalty);
    frequency_.push_back(slot.numbers.frequency_penalty);
    presence_.push_back(slot.numbers.presence_penalty);
    window_.push_back(slot.numbers.penalty_window);
    multiplier_.push_back(slot.numbers.dry_multiplier);
    base_.push_back(slot.numbers.dry_base);
    allowed_length_.push_back(slot.numbers.dry_allowed_length);
    dry_window_.push_back(slot.numbers.dry_window);
    ngram_.push_back(slot.numbers.no_repeat_ngram_size);
    min_new_.push_back(slot.numbers.min_new_tokens);
    if (problem.lists_for_all && !biased.empty()) continue;
    biased.push_back(slot.biased);
    allowed.push_back(slot.allowed);
    banned.push_back(slot.banned);
    stop.push_back(slot.stop);
  }
  if (problem.has_history) pipeline.history = history_.view(history, problem.id_type);
  if (problem.has_prompt_lengths) pipeline.prompt_lengths = prompt_lengths_.data();
  if (problem.has_biased) {
    pipeline.biased = biased_.view(biased, problem.id_type);
    biases_.assign(3, 1.0F);
    for (std::size_t s = 0; s < biased.size(); ++s) {
      biases_.insert(biases_.end(), problem.slots[s].biases.begin(), problem.slots[s].biases.end());
    }
    pipeline.biases = biases_.data();
  }
  if (problem.has_dense_bias) {
    pipeline.num_dense_biases = problem.dense_bias_for_all ? 1 : num_slots;
    for (std::int64_t s = 0; s < pipeline.num_dense_biases; ++s) {
      const auto &bias = problem.slots[at(s)].dense_bias;
      dense_bias_.insert(dense_bias_.end(), bias.begin(), bias.end());
    }
    pipeline.dense_bias = dense_bias_.data();
    pipeline.dense_bias_stride = problem.dense_bias_stride;
  }
  if (problem.has_allowed) pipeline.allowed = allowed_.view(allowed, problem.id_type);
  if (problem.has_banned) pipeline.banned = banned_.view(banned, problem.id_type);
  if (problem.has_stop) pipeline.stop = stop_.view(stop, problem.id_type);
  if (problem.has_bad_words) {
    pipeline.bad_words = bad_words_.view(problem.bad_words, problem.id_type);
    if (problem.has_bad_word_offsets) pipeline.bad_word_offsets = bad_word_offsets_.data();
  }
  if (!problem.breakers.empty()) {
    pipeline.dry_breakers = breakers_.view(problem.breakers, problem.id_type);
  }
  for (const auto &mask : problem.bitmasks) {
    bitmasks_.insert(bitmasks_.end(), mask.begin(), mask.end());
  }
  if (!bitmasks_.empty()) {
    pipeline.token_bitmasks = bitmasks_.data();
    pipeline.num_token_bitmasks = static_cast<std::int64_t>(problem.bitmasks.size());
    pipeline.token_bitmask_stride = problem.bitmask_stride;
    bitmask_indices_ = problem.bitmask_indices;
    if (!bitmask_indices_.empty()) pipeline.token_bitmask_indices = bitmask_indices_.data();
    pipeline.token_bitmask_rule = problem.bitmask_rule;
  }

  const Numbers &numbers = problem.slots[0].numbers;
  params.repetition_penalty = numbers.repetition_penalty;
  params.frequency_penalty = numbers.frequency_penalty;
  params.presence_penalty = numbers.presence_penalty;
  params.penalty_window = numbers.penalty_window;
  params.penalty_scope = problem.penalty_scope;
  params.penalty_form = problem.penalty_form;
  params.dry_multiplier = numbers.dry_multiplier;
  params.dry_base = numbers.dry_base;
  params.dry_allowed_length = numbers.dry_allowed_length;
  params.dry_window = numbers.dry_window;
  params.no_repeat_ngram_size = numbers.no_repeat_ngram_size;
  params.min_new_tokens = numbers.min_new_tokens;
  params.bad_word_scope = problem.bad_word_scope;
  if (!problem.numbers_by_slot) return;
  row_params.repetition_penalty = repetition_.data();
  row_params.frequency_penalty = frequency_.data();
  row_params.presence_penalty = presence_.data();
  row_params.penalty_window = window_.data();
  row_params.dry_multiplier = multiplier_.data();
  row_params.dry_base = base_.data();
  row_params.dry_allowed_length = allowed_length_.data();
  row_params.dry_window = dry_window_.data();
  row_params.no_repeat_ngram_size = ngram_.data();
  row_params.min_new_tokens = min_new_.data();
}

namespace {

// A workspace of exactly the bytes that the call needs.
template <class Args>
std::vector<unsigned char> workspace_of(sampler_t sampler, Args *args,
                                        sampler_status (*size)(sampler_t, const Args *,
                                                               std::size_t *)) {
  std::size_t bytes = 0;
  EXPECT_EQ(size(sampler, args, &bytes), SAMPLER_OK) << sampler_last_error();
  std::vector<unsigned char> memory(bytes, 0xA5);
  args->exec.workspace = memory.data();
  args->exec.workspace_bytes = bytes;
  return memory;
}

}  // namespace

Sampled sample(sampler_t sampler, const Call &call, sampler_logprob_kind logprob_kind,
               sampler_draw_method draw_method) {
  const std::size_t rows = at(call.input.num_rows);
  Sampled result = {std::vector<std::int32_t>(rows, -7), std::vector<std::int32_t>(rows, -7),
                    std::vector<float>(rows, 7), std::vector<float>(rows, 7),
                    std::vector<sampler_row_status>(rows, 7)};
  auto args = call.args<sampler_sample_args>();
  args.random.seeds = call.seeds.data();
  args.random.num_seeds = call.num_slots;
  args.random.offset = 5;
  args.logprob_kind = logprob_kind;
  args.draw_method = draw_method;
  args.out_token_ids = result.token_ids.data();
  args.out_kept_counts = result.kept_counts.data();
  args.out_logprobs = result.logprobs.data();
  args.out_values = result.values.data();
  args.out_row_status = result.status.data();
  const auto memory = workspace_of(sampler, &args, &sampler_sample_workspace_size);
  EXPECT_EQ(sampler_sample(sampler, &args), SAMPLER_OK) << sampler_last_error();
  return result;
}

Filtered filter(sampler_t sampler, const Call &call, sampler_output_kind output_kind) {
  const std::size_t rows = at(call.input.num_rows);
  Filtered result = {std::vector<float>(rows * at(call.input.num_cols), 7),
                     std::vector<std::int32_t>(rows, -7), std::vector<sampler_row_status>(rows, 7)};
  auto args = call.args<sampler_filter_args>();
  args.output_kind = output_kind;
  args.output = result.output.data();
  args.out_kept_counts = result.kept_counts.data();
  args.out_row_status = result.status.data();
  sampler_row_params row_params = call.row_params;
  row_params.forced_token_id = nullptr;
  args.row_params = &row_params;
  const auto memory = workspace_of(sampler, &args, &sampler_filter_workspace_size);
  EXPECT_EQ(sampler_filter(sampler, &args), SAMPLER_OK) << sampler_last_error();
  return result;
}

}  // namespace pipeline_test
