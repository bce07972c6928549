// A sequence that is taken out goes on later, here or elsewhere, as if it had stayed.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "../sized.h"
#include "driver.h"

namespace session_test::resume_test {
namespace {

using decoding_test::mixed_logits;
using decoding_test::table_logits;

sampler_params adaptive_params(sampler_adaptive_kind kind, float target, float rate) {
  sampler_params params = sampler_params_default();
  params.adaptive_kind = kind;
  params.adaptive_target = target;
  params.adaptive_rate = rate;
  return params;
}

sampler_params decaying_params() {
  sampler_params params = sampler_params_default();
  params.temperature = 1.5f;
  params.top_p = 0.95f;
  params.top_p_decay = 0.7f;
  params.top_p_least = 0.1f;
  return params;
}

Wish wish_of(const sampler_params &params, std::uint64_t seed) {
  Wish wish;
  wish.prompt = {1, 2, 3, 1, 2};
  wish.draws = {{0, seed, params}};
  wish.max_new_tokens = 30;
  return wish;
}

struct Copy {
  sampler_session_sequence told;
  Tokens text;
};

// After num_steps steps, of which the last one has begun.
Copy interrupted(Driver *driver, const Wish &wish, const sampler_session_add_args &args,
                 int num_steps) {
  const std::int32_t sequence = driver->add(wish, args);
  for (int i = 0; i < num_steps; ++i) driver->run(driver->plan());
  driver->plan();
  Copy copy = {driver->get(sequence), driver->text(sequence)};
  driver->remove(sequence);
  return copy;
}

Tokens gone_on(Driver *driver, const Wish &wish, sampler_session_add_args args, const Tokens &text,
               const sampler_session_sequence *resumed) {
  args.resumed = resumed;
  const std::int32_t sequence = driver->add(wish, args, text);
  driver->finish();
  const Tokens whole = driver->text(sequence);
  driver->remove(sequence);
  return whole;
}

// The other session has other neighbours, threads and drafts.
TEST(SessionResume, AdaptiveStagesGoOnInAnotherSession) {
  const sampler_params kinds[] = {
      adaptive_params(SAMPLER_ADAPTIVE_MIROSTAT_V1, 2, 0.4f),
      adaptive_params(SAMPLER_ADAPTIVE_MIROSTAT_V2, 2, 0.4f),
      adaptive_params(SAMPLER_ADAPTIVE_P, 0.3f, 0.8f),
      decaying_params(),
  };
  const NextLogits model = table_logits(5, kVocabulary, 2, false);
  for (const sampler_params &params : kinds) {
    Driver first(small_options(1, 4), model, model);
    Driver second(small_options(2, 4), model, model, handle_options(2));
    auto args = sized<sampler_session_add_args>();
    int num_without = 0;  // texts that are others without the values
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      const Wish wish = wish_of(params, seed);
      args.draft_source = seed % 2 == 0 ? SAMPLER_DRAFTS_PROMPT_LOOKUP : SAMPLER_DRAFTS_NONE;
      const Tokens whole = alone(first.sampler(), model, wish, kContext).text;
      const Copy copy = interrupted(&first, wish, args, 4);
      args.draft_source = seed % 3 == 0 ? SAMPLER_DRAFTS_MODEL : SAMPLER_DRAFTS_NONE;
      EXPECT_EQ(gone_on(&second, wish, args, copy.text, &copy.told), whole) << seed;
      num_without += gone_on(&second, wish, args, copy.text, nullptr) != whole;
    }
    EXPECT_GT(num_without, 0) << params.adaptive_kind;
  }
}

// The number of drafts of a step follows the entropy of those before, and with STANDARD the text
// follows the number.
TEST(SessionResume, TheEntropyOfTheDrafterGoesOn) {
  const NextLogits model = table_logits(5, kVocabulary, 2, false);
  const NextLogits drafter = mixed_logits(model, table_logits(6, kVocabulary, 1, false), 40, 3);
  SessionOptions options = small_options(1, 4);
  options.has_adaptive_gamma = 1;
  options.keep_drafter_rows = 1;
  Driver driver(options, model, drafter);
  auto args = sized<sampler_session_add_args>();
  args.draft_source = SAMPLER_DRAFTS_MODEL;
  args.acceptance = SAMPLER_ACCEPT_STANDARD;
  args.adaptive_gamma = SAMPLER_GAMMA_BY_ENTROPY;
  args.ema_beta = 0.9f;
  int num_without = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Wish wish = wish_of(sampler_params_default(), seed);
    const Tokens whole = gone_on(&driver, wish, args, wish.prompt, nullptr);
    // The first token is drawn without drafts; then a step takes two calls or more.
    const Copy none = interrupted(&driver, wish, args, 1);
    EXPECT_TRUE(std::isnan(none.told.drafter_entropy));
    EXPECT_EQ(gone_on(&driver, wish, args, none.text, &none.told), whole) << seed;
    const Copy copy = interrupted(&driver, wish, args, 9);
    EXPECT_GE(copy.told.drafter_entropy, 0);
    EXPECT_EQ(gone_on(&driver, wish, args, copy.text, &copy.told), whole) << seed;
    num_without += gone_on(&driver, wish, args, copy.text, nullptr) != whole;
  }
  EXPECT_GT(num_without, 0);
}

