// Serialised data: little-endian integers, and a checksum.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sampler::contract {

inline uint32_t get32(const unsigned char *at) {
  return uint32_t(at[0]) | uint32_t(at[1]) << 8 | uint32_t(at[2]) << 16 | uint32_t(at[3]) << 24;
}

inline uint64_t get64(const unsigned char *at) {
  return get32(at) | uint64_t(get32(at + 4)) << 32;
}

inline void put32(unsigned char *at, uint32_t value) {
  for (int i = 0; i < 4; ++i) at[i] = static_cast<unsigned char>(value >> 8 * i);
}

inline void put64(unsigned char *at, uint64_t value) {
  put32(at, uint32_t(value));
  put32(at + 4, uint32_t(value >> 32));
}

// FNV-1a with 64 bits.
inline uint64_t checksum(const unsigned char *data, size_t bytes) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ data[i]) * 0x100000001B3u;
  return hash;
}

}  // namespace sampler::contract
