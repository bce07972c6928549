#include "generation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <ostream>

#include "memory.h"

namespace decoding_test {
namespace {

constexpr std::int32_t kUntouched = -12345;

bool starts_with(const Tokens &text, const Tokens &start) {
  return start.size() <= text.size() && std::equal(start.begin(), start.end(), text.begin());
}

// What `process` makes of a row.
Logits processed(const Generation &generation, Logits row, std::int32_t sequence,
                 std::int64_t length) {
  if (!generation.process) return row;
  const auto num_cols = std::int64_t(row.size());
  EXPECT_EQ(generation.process({row.data(), 1, num_cols, num_cols, &sequence, &length}),
            SAMPLER_OK);
  return row;
}

// The n-th new token of a text that has this row, or -1.
std::int32_t draw(sampler_t sampler, const sampler_generation_args &args, const Logits &row,
                  std::uint64_t seed, std::uint64_t n) {
  sampler_params greedy = sampler_params_default();
  greedy.temperature = 0.0f;
  auto sample = sized<sampler_sample_args>();
  sample.input.values = row.data();
  sample.input.num_rows = 1;
  sample.input.num_cols = std::int64_t(row.size());
  sample.params = args.processor == SAMPLER_PROCESSOR_GREEDY ? &greedy : args.params;
  sample.random.seed = seed;
  sample.random.offset = n;
  std::int32_t token = -2;
  sample.out_token_ids = &token;
  std::size_t bytes = 0;
  EXPECT_EQ(sampler_sample_workspace_size(sampler, &sample, &bytes), SAMPLER_OK);
  std::vector<unsigned char> workspace(bytes);
  sample.exec.workspace = workspace.data();
  sample.exec.workspace_bytes = bytes;
  EXPECT_EQ(sampler_sample(sampler, &sample), SAMPLER_OK) << sampler_last_error();
  return token;
}

Sampler make_sampler(const sampler_options &options) {
  sampler_t sampler = nullptr;
  EXPECT_EQ(sampler_create(&options, &sampler), SAMPLER_OK) << sampler_last_error();
  return Sampler(sampler);
}

}  // namespace

Sampler make_sampler(std::int32_t num_threads) {
  sampler_options options = sampler_options_default();
  options.num_threads = num_threads;
  return make_sampler(options);
}

Sampler make_sampler_with_fallback(std::int64_t token_id) {
  sampler_options options = sampler_options_default();
  options.use_fallback_token = 1;
  options.fallback_token_id = token_id;
  return make_sampler(options);
}

std::ostream &operator<<(std::ostream &out, const Text &text) {
  out << "[";
  for (const std::int32_t token : text.tokens) out << " " << token;
  return out << " ] reason " << text.reason << ", " << text.num_accepted << " of "
             << text.num_drafted << " drafts";
}

// ---- Loops --------------------------------------------------------------------------------------

Loop autoregressive() {
  return [](sampler_t sampler, const sampler_generation_args *generation) {
    return sampler_autoregressive(sampler, generation);
  };
}

Loop speculative(Model *drafter, const SpeculativeArgs &args) {
  return [=](sampler_t sampler, const LoopArgs *generation) {
    drafter->reset();
    drafter->allow_sequences(generation->first_sequence, generation->num_sequences);
    drafter->expect_whole_texts(generation->use_cache == 0);
    const sampler_model model = drafter->interface();
    SpeculativeArgs with_models = args;
    with_models.generation = generation;
    with_models.drafter = &model;
    with_models.out_drafted_counts = generation->out_drafted_counts;
    with_models.out_accepted_counts = generation->out_accepted_counts;
    return sampler_speculative(sampler, &with_models);
  };
}

Loop speculative(const sampler_ngram &ngram, const SpeculativeArgs &args) {
  return [=](sampler_t sampler, const LoopArgs *generation) {
    SpeculativeArgs with_storage = args;
    with_storage.generation = generation;
    with_storage.ngram = &ngram;
    with_storage.out_drafted_counts = generation->out_drafted_counts;
    with_storage.out_accepted_counts = generation->out_accepted_counts;
    return sampler_speculative(sampler, &with_storage);
  };
}

// ---- Generation ---------------------------------------------------------------------------------

Generation::Generation(Model *target, std::vector<Tokens> prompts)
    : target_(target), model_(target->interface()), prompts_(std::move(prompts)) {
  prompt_offsets_.push_back(0);
  for (const Tokens &prompt : prompts_) {
    prompt_ids_.insert(prompt_ids_.end(), prompt.begin(), prompt.end());
    prompt_offsets_.push_back(std::int64_t(prompt_ids_.size()));
  }
  args.target = &model_;
  args.num_sequences = std::int64_t(prompts_.size());
  args.prompt_offsets = prompt_offsets_.data();
  args.prompt_token_ids = prompt_ids_.data();
  args.params = &params;
}

void Generation::reset() {
  const std::size_t n = prompts_.size();
  model_ = target_->interface();
  target_->reset();
  target_->allow_sequences(args.first_sequence, args.num_sequences);
  target_->expect_whole_texts(args.use_cache == 0);
  token_ids_.assign(n * std::size_t(args.max_new_tokens), kUntouched);
  for (auto *counts : {&lengths_, &drafted_, &accepted_, &cache_lengths_}) {
    counts->assign(n, kUntouched);
  }
  reasons_.assign(n, kUntouched);
  stats_ = sized<sampler_generation_stats>();
  stats_.num_rounds = kUntouched;
  texts_.assign(n, Text());
  streamed_.assign(n, Tokens());
  streamed_reasons_.assign(n, SAMPLER_FINISH_NONE);
  rounds_.clear();

  args.seeds = seeds.empty() ? nullptr : seeds.data();
  static const std::int32_t kNone = 0;
  args.end_token_ids = default_ends ? nullptr : ends.empty() ? &kNone : ends.data();
  args.num_end_tokens = default_ends ? 0 : std::int64_t(ends.size());
  args.on_tokens = on_tokens;
  args.trace = on_round;
  args.process = process ? on_process : nullptr;
  args.user = this;
  args.out_token_ids = token_ids_.data();
  args.out_lengths = lengths_.data();
  args.out_finish_reasons = reasons_.data();
  args.out_drafted_counts = drafted_.data();
  args.out_accepted_counts = accepted_.data();
  args.out_cache_lengths = cache_lengths_.data();
  args.out_stats = &stats_;
}

bool Generation::outputs_are_untouched() const {
  const auto is_untouched = [](const auto &values) {
    return std::all_of(values.begin(), values.end(), [](auto x) { return x == kUntouched; });
  };
  return is_untouched(token_ids_) && is_untouched(lengths_) && is_untouched(drafted_) &&
         is_untouched(accepted_) && is_untouched(cache_lengths_) && is_untouched(reasons_) &&
         stats_.num_rounds == kUntouched && stats_.num_new_tokens == 0;
}

Tokens Generation::whole_text(std::size_t i) const {
  Tokens text = prompts_[i];
  text.insert(text.end(), texts_[i].tokens.begin(), texts_[i].tokens.end());
  return text;
}

bool Generation::is_end(std::int32_t token) const {
  if (default_ends) return token == 1;
  return std::find(ends.begin(), ends.end(), token) != ends.end();
}

sampler_status Generation::on_process(void *user, sampler_stream, void *logits,
                                      std::int64_t num_rows, std::int64_t num_cols,
                                      std::int64_t row_stride, const std::int32_t *sequences,
                                      const std::int64_t *lengths) {
  return static_cast<Generation *>(user)->process(
      {logits, num_rows, num_cols, row_stride, sequences, lengths});
}

std::int32_t Generation::on_tokens(void *user, std::int64_t text, const std::int32_t *token_ids,
                                   std::int64_t num_tokens, sampler_finish_reason reason) {
  Generation &self = *static_cast<Generation *>(user);
  const auto i = std::size_t(text);
  if (text < 0 || i >= self.streamed_.size()) {
    ADD_FAILURE() << "text " << text;
    return 1;
  }
  EXPECT_EQ(self.streamed_reasons_[i], SAMPLER_FINISH_NONE) << "text " << i << " has ended";
  EXPECT_GE(num_tokens, reason == SAMPLER_FINISH_NONE ? 1 : 0);
  self.streamed_[i].insert(self.streamed_[i].end(), token_ids, token_ids + num_tokens);
  self.streamed_reasons_[i] = reason;
  const auto enough = self.cancel_at.find(text);
  const bool is_cancelled =
      enough != self.cancel_at.end() && std::int64_t(self.streamed_[i].size()) >= enough->second;
  // A text that has ended by itself has that reason.
  if (is_cancelled && reason == SAMPLER_FINISH_NONE) {
    self.streamed_reasons_[i] = SAMPLER_FINISH_CANCELLED;
  }
  return is_cancelled;
}

void Generation::on_round(void *user, const sampler_trace_round *round) {
  EXPECT_EQ(round->struct_size, sizeof *round);
  static_cast<Generation *>(user)->rounds_.push_back(
      {round->text, round->round,
       Tokens(round->draft_token_ids, round->draft_token_ids + round->num_drafted),
       round->num_accepted, round->next_token_id, round->entropy, round->line ? round->line : ""});
}

sampler_status Generation::run(sampler_t sampler, const Loop &loop) {
  reset();
  const sampler_status status = loop(sampler, &args);
  if (outputs_are_untouched()) return status;
  read_outputs();
  if (status != SAMPLER_OK) return status;
  std::vector<std::vector<const Round *>> rounds(texts_.size());
  for (const Round &round : rounds_) rounds.at(std::size_t(round.text)).push_back(&round);
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    SCOPED_TRACE(testing::Message() << "text " << i << ": " << texts_[i]);
    check_text(i);
    check_rounds(i, rounds[i]);
    if (testing::Test::HasFailure()) return status;  // rather than tell of each text
  }
  check_stats();
  return status;
}

