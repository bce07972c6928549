#include "engine.h"

#include <sampler/sampler.h>
#include <sampler/session.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "error.h"
#include "mask_thread.h"
#include "stopping_text.h"

namespace server {

namespace {

using generate::Gpt2Model;
using generate::Gpt2Sequence;
using generate::Tokenizer;
using generate::TokenSpan;
using generate::TokenText;

std::size_t size(std::int64_t number) {
  return static_cast<std::size_t>(number);
}

void check(sampler_status status) {
  if (status != SAMPLER_OK) throw generate::Error(std::string("sampling: ") + sampler_last_error());
}

struct Destroy {
  void operator()(sampler_t sampler) const { sampler_destroy(sampler); }
  void operator()(sampler_session_t session) const { sampler_session_destroy(session); }
};
using Sampler = std::unique_ptr<std::remove_pointer_t<sampler_t>, Destroy>;
using Session = std::unique_ptr<std::remove_pointer_t<sampler_session_t>, Destroy>;

Sampler make_sampler(int num_threads) {
  sampler_options options = sampler_options_default();
  options.num_threads = num_threads;
  sampler_t sampler = nullptr;
  check(sampler_create(&options, &sampler));
  return Sampler(sampler);
}

const HttpError &stopping() {
  static const HttpError error(503, "the server is shutting down");
  return error;
}

// The biases of all sequences, in the arrays of a pipeline, which the session reads in each step.
class BiasLists {
 public:
  explicit BiasLists(std::size_t num_sequences)
      : lists_(num_sequences),
        offsets_(num_sequences + 1),
        token_ids_(num_sequences * kMaxBiases),
        biases_(num_sequences * kMaxBiases) {}

  void point_to(sampler_pipeline *pipeline) const {
    pipeline->biased.offsets = offsets_.data();
    pipeline->biased.token_ids = token_ids_.data();
    pipeline->biased.num_lists = static_cast<std::int64_t>(lists_.size());
    pipeline->biased.num_token_ids = static_cast<std::int64_t>(token_ids_.size());
    pipeline->biases = biases_.data();
  }

  // Those of a sequence that joins or leaves.
  void set(std::int32_t sequence, const std::vector<std::pair<std::int32_t, float>> &biases) {
    if (lists_[size(sequence)].empty() && biases.empty()) return;
    lists_[size(sequence)] = biases;
    std::size_t end = 0;
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      for (const auto &[token_id, bias] : lists_[i]) {
        token_ids_[end] = token_id;
        biases_[end++] = bias;
      }
      offsets_[i + 1] = static_cast<std::int64_t>(end);
    }
  }

 private:
  std::vector<std::vector<std::pair<std::int32_t, float>>> lists_;
  std::vector<std::int64_t> offsets_;
  std::vector<std::int32_t> token_ids_;
  std::vector<float> biases_;
};

}  // namespace

// What the engine's thread does, without its queue.
class Engine::Scheduler {
 public:
  Scheduler(const Gpt2Model &model, const Tokenizer &tokenizer,
            std::optional<std::int32_t> end_token, const EngineOptions &options)
      : model_(model),
        tokenizer_(tokenizer),
        end_token_(end_token),
        options_(options),
        caches_(size(options.max_sequences), Gpt2Sequence(model.config())),
        running_(size(options.max_sequences)),
        biases_(size(options.max_sequences)),
        mask_words_(size(model.config().vocab_size + 31) / 32),
        masks_(size(options.max_sequences) * mask_words_),
        num_free_(options.max_sequences),
        spans_(size(options.max_sequences)),
        out_counts_(size(options.max_sequences)),
        out_finish_reasons_(size(options.max_sequences)),
        out_cache_lengths_(size(options.max_sequences)) {
    const std::size_t num_places = size(options.max_sequences) * size(options.max_drafts + 1);
    mask_indices_.resize(num_places);
    out_token_ids_.resize(num_places);
    out_logprobs_.resize(num_places);
    out_top_token_ids_.resize(num_places * kMaxLogprobs);
    out_top_logprobs_.resize(num_places * kMaxLogprobs);
    max_logprobs_ = std::min(kMaxLogprobs, model.config().vocab_size);
    if (end_token) {
      mask_thread_ = std::make_unique<MaskThread>(tokenizer, model.config().vocab_size, *end_token);
    }
    sampler_ = make_sampler(options.num_threads);
    session_ = make_session();
  }

  int num_running() const { return options_.max_sequences - num_free_; }
  std::int64_t num_tokens() const { return num_tokens_; }
  bool is_idle() const { return num_free_ == options_.max_sequences; }

