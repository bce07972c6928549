#include "problem.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <set>

#include "../sized.h"
#include "adaptive_stage.h"
#include "oracle.h"
#include "windows_oracle.h"

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

// Each is off now and then.
void add_windows(Random &random, bool are_logits, Numbers *numbers) {
  const auto one_of = [&](std::initializer_list<float> values) {
    return values.begin()[random.between(0, static_cast<std::int64_t>(values.size()) - 1)];
  };
  if (are_logits && random.one_in(3)) {
    numbers->dynamic_temperature_range = one_of({-1.0F, 0.4F, 0.9F, 5.0F});
    numbers->dynamic_temperature_exponent = one_of({0.0F, 1.0F, 2.5F, -1.0F});
  }
  if (random.one_in(2)) numbers->typical_p = one_of({0.1F, 0.5F, 0.9F, 1.0F});
  if (random.one_in(3)) numbers->top_n_sigma = one_of({0.5F, 1.0F, 2.0F});
  if (random.one_in(3)) numbers->epsilon_cutoff = one_of({1e-4F, 0.01F, 0.3F});
  if (random.one_in(3)) numbers->eta_cutoff = one_of({1e-4F, 0.01F, 0.3F});
  if (random.one_in(3)) numbers->top_h = one_of({0.2F, 0.6F, 0.95F});
  if (random.one_in(3)) numbers->p_less = static_cast<std::int32_t>(random.between(0, 2));
  if (random.one_in(3)) numbers->min_k = one_of({-1.0F, 1e-30F, 3.0F, 400.0F});
  if (random.one_in(3)) numbers->top_a = one_of({-1.0F, 0.02F, 0.4F, 3.0F});
  if (random.one_in(2)) numbers->xtc_probability = one_of({0.5F, 1.0F, 2.0F, -1.0F});
  numbers->xtc_threshold = one_of({0.0F, 0.02F, 0.2F, -1.0F, 0.6F});
  if (random.one_in(3)) numbers->min_keep = static_cast<std::int32_t>(random.between(-1, 9));
}

void add_adaptive(Random &random, Slot *slot) {
  Numbers &numbers = slot->numbers;
  numbers.adaptive_kind = static_cast<std::int32_t>(random.between(0, 4));
  if (numbers.adaptive_kind == SAMPLER_ADAPTIVE_P) {
    numbers.adaptive_target = random.one_in(8) ? -1.0F : random.within(0.0F, 1.2F);
    numbers.adaptive_rate = random.one_in(3) ? 0.0F : random.within(-0.2F, 1.2F);
  } else if (numbers.adaptive_kind == SAMPLER_ADAPTIVE_SMOOTHING) {
    numbers.adaptive_target = random.one_in(8) ? 0.0F : std::exp(random.within(-4.0F, 3.0F));
    numbers.adaptive_rate = random.one_in(3) ? 0.0F : random.within(1.0F, 3.0F);
  } else {
    numbers.adaptive_target = random.one_in(3) ? 0.0F : random.within(0.0F, 6.0F);
    numbers.adaptive_rate = random.one_in(3) ? 0.0F : random.within(-0.2F, 1.0F);
  }
  if (random.one_in(3)) numbers.top_p_decay = random.within(-0.1F, 1.1F);
  numbers.top_p_least = random.within(-0.1F, 0.5F);
  const auto or_start = [&](float value) { return random.one_in(4) ? std::nanf("") : value; };
  slot->adaptive_values = {
      or_start(random.within(-2.0F, 14.0F)), or_start(random.within(-1.0F, 9.0F)),
      or_start(random.one_in(6) ? random.within(-1.0F, 0.0F) : random.within(0.5F, 9.0F)),
      or_start(random.within(-0.1F, 1.2F))};
}

