// What a session's calls refuse, by name, value and rule; and that nothing has changed then.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "../sized.h"
#include "driver.h"
#include "generation.h"

namespace session_test::arguments_test {
namespace {

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min();

void expect_error(sampler_status status, sampler_status expected, const std::string &text) {
  EXPECT_EQ(status, expected);
  EXPECT_NE(std::string(sampler_last_error()).find(text), std::string::npos)
      << "\"" << sampler_last_error() << "\" has not \"" << text << "\"";
}

void expect_refused(sampler_status status, const std::string &text) {
  expect_error(status, SAMPLER_ERROR_INVALID_ARGUMENT, text);
}

class SessionArguments : public testing::Test {
 protected:
  SessionArguments() : driver_(options(), decoding_test::table_logits(1, kVocabulary, 1, false)) {
    ends_ = {1};
    text_ = {1, 2, 3};
    stop_tokens_ = {4, 5, 6};
    stop_offsets_ = {0, 1, 3};
    add_.token_ids = text_.data();
    add_.num_tokens = 3;
    add_.params = &params_;
    add_.end_token_ids = ends_.data();
    add_.num_end_tokens = 1;
    add_.stop_sequences = {stop_offsets_.data(), stop_tokens_.data(), 2, 3};
  }

  static SessionOptions options() {
    SessionOptions result = small_options(2, 2);
    result.max_top_logprobs = 2;
    return result;
  }

  sampler_status create(const SessionOptions &options) {
    sampler_session_t session = reinterpret_cast<sampler_session_t>(this);
    const sampler_status status = sampler_session_create(driver_.sampler(), &options, &session);
    EXPECT_EQ(session == nullptr, status != SAMPLER_OK);
    sampler_session_destroy(session);
    std::size_t bytes = 0;
    EXPECT_EQ(sampler_session_size(driver_.sampler(), &options, &bytes), status);
    return status;
  }

  void expect_option(const std::function<void(SessionOptions *)> &change, const std::string &text) {
    SessionOptions changed = options();
    change(&changed);
    expect_refused(create(changed), text);
  }

  sampler_status add(const sampler_session_add_args &args) {
    std::int32_t sequence = -9;
    const sampler_status status = sampler_session_add(driver_.session(), &args, &sequence);
    if (status == SAMPLER_OK) {
      driver_.remove(sequence);
    } else {
      EXPECT_EQ(sequence, -9);
    }
    return status;
  }

  void expect_add(const std::function<void(sampler_session_add_args *)> &change,
                  const std::string &text) {
    sampler_session_add_args changed = add_;
    change(&changed);
    expect_refused(add(changed), text);
  }

