// Calls of the loops with callbacks that allocate nothing.
#ifndef SAMPLER_TESTS_DECODING_SMALL_LOOPS_H_
#define SAMPLER_TESTS_DECODING_SMALL_LOOPS_H_

#include <sampler/sampler.h>

#include <algorithm>
#include <cstdint>
#include <functional>

#include "../sized.h"
#include "memory.h"

namespace decoding_test {

class SmallLoops {
 public:
  static constexpr int kNumLoops = 8;
  static const char *name(int loop) {
    const char *const names[] = {"autoregressive",
                                 "speculative",
                                 "n-grams",
                                 "beam_search",
                                 "beam_search with pools",
                                 "speculative with stages",
                                 "speculative in trees",
                                 "beam_search with edits"};
    return names[loop];
  }

  // Whether tokens may be drawn.
  static bool can_sample(int loop) { return loop < 3 || loop == 5 || loop == 6; }

  SmallLoops() {
    model_.user = this;
    model_.vocabulary_size = kVocabulary;
    model_.max_context = 64;
    model_.max_sequences = 16;
    model_.forward = &SmallLoops::forward;
    model_.truncate = [](void *user, std::int32_t, std::int64_t) { return called(user); };
    model_.fork = [](void *user, std::int32_t, std::int32_t) { return called(user); };
    args.target = &model_;
    args.num_sequences = 3;
    args.prompt_offsets = kOffsets;
    args.prompt_token_ids = kPrompts;
    args.max_new_tokens = kNewTokens;
    args.out_token_ids = tokens_;
    args.out_lengths = lengths_;
    args.user = this;
    args.process = [](void *user, sampler_stream, void *, std::int64_t, std::int64_t, std::int64_t,
                      const std::int32_t *, const std::int64_t *) { return called(user); };
    args.on_tokens = [](void *user, std::int64_t, const std::int32_t *, std::int64_t,
                        sampler_finish_reason) -> std::int32_t { return called(user); };
    args.trace = [](void *user, const sampler_trace_round *) { called(user); };
    // As long as it may be, and longer.
    args.token_text = [](void *user, std::int32_t, char *buffer, std::size_t bytes) {
      called(user);
      std::fill_n(buffer, bytes, 't');
      return bytes + 7;
    };
    staged_.repetition_penalty = 1.5f;
    staged_.no_repeat_ngram_size = 3;
    ngram_.user = this;
    ngram_.next_token = [](void *user, const std::int32_t *context, std::int64_t num_tokens,
                           std::uint64_t, std::uint64_t, std::int32_t *out_token_id,
                           std::int32_t *out_known) {
      *out_token_id = successor(context[num_tokens - 1]);
      *out_known = 1;
      return called(user);
    };
    ngram_.update = [](void *user, const std::int32_t *, std::int64_t, const std::int32_t *,
                       std::int64_t) { return called(user); };
    ngram_.initialize = [](void *user, const std::int32_t *, std::int64_t) { return called(user); };
  }
  SmallLoops(const SmallLoops &) = delete;
  SmallLoops &operator=(const SmallLoops &) = delete;

  sampler_generation_args args = sampler_generation_args_default();
  std::int64_t gamma = 5;
  std::int32_t first_target = 1;
  std::int64_t drafter_context = 64;
  std::int64_t num_callbacks = 0;
  std::function<void()> on_callback = [] {};  // must not allocate

  sampler_status run(int loop, sampler_t sampler) {
    std::fill_n(tokens_, kNewTokens * 3, kUntouched);
    std::fill_n(lengths_, 3, kUntouched);
    num_callbacks = 0;
    switch (loop) {
      case 0:
        return sampler_autoregressive(sampler, &args);
      case 1: {
        SpeculativeArgs own;
        own.generation = &args;
        sampler_model drafter = model_;
        drafter.max_context = drafter_context;
        own.drafter = &drafter;
        own.gamma = gamma;
        own.first_target = first_target;
        own.adaptive_gamma = 1;
        return sampler_speculative(sampler, &own);
      }
      case 5: {
        sampler_generation_args generation = args;
        generation.params = &staged_;
        SpeculativeArgs own;
        own.generation = &generation;
        own.drafter = &model_;
        own.gamma = gamma;
        own.first_target = first_target;
        own.acceptance_params.rule = SAMPLER_ACCEPT_SAMPLE_MATCH;
        own.least_draft_probability = 0.1f;
        return sampler_speculative(sampler, &own);
      }
      case 6: {
        sampler_generation_args generation = args;
        sampler_model target = model_;
        target.reads_parents = 1;
        generation.target = &target;
        SpeculativeArgs own;
        own.generation = &generation;
        own.drafter = &model_;
        own.gamma = gamma;
        own.first_target = first_target;
        own.draft_top_k = std::min<std::int64_t>(gamma, 2);
        return sampler_speculative(sampler, &own);
      }
      case 2: {
        SpeculativeArgs own;
        own.generation = &args;
        own.ngram = &ngram_;
        own.gamma = gamma;
        own.first_target = first_target;
        return sampler_speculative(sampler, &own);
      }
      default: {
        sampler_generation_args generation = args;
        generation.on_tokens = nullptr;
        generation.trace = nullptr;
        generation.debug = 0;
        if (loop == 7) generation.params = &staged_;
        sampler_beam_search_args own = sampler_beam_search_args_default();
        own.generation = &generation;
        own.rule = loop == 4 ? SAMPLER_BEAMS_POOL : SAMPLER_BEAMS_SHARED;
        return sampler_beam_search(sampler, &own);
      }
    }
  }

  bool outputs_are_untouched() const {
    return std::count(tokens_, tokens_ + kNewTokens * 3, kUntouched) == kNewTokens * 3 &&
           std::count(lengths_, lengths_ + 3, kUntouched) == 3;
  }

 private:
  static constexpr std::int64_t kVocabulary = 16, kNewTokens = 12;
  static constexpr std::int32_t kUntouched = -12345;
  static constexpr std::int64_t kOffsets[4] = {0, 2, 5, 6};
  static constexpr std::int32_t kPrompts[6] = {3, 4, 9, 2, 7, 5};

  // Token 1, which ends a text, comes at different places.
  static std::int32_t successor(std::int32_t token) {
    return std::int32_t((token * 5 + 2) % kVocabulary);
  }

  static sampler_status called(void *user) {
    auto *const self = static_cast<SmallLoops *>(user);
    ++self->num_callbacks;
    self->on_callback();
    return SAMPLER_OK;
  }

  static sampler_status forward(void *user, const sampler_forward_args *args) {
    auto *row = static_cast<float *>(args->logits);
    for (std::int64_t span = 0; span < args->num_spans; ++span) {
      const std::int64_t end = args->token_offsets[span + 1];
      for (std::int64_t at = end - args->logit_counts[span]; at < end; ++at) {
        float values[kVocabulary];
        for (int i = 0; i < kVocabulary; ++i) values[i] = float(i * 7 % 11) / 8;
        values[successor(args->token_ids[at])] = 3;
        copy_to_logits(row, values, sizeof values);
        row += args->logits_row_stride;
      }
    }
    return called(user);
  }

  sampler_model model_ = sized<sampler_model>();
  sampler_ngram ngram_ = sized<sampler_ngram>();
  sampler_params staged_ = sampler_params_default();
  std::int32_t tokens_[kNewTokens * 3];
  std::int64_t lengths_[3];
};

}  // namespace decoding_test

#endif  // SAMPLER_TESTS_DECODING_SMALL_LOOPS_H_
