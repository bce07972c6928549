#ifndef GENERATE_GPT2_CONFIG_H
#define GENERATE_GPT2_CONFIG_H

#include <cstdint>
#include <filesystem>
#include <optional>

namespace generate {

enum class Activation {
  kGeluTanh,  // "gelu_new", "gelu_pytorch_tanh": GPT-2's own
  kGeluErf    // "gelu"
};

// What config.json says of a model, with its names; the sizes are in [1, 2^20).
struct Gpt2Config {
  int vocab_size;
  int n_positions;  // tokens of context
  int n_embd;
  int n_layer;
  int n_head;  // divides n_embd
  int n_inner;
  Activation activation;
  float layer_norm_epsilon;
  bool scale_attn_weights;
  bool scale_attn_by_inverse_layer_idx;
  bool tie_word_embeddings;
  std::optional<std::int32_t> eos_token_id;
};

Gpt2Config read_gpt2_config(const std::filesystem::path &path);

}  // namespace generate

#endif  // GENERATE_GPT2_CONFIG_H