  Driver driver_;
  Tokens text_, ends_, stop_tokens_;
  std::vector<std::int64_t> stop_offsets_;
  sampler_params params_ = sampler_params_default();
  sampler_session_add_args add_ = sized<sampler_session_add_args>();
};

TEST_F(SessionArguments, Create) {
  sampler_session_t session = nullptr;
  const SessionOptions good = options();
  expect_refused(sampler_session_create(nullptr, &good, &session), "sampler is NULL");
  expect_refused(sampler_session_create(driver_.sampler(), nullptr, &session), "options is NULL");
  expect_refused(sampler_session_create(driver_.sampler(), &good, nullptr), "out_session is NULL");
  std::size_t bytes = 0;
  expect_refused(sampler_session_size(nullptr, &good, &bytes), "sampler is NULL");
  expect_refused(sampler_session_size(driver_.sampler(), &good, nullptr), "out_bytes is NULL");
  sampler_session_destroy(nullptr);
  EXPECT_EQ(create(good), SAMPLER_OK);

  expect_option([](auto *o) { o->struct_size = 8; }, "options->struct_size is 8");
  for (const std::int64_t bad : {std::int64_t(0), std::int64_t(-1), kHuge, kLow}) {
    const std::string is = " is " + std::to_string(bad) + ";";
    expect_option([&](auto *o) { o->max_sequences = bad; }, "max_sequences" + is);
    expect_option([&](auto *o) { o->max_context = bad; }, "max_context" + is);
    expect_option([&](auto *o) { o->vocabulary_size = bad; }, "vocabulary_size" + is);
    if (bad == 0) continue;
    expect_option([&](auto *o) { o->max_drafts = bad; }, "max_drafts" + is);
    expect_option([&](auto *o) { o->drafter_context = bad; }, "drafter_context" + is);
    expect_option([&](auto *o) { o->lookup_tokens = bad; }, "lookup_tokens" + is);
    expect_option([&](auto *o) { o->max_end_tokens = bad; }, "max_end_tokens" + is);
    expect_option([&](auto *o) { o->max_stop_sequences = bad; }, "max_stop_sequences" + is);
    expect_option([&](auto *o) { o->max_stop_tokens = bad; }, "max_stop_tokens" + is);
    expect_option([&](auto *o) { o->max_top_logprobs = bad; }, "max_top_logprobs" + is);
    expect_option([&](auto *o) { o->filler_top_k = bad; }, "filler_top_k" + is);
  }
  expect_option([](auto *o) { o->logits_dtype = 3; }, "logits_dtype is 3;");
  expect_option([](auto *o) { o->keep_drafter_rows = -1; }, "keep_drafter_rows is -1;");
  expect_option([](auto *o) { o->acceptance_params.sibling_rule = 1; },
                "acceptance->sibling_rule is 1;");
  expect_option([](auto *o) { o->acceptance_params.draw_method = 1; },
                "acceptance->draw_method is 1;");
  expect_option([](auto *o) { o->acceptance_params.typical_threshold = NAN; },
                "acceptance->typical_threshold is NaN;");
  expect_option([](auto *o) { o->acceptance_params.typical_scale = -1; },
                "acceptance->typical_scale is -1;");
  expect_option([](auto *o) { o->acceptance_params.relaxed_top_k = -1; },
                "acceptance->relaxed_top_k is -1;");
  expect_option([](auto *o) { o->acceptance_params.relaxed_delta = -1; },
                "acceptance->relaxed_delta is -1;");
  expect_option([](auto *o) { o->acceptance_params.threshold_single = -1; },
                "acceptance->threshold_single is -1;");
  expect_option([](auto *o) { o->acceptance_params.threshold_total = -1; },
                "acceptance->threshold_total is -1;");
  expect_option([](auto *o) { o->acceptance_params.deferred_window = -1; },
                "acceptance->deferred_window is -1;");
  expect_option([](auto *o) { o->acceptance_params.deferred_top_k = -1; },
                "acceptance->deferred_top_k is -1;");
  expect_option([](auto *o) { o->acceptance_params.deferred_entropy = -1; },
                "acceptance->deferred_entropy is -1;");
  expect_option([](auto *o) { o->has_draft_trees = 2; }, "has_draft_trees is 2;");
  expect_option([](auto *o) { o->has_adaptive_gamma = -1; }, "has_adaptive_gamma is -1;");
  expect_option(
      [](auto *o) {
        o->acceptance_params.synthetic_rates = reinterpret_cast<const float *>(std::uintptr_t(2));
      },
      "acceptance->synthetic_rates");
  for (const float bad : {float(NAN), 1.5f, -1.0f}) {
    const std::vector<float> rates = {0.5f, bad};
    expect_option(
        [&](auto *o) { o->max_drafts = 2, o->acceptance_params.synthetic_rates = rates.data(); },
        "acceptance->synthetic_rates[1] is");
  }
  expect_option([](auto *o) { o->max_top_logprobs = kVocabulary + 1; }, "max_top_logprobs is 25;");
}

TEST_F(SessionArguments, CreateWithParametersAndLists) {
  sampler_params params = sampler_params_default();
  params.top_p = NAN;
  expect_option([&](auto *o) { o->params = &params; }, "top_p");
  params = sampler_params_default();
  params.struct_size = 3;
  expect_option([&](auto *o) { o->params = &params; }, "params->struct_size is 3");
  auto pipeline = sized<sampler_pipeline>();
  const std::int32_t number = 0;
  pipeline.prompt_lengths = &number;
  expect_option([&](auto *o) { o->pipeline = &pipeline; }, "pipeline->prompt_lengths is set");
  pipeline = sized<sampler_pipeline>();
  pipeline.guidance_logits = &number;
  pipeline.num_guidance_rows = 1;
  expect_option([&](auto *o) { o->pipeline = &pipeline; },
                "pipeline->guidance_logits is set; it must be NULL in a session");
  params = sampler_params_default();
  params.guidance_scale = 2;
  expect_option([&](auto *o) { o->params = &params; },
                "params->guidance_scale is 2; it must be 0 or 1 here, sequences have it");
  pipeline = sized<sampler_pipeline>();
  pipeline.token_id_type = SAMPLER_ID_I64;
  expect_option([&](auto *o) { o->pipeline = &pipeline; }, "pipeline->token_id_type is 1");
  pipeline = sized<sampler_pipeline>();
  pipeline.banned.num_lists = 5;
  expect_option([&](auto *o) { o->pipeline = &pipeline; }, "pipeline->banned");
}

TEST_F(SessionArguments, MemoryThatThereIsNot) {
  SessionOptions large = options();
  large.max_sequences = 1 << 20;
  large.max_drafts = 1024;
  large.keep_drafter_rows = 1;
  large.vocabulary_size = (1 << 20) - 1;
  sampler_session_t session = nullptr;
  EXPECT_EQ(sampler_session_create(driver_.sampler(), &large, &session),
            SAMPLER_ERROR_OUT_OF_MEMORY);
  large.max_context = INT32_MAX;
  large.lookup_tokens = 1 << 27;
  EXPECT_EQ(sampler_session_create(driver_.sampler(), &large, &session),
            SAMPLER_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(session, nullptr);
}

TEST_F(SessionArguments, SourcesOfDraftsInASessionWithoutDrafts) {
  SessionOptions without = small_options(1);
  without.lookup_tokens = kContext;
  const Driver driver(without, decoding_test::table_logits(1, kVocabulary, 1, false));
  sampler_session_add_args args = add_;
  std::int32_t sequence = -9;
  for (const sampler_draft_source source :
       {SAMPLER_DRAFTS_MODEL, SAMPLER_DRAFTS_NGRAM, SAMPLER_DRAFTS_PROMPT_LOOKUP}) {
    args.draft_source = source;
    expect_refused(sampler_session_add(driver.session(), &args, &sequence),
                   "draft_source is " + std::to_string(source) +
                       "; it must be SAMPLER_DRAFTS_NONE where max_drafts of the session is 0");
  }
  EXPECT_EQ(sequence, -9);
}

TEST_F(SessionArguments, Add) {
  std::int32_t sequence = 0;
  expect_refused(sampler_session_add(nullptr, &add_, &sequence), "session is NULL");
  expect_refused(sampler_session_add(driver_.session(), nullptr, &sequence), "args is NULL");
  expect_refused(sampler_session_add(driver_.session(), &add_, nullptr), "out_sequence is NULL");
  EXPECT_EQ(add(add_), SAMPLER_OK) << sampler_last_error();

  expect_add([](auto *a) { a->token_ids = nullptr; }, "token_ids is NULL");
  expect_add([](auto *a) { a->num_tokens = 0; }, "num_tokens is 0;");
  expect_add([](auto *a) { a->num_tokens = kContext + 1; }, "num_tokens is 49;");
  expect_add([](auto *a) { a->num_end_tokens = 4; }, "num_end_tokens is 4;");
  expect_add([](auto *a) { a->end_token_ids = nullptr; }, "end_token_ids is NULL");
  for (const std::int64_t bad : {std::int64_t(-1), kHuge, kLow}) {
    const std::string is = " is " + std::to_string(bad) + ";";
    expect_add([&](auto *a) { a->num_tokens = bad; }, "num_tokens" + is);
    expect_add([&](auto *a) { a->prompt_length = bad; }, "prompt_length" + is);
    expect_add([&](auto *a) { a->cache_length = bad; }, "cache_length" + is);
    expect_add([&](auto *a) { a->drafter_cache_length = bad; }, "drafter_cache_length" + is);
    expect_add([&](auto *a) { a->max_new_tokens = bad; }, "max_new_tokens" + is);
    expect_add([&](auto *a) { a->num_end_tokens = bad; }, "num_end_tokens" + is);
    expect_add([&](auto *a) { a->num_drafts = bad; }, "num_drafts" + is);
    expect_add([&](auto *a) { a->min_match = bad; }, "min_match" + is);
    expect_add([&](auto *a) { a->stop_sequences.num_lists = bad; },
               "stop_sequences.num_lists" + is);
  }
  expect_add([](auto *a) { a->cache_length = 3; }, "cache_length is 3;");
  expect_add([](auto *a) { a->drafter_cache_length = 4; }, "drafter_cache_length is 4;");
  expect_add([](auto *a) { a->prompt_length = 4; }, "prompt_length is 4;");
  for (const std::int32_t bad : {-1, std::int32_t(kVocabulary), INT32_MAX}) {
    const std::string is = " is " + std::to_string(bad) + ";";
    text_[1] = bad;
    expect_refused(add(add_), "token_ids[1]" + is);
    text_[1] = 2;
    ends_[0] = bad;
    expect_refused(add(add_), "end_token_ids[0]" + is);
    ends_[0] = 1;
    stop_tokens_[2] = bad;
    expect_refused(add(add_), "stop_sequences.token_ids[2]" + is);
    stop_tokens_[2] = 6;
  }
  expect_add([](auto *a) { a->stop_sequences.offsets = nullptr; },
             "stop_sequences.offsets is NULL");
  expect_add([](auto *a) { a->stop_sequences.token_ids = nullptr; },
             "stop_sequences.token_ids is NULL");
  expect_add([](auto *a) { a->stop_sequences.num_token_ids = 2; }, "stop_sequences.offsets[1]");
  stop_offsets_[1] = 0;
  expect_refused(add(add_), "stop_sequences.offsets[0] is 0 and the next one 0");
  stop_offsets_[1] = -5;
  expect_refused(add(add_), "stop_sequences.offsets[0] is 0 and the next one -5");
  stop_offsets_[1] = 1;
  const Tokens many(13, 1);
  const std::vector<std::int64_t> offsets = {0, 13};
  expect_add(
      [&](auto *a) {
        a->stop_sequences = {offsets.data(), many.data(), 1, 13};
      },
      "stop_sequences has 13 tokens");
  expect_add([](auto *a) { a->draft_source = 4; }, "draft_source is 4;");
  expect_add([](auto *a) { a->acceptance = -1; }, "acceptance is -1;");
  expect_add([](auto *a) { a->draft_unknown = 2; }, "draft_unknown is 2;");
  for (const sampler_acceptance verification : {SAMPLER_ACCEPT_STANDARD, SAMPLER_ACCEPT_BLOCK,
                                                SAMPLER_ACCEPT_RELAXED, SAMPLER_ACCEPT_DEFERRED}) {
    expect_add(
        [=](auto *a) {
          a->acceptance = verification;
          a->draft_source = SAMPLER_DRAFTS_MODEL;
        },
        "must have keep_drafter_rows");
  }
  expect_add([](auto *a) { a->acceptance = SAMPLER_ACCEPT_SYNTHETIC; },
             "must have acceptance->synthetic_rates");
  expect_add([](auto *a) { a->acceptance = 9; }, "acceptance is 9;");
  expect_add([](auto *a) { a->least_draft_probability = 1.5f; }, "least_draft_probability is 1.5;");
  expect_add([](auto *a) { a->least_draft_probability = 0.5f; },
             "least_draft_probability is 0.5 and draft_source 0;");
  expect_add([](auto *a) { a->ngram_least_count = -1; }, "ngram_least_count is -1;");
  expect_add([](auto *a) { a->ngram_least_share = 1.5f; }, "ngram_least_share is 1.5;");
  expect_add([](auto *a) { a->ngram_least_count = 1; }, "ngram_least_count is 1 and");
  expect_add([](auto *a) { a->ngram_least_share = 0.5f; }, "and ngram_least_share 0.5;");
  expect_add([](auto *a) { a->draft_top_k = -1; }, "draft_top_k is -1;");
  expect_add([](auto *a) { a->draft_top_k = 3; }, "draft_top_k is 3;");
  expect_add([](auto *a) { a->num_drafts = 1, a->draft_top_k = 2; }, "draft_top_k is 2;");
  expect_add([](auto *a) { a->draft_top_k = 2; },
             "draft_top_k is 2; the session must have has_draft_trees");
  expect_add([](auto *a) { a->adaptive_gamma = 3; }, "adaptive_gamma is 3;");
  expect_add([](auto *a) { a->adaptive_gamma = SAMPLER_GAMMA_MEASURED; },
             "adaptive_gamma is 2; the session must have has_adaptive_gamma");
  expect_add([](auto *a) { a->ema_beta = 1; }, "ema_beta is 1; it must be in [0, 1)");
  expect_add([](auto *a) { a->ema_beta = 0.5f; }, "ema_beta 0.5; they must be 0");
  expect_add([](auto *a) { a->gamma_min = -1; }, "gamma_min is -1;");
  expect_add([](auto *a) { a->gamma_min = 3; }, "gamma_min is 3;");
  expect_add([](auto *a) { a->draft_source = SAMPLER_DRAFTS_NGRAM; }, "ngram is NULL");
  auto ngram = sized<sampler_ngram>();
  expect_add([&](auto *a) { a->ngram = &ngram; }, "ngram is set");
  expect_add(
      [&](auto *a) {
        a->ngram = &ngram;
        a->draft_source = SAMPLER_DRAFTS_NGRAM;
      },
      "ngram->next_token is NULL");
  ngram.next_token = [](void *, const std::int32_t *, std::int64_t, std::uint64_t, std::uint64_t,
                        std::int32_t *, std::int32_t *) { return sampler_status(SAMPLER_OK); };
  ngram.update = [](void *, const std::int32_t *, std::int64_t, const std::int32_t *,
                    std::int64_t) { return sampler_status(SAMPLER_OK); };
  ngram.initialize = [](void *, const std::int32_t *, std::int64_t) {
    return sampler_status(SAMPLER_OK);
  };
  const auto limit = [&](auto *a) {
    a->ngram = &ngram;
    a->draft_source = SAMPLER_DRAFTS_NGRAM;
    a->ngram_least_count = 2;
  };
  expect_add(limit, "ngram->propose is NULL; ngram_least_count and ngram_least_share need it");
  ngram.propose = [](void *, const std::int32_t *, std::int64_t, std::int64_t, std::int64_t, float,
                     std::int32_t *, std::int64_t *) { return sampler_status(SAMPLER_OK); };
  expect_add(
      [&](auto *a) {
        limit(a);
        a->draft_unknown = 1;
      },
      "draft_unknown is 1, and must be 0; ngram_least_count");
}

TEST_F(SessionArguments, WhatGoesOnOfASequence) {
  const std::int32_t sequence = [&] {
    std::int32_t result = -9;
    EXPECT_EQ(sampler_session_add(driver_.session(), &add_, &result), SAMPLER_OK);
    return result;
  }();
  const sampler_session_sequence good = driver_.get(sequence);
  driver_.remove(sequence);
  add_.resumed = &good;
  EXPECT_EQ(add(add_), SAMPLER_OK);
  const auto expect_resumed = [&](const std::function<void(sampler_session_sequence *)> &change,
                                  const std::string &text) {
    sampler_session_sequence changed = good;
    change(&changed);
    expect_add([&](auto *a) { a->resumed = &changed; }, text);
  };
  expect_resumed([](auto *r) { r->struct_size = 8; }, "resumed->struct_size is 8");
  for (const int i : {0, 3}) {
    expect_resumed(
        [&](auto *r) { r->adaptive_values[i] = -INFINITY; },
        "resumed->adaptive_values[" + std::to_string(i) + "] is -inf; it must be finite, or NaN");
  }
  for (const double bad : {-1.0, double(INFINITY)}) {
    expect_resumed([&](auto *r) { r->drafter_entropy = bad; }, "resumed->drafter_entropy is ");
  }
  for (const std::int64_t bad : {kHuge, kLow}) {
    const std::string is = " is " + std::to_string(bad) + ";";
    expect_resumed([&](auto *r) { r->num_steps = bad; }, "resumed->num_steps" + is);
    expect_resumed([&](auto *r) { r->num_drafted = bad; }, "resumed->num_drafted" + is);
    expect_resumed([&](auto *r) { r->num_accepted = bad; }, "resumed->num_accepted" + is);
  }
  expect_add([](auto *a) { a->ngram_has_text = 2; }, "ngram_has_text is 2;");
  expect_add([](auto *a) { a->ngram_has_text = 1; },
             "ngram_has_text is 1 and draft_source 0; it must be SAMPLER_DRAFTS_NGRAM");
}

TEST_F(SessionArguments, ParametersOfASequence) {
  const auto expect_params = [&](const std::function<void(sampler_params *)> &change,
                                 const std::string &text) {
    params_ = sampler_params_default();
    change(&params_);
    expect_refused(add(add_), text);
  };
  expect_params([](auto *p) { p->temperature = NAN; }, "temperature is NaN");
  expect_params([](auto *p) { p->min_p = NAN; }, "min_p is NaN");
  expect_params([](auto *p) { p->repetition_penalty = -1; }, "repetition_penalty is -1");
  expect_params([](auto *p) { p->top_k_ties = 1; },
                "params->top_k_ties is 1; it must be the session's, 0");
  expect_params([](auto *p) { p->filter_order = 2; }, "params->filter_order is 2;");
  expect_params([](auto *p) { p->stages[1] = SAMPLER_STAGE_TOP_P; }, "params->stages[1] is 17;");
  expect_params([](auto *p) { p->struct_size = 1; }, "params->struct_size is 1");
  params_ = sampler_params_default();
  EXPECT_EQ(add(add_), SAMPLER_OK);
}

TEST_F(SessionArguments, AFullSession) {
  std::int32_t sequence = -9;
  for (std::int32_t i = 0; i < 2; ++i) {
    EXPECT_EQ(sampler_session_add(driver_.session(), &add_, &sequence), SAMPLER_OK);
    EXPECT_EQ(sequence, i);
  }
  sequence = -9;
  expect_refused(sampler_session_add(driver_.session(), &add_, &sequence),
                 "the session has 2 sequences; it has room for max_sequences, 2");
  auto fork = sized<sampler_session_fork_args>();
  expect_refused(sampler_session_fork(driver_.session(), &fork, &sequence),
                 "the session has 2 sequences");
  EXPECT_EQ(sequence, -9);
}

TEST_F(SessionArguments, SequencesThatThereAreNot) {
  std::int32_t sequence = -9;
  ASSERT_EQ(sampler_session_add(driver_.session(), &add_, &sequence), SAMPLER_OK);
  auto fork = sized<sampler_session_fork_args>();
  auto out = sized<sampler_session_sequence>();
  expect_refused(sampler_session_fork(nullptr, &fork, &sequence), "session is NULL");
  expect_refused(sampler_session_fork(driver_.session(), nullptr, &sequence), "args is NULL");
  expect_refused(sampler_session_fork(driver_.session(), &fork, nullptr), "out_sequence is NULL");
  expect_refused(sampler_session_remove(nullptr, 0), "session is NULL");
  expect_refused(sampler_session_get(nullptr, 0, &out), "session is NULL");
  expect_refused(sampler_session_get(driver_.session(), 0, nullptr), "out_sequence is NULL");
  for (const std::int32_t bad : {-1, 1, 2, INT32_MAX, INT32_MIN}) {
    const std::string is = " is " + std::to_string(bad) + ";";
    fork.source = bad;
    expect_refused(sampler_session_fork(driver_.session(), &fork, &sequence), "source" + is);
    expect_refused(sampler_session_remove(driver_.session(), bad), "sequence" + is);
    expect_refused(sampler_session_get(driver_.session(), bad, &out), "sequence" + is);
  }
  fork.source = 0;
  fork.reserved = 1;
  expect_refused(sampler_session_fork(driver_.session(), &fork, &sequence), "reserved is 1;");
  fork.reserved = 0;
  params_.top_p = NAN;
  fork.params = &params_;
  expect_refused(sampler_session_fork(driver_.session(), &fork, &sequence), "top_p is NaN");
  out.struct_size = 1;
  expect_refused(sampler_session_get(driver_.session(), 0, &out), "out_sequence->struct_size is 1");
}

TEST_F(SessionArguments, Plan) {
  std::int32_t sequence = -9;
  ASSERT_EQ(sampler_session_add(driver_.session(), &add_, &sequence), SAMPLER_OK);
  sampler_span spans[2], drafter_spans[2];
  std::int64_t num_spans = -9, num_drafter_spans = -9;
  const Tokens sequences = {0, 0};
  auto good = sized<sampler_session_plan_args>();
  good.out_spans = spans;
  good.out_num_spans = &num_spans;
  const auto expect_plan = [&](const std::function<void(sampler_session_plan_args *)> &change,
                               const std::string &text) {
    sampler_session_plan_args args = good;
    change(&args);
    expect_refused(sampler_session_plan(driver_.session(), &args), text);
    EXPECT_EQ(num_spans, -9);
  };
  expect_refused(sampler_session_plan(nullptr, &good), "session is NULL");
  expect_refused(sampler_session_plan(driver_.session(), nullptr), "args is NULL");
  expect_plan([](auto *a) { a->out_spans = nullptr; }, "out_spans is NULL");
  expect_plan([](auto *a) { a->out_num_spans = nullptr; }, "out_num_spans is NULL");
  expect_plan([&](auto *a) { a->out_drafter_spans = drafter_spans; },
              "out_num_drafter_spans is NULL");
  expect_plan([&](auto *a) { a->out_num_drafter_spans = &num_drafter_spans; },
              "out_drafter_spans is NULL");
  expect_plan([](auto *a) { a->num_sequences = 1; }, "sequences is NULL");
  for (const std::int64_t bad : {std::int64_t(-1), kHuge, kLow}) {
    const std::string is = " is " + std::to_string(bad) + ";";
    expect_plan([&](auto *a) { a->num_sequences = bad; }, "num_sequences" + is);
    expect_plan([&](auto *a) { a->max_tokens = bad; }, "max_tokens" + is);
  }
  expect_plan([](auto *a) { a->max_tokens = 2; }, "max_tokens is 2;");
  expect_plan(
      [&](auto *a) {
        a->sequences = sequences.data();
        a->num_sequences = 2;
      },
      "sequences[1] is 0; no sequence may be named twice");
  const Tokens none = {1};
  expect_plan(
      [&](auto *a) {
        a->sequences = none.data();
        a->num_sequences = 1;
      },
      "sequences[0] is 1; the session has no such sequence");
  EXPECT_EQ(sampler_session_plan(driver_.session(), &good), SAMPLER_OK);
  EXPECT_EQ(num_spans, 1);

  num_spans = -9;
  add_.draft_source = SAMPLER_DRAFTS_MODEL;
  ASSERT_EQ(sampler_session_add(driver_.session(), &add_, &sequence), SAMPLER_OK);
  expect_plan([](auto *) {}, "sequence 1 has SAMPLER_DRAFTS_MODEL");
}

TEST_F(SessionArguments, Advance) {
  std::int32_t sequence = -9;
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(sampler_session_add(driver_.session(), &add_, &sequence), SAMPLER_OK);
  }
  std::vector<sampler_span> spans = driver_.plan().spans;
  ASSERT_EQ(spans.size(), 2u);
  const Logits logits(2 * std::size_t(kVocabulary) + 4);
  Tokens token_ids(6, -9), top_ids(12);
  std::vector<std::int64_t> counts(2, -9);
  std::vector<float> values(12);
  AdvanceArgs good;
  good.spans = spans.data();
  good.num_spans = 2;
  good.logits = logits.data();
  good.out_token_ids = token_ids.data();
  good.out_counts = counts.data();
  const auto expect_advance = [&](const std::function<void(AdvanceArgs *)> &change,
                                  const std::string &text) {
    AdvanceArgs args = good;
    change(&args);
    expect_refused(sampler_session_advance(driver_.session(), &args), text);
    EXPECT_EQ(token_ids, Tokens(6, -9));
    EXPECT_EQ(counts, std::vector<std::int64_t>(2, -9));
    EXPECT_EQ(driver_.text(0), text_);
  };
  expect_refused(sampler_session_advance(nullptr, &good), "session is NULL");
  expect_refused(sampler_session_advance(driver_.session(), nullptr), "args is NULL");
  expect_advance([](auto *a) { a->spans = nullptr; }, "spans is NULL");
  expect_advance([](auto *a) { a->logits = nullptr; }, "logits is NULL");
  expect_advance([](auto *a) { a->num_guidance_rows = 1; }, "num_guidance_rows is 1; it must be 0");
  const std::int32_t guidance_rows[] = {0, 0};
  expect_advance([&](auto *a) { a->guidance_row_indices = guidance_rows; },
                 "guidance_row_indices is set; guidance_logits is NULL");
  expect_advance(
      [&](auto *a) {
        a->guidance_logits = logits.data();
        a->num_guidance_rows = 1;
      },
      "num_guidance_rows is 1; it must be at least 2");
  expect_advance(
      [&](auto *a) {
        a->guidance_logits = logits.data();
        a->guidance_row_indices = guidance_rows;
      },
      "num_guidance_rows is 0; it must be at least 1");
  expect_advance([](auto *a) { a->out_token_ids = nullptr; }, "out_token_ids is NULL");
  expect_advance([](auto *a) { a->out_counts = nullptr; }, "out_counts is NULL");
  for (const std::int64_t bad : {std::int64_t(-1), kHuge, kLow}) {
    const std::string is = " is " + std::to_string(bad) + ";";
    expect_advance([&](auto *a) { a->num_spans = bad; }, "num_spans" + is);
    expect_advance([&](auto *a) { a->num_drafter_spans = bad; }, "num_drafter_spans" + is);
    expect_advance([&](auto *a) { a->report_args.num_top_logprobs = bad; },
                   "reports->num_top_logprobs" + is);
    expect_advance(
        [&](auto *a) { a->logits_row_stride = bad; },
        bad == kHuge ? "logits has 2 rows, " + std::to_string(bad) : "logits_row_stride" + is);
  }
  expect_advance([](auto *a) { a->logits_row_stride = kVocabulary - 1; },
                 "logits_row_stride is 23;");
  expect_advance([](auto *a) { a->drafter_row_stride = 1; }, "drafter_row_stride is 1;");
  expect_advance([](auto *a) { a->num_drafter_spans = 1; }, "drafter_spans is NULL");
  expect_advance(
      [&](auto *a) {
        a->drafter_spans = spans.data();
        a->num_drafter_spans = 1;
      },
      "drafter_spans[0] of sequence 0 is not a span");
  expect_advance([](auto *a) { a->report_args.logprob_kind = 3; }, "reports->logprob_kind is 3;");
  expect_advance([](auto *a) { a->report_args.reserved = -1; }, "reports->reserved is -1;");
  expect_advance([](auto *a) { a->report_args.num_top_logprobs = 3; },
                 "reports->num_top_logprobs is 3;");
  expect_advance([](auto *a) { a->report_args.num_top_logprobs = 1; },
                 "reports->num_top_logprobs is 1;");
  expect_advance([&](auto *a) { a->report_args.out_top_token_ids = top_ids.data(); },
                 "reports->num_top_logprobs is 0;");
  expect_advance([&](auto *a) { a->token_bitmask_indices = top_ids.data(); },
                 "token_bitmask_indices is set");
  expect_advance([&](auto *a) { a->report_args.out_logprobs = const_cast<float *>(logits.data()); },
                 "reports->out_logprobs");
  const std::vector<sampler_span> as_planned = spans;
  const auto expect_span = [&](const std::function<void(sampler_span *)> &change,
                               const std::string &text) {
    change(&spans[1]);
    expect_advance([](auto *) {}, text);
    spans = as_planned;
    good.spans = spans.data();
  };
  for (const std::int32_t bad : {-1, 2, INT32_MAX, INT32_MIN}) {
    expect_span([&](auto *s) { s->sequence = bad; },
                "spans[1] of sequence " + std::to_string(bad) + " is not a span");
  }
  expect_span([](auto *s) { s->sequence = 0; }, "no sequence may have two spans");
  expect_span([](auto *s) { s->start = 1; }, "spans[1] of sequence 1 is not a span");
  expect_span([](auto *s) { s->num_tokens = kHuge; }, "spans[1] of sequence 1 is not a span");
  expect_span([](auto *s) { s->num_logits = -1; }, "spans[1] of sequence 1 is not a span");
  EXPECT_EQ(sampler_session_advance(driver_.session(), &good), SAMPLER_OK);
  // Nothing is planned any more.
  expect_refused(sampler_session_advance(driver_.session(), &good),
                 "spans[0] of sequence 0 is not a span that it was planned last");
  // No spans at all are fine.
  AdvanceArgs nothing;
  EXPECT_EQ(sampler_session_advance(driver_.session(), &nothing), SAMPLER_OK);
  // As are arrays for them that are NULL.
  nothing.report_args.num_top_logprobs = 2;
  EXPECT_EQ(sampler_session_advance(driver_.session(), &nothing), SAMPLER_OK)
      << sampler_last_error();
  nothing.report_args.num_top_logprobs = 3;
  expect_refused(sampler_session_advance(driver_.session(), &nothing),
                 "reports->num_top_logprobs is 3;");
  nothing.report_args.num_top_logprobs = 0;
  nothing.report_args.out_top_token_ids = top_ids.data();
  expect_refused(sampler_session_advance(driver_.session(), &nothing),
                 "reports->num_top_logprobs is 0;");
}

// What create takes is all that there is.
struct Counting {
  std::int64_t num_blocks = 0;
  std::size_t bytes = 0;

