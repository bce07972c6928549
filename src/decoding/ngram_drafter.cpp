#include <algorithm>

#include "decoding/drafter.h"
#include "decoding/loops.h"
#include "decoding/ngram_drafts.h"

namespace sampler::decoding {

namespace {

class NgramDrafter : public Drafter {
 public:
  NgramDrafter(const ExecutionTarget &place, const sampler_speculative_args &args,
               Generation *generation)
      : args_(args),
        ngram_(*args.ngram),
        generation_(generation),
        selected_(place,
                  product({generation->num_texts(), most_drafts(args) + 1, args.filler_top_k})),
        lesson_(place, args.filler_top_k + 1),
        first_rows_(place, generation->num_texts()) {}

  void start() override {
    for (const Text &text : generation_->texts()) {
      call_back(entry(), "initialize",
                [&] { return ngram_.initialize(ngram_.user, text.tokens, text.length); });
    }
  }

  int64_t gamma() const override { return most_drafts(args_); }
  int64_t max_drafts(const Text &) const override { return gamma(); }

  void draft(Array<Chain> *chains, Workspace *) override {
    const bool has_limits = args_.ngram_least_count > 0 || args_.ngram_least_share > 0;
    const NgramRules rules = {has_limits, !args_.stop_if_unknown, args_.ngram_least_count,
                              args_.ngram_least_share};
    for (Chain &chain : *chains) {
      const Text &text = *chain.text;
      chain.num_drafts = draft_by_ngrams(
          ngram_, rules, {text.tokens, text.length, text.num_new(), text.seed}, chain.max_drafts,
          generation_->target().vocabulary_size,
          [&](const char *name, const auto &function) {
            call_back(entry(), name, function);
            return true;
          },
          [&](int32_t token_id) { return generation_->is_end(token_id); });
    }
  }

  LogitRows rows() const override { return {nullptr, 0}; }
  sampler_dtype dtype() const override { return SAMPLER_F32; }

  // Finds the likeliest tokens while the rows are there.
  void observe_target(const LogitRows &rows, const Array<Chain> &chains,
                      Workspace *workspace) override {
    if (args_.filler_top_k == 0) return;
    first_rows_.clear();
    int64_t num_rows = 0;
    for (const Chain &chain : chains) {
      first_rows_.push_back(num_rows);
      num_rows += chain.num_drafts + 1;
    }
    auto args = capi::sized<sampler_select_args>();
    args.input = rows_of(generation_->target(), rows, num_rows);
    args.num_selected = args_.filler_top_k;
    args.out_token_ids = selected_.data();
    workspace->run(sampler_select, &args);
    likeliest_ = selected_.on_host(size_t(num_rows * args_.filler_top_k));
  }

  void learn(size_t chain, const Text &text, const Outcome &outcome) override {
    for (int64_t length = outcome.begin; length < text.length; ++length) {
      const int32_t *tokens = text.tokens + length;
      int64_t count = 1;
      if (args_.filler_top_k > 0) {
        const int64_t row = first_rows_[chain] + length - outcome.begin;
        tokens = likeliest_ + row * args_.filler_top_k;
        // Where a row has fewer tokens to give, -1 follows.
        count = std::find(tokens, tokens + args_.filler_top_k, -1) - tokens;
        if (std::find(tokens, tokens + count, text.tokens[length]) == tokens + count) {
          lesson_.clear();
          lesson_.append(tokens, size_t(count++));
          lesson_.push_back(text.tokens[length]);
          tokens = lesson_.data();
        }
      }
      call_back(entry(), "update",
                [&] { return ngram_.update(ngram_.user, text.tokens, length, tokens, count); });
    }
  }

 private:
  capi::Entry *entry() const { return generation_->entry(); }

  const sampler_speculative_args &args_;
  sampler_ngram ngram_;
  Generation *generation_;
  Output<int32_t> selected_;  // [rows, filler_top_k]
  const int32_t *likeliest_ = nullptr;
  Array<int32_t> lesson_;      // of one position
  Array<int64_t> first_rows_;  // of the chains
};

}  // namespace

void speculative_with_ngrams(const ExecutionTarget &place, const sampler_speculative_args &args,
                             bool has_stages, Generation *generation) {
  NgramDrafter drafter(place, args, generation);
  speculate(place, generation, &drafter,
            {args.first_target != 0, false, args.adaptive_gamma == SAMPLER_GAMMA_MEASURED,
             args.clock, args.clock_user, staged_args(args, has_stages)});
}

}  // namespace sampler::decoding
