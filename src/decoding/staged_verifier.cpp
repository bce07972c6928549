#include "decoding/staged_verifier.h"

#include <algorithm>

#include "capi/operations.h"
#include "decoding/plain_params.h"

namespace sampler::decoding {

namespace {

// What a round of so many texts, and the telling of it, take at most.
LoopTransfer make_transfer(const ExecutionTarget &place, int64_t num_texts, int64_t num_positions) {
  Arena ins(nullptr);
  ins.take<int32_t>(num_texts);                               // slots
  ins.take<int32_t>(num_texts, num_positions);                // accepted tokens
  for (int i = 0; i < 2; ++i) ins.take<uint64_t>(num_texts);  // seeds, offsets
  return LoopTransfer(place, ins.bytes() + 2 * LoopTransfer::most_parameter_bytes(num_texts), 0);
}

}  // namespace

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
      observations_(place,
                    bytes_of(product({generation.num_texts(), max_drafts + 1}), sizeof(float))),
      transfer_(make_transfer(place, generation.num_texts(), max_drafts + 1)),
      pipeline_(staged_pipeline(generation.args(), state_.get())),
      workspace_(place, ask_workspace(drafter)) {
  for (const Text &text : generation.texts()) {
    seeds_.push_back(text.seed);
    offsets_.push_back(0);
  }
  check();
}

// All but what is of the chains' round. It points to placed_, placed_draft_ and pipeline_.
void StagedVerifier::complete(int64_t num_chains, sampler_verify_args *args) {
  const int64_t num_texts = generation_.num_texts();
  transfer_.begin();
  placed_ = transfer_.parameters(row_params_, num_texts);
  args->num_sequences = num_chains;
  args->slots = transfer_.in(slots_.data(), num_chains);
  args->num_slots = num_texts;
  args->params = &params_;
  args->row_params = &placed_;
  if (args->draft.values) {
    placed_draft_ = transfer_.parameters(draft_row_params_, num_texts);
    args->draft_params = &draft_params_;
    args->draft_row_params = &placed_draft_;
  }
  args->random = {};
  args->random.seeds = transfer_.parameter(seeds_.data(), num_texts);
  args->random.offsets = transfer_.parameter(offsets_.data(), num_texts);
  args->random.num_seeds = args->random.num_offsets = num_texts;
  args->pipeline = &pipeline_;
  if (is_adaptive()) {
    args->out_observations = reinterpret_cast<float *>(observations_.data());
  }
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

size_t StagedVerifier::ask_workspace(const Drafter &drafter) {
  return largest_round_bytes(place_, generation_, drafter, max_drafts_,
                             [&](auto *args) { complete(generation_.num_texts(), args); });
}

// Of no chains: checks its arguments, and draws nothing.
void StagedVerifier::check() {
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
  args->exec = {place_.stream, workspace_.data(), workspace_.size()};
  transfer_.upload();
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
  transfer_.begin();
  placed_ = transfer_.parameters(row_params_, generation_.num_texts());
  auto args = capi::sized<sampler_accept_args>();
  args.exec.stream = place_.stream;
  args.state = state_.get();
  args.slots = transfer_.in(slots_.data(), int64_t(chains.size()));
  args.num_rows = int64_t(chains.size());
  args.token_ids = transfer_.in(accepted_.data(), int64_t(accepted_.size()));
  args.num_tokens = num_positions_;
  if (is_adaptive()) {
    args.observations = reinterpret_cast<float *>(observations_.data());
    args.params = &params_;
    args.row_params = &placed_;
  }
  transfer_.upload();
  require_call(place_, [&] { return sampler_accept(place_.handle, &args); });
}

}  // namespace sampler::decoding
