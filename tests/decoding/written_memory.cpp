// The loops, for MemorySanitizer: texts of unequal numbers of drafts, so that some rows of
// logits are never written. Without googletest, whose libraries are not compiled for it.
#include <cstdio>
#include <cstdlib>

#include "small_loops.h"

int main() {
  using decoding_test::SmallLoops;
  sampler_t sampler = nullptr;
  int num_failed = sampler_create(nullptr, &sampler) != SAMPLER_OK;
  for (int loop = 0; loop < SmallLoops::kNumLoops; ++loop) {
    for (const int use_cache : {0, 1}) {
      for (const sampler_processor processor :
           {SAMPLER_PROCESSOR_GREEDY, SAMPLER_PROCESSOR_SAMPLE}) {
        if (!SmallLoops::can_sample(loop) && processor == SAMPLER_PROCESSOR_SAMPLE) continue;
        for (const int gamma : {1, 3, 5, 12, -5}) {
          SmallLoops loops;
          // Where the drafter has room for the last text alone, the rows of the others stay
          // unwritten.
          loops.first_target = gamma > 0;
          loops.drafter_context = gamma > 0 ? 64 : 1;
          loops.args.use_cache = use_cache;
          loops.args.processor = processor;
          loops.args.debug = 1;
          loops.gamma = std::abs(gamma);
          if (loops.run(loop, sampler) == SAMPLER_OK) continue;
          std::printf("%s: %s\n", SmallLoops::name(loop), sampler_last_error());
          ++num_failed;
        }
      }
    }
  }
  sampler_destroy(sampler);
  return num_failed != 0;
}
