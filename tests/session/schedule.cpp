#include "schedule.h"
#include "../sized.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace session_test {

namespace {

sampler_params random_params(Random *random, bool with_stages, bool with_guidance) {
  sampler_params params = sampler_params_default();
  params.temperature = random->one_in(4) ? 0.0f : float(random->between(4, 16)) / 8;
  if (random->one_in(2)) params.top_k = std::int32_t(random->between(1, 12));
  if (random->one_in(2)) params.top_p = float(random->one_in(8) ? 0 : random->between(3, 7)) / 8;
  if (random->one_in(4)) params.min_p = 0.05f;
  if (with_guidance && random->one_in(2)) params.guidance_scale = 1.5f;
  if (!with_stages) return params;
  if (random->one_in(2)) params.repetition_penalty = 1.5f;
  if (random->one_in(3)) params.frequency_penalty = 0.5f;
  if (random->one_in(4)) params.presence_penalty = 0.25f;
  if (random->one_in(4)) params.dry_multiplier = 1.0f;
  if (random->one_in(4)) params.no_repeat_ngram_size = 2;
  if (random->one_in(4)) params.min_new_tokens = 4;
  if (random->one_in(4)) {
    params.exponential_decay_start = 3;
    params.exponential_decay_factor = 1.25f;
  }
  if (random->one_in(4)) params.xtc_probability = 0.5f;
  if (random->one_in(4)) params.typical_p = 0.7f;
  if (random->one_in(3)) {
    params.adaptive_kind = sampler_adaptive_kind(random->between(1, SAMPLER_ADAPTIVE_SMOOTHING));
    const bool is_p = params.adaptive_kind == SAMPLER_ADAPTIVE_P;
    const bool is_smoothing = params.adaptive_kind == SAMPLER_ADAPTIVE_SMOOTHING;
    params.adaptive_target = is_p || is_smoothing ? 0.3f : 3;
    params.adaptive_rate = is_smoothing ? 1.5f : is_p ? 0.8f : 0.3f;
  } else if (params.top_p < 1 && random->one_in(3)) {
    params.top_p_decay = 0.9f;
    params.top_p_least = 0.2f;
  }
  return params;
}

Tokens random_tokens(Random *random, std::int64_t least, std::int64_t most) {
  Tokens tokens;
  // Few of them, so that lookups find something.
  for (std::int64_t i = random->between(least, most); i > 0; --i) {
    tokens.push_back(std::int32_t(random->between(0, 7)));
  }
  return tokens;
}

// Masks, forced tokens and guidance for most rows, by the text before them.
Extras masks_and_tops(std::uint64_t seed) {
  Extras extras;
  extras.masks = {0xBDB6DB, 0x6DFF6D, 0x0FFFF0, 0xFFF0FF, 0xAAAAAA};
  extras.mask_of = [](const Tokens &text) {
    const auto number = std::int32_t((text.size() * 5 + std::size_t(text.back())) % 7);
    return number < 5 ? number : -1;
  };
  // As where budgets run out: each fifth place, and a token that the mask may forbid.
  extras.forced_after = [](const Tokens &text) {
    return text.size() % 5 == 0 ? std::int32_t(text.back() % 7) : -1;
  };
  // But after each third text.
  extras.guidance =
      [other = decoding_test::table_logits(seed + 5, kVocabulary, 2, true)](const Tokens &text) {
        return text.size() % 3 == 0 ? Logits() : other(text);
      };
  extras.num_top = 3;
  extras.logprob_kind = SAMPLER_LOGPROB_EDITED;
  return extras;
}

constexpr float kRates[] = {0.9f, 0.7f, 0.5f, 0.3f};

bool is_whole(sampler_acceptance verification) {
  return verification == SAMPLER_ACCEPT_BLOCK || verification == SAMPLER_ACCEPT_DEFERRED;
}

// Fewer log-probabilities than were asked for end in NaN, which equals nothing.
std::vector<float> without_nan(std::vector<float> values) {
  for (float &value : values) {
    if (std::isnan(value)) value = 1;
  }
  return values;
}

sampler_pipeline pipeline_of(const Extras &extras) {
  auto pipeline = sized<sampler_pipeline>();
  extras.set_masks(&pipeline);
  return pipeline;
}

}  // namespace

Schedule::Schedule(std::uint64_t seed, std::int64_t num_texts, const ScheduleKind &kind,
                   const sampler_options &handle)
    : random_(seed),
      num_left_(num_texts),
      kind_(kind),
      target_(decoding_test::mixed_logits(decoding_test::table_logits(seed, kVocabulary, 2, true),
                                          decoding_test::constant_logits(Logits(kVocabulary, NAN)),
                                          1, seed)),
      drafter_(decoding_test::mixed_logits(
          target_, decoding_test::table_logits(99, kVocabulary, 1, false), 30, seed + 1)),
      extras_(kind.has_masks ? masks_and_tops(seed) : Extras()),
      pipeline_(pipeline_of(extras_)),
      reference_(decoding_test::make_sampler()),
      driver_(options(), target_, drafter_, handle, extras_) {
  auto storage = sized<sampler_ngram_storage_options>();
  storage.vocabulary_size = kVocabulary;
  if (kind.ngram_memory) storage.allocator = *kind.ngram_memory;
  sampler_ngram_storage_create(&storage, &storage_);
  sampler_ngram_storage_interface(storage_, &ngram_);
}

