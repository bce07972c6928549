// The key that a handle's places follow from: no caller can know it, whatever the system gives.
#include "cpu/places.h"

#include <gtest/gtest.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace {

bool has_random_bits = true;

}  // namespace

// In place of the C library's.
extern "C" ssize_t getrandom(void *bytes, size_t count, unsigned flags) {
  if (has_random_bits) return syscall(SYS_getrandom, bytes, count, flags);
  errno = ENOSYS;
  return -1;
}

namespace complexity_test {
namespace {

using sampler::cpu::Places;
using sampler::cpu::unpredictable_places_key;

const char handles[2] = {};

TEST(PlacesKey, IsOfTheSystemsRandomBits) {
  EXPECT_NE(unpredictable_places_key(handles), unpredictable_places_key(handles));
}

// The key is made of the process's random bits and the address, of which a caller knows the latter.
TEST(PlacesKey, WhereTheSystemHasNoRandomBits) {
  has_random_bits = false;
  const uint64_t key = unpredictable_places_key(handles);
  EXPECT_EQ(unpredictable_places_key(handles), key);
  EXPECT_NE(unpredictable_places_key(handles + 1), key);
  EXPECT_NE(Places(uint64_t(reinterpret_cast<uintptr_t>(handles))).next(), key);
  has_random_bits = true;
}

}  // namespace
}  // namespace complexity_test
