// Calls with stages, with reports, and verification by every rule and of every layout. Unlike those
// of cases.cpp they name each member that they have, with numbers that make a difference.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <type_traits>
#include <utility>

#include "builder.h"
#include "cases.h"

namespace vectors_test {
namespace {

using capi_test::Op;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// ---- Rows, of multiples of 1/16 or 1/256, which every type has

// A drafter's, of a target's.
Row near_to(Row row, Random *random) {
  for (float &x : row) x += float(random->between(-12, 12)) / 16;
  return row;
}

// Its elements sum to 1.
Row random_probabilities(std::int64_t num_cols, Random *random) {
  std::vector<std::int64_t> parts(std::size_t(num_cols), 0);
  for (int left = 256; left > 0; left -= 16) {
    const auto col = std::size_t(random->between(0, num_cols - 1));
    const std::int64_t other = std::int64_t(col + 1) % num_cols;
    parts[col] += 12;
    parts[std::size_t(other)] += 4;
  }
  Row row;
  for (const std::int64_t part : parts) row.push_back(float(part) / 256);
  return row;
}

std::int64_t argmax(const Row &row) {
  return std::max_element(row.begin(), row.end()) - row.begin();
}

using Edit = std::function<void(Builder &)>;

// ---- What stages need

constexpr std::int64_t kCols = 24, kSlots = 3;

// With repeats, so that DRY and n-grams find some.
std::vector<Ids> random_texts(std::int64_t count, std::int64_t num_cols, Random *random) {
  std::vector<Ids> texts;
  for (std::int64_t i = 0; i < count; ++i) {
    Ids text;
    for (std::int64_t j = 0; j < 5 + i % 3; ++j) text.push_back(random->between(0, num_cols));
    for (std::int64_t j = 0; j < 4; ++j) text.push_back(text[std::size_t(j)]);
    texts.push_back(text);
  }
  return texts;
}

void add_history(Builder &b, std::int64_t num_slots = kSlots, std::int64_t num_cols = kCols) {
  b.lists("history", random_texts(num_slots, num_cols, b.random()));
  Ints lengths;
  for (std::int64_t i = 0; i < num_slots; ++i) lengths.push_back(std::int32_t(3 + i % 4));
  b.in("pipeline.prompt_lengths", lengths);
}

// Few of the likely tokens, so that the lists of them matter.
Ids random_ids(Builder &b, std::int64_t count, std::int64_t num_cols = kCols) {
  Ids ids;
  while (std::int64_t(ids.size()) < count) {
    const std::int64_t id = b.random()->between(0, num_cols - 1);
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  }
  return ids;
}

std::vector<Ids> random_lists(Builder &b, std::int64_t count, std::int64_t ids_each,
                              std::int64_t num_cols = kCols) {
  std::vector<Ids> lists;
  for (std::int64_t i = 0; i < count; ++i) lists.push_back(random_ids(b, ids_each, num_cols));
  return lists;
}

void add_biases(Builder &b, std::int64_t num_lists) {
  b.lists("biased", random_lists(b, num_lists, 5));
  Floats biases;
  for (std::int64_t i = 0; i < 5 * num_lists; ++i) biases.push_back(float(i % 5) - 1.75f);
  biases[3] = -kInf;
  b.in("pipeline.biases", biases);
}

void add_dense_bias(Builder &b, std::int64_t num_biases, std::int64_t width,
                    std::int64_t num_cols = kCols) {
  Floats biases;
  const std::int64_t count = num_biases * (width ? width : num_cols);
  for (std::int64_t i = 0; i < count; ++i) biases.push_back(float(b.random()->between(-9, 9)) / 4);
  b.in("pipeline.dense_bias", biases).set("pipeline.num_dense_biases", num_biases);
  if (width) b.set("pipeline.dense_bias_stride", width);
}

void add_guidance(Builder &b, std::int64_t num_rows) {
  Rows rows;
  for (std::int64_t i = 0; i < num_rows; ++i) rows.push_back(random_logits(kCols, b.random()));
  b.guidance(rows);
}

Words random_masks(Builder &b, std::int64_t count) {
  Words masks;
  for (std::int64_t i = 0; i < count; ++i) masks.push_back(std::uint32_t(b.random()->next()));
  return masks;
}

void add_bad_words(Builder &b, std::int64_t num_slots) {
  const std::vector<Ids> texts = random_texts(num_slots, kCols, b.random());
  std::vector<Ids> words;
  Longs offsets = {0};
  for (const Ids &text : texts) {  // what its text has behind its last two tokens, and any
    words.push_back({text.end()[-2], text.end()[-1], 7});
    words.push_back({text.end()[-1], 11});
    words.push_back(random_ids(b, 1));
    words.push_back({text[0], text[1], 3});
    offsets.push_back(offsets.back() + 4);
  }
  Ints lengths(std::size_t(num_slots), 2);
  lengths.back() = std::int32_t(texts.back().size() - 1);
  b.lists("history", texts).in("pipeline.prompt_lengths", lengths);
  b.lists("bad_words", words).in("pipeline.bad_word_offsets", offsets);
}

// ---- Sampling and filters

Builder sampling(Op op, const std::string &name, std::uint64_t seed, std::int64_t num_cols = kCols,
                 sampler_dtype dtype = SAMPLER_F32) {
  Builder b(capi_test::operation(op), name, seed);
  b.get().brings_workspace = true;
  Rows rows;
  for (std::int64_t i = 0; i < kSlots; ++i) rows.push_back(random_logits(num_cols, b.random()));
  b.rows("input", rows, SAMPLER_LOGITS, dtype);
  if (op == Op::kSample) {
    b.set("random.seed", 77).set("random.offset", std::int64_t(seed));
    b.set("logprob_kind", SAMPLER_LOGPROB_PROCESSED);
    b.out("out_logprobs", kSlots);
  } else {
    b.out("output", 0);
    b.get().outputs["output"] = {ElementType::kF32,
                                 std::string(std::size_t(kSlots * num_cols) * 4, '\0')};
  }
  return b.out("out_kept_counts", kSlots).out("out_row_status", kSlots);
}

void add_tokens(Builder &b) {
  if (b.has("out_token_ids")) b.out("out_token_ids", kSlots);
}

struct Stage {
  const char *name;
  Edit edit;
  std::int64_t num_cols = kCols;
  std::vector<std::string> shown = {};  // members that must make a difference
};

const std::vector<Stage> &single_stages() {
  static const std::vector<Stage> stages = {
      {"biases by slot", [](Builder &b) { add_biases(b, kSlots); }},
      {"biases for all", [](Builder &b) { add_biases(b, 1); }},
      {"dense bias by slot", [](Builder &b) { add_dense_bias(b, kSlots, 0); }},
      {"dense bias for all, narrower than the row", [](Builder &b) { add_dense_bias(b, 1, 15); }},
      {"allowed tokens",
       [](Builder &b) {
         b.lists("allowed", {random_ids(b, 4), {}, random_ids(b, 2)});
       }},
      {"banned tokens", [](Builder &b) { b.lists("banned", random_lists(b, 1, 12)); }},
      {"stop tokens before min_new_tokens",
       [](Builder &b) {
         add_history(b);
         b.lists("stop", random_lists(b, kSlots, 12)).set("params.min_new_tokens", 6);
       }},
      {"bad words in the output",
       [](Builder &b) {
         add_bad_words(b, kSlots);
         b.set("params.bad_word_scope", SAMPLER_PENALTY_SCOPE_OUTPUT);
       }},
      {"bad words anywhere",
       [](Builder &b) {
         add_bad_words(b, kSlots);
         b.get().inputs.erase("pipeline.bad_word_offsets");
         b.set("params.bad_word_scope", SAMPLER_PENALTY_SCOPE_ALL);
       }},
      {"a bitmask for each row",
       [](Builder &b) {
         b.in("pipeline.token_bitmasks", random_masks(b, kSlots))
             .set("pipeline.num_token_bitmasks", kSlots);
       }},
      {"bitmasks by index, what they have no bit for is left",
       [](Builder &b) {
         b.in("pipeline.token_bitmasks", random_masks(b, 2));
         b.set("pipeline.num_token_bitmasks", 2).set("pipeline.token_bitmask_stride", 1);
         b.in("pipeline.token_bitmask_indices", Ints{1, -1, 0});
       },
       40},
      {"bitmasks by index, what they have no bit for is forbidden",
       [](Builder &b) {
         b.in("pipeline.token_bitmasks", random_masks(b, 2));
         b.set("pipeline.num_token_bitmasks", 2).set("pipeline.token_bitmask_stride", 1);
         b.set("pipeline.token_bitmask_rule", SAMPLER_MASK_FORBIDS);
         b.in("pipeline.token_bitmask_indices", Ints{1, -1, 0});
       },
       40},
      {"penalties, divided",
       [](Builder &b) {
         add_history(b);
         b.set_float("params.repetition_penalty", 1.3f);
         b.set_float("params.frequency_penalty", 0.7f);
         b.set_float("params.presence_penalty", 0.3f);
       }},
      {"penalties, by reciprocals, of the last tokens",
       [](Builder &b) {
         add_history(b);
         b.set_float("params.repetition_penalty", 1.7f);
         b.set_float("params.frequency_penalty", 0.3f);
         b.set_float("params.presence_penalty", 0.1f);
         b.set("params.penalty_window", 5).set("params.penalty_scope", SAMPLER_PENALTY_SCOPE_ALL);
         b.set("params.penalty_form", SAMPLER_PENALTY_RECIPROCAL);
       }},
      {"penalties of the output, counts first",
       [](Builder &b) {
         add_history(b);
         b.set_float("params.repetition_penalty", 0.8f);
         b.set_float("params.frequency_penalty", -0.9f);
         b.set_float("params.presence_penalty", 0.3f);
         b.set("params.penalty_scope", SAMPLER_PENALTY_SCOPE_OUTPUT);
         b.set("params.penalty_form", SAMPLER_PENALTY_COUNTS_FIRST);
       }},
      {"dry",
       [](Builder &b) {
         add_history(b);
         b.set_float("params.dry_multiplier", 1.5f).set_float("params.dry_base", 1.25f);
         b.set("params.dry_allowed_length", 1).set("params.dry_window", 8);
         b.lists("dry_breakers", {{1, 2}, {6}});
       },
       kCols,
       {"params.dry_base", "params.dry_allowed_length", "params.dry_window"}},
      {"dry with its defaults, a breaker in the repeats",
       [](Builder &b) {
         add_history(b);
         const Array &text = b.get().inputs.at("pipeline.history.token_ids");
         std::int32_t id;
         std::memcpy(&id, text.bytes.data() + 8, sizeof id);  // the third of slot 0
         b.set_float("params.dry_multiplier", 1.5f).lists("dry_breakers", {{id}});
       }},
      {"no repeated n-gram",
       [](Builder &b) {
         add_history(b);
         b.set("params.no_repeat_ngram_size", 3);
       }},
      {"no repeated token, and no longer history",
       [](Builder &b) {
         add_history(b);
         b.set("params.no_repeat_ngram_size", 1).set("pipeline.max_history_tokens", 10);
       }},
      {"dynamic temperature",
       [](Builder &b) {
         b.set_float("params.dynamic_temperature_range", 0.6f);
         b.set_float("params.dynamic_temperature_exponent", 2.5f);
       }},
      {"typical_p", [](Builder &b) { b.set_float("params.typical_p", 0.6f); }},
      {"typical_p keeps ties",
       [](Builder &b) {
         b.set_float("params.typical_p", 0.1f).set("params.typical_p_ties", SAMPLER_TIES_KEEP);
         Rows rows(3, Row(kCols, 0.0f));
         rows[0][3] = rows[1][5] = 2;
         b.rows("input", rows, SAMPLER_LOGITS);
       }},
      {"typical_p exceeds its share",
       [](Builder &b) {
         b.set_float("params.typical_p", 0.5f).set("params.typical_p_sum", SAMPLER_SUM_EXCEEDS);
         b.rows("input", Rows(3, Row(kCols, 0.0f)), SAMPLER_LOGITS);
       }},
      {"top_n_sigma", [](Builder &b) { b.set_float("params.top_n_sigma", 1.25f); }},
      {"epsilon_cutoff", [](Builder &b) { b.set_float("params.epsilon_cutoff", 0.03f); }},
      {"epsilon_cutoff keeps ties",
       [](Builder &b) {
         b.set_float("params.epsilon_cutoff", 0.5f).set("params.cutoff_ties", SAMPLER_TIES_KEEP);
         Rows rows(3, Row(kCols, 0.0f));
         rows[0][3] = rows[0][5] = rows[1][5] = rows[1][7] = 2;
         b.rows("input", rows, SAMPLER_LOGITS);
       }},
      {"eta_cutoff", [](Builder &b) { b.set_float("params.eta_cutoff", 0.02f); }},
      {"top_h", [](Builder &b) { b.set_float("params.top_h", 0.4f); }},
      {"min_keep",
       [](Builder &b) {
         b.set_float("params.top_p", 0.1f).set_float("params.min_p", 0.9f);
         b.set("params.min_keep", 5);
       }},
      {"mirostat 1",
       [](Builder &b) {
         b.set("params.adaptive_kind", SAMPLER_ADAPTIVE_MIROSTAT_V1);
         b.set_float("params.adaptive_target", 2.5f);
       }},
      {"mirostat 2 with its values",
       [](Builder &b) {
         b.set("params.adaptive_kind", SAMPLER_ADAPTIVE_MIROSTAT_V2);
         b.set_float("params.adaptive_target", 2.0f).set_float("params.adaptive_rate", 0.2f);
         b.in("pipeline.adaptive_values",
              Floats{3.5f, kNan, kNan, kNan, 2.25f, kNan, kNan, kNan, kNan, kNan, kNan, kNan});
       }},
      {"adaptive_p",
       [](Builder &b) {
         b.set("params.adaptive_kind", SAMPLER_ADAPTIVE_P);
         b.set_float("params.adaptive_target", 0.2f).set_float("params.adaptive_rate", 0.8f);
         b.in("pipeline.adaptive_values",
              Floats{kNan, 0.9f, 3.0f, kNan, kNan, 0.1f, 2.0f, kNan, kNan, kNan, kNan, kNan});
       }},
      {"running top_p",
       [](Builder &b) {
         b.set_float("params.top_p", 0.9f).set_float("params.top_p_decay", 0.5f);
         b.set_float("params.top_p_least", 0.25f);
         b.in("pipeline.adaptive_values",
              Floats{kNan, kNan, kNan, 0.3f, kNan, kNan, kNan, 0.45f, kNan, kNan, kNan, kNan});
       }},
      {"stages in another order",
       [](Builder &b) {
         add_history(b);
         add_biases(b, 1);
         b.set_float("params.repetition_penalty", 1.5f).set_float("params.temperature", 2.0f);
         b.set("params.top_k", 9).set_float("params.top_p", 0.7f).set_float("params.min_p", 0.2f);
         b.stages({SAMPLER_STAGE_PENALTIES, SAMPLER_STAGE_BIAS, SAMPLER_STAGE_MIN_P,
                   SAMPLER_STAGE_TOP_P, SAMPLER_STAGE_TEMPERATURE, SAMPLER_STAGE_TOP_K});
       }},
      {"joint filters side by side",
       [](Builder &b) {
         b.set("params.filter_order", SAMPLER_FILTERS_JOINT);
         b.set("params.top_k", 9).set_float("params.top_p", 0.7f).set_float("params.min_p", 0.1f);
         b.set_float("params.typical_p", 0.9f);
         b.stages({SAMPLER_STAGE_TYPICAL_P, SAMPLER_STAGE_TOP_P, SAMPLER_STAGE_TOP_K,
                   SAMPLER_STAGE_MIN_P});
       }},
      {"biases by slot, after contexts",
       [](Builder &b) {
         const std::vector<Ids> texts = random_texts(kSlots, kCols, b.random());
         b.lists("history", texts);
         add_biases(b, kSlots);
         std::vector<Ids> contexts;  // what the text ends in, what it does not, none
         for (std::size_t i = 0; i < 5 * kSlots; ++i) {
           const std::int64_t last = texts[i / 5].back();
           contexts.push_back(i % 3 == 0 ? Ids{last} : i % 3 == 1 ? Ids{last, last + 1} : Ids{});
         }
         b.lists("bias_contexts", contexts);
       }},
      {"exponential decay, tokens without penalties",
       [](Builder &b) {
         add_history(b);
         b.lists("stop", random_lists(b, kSlots, 12)).lists("unpenalized", random_lists(b, 1, 9));
         b.set_float("params.repetition_penalty", 1.7f);
         b.set("params.exponential_decay_start", 1);
         b.set_float("params.exponential_decay_factor", 1.3f);
       }},
  };
  return stages;
}

// Every list, for `num_slots` slots.
void add_all_lists(Builder &b, std::int64_t num_slots, std::int64_t num_rows) {
  add_bad_words(b, num_slots);
  b.set("pipeline.max_history_tokens", 12);
  add_biases(b, num_slots);
  add_dense_bias(b, num_slots, 22);
  b.lists("allowed", random_lists(b, num_slots, 21)).lists("banned", random_lists(b, num_slots, 1));
  b.lists("stop", random_lists(b, num_slots, 2)).lists("dry_breakers", {{0, 5}, {9}});
  b.in("pipeline.token_bitmasks", Words{0xFFFFFFEDu, 0xFFFFFBFFu});
  b.set("pipeline.num_token_bitmasks", 2).set("pipeline.token_bitmask_stride", 1);
  Ints indices;
  for (std::int64_t i = 0; i < num_rows; ++i) indices.push_back(std::int32_t(i % 3 - 1));
  b.in("pipeline.token_bitmask_indices", indices);
  Floats values;
  for (std::int64_t i = 0; i < num_slots; ++i) {
    values.insert(values.end(), {float(3 + i), kNan, kNan, i % 2 ? 0.7f : kNan});
  }
  b.in("pipeline.adaptive_values", values);
}

// A number for each slot that none of the others has.
template <class T>
std::vector<T> by_slot(std::int64_t num_slots, T first, T step) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < num_slots; ++i) values.push_back(first + T(i) * step);
  return values;
}