// Edits and the others each in any order. With JOINT the filters stand together.
std::vector<sampler_stage> random_stages(Random &random, bool is_joint) {
  const auto shuffle = [&](std::vector<sampler_stage> stages) {
    for (std::size_t i = stages.size(); i > 1; --i) {
      std::swap(stages[i - 1], stages[at(random.between(0, static_cast<std::int64_t>(i) - 1))]);
    }
    return stages;
  };
  std::vector<sampler_stage> stages = shuffle({1, 2, 3, 4, 5});
  constexpr sampler_stage kTopK = SAMPLER_STAGE_TOP_K, kTopP = SAMPLER_STAGE_TOP_P,
                          kMinP = SAMPLER_STAGE_MIN_P;
  std::vector<sampler_stage> others(at(kTopK - SAMPLER_STAGE_TEMPERATURE + 1));
  std::iota(others.begin(), others.end(), sampler_stage(SAMPLER_STAGE_TEMPERATURE));
  if (!is_joint) others.insert(others.end(), {kTopP, kMinP});
  others = shuffle(others);
  for (const sampler_stage stage : others) {
    if (is_joint && stage == SAMPLER_STAGE_TOP_K) {
      for (const sampler_stage filter : shuffle({kTopK, kTopP, kMinP})) stages.push_back(filter);
    } else {
      stages.push_back(stage);
    }
  }
  stages.push_back(SAMPLER_STAGE_ADAPTIVE);
  return stages;
}

