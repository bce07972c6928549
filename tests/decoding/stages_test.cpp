// Stages in the autoregressive loop: each text is the one that single calls with a state of its own
// give, whatever stands beside it.
#include <gtest/gtest.h>

#include <memory>

#include "generation.h"

namespace decoding_test {
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
    auto args = sized<sampler_sample_args>();
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
    args.out_observations = &observation;
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
    Random random(seed);
    Calls calls;
    Limits limits;
    limits.vocabulary_size = kVocabulary;
    Model model(limits, table_logits(seed, kVocabulary, 3), &calls);
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
}  // namespace decoding_test
