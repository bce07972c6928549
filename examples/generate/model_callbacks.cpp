#include "model_callbacks.h"

#include <cstddef>
#include <new>
#include <stdexcept>

namespace generate {

namespace {

ModelCallbacks *self(void *user) {
  return static_cast<ModelCallbacks *>(user);
}

// The status that stands for the exception being handled.
sampler_status status_of_exception() {
  try {
    throw;
  } catch (const std::bad_alloc &) {
    return SAMPLER_ERROR_OUT_OF_MEMORY;
  } catch (const std::logic_error &) {
    return SAMPLER_ERROR_INVALID_ARGUMENT;
  } catch (...) {
    return SAMPLER_ERROR_CALLBACK;
  }
}

}  // namespace

ModelCallbacks::ModelCallbacks(const Gpt2Model &model, std::int64_t max_sequences, Clock clock)
    : model_(model),
      clock_(clock),
      sequences_(static_cast<std::size_t>(max_sequences), Gpt2Sequence(model.config())) {
  callbacks_.struct_size = sizeof callbacks_;
  callbacks_.user = this;
  callbacks_.forward = [](void *user, const sampler_forward_args *args) {
    return self(user)->guarded([&] { self(user)->forward(*args); });
  };
  callbacks_.truncate = [](void *user, std::int32_t sequence, std::int64_t length) {
    return self(user)->guarded(
        [&] { self(user)->sequence(sequence).truncate(static_cast<int>(length)); });
  };
  callbacks_.fork = [](void *user, std::int32_t source, std::int32_t destination) {
    return self(user)->guarded(
        [&] { self(user)->sequence(destination) = self(user)->sequence(source); });
  };
  callbacks_.vocabulary_size = model.config().vocab_size;
  callbacks_.max_context = model.config().n_positions;
  callbacks_.max_sequences = max_sequences;
  callbacks_.logits_dtype = SAMPLER_F32;
  callbacks_.reads_parents = 1;
}

template <typename Call>
sampler_status ModelCallbacks::guarded(const Call &call) noexcept {
  const std::int64_t start = nanoseconds(clock_);
  sampler_status status = SAMPLER_OK;
  try {
    call();
  } catch (...) {
    if (!failure_) failure_ = std::current_exception();
    status = status_of_exception();
  }
  seconds_ += seconds_since(start, clock_);
  return status;
}

void ModelCallbacks::forward(const sampler_forward_args &args) {
  if (args.logits_dtype != SAMPLER_F32) throw std::invalid_argument("logits are of type f32");
  std::vector<TokenSpan> spans;
  for (std::int64_t i = 0; i < args.num_spans; ++i) {
    Gpt2Sequence &cache = sequence(args.sequences[i]);
    if (args.starts[i] != cache.length()) {
      throw std::invalid_argument("a span starts elsewhere than at the end of its cache");
    }
    spans.push_back({&cache, args.token_ids + args.token_offsets[i],
                     static_cast<int>(args.token_offsets[i + 1] - args.token_offsets[i]),
                     static_cast<int>(args.logit_counts[i]),
                     args.parents != nullptr ? args.parents + args.token_offsets[i] : nullptr});
  }
  model_.forward(spans, static_cast<float *>(args.logits),
                 static_cast<std::size_t>(args.logits_row_stride));
}

}  // namespace generate