void add_row_params(Builder &b, const std::string &name, std::int64_t num_slots, float first,
                    float step) {
  b.in("row_params." + name, by_slot<float>(num_slots, first, step));
}

// Numbers by slot, in groups in which each makes a difference.
struct Numbers {
  const char *name;
  std::vector<std::string> members;
  std::function<void(Builder &, std::int64_t num_slots)> edit;
};

const std::vector<Numbers> &numbers_by_slot() {
  static const std::vector<Numbers> numbers = {
      {"temperature and filters",
       {"temperature", "top_k", "top_p", "min_p", "min_keep"},
       [](Builder &b, std::int64_t n) {
         add_row_params(b, "temperature", n, 0.7f, 0.2f);
         b.in("row_params.top_p", Floats{0.6f, 1, 1, 1, 0.9f});
         b.in("row_params.min_p", Floats{0, 0, 0, 0, 0.2f});
         b.in("row_params.top_k", Ints{12, 0, 0, 4, 0});
         b.in("row_params.min_keep", Ints{2, 1, 1, 6, 0});
       }},
      {"penalties",
       {"repetition_penalty", "frequency_penalty", "presence_penalty", "penalty_window",
        "min_new_tokens"},
       [](Builder &b, std::int64_t n) {
         add_history(b, n);
         add_row_params(b, "repetition_penalty", n, 1.1f, 0.2f);
         add_row_params(b, "frequency_penalty", n, 0.2f, 0.1f);
         add_row_params(b, "presence_penalty", n, 0.1f, 0.3f);
         b.in("row_params.penalty_window", by_slot<std::int32_t>(n, 3, 1));
         b.lists("stop", random_lists(b, n, 4));
         b.in("row_params.min_new_tokens", by_slot<std::int32_t>(n, 20, -4));
       }},
      {"repeats",
       {"dry_multiplier", "dry_base", "dry_allowed_length", "dry_window", "no_repeat_ngram_size"},
       [](Builder &b, std::int64_t n) {
         add_history(b, n);
         add_row_params(b, "dry_multiplier", n, 0.5f, 0.5f);
         add_row_params(b, "dry_base", n, 1.25f, 0.125f);
         b.in("row_params.dry_allowed_length", by_slot<std::int32_t>(n, 1, 2));
         b.in("row_params.dry_window", by_slot<std::int32_t>(n, 7, 1));
         b.in("row_params.no_repeat_ngram_size", Ints{0, 2, 0, 0, 3});
       }},
      {"dynamic temperature and typical_p",
       {"dynamic_temperature_range", "dynamic_temperature_exponent", "typical_p", "top_n_sigma"},
       [](Builder &b, std::int64_t n) {
         add_row_params(b, "dynamic_temperature_range", n, 0.2f, 0.1f);
         add_row_params(b, "dynamic_temperature_exponent", n, 0.5f, 0.25f);
         add_row_params(b, "typical_p", n, 0.9f, -0.1f);
         add_row_params(b, "top_n_sigma", n, 2.0f, -0.25f);
       }},
      {"cutoffs",
       {"epsilon_cutoff", "eta_cutoff", "top_h"},
       [](Builder &b, std::int64_t n) {
         b.in("row_params.epsilon_cutoff", Floats{0.01f, 0, 0, 0.02f, 0});
         b.in("row_params.eta_cutoff", Floats{0.1f, 0, 0, 0, 0.1f});
         add_row_params(b, "top_h", n, 0.95f, -0.05f);
       }},
      {"adaptive stages",
       {"adaptive_kind", "adaptive_target"},
       [](Builder &b, std::int64_t n) {
         b.in("row_params.adaptive_kind",
              Ints{SAMPLER_ADAPTIVE_P, 0, 0, SAMPLER_ADAPTIVE_MIROSTAT_V1,
                   SAMPLER_ADAPTIVE_MIROSTAT_V2});
         b.in("row_params.adaptive_target", Floats{0.25f, 0, 0, 3, 2});
         b.in("row_params.adaptive_rate", Floats{0.5f, 0, 0, 0.25f, 0.25f});
         Floats values(std::size_t(n * SAMPLER_NUM_ADAPTIVE_VALUES), kNan);
         values[1] = 0.3f, values[2] = 2;
         values[12] = 2.5f, values[16] = 1.5f;
         b.in("pipeline.adaptive_values", values);
       }},
      {"running top_p",
       {"top_p_decay", "top_p_least"},
       [](Builder &b, std::int64_t n) {
         add_row_params(b, "top_p", n, 0.9f, 0.0f);
         add_row_params(b, "top_p_decay", n, 0.5f, 0.0f);
         add_row_params(b, "top_p_least", n, 0.4f, 0.05f);
         b.in("row_params.top_p_reset_token_id", Longs(std::size_t(n), 3));
         Floats values(std::size_t(n * SAMPLER_NUM_ADAPTIVE_VALUES), kNan);
         values[3] = 0.5f, values[19] = 0.125f;
         b.in("pipeline.adaptive_values", values);
       }},
      {"xtc",
       {"xtc_probability", "xtc_threshold"},
       [](Builder &b, std::int64_t n) {
         add_row_params(b, "xtc_probability", n, 0.95f, -0.1f);
         add_row_params(b, "xtc_threshold", n, 0.05f, 0.04f);
       }},
      {"exponential decay",
       {"exponential_decay_start", "exponential_decay_factor"},
       [](Builder &b, std::int64_t n) {
         add_history(b, n);
         b.lists("stop", random_lists(b, n, 6));
         b.in("row_params.exponential_decay_start", by_slot<std::int32_t>(n, -1, 1));
         add_row_params(b, "exponential_decay_factor", n, 0.5f, 0.375f);
       }},
  };
  return numbers;
}

