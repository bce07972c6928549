#include "scenario.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "memory.h"

namespace decoding_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

Limits random_limits(Random *random, std::int64_t vocabulary_size, std::int64_t num_sequences,
                     std::int64_t least_context) {
  Limits limits;
  limits.vocabulary_size = vocabulary_size;
  limits.max_context = least_context + random->between(0, random->one_in(2) ? 40 : 6);
  limits.max_sequences = num_sequences;
  limits.max_span_tokens = random->one_in(2) ? 0 : random->between(1, 7);
  limits.dtype = sampler_dtype(random->between(SAMPLER_F32, SAMPLER_BF16));
  return limits;
}

void set_options(Random *random, std::int64_t vocabulary_size, Generation *generation) {
  sampler_generation_args &args = generation->args;
  args.max_new_tokens = random->one_in(5) ? 1 : random->between(1, 24);
  args.pad_token_id = std::int32_t(random->between(-7, 7));
  args.use_cache = random->one_in(2);
  args.seed = random->next();
  if (random->one_in(2)) {
    for (std::size_t i = 0; i < generation->prompts().size(); ++i) {
      generation->seeds.push_back(random->next());
    }
  }
  for (std::int64_t i = random->between(0, 2); i > 0; --i) {
    generation->ends.push_back(std::int32_t(random->between(0, vocabulary_size - 1)));
  }
}

}  // namespace

Scenario::Scenario(std::uint64_t seed) {
  Random random(seed);
  const std::int64_t vocabulary_size = random.between(3, 12);
  const std::int64_t num_texts = random.between(1, 7);
  const std::int64_t first = random.one_in(2) ? 0 : random.between(1, 5);
  const auto prompts = random_prompts(&random, num_texts, 9, vocabulary_size);
  std::int64_t longest = 0;
  for (const Tokens &prompt : prompts) {
    longest = std::max(longest, std::int64_t(prompt.size()));
  }

  // Arguments of one call are evaluated in any order: each draw has a statement, so that a seed is
  // the same scenario by every compiler.
  const std::uint64_t table_seed = random.next();
  const int num_seen = int(random.between(0, 2));
  const NextLogits table = table_logits(table_seed, vocabulary_size, num_seen, random.one_in(3));
  const std::uint64_t other_seed = random.next();
  const NextLogits other = table_logits(other_seed, vocabulary_size, 0, random.one_in(3));
  const int percent = int(random.between(0, 3)) * 30;
  const std::int64_t num_slots = first + num_texts + random.between(0, 2);
  Limits limits = random_limits(&random, vocabulary_size, num_slots, longest);
  const std::int64_t num_drafter_slots = first + num_texts + random.between(0, 2);
  Limits drafter_limits = random_limits(&random, vocabulary_size, num_drafter_slots, 1);
  const bool has_process = random.one_in(4);
  if (has_process) limits.dtype = drafter_limits.dtype = SAMPLER_F32;
  target = std::make_unique<Model>(limits, table, &calls);
  drafter = std::make_unique<Model>(drafter_limits,
                                    mixed_logits(table, other, percent, random.next()), &calls);

  generation = std::make_unique<Generation>(target.get(), prompts);
  generation->args.first_sequence = first;
  set_options(&random, vocabulary_size, generation.get());
  if (has_process) generation->process = forbid_by_length;

  speculative_args.gamma = random.between(1, 8);
  speculative_args.adaptive_gamma = random.one_in(3);
  speculative_args.gamma_min = random.between(0, speculative_args.gamma);
  speculative_args.gamma_max = random.one_in(2) ? 0 : speculative_args.gamma + random.between(0, 3);
  speculative_args.ema_beta = float(random.between(0, 3)) / 4;
  speculative_args.first_target = random.one_in(2);

  // Mostly what the target says, so that drafts are kept; now and then unknown, or no token at all.
  const std::uint64_t script_seed = random.next();
  const bool has_bad_ids = random.one_in(3);
  ngram = std::make_unique<ScriptedNgram>(
      [=](const Tokens &context) -> ScriptedNgram::Next {
        Random draw(script_seed + context.size() * 1000 + std::uint64_t(context.back()));
        if (has_bad_ids && draw.one_in(6)) {
          return {std::int32_t(draw.one_in(2) ? -1 : vocabulary_size), true};
        }
        const bool is_known = !draw.one_in(4);
        if (draw.one_in(3)) return {std::int32_t(draw.between(0, vocabulary_size - 1)), is_known};
        const Logits row = table(context);
        return {std::int32_t(std::max_element(row.begin(), row.end()) - row.begin()), is_known};
      },
      &calls);
  ngram_args.gamma = random.between(1, 8);
  ngram_args.filler_top_k = random.between(0, vocabulary_size);
  ngram_args.stop_if_unknown = random.one_in(2);
  ngram_args.first_target = random.one_in(2);
  ngram_args.ngram_least_count = seed % 3 == 2;

  tree_args.gamma = random.between(1, 9);
  tree_args.draft_top_k = random.between(1, std::min<std::int64_t>(tree_args.gamma, 4));
  tree_args.first_target = random.one_in(2);
}

void Scenario::expect_drafter_of_texts() const {
  for (std::size_t i = 0; i < generation->prompts().size(); ++i) {
    const Tokens &cache = drafter->cache(generation->args.first_sequence + std::int64_t(i));
    const Tokens text = generation->whole_text(i);
    ASSERT_LE(cache.size(), text.size());
    EXPECT_TRUE(std::equal(cache.begin(), cache.end(), text.begin()))
        << "the drafter's cache holds what is not of text " << i;
  }
}

sampler_status forbid_by_length(const ProcessCall &call) {
  for (std::int64_t row = 0; row < call.num_rows; ++row) {
    float *const values = static_cast<float *>(call.logits) + row * call.row_stride;
    Logits copy(static_cast<std::size_t>(call.num_cols));
    copy_from_logits(copy.data(), values, copy.size() * sizeof(float));
    copy[std::size_t(call.lengths[row] % call.num_cols)] = -kInf;
    copy[std::size_t(call.lengths[row] * 7 % call.num_cols)] += 1.0f;
    copy_to_logits(values, copy.data(), copy.size() * sizeof(float));
  }
  return SAMPLER_OK;
}

}  // namespace decoding_test