const std::vector<Text> &Generation::texts_of(sampler_t sampler, const Loop &loop) {
  EXPECT_EQ(run(sampler, loop), SAMPLER_OK) << sampler_last_error();
  return texts_;
}

void Generation::read_outputs() {
  const auto width = std::size_t(args.max_new_tokens);
  // A loop without drafts reports none.
  const auto count = [](const std::vector<std::int64_t> &counts, std::size_t i) {
    return counts[i] == kUntouched ? 0 : counts[i];
  };
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    const auto begin = token_ids_.begin() + std::ptrdiff_t(i * width);
    const auto length =
        std::ptrdiff_t(std::clamp<std::int64_t>(lengths_[i], 0, args.max_new_tokens));
    EXPECT_EQ(length, lengths_[i]);
    texts_[i] = {Tokens(begin, begin + length), reasons_[i], count(drafted_, i),
                 count(accepted_, i), cache_lengths_[i]};
    for (auto token = begin + length; token != begin + std::ptrdiff_t(width); ++token) {
      EXPECT_EQ(*token, args.pad_token_id) << "behind text " << i;
    }
  }
}

void Generation::check_text(std::size_t i) const {
  const Text &text = texts_[i];
  const Tokens &tokens = text.tokens;
  const auto length = std::int64_t(tokens.size());
  const auto context = std::int64_t(prompts_[i].size()) + length;
  const auto first_end =
      std::find_if(tokens.begin(), tokens.end(), [&](std::int32_t t) { return is_end(t); });
  for (const std::int32_t token : tokens) {
    EXPECT_GE(token, 0);
    EXPECT_LT(token, target_->limits().vocabulary_size);
  }
  EXPECT_LE(context, target_->limits().max_context);
  EXPECT_TRUE(first_end == tokens.end() || first_end + 1 == tokens.end())
      << "the text goes on behind an end token";
  switch (text.reason) {
    case SAMPLER_FINISH_END_TOKEN:
      EXPECT_NE(first_end, tokens.end());
      break;
    case SAMPLER_FINISH_LENGTH:
      EXPECT_EQ(length, args.max_new_tokens);
      break;
    case SAMPLER_FINISH_CONTEXT:
      EXPECT_EQ(context, target_->limits().max_context);
      break;
    case SAMPLER_FINISH_CANCELLED:
      EXPECT_EQ(cancel_at.count(std::int64_t(i)), 1u);
      break;
    default:
      EXPECT_EQ(text.reason, SAMPLER_FINISH_BAD_ROW);
  }
  EXPECT_EQ(streamed_[i], tokens);
  EXPECT_EQ(streamed_reasons_[i], text.reason);

  const Tokens &cache = target_->cache(args.first_sequence + std::int64_t(i));
  EXPECT_EQ(std::int64_t(cache.size()), text.cache_length);
  EXPECT_TRUE(starts_with(whole_text(i), cache)) << "the cache holds what is not of the text";
  if (args.use_cache == 0) {
    EXPECT_EQ(text.cache_length, 0);
  }
}