Slot random_slot(Random &random, const Problem &problem) {
  const std::int64_t num_ids = std::min<std::int64_t>(problem.num_cols, random.between(2, 12));
  Slot slot;
  slot.numbers = random_numbers(random, problem.num_cols);
  slot.history = random_ids(random, random.one_in(6) ? 0 : random.between(0, 70), num_ids);
  if (!problem.bad_words.empty() && random.one_in(2)) {  // the text ends in all but a word's last
    const auto last = static_cast<std::int64_t>(problem.bad_words.size()) - 1;
    const Text &word = problem.bad_words[at(random.between(0, last))];
    slot.history.insert(slot.history.end(), word.begin(), word.end() - 1);
  }
  if (problem.has_prompt_lengths) {
    const auto length = static_cast<std::int64_t>(slot.history.size());
    const std::int64_t least = random.one_in(2) ? std::max<std::int64_t>(length - 2, 0) : 0;
    slot.prompt_length = static_cast<std::int32_t>(random.between(least, length));
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

namespace {

// For each biased token a context: none, the end of the slot's text, or any few tokens.
void add_bias_contexts(Random random, Problem *problem) {
  problem->has_bias_contexts = problem->has_biased && random.one_in(2);
  for (Slot &slot : problem->slots) {
    for (std::size_t i = 0; i < slot.biased.size(); ++i) {
      const auto length = std::min<std::int64_t>(random.between(0, 4),
                                                 static_cast<std::int64_t>(slot.history.size()));
      Text context(slot.history.end() - length, slot.history.end());
      if (random.one_in(3)) context = random_ids(random, random.between(0, 3), 3);
      slot.bias_contexts.push_back(context);
    }
  }
}

// An exponential decay in some slots, and tokens without penalties, of the text or any.
void add_decay(Random random, Problem *problem) {
  problem->has_unpenalized = random.one_in(3);
  const bool decays = random.one_in(2);
  const float factors[] = {0.0F, 1.0F, 1.0625F, 1.3F, 0.75F, 40.0F};
  for (Slot &slot : problem->slots) {
    slot.unpenalized = random_ids(random, random.between(0, 4), 12);
    if (!decays) continue;
    slot.numbers.exponential_decay_start = static_cast<std::int32_t>(random.between(-2, 40));
    slot.numbers.exponential_decay_factor = factors[random.between(0, 5)];
  }
}

// Guidance of some rows, in some slots.
void add_guidance(Random random, Problem *problem) {
  if (!random.one_in(4)) return;
  const bool has_indices = random.one_in(2);
  const std::int64_t num_rows = has_indices ? random.between(1, 4) : problem->num_rows();
  for (std::int64_t i = 0; i < num_rows; ++i) {
    std::vector<float> row(at(problem->num_cols));
    for (float &x : row) x = random_logit(random);
    problem->guidance.push_back(row);
  }
  for (std::int64_t i = 0; has_indices && i < problem->num_rows(); ++i) {
    problem->guidance_indices.push_back(
        static_cast<std::int32_t>(random.between(-1, num_rows - 1)));
  }
  const float scales[] = {0.0F, 1.0F, 1.5F, 0.25F, -0.5F, 12.0F};
  for (Slot &slot : problem->slots) slot.numbers.guidance_scale = scales[random.between(0, 5)];
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
      problem.bad_words.push_back(random_ids(random, random.between(1, 4), 3));
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
  problem.params.top_k_ties = static_cast<std::int32_t>(random.between(0, 1));
  problem.params.top_p_ties = static_cast<std::int32_t>(random.between(0, 1));
  problem.params.temperature_order = random.one_in(3) ? 1 : 0;
  problem.params.top_p_sum = static_cast<std::int32_t>(random.between(0, 1));
  add_bias_contexts(Random(seed + 1), &problem);
  add_decay(Random(seed + 2), &problem);
  add_guidance(Random(seed + 3), &problem);
  return problem;
}

Problem make_staged_problem(std::uint64_t seed) {
  Problem problem = make_problem(seed);
  Random random(~seed);
  problem.has_windows = true;
  // A slot has one temperature only, and rows may come to have several.
  problem.has_slots = false;
  std::iota(problem.slot_of_row.begin(), problem.slot_of_row.end(), 0);
  problem.slots.resize(problem.rows.size());
  problem.params.typical_p_ties = static_cast<std::int32_t>(random.between(0, 1));
  problem.params.typical_p_sum = static_cast<std::int32_t>(random.between(0, 1));
  problem.params.cutoff_ties = static_cast<std::int32_t>(random.between(0, 1));
  if (random.one_in(4)) {
    problem.kind = SAMPLER_PROBABILITIES;
    if (problem.params.temperature > 0) problem.params.temperature = 1;
    for (auto &row : problem.rows) {
      for (float &x : row) x = std::isinf(x) ? 0.0F : std::exp2(x);
    }
  }
  problem.has_edits = problem.kind == SAMPLER_LOGITS && random.one_in(2);
  const bool has_order_only = random.one_in(5);
  if (has_order_only) {
    problem.numbers_by_slot = false;  // else any stage may be on in some slot
  } else {
    for (Slot &slot : problem.slots) {
      add_windows(random, problem.kind == SAMPLER_LOGITS, &slot.numbers);
    }
    problem.has_adaptive = !random.one_in(3);
  }
  if (problem.has_adaptive) {
    for (Slot &slot : problem.slots) add_adaptive(random, &slot);
    problem.has_adaptive_values = random.one_in(2);
  }
  if (has_order_only || random.one_in(2)) {
    const bool is_joint = random.one_in(3);
    problem.stages = random_stages(random, is_joint);
    problem.params.filter_order = is_joint ? SAMPLER_FILTERS_JOINT : SAMPLER_FILTERS_SEQUENTIAL;
    problem.params.temperature_order = SAMPLER_TEMPERATURE_FIRST;
  }
  return problem;
}

// ---- What the oracle makes of a row

std::vector<float> edited(const Problem &problem, std::int64_t row, Removals *removals) {
  const Slot &own = problem.slot(row);
  const Slot &first = problem.slots[0];
  const Numbers &numbers = problem.numbers(row);
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

  if (!problem.has_edits) return values;
  const auto guide = [&] {
    const std::int64_t index = problem.guidance.empty() ? -1
                               : problem.guidance_indices.empty()
                                   ? row
                                   : problem.guidance_indices[at(row)];
    if (index < 0 || numbers.guidance_scale == 0 || numbers.guidance_scale == 1) return;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] =
          oracle::with_guidance(values[i], problem.guidance[at(index)][i], numbers.guidance_scale);
    }
  };
  const auto add_biases = [&] {
    guide();
    if (problem.has_biased) {
      for (std::size_t i = 0; i < lists.biased.size(); ++i) {
        const auto ends_in = [&](const Text &context) {
          return context.size() <= own.history.size() &&
                 std::equal(context.rbegin(), context.rend(), own.history.rbegin());
        };
        const bool has_context = problem.has_bias_contexts && i < lists.bias_contexts.size();
        if (has_context && !ends_in(lists.bias_contexts[i])) continue;
        edit(lists.biased[i], [&](float x) { return oracle::with_biases(x, {lists.biases[i]}); });
      }
    }
    if (problem.has_dense_bias) {
      for (std::size_t id = 0; id < dense.dense_bias.size(); ++id) {
        edit(static_cast<std::int64_t>(id),
             [&](float x) { return oracle::with_biases(x, {dense.dense_bias[id]}); });
      }
    }
  };

  const Text output(own.history.begin() + own.prompt_length, own.history.end());
  const auto apply_bans = [&] {
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
  };

  const auto penalize = [&] {
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
    if (problem.has_unpenalized) {
      for (const std::int64_t id : lists.unpenalized) repeated[id] = counted[id] = 0;
    }
    for (const auto &[id, i] : element) {
      values[i] =
          oracle::with_penalties(values[i], repeated[id], counted[id], numbers.repetition_penalty,
                                 numbers.frequency_penalty, numbers.presence_penalty,
                                 static_cast<oracle::Form>(problem.penalty_form));
    }
    const std::set<std::int64_t> stop(lists.stop.begin(), lists.stop.end());
    const std::int64_t start = std::max(numbers.exponential_decay_start, 0);
    for (const std::int64_t id : stop) {
      if (!problem.has_stop) break;
      edit(id, [&](float x) {
        return oracle::with_decay(x, numbers.exponential_decay_factor,
                                  static_cast<std::int64_t>(output.size()) - start);
      });
    }
  };

  const auto lower_repeats = [&] {
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
  };

  const auto ban_ngrams = [&] {
    if (numbers.no_repeat_ngram_size > 0) {
      for (const std::int64_t id : oracle::ngram_bans(own.history, numbers.no_repeat_ngram_size)) {
        ban(id);
      }
    }
  };

  const std::vector<sampler_stage> usual = {1, 2, 3, 4, 5};
  for (const sampler_stage stage : problem.stages.empty() ? usual : problem.stages) {
    if (stage == SAMPLER_STAGE_BIAS) add_biases();
    if (stage == SAMPLER_STAGE_MASK) apply_bans();
    if (stage == SAMPLER_STAGE_PENALTIES) penalize();
    if (stage == SAMPLER_STAGE_DRY) lower_repeats();
    if (stage == SAMPLER_STAGE_NO_REPEAT_NGRAM) ban_ngrams();
    for (std::size_t i = 0; removals && i < values.size(); ++i) {
      const bool is_new = values[i] == -kInfinity && problem.rows[at(row)][i] != -kInfinity;
      if (is_new && (*removals)[i] == 0) (*removals)[i] = static_cast<std::uint8_t>(stage);
    }
  }
  return values;
}

namespace {

std::vector<sampler_stage> windows_in_order(const sampler_params &params,
                                            const std::vector<sampler_stage> &listed) {
  if (!listed.empty()) return listed;
  std::vector<sampler_stage> stages;
  constexpr sampler_stage kTemperature = SAMPLER_STAGE_TEMPERATURE;
  if (params.temperature_order == SAMPLER_TEMPERATURE_FIRST) stages = {kTemperature};
  stages.insert(stages.end(), {7, 8, 9, 10, 11, 12, 13, 14, 15});
  if (params.filter_order == SAMPLER_FILTERS_MIN_P_FIRST) {
    stages.insert(stages.end(), {18, 16, 17});
  } else {
    stages.insert(stages.end(), {16, 17, 18});
  }
  if (params.temperature_order == SAMPLER_TEMPERATURE_LAST) stages.push_back(kTemperature);
  stages.push_back(SAMPLER_STAGE_ADAPTIVE);
  return stages;
}

}  // namespace

Staged keep_windows(const Problem &problem, std::int64_t row, const std::vector<float> &values,
                    bool has_coin, Removals *removals) {
  using Places = oracle::Window::Places;
  const sampler_params &params = problem.params;
  const Numbers &n = problem.numbers(row);
  const bool are_logits = problem.kind == SAMPLER_LOGITS;
  const AdaptiveStart adaptive = adaptive_start(problem, row);

  // Elements in rank order.
  Places seen;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] > (are_logits ? -kInfinity : 0.0F)) seen.push_back(static_cast<std::int64_t>(i));
  }
  const auto id_of = [&](std::int64_t i) {
    return problem.candidate_ids.empty() ? i : problem.candidate_ids[at(row)][at(i)];
  };
  std::sort(seen.begin(), seen.end(), [&](std::int64_t a, std::int64_t b) {
    return values[at(a)] != values[at(b)] ? values[at(a)] > values[at(b)] : id_of(a) < id_of(b);
  });

  const auto note = [&](sampler_stage stage, const Places &before, const Places &kept) {
    if (!removals) return;
    for (const std::int64_t i : before) {
      std::uint8_t &by = (*removals)[at(i)];
      const bool is_kept = std::find(kept.begin(), kept.end(), i) != kept.end();
      if (!is_kept && (by == 0 || by > stage)) by = static_cast<std::uint8_t>(stage);
    }
  };
  if (params.temperature <= 1e-5F) {
    if (!seen.empty()) note(SAMPLER_STAGE_TEMPERATURE, seen, {seen[0]});
    return {values, params.temperature};
  }

  float temperature = 1;
  bool is_greedy = false;
  const auto window_of = [&](const Places &elements, float in_force) {
    std::vector<float> ranked;
    for (const std::int64_t i : elements) ranked.push_back(values[at(i)]);
    return oracle::Window(ranked, are_logits, in_force, n.min_keep);
  };
  const std::uint32_t word =
      oracle::word32({Call::seed_of(row), Call::kOffset, 0}, static_cast<oracle::Purpose>(6), 0);
  const auto keep = [&](sampler_stage stage, const Places &elements) {
    const oracle::Window window = window_of(elements, temperature);
    const auto fraction_is_on = [](float x) { return x > 0 && x < 1; };
    const auto ties_of = [](sampler_tie_rule rule) {
      return rule == SAMPLER_TIES_KEEP ? oracle::Ties::kKeep : oracle::Ties::kExact;
    };
    Places kept(elements.size());
    std::iota(kept.begin(), kept.end(), 0);
    if (stage == SAMPLER_STAGE_TYPICAL_P && fraction_is_on(n.typical_p))
      kept = window.typical_p(n.typical_p, ties_of(params.typical_p_ties),
                              params.typical_p_sum == SAMPLER_SUM_EXCEEDS);
    if (stage == SAMPLER_STAGE_TOP_N_SIGMA && n.top_n_sigma > 0)
      kept = window.top_n_sigma(n.top_n_sigma);
    if (stage == SAMPLER_STAGE_EPSILON && fraction_is_on(n.epsilon_cutoff))
      kept = window.epsilon(n.epsilon_cutoff, ties_of(params.cutoff_ties));
    if (stage == SAMPLER_STAGE_ETA && fraction_is_on(n.eta_cutoff))
      kept = window.eta(n.eta_cutoff, ties_of(params.cutoff_ties));
    if (stage == SAMPLER_STAGE_TOP_H && fraction_is_on(n.top_h)) kept = window.top_h(n.top_h);
    if (stage == SAMPLER_STAGE_P_LESS && n.p_less != SAMPLER_P_LESS_NONE)
      kept = window.p_less(n.p_less == SAMPLER_P_LESS_NORM);
    if (stage == SAMPLER_STAGE_MIN_K && n.min_k > 0) kept = window.min_k(n.min_k);
    if (stage == SAMPLER_STAGE_TOP_A && n.top_a > 0) kept = window.top_a(n.top_a);
    const float threshold = n.xtc_threshold == 0 ? 0.1F : n.xtc_threshold;
    if (stage == SAMPLER_STAGE_XTC && has_coin && n.xtc_probability > 0 && threshold <= 0.5F)
      kept = window.xtc(word, n.xtc_probability, threshold);
    if (stage == SAMPLER_STAGE_TOP_K && params.top_k > 0)
      kept = window.top_k(params.top_k, ties_of(params.top_k_ties));
    if (stage == SAMPLER_STAGE_TOP_P && adaptive.top_p < 1)
      kept = window.top_p(adaptive.top_p, ties_of(params.top_p_ties),
                          params.top_p_sum == SAMPLER_SUM_EXCEEDS);
    if (stage == SAMPLER_STAGE_MIN_P && params.min_p > 0) kept = window.min_p(params.min_p);
    if (stage == SAMPLER_STAGE_ADAPTIVE && n.adaptive_kind == SAMPLER_ADAPTIVE_MIROSTAT_V1) {
      const auto num_elements = static_cast<std::int64_t>(values.size());
      kept = window.mirostat_v1(adaptive.mu, num_elements);
    }
    if (stage == SAMPLER_STAGE_ADAPTIVE && n.adaptive_kind == SAMPLER_ADAPTIVE_MIROSTAT_V2)
      kept = window.mirostat_v2(adaptive.mu);
    Places result;
    for (const std::int64_t place : kept) result.push_back(elements[at(place)]);
    return result;
  };

  Places filters_see;
  for (const sampler_stage stage : windows_in_order(params, problem.stages)) {
    if (is_greedy) break;
    if (stage == SAMPLER_STAGE_TEMPERATURE) {
      temperature = params.temperature;
      if (are_logits && n.dynamic_temperature_range > 0) {
        const float exponent =
            n.dynamic_temperature_exponent == 0 ? 1 : n.dynamic_temperature_exponent;
        temperature = oracle::dynamic_temperature_of(window_of(seen, 1).levels(), temperature,
                                                     n.dynamic_temperature_range, exponent);
      }
      is_greedy = temperature <= 1e-5F;
      if (is_greedy) {
        note(stage, seen, {seen[0]});
        seen.resize(1);
      }
    } else if (stage >= SAMPLER_STAGE_TOP_K && stage <= SAMPLER_STAGE_MIN_P &&
               params.filter_order == SAMPLER_FILTERS_JOINT) {
      if (filters_see.empty()) filters_see = seen;
      const Places kept = keep(stage, filters_see);
      note(stage, filters_see, kept);
      if (kept.size() < seen.size()) seen = kept;
    } else if (stage > SAMPLER_STAGE_TEMPERATURE) {
      const Places kept = keep(stage, seen);
      note(stage, seen, kept);
      seen = kept;
    }
  }
  Staged staged = {std::vector<float>(values.size(), are_logits ? -kInfinity : 0.0F), temperature};
  for (const std::int64_t i : seen) staged.values[at(i)] = values[at(i)];
  return staged;
}

