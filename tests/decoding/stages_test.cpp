// Stages in the loops: each text is the one that single calls with a state of its own give,
// whatever stands beside it and whatever is drafted.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "../seed.h"
#include "../sized.h"
#include "generation.h"

namespace decoding_test::stages_test {
namespace {

constexpr std::int64_t kVocabulary = 40;
constexpr std::int64_t kNewTokens = 24;

// Parameters of one text.
struct Parameters {
  float temperature, top_p, repetition_penalty, frequency_penalty, dry_multiplier, xtc_probability;
  std::int32_t top_k, no_repeat_ngram_size, min_new_tokens;
  std::vector<std::int32_t> banned;
  std::vector<std::int32_t> biased;
  std::vector<float> biases;
  std::vector<std::uint32_t> mask;
};

Parameters random_parameters(Random *random) {
  Parameters p = {};
  const auto eighths = [&](int low, int high) { return float(random->between(low, high)) / 8.0f; };
  p.temperature = random->one_in(5) ? 0.0f : eighths(4, 16);
  p.top_p = random->one_in(2) ? 1.0f : eighths(2, 7);
  p.repetition_penalty = random->one_in(2) ? 0.0f : eighths(8, 16);
  p.frequency_penalty = random->one_in(2) ? 0.0f : eighths(-4, 8);
  p.dry_multiplier = random->one_in(2) ? 0.0f : eighths(1, 12);
  p.xtc_probability = random->one_in(3) ? 0.5f : 0.0f;
  p.top_k = random->one_in(2) ? 0 : std::int32_t(random->between(1, 20));
  p.no_repeat_ngram_size = random->one_in(3) ? 2 : 0;
  p.min_new_tokens = std::int32_t(random->between(0, 8));
  for (std::int64_t i = random->between(0, 3); i > 0; --i) {
    p.banned.push_back(std::int32_t(random->between(0, kVocabulary - 1)));
  }
  for (std::int64_t i = random->between(0, 3); i > 0; --i) {
    p.biased.push_back(std::int32_t(random->between(0, kVocabulary - 1)));
    p.biases.push_back(eighths(-16, 16));
  }
  p.mask = {std::uint32_t(random->next()) | 1u, std::uint32_t(random->next())};
  return p;
}

// Ragged lists, as calls take them.
struct Lists {
  std::vector<std::int64_t> offsets = {0};
  std::vector<std::int32_t> ids;

  void add(const std::vector<std::int32_t> &list) {
    ids.insert(ids.end(), list.begin(), list.end());
    offsets.push_back(std::int64_t(ids.size()));
  }
  sampler_token_lists view() const {
    return {offsets.data(), ids.data(), std::int64_t(offsets.size()) - 1, std::int64_t(ids.size())};
  }
};

// The parameters of some texts as arrays and lists.
struct Arrays {
  explicit Arrays(const std::vector<Parameters> &texts) {
    for (const Parameters &p : texts) {
      temperature.push_back(p.temperature);
      top_p.push_back(p.top_p);
      repetition_penalty.push_back(p.repetition_penalty);
      frequency_penalty.push_back(p.frequency_penalty);
      dry_multiplier.push_back(p.dry_multiplier);
      xtc_probability.push_back(p.xtc_probability);
      top_k.push_back(p.top_k);
      no_repeat_ngram_size.push_back(p.no_repeat_ngram_size);
      min_new_tokens.push_back(p.min_new_tokens);
      banned.add(p.banned);
      biased.add(p.biased);
      biases.insert(biases.end(), p.biases.begin(), p.biases.end());
      masks.insert(masks.end(), p.mask.begin(), p.mask.end());
    }
    stop.add({0});
    biases.push_back(0.0f);  // an array where there are none
    row_params.temperature = temperature.data();
    row_params.top_p = top_p.data();
    row_params.repetition_penalty = repetition_penalty.data();
    row_params.frequency_penalty = frequency_penalty.data();
    row_params.dry_multiplier = dry_multiplier.data();
    row_params.xtc_probability = xtc_probability.data();
    row_params.top_k = top_k.data();
    row_params.no_repeat_ngram_size = no_repeat_ngram_size.data();
    row_params.min_new_tokens = min_new_tokens.data();
    pipeline.banned = banned.view();
    pipeline.biased = biased.view();
    pipeline.biases = biases.data();
    pipeline.stop = stop.view();
    pipeline.token_bitmasks = masks.data();
    pipeline.num_token_bitmasks = std::int64_t(texts.size());
  }