class Storage {
 public:
  Storage() {
    auto options = sized<sampler_ngram_storage_options>();
    options.vocabulary_size = kVocabulary;
    EXPECT_EQ(sampler_ngram_storage_create(&options, &storage_), SAMPLER_OK);
    EXPECT_EQ(sampler_ngram_storage_interface(storage_, &ngram), SAMPLER_OK);
  }
  ~Storage() { sampler_ngram_storage_destroy(storage_); }
  Storage(const Storage &) = delete;
  Storage &operator=(const Storage &) = delete;

  std::vector<unsigned char> bytes() const {
    std::size_t size = 0;
    EXPECT_EQ(sampler_ngram_storage_serialize(storage_, nullptr, 0, &size), SAMPLER_OK);
    std::vector<unsigned char> result(size);
    EXPECT_EQ(sampler_ngram_storage_serialize(storage_, result.data(), size, &size), SAMPLER_OK);
    return result;
  }

  sampler_ngram ngram = sized<sampler_ngram>();

 private:
  sampler_ngram_storage_t storage_ = nullptr;
};

// With STANDARD a text follows its drafts, and those what the n-grams have counted.
TEST(SessionResume, NgramsLearnATextOnce) {
  const NextLogits model = table_logits(5, kVocabulary, 1, false);
  SessionOptions options = small_options(1, 4);
  options.filler_top_k = 2;
  Driver driver(options, model);
  auto args = sized<sampler_session_add_args>();
  args.draft_source = SAMPLER_DRAFTS_NGRAM;
  args.acceptance = SAMPLER_ACCEPT_STANDARD;
  const Wish wish = wish_of(sampler_params_default(), 3);
  Storage stayed, again;
  args.ngram = &stayed.ngram;
  const Tokens whole = gone_on(&driver, wish, args, wish.prompt, nullptr);
  args.ngram = &again.ngram;
  const Copy copy = interrupted(&driver, wish, args, 5);
  ASSERT_LT(copy.text.size(), whole.size());
  args.ngram_has_text = 1;
  EXPECT_EQ(gone_on(&driver, wish, args, copy.text, &copy.told), whole);
  EXPECT_EQ(again.bytes(), stayed.bytes());
}

// Numbers of steps and drafts are those of the whole text.
TEST(SessionResume, CountsGoOn) {
  const NextLogits model = table_logits(5, kVocabulary, 1, false);
  Driver driver(small_options(1, 4), model);
  auto args = sized<sampler_session_add_args>();
  args.draft_source = SAMPLER_DRAFTS_PROMPT_LOOKUP;
  const Wish wish = wish_of(sampler_params_default(), 3);
  const std::int32_t sequence = driver.add(wish, args);
  driver.finish();
  const sampler_session_sequence whole = driver.get(sequence);
  driver.remove(sequence);
  const Copy copy = interrupted(&driver, wish, args, 5);
  EXPECT_EQ(copy.told.num_steps, 5);
  args.resumed = &copy.told;
  driver.add(wish, args, copy.text);
  driver.finish();
  const sampler_session_sequence again = driver.get(sequence);
  EXPECT_EQ(again.num_steps, whole.num_steps);
  EXPECT_EQ(again.num_drafted, whole.num_drafted);
  EXPECT_EQ(again.num_accepted, whole.num_accepted);
  EXPECT_GT(again.num_accepted, 0);
}

}  // namespace
}  // namespace session_test::resume_test
