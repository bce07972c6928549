// Who proposes drafts: another model, or a storage of n-grams.
#pragma once

#include <cstdint>

#include "capi/operations.h"
#include "decoding/cached_model.h"
#include "decoding/generation.h"
#include "decoding/operations.h"

namespace sampler::decoding {

// A text in a round. Its drafts follow it, in its tokens.
struct Chain {
  Text *text;
  int64_t max_drafts;  // what gamma and limits leave
  int64_t num_drafts = 0;
  float entropy = __builtin_nanf("");  // of the first draft's row

  void add(int32_t token_id) { text->tokens[text->length + num_drafts++] = token_id; }
  const int32_t *drafts() const { return text->tokens + text->length; }
};

// What became of a chain: the text was `begin` tokens long before the round, and the first num_kept
// drafts became text. A token of the target may follow them.
struct Outcome {
  int64_t begin;
  int64_t num_kept;
};

class Drafter {
 public:
  virtual ~Drafter() = default;

  // Before the first round.
  virtual void start() = 0;

  // Drafts of a round, at most.
  virtual int64_t gamma() const = 0;

  // Drafts that a text of this length can get.
  virtual int64_t max_drafts(const Text &text) const = 0;

  // Adds drafts to the chains, max_drafts at most.
  virtual void draft(Array<Chain> *chains, Workspace *workspace) = 0;

  // The rows that drafts were drawn from, the first of each chain row_stride elements from the one
  // before; null: drafts were certain.
  virtual LogitRows rows() const = 0;
  virtual sampler_dtype dtype() const = 0;

  // Shows the target's logits of all chains: num_drafts + 1 rows a chain, chain after chain, at the
  // drafts and after the last. learn() then follows for each chain.
  virtual void observe_target(const LogitRows &rows, const Array<Chain> &chains,
                              Workspace *workspace) = 0;
  virtual void learn(size_t chain, const Text &text, const Outcome &outcome) = 0;
};

struct SpeculationRules {
  bool first_target;      // the first round has no drafts
  bool skips_adjustment;  // tokens after rejected drafts come from the target's p
  bool is_measured;       // the number of drafts is chosen by what is measured, with this clock
  sampler_clock_fn clock;
  void *clock_user;
  const sampler_speculative_args *staged;  // null: the standard rule, and no stages
};

// Whether drafts are verified by another rule than the standard one, or through stages.
inline const sampler_speculative_args *staged_args(const sampler_speculative_args &args,
                                                   bool has_stages) {
  return has_stages || args.acceptance != SAMPLER_ACCEPT_STANDARD ? &args : nullptr;
}

// The bytes that sampler_verify needs for a round of all texts, where a bad row ends its chain. The
// members that `complete(&args)` sets are the caller's; of arrays only whether they are there
// matters.
template <class Complete>
size_t largest_round_bytes(const ExecutionTarget &place, const Generation &generation,
                           const Drafter &drafter, int64_t max_drafts, const Complete &complete) {
  static constexpr uint64_t kSomewhere = 0;
  void *const there = const_cast<uint64_t *>(&kSomewhere);
  const LogitRows somewhere = {static_cast<unsigned char *>(there), 0};
  const int64_t num_texts = generation.num_texts();
  auto args = capi::sized<sampler_verify_args>();
  args.target = rows_of(generation.target(), somewhere, num_texts * (max_drafts + 1));
  if (drafter.rows().data) {
    args.draft = rows_of(generation.target(), somewhere, num_texts * max_drafts);
    args.draft.dtype = drafter.dtype();
  }
  args.num_drafts = max_drafts;
  args.draft_token_ids = args.out_token_ids = there;
  args.draft_counts = static_cast<int32_t *>(there);
  args.out_emitted_counts = static_cast<int32_t *>(there);
  args.out_row_status = static_cast<sampler_row_status *>(there);
  args.random.seeds = args.random.offsets = static_cast<uint64_t *>(there);
  args.random.num_seeds = args.random.num_offsets = num_texts;
  complete(&args);
  size_t bytes = 0;
  require_call(place, [&] {
    return capi::verify_up_to_bad_rows_workspace_size(place.handle, &args, &bytes);
  });
  return bytes;
}

// Rounds of drafts and their verification until all texts have ended.
void speculate(const ExecutionTarget &place, Generation *generation, Drafter *drafter,
               const SpeculationRules &rules);

// Makes row i the row places[i], with places ascending and none below i. Rows of `bytes` bytes
// stand row_bytes apart from `first` on.
void spread_rows(DeviceBytes *memory, size_t first, size_t row_bytes, size_t bytes,
                 const Array<int64_t> &places);

}  // namespace sampler::decoding
