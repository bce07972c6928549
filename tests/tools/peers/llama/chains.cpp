#include "chains.h"

#include <stdexcept>

namespace llama_peer {

Sampler llamas(const Settings &settings, int64_t num_vocab, uint32_t seed, bool draws) {
  constexpr float kDryBase = 1.75f;
  constexpr int32_t kDryAllowedLength = 2, kDryLastN = 64;
  constexpr size_t kMinKeep = 0;
  Sampler chain(llama_sampler_chain_init(llama_sampler_chain_default_params()));
  const auto add = [&](llama_sampler *smpl) { llama_sampler_chain_add(chain.get(), smpl); };
  add(llama_sampler_init_penalties(int32_t(num_vocab), settings.penalty_last_n,
                                   settings.penalty_repeat, settings.penalty_freq,
                                   settings.penalty_present));
  add(llama_sampler_init_dry(nullptr, settings.dry_multiplier, kDryBase, kDryAllowedLength,
                             kDryLastN, nullptr, 0));
  add(llama_sampler_init_top_n_sigma(settings.top_n_sigma));
  add(llama_sampler_init_top_k(settings.top_k));
  add(llama_sampler_init_typical(settings.typ_p, kMinKeep));
  add(llama_sampler_init_top_p(settings.top_p, kMinKeep));
  add(llama_sampler_init_min_p(settings.min_p, kMinKeep));
  add(llama_sampler_init_xtc(settings.xtc_probability, settings.xtc_threshold, kMinKeep, seed));
  add(llama_sampler_init_temp_ext(settings.temp, 0.0f, 1.0f));
  if (draws) add(llama_sampler_init_dist(seed));
  return chain;
}

Sampler ours(const Settings &settings, int64_t num_vocab, uint64_t seed, const char *library) {
  char error[SAMPLER_DL_ERROR_SIZE];
  sampler_dl lib;
  if (!sampler_dl_open(&lib, library, error)) throw std::runtime_error(error);
  sampler_params params;
  const sampler_status status = lib.params_preset(&params, sizeof params, "llama.cpp@0.5");
  sampler_dl_close(&lib);
  if (status != SAMPLER_OK) throw std::runtime_error("no preset of llama.cpp 0.5");
  params.temperature = settings.temp;
  params.top_k = settings.top_k;
  params.top_p = settings.top_p;
  params.min_p = settings.min_p;
  params.typical_p = settings.typ_p;
  params.top_n_sigma = settings.top_n_sigma;
  params.xtc_probability = settings.xtc_probability;
  params.xtc_threshold = settings.xtc_threshold;
  params.penalty_window = settings.penalty_last_n;
  params.repetition_penalty = settings.penalty_repeat;
  params.frequency_penalty = settings.penalty_freq;
  params.presence_penalty = settings.penalty_present;
  params.dry_multiplier = settings.dry_multiplier;
  const sampler_llama_options options = {library, &params, num_vocab, seed, {}};
  Sampler made(sampler_llama_init(&options, error));
  if (!made) throw std::runtime_error(error);
  return made;
}

}  // namespace llama_peer