void add_slots(Builder &b) {
  b.set("num_slots", 5).in("slots", Ints{3, 0, 4});
}

// ---- Reports

void add_reports(Builder &b, std::int64_t num_rows, std::int64_t num_cols, std::int64_t words,
                 std::int64_t capacity) {
  b.out("out_observations", num_rows).out("out_ranks", num_rows).out("out_entropies", num_rows);
  b.set("num_top_logprobs", 4);
  b.out("out_top_token_ids", 4 * num_rows).out("out_top_logprobs", 4 * num_rows);
  b.out("out_kept_bitmask", num_rows * (words ? words : (num_cols + 31) / 32));
  if (words) b.set("kept_bitmask_stride", words);
  b.set("kept_capacity", capacity);
  b.out("out_kept_token_ids", capacity * num_rows);
  b.out("out_kept_probabilities", capacity * num_rows);
  if (b.get().operation == &capi_test::operation(Op::kVerify)) return;  // reports no others
  b.set("num_chosen", 2).out("out_chosen_logprobs", 2 * num_rows);
  Ids chosen;
  for (std::int64_t i = 0; i < 2 * num_rows; ++i) {
    chosen.push_back(i == 3 ? -1 : b.random()->between(0, num_cols));
  }
  b.ids("chosen_token_ids", chosen);
  b.out("out_values", num_rows).out("out_removed_by", num_rows * num_cols);
}