  // Whether there is room for all choices of a request.
  bool has_room(const Completion &completion) const {
    return completion.request.num_choices <= num_free_;
  }

  // Its first choice joins; the others follow when the prompt is in the first one's cache.
  void add(const std::shared_ptr<Completion> &completion) {
    try {
      add_choice(completion, 0, nullptr);
      num_free_ -= completion->request.num_choices;
    } catch (const std::exception &error) {
      completion->fail(HttpError(500, error.what()));
    }
  }

  // Runs all sequences' next tokens.
  void step() {
    remove_cancelled();
    std::int64_t num_spans = 0;
    sampler_session_plan_args plan = {};
    plan.struct_size = sizeof plan;
    plan.max_tokens = options_.max_step_tokens;
    plan.out_spans = spans_.data();
    plan.out_num_spans = &num_spans;
    check(sampler_session_plan(session_.get(), &plan));
    if (num_spans == 0) return;
    leave_out_late(&num_spans);
    if (num_spans == 0) return;
    run_model(num_spans);
    write_masks(&num_spans);
    advance(num_spans);
    for (std::int64_t i = 0; i < num_spans; ++i) {
      cache(spans_[size(i)].sequence).truncate(static_cast<int>(out_cache_lengths_[size(i)]));
    }
    for (std::int64_t i = 0; i < num_spans; ++i) report(i);
    // Only now: no number that a span names may be another sequence's.
    for (const Followers &followers : followers_) add_followers(followers);
    followers_.clear();
  }

  // Ends all sequences.
  void fail_all(const HttpError &error) {
    for (std::size_t i = 0; i < running_.size(); ++i) {
      if (!running_[i]) continue;
      const std::shared_ptr<Completion> completion = running_[i]->completion;
      remove_all_of(*completion);
      completion->fail(error);
    }
    for (const Followers &followers : followers_) {
      num_free_ += followers.completion->request.num_choices - 1;
      followers.completion->fail(error);
    }
    followers_.clear();
  }

 private:
  struct Running {
    std::shared_ptr<Completion> completion;
    int choice;
    TokenText tokens;
    StoppingText text;
    std::optional<RegexGuide> guide;
    int num_followers;            // choices that wait until this one's prompt is in its cache
    std::future<Mask> mask = {};  // of the next token, where there is a guide
    bool is_late = false;         // the mask was not ready when its logits were
  };

  // All choices of a request but the first, and the prompt's keys and values without its last
  // token's, whose logits each of them needs.
  struct Followers {
    std::shared_ptr<Completion> completion;
    Gpt2Sequence prompt;
  };

  Session make_session() {
    sampler_pipeline pipeline = {};
    pipeline.struct_size = sizeof pipeline;
    biases_.point_to(&pipeline);
    pipeline.token_bitmasks = masks_.data();
    pipeline.num_token_bitmasks = options_.max_sequences;
    pipeline.token_bitmask_stride = static_cast<std::int64_t>(mask_words_);
    sampler_session_options options = {};
    options.struct_size = sizeof options;
    options.max_sequences = options_.max_sequences;
    options.max_context = model_.config().n_positions;
    options.vocabulary_size = model_.config().vocab_size;
    options.logits_dtype = SAMPLER_F32;
    options.max_drafts = options_.max_drafts;
    options.lookup_tokens = options_.max_drafts > 0 ? options.max_context : 0;
    options.max_end_tokens = 1;
    options.max_top_logprobs = max_logprobs_;
    options.pipeline = &pipeline;
    sampler_session_t session = nullptr;
    check(sampler_session_create(sampler_.get(), &options, &session));
    return Session(session);
  }

  Gpt2Sequence &cache(std::int32_t sequence) { return caches_[size(sequence)]; }

  // Adds a choice, of whose prompt `cached` holds the beginning; NULL: nothing.
  void add_choice(const std::shared_ptr<Completion> &completion, int choice,
                  const Gpt2Sequence *cached) {
    const CompletionRequest &request = completion->request;
    sampler_session_add_args add = {};
    add.struct_size = sizeof add;
    add.token_ids = request.prompt.data();
    add.num_tokens = static_cast<std::int64_t>(request.prompt.size());
    add.cache_length = cached ? cached->length() : 0;
    add.params = &request.params;
    add.seed = request.seed + static_cast<std::uint64_t>(choice);
    add.max_new_tokens = request.max_tokens;
    add.end_token_ids = end_token_ ? &*end_token_ : nullptr;
    add.num_end_tokens = end_token_ ? 1 : 0;
    // A mask is of the text alone: there is none for what follows a draft.
    if (options_.max_drafts > 0 && !request.guide) add.draft_source = SAMPLER_DRAFTS_PROMPT_LOOKUP;
    std::int32_t sequence = -1;
    check(sampler_session_add(session_.get(), &add, &sequence));
    if (cached) cache(sequence) = *cached;
    biases_.set(sequence, request.biases);
    running_[size(sequence)] = Running{completion,
                                       choice,
                                       TokenText(tokenizer_, request.prompt),
                                       StoppingText(request.stops),
                                       request.guide,
                                       choice == 0 ? request.num_choices - 1 : 0};
    start_mask(&*running_[size(sequence)]);
  }

