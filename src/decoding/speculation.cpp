// Rounds of drafts and their verification, whoever drafts.
#include <algorithm>
#include <optional>

#include "decoding/drafter.h"
#include "decoding/measured_gamma.h"
#include "decoding/staged_verifier.h"
#include "decoding/target.h"

namespace sampler::decoding {

namespace {

// Marks draws that take the place of a residual's: the draft before them had the offset without it.
constexpr uint64_t kRedrawn = uint64_t(1) << 63;

class Speculation {
 public:
  Speculation(const ExecutionTarget &place, Generation *generation, Drafter *drafter,
              const SpeculationRules &rules)
      : generation_(generation),
        drafter_(drafter),
        skips_adjustment_(rules.skips_adjustment),
        params_(params_of(generation->args())),
        gamma_(drafter->gamma()),
        workspace_(place, num_texts() * (gamma_ + 1), generation->target().vocabulary_size,
                   rules.staged ? 0 : plain_round_bytes(place)),
        target_(place, generation, gamma_ + 1),
        randomness_(place, num_texts()),
        draft_tokens_(place, num_texts() * gamma_),
        draft_counts_(place, num_texts()),
        tokens_(place, num_texts() * (gamma_ + 1)),
        num_emitted_(place, num_texts()),
        row_status_(place, num_texts()),
        chains_(place, num_texts()),
        feeds_(place, num_texts()),
        places_(place, num_texts() * (gamma_ + 1)),
        token_ids_(place, num_texts() * (gamma_ + 1)),
        emitted_(place, num_texts()),
        drafts_(place, gamma_),
        is_bad_(place, num_texts()) {
    if (rules.staged) staged_.emplace(place, *generation, *rules.staged, gamma_, *drafter);
    if (rules.is_measured) {
      measured_.emplace(gamma_, rules.clock, rules.clock_user);
    }
  }

  void run(bool first_target) {
    target_.run([&](Array<Text *> &active) {
      drafter_->start();
      for (bool may_draft = !first_target; !active.empty(); may_draft = true) {
        round(active, may_draft);
        generation_->remove_finished(&active);
      }
    });
  }

 private:
  int64_t num_texts() const { return generation_->num_texts(); }

  // What a round with a bad row needs.
  size_t plain_round_bytes(const ExecutionTarget &place) const {
    return largest_round_bytes(place, *generation_, *drafter_, gamma_,
                               [&](sampler_verify_args *args) { args->params = &params_; });
  }

  void round(const Array<Text *> &active, bool may_draft) {
    chains_.clear();
    const int64_t gamma = measured_ ? measured_->choose(int64_t(active.size())) : drafter_->gamma();
    for (Text *const text : active) {
      const int64_t limit =
          std::min({gamma, drafter_->max_drafts(*text), generation_->room(*text) - 1});
      chains_.push_back({text, may_draft ? std::max<int64_t>(limit, 0) : 0});
    }
    if (measured_) measured_->start(generation_->entry());
    drafter_->draft(&chains_, &workspace_);
    if (measured_) measured_->mark_drafted(generation_->entry());
    int64_t num_drafts = 0;
    for (const Chain &chain : chains_) num_drafts = std::max(num_drafts, chain.num_drafts);
    forward(num_drafts);
    verify(num_drafts);
    if (measured_) measured_->finish(generation_->entry(), measured_round(num_drafts));
    finish(num_drafts);
    ++generation_->stats().num_rounds;
    generation_->stats().num_plain_rounds += num_drafts == 0;
  }

  MeasuredRound measured_round(int64_t num_drafts) const {
    MeasuredRound round = {int64_t(chains_.size()), num_drafts, 0, 0, 0};
    for (size_t i = 0; i < chains_.size(); ++i) {
      round.num_rows += chains_[i].num_drafts + 1;
      round.num_kept += emitted_[i];
      round.num_examined += std::min<int64_t>(emitted_[i] + 1, chains_[i].num_drafts);
    }
    return round;
  }

  // The target's logits, [chains, num_drafts + 1, columns]. Of a chain with fewer drafts the last
  // rows are whatever they were.
  void forward(int64_t num_drafts) {
    feeds_.clear();
    places_.clear();
    for (const Chain &chain : chains_) {
      const Text &text = *chain.text;
      const int64_t first = int64_t(feeds_.size()) * (num_drafts + 1);
      feeds_.push_back(
          {text.index, text.tokens, text.length + chain.num_drafts, chain.num_drafts + 1});
      for (int64_t i = 0; i <= chain.num_drafts; ++i) places_.push_back(first + i);
    }
    target_.cache().forward(feeds_, target_.logits());
    drafter_->observe_target(target_.logits(), chains_, &workspace_);
    const size_t row_bytes = size_t(target_.num_cols()) * target_.cache().element_size();
    spread_rows(&target_.memory(), 0, row_bytes, row_bytes, places_);
  }

