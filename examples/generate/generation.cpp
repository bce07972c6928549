#include "generation.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include "error.h"
#include "explanation.h"
#include "model_callbacks.h"
#include "own_draw.h"
#include "ranked_loop.h"
#include "text_question.h"

namespace generate {

namespace {

using Prompts = std::vector<std::vector<std::int32_t>>;

void check(sampler_status status) {
  if (status != SAMPLER_OK) throw Error(std::string("sampling: ") + sampler_last_error());
}

struct Destroy {
  void operator()(sampler_t sampler) const { sampler_destroy(sampler); }
  void operator()(sampler_ngram_storage_t storage) const { sampler_ngram_storage_destroy(storage); }
  void operator()(sampler_prompt_lookup_t lookup) const { sampler_prompt_lookup_destroy(lookup); }
};
using Sampler = std::unique_ptr<std::remove_pointer_t<sampler_t>, Destroy>;
using NgramStorage = std::unique_ptr<std::remove_pointer_t<sampler_ngram_storage_t>, Destroy>;
using PromptLookup = std::unique_ptr<std::remove_pointer_t<sampler_prompt_lookup_t>, Destroy>;

Sampler make_sampler() {
  const sampler_options options = sampler_options_default();
  sampler_t sampler = nullptr;
  check(sampler_create(&options, &sampler));
  return Sampler(sampler);
}

NgramStorage make_ngram_storage(const NgramOptions &options, std::int64_t vocabulary_size) {
  sampler_ngram_storage_options storage_options = {};
  storage_options.struct_size = sizeof storage_options;
  storage_options.kind = options.one_level ? SAMPLER_NGRAM_ONE_LEVEL : SAMPLER_NGRAM_ALL_ORDERS;
  storage_options.order = options.order;
  storage_options.memory_limit = options.memory_limit;
  storage_options.vocabulary_size = vocabulary_size;
  sampler_ngram_storage_t storage = nullptr;
  check(sampler_ngram_storage_create(&storage_options, &storage));
  return NgramStorage(storage);
}

PromptLookup make_prompt_lookup(const NgramOptions &options, const sampler_model &target) {
  sampler_prompt_lookup_options lookup_options = {};
  lookup_options.struct_size = sizeof lookup_options;
  lookup_options.min_match = options.min_match;
  lookup_options.max_match = options.max_match;
  lookup_options.max_tokens = target.max_context;
  lookup_options.vocabulary_size = target.vocabulary_size;
  sampler_prompt_lookup_t lookup = nullptr;
  check(sampler_prompt_lookup_create(&lookup_options, &lookup));
  return PromptLookup(lookup);
}

// One call of a loop: its arguments, the memory they point to, and what it reports.
class Run {
 public:
  Run(const Gpt2Model &model, const Gpt2Model *drafter, const Prompts &prompts,
      const GenerationOptions &options, const Listeners &listeners)
      : options_(options),
        listeners_(listeners),
        is_beam_search_(options.mode == Mode::kBeam),
        sampler_(make_sampler()),
        num_texts_(prompts.size() * static_cast<std::size_t>(options.num_samples)),
        prompts_(prompts),
        model_(model),
        // More would only cost memory.
        max_new_tokens_(std::min(options.max_new_tokens, model.config().n_positions)),
        target_(model,
                is_beam_search_ ? static_cast<std::int64_t>(prompts.size()) * options.beam.num_beams
                                : static_cast<std::int64_t>(num_texts_),
                options.clock) {
    if (options.mode == Mode::kSpeculative) {
      if (drafter == nullptr) throw Error("speculation needs a drafter");
      drafter_.emplace(*drafter, static_cast<std::int64_t>(num_texts_), options.clock);
    }
    for (std::size_t i = 0; i < num_texts_; ++i) {
      const std::size_t sample = i % static_cast<std::size_t>(options.num_samples);
      generation_.continuations.push_back({i / static_cast<std::size_t>(options.num_samples), {}});
      // The beams of a prompt are one sequence of the loop.
      if (!is_beam_search_ || sample == 0) {
        add_sequence(prompts[generation_.continuations.back().prompt], options.seed + sample);
      }
    }
    set_arguments();
  }