  void start_mask(Running *running) {
    if (running->guide)
      running->mask = mask_thread_->start(*running->guide, running->tokens.is_at_start());
  }

  void add_followers(const Followers &followers) {
    const int num_choices = followers.completion->request.num_choices;
    for (int choice = 1; choice < num_choices; ++choice) {
      try {
        add_choice(followers.completion, choice, &followers.prompt);
      } catch (const std::exception &error) {
        num_free_ += num_choices - choice;
        remove_all_of(*followers.completion);
        followers.completion->fail(HttpError(500, error.what()));
        return;
      }
    }
  }

  void remove(std::int32_t sequence) {
    check(sampler_session_remove(session_.get(), sequence));
    biases_.set(sequence, {});
    num_free_ += 1 + running_[size(sequence)]->num_followers;
    running_[size(sequence)].reset();
  }

  void remove_all_of(const Completion &completion) {
    for (std::size_t i = 0; i < running_.size(); ++i) {
      if (running_[i] && running_[i]->completion.get() == &completion) {
        remove(static_cast<std::int32_t>(i));
      }
    }
  }

  void remove_cancelled() {
    for (std::size_t i = 0; i < running_.size(); ++i) {
      if (running_[i] && running_[i]->completion->is_cancelled()) {
        remove(static_cast<std::int32_t>(i));
      }
    }
  }

  void run_model(std::int64_t num_spans) {
    std::vector<TokenSpan> spans;
    std::size_t num_rows = 0;
    for (std::int64_t i = 0; i < num_spans; ++i) {
      const sampler_span &span = spans_[size(i)];
      cache(span.sequence).truncate(static_cast<int>(span.start));
      spans.push_back({&cache(span.sequence), span.token_ids, static_cast<int>(span.num_tokens),
                       static_cast<int>(span.num_logits)});
      num_rows += size(span.num_logits);
    }
    const std::size_t num_logits = num_rows * size(model_.config().vocab_size);
    if (logits_.size() < num_logits) logits_.resize(num_logits);
    model_.forward(spans, logits_.data());
  }

  // Whether a span's next token waits for a mask.
  bool lacks_mask(const sampler_span &span) const {
    const std::future<Mask> &mask = running_[size(span.sequence)]->mask;
    return span.num_logits > 0 && mask.valid() &&
           mask.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
  }

  // Spans that the model has run to no purpose wait until their masks are there. Where these are
  // all, so does the step, for a moment: requests may come or go.
  void leave_out_late(std::int64_t *num_spans) {
    const auto begin = spans_.begin(), end = begin + *num_spans;
    const auto last = std::stable_partition(begin, end, [this](const sampler_span &span) {
      return !(running_[size(span.sequence)]->is_late && lacks_mask(span));
    });
    *num_spans = last - begin;
    if (last == begin) {
      running_[size(begin->sequence)]->mask.wait_for(std::chrono::milliseconds(5));
    }
  }

  // Each sequence's mask stands at its number. Spans whose masks are not ready are left out: the
  // others do not wait.
  void write_masks(std::int64_t *num_spans) {
    const std::size_t row_size = size(model_.config().vocab_size);
    std::size_t num_kept = 0, from_row = 0, row = 0;
    for (std::size_t i = 0; i < size(*num_spans); ++i) {
      const sampler_span span = spans_[i];
      const std::size_t num_rows = size(span.num_logits);
      Running &running = *running_[size(span.sequence)];
      running.is_late = lacks_mask(span);
      if (!running.is_late) {
        if (num_rows > 0 && running.mask.valid()) {
          const Mask mask = running.mask.get();
          std::copy(mask.begin(), mask.end(), &masks_[size(span.sequence) * mask_words_]);
        }
        if (row != from_row) {
          std::copy_n(&logits_[from_row * row_size], num_rows * row_size, &logits_[row * row_size]);
        }
        std::fill_n(&mask_indices_[row], num_rows, running.guide ? span.sequence : -1);
        spans_[num_kept++] = span;
        row += num_rows;
      }
      from_row += num_rows;
    }
    *num_spans = static_cast<std::int64_t>(num_kept);
  }

