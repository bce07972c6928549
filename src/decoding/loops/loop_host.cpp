#include "decoding/loops/loop_host.h"

#include <algorithm>

#include "abi/structs.h"
#include "contract/weight.h"
#include "decoding/loops/failure.h"
#include "decoding/loops/loops.h"
#include "decoding/session/plain_params.h"
#include "decoding/session/session_numbers.h"
#include "sampler/sampler.h"

namespace sampler::decoding {

namespace {

bool is_greedy(const sampler_generation_args &args) {
  return args.processor == SAMPLER_PROCESSOR_GREEDY;
}

SessionHost::Rules rules_of(const sampler_speculative_args *speculative, bool has_stages) {
  SessionHost::Rules rules = {};
  rules.has_state = has_stages;
  rules.proposes_by_limits = rules.learns_late = rules.measures_rounds = true;
  if (!speculative) return rules;
  rules.drafts_first = !speculative->first_target;
  rules.skips_adjustment = speculative->skip_sample_adjustment != 0;
  return rules;
}

sampler_row_params row_params_of(const sampler_generation_args &args) {
  auto row_params = args.row_params ? *args.row_params : abi::sized<sampler_row_params>();
  if (is_greedy(args)) row_params.temperature = nullptr;
  return row_params;
}

// Sampling parameters and their lists, without the rows' masks.
sampler_params params_of(const sampler_generation_args &args, bool has_stages) {
  sampler_params params = sampler_params_default();
  if (args.params && (has_stages || !is_greedy(args))) params = *args.params;
  if (is_greedy(args)) params.temperature = 0;
  return params;
}

}  // namespace

LoopHost::LoopHost(const sampler_speculative_args *speculative, bool has_stages,
                   Generation *generation)
    : SessionHost(rules_of(speculative, has_stages)),
      generation_(generation),
      has_drafts_(speculative && most_drafts(*speculative) > 0),
      params_(params_of(generation->args(), has_stages)),
      row_params_(row_params_of(generation->args())) {}

SessionHost::Extent LoopHost::extent(const void *) const {
  Extent extent = {};
  extent.numbers = row_params_;
  extent.plain_numbers = plain_params(row_params_);
  extent.has_observations = has_adaptive();
  extent.has_chains = has_drafts_;
  return extent;
}

int64_t LoopHost::longest_text() const {
  int64_t longest = 1;
  for (const GeneratedText &text : generation_->texts()) longest = std::max(longest, text.capacity);
  return longest;
}

bool LoopHost::call_ngram(abi::Entry &entry, const char *name, const NgramCall &call) const {
  call_back(&entry, name, call);
  return true;
}

sampler_row_params LoopHost::place_numbers(Transfer *transfer) const {
  return decoding::place_numbers(row_params_, generation_->num_texts(), transfer);
}

sampler_row_params LoopHost::place_plain_numbers(const sampler_row_params &numbers,
                                                 Transfer *) const {
  return plain_params(numbers);
}

bool LoopHost::has_adaptive() const {
  return params_.adaptive_kind != SAMPLER_ADAPTIVE_NONE || row_params_.adaptive_kind ||
         params_.top_p_decay != 0 || row_params_.top_p_decay;
}

float LoopHost::entropy_temperature(int32_t sequence) const {
  const float *const by_text = row_params_.temperature;
  const sampler_params *const params = generation_->args().params;
  const float value = by_text ? by_text[sequence] : params ? params->temperature : 1.0f;
  // A text's own may be invalid, NaN too: that makes its rows bad, not the call.
  return value <= contract::kLargestTemperature ? value : 1.0f;
}

}  // namespace sampler::decoding