  std::vector<float> temperature, top_p, repetition_penalty, frequency_penalty, dry_multiplier,
      xtc_probability;
  std::vector<std::int32_t> top_k, no_repeat_ngram_size, min_new_tokens;
  Lists banned, biased, stop;
  std::vector<float> biases;
  std::vector<std::uint32_t> masks;
  sampler_row_params row_params = sized<sampler_row_params>();
  sampler_pipeline pipeline = sized<sampler_pipeline>();
};

struct DestroyState {
  void operator()(sampler_state_t state) const { sampler_state_destroy(state); }
};
using State = std::unique_ptr<struct sampler_state, DestroyState>;

State make_state(sampler_t sampler, const Tokens &prompt) {
  auto options = sized<sampler_state_options>();
  options.num_slots = 1;
  options.max_tokens = std::int64_t(prompt.size()) + kNewTokens;
  sampler_state_t state = nullptr;
  EXPECT_EQ(sampler_state_create(sampler, &options, &state), SAMPLER_OK) << sampler_last_error();
  auto append = sized<sampler_state_append_args>();
  append.state = state;
  append.num_rows = 1;
  const std::int64_t offsets[] = {0, std::int64_t(prompt.size())};
  append.tokens = {offsets, prompt.data(), 1, offsets[1]};
  append.token_kind = SAMPLER_TOKENS_PROMPT;
  EXPECT_EQ(sampler_state_append(sampler, &append), SAMPLER_OK) << sampler_last_error();
  return State(state);
}

// The text by single calls.
Tokens expected_text(sampler_t sampler, const Model &model, const sampler_params &params,
                     const Parameters &parameters, const Tokens &prompt, std::uint64_t seed) {
  Arrays arrays({parameters});
  const State state = make_state(sampler, prompt);
  arrays.pipeline.state = state.get();
  Tokens text = prompt;
  for (std::int64_t n = 0; n < kNewTokens; ++n) {
    const Logits logits = model.logits(text);
    SampleArgs args;
    args.input.values = logits.data();
    args.input.num_rows = 1;
    args.input.num_cols = kVocabulary;
    args.params = &params;
    args.row_params = &arrays.row_params;
    args.pipeline = &arrays.pipeline;
    args.random.seed = seed;
    args.random.offset = std::uint64_t(n);
    std::int32_t token = -2;
    float observation = 0;
    args.out_token_ids = &token;
    args.report_args.out_observations = &observation;
    std::size_t bytes = 0;
    EXPECT_EQ(sampler_sample_workspace_size(sampler, &args, &bytes), SAMPLER_OK);
    std::vector<char> workspace(bytes);
    args.exec = {nullptr, workspace.data(), bytes};
    EXPECT_EQ(sampler_sample(sampler, &args), SAMPLER_OK) << sampler_last_error();
    if (token < 0) break;
    text.push_back(token);
    auto accept = sized<sampler_accept_args>();
    accept.state = state.get();
    accept.num_rows = accept.num_tokens = 1;
    accept.token_ids = &token;
    accept.observations = &observation;
    accept.params = &params;
    accept.row_params = &arrays.row_params;
    EXPECT_EQ(sampler_accept(sampler, &accept), SAMPLER_OK) << sampler_last_error();
    if (token == 0) break;  // the end token
  }
  return Tokens(text.begin() + std::ptrdiff_t(prompt.size()), text.end());
}

TEST(LoopStages, GiveEachTextWhatItHasAlone) {
  const Sampler sampler = make_sampler(), threads = make_sampler(3);
  for (std::uint64_t seed = 0; seed < 150 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seeded(seed));
    Calls calls;
    Limits limits;
    limits.vocabulary_size = kVocabulary;
    Model model(limits, table_logits(seeded(seed), kVocabulary, 3), &calls);
    std::vector<Tokens> prompts(std::size_t(random.between(1, 5)));
    std::vector<Parameters> parameters;
    for (Tokens &prompt : prompts) {
      for (std::int64_t i = random.between(1, 12); i > 0; --i) {
        prompt.push_back(std::int32_t(random.between(0, kVocabulary - 1)));
      }
      parameters.push_back(random_parameters(&random));
    }
    Generation generation(&model, prompts);
    generation.args.processor = SAMPLER_PROCESSOR_SAMPLE;
    generation.args.max_new_tokens = kNewTokens;
    generation.args.use_cache = int(random.between(0, 1));
    generation.ends = {0};
    generation.seeds.resize(prompts.size());
    for (std::uint64_t &text_seed : generation.seeds) text_seed = random.next();
    generation.params.penalty_scope = sampler_penalty_scope(random.between(0, 2));
    generation.params.penalty_window = std::int32_t(random.between(0, 10));
    if (random.one_in(2)) {
      generation.params.adaptive_kind = sampler_adaptive_kind(random.between(1, 3));
      generation.params.adaptive_target = generation.params.adaptive_kind == 3 ? 0.3f : 2.0f;
    }
    if (random.one_in(2)) generation.params.top_p_decay = 0.75f;
    Arrays arrays(parameters);
    generation.args.row_params = &arrays.row_params;
    generation.args.pipeline = &arrays.pipeline;
    const auto &texts =
        generation.texts_of(random.one_in(2) ? sampler.get() : threads.get(), autoregressive());
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      EXPECT_EQ(texts[i].tokens, expected_text(sampler.get(), model, generation.params,
                                               parameters[i], prompts[i], generation.seeds[i]))
          << "text " << i;
    }
  }
}

