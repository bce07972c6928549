#include "gpt2.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>

#include "safetensors.h"

namespace generate {

namespace {

// The sum of term(i) for i below `size`, added in a fixed order as 8 sums, which do not wait for
// each other.
template <typename Term>
double sum_of(std::size_t size, const Term &term) {
  constexpr std::size_t kNumSums = 8;
  double sums[kNumSums] = {};
  std::size_t i = 0;
  for (; i + kNumSums <= size; i += kNumSums) {
    for (std::size_t j = 0; j < kNumSums; ++j) sums[j] += term(i + j);
  }
  for (; i < size; ++i) sums[i % kNumSums] += term(i);
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

// What every machine has registers for.
using Vector = float __attribute__((vector_size(16)));
using Words = std::uint32_t __attribute__((vector_size(16)));
constexpr std::size_t kLanes = sizeof(Vector) / sizeof(float);

// values[i] = function(values[i]), by a function of vectors.
template <typename Function>
void apply(float *values, std::size_t size, const Function &function) {
  const auto apply_to = [&](std::size_t count) {
    Vector vector = {};
    std::memcpy(&vector, values, count * sizeof(float));
    vector = function(vector);
    std::memcpy(values, &vector, count * sizeof(float));
  };
  for (; size >= kLanes; size -= kLanes, values += kLanes) apply_to(kLanes);
  if (size > 0) apply_to(size);
}

// e^x within 2 units in the last place, of x in [-87, 88]; beyond, that of the nearer bound.
Vector exponential(Vector x) {
  constexpr float kLog2E = 1.44269504f, kLn2Upper = 0.693359375f, kLn2Lower = -2.12194440e-4f;
  constexpr float kRounder = 0x1.8p23f;  // adding it leaves no bits after the point
  constexpr Vector kLowest = {-87, -87, -87, -87}, kHighest = {88, 88, 88, 88};
  x = x < kLowest ? kLowest : x;
  x = x > kHighest ? kHighest : x;
  const Vector rounded = x * kLog2E + kRounder;
  const Vector exponent = rounded - kRounder;
  const Vector r = x - exponent * kLn2Upper - exponent * kLn2Lower;
  // Cephes' polynomial of |r| <= ln(2) / 2.
  Vector p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  Words bits;
  std::memcpy(&bits, &rounded, sizeof bits);
  bits = (bits + 127) << 23;  // the rounder's own bits are shifted out
  Vector power;
  std::memcpy(&power, &bits, sizeof power);
  return p * power;
}

// Makes scores weights that are not yet divided by their sum, which it returns.
float exponentiate(float *scores, std::size_t size, float scale) {
  const float highest = *std::max_element(scores, scores + size);
  apply(scores, size, [&](Vector score) { return exponential(scale * (score - highest)); });
  return static_cast<float>(
      sum_of(size, [&](std::size_t j) { return static_cast<double>(scores[j]); }));
}

// 0.5 x (1 + tanh(z)) = x / (1 + exp(-2 z)).
Vector gelu_tanh(Vector x) {
  constexpr float kSqrt2OverPi = 0.7978845608f;
  const Vector z = kSqrt2OverPi * (x + 0.044715f * x * x * x);
  return x / (1.0f + exponential(-2.0f * z));
}

float gelu_erf(float x) {
  constexpr float kSqrtHalf = 0.7071067812f;
  return 0.5f * x * (1.0f + std::erf(x * kSqrtHalf));
}

void add(const std::vector<float> &terms, std::vector<float> *sums) {
  for (std::size_t i = 0; i < terms.size(); ++i) (*sums)[i] += terms[i];
}

// The places in a span with parents of what a token sees, itself the last.
void find_seen(const std::int32_t *parents, std::int32_t token, std::vector<std::size_t> *places) {
  places->clear();
  for (; token >= 0; token = parents[token]) places->push_back(static_cast<std::size_t>(token));
  std::reverse(places->begin(), places->end());
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
  const std::vector<float> wanted = run_blocks(spans);
  head().multiply(wanted.data(), wanted.size() / n_embd_, nullptr, out_logits, row_stride);
  for (const TokenSpan &span : spans) span.sequence->length_ += span.num_tokens;
}

void Gpt2Model::forward_share(const std::vector<TokenSpan> &spans, TokenRange range,
                              float *out_logits) const {
  const std::vector<float> wanted = run_blocks(spans);
  head().multiply_part(wanted.data(), wanted.size() / n_embd_, range.begin, range.end, out_logits,
                       range.size());
  for (const TokenSpan &span : spans) span.sequence->length_ += span.num_tokens;
}

TokenRange Gpt2Model::share(int rank, int num_ranks) const {
  const auto size = static_cast<std::size_t>(config_.vocab_size);
  const std::size_t num_panels = (size + kPanelWidth - 1) / kPanelWidth;
  const auto begin = [&](int r) {
    return num_panels * static_cast<std::size_t>(r) / static_cast<std::size_t>(num_ranks) *
           kPanelWidth;
  };
  return {std::min(size, begin(rank)), std::min(size, begin(rank + 1))};
}

// What the last product makes logits of: [all num_logits, n_embd]. The tokens are not counted to
// their sequences yet.
std::vector<float> Gpt2Model::run_blocks(const std::vector<TokenSpan> &spans) const {
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
  return normalize(ln_f_, wanted);
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
      if (span.parents != nullptr && (span.parents[i] < -1 || span.parents[i] >= i)) {
        throw std::invalid_argument("a token follows one that does not come before it");
      }
    }
  }
}

std::vector<float> Gpt2Model::embed(const std::vector<TokenSpan> &spans) const {
  std::vector<float> hidden;
  std::vector<int> positions;
  for (const TokenSpan &span : spans) {
    positions.clear();
    for (int i = 0; i < span.num_tokens; ++i) {
      hidden.resize(hidden.size() + n_embd_);
      float *row = &hidden[hidden.size() - n_embd_];
      wte_.copy_output(static_cast<std::size_t>(span.token_ids[i]), row);
      const int parent = span.parents != nullptr ? span.parents[i] : i - 1;
      positions.push_back(parent < 0 ? span.sequence->length_
                                     : positions[static_cast<std::size_t>(parent)] + 1);
      const float *position_row = &wpe_[static_cast<std::size_t>(positions.back()) * n_embd_];
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
    const double sum = sum_of(n_embd_, [&](std::size_t d) { return static_cast<double>(x[d]); });
    const double mean = sum / static_cast<double>(n_embd_);
    const double squares =
        sum_of(n_embd_, [&](std::size_t d) { return (x[d] - mean) * (x[d] - mean); });
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
    const auto num_tokens = static_cast<std::size_t>(span.num_tokens);
    const auto length = static_cast<std::size_t>(span.sequence->length_);
    Gpt2Sequence::KvCache &cache = span.sequence->layers_[layer];
    append(row, num_tokens, length, &cache);
    attend(cache, row, span, scale, out);
    row += num_tokens * 3 * n_embd_;
    out += num_tokens * n_embd_;
  }

  std::vector<float> projected(hidden->size());
  block.attn_c_proj.weight.multiply(attended.data(), num_rows, block.attn_c_proj.bias.data(),
                                    projected.data());
  add(projected, hidden);
}

// Puts the keys and values of new tokens after the `length` that are kept.
void Gpt2Model::append(const float *qkv, std::size_t num_tokens, std::size_t length,
                       Gpt2Sequence::KvCache *cache) const {
  const std::size_t end = length + num_tokens;
  cache->keys.resize((end + kPanelWidth - 1) / kPanelWidth * n_embd_);
  cache->values.resize(end * n_embd_ + kPanelWidth);
  for (std::size_t position = length; position < end; ++position, qkv += 3 * n_embd_) {
    PanelRow *panel = &cache->keys[position / kPanelWidth * n_embd_];
    const float *key = qkv + n_embd_;
    for (std::size_t d = 0; d < n_embd_; ++d) panel[d].weights[position % kPanelWidth] = key[d];
    std::copy_n(qkv + 2 * n_embd_, n_embd_, &cache->values[position * n_embd_]);
  }
}

// The attention of a span's tokens to the sequence before it and to what they see of the span. For
// each head that is two products: queries and keys give scores, these become weights, and weights
// and values give what is attended to. A weight is 0 where a token does not look. Scores of a tree
// are weighed side by side, so that sums are those of the path alone.
void Gpt2Model::attend(const Gpt2Sequence::KvCache &cache, const float *qkv, const TokenSpan &span,
                       float scale, float *out) const {
  const std::size_t head_size = n_embd_ / static_cast<std::size_t>(config_.n_head);
  const auto num_tokens = static_cast<std::size_t>(span.num_tokens);
  const auto length = static_cast<std::size_t>(span.sequence->length_);
  const std::size_t num_keys = length + num_tokens;
  std::vector<float> weights(num_tokens * num_keys);
  std::vector<float> sums(num_tokens);
  std::vector<std::size_t> seen;  // of a tree
  for (std::size_t head = 0; head < n_embd_; head += head_size) {
    multiply({cache.keys[head].weights, n_embd_ * kPanelWidth, kPanelWidth, head_size, num_keys,
              qkv + head, 3 * n_embd_, num_tokens, nullptr, weights.data(), num_keys});
    for (std::size_t i = 0; i < num_tokens; ++i) {
      float *const row = &weights[i * num_keys];
      if (span.parents != nullptr) {
        find_seen(span.parents, static_cast<std::int32_t>(i), &seen);
        for (std::size_t j = 0; j < seen.size(); ++j) row[length + j] = row[length + seen[j]];
      }
      const std::size_t end = length + (span.parents != nullptr ? seen.size() : i + 1);
      sums[i] = exponentiate(row, end, scale);
      std::fill(row + end, row + num_keys, 0.0f);
      for (std::size_t j = seen.size(); j-- > 0;) std::swap(row[length + j], row[length + seen[j]]);
    }
    multiply({&cache.values[head], kPanelWidth, n_embd_, num_keys, head_size, weights.data(),
              num_keys, num_tokens, nullptr, out + head, n_embd_});
    for (std::size_t i = 0; i < num_tokens; ++i) {
      for (std::size_t d = 0; d < head_size; ++d) out[i * n_embd_ + head + d] /= sums[i];
    }
  }
}

void Gpt2Model::add_mlp(std::size_t layer, std::vector<float> *hidden) const {
  const Block &block = blocks_[layer];
  const std::size_t num_rows = hidden->size() / n_embd_;
  std::vector<float> inner(num_rows * static_cast<std::size_t>(config_.n_inner));
  block.mlp_c_fc.weight.multiply(normalize(block.ln_2, *hidden).data(), num_rows,
                                 block.mlp_c_fc.bias.data(), inner.data());
  if (config_.activation == Activation::kGeluTanh) {
    apply(inner.data(), inner.size(), gelu_tanh);
  } else {
    for (float &x : inner) x = gelu_erf(x);
  }
  std::vector<float> projected(hidden->size());
  block.mlp_c_proj.weight.multiply(inner.data(), num_rows, block.mlp_c_proj.bias.data(),
                                   projected.data());
  add(projected, hidden);
}

}  // namespace generate
