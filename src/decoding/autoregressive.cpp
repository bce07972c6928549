#include "decoding/loops.h"
#include "decoding/staged_sampler.h"
#include "decoding/target.h"

namespace sampler::decoding {

namespace {

template <class Step>
void run(Target *target, Generation *generation, const Step &step) {
  target->run([&](Array<Text *> &active) {
    while (!active.empty()) {
      step(active);
      generation->remove_finished(&active);
    }
  });
}

}  // namespace

void autoregressive(const ExecutionTarget &place, bool has_stages, Generation *generation) {
  Target target(place, generation, 1);
  if (has_stages) {
    StagedSampler sampler(place, *generation);
    run(&target, generation, [&](const Array<Text *> &active) {
      target.step(active, [&] { return sampler.draw(active, target.logits()); });
    });
    return;
  }
  Workspace workspace(place, generation->num_texts(), generation->target().vocabulary_size);
  run(&target, generation, [&](const Array<Text *> &active) { target.step(active, &workspace); });
}

}  // namespace sampler::decoding
