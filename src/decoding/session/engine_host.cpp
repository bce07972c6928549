#include "decoding/session/engine_host.h"

#include <algorithm>

#include "contract/edits.h"
#include "contract/weight.h"

namespace sampler::decoding {

namespace {

constexpr SessionHost::Rules kRules = {true, false, false, false, false, false, true};

}  // namespace

EngineHost::EngineHost(const SessionConfig &config, SessionArrays *arrays)
    : SessionHost(kRules),
      config_(config),
      numbers_(config.params, config.num_sequences(), arrays->host()),
      tokens_(arrays->take<int32_t>(config.num_sequences(), config.text_stride())),
      ends_(arrays->in<int32_t>(config.num_sequences(), config.options.max_end_tokens)),
      end_offsets_(arrays->in<int64_t>(config.num_sequences() + 1)) {
  if (!end_offsets_) return;
  std::fill_n(ends_, config.num_sequences() * max_ends(), kNoToken);
  for (int64_t i = 0; i <= config.num_sequences(); ++i) end_offsets_[i] = i * max_ends();
}

SessionHost::Extent EngineHost::extent(const void *somewhere) const {
  Extent extent;
  extent.numbers = numbers_.all_arrays(somewhere);
  extent.plain_numbers = SessionNumbers::all_plain_arrays(somewhere);
  extent.has_ends = extent.numbers.min_new_tokens || extent.numbers.exponential_decay_factor;
  extent.has_observations = extent.has_logprobs = extent.has_chains = true;
  return extent;
}

bool EngineHost::is_end(int32_t sequence, int32_t token) const {
  const int32_t *const ends = ends_of(sequence);
  for (int64_t i = 0; i < max_ends() && ends[i] != kNoToken; ++i) {
    if (ends[i] == token) return true;
  }
  return false;
}

sampler_status EngineHost::teach(abi::Entry &entry, const sampler_session_add_args &args) const {
  if (args.draft_source != SAMPLER_DRAFTS_NGRAM || args.ngram_has_text) return SAMPLER_OK;
  const sampler_status status = entry.call_host(
      [&] { return args.ngram->initialize(args.ngram->user, args.token_ids, args.num_tokens); });
  if (status == SAMPLER_OK) return status;
  return abi::fail_in_host(entry, "initialize of ngram", status);
}

void EngineHost::set(int32_t sequence, const sampler_session_add_args &args,
                     const sampler_params &params) {
  std::copy_n(args.token_ids, args.num_tokens, text(sequence));
  int32_t *const ends = ends_of(sequence);
  std::fill_n(std::copy_n(args.end_token_ids, args.num_end_tokens, ends),
              max_ends() - args.num_end_tokens, kNoToken);
  numbers_.set(sequence, params);
}

void EngineHost::copy(int32_t source, int32_t destination, int64_t length,
                      const sampler_params *params) {
  std::copy_n(text(source), length, text(destination));
  std::copy_n(ends_of(source), max_ends(), ends_of(destination));
  numbers_.set(destination, params ? *params : params_of(source));
}

void EngineHost::clear(int32_t sequence) {
  std::fill_n(ends_of(sequence), max_ends(), kNoToken);
  numbers_.clear(sequence);
}

bool EngineHost::call_ngram(abi::Entry &entry, const char *, const NgramCall &call) const {
  try {
    return entry.call_host(call) == SAMPLER_OK;
  } catch (...) {
    return false;
  }
}

sampler_row_params EngineHost::place_plain_numbers(const sampler_row_params &,
                                                   Transfer *transfer) const {
  return numbers_.arrays(true, transfer);
}

sampler_token_lists EngineHost::place_ends(Transfer *transfer) const {
  const int64_t count = config_.num_sequences(), num_ends = count * max_ends();
  return {transfer->in(end_offsets_, count + 1), transfer->in(ends_, num_ends), count, num_ends};
}

sampler_params EngineHost::params_of(int32_t sequence) const {
  sampler_params params = config_.params;
  numbers_.get(sequence, &params);
  return params;
}

std::optional<contract::AdaptiveRules> EngineHost::adaptive_rules(int32_t sequence) const {
  const sampler_params params = params_of(sequence);
  return contract::AdaptiveRules{params.adaptive_kind,
                                 params.adaptive_target,
                                 params.adaptive_rate,
                                 params.top_p,
                                 params.top_p_decay,
                                 params.top_p_least,
                                 -1};
}

bool EngineHost::has_guidance(int32_t sequence) const {
  return contract::guidance_is_on(numbers_.guidance_scale(sequence));
}

float EngineHost::entropy_temperature(int32_t sequence) const {
  const float temperature = params_of(sequence).temperature;
  return contract::is_greedy(temperature) ? 1.0f : temperature;
}

}  // namespace sampler::decoding
