// A model of llama.cpp's and one text.
#ifndef SAMPLER_TESTS_TOOLS_PEERS_LLAMA_MODEL_H_
#define SAMPLER_TESTS_TOOLS_PEERS_LLAMA_MODEL_H_

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <llama.h>

namespace llama_peer {

using Text = std::vector<llama_token>;

class Model {
 public:
  explicit Model(const std::string &path) {
    llama_model_params model_params = llama_model_default_params();
    model_.reset(llama_model_load_from_file(path.c_str(), model_params));
    if (!model_) throw std::runtime_error("llama.cpp does not load " + path);
    llama_context_params params = llama_context_default_params();
    params.n_ctx = params.n_batch = 192;
    params.n_threads = params.n_threads_batch = 1;
    context_.reset(llama_init_from_model(model_.get(), params));
    if (!context_) throw std::runtime_error("llama.cpp makes no context of " + path);
  }

  llama_context *context() { return context_.get(); }
  const llama_vocab *vocab() const { return llama_model_get_vocab(model_.get()); }
  int64_t num_vocab() const { return llama_vocab_n_tokens(vocab()); }

  void begin() { llama_memory_clear(llama_get_memory(context_.get()), true); }

  // The logits after these tokens, which follow those before.
  const float *decode(Text tokens) {
    if (llama_decode(context_.get(), llama_batch_get_one(tokens.data(), int32_t(tokens.size()))))
      throw std::runtime_error("llama_decode fails");
    llama_synchronize(context_.get());
    return llama_get_logits_ith(context_.get(), -1);
  }

  Text tokens_of(const std::string &text) const {
    Text tokens(text.size() + 1);
    const int32_t count = llama_tokenize(vocab(), text.data(), int32_t(text.size()), tokens.data(),
                                         int32_t(tokens.size()), false, false);
    if (count < 0) throw std::runtime_error("llama_tokenize fails");
    tokens.resize(size_t(count));
    return tokens;
  }
  std::string text_of(const Text &tokens) const {
    std::string text;
    for (const llama_token token : tokens) {
      char piece[64];
      const int32_t size = llama_token_to_piece(vocab(), token, piece, sizeof piece, 0, true);
      text.append(piece, size_t(size > 0 ? size : 0));
    }
    return text;
  }

 private:
  struct Freed {
    void operator()(llama_model *model) const { llama_model_free(model); }
    void operator()(llama_context *context) const { llama_free(context); }
  };
  std::unique_ptr<llama_model, Freed> model_;
  std::unique_ptr<llama_context, Freed> context_;
};

}  // namespace llama_peer

#endif  // SAMPLER_TESTS_TOOLS_PEERS_LLAMA_MODEL_H_