  Generation run() {
    start_ = nanoseconds(options_.clock);
    const sampler_status status = call_loop();
    GenerationTimes &times = generation_.times;
    times.total_seconds = seconds_since(start_, options_.clock) - listening_seconds_;
    times.target_seconds += target_.seconds();
    if (drafter_) times.drafter_seconds = drafter_->seconds();
    rethrow_failures();
    check(status);
    if (is_beam_search_) read_beams();
    for (const Continuation &continuation : generation_.continuations) {
      if (continuation.finish_reason == SAMPLER_FINISH_BAD_ROW) fail_at(continuation);
    }
    return std::move(generation_);
  }

 private:
  // The loops do not say why a row gives no token: that is asked again of the text so far.
  [[noreturn]] void fail_at(const Continuation &continuation) const {
    std::vector<std::int32_t> text = prompts_[continuation.prompt];
    const auto prompt_length = static_cast<std::int32_t>(text.size());
    text.insert(text.end(), continuation.new_tokens.begin(), continuation.new_tokens.end());
    std::vector<float> logits(static_cast<std::size_t>(model_.config().vocab_size));
    Gpt2Sequence cache(model_.config());
    model_.forward({{&cache, text.data(), static_cast<int>(text.size())}}, logits.data());
    const TextQuestion question(options_, 0, text, prompt_length, std::move(logits));
    std::string why = explain::explain(question.get()).reason;
    if (why.empty()) why = "this row is good, and one of the drafter or of a draft is not";
    const auto is_bad = [](float logit) { return !(logit < INFINITY); };
    const std::vector<float> &row = question.get().logits;
    if (std::any_of(row.begin(), row.end(), is_bad)) why += "; the model's weights may be damaged";
    throw Error("prompt " + std::to_string(continuation.prompt + 1) + ": no token after " +
                std::to_string(continuation.new_tokens.size()) + " new ones: " + why);
  }

  void add_sequence(const std::vector<std::int32_t> &prompt, std::uint64_t seed) {
    prompt_token_ids_.insert(prompt_token_ids_.end(), prompt.begin(), prompt.end());
    prompt_offsets_.push_back(static_cast<std::int64_t>(prompt_token_ids_.size()));
    seeds_.push_back(seed);
  }

  void set_arguments() {
    args_.target = target_.get();
    args_.num_sequences = static_cast<std::int64_t>(seeds_.size());
    args_.prompt_offsets = prompt_offsets_.data();
    args_.prompt_token_ids = prompt_token_ids_.data();
    args_.max_new_tokens = max_new_tokens_;
    end_tokens_ = options_.end_tokens;
    if (options_.end_token) end_tokens_.push_back(*options_.end_token);
    if (options_.engine) {
      const std::vector<std::int32_t> stop = options_.engine->ends();
      end_tokens_.insert(end_tokens_.end(), stop.begin(), stop.end());
    }
    end_tokens_.reserve(1);  // NULL would not be none
    args_.end_token_ids = end_tokens_.data();
    args_.num_end_tokens = static_cast<std::int64_t>(end_tokens_.size());
    args_.use_cache = options_.use_cache;
    set_sampling();
    args_.seeds = seeds_.data();
    token_ids_.resize(num_texts_ * static_cast<std::size_t>(max_new_tokens_));
    args_.out_token_ids = token_ids_.data();
    generation_.stats.struct_size = sizeof generation_.stats;
    args_.out_stats = &generation_.stats;
    if (is_beam_search_) {
      lengths_.resize(num_texts_);
      finish_reasons_.resize(num_texts_);
      args_.out_lengths = lengths_.data();
      args_.out_finish_reasons = finish_reasons_.data();
      return;
    }
    args_.on_tokens = on_tokens;
    if (listeners_.on_logits || own_draw_ || !forced_tokens_.empty()) args_.process = on_logits;
    if (listeners_.on_round) args_.trace = on_round;
    args_.user = this;
  }

  void set_sampling() {
    const SamplingOptions &sampling = options_.sampling;
    const bool is_drawn = !is_beam_search_ && sampling.temperature != 0;
    if (is_drawn) args_.processor = SAMPLER_PROCESSOR_SAMPLE;
    if (options_.engine) {
      set_engine(*options_.engine, is_drawn);
      return;
    }
    // The likeliest token is the same before and after all filters.
    if (!is_drawn && !draws_itself()) return;
    params_ = params_of(sampling);
    args_.params = &params_;
    if (draws_itself()) set_own_draw(SAMPLER_DRAW_INVERSE_CDF);
  }

