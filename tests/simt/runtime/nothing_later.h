// The general kernel switched off, to see that nothing is left to it.
#ifndef SAMPLER_TESTS_SIMT_RUNTIME_NOTHING_LATER_H_
#define SAMPLER_TESTS_SIMT_RUNTIME_NOTHING_LATER_H_

#include <cstdint>

#include "launch/launch.h"
#include "runtime.h"

namespace simt_test {

// For its lifetime the general kernel, which would compute what was left, does nothing.
class NothingIsComputedLater {
 public:
  explicit NothingIsComputedLater(
      sampler::kernels::Operation operation = sampler::kernels::Operation::kRows)
      : kernel_(simt::runtime::kernel_at(sampler::kernels::general_kernel_address(operation))),
        before_(kernel_) {
    kernel_.bind = [](const simt::runtime::Grid &, void **) -> simt::runtime::Work {
      return [](std::uint64_t) {};
    };
  }
  ~NothingIsComputedLater() { kernel_ = before_; }

 private:
  simt::runtime::Kernel &kernel_;
  const simt::runtime::Kernel before_;
};

}  // namespace simt_test

#endif  // SAMPLER_TESTS_SIMT_RUNTIME_NOTHING_LATER_H_
