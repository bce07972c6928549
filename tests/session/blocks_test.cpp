// Texts that grow by blocks: their steps against sampler_sample and sampler_unmask alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "../sized.h"
#include "driver.h"
#include "memory.h"

namespace session_test::blocks_test {
namespace {

using Counts = std::vector<std::int64_t>;

constexpr std::int32_t kMask = 23;
constexpr std::int64_t kLength = 6;

std::size_t index(std::int64_t i) {
  return std::size_t(i);
}

// Logits of a position of a text with masks, which depend on all of its block.
Logits block_logits(const Tokens &text, std::int64_t position, std::uint64_t seed) {
  std::uint64_t state = seed + std::uint64_t(position) * 977;
  for (const std::int32_t token : text) state = state * 6364136223846793005u + std::uint64_t(token);
  Random random(state);
  Logits logits(index(kVocabulary));
  for (float &logit : logits) logit = float(random.between(-400, 400)) * 0.01f;
  logits[index(kMask)] = -INFINITY;
  return logits;
}

// A text, its parameters and the rules of its blocks.
struct Text {
  Tokens prompt;
  sampler_params params = sampler_params_default();
  sampler_unmask_params rules = sized<sampler_unmask_params>();
  std::uint64_t seed = 0;
  std::int64_t max_new_tokens = 0;
  Tokens ends;
  sampler_logprob_kind kind = SAMPLER_LOGPROB_RAW;
  std::uint32_t mask_word = ~0u;  // tokens that are allowed
  float guidance_scale = 0;
  std::uint64_t model = 0;

  std::int64_t origin() const {
    return rules.blocks_after_prompt ? std::int64_t(prompt.size()) : 0;
  }
};

Text make_text(Random *random, std::uint64_t seed) {
  Text text;
  text.seed = seed;
  for (std::int64_t i = random->between(1, 15); i > 0; --i) {
    text.prompt.push_back(std::int32_t(random->between(0, kVocabulary - 2)));
  }
  text.params.temperature = float(random->between(0, 3)) * 0.4f;
  text.params.top_p = random->between(0, 1) ? 0.9f : 1.0f;
  text.params.repetition_penalty = random->between(0, 1) ? 1.3f : 1.0f;
  text.rules.block_length = random->one_in(4) ? 0 : random->between(1, kLength);  // 0: by tokens
  text.rules.mask_token_id = kMask;
  text.rules.blocks_after_prompt = std::int32_t(random->between(0, 1));
  text.max_new_tokens = random->between(0, 2) ? random->between(1, 20) : 0;
  if (random->between(0, 1)) text.ends = {std::int32_t(random->between(0, 9)), 20};
  text.model = std::uint64_t(random->between(0, 1000));
  constexpr sampler_confidence kConfidences[] = {
      SAMPLER_CONFIDENCE_PROBABILITY, SAMPLER_CONFIDENCE_MARGIN, SAMPLER_CONFIDENCE_ENTROPY,
      SAMPLER_CONFIDENCE_RANDOM, SAMPLER_CONFIDENCE_POSITION};
  sampler_unmask_params &rules = text.rules;
  rules.confidence = kConfidences[random->between(0, 4)];
  const bool is_of_scores = rules.confidence <= SAMPLER_CONFIDENCE_ENTROPY;
  if (random->between(0, 2) == 0) rules.num_committed = std::int32_t(random->between(1, 3));
  if (random->between(0, 2) == 0) rules.num_steps_left = std::int32_t(random->between(1, 4));
  if (rules.confidence != SAMPLER_CONFIDENCE_POSITION && random->between(0, 1)) {
    rules.threshold = 0.6f;
  }
  if (is_of_scores && random->between(0, 2) == 0) rules.order_temperature = 0.5f;
  if (is_of_scores && random->between(0, 2) == 0) rules.edit_threshold = 0.5f;
  if (rules.confidence == SAMPLER_CONFIDENCE_ENTROPY && random->between(0, 1)) {
    rules.entropy_bound = 1.5f;
  }
  return text;
}

// The text as it grows by calls of its own.
class Reference {
 public:
  Reference(sampler_t sampler, const Text &text) : sampler_(sampler), text_(text) {
    tokens = text.prompt;
  }

  Tokens tokens;
  std::int64_t num_steps = 0;
  bool is_finished = false;

