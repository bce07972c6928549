#include "driver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "../sized.h"
#include "memory.h"

namespace session_test {

namespace {

std::size_t index(std::int64_t i) {
  return std::size_t(i);
}

// The text and the drafts that a draft, the cache's last token, follows.
Tokens path_to(const Tokens &cache, std::int64_t draft, const Tokens &parents) {
  const auto length = cache.end() - std::ptrdiff_t(draft) - 1;
  Tokens drafts;
  for (std::int64_t i = draft; i >= 0; i = parents[index(i)]) {
    drafts.push_back(length[std::ptrdiff_t(i)]);
  }
  Tokens path(cache.begin(), length);
  path.insert(path.end(), drafts.rbegin(), drafts.rend());
  return path;
}

// Rows where the handle reads them.
class LogitsMemory {
 public:
  explicit LogitsMemory(const std::vector<float> &rows)
      : memory_(decoding_test::make_logits(rows.data(), rows.size() * sizeof(float))) {}
  ~LogitsMemory() { decoding_test::release_logits(memory_); }
  LogitsMemory(const LogitsMemory &) = delete;
  LogitsMemory &operator=(const LogitsMemory &) = delete;

  const void *data() const { return memory_; }

 private:
  void *memory_;
};

}  // namespace

sampler_options handle_options(std::int32_t num_threads, std::int64_t fallback_token_id) {
  sampler_options options = sampler_options_default();
  options.num_threads = num_threads;
  options.use_fallback_token = fallback_token_id >= 0;
  options.fallback_token_id = std::max<std::int64_t>(fallback_token_id, 0);
  return options;
}

SessionOptions small_options(std::int64_t max_sequences, std::int64_t max_drafts) {
  auto options = sized<sampler_session_options>();
  options.max_sequences = max_sequences;
  options.max_context = kContext;
  options.vocabulary_size = kVocabulary;
  options.max_drafts = max_drafts;
  options.lookup_tokens = max_drafts > 0 ? kContext : 0;
  options.max_end_tokens = 3;
  options.max_stop_sequences = 3;
  options.max_stop_tokens = 12;
  return options;
}

Driver::Driver(const SessionOptions &options, NextLogits target, NextLogits drafter,
               const sampler_options &handle, Extras extras)
    : options_(options),
      target_(std::move(target)),
      drafter_(std::move(drafter)),
      extras_(std::move(extras)) {
  EXPECT_EQ(sampler_create(&handle, &sampler_), SAMPLER_OK) << sampler_last_error();
  EXPECT_EQ(sampler_session_create(sampler_, &options, &session_), SAMPLER_OK)
      << sampler_last_error();
}

Driver::~Driver() {
  sampler_session_destroy(session_);
  sampler_destroy(sampler_);
}

std::int32_t Driver::add(const Wish &wish, sampler_session_add_args args, const Tokens &text) {
  const Tokens &tokens = text.empty() ? wish.prompt : text;
  Tokens stop_tokens;
  std::vector<std::int64_t> stop_offsets = {0};
  for (const Tokens &stop : wish.stops) {
    stop_tokens.insert(stop_tokens.end(), stop.begin(), stop.end());
    stop_offsets.push_back(std::int64_t(stop_tokens.size()));
  }
  args.struct_size = sizeof args;
  args.token_ids = tokens.data();
  args.num_tokens = std::int64_t(tokens.size());
  args.prompt_length = std::int64_t(wish.prompt.size());
  args.params = &wish.draws.back().params;
  args.seed = wish.draws.back().seed;
  args.max_new_tokens = wish.max_new_tokens;
  args.end_token_ids = wish.ends.data();
  args.num_end_tokens = std::int64_t(wish.ends.size());
  if (!wish.stops.empty()) {
    args.stop_sequences = {stop_offsets.data(), stop_tokens.data(), std::int64_t(wish.stops.size()),
                           std::int64_t(stop_tokens.size())};
  }
  std::int32_t sequence = -1;
  sampler_status status = sampler_session_add(session_, &args, &sequence);
  while (may_fail(status)) {
    ++num_failed;
    EXPECT_EQ(sequence, -1);
    status = sampler_session_add(session_, &args, &sequence);
  }
  EXPECT_EQ(status, SAMPLER_OK) << sampler_last_error();
  caches_[sequence] = {Tokens(tokens.begin(), tokens.begin() + args.cache_length),
                       Tokens(tokens.begin(), tokens.begin() + args.drafter_cache_length)};
  logprobs[sequence].clear();
  top_token_ids[sequence].clear();
  top_logprobs[sequence].clear();
  return sequence;
}

std::int32_t Driver::fork(std::int32_t source, const std::uint64_t *seed,
                          const sampler_params *params) {
  auto args = sized<sampler_session_fork_args>();
  args.source = source;
  args.seed = seed;
  args.params = params;
  std::int32_t sequence = -1;
  EXPECT_EQ(sampler_session_fork(session_, &args, &sequence), SAMPLER_OK) << sampler_last_error();
  const sampler_session_sequence copy = get(sequence);
  Caches caches = caches_[source];
  caches.target.resize(index(copy.cache_length));
  caches.drafter.resize(index(copy.drafter_cache_length));
  caches_[sequence] = caches;
  logprobs[sequence] = std::vector<float>(logprobs[source]);
  top_token_ids[sequence] = Tokens(top_token_ids[source]);
  top_logprobs[sequence] = std::vector<float>(top_logprobs[source]);
  return sequence;
}

void Driver::remove(std::int32_t sequence) {
  EXPECT_EQ(sampler_session_remove(session_, sequence), SAMPLER_OK) << sampler_last_error();
  caches_.erase(sequence);
}

std::int32_t Driver::put_back(std::int32_t sequence, const Wish &wish,
                              sampler_session_add_args args) {
  const sampler_session_sequence before = get(sequence);
  const Tokens tokens = text(sequence);
  const std::vector<float> values = logprobs[sequence], top_values = top_logprobs[sequence];
  const Tokens tops = top_token_ids[sequence];
  remove(sequence);
  args.resumed = &before;
  args.ngram_has_text = before.is_drafting && args.draft_source == SAMPLER_DRAFTS_NGRAM;
  const std::int32_t now = add(wish, args, tokens);
  logprobs[now] = values;
  top_token_ids[now] = tops;
  top_logprobs[now] = top_values;
  EXPECT_EQ(get(now).num_steps, before.num_steps);
  EXPECT_EQ(get(now).num_drafted, before.num_drafted);
  EXPECT_EQ(get(now).num_accepted, before.num_accepted);
  return now;
}

sampler_session_sequence Driver::get(std::int32_t sequence) const {
  auto result = sized<sampler_session_sequence>();
  EXPECT_EQ(sampler_session_get(session_, sequence, &result), SAMPLER_OK) << sampler_last_error();
  return result;
}

Tokens Driver::text(std::int32_t sequence) const {
  const sampler_session_sequence own = get(sequence);
  return Tokens(own.token_ids, own.token_ids + own.num_tokens);
}

bool Driver::runs(std::int32_t sequence) const {
  return get(sequence).finish_reason == SAMPLER_FINISH_NONE;
}

Driver::Step Driver::plan(const Tokens &sequences, std::int64_t max_tokens) {
  Step step;
  step.spans.resize(index(options_.max_sequences));
  step.drafter_spans.resize(index(options_.max_sequences));
  std::int64_t num_spans = -1, num_drafter_spans = -1;
  auto args = sized<sampler_session_plan_args>();
  args.sequences = sequences.empty() ? nullptr : sequences.data();
  args.num_sequences = std::int64_t(sequences.size());
  args.max_tokens = max_tokens;
  args.out_spans = step.spans.data();
  args.out_num_spans = &num_spans;
  args.out_drafter_spans = step.drafter_spans.data();
  args.out_num_drafter_spans = &num_drafter_spans;
  Tokens parents(index(options_.max_sequences * options_.max_drafts), -7);
  args.out_parents = parents.data();
  EXPECT_EQ(sampler_session_plan(session_, &args), SAMPLER_OK) << sampler_last_error();
  step.spans.resize(index(num_spans));
  step.drafter_spans.resize(index(num_drafter_spans));
  std::int64_t num_tokens = 0;
  for (std::size_t i = 0; i < step.spans.size(); ++i) {
    const sampler_span &span = step.spans[i];
    num_tokens += span.num_tokens;
    const auto first = parents.begin() + std::ptrdiff_t(i) * std::ptrdiff_t(options_.max_drafts);
    const std::ptrdiff_t num_drafts = std::max<std::ptrdiff_t>(span.num_logits - 1, 0);
    parents_[span.sequence] = Tokens(first, first + num_drafts);
    for (std::ptrdiff_t j = 0; j < std::ptrdiff_t(options_.max_drafts); ++j) {
      EXPECT_GE(first[j], -1);
      EXPECT_LT(first[j], j < num_drafts ? j : 0);
    }
  }
  if (max_tokens > 0) {
    EXPECT_LE(num_tokens, max_tokens);
  }
  return step;
}

std::vector<float> Driver::forward(const std::vector<sampler_span> &spans, const NextLogits &model,
                                   Tokens Caches::*member, std::int64_t stride, Besides *besides) {
  std::vector<float> rows;
  for (const sampler_span &span : spans) {
    Tokens &cache = caches_.at(span.sequence).*member;
    EXPECT_LE(index(span.start), cache.size()) << "tokens that the cache lacks";
    cache.resize(index(span.start));
    EXPECT_GE(span.num_tokens, 1);
    EXPECT_LE(span.num_logits, span.num_tokens);
    for (std::int64_t i = 0; i < span.num_tokens; ++i) {
      cache.push_back(span.token_ids[i]);
      if (i < span.num_tokens - span.num_logits) continue;
      const std::int64_t draft = i - (span.num_tokens - span.num_logits) - 1;
      const bool is_after_draft = member == &Caches::target && draft >= 0;
      const Tokens text =
          is_after_draft ? path_to(cache, draft, parents_.at(span.sequence)) : cache;
      const Logits logits = model(text);
      if (extras_.mask_of) besides->masks.push_back(extras_.mask_of(text));
      if (extras_.forced_after) besides->forced.push_back(extras_.forced_after(text));
      if (extras_.guidance) {
        const Logits guidance = extras_.guidance(text);
        besides->guidance_rows.push_back(guidance.empty() ? -1
                                                          : std::int32_t(besides->guidance.size()));
        if (!guidance.empty()) besides->guidance.push_back(guidance);
      }
      rows.insert(rows.end(), logits.begin(), logits.end());
      rows.resize(rows.size() + index(stride - options_.vocabulary_size), NAN);
    }
    const bool is_drafter = member == &Caches::drafter && options_.drafter_context > 0;
    EXPECT_LE(std::int64_t(cache.size()), is_drafter ? options_.drafter_context : kContext);
  }
  return rows;
}

void Driver::run_part(const std::vector<sampler_span> &spans,
                      const std::vector<sampler_span> &drafter_spans) {
  const std::int64_t stride = options_.vocabulary_size + 3, num_positions = options_.max_drafts + 1;
  Besides besides, unused;
  const std::vector<float> rows = forward(spans, target_, &Caches::target, stride, &besides);
  std::vector<float> guidance_rows(index(stride), NAN);
  for (auto row = besides.guidance.rbegin(); row != besides.guidance.rend(); ++row) {
    guidance_rows.insert(guidance_rows.end(), row->begin(), row->end());
    guidance_rows.resize(guidance_rows.size() + index(stride - options_.vocabulary_size), NAN);
  }
  for (std::int32_t &row : besides.guidance_rows) {
    if (row >= 0) row = std::int32_t(besides.guidance.size()) - row;
  }
  const LogitsMemory guidance(guidance_rows);
  const LogitsMemory logits(rows);
  const LogitsMemory drafter_logits(
      forward(drafter_spans, drafter_, &Caches::drafter, stride, &unused));
  num_rows += std::int64_t(rows.size()) / stride;
  num_steps += !spans.empty();
  std::vector<Tokens> before;
  for (const sampler_span &span : spans) before.push_back(text(span.sequence));

  const std::size_t count = spans.size(), num_places = count * index(num_positions);
  Tokens token_ids(num_places, -7);
  std::vector<std::int64_t> counts(count), cache_lengths(count), drafter_cache_lengths(count),
      accepted(count);
  std::vector<sampler_finish_reason> reasons(count);
  std::vector<sampler_row_status> row_status(count);
  std::vector<float> values(num_places);
  const std::size_t num_top = index(extras_.num_top);
  Tokens tops(num_places * num_top, -7);  // NULL where there is no span
  std::vector<float> top_values(tops.size());
  AdvanceArgs args;
  args.spans = spans.data();
  args.num_spans = std::int64_t(count);
  args.logits = logits.data();
  args.logits_row_stride = stride;
  args.drafter_spans = drafter_spans.data();
  args.num_drafter_spans = std::int64_t(drafter_spans.size());
  args.drafter_logits = drafter_logits.data();
  args.drafter_row_stride = stride;
  args.out_token_ids = token_ids.data();
  args.out_counts = counts.data();
  args.out_finish_reasons = reasons.data();
  args.out_cache_lengths = cache_lengths.data();
  args.out_drafter_cache_lengths = drafter_cache_lengths.data();
  args.out_accepted_counts = accepted.data();
  args.out_row_status = row_status.data();
  if (extras_.has_logprobs) args.report_args.out_logprobs = values.data();
  args.report_args.logprob_kind = extras_.logprob_kind;
  args.report_args.num_top_logprobs = extras_.num_top;
  if (num_top > 0) {
    args.report_args.out_top_token_ids = tops.data();
    args.report_args.out_top_logprobs = top_values.data();
  }
  if (extras_.mask_of) args.token_bitmask_indices = besides.masks.data();
  if (extras_.forced_after) args.forced_token_ids = besides.forced.data();
  if (extras_.guidance) {
    args.guidance_logits = guidance.data();
    args.num_guidance_rows = std::int64_t(guidance_rows.size()) / stride;
    args.guidance_row_indices = besides.guidance_rows.data();
  }
  const sampler_status status = sampler_session_advance(session_, &args);
  if (may_fail(status)) {
    ++num_failed;
    failure = sampler_last_error();
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(text(spans[i].sequence), before[i]);
    return;
  }
  ASSERT_EQ(status, SAMPLER_OK) << sampler_last_error();

  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t sequence = spans[i].sequence;
    const sampler_session_sequence own = get(sequence);
    ASSERT_GE(counts[i], 0);
    ASSERT_LE(counts[i], spans[i].num_logits);
    if (spans[i].num_logits > 0 && reasons[i] == SAMPLER_FINISH_NONE) {
      EXPECT_GE(counts[i], 1);
    }
    EXPECT_GE(accepted[i], std::max<std::int64_t>(counts[i] - 1, 0));
    EXPECT_LE(accepted[i], counts[i]);
    EXPECT_EQ(reasons[i], own.finish_reason);
    EXPECT_EQ(row_status[i] != 0, reasons[i] == SAMPLER_FINISH_BAD_ROW);
    EXPECT_EQ(cache_lengths[i], own.cache_length);
    Tokens now = before[i];
    for (std::int64_t j = 0; j < num_positions; ++j) {
      const std::size_t place = i * index(num_positions) + index(j);
      if (j < counts[i]) {
        now.push_back(token_ids[place]);
        logprobs[sequence].push_back(values[place]);
        for (std::size_t k = place * num_top; k < (place + 1) * num_top; ++k) {
          top_token_ids[sequence].push_back(tops[k]);
          top_logprobs[sequence].push_back(top_values[k]);
        }
      } else {
        for (std::size_t k = place * num_top; k < (place + 1) * num_top; ++k) {
          EXPECT_EQ(tops[k], -1);
          EXPECT_TRUE(std::isnan(top_values[k]));
        }
        EXPECT_EQ(token_ids[place], -1);
        EXPECT_EQ(std::isnan(values[place]), extras_.has_logprobs);
      }
    }
    EXPECT_EQ(text(sequence), now);
    // Caches are cut, and hold the text.
    Caches &caches = caches_.at(sequence);
    ASSERT_LE(index(cache_lengths[i]), caches.target.size());
    ASSERT_LE(cache_lengths[i], std::int64_t(now.size()));
    caches.target.resize(index(cache_lengths[i]));
    EXPECT_TRUE(std::equal(caches.target.begin(), caches.target.end(), now.begin()));
    caches.drafter.resize(std::min(caches.drafter.size(), index(drafter_cache_lengths[i])));
    // Drafts that are not verified yet may follow.
    const std::size_t num_fed = std::min(caches.drafter.size(), now.size());
    EXPECT_TRUE(
        std::equal(now.begin(), now.begin() + std::ptrdiff_t(num_fed), caches.drafter.begin()));
    if (spans[i].num_logits > 0) {
      EXPECT_EQ(num_fed, caches.drafter.size());
    }
  }
}

void Driver::run(Step step, Random *random) {
  if (!random) {
    if (!step.spans.empty() || !step.drafter_spans.empty()) {
      run_part(step.spans, step.drafter_spans);
    }
    return;
  }
  const auto shuffle = [&](std::vector<sampler_span> *spans) {
    for (std::size_t i = spans->size(); i > 1; --i) {
      std::swap((*spans)[i - 1], (*spans)[index(random->between(0, std::int64_t(i) - 1))]);
    }
  };
  shuffle(&step.spans);
  shuffle(&step.drafter_spans);
  while (!step.spans.empty() || !step.drafter_spans.empty()) {
    const auto take = [&](std::vector<sampler_span> *spans) {
      const auto end =
          spans->end() - std::ptrdiff_t(random->between(0, std::int64_t(spans->size())));
      const std::vector<sampler_span> part(end, spans->end());
      spans->erase(end, spans->end());
      return part;
    };
    const std::vector<sampler_span> part = take(&step.spans);
    run_part(part, take(&step.drafter_spans));
  }
}

void Driver::finish(const Tokens &sequences) {
  for (;;) {
    const Step step = plan(sequences);
    if (step.spans.empty() && step.drafter_spans.empty()) return;
    run(step);
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace session_test