  bool draws_itself() const { return options_.ranks || options_.has_logprobs; }

  // The loop has the texts, so that it takes all lists but those of the history.
  void set_engine(const engine_parameters::Request &request, bool is_drawn) {
    engine_.emplace(request, engine_parameters::Ids(), 0);
    args_.params = engine_->params();
    pipeline_ = *engine_->get();
    pipeline_.history = {};
    pipeline_.prompt_lengths = nullptr;
    if (pipeline_.token_bitmasks) {
      mask_indices_.assign(seeds_.size(), 0);
      pipeline_.token_bitmask_indices = mask_indices_.data();
    }
    args_.pipeline = &pipeline_;
    set_row_params(request);
    // Loops draw by the inverse CDF.
    const bool is_race = is_drawn && request.draw_method != SAMPLER_DRAW_INVERSE_CDF;
    if (is_race && options_.mode != Mode::kAutoregressive) {
      throw Error("with drafts tokens are drawn by the inverse CDF; the preset draws by a race");
    }
    if (is_race || draws_itself()) set_own_draw(request.draw_method);
  }

  void set_row_params(const engine_parameters::Request &request) {
    row_params_.struct_size = sizeof row_params_;
    args_.row_params = &row_params_;
    if (request.min_length > 0) {
      for (std::size_t i = 0; i < seeds_.size(); ++i) {
        const std::int64_t length = prompt_offsets_[i + 1] - prompt_offsets_[i];
        min_new_tokens_.push_back(request.least_new_tokens(static_cast<std::int32_t>(length)));
      }
      row_params_.min_new_tokens = min_new_tokens_.data();
    }
    if (request.top_p_reset_token_id) {
      reset_tokens_.assign(seeds_.size(), *request.top_p_reset_token_id);
      row_params_.top_p_reset_token_id = reset_tokens_.data();
    }
    if (!request.forced.empty()) {
      forced_tokens_.assign(seeds_.size(), -1);
      row_params_.forced_token_id = forced_tokens_.data();
    }
  }

  void set_own_draw(sampler_draw_method method) {
    num_new_tokens_.resize(num_texts_);
    args_.seeds = seeds_.data();
    std::optional<OwnDraw::Share> share;
    if (Ranks *const ranks = options_.ranks) {
      const TokenRange range = model_.share(ranks->rank(), ranks->num_ranks());
      share = {ranks, static_cast<std::int64_t>(range.begin), model_.config().vocab_size};
    }
    own_draw_.emplace(sampler_.get(), args_, target_.get()->max_context, method, share);
    row_params_.struct_size = sizeof row_params_;
    row_params_.forced_token_id = own_draw_->tokens();
    args_.row_params = &row_params_;
  }

  sampler_status call_loop() {
    switch (options_.mode) {
      case Mode::kSpeculative:
        return speculate();
      case Mode::kNgram:
        return speculate_with_ngrams();
      case Mode::kBeam:
        return search_beams();
      default:
        return options_.ranks ? run_ranked() : sampler_autoregressive(sampler_.get(), &args_);
    }
  }

  sampler_status run_ranked() {
    RankedLoop loop(model_, args_, *options_.ranks, &*own_draw_, options_.clock);
    loop.run();
    generation_.times.target_seconds = loop.model_seconds();
    return SAMPLER_OK;
  }

  sampler_status speculate() {
    sampler_speculative_args args = speculative_args();
    args.drafter = drafter_->get();
    return sampler_speculative(sampler_.get(), &args);
  }

  sampler_speculative_args speculative_args() {
    sampler_speculative_args args = options_.draft;
    args.generation = &args_;
    acceptance_ = options_.acceptance;
    if (!options_.synthetic_rates.empty()) {
      acceptance_.synthetic_rates = options_.synthetic_rates.data();
    }
    args.acceptance = &acceptance_;
    args.clock = read_clock;
    args.clock_user = this;
    return args;
  }

