#include "gpt2.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "safetensors.h"

namespace generate {

namespace {

// Adds in a fixed order, in lanes that the compiler may keep in vector registers.
float dot(const float *a, const float *b, std::size_t size) {
  constexpr std::size_t kLanes = 8;
  float sums[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  for (; i < size; ++i) sums[i % kLanes] += a[i] * b[i];
  float total = 0;
  for (const float sum : sums) total += sum;
  return total;
}

// out[d] = the sum of weights[j] * values[j * stride + d], added in the order of j, in registers.
template <std::size_t kSize>
void add_weighted(const std::vector<float> &weights, const float *values, std::size_t stride,
                  float *out) {
  float sums[kSize] = {};
  for (const float weight : weights) {
    for (std::size_t d = 0; d < kSize; ++d) sums[d] += weight * values[d];
    values += stride;
  }
  for (std::size_t d = 0; d < kSize; ++d) out[d] = sums[d];
}

// The same for any number of sums.
void add_weighted(const std::vector<float> &weights, const float *values, std::size_t stride,
                  std::size_t size, float *out) {
  std::size_t d = 0;
  for (; d + 32 <= size; d += 32) add_weighted<32>(weights, values + d, stride, out + d);
  for (; d + 8 <= size; d += 8) add_weighted<8>(weights, values + d, stride, out + d);
  for (; d < size; ++d) add_weighted<1>(weights, values + d, stride, out + d);
}

// 0.5 x (1 + tanh(z)) = x / (1 + exp(-2 z)).
float gelu_tanh(float x) {
  constexpr float kSqrt2OverPi = 0.7978845608f;
  const float z = kSqrt2OverPi * (x + 0.044715f * x * x * x);
  return x / (1.0f + std::exp(-2.0f * z));
}

float gelu_erf(float x) {
  constexpr float kSqrtHalf = 0.7071067812f;
  return 0.5f * x * (1.0f + std::erf(x * kSqrtHalf));
}

void add(const std::vector<float> &terms, std::vector<float> *sums) {
  for (std::size_t i = 0; i < terms.size(); ++i) (*sums)[i] += terms[i];
}

}  // namespace

void Gpt2Sequence::truncate(int length) {
  if (length < 0 || length > length_) {
    throw std::invalid_argument("a sequence is cut to more tokens than it has, or fewer than none");
  }
  length_ = length;
}

// Reads the parts of a model by their names, which may all have one prefix.
class Gpt2Model::Loader {
 public:
  explicit Loader(const std::filesystem::path &path) : file_(path) {
    const bool has_prefix =
        !file_.contains("wte.weight") && file_.contains("transformer.wte.weight");
    if (has_prefix) prefix_ = "transformer.";
  }

  std::vector<float> tensor(const std::string &name, const Shape &shape) {
    return file_.read_f32(prefix_ + name, shape);
  }

  LayerNorm layer_norm(const std::string &name, int size) {
    return {tensor(name + ".weight", {size}), tensor(name + ".bias", {size})};
  }

  Linear linear(const std::string &name, int num_inputs, int num_outputs) {
    return {pack(tensor(name + ".weight", {num_inputs, num_outputs}), num_inputs, num_outputs,
                 Layout::kInOut),
            tensor(name + ".bias", {num_outputs})};
  }

  // wte and lm_head, which alone stand as [out, in]; lm_head has no prefix.
  PackedMatrix head(const std::string &full_name, const Gpt2Config &config) {
    return pack(file_.read_f32(full_name, {config.vocab_size, config.n_embd}), config.n_embd,
                config.vocab_size, Layout::kOutIn);
  }

  const std::string &prefix() const { return prefix_; }

 private:
  static PackedMatrix pack(const std::vector<float> &weights, int num_inputs, int num_outputs,
                           Layout layout) {
    return {weights, static_cast<std::size_t>(num_inputs), static_cast<std::size_t>(num_outputs),
            layout};
  }

