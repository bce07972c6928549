// The SessionHost of a loop. Text i of the loop is sequence i.
#pragma once

#include <cstdint>

#include "decoding/loops/generation.h"
#include "decoding/session/session_host.h"

namespace sampler::decoding {

class LoopHost final : public SessionHost {
 public:
  // `speculative` null: no drafts. `has_stages`: tokens are sampled with stages or with parameters
  // by text. `generation` must outlive this.
  LoopHost(const sampler_speculative_args *speculative, bool has_stages, Generation *generation);

  // Sampling parameters.
  const sampler_params &params() const { return params_; }

  Extent extent(const void *somewhere) const override;
  // Texts lie in the loop's memory, with room for their greatest length.
  int32_t *text(int32_t sequence) const override {
    return generation_->texts()[size_t(sequence)].tokens;
  }
  int64_t longest_text() const override;
  bool is_end(int32_t, int32_t token) const override { return generation_->is_end(token); }
  // No-op: the loop teaches the prompts when it starts.
  sampler_status teach(abi::Entry &, const sampler_session_add_args &) const override {
    return SAMPLER_OK;
  }
  void set(int32_t, const sampler_session_add_args &, const sampler_params &) override {}
  void copy(int32_t, int32_t, int64_t, const sampler_params *) override {}
  void clear(int32_t) override {}
  // Failures throw a Failure, which ends the loop.
  bool call_ngram(abi::Entry &entry, const char *name, const NgramCall &call) const override;
  sampler_row_params place_numbers(Transfer *transfer) const override;
  sampler_row_params place_plain_numbers(const sampler_row_params &numbers,
                                         Transfer *transfer) const override;
  // All texts share the end tokens, which the pipeline has.
  bool needs_ends() const override { return false; }
  sampler_token_lists place_ends(Transfer *) const override { return {}; }
  bool has_adaptive() const override;
  // Unused: loops do not report the values of adaptive stages.
  std::optional<contract::AdaptiveRules> adaptive_rules(int32_t) const override { return {}; }
  // The temperature parameter, also with SAMPLER_PROCESSOR_GREEDY.
  bool has_guidance(int32_t) const override { return false; }
  float entropy_temperature(int32_t sequence) const override;

 private:
  Generation *generation_;
  bool has_drafts_;
  sampler_params params_;
  sampler_row_params row_params_;  // the caller's arrays by text, read in each step
};

}  // namespace sampler::decoding