  sampler_status speculate_with_ngrams() {
    NgramStorage storage;
    PromptLookup lookup;
    sampler_ngram ngram = {};
    ngram.struct_size = sizeof ngram;
    if (options_.ngram.is_lookup) {
      lookup = make_prompt_lookup(options_.ngram, *target_.get());
      check(sampler_prompt_lookup_interface(lookup.get(), &ngram));
    } else {
      storage = make_ngram_storage(options_.ngram, target_.get()->vocabulary_size);
      check(sampler_ngram_storage_interface(storage.get(), &ngram));
    }
    sampler_speculative_args args = speculative_args();
    args.ngram = &ngram;
    // A lookup learns the text alone: there is nothing to look for among the logits.
    if (options_.ngram.is_lookup) args.filler_top_k = 0;
    return sampler_speculative(sampler_.get(), &args);
  }

  static std::int64_t read_clock(void *user) {
    return nanoseconds(static_cast<const Run *>(user)->options_.clock);
  }

  sampler_status search_beams() {
    scores_.resize(num_texts_);
    sampler_beam_search_args args = sampler_beam_search_args_default();
    args.generation = &args_;
    args.num_beams = options_.beam.num_beams;
    args.top_k = options_.beam.top_k;
    args.num_results = options_.num_samples;
    args.min_length = options_.beam.min_length;
    args.alpha = options_.beam.alpha;
    args.early_stop = options_.beam.early_stop;
    args.rule = options_.beam.has_pool ? SAMPLER_BEAMS_POOL : SAMPLER_BEAMS_SHARED;
    args.out_scores = scores_.data();
    return sampler_beam_search(sampler_.get(), &args);
  }

  // Beams are reported when all of them have ended.
  void read_beams() {
    for (std::size_t i = 0; i < num_texts_; ++i) {
      Continuation &continuation = generation_.continuations[i];
      const std::int32_t *begin = &token_ids_[i * static_cast<std::size_t>(max_new_tokens_)];
      continuation.new_tokens.assign(begin, begin + lengths_[i]);
      continuation.finish_reason = finish_reasons_[i];
      continuation.score = scores_[i];
      if (listeners_.on_tokens) listeners_.on_tokens(i, continuation);
    }
  }

  static std::int32_t on_tokens(void *user, std::int64_t text, const std::int32_t *token_ids,
                                std::int64_t num_tokens, sampler_finish_reason reason) {
    return static_cast<Run *>(user)->add_tokens(static_cast<std::size_t>(text), token_ids,
                                                num_tokens, reason);
  }

  // Looks at the rows that tokens are drawn from, before the stages; and draws, where the loop does
  // not.
  static sampler_status on_logits(void *user, sampler_stream, void *logits, std::int64_t num_rows,
                                  std::int64_t num_cols, std::int64_t row_stride,
                                  const std::int32_t *sequences, const std::int64_t *) {
    Run *run = static_cast<Run *>(user);
    run->force_tokens(num_rows, sequences);
    if (run->own_draw_ && !run->failure_) {
      try {
        run->draw(logits, num_rows, num_cols, row_stride, sequences);
      } catch (...) {
        run->failure_ = std::current_exception();
      }
    }
    if (run->listeners_.on_logits) {
      run->listen([&] {
        for (std::int64_t row = 0; row < num_rows; ++row) {
          const auto text = static_cast<std::size_t>(sequences[row]);
          run->listeners_.on_logits(text, run->generation_.continuations[text],
                                    static_cast<const float *>(logits) + row * row_stride,
                                    num_cols);
        }
      });
    }
    return run->failure_ ? SAMPLER_ERROR_CALLBACK : SAMPLER_OK;
  }

  // For the rows' texts, in this step.
  void force_tokens(std::int64_t num_rows, const std::int32_t *texts) {
    for (std::int64_t row = 0; row < num_rows && !forced_tokens_.empty(); ++row) {
      const auto text = static_cast<std::size_t>(texts[row]);
      const std::size_t num_new_tokens = generation_.continuations[text].new_tokens.size();
      forced_tokens_[text] = options_.engine->forced_token(num_new_tokens);
    }
  }

  void draw(const void *logits, std::int64_t num_rows, std::int64_t num_cols,
            std::int64_t row_stride, const std::int32_t *texts) {
    for (std::size_t i = 0; i < num_texts_; ++i) {
      num_new_tokens_[i] = generation_.continuations[i].new_tokens.size();
    }
    own_draw_->draw(logits, num_rows, num_cols, row_stride, texts, num_new_tokens_);
  }

