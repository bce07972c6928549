// The key of Places.
#include "cpu/places.h"

#include <sys/auxv.h>
#include <sys/random.h>

#include <cstring>

namespace sampler::cpu {

uint64_t unpredictable_places_key(const void *address) {
  uint64_t key;
  if (getrandom(&key, sizeof key, GRND_NONBLOCK) == ssize_t(sizeof key)) return key;
  const auto *start_bits = reinterpret_cast<const void *>(getauxval(AT_RANDOM));
  key = uint64_t(reinterpret_cast<uintptr_t>(address));
  if (start_bits) {
    uint64_t given;
    std::memcpy(&given, start_bits, sizeof given);
    key ^= given;
  }
  return Places(key).next();
}

}  // namespace sampler::cpu
