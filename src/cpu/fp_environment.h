// The floating-point environment that the contract assumes, for as long as the object lives.
//
// A host may have set another rounding mode, flush-to-zero or unmasked exceptions for its thread;
// the results do not depend on it, and it finds everything as it left it.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace sampler::cpu {

// What a thread's environment consists of; by default that of the contract: to nearest, subnormals
// kept, nothing trapped, no flag raised.
struct FpRegisters {
#if defined(__x86_64__)
  // MXCSR, which governs all arithmetic, and the control word of the x87 unit, whose rounding mode
  // the C library prints numbers with.
  unsigned sse = 0x1F80;
  uint16_t x87 = 0x037F;

  static FpRegisters current() {
    FpRegisters registers;
    registers.sse = _mm_getcsr();
    asm volatile("fnstcw %0" : "=m"(registers.x87));
    return registers;
  }
  // In place of `others`.
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

  // The host's own again while this lives, for its callbacks. What they change in it stays.
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