  void advance(std::int64_t num_spans) {
    if (num_spans == 0) return;
    sampler_session_advance_args advance = {};
    advance.struct_size = sizeof advance;
    advance.spans = spans_.data();
    advance.num_spans = num_spans;
    advance.logits = logits_.data();
    advance.token_bitmask_indices = mask_indices_.data();
    advance.out_token_ids = out_token_ids_.data();
    advance.out_counts = out_counts_.data();
    advance.out_finish_reasons = out_finish_reasons_.data();
    advance.out_cache_lengths = out_cache_lengths_.data();
    // The model's own distribution, before biases, penalties and filters.
    sampler_report_args reports = {};
    reports.struct_size = sizeof reports;
    reports.logprob_kind = SAMPLER_LOGPROB_RAW;
    advance.reports = &reports;
    num_top_ = 0;
    for (std::int64_t i = 0; i < num_spans; ++i) {
      const CompletionRequest &request = request_of(spans_[size(i)].sequence);
      if (!request.num_logprobs) continue;
      reports.out_logprobs = out_logprobs_.data();
      num_top_ = std::max(num_top_, std::min(*request.num_logprobs, max_logprobs_));
    }
    if (num_top_ > 0) {
      reports.num_top_logprobs = num_top_;
      reports.out_top_token_ids = out_top_token_ids_.data();
      reports.out_top_logprobs = out_top_logprobs_.data();
    }
    check(sampler_session_advance(session_.get(), &advance));
  }

  const CompletionRequest &request_of(std::int32_t sequence) const {
    return running_[size(sequence)]->completion->request;
  }

  // Reports to a request what the step gave the sequence of span i, which leaves where it has
  // finished.
  void report(std::int64_t i) {
    const std::int32_t sequence = spans_[size(i)].sequence;
    // Another choice of the request may have ended it.
    if (!running_[size(sequence)]) return;
    Running &running = *running_[size(sequence)];
    const std::shared_ptr<Completion> completion = running.completion;
    const sampler_finish_reason reason = out_finish_reasons_[size(i)];
    if (reason == SAMPLER_FINISH_BAD_ROW) {
      const HttpError error =
          running.guide ? HttpError(400, "regex asks for a byte that no token begins with", "regex")
                        : HttpError(500, "no token can follow the text");
      remove_all_of(*completion);
      completion->fail(error);
      return;
    }
    const std::int64_t count = out_counts_[size(i)];
    if (count == 0) return;  // a part of its prompt
    if (running.num_followers > 0) {
      running.num_followers = 0;
      followers_.push_back({completion, cache(sequence)});
      followers_.back().prompt.truncate(static_cast<int>(completion->request.prompt.size()) - 1);
    }
    Progress progress;
    progress.choice = running.choice;
    for (std::int64_t j = 0; j < count && progress.finish_reason.empty(); ++j) {
      const std::size_t place = size(i * (options_.max_drafts + 1) + j);
      const bool is_last = j == count - 1;
      progress.tokens.push_back(drawn_token(place, completion->request));
      if (is_last && reason == SAMPLER_FINISH_END_TOKEN) {
        progress.finish_reason = "stop";
        break;
      }
      const std::string_view bytes = running.tokens.push(out_token_ids_[place]);
      progress.text += running.text.push(bytes);
      if (running.guide) running.guide->push(bytes);
      if (running.text.has_stopped()) {
        progress.finish_reason = "stop";
      } else if (is_last && reason != SAMPLER_FINISH_NONE) {
        progress.finish_reason = "length";
      }
    }
    const bool has_finished = !progress.finish_reason.empty();
    if (has_finished) progress.text += running.text.finish();
    num_tokens_ += static_cast<std::int64_t>(progress.tokens.size());
    completion->add(std::move(progress));
    if (has_finished) {
      remove(sequence);
    } else {
      start_mask(&running);
    }
  }

  DrawnToken drawn_token(std::size_t place, const CompletionRequest &request) const {
    DrawnToken token = {out_token_ids_[place], 0, {}};
    if (!request.num_logprobs) return token;
    token.logprob = out_logprobs_[place];
    const int num_top = std::min(*request.num_logprobs, max_logprobs_);
    for (std::size_t k = 0; k < size(num_top); ++k) {
      const std::size_t at = place * size(num_top_) + k;
      token.top.emplace_back(out_top_token_ids_[at], out_top_logprobs_[at]);
    }
    return token;
  }

