// The loops' entry points.
#include <cinttypes>

#include "abi/handle_impl.h"
#include "decoding/loops/failure.h"
#include "decoding/loops/loop.h"
#include "decoding/loops/loop_arguments.h"
#include "decoding/loops/loops.h"

namespace sampler::decoding {

namespace {

// Copies the statistics out at the end, if the loop started.
class StatsWriter {
 public:
  explicit StatsWriter(Generation *generation) : generation_(generation) {}
  ~StatsWriter() {
    sampler_generation_stats *const out = generation_->args().out_stats;
    if (out && generation_->has_started()) abi::write_struct(generation_->stats(), out);
  }
  StatsWriter(const StatsWriter &) = delete;
  StatsWriter &operator=(const StatsWriter &) = delete;

 private:
  Generation *generation_;
};

// Runs a loop whose arguments have been checked.
template <class Loop>
void run(Check &check, sampler_handle *handle, const GenerationArguments &arguments,
         int64_t max_drafts, const Loop &loop) {
  const sampler_generation_args &args = arguments.args;
  check.overlaps();
  if (!check.ok() || args.num_sequences == 0) return;
  const ExecutionTarget place = {&check.entry(), handle, args.stream};
  Generation generation(place, args, max_drafts);
  const StatsWriter writer(&generation);
  loop(place, &generation);
}

// The entry of every loop: `body(check)` checks the arguments and runs.
template <class Body>
sampler_status enter_loop(sampler_t handle, const Body &body) noexcept {
  return abi::enter(handle, [&](Entry &entry) {
    Check check(entry);
    try {
      body(check);
    } catch (const Failure &failure) {
      return failure.status;
    }
    return check.status();
  });
}

sampler_status prune_count(Entry &entry, int64_t num_drafted, int64_t num_emitted,
                           int64_t *out_target, int64_t *out_drafter, int64_t *out_missing) {
  Check check(entry);
  check.range("num_drafted", num_drafted, 0, INT64_MAX);
  check.range("num_emitted", num_emitted, 0, INT64_MAX);
  if (num_emitted > num_drafted) {
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT,
               "num_emitted is %" PRId64 "; it must be at most num_drafted, %" PRId64, num_emitted,
               num_drafted);
  }
  check.required("out_target", out_target);
  check.required("out_drafter", out_drafter);
  check.required("out_missing", out_missing);
  if (!check.ok()) return check.status();
  const bool lacks_last = num_drafted > 0 && num_emitted == num_drafted;
  *out_target = num_drafted - num_emitted;
  *out_drafter = lacks_last || num_drafted == 0 ? 0 : num_drafted - 1 - num_emitted;
  *out_missing = lacks_last;
  return SAMPLER_OK;
}

}  // namespace

}  // namespace sampler::decoding

using namespace sampler::decoding;
using sampler::abi::enter_init;

extern "C" {

sampler_status sampler_generation_args_init(sampler_generation_args *args, size_t struct_size) {
  return enter_init("args", args, struct_size);
}

sampler_status sampler_speculative_args_init(sampler_speculative_args *args, size_t struct_size) {
  return enter_init("args", args, struct_size);
}

sampler_status sampler_beam_search_args_init(sampler_beam_search_args *args, size_t struct_size) {
  return enter_init("args", args, struct_size);
}

sampler_status sampler_autoregressive(sampler_t sampler, const sampler_generation_args *args) {
  return enter_loop(sampler, [&](Check &check) {
    GenerationArguments own = {};
    read_arguments(check, args, &own);
    run(check, sampler, own, 0, [&](const ExecutionTarget &place, Generation *generation) {
      Loop(place, nullptr, own.has_stages, generation).run();
    });
  });
}

sampler_status sampler_speculative(sampler_t sampler, const sampler_speculative_args *args) {
  return enter_loop(sampler, [&](Check &check) {
    SpeculativeArguments own = {};
    read_arguments(check, args, &own);
    run(check, sampler, own.generation, most_drafts(own.args),
        [&](const ExecutionTarget &place, Generation *generation) {
          Loop(place, &own.args, own.generation.has_stages, generation).run();
        });
  });
}

sampler_status sampler_beam_search(sampler_t sampler, const sampler_beam_search_args *args) {
  return enter_loop(sampler, [&](Check &check) {
    BeamSearchArguments own = {};
    read_arguments(check, args, sampler->on_cuda, &own);
    run(check, sampler, own.generation, 0,
        [&](const ExecutionTarget &place, Generation *generation) {
          beam_search(place, own.args, own.generation.has_stages, generation);
        });
  });
}

sampler_status sampler_prune_count(int64_t num_drafted, int64_t num_emitted, int64_t *out_target,
                                   int64_t *out_drafter, int64_t *out_missing) {
  return enter([&](Entry &entry) {
    return prune_count(entry, num_drafted, num_emitted, out_target, out_drafter, out_missing);
  });
}

}  // extern "C"
