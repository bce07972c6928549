// The floating-point environment that the contract assumes, for as long as the object lives.
//
// A host may have set another rounding mode, flush-to-zero or unmasked exceptions for its thread;
// the tokens do not depend on it, and it finds everything as it left it.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace sampler::cpu {

class FpEnvironment {
 public:
#if defined(__x86_64__)
  FpEnvironment() : control_(_mm_getcsr()) {
    _mm_setcsr(kMaskedRoundToNearest);
  }
  ~FpEnvironment() {
    _mm_setcsr(control_);
  }
#elif defined(__aarch64__)
  FpEnvironment() {
    asm volatile("mrs %0, fpcr" : "=r"(control_));
    asm volatile("mrs %0, fpsr" : "=r"(status_));
    asm volatile("msr fpcr, %0" : : "r"(uint64_t(0)) : "memory");
  }
  ~FpEnvironment() {
    asm volatile("msr fpcr, %0" : : "r"(control_) : "memory");
    asm volatile("msr fpsr, %0" : : "r"(status_) : "memory");
  }
#else
#error "libsampler supports x86-64 and aarch64"
#endif
  FpEnvironment(const FpEnvironment &) = delete;
  FpEnvironment &operator=(const FpEnvironment &) = delete;

 private:
#if defined(__x86_64__)
  static constexpr unsigned kMaskedRoundToNearest = 0x1F80;
  unsigned control_;
#else
  uint64_t control_;
  uint64_t status_;
#endif
};

}  // namespace sampler::cpu