  SafetensorsFile file_;
  std::string prefix_;
};

Gpt2Model::Gpt2Model(const std::filesystem::path &directory)
    : config_(read_gpt2_config(directory / "config.json")),
      n_embd_(static_cast<std::size_t>(config_.n_embd)) {
  Loader loader(directory / "model.safetensors");
  const int width = config_.n_embd;
  wte_ = loader.head(loader.prefix() + "wte.weight", config_);
  wpe_ = loader.tensor("wpe.weight", {config_.n_positions, width});
  for (int i = 0; i < config_.n_layer; ++i) {
    const std::string block = "h." + std::to_string(i) + ".";
    blocks_.push_back({loader.layer_norm(block + "ln_1", width),
                       loader.linear(block + "attn.c_attn", width, 3 * width),
                       loader.linear(block + "attn.c_proj", width, width),
                       loader.layer_norm(block + "ln_2", width),
                       loader.linear(block + "mlp.c_fc", width, config_.n_inner),
                       loader.linear(block + "mlp.c_proj", config_.n_inner, width)});
  }
  ln_f_ = loader.layer_norm("ln_f", width);
  if (!config_.tie_word_embeddings) lm_head_ = loader.head("lm_head.weight", config_);
}

void Gpt2Model::forward(const std::vector<TokenSpan> &spans, float *out_logits,
                        std::size_t row_stride) const {
  check_spans(spans);
  std::vector<float> hidden = embed(spans);
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
    add_attention(layer, spans, &hidden);
    add_mlp(layer, &hidden);
  }
  std::vector<float> wanted;
  const float *end = hidden.data();
  for (const TokenSpan &span : spans) {
    end += static_cast<std::size_t>(span.num_tokens) * n_embd_;
    wanted.insert(wanted.end(), end - static_cast<std::size_t>(span.num_logits) * n_embd_, end);
  }
  const PackedMatrix &head = lm_head_ ? *lm_head_ : wte_;
  head.multiply(normalize(ln_f_, wanted).data(), wanted.size() / n_embd_, nullptr, out_logits,
                row_stride);
  for (const TokenSpan &span : spans) span.sequence->length_ += span.num_tokens;
}

void Gpt2Model::check_spans(const std::vector<TokenSpan> &spans) const {
  for (const TokenSpan &span : spans) {
    if (span.num_tokens < 1 || span.num_tokens > config_.n_positions - span.sequence->length_) {
      throw std::invalid_argument("a span has no token, or more than its sequence has room for");
    }
    if (span.num_logits < 0 || span.num_logits > span.num_tokens) {
      throw std::invalid_argument("a span has fewer tokens than logits are wanted of it");
    }
    for (int i = 0; i < span.num_tokens; ++i) {
      if (span.token_ids[i] < 0 || span.token_ids[i] >= config_.vocab_size) {
        throw std::invalid_argument("a token id is outside the vocabulary");
      }
    }
  }
}

std::vector<float> Gpt2Model::embed(const std::vector<TokenSpan> &spans) const {
  std::vector<float> hidden;
  for (const TokenSpan &span : spans) {
    for (int i = 0; i < span.num_tokens; ++i) {
      hidden.resize(hidden.size() + n_embd_);
      float *row = &hidden[hidden.size() - n_embd_];
      wte_.copy_output(static_cast<std::size_t>(span.token_ids[i]), row);
      const int position = span.sequence->length_ + i;
      const float *position_row = &wpe_[static_cast<std::size_t>(position) * n_embd_];
      for (std::size_t d = 0; d < n_embd_; ++d) row[d] += position_row[d];
    }
  }
  return hidden;
}

std::vector<float> Gpt2Model::normalize(const LayerNorm &norm,
                                        const std::vector<float> &hidden) const {
  std::vector<float> out(hidden.size());
  for (std::size_t begin = 0; begin < hidden.size(); begin += n_embd_) {
    const float *x = &hidden[begin];
    double sum = 0;
    for (std::size_t d = 0; d < n_embd_; ++d) sum += x[d];
    const double mean = sum / static_cast<double>(n_embd_);
    double squares = 0;
    for (std::size_t d = 0; d < n_embd_; ++d) squares += (x[d] - mean) * (x[d] - mean);
    const double variance = squares / static_cast<double>(n_embd_);
    const double scale = 1.0 / std::sqrt(variance + config_.layer_norm_epsilon);
    for (std::size_t d = 0; d < n_embd_; ++d) {
      out[begin + d] = static_cast<float>((x[d] - mean) * scale) * norm.weight[d] + norm.bias[d];
    }
  }
  return out;
}

void Gpt2Model::add_attention(std::size_t layer, const std::vector<TokenSpan> &spans,
                              std::vector<float> *hidden) const {
  const Block &block = blocks_[layer];
  const std::size_t num_rows = hidden->size() / n_embd_;
  std::vector<float> qkv(3 * hidden->size());
  block.attn_c_attn.weight.multiply(normalize(block.ln_1, *hidden).data(), num_rows,
                                    block.attn_c_attn.bias.data(), qkv.data());

  float scale = 1.0f;
  const int head_size = config_.n_embd / config_.n_head;
  if (config_.scale_attn_weights) scale /= std::sqrt(static_cast<float>(head_size));
  if (config_.scale_attn_by_inverse_layer_idx) scale /= static_cast<float>(layer + 1);

  std::vector<float> attended(hidden->size());
  const float *row = qkv.data();
  float *out = attended.data();
  for (const TokenSpan &span : spans) {
    Gpt2Sequence::KvCache &cache = span.sequence->layers_[layer];
    const std::size_t num_kept = static_cast<std::size_t>(span.sequence->length_) * n_embd_;
    cache.keys.resize(num_kept);
    cache.values.resize(num_kept);
    for (int i = 0; i < span.num_tokens; ++i) {
      cache.keys.insert(cache.keys.end(), row + n_embd_, row + 2 * n_embd_);
      cache.values.insert(cache.values.end(), row + 2 * n_embd_, row + 3 * n_embd_);
      attend(cache, row, span.sequence->length_ + i + 1, scale, out);
      row += 3 * n_embd_;
      out += n_embd_;
    }
  }

  std::vector<float> projected(hidden->size());
  block.attn_c_proj.weight.multiply(attended.data(), num_rows, block.attn_c_proj.bias.data(),
                                    projected.data());
  add(projected, hidden);
}

// One token's attention to the first num_keys tokens of its sequence.
void Gpt2Model::attend(const Gpt2Sequence::KvCache &cache, const float *query, int num_keys,
                       float scale, float *out) const {
  const std::size_t head_size = n_embd_ / static_cast<std::size_t>(config_.n_head);
  std::vector<float> weights(static_cast<std::size_t>(num_keys));
  for (std::size_t head = 0; head < n_embd_; head += head_size) {
    float highest = -INFINITY;
    for (std::size_t j = 0; j < weights.size(); ++j) {
      weights[j] = scale * dot(query + head, &cache.keys[j * n_embd_ + head], head_size);
      highest = std::max(highest, weights[j]);
    }
    float sum = 0;
    for (std::size_t j = 0; j < weights.size(); ++j) {
      weights[j] = std::exp(weights[j] - highest);
      sum += weights[j];
    }
    add_weighted(weights, &cache.values[head], n_embd_, head_size, out + head);
    for (std::size_t d = 0; d < head_size; ++d) out[head + d] /= sum;
  }
}

void Gpt2Model::add_mlp(std::size_t layer, std::vector<float> *hidden) const {
  const Block &block = blocks_[layer];
  const std::size_t num_rows = hidden->size() / n_embd_;
  std::vector<float> inner(num_rows * static_cast<std::size_t>(config_.n_inner));
  block.mlp_c_fc.weight.multiply(normalize(block.ln_2, *hidden).data(), num_rows,
                                 block.mlp_c_fc.bias.data(), inner.data());
  const auto activate = config_.activation == Activation::kGeluTanh ? gelu_tanh : gelu_erf;
  for (float &x : inner) x = activate(x);
  std::vector<float> projected(hidden->size());
  block.mlp_c_proj.weight.multiply(inner.data(), num_rows, block.mlp_c_proj.bias.data(),
                                   projected.data());
  add(projected, hidden);
}

}  // namespace generate