  const Gpt2Model &model_;
  const Tokenizer &tokenizer_;
  const std::optional<std::int32_t> end_token_;
  const EngineOptions options_;
  // By sequence.
  std::vector<Gpt2Sequence> caches_;
  std::vector<std::optional<Running>> running_;
  BiasLists biases_;
  std::size_t mask_words_;
  std::vector<std::uint32_t> masks_;  // [max_sequences, mask_words_]
  std::vector<std::int32_t> mask_indices_;
  std::int64_t num_tokens_ = 0;
  int num_free_;                      // sequences that no request has or will have
  std::vector<Followers> followers_;  // of the step
  int max_logprobs_;

  // A step's, by span. num_top_ are the columns of the likeliest tokens' reports.
  std::vector<sampler_span> spans_;
  std::vector<float> logits_;
  std::vector<std::int32_t> out_token_ids_;
  std::vector<std::int64_t> out_counts_;
  std::vector<sampler_finish_reason> out_finish_reasons_;
  std::vector<std::int64_t> out_cache_lengths_;
  std::vector<float> out_logprobs_;
  std::vector<std::int32_t> out_top_token_ids_;
  std::vector<float> out_top_logprobs_;
  int num_top_ = 0;

  Sampler sampler_;
  Session session_;
  std::unique_ptr<MaskThread> mask_thread_;  // none without an end token
};

Engine::Engine(const Gpt2Model &model, const Tokenizer &tokenizer,
               std::optional<std::int32_t> end_token, const EngineOptions &options)
    : options_(options),
      scheduler_(std::make_unique<Scheduler>(model, tokenizer, end_token, options)),
      thread_([this] { run(); }) {}

Engine::~Engine() {
  stop();
}

std::shared_ptr<void> Engine::enter() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (is_stopping_ || is_draining_) throw stopping();
  ++num_entered_;
  return std::shared_ptr<void>(nullptr, [this](void *) {
    const std::lock_guard<std::mutex> leaving(mutex_);
    --num_entered_;
  });
}

void Engine::submit(const std::vector<std::shared_ptr<Completion>> &completions) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_stopping_) throw stopping();
    forget_cancelled();
    if (waiting_.size() + completions.size() > size(options_.max_waiting)) {
      throw HttpError(503, "too many requests wait already; try again later");
    }
    waiting_.insert(waiting_.end(), completions.begin(), completions.end());
  }
  changed_.notify_one();
}

void Engine::forget_cancelled() {
  const auto is_cancelled = [](const auto &one) { return one->is_cancelled(); };
  waiting_.erase(std::remove_if(waiting_.begin(), waiting_.end(), is_cancelled), waiting_.end());
}

EngineCounts Engine::counts() {
  const std::lock_guard<std::mutex> lock(mutex_);
  forget_cancelled();
  return {num_running_, waiting_.size(), num_tokens_};
}

void Engine::drain() {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_draining_ = true;
}

bool Engine::is_idle() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return is_idle_ && waiting_.empty() && num_entered_ == 0;
}

void Engine::stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

// In the order in which they came: one that needs many sequences is not overtaken.
std::shared_ptr<Completion> Engine::take_waiting() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (waiting_.empty() || !scheduler_->has_room(*waiting_.front())) return nullptr;
  const std::shared_ptr<Completion> completion = waiting_.front();
  waiting_.pop_front();
  is_idle_ = false;
  return completion;
}

bool Engine::wait_for_work() {
  std::unique_lock<std::mutex> lock(mutex_);
  num_running_ = scheduler_->num_running();
  num_tokens_ = scheduler_->num_tokens();
  is_idle_ = scheduler_->is_idle();
  changed_.wait(lock,
                [this] { return is_stopping_ || !waiting_.empty() || !scheduler_->is_idle(); });
  return !is_stopping_;
}

void Engine::run() {
  while (wait_for_work()) {
    while (const std::shared_ptr<Completion> completion = take_waiting()) {
      if (!completion->is_cancelled()) scheduler_->add(completion);
    }
    try {
      scheduler_->step();
    } catch (const std::exception &error) {
      scheduler_->fail_all(HttpError(500, error.what()));
    }
  }
  scheduler_->fail_all(stopping());
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const std::shared_ptr<Completion> &completion : waiting_) completion->fail(stopping());
  waiting_.clear();
}

}  // namespace server