  static void *allocate(void *user, std::size_t bytes, std::size_t alignment) {
    auto *const self = static_cast<Counting *>(user);
    ++self->num_blocks;
    self->bytes += bytes;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  static void deallocate(void *user, void *memory, std::size_t bytes, std::size_t) {
    auto *const self = static_cast<Counting *>(user);
    --self->num_blocks;
    self->bytes -= bytes;
    free(memory);
  }
};

// What a sequence takes, by what a thousand more of them do.
double bytes_a_sequence(SessionOptions options) {
  const decoding_test::Sampler sampler = decoding_test::make_sampler();
  std::size_t bytes[2] = {};
  for (const std::int64_t i : {0, 1}) {
    options.max_sequences = (i + 1) * 1000;
    EXPECT_EQ(sampler_session_size(sampler.get(), &options, &bytes[i]), SAMPLER_OK);
  }
  return double(bytes[1] - bytes[0]) / 1000;
}

TEST(SessionMemory, OfASequenceIsAsTheHeaderSays) {
  auto options = sized<sampler_session_options>();
  options.max_context = 1000;
  options.vocabulary_size = 1000;
  const double plain = bytes_a_sequence(options);
  EXPECT_NEAR(plain, 13 * 1000 + 900, 100);
  options.max_context = 2000;
  EXPECT_NEAR(bytes_a_sequence(options) - plain, 13 * 1000, 100);
  for (const std::int32_t has_trees : {0, 1}) {
    options.max_context = 1000;
    options.has_draft_trees = has_trees;
    options.max_drafts = 20;
    options.max_top_logprobs = 0;
    const double with_drafts = bytes_a_sequence(options);
    EXPECT_NEAR((with_drafts - plain) / 20, 45, 15);
    options.max_top_logprobs = 10;
    EXPECT_NEAR(bytes_a_sequence(options) - with_drafts, 21 * 10 * 8, 21);
  }
}

TEST(SessionMemory, IsTakenInCreateAndAsMuchAsSizeTells) {
  Counting counting;
  sampler_options handle = sampler_options_default();
  handle.allocator = {Counting::allocate, Counting::deallocate, &counting};
  sampler_t sampler = nullptr;
  ASSERT_EQ(sampler_create(&handle, &sampler), SAMPLER_OK);
  const std::size_t before = counting.bytes;
  const std::int64_t num_blocks = counting.num_blocks;
  SessionOptions options = small_options(2, 2);
  options.keep_drafter_rows = 1;
  options.max_top_logprobs = 2;
  std::size_t bytes = 0;
  EXPECT_EQ(sampler_session_size(sampler, &options, &bytes), SAMPLER_OK);
  EXPECT_EQ(counting.bytes, before);
  sampler_session_t session = nullptr;
  ASSERT_EQ(sampler_session_create(sampler, &options, &session), SAMPLER_OK);
  EXPECT_EQ(counting.bytes - before, bytes);
  const std::int64_t taken = counting.num_blocks;

  const Tokens text = {1, 2, 1, 2, 1};
  auto args = sized<sampler_session_add_args>();
  args.token_ids = text.data();
  args.num_tokens = 5;
  args.draft_source = SAMPLER_DRAFTS_PROMPT_LOOKUP;
  std::int32_t sequence = 0;
  EXPECT_EQ(sampler_session_add(session, &args, &sequence), SAMPLER_OK);
  sampler_span spans[2];
  std::int64_t num_spans = 0;
  auto plan = sized<sampler_session_plan_args>();
  plan.out_spans = spans;
  plan.out_num_spans = &num_spans;
  const Logits logits(3 * std::size_t(kVocabulary));
  Tokens token_ids(3);
  std::int64_t count = 0;
  AdvanceArgs advance;
  advance.spans = spans;
  advance.num_spans = 1;
  advance.logits = logits.data();
  advance.out_token_ids = token_ids.data();
  advance.out_counts = &count;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(sampler_session_plan(session, &plan), SAMPLER_OK);
    EXPECT_EQ(sampler_session_advance(session, &advance), SAMPLER_OK);
  }
  EXPECT_EQ(counting.num_blocks, taken);
  sampler_session_destroy(session);
  EXPECT_EQ(counting.num_blocks, num_blocks);
  sampler_destroy(sampler);
}

}  // namespace
}  // namespace session_test::arguments_test
