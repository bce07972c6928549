#ifndef GENERATE_RANKED_LOOP_H
#define GENERATE_RANKED_LOOP_H

#include <sampler/decoding.h>

#include <cstdint>
#include <vector>

#include "clock.h"
#include "gpt2.h"
#include "own_draw.h"
#include "ranks.h"

namespace generate {

// sampler_autoregressive where the processes share the model's last product: the same texts, of
// logits that no process has all of.
class RankedLoop {
 public:
  // All of this must outlive this object. `draw` gets each text in turn, and `args.on_tokens`,
  // which must be there; an answer of its that is not 0 ends the loop.
  RankedLoop(const Gpt2Model &model, const sampler_generation_args &args, const Ranks &ranks,
             OwnDraw *draw, Clock clock);

  void run();

  // What the model took.
  double model_seconds() const { return model_seconds_; }

 private:
  struct Text {
    std::int32_t index;
    Gpt2Sequence cache;
    std::vector<std::int32_t> tokens;  // with the prompt
    std::uint64_t num_new = 0;
    sampler_finish_reason reason = SAMPLER_FINISH_NONE;
  };

  std::vector<float> forward(const std::vector<Text *> &texts);
  bool emit(Text *text, std::int32_t token_id) const;
  sampler_finish_reason reason_after(const Text &text) const;

  const Gpt2Model &model_;
  const sampler_generation_args &args_;
  TokenRange range_;
  OwnDraw *draw_;
  Clock clock_;
  std::vector<Text> texts_;
  double model_seconds_ = 0;
};

}  // namespace generate

#endif  // GENERATE_RANKED_LOOP_H