  // Grows by a block, of at most max_context tokens in all.
  void grow(std::int64_t max_context) {
    if (text_.rules.block_length == 0) return grow_by_token(max_context);
    const std::int64_t length = std::int64_t(tokens.size()), whole = text_.rules.block_length;
    const std::int64_t begin = length - (length - text_.origin()) % whole;
    const std::int64_t end = std::min(begin + whole, max_context);
    Tokens places = tokens;
    places.resize(index(end), kMask);
    std::int64_t num_edit_steps = 0;
    for (std::int64_t step = 0;; ++step) {
      ++num_steps;
      const Counts counts = unmask(&places, length, step);
      ASSERT_TRUE(counts[0] > 0 || counts[2] == 0) << "a step without progress";
      const bool may_edit = text_.rules.edit_threshold > 0;
      if (counts[2] > 0) continue;
      if (!may_edit || counts[0] + counts[1] == 0 || num_edit_steps++ == 16) break;
    }
    for (std::int64_t i = length; i < end && !is_finished; ++i) {
      append(places[index(i)], max_context);
    }
  }

 private:
  // The token drawn from the row of a position of `places`, whose first `length` tokens are the
  // text.
  std::int32_t draw(const Tokens &places, std::int64_t length, std::int64_t position,
                    std::int64_t offset, std::int64_t step, const sampler_report_args &reports,
                    sampler_row_status *status) const {
    const Logits logits = block_logits(places, position, text_.model);
    const Logits other = block_logits(places, position, text_.model + 7);
    std::int32_t token = -1;
    auto args = sized<sampler_sample_args>();
    args.input.values = logits.data();
    args.input.num_rows = 1;
    args.input.num_cols = kVocabulary;
    sampler_params params = text_.params;
    params.guidance_scale = text_.guidance_scale;
    args.params = &params;
    args.random.seed = text_.seed;
    args.random.offset = std::uint64_t(offset);
    const auto stream = std::uint32_t(step);
    args.random.streams = &stream;
    args.out_token_ids = &token;
    args.out_row_status = status;
    auto pipeline = sized<sampler_pipeline>();
    const std::int64_t offsets[] = {0, length};
    pipeline.history = {offsets, places.data(), 1, length};
    const auto num_prompt = std::int32_t(text_.prompt.size());
    pipeline.prompt_lengths = &num_prompt;
    pipeline.token_bitmasks = &text_.mask_word;
    pipeline.num_token_bitmasks = 1;
    if (text_.guidance_scale != 0) {
      pipeline.guidance_logits = other.data();
      pipeline.num_guidance_rows = 1;
    }
    args.pipeline = &pipeline;
    args.reports = &reports;
    std::size_t bytes = 0;
    EXPECT_EQ(sampler_sample_workspace_size(sampler_, &args, &bytes), SAMPLER_OK)
        << sampler_last_error();
    std::vector<char> workspace(bytes);
    args.exec.workspace = workspace.data();
    args.exec.workspace_bytes = bytes;
    EXPECT_EQ(sampler_sample(sampler_, &args), SAMPLER_OK) << sampler_last_error();
    return token;
  }

  void append(std::int32_t token, std::int64_t max_context) {
    tokens.push_back(token);
    const std::int64_t num_new = std::int64_t(tokens.size() - text_.prompt.size());
    is_finished = std::count(text_.ends.begin(), text_.ends.end(), token) > 0 ||
                  num_new == text_.max_new_tokens || std::int64_t(tokens.size()) == max_context;
  }

  void grow_by_token(std::int64_t max_context) {
    const std::int64_t length = std::int64_t(tokens.size());
    sampler_row_status status = 0;
    ++num_steps;
    append(draw(tokens, length, length - 1, length - std::int64_t(text_.prompt.size()), 0,
                sized<sampler_report_args>(), &status),
           max_context);
  }

