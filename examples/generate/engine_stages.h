#ifndef GENERATE_ENGINE_STAGES_H
#define GENERATE_ENGINE_STAGES_H

#include <sampler/sampler.h>

#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "engine_parameters.h"

namespace generate {

// What an engine does between logits and the draw, for a loop whose own filters are off.
class EngineStages {
 public:
  explicit EngineStages(engine_parameters::Request request);

  // Puts the logarithms of the probabilities that the stages leave in the place of the logits that
  // follow `text`, the first tokens of which are the prompt. Throws Error.
  void apply(const engine_parameters::Ids &text, std::int32_t prompt_length, float *logits,
             std::int64_t num_cols);

 private:
  struct Destroy {
    void operator()(sampler_t sampler) const { sampler_destroy(sampler); }
  };

  engine_parameters::Request request_;
  std::unique_ptr<std::remove_pointer_t<sampler_t>, Destroy> sampler_;
  std::vector<float> row_;
  std::vector<unsigned char> workspace_;
};

}  // namespace generate

#endif  // GENERATE_ENGINE_STAGES_H
