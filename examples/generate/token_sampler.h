#ifndef GENERATE_TOKEN_SAMPLER_H
#define GENERATE_TOKEN_SAMPLER_H

#include <sampler/sampler.h>

#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

namespace generate {

// As in sampler_sample_args.
struct SamplingOptions {
  float temperature = 1.0f;
  std::int32_t top_k = 0;
  float top_p = 1.0f;
  float min_p = 0.0f;
};

// Where a token is drawn from: a row of logits, the seed of its sequence and its position there.
struct Draw {
  std::int32_t logits_row;
  std::uint64_t seed;
  std::uint64_t position;
};

// Draws tokens from f32 logits with libsampler. Each draw has its own seed, so a token depends on
// its sequence alone, not on the batch.
class TokenSampler {
 public:
  // For up to max_draws draws at once. Throws Error.
  TokenSampler(std::int64_t max_draws, std::int64_t vocab_size);

  // One token per draw. logits is [num_rows, vocab_size]. Throws Error, also when a row has no
  // token to choose, as the logits of a damaged model.
  std::vector<std::int32_t> sample(const std::vector<float> &logits, std::int64_t num_rows,
                                   const std::vector<Draw> &draws, const SamplingOptions &options);

 private:
  struct Destroy {
    void operator()(sampler_t sampler) const { sampler_destroy(sampler); }
  };

  std::unique_ptr<std::remove_pointer_t<sampler_t>, Destroy> sampler_;
  std::int64_t vocab_size_;
};

}  // namespace generate

#endif  // GENERATE_TOKEN_SAMPLER_H
