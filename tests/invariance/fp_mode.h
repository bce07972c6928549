// Floating-point environments that a host may have set for its threads.
#ifndef SAMPLER_TESTS_INVARIANCE_FP_MODE_H_
#define SAMPLER_TESTS_INVARIANCE_FP_MODE_H_

#include <cstdint>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace invariance_test {

enum class FpMode { kDefault, kFlushToZero, kDownward, kUpward, kTowardZero, kUnmasked };

inline const std::vector<FpMode> &fp_modes() {
  static const std::vector<FpMode> kModes = {FpMode::kDefault,    FpMode::kFlushToZero,
                                             FpMode::kDownward,   FpMode::kUpward,
                                             FpMode::kTowardZero, FpMode::kUnmasked};
  return kModes;
}

// The control register: MXCSR or FPCR.
#if defined(__x86_64__)
inline std::uint64_t fp_control() {
  return _mm_getcsr();
}
inline void set_fp_control(std::uint64_t control) {
  _mm_setcsr(static_cast<unsigned>(control));
}
inline std::uint64_t fp_control_of(FpMode mode) {
  constexpr std::uint64_t kMasked = 0x1F80;
  switch (mode) {
    case FpMode::kFlushToZero:
      return kMasked | 0x8040;  // FTZ and DAZ
    case FpMode::kDownward:
      return kMasked | 0x2000;
    case FpMode::kUpward:
      return kMasked | 0x4000;
    case FpMode::kTowardZero:
      return kMasked | 0x6000;
    case FpMode::kUnmasked:
      return 0x0000;  // every exception, inexact included, raises SIGFPE
    default:
      return kMasked;
  }
}
#elif defined(__aarch64__)
inline std::uint64_t fp_control() {
  std::uint64_t control;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  return control;
}
inline void set_fp_control(std::uint64_t control) {
  asm volatile("msr fpcr, %0" : : "r"(control) : "memory");
}
inline std::uint64_t fp_control_of(FpMode mode) {
  switch (mode) {
    case FpMode::kFlushToZero:
      return std::uint64_t{1} << 24;
    case FpMode::kUpward:
      return std::uint64_t{1} << 22;
    case FpMode::kDownward:
      return std::uint64_t{2} << 22;
    case FpMode::kTowardZero:
      return std::uint64_t{3} << 22;
    default:
      return 0;  // trapping is optional on aarch64, so unmasked is like the default
  }
}
#endif

// Sets a mode for as long as it lives.
class ScopedFpMode {
 public:
  explicit ScopedFpMode(FpMode mode) : before_(fp_control()) {
    set_fp_control(fp_control_of(mode));
  }
  ~ScopedFpMode() { set_fp_control(before_); }
  ScopedFpMode(const ScopedFpMode &) = delete;
  ScopedFpMode &operator=(const ScopedFpMode &) = delete;

 private:
  std::uint64_t before_;
};

}  // namespace invariance_test

#endif  // SAMPLER_TESTS_INVARIANCE_FP_MODE_H_