// ---- Verification

struct Chain {
  std::int64_t num_sequences = 3, num_drafts = 3, num_cols = 11;
  bool has_draft_rows = true;
  sampler_input_kind kind = SAMPLER_LOGITS;
  bool uses_i64 = false;
};

constexpr std::int64_t kVerifyCols = 11;

// Drafts are often what the drafter likes most.
struct Sequences {
  Rows target, draft;
  Ids ids;
};

Sequences random_sequences(const Chain &chain, Random *random) {
  Sequences made;
  for (std::int64_t s = 0; s < chain.num_sequences; ++s) {
    for (std::int64_t i = 0; i <= chain.num_drafts; ++i) {
      const bool are_logits = chain.kind == SAMPLER_LOGITS;
      Row row = are_logits ? random_logits(chain.num_cols, random)
                           : random_probabilities(chain.num_cols, random);
      made.target.push_back(row);
      if (i == chain.num_drafts) continue;
      if (are_logits || random->between(0, 1)) {
        row = are_logits ? near_to(row, random) : random_probabilities(chain.num_cols, random);
      }
      made.draft.push_back(row);
      const bool is_likely = random->between(0, 3) > 0;
      made.ids.push_back(is_likely ? argmax(row) : random->between(0, chain.num_cols - 1));
    }
  }
  return made;
}

Builder verification(const std::string &name, std::uint64_t seed, const Chain &chain = {},
                     const Edit &edit_ids = {}) {
  Builder b(capi_test::operation(Op::kVerify), name, seed);
  b.get().brings_workspace = true;
  if (chain.uses_i64) b.use_i64();
  const Sequences made = random_sequences(chain, b.random());
  b.rows("target", made.target, chain.kind).set("num_drafts", chain.num_drafts);
  if (chain.has_draft_rows) b.rows("draft", made.draft, chain.kind);
  b.ids("draft_token_ids", made.ids);
  b.set("random.seed", 5).set("random.offset", std::int64_t(seed));
  const std::int64_t n = chain.num_sequences, positions = n * (chain.num_drafts + 1);
  b.out("out_token_ids", positions).out("out_positions", positions);
  b.out("out_accepted_counts", n).out("out_emitted_counts", n).out("out_row_status", n);
  if (edit_ids) edit_ids(b);
  return b;
}

// ---- All of them

class Maker {
 public:
  explicit Maker(Op op) : op_(op) {}

  std::vector<Case> make() {
    if (op_ == Op::kSample || op_ == Op::kFilter) add_stages();
    if (op_ == Op::kSample) add_all_reports();
    if (op_ == Op::kSample || op_ == Op::kFilter) add_later_stages();
    if (op_ == Op::kVerify) {
      add_rules();
      add_layouts();
      add_trees();
      add_verified_stages();
    }
    return std::move(cases_);
  }

 private:
  bool is_sample() const { return op_ == Op::kSample; }

  // That succeeds.
  void add(Builder b) {
    add_tokens_of_sample(b);
    Case made = replayed(b.get(), WorkspaceOf::kCall);
    if (made.status != SAMPLER_OK) give_up(made.name, made.error);
    cases_.push_back(std::move(made));
  }
  void add_refused(Builder b) {
    add_tokens_of_sample(b);
    Case made = replayed(b.get(), WorkspaceOf::kCall);
    if (made.status == SAMPLER_OK) give_up(made.name, "must fail");
    cases_.push_back(std::move(made));
  }
  // The ids' type is the case's by now.
  void add_tokens_of_sample(Builder &b) const {
    if (is_sample()) add_tokens(b);
  }
  // The first of what `make` gives of a number in which each of the members makes a difference.
  void add_showing(const std::vector<std::string> &members,
                   const std::function<Builder(std::uint64_t)> &make) {
    constexpr std::uint64_t kAttempts = 1000;
    std::string missing;
    for (std::uint64_t seed = 1000 * next(); seed < 1000 * next() + kAttempts; ++seed) {
      Builder b = make(seed);
      add_tokens_of_sample(b);
      const Case made = replayed(b.get(), WorkspaceOf::kCall);
      if (made.status != SAMPLER_OK) give_up(made.name, made.error);
      const auto found = std::find_if_not(members.begin(), members.end(),
                                          [&](const auto &member) { return shows(made, member); });
      if (found == members.end()) {
        cases_.push_back(made);
        return;
      }
      missing = made.name + ", " + *found;
    }
    give_up(missing, "makes no difference");
  }
  Builder sampling(const std::string &name, std::int64_t num_cols = kCols,
                   sampler_dtype dtype = SAMPLER_F32) {
    return vectors_test::sampling(op_, "stages: " + name, next(), num_cols, dtype);
  }
  std::uint64_t next() const { return 1000 + cases_.size(); }

