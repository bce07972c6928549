#ifndef GENERATE_OWN_DRAW_H
#define GENERATE_OWN_DRAW_H

#include <sampler/sampler.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "ranks.h"

namespace generate {

// Draws the tokens of a loop outside of it, where they are to be drawn by another method than the
// loop's, with their log-probabilities, or of logits that no process has all of. A loop of the
// library is given them as forced tokens. It has a state of its own for what stages remember.
class OwnDraw {
 public:
  // Where logits are those of a rank: what comes before them, and how many there are in all.
  struct Share {
    Ranks *ranks;
    std::int64_t first_token_id;
    std::int64_t total_cols;
  };

  // The prompts are those of `args`, whose text i is slot i. Stages and numbers are as for the
  // loop. All that is pointed to must outlive this object.
  OwnDraw(sampler_t sampler, const sampler_generation_args &args, std::int64_t max_tokens,
          sampler_draw_method method, std::optional<Share> share = std::nullopt);

  // One token for each row, of the text whose number stands in `texts` and which has
  // `num_new_tokens[text]` new tokens. Token -1 is that of a row without one.
  void draw(const void *logits, std::int64_t num_rows, std::int64_t num_cols,
            std::int64_t row_stride, const std::int32_t *texts,
            const std::vector<std::uint64_t> &num_new_tokens);

  // [texts] What the last call for each has drawn: sampler_row_params.forced_token_id.
  const std::int64_t *tokens() const { return tokens_.data(); }
  // [texts] Their log-probabilities, before stages and temperature.
  const float *logprobs() const { return logprobs_.data(); }

 private:
  void sample(sampler_sample_args args);

  struct Destroy {
    void operator()(sampler_state_t state) const { sampler_state_destroy(state); }
  };

  sampler_t sampler_;
  const sampler_generation_args &args_;
  sampler_draw_method method_;
  std::optional<Share> share_;
  sampler_row_params row_params_ = {};
  std::vector<std::int64_t> tokens_;
  std::vector<float> logprobs_;
  std::vector<char> workspace_;
  std::unique_ptr<std::remove_pointer_t<sampler_state_t>, Destroy> state_;
};

}  // namespace generate

#endif  // GENERATE_OWN_DRAW_H
