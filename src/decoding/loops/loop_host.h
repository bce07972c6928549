// What the session of a loop has that no engine's has. Text i of the loop is sequence i.
#pragma once

#include <cstdint>

#include "decoding/loops/generation.h"
#include "decoding/session/session_host.h"

namespace sampler::decoding {

class LoopHost final : public SessionHost {
 public:
  // `speculative` null: nothing is drafted. `has_stages`: tokens are drawn through stages, or by
  // parameters of each text. `generation` outlives it.
  LoopHost(const sampler_speculative_args *speculative, bool has_stages, Generation *generation);

  // How tokens are drawn.
  const sampler_params &params() const { return params_; }

  Extent extent(const void *somewhere) const override;
  // In the loop's memory, each no longer than it can become.
  int32_t *text(int32_t sequence) const override {
    return generation_->texts()[size_t(sequence)].tokens;
  }
  int64_t longest_text() const override;
  bool is_end(int32_t, int32_t token) const override { return generation_->is_end(token); }
  // The loop does so itself, as it starts.
  sampler_status teach(capi::Entry &, const sampler_session_add_args &) const override {
    return SAMPLER_OK;
  }
  void set(int32_t, const sampler_session_add_args &, const sampler_params &) override {}
  void copy(int32_t, int32_t, int64_t, const sampler_params *) override {}
  void clear(int32_t) override {}
  // Leaves by a Failure, which ends the loop.
  bool call_ngram(capi::Entry &entry, const char *name, const NgramCall &call) const override;
  sampler_row_params place_numbers(Transfer *transfer) const override;
  sampler_row_params place_plain_numbers(const sampler_row_params &numbers,
                                         Transfer *transfer) const override;
  // End tokens are those of all texts, and the pipeline's.
  bool has_minimum() const override { return false; }
  sampler_token_lists place_ends(Transfer *) const override { return {}; }
  bool has_adaptive() const override;
  // Nobody asks for a text's values.
  std::optional<contract::AdaptiveRules> adaptive_rules(int32_t) const override { return {}; }
  // From the parameters, whatever the processor.
  float entropy_temperature(int32_t sequence) const override;

 private:
  Generation *generation_;
  bool has_drafts_;
  sampler_params params_;
  sampler_row_params row_params_;  // numbers by text: the caller's, read in each step
};

}  // namespace sampler::decoding