Schedule::~Schedule() {
  sampler_ngram_storage_destroy(storage_);
}

SessionOptions Schedule::options() const {
  SessionOptions result = small_options(kSequences, 4);
  result.lookup_tokens = result.drafter_context = kRoom;  // some texts get longer
  result.has_draft_trees = 1;
  result.has_adaptive_gamma = 1;
  result.keep_drafter_rows = kind_.has_rules;
  result.acceptance_params.synthetic_rates = kRates;
  result.acceptance_params.relaxed_top_k = 3;
  result.acceptance_params.relaxed_delta = 0.2f;
  result.acceptance_params.threshold_single = 0.4f;
  result.acceptance_params.threshold_total = 0.7f;
  result.acceptance_params.deferred_window = 2;
  result.max_top_logprobs = extras_.num_top;
  if (kind_.has_masks) result.pipeline = &pipeline_;
  return result;
}

void Schedule::run() {
  while ((num_left_ > 0 || !running_.empty()) && !testing::Test::HasFailure()) {
    const std::int64_t choice = random_.between(0, 19);
    if (choice < 4 && num_left_ > 0 && has_room()) add();
    if (choice == 4 && num_left_ > 0 && has_room() && !running_.empty()) fork();
    if (choice == 5 && !running_.empty()) put_back();
    if (choice == 6 && random_.one_in(4) && !running_.empty()) remove();
    if (choice >= 6) step();
  }
}

std::int32_t Schedule::any_running() {
  auto it = running_.begin();
  std::advance(it, random_.between(0, std::int64_t(running_.size()) - 1));
  return it->first;
}

void Schedule::add() {
  --num_left_;
  Running own = {};
  own.wish.prompt = random_tokens(&random_, 1, random_.one_in(8) ? kContext : 20);
  own.wish.draws = {
      {0, random_.next(), random_params(&random_, kind_.has_stages, kind_.has_masks)}};
  own.wish.max_new_tokens = random_.one_in(4) ? 0 : random_.between(1, 30);
  if (random_.one_in(2)) own.wish.ends = {2, 9};
  for (std::int64_t i = random_.between(0, 3); i > 0; --i) {
    own.wish.stops.push_back(random_tokens(&random_, 1, 3));
  }
  own.args = sized<sampler_session_add_args>();
  choose_drafts(&own.args);
  const std::int64_t length = std::int64_t(own.wish.prompt.size());
  if (random_.one_in(3)) own.args.cache_length = random_.between(0, length - 1);
  if (random_.one_in(3)) {
    own.args.drafter_cache_length = random_.between(0, std::min(length, kRoom));
  }
  const std::int32_t sequence = driver_.add(own.wish, own.args);
  ASSERT_EQ(running_.count(sequence), 0u);
  running_[sequence] = own;
  compare_if_finished(sequence);
}

void Schedule::choose_drafts(sampler_session_add_args *args) {
  args->draft_source = sampler_draft_source(random_.between(0, 3));
  // By these rules a text depends on its drafts, and those of shared n-grams on other texts.
  if (kind_.has_rules && args->draft_source == SAMPLER_DRAFTS_NGRAM) {
    args->draft_source = SAMPLER_DRAFTS_MODEL;
  }
  args->num_drafts = random_.between(0, 4);
  if (kind_.has_rules) {
    args->acceptance = sampler_acceptance(random_.between(0, SAMPLER_ACCEPT_SYNTHETIC));
  }
  if (args->draft_source == SAMPLER_DRAFTS_MODEL && !is_whole(args->acceptance) &&
      random_.one_in(2)) {
    args->draft_top_k = random_.between(1, args->num_drafts ? args->num_drafts : 4);
  }
  args->draft_unknown = random_.one_in(3);
  args->min_match = random_.between(0, 3);
  choose_gamma(args);
  if (args->draft_source == SAMPLER_DRAFTS_NGRAM) args->ngram = &ngram_;
}

// Times are those of the machine: a measured number of drafts changes no text of SAMPLE_MATCH
// alone.
void Schedule::choose_gamma(sampler_session_add_args *args) {
  if (args->draft_source == SAMPLER_DRAFTS_NONE) return;
  if (args->draft_source == SAMPLER_DRAFTS_MODEL && args->draft_top_k == 0) {
    if (random_.one_in(3)) args->least_draft_probability = float(random_.between(1, 9)) / 10;
    if (random_.one_in(3)) {
      args->adaptive_gamma = SAMPLER_GAMMA_BY_ENTROPY;
      args->gamma_min = random_.between(0, args->num_drafts ? args->num_drafts : 4);
      args->ema_beta = random_.one_in(2) ? 0.0f : 0.5f;
      return;
    }
  }
  if (!kind_.has_rules && random_.one_in(8)) args->adaptive_gamma = SAMPLER_GAMMA_MEASURED;
}

