// llama.cpp's samplers, from a libllama.so that is opened at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "operations.h"

namespace cpu_bench {

// The part of llama.h used here, as declared since September 2024.
struct llama_sampler;
struct llama_sampler_chain_params {
  bool no_perf;
};
struct llama_token_data {
  int32_t id;
  float logit;
  float p;
};
struct llama_token_data_array {
  llama_token_data *data;
  size_t size;
  int64_t selected;  // an index into data, or -1
  bool sorted;
};

class LlamaLibrary {
 public:
  // Throws std::runtime_error if the library cannot be opened, lacks a function, or gives an
  // unexpected result for a greedy chain.
  explicit LlamaLibrary(const std::string &path);
  ~LlamaLibrary();
  LlamaLibrary(const LlamaLibrary &) = delete;
  LlamaLibrary &operator=(const LlamaLibrary &) = delete;

  // The library's version; "of unknown version" if it has no function for it.
  const std::string &version() const { return version_; }

 private:
  friend class LlamaChain;
  template <class Function>
  void load(const char *name, Function *out_function);
  void check_layout() const;
  void check_penalties() const;

  std::string path_, version_;
  void *library_ = nullptr;
  llama_sampler_chain_params (*chain_default_params_)() = nullptr;
  llama_sampler *(*chain_init_)(llama_sampler_chain_params params) = nullptr;
  void (*chain_add_)(llama_sampler *chain, llama_sampler *sampler) = nullptr;
  llama_sampler *(*init_greedy_)() = nullptr;
  llama_sampler *(*init_dist_)(uint32_t seed) = nullptr;
  llama_sampler *(*init_temp_)(float temperature) = nullptr;
  llama_sampler *(*init_top_k_)(int32_t k) = nullptr;
  llama_sampler *(*init_top_p_)(float p, size_t min_keep) = nullptr;
  llama_sampler *(*init_min_p_)(float p, size_t min_keep) = nullptr;
  llama_sampler *(*init_penalties_)(int32_t num_vocab, int32_t last_n, float repetition,
                                    float frequency, float presence) = nullptr;
  llama_sampler *(*init_dry_)(const void *vocab, float multiplier, float base,
                              int32_t allowed_length, int32_t last_n, const char **breakers,
                              size_t num_breakers) = nullptr;
  void (*apply_)(llama_sampler *sampler, llama_token_data_array *candidates) = nullptr;
  void (*accept_)(llama_sampler *sampler, int32_t token_id) = nullptr;
  void (*free_)(llama_sampler *sampler) = nullptr;
};

// The chain with the same distribution: top-k, temperature, top-p, min-p and a draw; or greedy
// only. top-k comes first, since the temperature does not change its result and then costs less.
// For Stages::kLlama the default chain, with penalties and DRY first and the temperature last.
class LlamaChain {
 public:
  // Accepts the history.
  LlamaChain(const LlamaLibrary &library, const Work &work, const std::vector<int32_t> &history,
             int64_t num_cols);

  // As llama_sampler_sample: fills the candidates from the logits, applies the chain, accepts the
  // token. Reuses the candidate array.
  int32_t sample(const float *logits, int64_t num_cols);

 private:
  void add(llama_sampler *sampler) { library_.chain_add_(chain_.get(), sampler); }
  void add_repeats(int32_t num_cols, int32_t length);

  const LlamaLibrary &library_;
  const std::unique_ptr<llama_sampler, void (*)(llama_sampler *)> chain_;
  std::vector<llama_token_data> candidates_;
};

}  // namespace cpu_bench
