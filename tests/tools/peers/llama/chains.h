// llama.cpp's sampler chain and this library's adapter, with the same parameters.
#ifndef SAMPLER_TESTS_TOOLS_PEERS_LLAMA_CHAINS_H_
#define SAMPLER_TESTS_TOOLS_PEERS_LLAMA_CHAINS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "../../../../integrations/llama_cpp/sampler_llama.h"

namespace llama_peer {

// By llama.cpp's names and with its defaults, those of common_params_sampling.
struct Settings {
  std::string name;
  float temp = 0.8f;
  int32_t top_k = 40;
  float top_p = 0.95f, min_p = 0.05f, typ_p = 1.0f, top_n_sigma = -1.0f;
  float xtc_probability = 0.0f, xtc_threshold = 0.1f;
  int32_t penalty_last_n = 64;
  float penalty_repeat = 1.0f, penalty_freq = 0.0f, penalty_present = 0.0f;
  float dry_multiplier = 0.0f;
};

struct Freed {
  void operator()(llama_sampler *smpl) const { llama_sampler_free(smpl); }
};
using Sampler = std::unique_ptr<llama_sampler, Freed>;

// As common_sampler_init() puts it together; without the draw, what the draw is from.
Sampler llamas(const Settings &settings, int64_t num_vocab, uint32_t seed, bool draws = true);

// Throws with the reason where it cannot be made.
Sampler ours(const Settings &settings, int64_t num_vocab, uint64_t seed, const char *library);

}  // namespace llama_peer

#endif  // SAMPLER_TESTS_TOOLS_PEERS_LLAMA_CHAINS_H_
