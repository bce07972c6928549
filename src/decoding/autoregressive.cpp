#include "decoding/loops.h"
#include "decoding/target.h"

namespace sampler::decoding {

void autoregressive(const ExecutionTarget &place, Generation *generation) {
  Workspace workspace(place, generation->num_texts(), generation->target().vocabulary_size);
  Target target(place, generation, 1);
  target.run([&](Array<Text *> &active) {
    while (!active.empty()) {
      target.step(active, &workspace);
      generation->remove_finished(&active);
    }
  });
}

}  // namespace sampler::decoding
