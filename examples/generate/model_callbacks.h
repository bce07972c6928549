#ifndef GENERATE_MODEL_CALLBACKS_H
#define GENERATE_MODEL_CALLBACKS_H

#include <sampler/decoding.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <vector>

#include "clock.h"
#include "gpt2.h"

namespace generate {

// A Gpt2Model with a cache for each sequence, as the decoding loops of libsampler want it. An
// exception becomes the status of its callback and is kept.
class ModelCallbacks {
 public:
  // max_sequences in [1, 2^31). The model must live as long.
  ModelCallbacks(const Gpt2Model &model, std::int64_t max_sequences, Clock clock = Clock::kWall);
  ModelCallbacks(const ModelCallbacks &) = delete;
  ModelCallbacks &operator=(const ModelCallbacks &) = delete;

  // Valid as long as this object is.
  const sampler_model *get() const { return &callbacks_; }

  // What the first callback that failed threw; NULL: none failed.
  std::exception_ptr failure() const { return failure_; }

  // What all callbacks together took.
  double seconds() const { return seconds_; }

 private:
  template <typename Call>
  sampler_status guarded(const Call &call) noexcept;

  void forward(const sampler_forward_args &args);
  Gpt2Sequence &sequence(std::int32_t index) {
    return sequences_.at(static_cast<std::size_t>(index));
  }

  const Gpt2Model &model_;
  const Clock clock_;
  std::vector<Gpt2Sequence> sequences_;
  sampler_model callbacks_ = {};
  std::exception_ptr failure_;
  double seconds_ = 0;
};

}  // namespace generate

#endif  // GENERATE_MODEL_CALLBACKS_H
