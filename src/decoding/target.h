// The target model of a call with its logits: steps of one token, and what all loops share.
#pragma once

#include <cstdint>

#include "decoding/cached_model.h"
#include "decoding/generation.h"
#include "decoding/operations.h"

namespace sampler::decoding {

class Target {
 public:
  // Room for num_positions rows of logits of each text.
  Target(const ExecutionTarget &place, Generation *generation, int64_t num_positions)
      : generation_(generation),
        cache_(place, generation->target(), generation->args(), generation->num_texts(),
               generation->capacity(), generation->num_texts() * num_positions),
        logits_(place, bytes_of(product({generation->num_texts(), num_positions, num_cols()}),
                                cache_.element_size())),
        sampler_(place, params_of(generation->args()), capi::sized<sampler_row_params>(),
                 generation->target(), generation->num_texts()),
        feeds_(place, generation->num_texts()) {}

  // Runs the loop; writes what it generated, even if it fails.
  template <class Loop>
  void run(const Loop &loop) {
    run_and_write([&] { loop(generation_->start()); }, [&] { write_outputs(); });
  }

  int64_t num_cols() const { return generation_->target().vocabulary_size; }
  CachedModel &cache() { return cache_; }
  DeviceBytes &memory() { return logits_; }
  LogitRows logits() const { return {logits_.data(), num_cols()}; }
  TokenSampler &sampler() { return sampler_; }

  // One token for each text, drawn from the logits that follow it.
  void step(const Array<Text *> &texts, Workspace *workspace) {
    step(texts, [&] {
      for (size_t i = 0; i < texts.size(); ++i) {
        sampler_.add(int64_t(i), *texts[i], uint64_t(texts[i]->num_new()));
      }
      return sampler_.draw(logits(), int64_t(texts.size()), workspace);
    });
  }

  // The same by `draw()`, which gives the texts' tokens when row i of logits() follows text i.
  template <class Draw>
  void step(const Array<Text *> &texts, const Draw &draw) {
    feeds_.clear();
    for (const Text *text : texts) feeds_.push_back({text->index, text->tokens, text->length, 1});
    cache_.forward(feeds_, logits());
    const int32_t *const tokens = draw();
    for (size_t i = 0; i < texts.size(); ++i) {
      Round round;
      if (generation_->emit(texts[i], &tokens[i], 1) > 0) round.next_token_id = tokens[i];
      generation_->finish_round(texts[i], round);
      cache_.keep(texts[i]->index, texts[i]->length);
    }
    ++generation_->stats().num_rounds;
  }

 private:
  void write_outputs() {
    generation_->stats().target_forwards = cache_.num_forwards();
    int64_t *const lengths = generation_->args().out_cache_lengths;
    for (int64_t i = 0; lengths && i < generation_->num_texts(); ++i) {
      lengths[i] = cache_.length(i);
    }
    generation_->write_outputs();
  }

  Generation *generation_;
  CachedModel cache_;
  DeviceBytes logits_;
  TokenSampler sampler_;
  Array<Feed> feeds_;
};

}  // namespace sampler::decoding