  void add_stages();
  void add_stage(const Stage &stage);
  void add_stages_by_slot();
  void add_numbers(const Numbers &numbers);
  void add_later_stages();
  void add_bad_stages();
  void add_all_reports();
  void add_packed_lists();
  void add_rules();
  void add_layouts();
  void add_trees();
  void add_verified_stages();

  Op op_;
  std::vector<Case> cases_;
};

void Maker::add_stage(const Stage &stage) {
  add_showing(stage.shown, [&](std::uint64_t seed) {
    Builder b =
        vectors_test::sampling(op_, std::string("stages: ") + stage.name, seed, stage.num_cols);
    stage.edit(b);
    if (is_sample()) b.out("out_observations", kSlots);
    return b;
  });
}

void Maker::add_stages() {
  int number = 0;
  for (const Stage &stage : single_stages()) {
    if (!is_sample() && number++ % 4 != 0) continue;  // a filter keeps what a sample draws from
    add_stage(stage);
  }
  if (is_sample()) {
    Builder b = sampling("xtc");
    b.set_float("params.xtc_probability", 0.75f).set_float("params.xtc_threshold", 0.05f);
    add(b);
  }
  for (const bool uses_i64 : {false, true}) {
    Builder b = sampling(uses_i64 ? "every list, ids of type i64" : "every list", kCols,
                         uses_i64 ? SAMPLER_F16 : SAMPLER_BF16);
    if (uses_i64) b.use_i64();
    add_all_lists(b, kSlots, kSlots);
    b.set_float("params.repetition_penalty", 1.25f).set("params.no_repeat_ngram_size", 4);
    b.set_float("params.dry_multiplier", 0.75f).set("params.min_new_tokens", 4);
    add(b);
  }
  Builder lists = sampling("candidate lists", kCols);
  Ids ids;
  for (std::int64_t i = 0; i < kSlots; ++i) {
    const Ids row = random_ids(lists, kCols, 2 * kCols);
    ids.insert(ids.end(), row.begin(), row.end());
  }
  lists.ids("input.candidate_ids", ids).in("input.candidate_counts", Ints{24, 20, 1});
  add_history(lists, kSlots, 2 * kCols);
  add_dense_bias(lists, 1, 2 * kCols);
  lists.set_float("params.presence_penalty", 1.5f);
  lists.in("pipeline.token_bitmasks", Words{0xFFFFFFFFu, 0x0000FFF7u, 0xFFFFFFFFu});
  lists.set("pipeline.num_token_bitmasks", 3).set("pipeline.token_bitmask_stride", 1);
  add(lists);
  add_stages_by_slot();
  add_bad_stages();
}

void Maker::add_numbers(const Numbers &numbers) {
  const std::string name = numbers.name;
  std::vector<std::string> members;
  for (const std::string &member : numbers.members) {
    // These are of a stage that only a drawn token moves on.
    const bool moves_on = member == "top_p_decay" || member == "top_p_least";
    if (!moves_on) members.push_back("row_params." + member);
  }
  add_showing(members, [&](std::uint64_t seed) {
    Builder b = vectors_test::sampling(op_, "stages: by slot, " + name, seed);
    add_slots(b);
    numbers.edit(b, 5);
    if (is_sample()) b.out("out_observations", kSlots);
    return b;
  });
}

void Maker::add_stages_by_slot() {
  for (const Numbers &numbers : numbers_by_slot()) {
    if (numbers.name != std::string("xtc") || is_sample()) add_numbers(numbers);
  }
  if (!is_sample()) return;
  Builder forced = sampling("forced tokens");
  forced.in("row_params.forced_token_id", Longs{-1, 5, kCols});  // the last one is no element
  add(forced);
}

// After all others, whose random numbers depend on how many stand before them.
void Maker::add_later_stages() {
  const Stage stages[] = {
      {"p_less", [](Builder &b) { b.set("params.p_less", SAMPLER_P_LESS_PLAIN); }},
      {"p_less norm", [](Builder &b) { b.set("params.p_less", SAMPLER_P_LESS_NORM); }},
      {"min_k", [](Builder &b) { b.set_float("params.min_k", 1e-30f); }},
      {"min_k of flat rows", [](Builder &b) { b.set_float("params.min_k", 60.0f); }},
      {"top_a", [](Builder &b) { b.set_float("params.top_a", 0.3f); }},
      {"guidance of each row",
       [](Builder &b) {
         add_guidance(b, kSlots);
         b.set_float("params.guidance_scale", 1.5f);
       }},
      {"guidance by index",
       [](Builder &b) {
         add_guidance(b, 2);
         b.in("pipeline.guidance_row_indices", Ints{1, -1, 0});
         b.set_float("params.guidance_scale", 3);
       }},
      {"smoothing",
       [](Builder &b) {
         b.set("params.adaptive_kind", SAMPLER_ADAPTIVE_SMOOTHING);
         b.set_float("params.adaptive_target", 0.4f).set_float("params.adaptive_rate", 1.7f);
       }},
  };
  for (const Stage &stage : stages) add_stage(stage);
  add_numbers({"p_less and min_k", {"p_less", "min_k"}, [](Builder &b, std::int64_t) {
                 b.in("row_params.p_less",
                      Ints{SAMPLER_P_LESS_NORM, 0, SAMPLER_P_LESS_PLAIN, 0, SAMPLER_P_LESS_PLAIN});
                 b.in("row_params.min_k", Floats{0, 3, 0, 60, 60});
               }});
  add_numbers({"top_a", {"top_a"}, [](Builder &b, std::int64_t) {
                 b.in("row_params.top_a", Floats{0.25f, -1, 0.5f, 40, 2});
               }});
  add_numbers({"guidance", {"guidance_scale"}, [](Builder &b, std::int64_t n) {
                 add_guidance(b, kSlots);
                 add_row_params(b, "guidance_scale", n, 1.5f, 0.75f);
               }});
}

void Maker::add_bad_stages() {
  Builder lists = sampling("bad lists and indices");
  add_history(lists);
  lists.set_float("params.presence_penalty", 1.0f);
  lists.in("pipeline.token_bitmasks", Words{0xFF});
  lists.set("pipeline.num_token_bitmasks", 1);
  lists.in("pipeline.token_bitmask_indices", Ints{0, 0, 1});
  Longs offsets = {0, 9, 7, 12};  // those of slot 1 fall
  lists.in("pipeline.history.offsets", offsets).in("pipeline.prompt_lengths", Ints{2, 0, 0});
  add(lists);
  Builder numbers = sampling("bad biases and adaptive values, a history that is too long");
  add_history(numbers);
  numbers.lists("biased", {{1}, {2}, {3}}).in("pipeline.biases", Floats{1, kNan, 1});
  numbers.in("pipeline.adaptive_values",
             Floats{kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kInf, kNan, kNan, kNan});
  add(numbers);
  Builder longer = sampling("a history that is too long");
  add_history(longer);
  longer.set("pipeline.max_history_tokens", 10).set_float("params.presence_penalty", 1.0f);
  add(longer);

  Builder probabilities = sampling("refused: edits of probabilities");
  Rows rows;
  for (int i = 0; i < kSlots; ++i) rows.push_back(random_probabilities(kCols, lists.random()));
  probabilities.rows("input", rows, SAMPLER_PROBABILITIES).lists("banned", {{1}});
  add_refused(probabilities);
  Builder twice = sampling("refused: a stage is listed twice");
  add_refused(twice.stages({SAMPLER_STAGE_TOP_K, SAMPLER_STAGE_TOP_K}));
}