  // One step: committed, edited and masked positions.
  Counts unmask(Tokens *places, std::int64_t length, std::int64_t step) {
    const std::int64_t count = std::int64_t(places->size()) - length;
    const std::int64_t num_before = std::int64_t(text_.prompt.size());
    Tokens candidates(index(count));
    std::vector<sampler_row_status> status(index(count));
    std::vector<float> scores(index(count) * 2);
    const bool has_top = text_.rules.confidence == SAMPLER_CONFIDENCE_MARGIN;
    for (std::int64_t i = 0; i < count; ++i) {
      auto reports = sized<sampler_report_args>();
      reports.logprob_kind = text_.kind;
      switch (text_.rules.confidence) {
        case SAMPLER_CONFIDENCE_PROBABILITY:
          reports.out_logprobs = &scores[index(i)];
          break;
        case SAMPLER_CONFIDENCE_ENTROPY:
          reports.out_entropies = &scores[index(i)];
          break;
        case SAMPLER_CONFIDENCE_MARGIN:
          reports.num_top_logprobs = 2;
          reports.out_top_logprobs = &scores[index(2 * i)];
          break;
        default:
          break;
      }
      candidates[index(i)] = draw(*places, length, length + i, length - num_before + i, step,
                                  reports, &status[index(i)]);
    }
    sampler_unmask_params params = text_.rules;
    params.block_length = params.blocks_after_prompt = 0;
    if (params.num_steps_left > 0) {
      params.num_steps_left = std::int32_t(std::max<std::int64_t>(params.num_steps_left - step, 1));
    } else if (params.num_committed == 0 && params.entropy_bound == 0) {
      params.num_committed = 1;
    }
    auto args = sized<sampler_unmask_args>();
    args.params = &params;
    args.num_rows = count;
    args.num_blocks = 1;
    args.candidate_token_ids = candidates.data();
    args.candidate_status = status.data();
    const bool has_scores = text_.rules.confidence <= SAMPLER_CONFIDENCE_ENTROPY;
    args.scores = has_scores ? scores.data() : nullptr;
    args.score_stride = has_top ? 2 : 0;
    args.token_ids = places->data() + length;
    const std::vector<std::int32_t> slots(index(count), 0);
    args.slots = slots.data();
    args.num_slots = 1;
    args.random.seed = text_.seed;
    args.random.offset = std::uint64_t(length - num_before);
    const auto stream = std::uint32_t(step);
    args.random.streams = &stream;
    std::int32_t counts[3];
    args.out_committed_counts = &counts[0];
    args.out_edited_counts = &counts[1];
    args.out_masked_counts = &counts[2];
    EXPECT_EQ(sampler_unmask(sampler_, &args), SAMPLER_OK) << sampler_last_error();
    return {counts[0], counts[1], counts[2]};
  }

  sampler_t sampler_;
  const Text &text_;
};

// A session whose models see blocks.
class Blocks {
 public:
  explicit Blocks(const SessionOptions &options, std::vector<std::uint32_t> masks = {~0u})
      : options_(options), masks_(std::move(masks)) {
    sampler_options handle = handle_options(1);
    handle.max_rows = 1;
    handle.max_cols = kVocabulary;
    EXPECT_EQ(sampler_create(&handle, &sampler_), SAMPLER_OK) << sampler_last_error();
    pipeline_ = sized<sampler_pipeline>();
    pipeline_.token_bitmasks = masks_.data();
    pipeline_.num_token_bitmasks = std::int64_t(masks_.size());
    options_.pipeline = &pipeline_;
    EXPECT_EQ(sampler_session_create(sampler_, &options_, &session_), SAMPLER_OK)
        << sampler_last_error();
  }
  ~Blocks() {
    sampler_session_destroy(session_);
    sampler_destroy(sampler_);
  }
  Blocks(const Blocks &) = delete;
  Blocks &operator=(const Blocks &) = delete;

  sampler_t sampler() const { return sampler_; }
  sampler_session_t session() const { return session_; }

  static sampler_session_add_args add_args(const Text &text, sampler_params *params) {
    auto args = sized<sampler_session_add_args>();
    *params = text.params;
    params->guidance_scale = text.guidance_scale;
    args.params = params;
    args.token_ids = text.prompt.data();
    args.num_tokens = std::int64_t(text.prompt.size());
    args.seed = text.seed;
    args.max_new_tokens = text.max_new_tokens;
    args.end_token_ids = text.ends.data();
    args.num_end_tokens = std::int64_t(text.ends.size());
    if (text.rules.block_length > 0) args.unmask = &text.rules;
    return args;
  }

  std::int32_t add(const Text &text, const Tokens &so_far = {}) {
    sampler_params params;
    sampler_session_add_args args = add_args(text, &params);
    if (!so_far.empty()) {
      args.prompt_length = args.num_tokens;
      args.token_ids = so_far.data();
      args.num_tokens = std::int64_t(so_far.size());
    }
    std::int32_t sequence = -1;
    EXPECT_EQ(sampler_session_add(session_, &args, &sequence), SAMPLER_OK) << sampler_last_error();
    set(sequence, text);
    return sequence;
  }
  void set(std::int32_t sequence, const Text &text) {
    texts_.resize(std::max(texts_.size(), index(sequence) + 1));
    caches_.resize(texts_.size());
    texts_[index(sequence)] = &text;
    caches_[index(sequence)].clear();
  }

