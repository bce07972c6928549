// Sets the floating-point environment that the contract assumes, for the lifetime of an object.
//
// The host's rounding mode, flush-to-zero mode and unmasked exceptions do not affect results, and
// are restored afterwards.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace sampler::cpu {

// Control registers of a thread. The defaults are the contract's: round to nearest, subnormals
// kept, exceptions masked, flags clear.
struct FpRegisters {
#if defined(__x86_64__)
  // MXCSR governs all arithmetic; the C library prints numbers with the rounding mode of the x87
  // control word.
  unsigned sse = 0x1F80;
  uint16_t x87 = 0x037F;

  static FpRegisters current() {
    FpRegisters registers;
    registers.sse = _mm_getcsr();
    asm volatile("fnstcw %0" : "=m"(registers.x87));
    return registers;
  }
  // Loads these registers; `others` holds the current values.
  void load(const FpRegisters &others) const {
    _mm_setcsr(sse);
    if (x87 != others.x87) asm volatile("fldcw %0" : : "m"(x87));
  }
#elif defined(__aarch64__)
  uint64_t control = 0;  // FPCR
  uint64_t status = 0;   // FPSR

  static FpRegisters current() {
    FpRegisters registers;
    asm volatile("mrs %0, fpcr" : "=r"(registers.control));
    asm volatile("mrs %0, fpsr" : "=r"(registers.status));
    return registers;
  }
  void load(const FpRegisters &) const {
    asm volatile("msr fpcr, %0" : : "r"(control) : "memory");
    asm volatile("msr fpsr, %0" : : "r"(status) : "memory");
  }
#else
#error "libsampler supports x86-64 and aarch64"
#endif
};

class FpEnvironment {
 public:
  FpEnvironment() : host_(FpRegisters::current()) { FpRegisters{}.load(host_); }
  ~FpEnvironment() { host_.load(FpRegisters{}); }
  FpEnvironment(const FpEnvironment &) = delete;
  FpEnvironment &operator=(const FpEnvironment &) = delete;

  // Restores the host's environment for its callbacks, for the lifetime of the object. Changes that
  // they make persist.
  class Host {
   public:
    explicit Host(FpEnvironment *environment) : environment_(environment) {
      environment_->host_.load(FpRegisters{});
    }
    ~Host() {
      environment_->host_ = FpRegisters::current();
      FpRegisters{}.load(environment_->host_);
    }
    Host(const Host &) = delete;
    Host &operator=(const Host &) = delete;

   private:
    FpEnvironment *environment_;
  };

 private:
  FpRegisters host_;
};

}  // namespace sampler::cpu