// Reports of calls without edits, and of calls with them.
void Maker::add_all_reports() {
  const char *const kKinds[] = {"RAW", "PROCESSED", "EDITED"};
  for (int kind = 0; kind < 3; ++kind) {
    Builder b = sampling(std::string("reports, ") + kKinds[kind]);
    if (kind == 2) b.use_i64();
    b.set("logprob_kind", kind).set("params.top_k", 9).set_float("params.top_p", 0.95f);
    b.set("draw_method", kind % 2);
    add_reports(b, kSlots, kCols, kind == 1 ? 2 : 0, kind == 0 ? 9 : 7);
    add_all_lists(b, kSlots, kSlots);
    b.set_float("params.repetition_penalty", 1.25f);
    b.set("params.adaptive_kind", SAMPLER_ADAPTIVE_MIROSTAT_V2);
    b.set_float("params.adaptive_target", 3.0f);
    add(b);
  }
  Builder greedy = sampling("reports of greedy rows, a bad one among them");
  greedy.in("row_params.temperature", Floats{0, kNan, 1});
  add_reports(greedy, kSlots, kCols, 0, 3);
  add(greedy);

  Builder given = sampling("reports of probabilities");
  Rows rows;
  for (int i = 0; i < kSlots; ++i) rows.push_back(random_probabilities(kCols, given.random()));
  given.rows("input", rows, SAMPLER_PROBABILITIES).set("logprob_kind", SAMPLER_LOGPROB_RAW);
  add_reports(given, kSlots, kCols, 0, kCols);
  add(given);

  Builder shared = sampling("reports of outputs that share a row");
  shared.in("row_indices", Ints{2, 0, 2}).set("num_row_indices", 3);
  shared.set("params.top_k", 5);
  add_reports(shared, kSlots, kCols, 0, 5);
  add(shared);

  Builder lists = sampling("reports of candidate lists");
  Ids ids;
  for (std::int64_t i = 0; i < kSlots; ++i) {
    const Ids row = random_ids(lists, kCols, 2 * kCols);
    ids.insert(ids.end(), row.begin(), row.end());
  }
  lists.ids("input.candidate_ids", ids).in("input.candidate_counts", Ints{24, 20, 1});
  add_reports(lists, kSlots, kCols, 2, 8);
  add(lists);

  Builder one = sampling("the first tokens' ids alone");
  one.set("num_top_logprobs", 2).out("out_top_token_ids", 2 * kSlots);
  add(one);
  add_packed_lists();
}

// With room for all lists, with too little, and with none at all, for the offsets alone.
void Maker::add_packed_lists() {
  for (const std::int64_t capacity : {12, 8, 0}) {
    Builder b = sampling("packed lists with room for " + std::to_string(capacity));
    if (capacity == 8) b.use_i64();
    b.in("row_params.temperature", Floats{1, capacity ? kNan : 0.0f, 0.5f});
    b.set("params.top_k", 5).set("kept_capacity", capacity).out("out_kept_offsets", kSlots + 1);
    if (capacity) b.out("out_kept_token_ids", capacity).out("out_kept_probabilities", capacity);
    if (capacity == 12) add_history(b);
    if (capacity == 12) b.set_float("params.presence_penalty", 0.75f);
    add(b);
  }
}

void Maker::add_rules() {
  const char *const kRules[] = {"STANDARD", "BLOCK",     "SAMPLE_MATCH", "TYPICAL",
                                "RELAXED",  "THRESHOLD", "DEFERRED",     "SYNTHETIC"};
  const auto add_rule = [&](int rule, const std::string &what, Chain chain, const Edit &edit,
                            std::vector<std::string> shown = {}) {
    chain.num_sequences = 5;
    const bool is_named = rule != SAMPLER_ACCEPT_STANDARD;
    if (is_named) shown.push_back("acceptance.rule");
    add_showing(shown, [&](std::uint64_t seed) {
      Builder b = verification(
          std::string("rules: ") + kRules[rule - SAMPLER_ACCEPT_STANDARD] + what, seed, chain);
      if (is_named) b.set("acceptance.rule", rule);
      if (rule == SAMPLER_ACCEPT_SYNTHETIC) b.in("synthetic_rates", Floats{0.9f, 0.7f, 0.5f});
      if (edit) edit(b);
      return b;
    });
  };
  Chain given, alone, wide;
  given.kind = SAMPLER_PROBABILITIES;
  alone.has_draft_rows = false;
  alone.uses_i64 = true;
  wide.num_drafts = 6;
  for (int rule = SAMPLER_ACCEPT_STANDARD; rule <= SAMPLER_ACCEPT_SYNTHETIC; ++rule) {
    add_rule(rule, "", {}, [](Builder &b) { b.set_float("params.temperature", 0.8f); });
    add_rule(rule, " of probabilities", given, {});
    if (rule == SAMPLER_ACCEPT_BLOCK) continue;
    add_rule(rule, " without rows of the drafter", alone, {});
  }
  add_rule(SAMPLER_ACCEPT_SAMPLE_MATCH, " with Gumbel noise", {},
           [](Builder &b) { b.set("draw_method", SAMPLER_DRAW_GUMBEL); }, {"draw_method"});
  add_rule(
      SAMPLER_ACCEPT_TYPICAL, " with its numbers", {},
      [](Builder &b) { b.set_float("typical_threshold", 0.2f).set_float("typical_scale", 0.9f); },
      {"typical_threshold", "typical_scale"});
  add_rule(SAMPLER_ACCEPT_RELAXED, " with its numbers", {},
           [](Builder &b) { b.set("relaxed_top_k", 4).set_float("relaxed_delta", 0.4f); },
           {"relaxed_top_k", "relaxed_delta"});
  add_rule(
      SAMPLER_ACCEPT_THRESHOLD, " with its numbers", {},
      [](Builder &b) { b.set_float("threshold_single", 0.3f).set_float("threshold_total", 0.4f); },
      {"threshold_single", "threshold_total"});
  add_rule(
      SAMPLER_ACCEPT_DEFERRED, " with its numbers", wide,
      [](Builder &b) {
        b.set("deferred_window", 1).set("deferred_top_k", 6).set_float("deferred_entropy", 0.75f);
      },
      {"deferred_window", "deferred_top_k", "deferred_entropy"});
  add_rule(SAMPLER_ACCEPT_STANDARD, " with streams", {},
           [](Builder &b) {
             b.in("random.streams", Words{7, 0, 4000000000u, 7, 1});
           },
           {"random.streams"});
  Chain eight;
  eight.num_drafts = 2;
  Builder b = verification("rules: by slot", next(), eight);
  b.set("num_slots", 4).in("slots", Ints{3, 1, 0});
  b.in("acceptances",
       Ints{SAMPLER_ACCEPT_RELAXED, SAMPLER_ACCEPT_SAMPLE_MATCH, 77, SAMPLER_ACCEPT_BLOCK});
  add(b);
  Builder bad = verification("rules: by slot, one that is none", next(), eight);
  add(bad.in("acceptances",
             Ints{SAMPLER_ACCEPT_STANDARD, SAMPLER_ACCEPT_SYNTHETIC + 1, SAMPLER_ACCEPT_BLOCK}));
  Builder refused = verification("rules: refused: SYNTHETIC without rates", next(), eight);
  add_refused(refused.set("acceptance.rule", SAMPLER_ACCEPT_SYNTHETIC));
}