  // Not 0 ends the text.
  std::int32_t add_tokens(std::size_t text, const std::int32_t *token_ids, std::int64_t num_tokens,
                          sampler_finish_reason reason) {
    const double seconds = seconds_since(start_, options_.clock) - listening_seconds_;
    listen([&] {
      Continuation &continuation = generation_.continuations[text];
      if (num_tokens > 0 && continuation.new_tokens.empty() && ++num_started_ == num_texts_) {
        generation_.times.first_token_seconds = seconds;
      }
      continuation.new_tokens.insert(continuation.new_tokens.end(), token_ids,
                                     token_ids + num_tokens);
      if (options_.has_logprobs && num_tokens > 0) {
        continuation.logprobs.push_back(own_draw_->logprobs()[text]);
      }
      continuation.finish_reason = reason;
      if (listeners_.on_tokens) listeners_.on_tokens(text, continuation);
    });
    return failure_ != nullptr;
  }

  static void on_round(void *user, const sampler_trace_round *round) {
    Run *run = static_cast<Run *>(user);
    run->listen([&] { run->listeners_.on_round(*round); });
  }

  // No exception may cross the loop, which is C to us.
  template <typename Call>
  void listen(const Call &call) noexcept {
    if (failure_) return;
    const std::int64_t start = nanoseconds(options_.clock);
    try {
      call();
    } catch (...) {
      failure_ = std::current_exception();
    }
    listening_seconds_ += seconds_since(start, options_.clock);
  }

  void rethrow_failures() const {
    if (failure_) std::rethrow_exception(failure_);
    if (target_.failure()) std::rethrow_exception(target_.failure());
    if (drafter_ && drafter_->failure()) std::rethrow_exception(drafter_->failure());
  }

  const GenerationOptions &options_;
  const Listeners &listeners_;
  const bool is_beam_search_;
  const Sampler sampler_;
  const std::size_t num_texts_;
  const Prompts &prompts_;
  const Gpt2Model &model_;
  const int max_new_tokens_;
  ModelCallbacks target_;
  std::optional<ModelCallbacks> drafter_;

  std::vector<std::int64_t> prompt_offsets_ = {0};
  std::vector<std::int32_t> prompt_token_ids_;
  std::vector<std::uint64_t> seeds_;
  std::vector<std::int32_t> end_tokens_;
  std::vector<std::int32_t> token_ids_;
  std::vector<std::int64_t> lengths_;
  std::vector<sampler_finish_reason> finish_reasons_;
  std::vector<float> scores_;
  sampler_params params_ = sampler_params_default();
  std::optional<engine_parameters::Pipeline> engine_;
  sampler_pipeline pipeline_ = {};
  std::vector<std::int32_t> min_new_tokens_, mask_indices_;
  std::vector<std::int64_t> reset_tokens_, forced_tokens_;
  sampler_row_params row_params_ = {};
  std::vector<std::uint64_t> num_new_tokens_;
  std::optional<OwnDraw> own_draw_;
  sampler_generation_args args_ = sampler_generation_args_default();
  sampler_acceptance_params acceptance_ = {};

  Generation generation_;
  std::int64_t start_ = 0;
  std::size_t num_started_ = 0;
  double listening_seconds_ = 0;
  std::exception_ptr failure_;
};

}  // namespace

sampler_params params_of(const SamplingOptions &options) {
  sampler_params params = sampler_params_default();
  params.temperature = options.temperature;
  params.top_k = options.top_k;
  params.top_p = options.top_p;
  params.min_p = options.min_p;
  return params;
}

Generation generate_text(const Gpt2Model &model, const Gpt2Model *drafter, const Prompts &prompts,
                         const GenerationOptions &options, const Listeners &listeners) {
  const auto context = static_cast<std::size_t>(model.config().n_positions);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    if (prompts[i].size() >= context) {
      throw Error("prompt " + std::to_string(i + 1) + " has " + std::to_string(prompts[i].size()) +
                  " tokens; the model's context of " + std::to_string(context) +
                  " leaves no room for a new one");
    }
  }
  return Run(model, drafter, prompts, options, listeners).run();
}

}  // namespace generate