void Generation::check_rounds(std::size_t i, const std::vector<const Round *> &rounds) const {
  Tokens tokens;
  std::int64_t round_number = 0, num_drafted = 0, num_accepted = 0;
  for (const Round *const pointer : rounds) {
    const Round &round = *pointer;
    EXPECT_EQ(round.round, round_number++);
    EXPECT_LE(round.num_accepted, std::int64_t(round.drafts.size()));
    EXPECT_GE(round.num_accepted, 0);
    EXPECT_EQ(round.line.find('\n'), std::string::npos);
    num_drafted += std::int64_t(round.drafts.size());
    num_accepted += round.num_accepted;
    tokens.insert(tokens.end(), round.drafts.begin(),
                  round.drafts.begin() + std::ptrdiff_t(round.num_accepted));
    if (round.next_token_id >= 0) tokens.push_back(round.next_token_id);
    if (round.next_token_id != -1) {
      EXPECT_GE(round.next_token_id, 0);
    }
  }
  EXPECT_EQ(tokens, texts_[i].tokens) << "the trace tells of another text";
  EXPECT_EQ(num_drafted, texts_[i].num_drafted);
  EXPECT_EQ(num_accepted, texts_[i].num_accepted);
}

void Generation::check_stats() const {
  std::int64_t num_new_tokens = 0, num_drafted = 0, num_accepted = 0;
  for (const Text &text : texts_) {
    num_new_tokens += std::int64_t(text.tokens.size());
    num_drafted += text.num_drafted;
    num_accepted += text.num_accepted;
  }
  EXPECT_EQ(stats_.num_new_tokens, num_new_tokens);
  EXPECT_EQ(stats_.num_drafted, num_drafted);
  EXPECT_EQ(stats_.num_accepted, num_accepted);
  EXPECT_EQ(stats_.target_forwards, target_->num_forwards());
  EXPECT_EQ(stats_.acceptance_rate,
            num_drafted == 0 ? 0.0 : double(num_accepted) / double(num_drafted));
}