  std::int32_t fork(std::int32_t source) {
    auto args = sized<sampler_session_fork_args>();
    args.source = source;
    std::int32_t sequence = -1;
    EXPECT_EQ(sampler_session_fork(session_, &args, &sequence), SAMPLER_OK) << sampler_last_error();
    set(sequence, text_of(source));
    caches_[index(sequence)] = Tokens(caches_[index(source)]);
    return sequence;
  }

  sampler_session_sequence get(std::int32_t sequence) const {
    auto result = sized<sampler_session_sequence>();
    EXPECT_EQ(sampler_session_get(session_, sequence, &result), SAMPLER_OK) << sampler_last_error();
    return result;
  }
  Tokens tokens(std::int32_t sequence) const {
    const sampler_session_sequence own = get(sequence);
    return {own.token_ids, own.token_ids + own.num_tokens};
  }

  std::vector<sampler_span> plan(std::int64_t max_tokens = 0) {
    std::vector<sampler_span> spans(index(options_.max_sequences));
    std::int64_t num_spans = 0;
    auto args = sized<sampler_session_plan_args>();
    args.max_tokens = max_tokens;
    args.out_spans = spans.data();
    args.out_num_spans = &num_spans;
    EXPECT_EQ(sampler_session_plan(session_, &args), SAMPLER_OK) << sampler_last_error();
    spans.resize(index(num_spans));
    return spans;
  }

  // Runs these spans; `nan_rows`: the model fails.
  void advance(const std::vector<sampler_span> &spans, bool nan_rows = false) {
    const std::int64_t stride = kVocabulary + 5;
    std::vector<float> rows, others;
    Tokens masks;
    bool has_guidance = false;
    for (const sampler_span &span : spans) {
      const Text &text = text_of(span.sequence);
      Tokens &cache = caches_[index(span.sequence)];
      ASSERT_GE(cache.size(), index(span.start)) << "tokens that the cache lacks";
      cache.resize(index(span.start));
      cache.insert(cache.end(), span.token_ids, span.token_ids + span.num_tokens);
      const std::int64_t end = std::int64_t(cache.size());
      // Blocks are whole, and what is before them has no masks.
      const std::int64_t begin = end - span.num_logits;
      EXPECT_EQ(std::count(cache.begin(), cache.begin() + begin, kMask), 0);
      if (span.num_logits == 0 && text.rules.block_length > 0) {
        EXPECT_EQ((end - text.origin()) % text.rules.block_length, 0);
      }
      for (std::int64_t i = begin; i < end; ++i) {
        const auto add_row = [&](std::vector<float> *to, std::uint64_t model) {
          Logits logits = block_logits(cache, i, model);
          if (nan_rows) logits[0] = NAN;
          to->insert(to->end(), logits.begin(), logits.end());
          to->resize(to->size() + index(stride - kVocabulary), NAN);
        };
        add_row(&rows, text.model);
        add_row(&others, text.model + 7);
        has_guidance = has_guidance || text.guidance_scale != 0;
        const auto own = std::find(masks_.begin(), masks_.end(), text.mask_word);
        masks.push_back(std::int32_t(own - masks_.begin()));
      }
    }
    void *const logits = decoding_test::make_logits(rows.data(), rows.size() * sizeof(float));
    void *const other = decoding_test::make_logits(others.data(), others.size() * sizeof(float));
    const std::size_t count = spans.size(), num_places = index(options_.max_drafts + 1);
    Tokens out(count * num_places, -7);
    std::vector<float> logprobs(out.size());
    Counts counts(count), cache_lengths(count);
    std::vector<sampler_finish_reason> reasons(count);
    std::vector<sampler_row_status> status(count);
    auto reports = sized<sampler_report_args>();
    reports.out_logprobs = logprobs.data();
    auto args = sized<sampler_session_advance_args>();
    args.spans = spans.data();
    args.num_spans = std::int64_t(count);
    args.logits = logits;
    args.logits_row_stride = stride;
    args.token_bitmask_indices = masks.data();
    args.out_token_ids = out.data();
    args.out_counts = counts.data();
    args.out_cache_lengths = cache_lengths.data();
    args.out_finish_reasons = reasons.data();
    args.out_row_status = status.data();
    args.reports = &reports;
    if (has_guidance) {
      args.guidance_logits = other;
      args.num_guidance_rows = std::int64_t(others.size()) / stride;
    }
    std::vector<Tokens> before;
    for (const sampler_span &span : spans) before.push_back(tokens(span.sequence));
    ASSERT_EQ(sampler_session_advance(session_, &args), SAMPLER_OK) << sampler_last_error();
    decoding_test::release_logits(logits);
    decoding_test::release_logits(other);
    for (std::size_t i = 0; i < count; ++i) {
      const std::int32_t sequence = spans[i].sequence;
      for (std::size_t j = 0; j < num_places; ++j) {
        const std::int32_t token = out[i * num_places + j];
        const bool has_logprob =
            text_of(sequence).rules.block_length == 0 && std::int64_t(j) < counts[i];
        EXPECT_EQ(std::isnan(logprobs[i * num_places + j]), !has_logprob);
        if (std::int64_t(j) < counts[i]) {
          before[i].push_back(token);
        } else {
          EXPECT_EQ(token, -1);
        }
      }
      EXPECT_EQ(tokens(sequence), before[i]);
      EXPECT_EQ(get(sequence).finish_reason, reasons[i]);
      EXPECT_EQ(status[i] != 0, reasons[i] == SAMPLER_FINISH_BAD_ROW);
      EXPECT_EQ(get(sequence).cache_length, cache_lengths[i]);
      ASSERT_LE(index(cache_lengths[i]), caches_[index(sequence)].size());
      caches_[index(sequence)].resize(index(cache_lengths[i]));
      if (spans[i].num_logits > 0) ++num_steps;
    }
  }

