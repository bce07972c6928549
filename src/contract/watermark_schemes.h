// Green lists and tournaments, as Hugging Face's transformers has them: sections 8.5 and 8.6 of
// docs/contract.md. Host only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>

#include "contract/float_bits.h"

namespace sampler::contract {

// PyTorch's generator of 32-bit words on the CPU.
class TorchWords {
 public:
  explicit TorchWords(uint64_t seed) : engine_(uint32_t(seed)) {}
  uint32_t next() { return engine_(); }

 private:
  // std::mt19937 with words of 32 bits, not of 64.
  std::mersenne_twister_engine<uint32_t, 32, 624, 397, 31, 0x9908b0df, 11, 0xffffffff, 7,
                               0x9d2c5680, 15, 0xefc60000, 18, 1812433253>
      engine_;
};

// torch.randperm on the CPU, step by step: `swap(i, j)` for the first `num_steps` of `size` places.
template <class Swap>
void permute(uint64_t seed, int64_t size, int64_t num_steps, const Swap &swap) {
  TorchWords words(seed);
  for (int64_t i = 0; i < std::min(num_steps, size - 1); ++i) {
    if (!swap(i, i + int64_t(words.next() % uint32_t(size - i)))) return;
  }
}

// Places of 4 bytes, of any type.
class Places {
 public:
  explicit Places(void *memory) : memory_(static_cast<unsigned char *>(memory)) {}
  int32_t operator[](int64_t i) const {
    int32_t value;
    std::memcpy(&value, memory_ + i * 4, 4);
    return value;
  }
  void set(int64_t i, int32_t value) const { std::memcpy(memory_ + i * 4, &value, 4); }

 private:
  unsigned char *memory_;
};

inline void write_permutation(uint64_t seed, int64_t size, int64_t num_steps,
                              const Places &places) {
  for (int64_t i = 0; i < size; ++i) places.set(i, int32_t(i));
  permute(seed, size, num_steps, [&](int64_t i, int64_t j) {
    const int32_t value = places[i];
    places.set(i, places[j]);
    places.set(j, value);
    return true;
  });
}

// Whether a token comes to be among the first `count` of a permutation, count < size.
inline bool is_among_first(uint64_t seed, int64_t size, int64_t count, int64_t token) {
  int64_t place = token;
  bool is_found = false;
  permute(seed, size, count, [&](int64_t i, int64_t j) {
    if (j == place) return !(is_found = true);  // it is at i from now on
    if (i == place) place = j;
    return true;
  });
  return is_found;
}

// Python's a * b % (2^64 - 1), which is the sum of the product's words but for a carry.
inline uint64_t torch_seed(int64_t a, int64_t b) {
  const auto magnitude = [](int64_t x) { return x < 0 ? 0 - uint64_t(x) : uint64_t(x); };
  constexpr uint64_t kModulus = ~uint64_t(0);
  const Product128 product = multiply_128(magnitude(a), magnitude(b));
  uint64_t rest = product.high + product.low;
  if (rest < product.low) ++rest;
  if (rest == kModulus) rest = 0;
  return (a < 0) != (b < 0) && rest != 0 ? kModulus - rest : rest;
}

// Products and sums of torch.long.
inline int64_t wrapped_product(int64_t a, int64_t b) {
  return int64_t(uint64_t(a) * uint64_t(b));
}

struct GreenLists {
  int64_t vocabulary_size;
  int64_t num_green;
  int64_t key;
  int64_t context_width;
  const int32_t *table;  // SELFHASH: a permutation of table_size; else null
  int64_t table_size;

  // The seed of the list after `tokens`, of which the last context_width count.
  uint64_t seed(const int64_t *tokens, int64_t count) const {
    const int64_t last = tokens[count - 1];
    if (!table) return torch_seed(key, last);
    const int64_t b = int64_t(table[last % table_size]) + 1;
    int64_t least = INT64_MAX;
    for (int64_t i = std::max<int64_t>(count - context_width, 0); i < count; ++i) {
      const int64_t a = int64_t(table[tokens[i] % table_size]) + 1;
      least = std::min(least, wrapped_product(wrapped_product(key, a), b));
    }
    return torch_seed(least, 1);
  }

  bool is_green(uint64_t seed, int64_t token) const {
    if (num_green >= vocabulary_size) return true;
    return is_among_first(seed, vocabulary_size, num_green, token);
  }
};

// SynthID-Text: each layer has a bit of each token, by the token's context and the layer's key.
struct Tournament {
  const int64_t *keys;
  int64_t num_keys;
  const int32_t *table;  // bits
  int64_t table_size;

  static int64_t hash(int64_t current, int64_t value) {
    return int64_t((uint64_t(current) + uint64_t(value)) * 6364136223846793005u + 1);
  }
  static int64_t hash_of(const int64_t *context, int64_t count) {
    int64_t result = 1;
    for (int64_t i = 0; i < count; ++i) result = hash(result, context[i]);
    return result;
  }
  // The bit of a token after a context.
  int bit(int64_t context_hash, int64_t token, int64_t layer) const {
    const int64_t all = hash(hash(context_hash, token), keys[layer]), rest = all % table_size;
    return table[rest < 0 ? rest + table_size : rest];
  }
};

}  // namespace sampler::contract
