#ifndef GENERATE_GPT2_H
#define GENERATE_GPT2_H

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "gpt2_config.h"
#include "matmul.h"

namespace generate {

// The tokens that a model has seen of one text: the keys and values of each layer. A copy is a fork
// of the text.
class Gpt2Sequence {
 public:
  explicit Gpt2Sequence(const Gpt2Config &config)
      : layers_(static_cast<std::size_t>(config.n_layer)) {}

  // Tokens seen.
  int length() const { return length_; }

  // Forgets all but the first `length` tokens, in [0, length()].
  void truncate(int length);

 private:
  friend class Gpt2Model;

  // Keys and values as the two products of attention want them. Tokens that were forgotten may
  // still have theirs at the end.
  struct KvCache {
    std::vector<PanelRow> keys;  // [ceil(length / 16), n_embd]: a panel has 16 tokens
    std::vector<float> values;   // [length, n_embd], and as much as a panel is read beyond its end
  };

  std::vector<KvCache> layers_;
  int length_ = 0;
};

// New tokens of a sequence, at least one, and how many logits are wanted: those that follow the
// last num_logits tokens, in [0, num_tokens].
struct TokenSpan {
  Gpt2Sequence *sequence;
  const std::int32_t *token_ids;
  int num_tokens;
  int num_logits = 1;
  // [num_tokens] Which token of the span each one follows, a lower one; -1: the sequence. NULL: the
  // one before it. A token sees those that it follows, one after the other, and no others of the
  // span.
  const std::int32_t *parents = nullptr;
};

// The ids [begin, end).
struct TokenRange {
  std::size_t begin;
  std::size_t end;

  std::size_t size() const { return end - begin; }
};

// GPT-2 (Radford et al. 2019) in f32. The logits of a sequence are the same, bit for bit, whatever
// other sequences stand beside it and however its tokens are cut into spans; those of a token with
// parents are those of the tokens that it sees.
class Gpt2Model {
 public:
  // Reads config.json and model.safetensors of `directory`.
  explicit Gpt2Model(const std::filesystem::path &directory);

  const Gpt2Config &config() const { return config_; }

  // Appends each span to its sequence, which must have room for it, and writes the logits wanted of
  // it, span after span. out_logits is [all num_logits, vocab_size], its rows row_stride floats
  // apart; 0: vocab_size. No sequence may stand in two spans. When it throws, no sequence has
  // changed. A sequence with a tree must be cut to the tokens that are its text before it goes on.
  void forward(const std::vector<TokenSpan> &spans, float *out_logits,
               std::size_t row_stride = 0) const;

  // What a process of several computes of the last product: as even as panels allow, perhaps
  // nothing. Process after process the ranges are the whole vocabulary.
  TokenRange share(int rank, int num_ranks) const;

  // The same for the logits of some ids, a share, alone. out_logits is [all num_logits,
  // range.size()].
  void forward_share(const std::vector<TokenSpan> &spans, TokenRange range,
                     float *out_logits) const;

 private:
  class Loader;

  struct LayerNorm {
    std::vector<float> weight;
    std::vector<float> bias;
  };
  struct Linear {
    PackedMatrix weight;
    std::vector<float> bias;
  };
  struct Block {
    LayerNorm ln_1;
    Linear attn_c_attn;
    Linear attn_c_proj;
    LayerNorm ln_2;
    Linear mlp_c_fc;
    Linear mlp_c_proj;
  };

  void check_spans(const std::vector<TokenSpan> &spans) const;
  std::vector<float> run_blocks(const std::vector<TokenSpan> &spans) const;
  const PackedMatrix &head() const { return lm_head_ ? *lm_head_ : wte_; }
  std::vector<float> embed(const std::vector<TokenSpan> &spans) const;
  std::vector<float> normalize(const LayerNorm &norm, const std::vector<float> &hidden) const;
  void add_attention(std::size_t layer, const std::vector<TokenSpan> &spans,
                     std::vector<float> *hidden) const;
  void append(const float *qkv, std::size_t num_tokens, std::size_t length,
              Gpt2Sequence::KvCache *cache) const;
  void attend(const Gpt2Sequence::KvCache &cache, const float *qkv, const TokenSpan &span,
              float scale, float *out) const;
  void add_mlp(std::size_t layer, std::vector<float> *hidden) const;

  Gpt2Config config_;
  std::size_t n_embd_;
  PackedMatrix wte_;
  std::vector<float> wpe_;
  std::vector<Block> blocks_;
  LayerNorm ln_f_;
  // None: the output head is tied to wte_.
  std::optional<PackedMatrix> lm_head_;
};

}  // namespace generate

#endif  // GENERATE_GPT2_H