  void verify(int64_t num_drafts) {
    randomness_.clear();
    draft_tokens_.values().clear();
    draft_counts_.values().clear();
    for (const Chain &chain : chains_) {
      Array<int32_t> &drafts = draft_tokens_.values();
      drafts.append(chain.drafts(), size_t(chain.num_drafts));
      drafts.fill(size_t(num_drafts - chain.num_drafts), 0);
      draft_counts_.values().push_back(int32_t(chain.num_drafts));
      randomness_.add(chain.text->seed, uint64_t(chain.text->num_new()));
    }
    const auto num_chains = int64_t(chains_.size());
    auto args = capi::sized<sampler_verify_args>();
    args.target =
        rows_of(generation_->target(), {target_.logits().data, 0}, num_chains * (num_drafts + 1));
    if (num_drafts > 0 && drafter_->rows().data) {
      args.draft.values = drafter_->rows().data;
      args.draft.num_rows = num_chains * num_drafts;
      args.draft.num_cols = target_.num_cols();
      args.draft.dtype = drafter_->dtype();
      args.draft_sequence_stride = drafter_->rows().row_stride;
    }
    args.num_drafts = num_drafts;
    args.draft_token_ids = draft_tokens_.upload();
    args.draft_counts = draft_counts_.upload();
    args.params = &params_;
    args.random = randomness_.upload();
    args.out_token_ids = tokens_.data();
    args.out_emitted_counts = num_emitted_.data();
    args.out_row_status = row_status_.data();
    if (staged_) {
      staged_->verify(chains_, &args);
      take_verified(args);
      return;
    }
    workspace_.run(sampler_verify, &args);
    take_verified(args);
    if (std::find(is_bad_.begin(), is_bad_.end(), true) == is_bad_.end()) return;
    // A row without a token makes a chain bad as a whole there, though drafts were kept before it.
    workspace_.run(capi::verify_up_to_bad_rows, &args);
    take_verified(args);
  }

  // Fills token_ids_, emitted_ and is_bad_.
  void take_verified(const sampler_verify_args &args) {
    const size_t num_tokens = chains_.size() * size_t(args.num_drafts + 1);
    const int32_t *const tokens = tokens_.on_host(num_tokens);
    token_ids_.clear();
    token_ids_.append(tokens, num_tokens);
    const int32_t *const emitted = num_emitted_.on_host(chains_.size());
    emitted_.clear();
    emitted_.append(emitted, chains_.size());
    const sampler_row_status *const row_status = row_status_.on_host(chains_.size());
    is_bad_.clear();
    for (size_t i = 0; i < chains_.size(); ++i) {
      is_bad_.push_back((row_status[i] & ~sampler_row_status(SAMPLER_ROW_INVALID_DRAFT)) != 0);
      // Not the fallback token.
      if (is_bad_[i]) token_ids_[i * size_t(args.num_drafts + 1) + size_t(emitted_[i])] = -1;
    }
  }

  void finish(int64_t num_drafts) {
    const int64_t num_positions = num_drafts + 1;
    if (skips_adjustment_) redraw(num_positions);
    for (size_t i = 0; i < chains_.size(); ++i) {
      finish(i, &token_ids_[i * size_t(num_positions)], emitted_[i]);
    }
    if (staged_) staged_->accept(chains_);
  }

  // Puts draws from p in the places of draws from residuals.
  void redraw(int64_t num_positions) {
    places_.clear();
    for (size_t i = 0; i < chains_.size(); ++i) {
      const Text &text = *chains_[i].text;
      const int64_t place = int64_t(i) * num_positions + emitted_[i];
      if (emitted_[i] == chains_[i].num_drafts || token_ids_[size_t(place)] < 0) continue;
      target_.sampler().add(place, text, uint64_t(text.num_new() + emitted_[i]) | kRedrawn);
      places_.push_back(place);
    }
    if (places_.empty()) return;
    const int32_t *const drawn = target_.sampler().draw(
        target_.logits(), int64_t(chains_.size()) * num_positions, &workspace_);
    for (size_t i = 0; i < places_.size(); ++i) token_ids_[size_t(places_[i])] = drawn[i];
  }

  // `token_ids`: the drafts that were kept and the token that follows them.
  void finish(size_t index, const int32_t *token_ids, int64_t num_emitted) {
    const Chain &chain = chains_[index];
    Text *const text = chain.text;
    drafts_.clear();
    drafts_.append(chain.drafts(), size_t(chain.num_drafts));
    Outcome outcome = {text->length, 0};
    const int64_t num_tokens = generation_->emit(text, token_ids, num_emitted + 1);
    outcome.num_kept = std::min(num_tokens, num_emitted);
    Round round;
    round.drafts = drafts_.data();
    round.num_drafted = chain.num_drafts;
    round.num_accepted = outcome.num_kept;
    round.next_token_id = num_tokens > num_emitted ? token_ids[num_emitted] : -1;
    round.entropy = chain.entropy;
    generation_->finish_round(text, round);
    target_.cache().keep(text->index, outcome.begin + outcome.num_kept);
    drafter_->learn(index, *text, outcome);
  }

  Generation *generation_;
  Drafter *drafter_;
  bool skips_adjustment_;
  sampler_params params_;
  int64_t gamma_;
  std::optional<MeasuredGamma> measured_;
  std::optional<StagedVerifier> staged_;
  Workspace workspace_;
  Target target_;
  Randomness randomness_;
  Input<int32_t> draft_tokens_, draft_counts_;
  Output<int32_t> tokens_, num_emitted_;
  Output<sampler_row_status> row_status_;
  Array<Chain> chains_;
  Array<Feed> feeds_;
  Array<int64_t> places_;
  Array<int32_t> token_ids_, emitted_, drafts_;  // of the chains
  Array<bool> is_bad_;
};

}  // namespace

void speculate(const ExecutionTarget &place, Generation *generation, Drafter *drafter,
               const SpeculationRules &rules) {
  Speculation(place, generation, drafter, rules).run(rules.first_target);
}

}  // namespace sampler::decoding