// A drafter that is often right, and n-grams.
struct Drafters {
  Drafters(const Limits &limits, const NextLogits &target, std::uint64_t seed)
      : model(limits,
              mixed_logits(target, table_logits(seed + 1, limits.vocabulary_size, 1), 30, 5),
              &calls) {
    auto options = sized<sampler_ngram_storage_options>();
    options.vocabulary_size = limits.vocabulary_size;
    sampler_ngram_storage_create(&options, &storage);
    sampler_ngram_storage_interface(storage, &ngram);
  }
  ~Drafters() { sampler_ngram_storage_destroy(storage); }
  Drafters(const Drafters &) = delete;
  Drafters &operator=(const Drafters &) = delete;

  Calls calls;
  Model model;
  sampler_ngram_storage_t storage = nullptr;
  sampler_ngram ngram = sized<sampler_ngram>();
};

// Numbers that are on by themselves, one stage in two.
void turn_stages_on(Random *random, sampler_params *params) {
  const auto is_listed = [&](sampler_stage stage) {
    if (params->stages[0] == 0) return true;
    for (const sampler_stage listed : params->stages) {
      if (listed == stage) return true;
    }
    return false;
  };
  const auto is_on = [&](sampler_stage stage) { return is_listed(stage) && random->one_in(2); };
  if (is_on(SAMPLER_STAGE_PENALTIES)) params->repetition_penalty = 1.2f;
  if (is_on(SAMPLER_STAGE_PENALTIES)) params->frequency_penalty = 0.25f;
  if (is_on(SAMPLER_STAGE_DRY)) params->dry_multiplier = 0.75f;
  if (is_on(SAMPLER_STAGE_NO_REPEAT_NGRAM)) params->no_repeat_ngram_size = 3;
  if (is_on(SAMPLER_STAGE_TYPICAL_P)) params->typical_p = 0.8f;
  if (is_on(SAMPLER_STAGE_TOP_N_SIGMA)) params->top_n_sigma = 1.5f;
  if (is_on(SAMPLER_STAGE_P_LESS)) params->p_less = SAMPLER_P_LESS_NORM;
  if (is_on(SAMPLER_STAGE_MIN_K)) params->min_k = 20;
  if (is_on(SAMPLER_STAGE_TOP_A)) params->top_a = 0.05f;
  if (is_on(SAMPLER_STAGE_XTC)) params->xtc_probability = 0.5f;
  if (is_on(SAMPLER_STAGE_XTC)) params->xtc_threshold = 0.05f;
  if (is_on(SAMPLER_STAGE_TOP_K)) params->top_k = 12;
  if (is_on(SAMPLER_STAGE_TOP_P)) params->top_p = 0.9f;
  if (is_on(SAMPLER_STAGE_MIN_P)) params->min_p = 0.02f;
  if (is_on(SAMPLER_STAGE_ADAPTIVE)) {
    params->adaptive_kind = SAMPLER_ADAPTIVE_MIROSTAT_V2;
    params->adaptive_target = 3;
  }
}

