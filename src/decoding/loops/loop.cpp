#include "decoding/loops/loop.h"

#include <algorithm>

#include "decoding/loops/loops.h"
#include "decoding/loops/operations.h"

namespace sampler::decoding {

namespace {

sampler_pipeline pipeline_of(const sampler_generation_args &args) {
  sampler_pipeline pipeline = abi::sized<sampler_pipeline>();
  if (args.pipeline) pipeline = *args.pipeline;
  pipeline.token_bitmask_indices = nullptr;
  return pipeline;
}

void draft_by(const sampler_speculative_args &args, Session::Config *config) {
  sampler_session_options &options = config->options;
  options.max_drafts = most_drafts(args);
  config->acceptance = *args.acceptance;
  options.has_adaptive_gamma = args.adaptive_gamma == SAMPLER_GAMMA_BY_ENTROPY;
  if (!args.drafter) {
    options.filler_top_k = args.filler_top_k;
    return;
  }
  auto rule = abi::sized<sampler_session_add_args>();
  rule.draft_source = SAMPLER_DRAFTS_MODEL;
  rule.acceptance = args.acceptance->rule;
  rule.draft_top_k = args.draft_top_k;
  options.has_draft_trees = args.draft_top_k > 0;
  options.keep_drafter_rows = asks_for_rows(rule);
  options.drafter_context = args.drafter->max_context;
  config->drafter_dtype = args.drafter->logits_dtype;
}

Session::Config config_of(const LoopHost &host, const Generation &generation,
                          const sampler_speculative_args *speculative) {
  Session::Config config = {};
  sampler_session_options &options = config.options;
  options.max_sequences = generation.num_texts();
  options.max_context = generation.target().max_context;
  options.vocabulary_size = generation.target().vocabulary_size;
  options.logits_dtype = generation.target().logits_dtype;
  options.stream = generation.args().stream;
  config.drafter_dtype = options.logits_dtype;
  config.params = host.params();
  config.pipeline = pipeline_of(generation.args());
  config.has_pipeline = generation.args().pipeline != nullptr;
  config.acceptance = abi::sized<sampler_acceptance_params>();
  config.acceptance.rule = SAMPLER_ACCEPT_SAMPLE_MATCH;
  if (speculative) draft_by(*speculative, &config);
  return config;
}

sampler_session_add_args text_of(const GeneratedText &text, const Generation &generation,
                                 const sampler_speculative_args *speculative) {
  auto args = abi::sized<sampler_session_add_args>();
  args.token_ids = text.tokens;
  args.num_tokens = text.length;
  args.seed = text.seed;
  args.max_new_tokens = generation.args().max_new_tokens;
  args.acceptance = speculative ? speculative->acceptance->rule : SAMPLER_ACCEPT_SAMPLE_MATCH;
  if (!speculative) return args;
  if (speculative->drafter) {
    args.draft_source = SAMPLER_DRAFTS_MODEL;
    args.least_draft_probability = speculative->least_draft_probability;
    args.draft_top_k = speculative->draft_top_k;
    if (speculative->adaptive_gamma == SAMPLER_GAMMA_BY_ENTROPY) {
      args.adaptive_gamma = SAMPLER_GAMMA_BY_ENTROPY;
      args.gamma_min = speculative->gamma_min;
      args.ema_beta = speculative->ema_beta;
    }
  } else {
    args.draft_source = SAMPLER_DRAFTS_NGRAM;
    args.ngram = speculative->ngram;
    args.draft_unknown = !speculative->stop_if_unknown;
    args.ngram_least_count = speculative->ngram_least_count;
    args.ngram_least_share = speculative->ngram_least_share;
  }
  return args;
}

// The feed of a span. The model starts where its cache ends, and takes the feed in pieces.
Feed feed_of(const sampler_span &span, const int32_t *parents = nullptr) {
  return {span.sequence, span.token_ids - span.start, span.start + span.num_tokens, span.num_logits,
          parents};
}

// Moves the accepted drafts of a tree before the others.
void put_kept_first(const int32_t *parents, const int32_t *text, int64_t num_kept,
                    int32_t *drafts) {
  int32_t last = -1;
  for (int64_t i = 0; i < num_kept; ++i) {
    int32_t next = last + 1;
    while (parents[next] != last || drafts[next] != text[i]) ++next;
    std::rotate(drafts + i, drafts + next, drafts + next + 1);
    last = next;
  }
}

size_t drafter_element_size(const sampler_speculative_args *speculative) {
  return speculative && speculative->drafter ? contract::size_of(speculative->drafter->logits_dtype)
                                             : 0;
}

int64_t num_logits(const Generation &generation, int64_t rows_of_text) {
  return product({generation.num_texts(), rows_of_text, generation.target().vocabulary_size});
}

}  // namespace

Loop::Loop(const ExecutionTarget &place, const sampler_speculative_args *speculative,
           bool has_stages, Generation *generation)
    : entry_(place.entry),
      generation_(generation),
      speculative_(speculative),
      has_trees_(speculative && speculative->draft_top_k > 1),
      host_(speculative, has_stages, generation),
      target_(place, generation->target(), generation->args(), num_texts(), generation->capacity(),
              product({num_texts(), max_drafts() + 1}), has_trees_),
      logits_(place, bytes_of(num_logits(*generation, max_drafts() + 1), target_.element_size())),
      drafter_logits_(place,
                      bytes_of(num_logits(*generation, 1), drafter_element_size(speculative))),
      session_(place, config_of(host_, *generation, speculative), &host_),
      feeds_(place, num_texts()),
      spans_(place, num_texts()),
      drafter_spans_(place, num_texts()),
      drafted_(place, num_texts()),
      drafts_(place, product({num_texts(), max_drafts()})),
      parents_(place, has_trees_ ? product({num_texts(), max_drafts()}) : 0),
      masks_(place, num_texts()),
      token_ids_(place, product({num_texts(), max_drafts() + 1})),
      counts_(place, num_texts()),
      accepted_counts_(place, num_texts()),
      reasons_(place, num_texts()) {
  if (!speculative) return;
  if (speculative->drafter) {
    drafter_.emplace(place, *speculative->drafter, generation->args(), num_texts(),
                     generation->capacity(), num_texts());
  }
  if (speculative->adaptive_gamma == SAMPLER_GAMMA_MEASURED) {
    measured_.emplace(speculative->clock, speculative->clock_user);
  }
}

int64_t Loop::max_drafts() const {
  return speculative_ ? most_drafts(*speculative_) : 0;
}

void Loop::run() {
  require(session_->check(*entry_));
  add_texts();
  run_and_write(
      [&] {
        start();
        while (num_running_ > 0) round();
      },
      [&] { write_outputs(); });
}

void Loop::add_texts() {
  for (const GeneratedText &text : generation_->texts()) {
    int32_t sequence;
    require(session_->add(*entry_, text_of(text, *generation_, speculative_), session_->params(),
                          &sequence));
  }
}

// Ends texts whose prompts fill the context, then teaches the n-grams the prompts.
void Loop::start() {
  generation_->mark_started();
  for (GeneratedText &text : generation_->texts()) {
    const sampler_finish_reason reason = session_->find(int32_t(text.index))->reason;
    if (reason != SAMPLER_FINISH_NONE) generation_->hand_out(&text, 0, reason);
    num_running_ += reason == SAMPLER_FINISH_NONE;
  }
  if (!speculative_ || !speculative_->ngram) return;
  const sampler_ngram &ngram = *speculative_->ngram;
  for (const GeneratedText &text : generation_->texts()) {
    call_back(entry_, "initialize",
              [&] { return ngram.initialize(ngram.user, text.tokens, text.length); });
  }
}

void Loop::plan() {
  auto args = abi::sized<sampler_session_plan_args>();
  args.out_spans = spans_.data();
  args.out_num_spans = &num_spans_;
  args.out_drafter_spans = drafter_spans_.data();
  args.out_num_drafter_spans = &num_drafter_spans_;
  if (has_trees_) args.out_parents = parents_.data();
  session_->plan(*entry_, args);
}

// Runs one round of all texts.
void Loop::round() {
  if (measured_) {
    session_->gamma().limit_drafts(measured_->choose(session_->gamma().round_texts(), true));
    measured_->start(entry_);
  }
  draft();
  if (measured_) measured_->mark_drafted(entry_);
  forward();
  verify();
  if (measured_) measured_->finish(entry_, session_->gamma().verified());
  require(session_->settle(*entry_));
  for (size_t i = 0; i < size_t(num_spans_); ++i) finish(i);
  sampler_generation_stats &stats = generation_->stats();
  ++stats.num_rounds;
  stats.num_plain_rounds += speculative_ && drafts_.empty();
}

// Steps the drafter until all texts have their drafts.
void Loop::draft() {
  for (plan(); num_drafter_spans_ > 0; plan()) {
    feeds_.clear();
    for (int64_t i = 0; i < num_drafter_spans_; ++i)
      feeds_.push_back(feed_of(drafter_spans_.data()[i]));
    const LogitRows rows = {drafter_logits_.data(), generation_->target().vocabulary_size};
    drafter_->forward(feeds_, rows);
    auto args = abi::sized<sampler_session_advance_args>();
    args.drafter_spans = drafter_spans_.data();
    args.num_drafter_spans = num_drafter_spans_;
    args.drafter_logits = rows.data;
    require(session_->advance(*entry_, args));
  }
}

// Runs the target over the planned spans, and records the texts' lengths and drafts before it.
void Loop::forward() {
  feeds_.clear();
  drafted_.clear();
  drafts_.clear();
  for (int64_t i = 0; i < num_spans_; ++i) {
    const sampler_span &span = spans_.data()[i];
    const SessionSequence &text = *session_->find(span.sequence);
    feeds_.push_back(feed_of(span, parents_of(i)));
    drafted_.push_back({text.length, int64_t(drafts_.size()), text.num_drafts, text.row_entropy});
    drafts_.append(session_->text(span.sequence) + text.length, size_t(text.num_drafts));
  }
  target_.forward(feeds_, {logits_.data(), generation_->target().vocabulary_size});
}

void Loop::verify() {
  const sampler_pipeline *const pipeline = generation_->args().pipeline;
  masks_.clear();
  for (int64_t i = 0; i < num_spans_; ++i) {
    const int32_t text = spans_.data()[i].sequence;
    masks_.push_back(
        pipeline && pipeline->token_bitmask_indices ? pipeline->token_bitmask_indices[text] : text);
  }
  auto args = abi::sized<sampler_session_advance_args>();
  args.spans = spans_.data();
  args.num_spans = num_spans_;
  args.logits = logits_.data();
  if (pipeline && pipeline->token_bitmasks) args.token_bitmask_indices = masks_.data();
  args.out_token_ids = token_ids_.data();
  args.out_counts = counts_.data();
  args.out_accepted_counts = accepted_counts_.data();
  args.out_finish_reasons = reasons_.data();
  require(session_->advance(*entry_, args));
}

// Hands out a text's new tokens, and updates its caches and draft source.
void Loop::finish(size_t span) {
  const int32_t index = spans_.data()[span].sequence;
  const Drafted &drafted = drafted_[span];
  const int64_t count = counts_.data()[span], num_kept = accepted_counts_.data()[span];
  GeneratedText *const text = &generation_->texts()[size_t(index)];
  generation_->hand_out(text, count, reasons_.data()[span]);
  if (text->reason == SAMPLER_FINISH_CANCELLED) session_->cancel(index);
  num_running_ -= text->is_finished();
  if (has_trees_) {
    put_kept_first(parents_of(int64_t(span)), text->tokens + drafted.begin, num_kept,
                   drafts_.data() + drafted.first);
  }
  Round round;
  round.drafts = drafts_.data() + drafted.first;
  round.num_drafted = drafted.count;
  round.num_accepted = num_kept;
  if (count > num_kept) round.next_token_id = text->tokens[drafted.begin + num_kept];
  round.entropy = drafted.entropy;
  generation_->finish_round(text, round);
  const SessionSequence &own = *session_->find(index);
  target_.keep(index, own.cache_length);
  if (drafter_) drafter_->keep(index, own.drafter_cache_length);
  session_->learn(*entry_, index, drafted.begin);
}

void Loop::write_outputs() {
  generation_->stats().target_forwards = target_.num_forwards();
  if (drafter_) generation_->stats().drafter_forwards = drafter_->num_forwards();
  int64_t *const lengths = generation_->args().out_cache_lengths;
  for (int64_t i = 0; lengths && i < num_texts(); ++i) lengths[i] = target_.length(i);
  generation_->write_outputs();
  if (!speculative_) return;
  for (const GeneratedText &text : generation_->texts()) {
    const size_t i = size_t(text.index);
    if (speculative_->out_drafted_counts) speculative_->out_drafted_counts[i] = text.num_drafted;
    if (speculative_->out_accepted_counts) speculative_->out_accepted_counts[i] = text.num_accepted;
  }
}

}  // namespace sampler::decoding
