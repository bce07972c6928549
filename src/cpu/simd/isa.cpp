// Detection and choice of instruction sets.
#include "cpu/simd/isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cstdio>
#include <cstring>

#include "cpu/simd/passes.h"

namespace sampler::cpu {

#if defined(__x86_64__)
extern const Passes kAvx2Passes;
extern const Passes kAvx512Passes;
#elif defined(__aarch64__)
extern const Passes kNeonPasses;
#endif

namespace {

struct Isa {
  const char *name;
  uint32_t bit;
  const Passes *passes;
};

// In ascending order of preference.
constexpr Isa kIsas[] = {
    {"scalar", kIsaScalar, nullptr},
#if defined(__x86_64__)
    {"avx2", kIsaAvx2, &kAvx2Passes},
    {"avx512", kIsaAvx512, &kAvx512Passes},
#elif defined(__aarch64__)
    {"neon", kIsaNeon, &kNeonPasses},
#endif
};

#if defined(__x86_64__)
// clang's __builtin_cpu_supports does not know F16C. It uses AVX registers.
bool has_f16c() {
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}
#endif

bool is_usable(uint32_t bit) {
#if defined(__x86_64__)
  // These also check that the OS saves the registers (XGETBV).
  if (bit == kIsaAvx2) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  }
  if (bit == kIsaAvx512) {
    return is_usable(kIsaAvx2) && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
  }
#endif
  return bit == kIsaScalar || bit == kIsaNeon;
}

}  // namespace

uint32_t compiled_isas() {
  uint32_t isas = 0;
  for (const Isa &isa : kIsas) isas |= isa.bit;
  return isas;
}

uint32_t usable_isas() {
  uint32_t isas = 0;
  for (const Isa &isa : kIsas) isas |= is_usable(isa.bit) ? isa.bit : 0;
  return isas;
}

void write_isa_names(uint32_t isas, char *text, int size) {
  int length = 0;
  text[0] = '\0';
  for (const Isa &isa : kIsas) {
    if ((isas & isa.bit) == 0 || length >= size) continue;
    length +=
        std::snprintf(text + length, size_t(size - length), "%s%s", length ? ", " : "", isa.name);
  }
}

IsaChoice choose_isa(const char *name) {
  const bool any = !name || !*name;
  IsaChoice choice = {false, 0, nullptr};
  for (const Isa &isa : kIsas) {
    if (is_usable(isa.bit) && (any || std::strcmp(name, isa.name) == 0)) {
      choice = {true, isa.bit, isa.passes};
    }
  }
  return choice;
}

}  // namespace sampler::cpu
