#include "llama_peer.h"

#include <dlfcn.h>

#include <stdexcept>

namespace cpu_bench {

template <class Function>
void LlamaLibrary::load(const char *name, Function *out_function) {
  *out_function = reinterpret_cast<Function>(dlsym(library_, name));
  if (*out_function == nullptr) {
    throw std::runtime_error("LLAMA_LIB: " + path_ + " has no " + name +
                             "; a libllama.so of September 2024 or newer is needed");
  }
}

LlamaLibrary::LlamaLibrary(const std::string &path) : path_(path) {
  // Lazy binding: symbols of the library's other parts may be missing. Never closed: it may keep
  // threads.
  library_ = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library_ == nullptr) throw std::runtime_error(std::string("LLAMA_LIB: ") + dlerror());
  load("llama_sampler_chain_default_params", &chain_default_params_);
  load("llama_sampler_chain_init", &chain_init_);
  load("llama_sampler_chain_add", &chain_add_);
  load("llama_sampler_init_greedy", &init_greedy_);
  load("llama_sampler_init_dist", &init_dist_);
  load("llama_sampler_init_temp", &init_temp_);
  load("llama_sampler_init_top_k", &init_top_k_);
  load("llama_sampler_init_top_p", &init_top_p_);
  load("llama_sampler_init_min_p", &init_min_p_);
  load("llama_sampler_init_penalties", &init_penalties_);
  load("llama_sampler_init_dry", &init_dry_);
  load("llama_sampler_apply", &apply_);
  load("llama_sampler_accept", &accept_);
  load("llama_sampler_free", &free_);
  const auto version = reinterpret_cast<const char *(*)()>(dlsym(library_, "llama_version"));
  version_ = version == nullptr ? "of unknown version" : version();
  check_layout();
  check_penalties();
}

LlamaLibrary::~LlamaLibrary() = default;

void LlamaLibrary::check_layout() const {
  const Work greedy = {"greedy", Operation::kSample, {0.0f, 0, 1.0f, 0.0f}};
  const float logits[] = {0.5f, -1.0f, 2.0f, 1.0f, 0.0f};
  const int32_t token_id = LlamaChain(*this, greedy, {}, 5).sample(logits, 5);
  if (token_id != 2) {
    throw std::runtime_error(
        "LLAMA_LIB: " + path_ + " lays llama_token_data_array out otherwise: " +
        "a greedy chain chose token " + std::to_string(token_id) + " where 2 is the likeliest");
  }
}

// The arguments of llama.cpp's penalties differ between versions; a small row shows whether these
// are right.
void LlamaLibrary::check_penalties() const {
  Work work = {"penalties", Operation::kSample, {0.8f, 1, 1.0f, 0.0f}};
  work.stages = Stages::kLlama;
  const float logits[] = {1.9f, -1.0f, 2.0f, 1.0f, 0.0f};
  const auto sample = [&](const std::vector<int32_t> &history) {
    return LlamaChain(*this, work, history, 5).sample(logits, 5);
  };
  const bool penalizes = sample({}) == 2 && sample({2}) == 0;
  const bool finds_repeats = sample({4, 0, 2}) == 2 && sample({4, 0, 2, 4, 0}) == 0;
  if (penalizes && finds_repeats) return;
  throw std::runtime_error("LLAMA_LIB: " + path_ +
                           " has other arguments of penalties or DRY, which a small row shows");
}

LlamaChain::LlamaChain(const LlamaLibrary &library, const Work &work,
                       const std::vector<int32_t> &history, int64_t num_cols)
    : library_(library),
      chain_(library.chain_init_(library.chain_default_params_()), library.free_) {
  const Filters &filters = work.filters;
  if (filters.temperature == 0.0f) {
    add(library.init_greedy_());
    return;
  }
  const bool is_default = work.stages == Stages::kLlama;
  if (is_default) add_repeats(int32_t(num_cols), int32_t(history.size()));
  if (filters.top_k > 0) add(library.init_top_k_(filters.top_k));
  if (!is_default && filters.temperature != 1.0f) add(library.init_temp_(filters.temperature));
  if (filters.top_p < 1.0f) add(library.init_top_p_(filters.top_p, 1));
  if (filters.min_p > 0.0f) add(library.init_min_p_(filters.min_p, 1));
  if (is_default) add(library.init_temp_(filters.temperature));
  add(library.init_dist_(1));
  for (const int32_t token_id : history) library.accept_(chain_.get(), token_id);
}

void LlamaChain::add_repeats(int32_t num_cols, int32_t length) {
  using Numbers = LlamaNumbers;
  add(library_.init_penalties_(num_cols, Numbers::kPenaltyWindow, Numbers::kRepetitionPenalty, 0,
                               0));
  add(library_.init_dry_(nullptr, Numbers::kDryMultiplier, Numbers::kDryBase,
                         Numbers::kDryAllowedLength, length, nullptr, 0));
}

int32_t LlamaChain::sample(const float *logits, int64_t num_cols) {
  candidates_.resize(size_t(num_cols));
  for (int64_t i = 0; i < num_cols; ++i) candidates_[size_t(i)] = {int32_t(i), logits[i], 0.0f};
  llama_token_data_array array = {candidates_.data(), candidates_.size(), -1, false};
  library_.apply_(chain_.get(), &array);
  if (array.selected < 0 || array.selected >= int64_t(array.size)) return -1;
  const int32_t token_id = array.data[array.selected].id;
  library_.accept_(chain_.get(), token_id);
  return token_id;
}

}  // namespace cpu_bench