// By sample-match a text is that without drafts, for every engine's order of stages.
TEST(LoopStages, SampleMatchGivesTheTextWithoutDraftsOfEveryPreset) {
  const Sampler sampler = make_sampler();
  int num_presets = 0;
  for (; const char *const name = sampler_preset_name(num_presets); ++num_presets) {
    SCOPED_TRACE(name);
    std::int64_t num_accepted = 0, num_drafted = 0;
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      Random random(seeded(seed));
      Limits limits;
      limits.vocabulary_size = kVocabulary;
      const NextLogits logits = table_logits(seeded(seed), kVocabulary, 2, true);
      Calls calls;
      Model model(limits, logits, &calls);
      Drafters drafters(limits, logits, seeded(seed));
      Generation generation(&model, random_prompts(&random, 4, 12, kVocabulary));
      ASSERT_EQ(sampler_params_preset(&generation.params, sizeof generation.params, name),
                SAMPLER_OK);
      turn_stages_on(&random, &generation.params);
      generation.args.processor = SAMPLER_PROCESSOR_SAMPLE;
      generation.args.max_new_tokens = kNewTokens;
      generation.args.use_cache = 1;
      generation.ends = {0};
      const std::vector<Text> expected =
          without_counts(generation.texts_of(sampler.get(), autoregressive()));
      SpeculativeArgs args;
      args.acceptance_params.rule = SAMPLER_ACCEPT_SAMPLE_MATCH;
      args.gamma = random.between(1, 5);
      args.first_target = random.one_in(2);
      for (const Loop &loop :
           {speculative(&drafters.model, args), speculative(drafters.ngram, args)}) {
        EXPECT_EQ(without_counts(generation.texts_of(sampler.get(), loop)), expected);
        num_accepted += generation.stats().num_accepted;
        num_drafted += generation.stats().num_drafted;
      }
    }
    EXPECT_GE(num_accepted, 20);
    EXPECT_GE(num_drafted - num_accepted, 20);
  }
  EXPECT_GE(num_presets, 8);
}

