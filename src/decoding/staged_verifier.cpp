#include "decoding/staged_verifier.h"

#include <algorithm>

#include "capi/operations.h"
#include "decoding/plain_params.h"

namespace sampler::decoding {

StagedVerifier::StagedVerifier(const ExecutionTarget &place, Generation &generation,
                               const sampler_speculative_args &args, int64_t max_drafts,
                               const Drafter &drafter)
    : place_(place),
      generation_(generation),
      rules_(args),
      max_drafts_(max_drafts),
      params_(staged_params(generation.args())),
      draft_params_(plain_params(params_)),
      row_params_(staged_row_params(generation.args())),
      draft_row_params_(plain_params(row_params_)),
      state_(place, generation),
      slots_(place, generation.num_texts()),
      lengths_(place, generation.num_texts()),
      seeds_(place, generation.num_texts()),
      offsets_(place, generation.num_texts()),
      accepted_(place, product({generation.num_texts(), max_drafts + 1})),
      observations_(place, product({generation.num_texts(), max_drafts + 1})),
      pipeline_(staged_pipeline(generation.args(), state_.get(), nullptr)),
      workspace_bytes_(ask_workspace(drafter)),
      workspace_(place, workspace_bytes_) {
  for (const Text &text : generation.texts()) {
    seeds_.push_back(text.seed);
    offsets_.push_back(0);
  }
  check();
}

// All but what is of the chains' round.
void StagedVerifier::complete(int64_t num_chains, sampler_verify_args *args) const {
  const int64_t num_texts = generation_.num_texts();
  args->num_sequences = num_chains;
  args->slots = slots_.data();
  args->num_slots = num_texts;
  args->params = &params_;
  args->row_params = &row_params_;
  if (args->draft.values) {
    args->draft_params = &draft_params_;
    args->draft_row_params = &draft_row_params_;
  }
  args->random = {};
  args->random.seeds = seeds_.data();
  args->random.offsets = offsets_.data();
  args->random.num_seeds = args->random.num_offsets = num_texts;
  args->pipeline = &pipeline_;
  if (is_adaptive()) args->out_observations = observations_.data();
  args->acceptance = rules_.acceptance;
  args->typical_threshold = rules_.typical_threshold;
  args->typical_scale = rules_.typical_scale;
  args->relaxed_top_k = rules_.relaxed_top_k;
  args->relaxed_delta = rules_.relaxed_delta;
  args->threshold_single = rules_.threshold_single;
  args->threshold_total = rules_.threshold_total;
  // By the most drafts, not by those of the round.
  const int64_t window = std::clamp<int64_t>(max_drafts_ - 1, 1, 6);
  args->deferred_window = rules_.deferred_window ? rules_.deferred_window : int32_t(window);
  args->deferred_top_k = rules_.deferred_top_k;
  args->deferred_entropy = rules_.deferred_entropy;
  args->synthetic_rates = rules_.synthetic_rates;
}

size_t StagedVerifier::ask_workspace(const Drafter &drafter) const {
  // Of arrays only whether they are there matters.
  static constexpr uint64_t kSomewhere = 0;
  void *const there = const_cast<uint64_t *>(&kSomewhere);
  const int64_t num_texts = generation_.num_texts();
  auto args = capi::sized<sampler_verify_args>();
  const LogitRows somewhere = {static_cast<unsigned char *>(there), 0};
  args.target = rows_of(generation_.target(), somewhere, num_texts * (max_drafts_ + 1));
  if (drafter.rows().data) {
    args.draft = rows_of(generation_.target(), somewhere, num_texts * max_drafts_);
    args.draft.dtype = drafter.dtype();
  }
  args.num_drafts = max_drafts_;
  args.draft_token_ids = args.out_token_ids = there;
  args.draft_counts = static_cast<int32_t *>(there);
  args.out_emitted_counts = static_cast<int32_t *>(there);
  args.out_row_status = static_cast<sampler_row_status *>(there);
  complete(num_texts, &args);
  size_t bytes = 0;
  require_call(place_, [&] {
    return capi::verify_up_to_bad_rows_workspace_size(place_.handle, &args, &bytes);
  });
  return bytes;
}

// Of no chains: checks its arguments, and draws nothing.
void StagedVerifier::check() const {
  auto args = capi::sized<sampler_verify_args>();
  args.target = rows_of(generation_.target(), {nullptr, 0}, 0);
  args.num_drafts = max_drafts_;
  complete(0, &args);
  require_call(place_, [&] { return sampler_verify(place_.handle, &args); });
}

void StagedVerifier::verify(const Array<Chain> &chains, sampler_verify_args *args) {
  slots_.clear();
  lengths_.clear();
  for (const Chain &chain : chains) {
    slots_.push_back(int32_t(chain.text->index));
    lengths_.push_back(chain.text->length);
    offsets_[size_t(chain.text->index)] = uint64_t(chain.text->num_new());
  }
  num_positions_ = args->num_drafts + 1;
  complete(int64_t(chains.size()), args);
  args->exec = {place_.stream, workspace_.data(), workspace_bytes_};
  require_call(place_, [&] { return capi::verify_up_to_bad_rows(place_.handle, args); });
}

void StagedVerifier::accept(const Array<Chain> &chains) {
  accepted_.clear();
  for (size_t i = 0; i < chains.size(); ++i) {
    const Text &text = *chains[i].text;
    const int64_t count = text.length - lengths_[i];
    accepted_.append(text.tokens + lengths_[i], size_t(count));
    accepted_.fill(size_t(num_positions_ - count), -1);
  }
  auto args = capi::sized<sampler_accept_args>();
  args.state = state_.get();
  args.slots = slots_.data();
  args.num_rows = int64_t(chains.size());
  args.token_ids = accepted_.data();
  args.num_tokens = num_positions_;
  if (is_adaptive()) {
    args.observations = observations_.data();
    args.params = &params_;
    args.row_params = &row_params_;
  }
  require_call(place_, [&] { return sampler_accept(place_.handle, &args); });
}

}  // namespace sampler::decoding