void Schedule::fork() {
  --num_left_;
  const std::int32_t source = any_running();
  Running own = running_[source];
  const sampler_session_sequence now = driver_.get(source);
  const std::uint64_t seed = random_.next();
  sampler_params params = own.wish.draws.back().params;
  if (random_.one_in(2)) params.temperature = 1.25f;
  own.wish.draws.push_back({now.num_tokens - now.prompt_length, seed, params});
  const std::int32_t sequence = driver_.fork(source, &seed, &params);
  ASSERT_EQ(running_.count(sequence), 0u);
  running_[sequence] = own;
}

// Takes a sequence out, and lets it go on as one of a text of which a part is cached.
void Schedule::put_back() {
  const std::int32_t sequence = any_running();
  const Running own = running_[sequence];
  const std::int64_t length = driver_.get(sequence).num_tokens;
  running_.erase(sequence);
  sampler_session_add_args args = own.args;
  args.cache_length = random_.between(0, length - 1);
  args.drafter_cache_length = random_.between(0, std::min(length, kRoom));
  running_[driver_.put_back(sequence, own.wish, args)] = own;
}

void Schedule::remove() {
  const std::int32_t sequence = any_running();
  const Tokens text = driver_.text(sequence);
  const Alone whole = expected(running_[sequence]);
  ASSERT_LE(text.size(), whole.text.size());
  EXPECT_TRUE(std::equal(text.begin(), text.end(), whole.text.begin()));
  forget(sequence);
}

void Schedule::step() {
  Tokens sequences;
  if (random_.one_in(2)) {
    for (const auto &entry : running_) {
      if (random_.one_in(2)) sequences.push_back(entry.first);
    }
  }
  const std::int64_t max_tokens = random_.one_in(3) ? random_.between(5, 20) : 0;
  const Driver::Step step = driver_.plan(sequences, max_tokens);
  if (random_.one_in(8)) return;  // what was planned is not run
  driver_.run(step, random_.one_in(2) ? &random_ : nullptr);
  for (const sampler_span &span : step.spans) compare_if_finished(span.sequence);
}

Alone Schedule::expected(const Running &own) const {
  if (kind_.has_rules) return alone_in_a_session(own);
  return alone(reference_.get(), target_, own.wish, kContext, extras_);
}

// Where it was forked it is forked there, too: its parent ended a step with that token.
Alone Schedule::alone_in_a_session(const Running &own) const {
  Driver driver(options(), target_, drafter_, sampler_options_default(), extras_);
  Wish first = own.wish;
  first.draws.resize(1);
  sampler_session_add_args args = own.args;
  args.cache_length = args.drafter_cache_length = 0;
  std::int32_t sequence = driver.add(first, args);
  for (std::size_t i = 1; i < own.wish.draws.size(); ++i) {
    const Draws &draws = own.wish.draws[i];
    const std::int64_t length = std::int64_t(own.wish.prompt.size()) + draws.begin;
    while (driver.runs(sequence) && driver.get(sequence).num_tokens < length) {
      driver.run(driver.plan());
    }
    EXPECT_EQ(driver.get(sequence).num_tokens, length);
    const std::int32_t next = driver.fork(sequence, &draws.seed, &draws.params);
    driver.remove(sequence);
    sequence = next;
  }
  driver.finish();
  const sampler_session_sequence now = driver.get(sequence);
  Alone result;
  result.text = driver.text(sequence);
  result.logprobs = driver.logprobs[sequence];
  result.top_token_ids = driver.top_token_ids[sequence];
  result.top_logprobs = driver.top_logprobs[sequence];
  result.reason = now.finish_reason;
  result.stop_sequence = now.stop_sequence;
  result.adaptive_values = bits_of(now.adaptive_values);
  return result;
}

void Schedule::compare_if_finished(std::int32_t sequence) {
  const sampler_session_sequence own = driver_.get(sequence);
  if (own.finish_reason == SAMPLER_FINISH_NONE) return;
  const Alone whole = expected(running_[sequence]);
  EXPECT_EQ(driver_.text(sequence), whole.text);
  EXPECT_EQ(own.finish_reason, whole.reason);
  EXPECT_EQ(own.stop_sequence, whole.stop_sequence);
  EXPECT_EQ(bits_of(own.adaptive_values), whole.adaptive_values);
  EXPECT_EQ(driver_.logprobs[sequence], whole.logprobs);
  EXPECT_EQ(driver_.top_token_ids[sequence], whole.top_token_ids);
  EXPECT_EQ(without_nan(driver_.top_logprobs[sequence]), without_nan(whole.top_logprobs));
  ++num_compared;
  ++reasons[own.finish_reason];
  num_tokens += own.num_tokens - own.prompt_length;
  num_drafted += own.num_drafted;
  num_accepted += own.num_accepted;
  forget(sequence);
}

void Schedule::forget(std::int32_t sequence) {
  driver_.remove(sequence);
  running_.erase(sequence);
}

}  // namespace session_test