// The same of parameters and lists by text, with any number of threads.
TEST(LoopStages, SampleMatchGivesTheTextWithoutDraftsOfEachTextsParameters) {
  const Sampler sampler = make_sampler(), threads = make_sampler(3);
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seeded(seed));
    Limits limits;
    limits.vocabulary_size = kVocabulary;
    const NextLogits logits = table_logits(seeded(seed), kVocabulary, 2);
    Calls calls;
    Model model(limits, logits, &calls);
    Drafters drafters(limits, logits, seeded(seed));
    const std::vector<Tokens> prompts = random_prompts(&random, 5, 12, kVocabulary);
    std::vector<Parameters> parameters;
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      parameters.push_back(random_parameters(&random));
    }
    Generation generation(&model, prompts);
    generation.args.processor =
        random.one_in(4) ? SAMPLER_PROCESSOR_GREEDY : SAMPLER_PROCESSOR_SAMPLE;
    generation.args.max_new_tokens = kNewTokens;
    generation.ends = {0};
    Arrays arrays(parameters);
    arrays.pipeline.token_bitmasks = nullptr;
    arrays.pipeline.num_token_bitmasks = 0;
    generation.args.row_params = &arrays.row_params;
    generation.args.pipeline = &arrays.pipeline;
    const std::vector<Text> expected =
        without_counts(generation.texts_of(sampler.get(), autoregressive()));
    SpeculativeArgs args;
    args.acceptance_params.rule = SAMPLER_ACCEPT_SAMPLE_MATCH;
    args.gamma_max = random.between(1, 5);
    args.gamma = args.gamma_max;
    const bool is_measured = random.one_in(3);
    if (is_measured) args.adaptive_gamma = SAMPLER_GAMMA_MEASURED;
    auto model_args = args;
    if (!is_measured && random.one_in(2)) model_args.adaptive_gamma = SAMPLER_GAMMA_BY_ENTROPY;
    if (random.one_in(2)) model_args.least_draft_probability = 0.1f;
    for (const Loop &loop :
         {speculative(&drafters.model, model_args), speculative(drafters.ngram, args)}) {
      EXPECT_EQ(without_counts(
                    generation.texts_of(random.one_in(2) ? sampler.get() : threads.get(), loop)),
                expected);
    }
    // Greedy texts are the same by any rule that takes the likeliest token alone.
    if (generation.args.processor == SAMPLER_PROCESSOR_SAMPLE) continue;
    for (const sampler_acceptance acceptance :
         {SAMPLER_ACCEPT_STANDARD, SAMPLER_ACCEPT_BLOCK, SAMPLER_ACCEPT_TYPICAL,
          SAMPLER_ACCEPT_THRESHOLD, SAMPLER_ACCEPT_DEFERRED}) {
      model_args.acceptance_params.rule = acceptance;
      EXPECT_EQ(without_counts(
                    generation.texts_of(sampler.get(), speculative(&drafters.model, model_args))),
                expected)
          << acceptance;
    }
  }
}

// A bad row ends its text after the drafts that were kept before it.
TEST(LoopStages, ABadRowEndsItsTextWhereItIs) {
  const Sampler sampler = make_sampler_with_fallback(3);
  int num_bad = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Random random(seeded(seed));
    Limits limits;
    limits.vocabulary_size = kVocabulary;
    const NextLogits logits =
        mixed_logits(table_logits(seeded(seed), kVocabulary, 2),
                     constant_logits(Logits(std::size_t(kVocabulary), NAN)), 8, seeded(seed));
    Calls calls;
    Model model(limits, logits, &calls);
    Drafters drafters(limits, table_logits(seeded(seed), kVocabulary, 2), seeded(seed));
    Generation generation(&model, random_prompts(&random, 4, 12, kVocabulary));
    generation.args.processor = SAMPLER_PROCESSOR_SAMPLE;
    generation.args.max_new_tokens = kNewTokens;
    generation.params.repetition_penalty = 1.1f;
    const std::vector<Text> expected =
        without_counts(generation.texts_of(sampler.get(), autoregressive()));
    for (const Text &text : expected) num_bad += text.reason == SAMPLER_FINISH_BAD_ROW;
    SpeculativeArgs args;
    args.acceptance_params.rule = SAMPLER_ACCEPT_SAMPLE_MATCH;
    for (const Loop &loop :
         {speculative(&drafters.model, args), speculative(drafters.ngram, args)}) {
      EXPECT_EQ(without_counts(generation.texts_of(sampler.get(), loop)), expected) << seed;
    }
  }
  EXPECT_GE(num_bad, 20);
}