void round_rows(Problem *problem, sampler_dtype dtype) {
  for (auto *rows : {&problem->rows, &problem->guidance}) {
    for (auto &row : *rows) {
      for (float &x : row) {
        if (dtype == SAMPLER_F16) x = oracle::f16_to_f32(oracle::f32_to_f16(x));
        if (dtype == SAMPLER_BF16) x = oracle::bf16_to_f32(oracle::f32_to_bf16(x));
      }
    }
  }
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

Call::Call(const Problem &problem, sampler_dtype dtype, const Expected *expected)
    : params(problem.params),
      num_slots(static_cast<std::int64_t>(problem.slots.size())),
      has_pipeline(!expected && (problem.has_edits || problem.has_adaptive_values)) {
  const auto &rows = expected ? expected->rows : problem.rows;
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
  input.kind = problem.kind;
  input.candidate_ids = data_of(candidate_ids_);
  input.candidate_id_type = problem.id_type;
  input.candidate_counts = problem.has_counts ? counts_.data() : nullptr;
  if (problem.has_slots) slots = problem.slot_of_row;
  for (std::int64_t s = 0; s < num_slots; ++s) seeds.push_back(seed_of(s));

  row_params.struct_size = sizeof row_params;
  if (problem.has_forced_tokens) {
    for (const Slot &slot : problem.slots) forced_.push_back(slot.numbers.forced_token_id);
    row_params.forced_token_id = forced_.data();
  }
  if (expected) {
    if (expected->temperatures.empty()) return;
    params = sampler_params_default();
    temperatures_ = expected->temperatures;
    row_params.temperature = temperatures_.data();
    return;
  }
  std::copy(problem.stages.begin(), problem.stages.end(), params.stages);
  set_numbers(problem);
  pipeline.struct_size = sizeof pipeline;
  if (problem.has_edits) {
    set_lists(problem);
    set_guidance(problem, dtype);
  }
  if (!problem.has_adaptive_values) return;
  for (const Slot &slot : problem.slots) {
    adaptive_values_.insert(adaptive_values_.end(), slot.adaptive_values.begin(),
                            slot.adaptive_values.end());
  }
  pipeline.adaptive_values = adaptive_values_.data();
}

void Call::set_guidance(const Problem &problem, sampler_dtype dtype) {
  if (problem.guidance.empty()) return;
  for (const auto &row : problem.guidance) {
    for (const float x : row) put_value(&guidance_, dtype, x);
  }
  pipeline.guidance_logits = guidance_.data();
  pipeline.num_guidance_rows = static_cast<std::int64_t>(problem.guidance.size());
  guidance_indices_ = problem.guidance_indices;
  if (!guidance_indices_.empty()) pipeline.guidance_row_indices = guidance_indices_.data();
}

void Call::set_lists(const Problem &problem) {
  pipeline.token_id_type = problem.id_type;
  std::vector<Text> history, biased, allowed, banned, stop, unpenalized;
  for (const Slot &slot : problem.slots) {
    history.push_back(slot.history);
    prompt_lengths_.push_back(slot.prompt_length);
    if (bad_word_offsets_.empty()) bad_word_offsets_.push_back(slot.first_bad_word);
    bad_word_offsets_.push_back(slot.end_of_bad_words);
    if (problem.lists_for_all && !biased.empty()) continue;
    biased.push_back(slot.biased);
    allowed.push_back(slot.allowed);
    banned.push_back(slot.banned);
    stop.push_back(slot.stop);
    unpenalized.push_back(slot.unpenalized);
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
    std::vector<Text> contexts(3);  // of the three tokens before the first list
    for (std::size_t s = 0; s < biased.size(); ++s) {
      std::vector<Text> own = problem.slots[s].bias_contexts;
      own.resize(problem.slots[s].biased.size());
      contexts.insert(contexts.end(), own.begin(), own.end());
    }
    if (problem.has_bias_contexts) {
      pipeline.bias_contexts = bias_contexts_.view(contexts, problem.id_type);
    }
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
  if (problem.has_unpenalized) {
    pipeline.unpenalized = unpenalized_.view(unpenalized, problem.id_type);
  }
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
}

void Call::set_numbers(const Problem &problem) {
  // A member of the parameters, or an array by slot.
  const auto set = [&](auto member, auto *scalar, auto *array, const auto **by_slot) {
    *scalar = problem.slots[0].numbers.*member;
    for (const Slot &slot : problem.slots) array->push_back(slot.numbers.*member);
    if (problem.numbers_by_slot) *by_slot = array->data();
  };
  sampler_params &p = params;
  sampler_row_params &r = row_params;
  if (problem.has_edits) {
    if (!problem.guidance.empty()) {
      set(&Numbers::guidance_scale, &p.guidance_scale, &guidance_scale_, &r.guidance_scale);
    }
    set(&Numbers::repetition_penalty, &p.repetition_penalty, &repetition_, &r.repetition_penalty);
    set(&Numbers::frequency_penalty, &p.frequency_penalty, &frequency_, &r.frequency_penalty);
    set(&Numbers::presence_penalty, &p.presence_penalty, &presence_, &r.presence_penalty);
    set(&Numbers::penalty_window, &p.penalty_window, &window_, &r.penalty_window);
    set(&Numbers::exponential_decay_start, &p.exponential_decay_start, &decay_start_,
        &r.exponential_decay_start);
    set(&Numbers::exponential_decay_factor, &p.exponential_decay_factor, &decay_factor_,
        &r.exponential_decay_factor);
    set(&Numbers::dry_multiplier, &p.dry_multiplier, &multiplier_, &r.dry_multiplier);
    set(&Numbers::dry_base, &p.dry_base, &base_, &r.dry_base);
    set(&Numbers::dry_allowed_length, &p.dry_allowed_length, &allowed_length_,
        &r.dry_allowed_length);
    set(&Numbers::dry_window, &p.dry_window, &dry_window_, &r.dry_window);
    set(&Numbers::no_repeat_ngram_size, &p.no_repeat_ngram_size, &ngram_, &r.no_repeat_ngram_size);
    set(&Numbers::min_new_tokens, &p.min_new_tokens, &min_new_, &r.min_new_tokens);
    p.penalty_scope = problem.penalty_scope;
    p.penalty_form = problem.penalty_form;
    p.bad_word_scope = problem.bad_word_scope;
  }
  if (!problem.has_windows) return;
  set(&Numbers::dynamic_temperature_range, &p.dynamic_temperature_range, &range_,
      &r.dynamic_temperature_range);
  set(&Numbers::dynamic_temperature_exponent, &p.dynamic_temperature_exponent, &exponent_,
      &r.dynamic_temperature_exponent);
  set(&Numbers::typical_p, &p.typical_p, &typical_, &r.typical_p);
  set(&Numbers::top_n_sigma, &p.top_n_sigma, &sigma_, &r.top_n_sigma);
  set(&Numbers::epsilon_cutoff, &p.epsilon_cutoff, &epsilon_, &r.epsilon_cutoff);
  set(&Numbers::eta_cutoff, &p.eta_cutoff, &eta_, &r.eta_cutoff);
  set(&Numbers::top_h, &p.top_h, &top_h_, &r.top_h);
  set(&Numbers::p_less, &p.p_less, &p_less_, &r.p_less);
  set(&Numbers::min_k, &p.min_k, &min_k_, &r.min_k);
  set(&Numbers::top_a, &p.top_a, &top_a_, &r.top_a);
  set(&Numbers::xtc_probability, &p.xtc_probability, &xtc_probability_, &r.xtc_probability);
  set(&Numbers::xtc_threshold, &p.xtc_threshold, &xtc_threshold_, &r.xtc_threshold);
  set(&Numbers::min_keep, &p.min_keep, &min_keep_, &r.min_keep);
  if (!problem.has_adaptive) return;
  set(&Numbers::adaptive_kind, &p.adaptive_kind, &kind_, &r.adaptive_kind);
  set(&Numbers::adaptive_target, &p.adaptive_target, &target_, &r.adaptive_target);
  set(&Numbers::adaptive_rate, &p.adaptive_rate, &rate_, &r.adaptive_rate);
  set(&Numbers::top_p_decay, &p.top_p_decay, &decay_, &r.top_p_decay);
  set(&Numbers::top_p_least, &p.top_p_least, &least_, &r.top_p_least);
}

Sampled sample(sampler_t sampler, const Call &call, sampler_logprob_kind logprob_kind,
               sampler_draw_method draw_method) {
  const std::size_t rows = at(call.input.num_rows);
  Sampled result = {std::vector<std::int32_t>(rows, -7), std::vector<std::int32_t>(rows, -7),
                    std::vector<float>(rows, 7),         std::vector<float>(rows, 7),
                    std::vector<float>(rows, 7),         std::vector<sampler_row_status>(rows, 7)};
  auto args = call.args<SampleArgs>();
  args.random.seeds = call.seeds.data();
  args.random.num_seeds = call.num_slots;
  args.random.offset = Call::kOffset;
  args.report_args.logprob_kind = logprob_kind;
  args.draw_method = draw_method;
  args.out_token_ids = result.token_ids.data();
  args.report_args.out_kept_counts = result.kept_counts.data();
  args.report_args.out_logprobs = result.logprobs.data();
  args.report_args.out_values = result.values.data();
  args.report_args.out_observations = result.observations.data();
  args.out_row_status = result.status.data();
  const auto memory = workspace_of(sampler, &args, &sampler_sample_workspace_size);
  EXPECT_EQ(sampler_sample(sampler, &args), SAMPLER_OK) << sampler_last_error();
  return result;
}

std::vector<std::int32_t> sample_ids(sampler_t sampler, const Call &call) {
  std::vector<std::int32_t> ids(at(call.input.num_rows), -7);
  auto args = call.args<SampleArgs>();
  args.random.seeds = call.seeds.data();
  args.random.num_seeds = call.num_slots;
  args.random.offset = Call::kOffset;
  args.out_token_ids = ids.data();
  const auto memory = workspace_of(sampler, &args, &sampler_sample_workspace_size);
  EXPECT_EQ(sampler_sample(sampler, &args), SAMPLER_OK) << sampler_last_error();
  return ids;
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
  row_params.xtc_probability = nullptr;
  sampler_params params = call.params;
  params.xtc_probability = 0;
  args.params = &params;
  args.row_params = &row_params;
  const auto memory = workspace_of(sampler, &args, &sampler_filter_workspace_size);
  EXPECT_EQ(sampler_filter(sampler, &args), SAMPLER_OK) << sampler_last_error();
  return result;
}

}  // namespace pipeline_test
