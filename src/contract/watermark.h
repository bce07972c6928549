// Random streams that follow from a key and the tokens before: section 8.4 of docs/contract.md.
#pragma once

#include <cstdint>

#include "contract/host_device.h"
#include "contract/philox.h"

namespace sampler::contract {

constexpr uint32_t kWatermarkContext = 0x574D4358u, kWatermarkToken = 0x574D544Bu;

// token(i) of the context, from the oldest on.
template <class Token>
SAMPLER_HD GumbelStream watermark_stream(uint64_t key, int64_t length, const Token &token) {
  const uint32_t key0 = uint32_t(key), key1 = uint32_t(key >> 32);
  Philox4 state = {{kWatermarkContext, uint32_t(length), 0, 0}};
  for (int64_t first = 0; first < length; first += 4) {
    for (int i = 0; i < 4; ++i) {
      state.word[i] ^= first + i < length ? uint32_t(token(first + i)) : ~uint32_t(i);
    }
    state = philox4x32_10(state, key0 ^ uint32_t(first), key1);
  }
  return {{uint64_t(key0 ^ state.word[3]) | uint64_t(key1 ^ kWatermarkToken) << 32,
           state.word[0] | uint64_t(state.word[1]) << 32, state.word[2]},
          true};
}

}  // namespace sampler::contract