// A greedy text, its temperature aside, is what the edits make the likeliest.
TEST(LoopStages, GreedyTextsAreEdited) {
  const Sampler sampler = make_sampler();
  Calls calls;
  Limits limits;
  limits.vocabulary_size = kVocabulary;
  Logits logits(std::size_t(kVocabulary), 0.0f);
  for (std::int32_t i = 0; i < 8; ++i) logits[std::size_t(i)] = 8.0f - float(i);
  Model model(limits, constant_logits(logits), &calls);
  Generation generation(&model, {{20}});
  generation.args.max_new_tokens = 6;
  generation.params.presence_penalty = 100.0f;
  generation.params.temperature = 1.5f;
  const auto &texts = generation.texts_of(sampler.get(), autoregressive());
  EXPECT_EQ(texts[0].tokens, (Tokens{0, 1, 2, 3, 4, 5}));
}

// A temperature that makes a text's rows bad ends that text alone, also where drafts follow the
// entropy.
TEST(LoopStages, ABadTemperatureEndsItsOwnText) {
  const Sampler sampler = make_sampler();
  for (const float bad : {std::nanf(""), INFINITY, 0x1.8p64f}) {
    Calls calls;
    Limits limits;
    limits.vocabulary_size = kVocabulary;
    const Logits logits(std::size_t(kVocabulary), 0.0f);
    Model model(limits, constant_logits(logits), &calls);
    Model drafter(limits, constant_logits(logits), &calls);
    Generation generation(&model, {{20}, {21}});
    generation.args.processor = SAMPLER_PROCESSOR_SAMPLE;
    generation.args.max_new_tokens = 6;
    const float temperatures[] = {bad, 1.0f};
    auto row_params = sized<sampler_row_params>();
    row_params.temperature = temperatures;
    generation.args.row_params = &row_params;
    SpeculativeArgs by_entropy;
    by_entropy.adaptive_gamma = SAMPLER_GAMMA_BY_ENTROPY;
    by_entropy.first_target = 0;
    for (const Loop &loop : {autoregressive(), speculative(&drafter, by_entropy)}) {
      const auto &texts = generation.texts_of(sampler.get(), loop);
      EXPECT_EQ(texts[0].reason, SAMPLER_FINISH_BAD_ROW);
      EXPECT_TRUE(texts[0].tokens.empty());
      EXPECT_EQ(texts[1].reason, SAMPLER_FINISH_LENGTH);
    }
  }
}

// What on_tokens changes counts from the next token on.
TEST(LoopStages, ArraysAreReadInEachStep) {
  const Sampler sampler = make_sampler();
  Calls calls;
  Limits limits;
  limits.vocabulary_size = kVocabulary;
  Model model(limits, constant_logits(Logits(std::size_t(kVocabulary), 0.0f)), &calls);
  const sampler_model target = model.interface();
  std::int64_t forced = 7;
  auto row_params = sized<sampler_row_params>();
  row_params.forced_token_id = &forced;
  auto args = sampler_generation_args_default();
  const std::int64_t offsets[] = {0, 1};
  const std::int32_t prompt[] = {1}, none = 0;
  std::int32_t tokens[5];
  args.target = &target;
  args.num_sequences = 1;
  args.prompt_offsets = offsets;
  args.prompt_token_ids = prompt;
  args.max_new_tokens = 5;
  args.end_token_ids = &none;
  args.processor = SAMPLER_PROCESSOR_SAMPLE;
  args.row_params = &row_params;
  args.user = &forced;
  args.on_tokens = [](void *user, std::int64_t, const std::int32_t *, std::int64_t,
                      sampler_finish_reason) {
    ++*static_cast<std::int64_t *>(user);
    return std::int32_t(0);
  };
  args.out_token_ids = tokens;
  ASSERT_EQ(sampler_autoregressive(sampler.get(), &args), SAMPLER_OK) << sampler_last_error();
  EXPECT_EQ(Tokens(tokens, tokens + 5), (Tokens{7, 8, 9, 10, 11}));
}

}  // namespace
}  // namespace decoding_test::stages_test
