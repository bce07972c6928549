#include "gpt2_config.h"

#include <cmath>
#include <string>

#include "error.h"
#include "json_file.h"

namespace generate {

namespace {

// The sampler's limit for the vocabulary; far above any GPT-2 for the other sizes, and small enough
// that no product of two overflows.
constexpr std::int64_t kMaxSize = (1 << 20) - 1;

// Reads members; one that is missing or null has no value.
class ConfigReader {
 public:
  explicit ConfigReader(const std::filesystem::path &path)
      : path_(path.string()), json_(read_json_object(path)) {}

  [[noreturn]] void fail(const std::string &what) const { throw Error(path_ + ": " + what); }

  bool has(const char *key) const { return json_.contains(key) && !json_.at(key).is_null(); }

  int integer(const char *key, std::int64_t lowest, std::int64_t highest) const {
    if (!has(key)) fail(std::string(key) + " is missing");
    const nlohmann::json &value = json_.at(key);
    const bool in_range = value.is_number_integer() && value >= lowest && value <= highest;
    if (!in_range) {
      fail_value(key,
                 "an integer in [" + std::to_string(lowest) + ", " + std::to_string(highest) + "]");
    }
    return value.get<int>();
  }

  int size(const char *key) const { return integer(key, 1, kMaxSize); }

  bool boolean(const char *key, bool default_value) const {
    if (!has(key)) return default_value;
    if (!json_.at(key).is_boolean()) fail_value(key, "true or false");
    return json_.at(key).get<bool>();
  }

  std::string text(const char *key, const char *default_value) const {
    if (!has(key)) return default_value;
    if (!json_.at(key).is_string()) fail_value(key, "a string");
    return json_.at(key).get<std::string>();
  }

  float fraction(const char *key, float default_value) const {
    if (!has(key)) return default_value;
    const nlohmann::json &value = json_.at(key);
    if (!value.is_number() || value < 0 || value > 1) fail_value(key, "a number in [0, 1]");
    return value.get<float>();
  }

  [[noreturn]] void fail_value(const char *key, const std::string &rule) const {
    fail(std::string(key) + " is " + json_.at(key).dump() + "; it must be " + rule);
  }

 private:
  std::string path_;
  nlohmann::json json_;
};

Activation read_activation(const ConfigReader &reader) {
  const std::string name = reader.text("activation_function", "gelu_new");
  if (name == "gelu_new" || name == "gelu_pytorch_tanh") return Activation::kGeluTanh;
  if (name == "gelu") return Activation::kGeluErf;
  reader.fail_value("activation_function", "gelu_new, gelu_pytorch_tanh or gelu");
}

}  // namespace

Gpt2Config read_gpt2_config(const std::filesystem::path &path) {
  const ConfigReader reader(path);
  if (reader.text("model_type", "gpt2") != "gpt2") reader.fail_value("model_type", "gpt2");
  if (reader.boolean("add_cross_attention", false)) {
    reader.fail_value("add_cross_attention", "false");
  }
  Gpt2Config config;
  config.vocab_size = reader.size("vocab_size");
  config.n_positions = reader.size("n_positions");
  config.n_embd = reader.size("n_embd");
  config.n_layer = reader.size("n_layer");
  config.n_head = reader.size("n_head");
  config.n_inner = reader.has("n_inner") ? reader.size("n_inner") : 4 * config.n_embd;
  if (config.n_embd % config.n_head != 0) {
    reader.fail("n_head is " + std::to_string(config.n_head) +
                "; it must divide n_embd, which is " + std::to_string(config.n_embd));
  }
  config.activation = read_activation(reader);
  config.layer_norm_epsilon = reader.fraction("layer_norm_epsilon", 1e-5f);
  config.scale_attn_weights = reader.boolean("scale_attn_weights", true);
  config.scale_attn_by_inverse_layer_idx = reader.boolean("scale_attn_by_inverse_layer_idx", false);
  config.tie_word_embeddings = reader.boolean("tie_word_embeddings", true);
  if (reader.has("eos_token_id")) {
    config.eos_token_id = reader.integer("eos_token_id", 0, config.vocab_size - 1);
  }
  return config;
}

}  // namespace generate