// ---- What is expected ---------------------------------------------------------------------------

std::vector<Text> expected_texts(sampler_t sampler, const Model &model,
                                 const Generation &generation) {
  const sampler_generation_args &args = generation.args;
  const auto is_end = [&](std::int32_t token) {
    if (generation.default_ends) return token == 1;
    return std::find(generation.ends.begin(), generation.ends.end(), token) !=
           generation.ends.end();
  };
  std::vector<Text> texts;
  for (std::size_t i = 0; i < generation.prompts().size(); ++i) {
    Tokens context = generation.prompts()[i];
    const std::uint64_t seed = generation.seeds.empty() ? args.seed + i : generation.seeds[i];
    Text text;
    while (text.reason == SAMPLER_FINISH_NONE) {
      if (std::int64_t(context.size()) == model.limits().max_context) {
        text.reason = SAMPLER_FINISH_CONTEXT;
        break;
      }
      const Logits row = processed(generation, model.logits(context),
                                   std::int32_t(args.first_sequence + std::int64_t(i)),
                                   std::int64_t(context.size()));
      const std::int32_t token = draw(sampler, args, row, seed, text.tokens.size());
      if (token < 0) {
        text.reason = SAMPLER_FINISH_BAD_ROW;
        break;
      }
      text.tokens.push_back(token);
      context.push_back(token);
      if (is_end(token)) {
        text.reason = SAMPLER_FINISH_END_TOKEN;
      } else if (std::int64_t(text.tokens.size()) == args.max_new_tokens) {
        text.reason = SAMPLER_FINISH_LENGTH;
      }
    }
    texts.push_back(text);
  }
  return texts;
}

std::vector<Text> without_counts(std::vector<Text> texts) {
  for (Text &text : texts) text.num_drafted = text.num_accepted = text.cache_length = 0;
  return texts;
}

std::vector<Tokens> random_prompts(Random *random, std::int64_t num_prompts,
                                   std::int64_t max_length, std::int64_t vocabulary_size) {
  std::vector<Tokens> prompts(static_cast<std::size_t>(num_prompts));
  for (Tokens &prompt : prompts) {
    prompt.resize(std::size_t(random->between(1, max_length)));
    for (std::int32_t &token : prompt)
      token = std::int32_t(random->between(0, vocabulary_size - 1));
  }
  return prompts;
}

}  // namespace decoding_test
