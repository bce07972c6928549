// The SessionHost of an engine: texts, their end tokens, and the numbers of each sequence.
#pragma once

#include <cstdint>

#include "decoding/session/session_arrays.h"
#include "decoding/session/session_config.h"
#include "decoding/session/session_host.h"
#include "decoding/session/session_numbers.h"

namespace sampler::decoding {

class EngineHost final : public SessionHost {
 public:
  // `config` must outlive this.
  EngineHost(const SessionConfig &config, SessionArrays *arrays);

  Extent extent(const void *somewhere) const override;
  int32_t *text(int32_t sequence) const override {
    return tokens_ + sequence * config_.text_stride();
  }
  int64_t longest_text() const override { return config_.options.max_context; }
  bool is_end(int32_t sequence, int32_t token) const override;
  sampler_status teach(abi::Entry &entry, const sampler_session_add_args &args) const override;
  void set(int32_t sequence, const sampler_session_add_args &args,
           const sampler_params &params) override;
  void copy(int32_t source, int32_t destination, int64_t length,
            const sampler_params *params) override;
  void clear(int32_t sequence) override;
  bool call_ngram(abi::Entry &entry, const char *name, const NgramCall &call) const override;
  sampler_row_params place_numbers(Transfer *transfer) const override {
    return numbers_.arrays(false, transfer);
  }
  sampler_row_params place_plain_numbers(const sampler_row_params &numbers,
                                         Transfer *transfer) const override;
  bool needs_ends() const override { return numbers_.needs_ends(); }
  sampler_token_lists place_ends(Transfer *transfer) const override;
  bool has_adaptive() const override { return numbers_.has_adaptive(); }
  std::optional<contract::AdaptiveRules> adaptive_rules(int32_t sequence) const override;
  bool has_guidance(int32_t sequence) const override;
  float entropy_temperature(int32_t sequence) const override;

 private:
  // An id outside every vocabulary; pads lists of end tokens.
  static constexpr int32_t kNoToken = INT32_MAX;

  int64_t max_ends() const { return config_.options.max_end_tokens; }
  int32_t *ends_of(int32_t sequence) const { return ends_ + sequence * max_ends(); }
  sampler_params params_of(int32_t sequence) const;

  const SessionConfig &config_;
  SessionNumbers numbers_;
  int32_t *tokens_;       // [sequences, max_context + max_drafts]
  int32_t *ends_;         // [sequences, max_end_tokens]
  int64_t *end_offsets_;  // [sequences + 1]
};

}  // namespace sampler::decoding
