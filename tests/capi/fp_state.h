// The floating-point control and status registers of the calling thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace capi_test {

struct FpState {
  std::uint64_t control = 0;  // x86-64: MXCSR, status flags among it; aarch64: FPCR
  std::uint64_t status = 0;   // x86-64: x87 control and status words; aarch64: FPSR

  bool operator==(const FpState &other) const {
    return control == other.control && status == other.status;
  }
};

inline FpState fp_state() {
  FpState state;
#if defined(__x86_64__)
  std::uint32_t mxcsr;
  std::uint16_t control, status;
  asm volatile("stmxcsr %0" : "=m"(mxcsr));
  asm volatile("fnstcw %0" : "=m"(control));
  asm volatile("fnstsw %0" : "=m"(status));
  state.control = mxcsr;
  state.status = std::uint64_t(control) << 16 | status;
#else
  asm volatile("mrs %0, fpcr" : "=r"(state.control));
  asm volatile("mrs %0, fpsr" : "=r"(state.status));
#endif
  return state;
}

inline void set_fp_state(const FpState &state) {
#if defined(__x86_64__)
  const std::uint32_t mxcsr = std::uint32_t(state.control);
  const std::uint16_t control = std::uint16_t(state.status >> 16);
  asm volatile("ldmxcsr %0" : : "m"(mxcsr));
  asm volatile("fnclex\n\tfldcw %0" : : "m"(control));
#else
  asm volatile("msr fpcr, %0" : : "r"(state.control));
  asm volatile("msr fpsr, %0" : : "r"(state.status));
#endif
}

struct HostState {
  std::string name;
  FpState state;
};

// States that a host may leave its threads in.
inline std::vector<HostState> host_states() {
  std::vector<HostState> states;
  const FpState usual = fp_state();
  const auto add = [&](const std::string &name, std::uint64_t set, std::uint64_t cleared,
                       std::uint64_t status_set = 0) {
    FpState state = usual;
    state.control = (state.control & ~cleared) | set;
    state.status |= status_set;
    states.push_back({name, state});
  };
#if defined(__x86_64__)
  constexpr std::uint64_t kDaz = 1 << 6, kMasks = 0x3F << 7, kFtz = 1 << 15, kFlags = 0x3F;
  constexpr int kRounding = 13;
  constexpr std::uint64_t kX87Rounding = 3 << 26;
  add("flush to zero", kFtz, 0);
  add("denormals are zero", kDaz, 0);
  add("sticky flags", kFlags, 0);
  add("unmasked exceptions", 0, kMasks | kFlags);
  for (std::uint64_t mode = 1; mode < 4; ++mode) {
    add("rounding mode " + std::to_string(mode), mode << kRounding, 0, kX87Rounding);
    add("all with rounding mode " + std::to_string(mode), kFtz | kDaz | kFlags | mode << kRounding,
        kMasks, mode << 26);
  }
#else
  constexpr std::uint64_t kFz16 = 1 << 19, kFz = 1 << 24, kDefaultNan = 1 << 25, kTraps = 0x9F00;
  constexpr std::uint64_t kFlags = 0x9F;
  constexpr int kRounding = 22;
  add("flush to zero", kFz | kFz16, 0);
  add("default NaN", kDefaultNan, 0);
  add("sticky flags", 0, 0, kFlags);
  add("traps", kTraps, 0);
  for (std::uint64_t mode = 1; mode < 4; ++mode) {
    add("rounding mode " + std::to_string(mode), mode << kRounding, 0);
    add("all with rounding mode " + std::to_string(mode),
        kFz | kFz16 | kDefaultNan | mode << kRounding, 0, kFlags);
  }
#endif
  return states;
}

// Runs `function` in a host's state and gives the state that it left; the usual one is back then.
// `entered`: the state as the registers held it, where some bits may read as 0.
template <class Function>
FpState run_in_state(const FpState &state, const Function &function, FpState *entered) {
  const FpState usual = fp_state();
  set_fp_state(state);
  *entered = fp_state();
  function();
  const FpState left = fp_state();
  set_fp_state(usual);
  return left;
}

}  // namespace capi_test