  void finish(std::int64_t max_tokens = 0) {
    for (;;) {
      const std::vector<sampler_span> spans = plan(max_tokens);
      if (spans.empty()) return;
      advance(spans);
      if (testing::Test::HasFatalFailure()) return;
    }
  }

  std::int64_t num_steps = 0;

 private:
  const Text &text_of(std::int32_t sequence) const { return *texts_[index(sequence)]; }

  SessionOptions options_;
  std::vector<std::uint32_t> masks_;
  sampler_pipeline pipeline_;
  sampler_t sampler_ = nullptr;
  sampler_session_t session_ = nullptr;
  std::vector<const Text *> texts_;
  std::vector<Tokens> caches_;
};

SessionOptions block_options(std::int64_t max_sequences) {
  SessionOptions options = small_options(max_sequences, kLength - 1);
  options.has_blocks = 1;
  return options;
}

Tokens alone(sampler_t sampler, const Text &text, std::int64_t *num_steps = nullptr) {
  Reference reference(sampler, text);
  while (!reference.is_finished && !testing::Test::HasFatalFailure()) reference.grow(kContext);
  if (num_steps) *num_steps += reference.num_steps;
  return reference.tokens;
}

TEST(SessionBlocks, TextsAreThoseOfSingleCalls) {
  for (const sampler_logprob_kind kind :
       {SAMPLER_LOGPROB_RAW, SAMPLER_LOGPROB_PROCESSED, SAMPLER_LOGPROB_EDITED}) {
    Random random(30 + std::uint64_t(kind));
    constexpr std::int64_t kCount = 40;
    SessionOptions options = block_options(kCount);
    options.confidence_kind = kind;
    const std::vector<std::uint32_t> masks = {~0u, 0x7ffu};
    Blocks blocks(options, masks);
    std::vector<Text> texts;
    for (std::int64_t i = 0; i < kCount; ++i) {
      texts.push_back(make_text(&random, std::uint64_t(i)));
      texts.back().kind = kind;
      texts.back().mask_word = masks[index(random.between(0, 1))];
      if (random.between(0, 2) == 0) texts.back().guidance_scale = 1.5f;
    }
    for (const Text &text : texts) blocks.add(text);
    blocks.finish(random.between(0, 1) ? 0 : 100);
    std::int64_t num_steps = 0;
    for (std::int64_t i = 0; i < kCount; ++i) {
      EXPECT_EQ(blocks.tokens(std::int32_t(i)),
                alone(blocks.sampler(), texts[index(i)], &num_steps))
          << "text " << i;
    }
    EXPECT_EQ(blocks.num_steps, num_steps);
  }
}

// Prompts in parts end where a block does, whatever room there is.
TEST(SessionBlocks, RoomDoesNotMatter) {
  Random random(5);
  Blocks blocks(block_options(8));
  std::vector<Text> texts;
  for (std::uint64_t i = 0; i < 8; ++i) texts.push_back(make_text(&random, i));
  for (const Text &text : texts) blocks.add(text);
  blocks.finish(kLength);
  for (std::int32_t i = 0; i < 8; ++i) {
    EXPECT_EQ(blocks.tokens(i), alone(blocks.sampler(), texts[index(i)]));
  }
}

TEST(SessionBlocks, ForksAndResumedTextsGoOnAlike) {
  Random random(6);
  Blocks blocks(block_options(3));
  for (std::uint64_t i = 0; i < 30; ++i) {
    const Text text = make_text(&random, i);
    const std::int32_t first = blocks.add(text);
    const std::int64_t num_first = blocks.num_steps;
    for (std::int64_t steps = random.between(0, 9); steps > 0; --steps) {
      const std::vector<sampler_span> spans = blocks.plan();
      if (!spans.empty()) blocks.advance(spans);
    }
    // The block of a fork goes on, that of a text that is added again begins anew.
    const std::int64_t num_steps = blocks.num_steps, num_before = num_steps - num_first;
    const std::int32_t fork = blocks.fork(first);
    const Tokens so_far = blocks.tokens(first);
    ASSERT_EQ(sampler_session_remove(blocks.session(), first), SAMPLER_OK);
    blocks.finish();
    std::int64_t num_alone = 0;
    const Tokens expected = alone(blocks.sampler(), text, &num_alone);
    EXPECT_EQ(blocks.num_steps - num_steps + num_before, num_alone);
    const std::int32_t again = blocks.add(text, so_far);
    blocks.finish();
    EXPECT_EQ(blocks.tokens(fork), expected);
    EXPECT_EQ(blocks.tokens(again), expected);
    ASSERT_EQ(sampler_session_remove(blocks.session(), fork), SAMPLER_OK);
    ASSERT_EQ(sampler_session_remove(blocks.session(), again), SAMPLER_OK);
  }
}

TEST(SessionBlocks, BadRowsFinishTheText) {
  Random random(7);
  Blocks blocks(block_options(2));
  Text text = make_text(&random, 1);
  text.rules = sized<sampler_unmask_params>();
  text.rules.block_length = 4;
  text.rules.mask_token_id = kMask;
  const std::int32_t sequence = blocks.add(text);
  blocks.advance(blocks.plan(), true);
  EXPECT_EQ(blocks.get(sequence).finish_reason, SAMPLER_FINISH_BAD_ROW);
  EXPECT_EQ(blocks.get(sequence).row_status, sampler_row_status(SAMPLER_ROW_INVALID_VALUE));
  EXPECT_TRUE(blocks.plan().empty());

  // Nothing but the mask token.
  const std::vector<std::uint32_t> masks = {1u << 22};
  Blocks others(block_options(1), masks);
  text.mask_word = masks[0];
  text.rules.mask_token_id = 22;
  others.add(text);
  others.advance(others.plan());
  EXPECT_EQ(others.get(0).finish_reason, SAMPLER_FINISH_BAD_ROW);
  EXPECT_EQ(others.get(0).row_status, sampler_row_status(SAMPLER_ROW_EMPTY));
}

// Two tokens that ever take each other's place.
// How a block ends whose first token ever takes another's place. `keeps_mask`: the second position
// stays masked.
std::int64_t num_steps_of_edits(bool keeps_mask, sampler_finish_reason *reason) {
  SessionOptions options = block_options(1);
  const sampler_options handle = handle_options(1);
  sampler_t sampler;
  EXPECT_EQ(sampler_create(&handle, &sampler), SAMPLER_OK);
  sampler_session_t session;
  EXPECT_EQ(sampler_session_create(sampler, &options, &session), SAMPLER_OK);
  Text text;
  text.prompt = {1};
  text.params.temperature = 0;
  text.rules.block_length = keeps_mask ? 2 : 1;
  text.rules.blocks_after_prompt = 1;
  text.rules.num_committed = 1;
  text.rules.mask_token_id = kMask;
  text.rules.edit_threshold = 0.5f;
  text.max_new_tokens = text.rules.block_length;
  sampler_params params;
  const sampler_session_add_args add = Blocks::add_args(text, &params);
  std::int32_t sequence;
  EXPECT_EQ(sampler_session_add(session, &add, &sequence), SAMPLER_OK) << sampler_last_error();
  std::int64_t num_steps = 0;
  for (*reason = SAMPLER_FINISH_NONE; *reason == SAMPLER_FINISH_NONE && num_steps < 100;
       ++num_steps) {
    sampler_span span;
    std::int64_t num_spans = 0;
    auto plan = sized<sampler_session_plan_args>();
    plan.out_spans = &span;
    plan.out_num_spans = &num_spans;
    EXPECT_EQ(sampler_session_plan(session, &plan), SAMPLER_OK);
    EXPECT_EQ(num_spans, 1);
    const std::int64_t length = text.rules.block_length;
    std::vector<float> rows(index(length * kVocabulary), 0.0f);
    rows[span.token_ids[span.num_tokens - length] == 4 ? 5 : 4] = 30;
    if (keeps_mask) rows[index(kVocabulary + kMask)] = 30;
    void *const logits = decoding_test::make_logits(rows.data(), rows.size() * sizeof(float));
    auto args = sized<sampler_session_advance_args>();
    args.spans = &span;
    args.num_spans = 1;
    args.logits = logits;
    Tokens out(index(kLength));
    std::int64_t count = 0;
    args.out_token_ids = out.data();
    args.out_counts = &count;
    args.out_finish_reasons = reason;
    EXPECT_EQ(sampler_session_advance(session, &args), SAMPLER_OK) << sampler_last_error();
    decoding_test::release_logits(logits);
  }
  sampler_session_destroy(session);
  sampler_destroy(sampler);
  return num_steps;
}

TEST(SessionBlocks, EditsEnd) {
  sampler_finish_reason reason;
  EXPECT_EQ(num_steps_of_edits(false, &reason), 17);  // the one that commits, and 16 that edit
  EXPECT_EQ(reason, SAMPLER_FINISH_LENGTH);
  EXPECT_EQ(num_steps_of_edits(true, &reason), 18);  // one more, since masks are left
  EXPECT_EQ(reason, SAMPLER_FINISH_BAD_ROW);
}

TEST(SessionBlocks, ArgumentsAreChecked) {
  Blocks blocks(block_options(4));
  const auto message = [&](const auto &change) {
    Text text;
    text.prompt = {1, 2};
    text.rules.block_length = 4;
    text.rules.mask_token_id = kMask;
    sampler_params params;
    sampler_session_add_args args = Blocks::add_args(text, &params);
    sampler_unmask_params rules = text.rules;
    args.unmask = &rules;
    change(&args, &rules, &params);
    std::int32_t sequence = -1;
    const sampler_status status = sampler_session_add(blocks.session(), &args, &sequence);
    if (status == SAMPLER_OK) return std::string();
    EXPECT_EQ(status, SAMPLER_ERROR_INVALID_ARGUMENT);
    return std::string(sampler_last_error());
  };
  using Add = sampler_session_add_args;
  using Rules = sampler_unmask_params;
  using Params = sampler_params;
  EXPECT_EQ(message([](Add *, Rules *rules, Params *) { rules->block_length = 7; }),
            "unmask->block_length is 7; it must be below 7");
  EXPECT_EQ(message([](Add *, Rules *rules, Params *) { rules->block_length = 0; }),
            "unmask->block_length is 0; it must be at least 1");
  EXPECT_EQ(message([](Add *, Rules *rules, Params *) { rules->mask_token_id = 24; }),
            "unmask->mask_token_id is 24; it must be below 24");
  EXPECT_EQ(message([](Add *, Rules *rules, Params *) { rules->confidence = 3; }),
            "unmask->confidence is SAMPLER_CONFIDENCE_GIVEN; a session computes confidences");
  EXPECT_EQ(message([](Add *, Rules *rules, Params *) { rules->threshold = NAN; }),
            "unmask->threshold is NaN; it must be a number");
  EXPECT_EQ(message([](Add *, Rules *rules, Params *) { rules->entropy_bound = 1; }),
            "unmask->entropy_bound is 1; it must be off with confidence 0");
  EXPECT_EQ(message([](Add *, Rules *rules, Params *) { rules->blocks_after_prompt = 2; }),
            "unmask->blocks_after_prompt is 2; it must be one of its constants, 0 to 1");
  EXPECT_EQ(message([](Add *args, Rules *, Params *) {
              args->draft_source = SAMPLER_DRAFTS_PROMPT_LOOKUP;
            }),
            "draft_source is 3; it must be SAMPLER_DRAFTS_NONE with unmask");
  EXPECT_EQ(message([](Add *, Rules *, Params *params) { params->dry_multiplier = 1; }),
            "params->dry_multiplier is 1; it must be off in a text that grows by blocks");
  EXPECT_EQ(message([](Add *, Rules *, Params *params) { params->no_repeat_ngram_size = 2; }),
            "params->no_repeat_ngram_size is 2; it must be off in a text that grows by blocks");
  EXPECT_EQ(message([](Add *, Rules *, Params *params) { params->min_new_tokens = 2; }),
            "params->min_new_tokens is 2; it must be off in a text that grows by blocks");
  EXPECT_EQ(message([](Add *, Rules *, Params *params) { params->exponential_decay_factor = 2; }),
            "params->exponential_decay_factor is 2; it must be off in a text that grows by blocks");
  EXPECT_EQ(message([](Add *, Rules *, Params *params) { params->top_p_decay = 0.5f; }),
            "params->top_p_decay is 0.5; it must be off in a text that grows by blocks");
  EXPECT_EQ(message([](Add *, Rules *, Params *params) {
              params->adaptive_kind = SAMPLER_ADAPTIVE_MIROSTAT_V2;
              params->adaptive_target = 5;
              params->adaptive_rate = 0.1f;
            }),
            "params->adaptive_kind is 2; it must be off in a text that grows by blocks");
  EXPECT_EQ(message([](Add *, Rules *, Params *) {}), "");

  // Forks have the same rules.
  Text source;
  source.prompt = {1};
  source.rules.block_length = 1;
  auto fork = sized<sampler_session_fork_args>();
  fork.source = blocks.add(source);
  sampler_params forked = sampler_params_default();
  forked.dry_multiplier = 1;
  fork.params = &forked;
  std::int32_t copy = -1;
  EXPECT_EQ(sampler_session_fork(blocks.session(), &fork, &copy), SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(sampler_last_error(),
               "params->dry_multiplier is 1; it must be off in a text that grows by blocks");

  SessionOptions options = small_options(1, 3);
  Blocks without(options);
  Text text;
  text.prompt = {1};
  text.rules.block_length = 1;
  sampler_params params;
  const sampler_session_add_args args = Blocks::add_args(text, &params);
  std::int32_t sequence = -1;
  EXPECT_EQ(sampler_session_add(without.session(), &args, &sequence),
            SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(sampler_last_error(), "unmask is set; the session must have has_blocks");
}

// What a step of a sequence needs.
TEST(SessionBlocks, StepsAreChecked) {
  Blocks blocks(block_options(2));
  Text text;
  text.prompt = {1, 2, 3};
  text.rules.block_length = 2;
  text.rules.mask_token_id = kMask;
  text.guidance_scale = 2;
  blocks.add(text);
  const std::vector<sampler_span> spans = blocks.plan();
  ASSERT_EQ(spans.size(), 1u);
  ASSERT_EQ(spans[0].num_logits, 1);
  const Logits logits(index(kVocabulary));
  Tokens out(index(kLength), -9);
  const std::int32_t mask = 0, forced = 0;
  std::int64_t count = -9;
  auto args = sized<sampler_session_advance_args>();
  args.spans = spans.data();
  args.num_spans = 1;
  args.logits = logits.data();
  args.token_bitmask_indices = &mask;
  args.out_token_ids = out.data();
  args.out_counts = &count;
  EXPECT_EQ(sampler_session_advance(blocks.session(), &args), SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(sampler_last_error(), "guidance_logits is NULL; sequence 0 has guidance_scale");
  args.guidance_logits = logits.data();
  args.num_guidance_rows = 1;
  args.forced_token_ids = &forced;
  EXPECT_EQ(sampler_session_advance(blocks.session(), &args), SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(sampler_last_error(),
               "forced_token_ids has 0 for row 0; rows of a block must have a negative one");
  EXPECT_EQ(out, Tokens(index(kLength), -9));
  EXPECT_EQ(count, -9);

  // A guidance row that does not exist makes the row bad.
  const std::int32_t far = 1;
  args.forced_token_ids = nullptr;
  args.guidance_row_indices = &far;
  ASSERT_EQ(sampler_session_advance(blocks.session(), &args), SAMPLER_OK) << sampler_last_error();
  EXPECT_EQ(blocks.get(0).row_status, sampler_row_status(SAMPLER_ROW_INVALID_INDEX));

  SessionOptions one = block_options(1);
  one.vocabulary_size = 1;
  sampler_session_t session = nullptr;
  EXPECT_EQ(sampler_session_create(blocks.sampler(), &one, &session),
            SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(sampler_last_error(), "has_blocks is 1 and vocabulary_size 1; it must be above 1");
}

}  // namespace
}  // namespace session_test::blocks_test