void Maker::add_layouts() {
  const auto layout = [&](const std::string &name, const Chain &chain = {}) {
    return verification("layouts: " + name, next(), chain);
  };
  // Sequences of 2, 0 and 3 drafts, one after the other.
  const char *const kPackings[] = {"dense", "DRAFTS", "DRAFT_ENDS", "POSITIONS"};
  for (int packing = 1; packing < 4; ++packing) {
    for (const bool has_indices : {false, true}) {
      Builder b = layout(std::string("packed, ") + kPackings[packing] +
                         (has_indices ? ", by row indices" : ""));
      const bool has_positions = packing == SAMPLER_PACKING_POSITIONS;
      b.set("packing", packing).set("num_sequences", 3);
      b.in("packing_offsets", packing == SAMPLER_PACKING_DRAFTS       ? Ints{0, 2, 2, 5}
                              : packing == SAMPLER_PACKING_DRAFT_ENDS ? Ints{2, 2, 5}
                                                                      : Ints{0, 3, 4, 8});
      b.ids("draft_token_ids", has_positions ? Ids{-9, 3, 4, -9, -9, 1, 2, 0} : Ids{3, 4, 1, 2, 0});
      if (!has_positions) b.set("num_packed_drafts", 5);
      if (has_positions || has_indices) b.set("num_packed_positions", 8);
      if (has_indices) {
        b.in("target_row_indices", Ints{7, 0, 3, 5, 2, 2, 1, 11});
        b.in("draft_row_indices",
             has_positions ? Ints{-1, 3, 1, -1, -1, 0, 8, 2} : Ints{3, 1, 0, 8, 2});
      } else {
        b.rows("target", Rows(12, Row(kVerifyCols, 0.0f)), 0);
        Rows target, draft;
        for (int i = 0; i < 8; ++i) target.push_back(random_logits(kVerifyCols, b.random()));
        for (int i = 0; i < 5; ++i) draft.push_back(random_logits(kVerifyCols, b.random()));
        b.rows("target", target, SAMPLER_LOGITS).rows("draft", draft, SAMPLER_LOGITS);
      }
      add(b);
    }
  }
  Builder bonus = layout("packed, the last positions' rows apart");
  bonus.set("packing", SAMPLER_PACKING_DRAFTS).set("num_sequences", 3);
  bonus.in("packing_offsets", Ints{0, 2, 2, 5}).ids("draft_token_ids", {3, 4, 1, 2, 0});
  bonus.set("num_packed_drafts", 5).in("target_row_indices", Ints{0, 1, 2, 3, 4});
  bonus.in("bonus_row_indices", Ints{9, 10, 11}).in("draft_row_indices", Ints{0, 1, 2, 3, 4});
  add(bonus);
  Builder dense_bonus = layout("the last positions' rows apart");
  dense_bonus.set("num_sequences", 3);
  dense_bonus.in("target_row_indices", Ints{0, 1, 2, 4, 5, 6, 8, 9, 10});
  add(dense_bonus.in("bonus_row_indices", Ints{3, 7, 12}));  // the last one is no row
  Builder indices = layout("row indices");
  indices.set("num_sequences", 3);
  indices.in("target_row_indices", Ints{11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
  add(indices.in("draft_row_indices", Ints{8, 7, 6, 5, 4, 3, 2, 1, 0}));

  Builder by_slot = layout("the drafter's rows by slot");
  by_slot.set("draft_rows_by_slot", 1).set("num_slots", 3).in("slots", Ints{2, 0, 1});
  add(by_slot);
  Builder apart = layout("draft ids lie apart");
  apart.set("draft_token_stride", 5);
  add(apart.ids("draft_token_ids", {3, 4, 5, -9, -9, 1, 2, 3, -9, -9, 6, 7, 8}));

  Chain wide;
  wide.uses_i64 = true;
  Builder cache = layout("positions of a KV cache", wide);
  Longs numbers;
  for (std::int64_t i = 0; i < 12; ++i) numbers.push_back(1000 + 7 * i + (i << 33));
  add(cache.in("kv_indices", numbers).out("out_kv_indices", 12));
  Builder bad = layout("bad packing offsets");
  bad.set("packing", SAMPLER_PACKING_DRAFTS).set("num_sequences", 3);
  bad.in("packing_offsets", Ints{0, 4, 2, 9}).ids("draft_token_ids", {3, 4, 1, 2, 0});
  bad.set("num_packed_drafts", 5);
  Rows target(8, random_logits(kVerifyCols, bad.random()));
  Rows draft(5, random_logits(kVerifyCols, bad.random()));
  add(bad.rows("target", target, SAMPLER_LOGITS).rows("draft", draft, SAMPLER_LOGITS));
}

void Maker::add_trees() {
  Chain chain;
  chain.num_drafts = 5;
  const auto tree = [&](const std::string &name, const Chain &of) {
    return verification("trees: " + name, next(), of);
  };
  const Ints parents = {-1, -1, 0, 0, 1, -1, 0, 1, 1, -1, -1, -1, -1, 2, 3};
  add(tree("parents", chain).in("parents", parents));
  add(tree("one tree for all", chain).in("parents", Ints{-1, -1, 0, 1, 1}).set("tree_rows", 1));
  Chain given = chain;
  given.kind = SAMPLER_PROBABILITIES;
  add_showing({"parents", "sibling_rule"}, [&](std::uint64_t seed) {
    Builder b = verification("trees: siblings without replacement", seed, given);
    b.in("parents", parents);
    return b.set("sibling_rule", SAMPLER_SIBLINGS_WITHOUT_REPLACEMENT);
  });
  // By position: the root has 1, 2 and 5, 1 has 3, 2 has 4.
  const Ints children = {1, 3, 4, -1, -1, -1}, siblings = {-1, 2, 5, -1, -1, -1};
  add(tree("first children and next siblings, one tree for all", chain)
          .in("first_children", children)
          .in("next_siblings", siblings)
          .set("tree_rows", 1));
  Ints all_children, all_siblings;
  for (int i = 0; i < 3; ++i) {
    all_children.insert(all_children.end(), children.begin(), children.end());
    all_siblings.insert(all_siblings.end(), siblings.begin(), siblings.end());
  }
  all_siblings[2] = 0;  // of the first sequence the root has 1 and 2
  all_children[7] = 4;  // of the second one 4 hangs on 1 and on 2: no tree
  add(tree("first children and next siblings, a bad tree among them", chain)
          .in("first_children", all_children)
          .in("next_siblings", all_siblings));
  for (const int rule :
       {SAMPLER_ACCEPT_SAMPLE_MATCH, SAMPLER_ACCEPT_RELAXED, SAMPLER_ACCEPT_THRESHOLD}) {
    Builder b = tree("acceptance " + std::to_string(rule), chain);
    b.set("acceptance.rule", rule).in("parents", parents).set("relaxed_top_k", 3);
    b.set_float("relaxed_delta", 0.25f).set_float("threshold_total", 0.5f);
    add(b);
  }
  Builder counts = tree("draft counts", chain);
  add(counts.in("parents", parents).in("draft_counts", Ints{5, 3, 0}));
}

// The first draft of every other sequence puts its top_p back.
Builder running_top_p(std::uint64_t seed, const std::string &name) {
  Chain chain;
  chain.num_sequences = 6;
  chain.num_drafts = 4;
  chain.has_draft_rows = false;
  Builder b = verification("stages: the running top_p, " + name, seed, chain);
  b.set("acceptance.rule", SAMPLER_ACCEPT_SAMPLE_MATCH);
  b.in("row_params.top_p", Floats{0.9f, 0.9f, 0.8f, 0.8f, 0.9f, 0.9f});
  const Array &ids = b.get().inputs.at("draft_token_ids");
  Longs resets;
  for (std::size_t s = 0; s < 6; ++s) {
    std::int32_t id;
    std::memcpy(&id, ids.bytes.data() + s * 4 * sizeof id, sizeof id);
    resets.push_back(s % 2 ? id : -1);
  }
  b.in("row_params.top_p_reset_token_id", resets);
  b.set("logprob_kind", SAMPLER_LOGPROB_PROCESSED).out("out_kept_counts", 30);
  return b.out("out_logprobs", 30);
}

void Maker::add_verified_stages() {
  const auto verified = [&](const std::string &name, const Chain &chain = {}) {
    return verification("stages: " + name, next(), chain);
  };
  Builder drafter = verified("the drafter's parameters");
  drafter.set_float("params.temperature", 0.7f).set("params.top_k", 8);
  drafter.set_float("draft_params.temperature", 1.25f).set("draft_params.top_k", 6);
  drafter.set_float("draft_params.top_p", 0.9f).set_float("draft_params.min_p", 0.01f);
  drafter.set("draft_params.filter_order", SAMPLER_FILTERS_JOINT);
  add(drafter);
  Builder by_slot = verified("the drafter's parameters by slot");
  by_slot.set("num_slots", 4).in("slots", Ints{1, 3, 0});
  by_slot.in("row_params.top_k", Ints{5, 6, 7, 8});
  by_slot.in("draft_row_params.temperature", Floats{0.5f, 0.8f, 1.0f, 1.5f});
  by_slot.in("draft_row_params.top_k", Ints{8, 7, 6, 5});
  by_slot.in("draft_row_params.top_p", Floats{0.9f, 0.8f, 0.9f, 0.95f});
  by_slot.in("draft_row_params.min_p", Floats{0.01f, 0.02f, 0.03f, 0.04f});
  add(by_slot);

  for (const bool is_tree : {false, true}) {
    Chain chain;
    chain.num_cols = kCols;
    chain.num_drafts = is_tree ? 4 : 3;
    chain.uses_i64 = is_tree;
    chain.has_draft_rows = !is_tree;
    Builder b = verified(is_tree ? "every list, of a tree" : "every list", chain);
    const std::int64_t positions = kSlots * (chain.num_drafts + 1);
    add_all_lists(b, kSlots, positions);
    b.set("pipeline.max_history_tokens", 16);
    if (is_tree) b.in("parents", Ints{-1, -1, 0, 1}).set("tree_rows", 1);
    if (!is_tree) b.set_float("draft_params.temperature", 1.0f + 1.0f / 8);
    b.set_float("params.repetition_penalty", 1.25f).set_float("params.presence_penalty", 0.5f);
    b.set_float("params.dry_multiplier", 0.75f).set("params.min_new_tokens", 4);
    add(b);
  }
  const char *const kKinds[] = {"RAW", "PROCESSED", "EDITED"};
  for (int kind = 0; kind < 3; ++kind) {
    Chain chain;
    chain.num_cols = kCols;
    chain.num_drafts = 2;
    chain.uses_i64 = kind == 1;
    Builder b = verified(std::string("reports, ") + kKinds[kind], chain);
    const std::int64_t positions = kSlots * 3;
    if (kind) b.set("logprob_kind", kind);
    b.out("out_kept_counts", positions).out("out_logprobs", positions);
    add_reports(b, positions, kCols, kind == 1 ? 2 : 0, 6);
    b.set("params.top_k", 6).set_float("draft_params.temperature", 1.0f + 1.0f / 8);
    b.set("params.adaptive_kind", kind == 2 ? SAMPLER_ADAPTIVE_P : SAMPLER_ADAPTIVE_MIROSTAT_V2);
    b.set_float("params.adaptive_target", kind == 2 ? 0.3f : 2.0f);
    b.set_float("params.adaptive_rate", 0.6f);
    if (kind == 0) b.set_float("params.top_p", 0.9f).set_float("params.top_p_decay", 0.7f);
    if (kind == 0) b.set_float("params.top_p_least", 0.6f);
    if (kind == 0) b.in("row_params.top_p_reset_token_id", Longs{3, -1, 5});
    add_history(b);
    b.set_float("params.frequency_penalty", 0.5f);
    add(b);
  }
  add_showing(
      {"row_params.top_p_decay", "row_params.top_p_least", "row_params.top_p_reset_token_id"},
      [](std::uint64_t seed) {
        Builder b = running_top_p(seed, "by slot");
        b.in("row_params.top_p_decay", Floats{0.5f, 0.6f, 0.7f, 0.5f, 0.5f, 0.3f});
        b.in("row_params.top_p_least", Floats{0.3f, 0.5f, 0.5f, 0.6f, 0.3f, 0.4f});
        return b;
      });
  add_showing({"params.top_p_decay", "params.top_p_least"}, [](std::uint64_t seed) {
    Builder b = running_top_p(seed, "for all");
    return b.set_float("params.top_p_decay", 0.5f).set_float("params.top_p_least", 0.3f);
  });
  add_showing(
      {"row_params.adaptive_kind", "row_params.adaptive_target", "row_params.adaptive_rate"},
      [](std::uint64_t seed) {
        Chain chain;
        chain.has_draft_rows = false;
        Builder b = verification("stages: adaptive stages by slot", seed, chain);
        b.in("row_params.adaptive_kind",
             Ints{SAMPLER_ADAPTIVE_P, SAMPLER_ADAPTIVE_MIROSTAT_V1, SAMPLER_ADAPTIVE_MIROSTAT_V2});
        b.in("row_params.adaptive_target", Floats{0.25f, 3, 2});
        b.in("row_params.adaptive_rate", Floats{0.5f, 0.75f, 0.5f});
        b.set("acceptance.rule", SAMPLER_ACCEPT_SAMPLE_MATCH);
        b.set("logprob_kind", SAMPLER_LOGPROB_PROCESSED).out("out_kept_counts", 12);
        return b.out("out_logprobs", 12).out("out_observations", 12);
      });
  Builder refused = verified("refused: a pipeline of probabilities", [] {
    Chain chain;
    chain.kind = SAMPLER_PROBABILITIES;
    return chain;
  }());
  add_refused(refused.lists("banned", {{1}}));
}

}  // namespace

std::vector<Case> make_stage_cases(Op op) {
  return Maker(op).make();
}

}  // namespace vectors_test
